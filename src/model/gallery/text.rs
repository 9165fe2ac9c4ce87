//! The training text of the built-in models: words for the tokenizer, and batches with their targets.

use std::collections::BTreeMap;

use rand_chacha::ChaCha8Rng;
use sha2::{Digest, Sha256};

use super::recipe::{BATCH, Objective, training_frequencies};
use crate::corpus::micro::agreement::{Agreement, Sentence};
use crate::corpus::micro::{Side, lexicon};
use crate::model::batch::Batch;
use crate::model::error::{ModelError, Result};
use crate::model::plan::Target;
use crate::model::tokenizer::Tokenizer;
use crate::stats::rng::{shuffle, stream, unit};

/// Sentences whose words are counted for the tokenizer.
const COUNTED: usize = 20_000;
/// Batches that are written, sorted by length and shuffled together.
const CHUNK: usize = 32;

/// Share of the sentences whose verb is masked.
const VERB_MASKED: f64 = 0.60;
/// Share of the other words that are masked in those sentences.
const ALSO_MASKED: f64 = 0.05;
/// Share of the words that are masked in the remaining sentences.
const RANDOM_MASKED: f64 = 0.12;

fn grammar() -> Agreement {
    Agreement { frequencies: training_frequencies(), side: Side::Train }
}

/// Counted words, as running text has them for byte-level BPE (`" keys"`, `"The"`) or in lower case without blanks for
/// WordPiece. Every word of the grammar is there at least once.
#[must_use]
pub fn words(objective: Objective, seed: u64) -> BTreeMap<String, u64> {
    let spaced = objective == Objective::Causal;
    let form =
        |word: &str| if spaced && !matches!(word, "." | ",") { format!(" {word}") } else { word.to_owned() };
    let mut counts: BTreeMap<String, u64> = lexicon::words().into_iter().map(|w| (form(w), 1)).collect();
    let mut rng = stream(seed, "gallery tokenizer");
    for _ in 0..COUNTED {
        let sentence = grammar().sentence(&mut rng);
        let first = spaced.then(|| sentence.text().split([' ', ',']).next().unwrap_or_default().to_owned());
        *counts.entry(first.unwrap_or_else(|| sentence.tokens[0].clone())).or_default() += 1;
        for token in &sentence.tokens[1..] {
            *counts.entry(form(token)).or_default() += 1;
        }
    }
    counts
}

/// One batch: token ids, and the `(row, position, token)` that are to be predicted.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// What the model reads.
    pub batch: Batch,
    /// What it is to say where; a causal model reads `position` and says the token after it.
    pub targets: Vec<Target>,
}

/// Writes training sentences and turns them into batches of similar length.
pub struct Text<'a> {
    tokenizer: &'a Tokenizer,
    objective: Objective,
    sentences: ChaCha8Rng,
    masking: ChaCha8Rng,
    order: ChaCha8Rng,
    ready: Vec<Vec<Row>>,
    /// Batches that are still to be written.
    left: usize,
    hash: Sha256,
    /// Sentences written so far.
    pub written: usize,
    /// Tokens in them, special tokens included.
    pub tokens: usize,
}

/// An encoded sentence.
struct Row {
    ids: Vec<u32>,
    /// Position of the verb's first token.
    verb: usize,
}

impl<'a> Text<'a> {
    /// The text of one model under one seed, for `steps` batches.
    #[must_use]
    pub fn new(tokenizer: &'a Tokenizer, objective: Objective, seed: u64, steps: usize) -> Self {
        Self {
            tokenizer,
            objective,
            sentences: stream(seed, "gallery text"),
            masking: stream(seed, "gallery masking"),
            order: stream(seed, "gallery order"),
            ready: Vec::new(),
            left: steps,
            hash: Sha256::new(),
            written: 0,
            tokens: 0,
        }
    }

    /// SHA-256 of all sentences written so far, each with a line feed, in hexadecimal.
    #[must_use]
    pub fn hash(&self) -> String {
        self.hash.clone().finalize().iter().map(|b| format!("{b:02x}")).collect()
    }

    /// The next batch; none after the last.
    ///
    /// # Errors
    /// [`ModelError`] if the tokenizer fails or has no special tokens.
    pub fn step(&mut self) -> Result<Option<Step>> {
        if self.ready.is_empty() {
            self.write_chunk()?;
        }
        let Some(rows) = self.ready.pop() else { return Ok(None) };
        match self.objective {
            Objective::Masked => self.masked(rows),
            Objective::Causal => self.causal(&rows),
        }
        .map(Some)
    }

    fn write_chunk(&mut self) -> Result<()> {
        let grammar = grammar();
        let batches = self.left.min(CHUNK);
        self.left -= batches;
        let mut rows = Vec::with_capacity(batches * BATCH);
        for _ in 0..batches * BATCH {
            let sentence = grammar.sentence(&mut self.sentences);
            let row = self.encode(&sentence)?;
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

    fn encode(&mut self, sentence: &Sentence) -> Result<Row> {
        let text = sentence.text();
        self.hash.update(text.as_bytes());
        self.hash.update(b"\n");
        let mut ids = self.tokenizer.encode(&text)?.ids;
        if self.objective == Objective::Causal {
            ids.push(self.special(self.tokenizer.special().eos, "end of text")?);
        }
        // Every word of the grammar is one token, and the masked frame begins with one special token.
        Ok(Row { ids, verb: sentence.verb + 1 })
    }

    fn special(&self, id: Option<u32>, what: &str) -> Result<u32> {
        id.ok_or_else(|| ModelError::Training(format!("the tokenizer has no {what} token")))
    }

    /// Masks the verb in most sentences and a few other words, or words at random.
    fn masked(&mut self, mut rows: Vec<Row>) -> Result<Step> {
        let mask = self.special(self.tokenizer.special().mask, "mask")?;
        let mut targets = Vec::new();
        for (r, row) in rows.iter_mut().enumerate() {
            let verb_masked = unit(&mut self.masking) < VERB_MASKED;
            let words = 1..row.ids.len() - 1;
            for position in words {
                let share = match (verb_masked, position == row.verb) {
                    (true, true) => 1.0,
                    (true, false) => ALSO_MASKED,
                    (false, _) => RANDOM_MASKED,
                };
                if unit(&mut self.masking) < share {
                    targets.push(Target { row: r, position, token: row.ids[position] });
                    row.ids[position] = mask;
                }
            }
        }
        let ids: Vec<Vec<u32>> = rows.into_iter().map(|r| r.ids).collect();
        Ok(Step { batch: Batch::new(&ids, self.tokenizer.pad_id())?, targets })
    }

    /// Every token but the first is to be predicted from those before it.
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
}
