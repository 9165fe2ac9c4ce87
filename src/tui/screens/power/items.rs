//! The list next to the charts: training sizes, pairs of systems, tasks of two folders, or changed items.

use std::rc::Rc;

use super::{ID, SIZES, results, sizes, view, view_mut};
use crate::action::Effect;
use crate::panes::table::{Row, Table};
use crate::state::State;
use base::text::shortened;
use figure::layers::grouped;
use labs::power::results::Pair;
use labs::power::summary::{p_value, points};
use labs::power::tasks::{FlipFinding, TaskFinding, TaskVerdict};

/// Width of an answer in the list, in columns; the verdict pane shows it in full.
const ANSWER: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum List {
    Sizes,
    Pairs,
    Tasks,
    Flips,
}

impl List {
    fn title(self) -> &'static str {
        match self {
            List::Sizes => "Sizes",
            List::Pairs => "Pairs of systems",
            List::Tasks => "Tasks",
            List::Flips => "Changed items",
        }
    }

    pub(crate) fn about(self) -> &'static str {
        match self {
            List::Sizes => "Number of training sentences of the probes, with the comparison on the test sentences.",
            List::Pairs => {
                "All pairs of systems, A minus B: mean over tasks, p Holm-adjusted over pairs; enter lists the tasks."
            }
            List::Tasks => "Tasks that both folders have, A minus B, p Holm-adjusted; enter lists the changed items.",
            List::Flips => "Items whose value changed, with both answers; the pane below shows them in full.",
        }
    }
}

/// Title of the list: its contents, and the pair of systems.
pub(crate) fn title(state: &State) -> String {
    let list = shown(state);
    let pair = match list {
        List::Tasks | List::Flips => of_pair(state).first().map(|t| &t.value),
        List::Sizes | List::Pairs => None,
    };
    let name = |name: &str| shortened(name, ANSWER);
    pair.map_or(list.title().into(), |t| format!("{}, {} − {}", list.title(), name(&t.a), name(&t.b)))
}

/// The opened pair, if the run has it.
fn opened(state: &State) -> Option<&str> {
    let pair = view(state).pair.as_deref()?;
    results(state).tasks.iter().any(|t| t.model == pair).then_some(pair)
}

pub(crate) fn shown(state: &State) -> List {
    let found = results(state);
    match &view(state).flips {
        Some(_) if !found.flips.is_empty() => List::Flips,
        _ if opened(state).is_none() && found.pairs().len() > 1 => List::Pairs,
        _ if !found.tasks.is_empty() => List::Tasks,
        _ => List::Sizes,
    }
}

pub(crate) fn table(state: &State) -> Rc<Table> {
    state.frame.once("list", || made(state))
}

fn made(state: &State) -> Table {
    match shown(state) {
        List::Sizes => sizes::table(state),
        List::Pairs => pairs(state),
        List::Tasks => tasks(state),
        List::Flips => flips(state),
    }
}

fn pairs(state: &State) -> Table {
    let row = |pair: &Pair<'_>| {
        let [a, b] = pair.tasks.first().map_or([""; 2], |t| [t.value.a.as_str(), t.value.b.as_str()]);
        let count = |verdict: TaskVerdict| pair.tasks.iter().filter(|t| t.value.verdict == verdict).count();
        let d = pair.decides.map(|t| t.value.difference);
        let tested = pair.decides.and_then(|t| t.value.holm_p);
        let none = || "-".to_owned();
        let cells = vec![
            (format!("{a} − {b}"), None),
            (d.map_or_else(none, |d| points(d.mean)), d.map(|d| d.mean)),
            (tested.map_or_else(none, p_value), tested),
            (count(TaskVerdict::ABetter).to_string(), Some(count(TaskVerdict::ABetter) as f64)),
            (count(TaskVerdict::BBetter).to_string(), Some(count(TaskVerdict::BBetter) as f64)),
            (grouped(pair.tasks.len()), Some(pair.tasks.len() as f64)),
            (
                d.filter(|_| tested.is_some()).map_or_else(none, |d| format!("[{}, {}]", points(d.lo), points(d.hi))),
                d.map(|d| d.hi - d.lo),
            ),
        ];
        Row { cells, last: None }
    };
    Table {
        columns: vec!["pair", "A − B", "Holm p", "A better", "B better", "tasks", "interval"],
        rows: results(state).pairs().iter().map(row).collect(),
        sort: (2, false),
        ..Table::default()
    }
}

/// Listed tasks: the tasks of the opened pair, or of the only pair.
fn of_pair(state: &State) -> Vec<&labs::Tagged<TaskFinding>> {
    let pair = opened(state);
    results(state).tasks.iter().filter(|t| pair.is_none_or(|pair| t.model == pair)).collect()
}

fn tasks(state: &State) -> Table {
    let row = |t: &&labs::Tagged<TaskFinding>| {
        let (v, d) = (&t.value, t.value.difference);
        let mean = |x: f64| if v.share { format!("{:.1}", 100.0 * x) } else { base::numbers::short(x) };
        let cells = vec![
            (v.task.clone(), None),
            (v.amount(d.mean), Some(d.mean)),
            (p_value(v.holm_p), Some(v.holm_p)),
            (v.verdict.name().to_owned(), Some(f64::from(v.verdict as u8))),
            (grouped(t.n), Some(t.n as f64)),
            (mean(v.mean_a), Some(v.mean_a)),
            (mean(v.mean_b), Some(v.mean_b)),
            (format!("[{}, {}]", v.amount(d.lo), v.amount(d.hi)), Some(d.hi - d.lo)),
        ];
        Row { cells, last: None }
    };
    Table {
        columns: vec!["task", "A − B", "Holm p", "verdict", "n", "A", "B", "interval"],
        rows: of_pair(state).iter().map(row).collect(),
        sort: (2, false),
        ..Table::default()
    }
}

/// Listed items: the items of the opened task, or all.
fn listed(state: &State) -> Vec<&FlipFinding> {
    let task = view(state).flips.as_deref().unwrap_or_default();
    let pair = opened(state);
    let all = results(state).flips.iter().filter(|f| pair.is_none_or(|pair| f.model == pair));
    all.map(|f| &f.value).filter(|f| task.is_empty() || f.task == task).collect()
}

fn flips(state: &State) -> Table {
    let all = listed(state);
    let texts = |f: &FlipFinding| {
        let better = if f.value_a > f.value_b { "A" } else { "B" };
        let cut = |text: &str| shortened(text, ANSWER);
        let facts = shortened(&f.facts.join(", "), 40);
        [better.into(), cut(&f.answer_a), cut(&f.answer_b), cut(&f.target), facts, f.task.clone()]
    };
    let rows: Vec<_> = all.iter().map(|f| texts(f)).collect();
    // The sort value of a text is its alphabetical rank among the column's distinct texts.
    let rank = |column: usize| {
        let mut distinct: Vec<&str> = rows.iter().map(|row| row[column].as_str()).collect();
        distinct.sort_unstable();
        distinct.dedup();
        distinct
    };
    let ranks: Vec<Vec<&str>> = (0..6).map(rank).collect();
    let row = |(f, texts): (&&FlipFinding, &[String; 6])| {
        let first = (f.item.clone(), f.item.parse::<f64>().ok());
        let rest = texts
            .iter()
            .enumerate()
            .map(|(column, text)| (text.clone(), ranks[column].binary_search(&text.as_str()).ok().map(|at| at as f64)));
        Row { cells: std::iter::once(first).chain(rest).collect(), last: None }
    };
    Table {
        columns: vec!["item", "better", "A's answer", "B's answer", "expected", "facts", "task"],
        rows: all.iter().zip(&rows).map(row).collect(),
        sort: (1, false),
        ..Table::default()
    }
}

pub(crate) fn cursor(state: &State) -> usize {
    let len = table(state).order(state.here(), SIZES).len();
    state.place(ID).scrolled(SIZES).min(len.saturating_sub(1))
}

/// Index of the row under the cursor, among all rows.
fn row(state: &State) -> Option<usize> {
    table(state).order(state.place(ID), SIZES).get(cursor(state)).copied()
}

pub(crate) fn item(state: &State) -> Option<&FlipFinding> {
    let at = row(state).filter(|_| shown(state) == List::Flips)?;
    listed(state).get(at).copied()
}

pub(crate) fn task(state: &State) -> Option<&labs::Tagged<TaskFinding>> {
    let at = row(state).filter(|_| shown(state) == List::Tasks)?;
    of_pair(state).get(at).copied()
}

/// Opens the tasks of the pair, or the items of the task, under the cursor; false if there are none.
pub(crate) fn open(state: &mut State) -> bool {
    let task = match shown(state) {
        List::Flips => return false,
        List::Pairs => {
            let Some(pair) = row(state).and_then(|at| Some(results(state).pairs().get(at)?.of.to_owned())) else {
                return false;
            };
            turn(state, Some(pair), None);
            return true;
        }
        List::Sizes => String::new(),
        List::Tasks => task(state).map_or(String::new(), |t| t.value.task.clone()),
    };
    let pair = opened(state).map(str::to_owned);
    let changed = |f: &labs::Tagged<FlipFinding>| {
        pair.as_ref().is_none_or(|pair| f.model == *pair) && (task.is_empty() || f.value.task == task)
    };
    if !results(state).flips.iter().any(changed) {
        return false;
    }
    turn(state, pair, Some(task));
    true
}

/// Toggles between the changed items and the list that they were opened from; from a pair's tasks, returns to the pairs.
pub(crate) fn toggle(state: &mut State) -> Vec<Effect> {
    let (pair, now) = (opened(state).map(str::to_owned), view(state).flips.is_some());
    if !now && pair.is_some() {
        turn(state, None, None);
        return Vec::new();
    }
    if !now && results(state).flips.is_empty() {
        state.view.toast = Some("no changed items are known; run a comparison of result files first".into());
        return Vec::new();
    }
    turn(state, pair, if now { None } else { Some(String::new()) });
    Vec::new()
}

/// Changes the list, resetting filter, order and cursor, which do not apply to the new one.
fn turn(state: &mut State, pair: Option<String>, flips: Option<String>) {
    (view_mut(state).pair, view_mut(state).flips) = (pair, flips);
    let place = state.place_mut(ID);
    place.listed.remove(&SIZES);
    place.scroll.remove(&SIZES);
    state.focus_on(SIZES);
}
