//! The prompts lab against `reference/prompts` (queries through transformers, statistics in exact fractions) and the enumerated
//! rank consistencies of `reference/stats`.

mod queries;
mod table;

pub fn tests() -> Vec<crate::harness::Test> {
    [queries::tests(), table::tests()].into_iter().flatten().collect()
}
