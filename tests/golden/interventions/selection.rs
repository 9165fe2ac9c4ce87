//! `reference/interventions/selection`: the one-standard-error rule, compared exactly.

use super::number;
use crate::common::{Report, json};
use probity::probe::selection::{Entry, choose};
use probity::probe::train::Recipe;
use serde_json::Value;
use std::path::Path;

crate::harness::tests! {
    Needs::Reference("interventions/selection") => [one_standard_error];
}

fn index(v: &Value) -> usize {
    v.as_u64().unwrap_or_else(|| panic!("no index: {v}")) as usize
}

/// Numbers of correct answers under one setting, in several validations or a single one.
fn correct(recipe: &Value) -> Vec<usize> {
    match &recipe["correct"] {
        Value::Array(all) => all.iter().map(index).collect(),
        one => vec![index(one)],
    }
}

fn one_standard_error(dir: &Path) {
    let file = json(&dir.join("one_standard_error.json"));
    let mut report = Report::new("interventions/selection");
    for case in ["cases", "cases_with_epochs"].iter().flat_map(|key| file[key].as_array().unwrap()) {
        let name = case["name"].as_str().unwrap();
        let recipes = case["recipes"].as_array().unwrap();
        let counts: Vec<Vec<usize>> = recipes.iter().map(correct).collect();
        let (d, k) = (index(&case["d"]), index(&case["classes"]));
        let entries: Vec<Entry> = recipes
            .iter()
            .zip(&counts)
            .map(|(r, correct)| {
                let learning_rate = number(&r["learning_rate"]);
                let hidden = vec![index(&r["width"]); index(&r["layers"])];
                let parameters = Recipe { hidden, learning_rate, batch: 64 }.parameters(d, k);
                Entry { parameters, learning_rate, correct }
            })
            .collect();
        let parameters: Vec<usize> = entries.iter().map(|e| e.parameters).collect();
        let want: Vec<usize> = recipes.iter().map(|r| index(&r["parameters"])).collect();
        report.equal(&format!("{name}: parameters"), &parameters, &want);
        let choice = choose(&entries, index(&case["n_validation"])).unwrap();
        let epoch = case.get("picked_epoch").map_or(0, index);
        let want = (index(&case["picked"]), epoch);
        report.equal(&format!("{name}: picked"), &(choice.recipe, choice.epoch), &want);
        let want: Vec<(usize, usize)> = case["candidates"]
            .as_array()
            .unwrap()
            .iter()
            .map(|c| c.as_array().map_or_else(|| (index(c), 0), |pair| (index(&pair[0]), index(&pair[1]))))
            .collect();
        report.equal(&format!("{name}: equals"), &choice.candidates, &want);
    }
    report.finish();
}
