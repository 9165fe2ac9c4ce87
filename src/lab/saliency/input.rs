//! A sentence as a model sees it: its tokens with the mask in it (of a causal model, what stands before the mask), where the
//! answer is read, and which words each token overlaps.

use super::finding::SentenceFinding;
use super::sentence::is_word;
use crate::lab::stimuli::StimuliError;
use crate::model::{Model, ModelError, Offer, Tokenizer};

/// Most mask tokens that stand for one answer.
pub const MOST_MASKS: usize = 12;

/// A sentence in the tokens of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// Token ids.
    pub ids: Vec<u32>,
    /// The same as the vocabulary spells them.
    pub tokens: Vec<String>,
    /// Special tokens around the text, which stay on every path and have score 0.
    pub frame: Vec<bool>,
    /// By token: the words that it overlaps.
    pub words: Vec<Vec<usize>>,
    /// Positions whose logits predict the answer: the masks, or the last token of a causal model.
    pub slots: Vec<usize>,
    /// Words that take no part in a ranking: the masks, and those that a causal model does not see.
    pub excluded: Vec<usize>,
    /// Token ids of the expected answer, one a slot; empty where nothing is expected.
    pub answer: Vec<u32>,
    /// Number of words of the sentence.
    pub count: usize,
}

/// Why a model cannot be asked a sentence, in a few words.
pub type Unfit = String;

/// Reads sentences for a model.
pub struct Reader<'a> {
    model: &'a Model,
    tokenizer: &'a Tokenizer,
    mask: Option<(String, u32)>,
}

impl<'a> Reader<'a> {
    /// For a model.
    ///
    /// # Errors
    /// [`StimuliError`] for a model without a head, without a tokenizer, or a masked one without a mask token.
    pub fn new(model: &'a Model) -> Result<Self, StimuliError> {
        let tokenizer = model.tokenizer()?;
        model.require(Offer::Logits)?;
        let mask = match (model.arch().is_causal(), tokenizer.mask_token(), tokenizer.special().mask) {
            (true, ..) => None,
            (false, Some(text), Some(id)) => Some((text, id)),
            _ => return Err(StimuliError::NoMask { model: model.name().to_owned() }),
        };
        Ok(Self { model, tokenizer, mask })
    }

    /// The sentence in tokens, or why there is none.
    ///
    /// # Errors
    /// Those of the tokenizer.
    pub fn read(&self, sentence: &SentenceFinding) -> Result<Result<Input, Unfit>, ModelError> {
        let Some(first) = sentence.masks.first().copied() else { return Ok(Err("no mask".into())) };
        let answer = match self.answer(sentence, first)? {
            Ok(answer) => answer,
            Err(unfit) => return Ok(Err(unfit)),
        };
        let typed = sentence.masks.len();
        let masks = match (&self.mask, typed) {
            (None, _) if answer.len() > 1 || typed > 1 => {
                return Ok(Err(
                    "the answer has several tokens, which a causal model would give one after the other"
                        .into(),
                ));
            }
            (_, 1) => answer.len().max(1),
            (_, typed) if answer.is_empty() || answer.len() == typed => typed,
            _ => return Ok(Err(format!("{typed} masks for an answer of {} tokens", answer.len()))),
        };
        if masks > MOST_MASKS {
            return Ok(Err(format!("{masks} masks; at most {MOST_MASKS} are asked")));
        }
        if self.mask.is_none() && sentence.words[first + 1..].iter().any(|w| is_word(w)) {
            return Ok(Err("words stand behind the mask, which a causal model does not see".into()));
        }
        self.encode(sentence, first, masks, answer)
    }

    /// Token ids of the expected answer where it stands.
    fn answer(
        &self,
        sentence: &SentenceFinding,
        first: usize,
    ) -> Result<Result<Vec<u32>, Unfit>, ModelError> {
        let Some(word) = sentence.answer.as_deref().filter(|w| !w.is_empty()) else {
            return Ok(Ok(Vec::new()));
        };
        let begins = sentence.spans[first].0;
        let before = begins.checked_sub(1).and_then(|at| sentence.text.chars().nth(at));
        let text = if before.is_some_and(char::is_whitespace) { format!(" {word}") } else { word.to_owned() };
        let ids = self.tokenizer.encode_bare(&text)?.ids;
        let unknown = self.tokenizer.special().unk.is_some_and(|unk| ids.contains(&unk));
        if ids.is_empty() || unknown {
            return Ok(Err("the answer is not in the vocabulary".into()));
        }
        Ok(Ok(ids))
    }

    fn encode(
        &self,
        sentence: &SentenceFinding,
        first: usize,
        masks: usize,
        answer: Vec<u32>,
    ) -> Result<Result<Input, Unfit>, ModelError> {
        let (text, owners) = self.shown(sentence, first, masks);
        let encoding = self.tokenizer.encode(&text)?;
        let longest = self.model.arch().max_positions;
        if encoding.ids.len() > longest {
            return Ok(Err(format!("longer than the {longest} tokens that the model reads")));
        }
        let mask = self.mask.as_ref().map(|(_, id)| *id);
        let slots: Vec<usize> = match mask {
            Some(id) => (0..encoding.ids.len()).filter(|i| encoding.ids[*i] == id).collect(),
            None => encoding.ids.len().checked_sub(1).into_iter().collect(),
        };
        match slots.len() {
            0 if mask.is_none() => return Ok(Err("nothing stands before the mask".into())),
            n if mask.is_some() && n != masks => {
                return Ok(Err("the text has mask tokens of its own".into()));
            }
            _ => {}
        }
        let overlapped = |i: usize| -> Vec<usize> {
            if encoding.is_special[i] && Some(encoding.ids[i]) != mask {
                return Vec::new();
            }
            let (from, to) = encoding.offsets[i];
            let mut words: Vec<usize> =
                owners.get(from..to).unwrap_or_default().iter().flatten().copied().collect();
            words.dedup();
            words
        };
        let count = sentence.words.len();
        let excluded = if mask.is_some() { sentence.masks.clone() } else { (first..count).collect() };
        Ok(Ok(Input {
            words: (0..encoding.ids.len()).map(overlapped).collect(),
            frame: encoding
                .ids
                .iter()
                .zip(&encoding.is_special)
                .map(|(id, s)| *s && Some(*id) != mask)
                .collect(),
            ids: encoding.ids,
            tokens: encoding.tokens,
            slots,
            excluded,
            answer,
            count,
        }))
    }

    /// The text that the model is shown, and by character the word that it belongs to.
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
    use crate::model::Device;

    fn model(name: &str) -> Model {
        Model::load(&name.parse().unwrap(), Device::Cpu).unwrap()
    }

    #[test]
    fn masked_models_see_the_sentence_and_causal_ones_what_stands_before() {
        for name in ["bert-tiny", "roberta-tiny", "bart-tiny", "gpt2-tiny"] {
            let model = model(name);
            let reader = Reader::new(&model).unwrap();
            let sentence = own("The capital of France is [MASK] .", Some("Paris")).unwrap();
            let input = reader.read(&sentence).unwrap().unwrap();
            assert_eq!(input.slots.len(), input.answer.len(), "{name}");
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
    fn an_answer_of_several_tokens_has_as_many_masks() {
        let model = model("bert-tiny");
        let reader = Reader::new(&model).unwrap();
        let sentence = own("She lives in [MASK] now .", Some("Xylophonia")).unwrap();
        let input = reader.read(&sentence).unwrap().unwrap();
        assert!(input.answer.len() > 1);
        assert_eq!(input.slots.len(), input.answer.len());
        let long = own(&format!("{} [MASK]", "word ".repeat(300)), None).unwrap();
        assert!(reader.read(&long).unwrap().unwrap_err().contains("longer than"));
    }
}
