//! The appearance of the screen: two whole screens per lab, each pane alone, and properties of all screens.

use crate::common::comparison::has_compared;
use crate::common::saliency::has_scored;
use crate::common::{self, Harness, TICKET, start};
use probity::base::Problem;
use probity::engine::data::DataAnswer;
use probity::engine::message::{Answer, Event, Notice, NoticeLevel, Outcome};
use probity::lab::{self};
use probity::session::shelf::{End, Recorded};
use probity::tui::action::Action;
use probity::tui::layout::{LABEL, compute};
use probity::tui::screen::Pane;
use probity::tui::screens::interventions::PARETO;
use probity::tui::setup;
use probity::tui::state::{Glyphs, Opening, Start};
use probity::tui::theme::{Surroundings, Theme};
use ratatui::layout::Rect;
use ratatui::style::Color;

pub(crate) const SIZES: [(u16, u16); 2] = [(120, 40), (80, 24)];

/// Compares with `snapshots/screens__NAME.snap`.
pub(crate) fn shows(name: &str, screen: &str) {
    insta::with_settings!({ prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!(format!("screens__{name}"), screen);
    });
}

pub(crate) fn failure() -> Problem {
    Problem {
        what: "the model's weights are cut short: 12 of 4,190,208 bytes are missing".into(),
        r#where: "/models/bert-mini/model.safetensors".into(),
        hint: "fetch the model again, or pick another one in the settings".into(),
    }
}

fn sessions() -> Vec<Recorded> {
    let session = |name: &str, created: &str, lab: &str, end| Recorded {
        name: name.into(),
        path: format!("/sessions/{name}.probity.jsonl").into(),
        created: created.into(),
        lab: lab.into(),
        about: String::new(),
        runs: 1,
        end,
    };
    vec![
        session("agreement-2", "2026-03-02T11:04:05Z", "interventions", End::Open),
        session("agreement-20260301-101500", "2026-03-01T10:15:00Z", "interventions", End::Done),
        session("from-a-newer-program", "2026-02-28T08:00:00Z", "another_lab", End::Cancelled),
        session("broken", "", "", End::Unreadable),
    ]
}

/// Function that returns a harness for a lab with a finished run, on a screen of this size.
type Finished = fn(u16, u16) -> Harness;

const LABS: [(&str, Finished); 4] = [
    ("interventions", |c, r| Harness::finished(c, r)),
    ("prompts", |c, r| Harness::recalling(c, r, true)),
    ("power", has_compared),
    ("saliency", has_scored),
];

#[test]
fn labs_at_both_sizes() {
    for (name, finished) in LABS {
        for (c, r) in SIZES {
            shows(&format!("{name}_{c}x{r}"), &finished(c, r).screen());
        }
    }
}

/// The part of the screen in a rectangle.
fn cropped(h: &Harness, rect: Rect) -> String {
    let screen = h.screen();
    let lines = screen.lines().skip(rect.y.into()).take(rect.height.into());
    let cut = |line: &str| {
        let part: String = line.chars().skip(rect.x.into()).take(rect.width.into()).collect();
        format!("{}\n", part.trim_end())
    };
    lines.map(cut).collect()
}

/// The focused pane at 120×40.
fn pane(h: &mut Harness, pane: Pane) -> String {
    h.state.focus_on(pane);
    // Values derived from the visible pane are updated at the next action.
    h.act(Action::Paste(String::new()));
    let rect = compute(&h.state).unwrap().pane(pane).unwrap();
    cropped(h, rect)
}

#[test]
fn single_panes_of_every_lab() {
    for (name, finished) in LABS {
        let mut h = finished(120, 40);
        for slot in h.state.screen().slots() {
            for p in *slot {
                let shown = pane(&mut h, *p);
                shows(&format!("pane_{name}_{}", p.0.replace(' ', "_").to_lowercase()), &shown);
            }
        }
        h.state.focus_on(setup::PANE);
        h.keys("e");
        shows(&format!("form_{name}"), &pane(&mut h, setup::PANE));
    }
}

#[test]
fn other_screens() {
    let mut h = Harness::finished(120, 40);
    h.keys("0");
    h.act(Action::Sessions(Ok(sessions())));
    shows("home_120x40", &h.screen());
    h.keys("5 enter");
    h.event(common::inspected("bert-mini"));
    shows("models_120x40", &h.screen());
    let mut h = Harness::finished(120, 40);
    h.keys("6 enter");
    h.event(common::held(TICKET));
    shows("data_120x40", &h.screen());
    let mut first = Harness::of(Start { opening: Opening::First, ..start() });
    first.act(Action::Start);
    let welcome = compute(&first.state).unwrap().welcome.unwrap();
    shows("welcome", &cropped(&first, welcome));
    first.keys("esc");
    assert_eq!(compute(&first.state).unwrap().welcome, None, "the welcome can be dismissed");
}

#[test]
fn run_state_is_shown_without_an_answer() {
    let said = |h: &Harness| {
        let rect = compute(&h.state).unwrap().answer.unwrap();
        cropped(h, rect)
    };
    assert!(said(&Harness::new(120, 40)).contains("Not run yet. r runs it: "));
    assert!(said(&Harness::started(120, 40)).contains("No answer yet"));
    let mut h = Harness::started(120, 40);
    h.event(Event::Finished { job: 1, generation: 1, outcome: Outcome::Cancelled, seconds: 0.4 });
    assert!(said(&h).contains("Cancelled before the first result; r runs it again."));
    let mut h = Harness::started(120, 40);
    let outcome = Outcome::Failed(failure());
    h.event(Event::Finished { job: 1, generation: 1, outcome, seconds: 0.4 });
    assert!(said(&h).contains("Failed: "));
}

/// Even on a small screen, the question, the first sentence of the answer and the caveat are visible.
#[test]
fn question_answer_and_doubt_are_visible_at_every_size() {
    for (name, finished) in LABS {
        for (c, r) in [(80, 24), (100, 32), (120, 40), (160, 50)] {
            let h = finished(c, r);
            let (screen, answer) = (h.screen(), h.state.screen().answer(&h.state));
            let begins = |text: &str| text.chars().take(30).collect::<String>();
            for (_, text) in answer.brief().iter().take(2) {
                assert!(screen.contains(&begins(text)), "{name} {c}x{r}:\n{screen}");
            }
            let rows = compute(&h.state).unwrap().answer.unwrap().height;
            let most = if c < 100 { 6 } else { 5 + 2 };
            assert!(rows <= most, "{name} {c}x{r}: {rows} rows\n{screen}");
            let asked = lab::by_id(h.state.setup().unwrap().lab()).asks(&h.state.setup().unwrap().spec(&h.state));
            assert!(screen.contains(&begins(&asked)), "{name} {c}x{r}:\n{screen}");
        }
    }
}

#[test]
fn no_label_of_a_setting_is_cut() {
    for (name, finished) in LABS {
        let h = finished(120, 40);
        let rows = h.state.setup().unwrap().rows(&h.state);
        for row in rows {
            let columns = row.label.chars().count();
            assert!(columns + 3 <= usize::from(LABEL), "{name}: {} ({columns})", row.label);
            assert!(!row.help.is_empty(), "{name}: {} has no help", row.label);
        }
    }
}

/// Words and phrases that only the authors understand. Each of them was once on a screen.
const PRIVATE: [&str; 43] = [
    "its probabilities miss",
    "recipes of",
    "equal merit",
    "them/examples",
    "constant answer's",
    "Ze read after",
    "Ze too",
    "read at ",
    "their s",
    "Trainin…",
    "twin .",
    "maj.",
    "no point of",
    "waits for the first",
    "comes when all",
    "of what one draw",
    "less chance",
    "the last: order",
    "one answer under every",
    "Ties earlier",
    "Draws 1000",
    "of them 20",
    "Scores exact",
    "behind semicolons",
    "blocks it",
    "Peeking",
    "stay unseen",
    "plan would come too late",
    "spoil",
    "pool own",
    "1.00e-8",
    "Tries the link",
    "worth a look",
    "nothing has been computed",
    "in view K",
    "equally often",
    "dossier",
    "has been told",
    "the court",
    "turns with",
    "recipe",
    "gauge",
    "diet",
];

#[test]
fn screens_contain_no_private_words() {
    let mut all: Vec<(String, String)> = Vec::new();
    for (name, finished) in LABS {
        let mut h = finished(160, 50);
        for slot in h.state.screen().slots() {
            for p in *slot {
                h.state.focus_on(*p);
                h.act(Action::Paste(String::new()));
                all.push((format!("{name} {}", p.0), h.screen()));
                // Only the pane is checked, because its sentences continue from line to line.
                h.keys("z");
                all.push((format!("{name} {} alone", p.0), h.screen()));
                h.keys("z");
            }
        }
        for keys in ["e", "esc t", "esc ?", "esc :", "esc !", "esc F", "esc i", "esc K", "esc H", "esc D"] {
            h.keys(keys);
            all.push((format!("{name} {keys}"), h.screen()));
        }
    }
    all.push(("running".into(), Harness::running(160, 50).screen()));
    all.push(("empty".into(), Harness::new(160, 50).screen()));
    let mut found = Vec::new();
    for (place, screen) in all {
        let frame = |c: char| c.is_whitespace() || matches!(c, '│' | '┃' | '|');
        let lines: Vec<&str> = screen.lines().map(|l| l.trim_matches(frame)).collect();
        let joined = lines.join(" ");
        let words = PRIVATE.iter().filter(|word| screen.contains(**word) || joined.contains(**word));
        found.extend(words.map(|word| {
            let line = screen.lines().find(|l| l.contains(word)).unwrap_or("over several lines");
            format!("`{word}` on {place}: {line}")
        }));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Regression: in ASCII mode, symbols in sentences and columns used to remain, although such a terminal cannot show them.
#[test]
fn panes_and_popups_are_ascii_in_ascii_mode() {
    let mut found = Vec::new();
    for (name, finished) in LABS {
        for (c, r) in SIZES {
            let mut h = finished(c, r);
            h.state.view.glyphs = Glyphs::Ascii;
            let panes = h.state.screen().panes();
            let mut look = |h: &Harness, place: &str| {
                let screen = h.screen();
                let mut others = screen.chars().filter(|c| !c.is_ascii()).collect::<String>();
                // A symbol without an ASCII replacement becomes a question mark, which also occurs in layer maps.
                let mut whole = Harness { state: h.state.clone(), ..Harness::new(c, r) };
                whole.state.view.glyphs = Glyphs::Braille;
                let whole = whole.screen();
                // Letters of other scripts and control characters also become question marks.
                let foreign = whole.chars().filter(|c| !c.is_ascii() && (c.is_alphabetic() || "。，�␛".contains(*c)));
                let signs = |text: &str| text.matches('?').count();
                if !place.starts_with("layers") && signs(&screen) > signs(&whole) + 2 * foreign.count() {
                    others.push('?');
                }
                found.extend((!others.is_empty()).then(|| format!("{name} {c}x{r} {place}: {others}")));
            };
            for pane in panes {
                h.state.focus_on(pane);
                h.act(Action::Paste(String::new()));
                look(&h, pane.0);
            }
            for keys in [
                "e", "esc t", "esc ?", "esc :", "esc !", "esc F", "esc i", "esc K", "esc A", "esc x", "esc H", "esc D",
                "esc 0", "5", "6",
            ] {
                h.keys(keys);
                look(&h, keys);
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
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

/// Regression: with both bands, the line of scores used to be wider than its pane, so that n was cut.
#[test]
fn n_is_next_to_the_scores_at_every_width() {
    for (c, r) in [(80, 24), (100, 32), (120, 40), (160, 50)] {
        let mut h = Harness::finished(c, r);
        h.state.focus_on(probity::tui::screens::interventions::CURVES);
        let screen = h.screen();
        // The title gives n. The line below the scores gives R.
        let n = screen.contains("on all 2,400 examples, not held out");
        assert!(n && screen.lines().any(|l| l.contains(" R .")), "{c}x{r}:\n{screen}");
    }
}

/// Regression: `n 2,400 (C), 36` used to end in the middle of 369.
#[test]
fn numbers_are_never_cut() {
    let mut cut = Vec::new();
    for (name, finished) in LABS {
        for (c, r) in [(80, 24), (120, 40)] {
            let mut h = finished(c, r);
            for p in h.state.screen().slots().iter().copied().flatten() {
                h.state.focus_on(*p);
                h.act(Action::Paste(String::new()));
                let screen = h.screen();
                let is_cut = |line: &&str| {
                    let chars: Vec<char> = line.chars().collect();
                    chars.windows(2).any(|pair| pair[0].is_ascii_digit() && pair[1] == '…')
                };
                cut.extend(screen.lines().filter(is_cut).map(|line| format!("{name} {} {c}x{r}: {line}", p.0)));
            }
        }
    }
    assert!(cut.is_empty(), "{}", cut.join("\n"));
}

/// Regression: the number of dominated settings used to be cut to `12 of 128 settings domin`.
#[test]
fn number_of_dominated_settings_is_never_cut() {
    for (c, r) in [(80, 24), (120, 40), (160, 50)] {
        let mut h = Harness::finished(c, r);
        h.state.focus_on(PARETO);
        let screen = h.screen();
        let whole = |l: &str| l.contains("of 128 settings dominated") || l.contains("/128 dominated");
        assert!(screen.lines().any(whole), "{c}x{r}:\n{screen}");
    }
}

#[test]
fn external_text_cannot_control_the_terminal() {
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
        about: evil.into(),
        runs: 2,
        end: End::Done,
    }]);
    h.event(common::inspected(evil));
    h.event(common::checked(evil));
    h.keys("6 a");
    h.typed("x");
    h.keys("enter t d");
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
    let keys = "j|!|esc t m|esc i|esc :|esc ?|esc 5|end j j j|6|j j j j j j j j j j j j j j|pagedown|0 tab|2 z|tab|tab|tab|]|]|]|]|]|]|]|e|esc H|esc K";
    for keys in keys.split('|') {
        h.keys(keys);
        for cell in h.buffer().content() {
            assert!(!cell.symbol().contains(char::is_control), "{:?} after {keys}", cell.symbol());
            assert!(!cell.symbol().contains('\u{202e}'), "after {keys}");
        }
    }
}

#[test]
fn colourless_theme_draws_no_colours() {
    let themes = Theme::choose(Some("dark"), &Surroundings { no_color: true, light: false }).unwrap();
    let mut h = Harness::of(Start { themes, ..start() });
    h.act(Action::Start);
    for keys in ["", "?", "esc t", "esc i", "esc q", "esc 5", "6", "2 e", "esc K"] {
        h.keys(keys);
        for cell in h.buffer().content() {
            assert_eq!((cell.fg, cell.bg), (Color::Reset, Color::Reset), "{:?}", cell.symbol());
        }
    }
}

#[test]
fn ascii_mode_uses_ascii_lines_and_symbols() {
    let mut failed = Harness::started(120, 40);
    let outcome = Outcome::Failed(failure());
    failed.event(Event::Finished { job: 1, generation: 1, outcome, seconds: 0.4 });
    for mut h in [Harness::finished(120, 40), Harness::running(80, 24), failed] {
        h.state.view.glyphs = Glyphs::Ascii;
        h.event(common::inspected("bert-mini"));
        for keys in ["tab", "t", "esc !", "esc 5", "6 j t d", "2 = a enter", "esc q", "esc e"] {
            h.keys(keys);
            // Symbols of hyperparameters, plus-minus and arrows within sentences are text, not drawing.
            let strange = h.screen().chars().find(|c| !c.is_ascii() && !"εαφ±→·»…L∞×−δ".contains(*c));
            assert_eq!(strange, None, "after {keys}\n{}", h.screen());
        }
    }
}

#[test]
fn resize_in_progress_draws_nothing() {
    let mut h = Harness::finished(120, 40);
    h.act(Action::Resize(80, 24));
    let mut terminal = ratatui::Terminal::new(ratatui::backend::TestBackend::new(60, 20)).unwrap();
    terminal.draw(|frame| probity::tui::panes::draw(frame, &h.state)).unwrap();
}
