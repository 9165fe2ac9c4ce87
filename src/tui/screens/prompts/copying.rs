//! What `copy` puts on the clipboard, and where the numbers come from.

use std::fmt::Write;

use super::{
    ASKED, FIGURE, ID, INSTANCES, LEDGER, RELATIONS, instances, ledger, prompts, ran, relation, results, view,
};
use crate::figure::render;
use crate::lab::Tagged;
use crate::lab::prompts::candidates::Candidates;
use crate::lab::prompts::finding::{LeftOut, RelationFinding};
use crate::lab::prompts::spec::{DataSpec, NO_WORDS, OWN_WORDS, QuerySpec, Spec};
use crate::tui::screen::Origin;
use crate::tui::setup;
use crate::tui::state::State;

/// Words and objects that are listed of what is left out.
const SHOWN: usize = 24;

/// The numbers of the focused pane as tab-separated text; none where there are none.
pub fn copy_text(state: &State) -> Option<String> {
    match state.place(ID).focus {
        setup::PANE => Some(crate::lab::Spec::from(view(state).spec.clone()).to_toml()),
        RELATIONS => relations(state),
        ASKED => scores(state),
        FIGURE => {
            let csv = render(view(state).figure.as_ref()?, "csv").ok().flatten()?;
            String::from_utf8(csv).ok()
        }
        LEDGER => {
            let found = ledger::shown(state)?;
            let v = &found.value;
            Some(format!("{}\n{}\n", v.parts.sentence(&v.a, &v.b), ledger::parts(found).join("\n")))
        }
        INSTANCES => answers(state),
        _ => None,
    }
}

fn relations(state: &State) -> Option<String> {
    let mut text = String::from("relation\tmodel\tprompts\tworst\tbest\tgap\tstd\tmean\tn\n");
    for p in &results(state).preferences {
        let v = &p.value;
        let each = [v.worst, v.best, v.gap, v.std, v.mean].map(|e| e.mean.to_string()).join("\t");
        let _ = writeln!(text, "{}\t{}\t{}\t{each}\t{}", v.relation, p.model, v.prompts, p.n);
    }
    (!results(state).preferences.is_empty()).then_some(text)
}

/// In the form that `probity prompts` reads.
fn scores(state: &State) -> Option<String> {
    let id = relation(state)?;
    let mut text = String::from("relation\tmodel\tprompt\tp1\n");
    for prompt in prompts(state) {
        for model in results(state).models() {
            if let Some(s) = results(state).score(id, prompt, model) {
                let _ = writeln!(text, "{id}\t{model}\t{prompt}\t{}", s.value.p_at_1.mean);
            }
        }
    }
    Some(text)
}

fn answers(state: &State) -> Option<String> {
    let (_, all) = instances::look(state)?;
    let mut text = format!("subject\tobject\t{}\n", all.models.join("\t"));
    for row in &all.rows {
        let said: Vec<&str> = row.said.iter().map(|(word, _)| word.as_str()).collect();
        let _ = writeln!(text, "{}\t{}\t{}", row.mentions[0], row.object, said.join("\t"));
    }
    for (fact, reason) in &all.left_out {
        let _ = writeln!(text, "{fact}\tleft out: {reason}");
    }
    Some(text)
}

/// Where the number under the cursor comes from.
pub fn origin(state: &State) -> Option<Origin> {
    let found = results(state);
    let points = |x: f64| format!("{:.1}", 100.0 * x);
    match state.place(ID).focus {
        RELATIONS => {
            let r = found.relation(relation(state)?)?;
            let v = &r.value;
            let what = format!("{}: {} of {} facts are asked of every model", v.relation, v.kept, v.facts);
            let mut origin = of(state, what, r, "");
            origin.entries.splice(0..0, departed(state, v));
            Some(origin)
        }
        LEDGER => {
            let l = ledger::shown(state)?;
            let gap = points(l.value.parts.model_itself.mean);
            Some(of(
                state,
                format!("adjusted gap of {} and {}: {gap} points", l.value.a, l.value.b),
                l,
                "bootstrap over relations",
            ))
        }
        FIGURE if !found.ranks.is_empty() => {
            let r = found.ranks.last()?;
            let what = format!(
                "{} consistency of {}: {} %",
                r.value.regime.name(),
                r.model,
                points(r.value.consistency.mean)
            );
            let how = if r.value.exact { "none: every draw is counted" } else { "Wilson's, over the draws" };
            Some(of(state, what, r, how))
        }
        _ => {
            let (id, all) = (relation(state)?, prompts(state));
            let prompt = all.get(state.place(ID).scrolled(ASKED).min(all.len().checked_sub(1)?))?;
            let model = found.models().first().copied()?.to_owned();
            let s = found.score(id, prompt, &model)?;
            let what = format!("P@1 of {model} on {id}, `{prompt}`: {} %", points(s.value.p_at_1.mean));
            Some(of(state, what, s, "Wilson's, over the instances"))
        }
    }
}

/// What left the comparison because every model has to be able to say it: facts and prompts by reason, and the words that single
/// models take from those that all share.
fn departed(state: &State, relation: &RelationFinding) -> Vec<(String, String)> {
    let listed =
        |l: &LeftOut| (format!("{} left out", l.count), format!("{}: {}", l.reason, some(&l.what, l.count)));
    let mut entries: Vec<(String, String)> =
        relation.left_out.iter().chain(&relation.prompts_left_out).map(listed).collect();
    let data = results(state).data.as_ref().map(|d| &d.value);
    if let Some(data) = data.filter(|d| d.candidates == Candidates::Intersection) {
        entries.push(("shared words".into(), data.common_words.to_string()));
        let taking = data.models.iter().filter(|m| m.words_taken > 0);
        entries.extend(taking.map(|m| {
            (
                format!("{} words left", m.words_taken),
                format!("{} alone lacks {}", m.name, some(&m.taken, m.words_taken)),
            )
        }));
    }
    entries
}

/// The first of a list, with an ellipsis where there are more.
fn some(list: &[String], all: usize) -> String {
    let shown: Vec<&str> = list.iter().take(SHOWN).map(String::as_str).collect();
    format!("{}{}", shown.join(", "), if all > shown.len() { ", …" } else { "" })
}

/// Where a number comes from; `interval` says how its interval came about, and is empty where it has none.
fn of<T>(state: &State, what: String, number: &Tagged<T>, interval: &str) -> Origin {
    let mut entries = vec![("spec".to_owned(), number.spec.clone()), ("model".into(), number.model.clone())];
    if let Some(d) = &results(state).data {
        let hashes: Vec<String> = d.value.models.iter().map(|m| format!("{} {}", m.name, m.hash)).collect();
        entries.push(("models".into(), hashes.join(", ")));
        entries.push(("data".into(), d.value.data_hash.clone()));
        entries.push(("answers".into(), d.value.candidates.name().into()));
    }
    entries.push(("seed".into(), number.seed.to_string()));
    entries.push(("n".into(), number.n.to_string()));
    if let Some(level) = number.level.filter(|_| !interval.is_empty()) {
        entries.push(("interval".into(), format!("{interval}, level {level}")));
    }
    entries.push(("state".into(), if number.is_final { "final" } else { "still refined" }.into()));
    if let Some(engine) = &state.board.engine {
        entries.push(("version".into(), engine.version.clone()));
        entries.push(("device".into(), engine.device.clone()));
    }
    Origin { what, entries, command: ran(state).map_or(String::new(), shell_command) }
}

/// A shell command that runs a spec, complete in itself.
fn shell_command(spec: &Spec) -> String {
    if *spec == Spec::shipped() {
        return "probity run assets/specs/prompts.toml --json".into();
    }
    // A spec on standard input lies in no folder that its files could be relative to.
    let files = spec.data.paths().iter().map(|p| p.display().to_string()).collect();
    let words = match spec.query.function_words.as_str() {
        name @ (OWN_WORDS | NO_WORDS) => name.to_owned(),
        path => spec.data.base.join(path).display().to_string(),
    };
    let data = DataSpec { files, ..spec.data.clone() };
    let query = QuerySpec { function_words: words, ..spec.query.clone() };
    let spec = Spec { data, query, ..spec.clone() };
    // The quoted delimiter keeps the shell from reading anything into the spec.
    format!(
        "probity run /dev/stdin --json <<'SPEC'\n{}\nSPEC",
        crate::lab::Spec::from(spec).to_toml().trim_end()
    )
}
