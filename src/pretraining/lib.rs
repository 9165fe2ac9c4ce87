//! Training of language models on Micro-English and facts, and further training of any model on more or fewer facts or on corrupted text.
//!
//! `recipe` lists the built-in models, `mixture` the training text of each family, `splits` how facts and names are used, and `text` the
//! sentences and their encoding; `ask` and `recall` test a model's knowledge of facts. All randomness is seeded.

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
pub use splits::{FactUse, Judgement};
