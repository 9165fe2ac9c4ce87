//! `probity gallery train --all` and `probity gallery judge`: finished models are kept, unfinished ones are ignored, and scores of several
//! seeds are written to cards.

use std::path::{Path, PathBuf};

use probity::gallery::Card;
use probity::pretraining::{Mixture, Recipe};
use probity::stats::Estimate;
use serde_json::Value;

use super::common::{Probity, json_lines, refused, root, text};

/// The card that training would write now for a different seed.
fn card(name: &str, seed: u64) -> Card {
    let path = root().join("assets/models").join(name).join("card.json");
    let mut card: Card = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let recipe = Recipe::named(name).unwrap();
    card.corpus.mixture = Mixture::of(recipe);
    (card.training.steps, card.training.rate, card.seed) = (recipe.steps, recipe.rate, seed);
    card.seeds.clear();
    for (k, score) in card.scores.iter_mut().enumerate() {
        let mean = 0.95 - 0.1 * ((seed + k as u64) % 5) as f64;
        score.share = Estimate { mean, lo: mean - 0.04, hi: mean + 0.03 };
    }
    card
}

fn put(folder: &Path, card: &Card) {
    std::fs::create_dir_all(folder).unwrap();
    for file in ["config.json", "model.safetensors", "tokenizer.json"] {
        std::fs::write(folder.join(file), "").unwrap();
    }
    std::fs::write(folder.join("card.json"), serde_json::to_string_pretty(card).unwrap()).unwrap();
}

/// Writes finished models of these seeds.
fn finished(probity: &Probity, name: &str, seeds: &[u64]) -> PathBuf {
    let dir = probity.state.path().join("seeds");
    seeds.iter().for_each(|seed| put(&dir.join(name).join(format!("seed-{seed}")), &card(name, *seed)));
    dir
}

#[test]
fn complete_models_are_skipped_and_different_ones_refused() {
    let probity = Probity::new();
    let dir = finished(&probity, "bert-tiny", &[1, 2, 3]);
    let shown = dir.display().to_string();
    let all = |more: &[&str]| {
        let args = ["gallery", "train", "--all", "--only", "bert-tiny", "--out", &shown];
        probity.run(&[&args[..], more].concat())
    };
    let output = all(&["--seeds", "5", "--jobs", "2"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).starts_with("0 of 0 models written, 3 existed already; in "));
    refused(&all(&["--steps", "7"]), 2, &["seed-1/card.json", "training.steps", "--out"]);
    refused(&all(&["--steps", "0"]), 2, &["0 steps"]);
    refused(&all(&["--force"]), 2, &["--force"]);
    refused(&probity.run(&["gallery", "train", "--all", "--only", "bert-mimi"]), 2, &["`bert-mini`?"]);
    std::fs::remove_file(dir.join("bert-tiny/seed-2/model.safetensors")).unwrap();
    refused(&all(&[]), 2, &["seed-2/model.safetensors", "is missing", "remove the folder"]);
    put(&dir.join("bert-tiny/seed-2"), &card("bert-tiny", 3));
    refused(&all(&[]), 2, &["seed-2/card.json", "seed 3, not of seed 2"]);
}

#[test]
fn judge_prints_ranges_without_writing() {
    let probity = Probity::new();
    let dir = finished(&probity, "bert-mini", &[1, 2, 3, 4]);
    finished(&probity, "gpt2-tiny", &[1]);
    let shown = dir.display().to_string();
    let before = std::fs::read(dir.join("bert-mini/seed-1/card.json")).unwrap();
    let output = probity.run(&["gallery", "judge", &shown]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let table = text(&output.stdout);
    for line in [
        "bert-mini: 4 seeds (1 2 3 4), in %, with 95 % intervals",
        // The first score for seeds 1 to 4 is .85, .75, .65 and .55. The median is between two of these values, and its interval covers
        // both.
        "  agreement_none           4  55.0 [51.0, 58.0]    70.0 [61.0, 78.0]    85.0 [81.0, 88.0]",
        "     0 / 0 / 4  agreement",
        "gpt2-tiny: one seed (1), in %, with 95 % intervals",
    ] {
        assert!(table.lines().any(|l| l == line), "no `{line}` in\n{table}");
    }
    let output = probity.run(&["gallery", "judge", &shown, "--json"]);
    let models = json_lines(&output.stdout).remove(0)["models"].take();
    let names: Vec<&str> = models.as_array().unwrap().iter().filter_map(|m| m["name"].as_str()).collect();
    assert_eq!(names, ["bert-mini", "gpt2-tiny"]);
    let score = &models[0]["scores"][0];
    assert_eq!((&score["id"], score["seeds"].as_array().unwrap().len()), (&"agreement_none".into(), 4));
    assert!((score["median"]["mean"].as_f64().unwrap() - 0.7).abs() < 1e-9, "{score}");
    assert!(models[1]["bars"].as_array().unwrap().is_empty() && !models[0]["bars"].as_array().unwrap().is_empty());
    assert_eq!(std::fs::read(dir.join("bert-mini/seed-1/card.json")).unwrap(), before);
    let empty = probity.state.path().join("empty").display().to_string();
    refused(&probity.run(&["gallery", "judge", &empty]), 2, &["empty", "no model", "train --all"]);
}

#[test]
fn either_all_cards_are_written_or_none() {
    let probity = Probity::new();
    let dir = finished(&probity, "bert-mini", &[2, 3]);
    let home = probity.state.path().join("models");
    put(&home.join("bert-mini"), &card("bert-mini", 1));
    let (from, into) = (dir.display().to_string(), home.display().to_string());
    let judge = |more: &[&str]| probity.run(&[&["gallery", "judge", &from, "--into", &into][..], more].concat());
    let path = home.join("bert-mini/card.json");
    let seeds = || {
        let card: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let listed = card["seeds"].as_array().cloned().unwrap_or_default();
        listed.iter().filter_map(|s| s["seed"].as_u64()).collect::<Vec<u64>>()
    };
    let output = judge(&[]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("bert-mini: 3 seeds (1 2 3) on "), "{}", text(&output.stdout));
    assert_eq!(seeds(), [1, 2, 3]);
    let shown = probity.run(&["gallery", "card", &home.join("bert-mini").display().to_string()]);
    assert!(text(&shown.stdout).contains("\n3 seeds (1 2 3), in %, with 95 % intervals:\n"));
    // If a model's card is missing, no card is changed.
    finished(&probity, "bert-mini", &[4]);
    finished(&probity, "gpt2-tiny", &[1]);
    refused(&judge(&[]), 2, &["gpt2-tiny", "card.json"]);
    assert_eq!(seeds(), [1, 2, 3]);
    put(&home.join("gpt2-tiny"), &card("gpt2-tiny", 1));
    assert_eq!(judge(&[]).status.code(), Some(0));
    assert_eq!(seeds(), [1, 2, 3, 4]);
    let mut other = card("bert-mini", 3);
    other.scores[0].n += 1;
    put(&dir.join("bert-mini/seed-3"), &other);
    refused(&judge(&[]), 2, &["bert-mini/card.json", "seed 3 with different numbers", "--replace"]);
    assert_eq!(judge(&["--replace"]).status.code(), Some(0));
    let mut longer = card("bert-mini", 3);
    longer.training.steps += 1;
    put(&dir.join("bert-mini/seed-3"), &longer);
    refused(&judge(&["--replace"]), 2, &["seed-3/card.json", "training.steps"]);
}

/// A training run is killed, restarted, then stopped; each time, unfinished work is removed.
#[cfg(unix)]
#[test]
fn killed_training_leaves_no_complete_model() {
    use std::io::{BufRead, BufReader};
    use std::process::{Child, Command, Stdio};

    let probity = Probity::new();
    let dir = probity.state.path().join("seeds");
    let shown = dir.display().to_string();
    // Starts training and waits until the first step is reported.
    let begin = || -> (Child, BufReader<std::process::ChildStderr>) {
        let args = ["gallery", "train", "--all", "--only", "bert-tiny", "--seeds", "1", "--out", &shown];
        let mut child = probity.command(&args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        stderr.read_line(&mut line).unwrap();
        assert!(line.starts_with("bert-tiny seed 1: step 1/"), "{line}");
        (child, stderr)
    };
    let left = || -> Vec<String> {
        let entries = std::fs::read_dir(dir.join("bert-tiny")).unwrap();
        entries.map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect()
    };
    let (mut child, _) = begin();
    child.kill().unwrap();
    child.wait().unwrap();
    let first = left();
    assert!(first.len() == 1 && first[0].starts_with(".probity-gallery-"), "{first:?}");
    let (mut child, _stderr) = begin();
    let second = left();
    assert!(second.len() == 1 && second != first, "{second:?}");
    let other = ["gallery", "train", "--all", "--only", "bert-tiny", "--out", &shown];
    refused(&probity.run(&other), 2, &["seeds", "is running there"]);
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(143));
    assert_eq!(left(), [""; 0], "no unfinished files remain");
}
