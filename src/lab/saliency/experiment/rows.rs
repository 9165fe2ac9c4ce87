//! Each model's prediction for each sentence, with token scores from every method.

use super::bench::{Bench, Member};
use super::tally::Tally;
use crate::Host;
use crate::explain::{prediction_finding, row};
use crate::finding::{Kind, SaliencyFinding};
use crate::input::Input;
use crate::methods::{Case, Method, Point, value_at_points};
use crate::metrics::faithful::{Faithfulness, over_sizes};
use crate::metrics::input::Scored;
use crate::predict::{Prediction, answered, predict};
use crate::robust;
use crate::spec::{Eraser, Erasure, SHARES, Spec};
use base::{Cancelled, Pulse};
use lab::fault::Fault;
use model::Model;
use model::chunk::TOKENS_PER_BATCH;

/// Number of inputs in the first step, small so that the first rows appear at once; then the number in later steps.
const FIRST: usize = 4;
const MOST: usize = 32;
pub(crate) const PREDICTION: usize = 1;

/// The parts of a row needed for means.
#[derive(Debug, Clone)]
pub(crate) struct Kept {
    /// The scores by word, ranked.
    pub scored: Scored,
    /// True if the completeness error is within tolerance.
    pub complete: Option<bool>,
    /// Sufficiency and comprehensiveness, if requested.
    pub erasure: Option<Faithfulness>,
    /// Smallest relative change to the rationale that changes the prediction, if requested.
    pub sensitivity: Option<f64>,
    pub said: String,
}

/// A model's rows, kept for means.
#[derive(Debug, Clone, Default)]
pub(crate) struct Gathered {
    /// By sentence: true if the first answer is right, and true if one of the first three answers is.
    pub right: Vec<Option<(bool, bool)>>,
    /// Rows by method and sentence.
    pub rows: Vec<Vec<Option<Kept>>>,
    /// Number of sentences processed.
    pub asked: usize,
}

/// Number of forward passes for a model's sentences.
pub(crate) fn passes(spec: &Spec, member: &Member) -> usize {
    member.inputs.iter().flatten().map(|input| passes_of(spec, member, input)).sum()
}

/// Number of forward passes for one input and all methods.
pub(crate) fn passes_of(spec: &Spec, member: &Member, input: &Input) -> usize {
    let each = |m: &&dyn Method| m.passes(spec, input.count) + spec.saliency.further_passes();
    PREDICTION + member.methods.iter().map(each).sum::<usize>()
}

/// Counts the passes of a call within its stage. The total grows if the call needs more passes than planned.
struct Share<'a> {
    host: &'a mut Host<'a>,
    tally: &'a mut Tally,
    planned: usize,
    /// Total number of passes when the call began.
    at_first: Option<usize>,
    /// Number of passes that the call is now known to need.
    needs: usize,
}

impl<'a> Share<'a> {
    fn new(host: &'a mut Host<'a>, tally: &'a mut Tally, planned: usize) -> Self {
        Self { host, tally, planned, at_first: None, needs: planned }
    }

    fn end(self) {
        self.tally.ended(self.planned, self.needs);
    }
}

impl Pulse for Share<'_> {
    fn beat(&mut self, done: usize, total: usize) -> Result<(), Cancelled> {
        self.host.poll()?;
        // Work before the first pass only polls for cancellation and reports no progress.
        if done > 0 {
            let whole = (*self.at_first.get_or_insert(total)).max(1);
            self.needs = self.planned * total / whole;
            let (done, total) = self.tally.at(self.planned, (self.planned * done / whole, self.needs));
            self.host.progress(done, total);
        }
        Ok(())
    }
}

/// Processes all sentences with a model. `meanwhile` is called after each step with the rows computed so far.
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
            let found = prediction_finding(&bench.sentences[*s], p);
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

/// Applies one method to the inputs of a step.
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
    let planned = spec.saliency.erasure.passes() * rows.len();
    if planned > 0 {
        let mut share = Share::new(host, tally, planned);
        let tops: Vec<(&[usize], usize)> = rows.iter().map(|(row, _)| (&row.ranking[..], row.k)).collect();
        erasures = match spec.saliency.erasure {
            Erasure::Baseline(_) => replaced(model, &cases, &tops, spec, &mut share)?,
            Erasure::Deleted(_) => deleted(model, &cases, &tops, spec, &mut share)?,
        };
        share.end();
    }
    let mut sensitivities = vec![None; rows.len()];
    if spec.saliency.robustness {
        let marked = |(case, (row, _)): (&Case<'_>, &(SaliencyFinding, Scored))| -> Vec<bool> {
            let top = &row.ranking[..row.k.min(row.ranking.len())];
            (0..case.input.ids.len()).map(|t| of_words(case.input, t, top)).collect()
        };
        let marked: Vec<Vec<bool>> = cases.iter().zip(&rows).map(marked).collect();
        let mut share = Share::new(host, tally, robust::PASSES * rows.len());
        sensitivities = robust::sensitivity(model, &cases, &marked, &mut share)?;
        share.end();
    }
    let beside = erasures.into_iter().zip(sensitivities);
    for (((s, (mut found, scored)), p), (erasure, sensitivity)) in step.iter().zip(rows).zip(predicted).zip(beside) {
        found.target.clone_from(&p.said);
        found.sufficiency = erasure.map(|e| e.sufficiency);
        found.comprehensiveness = erasure.map(|e| e.comprehensiveness);
        found.sensitivity = sensitivity;
        let complete = found.complete;
        let n = found.tokens.len();
        host.find(member.label.finding(n, true, host.elapsed(), Kind::Saliency(found)))?;
        gathered.rows[m][*s] = Some(Kept { scored, complete, erasure, sensitivity, said: p.said.clone() });
    }
    Ok(())
}

/// True for a token in one of these words; false for the mask and for tokens outside words.
fn of_words(input: &Input, token: usize, words: &[usize]) -> bool {
    !stays(input, token) && input.words[token].iter().any(|w| words.contains(w))
}

/// True for tokens that are never erased: the mask, and special tokens around the text.
fn stays(input: &Input, token: usize) -> bool {
    input.frame[token] || input.words[token].iter().all(|w| input.excluded.contains(w))
}

/// Probability lost when only the top words remain, and when they are removed. Removed tokens are replaced with the baseline of integrated
/// gradients. `tops` has, for each case, the words by descending score and the size K.
fn replaced(
    model: &Model,
    cases: &[Case<'_>],
    tops: &[(&[usize], usize)],
    spec: &Spec,
    pulse: &mut dyn Pulse,
) -> Result<Vec<Option<Faithfulness>>, Fault> {
    let mut points = Vec::new();
    for (case, (Case { input, .. }, (ranking, k))) in cases.iter().zip(tops).enumerate() {
        let top = &ranking[..(*k).min(ranking.len())];
        let gone = |without: bool| -> Vec<bool> {
            let gone = |t| !stays(input, t) && of_words(input, t, top) == without;
            (0..input.ids.len()).map(gone).collect()
        };
        points.extend([Point::Along(case, 1.0), Point::Without(case, gone(false)), Point::Without(case, gone(true))]);
    }
    let baseline = spec.integrated_gradients.baseline;
    let values = value_at_points(model, cases, &points, baseline, pulse)?;
    Ok(values.chunks_exact(3).map(|v| over_sizes(v[0], &[(v[1], v[2])])).collect())
}

/// Probability lost when words are deleted instead of replaced, averaged over ERASER's shares of the ranked words (at least one word per
/// share). `None` if no word remains.
fn deleted(
    model: &Model,
    cases: &[Case<'_>],
    tops: &[(&[usize], usize)],
    spec: &Spec,
    pulse: &mut dyn Pulse,
) -> Result<Vec<Option<Faithfulness>>, Fault> {
    let shorter = |(Case { input, .. }, (ranking, _)): (&Case<'_>, &(&[usize], usize))| {
        let mut inputs = vec![(*input).clone()];
        for share in SHARES {
            let size = (share * ranking.len() as f64).ceil().max(1.0) as usize;
            let top = &ranking[..size.min(ranking.len())];
            inputs.push(input.keeping(|t| stays(input, t) || of_words(input, t, top))?);
            inputs.push(input.keeping(|t| !of_words(input, t, top))?);
        }
        Some(inputs)
    };
    let inputs: Vec<Option<Vec<Input>>> = cases.iter().zip(tops).map(shorter).collect();
    let asked = cases
        .iter()
        .zip(&inputs)
        .flat_map(|(case, inputs)| inputs.iter().flatten().map(|input| Case { input, ..*case }));
    let asked: Vec<Case<'_>> = asked.collect();
    let points: Vec<Point> = (0..asked.len()).map(|case| Point::Along(case, 1.0)).collect();
    let values = value_at_points(model, &asked, &points, spec.integrated_gradients.baseline, pulse)?;
    let mut values = values.chunks_exact(Erasure::Deleted(Eraser::Eraser).passes());
    let loss = |v: &[f64]| {
        let sizes: Vec<(f64, f64)> = v[1..].chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
        over_sizes(v[0], &sizes)
    };
    Ok(inputs.iter().map(|inputs| inputs.as_ref().and_then(|_| loss(values.next()?))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Reader;
    use crate::sentence::own;
    use base::pulse::NoPulse;
    use model::Device;

    /// The probability of an answer given the text reduced to the words `kept`.
    fn without(model: &Model, words: &[&str], kept: &[usize], answer: &str) -> f64 {
        let text: Vec<&str> = kept.iter().map(|w| words[*w]).collect();
        let input = Reader::new(model).unwrap().read(&own(&text.join(" "), Some(answer)).unwrap()).unwrap().unwrap();
        predict(model, &[&input], TOKENS_PER_BATCH, &mut NoPulse).unwrap()[0].answer_probability.unwrap()
    }

    /// Checks ERASER's measures against texts whose words were deleted by hand.
    #[test]
    fn deleted_words_are_removed_from_the_text() {
        for name in ["bert-tiny", "gpt2-tiny"] {
            let model = Model::load(&name.parse().unwrap(), Device::Cpu).unwrap();
            let words = ["The", "old", "capital", "of", "France", "is", "[MASK]"];
            let sentence = own(&words.join(" "), Some("red")).unwrap();
            let input = Reader::new(&model).unwrap().read(&sentence).unwrap().unwrap();
            assert_eq!((input.answer.len(), input.slots.len()), (1, 1), "{name}");
            let case = Case { input: &input, predicted: &input.answer, name: "" };
            // Of six ranked words, one is deleted at 1, 5 and 10 %, two at 20 %, three at 50 %.
            let ranking = [4, 2, 5, 0, 1, 3];
            let found = deleted(&model, &[case], &[(&ranking, 2)], &Spec::shipped(), &mut NoPulse).unwrap();
            let p = |kept: &[usize]| without(&model, &words, kept, "red");
            let (whole, one, no_one) = (p(&[0, 1, 2, 3, 4, 5, 6]), p(&[4, 6]), p(&[0, 1, 2, 3, 5, 6]));
            let (two, no_two) = (p(&[2, 4, 6]), p(&[0, 1, 3, 5, 6]));
            let (three, no_three) = (p(&[2, 4, 5, 6]), p(&[0, 1, 3, 6]));
            let found = found[0].unwrap();
            let alone = (3.0 * one + two + three) / 5.0;
            assert!((found.sufficiency - (whole - alone)).abs() < 1e-6, "{name}: {found:?}");
            let left = (3.0 * no_one + no_two + no_three) / 5.0;
            assert!((found.comprehensiveness - (whole - left)).abs() < 1e-6, "{name}: {found:?}");
        }
    }

    #[test]
    fn empty_text_has_no_measure() {
        let model = Model::load(&"gpt2-tiny".parse().unwrap(), Device::Cpu).unwrap();
        let input = Reader::new(&model).unwrap().read(&own("France [MASK]", Some("red")).unwrap()).unwrap().unwrap();
        let case = Case { input: &input, predicted: &input.answer, name: "" };
        let found = deleted(&model, &[case], &[(&[0], 1)], &Spec::shipped(), &mut NoPulse).unwrap();
        assert_eq!(found, [None]);
    }
}
