//! Hidden states of stimuli, cached or computed by the model.

use super::fault::Fault;
use super::host::{Host, NoticeLevel};
use super::stimuli::{Stimuli, Where};
use super::store::{Key, Space, Store};
use base::Problem;
use base::matrix::Matrix;
use model::{Model, Readout};

/// Hidden states after block `layer` (from 1) at a position of the stimuli `rows`: `rows.len()` x D. Only missing states are computed; they
/// are then cached.
pub fn hidden(
    model: &Model,
    stimuli: &Stimuli,
    (layer, at): (usize, Where),
    rows: &[usize],
    host: &mut dyn Host,
) -> Result<Matrix, Fault> {
    let (space, keys) = names(model, stimuli, (layer, at), rows);
    let cache = host.store();
    let mut out = Matrix::zeros(rows.len(), model.arch().hidden);
    let found = cache.fetch(&space, &keys, &mut out);
    if found.missing.is_empty() {
        host.poll()?;
        return Ok(out);
    }
    if found.damaged > 0 {
        let what = format!("{} cached hidden states are damaged and will be recomputed", found.damaged);
        say(host, NoticeLevel::Info, what, cache.as_ref(), "")?;
    }
    let which: Vec<usize> = found.missing.iter().map(|i| rows[*i]).collect();
    let fresh = stimuli.hidden(model, (layer, at), &which, host)?;
    found.missing.iter().enumerate().for_each(|(k, i)| out.row_mut(*i).copy_from_slice(fresh.row(k)));
    let keys: Vec<Key> = found.missing.iter().map(|i| keys[*i]).collect();
    if let Err(e) = cache.keep(&space, &keys, &fresh) {
        let what = format!("hidden states could not be cached: {e}; the run continues without the cache");
        say(
            host,
            NoticeLevel::Warning,
            what,
            cache.as_ref(),
            "free space, or set PROBITY_CACHE_DIR to a different folder",
        )?;
    }
    Ok(out)
}

/// The `rows` without cached hidden states.
pub fn absent(
    model: &Model,
    stimuli: &Stimuli,
    (layer, at): (usize, Where),
    rows: &[usize],
    cache: &dyn Store,
) -> Vec<usize> {
    let (space, keys) = names(model, stimuli, (layer, at), rows);
    cache.absent(&space, &keys).into_iter().map(|i| rows[i]).collect()
}

/// Cache keys of the hidden states of `rows` after block `layer` (from 1).
fn names(model: &Model, stimuli: &Stimuli, (layer, at): (usize, Where), rows: &[usize]) -> (Space, Vec<Key>) {
    let space = Space::new(model, model.arch().after_block(layer), &Readout::Positions(Vec::new()));
    let keys = rows.iter().map(|r| stimuli.list[*r].spot(at).key(&stimuli.list[*r].ids)).collect();
    (space, keys)
}

fn say(host: &mut dyn Host, level: NoticeLevel, what: String, cache: &dyn Store, hint: &str) -> Result<(), Fault> {
    let place = cache.place().map_or_else(String::new, |d| d.display().to_string());
    Ok(host.notice(level, Problem::new(what, place, hint))?)
}
