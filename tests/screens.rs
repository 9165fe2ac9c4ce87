//! What the screen looks like: snapshots without a clock.

use crate::common::comparison::{comparing, has_compared};
use crate::common::{self, Harness, TICKET, start};
use probity::base::Problem;
use probity::engine::data::DataAnswer;
use probity::engine::message::{Answer, Event, ModelAnswer, Notice, NoticeLevel, Outcome};
use probity::lab::{self};
use probity::session::shelf::{End, Recorded};
use probity::tui::action::{Action, Exported};
use probity::tui::screens::interventions::{EXAMPLE, PARETO, PROBES};
use probity::tui::screens::power::VERDICT;
use probity::tui::screens::prompts::{ASKED, FIGURE, INSTANCES, LEDGER};
use probity::tui::setup;
use probity::tui::state::{Glyphs, Start};
use probity::tui::theme::{Surroundings, Theme};
use ratatui::style::Color;

pub(crate) const SIZES: [(u16, u16); 2] = [(120, 40), (80, 24)];

/// Compares with `snapshots/screens__NAME.snap`.
pub(crate) fn shows(name: &str, screen: &str) {
    insta::with_settings!({ prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!(format!("screens__{name}"), screen);
    });
}

macro_rules! screens {
    ($($name:ident: $make:expr;)+) => { $(
        #[test]
        fn $name() {
            for (columns, rows) in SIZES {
                let make: fn(u16, u16) -> Harness = $make;
                let screen = make(columns, rows).screen();
                shows(&format!("{}_{columns}x{rows}", stringify!($name)), &screen);
            }
        }
    )+ };
}

pub(crate) fn failure() -> Problem {
    Problem {
        what: "the model's weights are cut short: 12 of 4,190,208 bytes are missing".into(),
        r#where: "/models/bert-mini/model.safetensors".into(),
        hint: "fetch the model again, or pick another one in the setup pane".into(),
    }
}

fn sessions() -> Vec<Recorded> {
    let session = |name: &str, created: &str, lab: &str, end| Recorded {
        name: name.into(),
        path: format!("/sessions/{name}.probity.jsonl").into(),
        created: created.into(),
        lab: lab.into(),
        end,
    };
    vec![
        session("agreement-2", "2026-03-02T11:04:05Z", "interventions", End::Open),
        session("agreement-20260301-101500", "2026-03-01T10:15:00Z", "interventions", End::Done),
        session("from-a-newer-program", "2026-02-28T08:00:00Z", "another_lab", End::Cancelled),
        session("broken", "", "", End::Unreadable),
    ]
}

/// After these keys.
fn pressed(mut screen: Harness, keys: &str) -> Harness {
    screen.keys(keys);
    screen
}

screens! {
    empty: |c, r| Harness::new(c, r);
    starting: |c, r| Harness::started(c, r);
    running: |c, r| Harness::running(c, r);
    finished: |c, r| Harness::finished(c, r);
    failed: |c, r| {
        let mut h = Harness::started(c, r);
        let outcome = Outcome::Failed(failure());
        h.event(Event::Finished { job: 1, generation: 1, outcome, seconds: 0.4 });
        h
    };
    help: |c, r| pressed(Harness::finished(c, r), "?");
    help_search: |c, r| {
        let mut h = Harness::finished(c, r);
        h.keys("?");
        h.typed("example");
        h
    };
    palette: |c, r| {
        let mut h = Harness::finished(c, r);
        h.keys(":");
        h.typed("ne");
        h.keys("down");
        h
    };
    methods: |c, r| pressed(Harness::finished(c, r), "m j space");
    provenance: |c, r| pressed(Harness::finished(c, r), "i");
    notices: |c, r| {
        let mut h = Harness::running(c, r);
        let warning = Notice { level: NoticeLevel::Warning, problem: failure() };
        h.event(Event::Notice(warning));
        h.act(Action::Exported(Ok(Exported::Wrote(vec!["/figures/reliability-bert-mini-pgd-mlp.png".into()]))));
        h.keys("!");
        h
    };
    quitting: |c, r| pressed(Harness::running(c, r), "q");
    second_run: |c, r| {
        let mut h = Harness::running(c, r);
        h.row("site.layer");
        h.keys("h enter enter");
        h.row("task.examples");
        h.keys("h enter");
        h
    };
    waiting: |c, r| {
        let mut h = Harness::running(c, r);
        h.row("site.layer");
        h.keys("h enter enter j");
        h
    };
    waiting_runs: |c, r| {
        let mut h = Harness::running(c, r);
        h.row("site.layer");
        h.keys("h enter enter h enter enter w j");
        h
    };
    changed: |c, r| {
        let mut h = Harness::finished(c, r);
        h.focus(setup::PANE);
        h.keys("j space");
        h.row("task.examples");
        h.keys("h");
        h.row("site.layer");
        h.keys("h");
        h
    };
    typing: |c, r| {
        let mut h = Harness::finished(c, r);
        h.keys("=");
        h.typed("777");
        h.keys("enter");
        h
    };
    off_grid: |c, r| {
        let mut h = Harness::finished(c, r);
        h.keys("=");
        h.typed(".1");
        h.keys("enter");
        h
    };
    linear_oracle_inlp: |c, r| pressed(Harness::finished(c, r), "o ]");
    facts_empty: |c, r| Harness::recall(c, r);
    facts_running: |c, r| Harness::recalling(c, r, false);
    facts_finished: |c, r| Harness::recalling(c, r, true);
    facts_failed: |c, r| {
        let mut h = Harness::recall(c, r);
        h.act(Action::Start);
        let outcome = Outcome::Failed(failure());
        h.event(Event::Finished { job: 1, generation: 1, outcome, seconds: 0.4 });
        h
    };
    facts_consistency: |c, r| {
        let mut h = Harness::recalling(c, r, true);
        h.focus(FIGURE);
        h.keys("] ] ] ] ]");
        h
    };
    facts_turned: |c, r| {
        let mut h = Harness::recalling(c, r, true);
        h.focus(FIGURE);
        h.keys("b ] ] ]");
        h
    };
    facts_published: |c, r| {
        let mut h = Harness::recalling(c, r, true);
        h.focus(FIGURE);
        h.keys("b ] ]");
        h
    };
    facts_causal: |c, r| {
        let mut h = Harness::recalling(c, r, true);
        h.focus(FIGURE);
        h.keys("[ [ [");
        h
    };
    facts_own_prompt: |c, r| {
        let mut h = Harness::recalling(c, r, true);
        h.focus(ASKED);
        h.keys("o");
        h.typed("[X] : [Y]");
        h.keys("enter");
        h.answer_facts();
        h
    };
    facts_instances: |c, r| {
        let mut h = Harness::recalling(c, r, true);
        h.focus(INSTANCES);
        h.keys("j");
        h
    };
    facts_ledger: |c, r| {
        let mut h = Harness::recalling(c, r, true);
        h.focus(LEDGER);
        h.keys("x");
        h
    };
    models: |c, r| pressed(Harness::finished(c, r), "5 j space");
    model_inspected: |c, r| {
        let mut h = Harness::finished(c, r);
        h.keys("5 i");
        h.event(common::inspected("bert-mini"));
        h
    };
    model_checked: |c, r| {
        let mut h = Harness::finished(c, r);
        h.keys("5 c");
        h.event(common::inspected("bert-mini"));
        h.event(common::checked("bert-mini"));
        h
    };
    model_missing: |c, r| {
        let mut h = Harness::finished(c, r);
        h.keys("5 a");
        h.typed("/models/bert");
        h.keys("enter");
        h.event(common::about("/models/bert", ModelAnswer::Failed(failure())));
        h
    };
    model_adding: |c, r| {
        let mut h = Harness::finished(c, r);
        h.keys("5 a");
        h.typed("organisation/name");
        h
    };
    data: |c, r| pressed(Harness::finished(c, r), "6 j");
    data_inspected: |c, r| {
        let mut h = Harness::finished(c, r);
        h.keys("6 i");
        h.event(common::held(TICKET));
        h
    };
    data_examined: |c, r| {
        let mut h = Harness::finished(c, r);
        h.keys("6 j c");
        h.event(common::diagnosed(TICKET));
        h
    };
    data_waiting: |c, r| {
        let mut h = Harness::finished(c, r);
        h.keys("6 a");
        h.typed("/data/数据/facts.jsonl.gz");
        h.keys("enter c");
        h.event(common::data_progress(TICKET));
        h
    };
    data_missing: |c, r| {
        let mut h = Harness::finished(c, r);
        h.keys("6 a");
        h.typed("/no/such/place");
        h.keys("enter");
        let problem = Problem {
            what: "cannot open it: No such file or directory (os error 2)".into(),
            r#where: "/no/such/place".into(),
            hint: "expected a file or a folder".into(),
        };
        h.event(common::answer(TICKET, DataAnswer::Failed(problem)));
        h
    };
    data_adding: |c, r| {
        let mut h = Harness::finished(c, r);
        h.keys("6 a");
        h.typed("/data/facts");
        h
    };
    home: |c, r| {
        let mut h = Harness::finished(c, r);
        h.keys("0");
        h.act(Action::Sessions(Ok(sessions())));
        h
    };
    home_sessions: |c, r| {
        let mut h = Harness::finished(c, r);
        h.keys("0");
        h.act(Action::Sessions(Ok(sessions())));
        h.keys("tab j");
        h
    };
    overwriting: |c, r| {
        let mut h = Harness::finished(c, r);
        let figure = Box::new(h.lab().curves.clone().unwrap());
        let files = ["png", "svg"].map(|e| format!("/figures/reliability.{e}").into()).to_vec();
        h.act(Action::Exported(Ok(Exported::Exists(figure, files))));
        h
    };
    exported: |c, r| {
        let mut h = Harness::finished(c, r);
        let folder = "/a/folder/that/lies/deep/in/the/tree/of/someone/who/likes/order/and/long/names/of/folders";
        let path = |e| format!("{folder}/reliability-bert-mini-pgd-mlp.{e}").into();
        h.act(Action::Exported(Ok(Exported::Wrote(["png", "svg", "csv"].map(path).to_vec()))));
        h
    };
    refused: |c, r| {
        let mut h = Harness::finished(c, r);
        h.lab().spec.task.data = Some("folder/own.tsv".into());
        h.row("task.phi");
        h.keys("l");
        h
    };
    zoom: |c, r| pressed(Harness::finished(c, r), "z");
    zoomed_probes: |c, r| {
        let mut h = Harness::finished(c, r);
        h.focus(PROBES);
        h.keys("z");
        h
    };
    example: |c, r| {
        let mut h = Harness::finished(c, r);
        h.focus(EXAMPLE);
        h.keys("L");
        h.answer(500);
        h
    };
    pareto: |c, r| {
        let mut h = Harness::finished(c, r);
        h.focus(PARETO);
        h
    };
    experiments: |c, r| pressed(Harness::finished(c, r), "t");
    setup: |c, r| {
        let mut h = Harness::finished(c, r);
        h.focus(setup::PANE);
        h.row("view.strength");
        h
    };
    ascii: |c, r| {
        let mut h = Harness::finished(c, r);
        h.state.view.glyphs = Glyphs::Ascii;
        h
    };
    comparison_empty: |c, r| pressed(Harness::new(c, r), "3");
    comparison_finished: |c, r| has_compared(c, r);
    comparison_verdict: |c, r| {
        let mut h = has_compared(c, r);
        h.focus(VERDICT);
        h
    };
    comparison_failed: |c, r| {
        let mut h = comparing(c, r);
        let outcome = Outcome::Failed(failure());
        h.event(Event::Finished { job: 2, generation: 2, outcome, seconds: 0.4 });
        h
    };
    blocks: |c, r| {
        let mut h = Harness::finished(c, r);
        h.state.view.glyphs = Glyphs::Blocks;
        h
    };
}

#[test]
fn a_tiny_screen_says_what_it_needs() {
    shows("a_tiny_screen_says_what_it_needs", &Harness::running(20, 5).screen());
    for size in [(0, 0), (1, 1), (39, 30), (200, 9)] {
        let mut h = Harness::running(size.0, size.1);
        h.keys("? a enter q");
        h.buffer();
    }
}

/// With both bands the line of scores grew wider than its pane, and n, which no number may be without, was cut.
#[test]
fn n_stands_beside_the_scores_at_every_width() {
    for (c, r) in [(80, 24), (100, 30), (120, 40), (160, 50)] {
        let screen = Harness::finished(c, r).screen();
        assert!(screen.lines().any(|l| l.contains("  R .") && l.contains("  n ")), "{c}x{r}:\n{screen}");
    }
}

/// At 80x24 the line of distances had no row.
#[test]
fn the_off_manifold_meter_is_seen_with_its_n_at_every_size() {
    for (c, r) in [(80, 24), (120, 40), (160, 50)] {
        let screen = Harness::finished(c, r).screen();
        let line =
            screen.lines().find(|l| l.contains(" dist")).unwrap_or_else(|| panic!("{c}x{r}:\n{screen}"));
        assert!(line.contains(" at .112 (n 2400): nearest ") && line.contains(" twin 1.00x"), "{line}");
    }
}

/// `12 of 128 settings domin`
#[test]
fn the_count_of_dominated_settings_is_seen_whole_at_every_size() {
    for (c, r) in [(80, 24), (120, 40), (160, 50)] {
        let mut h = Harness::finished(c, r);
        h.focus(PARETO);
        let screen = h.screen();
        let whole = |l: &str| l.contains("of 128 settings dominated") || l.contains("/128 dominated");
        assert!(screen.lines().any(whole), "{c}x{r}:\n{screen}");
    }
}

#[test]
fn a_wide_screen_has_wide_panes() {
    shows("a_wide_screen_has_wide_panes", &Harness::finished(180, 50).screen());
}

#[test]
fn text_from_outside_cannot_steer_the_terminal() {
    let evil = "\u{1b}[2J\u{202e}漢字\u{9b}31m\n\u{7}";
    let mut h = Harness::running(120, 40);
    h.event(Event::Notice(Notice {
        level: NoticeLevel::Error,
        problem: Problem { what: evil.into(), r#where: evil.into(), hint: evil.into() },
    }));
    for method in &mut h.lab().catalog.methods {
        method.title = evil.into();
        method.doc = evil.into();
        method.parameter.symbol = evil.into();
    }
    h.lab().spec.models.push(evil.into());
    h.lab().spec.task.target = evil.into();
    h.state.board.engine.as_mut().unwrap().device = evil.into();
    let run = &mut h.state.board.runs[0];
    run.job.progress.as_mut().unwrap().stage = evil.into();
    let lab::Results::Interventions(results) = &mut run.results else { panic!("results of another lab") };
    results.probes[0].value.property = evil.into();
    results.probes[0].value.classifier = evil.into();
    results.point.as_mut().unwrap().example.as_mut().unwrap().value.text = evil.into();
    h.state.sessions = Some(vec![Recorded {
        name: evil.into(),
        path: evil.into(),
        created: evil.into(),
        lab: evil.into(),
        end: End::Done,
    }]);
    h.event(common::inspected(evil));
    h.event(common::checked(evil));
    h.keys("6 a");
    h.typed("x");
    h.keys("enter c");
    h.state.board.sets[0].set = evil.into();
    let evil_data = |event| match event {
        Event::Answer { ticket, answer: Answer::Data(DataAnswer::Inspected(mut i)) } => {
            i.lines = vec![evil.into(), format!("  {evil}"), format!("  rows       {evil}")];
            i.examples = vec![evil.into()];
            i.title = evil.into();
            common::answer(ticket, DataAnswer::Inspected(i))
        }
        other => other,
    };
    h.event(evil_data(common::held(TICKET)));
    h.event(common::diagnosed(TICKET + 1));
    h.keys("2");
    let keys = "j|!|esc m|esc i|esc :|esc ?|esc 5|end j j j|6|j j j j j j j j j j j j j j|pagedown|0 tab|2 z|tab|tab|tab|tab|g";
    for keys in keys.split('|') {
        h.keys(keys);
        for cell in h.buffer().content() {
            assert!(!cell.symbol().contains(char::is_control), "{:?} after {keys}", cell.symbol());
            assert!(!cell.symbol().contains('\u{202e}'), "after {keys}");
        }
    }
}

#[test]
fn without_colour_no_cell_has_one() {
    let themes = Theme::choose(Some("dark"), &Surroundings { no_color: true, light: false }).unwrap();
    let mut h = Harness::of(Start { themes, ..start() });
    h.act(Action::Start);
    for keys in ["", "?", "esc m", "esc i", "esc q", "esc 5", "6"] {
        h.keys(keys);
        for cell in h.buffer().content() {
            assert_eq!((cell.fg, cell.bg), (Color::Reset, Color::Reset), "{:?}", cell.symbol());
        }
    }
}

#[test]
fn in_ascii_lines_and_signs_are_ascii() {
    let mut failed = Harness::started(120, 40);
    let outcome = Outcome::Failed(failure());
    failed.event(Event::Finished { job: 1, generation: 1, outcome, seconds: 0.4 });
    for mut h in [Harness::finished(120, 40), Harness::running(80, 24), failed] {
        h.state.view.glyphs = Glyphs::Ascii;
        h.event(common::inspected("bert-mini"));
        for keys in ["tab", "m", "esc !", "esc 5", "6 j c", "2 = a enter", "esc q"] {
            h.keys(keys);
            // Symbols of hyperparameters, plus-minus and arrows within sentences are text, not drawing.
            let strange = h.screen().chars().find(|c| !c.is_ascii() && !"εαφ±→·»…L∞".contains(*c));
            assert_eq!(strange, None, "after {keys}\n{}", h.screen());
        }
    }
}

#[test]
fn a_resize_that_is_under_way_draws_nothing() {
    let mut h = Harness::finished(120, 40);
    h.act(Action::Resize(80, 24));
    let mut terminal = ratatui::Terminal::new(ratatui::backend::TestBackend::new(60, 20)).unwrap();
    terminal.draw(|frame| probity::tui::panes::draw(frame, &h.state)).unwrap();
}
