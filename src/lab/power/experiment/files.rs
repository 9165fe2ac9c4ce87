//! Compares two sides that are given as files of results.

use super::folders;
use super::report::Reporter;
use crate::Host;
use crate::compare::spread;
use crate::finding::{ConfigurationFinding, Kind};
use crate::pairs::{Pairs, matched, prompts_notice};
use crate::spec::Spec;
use base::Problem;
use base::numbers::count;
use corpus::results::{Results, Wanted, metrics, read};
use lab::fault::{Fault, problem};
use lab::host::NoticeLevel;

/// Number of items for the first estimate.
const FIRST: usize = 64;

/// Reads both sides and compares them on increasing numbers of items.
pub(crate) fn run(spec: &Spec, kept: &mut Option<(Pairs, Reporter)>, host: &mut Host<'_>) -> Result<(), Fault> {
    host.plan(2.0);
    host.stage("reading results".into(), "files", 1.0);
    let (filter, metric) = (spec.test.filter.clone(), spec.test.metric.clone());
    let wanted = Wanted { filter, metric, detail: true, ..Wanted::default() };
    if spec.of_folders() {
        return folders::run(spec, &wanted, host);
    }
    let a = side(spec, &spec.a.results, 0, &wanted, host)?;
    let b = side(spec, &spec.b.results, spec.a.results.len(), &wanted, host)?;
    let metric = chosen(spec, &a, &b, host)?;
    let found = matched(&a, &b, &metric).map_err(|e| problem(&e, "results", "give results on the same items"))?;
    if found.unmatched_a + found.unmatched_b > 0 {
        let what = format!(
            "{} items are common to both sides; {} items of the first side and {} of the second are left out",
            found.pairs.n(),
            found.unmatched_a,
            found.unmatched_b
        );
        host.notice(NoticeLevel::Warning, Problem { what, r#where: "results".into(), hint: String::new() })?;
    }
    if let Some(what) = prompts_notice(found.prompts, found.pairs.n()) {
        host.notice(NoticeLevel::Warning, Problem { what, r#where: "results".into(), hint: String::new() })?;
    }
    let pairs = found.pairs;
    if pairs.scaled().is_some() {
        let what = "the metric has values beyond 1e30, or none above 1e-30".to_owned();
        let hint = "`probity compare` compares values of any size".into();
        return Err(Problem { what, r#where: "results".into(), hint }.into());
    }
    let mut reporter = Reporter::new(spec, None);
    reporter.of(metric.clone(), true);
    host.stage(format!("comparing {} items", count(pairs.n() as f64)), "items", 1.0);
    sides(spec, &pairs, &metric, &reporter, host)?;
    let order = reporter.order(pairs.n());
    // A planned comparison is made once, on the first items in the drawn order. All other steps are interim.
    let planned = reporter.planned_within(pairs.n());
    let growing = std::iter::successors(Some(FIRST), |n| n.checked_mul(4)).take_while(|n| *n < pairs.n());
    let mut steps: Vec<usize> = growing.chain(planned).collect();
    steps.sort_unstable();
    steps.dedup();
    for n in steps {
        host.poll()?;
        reporter.part(&pairs.select(&order[..n]), planned == Some(n), host)?;
        host.progress(n, pairs.n());
    }
    reporter.step(&pairs, host)?;
    if let Some(why) = reporter.stepless() {
        let what = format!("the sequential test is not possible: {why}");
        let problem = Problem { what, r#where: "sequential".into(), hint: String::new() };
        host.notice(NoticeLevel::Info, problem)?;
    }
    if reporter.is_short_of_power() {
        // See the results of the bench `power` (`signs`).
        let what = "for result files, whether a number of items is recommended depends only on the size of the difference and the power; changes of sign between random subsamples are ignored, because they occur by chance at low power";
        let problem = Problem { what: what.into(), r#where: "collapse".into(), hint: String::new() };
        host.notice(NoticeLevel::Info, problem)?;
    }
    reporter.verdict(host)?;
    for flip in folders::changed(&a[0], &b[0], "", &metric, folders::MOST_FLIPS) {
        host.find(reporter.finding(1, true, host.elapsed(), Kind::Flip(flip)))?;
    }
    *kept = Some((pairs, reporter));
    Ok(())
}

/// Reads the files of a side, after `done` files of the run have been read.
fn side(
    spec: &Spec,
    names: &[String],
    done: usize,
    wanted: &Wanted,
    host: &mut Host<'_>,
) -> Result<Vec<Results>, Fault> {
    let total = spec.a.results.len() + spec.b.results.len();
    let mut all = Vec::new();
    for (k, name) in names.iter().enumerate() {
        host.poll()?;
        let found = read(&spec.path(name), wanted).map_err(|e| {
            problem(&e, "results", "give per-item results of an evaluation harness, as JSON Lines or CSV")
        })?;
        for what in found.notes {
            let problem = Problem { what, r#where: name.clone(), hint: String::new() };
            host.notice(NoticeLevel::Warning, problem)?;
        }
        all.extend(found.runs);
        host.progress(done + k + 1, total);
    }
    Ok(all)
}

/// Returns the metric to compare: the requested one, or the first that all files have. Reports the remaining metrics.
fn chosen(spec: &Spec, a: &[Results], b: &[Results], host: &mut Host<'_>) -> Result<String, Fault> {
    let (shared, lacking) = metrics(a.iter().chain(b));
    let none = || {
        let what = format!("the files have no metric in common: some lack {}", lacking.join(", "));
        Problem { what, r#where: "results".into(), hint: "give results with a common metric".into() }
    };
    let metric = shared.first().cloned().ok_or_else(none)?;
    let mut others: Vec<&str> = shared.iter().skip(1).map(String::as_str).collect();
    others.extend(lacking.iter().map(String::as_str));
    if spec.test.metric.is_none() && !others.is_empty() {
        let what = format!("{metric} is compared; other metrics are left out: {}", others.join(", "));
        let hint =
            "set `test.metric` to compare a different one; `probity compare A B` compares all shared metrics".into();
        host.notice(NoticeLevel::Warning, Problem { what, r#where: "test.metric".into(), hint })?;
    }
    Ok(metric)
}

fn sides(spec: &Spec, pairs: &Pairs, metric: &str, reporter: &Reporter, host: &mut Host<'_>) -> Result<(), Fault> {
    for (first, side) in [(true, "a"), (false, "b")] {
        let by_seed = pairs.by_seed();
        let accuracy = pairs.accuracy(first, spec.interval.level);
        let finding = ConfigurationFinding {
            name: spec.name(first),
            side: side.into(),
            task: "results".into(),
            encoder: spec.side(first).results.join(","),
            layer: None,
            classifier: metric.to_owned(),
            n_train: 0,
            accuracy,
            sd: spread(by_seed.iter().map(|s| s[usize::from(!first)])),
            majority: None,
            seeds: by_seed.len(),
            long: 0,
        };
        host.find(reporter.finding(pairs.n(), true, host.elapsed(), Kind::Configuration(finding)))?;
    }
    Ok(())
}
