//! Meanings of column headings that are not in the glossary. The help searches them.

use labs::terms::Term;

const fn head(name: &'static str, symbol: &'static str, meaning: &'static str) -> Term {
    Term { name, symbol, meaning, labs: &[] }
}

/// Column headings. Each meaning begins with the list's name; meanings in other lists may follow.
pub(crate) const HEADS: &[Term] = &[
    head("method", "", "Methods: an intervention with its options; enter draws it."),
    head(
        "interval",
        "",
        "Methods: interval of R over examples and training runs, at the level of the run (95 % by default).",
    ),
    head("each run", "", "Methods: R of each training run; an interval needs three of them."),
    head(
        "aim",
        "",
        "Methods: aim of the method, either setting another value or removing the property; C is defined differently for each, so compare R only within an aim. A control has no aim, because it ignores the property.",
    ),
    head(
        "flips %",
        "",
        "Methods: share of sentences in which the edit changes the form that the model itself prefers, in %.",
    ),
    head(
        "dist. ×",
        "",
        "Methods: distance of edited states from the nearest real ones, as a multiple (×) of the distance of unedited states.",
    ),
    head("relation", "", "Relations: name of the relation."),
    head("mean gap", "", "Relations: best minus worst prompt, in points, mean over the models."),
    head(
        "mean held out",
        "",
        "Relations: the gap with best and worst wording chosen on other facts, in points, mean over the models.",
    ),
    head(
        "mean chance",
        "",
        "Relations: the gap that equally good wordings would show by chance, in points, mean over the models.",
    ),
    head("mean std", "", "Relations: standard deviation of P@1 across prompt texts, in points, mean over the models."),
    head(
        "mean stable",
        "",
        "Relations: share of subjects with the same answer under every name, mean over the models.",
    ),
    head("facts", "", "Relations: number of facts tested. Changed items: the fields that describe the item."),
    head("type", "", "Relations: kind of relation."),
    head("std", "", "Relations: standard deviation of P@1 across prompt texts, in points."),
    head("a − b", "a - b", "Relations: P@1 of the first model minus that of the second, in points."),
    head("train / test", "", "Sizes: number of training sentences, the same for both sides, and of test items."),
    head("diff.", "A − B", "Sizes, tasks, pairs: A's score minus B's, in points if the score is a proportion."),
    head("A %", "B %", "Sizes: accuracy of side A and of side B."),
    head("A", "B", "Tasks: mean score of side A and of side B."),
    head(
        "raw p",
        "",
        "Sizes: p-value of this comparison alone; the answer's p-value is adjusted if the run makes several comparisons.",
    ),
    head(
        "A interval",
        "B interval",
        "Sizes: interval of the accuracy, in %; exact (Clopper-Pearson), and so wider, if fewer than 5 answers are right or wrong.",
    ),
    head("pair", "", "Pairs: the two systems that are compared."),
    head("A better", "B better", "Pairs: number of tasks on which this side is significantly better."),
    head("tasks", "task", "Pairs: number of tasks that both systems have. Tasks: name of the task."),
    head("verdict", "", "Tasks: A or B if that side is better, otherwise equivalent or undecided."),
    head("Holm p", "", "Tasks, pairs: p-value corrected for all comparisons in the list."),
    head("set", "", "Known sets: name of a published data set; for UD its sizes are in words."),
    head("test", "", "Known sets: number of test items, or of all items if the set is not split."),
    head("this comparison", "", "Known sets: verdict on the number of test items in the set for this comparison."),
    head("train", "", "Known sets: number of training items."),
    head(
        "the bound",
        "",
        "Known sets: enough if the set has as many training items as the bound recommends, otherwise too small.",
    ),
    head("item", "", "Changed items: number of an item that only one side gets right."),
    head("better", "", "Changed items: the side that is right."),
    head("A's answer", "B's answer", "Changed items: the answer of this side."),
    head("expected", "", "Changed items: the right answer."),
    head("sentence", "", "Sentences: the sentence with its masked word."),
    head(
        "● right",
        "+ right, right",
        "Sentences: the model's answers to the original, then to its changed partners; this heading shows the mark for a right answer, and a dash means no answer yet.",
    ),
    head("words", "", "Sentences: number of words."),
    head("no.", "", "Sentences: position in the data."),
    head("dimension", "", "Sentences: the construction that the sentence tests."),
    head(
        "dispensable",
        "dispens",
        "Alteration (dispensable words): unimportant words are inserted, deleted or replaced.",
    ),
    head("important", "import", "Alteration (important words): important words are replaced by related ones."),
    head("transformed", "trans", "Alteration (transformation): a different syntactic form with the same meaning."),
];
