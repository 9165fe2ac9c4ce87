//! Checks that a replay shows what the live run showed: arbitrary commands and events, recorded and read back, fold to the same board.

mod arbitrary;
mod first;
mod shipped;
mod trained;
mod verdicts;

use std::path::Path;
use std::sync::Arc;

use crate::common::comparison::has_compared;
use crate::common::saliency::has_scored;
use crate::common::{Harness, Record, start};
use arbitrary::{Op, ops};
use probity::engine::board::Board;
use probity::engine::message::Event;
use probity::lab::interventions::Spec;
use probity::lab::{Common, Finding, LabId, SummaryFinding};
use probity::session::format::{Entry, Header, Item, Session};
use probity::session::record::{Record as _, Recorder};
use probity::session::replay::{Player, Step};
use probity::tui::action::Action;
use probity::tui::state::{ReplayState, Start};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

/// Records while folding, as the live program does. Returns the folded board and the file.
fn record(ops: &[(f64, Op)], folder: &Path) -> (Board, std::path::PathBuf) {
    let header = Header::new("cpu", "2025-01-01T00:00:00Z".into(), Some(Spec::shipped().into()));
    let mut recorder = Recorder::create(folder, "s", &header).unwrap();
    let mut board = Board::default();
    let mut t = 0.0;
    for (pause, op) in ops {
        t += pause;
        match op {
            Op::Command(command) => {
                board.on_command(command);
                recorder.command(t, command).unwrap();
            }
            Op::Event(event) => {
                board.on_event(event);
                recorder.event(t, event).unwrap();
            }
            Op::Note(note) => recorder.note(t, note).unwrap(),
        }
    }
    recorder.finish().unwrap();
    let path = recorder.path().to_owned();
    (board, path)
}

fn fold(entries: &[Entry]) -> Board {
    let mut board = Board::default();
    entries.iter().for_each(|entry| entry.fold(&mut board));
    board
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn recording_gives_the_live_board(ops in ops()) {
        let folder = tempfile::tempdir().unwrap();
        let (live, path) = record(&ops, folder.path());
        let session = Session::read(&path).unwrap();
        prop_assert_eq!(session.losses.sentences(), Vec::<String>::new());
        prop_assert!(session.entries().map(|e| e.t).is_sorted());
        prop_assert_eq!(session.board(), live);
    }

    #[test]
    fn truncated_recording_gives_a_prefix(ops in ops(), cut in 0.0..1.0f64) {
        let folder = tempfile::tempdir().unwrap();
        let (_, path) = record(&ops, folder.path());
        let whole = Session::read(&path).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let header = 1 + bytes.iter().position(|&b| b == b'\n').unwrap();
        let end = header + ((bytes.len() - header) as f64 * cut) as usize;
        std::fs::write(&path, &bytes[..end]).unwrap();
        let session = Session::read(&path).unwrap();
        let lines = bytes[header..end].iter().filter(|&&b| b == b'\n').count();
        let loose = bytes[..end].last() != Some(&b'\n');
        // A last line without a newline counts if it is complete.
        let kept = session.entries().count();
        prop_assert!(kept == lines || (loose && kept == lines + 1 && session.losses.cut.is_none()));
        prop_assert_eq!(session.losses.cut.is_some(), loose && kept == lines);
        prop_assert_eq!(session.losses.damaged + session.losses.unknown, 0);
        prop_assert_eq!(session.board(), fold(&whole.entries().take(kept).collect::<Vec<_>>()));
    }

    #[test]
    fn replay_state_depends_only_on_its_position(
        ops in ops(), steps in vec((0.0..3.0f64, option::of(0.0..60.0f64)), 0..12)
    ) {
        let folder = tempfile::tempdir().unwrap();
        let (live, path) = record(&ops, folder.path());
        let session = Arc::new(Session::read(&path).unwrap());
        let mut player = Player::new(session.clone());
        let mut board = Board::default();
        for (wall, seek) in steps {
            match seek {
                Some(t) => {
                    board = Board::default();
                    let (entries, gone) = player.seek(t);
                    entries.for_each(|entry| entry.fold(&mut board));
                    gone.into_iter().for_each(|at| board.let_go(at));
                }
                None => player.advance(wall).for_each(|entry| entry.fold(&mut board)),
            }
            if player.position() > 0.0 || seek.is_some() {
                prop_assert_eq!(&board, &session.board_at(player.position()));
            }
        }
        player.set_speed(f64::INFINITY);
        player.advance(0.0).for_each(|entry| entry.fold(&mut board));
        prop_assert!(player.ended());
        prop_assert_eq!(board, live);
    }
}

#[test]
fn replay_screen_has_the_live_board() {
    let live = Harness::finished(80, 24);
    let position = Some(ReplayState::new("s".into(), 10.0, 1.0));
    let mut replay = Harness::of(Start { size: (80, 24), replay: position, ..start() });
    for line in &live.record {
        let item = match line {
            Record::Command(command) => Item::Command(command.clone()),
            Record::Event(event) => Item::Event(event.clone()),
        };
        replay.act(Action::Played(Step::Entry(Box::new(Entry { t: 0.0, item }))));
    }
    assert_eq!(replay.state.board, live.state.board);
    assert!(replay.effects.is_empty(), "a replay sends nothing to an engine: {:?}", replay.effects);
}

#[test]
fn numbers_round_trip_to_the_last_bit() {
    let value = 0.209_541_657_660_427_18;
    let event = Event::Finding {
        generation: 0,
        finding: Box::new(Finding {
            lab: LabId::Interventions,
            spec: String::new(),
            model: String::new(),
            seed: u64::MAX,
            n: usize::MAX,
            r#final: true,
            t: value,
            level: None,
            body: Common::Summary(SummaryFinding {
                seconds: value,
                device: String::new(),
                version: String::new(),
                cancelled: false,
            })
            .into(),
        }),
    };
    let entry = Entry { t: 0.0, item: Item::Event(event) };
    let header = serde_json::to_string(&Header::new("", String::new(), None)).unwrap();
    let text = format!("{header}\n{}", entry.to_line().unwrap());
    let session = Session::parse(text.as_bytes(), Path::new("x")).unwrap();
    assert_eq!(session.entries().collect::<Vec<_>>(), [entry], "serde_json needs its feature float_roundtrip");
}

/// A reader skips findings of old runs by their kind, but must not skip a kind that makes a comparison.
#[test]
fn kinds_that_make_comparisons_are_declared() {
    let runs = [Harness::finished(80, 24), has_compared(80, 24), has_scored(80, 24)];
    let mut compared = 0;
    for record in runs.iter().flat_map(|run| &run.record) {
        let Record::Event(Event::Finding { finding, .. }) = record else { continue };
        let lab = probity::lab::by_id(finding.lab);
        if lab.compared(finding).is_some() {
            let value = serde_json::to_value(finding).unwrap();
            let (kind, is_final) = (value["kind"].as_str().unwrap(), value["final"].as_bool().unwrap());
            assert!(lab.compares(kind, is_final), "{kind}");
            compared += 1;
        }
    }
    assert!(compared > 0);
}
