//! Forecast of a run: time to encode sentences that are not cached, and to train.

use std::sync::Arc;

use super::corruption::{self, Corruption};
use super::probes::Side;
use super::sentences::{Drawn, FOLDS, Sentences};
use crate::Host;
use crate::spec::Spec;
use base::Cancelled;
use base::matrix::Matrix;
use lab::demand::{Forecast, MemoryPart, Work, resident, within_limit};
use lab::fault::Fault;
use model::chunk::TOKENS_PER_BATCH;
use probe::Labelled;
use probe::epochs::{EPOCHS, PATIENCE, train};
use probe::mdl::variational::{codes, looks, step};
use probe::train::Recipe;
use stats::Purpose;

/// Number of sentences that are encoded to time the encoding.
const SLICE: usize = 32;
/// Average epochs per training run, measured on the default spec; each run takes between [`PATIENCE`] and [`EPOCHS`] epochs.
const EXPECTED: f64 = 9.0;

/// Forecast for a run with this spec, one entry per model; empty for files of results.
pub(crate) fn of(spec: &Spec, host: &mut Host<'_>) -> Result<Vec<Forecast>, Fault> {
    if spec.of_files() {
        return Ok(Vec::new());
    }
    let [a, b] = corruption::load(spec)?;
    with(spec, &super::probes::sentences(spec, host)?, [&a, &b], host)
}

/// The forecast for sentences that are already known.
pub(crate) fn with(
    spec: &Spec,
    both: &[Arc<Sentences>; 2],
    corruptions: [&Option<Corruption>; 2],
    host: &mut Host<'_>,
) -> Result<Vec<Forecast>, Fault> {
    let mut list: Vec<Forecast> = Vec::new();
    let mut bytes = resident().unwrap_or(64 << 20);
    for first in [true, false] {
        let side = Side::open(spec, first, both, host)?;
        let sentences = side.sentences.clone();
        let corrupting = corruptions[usize::from(!first)].as_ref().map_or(Ok(0.0), |c| c.seconds(host))?;
        let (seconds, range) = seconds(spec, (&side, first), &sentences, host)?;
        let (seconds, range) = (corrupting + seconds, range.map(|end| corrupting + end));
        let drawn = sentences.drawn(spec.task.sizes.last().copied().unwrap_or(0));
        let vectors = (drawn.parts.iter().map(Vec::len).sum::<usize>() * side.reader.width() * 8) as u64;
        bytes = bytes.max(resident().unwrap_or(0)) + vectors;
        let parts = vec![
            MemoryPart { name: "program and models".into(), bytes: bytes - vectors },
            MemoryPart { name: "vectors".into(), bytes: vectors },
        ];
        let model = side.reader.model.name().to_owned();
        let (limit, tokens_per_batch) = (host.memory_limit(), TOKENS_PER_BATCH);
        // If both sides use one model, they share an entry.
        if let Some(same) = list.iter_mut().find(|f| f.model == model) {
            same.seconds += seconds;
            same.range = same.range.map(|r| [r[0] + range[0], r[1] + range[1]]);
            continue;
        }
        let range = Some(range);
        list.push(Forecast {
            model,
            bytes,
            parts,
            seconds,
            range,
            because: None,
            refined: false,
            tokens_per_batch,
            limit,
        });
    }
    within_limit(&list)?;
    Ok(list)
}

fn seconds(
    spec: &Spec,
    (side, first): (&Side, bool),
    sentences: &Sentences,
    host: &mut Host<'_>,
) -> Result<(f64, [f64; 2]), Fault> {
    let largest = sentences.drawn(spec.task.sizes.last().copied().unwrap_or(0));
    let rows: Vec<usize> = largest.parts.concat();
    let texts: Vec<&str> = rows.iter().map(|r| sentences.texts[*r].as_str()).collect();
    let mut reading = Work::default();
    let hash = side.reader.model.hash().to_owned();
    let corrupted = spec.side(first).corrupted > 0;
    // A corrupted encoder is a different model; before it is trained, its cached vectors cannot be found.
    let absent = if corrupted { texts.len() } else { side.reader.absent(&texts, host)? };
    reading.add(&format!("sentence {hash} {}", side.reader.layer), absent as f64);
    let read = reading.seconds(host, &mut |_| {
        let slice = &texts[..SLICE.min(texts.len())];
        side.reader.fresh(slice)?;
        Ok(slice.len() as f64)
    })?;
    let mut training = Work::default();
    let threads = rayon::current_num_threads() as f64;
    let kind = format!("epoch of {} settings, {} of {}", side.recipes.len(), side.shape(), side.reader.width());
    for size in &spec.task.sizes {
        let n = sentences.drawn(*size).parts[0].len() as f64 * times(spec, first, *size);
        training.add(&kind, n * spec.training.seeds as f64 / threads);
    }
    let smallest = sentences.drawn(spec.task.sizes.first().copied().unwrap_or(0));
    let epoch = training.seconds(host, &mut |_| slice(side, sentences, &smallest))?;
    let coded = coding(spec, side, sentences, &largest, host)?;
    let with = |epochs: f64| read + coded + epoch * epochs;
    Ok((with(EXPECTED), [with(PATIENCE as f64 + 1.0), with(EPOCHS as f64)]))
}

/// Number of steps that are run to time a search for codes.
const STEPS: usize = 8;

/// Expected time in seconds for a side's codes. Only the searches count; the rest is negligible.
fn coding(spec: &Spec, side: &Side, sentences: &Sentences, drawn: &Drawn, host: &mut Host<'_>) -> Result<f64, Fault> {
    let mut work = Work::default();
    if spec.also.mdl {
        let looks = (looks(drawn.parts[0].len()) * spec.training.seeds) as f64;
        let kind = format!("code of {}", side.reader.width());
        work.add(&kind, looks / rayon::current_num_threads() as f64);
    }
    work.seconds(host, &mut |_| {
        let data = made_up(side, sentences, drawn, 8 * SLICE)?;
        let mut beats = 0;
        let mut stop = |_: usize, _: usize| {
            beats += 1;
            if beats > STEPS { Err(Cancelled) } else { Ok(()) }
        };
        // Runs a few steps, then stops.
        let _ = codes(&data, &[Purpose::new(0, "forecast", "")], &mut stop);
        Ok((STEPS * step(data.len())) as f64)
    })
}

/// The first training sentences, with dummy vectors.
fn made_up(side: &Side, sentences: &Sentences, drawn: &Drawn, most: usize) -> Result<Labelled, Fault> {
    let rows: Vec<usize> = drawn.parts[0].iter().copied().take(most).collect();
    let x = Matrix::from_fn(rows.len(), side.reader.width(), |i, j| ((i * 31 + j * 17) % 13) as f32 / 13.0 - 0.5);
    let y = rows.iter().map(|r| sentences.labels[*r]).collect();
    Ok(Labelled::new(x, y, sentences.classes)?)
}

/// Number of training runs for a side at a given size.
pub(crate) fn times(spec: &Spec, first: bool, size: usize) -> f64 {
    let also = &spec.also;
    let largest = spec.task.sizes.last() == Some(&size);
    let noise = if first { 0 } else { also.noise.len() };
    let more = usize::from(also.control) + FOLDS * usize::from(also.folds);
    (1 + noise + more * usize::from(largest)) as f64
}

/// Trains one probe per grid setting for one epoch on a few sentences, and returns the number of examples used.
fn slice(side: &Side, sentences: &Sentences, drawn: &Drawn) -> Result<f64, Fault> {
    let data = made_up(side, sentences, drawn, 4 * SLICE)?;
    let recipes: Vec<&Recipe> = side.recipes.iter().collect();
    let mut epochs = 0;
    let stop = &mut |more: usize| {
        epochs += more;
        if epochs > recipes.len() { Err(Cancelled) } else { Ok(()) }
    };
    // Runs one epoch, then stops.
    let _ = train(&data, &data, &recipes, &Purpose::new(0, "forecast", ""), stop);
    Ok(data.len() as f64)
}
