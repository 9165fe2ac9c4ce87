//! The prompts lab compared with queries through transformers (in the fixtures and the larger set), with statistics in exact fractions
//! (`reference/prompts`), and with the enumerated rank consistencies in `reference/stats`. Also covers pseudo-log-likelihoods under the
//! built-in models, and families that are run only for their logits.

mod families;
mod pll;
mod queries;
mod table;

pub(crate) fn tests() -> Vec<crate::harness::Test> {
    [families::tests(), pll::tests(), queries::tests(), table::tests()].into_iter().flatten().collect()
}
