//! The screen of the saliency lab.

use probity::tui::action::Action;
use probity::tui::screens::saliency::{HEADS, HEATMAP, SCORES};
use probity::tui::state::{Glyphs, Start};
use probity::tui::theme::{Surroundings, Theme};
use ratatui::style::Color;

use super::common::saliency::{answer_latest, asks_two, has_scored};
use super::common::{self, Harness};

fn heatmap(h: &mut Harness) -> String {
    h.state.focus_on(HEATMAP);
    h.act(Action::Paste(String::new()));
    h.screen()
}

#[test]
fn two_methods_and_models_are_side_by_side() {
    let mut h = has_scored(120, 40);
    h.state.focus_on(HEATMAP);
    h.keys("t s l l");
    let screen = h.screen();
    assert!(screen.contains("ATT") && screen.contains("IG"), "{screen}");
    h.keys("t s j");
    assert!(h.screen().contains("gpt2-mini"), "{}", h.screen());
}

#[test]
fn typed_sentence_is_below_the_original() {
    let mut h = has_scored(120, 40);
    h.state.focus_on(HEATMAP);
    h.keys("t e");
    for _ in 0.." on the table .".len() {
        h.keys("left");
    }
    h.typed(" not");
    answer_latest(&mut h);
    assert!(heatmap(&mut h).contains(" not"), "{}", h.screen());
}

fn mono(columns: u16, rows: u16) -> Harness {
    let mut h = has_scored(columns, rows);
    h.state.themes = Theme::choose(None, &Surroundings { no_color: true, light: false }).unwrap();
    h.state.view.theme = 0;
    h
}

#[test]
fn colourless_theme_draws_no_colours() {
    let mut h = mono(120, 40);
    h.focus(HEATMAP);
    for keys in ["", "t s", "t s", "t a", "esc t a", "t 2"] {
        h.keys(keys);
        for cell in h.buffer().content() {
            assert_eq!((cell.fg, cell.bg), (Color::Reset, Color::Reset), "{:?}", cell.symbol());
        }
    }
}

#[test]
fn ascii_mode_keeps_only_foreign_words() {
    let mut h = mono(120, 40);
    h.state.view.glyphs = Glyphs::Ascii;
    for keys in ["", "t s", "t s m", "t s", "t h", "] ] ]", "t a space t l t u t o"] {
        h.keys(keys);
        let strange = h.screen().chars().find(|c| {
            let word = matches!(c, '\u{4e00}'..='\u{9fff}' | 'א'..='ת' | '。' | '\u{fffd}' | '␛');
            !c.is_ascii() && !word && !"±→·»…×Δ≤−".contains(*c)
        });
        assert_eq!(strange, None, "after {keys}\n{}", h.screen());
    }
}

#[test]
fn every_size_is_drawn() {
    let mut h = has_scored(20, 5);
    h.keys("t s t a space o esc t h m t p t d t c");
    for size in [(0, 0), (1, 1), (40, 10), (41, 11), (300, 12), (45, 80)] {
        let mut h = has_scored(size.0, size.1);
        for pane in [HEATMAP, SCORES, HEADS] {
            h.focus(pane);
            h.keys("t s l j z");
            h.buffer();
        }
    }
}

/// The third sentence contains a bidirectional override and an escape sequence.
#[test]
fn hostile_words_cannot_control_the_terminal() {
    let mut h = has_scored(120, 40);
    h.keys("j j t h");
    answer_latest(&mut h);
    for keys in ["", "t s", "t a space l space", "i", "esc t e", "esc esc ?", "esc !"] {
        h.keys(keys);
        for cell in h.buffer().content() {
            assert!(!cell.symbol().contains(char::is_control), "{:?} after {keys}", cell.symbol());
            assert!(!cell.symbol().contains('\u{202e}'), "after {keys}");
        }
    }
    let h = Harness::of(Start { size: (120, 40), spec: asks_two().into(), ..common::start() });
    assert!(h.screen().contains("Saliency"));
}
