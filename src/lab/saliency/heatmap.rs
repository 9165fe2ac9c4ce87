//! Scores of tokens as strips of coloured words, and the attention of all heads as a table of cells.

use std::collections::BTreeSet;

use super::figures::provenance;
use super::finding::{AttentionFinding, SaliencyFinding, Sample, SentenceFinding};
use super::methods::named;
use super::results::Results;
use super::spec::Direction;
use crate::base::text::{last_part, printable_label, shortened};
use crate::corpus::rationales::align;
use crate::figure::layers::{Cell, Cells, Shades, Strip, Token, Tokens};
use crate::figure::{Axis, Figure, Layer, Provenance};
use crate::lab::{EngineInfo, Tagged};

/// Longest title, in characters.
const TITLE: usize = 90;
/// Longest name of a strip, in characters.
const LABEL: usize = 18;

/// A method of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// Name of the model.
    pub model: String,
    /// Identifier of the method.
    pub method: String,
}

/// A sentence as it is drawn.
#[derive(Debug, Clone)]
pub struct Side<'a> {
    /// What it is called.
    pub name: String,
    /// The sentence.
    pub sentence: &'a SentenceFinding,
    /// Its scores, one for each choice; none where they have not been computed.
    pub rows: Vec<Option<&'a Tagged<SaliencyFinding>>>,
    /// The rationale that is underlined.
    pub gold: BTreeSet<usize>,
}

impl<'a> Side<'a> {
    /// A sentence of the data with all that counts as its rationale.
    #[must_use]
    pub fn new(sentence: &'a SentenceFinding, rows: Vec<Option<&'a Tagged<SaliencyFinding>>>) -> Self {
        let name = match (sentence.sample, &sentence.perturbation) {
            (Sample::Original, _) => "original".to_owned(),
            (Sample::Perturbed, Some(kind)) => kind.clone(),
            (Sample::Perturbed, None) => "perturbed".into(),
            (Sample::Own, _) => "typed".into(),
        };
        let gold = sentence.gold.iter().flatten().copied().collect();
        Self { name, sentence, rows, gold }
    }
}

/// A method in a few letters.
#[must_use]
pub fn short_method(method: &str) -> &str {
    named(method).map_or(method, |m| m.short())
}

/// A method in words.
fn method_title(method: &str) -> &str {
    named(method).map_or(method, |m| m.title())
}

/// Which words of an original stand over which of its partner: the benchmark's pairs, or else those of a longest common
/// subsequence.
#[must_use]
pub fn pairs(original: &SentenceFinding, partner: &SentenceFinding) -> Vec<(usize, usize)> {
    partner.alignment.clone().unwrap_or_else(|| align(&original.words, &partner.words))
}

/// Sentences under one another, each by every choice: all sides of the first choice, then those of the second. Two sides are
/// aligned by `pairs`; scores of several methods, which have scales of their own, are shares of the largest of their method.
#[must_use]
pub fn tokens(choices: &[Choice], sides: &[Side<'_>], pairs: &[(usize, usize)]) -> Tokens {
    let methods: BTreeSet<&str> = choices.iter().map(|c| c.method.as_str()).collect();
    let models: BTreeSet<&str> = choices.iter().map(|c| c.model.as_str()).collect();
    let shares = methods.len() > 1;
    let mut strips = Vec::new();
    for (k, choice) in choices.iter().enumerate() {
        let scores =
            sides.iter().filter_map(|s| s.rows.get(k).copied().flatten()).flat_map(|r| &r.value.scores);
        let largest = scores.map(|s| f64::from(s.abs())).filter(|s| s.is_finite()).fold(0.0, f64::max);
        let unit = if shares && largest > 0.0 { largest } else { 1.0 };
        for side in sides {
            let label = label(choice, &side.name, (models.len() > 1, methods.len() > 1));
            strips.push(strip(label, side, k, unit));
        }
    }
    let label = match (shares, choices.first()) {
        (true, _) => "share of the method's largest score".to_owned(),
        (false, Some(choice)) => method_title(&choice.method).to_owned(),
        (false, None) => String::new(),
    };
    Tokens { strips, pairs: if sides.len() == 2 { pairs.to_vec() } else { Vec::new() }, bound: None, label }
}

/// The name of a strip: of model and method what differs between strips, and the side.
fn label(choice: &Choice, side: &str, (models, methods): (bool, bool)) -> String {
    let method = short_method(&choice.method);
    let after = if models && methods { method } else { side };
    let room = LABEL.saturating_sub(after.chars().count() + 1);
    let model: String = last_part(&choice.model).chars().take(room).collect();
    match (models, methods) {
        (true, _) => format!("{model} {after}"),
        (false, true) => format!("{method} {side}"),
        (false, false) => side.to_owned(),
    }
}

fn strip(label: String, side: &Side<'_>, choice: usize, unit: f64) -> Strip {
    let row = side.rows.get(choice).copied().flatten().map(|r| &r.value);
    let top: &[usize] = row.map_or(&[], |r| &r.ranking[..r.k.min(r.ranking.len())]);
    let token = |(at, word): (usize, &String)| {
        let score = row.filter(|r| !r.excluded.contains(&at)).and_then(|r| r.scores.get(at));
        Token {
            text: word.clone(),
            score: score.map(|s| f64::from(*s) / unit),
            gold: side.gold.contains(&at),
            top: top.contains(&at),
        }
    };
    let doubt = row.filter(|r| r.complete == Some(false)).map(|r| {
        let gap = r.gap.map_or("n/a".to_owned(), |gap| format!("{:.0} %", 100.0 * gap));
        format!("incomplete by {gap}")
    });
    Strip { label, tokens: side.sentence.words.iter().enumerate().map(token).collect(), doubt }
}

/// Strips as a figure.
#[must_use]
pub fn figure(
    (results, engine): (&Results, Option<&EngineInfo>),
    choices: &[Choice],
    sides: &[Side<'_>],
    pairs: &[(usize, usize)],
) -> Option<Figure> {
    let first = sides.first()?;
    let sentence = first.sentence;
    let name = match choices {
        [one] => format!("heatmap-{}-{}-{}", last_part(&one.model), one.method, sentence.sentence),
        _ => format!("heatmap-{}", sentence.sentence),
    };
    let models: BTreeSet<&str> = choices.iter().map(|c| last_part(&c.model)).collect();
    let methods: BTreeSet<&str> = choices.iter().map(|c| method_title(&c.method)).collect();
    let join = |all: BTreeSet<&str>| all.into_iter().collect::<Vec<_>>().join(", ");
    let title = format!("{} of {}: {}", join(methods), join(models), shortened(&sentence.text, TITLE));
    let layers = vec![Layer::Tokens(tokens(choices, sides, pairs))];
    let behind = sides.iter().flat_map(|s| &s.rows).flatten().next();
    let mut provenance = behind.map_or_else(Provenance::default, |row| provenance(row, engine));
    let data = results.data.iter();
    provenance
        .entries
        .extend(data.map(|d| ("data".to_owned(), format!("{} {}", d.value.source, d.value.sha256))));
    for row in sides.iter().flat_map(|s| &s.rows).flatten() {
        let v = &row.value;
        if let (Some(gap), Some(steps)) = (v.gap, v.steps) {
            let what = format!("{} {} {}", row.model, v.method, v.sentence);
            provenance.entries.push((what, format!("completeness error {gap:.4} with {steps} steps")));
        }
    }
    Some(Figure { name, title, layers, provenance, ..Figure::default() })
}

/// Attention between the mask and one word in every head: layers from the first on top, heads from the left.
#[must_use]
pub fn heads(
    engine: Option<&EngineInfo>,
    attention: &Tagged<AttentionFinding>,
    word: usize,
) -> Option<Figure> {
    let v = &attention.value;
    let text = v.words.get(word)?;
    let count = v.scores.iter().map(Vec::len).max().unwrap_or(0);
    let value = |layer: &[Vec<f32>], head: usize| layer.get(head).and_then(|h| h.get(word)).copied();
    let cell = |layer: &Vec<Vec<f32>>, head| {
        value(layer, head).map_or(Cell::default(), |weight| Cell::from(f64::from(weight)))
    };
    let rows: Vec<Vec<Cell>> = v.scores.iter().map(|l| (0..count).map(|h| cell(l, h)).collect()).collect();
    let top = rows.iter().flatten().filter_map(|c| c.value).filter(|w| w.is_finite()).fold(0.0, f64::max);
    let text = printable_label(text);
    let label = match v.direction {
        Direction::FromMask => format!("attention of [MASK] to {text}"),
        Direction::ToMask => format!("attention of {text} to [MASK]"),
    };
    let names = |what: &str, n: usize| (1..=n).map(|k| format!("{what}{k}")).collect::<Vec<_>>();
    let cells = Cells {
        label: label.clone(),
        shades: Shades::Rising,
        range: (0.0, if top > 0.0 { top } else { 1.0 }),
        numbers: true,
        rows,
    };
    Some(Figure {
        name: format!("heads-{}-{}", last_part(&attention.model), v.sentence),
        title: format!("{}: {label}", last_part(&attention.model)),
        x: Axis::of("head", names("", count)),
        y: Axis::of("layer", names("", v.scores.len())),
        layers: vec![Layer::Cells(cells)],
        provenance: provenance(attention, engine),
    })
}
