//! Compares the memory forecast with actual use and checks that limits are kept, by running the program as a user would.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const SPEC: &str = r#"
lab = "interventions"
models = ["MODEL"]
[task]
examples = EXAMPLES
[probe]
oracles = ["linear"]
replicates = 1
[[method]]
name = "alterrep"
values = [4.0]
[interval]
resamples = RESAMPLES
"#;

fn spec(dir: &Path, model: &str, examples: usize) -> String {
    let path = dir.join(format!("{model}-{examples}.toml"));
    let text = SPEC.replace("MODEL", model).replace("EXAMPLES", &examples.to_string());
    let text = text.replace("RESAMPLES", "100");
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

fn probity(dir: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_probity"));
    command.args(["run", "--no-session", "--quiet", "--device", "cpu"]).args(arguments);
    command.env("PROBITY_CACHE_DIR", dir.join("cache")).stdin(Stdio::null());
    command
}

fn forecast(dir: &Path, arguments: &[&str]) -> serde_json::Value {
    let output = probity(dir, &[&["--forecast", "--json"], arguments].concat()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Runs the program to its end and returns the peak resident memory in bytes, as reported by the system.
#[cfg(target_os = "linux")]
fn peak(dir: &Path, arguments: &[&str]) -> u64 {
    // The cache is emptied, so that every run does all of its work.
    let _ = std::fs::remove_dir_all(dir.join("cache"));
    let mut child = probity(dir, arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    loop {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|l| l.strip_prefix("VmHWM:"));
        if let Some(kb) = line.and_then(|l| l.trim().trim_end_matches("kB").trim().parse::<u64>().ok()) {
            peak = peak.max(kb << 10);
        }
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success());
            return peak;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn memory_forecast_is_within_a_fifth_and_limits_hold() {
    let dir = tempfile::tempdir().unwrap();
    // One family at two sizes and with a limit, a second family at one size; each run in a test build takes most of a minute.
    for (model, sizes) in [("bert-mini", &[400, 1500][..]), ("gpt2-mini", &[400])] {
        for &examples in sizes {
            let path = spec(dir.path(), model, examples);
            let foreseen = forecast(dir.path(), &[&path])["bytes"].as_u64().unwrap();
            let taken = peak(dir.path(), &[&path]);
            let ratio = foreseen as f64 / taken as f64;
            println!("{model}, {examples} examples: forecast {foreseen}, taken {taken}, ratio {ratio:.3}");
            assert!((0.8..=1.2).contains(&ratio), "{model}, {examples}: forecast {foreseen}, taken {taken}");
        }
        if sizes.len() == 1 {
            continue;
        }
        let path = spec(dir.path(), model, 1000);
        // Slightly above the smallest limit that is accepted.
        let limit = (forecast(dir.path(), &[&path])["bytes"].as_u64().unwrap() as f64 * 1.2) as u64;
        let limit_text = limit.to_string();
        let within = peak(dir.path(), &[&path, "--memory-limit", &limit_text]);
        println!("{model}: limit {limit}, taken {within}");
        assert!(within <= limit, "{model}: limit {limit}, taken {within}");
    }
}

/// Regression: the forecast used to time its assessment with all resamples and more strengths than the run has. With many resamples, that
/// alone used more than twice the memory forecast.
#[cfg(target_os = "linux")]
#[test]
fn memory_of_many_resamples_is_forecast() {
    let dir = tempfile::tempdir().unwrap();
    let path = spec(dir.path(), "bert-tiny", 400);
    let text = std::fs::read_to_string(&path).unwrap().replace("resamples = 100", "resamples = 40000");
    std::fs::write(&path, text).unwrap();
    let foreseen = forecast(dir.path(), &[&path])["bytes"].as_u64().unwrap();
    let taken = peak(dir.path(), &[&path]);
    println!("forecast {foreseen}, taken {taken}");
    let ratio = foreseen as f64 / taken as f64;
    assert!((0.8..=1.25).contains(&ratio), "forecast {foreseen}, taken {taken}");
}

/// The memory peak of a larger model occurs during loading, when file, parameters and packed parameters are in memory together.
#[cfg(target_os = "linux")]
#[test]
fn forecast_includes_the_loading_peak() {
    use probity::model::exec::train::{AdamW, Trainer};
    use probity::model::families::Size;
    use probity::model::{Arch, Device};
    let dir = tempfile::tempdir().unwrap();
    let model = dir.path().join("large");
    std::fs::create_dir(&model).unwrap();
    let arch = Arch::bert(Size { vocab: 4500, hidden: 384, layers: 6, heads: 6, max_positions: 64 });
    Trainer::new(&arch, 1, AdamW::default(), Device::Cpu).unwrap().export(&model).unwrap();
    let tokenizer = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/models/bert-mini/tokenizer.json");
    std::fs::copy(tokenizer, model.join("tokenizer.json")).unwrap();
    let path = spec(dir.path(), "large", 400);
    let text =
        std::fs::read_to_string(&path).unwrap().replace("\"large\"", &format!("{:?}", model.display().to_string()));
    std::fs::write(&path, text).unwrap();
    let foreseen = forecast(dir.path(), &[&path])["bytes"].as_u64().unwrap();
    let taken = peak(dir.path(), &[&path]);
    println!("forecast {foreseen}, taken {taken}");
    let ratio = foreseen as f64 / taken as f64;
    assert!((0.8..=1.2).contains(&ratio), "forecast {foreseen}, taken {taken}");
}

/// Regression: the other labs used to report the limit in their forecast without checking whether the forecast exceeds it.
#[test]
fn labs_refuse_impossible_limits() {
    let dir = tempfile::tempdir().unwrap();
    for (lab, rest) in [
        (
            "interventions",
            "[task]\nexamples = 400\n[probe]\noracles = [\"linear\"]\n[[method]]\nname = \"alterrep\"\nvalues = [4.0]",
        ),
        ("power", "[task]\nsizes = [64]\n[training]\nseeds = 1"),
        ("prompts", "[data]\nrelations = [\"capital\"]"),
        ("saliency", "[data]\ninputs = 20"),
    ] {
        // The same function handles one model and several, so it is enough to test one lab with both.
        let several = "\"bert-tiny\", \"roberta-tiny\"";
        let asked = if lab == "power" { &["\"bert-tiny\"", several][..] } else { &[several] };
        for models in asked {
            let path = dir.path().join("spec.toml");
            std::fs::write(&path, format!("lab = \"{lab}\"\nmodels = [{models}]\n{rest}\n")).unwrap();
            let output = probity(dir.path(), &[&path.display().to_string(), "--memory-limit", "8M"]).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(1), "{lab}, {models}: {said}");
            assert_eq!(said.matches("limit is 8.0 MB").count(), 1, "{lab}, {models}: {said}");
            // The suggested limit is sufficient.
            let enough = said.rsplit("--memory-limit ").next().unwrap();
            let enough: String = enough.chars().take_while(char::is_ascii_alphanumeric).collect();
            let kept = ["--forecast", path.to_str().unwrap(), "--memory-limit", &enough];
            let kept = probity(dir.path(), &kept).output().unwrap();
            assert!(kept.status.success(), "{lab}, {models}: {}", String::from_utf8_lossy(&kept.stderr));
        }
    }
    assert_eq!(probity::lab::LABS.len(), 4, "add a spec here for every new lab");
}

/// The grid is refused once, not once per cell, and no parts are written.
#[test]
fn grid_refuses_impossible_limit_before_its_first_cell() {
    let dir = tempfile::tempdir().unwrap();
    let spec = SPEC.replace("models = [\"MODEL\"]\n", "").replace("EXAMPLES", "400").replace("RESAMPLES", "100");
    let path = dir.path().join("grid.toml");
    std::fs::write(&path, spec + "[grid]\nmodels = [\"bert-tiny\", \"gpt2-tiny\"]\nseed = [0, 1]\n").unwrap();
    for jobs in [&[][..], &["--jobs", "2"]] {
        let out = dir.path().join(format!("out{}", jobs.len()));
        let limited =
            [&[path.to_str().unwrap(), "--out", out.to_str().unwrap(), "--memory-limit", "8M"], jobs].concat();
        let mut command = Command::new(env!("CARGO_BIN_EXE_probity"));
        command.args(["run", "--quiet", "--device", "cpu"]).args(limited);
        let output = command.env("PROBITY_CACHE_DIR", dir.path().join("cache")).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), said.matches("memory limit:").count()), (Some(1), 1), "{said}");
        let parts = std::fs::read_dir(out.join("parts")).map_or(0, Iterator::count);
        assert_eq!(parts, 0, "no cell was started");
    }
}

/// Regression: each model used to stay in memory until the end of the run; four of them took two and a half times as much as one.
#[cfg(target_os = "linux")]
#[test]
fn run_of_four_models_holds_one_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let one = spec(dir.path(), "bert-mini", 400);
    let text = std::fs::read_to_string(&one).unwrap();
    let four = dir.path().join("four.toml");
    let twins = "\"bert-mini\", \"untrained:bert-mini#1\", \"untrained:bert-mini#2\", \"untrained:bert-mini#3\"";
    std::fs::write(&four, text.replace("\"bert-mini\"", twins)).unwrap();
    let (one, four) = (peak(dir.path(), &[&one]), peak(dir.path(), &[four.to_str().unwrap()]));
    println!("one {one}, four {four}");
    assert!((four as f64) < 1.4 * one as f64, "one model takes {one}, four take {four}");
}

#[test]
fn impossible_limit_suggests_what_fits() {
    let dir = tempfile::tempdir().unwrap();
    let path = spec(dir.path(), "bert-mini", 5000);
    for arguments in [&["--forecast"][..], &[]] {
        let arguments = [arguments, &[path.as_str(), "--memory-limit", "8M"]].concat();
        let output = probity(dir.path(), &arguments).output().unwrap();
        assert!(!output.status.success());
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("limit is 8.0 MB") && said.contains("--memory-limit"), "{said}");
    }
    // With several models there is a single refusal, before the first of them runs, with a limit sufficient for all.
    let text = std::fs::read_to_string(&path).unwrap().replace("\"bert-mini\"", "\"bert-tiny\", \"bert-mini\"");
    std::fs::write(&path, text).unwrap();
    let output = probity(dir.path(), &[&path, "--memory-limit", "8M"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.stdout.is_empty() && said.matches("memory limit").count() == 1, "{said}");
    let enough = said.split("--memory-limit ").last().and_then(|s| s.split(' ').next()).unwrap();
    assert!(said.trim_end().ends_with("is enough for all its models)"), "{said}");
    assert_eq!(said.matches("--memory-limit").count(), 1, "one limit, not also that of the first model: {said}");
    let kept = probity(dir.path(), &["--forecast", &path, "--memory-limit", enough]).output().unwrap();
    assert!(kept.status.success(), "{}", String::from_utf8_lossy(&kept.stderr));
    let output = probity(dir.path(), &[&path, "--memory-limit", "much"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("not a size"));
}

#[test]
fn forecast_is_printed_without_a_run() {
    let dir = tempfile::tempdir().unwrap();
    let path = spec(dir.path(), "bert-mini", 1000);
    let output = probity(dir.path(), &["--forecast", &path]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && said.contains("bert-mini: about ") && said.contains("forward pass"), "{said}");
    assert!(!dir.path().join("cache").exists(), "nothing was cached, so nothing ran");
    let json = forecast(dir.path(), &[&path]);
    assert!(json["seconds"].as_f64().unwrap() > 0.0 && json["tokens_per_batch"].as_u64().unwrap() > 0);
}

#[test]
fn cache_is_shown_limited_and_cleared() {
    let dir = tempfile::tempdir().unwrap();
    let path = spec(dir.path(), "bert-mini", 400);
    assert!(probity(dir.path(), &[&path]).output().unwrap().status.success());
    let cache = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_probity"));
        command.args(["models", "cache"]).args(arguments).env("PROBITY_CACHE_DIR", dir.path().join("cache"));
        let output = command.env_remove("PROBITY_CACHE_MAX").output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let shown = cache(&[]);
    assert!(shown.contains(" vectors in ") && shown.contains("2.0 GB"), "{shown}");
    assert!(!shown.contains("hidden states    0 vectors"), "{shown}");
    let bounded = cache(&["limit", "1k"]);
    assert!(bounded.contains("1.0 kB") && bounded.contains("0 vectors"), "{bounded}");
    assert!(cache(&["show"]).contains("1.0 kB"), "the limit is kept");
    assert!(cache(&["clear"]).contains("trained probes   0,"), "{shown}");
}
