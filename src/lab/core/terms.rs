//! The field's terms that screens, forms and the guide use: symbol, meaning, unit. Every explanation comes from this
//! table.

use super::LabId::{Interventions, Power, Prompts, Saliency};

/// A term and its meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Term {
    pub name: &'static str,
    /// The symbol on axes and in tables; empty if there is none.
    pub symbol: &'static str,
    /// Meaning in one sentence, with range or unit.
    pub meaning: &'static str,
    /// The labs that use it; empty for all.
    pub labs: &'static [super::LabId],
}

const fn term(name: &'static str, symbol: &'static str, labs: &'static [super::LabId], meaning: &'static str) -> Term {
    Term { name, symbol, meaning, labs }
}

/// Every term, in the order of the glossary.
pub const TERMS: &[Term] = &[
    term(
        "completeness",
        "C",
        &[Interventions],
        "How far an edit moves the oracle's reading of the target to where it should be; 0 to 1.",
    ),
    term(
        "selectivity",
        "S",
        &[Interventions],
        "How little the edit changes the oracle's reading of what should stay; 0 to 1.",
    ),
    term(
        "reliability",
        "R",
        &[Interventions],
        "Harmonic mean of completeness and selectivity: high only if both are; 0 to 1.",
    ),
    term(
        "strength",
        "ε, rank",
        &[Interventions],
        "How hard a method edits: the radius ε of its ball, or the rank of what it removes.",
    ),
    term("oracle", "", &[Interventions], "A probe that judges edits, trained on data that no method saw."),
    term(
        "control",
        "",
        &[Interventions],
        "An edit made without knowledge of the property: none at all, or a random one. A method should beat it.",
    ),
    term(
        "S of a constant answer",
        "",
        &[Interventions],
        "Selectivity of an oracle that gives the same answer for every example.",
    ),
    term("C before", "", &[Interventions], "Completeness with no edit at all."),
    term(
        "range over equally good probes",
        "",
        &[Interventions],
        "From the lowest to the highest score under other probe settings that validate as well as the plotted ones.",
    ),
    term(
        "front",
        "",
        &[Interventions],
        "The settings that no other setting beats in one of completeness and selectivity without losing in the other.",
    ),
    term(
        "attractor",
        "",
        &[Interventions],
        "A noun between subject and verb, with its own grammatical number; only some examples have one.",
    ),
    term(
        "band",
        "",
        &[Interventions],
        "Interval of a score: the inner covers the choice of examples, the outer also that of training.",
    ),
    term(
        "not robust",
        "",
        &[Interventions],
        "An order of methods that equally good probe settings, or the other oracle, reverse.",
    ),
    term(
        "calibration error",
        "ECE",
        &[Interventions],
        "How far a probe's probabilities are from its accuracy on average (15 bins); 0 is perfect.",
    ),
    term(
        "majority",
        "",
        &[Interventions],
        "Accuracy of always answering the most frequent value; a probe must beat it to be informative.",
    ),
    term(
        "dominated",
        "",
        &[Interventions],
        "Another setting is clearly better in completeness or selectivity and not worse in the other.",
    ),
    term(
        "knee",
        "◇",
        &[Interventions],
        "The best trade-off: the setting furthest from the line between the ends of the front.",
    ),
    term(
        "counterfactual method",
        "",
        &[Interventions],
        "Edits toward another value of the property, for example from singular to plural.",
    ),
    term("nullifying method", "", &[Interventions], "Edits that remove the property, so that no value can be read."),
    term(
        "distance",
        "×",
        &[Interventions],
        "How far edited states are from real ones, as a multiple of the distance of unedited ones.",
    ),
    term(
        "trainings",
        "",
        &[Interventions, Power],
        "All probes retrained with another seed; how far they differ shows the luck of training.",
    ),
    term(
        "outer and inner band",
        "±",
        &[],
        "The outer interval covers the choice of examples and the luck of training, the inner one examples alone.",
    ),
    term(
        "prompt",
        "wording, prompts",
        &[Prompts],
        "One wording of a relation, with gaps for the subject and for the answer.",
    ),
    term("P@1", "", &[Prompts], "Share of facts whose first answer is right."),
    term("P@k", "", &[Prompts], "Share of facts with the right answer among the first k."),
    term("gap", "", &[Prompts], "Best minus worst prompt of a relation, in points."),
    term(
        "held-out gap",
        "held",
        &[Prompts],
        "The gap with the best and the worst prompt chosen on other facts, so that luck in the choice does not count.",
    ),
    term(
        "gap by chance",
        "chance",
        &[Prompts],
        "The gap that equally good prompts would show by chance on this many facts.",
    ),
    term("stability", "stable", &[Prompts], "Share of subjects with the same answer under every name."),
    term("adjusted score", "adj", &[Prompts], "P@1 averaged over prompts and names, which removes the luck of either."),
    term(
        "rank consistency",
        "",
        &[Prompts],
        "How often the models keep their most frequent ranks when relations are redrawn.",
    ),
    term(
        "ledger",
        "",
        &[Prompts],
        "The sources of a gap between two models under one draw: models, prompt, name, sample, and the rest.",
    ),
    term("power", "", &[Power], "How often a comparison would detect a real difference; .80 is customary."),
    term("level", "α", &[Power], "How often a test may find a difference where there is none; .05 is customary."),
    term(
        "smallest visible difference",
        "MDE",
        &[Power],
        "The smallest difference that the available items would detect with the target power.",
    ),
    term(
        "McNemar's test",
        "",
        &[Power],
        "Tests two sides on the same items, using the items that only one of them gets right.",
    ),
    term(
        "mid-p",
        "p",
        &[Power],
        "McNemar's p-value with half the probability of the observed table: less strict than the exact one.",
    ),
    term("equivalence", "", &[Power], "The sides differ by less than a margin that was fixed beforehand."),
    term(
        "type M, type S",
        "",
        &[Power],
        "How much too large, and how often of the wrong sign, a significant difference is on average.",
    ),
    term("e-value", "e", &[Power], "Evidence that may be checked after every item; one may stop once it reaches 1/α."),
    term("bound", "n", &[Power], "Training sentences that learning theory recommends for a difference of this size."),
    term("rationale", "gold", &[Saliency], "The words that people marked as needed for the answer."),
    term(
        "predicted rationale",
        "top K",
        &[Saliency],
        "The K words that a method scores highest; K follows marked rationales.",
    ),
    term(
        "changed partner",
        "perturbed form",
        &[Saliency],
        "A sentence with words replaced, added or reordered; its scores are compared with the original's.",
    ),
    term(
        "token-F1",
        "F1",
        &[Saliency],
        "Overlap of the highest-scored words with the words that people marked; 0 to 1.",
    ),
    term(
        "mean average precision",
        "MAP",
        &[Saliency],
        "How well the ranking of words survives a change of the sentence; 0 to 1.",
    ),
    term(
        "correlation of pairs",
        "PCC",
        &[Saliency],
        "Correlation of word scores between a sentence and its changed partner.",
    ),
    term(
        "completeness error",
        "",
        &[Saliency],
        "How far integrated gradients are from adding up to the change of the prediction.",
    ),
    term(
        "sufficiency",
        "",
        &[Saliency],
        "What the model's probability loses when only the predicted rationale is left.",
    ),
    term("comprehensiveness", "", &[Saliency], "What the model's probability loses without the predicted rationale."),
    term(
        "interval",
        "[ ]",
        &[],
        "The range that covers the true value 95 % of the time, unless the settings say another level.",
    ),
    term("n", "n", &[], "The number of examples, facts or items behind a number."),
    term("p-value", "p", &[], "How often chance alone would show at least such a difference if there were none."),
    term(
        "Holm, BH",
        "",
        &[],
        "Corrections of p-values for several comparisons: Holm bounds any false finding, BH their expected share.",
    ),
    term("seed", "", &[], "The number from which all random choices follow; the same seed gives the same numbers."),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_term_has_one_sentence_and_stands_once() {
        for (i, term) in TERMS.iter().enumerate() {
            assert!(term.meaning.ends_with('.') && term.meaning.len() < 120, "{}", term.name);
            assert!(TERMS[..i].iter().all(|other| other.name != term.name), "{}", term.name);
        }
    }
}
