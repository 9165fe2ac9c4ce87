//! Known keys of rows and columns, in groups with the same meaning.

/// Identifier keys, by decreasing priority.
pub(crate) const IDS: [&str; 17] = [
    "doc_id",
    "id",
    "instance_id",
    "instance",
    "task_id",
    "question_id",
    "sample_id",
    "item_id",
    "example_id",
    "item",
    "sample",
    "qid",
    "uid",
    "idx",
    "index",
    "key",
    "#",
];
/// Cluster keys, by decreasing priority.
pub(crate) const CLUSTERS: [&str; 8] =
    ["cluster", "cluster_id", "group", "group_id", "passage_id", "passage", "story_id", "context_id"];
pub(crate) const RUNS: [&str; 7] = ["epoch", "seed", "run", "repeat", "repetition", "train_trial_index", "trial"];
/// Keys that state correctness. Those from the fifth on count only if the value is true or false.
pub(crate) const CORRECT: [&str; 9] =
    ["correct", "is_correct", "passed", "resolved", "right", "result", "outcome", "pass", "success"];
/// Keys of lm-evaluation-harness that are not metrics.
pub(crate) const HARNESS: [&str; 8] = [
    "arguments",
    "resps",
    "filtered_resps",
    "prompt_hash",
    "target_hash",
    "doc_hash",
    // Written up to version 0.3.
    "prompt_0",
    "logit_0",
];
pub(crate) const TARGETS: [&str; 9] =
    ["target", "gold", "references", "reference", "truth", "ground_truth", "label", "expected", "correct_answer"];
pub(crate) const PREDICTIONS: [&str; 6] =
    ["prediction", "predictions", "pred", "predicted", "model_answer", "response"];
pub(crate) const INPUTS: [&str; 3] = ["input", "question", "example"];

/// Returns the priority of a key in a list; higher values take precedence, and 0 means absent.
pub(crate) fn rank(list: &[&str], key: &str) -> u8 {
    list.iter().position(|k| *k == key).map_or(0, |at| (list.len() - at) as u8)
}

/// True for keys that identify an item.
pub(crate) fn is_id(key: &str) -> bool {
    IDS.contains(&key)
}

/// True for columns of text, even if their cells look like numbers.
pub(crate) fn is_text(key: &str) -> bool {
    key == "filter"
        || key == "answer"
        || [&IDS[..], &CLUSTERS, &RUNS, &TARGETS, &PREDICTIONS, &INPUTS].iter().any(|list| list.contains(&key))
}

/// Returns the known key with the same letters, ignoring word separators (`questionid`, `IsCorrect`).
pub(crate) fn known(name: &str) -> Option<&'static str> {
    let lists = [&IDS[..], &CLUSTERS, &RUNS, &CORRECT, &TARGETS, &PREDICTIONS, &INPUTS, &["answer", "filter"]];
    lists.into_iter().flatten().copied().find(|key| letters(key).eq(letters(name)))
}

fn letters(text: &str) -> impl Iterator<Item = char> {
    text.chars().filter(|c| *c != '_').flat_map(char::to_lowercase)
}
