//! What a run will need, before its long work begins: memory by arithmetic over counts, time by counted work.

use std::collections::HashSet;

use super::memory::Counts;
use super::prepare::Bench;
use crate::base::size::show;
use crate::base::{NoPulse, Problem};
use crate::lab::demand::{Forecast, MemoryPart, Work, peak, resident};
use crate::lab::fault::Fault;
use crate::lab::hidden;
use crate::lab::host::Host;
use crate::lab::interventions::bench::Court;
use crate::lab::interventions::method::{FitData, Method};
use crate::lab::interventions::options::Options;
use crate::lab::interventions::oracle::{Oracle, OracleKind};
use crate::lab::interventions::registry::find;
use crate::lab::interventions::spec::MethodSpec;
use crate::lab::plan::Roles;
use crate::lab::store::Store;
use crate::probe::train::{PATIENCE, Recipe, SEARCH_STEPS, train};
use crate::probe::{Grid, Intervention, Labelled, Mlp, Probe, Split, TrainingData};
use crate::stats::Purpose;
use crate::stats::bootstrap::Resamples;
use crate::stats::rng::stream;

/// Test rows that a slice of reading takes.
const SLICE: usize = 192;
/// Steps of a slice of training.
const STEPS: usize = 40;
/// Steps after which most networks of a grid have settled; they take between [`PATIENCE`] and [`SEARCH_STEPS`].
const EXPECTED_STEPS: usize = 1_000;

/// What a run on this bench will need, within the host's limit if there is one.
///
/// # Errors
/// [`Fault::Failed`] where the limit cannot be kept, or the model refuses.
pub fn of(bench: &mut Bench, host: &mut dyn Host) -> Result<Forecast, Fault> {
    let limit = host.memory_limit();
    let (bytes, parts, tokens_per_batch) = memory(bench, limit)?;
    bench.stimuli.tokens_per_batch = tokens_per_batch;
    if bench.chunks.is_empty() {
        bench.read_first(host)?;
    }
    let (rest, range) = seconds(bench, host)?;
    let spent = host.elapsed();
    let seconds = spent + rest;
    let range = range.map(|r| r.map(|s| spent + s));
    let model = bench.model.name().to_owned();
    Ok(Forecast { model, bytes, parts, seconds, range, refined: false, tokens_per_batch, limit })
}

/// Bytes, their parts, and the tokens of a batch.
type Memory = (u64, Vec<MemoryPart>, usize);

fn memory(bench: &Bench, limit: Option<u64>) -> Result<Memory, Fault> {
    let (model, threads) = (&bench.model, rayon::current_num_threads());
    let lengths: Vec<usize> = bench.stimuli.list.iter().map(|s| s.ids.len()).collect();
    let longest = lengths.iter().copied().max().unwrap_or(1);
    let part = bench.split.oracle().train().len() + bench.split.oracle().validation().len();
    let below = !model.ends_at(bench.site.layer);
    let classes = bench.labels.target_classes;
    let grids: Vec<Grid> = bench.spec.probe.oracles.iter().map(|k| k.grid(bench.recipes())).collect();
    let attacked = attacks(bench).then(|| bench.recipes());
    let most = grids.iter().chain(attacked).flat_map(|g| &g.recipes);
    let counts = Counts {
        width: model.arch().hidden,
        stimuli: lengths.len(),
        part,
        test: bench.test.len(),
        longest,
        continued: if below { bench.test.iter().map(|r| lengths[*r] + 2).sum() } else { 0 },
        probe: most.map(|r| parameters(r, model.arch().hidden, classes)).max().unwrap_or(0),
        threads,
        resamples: bench.spec.interval.resamples,
    };
    // Where the system does not say what is resident, the model's own count has to do.
    let resident = resident().unwrap_or((model.bytes() + (32 << 20)) as u64);
    let (tokens_per_batch, parts, bytes) =
        counts.plan(resident, limit, |tokens| model.pass_bytes(tokens, longest)).map_err(Fault::Failed)?;
    let loaded = peak().unwrap_or(0);
    if let Some(limit) = limit.filter(|l| loaded > *l) {
        return Err(Fault::Failed(Problem {
            what: format!(
                "the program took {} while the model was loaded; the limit is {}",
                show(loaded),
                show(limit)
            ),
            r#where: "memory limit".into(),
            hint: format!("use --memory-limit {}M, or a smaller model", (loaded >> 20) + 1),
        }));
    }
    Ok((bytes.max(loaded), parts, tokens_per_batch))
}

/// Kinds of work, by what a unit of each costs.
const READ: &str = "token";
const STEP: &str = "step";
const FIT: &str = "fit";
const SWEEP: &str = "sweep";

/// Seconds of the rest of the run: as expected, and between which bounds where training decides.
fn seconds(bench: &Bench, host: &mut dyn Host) -> Result<(f64, Option<[f64; 2]>), Fault> {
    let (work, training) = counted(bench, host);
    let slices = Slices::new(bench)?;
    let fixed = work.seconds(host, &mut |kind| slices.work(kind))?;
    let step = training.seconds(host, &mut |kind| slices.work(kind))?;
    let [least, expected, most] = [PATIENCE, EXPECTED_STEPS, SEARCH_STEPS].map(|n| fixed + step * n as f64);
    Ok((expected, (step > 0.0).then_some([least, most])))
}

/// The work of the run: everything but training, and training by a step of each network. Probes that are there already cost
/// nothing, and neither do texts that were read before.
fn counted(bench: &Bench, host: &dyn Host) -> (Work, Work) {
    let store = host.store();
    let (mut work, mut training) = (Work::default(), Work::default());
    work.add(&format!("{READ} {} {}", bench.model.hash(), bench.site.layer), unread(bench, store.as_ref()));
    let threads = rayon::current_num_threads() as f64;
    let mut train = |grid: &Grid| {
        // Networks of a grid train side by side.
        let share = 1.0 / threads.min(grid.recipes.len() as f64);
        grid.recipes.iter().for_each(|r| training.add(&shape(bench, r), share));
    };
    for kind in &bench.spec.probe.oracles {
        let missing = |role| bench.stored_oracle(*kind, role, store.as_ref()).is_none();
        for _ in [Roles::Target, Roles::Other].into_iter().filter(|r| missing(*r)) {
            train(&kind.grid(bench.recipes()));
        }
    }
    if attacks(bench) && bench.stored_mlp(store.as_ref()).is_none() {
        train(bench.recipes());
    }
    let rows = bench.split.intervention().train().len() as f64;
    let mut fitted = HashSet::new();
    for (i, m) in bench.spec.methods.iter().enumerate() {
        let Some((method, options)) = resolve(m) else { continue };
        let key = bench.fit_key(method, &options);
        if bench.stored_fit(method, &options, store.as_ref()).is_none() && fitted.insert(key) {
            work.add(&named(bench, FIT, i), rows);
        }
        let values = if m.values.is_empty() { method.parameter().grid.len() } else { m.values.len() };
        work.add(&named(bench, SWEEP, i), (bench.test.len() * values) as f64);
    }
    (work, training)
}

/// The name of the work of one method of the spec: rates of one model say nothing of another.
fn named(bench: &Bench, kind: &str, method: usize) -> String {
    let title = bench.spec.methods[method].key().title();
    format!("{kind} {method} {title} {} {:?}", bench.model.hash(), bench.site)
}

fn shape(bench: &Bench, recipe: &Recipe) -> String {
    let widths: Vec<String> = recipe.hidden.iter().map(ToString::to_string).collect();
    format!("{STEP} {} of {}", widths.join("-"), bench.model.arch().hidden)
}

fn resolve(spec: &MethodSpec) -> Option<(&'static dyn Method, Options)> {
    let method = find(&spec.name)?;
    let options = Options::new(method, spec.options.iter().map(|(k, v)| (k.as_str(), *v))).ok()?;
    Some((method, options))
}

/// Tokens of texts that have not been read before.
fn unread(bench: &Bench, store: &dyn Store) -> f64 {
    let all: Vec<usize> = (0..bench.stimuli.list.len()).collect();
    let absent = hidden::absent(&bench.model, &bench.stimuli, bench.site.layer, &all, store);
    absent.iter().map(|r| bench.stimuli.list[*r].ids.len()).sum::<usize>() as f64
}

/// Pieces of the run's own work: its first test examples, networks of its shapes with weights that nobody trained.
struct Slices<'a> {
    bench: &'a Bench,
    data: TrainingData<Intervention>,
    labelled: Labelled,
    mlp: Probe<Intervention>,
    oracles: Vec<Oracle>,
}

impl<'a> Slices<'a> {
    fn new(bench: &'a Bench) -> Result<Self, Fault> {
        let chunk = &bench.chunks[0];
        let (classes, width) = (bench.labels.target_classes, chunk.h.cols());
        let labels: Vec<Option<usize>> = chunk.target.iter().copied().map(Some).collect();
        let split = Split::new(chunk.len(), bench.seed)?;
        let data = TrainingData::new(split.intervention(), &chunk.h, &labels, classes)?;
        let labelled = Labelled::new(chunk.h.clone(), chunk.target.clone(), classes)?;
        // The rule takes the smallest of equals, which is what is attacked and judged with most of the time.
        let small = |grid: &Grid| {
            grid.recipes.iter().map(|r| r.hidden.clone()).min_by_key(|h| h.iter().sum::<usize>())
        };
        let mut rng = stream(bench.seed, "slices of work");
        let mut net =
            |grid: &Grid, classes| Mlp::fresh(width, &small(grid).unwrap_or_default(), classes, &mut rng);
        let mlp = Probe::from_mlp(net(bench.recipes(), classes));
        let mut oracle = |kind: &OracleKind| Oracle {
            kind: *kind,
            target: Probe::from_mlp(net(&kind.grid(bench.recipes()), classes)),
            other: Probe::from_mlp(net(&kind.grid(bench.recipes()), bench.labels.other_classes)),
        };
        let oracles = bench.spec.probe.oracles.iter().map(&mut oracle).collect();
        Ok(Self { bench, data, labelled, mlp, oracles })
    }

    /// Does a piece of the work of that name; the number of units that it did.
    fn work(&self, name: &str) -> Result<f64, Fault> {
        match name.split(' ').next() {
            Some(READ) => self.read(),
            Some(STEP) => self.steps(name),
            Some(kind) => {
                let method = name.split(' ').nth(1).and_then(|i| i.parse::<usize>().ok());
                let method = method.and_then(|i| resolve(&self.bench.spec.methods[i]));
                method.map_or(Ok(1.0), |(m, options)| self.intervene(kind, m, &options))
            }
            None => Ok(1.0),
        }
    }

    fn read(&self) -> Result<f64, Fault> {
        let bench = self.bench;
        let rows: Vec<usize> = bench.test.iter().copied().take(SLICE).collect();
        bench.stimuli.hidden(&bench.model, bench.site.layer, &rows, &mut NoPulse)?;
        Ok(rows.iter().map(|r| bench.stimuli.list[*r].ids.len()).sum::<usize>() as f64)
    }

    fn steps(&self, name: &str) -> Result<f64, Fault> {
        let grids = self.bench.spec.probe.oracles.iter().map(|k| k.grid(self.bench.recipes()));
        let mut recipes = grids.chain([self.bench.recipes().clone()]).flat_map(|g| g.recipes);
        let Some(recipe) = recipes.find(|r| shape(self.bench, r) == name) else { return Ok(1.0) };
        let purpose = Purpose::from(self.bench.seed);
        train(&self.labelled, &self.labelled, &recipe, STEPS, &purpose, &mut || Ok(()))?;
        Ok(STEPS as f64)
    }

    fn intervene(&self, kind: &str, method: &'static dyn Method, options: &Options) -> Result<f64, Fault> {
        let bench = self.bench;
        let fit_data = FitData { data: &self.data, mlp: Some(&self.mlp), seed: bench.seed };
        let fitted = method.fit(&fit_data, options, &mut NoPulse)?;
        if kind == FIT {
            return Ok(self.data.train().len() as f64);
        }
        let chunk = &bench.chunks[0];
        let before = chunk.sights(&self.oracles);
        let court = Court {
            model: &bench.model,
            oracles: &self.oracles,
            before: &before,
            prior: &bench.prior,
            site: bench.site,
            conduct: bench.model.has_head()
                && bench.labels.target_classes == 2
                && bench.model.ends_at(bench.site.layer),
        };
        let mut applied = chunk.apply(method, fitted.as_ref(), bench.labels.target_classes, &mut NoPulse)?;
        let grid = method.parameter().grid;
        let values = [grid[grid.len() / 3], grid[2 * grid.len() / 3]];
        let resamples = Resamples::new(chunk.len(), bench.resample_count, bench.seed);
        for value in values {
            let outcome = applied.judge(value, court, &mut NoPulse)?;
            for scores in &outcome.scores {
                std::hint::black_box(scores.examples.summary(&resamples, bench.label.level()));
            }
        }
        Ok((chunk.len() * values.len()) as f64)
    }
}

/// Whether some method attacks a perceptron of its own.
fn attacks(bench: &Bench) -> bool {
    bench.spec.methods.iter().any(|m| find(&m.name).is_some_and(|m| m.needs().mlp))
}

fn parameters(recipe: &Recipe, inputs: usize, classes: usize) -> usize {
    let widths = [&[inputs][..], &recipe.hidden, &[classes]].concat();
    widths.windows(2).map(|w| (w[0] + 1) * w[1]).sum()
}
