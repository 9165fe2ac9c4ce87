//! `probity completions` and `probity man`, generated from the definition of the command line.

use std::io::Write;

use clap::CommandFactory;
use clap_complete::Shell;

use super::Cli;
use super::error::CliError;

pub fn completions(shell: Shell, out: &mut dyn Write) -> Result<(), CliError> {
    let mut buffer = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "probity", &mut buffer);
    all(out, &buffer)
}

/// Writes the manual page, with one section per subcommand.
pub fn man(out: &mut dyn Write) -> Result<(), CliError> {
    let mut buffer = Vec::new();
    let fail = |e: std::io::Error| CliError::Failed(format!("cannot make the manual page: {e}"));
    let command = Cli::command();
    clap_mangen::Man::new(command.clone()).render(&mut buffer).map_err(fail)?;
    for sub in command.get_subcommands().filter(|s| s.get_name() != "help") {
        let page = clap_mangen::Man::new(sub.clone().display_name(format!("probity {}", sub.get_name())));
        page.render_name_section(&mut buffer).map_err(fail)?;
        page.render_synopsis_section(&mut buffer).map_err(fail)?;
        page.render_options_section(&mut buffer).map_err(fail)?;
    }
    all(out, &buffer)
}

fn all(out: &mut dyn Write, bytes: &[u8]) -> Result<(), CliError> {
    out.write_all(bytes).and_then(|()| out.flush()).map_err(|e| match e.kind() {
        std::io::ErrorKind::BrokenPipe => CliError::Closed,
        _ => CliError::Failed(format!("cannot write to standard output: {e}")),
    })
}
