//! The lab's answer in sentences: whether scores find the words that annotators marked, and whether rankings are stable when words change.

use std::collections::BTreeSet;

use super::finding::{ALL, InterpretabilityFinding, Sample};
use super::methods::{RANDOM, named};
use super::results::Results;
use super::spec::Spec;
use super::summary::relative;
use base::numbers::{decimals, difference_places, probability, score};
use base::text::last_part;
use figure::capital;
use figure::layers::grouped;
use lab::answer::{asked_of, few};
use lab::compared::Number;
use lab::family::ALPHA;
use lab::interval::level_title;
use lab::{Answer, Tagged};
use stats::Estimate;

/// Accuracy below which a model often answers wrongly.
const OFTEN_RIGHT: f64 = 0.8;

pub(crate) fn question(spec: &Spec) -> String {
    let models = asked_of(&spec.models);
    format!("Which words do the answers of {models} rest on, and are they the words that annotators marked?")
}

fn title(method: &str) -> String {
    named(method).map_or(method, |m| m.title()).to_owned()
}

fn interval(e: Estimate) -> String {
    format!("{} [{}, {}]", score(e.mean), score(e.lo), score(e.hi))
}

pub(crate) fn answer(results: &Results, spec: &Spec) -> Answer {
    let overall = |i: &&Tagged<InterpretabilityFinding>| {
        let v = &i.value;
        v.perturbation == ALL && v.method != RANDOM
    };
    let mut all: Vec<_> = results.interpretability.iter().filter(overall).collect();
    // In a run with one dimension, there is no row for all dimensions.
    let pooled = all.iter().find(|i| i.value.dimension == ALL).or(all.first()).map(|i| i.value.dimension.clone());
    all.retain(|i| Some(&i.value.dimension) == pooled.as_ref());
    let several = spec.models.len() > 1;
    let who = |i: &Tagged<InterpretabilityFinding>| match several {
        true => format!("{} by {}", last_part(&i.model), title(&i.value.method)),
        false => title(&i.value.method),
    };
    // At the beginning of a sentence, a model's name keeps its spelling.
    let begins = |i: &Tagged<InterpretabilityFinding>| if several { who(i) } else { capital(&who(i)) };
    if all.is_empty() {
        return Answer::new(so_far(results), Vec::new(), Vec::new());
    }
    let (agrees, agreement) = agrees(&all, &begins, &who).unzip();
    let (holds, held) = holds(&all, &who).unzip();
    let says = [agrees, holds, differs(results)];
    let details = [agreement, held, sensitive(results, &all), stable(results, &all)];
    let originals = all.first().map_or(0, |i| i.value.originals);
    let mut doubts = Vec::new();
    let skewed = all.iter().any(|i| i.value.sensitivity.is_some());
    // Number of originals from which Student's t keeps its level, for relative changes and for scores.
    let (enough, simulated) = if skewed {
        (60, [(10, "90.2 to 92.1 %"), (20, "91.4 to 93.9 %"), (60, "93.1 to 93.7 %")])
    } else {
        (20, [(10, "91.6 %"), (20, "93.6 %"), (60, "94.4 %")])
    };
    doubts.extend(few(originals, enough, "originals", &simulated).filter(|_| originals > 0));
    doubts.extend(wrong(results));
    doubts.extend(incomplete(&all));
    Answer::new(says.into_iter().flatten().collect(), details.into_iter().flatten().collect(), doubts)
}

/// How many sentences have scores while there is no agreement yet; empty before the first.
fn so_far(results: &Results) -> Vec<String> {
    let Some(last) = results.rows.last() else { return Vec::new() };
    let model = &last.model;
    let scored = results.rows.iter().filter(|r| r.model == *model && r.value.method == last.value.method).count();
    vec![format!(
        "{} of {} sentences have scores by {}; their agreement with annotators is computed after the first eighth.",
        grouped(scored),
        grouped(results.sentences.len()),
        last_part(model)
    )]
}

type Row<'a> = &'a Tagged<InterpretabilityFinding>;

/// All methods, ordered by a measure, best first.
fn ordered<'a>(all: &[Row<'a>], of: impl Fn(&InterpretabilityFinding) -> Option<Estimate>) -> Vec<(Row<'a>, Estimate)> {
    let mut rows: Vec<_> = all.iter().filter_map(|i| of(&i.value).map(|e| (*i, e))).collect();
    rows.sort_by(|a, b| b.1.mean.total_cmp(&a.1.mean));
    rows
}

fn others(rows: &[(Row<'_>, Estimate)], who: &impl Fn(Row<'_>) -> String) -> String {
    let rest = rows.iter().skip(1).take(3).map(|(i, e)| format!("; {} {}", who(i), interval(*e)));
    rest.collect()
}

/// The reason for naming one of several rows: `, the least of 4 methods`.
fn among(which: &str, rows: &[(Row<'_>, Estimate)]) -> String {
    let one_model = rows.iter().all(|(i, _)| i.model == rows[0].0.model);
    match rows.len() {
        0 | 1 => String::new(),
        n if one_model => format!(", the {which} of {n} methods"),
        n => format!(", the {which} of {n} pairs of a model and a method"),
    }
}

/// Agreement with annotators: of the best method, and of all with their examples.
fn agrees(
    all: &[Row<'_>],
    begins: &impl Fn(Row<'_>) -> String,
    who: &impl Fn(Row<'_>) -> String,
) -> Option<(String, String)> {
    let rows = ordered(all, |v| v.token_f1);
    let (best, f1) = rows.first()?;
    let chance = best.value.random_f1?;
    let verdict = match best.value.f1_above {
        Some(above) if above.lo > 0.0 => "finds the words that annotators marked better than chance",
        Some(above) if above.hi < 0.0 => "finds the words that annotators marked worse than chance",
        _ => "cannot be distinguished from chance in finding the words that annotators marked",
    };
    let (n, all) = (grouped(best.value.originals), best.n);
    // Intervals are over originals, because partners are not independent evidence.
    let inputs = match all.saturating_sub(best.value.originals) {
        0 => String::new(),
        partners => format!(" and their {} changed partners: {} sentences", grouped(partners), grouped(all)),
    };
    let above = best.value.f1_above.map_or(String::new(), |above| {
        let places = difference_places(above.mean, [f1.mean, chance.mean], 2);
        let [mean, lo, hi] = [above.mean, above.lo, above.hi].map(|x| decimals(x, places));
        format!(", difference {mean} [{lo}, {hi}]")
    });
    let level = level_title(best.level);
    Some((
        format!(
            "{} {verdict}: token-F1 {}, chance {} ({n} originals, {level} intervals).",
            begins(best),
            interval(*f1),
            score(chance.mean)
        ),
        format!(
            "Token-F1 (overlap, 0 to 1), on {n} originals{inputs}: {} {}; chance {}{above}{}.",
            who(best),
            interval(*f1),
            interval(chance),
            others(&rows, who)
        ),
    ))
}

/// Agreement between sentences and their changed partners: of the best method, and of all.
fn holds(all: &[Row<'_>], who: &impl Fn(Row<'_>) -> String) -> Option<(String, String)> {
    let rows = ordered(all, |v| v.map);
    let (best, map) = rows.first()?;
    let chance = best.value.random_map?;
    let keeps = if map.lo > chance.mean { "keeps its ranking" } else { "keeps its ranking no better than chance" };
    let pairs = grouped(best.value.pairs);
    Some((
        format!(
            "When words change, {} {keeps}: MAP {}, chance {} ({pairs} pairs).",
            who(best),
            interval(*map),
            score(chance.mean)
        ),
        format!(
            "MAP (mean average precision, 0 to 1), on {pairs} pairs of an original and a partner: {} {}; chance {}{}.",
            who(best),
            interval(*map),
            interval(chance),
            others(&rows, who)
        ),
    ))
}

/// A doubt about a model that often answers wrongly: the scores also cover explanations of wrong answers.
fn wrong(results: &Results) -> Option<String> {
    let all = |a: &&Tagged<super::finding::AccuracyFinding>| {
        a.value.dimension == ALL && a.value.perturbation == ALL && a.value.top1.mean < OFTEN_RIGHT
    };
    let worst = results.accuracy.iter().filter(all).min_by(|a, b| a.value.top1.mean.total_cmp(&b.value.top1.mean))?;
    let models: BTreeSet<&str> = results.accuracy.iter().filter(all).map(|a| a.model.as_str()).collect();
    let of = match models.len() {
        1 => String::new(),
        n => format!(", the worst of {n} models that are often wrong,"),
    };
    Some(format!(
        "{}{of} answers only {:.0} % [{:.0}, {:.0}] of {} {} correctly: the scores also cover explanations of wrong answers",
        last_part(&worst.model),
        100.0 * worst.value.top1.mean,
        100.0 * worst.value.top1.lo,
        100.0 * worst.value.top1.hi,
        grouped(worst.n),
        if worst.value.sample == Sample::Original.name() { "originals" } else { "sentences" }
    ))
}

/// The method whose rationales need the smallest change to change the answer, compared with random words.
fn sensitive(results: &Results, all: &[Row<'_>]) -> Option<String> {
    let mut rows = ordered(all, |v| v.sensitivity);
    let among = among("least", &rows);
    let (best, least) = rows.pop()?;
    Some(format!(
        "{} changes its answer when the embeddings of the words that {} ranks highest move by {} of the sentence's norm{among}; for random words it takes {}.",
        last_part(&best.model),
        title(&best.value.method),
        relative(least),
        relative(random(results, best)?.value.sensitivity?)
    ))
}

/// The row of the random ranking for the same model and sentences.
fn random<'a>(results: &'a Results, of: Row<'_>) -> Option<Row<'a>> {
    results.interpretability.iter().find(|i| {
        let (v, same) = (&i.value, &of.value);
        let place = (&v.dimension, &v.perturbation);
        v.method == RANDOM && i.model == of.model && place == (&same.dimension, &same.perturbation)
    })
}

/// The method with the most stable ranking among inputs with an unchanged answer, compared with a random ranking.
fn stable(results: &Results, all: &[Row<'_>]) -> Option<String> {
    let rows = ordered(all, |v| v.stability);
    let (best, most) = rows.first()?;
    Some(format!(
        "Where {} gives a changed sentence the same answer, the lowest MAP of the ranking by {} is {} on average over originals{}, and {} for a random ranking.",
        last_part(&best.model),
        title(&best.value.method),
        interval(*most),
        among("highest", &rows),
        interval(random(results, best)?.value.stability?)
    ))
}

/// The method whose agreement with annotators depends most on whether the answer is right; `None` if no adjusted test shows a difference.
fn differs(results: &Results) -> Option<String> {
    let all = super::summary::right_minus_wrong(results);
    let found = || all.iter().filter(|(.., p)| *p <= ALPHA);
    let (most, gap, p) = found().max_by(|a, b| a.1.mean.abs().total_cmp(&b.1.mean.abs()))?;
    let of = if all.len() > 1 { format!(" (Holm, {} tests)", all.len()) } else { String::new() };
    let largest = match found().count() {
        1 => String::new(),
        n => format!("; the largest of {n} differences"),
    };
    Some(format!(
        "{} agrees {} with annotators where {} is right than where it is wrong: token-F1 above chance, right minus wrong {}, {adjusted}p {}{of}{largest}.",
        capital(&title(&most.value.numbers.method)),
        if gap.mean > 0.0 { "better" } else { "worse" },
        last_part(&most.model),
        interval(*gap),
        probability(*p),
        adjusted = if of.is_empty() { "" } else { "adjusted " }
    ))
}

/// The doubt about rows of integrated gradients outside the tolerance.
fn incomplete(all: &[Row<'_>]) -> Option<String> {
    let worst = all.iter().filter(|i| i.value.incomplete > 0).max_by_key(|i| i.value.incomplete)?;
    let share = 100.0 * worst.value.incomplete as f64 / worst.n.max(1) as f64;
    let on = match all.iter().any(|i| i.model != worst.model) {
        true => format!("on {} (worst), ", last_part(&worst.model)),
        false => String::new(),
    };
    Some(format!(
        "{on}the scores of {} are approximate for {share:.0} % of sentences: they do not add up to the model's output",
        title(&worst.value.method)
    ))
}

/// Token-F1 and MAP for every model and method, their chance levels, and the share of right answers.
pub(crate) fn numbers(results: &Results) -> Vec<Number> {
    let number = |name: String, model: &str, value: Estimate, n: usize, level: Option<f64>| Number {
        name,
        group: model.to_owned(),
        value,
        n: n.into(),
        level: level.unwrap_or(0.95),
        unit: (1.0, ""),
        distrusted: false,
        stands_in: None,
    };
    let overall = || {
        let all = |i: &&Tagged<InterpretabilityFinding>| {
            (i.value.dimension.as_str(), i.value.perturbation.as_str()) == (ALL, ALL) && i.value.method != RANDOM
        };
        results.interpretability.iter().filter(all)
    };
    let mut models: Vec<&str> = overall().map(|i| i.model.as_str()).collect();
    models.dedup();
    let chance = models.into_iter().filter_map(|model| overall().find(|i| i.model == model)).flat_map(|i| {
        let both = [("token-F1 by chance", i.value.random_f1), ("MAP by chance", i.value.random_map)];
        both.map(|(name, value)| Some(number(name.into(), &i.model, value?, i.value.originals, i.level)))
    });
    let scores = overall().flat_map(|i| {
        let method = title(&i.value.method);
        let named = [("token-F1", i.value.token_f1), ("MAP", i.value.map)];
        let of = |(name, value): (&str, Option<Estimate>)| {
            Some(number(format!("{name} of {method}"), &i.model, value?, i.value.originals, i.level))
        };
        named.into_iter().filter_map(of).collect::<Vec<_>>()
    });
    let right = results.accuracy.iter().filter(|a| a.value.dimension == ALL && a.value.perturbation == ALL);
    let right =
        right.map(|a| number(format!("right answers ({})", a.value.sample), &a.model, a.value.top1, a.n, a.level));
    scores.chain(chance.flatten()).chain(right).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_question_names_the_models() {
        let asked = question(&Spec::shipped());
        assert!(asked.starts_with("Which words do the answers of bert-mini rest on"), "{asked}");
    }

    #[test]
    fn without_results_there_is_nothing_to_say() {
        assert_eq!(answer(&Results::default(), &Spec::shipped()), Answer::default());
    }

    /// Regression: the samples of one model used to be counted as models: "the worst of 3 models".
    #[test]
    fn one_model_is_not_the_worst_of_several() {
        let of = |model: &str, sample: &str| {
            let share = serde_json::json!({"mean": 0.4, "lo": 0.3, "hi": 0.5});
            let value = serde_json::json!({"dimension": "all", "sample": sample, "perturbation": "all", "top1": share, "top3": share});
            let (spec, model, value) = (String::new(), model.to_owned(), serde_json::from_value(value).unwrap());
            Tagged { spec, model, seed: 0, n: 40, is_final: true, t: 0.0, level: None, value }
        };
        let mut accuracy = vec![of("a", "original"), of("a", "perturbed"), of("a", "all")];
        let doubt = |accuracy: &[Tagged<super::super::finding::AccuracyFinding>]| {
            wrong(&Results { accuracy: accuracy.to_vec(), ..Results::default() }).unwrap()
        };
        assert!(doubt(&accuracy).starts_with("a answers only"), "{}", doubt(&accuracy));
        accuracy.push(of("b", "original"));
        assert!(doubt(&accuracy).starts_with("a, the worst of 2 models"), "{}", doubt(&accuracy));
    }

    /// A method that differs when tested alone may no longer do so after the p-values are adjusted.
    #[test]
    fn a_difference_by_answers_is_claimed_only_after_holm() {
        let results = |p: [f64; 2]| {
            let of = |(method, p): (&str, f64)| {
                let value = serde_json::json!({"answers": "right", "dimension": "all", "perturbation": "all", "method": method,
                    "f1_gap": {"mean": 0.2, "lo": 0.01, "hi": 0.39}, "f1_gap_p": p, "pcc_kept": 0, "pcc_total": 0,
                    "pcc_undefined": 0, "pairs": 0, "missing": 0, "originals": 40, "incomplete": 0});
                let value = serde_json::from_value(value).unwrap();
                let (spec, model) = (String::new(), "bert-mini".to_owned());
                Tagged { spec, model, seed: 0, n: 40, is_final: true, t: 0.0, level: None, value }
            };
            Results {
                correctness: ["attention", "gradient"].into_iter().zip(p).map(of).collect(),
                ..Results::default()
            }
        };
        let told = |p| (differs(&results(p)), super::super::summary::lines(&results(p)).join("\n"));
        let (says, lines) = told([0.03, 0.04]);
        assert_eq!(says, None);
        assert_eq!(lines.matches("shows no difference").count(), 2, "{lines}");
        let (says, lines) = told([0.01, 0.06]);
        assert!(says.as_deref().is_some_and(|s| s.contains(", adjusted p .020 (Holm, 2 tests).")), "{says:?}");
        assert!(says.as_deref().is_some_and(|s| s.starts_with("Attention agrees better")), "{says:?}");
        assert_eq!(lines.matches("agrees better").count(), 1, "{lines}");
        let (says, _) = told([0.001, 0.002]);
        assert!(says.as_deref().is_some_and(|s| s.contains("; the largest of 2 differences.")), "{says:?}");
    }
}
