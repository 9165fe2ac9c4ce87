//! `probity guide`: shows the guide in the terminal and generates its tables.

mod tables;

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;

use super::error::CliError;
use base::files::write_whole;
use guide::{PAGES, Page, fill, page, readable};

pub use tables::table;

/// Read the guide: how to start, each lab, your own models and data, and all reference tables.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  probity guide
  probity guide reading-a-band
  probity guide --search interval")]
pub struct GuideArgs {
    /// Page to show [default: the list of pages].
    topic: Option<String>,
    /// List all lines that contain this text, grouped by page.
    #[arg(long, value_name = "TEXT", conflicts_with = "topic")]
    search: Option<String>,
    /// Write the generated tables into the pages of this folder (for maintainers).
    #[arg(long, value_name = "DIR", conflicts_with_all = ["topic", "search"])]
    write: Option<PathBuf>,
}

/// Fails with [`CliError::Usage`] for an unknown page, [`CliError::Failed`] if a file cannot be read or written.
pub fn guide(args: &GuideArgs, out: &mut dyn Write) -> Result<(), CliError> {
    if let Some(folder) = &args.write {
        return PAGES.iter().try_for_each(|page| rewrite(folder, page));
    }
    if let Some(text) = &args.search {
        return print(out, &search(text));
    }
    match &args.topic {
        None => print(out, &contents()),
        Some(topic) => {
            let page = page(topic).map_err(CliError::Usage)?;
            show(out, &readable(page.text))
        }
    }
}

fn contents() -> String {
    let width = PAGES.iter().map(|p| p.name.len()).max().unwrap_or(0);
    let mut text = String::from("Pages of the guide (`probity guide PAGE` shows one):\n\n");
    for page in PAGES {
        text.push_str(&format!("  {:width$}  {}\n", page.name, page.question()));
    }
    text
}

/// Lists matching lines by page, ignoring case.
fn search(text: &str) -> String {
    let wanted = text.to_lowercase();
    let mut found = String::new();
    for page in PAGES {
        let text = readable(page.text);
        let lines: Vec<&str> = text.lines().filter(|l| l.to_lowercase().contains(&wanted)).collect();
        if !lines.is_empty() {
            found.push_str(&format!("{}: {}\n", page.name, page.title()));
            lines.iter().for_each(|line| found.push_str(&format!("  {}\n", line.trim())));
        }
    }
    if found.is_empty() { format!("no page contains \"{}\"\n", base::text::printable_label(text)) } else { found }
}

/// On a terminal, pipes the text through `$PAGER` (default `less`). Prints it otherwise, or if there is no pager.
fn show(out: &mut dyn Write, text: &str) -> Result<(), CliError> {
    if !std::io::stdout().is_terminal() || !paged(text) {
        return print(out, text);
    }
    Ok(())
}

/// True if a pager showed the text.
fn paged(text: &str) -> bool {
    let pager = std::env::var("PAGER").unwrap_or_else(|_| "less".into());
    let mut words = pager.split_whitespace();
    let Some(program) = words.next() else { return false };
    let child = Command::new(program).args(words).env("LESS", "FRX").stdin(Stdio::piped()).spawn();
    let Ok(mut child) = child else { return false };
    if let Some(mut stdin) = child.stdin.take() {
        // If the reader quits early, the pipe closes; that is not an error.
        let _ = stdin.write_all(text.as_bytes());
    }
    child.wait().is_ok_and(|status| status.success())
}

fn print(out: &mut dyn Write, text: &str) -> Result<(), CliError> {
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|e| match e.kind() {
        std::io::ErrorKind::BrokenPipe => CliError::Closed,
        _ => CliError::Failed(format!("cannot write to standard output: {e}")),
    })
}

/// Regenerates the tables of a page, and writes the page only if they changed.
fn rewrite(folder: &Path, page: &Page) -> Result<(), CliError> {
    let path = folder.join(format!("{}.md", page.name));
    let fail = |what: &dyn std::fmt::Display| CliError::Failed(format!("{}: {what}", path.display()));
    let text = base::read::text(&path, 4 << 20).map_err(|e| fail(&format!("cannot read the page: {e}")))?;
    let filled = fill(&text, table).map_err(|e| fail(&e))?;
    if filled == text {
        return Ok(());
    }
    write_whole(&path, filled.as_bytes()).map_err(|e| fail(&format!("cannot write the page: {e}")))
}
