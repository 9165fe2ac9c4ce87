//! Stimuli: a task's examples as token ids for one model, and their hidden states at the verb.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use rayon::prelude::*;
use thiserror::Error;

use base::matrix::Matrix;
use base::{Cancelled, Pulse};
use corpus::task::{Example, MASK, Place};
use model::chunk::{TOKENS_PER_BATCH, chunks};
use model::{Batch, Encoding, Long, Model, ModelError, Plan, Sites};

use super::spot::{Reading, Spot};
use super::store::key;

/// Reasons why examples cannot be used with a model.
#[derive(Debug, Error)]
pub enum StimuliError {
    /// The mask token of a masked model is missing.
    #[error(
        "the tokenizer of `{model}` has no mask token, and a masked model cannot predict without one; add it to special_tokens_map.json"
    )]
    NoMask {
        /// Name of the model.
        model: String,
    },
    #[error(
        "only {kept} of {of} examples fit `{model}` ({reason}); choose a task whose words are in the model's vocabulary"
    )]
    TooFew {
        model: String,
        /// Number of remaining examples.
        kept: usize,
        /// Total number of examples.
        of: usize,
        /// Reason for dropping the others.
        reason: String,
    },
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// Number of examples tokenized between checks for cancellation; tokenizing them takes a few hundredths of a second.
const AT_ONCE: usize = 256;

/// The positions of a stimulus, by role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Where {
    /// The position where the method changes the state.
    Changed,
    /// The position where oracles read the state.
    Read,
    /// The position where the model predicts a form.
    Said,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stimulus {
    /// Index of the example in its set.
    pub example: usize,
    /// Token ids: the sentence with its mask, or the prefix for a causal model.
    pub ids: Vec<u32>,
    /// Position at which the model predicts a form: the mask, or the last token of the prefix.
    pub position: usize,
    /// The tokens whose hidden states are changed.
    pub changed: Spot,
    /// The tokens that oracles read.
    pub read: Spot,
    /// Token ids of the two forms; `None` if the data have no forms.
    pub forms: Option<[u32; 2]>,
}

impl Stimulus {
    pub fn spot(&self, at: Where) -> Spot {
        match at {
            Where::Changed => self.changed.clone(),
            Where::Read => self.read.clone(),
            Where::Said => Spot::At(self.position),
        }
    }
}

/// All examples usable with a model, and counts of the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stimuli {
    /// Ordered like the examples. An example has several adjacent entries if its tokens are separate rows.
    pub list: Vec<Stimulus>,
    /// Number of examples dropped because a form is not a single token of the model.
    pub dropped_forms: usize,
    /// Number of examples dropped because the model cannot read them (no mask, or too long).
    pub dropped_texts: usize,
    /// Number of examples dropped because the model's input is the same as for an earlier example. A causal model does not see text after
    /// the mask, so a split could not separate them.
    pub dropped_repeats: usize,
    /// Number of examples longer than the model's maximum length, which it reads in part or not at all.
    pub long: usize,
    /// Maximum number of tokens in one forward pass, including padding.
    pub tokens_per_batch: usize,
}

impl Stimuli {
    /// Tokenizes `examples`. As in the paper (section 4.3), only examples whose two verb forms are single tokens are kept.
    ///
    /// # Errors
    /// [`StimuliError`] if the model cannot be queried or fewer than half of the examples remain.
    pub fn new(model: &Model, examples: &[Example], pulse: &mut dyn Pulse) -> Result<Self, StimuliError> {
        Self::read(model, examples, Long::Drop, examples.len().div_ceil(2), pulse)
    }

    /// Tokenizes `examples` and accepts any share of usable examples if at least `fewest` remain, because natural sentences have many rare
    /// verbs. `long` determines the treatment of texts longer than the model's maximum length.
    ///
    /// # Errors
    /// [`StimuliError`] if the model cannot be queried or fewer remain.
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
        let masked = examples.iter().any(has_slot);
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
            // For an unreadable text, the list is empty; such texts are counted below.
            let none =
                Stimulus { example: i, ids: Vec::new(), position: 0, changed: Spot::At(0), read: Spot::At(0), forms };
            let shown = Shown::new(e, mask.as_ref().map(|(text, id)| (text.as_str(), *id)), causal);
            let most = model.arch().max_positions;
            let encoding = match shown.only_ids().then(|| tokenizer.ids(&shown.text)).transpose()? {
                Some(ids) if ids.len() <= most => Encoding { ids, ..Encoding::default() },
                _ => tokenizer.encode(&shown.text)?,
            };
            let longer = encoding.ids.len() > most;
            let part = shown.needed(&encoding, long).and_then(|needed| encoding.around(needed, most, long));
            let read = part.as_ref().and_then(|part| Some((part, shown.spots(part)?)));
            Ok(Some(match read {
                None => (none, longer),
                Some((part, [said, changed, read])) => {
                    let position = said.averaged().start;
                    (Stimulus { ids: part.ids.clone(), position, changed, read, ..none }, longer)
                }
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
        let long = all.iter().flatten().filter(|s| s.1).count();
        let list: Vec<_> = all.into_iter().flatten().map(|s| s.0).filter(|s| !s.ids.is_empty()).collect();
        let dropped_texts = examples.len() - dropped_forms - list.len();
        if list.len() < fewest {
            let reason =
                format!("{dropped_forms} verb pairs are not single tokens, {dropped_texts} texts are unusable");
            return Err(StimuliError::TooFew { model: name(), kept: list.len(), of: examples.len(), reason });
        }
        Ok(Self { list, dropped_forms, dropped_texts, dropped_repeats: 0, long, tokens_per_batch: TOKENS_PER_BATCH })
    }

    /// Keeps only the first of all stimuli with the same input to the model.
    pub(crate) fn distinct(mut self) -> Self {
        let before = self.list.len();
        let mut seen = HashSet::with_capacity(before);
        self.list.retain(|s| seen.insert((s.ids.clone(), s.changed.clone(), s.read.clone())));
        self.dropped_repeats = before - self.list.len();
        self
    }

    /// Hidden states at a position after block `layer` for the stimuli `rows`: `rows.len()` x D. Blocks count from 1; a decoder's blocks
    /// follow the encoder's.
    pub fn hidden(
        &self,
        model: &Model,
        (layer, at): (usize, Where),
        rows: &[usize],
        pulse: &mut dyn Pulse,
    ) -> Result<Matrix, StimuliError> {
        let mut out = Matrix::zeros(rows.len(), model.arch().hidden);
        let point = model.arch().after_block(layer);
        let texts = self.texts(rows);
        let firsts: Vec<usize> = texts.iter().map(|places| rows[places[0]]).collect();
        let mut done = 0;
        for group in self.batches(&firsts) {
            let batch = self.batch(model, &firsts, &group)?;
            let reading = self.reading(rows, group.iter().map(|text| texts[*text].as_slice()), at);
            let trace = model.forward(&batch, &Plan::default().capture_at(point, Sites::At(reading.sites.clone())))?;
            reading.average(trace.get(point)?, &mut out);
            done += group.len();
            pulse.beat(done, firsts.len())?;
        }
        Ok(out)
    }

    /// The texts of `rows` in order of appearance: for each, the indices of its rows in `rows`.
    pub fn texts(&self, rows: &[usize]) -> Vec<Vec<usize>> {
        let mut known: HashMap<usize, usize> = HashMap::with_capacity(rows.len());
        let mut texts: Vec<Vec<usize>> = Vec::new();
        for (place, row) in rows.iter().enumerate() {
            let text = *known.entry(self.list[*row].example).or_insert(texts.len());
            if text == texts.len() {
                texts.push(Vec::new());
            }
            texts[text].push(place);
        }
        texts
    }

    /// Number of tokens in the texts of `rows`, each text counted once.
    pub fn tokens(&self, rows: &[usize]) -> usize {
        self.texts(rows).iter().map(|places| self.list[rows[places[0]]].ids.len()).sum()
    }

    /// Number of tokens of each stimulus that are taken separately at `at`; 1 for a single state.
    pub fn separate(&self, at: impl Fn(usize) -> Where) -> Vec<usize> {
        let count = |(i, s): (usize, &Stimulus)| match s.spot(at(i)) {
            Spot::Each { all, .. } => all.len().max(1),
            _ => 1,
        };
        self.list.iter().enumerate().map(count).collect()
    }

    /// Splits stimuli into one for each token, at most `most` of them, if `at` takes tokens separately. Also returns the range of new
    /// stimuli for each old one.
    pub fn by_token(&self, at: impl Fn(usize) -> Where, most: usize) -> (Self, Vec<Range<usize>>) {
        let (mut list, mut rows) = (Vec::new(), Vec::with_capacity(self.list.len()));
        for (i, s) in self.list.iter().enumerate() {
            let from = list.len();
            match s.spot(at(i)).sample(most) {
                Some(tokens) => list.extend(tokens.into_iter().map(|token| Stimulus {
                    changed: s.changed.at_token(token),
                    read: s.read.at_token(token),
                    ..s.clone()
                })),
                None => list.push(s.clone()),
            }
            rows.push(from..list.len());
        }
        (Self { list, ..*self }, rows)
    }

    /// Groups `rows` into batches of similar length. Groups contain indices into `rows`.
    pub fn batches(&self, rows: &[usize]) -> Vec<Vec<usize>> {
        let lengths: Vec<usize> = rows.iter().map(|r| self.list[*r].ids.len()).collect();
        chunks(&lengths, self.tokens_per_batch)
    }

    /// Builds the batch of a group.
    ///
    /// # Errors
    /// The model's error.
    pub fn batch(&self, model: &Model, rows: &[usize], group: &[usize]) -> Result<Batch, ModelError> {
        let ids: Vec<&[u32]> = group.iter().map(|p| self.list[rows[*p]].ids.as_slice()).collect();
        Batch::new(&ids, model.tokenizer()?.pad_id())
    }

    /// The tokens to read at `at` in a batch; `texts` contains, for each text of the batch, the indices of its rows in `rows`.
    pub fn reading<'a>(&self, rows: &[usize], texts: impl Iterator<Item = &'a [usize]>, at: Where) -> Reading {
        let mut reading = Reading::default();
        for (k, places) in texts.enumerate() {
            for place in places {
                reading.add(k, self.list[rows[*place]].spot(at).averaged(), *place);
            }
        }
        reading
    }
}

/// True if the text has exactly one mask, where a model can predict a form.
fn has_slot(example: &Example) -> bool {
    example.text.matches(MASK).count() == 1
}

/// An example prepared for tokenization.
struct Shown {
    text: String,
    /// The positions where states are changed and read.
    places: [Place; 2],
    /// The mask token of a masked model, if the text has a mask.
    mask: Option<u32>,
    /// True if the model predicts the form after the text.
    ends: bool,
    /// True if there are forms to predict. A text without forms can be read even if its mask is cut off.
    says: bool,
}

impl Shown {
    fn new(example: &Example, mask: Option<(&str, u32)>, causal: bool) -> Self {
        let slot = has_slot(example);
        let changed = example.place.unwrap_or(Place::Mask);
        let mut places = [changed, example.read.unwrap_or(changed)];
        let mask = mask.filter(|_| slot);
        if let Some((token, _)) = mask {
            // A mask token of different length shifts the characters after it.
            let moved = |at: u32| (at as usize + token.chars().count() - MASK.len()) as u32;
            let before = |text: &str| text.split(MASK).next().map_or(0, |b| b.chars().count());
            for place in &mut places {
                if let Place::Marked(from, to) = place
                    && *from as usize > before(&example.text)
                {
                    *place = Place::Marked(moved(*from), moved(*to));
                }
            }
        }
        let text = match mask {
            Some((token, _)) => example.filled(token),
            None if causal && slot => example.prefix.clone(),
            None => example.text.clone(),
        };
        Self { text, places, mask: mask.map(|(_, id)| id), ends: causal && slot, says: example.has_forms() }
    }

    /// The position where the model predicts a form, if any.
    fn slot(&self, encoding: &Encoding) -> Option<usize> {
        match self.mask {
            Some(id) => encoding.ids.iter().position(|x| *x == id),
            None => encoding.ids.len().checked_sub(1).filter(|_| self.ends),
        }
    }

    fn spot(&self, encoding: &Encoding, place: Place) -> Option<Spot> {
        Some(match place {
            Place::Mask => Spot::At(self.slot(encoding)?),
            Place::First => (!encoding.ids.is_empty()).then_some(Spot::At(0))?,
            Place::Last => Spot::At(encoding.is_special.iter().rposition(|special| !special)?),
            Place::Marked(from, to) => {
                let within = |(a, b): &(usize, usize)| *a < to as usize && *b > from as usize;
                let mut tokens = encoding.offsets.iter().zip(&encoding.is_special);
                Spot::At(tokens.rposition(|(o, special)| !special && within(o))?)
            }
            Place::Mean => (!encoding.ids.is_empty()).then_some(Spot::Mean(encoding.ids.len()))?,
            Place::Every => {
                let all = encoding.body();
                let digest = key(&encoding.ids, usize::MAX);
                let random = digest.iter().fold(0usize, |sum, byte| (sum << 4).wrapping_add(usize::from(*byte)));
                Spot::Each { drawn: all.start + random.checked_rem(all.len())?, all }
            }
        })
    }

    /// True if the ids are enough to find all positions in a text that the model can read whole.
    fn only_ids(&self) -> bool {
        let by_ids = |place: &Place| matches!(place, Place::Mask | Place::First | Place::Mean);
        self.places.iter().all(by_ids)
    }

    /// The tokens where a form is predicted, states are changed, and states are read.
    fn spots(&self, encoding: &Encoding) -> Option<[Spot; 3]> {
        let [changed, read] = self.places.map(|place| self.spot(encoding, place));
        let (changed, read) = (changed?, read?);
        let said = match (self.slot(encoding), &read) {
            (Some(slot), _) => slot,
            (None, _) if self.says => return None,
            (None, Spot::At(at)) => *at,
            (None, _) => encoding.body().end.checked_sub(1)?,
        };
        Some([Spot::At(said), changed, read])
    }

    /// The tokens that an excerpt of a long text must contain.
    fn needed(&self, encoding: &Encoding, long: Long) -> Option<Range<usize>> {
        let slot = (self.says && (self.mask.is_some() || self.ends)).then_some(Place::Mask);
        let mut needed: Option<Range<usize>> = None;
        for place in self.places.into_iter().chain(slot) {
            // Truncation replaces the last token.
            if matches!(place, Place::Mean | Place::Every) || (long == Long::Truncate && place == Place::Last) {
                continue;
            }
            let at = self.spot(encoding, place)?.averaged();
            needed = Some(needed.map_or(at.clone(), |n| n.start.min(at.start)..n.end.max(at.end)));
        }
        Some(needed.unwrap_or(0..1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use corpus::{Frequencies, Task};
    use model::{Device, ModelSource};

    /// Regression: a cancellation used to wait until thousands of sentences had been tokenized.
    #[test]
    fn tokenization_polls_for_cancellation() {
        let model = Model::load(&ModelSource::Builtin("bert-tiny".into()), Device::Cpu).unwrap();
        let set = Task::named("agreement").unwrap().examples(3 * AT_ONCE, 0, &Frequencies::natural()).unwrap();
        let mut heard = Vec::new();
        let all = Stimuli::new(&model, &set.examples, &mut |done: usize, total: usize| {
            heard.push((done, total));
            Ok(())
        });
        assert_eq!(heard, [0, 1, 2].map(|k| (k * AT_ONCE, 3 * AT_ONCE)));
        // The remaining sentences keep their index in the set.
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

    /// Rows that differ only after the mask are two texts for a masked model and one for a causal model.
    #[test]
    fn indistinguishable_inputs_count_once() {
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

    /// Regression: examples longer than the model's maximum length used to be dropped regardless of their position.
    #[test]
    fn long_examples_are_read_at_their_position_or_dropped() {
        let set = Task::named("agreement").unwrap().examples(2, 0, &Frequencies::natural()).unwrap();
        let before = "word ".repeat(100);
        let [short, base] = &set.examples[..] else { panic!("two examples were requested") };
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
            assert_eq!((which(&dropped), dropped.dropped_texts, dropped.long), (vec![0], 3, 3), "{name}");
            let cut = read(Long::Truncate);
            assert_eq!((which(&cut), cut.dropped_texts, cut.long), (truncated, 1, 3), "{name}");
            let window = read(Long::Window);
            assert_eq!((which(&window), window.dropped_texts, window.long), (vec![0, 1, 2, 3], 0, 3), "{name}");
            // The long sentence is read at the same token as the short one.
            let alone = Stimuli::new(&model, &set.examples[1..], &mut base::pulse::NoPulse).unwrap();
            let token = |s: &Stimulus| s.ids[s.position];
            assert_eq!(token(&window.list[1]), token(&alone.list[0]), "{name}");
            assert_eq!(window.list[2].changed, Spot::At(0), "{name}");
            assert!(window.list.iter().all(|s| s.ids.len() <= model.arch().max_positions));
        }
    }
}
