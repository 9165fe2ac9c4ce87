//! Distinguishes lines of a newer program from damaged ones by the names in a line, not by an error message.

use serde_json::{Map, Value};

use labs::{LabId, finding};

const COMMANDS: [&str; 7] = ["list_models", "run", "ask", "withdraw", "cancel", "pause", "shutdown"];
const EVENTS: [&str; 10] = [
    "ready",
    "models",
    "started",
    "progress",
    "forecast",
    "finding",
    "finished",
    "answer_progress",
    "answer",
    "notice",
];
const TOPICS: [&str; 3] = ["experiment", "model", "data"];

/// True if the line contains a name unknown to this version.
pub(super) fn is_newer(line: &Map<String, Value>) -> bool {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    let unknown = |value: Option<&Value>, known: &[&str]| text(value).is_some_and(|t| !known.contains(&t.as_str()));
    let other_lab = |value: Option<&Value>| text(value).is_some_and(|lab| LabId::named(&lab).is_none());
    let about = ["question", "answer"].into_iter().filter_map(|key| line.get(key));
    let mut findings = line
        .get("finding")
        .into_iter()
        .chain(line.get("answer").and_then(|a| a.get("findings")).and_then(Value::as_array).into_iter().flatten());
    unknown(line.get("command"), &COMMANDS)
        || unknown(line.get("event"), &EVENTS)
        || other_lab(line.get("spec").and_then(|spec| spec.get("lab")))
        || about.clone().any(|a| unknown(a.get("about"), &TOPICS))
        || about.filter_map(|a| a.get("question")).any(|q| other_lab(q.get("lab")))
        || findings.any(finding::is_newer::<labs::Kinds>)
}
