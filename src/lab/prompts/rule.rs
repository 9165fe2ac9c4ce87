//! The rule of a run as it applies to one relation and one model: which tokens, or which words of several tokens, can be answers.

use super::candidates::{Reply, Strings};
use super::query::{Asker, Encoded};
use crate::model::ModelError;

/// What can be an answer of a relation for a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rule {
    /// The model's whole vocabulary, by the paper's rule.
    Vocabulary,
    /// These tokens.
    Tokens(Vec<u32>),
    /// These words, whatever their number of tokens, by pseudo-log-likelihood.
    Words(Vec<Word>),
}

/// A word as a model writes it in running text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// The word.
    pub text: String,
    /// Its tokens.
    pub ids: Vec<u32>,
}

impl Rule {
    /// What a reply says.
    #[must_use]
    pub fn said<'a>(&'a self, strings: &'a Strings, reply: Reply) -> &'a str {
        match self {
            Rule::Words(words) => words.get(reply.id as usize).map_or("", |w| &w.text),
            _ => strings.text(reply.id),
        }
    }

    /// Forward passes that a query needs at most.
    #[must_use]
    pub fn passes(&self) -> usize {
        match self {
            Rule::Words(words) => {
                let single = usize::from(words.iter().any(|w| w.ids.len() == 1));
                single + words.iter().filter(|w| w.ids.len() > 1).map(|w| w.ids.len()).sum::<usize>()
            }
            _ => 1,
        }
    }
}

/// Rows that are run together at most: memory stays bounded whatever the number of answers.
const ROWS: usize = 8192;

/// A pass that some tokens of some words are read from.
struct Row {
    query: Encoded,
    /// Query, word and token.
    wanted: Vec<(usize, usize, u32)>,
}

/// The reply to each query by pseudo-log-likelihood ([`scores`]): the best word is said. None where a word makes a query longer
/// than the model takes. `queries` are what is asked, each with its object.
///
/// # Errors
/// Those of the model, and of `between`, which is told after each batch how many queries are about done.
pub fn replies<E: From<ModelError>>(
    asker: &Asker<'_>,
    queries: &[(&Encoded, &str)],
    (words, strings): (&[Word], &Strings),
    tokens_per_batch: usize,
    between: impl FnMut(usize) -> Result<(), E>,
) -> Result<Vec<Option<Reply>>, E> {
    let mut replies = vec![None; queries.len()];
    let asked: Vec<&Encoded> = queries.iter().map(|q| q.0).collect();
    let take = |k: usize, scores: &[f64]| {
        replies[k] = best(words, scores, |text| strings.same(text, queries[k].1));
    };
    scores(asker, &asked, words, tokens_per_batch, take, between)?;
    Ok(replies)
}

/// Hands the scores of all words to each query over, by pseudo-log-likelihood (Salazar et al. 2020): the score of a word is the
/// sum over its tokens of log P(token | the query with the word's other tokens in place), in nats, for causal models with those
/// before it. Words of one token thus stand in the order of their logits. Queries that a word makes longer than the model takes
/// have none.
///
/// # Errors
/// As [`replies`].
pub fn scores<E: From<ModelError>>(
    asker: &Asker<'_>,
    queries: &[&Encoded],
    words: &[Word],
    tokens_per_batch: usize,
    mut take: impl FnMut(usize, &[f64]),
    mut between: impl FnMut(usize) -> Result<(), E>,
) -> Result<(), E> {
    let longest = words.iter().map(|w| w.ids.len()).max().unwrap_or(0);
    let most = asker.model().arch().max_positions;
    let fits = |k: usize| queries[k].ids.len() + longest <= most + 1;
    let mut begin = 0;
    while begin < queries.len() {
        let (mut rows, mut end) = (Vec::new(), begin);
        while end < queries.len() && (end == begin || rows.len() < ROWS) {
            if fits(end) {
                add_rows(asker, queries[end], end - begin, words, &mut rows);
            }
            end += 1;
        }
        let mut scores = vec![vec![0.0; words.len()]; end - begin];
        let all: Vec<&Encoded> = rows.iter().map(|r| &r.query).collect();
        let add = |k: usize, logits: &[f32]| {
            let sum = log_sum(logits);
            for (query, word, token) in &rows[k].wanted {
                scores[*query][*word] += f64::from(logits[*token as usize]) - sum;
            }
        };
        let share = |done: usize| begin + done * (end - begin) / all.len().max(1);
        asker.logits::<E>(&all, None, tokens_per_batch, add, |done| between(share(done)))?;
        (begin..end).zip(&scores).filter(|(k, _)| fits(*k)).for_each(|(k, scores)| take(k, scores));
        begin = end;
    }
    Ok(())
}

fn add_rows(asker: &Asker<'_>, query: &Encoded, at: usize, words: &[Word], rows: &mut Vec<Row>) {
    // Words that begin alike, and all words of one token, share passes.
    let mut known: std::collections::HashMap<Encoded, usize> = std::collections::HashMap::new();
    for (w, word) in words.iter().enumerate() {
        for (t, token) in word.ids.iter().enumerate() {
            let row = asker.within(query, &word.ids, t);
            let k = *known.entry(row).or_insert_with_key(|row| {
                rows.push(Row { query: row.clone(), wanted: Vec::new() });
                rows.len() - 1
            });
            rows[k].wanted.push((at, w, *token));
        }
    }
}

/// The best word and the rank of the object; of equal scores the earlier word first.
fn best(words: &[Word], scores: &[f64], is_object: impl Fn(&str) -> bool) -> Option<Reply> {
    let before = |a: usize, b: usize| scores[b].total_cmp(&scores[a]).then(a.cmp(&b)).is_lt();
    let first = (0..words.len()).reduce(|best, k| if before(k, best) { k } else { best })?;
    let object = words.iter().position(|w| is_object(&w.text));
    let rank = object.map(|o| 1 + (0..words.len()).filter(|k| before(*k, o)).count() as u32);
    Some(Reply { id: first as u32, rank })
}

/// The logarithm of the sum that turns logits into probabilities.
#[must_use]
pub fn log_sum(logits: &[f32]) -> f64 {
    let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = logits.iter().map(|l| f64::from(l - most).exp()).sum();
    f64::from(most) + sum.ln()
}

#[cfg(test)]
mod tests {
    use super::super::candidates::from_list;
    use super::super::function_words::FunctionWords;
    use super::super::vocabulary::Words;
    use super::*;
    use crate::model::{Device, Model};

    const PROMPT: &str = "The capital of [X] is [Y] .";

    #[test]
    fn probabilities_add_up_to_one() {
        let logits = [3.0f32, -2.0, 0.5, 80.0];
        let log = |id: usize| f64::from(logits[id]) - log_sum(&logits);
        assert!(((0..4).map(|id| log(id).exp()).sum::<f64>() - 1.0).abs() < 1e-12);
        assert!(log(1) < -81.0);
    }

    #[test]
    fn equal_scores_go_to_the_earlier_word_and_an_object_that_is_no_word_has_no_rank() {
        let word = |t: &str| Word { text: t.into(), ids: vec![1] };
        let words = [word("a"), word("b"), word("c")];
        assert_eq!(best(&words, &[-1.0, -0.5, -0.5], |t| t == "c"), Some(Reply { id: 1, rank: Some(2) }));
        assert_eq!(best(&words, &[-1.0, -0.5, -0.5], |t| t == "z"), Some(Reply { id: 1, rank: None }));
        assert_eq!(best(&[], &[], |_| true), None);
    }

    /// Of words of one token each it says what the relation's own rule says; a word of two is scored token by token.
    #[test]
    fn words_of_one_token_stand_in_the_order_of_their_logits() {
        for name in ["bert-tiny", "gpt2-tiny", "bart-tiny"] {
            let model = Model::load(&name.parse().unwrap(), Device::Cpu).unwrap();
            let (asker, tokenizer) = (Asker::new(&model).unwrap(), model.tokenizer().unwrap());
            let own = Words::new(tokenizer, &FunctionWords::own(), false).unwrap();
            let word =
                |text: &str| Word { text: text.into(), ids: own.tokens(tokenizer, text).unwrap().unwrap() };
            let singles = ["Paris", "Rome", "Berlin", "Madrid"].map(word);
            assert!(singles.iter().all(|w| w.ids.len() == 1), "{name}");
            let queries: Vec<Encoded> =
                ["France", "Italy"].iter().map(|x| asker.encode(PROMPT, x).unwrap().unwrap()).collect();
            let asked: Vec<(&Encoded, &str)> = queries.iter().map(|q| (q, "Rome")).collect();
            let run = |words: &[Word]| {
                replies::<ModelError>(&asker, &asked, (words, &own.strings), 4096, |_| Ok(())).unwrap()
            };
            let ids: Vec<u32> = singles.iter().map(|w| w.ids[0]).collect();
            let all: Vec<&Encoded> = queries.iter().collect();
            let mut wanted = Vec::new();
            let take = |_: usize, row: &[f32]| wanted.push(from_list(&own.strings, &ids, row, "Rome"));
            asker.logits::<ModelError>(&all, Some(&ids), 4096, take, |_| Ok(())).unwrap();
            for (found, wanted) in run(&singles).iter().zip(wanted) {
                let (found, wanted) = (found.unwrap(), wanted.unwrap());
                assert_eq!((ids[found.id as usize], found.rank), (wanted.id, wanted.rank), "{name}");
            }
            two_tokens(&asker, &own, &queries[0], name);
        }
    }

    /// The score of a word of two tokens against passes made by hand.
    fn two_tokens(asker: &Asker<'_>, own: &Words, query: &Encoded, name: &str) {
        let tokenizer = asker.model().tokenizer().unwrap();
        let ids = own.tokens(tokenizer, "Paris Rome").unwrap().unwrap();
        assert_eq!(ids.len(), 2, "{name}");
        let mut score = 0.0;
        for k in 0..2 {
            let row = asker.within(query, &ids, k);
            let causal = asker.model().arch().is_causal();
            assert_eq!(row.ids.len(), query.ids.len() + if causal { k } else { 1 }, "{name}");
            assert!(
                causal || row.ids[query.position + 1 - k] == ids[1 - k],
                "{name}: the other one stands there"
            );
            let take =
                |_: usize, logits: &[f32]| score += f64::from(logits[ids[k] as usize]) - log_sum(logits);
            asker.logits::<ModelError>(&[&row], None, 4096, take, |_| Ok(())).unwrap();
        }
        // Beside a word of one token, which of the two is said follows from the scores.
        let other = Word { text: "Paris".into(), ids: vec![ids[0]] };
        let mut single = 0.0;
        let row = asker.within(query, &other.ids, 0);
        assert_eq!(row, *query, "{name}: nothing but the mask");
        let take = |_: usize, logits: &[f32]| single = f64::from(logits[ids[0] as usize]) - log_sum(logits);
        asker.logits::<ModelError>(&[&row], None, 4096, take, |_| Ok(())).unwrap();
        let words = [Word { text: "Paris Rome".into(), ids }, other];
        let asked = [(query, "Paris Rome")];
        let found = replies::<ModelError>(asker, &asked, (&words, &own.strings), 4096, |_| Ok(())).unwrap()
            [0]
        .unwrap();
        let first = score >= single;
        assert_eq!((found.id, found.rank), (u32::from(!first), Some(2 - u32::from(first))), "{name}");
    }
}
