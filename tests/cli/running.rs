//! `probity run`: findings, figures, sessions, interruption, failure.

use std::path::Path;

use super::common::{Probity, SMALL, TINY, finals, json_lines, of_kind, refused, text};

#[test]
fn run_prints_findings_and_writes_figures_and_session() {
    let probity = Probity::new();
    let spec = probity.file("small.toml", SMALL);
    let out = probity.state.path().join("out");
    let out_name = out.display().to_string();
    let output = probity.run(&["run", &spec, "--json", "--out", &out_name, "--device", "cpu"]);
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert!(stderr.contains(" %  "), "plain progress lines: {stderr}");
    let findings = json_lines(&output.stdout);
    for f in &findings {
        for key in ["kind", "lab", "spec", "model", "seed", "n", "final", "t"] {
            assert!(f.get(key).is_some(), "no {key} in {f}");
        }
        assert_eq!((&f["lab"], &f["seed"]), (&"interventions".into(), &5.into()));
    }
    let has = |kind: &str, keys: &[&str], estimates: &[&str]| {
        let all = of_kind(&findings, kind);
        assert!(!all.is_empty(), "no {kind}");
        for f in all {
            keys.iter().chain(estimates).for_each(|key| assert!(f.get(*key).is_some(), "no {key} in {f}"));
            for e in estimates.iter().map(|key| &f[*key]) {
                let [m, l, h] = ["mean", "lo", "hi"].map(|k| e[k].as_f64().unwrap());
                assert!(l <= m + 1e-9 && m <= h + 1e-9 && (0.0..=1.0).contains(&m), "{kind} {e}");
                assert_eq!(f["level"], 0.9, "{f}");
            }
        }
    };
    let scores = ["completeness", "selectivity", "reliability"];
    has("probe", &["role", "property", "classifier", "majority", "calibration_error"], &["accuracy"]);
    let point = ["method", "layer", "oracle", "oracle_layer", "parameter", "value", "n_c", "n_s"];
    has("reliability", &point, &scores);
    // For each method and oracle, there is an optimum or the reason why there is none.
    let (best, none) = (of_kind(&findings, "optimum").len(), of_kind(&findings, "no_optimum").len());
    assert_eq!(best + none, 4);
    if best > 0 {
        has("optimum", &["method", "layer", "oracle", "parameter", "value", "chosen", "replicates"], &scores);
    }
    if none > 0 {
        has("no_optimum", &["method", "layer", "oracle", "parameter", "reason"], &[]);
    }
    has("ranking", &["oracle", "order", "places", "stability"], &[]);
    has("summary", &["seconds", "device", "version", "cancelled"], &[]);
    assert_eq!(findings.last().unwrap()["kind"], "summary");
    assert_eq!(of_kind(&findings, "summary").len(), 1);
    let last = of_kind(&findings, "reliability").into_iter().filter(|f| f["final"] == true).count();
    assert_eq!(last, 2 * 2 * 2, "two methods, two values, two oracles");

    // Reliability is the harmonic mean of the mean scores, as in the calculator. Over two training runs, it is the mean of their two
    // values.
    let f = of_kind(&findings, "reliability").into_iter().rfind(|f| f["final"] == true).unwrap();
    let [c, s, r] = scores.map(|k| f[k]["mean"].as_f64().unwrap());
    let again = probity.run(&["reliability", &c.to_string(), &s.to_string(), "--json"]);
    let of_means = json_lines(&again.stdout)[0]["reliability"].as_f64().unwrap();
    assert!((of_means - r).abs() < 0.05, "{of_means} {f}");
    assert_eq!(f["replicates"], 2);

    let written = std::fs::read(out.join("findings.jsonl")).unwrap();
    assert_eq!(written, output.stdout, "the file holds the same lines");
    let files: Vec<String> =
        std::fs::read_dir(&out).unwrap().map(|f| f.unwrap().file_name().into_string().unwrap()).collect();
    let count = |end: &str| files.iter().filter(|f| f.ends_with(end)).count();
    // Figures for a paper: the trade-off plane, the paper's figures for a method of the run, distance and model behaviour.
    assert_eq!([".png", ".svg", ".csv"].map(count), [7, 7, 7], "{files:?}");
    assert!(!files.iter().any(|f| f.starts_with('.')), "no unfinished files: {files:?}");
    replays(&probity, &out.join("session.probity.jsonl"), &output.stdout);
}

/// The session replays to the same findings and exports the same kinds of figure.
fn replays(probity: &Probity, session: &Path, findings: &[u8]) {
    let name = session.display().to_string();
    let replay = probity.run(&["replay", &name, "--headless", "--json"]);
    assert_eq!(replay.status.code(), Some(0), "{}", text(&replay.stderr));
    assert_eq!(finals(&replay.stdout), finals(findings), "the replay has the same digits");
    let table = text(&probity.run(&["replay", &name, "--headless"]).stdout);
    for word in ["MLP oracle", "FGSM", "INLP", "90 % intervals", "done in"] {
        assert!(table.contains(word), "no `{word}` in {table}");
    }
    let png = probity.state.path().join("pareto.png");
    let png_name = png.display().to_string();
    let export = |args: &[&str]| probity.run(&[&["export", &name][..], args].concat());
    let output = export(&["--figure", "pareto", "-o", &png_name]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let bytes = std::fs::read(&png).unwrap();
    assert!(bytes.starts_with(b"\x89PNG") && bytes.windows(12).any(|w| w == b"probity:spec"));
    refused(&export(&["--figure", "paretto", "-o", &png_name]), 2, &["did you mean `pareto`?"]);
    let fgms = ["--figure", "reliability", "--method", "fgms", "-o", &png_name];
    refused(&export(&fgms), 2, &["did you mean `fgsm`?"]);
    let both = ["--figure", "reliability", "--method", "fgsm,inlp", "-o", &png_name];
    refused(&export(&both), 2, &["different hyperparameters"]);
    refused(&export(&["--figure", "pareto", "-o", "x.gif"]), 2, &[".png, .svg, .pdf or .csv"]);
    refused(&export(&["--table", "accuracy", "-o", "x.md"]), 2, &["contingency, probes, optimum"]);
    refused(&export(&["--table", "accuracy", "--figure", "pareto", "-o", "x.md"]), 2, &["--table", "--figure"]);
    refused(&export(&["--figure", "pareto", "-o", "/no/such/x.png"]), 1, &["/no/such/x.png"]);
}

#[test]
fn two_specs_have_separate_folders_and_sessions() {
    let probity = Probity::new();
    let one = probity.file("one.toml", TINY);
    // The second run uses the same probes, from the cache.
    let two = probity.file("two.toml", &TINY.replace("level = 0.9", "level = 0.8"));
    let out = probity.state.path().join("out");
    let output = probity.run(&["run", &one, &two, "--quiet", "--out", &out.display().to_string()]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    // `--quiet` hides progress, but not warnings about the numbers.
    let said = text(&output.stderr);
    assert!(said.lines().all(|l| l.starts_with("warning: ")), "quiet: {said}");
    let table = text(&output.stdout);
    assert!(table.contains("90 % intervals") && table.contains("80 % intervals"), "{table}");
    for folder in ["one", "two"] {
        assert!(out.join(folder).join("findings.jsonl").is_file());
        let session = out.join(folder).join("session.probity.jsonl").display().to_string();
        assert_eq!(probity.run(&["replay", &session, "--json"]).status.code(), Some(0));
    }
}

#[test]
fn failed_run_ends_with_error_summary_and_exit_code_1() {
    let probity = Probity::new();
    // The spec has valid names, but its layer does not exist.
    let spec = probity.file("layer.toml", &TINY.replace("[task]", "[site]\nlayer = 99\n[task]"));
    let output = probity.run(&["run", &spec, "--json", "--quiet"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let findings = json_lines(&output.stdout);
    let kinds: Vec<&str> = findings.iter().map(|f| f["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds[kinds.len() - 2..], ["error", "summary"]);
    let error = &findings[findings.len() - 2];
    assert!(error["what"].as_str().unwrap().contains("99") && error["hint"].is_string(), "{error}");
    // Regression: the text output used to say `done in 0.0 s`.
    let said = probity.run(&["run", &spec, "--quiet"]);
    let said = text(&said.stdout);
    assert!(said.contains("failed after") && !said.contains("done in"), "{said}");
}
