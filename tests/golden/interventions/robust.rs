//! APGD, FAB and Square compared with AutoAttack's authors' code, and the rows that resist all three.

use super::{Set, number};
use crate::common::{Report, json};
use probity::base::matrix::argmax;
use probity::base::{NoPulse, SharedPulse};
use probity::lab::interventions::methods::across::{Attack, Field, Wish};
use probity::lab::interventions::methods::apgd::{Loss, Walk};
use probity::lab::interventions::methods::attack::Aim;
use probity::lab::interventions::methods::fab::Search;
use probity::lab::interventions::methods::square::Draws;
use probity::probe::{Matrix, Mlp};
use std::path::Path;

crate::harness::tests! {
    Needs::Larger("interventions/official") => [
        apgd_from_given_points,
        fab_finds_the_same_distances,
        what_the_attacks_leave_standing,
    ];
}

/// A probe to be attacked, away from the true labels.
pub(crate) struct Ground {
    pub property: String,
    pub mlp: Mlp,
    pub h: Matrix,
    pub truth: Vec<usize>,
    from: Vec<usize>,
    wishes: Vec<Wish>,
}

impl Ground {
    pub(crate) fn all(set: &Set) -> Vec<Self> {
        let named = ["zc", "z3"].iter().filter(|p| set.properties().iter().any(|(name, _)| name == *p));
        named
            .map(|p| {
                let (mlp, h, truth) = (set.mlp(&format!("mlp.{p}")), set.x("test"), set.labels(p, "test"));
                let from = mlp.logits(&h).iter_rows().map(argmax).collect();
                let wishes = truth.iter().map(|y| Wish { aim: Aim::AwayFrom, class: *y }).collect();
                Self { property: (*p).to_owned(), mlp, h, truth, from, wishes }
            })
            .collect()
    }

    pub(crate) fn field(&self) -> Field<'_> {
        Field { mlp: &self.mlp, h: &self.h, from: &self.from, wishes: &self.wishes, seed: 1 }
    }

    /// Rows that the probe classifies correctly.
    pub(crate) fn right(&self) -> Vec<usize> {
        (0..self.truth.len()).filter(|i| self.from[*i] == self.truth[*i]).collect()
    }
}

fn apgd_from_given_points(dir: &Path) {
    let set = Set::open(dir.parent().unwrap());
    let mut report = Report::new("interventions/official, APGD");
    let stored = set.tensors("official/autoattack.safetensors");
    for ground in Ground::all(&set) {
        for epsilon in ["0.05", "0.15", "0.2", "0.5"] {
            for start in ["from_x", "from_pattern"] {
                let key = format!("{}.apgd.{epsilon}.{start}", ground.property);
                let Some(from) = stored.find(&format!("{key}.x_init")) else { continue };
                let rows: Vec<usize> = (0..from.shape[0]).collect();
                let walk = Walk { loss: Loss::CrossEntropy, iterations: 100 };
                let (mut quiet, radius) = (NoPulse, epsilon.parse().unwrap());
                let pulse = SharedPulse::new(&mut quiet, 0);
                let got = walk.from_points(&ground.field(), &rows, &from.f32(), radius, &pulse).unwrap();
                let want = &stored.get(&format!("{key}.robust")).data;
                let flags: Vec<f64> = got.robust.iter().map(|r| f64::from(u8::from(*r))).collect();
                report.close64(&format!("{key} robust"), &flags, want, 0.0);
                let want = &stored.get(&format!("{key}.loss_best")).data;
                let far = |(got, want): (&f32, &f64)| (f64::from(*got) - want).abs() / want.abs().max(1e-3);
                let off = got.losses.iter().zip(want).map(far).fold(0.0, f64::max);
                report.holds(&format!("{key} loss_best"), off < 1e-3, format!("relative error {off:.1e}"));
                let want = &stored.get(&format!("{key}.x_best_adv")).data;
                let d = ground.h.cols();
                let parts = (0..rows.len()).filter(|i| {
                    let at = i * d..(i + 1) * d;
                    got.met[at.clone()].iter().zip(&want[at]).any(|(g, w)| (f64::from(*g) - w).abs() > 1e-3)
                });
                // Even two runs of the authors' code differ in up to 8 % of the rows if only rounding differs.
                let parts = parts.count();
                let said = format!("{parts} of {} rows end at a different point", rows.len());
                report.holds(&format!("{key} x_best_adv"), parts * 100 <= rows.len() * 10, said);
            }
        }
    }
    report.finish();
}

fn fab_finds_the_same_distances(dir: &Path) {
    let set = Set::open(dir.parent().unwrap());
    let mut report = Report::new("interventions/official, FAB");
    let stored = set.tensors("official/autoattack.safetensors");
    let info = json(&dir.join("autoattack.json"));
    for ground in Ground::all(&set) {
        let p = &ground.property;
        let rows = ground.right();
        let search = Search::new(info[p]["fab"]["n_iter"].as_u64().unwrap() as usize);
        let found = search.nearest(&ground.field(), &rows, &mut NoPulse).unwrap();
        let want = &stored.get(&format!("{p}.fab.linf")).data;
        let near = |i: usize| {
            let got = found[i].as_ref().map_or(f64::INFINITY, |n| f64::from(n.distance));
            (got - want[rows[i]]).abs() <= 1e-4 || got == want[rows[i]]
        };
        let close = (0..rows.len()).filter(|i| near(*i)).count();
        let said = format!("{close} of {} within 1e-4", rows.len());
        report.holds(&format!("{p} distances"), close * 100 >= rows.len() * 97, said);
        for (spelled, epsilon) in super::values_of(&info[p]["fab"]["robust_accuracy"], "") {
            let within = |n: &_| {
                let n: &probity::lab::interventions::methods::fab::Nearest = n;
                f64::from(n.distance) <= epsilon
            };
            let fooled = found.iter().flatten().filter(|n| within(n)).count();
            let robust = (rows.len() - fooled) as f64 / ground.truth.len() as f64;
            let want = number(&info[p]["fab"]["robust_accuracy"][&spelled]);
            report.close64(&format!("{p} robust accuracy {spelled}"), &[robust], &[want], 0.01);
        }
    }
    report.finish();
}

/// Runs APGD from random points, FAB and Square together. The windows of our Square differ, because a vector is not an image. After the
/// other two attacks, however, Square finds nothing more here, in the authors' runs or in ours.
fn what_the_attacks_leave_standing(dir: &Path) {
    let set = Set::open(dir.parent().unwrap());
    let mut report = Report::new("interventions/official, together");
    let info = json(&dir.join("autoattack.json"));
    for ground in Ground::all(&set) {
        let p = &ground.property;
        let n = ground.truth.len() as f64;
        let together = &info[p]["ensemble_apgd_fab_square"]["robust_accuracy"];
        if !together.is_object() {
            continue;
        }
        for (spelled, epsilon) in super::values_of(together, "") {
            let epsilon = epsilon as f32;
            let mut standing = ground.right();
            let mut square = ground.right();
            let left = |attack: &mut dyn Attack, rows: &mut Vec<usize>| {
                let found = attack.run(&ground.field(), rows, epsilon, &mut NoPulse).unwrap();
                let mut found = found.iter();
                rows.retain(|_| found.next().is_some_and(Option::is_none));
                rows.len() as f64 / n
            };
            let apgd = left(&mut Walk { loss: Loss::CrossEntropy, iterations: 100 }, &mut standing);
            let want = number(&info[p]["apgd_ce"]["robust_accuracy"][&spelled][0]);
            report.close64(&format!("{p} APGD {spelled}"), &[apgd], &[want], 0.01);
            let all = left(&mut Search::new(100), &mut standing);
            let all = all.min(left(&mut Draws { queries: 100 }, &mut standing));
            report.close64(&format!("{p} together {spelled}"), &[all], &[number(&together[&spelled])], 0.01);
            let alone = left(&mut Draws { queries: 1000 }, &mut square);
            report.holds(&format!("{p} Square {spelled}"), alone >= all - 0.005, format!("{alone} of {all}"));
        }
    }
    report.finish();
}
