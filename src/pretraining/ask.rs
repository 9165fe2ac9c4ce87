//! Asking a model for a word: how a question becomes a batch, and where its answer is read, for every family.

use corpus::Example;
use corpus::facts::OBJECT;
use corpus::micro::{self, Annotated};
use corpus::rationales::Instance;
use model::array::Array;
use model::batch::Batch;
use model::error::{ModelError, Result};
use model::plan::{Plan, Sites};
use model::trace::Trace;
use model::{Arch, Model, Tokenizer};

/// Rows of one forward pass.
const ROWS: usize = 256;

/// Runs a plan.
type Forward<'a> = Box<dyn Fn(&Batch, &Plan) -> Result<Trace> + 'a>;

/// A model to ask: loaded, or in training.
pub struct Asked<'a> {
    arch: &'a Arch,
    tokenizer: &'a Tokenizer,
    forward: Forward<'a>,
}

/// A text with one gap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// Text before the gap, without a blank at its end.
    pub before: String,
    /// Text after it, with the blank between if there is one; a causal model does not see it.
    pub after: String,
}

impl Question {
    /// The gap at the verb of an example.
    pub fn of_example(e: &Example) -> Self {
        Self::cut(&e.text, corpus::MASK)
    }

    /// The gap at the mask of an instance of the rationale benchmark.
    pub fn of_instance(i: &Instance) -> Self {
        Self::cut(&i.sent_text, corpus::MASK)
    }

    /// The gap at a prompt's object.
    pub fn of_prompt(asked: &str) -> Self {
        Self::cut(asked, OBJECT)
    }

    /// The gap at the first focus of a sentence.
    pub fn of_sentence(s: &Annotated) -> Self {
        let mut tokens: Vec<&str> = s.tokens.iter().map(String::as_str).collect();
        if let Some(place) = s.focus.first().and_then(|&f| tokens.get_mut(f)) {
            *place = OBJECT;
        }
        Self::cut(&micro::join(&tokens), OBJECT)
    }

    fn cut(text: &str, gap: &str) -> Self {
        let (before, after) = text.split_once(gap).unwrap_or((text, ""));
        Self { before: before.trim_end().to_owned(), after: after.to_owned() }
    }
}

impl<'a> Asked<'a> {
    pub fn loaded(model: &'a Model) -> Result<Self> {
        Ok(Self::new(model.arch(), model.tokenizer()?, Box::new(|b, p| model.forward(b, p))))
    }

    /// Anything that runs plans.
    pub fn new(arch: &'a Arch, tokenizer: &'a Tokenizer, forward: Forward<'a>) -> Self {
        Self { arch, tokenizer, forward }
    }

    /// Blocks up to the head.
    pub fn layers(&self) -> usize {
        self.arch.depth()
    }

    /// True if it reads from the left only.
    pub fn is_causal(&self) -> bool {
        self.arch.is_causal()
    }

    /// Blocks of its encoder, if it has an encoder and a decoder.
    pub fn encoder_layers(&self) -> Option<usize> {
        self.arch.decoder.map(|_| self.arch.layers)
    }

    /// The id of a word that is one token; at the beginning of a text with a capital and no blank before it.
    pub fn word(&self, word: &str, at_start: bool) -> Option<u32> {
        if !at_start {
            return self.tokenizer.word_id(word);
        }
        let ids = self.tokenizer.encode_bare(&micro::join(&[word])).ok()?.ids;
        (ids.len() == 1).then(|| ids[0])
    }

    /// Token ids of a question and the position at which the answer is read: the mask, or the last token before the gap.
    fn encode(&self, question: &Question) -> Result<(Vec<u32>, usize)> {
        if self.is_causal() {
            let ids = self.tokenizer.encode(&question.before)?.ids;
            let last = ids.len().saturating_sub(1);
            return Ok((ids, last));
        }
        let mask = self.tokenizer.special().mask.zip(self.tokenizer.mask_token());
        let (id, text) = mask.ok_or_else(|| ModelError::Training("the tokenizer has no mask token".into()))?;
        let blank = if question.before.is_empty() { "" } else { " " };
        let text = format!("{}{blank}{text}{}", question.before, question.after);
        let ids = self.tokenizer.encode(&text)?.ids;
        let at = ids.iter().rposition(|&i| i == id);
        let at = at.ok_or_else(|| ModelError::Training(format!("no mask in '{text}'")))?;
        Ok((ids, at))
    }

    /// Number of tokens before the position at which the answer is read.
    ///
    /// # Errors
    /// [`ModelError`] if the tokenizer fails or has no mask.
    pub fn place(&self, question: &Question) -> Result<usize> {
        Ok(self.encode(question)?.1)
    }

    /// Token ids of questions, and where their answers are read.
    fn encode_all(&self, questions: &[Question]) -> Result<(Vec<Vec<u32>>, Vec<usize>)> {
        Ok(questions.iter().map(|q| self.encode(q)).collect::<Result<Vec<_>>>()?.into_iter().unzip())
    }

    /// Runs plans over batches of questions and passes on each trace with the indices of its questions.
    fn each(
        &self,
        questions: &[Question],
        plan: impl Fn(Sites) -> Plan,
        mut take: impl FnMut(usize, &Trace) -> Result<()>,
    ) -> Result<()> {
        for (i, chunk) in questions.chunks(ROWS).enumerate() {
            let (ids, at) = self.encode_all(chunk)?;
            let batch = Batch::new(&ids, self.tokenizer.pad_id())?;
            take(i * ROWS, &(self.forward)(&batch, &plan(Sites::per_row(&at)))?)?;
        }
        Ok(())
    }

    /// Calls `take(question, its logits)`.
    pub fn logits(&self, questions: &[Question], mut take: impl FnMut(usize, &[f32])) -> Result<()> {
        self.each(
            questions,
            |sites| Plan::default().logits_at(sites),
            |from, trace| {
                let logits: &Array = trace.logits()?;
                (0..logits.rows()).for_each(|i| take(from + i, logits.row(i)));
                Ok(())
            },
        )
    }

    /// The token with the largest logit for each question.
    pub fn answers(&self, questions: &[Question]) -> Result<Vec<u32>> {
        let mut answers = vec![0; questions.len()];
        self.logits(questions, |i, logits| answers[i] = largest(logits))?;
        Ok(answers)
    }

    /// The same with different questions for the encoder: the decoder has read `decoded` up to the gap, and the encoder
    /// the whole question with the same index in `encoded`.
    ///
    /// # Errors
    /// [`ModelError::Plan`] if the model has no decoder beside its encoder; those of the model.
    pub fn answers_across(&self, encoded: &[Question], decoded: &[Question]) -> Result<Vec<u32>> {
        let pad = self.tokenizer.pad_id();
        let decoder = self
            .arch
            .decoder
            .ok_or_else(|| ModelError::Plan("a model without a second stack reads one text at a time".into()))?;
        let mut answers = Vec::with_capacity(decoded.len());
        for (encoded, decoded) in encoded.chunks(ROWS).zip(decoded.chunks(ROWS)) {
            let (ids, _) = self.encode_all(encoded)?;
            let (mut read, at) = self.encode_all(decoded)?;
            for row in &mut read {
                row.rotate_right(1);
                row[0] = decoder.start_token;
            }
            let batch = Batch::new(&ids, pad)?.with_decoder(&read, pad)?;
            let trace = (self.forward)(&batch, &Plan::default().logits_at(Sites::per_row(&at)))?;
            let logits = trace.logits()?;
            answers.extend((0..logits.rows()).map(|i| largest(logits.row(i))));
        }
        Ok(answers)
    }

    /// For each question, true if the first token of its pair has the larger logit.
    pub fn choices(&self, questions: &[Question], pairs: &[(u32, u32)]) -> Result<Vec<bool>> {
        let mut right = vec![false; questions.len()];
        self.logits(questions, |i, logits| {
            let (good, bad) = pairs[i];
            right[i] = logits[good as usize] > logits[bad as usize];
        })?;
        Ok(right)
    }

    /// Output of the last block (of a BART: of its decoder) where the answer is read, for each question.
    pub fn states(&self, questions: &[Question]) -> Result<Vec<Vec<f32>>> {
        self.states_after(self.layers(), questions)
    }

    /// The same after another block, counted from 1; those of a decoder follow those of its encoder.
    pub fn states_after(&self, layer: usize, questions: &[Question]) -> Result<Vec<Vec<f32>>> {
        let point = self.arch.after_block(layer);
        let mut states = Vec::with_capacity(questions.len());
        self.each(
            questions,
            |sites| Plan::default().capture_at(point, sites),
            |_, trace| {
                let found = trace.get(point)?;
                states.extend((0..found.rows()).map(|i| found.row(i).to_vec()));
                Ok(())
            },
        )?;
        Ok(states)
    }
}

/// The token with the largest logit.
fn largest(logits: &[f32]) -> u32 {
    logits.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).map_or(0, |b| b.0 as u32)
}
