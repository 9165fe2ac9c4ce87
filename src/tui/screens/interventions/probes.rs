//! The audit of oracles and probes: accuracy against the majority share, balance, calibration, remaining correlation.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::measured::results;
use super::{ID, PROBES, view};
use crate::layout::inside;
use crate::panes::table::scroll_mark;
use crate::panes::{nothing_yet, pane_block};
use crate::state::State;
use crate::theme::Role;
use base::numbers::{percent, score, short};
use base::text::{fit, pad, printable, wrapped};
use labs::Tagged;
use labs::interval::beside;
use labs::interventions::answer::oracle_name;
use labs::interventions::finding::{ProbeFinding, ProbeRole};
use labs::interventions::leak::Left;
use stats::Estimate;

/// Minimum width at which a probe takes one line.
const WIDE: u16 = 99;

pub(crate) fn draw(frame: &mut Frame, area: Rect, state: &State) {
    let probes = &results(state).probes;
    let inner = inside(area);
    if probes.is_empty() {
        frame.render_widget(pane_block(state, PROBES, "Probes"), area);
        return nothing_yet(frame, inner, state, "probes");
    }
    let mut lines = Vec::new();
    lines.push(header(state, inner.width));
    let first = state.place(ID).scrolled(PROBES).min(probes.len() - 1);
    let mut complete = 0;
    for probe in &probes[first..] {
        if inner.width >= WIDE {
            lines.push(wide(state, probe));
        } else {
            lines.extend(narrow(state, probe, inner.width.into()));
        }
        complete += usize::from(lines.len() <= usize::from(inner.height));
    }
    lines.extend(data(state, inner.width.into()));
    let title = match complete.max(1) == probes.len() {
        true => format!("Probes ({})", probes.len()),
        false => format!("Probes ({} to {} of {})", first + 1, first + complete.max(1), probes.len()),
    };
    frame.render_widget(pane_block(state, PROBES, &title), area);
    let shown =
        if lines.len() <= usize::from(inner.height) { complete } else { complete.min(probes.len() - first - 1) };
    frame.render_widget(Paragraph::new(lines), inner);
    // Lines below the last probe are not counted as rows, but the mark also shows that they exist.
    scroll_mark(frame, area, state, (first, shown, probes.len()));
}

fn name(p: &Tagged<ProbeFinding>) -> String {
    let role = match (p.value.role, p.value.oracle) {
        (ProbeRole::Oracle, Some(kind)) => oracle_name(kind).to_owned(),
        (ProbeRole::Oracle, None) => "oracle".into(),
        (ProbeRole::Interventional, _) => "attacked probe".into(),
    };
    format!("{role}: {}", printable(&p.value.property).replace('_', " "))
}

/// True if a probe is no better than chance, so that scores based on it mean nothing.
fn useless(p: &ProbeFinding) -> bool {
    p.accuracy.lo <= p.majority
}

fn header(state: &State, room: u16) -> Line<'static> {
    let style = state.theme().style(Role::Dim);
    if room < WIDE {
        return Line::styled(" accuracy %          majority  balanced  calibr. error", style);
    }
    let columns =
        [("probe", 32), ("classifier, learning rate", 26), ("accuracy", 22), ("majority", 10), ("balanced", 10)];
    let mut text: String = columns.iter().map(|(name, columns)| pad(name, *columns)).collect();
    text.push_str("calibration error  n");
    Line::styled(format!(" {text}"), style)
}

/// Describes a classifier in words: `1 layer of 64, rate 1e-4` for `1x64 lr 1e-4`. Other texts stay unchanged.
pub(crate) fn in_words(classifier: &str) -> String {
    let Some((shape, rate)) = classifier.split_once(" lr ") else { return classifier.to_owned() };
    let shape = match shape.split_once('x') {
        Some(("1", width)) => format!("1 layer of {width}"),
        Some((layers, width)) => format!("{layers} layers of {width}"),
        None => shape.to_owned(),
    };
    format!("{shape}, rate {rate}")
}

/// Formats an interval in percentage points: `[98.1, 99.0]`.
fn ends(e: &Estimate) -> String {
    beside(*e, None, |share| format!("{:.1}", 100.0 * share))
}

fn in_percent(e: &Estimate) -> String {
    format!("{:.1} % {}", 100.0 * e.mean, ends(e))
}

fn wide(state: &State, p: &Tagged<ProbeFinding>) -> Line<'static> {
    let v = &p.value;
    let text = [
        pad(&name(p), 32),
        pad(&printable(&in_words(&v.classifier)), 26),
        pad(&in_percent(&v.accuracy), 22),
        pad(&percent(v.majority), 10),
        pad(&percent(v.balanced_accuracy), 10),
        pad(&score(v.calibration_error), 19),
        p.n.to_string(),
        trainings(v).map_or(String::new(), |t| format!("  {t}")),
        if v.cached { "  cached".into() } else { String::new() },
    ];
    let role = if useless(v) { Role::Warning } else { Role::Text };
    let sign = if useless(v) { '!' } else { ' ' };
    Line::styled(format!("{sign}{}", text.concat()), state.theme().style(role))
}

fn narrow(state: &State, p: &Tagged<ProbeFinding>, room: usize) -> Vec<Line<'static>> {
    let theme = state.theme();
    let v = &p.value;
    let line = |text: String, role| Line::styled(fit(&text, room).into_owned(), theme.style(role));
    let points = |share: f64| format!("{:.1}", 100.0 * share);
    let accuracy = format!(" {} {}", points(v.accuracy.mean), ends(&v.accuracy));
    let rest = [pad(&points(v.majority), 10), pad(&points(v.balanced_accuracy), 10), score(v.calibration_error)];
    let mut lines = vec![
        line(format!(" {}", name(p)), Role::Text),
        Line::from(vec![
            Span::styled(pad(&accuracy, 21), theme.style(Role::Value)),
            Span::styled(rest.concat(), theme.style(Role::Dim)),
        ]),
    ];
    if let Some(text) = trainings(v) {
        lines.push(line(format!(" {text}"), Role::Dim));
    }
    if useless(v) {
        lines.push(line(" ! no better than the majority".into(), Role::Warning));
    }
    lines
}

/// Results of single training runs, and the number of settings that tie with the chosen one.
fn trainings(p: &ProbeFinding) -> Option<String> {
    let c = p.choice.as_ref()?;
    let [lo, hi] = c.accuracy_range.map(|a| format!("{:.1}", 100.0 * a));
    let trained = match c.replicates {
        1 => format!("1 training run: {lo} %"),
        many => format!("{many} training runs: {lo}-{hi} %"),
    };
    let settings = if c.rivals.len() == 1 { "setting" } else { "settings" };
    Some(format!("{trained}; {} other {settings} equally good", c.rivals.len()))
}

/// The grid, and the correlation that remains in the data.
fn data(state: &State, room: usize) -> Vec<Line<'static>> {
    let dim = state.theme().style(Role::Dim);
    let line = |text: String| Line::styled(fit(&text, room).into_owned(), dim);
    let mut lines = Vec::new();
    if room >= WIDE.into() && results(state).probes.iter().any(|p| useless(&p.value)) {
        let text = "! no better than the majority: the interval of its accuracy includes the majority share";
        lines.push(Line::styled(text, state.theme().style(Role::Warning)));
    }
    if let Some(p) = results(state).probes.last() {
        let grid = wrapped(&format!("grid {}", p.value.grid), room.saturating_sub(1));
        lines.extend(grid.iter().map(|text| line(format!(" {text}"))));
    }
    if let Some(d) = results(state).data.iter().find(|d| d.model == view(state).model) {
        let v = &d.value;
        lines.push(line(format!(" φ in oracle data {} → {}", score(v.phi.0), score(v.phi.1))));
        lines
            .push(line(format!(" n: oracle data {} → {} decorrelated, test {}", v.n_oracle.0, v.n_oracle.1, v.n_test)));
        if let Some(tokens) = &v.tokens {
            let [oracle, _, test] = tokens.texts;
            lines.push(line(format!(
                " tokens of {oracle} oracle texts and {test} test texts, at most {} each",
                tokens.per_text
            )));
        }
    }
    for leak in results(state).leaks.iter().filter(|l| l.model == view(state).model) {
        let v = &leak.value;
        let left = |l: &Left| l.share.map_or("n/a".into(), |s| percent(s.mean));
        let name = printable(&v.method_key().title()).into_owned();
        let text = format!(
            " recovered after {name}, {} {}: linear {}, MLP {}",
            printable(&v.parameter),
            short(v.value),
            left(&v.linear),
            left(&v.mlp)
        );
        lines.push(line(text));
    }
    for lens in results(state).lens.iter().filter(|l| l.model == view(state).model) {
        let v = &lens.value;
        lines.push(line(format!(
            " logit lens, layer {}, n {}: own head {}, linear oracle {}",
            v.layer,
            lens.n,
            in_percent(&v.head),
            in_percent(&v.oracle)
        )));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classifier_is_described_in_words() {
        assert_eq!(in_words("1x64 lr 1e-4"), "1 layer of 64, rate 1e-4");
        assert_eq!(in_words("2x256 lr 1e-2"), "2 layers of 256, rate 1e-2");
        assert_eq!(in_words("linear lr 1e-4"), "linear, rate 1e-4");
        assert_eq!(in_words("own"), "own");
    }
}
