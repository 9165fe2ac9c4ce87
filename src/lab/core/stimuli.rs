//! Stimuli: a task's examples as token ids of one model, and the hidden states at the position of the verb.

use std::collections::{HashMap, HashSet};

use rayon::prelude::*;
use thiserror::Error;

use base::matrix::Matrix;
use base::{Cancelled, Pulse};
use corpus::task::{Example, Place};
use model::chunk::{TOKENS_PER_BATCH, chunks};
use model::{Batch, Encoding, Long, Model, ModelError, Plan, Sites};

/// Reasons for which examples cannot be shown to a model.
#[derive(Debug, Error)]
pub enum StimuliError {
    /// A masked model without a mask token.
    #[error(
        "the tokenizer of `{model}` has no mask token, so nothing can be asked of a masked model; name it in special_tokens_map.json"
    )]
    NoMask {
        /// Name of the model.
        model: String,
    },
    /// Too few examples survive.
    #[error("only {kept} of {of} examples fit `{model}` ({reason}); choose a task whose words the model knows")]
    TooFew {
        /// Name of the model.
        model: String,
        /// Examples that are left.
        kept: usize,
        /// Examples in all.
        of: usize,
        /// Reason for dropping the others.
        reason: String,
    },
    /// The model refused.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The work was cancelled.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// Examples that are put into tokens between two looks at whether to stop: a few hundredths of a second.
const AT_ONCE: usize = 256;

/// One example as a model sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stimulus {
    /// Index of the example in its set.
    pub example: usize,
    /// Token ids: the sentence with its mask, or the prefix for a causal model.
    pub ids: Vec<u32>,
    /// Position of the mask, or the last position of the prefix.
    pub position: usize,
    /// Token ids of the two forms; `None` if the data have none.
    pub forms: Option<[u32; 2]>,
}

/// All examples that a model can be asked, and how many it cannot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stimuli {
    /// In the order of the examples.
    pub list: Vec<Stimulus>,
    /// Examples left out because a form is not a single token of the model.
    pub dropped_forms: usize,
    /// Examples left out because the model cannot read them (no mask found, or too long).
    pub dropped_texts: usize,
    /// Examples left out because the model sees what it saw in an earlier one: text after the mask is hidden from a causal
    /// model, and no split could keep them apart.
    pub dropped_repeats: usize,
    /// Examples of which the model reads a part: they are longer than it reads.
    pub cut: usize,
    /// Tokens (padding included) that one forward pass holds at most.
    pub tokens_per_batch: usize,
}

impl Stimuli {
    /// Tokenizes `examples`. As in the paper (section 4.3), only examples whose two verb forms are single tokens are kept.
    ///
    /// # Errors
    /// [`StimuliError`] where the model cannot be asked or keeps fewer than half of the examples.
    pub fn new(model: &Model, examples: &[Example], pulse: &mut dyn Pulse) -> Result<Self, StimuliError> {
        Self::read(model, examples, Long::Drop, examples.len().div_ceil(2), pulse)
    }

    /// The same where `fewest` examples are enough, whatever their share: natural sentences have many rare verbs. Longer texts than
    /// the model reads are treated as `long` says.
    ///
    /// # Errors
    /// [`StimuliError`] where the model cannot be asked or keeps fewer.
    pub fn read(
        model: &Model,
        examples: &[Example],
        long: Long,
        fewest: usize,
        pulse: &mut dyn Pulse,
    ) -> Result<Self, StimuliError> {
        let name = || model.name().to_owned();
        let tokenizer = model.tokenizer()?;
        let causal = model.arch().is_causal();
        let masked = examples.iter().any(|e| e.place.is_none());
        let mask = match (causal || !masked, tokenizer.mask_token(), tokenizer.special().mask) {
            (true, ..) => None,
            (false, Some(text), Some(id)) => Some((text, id)),
            _ => return Err(StimuliError::NoMask { model: name() }),
        };
        let mut words: HashMap<&str, Option<u32>> = HashMap::new();
        for form in examples.iter().filter(|e| e.has_forms()).flat_map(|e| &e.forms) {
            words.entry(form).or_insert_with(|| tokenizer.word_id(form));
        }
        let read = |(i, e): (usize, &Example)| -> Result<Option<(Stimulus, bool)>, ModelError> {
            let forms = match [0, 1].map(|f| words.get(e.forms[f].as_str()).copied().flatten()) {
                [Some(a), Some(b)] => Some([a, b]),
                _ if e.has_forms() => return Ok(None),
                _ => None,
            };
            let encoding = match (&mask, e.place) {
                (_, Some(_)) => tokenizer.encode(&e.text)?,
                (None, None) => tokenizer.encode(&e.prefix)?,
                (Some((text, _)), None) => tokenizer.encode(&e.filled(text))?,
            };
            let site = |e: &Encoding, place: Option<Place>| match (&mask, place) {
                (_, Some(place)) => position(e, place),
                (None, None) => e.ids.len().checked_sub(1),
                (Some((_, id)), None) => e.ids.iter().position(|x| x == id),
            };
            let most = model.arch().max_positions;
            // A text that cannot be read is marked by an empty list and counted below.
            let none = (Stimulus { example: i, ids: Vec::new(), position: 0, forms }, false);
            let Some(at) = site(&encoding, e.place) else { return Ok(Some(none)) };
            // A text that is cut has its last token elsewhere.
            let wanted = if long == Long::Truncate && e.place == Some(Place::Last) { 0..1 } else { at..at + 1 };
            let Some(part) = encoding.around(wanted, most, long) else { return Ok(Some(none)) };
            let cut = part.ids.len() < encoding.ids.len();
            Ok(Some(match site(&part, e.place) {
                Some(position) => (Stimulus { example: i, ids: part.ids, position, forms }, cut),
                None => none,
            }))
        };
        let mut all: Vec<Option<(Stimulus, bool)>> = Vec::with_capacity(examples.len());
        for some in examples.chunks(AT_ONCE) {
            let before = all.len();
            pulse.beat(before, examples.len())?;
            let some = some.par_iter().enumerate().map(|(k, e)| read((before + k, e)));
            all.extend(some.collect::<Result<Vec<_>, _>>()?);
        }
        let dropped_forms = all.iter().filter(|s| s.is_none()).count();
        let cut = all.iter().flatten().filter(|s| s.1).count();
        let list: Vec<_> = all.into_iter().flatten().map(|s| s.0).filter(|s| !s.ids.is_empty()).collect();
        let dropped_texts = examples.len() - dropped_forms - list.len();
        if list.len() < fewest {
            let reason = format!("{dropped_forms} verb pairs are not single tokens, {dropped_texts} texts unreadable");
            return Err(StimuliError::TooFew { model: name(), kept: list.len(), of: examples.len(), reason });
        }
        Ok(Self { list, dropped_forms, dropped_texts, dropped_repeats: 0, cut, tokens_per_batch: TOKENS_PER_BATCH })
    }

    /// The first of all stimuli that are the same to the model.
    pub(crate) fn distinct(mut self) -> Self {
        let before = self.list.len();
        let mut seen = HashSet::with_capacity(before);
        self.list.retain(|s| seen.insert((s.ids.clone(), s.position)));
        self.dropped_repeats = before - self.list.len();
        self
    }

    /// Hidden states at the verb's position after block `layer` (from 1, a decoder's blocks behind the encoder's), for the stimuli `rows`: `rows.len()` x D.
    pub fn hidden(
        &self,
        model: &Model,
        layer: usize,
        rows: &[usize],
        pulse: &mut dyn Pulse,
    ) -> Result<Matrix, StimuliError> {
        let width = model.arch().hidden;
        let mut out = Matrix::zeros(rows.len(), width);
        let at = model.arch().after_block(layer);
        let mut done = 0;
        for group in self.batches(rows) {
            let (batch, sites) = self.batch(model, rows, &group)?;
            let plan = Plan::default().capture_at(at, Sites::At(sites));
            let trace = model.forward(&batch, &plan)?;
            let captured = trace.get(at)?;
            for (k, place) in group.iter().enumerate() {
                out.row_mut(*place).copy_from_slice(captured.row(k));
            }
            done += group.len();
            pulse.beat(done, rows.len())?;
        }
        Ok(out)
    }

    /// Groups `rows` into batches of like length; each group lists places in `rows`.
    pub fn batches(&self, rows: &[usize]) -> Vec<Vec<usize>> {
        let lengths: Vec<usize> = rows.iter().map(|r| self.list[*r].ids.len()).collect();
        chunks(&lengths, self.tokens_per_batch)
    }

    /// The batch of a group and the `(row, position)` of each verb.
    ///
    /// # Errors
    /// Whatever the model says of the ids.
    pub fn batch(
        &self,
        model: &Model,
        rows: &[usize],
        group: &[usize],
    ) -> Result<(Batch, Vec<(usize, usize)>), ModelError> {
        let ids: Vec<&[u32]> = group.iter().map(|p| self.list[rows[*p]].ids.as_slice()).collect();
        let sites = group.iter().enumerate().map(|(k, p)| (k, self.list[rows[*p]].position)).collect();
        Ok((Batch::new(&ids, model.tokenizer()?.pad_id())?, sites))
    }
}

/// Index of the token at which a text without a mask is read, if it has such a token.
fn position(encoding: &Encoding, place: Place) -> Option<usize> {
    match place {
        Place::First => (!encoding.ids.is_empty()).then_some(0),
        Place::Last => encoding.is_special.iter().rposition(|special| !special),
        Place::Marked(from, to) => {
            let within = |(a, b): &(usize, usize)| *a < to as usize && *b > from as usize;
            encoding.offsets.iter().zip(&encoding.is_special).rposition(|(o, special)| !special && within(o))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use corpus::{Frequencies, Task};
    use model::{Device, ModelSource};

    /// A cancel while thousands of sentences were tokenised used to wait until all of them were.
    #[test]
    fn putting_sentences_into_tokens_asks_again_and_again_whether_to_stop() {
        let model = Model::load(&ModelSource::Builtin("bert-tiny".into()), Device::Cpu).unwrap();
        let set = Task::named("agreement").unwrap().examples(3 * AT_ONCE, 0, &Frequencies::natural()).unwrap();
        let mut heard = Vec::new();
        let all = Stimuli::new(&model, &set.examples, &mut |done: usize, total: usize| {
            heard.push((done, total));
            Ok(())
        });
        assert_eq!(heard, [0, 1, 2].map(|k| (k * AT_ONCE, 3 * AT_ONCE)));
        // The sentences left are numbered as in the set, whatever they were tokenised with.
        let all = all.unwrap().list;
        let single = |s: &Stimulus| set.examples[s.example].prefix.split(' ').count() <= s.ids.len();
        assert!(all.windows(2).all(|w| w[0].example < w[1].example) && all.iter().all(single));
        assert!(all.last().is_some_and(|s| s.example > 2 * AT_ONCE));
        let stop = Stimuli::new(&model, &set.examples, &mut |done: usize, _: usize| match done {
            0 => Ok(()),
            _ => Err(Cancelled),
        });
        assert!(matches!(stop, Err(StimuliError::Cancelled(Cancelled))), "{stop:?}");
    }

    /// Rows that differ only behind the mask are two texts to a masked model and one to a causal one.
    #[test]
    fn what_a_model_cannot_tell_apart_counts_once() {
        let set = Task::named("agreement").unwrap().examples(1, 0, &Frequencies::natural()).unwrap();
        let one = &set.examples[0];
        let examples = [one.clone(), Example { text: format!("{} too", one.text), ..one.clone() }, one.clone()];
        for (name, kept) in [("bert-tiny", 2), ("gpt2-tiny", 1)] {
            let model = Model::load(&ModelSource::Builtin(name.into()), Device::Cpu).unwrap();
            let all = Stimuli::new(&model, &examples, &mut base::pulse::NoPulse).unwrap();
            assert_eq!((all.list.len(), all.dropped_repeats), (3, 0));
            let all = all.distinct();
            assert_eq!((all.list.len(), all.dropped_repeats), (kept, 3 - kept), "{name}");
        }
    }

    /// Examples that are longer than the model reads were left out, whatever the position.
    #[test]
    fn long_examples_are_read_at_their_position_or_left_out() {
        let set = Task::named("agreement").unwrap().examples(2, 0, &Frequencies::natural()).unwrap();
        let before = "word ".repeat(100);
        let [short, base] = &set.examples[..] else { panic!("two were asked for") };
        let prefix = format!("{before}{}", base.prefix);
        let long = Example { text: format!("{before}{}", base.text), prefix, ..base.clone() };
        let first = Example { place: Some(Place::First), forms: Default::default(), ..long.clone() };
        let last = Example { place: Some(Place::Last), ..first.clone() };
        for (name, truncated) in [("bert-tiny", vec![0, 2, 3]), ("gpt2-tiny", vec![0, 2, 3])] {
            let model = Model::load(&ModelSource::Builtin(name.into()), Device::Cpu).unwrap();
            let examples = [short.clone(), long.clone(), first.clone(), last.clone()];
            let read = |long| Stimuli::read(&model, &examples, long, 1, &mut base::pulse::NoPulse).unwrap();
            let which = |s: &Stimuli| s.list.iter().map(|s| s.example).collect::<Vec<_>>();
            let dropped = read(Long::Drop);
            assert_eq!((which(&dropped), dropped.dropped_texts, dropped.cut), (vec![0], 3, 0), "{name}");
            let cut = read(Long::Truncate);
            assert_eq!((which(&cut), cut.dropped_texts, cut.cut), (truncated, 1, 2), "{name}");
            let window = read(Long::Window);
            assert_eq!((which(&window), window.dropped_texts, window.cut), (vec![0, 1, 2, 3], 0, 3), "{name}");
            // The token that is read is the one that the short sentence is read at.
            let alone = Stimuli::new(&model, &set.examples[1..], &mut base::pulse::NoPulse).unwrap();
            let token = |s: &Stimulus| s.ids[s.position];
            assert_eq!(token(&window.list[1]), token(&alone.list[0]), "{name}");
            assert_eq!(window.list[2].position, 0);
            assert!(window.list.iter().all(|s| s.ids.len() <= model.arch().max_positions));
        }
    }
}
