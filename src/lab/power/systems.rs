//! Comparison of systems on many tasks: task by task, pooled, and as a matrix of pairs.

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::compare::{Names, Terms, adjust, compare_with};
use super::finding::ComparisonFinding;
use super::pairs::{MatchError, Pairs, matched};
use super::tasks::TaskVerdict;
use corpus::results::{Results, metrics};
use stats::Estimate;
use stats::corrections::holm;
use stats::paired::{Differences, Table};
use stats::strata::{Strata, Stratum};

/// Minimum number of tasks for an interval around a mean over tasks.
pub const FEWEST_TASKS: usize = 10;

/// Runs of one system by task.
#[derive(Debug, Clone, Default)]
pub struct System {
    pub name: String,
    pub tasks: BTreeMap<String, Vec<Results>>,
}

#[derive(Debug, Clone)]
pub struct TaskComparison {
    pub task: String,
    pub n: usize,
    pub unmatched_a: usize,
    pub unmatched_b: usize,
    /// Number of items that have different prompts and may be different items.
    pub prompts: usize,
    /// Mean of each system.
    pub means: [f64; 2],
    pub finding: ComparisonFinding,
    /// True if all values are between 0 and 1.
    pub share: bool,
    /// Metrics that were not compared.
    pub others: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pooled {
    pub tasks: usize,
    pub n: usize,
    /// The difference between the means. Its ends are -1 and 1 if there are too few tasks for an interval.
    pub difference: Estimate,
    /// The p-value; `None` without an interval.
    pub p: Option<f64>,
}

impl TaskComparison {
    /// The verdict after correction for the number of tasks.
    pub fn verdict(&self, alpha: f64) -> TaskVerdict {
        match &self.finding {
            c if c.holm_p < alpha && c.difference.mean > 0.0 => TaskVerdict::ABetter,
            c if c.holm_p < alpha => TaskVerdict::BBetter,
            c if c.is_equivalent(alpha) => TaskVerdict::Equivalent,
            _ => TaskVerdict::Undecided,
        }
    }
}

/// Kinds of overall difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mean {
    /// The difference on the only task.
    Task,
    /// Mean over tasks, which are treated as a sample of similar tasks.
    Tasks,
    /// Mean over the items, with tasks taken as fixed.
    Fixed,
}

impl Mean {
    /// The name used in files.
    pub fn key(self) -> &'static str {
        match self {
            Mean::Task => "task",
            Mean::Tasks => "macro",
            Mean::Fixed => "fixed",
        }
    }

    /// The name used on screens.
    pub fn name(self) -> &'static str {
        match self {
            Mean::Task => "the task",
            Mean::Tasks => "mean over tasks",
            Mean::Fixed => "mean over items, tasks taken as fixed",
        }
    }
}

#[derive(Debug, Clone)]
pub struct Versus {
    pub a: String,
    pub b: String,
    pub tasks: Vec<TaskComparison>,
    /// Mean of the tasks' differences with Student's t over tasks, for tasks whose values are proportions.
    pub macro_mean: Option<Pooled>,
    /// Mean over all items with tasks as clusters, for tasks whose values are proportions.
    pub micro: Option<Pooled>,
    /// Mean over all items with tasks taken as fixed, if there are several tasks but too few for an interval over tasks.
    pub fixed: Option<Pooled>,
    /// Number of tasks that are not pooled because their metrics are not proportions.
    pub apart: usize,
    /// Tasks that only the first system has.
    pub only_a: Vec<String>,
    pub only_b: Vec<String>,
    /// p-value, Holm-adjusted over the matrix.
    pub holm_p: f64,
}

impl Versus {
    pub fn count(&self, verdict: TaskVerdict, alpha: f64) -> usize {
        self.tasks.iter().filter(|t| t.verdict(alpha) == verdict).count()
    }

    /// The overall difference: over tasks if there are enough, otherwise over the items with tasks taken as fixed, or on the only task.
    pub fn overall(&self) -> Option<(Mean, Pooled)> {
        if let [only] = self.tasks.as_slice() {
            let finding = &only.finding;
            let pooled = Pooled { tasks: 1, n: only.n, difference: finding.difference, p: Some(finding.p) };
            return Some((Mean::Task, pooled));
        }
        let over_tasks = self.macro_mean.filter(|pooled| pooled.p.is_some());
        over_tasks.map(|pooled| (Mean::Tasks, pooled)).or(self.fixed.map(|pooled| (Mean::Fixed, pooled)))
    }

    /// True if the overall difference is a difference between proportions.
    pub fn is_share(&self) -> bool {
        self.apart < self.tasks.len()
    }
}

#[derive(Debug, thiserror::Error)]
pub enum SystemsError {
    #[error("{0}")]
    Folder(String),
    #[error("{a} and {b} have no task in common: for example, the first has `{first}` and the second has `{second}`")]
    NoTask { a: String, b: String, first: String, second: String },
    #[error("task {task}: {source}")]
    Match { task: String, source: MatchError },
    #[error("task {task}: the files have no metric in common")]
    Metric { task: String },
}

/// Compares two systems on their common tasks. p-values are adjusted over the tasks.
pub fn versus(a: &System, b: &System, metric: Option<&str>, terms: Terms) -> Result<Versus, SystemsError> {
    let mut tasks = Vec::new();
    let (mut means, mut units, mut strata) = (Vec::new(), Differences::default(), Vec::new());
    let mut apart = 0;
    for (task, first) in &a.tasks {
        let Some(second) = b.tasks.get(task) else { continue };
        let (found, pairs) = compare_task(task, (a, first), (b, second), metric, terms)?;
        if found.share {
            strata.push(stratum(&pairs));
            let items = pairs.n() as f64;
            means.push(found.finding.difference.mean);
            units.sums.push(found.finding.difference.mean * items);
            units.sizes.push(items);
        } else {
            apart += 1;
        }
        tasks.push(found);
    }
    let only = |of: &System, other: &System| -> Vec<String> {
        of.tasks.keys().filter(|task| !other.tasks.contains_key(*task)).cloned().collect()
    };
    if tasks.is_empty() {
        let first = |s: &System| s.tasks.keys().next().cloned().unwrap_or_default();
        return Err(SystemsError::NoTask { a: a.name.clone(), b: b.name.clone(), first: first(a), second: first(b) });
    }
    adjust(&mut tasks.iter_mut().map(|t| &mut t.finding).collect::<Vec<_>>(), terms.alpha);
    let n = units.sizes.iter().sum::<f64>() as usize;
    let fixed = Strata::of(&strata).filter(|_| tasks.len() > 1 && strata.len() < FEWEST_TASKS).map(|found| Pooled {
        tasks: strata.len(),
        n,
        difference: found.interval(terms.level),
        p: Some(found.p()),
    });
    let pooled = |units: Differences, fewest: usize| {
        let count = units.sums.len();
        let mean = Estimate { mean: units.mean(), lo: -1.0, hi: 1.0 };
        match count {
            0 => None,
            _ if count < fewest => Some(Pooled { tasks: count, n, difference: mean, p: None }),
            _ => Some(Pooled { tasks: count, n, difference: units.interval(terms.level), p: Some(units.p()) }),
        }
    };
    Ok(Versus {
        a: a.name.clone(),
        b: b.name.clone(),
        macro_mean: pooled(Differences::of_items(means), FEWEST_TASKS),
        // Also needs [`FEWEST_TASKS`] tasks, because two equal tasks would give an interval of width 0.
        micro: pooled(units, FEWEST_TASKS),
        fixed,
        apart,
        only_a: only(a, b),
        only_b: only(b, a),
        holm_p: f64::NAN,
        tasks,
    })
}

fn stratum(pairs: &Pairs) -> Stratum {
    let sum = |sum: Table, t: &Table| Table {
        both: sum.both + t.both,
        only_a: sum.only_a + t.only_a,
        only_b: sum.only_b + t.only_b,
        neither: sum.neither + t.neither,
    };
    let table = pairs.is_binary().then(|| pairs.tables().iter().fold(Table::default(), sum));
    Stratum { units: pairs.differences(), table, seeds: pairs.seeds() }
}

fn compare_task(
    task: &str,
    (a, first): (&System, &[Results]),
    (b, second): (&System, &[Results]),
    metric: Option<&str>,
    terms: Terms,
) -> Result<(TaskComparison, Pairs), SystemsError> {
    let (shared, lacking) = metrics(first.iter().chain(second));
    let chosen = metric.map(str::to_owned).or_else(|| shared.first().cloned());
    let chosen = chosen.ok_or_else(|| SystemsError::Metric { task: task.to_owned() })?;
    let found =
        matched(first, second, &chosen).map_err(|source| SystemsError::Match { task: task.to_owned(), source })?;
    let names = Names { a: a.name.clone(), b: b.name.clone(), metric: chosen.clone() };
    let mean = |first: bool| found.pairs.accuracy(first, terms.level).mean;
    let comparison = TaskComparison {
        task: task.to_owned(),
        n: found.pairs.n(),
        unmatched_a: found.unmatched_a,
        unmatched_b: found.unmatched_b,
        prompts: found.prompts,
        means: [mean(true), mean(false)],
        finding: compare_with(&found.pairs, &names, terms, false),
        share: found.pairs.is_share(),
        others: shared.into_iter().chain(lacking).filter(|name| *name != chosen).collect(),
    };
    Ok((comparison, found.pairs))
}

/// Compares every pair of systems in order, or each system with the `baseline`, with Holm's correction over all pairs.
pub fn matrix(
    systems: &[System],
    baseline: Option<usize>,
    metric: Option<&str>,
    terms: Terms,
) -> Result<Vec<Versus>, SystemsError> {
    let mut pairs = Vec::new();
    for i in 0..systems.len() {
        match baseline {
            Some(base) if i != base => pairs.push((i.min(base), i.max(base))),
            Some(_) => {}
            None => pairs.extend((i + 1..systems.len()).map(|j| (i, j))),
        }
    }
    let compared: Vec<_> =
        pairs.into_par_iter().map(|(i, j)| versus(&systems[i], &systems[j], metric, terms)).collect();
    let mut all: Vec<Versus> = compared.into_iter().collect::<Result<_, _>>()?;
    let p: Vec<f64> = all.iter().map(|v| v.overall().and_then(|(_, o)| o.p).unwrap_or(1.0)).collect();
    all.iter_mut().zip(holm(&p)).for_each(|(v, p)| v.holm_p = p);
    Ok(all)
}
