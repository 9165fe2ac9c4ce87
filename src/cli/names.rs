//! Checks of names and values in a spec against what this program has, with suggestions, before anything runs.

use super::error::CliError;
use super::suggest;
use crate::corpus::readers::Reading;
use crate::corpus::task::TASKS;
use crate::engine::spec::{MethodSpec, Spec};
use crate::lab::interventions::{Options, find, registry};
use crate::model::builtin::BUILTINS;
use crate::model::{Device, Dtype, ModelError, ModelSource};

/// Checks models, task, target and methods of a spec; `origin` names it in errors. Nothing is loaded.
///
/// # Errors
/// [`CliError::Usage`] with place, key and suggestion.
pub fn check(spec: &Spec, origin: &str) -> Result<(), CliError> {
    let bad = |key: &str, what: String| Err(CliError::Usage(format!("{origin}: `{key}`: {what}")));
    for name in &spec.models {
        if let Err(what) = model(name) {
            return bad("models", what);
        }
    }
    let tasks: Vec<&str> = TASKS.iter().map(|t| t.id).collect();
    let Some(task) = TASKS.iter().find(|t| t.id == spec.task.name) else {
        return bad("task.name", suggest::unknown("task", &spec.task.name, &tasks));
    };
    let properties: Vec<&str> = task.properties.iter().map(|p| p.id).collect();
    if !properties.contains(&spec.task.target.as_str()) {
        return bad("task.target", suggest::unknown("property of this task", &spec.task.target, &properties));
    }
    if let Some(file) = spec.task.data_path() {
        if file.is_dir() {
            return bad("task.data", format!("{}: it is a folder; name one of its files", file.display()));
        }
        if let Err(e) = Reading::open(&file) {
            return bad("task.data", e.to_string());
        }
    }
    spec.methods.iter().try_for_each(|m| method(m).or_else(|(key, what)| bad(key, what)))
}

/// A folder must exist, and a word that is nearly a built-in name is taken for a slip rather than for a hub id.
fn model(name: &str) -> Result<(), String> {
    let builtin: Vec<&str> = BUILTINS.iter().map(|b| b.name).collect();
    match name.parse::<ModelSource>().map_err(|e| e.to_string())? {
        ModelSource::Dir(path) if !path.is_dir() => Err(format!("{}: no such folder", path.display())),
        ModelSource::Builtin(id) if !builtin.contains(&id.as_str()) => {
            Err(suggest::unknown("built-in model", &id, &builtin))
        }
        ModelSource::Hub { .. }
            if !name.contains(['/', ':']) && suggest::closest(name, &builtin).is_some() =>
        {
            Err(suggest::unknown("built-in model", name, &builtin))
        }
        _ => Ok(()),
    }
}

fn method(spec: &MethodSpec) -> Result<(), (&'static str, String)> {
    let known: Vec<&str> = registry().iter().map(|m| m.id()).collect();
    let method =
        find(&spec.name).ok_or_else(|| ("method.name", suggest::unknown("method", &spec.name, &known)))?;
    let parameter = method.parameter();
    if let Some(value) = spec.values.iter().find(|v| !parameter.allows(**v)) {
        let what = format!(
            "{value} is no {} of {}; allowed are {} to {}",
            parameter.name,
            method.id(),
            parameter.min,
            parameter.max
        );
        return Err(("method.values", what));
    }
    let settings: Vec<&str> = method.settings().iter().map(|s| s.name).collect();
    if let Some(name) = spec.options.keys().find(|name| !settings.contains(&name.as_str())) {
        let what = format!("option of {}", method.id());
        return Err(("method.options", suggest::unknown(&what, name, &settings)));
    }
    let given = spec.options.iter().map(|(name, value)| (name.as_str(), *value));
    Options::new(method, given).map(|_| ()).map_err(|e| ("method.options", e.to_string()))
}

/// Reads the name of a device.
///
/// # Errors
/// [`CliError::Usage`] with the names that there are.
pub fn device(name: &str) -> Result<Device, CliError> {
    name.parse().map_err(|e: ModelError| CliError::Usage(e.to_string()))
}

/// Reads the name of an element type.
///
/// # Errors
/// [`CliError::Usage`] with the names that there are.
pub fn dtype(name: &str) -> Result<Dtype, CliError> {
    name.parse().map_err(|e: ModelError| CliError::Usage(e.to_string()))
}

/// Device and element type as they were asked for, as a session's header says them.
#[must_use]
pub fn place(device: &str, dtype: &str) -> String {
    if dtype == "f32" { device.to_owned() } else { format!("{device} {dtype}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(change: impl FnOnce(&mut Spec)) -> String {
        let mut spec = Spec::agreement();
        // The folder that is always there.
        spec.models = vec![".".into()];
        change(&mut spec);
        check(&spec, "x.toml").map_or_else(|e| e.message().unwrap(), |()| String::new())
    }

    #[test]
    fn a_good_spec_passes_and_a_slip_gets_a_suggestion() {
        assert_eq!(message(|_| ()), "");
        for (text, key, near) in [
            (message(|s| s.methods[2].name = "pdg".into()), "method.name", "did you mean `pgd`?"),
            (message(|s| s.task.name = "agremeent".into()), "task.name", "did you mean `agreement`?"),
            (message(|s| s.task.target = "subject".into()), "task.target", "subject_number"),
            (message(|s| s.models = vec!["./nowhere".into()]), "models", "no such folder"),
            (message(|s| s.task.data = Some("no/such.tsv".into())), "task.data", "no/such.tsv: cannot open"),
            (message(|s| s.task.data = Some(".".into())), "task.data", "folder"),
            (message(|s| s.models = vec!["builtin:nothing".into()]), "models", "no built-in model"),
            (message(|s| s.methods[1].values = vec![-1.0]), "method.values", "epsilon"),
            (message(|s| s.methods[1].values = vec![f64::NAN]), "method.values", "NaN"),
            (
                message(|s| s.methods[2].options = [("stepz".to_owned(), 4.0)].into()),
                "method.options",
                "did you mean `steps`?",
            ),
            (
                message(|s| s.methods[2].options = [("steps".to_owned(), 0.5)].into()),
                "method.options",
                "whole",
            ),
        ] {
            assert!(text.starts_with("x.toml: ") && text.contains(key) && text.contains(near), "{text}");
        }
    }
}
