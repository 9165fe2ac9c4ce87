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
    let done = results.relations.len();
    let all = results.data.as_ref().map_or(done, |d| d.value.relations.len());
    if results.summaries.is_empty() {
        return Answer::new(so_far(results, done, all), Vec::new());
    }
    let says = [decides(results), averaged(results, asked, done), unstable(results), stability(results)];
    let mut doubts: Vec<String> =
        few(done, ENOUGH, "relations", &[(5, "92.9 %"), (10, "94.8 %")]).into_iter().collect();
    doubts.extend(luck(results, spec));
    doubts.extend(found(results));
    let facts: usize = results.relations.iter().map(|r| r.value.facts).sum();
    if facts > 0 && (facts - asked) as f64 > LEFT_OUT * facts as f64 {
        let lost = grouped(facts - asked);
        doubts.push(format!(
            "{lost} of {} facts are left out because not every model can be tested on them",
            grouped(facts)
        ));
    }
    Answer::new(says.into_iter().flatten().collect(), doubts)
}

/// Progress of the run, and the largest gap between two prompts so far.
fn so_far(results: &Results, done: usize, all: usize) -> Vec<String> {
    let widest = results.preferences.iter().max_by(|a, b| a.value.gap.mean.total_cmp(&b.value.gap.mean));
    let Some(widest) = widest else { return Vec::new() };
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

/// The adjusted scores of the models, highest first.
fn averaged(results: &Results, asked: usize, relations: usize) -> Option<String> {
    let adjusted = |s: &Tagged<PreferenceSummaryFinding>| s.value.mean_adjusted.map(|e| (s.model.clone(), e));
    let mut all: Vec<(String, Estimate)> =
        results.summaries.iter().filter(|s| s.model != ALL).filter_map(adjusted).collect();
    all.sort_by(|a, b| b.1.mean.total_cmp(&a.1.mean));
    let more = all.len().saturating_sub(NAMED);
    let named: Vec<String> = all.iter().take(NAMED).map(|(m, e)| format!("{} {}", last_part(m), within(*e))).collect();
    let more = if more > 0 { format!(" and {more} more below") } else { String::new() };
    (!named.is_empty()).then(|| {
        format!(
            "Averaged over prompts and names: {}{more} ({} facts of {}).",
            named.join(", "),
            grouped(asked),
            if relations == 1 { "1 relation".to_owned() } else { format!("{relations} relations") }
        )
    })
}

/// Sentence on how much the choice of prompt changes the first model's score.
fn decides(results: &Results) -> Option<String> {
    let first = results.models().into_iter().next()?;
    let summary = results.summaries.iter().find(|s| s.model == first)?;
    let v = &summary.value;
    let (worst, best, gap) = (v.mean_worst?, v.mean_best?, v.mean_gap?);
    let ends = |e: Estimate| format!("[{:.0}, {:.0}]", 100.0 * e.lo, 100.0 * e.hi);
    let held = v.mean_gap_held_out;
    let held = held.map_or(String::new(), |e| {
        format!(", or {:.0} {} if both prompts are chosen on other facts", 100.0 * e.mean, ends(e))
    });
    let matters = if gap.lo > 0.0 { "matters" } else { "may matter" };
    Some(format!(
        "The prompt {matters}: {} finds {} ({} intervals) of its facts under the best one and {} under the worst, a gap of {:.0} points {}{held}.",
        with_place(results, first),
        within(best),
        level_title(summary.level),
        within(worst),
        100.0 * gap.mean,
        ends(gap)
    ))
}

/// The name of the first model and, if there are others, why this one is described.
fn with_place(results: &Results, first: &str) -> String {
    match results.models().len() {
        1 => last_part(first).to_owned(),
        all => format!("{}, the first of {all} models in the settings,", last_part(first)),
    }
}

/// The doubt about prompts found by search: they count like written ones but favour the model for which they were found.
fn found(results: &Results) -> Option<String> {
    let v = &results.tuned.first()?.value;
    let model = last_part(&v.found_for);
    Some(format!("prompts found by a search on {model} count like written ones, but favour {model}"))
}

/// The number of relations on which the order of models changes with the prompt.
fn unstable(results: &Results) -> Option<String> {
    let v = &results.summaries.iter().find(|s| s.value.unstable.is_some())?.value;
    // A single model cannot be ranked.
    let changed = v.unstable_relations.filter(|_| results.models().len() > 1)?;
    let share = v.unstable.map_or(String::new(), |e| format!(" ({})", within(e)));
    Some(format!(
        "The order of the models, ties included, changes with the prompt in {changed} of {} relations{share}{}.",
        v.relations,
        swapped(results).unwrap_or_default()
    ))
}

/// The number of relations in which two models change places without a tie: one is better with one prompt, and worse with another.
fn swapped(results: &Results) -> Option<String> {
    let models = results.models();
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
    Some(format!("; in {count} of {n} ({}), two models change places without a tie", within(interval)))
}

/// Share of answers that are the same under every name of their subject.
fn stability(results: &Results) -> Option<String> {
    let first = results.models().into_iter().next()?;
    let v = &results.summaries.iter().find(|s| s.model == first)?.value;
    let e = v.mean_stability?;
    let who = with_place(results, first);
    Some(format!("{who} gives the same answer under all names of a subject {} of the time.", within(e)))
}

/// The doubt about the gap between the first two models, whose variance is partly due to the choice of prompt.
fn luck(results: &Results, spec: &Spec) -> Option<String> {
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
        let said = |results: &Results| {
            let answer = answer(results, &Spec::shipped());
            [answer.says, answer.doubts].concat().join(" ")
        };
        let before = said(&results);
        assert!(before.contains("count like written ones"), "{before}");
        assert!(before.contains("The order of the models, ties included, changes with the prompt in 1 of"), "{before}");
        results.data.as_mut().unwrap().value.models.truncate(1);
        results.tuned.clear();
        let after = said(&results);
        assert!(!after.contains("The order of the models") && !after.contains("count like"), "{after}");
    }

    /// Regression: the answer used to name one of several models without the reason.
    #[test]
    fn a_model_that_speaks_for_several_is_named_with_the_reason() {
        let mut results = crate::testing::results();
        results.summaries.iter_mut().for_each(|s| s.value.mean_stability = s.value.mean_adjusted);
        let (first, of) = (last_part(results.models()[0]).to_owned(), results.models().len());
        let said = answer(&results, &Spec::shipped());
        let reason = format!("{first}, the first of {of} models in the settings,");
        let about = |says: &[String], begins: &str| says.iter().find(|text| text.contains(begins)).cloned().unwrap();
        assert!(about(&said.says, "under the worst").contains(&reason), "{said:?}");
        assert!(about(&said.says, "gives the same answer").contains(&reason), "{said:?}");
        assert!(about(&said.doubts, "variance").contains("the first two models in the settings"), "{said:?}");
    }

    /// Regression: the answer used to count only changes of the order that include ties.
    #[test]
    fn strict_reversals_are_counted_beside_ties() {
        let mut results = crate::testing::results();
        let relations = results.relations.len();
        assert!(swapped(&results).unwrap().starts_with(&format!("; in 1 of {relations} (")), "{:?}", swapped(&results));
        // With equal scores under one prompt, no model is ever strictly behind.
        let best = results.scores.iter().filter(|s| s.value.prompt_index.is_some()).map(|s| s.value.p_at_1);
        let best = best.max_by(|a, b| a.mean.total_cmp(&b.mean)).unwrap();
        results.scores.iter_mut().filter(|s| s.value.prompt_index == Some(0)).for_each(|s| s.value.p_at_1 = best);
        assert!(swapped(&results).unwrap().starts_with(&format!("; in 0 of {relations} (")), "{:?}", swapped(&results));
    }

    /// Regression: the scores of the best and worst prompt, and the prompt's share of the gap's variance, used to have no interval.
    #[test]
    fn every_share_of_the_answer_has_its_interval() {
        let answer = answer(&crate::testing::results(), &Spec::shipped());
        let shares = |text: &str| text.matches(" %").count();
        for text in answer.says.iter().map(|text| text.replace("(95 % intervals) ", "")) {
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
