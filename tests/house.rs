//! Project rules, for example that only a lab's own folders name the lab, and that functions stay short enough to read.

use super::sources::sources;

/// Lines of code, without comments and without the tests at the end of the file.
fn code(text: &str) -> impl Iterator<Item = &str> {
    let end = text.find("#[cfg(test)]\nmod ").unwrap_or(text.len());
    text[..end].lines().map(str::trim).filter(|l| !l.starts_with("//"))
}

/// Maximum number of files outside a lab's own folders that may name it, and of lines in each of them. A new lab adds a line or two to each
/// file.
const MOST_FILES: usize = 7;
const MOST_LINES: usize = 3;

#[test]
fn labs_are_named_in_few_places_outside_their_folders() {
    for lab in probity::lab::LABS {
        let name = lab.id().name();
        let title: String = name.split('_').map(|w| format!("{}{}", w[..1].to_uppercase(), &w[1..])).collect();
        let own = [format!("src/lab/{name}/"), format!("src/tui/screens/{name}/")];
        // The name of a lab may be an ordinary word (power), so only its module, its variant and its name as a string count.
        let modules = ["lab::", "screens::", "screens.", "mod "].map(|before| format!("{before}{name}"));
        let quoted = format!("\"{name}\"");
        let case = |line: &str| {
            let after = |at: usize| line[at..].chars().next();
            let alone = |at: usize| !after(at).is_some_and(|c| c.is_alphanumeric() || c == '_');
            let ends = |word: &str| line.match_indices(word).any(|(at, _)| alone(at + word.len()));
            ends(&format!("::{title}")) || ends(&format!("{title} ="))
        };
        let mut named: Vec<(String, usize)> = Vec::new();
        for (path, text) in sources("src") {
            let shown = path.display().to_string();
            if own.iter().any(|o| shown.contains(o.as_str()))
                || shown.contains("src/cli/calc/")
                || shown.ends_with("tests.rs")
            {
                continue;
            }
            let module = |line: &str| {
                modules.iter().any(|m| {
                    line.match_indices(m.as_str()).any(|(at, _)| {
                        let next = line[at + m.len()..].chars().next();
                        !next.is_some_and(|c| c.is_alphanumeric() || c == '_')
                    })
                })
            };
            let uses = |line: &&str| module(line) || case(line) || line.contains(&quoted);
            let lines = code(&text).filter(uses).count();
            if lines > 0 {
                named.push((shown, lines));
            }
        }
        let printed = named.iter().map(|(path, lines)| format!("  {path}: {lines}")).collect::<Vec<_>>().join("\n");
        assert!(named.len() <= MOST_FILES, "{name} is named in {} files:\n{printed}", named.len());
        assert!(named.iter().all(|(_, lines)| *lines <= MOST_LINES), "{name} is named too often:\n{printed}");
    }
}

/// Maximum number of lines of a function.
const MOST_OF_A_FUNCTION: usize = 80;

/// True if the function that begins at the first line has a body: its signature ends with a brace, but a declaration ends with a semicolon.
fn has_body(lines: &[&str]) -> bool {
    let ends = lines.iter().map(|l| l.trim_end()).find(|l| l.ends_with('{') || l.ends_with(';') || l.ends_with('}'));
    ends.is_some_and(|l| !l.ends_with(';'))
}

#[test]
fn functions_are_short_enough_to_read() {
    let mut long = Vec::new();
    for (path, text) in sources("src").into_iter().chain(sources("tests")) {
        let lines: Vec<&str> = text.lines().collect();
        for (i, line) in lines.iter().enumerate() {
            let words: Vec<&str> = line.split_whitespace().take_while(|w| !w.contains('(')).collect();
            let begins = line.trim_start();
            let is_function = words.contains(&"fn") && line.contains('(') && !begins.starts_with("//");
            let is_field = begins.split("fn").next().is_some_and(|before| before.contains(':'));
            if !is_function || is_field || !has_body(&lines[i..]) {
                continue;
            }
            let indent = line.len() - begins.len();
            let close = format!("{:indent$}}}", "");
            let end = lines[i..].iter().position(|l| *l == close);
            if let Some(n) = end.map(|n| n + 1).filter(|n| *n > MOST_OF_A_FUNCTION) {
                long.push(format!("{}:{}: {n} lines", path.display(), i + 1));
            }
        }
    }
    assert!(long.is_empty(), "functions above {MOST_OF_A_FUNCTION} lines:\n{}", long.join("\n"));
}

/// The golden tests have their own harness, which never runs a `#[test]`. (Clippy reports unlisted tests as dead code.)
#[test]
fn golden_tests_are_listed_in_their_harness() {
    for (path, text) in sources("tests/golden") {
        assert!(!text.contains("#[test]"), "{}: put the function into the file's `tests!`", path.display());
    }
}

/// Parses `1.89` into numbers for comparison; `1.89.0` is the same version.
fn version(text: &str) -> [u64; 3] {
    let mut parts = text.split('.').map(|part| part.parse().unwrap_or(0));
    [(); 3].map(|()| parts.next().unwrap_or(0))
}

fn cargo(arguments: &[&str]) -> String {
    let mut cargo = std::process::Command::new(env!("CARGO"));
    let output = cargo.args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).output().expect("cargo");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("utf-8")
}

/// Clippy checks our own code (`incompatible_msrv`), so only dependencies are checked here.
#[test]
fn dependencies_support_the_stated_compiler() {
    let about = cargo(&["-vV"]);
    let host = about.lines().find_map(|l| l.strip_prefix("host: ")).expect("a host");
    // Dependencies for other systems may not have been fetched.
    let metadata = cargo(&["metadata", "--format-version", "1", "--locked", "--offline", "--filter-platform", host]);
    let metadata: serde_json::Value = serde_json::from_str(&metadata).expect("JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    let promised = version(env!("CARGO_PKG_RUST_VERSION"));
    let newer = |p: &&serde_json::Value| p["rust_version"].as_str().is_some_and(|v| version(v) > promised);
    let printed: Vec<&serde_json::Value> = packages.iter().filter(newer).map(|p| &p["name"]).collect();
    assert!(packages.len() > 100 && printed.is_empty(), "{printed:?}");
}

/// Maximum number of third-party crates in the program, excluding those for tests, for building and only for Unix.
const MOST_DEPENDENCIES: usize = 40;

/// True if code names a crate: in a path, as a macro, or in a separate `use`.
fn names_crate(text: &str, name: &str) -> bool {
    let line_names = |line: &str| {
        line.match_indices(name).any(|(at, _)| {
            let (before, after) = (&line[..at], &line[at + name.len()..]);
            let begins = !before.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':');
            let ends = after.starts_with("::") || after.starts_with('!');
            begins && (ends || before.ends_with("use ") && (after.starts_with(';') || after.starts_with(" as ")))
        })
    };
    text.lines().filter(|line| !line.trim_start().starts_with("//")).any(line_names)
}

/// The code of the package in a folder.
fn code_of(folder: &std::path::Path) -> String {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let within = folder.strip_prefix(root).expect("a package of the workspace");
    let files = match within.as_os_str().is_empty() {
        true => sources("tests")
            .into_iter()
            .chain(sources("src").into_iter().filter(|(path, _)| path.parent() == Some(&root.join("src"))))
            .collect(),
        false => sources(within.to_str().expect("utf-8")),
    };
    // Build scripts share this file.
    let shared = std::fs::read_to_string(root.join("src/packing.rs")).expect("packing.rs");
    files.into_iter().map(|(_, text)| text).chain([shared]).collect::<Vec<_>>().join("\n")
}

#[test]
fn dependencies_are_used_and_few() {
    let metadata = cargo(&["metadata", "--format-version", "1", "--no-deps", "--locked", "--offline"]);
    let metadata: serde_json::Value = serde_json::from_str(&metadata).expect("JSON");
    let (mut external, mut idle) = (std::collections::BTreeSet::new(), Vec::new());
    for package in metadata["packages"].as_array().expect("packages") {
        let manifest = std::path::Path::new(package["manifest_path"].as_str().expect("a path"));
        let code = code_of(manifest.parent().expect("a folder"));
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            let text = |key: &str| dependency[key].as_str();
            let name = text("rename").or(text("name")).expect("a name");
            if text("kind").is_none() && text("source").is_some() && text("target").is_none() {
                external.insert(name.to_owned());
            }
            // A dev-dependency on a workspace crate is also allowed if it only enables that crate's sample data.
            let for_samples = text("kind") == Some("dev")
                && text("source").is_none()
                && dependency["features"] == serde_json::json!(["samples"]);
            if !for_samples && !names_crate(&code, &name.replace('-', "_")) {
                idle.push(format!("{} names {name}", package["name"]));
            }
        }
    }
    assert!(idle.is_empty(), "unused dependencies: {idle:?}");
    let most = 1..=MOST_DEPENDENCIES;
    assert!(most.contains(&external.len()), "{} dependencies: {external:?}", external.len());
}

/// Maximum bytes of the project's fixtures, which are in every clone.
const MOST_FIXTURES: u64 = 3_010_000;

#[test]
fn fixtures_stay_small() {
    let mut folders = vec![std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/fixtures")];
    let mut sum = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let about = entry.metadata().unwrap();
            if about.is_dir() { folders.push(entry.path()) } else { sum += about.len() }
        }
    }
    assert!((1..=MOST_FIXTURES).contains(&sum), "{sum} bytes; at most {MOST_FIXTURES}");
}

#[test]
fn files_have_a_description_and_stay_short() {
    for (path, text) in sources("src").into_iter().chain(sources("tests")) {
        assert!(text.starts_with("//!"), "{} does not begin with a description of its purpose", path.display());
        let lines = text.lines().count();
        assert!(lines <= 500, "{} has {lines} lines", path.display());
    }
}

/// Regression: for a misspelled layer, the error used to be "data did not match any variant of untagged enum LayerRef".
#[test]
fn messages_name_the_accepted_forms() {
    for (path, text) in sources("src") {
        let derives = |item: &&str| item.split(')').next().is_some_and(|list| list.contains("Deserialize"));
        for item in text.split("#[derive(").skip(1).filter(derives) {
            let head = item.split("\n}").next().unwrap_or_default();
            let one_of = head.contains("enum ") && head.contains("untagged");
            let (begin, _) = head.split_once("enum ").unwrap_or((head, ""));
            assert!(!one_of || begin.contains("expecting = "), "{}: {head}", path.display());
        }
    }
}

/// Files in `src` that may open files themselves: the reader, code that locks folders or writes, and build scripts.
const OPENERS: [&str; 6] =
    ["base/read.rs", "gallery/series.rs", "gallery/work.rs", "build.rs", "packing.rs", "pretraining/further.rs"];

/// Regression: `run /dev/zero` used to read without end, and a pipe instead of a file made the program wait forever.
#[test]
fn named_files_are_read_by_the_bounded_reader() {
    let raw = ["fs::read(", "fs::read_to_string(", "File::open(", "read_to_string(path", "Mmap::map(&File"];
    let mut found = Vec::new();
    for (path, text) in sources("src") {
        let shown = path.display().to_string();
        if OPENERS.iter().any(|o| shown.ends_with(o)) || shown.contains("test") || shown.ends_with("server.rs") {
            continue;
        }
        let hits = code(&text).filter(|l| raw.iter().any(|r| l.contains(r)) && !l.contains("base::read::"));
        found.extend(hits.map(|l| format!("{shown}: {l}")));
    }
    assert!(found.is_empty(), "use base::read instead:\n{}", found.join("\n"));
}
