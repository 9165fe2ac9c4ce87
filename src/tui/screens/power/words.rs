//! The verdict as lines, the numbers as text to copy, and where they come from.

use super::{CURVE, ID, SEQUENTIAL, ran, results, view};
use crate::base::text::{printable, wrapped};
use crate::figure::layers::grouped;
use crate::lab::power::finding::ComparisonFinding;
use crate::lab::power::summary::{lead, p_value, verdict};
use crate::lab::{LabId, Spec, Tagged};
use crate::tui::screen::Origin;
use crate::tui::setup;
use crate::tui::state::State;
use crate::tui::theme::Role;

/// Lines of at most `room` columns, with how they are drawn; none before there is a comparison.
pub fn lines(state: &State, room: usize) -> Vec<(Role, String)> {
    let found = results(state);
    let Some(c) = found.comparison() else { return Vec::new() };
    let mut out = Vec::new();
    for (k, sentence) in verdict(found).into_iter().enumerate() {
        let role = if k == 0 { Role::Title } else { Role::Text };
        let text = wrapped(&sentence, room.saturating_sub(2));
        out.extend(text.into_iter().map(|line| (role, format!(" {line}"))));
    }
    out.extend(table(&c.value).into_iter().map(|line| (Role::Dim, format!(" {line}"))));
    if let Some(line) = family(state, c) {
        out.push((Role::Dim, format!(" {line}")));
    }
    out
}

/// The 2×2 table and the tests.
fn table(c: &ComparisonFinding) -> Vec<String> {
    let (Some(both), Some(only_a), Some(only_b), Some(neither)) = (c.both, c.only_a, c.only_b, c.neither)
    else {
        return c.bootstrap.map(|b| format!("resampled [{:+.3}, {:+.3}]", b.lo, b.hi)).into_iter().collect();
    };
    let n = |x: u64| grouped(x as usize);
    let seeds = if c.seeds > 1 { format!(" (sums over {} seeds)", c.seeds) } else { String::new() };
    let p = |p: Option<f64>| p.map_or("–".into(), p_value);
    vec![
        format!(
            "both right {}  only A {}  only B {}  neither {}{seeds}",
            n(both),
            n(only_a),
            n(only_b),
            n(neither)
        ),
        format!(
            "exact p {}  χ² p {}  corrected p {}  equivalence p {}",
            p(c.exact_p),
            p(c.chi2_p),
            p(c.corrected_p),
            p_value(c.equivalence_p)
        ),
    ]
}

/// The p-value over everything that was compared in the session.
fn family(state: &State, c: &Tagged<ComparisonFinding>) -> Option<String> {
    let what = format!("{} against {}: {}", c.value.a, c.value.b, c.value.metric);
    let all = state.board.family.corrected();
    let mine = all.iter().find(|m| m.comparison.lab == LabId::Power && m.comparison.what == what)?;
    let of = all.len();
    Some(format!(
        "over {of} comparison{} of this session: Holm p {}, BH q {}",
        if of == 1 { "" } else { "s" },
        p_value(mine.holm),
        p_value(mine.bh)
    ))
}

/// The numbers of the focused pane as tab-separated text.
pub fn copied(state: &State) -> Option<String> {
    let found = results(state);
    match state.place(ID).focus {
        setup::PANE => Some(Spec::from(view(state).spec.clone()).to_toml()),
        CURVE if !found.curve().is_empty() => {
            let row = |p: &Tagged<crate::lab::power::finding::PowerFinding>| {
                let v = &p.value;
                format!("{}\t{}\t{}\t{}\n", v.at_n, v.power.mean, v.power.lo, v.power.hi)
            };
            Some(format!("n\tpower\tlo\thi\n{}", found.curve().iter().map(row).collect::<String>()))
        }
        SEQUENTIAL if !found.sequential.is_empty() => {
            let row = |s: &Tagged<crate::lab::power::finding::SequentialFinding>| {
                let v = &s.value;
                format!("{}\t{}\t{}\t{}\n", v.at_n, v.log_e, v.lo, v.hi)
            };
            Some(format!("n\tlog_e\tlo\thi\n{}", found.sequential.iter().map(row).collect::<String>()))
        }
        _ => Some(verdict(found).join("\n")).filter(|t| !t.is_empty()),
    }
}

/// Where the comparison comes from.
pub fn origin(state: &State) -> Option<Origin> {
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
    entries.push(("state".into(), if c.is_final { "final" } else { "still refined" }.into()));
    if let Some(engine) = &state.board.engine {
        entries.push(("device".into(), engine.device.clone()));
        entries.push(("probity".into(), engine.version.clone()));
    }
    let spec = ran(state).map_or(String::new(), |spec| Spec::from(spec.clone()).to_toml());
    let command = format!("probity run /dev/stdin <<'END'\n{}\nEND", printable(spec.trim()));
    Some(Origin { what: lead(c), entries, command })
}
