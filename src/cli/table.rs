//! The text summary of a run: the lab's tables, notices and outcome.

use base::text::printable_label;
use engine::board::{Board, Run};
use engine::message::{NoticeLevel, Outcome};

pub fn table(board: &Board) -> Vec<String> {
    let shown = || board.runs.iter().filter(|run| is_shown(board, run));
    let mut out: Vec<String> = shown().flat_map(results).collect();
    let mut told = None;
    for notice in &board.notices {
        // A failed run reports its problem both in a finding and at its end; the problem is printed only once.
        if told.replace(&notice.problem) == Some(&notice.problem) {
            continue;
        }
        let level = match notice.level {
            NoticeLevel::Info => "note",
            NoticeLevel::Warning => "warning",
            NoticeLevel::Error => "error",
        };
        out.push(format!("{level}: {}", printable_label(&notice.problem.to_string())));
    }
    for (run, s) in shown().filter_map(|run| Some((run, run.summary.as_ref()?))) {
        let state = match &run.job.outcome {
            Some(Outcome::Failed(_)) => "failed after",
            _ if s.value.cancelled => "cancelled after",
            _ => "done in",
        };
        out.push(String::new());
        let text = format!("{state} {:.1} s on {}, probity {}", s.value.seconds, s.value.device, s.value.version);
        out.push(printable_label(&text));
    }
    out
}

/// True if this run is the one displayed for its lab.
pub(crate) fn is_shown(board: &Board, run: &Run) -> bool {
    board.run_of(run.job.spec.lab()).is_some_and(|shown| shown.job.generation == run.job.generation)
}

pub fn results(run: &Run) -> Vec<String> {
    let spec = &run.job.spec;
    let mut out = vec![printable_label(&format!("{} lab, spec {}", spec.lab(), run.job.spec_hash))];
    out.extend(labs::by_id(spec.lab()).summary(&run.results, spec));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_board_is_an_empty_table() {
        assert!(table(&Board::default()).is_empty());
    }
}
