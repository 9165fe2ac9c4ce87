//! What a built-in model can do: agreement, and which numbers a linear rule finds in its last layer.

use rand_chacha::rand_core::RngCore;

use super::card::Score;
use super::error::{GalleryError, Result};
use super::linear::Discriminant;
use crate::corpus::{Example, Frequencies, Task};
use crate::model::batch::Batch;
use crate::model::error::ModelError;
use crate::model::hook::HookPoint;
use crate::model::plan::{Plan, Sites};
use crate::model::{Model, Tokenizer};
use crate::stats::intervals::wilson;
use crate::stats::rng::stream;

/// Level of the intervals on cards.
pub const LEVEL: f64 = 0.95;
/// Rows of one forward pass.
const ROWS: usize = 256;

/// How much is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// Sentences for each agreement score.
    pub agreement: usize,
    /// Sentences from which the linear rules are learned.
    pub learn: usize,
    /// Sentences on which they are judged.
    pub judge: usize,
}

impl Default for Sizes {
    fn default() -> Self {
        Self { agreement: 4_000, learn: 8_000, judge: 4_000 }
    }
}

/// A score to be measured on examples of these relative frequencies.
struct Condition {
    id: &'static str,
    what: &'static str,
    cells: [[f64; 3]; 2],
}

const CONDITIONS: [Condition; 3] = [
    Condition {
        id: "agreement_none",
        what: "agreement, no attractor, both numbers equally often",
        cells: [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]],
    },
    Condition {
        id: "agreement_same",
        what: "agreement, attractor of the subject's number",
        cells: [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
    },
    Condition {
        id: "agreement_opposing",
        what: "agreement, attractor of the other number",
        cells: [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]],
    },
];

/// Measures everything. `beat(done, total)` is called between parts and can stop the work.
///
/// # Errors
/// Those of the model and the corpus; [`GalleryError::Cancelled`].
pub fn scores(
    model: &Model,
    seed: u64,
    sizes: Sizes,
    beat: &mut dyn FnMut(usize, usize) -> std::result::Result<(), crate::stats::Cancelled>,
) -> Result<Vec<Score>> {
    let task = Task::named("agreement")?;
    let total = CONDITIONS.len() + 2;
    // Other sentences than those that a spec with the same seed asks for.
    let seed = stream(seed, "gallery scores").next_u64();
    let mut scores = Vec::new();
    for (i, condition) in CONDITIONS.iter().enumerate() {
        beat(i, total)?;
        let set = task.examples(sizes.agreement, seed, &Frequencies::from_cells(condition.cells)?)?;
        let right = agreement(model, &set.examples)?;
        scores.push(score(condition.id, condition.what, right));
    }
    let all = task.examples(sizes.learn + sizes.judge, seed, &Frequencies::balanced())?.examples;
    let layer = model.layers();
    for (property, id, name) in [(0, "subject_linear", "subject"), (1, "attractor_linear", "attractor")] {
        beat(CONDITIONS.len() + property, total)?;
        let labelled = |examples: &[Example]| -> Vec<(Example, bool)> {
            examples.iter().filter_map(|e| Some((e.clone(), e.label(property)? == 1))).collect()
        };
        let (learn, judge) = all.split_at(sizes.learn);
        let (learn, judge) = (labelled(learn), labelled(judge));
        let rule = Discriminant::learn(&states(model, &learn)?, &labels(&learn)).ok_or_else(|| {
            GalleryError::Score(format!("{name} number does not vary in {} examples", learn.len()))
        })?;
        let found = states(model, &judge)?;
        let right = found.iter().zip(labels(&judge)).map(|(h, label)| rule.is_positive(h) == label).collect();
        let what = format!("{name} number by a linear rule, layer {layer}, both numbers equally often");
        scores.push(score(id, &what, right));
    }
    beat(total, total)?;
    Ok(scores)
}

fn score(id: &str, what: &str, right: Vec<bool>) -> Score {
    let n = right.len() as u64;
    let hits = right.iter().filter(|&&r| r).count() as u64;
    Score { id: id.into(), what: what.into(), share: wilson(hits, n, LEVEL), n }
}

fn labels(examples: &[(Example, bool)]) -> Vec<bool> {
    examples.iter().map(|e| e.1).collect()
}

/// Token ids of an example and the position at which the verb is predicted: the mask, or the last token of the prefix.
fn encode(tokenizer: &Tokenizer, causal: bool, example: &Example) -> Result<(Vec<u32>, usize)> {
    if causal {
        let ids = tokenizer.encode(&example.prefix)?.ids;
        let last = ids.len().saturating_sub(1);
        return Ok((ids, last));
    }
    let mask = tokenizer.special().mask.zip(tokenizer.mask_token());
    let (id, text) = mask.ok_or_else(|| ModelError::Training("the tokenizer has no mask token".into()))?;
    let ids = tokenizer.encode(&example.filled(&text))?.ids;
    let at = ids.iter().position(|&i| i == id);
    let at = at.ok_or_else(|| GalleryError::Score(format!("no mask in '{}'", example.text)))?;
    Ok((ids, at))
}

/// Batches of encoded examples, each with the position of the verb in every row.
fn batches<'a>(
    model: &'a Model,
    examples: &'a [&'a Example],
) -> impl Iterator<Item = Result<(Batch, Vec<usize>, &'a [&'a Example])>> {
    examples.chunks(ROWS).map(move |chunk| {
        let tokenizer = model.tokenizer()?;
        let causal = model.arch().is_causal();
        let rows = chunk.iter().map(|e| encode(tokenizer, causal, e)).collect::<Result<Vec<_>>>()?;
        let (ids, at): (Vec<Vec<u32>>, Vec<usize>) = rows.into_iter().unzip();
        Ok((Batch::new(&ids, tokenizer.pad_id())?, at, chunk))
    })
}

/// Whether the correct form has the larger logit of the two, for each example.
fn agreement(model: &Model, examples: &[Example]) -> Result<Vec<bool>> {
    let tokenizer = model.tokenizer()?;
    let id = |form: &str| {
        tokenizer.word_id(form).ok_or_else(|| GalleryError::Score(format!("'{form}' is not one token")))
    };
    let examples: Vec<&Example> = examples.iter().collect();
    let mut right = Vec::with_capacity(examples.len());
    for batch in batches(model, &examples) {
        let (batch, at, chunk) = batch?;
        let trace = model.forward(&batch, &Plan::default().logits_at(Sites::per_row(&at)))?;
        let logits = trace.logits()?;
        for (row, example) in chunk.iter().enumerate() {
            let logit = |form: &str| Ok::<f32, GalleryError>(logits.row(row)[id(form)? as usize]);
            let zc = usize::from(example.zc);
            right.push(logit(&example.forms[zc])? > logit(&example.forms[1 - zc])?);
        }
    }
    Ok(right)
}

/// Output of the last block at the verb's position, for each example.
fn states(model: &Model, examples: &[(Example, bool)]) -> Result<Vec<Vec<f32>>> {
    let point = HookPoint::ResidPost(model.layers() - 1);
    let examples: Vec<&Example> = examples.iter().map(|e| &e.0).collect();
    let mut states = Vec::with_capacity(examples.len());
    for batch in batches(model, &examples) {
        let (batch, at, _) = batch?;
        let trace = model.forward(&batch, &Plan::default().capture_at(point, Sites::per_row(&at)))?;
        let found = trace.get(point)?;
        states.extend((0..found.rows()).map(|i| found.row(i).to_vec()));
    }
    Ok(states)
}
