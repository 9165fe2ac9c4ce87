//! `probity follow --remote`: shows a grid on another machine, where `probity follow` reads the folder.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use super::found::Told;
use super::{FollowArgs, Shown};
use crate::error::CliError;
use crate::{output, ranges};
use remote::{Address, RemoteError, failed};

/// Maximum length of a line, in bytes.
const MAX_LINE: u64 = 16 << 20;
const PAUSE: Duration = Duration::from_secs(5);

/// Follows the grid, reconnecting when the link breaks.
///
/// # Errors
/// [`CliError::Failed`] with the host and the remote message; [`CliError::Reported`] if cells have failed.
pub(super) fn follow(args: &FollowArgs, address: &Address, out: &mut dyn Write) -> Result<(), CliError> {
    let mut shown = Shown::new(args);
    let kind = if args.once { Some("--once") } else { args.keep.then_some("--keep") };
    let take = |told: Told| match told {
        Told::View(view) => match shown.take(args, &view, out) {
            Ok(false) => ControlFlow::Continue(()),
            Ok(true) => ControlFlow::Break(Ok(())),
            Err(error) => ControlFlow::Break(Err(error)),
        },
        // Results of cells were not requested.
        Told::Entry(_) | Told::Whole(_) => ControlFlow::Continue(()),
    };
    let broke = |error: &RemoteError| {
        output::say(&format!("{error}; trying again"));
        !args.once
    };
    watch(address, &args.dir, (kind, false), take, broke)?
}

/// Passes reported states to `take` until that returns `Break`; with `found`, also passes the results of each finished cell once. If the
/// link breaks after the first message, `broke` decides whether to reconnect.
pub(super) fn watch<T>(
    address: &Address,
    dir: &Path,
    (kind, found): (Option<&str>, bool),
    mut take: impl FnMut(Told) -> ControlFlow<T>,
    mut broke: impl FnMut(&RemoteError) -> bool,
) -> Result<T, CliError> {
    let mut heard = false;
    let mut whole = BTreeSet::new();
    loop {
        let mut arguments = vec!["follow".to_owned(), "--json".into()];
        arguments.extend(kind.map(str::to_owned));
        arguments.extend(found.then(|| format!("--found={}", ranges::listed(&whole))));
        arguments.extend(["--".to_owned(), dir.display().to_string()]);
        let fail = |what: &str| CliError::Failed(format!("{}: {what}", address.host()));
        let mut command = address.program(!heard, &arguments);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|e| fail(&format!("{} cannot be started: {e}", address.ssh())))?;
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let said = std::thread::spawn(move || {
            let mut text = Vec::new();
            // Standard error that cannot be read is left out of the message.
            let _ = stderr.map(|pipe| pipe.take(MAX_LINE).read_to_end(&mut text));
            String::from_utf8_lossy(&text).into_owned()
        });
        let mut over = None;
        if let Some(stdout) = stdout {
            let mut stdout = BufReader::new(stdout);
            let mut line = String::new();
            while over.is_none() && stdout.by_ref().take(MAX_LINE).read_line(&mut line).is_ok_and(|n| n > 0) {
                match Told::read(&line) {
                    // A truncated line means that the link broke. Any other output does not come from `follow`.
                    _ if heard && !line.ends_with('\n') => break,
                    Some(told) => {
                        if let Told::Whole(cell) = told {
                            whole.insert(cell);
                        }
                        over = take(told).break_value();
                    }
                    None => {
                        let _ = child.kill();
                        let _ = child.wait();
                        return Err(fail("the data received do not come from `probity follow`"));
                    }
                }
                heard = true;
                line.clear();
            }
        }
        if let Some(over) = over {
            // The process has already ended, or will end when its output closes.
            let _ = child.kill();
            let _ = child.wait();
            return Ok(over);
        }
        let code = child.wait().ok().and_then(|status| status.code());
        let error = failed(address, code, &said.join().unwrap_or_default());
        let broken = matches!(error, RemoteError::Link { .. });
        if !broken || !heard || !broke(&error) {
            return Err(error.into());
        }
        std::thread::sleep(PAUSE);
    }
}
