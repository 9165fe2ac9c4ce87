//! The tables that a run prints: data, probes, optima, each number with its interval.

mod map;
mod paper;

use crate::answer::{GOALS, goal_of, on_halves, oracle_name};
use crate::banded::{Banded, ENOUGH_TRAININGS, is_few};
use crate::figures::Rated;
use crate::finding::{DataFinding, OptimumFinding, ProbeFinding, ProbeRole};
use crate::key::MethodKey;
use crate::leak::Left;
use crate::oracle::OracleKind;
use crate::results::Results;
use crate::spec::Spec;
use crate::verdict::RankingFinding;
use base::numbers::{probability, short};
use base::text::{printable_label, section};
use lab::table::Table;
use lab::{LabSpec as _, Tagged};
use stats::estimate::Estimate;

pub(crate) fn summary(results: &Results, spec: &Spec) -> Vec<String> {
    let mut out = vec![printable_label(&format!(
        "{} on {}, target {}, seed {}",
        spec.subject(),
        spec.models.join(", "),
        spec.task.target,
        spec.seed,
    ))];
    for data in &results.data {
        out.push(String::new());
        out.extend(describe(data));
        section(&mut out, "Probes", &PROBE_HEAD, probes(results, &data.model));
        let level = results.curves.iter().flat_map(|c| &c.points).find_map(|p| p.level);
        let head = level.map_or("Highest reliability".to_owned(), |l| {
            let level = (l * 1e4).round() / 1e2;
            match trainings(results, &data.model) {
                few if is_few(few) => format!(
                    "Highest reliability (in parentheses: the values of {few} training runs, since an interval needs {ENOUGH_TRAININGS} or more; in brackets: {level} % intervals)"
                ),
                _ => format!("Highest reliability ({level} % intervals: over examples and training runs, then over examples only)"),
            }
        });
        section(&mut out, &head, &OPTIMUM_HEAD, optima(results, &data.model));
        section(&mut out, KEPT_TITLE, &KEPT_HEAD, kept(results, &data.model));
        section(&mut out, VERSUS_TITLE, &VERSUS_HEAD, verdicts(results, &data.model));
        section(&mut out, "Front of all settings", &FRONT_HEAD, fronts(results, &data.model));
        section(&mut out, DISTANCE_TITLE, &DISTANCE_HEAD, distances(results, &data.model));
        let head = "Accuracy of fresh probes after the edit (share of the accuracy above chance that remains)";
        section(&mut out, head, &LEAK_HEAD, leaks(results, &data.model));
        section(&mut out, LENS_TITLE, &LENS_HEAD, lens(results, &data.model));
        map::lines(&mut out, results, &data.model);
    }
    out
}

/// Number of training runs averaged in a model's best strengths.
fn trainings(results: &Results, model: &str) -> usize {
    results.optima.iter().find(|o| o.model == model).map_or(0, |o| o.value.how.replicates)
}

/// The tables of a run in the style of papers.
pub(crate) fn all(results: &Results) -> Vec<Table> {
    paper::tables(results).into_iter().chain(map::table(results)).collect()
}

fn describe(data: &Tagged<DataFinding>) -> Vec<String> {
    let d = &data.value;
    let line = format!(
        "{} (layer {} of {}, {} dimensions, {})  {} test examples, {} for interventions, {} of {} for oracles after decorrelation (phi {} to {})",
        data.model,
        d.layer,
        d.layers,
        d.dim,
        d.model_hash,
        d.n_test,
        d.n_intervention,
        d.n_oracle.1,
        d.n_oracle.0,
        score(d.phi.0),
        score(d.phi.1),
    );
    let further = d.further.iter().map(|f| {
        let (from, to) = (score(f.phi.0), score(f.phi.1));
        printable_label(&format!(
            "additional property {}: {} examples for its oracles (association with the target {from} to {to})",
            f.property, f.n_oracle
        ))
    });
    let source = d.source.as_ref().map(|s| printable_label(&format!("data {}", s.summary())));
    let tokens = d.tokens.as_ref().map(|t| {
        let [oracle, intervention, test] = t.texts;
        format!(
            "examples are tokens, at most {} per text: {test} test texts, {intervention} for interventions, {oracle} for oracles",
            t.per_text
        )
    });
    [printable_label(&line)].into_iter().chain(tokens).chain(further).chain(source).collect()
}

const PROBE_HEAD: [&str; 8] =
    ["role", "property", "classifier", "accuracy", "of replicates", "majority", "calibration error", "equals"];

fn probes(results: &Results, model: &str) -> Vec<Vec<String>> {
    let mine = results.probes.iter().filter(|p| p.model == model);
    mine.map(|p| {
        let ProbeFinding { role, property, classifier, oracle, accuracy, majority, calibration_error, choice, .. } =
            &p.value;
        let role = match (role, oracle) {
            (ProbeRole::Oracle, Some(kind)) => oracle_name(*kind).into(),
            (ProbeRole::Oracle, None) => "oracle".into(),
            (ProbeRole::Interventional, _) => "interventional".into(),
        };
        let range = choice.as_ref().map_or_else(|| "-".into(), |c| span(c.accuracy_range));
        let equals = choice.as_ref().map_or_else(|| "-".into(), |c| c.rivals.len().to_string());
        vec![
            role,
            property.clone(),
            classifier.clone(),
            interval(accuracy),
            range,
            score(*majority),
            score(*calibration_error),
            equals,
        ]
    })
    .collect()
}

const OPTIMUM_HEAD: [&str; 8] = [
    "method",
    "oracle",
    "at",
    "completeness (held out)",
    "selectivity (held out)",
    "reliability (held out)",
    "single training runs",
    "as in the paper",
];

fn optima(results: &Results, model: &str) -> Vec<Vec<String>> {
    let mine = results.optima.iter().filter(|o| o.model == model);
    let found = mine.map(|o| {
        let OptimumFinding { oracle, parameter, value, completeness, selectivity, reliability, how, .. } = &o.value;
        let end = how.at_end.map_or("", |_| " (end of the grid)");
        let range = reliability.range.map_or_else(|| "-".into(), span);
        let paper = how.paper.as_ref();
        let paper =
            paper.map_or_else(|| "-".into(), |p| format!("{} at {}", score(p.reliability.mean), short(p.value)));
        vec![
            o.value.method_key().title(),
            oracle.title().into(),
            format!("{parameter} {}{end}{}", short(*value), on_halves(&o.value)),
            bands(completeness, how.replicates),
            bands(selectivity, how.replicates),
            bands(reliability, how.replicates),
            range,
            paper,
        ]
    });
    let none = results.without.iter().filter(|o| o.model == model).map(|o| {
        let v = &o.value;
        let paper = v
            .paper
            .as_ref()
            .map_or_else(|| "-".into(), |p| format!("{} at {}", score(p.reliability.mean), short(p.value)));
        let mut row = vec![v.method_key().title(), v.oracle.title().into(), format!("none: {}", v.reason)];
        row.extend(["-", "-", "-", "-"].map(str::to_owned));
        row.push(paper);
        row
    });
    found.chain(none).collect()
}

const KEPT_TITLE: &str = "Selectivity by property at the highest reliability (the S above is their mean)";
const KEPT_HEAD: [&str; 7] =
    ["method", "oracle", "property", "selectivity", "of a constant answer", "balanced accuracy", "n"];

/// Selectivity on each property to keep, if there are several.
fn kept(results: &Results, model: &str) -> Vec<Vec<String>> {
    let mine = results.optima.iter().filter(|o| o.model == model);
    mine.flat_map(|o| o.value.how.selectivities.iter().map(move |on| (&o.value, on)))
        .map(|(best, on)| {
            vec![
                best.method_key().title(),
                best.oracle.title().into(),
                on.property.clone(),
                bands(&on.selectivity, best.how.replicates),
                on.s_floor.map_or_else(|| "-".into(), score),
                on.balanced_accuracy.map_or_else(|| "-".into(), |e| interval(&e)),
                on.n.to_string(),
            ]
        })
        .collect()
}

const VERSUS_TITLE: &str =
    "Ranking by reliability, separately for methods that set another value and for those that remove the property";
const VERSUS_HEAD: [&str; 7] =
    ["oracle", "order", "share of resamples", "difference of R", "raw p", "Holm p", "reversed by"];

/// For each goal, the ranking of its methods, then each pair of neighbours in it. The share of resamples refers to the ranking of all
/// methods, so it is omitted if a run has methods of both goals.
fn verdicts(results: &Results, model: &str) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for ranking in results.rankings.iter().filter(|r| r.model == model) {
        let RankingFinding { oracle, order, stability, .. } = &ranking.value;
        let of_goal = |goal| order.iter().filter(|m| goal_of(&m.name) == goal).cloned().collect::<Vec<_>>();
        let orders: Vec<_> = GOALS.map(of_goal).into_iter().filter(|order| !order.is_empty()).collect();
        let share = if orders.len() > 1 { "-".to_owned() } else { score(*stability) };
        for order in &orders {
            let names: Vec<String> = order.iter().map(|m| m.title()).collect();
            let none = || "-".to_owned();
            rows.push(vec![
                oracle.title().into(),
                names.join(", "),
                share.clone(),
                none(),
                none(),
                none(),
                String::new(),
            ]);
        }
        for pair in orders.iter().flat_map(|order| order.windows(2)) {
            let found = results.versus.iter().find(|v| {
                v.model == model && v.value.oracle == *oracle && v.value.a == pair[0] && v.value.b == pair[1]
            });
            let Some(v) = found.map(|v| &v.value) else { continue };
            rows.push(vec![
                oracle.title().into(),
                format!("{} {} {}", v.a.title(), v.verb(), v.b.title()),
                score(v.p_greater),
                v.difference.map_or("-".into(), |d| match is_few(ranking.value.replicates) {
                    true => score(d.mean),
                    false => interval(&d),
                }),
                v.p.map_or("-".into(), probability),
                v.holm_p.map_or("-".into(), probability),
                v.turns_with.join(", "),
            ]);
        }
    }
    rows
}

const FRONT_HEAD: [&str; 3] = ["oracle", "knee", "settings"];

/// The knee of the front under each oracle, or the reason why there is none, and the number of dominated settings.
fn fronts(results: &Results, model: &str) -> Vec<Vec<String>> {
    let mut oracles: Vec<OracleKind> =
        results.curves.iter().filter(|c| c.key.model == model).map(|c| c.key.oracle).collect();
    oracles.sort_unstable();
    oracles.dedup();
    let row = |oracle: OracleKind| {
        let rated = Rated::of(results, model, oracle);
        vec![oracle.title().into(), rated.knee().unwrap_or_else(|why| format!("none: {why}")), rated.counts()]
    };
    oracles.into_iter().map(row).collect()
}

const DISTANCE_TITLE: &str = "Distance from real states at the highest reliability, or else at the largest strength (in brackets: unedited states)";
const DISTANCE_HEAD: [&str; 6] =
    ["method", "at", "nearest real state", "Mahalanobis", "norm ratio", "true counterfactual"];

/// Distances for every method at its best strength under the first oracle that has one, or else at its largest strength.
fn distances(results: &Results, model: &str) -> Vec<Vec<String>> {
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut seen: Vec<MethodKey> = Vec::new();
    for d in results.distances.iter().filter(|d| d.model == model) {
        let key = d.value.method_key();
        if seen.contains(&key) {
            continue;
        }
        let best = results.optima.iter().find(|o| o.model == model && o.value.method_key() == key);
        let mine = results.distances.iter().filter(|d| d.model == model && d.value.method_key() == key);
        let at = match best {
            Some(best) => mine.clone().find(|d| d.value.value == best.value.value),
            None => mine.clone().max_by(|a, b| a.value.value.total_cmp(&b.value.value)),
        };
        seen.push(key);
        let Some(v) = at.map(|d| &d.value) else { continue };
        let beside = |e: &Estimate, unchanged: f64| format!("{} ({})", interval(e), score(unchanged));
        let twin = v.counterfactual.as_ref().zip(v.before.counterfactual);
        rows.push(vec![
            v.method_key().title(),
            format!("{} {}", v.parameter, short(v.value)),
            beside(&v.nearest, v.before.nearest),
            beside(&v.mahalanobis, v.before.mahalanobis),
            interval(&v.norm_ratio),
            twin.map_or_else(|| "-".into(), |(e, unchanged)| beside(e, unchanged)),
        ]);
    }
    rows
}

const LEAK_HEAD: [&str; 5] = ["method", "at", "chance", "linear probe", "perceptron"];

fn leaks(results: &Results, model: &str) -> Vec<Vec<String>> {
    let left = |l: &Left| {
        let share = l.share.map_or_else(|| "no accuracy above chance".into(), |s| interval(&s));
        format!("{share}, accuracy {} after, {} before", score(l.after.mean), score(l.before.mean))
    };
    let mine = results.leaks.iter().filter(|l| l.model == model);
    mine.map(|l| {
        let v = &l.value;
        vec![
            v.method_key().title(),
            match &v.preimages {
                Some(p) => {
                    let read = [p.before, p.erased, p.found].map(score).join(" / ");
                    format!(
                        "{} {}; accuracy of a kernel classifier: {read} (before / erased / pre-images)",
                        v.parameter,
                        short(v.value)
                    )
                }
                None => format!("{} {}", v.parameter, short(v.value)),
            },
            score(v.chance),
            left(&v.linear),
            left(&v.mlp),
        ]
    })
    .collect()
}

const LENS_TITLE: &str = "Logit lens: accuracy at each layer of the model's own head and of a linear oracle";
const LENS_HEAD: [&str; 5] = ["layer", "the model's head", "linear oracle", "majority", "n"];

fn lens(results: &Results, model: &str) -> Vec<Vec<String>> {
    let mine = results.lens.iter().filter(|l| l.model == model);
    mine.map(|l| {
        let v = &l.value;
        vec![
            format!("{} of {}", v.layer, v.layers),
            interval(&v.head),
            interval(&v.oracle),
            score(v.majority),
            l.n.to_string(),
        ]
    })
    .collect()
}

fn span([lo, hi]: [f64; 2]) -> String {
    format!("{} to {}", score(lo), score(hi))
}

/// The mean with the wide band, and the narrow one if shown separately; or the mean with the values of two training
/// runs.
fn bands(b: &Banded, trainings: usize) -> String {
    if is_few(trainings) {
        let values = b.values(trainings).map_or(String::new(), |[lo, hi]| format!(" ({}, {})", score(lo), score(hi)));
        return format!("{}{values}", score(b.mean));
    }
    let wide = interval(&b.estimate());
    match b.form.and(b.sampling) {
        Some([lo, hi]) => format!("{wide} ({}, {})", score(lo), score(hi)),
        None => wide,
    }
}

/// A score in the style of the papers: three decimals, no leading zero.
fn score(value: f64) -> String {
    let text = format!("{value:.3}");
    match text.strip_prefix("0.").or_else(|| text.strip_prefix("-0.")) {
        Some(rest) if text.starts_with('-') && rest != "000" => format!("-.{rest}"),
        Some(rest) => format!(".{rest}"),
        None => text,
    }
}

fn interval(e: &Estimate) -> String {
    format!("{} [{}, {}]", score(e.mean), score(e.lo), score(e.hi))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_formatted_as_in_papers() {
        for (value, text) in
            [(0.5518, ".552"), (1.0, "1.000"), (0.0, ".000"), (-0.0001, ".000"), (-0.25, "-.250"), (0.9996, "1.000")]
        {
            assert_eq!(score(value), text);
        }
    }
}
