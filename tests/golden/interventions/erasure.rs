//! LEACE against concept-erasure, and the mean difference against its definition.

use super::{Set, head};
use crate::common::Report;
use probity::base::NoPulse;
use probity::lab::interventions::methods::leace::{Eraser, Leace};
use probity::lab::interventions::methods::mean_difference::{MeanDifference, differences};
use probity::lab::interventions::{FitData, Method, Options};
use std::path::Path;

crate::harness::tests! {
    Needs::Larger("interventions") => [leace, mean_difference];
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
            report.close64(
                &format!("{key}.P"),
                eraser.kept().data(),
                &stored.get(&format!("{key}.P")).data,
                1e-6,
            );
            let want = stored.get(&format!("{key}.bias"));
            report.close64(&format!("{key}.bias"), eraser.bias(), &want.data, 1e-6);
            let want = stored.get(&format!("{key}.x_test"));
            let options = Options::new(&Leace, [("shrink", shrink)]).unwrap();
            let fitted =
                Leace.fit(&FitData { data: &data, mlp: None, seed: 0 }, &options, &mut NoPulse).unwrap();
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
    let options = Options::defaults(&MeanDifference);
    let fitted =
        MeanDifference.fit(&FitData { data: &data, mlp: None, seed: 0 }, &options, &mut NoPulse).unwrap();
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
