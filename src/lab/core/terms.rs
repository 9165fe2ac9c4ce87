//! The field's terms used by screens, settings and the guide: symbol, meaning, unit. All explanations come from this table.

use super::LabId::{Interventions, Power, Prompts, Saliency};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Term {
    pub name: &'static str,
    /// The symbol on axes and in tables; may be empty.
    pub symbol: &'static str,
    /// The meaning in one sentence, with range or unit.
    pub meaning: &'static str,
    /// The labs that use it; empty for all.
    pub labs: &'static [super::LabId],
}

const fn term(name: &'static str, symbol: &'static str, labs: &'static [super::LabId], meaning: &'static str) -> Term {
    Term { name, symbol, meaning, labs }
}

pub const TERMS: &[Term] = &[
    term(
        "completeness",
        "C",
        &[Interventions],
        "Degree to which an edit moves the oracle's prediction of the target to the intended value; 0 to 1.",
    ),
    term(
        "selectivity",
        "S",
        &[Interventions],
        "Degree to which the edit preserves the oracle's prediction of the other property; 0 to 1.",
    ),
    term(
        "reliability",
        "R",
        &[Interventions],
        "Harmonic mean of completeness and selectivity: high only if both are; 0 to 1.",
    ),
    term(
        "strength",
        "ε, α, rank",
        &[Interventions],
        "Size of an edit: radius ε of the ball, step α along classifiers' directions, or rank r of the removed subspace.",
    ),
    term(
        "oracle",
        "",
        &[Interventions],
        "A probe that evaluates edits; its training data is separate from the methods' data.",
    ),
    term(
        "control",
        "",
        &[Interventions],
        "An edit that ignores the property: no change, or a random one. A method should beat it.",
    ),
    term("target property", "Zc", &[Interventions], "The property that an edit is to change; Zc in the paper."),
    term("property to keep", "Ze", &[Interventions], "A property that an edit is to leave as it is; Ze in the paper."),
    term(
        "S of a constant answer",
        "",
        &[Interventions],
        "Selectivity of an oracle that gives the same answer for every example.",
    ),
    term("C before", "", &[Interventions], "Completeness without an edit."),
    term(
        "range over equally good probes",
        "",
        &[Interventions],
        "Lowest to highest score under other probe settings that validate as well as the plotted ones.",
    ),
    term(
        "front",
        "",
        &[Interventions],
        "Settings that no other setting beats in completeness or selectivity without being worse in the other.",
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
        "Interval of a score: the dark band covers the choice of examples, the light band also the randomness of training.",
    ),
    term(
        "not robust",
        "",
        &[Interventions],
        "A ranking of methods that is reversed by equally good probe settings or by the other oracle.",
    ),
    term(
        "calibration error",
        "ECE",
        &[Interventions],
        "Mean absolute difference between a probe's probabilities and its accuracy (15 bins); 0 is perfect.",
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
        "Edits toward a different value of the property, for example from singular to plural.",
    ),
    term(
        "nullifying method",
        "",
        &[Interventions],
        "Edits that remove the property, so that no probe can predict its value.",
    ),
    term(
        "distance",
        "×",
        &[Interventions],
        "Distance of edited states from real ones, as a multiple of the distance of unedited states.",
    ),
    term(
        "training runs",
        "",
        &[Interventions, Power],
        "Probes retrained with different seeds; the differences between runs show the randomness of training.",
    ),
    term(
        "light and dark band",
        "",
        &[],
        "Light or thin: includes the choice of examples and the randomness of training; dark or thick: only the examples.",
    ),
    term(
        "prompt",
        "wording, prompts",
        &[Prompts],
        "One wording of a relation, with slots for the subject and the answer.",
    ),
    term(
        "P@1",
        "",
        &[Prompts],
        "Share of facts whose first answer is right; its interval is exact if fewer than 5 are right or wrong.",
    ),
    term("P@k", "", &[Prompts], "Share of facts with the right answer among the first k."),
    term("gap", "", &[Prompts], "P@1 of a relation's best prompt minus P@1 of its worst prompt, in points."),
    term(
        "held-out gap",
        "held",
        &[Prompts],
        "The gap between the best and the worst prompt if both are chosen on other facts, which removes selection bias.",
    ),
    term(
        "gap by chance",
        "chance",
        &[Prompts],
        "The gap that equally good prompts would show by chance on this many facts.",
    ),
    term("stability", "stable", &[Prompts], "Share of subjects with the same answer under every name."),
    term(
        "adjusted score",
        "adj",
        &[Prompts],
        "P@1 averaged over prompts and names, which removes the effect of picking one of them.",
    ),
    term(
        "rank consistency",
        "",
        &[Prompts],
        "Share of random draws of relations in which the models have their most frequent ranks.",
    ),
    term(
        "ledger",
        "",
        &[Prompts],
        "Variance of the gap between two models in one draw, split by source: prompt, name, sample, and the rest.",
    ),
    term("power", "", &[Power], "Probability that a comparison detects a real difference; .80 is customary."),
    term(
        "significance level",
        "α",
        &[Power],
        "Probability that a test finds a difference where there is none; .05 is customary.",
    ),
    term(
        "smallest detectable difference",
        "MDE",
        &[Power],
        "The smallest difference that a test on the available items detects with the target power.",
    ),
    term(
        "McNemar's test",
        "",
        &[Power],
        "Test of two sides on the same items, based on the items that only one side gets right.",
    ),
    term(
        "mid-p",
        "p",
        &[Power],
        "McNemar's p-value with half the probability of the observed table: less strict than the exact p-value.",
    ),
    term("equivalence", "", &[Power], "The sides differ by less than a margin fixed in advance."),
    term(
        "type M, type S",
        "",
        &[Power],
        "Average exaggeration of a significant difference (M), and the probability that its sign is wrong (S).",
    ),
    term(
        "e-value",
        "e",
        &[Power],
        "Evidence that may be checked after every item; the test may stop once it reaches 1/α.",
    ),
    term("bound", "n", &[Power], "Training sentences that learning theory recommends for a difference of this size."),
    term(
        "Krippendorff's alpha",
        "α",
        &[Saliency],
        "Agreement of annotators beyond chance: 1 is perfect agreement, 0 is chance.",
    ),
    term("rationale", "gold", &[Saliency], "The words that annotators marked as sufficient for the answer."),
    term(
        "predicted rationale",
        "top K",
        &[Saliency],
        "The K words that a method scores highest; K depends on the marked rationales.",
    ),
    term(
        "changed partner",
        "perturbed form",
        &[Saliency],
        "A sentence with words replaced, added or reordered; its scores are compared with the original's.",
    ),
    term("token-F1", "F1", &[Saliency], "Overlap of the highest-scored words with the annotators' words; 0 to 1."),
    term(
        "mean average precision",
        "MAP",
        &[Saliency],
        "Agreement between the rankings of words before and after a change to the sentence; 0 to 1.",
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
        "Difference between the sum of the integrated gradients and the change in the prediction.",
    ),
    term("sufficiency", "", &[Saliency], "Drop in the model's probability when only the predicted rationale is left."),
    term("comprehensiveness", "", &[Saliency], "Drop in the model's probability without the predicted rationale."),
    term(
        "interval",
        "[ ]",
        &[],
        "A range that covers the true value in 95 % of cases (or at the level set); exact for small counts.",
    ),
    term("n", "n", &[], "Number of examples, facts or items on which a result is based."),
    term("p-value", "p", &[], "Probability of a difference at least this large if there were no real difference."),
    term(
        "Holm, BH",
        "",
        &[],
        "Corrections of p-values: Holm limits the chance of any false finding, BH the expected share of false findings.",
    ),
    term("seed", "", &[], "Number that determines all random choices; the same seed gives the same results."),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_unique_with_one_sentence() {
        for (i, term) in TERMS.iter().enumerate() {
            assert!(term.meaning.ends_with('.') && term.meaning.len() < 120, "{}", term.name);
            assert!(TERMS[..i].iter().all(|other| other.name != term.name), "{}", term.name);
        }
    }
}
