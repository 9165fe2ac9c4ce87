//! Queries every model about one relation, and reports the results.

use super::bench::{Bench, Entry, LISTED, Scored};
use super::early::Early;
use super::forecast::Seconds;
use super::{Gathered, Spread, pairs, perplexity, tuning};
use crate::Host;
use crate::adjust::{Weights, adjusted, by_instance, sample};
use crate::answers::Answers;
use crate::exact::Exact;
use crate::finding::{
    AdjustedFinding, DataFinding, Kind, ModelNote, PromptPreferenceFinding, PromptScoreFinding, RelationFinding,
    VerbalizationFinding,
};
use crate::ledger::parts;
use crate::library::Relation;
use crate::preference::{CorrectedGap, Preference, bounded, corrected_gap, is_unstable, mean_of_shares, stability};
use crate::spec::{Sharing, Weighting};
use crate::vocabulary::{Words, taken};
use base::Problem;
use lab::fault::{Fault, problem};
use lab::host::NoticeLevel;
use model::Model;
use stats::estimate::Estimate;
use stats::intervals::share;

/// The form of query that suits a model.
fn asked(model: &Model) -> &'static str {
    let arch = model.arch();
    match (arch.decoder.is_some(), arch.is_causal()) {
        (true, _) => "denoising",
        (false, true) => "causal",
        (false, false) => "masked",
    }
}

/// Reports models, relations and facts.
pub(crate) fn report_data(bench: &Bench, host: &mut Host<'_>) -> Result<(), Fault> {
    let words: Vec<&Words> = bench.members.iter().map(|m| &m.words).collect();
    let taken = taken(&words, &bench.function_words);
    let note = |(m, taken): (&super::bench::Member, &Vec<String>)| ModelNote {
        name: m.name.clone(),
        hash: m.model.hash().get(..12).unwrap_or(m.model.hash()).to_owned(),
        asked: asked(&m.model).into(),
        words_taken: taken.len(),
        taken: taken.iter().take(LISTED).cloned().collect(),
    };
    let data = DataFinding {
        sources: bench.library.sources.clone(),
        data_hash: bench.library.hash(),
        relations: bench.library.relations.iter().map(|r| r.id.clone()).collect(),
        left_out: bench.library.left_out.clone(),
        models: bench.members.iter().zip(&taken).map(note).collect(),
        candidates: bench.spec.query.candidates,
        common_words: bench.common.words.len(),
        function_words: bench.function_words.sorted().len(),
    };
    let facts = bench.library.relations.iter().map(|r| r.facts.len()).sum();
    let t = host.elapsed();
    Ok(host.find(bench.label.finding(facts, true, t, Kind::Data(data)))?)
}

/// Queries every model about a relation, reports the results and collects them. `seconds` is the estimated time of each stage. With
/// `early`, the scores of a model are reported as soon as it has answered.
pub(crate) fn investigate(
    bench: &mut Bench,
    relation: &Relation,
    (seconds, early): (&Seconds, Option<&Early>),
    gathered: &mut Gathered,
    host: &mut Host<'_>,
) -> Result<(), Fault> {
    tuning::search(bench, relation, seconds.search, host)?;
    let prompts = bench.prompts(relation);
    let facts = bench.facts(relation);
    let mut replies = Vec::with_capacity(bench.members.len());
    for (k, seconds) in seconds.asks.iter().enumerate() {
        host.stage(format!("{}: {}", relation.id, bench.members[k].name), "queries", *seconds);
        let asked = bench.ask(k, relation, &prompts.0, &facts, host)?;
        early.map_or(Ok(()), |early| early.tell_all(bench, k, &asked, host))?;
        replies.push(asked);
    }
    let at = bench.enter(relation.clone(), prompts, facts, &replies)?;
    let weights = weights(bench, at, &seconds.weights, host)?;
    let entry = &bench.entries[at];
    report_relation(bench, entry, Some(&weights), host)?;
    if entry.facts.is_empty() || entry.prompts.is_empty() {
        let (what, help) = match entry.prompts.is_empty() {
            true => ("prompt", "other prompts or models may help"),
            false => (
                "instance",
                "other models or facts may help; `query.candidates = \"relation_pll\"` allows multi-token objects",
            ),
        };
        let what = format!("{}: no {what} can be used with all models", relation.id);
        let hint = format!("the list of relations gives the reason; {help}");
        host.notice(NoticeLevel::Warning, Problem { what, r#where: "relation".into(), hint })?;
        return Ok(());
    }
    let mut averages = Vec::new();
    for (k, seconds) in seconds.intervals.iter().enumerate() {
        host.stage(format!("{}: intervals, {}", relation.id, bench.members[k].name), "models", *seconds);
        averages.push(report_model(bench, (entry, k), &weights, gathered, host)?);
        host.beat(1, 1)?;
    }
    gather(bench, entry, &weights, &averages, gathered);
    tuning::report(bench, entry, host)
}

fn weights(bench: &Bench, at: usize, seconds: &[f64], host: &mut Host<'_>) -> Result<Weights, Fault> {
    let entry = &bench.entries[at];
    let uniform = Weights::uniform(entry.prompts.len());
    let adjust = &bench.spec.adjust;
    if entry.facts.is_empty() || entry.prompts.is_empty() {
        return Ok(uniform);
    }
    match adjust.weights {
        Weighting::Uniform => Ok(uniform),
        Weighting::User => {
            let Some(user) = adjust.user.get(&entry.relation.id) else { return Ok(uniform) };
            let told = |e: &dyn std::fmt::Display| {
                problem(&format!("{}: {e}", entry.relation.id), "adjust.user", "correct the weights of this relation")
            };
            let weights = user.weights().map_err(|e| told(&e))?;
            weights.fit(&entry.scored[0].answers).map_err(|e| told(&e))?;
            Ok(weights)
        }
        Weighting::Perplexity => {
            let list = perplexity::weights(bench, entry, seconds, host)?;
            Ok(Weights::of_prompts(&list).map_err(|e| problem(&e, &entry.relation.id, "use uniform weights"))?)
        }
    }
}

/// Reports the prompts and facts used for a relation. `weights` are known once all models have answered.
pub(crate) fn report_relation(
    bench: &Bench,
    entry: &Entry,
    weights: Option<&Weights>,
    host: &mut Host<'_>,
) -> Result<(), Fault> {
    let finding = RelationFinding {
        relation: entry.relation.id.clone(),
        label: entry.relation.label.clone(),
        relation_kind: entry.relation.kind.clone(),
        prompts: entry.prompts.clone(),
        facts: entry.facts.len() + entry.left_out.len(),
        kept: entry.facts.len(),
        left_out: entry.reasons(),
        prompts_left_out: entry.prompts_left_out.clone(),
        mentions: entry.facts.iter().map(|f| f.names.len()).max().unwrap_or(0),
        weights: weights.filter(|_| !entry.prompts.is_empty()).map_or_else(Vec::new, Weights::shares),
        candidates: bench.candidates(),
    };
    let t = host.elapsed();
    let (n, is_final) = (entry.facts.len(), weights.is_some());
    Ok(host.find(bench.label.finding(n, is_final, t, Kind::Relation(finding)))?)
}

/// The score of one prompt, from the ranks and hits with the original mentions.
pub(crate) fn score(
    bench: &Bench,
    (relation, prompt, index): (&str, &str, Option<usize>),
    (right, ranks): (&[bool], &[Option<u32>]),
) -> PromptScoreFinding {
    let (n, level, k) = (right.len() as u64, bench.spec.interval.level, bench.spec.query.k);
    let among = |r: &Option<u32>| r.is_some_and(|r| r as usize <= k);
    let reciprocal: Vec<f64> = ranks.iter().map(|r| r.map_or(0.0, |r| 1.0 / f64::from(r))).collect();
    PromptScoreFinding {
        relation: relation.to_owned(),
        prompt: prompt.to_owned(),
        prompt_index: index,
        candidates: bench.spec.query.candidates,
        p_at_1: share(right.iter().filter(|r| **r).count() as u64, n, level),
        p_at_k: share(ranks.iter().filter(|r| among(r)).count() as u64, n, level),
        k,
        mrr: mean_of_shares(&reciprocal, level),
    }
}

/// Reports all results of one model on a relation, and returns its adjusted score.
fn report_model(
    bench: &Bench,
    (entry, k): (&Entry, usize),
    weights: &Weights,
    gathered: &mut Gathered,
    host: &mut Host<'_>,
) -> Result<Exact, Fault> {
    let (member, Scored { answers, ranks }) = (&bench.members[k], &entry.scored[k]);
    let (n, level, id) = (entry.facts.len(), bench.spec.interval.level, entry.relation.id.as_str());
    let mut tell = |n: usize, kind: Kind| {
        let t = host.elapsed();
        host.find(member.label.finding(n, true, t, kind))
    };
    for (p, prompt) in entry.prompts.iter().enumerate() {
        let places: Vec<usize> = (0..n).map(|i| answers.shape.at(p, i, 0)).collect();
        let right: Vec<bool> = places.iter().map(|at| answers.right[*at]).collect();
        let ranks: Vec<Option<u32>> = places.iter().map(|at| ranks[*at]).collect();
        let found = score(bench, (id, prompt, Some(p)), (&right, &ranks));
        tell(n, Kind::PromptScore(found))?;
    }
    let fair = corrected_gap(answers, level, bench.spec.seed);
    if let Some([worst, best, gap, std, mean]) = bounded(answers, level) {
        let ends = |of: fn(&CorrectedGap) -> Estimate| fair.as_ref().map(|f| [of(f).lo, of(f).hi]);
        let found = PromptPreferenceFinding {
            relation: id.to_owned(),
            prompts: entry.prompts.len(),
            worst,
            best,
            gap,
            std,
            mean,
            gap_held_out: fair.map(|f| f.held_out.mean),
            gap_held_out_interval: ends(|f| f.held_out),
            gap_by_chance: fair.map(|f| f.by_chance.mean),
            gap_by_chance_interval: ends(|f| f.by_chance),
            candidates: bench.candidates(),
        };
        tell(n, Kind::PromptPreference(found))?;
    }
    let most = bench.spec.data.mentions;
    let stable = stability(answers, 0, most);
    let share = (stable.kept > 0).then(|| share(stable.stable, stable.kept, level));
    let kept = stable.kept as usize;
    let found = VerbalizationFinding {
        relation: id.to_owned(),
        stability: share,
        kept,
        mentions: most,
        candidates: bench.candidates(),
    };
    tell(kept, Kind::Verbalization(found))?;

    let (part, weights) = averaged(bench, entry, answers, weights);
    let exact = adjusted(&part, &weights).unwrap_or_default();
    let spread = mean_of_shares(&by_instance(&part, &weights), level);
    let found = AdjustedFinding {
        relation: id.to_owned(),
        p_at_1: Estimate { mean: exact.value(), ..spread },
        prompts: part.shape.prompts(),
        mentions: part.shape.most_mentions(),
        weights: bench.spec.adjust.weights,
        candidates: bench.candidates(),
    };
    tell(n, Kind::Adjusted(found))?;
    if let Some(over) = Preference::of(&answers.p_at_1()) {
        let (adjusted, stability) = (exact.value(), share.map(|s| s.mean));
        gathered.spreads[k].push(Spread { over, adjusted, corrected_gap: fair, stability });
    }
    Ok(exact)
}

/// The answers that the adjusted score averages, with their weights: all answers, or a K × K sample.
fn averaged(bench: &Bench, entry: &Entry, answers: &Answers, weights: &Weights) -> (Answers, Weights) {
    let adjust = &bench.spec.adjust;
    if adjust.prompts.is_none() && adjust.mentions.is_none() {
        return (answers.clone(), weights.clone());
    }
    let seed = (bench.spec.seed, entry.relation.id.as_str());
    let (prompts, mentions) = sample(answers, adjust.prompts, adjust.mentions, seed);
    (answers.part(&prompts, &mentions), weights.part(&prompts))
}

/// Collects the data for ranks and ledgers.
fn gather(bench: &Bench, entry: &Entry, weights: &Weights, averages: &[Exact], gathered: &mut Gathered) {
    let answers = |k: usize| &entry.scored[k].answers;
    let models = bench.members.len();
    let shared = bench.spec.ledger.draws == Sharing::Shared;
    // Draws use the same prompts and mentions as the adjusted score, so that their mean is the adjusted gap.
    let drawn: Vec<(Answers, Weights)> = (0..models).map(|k| averaged(bench, entry, answers(k), weights)).collect();
    for (list, (a, b)) in gathered.parts.iter_mut().zip(pairs(models)) {
        list.extend(parts(&drawn[a].0, &drawn[b].0, &drawn[a].1, shared));
    }
    let by_model: Vec<Vec<f64>> = (0..models).map(|k| answers(k).p_at_1()).collect();
    let by_prompt: Vec<Vec<f64>> = (0..entry.prompts.len()).map(|p| by_model.iter().map(|m| m[p]).collect()).collect();
    gathered.unstable.push(is_unstable(&by_prompt, bench.spec.ranks.ties));
    gathered.instances += entry.facts.len();
    let all = (0..models).map(|k| answers(k).clone()).collect();
    let adjust = &bench.spec.adjust;
    match adjust.prompts.is_none() && adjust.mentions.is_none() {
        true => gathered.panel.push(all, weights),
        false => gathered.panel.push_adjusted(all, averages),
    }
}
