//! Rationales from several annotators, one file each: agreement, and the benchmark's rounds of annotation and scoring.
//!
//! Annotators mark words; checkers score each rationale. A rationale passes if both mean scores reach their thresholds. The other
//! rationales are returned to their annotators, and are dropped after the third round (Shen et al. 2022, section 3.4).

use std::collections::{BTreeMap, BTreeSet};

use super::{Annotation, Line, MOST_COMPACT, MOST_CONFIDENT, MOST_SUFFICIENT};
use stats::Estimate;
use stats::krippendorff::{Coincidences, Scale, alpha};

/// Minimum mean sufficiency score.
pub const SUFFICIENT: f64 = 3.0;
/// Minimum mean compactness score.
pub const COMPACT: f64 = 3.6;
/// Number of rounds after which items that still fail are dropped.
pub const ROUNDS: u8 = 3;

#[derive(Debug, Clone, PartialEq)]
pub struct Person {
    pub name: String,
    pub made: Vec<Annotation>,
}

impl Person {
    pub fn is_checker(&self) -> bool {
        self.made.iter().any(|a| a.sufficiency.is_some() || a.compactness.is_some())
    }

    pub fn is_rater(&self) -> bool {
        self.made.iter().any(|a| a.confidence.is_some())
    }
}

/// The annotators whose work is rated: those for whom `judges` is false, or all of them if it is true for everyone.
pub(super) fn judged(people: &[Person], judges: fn(&Person) -> bool) -> impl Iterator<Item = &Person> {
    let all_judge = people.iter().all(judges);
    people.iter().filter(move |p| all_judge || !judges(p))
}

/// The annotators whose marks count.
fn annotators(people: &[Person]) -> impl Iterator<Item = &Person> {
    judged(people, Person::is_checker)
}

/// The annotations of each sentence, in the order of the sentences' first appearance, with the number left out because
/// their words, mask or answer differ from the first.
pub(super) fn by_sentence<'a>(
    people: impl Iterator<Item = &'a Person>,
) -> (Vec<Vec<(&'a Person, &'a Annotation)>>, usize) {
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut all: Vec<Vec<(&Person, &Annotation)>> = Vec::new();
    let mut differing = 0;
    for (person, a) in people.flat_map(|p| p.made.iter().map(move |a| (p, a))) {
        let place = *places.entry(a.sentence()).or_insert(all.len());
        match all.get_mut(place) {
            None => all.push(vec![(person, a)]),
            Some(others) if others[0].1.asks_as(a) => others.push((person, a)),
            Some(_) => differing += 1,
        }
    }
    (all, differing)
}

/// Krippendorff's alphas, with Student's t intervals over sentences.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Alphas {
    /// Number of sentences marked by at least two annotators.
    pub sentences: usize,
    /// Annotations left out because the sentence has other words, another mask or another answer in an earlier file.
    pub differing: usize,
    /// Alpha for marked words (nominal), without masks.
    pub marks: Option<Estimate>,
    /// Alpha for the scores of a rationale (ordinal).
    pub sufficiency: Option<Estimate>,
    pub compactness: Option<Estimate>,
    /// Alpha for the confidence in a mask (ordinal).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Estimate>,
}

pub fn alphas(people: &[Person], level: f64) -> Alphas {
    let (marked, _) = by_sentence(annotators(people));
    let shared: Vec<_> = marked.iter().filter(|all| all.len() > 1).collect();
    let marks = |all: &&Vec<(&Person, &Annotation)>| {
        let mut found = Coincidences::<2>::default();
        let first = all[0].1;
        for word in (0..first.words().len()).filter(|w| first.line.mask_index != Some(*w)) {
            let values: Vec<usize> = all.iter().map(|(_, a)| usize::from(a.rationale.contains(&word))).collect();
            found.add_unit(&values);
        }
        found
    };
    let marks: Vec<_> = shared.iter().map(marks).collect();
    let (scored, differing) = by_sentence(people.iter());
    Alphas {
        sentences: shared.len(),
        differing,
        marks: alpha(&marks, Scale::Nominal, level),
        sufficiency: scores::<{ MOST_SUFFICIENT as usize }>(&scored, |a| a.sufficiency, level),
        compactness: scores::<{ MOST_COMPACT as usize }>(&scored, |a| a.compactness, level),
        confidence: scores::<{ MOST_CONFIDENT as usize }>(&scored, |a| a.confidence, level),
    }
}

fn scores<const K: usize>(
    sentences: &[Vec<(&Person, &Annotation)>],
    of: fn(&Annotation) -> Option<u8>,
    level: f64,
) -> Option<Estimate> {
    let unit = |all: &Vec<(&Person, &Annotation)>| {
        let mut found = Coincidences::<K>::default();
        for (_, same) in rationales(all) {
            let values: Vec<usize> = same.iter().filter_map(|(_, a)| of(a)).map(|s| usize::from(s) - 1).collect();
            found.add_unit(&values);
        }
        found
    };
    let units: Vec<_> = sentences.iter().map(unit).filter(|u| *u != Coincidences::default()).collect();
    alpha(&units, Scale::Ordinal, level)
}

/// The distinct rationales for a sentence, each with its annotators.
fn rationales<'s, 'a>(
    all: &'s [(&'a Person, &'a Annotation)],
) -> BTreeMap<&'a BTreeSet<usize>, Vec<&'s (&'a Person, &'a Annotation)>> {
    let mut found: BTreeMap<_, Vec<_>> = BTreeMap::new();
    all.iter().for_each(|one| found.entry(&one.1.rationale).or_default().push(one));
    found
}

/// The round of these files: one more than the largest number of failed masks for a sentence, or the round recorded with a returned
/// rationale if that is later.
pub fn round(people: &[Person]) -> u8 {
    let of = |a: &Annotation| (a.refused().len() + 1).max(a.line.round.map_or(1, usize::from));
    let round = people.iter().flat_map(|p| &p.made).map(of).max().unwrap_or(1);
    u8::try_from(round).map_or(ROUNDS, |round| round.min(ROUNDS))
}

/// Outcome of a round for a rationale.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RoundOutcome {
    /// Both mean scores reach their thresholds.
    Passes,
    /// A mean score is below its threshold, so the annotators correct the rationale.
    GoesBack,
    /// A mean score is below its threshold after the last round.
    Dropped,
    /// One of the scores is missing, or a mask has too few ratings.
    Unscored,
}

impl RoundOutcome {
    pub fn name(self) -> &'static str {
        match self {
            RoundOutcome::Passes => "passes",
            RoundOutcome::GoesBack => "goes back",
            RoundOutcome::Dropped => "dropped",
            RoundOutcome::Unscored => "not scored",
        }
    }
}

#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Scored<'a> {
    pub sentence: String,
    /// The annotators who marked the rationale.
    pub annotators: Vec<&'a str>,
    /// Mean score; `None` without scores.
    pub sufficiency: Option<f64>,
    pub compactness: Option<f64>,
    #[serde(rename = "fate")]
    pub outcome: RoundOutcome,
    #[serde(skip)]
    annotation: &'a Annotation,
}

/// Every rationale with its scores after a round; rounds are counted from 1.
pub fn scored(people: &[Person], round: u8) -> Vec<Scored<'_>> {
    let marked: BTreeSet<&str> = annotators(people).map(|p| p.name.as_str()).collect();
    let (sentences, _) = by_sentence(people.iter());
    let mut found = Vec::new();
    for (_, same) in sentences.iter().flat_map(|all| rationales(all)) {
        let mean = |of: fn(&Annotation) -> Option<u8>| {
            let scores: Vec<f64> = same.iter().filter_map(|(_, a)| of(a)).map(f64::from).collect();
            (!scores.is_empty()).then(|| scores.iter().sum::<f64>() / scores.len() as f64)
        };
        let (sufficiency, compactness) = (mean(|a| a.sufficiency), mean(|a| a.compactness));
        let names = || same.iter().map(|(p, _)| p.name.as_str());
        let mut annotators: Vec<&str> = names().filter(|name| marked.contains(name)).collect();
        if annotators.is_empty() {
            annotators.extend(names().next());
        }
        let outcome = match sufficiency.zip(compactness) {
            None => RoundOutcome::Unscored,
            // Rounding errors may put a mean that equals its threshold slightly below it.
            Some((s, c)) if s >= SUFFICIENT - 1e-9 && c >= COMPACT - 1e-9 => RoundOutcome::Passes,
            Some(_) if round < ROUNDS => RoundOutcome::GoesBack,
            Some(_) => RoundOutcome::Dropped,
        };
        let annotation = same[0].1;
        let sentence = annotation.sentence();
        found.push(Scored { sentence, annotators, sufficiency, compactness, outcome, annotation });
    }
    found
}

/// The rationales that pass, one line per sentence in the benchmark's schema. If several rationales for a sentence pass, each of them
/// counts as sufficient.
pub fn merged(all: &[Scored<'_>]) -> String {
    let mut sentences: Vec<(&str, Vec<&Annotation>)> = Vec::new();
    for one in all.iter().filter(|s| s.outcome == RoundOutcome::Passes) {
        match sentences.iter_mut().find(|(id, _)| *id == one.sentence) {
            Some((_, sets)) => sets.push(one.annotation),
            None => sentences.push((&one.sentence, vec![one.annotation])),
        }
    }
    let line = |(_, sets): (&str, Vec<&Annotation>)| {
        let mut line = serde_json::to_value(Line { round: None, ..sets[0].unscored().line() }).ok()?;
        if sets.len() > 1 {
            line["rationale_ids"] = sets.iter().map(|a| a.rationale.iter().copied().collect::<Vec<_>>()).collect();
            line["rationale_tokens"] = sets.iter().map(|a| a.line().rationale_tokens).collect();
        }
        Some(format!("{line}\n"))
    };
    sentences.into_iter().filter_map(line).collect()
}

/// The sentences that an annotator must correct after a round, without scores, in the format of the annotator's file.
pub fn to_correct(all: &[Scored<'_>], annotator: &str, round: u8) -> String {
    let mine = all.iter().filter(|s| s.outcome == RoundOutcome::GoesBack && s.annotators.contains(&annotator));
    let next = |a: Annotation| Annotation { line: Line { round: Some(round + 1), ..a.line }, ..a };
    let mine: Vec<Annotation> = mine.map(|s| next(s.annotation.unscored())).collect();
    super::write(mine.iter())
}

#[cfg(test)]
mod tests {
    use super::super::{read, write};
    use super::*;

    fn line(id: &str, words: usize, marks: &[usize], scores: Option<(u8, u8)>) -> String {
        let words: Vec<String> = (0..words).map(|w| format!("w{w}")).chain(["[MASK]".into()]).collect();
        let mut line = serde_json::json!({"sent_id": id, "sample_type": "ori", "sent_token": words,
            "mask_index": words.len() - 1, "rationale_ids": marks});
        if let Some((sufficiency, compactness)) = scores {
            (line["sufficiency"], line["compactness"]) = (sufficiency.into(), compactness.into());
        }
        format!("{line}\n")
    }

    fn person(name: &str, lines: &[String]) -> Person {
        Person { name: name.into(), made: read(&lines.concat()).unwrap() }
    }

    /// The expected values come from numpy and scipy, computed from all pairs of values.
    #[test]
    fn alphas_with_missing_sentences_match_numpy() {
        let people = [
            person("a", &[line("s1", 4, &[0, 1], None), line("s2", 5, &[1, 4], None)]),
            person("b", &[line("s1", 4, &[0], None), line("s2", 5, &[1], None), line("s3", 3, &[0], None)]),
            person("c", &[line("s1", 4, &[0, 1, 3], None), line("s3", 3, &[0, 1], None)]),
        ];
        let found = alphas(&people, 0.95);
        let marks = found.marks.unwrap();
        assert!((marks.mean - 0.4375).abs() < 1e-12 && (marks.half_width() - 0.33077144313634804).abs() < 1e-9);
        assert_eq!((found.sentences, found.differing, found.sufficiency), (3, 0, None));
        let scores = |name: &str, scores: [Option<(u8, u8)>; 3]| {
            let lines = ["s1", "s2", "s3"].into_iter().zip(scores).filter(|(_, s)| s.is_some());
            person(name, &lines.map(|(id, s)| line(id, 4, &[0], s)).collect::<Vec<_>>())
        };
        let checkers = [
            scores("x", [Some((3, 4)), Some((3, 3)), None]),
            scores("y", [Some((3, 4)), Some((2, 4)), Some((1, 1))]),
            scores("z", [Some((2, 3)), None, Some((1, 2))]),
        ];
        let found = alphas(&checkers, 0.95);
        let mean = |e: Option<Estimate>| e.unwrap().mean;
        assert!((mean(found.sufficiency) - 0.5714285714285714).abs() < 1e-12, "{found:?}");
        assert!((mean(found.compactness) - 0.546218487394958).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn rationales_pass_return_or_are_dropped() {
        let marked = |marks: [&[usize]; 4]| -> Vec<String> {
            ["1", "2", "3", "4"].iter().zip(marks).map(|(id, m)| line(id, 4, m, None)).collect()
        };
        let scored_as = |scores: [(u8, u8); 3]| -> Vec<String> {
            let all = [("1", &[0usize][..]), ("2", &[1]), ("3", &[2])].into_iter().zip(scores);
            all.map(|((id, marks), s)| line(id, 4, marks, Some(s))).collect()
        };
        // Mean compactness is 3.67, 3.33 and 4; mean sufficiency is 3, 3 and 2.67.
        let people = [
            person("anna", &marked([&[0], &[1], &[2], &[3]])),
            person("ben", &marked([&[0], &[1], &[0], &[3]])),
            person("x", &scored_as([(3, 4), (3, 3), (3, 4)])),
            person("y", &scored_as([(3, 4), (3, 3), (3, 4)])),
            person("z", &scored_as([(3, 3), (3, 4), (2, 4)])),
        ];
        let found = scored(&people, 2);
        let outcomes: Vec<(&str, &[&str], RoundOutcome)> =
            found.iter().map(|s| (s.sentence.as_str(), &s.annotators[..], s.outcome)).collect();
        let both: &[&str] = &["anna", "ben"];
        assert_eq!(
            outcomes,
            [
                ("1", both, RoundOutcome::Passes),
                ("2", both, RoundOutcome::GoesBack),
                ("3", &["ben"], RoundOutcome::Unscored),
                ("3", &["anna"], RoundOutcome::GoesBack),
                ("4", both, RoundOutcome::Unscored),
            ]
        );
        assert!((found[1].compactness.unwrap() - 10.0 / 3.0).abs() < 1e-12);
        assert_eq!(read(&to_correct(&found, "anna", 2)).unwrap().len(), 2);
        assert_eq!(read(&to_correct(&found, "ben", 2)).unwrap()[0].sentence(), "2");
        let passed = read(&merged(&found)).unwrap();
        assert_eq!((passed.len(), passed[0].sufficiency), (1, None));
        let dropped = scored(&people, ROUNDS).iter().filter(|s| s.outcome == RoundOutcome::Dropped).count();
        assert_eq!(dropped, 2);
    }

    #[test]
    fn several_passing_rationales_are_all_gold() {
        let people =
            [person("a", &[line("1", 4, &[0], Some((3, 4)))]), person("b", &[line("1", 4, &[1, 2], Some((3, 4)))])];
        let text = merged(&scored(&people, 1));
        assert!(text.contains(r#""rationale_ids":[[0],[1,2]]"#) && text.lines().count() == 1, "{text}");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("merged.jsonl");
        std::fs::write(&path, &text).unwrap();
        assert_eq!(corpus::readers::sniff(&path).unwrap().id, "rationale");
        let plain = write([&people[0].made[0]].into_iter());
        assert!(plain.contains("\"sufficiency\":3"));
    }
}
