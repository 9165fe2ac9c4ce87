//! Statistics on a stored table of predictions, with stored draws.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use probity::lab::prompts::adjust::{Weights, adjusted};
use probity::lab::prompts::answers::{Answers, Shape};
use probity::lab::prompts::consistency::{Draws, Panel, Regime, Scoring, Tally};
use probity::lab::prompts::exact::Exact;
use probity::lab::prompts::places::{Ties, places};
use probity::lab::prompts::preference::{MENTIONS, Preference, is_over, is_unstable, stability};
use serde_json::Value;

use crate::common::{Report, Tensors, json};

crate::harness::tests! {
    Needs::Reference("prompts") => [
        preference_and_stability_of_a_stored_table,
        adjusted_scores_of_a_stored_table,
        rank_consistency_of_stored_draws,
    ];
    Needs::Reference("stats") => [enumerated_rank_consistency];
}

struct Table {
    truth: Value,
    tensors: Tensors,
    models: usize,
    relations: usize,
    prompts: usize,
    mentions: usize,
    instances: usize,
    /// Answers by model, then by relation.
    answers: Vec<Vec<Answers>>,
}

impl Table {
    fn read(dir: &Path) -> Self {
        let truth = json(&dir.join("table.json"));
        let tensors = Tensors::load(&dir.join("table.safetensors"));
        let size = |key: &str| truth["shape"][key].as_u64().unwrap() as usize;
        let (models, relations, prompts) = (size("models"), size("relations"), size("prompts"));
        let (mentions, instances) = (size("mentions"), size("instances"));
        let said = &tensors.get("predictions").data;
        let (gold, counts) = (&tensors.get("gold").data, tensors.get("mention_count").indices());
        let of = |m: usize, r: usize| {
            let have = &counts[r * instances..(r + 1) * instances];
            let shape = Shape::new(prompts, have);
            let (mut list, mut right) = (Vec::new(), Vec::new());
            for p in 0..prompts {
                for (i, n) in have.iter().enumerate() {
                    for x in 0..*n {
                        let at = (((m * relations + r) * prompts + p) * mentions + x) * instances + i;
                        list.push(said[at] as u32);
                        right.push(said[at] == gold[r * instances + i]);
                    }
                }
            }
            Answers::new(Arc::new(shape), list, right)
        };
        let answers = (0..models).map(|m| (0..relations).map(|r| of(m, r)).collect()).collect();
        Self { truth, tensors, models, relations, prompts, mentions, instances, answers }
    }

    fn floats(&self, key: &str) -> Vec<f64> {
        self.truth[key].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
    }
}

fn preference_and_stability_of_a_stored_table(dir: &Path) {
    let table = Table::read(dir);
    let mut report = Report::new("prompts table");
    let per_cent = |list: Vec<f64>| list.into_iter().map(|v| 100.0 * v).collect::<Vec<_>>();
    let all: Vec<f64> = table.answers.iter().flatten().flat_map(|a| per_cent(a.p_at_1())).collect();
    report.close64("P@1", &all, &table.tensors.get("p_at_1").data, 1e-9);
    let mut over = vec![0u64; table.models];
    let mut sums = vec![[0.0; 5]; table.models];
    for row in table.truth["preference"].as_array().unwrap() {
        let at = |key: &str| row[key].as_u64().unwrap() as usize;
        let (m, r) = (at("model"), at("relation"));
        let p = Preference::of(&per_cent(table.answers[m][r].p_at_1())).unwrap();
        let found = [p.worst, p.best, p.gap, p.std, p.mean];
        let want = ["worst", "best", "gap", "std", "mean"].map(|k| row[k].as_f64().unwrap());
        report.close64(&format!("preference {m} {r}"), &found, &want, 1e-9);
        sums[m].iter_mut().zip(found).for_each(|(s, v)| *s += v / table.relations as f64);
        over[m] += u64::from(is_over(p.gap, 10.0));
    }
    for row in table.truth["preference_summary"].as_array().unwrap() {
        let m = row["model"].as_u64().unwrap() as usize;
        let want = ["worst", "best", "gap", "std", "mean"].map(|k| row[&format!("mean_{k}")].as_f64().unwrap());
        report.close64(&format!("summary {m}"), &sums[m], &want, 1e-9);
        report.equal(&format!("over ten {m}"), &over[m], &row["relations_over_10"].as_u64().unwrap());
    }
    for ties in Ties::ALL {
        let scores = |r: usize| -> Vec<Vec<f64>> {
            (0..table.prompts).map(|p| (0..table.models).map(|m| table.answers[m][r].p_at_1()[p]).collect()).collect()
        };
        let found: Vec<u64> =
            (0..table.relations).filter(|r| is_unstable(&scores(*r), ties)).map(|r| r as u64).collect();
        let want = table.truth["unstable_relations"][ties.name()].as_array().unwrap();
        let want: Vec<u64> = want.iter().map(|v| v.as_u64().unwrap()).collect();
        report.equal(&format!("unstable, {}", ties.name()), &found, &want);
    }
    let mut means = vec![Vec::new(); table.models];
    for row in table.truth["verbalization"].as_array().unwrap() {
        let at = |key: &str| row[key].as_u64().unwrap();
        let s = stability(&table.answers[at("model") as usize][at("relation") as usize], 0, MENTIONS);
        report.equal("stability", &(s.kept, s.stable), &(at("kept"), at("stable")));
        if s.kept > 0 {
            means[at("model") as usize].push(100.0 * s.stable as f64 / s.kept as f64);
        }
        assert_eq!(s.kept == 0, row["stability"].is_null());
    }
    let found: Vec<f64> = means.iter().map(|l| l.iter().sum::<f64>() / l.len() as f64).collect();
    report.close64("mean stability", &found, &table.floats("verbalization_mean"), 1e-9);
    report.finish();
}

fn adjusted_scores_of_a_stored_table(dir: &Path) {
    let table = Table::read(dir);
    let mut report = Report::new("prompts adjusted");
    let joint: Vec<Vec<f64>> = serde_json::from_value(table.truth["prompt_mention_weights"].clone()).unwrap();
    assert!(joint.iter().all(|row| row.len() == table.mentions));
    for (name, weights) in [
        ("uniform", Weights::uniform(table.prompts)),
        ("prompt_weights", Weights::of_prompts(&table.floats("prompt_weights")).unwrap()),
        ("unnormalised_prompt_weights", Weights::of_prompts(&table.floats("unnormalised_prompt_weights")).unwrap()),
        ("prompt_mention_weights", Weights::of(&joint).unwrap()),
    ] {
        let found: Vec<f64> =
            table.answers.iter().flatten().map(|a| 100.0 * adjusted(a, &weights).unwrap().value()).collect();
        report.close64(name, &found, &table.tensors.get(&format!("adjusted.{name}")).data, 1e-9);
    }
    report.finish();
}

/// The stored draws for one list of models.
struct Stored<'a> {
    table: &'a Table,
    models: Vec<usize>,
    draws: usize,
    subset: usize,
}

impl Stored<'_> {
    fn subset(&self, d: usize) -> Vec<usize> {
        self.table.tensors.get("subsets").indices()[d * self.subset..(d + 1) * self.subset].to_vec()
    }

    fn panel(&self, weights: &Weights) -> Panel {
        let mut panel = Panel::new(self.models.len());
        for r in 0..self.table.relations {
            panel.push(self.models.iter().map(|m| self.table.answers[*m][r].clone()).collect(), weights);
        }
        panel
    }

    /// Number of correct answers by the k-th model in the list for relation r, in draw d under a random regime.
    fn correct(&self, panel: &Panel, regime: &str, (d, k, r): (usize, usize, usize)) -> usize {
        let t = self.table;
        let prompts = &t.tensors.get(&format!("{regime}.prompt")).data;
        let mentions = &t.tensors.get(&format!("{regime}.mention")).data;
        let at = match regime {
            "random_shared" => d * t.relations + r,
            _ => (d * t.models + k) * t.relations + r,
        };
        panel.correct(k, r, prompts[at] as usize, |i| mentions[at * t.instances + i] as usize)
    }
}

fn rank_consistency_of_stored_draws(dir: &Path) {
    let table = Table::read(dir);
    let mut report = Report::new("rank consistency");
    let (draws, subset) = (
        table.truth["shape"]["draws"].as_u64().unwrap() as usize,
        table.truth["shape"]["subset"].as_u64().unwrap() as usize,
    );
    let uniform = Weights::uniform(table.prompts);
    let weighted = Weights::of_prompts(&table.floats("prompt_weights")).unwrap();
    let mut seen = BTreeMap::new();
    for entry in table.truth["rank_consistency"].as_array().unwrap() {
        let text = |key: &str| entry[key].as_str().unwrap();
        let list: Vec<usize> = serde_json::from_value(table.truth["model_lists"][text("models")].clone()).unwrap();
        let stored = Stored { table: &table, models: list, draws, subset };
        let (regime, weights) = match text("regime") {
            "original" => (Regime::Original, &uniform),
            "adjusted" => (Regime::Adjusted, &uniform),
            "adjusted_prompt_weights" => (Regime::Adjusted, &weighted),
            _ => (Regime::Random, &uniform),
        };
        let scoring = if text("scoring") == "exact" { Scoring::Exact } else { Scoring::TwoDecimals };
        let ties = if text("ties") == "mean_place" { Ties::MeanPlace } else { Ties::EarlierLower };
        let panel = stored.panel(weights);
        let mut tally = Tally::new(stored.models.len());
        let (mut tied, mut floats) = (0u64, Vec::new());
        for d in 0..stored.draws {
            let correct = |k: usize, r: usize| stored.correct(&panel, text("regime"), (d, k, r));
            let scores = panel.scores(regime, &stored.subset(d), scoring, correct);
            floats.extend(scores.iter().map(|s| 100.0 * s.value() / stored.subset as f64));
            let mean = places(&scores, |a, b| a.compare(*b), Ties::MeanPlace);
            let distinct: std::collections::BTreeSet<u32> = mean.iter().copied().collect();
            tied += u64::from(distinct.len() < mean.len());
            tally.add(&places(&scores, |a, b| a.compare(*b), ties));
        }
        let name = format!("{} {} {} {}", text("models"), text("regime"), text("scoring"), text("ties"));
        if text("models") == "all" && scoring == Scoring::Exact {
            report.close64(
                &format!("{name} scores"),
                &floats,
                &table.tensors.get(&format!("scores.{}", text("regime"))).data,
                1e-9,
            );
        }
        report.equal(&format!("{name} ties"), &tied, &entry["draws_with_ties"].as_u64().unwrap());
        judge(&name, &tally, entry, &mut report);
        *seen.entry(text("regime").to_owned()).or_insert(0) += 1;
    }
    assert_eq!(seen.len(), 5, "{seen:?}");
    report.finish();
}

fn judge(name: &str, tally: &Tally, entry: &Value, report: &mut Report) {
    let draws = tally.draws as f64;
    for (k, wanted) in entry["histogram"].as_array().unwrap().iter().enumerate() {
        let halves = tally.halves(k);
        let found: BTreeMap<String, u64> = halves
            .iter()
            .enumerate()
            .filter(|(_, n)| **n > 0)
            .map(|(place, n)| (place as f64 / 2.0, *n))
            .map(|(place, n)| {
                let whole = entry["ties"] == "earlier_lower";
                (if whole { format!("{place}") } else { format!("{place:?}") }, n)
            })
            .collect();
        let wanted: BTreeMap<String, u64> = serde_json::from_value(wanted.clone()).unwrap();
        report.equal(&format!("{name} histogram {k}"), &found, &wanted);
    }
    let of = |k: usize| 100.0 * tally.most(k) as f64 / draws;
    let wanted: Vec<f64> = serde_json::from_value(entry["consistency"].clone()).unwrap();
    let found: Vec<f64> = (0..wanted.len()).map(of).collect();
    report.close64(&format!("{name} consistency"), &found, &wanted, 1e-9);
    let (most, orders) = tally.order();
    let wanted = entry["order_consistency"].as_f64().unwrap();
    report.close64(&format!("{name} order"), &[100.0 * most as f64 / draws], &[wanted], 1e-9);
    report.equal(&format!("{name} orders"), &(tally.orders() as u64), &entry["different_orders"].as_u64().unwrap());
    let popular: Vec<Vec<f64>> = serde_json::from_value(entry["most_frequent_orders_as_places"].clone()).unwrap();
    let found: Vec<Vec<f64>> = orders.iter().map(|o| o.iter().map(|p| f64::from(*p) / 2.0).collect()).collect();
    report.equal(&format!("{name} popular"), &found, &popular);
}

/// Compares with scores that an independent program enumerated over every subset and every draw of prompts.
fn enumerated_rank_consistency(dir: &Path) {
    let truth = json(&dir.join("rank_consistency.json"));
    let mut report = Report::new("enumerated ranks");
    let small = &truth["small"];
    let scores: Vec<Vec<Vec<f64>>> = serde_json::from_value(small["scores"].clone()).unwrap();
    // In the reference, the earlier model wins on ties.
    let reversed: Vec<Vec<Vec<f64>>> = scores.iter().rev().cloned().collect();
    let panel = of_scores(&reversed);
    let size = small["k"].as_u64().unwrap() as usize;
    let draws =
        Draws { count: 0, subset: size, shared: true, seed: 0, ties: Ties::EarlierLower, scoring: Scoring::Exact };
    for (key, regime) in [("single_prompt_drawn", Regime::Random), ("prompts_averaged", Regime::Adjusted)] {
        let want = &small[key];
        let tally = panel.enumerate(regime, &draws, 100_000).unwrap();
        report.equal(&format!("{key} outcomes"), &tally.draws, &want["outcomes"].as_u64().unwrap());
        let found: Vec<f64> = (0..scores.len()).rev().map(|k| tally.most(k) as f64 / tally.draws as f64).collect();
        let wanted: Vec<f64> = serde_json::from_value(want["rank_consistency"].clone()).unwrap();
        report.close64(key, &found, &wanted, 1e-12);
        let order = tally.order().0 as f64 / tally.draws as f64;
        report.close64(&format!("{key} order"), &[order], &[want["overall_rank_consistency"].as_f64().unwrap()], 1e-12);
    }
    big(&truth["big"], &mut report);
    report.finish();
}

/// Compares the rank consistency of eight models on 32 relations over 1,000 stored draws, with scores rounded to billionths.
fn big(big: &Value, report: &mut Report) {
    let scores: Vec<Vec<Vec<f64>>> = serde_json::from_value(big["scores"].clone()).unwrap();
    let subsets: Vec<Vec<usize>> = serde_json::from_value(big["subsets"].clone()).unwrap();
    let prompts: Vec<Vec<usize>> = serde_json::from_value(big["prompts"].clone()).unwrap();
    let exact = |score: f64| Exact::ratio((score * 1e9).round() as u64, 1_000_000_000);
    for key in ["single_prompt_drawn", "prompts_averaged"] {
        let mut tally = Tally::new(scores.len());
        for (subset, chosen) in subsets.iter().zip(&prompts) {
            let of = |m: &Vec<Vec<f64>>| -> Exact {
                let each = subset.iter().zip(chosen);
                match key {
                    "single_prompt_drawn" => each.map(|(r, p)| exact(m[*r][*p])).sum(),
                    _ => each.map(|(r, _)| m[*r].iter().map(|s| exact(*s)).sum()).sum(),
                }
            };
            // In the reference, the earlier model wins on ties.
            let scores: Vec<Exact> = scores.iter().rev().map(of).collect();
            tally.add(&places(&scores, |a, b| a.compare(*b), Ties::EarlierLower));
        }
        let found: Vec<f64> = (0..scores.len()).rev().map(|k| tally.most(k) as f64 / tally.draws as f64).collect();
        let wanted: Vec<f64> = serde_json::from_value(big[key]["rank_consistency"].clone()).unwrap();
        report.close64(&format!("big {key}"), &found, &wanted, 1e-12);
        let order = tally.order().0 as f64 / tally.draws as f64;
        let wanted = big[key]["overall_rank_consistency"].as_f64().unwrap();
        report.close64(&format!("big {key} order"), &[order], &[wanted], 1e-12);
    }
}

/// A panel with these scores as P@1. It has enough instances for every score to be a whole number of correct answers.
fn of_scores(scores: &[Vec<Vec<f64>>]) -> Panel {
    let whole = |n: usize| {
        let all = scores.iter().flatten().flatten();
        all.map(|s| s * n as f64).all(|c| (c - c.round()).abs() < 1e-6)
    };
    let n = (1..20_000).find(|n| whole(*n)).expect("a common denominator");
    let prompts = scores[0][0].len();
    let mut panel = Panel::new(scores.len());
    for r in 0..scores[0].len() {
        let shape = Arc::new(Shape::new(prompts, &vec![1; n]));
        let of = |m: &Vec<Vec<f64>>| {
            let right: Vec<bool> = (0..prompts)
                .flat_map(|p| {
                    let correct = (m[r][p] * n as f64).round() as usize;
                    (0..n).map(move |i| i < correct)
                })
                .collect();
            let said = right.iter().map(|r| u32::from(*r)).collect();
            Answers::new(shape.clone(), said, right)
        };
        panel.push(scores.iter().map(of).collect(), &Weights::uniform(prompts));
    }
    panel
}
