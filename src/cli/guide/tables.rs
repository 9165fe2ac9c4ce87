//! Tables of the guide, generated from the declarations that the program itself uses.

use corpus::readers::FORMATS;
use corpus::sets::built_in;
use interventions::Goal;
use labs::setting::{Known, KnownModel};
use labs::{LABS, Lab, LabId};
use model::builtin::BUILTINS;
use model::families::{self, FAMILIES};
use tui::commands::{COMMANDS, Context};
use tui::keymap::Keymap;
use tui::screens::home;

/// Returns a table of the guide as Markdown; `None` for an unknown name.
pub fn table(name: &str) -> Option<String> {
    if let Some(lab) = name.strip_prefix("kinds-") {
        return LabId::named(lab).map(kinds);
    }
    if let Some(lab) = name.strip_prefix("settings-") {
        return LabId::named(lab).map(settings);
    }
    Some(match name {
        "keys" => keys(),
        "methods" => methods(),
        "saliency-methods" => saliency_methods(),
        "formats" => formats(),
        "sets" => sets(),
        "families" => families(),
        "builtin" => built_in_models(),
        "axes" => axes(),
        "presets" => presets(),
        "figures" => figures(),
        _ => return None,
    })
}

fn rows<const N: usize>(head: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let mut text = line(&head.map(str::to_owned));
    text.push_str(&line(&head.map(|_| "---".to_owned())));
    rows.into_iter().for_each(|row| text.push_str(&line(&row.map(|cell| cell.replace('|', "\\|")))));
    text
}

fn keys() -> String {
    let keymap = Keymap::default();
    let mut text = String::new();
    let mut contexts = Context::all(home::ID);
    contexts.sort_by_key(|c| !matches!(c, Context::Global | Context::Everywhere));
    for context in contexts {
        if COMMANDS.iter().all(|c| c.context != context) {
            continue;
        }
        let of_context = COMMANDS.iter().filter(|c| c.context == context).map(|c| {
            let keys: Vec<String> = keymap.keys(c.name).iter().map(|k| format!("`{k}`")).collect();
            [keys.join(" "), c.doc.to_owned(), format!("`{}`", c.name)]
        });
        let table = rows(["keys", "what it does", "name in a keymap"], of_context);
        text.push_str(&format!("\n## {}\n\n{table}", context.title()));
    }
    text.push('\n');
    text
}

fn methods() -> String {
    let goal = |goal| if goal == Goal::Counterfactual { "counterfactual" } else { "nullifying" };
    let of_method = interventions::registry().iter().map(|m| {
        let parameter = m.parameter;
        let kind = if m.is_control { "control" } else { goal(m.goal) };
        let swept = match parameter.grid {
            [] | [_] => "one point".to_owned(),
            [first, .., last] => format!("{} ({}), {first} to {last}", parameter.symbol, parameter.name),
        };
        [m.title.to_owned(), format!("`{}`", m.id), kind.to_owned(), swept, m.doc.to_owned()]
    });
    rows(["method", "name", "kind", "strength", "what it does"], of_method)
}

fn saliency_methods() -> String {
    let methods = saliency::methods::METHODS.iter();
    rows(
        ["method", "name", "meaning of a score"],
        methods.map(|m| [m.title().to_owned(), format!("`{}`", m.id()), m.about().to_owned()]),
    )
}

fn formats() -> String {
    rows(
        ["format", "name", "columns or keys read"],
        FORMATS.iter().map(|f| [f.title.to_owned(), format!("`{}`", f.id), f.columns.join(", ")]),
    )
}

fn sets() -> String {
    rows(["name", "contents"], built_in().map(|set| [format!("`{}`", set.id), set.title.to_owned()]))
}

fn families() -> String {
    let of_family = families::all().map(|family| {
        let types: Vec<String> = family.model_types.iter().map(|t| format!("`{t}`")).collect();
        let whole = FAMILIES.iter().any(|f| f.model_types == family.model_types);
        let labs = if whole { "all labs, if the model has a head" } else { "prompts (logits only)" };
        [types.join(", "), labs.to_owned()]
    });
    rows(["`model_type` in `config.json`", "labs"], of_family)
}

fn built_in_models() -> String {
    let of_model = BUILTINS.iter().map(|b| {
        let config: serde_json::Value = serde_json::from_slice(b.config).unwrap_or_default();
        let size = |keys: &[&str]| keys.iter().find_map(|k| config[k].as_u64()).unwrap_or(0);
        let blocks = size(&["num_hidden_layers", "n_layer", "encoder_layers"]);
        let decoder = config["decoder_layers"].as_u64().map_or(String::new(), |n| format!(" + {n}"));
        let width = size(&["hidden_size", "n_embd", "d_model"]);
        let family = config["model_type"].as_str().unwrap_or("").to_owned();
        [format!("`{}`", b.name), family, format!("{blocks}{decoder} blocks of width {width}")]
    });
    rows(["name", "family", "size"], of_model)
}

fn axes() -> String {
    rows(
        ["lab", "axes"],
        LABS.iter().map(|lab| {
            let names: Vec<String> = lab.axes().iter().map(|axis| format!("`{}`", axis.name)).collect();
            [lab.title().to_lowercase(), names.join(", ")]
        }),
    )
}

fn figures() -> String {
    let of_lab = |lab: &'static dyn Lab| {
        let entries = lab.figure_entries().iter();
        entries.map(move |e| [format!("`{}`", e.name), lab.id().to_string(), e.shows.to_owned()])
    };
    rows(["figure", "lab", "shows"], LABS.iter().flat_map(|lab| of_lab(*lab)))
}

fn presets() -> String {
    let of_lab = |lab: &&dyn Lab| lab.presets().iter().map(|p| [format!("`{}`", p.name), p.title.to_owned()]);
    rows(["name", "what it shows"], LABS.iter().flat_map(of_lab))
}

/// Lists a lab's settings with the values of its shipped experiment.
fn settings(lab: LabId) -> String {
    let models = BUILTINS.iter().map(|b| KnownModel { name: b.name.to_owned(), layers: 3 });
    let known = Known { models: models.collect(), ..Known::default() };
    let of_setting = labs::settings(lab, &known).into_iter();
    rows(
        ["key", "on screen", "default", "allowed", "meaning"],
        of_setting.map(|s| [format!("`{}`", s.key), s.label, s.value, s.allowed, s.help]),
    )
}

/// Describes a lab's kinds of finding, each with a heading, a sentence and its keys.
fn kinds(lab: LabId) -> String {
    let of_kind = labs::kinds(lab).iter().map(|kind| {
        let keys = (kind.columns)().into_iter().map(|c| [format!("`{}`", c.key), c.doc.to_owned()]);
        format!("\n### `{}`\n\n{}\n\n{}", kind.name, kind.doc, rows(["key", "meaning"], keys))
    });
    of_kind.collect::<String>() + "\n"
}
