//! Which method is the more reliable, how sure that is, what turns it, and the front of all settings.

use super::prepare::Bench;
use super::sweep::{Concluded, Sweep};
use crate::lab::fault::Fault;
use crate::lab::host::Host;
use crate::lab::interventions::finding::{Kind, ReliabilityFinding};
use crate::lab::interventions::front::FrontFinding;
use crate::lab::interventions::optimum::Draws;
use crate::lab::interventions::oracle::OracleKind;
use crate::lab::interventions::ranking::Ranking;
use crate::lab::interventions::verdict::{RankingFinding, VersusFinding};

/// Compares all methods under every oracle, and then all their settings. `concluded` is by method, then by oracle.
///
/// # Errors
/// [`Fault`].
pub fn compare(
    bench: &Bench,
    sweeps: &[Sweep],
    concluded: &[Vec<Concluded>],
    host: &mut dyn Host,
) -> Result<(), Fault> {
    let kinds: Vec<OracleKind> = bench.panels[0].oracles.iter().map(|o| o.kind).collect();
    let seed = bench.spec.probe.training_seed();
    let under = |o: usize| -> Ranking {
        let draws: Vec<&Draws> = concluded.iter().filter_map(|c| c.get(o)).map(|c| &c.draws).collect();
        Ranking::new(&draws, seed)
    };
    let rankings: Vec<Ranking> = (0..kinds.len()).map(under).collect();
    for (o, kind) in kinds.iter().enumerate() {
        let mut turned: Vec<(String, Vec<(usize, usize)>)> = Vec::new();
        for (other, name) in kinds.iter().enumerate().filter(|(other, _)| *other != o) {
            turned.push((format!("{name} oracle"), rankings[o].turns(&rankings[other])));
        }
        for r in 0..concluded.iter().filter_map(|c| c.get(o)).map(|c| c.rivals.len()).min().unwrap_or(0) {
            let draws: Vec<&Draws> =
                concluded.iter().filter_map(|c| c.get(o)).map(|c| &c.rivals[r]).collect();
            turned.push((format!("recipe {}", r + 1), rankings[o].turns(&Ranking::new(&draws, seed))));
        }
        report(bench, sweeps, *kind, &rankings[o], &turned, host)?;
        let points: Vec<&ReliabilityFinding> =
            concluded.iter().filter_map(|c| c.get(o)).flat_map(|c| &c.points).collect();
        if let Some(front) = FrontFinding::of(&points) {
            let n = bench.test.len();
            host.find(bench.label.finding(n, true, host.elapsed(), Kind::Front(front)))?;
        }
    }
    Ok(())
}

fn report(
    bench: &Bench,
    sweeps: &[Sweep],
    oracle: OracleKind,
    ranking: &Ranking,
    turned: &[(String, Vec<(usize, usize)>)],
    host: &mut dyn Host,
) -> Result<(), Fault> {
    let key = |i: usize| sweeps[i].named().key.clone();
    let n = bench.test.len();
    // Every pair once, the one that stands higher first.
    for (place, a) in ranking.order.iter().enumerate() {
        for b in &ranking.order[place + 1..] {
            let turns =
                turned.iter().filter(|(_, pairs)| pairs.contains(&(*a, *b)) || pairs.contains(&(*b, *a)));
            let body = Kind::Versus(VersusFinding {
                a: key(*a),
                b: key(*b),
                oracle,
                p_greater: ranking.better[*a][*b],
                turns_with: turns.map(|(name, _)| name.clone()).collect(),
            });
            host.find(bench.label.finding(n, true, host.elapsed(), body))?;
        }
    }
    let body = Kind::Ranking(RankingFinding {
        oracle,
        order: ranking.order.iter().map(|i| key(*i)).collect(),
        places: ranking.order.iter().map(|i| ranking.places[*i].clone()).collect(),
        stability: ranking.stability,
        replicates: bench.replicates(),
    });
    Ok(host.find(bench.label.finding(n, true, host.elapsed(), body))?)
}
