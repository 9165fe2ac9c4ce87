//! Stored replies, found by a hash of everything that affects them: model, rule, facts with their names, and prompt. A new prompt or model
//! needs only its own queries.

use sha2::{Digest, Sha256};

use super::bench::{Member, Replies};
use crate::candidates::Reply;
use crate::function_words::FunctionWords;
use crate::library::Fact;
use crate::rule::Rule;
use crate::spec::QuerySpec;
use base::files::hex;
use lab::store::instructions;

/// Must increase when a change to the program alters replies.
const VERSION: u32 = 2;
/// Value stored in place of a token if the query could not be run.
const UNASKED: u32 = u32::MAX;
/// Value stored in place of a rank if the object is not a candidate.
const UNRANKED: u32 = 0;

/// The key for a model's replies about some facts under a rule. `fitted` states whether names are fitted into the sentence, which changes
/// the queries.
pub(crate) fn key(
    member: &Member,
    query: &QuerySpec,
    function_words: &FunctionWords,
    rule: &Rule,
    (facts, fitted): (&[Fact], bool),
) -> String {
    let model = &member.model;
    let mut hash = Sha256::new();
    // Length prefixes separate adjacent texts.
    let mut text = |t: &str| {
        hash.update((t.len() as u64).to_le_bytes());
        hash.update(t);
    };
    function_words.sorted().into_iter().for_each(&mut text);
    text(if function_words.pass_symbols() { "symbols" } else { "" });
    text(if fitted { "|" } else { "|letter by letter|" });
    for fact in facts {
        text(&fact.object);
        fact.names.iter().for_each(|n| text(n));
    }
    match rule {
        Rule::Vocabulary => {}
        Rule::Tokens(ids) => ids.iter().for_each(|id| hash.update(id.to_le_bytes())),
        Rule::Words(words) => words.iter().for_each(|w| {
            hash.update((w.text.len() as u64).to_le_bytes());
            hash.update(&w.text);
        }),
    }
    format!(
        "prompts v{VERSION}|{}|{}|{}|{}|{}|{}|{}",
        model.hash(),
        model.device(),
        instructions(model.dtype()),
        query.candidates.name(),
        query.ignore_case,
        facts.len(),
        hex(&hash.finalize()[..16])
    )
}

pub(crate) struct Known {
    width: usize,
    prompts: Vec<(String, Replies)>,
}

impl Known {
    /// Reads stored replies; none if they are damaged or of a different size, as for other facts.
    pub(crate) fn read(bytes: Option<Vec<u8>>, facts: &[Fact]) -> Self {
        let width = facts.iter().map(|f| f.names.len()).sum();
        let prompts = bytes.and_then(|b| parse(&b, width)).unwrap_or_default();
        Self { width, prompts }
    }

    pub(crate) fn get(&self, prompt: &str) -> Option<&Replies> {
        self.prompts.iter().find(|(p, _)| p == prompt).map(|(_, r)| r)
    }

    pub(crate) fn put(&mut self, prompt: &str, replies: Replies) {
        assert_eq!(replies.len(), self.width, "replies of other facts");
        self.prompts.push((prompt.to_owned(), replies));
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let number = |n: u32, out: &mut Vec<u8>| out.extend(n.to_le_bytes());
        for (prompt, replies) in &self.prompts {
            number(prompt.len() as u32, &mut out);
            out.extend(prompt.as_bytes());
            for reply in replies {
                let (id, rank) = reply.map_or((UNASKED, UNRANKED), |r| (r.id, r.rank.unwrap_or(UNRANKED)));
                number(id, &mut out);
                number(rank, &mut out);
            }
        }
        out
    }
}

fn parse(mut bytes: &[u8], width: usize) -> Option<Vec<(String, Replies)>> {
    let mut prompts = Vec::new();
    let number = |bytes: &mut &[u8]| -> Option<u32> {
        let (head, rest) = bytes.split_first_chunk::<4>()?;
        *bytes = rest;
        Some(u32::from_le_bytes(*head))
    };
    while !bytes.is_empty() {
        let length = number(&mut bytes)? as usize;
        let (prompt, rest) = bytes.split_at_checked(length)?;
        bytes = rest;
        let mut replies = Vec::with_capacity(width.min(bytes.len()));
        for _ in 0..width {
            let (id, rank) = (number(&mut bytes)?, number(&mut bytes)?);
            let rank = (rank != UNRANKED).then_some(rank);
            replies.push((id != UNASKED).then_some(Reply { id, rank }));
        }
        prompts.push((String::from_utf8(prompt.to_vec()).ok()?, replies));
    }
    Some(prompts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_round_trip_and_damaged_ones_are_dropped() {
        let facts = [
            Fact { names: vec!["a".into(), "b".into()], object: "o".into() },
            Fact { names: vec!["c".into()], object: "p".into() },
        ];
        let replies = vec![Some(Reply { id: 7, rank: Some(2) }), None, Some(Reply { id: 0, rank: None })];
        let mut known = Known::read(None, &facts);
        known.put("[X] é [Y]", replies.clone());
        known.put("[X] [Y]", vec![None; 3]);
        let bytes = known.bytes();
        let again = Known::read(Some(bytes.clone()), &facts);
        assert_eq!(again.get("[X] é [Y]"), Some(&replies));
        assert_eq!(again.get("[X] [Y]"), Some(&vec![None; 3]));
        assert_eq!(again.get("other"), None);
        for cut in [1, 5, bytes.len() - 1] {
            assert!(Known::read(Some(bytes[..cut].to_vec()), &facts).prompts.is_empty(), "{cut}");
        }
    }
}
