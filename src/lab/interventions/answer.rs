//! The answer of the lab in sentences: the most reliable method, how it compares, and what to doubt.

use std::cmp::Ordering;

use super::Results;
use super::finding::{OptimumFinding, ProbeFinding, ProbeRole};
use super::key::MethodKey;
use super::method::Goal;
use super::optimum::End;
use super::oracle::OracleKind;
use super::registry::find;
use super::score::Distance;
use super::spec::Spec;
use super::verdict::{RivalFinding, VersusFinding};
use base::numbers::{percent, plus_minus, probability, score, short};
use figure::layers::{Count, grouped};
use lab::answer::{few, listed};
use lab::compared::Number;
use lab::family::ALPHA;
use lab::layer::LayerRef;
use lab::{Answer, Tagged};

/// Calibration error above which an oracle counts as poorly calibrated.
pub(crate) const MISCALIBRATED: f64 = 0.1;
/// Share of the accuracy above chance that fresh probes may recover before that is a doubt.
const LEFT: f64 = 0.1;
/// Trainings from which a comparison need not say what it would have shown.
const ENOUGH: usize = 10;
/// Smallest distance from its interval at which R under other probe settings is a doubt.
const MOVED: f64 = 0.02;
/// Methods that are named behind the best one.
const NEXT: usize = 4;

/// The question of a run.
pub(crate) fn question(spec: &Spec) -> String {
    let layer = match spec.site.layer {
        LayerRef::Last => "last layer".to_owned(),
        LayerRef::At(layer) => format!("layer {layer}"),
    };
    let target = words(&spec.task.target);
    let models = listed(&spec.models, "models");
    format!("Can the {target} be changed in {models}, {layer}, and everything else left alone?")
}

fn words(name: &str) -> String {
    name.replace('_', " ")
}

/// An oracle as sentences name it.
pub fn oracle_name(oracle: OracleKind) -> &'static str {
    match oracle {
        OracleKind::Mlp => "MLP oracle",
        OracleKind::Linear => "linear oracle",
    }
}

/// `rank 2`, `ε .84`.
fn strength(parameter: &str, value: f64) -> String {
    let name = if parameter == "epsilon" { "ε".to_owned() } else { words(parameter) };
    format!("{name} {}", short(value))
}

/// The answer of a run so far: for each of its first models, as its first oracle judges.
pub(crate) fn answer(results: &Results, spec: &Spec) -> Answer {
    let Some(oracle) = spec.probe.oracles.first().copied() else { return Answer::default() };
    let (mut says, mut turned, mut doubts) = (Vec::new(), Vec::new(), Vec::new());
    for model in &spec.models {
        let order = ranked(results, model, oracle);
        let Some(best) = order.first() else { continue };
        let on = if spec.models.len() > 1 { format!(" on {}", base::text::last_part(model)) } else { String::new() };
        says.push(format!("Best{on}{}", best_sentence(best, spec.distance)));
        says.extend(next_sentence(results, model, oracle, &order).map(|text| format!("Next{on}: {text}")));
        doubts.extend(two_trainings(best));
        let range = moved(results, best);
        match overturned(results, model, best) {
            Some((text, true)) => {
                turned.push(text + &on + &range.map_or(String::new(), |r| format!(", whose R is then {r}")));
            }
            other => {
                turned.extend(other.map(|(text, _)| text + &on));
                turned.extend(range.map(|r| {
                    format!(
                        "with other, equally good probe settings R of {}{on} is {r}",
                        best.value.method_key().title()
                    )
                }));
            }
        }
        doubts.extend(left_over(results, model, best, &spec.task.target));
        doubts.extend(at_end(best));
    }
    if says.is_empty() {
        says.extend(without(results, oracle));
    }
    let (useless, off) = weak_oracle(results, spec, oracle);
    Answer::new(says, useless.into_iter().chain(turned).chain(off).chain(doubts).collect())
}

/// The optima of a model under an oracle, the most reliable first; controls are left out.
pub fn ranked<'a>(results: &'a Results, model: &str, oracle: OracleKind) -> Vec<&'a Tagged<OptimumFinding>> {
    let mut all = of_oracle(results, model, oracle);
    all.retain(|o| !is_control(o));
    all
}

/// The most reliable control.
fn control<'a>(results: &'a Results, model: &str, oracle: OracleKind) -> Option<&'a Tagged<OptimumFinding>> {
    of_oracle(results, model, oracle).into_iter().find(|o| is_control(o))
}

fn is_control(o: &Tagged<OptimumFinding>) -> bool {
    find(&o.value.method).is_some_and(|method| method.is_control())
}

fn of_oracle<'a>(results: &'a Results, model: &str, oracle: OracleKind) -> Vec<&'a Tagged<OptimumFinding>> {
    let mut all: Vec<_> = results.optima.iter().filter(|o| o.model == model && o.value.oracle == oracle).collect();
    let mean = |o: &Tagged<OptimumFinding>| o.value.reliability.mean;
    all.sort_by(|a, b| mean(b).partial_cmp(&mean(a)).unwrap_or(Ordering::Equal));
    all
}

fn best_sentence(best: &Tagged<OptimumFinding>, distance: Distance) -> String {
    let v = &best.value;
    let trainings = match v.how.replicates {
        0 => String::new(),
        1 => ", 1 training".to_owned(),
        k => format!(", {k} trainings"),
    };
    let so_far = if best.is_final { "" } else { " so far" };
    let by = if distance.is_papers() { String::new() } else { format!(", by {}", distance.title()) };
    format!(
        "{so_far}: {} ({}) at {}, reliability R {} {} (completeness C {}, selectivity S {}{by}); {} examples{trainings}.",
        v.method_key().title(),
        does(best),
        strength(&v.parameter, v.value),
        score(v.reliability.mean),
        plus_minus(v.reliability.half_width()),
        score(v.completeness.mean),
        score(v.selectivity.mean),
        grouped(best.n),
    )
}

/// Effect of a method on the property. C is defined differently for the two kinds.
fn does(o: &Tagged<OptimumFinding>) -> &'static str {
    match find(&o.value.method).map(|method| method.goal()) {
        Some(Goal::Nullifying) => "removes it",
        _ => "sets another value",
    }
}

/// The methods behind the best one, and whether it is ahead of the second by more than chance.
fn next_sentence(
    results: &Results,
    model: &str,
    oracle: OracleKind,
    order: &[&Tagged<OptimumFinding>],
) -> Option<String> {
    let (best, second) = (order.first()?, order.get(1)?);
    let named =
        |o: &&Tagged<OptimumFinding>| format!("{} {}", o.value.method_key().title(), score(o.value.reliability.mean));
    let mut rest: String = order[2..].iter().take(NEXT - 1).map(|o| format!("; {}", named(o))).collect();
    if let Some(control) = control(results, model, oracle) {
        rest += &format!("; {}", named(&control));
    }
    let other = if does(best) == does(second) { String::new() } else { format!(" ({})", does(second)) };
    let next = format!("{}{other} {}", second.value.method_key().title(), score(second.value.reliability.mean));
    let trainings = best.value.how.replicates;
    let (best, second) = (best.value.method_key(), second.value.method_key());
    let versus = results.versus.iter().find(|v| {
        let pair = (&v.value.a, &v.value.b);
        v.model == model && v.value.oracle == oracle && (pair == (&best, &second) || pair == (&second, &best))
    });
    let apart = versus.and_then(|v| difference(&v.value, &best, trainings));
    Some(format!("{next}{}{rest}.", apart.unwrap_or_default()))
}

/// How far the second method is behind the best, with the interval. Verbs follow the p-value that is adjusted for all pairs. Where it
/// shows nothing, the smallest gap that the trainings would have shown.
fn difference(versus: &VersusFinding, best: &MethodKey, trainings: usize) -> Option<String> {
    let (d, p, deciding) = (versus.difference?, versus.p?, versus.deciding_p()?);
    let d = if versus.a == *best { d } else { stats::Estimate { mean: -d.mean, lo: -d.hi, hi: -d.lo } };
    let adjusted =
        if deciding > p { format!(", adjusted for all pairs {}", probability(deciding)) } else { String::new() };
    let shown = versus.detectable.filter(|_| trainings < ENOUGH);
    let from = shown.map_or(String::new(), |gap| format!("; {trainings} trainings show gaps from {}", score(gap)));
    let could = if deciding <= ALPHA { String::new() } else { format!(" (could be chance{from})") };
    Some(format!(
        ", behind by {} [{}, {}], p {}{adjusted}{could}",
        score(d.mean),
        score(d.lo),
        score(d.hi),
        probability(p)
    ))
}

/// Reason for which no method has a best strength, if so.
fn without(results: &Results, oracle: OracleKind) -> Option<String> {
    let none = results.without.iter().find(|w| w.value.oracle == oracle)?;
    let so_far = if none.is_final { "" } else { " so far" };
    Some(format!("No method has a best strength{so_far}. {}: {}.", none.value.method_key().title(), none.value.reason))
}

/// An oracle that is no better than the majority answer, and one whose probabilities are off.
fn weak_oracle(results: &Results, spec: &Spec, oracle: OracleKind) -> (Option<String>, Option<String>) {
    let judges =
        || results.probes.iter().filter(move |p| p.value.role == ProbeRole::Oracle && p.value.oracle == Some(oracle));
    let of = |p: &Tagged<ProbeFinding>| {
        let model =
            if spec.models.len() > 1 { format!(" in {}", base::text::last_part(&p.model)) } else { String::new() };
        format!("the {} of {}{model}", oracle_name(oracle), words(&p.value.property))
    };
    let useless = judges().find(|p| p.value.accuracy.lo <= p.value.majority).map(|p| {
        let v = &p.value;
        let (accuracy, majority) = (percent(v.accuracy.mean), percent(v.majority));
        format!("{} is no better than the most frequent answer ({accuracy} against {majority})", of(p))
    });
    let worst = judges().max_by(|a, b| a.value.calibration_error.total_cmp(&b.value.calibration_error));
    let off = worst.filter(|p| p.value.calibration_error > MISCALIBRATED).map(|p| {
        let error = score(p.value.calibration_error);
        format!("{} is poorly calibrated (off by {error} on average)", of(p))
    });
    (useless, off)
}

/// A verdict on the best method that other probe settings (true) or another oracle overturn.
fn overturned(results: &Results, model: &str, best: &Tagged<OptimumFinding>) -> Option<(String, bool)> {
    let key = best.value.method_key();
    let mine = results.versus.iter().filter(|v| v.model == model && v.value.oracle == best.value.oracle);
    let turned = mine.filter(|v| v.value.a == key || v.value.b == key).find(|v| !v.value.turns_with.is_empty())?;
    let other = if turned.value.a == key { &turned.value.b } else { &turned.value.a };
    let recipe = turned.value.turns_with.iter().any(|with| with.starts_with("recipe"));
    let how = if recipe { "other, equally good probe settings put" } else { "the other oracle puts" };
    Some((format!("{how} {} ahead of {}", other.title(), key.title()), recipe))
}

/// The range of R of the best method at its strength under other probe settings that validate equally well, where these take it out of its
/// interval by more than `MOVED`.
fn moved(results: &Results, best: &Tagged<OptimumFinding>) -> Option<String> {
    let (v, key) = (&best.value, best.value.method_key());
    let same = |r: &&Tagged<RivalFinding>| {
        r.model == best.model && r.value.oracle == v.oracle && r.value.value == v.value && r.value.method_key() == key
    };
    let scores = || results.rivals.iter().filter(same).filter_map(|r| r.value.reliability);
    let (least, most) = (scores().reduce(f64::min)?, scores().reduce(f64::max)?);
    let outside = least < v.reliability.lo - MOVED || most > v.reliability.hi + MOVED;
    let same = score(least) == score(most);
    outside.then(|| if same { score(least) } else { format!("{} to {}", score(least), score(most)) })
}

/// Bands of two trainings cover less than they say where training matters.
fn two_trainings(best: &Tagged<OptimumFinding>) -> Option<String> {
    let trainings = best.value.how.replicates;
    few(trainings, 3, "trainings", ".88 to .90 with 2").filter(|_| trainings == 2)
}

/// Accuracy of fresh probes after the best method.
fn left_over(results: &Results, model: &str, best: &Tagged<OptimumFinding>, target: &str) -> Option<String> {
    let key = best.value.method_key();
    let leak = results.leaks.iter().find(|l| l.model == model && l.value.method_key() == key)?;
    let shares = [leak.value.linear.share, leak.value.mlp.share].into_iter().flatten();
    let most = shares.map(|s| s.mean).fold(f64::NEG_INFINITY, f64::max);
    (most > LEFT).then(|| {
        format!("fresh probes still read {:.0} % of the {} that {} removed", 100.0 * most, words(target), key.title())
    })
}

fn at_end(best: &Tagged<OptimumFinding>) -> Option<String> {
    let v = &best.value;
    let end = match v.how.at_end? {
        End::First => "smallest",
        End::Last => "largest",
    };
    Some(format!("{} is best at the {end} {} that was tried", v.method_key().title(), words(&v.parameter)))
}

/// R, C and S of every method at its best strength.
pub(crate) fn numbers(results: &Results) -> Vec<Number> {
    let of = |o: &Tagged<OptimumFinding>| {
        let v = &o.value;
        let head = format!("{} on {}, {}", v.method_key().title(), o.model, oracle_name(v.oracle));
        let (c, s) = results.counts(o);
        let both = if c == s { Count::from(c) } else { (c, s).into() };
        let parts = [("R", v.reliability, both), ("C", v.completeness, c.into()), ("S", v.selectivity, s.into())];
        parts.map(|(name, value, n)| Number {
            name: format!("{name} of {head}"),
            value: value.estimate(),
            n,
            level: o.level.unwrap_or(0.95),
            unit: (1.0, ""),
        })
    };
    results.optima.iter().flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    /// The bug: the examples of S were given as those of C.
    #[test]
    fn numbers_to_compare_count_the_examples_of_each_score() {
        let mut results = sample::results();
        results.curves.iter_mut().flat_map(|c| &mut c.points).for_each(|p| p.value.n_s = 408);
        let numbers = numbers(&results);
        let n = |name: &str| numbers.iter().find(|n| n.name.starts_with(name)).unwrap().n.to_string();
        let c = n("C of");
        assert_eq!([n("R of"), n("S of")], [format!("{c} / 408"), "408".into()]);
    }

    #[test]
    fn the_question_names_property_model_and_layer() {
        let mut spec = Spec::shipped();
        spec.models = vec!["/far/bert".into(), "b".into()];
        let asked = question(&spec);
        assert!(asked.contains("subject number") && asked.contains("bert and b"), "{asked}");
    }

    #[test]
    fn the_answer_names_the_best_method_with_interval_and_n_and_the_next_ones() {
        let (results, spec) = (sample::results(), Spec::shipped());
        let answer = answer(&results, &spec);
        assert!(answer.says[0].starts_with("Best"), "{answer:?}");
        for part in ["reliability R", "±", "examples"] {
            assert!(answer.says[0].contains(part), "{part}: {answer:?}");
        }
        assert!(answer.says[1].starts_with("Next: "), "{answer:?}");
        let order = ranked(&results, &spec.models[0], OracleKind::Mlp);
        let means: Vec<f64> = order.iter().map(|o| o.value.reliability.mean).collect();
        assert!(means.windows(2).all(|w| w[0] >= w[1]), "{means:?}");
    }

    #[test]
    fn a_weak_oracle_is_the_first_doubt() {
        let (mut results, spec) = (sample::results(), Spec::shipped());
        let probe = r#"{"role":"oracle","property":"subject_number","classifier":"2x64","oracle":"mlp","layer":3,
            "accuracy":{"mean":0.99,"lo":0.98,"hi":1.0},"majority":0.7,"balanced_accuracy":0.99,"calibration_error":0.01,
            "cached":false,"grid":"small"}"#;
        let like = &results.optima[0];
        let (spec_hash, model) = (like.spec.clone(), spec.models[0].clone());
        let value = serde_json::from_str(probe).unwrap();
        results.probes.push(Tagged {
            spec: spec_hash,
            model,
            seed: 0,
            n: 2400,
            is_final: true,
            t: 1.0,
            level: None,
            value,
        });
        let before = answer(&results, &spec).doubts;
        let oracle = results.probes.iter_mut().find(|p| p.value.oracle == Some(OracleKind::Mlp)).unwrap();
        oracle.value.calibration_error = 0.2;
        let doubts = answer(&results, &spec).doubts;
        assert!(doubts[0].contains("off by .20 on average"), "{doubts:?}");
        assert_ne!(before, doubts);
        let oracle = results.probes.iter_mut().find(|p| p.value.oracle == Some(OracleKind::Mlp)).unwrap();
        oracle.value.majority = 1.0;
        assert!(answer(&results, &spec).doubts[0].contains("no better than the most frequent answer"));
    }

    /// The range over equally good probe settings stood in the figure alone.
    #[test]
    fn other_settings_that_take_the_best_out_of_its_interval_are_a_doubt() {
        let (mut results, spec) = (sample::results(), Spec::shipped());
        let best = ranked(&results, &spec.models[0], OracleKind::Mlp)[0].clone();
        let v = &best.value;
        let rival = |rival: usize, reliability: f64| {
            let value = serde_json::json!({"method": v.method, "options": v.options, "layer": v.layer, "oracle": v.oracle,
                "oracle_layer": v.oracle_layer, "parameter": v.parameter, "value": v.value, "rival": rival, "recipes": [],
                "completeness": 0.5, "selectivity": 0.5, "reliability": reliability});
            Tagged {
                spec: best.spec.clone(),
                model: best.model.clone(),
                seed: 0,
                n: best.n,
                is_final: true,
                t: 1.0,
                level: None,
                value: serde_json::from_value(value).unwrap(),
            }
        };
        let said = |results: &Results| answer(results, &spec).doubts.iter().any(|d| d.contains("probe settings R of"));
        results.rivals = vec![rival(1, v.reliability.mean)];
        assert!(!said(&results), "within the interval");
        results.rivals.push(rival(2, v.reliability.lo - 0.1));
        assert!(said(&results), "{:?}", answer(&results, &spec).doubts);
    }

    #[test]
    fn without_results_there_is_nothing_to_say() {
        assert_eq!(answer(&Results::default(), &Spec::shipped()), Answer::default());
    }
}
