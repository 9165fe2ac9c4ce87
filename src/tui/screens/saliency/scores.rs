//! Tables of accuracy, agreement with annotators and perturbed forms, and comparisons; every mean has its interval and n.

use ratatui::Frame;
use ratatui::layout::Rect;

use super::sentences::kind_in_full;
use super::{ID, results, table_of, view};
use crate::layout::inside;
use crate::panes::listing::{Listing, MARK};
use crate::panes::{message, pane_block, why_empty};
use crate::screen::Pane;
use crate::state::State;
use crate::theme::Role;
use base::numbers::{decimals, probability};
use base::text::{fit, last_part, pad, printable};
use labs::saliency::finding::{ALL, AccuracyFinding, CorrectnessFinding, Sample};
use labs::saliency::heatmap::short_method;
use labs::saliency::methods::named;
use stats::estimate::Estimate;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Table {
    /// Agreement over all perturbations.
    #[default]
    Interpretability,
    /// Agreement by kind of perturbation.
    Perturbations,
    Accuracy,
    Differences,
    /// Agreement by correctness of the answers.
    Correctness,
}

impl Table {
    fn title(self) -> &'static str {
        match self {
            Table::Interpretability => "Agreement with annotators and with perturbed forms",
            Table::Perturbations => "Agreement by perturbation",
            Table::Accuracy => "Right answers",
            Table::Differences => "Paired tests",
            Table::Correctness => "Agreement by right and wrong answers",
        }
    }

    /// Maximum number of columns that can be scrolled off.
    pub(crate) fn most_gone(self) -> usize {
        self.columns().len() - KEYS - 1
    }

    fn columns(self) -> &'static [&'static str] {
        match self {
            Table::Interpretability | Table::Perturbations => &[
                "model",
                "by",
                "dimension",
                "F1 (interval)",
                "rand",
                "n",
                "MAP (interval)",
                "rand",
                "PCC",
                "p<.05",
                "all",
                "MAP*",
                "F1Δ",
            ],
            Table::Accuracy => {
                &["model", "dimension", "inputs", "n", "Top-1 (interval)", "Top-3 (interval)", "Top-1 minus originals'"]
            }
            Table::Differences => &["a", "b", "metric", "a - b (interval)", "raw p", "n"],
            Table::Correctness => &[
                "model",
                "by",
                "answers",
                "F1 (interval)",
                "rand",
                "n",
                "F1-rand, right - wrong",
                "MAP (interval)",
                "rand",
                "MAP-rand, right - wrong",
                "PCC all",
            ],
        }
    }
}

fn metric_in_full(metric: &str) -> &str {
    match metric {
        "token_f1" => "token-F1",
        "map" => "MAP",
        "pcc" => "PCC",
        other => other,
    }
}

/// Number of key columns, which identify a row and stay visible when the others scroll.
const KEYS: usize = 3;

/// A table as text, each column as wide as its widest field.
struct Laid {
    header: String,
    rows: Vec<String>,
    /// Number of columns on the right that do not fit.
    beyond: usize,
}

fn mean(e: &Estimate) -> String {
    decimals(e.mean, 2)
}

fn span(e: &Estimate) -> String {
    format!("{} [{}, {}]", decimals(e.mean, 2), decimals(e.lo, 2), decimals(e.hi, 2))
}

/// Formats a difference between two groups, without an interval if a group has only one original.
fn signed(e: &Estimate) -> String {
    let [mean, lo, hi] = [e.mean, e.lo, e.hi].map(|x| decimals(x, 2));
    if e.half_width() >= 2.0 { format!("{mean} (no interval)") } else { format!("{mean} [{lo}, {hi}]") }
}

fn some(e: Option<&Estimate>, show: fn(&Estimate) -> String) -> String {
    e.map_or("n/a".into(), show)
}

pub(crate) fn rows(state: &State, table: Table) -> Vec<Vec<String>> {
    let found = results(state);
    let model = |name: &str| fit(&printable(last_part(name)), 12).into_owned();
    match table {
        Table::Interpretability | Table::Perturbations => {
            let by_kind = table == Table::Perturbations;
            let shown = found.interpretability.iter().filter(|f| (f.value.perturbation != ALL) == by_kind);
            shown
                .map(|f| {
                    let v = &f.value;
                    let dimension = if by_kind {
                        format!("{} {}", v.dimension, kind_in_full(&v.perturbation))
                    } else {
                        v.dimension.clone()
                    };
                    vec![
                        model(&f.model),
                        short_method(&v.method).to_owned(),
                        dimension,
                        some(v.token_f1.as_ref(), span),
                        some(v.random_f1.as_ref(), mean),
                        f.n.to_string(),
                        some(v.map.as_ref(), span),
                        some(v.random_map.as_ref(), mean),
                        some(v.pcc.as_ref(), mean),
                        format!("{}/{}", v.pcc_kept, v.pcc_total),
                        some(v.pcc_all.as_ref(), mean),
                        some(v.map_star.as_ref(), mean),
                        some(v.f1_delta.as_ref(), mean),
                    ]
                })
                .collect()
        }
        Table::Accuracy => {
            let row = |f: &labs::Tagged<AccuracyFinding>| {
                let v = &f.value;
                let inputs = if v.perturbation == ALL { &v.sample } else { kind_in_full(&v.perturbation) };
                let (top1, top3) = (span(&v.top1), span(&v.top3));
                let change = v.change.as_ref().map_or(String::new(), span);
                vec![model(&f.model), v.dimension.clone(), inputs.to_owned(), f.n.to_string(), top1, top3, change]
            };
            // Each kind of perturbation has a row with its change from the originals, so these originals have no separate row.
            let beside = |v: &AccuracyFinding| v.sample == Sample::Original.name() && v.perturbation != ALL;
            found.accuracy.iter().filter(|f| !beside(&f.value)).map(row).collect()
        }
        Table::Differences => {
            let row = |f: &labs::Tagged<labs::saliency::finding::DifferenceFinding>| {
                let v = &f.value;
                let (difference, p) = (span(&v.difference), probability(v.p));
                // A side is a model and a method.
                let side = |side: &str| match side.rsplit_once(' ') {
                    Some((model, method)) => format!("{} {}", last_part(model), short_method(method)),
                    None => side.to_owned(),
                };
                vec![side(&v.a), side(&v.b), metric_in_full(&v.metric).into(), difference, p, f.n.to_string()]
            };
            found.differences.iter().map(row).collect()
        }
        Table::Correctness => {
            let row = |f: &labs::Tagged<CorrectnessFinding>| {
                let (v, answers) = (&f.value.numbers, f.value.answers.name());
                let gap = |e: &Option<Estimate>| e.as_ref().map_or(String::new(), signed);
                vec![
                    model(&f.model),
                    short_method(&v.method).to_owned(),
                    format!("{} {answers}", v.dimension),
                    some(v.token_f1.as_ref(), span),
                    some(v.random_f1.as_ref(), mean),
                    f.n.to_string(),
                    gap(&f.value.f1_gap),
                    some(v.map.as_ref(), span),
                    some(v.random_map.as_ref(), mean),
                    gap(&f.value.map_gap),
                    some(v.pcc_all.as_ref(), mean),
                ]
            };
            found.by_answers().into_iter().map(row).collect()
        }
    }
}

pub(crate) fn about(pane: Pane) -> &'static str {
    match table_of(pane) {
        Some(Table::Perturbations) => {
            "Kinds of change: dispensable (unimportant words changed), important (important words changed), transformed (same meaning, other form)."
        }
        Some(Table::Accuracy) => "Share of right answers of each model, by task.",
        Some(Table::Differences) => "Paired comparisons of methods and models.",
        Some(Table::Correctness) => {
            "Agreement for inputs answered right and wrong, and for pairs with one right answer; the dimension comes first."
        }
        _ => {
            "Token-F1: overlap with annotators' words; MAP, PCC: stability of ranking and scores when words change; rand: the same for a random ranking."
        }
    }
}

/// Lays out the current table in a width; columns are shown completely or not at all.
fn laid(state: &State, room: usize) -> Laid {
    let (table, rows) = (view(state).table, rows(state, view(state).table));
    let heads: Vec<String> = table.columns().iter().map(|c| (*c).to_owned()).collect();
    let rows: Vec<Vec<String>> =
        rows.into_iter().map(|r| r.into_iter().map(|f| printable(&f).into_owned()).collect()).collect();
    let wide = |c: usize| {
        let fields = rows.iter().chain([&heads]).map(|r| base::text::width(&r[c]));
        fields.max().unwrap_or(0).min(26)
    };
    let widths: Vec<usize> = (0..heads.len()).map(wide).collect();
    let gone = view(state).columns_gone.min(table.most_gone());
    let stays = |c: usize| c < KEYS || c >= KEYS + gone;
    let ends = widths.iter().enumerate().scan(0, |end, (c, w)| {
        *end += if stays(c) { w + 1 } else { 0 };
        Some(*end)
    });
    // The key columns and the first one after them are always shown, because the table would be useless without them.
    let fit = ends.take_while(|end| *end <= room + 1).count().max(KEYS + gone + 1);
    let line = |row: &Vec<String>| {
        let fields = row.iter().zip(&widths).take(fit).enumerate().filter(|(c, _)| stays(*c));
        let fields: Vec<String> = fields.map(|(_, (f, w))| pad(f, *w)).collect();
        fields.join(" ").trim_end().to_owned()
    };
    Laid { header: line(&heads), rows: rows.iter().map(line).collect(), beyond: widths.len() - fit }
}

/// The table as tab-separated text with unrounded numbers.
pub(crate) fn copy(state: &State) -> Option<String> {
    let (table, rows) = (view(state).table, rows(state, view(state).table));
    let lines = std::iter::once(table.columns().join("\t")).chain(rows.iter().map(|r| r.join("\t")));
    (!rows.is_empty()).then(|| lines.map(|l| l + "\n").collect())
}

/// The abbreviations of the methods in a table: `: ATT attention, IG integrated gradients`; empty for a table without them.
fn methods(state: &State, table: Table) -> String {
    if !table.columns().contains(&"by") {
        return String::new();
    }
    let all = results(state).methods().into_iter().filter_map(named).map(|m| format!("{} {}", m.short(), m.title()));
    let all: Vec<String> = all.collect();
    if all.is_empty() { String::new() } else { format!(": {}", all.join(", ")) }
}

pub(crate) fn draw(frame: &mut Frame, area: Rect, state: &State, pane: Pane) {
    let room = usize::from(area.width.saturating_sub(6));
    let level = results(state).interpretability.first().and_then(|i| i.level);
    let level =
        level.map_or(String::new(), |l| format!(", {}", figure::layers::Intervals::covering(l, "originals").wide));
    let k = results(state).data.as_ref().map_or(String::new(), |d| format!(", {}", d.value.k));
    let inner = inside(area);
    let laid = laid(state, usize::from(inner.width.saturating_sub(MARK)));
    let more = match laid.beyond {
        0 => String::new(),
        1 => format!(", {} +1 column", state.keymap.short_label("right")),
        n => format!(", {} +{n} columns", state.keymap.short_label("right")),
    };
    // Notes on the whole table are dropped before notes on the view.
    let title = view(state).table.title();
    let by = methods(state, view(state).table);
    let titles = [
        format!("{title}{by}{level}{k}{more}"),
        format!("{title}{by}{level}{more}"),
        format!("{title}{by}{more}"),
        format!("{}{more}", by.trim_start_matches([':', ' '])),
        format!("{title}{more}"),
    ];
    let fits = |t: &&String| !t.is_empty() && !t.starts_with(',') && base::text::width(t) <= room;
    let title = titles.iter().find(fits).unwrap_or(&titles[4]);
    frame.render_widget(pane_block(state, pane, &fit(&printable(title), room)), area);
    if laid.rows.is_empty() {
        let text = match results(state).sentences.is_empty() {
            true => why_empty(state, "scores"),
            false => "Appears once all sentences have been scored.".into(),
        };
        return message(frame, inner, &text, state.theme().style(Role::Dim));
    }
    let listing = Listing { len: laid.rows.len(), cursor: state.place(ID).scrolled(pane) };
    listing.draw(frame, inner, state, &laid.header, |k| laid.rows[k].clone());
}
