//! The answer of the lab in sentences: the most reliable method, comparisons, and reasons for doubt.

use std::cmp::Ordering;

use super::Results;
use super::banded::{Banded, ENOUGH_TRAININGS, is_few};
use super::doubts::{doubts, is_unmoved};
use super::finding::{BehaviourFinding, OptimumFinding};
use super::key::MethodKey;
use super::method::Goal;
use super::oracle::OracleKind;
use super::registry::find;
use super::score::Distance;
use super::settings::examples_for;
use super::spec::Spec;
use super::verdict::VersusFinding;
use base::numbers::{percent, probability, score, short};
use figure::layers::{Count, grouped};
use lab::answer::asked_of;
use lab::compared::Number;
use lab::family::ALPHA;
use lab::layer::LayerRef;
use lab::{Answer, Tagged};

/// Number of training runs from which a comparison omits the smallest detectable gap.
const ENOUGH: usize = 10;
/// Number of test examples with the property to keep below which it is hard to show that an oracle still reads the property after an edit,
/// because the best strength is chosen on one half and measured on the other.
pub(crate) const FEW_TO_KEEP: usize = 200;
/// Number of methods named after the best one.
const NEXT: usize = 4;

pub(crate) fn question(spec: &Spec) -> String {
    let layer = match spec.site.layer {
        LayerRef::Last => "last layer".to_owned(),
        LayerRef::At(layer) => format!("layer {layer}"),
    };
    let target = words(&spec.task.target);
    let models = asked_of(&spec.models);
    format!("Can the {target} be changed in {models}, {layer}, with everything else left alone?")
}

pub(crate) fn words(name: &str) -> String {
    name.replace('_', " ")
}

pub fn oracle_name(oracle: OracleKind) -> &'static str {
    match oracle {
        OracleKind::Mlp => "MLP oracle",
        OracleKind::Linear => "linear oracle",
    }
}

/// Examples: `rank 2`, `ε .84`.
fn strength(parameter: &str, value: f64) -> String {
    let name = if parameter == "epsilon" { "ε".to_owned() } else { words(parameter) };
    format!("{name} {}", short(value))
}

/// The answer so far for each model, according to its first oracle. The best method of each model comes before the runners-up.
pub(crate) fn answer(results: &Results, spec: &Spec) -> Answer {
    let Some(oracle) = spec.probe.oracles.first().copied() else { return Answer::default() };
    let mut says: [Vec<String>; 3] = Default::default();
    for model in &spec.models {
        let order = ranked(results, model, oracle);
        let Some(best) = order.first() else { continue };
        let on = on_model(spec, model);
        let of = among(results, spec, model, oracle, order.len());
        says[0].push(format!("Best{on}{}", best_sentence(best, results.counts(best), spec.distance, &of)));
        says[1].extend(next_sentence(results, model, oracle, &order).map(|text| format!("Next{on}: {text}")));
        says[2].extend(model_itself(results, best, &on));
    }
    let mut says = says.concat();
    if says.is_empty() {
        says.extend(without(results, spec, oracle));
    }
    Answer::new(says, doubts(results, spec, oracle))
}

/// Example: ` on bert-mini`; empty for a single model.
pub(crate) fn on_model(spec: &Spec, model: &str) -> String {
    if spec.models.len() > 1 { format!(" on {}", base::text::last_part(model)) } else { String::new() }
}

/// The model's own behaviour after a method at its best strength; `None` if not measured.
pub fn behaviour_at<'a>(results: &'a Results, best: &Tagged<OptimumFinding>) -> Option<&'a Tagged<BehaviourFinding>> {
    let key = best.value.method_key();
    let same = |b: &&Tagged<BehaviourFinding>| {
        let v = &b.value;
        b.model == best.model && v.layer == best.value.layer && v.value == best.value.value && v.method_key() == key
    };
    results.behaviour.iter().find(same)
}

/// Effect of the best method on the model's own prediction; `None` if there is no effect, which is reported as a doubt.
fn model_itself(results: &Results, best: &Tagged<OptimumFinding>, on: &str) -> Option<String> {
    let v = &behaviour_at(results, best)?.value;
    if is_unmoved(v) {
        return None;
    }
    let (flips, before, after) = (v.flip_rate, v.correct_before, v.correct_after);
    let goes = if after.mean < before.mean { "falls" } else { "rises" };
    let told = |b: &Banded| format!("{} {}", probability(b.mean), b.spread(v.replicates));
    let spread = match (flips.values(v.replicates), is_few(v.replicates)) {
        (Some([lo, hi]), _) => format!(" ({:.1}, {:.1})", 100.0 * lo, 100.0 * hi),
        (None, true) => String::new(),
        (None, false) => format!(" [{:.1}, {:.1}]", 100.0 * flips.lo, 100.0 * flips.hi),
    };
    Some(format!(
        "The model's prediction{on} changes in {} of sentences{spread}; P(correct form of two) {goes} from {} to {}.",
        percent(flips.mean),
        told(&before),
        told(&after)
    ))
}

/// The optima of a model under an oracle, without controls, the most reliable first.
pub fn ranked<'a>(results: &'a Results, model: &str, oracle: OracleKind) -> Vec<&'a Tagged<OptimumFinding>> {
    let mut all = of_oracle(results, model, oracle);
    all.retain(|o| !is_control(o));
    all
}

/// The most reliable control.
pub(crate) fn control<'a>(results: &'a Results, model: &str, oracle: OracleKind) -> Option<&'a Tagged<OptimumFinding>> {
    of_oracle(results, model, oracle).into_iter().find(|o| is_control(o))
}

fn is_control(o: &Tagged<OptimumFinding>) -> bool {
    find(&o.value.method).is_some_and(|method| method.is_control)
}

fn of_oracle<'a>(results: &'a Results, model: &str, oracle: OracleKind) -> Vec<&'a Tagged<OptimumFinding>> {
    let mut all: Vec<_> = results.optima.iter().filter(|o| o.model == model && o.value.oracle == oracle).collect();
    let mean = |o: &Tagged<OptimumFinding>| o.value.reliability.mean;
    all.sort_by(|a, b| mean(b).partial_cmp(&mean(a)).unwrap_or(Ordering::Equal));
    all
}

/// Example: ` of the 3 methods scored so far`; empty once every method has a score or a reason for having none.
fn among(results: &Results, spec: &Spec, model: &str, oracle: OracleKind, scored: usize) -> String {
    match scored {
        _ if !waits(results, spec, model, oracle) => String::new(),
        1 => " (the only method scored so far)".to_owned(),
        _ => format!(" of the {scored} methods scored so far"),
    }
}

/// True if a method other than a control has neither a score nor a reason for having none.
fn waits(results: &Results, spec: &Spec, model: &str, oracle: OracleKind) -> bool {
    let has = |key: &MethodKey| {
        let mut none = results.without.iter().filter(|w| w.model == model && w.value.oracle == oracle);
        none.any(|w| w.value.method_key() == *key) || results.optimum(model, key, oracle).is_some()
    };
    let judged = |key: &MethodKey| find(&key.name).is_none_or(|method| !method.is_control);
    spec.methods.iter().map(|method| method.key()).any(|key| judged(&key) && !has(&key))
}

fn best_sentence(best: &Tagged<OptimumFinding>, counts: (usize, usize), distance: Distance, of: &str) -> String {
    let v = &best.value;
    let trainings = match v.how.replicates {
        0 => String::new(),
        1 => ", 1 training".to_owned(),
        k if is_few(k) => format!(", {k} trainings: {ENOUGH_TRAININGS} or more give an interval"),
        k => format!(", {k} trainings"),
    };
    let so_far = if best.is_final || !of.is_empty() { "" } else { " so far" };
    let by = if distance.is_papers() { String::new() } else { format!(", by {}", distance.title()) };
    let spread = |b: &Banded| format!("{} {}", score(b.mean), b.spread(v.how.replicates));
    let examples = match counts {
        (all, with) if with < all => format!("{} examples ({} for S)", grouped(all), grouped(with)),
        (all, _) => format!("{} examples", grouped(all)),
    };
    format!(
        "{of}{so_far}: {} ({}) at {}, reliability R {} (completeness C {}, selectivity S {}{by}); {examples}{trainings}.",
        v.method_key().title(),
        does(best),
        strength(&v.parameter, v.value),
        spread(&v.reliability),
        spread(&v.completeness),
        spread(&v.selectivity),
    )
}

/// Phrase for a method's effect on the property. The two kinds of method define C differently.
pub(crate) fn does(o: &Tagged<OptimumFinding>) -> &'static str {
    match find(&o.value.method).map(|method| method.goal) {
        Some(Goal::Nullifying) => "removes it",
        _ => "sets another value",
    }
}

/// Names the methods after the best one, and whether the best beats the second by more than chance.
fn next_sentence(
    results: &Results,
    model: &str,
    oracle: OracleKind,
    order: &[&Tagged<OptimumFinding>],
) -> Option<String> {
    let (best, second) = (order.first()?, order.get(1)?);
    let shown = |o: &Tagged<OptimumFinding>| {
        let r = o.value.reliability;
        format!("{} {}", score(r.mean), r.spread(o.value.how.replicates))
    };
    let named = |o: &&Tagged<OptimumFinding>| format!("{} {}", o.value.method_key().title(), shown(o));
    let mut rest: String = order[2..].iter().take(NEXT - 1).map(|o| format!("; {}", named(o))).collect();
    if let Some(control) = control(results, model, oracle) {
        rest += &format!("; {}", named(&control));
    }
    let other = if does(best) == does(second) { String::new() } else { format!(" ({})", does(second)) };
    let next = format!("{}{other} {}", second.value.method_key().title(), shown(second));
    let trainings = best.value.how.replicates;
    let (best, second) = (best.value.method_key(), second.value.method_key());
    let versus = compared(results, model, oracle, [&best, &second]);
    let apart = versus.and_then(|v| difference(v, &best, trainings));
    Some(format!("{next}{}{rest}.", apart.unwrap_or_default()))
}

/// The comparison of two methods, in either order.
pub(crate) fn compared<'a>(
    results: &'a Results,
    model: &str,
    oracle: OracleKind,
    [a, b]: [&MethodKey; 2],
) -> Option<&'a VersusFinding> {
    let versus = results.versus.iter().find(|v| {
        let pair = (&v.value.a, &v.value.b);
        v.model == model && v.value.oracle == oracle && (pair == (a, b) || pair == (b, a))
    });
    versus.map(|v| &v.value)
}

/// The gap between the best and the second method, with its interval. The wording follows the p-value adjusted for all pairs. If it is not
/// significant, adds the smallest gap that the training runs could have shown.
fn difference(versus: &VersusFinding, best: &MethodKey, trainings: usize) -> Option<String> {
    let (d, p, deciding) = (versus.difference?, versus.p?, versus.deciding_p()?);
    let d = if versus.a == *best { d } else { stats::Estimate { mean: -d.mean, lo: -d.hi, hi: -d.lo } };
    let adjusted = match (probability(p), probability(deciding)) {
        (alone, all) if alone == all => " after adjusting for all pairs".to_owned(),
        (_, all) => format!(", adjusted for all pairs {all}"),
    };
    let adjusted = if deciding > p { adjusted } else { String::new() };
    let shown = versus.detectable.filter(|_| trainings < ENOUGH);
    let from = shown.map_or(String::new(), |gap| match gap < 1.0 {
        true => format!("; {trainings} trainings show gaps from {}", score(gap)),
        false => format!("; {trainings} trainings show no gap"),
    });
    let could = if deciding <= ALPHA { String::new() } else { format!(" (could be chance{from})") };
    let interval = if is_few(trainings) { String::new() } else { format!(" [{}, {}]", score(d.lo), score(d.hi)) };
    Some(format!(", behind by {}{interval}, p {}{adjusted}{could}", score(d.mean), probability(p)))
}

/// The reason why no method has a best strength, or `None` if one has. Starts with the number of examples if too few examples are the
/// cause.
fn without(results: &Results, spec: &Spec, oracle: OracleKind) -> Option<String> {
    let none = results.without.iter().find(|w| w.value.oracle == oracle)?;
    let so_far = if none.is_final && !waits(results, spec, &none.model, oracle) { "" } else { " so far" };
    let (title, reason) = (none.value.method_key().title(), &none.value.reason);
    let curve = results.curve(&none.model, &none.value.method_key(), oracle);
    let counts = curve.and_then(|c| c.points.first()).map(|p| (p.value.n_s, p.value.n_c));
    let few = counts.filter(|(with, _)| *with < FEW_TO_KEEP).map_or(String::new(), |(with, all)| {
        let kept = if spec.task.has_attractors() { "have an attractor" } else { "have the property to keep" };
        let enough = if with == 0 || !none.is_final {
            "run more examples".to_owned()
        } else {
            let enough = examples_for(with as f64 / spec.task.examples as f64);
            format!("run about {} examples, of which about {FEW_TO_KEEP} would", grouped(enough))
        };
        format!(
            "only {} of {} test sentences {kept}, which may be too few to tell selectivity from chance: {enough}; ",
            grouped(with),
            grouped(all)
        )
    });
    Some(format!("No method has a best strength{so_far}: {few}{title}: {reason}."))
}

/// R, C and S of every method at its best strength.
pub(crate) fn numbers(results: &Results) -> Vec<Number> {
    let of = |o: &Tagged<OptimumFinding>| {
        let v = &o.value;
        let method = v.method_key().title();
        let (c, s) = results.counts(o);
        let both = if c == s { Count::from(c) } else { (c, s).into() };
        let parts = [("R", v.reliability, both), ("C", v.completeness, c.into()), ("S", v.selectivity, s.into())];
        parts.map(|(name, value, n)| Number {
            name: format!("{name} of {method}"),
            group: format!("{}, {}", o.model, oracle_name(v.oracle)),
            value: value.reported(v.how.replicates),
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
    use crate::verdict::NoOptimumFinding;

    /// Regression: S used to be reported with the number of examples of C.
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

    /// Regression: only a balanced accuracy used to be reported, without the handful of sentences behind it.
    #[test]
    fn few_test_sentences_with_an_attractor_are_named_as_the_cause() {
        let mut results = sample::results();
        let best = ranked(&results, &Spec::shipped().models[0], OracleKind::Mlp)[0].clone();
        let v = best.value;
        let value = NoOptimumFinding {
            method: v.method,
            options: v.options,
            layer: v.layer,
            oracle: v.oracle,
            oracle_layer: v.layer,
            parameter: v.parameter,
            reason: "balanced accuracy at best 0.500, from 0.283".into(),
            paper: None,
        };
        let Tagged { spec, model, seed, n, is_final, t, level, .. } = best;
        results.optima.clear();
        results.without = vec![Tagged { spec, model, seed, n, is_final, t, level, value }];
        let said = |results: &Results| answer(results, &Spec::shipped()).says[0].clone();
        assert!(!said(&results).contains("only"), "{}", said(&results));
        results.curves.iter_mut().flat_map(|c| &mut c.points).for_each(|p| (p.value.n_c, p.value.n_s) = (200, 31));
        let text = said(&results);
        assert!(text.contains("only 31 of 200 test sentences have an attractor"), "{text}");
        // 31 of 12,000 examples, so 200 of 77,420, rounded up.
        assert!(text.contains("run about 77,500 examples, of which about 200 would"), "{text}");
    }

    /// Regression: two training runs used to have intervals with one degree of freedom. Now the answer gives their values instead and
    /// states once how many training runs an interval needs.
    #[test]
    fn two_trainings_have_values_and_the_answer_says_how_many_give_an_interval() {
        let mut results = sample::results();
        for o in &mut results.optima {
            let v = &mut o.value;
            v.how.replicates = 2;
            for b in [&mut v.reliability, &mut v.completeness, &mut v.selectivity] {
                b.range = Some([b.mean - 0.02, b.mean + 0.02]);
            }
        }
        let says = answer(&results, &Spec::shipped()).says;
        assert!(!says.join(" ").contains('±') && !says[0].contains('['), "{says:?}");
        assert_eq!(says.join(" ").matches("3 or more give an interval").count(), 1, "{says:?}");
        let numbers = numbers(&results);
        assert!(numbers.iter().all(|n| n.value.lo.is_nan()), "nothing to test with: {numbers:?}");
    }

    /// Regression: S, C and the methods after the best used to have no interval.
    #[test]
    fn every_score_of_the_answer_has_its_interval() {
        let says = answer(&sample::results(), &Spec::shipped()).says;
        let best = says[0].matches(['±', '[']).count();
        assert_eq!(best, 3, "R, C and S: {says:?}");
        let methods = says[1].split("; ").count();
        assert!(says[1].matches(['±', '[']).count() >= methods, "{says:?}");
    }

    /// Regression: "Best so far" used to contradict the figure, whose best method had no held-out score yet.
    #[test]
    fn while_methods_have_no_score_the_best_is_that_of_those_that_have() {
        let (mut results, mut spec) = (sample::results(), Spec::shipped());
        let model = spec.models[0].clone();
        spec.methods.retain(|m| results.optimum(&model, &m.key(), OracleKind::Mlp).is_some());
        let said = |results: &Results| answer(results, &spec).says[0].clone();
        assert!(!said(&results).contains("scored so far"), "{}", said(&results));
        let all = ranked(&results, &model, OracleKind::Mlp).len();
        let order = ranked(&results, &model, OracleKind::Mlp);
        let of_spec = |key: &MethodKey| spec.methods.iter().any(|m| m.key() == *key);
        let last = order.iter().map(|o| o.value.method_key()).rfind(of_spec).unwrap();
        results.optima.retain(|o| o.value.method_key() != last);
        let left = ranked(&results, &model, OracleKind::Mlp).len();
        let want = match left {
            1 => "Best (the only method scored so far): ".to_owned(),
            n => format!("Best of the {n} methods scored so far: "),
        };
        assert!(left < all && said(&results).starts_with(&want), "{}", said(&results));
    }

    #[test]
    fn without_results_there_is_nothing_to_say() {
        assert_eq!(answer(&Results::default(), &Spec::shipped()), Answer::default());
    }
}
