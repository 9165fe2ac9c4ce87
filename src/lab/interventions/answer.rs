//! The lab's answer in sentences: the decision, the most reliable method for each goal (setting another value, removing the property), how
//! each compares with others of its goal, and reasons for doubt.

use std::cmp::Ordering;

use super::Results;
use super::banded::{Banded, ENOUGH_TRAININGS, is_few};
use super::decision::{decisions, kept};
use super::doubts::{doubts, is_unmoved};
use super::finding::{BehaviourFinding, OptimumFinding};
use super::key::MethodKey;
use super::method::Goal;
use super::oracle::OracleKind;
use super::registry::find;
use super::settings::examples_for;
use super::spec::Spec;
use super::verdict::{NoOptimumFinding, VersusFinding};
use base::numbers::{decimals, difference_places, percent, probability, score, short};
use figure::capital;
use figure::layers::grouped;
use lab::answer::{asked_of, listed};
use lab::family::ALPHA;
use lab::interval::{beside, level_title};
use lab::layer::LayerRef;
use lab::{Answer, Tagged};

/// Number of training runs from which a comparison omits the smallest detectable gap.
const ENOUGH: usize = 10;
/// Number of test examples with the property to keep below which it is hard to show that an oracle still reads the property after an edit,
/// because the best strength is chosen on one half and measured on the other.
pub(crate) const FEW_TO_KEEP: usize = 200;
/// Number of models whose best methods stand in the first sentences.
const NAMED: usize = 3;
/// Number of methods named after each best one.
const NEXT: usize = 4;

pub(crate) fn question(spec: &Spec) -> String {
    let layer = match spec.site.layer {
        LayerRef::Last => "last layer".to_owned(),
        LayerRef::At(layer) => format!("layer {layer}"),
    };
    let target = words(&spec.task.target);
    let models = asked_of(&spec.models);
    format!("Can the {target} be changed in {models}, {layer}, and {} kept?", kept(spec))
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

/// The symbol or name of a method's parameter: `ε`, `rank`.
fn symbol(v: &OptimumFinding) -> String {
    match v.parameter.as_str() {
        "epsilon" => "ε".to_owned(),
        "alpha" => "α".to_owned(),
        name => words(name),
    }
}

/// `rank 2`, `ε .84 (.41 to 1.71 per half)`: the strength that is best on all examples, and those chosen on the half that is not
/// scored. The first sentence always says where the strength was chosen.
fn strength(v: &OptimumFinding, first: bool) -> String {
    let choice = match chosen_range(v) {
        Some((least, most)) => format!(" ({} to {} per half)", short(least), short(most)),
        None if first && v.how.chosen.is_some() => " (chosen on the other half)".to_owned(),
        None => String::new(),
    };
    format!("{} {}{choice}", symbol(v), short(v.value))
}

/// The smallest and the largest strength chosen on halves of the examples, if there are several.
pub fn chosen_range(v: &OptimumFinding) -> Option<(f64, f64)> {
    let chosen = || v.how.choices.iter().map(|(value, _)| *value);
    chosen().reduce(f64::min).zip(chosen().reduce(f64::max)).filter(|(least, most)| least < most)
}

/// The strengths chosen on halves of the examples, if there are several: `.3 and .7`, `.41 to 1.71`.
pub fn strengths_of_halves(v: &OptimumFinding) -> Option<String> {
    let (least, most) = chosen_range(v)?;
    let joined = if v.how.choices.len() == 2 { "and" } else { "to" };
    Some(format!("{} {joined} {}", short(least), short(most)))
}

/// ` (.41 to 1.71 on halves)`; empty for a single strength.
pub(crate) fn on_halves(v: &OptimumFinding) -> String {
    let range = chosen_range(v);
    range.map_or(String::new(), |(least, most)| format!(" ({} to {} on halves)", short(least), short(most)))
}

/// The answer of a run so far, for each of its models, as judged by its first oracle. Methods are compared only with
/// those that do the same to the property. The best ones come before the next ones, so that every model has at least
/// its best.
pub(crate) fn answer(results: &Results, spec: &Spec) -> Answer {
    let Some(oracle) = spec.probe.oracles.first().copied() else { return Answer::default() };
    let (mut says, mut evidence, mut after) = (Vec::new(), Vec::new(), Vec::new());
    let mut before = None;
    let (goals, required, floors) = decisions(results, spec, oracle);
    for of_goal in goals {
        let mut bests: Vec<String> = Vec::new();
        let mut basis = String::new();
        for model in &spec.models {
            let on = on_model(spec, model);
            let order = ranked_for(results, model, oracle, of_goal.goal);
            let Some(best) = order.first().copied() else {
                let without = without(results, spec, (model, oracle), Some(of_goal.goal));
                evidence.extend(without.map(|(what, why)| format!("{}: {}.", capital(&what), why.join("; "))));
                continue;
            };
            let of = match among(results, spec, (model, oracle, of_goal.goal), order.len()) {
                of if of.is_empty() && !best.is_final => " so far".to_owned(),
                of => of,
            };
            if before.is_none() {
                basis = brief_basis(results, best);
            }
            let (v, title) = (&best.value, best.value.method_key().title());
            let r = format!("R {}", spread(v, &v.reliability));
            bests.push(match (of_goal.of_best && of.is_empty(), on.is_empty()) {
                (true, true) => format!(": {r}"),
                (false, true) => format!("; best{of}: {title}, {r}"),
                (_, false) => format!("{title}{on}, {r}"),
            });
            let (at, scores) = best_scores(results, spec, best, &mut before);
            evidence.push(format!("Best{on} at {}{of}: {title} at {at}, {scores}.", doing(of_goal.goal)));
            after.extend(model_itself(results, best, &on));
        }
        let bests = match bests.as_slice() {
            [one] if spec.models.len() == 1 => one.clone(),
            all if all.is_empty() || all.len() > NAMED => String::new(),
            all => format!("; best: {}", all.join("; ")),
        };
        says.push(format!("{}{bests}{basis}.", of_goal.clause));
    }
    let Some((basis, _)) = before else {
        let (mut says, mut causes) = (Vec::new(), Vec::new());
        for (what, why) in spec.models.iter().filter_map(|model| without(results, spec, (model, oracle), None)) {
            says.push(format!("Undecided: {what}."));
            causes.extend(why.iter().map(|cause| format!("{}.", capital(cause))));
        }
        return Answer::new([says, causes].concat(), Vec::new(), doubts(results, spec, oracle));
    };
    says.push(required);
    evidence.push(format!("{}.", capital(&basis)));
    evidence.extend(floors);
    for model in &spec.models {
        let next = next_sentence(results, model, oracle);
        evidence.extend(next.map(|text| format!("Next{}{text}.", on_model(spec, model))));
    }
    Answer::new(says, [evidence, after].concat(), doubts(results, spec, oracle))
}

/// The numbers of examples, and the meaning of the brackets: ` (n 2,400 for C, 369 for S; 95 % interval)`.
fn brief_basis(results: &Results, best: &Tagged<OptimumFinding>) -> String {
    let brackets = match best.value.how.replicates {
        k if is_few(k) => format!("in brackets {k} training runs"),
        _ => format!("{} interval", level_title(best.level)),
    };
    match results.counts(best) {
        (all, with) if with < all => {
            format!(" ({} for C, {} for S; {brackets})", counted(results, best), grouped(with))
        }
        _ => format!(" ({}, {brackets})", counted(results, best)),
    }
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

/// Effect of a best method on the model's own prediction. No effect is a doubt.
fn model_itself(results: &Results, best: &Tagged<OptimumFinding>, on: &str) -> Option<String> {
    let v = &behaviour_at(results, best)?.value;
    if is_unmoved(v) {
        return None;
    }
    let (flips, before, after) = (v.flip_rate, v.correct_before, v.correct_after);
    let goes = if after.mean < before.mean { "falls" } else { "rises" };
    let shown = |b: &Banded| format!("{} {}", probability(b.mean), b.spread(v.replicates));
    let spread = match (flips.values(v.replicates), is_few(v.replicates)) {
        (None, true) => String::new(),
        (values, _) => format!(" {}", beside(flips.estimate(), values, |x| format!("{:.1}", 100.0 * x))),
    };
    Some(format!(
        "After {}{on} the model's own prediction changes in {}{spread} of sentences; the probability of the correct form, of two, \
         {goes} from {} to {}.",
        best.value.method_key().title(),
        percent(flips.mean),
        shown(&before),
        shown(&after)
    ))
}

/// Goals in the order of the answer: first setting another value, because the question asks for a change.
pub(crate) const GOALS: [Goal; 2] = [Goal::Counterfactual, Goal::Nullifying];

/// The optima of a model under an oracle, without controls: methods that set another value, then those that remove the
/// property, each the most reliable first.
pub fn ranked<'a>(results: &'a Results, model: &str, oracle: OracleKind) -> Vec<&'a Tagged<OptimumFinding>> {
    GOALS.into_iter().flat_map(|goal| ranked_for(results, model, oracle, goal)).collect()
}

/// The optima of a model under an oracle for one goal, without controls.
pub(crate) fn ranked_for<'a>(
    results: &'a Results,
    model: &str,
    oracle: OracleKind,
    goal: Goal,
) -> Vec<&'a Tagged<OptimumFinding>> {
    of_goal(results, model, oracle, goal).into_iter().filter(|o| !is_control(&o.value.method)).collect()
}

/// The most reliable control of a goal.
pub(crate) fn control<'a>(
    results: &'a Results,
    model: &str,
    oracle: OracleKind,
    goal: Goal,
) -> Option<&'a Tagged<OptimumFinding>> {
    of_goal(results, model, oracle, goal).into_iter().find(|o| is_control(&o.value.method))
}

fn is_control(method: &str) -> bool {
    find(method).is_some_and(|method| method.is_control)
}

/// The goal of a method; completeness is defined differently for the two goals.
pub fn goal_of(method: &str) -> Goal {
    find(method).map_or(Goal::Counterfactual, |method| method.goal)
}

fn of_goal<'a>(results: &'a Results, model: &str, oracle: OracleKind, goal: Goal) -> Vec<&'a Tagged<OptimumFinding>> {
    let mine =
        |o: &&Tagged<OptimumFinding>| o.model == model && o.value.oracle == oracle && goal_of(&o.value.method) == goal;
    let mut all: Vec<_> = results.optima.iter().filter(mine).collect();
    let mean = |o: &Tagged<OptimumFinding>| o.value.reliability.mean;
    all.sort_by(|a, b| mean(b).partial_cmp(&mean(a)).unwrap_or(Ordering::Equal));
    all
}

/// ` (of 3 methods scored so far)`, while some methods of the goal have neither a score nor a reason for having none.
fn among(results: &Results, spec: &Spec, (model, oracle, goal): (&str, OracleKind, Goal), scored: usize) -> String {
    match scored {
        _ if !waits(results, spec, (model, oracle), Some(goal)) => String::new(),
        1 => " (the only method scored so far)".to_owned(),
        _ => format!(" (of {scored} methods scored so far)"),
    }
}

/// True if some method of the run has neither a score nor a reason for having none. Controls, and methods without the given goal, do not
/// count.
pub(crate) fn waits(results: &Results, spec: &Spec, (model, oracle): (&str, OracleKind), goal: Option<Goal>) -> bool {
    let has = |key: &MethodKey| {
        results.no_optimum(model, key, oracle).is_some() || results.optimum(model, key, oracle).is_some()
    };
    let judged = |key: &MethodKey| !is_control(&key.name) && goal.is_none_or(|goal| goal_of(&key.name) == goal);
    spec.methods.iter().map(|method| method.key()).any(|key| judged(&key) && !has(&key))
}

/// The effect of a method with this goal on the property, as words.
fn doing(goal: Goal) -> &'static str {
    match goal {
        Goal::Counterfactual => "setting another value",
        // C is what the oracle no longer reads; new probes measure what is removed.
        Goal::Nullifying => "hiding it from the oracle",
    }
}

/// A score with its interval.
fn spread(v: &OptimumFinding, b: &Banded) -> String {
    format!("{} {}", score(b.mean), b.spread(v.how.replicates))
}

/// The strength of the best method of a goal, and its scores. Their basis is a sentence of the answer: a later method names it only if it
/// differs from the first.
fn best_scores(
    results: &Results,
    spec: &Spec,
    best: &Tagged<OptimumFinding>,
    before: &mut Option<(String, String)>,
) -> (String, String) {
    let v = &best.value;
    let basis = (basis(results, spec, best), counted(results, best));
    let first = before.is_none();
    let r = match (first, v.how.chosen.is_some()) {
        (true, true) => "held-out reliability R",
        (true, false) => "reliability R",
        (false, _) => "R",
    };
    let distance = match spec.distance.is_papers() || !first {
        true => String::new(),
        false => format!(", by {}", spec.distance.title()),
    };
    let tail = match before.get_or_insert_with(|| basis.clone()) == &basis {
        true => String::new(),
        false => format!("; {}, {}", basis.0, basis.1),
    };
    let [c, s] = if first { ["completeness C", "selectivity S"] } else { ["C", "S"] };
    let [r_is, c_is, s_is] = [&v.reliability, &v.completeness, &v.selectivity].map(|b| spread(v, b));
    (strength(v, first), format!("{r} {r_is}, {c} {c_is}, {s} {s_is}{distance}{tail}"))
}

/// The number of test examples of a best strength: `n 2,400`.
fn counted(results: &Results, best: &Tagged<OptimumFinding>) -> String {
    let data = results.data.iter().find(|d| d.model == best.model);
    let texts = data.and_then(|d| d.value.tokens.as_ref()).map(|tokens| tokens.texts[2]);
    let noun = texts.map_or_else(String::new, |texts| format!(" tokens of {} texts", grouped(texts)));
    format!("n {}{noun}", grouped(results.counts(best).0))
}

/// The scoring of a best strength, the reason why S has fewer examples, and the meaning of the brackets.
fn basis(results: &Results, spec: &Spec, best: &Tagged<OptimumFinding>) -> String {
    let (all, with) = results.counts(best);
    let how = &best.value.how;
    let halves = if how.chosen.is_some() { " on held-out halves" } else { " in brackets" };
    let intervals = format!("{} intervals", level_title(best.level));
    let kept = if spec.task.has_attractors() { "with an attractor" } else { "with the property to keep" };
    let rows = if spec.task.takes_every_token() { "tokens" } else { "sentences" };
    let for_s = match with < all {
        true => format!(", C on {} {rows}, S on the {} {kept}", grouped(all), grouped(with)),
        false => String::new(),
    };
    match how.replicates {
        0 => format!("{intervals}{halves}{for_s}"),
        1 => format!("{intervals}{halves}{for_s}, 1 training run"),
        k if is_few(k) => {
            format!("in brackets the values of {k} training runs (an interval needs {ENOUGH_TRAININGS}){for_s}")
        }
        k => format!("{intervals}{halves}{for_s}, {k} training runs"),
    }
}

/// The methods after the best of each goal, and how certain it is that the best is ahead of the second.
fn next_sentence(results: &Results, model: &str, oracle: OracleKind) -> Option<String> {
    let of = |goal: Goal| Some((goal, next_of(results, model, oracle, goal)?));
    let both: Vec<(Goal, String)> = GOALS.into_iter().filter_map(of).collect();
    let mixed = GOALS.into_iter().all(|goal| !ranked_for(results, model, oracle, goal).is_empty());
    let each = both
        .iter()
        .map(|(goal, text)| if mixed { format!(" at {}: {text}", doing(*goal)) } else { format!(": {text}") });
    (!both.is_empty()).then(|| each.collect::<Vec<_>>().join("; next"))
}

/// The methods and the control that rank after the best method of a goal.
fn next_of(results: &Results, model: &str, oracle: OracleKind, goal: Goal) -> Option<String> {
    let order = ranked_for(results, model, oracle, goal);
    let (best, rest) = order.split_first()?;
    let named = |o: &&Tagged<OptimumFinding>| {
        let (key, r, trainings) = (o.value.method_key(), o.value.reliability, o.value.how.replicates);
        format!("{} {} {}", key.title(), score(r.mean), r.spread(trainings))
    };
    let mut all: Vec<String> = rest.iter().take(NEXT).map(named).collect();
    let versus = rest.first().and_then(|second| {
        let (a, b) = (best.value.method_key(), second.value.method_key());
        let tested = |v: &&Tagged<VersusFinding>| v.model == model && v.value.oracle == oracle && v.value.p.is_some();
        let pairs = results.versus.iter().filter(tested).count();
        difference(compared(results, model, oracle, [&a, &b])?, [best, second], pairs)
    });
    if let (Some(first), Some(apart)) = (all.first_mut(), versus) {
        first.push_str(&apart);
    }
    all.extend(control(results, model, oracle, goal).iter().map(named));
    (!all.is_empty()).then(|| all.join("; "))
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

/// The gap between the best and the second method, with its interval. The wording follows the p-value adjusted for all `pairs`. If it is
/// not significant, adds the smallest gap that the training runs could have shown.
fn difference(versus: &VersusFinding, [best, second]: [&Tagged<OptimumFinding>; 2], pairs: usize) -> Option<String> {
    let (d, p, deciding) = (versus.difference?, versus.p?, versus.deciding_p()?);
    let (trainings, [a, b]) = (best.value.how.replicates, [best, second].map(|o| o.value.reliability.mean));
    let d = match versus.a == best.value.method_key() {
        true => d,
        false => stats::Estimate { mean: -d.mean, lo: -d.hi, hi: -d.lo },
    };
    let places = difference_places(d.mean, [a, b], 2);
    let digits = |x: f64| decimals(x, places);
    let interval = if is_few(trainings) { String::new() } else { format!(" {}", beside(d, None, digits)) };
    let p = match (probability(p), probability(deciding)) {
        (alone, _) if deciding <= p => format!("p {alone}"),
        (alone, all) if alone == all => format!("adjusted p {all} (Holm, {pairs} pairs)"),
        // Holm multiplies the smallest p by the number of pairs and the largest by 1, so a large one hardly changes.
        (alone, all) => format!("adjusted p {all} (Holm, {pairs} pairs; unadjusted {alone})"),
    };
    let shown = versus.detectable.filter(|_| trainings < ENOUGH);
    let could = match shown {
        _ if deciding <= ALPHA => String::new(),
        None => " (could be chance)".to_owned(),
        Some(gap) if gap < 1.0 => {
            format!(" (could be chance: {trainings} training runs usually miss gaps below {})", score(gap))
        }
        Some(_) => format!(" (could be chance: {trainings} training runs are too few to show any gap)"),
    };
    Some(format!(", behind by {}{interval}, {p}{could}", digits(d.mean)))
}

/// Number of different reasons for having no best strength that are named.
const REASONS: usize = 2;

/// The statement that no method of a model, or none with this goal, has a best strength, if that is so, and its causes: the number of
/// examples if it may be one, and those of the methods.
fn without(
    results: &Results,
    spec: &Spec,
    (model, oracle): (&str, OracleKind),
    goal: Option<Goal>,
) -> Option<(String, Vec<String>)> {
    let mine = |w: &&Tagged<NoOptimumFinding>| {
        let method = &w.value.method;
        w.model == model
            && w.value.oracle == oracle
            && !is_control(method)
            && goal.is_none_or(|goal| goal_of(method) == goal)
    };
    let all: Vec<_> = results.without.iter().filter(mine).collect();
    let first = all.first()?;
    let so_far = if first.is_final && !waits(results, spec, (model, oracle), goal) { "" } else { " so far" };
    // Without their numbers, which are in brackets, methods have reasons in common.
    let common = |reason: &str| reason.split(" (").next().unwrap_or_default().to_owned();
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for w in &all {
        let name = w.value.method_key().title();
        match reasons.iter_mut().find(|(reason, _)| common(reason) == common(&w.value.reason)) {
            Some((_, names)) => names.push(name),
            None => reasons.push((&w.value.reason, vec![name])),
        }
    }
    let reasons = reasons.iter().take(REASONS).map(|(reason, names)| {
        let reason = if names.len() > 1 { common(reason) } else { (*reason).to_owned() };
        format!("{}: {reason}", listed(names, "methods"))
    });
    let curve = results.curve(model, &first.value.method_key(), oracle);
    let counts = curve.and_then(|c| c.points.first()).map(|p| &p.value);
    let counts = counts.map(|p| p.beside.texts.map_or((p.n_s, p.n_c), |[all, with]| (with, all)));
    let few = counts.filter(|(with, _)| *with < FEW_TO_KEEP).map(|(with, all)| {
        let kept = if spec.task.has_attractors() { "have an attractor" } else { "have the property to keep" };
        let enough = if with == 0 || !first.is_final {
            "run more examples".to_owned()
        } else {
            let enough = examples_for(&spec.task, with);
            format!("with about {} examples, about {FEW_TO_KEEP} test sentences would", grouped(enough))
        };
        format!(
            "only {} of {} test sentences {kept}, which may be too few to tell selectivity from chance: {enough}",
            grouped(with),
            grouped(all)
        )
    });
    let what = goal.map_or(String::new(), |goal| format!(" for {}", doing(goal)));
    let on = on_model(spec, model);
    let says = format!("no method{what} has a best strength{on}{so_far}, by the {}", oracle_name(oracle));
    Some((says, few.into_iter().chain(reasons).collect()))
}

#[cfg(test)]
mod tests;
