//! Compares two sides that are probes on encoders, trained on increasing amounts of data and tested on the same sentences.

use std::collections::HashSet;
use std::sync::Arc;

use super::beside;
use super::corruption::{self, Corruption};
use super::encode::Reader;
use super::report::{Reporter, Sizes};
use super::sentences::{Drawn, Sentences};
use super::shortfall::Trained;
use crate::Host;
use crate::compare::spread;
use crate::finding::{BaselineFinding, ConfigurationFinding, Kind, MarginFinding};
use crate::pairs::Pairs;
use crate::spec::{SideSpec, Spec};
use base::Problem;
use base::matrix::{Matrix, argmax};
use corpus::shortcuts::shortcuts;
use figure::layers::grouped;
use lab::fault::{Fault, problem};
use lab::host::NoticeLevel;
use probe::Labelled;
use probe::epochs::{Chosen, best_of, recipes};
use probe::mlp::Mlp;
use probe::train::Recipe;
use stats::Purpose;
use stats::intervals::share;
use stats::rng::{shuffle, stream};

pub(crate) struct Side {
    /// Sentences and labels, shared with the other side unless that side has a different task.
    pub sentences: Arc<Sentences>,
    pub reader: Reader,
    /// Settings among which the best classifier is selected.
    pub recipes: Vec<Recipe>,
    classifier: String,
}

impl Side {
    /// Opens a side of the spec on its sentences.
    ///
    /// # Errors
    /// [`Fault`] for a model that cannot be loaded or lacks the layer.
    pub(crate) fn open(
        spec: &Spec,
        first: bool,
        sentences: &[Arc<Sentences>; 2],
        host: &mut Host<'_>,
    ) -> Result<Self, Fault> {
        let side: &SideSpec = spec.side(first);
        let model = host.model(spec.encoder(first))?;
        let reader = Reader::new(model, side, spec.task.long, if first { "a" } else { "b" })?;
        let hidden = side.hidden().unwrap_or_default();
        let recipes = recipes(&hidden, spec.training.grid == "small");
        let sentences = sentences[usize::from(!first)].clone();
        Ok(Self { sentences, reader, recipes, classifier: side.classifier.clone() })
    }

    /// Corrupts the encoder if the spec requires it.
    fn corrupted(self, by: Option<Corruption>, spec: &Spec, host: &mut Host<'_>) -> Result<Self, Fault> {
        let Some(corruption) = by else { return Ok(self) };
        let model = Arc::new(corruption.encoder(spec, host)?);
        Ok(Self { reader: self.reader.on(model), ..self })
    }

    /// The shape of the classifier, as named in [`Spec`].
    pub(crate) fn shape(&self) -> &str {
        &self.classifier
    }

    /// Returns the same side with a different standard deviation for the noise.
    pub(crate) fn with_noise(&self, noise: f64) -> Self {
        let (recipes, classifier) = (self.recipes.clone(), self.classifier.clone());
        Self { sentences: self.sentences.clone(), reader: self.reader.with_noise(noise), recipes, classifier }
    }

    /// Vectors and labels of the training, validation and test parts.
    pub(crate) fn data(
        &self,
        spec: &Spec,
        sentences: &Sentences,
        drawn: &Drawn,
        host: &mut Host<'_>,
    ) -> Result<[Labelled; 3], Fault> {
        let mut part = |rows: &[usize]| self.part(spec, sentences, rows, host);
        let [train, validation, test] = &drawn.parts;
        Ok([part(train)?, part(validation)?, part(test)?])
    }

    /// Vectors and labels of `rows`.
    pub(super) fn part(
        &self,
        spec: &Spec,
        sentences: &Sentences,
        rows: &[usize],
        host: &mut Host<'_>,
    ) -> Result<Labelled, Fault> {
        let texts: Vec<&str> = rows.iter().map(|r| sentences.texts[*r].as_str()).collect();
        let x = self.reader.vectors(&texts, spec.seed, host)?;
        let y = rows.iter().map(|r| sentences.labels[*r]).collect();
        Ok(Labelled::new(x, y, sentences.classes)?)
    }

    /// The best classifier for every seed.
    pub(crate) fn trained(
        &self,
        spec: &Spec,
        train: &Labelled,
        validation: &Labelled,
        host: &mut Host<'_>,
    ) -> Result<Vec<Mlp>, Fault> {
        let purposes = purposes(spec, &self.classifier);
        let chosen = best_of(train, validation, &self.recipes, &purposes, host)?;
        let sound = |chosen: Option<Chosen>| {
            let what = "training diverged with every setting of the grid";
            let hint = "lower the noise, or choose another layer";
            chosen.map(|c| c.mlp).ok_or_else(|| Fault::from(problem(&what, "training", hint)))
        };
        chosen.into_iter().map(sound).collect()
    }

    /// Correctness for every seed on the test sentences: 1 for right, 0 for wrong.
    pub(crate) fn answers(
        &self,
        spec: &Spec,
        data: &[Labelled; 3],
        host: &mut Host<'_>,
    ) -> Result<Vec<Vec<f64>>, Fault> {
        let [train, validation, test] = data;
        Ok(self.trained(spec, train, validation, host)?.iter().map(|mlp| right(mlp, test)).collect())
    }
}

/// Identifies each seed's random draws, whether for training a classifier or for coding labels.
pub(crate) fn purposes(spec: &Spec, classifier: &str) -> Vec<Purpose> {
    let (task, data) = spec.task_of(true);
    let task = data.unwrap_or(task);
    let purpose = Purpose::new(spec.seed, task, classifier);
    (0..spec.training.seeds).map(|k| purpose.replicate(k)).collect()
}

/// Correctness of a classifier on each example: 1 for right, 0 for wrong.
pub(crate) fn right(mlp: &Mlp, data: &Labelled) -> Vec<f64> {
    let logits: Matrix = mlp.logits(data.x());
    logits.iter_rows().zip(data.y()).map(|(row, y)| f64::from(u8::from(argmax(row) == *y))).collect()
}

/// Fixed weight of a training run, in addition to the weight of its sentences.
const BASE: usize = 64;

/// Weight of training both sides at a given size.
pub(crate) fn weight(size: usize) -> f64 {
    2.0 * (size + BASE) as f64
}

/// The sentences of both sides, shared unless the spec gives them separate tasks.
pub(crate) fn sentences(spec: &Spec, host: &mut Host<'_>) -> Result<[Arc<Sentences>; 2], Fault> {
    let first = Arc::new(Sentences::of(spec, true, host)?);
    let second = if spec.is_apart() { Arc::new(Sentences::of(spec, false, host)?) } else { first.clone() };
    Ok([first, second])
}

/// The reason why two tasks with the same sentences are not paired; `None` if the sides share no test sentences.
fn unpaired(spec: &Spec, sides: &[Arc<Sentences>; 2]) -> Option<Problem> {
    let size = spec.task.sizes.last().copied().filter(|_| spec.is_apart())?;
    let tested =
        |s: &Sentences| -> HashSet<String> { s.drawn(size).parts[2].iter().map(|row| s.texts[*row].clone()).collect() };
    let [a, b] = sides.each_ref().map(|side| tested(side));
    let (shared, of) = (a.intersection(&b).count(), grouped(b.len()));
    (shared > 0).then(|| Problem {
        what: format!(
            "{} of B's {of} test sentences are also A's, but with different labels. Each side draws its own test set, balanced by its own labels, so the \
             comparison is unpaired; this is conservative if the same sentences are hard for both sides",
            grouped(shared)
        ),
        r#where: "b.task".into(),
        hint: String::new(),
    })
}

/// Trains and tests both sides at every size, smallest first.
pub(crate) fn run(spec: &Spec, kept: &mut Option<(Pairs, Reporter)>, host: &mut Host<'_>) -> Result<(), Fault> {
    let sentences = sentences(spec, host)?;
    if let Some(told) = unpaired(spec, &sentences) {
        host.notice(NoticeLevel::Info, told)?;
    }
    let [of_a, of_b] = corruption::load(spec)?;
    let mut corrupting = 0.0;
    for corruption in [&of_a, &of_b].into_iter().flatten() {
        corrupting += corruption.seconds(host)?;
    }
    let forecasts = super::forecast::with(spec, &sentences, [&of_a, &of_b], host)?;
    let seconds: f64 = forecasts.iter().map(|f| f.seconds).sum();
    let trainings: f64 = spec.task.sizes.iter().map(|s| weight(*s)).sum();
    let units = trainings + beside::weight(spec);
    host.plan(seconds);
    let pace = (seconds - corrupting).max(0.0) / units.max(1.0);
    forecasts.into_iter().try_for_each(|f| host.foretell(f))?;
    let a = Side::open(spec, true, &sentences, host)?.corrupted(of_a, spec, host)?;
    let b = Side::open(spec, false, &sentences, host)?.corrupted(of_b, spec, host)?;
    let dim = a.reader.width().max(b.reader.width()) as u64;
    let units = |s: &Side| s.recipes.first().and_then(|r| r.hidden.first().copied()).unwrap_or(0) as u64;
    let mut reporter = Reporter::new(spec, Some(Sizes { dim, hidden: units(&a).max(units(&b)) }));
    let (mut steps, last) = (Vec::new(), spec.task.sizes.last());
    let mut trained: [Trained; 2] = Default::default();
    for size in &spec.task.sizes {
        let n_train = a.sentences.drawn(*size).parts[0].len();
        let mut probes = Vec::new();
        for (side, name) in [(&a, spec.name(true)), (&b, spec.name(false))] {
            let drawn = side.sentences.drawn(*size);
            let n = drawn.parts[0].len();
            host.stage(format!("{name} on {} sentences", grouped(n)), "epochs", pace * weight(*size) / 2.0);
            let train = side.part(spec, &side.sentences, &drawn.parts[0], host)?;
            let validation = side.part(spec, &side.sentences, &drawn.parts[1], host)?;
            probes.push(side.trained(spec, &train, &validation, host)?);
        }
        let (Some(second), Some(first)) = (probes.pop(), probes.pop()) else { continue };
        reporter.after(n_train, Some(size) == last);
        let seen = steps.last().map_or(0, |(_, pairs): &(usize, Pairs)| pairs.n());
        let pairs = tested(spec, (*size, seen), [(&a, &first), (&b, &second)], &mut reporter, host)?;
        for (first, side) in [(true, &a), (false, &b)] {
            sides(spec, (first, side), &pairs, *size, &reporter, host)?;
        }
        reporter.step(&pairs, host)?;
        for (first, side) in [(true, &a), (false, &b)].into_iter().take(if spec.is_apart() { 2 } else { 1 }) {
            surface(spec, (first, side), *size, &reporter, host)?;
        }
        if spec.also.shortfall {
            trained.iter_mut().zip([first, second]).for_each(|(all, probes)| all.push((*size, probes)));
        }
        steps.push((*size, pairs.clone()));
        *kept = Some((pairs, reporter.clone()));
    }
    let bench = beside::Bench { spec, sides: [&a, &b], steps: &steps, trained: &trained, pace };
    if let Some(pooled) = bench.measure(&mut reporter, host)? {
        *kept = Some((pooled, reporter.clone()));
    }
    Ok(reporter.verdict(host)?)
}

/// Number of test sentences per side between two reports.
const TOGETHER: usize = 256;

/// Correctness of both sides on the test sentences of a size.
///
/// Sentences arrive in the drawn order, in parts. As soon as there are more than the `seen` sentences of smaller sizes, the result so far
/// is reported. It counts as a comparison if a plan requests this number of sentences.
fn tested(
    spec: &Spec,
    (size, seen): (usize, usize),
    both: [(&Side, &[Mlp]); 2],
    reporter: &mut Reporter,
    host: &mut Host<'_>,
) -> Result<Pairs, Fault> {
    let rows = both.map(|(side, _)| side.sentences.drawn(size).parts[2].clone());
    // Sides with the same sentences have the same order.
    let orders = rows.each_ref().map(|rows| reporter.order(rows.len()));
    let most = rows.each_ref().map(Vec::len);
    let n = most[0].min(most[1]);
    let planned = reporter.planned_within(n);
    let mut places: Vec<usize> = (seen + 1..n).filter(|at| at.is_multiple_of(TOGETHER)).collect();
    places.extend(planned);
    places.sort_unstable();
    places.dedup();
    let mut found: [Vec<Vec<f64>>; 2] = both.map(|(_, probes)| vec![Vec::new(); probes.len()]);
    let mut read = [0; 2];
    for at in places.iter().copied().chain([usize::MAX]) {
        for (k, (side, probes)) in both.into_iter().enumerate() {
            let to = if at == usize::MAX { most[k] } else { at };
            let part: Vec<usize> = orders[k][read[k]..to].iter().map(|i| rows[k][*i]).collect();
            read[k] = to;
            if part.is_empty() {
                continue;
            }
            let data = side.part(spec, &side.sentences, &part, host)?;
            found[k].iter_mut().zip(probes).for_each(|(list, mlp)| list.extend(right(mlp, &data)));
        }
        if at != usize::MAX {
            let pairs = Pairs { a: found[0].clone(), b: found[1].clone(), clusters: None, apart: spec.is_apart() };
            reporter.part(&pairs, planned == Some(at), host)?;
        }
    }
    // Restores the order of the rows unless items are unpaired.
    let [a, b] = found;
    let pairs = Pairs { a, b, clusters: None, apart: spec.is_apart() };
    Ok(if pairs.apart { pairs } else { pairs.select(&placed(&orders[0])) })
}

/// Inverse of a permutation: the position of each entry.
fn placed(order: &[usize]) -> Vec<usize> {
    let mut places = vec![0; order.len()];
    order.iter().enumerate().for_each(|(at, item)| places[*item] = at);
    places
}

const MOST_READ: usize = 50_000;

/// Reports surface baselines on the training and test sentences of a side's probes.
fn surface(
    spec: &Spec,
    (first, side): (bool, &Side),
    size: usize,
    reporter: &Reporter,
    host: &mut Host<'_>,
) -> Result<(), Fault> {
    host.poll()?;
    let (sentences, drawn) = (&side.sentences, side.sentences.drawn(size));
    let of = |row: &usize| (sentences.texts[*row].as_str(), sentences.labels[*row]);
    let mut rows = drawn.parts[0].clone();
    if rows.len() > MOST_READ {
        // Shuffled because rows are ordered by class.
        shuffle(&mut stream(spec.seed, "sentences of base lines"), &mut rows);
        rows.truncate(MOST_READ);
    }
    let train: Vec<(&str, usize)> = rows.iter().map(of).collect();
    let test: Vec<(&str, usize)> = drawn.parts[2].iter().map(of).collect();
    let side = spec.is_apart().then(|| if first { "a" } else { "b" }.to_owned());
    for found in shortcuts(&train, &test, sentences.classes) {
        let accuracy = share(found.right, found.n, spec.interval.level);
        let (name, side) = (found.name.into(), side.clone());
        let finding = BaselineFinding { name, side, at_n: train.len() as u64, accuracy };
        host.find(reporter.finding(test.len(), true, host.elapsed(), Kind::Baseline(finding)))?;
    }
    Ok(())
}

fn sides(
    spec: &Spec,
    (first, side): (bool, &Side),
    pairs: &Pairs,
    size: usize,
    reporter: &Reporter,
    host: &mut Host<'_>,
) -> Result<(), Fault> {
    let by_seed: Vec<f64> = pairs.by_seed().iter().map(|s| s[usize::from(!first)]).collect();
    let accuracy = pairs.accuracy(first, spec.interval.level);
    let sd = spread(by_seed.iter().copied());
    let n_train = side.sentences.drawn(size).parts[0].len();
    let (name, n) = (spec.name(first), if first { &pairs.a } else { &pairs.b }.first().map_or(0, Vec::len));
    let (task, data) = spec.task_of(first);
    let configuration = ConfigurationFinding {
        name: name.clone(),
        side: if first { "a" } else { "b" }.into(),
        task: data.unwrap_or(task).to_owned(),
        encoder: spec.encoder(first).to_owned(),
        layer: Some(side.reader.layer),
        classifier: side.classifier.clone(),
        n_train,
        accuracy,
        sd,
        majority: Some(1.0 / side.sentences.classes as f64),
        seeds: by_seed.len(),
        long: side.sentences.long,
    };
    host.find(reporter.finding(n, true, host.elapsed(), Kind::Configuration(configuration)))?;
    if let Some(epsilon) = reporter.margin(n_train as u64) {
        let margin = MarginFinding { name, at_n: n_train as u64, accuracy: accuracy.mean, sd, epsilon };
        host.find(reporter.finding(n, true, host.elapsed(), Kind::Margin(margin)))?;
    }
    Ok(())
}
