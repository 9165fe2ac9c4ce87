//! `probity models`: broken models, checks, downloads.

use std::path::Path;

use serde_json::Value;

use super::common::{Probity, TINY, folder_of, refused, text};

#[test]
fn broken_models_are_refused_by_name() {
    let probity = Probity::new();
    let folder = probity.state.path().join("model");
    std::fs::create_dir(&folder).unwrap();
    let name = folder.display().to_string();
    refused(&probity.run(&["models", "show", &name]), 2, &["config.json"]);
    std::fs::write(Path::new(&folder).join("config.json"), "{\"model_type\":\"\u{7f}x\"}").unwrap();
    refused(&probity.run(&["models", "show", &name]), 2, &["config.json"]);
}

/// Regression: for the same folder, `run` used to exit with 1 but `models show` with 2.
#[test]
fn broken_folder_gives_the_same_error_in_every_command() {
    let probity = Probity::new();
    let at = probity.state.path().join("m");
    let name = at.display().to_string();
    let spec = probity.file("spec.toml", &TINY.replace("bert-tiny", &name));
    for (file, text) in [("config.json", "{}"), ("model.safetensors", "cut"), ("tokenizer.json", "[")] {
        folder_of("bert-mini", &at);
        std::fs::write(at.join(file), text).unwrap();
        let place = at.join(file).display().to_string();
        refused(&probity.run(&["models", "show", &name]), 2, &[&place]);
        refused(&probity.run(&["run", &spec, "--json"]), 2, &["spec.toml", "`models`", &place]);
    }
    // The headers are valid, but one tensor is missing.
    folder_of("bert-mini", &at);
    let lost = lose_a_tensor(&at.join("model.safetensors"));
    refused(&probity.run(&["models", "show", &name]), 2, &[&lost]);
    refused(&probity.run(&["run", &spec, "--json"]), 2, &["spec.toml", "`models`", &lost]);
    std::fs::remove_file(at.join("config.json")).unwrap();
    refused(&probity.run(&["models", "show", &name]), 2, &["no config.json"]);
    refused(&probity.run(&["run", &spec, "--json"]), 2, &["no config.json"]);
}

/// Removes one block's bias from the file and returns its name.
fn lose_a_tensor(path: &Path) -> String {
    let bytes = std::fs::read(path).unwrap();
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let mut tensors = file.tensors();
    let at = tensors.iter().position(|(name, _)| name.contains("layer.0") && name.ends_with("bias")).unwrap();
    let (lost, _) = tensors.remove(at);
    std::fs::write(path, safetensors::serialize(tensors, None).unwrap()).unwrap();
    lost
}

#[test]
fn models_list_their_labs_and_unused_weights() {
    let probity = Probity::new();
    assert!(text(&probity.run(&["models", "list"]).stdout).contains("MB  built in; all labs"));
    let at = probity.state.path().join("m");
    folder_of("bert-mini", &at);
    let show = || text(&probity.run(&["models", "show", &at.display().to_string()]).stdout);
    let whole = show();
    assert!(whole.contains("serves               all labs") && !whole.contains("are not used"), "{whole}");
    let config = std::fs::read_to_string(at.join("config.json")).unwrap();
    let mut config: Value = serde_json::from_str(&config).unwrap();
    config["num_hidden_layers"] = 1.into();
    std::fs::write(at.join("config.json"), config.to_string()).unwrap();
    let less = show();
    assert!(less.contains("are not used") && less.contains("describes a smaller network"), "{less}");
}

/// Regression: no command used to report that transformers builds a different tokenizer, and `tokens` and `check` used to print no
/// notices at all.
#[test]
fn tokens_and_check_warn_of_different_tokenizer_in_transformers() {
    let probity = Probity::new();
    let at = probity.state.path().join("m");
    folder_of("bert-mini", &at);
    let dir = at.display().to_string();
    let warned = |args: &[&str]| text(&probity.run(args).stderr);
    assert_eq!(warned(&["models", "tokens", &dir, "the"]), "");
    let file = at.join("tokenizer.json");
    let mut tokenizer: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    tokenizer["post_processor"] = Value::Null;
    std::fs::write(&file, tokenizer.to_string()).unwrap();
    for args in [&["models", "tokens", &dir, "the"][..], &["models", "check", &dir]] {
        let said = warned(args);
        let expected =
            "transformers 5 replaces its post_processor with BertTokenizer's own: it encodes 'a' as [[CLS] a [SEP]]";
        assert!(said.starts_with("warning: ") && said.contains(expected), "{said}");
    }
}

/// Regression: unused tensors used to be mentioned only by `models show`, not by a run.
#[test]
fn run_reports_unused_tensors_once() {
    let probity = Probity::new();
    let at = probity.state.path().join("m");
    folder_of("bert-tiny", &at);
    let config = std::fs::read_to_string(at.join("config.json")).unwrap();
    let mut config: Value = serde_json::from_str(&config).unwrap();
    config["num_hidden_layers"] = 1.into();
    std::fs::write(at.join("config.json"), config.to_string()).unwrap();
    let spec = probity.file("spec.toml", &TINY.replace("bert-tiny", &at.display().to_string()));
    let output = probity.run(&["run", &spec, "--json"]);
    let said = text(&output.stderr);
    assert_eq!((output.status.code(), said.matches("stored tensors are not used").count()), (Some(0), 1), "{said}");
}

#[test]
fn unsent_token_is_reported() {
    let probity = Probity::new();
    let told = |endpoint: &str, args: &[&str]| {
        let mut command = probity.command(args);
        command.env("HF_TOKEN", "hf_secret").env("HF_ENDPOINT", endpoint);
        let shown = text(&command.output().unwrap().stdout);
        assert!(!shown.contains("hf_secret"), "{shown}");
        shown.contains("the token is not sent")
    };
    for args in [&["models", "list"][..], &["doctor"]] {
        assert!(told("http://hub.example", args), "{args:?}");
        assert!(!told("https://hub.example", args), "{args:?}");
    }
}

/// Nothing listens at this address, and no name is resolved. Regression: the advice used to be cut off the message.
#[test]
fn failed_fetch_explains_the_unsent_token_in_full() {
    let probity = Probity::new();
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut command = probity.command(&["models", "show", &format!("org/{}m", "long-name-".repeat(8))]);
    command.env("HF_TOKEN", "hf_secret").env("HF_ENDPOINT", format!("http://0.0.0.0:{closed}"));
    let output = command.env("HF_HUB_OFFLINE", "0").output().unwrap();
    refused(&output, 1, &["the token is not sent", "use https)"]);
}

#[test]
fn empty_cache_variable_counts_as_unset() {
    let probity = Probity::new();
    let mut command = probity.command(&["models", "cache"]);
    command.env("PROBITY_CACHE_DIR", "").env("XDG_CACHE_HOME", probity.state.path());
    let shown = text(&command.current_dir(probity.state.path()).output().unwrap().stdout);
    let folders: Vec<&str> = shown.lines().filter_map(|l| l.strip_prefix("  folder")).map(str::trim).collect();
    assert!(folders.len() == 2 && folders.iter().all(|f| std::path::Path::new(f).is_absolute()), "{shown}");
}

#[test]
fn check_passes_deviates_or_names_requirements() {
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
    refused(&probity.run(&["models", "check", &dir]), 2, &["expected.json", "'cases.0.input_ids': is missing"]);
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
    assert_eq!((&report["passed"], &report["rows"][0]["verdict"]), (&Value::from(false), &Value::from("deviates")));
    assert!(text(&probity.run(&["models", "check", &dir]).stdout).contains("DEVIATES"));
}

#[test]
fn offline_pull_is_reported_and_cached_model_listed() {
    let probity = Probity::new();
    let cache = probity.state.path().join("hub");
    let here = |args: &[&str]| {
        let mut command = probity.command(args);
        command.env("HF_HUB_CACHE", &cache).env_remove("HF_TOKEN");
        command
    };
    refused(&here(&["models", "pull", "org/m"]).output().unwrap(), 1, &["org/m", "HF_HUB_OFFLINE"]);
    refused(&here(&["models", "pull", "../m"]).output().unwrap(), 2, &["or a hub id"]);
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut command = here(&["models", "pull", "org/m@v1"]);
    command.env("HF_ENDPOINT", format!("http://{closed}")).env("HF_HUB_OFFLINE", "0");
    refused(&command.output().unwrap(), 1, &["org/m", "connection refused", "HF_HUB_OFFLINE=1"]);
    let root = cache.join("models--org--m");
    folder_of("bert-mini", &root.join("snapshots/abcd"));
    std::fs::create_dir_all(root.join("refs")).unwrap();
    std::fs::write(root.join("refs/main"), "abcd").unwrap();
    let listed = text(&here(&["models", "list"]).output().unwrap().stdout);
    assert!(listed.lines().any(|l| l.starts_with("org/m ") && l.contains("bert, in the hub cache")), "{listed}");
    let shown = here(&["models", "show", "org/m"]).output().unwrap();
    assert_eq!(shown.status.code(), Some(0), "{}", text(&shown.stderr));
}

#[test]
fn pickled_weights_are_converted_or_refused() {
    let probity = Probity::new();
    let folder = |name: &str| probity.state.path().join(name).display().to_string();
    let pickled = concat!(env!("CARGO_MANIFEST_DIR"), "/src/model/convert/fixtures/zip.pt");
    let done = probity.run(&["models", "convert", pickled, "-o", &folder("new")]);
    let said = text(&done.stdout);
    assert!(
        done.status.success() && said.contains("9 tensors") && said.contains("config.json was not found"),
        "{said}"
    );
    assert!(said.contains("decoder.weight equals embed.weight and is written only once"), "{said}");
    refused(&probity.run(&["models", "convert", pickled, "-o", &folder("new")]), 2, &["already exists"]);
    let mut bytes = std::fs::read(pickled).unwrap();
    let name = b"_rebuild_parameter";
    let at = bytes.windows(name.len()).position(|w| w == name).unwrap();
    bytes[at] = b'x';
    std::fs::write(folder("bad.pt"), bytes).unwrap();
    let said = probity.run(&["models", "convert", &folder("bad.pt"), "-o", &folder("bad")]);
    refused(&said, 2, &["bad.pt", "torch._utils.xrebuild_parameter"]);
    assert!(!Path::new(&folder("bad")).exists());
}
