//! Tests of the decision: what the intervals support, and no more.

use super::*;
use crate::sample;
use crate::verdict::LeakFinding;
use stats::Estimate;

fn said(results: &Results, spec: &Spec) -> String {
    crate::answer::answer(results, spec).says.join(" ")
}

/// Results of one method, with these intervals of C and S.
fn scored(method: &str, c: [f64; 2], s: [f64; 2]) -> (Results, Spec) {
    let mut results = sample::results();
    results.optima.retain(|o| o.value.method == method);
    let band = |[lo, hi]: [f64; 2]| Banded::from(Estimate { mean: f64::midpoint(lo, hi), lo, hi });
    let v = &mut results.optima[0].value;
    (v.completeness, v.selectivity) = (band(c), band(s));
    let mut spec = Spec::shipped();
    spec.methods.retain(|m| m.name == method);
    (results, spec)
}

fn leak(results: &mut Results, [lo, hi]: [f64; 2]) {
    let read = serde_json::json!({"before": {"mean": 1.0, "lo": 1.0, "hi": 1.0}, "after": {"mean": 0.9, "lo": 0.9, "hi": 0.9},
        "share": {"mean": f64::midpoint(lo, hi), "lo": lo, "hi": hi}});
    let best = &results.optima[0];
    let value = serde_json::json!({"method": best.value.method, "layer": 4, "oracle_layer": 4, "parameter": "rank",
        "value": best.value.value, "chance": 0.5, "linear": read, "mlp": read});
    let value: LeakFinding = serde_json::from_value(value).unwrap();
    let Tagged { spec, model, seed, n, is_final, t, level, .. } = best.clone();
    results.leaks = vec![Tagged { spec, model, seed, n, is_final, t, level, value }];
}

/// Regression: the answer used to name a best method and no yes or no.
#[test]
fn the_first_sentence_is_yes_no_or_undecided_as_the_intervals_are() {
    for (c, s, begins) in [
        ([0.92, 0.96], [0.91, 0.95], "Yes: PGD sets another value and keeps the attractor number: R"),
        ([0.92, 0.96], [0.8, 0.95], "Yes, mostly: PGD mostly sets another value and keeps the attractor number"),
        ([0.7, 0.8], [0.8, 0.95], "Undecided: the intervals of PGD contain the limit"),
        ([0.92, 0.96], [0.5, 0.7], "No: PGD does not both set another value and keep the attractor number"),
    ] {
        let (results, spec) = scored("pgd", c, s);
        let text = said(&results, &spec);
        assert!(text.starts_with(begins), "{text}");
        let bar = if begins.starts_with("Yes:") { ".90" } else { ".75" };
        let required = format!("Required (MLP oracle): C and S of at least {bar}.");
        assert!(text.contains(&required), "{text}");
    }
}

#[test]
fn no_method_needs_all_of_them_to_fail_and_final_scores() {
    let mut results = sample::results();
    results.optima.retain(|o| ["pgd", "fgsm"].contains(&o.value.method.as_str()));
    let mut spec = Spec::shipped();
    spec.methods.retain(|m| ["pgd", "fgsm"].contains(&m.name.as_str()));
    let low = Estimate { mean: 0.5, lo: 0.4, hi: 0.6 };
    let high = Estimate { mean: 0.9, lo: 0.85, hi: 0.95 };
    results.optima.iter_mut().for_each(|o| (o.value.completeness, o.value.selectivity) = (high.into(), low.into()));
    assert!(
        said(&results, &spec)
            .starts_with("No: none of 2 methods both sets a value and keeps the attractor number; best: "),
        "{}",
        said(&results, &spec)
    );
    results.optima[0].value.selectivity = Estimate { hi: 0.8, ..low }.into();
    assert!(said(&results, &spec).starts_with("Undecided: "), "{}", said(&results, &spec));
    results.optima[0].value.selectivity = low.into();
    results.optima[0].is_final = false;
    assert!(said(&results, &spec).starts_with("Undecided: not all methods"), "{}", said(&results, &spec));
}

/// A selectivity that a constant answer also reaches keeps nothing.
#[test]
fn a_constant_answer_raises_the_bar_of_selectivity() {
    let (mut results, spec) = scored("pgd", [0.92, 0.96], [0.78, 0.82]);
    let text = said(&results, &spec);
    assert!(text.starts_with("Yes, mostly") && !text.contains("constant answer"), "{text}");
    results.curves.iter_mut().flat_map(|c| &mut c.points).for_each(|p| p.value.beside.s_floor = Some(0.85));
    let text = said(&results, &spec);
    assert!(text.starts_with("No: ") && text.contains("C of at least .75, S above .85."), "{text}");
}

#[test]
fn removal_is_decided_by_what_new_probes_still_read() {
    let (mut results, spec) = scored("inlp", [0.92, 0.96], [0.91, 0.95]);
    assert!(said(&results, &spec).starts_with("Undecided: new probes have not shown that INLP removes it"));
    leak(&mut results, [0.97, 0.99]);
    assert!(said(&results, &spec).starts_with("No: INLP only hides it from the oracle"), "{}", said(&results, &spec));
    leak(&mut results, [0.01, 0.2]);
    assert!(said(&results, &spec).starts_with("Yes, mostly: INLP mostly removes it and keeps the attractor number: R"));
    leak(&mut results, [0.01, 0.05]);
    assert!(said(&results, &spec).starts_with("Yes: INLP removes it"), "{}", said(&results, &spec));
}

#[test]
fn what_other_probes_or_a_control_reach_is_not_decided() {
    let (mut results, spec) = scored("pgd", [0.92, 0.96], [0.91, 0.95]);
    let best = results.optima[0].clone();
    let v = &best.value;
    let rival = |c: f64| {
        let value = serde_json::json!({"method": v.method, "options": v.options, "layer": v.layer, "oracle": v.oracle,
            "oracle_layer": v.oracle_layer, "parameter": v.parameter, "value": v.value, "rival": 1, "recipes": [],
            "completeness": c, "selectivity": 0.9, "reliability": 0.9});
        let Tagged { spec, model, seed, n, is_final, t, level, .. } = best.clone();
        Tagged {
            spec,
            model,
            seed,
            n,
            is_final,
            t,
            level,
            value: serde_json::from_value::<RivalFinding>(value).unwrap(),
        }
    };
    results.rivals = vec![rival(0.2)];
    assert!(said(&results, &spec).starts_with("Undecided: PGD passes here but not"), "{}", said(&results, &spec));
    let (mut low, spec) = scored("pgd", [0.92, 0.96], [0.5, 0.7]);
    low.rivals = vec![rival(0.95)];
    assert!(said(&low, &spec).starts_with("Undecided: PGD fails here but not"), "{}", said(&low, &spec));
    results.rivals.clear();
    let mut control = best.clone();
    control.value.method = "identity".into();
    control.value.reliability.mean = 1.0;
    results.optima.push(control);
    assert!(said(&results, &spec).starts_with("Undecided: PGD is not shown to beat the control"));
}

#[test]
fn several_models_and_both_goals_are_decided_in_one_sentence_each() {
    let mut results = sample::results();
    let mut spec = Spec::shipped();
    let both = said(&results, &spec);
    assert_eq!(both.matches("Removing it: ").count(), 1, "{both}");
    let other: Vec<_> = results.optima.iter().map(|o| Tagged { model: "far/b".into(), ..o.clone() }).collect();
    results.optima.extend(other);
    spec.models = vec!["bert-mini".into(), "far/b".into()];
    let text = said(&results, &spec);
    assert!(
        text.contains(" on bert-mini") && text.contains(" on b") && text.contains("at setting another subject number"),
        "{text}"
    );
}

/// Regression: the first sentence used to say that no method has a best strength, and the second named the best strength of one.
#[test]
fn a_goal_without_a_best_strength_is_named() {
    let mut results = sample::results();
    let at = results.optima.iter().position(|o| o.value.method == "pgd").unwrap();
    results.without = vec![sample::no_optimum(results.optima[at].clone(), "too few examples")];
    results.optima.retain(|o| o.value.method == "inlp");
    let text = said(&results, &Spec::shipped());
    assert!(text.starts_with("Undecided: no method that sets a value has a best strength"), "{text}");
    assert!(text.contains("Removing it: "), "{text}");
}

#[test]
fn two_training_runs_decide_nothing() {
    let (mut results, spec) = scored("pgd", [0.92, 0.96], [0.91, 0.95]);
    results.optima[0].value.how.replicates = 2;
    assert!(
        said(&results, &spec).starts_with("Undecided: 2 training runs give no interval"),
        "{}",
        said(&results, &spec)
    );
}
