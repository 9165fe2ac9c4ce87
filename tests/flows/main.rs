//! Effects of keys, mouse and engine events on the state, and the effects that the state requests.

mod clarity;
mod comparison;
mod data;
mod facts;
mod models;
mod newcomer;
mod running;
mod scored;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use crate::common::{self, Harness, Record, TICKET, fold, measured, start};
use crossterm::event::{Event as Input, KeyCode, KeyEvent, KeyModifiers};
use probity::base::Problem;
use probity::engine::board::Board;
use probity::engine::fake::FakeEngine;
use probity::engine::message::{Command, Event, Outcome, Question};
use probity::figure::Figure;
use probity::lab;
use probity::lab::interventions::oracle::OracleKind;
use probity::lab::interventions::question::{PointQuestion, Question as Asked};
use probity::lab::layer::LayerRef;
use probity::session::format::{Entry, Item};
use probity::session::replay::Step;
use probity::tui::action::{
    Action, Document, Effect, Export, Exported, Mouse, MouseKind, ReplayControl, Saved, Subject,
};
use probity::tui::layout::{compute, inside, track};
use probity::tui::recording::Recorder;
use probity::tui::run::{ExitReason, Options, Outside, Source, run};
use probity::tui::screen::Screen as _;
use probity::tui::screens::interventions::{self, CURVES, EXAMPLE, PARETO, PROBES, measured::*};
use probity::tui::screens::{data as data_screen, models as models_screen};
use probity::tui::setup;
use probity::tui::state::{Recording, ReplayState, Start};
use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use tokio::sync::mpsc::unbounded_channel;

fn sent(effects: &[Effect]) -> Vec<&Command> {
    effects.iter().filter_map(|e| if let Effect::Send(command) = e { Some(command) } else { None }).collect()
}

fn point(command: &Command) -> Option<(u64, &PointQuestion)> {
    let Command::Ask { ticket, question: Question::Experiment { question, .. } } = command else {
        return None;
    };
    let lab::Question::Interventions(Asked::Point(point)) = question else { return None };
    Some((*ticket, point))
}

/// The question about a point, asserted to be the only command sent.
fn only_point(effects: &[Effect]) -> &PointQuestion {
    match sent(effects)[..] {
        [command] => point(command).expect("a point").1,
        ref other => panic!("{other:?}"),
    }
}

fn figure_of(export: &Export) -> &Figure {
    match &export.subject {
        Subject::Figure(figure) => figure,
        Subject::Report(session, _) => panic!("a report on {session}"),
    }
}

fn quits(effects: &[Effect]) -> bool {
    effects.contains(&Effect::Quit)
}

#[test]
fn start_requests_models_run_and_point() {
    let mut h = Harness::new(120, 40);
    let effects = h.act(Action::Start);
    let sent = sent(&effects);
    assert!(matches!(sent[0], Command::ListModels));
    assert!(
        matches!(sent[1], Command::Run { job: 1, generation: 1, spec } if **spec == lab::Spec::from(h.lab().spec.clone()))
    );
    let (ticket, p) = point(sent[2]).unwrap();
    assert_eq!((ticket, p.method.as_str(), p.value), (1, "pgd", 0.112));
    assert_eq!(sent.len(), 3);
}

#[test]
fn slider_moves_at_once_and_requests_its_value() {
    let mut h = Harness::finished(120, 40);
    let next = h.state.board.ticket + 1;
    let effects = h.slide().keys("l");
    assert_eq!(marker(&h.state), 0.136);
    let (ticket, p) = point(sent(&effects)[0]).unwrap();
    assert_eq!((ticket, p.value), (next, 0.136));
    let readout = readout(&h.state).unwrap();
    assert!(readout.exact && readout.point.value.value == 0.136, "the curve has this value already");
    h.keys(&"shift-right ".repeat(20));
    assert!(h.slide().keys("l").is_empty(), "at the end of the track no question is sent");
}

#[test]
fn off_grid_value_shows_nearest_point_until_answered() {
    let mut h = Harness::finished(120, 40);
    h.keys("=");
    h.typed("0.1");
    h.keys("enter");
    let shown = readout(&h.state).unwrap();
    assert!(!shown.exact && shown.point.value.value == 0.092);
    h.answer(500);
    let shown = readout(&h.state).unwrap();
    assert!(shown.exact && shown.point.value.value == 0.1 && shown.point.n == 500);
}

#[test]
fn point_on_fewer_examples_does_not_replace_the_curve() {
    let mut h = Harness::finished(120, 40);
    h.slide().keys("l");
    h.answer(500);
    assert_eq!(readout(&h.state).unwrap().point.n, 2400);
    assert_eq!(example(&h.state).unwrap().value.value, 0.136, "the example belongs to the latest answer");
}

#[test]
fn other_method_is_drawn_without_a_new_run() {
    let mut h = Harness::finished(120, 40);
    let effects = h.keys("m");
    let p = only_point(&effects);
    let best = optimum(&h.state).unwrap();
    assert_eq!((p.method.as_str(), p.value), ("fgsm", best), "an unmoved marker is at the best strength");
    assert!(!setup::changed(&h.state));
    h.keys("M M M");
    assert_eq!(h.lab().method, "alterrep");
}

#[test]
fn one_key_moves_to_the_best_strength() {
    let mut h = Harness::finished(120, 40);
    let effects = h.slide().keys("M M l l t b");
    let p = point(sent(&effects)[4]).unwrap().1;
    assert_eq!((p.method.as_str(), p.value), ("alterrep", 0.7));
    assert!(Harness::started(120, 40).keys("t b").is_empty());
}

#[test]
fn methods_keep_separate_sliders() {
    let mut h = Harness::finished(120, 40);
    let pgd = marker(&h.state);
    h.slide().keys("l l l m l M");
    let moved = marker(&h.state);
    assert!(moved > pgd);
    h.keys("m");
    let fgsm = marker(&h.state);
    h.keys("M");
    assert_eq!((marker(&h.state), fgsm), (moved, 0.165));
}

#[test]
fn changed_setup_ignores_events_of_the_old_run() {
    let mut h = Harness::running(120, 40);
    h.row("site.layer");
    assert!(h.slide().keys("h").is_empty(), "a change alone starts nothing");
    assert!(setup::changed(&h.state));
    assert_eq!(h.lab().spec.site.layer, LayerRef::At(3));
    let effects = h.keys("r j enter");
    assert!(matches!(sent(&effects)[0], Command::Run { job: 2, generation: 2, .. }));
    assert!(!setup::changed(&h.state) && results(&h.state).curves.is_empty());
    h.events(measured(100, false));
    assert!(results(&h.state).curves.is_empty() && h.state.board.stale > 0);
}

#[test]
fn changed_setup_can_be_undone() {
    let mut h = Harness::finished(120, 40);
    let before = h.lab().spec.clone();
    h.focus(setup::PANE);
    h.keys("j space j j l");
    assert!(setup::changed(&h.state));
    h.keys("u u");
    assert_eq!(h.lab().spec, before);
    h.keys("U U");
    assert!(setup::changed(&h.state), "the changes are made again");
}

#[test]
fn option_requests_a_point_and_marks_the_setup() {
    let mut h = Harness::finished(120, 40);
    h.row("method.pgd.steps");
    let effects = h.slide().keys("h");
    assert_eq!(only_point(&effects).options["steps"], 20.0);
    assert!(setup::changed(&h.state));
}

#[test]
fn space_selects_models_and_run_needs_one() {
    let mut h = Harness::finished(120, 40);
    h.focus(setup::PANE);
    h.keys("j space");
    assert_eq!(h.lab().spec.models, ["bert-mini", "gpt2-mini"]);
    h.keys("space k space");
    assert!(h.lab().spec.models.is_empty());
    assert!(h.keys("r").is_empty());
    assert!(h.state.view.toast.as_deref().unwrap().contains("models"));
    assert!(!h.state.notices().is_empty());
}

#[test]
fn enter_in_a_checkbox_list_ticks_the_entry() {
    let mut h = Harness::finished(120, 40);
    h.focus(setup::PANE);
    h.keys("j enter");
    assert_eq!(h.state.popup_name(), Some("choices"));
    h.keys("enter");
    assert_eq!((h.lab().spec.models.join(" "), h.state.popup_name()), ("bert-mini gpt2-mini".into(), None));
    // Selected entries stay selected.
    h.keys("enter enter");
    assert_eq!(h.lab().spec.models, ["bert-mini", "gpt2-mini"]);
    // Regression: this used to undo the latest deselection.
    h.keys("enter space enter");
    assert_eq!(h.lab().spec.models, ["bert-mini"]);
}

#[test]
fn several_models_are_run_and_drawn_in_turn() {
    let mut h = Harness::finished(120, 40);
    h.focus(setup::PANE);
    h.keys("j space r");
    assert_eq!(run_models(&h.state).len(), 2);
    let effects = h.keys("v");
    assert_eq!(only_point(&effects).model, "gpt2-mini");
}

#[test]
fn oracle_switch_at_same_strength_sends_nothing() {
    let mut h = Harness::finished(120, 40);
    h.slide().keys("l");
    assert!(h.keys("t o").is_empty());
    assert_eq!(h.lab().oracle, OracleKind::Linear);
    assert_eq!(curve(&h.state).unwrap().key.oracle, OracleKind::Linear);
}

#[test]
fn ctrl_c_stops_without_quitting() {
    let mut h = Harness::running(120, 40);
    let effects = h.keys("ctrl-c");
    assert!(matches!(sent(&effects)[..], [Command::Cancel { job: 1 }]) && !quits(&effects));
    assert!(h.keys("ctrl-c").is_empty());
    let mut idle = Harness::finished(120, 40);
    assert!(idle.keys("ctrl-c").is_empty());
    assert_eq!(idle.state.view.toast.as_deref(), Some("nothing is running; q quits"));
}

#[test]
fn run_after_a_cancelled_one_can_be_cancelled() {
    let mut h = Harness::running(120, 40);
    h.keys("ctrl-c");
    h.event(Event::Finished { job: 1, generation: 1, outcome: Outcome::Cancelled, seconds: 3.0 });
    h.keys("r");
    let effects = h.keys("ctrl-c");
    assert!(matches!(sent(&effects)[..], [Command::Cancel { job: 2 }]));
}

#[test]
fn quitting_while_a_run_is_in_progress_asks_first() {
    let mut h = Harness::running(120, 40);
    assert!(!quits(&h.keys("q")));
    assert_eq!(h.state.popup_name(), Some("quit"));
    assert!(!quits(&h.keys("j j enter")), "back");
    assert!(quits(&h.keys("q j enter")), "quits at once");
    let mut h = Harness::running(120, 40);
    let effects = h.keys("q enter");
    assert!(matches!(sent(&effects)[..], [Command::Cancel { .. }]) && !quits(&effects));
    let finished = Event::Finished { job: 1, generation: 1, outcome: Outcome::Cancelled, seconds: 3.0 };
    assert!(quits(&h.event(finished)), "quits once the run has stopped");
    assert!(quits(&Harness::finished(120, 40).keys("q")));
}

#[test]
fn typed_q_does_not_quit() {
    for keys in [": q", "? q", "ctrl-s q", "= q"] {
        let mut h = Harness::finished(120, 40);
        assert!(!quits(&h.keys(keys)), "{keys}");
        assert!(h.state.typing(), "{keys}");
    }
}

#[test]
fn digits_switch_labs_or_type_numbers() {
    let mut h = Harness::finished(120, 40);
    h.keys("5");
    assert_eq!(h.state.view.screen, models_screen::ID);
    h.keys("6");
    assert_eq!(h.state.view.screen, data_screen::ID);
    h.keys("2");
    h.row("view.strength");
    h.keys("5");
    assert_eq!(h.state.view.screen, models_screen::ID, "from a slider too");
    h.keys("2 enter . 5 enter");
    assert_eq!((marker(&h.state), h.state.view.screen), (0.5, interventions::ID));
    h.keys("enter 5 0 0");
    assert!(h.keys("enter").is_empty());
    assert_eq!(h.state.view.entry.as_ref().unwrap().error.as_deref(), Some("must be from 0 to 100"));
    h.keys("esc");
    assert_eq!(marker(&h.state), 0.5);
    h.keys("alt-5");
    assert_eq!(h.state.view.screen, models_screen::ID);
}

#[test]
fn pasted_name_is_made_printable() {
    let mut h = Harness::finished(120, 40);
    h.keys("ctrl-s");
    h.act(Action::Paste("my\n\u{1b}[31msession\r\n".into()));
    let effects = h.keys("enter");
    assert_eq!(effects, [Effect::NameSession("my ␛[31msession".into())]);
    h.act(Action::Named(Ok("my-session".into())));
    assert_eq!(h.state.recording, Recording::On("my-session".into()));
    h.act(Action::Paste("q".repeat(100_000)));
    assert!(h.state.view.entry.is_none(), "outside a text field, a paste has no effect");
}

#[test]
fn palette_runs_the_found_command() {
    let mut h = Harness::finished(120, 40);
    h.keys(":");
    h.typed("export");
    assert!(h.keys("enter").is_empty() && h.state.popup_name() == Some("export"));
    assert!(matches!(h.keys("enter")[..], [Effect::Export(..)]));
    assert!(h.state.view.popup.is_none());
}

#[test]
fn panes_copy_their_numbers() {
    let mut h = Harness::finished(120, 40);
    for (pane, part) in [
        (setup::PANE, "[interval]"),
        (CURVES, "epsilon\tC\tC_lo"),
        (PARETO, "alterrep\talpha\t0.7"),
        (EXAMPLE, "model\tare\t0.91"),
        (PROBES, "subject_number\tMLP 2x256"),
    ] {
        h.focus(pane);
        assert!(matches!(&h.keys("y")[..], [Effect::Copy(text)] if text.contains(part)), "{pane:?}");
    }
    h.focus(CURVES);
    h.keys("i");
    assert!(matches!(&h.keys("y")[..], [Effect::Copy(text)] if text.starts_with("probity run")));
}

#[test]
fn shell_command_of_changed_experiment_contains_its_spec() {
    let mut h = Harness::finished(120, 40);
    h.focus(setup::PANE);
    h.row("task.examples");
    h.slide().keys("l r");
    h.events(Vec::new());
    let findings = measured(500, true).into_iter();
    for finding in findings {
        h.event(Event::Finding { generation: 2, finding: Box::new(finding) });
    }
    let command = interventions::SCREEN.origin(&h.state).unwrap().command;
    let toml = command.split("<<'SPEC'\n").nth(1).unwrap().trim_end_matches("\nSPEC");
    let spec = lab::Spec::parse(toml, "test").unwrap();
    assert_eq!(spec, h.state.board.job().unwrap().spec);
}

#[test]
fn early_point_is_requested_again_at_the_end() {
    let mut h = Harness::started(120, 40);
    h.events(measured(2400, true));
    let done = Event::Finished { job: 1, generation: 1, outcome: Outcome::Done, seconds: 9.0 };
    let effects = h.event(done);
    assert_eq!(point(sent(&effects)[0]).unwrap().0, 2);
}

#[test]
fn pause_and_resume() {
    let mut h = Harness::running(120, 40);
    assert!(matches!(sent(&h.keys("p"))[..], [Command::Pause { hold: true }]));
    assert!(matches!(sent(&h.keys("p"))[..], [Command::Pause { hold: false }]));
    assert!(Harness::finished(120, 40).keys("p").is_empty());
}

fn mouse(h: &mut Harness, kind: MouseKind, x: u16, y: u16) -> Vec<Effect> {
    h.act(Action::Mouse(Mouse { kind, x, y }))
}

#[test]
fn mouse_drags_sliders_and_marker() {
    let mut h = Harness::finished(120, 40);
    let pane = compute(&h.state).unwrap().pane(setup::PANE).unwrap();
    let rows = h.state.setup().unwrap().rows(&h.state);
    let line = (pane.y..pane.bottom())
        .find_map(|y| setup::line_at(&h.state, pane, y).filter(|(_, at, _)| rows[at.row].key == "view.strength"))
        .unwrap()
        .2;
    let (first, length) = track(line, false);
    mouse(&mut h, MouseKind::Press, first, line.y);
    assert_eq!(marker(&h.state), 0.005);
    let effects = mouse(&mut h, MouseKind::Drag, first + length + 30, line.y + 5);
    assert_eq!(marker(&h.state), 61.1, "the last radius of the grid");
    assert_eq!(only_point(&effects).value, 61.1);
    mouse(&mut h, MouseKind::Release, first, line.y);
    assert!(mouse(&mut h, MouseKind::Drag, first, line.y).is_empty());
    assert_eq!(marker(&h.state), 61.1);
    let curves = inside(compute(&h.state).unwrap().pane(CURVES).unwrap());
    mouse(&mut h, MouseKind::Press, curves.x + 5, curves.y + 4);
    assert_eq!((marker(&h.state), h.state.here().focus), (0.005, CURVES));
}

#[test]
fn mouse_clicks_models_tabs_labs_and_footer() {
    let mut h = Harness::finished(120, 40);
    let setup = inside(compute(&h.state).unwrap().pane(setup::PANE).unwrap());
    mouse(&mut h, MouseKind::Press, setup.x + 10, setup.y + 1);
    assert_eq!(h.lab().spec.models.len(), 2);
    // The tabs are ordered by their keys.
    mouse(&mut h, MouseKind::Press, 69, 0);
    assert_eq!(h.state.view.screen, models_screen::ID);
    mouse(&mut h, MouseKind::Press, 33, 0);
    assert_eq!(h.state.view.screen, interventions::ID);
    let keys = h.screen().lines().last().and_then(|l| l.split_once("? help").map(|(before, _)| before.chars().count()));
    mouse(&mut h, MouseKind::Press, keys.unwrap() as u16 + 2, 39);
    assert_eq!(h.state.popup_name(), Some("help"), "the list of keys begins with help");
    let mut folded = Harness::finished(80, 24);
    let tabs = folded.screen().lines().position(|l| l.starts_with(" Settings")).unwrap();
    mouse(&mut folded, MouseKind::Press, 2, tabs as u16);
    assert_eq!(folded.state.here().focus, setup::PANE);
}

fn replayed(record: &[Record], columns: u16, rows: u16) -> Harness {
    let replay = Some(ReplayState::new("agreement-2".into(), record.len() as f64, 1.0));
    let mut h = Harness::of(Start { size: (columns, rows), replay, recording: None, ..start() });
    assert!(h.act(Action::Start).is_empty(), "a replay asks nothing");
    for (i, line) in record.iter().enumerate() {
        let item = match line {
            Record::Command(command) => Item::Command(command.clone()),
            Record::Event(event) => Item::Event(event.clone()),
        };
        assert!(h.act(Action::Played(Step::Entry(Box::new(Entry { t: i as f64, item })))).is_empty());
    }
    h
}

#[test]
fn a_replay_shows_what_the_live_run_showed() {
    let mut live = Harness::finished(120, 40);
    live.slide().keys("l l m l l t o");
    live.answer(2400);
    let mut replay = replayed(&live.record, 120, 40);
    assert_eq!(replay.state.board, live.state.board);
    replay.slide().keys("t o");
    let body = |screen: String| screen.lines().skip(2).take(36).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(body(replay.screen()), body(live.screen()));
    replay.act(Action::Played(Step::Rewound));
    assert_eq!(replay.state.board, Board::default());
}

#[test]
fn replay_is_controlled_and_sends_nothing() {
    let live = Harness::finished(120, 40);
    let mut h = replayed(&live.record, 120, 40);
    let length = live.record.len() as f64;
    assert_eq!(h.keys("p"), [Effect::Replay(ReplayControl::Pause(true))]);
    assert_eq!(h.keys("p"), [Effect::Replay(ReplayControl::Pause(false))]);
    assert_eq!(h.keys("<"), [Effect::Replay(ReplayControl::Seek(length - 6.0))]);
    assert_eq!(h.keys("> >"), [length - 1.0, length].map(|t| Effect::Replay(ReplayControl::Seek(t))));
    assert_eq!(h.keys("+"), [Effect::Replay(ReplayControl::Speed(2.0))]);
    assert_eq!(h.keys("- -"), [1.0, 0.5].map(|s| Effect::Replay(ReplayControl::Speed(s))));
    assert!(h.slide().keys("l enter r ctrl-s").is_empty());
    assert_eq!(marker(&h.state), 0.136, "the marker still moves along the curve");
    assert_eq!(h.keys("q"), [Effect::Quit]);
}

#[test]
fn lost_engine_and_recording_are_reported() {
    let mut h = Harness::finished(120, 40);
    h.act(Action::EngineGone);
    assert!(h.state.view.toast.as_deref().unwrap().contains("engine has stopped"));
    let problem = Problem { what: "disk full".into(), r#where: "session".into(), hint: "make room".into() };
    h.act(Action::RecordingFailed(problem));
    assert!(h.screen().contains("recording stopped"));
    assert_eq!(h.state.board.notices.len(), 0, "the board contains only commands and events");
}
