//! Checks that the advice in messages can be followed.

use std::path::PathBuf;

use super::common::{Probity, root, text};

fn options(text: &str) -> Vec<String> {
    let word = |c: char| c.is_ascii_lowercase() || c == '-';
    let starts = text.match_indices("--").map(|(k, _)| k);
    let starts = starts.filter(|k| !text[..*k].ends_with(|c: char| word(c) || c.is_alphanumeric()));
    let found = starts.map(|k| text[k..].chars().take_while(|c| word(*c)).collect::<String>());
    found.filter(|o| o.len() > 3).collect()
}

/// Regression: a hint used to name `--no-record`, which does not exist.
#[test]
fn hints_name_existing_options() {
    let probity = Probity::new();
    let mut known: Vec<String> = ["--features"].map(String::from).into();
    for command in [
        "tui",
        "run",
        "replay",
        "export",
        "data make",
        "data show",
        "data doctor",
        "data convert",
        "models show",
        "models check",
        "gallery train",
        "gallery mix",
        "gallery judge",
        "score",
        "submit",
    ] {
        let args: Vec<&str> = command.split(' ').chain(["--help"]).collect();
        let output = probity.run(&args);
        assert_eq!(output.status.code(), Some(0), "{command}");
        known.extend(options(&text(&output.stdout)));
    }
    let mut folders = vec![root().join("src")];
    let mut hints = 0;
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect::<Vec<PathBuf>>() {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let source = std::fs::read_to_string(&path).unwrap_or_default();
            for line in source.lines().filter(|l| l.contains("hint")) {
                for option in options(line) {
                    hints += 1;
                    assert!(known.contains(&option), "{}: {option} in {line}", path.display());
                }
            }
        }
    }
    assert!(hints > 0, "no hints were found");
}

/// Regression: `diff` used to call the values of every figure the same in both runs.
#[test]
fn diff_lists_differing_figure_values() {
    let probity = Probity::new();
    let [few, many] = ["interventions", "agreement"].map(|name| root().join(format!("sessions/{name}.probity.jsonl")));
    let [few, many] = [few.to_str().unwrap(), many.to_str().unwrap()];
    let of_figure = |printed: &str| {
        let rest = printed.split_once("Figure reliability-bert-mini-pgd-linear: ").unwrap().1.to_owned();
        rest.split("\nFigure ").next().unwrap_or_default().to_owned()
    };
    let differs = of_figure(&text(&probity.run(&["diff", few, many]).stdout));
    assert!(differs.contains("Numbers in both runs: ") && !differs.contains("the same values"), "{differs}");
    let same = of_figure(&text(&probity.run(&["diff", few, few]).stdout));
    assert!(same.contains("the same values in both runs"), "{same}");
}
