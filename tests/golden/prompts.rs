//! The prompts lab against queries through transformers (the fixtures' and those of the larger set), statistics in exact fractions
//! (`reference/prompts`) and the enumerated rank consistencies of `reference/stats`.

mod queries;
mod table;

pub fn tests() -> Vec<crate::harness::Test> {
    [queries::tests(), table::tests()].into_iter().flatten().collect()
}
