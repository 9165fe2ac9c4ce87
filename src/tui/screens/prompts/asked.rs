//! The prompts of the relation under the cursor, with each model's P@1.

use std::collections::BTreeSet;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::measures::Measure;
use super::own::kept;
use super::{ASKED, ID, left_out, prompts, relation, results, rule, run, view};
use crate::layout::inside;
use crate::panes::listing::{Listing, MARK};
use crate::panes::{awaited, message, pane_block};
use crate::state::State;
use crate::theme::Role;
use base::text::{fit, last_part, pad, printable, width};
use labs::Tagged;
use labs::prompts::figures::some_prompts;
use labs::prompts::finding::AdjustedFinding;

/// Text shown instead of the scores of an unused prompt.
const NOT_ASKED: &str = " left out";
const SCORE: usize = 6;
/// Minimum width for prompts; models' names are abbreviated if they would leave less.
const PROMPT: usize = 46;
const WEIGHT: usize = 5;
/// Minimum number of letters of a shortened name.
const FEWEST: usize = 5;

pub(crate) fn draw(frame: &mut Frame, area: Rect, state: &State) {
    let Some(id) = relation(state) else {
        frame.render_widget(pane_block(state, ASKED, "Prompts, P@1"), area);
        let waits = "Prompts appear when the first relation is scored.";
        let text = awaited(state, waits, "no prompt has been scored yet");
        return message(frame, inside(area), text, state.theme().style(Role::Dim));
    };
    let found = results(state).relation(id).map(|r| &r.value);
    let label = found.map_or("", |r| r.label.as_str());
    let title = if label.is_empty() { id.to_owned() } else { format!("{id}: {label}") };
    let room = usize::from(area.width.saturating_sub(6));
    let (n, names) = found.map_or((0, 0), |r| (r.kept, r.mentions));
    let names = if names > 1 { format!(" with up to {names} names each") } else { String::new() };
    let measure = view(state).measure;
    let k = results(state).scores.first().map(|s| s.value.k);
    let titled = |title: &str| format!("{}{}, n {n}{names}, {title}", measure.name(k), rule(state));
    let title = Some(titled(&title)).filter(|text| width(&printable(text)) <= room).unwrap_or_else(|| titled(id));
    frame.render_widget(pane_block(state, ASKED, &fit(&printable(&title), room)), area);
    let inner = inside(area);
    let models = results(state).models();
    let wide = usize::from(inner.width.saturating_sub(MARK));
    let names = heads(&models, wide.saturating_sub(PROMPT));
    let score = names.iter().map(|name| width(name)).fold(SCORE - 1, usize::max) + 1;
    // Scores that do not fit next to a readable prompt are omitted; the figure and `copy` have all.
    let shown = models.len().min(wide.saturating_sub(24) / score);
    let weights = found.map_or(&[][..], |r| uneven(&r.weights));
    let column = if weights.is_empty() { 0 } else { WEIGHT };
    let text = wide.saturating_sub(shown * score + 1).max(10);
    let heads: String = names[..shown].iter().map(|name| format!("{name:>score$}")).collect();
    let heads = format!("{}{heads}", if column > 0 { " wt %" } else { "" });
    let header = format!("{}{heads}", pad("prompt", text - column));
    let (all, not) = (prompts(state), left_out(state));
    let listing = Listing { len: all.len() + not.len(), cursor: state.place(ID).scrolled(ASKED) };
    // The score averaged over all prompts, below the scores of single prompts.
    let average =
        adjusted(state, id, &models[..shown], (text, score)).filter(|_| inner.height >= 4 && measure == Measure::First);
    let list = Rect { height: inner.height - u16::from(average.is_some()), ..inner };
    if let Some(line) = average {
        let row = Rect { y: list.bottom(), height: 1, ..inner };
        frame.render_widget(Line::styled(format!("  {line}"), state.theme().style(Role::Value)), row);
    }
    let over = run(state).is_some_and(|job| job.outcome.is_some());
    listing.draw(frame, list, state, &header, |k| {
        if let Some((prompt, _)) = k.checked_sub(all.len()).and_then(|k| not.get(k)) {
            let text = wide.saturating_sub(NOT_ASKED.len() + 1).max(10);
            return format!("{}{NOT_ASKED}", pad(&fit(&printable(prompt), text), text));
        }
        let name = results(state).found_name(id, all[k]);
        let prompt = name.iter().fold(printable(all[k]).into_owned(), |prompt, name| format!("{name}: {prompt}"));
        let typed = found.is_some_and(|r| !r.prompts.iter().any(|p| p == all[k]));
        let mark = match (typed, kept(state, id).iter().any(|p| p == all[k])) {
            (_, true) => "* ",
            (true, false) if name.is_none() => "+ ",
            (_, false) => "",
        };
        let prompt = format!("{mark}{prompt}");
        let scores: String = models[..shown]
            .iter()
            .map(|m| match results(state).score(id, all[k], m) {
                Some(s) => format!("{:>score$.1}", 100.0 * measure.of(&s.value).mean),
                // A typed prompt may be scored after the run.
                None => format!("{:>score$}", if over && !typed { "n/a" } else { "…" }),
            })
            .collect();
        let at = found.and_then(|r| r.prompts.iter().position(|p| p == all[k]));
        let weight = match (column, at.and_then(|at| weights.get(at))) {
            (0, _) => String::new(),
            (_, Some(w)) => format!(" {:>4.0}", 100.0 * w),
            (_, None) => " ".repeat(WEIGHT),
        };
        let text = text - column;
        format!("{}{weight}{scores}", pad(&fit(&prompt, text), text))
    });
}

/// The weights of a relation's prompts; empty if all are equal.
fn uneven(weights: &[f64]) -> &[f64] {
    let same = weights.iter().all(|w| (w - weights[0]).abs() < 1e-12);
    if same { &[] } else { weights }
}

/// The adjusted scores of a relation in one line; `None` before they are known.
fn adjusted(state: &State, id: &str, models: &[&str], (text, column): (usize, usize)) -> Option<String> {
    let found: Vec<_> = models.iter().map(|m| results(state).adjusted_of(id, m)).collect();
    let a = found.iter().copied().flatten().next().map(|a| &a.value)?;
    let names = if a.mentions > 1 { format!(", ≤ {} names", a.mentions) } else { String::new() };
    let what = format!("adjusted ({} weights): {}{names}", a.weights.name(), some_prompts(a.prompts));
    let score = |a: &Option<&Tagged<AdjustedFinding>>| match a {
        Some(a) => format!("{:>column$.1}", 100.0 * a.value.p_at_1.mean),
        None => format!("{:>column$}", "…"),
    };
    Some(format!("{}{}", pad(&fit(&what, text), text), found.iter().map(score).collect::<String>()))
}

/// Names of the models in `room` columns: in full, or without the parts that all share, or cut to the fewest letters that differ.
pub(crate) fn heads(models: &[&str], room: usize) -> Vec<String> {
    let names: Vec<String> = models.iter().map(|m| printable(last_part(m)).into_owned()).collect();
    let fits = |all: &[String]| all.iter().map(|name| width(name) + 1).max().unwrap_or(0) * all.len() <= room;
    if fits(&names) || names.len() < 2 {
        return names;
    }
    let shared = |part: &str| names.iter().all(|name| name.split('-').any(|other| other == part));
    let own = |name: &String| name.split('-').filter(|part| !shared(part)).collect::<Vec<_>>().join("-");
    let own: Vec<String> = names.iter().map(own).collect();
    let short = if own.iter().all(|name| !name.is_empty()) { own } else { names };
    if fits(&short) {
        return short;
    }
    let start = |name: &str, letters: usize| name.chars().take(letters).collect::<String>();
    let differ = |letters: &usize| {
        let starts: BTreeSet<String> = short.iter().map(|name| start(name, *letters)).collect();
        starts.len() == short.len()
    };
    let most = short.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let letters = (FEWEST..most).find(differ).unwrap_or(most);
    short.iter().map(|name| start(name, letters)).collect()
}
