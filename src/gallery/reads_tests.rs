//! Tests of encoder use, on the shipped models.

use super::*;
use corpus::facts;
use model::{Device, Model, ModelSource};

/// A model with its mixture and the relations on its card.
fn model(name: &str) -> (Model, Mixture, Vec<Relation>) {
    let card = super::super::card(name).unwrap();
    let model = Model::load(&ModelSource::Builtin(name.into()), Device::Cpu).unwrap();
    let known = |r: &Relation| card.facts.iter().any(|f| f.id == r.id);
    let relations = facts::relations().unwrap().into_iter().filter(known).collect();
    (model, card.corpus.mixture, relations)
}

fn measured(name: &str) -> Vec<Score> {
    let (model, mixture, relations) = model(name);
    scores(&Asked::loaded(&model).unwrap(), &mixture, &relations[..6]).unwrap()
}

fn share(scores: &[Score], id: &str) -> f64 {
    scores.iter().find(|s| s.id == id).unwrap().share.mean
}

#[test]
fn bart_tiny_follows_its_encoder() {
    let found = measured("bart-tiny");
    println!("{}", found.iter().map(Score::to_string).collect::<Vec<_>>().join("\n"));
    let [own, swapped, followed, drop] =
        ["encoder_own", "encoder_swapped", "encoder_followed", "encoder_drop"].map(|id| share(&found, id));
    assert!(own > 0.3 && swapped < own / 3.0 && followed > 0.7 * own, "{own} {swapped} {followed}");
    assert!((drop - (own - swapped)).abs() < 1e-12);
    assert!(found.iter().all(|s| s.n == found[0].n && s.share.lo <= s.share.mean && s.share.mean <= s.share.hi));
}

/// In training, the decoder sometimes reads a swapped line; if it always read the true one, its answers would not depend on the encoder.
#[test]
fn bart_mini_follows_its_encoder() {
    let found = measured("bart-mini");
    println!("{}", found.iter().map(Score::to_string).collect::<Vec<_>>().join("\n"));
    assert!(share(&found, "encoder_own") > 0.5 && share(&found, "encoder_drop") > 0.5);
    assert!(share(&found, "encoder_followed") > 0.5);
}

#[test]
fn swapped_subjects_share_the_relation_but_not_the_object() {
    let (model, mixture, relations) = model("bart-tiny");
    let asked = Asked::loaded(&model).unwrap();
    let (mut same_place, mut all) = (0, 0);
    for relation in &relations {
        let found = pairs(&asked, &mixture, relation).unwrap();
        assert!(found.len() > relation.facts.len() / 2, "{}", relation.id);
        let weights = mixture.prompt_weights(relation);
        let prompt = (0..weights.len()).max_by(|&a, &b| weights[a].total_cmp(&weights[b])).unwrap();
        for swap in found {
            assert_ne!(swap.object, swap.instead);
            for (question, object) in [(&swap.own, swap.object), (&swap.other, swap.instead)] {
                let says = relation.facts.iter().any(|f| {
                    Question::of_prompt(&relation.asked(prompt, &f.subject)) == *question
                        && asked.word(&f.object, false) == Some(object)
                        && !mixture.is_held(relation, f, prompt, &f.subject)
                });
                assert!(says, "{}: {question:?}", relation.id);
            }
            same_place += usize::from(asked.place(&swap.own).unwrap() == asked.place(&swap.other).unwrap());
            all += 1;
        }
    }
    assert!(10 * same_place > 9 * all, "{same_place} of {all}");
}

/// Giving both inputs the same text is the same as the usual question.
#[test]
fn swapping_a_text_with_itself_changes_nothing() {
    let (model, mixture, relations) = model("bart-tiny");
    let asked = Asked::loaded(&model).unwrap();
    let relation = &relations[0];
    let own: Vec<Question> = pairs(&asked, &mixture, relation).unwrap().into_iter().map(|s| s.own).collect();
    assert_eq!(asked.answers_across(&own, &own).unwrap(), asked.answers(&own).unwrap());
    let (bert, mixture, _) = self::model("bert-tiny");
    let asked = Asked::loaded(&bert).unwrap();
    assert!(asked.encoder_layers().is_none());
    assert!(scores(&asked, &mixture, std::slice::from_ref(relation)).is_err());
}
