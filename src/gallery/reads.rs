//! Tests whether an encoder-decoder uses its encoder, by giving the encoder a sentence about a different subject.
//!
//! The decoder receives the beginning of the sentence, which names the subject, and could recall the object from that alone. The test
//! therefore gives encoder and decoder contradictory sentences. If the answers stay the same, they cannot show the effect of a change to
//! the encoder.

use super::score::score;
use corpus::facts::Relation;
use pretraining::Result;
use pretraining::ask::{Asked, Question};
use pretraining::mixture::Mixture;
use pretraining::recall::Tally;
use pretraining::score::LEVEL;
use pretraining::score::Score;
use stats::paired::{self, Table};

/// A fact that is queried twice.
struct Swap {
    own: Question,
    object: u32,
    /// The question about a different subject of the relation, with its object.
    other: Question,
    instead: u32,
}

/// Scores: P@1 as usual, P@1 with a different subject's sentence in the encoder, the proportion of answers with that subject's object, and
/// the loss in P@1. `None` if no relation has two facts to compare.
pub(super) fn scores(asked: &Asked<'_>, mixture: &Mixture, relations: &[Relation]) -> Result<Vec<Score>> {
    let mut swaps = Vec::new();
    for relation in relations {
        swaps.extend(pairs(asked, mixture, relation)?);
    }
    let own: Vec<Question> = swaps.iter().map(|s| s.own.clone()).collect();
    let other: Vec<Question> = swaps.iter().map(|s| s.other.clone()).collect();
    let said = asked.answers(&own)?.into_iter().zip(asked.answers_across(&other, &own)?);
    let (mut table, mut followed) = (Table::default(), Tally::default());
    for (swap, (usual, swapped)) in swaps.iter().zip(said) {
        table.add(usual == swap.object, swapped == swap.object);
        followed.count(swapped == swap.instead);
    }
    let n = table.n();
    if n == 0 {
        return Ok(Vec::new());
    }
    let tally = |only| Tally { hits: table.both + only, n };
    Ok(vec![
        score(
            "encoder_own",
            "P@1 on trained facts with each relation's most frequent prompt and the usual name",
            tally(table.only_a),
        ),
        score(
            "encoder_swapped",
            "the same, but the encoder reads a sentence about another subject",
            tally(table.only_b),
        ),
        score("encoder_followed", "share of answers that are the other subject's object", followed),
        Score {
            id: "encoder_drop".into(),
            what: "P@1 lost when the encoder reads about another subject (Tango's interval)".into(),
            share: paired::difference(&table, LEVEL),
            n,
        },
    ])
}

/// Facts of a relation that were trained in its most frequent prompt with the usual name, each paired with a fact that has a different
/// object. The partner is the next fact whose answer is at the same position, so that only the subject differs, or else simply the next
/// fact.
fn pairs(asked: &Asked<'_>, mixture: &Mixture, relation: &Relation) -> Result<Vec<Swap>> {
    let weights = mixture.prompt_weights(relation);
    let Some(prompt) = (0..weights.len()).max_by(|&a, &b| weights[a].total_cmp(&weights[b])) else {
        return Ok(Vec::new());
    };
    let mut facts = Vec::new();
    for fact in relation.facts.iter().filter(|f| !mixture.is_held(relation, f, prompt, &f.subject)) {
        if let Some(object) = asked.word(&fact.object, false) {
            let question = Question::of_prompt(&relation.asked(prompt, &fact.subject));
            let place = asked.place(&question)?;
            facts.push((question, place, object));
        }
    }
    let swap = |i: usize| {
        let (own, place, object) = &facts[i];
        let (before, after) = facts.split_at(i);
        let others = || after.iter().chain(before).filter(|other| other.2 != *object);
        let (other, _, instead) = others().find(|other| other.1 == *place).or_else(|| others().next())?;
        Some(Swap { own: own.clone(), object: *object, other: other.clone(), instead: *instead })
    };
    Ok((0..facts.len()).filter_map(swap).collect())
}

#[cfg(test)]
#[path = "reads_tests.rs"]
mod tests;
