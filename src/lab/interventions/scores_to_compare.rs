//! The scores that are compared between runs.

use super::Results;
use super::answer::{oracle_name, words};
use super::doubts::distrusts;
use super::finding::{OptimumFinding, ReliabilityFinding};
use super::results::Curve;
use base::numbers::short;
use figure::layers::Count;
use lab::Tagged;
use lab::compared::{Number, StandIn};

/// R, C and S of every method at its best strength.
pub(crate) fn numbers(results: &Results) -> Vec<Number> {
    let of = |o: &Tagged<OptimumFinding>| {
        let v = &o.value;
        let method = v.method_key().title();
        let (c, s) = results.counts(o);
        let both = if c == s { Count::from(c) } else { (c, s).into() };
        let distrusted = distrusts(results, &o.model, v.oracle);
        let parts = [("R", v.reliability, both), ("C", v.completeness, c.into()), ("S", v.selectivity, s.into())];
        parts.map(|(name, value, n)| Number {
            name: format!("{name} of {method}"),
            group: format!("{}, {}", o.model, oracle_name(v.oracle)),
            value: value.reported(v.how.replicates),
            n,
            level: o.level.unwrap_or(0.95),
            unit: (1.0, ""),
            distrusted,
            stands_in: None,
        })
    };
    let at_strengths = results.curves.iter().flat_map(|curve| at_strengths(results, curve));
    results.optima.iter().flat_map(of).chain(at_strengths).collect()
}

/// Number of strengths at which runs are compared if one of them has no best strength.
const STRENGTHS: usize = 5;

/// C, S and R of a curve at some of its strengths, evenly spaced in the sweep. They stand in for scores at the best strength.
fn at_strengths(results: &Results, curve: &Curve) -> Vec<Number> {
    let (key, last) = (&curve.key, curve.points.len().saturating_sub(1));
    let none = results.no_optimum(&key.model, &key.method, key.oracle);
    // The numbers in brackets differ between methods; without them, methods with the same reason are listed together.
    let why = none.map_or(String::new(), |w| w.value.reason.split(" (").next().unwrap_or_default().to_owned());
    let who = format!("{} ({})", key.method.title(), oracle_name(key.oracle));
    let distrusted = distrusts(results, &key.model, key.oracle);
    let mut places: Vec<usize> = (0..STRENGTHS).map(|i| i * last / (STRENGTHS - 1)).collect();
    places.dedup();
    // At strength 0 all methods of a goal have the same scores, which would count several times.
    let points = places.into_iter().filter_map(|at| curve.points.get(at)).filter(|point| point.value.value > 0.0);
    let of = |point: &Tagged<ReliabilityFinding>| {
        let p = &point.value;
        let both = if p.n_c == p.n_s { Count::from(p.n_c) } else { (p.n_c, p.n_s).into() };
        let is_uncounted = none.is_some() || p.beside.eligible == Some(false);
        let parts = [
            ("R", p.reliability, both, is_uncounted),
            ("C", p.completeness, p.n_c.into(), false),
            ("S", p.selectivity, p.n_s.into(), is_uncounted),
        ];
        parts.map(|(name, value, n, uncounted)| {
            let of = format!("{name} of {}", key.method.title());
            Number {
                name: format!("{of} at {} {}", words(&p.parameter), short(p.value)),
                group: format!("{}, {}", key.model, oracle_name(key.oracle)),
                value: value.reported(p.beside.replicates),
                n,
                level: point.level.unwrap_or(0.95),
                unit: (1.0, ""),
                distrusted: distrusted || uncounted,
                stands_in: Some(StandIn { of, who: who.clone(), why: why.clone() }),
            }
        })
    };
    points.flat_map(of).collect()
}
