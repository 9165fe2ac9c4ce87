//! The answer to the lab's question in one sentence: yes, no, or undecided.
//!
//! A method passes if the intervals of C and S lie above a bar, and S also above that of an oracle that always gives the same answer. A
//! method that removes the property must also leave little of it to new probes. It fails if one of these intervals lies below the bar. If
//! an interval contains the bar, nothing is decided.

use super::Results;
use super::answer::{GOALS, control, counted, goal_of, oracle_name, ranked, ranked_for, waits, words};
use super::banded::{Banded, ENOUGH_TRAININGS, is_few};
use super::doubts::{beats, constant_answer, leak_after, reads_nothing};
use super::finding::{OptimumFinding, ProbeRole};
use super::method::Goal;
use super::oracle::OracleKind;
use super::spec::Spec;
use super::verdict::RivalFinding;
use base::numbers::score;
use base::text::last_part;
use figure::capital;
use lab::Tagged;
use lab::answer::listed;

/// Bar of C, S and the removed share for `yes, mostly`.
const MOSTLY: f64 = 0.75;
/// Bar for `yes`.
const FULLY: f64 = 0.9;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    Yes,
    Mostly,
    Undecided,
    No,
}

impl Verdict {
    fn word(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::Mostly => "yes, mostly",
            Self::Undecided => "undecided",
            Self::No => "no",
        }
    }
}

/// A verdict and the clause that explains it.
type Decision = (Verdict, String);

/// The verdicts on all goals that the methods of a run have, for each model, in one sentence. `None` before the first outcome.
pub(crate) fn decision(results: &Results, spec: &Spec, oracle: OracleKind) -> Option<String> {
    let of_goal = |goal: Goal| -> Vec<(String, Decision)> {
        let of = |model: &String| Some((last_part(model).to_owned(), decide(results, spec, (model, oracle), goal)?));
        spec.models.iter().filter_map(of).collect()
    };
    let mut goals = GOALS.into_iter().map(|goal| (goal, of_goal(goal))).filter(|(_, all)| !all.is_empty());
    let (goal, first) = goals.next()?;
    let target = words(&spec.task.target);
    let asked = match goal {
        Goal::Counterfactual => format!("setting another {target}"),
        Goal::Nullifying => format!("removing the {target}"),
    };
    let head = match first.as_slice() {
        [(_, (verdict, why))] if spec.models.len() == 1 => format!("{}: {why}", verdict.word()),
        all => format!("{}, at {asked}", by_model(all)),
    };
    let second = goals.next().map_or(String::new(), |(_, second)| match second.as_slice() {
        [(_, (verdict, why))] if spec.models.len() == 1 => format!("; removing it: {}, {why}", verdict.word()),
        all => format!("; removing it: {}", by_model(all)),
    });
    let full = first.iter().all(|(_, (verdict, _))| *verdict == Verdict::Yes);
    let bar = if full { FULLY } else { MOSTLY };
    // An oracle with a constant answer can have an S above the bar.
    let judged = spec.models.iter().flat_map(|model| ranked(results, model, oracle));
    let floors: Vec<f64> = judged.filter_map(|o| constant_answer(results, o)).filter(|floor| *floor > bar).collect();
    let needs = match floors.iter().copied().reduce(f64::min).zip(floors.iter().copied().reduce(f64::max)) {
        None => format!("completeness C and selectivity S of {}", score(bar)),
        Some((least, most)) => {
            let least = if score(least) == score(most) { String::new() } else { format!("{} to ", score(least)) };
            format!(
                "completeness C of {} and selectivity S above {least}{}, what a constant answer scores,",
                score(bar),
                score(most)
            )
        }
    };
    let mut bests = spec.models.iter().flat_map(|m| GOALS.map(|goal| ranked_for(results, m, oracle, goal)));
    let n = bests.find_map(|order| order.first().map(|best| format!("{}; ", counted(results, best))));
    Some(format!("{} ({}needs {needs} by the {}){second}.", capital(&head), n.unwrap_or_default(), oracle_name(oracle)))
}

/// `no on bert-mini; undecided on gpt2-mini`.
fn by_model(all: &[(String, Decision)]) -> String {
    let mut verdicts: Vec<Verdict> = all.iter().map(|(_, (verdict, _))| *verdict).collect();
    verdicts.sort_unstable();
    verdicts.dedup();
    let of = |verdict: &Verdict| {
        let models = all.iter().filter(|(_, (other, _))| other == verdict).map(|(model, _)| model.clone());
        format!("{} on {}", verdict.word(), listed(&models.collect::<Vec<_>>(), "models"))
    };
    verdicts.iter().map(of).collect::<Vec<_>>().join("; ")
}

/// The decision for a goal on a model. `None` without a method of this goal that has an outcome.
fn decide(results: &Results, spec: &Spec, (model, oracle): (&str, OracleKind), goal: Goal) -> Option<Decision> {
    let undecided = |why: String| Some((Verdict::Undecided, why));
    let order = ranked_for(results, model, oracle, goal);
    if order.is_empty() {
        let mut none = results.without.iter().filter(|w| w.model == model && w.value.oracle == oracle);
        let has_none = none.any(|w| goal_of(&w.value.method) == goal);
        return if has_none { undecided("no method has a best strength".into()) } else { None };
    }
    let judges = results.probes.iter().filter(|p| p.model == model && p.value.role == ProbeRole::Oracle);
    if let Some(judge) = judges.filter(|p| p.value.oracle == Some(oracle)).find(|p| reads_nothing(&p.value)) {
        let property = words(&judge.value.property);
        return undecided(format!("nothing shows that the {} reads the {property}", oracle_name(oracle)));
    }
    let all: Vec<Decision> = order.iter().map(|best| of_method(results, best)).collect();
    let find = |wanted: Verdict| all.iter().find(|(verdict, _)| *verdict == wanted).cloned();
    let passed = find(Verdict::Yes).or_else(|| find(Verdict::Mostly));
    let unfinished = waits(results, spec, (model, oracle), Some(goal)) || order.iter().any(|best| !best.is_final);
    match passed {
        Some(passed) => Some(passed),
        None if unfinished => undecided("not all methods have their final scores yet".into()),
        None => find(Verdict::Undecided).or_else(|| match all.as_slice() {
            [only] => Some(only.clone()),
            all => Some((Verdict::No, format!("none of {} methods {}", all.len(), does(goal, "and keeps the rest")))),
        }),
    }
}

/// `sets another value and keeps the rest`.
fn does(goal: Goal, kept: &str) -> String {
    match goal {
        Goal::Counterfactual => format!("sets another value {kept}"),
        Goal::Nullifying => format!("removes it {kept}"),
    }
}

/// The decision on a method at its best strength.
fn of_method(results: &Results, best: &Tagged<OptimumFinding>) -> Decision {
    let v = &best.value;
    let (title, goal) = (v.method_key().title(), goal_of(&v.method));
    let undecided = |why: String| (Verdict::Undecided, why);
    let leak = leak_after(results, best).map(|(_, share)| share);
    if goal == Goal::Nullifying && leak.is_some_and(|share| share.lo > 1.0 - MOSTLY) {
        return (Verdict::No, format!("{title} only hides it from the oracle"));
    }
    if is_few(v.how.replicates) {
        let runs = v.how.replicates;
        return undecided(format!("{runs} training runs give no interval, {ENOUGH_TRAININGS} or more do"));
    }
    let floor = constant_answer(results, best).unwrap_or(0.0);
    let ends = |b: &Banded| (b.estimate().lo, b.estimate().hi);
    let scores = [(ends(&v.completeness), 0.0), (ends(&v.selectivity), floor)];
    let passes = |bar: f64| scores.iter().all(|((lo, _), least)| *lo >= bar.max(*least));
    // The removed share has no constant answer to beat.
    let removes = |bar: f64| goal != Goal::Nullifying || leak.is_some_and(|share| share.hi <= 1.0 - bar);
    if scores.iter().any(|((_, hi), least)| *hi < MOSTLY.max(*least)) {
        return match rivals(results, best).any(|r| is_above(r, floor)) {
            true => {
                undecided(format!("{title} fails here but not with other probe settings that validate equally well"))
            }
            false => (Verdict::No, format!("not even {title} {}", does(goal, "and keeps the rest"))),
        };
    }
    if !passes(MOSTLY) {
        undecided(format!("the intervals of {title} contain the limit"))
    } else if !removes(MOSTLY) {
        undecided(format!("new probes have not shown that {title} removes it"))
    } else if control(results, &best.model, v.oracle, goal).is_some_and(|control| !beats(results, best, control)) {
        undecided(format!("{title} is not shown to beat the control"))
    } else if rivals(results, best).any(|r| !is_above(r, floor)) {
        undecided(format!("{title} passes here but not with other probe settings that validate equally well"))
    } else if passes(FULLY) && removes(FULLY) {
        (Verdict::Yes, format!("{title} {}", does(goal, "and keeps the rest")))
    } else {
        (Verdict::Mostly, format!("{title} {}", does(goal, "and keeps most of the rest")))
    }
}

/// A method at its best strength, with other probe settings that validate equally well.
fn rivals<'a>(results: &'a Results, best: &Tagged<OptimumFinding>) -> impl Iterator<Item = &'a RivalFinding> {
    let (v, model, key) = (best.value.clone(), best.model.clone(), best.value.method_key());
    let mine = results.rivals.iter().filter(move |r| r.model == model).map(|r| &r.value);
    mine.filter(move |r| r.oracle == v.oracle && r.value == v.value && r.method_key() == key)
}

fn is_above(rival: &RivalFinding, floor: f64) -> bool {
    has_passed(rival.completeness, rival.selectivity, floor)
}

fn has_passed(completeness: f64, selectivity: Option<f64>, floor: f64) -> bool {
    completeness >= MOSTLY && selectivity.is_none_or(|s| s >= MOSTLY.max(floor))
}

/// Returns two flags: the method reaches the limits of the decision, and some other probe settings that validate equally well reverse that.
pub(crate) fn passes(results: &Results, best: &Tagged<OptimumFinding>) -> (bool, bool) {
    let floor = constant_answer(results, best).unwrap_or(0.0);
    let passed = has_passed(best.value.completeness.mean, Some(best.value.selectivity.mean), floor);
    (passed, rivals(results, best).any(|r| is_above(r, floor) != passed))
}

#[cfg(test)]
mod tests;
