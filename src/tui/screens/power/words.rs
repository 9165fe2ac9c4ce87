//! The verdict as lines, the numbers as clipboard text, and their provenance.

use super::items::{self, List};
use super::setup::SETUP;
use super::{BY_SIZE, CURVE, ID, KNOWN, RECOMMENDED, SEQUENTIAL, SIZES, ran, results, studies, terms};
use crate::screen::Origin;
use crate::setup::{self, Setup};
use crate::state::State;
use crate::theme::Role;
use base::numbers::short;
use base::text::{printable, wrapped};
use figure::layers::grouped;
use labs::family::Standing;
use labs::power::finding::{ComparisonFinding, RequiredFinding};
use labs::power::summary::{beside, lead, p_value, planned, recommended, surface, verdict};
use labs::power::tasks::TaskFinding;
use labs::{LabId, Spec, Tagged};
use stats::Estimate;

/// The verdict in lines of at most `room` columns, each with a style role; empty before there is a comparison. The first `narrowed` lines
/// leave space for the table on the right.
pub(crate) fn lines(state: &State, room: usize, narrowed: usize) -> Vec<(Role, String)> {
    let found = results(state);
    if items::shown(state) == List::Flips {
        return item(state, room.saturating_sub(2));
    }
    let mut out = Vec::new();
    let Some(c) = found.comparison() else {
        return items::task(state).map_or(Vec::new(), |t| task(t, room.saturating_sub(2)));
    };
    let (whole, narrow) = (room.saturating_sub(2), room.saturating_sub(TABLE + 3));
    let mut say = |role: Role, sentence: &str| {
        let left = narrowed.saturating_sub(out.len());
        let mut text = if left > 0 { wrapped(sentence, narrow) } else { wrapped(sentence, whole) };
        if left > 0 && text.len() > left {
            let rest = text.split_off(left).join(" ");
            text.extend(wrapped(&rest, whole));
        }
        out.extend(text.into_iter().map(|line| (role, format!(" {line}"))));
    };
    for (k, sentence) in verdict(found).into_iter().enumerate() {
        say(if k == 0 { Role::Title } else { Role::Text }, &sentence);
    }
    if let Some(plan) = ran(state).and_then(|spec| spec.plan.as_ref()) {
        say(Role::Text, &planned(plan, found));
    }
    recommended(found).iter().for_each(|sentence| say(Role::Text, sentence));
    surface(found).iter().for_each(|sentence| say(Role::Text, sentence));
    say(Role::Dim, &tests(&c.value));
    if let Some(line) = family(state, c) {
        say(Role::Dim, &line);
    }
    beside(found).iter().for_each(|sentence| say(Role::Text, sentence));
    out
}

/// The task under the cursor: both means, their difference and the test.
fn task(t: &Tagged<TaskFinding>, room: usize) -> Vec<(Role, String)> {
    let (v, d) = (&t.value, t.value.difference);
    let mean = |x: f64| if v.share { format!("{:.1} %", 100.0 * x) } else { short(x) };
    let unit = if v.share { " points" } else { "" };
    let lines = [
        (Role::Title, format!("{}, {}: {}", v.task, v.metric, v.verdict.name())),
        (Role::Text, format!("{}: {}", v.a, mean(v.mean_a))),
        (Role::Text, format!("{}: {}", v.b, mean(v.mean_b))),
        (Role::Text, format!("difference {}{unit} [{}, {}]", v.amount(d.mean), v.amount(d.lo), v.amount(d.hi))),
        (Role::Text, format!("raw p {}, Holm p over tasks {}", p_value(v.p), p_value(v.holm_p))),
        (Role::Dim, format!("{}; {} items", v.test, grouped(t.n))),
    ];
    wrap(lines.into(), room)
}

fn wrap(lines: Vec<(Role, String)>, room: usize) -> Vec<(Role, String)> {
    let one = |(role, text): (Role, String)| {
        wrapped(&printable(&text), room).into_iter().map(move |line| (role, format!(" {line}")))
    };
    lines.into_iter().flat_map(one).collect()
}

/// The changed item under the cursor: its input, the target and the answers.
fn item(state: &State, room: usize) -> Vec<(Role, String)> {
    let Some(f) = items::item(state) else { return Vec::new() };
    let task = if f.task.is_empty() { String::new() } else { format!("{}: ", f.task) };
    let title =
        format!("{task}item {} · {} {} with A, {} with B", f.item, f.metric, short(f.value_a), short(f.value_b));
    let mut out = vec![(Role::Title, title)];
    for (name, text) in [
        ("input", &f.input),
        ("expected", &f.target),
        ("A's answer", &f.answer_a),
        ("B's answer", &f.answer_b),
        ("facts", &f.facts.join(", ")),
    ] {
        if !text.is_empty() {
            out.push((Role::Text, format!("{name}: {text}")));
        }
    }
    wrap(out, room)
}

/// Width of the 2×2 table, in columns.
pub(crate) const TABLE: usize = 27;

/// The 2×2 table, [`TABLE`] columns wide; empty if the metric has values other than 0 and 1.
pub(crate) fn table(state: &State) -> Vec<(Role, String)> {
    let of_items = items::shown(state) == List::Flips;
    let comparison = results(state).comparison().filter(|_| !of_items);
    let Some(c) = comparison.map(|c| &c.value) else { return Vec::new() };
    let (Some(both), Some(only_a), Some(only_b), Some(neither)) = (c.both, c.only_a, c.only_b, c.neither) else {
        return Vec::new();
    };
    let all = (both + only_a + only_b + neither).max(1) as f64;
    let n = |x: u64| grouped(x as usize);
    let share = |x: u64| format!("{:.1} %", 100.0 * x as f64 / all);
    let row = |head: &str, x: String, y: String| format!("{head:<8}{x:>9}{y:>9}");
    let mut rows = vec![
        (Role::Dim, row("", "B right".into(), "B wrong".into())),
        (Role::Text, row("A right", n(both), n(only_a))),
        (Role::Dim, row("", share(both), share(only_a))),
        (Role::Text, row("A wrong", n(only_b), n(neither))),
        (Role::Dim, row("", share(only_b), share(neither))),
    ];
    if c.seeds > 1 {
        rows.push((Role::Dim, format!("sums over {} seeds", c.seeds)));
    }
    rows
}

fn tests(c: &ComparisonFinding) -> String {
    let p = |p: Option<f64>| p.map_or("–".into(), p_value);
    let equal = p_value(c.equivalence_p);
    if c.both.is_none() {
        let resampled = c.bootstrap.map(|b| format!("resampled [{:+.3}, {:+.3}]  ", b.lo, b.hi));
        return format!("{}equivalence p {equal}", resampled.unwrap_or_default());
    }
    let plain = if c.clusters.is_some() { " as if items were independent:" } else { "" };
    format!(
        "McNemar{plain} mid-p {}, exact {}, χ² {}, corrected {}; equivalence p {equal}",
        p(c.mid_p),
        p(c.exact_p),
        p(c.chi2_p),
        p(c.corrected_p)
    )
}

/// The adjusted p-value, if the family has other members.
fn family(state: &State, c: &Tagged<ComparisonFinding>) -> Option<String> {
    // A smaller pilot is part of the same comparison, whose p-value in the family is based on all items.
    results(state).comparisons.last().filter(|whole| whole.n == c.n)?;
    let what = format!("{} against {}: {}", c.value.a, c.value.b, c.value.metric);
    let all = state.board.family.corrected();
    // A plan's comparison of fewer items has the same description.
    let mine = all.rows.iter().find(|m| {
        let of = m.comparison;
        of.lab == LabId::Power && of.what == what && of.n == c.n
    })?;
    let family = &all.families[mine.family];
    Some(match mine.standing {
        Standing::Adjusted(_) if family.planned => "planned: tested alone".into(),
        Standing::Adjusted(holm) => {
            let others = if family.size == 1 { "comparison" } else { "comparisons" };
            format!("in its family of {} {others}: Holm p {}", family.size, p_value(holm))
        }
        Standing::CannotDecide => "too few discordant items to decide this comparison within its family".into(),
        Standing::Interim => return None,
    })
}

/// Numbers of the focused pane as tab-separated text.
pub(crate) fn copied(state: &State) -> Option<String> {
    let found = results(state);
    let list = match state.looked_at(ID) {
        KNOWN => studies::known_sets(state).map(|table| (KNOWN, table.into())),
        _ => None,
    };
    let own = || state.place(ID).focus == SIZES && items::shown(state) != List::Sizes;
    if let Some((pane, table)) = list.or_else(|| own().then(|| (SIZES, items::table(state)))) {
        let row = |at: usize| -> Vec<&str> { table.rows[at].cells.iter().map(|c| c.0.as_str()).collect() };
        let order = table.order(state.place(ID), pane);
        let lines = std::iter::once(table.columns.clone()).chain(order.into_iter().map(row));
        return Some(lines.map(|cells| cells.join("\t") + "\n").collect());
    }
    match state.looked_at(ID) {
        setup::PANE => Some(SETUP.spec(state).to_toml()),
        CURVE if !found.curve().is_empty() => {
            let row = |p: &Tagged<labs::power::finding::PowerFinding>| {
                let v = &p.value;
                format!("{}\t{}\t{}\t{}\n", v.at_n, v.power.mean, v.power.lo, v.power.hi)
            };
            Some(format!("n\tpower\tlo\thi\n{}", found.curve().iter().map(row).collect::<String>()))
        }
        SEQUENTIAL if !found.steps().is_empty() => {
            let row = |s: &Tagged<labs::power::finding::SequentialFinding>| {
                let v = &s.value;
                format!("{}\t{}\t{}\t{}\n", v.at_n, v.log_e, v.lo, v.hi)
            };
            Some(format!("n\tlog_e\tlo\thi\n{}", found.steps().iter().map(row).collect::<String>()))
        }
        BY_SIZE | RECOMMENDED => {
            let whole = |n: Option<f64>| n.map_or(String::new(), |n| n.to_string());
            let row = |r: &Tagged<RequiredFinding>| {
                let (v, band) = (&r.value, r.value.band.unwrap_or(Estimate::exact(r.value.power)));
                let (trained, train) = (v.trained.map(|n| n as f64), v.n_train.map(|n| n as f64));
                let (trained, test, train) = (whole(trained), whole(v.n_test.mean), whole(train));
                format!("{trained}\t{}\t{}\t{}\t{}\t{test}\t{train}\n", r.n, v.power, band.lo, band.hi)
            };
            let rows: String = found.by_size().iter().map(row).collect();
            Some(format!("n_train\tn_test\tpower\tlo\thi\tneeded_test\trecommended_train\n{rows}"))
        }
        _ => Some(verdict(found).join("\n")).filter(|t| !t.is_empty()),
    }
}

pub(crate) fn origin(state: &State) -> Option<Origin> {
    let c = results(state).comparison()?;
    let mut entries = vec![
        ("spec".to_owned(), c.spec.clone()),
        ("model".into(), c.model.clone()),
        ("seed".into(), c.seed.to_string()),
        ("n".into(), c.n.to_string()),
        ("test".into(), c.value.test.clone()),
    ];
    if let Some(level) = c.level {
        entries.push(("interval level".into(), level.to_string()));
    }
    entries.push(("state".into(), if c.is_final { "final" } else { "being refined" }.into()));
    if let Some(engine) = &state.board.engine {
        entries.push(("device".into(), engine.device.clone()));
        entries.push(("probity".into(), engine.version.clone()));
    }
    if let Some(all) = results(state).comparisons.last().filter(|all| all.n > c.n) {
        entries.push(("pilot".into(), format!("the first {} of {} items in the drawn order", c.n, all.n)));
    }
    let (asked, ran) = (terms(state), ran(state).cloned());
    let spec = ran.map_or(String::new(), |spec| Spec::from(asked.of(&spec)).to_toml());
    // The lines are made printable one by one, because in the whole text, line ends would become visible characters.
    let spec: Vec<_> = spec.trim().lines().map(printable).collect();
    let command = format!("probity run - <<'END'\n{}\nEND", spec.join("\n"));
    Some(Origin { what: lead(c, results(state).alpha()), entries, command })
}
