//! Sentences with scored tokens in terminal cells.
//!
//! Every token is written at its own column, so that wide characters and right-to-left words do not move others. Below it are a row of
//! marks (gold, among the K highest scores, doubtful) and, without colour, a row whose density shows the score.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::widgets::Widget;

use super::cells::Key;
use super::{Chart, background, ramp};
use crate::theme::Role;
use base::numbers::short;
use base::text::{fit, pad, printable, width};
use figure::Layer;
use figure::layers::{Token, Tokens};
use figure::palette;

/// Maximum width of a strip's name and of a token, in columns.
const LONGEST: usize = 18;

/// A figure of tokens with a cursor on one of them, which is always visible.
pub(crate) struct Strips<'a> {
    pub chart: Chart<'a>,
    /// Strip and index of the token under the cursor.
    pub cursor: Option<(usize, usize)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Spot {
    strip: usize,
    token: usize,
    /// Index of the line of strips.
    line: u16,
    /// First column, relative to the area.
    x: u16,
    /// Width in columns.
    wide: u16,
}

struct Laid {
    spots: Vec<Spot>,
    lines: u16,
    /// Columns before the first token.
    start: u16,
}

impl Laid {
    fn new(tokens: &Tokens, columns: u16) -> Self {
        let name = |s: &figure::layers::Strip| width(&printable(&s.label)).min(LONGEST);
        let names = tokens.strips.iter().map(name).max().unwrap_or(0);
        let start = ((names + 2) as u16).min(columns / 3);
        let (mut x, mut line, mut spots) = (start, 0, Vec::new());
        for column in tokens.columns() {
            let words = || column.iter().enumerate().filter_map(|(strip, at)| Some((strip, (*at)?)));
            // At least two columns, for two marks.
            let wide = words().map(|(k, at)| width(&word(&tokens.strips[k].tokens[at]))).fold(2, usize::max) as u16;
            if x > start && x + wide > columns {
                (x, line) = (start, line + 1);
            }
            spots.extend(words().map(|(strip, token)| Spot { strip, token, line, x, wide }));
            x += wide + 1;
        }
        Self { spots, lines: line + 1, start }
    }

    /// The first line to draw if `fit` lines fit and the cursor must be visible.
    fn first(&self, cursor: Option<(usize, usize)>, fit: u16) -> u16 {
        let at = cursor.and_then(|c| self.spots.iter().find(|s| (s.strip, s.token) == c));
        let at = at.map_or(0, |s| s.line);
        (at + 1).saturating_sub(fit.max(1)).min(self.lines.saturating_sub(1))
    }
}

struct Paper<'b> {
    area: Rect,
    buffer: &'b mut Buffer,
}

impl Paper<'_> {
    /// Writes the part of a text that is inside the area.
    fn put(&mut self, (x, y): (u16, u16), text: &str, style: Style) {
        if (self.area.y..self.area.bottom()).contains(&y) && (self.area.x..self.area.right()).contains(&x) {
            self.buffer.set_stringn(x, y, text, usize::from(self.area.right() - x), style);
        }
    }
}

fn word(token: &Token) -> String {
    fit(&printable(&token.text), LONGEST).into_owned()
}

impl Widget for Strips<'_> {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let area = area.intersection(buffer.area);
        if area.is_empty() {
            return;
        }
        self.chart.legend(area, buffer);
        if let Some((below, tokens)) = self.parts(area) {
            self.chart.strips(below, tokens, self.cursor, buffer);
        }
    }
}

impl Strips<'_> {
    /// The area below the legend, and the tokens.
    fn parts(&self, area: Rect) -> Option<(Rect, &Tokens)> {
        let find = |l: &Layer| matches!(l, Layer::Tokens(_));
        let Layer::Tokens(tokens) = self.chart.figure.layers.iter().find(|l| find(l))? else { return None };
        let height = area.height.checked_sub(1)?;
        Some((Rect { y: area.y + 1, height, ..area }, tokens))
    }

    /// Strip and index of the token at a screen position.
    pub(crate) fn at(&self, area: Rect, x: u16, y: u16) -> Option<(usize, usize)> {
        let (below, tokens) = self.parts(area)?;
        let laid = Laid::new(tokens, below.width);
        let (rows, line) = (self.chart.strip_rows(), self.chart.line_rows(tokens));
        let first = laid.first(self.cursor, ((below.height + 1) / line).max(1));
        let column = x.checked_sub(below.x)?;
        let row = y.checked_sub(below.y).filter(|_| y < below.bottom())?;
        let (at, strip) = (first + row / line, usize::from(row % line / rows));
        let hit = |s: &&Spot| s.line == at && s.strip == strip && (s.x..s.x + s.wide).contains(&column);
        laid.spots.iter().find(hit).map(|s| (s.strip, s.token))
    }
}

impl Chart<'_> {
    /// Number of rows of a strip: words, marks and, without colour, density.
    fn strip_rows(&self) -> u16 {
        if self.coloured() { 2 } else { 3 }
    }

    /// Number of rows of a line of strips, including the empty one below.
    fn line_rows(&self, tokens: &Tokens) -> u16 {
        self.strip_rows() * (tokens.strips.len().max(1) as u16) + 1
    }

    /// Draws the strips, divided into lines, and returns the number of rows used.
    pub(super) fn tokens(&self, area: Rect, tokens: &Tokens, buffer: &mut Buffer) -> u16 {
        self.strips(area, tokens, None, buffer)
    }

    fn strips(&self, area: Rect, tokens: &Tokens, cursor: Option<(usize, usize)>, buffer: &mut Buffer) -> u16 {
        let laid = Laid::new(tokens, area.width);
        let (rows, line) = (self.strip_rows(), self.line_rows(tokens));
        // The empty row below the last line need not fit. If a line is higher than the area, its top is shown.
        let fits = ((area.height + 1) / line).max(1);
        let first = laid.first(cursor, fits);
        let shown = first..(first + fits).min(laid.lines);
        let mut paper = Paper { area, buffer };
        let top = |at: u16, strip: usize| area.y + (at - first) * line + strip as u16 * rows;
        for at in shown.clone() {
            for (k, strip) in tokens.strips.iter().enumerate() {
                let room = usize::from(laid.start.saturating_sub(1)).min(LONGEST);
                let name = printable(&strip.label);
                paper.put((area.x, top(at, k)), &fit(&name, room), self.theme.style(Role::Dim));
            }
        }
        for spot in laid.spots.iter().filter(|s| shown.contains(&s.line)) {
            let strip = &tokens.strips[spot.strip];
            let at = (area.x + spot.x, top(spot.line, spot.strip));
            let room = usize::from(spot.wide.min(area.right().saturating_sub(at.0)));
            let token = &strip.tokens[spot.token];
            self.token(&mut paper, token, &pad(&word(token), room), at, (tokens.largest(), strip.doubt.is_some()));
            if cursor == Some((spot.strip, spot.token)) {
                self.brackets(&mut paper, at, room as u16);
            }
        }
        if shown.end < laid.lines {
            let at = (area.x + laid.start, area.bottom().saturating_sub(1));
            paper.put(at, self.pick("…", "..."), self.theme.style(Role::Dim));
        }
        laid.lines * line
    }

    /// Draws brackets in the gaps around the token under the cursor, so that its colour remains visible.
    fn brackets(&self, paper: &mut Paper<'_>, (x, y): (u16, u16), wide: u16) {
        let style = self.theme.style(Role::Focus).add_modifier(Modifier::BOLD);
        if x > paper.area.x {
            paper.put((x - 1, y), self.pick("▐", "["), style);
        }
        paper.put((x + wide, y), self.pick("▌", "]"), style);
    }

    fn token(
        &self,
        paper: &mut Paper<'_>,
        token: &Token,
        word: &str,
        (x, y): (u16, u16),
        (largest, doubtful): (f64, bool),
    ) {
        let wide = width(word);
        let score = token.score.filter(|s| s.is_finite()).map(|s| (s / largest).clamp(-1.0, 1.0));
        let style = match score {
            Some(score) if self.coloured() => background(palette::diverging(score)),
            _ => self.theme.style(Role::Text),
        };
        let style = if token.gold { style.add_modifier(Modifier::UNDERLINED) } else { style };
        paper.put((x, y), word, style);
        let text = self.theme.style(Role::Text);
        if doubtful && score.is_some() {
            paper.put((x, y + 1), &self.pick("╱", "/").repeat(wide), self.theme.style(Role::Dim));
        }
        if token.gold {
            // If the score is doubtful, the hatching stays visible next to the line of the gold rationale.
            let line = if doubtful { wide.div_ceil(2) } else { wide };
            paper.put((x, y + 1), &self.pick("▔", "~").repeat(line), text);
        }
        if token.top {
            paper.put((x, y + 1), self.pick("▲", "^"), text);
        }
        if let Some(score) = score.filter(|_| !self.coloured()) {
            let glyph = ramp::signed(score, self.ascii());
            paper.put((x, y + 2), &String::from(glyph).repeat(wide), text);
        }
    }

    /// Legend: the scale of the scores and the meanings of the marks.
    pub(super) fn token_keys(&self, tokens: &Tokens) -> Vec<Key> {
        let dim = self.theme.style(Role::Dim);
        let bound = short((tokens.largest() * 100.0).round() / 100.0);
        // Attention, for example, is never negative.
        let is_signed = tokens.strips.iter().flat_map(|s| &s.tokens).any(|t| t.score.is_some_and(|score| score < 0.0));
        let (first, lowest) = if is_signed { (-6, format!("-{bound} ")) } else { (0, "0 ".to_owned()) };
        let mut sample = vec![(lowest, dim)];
        for k in first..=6 {
            let share = f64::from(k) / 6.0;
            sample.push(if self.coloured() {
                (" ".to_owned(), background(palette::diverging(share)))
            } else {
                (ramp::signed(share, self.ascii()).to_string(), Style::new())
            });
        }
        sample.push((format!(" {bound}"), dim));
        let mut out = vec![(sample, printable(&tokens.label).into_owned())];
        for doubt in tokens.doubts() {
            out.push((vec![(self.pick("╱╱", "//").to_owned(), dim)], printable(doubt).into_owned()));
        }
        let any = |pick: fn(&Token) -> bool| tokens.strips.iter().flat_map(|s| &s.tokens).any(pick);
        if any(|t| t.gold) {
            out.push((vec![(self.pick("▔▔", "~~").to_owned(), dim)], "annotators".into()));
        }
        if any(|t| t.top) {
            out.push((vec![(self.pick("▲", "^").to_owned(), dim)], "top words".into()));
        }
        out
    }
}
