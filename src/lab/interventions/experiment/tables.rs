//! The tables that a run prints: data, probes, optima, each number with its interval.

use crate::base::text::{printable_label, section};
use crate::lab::Tagged;
use crate::lab::interventions::finding::{DataFinding, OptimumFinding, ProbeFinding, ProbeRole};
use crate::lab::interventions::results::Results;
use crate::lab::interventions::spec::Spec;
use crate::stats::estimate::Estimate;

/// What a run found, as lines of text.
pub fn summary(results: &Results, spec: &Spec) -> Vec<String> {
    let mut out = vec![printable_label(&format!(
        "{} on {}, target {}, seed {}",
        spec.task.name,
        spec.models.join(", "),
        spec.task.target,
        spec.seed,
    ))];
    for data in &results.data {
        out.push(String::new());
        out.extend(describe(data));
        section(&mut out, "Probes", &PROBE_HEAD, probes(results, &data.model));
        let level = results.optima.iter().find_map(|o| o.level);
        let head = level.map_or("Highest reliability".to_owned(), |l| {
            format!("Highest reliability ({} % intervals)", (l * 1e4).round() / 1e2)
        });
        section(&mut out, &head, &OPTIMUM_HEAD, optima(results, &data.model));
    }
    out
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
    let source = d.source.as_ref().map(|s| printable_label(&format!("data {}", s.summary())));
    [printable_label(&line)].into_iter().chain(source).collect()
}

const PROBE_HEAD: [&str; 6] = ["role", "property", "classifier", "accuracy", "majority", "calibration error"];

fn probes(results: &Results, model: &str) -> Vec<Vec<String>> {
    let mine = results.probes.iter().filter(|p| p.model == model);
    mine.map(|p| {
        let ProbeFinding {
            role, property, classifier, oracle, accuracy, majority, calibration_error, ..
        } = &p.value;
        let role = match (role, oracle) {
            (ProbeRole::Oracle, Some(kind)) => format!("{kind} oracle"),
            (ProbeRole::Oracle, None) => "oracle".into(),
            (ProbeRole::Interventional, _) => "interventional".into(),
        };
        vec![
            role,
            property.clone(),
            classifier.clone(),
            interval(accuracy),
            score(*majority),
            score(*calibration_error),
        ]
    })
    .collect()
}

const OPTIMUM_HEAD: [&str; 6] = ["method", "oracle", "at", "completeness", "selectivity", "reliability"];

fn optima(results: &Results, model: &str) -> Vec<Vec<String>> {
    let mine = results.optima.iter().filter(|o| o.model == model);
    mine.map(|o| {
        let OptimumFinding { oracle, parameter, value, completeness, selectivity, reliability, .. } =
            &o.value;
        vec![
            o.value.method_key().title(),
            oracle.to_string(),
            format!("{parameter} {value}"),
            interval(completeness),
            interval(selectivity),
            interval(reliability),
        ]
    })
    .collect()
}

/// A score in the manner of the papers: three decimals, no zero before the point.
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
    fn scores_are_written_as_in_the_papers() {
        for (value, text) in [
            (0.5518, ".552"),
            (1.0, "1.000"),
            (0.0, ".000"),
            (-0.0001, ".000"),
            (-0.25, "-.250"),
            (0.9996, "1.000"),
        ] {
            assert_eq!(score(value), text);
        }
    }
}
