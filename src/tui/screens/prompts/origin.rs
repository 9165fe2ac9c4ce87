//! Provenance of a pane's numbers: every number shown, by model, with its interval and how to reproduce it.

use super::{
    ASKED, ID, INSTANCES, LEDGER, RELATIONS, copying, instances, ledger, prompts, ran, relation, results, view,
};
use crate::screen::Origin;
use crate::screens::prompts::drawn::Drawn;
use crate::state::State;
use base::text::last_part;
use labs::Tagged;
use labs::prompts::candidates::Candidates;
use labs::prompts::consistency::Regime;
use labs::prompts::finding::{LeftOut, RelationFinding};
use labs::prompts::ledger::DOUBT;
use labs::prompts::summary::{consistency as consistency_of, interval};
use stats::estimate::Estimate;

/// Maximum number of omitted words and objects listed.
const SHOWN: usize = 24;
/// Descriptions of how intervals are computed.
const OF_SHARES: &str = "Wilson's over the instances, exact where fewer than 5 are right or wrong; MRR by Student's t";
const OVER_INSTANCES: &str = "simultaneous limits for all prompts; for the gap by chance, the range of chance gaps";
/// Descriptions of how intervals of rank consistency are computed.
const OVER_DRAWS: &str = "exact over the draws, corrected for choosing the largest share";
const OVER_RELATIONS: &str = "Student's t over relations";

pub(crate) fn origin(state: &State) -> Option<Origin> {
    match state.looked_at(ID) {
        RELATIONS => relations(state, "facts are tested on every model"),
        LEDGER => of_ledger(state),
        pane if Drawn::of(pane).is_some() => figure(state),
        ASKED => scores(state),
        INSTANCES if instances::look(state).is_some() => one(state),
        _ => scores(state),
    }
}

fn figure(state: &State) -> Option<Origin> {
    let origin = match view(state).drawn {
        Drawn::Prompts => relations(state, "facts tested on every model; P@1 under each prompt of the relation"),
        Drawn::Ranks => {
            relations(state, "facts tested on every model; models ranked by P@1 under each prompt of the relation")
        }
        Drawn::Preference | Drawn::Turned => preference(state),
        Drawn::Stability => stability(state),
        Drawn::Consistency => consistency(state, None),
        Drawn::Places => {
            let models = results(state).models();
            let model = models.get(view(state).model).or(models.first())?;
            consistency(state, Some(model))
        }
        Drawn::Curve => curve(state),
        Drawn::Ledger => of_ledger(state),
        Drawn::Disparity => disparity(state),
        Drawn::Causal(bias) => {
            let found = results(state).data.as_ref()?;
            let mut origin = of(state, format!("the path {}", bias.letters()), found, "");
            let spec = ran(state).unwrap_or(&view(state).spec);
            let figure = ("figure".to_owned(), "Cao et al. 2022, Figure 2".to_owned());
            origin.entries.splice(0..0, [figure, ("setting".into(), bias.blocked(spec))]);
            Some(origin)
        }
    };
    let mut origin = origin?;
    if view(state).published && view(state).drawn.published().is_some() {
        let what = "numbers published by Cao et al. 2022, not from this run";
        origin.entries.push(("beneath".into(), what.into()));
    }
    Some(origin)
}

/// Provenance of a relation's measures over its prompts, by model.
fn relations(state: &State, what: &str) -> Option<Origin> {
    let found = results(state);
    let r = found.relation(relation(state)?)?;
    let v = &r.value;
    let mut lines = departed(state, v);
    let ends = |mean: Option<f64>, ends: Option<[f64; 2]>| match (mean, ends) {
        (Some(mean), Some([lo, hi])) => interval(Estimate { mean, lo, hi }),
        (Some(mean), None) => format!("{:.1}", 100.0 * mean),
        (None, _) => "n/a".into(),
    };
    let mut level = None;
    for model in found.models() {
        let Some(p) = found.preference(&v.relation, model) else { continue };
        level = level.or(p.level);
        let x = &p.value;
        let mut text = format!(
            "gap held out {} (prompts chosen on half of the facts, compared on the rest), by chance {}; on all facts: worst {}, best {}, gap {}, std {}, mean {}",
            ends(x.gap_held_out, x.gap_held_out_interval),
            ends(x.gap_by_chance, x.gap_by_chance_interval),
            interval(x.worst),
            interval(x.best),
            interval(x.gap),
            interval(x.std),
            interval(x.mean)
        );
        if let Some(a) = found.adjusted_of(&v.relation, model) {
            text.push_str(&format!(", adjusted {}", interval(a.value.p_at_1)));
        }
        if let Some(s) = found.stability_of(&v.relation, model) {
            let share = s.value.stability.map_or("n/a".into(), interval);
            text.push_str(&format!(", stability {share} of n {}", s.value.kept));
        }
        lines.push((key(model), text));
    }
    if !v.weights.is_empty() {
        let each: Vec<String> = v.weights.iter().map(|w| format!("{:.1}", 100.0 * w)).collect();
        lines.push(("weights in %".into(), each.join(", ")));
    }
    let title = format!("{}: {} of {} {what}", v.relation, v.kept, v.facts);
    let with_level = Tagged { level, ..r.clone() };
    let how = if level.is_some() { OVER_INSTANCES } else { "" };
    let mut origin = of(state, title, &with_level, how);
    origin.entries.splice(0..0, lines);
    Some(origin)
}

/// Provenance of the scores of the prompt under the cursor, by model.
fn scores(state: &State) -> Option<Origin> {
    let found = results(state);
    let (id, all) = (relation(state)?, prompts(state));
    let prompt = all.get(state.place(ID).scrolled(ASKED).min(all.len().checked_sub(1)?))?;
    let mut lines = Vec::new();
    let mut first = None;
    for model in found.models() {
        let Some(s) = found.score(id, prompt, model) else { continue };
        first = first.or(Some(s));
        let v = &s.value;
        let text = format!("P@1 {}, P@{} {}, MRR {}", interval(v.p_at_1), v.k, interval(v.p_at_k), interval(v.mrr));
        lines.push((key(model), text));
    }
    lines.extend(found_on(state, id, prompt));
    let mut origin = of(state, format!("{id}, `{prompt}`, in per cent"), first?, OF_SHARES);
    origin.entries.splice(0..0, lines);
    Some(origin)
}

/// The search that found a prompt, and the search's control.
fn found_on(state: &State, relation: &str, prompt: &str) -> Vec<(String, String)> {
    let all = results(state).tuned.iter().map(|t| &t.value);
    let mine = all.filter(|v| v.relation == relation).find(|v| v.prompt == prompt || v.control == prompt);
    let Some(v) = mine else { return Vec::new() };
    let end = |loss: Option<&f64>| loss.map_or("n/a".into(), |l| format!("{l:.2}"));
    let steps = v.losses.len().saturating_sub(1);
    let facts = v.subjects.len();
    let seen = 100.0 * v.objects_seen;
    vec![
        (v.name.clone(), v.prompt.clone()),
        (v.name.replace("tuned", "random"), format!("{}: the words that the search started from", v.control)),
        (
            "found".into(),
            format!(
                "for {} on {facts} facts outside the test; they contain {seen:.0} % of the tested objects",
                v.found_for
            ),
        ),
        (
            "loss".into(),
            format!("{} at the start, {} after {steps} replaced words", end(v.losses.first()), end(v.losses.last())),
        ),
    ]
}

/// Provenance of the instance under the cursor, by model.
fn one(state: &State) -> Option<Origin> {
    let (look, all) = instances::look(state)?;
    let first = look.one.first()?;
    let line = |found: &Tagged<labs::prompts::finding::InstanceFinding>| {
        let v = &found.value;
        let right = if v.right { "right" } else { "wrong" };
        let rank = v.rank.map_or("no candidate".into(), |r| format!("rank {r}"));
        (key(&found.model), format!("answers {}: {right}; the object has {rank}; input `{}`", v.said, v.text))
    };
    let v = &first.value;
    let what = format!("{}: {} under `{}`", v.mention, v.object, all.prompt);
    let mut origin = of(state, what, look.instances.as_ref()?, "");
    origin.entries.splice(0..0, look.one.iter().map(line));
    Some(origin)
}

fn of_ledger(state: &State) -> Option<Origin> {
    let l = ledger::shown(state)?;
    let (v, p) = (&l.value, &l.value.parts);
    let gap = interval(p.model_itself);
    let share = |e: Option<Estimate>| e.map_or("n/a".into(), interval);
    let mut origin = of(state, format!("adjusted gap of {} and {}: {gap} points", v.a, v.b), l, OVER_RELATIONS);
    let lines = [
        ("by prompt".into(), format!("{} % of the variance", share(p.prompt_share))),
        ("corrected for chance".into(), format!("{} %", share(p.prompt_unbiased_share))),
        ("doubt".into(), DOUBT.to_owned()),
        ("relations".into(), v.relations.to_string()),
    ];
    origin.entries.splice(0..0, lines);
    Some(origin)
}

fn preference(state: &State) -> Option<Origin> {
    let found = results(state);
    let mut lines = Vec::new();
    let of_all = |e: Option<Estimate>| e.map_or("n/a".to_owned(), interval);
    for s in found.summaries.iter().filter(|s| s.value.mean_worst.is_some()) {
        let v = &s.value;
        let text = format!(
            "worst {}, best {}, gap {}, held out {}, by chance {}, std {}, adjusted {}; gap above 10 points on {} of {}",
            of_all(v.mean_worst),
            of_all(v.mean_best),
            of_all(v.mean_gap),
            of_all(v.mean_gap_held_out),
            of_all(v.mean_gap_by_chance),
            of_all(v.mean_std),
            of_all(v.mean_adjusted),
            v.relations_over_10,
            v.relations
        );
        lines.push((key(&s.model), text));
    }
    let what = "P@1 from the worst to the best prompt, in per cent, mean over relations".to_owned();
    let mut origin = of(state, what, found.summaries.first()?, OVER_RELATIONS);
    origin.entries.splice(0..0, lines);
    Some(origin)
}

fn stability(state: &State) -> Option<Origin> {
    let found = results(state);
    let line = |model: &str| {
        let mine = found.stability.iter().filter(|s| s.model == model);
        let kept: usize = mine.map(|s| s.value.kept).sum();
        let over = found.summaries.iter().find(|s| s.model == model).and_then(|s| s.value.mean_stability);
        (key(model), format!("{}, n {kept}", over.map_or("n/a".into(), interval)))
    };
    let what = "same answer under every name of a subject, first prompt, in per cent, mean over relations";
    let mut origin = match found.summaries.first() {
        Some(s) => of(state, what.into(), s, OVER_RELATIONS),
        None => of(state, what.into(), found.stability.first()?, ""),
    };
    origin.entries.splice(0..0, found.models().into_iter().map(line));
    Some(origin)
}

/// Provenance of rank consistency: for every model and for the whole order, or for one model.
fn consistency(state: &State, only: Option<&str>) -> Option<Origin> {
    let found = results(state);
    let regimes = |model: Option<&str>| {
        let each = Regime::ALL.map(|regime| {
            let share = found.rank(regime, model).map_or("n/a".into(), |r| consistency_of(&r.value));
            format!("{} {share}", regime.name())
        });
        each.join(", ")
    };
    let whole = found.rank(Regime::Adjusted, None)?;
    let v = &whole.value;
    let what = format!(
        "% of {} draws ({} of {} relations each) in which a model takes its most frequent rank, or all models their \
         most frequent order",
        v.draws, v.subset, v.relations
    );
    let how = if v.exact { "none: every draw is counted" } else { OVER_DRAWS };
    let mut origin = of(state, what, whole, how);
    let models = found.models().into_iter().filter(|m| only.is_none_or(|only| only == *m));
    let lines: Vec<(String, String)> =
        models.map(|m| (key(m), regimes(Some(m)))).chain([("whole order".to_owned(), regimes(None))]).collect();
    origin.entries.splice(0..0, lines);
    Some(origin)
}

fn curve(state: &State) -> Option<Origin> {
    let found = &results(state).curve;
    let first = found.first()?;
    let what =
        format!("percentage of {} draws that give the most frequent complete order of the models", first.value.draws);
    let mut origin = of(state, what, first, OVER_DRAWS);
    let line = |c: &Tagged<labs::prompts::finding::RankCurveFinding>| {
        (format!("K = {}", c.value.prompts), interval(c.value.consistency))
    };
    origin.entries.splice(0..0, found.iter().map(line));
    Some(origin)
}

fn disparity(state: &State) -> Option<Origin> {
    let found = &results(state).disparity;
    let what = "P@1 of the best token after further pretraining, in per cent".to_owned();
    let mut origin =
        of(state, what, found.first()?, "Wilson's over the facts, exact where fewer than 5 are right or wrong");
    let line = |d: &Tagged<labs::prompts::finding::DisparityFinding>| {
        let gamma = d.value.gamma.map_or("original".to_owned(), |g| format!("γ = {g}"));
        (key(&d.model), format!("{gamma}: {}, {} steps", interval(d.value.p_at_1), d.value.steps))
    };
    origin.entries.splice(0..0, found.iter().map(line));
    Some(origin)
}

/// A model's name, shortened to the key of a line.
fn key(model: &str) -> String {
    base::text::fit(last_part(model), 15).into_owned()
}

/// Facts and prompts left out because some model cannot represent them, by reason, and the words that single models remove from the shared
/// vocabulary.
fn departed(state: &State, relation: &RelationFinding) -> Vec<(String, String)> {
    let listed = |l: &LeftOut| (format!("{} left out", l.count), format!("{}: {}", l.reason, some(&l.what, l.count)));
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

/// The first entries of a list, with an ellipsis if there are more.
fn some(list: &[String], all: usize) -> String {
    let shown: Vec<&str> = list.iter().take(SHOWN).map(String::as_str).collect();
    format!("{}{}", shown.join(", "), if all > shown.len() { ", …" } else { "" })
}

/// Provenance of a number; `how` is the method of its interval, or empty.
fn of<T>(state: &State, what: String, number: &Tagged<T>, how: &str) -> Origin {
    let mut entries = vec![("spec".to_owned(), number.spec.clone()), ("model".into(), number.model.clone())];
    if let Some(d) = &results(state).data {
        let hashes: Vec<String> = d.value.models.iter().map(|m| format!("{} {}", m.name, m.hash)).collect();
        entries.push(("models".into(), hashes.join(", ")));
        entries.push(("data".into(), d.value.data_hash.clone()));
        entries.push(("answers".into(), d.value.candidates.name().into()));
    }
    entries.push(("seed".into(), number.seed.to_string()));
    entries.push(("n".into(), number.n.to_string()));
    if let Some(level) = number.level.filter(|_| !how.is_empty()) {
        entries.push(("interval".into(), format!("{how}, level {level}")));
    }
    entries.push(("state".into(), if number.is_final { "final" } else { "being refined" }.into()));
    if let Some(engine) = &state.board.engine {
        entries.push(("version".into(), engine.version.clone()));
        entries.push(("device".into(), engine.device.clone()));
    }
    Origin { what, entries, command: ran(state).map_or(String::new(), copying::shell_command) }
}
