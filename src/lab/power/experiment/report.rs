//! Converts pairs to findings: the comparison, the power curve, requirements, and the sequential test.

use crate::Finding;
use crate::Host;
use crate::bound::{Bound, CLIP, Counted, Score, recommended_for};
use crate::compare::{Names, adjust, resampled_beside};
use crate::finding::{
    CollapseFinding, ComparisonFinding, Kind, PowerFinding, RequiredFinding, SequentialFinding, TallyFinding,
};
use crate::pairs::Pairs;
use crate::pilot::collapse;
use crate::plan::{Plan, Stop};
use crate::question::Adjust;
use crate::spec::Spec;
use crate::summary::stepless;
use crate::tally::{Tally, places, told};
use base::Cancelled;
use lab::SpecFields;
use lab::finding::Label;

use stats::rng::{shuffle, stream};
use stats::sequential::Sequential;

/// Maximum number of steps reported for the sequential test.
const PLACES: usize = 48;

/// Sizes of the classifiers, for a bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Sizes {
    /// Width of the wider side's vectors.
    pub dim: u64,
    /// Number of hidden units in the larger classifier; 0 for logistic regression.
    pub hidden: u64,
}

#[derive(Debug, Clone)]
pub(crate) struct Reporter {
    spec: Spec,
    label: Label,
    names: Names,
    sizes: Option<Sizes>,
    /// The comparisons made so far, with their numbers of items.
    made: Vec<(usize, ComparisonFinding)>,
    /// The power of each comparison at its n, and true if it covers only the planned part of the items.
    powers: Vec<(f64, bool)>,
    /// True if the next report is on the largest comparison of the spec.
    last: bool,
    /// Number of training examples for the probes; `None` for files and for folds.
    trained: Option<usize>,
    folds: Vec<f64>,
}

impl Reporter {
    /// Starts the report of a run. `sizes` is `None` if the classifiers are unknown.
    pub(crate) fn new(spec: &Spec, sizes: Option<Sizes>) -> Self {
        let names = Names { a: spec.name(true), b: spec.name(false), metric: "accuracy".into() };
        let model = if spec.of_files() { format!("{},{}", names.a, names.b) } else { spec.models.join(",") };
        let label = Label::new(spec, &model);
        Self {
            spec: spec.clone(),
            label,
            names,
            sizes,
            made: Vec::new(),
            powers: Vec::new(),
            last: true,
            trained: None,
            folds: Vec::new(),
        }
    }

    /// Switches to a different metric.
    pub(crate) fn of(&mut self, metric: String, last: bool) {
        (self.names.metric, self.last, self.trained) = (metric, last, None);
    }

    /// Switches to probes trained on `n_train` examples; `last` for the largest size.
    pub(crate) fn after(&mut self, n_train: usize, last: bool) {
        self.of(format!("accuracy after {n_train} training examples"), last);
        self.trained = Some(n_train);
    }

    /// Draws conclusions from a tally, with the number of training examples.
    fn told(&self, tally: &Tally, spec: &Spec) -> (ComparisonFinding, Vec<PowerFinding>, Option<RequiredFinding>) {
        let (comparison, curve, required) = told(tally, &self.names, spec, self.parameters());
        let trained = self.trained.map(|n| n as u64);
        (comparison, curve, required.map(|r| RequiredFinding { trained, ..r }))
    }

    pub(crate) fn names(&self) -> &Names {
        &self.names
    }

    pub(crate) fn fold(&mut self, gap: f64) {
        self.folds.push(gap);
    }

    /// True if a comparison of n items is the planned one.
    fn planned(&self, n: usize) -> bool {
        let at = self.spec.plan.as_ref().filter(|plan| plan.stop == Stop::AtN);
        at.is_some_and(|plan| plan.n.map_or(self.last, |wanted| wanted == n))
    }

    /// The number of items at which the plan compares, if it is below the `all` items of the largest comparison; `None` once the planned
    /// comparison has been made.
    pub(crate) fn planned_within(&self, all: usize) -> Option<usize> {
        let plan = self.spec.plan.as_ref().filter(|plan| plan.stop == Stop::AtN)?;
        let made = self.made.iter().any(|(_, c)| c.planned);
        plan.n.filter(|n| self.last && !made && *n < all)
    }

    pub(crate) fn finding(&self, n: usize, is_final: bool, t: f64, kind: Kind) -> Finding {
        self.label.finding(n, is_final, t, kind)
    }

    /// Reports on all pairs of a comparison and records that this comparison was made.
    pub(crate) fn step(&mut self, pairs: &Pairs, host: &mut Host<'_>) -> Result<(), Cancelled> {
        self.report(pairs, &self.order(pairs.n()), (true, false), host)
    }

    /// Reports on the first pairs, which must be in the drawn order for the sequential test. They count as a comparison only if a plan
    /// requests exactly these pairs.
    pub(crate) fn part(&mut self, pairs: &Pairs, counts: bool, host: &mut Host<'_>) -> Result<(), Cancelled> {
        self.report(pairs, &(0..pairs.n()).collect::<Vec<_>>(), (counts, true), host)
    }

    fn report(
        &mut self,
        pairs: &Pairs,
        order: &[usize],
        (is_final, is_part): (bool, bool),
        host: &mut Host<'_>,
    ) -> Result<(), Cancelled> {
        let (n, tally) = (pairs.n(), pairs.tally());
        let (mut comparison, curve, required) = self.told(&tally, &self.spec);
        comparison.bootstrap = resampled_beside(pairs, &tally, self.spec.terms());
        if is_final {
            comparison.planned = self.planned(n);
            let of_plan = self.spec.plan.as_ref().filter(|_| comparison.planned);
            comparison.hypothesis = of_plan.map(|plan| plan.hypothesis);
            self.powers.push((required.as_ref().map_or(0.0, |r| r.power), is_part));
            self.made.push((n, comparison));
            self.tell_comparisons(host)?;
        } else {
            comparison.anytime_p = pairs.votes().map(|votes| {
                let mut test = Sequential::default();
                order.iter().for_each(|item| test.add(votes[*item].0, votes[*item].1));
                test.anytime_p()
            });
            host.find(self.finding(n, false, host.elapsed(), Kind::Comparison(comparison)))?;
        }
        let found = curve.into_iter().map(Kind::Power).chain(required.map(Kind::Required));
        let found: Vec<Kind> =
            found.chain(self.sequential(pairs, order, is_final)).chain(self.tallies(pairs, order, &tally)).collect();
        for kind in found {
            host.find(self.finding(n, is_final, host.elapsed(), kind))?;
        }
        Ok(())
    }

    /// Tallies of the first items in the drawn order, from which other test settings and smaller pilots can be evaluated later.
    fn tallies(&self, pairs: &Pairs, order: &[usize], all: &Tally) -> Vec<Kind> {
        let of = |at: usize| {
            let tally = if at == pairs.n() { all.clone() } else { pairs.select(&order[..at]).tally() };
            let Names { a, b, metric } = self.names.clone();
            Kind::Tally(TallyFinding { a, b, metric, tally })
        };
        places(pairs.n()).into_iter().map(of).collect()
    }

    /// Reports all comparisons, adjusted for their number. A planned comparison on a subset of the items was fixed before any result, so it
    /// is adjusted separately from later comparisons.
    fn tell_comparisons(&mut self, host: &mut Host<'_>) -> Result<(), Cancelled> {
        for part in [true, false] {
            let mine = self.made.iter_mut().zip(&self.powers).filter(|(_, (_, is_part))| *is_part == part);
            adjust(&mut mine.map(|((_, c), _)| c).collect::<Vec<_>>(), self.spec.test.alpha);
        }
        for (n, comparison) in &self.made {
            host.find(self.finding(*n, true, host.elapsed(), Kind::Comparison(comparison.clone())))?;
        }
        Ok(())
    }

    /// The reason why items are not steps of the sequential test, if any.
    pub(crate) fn stepless(&self) -> Option<&'static str> {
        self.made.last().and_then(|(_, c)| stepless(c))
    }

    /// True if the latest comparison has less than the target power.
    pub(crate) fn is_short_of_power(&self) -> bool {
        self.powers.last().is_some_and(|(power, _)| *power < self.spec.test.target)
    }

    /// Reports, as the last finding of a run, whether no number of items should be recommended.
    pub(crate) fn verdict(&self, host: &mut Host<'_>) -> Result<(), Cancelled> {
        let Some((n, last)) = self.made.last() else { return Ok(()) };
        if last.both.is_none() && !last.unpaired {
            return Ok(());
        }
        // The planned subset of the items is not a training size of the run, so the sign of its difference is ignored.
        let sizes = || self.made.iter().zip(&self.powers).filter(|(_, (_, part))| !part);
        let all: Vec<&ComparisonFinding> = sizes().map(|((_, c), _)| c).collect();
        let best_power = sizes().map(|(_, (power, _))| *power).fold(0.0, f64::max);
        let (collapsed, reasons) = collapse(&all, &self.folds, best_power, self.spec.test.target);
        let (a, b) = (self.names.a.clone(), self.names.b.clone());
        let finding = CollapseFinding { a, b, collapsed, reasons };
        host.find(self.finding(*n, true, host.elapsed(), Kind::Collapse(finding)))
    }

    /// Number of parameters for the bound. The published tables count a linear layer on the wider vectors for every classifier.
    fn parameters(&self) -> Option<u64> {
        let Sizes { dim, hidden } = self.sizes?;
        let linear = self.spec.test.bound == Bound::Published || hidden == 0;
        Some(if linear { Counted::Linear } else { Counted::Mlp(hidden) }.parameters(dim))
    }

    /// Recommended training examples for a difference of prequential code lengths in bits per example. The code is computed with a linear
    /// probe.
    pub(crate) fn coded(&self, gap: f64) -> Option<u64> {
        let (score, parameters) = (Score::Prequential { clip: CLIP }, Counted::Linear.parameters(self.sizes?.dim));
        let test = &self.spec.test;
        recommended_for(score, test.bound, gap, parameters, test.delta).ok().map(|r| r.n_train)
    }

    /// Recommended training examples for a difference in selectivity (a probe's accuracy minus its accuracy on the control task).
    pub(crate) fn selective(&self, gap: f64) -> Option<u64> {
        let test = &self.spec.test;
        let found = recommended_for(Score::Selectivity, test.bound, gap, self.parameters()?, test.delta);
        found.ok().map(|r| r.n_train)
    }

    /// Excess risk that the bound allows after `n` training examples.
    pub(crate) fn margin(&self, n: u64) -> Option<f64> {
        self.spec.test.risk(n, self.parameters()?)
    }

    /// The order of items for the sequential test and for smaller pilots.
    pub(crate) fn order(&self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        shuffle(&mut stream(self.spec.seed, "order of items"), &mut order);
        order
    }

    /// The plan, if it can stop early and applies to these pairs.
    fn early(&self) -> Option<&Plan> {
        self.spec.plan.as_ref().filter(|plan| plan.stop == Stop::Early && self.last)
    }

    /// The sequential test over the items, reported at growing intervals and at the first possible stop.
    ///
    /// Empty if items cannot be counted one by one. A plan that stops early uses only its n items; its decision is marked as soon as all
    /// items are known.
    fn sequential(&self, pairs: &Pairs, order: &[usize], is_final: bool) -> Vec<Kind> {
        let Some(votes) = pairs.votes() else { return Vec::new() };
        let n = order.len().min(self.early().and_then(|plan| plan.n).unwrap_or(usize::MAX));
        let mut places: Vec<usize> = if n <= PLACES {
            (1..=n).collect()
        } else {
            (0..PLACES).map(|k| (n as f64).powf((k + 1) as f64 / PLACES as f64).round() as usize).collect()
        };
        places.dedup();
        let (mut test, mut kinds, mut stopped) = (Sequential::default(), Vec::new(), false);
        for (i, item) in order[..n].iter().enumerate() {
            let (a, b) = votes[*item];
            test.add(a, b);
            let may_stop = test.may_stop(self.spec.test.alpha);
            let first = may_stop && !std::mem::replace(&mut stopped, may_stop);
            if !first && places.binary_search(&(i + 1)).is_err() {
                continue;
            }
            let (lo, hi) = test.interval(self.spec.interval.level);
            let log_e = test.log_e();
            kinds.push(Kind::Sequential(SequentialFinding {
                a: self.names.a.clone(),
                b: self.names.b.clone(),
                at_n: i as u64 + 1,
                e_value: Some(log_e.exp()).filter(|e| e.is_finite()),
                log_e,
                lo,
                hi,
                share: test.share(),
                may_stop,
                largest: Some(test.largest),
                planned: is_final && self.early().is_some() && (first || i + 1 == n && !stopped),
            }));
        }
        kinds
    }

    /// The comparison with different settings of the test, on the first items in the drawn order.
    pub(crate) fn answer(&self, pairs: &Pairs, asked: &Adjust, t: f64) -> Vec<Finding> {
        let n = asked.pilot.unwrap_or(usize::MAX).clamp(2.min(pairs.n()), pairs.n());
        let (smaller, mut order) = (n < pairs.n(), self.order(pairs.n()));
        let first;
        let pairs = if smaller {
            first = pairs.select(&order[..n]);
            order = (0..n).collect();
            &first
        } else {
            pairs
        };
        let mut changed = self.clone();
        changed.spec = asked.of(&self.spec);
        // A result has the hash of the spec that would produce it.
        let spec = &changed.spec;
        changed.label = changed.label.under(spec.hash());
        let tally = pairs.tally();
        let (mut comparison, curve, required) = self.told(&tally, &changed.spec);
        // Resampling does not depend on the settings of the test, unless there are fewer items.
        let known = self.made.iter().rev().find(|(at, made)| !smaller && *at == n && made.metric == comparison.metric);
        comparison.bootstrap = match known {
            Some((_, made)) => made.bootstrap,
            None => resampled_beside(pairs, &tally, changed.spec.terms()),
        };
        let mut kinds = vec![Kind::Comparison(comparison)];
        kinds.extend(curve.into_iter().map(Kind::Power).chain(required.map(Kind::Required)));
        kinds.extend(changed.sequential(pairs, &order, false));
        kinds.into_iter().map(|kind| changed.finding(n, true, t, kind)).collect()
    }
}
