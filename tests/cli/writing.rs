//! Writing files: nothing is replaced without permission or left unfinished, and messages name the file.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use super::common::{LARGE, Probity, TINY, refused, text};

/// Names in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn existing_results_are_reported_before_computing() {
    let probity = Probity::new();
    let spec = probity.file("tiny.toml", TINY);
    for name in ["findings.jsonl", "pareto-mine.png"] {
        let out = probity.state.path().join(name.replace('.', "-"));
        std::fs::create_dir(&out).unwrap();
        std::fs::write(out.join(name), "precious").unwrap();
        let run = probity.run(&["run", &spec, "--out", &out.display().to_string()]);
        refused(&run, 2, &[name, "already exists", "--force"]);
        assert_eq!(std::fs::read_to_string(out.join(name)).unwrap(), "precious");
        assert_eq!(names(&out), [name], "no session for a run that never began");
    }
    refused(&probity.run(&["run", &spec, "--force"]), 2, &["--out"]);
}

/// A run with a memory limit that cannot be kept fails after it has begun.
#[test]
fn failed_run_replaces_and_draws_nothing() {
    let probity = Probity::new();
    let spec = probity.file("tiny.toml", TINY);
    let (old, new) = (probity.state.path().join("old"), probity.state.path().join("new"));
    let run = |out: &Path, more: &[&str]| {
        let out = out.display().to_string();
        probity.run(&[&["run", &spec, "--quiet", "--out", &out], more].concat())
    };
    let first = run(&old, &[]);
    assert_eq!(first.status.code(), Some(0), "{}", text(&first.stderr));
    let all = names(&old);
    let contents = || all.iter().map(|n| std::fs::read(old.join(n)).unwrap()).collect::<Vec<_>>();
    let before = contents();
    let failing = ["--memory-limit", "8M"];
    let second = run(&old, &[&failing[..], &["--force"]].concat());
    assert_eq!(second.status.code(), Some(1), "{}", text(&second.stderr));
    assert!(contents() == before, "the earlier results are unchanged");
    let more: Vec<String> = names(&old).into_iter().filter(|n| !all.contains(n)).collect();
    assert_eq!(more, ["findings-incomplete.jsonl", "session-2.probity.jsonl"], "both files have a different name");
    assert_eq!(run(&new, &failing).status.code(), Some(1));
    assert_eq!(names(&new), ["findings.jsonl", "session.probity.jsonl"], "no figures");
    assert!(std::fs::read_to_string(new.join("findings.jsonl")).unwrap().contains("the limit is 8.0 MB"));
}

#[test]
fn full_disk_leaves_no_partial_file() {
    let probity = Probity::new();
    let out = probity.state.path().join("out");
    std::fs::create_dir(&out).unwrap();
    let file = out.join("rows.jsonl").display().to_string();
    for args in [&["data", "convert", "agreement", "-o", &file][..], &["data", "make", "facts", "-o", &file]] {
        refused(&probity.cramped(args), 1, &["cannot write", "rows.jsonl"]);
        assert!(names(&out).is_empty(), "{:?}", names(&out));
    }
    let spec = probity.file("tiny.toml", TINY);
    let run = probity.cramped(&["run", &spec, "--out", &out.display().to_string()]);
    let stderr = text(&run.stderr);
    assert_eq!(run.status.code(), Some(1), "{stderr}");
    let last = stderr.lines().last().unwrap();
    assert!(last.starts_with("error: ") && last.contains("findings.jsonl"), "{stderr}");
    assert_eq!(names(&out), ["session.probity.jsonl"], "the recording is kept");
    // Regression: the warning used to be repeated for every probe that could not be cached.
    for warning in ["a trained probe could not be cached", "not recorded", "without recording"] {
        assert!(stderr.matches(warning).count() <= 1, "`{warning}` is repeated: {stderr}");
    }
}

#[test]
fn converted_rows_go_only_to_files() {
    let probity = Probity::new();
    let at = |name: &str| probity.state.path().join(name).display().to_string();
    let pipe = at("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    std::fs::create_dir(at("folder")).unwrap();
    for (path, what) in [("/dev/null", "a device"), (&pipe, "a pipe"), (&at("folder"), "a folder")] {
        for force in [&[][..], &["--force"]] {
            let args = [&["data", "convert", "facts", "-o", path][..], force].concat();
            refused(&probity.run(&args), 2, &[path, what, "name a file"]);
        }
    }
    assert!(!Path::new("/dev/null").is_file());
}

#[test]
fn export_never_overwrites_and_reports_paths() {
    let probity = Probity::new();
    let spec = probity.file("tiny.toml", TINY);
    let run = probity.run(&["run", &spec, "--quiet", "--session", "s.probity.jsonl"]);
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    let sessions = probity.state.path().join("sessions");
    assert_eq!(names(&sessions), ["s.probity.jsonl"], "the extension is not repeated");
    let export = |more: &[&str]| {
        let args = [&["export", "s", "--figure", "pareto", "-o", "p.csv"][..], more].concat();
        probity.command(&args).current_dir(probity.state.path()).output().unwrap()
    };
    let output = export(&[]);
    let file = probity.state.path().join("p.csv");
    assert!(text(&output.stderr).contains(&format!("wrote {}", file.display())), "{}", text(&output.stderr));
    std::fs::write(&file, "precious").unwrap();
    refused(&export(&[]), 2, &["p.csv", "already exists", "--force"]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "precious");
    assert_eq!(export(&["--force"]).status.code(), Some(0));
    assert_ne!(std::fs::read_to_string(&file).unwrap(), "precious");
}

#[test]
fn warning_is_printed_once() {
    let probity = Probity::new();
    let spec = probity.file("tiny.toml", TINY);
    // A regular file at the path of the cache folder.
    let blocked = probity.file("blocked", "");
    let mut command = probity.command(&["run", &spec, "--quiet", "--no-session"]);
    let output = command.env("PROBITY_CACHE_DIR", blocked).output().unwrap();
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert_eq!(stderr.matches("a trained probe could not be cached").count(), 1, "{stderr}");
}

/// Starts the program and kills it (`kill -9`) as soon as one of its unfinished files exists in the folder. Returns the file's name.
fn killed_while_writing(mut command: Command, folder: &Path) -> String {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let own = format!(".probity-{}@", child.id());
    let begun = Instant::now();
    loop {
        let entries = std::fs::read_dir(folder).into_iter().flatten();
        let mut names = entries.map(|e| e.unwrap().file_name().into_string().unwrap());
        if let Some(name) = names.find(|n| n.starts_with(&own)) {
            child.kill().unwrap();
            child.wait().unwrap();
            return name;
        }
        let ended = child.try_wait().unwrap();
        assert!(ended.is_none() && begun.elapsed() < Duration::from_secs(120), "no unfinished file: {ended:?}");
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// An unfinished file of a dead process may belong to a different machine that shares the folder, so it is kept for an hour.
#[test]
fn unfinished_files_are_removed_after_an_hour() {
    let probity = Probity::new();
    let (spec, long) = (probity.file("tiny.toml", TINY), probity.file("long.toml", LARGE));
    let out = probity.state.path().join("out");
    let at = out.display().to_string();
    let figure = out.join("p.png").display().to_string();
    let recorded = probity.run(&["run", &spec, "--quiet", "--session", "s"]);
    assert_eq!(recorded.status.code(), Some(0), "{}", text(&recorded.stderr));
    let run = killed_while_writing(probity.command(&["run", &long, "--out", &at]), &out);
    let export = ["export", "s", "--figure", "pareto", "-o", &figure];
    let drawn = killed_while_writing(probity.command(&export), &out);
    let mut left = [run.as_str(), &drawn];
    left.sort_unstable();
    // The recording may or may not have begun by then.
    let there: Vec<String> = names(&out).into_iter().filter(|n| n != "session.probity.jsonl").collect();
    assert_eq!(there, left);
    assert!(!Path::new(&figure).exists(), "no partial figure");
    let exported = probity.run(&[&export[..], &["--force"]].concat());
    assert_eq!(exported.status.code(), Some(0), "{}", text(&exported.stderr));
    assert!(out.join(&run).exists() && out.join(&drawn).exists(), "files this recent are kept");
    for name in [&run, &drawn] {
        let file = std::fs::File::open(out.join(name)).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(3700)).unwrap();
    }
    let next = probity.run(&["run", &spec, "--quiet", "--out", &at, "--force"]);
    assert_eq!(next.status.code(), Some(0), "{}", text(&next.stderr));
    let left = names(&out);
    assert!(left.iter().all(|n| !n.starts_with(".probity-")), "{left:?}");
    assert!(left.contains(&"findings.jsonl".to_owned()), "{left:?}");
}

/// A session lists the figures it can draw, and writes all of them and a one-page report.
#[test]
fn session_lists_and_writes_figures_and_report() {
    let probity = Probity::new();
    let session = format!("{}/tests/replay/first.probity.jsonl", env!("CARGO_MANIFEST_DIR"));
    let listed = probity.run(&["export", &session, "--list"]);
    let listed = text(&listed.stdout);
    for line in ["--figure pareto", "--figure reliability", "--table"] {
        assert!(listed.contains(line), "no `{line}` in {listed}");
    }
    let all = probity.state.path().join("all");
    let all_name = all.display().to_string();
    let export = |more: &[&str]| probity.run(&[&["export", &session], more].concat());
    let style = ["--all", &all_name, "--style", "paper", "--format", "pdf,csv"];
    let output = export(&style);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let files: Vec<String> =
        std::fs::read_dir(&all).unwrap().map(|f| f.unwrap().file_name().into_string().unwrap()).collect();
    let count = |end: &str| files.iter().filter(|f| f.ends_with(end)).count();
    let tables = files.iter().filter(|f| f.starts_with("table-")).count();
    assert!(count(".pdf") > 4 && tables % 3 == 0, "{files:?}");
    assert_eq!((count(".pdf"), count(".pdf")), (count(".txt"), count(".csv") - tables / 3), "{files:?}");
    refused(&export(&style), 2, &["already exists", "--force"]);
    let page = probity.state.path().join("report.md");
    let page_name = page.display().to_string();
    let output = export(&["--report", &page_name, "--dpi", "72"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let page = std::fs::read_to_string(&page).unwrap();
    for part in ["**Question.**", "**Answer.**", "](report-figures/", "**Provenance.**", "--all DIR"] {
        assert!(page.contains(part), "no `{part}` in {page}");
    }
    refused(&export(&["--figure", "paretto", "-o", "x.png"]), 2, &["did you mean `pareto`?"]);
    refused(&export(&["--list", "--width", "3mm"]), 2, &["40 to 400 mm"]);
    refused(&export(&["--figure", "pareto"]), 2, &["--out"]);
}

/// Running the output of `--script` reproduces the numbers in the session.
#[cfg(unix)]
#[test]
fn session_script_reproduces_its_numbers() {
    let probity = Probity::new();
    let session = format!("{}/sessions/power.probity.jsonl", env!("CARGO_MANIFEST_DIR"));
    let folder = probity.state.path().join("a gain");
    let name = folder.display().to_string();
    let output = probity.run(&["export", &session, "--script", &name]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    refused(&probity.run(&["export", &session, "--script", &name]), 2, &["already exists", "--force"]);
    let mut script = Command::new("sh");
    script.arg(folder.join("run.sh")).env("PROBITY", env!("CARGO_BIN_EXE_probity"));
    script.env("PROBITY_STATE_DIR", probity.state.path()).env("PROBITY_CACHE_DIR", probity.state.path());
    let output = script.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let printed = text(&output.stdout);
    assert!(printed.contains("Nothing differs"), "{printed}");
    // Every final finding equals the recorded one, except for its time.
    let findings = |text: &str| -> Vec<serde_json::Value> {
        let all = text.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
        let numbers = all.filter(|f| f["final"] == true && f["kind"] != "summary").map(|mut f| {
            f.as_object_mut().unwrap().remove("t");
            f
        });
        numbers.collect()
    };
    let again = std::fs::read_to_string(folder.join("run-1/findings.jsonl")).unwrap();
    let recorded = probity.run(&["replay", &session, "--headless", "--json"]);
    let (again, recorded) = (findings(&again), findings(&text(&recorded.stdout)));
    assert!(recorded.len() > 5, "{recorded:?}");
    assert_eq!(again, recorded);
}

/// Regression: a run whose session could not be written used to exit with 0.
#[test]
fn unrecorded_run_exits_1_and_names_the_file() {
    let probity = Probity::new();
    let spec = probity.file("tiny.toml", TINY);
    let blocked = probity.file("no-folder", "a file");
    let mut command = probity.command(&["run", &spec, "--quiet"]);
    let run = command.env("PROBITY_STATE_DIR", &blocked).output().unwrap();
    let stderr = text(&run.stderr);
    assert_eq!(run.status.code(), Some(1), "{stderr}");
    let last = stderr.lines().last().unwrap();
    assert!(last.contains("no-folder") && last.contains("--no-session"), "{stderr}");
    assert!(text(&run.stdout).contains("Reliability") || !run.stdout.is_empty(), "the run finished anyway");
    let mut command = probity.command(&["run", &spec, "--quiet", "--no-session"]);
    assert_eq!(command.env("PROBITY_STATE_DIR", &blocked).status().unwrap().code(), Some(0));
}

/// Regression: the program used to read devices until memory was full, and to wait forever for pipes.
#[test]
fn devices_and_pipes_in_place_of_files_are_refused_at_once() {
    let probity = Probity::new();
    let pipe = probity.state.path().join("pipe").display().to_string();
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let keys = TINY.replace("examples = 1000", &format!("examples = 1000\ndata = \"{pipe}\""));
    let spec = probity.file("pipe.toml", &keys);
    for path in ["/dev/zero", &pipe] {
        for args in [
            &["run", path][..],
            &["replay", path],
            &["export", path, "--list"],
            &["prompts", path],
            &["data", "doctor", path],
            &["run", "--preset", "margins", path],
            &["models", "show", &format!("glove:{path}")],
        ] {
            let mut child = probity.command(args);
            let child = child.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
            let output = ended(child, args);
            assert!(!output.status.success(), "{args:?}");
        }
    }
    let vectors: String = (0..20_000).map(|k| format!("word{k}{}\n", " 0.5".repeat(50))).collect();
    let vectors = format!("glove:{}", probity.file("vectors.txt", &vectors));
    let large = probity.file("large.toml", &TINY.replace("bert-tiny", &vectors));
    let limited = probity.run(&["run", &large, "--memory-limit", "6M", "--no-session"]);
    assert!(
        !limited.status.success() && text(&limited.stderr).contains("--memory-limit allows"),
        "{}",
        text(&limited.stderr)
    );
    let args = ["run", &spec, "--no-session"];
    let mut child = probity.command(&args);
    let output = ended(child.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap(), &args);
    assert!(!output.status.success(), "{}", text(&output.stderr));
}

fn ended(mut child: std::process::Child, args: &[&str]) -> std::process::Output {
    let begun = std::time::Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > std::time::Duration::from_secs(20) {
            child.kill().unwrap();
            panic!("{args:?} did not end");
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    child.wait_with_output().unwrap()
}
