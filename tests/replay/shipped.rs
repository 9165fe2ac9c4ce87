//! The recordings in `sessions/`: one per lab, and a new user's first quarter of an hour.

use super::*;
use probity::lab::by_id;

/// Each recording, with the key of its lab's screen and its number of runs.
const SHIPPED: [(&str, &str, usize); 5] =
    [("interventions", "2", 1), ("prompts", "1", 1), ("power", "3", 1), ("saliency", "4", 1), ("newcomer", "2", 2)];

fn shipped(name: &str) -> Session {
    let path = format!("{}/sessions/{name}.probity.jsonl", env!("CARGO_MANIFEST_DIR"));
    assert!(std::fs::metadata(&path).unwrap().len() < 1 << 19, "{name} is a small file");
    Session::read(Path::new(&path)).unwrap()
}

#[test]
fn shipped_sessions_open_and_show_their_answers() {
    for (name, key, runs) in SHIPPED {
        let session = shipped(name);
        assert_eq!(session.losses.sentences(), Vec::<String>::new(), "{name}: every line is understood");
        let board = session.board();
        assert_eq!(board.runs.len(), runs, "{name}");
        let run = board.runs.last().unwrap();
        let lab = run.job.spec.lab();
        // The spec is in the format that this program writes, so its hash is current.
        assert_eq!(run.job.spec.hash(), run.job.spec_hash, "{name}: the spec hash is current");
        let lines = by_id(lab).answer(&run.results, &run.job.spec).lines();
        let first = lines.first().unwrap_or_else(|| panic!("{name} has no answer"));
        let position = Some(ReplayState::new(name.into(), session.duration(), 1.0));
        let mut replay = Harness::of(Start { replay: position, ..start() });
        for entry in session.entries() {
            replay.act(Action::Played(Step::Entry(Box::new(entry))));
        }
        replay.keys(key);
        let screen = replay.screen();
        let begin: String = first.chars().take(40).collect();
        assert!(screen.contains(&begin), "{name}: `{begin}`\n{screen}");
    }
}

/// Regression: a progress bar used to go back from 99 % to 81 %, and to show 0 s while the run continued.
#[test]
fn recorded_progress_only_rises() {
    for (name, ..) in SHIPPED {
        let (mut last, mut seen, mut run) = (0.0, 0, 0);
        for entry in shipped(name).entries() {
            let Item::Event(Event::Progress { generation, progress: p }) = entry.item else { continue };
            if generation != run {
                (run, last) = (generation, 0.0);
            }
            assert!(last <= p.overall && p.overall < 1.0, "{name} at {}: {last}, {}", entry.t, p.overall);
            assert!(p.left.is_none_or(|t| t > 0.0), "{name} at {}: {:?}", entry.t, p.left);
            (last, seen) = (p.overall, seen + 1);
        }
        assert!(seen > 1 && last > 0.5, "{name}: {seen} reports up to {last}");
    }
}
