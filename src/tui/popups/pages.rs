//! Pages: provenance, the whole answer, the glossary, messages, and all comparisons of the session.

use ratatui::text::{Line, Span};

use super::{Page, filter, hanging, occurs};
use crate::search::is_named;
use crate::state::State;
use crate::theme::Role;
use base::numbers::{probability, short};
use base::text::{fit, pad, printable, wrapped};
use engine::message::{Notice, NoticeLevel};
use labs::family::{ALPHA, Corrected, Corrections, Standing};
use labs::terms::Term;

const KEY: usize = 16;

pub(crate) struct Provenance;

impl Page for Provenance {
    fn name(&self) -> &'static str {
        "provenance"
    }

    fn title(&self, _: &State) -> String {
        "Where this comes from".into()
    }

    fn lines(&self, state: &State, room: usize) -> Vec<Line<'static>> {
        let theme = state.theme();
        let Some(origin) = state.screen().origin(state) else {
            let run = state.screen().setup().and_then(|setup| state.shown_run(setup.lab()));
            let text = match run.is_some_and(|run| run.held > 0) {
                true => "the entry under the cursor has no number yet",
                false => "nothing has been measured yet",
            };
            return vec![Line::styled(text, theme.style(Role::Dim))];
        };
        let mut lines =
            vec![Line::styled(printable(&origin.what).into_owned(), theme.style(Role::Title)), Line::default()];
        for (key, value) in &origin.entries {
            let broken = wrapped(&printable(value), room.saturating_sub(KEY).max(KEY));
            lines.extend(broken.into_iter().enumerate().map(|(k, part)| {
                let key = if k == 0 { printable(key) } else { "".into() };
                Line::from(vec![
                    Span::styled(pad(&key, KEY), theme.style(Role::Dim)),
                    Span::styled(part, theme.style(Role::Value)),
                ])
            }));
        }
        lines.push(Line::default());
        let copy = state.keymap.label("popup-copy");
        let again = format!("to reproduce it from the shell ({copy} copies):");
        lines.push(Line::styled(again, theme.style(Role::Dim)));
        let command = origin.command.lines();
        lines.extend(command.map(|l| Line::styled(printable(l).into_owned(), theme.style(Role::Text))));
        lines
    }

    fn copy(&self, state: &State) -> Option<String> {
        state.screen().origin(state).map(|origin| origin.command)
    }
}

/// The question of the shown run and the whole answer; a small screen shows only a part of it.
pub(crate) struct Answer;

impl Page for Answer {
    fn name(&self) -> &'static str {
        "answer"
    }

    fn title(&self, state: &State) -> String {
        let room = usize::from(state.view.size.0).saturating_sub(8);
        fit(&crate::answer::heading(state), room).into_owned()
    }

    fn lines(&self, state: &State, room: usize) -> Vec<Line<'static>> {
        let theme = state.theme();
        let answer = crate::answer::answer(state);
        let run = state.screen().setup().and_then(|setup| state.shown_run(setup.lab()));
        let asked = run.map(|run| (Role::Title, labs::by_id(run.job.spec.lab()).asks(&run.job.spec)));
        let says = answer.says.iter().map(|text| (Role::Text, text.clone()));
        let count = answer.doubts.len();
        let numbered = |(i, text): (usize, &String)| format!("Doubt {} of {count}: {text}.", i + 1);
        let doubts = answer.doubts.iter().enumerate().map(|doubt| (Role::Warning, numbered(doubt)));
        let evidence = answer.evidence.iter().map(|text| (Role::Text, text.clone()));
        let all = asked.into_iter().chain(says).chain(doubts).chain(evidence);
        all.flat_map(|(role, text)| {
            let lines = wrapped(&text, room).into_iter().map(move |line| Line::styled(line, theme.style(role)));
            lines.chain([Line::default()])
        })
        .collect()
    }

    fn copy(&self, state: &State) -> Option<String> {
        let answer = crate::answer::answer(state);
        Some(answer.lines().join("\n")).filter(|text| !text.is_empty())
    }
}

/// Terms of the current lab, then all others.
pub(crate) struct Glossary;

/// Width of a term with its symbol, in columns.
const TERM: usize = 30;

impl Page for Glossary {
    fn name(&self) -> &'static str {
        "glossary"
    }

    fn title(&self, state: &State) -> String {
        let lab = state.setup().map_or("", |setup| labs::by_id(setup.lab()).title());
        if lab.is_empty() { "Glossary".into() } else { format!("Glossary, {lab} first") }
    }

    fn lines(&self, state: &State, room: usize) -> Vec<Line<'static>> {
        let lab = state.setup().map(|setup| setup.lab());
        let mut all: Vec<&Term> = labs::glossary().iter().collect();
        all.retain(|term| occurs(state, &format!("{} {} {}", term.name, term.symbol, term.meaning)));
        // Terms whose name equals the filter come first.
        let named = |term: &Term| is_named(term, filter(state)) || occurs(state, term.name);
        all.sort_by_key(|term| (!named(term), !lab.is_some_and(|lab| term.labs.contains(&lab)), !term.labs.is_empty()));
        all.into_iter().flat_map(|term| explanation(state, term, room)).collect()
    }

    fn filters(&self) -> bool {
        true
    }
}

/// Formats a term with its symbol, and its meaning beside it.
pub(crate) fn explanation(state: &State, term: &Term, room: usize) -> Vec<Line<'static>> {
    let theme = state.theme();
    let symbol = if term.symbol.is_empty() { String::new() } else { format!(" ({})", term.symbol) };
    let heads = wrapped(&format!("{}{symbol}", term.name), TERM - 2);
    let broken = wrapped(term.meaning, room.saturating_sub(TERM).max(TERM));
    let line = |i: usize| {
        let [head, part] = [&heads, &broken].map(|lines| lines.get(i).map_or("", String::as_str));
        let head = Span::styled(pad(head, TERM), theme.style(Role::Title));
        Line::from(vec![head, Span::styled(part.to_owned(), theme.style(Role::Text))])
    };
    (0..heads.len().max(broken.len())).map(line).collect()
}

/// A message with its count and the numbers of its runs.
type Counted<'a> = (&'a Notice, usize, Vec<usize>);

/// Groups identical messages, newest first.
fn counted(state: &State) -> Vec<Counted<'_>> {
    let mut all: Vec<Counted<'_>> = Vec::new();
    for (run, notice) in state.notices_by_run().into_iter().rev() {
        match all.iter_mut().find(|(other, ..)| *other == notice) {
            Some((_, count, runs)) => {
                *count += 1;
                runs.extend(run.filter(|run| !runs.contains(run)));
            }
            None => all.push((notice, 1, run.into_iter().collect())),
        }
    }
    all
}

/// Formats the origin of a message if there are several runs, and its count: ` (runs 1 and 3, 4 times)`.
fn origin_of(state: &State, count: usize, runs: &[usize]) -> String {
    let mut numbers: Vec<String> = runs.iter().rev().map(ToString::to_string).collect();
    let last = numbers.pop().filter(|_| state.board.runs.len() > 1);
    let runs = match (last, numbers.is_empty()) {
        (None, _) => None,
        (Some(last), true) => Some(format!("run {last}")),
        (Some(last), false) => Some(format!("runs {} and {last}", numbers.join(", "))),
    };
    let parts: Vec<String> = runs.into_iter().chain((count > 1).then(|| format!("{count} times"))).collect();
    if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
}

pub(crate) struct Notices;

impl Page for Notices {
    fn name(&self) -> &'static str {
        "notices"
    }

    fn title(&self, _: &State) -> String {
        "Messages, newest first".into()
    }

    fn lines(&self, state: &State, room: usize) -> Vec<Line<'static>> {
        let theme = state.theme();
        let notices = state.notices();
        if notices.is_empty() {
            return vec![Line::styled("nothing to report", theme.style(Role::Dim))];
        }
        let named = |(notice, ..): &Counted<'_>| occurs(state, &state.in_labels(&notice.problem.to_string()));
        let lines = counted(state).into_iter().filter(named).flat_map(|(notice, count, runs)| {
            let (sign, role) = match notice.level {
                NoticeLevel::Info => ("i", Role::Text),
                NoticeLevel::Warning => ("!", Role::Warning),
                NoticeLevel::Error => (state.view.glyphs.cross(), Role::Error),
            };
            let from = origin_of(state, count, &runs);
            let text = format!("{sign} {}{from}", printable(&state.in_labels(&notice.problem.to_string())));
            hanging(&text, room).into_iter().map(move |l| Line::styled(l, theme.style(role)))
        });
        lines.collect()
    }

    fn copy(&self, state: &State) -> Option<String> {
        let lines: Vec<String> = state.notices().iter().map(|n| state.in_labels(&n.problem.to_string())).collect();
        Some(lines.join("\n")).filter(|text| !text.is_empty())
    }

    fn filters(&self) -> bool {
        true
    }
}

/// All comparisons shown in the session, by family.
pub(crate) struct Family;

/// Widths of a comparison's text and of each of its numbers, in columns.
const WHAT: usize = 96;
const NUMBER: usize = 11;

impl Family {
    /// Formats the heading of a family: its question, its number of comparisons, and its significance level.
    fn heading(all: &Corrections<'_>, family: usize) -> String {
        let f = &all.families[family];
        if f.planned {
            return format!("planned, tested at α = {}", probability(ALPHA));
        }
        let count = if f.size == 1 { "1 comparison".into() } else { format!("{} comparisons", f.size) };
        let chosen = match f.level {
            Some(level) if all.exploratory > 1 => format!(
                "{} of {} families pass, so adjusted p up to {} counts as significant",
                all.selected,
                all.exploratory,
                probability(level)
            ),
            Some(level) => format!("adjusted p up to {} counts as significant", probability(level)),
            None => "it does not pass, so nothing in it counts as significant".into(),
        };
        format!("{}: {count}; Simes' test of the whole family gives p {}; {chosen}", f.question, probability(f.simes))
    }

    /// Formats the adjusted p-value, or why there is none.
    fn adjusted(row: &Corrected<'_>) -> String {
        match (row.standing, row.comparison.anytime) {
            (Standing::Interim, Some(p)) => format!("any n {}", probability(p)),
            (Standing::Interim, None) => "interim".into(),
            (Standing::CannotDecide, _) => "too few".into(),
            (Standing::Adjusted(p), _) => probability(p),
        }
    }
}

impl Page for Family {
    fn name(&self) -> &'static str {
        "family"
    }

    fn title(&self, state: &State) -> String {
        match state.board.family.len() {
            0 => "Comparisons".into(),
            n => format!("Comparisons of this session: {n}"),
        }
    }

    fn lines(&self, state: &State, room: usize) -> Vec<Line<'static>> {
        let theme = state.theme();
        let dim = |text: &str, room: usize| {
            hanging(text, room).into_iter().map(|l| Line::styled(l, theme.style(Role::Dim))).collect::<Vec<_>>()
        };
        if state.board.family.is_empty() {
            let text = "no comparison has been shown yet; this page lists every comparison that a lab shows";
            return dim(text, room);
        }
        let what = room.saturating_sub(3 * NUMBER).clamp(12, WHAT);
        let columns = ["p", "Holm", "n"].map(|c| format!("{c:>NUMBER$}")).concat();
        let header = format!("{}{columns}", pad("comparison", what));
        let mut lines = vec![Line::styled(header, theme.style(Role::Title))];
        let all = state.board.family.corrected();
        for family in 0..all.families.len() {
            let heading = Self::heading(&all, family);
            let listed = |row: &&Corrected<'_>| {
                row.family == family && (occurs(state, &heading) || occurs(state, &row.comparison.what))
            };
            let mut rows = all.rows.iter().filter(listed).peekable();
            if rows.peek().is_some() {
                lines.extend(dim(&printable(&heading), room));
            }
            for row in rows {
                let c = row.comparison;
                let from = row.from.map_or(String::new(), |from| format!(" (at strengths from {} up)", short(from)));
                let shown = format!(" {}{from}", printable(&c.what));
                let shown = pad(&fit(&shown, what - 1), what);
                let numbers = [probability(c.p), Self::adjusted(row), c.n.to_string()];
                let numbers = numbers.map(|text| format!("{text:>NUMBER$}")).concat();
                let role = if all.is_found(row) { Role::Text } else { Role::Dim };
                lines.push(Line::styled(format!("{shown}{numbers}"), theme.style(role)));
            }
        }
        let about = "Holm adjusts p for the comparisons of one family (one question of one run); families are selected by Simes' test first (Benjamini and Bogomolov 2014). With \"too few\" items, p cannot reach 5 %; with \"interim\", more items are to come; an \"any n\" p-value is valid at any number of items; a planned comparison is tested alone.";
        lines.push(Line::default());
        lines.extend(dim(about, room.min(what + 3 * NUMBER)));
        lines
    }

    fn filters(&self) -> bool {
        true
    }

    fn copy(&self, state: &State) -> Option<String> {
        if state.board.family.is_empty() {
            return None;
        }
        let mut text = String::from(
            "lab\tspec\tfamily\tcomparison\ttest\tn\tp\tholm\tlevel\tfound\tinterim\tanytime_p\tplanned\n",
        );
        let all = state.board.family.corrected();
        let number = |x: Option<f64>| x.map_or(String::new(), |x| x.to_string());
        for row in &all.rows {
            let (x, family) = (row.comparison, &all.families[row.family]);
            let (holm, level) = (number(row.adjusted()), number(family.level));
            text.push_str(&format!("{}\t{}\t{}\t{}\t{}\t", x.lab, x.spec, x.question, x.what, x.test));
            text.push_str(&format!("{}\t{}\t{holm}\t{level}\t{}\t", x.n, x.p, all.is_found(row)));
            text.push_str(&format!("{}\t{}\t{}\n", x.interim, number(x.anytime), x.planned));
        }
        Some(text)
    }
}
