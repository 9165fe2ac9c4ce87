//! Meanings of column headings that are not in the glossary, for the search of the help.

use labs::terms::Term;

const fn head(name: &'static str, symbol: &'static str, meaning: &'static str) -> Term {
    Term { name, symbol, meaning, labs: &[] }
}

/// Headings, each with its list and other headings of the same column.
pub(crate) const HEADS: &[Term] = &[
    head("method", "", "Methods: an intervention with its options; enter draws it."),
    head("at", "", "Methods: the strength at which the method scores best."),
    head(
        "interval",
        "",
        "Methods: interval of R over examples and trainings, at the level of the run (95 % by default).",
    ),
    head(
        "aim",
        "",
        "Methods: set another value, or remove the property; C is defined differently for the two, so compare R within one.",
    ),
    head("flips", "", "Methods: share of sentences in which the edit changes the form that the model itself prefers."),
    head("relation", "", "Relations: the relation that is asked."),
    head("facts", "", "Relations: facts that are asked. Changed items: the facts that an item is about."),
    head("type", "", "Relations: the kind of the relation."),
    head("std", "", "Relations: standard deviation of P@1 over wordings, in points."),
    head("a − b", "a - b", "Relations: P@1 of the first model minus that of the second, in points."),
    head("trained on", "", "Sizes: training sentences of both sides."),
    head("diff.", "A − B", "Sizes, tasks, pairs: A's score minus B's, in points where it is a share."),
    head("A %", "B %", "Sizes: accuracy of side A and of side B."),
    head("A", "B", "Tasks: mean score of side A and of side B."),
    head("±A", "±B", "Sizes: half of the interval of that accuracy."),
    head("pair", "", "Pairs: the two systems that are compared."),
    head("A better", "B better", "Pairs: tasks on which that side is better by more than chance."),
    head("tasks", "task", "Pairs: tasks that both systems have. Tasks: the name of the task."),
    head("verdict", "", "Tasks: which side is better, whether both are equivalent, or undecided."),
    head("Holm p", "", "Tasks, pairs: p-value corrected for all of the list."),
    head("item", "", "Changed items: the number of an item that only one side gets right."),
    head("better", "", "Changed items: the side that is right."),
    head("A's answer", "B's answer", "Changed items: what that side answers."),
    head("expected", "", "Changed items: the right answer."),
    head("sentence", "", "Sentences: the sentence with its gap."),
    head("right", "", "Sentences: whether the model fills the gap with the right form."),
    head("words", "", "Sentences: number of words."),
    head("no.", "", "Sentences: place in the data."),
    head("dimension", "", "Sentences: the construction that the sentence tests."),
    head("dispens", "", "Alteration: words that should not matter are inserted, deleted or replaced."),
    head("import", "", "Alteration: words that matter are replaced by related ones."),
    head("trans", "", "Alteration: another syntactic form of the same meaning."),
];
