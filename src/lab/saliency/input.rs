//! A sentence as a model's input: its tokens with the mask, the positions of the answer, and the words that each token overlaps. A causal
//! model is given only the text before the mask.
//!
//! A multi-token answer has one mask per token. A causal model generates its tokens one by one, so later slots are known only after it has
//! answered: [`Input::answered`].

use std::borrow::Cow;
use std::collections::HashSet;

use super::finding::SentenceFinding;
use super::sentence::is_word;
use lab::stimuli::StimuliError;
use model::{Encoding, Long, Model, ModelError, Offer, Tokenizer};

/// Maximum number of mask tokens per answer.
pub(crate) const MOST_MASKS: usize = 12;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    pub ids: Vec<u32>,
    /// The tokens as spelled in the vocabulary.
    pub tokens: Vec<String>,
    /// True for special tokens around the text, which never change on a path and have score 0.
    pub frame: Vec<bool>,
    /// The words that each token overlaps.
    pub words: Vec<Vec<usize>>,
    /// Positions whose logits predict the answer: the masks; for a causal model, the last token of its input and the tokens of its answer.
    pub slots: Vec<usize>,
    /// Number of tokens that a causal model still has to generate after the first one.
    pub further: usize,
    /// Words outside the ranking: masks, and words that the model does not process.
    pub excluded: Vec<usize>,
    /// Token ids of the expected answer, one per slot; empty if none is expected.
    pub answer: Vec<u32>,
    /// Token ids of other answers that fit, possibly of different lengths.
    pub others: Vec<Vec<u32>>,
    pub count: usize,
    /// True if this is part of a sentence that exceeds the model's maximum length.
    pub cut: bool,
}

impl Input {
    /// The input followed by a causal model's answer without its last token, with a slot for each token. These tokens are not part of the
    /// sentence: they never change on a path and have score 0.
    pub fn answered(&self, answer: &[u32], tokenizer: &Tokenizer) -> Cow<'_, Self> {
        let given = &answer[..self.further.min(answer.len())];
        if given.is_empty() {
            return Cow::Borrowed(self);
        }
        let mut input = Self { further: 0, ..self.clone() };
        for id in given {
            input.slots.push(input.ids.len());
            input.ids.push(*id);
            input.tokens.push(tokenizer.token(*id).unwrap_or_default());
            input.frame.push(true);
            input.words.push(Vec::new());
        }
        Cow::Owned(input)
    }
}

impl Input {
    /// The input reduced to some of its tokens; `None` if a slot has no token before it. If the token just before a causal model's answer
    /// is removed, the slot moves to the last remaining token.
    pub(crate) fn keeping(&self, stays: impl Fn(usize) -> bool) -> Option<Self> {
        let kept: Vec<usize> = (0..self.ids.len()).filter(|t| stays(*t)).collect();
        let slot = |s: &usize| kept.partition_point(|t| t <= s).checked_sub(1);
        Some(Self {
            ids: kept.iter().map(|t| self.ids[*t]).collect(),
            tokens: kept.iter().map(|t| self.tokens[*t].clone()).collect(),
            frame: kept.iter().map(|t| self.frame[*t]).collect(),
            words: kept.iter().map(|t| self.words[*t].clone()).collect(),
            slots: self.slots.iter().map(slot).collect::<Option<_>>()?,
            ..self.clone()
        })
    }
}

/// Short text with the reason why a model cannot use a sentence.
pub type Unfit = String;

pub struct Reader<'a> {
    model: &'a Model,
    tokenizer: &'a Tokenizer,
    mask: Option<(String, u32)>,
    long: Long,
}

impl<'a> Reader<'a> {
    /// Creates a reader for a model.
    ///
    /// # Errors
    /// [`StimuliError`] if the model has no head or tokenizer, or if a masked model has no mask token.
    pub fn new(model: &'a Model) -> Result<Self, StimuliError> {
        let tokenizer = model.tokenizer()?;
        model.require(Offer::Logits)?;
        let mask = match (model.arch().is_causal(), tokenizer.mask_token(), tokenizer.special().mask) {
            (true, ..) => None,
            (false, Some(text), Some(id)) => Some((text, id)),
            _ => return Err(StimuliError::NoMask { model: model.name().to_owned() }),
        };
        Ok(Self { model, tokenizer, mask, long: Long::Drop })
    }

    /// Sets the treatment of sentences longer than the model's maximum length.
    pub fn with_long(self, long: Long) -> Self {
        Self { long, ..self }
    }

    /// Tokenizes a sentence, or returns the reason why it is unusable.
    pub fn read(&self, sentence: &SentenceFinding) -> Result<Result<Input, Unfit>, ModelError> {
        let Some(first) = sentence.masks.first().copied() else { return Ok(Err("no mask".into())) };
        let answer = match sentence.answer.as_deref().filter(|w| !w.is_empty()) {
            None => Vec::new(),
            Some(word) => match self.standing(sentence, first, word)? {
                Some(ids) => ids,
                None => return Ok(Err("the answer is not in the vocabulary".into())),
            },
        };
        let typed = sentence.masks.len();
        let masks = match typed {
            1 => answer.len().max(1),
            typed if answer.is_empty() || answer.len() == typed => typed,
            _ => return Ok(Err(format!("{typed} masks for an answer of {} tokens", answer.len()))),
        };
        if masks > MOST_MASKS {
            return Ok(Err(format!("{masks} masks; at most {MOST_MASKS} are allowed")));
        }
        if sentence.words.len() == typed {
            return Ok(Err("there is no word other than the mask".into()));
        }
        if self.mask.is_none() && sentence.words[first + typed..].iter().any(|w| is_word(w)) {
            return Ok(Err("there are words after the mask, which a causal model cannot use".into()));
        }
        let others = sentence.other_answers.iter().map(|word| self.standing(sentence, first, word));
        let others: Vec<Vec<u32>> = others.filter_map(Result::transpose).collect::<Result<_, _>>()?;
        let input = self.encode(sentence, first, masks)?;
        Ok(input.map(|input| Input { answer, others, ..input }))
    }

    /// Token ids of a word that replaces the mask; `None` if the vocabulary lacks the word.
    fn standing(&self, sentence: &SentenceFinding, first: usize, word: &str) -> Result<Option<Vec<u32>>, ModelError> {
        let begins = sentence.spans[first].0;
        let before = begins.checked_sub(1).and_then(|at| sentence.text.chars().nth(at));
        let text = if before.is_some_and(char::is_whitespace) { format!(" {word}") } else { word.to_owned() };
        let ids = self.tokenizer.encode_bare(&text)?.ids;
        let known = !ids.is_empty() && self.tokenizer.knows(&ids);
        Ok(Some(ids).filter(|_| known))
    }

    /// The sentence with `masks` masks, without answers.
    fn encode(
        &self,
        sentence: &SentenceFinding,
        first: usize,
        masks: usize,
    ) -> Result<Result<Input, Unfit>, ModelError> {
        let (text, owners) = self.shown(sentence, first, masks);
        let whole = self.tokenizer.encode(&text)?;
        let longest = self.model.arch().max_positions;
        let further = if self.mask.is_none() { masks - 1 } else { 0 };
        let mask = self.mask.as_ref().map(|(_, id)| *id);
        let slots = |encoding: &Encoding| -> Vec<usize> {
            match mask {
                Some(id) => (0..encoding.ids.len()).filter(|i| encoding.ids[*i] == id).collect(),
                None => encoding.ids.len().checked_sub(1).into_iter().collect(),
            }
        };
        let all = slots(&whole);
        let wanted = all.first().map_or(0..0, |first| *first..all[all.len() - 1] + 1);
        let Some(encoding) = whole.around(wanted, longest.saturating_sub(further), self.long) else {
            let mut why = format!("longer than the model's maximum of {longest} tokens");
            if self.long != Long::Drop {
                why += ", and its mask is cut off";
            }
            return Ok(Err(why));
        };
        let (cut, slots) = (encoding.ids.len() < whole.ids.len(), slots(&encoding));
        match slots.len() {
            0 if mask.is_none() => return Ok(Err("there is no text before the mask".into())),
            n if mask.is_some() && n != masks => {
                return Ok(Err(match (n, &self.mask) {
                    (0, Some((text, _))) => format!("the tokenizer does not encode its mask `{text}` as one token"),
                    _ => "the text itself contains mask tokens".into(),
                }));
            }
            _ => {}
        }
        let overlapped = |i: usize| -> Vec<usize> {
            if encoding.is_special[i] && Some(encoding.ids[i]) != mask {
                return Vec::new();
            }
            let (from, to) = encoding.offsets[i];
            let mut words: Vec<usize> = owners.get(from..to).unwrap_or_default().iter().flatten().copied().collect();
            words.dedup();
            words
        };
        let count = sentence.words.len();
        let words: Vec<Vec<usize>> = (0..encoding.ids.len()).map(overlapped).collect();
        let mut excluded = if mask.is_some() { sentence.masks.clone() } else { (first..count).collect() };
        if cut {
            let seen: HashSet<usize> = words.iter().flatten().copied().collect();
            excluded.extend((0..count).filter(|w| !seen.contains(w)));
            excluded.sort_unstable();
            excluded.dedup();
        }
        Ok(Ok(Input {
            words,
            frame: encoding.ids.iter().zip(&encoding.is_special).map(|(id, s)| *s && Some(*id) != mask).collect(),
            ids: encoding.ids.clone(),
            tokens: encoding.tokens.clone(),
            slots,
            further,
            excluded,
            answer: Vec::new(),
            others: Vec::new(),
            count,
            cut,
        }))
    }

    /// The text given to the model, with the word that each character belongs to.
    fn shown(&self, sentence: &SentenceFinding, first: usize, masks: usize) -> (String, Vec<Option<usize>>) {
        let chars: Vec<char> = sentence.text.chars().collect();
        let (mut text, mut owners, mut at) = (String::new(), Vec::new(), 0);
        let mut put = |piece: &mut dyn Iterator<Item = char>, owner: Option<usize>| {
            for c in piece {
                text.push(c);
                owners.push(owner);
            }
        };
        for (word, &(from, to)) in sentence.spans.iter().enumerate() {
            if self.mask.is_none() && word == first {
                break;
            }
            put(&mut chars.get(at..from).unwrap_or_default().iter().copied(), None);
            match &self.mask {
                Some((mask, _)) if sentence.masks.contains(&word) => {
                    let times = if sentence.masks.len() == 1 { masks } else { 1 };
                    put(&mut mask.repeat(times).chars(), Some(word));
                }
                _ => put(&mut chars.get(from..to).unwrap_or_default().iter().copied(), Some(word)),
            }
            at = to;
        }
        if self.mask.is_some() {
            put(&mut chars.get(at..).unwrap_or_default().iter().copied(), None);
        }
        let kept = text.trim_end().chars().count();
        owners.truncate(kept);
        text.truncate(text.trim_end().len());
        (text, owners)
    }
}

#[cfg(test)]
mod tests {
    use super::super::sentence::own;
    use super::*;
    use model::Device;

    fn model(name: &str) -> Model {
        Model::load(&name.parse().unwrap(), Device::Cpu).unwrap()
    }

    #[test]
    fn masked_models_get_the_sentence_and_causal_models_the_prefix() {
        for name in ["bert-tiny", "roberta-tiny", "bart-tiny", "gpt2-tiny"] {
            let model = model(name);
            let reader = Reader::new(&model).unwrap();
            let sentence = own("The capital of France is [MASK] .", Some("Paris")).unwrap();
            let input = reader.read(&sentence).unwrap().unwrap();
            assert_eq!(input.slots.len() + input.further, input.answer.len(), "{name}");
            let seen: Vec<usize> = {
                let mut all: Vec<usize> = input.words.iter().flatten().copied().collect();
                all.dedup();
                all
            };
            if name == "gpt2-tiny" {
                assert_eq!((seen, &input.excluded), ((0..5).collect(), &vec![5, 6]));
                assert_eq!(input.slots, [input.ids.len() - 1]);
            } else {
                assert_eq!((seen, &input.excluded), ((0..7).collect(), &vec![5]), "{name}");
                assert!(input.slots.iter().all(|s| input.words[*s] == [5]));
            }
            let inner = own("The [MASK] of France is Paris .", None).unwrap();
            assert_eq!(reader.read(&inner).unwrap().is_ok(), name != "gpt2-tiny");
        }
    }

    #[test]
    fn causal_model_generates_answer_tokens_in_order() {
        let model = model("gpt2-tiny");
        let (reader, tokenizer) = (Reader::new(&model).unwrap(), model.tokenizer().unwrap());
        let long = reader.read(&own("She lives in [MASK] .", Some("Xylophonia")).unwrap()).unwrap().unwrap();
        let tokens = long.answer.len();
        assert_eq!((long.slots.len(), long.further), (1, tokens - 1));
        let full = long.answered(&long.answer, tokenizer);
        let before = long.ids.len();
        assert_eq!(full.slots, (before - 1..before + tokens - 1).collect::<Vec<_>>());
        assert_eq!(full.ids[before..], long.answer[..tokens - 1]);
        assert!(full.frame[before..].iter().all(|f| *f) && full.words[before..].iter().all(Vec::is_empty));
        assert!(full.tokens.len() == full.ids.len() && full.further == 0);
        // Adjacent typed masks stand for an answer with one token per mask.
        let two = reader.read(&own("She lives in [MASK][MASK]", None).unwrap()).unwrap().unwrap();
        assert_eq!((two.further, &two.excluded), (1, &vec![3, 4]));
        assert!(reader.read(&own("In [MASK] [MASK] now", None).unwrap()).unwrap().is_err());
    }

    #[test]
    fn multi_token_answer_has_one_mask_per_token() {
        let model = model("bert-tiny");
        let reader = Reader::new(&model).unwrap();
        let sentence = own("She lives in [MASK] now .", Some("Xylophonia")).unwrap();
        let input = reader.read(&sentence).unwrap().unwrap();
        assert!(input.answer.len() > 1);
        assert_eq!(input.slots.len(), input.answer.len());
        let long = own(&format!("{} [MASK]", "word ".repeat(300)), None).unwrap();
        assert!(reader.read(&long).unwrap().unwrap_err().contains("longer than"));
        let reader = reader.with_long(Long::Truncate);
        assert!(reader.read(&long).unwrap().unwrap_err().contains("its mask is cut off"));
    }

    /// The model processes the part around the mask. Words outside this part are not ranked, because there is no information about them.
    #[test]
    fn long_sentence_is_cut_around_its_mask() {
        for (name, seen) in [("bert-tiny", 203..265), ("gpt2-tiny", 169..233)] {
            let model = model(name);
            let reader = Reader::new(&model).unwrap().with_long(Long::Window);
            let behind = if name == "gpt2-tiny" { "" } else { " word".repeat(200).leak() };
            let text = format!("{}[MASK]{behind}", "word ".repeat(233));
            let input = reader.read(&own(&text, None).unwrap()).unwrap().unwrap();
            assert!(input.cut && input.ids.len() <= model.arch().max_positions, "{name}");
            let words: Vec<usize> = input.words.iter().flatten().copied().collect();
            assert_eq!(words, seen.collect::<Vec<_>>(), "{name}");
            let excluded = |w: &usize| *w == 233 || !words.contains(w);
            assert_eq!(input.excluded, (0..input.count).filter(excluded).collect::<Vec<_>>(), "{name}");
            let short = reader.read(&own("A [MASK]", None).unwrap()).unwrap().unwrap();
            assert!(!short.cut && short.excluded == [1]);
        }
    }
}
