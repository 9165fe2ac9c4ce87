//! Sentences with scored tokens on paper.

use super::super::canvas::{At, Canvas, Drawn, Pen, Side};
use super::super::layers::{Token, Tokens};
use super::super::palette;
use super::super::role::Dash;
use super::{FINE, SMALL, type_of};
use base::text::printable_label;

/// Width of the mark for a line that continues below, in page units.
const ONWARD: f64 = 16.0;
/// Maximum padding added to each token if all fit on one line, in page units.
const WIDEN: f64 = 18.0;
const WORD: f64 = 13.0;
const STRIP: f64 = 48.0;
const BOX: f64 = 24.0;
const BETWEEN: f64 = 10.0;
/// Maximum width of a token, and of a strip's name, in page units.
const LONGEST: f64 = 170.0;
/// Maximum width of a strip's name as a share of the total width.
const NAME_SHARE: f64 = 0.3;

/// Formats a score with two decimals and a true minus sign.
pub(crate) fn number(score: f64) -> String {
    let text = format!("{:.2}", score.abs());
    if is_below(score) { format!("−{text}") } else { text }
}

fn is_below(score: f64) -> bool {
    score <= -0.005
}

/// Draws a small triangle with its tip up, for the K highest scores.
pub(crate) fn mark(canvas: &Canvas<'_>, (x, y): At) -> Drawn {
    canvas.fill(&[(x, y), (x + 4.0, y + 7.0), (x - 4.0, y + 7.0)], canvas.look.ink, 1.0)
}

pub(crate) fn is_negative(token: &Token) -> bool {
    token.score.is_some_and(is_below)
}

/// Draws a dashed edge around a negative score, because in greyscale its colour looks like a positive score's.
pub(crate) fn below_zero(canvas: &Canvas<'_>, a: At, b: At) -> Drawn {
    canvas.frame(a, b, Pen::new(canvas.look.paper, 2.4))?;
    canvas.frame(a, b, Pen { dash: Dash::Dashed, ..Pen::new(canvas.look.ink, 2.4) })
}

/// Draws the strips between two vertical edges, starting at `top`, on as many lines as needed, and returns the bottom.
pub(crate) fn draw(canvas: &Canvas<'_>, tokens: &Tokens, (left, right): (f64, f64), top: f64) -> Drawn<f64> {
    let fonts = canvas.fonts;
    let longest = LONGEST.min((right - left) * NAME_SHARE);
    let names: Vec<String> =
        tokens.strips.iter().map(|s| fonts.cut(&printable_label(&s.label), SMALL, longest)).collect();
    let start = left + names.iter().map(|n| fonts.width(n, SMALL)).fold(0.0, f64::max) + 12.0;
    let columns = tokens.columns();
    let text =
        |strip: usize, at: usize| fonts.cut(&printable_label(&tokens.strips[strip].tokens[at].text), WORD, LONGEST);
    let wide = |column: &Vec<Option<usize>>| {
        let each = column.iter().enumerate().filter_map(|(k, at)| Some(fonts.width(&text(k, (*at)?), WORD)));
        each.fold(22.0, f64::max) + 10.0
    };
    let all: f64 = columns.iter().map(wide).sum();
    let is_whole = start + all <= right;
    let more = if is_whole { ((right - start - all) / columns.len().max(1) as f64).min(WIDEN) } else { 0.0 };
    let right = if is_whole { right } else { right - ONWARD };
    let (mut x, mut y) = (start, top);
    let head = |y: f64| {
        for (k, name) in names.iter().enumerate() {
            let at = (left, y + k as f64 * STRIP + BOX / 2.0);
            canvas.text(name, at, type_of(SMALL, canvas.look.ink, Side::Start, Side::Middle))?;
        }
        Drawn::Ok(())
    };
    let lines = tokens.strips.len() as f64 * STRIP + BETWEEN;
    head(y)?;
    for column in &columns {
        let width = wide(column) + more;
        if x > start && x + width > right {
            onward(canvas, tokens.strips.len(), (x + 1.0, y))?;
            (x, y) = (start + ONWARD, y + lines);
            onward(canvas, tokens.strips.len(), (start, y))?;
            head(y)?;
        }
        for (k, at) in column.iter().enumerate() {
            let Some(at) = *at else { continue };
            let upper = y + k as f64 * STRIP;
            token(canvas, tokens, k, at, &text(k, at), (x, upper), (x + width - 4.0, upper + BOX))?;
        }
        x += width;
    }
    Ok(y + lines - BETWEEN)
}

/// Draws an ellipsis beside each strip whose sentence continues on or from a different line.
fn onward(canvas: &Canvas<'_>, strips: usize, (x, y): At) -> Drawn {
    let kind = type_of(WORD, canvas.look.grey, Side::Start, Side::Middle);
    (0..strips).try_for_each(|k| canvas.text("…", (x, y + k as f64 * STRIP + BOX / 2.0), kind))
}

fn token(canvas: &Canvas<'_>, tokens: &Tokens, k: usize, at: usize, text: &str, a: At, b: At) -> Drawn {
    let token = &tokens.strips[k].tokens[at];
    let middle = (a.0 + b.0) / 2.0;
    let score = token.score.filter(|s| s.is_finite());
    let colour = score.map_or(canvas.look.paper, |s| palette::diverging(s / tokens.largest()));
    canvas.rectangle(a, b, colour, 1.0)?;
    canvas.frame(a, b, Pen { alpha: 0.35, ..Pen::new(canvas.look.grey, 0.7) })?;
    let ink = if score.is_some() { canvas.look.ink_on(colour) } else { canvas.look.ink };
    let is_doubtful = score.is_some() && tokens.strips[k].doubt.is_some();
    if is_doubtful {
        canvas.hatch(a, b, Pen { colour: ink, alpha: 0.4, ..Pen::new(canvas.look.grey, 0.8) })?;
    }
    if is_negative(token) {
        below_zero(canvas, a, b)?;
    }
    if is_doubtful {
        // The word stays readable on a patch of the page's colour.
        let half = canvas.fonts.width(text, WORD) / 2.0 + 2.0;
        let reach = WORD * 0.62;
        let centre = (a.1 + b.1) / 2.0;
        canvas.rectangle((middle - half, centre - reach), (middle + half, centre + reach), colour, 1.0)?;
    }
    canvas.text(text, (middle, (a.1 + b.1) / 2.0), type_of(WORD, ink, Side::Middle, Side::Middle))?;
    if token.gold {
        canvas.line(&[(a.0, b.1 + 3.0), (b.0, b.1 + 3.0)], Pen::new(canvas.look.ink, 2.4))?;
    }
    let shift = if token.top { 6.0 } else { 0.0 };
    if let Some(score) = score {
        let kind = type_of(FINE, canvas.look.ink, Side::Middle, Side::Start);
        canvas.text(&number(score), (middle + shift, b.1 + 7.0), kind)?;
    }
    if token.top {
        let half = score.map_or(0.0, |s| canvas.fonts.width(&number(s), FINE) / 2.0);
        mark(canvas, (middle + shift - half - 6.0, b.1 + 7.0))?;
    }
    Ok(())
}
