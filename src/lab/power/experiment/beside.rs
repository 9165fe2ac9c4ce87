//! Optional measurements: code lengths, control tasks and six folds at the largest size, and the comparison under increasing noise.

use super::probes::{Side, purposes, right};
use super::report::Reporter;
use super::sentences::FOLDS;
use super::shortfall::{self, Trained};
use crate::Host;
use crate::compare::{Names, spread};
use crate::finding::{ControlFinding, Kind, MdlFinding, NoiseFinding};
use crate::pairs::Pairs;
use crate::spec::Spec;
use crate::tally::told;
use base::Problem;
use lab::fault::Fault;
use lab::host::NoticeLevel;
use probe::Labelled;
use probe::mdl::{METHODS, MdlError, prequential, uniform};

/// Data that are available once the comparison is done.
pub(crate) struct Bench<'a> {
    pub spec: &'a Spec,
    pub sides: [&'a Side; 2],
    /// The comparison at each size.
    pub steps: &'a [(usize, Pairs)],
    /// The probes of both sides; empty if unused.
    pub trained: &'a [Trained; 2],
    /// Time in seconds per unit of [`weight`].
    pub pace: f64,
}

/// Weight of all these measurements when the run's work is planned, in units of [`super::probes::weight`].
pub(crate) fn weight(spec: &Spec) -> f64 {
    let also = &spec.also;
    let at = |size: usize| super::probes::weight(size);
    let largest = at(spec.task.sizes.last().copied().unwrap_or(0));
    let noise: f64 = spec.task.sizes.iter().map(|s| at(*s) / 2.0).sum();
    let count = |on: bool| f64::from(u8::from(on));
    codes(spec.task.sizes.last().copied().unwrap_or(0)) * count(also.mdl)
        + largest * (count(also.control) + FOLDS as f64 * count(also.folds))
        + noise * also.noise.len() as f64
        + shortfall::share(spec) * count(also.shortfall)
}

/// Weight of computing the codes of both sides. A search takes the same number of steps at any size.
fn codes(size: usize) -> f64 {
    CODES + 0.1 * super::probes::weight(size)
}

/// Cost of the searches for the variational code. The unit is one training sentence per class.
const CODES: f64 = 6_000.0;

/// The names of the sides in findings.
const SIDES: [&str; 2] = ["a", "b"];

impl Bench<'_> {
    /// Makes the measurements that the spec requests. Returns the pooled comparison over folds, if requested.
    pub(crate) fn measure(&self, reporter: &mut Reporter, host: &mut Host<'_>) -> Result<Option<Pairs>, Fault> {
        let also = &self.spec.also;
        if also.mdl {
            self.mdl(reporter, host)?;
        }
        if also.control {
            self.control(reporter, host)?;
        }
        for ((first, side), trained) in [true, false].into_iter().zip(self.sides).zip(self.trained) {
            shortfall::measure(self.spec, (first, side), trained, (self.pace, reporter), host)?;
        }
        if !also.noise.is_empty() && !also.noise.contains(&self.spec.b.noise) {
            // The comparison with the spec's own noise is one point of the noise curve and needs no further training.
            for (size, pairs) in self.steps {
                self.under((self.spec.b.noise, true), *size, pairs, reporter, host)?;
            }
        }
        for sigma in &also.noise {
            self.noise(*sigma, reporter, host)?;
        }
        if also.folds { self.folds(reporter, host).map(Some) } else { Ok(None) }
    }

    fn largest(&self) -> usize {
        self.spec.task.sizes.last().copied().unwrap_or(0)
    }

    /// Measures the code length of the training labels with every code and seed.
    fn mdl(&self, reporter: &Reporter, host: &mut Host<'_>) -> Result<(), Fault> {
        let purposes = purposes(self.spec, "code");
        let mut online: Option<f64> = None;
        for (side, first) in self.sides.into_iter().zip([true, false]) {
            let name = self.spec.name(first);
            let drawn = side.sentences.drawn(self.largest());
            let [train, ..] = side.data(self.spec, &side.sentences, &drawn, host)?;
            for method in &METHODS {
                let seconds = self.pace * codes(self.largest()) / (2 * METHODS.len()) as f64;
                host.stage(format!("{name}: {} code", method.name), "steps", seconds);
                let bits = match (method.bits)(&train, &purposes, host) {
                    Ok(bits) => bits,
                    Err(MdlError::Cancelled(e)) => return Err(e.into()),
                    Err(e) => {
                        // Both sides have the same number of sentences, so one notice is enough.
                        if first || !matches!(e, MdlError::TooFew(_)) {
                            let what = format!("{name}: the {} code length was not computed: {e}", method.name);
                            let hint = "raise the largest of `task.sizes`, or omit `also.mdl`".into();
                            let problem = Problem { what, r#where: "also.mdl".into(), hint };
                            host.notice(NoticeLevel::Warning, problem)?;
                        }
                        continue;
                    }
                };
                let codelength = bits.iter().sum::<f64>() / bits.len().max(1) as f64;
                // The first side's prequential code length, kept until the second side's is known.
                let before = (method.name == prequential::METHOD.name).then(|| online.replace(codelength)).flatten();
                let finding = MdlFinding {
                    name: name.clone(),
                    side: SIDES[usize::from(!first)].into(),
                    method: method.name.into(),
                    codelength,
                    sd: spread(bits.iter().copied()),
                    seeds: bits.len(),
                    uniform: uniform(&train),
                    compression: uniform(&train) / codelength,
                    n_train: before.and_then(|a| reporter.coded((a - codelength) / train.len() as f64)),
                };
                host.find(reporter.finding(train.len(), true, host.elapsed(), Kind::Mdl(finding)))?;
            }
        }
        Ok(())
    }

    /// Expected time in seconds to train one side at a size.
    fn training(&self, size: usize) -> f64 {
        self.pace * super::probes::weight(size) / 2.0
    }

    fn control(&self, reporter: &Reporter, host: &mut Host<'_>) -> Result<(), Fault> {
        let Some((size, pairs)) = self.steps.last() else { return Ok(()) };
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
        let mut selectivities = Vec::new();
        for (side, first) in self.sides.into_iter().zip([true, false]) {
            let name = self.spec.name(first);
            let drawn = side.sentences.drawn(*size);
            let random = side.sentences.controlled(&drawn, self.spec.seed);
            let n_train = drawn.parts[0].len();
            host.stage(format!("{name}: control task"), "epochs", self.training(*size));
            let data = side.data(self.spec, &random, &drawn, host)?;
            let probes = side.trained(self.spec, &data[0], &data[1], host)?;
            let rate = |of: &Labelled| mean(&probes.iter().flat_map(|p| right(p, of)).collect::<Vec<_>>());
            let accuracy = rate(&data[2]);
            selectivities.push(mean(&pairs.means(first)) - accuracy);
            let finding = ControlFinding {
                name,
                side: SIDES[usize::from(!first)].into(),
                at_n: n_train as u64,
                memorised: rate(&data[0]),
                accuracy: Some(accuracy),
                n_train: match selectivities[..] {
                    [a, b] => reporter.selective(a - b),
                    _ => None,
                },
            };
            host.find(reporter.finding(n_train, true, host.elapsed(), Kind::Control(finding)))?;
        }
        Ok(())
    }

    /// Repeats the comparison at every size with noise on the second side.
    fn noise(&self, sigma: f64, reporter: &Reporter, host: &mut Host<'_>) -> Result<(), Fault> {
        let noisy = self.sides[1].with_noise(sigma);
        for (size, pairs) in self.steps {
            let drawn = noisy.sentences.drawn(*size);
            let n_train = drawn.parts[0].len();
            let what = format!("{} with noise {sigma}: {n_train} training sentences", self.spec.name(false));
            host.stage(what, "epochs", self.training(*size));
            let data = noisy.data(self.spec, &noisy.sentences, &drawn, host)?;
            let answers = noisy.answers(self.spec, &data, host)?;
            let pairs = Pairs { a: pairs.a.clone(), b: answers, clusters: None, apart: pairs.apart };
            self.under((sigma, false), *size, &pairs, reporter, host)?;
        }
        Ok(())
    }

    /// Reports a comparison with noise `sigma` on the second side, with probes trained on `size` sentences per class.
    fn under(
        &self,
        (sigma, own): (f64, bool),
        size: usize,
        pairs: &Pairs,
        reporter: &Reporter,
        host: &mut Host<'_>,
    ) -> Result<(), Fault> {
        let n_train = self.sides[0].sentences.drawn(size).parts[0].len() as u64;
        let mut named = self.spec.clone();
        named.b.noise = sigma;
        let names = Names { a: named.name(true), b: named.name(false), ..reporter.names().clone() };
        let (comparison, curve, _) = told(&pairs.tally(), &names, self.spec, None);
        let Some(power) = curve.into_iter().find(|p| p.at_n == pairs.n() as u64) else { return Ok(()) };
        let finding = NoiseFinding {
            a: comparison.a,
            b: comparison.b,
            sigma,
            own,
            n_train,
            at_n: power.at_n,
            difference: comparison.difference,
            p: comparison.p,
            test: comparison.test,
            power: power.power,
        };
        Ok(host.find(reporter.finding(pairs.n(), true, host.elapsed(), Kind::Noise(finding)))?)
    }

    /// Tests every sentence of the largest size once, in six folds. Reports the difference of each fold and returns all pairs.
    fn folds(&self, reporter: &mut Reporter, host: &mut Host<'_>) -> Result<Pairs, Fault> {
        let (size, seeds) = (self.largest(), self.spec.training.seeds);
        let (apart, none) = (self.spec.is_apart(), vec![Vec::new(); seeds]);
        let mut pooled = Pairs { a: none.clone(), b: none, clusters: None, apart };
        for i in 0..FOLDS {
            let mut fold = Vec::new();
            for (side, first) in self.sides.into_iter().zip([true, false]) {
                let name = self.spec.name(first);
                host.stage(format!("{name}: fold {} of {FOLDS}", i + 1), "epochs", self.training(size));
                let data = side.data(self.spec, &side.sentences, &side.sentences.fold(size, i), host)?;
                fold.push(side.answers(self.spec, &data, host)?);
            }
            let (Some(b), Some(a)) = (fold.pop(), fold.pop()) else { continue };
            let fold = Pairs { a, b, clusters: None, apart };
            let gaps = fold.tally().gaps;
            reporter.fold(gaps.iter().sum::<f64>() / gaps.len().max(1) as f64);
            for (all, new) in [(&mut pooled.a, &fold.a), (&mut pooled.b, &fold.b)] {
                all.iter_mut().zip(new).for_each(|(all, new)| all.extend(new));
            }
        }
        if apart {
            // The items are unpaired. Any prefix of the drawn order is a random sample.
            for side in [&mut pooled.a, &mut pooled.b] {
                let order = reporter.order(side.first().map_or(0, Vec::len));
                side.iter_mut().for_each(|list| *list = order.iter().map(|i| list[*i]).collect());
            }
        }
        reporter.of(format!("accuracy over {FOLDS} folds of {} sentences", pooled.n()), false);
        reporter.step(&pooled, host)?;
        let what = "folds share most of their training sentences, so the interval of the pooled comparison does not cover the choice of training sentences";
        let hint = String::new();
        host.notice(NoticeLevel::Info, Problem { what: what.into(), r#where: "also.folds".into(), hint })?;
        Ok(pooled)
    }
}
