//! Clipboard text, and the shell command of a run.

use std::fmt::Write;

use super::{ASKED, Drawn, ID, INSTANCES, LEDGER, RELATIONS, instances, ledger, prompts, relation, results, view};
use crate::setup;
use crate::state::State;
use figure::{Format, Options, render};
use labs::prompts::spec::{DataSpec, NO_WORDS, OWN_WORDS, QuerySpec, Spec};

/// Numbers of the focused pane as tab-separated text; `None` if it has none.
pub(crate) fn copy_text(state: &State) -> Option<String> {
    match state.looked_at(ID) {
        setup::PANE => Some(labs::Spec::from(view(state).spec.clone()).to_toml()),
        RELATIONS => relations(state),
        ASKED => scores(state),
        pane if Drawn::of(pane).is_some() => {
            let csv = render(view(state).figure.as_ref()?, Format::Csv, &Options::default()).ok()?;
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
    let mut text = String::from("relation\tmodel\tprompts\tworst\tbest\tgap\tstd\tmean\theld_out\tby_chance\tn\n");
    let known = |x: Option<f64>| x.map_or("n/a".to_owned(), |x| x.to_string());
    for p in &results(state).preferences {
        let v = &p.value;
        let each = [v.worst, v.best, v.gap, v.std, v.mean].map(|e| e.mean.to_string()).join("\t");
        let more = [v.gap_held_out, v.gap_by_chance].map(known).join("\t");
        let _ = writeln!(text, "{}\t{}\t{}\t{each}\t{more}\t{}", v.relation, p.model, v.prompts, p.n);
    }
    (!results(state).preferences.is_empty()).then_some(text)
}

/// Scores as a table that `probity prompts` can parse.
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

/// A self-contained shell command that runs a spec.
pub(crate) fn shell_command(spec: &Spec) -> String {
    if *spec == Spec::shipped() {
        return "probity run prompts --json".into();
    }
    // A spec on standard input has no folder, so its paths must be absolute.
    let files = spec.data.paths().iter().map(|p| p.display().to_string()).collect();
    let words = match spec.query.function_words.as_str() {
        name @ (OWN_WORDS | NO_WORDS) => name.to_owned(),
        path => spec.data.base.join(path).display().to_string(),
    };
    let data = DataSpec { files, ..spec.data.clone() };
    let query = QuerySpec { function_words: words, ..spec.query.clone() };
    let spec = Spec { data, query, ..spec.clone() };
    // The quoted delimiter prevents the shell from expanding the spec.
    format!("probity run - --json <<'SPEC'\n{}\nSPEC", labs::Spec::from(spec).to_toml().trim_end())
}
