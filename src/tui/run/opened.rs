//! Parts of a session that was read: its name, and what to go on from.

use std::path::Path;

use crate::action::{Effect, Resumed};
use base::Problem;
use engine::message::{Command, Notice, NoticeLevel};
use labs::Spec;
use session::format::{Item as Line, Session};

/// The name of a session by its file.
pub(super) fn called(path: &Path) -> String {
    let file = path.file_name().map_or_else(String::new, |f| f.to_string_lossy().into_owned());
    file.strip_suffix(session::name::EXTENSION).unwrap_or(&file).to_owned()
}

/// Reads a session to go on with, from `spec` or else from what it ran last or started with.
pub(super) fn resumed(path: &Path, session: &Session, spec: Option<Box<Spec>>) -> Result<Box<Resumed>, Problem> {
    let past = session.until(f64::INFINITY);
    let (gone, past) = (past.gone, past.entries.collect::<Vec<_>>());
    let ran = past.iter().rev().find_map(|entry| match &entry.item {
        Line::Command(Command::Run { spec, .. }) => Some((**spec).clone()),
        _ => None,
    });
    let spec = spec.map(|spec| *spec).or(ran).or_else(|| session.header.spec.clone()).ok_or_else(|| Problem {
        what: "the session ran nothing that this version can set up".into(),
        r#where: path.display().to_string(),
        hint: "replay it, or choose another one".into(),
    })?;
    Ok(Box::new(Resumed { name: called(path), spec, past, gone }))
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

    /// A session that set out with one spec and ran others.
    fn session(header: Option<Spec>, ran: &[u64]) -> Session {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.probity.jsonl");
        let line = serde_json::to_string(&Header::new("cpu", "2026-01-02T03:04:05Z".into(), header)).unwrap();
        let entries = ran.iter().map(|seed| {
            let spec = Box::new(spec(*seed));
            Entry { t: 0.0, item: Line::Command(Command::Run { job: 1, generation: 1, spec }) }
        });
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
        let seed = |ran: &[u64], chosen| resumed(path, &session(Some(spec(1)), ran), chosen).unwrap().spec.seed();
        assert_eq!(seed(&[2, 3], None), 3);
        assert_eq!(seed(&[2, 3], Some(Box::new(spec(2)))), 2, "the run that was looked at");
        assert_eq!(seed(&[], None), 1);
    }

    #[test]
    fn a_session_that_ran_nothing_known_is_named_with_what_to_do() {
        let problem = resumed(Path::new("/s"), &session(None, &[]), None).unwrap_err();
        assert!(problem.r#where == "/s" && problem.hint.contains("replay"), "{problem}");
    }
}
