//! Row by row: what each model predicts in each sentence, and from which tokens.

use super::bench::{Bench, Member};
use super::tally::Tally;
use crate::Host;
use crate::explain::{row, told_prediction};
use crate::finding::Kind;
use crate::input::Input;
use crate::methods::{Case, Method, Point, value_at_points};
use crate::metrics::faithful::{Faithfulness, faithfulness};
use crate::metrics::input::Scored;
use crate::predict::{Prediction, answered, predict};
use crate::spec::Spec;
use base::{Cancelled, Pulse};
use lab::fault::Fault;
use model::Model;
use model::chunk::TOKENS_PER_BATCH;

/// Inputs of the first step, so that the first rows come at once, and of later ones.
const FIRST: usize = 4;
const MOST: usize = 32;
/// Passes of a prediction.
pub(crate) const PREDICTION: usize = 1;
/// Further passes of an input and a method whose erasure is measured: whole, alone, without.
pub(crate) const ERASURE: usize = 3;

/// Part of a row kept for the means.
#[derive(Debug, Clone)]
pub(crate) struct Kept {
    /// The scores by word, ranked.
    pub scored: Scored,
    /// True if its completeness error is within the tolerance.
    pub complete: Option<bool>,
    /// Sufficiency and comprehensiveness, where they were asked for.
    pub erasure: Option<Faithfulness>,
}

/// Rows of a model kept for the means.
#[derive(Debug, Clone, Default)]
pub(crate) struct Gathered {
    /// By sentence: whether the first answer is right, and whether one of the first three is.
    pub right: Vec<Option<(bool, bool)>>,
    /// By method and sentence.
    pub rows: Vec<Vec<Option<Kept>>>,
    /// Sentences that were asked.
    pub asked: usize,
}

/// Forward passes that the sentences of a model take.
pub(crate) fn passes(spec: &Spec, member: &Member) -> usize {
    member.inputs.iter().flatten().map(|input| passes_of(spec, member, input)).sum()
}

/// Forward passes that one input takes, all methods together.
pub(crate) fn passes_of(spec: &Spec, member: &Member, input: &Input) -> usize {
    let each =
        |m: &&dyn Method| m.passes(spec, input.count) + if spec.saliency.erasure { ERASURE } else { 0 };
    PREDICTION + member.methods.iter().map(each).sum::<usize>()
}

/// Counts the passes of a call within those of its stage. The call's own total grows where it finds that it needs more than
/// was planned.
struct Share<'a> {
    host: &'a mut Host<'a>,
    tally: &'a mut Tally,
    /// Passes that are planned for it.
    planned: usize,
    /// Initial total of the call.
    at_first: Option<usize>,
    /// Passes that it is now known to need.
    needs: usize,
}

impl<'a> Share<'a> {
    fn new(host: &'a mut Host<'a>, tally: &'a mut Tally, planned: usize) -> Self {
        Self { host, tally, planned, at_first: None, needs: planned }
    }

    /// The call has ended.
    fn end(self) {
        self.tally.ended(self.planned, self.needs);
    }
}

impl Pulse for Share<'_> {
    fn beat(&mut self, done: usize, total: usize) -> Result<(), Cancelled> {
        self.host.poll()?;
        // Work that comes before the first pass only asks whether to go on.
        if done > 0 {
            let whole = (*self.at_first.get_or_insert(total)).max(1);
            self.needs = self.planned * total / whole;
            let (done, total) = self.tally.at(self.planned, (self.planned * done / whole, self.needs));
            self.host.progress(done, total);
        }
        Ok(())
    }
}

/// Asks a model all sentences. `meanwhile` is called after each step, with how many are done.
pub(crate) fn ask(
    bench: &Bench,
    k: usize,
    host: &mut Host<'_>,
    mut meanwhile: impl FnMut(&Gathered, &mut Host<'_>) -> Result<(), Fault>,
) -> Result<Gathered, Fault> {
    let member = &bench.members[k];
    let model = member.model(host)?;
    let mut gathered = Gathered {
        right: vec![None; bench.sentences.len()],
        rows: vec![vec![None; bench.sentences.len()]; member.methods.len()],
        asked: 0,
    };
    let all: Vec<usize> = (0..bench.sentences.len()).filter(|s| member.inputs[*s].is_some()).collect();
    let mut tally = Tally::new(passes(&bench.spec, member));
    let (mut at, mut size) = (0, FIRST);
    while at < all.len() {
        let step = &all[at..(at + size).min(all.len())];
        let inputs: Vec<&Input> = step.iter().filter_map(|s| member.inputs[*s].as_ref()).collect();
        tally.begin(inputs.iter().map(|input| passes_of(&bench.spec, member, input)).sum());
        let mut share = Share::new(host, &mut tally, step.len() * PREDICTION);
        let predicted = predict(&model, &inputs, TOKENS_PER_BATCH, &mut share)?;
        share.end();
        for (s, p) in step.iter().zip(&predicted) {
            gathered.right[*s] = p.top1.zip(p.top3);
            let found = told_prediction(&bench.sentences[*s], p);
            host.find(member.label.finding(1, true, host.elapsed(), Kind::Prediction(found)))?;
        }
        let asked = answered(&model, &inputs, &predicted)?;
        let inputs: Vec<&Input> = asked.iter().map(|input| &**input).collect();
        for m in 0..member.methods.len() {
            explain(bench, (k, m, &model), (step, &inputs, &predicted), &mut tally, &mut gathered, host)?;
        }
        gathered.asked += step.len();
        at += step.len();
        size = (2 * size).min(MOST);
        meanwhile(&gathered, host)?;
    }
    host.progress(tally.done(), tally.done());
    Ok(gathered)
}

/// One method on the inputs of a step.
fn explain(
    bench: &Bench,
    (k, m, model): (usize, usize, &Model),
    (step, inputs, predicted): (&[usize], &[&Input], &[Prediction]),
    tally: &mut Tally,
    gathered: &mut Gathered,
    host: &mut Host<'_>,
) -> Result<(), Fault> {
    let (member, spec) = (&bench.members[k], &bench.spec);
    let method = member.methods[m];
    let cases: Vec<Case<'_>> = step
        .iter()
        .zip(inputs)
        .zip(predicted)
        .map(|((s, input), p)| Case { input, predicted: &p.ids, name: &bench.sentences[*s].sentence })
        .collect();
    let planned = inputs.iter().map(|i| method.passes(spec, i.count)).sum();
    let mut share = Share::new(host, tally, planned);
    let scores = method.explain(model, &cases, spec, &mut share)?;
    share.end();
    let mut rows = Vec::new();
    for ((s, case), found) in step.iter().zip(&cases).zip(&scores) {
        let sentence = &bench.sentences[*s];
        rows.push(row(sentence, method, case.input, found, bench.size(&sentence.dimension))?);
    }
    let mut erasures = vec![None; rows.len()];
    if spec.saliency.erasure {
        let mut share = Share::new(host, tally, ERASURE * rows.len());
        let tops: Vec<&[usize]> =
            rows.iter().map(|(row, _)| &row.ranking[..row.k.min(row.ranking.len())]).collect();
        erasures = erase(model, &cases, &tops, spec, &mut share)?.into_iter().map(Some).collect();
        share.end();
    }
    for (((s, (mut found, scored)), p), erasure) in step.iter().zip(rows).zip(predicted).zip(erasures) {
        found.target.clone_from(&p.said);
        found.sufficiency = erasure.map(|e| e.sufficiency);
        found.comprehensiveness = erasure.map(|e| e.comprehensiveness);
        let complete = found.complete;
        let n = found.tokens.len();
        host.find(member.label.finding(n, true, host.elapsed(), Kind::Saliency(found)))?;
        gathered.rows[m][*s] = Some(Kept { scored, complete, erasure });
    }
    Ok(())
}

/// Loss of the prediction when only the top words are left, and when they are removed: removed tokens are at the
/// baseline of integrated gradients.
fn erase(
    model: &Model,
    cases: &[Case<'_>],
    tops: &[&[usize]],
    spec: &Spec,
    pulse: &mut dyn Pulse,
) -> Result<Vec<Faithfulness>, Fault> {
    let mut points = Vec::new();
    for (case, (c, top)) in cases.iter().zip(tops).enumerate() {
        let in_top = |words: &Vec<usize>| words.iter().any(|w| top.contains(w));
        // The mask is asked, and the frame says where the text begins and ends: both stay.
        let stays =
            |t: usize| c.input.frame[t] || c.input.words[t].iter().all(|w| c.input.excluded.contains(w));
        let gone = |without: bool| -> Vec<bool> {
            (0..c.input.ids.len()).map(|t| !stays(t) && in_top(&c.input.words[t]) == without).collect()
        };
        points.extend([
            Point::Along(case, 1.0),
            Point::Without(case, gone(false)),
            Point::Without(case, gone(true)),
        ]);
    }
    let baseline = spec.integrated_gradients.baseline;
    let values = value_at_points(model, cases, &points, baseline, pulse)?;
    Ok(values.chunks_exact(ERASURE).map(|v| faithfulness(v[0], v[1], v[2])).collect())
}
