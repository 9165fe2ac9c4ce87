//! Examples from users' files: rows used and dropped, samples, labels with any name, and positions.

use super::*;
use crate::agreement::Position;
use crate::readers::plain;
use crate::sets;
use crate::task::Place;
use base::NoPulse;

fn task() -> &'static Task {
    Task::named("agreement").unwrap()
}

fn balanced(n: usize) -> Vec<String> {
    let set = task().examples(n, 5, &Frequencies::balanced()).unwrap();
    set.examples.iter().map(|e| plain::line(&sets::agreement(task(), e))).collect()
}

fn read(text: &str, most: usize) -> Result<(ExampleSet, Provenance), OwnError> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rows.jsonl");
    std::fs::write(&file, text).unwrap();
    examples((task(), Positions::default()), &file, "rows.jsonl", most, 3, &mut NoPulse)
}

#[test]
fn dropped_rows_are_counted_with_reason_and_line() {
    let mut rows = balanced(300);
    rows.insert(2, "no row".into());
    rows.insert(3, "{\"text\": \"The dog is here .\"}".into());
    rows.push(rows[0].clone());
    let text = rows.join("\n");
    let (set, from) = read(&text, 1_000).unwrap();
    assert_eq!((set.examples.len(), from.rows, from.lost(), from.fit, from.taken), (300, 303, 3, 300, 300));
    let lines: Vec<(u64, u64)> = from.dropped.iter().map(|d| (d.count, d.first_line)).collect();
    assert_eq!(lines, [(1, 3), (1, 4), (1, 303)], "{from:?}");
    let hash = hex(&Sha256::digest(text.as_bytes()));
    assert_eq!(from.sha256, hash);
    let summary = from.summary();
    for words in ["rows.jsonl (plain, SHA-256", "303 rows, 3 dropped", "no [MASK]", "first in line 303"] {
        assert!(summary.contains(words), "no {words} in {summary}");
    }
}

#[test]
fn sample_is_seeded_and_stratified() {
    let text = balanced(1_200).join("\n");
    let (set, from) = read(&text, 600).unwrap();
    assert_eq!((set.examples.len(), from.fit, from.taken), (600, 1_200, 600));
    assert!(from.summary().contains("600 drawn of 1200"), "{}", from.summary());
    let (again, _) = read(&text, 600).unwrap();
    assert_eq!(set, again);
    let (whole, _) = read(&text, 1_200).unwrap();
    for (some, all) in set.frequencies.cells().iter().flatten().zip(whole.frequencies.cells().iter().flatten()) {
        assert!((some - all).abs() < 2.0 / 600.0, "{some} of {all}");
    }
}

#[test]
fn unusable_set_error_names_file_and_remedy() {
    let told = |text: &str| read(text, 1_000).unwrap_err().to_string();
    assert!(told(&balanced(150).join("\n")).contains("rows.jsonl: only 150 sentences are usable; at least 200"));
    let no_attractor: Vec<String> = balanced(300).iter().map(|l| l.replace("attractor_number", "other")).collect();
    let error = told(&no_attractor.join("\n"));
    assert!(error.contains("attractor_number") && error.contains("only 0 sentences"), "{error}");
    let error = told("{\"text\": \"The dog is here .\"}\n");
    assert!(error.contains("none of the 1 rows") && error.contains("no [MASK]"), "{error}");
    assert!(told("").contains("it is empty"));
    let folder = tempfile::tempdir().unwrap();
    let of = |path: &Path| {
        examples((task(), Positions::default()), path, "x", 1_000, 0, &mut NoPulse).unwrap_err().to_string()
    };
    assert!(of(folder.path()).contains("give one of its files"));
    assert!(of(&folder.path().join("none")).contains("cannot open"));
}

/// Rows without forms that have a three-valued property and a property given only in some rows.
fn own_rows() -> String {
    let value = |k: usize| ["past", "present", "future"][k % 3];
    let row = |k: usize| {
        let voice = if k.is_multiple_of(4) {
            ""
        } else if k % 4 == 1 {
            "active"
        } else {
            "passive"
        };
        format!("Sentence {k} [MASK] here .,{},{voice}\n", value(k / 5))
    };
    std::iter::once("text,tense,voice\n".to_owned()).chain((0..600).map(row)).collect()
}

#[test]
fn any_label_column_defines_a_task() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rows.csv");
    std::fs::write(&file, own_rows()).unwrap();
    let task = |target: &str, keep: &[&str]| {
        let keep: Vec<String> = keep.iter().map(|k| (*k).to_owned()).collect();
        super::task(&file, target, &keep, &mut NoPulse)
    };
    let own = task("tense", &["voice"]).unwrap();
    assert_eq!(own.properties.map(|p| p.id), ["tense", "voice"]);
    assert_eq!(own.properties[0].values, ["future", "past", "present"]);
    assert!(std::ptr::eq(own, task("tense", &["voice"]).unwrap()), "equal labels share a task");
    let (set, from) = examples((own, Positions::default()), &file, "rows.csv", 400, 1, &mut NoPulse).unwrap();
    assert_eq!((set.examples.len(), from.fit, from.lost()), (400, 600, 0));
    assert!(set.examples.iter().any(|e| own.properties[1].of(e).is_none()), "some examples lack a value");
    assert!(set.examples.iter().all(|e| !e.has_forms()));
    let told = |target: &str, keep: &[&str]| task(target, keep).unwrap_err().to_string();
    let error = told("mood", &["voice"]);
    assert!(
        error.contains("`task.target`: no row has the label `mood`") && error.contains("`tense` (future"),
        "{error}"
    );
    let error = told("tense", &[]);
    assert!(error.contains("`task.keep`") && error.contains("the file has `voice` (active, passive)"), "{error}");
    assert!(told("tense", &["tense"]).contains("given twice"));
}

/// Regression: the error used to mention agreement sentences but not the file's labels.
#[test]
fn missing_label_error_lists_available_ones() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rows.csv");
    std::fs::write(&file, own_rows()).unwrap();
    let error = examples((task(), Positions::default()), &file, "x", 1_000, 0, &mut NoPulse).unwrap_err().to_string();
    assert!(
        error.contains("no row has the label `subject_number`; the file has `tense` (future, past, present), `voice`")
            && error.contains("set task.target to one of them"),
        "{error}"
    );
    let found = suggested(&file, "subject_number").unwrap();
    assert_eq!(found, ("tense".to_owned(), vec!["voice".to_owned()]));
    let alone: String = own_rows().lines().map(|l| format!("{}\n", l.rsplit_once(',').unwrap().0)).collect();
    std::fs::write(&file, alone).unwrap();
    assert_eq!(suggested(&file, "subject_number"), None, "there would be no label to preserve");
    let error = super::task(&file, "tense", &[], &mut NoPulse).unwrap_err().to_string();
    assert!(error.contains("`tense` is the only label of the file"), "{error}");
    // Regression: the error for a file with a single label used to mention masks.
    let read = || examples((task(), Positions::default()), &file, "x", 1_000, 0, &mut NoPulse).unwrap_err().to_string();
    assert!(
        read().contains("the file has `tense` (future, past, present): set task.target to it, add a column"),
        "{}",
        read()
    );
    std::fs::write(&file, own_rows().replace("passive", "active")).unwrap();
    let error = super::task(&file, "tense", &["voice".into()], &mut NoPulse).unwrap_err().to_string();
    assert!(error.contains("`voice` has one value, active; a probe needs 2 to 50 values"), "{error}");
    std::fs::write(&file, balanced(300).join("\n")).unwrap();
    assert_eq!(suggested(&file, "subject_number"), None, "the built-in task is kept");
}

#[test]
fn texts_without_a_mask_are_read_at_a_position() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rows.csv");
    std::fs::write(&file, own_rows().replace("[MASK] ", "")).unwrap();
    let own = super::task(&file, "tense", &["voice".into()], &mut NoPulse).unwrap();
    let read = |changed| {
        let positions = Positions { changed, read: None };
        examples((own, positions), &file, "rows.csv", 1_000, 1, &mut NoPulse)
    };
    let error = read(Position::Mask).unwrap_err().to_string();
    assert!(error.contains("set task.position to first, last, marked, every or mean"), "{error}");
    assert!(read(Position::Last).unwrap().0.examples.iter().all(|e| e.place == Some(Place::Last)));
    assert!(read(Position::Marked).unwrap_err().to_string().contains("no `target`"));
    let hash = |changed, read| {
        let (set, _) = examples((own, Positions { changed, read }), &file, "x", 1_000, 1, &mut NoPulse).unwrap();
        set.hash
    };
    let last = hash(Position::Last, None);
    assert_eq!(hash(Position::Last, Some(Position::Last)), last, "naming the same position twice changes nothing");
    assert_ne!(hash(Position::Last, Some(Position::Mean)), last, "a different position gives a different set");
}

#[test]
fn labels_differing_only_in_case_are_reported() {
    assert_eq!(differ_in_case(["Past", "PRES", "past"]), Some(["Past", "past"]));
    assert_eq!(differ_in_case(["É", "x", "é"]), Some(["É", "é"]));
    assert_eq!(differ_in_case(["past", "pas", "past"]), None, "equal labels count once");
}

#[test]
fn reading_can_be_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rows.jsonl");
    std::fs::write(&file, balanced(300).join("\n")).unwrap();
    let mut stop = |_: usize, _: usize| Err(Cancelled);
    let end = examples((task(), Positions::default()), &file, "rows.jsonl", 1_000, 0, &mut stop);
    assert!(matches!(end, Err(OwnError::Cancelled(_))), "{end:?}");
}
