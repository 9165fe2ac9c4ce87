//! Line numbers of fields in a grid's file, for errors in the cells derived from it.

use toml::de::{DeTable, DeValue};

/// The line (from 1) of the field with this dotted key or, if it does not exist, of its deepest existing parent.
pub(super) fn line_of(text: &str, key: &str) -> Option<usize> {
    let parsed = DeTable::parse(text).ok()?;
    let mut at = parsed.get_ref();
    let mut found = None;
    for part in key.split('.') {
        let Some((name, value)) = at.iter().find(|(name, _)| name.get_ref().as_ref() == part) else { break };
        found = Some(name.span().start);
        let inner = match value.get_ref() {
            DeValue::Table(inner) => Some(inner),
            DeValue::Array(list) => list.iter().find_map(|v| v.get_ref().as_table()),
            _ => None,
        };
        let Some(inner) = inner else { break };
        at = inner;
    }
    found.map(|start| 1 + text[..start.min(text.len())].matches('\n').count())
}

/// The dotted key at a byte offset of TOML in the program's own style: one field per line below its table's header.
pub(super) fn key_at(text: &str, place: usize) -> Option<String> {
    let start = text[..place.min(text.len())].rfind('\n').map_or(0, |n| n + 1);
    let name = |line: &str| line.split('=').next().map(|key| key.trim().trim_matches('"').to_owned());
    let head = |line: &str| line.trim().trim_matches(['[', ']']).to_owned();
    let line = text[start..].lines().next()?;
    if line.starts_with('[') {
        return Some(head(line));
    }
    let key = name(line)?;
    let table = text[..start].lines().rev().find(|l| l.starts_with('[')).map(head);
    Some(table.map_or(key.clone(), |table| format!("{table}.{key}")))
}
