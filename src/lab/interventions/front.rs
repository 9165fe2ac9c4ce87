//! The Pareto front of completeness and selectivity over the settings of all methods, and the settings that others dominate.
//!
//! Scores are estimates, and the outermost of many noisy points form a spurious front. So one setting dominates another only if the
//! intervals show it. On one axis (completeness or selectivity), the lower end of the first setting's interval must exceed the upper end of
//! the second setting's interval by more than [`MARGIN`]. On the other axis, it must not be below that upper end by more than [`MARGIN`].
//! Separate intervals require a larger difference than a paired test would, which also guards against false positives among the many pairs.
//!
//! Of the settings that are not dominated, the front contains those whose pair of means no other setting beats; the rest cannot be
//! distinguished from the front. Dominance has no cycles, because along a cycle each score would have to fall by more than it rises. If the
//! oracle no longer reads the other property after an edit, selectivity is that of a constant answer. Such a setting is not on the front
//! and dominates nothing.
//!
//! The knee is the setting furthest above the straight line between the front's ends (Das 1999).

use lab::Columns;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use super::banded::Banded;
use super::finding::ReliabilityFinding;
use super::key::MethodKey;
use super::oracle::OracleKind;
use stats::Estimate;

/// Maximum difference in completeness or selectivity at which two settings count as equally good.
pub const MARGIN: f64 = 0.01;

/// The rule on one line, for figures and tables.
pub const RULE: &str = "dominated: another setting is better by more than .01 on one axis and not worse by more than .01 on the other, judged by the ends of the intervals";

/// Caveat for figures and the screen if the front contains both kinds of method.
pub const MIXED: &str =
    "toward another value for counterfactual methods, toward no value for nullifying ones: two definitions on one axis";

/// Position of a setting relative to the front.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    Front,
    /// Another setting has better means, but the intervals do not show that it is better.
    Open,
    /// Dominated by another setting.
    Dominated,
    /// Not rated: the oracle no longer reads the other property, or no example has it.
    Unread,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Front {
    /// Standing of each setting, in order.
    pub(crate) standings: Vec<Standing>,
    /// Indices of the settings on the front, in order of increasing completeness.
    pub order: Vec<usize>,
    pub knee: Result<Knee, NoKnee>,
}

/// The setting with the best trade-off: in either direction along the front, moving away from it costs most.
#[derive(Debug, Clone, PartialEq)]
pub struct Knee {
    /// Index among the settings.
    pub at: usize,
    /// Distance above the line between the front's ends, in units of the scores. Its interval combines those of completeness and
    /// selectivity; the line is treated as exact.
    pub distance: Estimate,
    /// Number of other settings on the front whose distance does not differ within the intervals.
    pub ties: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoKnee {
    /// The front has only two ends.
    #[error("the front has fewer than three different settings")]
    Few,
    /// The front is straight within the intervals.
    #[error("no setting is above the line between the front's ends by more than its interval")]
    Straight,
}

/// Completeness and selectivity of a rated setting.
type Scores = (Estimate, Estimate);

fn rated(p: &ReliabilityFinding) -> Option<Scores> {
    let (c, s) = (p.completeness.estimate(), p.selectivity.estimate());
    let known = [c.lo, c.mean, c.hi, s.lo, s.mean, s.hi].iter().all(|v| v.is_finite());
    (known && p.beside.eligible != Some(false)).then_some((c, s))
}

fn dominates(a: &Scores, b: &Scores) -> bool {
    let better = |a: &Estimate, b: &Estimate| a.lo > b.hi + MARGIN;
    let not_worse = |a: &Estimate, b: &Estimate| a.lo >= b.hi - MARGIN;
    (better(&a.0, &b.0) && not_worse(&a.1, &b.1)) || (better(&a.1, &b.1) && not_worse(&a.0, &b.0))
}

/// True if neither mean of `a` is below the corresponding mean of `b`, and one is higher.
fn above(a: &Scores, b: &Scores) -> bool {
    let (dc, ds) = (a.0.mean - b.0.mean, a.1.mean - b.1.mean);
    dc >= 0.0 && ds >= 0.0 && dc + ds > 0.0
}

impl Front {
    /// The front of settings judged by one oracle in one model.
    pub fn of(settings: &[&ReliabilityFinding]) -> Self {
        let scores: Vec<Option<Scores>> = settings.iter().map(|p| rated(p)).collect();
        let known: Vec<Scores> = scores.iter().flatten().copied().collect();
        let beaten = |b: &Scores, by: fn(&Scores, &Scores) -> bool, among: &[Scores]| among.iter().any(|a| by(a, b));
        let left: Vec<Scores> = known.iter().filter(|b| !beaten(b, dominates, &known)).copied().collect();
        let standing = |scores: &Option<Scores>| match scores {
            None => Standing::Unread,
            Some(b) if beaten(b, dominates, &known) => Standing::Dominated,
            Some(b) if beaten(b, above, &left) => Standing::Open,
            Some(_) => Standing::Front,
        };
        let standings: Vec<Standing> = scores.iter().map(standing).collect();
        let mut order: Vec<usize> = (0..standings.len()).filter(|i| standings[*i] == Standing::Front).collect();
        let place = |i: &usize| scores[*i].map_or((0.0, 0.0), |(c, s)| (c.mean, -s.mean));
        order.sort_by(|a, b| {
            let (a, b) = (place(a), place(b));
            a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
        });
        let knee = knee(&order.iter().filter_map(|i| Some((*i, scores[*i]?))).collect::<Vec<_>>());
        Self { standings, order, knee }
    }

    pub fn count(&self, standing: Standing) -> usize {
        self.standings.iter().filter(|s| **s == standing).count()
    }
}

/// The knee of the settings of a front, given in order of increasing completeness.
fn knee(front: &[(usize, Scores)]) -> Result<Knee, NoKnee> {
    let (Some((_, first)), Some((_, last))) = (front.first(), front.last()) else { return Err(NoKnee::Few) };
    let (wide, deep) = (last.0.mean - first.0.mean, first.1.mean - last.1.mean);
    let long = wide.hypot(deep);
    // Equal settings (strength 0 of several methods) count as one point.
    let between =
        front.iter().filter(|(_, p)| [first, last].iter().all(|end| (p.0.mean, p.1.mean) != (end.0.mean, end.1.mean)));
    if long == 0.0 || between.clone().next().is_none() {
        return Err(NoKnee::Few);
    }
    let over = |c: f64, s: f64| (deep * (c - first.0.mean) + wide * (s - first.1.mean)) / long;
    let distances: Vec<(usize, Estimate)> = between
        .map(|(i, (c, s))| {
            let distance = Estimate { mean: over(c.mean, s.mean), lo: over(c.lo, s.lo), hi: over(c.hi, s.hi) };
            (*i, distance)
        })
        .collect();
    let furthest = distances.iter().max_by(|a, b| a.1.mean.total_cmp(&b.1.mean)).ok_or(NoKnee::Few)?;
    let (at, distance) = *furthest;
    if distance.lo <= 0.0 {
        return Err(NoKnee::Straight);
    }
    let ties = distances.iter().filter(|(i, d)| *i != at && d.hi >= distance.lo).count();
    Ok(Knee { at, distance, ties })
}

/// The front of all settings of a run in one model under one oracle. The finding's `n` is the number of test examples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct FrontFinding {
    /// The judging oracle.
    #[id]
    pub oracle: OracleKind,
    /// Layer of the intervention.
    #[id]
    pub layer: usize,
    /// Layer whose hidden states the oracle reads.
    #[id]
    pub oracle_layer: usize,
    /// Number of settings (method, options and strength).
    pub settings: usize,
    /// Margin by which a dominating setting must be better on one score, and up to which it may be worse on the other.
    pub margin: f64,
    /// Number of dominated settings.
    pub dominated: usize,
    /// Number of settings that are neither dominated nor on the front.
    pub open: usize,
    /// Number of settings that are not rated, because the oracle no longer reads the other property.
    pub unread: usize,
    /// The settings on the front, in order of increasing completeness.
    pub front: Vec<FrontSetting>,
    /// The knee of the front; absent if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub knee: Option<KneeFinding>,
    /// The reason why there is no knee.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_knee: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct FrontSetting {
    /// Name of the method in the registry.
    pub method: String,
    /// Hyperparameters that differ from the method's defaults.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, f64>,
    /// Name of the swept hyperparameter.
    pub parameter: String,
    /// Strength of the method.
    pub value: f64,
    /// Mean over all test examples.
    pub completeness: Banded,
    /// Mean over the test examples that have the other property.
    pub selectivity: Banded,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KneeFinding {
    #[serde(flatten)]
    pub setting: FrontSetting,
    /// Distance above the line between the front's ends.
    pub distance: Estimate,
    /// Number of other settings on the front whose distance does not differ within the intervals.
    pub ties: usize,
}

impl FrontSetting {
    fn of(p: &ReliabilityFinding) -> Self {
        Self {
            method: p.method.clone(),
            options: p.options.clone(),
            parameter: p.parameter.clone(),
            value: p.value,
            completeness: p.completeness,
            selectivity: p.selectivity,
        }
    }

    pub fn method_key(&self) -> MethodKey {
        MethodKey { name: self.method.clone(), options: self.options.clone() }
    }
}

impl FrontFinding {
    /// The finding for these settings; `None` without settings.
    pub fn of(settings: &[&ReliabilityFinding]) -> Option<Self> {
        let first = settings.first()?;
        let front = Front::of(settings);
        let (knee, no_knee) = match &front.knee {
            Ok(k) => {
                let setting = FrontSetting::of(settings[k.at]);
                (Some(KneeFinding { setting, distance: k.distance, ties: k.ties }), None)
            }
            Err(e) => (None, Some(e.to_string())),
        };
        Some(Self {
            oracle: first.oracle,
            layer: first.layer,
            oracle_layer: first.oracle_layer,
            settings: settings.len(),
            margin: MARGIN,
            dominated: front.count(Standing::Dominated),
            open: front.count(Standing::Open),
            unread: front.count(Standing::Unread),
            front: front.order.iter().map(|i| FrontSetting::of(settings[*i])).collect(),
            knee,
            no_knee,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    /// A setting with these scores and equal half-widths.
    fn setting(value: f64, c: f64, s: f64, half: f64) -> ReliabilityFinding {
        let around = |m: f64| Estimate { mean: m, lo: m - half, hi: m + half }.into();
        let some = sample::results().curves[0].points[0].value.clone();
        ReliabilityFinding { value, completeness: around(c), selectivity: around(s), ..some }
    }

    fn standings(list: &[ReliabilityFinding]) -> Vec<Standing> {
        Front::of(&list.iter().collect::<Vec<_>>()).standings
    }

    use Standing::{Dominated, Front as On, Open, Unread};

    /// Computed by hand: the ends (.1, .9) and (.9, .1) make the line c + s = 1. (.8, .8) is .6/sqrt(2) above it, (.5, .6) .1/sqrt(2), and
    /// (.8, .8) is better than the latter on both axes.
    #[test]
    fn known_front_knee_and_dominated_settings() {
        let list = [
            setting(1.0, 0.1, 0.9, 0.01),
            setting(2.0, 0.5, 0.6, 0.01),
            setting(3.0, 0.8, 0.8, 0.01),
            setting(4.0, 0.9, 0.1, 0.01),
        ];
        let front = Front::of(&list.iter().collect::<Vec<_>>());
        assert_eq!(front.standings, [On, Dominated, On, On]);
        assert_eq!(front.order, [0, 2, 3]);
        let knee = front.knee.unwrap();
        assert_eq!((knee.at, knee.ties), (2, 0));
        let root = 2.0_f64.sqrt();
        let near = |a: f64, b: f64| (a - b).abs() < 1e-12;
        assert!(near(knee.distance.mean, 0.6 / root), "{knee:?}");
        assert!(near(knee.distance.lo, 0.58 / root) && near(knee.distance.hi, 0.62 / root), "{knee:?}");
        let found = FrontFinding::of(&list.iter().collect::<Vec<_>>()).unwrap();
        assert_eq!((found.settings, found.dominated, found.open, found.unread), (4, 1, 0, 0));
        assert_eq!(found.front.iter().map(|p| p.value).collect::<Vec<_>>(), [1.0, 3.0, 4.0]);
        assert_eq!(found.knee.unwrap().setting.value, 3.0);
    }

    #[test]
    fn overlapping_intervals_give_no_dominance_and_no_knee() {
        let list = |half: f64| {
            [
                setting(1.0, 0.1, 0.9, half),
                setting(2.0, 0.5, 0.51, half),
                setting(3.0, 0.52, 0.54, half),
                setting(4.0, 0.9, 0.1, half),
            ]
        };
        assert_eq!(standings(&list(0.001)), [On, Dominated, On, On]);
        assert_eq!(standings(&list(0.02)), [On, Open, On, On]);
        let front = |half: f64| Front::of(&list(half).iter().collect::<Vec<_>>());
        assert_eq!(front(0.02).knee.unwrap().at, 2);
        assert_eq!(front(0.04).knee, Err(NoKnee::Straight));
    }

    /// Completeness saturates. Of two settings near 1, the less selective one is dominated even if its completeness is higher by a
    /// thousandth. A thousandth alone makes neither better.
    #[test]
    fn tiny_completeness_gain_does_not_outweigh_selectivity() {
        let list = [setting(1.0, 0.998, 0.8, 0.001), setting(2.0, 0.999, 0.4, 0.001)];
        assert_eq!(standings(&list), [On, Dominated]);
        let near = [setting(1.0, 0.998, 0.8, 0.0001), setting(2.0, 0.999, 0.799, 0.0001)];
        assert_eq!(standings(&near), [On, On]);
    }

    #[test]
    fn constant_answer_is_not_rated() {
        let mut list = [setting(1.0, 0.3, 0.5, 0.01), setting(2.0, 0.9, 0.9, 0.01)];
        list[1].beside.eligible = Some(false);
        assert_eq!(standings(&list), [On, Unread]);
        list[1].beside.eligible = None;
        assert_eq!(standings(&list), [Dominated, On]);
        list[1].selectivity = Banded::UNKNOWN;
        assert_eq!(standings(&list), [On, Unread]);
    }

    #[test]
    fn two_distinct_points_have_no_knee() {
        let list = [setting(0.0, 0.0, 1.0, 0.0), setting(0.0, 0.0, 1.0, 0.0), setting(1.0, 0.9, 0.4, 0.01)];
        let front = Front::of(&list.iter().collect::<Vec<_>>());
        assert_eq!((front.standings, front.knee), (vec![On, On, On], Err(NoKnee::Few)));
        assert_eq!(Front::of(&[]).knee, Err(NoKnee::Few));
        assert_eq!(FrontFinding::of(&[]), None);
    }

    proptest::proptest! {
        #[test]
        fn the_front_is_never_empty(rows in proptest::collection::vec((0.0f64..1.0, 0.0f64..1.0, 0.0f64..0.1), 1..30)) {
            let list: Vec<ReliabilityFinding> = rows.iter().map(|(c, s, h)| setting(1.0, *c, *s, *h)).collect();
            let front = Front::of(&list.iter().collect::<Vec<_>>());
            proptest::prop_assert!(!front.order.is_empty());
            let falling = front.order.windows(2).all(|p| {
                list[p[0]].selectivity.mean >= list[p[1]].selectivity.mean
            });
            proptest::prop_assert!(falling);
        }
    }
}
