//! Tests of the doubts and their order.

use super::*;
use crate::answer::ranked;
use crate::key::MethodKey;
use crate::sample;
use stats::Estimate;

fn tagged<T>(like: &Tagged<OptimumFinding>, value: T) -> Tagged<T> {
    let Tagged { spec, model, .. } = like.clone();
    Tagged { spec, model, seed: 0, n: 2400, is_final: true, t: 1.0, level: None, value }
}

fn best(results: &Results) -> Tagged<OptimumFinding> {
    ranked(results, &Spec::shipped().models[0], OracleKind::Mlp)[0].clone()
}

fn of(results: &Results) -> Vec<String> {
    doubts(results, &Spec::shipped(), OracleKind::Mlp)
}

fn place(all: &[String], part: &str) -> Option<usize> {
    all.iter().position(|text| text.contains(part))
}

fn versus(results: &Results, other: &str, p: f64, turns: &[&str]) -> Tagged<VersusFinding> {
    let best = best(results);
    let value = VersusFinding {
        a: best.value.method_key(),
        b: MethodKey::named(other),
        oracle: OracleKind::Mlp,
        p_greater: 0.9,
        difference: Some(Estimate { mean: 0.1, lo: 0.05, hi: 0.15 }),
        p: Some(p),
        holm_p: Some(p),
        detectable: None,
        turns_with: turns.iter().map(|text| (*text).to_owned()).collect(),
    };
    tagged(&best, value)
}

#[test]
fn an_oracle_is_doubted_for_what_it_does_not_read_and_for_its_calibration() {
    let mut results = sample::results();
    let first = best(&results);
    let mut probe = sample::probes()[0].clone();
    (probe.model, probe.value.majority) = (first.model.clone(), 0.7);
    results.probes.push(probe);
    let set = |results: &mut Results, accuracy: Estimate, error: f64| {
        let probe = results.probes.last_mut().expect("a probe");
        (probe.value.accuracy, probe.value.calibration_error) = (accuracy, error);
    };
    set(&mut results, Estimate { mean: 0.99, lo: 0.98, hi: 1.0 }, 0.01);
    assert_eq!(place(&of(&results), "MLP oracle"), None, "{:?}", of(&results));
    set(&mut results, Estimate { mean: 0.99, lo: 0.98, hi: 1.0 }, 0.2);
    assert!(
        place(&of(&results), "(expected calibration error .20): do not trust small differences").is_some(),
        "{:?}",
        of(&results)
    );
    // Regression: the doubt about the oracle, which affects every score, used to come third, but screens show only the first two.
    assert!(place(&of(&results), "is poorly calibrated").is_some_and(|at| at < 2), "{:?}", of(&results));
    // Regression: the doubt used to recommend an oracle that was worse.
    let mut worse = results.clone();
    let mut beside = results.probes.last().expect("a probe").clone();
    (beside.value.oracle, beside.value.calibration_error) = (Some(OracleKind::Linear), 0.3);
    worse.probes.retain(|p| p.value.oracle != Some(OracleKind::Linear));
    worse.probes.push(beside);
    assert!(place(&of(&worse), "the linear oracle is too (.30)").is_some(), "{:?}", of(&worse));
    set(&mut results, Estimate { mean: 0.8, lo: 0.75, hi: 0.85 }, 0.01);
    let weak = "is right on 80.0 % [75.0, 85.0] of sentences (majority 70.0 %)";
    assert!(place(&of(&results), weak).is_some(), "{:?}", of(&results));
    set(&mut results, Estimate { mean: 0.72, lo: 0.69, hi: 0.75 }, 0.01);
    assert_eq!(place(&of(&results), "nothing shows that it reads"), Some(0), "{:?}", of(&results));
}

/// Regression: the doubt that 99 % of the property can still be read used to be the last one.
#[test]
fn a_property_that_is_still_there_comes_before_what_only_makes_scores_less_certain() {
    let mut results = sample::results();
    let inlp = results.optima.iter().find(|o| o.value.method == "inlp").expect("INLP").clone();
    let mut probe = sample::probes()[0].clone();
    (probe.model, probe.value.majority, probe.value.calibration_error) = (inlp.model.clone(), 0.9, 0.3);
    results.probes.push(probe);
    let leak = |value: f64, share: f64| {
        let read = serde_json::json!({"before": {"mean": 1.0, "lo": 1.0, "hi": 1.0}, "after": {"mean": 0.9, "lo": 0.9, "hi": 0.9},
            "share": {"mean": share, "lo": share, "hi": share}});
        let value = serde_json::json!({"method": "inlp", "layer": 4, "oracle_layer": 4, "parameter": "rank", "value": value,
            "chance": 0.5, "linear": read, "mlp": read});
        tagged::<LeakFinding>(&inlp, serde_json::from_value(value).unwrap())
    };
    let best = inlp.value.value;
    results.leaks = vec![leak(best + 25.0, 0.2), leak(best, 0.99)];
    assert_eq!(place(&of(&results), "after INLP, new probes still read 99 %"), Some(0), "{:?}", of(&results));
    results.leaks = vec![leak(best, 0.15)];
    let (left, calibration) = (place(&of(&results), "still read 15 %"), place(&of(&results), "poorly calibrated"));
    assert!(left > calibration && calibration.is_some(), "{:?}", of(&results));
}

#[test]
fn a_method_that_does_not_beat_the_control_is_a_doubt() {
    let mut results = sample::results();
    let mut control = best(&results);
    control.value.method = "identity".into();
    control.value.reliability.mean -= 0.1;
    results.optima.push(control);
    let all = of(&results);
    assert!(place(&all, "not shown to beat the control identity").is_some(), "behind the control: {all:?}");
    // INLP removes the property; the identity is judged as a method that sets it.
    assert!(place(&all, "INLP").is_none(), "{all:?}");
    results.optima.retain(|o| ["alterrep", "identity"].contains(&o.value.method.as_str()));
    assert_eq!(place(&of(&results), "not shown to beat"), None, "{:?}", of(&results));
    results.versus = vec![versus(&results, "identity", 0.2, &[])];
    let title = best(&results).value.method_key().title();
    let text = format!("{title} is not shown to beat the control identity");
    assert!(place(&of(&results), &text).is_some(), "{:?}", of(&results));
}

#[test]
fn a_selectivity_below_that_of_a_constant_answer_is_a_doubt() {
    let mut results = sample::results();
    assert_eq!(place(&of(&results), "an oracle that always gives the same answer"), None);
    for point in results.curves.iter_mut().flat_map(|c| &mut c.points) {
        point.value.beside.s_floor = Some(1.1);
    }
    // Regression: "look at smaller strengths" used to be advised although none of them passes.
    let none = "same answer (";
    let said = of(&results).into_iter().find(|text| text.contains(none)).expect("the doubt");
    assert!(said.ends_with("that was tried reaches both required scores"), "{said}");
    let key = best(&results).value.method_key();
    let curve = results.curves.iter_mut().find(|c| c.key.method == key && c.key.oracle == OracleKind::Mlp);
    let point = &mut curve.expect("a curve").points[1].value;
    (point.completeness.mean, point.selectivity.mean, point.beside.s_floor) = (0.99, 0.99, None);
    let value = short(point.value);
    let said = of(&results).into_iter().find(|text| text.contains(none)).expect("the doubt");
    assert!(said.ends_with(&format!("on all examples, alpha {value} reaches both required scores")), "{said}");
}

/// Regression: a control that scored above every method of its aim used to be remarked only after two other doubts.
#[test]
fn a_control_above_all_methods_with_its_aim_is_the_first_doubt() {
    let mut results = sample::results();
    let mut control = best(&results);
    control.value.method = "identity".into();
    control.value.reliability.mean += 0.07;
    results.versus = vec![versus(&results, "pgd", 0.001, &["recipe 1"])];
    results.optima.push(control);
    let all = of(&results);
    assert_eq!(place(&all, "scores above every method that sets a value (R "), Some(0), "{all:?}");
    assert!(!all[0].contains("not shown to beat"), "{all:?}");
}

/// Regression: the answer used to omit the model's own behaviour.
#[test]
fn what_the_model_itself_does_is_said_and_no_effect_is_a_doubt() {
    let mut results = sample::results();
    let first = best(&results);
    let flips = |rate: f64, after: f64| BehaviourFinding {
        method: first.value.method.clone(),
        options: first.value.options.clone(),
        layer: first.value.layer,
        parameter: first.value.parameter.clone(),
        value: first.value.value,
        flip_rate: Estimate { mean: rate, lo: rate, hi: rate + 0.002 }.into(),
        correct_before: Estimate::exact(0.99).into(),
        correct_after: Estimate::exact(after).into(),
        replicates: 1,
        told: None,
    };
    let says = |results: &Results| crate::answer::answer(results, &Spec::shipped()).evidence.join("\n");
    assert!(!says(&results).contains("model's own"));
    results.behaviour = vec![tagged(&first, flips(0.098, 0.72))];
    let text = says(&results);
    assert!(text.contains("prediction changes in 9.8 % [9.8, 10.0] of sentences"), "{text}");
    assert!(text.contains("of the correct form, of two, falls from .99 [.99, .99] to .72 [.72, .72]"), "{text}");
    assert_eq!(place(&of(&results), "model's own"), None);
    results.behaviour = vec![tagged(&first, flips(0.0, 0.985))];
    assert!(!says(&results).contains("model's own"));
    assert!(place(&of(&results), "changes in 0.0 % of sentences").is_some(), "{:?}", of(&results));
}

/// Regression: `R is .79 to .80` next to `R .68` used to look like a mistake. Before that, only the figure showed the range over equally
/// good probe settings.
#[test]
fn other_settings_that_take_the_best_out_of_its_interval_are_a_doubt_beside_those_of_the_answer() {
    let mut results = sample::results();
    let best = best(&results);
    let v = &best.value;
    let rival = |rival: usize, reliability: f64| {
        let value = serde_json::json!({"method": v.method, "options": v.options, "layer": v.layer, "oracle": v.oracle,
            "oracle_layer": v.oracle_layer, "parameter": v.parameter, "value": v.value, "rival": rival, "recipes": [],
            "completeness": 0.5, "selectivity": 0.5, "reliability": reliability});
        tagged(&best, serde_json::from_value(value).unwrap())
    };
    let said =
        |results: &Results| of(results).into_iter().find(|text| text.contains("with equally good probe settings"));
    results.rivals = vec![rival(1, v.reliability.mean)];
    assert_eq!(said(&results), None, "within the interval");
    results.rivals.push(rival(2, v.reliability.lo - 0.1));
    let shown = format!("{} to {} with", score(v.reliability.lo - 0.1), score(v.reliability.mean));
    assert!(said(&results).is_some_and(|text| text.contains(&shown)), "{:?}", of(&results));
}

/// Regression: INLP's R from .35 to .84 over equally good probes used to be the fifth of six doubts, after the reasons of the decision.
#[test]
fn other_settings_that_reverse_the_decision_come_first() {
    let mut results = sample::results();
    let at = results.optima.iter().position(|o| o.value.method == "inlp").expect("INLP");
    results.optima = vec![results.optima.swap_remove(at)];
    let v = &mut results.optima[0].value;
    (v.completeness.mean, v.selectivity.mean) = (0.79, 0.91);
    let inlp = results.optima[0].clone();
    let v = &inlp.value;
    let rival = |completeness: f64, reliability: f64| {
        let value = serde_json::json!({"method": v.method, "options": v.options, "layer": v.layer, "oracle": v.oracle,
            "oracle_layer": v.oracle_layer, "parameter": v.parameter, "value": v.value, "rival": 1, "recipes": [],
            "completeness": completeness, "selectivity": 0.91, "reliability": reliability});
        tagged(&inlp, serde_json::from_value(value).unwrap())
    };
    let read = serde_json::json!({"before": {"mean": 1.0, "lo": 1.0, "hi": 1.0}, "after": {"mean": 0.9, "lo": 0.9, "hi": 0.9},
        "share": {"mean": 0.99, "lo": 0.97, "hi": 0.99}});
    let value = serde_json::json!({"method": "inlp", "layer": 4, "oracle_layer": 4, "parameter": "rank", "value": v.value,
        "chance": 0.5, "linear": read, "mlp": read});
    results.leaks = vec![tagged::<LeakFinding>(&inlp, serde_json::from_value(value).unwrap())];
    results.rivals = vec![rival(0.22, 0.35)];
    let places =
        |results: &Results| ["with some of them it misses", "still read 99 %"].map(|part| place(&of(results), part));
    assert_eq!(places(&results), [Some(0), Some(1)], "{:?}", of(&results));
    results.rivals = vec![rival(0.78, 0.35)];
    assert_eq!(places(&results), [None, Some(0)], "R moves, but not past the limits: {:?}", of(&results));
}

#[test]
fn reversals_by_settings_and_by_the_other_oracle_are_said_before_all_other_doubts() {
    let mut results = sample::results();
    results.versus =
        vec![versus(&results, "pgd", 0.001, &["recipe 1"]), versus(&results, "fgsm", 0.001, &["linear oracle"])];
    let all = of(&results);
    let (settings, oracle) =
        (place(&all, "settings that validate equally well put PGD"), place(&all, "linear oracle puts FGSM"));
    // Regression: at 80 columns, the doubt about two definitions used to come first and displace this one.
    assert_eq!((settings, oracle), (Some(0), Some(1)), "{all:?}");
    results.versus = vec![versus(&results, "pgd", 0.001, &["recipe 1", "linear oracle"])];
    assert!(place(&of(&results), "so does the linear oracle").is_some(), "{:?}", of(&results));
}
