//! Grids: cells divided among several machines give the same results as one machine.

use std::path::Path;

use serde_json::Value;

use super::common::{Probity, TINY, json_lines, refused, text};

/// Eight experiments that take a fraction of a second each.
fn grid() -> String {
    let base = TINY.replace("models = [\"bert-tiny\"]\nseed = 5\n", "").replace("examples = 1000", "examples = 800");
    let base = base.split("[[method]]\nname = \"inlp\"").next().unwrap().to_owned();
    base + "[grid]\nmodels = [\"bert-tiny\"]\nlayer = \"all\"\nseed = [0, 1]\ntask.phi = [0.0, 0.5]\n"
}

/// Results in a session, without times and cache use.
fn numbers(probity: &Probity, session: &str) -> Vec<String> {
    let output = probity.run(&["replay", session, "--headless", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let bare = |mut finding: Value| {
        let object = finding.as_object_mut().unwrap();
        ["t", "seconds", "cached", "device"].iter().for_each(|key| drop(object.remove(*key)));
        finding.to_string()
    };
    json_lines(&output.stdout).into_iter().map(bare).collect()
}

fn run_in(probity: &Probity, spec: &str, dir: &Path, more: &[&str]) -> String {
    let dir = dir.display().to_string();
    let mut args = vec!["run", spec, "--out", &dir];
    args.extend(more);
    let output = probity.run(&args);
    assert_eq!(output.status.code(), Some(0), "{more:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

fn merged(probity: &Probity, dir: &Path, name: &str) -> (String, Value) {
    let (dir, file) = (dir.display().to_string(), probity.state.path().join(name).display().to_string());
    let output = probity.run(&["merge", &dir, "-o", &file, "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    (file, json_lines(&output.stdout).remove(0))
}

/// Each run has its own folders, so that nothing comes from a cache.
#[test]
fn merged_shards_equal_a_single_run() {
    let (one, many) = (Probity::new(), Probity::new());
    let (spec, same) = (one.file("grid.toml", &grid()), many.file("grid.toml", &grid()));
    let whole = one.state.path().join("whole");
    assert!(run_in(&one, &spec, &whole, &[]).contains("8 of 8 cells done"));
    let (file, report) = merged(&one, &whole, "whole.probity.jsonl");
    assert_eq!((&report["cells"], &report["merged"]), (&8.into(), &8.into()));
    let joined = one.run(&["merge", &whole.display().to_string()]);
    let own = whole.join("merged.probity.jsonl").display().to_string();
    assert!(text(&joined.stdout).contains("whole/merged.probity.jsonl"), "{}", text(&joined.stderr));
    assert_eq!(numbers(&one, &own), numbers(&one, &file), "by default, the file is next to the parts");
    let parts = many.state.path().join("parts");
    // The shards run in a different order, one of them as two jobs.
    run_in(&many, &same, &parts, &["--shard", "3/3"]);
    run_in(&many, &same, &parts, &["--shard", "1/3", "--jobs", "2", "--memory-limit", "2G"]);
    let incomplete = many.run(&["merge", &parts.display().to_string(), "-o", "x"]);
    refused(&incomplete, 2, &["missing: 3 of 8\n  cell ", "(models bert-tiny, layer ", "--partial"]);
    run_in(&many, &same, &parts, &["--shard", "2/3"]);
    let (other, _) = merged(&many, &parts, "parts.probity.jsonl");
    let (expected, found) = (numbers(&one, &file), numbers(&many, &other));
    assert!(expected.len() > 8 * 5, "{} findings", expected.len());
    assert_eq!(expected, found);
    // A cell is the plain spec that its part file names.
    assert!(
        text(&many.run(&["replay", &other, "--headless"]).stdout).contains("cell 8 of 8: models bert-tiny, layer 2")
    );
    let followed = many.run(&["follow", &parts.display().to_string()]);
    assert!(text(&followed.stdout).contains("8 of 8 cells done"), "{}", text(&followed.stdout));
    // No cell is computed twice, but damaged parts are recomputed.
    assert!(run_in(&many, &same, &parts, &["--shard", "2/3"]).contains("(3 existed already)"));
    let first = std::fs::read_dir(parts.join("parts")).unwrap().next().unwrap().unwrap().path();
    let whole = std::fs::read_to_string(&first).unwrap();
    std::fs::write(&first, &whole[..whole.len() / 2]).unwrap();
    let cut = many.run(&["merge", &parts.display().to_string(), "-o", "x"]);
    refused(
        &cut,
        2,
        &[&first.display().to_string(), "line", "truncated in the middle of a line", "run the spec again"],
    );
    assert!(run_in(&many, &same, &parts, &[]).contains("(7 existed already)"));
    let (again, _) = merged(&many, &parts, "again.probity.jsonl");
    assert_eq!(expected, numbers(&many, &again));
}

#[test]
fn parts_of_different_grids_are_refused() {
    let probity = Probity::new();
    let spec = probity.file("grid.toml", &grid());
    let dir = probity.state.path().join("out").display().to_string();
    refused(&probity.run(&["run", &spec]), 2, &["grid.toml", "8 cells", "--out DIR"]);
    refused(&probity.run(&["run", &spec, "--out", &dir, "--json"]), 2, &["--json", "probity merge"]);
    refused(&probity.run(&["run", &spec, "--out", &dir, "--shard", "0/0"]), 2, &["is not a shard", "1/8"]);
    refused(&probity.run(&["run", &spec, "--out", &dir, "--shard", "9/8"]), 2, &["invalid shard 9/8"]);
    refused(&probity.run(&["run", &spec, "--shard", "1/8"]), 2, &["--out"]);
    refused(&probity.run(&["run", &spec, &spec, "--out", &dir]), 2, &["the same experiment", "cell"]);
    refused(&probity.run(&["run", &spec, "--out", "/proc/nowhere"]), 1, &["/proc/nowhere", "cannot write"]);
    refused(&probity.run(&["run", &spec, "--out", &spec]), 2, &["grid.toml", "not a folder"]);
    let bad = probity.file("bad.toml", &grid().replace("seed = [0, 1]", "seeds = [0, 1]"));
    refused(&probity.run(&["run", &bad, "--out", &dir]), 2, &["bad.toml, line", "did you mean `seed`?"]);
    // A folder of a different experiment is always refused.
    let one = probity.file("one.toml", &grid().replace("seed = [0, 1]", "seed = [3]"));
    let script =
        probity.run(&["submit", "--slurm", &one, "--out", &dir, "--array", "3", "--dry-run", "--", "--time", "1:00"]);
    assert_eq!(script.status.code(), Some(0), "{}", text(&script.stderr));
    refused(&probity.run(&["run", &spec, "--out", &dir]), 2, &["a different experiment", "grid.jsonl"]);
    refused(&probity.run(&["merge", &dir, "-o", "x"]), 2, &["missing: 4 of 4"]);
    refused(&probity.run(&["merge", "/", "-o", "x"]), 2, &["not a grid folder"]);
    refused(&probity.run(&["follow", &spec, "--once"]), 2, &["not a grid folder"]);
    let once = probity.run(&["follow", &dir, "--once", "--json"]);
    assert_eq!(json_lines(&once.stdout)[0]["waiting"], 4);
    let script = std::fs::read_to_string(Path::new(&dir).join("submit.sh")).unwrap();
    for words in ["#SBATCH --array=1-3", "--shard \"$SLURM_ARRAY_TASK_ID/3\"", "one.toml", "#SBATCH --signal=B:TERM@60"]
    {
        assert!(script.contains(words), "{words}: {script}");
    }
}

/// `sbatch` is replaced by a script that records its arguments.
#[cfg(unix)]
#[test]
fn grid_is_submitted_if_sbatch_exists() {
    use std::os::unix::fs::PermissionsExt;
    let probity = Probity::new();
    let spec = probity.file("grid.toml", &grid());
    let dir = probity.state.path().join("out").display().to_string();
    let bin = probity.state.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let args = ["submit", "--slurm", &spec, "--out", &dir, "--", "--partition", "gpu"];
    let without = probity.command(&args).env("PATH", &bin).output().unwrap();
    assert_eq!(without.status.code(), Some(1));
    assert!(text(&without.stderr).contains("sbatch was not found on this machine"), "{}", text(&without.stderr));
    let sbatch = bin.join("sbatch");
    std::fs::write(&sbatch, "#!/bin/sh\necho \"$@\" >&2\necho '4711;cluster'\n").unwrap();
    std::fs::set_permissions(&sbatch, std::fs::Permissions::from_mode(0o755)).unwrap();
    let with = probity.command(&args).env("PATH", &bin).output().unwrap();
    assert_eq!(with.status.code(), Some(0), "{}", text(&with.stderr));
    assert!(text(&with.stdout).contains("job 4711\n") && text(&with.stdout).contains("probity follow"));
    std::fs::write(&sbatch, "#!/bin/sh\necho \"$@: invalid partition\" >&2\nexit 1\n").unwrap();
    let refused = probity.command(&args).env("PATH", &bin).output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("--parsable --partition gpu"), "{}", text(&refused.stderr));
}

#[cfg(unix)]
#[test]
fn cell_without_disk_space_is_reported_and_recomputed() {
    let probity = Probity::new();
    let spec = probity.file("grid.toml", &grid().replace("seed = [0, 1]", "seed = [0]").replace("\"all\"", "[1]"));
    let dir = probity.state.path().join("out");
    let output = probity.cramped(&["run", &spec, "--out", &dir.display().to_string(), "--quiet"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let said = text(&output.stderr);
    assert!(said.contains("parts/") && said.contains("free some space"), "{said}");
    assert!(run_in(&probity, &spec, &dir, &[]).contains("2 of 2 cells done"));
}

/// Regression: the findings of a single experiment used to be written among the parts of a grid.
#[test]
fn plain_run_is_refused_in_a_grid_folder() {
    let probity = Probity::new();
    let dir = probity.state.path().join("grid");
    std::fs::create_dir(&dir).unwrap();
    std::fs::write(dir.join("grid.jsonl"), "{}\n").unwrap();
    let (spec, out) = (probity.file("tiny.toml", TINY), dir.display().to_string());
    for more in [&[][..], &["--force"]] {
        let output = probity.run(&[&["run", &spec, "--out", &out, "--quiet"], more].concat());
        refused(&output, 2, &["parts of a grid (grid.jsonl)", "choose another folder"]);
    }
    assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 1, "nothing was written");
}

/// Regression: a part whose numbers were changed used to be skipped as done.
#[test]
fn part_with_wrong_checksum_is_recomputed() {
    let probity = Probity::new();
    let (spec, dir) = (probity.file("grid.toml", &grid()), probity.state.path().join("out"));
    run_in(&probity, &spec, &dir, &[]);
    let part = std::fs::read_dir(dir.join("parts")).unwrap().next().unwrap().unwrap().path();
    let whole = std::fs::read_to_string(&part).unwrap();
    let changed = whole.replacen("\"n\":", "\"n\":1", 1);
    assert_ne!(whole, changed);
    std::fs::write(&part, changed).unwrap();
    let args = ["run", &spec, "--out", &dir.display().to_string()];
    let output = probity.run(&args);
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert!(stderr.contains("checksum that does not match") && stderr.contains("recomputed"), "{stderr}");
    assert!(text(&output.stdout).contains("7 existed already"), "{}", text(&output.stdout));
}
