//! Cards of a model trained from several seeds: reads them, rejects those that do not belong together, and collects all scores on one card.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::card::Card;
use base::text::{printable_label, shortened};
use pretraining::mixture::Mixture;
use pretraining::recipe::{BATCH, Recipe, WARM_UP};
use pretraining::splits::Judgement;
use pretraining::{GalleryError, Result};
use stats::Estimate;

/// The seed of the shipped models. It was fixed before any model was trained, so that the best seed could not be selected.
pub const SHIPPED: u64 = 1;
/// Maximum number of seeds per model.
pub const MOST: usize = 1_000;
/// Relative difference below which numbers count as equal.
const ROUNDING: f64 = 1e-12;
/// Files of a finished model.
const FILES: [&str; 4] = ["config.json", "model.safetensors", "tokenizer.json", "card.json"];

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SeedScores {
    pub seed: u64,
    /// The scores, in the order of the card.
    pub scores: Vec<SeedScore>,
}

/// A score without its description, which is on the card.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SeedScore {
    pub id: String,
    /// The score with its interval.
    pub share: Estimate,
    /// Number of answers.
    pub n: u64,
}

impl SeedScores {
    pub fn of(card: &Card) -> Self {
        let score = |s: &pretraining::score::Score| SeedScore { id: s.id.clone(), share: s.share, n: s.n };
        Self { seed: card.seed, scores: card.scores.iter().map(score).collect() }
    }
}

/// The folder under `dir` for one seed of a model.
pub fn folder(dir: &Path, name: &str, seed: u64) -> PathBuf {
    dir.join(name).join(format!("seed-{seed}"))
}

fn wrong(path: &Path, what: impl Into<String>) -> GalleryError {
    GalleryError::Seeds { path: path.to_owned(), what: what.into() }
}

/// Reads the card of the finished model in `folder`; the card must match this name and seed.
pub(crate) fn card_of(folder: &Path, name: &str, seed: u64) -> Result<Card> {
    if let Some(missing) = FILES.iter().map(|f| folder.join(f)).find(|f| !f.is_file()) {
        return Err(wrong(&missing, "is missing; remove the folder, and train this seed again"));
    }
    let path = folder.join("card.json");
    let card = super::read(&path, name)
        .map_err(|e| wrong(&path, format!("cannot be read: {e}; remove the folder, and train this seed again")))?;
    if card.name != name {
        let what = format!("is the card of {}, not of {name}; move its folder", shortened(&card.name, 60));
        return Err(wrong(&path, what));
    }
    if card.seed != seed {
        let what = format!("is the card of seed {}, not of seed {seed}; rename its folder", card.seed);
        return Err(wrong(&path, what));
    }
    check_scores(&path, &card)?;
    Ok(card)
}

/// Rejects numbers that training cannot produce.
fn check_scores(path: &Path, card: &Card) -> Result<()> {
    if let Some(twice) = (1..card.seeds.len()).find(|k| card.seeds[..*k].iter().any(|s| s.seed == card.seeds[*k].seed))
    {
        let what =
            format!("lists seed {} twice; remove `seeds` from it, and add the seeds again", card.seeds[twice].seed);
        return Err(wrong(path, what));
    }
    let own = SeedScores::of(card);
    for entry in std::iter::once(&own).chain(&card.seeds) {
        for (k, s) in entry.scores.iter().enumerate() {
            let id = shortened(&s.id, 40);
            if entry.scores[..k].iter().any(|other| other.id == s.id) {
                return Err(wrong(path, format!("has the score {id} twice; train seed {} again", entry.seed)));
            }
            let Estimate { mean, lo, hi } = s.share;
            if !(-1.0 <= lo && lo <= mean && mean <= hi && hi <= 1.0) {
                let what =
                    format!("seed {}: the score {id} is not a number within its interval; train it again", entry.seed);
                return Err(wrong(path, what));
            }
        }
    }
    Ok(())
}

/// The cards for all of a model's seeds under `dir`, in the order of the seeds; empty if the model has no folder.
///
/// # Errors
/// [`GalleryError::Seeds`] for a card that does not belong with the others, with the file and a remedy.
pub fn cards(dir: &Path, name: &str) -> Result<Vec<Card>> {
    let home = dir.join(name);
    let entries = match std::fs::read_dir(&home) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(GalleryError::Io { path: home, source }),
    };
    let mut found: Vec<(u64, PathBuf)> = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|source| GalleryError::Io { path: home.clone(), source })?;
        let file = entry.file_name();
        let Some(rest) = file.to_str().and_then(|n| n.strip_prefix("seed-")) else { continue };
        let Ok(seed) = rest.parse() else {
            return Err(wrong(&entry.path(), "does not name a seed; rename or remove it"));
        };
        found.push((seed, entry.path()));
        if found.len() > MOST {
            return Err(wrong(&home, format!("has more than {MOST} seeds; move some to another folder")));
        }
    }
    found.sort();
    if let Some(twice) = found.windows(2).find(|w| w[0].0 == w[1].0) {
        let other = twice[0].1.file_name().unwrap_or_default().to_string_lossy();
        let what = format!("is a second copy of seed {}, which is also in {other}; remove one of the two", twice[0].0);
        return Err(wrong(&twice[1].1, what));
    }
    let cards = found.iter().map(|(seed, path)| card_of(path, name, *seed)).collect::<Result<Vec<Card>>>()?;
    if let Some((first, rest)) = cards.split_first() {
        let about = format!("seed {}", first.seed);
        for (card, (_, path)) in rest.iter().zip(&found[1..]) {
            same_model(&path.join("card.json"), card, first, &about)?;
        }
    }
    Ok(cards)
}

/// Rejects a card that differs from `first` in anything that does not depend on the seed.
fn same_model(path: &Path, card: &Card, first: &Card, about: &str) -> Result<()> {
    let (a, b) = (identity(card), identity(first));
    match difference("", &a, &b).or_else(|| difference("", &b, &a).map(|d| d.swapped())) {
        None => Ok(()),
        Some(d) => Err(wrong(
            path,
            format!(
                "{} is {}, but {} for {about}: models with different seeds may not differ in anything else; train one \
                 of them again, or keep them in separate folders",
                d.at, d.here, d.there
            ),
        )),
    }
}

struct Difference {
    at: String,
    here: String,
    there: String,
}

impl Difference {
    fn swapped(self) -> Self {
        Self { at: self.at, here: self.there, there: self.here }
    }
}

/// The first field of `a` that is different or missing in `b`.
fn difference(at: &str, a: &Value, b: &Value) -> Option<Difference> {
    if let (Value::Object(x), Value::Object(y)) = (a, b) {
        return x.iter().find_map(|(key, value)| {
            let at = if at.is_empty() { key.clone() } else { format!("{at}.{key}") };
            difference(&at, value, y.get(key).unwrap_or(&Value::Null))
        });
    }
    let text = |v: &Value| match v {
        Value::Null => "missing".to_owned(),
        other => shortened(&other.to_string(), 60),
    };
    (!same(a, b)).then(|| Difference { at: printable_label(at), here: text(a), there: text(b) })
}

/// True if two values are equal, numbers up to rounding: frequencies are rescaled to a sum of 1 at every read.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Array(x), Value::Array(y)) => x.len() == y.len() && x.iter().zip(y).all(|(a, b)| same(a, b)),
        (Value::Number(x), Value::Number(y)) if x != y => match (x.as_f64(), y.as_f64()) {
            (Some(x), Some(y)) => (x - y).abs() <= ROUNDING * x.abs().max(y.abs()),
            _ => false,
        },
        _ => a == b,
    }
}

/// Everything on a card that is the same for every seed. Fields that are added to cards in the future are included unless they are excluded
/// here.
fn identity(card: &Card) -> Value {
    let named = |pairs: Vec<(String, Value)>| Value::Object(pairs.into_iter().collect::<Map<_, _>>());
    let what = card.scores.iter().map(|s| (s.id.clone(), json!(s.what))).collect();
    let prompts =
        |r: &pretraining::recall::RelationRecall| json!(r.prompts.iter().map(|p| p.text.as_str()).collect::<Vec<_>>());
    let facts = card.facts.iter().map(|r| (r.id.clone(), prompts(r))).collect();
    let bare = Card { facts: Vec::new(), scores: Vec::new(), seeds: Vec::new(), ..card.clone() };
    let mut all = json!(bare);
    for (part, keys) in [
        ("", &["seed", "version", "notes", "scores", "facts"][..]),
        ("shape", &["parameters", "bytes"]),
        ("tokenizer", &["entries"]),
        ("corpus", &["tokens", "hash"]),
        ("training", &["seconds", "threads", "loss"]),
    ] {
        let object = if part.is_empty() { Some(&mut all) } else { all.get_mut(part) };
        if let Some(object) = object.and_then(Value::as_object_mut) {
            keys.iter().for_each(|key| drop(object.remove(*key)));
        }
    }
    all["scores"] = named(what);
    all["prompts"] = named(facts);
    all
}

/// Rejects a card whose training settings differ from those of the training to be run.
pub(crate) fn is_of(path: &Path, card: &Card, recipe: &Recipe, steps: usize, judgement: Judgement) -> Result<()> {
    let planned = json!({
        "objective": recipe.objective(),
        "shape": {"layers": recipe.layers, "hidden": recipe.hidden, "heads": recipe.heads},
        "training": {"steps": steps, "batch": BATCH, "rate": recipe.rate, "warm_up": WARM_UP},
        "corpus": {"mixture": Mixture::of(recipe)},
        "judgement": judgement,
    });
    match difference("", &planned, &identity(card)) {
        None => Ok(()),
        Some(d) => Err(wrong(
            path,
            format!(
                "{} is {}, but {} for the model to be trained: remove its folder, or choose another one with --out",
                d.at, d.there, d.here
            ),
        )),
    }
}

/// Joins the cards of a model's seeds: returns the card of the shipped seed (or of the lowest seed if that is missing) with the scores of
/// all seeds.
pub fn together(cards: &[Card]) -> Option<Card> {
    let first = cards.iter().find(|c| c.seed == SHIPPED).or(cards.first())?;
    Some(Card { seeds: cards.iter().map(SeedScores::of).collect(), ..first.clone() })
}

/// The card in `path` with the scores of `found` added. Seeds that it already lists are kept; a seed with different numbers is refused
/// unless `replace` is true.
///
/// # Errors
/// [`GalleryError::Seeds`] with a remedy, and read errors.
pub fn merged(path: &Path, name: &str, found: &[Card], replace: bool) -> Result<Card> {
    let mut card = super::read(path, name)
        .map_err(|e| wrong(path, format!("cannot be read: {e}; give the folder that contains the models' folders")))?;
    check_scores(path, &card)?;
    let own = SeedScores::of(&card);
    let stale = card.seeds.iter().any(|s| s.seed == own.seed && *s != own);
    if stale && !replace {
        let what = format!(
            "lists seed {} with numbers that differ from the card's own scores; --replace rewrites the list",
            own.seed
        );
        return Err(wrong(path, what));
    }
    let mut seeds = if stale { Vec::new() } else { std::mem::take(&mut card.seeds) };
    if !seeds.iter().any(|s| s.seed == own.seed) {
        seeds.push(own);
    }
    for new in found {
        same_model(path, &card, new, &format!("seed {}, which is to be added", new.seed))?;
        let new = SeedScores::of(new);
        match seeds.iter_mut().find(|s| s.seed == new.seed) {
            None => seeds.push(new),
            Some(old) if *old == new => {}
            Some(_) if new.seed == card.seed => {
                let what = format!(
                    "has the same seed ({}) as a model to be added, but different scores, so the two models differ; \
                     copy the whole folder of the other model here first",
                    new.seed
                );
                return Err(wrong(path, what));
            }
            Some(old) if replace => *old = new,
            Some(_) => {
                let what = format!("lists seed {} with different numbers; --replace uses the new ones", new.seed);
                return Err(wrong(path, what));
            }
        }
    }
    seeds.sort_by_key(|s| s.seed);
    Ok(Card { seeds, ..card })
}

#[cfg(test)]
#[path = "seeds_tests.rs"]
mod tests;
