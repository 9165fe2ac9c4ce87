//! The words that are single tokens in a model, and those that all chosen models share.
//!
//! An object that a model cannot produce would put that model at a disadvantage, so only instances usable with every model are kept (Cao et
//! al. 2022, section 2). Adding a model can therefore remove instances for all models; removed instances are reported.

use std::collections::HashMap;

use super::candidates::{Strings, folded};
use super::function_words::FunctionWords;
use model::{ModelError, Tokenizer};

#[derive(Debug, Clone, PartialEq)]
pub struct Words {
    /// All tokens as text.
    pub strings: Strings,
    /// Alphabetic words that become, after a space, a single token that decodes to the same word.
    single: HashMap<String, u32>,
    ignore_case: bool,
}

impl Words {
    pub fn new(tokenizer: &Tokenizer, function_words: &FunctionWords, ignore_case: bool) -> Result<Self, ModelError> {
        // A tokenizer that lower-cases its input cannot produce capitals, so case is ignored for it.
        let ignore_case = ignore_case || folds(tokenizer)?;
        let texts: Vec<String> = (0..tokenizer.len() as u32)
            .map(|id| Ok(tokenizer.decode(&[id], false)?.trim().to_owned()))
            .collect::<Result<_, ModelError>>()?;
        let mut single = HashMap::new();
        for text in texts.iter().filter(|t| !t.is_empty() && t.chars().all(|c| c.is_ascii_alphabetic())) {
            if let Some(id) = word(tokenizer, text, ignore_case)? {
                single.insert(text.clone(), id);
            }
        }
        let special = tokenizer.special_ids();
        single.retain(|_, id| !special.contains(id));
        let strings = Strings::new(texts, function_words, ignore_case).without(&special);
        Ok(Self { strings, single, ignore_case })
    }

    /// The id of a word that is a single token.
    fn single(&self, word: &str) -> Option<u32> {
        let exact = self.single.get(word);
        exact.or_else(|| self.single.get(&folded(word, self.ignore_case))).copied()
    }

    /// All alphabetic words that are single tokens in running text, in alphabetical order.
    pub(crate) fn running(&self) -> Vec<(&str, u32)> {
        let mut all: Vec<(&str, u32)> = self.single.iter().map(|(word, id)| (word.as_str(), *id)).collect();
        all.sort_unstable();
        all
    }

    /// The id of a word as an object, if the word is a single token in running text.
    pub fn object(&self, tokenizer: &Tokenizer, text: &str) -> Result<Option<u32>, ModelError> {
        word(tokenizer, text, self.ignore_case)
    }

    /// The tokens of a word in running text; `None` if it has letters unknown to the model.
    pub fn tokens(&self, tokenizer: &Tokenizer, text: &str) -> Result<Option<Vec<u32>>, ModelError> {
        let ids = tokenizer.encode_bare(&format!(" {text}"))?.ids;
        let known = !ids.is_empty() && tokenizer.knows(&ids);
        Ok(known.then_some(ids))
    }
}

/// True if a tokenizer ignores case.
fn folds(tokenizer: &Tokenizer) -> Result<bool, ModelError> {
    let ids = |text: &str| Ok::<_, ModelError>(tokenizer.encode_bare(text)?.ids);
    Ok(ids(" The Paris")? == ids(" the paris")?)
}

/// The single token of a word after a space, if it decodes to the word.
fn word(tokenizer: &Tokenizer, text: &str, ignore_case: bool) -> Result<Option<u32>, ModelError> {
    let ids = tokenizer.encode_bare(&format!(" {text}"))?.ids;
    let [id] = ids[..] else { return Ok(None) };
    if !tokenizer.knows(&[id]) {
        return Ok(None);
    }
    let read = tokenizer.decode(&[id], false)?;
    Ok((folded(read.trim(), ignore_case) == folded(text, ignore_case)).then_some(id))
}

/// The words shared by all models in alphabetical order, with each model's token.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Common {
    pub words: Vec<String>,
    /// Token ids by model, then by word.
    pub ids: Vec<Vec<u32>>,
}

/// The words that are single tokens in every model, without function words.
pub fn common(models: &[&Words], function_words: &FunctionWords) -> Common {
    // If only some models distinguish case, words are spelled as in a model that does.
    let Some(base) = models.iter().find(|m| !m.ignore_case).or(models.first()) else {
        return Common::default();
    };
    // A word that a lower-casing model decodes as a function word is not an answer of that model either.
    let shared = |w: &&String| {
        let fits = |m: &&Words| m.single(w).is_some_and(|id| !function_words.contains(m.strings.text(id)));
        !function_words.contains(w) && models.iter().all(fits)
    };
    let mut words: Vec<String> = base.single.keys().filter(shared).cloned().collect();
    words.sort_unstable();
    let ids = models.iter().map(|m| words.iter().filter_map(|w| m.single(w)).collect()).collect();
    Common { words, ids }
}

/// For each model, the words that are single tokens in every other model, in alphabetical order and without function words. Adding the
/// model removes them from the words that the others share.
pub fn taken(models: &[&Words], function_words: &FunctionWords) -> Vec<Vec<String>> {
    let mut taken = vec![Vec::new(); models.len()];
    let says = |m: &Words, word: &str| m.single(word).is_some_and(|id| !function_words.contains(m.strings.text(id)));
    // A word that only one model lacks is in the vocabulary of at least one of the first two models.
    let first: &[&Words] = &models[..models.len().min(2)];
    for (k, base) in first.iter().enumerate().filter(|_| models.len() > 1) {
        for word in base.single.keys().filter(|w| !function_words.contains(w)) {
            if k == 1 && says(models[0], word) {
                continue;
            }
            let mut lacking = (0..models.len()).filter(|m| !says(models[*m], word));
            if let (Some(only), None) = (lacking.next(), lacking.next()) {
                taken[only].push(word.clone());
            }
        }
    }
    taken.iter_mut().for_each(|words| words.sort_unstable());
    taken
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Device, Model};

    /// Adding a model removes exactly these words from those shared by the others.
    #[test]
    fn taken_words_are_shared_by_the_other_models() {
        let none = FunctionWords::own();
        let words: Vec<Words> = ["roberta-tiny", "gpt2-tiny", "bart-tiny"]
            .map(|name| {
                let model = Model::load(&name.parse().unwrap(), Device::Cpu).unwrap();
                Words::new(model.tokenizer().unwrap(), &none, false).unwrap()
            })
            .into();
        let all: Vec<&Words> = words.iter().collect();
        let shared = common(&all, &none).words;
        let taken = taken(&all, &none);
        for (k, taken) in taken.iter().enumerate() {
            let others: Vec<&Words> = (0..all.len()).filter(|m| *m != k).map(|m| all[m]).collect();
            let mut lost = common(&others, &none).words;
            lost.retain(|w| !shared.contains(w));
            assert_eq!(*taken, lost, "{k}");
        }
        assert!(taken.iter().any(|t| !t.is_empty()), "some model removes a word");
        assert_eq!(super::taken(&all[..1], &none), [Vec::<String>::new()]);
    }

    #[test]
    fn common_words_are_single_tokens_and_not_function_words() {
        let models = ["bert-tiny", "roberta-tiny", "gpt2-tiny", "bart-tiny"]
            .map(|n| Model::load(&n.parse().unwrap(), Device::Cpu).unwrap());
        let own = FunctionWords::own();
        let words: Vec<Words> =
            models.iter().map(|m| Words::new(m.tokenizer().unwrap(), &own, false).unwrap()).collect();
        let all = common(&words.iter().collect::<Vec<_>>(), &own);
        let alone = common(&[&words[0]], &own);
        assert!(all.words.len() > 100);
        assert!(all.words.iter().all(|w| alone.words.iter().any(|a| a.eq_ignore_ascii_case(w)) && !own.contains(w)));
        for (k, model) in models.iter().enumerate() {
            for (w, id) in all.words.iter().zip(&all.ids[k]) {
                let read = model.tokenizer().unwrap().decode(&[*id], false).unwrap();
                assert!(words[k].strings.same(read.trim(), w), "{read} {w}");
                assert!(words[k].strings.same(words[k].strings.text(*id), w));
            }
        }
        assert_eq!(words[0].object(models[0].tokenizer().unwrap(), "two words").unwrap(), None);
        // Every built-in model can produce the objects of facts, even without capitals.
        let relations = corpus::facts::relations().unwrap();
        let objects: Vec<&str> = relations.iter().flat_map(|r| &r.facts).map(|f| f.object.as_str()).collect();
        for (model, words) in models.iter().zip(&words) {
            let can = |o: &&&str| words.object(model.tokenizer().unwrap(), o).unwrap().is_some();
            let said = objects.iter().filter(can).count();
            assert!(said * 10 > objects.len() * 9, "{}: {said} of {}", model.name(), objects.len());
        }
        assert_eq!(common(&[], &own), Common::default());
    }
}
