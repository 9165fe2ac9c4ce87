//! Tests of prompts found automatically during a run.

use super::*;

/// One relation with a masked and a causal model.
fn plain() -> Spec {
    let mut spec = spec();
    spec.models = vec!["bert-tiny".into(), "gpt2-tiny".into()];
    spec.data.relations = ["capital"].into();
    (spec.data.instances, spec.data.prompts) = (None, None);
    spec
}

/// The same spec with a found prompt of three words.
fn tuned() -> Spec {
    let mut spec = plain();
    let tuned = &mut spec.tuned;
    (tuned.prompts, tuned.triggers, tuned.facts, tuned.rounds, tuned.candidates) = (1, 3, 10, 3, 5);
    spec
}

/// Facts used in the search are not queried. The found prompt is treated like a written one, and the random words at its start are scored
/// separately.
#[test]
fn found_prompt_is_scored_on_held_out_facts() {
    let (mut desk, mut whole) = (Desk::new(), Desk::new());
    let (mut experiment, result) = run(&tuned(), &mut desk);
    result.unwrap();
    run(&plain(), &mut whole).1.unwrap();
    let (found, without) = (desk.results(), whole.results());
    let [bert, gpt] = &found.tuned[..] else { panic!("{:?}", found.tuned) };
    assert_eq!((bert.model.as_str(), gpt.model.as_str()), ("bert-tiny", "gpt2-tiny"));
    let (v, relation) = (&bert.value, &found.relations[0].value);
    assert_eq!((v.name.as_str(), v.found_for.as_str(), v.subjects.len()), ("tuned 1", "bert-tiny", 10));
    assert_eq!(
        (relation.facts + 10, relation.prompts.len()),
        (without.relations[0].value.facts, without.relations[0].value.prompts.len() + 1)
    );
    assert_eq!(relation.prompts.last(), Some(&v.prompt));
    assert!(!relation.prompts.contains(&v.control));
    assert_eq!(found.found_name("capital", &v.prompt).as_deref(), Some("tuned 1"));
    assert_eq!(found.found_name("capital", &v.control).as_deref(), Some("random 1"));
    assert_eq!(found.found_name("capital", &relation.prompts[0]), None);
    for t in [bert, gpt] {
        let of = |prompt: &str| found.score("capital", prompt, &t.model).unwrap().value.p_at_1;
        assert_eq!((of(&t.value.prompt), of(&t.value.control)), (t.value.p_at_1, t.value.control_p_at_1));
        assert_eq!(of(&relation.prompts[0]), t.value.first_p_at_1);
        let all: Vec<f64> = relation.prompts.iter().map(|p| of(p).mean).collect();
        let gap = |of: &[f64]| of.iter().copied().fold(0.0, f64::max) - of.iter().copied().fold(1.0, f64::min);
        assert!((t.value.gap_all.unwrap() - gap(&all)).abs() < 1e-12);
        assert!((t.value.gap_written.unwrap() - gap(&all[..all.len() - 1])).abs() < 1e-12);
        let preference = found.preference("capital", &t.model).unwrap();
        assert!((preference.value.gap.mean - gap(&all)).abs() < 1e-9, "the spread includes the found prompt");
    }
    let prompt = v.prompt.clone();
    let look = LookQuestion { relation: "capital".into(), prompt, instance: 0, mention: 0 };
    let answer = experiment.answer(&Asked::Look(look), Share::All, &mut desk).unwrap();
    let Body::Lab(Kind::Instances(all)) = &answer[0].body else { panic!() };
    assert!(all.rows.iter().all(|row| !v.subjects.contains(&row.mentions[0])), "search facts are not queried");
    assert!(v.losses.windows(2).all(|w| w[1] < w[0]) && v.rounds <= 3);
    let printed = super::super::super::summary::summary(&found, &tuned()).join("\n");
    assert!(printed.contains("Prompts found automatically") && printed.contains(&v.prompt), "{printed}");
}
