//! What is known of a run before it begins: counts of its own stimuli for the memory, a pilot on a share of them for the time.

use super::cache::Cache;
use super::fault::Fault;
use super::host::Host;
use super::pilot::{self, Estimate};
use super::prepare::Bench;
use crate::base::Problem;
use crate::base::size::show;
use crate::engine::forecast::{Counts, Forecast};
use crate::engine::spec::Spec;
use crate::lab::interventions::find;
use crate::probe::Grid;
use crate::probe::train::Recipe;

/// Bytes that the process holds resident; none where the system does not say.
#[must_use]
pub fn resident() -> Option<u64> {
    status("VmRSS:")
}

/// The most that the process has ever held resident: while a model loads, its file and its parameters are there as well.
fn peak() -> Option<u64> {
    status("VmHWM:")
}

fn status(key: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix(key))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kb| kb << 10)
}

/// What a run on this bench will need, within `limit` if one is given. Nothing has been read yet.
///
/// # Errors
/// [`Fault::Failed`] where the limit cannot be kept, or the model refuses.
pub fn of(
    bench: &Bench,
    spec: &Spec,
    limit: Option<u64>,
    cache: &Cache,
    host: &mut Host<'_>,
) -> Result<(Forecast, Estimate), Fault> {
    // Texts have been made and read into tokens by now.
    let before = host.meter.elapsed();
    let (model, threads) = (&bench.model, rayon::current_num_threads());
    let lengths: Vec<usize> = bench.stimuli.list.iter().map(|s| s.ids.len()).collect();
    let longest = lengths.iter().copied().max().unwrap_or(1);
    let part = bench.split.oracle().train().len() + bench.split.oracle().validation().len();
    let below = !model.ends_at(bench.site.layer);
    let classes = bench.labels.target_classes;
    let grids: Vec<Grid> = spec.probe.oracles.iter().map(|k| k.grid(bench.recipes())).collect();
    let attacked = needs_probe(spec).then(|| bench.recipes());
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
        resamples: spec.interval.resamples,
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
    let bytes = bytes.max(loaded);
    host.stage(format!("{}: timing a share of the work", model.name()), "", 0.0);
    let mut pulse = |_: usize, _: usize| host.poll();
    let estimate = pilot::estimate(bench, spec, tokens_per_batch, cache, &mut pulse)?;
    let [seconds, least, most] = estimate.spread().map(|s| before + s);
    let forecast = Forecast {
        model: model.name().to_owned(),
        bytes,
        parts,
        seconds,
        range: (least < most).then_some([least, most]),
        refined: false,
        tokens_per_batch,
        limit,
    };
    Ok((forecast, estimate))
}

/// Share of the time that the choice of the attacked probe may move before it is trained ahead of all else.
const OPEN: f64 = 0.1;

/// The same once the attacked probe is trained, where much of the time depends on it: the run trains it in any case. A probe
/// whose training takes longer than `patience` seconds is not waited for.
///
/// # Errors
/// [`Fault`].
pub fn settled(
    bench: &mut Bench,
    (forecast, estimate): (&Forecast, Estimate),
    patience: f64,
    cache: &Cache,
    host: &mut Host<'_>,
) -> Result<Option<Forecast>, Fault> {
    let open = forecast.range.is_some_and(|[least, most]| most - least > 2.0 * OPEN * forecast.seconds);
    if !open || estimate.probe > patience {
        return Ok(None);
    }
    let begun = host.meter.elapsed();
    bench.train_mlp(cache, host)?;
    let weights = bench.mlp().map_or(0, |p| p.mlp().parameters()) as f64;
    let before = forecast.seconds - estimate.spread()[0];
    let seconds = before + estimate.known + (host.meter.elapsed() - begun) + estimate.attacks(weights);
    Ok(Some(Forecast { seconds, range: None, ..forecast.clone() }))
}

/// Whether some method attacks a perceptron of its own.
fn needs_probe(spec: &Spec) -> bool {
    spec.methods.iter().any(|m| find(&m.name).is_some_and(|m| m.needs().mlp))
}

fn parameters(recipe: &Recipe, inputs: usize, classes: usize) -> usize {
    let widths = [&[inputs][..], &recipe.hidden, &[classes]].concat();
    widths.windows(2).map(|w| (w[0] + 1) * w[1]).sum()
}
