//! What a run says, in words and tables.

use super::finding::{ComparisonFinding, Open, RequiredFinding};
use super::results::Results;
use crate::base::numbers::{percent, probability, score};
use crate::base::text::{printable_label, section};
use crate::figure::layers::grouped;
use crate::lab::Tagged;
use crate::stats::Estimate;

/// Hundredths with a sign and one decimal: `+5.1`.
#[must_use]
pub fn points(x: f64) -> String {
    if x.abs() > 1e6 { "∞".into() } else { format!("{:+.1}", 100.0 * x) }
}

fn interval(e: Estimate) -> String {
    format!("{} [{}, {}]", points(e.mean), points(e.lo), points(e.hi))
}

/// A p-value in few characters.
#[must_use]
pub fn p_value(p: f64) -> String {
    match p {
        p if p < 0.001 => "<.001".into(),
        p if p < 0.0995 => probability(p),
        p => score(p),
    }
}

/// A number of items that may have no bound.
#[must_use]
pub fn items(n: Option<f64>) -> String {
    n.map_or("∞".into(), |n| grouped(n as usize))
}

/// A number of items with its interval.
#[must_use]
pub fn span(n: &Open) -> String {
    format!("{} [{}, {}]", items(n.mean), items(n.lo), items(n.hi))
}

/// Who leads by how much, as a sentence.
#[must_use]
pub fn lead(c: &Tagged<ComparisonFinding>) -> String {
    let v = &c.value;
    let d = v.difference;
    let (first, second) = if d.mean >= 0.0 { (&v.a, &v.b) } else { (&v.b, &v.a) };
    let turned = if d.mean >= 0.0 { d } else { Estimate { mean: -d.mean, lo: -d.hi, hi: -d.lo } };
    let by = |x: f64| points(x).trim_start_matches('+').to_owned();
    let how = if v.both.is_some() { " points" } else { " hundredths" };
    let text = if d.mean == 0.0 {
        format!("{first} and {second} are level: {} [{}, {}]{how}", by(0.0), by(turned.lo), by(turned.hi))
    } else {
        format!("{first} beats {second} by {}{how} [{}, {}]", by(turned.mean), by(turned.lo), by(turned.hi))
    };
    printable_label(&text)
}

/// The verdict in plain words: sentences, the most important first.
#[must_use]
pub fn verdict(results: &Results) -> Vec<String> {
    let Some(c) = results.comparison() else { return Vec::new() };
    let v = &c.value;
    let mut out = vec![format!("{}; p {} ({}, n {})", lead(c), p_value(v.p), v.test, grouped(c.n))];
    if let Some(required) = results.needed() {
        out.push(needed(&required.value, c.n));
    }
    if v.equivalence_p < 0.05 {
        out.push(format!(
            "as good as equal within {} points (p {})",
            score(100.0 * v.margin),
            p_value(v.equivalence_p)
        ));
    }
    if let Some(collapse) = results.collapse.as_ref().filter(|c| c.value.collapsed) {
        out.push(format!("no n is recommended: {}", collapse.value.reasons.join("; ")));
    }
    if let Some(stop) = results.sequential.iter().find(|s| s.value.may_stop) {
        out.push(format!(
            "looked at item by item, one may stop at {} items",
            grouped(stop.value.at_n as usize)
        ));
    }
    out
}

fn needed(r: &RequiredFinding, n: usize) -> String {
    let mut text =
        format!("with {} test items you would see this {} of the time", grouped(n), percent(r.power));
    text += &match r.n_test.mean {
        Some(_) => format!("; {} give {}", span(&r.n_test), percent(r.target)),
        None => "; no number of items would be enough".to_owned(),
    };
    if let Some(mde) = r.mde {
        text +=
            &format!("; a difference below {} points would stay unseen", points(mde).trim_start_matches('+'));
    }
    text
}

/// What a run found, as lines of text.
#[must_use]
pub fn lines(results: &Results) -> Vec<String> {
    let mut out = verdict(results);
    let configuration = results.configurations.iter().map(|c| {
        let v = &c.value;
        let layer = v.layer.map_or("–".into(), |l| l.to_string());
        let sd = v.sd.map_or("–".into(), |sd| format!("{:.1}", 100.0 * sd));
        vec![
            v.name.clone(),
            v.task.clone(),
            layer,
            v.classifier.clone(),
            if v.n_train > 0 { grouped(v.n_train) } else { "–".into() },
            interval(v.accuracy).replace('+', ""),
            sd,
            grouped(c.n),
        ]
    });
    let head = ["side", "task", "layer", "classifier", "n train", "accuracy", "sd", "n test"];
    section(&mut out, "Sides", &head, configuration.collect());
    let comparison = results.comparisons.iter().map(|c| {
        let v = &c.value;
        let count = |x: Option<u64>| x.map_or("–".into(), |x| grouped(x as usize));
        vec![
            v.metric.clone(),
            grouped(c.n),
            interval(v.difference),
            count(v.only_a),
            count(v.only_b),
            p_value(v.p),
            p_value(v.holm_p),
            p_value(v.equivalence_p),
            v.test.clone(),
        ]
    });
    let head = ["measured", "n", "difference", "only a", "only b", "p", "Holm", "equivalence", "test"];
    section(&mut out, "Comparisons", &head, comparison.collect());
    if let Some(r) = &results.required {
        let v = &r.value;
        if let (Some(n), Some(total), Some(bound)) = (v.n_train, v.n_total, &v.bound) {
            let (n, total) = (grouped(n as usize), grouped(total as usize));
            out.push(format!("the {bound} bound recommends {n} training examples, {total} in all"));
        }
    }
    out.iter().map(|line| printable_label(line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_as_people_say_them() {
        assert_eq!((points(0.051).as_str(), points(-0.2).as_str()), ("+5.1", "-20.0"));
        assert_eq!(span(&Open { mean: Some(1180.0), lo: Some(700.0), hi: None }), "1,180 [700, ∞]");
        assert_eq!((p_value(0.0004).as_str(), p_value(0.5).as_str()), ("<.001", ".50"));
    }
}
