//! Two sides that are probes on encoders, trained at rising sizes of data and tested on the same sentences.

use super::encode::Reader;
use super::report::{Reporter, Sizes};
use super::sentences::{Drawn, Sentences};
use crate::base::matrix::{Matrix, argmax};
use crate::lab::fault::{Fault, problem};
use crate::lab::host::Host;
use crate::lab::power::compare::spread;
use crate::lab::power::finding::{ConfigurationFinding, Kind, MarginFinding};
use crate::lab::power::pairs::Pairs;
use crate::lab::power::spec::{SideSpec, Spec};
use crate::probe::Labelled;
use crate::probe::epochs::{best_of, recipes};
use crate::probe::train::Recipe;
use crate::stats::Purpose;

/// One side at work.
pub struct Side {
    /// How it reads sentences.
    pub reader: Reader,
    /// Settings that its classifier is chosen from.
    pub recipes: Vec<Recipe>,
    classifier: String,
}

impl Side {
    /// A side of the spec.
    ///
    /// # Errors
    /// [`Fault`] for a model that cannot be loaded or has no such layer.
    pub fn open(spec: &Spec, first: bool, host: &mut dyn Host) -> Result<Self, Fault> {
        let side: &SideSpec = spec.side(first);
        let model = host.model(spec.encoder(first))?;
        let reader = Reader::new(model, side, if first { "a" } else { "b" })?;
        let hidden = side.hidden().unwrap_or_default();
        let recipes = recipes(&hidden, spec.training.grid == "small");
        Ok(Self { reader, recipes, classifier: side.classifier.clone() })
    }

    /// Answers of every seed on the test sentences: 1 where right.
    fn answers(
        &self,
        spec: &Spec,
        sentences: &Sentences,
        drawn: &Drawn,
        host: &mut dyn Host,
    ) -> Result<Vec<Vec<f64>>, Fault> {
        let mut part = |rows: &[usize]| -> Result<Labelled, Fault> {
            let texts: Vec<&str> = rows.iter().map(|r| sentences.texts[*r].as_str()).collect();
            let x = self.reader.vectors(&texts, spec.seed, host)?;
            let y = rows.iter().map(|r| sentences.labels[*r]).collect();
            Ok(Labelled::new(x, y, sentences.classes)?)
        };
        let [train, validation, test] = &drawn.parts;
        let (train, validation, test) = (part(train)?, part(validation)?, part(test)?);
        let task = spec.task.data.as_deref().unwrap_or(&spec.task.name);
        let purpose = Purpose::new(spec.seed, task, &self.classifier);
        let purposes: Vec<Purpose> = (0..spec.training.seeds).map(|k| purpose.replicate(k)).collect();
        let chosen = best_of(&train, &validation, &self.recipes, &purposes, host)?;
        let mut all = Vec::with_capacity(chosen.len());
        for chosen in chosen {
            let chosen = chosen.ok_or_else(|| {
                let what = "training diverged with every setting of the grid";
                problem(&what, "training", "lower the noise, or choose another layer")
            })?;
            let logits: Matrix = chosen.mlp.logits(test.x());
            let right =
                logits.iter_rows().zip(test.y()).map(|(row, y)| f64::from(u8::from(argmax(row) == *y)));
            all.push(right.collect());
        }
        Ok(all)
    }
}

/// Trains and tests both sides at every size, smallest first.
pub fn run(spec: &Spec, kept: &mut Option<(Pairs, Reporter)>, host: &mut dyn Host) -> Result<(), Fault> {
    let total: usize = spec.task.sizes.iter().map(|s| s + 64).sum();
    host.plan(total as f64 * 2.0);
    for forecast in super::forecast::of(spec, host)? {
        host.foretell(forecast)?;
    }
    let sentences = Sentences::of(spec, host)?;
    let (a, b) = (Side::open(spec, true, host)?, Side::open(spec, false, host)?);
    let dim = a.reader.width().max(b.reader.width()) as u64;
    let units = |s: &Side| s.recipes.first().and_then(|r| r.hidden.first().copied()).unwrap_or(0) as u64;
    let mut reporter = Reporter::new(spec, Some(Sizes { dim, hidden: units(&a).max(units(&b)) }));
    for size in &spec.task.sizes {
        let drawn = sentences.drawn(*size);
        let n_train = drawn.parts[0].len();
        let mut answers = Vec::new();
        for (side, name) in [(&a, spec.name(true)), (&b, spec.name(false))] {
            host.stage(format!("{name}: {n_train} training sentences"), "epochs", (*size + 64) as f64);
            answers.push(side.answers(spec, &sentences, &drawn, host)?);
        }
        let (Some(second), Some(first)) = (answers.pop(), answers.pop()) else { continue };
        let pairs = Pairs { a: first, b: second, clusters: None };
        reporter.of(format!("accuracy after {n_train} training examples"));
        for (first, side) in [(true, &a), (false, &b)] {
            sides(spec, (first, side), &pairs, n_train, sentences.classes, &reporter, host)?;
        }
        reporter.step(&pairs, true, host)?;
        *kept = Some((pairs, reporter.clone()));
    }
    Ok(reporter.verdict(host)?)
}

/// Reports one side at one size.
fn sides(
    spec: &Spec,
    (first, side): (bool, &Side),
    pairs: &Pairs,
    n_train: usize,
    classes: usize,
    reporter: &Reporter,
    host: &mut dyn Host,
) -> Result<(), Fault> {
    let by_seed: Vec<f64> = pairs.by_seed().iter().map(|s| s[usize::from(!first)]).collect();
    let accuracy = pairs.accuracy(first, spec.interval.level);
    let sd = spread(by_seed.iter().copied());
    let (name, n) = (spec.name(first), pairs.n());
    let configuration = ConfigurationFinding {
        name: name.clone(),
        side: if first { "a" } else { "b" }.into(),
        task: spec.task.data.clone().unwrap_or_else(|| spec.task.name.clone()),
        encoder: spec.encoder(first).to_owned(),
        layer: Some(side.reader.layer),
        classifier: side.classifier.clone(),
        n_train,
        accuracy,
        sd,
        majority: Some(1.0 / classes as f64),
        seeds: by_seed.len(),
    };
    host.find(reporter.finding(n, true, host.elapsed(), Kind::Configuration(configuration)))?;
    if let Some(epsilon) = reporter.margin(n_train as u64) {
        let margin = MarginFinding { name, at_n: n_train as u64, accuracy: accuracy.mean, sd, epsilon };
        host.find(reporter.finding(n, true, host.elapsed(), Kind::Margin(margin)))?;
    }
    Ok(())
}
