//! The answers that a rule allows for a relation and a model: single tokens, or multi-token words.

use std::collections::HashMap;

use super::candidates::{Reply, Strings};
use super::query::{Asker, Encoded};
use model::ModelError;

/// The answers that a relation allows for a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rule {
    /// The model's whole vocabulary, under the paper's rule.
    Vocabulary,
    /// Only the listed tokens.
    Tokens(Vec<u32>),
    /// The listed words with any number of tokens, scored by pseudo-log-likelihood.
    Words(Vec<Word>),
}

/// A word, and the tokens that a model uses for it in running text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    pub text: String,
    pub ids: Vec<u32>,
}

impl Rule {
    /// The word given by a reply.
    pub fn said<'a>(&'a self, strings: &'a Strings, reply: Reply) -> &'a str {
        match self {
            Rule::Words(words) => words.get(reply.id as usize).map_or("", |w| &w.text),
            _ => strings.text(reply.id),
        }
    }

    /// Minimum and maximum number of forward passes per query. How many words fall behind the object early depends on the model.
    pub fn passes(&self, is_causal: bool) -> [usize; 2] {
        let Rule::Words(words) = self else { return [1, 1] };
        let single = usize::from(words.iter().any(|w| w.ids.len() == 1));
        let several = || words.iter().filter(|w| w.ids.len() > 1).map(|w| w.ids.len());
        let (count, tokens) = (several().count(), several().sum::<usize>());
        // All other tokens of the object are always computed.
        let object = tokens.checked_div(count).map_or(0, |mean| mean - 1);
        match is_causal {
            true => [1 + object, 1 + tokens - count],
            false => [single + count + object, single + tokens],
        }
    }
}

/// Maximum number of rows per batch, which bounds memory for any number of answers.
const ROWS: usize = 8192;

/// A forward pass that scores tokens of words.
struct Row {
    query: Encoded,
    /// The requested scores, as (query, word, token).
    wanted: Vec<(usize, usize, u32)>,
}

/// Forward passes for several queries, without repetitions.
#[derive(Default)]
struct Rows {
    list: Vec<Row>,
    known: HashMap<(usize, Encoded), usize>,
}

impl Rows {
    /// Requests token `t` of word `w` at the answer's position in a query. Words with a common prefix share passes, and so do all
    /// single-token words.
    fn add(&mut self, asker: &Asker<'_>, (at, query): (usize, &Encoded), (w, word): (usize, &Word), t: usize) {
        let row = asker.within(query, &word.ids, t);
        let k = *self.known.entry((at, row)).or_insert_with_key(|(_, row)| {
            self.list.push(Row { query: row.clone(), wanted: Vec::new() });
            self.list.len() - 1
        });
        self.list[k].wanted.push((at, w, word.ids[t]));
    }

    /// Runs the passes and adds each token's log-probability to the score of its word. `scores` are ordered by query and word.
    fn run<E: From<ModelError>>(
        &self,
        asker: &Asker<'_>,
        scores: &mut [Vec<f64>],
        tokens_per_batch: usize,
        mut between: impl FnMut() -> Result<(), E>,
    ) -> Result<(), E> {
        let all: Vec<&Encoded> = self.list.iter().map(|r| &r.query).collect();
        let read = |k: usize, logits: &[f32]| -> Vec<f64> {
            let sum = log_sum(logits);
            let wanted = self.list[k].wanted.iter();
            wanted.map(|(_, _, token)| f64::from(logits[*token as usize]) - sum).collect()
        };
        let found = asker.read::<_, E>(&all, None, tokens_per_batch, read, |_| between())?;
        for (row, found) in self.list.iter().zip(found) {
            row.wanted.iter().zip(found).for_each(|((at, w, _), x)| scores[*at][*w] += x);
        }
        Ok(())
    }
}

/// The best word for each query by pseudo-log-likelihood ([`scores`]). Each query comes with its object. `None` if a word makes a query too
/// long for the model.
///
/// No term of a score is positive, so a word that has fallen behind the object stays behind. It can affect neither the best word nor the
/// object's rank, and its remaining tokens are skipped. The results are the same as with complete scores.
///
/// # Errors
/// Returns errors of the model and of `between`, which is called after each batch with the number of finished queries.
pub fn replies<E: From<ModelError>>(
    asker: &Asker<'_>,
    queries: &[(&Encoded, &str)],
    answers: (&[Word], &Strings),
    tokens_per_batch: usize,
    between: impl FnMut(usize) -> Result<(), E>,
) -> Result<Vec<Option<Reply>>, E> {
    raced(asker, queries, answers, tokens_per_batch, between).map(|(replies, _)| replies)
}

/// Same as [`replies`], and also returns the number of forward passes.
pub(crate) fn raced<E: From<ModelError>>(
    asker: &Asker<'_>,
    queries: &[(&Encoded, &str)],
    (words, strings): (&[Word], &Strings),
    tokens_per_batch: usize,
    mut between: impl FnMut(usize) -> Result<(), E>,
) -> Result<(Vec<Option<Reply>>, usize), E> {
    let (mut replies, mut passes) = (vec![None; queries.len()], 0);
    let fits = fitting(asker, words);
    let together = (ROWS / words.len().max(1)).max(1);
    for begin in (0..queries.len()).step_by(together) {
        let part = &queries[begin..(begin + together).min(queries.len())];
        let objects: Vec<Option<usize>> = part
            .iter()
            .map(|(query, object)| {
                fits(query).then(|| words.iter().position(|w| strings.same(&w.text, object))).flatten()
            })
            .collect();
        let mut races: Vec<Race> = objects.iter().map(|o| Race::new(asker, words, *o)).collect();
        let mut scores = vec![vec![0.0; words.len()]; part.len()];
        loop {
            let mut rows = Rows::default();
            for (at, race) in races.iter_mut().enumerate().filter(|(at, _)| fits(part[*at].0)) {
                race.advance(words, &scores[at], |w, t| rows.add(asker, (at, part[at].0), (w, &words[w]), t));
            }
            if rows.list.is_empty() {
                break;
            }
            passes += rows.list.len();
            rows.run(asker, &mut scores, tokens_per_batch, || between(begin))?;
        }
        for (k, (race, scores)) in races.iter().zip(&scores).enumerate().filter(|(k, _)| fits(part[*k].0)) {
            replies[begin + k] = best(words, &race.final_scores(words, scores), race.object);
        }
        between(begin + part.len())?;
    }
    Ok((replies, passes))
}

/// State of scoring a query's words.
struct Race {
    object: Option<usize>,
    /// True if one pass gives the first token of every word, because the query ends at the answer.
    is_causal: bool,
    /// By word: the number of tokens already scored.
    done: Vec<usize>,
}

impl Race {
    fn new(asker: &Asker<'_>, words: &[Word], object: Option<usize>) -> Self {
        Self { object, is_causal: asker.model().arch().is_causal(), done: vec![0; words.len()] }
    }

    /// Requests the next token of every word that could still outrank the object. The first call requests all tokens of the object and, for
    /// the other words, the tokens of a single pass.
    fn advance(&mut self, words: &[Word], scores: &[f64], mut want: impl FnMut(usize, usize)) {
        let is_first = self.done.iter().all(|n| *n == 0);
        let least = self.least(words, scores);
        for (w, word) in words.iter().enumerate() {
            let from = self.done[w];
            let to = match (is_first, self.object == Some(w)) {
                (true, true) => word.ids.len(),
                (true, false) if self.is_causal || word.ids.len() == 1 => from + 1,
                (true, false) if self.object.is_some() => from,
                _ if scores[w] < least => from,
                _ => from + 1,
            };
            let to = to.min(word.ids.len());
            (from..to).for_each(|t| want(w, t));
            self.done[w] = to;
        }
    }

    /// The score below which a word is out of contention: the object's score or, without an object, the best complete score.
    fn least(&self, words: &[Word], scores: &[f64]) -> f64 {
        if let Some(o) = self.object {
            return if self.done[o] == 0 { f64::NEG_INFINITY } else { scores[o] };
        }
        let whole = (0..words.len()).filter(|w| self.done[*w] == words[*w].ids.len());
        whole.map(|w| scores[w]).fold(f64::NEG_INFINITY, f64::max)
    }

    /// Scores, excluding words that fell behind.
    fn final_scores(&self, words: &[Word], scores: &[f64]) -> Vec<f64> {
        let of = |w: usize| if self.done[w] == words[w].ids.len() { scores[w] } else { f64::NEG_INFINITY };
        (0..words.len()).map(of).collect()
    }
}

/// True for queries that fit the model with every word.
fn fitting(asker: &Asker<'_>, words: &[Word]) -> impl Fn(&Encoded) -> bool {
    let longest = words.iter().map(|w| w.ids.len()).max().unwrap_or(0);
    let most = asker.model().arch().max_positions;
    move |query| query.ids.len() + longest <= most + 1
}

/// Computes the pseudo-log-likelihood of all words for each query (Salazar et al. 2020) and passes the scores on.
///
/// The score of a word is the sum over its tokens of log P(token | the query with the word's other tokens in place), in nats. Causal models
/// see only the preceding tokens. Single-token words are thus ranked by their logits. Queries that are too long with some word have no
/// scores.
pub fn scores<E: From<ModelError>>(
    asker: &Asker<'_>,
    queries: &[&Encoded],
    words: &[Word],
    tokens_per_batch: usize,
    mut take: impl FnMut(usize, &[f64]),
    mut between: impl FnMut(usize) -> Result<(), E>,
) -> Result<(), E> {
    let fits = fitting(asker, words);
    let tokens: usize = words.iter().map(|w| w.ids.len()).sum();
    let together = (ROWS / tokens.max(1)).max(1);
    for begin in (0..queries.len()).step_by(together) {
        let part = &queries[begin..(begin + together).min(queries.len())];
        let mut rows = Rows::default();
        for (at, query) in part.iter().enumerate().filter(|(_, query)| fits(query)) {
            for (w, word) in words.iter().enumerate() {
                (0..word.ids.len()).for_each(|t| rows.add(asker, (at, query), (w, word), t));
            }
        }
        let mut scores = vec![vec![0.0; words.len()]; part.len()];
        rows.run(asker, &mut scores, tokens_per_batch, || between(begin))?;
        let each = part.iter().zip(&scores).enumerate().filter(|(_, (query, _))| fits(query));
        each.for_each(|(k, (_, scores))| take(begin + k, scores));
        between(begin + part.len())?;
    }
    Ok(())
}

/// The best word and the rank of the object. Ties are ranked in the order of the words.
fn best(words: &[Word], scores: &[f64], object: Option<usize>) -> Option<Reply> {
    let before = |a: usize, b: usize| scores[b].total_cmp(&scores[a]).then(a.cmp(&b)).is_lt();
    let first = (0..words.len()).reduce(|best, k| if before(k, best) { k } else { best })?;
    let rank = object.map(|o| 1 + (0..words.len()).filter(|k| before(*k, o)).count() as u32);
    Some(Reply { id: first as u32, rank })
}

/// The log of the normalising sum that converts logits to log-probabilities.
pub(crate) fn log_sum(logits: &[f32]) -> f64 {
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
    use model::{Device, Model};

    const PROMPT: &str = "The capital of [X] is [Y] .";

    #[test]
    fn probabilities_add_up_to_one() {
        let logits = [3.0f32, -2.0, 0.5, 80.0];
        let log = |id: usize| f64::from(logits[id]) - log_sum(&logits);
        assert!(((0..4).map(|id| log(id).exp()).sum::<f64>() - 1.0).abs() < 1e-12);
        assert!(log(1) < -81.0);
    }

    #[test]
    fn pass_counts_are_bounded() {
        let word = |n: u32| Word { text: n.to_string(), ids: (0..n).collect() };
        let words = Rule::Words(vec![word(1), word(1), word(2), word(4)]);
        // One pass serves all single-token words; each other word takes one pass or more; the object's other tokens take two.
        assert_eq!(words.passes(false), [1 + 2 + 2, 1 + 6]);
        assert_eq!(words.passes(true), [3, 1 + 4]);
        assert_eq!(Rule::Words(vec![word(1)]).passes(true), [1, 1]);
        assert_eq!((Rule::Vocabulary.passes(false), Rule::Words(Vec::new()).passes(false)), ([1, 1], [0, 0]));
    }

    #[test]
    fn ties_prefer_earlier_words_and_unknown_objects_have_no_rank() {
        let word = |t: &str| Word { text: t.into(), ids: vec![1] };
        let words = [word("a"), word("b"), word("c")];
        assert_eq!(best(&words, &[-1.0, -0.5, -0.5], Some(2)), Some(Reply { id: 1, rank: Some(2) }));
        assert_eq!(best(&words, &[-1.0, -0.5, -0.5], None), Some(Reply { id: 1, rank: None }));
        assert_eq!(best(&[], &[], None), None);
    }

    /// Words that fall out of contention change neither the best word nor the object's rank.
    #[test]
    fn eliminated_words_are_not_scored_further() {
        for name in ["bert-tiny", "gpt2-tiny", "bart-tiny"] {
            let model = Model::load(&name.parse().unwrap(), Device::Cpu).unwrap();
            let (asker, tokenizer) = (Asker::new(&model).unwrap(), model.tokenizer().unwrap());
            let own = Words::new(tokenizer, &FunctionWords::own(), false).unwrap();
            let words: Vec<Word> =
                ["Paris", "Paris Rome", "Rome", "Berlin Madrid Oslo", "Oslo Rome", "the river of Madrid"]
                    .map(|t| Word { text: t.into(), ids: own.tokens(tokenizer, t).unwrap().unwrap() })
                    .into();
            let queries: Vec<Encoded> =
                ["France", "Italy"].iter().map(|x| asker.encode(PROMPT, x).unwrap().unwrap()).collect();
            let all: Vec<&Encoded> = queries.iter().collect();
            let mut full = vec![Vec::new(); queries.len()];
            let take = |k: usize, row: &[f64]| full[k] = row.to_vec();
            scores::<ModelError>(&asker, &all, &words, 4096, take, |_| Ok(())).unwrap();
            for object in words.iter().map(|w| w.text.as_str()).chain(["nowhere"]) {
                let asked: Vec<(&Encoded, &str)> = queries.iter().map(|q| (q, object)).collect();
                let found = replies::<ModelError>(&asker, &asked, (&words, &own.strings), 4096, |_| Ok(())).unwrap();
                let at = words.iter().position(|w| w.text == object);
                for (reply, full) in found.iter().zip(&full) {
                    assert_eq!(*reply, best(&words, full, at), "{name}: {object}");
                }
            }
        }
    }

    /// For single-token words, the result is the same as with the rule `relation`. A two-token word is scored token by token.
    #[test]
    fn single_token_words_are_ranked_by_logit() {
        for name in ["bert-tiny", "gpt2-tiny", "bart-tiny"] {
            let model = Model::load(&name.parse().unwrap(), Device::Cpu).unwrap();
            let (asker, tokenizer) = (Asker::new(&model).unwrap(), model.tokenizer().unwrap());
            let own = Words::new(tokenizer, &FunctionWords::own(), false).unwrap();
            let word = |text: &str| Word { text: text.into(), ids: own.tokens(tokenizer, text).unwrap().unwrap() };
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

    /// The score of a two-token word, computed by separate passes.
    fn two_tokens(asker: &Asker<'_>, own: &Words, query: &Encoded, name: &str) {
        let tokenizer = asker.model().tokenizer().unwrap();
        let ids = own.tokens(tokenizer, "Paris Rome").unwrap().unwrap();
        assert_eq!(ids.len(), 2, "{name}");
        let mut score = 0.0;
        for k in 0..2 {
            let row = asker.within(query, &ids, k);
            let causal = asker.model().arch().is_causal();
            assert_eq!(row.ids.len(), query.ids.len() + if causal { k } else { 1 }, "{name}");
            assert!(causal || row.ids[query.position + 1 - k] == ids[1 - k], "{name}: the other token is in place");
            let take = |_: usize, logits: &[f32]| score += f64::from(logits[ids[k] as usize]) - log_sum(logits);
            asker.logits::<ModelError>(&[&row], None, 4096, take, |_| Ok(())).unwrap();
        }
        // Against a single-token word, the higher score decides the answer.
        let other = Word { text: "Paris".into(), ids: vec![ids[0]] };
        let mut single = 0.0;
        let row = asker.within(query, &other.ids, 0);
        assert_eq!(row, *query, "{name}: only the mask is given");
        let take = |_: usize, logits: &[f32]| single = f64::from(logits[ids[0] as usize]) - log_sum(logits);
        asker.logits::<ModelError>(&[&row], None, 4096, take, |_| Ok(())).unwrap();
        let words = [Word { text: "Paris Rome".into(), ids }, other];
        let asked = [(query, "Paris Rome")];
        let found = replies::<ModelError>(asker, &asked, (&words, &own.strings), 4096, |_| Ok(())).unwrap()[0].unwrap();
        let first = score >= single;
        assert_eq!((found.id, found.rank), (u32::from(!first), Some(2 - u32::from(first))), "{name}");
    }
}
