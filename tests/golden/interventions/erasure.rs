//! LEACE compared with concept-erasure, RLACE with the authors' code (by the information that remains), and the mean difference with its
//! definition.

use super::{Set, head, matrix, number};
use crate::common::{Report, Tensors, json};
use probity::base::NoPulse;
use probity::lab::interventions::methods::leace::{Eraser, LEACE};
use probity::lab::interventions::methods::mean_difference::{MEAN_DIFFERENCE, differences};
use probity::lab::interventions::methods::rlace::{Curve, RLACE};
use probity::lab::interventions::{FitData, Options};
use probity::probe::logistic::Settings;
use probity::probe::{Labelled, Logistic, Matrix};
use std::path::Path;

crate::harness::tests! {
    Needs::Reference("interventions") => [leace, mean_difference];
    Needs::Larger("interventions/official") => [rlace];
}

/// RLACE's minimax game has many solutions of equal quality, so projections are not compared. The test compares how much a fresh classifier
/// finds in the training data after erasure with our code and with the authors' code.
fn rlace(official: &Path) {
    let set = Set::open(official.parent().unwrap());
    let mut report = Report::new("interventions/official/rlace");
    let runs = json(&official.join("rlace.json"))["runs"].clone();
    let theirs = Tensors::load(&official.join("rlace.safetensors"));
    let runs = runs.as_object().unwrap();
    let ranks = |property: &str| -> Vec<usize> {
        let own = runs.keys().filter_map(|k| k.strip_prefix(property)?.strip_prefix('.')?.parse().ok());
        own.collect()
    };
    for (p, classes) in set.properties() {
        let most = ranks(&p).into_iter().max();
        let Some(most) = most else { continue };
        let data = set.intervention(&p);
        let train = data.train();
        // The number of steps is the same as in the authors' run.
        let options = Options::new(&RLACE, [("steps", 6_000.0), ("judge", 1.0)]).unwrap();
        let curve = Curve::fit(train, 0, most / (classes - 1), &options, &mut NoPulse).unwrap();
        for dimensions in ranks(&p) {
            let (key, info) = (format!("{p}.{dimensions}"), &runs[&format!("{p}.{dimensions}")]);
            let erased = curve.at(dimensions / (classes - 1)).unwrap();
            report.equal(&format!("{key} rank"), &erased.removed.rank(), &dimensions);
            let fresh = |left: Matrix| {
                let left = Labelled::new(left, train.y().to_vec(), classes).unwrap();
                let fit = Logistic::fit_plain(&left, &Settings::default(), &mut || Ok(())).unwrap();
                let squares: f64 = fit.model.weight.data().iter().map(|w| w * w).sum();
                ((fit.objective - 0.5 * squares) / left.len() as f64, fit.model.accuracy(&left))
            };
            let entropy = number(&info["label_entropy_nats"]);
            let (loss, accuracy) = fresh(erased.removed.remove_from(train.x()));
            let stored = matrix::<f64>(&theirs, &format!("{p}.P.{dimensions}"));
            let (their_loss, their_accuracy) = fresh(train.x().cast::<f64>().dot(&stored).cast());
            let said = number(&info["lr_train_cross_entropy_nats_after"]);
            report.close64(&format!("{key} loss of their projection"), &[their_loss], &[said], 2e-4);
            let what = format!("{loss:.5} of {entropy:.5} nats after {} steps, theirs {their_loss:.5}", erased.steps);
            report.holds(&format!("{key} loss left"), loss > entropy - 0.01, what);
            let near = [number(&info["lr_train_accuracy_after"]), train.majority()];
            let off = near.map(|a| (a - accuracy).abs()).into_iter().fold(1.0, f64::min);
            let what = format!("{accuracy:.4}, theirs {their_accuracy:.4}, majority {:.4}", train.majority());
            report.holds(&format!("{key} accuracy"), off <= 0.01, what);
        }
    }
    report.finish();
}

fn leace(dir: &Path) {
    let set = Set::open(dir);
    let mut report = Report::new("interventions/leace");
    let stored = set.tensors("leace.safetensors");
    for (concept, property) in [("zc_column", "zc"), ("zc_onehot", "zc"), ("z3_onehot", "z3")] {
        let data = set.intervention(property);
        for (way, shrink) in [("plain", 0.0), ("shrink", 1.0)] {
            let key = format!("{concept}.leace.{way}");
            let eraser = Eraser::fit(data.train(), shrink == 1.0).unwrap();
            report.close64(&format!("{key}.P"), eraser.kept().data(), &stored.get(&format!("{key}.P")).data, 1e-6);
            let want = stored.get(&format!("{key}.bias"));
            report.close64(&format!("{key}.bias"), eraser.bias(), &want.data, 1e-6);
            let want = stored.get(&format!("{key}.x_test"));
            let options = Options::new(&LEACE, [("shrink", shrink)]).unwrap();
            let fitted = LEACE.fit(&FitData::new(&data), &options, &mut NoPulse).unwrap();
            let (x, labels) = (set.x("test"), set.labels(property, "test"));
            let got = fitted.on(&x, &labels, &mut NoPulse).unwrap().at(1.0, &mut NoPulse).unwrap();
            report.close(&format!("{key}.x_test"), head(&got, want.shape[0]), &want.data, 1e-4);
        }
    }
    report.finish();
}

fn mean_difference(dir: &Path) {
    let set = Set::open(dir);
    let mut report = Report::new("interventions/mean difference");
    let stored = set.tensors("mean_difference.safetensors");
    let data = set.intervention("zc");
    let towards = differences(data.train());
    report.close64("vector", towards.row(1), &stored.get("vector").data, 1e-5);
    let options = Options::defaults(&MEAN_DIFFERENCE);
    let fitted = MEAN_DIFFERENCE.fit(&FitData::new(&data), &options, &mut NoPulse).unwrap();
    let x = set.x("test");
    let goals: Vec<usize> = set.labels("zc", "test").iter().map(|y| 1 - y).collect();
    let mut rows = fitted.on(&x, &goals, &mut NoPulse).unwrap();
    for shift in ["0.5", "1.0", "2.0"] {
        let Some(want) = stored.find(&format!("shifted.{shift}")) else { continue };
        let got = rows.at(shift.parse().unwrap(), &mut NoPulse).unwrap();
        report.close(&format!("shifted {shift}"), head(&got, want.shape[0]), &want.data, 1e-5);
    }
    report.finish();
}
