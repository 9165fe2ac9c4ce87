//! What a run will need, before its long work begins: memory by arithmetic over counts, time by counted work.

use super::memory::Counts;
use super::prepare::Bench;
use crate::base::Problem;
use crate::base::size::show;
use crate::lab::demand::{Forecast, Work, peak, resident};
use crate::lab::fault::Fault;
use crate::lab::hidden;
use crate::lab::host::Host;
use crate::lab::interventions::registry::find;
use crate::probe::Grid;
use crate::probe::train::Recipe;

/// Test rows that a slice of reading takes.
const SLICE: usize = 192;

/// What a run on this bench will need, within the host's limit if there is one.
///
/// # Errors
/// [`Fault::Failed`] where the limit cannot be kept, or the model refuses.
pub fn of(bench: &mut Bench, host: &mut dyn Host) -> Result<Forecast, Fault> {
    let limit = host.memory_limit();
    let (bytes, parts, tokens_per_batch) = memory(bench, limit)?;
    bench.stimuli.tokens_per_batch = tokens_per_batch;
    let seconds = host.elapsed() + seconds(bench, host)?;
    let model = bench.model.name().to_owned();
    Ok(Forecast { model, bytes, parts, seconds, range: None, refined: false, tokens_per_batch, limit })
}

type Memory = (u64, Vec<crate::lab::demand::MemoryPart>, usize);

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

fn seconds(bench: &Bench, host: &mut dyn Host) -> Result<f64, Fault> {
    let mut work = Work::default();
    let site = bench.site;
    let read = format!("tokens of {} to layer {}", bench.model.hash(), site.layer);
    work.add(&read, unread(bench, host) as f64);
    let rows: Vec<usize> = bench.test.iter().copied().take(SLICE).collect();
    let tokens: usize = rows.iter().map(|r| bench.stimuli.list[*r].ids.len()).sum();
    let slice = || {
        bench.stimuli.hidden(&bench.model, site.layer, &rows, &mut crate::base::NoPulse)?;
        Ok(tokens as f64)
    };
    work.seconds(host, &mut |_| slice())
}

/// Tokens of texts that have not been read before.
fn unread(bench: &Bench, host: &dyn Host) -> usize {
    let store = host.store();
    let all: Vec<usize> = (0..bench.stimuli.list.len()).collect();
    let absent = hidden::absent(&bench.model, &bench.stimuli, bench.site.layer, &all, store.as_ref());
    absent.iter().map(|r| bench.stimuli.list[*r].ids.len()).sum()
}

/// Whether some method attacks a perceptron of its own.
fn attacks(bench: &Bench) -> bool {
    bench.spec.methods.iter().any(|m| find(&m.name).is_some_and(|m| m.needs().mlp))
}

fn parameters(recipe: &Recipe, inputs: usize, classes: usize) -> usize {
    let widths = [&[inputs][..], &recipe.hidden, &[classes]].concat();
    widths.windows(2).map(|w| (w[0] + 1) * w[1]).sum()
}
