//! The README tells the truth about what can be checked mechanically.

use probity::corpus::task::TASKS;
use probity::lab::interventions::registry;
use probity::model::builtin::BUILTINS;
use probity::tui::commands::commands_markdown;

const README: &str = include_str!("../README.md");

#[test]
fn it_lists_every_command_with_its_keys() {
    let table = commands_markdown();
    assert!(README.contains(table.trim()), "put this table under \"Keys\":\n{table}");
}

#[test]
fn it_has_exactly_two_commands_to_run() {
    let blocks: Vec<&str> = README.split("```sh\n").skip(1).filter_map(|b| b.split("```").next()).collect();
    assert_eq!(blocks, ["cargo run --release\ncargo test\n"]);
}

#[test]
fn it_names_every_method_task_and_built_in_model() {
    for method in registry().iter().filter(|m| !m.is_control()) {
        assert!(README.contains(method.title()), "{}", method.title());
    }
    for model in BUILTINS {
        assert!(README.contains(&format!("`{}`", model.name)), "{}", model.name);
    }
    for task in TASKS {
        assert!(README.contains(&format!("`{}`", task.id)), "{}", task.id);
    }
}

#[test]
fn it_has_a_screenshot_that_is_there() {
    let path = README.split("](").find_map(|s| s.split(')').next().filter(|p| p.ends_with(".png")));
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path.expect("a picture"));
    let bytes = std::fs::read(&path).expect("the picture");
    assert!(bytes.starts_with(b"\x89PNG") && bytes.len() > 10_000);
}
