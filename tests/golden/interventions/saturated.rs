//! `reference/interventions/saturated`: attacks on very confident probes, in both precisions, compared with the exact values in f64.

use super::{matrix, number, numbers};
use std::path::Path;

use crate::common::{Golden, Report, Tensors, json};
use probity::base::NoPulse;
use probity::base::matrix::Real;
use probity::lab::interventions::methods::attack::{Aim, Schedule, fgsm, losses, pgd, signs};
use probity::probe::mlp::Layer;
use probity::probe::{Dense, Mlp};
use serde_json::Value;

crate::harness::tests! {
    Needs::Reference("interventions/saturated") => [saturated_in_double_precision, saturated_in_single_precision];
}

struct Saturated {
    stored: Tensors,
    info: Value,
}

/// An attack: a probe at one scale, the labels in the loss, and the direction.
struct Case {
    key: String,
    /// Key of the stored exact values, and true if their signs are reversed. With two classes, away from one is towards the other.
    truth: (String, bool),
    probe: Mlp<f64>,
    labels: Vec<usize>,
    aim: Aim,
}

impl Saturated {
    fn open(dir: &Path) -> Self {
        let stored = Tensors::load(&dir.join("saturated.safetensors"));
        Self { stored, info: json(&dir.join("saturated.json")) }
    }

    /// The stored probe with its output layer multiplied by `scale`; PyTorch stores weights as outputs × inputs.
    fn probe(&self, name: &str, scale: f64) -> Mlp<f64> {
        let layer = |w: &str, b: &str| Layer {
            weight: matrix::<f64>(&self.stored, &format!("{name}.{w}")).transposed(),
            bias: self.stored.get(&format!("{name}.{b}")).data.clone(),
        };
        let mut layers = match self.stored.find(&format!("{name}.w1")) {
            Some(_) => vec![layer("w1", "b1"), layer("w2", "b2")],
            None => vec![layer("weight", "bias")],
        };
        if let Some(last) = layers.last_mut() {
            last.weight.data_mut().iter_mut().chain(&mut last.bias).for_each(|w| *w *= scale);
        }
        Mlp::from_layers(layers).unwrap()
    }

    fn cases(&self) -> Vec<Case> {
        let mut all = Vec::new();
        for (name, probe) in self.info["probes"].as_object().unwrap() {
            let property = name.split_once('.').unwrap().1;
            let truth = self.stored.get(&format!("{property}_test")).indices();
            let k = number(&probe["classes"]) as usize;
            for scale in numbers(&probe["scales"]) {
                let key = |goal: &str| format!("{name}.s{scale}.{goal}");
                for j in 1..k {
                    let goal = format!("target_plus{j}");
                    all.push(Case {
                        truth: (key(&goal), false),
                        key: key(&goal),
                        probe: self.probe(name, scale),
                        labels: truth.iter().map(|y| (y + j) % k).collect(),
                        aim: Aim::Towards,
                    });
                }
                let stored = if k == 2 { "target_plus1" } else { "untargeted" };
                all.push(Case {
                    key: key("untargeted"),
                    truth: (key(stored), k == 2),
                    probe: self.probe(name, scale),
                    labels: truth.clone(),
                    aim: Aim::AwayFrom,
                });
            }
        }
        all
    }

    /// The stored array `what`, of shape `eps × rows`, and its sign: -1 if the case uses the exact values for the other label.
    fn grid(&self, case: &Case, what: &str) -> (Golden, f64) {
        let (key, turned) = &case.truth;
        (self.stored.get(&format!("{key}.{what}")).clone(), if *turned { -1.0 } else { 1.0 })
    }
}

/// `l_y` minus the largest other logit, computed in f64 regardless of the attack's precision.
fn margins(probe: &Mlp<f64>, h: &Dense<f64>, labels: &[usize]) -> Vec<f64> {
    let logits = probe.logits(h);
    let one = |(row, y): (&[f64], &usize)| {
        let others = row.iter().enumerate().filter(|(j, _)| j != y).map(|(_, z)| *z);
        row[*y] - others.fold(f64::NEG_INFINITY, f64::max)
    };
    logits.iter_rows().zip(labels).map(one).collect()
}

/// Deviations relative to the value, or to `scale` if the value is smaller, because margins cross 0.
fn relative(got: &[f64], want: &[f64], scale: f64) -> Vec<f64> {
    got.iter().zip(want).map(|(g, w)| (g - w) / w.abs().max(scale)).collect()
}

/// Compares FGSM and PGD in the precision `T` with the reference at every radius. `tolerance` is absolute for points and
/// relative for margins.
fn attack<T: Real>(set: &Saturated, report: &mut Report, case: &Case, tolerance: f64) {
    let probe: Mlp<T> = case.probe.cast();
    let x: Dense<f64> = matrix(&set.stored, "x_test");
    let h: Dense<T> = x.cast();
    let steps = number(&set.info["T"]) as usize;
    let first = signs(&probe, &h, &case.labels, case.aim);
    let (stored, turned) = set.grid(case, "sign");
    // The stored value is the sign of the gradient of the label's loss. Our value is the direction of the step, which is opposite if the
    // attack aims at the label.
    let down = if case.aim == Aim::Towards { -turned } else { turned };
    let steps_there: Vec<f64> = stored.data.iter().map(|s| down * s).collect();
    report.close64(&format!("{} signs", case.key), first.cast::<f64>().data(), &steps_there, 0.0);
    let clean: Vec<f64> = losses(&probe, &h, &case.labels).iter().map(|l| l.to_f64()).collect();
    let want = &set.stored.get(&format!("{}.clean_loss", case.key)).data;
    let apart = relative(&clean, want, 1.0);
    report.close64(&format!("{} losses", case.key), &apart, &vec![0.0; apart.len()], tolerance);
    let (fgsm_margin, turned) = set.grid(case, "fgsm.margin");
    let (pgd_margin, _) = set.grid(case, "pgd.margin");
    let (rows, mut got, mut want) = (h.rows(), Vec::new(), Vec::new());
    let (final_losses, mut reached) = (set.stored.find(&format!("{}.pgd.loss", case.key)), Vec::new());
    for (i, epsilon) in numbers(&set.info["eps"]).into_iter().enumerate() {
        let schedule = Schedule { epsilon: T::from_f64(epsilon), step: T::from_f64(epsilon / 10.0), steps };
        let walked = pgd(&probe, &h, (&case.labels, case.aim), &first, schedule, &mut NoPulse).unwrap();
        let stepped = fgsm(&h, &first, schedule.epsilon);
        reached.extend(losses(&probe, &walked, &case.labels).iter().map(|l| l.to_f64()));
        for (points, margin) in [(&stepped, &fgsm_margin), (&walked, &pgd_margin)] {
            got.extend(margins(&case.probe, &points.cast(), &case.labels));
            want.extend(margin.data[i * rows..(i + 1) * rows].iter().map(|m| turned * m));
        }
        if let Some(points) = set.stored.find(&format!("{}.pgd.{epsilon:?}", case.truth.0)) {
            let name = format!("{} PGD points, eps {epsilon}", case.key);
            report.close64(&name, walked.cast::<f64>().data(), &points.data, tolerance);
        }
    }
    let clean = &set.stored.get(&format!("{}.clean_margin", case.key)).data;
    let usual = clean.iter().map(|m| m.abs()).sum::<f64>() / rows as f64;
    let apart = relative(&got, &want, usual);
    let name = format!("{} margins at {} radii", case.key, got.len() / rows / 2);
    report.close64(&name, &apart, &vec![0.0; apart.len()], tolerance);
    if let Some(want) = final_losses {
        let apart = relative(&reached, &want.data, usual);
        report.close64(&format!("{} final losses", case.key), &apart, &vec![0.0; apart.len()], tolerance);
    }
}

fn saturated_in_double_precision(dir: &Path) {
    let set = Saturated::open(dir);
    let mut report = Report::new("interventions/saturated, f64");
    for case in set.cases() {
        attack::<f64>(&set, &mut report, &case, 1e-9);
    }
    report.finish();
}

/// In single precision, attacks end at the same points as in double precision, at every radius and scale.
fn saturated_in_single_precision(dir: &Path) {
    let set = Saturated::open(dir);
    let mut report = Report::new("interventions/saturated, f32");
    for case in set.cases() {
        attack::<f32>(&set, &mut report, &case, 1e-5);
    }
    report.finish();
}
