//! What the screen of the saliency lab looks like.

use probity::engine::message::{Event, Outcome};
use probity::tui::screens::saliency::{HEADS, HEATMAP, SCORES};
use probity::tui::state::{Glyphs, Start};
use probity::tui::theme::{Surroundings, Theme};
use ratatui::style::Color;

use super::common::saliency::{answer_latest, asks_two, has_scored, scored, scoring, unasked};
use super::common::{self, Harness};
use super::screens::{SIZES, failure, shows};

fn at_both_sizes(name: &str, make: impl Fn(u16, u16) -> Harness) {
    for (columns, rows) in SIZES {
        shows(&format!("saliency_{name}_{columns}x{rows}"), &make(columns, rows).screen());
    }
}

#[test]
fn before_the_first_run_it_says_which_key_begins_it() {
    at_both_sizes("empty", unasked);
}

#[test]
fn a_run_under_way_shows_the_first_sentence() {
    at_both_sizes("running", |c, r| {
        let mut h = scoring(c, r);
        h.events(scored(false));
        h.event(common::progress(1));
        h
    });
}

#[test]
fn a_run_that_failed_says_why_in_the_pane_that_asked() {
    at_both_sizes("failed", |c, r| {
        let mut h = scoring(c, r);
        let outcome = Outcome::Failed(failure());
        h.event(Event::Finished { job: 1, generation: 1, outcome, seconds: 0.4 });
        h
    });
}

#[test]
fn a_finished_run_shows_the_pair_the_tables_and_the_heads() {
    at_both_sizes("finished", has_scored);
    for (name, pane) in [("heatmap", HEATMAP), ("scores", SCORES), ("heads", HEADS)] {
        let mut h = has_scored(80, 24);
        h.focus(pane);
        h.keys("l");
        shows(&format!("saliency_{name}_80x24"), &h.screen());
    }
}

#[test]
fn two_methods_and_two_models_stand_side_by_side() {
    at_both_sizes("two_methods", |c, r| {
        let mut h = has_scored(c, r);
        h.focus(HEATMAP);
        h.keys("c l l");
        h
    });
    at_both_sizes("two_models", |c, r| {
        let mut h = has_scored(c, r);
        h.focus(HEATMAP);
        h.keys("c c j");
        h
    });
}

#[test]
fn an_integral_that_misses_its_tolerance_is_hatched_and_wide_characters_align() {
    at_both_sizes("incomplete", |c, r| {
        let mut h = has_scored(c, r);
        h.keys("m j");
        h.focus(HEATMAP);
        h
    });
}

#[test]
fn a_sentence_of_ones_own_stands_below_what_it_was() {
    at_both_sizes("own", |c, r| {
        let mut h = has_scored(c, r);
        h.focus(HEATMAP);
        h.keys("O");
        for _ in 0.." on the table .".len() {
            h.keys("left");
        }
        h.typed(" not");
        answer_latest(&mut h);
        h
    });
}

#[test]
fn rationales_are_marked_in_the_sentence_in_view() {
    at_both_sizes("marking", |c, r| {
        let mut h = has_scored(c, r);
        h.keys("a l l l l . S S C j j");
        h
    });
}

fn mono(columns: u16, rows: u16) -> Harness {
    let mut h = has_scored(columns, rows);
    h.state.themes = Theme::choose(None, &Surroundings { no_color: true, light: false }).unwrap();
    h.state.view.theme = 0;
    h
}

#[test]
fn without_colour_the_density_of_glyphs_is_the_score() {
    at_both_sizes("no_colour", |c, r| {
        let mut h = mono(c, r);
        h.focus(HEATMAP);
        h.keys("m l");
        h
    });
    let mut h = mono(120, 40);
    h.focus(HEATMAP);
    for keys in ["", "c", "c", "a", "esc a", "A"] {
        h.keys(keys);
        for cell in h.buffer().content() {
            assert_eq!((cell.fg, cell.bg), (Color::Reset, Color::Reset), "{:?}", cell.symbol());
        }
    }
}

#[test]
fn ascii_is_ascii_but_for_the_words_themselves() {
    let mut h = mono(120, 40);
    h.state.view.glyphs = Glyphs::Ascii;
    for keys in ["", "c", "c m", "c", "x", "] ] ]", "a . , S C"] {
        h.keys(keys);
        let strange = h.screen().chars().find(|c| {
            let word = matches!(c, '\u{4e00}'..='\u{9fff}' | 'א'..='ת' | '。' | '\u{fffd}' | '␛');
            !c.is_ascii() && !word && !"±→·»…×Δ".contains(*c)
        });
        assert_eq!(strange, None, "after {keys}\n{}", h.screen());
    }
}

#[test]
fn a_tiny_screen_says_what_it_needs() {
    let mut h = has_scored(20, 5);
    shows("saliency_tiny_20x5", &h.screen());
    h.keys("c a . o x m t d r");
    for size in [(0, 0), (1, 1), (40, 10), (41, 11), (300, 12), (45, 80)] {
        let mut h = has_scored(size.0, size.1);
        for pane in [HEATMAP, SCORES, HEADS] {
            h.focus(pane);
            h.keys("c l j z");
            h.buffer();
        }
    }
}

/// The third sentence holds an override of direction and an escape sequence.
#[test]
fn hostile_words_cannot_steer_the_terminal() {
    let mut h = has_scored(120, 40);
    h.keys("j j x");
    answer_latest(&mut h);
    for keys in ["", "c", "a . l .", "i", "esc O", "esc esc ?", "esc !"] {
        h.keys(keys);
        for cell in h.buffer().content() {
            assert!(!cell.symbol().contains(char::is_control), "{:?} after {keys}", cell.symbol());
            assert!(!cell.symbol().contains('\u{202e}'), "after {keys}");
        }
    }
    let h = Harness::of(Start { size: (120, 40), spec: asks_two().into(), ..common::start() });
    assert!(h.screen().contains("Saliency"));
}
