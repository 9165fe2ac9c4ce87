//! Sentences with scored tokens on cells.
//!
//! Every token is written at its own position, measured in columns, so that wide characters and right-to-left words do not
//! move other tokens. Below it are a row of marks (gold, among the highest K) and, without colour, a row of signs.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};

use super::cells::Key;
use super::{Chart, background};
use crate::base::numbers::short;
use crate::base::text::{fit, pad, printable, width};
use crate::figure::layers::{Token, Tokens};
use crate::figure::palette;
use crate::tui::theme::Role;

/// Longest name of a strip, and longest token.
const LONGEST: usize = 18;

impl Chart<'_> {
    /// Rows of a strip: words, marks and, without colour, signs.
    fn strip_rows(&self) -> u16 {
        if self.coloured() { 2 } else { 3 }
    }

    /// Draws the strips, broken into lines, and returns how many rows they take.
    pub(super) fn tokens(&self, area: Rect, tokens: &Tokens, buffer: &mut Buffer) -> u16 {
        let names: Vec<String> =
            tokens.strips.iter().map(|s| fit(&printable(&s.label), LONGEST).into_owned()).collect();
        let names_wide = names.iter().map(|n| width(n)).max().unwrap_or(0);
        let start = area.x + ((names_wide + 2) as u16).min(area.width / 3);
        let line = self.strip_rows() * tokens.strips.len() as u16 + 1;
        let (mut x, mut y) = (start, area.y);
        let largest = tokens.largest();
        for column in tokens.columns() {
            let words: Vec<Option<(usize, String)>> = column
                .iter()
                .enumerate()
                .map(|(k, at)| {
                    Some((k, fit(&printable(&tokens.strips[k].tokens[(*at)?].text), LONGEST).into_owned()))
                })
                .collect();
            // At least two columns: a mark beside a sign.
            let wide = words.iter().flatten().map(|(_, w)| width(w)).max().unwrap_or(0).max(2);
            if x > start && x + wide as u16 > area.right() {
                (x, y) = (start, y + line);
            }
            if y + line > area.bottom() + 1 {
                buffer.set_stringn(
                    start,
                    area.bottom().saturating_sub(1),
                    self.pick("…", "..."),
                    3,
                    self.theme.style(Role::Dim),
                );
                break;
            }
            if x == start {
                for (k, name) in names.iter().enumerate() {
                    let row = y + k as u16 * self.strip_rows();
                    let room = usize::from(start - area.x).saturating_sub(1);
                    buffer.set_stringn(area.x, row, fit(name, room), room, self.theme.style(Role::Dim));
                }
            }
            for (k, word) in words.into_iter().flatten() {
                let Some(token) = column[k].map(|at| &tokens.strips[k].tokens[at]) else { continue };
                let row = y + k as u16 * self.strip_rows();
                let room = wide.min(usize::from(area.right().saturating_sub(x)));
                self.token(token, &pad(&word, room), (x, row), largest, buffer);
            }
            x += wide as u16 + 1;
        }
        y + line - area.y
    }

    fn token(&self, token: &Token, word: &str, (x, y): (u16, u16), largest: f64, buffer: &mut Buffer) {
        let wide = width(word);
        let score = token.score.filter(|s| s.is_finite()).map(|s| (s / largest).clamp(-1.0, 1.0));
        let style = match score {
            Some(score) if self.coloured() => background(palette::diverging(score)),
            _ => self.theme.style(Role::Text),
        };
        let style = if token.gold { style.add_modifier(Modifier::UNDERLINED) } else { style };
        buffer.set_string(x, y, word, style);
        let text = self.theme.style(Role::Text);
        if token.gold {
            buffer.set_string(x, y + 1, self.pick("▔", "~").repeat(wide), text);
        }
        if token.top {
            buffer.set_string(x, y + 1, self.pick("▲", "^"), text);
        }
        if let Some(score) = score.filter(|_| !self.coloured()) {
            // As many signs as the score is large; none below a twentieth.
            let count = if score.abs() < 0.05 { 0 } else { (score.abs() * wide as f64).ceil() as usize };
            let sign = if score < 0.0 { "-" } else { "+" };
            buffer.set_string(x, y + 2, sign.repeat(count), text);
        }
    }

    /// The scale of the scores, and what the marks mean.
    pub(super) fn token_keys(&self, tokens: &Tokens) -> Vec<Key> {
        let dim = self.theme.style(Role::Dim);
        let bound = short((tokens.largest() * 100.0).round() / 100.0);
        let mut sample = vec![(format!("-{bound} "), dim)];
        for k in -6..=6 {
            let share = f64::from(k) / 6.0;
            sample.push(if self.coloured() {
                (" ".to_owned(), background(palette::diverging(share)))
            } else {
                (if k < 0 { "-" } else { "+" }.to_owned(), Style::new())
            });
        }
        sample.push((format!(" {bound}"), dim));
        let mut out = vec![(sample, printable(&tokens.label).into_owned())];
        let any = |pick: fn(&Token) -> bool| tokens.strips.iter().flat_map(|s| &s.tokens).any(pick);
        if any(|t| t.gold) {
            out.push((vec![(self.pick("▔▔", "~~").to_owned(), dim)], "gold".into()));
        }
        if any(|t| t.top) {
            out.push((vec![(self.pick("▲", "^").to_owned(), dim)], "top K".into()));
        }
        out
    }
}
