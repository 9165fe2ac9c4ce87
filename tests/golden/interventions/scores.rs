//! Completeness, selectivity and reliability compared with `scores.json`.

use super::attacks::{Goals, goals};
use super::{Set, number, numbers, run, values_of};
use crate::common::{Report, json};
use probity::base::NoPulse;
use probity::lab::interventions::methods::attack::{Aim, Schedule, pgd, signs};
use probity::lab::interventions::score::{
    Distance, ExampleScores, counterfactual_completeness, mean_over, nullifying_completeness, reliability, selectivity,
};
use probity::lab::interventions::{Goal, find};
use probity::probe::{Dense, Intervention, Matrix, Mlp, Oracle, Probe};
use serde_json::Value;
use std::path::Path;

crate::harness::tests! {
    Needs::Reference("interventions") => [scores, scores_of_three_values];
}

/// Oracles of all properties, used to score edited embeddings.
pub(crate) struct Judge {
    oracles: Vec<(String, Probe<Oracle>)>,
    before: Matrix,
}

impl Judge {
    pub(crate) fn new(set: &Set) -> Self {
        let oracle = |(p, _)| {
            let probe = Probe::from_mlp(set.mlp(&format!("oracle.{p}")));
            (p, probe)
        };
        Self { oracles: set.properties().into_iter().map(oracle).collect(), before: set.x("test") }
    }

    pub(crate) fn score(
        &self,
        property: &str,
        after: &Matrix,
        targets: Option<&[usize]>,
    ) -> (ExampleScores, Vec<(String, Vec<f64>)>) {
        let mut completeness = Vec::new();
        let mut each = Vec::new();
        for (p, oracle) in &self.oracles {
            let reads = oracle.probabilities(after);
            if p == property {
                completeness = match targets {
                    Some(targets) => counterfactual_completeness(Distance::Tv, &reads, targets),
                    None => nullifying_completeness(Distance::Tv, &reads),
                };
            } else {
                each.push((p.clone(), selectivity(Distance::Tv, &oracle.probabilities(&self.before), &reads)));
            }
        }
        let lists: Vec<Vec<Option<f64>>> = each.iter().map(|(_, s)| s.iter().copied().map(Some).collect()).collect();
        (ExampleScores { completeness, selectivity: mean_over(&lists) }, each)
    }
}

pub(crate) fn mean(v: &[f64]) -> f64 {
    v.iter().sum::<f64>() / v.len() as f64
}

/// Compares everything in `scores.json` on one intervention; every number must agree to 1e-5.
pub(crate) fn compare(
    report: &mut Report,
    name: &str,
    want: &Value,
    (scores, each): &(ExampleScores, Vec<(String, Vec<f64>)>),
) {
    let s: Vec<f64> = scores.selectivity.iter().map(|s| s.unwrap()).collect();
    let r: Vec<f64> = scores.completeness.iter().zip(&s).map(|(c, s)| reliability(*c, *s)).collect();
    let (mut got, mut expected) = (Vec::new(), Vec::new());
    for (key, list) in [("C", &scores.completeness), ("S", &s), ("R", &r)] {
        let Some(head) = want.get(key) else { continue };
        let head = numbers(head);
        got.extend_from_slice(&list[..head.len()]);
        expected.extend(head);
    }
    let (mean_c, mean_s) = (mean(&scores.completeness), mean(&s));
    got.extend([mean_c, mean_s, reliability(mean_c, mean_s)]);
    expected.extend(["mean_C", "mean_S", "R_of_means"].map(|key| number(&want[key])));
    if let Some(mean_r) = want.get("mean_R") {
        got.push(mean(&r));
        expected.push(number(mean_r));
        for (p, list) in each {
            got.push(mean(list));
            expected.push(number(&want[format!("mean_S_{p}")]));
        }
    }
    report.close64(name, &got, &expected, 1e-5);
}

/// The attacks in `scores.json` with their options; PGD has the number of steps of the stored traces.
fn attacks(set: &Set) -> [(&'static str, Vec<(&'static str, f64)>); 2] {
    let steps = steps(set) as f64;
    [("fgsm", Vec::new()), ("pgd", vec![("steps", steps), ("step", 2.5 / steps)])]
}

fn steps(set: &Set) -> usize {
    let stored = set.tensors("gradient_attacks.safetensors");
    let (name, _) = &values_of(&json(&set.dir.join("scores.json")), "pgd.zc.target_plus1.")[0];
    stored.get(&format!("zc.target_plus1.pgd.{name}.2.5eps_over_T.losses")).shape[0] - 1
}

/// Proportion of rows in which the single-precision run of the reference deviates from its double-precision run for a scored attack.
fn parting(precision: &Value, name: &str) -> f64 {
    let (method, rest) = name.split_once('.').unwrap();
    let (property, rest) = rest.split_once('.').unwrap();
    let (goal, epsilon) = rest.split_once('.').unwrap();
    let key = match method {
        "fgsm" => format!("{property}.{goal}.fgsm.{epsilon}"),
        _ => format!("{property}.{goal}.pgd.{epsilon}.2.5eps_over_T"),
    };
    number(&precision[&key]["fraction_of_entries_off_by_1e-4"])
}

/// Runs the scored PGD in double precision.
fn exact_pgd(set: &Set, goal: &Goals, epsilon: f64) -> Matrix {
    let mlp: Mlp<f64> = set.mlp(&format!("mlp.{}", goal.property)).cast();
    let x: Dense<f64> = set.x("test").cast();
    let first = signs(&mlp, &x, &goal.labels, goal.aim);
    let steps = steps(set);
    let schedule = Schedule { epsilon, step: 2.5 * epsilon / steps as f64, steps };
    pgd(&mlp, &x, (&goal.labels, goal.aim), &first, schedule, &mut NoPulse).unwrap().cast()
}

/// Compares scores for which the single-precision run of the reference deviates from the exact one. At certainty, `p - 1` rounds to 0 and
/// the gradient vanishes, so the reference's attack stops early. Mean completeness must still agree to 1e-5. All other scores must agree
/// with our own exact run, which is compared with the reference above. One example is exempt, because single precision cannot determine the
/// sign of one of its coordinates.
fn compare_parted(report: &mut Report, name: &str, want: &Value, scored: &ExampleScores, exact: &ExampleScores) {
    report.close64(&format!("{name} mean C"), &[mean(&scored.completeness)], &[number(&want["mean_C"])], 1e-5);
    let s = |of: &ExampleScores| of.selectivity.iter().map(|s| s.unwrap()).collect::<Vec<f64>>();
    for (letter, ours, precise) in
        [("C", scored.completeness.clone(), exact.completeness.clone()), ("S", s(scored), s(exact))]
    {
        let off = ours.iter().zip(&precise).filter(|(a, b)| (*a - *b).abs() > 1e-5).count();
        let (mine, right) = (mean(&ours), mean(&precise));
        let theirs = number(&want[format!("mean_{letter}")]);
        let said =
            format!("{off} examples deviate from the exact run; mean {mine:.6}, exact {right:.6}, theirs {theirs:.6}");
        report.holds(&format!("{name} {letter}"), off <= 1 && (mine - right).abs() < 1e-5, said);
    }
}

fn scores(dir: &Path) {
    let set = Set::open(dir);
    let mut report = Report::new("interventions/scores");
    let want = json(&set.dir.join("scores.json"));
    let judge = Judge::new(&set);
    let x = set.x("test");
    let other: Vec<usize> = set.labels("zc", "test").iter().map(|y| 1 - y).collect();
    for p in set.inlp_properties() {
        let fit = set.directions("inlp.safetensors", &p).to_bytes();
        let ranks = values_of(&want, &format!("inlp.{p}."));
        let values: Vec<f64> = ranks.iter().map(|r| r.1).collect();
        let nothing = vec![0; x.rows()];
        for ((k, _), h) in ranks.iter().zip(run("inlp", &fit, &[], &x, &nothing, &values)) {
            let name = format!("inlp.{p}.{k}");
            compare(&mut report, &name, &want[&name], &judge.score(&p, &h, None));
        }
    }
    let directions = set.directions("inlp.safetensors", "zc");
    let classifiers = directions.rounds().len().min(8) as f64;
    for (spelled, alpha) in values_of(&want, "alterrep.") {
        let h = &run("alterrep", &directions.to_bytes(), &[("classifiers", classifiers)], &x, &other, &[alpha])[0];
        let name = format!("alterrep.{spelled}");
        compare(&mut report, &name, &want[&name], &judge.score("zc", h, Some(&other)));
    }
    let meta = json(&set.dir.join("gradient_attacks.json"));
    let precision = json(&set.dir.join("precision.json"));
    for goal in goals(&set, &meta).into_iter().filter(|g| g.aim == Aim::Towards) {
        let probe: Probe<Intervention> = Probe::from_mlp(set.mlp(&format!("mlp.{}", goal.property)));
        for (method, options) in attacks(&set) {
            for (spelled, epsilon) in values_of(&want, &format!("{method}.{}.", goal.name)) {
                let h = &run(method, &probe.to_bytes(), &options, &x, &goal.labels, &[epsilon])[0];
                let name = format!("{method}.{}.{spelled}", goal.name);
                let scored = judge.score(&goal.property, h, Some(&goal.labels));
                if parting(&precision, &name) == 0.0 {
                    compare(&mut report, &name, &want[&name], &scored);
                } else {
                    let exact = exact_pgd(&set, &goal, epsilon);
                    let exact = judge.score(&goal.property, &exact, Some(&goal.labels));
                    compare_parted(&mut report, &name, &want[&name], &scored.0, &exact.0);
                }
            }
        }
    }
    let same = find("identity").unwrap();
    assert_eq!(same.goal, Goal::Counterfactual);
    compare(&mut report, "identity", &want["identity_as_counterfactual"], &judge.score("zc", &x, Some(&other)));
    compare(&mut report, "identity, nullifying", &want["identity_as_nullifying"], &judge.score("zc", &x, None));
    report.finish();
}

/// Compares scores for a property with three values, whose completeness is averaged over the two counterfactual values.
fn scores_of_three_values(dir: &Path) {
    let set = Set::open(dir);
    let mut report = Report::new("interventions/scores, averaged");
    let want = json(&set.dir.join("scores.json"));
    let judge = Judge::new(&set);
    let x = set.x("test");
    let goals = goals(&set, &json(&set.dir.join("gradient_attacks.json")));
    let probe: Probe<Intervention> = Probe::from_mlp(set.mlp("mlp.z3"));
    let precision = json(&set.dir.join("precision.json"));
    for (method, options) in attacks(&set) {
        for (spelled, epsilon) in values_of(&want, &format!("{method}.z3.averaged.")) {
            let (mut runs, mut exact, mut parted) = (Vec::new(), Vec::new(), false);
            for goal in goals.iter().filter(|g| g.property == "z3" && g.aim == Aim::Towards) {
                let h = &run(method, &probe.to_bytes(), &options, &x, &goal.labels, &[epsilon])[0];
                runs.push(judge.score("z3", h, Some(&goal.labels)).0);
                if parting(&precision, &format!("{method}.{}.{spelled}", goal.name)) > 0.0 {
                    parted = true;
                }
                if method == "pgd" {
                    exact.push(judge.score("z3", &exact_pgd(&set, goal, epsilon), Some(&goal.labels)).0);
                }
            }
            let name = format!("{method}.z3.averaged.{spelled}");
            if parted {
                compare_parted(&mut report, &name, &want[&name], &averaged(runs), &averaged(exact));
            } else {
                compare(&mut report, &name, &want[&name], &(averaged(runs), Vec::new()));
            }
        }
    }
    report.finish();
}

/// Averages the scores of the same examples over counterfactual targets.
fn averaged(runs: Vec<ExampleScores>) -> ExampleScores {
    let (c, s): (Vec<_>, Vec<_>) =
        runs.into_iter().map(|r| (r.completeness.into_iter().map(Some).collect(), r.selectivity)).unzip();
    let completeness = mean_over(&c).into_iter().map(|v| v.unwrap()).collect();
    ExampleScores { completeness, selectivity: mean_over(&s) }
}
