//! Compares every number of a folder comparison with SciPy 1 and statsmodels (`tests/benches/compare_theirs.py`).

use super::common::{Probity, json_lines, text};

const TASKS: usize = 13;

/// For each task: difference, interval, p, Holm's p, Benjamini and Hochberg's q, and the p-value of the equivalence test.
const THEIRS: [[f64; 7]; TASKS] = [
    [0.03333333, -0.2059559, 0.268883, 0.7905273, 1.0, 0.9342596, 0.5442061],
    [0.05405405, -0.1724965, 0.2748827, 0.6476059, 1.0, 0.8970494, 0.6168919],
    [0.0, -0.1824864, 0.1824864, 1.0, 1.0, 1.0, 0.4129707],
    [0.03921569, -0.1504907, 0.2261001, 0.690038, 1.0, 0.8970494, 0.5793454],
    [0.1034483, -0.07066677, 0.2717605, 0.2477886, 1.0, 0.5810724, 0.8294088],
    [0.04615385, -0.132536, 0.2216893, 0.6177193, 1.0, 0.8970494, 0.6131656],
    [0.09722222, -0.07354243, 0.2619945, 0.2681873, 1.0, 0.5810724, 0.8137299],
    [0.05063291, -0.1141437, 0.2124389, 0.5514843, 1.0, 0.8970494, 0.6424891],
    [0.08139535, -0.05836007, 0.2184287, 0.2558751, 1.0, 0.5810724, 0.8078745],
    [0.08602151, -0.03794963, 0.2085974, 0.1754652, 1.0, 0.5810724, 0.8547296],
    [0.16, 0.03090282, 0.2846039, 0.01609436, 0.2092267, 0.2092267, 0.9830091],
    [0.1214953, -0.01702683, 0.2551511, 0.0869489, 1.0, 0.5651678, 0.9252662],
    [-0.003947368, -0.09192159, 0.08402685, 0.9293229, 1.0, 1.0, 0.3591983],
];
/// Mean, interval and p: the mean of task differences (`ttest_1samp`), and the mean over items (`OLS` with clusters).
const MACRO: [f64; 4] = [0.066_848_088, 0.038_329_016, 0.095_367_160, 0.000_258_739_75];
const MICRO: [f64; 4] = [0.073_237_179, 0.038_215_431, 0.108_258_928, 0.000_658_921_70];

/// Values of both sides on an item of a task; the metric of the last task is between 0 and 1.
fn values(task: usize, i: usize) -> [f64; 2] {
    if task == TASKS - 1 {
        return [(i * 29 % 21) as f64 / 20.0, (i * 17 % 21) as f64 / 20.0];
    }
    let a = (i * 37 + task * 11 + i * i * task) % 100 < 60 + task;
    let b = (i * 53 + task * 7 + i * i * (task + 1)) % 100 < 55;
    [f64::from(u8::from(a)), f64::from(u8::from(b))]
}

#[test]
fn every_number_of_two_folders_is_that_of_scipy() {
    let probity = Probity::new();
    let root = std::path::PathBuf::from(probity.file("marker", ""));
    let folders = ["a", "b"].map(|name| root.with_file_name(name));
    for (side, folder) in folders.iter().enumerate() {
        std::fs::create_dir(folder).unwrap();
        for task in 0..TASKS {
            let row = |i: usize| {
                let value = values(task, i)[side];
                format!("{{\"doc_id\": {i}, \"filter\": \"none\", \"metrics\": [\"acc\"], \"acc\": {value}}}\n")
            };
            let name = format!("samples_task{task:02}_2026-01-01T00-00-00.000001.jsonl");
            std::fs::write(folder.join(name), (0..30 + 7 * task).map(row).collect::<String>()).unwrap();
        }
    }
    let [a, b] = folders.map(|folder| folder.display().to_string());
    let output = probity.run(&["compare", &a, &b, "--json"]);
    let all = json_lines(&output.stdout);
    assert_eq!(all.len(), TASKS + 2, "{}", text(&output.stderr));
    let ends = ["mean", "lo", "hi"];
    for (line, want) in all.iter().zip(&THEIRS) {
        let found = ends.map(|key| line["difference"][key].as_f64()).into_iter();
        let rest = ["p", "holm_p", "bh_q", "equivalence_p"].map(|key| line[key].as_f64());
        for (k, (got, want)) in found.chain(rest).zip(want).enumerate() {
            assert!((got.unwrap() - want).abs() < 1e-6, "{}, number {k}: {got:?}, theirs {want}", line["task"]);
        }
    }
    for (line, want) in all[TASKS..].iter().zip([MACRO, MICRO]) {
        let found = ends.map(|key| line["difference"][key].as_f64()).into_iter().chain([line["p"].as_f64()]);
        for (got, want) in found.zip(want) {
            assert!((got.unwrap() - want).abs() < 1e-8, "{}: {got:?}, theirs {want}", line["pooled"]);
        }
    }
}
