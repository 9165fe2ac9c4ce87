//! FGSM and PGD compared with PyTorch, in double and single precision.

use super::{Set, head, number, values_of};
use crate::common::{Report, json};
use probity::base::NoPulse;
use probity::base::matrix::argmax;
use probity::lab::interventions::methods::attack::{Aim, Schedule, fgsm, losses, pgd, signs};
use probity::probe::{Dense, Matrix, Mlp};
use serde_json::Value;
use std::path::Path;

crate::harness::tests! {
    Needs::Reference("interventions") => [attacks_in_double_precision, attacks_in_single_precision];
}

/// One goal of the attack tests: `zc.untargeted`, `z3.target_plus2`, ...
pub(crate) struct Goals {
    pub name: String,
    pub property: String,
    pub labels: Vec<usize>,
    pub aim: Aim,
}

pub(crate) fn goals(set: &Set, meta: &Value) -> Vec<Goals> {
    let mut all = Vec::new();
    for name in meta.as_object().unwrap().keys() {
        let (property, goal) = name.split_once('.').unwrap();
        let truth = set.labels(property, "test");
        let (labels, aim) = match goal.strip_prefix("target_plus") {
            Some(j) => {
                let (j, k): (usize, usize) = (j.parse().unwrap(), set.classes(property));
                (truth.iter().map(|y| (y + j) % k).collect(), Aim::Towards)
            }
            None => (truth, Aim::AwayFrom),
        };
        all.push(Goals { name: name.clone(), property: property.to_owned(), labels, aim });
    }
    all
}

/// Step sizes of the stored PGD runs, by name.
fn step(name: &str, epsilon: f64, steps: usize) -> f64 {
    match name {
        "2.5eps_over_T" => 2.5 * epsilon / steps as f64,
        "eps_over_4" => epsilon / 4.0,
        other => panic!("unknown step {other}"),
    }
}

fn attacks_in_double_precision(dir: &Path) {
    let set = Set::open(dir);
    let mut report = Report::new("interventions/attacks, f64");
    let stored = set.tensors("gradient_attacks.safetensors");
    let meta = json(&set.dir.join("gradient_attacks.json"));
    let x: Dense<f64> = set.x("test").cast();
    for goal in goals(&set, &meta) {
        let mlp: Mlp<f64> = set.mlp(&format!("mlp.{}", goal.property)).cast();
        for (spelled, epsilon) in values_of(&meta[&goal.name], "eps_") {
            let want = stored.get(&format!("{}.fgsm.{spelled}.f64", goal.name));
            let rows: Vec<usize> = (0..want.shape[0]).collect();
            let (h, labels) = (x.select_rows(&rows), &goal.labels[..rows.len()]);
            let first = signs(&mlp, &h, labels, goal.aim);
            let got = fgsm(&h, &first, epsilon);
            report.close64(&format!("{} FGSM {spelled}", goal.name), got.data(), &want.data, 1e-9);
            for name in ["2.5eps_over_T", "eps_over_4"] {
                let key = format!("{}.pgd.{spelled}.{name}", goal.name);
                let trace = stored.get(&format!("{key}.losses.f64"));
                let steps = trace.shape[0] - 1;
                let at = |steps, h: &Dense<f64>, labels: &[usize], first: &Dense<f64>| {
                    let schedule = Schedule { epsilon, step: step(name, epsilon, trace.shape[0] - 1), steps };
                    pgd(&mlp, h, (labels, goal.aim), first, schedule, &mut NoPulse).unwrap()
                };
                let got = at(steps, &h, labels, &first);
                report.close64(&key, got.data(), &stored.get(&format!("{key}.f64")).data, 1e-9);
                let few: Vec<usize> = (0..trace.shape[1]).collect();
                let (h, labels, first) = (h.select_rows(&few), &labels[..few.len()], first.select_rows(&few));
                let got: Vec<f64> =
                    (0..=steps).flat_map(|t| losses(&mlp, &at(t, &h, labels, &first), labels)).collect();
                report.close64(&format!("{key} losses"), &got, &trace.data, 1e-9);
            }
        }
    }
    report.finish();
}

/// Proportions of rows that are no longer classified correctly and of rows that reach the goal.
fn flips(mlp: &Mlp, h: &Matrix, truth: &[usize], goal: &[usize]) -> [f64; 2] {
    let logits = mlp.logits(h);
    let answers: Vec<usize> = logits.iter_rows().map(argmax).collect();
    let n = truth.len() as f64;
    let count = |f: &dyn Fn(usize) -> bool| (0..truth.len()).filter(|i| f(*i)).count() as f64 / n;
    [count(&|i| answers[i] != truth[i]), count(&|i| answers[i] == goal[i])]
}

fn attacks_in_single_precision(dir: &Path) {
    let set = Set::open(dir);
    let mut report = Report::new("interventions/attacks, f32");
    let stored = set.tensors("gradient_attacks.safetensors");
    let meta = json(&set.dir.join("gradient_attacks.json"));
    let precision = json(&set.dir.join("precision.json"));
    let x = set.x("test");
    for goal in goals(&set, &meta) {
        let mlp = set.mlp(&format!("mlp.{}", goal.property));
        let truth = set.labels(&goal.property, "test");
        let want = stored.get(&format!("{}.gradient", goal.name));
        let (mut gradient, losses_before) = mlp.input_direction(&x, &goal.labels);
        for (row, loss) in gradient.data_mut().chunks_exact_mut(mlp.inputs()).zip(losses_before) {
            row.iter_mut().for_each(|g| *g *= -(-loss).exp_m1());
        }
        report.close(&format!("{} gradient", goal.name), head(&gradient, want.shape[0]), &want.data, 1e-5);
        let first = signs(&mlp, &x, &goal.labels, goal.aim);
        for (spelled, epsilon) in values_of(&meta[&goal.name], "eps_") {
            let expected = &meta[&goal.name][format!("eps_{spelled}")];
            let steps = stored.get(&format!("{}.pgd.{spelled}.eps_over_4.losses", goal.name)).shape[0] - 1;
            let mut runs = vec![("fgsm".to_owned(), format!("fgsm.{spelled}"), fgsm(&x, &first, epsilon as f32))];
            for name in ["2.5eps_over_T", "eps_over_4"] {
                let size = step(name, epsilon, steps) as f32;
                let schedule = Schedule { epsilon: epsilon as f32, step: size, steps };
                let got = pgd(&mlp, &x, (&goal.labels, goal.aim), &first, schedule, &mut NoPulse).unwrap();
                runs.push((format!("pgd_{name}"), format!("pgd.{spelled}.{name}"), got));
            }
            for (short, key, got) in runs {
                let key = format!("{}.{key}", goal.name);
                let want = stored.get(&key);
                let parting = number(&precision[&key]["fraction_of_entries_off_by_1e-4"]);
                let rows = want.shape[0];
                if parting == 0.0 {
                    report.close(&key, head(&got, rows), &want.data, 1e-5);
                } else {
                    // Here the single-precision run of the reference deviates from its double-precision run, because its gradient vanishes
                    // at certainty. Ours must end where double precision does. A single coordinate may differ, if its gradient is so close
                    // to 0 that single precision cannot determine the sign.
                    let exact = &stored.get(&format!("{key}.f64")).data;
                    let off =
                        head(&got, rows).iter().zip(exact).filter(|(g, w)| (f64::from(**g) - **w).abs() > 1e-5).count();
                    let said = format!("{off} of {} entries deviate from the exact run", exact.len());
                    report.holds(&key, off <= 1, said);
                }
                if let Some(trace) = stored.find(&format!("{key}.losses")) {
                    let few = trace.shape[1];
                    let last = &trace.data[trace.data.len() - few..];
                    let loss = losses(&mlp, &got, &goal.labels);
                    report.close(&format!("{key} final losses"), &loss[..few], last, 1e-5);
                }
                let one_row = 1.001 / truth.len() as f64;
                let [flipped, hits] = flips(&mlp, &got, &truth, &goal.labels);
                report.close64(&format!("{key} flips"), &[flipped], &[number(&expected[&short])], one_row);
                if goal.aim == Aim::Towards {
                    let want = number(&expected[format!("{short}_hits_target")]);
                    report.close64(&format!("{key} hits"), &[hits], &[want], one_row);
                }
            }
        }
    }
    report.finish();
}
