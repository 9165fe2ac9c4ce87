//! Tests of the prompt search against finite differences and exact losses on small built-in models.

use super::*;
use crate::function_words::FunctionWords;
use crate::library::Library;
use crate::vocabulary::Words;
use base::pulse::NoPulse;
use model::{Array, Device, Sites};

/// Runs a test with a search on ten facts of a relation and every fifth word as a possible trigger.
fn on(name: &str, test: impl Fn(&Search<'_>)) {
    let model = Model::load(&name.parse().unwrap(), Device::Cpu).unwrap();
    let words = Words::new(model.tokenizer().unwrap(), &FunctionWords::own(), false).unwrap();
    let mut relation = Library::built_in().unwrap().relations.into_iter().find(|r| r.id == "capital").unwrap();
    let held = hold_out(&mut relation, 10, 3);
    let object = |f: &Fact| words.object(model.tokenizer().unwrap(), &f.object).unwrap();
    let facts: Vec<(&str, u32)> = held.iter().filter_map(|f| Some((f.names[0].as_str(), object(f)?))).collect();
    let asker = Asker::new(&model).unwrap().fitting(true);
    let some: Vec<(&str, u32)> = words.running().into_iter().step_by(5).collect();
    test(&Search::new(&asker, &some, &relation, facts).unwrap().unwrap());
}

/// The loss with the first trigger moved by `step` times a direction, computed from embeddings instead of tokens.
fn moved(search: &Search<'_>, triggers: &[usize], direction: &[f64], step: f64) -> f64 {
    let queries = search.queries(triggers).unwrap().unwrap();
    let (model, width) = (search.asker.model(), search.width());
    let each = queries.iter().zip(&search.facts).map(|((query, first), (_, object))| {
        let mut vectors = embeddings(model, &query.ids).unwrap();
        let place = first * width..(first + 1) * width;
        vectors[place].iter_mut().zip(direction).for_each(|(v, d)| *v += (step * d) as f32);
        let batch = Batch::new(&[&query.ids], 0).unwrap();
        let mut rows = Array::zeros([1, query.ids.len(), width]);
        rows.data.copy_from_slice(&vectors);
        let plan = Plan::default().from_embeddings(rows).logits_at(Sites::per_row(&[query.position]));
        let trace = model.forward(&batch, &plan).unwrap();
        let row = trace.logits().unwrap().row(0).to_vec();
        log_sum(&row) - f64::from(row[*object as usize])
    });
    each.sum::<f64>() / queries.len() as f64
}

/// The embedding of another word minus the embedding of a trigger.
fn apart(search: &Search<'_>, other: usize, trigger: usize) -> Vec<f64> {
    let vector = |w: usize| &search.embeddings[w * search.width()..(w + 1) * search.width()];
    vector(other).iter().zip(vector(trigger)).map(|(a, b)| f64::from(a - b)).collect()
}

/// Words that replace a trigger in the tests.
const OTHERS: [usize; 6] = [3, 40, 77, 101, 150, 190];

/// The tolerance is the gap between the central differences at steps `h` and `2h`, plus rounding. That gap is three quarters of the
/// truncation error at `2h`, so the error at `h` is a third of it. The rounding error of two losses, each a sum of logits of order 10 in 32
/// bits, is at most 16 units in the last place, divided by `2h`.
#[test]
fn gradient_matches_finite_differences() {
    for name in ["bert-tiny", "gpt2-tiny", "bart-tiny"] {
        on(name, |search| {
            let triggers = [10, 20, 30];
            let gradient = search.gradient(&triggers).unwrap();
            let change = search.first_order(&gradient[..search.width()], triggers[0]);
            for other in OTHERS {
                let direction = apart(search, other, triggers[0]);
                let slope = |h: f64| {
                    let loss = |step: f64| moved(search, &triggers, &direction, step);
                    (loss(h) - loss(-h)) / (2.0 * h)
                };
                let h = 1.0 / 64.0;
                let (near, far) = (slope(h), slope(2.0 * h));
                let tolerance = (near - far).abs() + 16.0 * 10.0 * f64::from(f32::EPSILON) / (2.0 * h);
                assert!((near - change[other]).abs() < tolerance, "{name} {other}: {near} {far} {}", change[other]);
            }
        });
    }
}

/// The expected losses of two three-word prompts on four facts were computed with transformers from the weights in f64. Each query is run
/// by itself. The loss uses the object's log-probability at the mask, or after the last word for a causal model.
#[test]
fn prompt_loss_matches_transformers() {
    let facts = [("France", "Paris"), ("Norway", "Oslo"), ("Japan", "Tokyo"), ("Spain", "Madrid")];
    let prompts = [["in", "the", "old"], ["the", "city", "near"]];
    for (name, want) in [
        ("bert-tiny", [6.565510462755333, 5.8851222168655015]),
        ("roberta-tiny", [12.612520220833517, 8.86982773918372]),
        ("gpt2-tiny", [9.706049626941601, 14.537460526495824]),
        ("bart-tiny", [10.288760659818108, 10.24601922697081]),
    ] {
        let model = Model::load(&name.parse().unwrap(), Device::Cpu).unwrap();
        let words = Words::new(model.tokenizer().unwrap(), &FunctionWords::none(), false).unwrap();
        let object = |object: &str| words.object(model.tokenizer().unwrap(), object).unwrap().unwrap();
        let asker = Asker::new(&model).unwrap().fitting(true);
        let relation = Relation::default();
        let all: Vec<(&str, u32)> = words.running().into_iter().collect();
        let asked = facts.map(|(subject, o)| (subject, object(o))).to_vec();
        let search = Search::new(&asker, &all, &relation, asked).unwrap().unwrap();
        let place = |word: &str| search.words.iter().position(|(w, _)| *w == word).unwrap();
        let triggers = prompts.map(|prompt| prompt.map(place).to_vec());
        let found = search.losses(&triggers, &mut NoPulse).unwrap();
        assert!(found.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-4), "{name}: {found:?}");
    }
}

/// By Taylor's theorem, halving the step quarters the error of the first-order change. With a wrong gradient, it would only halve the
/// error, so the exponent must be nearer to 2 than to 1. A whole step leads to the embedding of the other word.
#[test]
fn first_order_error_is_quadratic() {
    for name in ["bert-tiny", "gpt2-tiny"] {
        on(name, |search| {
            let triggers = vec![10, 20, 30];
            let gradient = search.gradient(&triggers).unwrap();
            let change = search.first_order(&gradient[..search.width()], triggers[0]);
            let now = moved(search, &triggers, &vec![0.0; search.width()], 0.0);
            let error = |step: f64| {
                let of = |other: usize| {
                    let loss = moved(search, &triggers, &apart(search, other, triggers[0]), step);
                    (loss - now - step * change[other]).powi(2)
                };
                OTHERS.into_iter().map(of).sum::<f64>().sqrt()
            };
            let errors = [1.0 / 8.0, 1.0 / 16.0, 1.0 / 32.0].map(error);
            for pair in errors.windows(2) {
                assert!((1.5..2.5).contains(&(pair[0] / pair[1]).log2()), "{name}: {errors:?}");
            }
            for other in OTHERS {
                let mut replaced = triggers.clone();
                replaced[0] = other;
                let exact = search.losses(&[replaced], &mut NoPulse).unwrap()[0];
                let whole = moved(search, &triggers, &apart(search, other, triggers[0]), 1.0);
                assert!((exact - whole).abs() < 1e-4, "{name} {other}: {exact} {whole}");
            }
        });
    }
}

#[test]
fn loss_only_falls_and_search_is_reproducible() {
    for name in ["bert-tiny", "gpt2-tiny"] {
        on(name, |search| {
            let spec = TunedSpec { prompts: 1, triggers: 3, rounds: 9, candidates: 10, ..TunedSpec::default() };
            let run = |purpose: &str| search.run(&spec, (5, purpose), &mut NoPulse).unwrap().unwrap();
            let found = run("a");
            assert!(found.losses.len() > 1 && found.losses.windows(2).all(|w| w[1] < w[0]), "{name}: {found:?}");
            assert!(found.rounds <= 9 && found.prompt != found.control);
            let read = |text: &str| {
                let words = text.split(' ').filter(|w| w.chars().all(char::is_alphanumeric));
                words.map(|w| search.words.iter().position(|(word, _)| *word == w).unwrap()).collect::<Vec<usize>>()
            };
            // Parsed from their text, the control and the found prompt have the first and the last loss of the search.
            let ends = search.losses(&[read(&found.control), read(&found.prompt)], &mut NoPulse).unwrap();
            assert!(
                (ends[0] - found.losses[0]).abs() < 1e-6
                    && (ends[1] - found.losses[found.losses.len() - 1]).abs() < 1e-4
            );
            assert_eq!(found, run("a"));
            assert_ne!(found.control, run("b").control);
        });
    }
}

#[test]
fn triggers_exclude_answers_and_names() {
    on("bert-tiny", |search| {
        assert!(search.words.len() > 100);
        let relation = Library::built_in().unwrap().relations.into_iter().find(|r| r.id == "capital").unwrap();
        let all: Vec<String> =
            relation.facts.iter().flat_map(|f| [f.names[0].to_lowercase(), f.object.to_lowercase()]).collect();
        assert!(search.words.iter().all(|(w, _)| !all.contains(&w.to_lowercase())));
    });
}

#[test]
fn search_facts_are_at_most_half_with_separate_subjects() {
    let fact = |k: usize| Fact { names: vec![format!("s{}", k / 2)], object: format!("o{k}") };
    let relation = || Relation { id: "r".into(), facts: (0..20).map(fact).collect(), ..Relation::default() };
    for (most, want) in [(3, 2), (6, 6), (20, 10)] {
        let mut asked = relation();
        let held = hold_out(&mut asked, most, 1);
        assert_eq!((held.len(), asked.facts.len()), (want, 20 - want));
        assert!(held.iter().all(|f| asked.facts.iter().all(|a| a.names[0] != f.names[0])));
        let mut again = relation();
        assert_eq!(hold_out(&mut again, most, 1), held);
        assert_ne!(hold_out(&mut relation(), most, 2), held);
    }
}
