//! Scores of a built-in model: agreement, grammatical numbers decoded from the last layer by a linear rule, other constructions, and recall
//! of facts.

use std::collections::HashSet;

use rand_chacha::rand_core::Rng;

use super::benchmark;
use super::linear::Discriminant;
use super::reads;
use super::summary::summary;
use base::Cancelled;
use corpus::facts::{Fact, Relation};
use corpus::micro::{Annotated, Construction, Side};
use corpus::{Example, Frequencies, Property, Task, facts};
use pretraining::ask::{Asked, Question};
use pretraining::mixture::Mixture;
use pretraining::recall::{Asking, RelationRecall, Tally, recall};
use pretraining::score::{LEVEL, Score};
use pretraining::splits::{FactUse, FactUses, Judgement};
use pretraining::{GalleryError, Result};
use stats::intervals::wilson;
use stats::rng::stream;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// Number of sentences for each agreement score.
    pub agreement: usize,
    /// Number of sentences from which the linear rules are trained.
    pub learn: usize,
    /// Number of sentences on which the linear rules are evaluated.
    pub judge: usize,
    /// Number of sentences drawn for each other construction; duplicates count once.
    pub other: usize,
    /// Number of relations to query.
    pub relations: usize,
}

impl Default for Sizes {
    fn default() -> Self {
        Self { agreement: 4_000, learn: 8_000, judge: 4_000, other: 2_000, relations: usize::MAX }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    pub scores: Vec<Score>,
    pub facts: Vec<RelationRecall>,
}

/// An agreement score on examples with these relative frequencies: rows are subject numbers (Sg, Pl), columns attractors (none, Sg, Pl).
struct Condition {
    id: &'static str,
    what: &'static str,
    cells: [[f64; 3]; 2],
}

const CONDITIONS: [Condition; 3] = [
    Condition {
        id: "agreement_none",
        what: "agreement without an attractor (both numbers equally often)",
        cells: [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]],
    },
    Condition {
        id: "agreement_same",
        what: "agreement with an attractor in the subject's number",
        cells: [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
    },
    Condition {
        id: "agreement_opposing",
        what: "agreement with an attractor in the other number",
        cells: [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]],
    },
];

/// Called between parts with the number of finished parts and the total number; an error stops the work.
pub(crate) type Beat<'a> = &'a mut dyn FnMut(usize, usize) -> std::result::Result<(), Cancelled>;

/// Number of parts before the relations, not counting the part for encoder-decoders.
const PARTS: usize = 5 + 7;

/// Measures all scores on one half of the test material.
///
/// # Errors
/// Returns errors of the model and the corpus, and [`GalleryError::Cancelled`].
pub fn scores(
    asked: &Asked<'_>,
    seed: u64,
    sizes: Sizes,
    mixture: &Mixture,
    judgement: Judgement,
    beat: Beat<'_>,
) -> Result<Measured> {
    let relations: Vec<_> = facts::relations()?.into_iter().take(sizes.relations).collect();
    let total = PARTS + usize::from(asked.encoder_layers().is_some()) + relations.len();
    let mut done = 0;
    let mut next = || {
        done += 1;
        beat(done - 1, total)
    };
    // The sentences differ from those that a spec with the same seed requests.
    let seed = stream(seed, "gallery scores").next_u64();
    let mut scores = Vec::new();
    let uses = FactUses::new()?;
    let task = Task::named("agreement")?;
    for condition in CONDITIONS {
        next()?;
        let frequencies = Frequencies::from_cells(condition.cells)?;
        let set = examples(task, sizes.agreement, seed, &frequencies, judgement)?;
        scores.push(score(condition.id, condition.what, tally(agreement(asked, &set)?)));
    }
    let all = examples(task, sizes.learn + sizes.judge, seed, &Frequencies::balanced(), judgement)?;
    let linears = [("subject_linear", "subject"), ("attractor_linear", "attractor")];
    for (property, (id, name)) in task.properties.iter().zip(linears) {
        next()?;
        scores.push(linear(asked, asked.layers(), &all, sizes.learn, property, (id, name))?);
    }
    if let Some(layer) = asked.encoder_layers() {
        next()?;
        let of = ("encoder_subject_linear", "subject");
        scores.push(linear(asked, layer, &all, sizes.learn, &task.properties[0], of)?);
        scores.extend(reads::scores(asked, mixture, &trained(&relations, &uses, judgement))?);
    }
    for construction in [
        Construction::Tense,
        Construction::Order,
        Construction::Coordination,
        Construction::Lengths,
        Construction::Causes,
    ] {
        next()?;
        scores.extend(constructions(asked, construction, judgement, seed, sizes.other)?);
    }
    next()?;
    for (side, id, what) in [
        (Side::Train, "arithmetic_trained", "arithmetic: first answer to trained sums and differences"),
        (Side::Held, "arithmetic_held", "arithmetic: first answer to held-out sums and differences"),
    ] {
        scores.push(score(id, what, arithmetic(asked, side, judgement, seed, sizes.other)?));
    }
    next()?;
    scores.extend(benchmark::scores(asked, judgement)?);
    let asking = Asking { uses: &uses, fact_use: FactUse::Trained, mixture: Some(mixture), judgement: Some(judgement) };
    let mut recalled = Vec::with_capacity(relations.len());
    for relation in &relations {
        next()?;
        recalled.push(recall(asked, relation, asking)?);
    }
    beat(total, total)?;
    scores.extend(summary(&recalled));
    Ok(Measured { scores, facts: recalled.into_iter().map(|r| r.relation).collect() })
}

/// The relations, reduced to trained facts in one half.
fn trained(relations: &[Relation], uses: &FactUses, judgement: Judgement) -> Vec<Relation> {
    let with = |r: &Relation| {
        let is_asked = |f: &&Fact| uses.of(r, f) == FactUse::Trained && judgement.holds_fact(r, f);
        Relation { facts: r.facts.iter().filter(is_asked).cloned().collect(), ..r.clone() }
    };
    relations.iter().map(with).collect()
}

/// Draws `n` examples from one half of the held-out pairs; fewer if a draw three times as large does not contain enough.
fn examples(task: &Task, n: usize, seed: u64, frequencies: &Frequencies, judgement: Judgement) -> Result<Vec<Example>> {
    let mut all = task.examples(3 * n, seed, frequencies)?.examples;
    all.retain(|e| judgement.holds_example(e));
    all.truncate(n);
    Ok(all)
}

pub(super) fn score(id: &str, what: &str, t: Tally) -> Score {
    Score { id: id.into(), what: what.into(), share: wilson(t.hits, t.n, LEVEL), n: t.n }
}

fn tally(right: Vec<bool>) -> Tally {
    Tally { hits: right.iter().filter(|&&r| r).count() as u64, n: right.len() as u64 }
}

/// For each example, true if the correct form has the larger logit of the two.
fn agreement(asked: &Asked<'_>, examples: &[Example]) -> Result<Vec<bool>> {
    let id = |form: &str| {
        asked.word(form, false).ok_or_else(|| GalleryError::Score(format!("'{form}' is not a single token")))
    };
    let questions: Vec<Question> = examples.iter().map(Question::of_example).collect();
    let pair = |e: &Example| Ok((id(&e.forms[usize::from(e.zc)])?, id(&e.forms[1 - usize::from(e.zc)])?));
    let pairs = examples.iter().map(pair).collect::<Result<Vec<_>>>()?;
    Ok(asked.choices(&questions, &pairs)?)
}

/// Accuracy of a linear rule for a grammatical number, after a given block.
fn linear(
    asked: &Asked<'_>,
    layer: usize,
    all: &[Example],
    learn: usize,
    property: &Property,
    (id, name): (&str, &str),
) -> Result<Score> {
    let labelled = |examples: &[Example]| -> (Vec<Question>, Vec<bool>) {
        examples.iter().filter_map(|e| Some((Question::of_example(e), property.of(e)? == 1))).unzip()
    };
    let (learn, judge) = all.split_at(learn.min(all.len()));
    let ((questions, labels), (other, expected)) = (labelled(learn), labelled(judge));
    let rule = Discriminant::learn(&asked.states_after(layer, &questions)?, &labels)
        .ok_or_else(|| GalleryError::Score(format!("{name} number does not vary in {} examples", questions.len())))?;
    let right =
        asked.states_after(layer, &other)?.iter().zip(&expected).map(|(h, l)| rule.is_positive(h) == *l).collect();
    let of = if layer < asked.layers() { ", the encoder's last" } else { "" };
    let what = format!("{name} number decoded by a linear rule from layer {layer}{of} (both numbers equally often)");
    Ok(score(id, &what, tally(right)))
}

/// Distinct sentences on which this model can be tested; on the held-out side, only those of one half.
fn sentences(
    asked: &Asked<'_>,
    c: Construction,
    side: Side,
    judgement: Judgement,
    seed: u64,
    n: usize,
) -> Vec<Annotated> {
    let mut rng = stream(seed, "gallery constructions");
    let mut seen = HashSet::new();
    let drawn = if side == Side::Held { 2 * n } else { n };
    (0..drawn)
        .map(|_| c.sentence(side, Frequencies::balanced(), &mut rng))
        .filter(|s| side == Side::Train || judgement.holds_sentence(c, s))
        .filter(|s| (s.settled_before || !asked.is_causal()) && seen.insert(s.text()))
        .collect()
}

/// Compares the right word with the wrong one on held-out combinations. Empty if this model cannot be tested on the construction.
fn constructions(
    asked: &Asked<'_>,
    c: Construction,
    judgement: Judgement,
    seed: u64,
    n: usize,
) -> Result<Option<Score>> {
    let mut questions = Vec::new();
    let mut pairs = Vec::new();
    for s in sentences(asked, c, Side::Held, judgement, seed, n) {
        let Some((&focus, other)) = s.focus.first().zip(s.other.as_deref()) else { continue };
        let id = |w: &str| {
            asked.word(w, focus == 0).ok_or_else(|| GalleryError::Score(format!("'{w}' is not a single token")))
        };
        pairs.push((id(&s.tokens[focus])?, id(other)?));
        questions.push(Question::of_sentence(&s));
    }
    if questions.is_empty() {
        return Ok(None);
    }
    let (id, what) = match c {
        Construction::Tense => ("tense", "tense: the correct form is preferred to the other tense"),
        Construction::Order => ("order", "clause order: the correct choice of 'after' or 'before'"),
        Construction::Coordination => ("coordination", "coordination: the correct number is preferred to the other"),
        Construction::Lengths => {
            ("lengths", "lengths: the correct last verb is preferred in sentences of 5 to 28 tokens")
        }
        Construction::Causes => {
            ("reasoning", "cause and effect in untrained pairs: the effect is preferred to that of another cause")
        }
        Construction::Agreement | Construction::Arithmetic => ("", c.title()),
    };
    Ok(Some(score(id, what, tally(asked.choices(&questions, &pairs)?))))
}

/// Counts the sums for which the first answer is the result.
fn arithmetic(asked: &Asked<'_>, side: Side, judgement: Judgement, seed: u64, n: usize) -> Result<Tally> {
    let sums = sentences(asked, Construction::Arithmetic, side, judgement, seed, n);
    let questions: Vec<Question> = sums.iter().map(Question::of_sentence).collect();
    let mut right = Tally::default();
    for (s, answer) in sums.iter().zip(asked.answers(&questions)?) {
        right.count(asked.word(&s.tokens[s.focus[0]], false) == Some(answer));
    }
    Ok(right)
}
