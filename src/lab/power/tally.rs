//! Counts of compared items. They suffice to compute results for a different level, power, margin or pilot size, without the items or a
//! model.

use serde::{Deserialize, Serialize};

use super::compare::{Names, of_tally};
use super::finding::{ComparisonFinding, PowerFinding, RequiredFinding, SequentialFinding, TallyFinding};
use super::pilot::Pilot;
use super::question::Adjust;
use super::results::{Answer, Results};
use super::spec::Spec;
use lab::SpecFields;
use lab::Tagged;
use stats::joint::{Joint, Units};
use stats::paired::{Shift, Table};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    pub items: usize,
    /// The table for each seed; empty for non-binary metrics.
    pub tables: Vec<Table>,
    /// Mean of the first side minus mean of the second, by seed.
    pub gaps: Vec<f64>,
    /// The mean difference over independent units; `None` for one run on independent items, for which the table suffices.
    pub shift: Option<Shift>,
    /// True if the units are clusters of items.
    pub clustered: bool,
    /// True if the sides have different items.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub apart: bool,
    /// Counts of the units if every value is right or wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub units: Option<Units>,
}

impl Tally {
    /// Counts of right and wrong by unit; `None` for one run on independent items and for non-binary metrics.
    pub fn joint(&self) -> Option<Joint> {
        Some(Joint { table: self.total(), shift: self.shift?, units: self.units? })
    }

    /// The tables of all seeds, added up.
    pub fn total(&self) -> Table {
        self.tables.iter().fold(Table::default(), |sum, t| Table {
            both: sum.both + t.both,
            only_a: sum.only_a + t.only_a,
            only_b: sum.only_b + t.only_b,
            neither: sum.neither + t.neither,
        })
    }
}

/// Numbers of items at which tallies are reported: doubling up to all items.
pub fn places(n: usize) -> Vec<usize> {
    let doubling = std::iter::successors(Some(16usize), |at| at.checked_mul(2));
    doubling.take_while(|at| *at < n).chain((n > 0).then_some(n)).collect()
}

/// The comparison, power curve and requirements for a spec.
pub fn told(
    tally: &Tally,
    names: &Names,
    spec: &Spec,
    parameters: Option<u64>,
) -> (ComparisonFinding, Vec<PowerFinding>, Option<RequiredFinding>) {
    let comparison = of_tally(tally, names, spec.terms());
    let Some(pilot) = Pilot::of_tally(tally, spec.interval.level) else {
        return (comparison, Vec::new(), None);
    };
    let aim = spec.aim();
    let n_test = pilot.required(aim);
    let curve = pilot.curve((&names.a, &names.b), aim, n_test.mean);
    let (n_train, n_total) = spec.recommended(comparison.difference.mean, parameters);
    let band = pilot.power(pilot.n as u64, aim).ok().map(|p| p.0);
    let required = RequiredFinding {
        a: names.a.clone(),
        b: names.b.clone(),
        target: aim.target,
        alpha: aim.level,
        n_test,
        mde: pilot.detectable(aim),
        power: band.map_or(0.0, |p| p.mean),
        band,
        design: pilot.design(),
        trained: None,
        n_train,
        n_total,
        bound: parameters.map(|_| spec.test.bound.name().to_owned()),
        parameters,
    };
    (comparison, curve, Some(required))
}

/// Results of a run with different settings of the test, computed from its findings; `None` if they contain no tally.
pub fn under(results: &Results, ran: &Spec, asked: &Adjust) -> Option<Answer> {
    let most = asked.pilot.unwrap_or(usize::MAX);
    let fits = results.tallies.iter().rev().find(|t| t.value.tally.items <= most);
    let at = fits.or(results.tallies.first())?;
    let spec = asked.of(ran);
    let v = &at.value;
    let names = Names { a: v.a.clone(), b: v.b.clone(), metric: v.metric.clone() };
    let ran = results.required.as_ref().map(|r| &r.value);
    let parameters = ran.and_then(|r| r.parameters);
    let (mut comparison, curve, required) = told(&v.tally, &names, &spec, parameters);
    let trained = ran.and_then(|r| r.trained);
    let required = required.map(|r| RequiredFinding { trained, ..r });
    // Resampling needs the items themselves. It does not depend on the settings of the test, unless there are fewer items.
    let whole = results.comparisons.last().filter(|c| c.n == v.tally.items);
    comparison.bootstrap = whole.and_then(|c| c.value.bootstrap);
    if let Some(whole) = whole {
        (comparison.holm_p, comparison.bh_q) = (whole.value.holm_p, whole.value.bh_q);
        comparison.family = whole.value.family;
        comparison.equivalence_holm_p = Some((comparison.family as f64 * comparison.equivalence_p).min(1.0));
    }
    let hash = spec.hash();
    let sizes = results.sizes.iter().filter_map(|size| {
        let whole = results.wholes.iter().find(|w| w.n == size.n)?;
        let (_, _, required) = told(&whole.value.tally, &names, &spec, size.value.parameters);
        Some(carried(whole, &hash, RequiredFinding { trained: size.value.trained, ..required? }))
    });
    let sizes = sizes.collect();
    let sequential = results.sequential.iter().filter(|s| s.value.at_n as usize <= v.tally.items);
    Some(Answer {
        ticket: 0,
        comparison: Some(carried(at, &hash, comparison)),
        power: curve.into_iter().map(|p| carried(at, &hash, p)).collect(),
        required: required.map(|r| carried(at, &hash, r)),
        sizes,
        sequential: sequential.map(|s| carried(at, &hash, stopping(&s.value, asked.alpha))).collect(),
    })
}

/// A value with the provenance of its tally.
fn carried<T>(from: &Tagged<TallyFinding>, spec: &str, value: T) -> Tagged<T> {
    Tagged {
        spec: spec.to_owned(),
        model: from.model.clone(),
        seed: from.seed,
        n: from.value.tally.items,
        is_final: from.is_final,
        t: from.t,
        level: from.level,
        value,
    }
}

/// A step of the sequential test, re-evaluated at a different level.
fn stopping(step: &SequentialFinding, alpha: f64) -> SequentialFinding {
    let may_stop = step.largest.map_or(step.may_stop, |largest| largest >= -alpha.ln());
    SequentialFinding { may_stop, ..step.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Finding;
    use crate::Kind;
    use crate::compare::compare;
    use crate::pairs::Pairs;
    use lab::finding::{Body, Label};

    fn pairs(n: usize, seeds: usize) -> Pairs {
        let side = |k: usize| -> Vec<Vec<f64>> {
            (0..seeds).map(|s| (0..n).map(|i| f64::from(u8::from((i * k + s) % 5 > 1))).collect()).collect()
        };
        Pairs { a: side(3), b: side(7), clusters: None, apart: false }
    }

    fn results(pairs: &Pairs, spec: &Spec) -> Results {
        let names = Names { a: "x".into(), b: "y".into(), metric: "accuracy".into() };
        let label = Label::new(spec, "m");
        let mut results = Results::default();
        for at in places(pairs.n()) {
            let tally = pairs.select(&(0..at).collect::<Vec<_>>()).tally();
            let value = TallyFinding { a: "x".into(), b: "y".into(), metric: "accuracy".into(), tally };
            let finding: Finding = label.finding(pairs.n(), true, 0.0, Kind::Tally(value));
            let Body::Lab(kind) = &finding.body else { unreachable!() };
            results.take(finding.head(), kind);
        }
        let kind = Kind::Comparison(compare(pairs, &names, spec.terms()));
        let finding = label.finding(pairs.n(), true, 0.0, kind.clone());
        results.take(finding.head(), &kind);
        results
    }

    #[test]
    fn other_test_settings_are_answered_from_tallies() {
        for seeds in [1, 3] {
            let (pairs, spec) = (pairs(100, seeds), Spec::shipped());
            let results = results(&pairs, &spec);
            assert_eq!(results.tallies.len(), 4);
            let mut asked = Adjust { alpha: 0.05, target: 0.8, margin: 0.02, pilot: None };
            let same = under(&results, &spec, &asked).unwrap().comparison.unwrap();
            assert_eq!(same.value, results.comparisons[0].value);
            asked.margin = 0.2;
            let wide = under(&results, &spec, &asked).unwrap();
            let c = wide.comparison.unwrap();
            assert!(c.value.equivalence_p < same.value.equivalence_p && c.spec != same.spec);
            asked.target = 0.9;
            let more = under(&results, &spec, &asked).unwrap();
            let n = |a: &Answer| a.required.as_ref().and_then(|r| r.value.n_test.mean);
            assert!(
                n(&more)
                    .zip(n(&under(&results, &spec, &Adjust { target: 0.5, ..asked }).unwrap()))
                    .is_none_or(|(more, less)| more > less)
            );
            asked.pilot = Some(40);
            let fewer = under(&results, &spec, &asked).unwrap().comparison.unwrap();
            assert_eq!(fewer.n, 32);
            assert!(fewer.value.difference.half_width() > c.value.difference.half_width());
        }
        let asked = Adjust { alpha: 0.05, target: 0.8, margin: 0.02, pilot: None };
        assert!(under(&Results::default(), &Spec::shipped(), &asked).is_none());
    }

    #[test]
    fn tally_sizes_double_up_to_all_items() {
        assert_eq!(places(100), [16, 32, 64, 100]);
        assert_eq!((places(16), places(3), places(0)), (vec![16], vec![3], vec![]));
    }
}
