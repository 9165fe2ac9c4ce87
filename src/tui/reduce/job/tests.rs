//! Tests of runs that wait, replace each other or are withdrawn, and of the end of runs and program.

use super::*;
use crate::action::Action;
use crate::reduce::reduce;
use crate::setup;
use crate::state::{Recording, ReplayState, Seat, Start};
use engine::Down;
use engine::message::{EngineInfo, Generation, JobId, Outcome};
use labs::LabId;
use session::format::{Entry, Item};

fn running() -> State {
    let mut state = State::new(Start::new());
    reduce(&mut state, Action::Start);
    state
}

fn keys(state: &mut State, keys: &str) -> Vec<Effect> {
    keys.split(' ').flat_map(|k| reduce(state, Action::Key(k.parse().unwrap()))).collect()
}

fn seed(state: &mut State, seed: u64) {
    let setup = state.setup().unwrap();
    let mut spec = setup.spec(state);
    spec.common_mut().set_seed(seed);
    setup.take(state, &spec);
}

fn queued(state: &mut State, seeds: &[u64]) {
    for seed in seeds {
        self::seed(state, *seed);
        assert!(keys(state, "r enter").is_empty());
    }
}

fn ended(state: &mut State, job: JobId, outcome: Outcome) -> Vec<Effect> {
    let event = Event::Finished { job, generation: job, outcome, seconds: 1.0 };
    reduce(state, Action::Event(Box::new(event)))
}

/// Number, generation and seed of each run sent.
fn runs(effects: &[Effect]) -> Vec<(JobId, Generation, u64)> {
    let run = |e: &Effect| match e {
        Effect::Send(Command::Run { job, generation, spec }) => Some((*job, *generation, spec.seed())),
        _ => None,
    };
    effects.iter().filter_map(run).collect()
}

fn seeds(state: &State) -> Vec<u64> {
    state.queue.iter().map(Spec::seed).collect()
}

#[test]
fn a_second_run_asks_first_and_nothing_is_sent_before_the_answer() {
    let mut state = running();
    assert!(keys(&mut state, "r").is_empty());
    assert_eq!(state.popup_name(), Some("second-run"));
    assert!(state.queue.is_empty() && state.board.generation == 1);
    for back in ["esc", "j j enter"] {
        assert!(keys(&mut state, back).is_empty());
        assert!(state.popup_name().is_none() && state.queue.is_empty() && state.board.generation == 1);
        keys(&mut state, "r");
    }
}

#[test]
fn a_run_that_waits_begins_when_the_first_ends_however_that_ends() {
    let problem = Problem { what: "no".into(), r#where: "x".into(), hint: "y".into() };
    for outcome in [Outcome::Done, Outcome::Cancelled, Outcome::Failed(problem)] {
        let mut state = running();
        queued(&mut state, &[7]);
        assert_eq!((seeds(&state), state.board.generation), (vec![7], 1));
        let effects = ended(&mut state, 1, outcome);
        assert_eq!(runs(&effects), [(2, 2, 7)]);
        assert!(state.queue.is_empty() && state.busy());
        assert!(
            effects.iter().any(|e| matches!(e, Effect::Send(Command::Ask { .. }))),
            "the lab's questions are sent with the run: {effects:?}"
        );
    }
}

#[test]
fn runs_begin_in_the_order_in_which_they_were_asked_for() {
    let mut state = running();
    queued(&mut state, &[5, 6, 7]);
    assert_eq!(seeds(&state), [5, 6, 7]);
    for (job, seed) in [(2, 5), (3, 6), (4, 7)] {
        assert_eq!(runs(&ended(&mut state, job - 1, Outcome::Done)), [(job, job, seed)]);
    }
    assert!(runs(&ended(&mut state, 4, Outcome::Done)).is_empty() && !state.busy());
}

#[test]
fn the_end_of_an_older_run_begins_nothing() {
    let mut state = running();
    keys(&mut state, "r j enter");
    queued(&mut state, &[9]);
    assert!(ended(&mut state, 1, Outcome::Cancelled).is_empty(), "the end of a replaced run starts nothing");
    assert_eq!(seeds(&state), [9]);
    assert_eq!(runs(&ended(&mut state, 2, Outcome::Done)), [(3, 3, 9)]);
}

#[test]
fn a_run_that_replaces_begins_at_once_and_leaves_those_that_wait() {
    let mut state = running();
    queued(&mut state, &[5]);
    seed(&mut state, 8);
    assert_eq!(runs(&keys(&mut state, "r j enter")), [(2, 2, 8)]);
    assert_eq!(seeds(&state), [5]);
}

#[test]
fn a_run_that_waits_is_what_was_set_up_when_it_was_asked_for() {
    let mut state = running();
    queued(&mut state, &[7]);
    seed(&mut state, 99);
    let effects = ended(&mut state, 1, Outcome::Done);
    assert_eq!(runs(&effects), [(2, 2, 7)]);
    assert_eq!(state.setup().unwrap().spec(&state).seed(), 99, "the user's settings are unchanged");
}

#[test]
fn a_setup_that_waits_is_told_from_one_that_was_changed() {
    let mut state = running();
    queued(&mut state, &[7]);
    assert!(setup::changed(&state) && setup::waits(&state));
    seed(&mut state, 8);
    assert!(setup::changed(&state) && !setup::waits(&state));
    seed(&mut state, 7);
    ended(&mut state, 1, Outcome::Done);
    assert!(!setup::changed(&state) && !setup::waits(&state), "these settings are running now");
}

#[test]
fn a_run_that_waits_can_be_withdrawn() {
    let mut state = running();
    assert!(keys(&mut state, "w").is_empty() && state.view.popup.is_none(), "no run is waiting");
    queued(&mut state, &[5, 6]);
    keys(&mut state, "w j enter");
    assert_eq!((seeds(&state), state.popup_name()), (vec![5], None));
    assert!(state.view.toast.as_deref().unwrap().contains("withdrawn"));
    assert!(withdraw(&mut state, 3).is_empty());
    assert_eq!(seeds(&state), [5], "there is no fourth waiting run");
}

#[test]
fn the_cursor_among_waiting_runs_stays_on_its_run_when_the_first_begins() {
    let mut state = running();
    queued(&mut state, &[5, 6, 7]);
    keys(&mut state, "w j j");
    ended(&mut state, 1, Outcome::Done);
    keys(&mut state, "enter");
    assert_eq!(seeds(&state), [6], "the run of seed 7 was under the cursor");
    keys(&mut state, "w");
    ended(&mut state, 2, Outcome::Done);
    assert_eq!(state.popup_name(), None, "the run under the cursor has begun");
}

#[test]
fn a_question_about_a_second_run_is_settled_by_the_end_of_the_first() {
    let mut state = running();
    seed(&mut state, 4);
    keys(&mut state, "r");
    assert_eq!(runs(&ended(&mut state, 1, Outcome::Done)), [(2, 2, 4)]);
    assert_eq!(state.popup_name(), None);
    queued(&mut state, &[5]);
    seed(&mut state, 6);
    keys(&mut state, "r");
    assert_eq!(runs(&ended(&mut state, 2, Outcome::Done)), [(3, 3, 5)]);
    assert_eq!(state.popup_name(), Some("second-run"), "another run is in progress, so it still counts");
}

#[test]
fn a_run_that_is_asked_for_while_the_other_is_cancelled_waits_without_a_question() {
    let mut state = running();
    keys(&mut state, "ctrl-c");
    assert!(keys(&mut state, "r").is_empty());
    assert_eq!((state.popup_name(), state.queue.len()), (None, 1));
    let effects = ended(&mut state, 1, Outcome::Cancelled);
    assert_eq!(runs(&effects).len(), 1);
    assert_eq!(state.cancelling, None, "the new run is not being cancelled");
}

#[test]
fn a_spec_that_cannot_run_neither_asks_nor_waits() {
    let mut state = running();
    let models = setup::row(&state, "models").unwrap();
    setup::toggle(&mut state, &models, 0);
    assert!(keys(&mut state, "r").is_empty());
    assert!(state.view.popup.is_none() && state.queue.is_empty());
    assert!(state.view.toast.as_deref().unwrap().contains("models"));
}

#[test]
fn quitting_takes_the_waiting_runs_with_it() {
    let mut state = running();
    queued(&mut state, &[5]);
    keys(&mut state, "q");
    assert!(popups::Quit.title(&state).ends_with("; its results are not saved; 1 more waits"));
    state.recording = Recording::On("one".into());
    assert!(popups::Quit.title(&state).contains("its results so far stay in session one"));
    keys(&mut state, "enter");
    let effects = ended(&mut state, 1, Outcome::Cancelled);
    assert!(effects.contains(&Effect::Quit) && runs(&effects).is_empty(), "{effects:?}");
}

#[test]
fn an_engine_that_has_gone_leaves_nothing_waiting() {
    let mut state = running();
    queued(&mut state, &[5]);
    reduce(&mut state, Action::EngineGone);
    assert!(state.queue.is_empty());
}

#[test]
fn a_replay_asks_nothing_and_lets_nothing_wait() {
    let replay = Some(ReplayState::new("s".into(), 20.0, 1.0));
    let mut state = State::new(Start { replay, ..Start::new() });
    for act in [run, wait, replace] {
        assert!(act(&mut state).is_empty() && state.queue.is_empty() && state.view.popup.is_none());
    }
}

#[test]
fn numbers_of_runs_and_questions_rise() {
    let mut state = running();
    let (ticket, generation) = (state.board.ticket, state.board.generation);
    let question = || Question::Model { model: "m".into(), what: engine::message::ModelQuestion::Inspect };
    ask(&mut state, question());
    ask(&mut state, question());
    assert_eq!(state.board.ticket, ticket + 2);
    replace(&mut state);
    assert_eq!(state.board.generation, generation + 1);
    assert_eq!(state.board.job().unwrap().id, 2);
}

#[test]
fn a_session_of_a_lab_sets_up_that_lab() {
    let mut state = running();
    for id in labs::LABS.iter().map(|lab| lab.id()) {
        let spec = Spec::shipped(id);
        let resumed = Resumed { name: "s".into(), spec: spec.clone(), past: Vec::new(), gone: Vec::new() };
        assert!(resume(&mut state, resumed).is_empty(), "something has already run here");
        let shown: LabId = state.setup().unwrap().lab();
        assert_eq!(shown, id);
        assert_eq!(setup_of(&spec).unwrap().0.id(), state.view.screen);
    }
}

/// Regression: a session's runs used to be available only as a replay, in which nothing can be run.
#[test]
fn a_session_is_gone_on_with_by_its_runs_and_the_next_one_follows_them() {
    let mut state = State::new(Start { opening: Opening::Home, ..Start::new() });
    let (ready, spec) =
        (|device: &str| EngineInfo { version: "1".into(), device: device.into() }, Spec::shipped(LabId::Power));
    reduce(&mut state, Action::Event(Box::new(Event::Ready(ready("here")))));
    let run = |job, generation| Item::Command(Command::Run { job, generation, spec: Box::new(spec.clone()) });
    let ended = Event::Finished { job: 1, generation: 1, outcome: Outcome::Done, seconds: 2.0 };
    let items = [Item::Event(Event::Ready(ready("there"))), run(1, 1), Item::Event(ended), run(2, 2)];
    let past = items.into_iter().zip([0.0, 1.0, 3.0, 4.0]).map(|(item, t)| Entry { t, item }).collect();
    let resumed = Resumed { name: "old".into(), spec: spec.clone(), past, gone: Vec::new() };
    let effects = reduce(&mut state, Action::Resumed(Ok(Box::new(resumed))));
    let [Effect::Adopt(name, past)] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!((name.as_str(), past.len()), ("old", 4), "without the old engine, but with an end of the second run");
    assert!(!state.busy(), "a run that was left unfinished is ended");
    let outcomes: Vec<_> = state.board.runs.iter().map(|run| run.job.outcome.clone()).collect();
    assert_eq!(outcomes, [Some(Outcome::Done), Some(Outcome::Cancelled)]);
    assert_eq!(state.board.engine.as_ref().map(|e| e.device.as_str()), Some("here"));
    assert!(
        state.view.toast.as_deref().is_some_and(|t| t.contains("its 2 runs are restored")),
        "{:?}",
        state.view.toast
    );
    let effects = keys(&mut state, "r r");
    let next = effects.iter().find_map(|effect| match effect {
        Effect::Send(Command::Run { job, generation, spec }) => Some((*job, *generation, spec.lab())),
        _ => None,
    });
    assert_eq!(next, Some((3, 3, LabId::Power)));
}

/// Regression: the last finished run used to be shown with the settings of the stopped one, as if those had never run.
#[test]
fn going_on_shows_the_stopped_run_whose_settings_it_restores() {
    let mut state = State::new(Start { opening: Opening::Home, ..Start::new() });
    let mut last = Spec::shipped(LabId::Power);
    last.common_mut().set_seed(7);
    let run = |n, spec: &Spec| Item::Command(Command::Run { job: n, generation: n, spec: Box::new(spec.clone()) });
    let done = Event::Finished { job: 1, generation: 1, outcome: Outcome::Done, seconds: 2.0 };
    let items = [run(1, &Spec::shipped(LabId::Power)), Item::Event(done), run(2, &last)];
    let past = items.map(|item| Entry { t: 1.0, item }).into();
    resume(&mut state, Resumed { name: "old".into(), spec: last, past, gone: Vec::new() });
    assert_eq!(state.board.run_of(LabId::Power).map(|run| run.job.generation), Some(2));
    assert!(!setup::changed(&state), "the settings are those of the shown run");
}

#[test]
fn from_a_replay_on_top_one_goes_on_in_the_program_beneath() {
    let replay = Some(ReplayState { file: Some("/s/a".into()), ..ReplayState::new("a".into(), 20.0, 1.0) });
    let mut state = State::new(Start { replay, ..Start::new() });
    let effects = keys(&mut state, "r");
    assert!(matches!(&effects[..], [Effect::ResumeSession(file, Some(_))] if file.ends_with("a")), "{effects:?}");
}

#[test]
fn pausing_holds_and_resuming_lets_go() {
    let mut state = running();
    assert_eq!(pause(&mut state), [Effect::Send(Command::Pause { hold: true })]);
    assert!(state.board.job().unwrap().held);
    assert_eq!(pause(&mut state), [Effect::Send(Command::Pause { hold: false })]);
    assert!(!state.board.job().unwrap().held);
}

fn far() -> Option<Seat> {
    Some(Seat { host: "gpu1".into(), name: "a".into(), wait: std::time::Duration::from_secs(3600) })
}

#[test]
fn an_engine_far_away_is_left_stopped_or_waited_for_as_the_user_says() {
    let asked = || {
        let mut state = State::new(Start { far: far(), ..Start::new() });
        reduce(&mut state, Action::Start);
        keys(&mut state, "q");
        state
    };
    assert_eq!(keys(&mut asked(), "enter"), [Effect::Leave], "the engine receives no command");
    let mut stopped = asked();
    assert_eq!(keys(&mut stopped, "down enter"), [Effect::Send(Command::Cancel { job: 1 })]);
    assert!(ended(&mut stopped, 1, Outcome::Cancelled).contains(&Effect::Send(Command::Shutdown)));
    let mut waited = asked();
    assert!(keys(&mut waited, "down down enter").is_empty());
    assert!(waited.busy(), "the run continues");
    assert!(ended(&mut waited, 1, Outcome::Done).ends_with(&[Effect::Send(Command::Shutdown), Effect::Quit]));
    assert!(keys(&mut asked(), "down down down enter").is_empty(), "back");
}

#[test]
fn a_link_that_is_down_can_be_tried_at_once_and_one_that_holds_cannot() {
    let mut state = State::new(Start { far: far(), ..Start::new() });
    reduce(&mut state, Action::Start);
    let retry = |state: &mut State| reduce(state, Action::Command("try-link"));
    assert!(retry(&mut state).is_empty(), "the link is up");
    let down = Down { next: Some(7) };
    assert!(reduce(&mut state, Action::Down(Some(down))).is_empty());
    assert_eq!((state.down, retry(&mut state)), (Some(down), vec![Effect::TryLink]));
    reduce(&mut state, Action::Down(None));
    assert!(retry(&mut state).is_empty());
}

#[test]
fn one_who_attaches_has_what_was_measured_and_runs_nothing() {
    let mut before = State::new(Start { far: far(), ..Start::new() });
    let sent = reduce(&mut before, Action::Start);
    let commands = sent.into_iter().map(|effect| match effect {
        Effect::Send(command) => Entry { t: 0.5, item: Item::Command(command) },
        other => panic!("{other:?}"),
    });
    let listed = Event::Models {
        models: vec![engine::message::ModelInfo {
            name: "m".into(),
            family: "bert".into(),
            layers: 1,
            hidden: 2,
            parameters: 3,
            serves: String::new(),
        }],
    };
    let past: Vec<Entry> = commands.chain([Entry { t: 1.0, item: Item::Event(listed) }]).collect();
    let mut state = State::new(Start { far: far(), past, ..Start::new() });
    assert!(state.busy() && state.board.models.len() == 1);
    assert!(reduce(&mut state, Action::Start).is_empty(), "no question or run is sent again");
    assert_eq!(state.board.job().unwrap().id, 1);
    replace(&mut state);
    assert_eq!(state.board.job().unwrap().id, 2, "numbering continues");
}

#[test]
fn a_replaced_run_is_said_to_stay_and_how_it_is_shown() {
    let mut state = running();
    seed(&mut state, 7);
    keys(&mut state, "r j enter");
    assert_eq!(state.board.generation, 2);
    let said = state.view.toast.clone().unwrap_or_default();
    assert!(said.contains("the results of run 1 are kept: { shows them, H lists all"), "{said}");
}

/// Regression: waiting runs with different seeds used to differ only in a hash.
#[test]
fn waiting_runs_are_told_apart_by_what_differs() {
    let mut state = running();
    queued(&mut state, &[7, 8]);
    let lines: Vec<String> = popups::WaitingRuns.lines(&state, 0).iter().map(ToString::to_string).collect();
    assert!(lines[0].ends_with("Interventions: seed 7") && lines[1].ends_with("Interventions: seed 8"), "{lines:?}");
}

#[test]
fn the_form_closes_when_a_run_begins_and_stays_when_it_cannot() {
    let mut state = running();
    ended(&mut state, 1, Outcome::Done);
    seed(&mut state, 7);
    keys(&mut state, "e");
    assert!(state.here().form);
    keys(&mut state, "r");
    assert!(!state.here().form && state.board.generation == 2);
    ended(&mut state, 2, Outcome::Done);
    let setup = state.setup().unwrap();
    let mut spec = setup.spec(&state);
    spec.common_mut().set_models(Vec::new());
    setup.take(&mut state, &spec);
    keys(&mut state, "e r");
    assert!(state.here().form && state.board.generation == 2);
}

/// Regression: another run's answer used to have no label, or one that did not describe the run.
#[test]
fn an_answer_of_a_run_with_other_settings_says_what_tells_it_from_them() {
    let mut state = running();
    ended(&mut state, 1, Outcome::Done);
    let drawn = |state: &State| {
        let mut terminal = ratatui::Terminal::new(ratatui::backend::TestBackend::new(120, 40)).unwrap();
        terminal.draw(|frame| crate::panes::draw(frame, state)).unwrap();
        terminal.backend().to_string()
    };
    assert!(drawn(&state).contains(" Answer "), "{}", drawn(&state));
    seed(&mut state, 7);
    assert!(drawn(&state).contains("Answer from the previous run: seed 0"), "{}", drawn(&state));
    keys(&mut state, "r");
    assert!(drawn(&state).contains("Answer so far: run 2 of 2, seed 7"), "{}", drawn(&state));
    seed(&mut state, 8);
    assert!(drawn(&state).contains("Answer so far from run 2 of 2: seed 7"), "{}", drawn(&state));
}

#[test]
fn a_lab_that_has_run_nothing_says_what_it_would_run_and_opens_an_example() {
    for screen in labs() {
        let mut state = State::new(Start::new());
        state.show(screen.id());
        let said: String = crate::answer::lines(&state).iter().map(|(_, line)| format!("{line} ")).collect();
        assert!(said.starts_with("Not run yet. r runs it: ") && said.contains("E shows a recorded example"), "{said}");
        let lab = screen.setup().unwrap().lab();
        assert_eq!(keys(&mut state, "E"), [Effect::OpenExample(lab)]);
    }
}

#[test]
fn a_run_whose_files_are_not_there_is_refused_at_once() {
    for busy in [false, true] {
        let mut state = if busy { running() } else { State::new(Start::new()) };
        let setup = state.setup().unwrap();
        let mut spec = setup.spec(&state);
        spec.common_mut().set_models(vec!["/nowhere/model".into()]);
        setup.take(&mut state, &spec);
        let effects = keys(&mut state, "r");
        assert!(effects.is_empty() && state.view.popup.is_none(), "{effects:?}");
        assert!(wait(&mut state).is_empty() && state.queue.is_empty());
        assert!(
            state.view.toast.as_ref().is_some_and(|text| text.contains("/nowhere/model")),
            "{:?}",
            state.view.toast
        );
    }
}

#[test]
fn a_failed_run_is_called_failed() {
    let mut state = running();
    let problem = Problem { what: "too few".into(), r#where: "split".into(), hint: "raise task.examples".into() };
    ended(&mut state, 1, Outcome::Failed(problem));
    let mut terminal = ratatui::Terminal::new(ratatui::backend::TestBackend::new(120, 40)).unwrap();
    terminal.draw(|frame| crate::panes::draw(frame, &state)).unwrap();
    let text = terminal.backend().to_string();
    assert!(text.contains(" The run failed ") && !text.contains("Partial answer"), "{text}");
    assert!(!text.contains("task.examples") && text.contains("raise Examples"), "{text}");
}

/// Regression: the settings of a lab that had not run used to be shown as "prompts, most all" (the label and the value) instead of "all
/// prompts".
#[test]
fn settings_in_words_are_phrases() {
    for screen in labs() {
        let mut state = State::new(Start::new());
        state.show(screen.id());
        let said: String = crate::answer::lines(&state).iter().map(|(_, line)| format!("{line} ")).collect();
        assert!(!said.contains("max."), "{said}");
    }
}
