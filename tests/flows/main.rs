//! What keys, mouse and engine do to the state, and what the state asks of the world.

#[path = "../common/mod.rs"]
mod common;
mod data;
mod models;
mod running;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use common::{Harness, Record, fold, measured, start};
use crossterm::event::{Event as Input, KeyCode, KeyEvent, KeyModifiers};
use probity::base::Problem;
use probity::engine::board::Board;
use probity::engine::fake::FakeEngine;
use probity::engine::message::{Command, Event, ModelAnswer, ModelQuestion, Outcome, Question, Topic};
use probity::lab::interventions::oracle::OracleKind;
use probity::lab::interventions::question::PointQuestion;
use probity::lab::layer::LayerRef;
use probity::session::format::{Entry, Item};
use probity::session::replay::Step;
use probity::tui::action::{Action, Effect, Mouse, MouseKind, ReplayControl};
use probity::tui::catalog::Catalog;
use probity::tui::layout::{compute, inside, setup_row_at, track};
use probity::tui::recording::Recorder;
use probity::tui::run::{ExitReason, Options, Source, run};
use probity::tui::state::{Lab, Pane, Popup, Recording, ReplayState, Row, Start};
use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use tokio::sync::mpsc::unbounded_channel;

fn sent(effects: &[Effect]) -> Vec<&Command> {
    effects.iter().filter_map(|e| if let Effect::Send(command) = e { Some(command) } else { None }).collect()
}

/// The point that a command asks for.
fn point(command: &Command) -> Option<&PointQuestion> {
    common::asked(command).map(|(_, _, point)| point)
}

fn quits(effects: &[Effect]) -> bool {
    effects.contains(&Effect::Quit)
}

#[test]
fn the_start_asks_for_models_runs_the_default_and_asks_for_a_point() {
    let mut h = Harness::new(120, 40);
    let effects = h.act(Action::Start);
    let sent = sent(&effects);
    assert!(matches!(sent[0], Command::ListModels));
    let spec = h.state.spec.clone().into();
    assert!(matches!(sent[1], Command::Run { job: 1, generation: 1, spec: s } if **s == spec));
    let (ticket, generation, point) = common::asked(sent[2]).unwrap();
    assert_eq!((ticket, generation, point.method.as_str(), point.value), (1, 1, "pgd", 0.112));
    assert_eq!(sent.len(), 3);
}

#[test]
fn the_slider_moves_at_once_and_asks_for_its_value() {
    let mut h = Harness::finished(120, 40);
    let next = h.state.board.ticket + 1;
    let effects = h.keys("l");
    assert_eq!(h.state.marker(), 0.136);
    assert!(
        matches!(sent(&effects)[..], [c] if common::asked(c).is_some_and(|(t, _, p)| p.value == 0.136 && t == next))
    );
    let readout = h.state.readout().unwrap();
    assert!(readout.exact && readout.point.value.value == 0.136, "the curve knows the value already");
    h.keys("end");
    assert!(h.keys("l").is_empty(), "at the end of the track nothing is asked");
}

#[test]
fn an_off_grid_value_shows_the_nearest_point_until_its_answer_comes() {
    let mut h = Harness::finished(120, 40);
    h.keys("=");
    h.typed("0.1");
    h.keys("enter");
    let readout = h.state.readout().unwrap();
    assert!(!readout.exact && readout.point.value.value == 0.092);
    h.answer(500);
    let readout = h.state.readout().unwrap();
    assert!(readout.exact && readout.point.value.value == 0.1 && readout.point.n == 500);
}

#[test]
fn a_point_on_fewer_examples_does_not_replace_the_curve() {
    let mut h = Harness::finished(120, 40);
    h.keys("l");
    h.answer(500);
    assert_eq!(h.state.readout().unwrap().point.n, 2400);
    assert_eq!(h.state.example().unwrap().value.value, 0.136, "the example is of the latest answer");
}

#[test]
fn another_method_is_drawn_without_a_new_run() {
    let mut h = Harness::finished(120, 40);
    let effects = h.keys("]");
    assert!(
        matches!(sent(&effects)[..], [c] if point(c).is_some_and(|p| p.method == "inlp" && p.value == 8.0))
    );
    assert!(!h.state.changed());
    h.keys("[ [ [");
    assert_eq!(h.state.view.method, "alterrep");
}

#[test]
fn the_best_strength_is_one_key_away() {
    let mut h = Harness::finished(120, 40);
    assert!(
        matches!(sent(&h.keys("[ [ b"))[..], [_, _, c] if point(c).is_some_and(|p| p.method == "alterrep" && p.value == 1.0))
    );
    assert!(Harness::started(120, 40).keys("b").is_empty());
}

#[test]
fn every_method_keeps_its_own_slider() {
    let mut h = Harness::finished(120, 40);
    h.keys("l l ] l [");
    assert_eq!(h.state.marker(), 0.165);
    h.keys("]");
    assert_eq!(h.state.marker(), 9.0);
}

#[test]
fn a_changed_setup_runs_as_a_new_generation_and_old_events_no_longer_count() {
    let mut h = Harness::running(120, 40);
    h.state.view.focus = Pane::Setup;
    h.state.view.row = h.state.rows().iter().position(|r| *r == Row::Layer).unwrap();
    assert!(h.keys("h").is_empty(), "a change alone runs nothing");
    assert!(h.state.changed());
    assert_eq!(h.state.spec.site.layer, LayerRef::At(3));
    let effects = h.keys("enter");
    assert!(matches!(sent(&effects)[0], Command::Run { job: 2, generation: 2, .. }));
    assert!(!h.state.changed() && h.state.results().curves.is_empty());
    h.events(measured(100, false));
    assert!(h.state.results().curves.is_empty() && h.state.board.stale > 0);
}

#[test]
fn a_changed_setup_can_be_taken_back() {
    let mut h = Harness::finished(120, 40);
    let before = h.state.spec.clone();
    h.state.view.focus = Pane::Setup;
    h.keys("j space j j j l l");
    assert!(h.state.changed());
    h.keys("u");
    assert_eq!(h.state.spec, before);
}

#[test]
fn an_option_asks_for_a_point_with_its_value_and_marks_the_setup() {
    let mut h = Harness::finished(120, 40);
    h.state.view.focus = Pane::Setup;
    h.state.view.row = h.state.rows().iter().position(|r| *r == Row::Option(0)).unwrap();
    let effects = h.keys("h");
    assert!(matches!(sent(&effects)[..], [c] if point(c).is_some_and(|p| p.options["steps"] == 20.0)));
    assert!(h.state.changed());
}

#[test]
fn space_selects_models_and_none_at_all_is_refused() {
    let mut h = Harness::finished(120, 40);
    h.state.view.focus = Pane::Setup;
    h.keys("j space");
    assert_eq!(h.state.spec.models, ["bert-mini", "gpt2-mini"]);
    h.keys("space k space");
    assert!(h.state.spec.models.is_empty());
    assert!(h.keys("enter").is_empty());
    assert!(h.state.view.toast.as_deref().unwrap().contains("models"));
    assert!(!h.state.notices().is_empty());
}

#[test]
fn several_models_run_in_one_spec_and_are_drawn_in_turn() {
    let mut h = Harness::finished(120, 40);
    h.state.view.focus = Pane::Setup;
    h.keys("j space enter");
    assert_eq!(h.state.run_models().len(), 2);
    let effects = h.keys("v");
    assert!(matches!(sent(&effects)[..], [c] if point(c).is_some_and(|p| p.model == "gpt2-mini")));
}

#[test]
fn the_oracle_is_switched_without_asking() {
    let mut h = Harness::finished(120, 40);
    assert!(h.keys("o").is_empty());
    assert_eq!(h.state.view.oracle, OracleKind::Linear);
    assert_eq!(h.state.curve().unwrap().key.oracle, OracleKind::Linear);
}

#[test]
fn ctrl_c_cancels_first_and_quits_second() {
    let mut h = Harness::running(120, 40);
    let effects = h.keys("ctrl-c");
    assert!(matches!(sent(&effects)[..], [Command::Cancel { job: 1 }]) && !quits(&effects));
    assert!(quits(&h.keys("ctrl-c")));
    let mut idle = Harness::finished(120, 40);
    let effects = idle.keys("ctrl-c");
    assert!(matches!(sent(&effects)[..], [Command::Shutdown]) && quits(&effects));
}

#[test]
fn a_new_run_after_a_cancelled_one_can_be_cancelled_too() {
    let mut h = Harness::running(120, 40);
    h.keys("ctrl-c");
    h.event(Event::Finished { job: 1, generation: 1, outcome: Outcome::Cancelled, seconds: 3.0 });
    h.keys("enter");
    let effects = h.keys("ctrl-c");
    assert!(matches!(sent(&effects)[..], [Command::Cancel { job: 2 }]));
}

#[test]
fn quitting_while_a_run_is_in_progress_asks_first() {
    let mut h = Harness::running(120, 40);
    assert!(!quits(&h.keys("q")));
    assert!(matches!(h.state.view.popup, Some(Popup::Quit { .. })));
    assert!(!quits(&h.keys("j j enter")), "back");
    assert!(quits(&h.keys("q j enter")), "at once");
    let mut h = Harness::running(120, 40);
    let effects = h.keys("q enter");
    assert!(matches!(sent(&effects)[..], [Command::Cancel { .. }]) && !quits(&effects));
    let finished = Event::Finished { job: 1, generation: 1, outcome: Outcome::Cancelled, seconds: 3.0 };
    assert!(quits(&h.event(finished)), "once the run has stopped");
    assert!(quits(&Harness::finished(120, 40).keys("q")));
}

#[test]
fn typing_q_never_quits() {
    for keys in [": q", "? q", "s q", "= q"] {
        let mut h = Harness::finished(120, 40);
        assert!(!quits(&h.keys(keys)), "{keys}");
        assert!(h.state.typing(), "{keys}");
    }
}

#[test]
fn digits_type_into_the_slider_under_the_cursor_and_elsewhere_choose_the_lab() {
    let mut h = Harness::finished(120, 40);
    h.keys("5");
    assert_eq!(h.state.view.lab, Lab::Models);
    h.keys("6");
    assert_eq!(h.state.view.lab, Lab::Data);
    h.keys("2");
    h.state.view.focus = Pane::Setup;
    h.state.view.row = h.state.rows().iter().position(|r| *r == Row::Parameter).unwrap();
    h.keys(". 5 enter");
    assert_eq!((h.state.marker(), h.state.view.lab), (0.5, Lab::Interventions));
    h.keys("5 0");
    assert!(h.keys("enter").is_empty());
    assert_eq!(h.state.view.entry.as_ref().unwrap().error.as_deref(), Some("allowed are 0 to 10"));
    h.keys("esc");
    assert_eq!(h.state.marker(), 0.5);
    h.keys("alt-5");
    assert_eq!(h.state.view.lab, Lab::Models);
}

#[test]
fn a_pasted_name_is_made_harmless() {
    let mut h = Harness::finished(120, 40);
    h.keys("s");
    h.act(Action::Paste("my\n\u{1b}[31msession\r\n".into()));
    let effects = h.keys("enter");
    assert_eq!(effects, [Effect::NameSession("my ␛[31msession".into())]);
    h.act(Action::Named(Ok("my-session".into())));
    assert_eq!(h.state.recording, Recording::On("my-session".into()));
    h.act(Action::Paste("q".repeat(100_000)));
    assert!(h.state.view.entry.is_none(), "outside a text field a paste does nothing");
}

#[test]
fn the_palette_carries_out_what_it_finds() {
    let mut h = Harness::finished(120, 40);
    h.keys(":");
    h.typed("exfi");
    assert!(matches!(h.keys("enter")[..], [Effect::Export(_)]));
    assert!(h.state.view.popup.is_none());
}

#[test]
fn export_writes_the_focused_figure_and_says_where() {
    let mut h = Harness::finished(120, 40);
    let name = |effects: &[Effect]| match effects {
        [Effect::Export(figure)] => figure.name.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(name(&h.keys("e")), "reliability-bert-mini-pgd-mlp");
    h.state.view.focus = Pane::Pareto;
    assert_eq!(name(&h.keys("o e")), "pareto-bert-mini-linear");
    h.act(Action::Exported(Ok(vec!["./a.png".into(), "./a.csv".into(), "/b/c.svg".into()])));
    assert_eq!(h.state.view.toast.as_deref(), Some("wrote a.png, .csv, /b/c.svg"));
    assert!(Harness::started(120, 40).keys("e").is_empty(), "nothing to export yet");
}

#[test]
fn every_pane_copies_its_numbers() {
    let mut h = Harness::finished(120, 40);
    for (pane, part) in [
        (Pane::Setup, "[interval]"),
        (Pane::Curves, "epsilon\tC\tC_lo"),
        (Pane::Pareto, "alterrep\talpha\t1"),
        (Pane::Example, "model\tare\t0.91"),
        (Pane::Probes, "subject_number\tMLP 2x256"),
    ] {
        h.state.view.focus = pane;
        assert!(matches!(&h.keys("y")[..], [Effect::Copy(text)] if text.contains(part)), "{pane:?}");
    }
    h.state.view.focus = Pane::Curves;
    h.keys("i");
    assert!(matches!(&h.keys("y")[..], [Effect::Copy(text)] if text.starts_with("probity run")));
}

#[test]
fn the_shell_command_of_a_changed_experiment_carries_its_spec() {
    let mut h = Harness::finished(120, 40);
    h.state.view.focus = Pane::Setup;
    h.keys("j j j j l enter");
    h.events(Vec::new());
    let findings = measured(500, true).into_iter();
    for finding in findings {
        h.event(Event::Finding { generation: 2, finding: Box::new(finding) });
    }
    let command = h.state.focused_origin().unwrap().command;
    let toml = command.split("<<'SPEC'\n").nth(1).unwrap().trim_end_matches("\nSPEC");
    let spec = probity::lab::Spec::parse(toml, "test").unwrap();
    assert_eq!(spec, h.state.board.job().unwrap().spec);
}

#[test]
fn a_point_asked_before_the_probes_is_asked_again_at_the_end() {
    let mut h = Harness::started(120, 40);
    h.events(measured(2400, true));
    let done = Event::Finished { job: 1, generation: 1, outcome: Outcome::Done, seconds: 9.0 };
    let effects = h.event(done);
    assert!(matches!(sent(&effects)[..], [c] if common::asked(c).is_some_and(|(t, ..)| t == 2)));
}

#[test]
fn pause_holds_and_lets_go() {
    let mut h = Harness::running(120, 40);
    assert!(matches!(sent(&h.keys("p"))[..], [Command::Pause { hold: true }]));
    assert!(matches!(sent(&h.keys("p"))[..], [Command::Pause { hold: false }]));
    assert!(Harness::finished(120, 40).keys("p").is_empty());
}

fn mouse(h: &mut Harness, kind: MouseKind, x: u16, y: u16) -> Vec<Effect> {
    h.act(Action::Mouse(Mouse { kind, x, y }))
}

#[test]
fn the_mouse_drags_sliders_and_the_marker() {
    let mut h = Harness::finished(120, 40);
    let pane = compute(&h.state).unwrap().pane(Pane::Setup).unwrap();
    let line = (pane.y..pane.bottom())
        .find_map(|y| setup_row_at(&h.state, pane, y).filter(|(_, row, _)| *row == Row::Parameter))
        .unwrap()
        .2;
    let (first, length) = track(line);
    mouse(&mut h, MouseKind::Press, first, line.y);
    assert_eq!(h.state.marker(), 0.005);
    let effects = mouse(&mut h, MouseKind::Drag, first + length + 30, line.y + 5);
    assert_eq!(h.state.marker(), 5.0);
    assert!(matches!(sent(&effects)[..], [c] if point(c).is_some_and(|p| p.value == 5.0)));
    mouse(&mut h, MouseKind::Release, first, line.y);
    assert!(mouse(&mut h, MouseKind::Drag, first, line.y).is_empty());
    assert_eq!(h.state.marker(), 5.0);
    let curves = inside(compute(&h.state).unwrap().pane(Pane::Curves).unwrap());
    mouse(&mut h, MouseKind::Press, curves.x + 5, curves.y + 4);
    assert_eq!((h.state.marker(), h.state.view.focus), (0.005, Pane::Curves));
}

#[test]
fn the_mouse_clicks_models_tabs_labs_and_footer() {
    let mut h = Harness::finished(120, 40);
    let setup = inside(compute(&h.state).unwrap().pane(Pane::Setup).unwrap());
    mouse(&mut h, MouseKind::Press, setup.x + 10, setup.y + 1);
    assert_eq!(h.state.spec.models.len(), 2);
    mouse(&mut h, MouseKind::Press, 30, 0);
    assert_eq!(h.state.view.lab, Lab::Models);
    mouse(&mut h, MouseKind::Press, 12, 0);
    assert_eq!(h.state.view.lab, Lab::Interventions);
    mouse(&mut h, MouseKind::Press, 3, 39);
    assert!(matches!(h.state.view.popup, Some(Popup::Help { .. })), "the footer begins with help");
    let mut folded = Harness::finished(80, 24);
    mouse(&mut folded, MouseKind::Press, 2, 1);
    assert_eq!(folded.state.view.focus, Pane::Setup);
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
    live.keys("l l ] l l o");
    live.answer(2400);
    let mut replay = replayed(&live.record, 120, 40);
    assert_eq!(replay.state.board, live.state.board);
    replay.keys("o");
    let body = |screen: String| screen.lines().skip(1).take(37).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(body(replay.screen()), body(live.screen()));
    replay.act(Action::Played(Step::Rewound));
    assert_eq!(replay.state.board, Board::default());
}

#[test]
fn a_replay_is_steered_and_never_sends() {
    let live = Harness::finished(120, 40);
    let mut h = replayed(&live.record, 120, 40);
    let length = live.record.len() as f64;
    assert_eq!(h.keys("space"), [Effect::Replay(ReplayControl::Pause(true))]);
    assert_eq!(h.keys("space"), [Effect::Replay(ReplayControl::Pause(false))]);
    assert_eq!(h.keys("left"), [Effect::Replay(ReplayControl::Seek(length - 6.0))]);
    assert_eq!(h.keys("right right"), [length - 1.0, length].map(|t| Effect::Replay(ReplayControl::Seek(t))));
    assert_eq!(h.keys("+"), [Effect::Replay(ReplayControl::Speed(2.0))]);
    assert_eq!(h.keys("- -"), [1.0, 0.5].map(|s| Effect::Replay(ReplayControl::Speed(s))));
    assert!(h.keys("l enter p s").is_empty());
    assert_eq!(h.state.marker(), 0.136, "the marker still moves along the curve");
    assert_eq!(h.keys("q"), [Effect::Quit]);
}

#[test]
fn a_lost_engine_and_a_lost_recording_are_said() {
    let mut h = Harness::finished(120, 40);
    h.act(Action::EngineGone);
    assert!(h.state.view.toast.as_deref().unwrap().contains("engine has stopped"));
    let problem = Problem { what: "disk full".into(), r#where: "session".into(), hint: "make room".into() };
    h.act(Action::RecordingFailed(problem));
    assert!(h.screen().contains("recording stopped"));
    assert_eq!(h.state.board.notices.len(), 0, "the board knows nothing but commands and events");
}
