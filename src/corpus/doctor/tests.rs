//! Tests of the data doctor.

use std::ops::ControlFlow;

use super::*;
use crate::readers::{RelationKind, Set};

fn diagnose(text: &str, models: Vec<Vocabulary<'_>>) -> Diagnosis {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.jsonl");
    std::fs::write(&path, text).unwrap();
    let set = Set::open(&path).unwrap();
    let mut survey = Survey::default();
    set.rows(&mut |file, row, line| {
        survey.add(file, &row, line);
        ControlFlow::Continue(())
    })
    .unwrap();
    let mut doctor = Doctor::new(&set, models, 100).knowing(survey);
    let reports = set.rows(&mut |file, row, line| {
        doctor.examine(file, &row, line);
        ControlFlow::Continue(())
    });
    doctor.finish(&set, &reports.unwrap())
}

fn count(d: &Diagnosis, finding: Finding) -> u64 {
    d.findings.get(&finding).map_or(0, |c| c.count)
}

/// A vocabulary with one token per `longest` letters, in which words with an x are unknown.
fn model(name: &str, longest: usize) -> Vocabulary<'static> {
    let tokens = move |w: &str| (!w.contains('x')).then_some(w.len().div_ceil(longest));
    Vocabulary { name: name.to_owned(), tokens: Box::new(tokens) }
}

const FACTS: &str = r#"{"relation": "P36", "subject": "Norland", "object": "Oslo", "aliases": ["Norge"]}
{"relation": "P36", "subject": "Bahr", "object": "Oslo"}
{"relation": "P36", "subject": "Norland", "object": "Bergen"}
{"relation": "P36", "subject": "Bahr", "object": "Oslo"}
{"relation": "P19", "subject": "Rix City", "object": "rix", "aliases": []}
{"relation": "P19", "subject": "Trix", "object": "Rix"}
{"relation": "P20", "subject": "Norland", "object": "Bergen", "aliases": ["N"]}
not json
"#;

#[test]
fn facts_are_checked_individually() {
    let d = diagnose(FACTS, vec![]);
    let counts =
        [Finding::Duplicate, Finding::SeveralObjects, Finding::Overlap, Finding::NoAlias].map(|f| count(&d, f));
    assert_eq!(counts, [1, 2, 1, 5]);
    assert_eq!((d.rows, d.dropped, d.kept, d.unread.total()), (7, 3, 4, 1));
    let lines: Vec<u64> = d.examples.iter().map(|e| e.line).collect();
    assert_eq!(lines, [1, 3, 4], "{:?}", d.examples);
    assert!(d.examples[2].what.contains("the same as line 2"), "{:?}", d.examples[2]);
    assert!(d.examples[1].what.contains("a different object at line 1"), "{:?}", d.examples[1]);
    let relation = &d.relations["P36"];
    assert_eq!((relation.facts, relation.kept, relation.kind()), (4, 1, Some(RelationKind::ManyToMany)));
    assert_eq!((relation.objects, relation.majority), (1, Some(1.0)));
    assert_eq!(d.relations["P20"].kind(), Some(RelationKind::OneToOne));
}

#[test]
fn object_vocabulary_is_the_intersection_of_all_models() {
    let d = diagnose(FACTS, vec![model("wide", 10), model("narrow", 4)]);
    assert_eq!(d.intersection.as_deref(), Some(&["Oslo".to_owned()][..]));
    assert_eq!((count(&d, Finding::MultiToken), count(&d, Finding::OutsideVocabulary)), (2, 2));
    let models: Vec<(u64, u64, u64)> = d.models.iter().map(|m| (m.single, m.several, m.outside)).collect();
    assert_eq!(models, [(5, 0, 2), (3, 2, 2)]);
    assert_eq!((d.kept, d.words), (1, 4));
    // Adding a model can only reduce the number of shared words.
    let one = diagnose(FACTS, vec![model("wide", 10)]);
    assert_eq!(one.intersection.map(|w| w.len()), Some(2));
}

/// Regression: the first fact of a subject with several objects used to be kept (England with Winchester).
#[test]
fn ambiguous_subjects_are_dropped_entirely() {
    let facts = [("England", "Winchester"), ("Norway", "Oslo"), ("England", "London"), ("England", "London")];
    let text: String = facts
        .iter()
        .map(|(s, o)| format!("{{\"relation\": \"P36\", \"subject\": \"{s}\", \"object\": \"{o}\"}}\n"))
        .collect();
    let d = diagnose(&text, vec![]);
    assert_eq!((d.kept, count(&d, Finding::SeveralObjects)), (1, 2));
    assert!(d.examples[0].what.contains("`Winchester`, but a different object at line 3"), "{:?}", d.examples[0]);
    assert_eq!((d.relations["P36"].kept, d.relations["P36"].objects), (1, 1));
}

/// Regression: a single ambiguous row out of 900 used to make a relation N-M.
#[test]
fn ambiguity_is_reported_for_every_relation() {
    let row = |relation: &str, subject: &str, object: &str| {
        format!("{{\"relation\": \"{relation}\", \"subject\": \"{subject}\", \"object\": \"{object}\"}}\n")
    };
    let mut text: String = (0..98).map(|k| row("P00", &format!("s{k}"), &format!("o{}", k % 7))).collect();
    text += &(row("P00", "t", "a") + &row("P00", "t", "b"));
    text += &(row("P01", "t", "a") + &row("P01", "t", "b"));
    text += &(row("P02", "t", "a") + &row("P02", "u", "a"));
    text +=
        &(3..20).map(|k| row(&format!("P{k:02}"), "t", "a") + &row(&format!("P{k:02}"), "u", "b")).collect::<String>();
    let d = diagnose(&text, vec![]);
    let printed = d.lines(LISTED).join("\n");
    for part in [
        "20 with facts; 2 have subjects with several objects (N-M); in 1 of these, at least 5 % of the facts have such subjects",
        "N-M by 2 (2.0 %)",
        "N-M by 2 (100.0 %) - none kept",
        "most frequent 100 %, N-1 - one object only",
        "and 12 more",
    ] {
        assert!(printed.contains(part), "no `{part}` in\n{printed}");
    }
    assert!(!printed.contains("P19"));
    let all = d.lines(usize::MAX).join("\n");
    assert!(all.contains("P19 ") && !all.contains("and 12 more"), "{all}");
}

/// 242 of the LAMA prompts occur in two sources.
#[test]
fn mixed_prompts_and_objects_before_subjects_are_reported() {
    let d = diagnose(
        r#"{"prompt": "[X] is in [Y] .", "relation": "P17", "source": "manual"}
{"prompt": "[X] is in [Y] .", "relation": "P17", "source": "mined"}
{"prompt": "[X] is in [Y] .", "relation": "P17", "source": "mined"}
{"prompt": "[X] is in [Y] .", "relation": "P18", "source": "mined"}
{"prompt": "[Y] has [X] .", "relation": "P17"}
{"prompt": "[X] lies in [Y] and nowhere else .", "relation": "P17"}
"#,
        vec![],
    );
    use Finding as F;
    let counts = [F::Duplicate, F::RepeatedPrompt, F::ObjectFirst, F::ObjectInside].map(|f| count(&d, f));
    assert_eq!((counts, d.dropped), ([1, 1, 1, 1], 1));
    let printed = d.lines(LISTED).join("\n");
    assert!(printed.contains("(note) prompt has [Y] before [X]; line 5"), "{printed}");
    assert!(printed.contains("repeated prompt; line 2: P17: `[X] is in [Y] .`: the same as line 1"), "{printed}");
}

/// Regression: a file of minimal pairs used to be reported with "0 of 0 words", and a paradigm with "one label only".
#[test]
fn pairs_are_identified_by_their_words() {
    let pairs = "{\"good\": \"The dog barks.\", \"bad\": \"The dog barkses.\", \"paradigm\": \"agreement\"}\n\
                 {\"good\": \"A fox barks.\", \"bad\": \"A fox bark.\", \"paradigm\": \"agreement\"}\n";
    let d = diagnose(pairs, vec![model("narrow", 5)]);
    let text = d.models[0].text;
    assert_eq!((text.words(), text.single, text.several, text.outside), (12, 9, 1, 2));
    let printed = d.lines(LISTED).join("\n");
    assert!(
        printed.contains("narrow     text of 12 words: 75.0 % single-token, 8.3 % multi-token, 16.7 % outside"),
        "{printed}"
    );
    assert!(
        !printed.contains("0 words") && !printed.contains("one label only") && printed.contains("paradigm"),
        "{printed}"
    );
    assert!(!printed.contains("shared"), "{printed}");
    assert!(!d.properties["paradigm"].skewed);
}

#[test]
fn vocabulary_coverage_counts_words_but_not_masks() {
    let d = diagnose(
        "{\"text\": \"The dog, [MASK] here.\", \"forms\": [\"is\", \"are\"]}\n{\"tokens\": [\"a\", \"[MASK]\", \".\"], \"rationales\": [[0]], \"id\": 1}\n",
        vec![model("wide", 10), model("narrow", 3)],
    );
    let counts: Vec<[u64; 3]> = d.models.iter().map(|m| [m.text.single, m.text.several, m.text.outside]).collect();
    assert_eq!(counts, [[4, 0, 0], [3, 1, 0]]);
    assert_eq!((d.models[0].single, d.models[0].several), (2, 0));
}

#[test]
fn label_counts_and_skew_are_reported() {
    let rows = |past: usize, pres: usize| -> String {
        let row = |label: &str, k: usize| format!("{{\"text\": \"sentence {label} {k}\", \"label\": \"{label}\"}}\n");
        (0..past).map(|k| row("PAST", k)).chain((0..pres).map(|k| row("PRES", k))).collect()
    };
    let even = diagnose(&rows(6, 5), vec![]);
    assert_eq!((even.properties["label"].skewed, even.properties["label"].labels["PAST"]), (false, 6));
    let skewed = diagnose(&rows(8, 3), vec![]);
    assert!(skewed.properties["label"].skewed && (skewed.properties["label"].majority - 8.0 / 11.0).abs() < 1e-12);
    assert!(diagnose(&rows(3, 0), vec![]).properties["label"].skewed, "one label only");
    let table = diagnose("text,label,tense\na b,1,past\nc d,0,past\n", vec![]);
    assert_eq!((table.properties["label"].labels["1"], table.properties["tense"].labels["past"]), (1, 2));
}

#[test]
fn sentences_pairs_and_rationales_are_checked() {
    let d = diagnose(
        r#"{"text": "A", "label": "x"}
{"text": "A", "label": "y"}
{"text": "A", "label": "x"}
{"text": "The dog [MASK].", "labels": {"subject_number": "Sg"}, "forms": ["barks", "bark"]}
{"good": "same", "bad": "same"}
{"tokens": ["a", "b"], "rationales": [], "id": 1}
{"tokens": ["a", "b"], "rationales": [[1, 1]], "id": 2}
{"prompt": "[X] and [Y] and more"}
{"text": "red [31m", "label": "x"}
"#,
        vec![model("narrow", 4)],
    );
    use Finding as F;
    for finding in
        [F::Conflict, F::Duplicate, F::MultiToken, F::EqualPair, F::EmptyRationale, F::WholeRationale, F::ObjectInside]
    {
        assert_eq!(count(&d, finding), 1, "{finding:?}");
    }
    assert_eq!(d.dropped, 5);
    let text = d.lines(LISTED).join("\n") + &d.row_lines().join("\n");
    for word in [
        "same sentence, different labels",
        "empty rationale",
        "line 2",
        "tokens 2 in narrow",
        "(note) prompt continues",
    ] {
        assert!(text.contains(word), "no `{word}` in {text}");
    }
    let json = serde_json::to_value(&d).unwrap();
    assert_eq!(json["findings"]["empty_rationale"]["count"], 1);
    assert_eq!(json["kept"], 4);
}

#[test]
fn parts_of_words_do_not_count_as_overlap() {
    assert!(contains_words("University of Oslo", "oslo"));
    assert!(contains_words("Oslo-Bergen line", "Bergen"));
    assert!(!contains_words("Osloer", "Oslo"));
    assert!(!contains_words("日本語", "x"));
    assert!(contains_words("日本 語", "語"));
}

/// Time and memory for a row grow linearly with its length, and each of its findings stays below about 1,000 bytes.
#[test]
fn huge_names_need_bounded_time_and_memory() {
    let (subject, object) = ("a".repeat(4 << 20), "a".repeat(1 << 20));
    let row = |relation: &str, subject: &str, object: &str| {
        format!("{{\"relation\": \"{relation}\", \"subject\": \"{subject}\", \"object\": \"{object}\"}}\n")
    };
    let text = [
        // The format is detected from the beginning of a file, which a name of several megabytes would fill completely.
        row("P0", "Norway", "Oslo"),
        row("P1", &subject, &object),
        row("P1", &subject, &object),
        row(&subject, "Norland", "Oslo"),
        row("P2", &"a b ".repeat(1 << 20), "b a b"),
    ]
    .concat();
    let never = |word: &str| panic!("a word of {} bytes was tokenized", word.len());
    let strict =
        Vocabulary { name: "m".into(), tokens: Box::new(move |w| if w.len() > MAX_NAME { never(w) } else { Some(1) }) };
    let begun = std::time::Instant::now();
    let d = diagnose(&text, vec![strict]);
    let taken = begun.elapsed();
    assert!(taken.as_secs() < 20, "{taken:?} for 14 MB");
    assert_eq!((d.rows, count(&d, Finding::Duplicate), count(&d, Finding::MultiToken)), (5, 1, 2));
    assert_eq!(count(&d, Finding::Overlap), 0, "long subjects are not searched");
    let said = serde_json::to_string(&d).unwrap();
    assert!(said.len() < 20_000, "the findings for five rows take {} bytes", said.len());
}
