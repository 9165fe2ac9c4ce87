//! Families that are run only for their logits take part in the prompts lab; the program runs all of them together.

use std::path::Path;
use std::process::Command;

use crate::common::subfolders;
use crate::harness::say;

crate::harness::tests! {
    Needs::Fixtures => [families_that_are_run_by_their_logits_are_asked];
}

/// The objects have several tokens, because the small vocabularies contain few whole words.
fn families_that_are_run_by_their_logits_are_asked(root: &Path) {
    let dir = tempfile::tempdir().unwrap();
    let fact = |s: &str, o: &str| format!("{{\"relation\":\"r\",\"subject\":\"{s}\",\"object\":\"{o}\"}}\n");
    let rows = [fact("the sky", "blue"), fact("the sun", "red"), fact("the tree", "green")].concat();
    let prompts = "{\"relation\":\"r\",\"prompt\":\"[X] is [Y] .\"}\n{\"relation\":\"r\",\"prompt\":\"[X] : [Y]\"}\n";
    std::fs::write(dir.path().join("facts.jsonl"), rows + prompts).unwrap();
    let root = std::path::absolute(root.join("models_logits")).unwrap();
    let models: Vec<String> = subfolders(&root).iter().map(|p| p.display().to_string()).collect();
    assert!(models.len() >= 9, "{models:?}");
    let spec = dir.path().join("spec.toml");
    let text = format!(
        "lab = \"prompts\"\nmodels = {models:?}\n[data]\nfiles = [\"facts.jsonl\"]\n[query]\ncandidates = \"relation_pll\"\n[ranks]\nsubset = 1\n"
    );
    std::fs::write(&spec, text).unwrap();
    let session = dir.path().join("s.probity.jsonl");
    let output = Command::new(env!("CARGO_BIN_EXE_probity"))
        .args(["run", &spec.display().to_string(), "--json", "--session", &session.display().to_string()])
        .env("PROBITY_CACHE_DIR", dir.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines: Vec<serde_json::Value> =
        String::from_utf8(output.stdout).unwrap().lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let of = |kind: &'static str| lines.iter().filter(move |f| f["kind"] == kind && f["final"] == true);
    assert!(of("relation").all(|r| r["kept"] == 3), "{:?}", of("relation").collect::<Vec<_>>());
    for model in &models {
        let scored: Vec<f64> =
            of("prompt_score").filter(|f| f["model"] == **model).map(|f| f["mrr"]["mean"].as_f64().unwrap()).collect();
        assert!(scored.len() == 2 && scored.iter().all(|m| (1.0 / 3.0..=1.0).contains(m)), "{model}: {scored:?}");
        assert_eq!(of("adjusted").filter(|f| f["model"] == **model).count(), 1, "{model}");
    }
    assert_eq!(of("ledger").count(), models.len() * (models.len() - 1) / 2);
    say!("{} families", models.len());
}
