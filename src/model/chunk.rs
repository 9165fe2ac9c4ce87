//! Division of sentences into batches of similar length.

/// Default maximum of tokens per forward pass, padding included.
pub const TOKENS_PER_BATCH: usize = 4096;

/// Divides sentences into batches of similar length, as indices into `lengths`. Each batch has at most `tokens` tokens, padding included,
/// or a single sentence.
pub fn chunks(lengths: &[usize], tokens: usize) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    order.sort_by_key(|place| lengths[*place]);
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for place in order {
        // Lengths increase, so the newest row is the longest of its batch.
        match groups.last_mut() {
            Some(group) if (group.len() + 1) * lengths[place] <= tokens => group.push(place),
            _ => groups.push(vec![place]),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn batches_cover_all_sentences_within_the_token_limit(
            lengths in prop::collection::vec(1usize..60, 0..200), tokens in 1usize..400,
        ) {
            let groups = chunks(&lengths, tokens);
            let mut seen: Vec<usize> = groups.iter().flatten().copied().collect();
            seen.sort_unstable();
            prop_assert_eq!(seen, (0..lengths.len()).collect::<Vec<_>>());
            for g in &groups {
                let longest = g.iter().map(|i| lengths[*i]).max().unwrap_or(0);
                prop_assert!(g.len() == 1 || g.len() * longest <= tokens);
            }
        }
    }
}
