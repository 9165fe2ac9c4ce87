//! Findings on folders of results: tasks, pooled differences, and changed items.

use lab::Columns;
use lab::answer::few;
use serde::{Deserialize, Serialize};

use super::difference::amount;
use corpus::results::{Detail, Results};
use stats::Estimate;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum TaskVerdict {
    #[serde(rename = "A better")]
    ABetter,
    #[serde(rename = "B better")]
    BBetter,
    #[serde(rename = "equivalent")]
    Equivalent,
    // Sessions recorded by earlier versions contain `open`.
    #[serde(rename = "undecided", alias = "open")]
    Undecided,
}

impl TaskVerdict {
    /// The text used on screens and in files.
    pub fn name(self) -> &'static str {
        match self {
            TaskVerdict::ABetter => "A better",
            TaskVerdict::BBetter => "B better",
            TaskVerdict::Equivalent => "equivalent",
            TaskVerdict::Undecided => "undecided",
        }
    }
}

/// Both sides on a task that two folders of results share. The finding's `n` is the number of items.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct TaskFinding {
    /// Name of the first side.
    pub a: String,
    /// Name of the second side.
    pub b: String,
    /// Name of the task, with its filter if there are several.
    #[id]
    pub task: String,
    /// Name of the metric.
    pub metric: String,
    /// Mean of the first side.
    pub mean_a: f64,
    /// Mean of the second side.
    pub mean_b: f64,
    /// Mean of the first side minus mean of the second.
    pub difference: Estimate,
    /// The p-value of the test named in `test`.
    pub p: f64,
    /// `p`, Holm-adjusted over the tasks.
    pub holm_p: f64,
    /// Verdict after this adjustment.
    pub verdict: TaskVerdict,
    /// The test, and the method used for the interval.
    pub test: String,
    /// True if the metric is binary, so that the difference is shown in points.
    pub share: bool,
}

impl TaskFinding {
    /// Formats a difference, in points or the metric's unit.
    pub fn amount(&self, x: f64) -> String {
        amount(self.share, x)
    }
}

/// The difference over all tasks of two folders. The finding's `n` is the number of items.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct PooledFinding {
    /// Name of the first side.
    pub a: String,
    /// Name of the second side.
    pub b: String,
    /// `macro` (mean of the tasks' differences, t test over tasks), `micro` (mean over items, tasks as clusters), or `fixed` (mean over
    /// items, for these tasks only; used with fewer than ten tasks).
    #[id]
    pub over: String,
    /// Number of tasks.
    pub tasks: usize,
    /// Mean of the first side minus mean of the second. With fewer than ten tasks there is no interval, and its ends are -1 and 1.
    pub difference: Estimate,
    /// The p-value; null without an interval.
    pub p: Option<f64>,
    /// `p`, Holm-adjusted over all pairs of systems; absent for two systems, and for means other than the deciding one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holm_p: Option<f64>,
}

/// Minimum number of tasks with which the mean over items, with tasks as clusters, keeps its level even if tasks differ greatly in size.
const ENOUGH_TASKS: usize = 60;

/// A doubt about the interval for a mean over items, with this number of tasks as clusters.
pub fn few_clusters(tasks: usize) -> Option<String> {
    few(tasks, ENOUGH_TASKS, "tasks as clusters", &[(10, "90.6 %"), (20, "92.5 %"), (60, "94.4 %")])
}

/// An item on which the two sides disagree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Columns)]
pub struct FlipFinding {
    /// Name of the task; empty for two files.
    #[id]
    pub task: String,
    /// Name of the metric.
    pub metric: String,
    /// Identifier of the item.
    #[id]
    pub item: String,
    /// Value of the metric for the first side.
    pub value_a: f64,
    /// Value of the metric for the second side.
    pub value_b: f64,
    /// Answer of the first side, shortened.
    pub answer_a: String,
    /// Answer of the second side, shortened.
    pub answer_b: String,
    /// Expected answer, shortened.
    pub target: String,
    /// Input of the item, shortened.
    pub input: String,
    /// Facts about the item as `key=value`.
    pub facts: Vec<String>,
}

/// An item with its values and details in two runs.
pub struct Item<'r> {
    pub id: &'r str,
    pub values: [f64; 2],
    pub details: [&'r Detail; 2],
}

impl Item<'_> {
    /// Facts about the item from its file, and the length of the input.
    pub fn facts(&self) -> Vec<(&str, &str)> {
        let length = match self.details[0].input.chars().count() {
            0 => None,
            1..=50 => Some("to 50 characters"),
            51..=150 => Some("51 to 150 characters"),
            _ => Some("over 150 characters"),
        };
        let own = self.details[0].traits.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        own.chain(length.map(|length| ("input length", length))).collect()
    }

    pub fn flip(&self, task: &str, metric: &str) -> FlipFinding {
        let [a, b] = self.details;
        FlipFinding {
            task: task.to_owned(),
            metric: metric.to_owned(),
            item: self.id.to_owned(),
            value_a: self.values[0],
            value_b: self.values[1],
            answer_a: a.answer.clone(),
            answer_b: b.answer.clone(),
            target: a.target.clone(),
            input: a.input.clone(),
            facts: self.facts().iter().map(|(key, value)| format!("{key}={value}")).collect(),
        }
    }
}

/// Items common to both runs with their values of a metric, in the order of the first run; empty if a run lacks the metric.
pub fn items<'r>(a: &'r Results, b: &'r Results, metric: &str) -> Vec<Item<'r>> {
    static NOTHING: Detail =
        Detail { answer: String::new(), target: String::new(), input: String::new(), traits: Vec::new() };
    let column = |r: &'r Results| r.metrics.iter().find(|m| m.name == metric);
    let (Some(in_a), Some(in_b)) = (column(a), column(b)) else { return Vec::new() };
    let item = |(at, id): (usize, &'r str)| {
        let other = b.place(id, at as u32)? as usize;
        let detail = |r: &'r Results, at: usize| r.details.get(at).unwrap_or(&NOTHING);
        Some(Item { id, values: [in_a.values[at], in_b.values[other]], details: [detail(a, at), detail(b, other)] })
    };
    a.ids.iter().enumerate().filter_map(item).collect()
}
