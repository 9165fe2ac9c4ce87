//! Tests of the first start's example: its source, and when it is shown and removed.

use serde_json::Value;

use super::*;
use crate::action::Action;
use crate::panes;
use crate::reduce::reduce;
use crate::state::{Opening, Start, State};
use engine::message::Event;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

const RECORDING: &str = include_str!("../../../sessions/agreement.probity.jsonl");

/// The recording's header, commands and final findings, as JSON lines, without progress and interim findings.
fn lines() -> String {
    let mut out = String::new();
    for (i, line) in RECORDING.lines().enumerate() {
        let value: Value = serde_json::from_str(line).unwrap();
        let kept = match (value["command"].as_str(), value["event"].as_str()) {
            (Some("run" | "ask"), _) | (_, Some("ready" | "models" | "started" | "answer" | "finished")) => true,
            (_, Some("finding")) => value["finding"]["final"] == true,
            _ => i == 0,
        };
        if kept {
            out.push_str(line);
            out.push('\n');
        }
    }
    out
}

fn first_start(size: (u16, u16)) -> State {
    let mut state = State::new(Start { opening: Opening::First, size, ..Start::new() });
    reduce(&mut state, Action::Start);
    state
}

fn run(state: &mut State) {
    reduce(state, Action::Key("r".parse().unwrap()));
}

fn screen(state: &State) -> String {
    let (columns, rows) = state.view.size;
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    terminal.draw(|frame| panes::draw(frame, state)).unwrap();
    terminal.backend().to_string()
}

fn event(state: &mut State, event: Event) -> Vec<Effect> {
    reduce(state, Action::Event(Box::new(event)))
}

#[test]
fn example_is_the_packed_shipped_recording() {
    if std::env::var("PROBITY_PINS").as_deref() == Ok("write") {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../assets/example.jsonl.gz");
        let mut packer =
            flate2::write::GzEncoder::new(std::fs::File::create(path).unwrap(), flate2::Compression::best());
        std::io::Write::write_all(&mut packer, lines().as_bytes()).unwrap();
        packer.finish().unwrap();
        return;
    }
    assert!(*unpacked(PACKED).unwrap() == *lines().as_bytes(), "PROBITY_PINS=write packs it again");
}

#[test]
fn first_start_runs_nothing_and_estimates_the_duration() {
    for size in [(120, 40), (80, 24)] {
        let mut state = State::new(Start { opening: Opening::First, size, ..Start::new() });
        let effects = reduce(&mut state, Action::Start);
        let runs = |e: &Effect| matches!(e, Effect::Send(engine::message::Command::Run { .. }));
        assert!(!effects.iter().any(runs) && state.board.runs.is_empty(), "{effects:?}");
        let asked = |e: &Effect| matches!(e, Effect::Forecast(spec) if **spec == state.setup().unwrap().spec(&state));
        assert!(effects.iter().any(asked), "{effects:?}");
        let run = if size.0 < 100 { "r runs it on this computer" } else { "r starts your own run" };
        assert!(screen(&state).contains(run), "{}", screen(&state));
        let spec = state.setup().unwrap().spec(&state);
        reduce(&mut state, Action::Forecast(Box::new(spec), Some(200.0)));
        assert!(screen(&state).contains(&format!("{run} (about 3 min)")), "{}", screen(&state));
        assert!(screen(&state).contains("t r a quicker run"), "{}", screen(&state));
        crate::setup::typed(&mut state, "seed", "3").unwrap();
        assert!(!screen(&state).contains("about 3 min"), "the estimate was for different settings");
    }
}

#[test]
fn a_quick_run_has_fewer_methods_and_training_runs_and_can_be_undone() {
    let mut state = first_start((120, 40));
    let before = state.setup().unwrap().spec(&state);
    for key in ["t", "r"] {
        reduce(&mut state, Action::Key(key.parse().unwrap()));
    }
    let labs::Spec::Interventions(spec) = &state.board.runs[0].job.spec else { panic!() };
    let methods: Vec<&str> = spec.methods.iter().map(|m| m.name.as_str()).collect();
    assert_eq!((methods, spec.probe.replicates), (vec!["alterrep", "inlp", "identity", "random"], 3));
    assert!(state.view.toast.as_ref().is_some_and(|said| said.contains("wider intervals")), "{:?}", state.view.toast);
    reduce(&mut state, Action::Key("u".parse().unwrap()));
    assert_eq!(state.setup().unwrap().spec(&state), before);
}

/// Regression: for a minute after the first start, the screen used to show no results.
#[test]
fn first_start_shows_example_until_first_answer() {
    for size in [(120, 40), (80, 24)] {
        let mut state = first_start(size);
        let example = state.example.clone().unwrap();
        let text = screen(&state);
        // Next to the welcome strip, a small screen has room only for the decision.
        let answer = if size.0 == 120 { "Removing it: " } else { "No: none of " };
        assert!(text.contains(answer) && text.contains("Example"), "{text}");
        run(&mut state);
        assert_eq!(example.run.job.spec, state.board.runs[0].job.spec, "the first start's experiment");
        let text = screen(&state);
        // Regression: the example's answer and titles used to be mixed with the run in progress.
        for part in [
            "No answer yet: the run is in progress (agreement on bert-mini)",
            "example recorded on 2026-",
            "property stays",
        ] {
            assert!(text.contains(part), "{part} at {size:?}\n{text}");
        }
        assert!(!text.contains(answer) && text.matches("example recorded on 2026-").count() == 1, "{text}");
        assert_eq!(state.board.runs.len(), 1, "the example is not a run of the session");
        assert!(state.board.family.is_empty());
        // The first answer of the user's run replaces the example, and skipped questions are asked.
        let own = example.run.results.clone();
        state.board.runs[0].results = own;
        let generation = state.board.generation;
        let finished = Event::Finished { job: 1, generation, outcome: Outcome::Done, seconds: 1.0 };
        let effects = event(&mut state, finished);
        assert!(state.example.is_none() && !effects.is_empty());
        assert!(!screen(&state).contains("example recorded on 2026-"), "{}", screen(&state));
    }
}

#[test]
fn failed_run_replaces_example_and_cancelled_run_does_not() {
    let ended = |outcome| {
        let mut state = first_start((120, 40));
        run(&mut state);
        let generation = state.board.generation;
        event(&mut state, Event::Finished { job: 1, generation, outcome, seconds: 1.0 });
        state
    };
    let problem = base::Problem { what: "no room".into(), r#where: "disk".into(), hint: "make some".into() };
    let failed = ended(Outcome::Failed(problem));
    assert!(failed.example.is_none() && screen(&failed).contains("no room"));
    assert!(screen(&ended(Outcome::Cancelled)).contains("r starts your own run"));
}

#[test]
fn example_numbers_are_marked_as_recorded() {
    let mut state = first_start((120, 40));
    for key in ["x", "y", "i"] {
        let effects = reduce(&mut state, Action::Key(key.parse().unwrap()));
        assert!(effects.is_empty() && state.view.popup.is_none(), "{key}");
        assert!(state.view.toast.as_ref().is_some_and(|text| text.contains("example")), "{key}");
    }
    assert!(state.view.toast.is_some());
}

#[test]
fn later_starts_show_no_example() {
    for opening in [Opening::Home, Opening::Work] {
        let mut state = State::new(Start { opening, ..Start::new() });
        reduce(&mut state, Action::Start);
        assert!(state.example.is_none());
    }
}

fn keys(state: &mut State, keys: &str) -> Vec<Effect> {
    keys.split(' ').flat_map(|key| reduce(state, Action::Key(key.parse().unwrap()))).collect()
}

/// Regression: the example used to be unavailable after the first run.
#[test]
fn example_can_be_opened_and_closed_in_every_lab() {
    let mut state = first_start((120, 40));
    let lab = state.example.take().unwrap().run.job.spec.lab();
    assert_eq!(keys(&mut state, "E"), [Effect::OpenExample(lab)]);
    for lab in labs::LABS {
        let (name, session) = session(lab.id()).unwrap();
        let (mut over, _) = crate::run::opened::on_top_of(&state, None, &name, session);
        assert!(screen(&over).contains("Recorded example: E or esc returns"), "{}", screen(&over));
        assert!(screen(&over).lines().next().unwrap().contains("EXAMPLE"), "{}", screen(&over));
        assert_eq!(keys(&mut over, "E"), [Effect::Quit], "{name}");
        assert_eq!(keys(&mut over, "esc"), [Effect::Quit], "{name}");
    }
}

#[test]
fn runs_can_be_compared_with_the_example() {
    for size in [(120, 40), (80, 24)] {
        let mut state = first_start(size);
        run(&mut state);
        let own = state.example.take().unwrap().run;
        state.board.runs[0] = Run { job: state.board.runs[0].job.clone(), ..own };
        keys(&mut state, "D");
        assert!(screen(&state).contains("example  recorded on 2026-"), "{}", screen(&state));
        keys(&mut state, "enter");
        let text = screen(&state);
        assert!(text.contains("Example and run 1") && text.contains("Settings: the same in both"), "{text}");
    }
}

/// Regression: the example's answer used to be shown under another question, without the name of its model.
#[test]
fn example_names_settings_that_differ() {
    for size in [(120, 40), (80, 24)] {
        let mut state = first_start(size);
        let setup = state.setup().unwrap();
        let mut spec = setup.spec(&state);
        let own = spec.models().to_vec();
        spec.common_mut().set_models(vec!["gpt2-mini".into()]);
        setup.take(&mut state, &spec);
        let text = screen(&state);
        assert!(text.contains("gpt2-mini") && text.contains(&format!("Example (models {}", own[0])), "{text}");
    }
}

/// Regression: 418 sentences in the answers, and the values of chance, C and S, used to have no interval.
#[test]
fn sentences_of_shipped_answers_have_intervals() {
    for lab in labs::LABS {
        let example = recorded(lab.id()).unwrap();
        let answer = lab.answer(&example.run.results, &example.run.job.spec);
        let says = [answer.says, answer.evidence].concat();
        let honest = |text: &String| text.contains(['[', '±']) || text.contains("without an interval");
        // Limits, and the meaning of the brackets.
        let others = ["Required (", "95 % intervals on ", "An oracle that never changes its answer"];
        let honest = |text: &String| honest(text) || others.iter().any(|begin| text.starts_with(begin));
        assert!(says.iter().all(honest), "{says:?}");
        if lab.id() == LabId::Power {
            // Regression: an answer used to give two numbers of sentences, as if either would show the difference.
            assert!(says[1].starts_with("Needed to show it ") && says[1].ends_with("; this run has 512."), "{says:?}");
            assert!(says[2].starts_with("Training sentences, by the ") && says[2].contains(" ["), "{says:?}");
        }
        // Regression: the score and its chance level used to have intervals, but their difference had none.
        assert!(lab.id() != LabId::Saliency || says.iter().any(|text| text.contains(", difference .")), "{says:?}");
    }
}
