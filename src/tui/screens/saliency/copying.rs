//! Clipboard text, and the provenance of numbers.

use std::fmt::Write;

use super::{HEADS, HEATMAP, ID, SENTENCES, curve_of, heads, heat, ran, results, scores, table_of, view};
use crate::screen::Origin;
use crate::setup;
use crate::state::State;
use base::numbers::decimals;
use figure::{Format, Options, render};
use labs::Tagged;
use labs::saliency::finding::ALL;
use labs::saliency::heatmap::short_method;
use labs::saliency::spec::{DataSpec, Spec};

pub(crate) fn copy_text(state: &State) -> Option<String> {
    let csv = |figure: Option<&figure::Figure>| {
        String::from_utf8(render(figure?, Format::Csv, &Options::default()).ok()?).ok()
    };
    match state.looked_at(ID) {
        setup::PANE => Some(labs::Spec::from(view(state).spec.clone()).to_toml()),
        SENTENCES => sentences(state),
        HEATMAP => csv(view(state).heat.as_ref()),
        HEADS => csv(view(state).heads.as_ref()),
        pane if table_of(pane).is_some() => scores::copy(state),
        pane if curve_of(pane).is_some() => csv(view(state).curve.as_ref()),
        _ => None,
    }
}

fn sentences(state: &State) -> Option<String> {
    let (found, view) = (results(state), view(state));
    let mut text = String::from("sentence\tdimension\tsample\tperturbation\ttext\tanswer\tmodel\tsaid\ttop1\n");
    for s in &found.sentences {
        let v = &s.value;
        let kind = v.perturbation.as_deref().unwrap_or_default();
        let answer = v.answer.as_deref().unwrap_or_default();
        for model in found.models() {
            let Some(p) = view.index.prediction(found, model, &v.sentence) else { continue };
            let said = p.value.top.first().map_or("", |g| g.answer.as_str());
            let right = p.value.top1.map_or(String::new(), |r| r.to_string());
            let (id, dimension, sample) = (&v.sentence, &v.dimension, v.sample.name());
            let _ =
                writeln!(text, "{id}\t{dimension}\t{sample}\t{kind}\t{}\t{answer}\t{model}\t{said}\t{right}", v.text);
        }
    }
    (!found.sentences.is_empty()).then_some(text)
}

pub(crate) fn origin(state: &State) -> Option<Origin> {
    let found = results(state);
    match state.looked_at(ID) {
        HEADS => {
            let (attention, (layer, head)) = (heads::attention(state)?, heads::head(state)?);
            let what = format!(
                "attention of layer {}, head {} of {} in sentence {}",
                layer + 1,
                head + 1,
                attention.model,
                attention.value.sentence
            );
            Some(of(state, what, attention, Vec::new()))
        }
        pane if table_of(pane).is_some() || curve_of(pane).is_some() => {
            let at = state.place(ID).scrolled(pane);
            let all = scores::rows(state, view(state).table);
            let at = at.min(all.len().checked_sub(1)?);
            let row = all.get(at)?;
            let what = row.join(" ");
            match view(state).table {
                scores::Table::Correctness => Some(of(state, what, found.by_answers().get(at)?, Vec::new())),
                scores::Table::Accuracy => Some(of(state, what, found.accuracy.get(at)?, Vec::new())),
                scores::Table::Differences => {
                    let test = found.differences.get(at)?;
                    Some(of(state, what, test, vec![("test".into(), test.value.test.clone())]))
                }
                table => {
                    let by_kind = table == scores::Table::Perturbations;
                    let mut shown = found.interpretability.iter().filter(|f| (f.value.perturbation != ALL) == by_kind);
                    Some(of(state, what, shown.nth(at)?, Vec::new()))
                }
            }
        }
        _ => {
            let pointed = heat::pointed(state)?;
            let row = pointed.row?;
            let (v, word) = (&row.value, pointed.word);
            let score = v.scores.get(word).map_or("n/a".into(), |s| decimals(f64::from(*s), 6));
            let text = pointed.sentence.words.get(word).map_or("", String::as_str);
            let what = format!("{} of `{text}` in sentence {}: {score}", short_method(&v.method), v.sentence);
            let mut more = vec![("explained".to_owned(), v.target.clone())];
            more.extend(v.steps.map(|s| ("steps".to_owned(), s.to_string())));
            more.extend(v.gap.map(|g| ("completeness error".to_owned(), decimals(g, 6))));
            Some(of(state, what, row, more))
        }
    }
}

fn of<T>(state: &State, what: String, number: &Tagged<T>, more: Vec<(String, String)>) -> Origin {
    let mut entries = vec![("spec".to_owned(), number.spec.clone()), ("model".into(), number.model.clone())];
    entries.extend(more);
    if let Some(d) = &results(state).data {
        let hashes: Vec<String> = d.value.models.iter().map(|m| format!("{} {}", m.name, m.hash)).collect();
        entries.push(("models".into(), hashes.join(", ")));
        entries.push(("data".into(), format!("{} {}", d.value.source, d.value.sha256)));
        entries.push(("K".into(), d.value.k.clone()));
    }
    entries.push(("seed".into(), number.seed.to_string()));
    entries.push(("n".into(), number.n.to_string()));
    if let Some(level) = number.level {
        entries.push(("interval level".into(), level.to_string()));
    }
    entries.push(("state".into(), if number.is_final { "final" } else { "being refined" }.into()));
    if let Some(engine) = &state.board.engine {
        entries.push(("version".into(), engine.version.clone()));
        entries.push(("device".into(), engine.device.clone()));
    }
    Origin { what, entries, command: ran(state).map_or(String::new(), shell_command) }
}

/// A self-contained shell command that runs a spec.
fn shell_command(spec: &Spec) -> String {
    if *spec == Spec::shipped() {
        return "probity run saliency --json".into();
    }
    // A spec on standard input has no folder, so its paths must be absolute.
    let data = DataSpec { file: spec.file().map(|f| f.display().to_string()), ..spec.data.clone() };
    let spec = Spec { data, ..spec.clone() };
    // The quoted delimiter prevents the shell from expanding the spec.
    format!("probity run - --json <<'SPEC'\n{}\nSPEC", labs::Spec::from(spec).to_toml().trim_end())
}
