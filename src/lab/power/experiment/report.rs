//! From pairs to findings: the comparison, the curve of power, what is needed, and the test that may be looked at.

use crate::base::Cancelled;
use crate::lab::finding::{Finding, Label};
use crate::lab::host::Host;
use crate::lab::power::bound::{Bound, Counted};
use crate::lab::power::compare::{Names, adjust, resampled_beside};
use crate::lab::power::finding::{CollapseFinding, ComparisonFinding, Kind, SequentialFinding, TallyFinding};
use crate::lab::power::pairs::Pairs;
use crate::lab::power::pilot::collapse;
use crate::lab::power::plan::{Plan, Stop};
use crate::lab::power::question::Adjust;
use crate::lab::power::spec::Spec;
use crate::lab::power::tally::{Tally, places, told};
use crate::lab::{self};
use crate::stats::rng::{shuffle, stream};
use crate::stats::sequential::Sequential;

/// Places of the sequential test that are told, at most.
const PLACES: usize = 48;

/// What a bound needs to know of the classifiers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sizes {
    /// Width of the wider vectors.
    pub dim: u64,
    /// Hidden units of the larger classifier; 0 for logistic regression.
    pub hidden: u64,
}

/// Turns pairs into findings of a run.
#[derive(Debug, Clone)]
pub struct Reporter {
    spec: Spec,
    label: Label,
    names: Names,
    sizes: Option<Sizes>,
    /// Comparisons so far with their numbers of items.
    made: Vec<(usize, ComparisonFinding)>,
    /// Power at the n of each of them.
    powers: Vec<f64>,
    /// Whether what is reported next is the largest comparison that the spec asks for.
    last: bool,
    /// Differences in each fold.
    folds: Vec<f64>,
}

impl Reporter {
    /// For a run of the spec; `sizes` are none where the classifiers are unknown.
    pub fn new(spec: &Spec, sizes: Option<Sizes>) -> Self {
        let names = Names { a: spec.name(true), b: spec.name(false), metric: "accuracy".into() };
        let model = if spec.of_files() { format!("{},{}", names.a, names.b) } else { spec.models.join(",") };
        let label = Label::new(&lab::Spec::from(spec.clone()), &model);
        Self {
            spec: spec.clone(),
            label,
            names,
            sizes,
            made: Vec::new(),
            powers: Vec::new(),
            last: true,
            folds: Vec::new(),
        }
    }

    /// The same for another metric, or another size of the training data; whether it is the largest.
    pub fn of(&mut self, metric: String, last: bool) {
        (self.names.metric, self.last) = (metric, last);
    }

    /// Names of the sides and of what is measured.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// Takes note of the difference in a fold.
    pub fn fold(&mut self, gap: f64) {
        self.folds.push(gap);
    }

    /// Whether a comparison of n items is the one of the plan.
    fn planned(&self, n: usize) -> bool {
        let at = self.spec.plan.as_ref().filter(|plan| plan.stop == Stop::AtN);
        at.is_some_and(|plan| plan.n.map_or(self.last, |wanted| wanted == n))
    }

    /// The number of items, fewer than all, at which the plan makes its comparison.
    pub fn planned_within(&self, all: usize) -> Option<usize> {
        let plan = self.spec.plan.as_ref().filter(|plan| plan.stop == Stop::AtN)?;
        plan.n.filter(|n| *n < all)
    }

    /// A finding of this run.
    pub fn finding(&self, n: usize, is_final: bool, t: f64, kind: Kind) -> Finding {
        self.label.finding(n, is_final, t, kind)
    }

    /// Reports everything that pairs say. Only a final step counts as a comparison that was made.
    ///
    /// # Errors
    /// [`Cancelled`] where nobody listens any more.
    pub fn step(&mut self, pairs: &Pairs, is_final: bool, host: &mut dyn Host) -> Result<(), Cancelled> {
        let (n, tally) = (pairs.n(), pairs.tally());
        let (mut comparison, curve, required) = told(&tally, &self.names, &self.spec, self.parameters());
        comparison.bootstrap = resampled_beside(pairs, &tally, self.spec.terms());
        if is_final {
            comparison.planned = self.planned(n);
            let of_plan = self.spec.plan.as_ref().filter(|_| comparison.planned);
            comparison.hypothesis = of_plan.map(|plan| plan.hypothesis);
            self.powers.push(required.as_ref().map_or(0.0, |r| r.power));
            self.made.push((n, comparison));
            self.tell_comparisons(host)?;
        } else {
            host.find(self.finding(n, false, host.elapsed(), Kind::Comparison(comparison)))?;
        }
        let found = curve.into_iter().map(Kind::Power).chain(required.map(Kind::Required));
        let found: Vec<Kind> =
            found.chain(self.sequential(pairs, is_final)).chain(self.tallies(pairs, &tally)).collect();
        for kind in found {
            host.find(self.finding(n, is_final, host.elapsed(), kind))?;
        }
        Ok(())
    }

    /// What the first items in the drawn order say, so that other terms and smaller pilots can be asked about later.
    fn tallies(&self, pairs: &Pairs, all: &Tally) -> Vec<Kind> {
        let order = self.order(pairs.n());
        let of = |at: usize| {
            let tally = if at == pairs.n() { all.clone() } else { pairs.select(&order[..at]).tally() };
            let Names { a, b, metric } = self.names.clone();
            Kind::Tally(TallyFinding { a, b, metric, tally })
        };
        places(pairs.n()).into_iter().map(of).collect()
    }

    /// Tells all comparisons, adjusted for their number.
    fn tell_comparisons(&mut self, host: &mut dyn Host) -> Result<(), Cancelled> {
        adjust(&mut self.made.iter_mut().map(|(_, c)| c).collect::<Vec<_>>());
        for (n, comparison) in &self.made {
            host.find(self.finding(*n, true, host.elapsed(), Kind::Comparison(comparison.clone())))?;
        }
        Ok(())
    }

    /// Whether to give up; the last word of a run.
    ///
    /// # Errors
    /// [`Cancelled`] where nobody listens any more.
    pub fn verdict(&self, host: &mut dyn Host) -> Result<(), Cancelled> {
        let Some((n, last)) = self.made.last() else { return Ok(()) };
        if last.both.is_none() {
            return Ok(());
        }
        // A few of a file's items have a sign of their own: where a plan counted them, they are no size that was run.
        let from = if self.spec.of_files() { self.made.len() - 1 } else { 0 };
        let all: Vec<&ComparisonFinding> = self.made[from..].iter().map(|(_, c)| c).collect();
        let best_power = self.powers[from..].iter().copied().fold(0.0, f64::max);
        let (collapsed, reasons) = collapse(&all, &self.folds, best_power, self.spec.test.target);
        let (a, b) = (self.names.a.clone(), self.names.b.clone());
        let finding = CollapseFinding { a, b, collapsed, reasons };
        host.find(self.finding(*n, true, host.elapsed(), Kind::Collapse(finding)))
    }

    /// Parameters as the bound counts them: the published tables count a linear layer on the wider vectors, whatever the
    /// classifier was.
    fn parameters(&self) -> Option<u64> {
        let Sizes { dim, hidden } = self.sizes?;
        let linear = self.spec.test.bound == Bound::Published || hidden == 0;
        Some(if linear { Counted::Linear } else { Counted::Mlp(hidden) }.parameters(dim))
    }

    /// Excess risk that the bound allows after `n` training examples.
    pub fn margin(&self, n: u64) -> Option<f64> {
        self.spec.test.risk(n, self.parameters()?)
    }

    /// Items in the order in which the sequential test and smaller pilots take them.
    pub fn order(&self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        shuffle(&mut stream(self.spec.seed, "order of items"), &mut order);
        order
    }

    /// The plan that stops early and counts for these pairs.
    fn early(&self) -> Option<&Plan> {
        self.spec.plan.as_ref().filter(|plan| plan.stop == Stop::Early && self.last)
    }

    /// The sequential test over the items, at places that grow and where it may first stop; nothing where an item has no vote
    /// of its own. A plan that stops early looks at its n items and no more; its word is marked once all items are there.
    fn sequential(&self, pairs: &Pairs, is_final: bool) -> Vec<Kind> {
        let Some(votes) = pairs.votes() else { return Vec::new() };
        let mut order = self.order(votes.len());
        order.truncate(self.early().and_then(|plan| plan.n).unwrap_or(usize::MAX));
        let n = order.len();
        let mut places: Vec<usize> = if n <= PLACES {
            (1..=n).collect()
        } else {
            (0..PLACES).map(|k| (n as f64).powf((k + 1) as f64 / PLACES as f64).round() as usize).collect()
        };
        places.dedup();
        let (mut test, mut kinds, mut stopped) = (Sequential::default(), Vec::new(), false);
        for (i, item) in order.into_iter().enumerate() {
            let (a, b) = votes[item];
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
                may_stop,
                largest: Some(test.largest),
                planned: is_final && self.early().is_some() && (first || i + 1 == n && !stopped),
            }));
        }
        kinds
    }

    /// The comparison under other terms, on the first items in the drawn order.
    pub fn answer(&self, pairs: &Pairs, asked: &Adjust, t: f64) -> Vec<Finding> {
        let n = asked.pilot.unwrap_or(usize::MAX).clamp(2.min(pairs.n()), pairs.n());
        let smaller;
        let pairs = if n < pairs.n() {
            smaller = pairs.select(&self.order(pairs.n())[..n]);
            &smaller
        } else {
            pairs
        };
        let mut changed = self.clone();
        changed.spec = asked.of(&self.spec);
        // A result carries the hash of the spec that would make it.
        let spec = lab::Spec::from(changed.spec.clone());
        changed.label = changed.label.under(spec.hash());
        let tally = pairs.tally();
        let (mut comparison, curve, required) = told(&tally, &self.names, &changed.spec, self.parameters());
        comparison.bootstrap = resampled_beside(pairs, &tally, changed.spec.terms());
        let mut kinds = vec![Kind::Comparison(comparison)];
        kinds.extend(curve.into_iter().map(Kind::Power).chain(required.map(Kind::Required)));
        kinds.extend(changed.sequential(pairs, false));
        kinds.into_iter().map(|kind| changed.finding(n, true, t, kind)).collect()
    }
}
