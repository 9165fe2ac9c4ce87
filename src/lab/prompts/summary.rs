//! The tables printed after a run, with intervals: data, scores by model, ranks, ledgers.

use super::candidates::Candidates;
use super::consistency::Regime;
use super::finding::{ModelNote, RankConsistencyFinding, TunedFinding};
use super::ledger::DOUBT;
use super::results::Results;
use super::spec::Spec;
use base::text::{brief_name, printable_label, section};
use stats::estimate::Estimate;

pub fn summary(results: &Results, spec: &Spec) -> Vec<String> {
    let mut out = Vec::new();
    let kept: usize = results.relations.iter().map(|r| r.value.kept).sum();
    let facts: usize = results.relations.iter().map(|r| r.value.facts).sum();
    out.push(printable_label(&format!(
        "{} relations; {kept} of {facts} facts usable with all {} models; candidate answers: `{}`; weights: {}; seed {}",
        results.relations.len(),
        spec.models.len(),
        spec.query.candidates.name(),
        spec.adjust.weights.name(),
        spec.seed,
    )));
    if let Some(data) = &results.data {
        for source in &data.value.sources {
            let line = format!("data {} ({}): {} rows", source.path, source.title, source.rows);
            out.push(printable_label(&line));
            out.extend(source.dropped.iter().map(|d| printable_label(&format!("  dropped {d}"))));
        }
        let list = data.value.left_out.iter().take(8);
        out.extend(list.map(|(id, why)| printable_label(&format!("  left out {id}: {why}"))));
    }
    out.extend(left_out(results));
    out.extend(words(results));
    let level = results.summaries.iter().find_map(|s| s.level);
    let head = level.map_or(String::new(), |l| format!(" ({} % intervals)", (l * 1e4).round() / 1e2));
    let head = format!("P@1 in per cent, mean over relations{head}");
    section(&mut out, &head, &MODEL_HEAD, models(results));
    if let Some(all) = results.summaries.iter().find(|s| s.value.unstable.is_some()) {
        let v = &all.value;
        out.push(format!(
            "In {} of {} model-relation pairs, the best and the worst prompt are more than 10 points apart ({} %); on {} of {} relations the order of the models changes with the prompt ({}).",
            v.relations_over_10,
            v.relations * results.models().len(),
            interval(v.over_10),
            v.unstable_relations.unwrap_or(0),
            v.relations,
            v.unstable.map_or("n/a".into(), |e| format!("{} %", interval(e))),
        ));
    }
    section(&mut out, "Rank consistency in per cent of the draws", &RANK_HEAD, ranks(results));
    for r in results.ranks.iter().filter(|r| r.value.order.is_some()) {
        let v = &r.value;
        let order = v.order.as_deref().unwrap_or_default().join(" < ");
        let how = if v.exact { "all" } else { "a sample of" };
        let (orders, draws) = (v.orders.unwrap_or(0), v.draws);
        let line = format!(
            "{}, most frequent order: {order} (one of {orders} orders in {how} {draws} draws)",
            v.regime.name()
        );
        out.push(printable_label(&line));
    }
    section(&mut out, "Variance components of the gap in a single draw", &LEDGER_HEAD, ledgers(results));
    out.extend((!results.ledgers.is_empty()).then(|| DOUBT.to_owned()));
    section(&mut out, "Further pretraining", &DISPARITY_HEAD, disparity(results));
    out.extend(tuned(results));
    out
}

/// Omitted facts and prompts in all relations, by reason.
fn left_out(results: &Results) -> Vec<String> {
    let mut reasons: Vec<(String, usize)> = Vec::new();
    for part in results.relations.iter().flat_map(|r| r.value.left_out.iter().chain(&r.value.prompts_left_out)) {
        match reasons.iter_mut().find(|(reason, _)| *reason == part.reason) {
            Some((_, n)) => *n += part.count,
            None => reasons.push((part.reason.clone(), part.count)),
        }
    }
    reasons.iter().map(|(reason, n)| printable_label(&format!("  {n} left out: {reason}"))).collect()
}

/// Words that are not shared because a single model lacks them, if the shared words are the candidates.
fn words(results: &Results) -> Vec<String> {
    let data = results.data.as_ref().map(|d| &d.value);
    let Some(data) = data.filter(|d| d.candidates == Candidates::Intersection) else { return Vec::new() };
    let of = |m: &ModelNote| {
        let first = m.taken.iter().take(8).cloned().collect::<Vec<_>>().join(", ");
        let more = if m.words_taken > 8 { ", …" } else { "" };
        printable_label(&format!("  only {} lacks these {} words: {first}{more}", m.name, m.words_taken))
    };
    let taking = data.models.iter().filter(|m| m.words_taken > 0);
    std::iter::once(format!("  all models share {} words", data.common_words)).chain(taking.map(of)).collect()
}

const MODEL_HEAD: [&str; 9] =
    ["model", "adjusted", "gap held out", "by chance", "worst", "best", "gap", "std", "stability"];

fn models(results: &Results) -> Vec<Vec<String>> {
    let row = |model: &str| {
        let s = results.summaries.iter().find(|s| s.model == model)?;
        let v = &s.value;
        let mine = || results.preferences.iter().filter(|p| p.model == model);
        let stable = results.stability.iter().filter(|s| s.model == model);
        Some(vec![
            brief_name(model, &results.models()),
            v.mean_adjusted.map_or("n/a".into(), interval),
            v.mean_gap_held_out.map_or_else(|| mean(mine().filter_map(|p| p.value.gap_held_out)), interval),
            v.mean_gap_by_chance.map_or_else(|| mean(mine().filter_map(|p| p.value.gap_by_chance)), interval),
            v.mean_worst.map_or("n/a".into(), interval),
            v.mean_best.map_or("n/a".into(), interval),
            v.mean_gap.map_or("n/a".into(), interval),
            v.mean_std.map_or("n/a".into(), interval),
            v.mean_stability.map_or_else(|| mean(stable.filter_map(|s| s.value.stability.map(|e| e.mean))), interval),
        ])
    };
    results.models().into_iter().filter_map(row).collect()
}

const RANK_HEAD: [&str; 4] = ["model", "original", "random", "adjusted"];

fn ranks(results: &Results) -> Vec<Vec<String>> {
    let row = |model: Option<&str>| {
        let cells =
            Regime::ALL.map(|regime| results.rank(regime, model).map_or("n/a".into(), |r| consistency(&r.value)));
        let mut row = vec![model.map_or("whole order".into(), |m| brief_name(m, &results.models()))];
        row.extend(cells);
        row
    };
    if results.ranks.is_empty() {
        return Vec::new();
    }
    results.models().into_iter().map(Some).chain([None]).map(row).collect()
}

const LEDGER_HEAD: [&str; 7] =
    ["models", "adjusted gap", "prompt", "mention", "sample", "residual", "prompt, unbiased"];

fn ledgers(results: &Results) -> Vec<Vec<String>> {
    let row = |l: &lab::Tagged<super::finding::LedgerFinding>| {
        let (v, total) = (&l.value, l.value.parts.total.mean);
        let share = |x: f64| if total > 0.0 { format!("{:.0} %", 100.0 * x / total) } else { "n/a".into() };
        vec![
            format!("{} - {}", v.a, v.b),
            interval(v.parts.model_itself),
            share(v.parts.prompt.mean),
            share(v.parts.mention.mean),
            share(v.parts.sample.mean),
            share(v.parts.residual.mean),
            v.parts.prompt_unbiased_share.map_or("n/a".into(), interval),
        ]
    };
    results.ledgers.iter().map(row).collect()
}

const DISPARITY_HEAD: [&str; 4] = ["model", "gamma", "P@1", "steps"];

fn disparity(results: &Results) -> Vec<Vec<String>> {
    let row = |d: &lab::Tagged<super::finding::DisparityFinding>| {
        let gamma = d.value.gamma.map_or("original".to_owned(), |g| g.to_string());
        vec![brief_name(&d.model, &results.models()), gamma, interval(d.value.p_at_1), d.value.steps.to_string()]
    };
    results.disparity.iter().map(row).collect()
}

const TUNED_HEAD: [&str; 9] = [
    "relation",
    "prompt",
    "model",
    "P@1",
    "random words",
    "first prompt",
    "gap, written",
    "gap, all",
    "stability, first prompt",
];

/// Scores of found prompts next to their controls, and their texts.
fn tuned(results: &Results) -> Vec<String> {
    let points = |gap: Option<f64>| gap.map_or("n/a".into(), |g| format!("{:.1}", 100.0 * g));
    let stable = |e: Option<Estimate>| e.map_or("n/a".into(), interval);
    let row = |t: &lab::Tagged<TunedFinding>| {
        let v = &t.value;
        let stability = format!("{}, {}", stable(v.stability), stable(v.first_stability));
        let scores = [v.p_at_1, v.control_p_at_1, v.first_p_at_1].map(interval);
        let names = [&v.relation, &v.name, &t.model].map(|text| printable_label(text));
        let gaps = [points(v.gap_written), points(v.gap_all)];
        names.into_iter().chain(scores).chain(gaps).chain([stability]).collect()
    };
    let mut out = Vec::new();
    let head = "Prompts found automatically: P@1 on facts that the search did not use, in per cent";
    section(&mut out, head, &TUNED_HEAD, results.tuned.iter().map(row).collect());
    let mut shown: Vec<(&str, &str)> = Vec::new();
    for v in results.tuned.iter().map(|t| &t.value) {
        if shown.contains(&(&v.relation, &v.name)) {
            continue;
        }
        shown.push((&v.relation, &v.name));
        let (first, last) = (v.losses.first().copied().unwrap_or(0.0), v.losses.last().copied().unwrap_or(0.0));
        out.push(printable_label(&format!(
            "  {} {}: `{}`, found for {} on {} facts from `{}`; its loss fell from {first:.2} to {last:.2} in {} successful rounds of {}; {:.0} % of the tested objects also occur in these facts",
            v.relation, v.name, v.prompt, v.found_for, v.subjects.len(), v.control, v.losses.len().saturating_sub(1), v.rounds, 100.0 * v.objects_seen,
        )));
    }
    out
}

/// Formats an estimate with its interval, in per cent with one decimal.
pub fn interval(e: Estimate) -> String {
    if e.lo.is_nan() {
        return format!("{:.1}", 100.0 * e.mean);
    }
    format!("{:.1} [{:.1}, {:.1}]", 100.0 * e.mean, 100.0 * e.lo, 100.0 * e.hi)
}

/// Formats rank consistency in per cent, without an interval if every draw was counted.
pub fn consistency(v: &RankConsistencyFinding) -> String {
    if v.exact { format!("{:.1} (counted)", 100.0 * v.consistency.mean) } else { interval(v.consistency) }
}

fn mean(values: impl Iterator<Item = f64>) -> String {
    let all: Vec<f64> = values.collect();
    if all.is_empty() { "n/a".into() } else { format!("{:.1}", 100.0 * all.iter().sum::<f64>() / all.len() as f64) }
}
