//! The prompts lab against queries through transformers (in the fixtures and the larger set), statistics in exact fractions
//! (`reference/prompts`), and the enumerated rank consistencies of `reference/stats`. Also pseudo-log-likelihoods of a fixture trained
//! here, and families that are run by their logits.

mod families;
mod pll;
mod queries;
mod table;

pub(crate) fn tests() -> Vec<crate::harness::Test> {
    [families::tests(), pll::tests(), queries::tests(), table::tests()].into_iter().flatten().collect()
}
