//! The program's main loop, and properties that must hold for any keys at any size.

use std::task::Context;

use probity::lab::interventions::Results;
use probity::session::format::Session;
use probity::session::shelf::{End, Recorded};

use super::*;

// ---- the loop ----------------------------------------------------------------------------------------------------

#[derive(Default)]
struct Tape {
    record: Rc<RefCell<Vec<Record>>>,
    fails: bool,
}

impl Tape {
    fn note(&mut self, line: Record) -> Result<(), Problem> {
        if self.fails {
            let text = |t: &str| t.to_owned();
            return Err(Problem { what: text("disk full"), r#where: text("session"), hint: text("make room") });
        }
        self.record.borrow_mut().push(line);
        Ok(())
    }
}

impl Recorder for Tape {
    fn command(&mut self, _: f64, command: &Command) -> Result<(), Problem> {
        self.note(Record::Command(command.clone()))
    }

    fn event(&mut self, _: f64, event: &Event) -> Result<(), Problem> {
        self.note(Record::Event(event.clone()))
    }

    fn note(&mut self, _: f64, _: &str) -> Result<(), Problem> {
        Ok(())
    }

    fn rename(&mut self, name: &str) -> Result<String, Problem> {
        Ok(name.to_owned())
    }

    fn discard(&mut self) {}

    fn finish(&mut self) {}
}

/// Functions for work outside the loop: every figure is reported as written, and there is one recorded session.
fn outside() -> Outside {
    // The session is small, because the loop waits until it has been read.
    let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/replay/first.probity.jsonl");
    let session = move || Recorded {
        name: "agreement".into(),
        path: shipped.into(),
        created: "2026-01-02T03:04:05Z".into(),
        lab: "interventions".into(),
        about: "agreement on bert-mini".into(),
        runs: 1,
        end: End::Done,
    };
    Outside {
        export: Arc::new(|export, _, _| Ok(Exported::Wrote(vec![format!("/{}.png", figure_of(export).name).into()]))),
        sessions: Arc::new(move |_| Ok(vec![session()])),
        save: Arc::new(|document, _| Ok(Saved::Wrote(document.path.clone()))),
        load: Arc::new(|path| Ok(Document { path: path.to_owned(), text: String::new() })),
        submit: Arc::new(|| Ok("job 7".into())),
        forecast: Arc::new(|_| None),
        read: Arc::new(|path| Ok(Session::read(path).expect("the shipped session"))),
    }
}

/// Runs the loop on a fake engine while keys arrive, each after a delay in milliseconds. Returns the board, the reason for the end, the
/// last screen, and the number of frames drawn before each key.
fn looped(tape: Tape, keys: &[(u64, &str)]) -> (Board, ExitReason, String, Vec<usize>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut terminal = Terminal::new(TestBackend::new(120, 40)).unwrap();
    let (keyboard, mut input) = unbounded_channel();
    let input = move |context: &mut Context<'_>| input.poll_recv(context);
    let frames = Rc::new(Cell::new(0));
    let counter = frames.clone();
    let options = Options {
        start: Start::new(),
        outside: outside(),
        copy: Box::new(|_| "copied"),
        mouse: Box::new(|_| {}),
        frame: Box::new(move |begins| counter.set(counter.get() + usize::from(begins))),
        notices: Vec::new(),
        stop: Box::pin(std::future::pending()),
    };
    let source = Source::Live(Box::new(FakeEngine::new(common::script())), Some(Box::new(tape)));
    let mut before = Vec::new();
    let (report, ()) = runtime.block_on(async {
        tokio::join!(run(&mut terminal, input, source, options), async {
            for (wait, key) in keys {
                tokio::time::sleep(Duration::from_millis(*wait)).await;
                before.push(frames.get());
                let key: probity::tui::key::Key = key.parse().unwrap();
                let event = KeyEvent::new(key.code, key.modifiers);
                keyboard.send(Ok(Input::Key(event))).unwrap();
            }
            // If no key quits, the end of the input does.
            drop(keyboard);
        })
    });
    let report = report.unwrap();
    let screen = terminal.backend().to_string();
    (report.board, report.reason, screen, before)
}

#[test]
fn loop_draws_records_and_quits() {
    let tape = Tape::default();
    let record = tape.record.clone();
    let keys = [(100, "tab"), (60, "l"), (60, "l"), (60, "x"), (60, "enter"), (60, "ctrl-c"), (60, "q")];
    let (board, reason, screen, _) = looped(tape, &keys);
    assert_eq!(reason, ExitReason::User);
    assert_eq!(board.results::<Results>().point.as_ref().unwrap().reliability[0].value.value, 0.165);
    // Regression: a session used to be named after the experiment at the start, whatever ran first.
    assert!(screen.contains("saved as interventions-bert-mini"), "{screen}");
    assert_eq!(fold(&record.borrow()), board, "the recording rebuilds the board");
}

#[test]
fn an_idle_loop_draws_nothing() {
    let (_, _, _, frames) = looped(Tape::default(), &[(300, "ctrl-c"), (300, "z"), (300, "z"), (0, "q")]);
    assert_eq!(frames[2] - frames[1], 1, "one frame per key, and none while nothing happens");
}

#[test]
fn a_closed_input_ends_the_loop() {
    let (_, reason, _, _) = looped(Tape::default(), &[(50, "l")]);
    assert_eq!(reason, ExitReason::InputClosed);
}

#[test]
fn failed_recording_does_not_end_the_program() {
    let tape = Tape { fails: true, ..Tape::default() };
    let (board, _, screen, _) = looped(tape, &[(100, "l"), (100, "!"), (100, "ctrl-c")]);
    assert!(board.results::<Results>().point.is_some());
    assert!(screen.contains("disk full"), "{screen}");
}

#[test]
fn session_is_replayed_over_the_live_run() {
    let keys =
        [(100, "0"), (150, "tab"), (60, "enter"), (300, "x"), (60, "enter"), (60, "q"), (60, "T"), (60, "ctrl-c")];
    let tape = Tape::default();
    let record = tape.record.clone();
    let (board, reason, screen, _) = looped(tape, &keys[..5]);
    assert_eq!(reason, ExitReason::InputClosed);
    assert!(screen.contains("replay first"), "{screen}");
    assert!(board.running(), "the live run continues in the background");
    assert_eq!(fold(&record.borrow()), board, "nothing of the replay is recorded");
    let (_, reason, screen, _) = looped(Tape::default(), &keys);
    assert_eq!(reason, ExitReason::InputClosed, "leaving the replay does not end the program");
    assert!(!screen.contains("replay first") && screen.contains("What do you want to know"), "{screen}");
}

#[test]
fn session_continues_in_its_lab() {
    let keys = [(100, "0"), (150, "tab"), (60, "r"), (300, "ctrl-c")];
    let (_, _, screen, _) = looped(Tape::default(), &keys);
    assert!(screen.contains("Settings") && !screen.contains("What do you want to know"), "{screen}");
}

// ---- a second run ------------------------------------------------------------------------------------------------

/// The commands and ends of runs, in recorded order.
fn order(record: &[Record]) -> Vec<String> {
    let line = |r: &Record| match r {
        Record::Command(Command::Run { job, .. }) => Some(format!("run {job}")),
        Record::Command(Command::Cancel { job }) => Some(format!("cancel {job}")),
        Record::Event(Event::Finished { job, .. }) => Some(format!("finished {job}")),
        _ => None,
    };
    record.iter().filter_map(line).collect()
}

#[test]
fn queued_run_is_recorded_when_it_starts() {
    let tape = Tape::default();
    let record = tape.record.clone();
    // Requests a second run, queues it and cancels the first. The second run begins when the first has ended.
    let keys = [(100, "r"), (60, "enter"), (60, "ctrl-c"), (100, "z")];
    let (board, _, screen, _) = looped(tape, &keys);
    assert_eq!(order(&record.borrow()), ["run 1", "cancel 1", "finished 1", "run 2"]);
    assert!(board.running() && board.generation == 2, "{screen}");
    assert_eq!(fold(&record.borrow()), board);
    let replay = replayed(&record.borrow(), 120, 40);
    assert_eq!(replay.state.board, board);
    assert!(replay.state.queue.is_empty(), "nothing waits in a replay: only started runs are recorded");
}

#[test]
fn queued_run_is_visible_and_can_be_withdrawn() {
    let tape = Tape::default();
    let record = tape.record.clone();
    let keys = [(100, "r"), (60, "enter"), (60, "z")];
    let (_, _, screen, _) = looped(Tape::default(), &keys);
    assert!(screen.contains("w shows 1 waiting run"), "{screen}");
    let keys = [(100, "r"), (60, "enter"), (60, "w"), (60, "enter"), (60, "ctrl-c"), (100, "z")];
    let (board, _, screen, _) = looped(tape, &keys);
    assert!(!screen.contains("waiting run") && !board.running(), "{screen}");
    assert_eq!(order(&record.borrow()), ["run 1", "cancel 1", "finished 1"]);
}

#[test]
fn replacing_run_is_recorded_at_once() {
    let tape = Tape::default();
    let record = tape.record.clone();
    let (board, ..) = looped(tape, &[(100, "r"), (60, "j"), (60, "enter"), (60, "z")]);
    assert_eq!((order(&record.borrow()), board.generation), (vec!["run 1".into(), "run 2".into()], 2));
}

// ---- properties --------------------------------------------------------------------------------------------------

#[derive(Debug, Clone)]
enum Stimulus {
    Key(KeyCode, KeyModifiers),
    Mouse(MouseKind, u16, u16),
    Resize(u16, u16),
    Paste(String),
    Tick,
    Finding(usize),
    Answer,
    Finish(bool),
    Models,
}

fn stimulus() -> impl Strategy<Value = Stimulus> {
    let code = prop_oneof![
        8 => prop::sample::select("hjklHLqmoxgTupes iyvwnN!:?25=[]z.019-+abc".chars().collect::<Vec<_>>())
            .prop_map(KeyCode::Char),
        2 => prop::sample::select(vec![
            KeyCode::Enter, KeyCode::Esc, KeyCode::Tab, KeyCode::BackTab, KeyCode::Backspace, KeyCode::Up,
            KeyCode::Down, KeyCode::Left, KeyCode::Right, KeyCode::Home, KeyCode::End, KeyCode::PageUp,
            KeyCode::PageDown,
        ]),
        1 => any::<char>().prop_map(KeyCode::Char),
    ];
    let modifiers = prop_oneof![
        9 => Just(KeyModifiers::NONE),
        1 => prop::sample::select(vec![KeyModifiers::CONTROL, KeyModifiers::ALT, KeyModifiers::SHIFT]),
    ];
    let kind = prop::sample::select(vec![
        MouseKind::Press,
        MouseKind::Drag,
        MouseKind::Release,
        MouseKind::ScrollUp,
        MouseKind::ScrollDown,
    ]);
    prop_oneof![
        12 => (code, modifiers).prop_map(|(c, m)| Stimulus::Key(c, m)),
        4 => (kind, 0u16..140, 0u16..50).prop_map(|(k, x, y)| Stimulus::Mouse(k, x, y)),
        1 => (0u16..200, 0u16..60).prop_map(|(c, r)| Stimulus::Resize(c, r)),
        1 => any::<String>().prop_map(Stimulus::Paste),
        1 => Just(Stimulus::Tick),
        6 => (0usize..400).prop_map(Stimulus::Finding),
        2 => Just(Stimulus::Answer),
        1 => any::<bool>().prop_map(Stimulus::Finish),
        1 => Just(Stimulus::Models),
    ]
}

fn stimulate(h: &mut Harness, stimulus: &Stimulus, findings: &[lab::Finding]) {
    let generation = h.state.board.generation;
    match stimulus {
        Stimulus::Key(code, modifiers) => {
            let key = KeyEvent::new(*code, *modifiers).into();
            h.act(Action::Key(key));
        }
        Stimulus::Mouse(kind, x, y) => {
            h.act(Action::Mouse(Mouse { kind: *kind, x: *x, y: *y }));
        }
        Stimulus::Resize(columns, rows) => {
            h.act(Action::Resize(*columns, *rows));
        }
        Stimulus::Paste(text) => {
            h.act(Action::Paste(text.clone()));
        }
        Stimulus::Tick => {
            h.act(Action::Tick);
        }
        Stimulus::Finding(i) => {
            let finding = Box::new(findings[i % findings.len()].clone());
            h.event(Event::Finding { generation, finding });
        }
        Stimulus::Answer => {
            if h.state.board.latest().is_some_and(|run| run.asked > 0) {
                h.answer(300);
            }
        }
        Stimulus::Finish(done) => {
            let outcome = if *done { Outcome::Done } else { Outcome::Cancelled };
            let job = h.state.board.job().map_or(0, |j| j.id);
            h.event(Event::Finished { job, generation, outcome, seconds: 1.0 });
        }
        Stimulus::Models => {
            h.event(common::models());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_input_is_safe_and_recording_rebuilds_the_board(
        stimuli in prop::collection::vec(stimulus(), 1..120),
        columns in 0u16..160,
        rows in 0u16..50,
    ) {
        let findings = measured(200, true);
        let mut h = Harness::new(columns, rows);
        h.act(Action::Start);
        for stimulus in &stimuli {
            stimulate(&mut h, stimulus, &findings);
            h.buffer();
        }
        // A recording does not contain which run is displayed.
        h.state.board.picked.clear();
        prop_assert_eq!(fold(&h.record), h.state.board.clone());
        let replay = replayed(&h.record, 80, 24);
        prop_assert_eq!(&replay.state.board, &h.state.board);
        replay.buffer();
    }
}

#[test]
fn best_method_is_drawn_unless_another_was_chosen() {
    let mut h = Harness::started(120, 40);
    h.state.screens.interventions.picked = false;
    h.events(measured(2400, true));
    assert_eq!(h.state.screens.interventions.method, "pgd");
    h.event(common::summary(1));
    h.event(Event::Finished { job: 1, generation: 1, outcome: Outcome::Done, seconds: 41.7 });
    assert_eq!(h.state.screens.interventions.method, "alterrep");
    h.keys("m");
    assert_eq!(h.state.screens.interventions.method, "inlp");
}
