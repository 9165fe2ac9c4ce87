//! Questions to a model of any family: how questions become batches, and at which position the answer is predicted.

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

/// Maximum number of rows per forward pass.
const ROWS: usize = 256;

type Forward<'a> = Box<dyn Fn(&Batch, &Plan) -> Result<Trace> + 'a>;

/// A model that answers questions, either loaded or in training.
pub struct Asked<'a> {
    arch: &'a Arch,
    tokenizer: &'a Tokenizer,
    forward: Forward<'a>,
}

/// A text with one gap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// Text before the gap, without a trailing space.
    pub before: String,
    /// Text after the gap, including any space in between; invisible to causal models.
    pub after: String,
}

impl Question {
    /// A question whose gap is the verb of an example.
    pub fn of_example(e: &Example) -> Self {
        Self::cut(&e.text, corpus::MASK)
    }

    /// A question whose gap is the mask in an instance of the rationale benchmark.
    pub fn of_instance(i: &Instance) -> Self {
        Self::cut(&i.sent_text, corpus::MASK)
    }

    /// A question whose gap is the object of a prompt.
    pub fn of_prompt(asked: &str) -> Self {
        Self::cut(asked, OBJECT)
    }

    /// A question whose gap is the first focus of a sentence.
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

    /// Wraps a function that runs plans on the model.
    pub fn new(arch: &'a Arch, tokenizer: &'a Tokenizer, forward: Forward<'a>) -> Self {
        Self { arch, tokenizer, forward }
    }

    /// Number of blocks up to the head.
    pub fn layers(&self) -> usize {
        self.arch.depth()
    }

    /// True for left-to-right models.
    pub fn is_causal(&self) -> bool {
        self.arch.is_causal()
    }

    /// Number of encoder blocks; `None` unless the model is an encoder-decoder.
    pub fn encoder_layers(&self) -> Option<usize> {
        self.arch.decoder.map(|_| self.arch.layers)
    }

    /// Returns the id of a single-token word; at the start of a text it is capitalized and has no space before it.
    pub fn word(&self, word: &str, at_start: bool) -> Option<u32> {
        if !at_start {
            return self.tokenizer.word_id(word);
        }
        let ids = self.tokenizer.encode_bare(&micro::join(&[word])).ok()?.ids;
        (ids.len() == 1).then(|| ids[0])
    }

    /// Returns the token ids of a question and the position of its answer: the mask, or the last token before the gap.
    fn encode(&self, question: &Question) -> Result<(Vec<u32>, usize)> {
        if self.is_causal() {
            let ids = self.tokenizer.ids(&question.before)?;
            let last = ids.len().saturating_sub(1);
            return Ok((ids, last));
        }
        let mask = self.tokenizer.special().mask.zip(self.tokenizer.mask_token());
        let (id, text) = mask.ok_or_else(|| ModelError::Training("the tokenizer has no mask token".into()))?;
        let blank = if question.before.is_empty() { "" } else { " " };
        let text = format!("{}{blank}{text}{}", question.before, question.after);
        let ids = self.tokenizer.ids(&text)?;
        let at = ids.iter().rposition(|&i| i == id);
        let at = at.ok_or_else(|| ModelError::Training(format!("no mask in '{text}'")))?;
        Ok((ids, at))
    }

    /// Number of tokens before the answer position.
    ///
    /// # Errors
    /// [`ModelError`] if the tokenizer fails or has no mask.
    pub fn place(&self, question: &Question) -> Result<usize> {
        Ok(self.encode(question)?.1)
    }

    /// Returns token ids and answer positions of all questions.
    fn encode_all(&self, questions: &[Question]) -> Result<(Vec<Vec<u32>>, Vec<usize>)> {
        Ok(questions.iter().map(|q| self.encode(q)).collect::<Result<Vec<_>>>()?.into_iter().unzip())
    }

    /// Runs plans on batches of questions and passes each trace to `take` with the index of its first question.
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

    /// Calls `take(question, logits)` for every question.
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

    /// Returns the token with the largest logit for each question.
    pub fn answers(&self, questions: &[Question]) -> Result<Vec<u32>> {
        let mut answers = vec![0; questions.len()];
        self.logits(questions, |i, logits| answers[i] = largest(logits))?;
        Ok(answers)
    }

    /// Answers questions with different inputs for encoder and decoder. The decoder receives `decoded` up to the gap; the encoder receives
    /// the whole question at the same index in `encoded`.
    ///
    /// # Errors
    /// [`ModelError::Plan`] if the model is not an encoder-decoder, and errors of the model.
    pub fn answers_across(&self, encoded: &[Question], decoded: &[Question]) -> Result<Vec<u32>> {
        let pad = self.tokenizer.pad_id();
        let decoder = self.arch.decoder.ok_or_else(|| {
            ModelError::Plan("only an encoder-decoder can read different texts in encoder and decoder".into())
        })?;
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

    /// For each question, true if the first token in its pair has the larger logit.
    pub fn choices(&self, questions: &[Question], pairs: &[(u32, u32)]) -> Result<Vec<bool>> {
        let mut right = vec![false; questions.len()];
        self.logits(questions, |i, logits| {
            let (good, bad) = pairs[i];
            right[i] = logits[good as usize] > logits[bad as usize];
        })?;
        Ok(right)
    }

    /// Returns the output of the last block (for BART, of the decoder) at the answer position of each question.
    pub fn states(&self, questions: &[Question]) -> Result<Vec<Vec<f32>>> {
        self.states_after(self.layers(), questions)
    }

    /// Returns the output of a given block, counted from 1; decoder blocks come after encoder blocks.
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

fn largest(logits: &[f32]) -> u32 {
    logits.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).map_or(0, |b| b.0 as u32)
}
