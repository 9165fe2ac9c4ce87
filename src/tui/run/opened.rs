//! A session that was read: its name, and how to continue it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::action::{Effect, Resumed};
use crate::screen::ScreenId;
use crate::state::{ReplayState, Start, State};
use base::Problem;
use engine::message::{Command, Notice, NoticeLevel};
use labs::{LabId, Spec};
use session::format::{Item as Line, Session};
use session::replay::Recorded;

/// A session's name, from its file.
pub(super) fn called(path: &Path) -> String {
    let file = path.file_name().map_or_else(String::new, |f| f.to_string_lossy().into_owned());
    file.strip_suffix(session::name::EXTENSION).unwrap_or(&file).to_owned()
}

/// Reads a session to continue it with `spec`. Without `spec`, uses the last spec that ran in `lab`, or else the last spec that ran at all,
/// or else the spec with which the session started.
pub(super) fn resumed(
    path: &Path,
    session: &Session,
    spec: Option<Box<Spec>>,
    lab: Option<LabId>,
) -> Result<Box<Resumed>, Problem> {
    let past = session.until(f64::INFINITY);
    let (gone, past) = (past.gone, past.entries.collect::<Vec<_>>());
    let ran = || {
        past.iter().rev().filter_map(|entry| match &entry.item {
            Line::Command(Command::Run { spec, .. }) => Some(&**spec),
            _ => None,
        })
    };
    let ran = ran().find(|spec| Some(spec.lab()) == lab).or_else(|| ran().next()).cloned();
    let spec = spec.map(|spec| *spec).or(ran).or_else(|| session.header.spec.clone()).ok_or_else(|| Problem {
        what: "the session contains no run that this version can set up".into(),
        r#where: path.display().to_string(),
        hint: "replay it, or choose another one".into(),
    })?;
    Ok(Box::new(Resumed { name: called(path), spec, past, gone }))
}

/// A replay on top of the live program, which continues beneath it.
pub(super) struct Over {
    pub(super) state: State,
    pub(super) recorded: Recorded,
    /// The screen of a recorded example, which shows only its lab.
    pub(super) example: Option<ScreenId>,
}

impl Over {
    pub(super) fn new(top: &State, file: Option<PathBuf>, name: &str, session: Session) -> Self {
        let example = file.is_none();
        let (state, recorded) = on_top_of(top, file, name, session);
        let example = example.then_some(state.view.screen);
        Self { state, recorded, example }
    }

    /// The screen for which an example has been left.
    pub(super) fn left_for(&self) -> Option<ScreenId> {
        let chosen = self.state.view.screen;
        self.example.filter(|lab| *lab != chosen).map(|_| chosen)
    }
}

/// State of a session's replay on top of another state, and its player. The replay opens at the end; the user can rewind it.
pub(crate) fn on_top_of(top: &State, file: Option<PathBuf>, name: &str, session: Session) -> (State, Recorded) {
    let end = session.duration();
    let start = Start {
        spec: session.header.spec.clone().unwrap_or_else(|| Start::new().spec),
        keymap: top.keymap.clone(),
        themes: top.themes.clone(),
        glyphs: top.view.glyphs,
        size: top.view.size,
        folder: top.folder.clone(),
        replay: Some(ReplayState {
            example: file.is_none(),
            file,
            opening: true,
            ..ReplayState::new(name.to_owned(), end, 1.0)
        }),
        ..Start::new()
    };
    let mut state = State::new(start);
    state.view.theme = top.view.theme;
    (state.view.export, state.view.writing) = (top.view.export.clone(), top.view.writing);
    let recorded = Recorded::new(Arc::new(session), 1.0);
    recorded.control().seek(end);
    (state, recorded)
}

pub(super) fn error(problem: Problem) -> Notice {
    Notice { level: NoticeLevel::Error, problem }
}

/// True if an effect makes a session worth keeping.
pub(super) fn worth_keeping(effect: &Effect) -> bool {
    match effect {
        Effect::Send(command) => matches!(command, Command::Run { .. } | Command::Ask { .. }),
        Effect::Export(..) | Effect::Save(..) | Effect::NameSession(_) | Effect::Note(_) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use labs::LABS;
    use session::format::{Entry, Header};

    fn spec(seed: u64) -> Spec {
        let mut spec = Spec::shipped(LABS[0].id());
        spec.common_mut().set_seed(seed);
        spec
    }

    /// Returns a session that started with one spec and ran others.
    fn session(header: Option<Spec>, ran: &[u64]) -> Session {
        let entries = ran.iter().map(|seed| {
            let spec = Box::new(spec(*seed));
            Entry { t: 0.0, item: Line::Command(Command::Run { job: 1, generation: 1, spec }) }
        });
        with(header, entries)
    }

    fn with(header: Option<Spec>, entries: impl Iterator<Item = Entry>) -> Session {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.probity.jsonl");
        let line = serde_json::to_string(&Header::new("cpu", "2026-01-02T03:04:05Z".into(), header)).unwrap();
        let entries = entries.chain([Entry { t: 1.0, item: Line::Note("x".into()) }]);
        let lines: String = entries.map(|entry| entry.to_line().unwrap()).collect();
        std::fs::write(&path, line + "\n" + &lines).unwrap();
        Session::read(&path).unwrap()
    }

    #[test]
    fn a_session_is_called_by_its_file_without_the_extension() {
        assert_eq!(called(Path::new("/a/agreement-2.probity.jsonl")), "agreement-2");
        assert_eq!(called(Path::new("/a/other.txt")), "other.txt");
        assert_eq!(called(Path::new("/")), "");
    }

    #[test]
    fn one_goes_on_with_what_ran_last_or_else_with_what_was_set_out_with() {
        let path = Path::new("/s");
        let of = |ran: &[u64], chosen, lab| resumed(path, &session(Some(spec(1)), ran), chosen, lab).unwrap().spec;
        let seed = |ran: &[u64], chosen| of(ran, chosen, None).seed();
        assert_eq!(seed(&[2, 3], None), 3);
        assert_eq!(seed(&[2, 3], Some(Box::new(spec(2)))), 2, "the run that was shown");
        assert_eq!(seed(&[], None), 1);
        assert_eq!(of(&[2, 3], None, Some(LABS[1].id())).seed(), 3, "for a lab without a run, the last run");
    }

    /// Regression: other labs used to be empty while an example was shown, as if their runs were gone.
    #[test]
    fn an_example_is_left_when_another_screen_is_chosen() {
        let (lab, top) = (LABS[0].id(), State::new(Start::new()));
        let (name, session) = crate::example::session(lab).unwrap();
        let mut over = Over::new(&top, None, &name, session.clone());
        assert_eq!(over.left_for(), None);
        let other = crate::screens::SCREENS.iter().find(|screen| screen.setup().is_none()).unwrap().id();
        over.state.show(other);
        assert_eq!(over.left_for(), Some(other));
        let mut replay = Over::new(&top, Some("/s".into()), &name, session);
        replay.state.show(other);
        assert_eq!(replay.left_for(), None, "a replay has all labs");
    }

    /// Regression: a resumed session used to open in the lab of its last run, rather than in the lab shown last.
    #[test]
    fn a_restored_session_comes_back_in_the_lab_that_was_left() {
        let run = |lab: LabId, seed: u64| {
            let mut spec = Spec::shipped(lab);
            spec.common_mut().set_seed(seed);
            Entry { t: 0.0, item: Line::Command(Command::Run { job: seed, generation: seed, spec: Box::new(spec) }) }
        };
        let [a, b] = [LABS[0].id(), LABS[1].id()];
        let session = with(None, [run(a, 1), run(a, 2), run(b, 3)].into_iter());
        let of = |lab| resumed(Path::new("/s"), &session, None, lab).unwrap().spec;
        assert_eq!((of(Some(a)).lab(), of(Some(a)).seed()), (a, 2));
        assert_eq!((of(Some(b)).lab(), of(None).lab()), (b, b));
    }

    #[test]
    fn every_lab_has_a_shipped_session_that_answers_its_question() {
        for lab in LABS {
            let (name, session) = crate::example::session(lab.id()).unwrap();
            let (state, _) = on_top_of(&State::new(Start::new()), None, &name, session.clone());
            assert_eq!(state.screen().setup().map(|setup| setup.lab()), Some(lab.id()));
            let mut board = engine::board::Board::default();
            session.until(f64::INFINITY).entries.for_each(|entry| entry.fold(&mut board));
            let run = board.run_of(lab.id()).unwrap();
            assert!(!lab.answer(&run.results, &run.job.spec).says.is_empty(), "{name}");
        }
    }

    #[test]
    fn a_session_that_ran_nothing_known_is_named_with_what_to_do() {
        let problem = resumed(Path::new("/s"), &session(None, &[]), None, None).unwrap_err();
        assert!(problem.r#where == "/s" && problem.hint.contains("replay"), "{problem}");
    }
}
