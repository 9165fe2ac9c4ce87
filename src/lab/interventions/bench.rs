//! The bench: test examples with their hidden states, ready to be edited, judged and run through the rest of the model.

use std::borrow::Cow;

use super::continuation::Continuation;
use super::distance::{Distances, Meter};
use super::edits::Edits;
use super::method::{Fitted, Goal, InterventionError, Known, Method, Prepared};
use super::oracle::{Oracle, OracleOutput};
use super::score::{
    Distance, ExampleScores, Kept, confusion, counterfactual_completeness, nullifying_completeness,
    nullifying_completeness_to, predicted_targets, right, selectivity,
};
use base::Pulse;
use base::matrix::Matrix;
use lab::plan::PropertyLabels;
use lab::stimuli::{Stimuli, StimuliError, Where};
use model::Model;
use thiserror::Error;

#[derive(Debug, Error)]
pub(crate) enum BenchError {
    #[error(transparent)]
    Stimuli(#[from] StimuliError),
    #[error(transparent)]
    Intervention(#[from] InterventionError),
}

/// Layers that an experiment reads and writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Site {
    /// Layer of the intervention, from 1.
    pub layer: usize,
    /// Layer of the oracle, the same or a later one.
    pub oracle_layer: usize,
}

#[derive(Debug, Clone)]
pub(crate) struct Chunk {
    /// Indices of the rows among the stimuli: examples, or single tokens of them.
    pub rows: Vec<usize>,
    /// Hidden states (n x D) at the layer and position of the intervention.
    pub h: Matrix,
    /// Hidden states (n x D) at the layer and position of the oracle.
    pub(crate) oracle_h: Matrix,
    /// True value of the target, per example.
    pub target: Vec<usize>,
    /// True value of the other property, where defined.
    pub other: Vec<Option<usize>>,
    /// True values of the additional properties to keep, by property and example.
    pub further: Vec<Vec<Option<usize>>>,
    /// Hidden states of the true counterfactuals at the layer of the intervention (n x D), once a method has requested them.
    pub twins: Option<Matrix>,
    /// The grammatically correct form of each text.
    pub correct: Vec<usize>,
    pub distance: Distance,
    /// The edited states, unless there is exactly one per row.
    edits: Option<Edits>,
    continuation: Continuation,
    /// The model's logits of the two forms before any intervention, and their ranks among all verb forms; `None` without a language model
    /// head.
    forms: Option<Vec<([f32; 2], [u32; 2])>>,
}

/// Scores of one strength on one chunk under one oracle.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Scores {
    /// Completeness and selectivity, per example.
    pub examples: ExampleScores,
    /// Completeness toward the class prior, for nullifying methods.
    pub prior: Vec<f64>,
    /// 1 if the oracle still reads the other property correctly, for examples that have it.
    pub right: Vec<Option<f64>>,
    /// Completeness toward a value other than the one that the oracle predicted before the intervention, for counterfactual methods.
    pub predicted: Vec<f64>,
    /// Confusion matrix of the other property's oracle, with true values as rows.
    pub(crate) confusion: Vec<Vec<f64>>,
    /// Scores of the additional properties to keep.
    pub further: Vec<Kept>,
}

/// Behaviour of the model itself with edited hidden states, per text.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelBehaviour {
    /// 1 if the preferred form changes.
    pub flipped: Vec<f64>,
    /// Probability of the correct form relative to both forms, before the intervention.
    pub correct_before: Vec<f64>,
    /// Probability of the correct form relative to both forms, after the intervention.
    pub correct_after: Vec<f64>,
    /// Reciprocal rank of the correct form among the verb forms of all sentences, before the intervention.
    pub rank_before: Vec<f64>,
    /// Reciprocal rank of the correct form among the verb forms of all sentences, after the intervention.
    pub rank_after: Vec<f64>,
    pub forms: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// One entry per oracle, in order.
    pub scores: Vec<Scores>,
    pub behaviour: Option<ModelBehaviour>,
    /// Distances of the edited states from real ones; empty if not requested.
    pub distances: Distances,
}

impl Outcome {
    /// Empty scores for this number of oracles.
    pub fn empty(oracles: usize) -> Self {
        Self { scores: vec![Scores::default(); oracles], behaviour: None, distances: Distances::default() }
    }

    pub fn len(&self) -> usize {
        self.scores.first().map_or(0, |s| s.examples.completeness.len())
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A method applied to a chunk: one prepared intervention per target value.
pub(crate) struct Applied<'a> {
    chunk: &'a Chunk,
    goal: Goal,
    /// For each of the k - 1 other values of a property with k values, in cyclic order from the true one: the intended value of every
    /// example, and the prepared intervention.
    shifts: Vec<(Vec<usize>, Prepared<'a>)>,
}

impl Chunk {
    /// Runs the test examples `rows`, all of which have a value of the target, through the model up to the layer of the intervention.
    pub(crate) fn new(
        model: &Model,
        stimuli: &Stimuli,
        labels: &PropertyLabels,
        rows: &[usize],
        site: Site,
        pulse: &mut dyn Pulse,
    ) -> Result<Self, StimuliError> {
        let h = stimuli.hidden(model, (site.layer, Where::Changed), rows, pulse)?;
        Self::with(h, model, stimuli, labels, rows, site, pulse)
    }

    /// A chunk with known hidden states `h` (n x D) at the layer of the intervention.
    pub(crate) fn with(
        h: Matrix,
        model: &Model,
        stimuli: &Stimuli,
        labels: &PropertyLabels,
        rows: &[usize],
        site: Site,
        pulse: &mut dyn Pulse,
    ) -> Result<Self, StimuliError> {
        let edits = Edits::read(model, stimuli, rows, (&h, site.layer), &labels.other, pulse)?;
        let changed = (site.layer, Where::Changed);
        let continuation = Continuation::new(model, stimuli, rows, changed, (Some(&h), edits.as_ref()), pulse)?;
        let later = (site.oracle_layer != site.layer).then_some(site.oracle_layer);
        let before = edits.as_ref().map_or(&h, |edits| &edits.h);
        let clean = continuation.run(model, before, later.as_slice(), pulse)?;
        Ok(Self {
            rows: rows.to_vec(),
            target: rows.iter().map(|r| labels.target[*r].unwrap_or(0)).collect(),
            other: rows.iter().map(|r| labels.other[*r]).collect(),
            further: labels.further.iter().map(|f| rows.iter().map(|r| f.values[*r]).collect()).collect(),
            correct: stimuli.texts(rows).iter().map(|places| labels.form[rows[places[0]]]).collect(),
            oracle_h: clean.later.into_iter().next().unwrap_or_else(|| h.clone()),
            forms: paired(clean.forms, clean.ranks),
            twins: None,
            distance: Distance::default(),
            edits,
            continuation,
            h,
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Outputs of each oracle before any intervention.
    pub(crate) fn outputs(&self, oracles: &[Oracle]) -> Vec<OracleOutput> {
        oracles.iter().map(|o| o.see(&self.oracle_h)).collect()
    }

    /// Prepares a fitted method for the chunk's examples, toward every target value that an example does not have (Canby et al., section 3:
    /// completeness is averaged over the counterfactual values).
    pub(crate) fn apply<'a>(
        &'a self,
        method: &Method,
        fitted: &'a Fitted,
        classes: usize,
        pulse: &mut dyn Pulse,
    ) -> Result<Applied<'a>, InterventionError> {
        let count = match method.goal {
            Goal::Counterfactual => classes - 1,
            Goal::Nullifying => 1,
        };
        let (h, other, rows) = match &self.edits {
            Some(edits) => (&edits.h, &edits.other, &edits.rows),
            None => (&self.h, &self.other, &self.rows),
        };
        let known = Known { other, rows, twins: self.twins.as_ref() };
        let mut shifts = Vec::with_capacity(count);
        for j in 1..=count {
            let wanted: Vec<usize> = self.target.iter().map(|y| (y + j) % classes).collect();
            let each = self.edits.as_ref().map_or_else(|| wanted.clone(), |edits| edits.spread(&wanted));
            let prepared = fitted.on_known(h, &each, &known, pulse)?;
            shifts.push((wanted, prepared));
        }
        Ok(Applied { chunk: self, goal: method.goal, shifts })
    }

    /// The states to edit, before the edit.
    pub(crate) fn unedited(&self) -> &Matrix {
        self.edits.as_ref().map_or(&self.h, |edits| &edits.h)
    }

    /// The edited states of the rows (n x D).
    fn own<'h>(&self, h: &'h Matrix) -> Cow<'h, Matrix> {
        match &self.edits {
            Some(edits) => Cow::Owned(edits.own(h)),
            None => Cow::Borrowed(h),
        }
    }

    /// The hidden states that the oracle reads when `h` replaces the edited states.
    pub(crate) fn later(
        &self,
        model: &Model,
        h: &Matrix,
        site: Site,
        pulse: &mut dyn Pulse,
    ) -> Result<Matrix, StimuliError> {
        if site.oracle_layer == site.layer {
            return Ok(self.own(h).into_owned());
        }
        Ok(self.at_layers(model, h, &[site.oracle_layer], pulse)?.pop().unwrap_or_else(|| h.clone()))
    }

    /// The hidden states (n x D) at each of the layers `later`, all after the intervention's, when `h` replaces the edited states.
    pub(crate) fn at_layers(
        &self,
        model: &Model,
        h: &Matrix,
        later: &[usize],
        pulse: &mut dyn Pulse,
    ) -> Result<Vec<Matrix>, StimuliError> {
        if later.is_empty() {
            return Ok(Vec::new());
        }
        Ok(self.continuation.run(model, h, later, pulse)?.later)
    }

    /// Probabilities of the first example's two forms, from a softmax over the whole vocabulary, with the hidden states `h`.
    pub(crate) fn words(&self, model: &Model, h: &Matrix) -> Result<[f64; 2], StimuliError> {
        self.continuation.probabilities(model, h)
    }
}

/// Everything that an evaluation needs except the method.
#[derive(Clone, Copy)]
pub(crate) struct Judges<'a> {
    pub model: &'a Model,
    pub oracles: &'a [Oracle],
    /// Outputs of each oracle before the intervention, in the order of `oracles`.
    pub before: &'a [OracleOutput],
    /// Share of each target value in the data, for nullifying completeness toward the prior.
    pub prior: &'a [f64],
    pub site: Site,
    /// True to evaluate the model's own behaviour too.
    pub behaviour: bool,
    /// Distance meter for the edited states, if distances are wanted.
    pub meter: Option<&'a Meter>,
}

/// Oracles of one layer, and their outputs at that layer before the intervention.
#[derive(Clone, Copy)]
pub struct Reader<'a> {
    /// Layer of the intervention or a later one, from 1.
    pub layer: usize,
    /// Oracles trained on unedited states of that layer.
    pub oracles: &'a [Oracle],
    /// Outputs of each oracle before the intervention, in the order of `oracles`.
    pub before: &'a [OracleOutput],
}

impl Applied<'_> {
    /// Hidden states of all edited tokens after the edit, for the first target value.
    pub(crate) fn at(&mut self, value: f64, pulse: &mut dyn Pulse) -> Result<Matrix, InterventionError> {
        self.shifts[0].1.at(value, pulse)
    }

    /// Scores one strength.
    ///
    /// # Errors
    /// Errors of the method, and of the model if the forward pass continues.
    pub(crate) fn judge(
        &mut self,
        value: f64,
        judges: Judges<'_>,
        pulse: &mut dyn Pulse,
    ) -> Result<Outcome, BenchError> {
        let mut scores = vec![Scores::default(); judges.oracles.len()];
        let (mut behaviour, mut distances) = (None, Distances::default());
        let shifts = self.shifts.len();
        for (j, (wanted, prepared)) in self.shifts.iter_mut().enumerate() {
            let h = prepared.at(value, pulse)?;
            if let Some(meter) = judges.meter {
                let part = meter.measure(&self.chunk.own(&h), &self.chunk.h, self.chunk.twins.as_ref());
                distances.add(&part, 1.0 / shifts as f64);
            }
            let later = (judges.site.oracle_layer != judges.site.layer).then_some(judges.site.oracle_layer);
            let continued = if later.is_some() || (judges.behaviour && j == 0) {
                Some(self.chunk.continuation.run(judges.model, &h, later.as_slice(), pulse)?)
            } else {
                None
            };
            if judges.behaviour && j == 0 {
                let after = continued.as_ref().and_then(|c| paired(c.forms.clone(), c.ranks.clone()));
                let both = self.chunk.forms.as_deref().zip(after.as_deref());
                behaviour = both.map(|(before, after)| self.chunk.behaviour(before, after));
            }
            let seen = continued.and_then(|c| c.later.into_iter().next());
            let seen = seen.map_or_else(|| self.chunk.own(&h), Cow::Owned);
            for (k, (oracle, before)) in judges.oracles.iter().zip(judges.before).enumerate() {
                let after = oracle.see(&seen);
                let part = self.chunk.scores(self.goal, (wanted, j + 1), before, &after, judges.prior);
                scores[k].add(part, shifts);
            }
        }
        Ok(Outcome { scores, behaviour, distances })
    }

    /// Scores one strength at several layers, by reader and oracle. Readers at `layer`, the intervention's layer, read the edited states
    /// themselves; for the others, one forward pass continues from there. `prior` is the share of each target value.
    ///
    /// # Errors
    /// Errors of the method and of the model.
    pub(crate) fn judge_at(
        &mut self,
        value: f64,
        readers: &[Reader<'_>],
        (model, layer, prior): (&Model, usize, &[f64]),
        pulse: &mut dyn Pulse,
    ) -> Result<Vec<Vec<Scores>>, BenchError> {
        let mut scores: Vec<Vec<Scores>> = readers.iter().map(|r| vec![Scores::default(); r.oracles.len()]).collect();
        let later: Vec<usize> = readers.iter().map(|r| r.layer).filter(|l| *l != layer).collect();
        let shifts = self.shifts.len();
        for (j, (wanted, prepared)) in self.shifts.iter_mut().enumerate() {
            let h = prepared.at(value, pulse)?;
            let mut behind = self.chunk.at_layers(model, &h, &later, pulse)?.into_iter();
            let own = self.chunk.own(&h);
            for (reader, scores) in readers.iter().zip(&mut scores) {
                let later = if reader.layer == layer { None } else { behind.next() };
                let seen = later.as_ref().unwrap_or(&own);
                for ((oracle, before), sum) in reader.oracles.iter().zip(reader.before).zip(scores) {
                    let after = oracle.see(seen);
                    sum.add(self.chunk.scores(self.goal, (wanted, j + 1), before, &after, prior), shifts);
                }
            }
        }
        Ok(scores)
    }
}

impl Scores {
    /// Adds the scores toward one target value with weight `1 / shifts`.
    fn add(&mut self, part: Scores, shifts: usize) {
        let w = 1.0 / shifts as f64;
        let (sum, more) = (&mut self.examples, part.examples);
        if sum.completeness.is_empty() {
            sum.completeness = vec![0.0; more.completeness.len()];
            sum.selectivity = more.selectivity.iter().map(|s| s.map(|_| 0.0)).collect();
            self.prior = vec![0.0; part.prior.len()];
            self.predicted = vec![0.0; part.predicted.len()];
            self.right = part.right.iter().map(|r| r.map(|_| 0.0)).collect();
            self.confusion = part.confusion.iter().map(|row| vec![0.0; row.len()]).collect();
            let zeros = |list: &[Option<f64>]| list.iter().map(|s| s.map(|_| 0.0)).collect();
            let none = |k: &Kept| Kept { selectivity: zeros(&k.selectivity), right: zeros(&k.right) };
            self.further = part.further.iter().map(none).collect();
        }
        sum.completeness.iter_mut().zip(more.completeness).for_each(|(a, b)| *a += w * b);
        self.prior.iter_mut().zip(part.prior).for_each(|(a, b)| *a += w * b);
        self.predicted.iter_mut().zip(part.predicted).for_each(|(a, b)| *a += w * b);
        add_defined(&mut sum.selectivity, &more.selectivity, w);
        add_defined(&mut self.right, &part.right, w);
        for (kept, part) in self.further.iter_mut().zip(&part.further) {
            add_defined(&mut kept.selectivity, &part.selectivity, w);
            add_defined(&mut kept.right, &part.right, w);
        }
        for (row, part) in self.confusion.iter_mut().zip(part.confusion) {
            row.iter_mut().zip(part).for_each(|(a, b)| *a += w * b);
        }
    }
}

/// Combines logits and ranks of the two forms, row by row.
fn paired(forms: Option<Vec<[f32; 2]>>, ranks: Option<Vec<[u32; 2]>>) -> Option<Vec<([f32; 2], [u32; 2])>> {
    forms.zip(ranks).map(|(forms, ranks)| forms.into_iter().zip(ranks).collect())
}

fn add_defined(sum: &mut [Option<f64>], more: &[Option<f64>], w: f64) {
    for (a, b) in sum.iter_mut().zip(more) {
        if let (Some(a), Some(b)) = (a, b) {
            *a += w * b;
        }
    }
}

impl Chunk {
    fn scores(
        &self,
        goal: Goal,
        (wanted, shift): (&[usize], usize),
        before: &OracleOutput,
        after: &OracleOutput,
        prior: &[f64],
    ) -> Scores {
        let (completeness, prior, predicted) = match goal {
            Goal::Counterfactual => {
                let predicted = predicted_targets(&before.target, shift);
                let toward = |targets: &[usize]| counterfactual_completeness(self.distance, &after.target, targets);
                (toward(wanted), Vec::new(), toward(&predicted))
            }
            Goal::Nullifying => {
                let prior = nullifying_completeness_to(self.distance, &after.target, prior);
                (nullifying_completeness(self.distance, &after.target), prior, Vec::new())
            }
        };
        let where_defined = |labels: &[Option<usize>], before, after| -> Vec<Option<f64>> {
            labels.iter().zip(selectivity(self.distance, before, after)).map(|(y, s)| y.map(|_| s)).collect()
        };
        let further = self.further.iter().zip(before.further.iter().zip(&after.further));
        let further = further.map(|(labels, (before, after))| Kept {
            selectivity: where_defined(labels, before, after),
            right: right(after, labels),
        });
        let further = further.collect();
        let selectivity = where_defined(&self.other, &before.other, &after.other);
        let counts = confusion(&after.other, &self.other).into_iter();
        Scores {
            examples: ExampleScores { completeness, selectivity },
            prior,
            right: right(&after.other, &self.other),
            predicted,
            confusion: counts.map(|row| row.into_iter().map(|n| n as f64).collect()).collect(),
            further,
        }
    }

    fn behaviour(&self, before: &[([f32; 2], [u32; 2])], after: &[([f32; 2], [u32; 2])]) -> ModelBehaviour {
        // The probability of the first form relative to both is the logistic function of the difference between the logits.
        let first = |l: &[f32; 2]| 1.0 / (1.0 + f64::from(l[1] - l[0]).exp());
        let mut behaviour = ModelBehaviour { forms: self.continuation.form_count(), ..ModelBehaviour::default() };
        for (((before, rank_before), (after, rank_after)), y) in before.iter().zip(after).zip(&self.correct) {
            behaviour.rank_before.push(1.0 / f64::from(rank_before[*y]));
            behaviour.rank_after.push(1.0 / f64::from(rank_after[*y]));
            let correct = |p: f64| if *y == 0 { p } else { 1.0 - p };
            behaviour.flipped.push(f64::from(u8::from((before[0] > before[1]) != (after[0] > after[1]))));
            behaviour.correct_before.push(correct(first(before)));
            behaviour.correct_after.push(correct(first(after)));
        }
        behaviour
    }
}
