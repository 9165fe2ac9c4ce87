//! `probity follow --remote`: a grid that another machine sees, looked at by the program there and shown by this one.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;
use std::time::Duration;

use super::{FollowArgs, Shown, View};
use crate::base::text::printable_message;
use crate::cli::error::CliError;
use crate::cli::output;
use crate::remote::Address;

/// Longest line that is read, in bytes.
const MAX_LINE: u64 = 16 << 20;
/// Pause before a broken link is tried again.
const PAUSE: Duration = Duration::from_secs(5);
/// How ssh ends when it is the link that failed.
const LINK: i32 = 255;

/// Follows it, and goes on when the link breaks.
///
/// # Errors
/// [`CliError::Failed`] with the host and what the program there says; [`CliError::Told`] where cells have failed.
pub(super) fn follow(args: &FollowArgs, address: &Address, out: &mut dyn Write) -> Result<(), CliError> {
    let mut arguments = vec!["follow".to_owned(), "--json".into()];
    arguments.extend(args.once.then(|| "--once".to_owned()));
    arguments.extend(["--".to_owned(), args.dir.display().to_string()]);
    let mut shown = Shown::new(args);
    let mut heard = false;
    loop {
        let fail = |what: &str| CliError::Failed(format!("{}: {what}", address.host()));
        let mut command = address.program(!heard, &arguments);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child =
            command.spawn().map_err(|e| fail(&format!("{} cannot be started: {e}", address.ssh())))?;
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let said = std::thread::spawn(move || {
            let mut text = Vec::new();
            // What cannot be read is not quoted.
            let _ = stderr.map(|pipe| pipe.take(MAX_LINE).read_to_end(&mut text));
            String::from_utf8_lossy(&text).into_owned()
        });
        let mut over = None;
        if let Some(stdout) = stdout {
            let mut stdout = BufReader::new(stdout);
            let mut line = String::new();
            while over.is_none() && stdout.by_ref().take(MAX_LINE).read_line(&mut line).is_ok_and(|n| n > 0) {
                let view: View =
                    serde_json::from_str(&line).map_err(|_| fail("what came is not of `probity follow`"))?;
                heard = true;
                over =
                    shown.take(args, &view, out).map_or_else(|e| Some(Err(e)), |over| over.then_some(Ok(())));
                line.clear();
            }
        }
        if let Some(over) = over {
            // It ends by itself, or with its output.
            let _ = child.kill();
            let _ = child.wait();
            return over;
        }
        let code = child.wait().ok().and_then(|status| status.code());
        let said = said.join().unwrap_or_default();
        let last = printable_message(said.lines().next_back().unwrap_or("it ended without a word"));
        if code != Some(LINK) || !heard || args.once {
            return Err(fail(&last));
        }
        output::say(&format!("{}: the link broke: {last}; trying again", address.host()));
        std::thread::sleep(PAUSE);
    }
}
