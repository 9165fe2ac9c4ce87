//! Known keys of rows and columns, by meaning.

/// Keys of identifiers; the first in this list wins.
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
/// Keys of item groups; the first in this list wins.
pub(crate) const CLUSTERS: [&str; 8] =
    ["cluster", "cluster_id", "group", "group_id", "passage_id", "passage", "story_id", "context_id"];
pub(crate) const RUNS: [&str; 7] = ["epoch", "seed", "run", "repeat", "repetition", "train_trial_index", "trial"];
/// Keys that state right or wrong; after the first four they count only if their value is one of the two.
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
    // Versions until 0.3.
    "prompt_0",
    "logit_0",
];
pub(crate) const TARGETS: [&str; 9] =
    ["target", "gold", "references", "reference", "truth", "ground_truth", "label", "expected", "correct_answer"];
pub(crate) const PREDICTIONS: [&str; 6] =
    ["prediction", "predictions", "pred", "predicted", "model_answer", "response"];
pub(crate) const INPUTS: [&str; 3] = ["input", "question", "example"];

/// The rank of a key in a list, counted from its end, so that a higher rank wins; 0 if absent.
pub(crate) fn rank(list: &[&str], key: &str) -> u8 {
    list.iter().position(|k| *k == key).map_or(0, |at| (list.len() - at) as u8)
}

/// True for a key that names an item.
pub(crate) fn is_id(key: &str) -> bool {
    IDS.contains(&key)
}

/// True for a column whose cells are texts, even if they look like numbers.
pub(crate) fn is_text(key: &str) -> bool {
    key == "filter"
        || key == "answer"
        || [&IDS[..], &CLUSTERS, &RUNS, &TARGETS, &PREDICTIONS, &INPUTS].iter().any(|list| list.contains(&key))
}

/// The known key with these letters, with any separators between its words (`questionid`, `IsCorrect`).
pub(crate) fn known(name: &str) -> Option<&'static str> {
    let lists = [&IDS[..], &CLUSTERS, &RUNS, &CORRECT, &TARGETS, &PREDICTIONS, &INPUTS, &["answer", "filter"]];
    lists.into_iter().flatten().copied().find(|key| letters(key).eq(letters(name)))
}

fn letters(text: &str) -> impl Iterator<Item = char> {
    text.chars().filter(|c| *c != '_').flat_map(char::to_lowercase)
}
