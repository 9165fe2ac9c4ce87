//! Comparison of methods by reliability, with its certainty and the changes that reverse it, and the front of all settings.

use super::prepare::Bench;
use super::sweep::{Concluded, Sweep};
use crate::Host;
use crate::answer::oracle_name;
use crate::finding::{Kind, ReliabilityFinding};
use crate::front::FrontFinding;
use crate::optimum::Draws;
use crate::oracle::OracleKind;
use crate::ranking::{Ranking, contrast};
use crate::verdict::{RankingFinding, VersusFinding};
use base::numbers::short;
use lab::Head;
use lab::LabId;
use lab::family::{ALPHA, Comparison};
use lab::fault::Fault;
use stats::corrections::holm;
use stats::mcnemar;
use stats::replicates::Contrast;

/// Power at which a difference counts as detectable.
const POWER: f64 = 0.8;

/// Compares all methods under every oracle, then all their settings. `concluded` is indexed by method, then by oracle.
pub(crate) fn compare(
    bench: &Bench,
    sweeps: &[Sweep],
    concluded: &[Vec<Concluded>],
    host: &mut Host<'_>,
) -> Result<(), Fault> {
    let kinds: Vec<OracleKind> = bench.panels[0].oracles.iter().map(|o| o.kind).collect();
    let seed = bench.spec.probe.seed;
    let draws_under =
        |o: usize| -> Vec<&Draws> { concluded.iter().filter_map(|c| c.get(o)).map(|c| &c.draws).collect() };
    let rankings: Vec<Ranking> = (0..kinds.len()).map(|o| Ranking::new(&draws_under(o), seed)).collect();
    for (o, kind) in kinds.iter().enumerate() {
        let mut turned: Vec<(String, Vec<(usize, usize)>)> = Vec::new();
        for (other, name) in kinds.iter().enumerate().filter(|(other, _)| *other != o) {
            turned.push((format!("{name} oracle"), rankings[o].turns(&rankings[other])));
        }
        for r in 0..concluded.iter().filter_map(|c| c.get(o)).map(|c| c.rivals.len()).min().unwrap_or(0) {
            let draws: Vec<&Draws> = concluded.iter().filter_map(|c| c.get(o)).map(|c| &c.rivals[r]).collect();
            turned.push((format!("recipe {}", r + 1), rankings[o].turns(&Ranking::new(&draws, seed))));
        }
        report(bench, sweeps, *kind, (&rankings[o], &draws_under(o)), &turned, host)?;
        let points: Vec<&ReliabilityFinding> =
            concluded.iter().filter_map(|c| c.get(o)).flat_map(|c| &c.points).collect();
        if let Some(front) = FrontFinding::of(&points) {
            let n = bench.test.len();
            host.find(bench.label.finding(n, true, host.elapsed(), Kind::Front(front)))?;
        }
    }
    Ok(())
}

/// The comparison in a finding: two methods under an oracle, or the model's answers before and after an intervention.
pub(crate) fn compared(finding: Head<'_>, kind: &Kind) -> Option<Comparison> {
    let about = |question: String, what: String, test: &str| Comparison {
        n: finding.n,
        ..Comparison::of(LabId::Interventions, finding.spec, question, what, test)
    };
    match kind {
        Kind::Versus(v) => {
            let question = format!("reliability, {}, {}", oracle_name(v.oracle), finding.model);
            let what = format!("{} against {}: {question}", v.a.title(), v.b.title());
            let test = match v.difference {
                Some(_) => "paired t over training runs and examples",
                None => "bootstrap paired over examples and training runs",
            };
            Some(Comparison { p: v.p?, ..about(question, what, test) })
        }
        Kind::Behaviour(b) if finding.r#final => {
            let told = b.told.as_ref()?;
            let question = format!("preference for the correct form, after vs. before the edit, {}", finding.model);
            let method = b.method_key().title();
            let least = mcnemar::exact(told.lost + told.won, 0);
            // Recordings made by older versions have no test of the whole sweep, so each strength is a separate comparison.
            let Some(p) = told.sweep_p else {
                let what = format!("{method} at {} {}: {question}", b.parameter, short(b.value));
                return Some(Comparison { p: told.p, least, ..about(question, what, "exact McNemar") });
            };
            let test = "max-T over the strengths, paired";
            let about = about(question.clone(), format!("{method}: {question}"), test);
            Some(Comparison { p, least, curve: vec![(b.value, told.p)], ..about })
        }
        _ => None,
    }
}

fn report(
    bench: &Bench,
    sweeps: &[Sweep],
    oracle: OracleKind,
    (ranking, draws): (&Ranking, &[&Draws]),
    turned: &[(String, Vec<(usize, usize)>)],
    host: &mut Host<'_>,
) -> Result<(), Fault> {
    let key = |i: usize| sweeps[i].named().key.clone();
    let n = bench.test.len();
    // Every pair once, the higher-ranked method first.
    let order = ranking.order.iter().enumerate();
    let pairs: Vec<(usize, usize)> =
        order.flat_map(|(place, a)| ranking.order[place + 1..].iter().map(|b| (*a, *b))).collect();
    let contrasts: Vec<Option<Contrast>> = pairs.iter().map(|(a, b)| contrast(draws[*a], draws[*b])).collect();
    let tested: Vec<f64> = contrasts.iter().flatten().map(Contrast::p).collect();
    let mut adjusted = holm(&tested).into_iter();
    for ((a, b), contrast) in pairs.into_iter().zip(contrasts) {
        let turns = turned.iter().filter(|(_, pairs)| pairs.contains(&(a, b)) || pairs.contains(&(b, a)));
        let body = Kind::Versus(VersusFinding {
            a: key(a),
            b: key(b),
            oracle,
            p_greater: ranking.better[a][b],
            difference: contrast.map(|c| c.interval(bench.label.level())),
            p: contrast.map(|c| c.p()),
            holm_p: contrast.and_then(|_| adjusted.next()),
            detectable: contrast.and_then(|c| c.detectable(ALPHA, POWER)),
            turns_with: turns.map(|(name, _)| name.clone()).collect(),
        });
        host.find(bench.label.finding(n, true, host.elapsed(), body))?;
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

#[cfg(test)]
mod tests {
    use super::*;

    fn compared_of(finding: &crate::Finding) -> Option<Comparison> {
        compared(finding.head(), finding.kind()?)
    }

    use crate::Spec;
    use crate::banded::Banded;
    use crate::finding::{BehaviourFinding, Told};
    use crate::key::MethodKey;
    use lab::finding::Label;
    use stats::Estimate;

    #[test]
    fn verdicts_and_final_behaviour_count_as_comparisons() {
        let label = Label::new(&Spec::shipped(), "bert-mini");
        let (a, b) = (MethodKey::named("pgd"), MethodKey::named("inlp"));
        let oracle = OracleKind::Mlp;
        let difference = Some(Estimate { mean: 0.1, lo: 0.01, hi: 0.19 });
        let versus = VersusFinding {
            a,
            b,
            oracle,
            p_greater: 0.98,
            difference,
            p: Some(0.04),
            holm_p: Some(0.08),
            detectable: None,
            turns_with: Vec::new(),
        };
        let joined = compared_of(&label.finding(2400, true, 1.0, Kind::Versus(versus))).unwrap();
        assert_eq!(
            (joined.what.as_str(), joined.question.as_str(), joined.p),
            ("PGD against INLP: reliability, MLP oracle, bert-mini", "reliability, MLP oracle, bert-mini", 0.04)
        );
        let some: Banded = Estimate::exact(0.5).into();
        let behaviour = |told| {
            Kind::Behaviour(BehaviourFinding {
                method: "pgd".into(),
                options: Default::default(),
                layer: 3,
                parameter: "epsilon".into(),
                value: 0.112,
                flip_rate: some,
                correct_before: some,
                correct_after: some,
                replicates: 1,
                told,
            })
        };
        let (rank_before, rank_after) = (some, some);
        let one = Told { rank_before, rank_after, forms: 90, lost: 9, won: 1, p: 0.02, sweep_p: None };
        let told = Some(Told { sweep_p: Some(0.03), ..one.clone() });
        let joined = compared_of(&label.finding(2400, true, 1.0, behaviour(told.clone()))).unwrap();
        assert_eq!((joined.p, &joined.curve[..]), (0.03, &[(0.112, 0.02)][..]));
        assert!(
            joined.what.starts_with("PGD: preference for the correct form") && joined.least == 0.5f64.powi(9),
            "{joined:?}"
        );
        let old = compared_of(&label.finding(2400, true, 1.0, behaviour(Some(one)))).unwrap();
        assert!(old.what.starts_with("PGD at epsilon .112") && old.p == 0.02, "{old:?}");
        assert_eq!(compared_of(&label.finding(256, false, 1.0, behaviour(told))), None);
        assert_eq!(compared_of(&label.finding(2400, true, 1.0, behaviour(None))), None);
    }
}
