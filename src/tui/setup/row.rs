//! Rows of the settings: settings in the spec, or values that only the view has.

use super::FAR;
use crate::stops::{share_of, step_along};
use base::text::printable;
use labs::setting::{Kind, Known, Setting, Value};

#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Key, unique in the pane.
    pub key: String,
    pub label: String,
    pub help: String,
    pub kind: Kind,
    pub value: Value,
    pub text: String,
    /// Text after each checkbox.
    pub notes: Vec<String>,
    pub changed: bool,
    /// True if the row affects only the view, so that it can also be changed in a replay.
    pub view: bool,
    /// Value in the shipped experiment; empty for rows of the view.
    pub default: String,
    /// Warning about the value; empty if there is none.
    pub warning: String,
}

impl Row {
    /// Builds the row of a setting, compared with the spec that was run.
    pub fn of<S>(setting: &Setting<S>, spec: &S, ran: Option<&S>, known: &Known) -> Self {
        let value = setting.get(spec, known);
        let kind = setting.kind(spec, known);
        let changed = ran.is_some_and(|ran| match (&kind, &value) {
            // Choices depend on the spec, so names are compared rather than indices.
            (Kind::Marks(_), value) => kind.show(value) != setting.kind(ran, known).show(&setting.get(ran, known)),
            _ => setting.get(ran, known) != value,
        });
        Self {
            key: setting.key.clone(),
            label: setting.label.clone(),
            // Markdown's code marks are only for the pages of the guide.
            help: setting.help.replace('`', ""),
            text: printable(&setting.text(spec, known)).into_owned(),
            kind,
            value,
            notes: Vec::new(),
            changed,
            view: false,
            default: String::new(),
            warning: String::new(),
        }
    }

    /// Adds the value in the shipped spec.
    pub(crate) fn with_default<S>(mut self, setting: &Setting<S>, shipped: &S, known: &Known) -> Self {
        self.default = printable(&setting.text(shipped, known)).into_owned();
        self
    }

    /// Builds a row of the view, which is not in the spec.
    pub(crate) fn of_view(key: &str, label: &str, help: &str, kind: Kind, value: Value) -> Self {
        let text = printable(&kind.show(&value)).into_owned();
        let (key, label, help) = (key.to_owned(), printable(label).into_owned(), help.to_owned());
        let (notes, changed, view) = (Vec::new(), false, true);
        let (default, warning) = (String::new(), String::new());
        Self { key, label, help, kind, value, text, notes, changed, view, default, warning }
    }

    /// The value a number of steps away; `None` if the row has no steps.
    pub fn stepped(&self, by: i64) -> Option<Value> {
        match (&self.kind, &self.value) {
            (Kind::Choice(names), _) if names.is_empty() => None,
            (Kind::Choice(_), Value::Choice(None)) => Some(Value::Choice(Some(0))),
            (Kind::Choice(names), Value::Choice(Some(at))) => {
                let next = (*at as i64 + by.signum()).rem_euclid(names.len() as i64);
                Some(Value::Choice(Some(next as usize)))
            }
            // Jumps to the end are ignored: an integer range may have no useful end.
            (Kind::Integer(range), Value::Number(x)) if by.abs() <= FAR => {
                Some(Value::Number((x + by as f64).clamp(range.min, range.max)))
            }
            (Kind::Slider { stops, .. }, Value::Unset) => {
                let at = usize::try_from(by - 1).ok()?;
                stops.get(at.min(stops.len().checked_sub(1)?)).copied().map(Value::Number)
            }
            (Kind::Slider { stops, unset, .. }, Value::Number(x)) => {
                let below = stops.partition_point(|s| s < x) as i64;
                if unset.is_some() && by < 0 && below.saturating_add(by) < 0 {
                    return Some(Value::Unset);
                }
                Some(Value::Number(step_along(stops, *x, by)))
            }
            _ => None,
        }
    }

    pub fn share(&self) -> f64 {
        match (&self.kind, &self.value) {
            (Kind::Slider { stops, unset, .. }, Value::Number(x)) => {
                let before = f64::from(u8::from(unset.is_some()));
                let steps = stops.len().saturating_sub(1) as f64;
                let all = before + steps;
                if all > 0.0 { (before + share_of(stops, *x) * steps) / all } else { 0.0 }
            }
            _ => 0.0,
        }
    }

    /// The stop nearest to a position on the track; `None` if the row is not a slider.
    pub(crate) fn at_share(&self, share: f64) -> Option<Value> {
        let Kind::Slider { stops, unset, .. } = &self.kind else { return None };
        let before = usize::from(unset.is_some());
        let last = (before + stops.len()).checked_sub(1)?;
        let at = (share.clamp(0.0, 1.0) * last as f64).round() as usize;
        if at < before { Some(Value::Unset) } else { stops.get(at - before).copied().map(Value::Number) }
    }

    /// Names of the choices; empty for a row without any.
    pub(super) fn choices(&self) -> &[String] {
        if let Kind::Marks(names) | Kind::Choice(names) = &self.kind { names } else { &[] }
    }

    pub(super) fn lines(&self) -> usize {
        if let Kind::Marks(names) = &self.kind { names.len() } else { 1 }
    }
}
