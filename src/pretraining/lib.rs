//! Trains language models on the micro-world, and trains any model further: on more or fewer facts, or on corrupted text.
//!
//! `recipe` describes the built-in models, `mixture` what each family reads, `splits` the use of facts and names,
//! `text` the sentences and their encoding, `ask` and `recall` a model's answers about facts. Everything random comes
//! from the seed.

pub mod ask;
pub mod bookmark;
pub mod denoising;
mod error;
pub mod further;
pub mod mixture;
pub mod own_text;
pub mod progress;
pub mod recall;
pub mod recipe;
pub mod score;
pub mod splits;
pub mod text;
pub mod tokenizer;

pub use error::{GalleryError, Result};
pub use mixture::{Corpus, Mixture, Preference};
pub use progress::{Progress, Stage};
pub use recipe::{Base, RECIPES, Recipe};
pub use splits::{Judgement, Lot};
