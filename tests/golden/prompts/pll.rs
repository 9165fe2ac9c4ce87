//! Pseudo-log-likelihoods of single-token and multi-token words under built-in models of four kinds.

use std::path::Path;

use probity::lab::prompts::function_words::FunctionWords;
use probity::lab::prompts::query::{Asker, Encoded};
use probity::lab::prompts::rule::{Word, replies, scores};
use probity::lab::prompts::vocabulary::Words;
use probity::model::{Model, ModelError};

use crate::common::json;
use crate::harness::device;

crate::harness::tests! {
    Needs::Fixtures => [words_of_several_tokens_score_what_transformers_gives_them];
}

/// Tolerance in nats: both sides compute in single precision, and sums have up to six terms.
const TOLERANCE: f64 = 5e-4;

fn words_of_several_tokens_score_what_transformers_gives_them(dir: &Path) {
    let told = json(&dir.join("prompts_pll/pll.json"));
    let list = |key: &str| -> Vec<String> {
        told[key].as_array().unwrap().iter().map(|v| v.as_str().unwrap().to_owned()).collect()
    };
    let (subjects, texts) = (list("subjects"), list("words"));
    for (name, wanted) in told["models"].as_object().unwrap() {
        let model = Model::load(&name.parse().unwrap(), device()).unwrap();
        let tokenizer = model.tokenizer().unwrap();
        let own = Words::new(tokenizer, &FunctionWords::none(), false).unwrap();
        let word = |text: &String| Word { text: text.clone(), ids: own.tokens(tokenizer, text).unwrap().unwrap() };
        let words: Vec<Word> = texts.iter().map(word).collect();
        let tokens: Vec<u64> = wanted["tokens"].as_array().unwrap().iter().filter_map(|t| t.as_u64()).collect();
        assert_eq!(words.iter().map(|w| w.ids.len() as u64).collect::<Vec<_>>(), tokens, "{name}");

        let asker = Asker::new(&model).unwrap();
        let prompt = told["prompt"].as_str().unwrap();
        let queries: Vec<Encoded> = subjects.iter().map(|s| asker.encode(prompt, s).unwrap().unwrap()).collect();
        let asked: Vec<&Encoded> = queries.iter().collect();
        let mut ours: Vec<Vec<f64>> = vec![Vec::new(); queries.len()];
        let take = |k: usize, row: &[f64]| ours[k] = row.to_vec();
        scores::<ModelError>(&asker, &asked, &words, 4096, take, |_| Ok(())).unwrap();
        // The first word is the object of every query, so its rank is its position among the scores.
        let objects: Vec<(&Encoded, &str)> = queries.iter().map(|q| (q, texts[0].as_str())).collect();
        let said = replies::<ModelError>(&asker, &objects, (&words, &own.strings), 4096, |_| Ok(())).unwrap();
        for (k, subject) in subjects.iter().enumerate() {
            let theirs: Vec<f64> = wanted["scores"][k].as_array().unwrap().iter().filter_map(|x| x.as_f64()).collect();
            assert_eq!(theirs.len(), ours[k].len(), "{name}, {subject}");
            for ((text, a), b) in texts.iter().zip(&ours[k]).zip(&theirs) {
                assert!((a - b).abs() < TOLERANCE, "{name}, {subject}, {text}: {a} against {b}");
            }
            let best = (0..theirs.len()).reduce(|a, b| if theirs[b] > theirs[a] { b } else { a });
            let ahead = theirs.iter().filter(|x| **x > theirs[0]).count() as u32;
            let reply = said[k].unwrap();
            assert_eq!((Some(reply.id as usize), reply.rank), (best, Some(1 + ahead)), "{name}, {subject}");
        }
    }
}
