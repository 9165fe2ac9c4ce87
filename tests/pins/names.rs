//! Names that users write: in keymaps, on the command line, in specs, and in scripts that read the output.

use clap::CommandFactory;
use probity::corpus::sets::built_in;
use probity::lab::{Details, LABS, Lab, LabId, Results};
use probity::lab::{interventions, saliency};
use probity::tui::commands::COMMANDS;

use super::list::List;

/// The names of a lab's figures, taken from the error for an unknown name.
pub(crate) fn figures_of(lab: &dyn Lab) -> Vec<String> {
    refused(lab, "?", Details::default())
}

fn refused(lab: &dyn Lab, name: &str, details: Details<'_>) -> Vec<String> {
    let results = Results::new(lab.id());
    match lab.figure(name, &details, &results, None) {
        Ok(figure) => panic!("{} draws {}", lab.id(), figure.name),
        Err(said) => match said.split_once("Known: ") {
            Some((_, known)) => known.split(", ").map(str::to_owned).collect(),
            None => Vec::new(),
        },
    }
}

/// Every figure in a lab's table must be known to the lab; otherwise it would be offered and then refused.
#[test]
fn listed_figures_are_known_to_their_lab() {
    for lab in LABS {
        for entry in lab.figure_entries() {
            let drawn = lab.figure(entry.name, &Details::default(), &Results::new(lab.id()), None);
            assert!(drawn.is_ok() || drawn.is_err_and(|said| !said.contains("Known: ")), "{}", entry.name);
            assert!(entry.shows.ends_with('.'), "{}: a sentence", entry.name);
        }
    }
}

fn kinds(lab: LabId) -> Vec<&'static str> {
    probity::lab::kinds(lab).iter().map(|k| k.name).collect()
}

fn labs(list: &mut List) {
    for lab in LABS {
        let id = lab.id();
        list.add(format!("kinds of {id}"), kinds(id).join(" "));
        list.add(format!("figures of {id}"), figures_of(*lab).join(" "));
        list.add(format!("axes of {id}"), lab.axes().iter().map(|a| a.name).collect::<Vec<_>>().join(" "));
        list.add(format!("presets of {id}"), lab.presets().iter().map(|p| p.name).collect::<Vec<_>>().join(" "));
    }
    let methods: Vec<&str> = interventions::registry().iter().map(|m| m.id).collect();
    list.add("methods of interventions", methods.join(" "));
    list.add("methods of saliency", saliency::methods::NAMES.join(" "));
    list.add("built-in data", built_in().map(|set| set.id).collect::<Vec<_>>().join(" "));
    list.add("built-in models", probity::model::builtin::BUILTINS.iter().map(|m| m.name).collect::<Vec<_>>().join(" "));
}

/// Names, flags and defaults of a subcommand and of its own subcommands.
fn tree(list: &mut List, path: &str, command: &clap::Command) {
    let aliases: Vec<&str> = command.get_all_aliases().collect();
    list.add(format!("cli {path}"), format!("aliases [{}]", aliases.join(" ")));
    for argument in command.get_arguments() {
        let long = argument.get_long().map_or(String::new(), |l| format!("--{l}"));
        let short = argument.get_short().map_or(String::new(), |s| format!(" -{s}"));
        let name = if long.is_empty() { format!("<{}>", argument.get_id()) } else { format!("{long}{short}") };
        let values: Vec<String> = argument.get_possible_values().iter().map(|v| v.get_name().to_owned()).collect();
        let default: Vec<String> =
            argument.get_default_values().iter().map(|v| v.to_string_lossy().into_owned()).collect();
        let takes = if argument.get_action().takes_values() { "a value" } else { "no value" };
        let required = if argument.is_required_set() { ", required" } else { "" };
        let hidden = if argument.is_hide_set() { ", hidden" } else { "" };
        list.add(
            format!("cli {path} {name}"),
            format!("{takes}{required}{hidden}, default [{}], one of [{}]", default.join(" "), values.join(" ")),
        );
    }
    for below in command.get_subcommands() {
        tree(list, &format!("{path} {}", below.get_name()), below);
    }
}

/// The list is for Unix, where the program has a few additional subcommands.
#[cfg(unix)]
#[test]
fn names_that_users_write_exist() {
    let mut list = List::default();
    for entry in COMMANDS.iter() {
        list.add(format!("command {}", entry.name), entry.keys.join(" "));
    }
    labs(&mut list);
    tree(&mut list, "probity", &probity::cli::Cli::command());
    list.check("names.txt");
}
