//! Notices of the board and local notices, which the engine does not know, in one list.

use super::State;
use crate::reduce::runs;
use base::Problem;
use base::text::printable;
use engine::message::{Notice, NoticeLevel};

/// Maximum number of local notices; older ones are dropped.
const MAX_LOCAL: usize = 200;

impl State {
    pub(crate) fn notify(&mut self, notice: Notice) {
        if self.local.len() == MAX_LOCAL {
            self.local.remove(0);
        }
        self.local.push((self.board.notices.len(), notice));
    }

    /// Shows a problem as a message and keeps it as a notice.
    pub(crate) fn fail(&mut self, problem: Problem) {
        self.view.toast = Some(printable(&self.in_labels(&problem.to_string())).into_owned());
        self.notify(Notice { level: NoticeLevel::Error, problem });
    }

    /// Replaces keys of the lab's settings with their labels in a text about a spec.
    pub(crate) fn in_labels(&self, text: &str) -> String {
        self.setup().map_or_else(|| text.to_owned(), |setup| labs::with_labels(setup.lab(), text))
    }

    /// All notices, oldest first: the board's and the local ones.
    pub fn notices(&self) -> Vec<&Notice> {
        self.notices_by_run().into_iter().map(|(_, notice)| notice).collect()
    }

    /// All notices, oldest first, each with the index of the run during which the engine sent it.
    pub(crate) fn notices_by_run(&self) -> Vec<(Option<usize>, &Notice)> {
        let mut all = Vec::with_capacity(self.local.len() + self.board.notices.len());
        let mut local = self.local.iter().peekable();
        let place = |at: usize| {
            let generation = self.board.notices_of.get(at)?;
            runs::number(self, *generation)
        };
        for (i, notice) in self.board.notices.iter().enumerate() {
            while let Some((_, own)) = local.next_if(|(before, _)| *before <= i) {
                all.push((None, own));
            }
            all.push((place(i), notice));
        }
        all.extend(local.map(|(_, own)| (None, own)));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Start;
    use engine::message::Event;

    fn notice(what: &str) -> Notice {
        let problem = Problem { what: what.into(), r#where: String::new(), hint: String::new() };
        Notice { level: NoticeLevel::Info, problem }
    }

    #[test]
    fn local_notices_keep_their_order_among_board_notices() {
        let mut state = State::new(Start::new());
        state.notify(notice("a"));
        state.board.on_event(&Event::Notice(notice("b")));
        state.notify(notice("c"));
        state.board.on_event(&Event::Notice(notice("d")));
        let all: Vec<&str> = state.notices().iter().map(|n| n.problem.what.as_str()).collect();
        assert_eq!(all, ["a", "b", "c", "d"]);
    }

    #[test]
    fn only_recent_local_notices_are_kept() {
        let mut state = State::new(Start::new());
        for i in 0..=MAX_LOCAL {
            state.notify(notice(&i.to_string()));
        }
        assert_eq!(state.local.len(), MAX_LOCAL);
        assert_eq!(state.notices()[0].problem.what, "1");
    }

    #[test]
    fn a_problem_is_shown_at_once_and_kept() {
        let mut state = State::new(Start::new());
        state.fail(Problem { what: "no\u{1b}".into(), r#where: "x".into(), hint: "y".into() });
        assert!(!state.view.toast.clone().unwrap().contains('\u{1b}'));
        assert_eq!(state.notices().len(), 1);
    }
}
