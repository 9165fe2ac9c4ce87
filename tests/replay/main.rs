//! A replay shows what the live run showed: arbitrary commands and events, recorded and read back, fold to the same board.

#[path = "../common/mod.rs"]
mod common;
mod findings;

use std::path::Path;
use std::sync::Arc;

use common::{Harness, Record, start};
use findings::*;
use probity::engine::board::Board;
use probity::engine::data::{
    DataAnswer, DataDiagnosis, DataInspection, DataQuestion, DataRequest, Part, Parts,
};
use probity::engine::finding::{Body, Finding, SummaryFinding};
use probity::engine::message::{
    Command, EngineInfo, Event, ModelInfo, Notice, NoticeLevel, Outcome, PointRequest, Progress,
};
use probity::engine::spec::{LabId, LayerRef, MethodSpec, Spec};
use probity::session::format::{Entry, Header, Item, Session};
use probity::session::record::Recorder;
use probity::session::replay::{Player, Step};
use probity::tui::action::Action;
use probity::tui::state::{ReplayState, Start};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

/// Something that happened, with the seconds since what happened before.
#[derive(Debug, Clone)]
enum Op {
    Command(Command),
    Event(Event),
    Note(String),
}

fn spec() -> BoxedStrategy<Spec> {
    (
        any::<u64>(),
        vec(name(), 0..3),
        vec((name(), vec(real(), 0..4), real()), 0..3),
        option::of(real()),
        0..4usize,
    )
        .prop_map(|(seed, models, methods, phi, layer)| {
            let mut spec = Spec { seed, models, ..Spec::agreement() };
            spec.task.phi = phi;
            spec.site.layer = if layer == 0 { LayerRef::Last } else { LayerRef::At(layer) };
            let method = |(name, values, option)| MethodSpec {
                name,
                values,
                options: [("steps".to_owned(), option)].into(),
            };
            spec.methods = methods.into_iter().map(method).collect();
            spec
        })
        .boxed()
}

/// Few generations, so that current and stale events both occur.
fn generation() -> BoxedStrategy<u64> {
    (0..3u64).boxed()
}

fn command() -> BoxedStrategy<Command> {
    let request = (generation(), 0..5u64, name(), real()).prop_map(|(generation, ticket, method, value)| {
        Command::Point(PointRequest {
            generation,
            ticket,
            model: method.clone(),
            method,
            options: [("steps".to_owned(), value)].into(),
            value,
            example: 3,
        })
    });
    prop_oneof![
        (generation(), spec()).prop_map(|(generation, spec)| Command::Run {
            job: generation,
            generation,
            spec: Box::new(spec)
        }),
        request,
        Just(Command::ListModels),
        Just(Command::Cancel { job: 1 }),
        any::<bool>().prop_map(|hold| Command::Pause { hold }),
        name().prop_map(|model| Command::Inspect { model }),
        name().prop_map(|model| Command::Check { model }),
        (spec(), 0..5u64, name(), any::<bool>()).prop_map(|(spec, ticket, set, doctor)| {
            let question = if doctor { DataQuestion::Doctor } else { DataQuestion::Inspect };
            Command::Data(DataRequest::of(&spec, ticket, &set, question))
        }),
        Just(Command::CancelData),
        Just(Command::Shutdown),
    ]
    .boxed()
}

fn progress() -> BoxedStrategy<Progress> {
    (text(), any::<u64>(), real(), option::of(real()))
        .prop_map(|(stage, done, rate, left)| Progress {
            stage,
            done,
            total: done,
            unit: "ex".into(),
            rate,
            overall: rate,
            elapsed: rate,
            left,
        })
        .boxed()
}

fn answer() -> BoxedStrategy<DataAnswer> {
    let inspection = (text(), any::<u64>(), real(), option::of(text()), vec(text(), 0..3)).prop_map(
        |(title, rows, seconds, hash, lines)| {
            let part =
                Part { name: title.clone(), n: 3, validation: Some(1), counts: vec![1, 2], phi: seconds };
            let parts = Parts {
                target: title.clone(),
                other: title.clone(),
                seed: rows,
                combinations: lines.clone(),
                parts: vec![part],
            };
            DataAnswer::Inspected(Box::new(DataInspection {
                title,
                rows,
                dropped: rows / 2,
                blank: 1,
                left_out: 0,
                seconds,
                parts: hash.as_ref().map(|_| parts),
                hash,
                examples: lines.clone(),
                lines,
            }))
        },
    );
    let diagnosis = (any::<u64>(), real(), vec(text(), 0..3)).prop_map(|(rows, seconds, lines)| {
        DataAnswer::Examined(Box::new(DataDiagnosis {
            models: lines.clone(),
            rows,
            kept: rows,
            unfit: 0,
            unreadable: rows,
            seconds,
            examples: lines.clone(),
            lines,
        }))
    });
    prop_oneof![inspection, diagnosis, problem().prop_map(DataAnswer::Failed), Just(DataAnswer::Stopped),]
        .boxed()
}

fn event() -> BoxedStrategy<Event> {
    let outcome =
        prop_oneof![Just(Outcome::Done), Just(Outcome::Cancelled), problem().prop_map(Outcome::Failed),];
    let level = prop_oneof![Just(NoticeLevel::Info), Just(NoticeLevel::Warning), Just(NoticeLevel::Error)];
    let model = (name(), any::<u64>()).prop_map(|(name, parameters)| ModelInfo {
        family: name.clone(),
        name,
        layers: 2,
        hidden: 8,
        parameters,
    });
    prop_oneof![
        1 => (text(), text()).prop_map(|(version, device)| Event::Ready(EngineInfo { version, device })),
        1 => vec(model, 0..3).prop_map(|models| Event::Models { models }),
        1 => (generation(), text())
            .prop_map(|(generation, spec_hash)| Event::Started { job: generation, generation, spec_hash }),
        4 => (generation(), progress())
            .prop_map(|(generation, progress)| Event::Progress { generation, progress }),
        6 => (generation(), finding())
            .prop_map(|(generation, finding)| Event::Finding { generation, finding: Box::new(finding) }),
        2 => (generation(), 0..5u64, vec(finding(), 0..3))
            .prop_map(|(generation, ticket, findings)| Event::Point { generation, ticket, findings }),
        1 => (generation(), outcome, real()).prop_map(|(generation, outcome, seconds)| Event::Finished {
            job: generation, generation, outcome, seconds,
        }),
        1 => (level, problem()).prop_map(|(level, problem)| Event::Notice(Notice { level, problem })),
        1 => (0..5u64, progress()).prop_map(|(ticket, progress)| Event::DataProgress { ticket, progress }),
        2 => (0..5u64, answer()).prop_map(|(ticket, answer)| Event::Data { ticket, answer }),
    ]
    .boxed()
}

/// What happens in a session, with pauses long and short against the rate at which progress is recorded.
fn ops() -> BoxedStrategy<Vec<(f64, Op)>> {
    let op = prop_oneof![
        2 => command().prop_map(Op::Command),
        8 => event().prop_map(Op::Event),
        1 => text().prop_map(Op::Note),
    ];
    vec((prop_oneof![0.0..0.1f64, 0.0..2.0f64], op), 0..40).boxed()
}

/// Records what happens while it folds, as the live program does. Gives the folded board and the file.
fn record(ops: &[(f64, Op)], folder: &Path) -> (Board, std::path::PathBuf) {
    let header = Header::new("cpu", "2025-01-01T00:00:00Z".into(), Some(Spec::agreement()));
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
    fn a_recording_folds_to_the_live_board(ops in ops()) {
        let folder = tempfile::tempdir().unwrap();
        let (live, path) = record(&ops, folder.path());
        let session = Session::read(&path).unwrap();
        prop_assert_eq!(session.losses.sentences(), Vec::<String>::new());
        prop_assert!(session.entries.is_sorted_by_key(|e| e.t));
        prop_assert_eq!(session.board(), live);
    }

    #[test]
    fn a_recording_that_is_cut_folds_to_a_prefix(ops in ops(), cut in 0.0..1.0f64) {
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
        // A line that lacks nothing but its end is whole.
        let kept = session.entries.len();
        prop_assert!(kept == lines || (loose && kept == lines + 1 && session.losses.cut.is_none()));
        prop_assert_eq!(session.losses.cut.is_some(), loose && kept == lines);
        prop_assert_eq!(session.losses.damaged + session.losses.unknown, 0);
        prop_assert_eq!(session.board(), fold(&whole.entries[..kept]));
    }

    #[test]
    fn however_a_replay_is_steered_its_state_is_a_fold_from_the_start(
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
                    player.seek(t).iter().for_each(|entry| entry.fold(&mut board));
                }
                None => player.advance(wall).iter().for_each(|entry| entry.fold(&mut board)),
            }
            if player.position() > 0.0 || seek.is_some() {
                prop_assert_eq!(&board, &session.board_at(player.position()));
            }
        }
        player.set_speed(f64::INFINITY);
        player.advance(0.0).iter().for_each(|entry| entry.fold(&mut board));
        prop_assert!(player.ended());
        prop_assert_eq!(board, live);
    }
}

#[test]
fn the_screen_of_a_replay_has_the_live_board() {
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
    assert!(replay.effects.is_empty(), "a replay asks nothing of an engine: {:?}", replay.effects);
}

#[test]
fn numbers_are_read_back_to_the_last_bit() {
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
            body: Body::Summary(SummaryFinding {
                seconds: value,
                device: String::new(),
                version: String::new(),
                cancelled: false,
            }),
        }),
    };
    let entry = Entry { t: 0.0, item: Item::Event(event) };
    let header = serde_json::to_string(&Header::new("", String::new(), None)).unwrap();
    let text = format!("{header}\n{}", entry.to_line().unwrap());
    let session = Session::parse(text.as_bytes(), Path::new("x")).unwrap();
    assert_eq!(session.entries, [entry], "serde_json needs its feature float_roundtrip");
}
