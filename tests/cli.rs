//! Drives the binary: exit codes, messages, JSON lines.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// A run of the binary with folders of its own.
struct Probity {
    state: tempfile::TempDir,
}

impl Probity {
    fn new() -> Self {
        Self { state: tempfile::tempdir().unwrap() }
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_probity"));
        command
            .args(args)
            .env("PROBITY_STATE_DIR", self.state.path())
            .env("PROBITY_CACHE_DIR", self.state.path())
            .env("HF_HUB_OFFLINE", "1")
            .env_remove("RUST_BACKTRACE");
        command
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.state.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Asserts on exit code and stderr, and that nothing reached stdout or steers the terminal.
fn refused(output: &Output, code: i32, words: &[&str]) {
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    assert!(output.stdout.is_empty(), "{}", text(&output.stdout));
    assert!(!stderr.chars().any(|c| c.is_control() && c != '\n'), "{stderr:?}");
    assert!(!stderr.contains("panicked"), "{stderr}");
    for word in words {
        assert!(stderr.contains(word), "no `{word}` in: {stderr}");
    }
}

fn agreement() -> String {
    std::fs::read_to_string(root().join("assets/specs/agreement.toml")).unwrap()
}

#[test]
fn bad_specs_exit_2_and_say_what_is_wrong() {
    let probity = Probity::new();
    let refused_spec = |name: &str, text: &str, words: &[&str]| {
        let path = probity.file(name, text);
        refused(&probity.run(&["run", &path, "--json"]), 2, words);
    };
    refused_spec(
        "key.toml",
        &agreement().replace("[interval]", "[interval]\nlevle = 1"),
        &["key.toml", "line", "levle"],
    );
    refused_spec(
        "range.toml",
        &agreement().replace("level = 0.95", "level = 2"),
        &["range.toml", "interval.level"],
    );
    refused_spec(
        "method.toml",
        &agreement().replace("\"pgd\"", "\"pdg\""),
        &["method.name", "did you mean `pgd`?"],
    );
    refused_spec(
        "model.toml",
        &agreement().replace("\"bert-mini\"", "\"./no/such\""),
        &["models", "no such folder"],
    );
    refused_spec(
        "task.toml",
        &agreement().replace("\"agreement\"", "\"agrement\""),
        &["did you mean `agreement`?"],
    );
    refused_spec("escape.toml", "lab = \"\u{1b}[31m\"", &["escape.toml"]);
    refused_spec("empty.toml", "", &["empty.toml", "lab"]);
    refused(&probity.run(&["run", "/no/such/spec.toml"]), 2, &["/no/such/spec.toml", "cannot read"]);
    refused(&probity.run(&["run", "/"]), 2, &["cannot read"]);
    refused(&probity.run(&["run"]), 2, &["SPEC.toml"]);
    refused(&probity.run(&["run", "a.toml", "--device", "gpu9"]), 2, &["gpu9", "cuda:N"]);
    refused(&probity.run(&["run", "a.toml", "--dtype", "f8"]), 2, &["f8", "bf16"]);
    refused(&probity.run(&["run", "a.toml", "--seed", "-1"]), 2, &["seed"]);
    refused(&probity.run(&["frobnicate"]), 2, &["frobnicate"]);
    refused(&probity.run(&["\u{1b}[2J"]), 2, &["unrecognized"]);
}

#[test]
fn sessions_that_are_none_exit_2() {
    let probity = Probity::new();
    refused(&probity.run(&["replay", "nothing-here", "--headless"]), 2, &["nothing-here", "no such session"]);
    let path = probity.file("x.probity.jsonl", "hello\u{1b}[2J\n");
    refused(&probity.run(&["replay", &path, "--headless"]), 2, &["x.probity.jsonl, line 1", "no session"]);
    refused(&probity.run(&["replay", "/", "--headless"]), 2, &["no such session"]);
    refused(&probity.run(&["export", &path, "--figure", "pareto", "-o", "x.png"]), 2, &["line 1"]);
    refused(&probity.run(&["replay", &path, "--headless", "--speed", "0"]), 2, &["speed"]);
}

#[test]
fn calculators_answer_with_the_published_keys() {
    let probity = Probity::new();
    let output = probity.run(&[
        "score",
        "--before",
        ".5,.3,.2",
        "--after",
        "10%,8/10,1e-1",
        "--target",
        "1",
        "--json",
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let stdout = text(&output.stdout);
    assert_eq!(stdout.lines().count(), 1);
    let v: Value = serde_json::from_str(&stdout).unwrap();
    assert!((v["reliability"].as_f64().unwrap() - 0.6 / 1.175).abs() < 1e-12, "{v}");
    let output = probity.run(&["reliability", ".8934", "39.92%", "--json"]);
    let v: Value = serde_json::from_str(&text(&output.stdout)).unwrap();
    assert_eq!(v.as_object().unwrap().keys().collect::<Vec<_>>(), ["reliability"]);
    // Canby et al., Table 2, FGSM: .5518 from the rounded C and S.
    assert!((v["reliability"].as_f64().unwrap() - 0.5518).abs() < 5e-5, "{v}");
    assert!(text(&probity.run(&["reliability", "1", "1"]).stdout).starts_with("reliability 1.0"));
    refused(&probity.run(&["reliability", "1.2", ".5"]), 2, &["1.2"]);
    refused(&probity.run(&["reliability", "-1", ".5"]), 2, &["probability is from 0 to 1"]);
    refused(&probity.run(&["reliability", "nan", ".5"]), 2, &["nan"]);
    refused(
        &probity.run(&["score", "--before", ".5,.6", "--after", ".5,.5", "--json"]),
        2,
        &["--before", "1.1"],
    );
}

#[test]
fn help_completions_manual_and_doctor_work_without_a_terminal() {
    let probity = Probity::new();
    for (args, words) in [
        (&["--help"][..], &["run", "replay", "export", "doctor"][..]),
        (&["run", "--help"], &["Examples", "agreement.toml", "--json"]),
        (&["export", "--help"], &["Examples", "--figure"]),
        (&["--version"], &[env!("CARGO_PKG_VERSION")]),
        (&["completions", "bash"], &["_probity"]),
        (&["completions", "zsh"], &["#compdef probity"]),
        (&["man"], &[".TH", "probity"]),
        (&["models", "list"], &["hub id"]),
        (&["doctor"], &["sessions", "figures", "device"]),
    ] {
        let output = probity.run(args);
        assert_eq!(output.status.code(), Some(0), "{args:?}: {}", text(&output.stderr));
        let stdout = text(&output.stdout);
        for word in words {
            assert!(stdout.contains(word), "{args:?}: no `{word}` in {stdout}");
        }
    }
}

#[test]
fn a_closed_pipe_is_no_panic() {
    let probity = Probity::new();
    let mut child = probity
        .command(&["man"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(!text(&output.stderr).contains("panicked"));
}

#[test]
fn models_that_are_broken_are_refused_by_name() {
    let probity = Probity::new();
    let folder = probity.state.path().join("model");
    std::fs::create_dir(&folder).unwrap();
    let name = folder.display().to_string();
    refused(&probity.run(&["models", "show", &name]), 2, &["config.json"]);
    std::fs::write(Path::new(&folder).join("config.json"), "{\"model_type\":\"\u{7f}x\"}").unwrap();
    refused(&probity.run(&["models", "show", &name]), 2, &["config.json"]);
}

/// A built-in model as a folder, so that files can stand beside it.
fn folder_of(name: &str, at: &Path) {
    std::fs::create_dir_all(at).unwrap();
    for file in ["config.json", "model.safetensors", "tokenizer.json"] {
        std::fs::copy(root().join("assets/models").join(name).join(file), at.join(file)).unwrap();
    }
}

#[test]
fn a_check_passes_deviates_or_says_what_it_needs() {
    let probity = Probity::new();
    let at = probity.state.path().join("m");
    folder_of("bert-mini", &at);
    let dir = at.display().to_string();
    refused(&probity.run(&["models", "check", &dir]), 2, &["no expected.json", "another implementation"]);
    refused(&probity.run(&["models", "check", "bert-mini"]), 2, &["built-in", "expected.json"]);
    refused(&probity.run(&["models", "check", "./nowhere"]), 2, &["no such folder"]);
    refused(&probity.run(&["models", "check", &dir, "--device", "gpu"]), 2, &["cuda"]);
    let expected = at.join("expected.json");
    std::fs::write(&expected, "{\"cases\": [{\"text\": \"\u{7f}\"}]}").unwrap();
    refused(
        &probity.run(&["models", "check", &dir]),
        2,
        &["expected.json", "'cases.0.input_ids': is missing"],
    );
    let case = |ids: &str| format!("{{\"cases\": [{{\"text\": \"the\", \"input_ids\": [{ids}]}}]}}");
    let shown = text(&probity.run(&["models", "tokens", "bert-mini", "the"]).stdout);
    let ids: Vec<&str> = shown.lines().skip(2).filter_map(|l| l.split_whitespace().nth(2)).collect();
    assert_eq!(ids.len(), 3, "{shown}");
    std::fs::write(&expected, case(&ids.join(","))).unwrap();
    let passed = probity.run(&["models", "check", &dir]);
    assert_eq!(passed.status.code(), Some(0), "{}", text(&passed.stderr));
    let stdout = text(&passed.stdout);
    assert!(
        stdout.contains("largest deviation") && stdout.contains("token ids") && stdout.contains("pass"),
        "{stdout}"
    );
    std::fs::write(&expected, case("1")).unwrap();
    let deviates = probity.run(&["models", "check", &dir, "--json"]);
    assert_eq!(deviates.status.code(), Some(1));
    let report: Value = serde_json::from_slice(&deviates.stdout).unwrap();
    assert_eq!(
        (&report["passed"], &report["rows"][0]["verdict"]),
        (&Value::from(false), &Value::from("deviates"))
    );
    assert!(text(&probity.run(&["models", "check", &dir]).stdout).contains("DEVIATES"));
}

#[test]
fn a_pull_without_network_says_so_and_a_cached_model_is_listed() {
    let probity = Probity::new();
    let cache = probity.state.path().join("hub");
    let here = |args: &[&str]| {
        let mut command = probity.command(args);
        command.env("HF_HUB_CACHE", &cache).env_remove("HF_TOKEN");
        command
    };
    refused(&here(&["models", "pull", "org/m"]).output().unwrap(), 1, &["org/m", "HF_HUB_OFFLINE"]);
    refused(&here(&["models", "pull", "../m"]).output().unwrap(), 2, &["no hub id"]);
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut command = here(&["models", "pull", "org/m@v1"]);
    command.env("HF_ENDPOINT", format!("http://{closed}")).env("HF_HUB_OFFLINE", "0");
    refused(&command.output().unwrap(), 1, &["org/m", "connection refused", "HF_HUB_OFFLINE=1"]);
    let root = cache.join("models--org--m");
    folder_of("bert-mini", &root.join("snapshots/abcd"));
    std::fs::create_dir_all(root.join("refs")).unwrap();
    std::fs::write(root.join("refs/main"), "abcd").unwrap();
    let listed = text(&here(&["models", "list"]).output().unwrap().stdout);
    assert!(
        listed.lines().any(|l| l.starts_with("org/m ") && l.contains("bert, in the hub cache")),
        "{listed}"
    );
    let shown = here(&["models", "show", "org/m"]).output().unwrap();
    assert_eq!(shown.status.code(), Some(0), "{}", text(&shown.stderr));
}

/// An experiment of seconds on the built-in model.
const SMALL: &str = r#"
lab = "interventions"
models = ["bert-mini"]
seed = 5
[task]
examples = 2000
[interval]
level = 0.9
resamples = 100
[[method]]
name = "fgsm"
values = [0.05, 0.5]
[[method]]
name = "inlp"
values = [0, 4]
"#;

/// An experiment that trains for long.
const LARGE: &str = r#"
lab = "interventions"
models = ["bert-mini"]
[task]
examples = 10000
[probe]
grid = "paper"
[[method]]
name = "pgd"
"#;

fn json_lines(stdout: &[u8]) -> Vec<Value> {
    text(stdout).lines().map(|l| serde_json::from_str(l).unwrap_or_else(|e| panic!("{e}: {l}"))).collect()
}

fn of_kind<'a>(findings: &'a [Value], kind: &str) -> Vec<&'a Value> {
    findings.iter().filter(|f| f["kind"] == kind).collect()
}

#[test]
fn a_run_prints_the_published_findings_and_leaves_figures_and_a_session() {
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
    has("optimum", &["method", "layer", "oracle", "parameter", "value"], &scores);
    has("summary", &["seconds", "device", "version", "cancelled"], &[]);
    assert_eq!(findings.last().unwrap()["kind"], "summary");
    assert_eq!(of_kind(&findings, "summary").len(), 1);
    let last = of_kind(&findings, "reliability").into_iter().filter(|f| f["final"] == true).count();
    assert_eq!(last, 2 * 2 * 2, "two methods, two values, two oracles");

    // Reliability is the harmonic mean of the means, by the calculator too.
    let f = of_kind(&findings, "reliability").into_iter().rfind(|f| f["final"] == true).unwrap();
    let [c, s, r] = scores.map(|k| f[k]["mean"].as_f64().unwrap());
    let again = probity.run(&["reliability", &c.to_string(), &s.to_string(), "--json"]);
    assert!((json_lines(&again.stdout)[0]["reliability"].as_f64().unwrap() - r).abs() < 1e-12);

    let written = std::fs::read(out.join("findings.jsonl")).unwrap();
    assert_eq!(written, output.stdout, "the file holds the same lines");
    let files: Vec<String> =
        std::fs::read_dir(&out).unwrap().map(|f| f.unwrap().file_name().into_string().unwrap()).collect();
    let count = |end: &str| files.iter().filter(|f| f.ends_with(end)).count();
    // Curves of two methods under two oracles, and a plane for each oracle.
    assert_eq!([".png", ".svg", ".csv"].map(count), [6, 6, 6], "{files:?}");
    assert!(!files.iter().any(|f| f.starts_with('.')), "nothing half-written: {files:?}");
    replays(&probity, &out.join("session.probity.jsonl"), &output.stdout);
}

/// The session replays to the same findings and exports the same kind of figure.
fn replays(probity: &Probity, session: &Path, findings: &[u8]) {
    let name = session.display().to_string();
    let replay = probity.run(&["replay", &name, "--headless", "--json"]);
    assert_eq!(replay.status.code(), Some(0), "{}", text(&replay.stderr));
    assert_eq!(replay.stdout, findings, "to the last digit");
    let table = text(&probity.run(&["replay", &name, "--headless"]).stdout);
    for word in ["mlp oracle", "FGSM", "INLP", "90 % intervals", "done in"] {
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
    refused(&export(&["--figure", "pareto", "-o", "x.pdf"]), 2, &[".png, .svg or .csv"]);
    refused(&export(&["--figure", "pareto", "-o", "/no/such/x.png"]), 1, &["/no/such/x.png"]);
}

#[test]
fn two_specs_get_a_folder_and_a_session_each_and_a_table() {
    let probity = Probity::new();
    let one = probity.file("one.toml", SMALL);
    // The same probes, from the cache.
    let two = probity.file("two.toml", &SMALL.replace("level = 0.9", "level = 0.8"));
    let out = probity.state.path().join("out");
    let output = probity.run(&["run", &one, &two, "--quiet", "--out", &out.display().to_string()]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    // Quiet is without progress; what puts the numbers in doubt is said all the same.
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

#[cfg(unix)]
#[test]
fn an_interrupted_run_says_so_and_exits_130() {
    use std::io::{BufRead, BufReader};
    use std::process::Stdio;

    let probity = Probity::new();
    let spec = probity.file("large.toml", LARGE);
    let mut command = probity.command(&["run", &spec, "--json"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap()).lines();
    // Training has begun.
    assert!(stderr.any(|line| line.unwrap().contains("oracle mlp")));
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let rest = std::thread::spawn(move || stderr.map_while(Result::ok).collect::<Vec<_>>());
    let output = child.wait_with_output().unwrap();
    let stderr = rest.join().unwrap().join("\n");
    assert_eq!(output.status.code(), Some(130), "{stderr}");
    let findings = json_lines(&output.stdout);
    let last = findings.last().unwrap();
    assert_eq!((&last["kind"], &last["cancelled"]), (&"summary".into(), &true.into()));
    assert!(stderr.contains("session "), "{stderr}");
}

#[test]
fn a_run_that_fails_ends_with_an_error_a_summary_and_1() {
    let probity = Probity::new();
    // Good enough for the check of names, but there is no such layer.
    let spec = probity.file("layer.toml", &SMALL.replace("[task]", "[site]\nlayer = 99\n[task]"));
    let output = probity.run(&["run", &spec, "--json", "--quiet"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    let findings = json_lines(&output.stdout);
    let kinds: Vec<&str> = findings.iter().map(|f| f["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds[kinds.len() - 2..], ["error", "summary"]);
    let error = &findings[findings.len() - 2];
    assert!(error["what"].as_str().unwrap().contains("99") && error["hint"].is_string(), "{error}");
}

#[test]
fn data_sets_are_shown_examined_and_converted() {
    let probity = Probity::new();
    let rows = |file: &str| root().join("tests/rows").join(file).display().to_string();
    let run = |args: &[&str]| {
        let output = probity.run(args);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        output
    };
    let list = text(&run(&["data", "list"]).stdout);
    assert!(["agreement", "lama", "senteval", "eraser"].iter().all(|w| list.contains(w)), "{list}");
    let show = text(&run(&["data", "show", &rows("bear"), "--limit", "1"]).stdout);
    assert!(show.contains("BEAR folder") && show.contains("Anna Moor") && !show.contains("Karl"), "{show}");
    let built_in = text(&run(&["data", "show", "agreement", "--limit", "1"]).stdout);
    for part in ["12000 sentence", "0 unreadable", "oracle, largest uncorrelated subset", "row 1: {"] {
        assert!(built_in.contains(part), "no `{part}` in {built_in}");
    }
    let facts = &json_lines(&run(&["data", "doctor", "facts", "--model", "bert-mini", "--json"]).stdout)[0];
    assert_eq!((&facts["rows"], &facts["kinds"]["relation"]), (&2064.into(), &32.into()));
    let json = &json_lines(&run(&["data", "show", &rows("lama.jsonl"), "--json"]).stdout)[0];
    assert_eq!(
        (&json["files"][0]["format"], &json["files"][0]["report"]["rows"]),
        (&"lama".into(), &4.into())
    );

    let doctor = ["data", "doctor", &rows("lama.jsonl"), "--model", "bert-mini", "--json"];
    let json = &json_lines(&run(&doctor).stdout)[0];
    assert_eq!(json["models"][0]["model"], "bert-mini");
    assert_eq!(
        json["rows"].as_u64().unwrap(),
        json["kept"].as_u64().unwrap() + json["dropped"].as_u64().unwrap()
    );
    assert!(json["findings"]["multi_token"]["count"].as_u64().unwrap() > 0, "{json}");

    // What is converted is read back as the same rows, and converts to itself.
    let [one, two] = ["one.jsonl", "two.jsonl"].map(|n| probity.state.path().join(n).display().to_string());
    run(&["data", "convert", &rows("agreement.tsv"), "-o", &one]);
    run(&["data", "convert", &one, "-o", &two]);
    assert_eq!(std::fs::read(&one).unwrap(), std::fs::read(&two).unwrap());
    assert_eq!(run(&["data", "convert", &one]).stdout, std::fs::read(&one).unwrap());
    let limited = run(&["data", "convert", &one, "--limit", "1"]);
    assert_eq!(json_lines(&limited.stdout).len(), 1);
}

#[test]
fn data_sets_that_cannot_be_read_exit_2_with_file_line_and_what_was_expected() {
    let probity = Probity::new();
    let file = |text: &str| probity.file("bad.txt", text);
    let doctor = |path: &str| probity.run(&["data", "doctor", path]);
    refused(&doctor("/no/such/file"), 2, &["/no/such/file", "expected"]);
    refused(&doctor(&file("")), 2, &["bad.txt", "empty"]);
    refused(
        &doctor(&file("nothing \u{1b}[2J known\n")),
        2,
        &["bad.txt, line 1", "expected one of the known formats"],
    );
    let broken = "{\"text\": \"\"}\n".repeat(2);
    refused(&doctor(&file(&broken)), 2, &["line 1", "none of its 2 rows"]);
    let rows = root().join("tests/rows/plain.jsonl").display().to_string();
    refused(&probity.run(&["data", "doctor", &rows, "--model", "./nowhere"]), 2, &["nowhere"]);
    refused(&probity.run(&["data", "convert", &rows, "-o", "/no/such/folder/x"]), 1, &["/no/such/folder/x"]);
    refused(&probity.run(&["data", "convert", &rows, "--model", "bert-mini"]), 2, &["--clean"]);
    refused(&probity.run(&["data"]), 2, &["Usage"]);
}
