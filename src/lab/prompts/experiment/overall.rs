//! Results over all relations: ranks, spreads and ledgers, and interim ranks.

use super::bench::Bench;
use super::{Gathered, Spread, pairs};
use crate::Host;
use crate::consistency::{Draws, Panel, Regime, Tally};
use crate::finding::{ALL, Kind, LedgerFinding, PreferenceSummaryFinding, RankConsistencyFinding, RankCurveFinding};
use crate::ledger::ledger;
use crate::places::Ties;
use crate::preference::{DIFFERENCE, LARGE, SHARE, STD, is_over};
use crate::ranked::COUNTED;
use base::Problem;
use lab::fault::Fault;
use lab::host::NoticeLevel;
use stats::estimate::Estimate;
use stats::intervals::{largest_share, share};
use stats::paired::mean_within;

/// Number of draws for interim ranks.
const MEANWHILE: usize = 200;
/// Number of draws between two reports.
const STEP: usize = 250;
/// Number of draws per point on the curve against the number of prompts.
const CURVE: usize = 300;
/// Maximum number of complete model rankings whose counts are reported.
const ORDERS: usize = 20;

/// Reports interim ranks over the relations so far, a few times per run. Each draw takes the same share of these relations as in the final
/// result.
pub(crate) fn meanwhile(
    bench: &Bench,
    gathered: &Gathered,
    (done, all): (usize, usize),
    host: &mut Host<'_>,
) -> Result<(), Fault> {
    let panel = &gathered.panel;
    let due = all >= 8 && done < all && done.is_multiple_of((all / 8).max(1));
    if !due || panel.relations() < 4 || all < bench.spec.ranks.subset {
        return Ok(());
    }
    let wanted = bench.spec.ranks.draws(bench.spec.seed);
    let subset = (wanted.subset * panel.relations()).div_ceil(all).clamp(1, panel.relations());
    let draws = Draws { subset, count: MEANWHILE.min(wanted.count), ..wanted };
    let tallies = drawn(panel, &draws, host)?;
    tell_ranks(bench, gathered, &draws, &tallies, false, host)
}

fn drawn(panel: &Panel, draws: &Draws, host: &mut Host<'_>) -> Result<[Tally; 3], Fault> {
    let mut tallies = [(); 3].map(|()| Tally::new(panel.models()));
    let mut from = 0;
    while from < draws.count {
        let to = (from + STEP).min(draws.count);
        add(&mut tallies, &panel.draw(draws, from..to));
        host.poll()?;
        from = to;
    }
    Ok(tallies)
}

fn add(tallies: &mut [Tally; 3], places: &[[Vec<u32>; 3]]) {
    for draw in places {
        tallies.iter_mut().zip(draw).for_each(|(tally, places)| tally.add(places));
    }
}

pub(crate) fn conclude(bench: &Bench, gathered: &Gathered, host: &mut Host<'_>) -> Result<(), Fault> {
    if gathered.panel.relations() == 1 {
        let what = "only one relation is usable: intervals over relations span all possible values";
        let hint = "add relations; intervals over the instances of the relation remain valid".into();
        let problem = Problem { what: what.into(), r#where: "data.relations".into(), hint };
        host.notice(NoticeLevel::Warning, problem)?;
    }
    // A single prompt has no spread, so a gap of 0 is meaningless.
    let asked = bench.entries.iter().filter(|e| !e.facts.is_empty());
    if gathered.panel.relations() > 0 && asked.clone().all(|e| e.prompts.len() < 2) {
        let what = "every relation has a single prompt: the gap, the standard deviation and counts based on them are 0 by definition";
        let hint = "add prompts; until then the held-out gap and the gap by chance are n/a".into();
        let problem = Problem { what: what.into(), r#where: "data.prompts".into(), hint };
        host.notice(NoticeLevel::Warning, problem)?;
    }
    if gathered.panel.relations() > 0 && asked.clone().all(|e| e.facts.iter().all(|f| f.names.len() < 2)) {
        let what = "stability is n/a: no subject has a second name";
        let hint = "raise `data.mentions`, or add facts whose subjects have several names".into();
        let problem = Problem { what: what.into(), r#where: "data.mentions".into(), hint };
        host.notice(NoticeLevel::Warning, problem)?;
    }
    summaries(bench, gathered, host)?;
    ranks(bench, gathered, host)?;
    ledgers(bench, gathered, host)
}

fn ranks(bench: &Bench, gathered: &Gathered, host: &mut Host<'_>) -> Result<(), Fault> {
    let (panel, draws) = (&gathered.panel, bench.spec.ranks.draws(bench.spec.seed));
    if panel.relations() < draws.subset {
        let what = format!(
            "rank consistency is n/a: a draw needs {} relations, and {} are usable",
            draws.subset,
            panel.relations()
        );
        let hint = "lower `ranks.subset`, or add relations".into();
        return Ok(host.notice(NoticeLevel::Warning, Problem { what, r#where: "ranks.subset".into(), hint })?);
    }
    let mut tallies = [(); 3].map(|()| Tally::new(panel.models()));
    let mut from = 0;
    while from < draws.count {
        let to = (from + STEP).min(draws.count);
        add(&mut tallies, &panel.draw(&draws, from..to));
        host.beat(to, draws.count)?;
        from = to;
        if from < draws.count {
            tell_ranks(bench, gathered, &draws, &tallies, false, host)?;
        }
    }
    tell_ranks(bench, gathered, &draws, &tallies, true, host)?;
    for prompts in 1..=panel.most_prompts() {
        let draws = Draws { count: draws.count.min(CURVE), ..draws };
        let tally = panel.draw_prompts(&draws, prompts);
        let most: u64 = (0..panel.models()).map(|k| tally.most(k)).sum();
        let found = RankCurveFinding {
            prompts,
            consistency: largest_share(tally.order().0, tally.draws, bench.spec.interval.level),
            mean_place: most as f64 / (tally.draws * panel.models() as u64) as f64,
            histograms: (0..panel.models()).map(|k| tally.histogram(k, draws.ties)).collect(),
            draws: tally.draws,
            candidates: bench.candidates(),
        };
        let t = host.elapsed();
        host.find(bench.label.finding(gathered.instances, true, t, Kind::RankCurve(found)))?;
        host.poll()?;
    }
    Ok(())
}

fn tell_ranks(
    bench: &Bench,
    gathered: &Gathered,
    draws: &Draws,
    tallies: &[Tally; 3],
    is_final: bool,
    host: &mut Host<'_>,
) -> Result<(), Fault> {
    for (regime, drawn) in Regime::ALL.into_iter().zip(tallies) {
        let counted = if is_final { gathered.panel.enumerate(regime, draws, COUNTED) } else { None };
        let exact = counted.is_some();
        let tally = counted.as_ref().unwrap_or(drawn);
        let level = bench.spec.interval.level;
        let share = |most: u64| match exact {
            true => Estimate::exact(most as f64 / tally.draws as f64),
            false => largest_share(most, tally.draws, level),
        };
        let base = RankConsistencyFinding {
            regime,
            consistency: Estimate::exact(0.0),
            draws: tally.draws,
            subset: draws.subset,
            relations: gathered.panel.relations(),
            histogram: Vec::new(),
            step: 1.0,
            ties: draws.ties,
            exact,
            order: None,
            orders: None,
            candidates: bench.candidates(),
        };
        for (k, member) in bench.members.iter().enumerate() {
            let found = RankConsistencyFinding {
                consistency: share(tally.most(k)),
                histogram: tally.histogram(k, draws.ties),
                step: if draws.ties == Ties::MeanPlace { 0.5 } else { 1.0 },
                ..base.clone()
            };
            let t = host.elapsed();
            host.find(member.label.finding(gathered.instances, is_final, t, Kind::RankConsistency(found)))?;
        }
        let (most, orders) = tally.order();
        let mut histogram = tally.counts();
        histogram.truncate(ORDERS);
        let order = orders.first().map(|places| by_place(places, bench));
        let orders = Some(tally.orders());
        let found = RankConsistencyFinding { consistency: share(most), histogram, order, orders, ..base };
        let t = host.elapsed();
        host.find(bench.label.finding(gathered.instances, is_final, t, Kind::RankConsistency(found)))?;
    }
    Ok(())
}

/// Names of the models, lowest rank first.
fn by_place(places: &[u32], bench: &Bench) -> Vec<String> {
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_by_key(|k| places[*k]);
    order.into_iter().map(|k| bench.members[k].name.clone()).collect()
}

fn summaries(bench: &Bench, gathered: &Gathered, host: &mut Host<'_>) -> Result<(), Fault> {
    let relations = gathered.panel.relations();
    if relations == 0 {
        return Ok(());
    }
    let level = bench.spec.interval.level;
    let mut over_in_all = 0;
    for (member, spreads) in bench.members.iter().zip(&gathered.spreads) {
        // The mean is over the relations for which this number exists.
        let mean = |within: (f64, f64), of: fn(&Spread) -> Option<f64>| {
            let list: Vec<f64> = spreads.iter().filter_map(of).collect();
            (!list.is_empty()).then(|| mean_within(&list, within, level))
        };
        let over = spreads.iter().filter(|s| is_over(s.over.gap, LARGE)).count();
        over_in_all += over;
        let found = PreferenceSummaryFinding {
            relations,
            over_10: share(over as u64, relations as u64, level),
            relations_over_10: over,
            mean_worst: mean(SHARE, |s| Some(s.over.worst)),
            mean_best: mean(SHARE, |s| Some(s.over.best)),
            mean_gap: mean(SHARE, |s| Some(s.over.gap)),
            mean_std: mean(STD, |s| Some(s.over.std)),
            mean_adjusted: mean(SHARE, |s| Some(s.adjusted)),
            mean_gap_held_out: mean(DIFFERENCE, |s| s.corrected_gap.map(|h| h.held_out.mean)),
            mean_gap_by_chance: mean(SHARE, |s| s.corrected_gap.map(|h| h.by_chance.mean)),
            mean_stability: mean(SHARE, |s| s.stability),
            unstable: None,
            unstable_relations: None,
            candidates: bench.candidates(),
        };
        let t = host.elapsed();
        host.find(member.label.finding(relations, true, t, Kind::PreferenceSummary(found)))?;
    }
    let unstable = gathered.unstable.iter().filter(|u| **u).count();
    let all = relations * bench.members.len();
    let found = PreferenceSummaryFinding {
        relations,
        over_10: share(over_in_all as u64, all as u64, level),
        relations_over_10: over_in_all,
        mean_worst: None,
        mean_best: None,
        mean_gap: None,
        mean_std: None,
        mean_adjusted: None,
        mean_gap_held_out: None,
        mean_gap_by_chance: None,
        mean_stability: None,
        unstable: Some(share(unstable as u64, relations as u64, level)),
        unstable_relations: Some(unstable),
        candidates: bench.candidates(),
    };
    let t = host.elapsed();
    Ok(host.find(bench.label.finding(relations, true, t, Kind::PreferenceSummary(found)))?)
}

fn ledgers(bench: &Bench, gathered: &Gathered, host: &mut Host<'_>) -> Result<(), Fault> {
    let relations = gathered.panel.relations();
    if relations == 0 {
        return Ok(());
    }
    for ((a, b), list) in pairs(bench.members.len()).into_iter().zip(&gathered.parts) {
        let Some(parts) = ledger(list, bench.spec.interval.level) else { continue };
        let (a, b) = (&bench.members[a], &bench.members[b]);
        let found = LedgerFinding {
            a: a.name.clone(),
            b: b.name.clone(),
            draws: bench.spec.ledger.draws,
            relations,
            candidates: bench.candidates(),
            parts,
        };
        let t = host.elapsed();
        debug_assert_ne!(a.name, ALL, "a model with this name would be mistaken for all of them");
        host.find(a.label.finding(gathered.instances, true, t, Kind::Ledger(found)))?;
        host.poll()?;
    }
    Ok(())
}
