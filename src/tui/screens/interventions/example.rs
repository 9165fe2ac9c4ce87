//! The example pane: probabilities of the oracle and the model's own predictions, before and after the edit.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Wrap};

use super::measured::{awaiting_point, example, marker, run_models, same};
use super::methods::is_run;
use super::{EXAMPLE, ask_point, own, view, view_mut};
use crate::action::Effect;
use crate::layout::inside;
use crate::panes::{nothing_yet, pane_block};
use crate::reduce::job;
use crate::state::{Glyphs, State};
use crate::theme::Role;
use base::numbers::{probability, short};
use base::text::{fit, last_part, pad, printable, width, wrapped};
use labs::interventions::Goal;
use labs::interventions::finding::{ExampleFinding, Shift};
use labs::interventions::registry::find;
use labs::{LabId, Tagged};

pub(crate) fn draw(frame: &mut Frame, area: Rect, state: &State) {
    let Some(example) = example(state) else {
        frame.render_widget(pane_block(state, EXAMPLE, "Example"), area);
        return nothing_yet(frame, inside(area), state, "example sentence");
    };
    let v = &example.value;
    let waiting = if awaiting_point(state) { " …" } else { "" };
    let room = usize::from(area.width.saturating_sub(6));
    let old = if waiting.is_empty() { outdated(state, example) } else { "" };
    let title = format!("Example {}/{}{old}{waiting}: {}", v.index + 1, v.of, edited_by(state, example));
    frame.render_widget(pane_block(state, EXAMPLE, &fit(&title, room)), area);
    let inner = inside(area);
    let note = if waiting.is_empty() { note(state, example) } else { None };
    let room = usize::from(inner.width);
    let rows = note.as_ref().map_or(0, |note| wrapped(note, room).len() as u16).min(inner.height);
    if let Some(note) = note {
        let note = Paragraph::new(note).style(state.theme().style(Role::Changed)).wrap(Wrap { trim: false });
        frame.render_widget(note, Rect { height: rows, ..inner });
    }
    let inner = Rect { y: inner.y + rows, height: inner.height - rows, ..inner };
    frame.render_widget(Paragraph::new(text(state, v, inner)).wrap(Wrap { trim: false }), inner);
}

/// Note on an example that differs from the current figure or settings: what it shows, and how to see the current one.
fn note(state: &State, example: &Tagged<ExampleFinding>) -> Option<String> {
    let run = state.keymap.short_label("run");
    let (shown, method) = (edited_by(state, example), &view(state).method);
    match outdated(state, example) {
        "" if is_recorded(state) && (&example.model, &example.value.method) != (&view(state).model, method) => {
            let drawn = super::setup::title(state, method, view(state).nth);
            Some(printable(&format!("No example of {drawn} is recorded.")).into_owned())
        }
        "" if is_recorded(state) && !same(example.value.value, marker(state)) => {
            let symbol = super::measured::method(state).map_or("strength", |m| m.parameter.symbol.as_str());
            let at = short(marker(state));
            Some(format!("The scores are shown at {symbol} {at}; this is the nearest recorded example."))
        }
        "" => None,
        _ if crate::setup::changed(state) => {
            Some(format!("This is {shown} in the previous run; {run} runs the current settings."))
        }
        _ if !is_run(state, method) => {
            let tick = format!("{} {}", state.keymap.short_label("menu"), state.keymap.short_label("methods"));
            Some(format!("This is still {shown}: the other method is not in this run; {tick} adds it, {run} runs it."))
        }
        _ if job::is_unloaded(state, LabId::Interventions) => {
            Some(format!("This is still {shown}: another run has replaced this run's models; {run} runs it again."))
        }
        _ => Some(format!("This is still {shown}.")),
    }
}

/// True if no engine can answer for other edits.
fn is_recorded(state: &State) -> bool {
    state.replay.is_some() || state.example_of(LabId::Interventions).is_some()
}

/// A note on an example that differs from the current figure or settings. The example stays visible after another run has replaced its
/// models in memory.
pub(super) fn outdated(state: &State, example: &Tagged<ExampleFinding>) -> &'static str {
    let (v, view) = (&example.value, view(state));
    let drawn = (&example.model, &v.method) == (&view.model, &view.method) && same(v.value, marker(state));
    match () {
        () if is_recorded(state) => "",
        () if crate::setup::changed(state) => " from the previous run",
        () if !drawn => " from a different edit",
        () => "",
    }
}

/// Describes the edit of the shown example, which stays until the answer for another method, strength or model arrives.
fn edited_by(state: &State, example: &Tagged<ExampleFinding>) -> String {
    let v = &example.value;
    let entry = view(state).catalog.method(&v.method);
    let method = entry.map_or(v.method.as_str(), |m| m.title.as_str());
    let symbol = entry.map_or(v.parameter.as_str(), |m| m.parameter.symbol.as_str());
    let model = if run_models(state).len() > 1 { format!(" · {}", last_part(&example.model)) } else { String::new() };
    printable(&format!("{method} at {symbol} = {}{model}", short(v.value))).into_owned()
}

#[derive(Clone, Copy, PartialEq)]
enum Form {
    /// The name is next to the first value, in this number of columns.
    Beside(usize),
    Above,
}

/// The aim of the edit, in words.
fn aim(v: &ExampleFinding, target: &str) -> Option<String> {
    let (_, shifts) = v.oracle.iter().find(|(property, _)| property == target)?;
    let name = target.replace('_', " ");
    let method = find(&v.method)?;
    let aim = match method.goal {
        _ if method.is_control => "none: it is a control".to_owned(),
        Goal::Nullifying => format!("remove {name} ({} each)", probability(1.0 / shifts.len() as f64)),
        // The number's two forms are in a fixed order, so the other form is known; other targets have no single alternative.
        Goal::Counterfactual => match shifts.get(1 - v.correct.min(1)) {
            Some(other) if target == "subject_number" && v.words.len() == 2 => {
                format!("set {name} to {}", other.label)
            }
            _ => format!("set another {name}"),
        },
    };
    Some(printable(&format!("Aim: {aim}.")).into_owned())
}

/// Shows the next or the previous example, cyclically once their number is known.
pub(super) fn step(state: &mut State, on: bool) -> Vec<Effect> {
    if state.example_shown().is_some() {
        state.view.toast = Some("the recorded example has one sentence".into());
        return Vec::new();
    }
    // No question can be asked: the visible sentence stays, and the message explains how to get another.
    if job::is_unloaded(state, LabId::Interventions) {
        return ask_point(state);
    }
    // Before the first answer the number of examples is unknown.
    let of = example(state).map_or(usize::MAX, |e| e.value.of.max(1));
    let at = view(state).example.min(of - 1);
    if !on && at == 0 && of == usize::MAX {
        state.view.toast = Some("this is the first example".into());
        return Vec::new();
    }
    view_mut(state).example = match (on, at) {
        (true, at) if at + 1 < of => at + 1,
        (true, _) => 0,
        (false, 0) => of - 1,
        (false, at) => at - 1,
    };
    ask_point(state)
}

fn text(state: &State, v: &ExampleFinding, area: Rect) -> Vec<Line<'static>> {
    let theme = state.theme();
    let run = state.shown_run(LabId::Interventions);
    let target = run.and_then(|run| own(&run.job.spec)).map_or("", |spec| spec.task.target.as_str());
    let is_absent = |property: &String| property != target && v.absent.contains(property);
    let rows = |(property, shifts): &(String, Vec<Shift>)| if is_absent(property) { 1 } else { shifts.len() };
    let values = v.oracle.iter().map(rows).sum::<usize>() + v.words.len();
    let aim = aim(v, target);
    let room = usize::from(area.width.max(1));
    let above = width(&v.text).div_ceil(room) + aim.as_ref().map_or(0, |aim| wrapped(aim, room).len());
    let spare = usize::from(area.height).saturating_sub(values + above);
    let form = match area.width {
        56.. => Form::Beside(25),
        _ if spare > v.oracle.len() => Form::Above,
        _ => Form::Beside(6),
    };
    let mut lines = vec![Line::styled(printable(&v.text).into_owned(), theme.style(Role::Value))];
    lines.extend(aim.map(|aim| Line::styled(aim, theme.style(Role::Text))));
    if spare > if form == Form::Above { v.oracle.len() + 2 } else { 1 } {
        lines.push(Line::default());
    }
    let registered = find(&v.method).filter(|method| !method.is_control);
    for (property, shifts) in &v.oracle {
        let name = property.replace('_', " ");
        // The oracle's output for a property that the sentence does not have is meaningless.
        if is_absent(property) {
            let text = format!("{}: none in this sentence", printable(&name));
            lines.push(Line::styled(text, theme.style(Role::Dim)));
            continue;
        }
        let sign = match registered.map(|method| method.goal) {
            _ if property != target => "keep",
            Some(Goal::Nullifying) => "remove",
            Some(Goal::Counterfactual) => "set",
            None => "edit",
        };
        // A removal that makes another value the most probable has not set that value.
        let is_flip = sign != "remove";
        lines.extend(group(state, form, &format!("{sign} {name}"), shifts, (None, is_flip)));
    }
    lines.extend(group(state, form, "model", &v.words, (Some(v.correct), true)));
    lines
}

/// Formats a name and one line per value: the probability before and after, and the direction of the change. `is_flip` is true if the
/// edit is meant to change the most probable value.
fn group(
    state: &State,
    form: Form,
    name: &str,
    shifts: &[Shift],
    (correct, is_flip): (Option<usize>, bool),
) -> Vec<Line<'static>> {
    let dim = state.theme().style(Role::Dim);
    let name = printable(name);
    let (mut lines, columns) = match form {
        Form::Above => (vec![Line::styled(name.to_string(), dim)], 2),
        Form::Beside(columns) => (Vec::new(), columns),
    };
    let first = |of: fn(&Shift) -> f64| {
        let best = shifts.iter().enumerate().max_by(|a, b| of(a.1).total_cmp(&of(b.1)));
        best.map(|(i, _)| i)
    };
    // Highlights a change of the most probable value, the purpose of an intervention.
    let (before, after) = (first(|s| s.before), first(|s| s.after));
    for (i, s) in shifts.iter().enumerate() {
        let label = if i == 0 && form != Form::Above { &name } else { "" };
        let mut spans = vec![Span::styled(pad(&fit(label, columns - 1), columns), dim)];
        spans.extend(value(state, s, correct == Some(i), is_flip && before != after && after == Some(i)));
        lines.push(Line::from(spans));
    }
    lines
}

fn value(state: &State, s: &Shift, correct: bool, flipped: bool) -> Vec<Span<'static>> {
    let theme = state.theme();
    let ascii = state.view.glyphs == Glyphs::Ascii;
    let arrow = if ascii { "->" } else { "→" };
    let way = match (s.after - s.before, ascii) {
        (d, _) if d.abs() < 0.005 || d.is_nan() => " ",
        (d, false) if d > 0.0 => "▲",
        (_, false) => "▼",
        (d, true) if d > 0.0 => "^",
        (_, true) => "v",
    };
    let note = match (correct, flipped) {
        (true, true) => " correct, now first",
        (true, false) => " correct",
        (false, true) => " now first",
        (false, false) => "",
    };
    let role = if flipped { Role::Changed } else { Role::Text };
    vec![
        Span::styled(pad(&printable(&s.label), 9), theme.style(Role::Text)),
        Span::styled(
            format!("{:>5} {arrow} {:>5} {way}", probability(s.before), probability(s.after)),
            theme.style(role),
        ),
        Span::styled(note, theme.style(Role::Dim)),
    ]
}
