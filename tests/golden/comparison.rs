//! `reference/stats` and `reference/mdl`: paired tests, power, required n, sequential tests, description lengths, and the sample sizes
//! published by Zhu et al.

use std::path::Path;

use crate::common::{Report, Tensors, json};
use probity::base::NoPulse;
use probity::lab::power::bound::{Bound, Counted, DELTA, margin, recommended};
use probity::probe::logistic::Settings;
use probity::probe::mdl::prequential::{ends, online};
use probity::probe::mdl::variational::{Draw, Normals, Posterior, Workspace, codes, scale_divergence};
use probity::probe::{Labelled, Logistic, Matrix};
use probity::stats::Purpose;
use probity::stats::corrections::{benjamini_hochberg, holm};
use probity::stats::mcnemar::{self, Test};
use probity::stats::power::{Discord, power};
use probity::stats::required::{Aim, Required, required};
use probity::stats::sequential::{Prior, Sequential, interval, log_e};
use serde_json::Value;

crate::harness::tests! {
    Needs::Reference("stats") => [mcnemar_tables, power_of_three_tests];
    Needs::Reference("stats") => [recommended_sizes];
    Needs::Reference("stats/sequential") => [power_over_a_grid_and_required_n, sequential_tests, corrections_with_ties];
    Needs::Reference("mdl") => [online_description_length];
    Needs::Fixtures => [variational_description_length];
    Needs::Data("zhu_published") => [sizes_of_every_published_comparison];
}

fn number(v: &Value) -> f64 {
    match v {
        Value::String(s) if s == "inf" => f64::INFINITY,
        Value::String(s) if s == "nan" => f64::NAN,
        v => v.as_f64().unwrap_or_else(|| panic!("no number: {v}")),
    }
}

fn list<'a>(v: &'a Value, key: &str) -> &'a [Value] {
    v[key].as_array().unwrap_or_else(|| panic!("no list {key}"))
}

fn mcnemar_tables(dir: &Path) {
    let file = json(&dir.join("mcnemar.json"));
    let mut report = Report::new("stats/mcnemar");
    for case in list(&file, "cases") {
        let (c, b) = (case["n01"].as_u64().unwrap(), case["n10"].as_u64().unwrap());
        let (plain, edwards) = (mcnemar::chi2(b, c), mcnemar::corrected(b, c));
        let mut got = vec![mcnemar::exact(b, c)];
        let mut want = vec![number(&case["exact"]["p"])];
        // Without a discordant item, statsmodels returns NaN and p = 0. There is no evidence, so p is 1 here.
        if b + c == 0 {
            assert_eq!((plain.p, edwards.p), (1.0, 1.0));
        } else {
            got.extend([plain.statistic, plain.p]);
            want.extend(["statistic", "p"].map(|key| number(&case["chi2_uncorrected"][key])));
            // If b = c, statsmodels squares a gap of -1, but a correction towards no difference should stop at 0.
            got.extend([edwards.statistic, edwards.p]);
            let corrected = ["statistic", "p"].map(|key| number(&case["chi2_corrected"][key]));
            want.extend(if b == c { [0.0, 1.0] } else { corrected });
        }
        report.close64(&format!("{b} {c}"), &got, &want, 1e-10);
    }
    report.finish();
}

fn power_of_three_tests(dir: &Path) {
    let file = json(&dir.join("power.json"));
    let mut report = Report::new("stats/power");
    for case in list(&file, "cases") {
        let (n, level) = (case["n"].as_u64().unwrap(), number(&case["alpha"]));
        let (p01, p10) = (number(&case["p01"]), number(&case["p10"]));
        let discord = Discord::new(p01, p10).unwrap();
        for (key, test) in
            [("exact_test", Test::Exact), ("chi2_corrected", Test::Corrected), ("chi2_uncorrected", Test::Chi2)]
        {
            let (got, want) = (power(discord, n, level, test).unwrap(), &case[key]);
            let right = number(&want["power_correct_sign"]);
            // If there is no difference, no sign is correct.
            let right = if p01 == p10 { 0.0 } else { right };
            report.close64(
                &format!("{key} {p01} {p10} {n}"),
                &[got.power, got.either],
                &[right, number(&want["power_any_sign"])],
                1e-9,
            );
            if let (Some(s), Some(want)) = (got.type_s, want["type_s"].as_f64()) {
                report.close64(&format!("{key} type S"), &[s], &[want], 1e-9);
            }
        }
        let simulated = &case["simulated_exact_test"];
        if let (Some(m), Some(want)) =
            (power(discord, n, level, Test::Exact).unwrap().type_m, simulated["type_m"].as_f64())
        {
            report.close64("type M, simulated", &[m], &[want], 0.03 * want);
        }
        // Compares a result of 100,000 simulated samples with the exact sum; the tolerance is four standard errors.
        let (draws, right) = (number(&simulated["reps"]), number(&simulated["power_correct_sign"]));
        let exact = power(discord, n, level, Test::Exact).unwrap().power;
        let exact = if p01 == p10 { right } else { exact };
        let error = 4.0 * (exact * (1.0 - exact) / draws).sqrt() + 1.0 / draws;
        report.close64("power, simulated", &[exact], &[right], error);
        let error = 4.0 * (discord.rate() / (n as f64 * draws)).sqrt();
        report.close64("effect, simulated", &[-discord.gap()], &[number(&simulated["mean_effect"])], error);
    }
    report.finish();
}

fn power_over_a_grid_and_required_n(dir: &Path) {
    let file = json(&dir.join("power_grid.json"));
    let mut report = Report::new("stats/sequential/power_grid");
    for case in list(&file, "grid") {
        let discord = Discord::new(number(&case["p01"]), number(&case["p10"])).unwrap();
        let n = case["n"].as_u64().unwrap();
        let got = power(discord, n, number(&case["alpha"]), Test::Exact).unwrap();
        let what = format!("{} {} {n}", case["p01"], case["p10"]);
        let right = if discord.gap() == 0.0 { 0.0 } else { number(&case["power_correct_sign"]) };
        report.close64(&what, &[got.power, got.either], &[right, number(&case["power_any_sign"])], 1e-9);
        for (key, value) in [("type_s", got.type_s), ("type_m", got.type_m)] {
            if let (Some(want), Some(value)) = (case[key].as_f64(), value) {
                report.close64(&format!("{what} {key}"), &[value / want.max(1.0)], &[want / want.max(1.0)], 1e-9);
            }
        }
    }
    for case in list(&file, "required") {
        let discord = Discord::new(number(&case["p01"]), number(&case["p10"])).unwrap();
        let (target, level) = (number(&case["target"]), number(&case["alpha"]));
        let got = required(discord, Aim { target, level, test: Test::Exact }).unwrap();
        let whole = |key: &str| case[key].as_u64().unwrap();
        let want = Required { first: whole("n_first"), for_good: whole("n_from_which_on") };
        report.equal(&format!("required {} {}", case["p01"], case["p10"]), &got, &want);
        let at = |n| power(discord, n, level, Test::Exact).unwrap();
        let wanted = ["power_at_n_first", "power_one_less", "power_from_which_on"].map(|key| number(&case[key]));
        let there = [got.first, got.first - 1, got.for_good].map(|n| at(n).power);
        report.close64("power there", &there, &wanted, 1e-9);
        let wanted = ["type_m_at_n_first", "type_s_at_n_first"].map(|key| number(&case[key]));
        let first = at(got.first);
        report.close64("type M and type S errors", &[first.type_m.unwrap(), first.type_s.unwrap()], &wanted, 1e-9);
    }
    report.finish();
}

fn sequential_tests(dir: &Path) {
    let (file, arrays) = (json(&dir.join("sequential.json")), Tensors::load(&dir.join("sequential.safetensors")));
    let level = number(&file["level"]);
    let mut report = Report::new("stats/sequential");
    let priors: Vec<(&String, Prior)> = file["priors"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, p)| (name, Prior { first: number(&p[0]), second: number(&p[1]) }))
        .collect();
    for (name, case) in file["cases"].as_object().unwrap() {
        let right = |side: &str| arrays.get(&format!("{name}.{side}_right")).data.clone();
        let pairs: Vec<(bool, bool)> =
            right("first").into_iter().zip(right("second")).map(|(a, b)| (a != 0.0, b != 0.0)).collect();
        for (prior_name, prior) in &priors {
            let (mut b, mut c) = (0, 0);
            let (mut logs, mut los, mut his) = (Vec::new(), Vec::new(), Vec::new());
            for (first, second) in &pairs {
                b += u64::from(*first && !second);
                c += u64::from(*second && !first);
                logs.push(log_e(b, c, *prior));
                let (lo, hi) = interval(b, c, *prior, level);
                los.push(lo);
                his.push(hi);
            }
            let want = |what: &str| arrays.get(&format!("{name}.{prior_name}.{what}")).data.clone();
            for (what, got) in [("log_e", &logs), ("lo", &los), ("hi", &his)] {
                report.close64(&format!("{name} {prior_name} {what}"), got, &want(what), 1e-9);
            }
            let crossed = logs.iter().position(|l| *l >= -(1.0 - level).ln()).map(|i| i as u64 + 1);
            let first = case[prior_name.as_str()]["first_pair_with_e_at_least_1_over_alpha"].as_u64();
            report.equal(&format!("{name} {prior_name} stops"), &crossed, &first);
        }
        let mut followed = Sequential::default();
        pairs.iter().for_each(|(a, b)| followed.add(*a, *b));
        let want = &case["half"]["anytime_p"];
        report.close64(&format!("{name} anytime p"), &[followed.anytime_p()], &[number(want)], 1e-9);
        let only = |first: bool| pairs.iter().filter(|(a, b)| a != b && *a == first).count() as u64;
        let exact = mcnemar::exact(only(true), only(false));
        report.close64(&format!("{name} exact p"), &[exact], &[number(&case["exact_mcnemar_p_at_the_end"])], 1e-10);
    }
    for case in list(&file, "large_counts") {
        let (b, c) = (case["b"].as_u64().unwrap(), case["c"].as_u64().unwrap());
        for (name, prior) in &priors {
            let (want, what) = (&case[name.as_str()], format!("{b} {c} {name}"));
            report.close64(&what, &[log_e(b, c, *prior)], &[number(&want["log_e"])], 1e-7);
            let (lo, hi) = interval(b, c, *prior, level);
            report.close64(&what, &[lo, hi], &[number(&want["lo"]), number(&want["hi"])], 1e-9);
        }
    }
    report.finish();
}

fn corrections_with_ties(dir: &Path) {
    let file = json(&dir.join("multiple_testing_ties.json"));
    let mut report = Report::new("stats/sequential/multiple_testing_ties");
    for (i, case) in list(&file, "cases").iter().enumerate() {
        let numbers = |v: &Value| -> Vec<f64> { v.as_array().unwrap().iter().map(number).collect() };
        let p = numbers(&case["p"]);
        for (name, got) in [("holm", holm(&p)), ("fdr_bh", benjamini_hochberg(&p))] {
            report.close64(&format!("{name} {i}"), &got, &numbers(&case[name]["adjusted"]), 1e-12);
        }
    }
    report.finish();
}

/// Compares with the published tables to the last digit, using exact fractions. Two entries are excluded by name: a misprint, and a
/// fraction that does not come from the table.
fn recommended_sizes(dir: &Path) {
    let mut report = Report::new("stats/recommended_n");
    for row in list(&json(&dir.join("recommended_n_published.json")), "rows") {
        let (size, times) = (row["size"].as_f64().unwrap(), row["gap_as_multiple_of_1_over_5_size"].as_f64().unwrap());
        // In one table, the column for the gap contains half the gap.
        let half = row["printed_column_is"].as_str() == Some("half");
        let gap = if half { 2.0 * times / (10.0 * size) } else { times / (5.0 * size) };
        let parameters = row["params"].as_u64().unwrap();
        let got = recommended(Bound::Published, gap, parameters, DELTA).unwrap().n_train;
        let name = format!("{} {size}", row["table"].as_str().unwrap());
        report.equal(&name, &got, &row["n_from_that_multiple"].as_u64().unwrap());
        if row["reproduced_exactly"].as_bool().unwrap() {
            report.equal(&name, &got, &row["printed_n"].as_u64().unwrap());
        }
    }
    for row in list(&json(&dir.join("recommended_n_grid.json")), "rows") {
        let (gap, hidden) = (number(&row["gap"]), row["hidden"].as_u64().unwrap());
        let classifier = if hidden == 0 { Counted::Linear } else { Counted::Mlp(hidden) };
        let parameters = classifier.parameters(row["d"].as_u64().unwrap());
        report.equal("parameters", &parameters, &row["params"].as_u64().unwrap());
        let got = recommended(Bound::Published, gap, parameters, DELTA).unwrap().n_train;
        report.equal("n", &got, &row["n_int"].as_u64().unwrap());
        let textbook = recommended(Bound::Textbook, gap, parameters, DELTA).unwrap().n_train as f64;
        let want = number(&row["n_if_H_is_2^32_to_the_params"]);
        report.close64("textbook", &[textbook / want], &[1.0], 1e-5);
        let at = margin(Bound::Published, 1_000, parameters, DELTA).unwrap();
        report.close64("margin", &[at], &[number(&row["bound_at_n_1000"])], 1e-12);
    }
    report.finish();
}

/// Rows of a tab-separated table, as maps from column to field.
fn rows(text: &str) -> Vec<std::collections::HashMap<&str, &str>> {
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split('\t').collect();
    lines.map(|l| names.iter().copied().zip(l.split('\t')).collect()).collect()
}

/// Compares with every row printed in the published notebook.
fn sizes_of_every_published_comparison(dir: &Path) {
    let fraction = |text: &str| {
        let (a, b) = text.split_once('/').unwrap();
        a.parse::<f64>().unwrap() / b.parse::<f64>().unwrap()
    };
    let size = |gap: f64, dim: u64| {
        let found = recommended(Bound::Published, gap, Counted::Linear.parameters(dim), DELTA);
        found.map_or("nan".to_owned(), |r| r.n_train.to_string())
    };
    let dim = |encoder: &str| match encoder {
        e if e.starts_with("glove") => 300,
        e if e.starts_with("infersent") => 4_096,
        _ => 768,
    };
    let mut report = Report::new("zhu_published");
    let text = std::fs::read_to_string(dir.join("encoder_comparisons.tsv")).unwrap();
    let all = rows(&text);
    assert!(all.len() > 150, "{}", all.len());
    for row in &all {
        let gap = fraction(row["mean_acc_diff_exact"]);
        let got = [row["encoder_1"], row["encoder_2"]].map(|e| size(gap, dim(e)));
        let want = [row["n_train_req_1"], row["n_train_req_2"]].map(str::to_owned);
        report.equal(&format!("{} {} {}", row["task"], row["encoder_1"], row["encoder_2"]), &got, &want);
    }
    let text = std::fs::read_to_string(dir.join("logreg_vs_mlp20.tsv")).unwrap();
    for row in rows(&text) {
        let got = size(2.0 * fraction(row["half_mean_acc_diff_exact"]), 768);
        report.equal(row["task"], &got, &row["n_train_req_logreg_count"].to_owned());
    }
    report.finish();
}

fn online_description_length(dir: &Path) {
    let (file, arrays) = (json(&dir.join("expected.json")), Tensors::load(&dir.join("data.safetensors")));
    let mut report = Report::new("mdl");
    let settings = Settings { tolerance: 1e-9, ..Settings::default() };
    let labelled = |x: &str, y: &str, classes: usize| {
        let x = arrays.get(x);
        let matrix = Matrix::from_vec(x.shape[0], x.shape[1], x.f32()).unwrap();
        Labelled::new(matrix, arrays.get(y).indices(), classes).unwrap()
    };
    for name in ["binary", "three", "binary_head_of_one_class", "binary_random_labels"] {
        let want = &file[name];
        let x = if name == "binary_random_labels" { "binary.x".into() } else { format!("{name}.x") };
        let classes = want["classes"].as_u64().unwrap() as usize;
        let data = labelled(&x, &format!("{name}.y"), classes);
        let code = online(&data, &settings, &mut || Ok(())).unwrap();
        let blocks: Vec<u64> = list(want, "ends").iter().map(|e| e.as_u64().unwrap()).collect();
        report.equal(name, &ends(data.len()).iter().map(|e| *e as u64).collect::<Vec<_>>(), &blocks);
        let total = number(&want["online_codelength_bits"]);
        report.close64(name, &[code.bits() / total], &[1.0], 1e-4);
        report.close64(name, &[code.compression()], &[number(&want["compression"])], 1e-3);
        report.close64(name, &[code.first], &[number(&want["first_portion_bits"])], 1e-9);
        // Compares the probe trained on all data: the code length of its training labels, and the number of these that it predicts
        // correctly.
        let probe = Logistic::fit_plain(&data, &settings, &mut || Ok(())).unwrap().model;
        let chances = probe.probabilities(data.x());
        let bits: f64 = data.y().iter().enumerate().map(|(i, y)| -chances.row(i)[*y].log2()).sum();
        report.close64(name, &[bits / number(&want["final_data_codelength_bits"])], &[1.0], 1e-4);
        let off = (probe.accuracy(&data) - number(&want["final_train_accuracy"])).abs() * data.len() as f64;
        report.holds(name, off <= 1.001, format!("{off} examples"));
        for (block, want) in code.blocks.iter().zip(list(want, "parts")) {
            let (got, accuracy) = (block.accuracy, want["accuracy"].as_f64());
            let near = got.zip(accuracy).is_none_or(|(a, b)| (a - b).abs() * block.coded as f64 <= 1.001);
            report.holds(name, near && got.is_some() == accuracy.is_some(), format!("{got:?} {accuracy:?}"));
        }
    }
    let want = &file["control_task"];
    let (train, all) = (want["tokens"].as_u64().unwrap() as usize, arrays.get("control.x").shape[0]);
    let mut accuracy = Vec::new();
    for (name, key) in [("task", "control.task_label"), ("control", "control.control_label")] {
        let data = labelled("control.x", key, want["labels"].as_u64().unwrap() as usize);
        let part = |rows: std::ops::Range<usize>| {
            let rows: Vec<usize> = rows.collect();
            let y = rows.iter().map(|r| data.y()[*r]).collect();
            Labelled::new(data.x().select_rows(&rows), y, data.classes()).unwrap()
        };
        let (known, dev) = (part(0..train), part(train..all));
        let probe = Logistic::fit_plain(&known, &settings, &mut || Ok(())).unwrap().model;
        accuracy.push(probe.accuracy(&dev));
        let wanted = &want[name];
        let near = |got: f64, key: &str| (got - number(&wanted[key])).abs() * dev.len() as f64 <= 1.001;
        report.holds(name, near(accuracy[accuracy.len() - 1], "dev_accuracy"), format!("{accuracy:?}"));
        let code = online(&known, &settings, &mut || Ok(())).unwrap();
        let total = number(&wanted["mdl"]["online_codelength_bits"]);
        report.close64(&format!("{name} code"), &[code.bits() / total], &[1.0], 1e-4);
    }
    report.close64(
        "selectivity",
        &[accuracy[0] - accuracy[1]],
        &[number(&want["selectivity"])],
        1.5 / (arrays.get("control.x").shape[0] - train) as f64,
    );
    report.finish();
}

/// Compares terms and gradients of the variational code under given noise, the divergence of a scale with quadrature, and code lengths with
/// those found by an independent program.
fn variational_description_length(dir: &Path) {
    let dir = dir.join("mdl");
    let file = json(&dir.join("variational.json"));
    let arrays = Tensors::load(&dir.join("variational.safetensors"));
    let mut report = Report::new("mdl/variational");
    for case in list(&file, "terms") {
        let name = case["name"].as_str().unwrap();
        let of = |key: &str| arrays.get(&format!("{name}.{key}")).f32();
        let normals =
            |key: &str| Normals { mean: of(&format!("{key}.mean")), log_variance: of(&format!("{key}.log_variance")) };
        let q = Posterior { scale: normals("scale"), weight: normals("weight"), bias: normals("bias") };
        let want = |key: &str| number(&case["divergence"][key]);
        let all = want("scale") + want("weight") + want("bias");
        report.close64(&format!("{name} divergence"), &[q.divergence() / all], &[1.0], 1e-6);
        report.close64(
            &format!("{name} weights"),
            &[q.weight.divergence(), q.bias.divergence()],
            &[want("weight"), want("bias")],
            1e-5,
        );
        let (x, y) = (of("x"), arrays.get(&format!("{name}.y")).indices());
        let draw = Draw { scale: of("noise.scale"), logit: of("noise.logit") };
        let (mut work, mut slope) = (Workspace::default(), q.zeros());
        let loss = work.cross_entropy(&q, &x, &y, &draw);
        report.close64(&format!("{name} cross entropy"), &[loss / number(&case["cross_entropy"])], &[1.0], 1e-5);
        work.slope(&q, &x, &draw, 1.0 / y.len() as f32, &mut slope);
        q.divergence_slope(1.0 / number(&case["examples"]) as f32, &mut slope);
        for (key, got) in [("scale", &slope.scale), ("weight", &slope.weight), ("bias", &slope.bias)] {
            for (part, got) in [("mean", &got.mean), ("log_variance", &got.log_variance)] {
                let want = &arrays.get(&format!("{name}.slope.{key}.{part}")).data;
                report.close(&format!("{name} slope {key}.{part}"), got, want, 1e-5);
            }
        }
    }
    // This approximation deviates by less than a hundredth of a nat; its authors show no visible gap.
    for case in list(&file, "scale") {
        let at = number(&case["log_alpha"]);
        report.close64(&format!("scale {at}"), &[scale_divergence(at)], &[number(&case["divergence"])], 0.01);
    }
    for case in list(&file, "codes") {
        let name = case["name"].as_str().unwrap();
        let (x, y) = (arrays.get(&format!("{name}.x")), arrays.get(&format!("{name}.y")).indices());
        let matrix = Matrix::from_vec(x.shape[0], x.shape[1], x.f32()).unwrap();
        let data = Labelled::new(matrix, y, case["classes"].as_u64().unwrap() as usize).unwrap();
        let purposes: Vec<Purpose> = (0..4).map(|k| Purpose::new(1, name, "code").replicate(k)).collect();
        let bits = codes(&data, &purposes, &mut NoPulse).unwrap();
        let got: f64 = bits.iter().map(|c| c.model + c.data).sum::<f64>() / bits.len() as f64;
        let theirs: Vec<f64> = list(case, "bits").iter().map(number).collect();
        let mean = theirs.iter().sum::<f64>() / theirs.len() as f64;
        // Results under different seeds of either program differ by a few percent.
        report.close64(name, &[got / mean], &[1.0], 0.02);
    }
    report.finish();
}
