//! From pairs to findings: the comparison, the curve of power, what is needed, and the test that may be looked at.

use crate::base::Cancelled;
use crate::lab::finding::{Finding, Label};
use crate::lab::host::Host;
use crate::lab::power::bound::{self, Bound, Counted, Ratio};
use crate::lab::power::compare::{Names, adjust, compare};
use crate::lab::power::finding::{ComparisonFinding, Kind, RequiredFinding, SequentialFinding};
use crate::lab::power::pairs::Pairs;
use crate::lab::power::pilot::{Pilot, collapse};
use crate::lab::power::question::Adjust;
use crate::lab::power::spec::Spec;
use crate::lab::{self};
use crate::stats::required::Aim;
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
    /// The highest power at the n of a comparison that was made.
    best_power: f64,
}

impl Reporter {
    /// For a run of the spec; `sizes` are none where the classifiers are unknown.
    pub fn new(spec: &Spec, sizes: Option<Sizes>) -> Self {
        let names = Names { a: spec.name(true), b: spec.name(false), metric: "accuracy".into() };
        let model = if spec.of_files() { format!("{},{}", names.a, names.b) } else { spec.models.join(",") };
        let label = Label::new(&lab::Spec::from(spec.clone()), &model);
        Self { spec: spec.clone(), label, names, sizes, made: Vec::new(), best_power: 0.0 }
    }

    /// The same for another metric, or another size of the training data.
    pub fn of(&mut self, metric: String) {
        self.names.metric = metric;
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
        let comparison = compare(pairs, &self.names, self.spec.terms());
        let n = pairs.n();
        let found = self.kinds(pairs, &comparison, self.spec.aim());
        if is_final {
            if let Some(pilot) = Pilot::of(pairs, self.spec.interval.level) {
                let power = pilot.power(n as u64, self.spec.aim()).map_or(0.0, |p| p.0.mean);
                self.best_power = self.best_power.max(power);
            }
            self.made.push((n, comparison));
            self.tell_comparisons(host)?;
        } else {
            host.find(self.finding(n, false, host.elapsed(), Kind::Comparison(comparison)))?;
        }
        for kind in found {
            host.find(self.finding(n, is_final, host.elapsed(), kind))?;
        }
        for kind in self.sequential(pairs) {
            host.find(self.finding(n, is_final, host.elapsed(), kind))?;
        }
        Ok(())
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
        let all: Vec<&ComparisonFinding> = self.made.iter().map(|(_, c)| c).collect();
        let (collapsed, reasons) = collapse(&all, self.best_power, self.spec.test.target);
        let (a, b) = (self.names.a.clone(), self.names.b.clone());
        let finding = crate::lab::power::finding::CollapseFinding { a, b, collapsed, reasons };
        host.find(self.finding(*n, true, host.elapsed(), Kind::Collapse(finding)))
    }

    /// The curve of power and what is needed.
    fn kinds(&self, pairs: &Pairs, comparison: &ComparisonFinding, aim: Aim) -> Vec<Kind> {
        let Some(pilot) = Pilot::of(pairs, self.spec.interval.level) else { return Vec::new() };
        let curve = pilot.curve((&self.names.a, &self.names.b), aim);
        let mut kinds: Vec<Kind> = curve.into_iter().map(Kind::Power).collect();
        let n_train = self.recommended(comparison.difference.mean);
        kinds.push(Kind::Required(RequiredFinding {
            a: self.names.a.clone(),
            b: self.names.b.clone(),
            target: aim.target,
            n_test: pilot.required(aim),
            mde: pilot.detectable(aim),
            power: pilot.power(pilot.n as u64, aim).map_or(0.0, |p| p.0.mean),
            n_train,
            n_total: n_train.map(|n| Ratio::PAPER.total(n)),
            bound: self.sizes.map(|_| self.spec.test.bound.name().to_owned()),
        }));
        kinds
    }

    /// Parameters as the bound counts them: the published tables count a linear layer on the wider vectors, whatever the
    /// classifier was.
    fn parameters(&self) -> Option<u64> {
        let Sizes { dim, hidden } = self.sizes?;
        let linear = self.spec.test.bound == Bound::Published || hidden == 0;
        Some(if linear { Counted::Linear } else { Counted::Mlp(hidden) }.parameters(dim))
    }

    fn recommended(&self, gap: f64) -> Option<u64> {
        let (test, parameters) = (&self.spec.test, self.parameters()?);
        bound::recommended(test.bound, gap, parameters, test.delta).ok().map(|r| r.n_train)
    }

    /// Excess risk that the bound allows after `n` training examples.
    pub fn margin(&self, n: u64) -> Option<f64> {
        let (test, parameters) = (&self.spec.test, self.parameters()?);
        bound::margin(test.bound, n, parameters, test.delta).ok()
    }

    /// Items in the order in which the sequential test and smaller pilots take them.
    pub fn order(&self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        shuffle(&mut stream(self.spec.seed, "order of items"), &mut order);
        order
    }

    /// The sequential test over the items; nothing where an item has no vote of its own.
    fn sequential(&self, pairs: &Pairs) -> Vec<Kind> {
        let Some(votes) = pairs.votes() else { return Vec::new() };
        let order = self.order(votes.len());
        let n = order.len();
        let mut places: Vec<usize> = if n <= PLACES {
            (1..=n).collect()
        } else {
            (0..PLACES).map(|k| (n as f64).powf((k + 1) as f64 / PLACES as f64).round() as usize).collect()
        };
        places.dedup();
        let (mut test, mut kinds) = (Sequential::default(), Vec::new());
        for (i, item) in order.into_iter().enumerate() {
            let (a, b) = votes[item];
            test.add(a, b);
            if places.binary_search(&(i + 1)).is_err() {
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
                may_stop: test.may_stop(self.spec.test.alpha),
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
        let test = &mut changed.spec.test;
        (test.alpha, test.target, test.margin) = (asked.alpha, asked.target, asked.margin);
        // A result carries the hash of the spec that would make it.
        let spec = lab::Spec::from(changed.spec.clone());
        changed.label = changed.label.under(spec.hash());
        let terms = changed.spec.terms();
        let comparison = compare(pairs, &self.names, terms);
        let mut kinds = changed.kinds(pairs, &comparison, changed.spec.aim());
        kinds.insert(0, Kind::Comparison(comparison));
        kinds.into_iter().map(|kind| changed.finding(n, true, t, kind)).collect()
    }
}
