//! Checks README and guide: links, pictures, generated tables, and every command in them.

use std::path::{Path, PathBuf};
use std::process::Command;

use clap::CommandFactory as _;
use probity::cli::Cli;
use probity::cli::guide::table;
use probity::corpus::task::TASKS;
use probity::guide::{PAGES, fill};
use probity::lab::Spec;
use probity::lab::interventions::registry;
use probity::model::builtin::BUILTINS;

const README: &str = include_str!("../README.md");

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn documents() -> impl Iterator<Item = (&'static str, PathBuf, &'static str)> {
    let pages = PAGES.iter().map(|p| (p.name, root().join("assets/guide"), p.text));
    std::iter::once(("README", root().to_path_buf(), README)).chain(pages)
}

#[test]
fn readme_is_short_and_self_contained() {
    assert!(README.lines().count() <= 200, "{} lines", README.lines().count());
    assert!(README.split_whitespace().count() <= 1800, "{} words", README.split_whitespace().count());
    for page in PAGES {
        let link = format!("assets/guide/{}.md", page.name);
        assert!(README.contains(&link), "the README does not link to {link}");
    }
}

#[test]
fn links_and_pictures_exist() {
    for (name, folder, text) in documents() {
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let path = target.split('#').next().unwrap();
            if path.is_empty() || path.starts_with("http") {
                continue;
            }
            let path = folder.join(path);
            assert!(path.is_file(), "{name}: {target} does not exist");
            if path.extension().is_some_and(|e| e == "png") {
                let bytes = std::fs::read(&path).unwrap();
                assert!(bytes.starts_with(b"\x89PNG") && bytes.len() > 10_000, "{name}: {target}");
            }
        }
    }
}

#[test]
fn guide_tables_match_the_program() {
    for page in PAGES {
        let filled = fill(page.text, table).unwrap_or_else(|e| panic!("{}: {e}", page.name));
        assert!(filled == page.text, "{}: run `probity guide --write assets/guide`", page.name);
    }
}

#[test]
fn the_guide_names_every_method_task_and_built_in_model() {
    let all: String = PAGES.iter().map(|p| p.text).collect();
    for method in registry() {
        assert!(all.contains(&format!("`{}`", method.id)), "{}", method.id);
    }
    for name in BUILTINS.iter().map(|b| b.name).chain(TASKS.iter().map(|t| t.id)) {
        assert!(all.contains(&format!("`{name}`")), "{name}");
    }
}

#[test]
fn readme_spec_is_valid() {
    let toml = README.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    Spec::parse(toml, "README").and_then(|spec| spec.check("README")).unwrap();
}

/// An example in a document: the lines of a `sh` block, and the comment before it.
struct Example {
    place: String,
    comment: String,
    lines: Vec<String>,
}

fn examples() -> Vec<Example> {
    let mut all = Vec::new();
    for (name, _, text) in documents() {
        let (mut lines, mut comment) = (text.lines().enumerate(), String::new());
        while let Some((number, line)) = lines.next() {
            if line.starts_with("```sh") {
                let inside = lines.by_ref().map(|(_, l)| l).take_while(|l| *l != "```");
                let lines = joined(inside);
                all.push(Example { place: format!("{name}:{}", number + 1), comment: comment.clone(), lines });
            }
            if !line.is_empty() {
                comment = line.to_owned();
            }
        }
    }
    all
}

/// Joins each line that ends in a backslash with the lines that continue it.
fn joined<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut open = false;
    for line in lines {
        let (text, goes_on) = line.strip_suffix('\\').map_or((line, false), |text| (text, true));
        match all.last_mut().filter(|_| open) {
            Some(last) => last.push_str(text),
            None => all.push(text.to_owned()),
        }
        open = goes_on;
    }
    all
}

/// The words of a command up to a pipe, a redirection or a comment; quoted words stay together.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote, mut begun) = (Vec::new(), String::new(), None, false);
    for c in line.chars() {
        match (quote, c) {
            (Some(q), c) if q == c => quote = None,
            (Some(_), c) => word.push(c),
            (None, '\'' | '"') => (quote, begun) = (Some(c), true),
            (None, ' ') => {
                if begun || !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                begun = false;
            }
            (None, '|' | '>' | '<' | '#' | '&' | ';') if word.is_empty() => return words,
            (None, c) => word.push(c),
        }
    }
    if begun || !word.is_empty() {
        words.push(word);
    }
    words
}

#[test]
fn documented_commands_are_accepted() {
    let mut seen = 0;
    for example in examples() {
        for line in &example.lines {
            let words: Vec<String> = words(line).into_iter().skip_while(|w| w.contains('=')).collect();
            if words.first().is_none_or(|w| w != "probity") {
                continue;
            }
            seen += 1;
            match Cli::command().try_get_matches_from(&words) {
                Err(e) if e.use_stderr() => panic!("{}: {line}\n{e}", example.place),
                _ => {}
            }
        }
    }
    assert!(seen > 40, "only {seen} commands were found");
}

/// The commands started by Python code; each is a list of words in brackets.
fn commands_in_python(code: &str) -> Vec<Vec<String>> {
    let starts = code.match_indices("[\"probity\"").map(|(at, _)| &code[at..]);
    starts.map(|rest| serde_json::from_str(&rest[..=rest.find(']').unwrap()]).unwrap()).collect()
}

/// The golden tests run the page and the notebook if Python has the packages; this test needs no packages.
#[test]
fn commands_in_python_code_are_accepted() {
    let notebook = std::fs::read_to_string(root().join("src/dist/findings.ipynb")).unwrap();
    let notebook: serde_json::Value = serde_json::from_str(&notebook).unwrap();
    let cells = notebook["cells"].as_array().unwrap().iter();
    let lines = cells.flat_map(|cell| cell["source"].as_array().unwrap()).map(|line| line.as_str().unwrap());
    for code in [probity::guide::page("python").unwrap().text.to_owned(), lines.collect()] {
        let commands = commands_in_python(&code);
        assert!(!commands.is_empty(), "no command in {code}");
        for words in commands {
            assert!(Cli::command().try_get_matches_from(&words).is_ok(), "{words:?}");
        }
    }
}

#[test]
#[cfg(unix)]
fn quick_guide_examples_run_from_an_empty_folder() {
    let program = Path::new(env!("CARGO_BIN_EXE_probity"));
    let path = format!("{}:{}", program.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let guide = examples().into_iter().filter(|e| !e.place.starts_with("README"));
    let quick = guide.filter(|e| !e.comment.starts_with("<!-- slow") && !e.comment.starts_with("<!-- not run"));
    let mut ran = 0;
    for example in quick {
        let folder = tempfile::tempdir().unwrap();
        let mut shell = Command::new("sh");
        shell.args(["-e", "-c", &example.lines.join("\n")]).current_dir(&folder).env("PATH", &path);
        for (name, below) in [("HOME", "home"), ("PROBITY_STATE_DIR", "state"), ("PROBITY_CACHE_DIR", "cache")] {
            shell.env(name, folder.path().join(below));
        }
        let output = shell.env("PAGER", "cat").env("HF_HUB_OFFLINE", "1").output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {}\n{said}", example.place, example.lines.join("\n"));
        ran += 1;
    }
    assert!(ran >= 10, "only {ran} examples ran");
}
