//! Token scores as strips of coloured words, and the attention of all heads as a table of cells.

use std::collections::BTreeSet;
use std::ops::Range;

use super::figures::{RATIONALE, provenance};
use super::finding::{AttentionFinding, SaliencyFinding, Sample, SentenceFinding};
use super::methods::named;
use super::results::Results;
use super::spec::Direction;
use base::text::{last_part, printable_label, shortened};
use corpus::rationales::align;
use figure::layers::{Cell, Cells, Shades, Strip, Token, Tokens};
use figure::{Axis, Figure, Layer, Provenance};
use lab::{EngineInfo, Tagged};

/// Maximum length of a title, in characters.
const TITLE: usize = 90;
/// Maximum length of a strip's name, in characters.
const LABEL: usize = 18;

/// A method, and the model to which it is applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    pub model: String,
    pub method: String,
}

#[derive(Debug, Clone)]
pub struct Side<'a> {
    pub name: String,
    pub sentence: &'a SentenceFinding,
    /// The displayed words: the sentence's own, or an annotator's if the annotator has moved the mask.
    pub words: &'a [String],
    /// The scores for each choice; `None` if not computed.
    pub rows: Vec<Option<&'a Tagged<SaliencyFinding>>>,
    /// The underlined rationale.
    pub gold: BTreeSet<usize>,
}

impl<'a> Side<'a> {
    /// A side that shows a sentence of the data with all its gold rationales.
    pub fn new(sentence: &'a SentenceFinding, rows: Vec<Option<&'a Tagged<SaliencyFinding>>>) -> Self {
        let name = match (sentence.sample, &sentence.perturbation) {
            (Sample::Original, _) => "original".to_owned(),
            (Sample::Perturbed, Some(kind)) => kind.clone(),
            (Sample::Perturbed, None) => "perturbed".into(),
            (Sample::Own, _) => "typed".into(),
        };
        let gold = sentence.gold.iter().flatten().copied().collect();
        Self { name, sentence, words: &sentence.words, rows, gold }
    }
}

pub fn short_method(method: &str) -> &str {
    named(method).map_or(method, |m| m.short())
}

fn method_title(method: &str) -> &str {
    named(method).map_or(method, |m| m.title())
}

/// Aligned words of an original and its partner: the benchmark's pairs, or else the pairs of a longest common subsequence.
pub fn pairs(original: &SentenceFinding, partner: &SentenceFinding) -> Vec<(usize, usize)> {
    partner.alignment.clone().unwrap_or_else(|| align(&original.words, &partner.words))
}

/// Strips for all sides with the first choice, then with the second, and so on.
///
/// `pairs` aligns two sides. With several methods, whose scales differ, scores are divided by the method's largest score.
pub fn tokens(choices: &[Choice], sides: &[Side<'_>], pairs: &[(usize, usize)]) -> Tokens {
    let methods: BTreeSet<&str> = choices.iter().map(|c| c.method.as_str()).collect();
    let models: BTreeSet<&str> = choices.iter().map(|c| c.model.as_str()).collect();
    let shares = methods.len() > 1;
    let mut strips = Vec::new();
    for (k, choice) in choices.iter().enumerate() {
        let scores = sides.iter().filter_map(|s| s.rows.get(k).copied().flatten()).flat_map(|r| &r.value.scores);
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

/// The name of a strip: the side, and the model and method if strips differ in them.
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
    Strip { label, tokens: side.words.iter().enumerate().map(token).collect(), doubt }
}

/// Explanations of legend entries, for the caption. `shares` is true if scores are divided by the method's largest score.
fn words(shares: bool) -> [(String, String); 3] {
    let by = if shares { ", divided by the largest absolute weight of the method on these sentences" } else { "" };
    let score = format!(
        "the number below a word: the weight that the method gives to it{by}; a triangle marks the K highest scores, a dashed edge scores below 0"
    );
    [
        ("score", score.as_str()),
        ("gold rationale", RATIONALE),
        ("K", "the usual length of a rationale in a sentence of this length"),
    ]
    .map(|(name, meaning)| (name.to_owned(), meaning.to_owned()))
}

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
    let methods_named = figure::capital(&join(methods.clone()));
    let title = format!("{methods_named} of {}: {}", join(models), shortened(&sentence.text, TITLE));
    let layers = vec![Layer::Tokens(tokens(choices, sides, pairs))];
    let behind = sides.iter().flat_map(|s| &s.rows).flatten().next();
    let mut provenance =
        behind.map_or_else(Provenance::default, |row| provenance(row, engine, words(methods.len() > 1)));
    // Explanations of the short row names.
    let mut rows: BTreeSet<String> = choices
        .iter()
        .filter(|_| methods.len() > 1)
        .map(|c| format!("{} is {}", short_method(&c.method), method_title(&c.method)))
        .collect();
    let partners = sides.iter().filter(|s| s.sentence.sample == Sample::Perturbed);
    let after = |s: &Side<'_>| {
        let how = match s.sentence.perturbation.as_deref() {
            Some("dispens") => "with unimportant words inserted, deleted or replaced",
            Some("import") => "with important words replaced by related ones",
            Some("trans") => "in a different syntactic form with the same meaning",
            _ => "after a change of its words",
        };
        format!("{} is the original {how}", s.name)
    };
    rows.extend(partners.map(after));
    if !rows.is_empty() {
        provenance.entries.push(("rows".into(), join(rows.iter().map(String::as_str).collect())));
    }
    if sides.len() > 1 {
        let counts = sides.iter().map(|s| format!("{} words ({})", s.words.len(), s.name));
        provenance.entries.retain(|(key, _)| key != "n");
        provenance.entries.insert(0, ("n".into(), counts.collect::<Vec<_>>().join(", ")));
    }
    let data = results.data.iter();
    provenance.entries.extend(data.map(|d| ("data".to_owned(), format!("{} {}", d.value.source, d.value.sha256))));
    for row in sides.iter().flat_map(|s| &s.rows).flatten() {
        let v = &row.value;
        if let (Some(gap), Some(steps)) = (v.gap, v.steps) {
            let what = format!(
                "{gap:.4} of {} on {}, sentence {}, {steps} steps",
                short_method(&v.method),
                last_part(&row.model),
                v.sentence
            );
            provenance.entries.push(("completeness error".into(), what));
        }
    }
    Some(Figure { name, title, layers, provenance, ..Figure::default() })
}

/// Part of a table of heads, given by ranges of layers and heads (from 0), with the shading of the whole table.
pub fn heads_part(table: &Figure, layers: &Range<usize>, heads: &Range<usize>) -> Figure {
    let mut part = table.clone();
    for layer in &mut part.layers {
        if let Layer::Cells(cells) = layer {
            let rows = cells.rows.get(layers.clone()).unwrap_or_default();
            cells.rows = rows.iter().map(|row| row.get(heads.clone()).unwrap_or_default().to_vec()).collect();
        }
    }
    let names = |shown: &Range<usize>| shown.clone().map(|k| (k + 1).to_string()).collect::<Vec<_>>();
    (part.x, part.y) = (Axis::of("head", names(heads)), Axis::of("layer", names(layers)));
    part
}

/// Attention between the mask and one word in every head, with layers from top to bottom and heads from left to right.
pub fn heads(engine: Option<&EngineInfo>, attention: &Tagged<AttentionFinding>, word: usize) -> Option<Figure> {
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
    let names = |n: usize| (1..=n).map(|k| k.to_string()).collect::<Vec<_>>();
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
        x: Axis::of("head", names(count)),
        y: Axis::of("layer", names(v.scores.len())),
        layers: vec![Layer::Cells(cells)],
        provenance: provenance(attention, engine, []),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sentence::own;

    fn sentence(text: &str, gold: &[usize]) -> SentenceFinding {
        let known = own(text, Some("are")).unwrap();
        SentenceFinding { sentence: "7".into(), sample: Sample::Original, gold: vec![gold.to_vec()], ..known }
    }

    fn row(of: &SentenceFinding, method: &str, scores: &[f32], gap: Option<f64>) -> Tagged<SaliencyFinding> {
        let mut ranking: Vec<usize> = (0..scores.len()).filter(|w| !of.masks.contains(w)).collect();
        ranking.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
        let value = SaliencyFinding {
            sentence: of.sentence.clone(),
            dimension: of.dimension.clone(),
            sample: of.sample,
            perturbation: None,
            method: method.into(),
            tokens: of.words.clone(),
            scores: scores.to_vec(),
            excluded: of.masks.clone(),
            ranking,
            k: 2,
            subwords: Vec::new(),
            target: "are".into(),
            token_f1: Some(0.5),
            gap,
            steps: gap.map(|_| 800),
            complete: gap.map(|g| g <= 0.05),
            sufficiency: None,
            comprehensiveness: None,
            sensitivity: None,
        };
        tagged(value)
    }

    fn tagged<T>(value: T) -> Tagged<T> {
        let (spec, model) = (String::new(), "folder/bert-mini".to_owned());
        Tagged { spec, model, seed: 0, n: 1, is_final: true, t: 0.0, level: None, value }
    }

    fn choice(method: &str) -> Choice {
        Choice { model: "folder/bert-mini".into(), method: method.into() }
    }

    #[test]
    fn heatmap_words_have_scores_and_marks() {
        let of = sentence("The dogs [MASK] here .", &[1]);
        let found = row(&of, "integrated_gradients", &[0.1, 0.4, 9.0, -0.8, 0.0], Some(0.21));
        let sides = [Side::new(&of, vec![Some(&found)])];
        let strips = tokens(&[choice("integrated_gradients")], &sides, &[(0, 0)]);
        assert!(strips.pairs.is_empty(), "a single sentence needs no alignment");
        assert_eq!(strips.label, "integrated gradients");
        let [strip] = &strips.strips[..] else { panic!("{strips:?}") };
        assert_eq!((strip.label.as_str(), strip.doubt.as_deref()), ("original", Some("incomplete by 21 %")));
        let scores: Vec<Option<f32>> = strip.tokens.iter().map(|t| t.score.map(|s| s as f32)).collect();
        assert_eq!(scores, [Some(0.1), Some(0.4), None, Some(-0.8), Some(0.0)], "the mask has no score");
        let marked = |of: fn(&Token) -> bool| -> Vec<usize> { (0..5).filter(|w| of(&strip.tokens[*w])).collect() };
        assert_eq!((marked(|t| t.gold), marked(|t| t.top)), (vec![1], vec![0, 1]));
    }

    #[test]
    fn compared_methods_are_scaled_by_their_largest_score() {
        let of = sentence("The dogs [MASK] here .", &[]);
        let (a, b) = (
            row(&of, "attention", &[0.1, 0.2, 0.0, 0.05, 0.0], None),
            row(&of, "integrated_gradients", &[2.0, -4.0, 0.0, 1.0, 0.0], Some(0.01)),
        );
        let choices = [choice("attention"), choice("integrated_gradients")];
        let sides = [Side::new(&of, vec![Some(&a), Some(&b)])];
        let strips = tokens(&choices, &sides, &[]);
        let labels: Vec<&str> = strips.strips.iter().map(|s| s.label.as_str()).collect();
        assert_eq!(labels, ["ATT original", "IG original"]);
        let largest = |s: &Strip| s.tokens.iter().filter_map(|t| t.score).fold(0.0f64, |m, s| m.max(s.abs()));
        assert!(strips.strips.iter().all(|s| (largest(s) - 1.0).abs() < 1e-9 && s.doubt.is_none()));
        let told = figure((&Results::default(), None), &choices, &sides, &[]).unwrap();
        assert_eq!(told.name, "heatmap-7");
        assert!(told.title.starts_with("Attention, integrated gradients of bert-mini: The dogs"), "{}", told.title);
        let gaps = told.provenance.entries.iter().filter(|(_, v)| v.starts_with("0.0100 of"));
        assert_eq!(gaps.count(), 1);
    }

    #[test]
    fn partners_are_aligned_by_data_or_words() {
        let original = sentence("The dogs [MASK] here .", &[]);
        let mut partner = sentence("The old dogs [MASK] here .", &[]);
        assert_eq!(pairs(&original, &partner), [(0, 0), (1, 2), (2, 3), (3, 4), (4, 5)]);
        partner.alignment = Some(vec![(0, 1)]);
        assert_eq!(pairs(&original, &partner), [(0, 1)]);
    }

    #[test]
    fn part_of_the_heads_keeps_labels_and_shades() {
        let scores: Vec<Vec<Vec<f32>>> =
            (0..12).map(|l| (0..12).map(|h| vec![0.0, (l * 12 + h) as f32 / 144.0]).collect()).collect();
        let attention = tagged(AttentionFinding {
            sentence: "7".into(),
            words: ["[MASK]", "dogs"].map(str::to_owned).to_vec(),
            excluded: vec![0],
            direction: Direction::FromMask,
            scores,
        });
        assert!(heads(None, &attention, 2).is_none(), "no such word");
        let whole = heads(None, &attention, 1).unwrap();
        let part = heads_part(&whole, &(5..9), &(2..4));
        let cells = |f: &Figure| match &f.layers[0] {
            Layer::Cells(cells) => cells.clone(),
            other => panic!("{other:?}"),
        };
        assert_eq!(cells(&part).range, cells(&whole).range);
        let shape: Vec<usize> = cells(&part).rows.iter().map(Vec::len).collect();
        assert_eq!(shape, [2; 4]);
        assert_eq!(cells(&part).rows[0][0].value, cells(&whole).rows[5][2].value);
        assert_eq!(part.y.categories, ["6", "7", "8", "9"]);
    }
}
