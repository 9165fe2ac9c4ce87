//! Answers of four tiny models to prompts under every rule: ids, logits, predictions, ranks and scores.

use probity::lab::prompts::candidates::{Reply, Strings, from_list, from_vocabulary, top};
use probity::lab::prompts::function_words::FunctionWords;
use probity::lab::prompts::query::{Asker, Encoded};
use probity::lab::prompts::rule::{Word, replies};
use probity::lab::prompts::vocabulary::{Words, common};
use probity::model::{Model, ModelError, ModelSource};
use serde_json::Value;

use std::path::Path;

use crate::common::{Report, Tensors, json};
use crate::harness::device;

crate::harness::tests! {
    Needs::Reference("prompts") => [
        queries_are_answered_as_transformers_answers_them,
        stop_words_are_passed_over_as_in_the_published_code,
    ];
}

const MODELS: [&str; 4] = ["bert", "roberta", "gpt2", "bart"];

fn list(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().map(|v| v.as_str().unwrap().to_owned()).collect()
}

struct Query {
    relation: usize,
    prompt: usize,
    instance: usize,
    mention: usize,
}

struct Case {
    relations: Value,
    queries: Value,
    tensors: Tensors,
    index: Vec<Query>,
    stop: FunctionWords,
}

impl Case {
    fn text(&self, q: &Query) -> (String, String) {
        let relation = &self.relations["relations"][q.relation];
        let text = |v: &Value| v.as_str().unwrap().to_owned();
        (text(&relation["prompts"][q.prompt]), text(&relation["instances"][q.instance]["mentions"][q.mention]))
    }

    fn object(&self, q: &Query) -> String {
        self.relations["relations"][q.relation]["instances"][q.instance]["object"].as_str().unwrap().to_owned()
    }
}

fn queries_are_answered_as_transformers_answers_them(dir: &Path) {
    let models = dir.with_file_name("models");
    let queries = json(&dir.join("queries.json"));
    let index = queries["index"].as_array().unwrap().iter().map(|q| {
        let at = |k: usize| q[k].as_u64().unwrap() as usize;
        Query { relation: at(0), prompt: at(1), instance: at(2), mention: at(3) }
    });
    let index = index.collect();
    let tensors = Tensors::load(&dir.join("queries.safetensors"));
    let stop = FunctionWords::read(&dir.join("stopwords.txt")).unwrap();
    let case = Case { relations: json(&dir.join("relations.json")), queries, tensors, index, stop: stop.clone() };
    let loaded: Vec<Model> =
        MODELS.iter().map(|m| Model::load(&ModelSource::Dir(models.join(m)), device()).unwrap()).collect();
    let words_without = |words: &FunctionWords| -> Vec<Words> {
        loaded.iter().map(|m| Words::new(m.tokenizer().unwrap(), words, false).unwrap()).collect()
    };
    let (with, plain) = (words_without(&FunctionWords::none()), words_without(&stop));
    let mut report = Report::new("prompts");
    let all = common(&with.iter().collect::<Vec<_>>(), &FunctionWords::none());
    let content = common(&plain.iter().collect::<Vec<_>>(), &stop);
    let text = std::fs::read_to_string(dir.join("intersection.txt")).unwrap();
    let wanted: Vec<String> = text.lines().map(str::to_owned).collect();
    report.equal("intersection", &all.words, &wanted);
    let wanted: Vec<String> = wanted.into_iter().filter(|w| !stop.contains(w)).collect();
    report.equal("intersection without stop words", &content.words, &wanted);
    for (k, name) in MODELS.iter().enumerate() {
        let ids: Vec<usize> = all.ids[k].iter().map(|id| *id as usize).collect();
        report.equal(
            &format!("{name} intersection ids"),
            &ids,
            &case.tensors.get(&format!("{name}.intersection_ids")).indices(),
        );
        let lists = Lists { all: &all.ids[k], content: &content.ids[k] };
        model(&case, name, &loaded[k], &plain[k], &lists, &mut report);
    }
    report.finish();
}

struct Lists<'a> {
    all: &'a [u32],
    content: &'a [u32],
}

fn model(case: &Case, name: &str, model: &Model, words: &Words, lists: &Lists<'_>, report: &mut Report) {
    let of = |key: &str| case.tensors.get(&format!("{name}.{key}"));
    let truth = &case.queries["models"][name];
    let asker = Asker::new(model).unwrap();
    let texts: Vec<String> = case
        .index
        .iter()
        .map(|q| {
            let (prompt, mention) = case.text(q);
            asker.text(&prompt, &mention)
        })
        .collect();
    report.equal(&format!("{name} texts"), &texts, &list(&truth["texts"]));
    let encoded: Vec<Encoded> = case
        .index
        .iter()
        .map(|q| {
            let (prompt, mention) = case.text(q);
            asker.encode(&prompt, &mention).unwrap().unwrap()
        })
        .collect();
    let (ids, lengths) = (of("input_ids"), of("length").indices());
    let width = ids.shape[1];
    let wanted: Vec<Vec<u32>> = lengths
        .iter()
        .enumerate()
        .map(|(q, n)| ids.data[q * width..q * width + n].iter().map(|v| *v as u32).collect())
        .collect();
    report.equal(&format!("{name} ids"), &encoded.iter().map(|e| e.ids.clone()).collect(), &wanted);
    let positions: Vec<usize> = encoded.iter().map(|e| e.position).collect();
    report.equal(&format!("{name} positions"), &positions, &of("position").indices());

    let queries: Vec<&Encoded> = encoded.iter().collect();
    let mut logits = vec![Vec::new(); queries.len()];
    asker.logits::<ModelError>(&queries, None, 4096, |k, row| logits[k] = row.to_vec(), |_| Ok(())).unwrap();
    let close: Vec<usize> =
        truth["close_calls"].as_array().unwrap().iter().map(|v| v.as_u64().unwrap() as usize).collect();
    let best: Vec<Vec<u32>> = logits.iter().map(|row| top(row, 10)).collect();
    let wanted = of("top10_ids").indices();
    let same = |q: usize| best[q].iter().zip(&wanted[q * 10..]).all(|(a, b)| *a as usize == *b);
    let other: Vec<usize> = (0..queries.len()).filter(|q| !close.contains(q) && !same(*q)).collect();
    report.equal(&format!("{name} top ten"), &other, &vec![]);
    let found: Vec<f32> = of("top10_ids").indices().iter().enumerate().map(|(k, id)| logits[k / 10][*id]).collect();
    report.close(&format!("{name} top logits"), &found, &of("top10_logits").data, 1e-4);
    let found: Vec<f32> = logits.iter().flat_map(|row| lists.all.iter().map(|id| row[*id as usize])).collect();
    report.close(&format!("{name} intersection logits"), &found, &of("intersection_logits").data, 1e-4);

    for rule in ["vocabulary", "intersection", "intersection_without_stop_words", "relation"] {
        let replies: Vec<Reply> =
            (0..queries.len()).map(|q| reply(case, rule, q, &logits[q], (model, words), lists)).collect();
        judge(case, name, rule, (&replies, words, &close), report);
    }
    // For single-token answers, pseudo-log-likelihood gives the same result as the relation's own rule.
    let mut said = vec![None; queries.len()];
    for relation in 0..=case.index.iter().map(|q| q.relation).max().unwrap() {
        by_pll(case, relation, (&queries, &mut said), &asker, words);
    }
    let replies: Vec<Reply> = said.into_iter().map(Option::unwrap).collect();
    judge(case, name, "relation", (&replies, words, &close), report);
}

fn by_pll(
    case: &Case,
    relation: usize,
    (queries, said): (&[&Encoded], &mut [Option<Reply>]),
    asker: &Asker<'_>,
    words: &Words,
) {
    let tokenizer = asker.model().tokenizer().unwrap();
    let word = |text: String| Word { ids: words.tokens(tokenizer, &text).unwrap().unwrap(), text };
    let answers = list(&case.relations["relations"][relation]["answers"]);
    let answers: Vec<Word> = answers.into_iter().map(word).collect();
    let mine: Vec<usize> = (0..queries.len()).filter(|q| case.index[*q].relation == relation).collect();
    let objects: Vec<String> = mine.iter().map(|q| case.object(&case.index[*q])).collect();
    let asked: Vec<(&Encoded, &str)> =
        mine.iter().zip(&objects).map(|(q, object)| (queries[*q], object.as_str())).collect();
    let all = replies::<ModelError>(asker, &asked, (&answers, &words.strings), 4096, |_| Ok(())).unwrap();
    for (q, reply) in mine.into_iter().zip(all) {
        said[q] = reply.map(|r| Reply { id: answers[r.id as usize].ids[0], ..r });
    }
}

fn reply(
    case: &Case,
    rule: &str,
    q: usize,
    logits: &[f32],
    (model, words): (&Model, &Words),
    lists: &Lists<'_>,
) -> Reply {
    let object = case.object(&case.index[q]);
    let chosen = |ids: &[u32]| {
        let some: Vec<f32> = ids.iter().map(|id| logits[*id as usize]).collect();
        from_list(&words.strings, ids, &some, &object).unwrap()
    };
    match rule {
        // The published code accepts special tokens as answers, but this program does not.
        "vocabulary" => {
            let tokenizer = model.tokenizer().unwrap();
            let text = |id: u32| tokenizer.decode(&[id], false).unwrap().trim().to_owned();
            let every = (0..tokenizer.len() as u32).map(text).collect();
            from_vocabulary(&Strings::new(every, &case.stop, false), logits, &object)
        }
        "intersection" => chosen(lists.all),
        "intersection_without_stop_words" => chosen(lists.content),
        _ => {
            let answers = list(&case.relations["relations"][case.index[q].relation]["answers"]);
            let tokenizer = model.tokenizer().unwrap();
            let ids: Vec<u32> = answers.iter().map(|a| words.object(tokenizer, a).unwrap().unwrap()).collect();
            chosen(&ids)
        }
    }
}

fn judge(
    case: &Case,
    name: &str,
    rule: &str,
    (replies, words, close): (&[Reply], &Words, &[usize]),
    report: &mut Report,
) {
    let truth = &case.queries["models"][name];
    let said: Vec<String> = replies.iter().map(|r| words.strings.text(r.id).to_owned()).collect();
    let wanted = list(&truth["predicted"][rule]);
    let other: Vec<usize> = (0..said.len()).filter(|q| !close.contains(q) && said[*q] != wanted[*q]).collect();
    report.equal(&format!("{name} {rule} predictions"), &other, &vec![]);
    let ranks = case.tensors.get(&format!("{name}.rank.{rule}"));
    let rank = |q: usize| replies[q].rank.map_or(-1.0, f64::from);
    let other: Vec<usize> = (0..said.len()).filter(|q| !close.contains(q) && rank(*q) != ranks.data[*q]).collect();
    report.equal(&format!("{name} {rule} ranks"), &other, &vec![]);
    // Compares scores for the original mentions, unless a near-tie affects them. They are stored in the order of relations and prompts;
    // each relation begins with prompt 0.
    let (mut at, mut next) = (0, 0);
    for score in truth["scores"].as_array().unwrap() {
        let prompt = score["prompt_index"].as_u64().unwrap() as usize;
        let n = score["instances"].as_u64().unwrap() as usize;
        next += usize::from(prompt == 0);
        let relation = next - 1;
        let mine: Vec<usize> = (0..case.index.len())
            .filter(|q| {
                let i = &case.index[*q];
                i.relation == relation && i.prompt == prompt && i.mention == 0
            })
            .collect();
        assert_eq!(mine.len(), n);
        if mine.iter().any(|q| close.contains(q)) {
            continue;
        }
        at += 1;
        let share = |hit: &dyn Fn(usize) -> f64| mine.iter().map(|q| hit(*q)).sum::<f64>() / n as f64;
        let p1 = share(&|q| f64::from(u8::from(words.strings.same(&said[q], &case.object(&case.index[q])))));
        let p5 = share(&|q| f64::from(u8::from(replies[q].rank.is_some_and(|r| r <= 5))));
        let mrr = share(&|q| replies[q].rank.map_or(0.0, |r| 1.0 / f64::from(r)));
        let of = |key: &str| score[rule][key].as_f64().unwrap();
        let (found, want) = ([100.0 * p1, 100.0 * p5, mrr], [of("p_at_1"), of("p_at_5"), of("mrr")]);
        report.close64(&format!("{name} {rule} scores {relation} {prompt}"), &found, &want, 1e-9);
    }
    assert!(at > 0, "{name} {rule}: near-ties affect every score");
}

fn stop_words_are_passed_over_as_in_the_published_code(dir: &Path) {
    let stop = FunctionWords::read(&dir.join("stopwords.txt")).unwrap();
    let queries = json(&dir.join("queries.json"));
    let cases = queries["stop_word_cases"].as_array().unwrap();
    assert!(!cases.is_empty());
    for case in cases {
        let strings = Strings::new(list(&case["strings"]), &stop, false);
        let n = list(&case["strings"]).len();
        let logits: Vec<f32> = (0..n).map(|k| -(k as f32)).collect();
        let reply = from_vocabulary(&strings, &logits, "none");
        assert_eq!(strings.text(reply.id), case["predicted"].as_str().unwrap(), "{}", case["name"]);
    }
}
