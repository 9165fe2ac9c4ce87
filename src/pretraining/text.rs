//! Training text for the built-in models: words for the tokenizer, and batches with their targets.

use std::collections::BTreeSet;

use rand_chacha::ChaCha8Rng;
use sha2::{Digest, Sha256};

use super::denoising::{self, Noise, Way};
use super::error::Result;
use super::mixture::{Corpus, Line};
use super::recipe::{BATCH, Base, Objective};
use super::tokenizer;
use base::files::hex;
use corpus::{micro, rationales};
use model::batch::Batch;
use model::error::ModelError;
use model::plan::Target;
use model::tokenizer::{Extras, Tokenizer};
use stats::rng::{shuffle, stream, unit};

/// Number of lines whose words are counted for the tokenizer.
const COUNTED: usize = 20_000;
/// Count added for each word that must be a single token.
const WHOLE: usize = 200;
/// Maximum number of rounds for learning a vocabulary. Each round after the first adds the benchmark words that the previous one split into
/// a space and the rest.
const ROUNDS: usize = 3;
/// Vocabulary size of every tokenizer in the gallery, chosen so that eight models fit into 24 MB.
pub const ENTRIES: usize = 4_400;
/// Number of batches that are generated together, sorted by length and shuffled.
const CHUNK: usize = 32;

/// Share of lines in which the focus is masked.
pub(crate) const FOCUS_MASKED: f64 = 0.60;
/// Share of other words masked in lines with a masked focus.
pub(crate) const ALSO_MASKED: f64 = 0.05;
/// Share of words masked in lines without a masked focus.
pub(crate) const RANDOM_MASKED: f64 = 0.12;

/// Learns a family's tokenizer from its corpus; returns a `tokenizer.json`. Every answer of Micro-English and of the rationale benchmark,
/// and every object of a fact, is a single token.
///
/// # Errors
/// [`ModelError`] if the `tokenizers` crate rejects the result.
pub fn tokenizer(base: Base, corpus: &Corpus, seed: u64) -> Result<String> {
    let mut rng = stream(seed, "gallery tokenizer");
    let texts: Vec<String> = (0..COUNTED).map(|_| corpus.line(&mut rng).text).collect();
    let objects = corpus.relations().iter().flat_map(|r| r.facts.iter().map(|f| f.object.as_str()));
    let answers = rationales::one_token_answers()?;
    let words = micro::whole_words().into_iter().chain(objects).chain(answers.iter().map(String::as_str));
    let whole: BTreeSet<&str> = words.collect();
    // Words include the preceding space; connectives are also added in the form in which they begin a sentence.
    let mut whole: Vec<String> = whole.into_iter().map(|w| format!(" {w}")).collect();
    whole.extend(micro::order::CONNECTIVES.map(|w| micro::join(&[w])));
    let asked: Vec<String> = rationales::words()?.into_iter().map(|w| format!(" {w}")).collect();
    for _ in 0..ROUNDS {
        let boosted = whole.iter().flat_map(|w| std::iter::repeat_n(w.as_str(), WHOLE));
        let file = learned(base, texts.iter().map(String::as_str).chain(boosted))?;
        let torn = torn(&file, &asked)?;
        if torn.is_empty() {
            return Ok(file);
        }
        whole.extend(torn);
    }
    let boosted = whole.iter().flat_map(|w| std::iter::repeat_n(w.as_str(), WHOLE));
    learned(base, texts.iter().map(String::as_str).chain(boosted))
}

fn learned<'t>(base: Base, counted: impl Iterator<Item = &'t str>) -> Result<String> {
    Ok(match base {
        Base::Bert => tokenizer::wordpiece(&tokenizer::words_in_lower_case(counted)?, ENTRIES)?,
        Base::Roberta | Base::Bart => tokenizer::byte_level(&tokenizer::words_in_bytes(counted)?, true, ENTRIES)?,
        Base::Gpt2 => tokenizer::byte_level(&tokenizer::words_in_bytes(counted)?, false, ENTRIES)?,
    })
}

/// Returns the words that the tokenizer splits into a space token and the rest. If they stayed split, saliency would also have to score the
/// space token.
fn torn(file: &str, words: &[String]) -> Result<Vec<String>> {
    let tokenizer = Tokenizer::from_json("tokenizer.json", file.as_bytes(), Extras::default())?;
    let mut torn = Vec::new();
    for word in words {
        let encoded = tokenizer.encode(&format!("a{word}"))?;
        let special = encoded.is_special.iter();
        if encoded.offsets.iter().zip(special).any(|(at, special)| !special && *at == (1, 2)) {
            torn.push(word.clone());
        }
    }
    Ok(torn)
}

/// A batch of token ids with the tokens to predict.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    pub batch: Batch,
    /// Tokens to predict, by position; a causal model predicts the token that follows `position`.
    pub targets: Vec<Target>,
}

/// Shares of masked words.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Masking {
    /// Share of lines in which the focus is masked.
    pub focus: f64,
    /// Share of other words masked in lines with a masked focus.
    pub beside: f64,
    /// Share of words masked in lines without a masked focus.
    pub random: f64,
}

impl Default for Masking {
    fn default() -> Self {
        Self { focus: FOCUS_MASKED, beside: ALSO_MASKED, random: RANDOM_MASKED }
    }
}

/// An encoded line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Token ids, including the tokenizer's special tokens; for a causal model, followed by the end-of-text token.
    pub ids: Vec<u32>,
    /// True for words, false for special tokens.
    pub(super) words: Vec<bool>,
    /// True for words of the focus.
    pub(super) focus: Vec<bool>,
}

/// Converts lines to rows and rows to steps.
pub struct Encoder<'a> {
    tokenizer: &'a Tokenizer,
    objective: Objective,
    masking: Masking,
    noise: Noise,
}

impl<'a> Encoder<'a> {
    /// Creates an encoder for an objective. For denoising models, decoders receive the original lines.
    pub fn new(tokenizer: &'a Tokenizer, objective: Objective, masking: Masking) -> Self {
        Self { tokenizer, objective, masking, noise: Noise::NONE }
    }

    /// Adds noise to the input of denoising models; has no effect for other objectives.
    pub fn with_noise(self, noise: Noise) -> Self {
        Self { noise, ..self }
    }

    /// Encodes a line.
    ///
    /// # Errors
    /// [`ModelError`] if the tokenizer fails or has no special tokens.
    pub fn row(&self, line: &Line) -> Result<Row> {
        let e = self.tokenizer.encode(&line.text)?;
        let inside = |&(from, to): &(usize, usize)| line.focus.iter().any(|f| from < f.1 && f.0 < to);
        let mut words: Vec<bool> = e.is_special.iter().map(|s| !s).collect();
        let mut focus: Vec<bool> = e.offsets.iter().zip(&words).map(|(o, w)| *w && inside(o)).collect();
        let mut ids = e.ids;
        if self.objective == Objective::Causal {
            ids.push(self.special(self.tokenizer.special().eos, "end of text")?);
            words.push(false);
            focus.push(false);
        }
        Ok(Row { ids, words, focus })
    }

    fn special(&self, id: Option<u32>, what: &str) -> Result<u32> {
        Ok(id.ok_or_else(|| ModelError::Training(format!("the tokenizer has no {what} token")))?)
    }

    /// Builds a batch from the given rows.
    ///
    /// # Errors
    /// [`ModelError`] if the tokenizer has no special tokens or a row is empty.
    pub fn step(&self, rows: Vec<Row>, rng: &mut ChaCha8Rng) -> Result<Step> {
        match self.objective {
            Objective::Masked => self.masked(rows, rng),
            Objective::Causal => self.causal(&rows),
            Objective::Denoising => self.denoising(rows, rng),
        }
    }

    /// Masks the focus and a few other words in most lines, and random words in the others; at least one word per batch is masked.
    fn masked(&self, mut rows: Vec<Row>, rng: &mut ChaCha8Rng) -> Result<Step> {
        let mask = self.special(self.tokenizer.special().mask, "mask")?;
        let mut targets = Vec::new();
        for (r, row) in rows.iter_mut().enumerate() {
            let said = self.mask_words(row, mask, rng);
            targets.extend(said.into_iter().map(|(position, token)| Target { row: r, position, token }));
        }
        if targets.is_empty()
            && let Some(row) = rows.first_mut()
            && let Some(position) = row.words.iter().position(|w| *w)
        {
            targets.push(Target { row: 0, position, token: row.ids[position] });
            row.ids[position] = mask;
        }
        let ids: Vec<Vec<u32>> = rows.into_iter().map(|r| r.ids).collect();
        Ok(Step { batch: Batch::new(&ids, self.tokenizer.pad_id())?, targets })
    }

    /// Masks words in a line; returns their positions and original tokens.
    fn mask_words(&self, row: &mut Row, mask: u32, rng: &mut ChaCha8Rng) -> Vec<(usize, u32)> {
        let focus_masked = unit(rng) < self.masking.focus;
        let mut said = Vec::new();
        for position in 0..row.ids.len() {
            if !row.words[position] {
                continue;
            }
            let share = match (focus_masked, row.focus[position]) {
                (true, true) => 1.0,
                (true, false) => self.masking.beside,
                (false, _) => self.masking.random,
            };
            if unit(rng) < share {
                said.push((position, row.ids[position]));
                row.ids[position] = mask;
            }
        }
        said
    }

    /// Builds a batch in which every token except the first is predicted from the preceding ones.
    fn causal(&self, rows: &[Row]) -> Result<Step> {
        let mut targets = Vec::new();
        for (r, row) in rows.iter().enumerate() {
            targets.extend(row.ids.iter().enumerate().skip(1).map(|(p, &token)| Target {
                row: r,
                position: p - 1,
                token,
            }));
        }
        let ids: Vec<&[u32]> = rows.iter().map(|r| &r.ids[..r.ids.len() - 1]).collect();
        Ok(Step { batch: Batch::new(&ids, self.tokenizer.pad_id())?, targets })
    }

    /// Builds a batch in which the encoder receives the line with masks, and the decoder receives the input from [`denoising`]. The decoder
    /// predicts the original line: position t predicts token t.
    fn denoising(&self, rows: Vec<Row>, rng: &mut ChaCha8Rng) -> Result<Step> {
        let special = self.tokenizer.special();
        let start = self.special(special.eos.or(special.sep), "end")?;
        let mask = self.special(special.mask, "mask")?;
        let pad = self.tokenizer.pad_id();
        let mut targets = Vec::new();
        let (mut read, mut decoded) = (Vec::with_capacity(rows.len()), Vec::with_capacity(rows.len()));
        for (r, row) in rows.iter().enumerate() {
            targets.extend(row.ids.iter().enumerate().map(|(position, &token)| Target { row: r, position, token }));
            let way = self.noise.draw(rng);
            let mut believed = denoising::believed(&rows, r, way, mask, rng);
            believed.rotate_right(1);
            believed[0] = start;
            decoded.push(believed);
            read.push(match way {
                Way::Infilled => denoising::infilled(row, mask, rng),
                Way::Hidden | Way::Swapped | Way::Plain => {
                    let mut row = row.clone();
                    self.mask_words(&mut row, mask, rng);
                    row.ids
                }
            });
        }
        Ok(Step { batch: Batch::new(&read, pad)?.with_decoder(&decoded, pad)?, targets })
    }
}

/// Generates training lines and divides them into batches of similar length.
pub struct Text<'a> {
    corpus: &'a Corpus,
    encoder: Encoder<'a>,
    lines: ChaCha8Rng,
    masking: ChaCha8Rng,
    order: ChaCha8Rng,
    ready: Vec<Vec<Row>>,
    /// Number of batches still to be generated.
    left: usize,
    hash: Sha256,
    /// Number of lines generated so far.
    pub written: usize,
    /// Number of tokens in the lines generated so far, including special tokens.
    pub tokens: usize,
}

impl<'a> Text<'a> {
    /// Creates the text of a model for one seed and `steps` batches.
    pub fn new(corpus: &'a Corpus, encoder: Encoder<'a>, seed: u64, steps: usize) -> Self {
        Self {
            corpus,
            encoder,
            lines: stream(seed, "gallery text"),
            masking: stream(seed, "gallery masking"),
            order: stream(seed, "gallery order"),
            ready: Vec::new(),
            left: steps,
            hash: Sha256::new(),
            written: 0,
            tokens: 0,
        }
    }

    /// SHA-256, in hexadecimal, of all lines generated so far, each followed by a line feed.
    pub fn hash(&self) -> String {
        hex(&self.hash.clone().finalize())
    }

    /// Returns the next batch; `None` after the last.
    ///
    /// # Errors
    /// [`ModelError`] if the tokenizer fails or has no special tokens.
    pub fn step(&mut self) -> Result<Option<Step>> {
        if self.ready.is_empty() {
            self.write_chunk()?;
        }
        let Some(rows) = self.ready.pop() else { return Ok(None) };
        self.encoder.step(rows, &mut self.masking).map(Some)
    }

    fn write_chunk(&mut self) -> Result<()> {
        let batches = self.left.min(CHUNK);
        self.left -= batches;
        let mut rows = Vec::with_capacity(batches * BATCH);
        for _ in 0..batches * BATCH {
            let line = self.corpus.line(&mut self.lines);
            self.hash.update(line.text.as_bytes());
            self.hash.update(b"\n");
            let row = self.encoder.row(&line)?;
            self.written += 1;
            self.tokens += row.ids.len();
            rows.push(row);
        }
        rows.sort_by_key(|r| r.ids.len());
        let mut rows = rows.into_iter();
        self.ready = (0..batches).map(|_| rows.by_ref().take(BATCH).collect()).collect();
        shuffle(&mut self.order, &mut self.ready);
        Ok(())
    }
}
