//! Choice of the word to mask. One annotator chooses the word. Three annotators rate their confidence in its answer: it is the only possible
//! one (4), among the three best (3), among the five best (2), or none of these (1). The mask passes if no rating is below 3 (Shen et al.
//! 2022, section 3.2).
//!
//! The paper does not state what happens otherwise. Here another word is chosen, and the sentence is dropped after the third round, as for
//! rationales.

use std::collections::BTreeMap;
use std::ops::Range;

use super::rounds::{Person, ROUNDS, RoundOutcome, by_sentence, judged};
use super::{Annotation, Line, MOST_CONFIDENT};
use crate::sentence::{joined, locate};
use corpus::task::MASK;

/// Minimum confidence required from each rater.
pub const CONFIDENT: u8 = 3;
/// Number of raters required per mask.
pub const RATERS: usize = 3;

impl Annotation {
    /// Index of the masked word.
    pub fn mask(&self) -> Option<usize> {
        self.line.mask_index
    }

    pub fn answer(&self) -> Option<&str> {
        self.line.answer.as_deref()
    }

    /// Answers whose masks failed an earlier round.
    pub fn refused(&self) -> &[String] {
        &self.line.refused
    }

    /// True if both annotations have the same words, mask and answer; a missing answer matches any.
    pub(super) fn asks_as(&self, other: &Self) -> bool {
        let answers = self.answer().zip(other.answer());
        self.words() == other.words() && self.mask() == other.mask() && answers.is_none_or(|(a, b)| a == b)
    }

    /// The text of the sentence, with the spans of its words in characters.
    fn written(&self) -> (String, Vec<(usize, usize)>) {
        let (text, words) = (&self.line.sent_text, &self.line.sent_token);
        locate(text, words).map_or_else(|| joined(words), |spans| (text.clone(), spans))
    }

    /// Masks adjacent words in a sentence that has no mask; these words become the answer. Marks and scores are dropped because they belong
    /// to a different mask.
    ///
    /// # Errors
    /// A message with the reason why these words cannot be masked.
    pub fn choose_mask(&mut self, words: Range<usize>) -> Result<(), String> {
        if self.line.mask_index.is_some() {
            return Err("the sentence already has a mask".into());
        }
        if words.is_empty() || words.end > self.line.sent_token.len() {
            return Err(format!("there are {} words, numbered from 0", self.line.sent_token.len()));
        }
        let (text, spans) = self.written();
        let (from, to) = (spans[words.start].0, spans[words.end - 1].1);
        let part = |from: usize, to: usize| text.chars().skip(from).take(to - from).collect::<String>();
        let answer = part(from, to);
        if self.line.refused.contains(&answer) {
            return Err(format!("`{answer}` did not pass an earlier round: choose a different word"));
        }
        self.line.sent_text = format!("{}{MASK}{}", part(0, from), part(to, text.chars().count()));
        let before = self.line.sent_token.len();
        self.line.mask_index = Some(words.start);
        self.line.sent_token.splice(words, [MASK.to_owned()]);
        self.line.answer = Some(answer);
        self.forget_marks(before);
        Ok(())
    }

    /// Moves the mask to this word. If the word is already masked, the mask is removed and the answer restored.
    ///
    /// # Errors
    /// A message with the reason why the word cannot be masked.
    pub fn move_mask(&mut self, word: usize) -> Result<(), String> {
        let mut open = self.opened();
        match self.mask() {
            Some(_) if open.mask().is_some() => return Err("the answer is not known, so the mask cannot move".into()),
            Some(mask) if mask == word => {}
            mask => {
                let more = open.words().len() - self.words().len();
                let word = if mask.is_some_and(|mask| word > mask) { word + more } else { word };
                open.choose_mask(word..word + 1)?;
            }
        }
        *self = open;
        Ok(())
    }

    /// The sentence with the answer in place of the mask.
    fn opened(&self) -> Self {
        let mut open = self.unscored();
        let answer = self.answer().filter(|answer| !answer.trim().is_empty());
        let Some((at, answer)) = self.mask().zip(answer) else { return open };
        let (text, spans) = open.written();
        let (from, to) = spans[at];
        open.line.sent_text =
            text.chars().take(from).chain(answer.chars()).chain(text.chars().skip(to)).collect::<String>();
        open.line.sent_token.splice(at..=at, answer.split_whitespace().map(str::to_owned));
        (open.line.mask_index, open.line.answer) = (None, None);
        open.forget_marks(self.words().len());
        open
    }

    /// Drops marks made for a different mask. An alignment is kept if the number of words is unchanged.
    fn forget_marks(&mut self, words: usize) {
        self.rationale.clear();
        self.line.other_answers.clear();
        if self.line.sent_token.len() != words {
            self.alignment = None;
        }
    }

    /// The unmasked sentence, for choosing a word other than the failed one.
    fn unmasked(&self) -> Self {
        let mut open = self.opened();
        open.line.refused.extend(self.line.answer.clone());
        open
    }
}

#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct RatedMask<'a> {
    pub sentence: String,
    pub answer: String,
    /// The annotators who chose the mask.
    pub annotators: Vec<&'a str>,
    /// Confidence of each rater, in the order of the files.
    pub confidence: Vec<u8>,
    /// True if every rater considers the answer the only possible one, and no sentence has the same words but a different answer.
    pub unique: bool,
    /// A sentence with the same words around the mask but a different answer, and that answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contradicted_by: Option<(String, String)>,
    #[serde(rename = "fate")]
    pub outcome: RoundOutcome,
    #[serde(skip)]
    annotation: &'a Annotation,
}

/// Every mask with its ratings after a round; rounds are counted from 1.
pub fn rated(people: &[Person], round: u8) -> Vec<RatedMask<'_>> {
    let choosers: Vec<&str> = judged(people, Person::is_rater).map(|p| p.name.as_str()).collect();
    let (sentences, _) = by_sentence(people.iter());
    let masked: Vec<_> = sentences.into_iter().filter(|all| all[0].1.mask().is_some()).collect();
    let mut answers: BTreeMap<&[String], Vec<&Annotation>> = BTreeMap::new();
    masked.iter().for_each(|all| answers.entry(all[0].1.words()).or_default().push(all[0].1));
    masked
        .iter()
        .map(|all| {
            let annotation = all[0].1;
            let confidence: Vec<u8> = all.iter().filter_map(|(_, a)| a.confidence).collect();
            let other = answers[annotation.words()].iter().find(|a| a.answer() != annotation.answer());
            let contradicted_by = other.map(|a| (a.sentence(), a.answer().unwrap_or_default().to_owned()));
            let all_sure = confidence.len() >= RATERS && confidence.iter().all(|c| *c == MOST_CONFIDENT);
            let mine = all.iter().map(|(p, _)| p.name.as_str()).filter(|name| choosers.contains(name));
            RatedMask {
                sentence: annotation.sentence(),
                answer: annotation.answer().unwrap_or_default().to_owned(),
                annotators: mine.collect(),
                unique: all_sure && contradicted_by.is_none(),
                outcome: outcome_of(&confidence, round),
                confidence,
                contradicted_by,
                annotation,
            }
        })
        .collect()
}

/// A single low rating fails the mask, even if other ratings are missing.
fn outcome_of(confidence: &[u8], round: u8) -> RoundOutcome {
    match confidence.iter().any(|c| *c < CONFIDENT) {
        true if round < ROUNDS => RoundOutcome::GoesBack,
        true => RoundOutcome::Dropped,
        false if confidence.len() < RATERS => RoundOutcome::Unscored,
        false => RoundOutcome::Passes,
    }
}

/// One-sentence summary of a round.
pub fn outcome(all: &[RatedMask<'_>], round: u8) -> String {
    let of = |outcome: RoundOutcome| all.iter().filter(|m| m.outcome == outcome).count();
    format!(
        "round {round} of {ROUNDS}: {} of {} masks pass ({RATERS} ratings or more, none below {CONFIDENT}), {} are returned, {} are dropped, {} await ratings; {} answers are unique",
        of(RoundOutcome::Passes),
        all.len(),
        of(RoundOutcome::GoesBack),
        of(RoundOutcome::Dropped),
        of(RoundOutcome::Unscored),
        all.iter().filter(|m| m.unique).count(),
    )
}

/// The masked sentences that pass, in the benchmark's schema.
pub fn passed(all: &[RatedMask<'_>]) -> String {
    let passed = all.iter().filter(|m| m.outcome == RoundOutcome::Passes).map(|m| m.annotation.unscored());
    let passed: Vec<Annotation> =
        passed.map(|a| Annotation { line: Line { refused: Vec::new(), ..a.line }, ..a }).collect();
    super::write(passed.iter())
}

/// The sentences in which an annotator must mask a different word. If the annotator who chose the mask supplied no file, the sentence is
/// returned to all annotators.
pub fn to_choose(all: &[RatedMask<'_>], annotator: &str) -> String {
    let mine = |m: &&RatedMask<'_>| {
        m.outcome == RoundOutcome::GoesBack && (m.annotators.is_empty() || m.annotators.contains(&annotator))
    };
    let mine: Vec<Annotation> = all.iter().filter(mine).map(|m| m.annotation.unmasked()).collect();
    super::write(mine.iter())
}

#[cfg(test)]
mod tests {
    use super::super::rounds::round;
    use super::super::{read, write};
    use super::*;

    fn person(name: &str, made: Vec<Annotation>) -> Person {
        Person { name: name.into(), made }
    }

    fn sentence(id: &str, words: &str) -> Annotation {
        let tokens: Vec<&str> = words.split(' ').collect();
        read(&serde_json::json!({"sent_id": id, "sent_token": tokens}).to_string()).unwrap().remove(0)
    }

    fn masked(id: &str, words: &str, at: usize) -> Annotation {
        let mut made = sentence(id, words);
        made.choose_mask(at..at + 1).unwrap();
        made
    }

    fn rater(name: &str, masks: &[Annotation], confidence: &[Option<u8>]) -> Person {
        let rated =
            masks.iter().zip(confidence).filter_map(|(m, c)| Some(Annotation { confidence: Some((*c)?), ..m.clone() }));
        person(name, rated.collect())
    }

    /// The paper's rule: "appropriate if the confidence of each annotator is no less than 3".
    #[test]
    fn mask_passes_with_three_ratings_of_three_or_more() {
        let texts = [
            "285 planes are painted",
            "a total area of 703 km",
            "Germany is east of Belgium",
            "he went blind",
            "it is 5 years",
        ];
        let masks: Vec<Annotation> = texts.iter().enumerate().map(|(k, t)| masked(&k.to_string(), t, 1)).collect();
        let people = [
            person("anna", masks.clone()),
            rater("x", &masks, &[Some(4), Some(3), Some(4), Some(4), Some(1)]),
            rater("y", &masks, &[Some(4), Some(4), Some(4), Some(4), None]),
            rater("z", &masks, &[Some(4), Some(3), Some(2), None, None]),
        ];
        let found = rated(&people, 1);
        let outcomes: Vec<RoundOutcome> = found.iter().map(|m| m.outcome).collect();
        assert_eq!(
            outcomes,
            [
                RoundOutcome::Passes,
                RoundOutcome::Passes,
                RoundOutcome::GoesBack,
                RoundOutcome::Unscored,
                RoundOutcome::GoesBack
            ]
        );
        assert_eq!(found.iter().map(|m| m.unique).collect::<Vec<_>>(), [true, false, false, false, false]);
        assert_eq!(found[2].annotators, ["anna"]);
        let third = rated(&people, ROUNDS);
        assert_eq!(third.iter().filter(|m| m.outcome == RoundOutcome::Dropped).count(), 2);
        let out = read(&passed(&found)).unwrap();
        assert_eq!((out.len(), out[0].confidence, out[0].answer()), (2, None, Some("planes")));
        // The sentence is returned without its mask, and the refused word cannot be chosen again.
        let back = read(&to_choose(&found, "anna")).unwrap();
        assert_eq!((back.len(), back[0].words().join(" ").as_str(), back[0].mask()), (2, texts[2], None));
        let mut again = back[0].clone();
        assert!(again.choose_mask(1..2).unwrap_err().contains("`is` did not pass"));
        again.choose_mask(4..5).unwrap();
        assert_eq!((again.answer(), again.refused()), (Some("Belgium"), &["is".to_owned()][..]));
        assert_eq!(to_choose(&found, "x"), "", "raters chose no masks");
        assert_eq!(read(&to_choose(&rated(&people[1..], 1), "x")).unwrap().len(), 2, "the chooser supplied no file");
    }

    #[test]
    fn contradicted_answer_is_not_unique() {
        let masks = [masked("1", "he is tall", 2), masked("2", "he is kind", 2), masked("3", "she is tall", 2)];
        let sure = [Some(4), Some(4), Some(4)];
        let people = ["x", "y", "z"].map(|name| rater(name, &masks, &sure));
        let found = rated(&people, 1);
        assert_eq!(found[0].contradicted_by, Some(("2".into(), "kind".into())));
        assert_eq!(found.iter().map(|m| m.unique).collect::<Vec<_>>(), [false, false, true]);
        assert!(found.iter().all(|m| m.outcome == RoundOutcome::Passes), "uniqueness is not required");
    }

    /// Ratings (4, 4, 3), (3, 3, 3) and (1, 2, 1) give 22/27 by the definition, from all pairs of values.
    #[test]
    fn agreement_on_masks_is_ordinal_alpha() {
        let masks = [masked("1", "a b c", 0), masked("2", "d e f", 0), masked("3", "g h i", 0)];
        let people = [[4, 3, 1], [4, 3, 2], [3, 3, 1]];
        let people = ["x", "y", "z"].iter().zip(people).map(|(n, c)| rater(n, &masks, &c.map(Some)));
        let found = super::super::rounds::alphas(&people.collect::<Vec<_>>(), 0.95);
        assert!((found.confidence.unwrap().mean - 22.0 / 27.0).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn moving_the_mask_drops_old_marks() {
        let line = serde_json::json!({"sent_id": 1, "sent_text": "In [MASK] we are glad.", "answer": "New York",
            "sent_token": ["In", "[MASK]", "we", "are", "glad", "."], "mask_index": 1, "rationale_ids": [4],
            "alignment": [[0, 0]], "confidence": 2, "refused": ["glad"]});
        let mut made = read(&line.to_string()).unwrap().remove(0);
        let before = made.clone();
        assert!(made.move_mask(4).unwrap_err().contains("`glad` did not pass"));
        assert_eq!(made, before, "a refused word changes nothing");
        made.move_mask(3).unwrap();
        assert_eq!((made.answer(), made.mask(), made.words().len()), (Some("are"), Some(4), 7));
        assert!(made.rationale.is_empty() && made.alignment.is_none() && made.confidence.is_none());
        assert!(write([&made].into_iter()).contains("\"sent_text\":\"In New York we [MASK] glad.\""));
        made.move_mask(4).unwrap();
        assert_eq!((made.mask(), made.words()[4].as_str(), made.refused()), (None, "are", &["glad".to_owned()][..]));
        made.move_mask(0).unwrap();
        assert_eq!((made.answer(), round(&[person("anna", vec![made.clone()])])), (Some("In"), 2));
        for answer in ["", r#", "answer": " ""#] {
            let line = format!(r#"{{"sent_id": 2, "sent_token": ["[MASK]", "b"], "mask_index": 0{answer}}}"#);
            assert!(read(&line).unwrap()[0].clone().move_mask(1).unwrap_err().contains("not known"));
        }
    }

    #[test]
    fn masked_phrase_is_restored() {
        let line = serde_json::json!({"sent_id": 1, "sent_text": "Its capital, New York, is large.",
            "sent_token": ["Its", "capital", ",", "New", "York", ",", "is", "large", "."], "rationale_ids": [1]});
        let mut made = read(&line.to_string()).unwrap().remove(0);
        assert!(made.choose_mask(8..10).unwrap_err().contains("9 words"));
        made.choose_mask(3..5).unwrap();
        assert_eq!((made.answer(), made.mask(), made.words().len()), (Some("New York"), Some(3), 8));
        assert!(made.rationale.is_empty() && made.choose_mask(0..1).is_err());
        assert!(write([&made].into_iter()).contains("\"sent_text\":\"Its capital, [MASK], is large.\""));
        let open = made.unmasked();
        assert!(write([&open].into_iter()).contains("\"sent_text\":\"Its capital, New York, is large.\""));
        assert_eq!((open.words().len(), open.refused()), (9, &["New York".to_owned()][..]));
        let mut chinese = read(r#"{"sent_id": 2, "sent_token": ["他", "失", "明", "了"]}"#).unwrap().remove(0);
        chinese.choose_mask(1..3).unwrap();
        assert_eq!(chinese.answer(), Some("失明"));
    }
}
