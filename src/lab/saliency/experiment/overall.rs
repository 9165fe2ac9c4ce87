//! Summaries of a model's rows: accuracy, agreement with annotators, agreement with perturbed forms, and differences between methods and
//! models. Means are over inputs. Intervals and tests have originals, each with its partners, as units.

use std::collections::HashMap;
use std::ops::Range;

use super::bench::Bench;
use super::rows::{Gathered, Kept};
use crate::Host;
use crate::finding::{
    ALL, AccuracyFinding, Answers, CorrectnessFinding, DifferenceFinding, InterpretabilityFinding, Kind, RatioFinding,
    Sample,
};
use crate::methods::RANDOM;
use crate::metrics::faithful::Faithfulness;
use crate::metrics::judge::{Judged, Pair, Partner, Rules, Single, judge};
use crate::metrics::ratio::against_ratio;
use crate::metrics::summary::{
    Cell, Keeps, cell, cell_where, change_by_original, change_of_each, contrast, mean_by_original, share_by_original,
};
use crate::metrics::versus::{Metric, versus};
use crate::robust;
use lab::fault::{Fault, problem};
use stats::Estimate;
use stats::paired::Differences;

/// Number of bins in the curve over the rationale ratio.
const BINS: usize = 10;

fn rules(bench: &Bench, dimension: &str) -> Rules {
    let membership = bench.spec.metrics.membership;
    Rules { membership, ..Rules::new(bench.size(dimension)) }
}

/// A judged original, with additional data about its rows.
struct Family {
    dimension: String,
    judged: Judged,
    /// Additional data about each row, in the order of [`Self::inputs`].
    rows: Vec<Beside>,
}

/// Data about a row other than its scores.
#[derive(Clone, Copy)]
struct Beside {
    erasure: Option<Faithfulness>,
    complete: Option<bool>,
    sensitivity: Option<f64>,
    /// True if the prediction is the same as for the original.
    same: bool,
}

impl Beside {
    fn of(kept: &Kept, original: &Kept) -> Self {
        let Kept { erasure, complete, sensitivity, .. } = *kept;
        Self { erasure, complete, sensitivity, same: kept.said == original.said }
    }
}

impl Family {
    /// The original and its partners, each with its kind of perturbation (empty for the original).
    fn inputs(&self) -> impl Iterator<Item = (&Single, &str)> {
        let partners = self.judged.pairs.iter().map(|p| (&p.single, p.perturbation.as_str()));
        std::iter::once((&self.judged.original, "")).chain(partners)
    }
}

/// Every original that has a row for the method, with the rows of its partners.
fn families(bench: &Bench, rows: &[Option<Kept>]) -> Result<Vec<Family>, Fault> {
    let mut found = Vec::new();
    for range in &bench.families {
        let Some(original) = rows[range.start].as_ref() else { continue };
        let dimension = &bench.sentences[range.start].dimension;
        let mut all = vec![Beside::of(original, original)];
        let (mut partners, mut missing) = (Vec::new(), Vec::new());
        let others = range.start + 1..range.end;
        for (sentence, row) in bench.sentences[others.clone()].iter().zip(&rows[others]) {
            let kind = sentence.perturbation.clone().unwrap_or_default();
            match row {
                Some(kept) => {
                    all.push(Beside::of(kept, original));
                    partners.push(Partner {
                        scored: kept.scored.clone(),
                        perturbation: kind,
                        alignment: sentence.alignment.clone(),
                    });
                }
                None => missing.push(kind),
            }
        }
        let judged = judge(&original.scored, &partners, &rules(bench, dimension));
        let id = &bench.sentences[range.start].sentence;
        let told = |e| problem(&format!("sentence {id}: {e}"), "data", "correct the alignment");
        let judged = Judged { missing, ..judged.map_err(told)? };
        found.push(Family { dimension: dimension.clone(), judged, rows: all });
    }
    Ok(found)
}

/// Kinds of perturbation in the data, in order of first appearance.
fn kinds(bench: &Bench) -> Vec<String> {
    let mut kinds: Vec<String> = Vec::new();
    for kind in bench.sentences.iter().filter_map(|s| s.perturbation.as_ref()) {
        if !kinds.contains(kind) {
            kinds.push(kind.clone());
        }
    }
    kinds.sort();
    kinds
}

/// Reports everything measured so far for a model.
pub(crate) fn tell(
    bench: &Bench,
    k: usize,
    gathered: &Gathered,
    is_final: bool,
    host: &mut Host<'_>,
) -> Result<(), Fault> {
    tell_accuracy(bench, k, gathered, is_final, host)?;
    for m in 0..bench.members[k].methods.len() {
        host.poll()?;
        tell_method(bench, (k, m), gathered, is_final, host)?;
    }
    Ok(())
}

/// The inputs for which a share of right answers is computed.
#[derive(Clone, Copy)]
struct Group<'a> {
    sample: Option<Sample>,
    kind: Option<&'a str>,
}

/// True if the first answer is right, and true if one of the first three answers is.
type Right = (bool, bool);

impl Group<'_> {
    /// The answers to an original and to its partners in the group.
    fn of(self, bench: &Bench, family: &Range<usize>, gathered: &Gathered) -> Vec<Right> {
        let is_kind = |s: usize| self.kind.is_none_or(|kind| bench.sentences[s].perturbation.as_deref() == Some(kind));
        let asked = |s: usize| gathered.right[s].is_some();
        let has_partner = family.clone().any(|s| s != family.start && is_kind(s) && asked(s));
        let counts = |s: usize| match (self.sample, s == family.start) {
            (Some(Sample::Original), true) => self.kind.is_none() || has_partner,
            (Some(Sample::Original), false) | (Some(_), true) => false,
            _ => is_kind(s),
        };
        family.clone().filter(|s| counts(*s)).filter_map(|s| gathered.right[s]).collect()
    }
}

fn numbers(each: &[Vec<Right>], of: fn(&Right) -> bool) -> Vec<Vec<f64>> {
    each.iter().map(|e| e.iter().map(|r| f64::from(u8::from(of(r)))).collect()).collect()
}

fn tell_accuracy(
    bench: &Bench,
    k: usize,
    gathered: &Gathered,
    is_final: bool,
    host: &mut Host<'_>,
) -> Result<(), Fault> {
    let (member, level) = (&bench.members[k], bench.spec.interval.level);
    let kinds = kinds(bench);
    let of = |sample| {
        let each = kinds.iter().map(|kind| Some(kind.as_str()));
        std::iter::once(None).chain(each).map(move |kind| Group { sample: Some(sample), kind })
    };
    let groups: Vec<Group<'_>> = std::iter::once(Group { sample: None, kind: None })
        .chain(of(Sample::Original))
        .chain(of(Sample::Perturbed))
        .collect();
    for dimension in bench.dimensions.iter().map(String::as_str).chain([ALL]) {
        let mine: Vec<&Range<usize>> = bench
            .families
            .iter()
            .filter(|f| dimension == ALL || bench.sentences[f.start].dimension == dimension)
            .filter(|f| Range::clone(f).any(|s| gathered.right[s].is_some()))
            .collect();
        let right =
            |group: Group<'_>| -> Vec<Vec<Right>> { mine.iter().map(|f| group.of(bench, f, gathered)).collect() };
        for group in &groups {
            let each = right(*group);
            let share = |of: fn(&Right) -> bool| share_by_original(&numbers(&each, of), level);
            let Some((top1, top3)) = share(|r| r.0).zip(share(|r| r.1)) else { continue };
            let change = (group.sample == Some(Sample::Perturbed) && group.kind.is_some()).then(|| {
                let before = numbers(&right(Group { sample: Some(Sample::Original), ..*group }), |r| r.0);
                change_by_original([&before, &numbers(&each, |r| r.0)], level)
            });
            let found = AccuracyFinding {
                dimension: dimension.to_owned(),
                sample: group.sample.map_or(ALL, Sample::name).to_owned(),
                perturbation: group.kind.unwrap_or(ALL).to_owned(),
                top1,
                top3,
                change: change.flatten(),
            };
            let n = each.iter().map(Vec::len).sum();
            host.find(member.label.finding(n, is_final, host.elapsed(), Kind::Accuracy(found)))?;
        }
    }
    Ok(())
}

fn tell_method(
    bench: &Bench,
    (k, m): (usize, usize),
    gathered: &Gathered,
    is_final: bool,
    host: &mut Host<'_>,
) -> Result<(), Fault> {
    let (member, level) = (&bench.members[k], bench.spec.interval.level);
    let method = member.methods[m].id();
    let alpha = rules(bench, "").alpha;
    let all = families(bench, &gathered.rows[m])?;
    let answers = bench.sentences.iter().zip(&gathered.right);
    let right = answers.filter_map(|(s, right)| Some((s.sentence.as_str(), right.as_ref()?.0))).collect();
    for dimension in bench.dimensions.iter().map(String::as_str).chain([ALL]) {
        let mine: Vec<&Family> = all.iter().filter(|f| dimension == ALL || f.dimension == dimension).collect();
        if mine.is_empty() {
            continue;
        }
        let judged: Vec<&Judged> = mine.iter().map(|f| &f.judged).collect();
        for kind in std::iter::once(None).chain(kinds(bench).into_iter().map(Some)) {
            let cell = cell(&judged, kind.as_deref(), alpha, level);
            if kind.is_some() && cell.pairs == 0 {
                continue;
            }
            let place = (dimension, kind.as_deref(), method);
            let (found, n) = interpretability(bench, &mine, place, &|_, _| true, cell);
            host.find(member.label.finding(n, is_final, host.elapsed(), Kind::Interpretability(Box::new(found))))?;
            // The comparison is made once, on all sentences.
            let parts = if is_final { by_answers(bench, &mine, place, &right, alpha) } else { Vec::new() };
            for (found, n) in parts {
                host.find(member.label.finding(n, true, host.elapsed(), Kind::Correctness(Box::new(found))))?;
            }
        }
        for bin in against_ratio(&judged, BINS, alpha, level) {
            let Some(ratio) = bin.ratio.map(|r| r.mean) else { continue };
            let found = RatioFinding {
                dimension: dimension.to_owned(),
                method: method.to_owned(),
                from: bin.from,
                to: bin.to,
                ratio,
                token_f1: bin.token_f1,
                random_f1: bin.random_f1,
                map: bin.map,
                random_map: bin.random_map,
                originals: Some(bin.originals),
            };
            let n = bin.originals + bin.pairs;
            host.find(member.label.finding(n, is_final, host.elapsed(), Kind::Ratio(found)))?;
        }
    }
    Ok(())
}

/// Dimension, kind of perturbation (`None` for all) and method that define a cell.
type Place<'a> = (&'a str, Option<&'a str>, &'a str);

/// Splits a cell by whether answers are right (`right` is indexed by sentence). Each part has its number of inputs or pairs.
fn by_answers(
    bench: &Bench,
    families: &[&Family],
    place: Place<'_>,
    right: &HashMap<&str, bool>,
    alpha: f64,
) -> Vec<(CorrectnessFinding, usize)> {
    let level = bench.spec.interval.level;
    let judged: Vec<&Judged> = families.iter().map(|f| &f.judged).collect();
    let is = |answers: Answers| {
        move |a: &Single, b: &Single| {
            let both = right.get(a.id.as_str()).zip(right.get(b.id.as_str()));
            both.is_some_and(|(a, b)| match answers {
                Answers::Right => *a && *b,
                Answers::Wrong => !*a && !*b,
                Answers::Changed => a != b,
            })
        }
    };
    let part = |answers: Answers| {
        let keeps = is(answers);
        let cell = cell_where(&judged, place.1, &keeps, (alpha, level));
        let pairs = cell.pairs;
        let (numbers, inputs) = interpretability(bench, families, place, &keeps, cell);
        let gaps = match answers {
            Answers::Right => contrast(&judged, place.1, [&keeps, &is(Answers::Wrong)], level),
            Answers::Wrong | Answers::Changed => [None, None],
        };
        let [f1_gap, map_gap] = gaps.map(|g| g.map(|(gap, _)| gap));
        let f1_gap_p = gaps[0].map(|(_, p)| p);
        let n = if answers == Answers::Changed { pairs } else { inputs };
        (CorrectnessFinding { answers, f1_gap, f1_gap_p, map_gap, numbers }, n)
    };
    Answers::ALL.map(part).into_iter().filter(|(_, n)| *n > 0).collect()
}

/// Converts a part of a cell to a finding, with its number of inputs.
fn interpretability(
    bench: &Bench,
    families: &[&Family],
    (dimension, kind, method): Place<'_>,
    keeps: Keeps<'_>,
    cell: Cell,
) -> (InterpretabilityFinding, usize) {
    let level = bench.spec.interval.level;
    let rows = |f: &Family| -> Vec<Beside> {
        let belongs = |(input, of): (&Single, &str)| kind.is_none_or(|kind| of == kind) && keeps(input, input);
        f.inputs().zip(&f.rows).filter(|(input, _)| belongs(*input)).map(|(_, row)| *row).collect()
    };
    let rows: Vec<_> = families.iter().map(|f| rows(f)).collect();
    let erased = |of: fn(&Faithfulness) -> f64| {
        let each: Vec<Vec<f64>> =
            rows.iter().map(|rows| rows.iter().filter_map(|r| r.erasure.as_ref().map(of)).collect()).collect();
        change_of_each(&each, level)
    };
    let incomplete = rows.iter().flatten().filter(|r| r.complete == Some(false)).count();
    let sensitivity: Vec<Vec<f64>> =
        rows.iter().map(|rows| rows.iter().filter_map(|r| r.sensitivity).collect()).collect();
    let lowest = |f: &&Family| {
        let pairs = f.judged.pairs.iter().zip(&f.rows[1..]);
        let kept = |p: &Pair| kind.is_none_or(|kind| p.perturbation == kind) && keeps(&f.judged.original, &p.single);
        let maps = pairs.filter(|(p, row)| row.same && kept(p)).map(|(p, _)| p.map);
        maps.reduce(f64::min).into_iter().collect::<Vec<f64>>()
    };
    let asked = bench.spec.saliency.robustness;
    let lowest: Vec<Vec<f64>> = families.iter().filter(|_| asked).map(lowest).collect();
    let n = rows.iter().map(Vec::len).sum();
    let found = InterpretabilityFinding {
        dimension: dimension.to_owned(),
        perturbation: kind.unwrap_or(ALL).to_owned(),
        method: method.to_owned(),
        token_f1: cell.token_f1,
        random_f1: cell.random_f1,
        f1_above: cell.f1_above,
        map: cell.map,
        random_map: cell.random_map,
        pcc: cell.pcc,
        pcc_all: cell.pcc_all,
        pcc_kept: cell.pcc_kept,
        pcc_total: cell.pcc_total,
        pcc_undefined: cell.pcc_undefined.constant + cell.pcc_undefined.few,
        map_star: cell.map_star,
        f1_delta: cell.f1_delta.map(|d| d.absolute),
        f1_delta_signed: cell.f1_delta.map(|d| d.signed),
        f1_delta_pairs: cell.f1_delta.map(|d| d.by_pair),
        ratio: cell.ratio.map(|r| r.mean),
        sufficiency: erased(|f| f.sufficiency),
        comprehensiveness: erased(|f| f.comprehensiveness),
        sensitivity: mean_by_original(&sensitivity, (0.0, robust::MOST), level),
        stability: mean_by_original(&lowest, (0.0, 1.0), level),
        pairs: cell.pairs,
        missing: cell.missing,
        originals: cell.originals,
        incomplete,
    };
    (found, n)
}

/// Compares methods within each model, and models with the same method, over all dimensions.
pub(crate) fn compare(bench: &Bench, gathered: &[Gathered], host: &mut Host<'_>) -> Result<(), Fault> {
    let mut all: Vec<(String, usize, &str, Vec<Family>)> = Vec::new();
    for (k, (member, of)) in bench.members.iter().zip(gathered).enumerate() {
        for (method, rows) in member.methods.iter().zip(&of.rows) {
            all.push((format!("{} {}", member.name, method.id()), k, method.id(), families(bench, rows)?));
        }
    }
    for (i, a) in all.iter().enumerate() {
        for b in &all[i + 1..] {
            // Only two methods of one model, or one method of two models, are compared; a difference in both could not be interpreted.
            if (a.1 == b.1) == (a.2 == b.2) {
                continue;
            }
            // Comparing two random rankings would only add to the number of tests for which p-values are corrected.
            if a.2 == RANDOM && b.2 == RANDOM {
                continue;
            }
            host.poll()?;
            let of = |families: &'_ [Family]| families.iter().map(|f| f.judged.clone()).collect::<Vec<_>>();
            let (first, second) = (of(&a.3), of(&b.3));
            let (first, second): (Vec<&Judged>, Vec<&Judged>) = (first.iter().collect(), second.iter().collect());
            for metric in Metric::ALL {
                let Some(v) = versus(&first, &second, metric, bench.spec.interval.level) else { continue };
                let test = "t test over originals";
                tell_difference(bench, (&a.0, &b.0, metric.name()), (v.difference, v.p, test), v.originals, host)?;
            }
        }
    }
    compare_accuracy(bench, gathered, host)
}

fn compare_accuracy(bench: &Bench, gathered: &[Gathered], host: &mut Host<'_>) -> Result<(), Fault> {
    for (i, a) in gathered.iter().enumerate() {
        for (j, b) in gathered.iter().enumerate().skip(i + 1) {
            let mut differences = Differences::default();
            for family in &bench.families {
                let both = |s: usize| Some((a.right[s]?.0, b.right[s]?.0));
                let pairs: Vec<(bool, bool)> = family.clone().filter_map(both).collect();
                if !pairs.is_empty() {
                    let each = pairs.iter().map(|(a, b)| f64::from(u8::from(*a)) - f64::from(u8::from(*b)));
                    differences.sums.push(each.sum());
                    differences.sizes.push(pairs.len() as f64);
                }
            }
            let n = differences.sums.len();
            if n > 1 {
                let found = (differences.interval(bench.spec.interval.level), differences.p(), "t test over originals");
                let names = (bench.members[i].name.as_str(), bench.members[j].name.as_str(), "top1");
                tell_difference(bench, names, found, n, host)?;
            }
        }
    }
    Ok(())
}

fn tell_difference(
    bench: &Bench,
    (a, b, metric): (&str, &str, &str),
    (difference, p, test): (Estimate, f64, &str),
    n: usize,
    host: &mut Host<'_>,
) -> Result<(), Fault> {
    let found = DifferenceFinding {
        a: a.to_owned(),
        b: b.to_owned(),
        metric: metric.to_owned(),
        difference,
        p,
        test: test.to_owned(),
    };
    Ok(host.find(bench.label.finding(n, true, host.elapsed(), Kind::Difference(found)))?)
}
