//! The built-in models: their training from a seed, and their scores.
//!
//! `recipe` has one line per model. `mixture` defines the training text of each family. `splits` decides which facts and names are trained,
//! and which half of the questions is used to choose training settings. `train` writes the text (`text`), learns a tokenizer, trains,
//! measures (`score`, `recall`, `benchmark` and `reads`, through `ask`) and writes a Hugging Face folder with a [`Card`]. `bars` defines
//! targets for the scores. `series` trains every model from several seeds, `seeds` collects their cards, and `spread` shows how much scores
//! depend on the seed. `further` continues training any model on more or fewer of the facts. The shipped folders are in `assets/models` and
//! are embedded by [`model::builtin`].
//!
//! All randomness comes from the seed. On the same machine with the same number of threads, the same seed gives the same files, except for
//! the seconds on the card. On other machines, sums may be added in a different order, so that the weights differ in their last bits.

pub mod bars;
pub mod benchmark;
pub mod card;
mod linear;
mod reads;
pub mod score;
pub mod seeds;
pub mod series;
pub mod spread;
mod summary;
pub mod train;
mod work;

#[cfg(test)]
mod tests;

pub use card::Card;
pub use train::{Options, ask_benchmark_again, rescore, train};

use pretraining::{GalleryError, Result};
use std::path::Path;

use model::builtin::{BUILTINS, Builtin};

/// The cards of the shipped models, in the order of the gallery.
///
/// # Errors
/// [`GalleryError::Card`] if an embedded card cannot be parsed.
pub fn cards() -> Result<Vec<Card>> {
    BUILTINS.iter().map(builtin_card).collect()
}

fn builtin_card(model: &Builtin) -> Result<Card> {
    let wrong = |what: String| GalleryError::Card { name: model.name.to_owned(), what };
    let bytes = model.card.bytes().map_err(|e| wrong(e.to_string()))?;
    serde_json::from_slice(&bytes).map_err(|e| wrong(e.to_string()))
}

/// Maximum bytes of a card in a folder.
const MAX_CARD_BYTES: u64 = 1 << 20;

/// The card of a built-in model, or of a folder with a `card.json`.
pub fn card(name: &str) -> Result<Card> {
    match model::builtin::find(name) {
        Some(b) => builtin_card(b),
        None => read(&Path::new(name).join("card.json"), name),
    }
}

/// Writes a card atomically, replacing an earlier one.
pub fn write(path: &Path, card: &Card) -> Result<()> {
    let mut text = serde_json::to_string_pretty(card)
        .map_err(|e| GalleryError::Card { name: card.name.clone(), what: e.to_string() })?;
    text.push('\n');
    Ok(model::weights::write_whole(path, text.as_bytes())?)
}

/// Reads a card from a file; `name` is used in errors.
fn read(path: &Path, name: &str) -> Result<Card> {
    let wrong = |what: String| GalleryError::Card { name: name.to_owned(), what };
    if !path.is_file() {
        return Err(GalleryError::NoCard(name.into()));
    }
    let bytes = base::read::bytes(path, MAX_CARD_BYTES).map_err(|e| wrong(e.to_string()))?;
    serde_json::from_slice(&bytes).map_err(|e| wrong(e.to_string()))
}
