//! `probity models pull`: fetches a model from the hub into the cache and shows progress on stderr.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use super::{address, failure};
use crate::error::CliError;
use crate::output::{self, say};
use base::Cancelled;
use base::text::printable_label;
use model::ModelSource;
use model::hub::{self, Settings, Step, Transfer};

/// Minimum interval between progress lines for one file.
const PLAIN_EVERY: Duration = Duration::from_secs(5);

pub(crate) fn pull(id: &str, out: &mut dyn Write) -> Result<(), CliError> {
    let name = if id.starts_with("hub:") { id.to_owned() } else { format!("hub:{id}") };
    let ModelSource::Hub { id, revision } = address(&name)? else {
        return Err(CliError::Usage(format!("{id} is not a hub id; use the form organisation/name")));
    };
    let mut meter = Meter::default();
    let settings = Settings::of_process();
    let dir = hub::pull(&id, &revision, &settings, &mut |t| meter.show(t));
    meter.clear();
    // If the fetch failed, its error already mentions this.
    if let Some(why) = settings.token_withheld().filter(|_| dir.is_ok()) {
        say(&format!("note: {why}"));
    }
    output::line(out, &printable_label(&dir.map_err(failure)?.display().to_string()))
}

/// Download progress: one bar per file on a terminal, otherwise plain lines.
#[derive(Default)]
pub(crate) struct Meter {
    bar: Option<ProgressBar>,
    file: String,
    step: Option<Step>,
    at: Option<Instant>,
}

impl Meter {
    pub(crate) fn show(&mut self, t: &Transfer<'_>) -> Result<(), Cancelled> {
        let new = self.file != t.file || self.step != Some(t.step);
        if new {
            t.file.clone_into(&mut self.file);
            self.step = Some(t.step);
        }
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        if std::io::stderr().is_terminal() && !dumb {
            let bar = self.bar.get_or_insert_with(|| {
                let bar = ProgressBar::new(0);
                // The template is a constant; if it is invalid, the default style replaces it.
                let style =
                    ProgressStyle::with_template("{bar:24} {bytes:>10} / {total_bytes:<10} {bytes_per_sec:>12}  {msg}");
                bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
                bar
            });
            if new {
                bar.set_message(describe(t));
                bar.reset_eta();
            }
            bar.set_length(t.total.unwrap_or(t.done));
            bar.set_position(t.done);
        } else if t.step != Step::Asking && (new || self.at.is_none_or(|at| at.elapsed() >= PLAIN_EVERY)) {
            self.at = Some(Instant::now());
            let of = t.total.map_or(String::new(), |total| format!(" of {:.1}", total as f64 / 1e6));
            say(&format!("{}  {:.1}{of} MB", describe(t), t.done as f64 / 1e6));
        }
        Ok(())
    }

    pub(crate) fn clear(&self) {
        self.bar.iter().for_each(ProgressBar::finish_and_clear);
    }
}

fn describe(t: &Transfer<'_>) -> String {
    let step = match t.step {
        Step::Asking => "requesting",
        Step::Waiting => "waiting for another process to download",
        Step::Fetching => "fetching",
        Step::Verifying => "verifying",
    };
    printable_label(&format!("{step} {}: {}", t.model, t.file))
}
