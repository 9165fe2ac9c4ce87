//! Findings from tallies: the scores of a strength over the replicates so far, with both bands.

use std::sync::Arc;

use super::panel::Which;
use super::prepare::Bench;
use crate::assess::{Readable, Strength, bands};
use crate::banded::Banded;
use crate::bench::ModelBehaviour;
use crate::finding::{BehaviourFinding, Beside, Kind, OnFinding, ReliabilityFinding, Told};
use crate::key::MethodKey;
use crate::method::{Goal, Method};
use crate::oracle::OracleOutput;
use crate::score::{counterfactual_completeness, majority, nullifying_completeness, selectivity_floor};
use crate::table::Sweep as Judged;
use crate::tally::Tally;
use lab::plan::Roles;
use probe::Matrix;
use stats::mcnemar;
use stats::replicates::{Bands, exact_floor};
use stats::sweep::largest;

/// Behaviour of the model after one strength with the fit of one panel, by text, in single precision.
#[derive(Debug, Clone, Default)]
pub(crate) struct Behaved {
    flipped: Vec<f32>,
    before: Vec<f32>,
    after: Vec<f32>,
    rank_before: Vec<f32>,
    rank_after: Vec<f32>,
    forms: usize,
}

/// Number of values in [`Behaved`] per text.
const COLUMNS: usize = 5;

impl Behaved {
    pub(crate) fn extend(&mut self, more: &ModelBehaviour) {
        let add = |to: &mut Vec<f32>, from: &[f64]| to.extend(from.iter().map(|v| *v as f32));
        add(&mut self.flipped, &more.flipped);
        add(&mut self.before, &more.correct_before);
        add(&mut self.after, &more.correct_after);
        add(&mut self.rank_before, &more.rank_before);
        add(&mut self.rank_after, &more.rank_after);
        self.forms = more.forms;
    }

    /// Numbers of examples for which the model prefers the correct form only before the intervention, and only after it.
    fn turned(&self) -> (u64, u64) {
        let pairs = || self.before.iter().zip(&self.after).map(|(b, a)| (*b > 0.5, *a > 0.5));
        let count = |wanted| pairs().filter(|pair| *pair == wanted).count() as u64;
        (count((true, false)), count((false, true)))
    }

    /// Change of an example: 1 if the correct form is preferred only after the intervention, -1 if only before, otherwise 0.
    fn change(&self, example: usize) -> i8 {
        i8::from(self.after[example] > 0.5) - i8::from(self.before[example] > 0.5)
    }

    pub(crate) fn len(&self) -> usize {
        self.flipped.len()
    }
}

/// p-value for the hypothesis that the preference changes at no strength, from the model's behaviour at each strength; `None` if a strength
/// is missing.
pub(crate) fn sweep_p(strengths: &[&Behaved], seed: u64) -> Option<f64> {
    let n = strengths.first()?.len();
    let whole = n > 0 && strengths.iter().all(|b| b.len() == n);
    whole.then(|| largest((0..n).map(|i| strengths.iter().map(|b| b.change(i)).collect()), seed))
}

/// A method with its name in findings.
#[derive(Clone)]
pub(crate) struct Named {
    pub method: &'static Method,
    pub key: MethodKey,
}

/// Baselines of scores: means over training runs before any intervention.
#[derive(Debug, Clone, Default)]
pub(crate) struct Baseline {
    c_before: Option<f64>,
    /// Selectivity of a constant answer for each property to keep.
    floors: Vec<Option<f64>>,
}

/// The baselines under oracle `o` for the first `n` test examples. They are means over the same replicates as the point, because with other
/// replicates the baseline would not meet the curve at strength 0.
pub(crate) fn baseline(bench: &Bench, goal: Goal, o: usize, n: usize, replicates: usize) -> Baseline {
    let judges = bench.panels.iter().filter(|p| !matches!(p.which, Which::Rival(_)));
    baseline_of(bench, goal, o, n, judges.take(replicates).map(|p| p.outputs.as_slice()))
}

/// The baselines over training runs, each given by the outputs of its oracles on every chunk.
pub(crate) fn baseline_of<'a>(
    bench: &Bench,
    goal: Goal,
    o: usize,
    n: usize,
    judges: impl Iterator<Item = &'a [Arc<Vec<OracleOutput>>]>,
) -> Baseline {
    let (further, distance) = (bench.further(n), bench.spec.distance);
    let mut answers = vec![majority(&bench.other(n))];
    answers.extend(further.iter().map(|f| majority(&f.values)));
    let classes = bench.labels.target_classes;
    let (mut c, mut count_c) = (0.0, 0usize);
    let mut floors = vec![(0.0, 0usize); answers.len()];
    for outputs in judges {
        let mut at = 0;
        for (chunk, outputs) in bench.chunks.iter().zip(outputs) {
            if at >= n {
                break;
            }
            let output: &OracleOutput = &outputs[o];
            let completeness = match goal {
                Goal::Nullifying => nullifying_completeness(distance, &output.target),
                Goal::Counterfactual => (1..classes)
                    .flat_map(|j| {
                        let wanted: Vec<usize> = chunk.target.iter().map(|y| (y + j) % classes).collect();
                        counterfactual_completeness(distance, &output.target, &wanted)
                    })
                    .collect(),
            };
            count_c += completeness.len();
            c += completeness.iter().sum::<f64>();
            let seen = std::iter::once((&output.other, &chunk.other)).chain(output.further.iter().zip(&chunk.further));
            for (((seen, labels), answer), (s, count)) in seen.zip(&answers).zip(&mut floors) {
                let Some(answer) = *answer else { continue };
                let floor = selectivity_floor(distance, seen, answer);
                for (value, _) in floor.iter().zip(labels).filter(|(_, o)| o.is_some()) {
                    *s += value;
                    *count += 1;
                }
            }
            at += chunk.len();
        }
    }
    let mean = |sum: f64, count: usize| (count > 0).then(|| sum / count as f64);
    let floors = floors.into_iter().map(|(s, count)| mean(s, count)).collect();
    Baseline { c_before: mean(c, count_c), floors }
}

impl Baseline {
    /// The selectivity of a constant answer: the mean over the properties, if all of them have one.
    fn s_floor(&self) -> Option<f64> {
        let known: Option<Vec<f64>> = self.floors.iter().copied().collect();
        known.filter(|k| !k.is_empty()).map(|k| k.iter().sum::<f64>() / k.len() as f64)
    }
}

/// The findings of one strength: reliability under each oracle, then the model's behaviour, each with its n. `tallies` are indexed by
/// replicate and oracle, `behaved` by replicate.
pub(crate) fn kinds(
    bench: &mut Bench,
    named: &Named,
    value: f64,
    tallies: &[&[Tally]],
    behaved: &[&Behaved],
) -> Vec<(Kind, usize)> {
    let mut list = Vec::new();
    let oracles = tallies.first().map_or(0, |t| t.len());
    for o in 0..oracles {
        let mine: Vec<&Tally> = tallies.iter().map(|t| &t[o]).collect();
        let n = mine[0].len();
        let resamples = bench.resamples(n);
        let (other, further) = (bench.other(n), bench.further(n));
        let texts = bench.texts_of(n).map(<[usize]>::to_vec);
        let judged = |k: usize, _: usize| mine[k].judged(&other, &further);
        let classes = bench.labels.other_classes;
        let sweep = Judged {
            values: &[value],
            replicates: mine.len(),
            judged: &judged,
            other: &other,
            classes,
            further: &further,
            texts: texts.as_deref(),
        };
        let Some(all) = bands(&sweep, &resamples, bench.label.level()) else { continue };
        let base = baseline(bench, named.method.goal, o, n, mine.len());
        list.push((Kind::Reliability(reliability(bench, named, o, &all[0], &mine, &base)), n));
    }
    list.extend(behaviour(bench, named, value, behaved));
    list
}

pub(crate) fn reliability(
    bench: &Bench,
    named: &Named,
    o: usize,
    strength: &Strength,
    tallies: &[&Tally],
    base: &Baseline,
) -> ReliabilityFinding {
    let mean = |of: &dyn Fn(&Tally) -> f64| tallies.iter().map(|t| of(t)).sum::<f64>() / tallies.len() as f64;
    let banded = |b: Option<Bands>| b.map_or(Banded::UNKNOWN, Banded::from);
    let readable = strength.readable.as_ref();
    let nullifying = named.method.goal == Goal::Nullifying;
    ReliabilityFinding {
        method: named.key.name.clone(),
        options: named.key.options.clone(),
        layer: bench.site.layer,
        oracle: bench.panels[0].oracles[o].kind,
        oracle_layer: bench.site.oracle_layer,
        parameter: named.method.parameter.name.to_owned(),
        value: strength.value,
        completeness: strength.completeness.into(),
        selectivity: banded(strength.selectivity),
        reliability: banded(strength.reliability),
        n_c: strength.n_c,
        n_s: strength.n_s,
        mean_harmonic: mean(&Tally::mean_harmonic),
        completeness_prior: nullifying.then(|| mean(&|t| t.prior().unwrap_or(f64::NAN))),
        beside: Beside {
            replicates: tallies.len(),
            texts: bench.texts.is_some().then_some(strength.units),
            provisional: bench.panels[0].which == Which::Provisional,
            s_floor: base.s_floor(),
            s_by_class: strength.selectivity_by_class.map(Banded::from),
            c_on_s: strength.completeness_where_selective.map(Banded::from),
            c_predicted: (!nullifying).then(|| mean(&Tally::predicted)),
            c_before: base.c_before,
            ze_balanced_accuracy: readable.map(|r: &Readable| r.balanced),
            ze_confusion: confusion(tallies),
            eligible: strength.eligible(),
            selectivities: selectivities(bench, strength, base),
        },
    }
}

/// Selectivity by property, if there are several.
fn selectivities(bench: &Bench, strength: &Strength, base: &Baseline) -> Vec<OnFinding> {
    let further = (0..bench.labels.further.len()).map(Roles::Further);
    let roles = std::iter::once(Roles::Other).chain(further);
    let each = roles.zip(&strength.kept).zip(&base.floors);
    each.map(|((role, kept), floor)| OnFinding {
        property: bench.property(role).to_owned(),
        selectivity: kept.selectivity.map_or(Banded::UNKNOWN, Banded::from),
        n: kept.n,
        s_floor: *floor,
        balanced_accuracy: kept.readable.as_ref().map(|r| r.balanced),
        eligible: kept.readable.as_ref().is_some_and(|r| r.eligible),
    })
    .collect()
}

fn confusion(tallies: &[&Tally]) -> Vec<Vec<f64>> {
    let mut sum = tallies[0].confusion().to_vec();
    for more in &tallies[1..] {
        for (row, more) in sum.iter_mut().zip(more.confusion()) {
            row.iter_mut().zip(more).for_each(|(a, b)| *a += b);
        }
    }
    let share = 1.0 / tallies.len() as f64;
    // Counts are multiples of halves and thirds, so four decimals are enough.
    let rounded = |v: f64| (v * share * 1e4).round() / 1e4;
    sum.into_iter().map(|row| row.into_iter().map(rounded).collect()).collect()
}

/// Behaviour of the model after one strength, averaged over the method's training runs.
pub(crate) fn behaviour(bench: &mut Bench, named: &Named, value: f64, behaved: &[&Behaved]) -> Option<(Kind, usize)> {
    let n = behaved.first().map(|b| b.len()).filter(|n| *n > 0)?;
    let level = bench.label.level();
    let resamples = bench.resamples_of(n);
    let columns = Matrix::from_fn(n, COLUMNS * behaved.len(), |i, j| {
        let b = behaved[j / COLUMNS];
        [&b.flipped, &b.before, &b.after, &b.rank_before, &b.rank_after][j % COLUMNS][i]
    });
    let means: Vec<f64> =
        (0..columns.cols()).map(|j| columns.iter_rows().map(|row| f64::from(row[j])).sum::<f64>() / n as f64).collect();
    let apart = Matrix::from_fn(n, columns.cols(), |i, j| columns.row(i)[j] - means[j] as f32);
    let all = [(0..n).collect::<Vec<usize>>()];
    let drawn: Vec<Vec<f64>> = resamples.block_sums(&apart, &all, |_, sums| {
        sums.iter().zip(&means).map(|(s, m)| m + f64::from(*s) / n as f64).collect()
    });
    let banded = |which: usize| {
        let theta: Vec<f64> = means.iter().skip(which).step_by(COLUMNS).copied().collect();
        let draws: Vec<f64> = drawn.iter().flat_map(|row| row.iter().skip(which).step_by(COLUMNS)).copied().collect();
        let column = |j: usize| columns.iter_rows().map(move |row| row[COLUMNS * j + which]);
        let constant = (0..theta.len()).all(|j| column(j).all(|v| v == columns.row(0)[COLUMNS * j + which]));
        let bands = Bands::new(&theta, &draws, level);
        let floored = bands.map(|b| b.floored(exact_floor(b.narrow.mean, n, constant, level)));
        floored.map_or(Banded::UNKNOWN, Banded::from)
    };
    let (lost, won) = behaved[0].turned();
    let kind = Kind::Behaviour(BehaviourFinding {
        method: named.key.name.clone(),
        options: named.key.options.clone(),
        layer: bench.site.layer,
        parameter: named.method.parameter.name.to_owned(),
        value,
        flip_rate: banded(0),
        correct_before: banded(1),
        correct_after: banded(2),
        replicates: behaved.len(),
        told: Some(Told {
            rank_before: banded(3),
            rank_after: banded(4),
            forms: behaved[0].forms,
            lost,
            won,
            p: mcnemar::exact(lost, won),
            sweep_p: None,
        }),
    });
    Some((kind, n))
}
