//! The answer to the lab's question for each goal: yes, no, or undecided.
//!
//! A method passes if the intervals of C and S lie above a bar, and S also above that of an oracle that always gives the same answer. A
//! method that removes the property must also leave little of it to new probes. It fails if one of these intervals lies below the bar. If
//! an interval contains the bar, nothing is decided.

use super::Results;
use super::answer::{GOALS, control, goal_of, oracle_name, ranked, ranked_for, waits, words};
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

/// The decision for one goal on one model.
#[derive(Debug, Clone)]
struct Decision {
    verdict: Verdict,
    /// The clause that explains it.
    why: String,
    /// True if the clause names the most reliable method.
    of_best: bool,
}

/// The decisions for one goal on all models.
pub(crate) struct OfGoal {
    pub goal: Goal,
    /// `No: none of 3 methods both sets a value and keeps the attractor number`.
    pub clause: String,
    /// True if the clause names the most reliable method.
    pub of_best: bool,
}

/// The verdict on each goal that the methods of a run have, the scores that it requires, and the selectivity of a constant answer if that
/// is what S must exceed. Empty before the first outcome.
pub(crate) fn decisions(results: &Results, spec: &Spec, oracle: OracleKind) -> (Vec<OfGoal>, String, Option<String>) {
    let target = words(&spec.task.target);
    let mut out: Vec<OfGoal> = Vec::new();
    let mut full = true;
    for goal in GOALS {
        let decided =
            |model: &String| Some((last_part(model).to_owned(), decide(results, spec, (model, oracle), goal)?));
        let all: Vec<(String, Decision)> = spec.models.iter().filter_map(decided).collect();
        let clause = match (all.as_slice(), out.is_empty(), goal) {
            ([], ..) => continue,
            ([(_, d)], true, _) if spec.models.len() == 1 => format!("{}: {}", capital(d.verdict.word()), d.why),
            ([(_, d)], false, _) if spec.models.len() == 1 => format!("Removing it: {}, {}", d.verdict.word(), d.why),
            (_, true, Goal::Counterfactual) => format!("{}, at setting another {target}", capital(&by_model(&all))),
            (_, true, Goal::Nullifying) => format!("{}, at removing the {target}", capital(&by_model(&all))),
            (_, false, _) => format!("Removing it: {}", by_model(&all)),
        };
        full &= !out.is_empty() || all.iter().all(|(_, d)| d.verdict == Verdict::Yes);
        out.push(OfGoal { goal, clause, of_best: all.iter().all(|(_, d)| d.of_best) });
    }
    let bar = if full { FULLY } else { MOSTLY };
    // An oracle with a constant answer can have an S above the bar.
    let judged = spec.models.iter().flat_map(|model| ranked(results, model, oracle));
    let floors: Vec<f64> = judged.filter_map(|o| constant_answer(results, o)).filter(|floor| *floor > bar).collect();
    let ends = floors.iter().copied().reduce(f64::min).zip(floors.iter().copied().reduce(f64::max));
    let floor = ends.map(|(least, most)| {
        let least = if score(least) == score(most) { String::new() } else { format!("{} to ", score(least)) };
        format!("{least}{}", score(most))
    });
    let required = match &floor {
        None => format!("C and S of at least {}", score(bar)),
        Some(floor) => format!("C of at least {}, S above {floor}", score(bar)),
    };
    let floor = floor.map(|floor| format!("An oracle that never changes its answer has a selectivity S of {floor}."));
    (out, format!("Required ({}): {required}.", oracle_name(oracle)), floor)
}

/// `no on bert-mini; undecided on gpt2-mini`.
fn by_model(all: &[(String, Decision)]) -> String {
    let mut verdicts: Vec<Verdict> = all.iter().map(|(_, d)| d.verdict).collect();
    verdicts.sort_unstable();
    verdicts.dedup();
    let of = |verdict: &Verdict| {
        let models = all.iter().filter(|(_, d)| d.verdict == *verdict).map(|(model, _)| model.clone());
        format!("{} on {}", verdict.word(), listed(&models.collect::<Vec<_>>(), "models"))
    };
    verdicts.iter().map(of).collect::<Vec<_>>().join("; ")
}

/// The decision for a goal on a model. `None` without a method of this goal that has an outcome.
fn decide(results: &Results, spec: &Spec, (model, oracle): (&str, OracleKind), goal: Goal) -> Option<Decision> {
    let undecided = |why: String| Some(Decision { verdict: Verdict::Undecided, why, of_best: false });
    let order = ranked_for(results, model, oracle, goal);
    if order.is_empty() {
        let mut none = results.without.iter().filter(|w| w.model == model && w.value.oracle == oracle);
        let has_none = none.any(|w| goal_of(&w.value.method) == goal);
        let aim = if goal == Goal::Counterfactual { "sets a value" } else { "removes it" };
        return if has_none { undecided(format!("no method that {aim} has a best strength")) } else { None };
    }
    let judges = results.probes.iter().filter(|p| p.model == model && p.value.role == ProbeRole::Oracle);
    if let Some(judge) = judges.filter(|p| p.value.oracle == Some(oracle)).find(|p| reads_nothing(&p.value)) {
        let property = words(&judge.value.property);
        return undecided(format!("nothing shows that the {} reads the {property}", oracle_name(oracle)));
    }
    let kept = kept(spec);
    let of = |(place, best): (usize, &&Tagged<OptimumFinding>)| {
        let (verdict, why) = of_method(results, best, &kept);
        Decision { verdict, of_best: place == 0 && why.contains(&best.value.method_key().title()), why }
    };
    let all: Vec<Decision> = order.iter().enumerate().map(of).collect();
    let find = |wanted: Verdict| all.iter().find(|d| d.verdict == wanted).cloned();
    let passed = find(Verdict::Yes).or_else(|| find(Verdict::Mostly));
    let unfinished = waits(results, spec, (model, oracle), Some(goal)) || order.iter().any(|best| !best.is_final);
    match passed {
        Some(passed) => Some(passed),
        None if unfinished => undecided("not all methods have their final scores yet".into()),
        None => find(Verdict::Undecided).or_else(|| match all.as_slice() {
            [only] => Some(only.clone()),
            all => {
                let does = match goal {
                    Goal::Counterfactual => "sets a value",
                    Goal::Nullifying => "removes it",
                };
                let why = format!("none of {} methods both {does} and keeps {kept}", all.len());
                Some(Decision { verdict: Verdict::No, why, of_best: false })
            }
        }),
    }
}

/// The properties that an edit must keep: `the attractor number`.
pub(crate) fn kept(spec: &Spec) -> String {
    match spec.task.kept().as_slice() {
        [] => "the rest".to_owned(),
        names => {
            format!("the {}", listed(&names.iter().map(|name| words(name)).collect::<Vec<_>>(), "other properties"))
        }
    }
}

/// The decision on a method at its best strength.
fn of_method(results: &Results, best: &Tagged<OptimumFinding>, kept: &str) -> (Verdict, String) {
    let v = &best.value;
    let (title, goal) = (v.method_key().title(), goal_of(&v.method));
    let [does, not] = match goal {
        Goal::Counterfactual => ["sets another value", "set another value"],
        Goal::Nullifying => ["removes it", "remove it"],
    };
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
            false => (Verdict::No, format!("{title} does not both {not} and keep {kept}")),
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
        (Verdict::Yes, format!("{title} {does} and keeps {kept}"))
    } else {
        (Verdict::Mostly, format!("{title} mostly {does} and keeps {kept}"))
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

/// True if C and S reach the limits of `yes, mostly`.
pub(crate) fn has_passed(completeness: f64, selectivity: Option<f64>, floor: f64) -> bool {
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
