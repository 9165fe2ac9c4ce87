//! Results of a run as text and tables.

mod shortfall;

use super::answer::task_rows;
use super::bound::{Bound, CLIP};
use super::finding::{BaselineFinding, ComparisonFinding, Open, RequiredFinding, SequentialFinding};
use super::plan::{Hypothesis, Plan, Stop};
use super::results::Results;
use super::spec::{Spec, in_words};
use base::numbers::{percent, probability, score};
use base::text::{printable_label, printable_message, section};
use figure::layers::grouped;
use lab::Tagged;
use lab::answer::few;
use stats::Estimate;
use stats::mcnemar::Test;

/// Formats a difference between proportions in points, with a sign and one decimal: `+5.1`.
pub fn points(x: f64) -> String {
    // A number that rounds to 0 is shown without a sign.
    let shown = if x.abs() < 0.000_5 { 0.0 } else { 100.0 * x };
    if x.abs() > 1e6 { "∞".into() } else { format!("{shown:+.1}") }
}

fn interval(e: Estimate) -> String {
    format!("{} [{}, {}]", points(e.mean), points(e.lo), points(e.hi))
}

/// The difference of a comparison with its interval, in points or the metric's unit.
pub fn span_of(c: &ComparisonFinding) -> String {
    let d = c.difference;
    format!("{} [{}, {}]", c.amount(d.mean), c.amount(d.lo), c.amount(d.hi))
}

pub fn p_value(p: f64) -> String {
    match p {
        p if p < 0.001 => "<.001".into(),
        p if p < 0.0995 => probability(p),
        p => score(p),
    }
}

/// Formats a number of items; `None` is unbounded.
pub fn items(n: Option<f64>) -> String {
    n.map_or("∞".into(), |n| grouped(n as usize))
}

pub fn span(n: &Open) -> String {
    let most = n.hi.map_or("unbounded".into(), |hi| items(Some(hi)));
    format!("{} [{}, {most}]", items(n.mean), items(n.lo))
}

/// Number of discordant items below which a missing upper end is explained.
const FEW: u64 = 15;

/// Explains that an upper end is missing because there are few discordant items.
pub fn unbounded(c: &ComparisonFinding, n: &Open) -> Option<String> {
    let discordant = c.differing.map_or_else(|| c.only_a.zip(c.only_b).map(|(a, b)| a + b), |d| Some(d as u64))?;
    let open = n.mean.is_some() && n.hi.is_none() && discordant < FEW;
    let what = match (c.clusters.is_some(), discordant) {
        (true, 1) => "1 cluster separates",
        (true, _) => "clusters separate",
        (false, 1) => "1 item separates",
        (false, _) => "items separate",
    };
    let count = if discordant == 1 { String::new() } else { format!("{discordant} ") };
    open.then(|| {
        format!(
            "only {count}{what} the sides, so the number of items needed has no upper limit and power no lower limit"
        )
    })
}

/// A sentence that names the better side and its lead. It says "beats" only if the test rejects at `alpha`.
pub fn lead(c: &Tagged<ComparisonFinding>, alpha: f64) -> String {
    let v = &c.value;
    let d = v.difference;
    let [a, b] = [&v.a, &v.b].map(|side| in_words(side));
    let (first, second) = if d.mean >= 0.0 { (a, b) } else { (b, a) };
    let turned = if d.mean >= 0.0 { d } else { Estimate { mean: -d.mean, lo: -d.hi, hi: -d.lo } };
    let by = |x: f64| v.amount(x).trim_start_matches('+').to_owned();
    let how = v.unit();
    let text = if d.mean == 0.0 {
        format!("{first} and {second} are level: {} [{}, {}]{how}", by(0.0), by(turned.lo), by(turned.hi))
    } else {
        // Before all items are known, only an anytime-valid p-value decides.
        let deciding = if c.is_final { v.deciding_p() } else { v.anytime_p.unwrap_or(1.0) };
        let (verb, whose) = match deciding <= alpha {
            true => ("beats", ""),
            false => ("is ahead of", " in these items"),
        };
        let (mean, lo, hi) = (by(turned.mean), by(turned.lo), by(turned.hi));
        format!("{first} {verb} {second} by {mean}{how} [{lo}, {hi}]{whose}")
    };
    printable_label(&text)
}

/// The p-value with its test and adjustment, with an explanation if the interval seems to contradict it.
pub fn evidence(c: &Tagged<ComparisonFinding>, alpha: f64) -> String {
    let v = &c.value;
    if !c.is_final {
        let anytime = v.anytime_p.map_or(String::new(), |p| format!("; anytime-valid p {}", p_value(p)));
        return format!("interim p {}, valid only for an n fixed in advance{anytime}", p_value(v.p));
    }
    let mut text = format!("p {}", p_value(v.p));
    if v.family > 1 && !v.planned {
        text = format!("raw {text}, Holm p {} over {} comparisons", p_value(v.holm_p), v.family);
    }
    let same_level = c.level.is_some_and(|level| (1.0 - level - alpha).abs() < 1e-9);
    let apart = v.difference.lo > 0.0 || v.difference.hi < 0.0;
    if same_level && apart != (v.p <= alpha) {
        text += "; the interval and the p-value use different methods, and the p-value decides";
    }
    text
}

/// Minimum number of items with which intervals of skewed metrics keep their level.
const ENOUGH: usize = 50;

/// A doubt about an interval for a metric that is not a proportion, from `n` units; `units` is their name.
pub fn few_values(c: &ComparisonFinding, n: usize, units: &str) -> Option<String> {
    few(n, ENOUGH, units, &[(10, "90.0 %")]).filter(|_| !c.is_share())
}

/// The caveat for an interval over identical units, or for a test with too few differing items.
pub fn too_few(c: &Tagged<ComparisonFinding>) -> Option<String> {
    let v = &c.value;
    let level = c.level.unwrap_or(0.95);
    if let Some(differing) = v.differing.filter(|_| v.bound) {
        let (all, what) = v.clusters.map_or((c.n, "items"), |clusters| (clusters, "clusters"));
        let alike = if differing == 0 { "the sides agree on all" } else { "the difference is the same in all" };
        return Some(format!(
            "the interval is conservative: it contains the true difference at least {} of the time, because {alike} {} {what}",
            percent(level),
            grouped(all)
        ));
    }
    // For one run of each side on independent items, the interval is valid but the test cannot reject.
    let differing = v.only_a? + v.only_b?;
    let test = v.mcnemar()?;
    let mute = differing > 0 && test.p(differing, 0) > 1.0 - level;
    let (items, separate) = if differing == 1 { ("item", "separates") } else { ("items", "separate") };
    mute.then(|| {
        format!(
            "only {differing} {items} {separate} the sides: too few for the {} test, even if all favoured one side",
            test.key().replace('_', "-")
        )
    })
}

/// A share of the time in whole per cent; just below 100 %, "more than 99 %".
pub(crate) fn often(share: f64) -> String {
    let whole = (100.0 * share).round();
    match share {
        s if s > 0.0 && whole == 0.0 => "less than 1 %".into(),
        s if s < 1.0 && whole == 100.0 => "more than 99 %".into(),
        _ => format!("{whole:.0} %"),
    }
}

/// The verdict as sentences, most important first.
pub fn verdict(results: &Results) -> Vec<String> {
    let Some(c) = results.comparison() else { return Vec::new() };
    let v = &c.value;
    let planned = if v.planned { ", planned" } else { "" };
    let required = results.needed();
    let alpha = results.alpha();
    let (lead, evidence) = (lead(c, alpha), evidence(c, alpha));
    let mut out = vec![format!("{lead}; {evidence} ({}, n {}{planned})", v.test, grouped(c.n))];
    if let Some(sd) = v.seed_sd {
        out[0] += &format!("; standard deviation over {} seeds {:.1} points", v.seeds, 100.0 * sd);
    }
    out.extend(too_few(c));
    if let Some(required) = required {
        out.extend(needed(results, &required.value, c));
        out.extend(unbounded(v, &required.value.n_test).filter(|_| results.collapsed().is_none()));
    }
    if c.is_final && v.is_equivalent(alpha) {
        out.push(equivalent(v, alpha));
    }
    if let Some(reasons) = results.collapsed() {
        out.push(format!("no n is recommended: {}", reasons.join("; ")));
    }
    // Each item is one step; with several runs, the majority decides whether it is right.
    let by = if v.seeds > 1 { format!(" by the majority of {} seeds", v.seeds) } else { String::new() };
    match (results.stop(), results.steps().last()) {
        (Some(stop), _) => out.push(format!(
            "tested item by item{by}, the comparison may stop after {} items",
            grouped(stop.value.at_n as usize)
        )),
        (None, Some(last)) => out.push(format!(
            "tested item by item{by}, the comparison may not stop after {} items: its e-value is {:.2}, but {:.0} is needed",
            grouped(last.value.at_n as usize),
            last.value.log_e.exp(),
            1.0 / alpha
        )),
        (None, None) => {}
    }
    out.extend(results.at_hand().and_then(|p| exaggerated(p.value.type_m, p.value.type_s)));
    out
}

/// The claim of equivalence, based on the interval that corresponds to two one-sided tests at `alpha`.
pub fn equivalent(c: &ComparisonFinding, alpha: f64) -> String {
    let (level, margin) = (percent(1.0 - 2.0 * alpha), c.amount(c.margin));
    let margin = margin.trim_start_matches('+');
    let of = if c.family > 1 { format!(" over {} comparisons", c.family) } else { String::new() };
    let p = p_value(c.equivalence_holm_p.unwrap_or(c.equivalence_p));
    format!("equivalent: the {level} interval lies within ±{margin}{} (p {p}{of})", c.unit())
}

/// The current power with its interval. Omits an interval whose limits both round to 100.
pub(crate) fn power_at_hand(results: &Results, power: f64) -> String {
    let known = results.power_at_hand().filter(|p| p.lo < 0.995);
    let known = known.map_or(String::new(), |p| format!(" [{:.0}, {:.0}]", 100.0 * p.lo, 100.0 * p.hi));
    format!("{}{known}", often(power))
}

/// The sentence that states how often a comparison would be detected, and by which test.
///
/// The test named is the deciding one. If the sides have several runs on independent items, it is McNemar's test for one run of each side;
/// a mean over seeds has more power. `n` is the number of items, with its interval if estimated.
pub fn seen(c: &ComparisonFinding, (n, items): (&str, &str), share: &str, by: Test, design: Option<f64>) -> String {
    let items = if n == "1" { items.trim_end_matches('s') } else { items };
    let count = format!("{n} {items}");
    let (what, by) = match (c.clusters.map(grouped), design) {
        (Some(units), Some(design)) => {
            (format!("{count} in {units} clusters (design effect {})", score(design)), String::new())
        }
        (Some(units), None) => (format!("{count} in {units} clusters"), String::new()),
        _ if c.seeds > 1 && c.both.is_some() => {
            (format!("one run of each side on {count}"), format!(" by {}", by.title()))
        }
        _ => (count, String::new()),
    };
    format!("if the true difference were as observed, {what} would show it {share} of the time{by}")
}

/// The reason why no number of items is recommended.
pub fn none_enough(c: &ComparisonFinding) -> &'static str {
    if c.difference.mean == 0.0 {
        "the observed difference is 0, so no number of items would be enough"
    } else {
        "no number of items would be enough"
    }
}

/// Type M and type S errors (Gelman and Carlin 2014) at the near end of the interval.
pub fn exaggerated(type_m: Option<f64>, type_s: Option<f64>) -> Option<String> {
    let (m, s) = (type_m?, type_s?);
    (m >= 1.05 || s >= 0.005).then(|| {
        format!(
            "if the true difference were at the interval end nearer to 0, a significant difference would be {m:.1} times too large on average (type M) and have the wrong sign {} of the time (type S)",
            often(s)
        )
    })
}

/// Current power, items for the target power, and the smallest detectable difference, one sentence each.
fn needed(results: &Results, r: &RequiredFinding, c: &Tagged<ComparisonFinding>) -> Vec<String> {
    let n = c.n;
    // Only probes have a bound, and they are tested on sentences.
    let items = if r.bound.is_some() { "test sentences" } else { "items" };
    let by = results.at_hand().map_or(Test::default(), |p| p.value.test);
    let mut says = vec![seen(&c.value, (&grouped(n), items), &power_at_hand(results, r.power), by, r.design)];
    match r.n_test.mean {
        Some(_) if results.collapsed().is_some() => {}
        Some(_) => says.push(format!("{} {items} would give {} power", span(&r.n_test), often(r.target))),
        None => says.push(none_enough(&c.value).to_owned()),
    }
    if let Some(mde) = r.mde {
        let (amount, how) = (c.value.amount(mde), c.value.unit());
        says.push(format!("the smallest detectable difference is {}{how}", amount.trim_start_matches('+')));
    }
    says
}

/// Recommendation of the bound; `None` for a collapsed comparison.
pub fn recommended(results: &Results) -> Option<String> {
    let r = &results.needed().filter(|_| results.collapsed().is_none())?.value;
    let (n, total, bound) = (r.n_train?, r.n_total?, Bound::in_words(r.bound.as_ref()?));
    let (n, total) = (grouped(n as usize), grouped(total as usize));
    Some(format!("the {bound} recommends {n} training examples, {total} in all"))
}

pub fn planned(plan: &Plan, results: &Results) -> String {
    // The first part of the items depends on the order drawn by the seed.
    let at = |c: &Tagged<ComparisonFinding>| {
        let of_all = results.comparisons.last().filter(|all| all.value.metric == c.value.metric && all.n > c.n);
        match of_all {
            Some(all) => {
                format!("the first {} of {} items in the order drawn by seed {}", grouped(c.n), grouped(all.n), c.seed)
            }
            None => format!("{} items", grouped(c.n)),
        }
    };
    let made = results.comparisons.iter().find(|c| c.value.planned);
    let outcome = match (plan.stop, made) {
        (Stop::AtN, Some(c)) if plan.hypothesis == Hypothesis::Equal => {
            format!("tested on {}: equivalence p {}", at(c), p_value(c.value.equivalence_p))
        }
        (Stop::AtN, Some(c)) => format!("tested on {}: p {}", at(c), p_value(c.value.p)),
        (Stop::AtN, None) => "not tested yet: comparisons on other numbers of items are exploratory".into(),
        (Stop::Early, ..) => early(results),
    };
    format!("planned in advance ({}): {outcome}", plan.words())
}

/// Outcome of a plan that can stop early: its decision, or the state of the test.
fn early(results: &Results) -> String {
    // The run's own finding is used, because a level chosen afterwards does not change the plan.
    let word = results.sequential.iter().find(|s| s.value.planned);
    let after = |s: &SequentialFinding| format!("after {} items", grouped(s.at_n as usize));
    match (word, results.stop()) {
        (Some(word), _) => {
            let s = &word.value;
            let did = if s.may_stop { "stopped" } else { "had not stopped" };
            format!("the sequential test {did} {}, anytime p {}", after(s), p_value(s.anytime_p()))
        }
        (None, Some(stop)) => format!("the sequential test stopped {}", after(&stop.value)),
        (None, None) => match results.comparison().and_then(|c| stepless(&c.value)) {
            Some(why) => format!("the sequential test is not possible: {why}"),
            None => "the sequential test has not stopped".into(),
        },
    }
}

/// The reason why items are not steps of the sequential test, if any.
pub fn stepless(c: &ComparisonFinding) -> Option<&'static str> {
    match c {
        c if c.unpaired => Some("the sides have different items"),
        c if c.both.is_none() => Some("the metric is not binary"),
        c if c.clusters.is_some() => Some("the items form clusters"),
        c if c.seeds.is_multiple_of(2) => Some("an even number of runs has no majority"),
        _ => None,
    }
}

/// Additional measurements, one sentence each.
pub fn beside(results: &Results) -> Vec<String> {
    let mut out = Vec::new();
    for m in &results.mdl {
        let v = &m.value;
        let bits = |x: f64| grouped(x.round() as usize);
        let spread = v.sd.map_or(String::new(), |sd| format!(" (sd {} over {} seeds)", bits(sd), v.seeds));
        out.push(format!(
            "{}: with the {} code, the labels of {} sentences take {} bits{spread} instead of {}, which is {:.2} times shorter",
            v.name,
            v.method,
            grouped(m.n),
            bits(v.codelength),
            bits(v.uniform),
            v.compression,
        ));
    }
    let needed = results.mdl.iter().find_map(|m| m.value.n_train).filter(|_| results.collapsed().is_none());
    let bound = results.needed().and_then(|r| r.value.bound.as_deref()).map(Bound::in_words);
    out.extend(needed.zip(bound).map(|(n, bound)| {
        let n = grouped(n as usize);
        format!("for the difference between the prequential codes, the {bound} recommends {n} training examples (equation 3 of Zhu et al., in bits per example, losses clipped at {CLIP} bits)")
    }));
    for c in &results.controls {
        let v = &c.value;
        let n = grouped(v.at_n as usize);
        let others =
            v.accuracy.map_or(String::new(), |a| format!(", and is right on {} of other sentences", percent(a)));
        out.push(format!(
            "{}: given random labels, the probe memorises {} of its {n} training sentences{others}",
            v.name,
            percent(v.memorised)
        ));
    }
    let needed = results.controls.iter().find_map(|c| c.value.n_train).filter(|_| results.collapsed().is_none());
    out.extend(needed.zip(bound).map(|(n, bound)| {
        let n = grouped(n as usize);
        format!("for the difference in selectivity (accuracy minus accuracy on random labels), the {bound} recommends {n} training examples (theorem 1 of Zhu et al., with δ/2 for each side)")
    }));
    out.extend(shortfall::sentences(results));
    out.iter().map(|line| printable_label(line)).collect()
}

/// The surface baselines, and the side, if any, that does not clearly beat them.
pub fn surface(results: &Results) -> Option<String> {
    let lines = results.surface();
    let of = |b: &BaselineFinding| {
        let side = b.side.as_ref().map_or(String::new(), |side| format!("{}'s ", side.to_uppercase()));
        format!("{side}{} {:.1}", b.name, 100.0 * b.accuracy.mean)
    };
    let all: Vec<String> = lines.iter().map(|b| of(&b.value)).collect();
    if all.is_empty() {
        return None;
    }
    let mut text = format!("accuracy of baselines on the same sentences, %: {}", all.join(", "));
    let largest = results.configurations.iter().map(|c| c.value.n_train).max();
    let sides = results.configurations.iter().map(|c| &c.value).filter(|v| Some(v.n_train) == largest);
    for v in sides {
        let own = lines.iter().map(|b| &b.value).filter(|b| b.side.as_ref().is_none_or(|s| *s == v.side));
        let best = own.max_by(|a, b| a.accuracy.mean.total_cmp(&b.accuracy.mean));
        let Some(best) = best.filter(|best| v.accuracy.lo <= best.accuracy.mean) else { continue };
        let (name, accuracy) = (in_words(&v.name), 100.0 * v.accuracy.mean);
        text += &format!("; {name} ({accuracy:.1}) does not clearly beat the {}", best.name);
    }
    Some(printable_message(&text))
}

/// Table rows with power and requirements by training size (Zhu et al. 2022, Tables 2 to 4). A collapsed comparison has no recommended
/// number.
pub fn by_size(results: &Results) -> Vec<Vec<String>> {
    let gone = results.collapsed().is_some();
    let count = |n: Option<u64>| n.filter(|_| !gone).map_or("–".into(), |n| grouped(n as usize));
    let row = |r: &Tagged<RequiredFinding>| {
        let v = &r.value;
        let power = v.band.map_or(probability(v.power), |p| {
            format!("{} [{}, {}]", probability(p.mean), probability(p.lo), probability(p.hi))
        });
        let needed = if gone { "–".into() } else { span(&v.n_test) };
        vec![count_of(v.trained), grouped(r.n), power, needed, count(v.n_train), count(v.n_total)]
    };
    results.by_size().iter().map(row).collect()
}

fn count_of(n: Option<u64>) -> String {
    n.map_or("–".into(), |n| grouped(n as usize))
}

pub fn lines(results: &Results, spec: Option<&Spec>) -> Vec<String> {
    let mut out = verdict(results);
    out.extend(spec.and_then(|spec| spec.plan.as_ref()).map(|plan| planned(plan, results)));
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
            span_of(v),
            count(v.only_a),
            count(v.only_b),
            p_value(v.p),
            p_value(v.holm_p),
            p_value(v.equivalence_p),
            v.test.clone(),
        ]
    });
    let head = ["measured", "n", "difference", "only a", "only b", "raw p", "Holm p", "equivalence", "test"];
    section(&mut out, "Comparisons", &head, comparison.collect());
    let head = ["task", "metric", "n", "difference", "raw p", "Holm p", "verdict"];
    section(&mut out, "Tasks", &head, task_rows(results));
    let head = ["n train", "n test", "power", "test items needed", "recommended n train", "in all"];
    section(&mut out, "By training examples", &head, by_size(results));
    let noise = results.noise.iter().map(|t| {
        let v = &t.value;
        vec![
            v.sigma.to_string(),
            grouped(v.n_train as usize),
            grouped(v.at_n as usize),
            interval(v.difference),
            probability(v.power.mean),
        ]
    });
    section(&mut out, "Noise on the second side", &["sigma", "n train", "n", "difference", "power"], noise.collect());
    section(&mut out, shortfall::TITLE, &shortfall::HEAD, shortfall::rows(results));
    out.extend(recommended(results));
    out.extend(surface(results));
    out.extend(beside(results));
    out.iter().map(|line| printable_message(line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_formatted_for_reading() {
        assert_eq!((points(0.051).as_str(), points(-0.2).as_str()), ("+5.1", "-20.0"));
        assert_eq!((points(-0.000_1).as_str(), points(-0.000_6).as_str()), ("+0.0", "-0.1"));
        assert_eq!(span(&Open { mean: Some(1180.0), lo: Some(700.0), hi: None }), "1,180 [700, unbounded]");
        assert_eq!((often(0.796).as_str(), often(0.997).as_str()), ("80 %", "more than 99 %"));
        assert_eq!((often(1.0).as_str(), often(0.001).as_str()), ("100 %", "less than 1 %"));
        assert_eq!((p_value(0.0004).as_str(), p_value(0.5).as_str()), ("<.001", ".50"));
    }
}
