//! Progress of a headless run on stderr: a bar on a terminal, otherwise plain lines.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use super::output::say;
use base::numbers::about;
use base::text::printable_label;
use engine::message::Progress;

/// Minimum interval between lines within a stage.
const PLAIN_EVERY: Duration = Duration::from_secs(5);
/// Resolution of the bar, which shows the completed share of the whole run.
const STEPS: u64 = 1000;

pub enum Meter {
    Quiet,
    Bar(ProgressBar),
    Plain {
        stage: String,
        /// Time of the latest line.
        at: Option<Instant>,
    },
}

impl Meter {
    /// Chooses a bar if stderr is a terminal that can redraw a line, otherwise plain lines.
    pub fn new(quiet: bool) -> Self {
        let dumb = std::env::var_os("TERM").is_some_and(|t| t == "dumb");
        if quiet {
            Meter::Quiet
        } else if std::io::stderr().is_terminal() && !dumb {
            let bar = ProgressBar::new(STEPS);
            // The template is a constant; if it is invalid, the default style replaces it.
            let style = ProgressStyle::with_template("{bar:24} {percent:>3} %  {msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            Meter::Bar(bar)
        } else {
            Meter::Plain { stage: String::new(), at: None }
        }
    }

    pub fn show(&mut self, progress: &Progress) {
        let percent = (progress.overall.clamp(0.0, 1.0) * 100.0).floor();
        match self {
            Meter::Quiet => {}
            Meter::Bar(bar) => {
                bar.set_position((progress.overall.clamp(0.0, 1.0) * STEPS as f64) as u64);
                bar.set_message(describe(progress));
            }
            Meter::Plain { stage, at } => {
                let new_stage = *stage != progress.stage;
                if new_stage || at.is_none_or(|t| t.elapsed() >= PLAIN_EVERY) {
                    stage.clone_from(&progress.stage);
                    *at = Some(Instant::now());
                    say(&format!("{percent:>3} %  {}", describe(progress)));
                }
            }
        }
    }

    /// Prints a line without disturbing the bar.
    pub fn say(&self, text: &str) {
        match self {
            Meter::Bar(bar) => bar.suspend(|| say(text)),
            Meter::Quiet | Meter::Plain { .. } => say(text),
        }
    }

    pub fn tell(&self, text: &str) {
        if !matches!(self, Meter::Quiet) {
            self.say(text);
        }
    }

    pub fn clear(&self) {
        if let Meter::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}

fn describe(p: &Progress) -> String {
    let rate = if p.rate > 0.0 { format!("  {} {}/s", count(p.rate), p.unit) } else { String::new() };
    let left = p.left.filter(|l| l.is_finite()).map_or(String::new(), |l| format!("  {} left", about(l)));
    printable_label(&format!("{}  {}/{}{rate}{left}", p.stage, p.done, p.total))
}

fn count(x: f64) -> String {
    if x >= 9_950.0 { format!("{:.0}k", x / 1e3) } else { format!("{x:.0}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_shows_stage_rate_and_time_left() {
        let progress = Progress {
            stage: "oracle subject_number".into(),
            done: 5,
            total: 8,
            unit: "ex".into(),
            rate: 41_000.0,
            overall: 0.5,
            elapsed: 3.0,
            left: Some(3.2),
        };
        assert_eq!(describe(&progress), "oracle subject_number  5/8  41k ex/s  about 5 s left");
        let unknown = Progress { rate: 0.0, left: Some(f64::NAN), stage: "\u{1b}[2J".into(), ..progress };
        assert_eq!(describe(&unknown), "␛[2J  5/8");
    }
}
