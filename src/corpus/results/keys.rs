//! Known keys of rows and columns, in groups with the same meaning.

/// Keys of identifiers, by decreasing priority.
pub(crate) const IDS: [&str; 21] = [
    "doc_id",
    "id",
    "instance_id",
    "instance",
    "task_id",
    "question_id",
    "sample_id",
    "item_id",
    "example_id",
    "problem_id",
    "sentence_id",
    "item",
    "sample",
    "qid",
    "uid",
    "pair_id",
    "guid",
    "idx",
    "index",
    "key",
    "#",
];
/// Keys that identify an item if no other key does. The first is the index column of a table that pandas wrote.
pub(crate) const STAND_INS: [&str; 4] = ["unnamed:_0", "row", "row_id", "name"];
/// Keys of clusters of items, by decreasing priority.
pub(crate) const CLUSTERS: [&str; 8] =
    ["cluster", "cluster_id", "group", "group_id", "passage_id", "passage", "story_id", "context_id"];
pub(crate) const RUNS: [&str; 7] = ["epoch", "seed", "run", "repeat", "repetition", "train_trial_index", "trial"];
/// Keys that state correctness. Those from the fifth on count only if the value is true or false.
pub(crate) const CORRECT: [&str; 9] =
    ["correct", "is_correct", "passed", "resolved", "right", "result", "outcome", "pass", "success"];
/// Keys whose value is 1 for a wrong answer.
pub(crate) const WRONG: [&str; 8] =
    ["wrong", "is_wrong", "incorrect", "is_incorrect", "error", "errors", "is_error", "failed"];
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
pub(crate) const TARGETS: [&str; 16] = [
    "target",
    "gold",
    "references",
    "reference",
    "truth",
    "ground_truth",
    "label",
    "expected",
    "correct_answer",
    "y_true",
    "gold_label",
    "gold_answer",
    "true_label",
    "correct_label",
    "expected_answer",
    "expected_output",
];
/// Keys of the model's answer, by decreasing priority. The last two often contain more than the answer.
pub(crate) const PREDICTIONS: [&str; 11] = [
    "prediction",
    "predictions",
    "pred",
    "predicted",
    "model_answer",
    "response",
    "y_pred",
    "predicted_label",
    "predicted_answer",
    "model_output",
    "output",
];
/// Keys of the item itself, by decreasing priority.
pub(crate) const INPUTS: [&str; 9] =
    ["input", "question", "example", "sentence", "query", "problem", "text", "context", "instruction"];
/// Keys of the text given to the model, which may differ between models for the same item.
pub(crate) const PROMPTS: [&str; 4] = ["prompt", "full_prompt", "origin_prompt", "arguments"];
/// Keys of hashes of an item, by decreasing priority.
pub(crate) const HASHES: [&str; 3] = ["doc_hash", "input_hash", "hash"];

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
        || [&IDS[..], &STAND_INS, &CLUSTERS, &RUNS, &TARGETS, &PREDICTIONS, &INPUTS, &PROMPTS, &HASHES]
            .iter()
            .any(|list| list.contains(&key))
}

/// Returns the known key with the same letters, ignoring word separators (`questionid`, `IsCorrect`).
pub(crate) fn known(name: &str) -> Option<&'static str> {
    let items = [&TARGETS[..], &PREDICTIONS, &INPUTS, &PROMPTS, &HASHES, &["answer", "filter"]];
    let lists = [&IDS[..], &STAND_INS, &CLUSTERS, &RUNS, &CORRECT, &WRONG].into_iter().chain(items);
    lists.flatten().copied().find(|key| letters(key).eq(letters(name)))
}

/// True for metrics of which lower values are better, such as `wer` or `word_perplexity`.
pub(crate) fn is_lower_better(name: &str) -> bool {
    const WORSE: [&str; 22] = [
        "wer",
        "cer",
        "ter",
        "mer",
        "loss",
        "nll",
        "perplexity",
        "ppl",
        "bits",
        "bpb",
        "error",
        "errors",
        "err",
        "wrong",
        "incorrect",
        "mae",
        "mse",
        "rmse",
        "brier",
        "ece",
        "distance",
        "toxicity",
    ];
    let name = name.to_lowercase();
    name.split(|c: char| !c.is_alphanumeric()).any(|word| WORSE.contains(&word))
}

fn letters(text: &str) -> impl Iterator<Item = char> {
    text.chars().filter(|c| !matches!(*c, '_' | ' ')).flat_map(char::to_lowercase)
}
