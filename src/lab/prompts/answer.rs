//! The lab's answer in sentences: what the models know, how much the prompt matters, and doubts.

use super::finding::{ALL, LedgerFinding, PreferenceSummaryFinding};
use super::results::Results;
use super::spec::Spec;
use base::text::last_part;
use figure::layers::grouped;
use lab::answer::{asked_of, few};
use lab::compared::Number;
use lab::interval::level_title;
use lab::{Answer, Tagged};
use stats::Estimate;

/// Maximum number of models named in a sentence.
const NAMED: usize = 4;
/// Minimum share of omitted facts at which the answer includes a doubt.
const LEFT_OUT: f64 = 0.1;
/// Minimum number of relations at which the interval of a mean has its nominal coverage.
const ENOUGH: usize = 10;

pub(crate) fn question(spec: &Spec) -> String {
    let models = asked_of(&spec.models);
    let seem = if spec.models.len() == 1 { "seems" } else { "seem" };
    format!("How much of what {models} {seem} to know is the prompt, the name or the sample?")
}

fn whole(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// Formats a share with its interval: `52 % [48, 56]`.
fn within(e: Estimate) -> String {
    format!("{} [{:.0}, {:.0}]", whole(e.mean), 100.0 * e.lo, 100.0 * e.hi)
}

pub(crate) fn answer(results: &Results, spec: &Spec) -> Answer {
    let asked: usize = results.relations.iter().map(|r| r.value.kept).sum();
    let done = results.relations.iter().filter(|r| r.is_final).count();
    let all = results.data.as_ref().map_or(done, |d| d.value.relations.len());
    if results.summaries.is_empty() {
        return Answer::new(so_far(results, done, all), Vec::new(), Vec::new());
    }
    let part = if done < all { format!(", {done} of {all} relations so far") } else { String::new() };
    let says = [matters(results, &part), averaged(results), reordered(results)];
    let details = [decides(results), swapped(results), stability(results)];
    let mut doubts: Vec<String> =
        few(done, ENOUGH, "relations", &[(5, "92.9 %"), (10, "94.8 %")]).into_iter().collect();
    doubts.extend(prompt_choice_doubt(results, spec));
    doubts.extend(found(results));
    let facts: usize = results.relations.iter().map(|r| r.value.facts).sum();
    if facts > 0 && (facts - asked) as f64 > LEFT_OUT * facts as f64 {
        let lost = grouped(facts - asked);
        doubts.push(format!(
            "{lost} of {} facts are left out because not every model can be tested on them",
            grouped(facts)
        ));
    }
    let all = |sentences: [Option<String>; 3]| sentences.into_iter().flatten().collect();
    Answer::new(all(says), all(details), doubts)
}

/// Progress of the run, and the largest gap between two prompts so far.
fn so_far(results: &Results, done: usize, all: usize) -> Vec<String> {
    let widest = results.preferences.iter().max_by(|a, b| a.value.gap.mean.total_cmp(&b.value.gap.mean));
    let Some(widest) = widest else {
        let scored = results.scores.iter().filter(|s| s.value.prompt_index.is_some()).count();
        let text =
            format!("No relation of {all} is complete; {} scores of single prompts are in the lists.", grouped(scored));
        return if scored > 0 { vec![text] } else { Vec::new() };
    };
    let v = &widest.value;
    vec![format!(
        "{done} of {all} relations tested. Largest gap so far, on {}: {} finds {} of the facts with its worst prompt and {} with its best (n {}).",
        v.relation.replace('_', " "),
        last_part(&widest.model),
        within(v.worst),
        within(v.best),
        grouped(widest.n)
    )]
}

/// A mean over relations for every model that has it, in the order of the settings.
fn of_models(results: &Results, mean: impl Fn(&PreferenceSummaryFinding) -> Option<Estimate>) -> Vec<(&str, Estimate)> {
    let of = |model: &str| results.summaries.iter().find(|s| s.model == model).and_then(|s| mean(&s.value));
    results.models().into_iter().filter_map(|model| Some((model, of(model)?))).collect()
}

/// Formats values with the names of their models, at most four: `a 52 % [48, 56], b 48 % [44, 52]`.
fn named(all: &[(&str, Estimate)], format: impl Fn(Estimate) -> String) -> String {
    let shown: Vec<String> =
        all.iter().take(NAMED).map(|(model, e)| format!("{} {}", last_part(model), format(*e))).collect();
    shown.join(", ") + &beyond(all.len())
}

/// The number of models beyond those that a sentence names.
fn beyond(models: usize) -> String {
    let more = models.saturating_sub(NAMED);
    if more > 0 { format!(" and {more} more below") } else { String::new() }
}

/// Number of relations and facts tested: `4 relations × 12 facts`, or `50 facts of 4 relations` if the numbers of facts differ.
fn counted(results: &Results) -> String {
    let complete = results.relations.iter().filter(|r| r.is_final);
    let kept: Vec<usize> = complete.map(|r| r.value.kept).filter(|n| *n > 0).collect();
    match kept.as_slice() {
        [one] => format!("{} facts of 1 relation", grouped(*one)),
        [first, rest @ ..] if rest.iter().all(|n| n == first) => {
            format!("{} relations × {} facts", kept.len(), grouped(*first))
        }
        all => format!("{} facts of {} relations", grouped(all.iter().sum()), all.len()),
    }
}

/// The adjusted scores of the models, highest first.
fn averaged(results: &Results) -> Option<String> {
    let mut all = of_models(results, |v| v.mean_adjusted);
    all.sort_by(|a, b| b.1.mean.total_cmp(&a.1.mean));
    (!all.is_empty()).then(|| format!("Averaged over prompts and names: {}.", named(&all, within)))
}

/// How much the choice of prompt changes the score of each model. `part` says how many relations are tested so far.
fn matters(results: &Results, part: &str) -> Option<String> {
    let gaps = of_models(results, |v| v.mean_gap);
    let (first, gap) = gaps.first()?;
    let level = results.summaries.iter().find(|s| s.model == *first)?.level;
    let by = |(i, (model, e)): (usize, &(&str, Estimate))| {
        let unit = if i == 0 { " points" } else { "" };
        let [mean, lo, hi] = [e.mean, e.lo, e.hi].map(|x| 100.0 * x);
        format!("{mean:.0}{unit} [{lo:.0}, {hi:.0}] on {}", last_part(model))
    };
    let all: Vec<String> = gaps.iter().take(NAMED).enumerate().map(by).collect();
    Some(format!(
        "The prompt {}: the best one beats the worst by {}{} ({}{part}, {} intervals).",
        if gap.lo > 0.0 { "matters" } else { "may matter" },
        all.join(", "),
        beyond(gaps.len()),
        counted(results),
        level_title(level),
    ))
}

/// The first model's scores under its best and worst prompt, and their difference on facts that did not choose them.
fn decides(results: &Results) -> Option<String> {
    let first = results.models().into_iter().next()?;
    let v = &results.summaries.iter().find(|s| s.model == first)?.value;
    let held = v.mean_gap_held_out.map_or(String::new(), |e| {
        let [mean, lo, hi] = [e.mean, e.lo, e.hi].map(|x| 100.0 * x);
        format!("; a gap of {mean:.0} points [{lo:.0}, {hi:.0}] if both prompts are chosen on other facts")
    });
    Some(format!(
        "{} finds {} of its facts under the best prompt and {} under the worst{held}.",
        last_part(first),
        within(v.mean_best?),
        within(v.mean_worst?)
    ))
}

/// The doubt about prompts found by search: they count like written ones but favour the model for which they were found.
fn found(results: &Results) -> Option<String> {
    let v = &results.tuned.first()?.value;
    let model = last_part(&v.found_for);
    Some(format!("prompts found by a search on {model} count like written ones, but favour {model}"))
}

/// The number of relations on which the order of models changes with the prompt.
fn reordered(results: &Results) -> Option<String> {
    let v = &results.summaries.iter().find(|s| s.value.unstable.is_some())?.value;
    // A single model cannot be ranked.
    let changed = v.unstable_relations.filter(|_| results.models().len() > 1)?;
    let share = v.unstable.map_or(String::new(), |e| format!(" ({})", within(e)));
    Some(format!(
        "The order of the models, ties included, changes with the prompt in {changed} of {} relations{share}.",
        v.relations
    ))
}

/// The number of relations in which two models change places without a tie: one is better with one prompt, and worse with another.
fn swapped(results: &Results) -> Option<String> {
    let models = results.models();
    if models.len() < 2 {
        return None;
    }
    let swaps = |relation: &str| {
        let mine = results.scores.iter().filter(|s| s.value.relation == relation);
        let mut by_prompt: Vec<Vec<Option<f64>>> = Vec::new();
        for score in mine {
            let (Some(prompt), Some(model)) = (score.value.prompt_index, models.iter().position(|m| *m == score.model))
            else {
                continue;
            };
            if by_prompt.len() <= prompt {
                by_prompt.resize(prompt + 1, vec![None; models.len()]);
            }
            by_prompt[prompt][model] = Some(score.value.p_at_1.mean);
        }
        let pairs = (0..models.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
        let ahead = |a: usize, b: usize| by_prompt.iter().any(|p| p[a].zip(p[b]).is_some_and(|(a, b)| a > b));
        pairs.into_iter().any(|(a, b)| ahead(a, b) && ahead(b, a))
    };
    let (n, level) = (results.relations.len(), results.summaries.iter().find_map(|s| s.level)?);
    let count = results.relations.iter().filter(|r| swaps(&r.value.relation)).count();
    let interval = (n > 0).then(|| stats::intervals::share(count as u64, n as u64, level))?;
    Some(format!("In {count} of {n} relations ({}), two models change places without a tie.", within(interval)))
}

/// Share of subjects with the same answer under all their names, for every model.
fn stability(results: &Results) -> Option<String> {
    let all = of_models(results, |v| v.mean_stability);
    (!all.is_empty())
        .then(|| format!("Same answer under all names of a subject, with the first prompt: {}.", named(&all, within)))
}

/// The doubt about the gap between the first two models, whose variance is partly due to the choice of prompt.
fn prompt_choice_doubt(results: &Results, spec: &Spec) -> Option<String> {
    let first = |l: &&Tagged<LedgerFinding>| spec.models.first().is_some_and(|m| l.value.a == *m);
    let v = &results.ledgers.iter().find(first).or(results.ledgers.first())?.value;
    let share = v.parts.prompt_share?;
    let pair = if results.ledgers.len() > 1 { ", the first two models in the settings," } else { "" };
    Some(format!(
        "with a single prompt, the gap between {} and {}{pair} depends on that prompt: its choice accounts for {} of the gap's variance",
        last_part(&v.a),
        last_part(&v.b),
        within(share)
    ))
}

/// Adjusted score, gap between prompts, and worst and best prompt of every model.
pub(crate) fn numbers(results: &Results) -> Vec<Number> {
    let of = |s: &Tagged<PreferenceSummaryFinding>| {
        let v = &s.value;
        let named = [
            ("adjusted score", v.mean_adjusted),
            ("gap of prompts", v.mean_gap),
            ("worst prompt", v.mean_worst),
            ("best prompt", v.mean_best),
            ("stability under names", v.mean_stability),
        ];
        let number = |(name, value): (&str, Option<Estimate>)| {
            Some(Number {
                name: name.into(),
                group: s.model.clone(),
                value: value?,
                n: s.n.into(),
                level: s.level.unwrap_or(0.95),
                unit: (100.0, " points"),
                distrusted: false,
                stands_in: None,
            })
        };
        named.into_iter().filter_map(number).collect::<Vec<_>>()
    };
    results.summaries.iter().filter(|s| s.model != ALL).flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_question_counts_many_models() {
        let mut spec = Spec::shipped();
        spec.models = ["a", "b", "c", "d", "e"].map(String::from).to_vec();
        assert!(question(&spec).starts_with("How much of what 5 models seem to know"), "{}", question(&spec));
        spec.models.truncate(1);
        assert!(question(&spec).contains("what a seems to know"));
    }

    /// A single model cannot be ranked. Regression: the answer used to omit the doubt that scores include found prompts.
    #[test]
    fn one_model_has_no_order_and_found_prompts_are_a_doubt() {
        let mut results = crate::testing::results();
        let summary = &mut results.summaries.last_mut().unwrap().value;
        (summary.unstable, summary.unstable_relations) = (Some(Estimate { mean: 1.0, lo: 0.0, hi: 1.0 }), Some(1));
        let said = |results: &Results| answer(results, &Spec::shipped()).lines().join(" ");
        let before = said(&results);
        assert!(before.contains("count like written ones"), "{before}");
        assert!(before.contains("The order of the models, ties included, changes with the prompt in 1 of"), "{before}");
        results.data.as_mut().unwrap().value.models.truncate(1);
        results.tuned.clear();
        let after = said(&results);
        assert!(!after.contains("The order of the models") && !after.contains("count like"), "{after}");
    }

    /// Regression: the answer used to be about the first model alone, while the list beside it shows means over the models.
    #[test]
    fn every_model_has_its_gap_and_stability_in_the_answer() {
        let mut results = crate::testing::results();
        results.summaries.iter_mut().for_each(|s| s.value.mean_stability = s.value.mean_adjusted);
        let said = answer(&results, &Spec::shipped());
        let about = |says: &[String], begins: &str| says.iter().find(|text| text.contains(begins)).cloned().unwrap();
        let gaps = about(&said.says, "beats the worst");
        assert!(["on a,", "on b,", "on c "].iter().all(|model| gaps.contains(model)), "{gaps}");
        let same = about(&said.evidence, "Same answer");
        assert!(["a ", "b ", "c "].iter().all(|model| same.contains(model)), "{same}");
        assert!(said.says[0].contains("(40 facts of 1 relation, 95 % intervals)"), "{said:?}");
        assert!(about(&said.doubts, "variance").contains("the first two models in the settings"), "{said:?}");
    }

    #[test]
    fn facts_are_counted_by_relation_if_all_have_as_many() {
        let mut results = crate::testing::results();
        results.relations.push(results.relations[0].clone());
        assert_eq!(counted(&results), "2 relations × 40 facts");
        results.relations[1].value.kept = 30;
        assert_eq!(counted(&results), "70 facts of 2 relations");
        results.relations[1].value.kept = 0;
        assert_eq!(counted(&results), "40 facts of 1 relation", "a relation without facts has no mean");
    }

    /// Regression: the answer used to count only changes of the order that include ties.
    #[test]
    fn strict_reversals_are_counted_beside_ties() {
        let mut results = crate::testing::results();
        let relations = results.relations.len();
        assert!(
            swapped(&results).unwrap().starts_with(&format!("In 1 of {relations} relations (")),
            "{:?}",
            swapped(&results)
        );
        // With equal scores under one prompt, no model is ever strictly behind.
        let best = results.scores.iter().filter(|s| s.value.prompt_index.is_some()).map(|s| s.value.p_at_1);
        let best = best.max_by(|a, b| a.mean.total_cmp(&b.mean)).unwrap();
        results.scores.iter_mut().filter(|s| s.value.prompt_index == Some(0)).for_each(|s| s.value.p_at_1 = best);
        assert!(
            swapped(&results).unwrap().starts_with(&format!("In 0 of {relations} relations (")),
            "{:?}",
            swapped(&results)
        );
    }

    /// Regression: the scores of the best and worst prompt, and the prompt's share of the gap's variance, used to have no interval.
    #[test]
    fn every_share_of_the_answer_has_its_interval() {
        let answer = answer(&crate::testing::results(), &Spec::shipped());
        let shares = |text: &str| text.matches(" %").count();
        let all = answer.says.iter().chain(&answer.evidence);
        for text in all.map(|text| text.replace("95 % intervals", "")) {
            assert!(text.matches('[').count() >= shares(&text), "{text}");
        }
        assert!(
            answer.doubts.iter().filter(|text| text.contains("variance")).all(|text| text.contains('[')),
            "{answer:?}"
        );
    }

    #[test]
    fn without_results_there_is_nothing_to_say() {
        assert_eq!(answer(&Results::default(), &Spec::shipped()), Answer::default());
    }
}
