//! Reasons to doubt the answer, the most serious first: one sentence each, with a remedy.

use super::Results;
use super::answer::{
    GOALS, behaviour_at, chosen_range, compared, control, goal_of, on_model, oracle_name, ranked_for, words,
};
use super::behaviour::BehaviourFinding;
use super::decision::{has_passed, passes};
use super::finding::{OptimumFinding, ProbeFinding, ProbeRole, ReliabilityFinding};
use super::method::Goal;
use super::optimum::End;
use super::oracle::OracleKind;
use super::spec::Spec;
use super::verdict::{LeakFinding, RivalFinding, VersusFinding};
use base::numbers::{percent, score, short};
use lab::Tagged;
use lab::answer::listed;
use lab::family::ALPHA;
use stats::Estimate;

/// Calibration error above which an oracle counts as poorly calibrated.
pub(crate) const MISCALIBRATED: f64 = 0.1;
/// Minimum share of the gap between majority and perfect accuracy that an oracle must close; below it, the oracle counts as weak.
const LEARNED: f64 = 0.5;
/// Share of the accuracy above chance that fresh probes may recover before it becomes a doubt.
const LEFT: f64 = 0.1;
/// Share from which most of the property remains, whatever the oracle reads.
const MOSTLY_LEFT: f64 = 0.5;
/// Distance of R under other probe settings from its interval above which it is a doubt.
const MOVED: f64 = 0.02;
/// Ratio of the largest to the smallest strength chosen on halves from which the best one is roughly known, and from which it is not known.
const ROUGHLY: f64 = 2.0;
const UNKNOWN: f64 = 5.0;
/// Largest change of the model's predictions and probabilities that counts as none.
const UNMOVED: f64 = 0.01;

type Best<'a> = &'a Tagged<OptimumFinding>;

/// All doubts about a run so far, by how far they could move the decision. First those that could reverse it: an oracle that reads
/// nothing, limits or a ranking that other probes put the other way. Then its reasons, if they are doubts themselves: a property that
/// remains, a score that an uninformed edit also reaches. Doubts that only make scores less certain follow.
pub(crate) fn doubts(results: &Results, spec: &Spec, oracle: OracleKind) -> Vec<String> {
    let mut ranked_doubts: Vec<(usize, String)> = Vec::new();
    for (model, goal) in spec.models.iter().flat_map(|model| GOALS.map(|goal| (model, goal))) {
        let order = ranked_for(results, model, oracle, goal);
        let Some(best) = order.first().copied() else { continue };
        let on = on_model(spec, model);
        let [by_settings, by_oracle, moves] = reversed(results, best, &on);
        let above = above_all(results, best, &on);
        let (not_best, others) = below_control(results, (model, goal), &order, &on);
        let not_best = not_best.filter(|_| above.is_none());
        let left = left_over(results, best, &spec.task.target, &on);
        let of_moves = if passes(results, best).1 { 1 } else { 6 };
        let each = [
            (
                left.as_ref().map_or(6, |(share, _)| if *share > MOSTLY_LEFT { 2 } else { 6 }),
                left.map(|(_, text)| text),
            ),
            (0, above),
            (2, not_best),
            (2, below_constant(results, best, &on)),
            (1, by_settings),
            (1, by_oracle),
            (5, unmoved(results, best, &on)),
            (of_moves, moves),
            (8, others),
            (12, at_end(best, &on)),
        ];
        ranked_doubts.extend(wide_choice(best, &on));
        ranked_doubts.extend(each.into_iter().filter_map(|(rank, text)| Some((rank, text?))));
    }
    let [useless, weak, uncalibrated] = oracles(results, spec, oracle);
    for (rank, text) in [(0, useless), (4, uncalibrated), (7, weak)] {
        ranked_doubts.extend(text.map(|text| (rank, text)));
    }
    ranked_doubts.sort_by_key(|(rank, _)| *rank);
    ranked_doubts.into_iter().map(|(_, text)| text).collect()
}

/// Doubt: a control scores above every method of its goal.
fn above_all(results: &Results, best: Best<'_>, on: &str) -> Option<String> {
    let goal = goal_of(&best.value.method);
    let control = control(results, &best.model, best.value.oracle, goal)?;
    let scores = [control, best].map(|o| o.value.reliability.mean);
    let aim = if goal == Goal::Counterfactual { "sets a value" } else { "removes it" };
    (scores[0] > scores[1]).then(|| {
        format!(
            "the control {} scores above every method that {aim}{on} (R {} over {}): an edit made without knowledge of the property does as well",
            control.value.method_key().title().trim_end_matches(" (control)"),
            score(scores[0]),
            score(scores[1])
        )
    })
}

/// Methods not shown to score above the most reliable control of their goal: the best one, and the others.
fn below_control(
    results: &Results,
    (model, goal): (&str, Goal),
    order: &[Best<'_>],
    on: &str,
) -> (Option<String>, Option<String>) {
    let Some(control) = order.first().and_then(|best| control(results, model, best.value.oracle, goal)) else {
        return (None, None);
    };
    let (key, least) = (control.value.method_key(), control.value.reliability.mean);
    let beats = |o: &&Best<'_>| beats(results, o, control);
    let names: Vec<String> = order.iter().filter(|o| !beats(o)).map(|o| o.value.method_key().title()).collect();
    if names.is_empty() {
        return (None, None);
    }
    let verb = if names.len() == 1 { "is" } else { "are" };
    let text = format!(
        "{} {verb} not shown to beat the control {}, R {} {}{on}: an edit made without knowledge of the property may score as well",
        listed(&names, "methods"),
        key.title().trim_end_matches(" (control)"),
        score(least),
        control.value.reliability.spread(control.value.how.replicates)
    );
    if order.first().is_some_and(|best| !beats(&best)) { (Some(text), None) } else { (None, Some(text)) }
}

/// True if a method scores above the control, by the test of the two if there is one.
pub(crate) fn beats(results: &Results, best: Best<'_>, control: Best<'_>) -> bool {
    let both = [&best.value.method_key(), &control.value.method_key()];
    let tested = compared(results, &best.model, best.value.oracle, both);
    let shown = tested.and_then(|v| v.deciding_p()).is_none_or(|p| p <= ALPHA);
    best.value.reliability.mean > control.value.reliability.mean && shown
}

/// Selectivity of an oracle with a constant answer, at the best strength of a method.
pub(crate) fn constant_answer(results: &Results, best: Best<'_>) -> Option<f64> {
    let curve = results.curve(&best.model, &best.value.method_key(), best.value.oracle)?;
    curve.points.iter().find(|p| p.value.value == best.value.value)?.value.beside.s_floor
}

/// Doubt: the best selectivity is below that of an oracle with a constant answer. Names the smallest strength that passes, if there is one.
fn below_constant(results: &Results, best: Best<'_>, on: &str) -> Option<String> {
    let (v, key) = (&best.value, best.value.method_key());
    let floor = constant_answer(results, best)?;
    if v.selectivity.mean >= floor {
        return None;
    }
    let points = &results.curve(&best.model, &key, v.oracle)?.points;
    let reaches = |p: &&Tagged<ReliabilityFinding>| {
        let p = &p.value;
        has_passed(p.completeness.mean, Some(p.selectivity.mean), p.beside.s_floor.unwrap_or(0.0))
    };
    let (symbol, title) = (words(&v.parameter), key.title());
    let advice = match points.iter().find(reaches) {
        Some(p) => format!("on all examples, {symbol} {} reaches both required scores", short(p.value.value)),
        None => format!("no {symbol} that was tried reaches both required scores"),
    };
    Some(format!(
        "selectivity {} of {title}{on} is below that of an oracle that always gives the same answer ({}): {advice}",
        score(v.selectivity.mean),
        score(floor)
    ))
}

/// True if an intervention leaves the model's own behaviour unchanged.
pub(crate) fn is_unmoved(v: &BehaviourFinding) -> bool {
    v.flip_rate.mean < UNMOVED && (v.correct_after.mean - v.correct_before.mean).abs() < UNMOVED
}

fn unmoved(results: &Results, best: Best<'_>, on: &str) -> Option<String> {
    let behaviour = behaviour_at(results, best).filter(|b| is_unmoved(&b.value))?;
    Some(format!(
        "the model's own prediction{on} changes in {} of sentences: {} changes what the oracle reads but not what the model says",
        percent(behaviour.value.flip_rate.mean),
        best.value.method_key().title()
    ))
}

/// Methods of the same goal that other probe settings or the other oracle put ahead of the best one; if the settings only move its R,
/// the range.
fn reversed(results: &Results, best: Best<'_>, on: &str) -> [Option<String>; 3] {
    let (v, key) = (&best.value, best.value.method_key());
    let mine = results.versus.iter().filter(|x| x.model == best.model && x.value.oracle == v.oracle);
    let alike = |x: &&VersusFinding| goal_of(&x.a.name) == goal_of(&x.b.name) && (x.a == key || x.b == key);
    let pairs: Vec<_> = mine.map(|x| &x.value).filter(alike).collect();
    let by = |settings: bool| -> Vec<String> {
        let turned = pairs.iter().filter(|x| x.turns_with.iter().any(|with| with.starts_with("recipe") == settings));
        turned.map(|x| if x.a == key { x.b.title() } else { x.a.title() }).collect()
    };
    let (by_settings, by_oracle) = (by(true), by(false));
    let title = key.title();
    let shown = score(v.reliability.mean);
    let ahead = |names: &[String]| format!("{} ahead of {title}{on}", listed(names, "methods"));
    let range = moved(results, best);
    let moves = range.as_ref().filter(|_| by_settings.is_empty()).map(|range| {
        let here = if range.contains(&shown) { String::new() } else { format!(", here {shown}") };
        let text = format!("R of {title}{on} is {range} with equally good probe settings{here}");
        let scores = match passes(results, best) {
            (false, true) => "with some of them it reaches the required scores",
            (true, true) => "with some of them it misses the required scores",
            (false, false) => "with all of them it misses the required scores",
            (true, false) => "with all of them it reaches the required scores",
        };
        format!("{text}: {scores}")
    });
    let settings = (!by_settings.is_empty()).then(|| {
        let range = range.map_or(String::new(), |range| format!(" (with them its R is {range} instead of {shown})"));
        format!("probe settings that validate equally well put {}{range}", ahead(&by_settings))
    });
    let other = v.oracle.other();
    let oracle = (!by_oracle.is_empty()).then(|| match (settings.is_some(), by_oracle == by_settings) {
        (true, true) => format!("so does the {}: the ranking of these methods is uncertain", oracle_name(other)),
        _ => format!("the {} puts {}: compare both oracles", oracle_name(other), ahead(&by_oracle)),
    });
    [settings, oracle, moves]
}

/// The range of R of the best method at its strength under other probe settings that validate equally well. `None` unless it leaves the
/// interval (or the values of two training runs) by more than `MOVED`.
fn moved(results: &Results, best: Best<'_>) -> Option<String> {
    let (v, key) = (&best.value, best.value.method_key());
    let same = |r: &&Tagged<RivalFinding>| {
        r.model == best.model && r.value.oracle == v.oracle && r.value.value == v.value && r.value.method_key() == key
    };
    let scores = || results.rivals.iter().filter(same).filter_map(|r| r.value.reliability);
    let (least, most) = (scores().reduce(f64::min)?, scores().reduce(f64::max)?);
    let [lo, hi] = v.reliability.values(v.how.replicates).unwrap_or([v.reliability.lo, v.reliability.hi]);
    let outside = least < lo - MOVED || most > hi + MOVED;
    let same = score(least) == score(most);
    outside.then(|| if same { score(least) } else { format!("{} to {}", score(least), score(most)) })
}

/// True if an oracle is not shown to be better than the most frequent answer.
pub(crate) fn reads_nothing(probe: &ProbeFinding) -> bool {
    probe.accuracy.lo <= probe.majority
}

/// True if there is a doubt about an oracle of a model: about its accuracy or its calibration.
pub(crate) fn distrusts(results: &Results, model: &str, oracle: OracleKind) -> bool {
    let of = |p: &&Tagged<ProbeFinding>| p.model == model && p.value.oracle == Some(oracle);
    let mut judges = results.probes.iter().filter(of).map(|p| &p.value).filter(|p| p.role == ProbeRole::Oracle);
    judges.any(|p| reads_nothing(p) || learned(p) < LEARNED || p.calibration_error > MISCALIBRATED)
}

/// Share of the gap between majority and perfect accuracy that a probe closes.
fn learned(p: &ProbeFinding) -> f64 {
    (p.accuracy.mean - p.majority) / (1.0 - p.majority).max(f64::EPSILON)
}

/// The worst oracle with each fault: no better than the most frequent answer, little better, or poorly calibrated.
fn oracles(results: &Results, spec: &Spec, oracle: OracleKind) -> [Option<String>; 3] {
    let judges = || {
        let of = |p: &&Tagged<ProbeFinding>| p.value.role == ProbeRole::Oracle && p.value.oracle == Some(oracle);
        results.probes.iter().filter(of)
    };
    let name = |p: &Tagged<ProbeFinding>| {
        format!("the {} of {}{}", oracle_name(oracle), words(&p.value.property), on_model(spec, &p.model))
    };
    let shares = |p: &Tagged<ProbeFinding>| {
        let (e, majority) = (p.value.accuracy, percent(p.value.majority));
        let ends = format!("[{:.1}, {:.1}]", 100.0 * e.lo, 100.0 * e.hi);
        let tokens = results.data.iter().any(|d| d.model == p.model && d.value.tokens.is_some());
        let rows = if tokens { "tokens" } else { "sentences" };
        format!("{} is right on {} {ends} of {rows} (majority {majority})", name(p), percent(e.mean))
    };
    let no_better = |p: &&Tagged<ProbeFinding>| reads_nothing(&p.value);
    let least = |a: &&Tagged<ProbeFinding>, b: &&Tagged<ProbeFinding>| learned(&a.value).total_cmp(&learned(&b.value));
    let useless = judges().filter(no_better).min_by(least);
    let weak = judges().filter(|p| !no_better(p) && learned(&p.value) < LEARNED).min_by(least);
    let worst = judges().max_by(|a, b| a.value.calibration_error.total_cmp(&b.value.calibration_error));
    let off = worst.filter(|p| p.value.calibration_error > MISCALIBRATED);
    // The other oracle is recommended only if it is better.
    let other = |p: &Tagged<ProbeFinding>| {
        let beside = |q: &&Tagged<ProbeFinding>| {
            (q.value.role, q.value.oracle) == (ProbeRole::Oracle, Some(oracle.other()))
                && (&q.model, &q.value.property) == (&p.model, &p.value.property)
        };
        let error = results.probes.iter().find(beside).map(|q| q.value.calibration_error);
        match error {
            Some(error) if error > MISCALIBRATED => {
                format!(
                    "the {} is too ({}), so do not trust small differences",
                    oracle_name(oracle.other()),
                    score(error)
                )
            }
            Some(_) => format!("check the {}", oracle_name(oracle.other())),
            None => "do not trust small differences".to_owned(),
        }
    };
    [
        useless.map(|p| format!("{}, so nothing shows that it reads the property: use more examples", shares(p))),
        weak.map(|p| format!("{}: use more examples", shares(p))),
        off.map(|p| {
            let error = score(p.value.calibration_error);
            format!("{} is poorly calibrated (expected calibration error {error}): {}", name(p), other(p))
        }),
    ]
}

/// Fresh probes after the best method, and the largest share of the property that one of them recovers.
pub(crate) fn leak_after<'a>(results: &'a Results, best: Best<'_>) -> Option<(&'a LeakFinding, Estimate)> {
    let key = best.value.method_key();
    let mine = results.leaks.iter().filter(|l| l.model == best.model && l.value.method_key() == key);
    // Fresh probes follow the best strength by the first oracle, and the largest one.
    let away = |l: &LeakFinding| (l.value - best.value.value).abs();
    let leak = mine.map(|l| &l.value).min_by(|a, b| away(a).total_cmp(&away(b)))?;
    let shares = [leak.linear.share, leak.mlp.share].into_iter().flatten();
    Some((leak, shares.max_by(|a, b| a.mean.total_cmp(&b.mean))?))
}

/// Share of the property that fresh probes recover after the best method, and the doubt about it.
fn left_over(results: &Results, best: Best<'_>, target: &str, on: &str) -> Option<(f64, String)> {
    let (leak, most) = leak_after(results, best).filter(|(_, most)| most.mean > LEFT)?;
    let at = match leak.value == best.value.value {
        true => String::new(),
        false => format!(" at {} {}", words(&leak.parameter), short(leak.value)),
    };
    let text = format!(
        "after {}{at}{on}, new probes still read {:.0} % [{:.0}, {:.0}] of the {}: it is hidden from the oracle, not \
         removed",
        best.value.method_key().title(),
        100.0 * most.mean,
        100.0 * most.lo,
        100.0 * most.hi,
        words(target),
    );
    Some((most.mean, text))
}

/// The doubt that halves of the examples choose very different strengths, with its rank.
fn wide_choice(best: Best<'_>, on: &str) -> Option<(usize, String)> {
    let v = &best.value;
    let (least, most) = chosen_range(v)?;
    let times = if least > 0.0 { most / least } else { f64::INFINITY };
    let (rank, known, remedy) = match times {
        _ if times < ROUGHLY => return None,
        _ if times < UNKNOWN => (11, "is only roughly known", ""),
        _ => (5, "is not known", ": use more examples"),
    };
    let text = format!(
        "the best {} of {}{on} {known}: on halves of the examples it is {} to {}, and R is the mean over these{remedy}",
        words(&v.parameter),
        v.method_key().title(),
        short(least),
        short(most)
    );
    Some((rank, text))
}

fn at_end(best: Best<'_>, on: &str) -> Option<String> {
    let v = &best.value;
    let (end, more) = match v.how.at_end? {
        End::First => ("smallest", "smaller"),
        End::Last => ("largest", "larger"),
    };
    let parameter = words(&v.parameter);
    Some(format!("{} is best at the {end} {parameter} that was tried{on}: try {more} ones", v.method_key().title()))
}

#[cfg(test)]
mod tests;
