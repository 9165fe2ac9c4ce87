//! Further comparisons with the authors' code: completeness and selectivity after RLACE's projections and at AutoAttack's points, rows that
//! AutoAttack returns unchanged, FAB towards a class, and FAB's points.

use super::robust::Ground;
use super::scores::{Judge, compare, mean};
use super::{Set, matrix, number, numbers, run, values_of};
use crate::common::{Report, Tensors, json};
use probity::base::NoPulse;
use probity::lab::interventions::methods::across::{Field, Wish};
use probity::lab::interventions::methods::attack::Aim;
use probity::lab::interventions::methods::fab::Search;
use probity::probe::{Intervention, Probe};
use std::path::Path;

crate::harness::tests! {
    Needs::Larger("interventions/official") => [
        scores_of_rlace,
        scores_of_all_attacks_together,
        fab_towards_a_class,
        points_of_fab,
    ];
}

/// Scores the authors' projections with this program, and compares the scores of all examples and their means.
fn scores_of_rlace(dir: &Path) {
    let set = Set::open(dir.parent().unwrap());
    let mut report = Report::new("interventions/official, scores of RLACE");
    let theirs = Tensors::load(&dir.join("rlace.safetensors"));
    let scores = json(&dir.join("rlace.json"))["scores"].clone();
    let judge = Judge::new(&set);
    // Keys are `zc.1`, `zc.2`, …, `z3.2`: property and rank.
    for (of, want) in scores.as_object().unwrap() {
        let (p, rank) = of.split_once('.').unwrap();
        let kept = matrix::<f64>(&theirs, &format!("{p}.P.{rank}"));
        let h = set.x("test").cast::<f64>().dot(&kept).cast();
        compare(&mut report, &format!("{p}, rank {rank}"), want, &judge.score(p, &h, None));
    }
    report.finish();
}

/// Runs the attacks together, away from the true label, as in a real run. APGD begins at random points, so the points of successfully
/// attacked rows differ from the authors'. The number of such rows and the means may differ slightly, but the points of rows that resist
/// must not.
fn scores_of_all_attacks_together(dir: &Path) {
    let set = Set::open(dir.parent().unwrap());
    let mut report = Report::new("interventions/official, scores of AutoAttack");
    let info = json(&dir.join("autoattack.json"));
    let judge = Judge::new(&set);
    let (x, truth) = (set.x("test"), set.labels("zc", "test"));
    let wanted: Vec<usize> = truth.iter().map(|y| 1 - y).collect();
    let probe: Probe<Intervention> = Probe::from_mlp(set.mlp("mlp.zc"));
    let fit = [probe.to_bytes(), 7u64.to_le_bytes().to_vec()].concat();
    let radii = values_of(&info["scores_zc_ensemble"], "");
    let values: Vec<f64> = radii.iter().map(|r| r.1).collect();
    let moved = run("autoattack", &fit, &[("queries", 100.0)], &x, &wanted, &values);
    for ((spelled, _), h) in radii.iter().zip(moved) {
        let want = &info["scores_zc_ensemble"][spelled];
        let (scores, _) = judge.score("zc", &h, Some(&wanted));
        let s: Vec<f64> = scores.selectivity.iter().map(|s| s.unwrap()).collect();
        let got = [mean(&scores.completeness), mean(&s)];
        let means = ["mean_C", "mean_S"].map(|key| number(&want[key]));
        report.close64(&format!("mean C and S at {spelled}"), &got, &means, 0.01);
        let still: Vec<usize> = (0..x.rows()).filter(|i| h.row(*i) == x.row(*i)).collect();
        let (c, s_head) = (numbers(&want["C"]), numbers(&want["S"]));
        let same = |i: &&usize| {
            **i < c.len() && (c[**i] - scores.completeness[**i]).abs() < 1e-5 && (s_head[**i] - s[**i]).abs() < 1e-5
        };
        let (unmoved, alike) = (still.iter().filter(|i| **i < c.len()).count(), still.iter().filter(same).count());
        let said = format!("{alike} of {unmoved} rows have the authors' scores");
        report.holds(&format!("each row at {spelled}"), alike * 100 >= unmoved * 98, said);
        if let Some(theirs) = info["zc"]["official_class_custom"].get(spelled) {
            let want = number(&theirs["returned_unchanged"]);
            report.close64(&format!("unchanged at {spelled}"), &[still.len() as f64], &[want], 5.0);
        }
    }
    report.finish();
}

/// Attacks towards each other class in turn; the nearest point is used.
fn fab_towards_a_class(dir: &Path) {
    let set = Set::open(dir.parent().unwrap());
    let mut report = Report::new("interventions/official, FAB towards a class");
    let stored = set.tensors("official/autoattack.safetensors");
    for ground in Ground::all(&set) {
        let (rows, classes) = (ground.right(), ground.mlp.classes());
        let mut least = vec![f64::INFINITY; rows.len()];
        for shift in 1..classes {
            let aim = Aim::Towards;
            let wishes: Vec<Wish> = ground.truth.iter().map(|y| Wish { aim, class: (y + shift) % classes }).collect();
            let field = Field { wishes: &wishes, ..ground.field() };
            let found = Search::new(100).nearest(&field, &rows, &mut NoPulse).unwrap();
            for (least, nearest) in least.iter_mut().zip(found) {
                *least = least.min(nearest.map_or(f64::INFINITY, |n| f64::from(n.distance)));
            }
        }
        let want = &stored.get(&format!("{}.fab_t.linf", ground.property)).data;
        let close = (0..rows.len()).filter(|i| (least[*i] - want[rows[*i]]).abs() <= 1e-3).count();
        let said = format!("{close} of {} within 1e-3", rows.len());
        report.holds(&format!("{} distances", ground.property), close * 100 >= rows.len() * 95, said);
    }
    report.finish();
}

/// Compares the points of the first rows for which both programs found one.
fn points_of_fab(dir: &Path) {
    let set = Set::open(dir.parent().unwrap());
    let mut report = Report::new("interventions/official, FAB's points");
    let stored = set.tensors("official/autoattack.safetensors");
    for ground in Ground::all(&set) {
        let want = stored.get(&format!("{}.fab.x_adv", ground.property));
        let (count, d) = (want.shape[0], ground.h.cols());
        let rows: Vec<usize> = ground.right().into_iter().filter(|r| *r < count).collect();
        let found = Search::new(100).nearest(&ground.field(), &rows, &mut NoPulse).unwrap();
        let near = |(row, nearest): (&usize, &Option<_>)| {
            let nearest: &Option<probity::lab::interventions::methods::fab::Nearest> = nearest;
            let theirs = &want.data[row * d..(row + 1) * d];
            nearest.as_ref().is_some_and(|n| n.point.iter().zip(theirs).all(|(a, b)| (f64::from(*a) - b).abs() < 1e-3))
        };
        let close = rows.iter().zip(&found).filter(|pair| near(*pair)).count();
        let said = format!("{close} of {} rows", rows.len());
        report.holds(&format!("{} points", ground.property), close * 100 >= rows.len() * 90, said);
    }
    report.finish();
}
