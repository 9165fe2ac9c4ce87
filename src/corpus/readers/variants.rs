//! Tests of data files whose keys, layouts and encodings vary.

use std::ops::ControlFlow;
use std::path::Path;

use super::*;

fn read(bytes: impl Into<Vec<u8>>, name: &str) -> Result<(&'static str, Vec<Row<'static>>, Report), String> {
    let source = Box::new(std::io::Cursor::new(bytes.into()));
    let reading = Reading::stream(source, Path::new(name)).map_err(|e| e.to_string())?;
    let (id, mut rows) = (reading.format().id, Vec::new());
    let report = reading.rows(&mut |row, _| {
        rows.push(row.into_owned());
        ControlFlow::Continue(())
    });
    Ok((id, rows, report.map_err(|e| e.to_string())?))
}

/// Returns texts and labels of sentences.
fn sentences(text: &str) -> Vec<(String, String)> {
    let (_, rows, report) = read(text, "t.csv").unwrap();
    assert_eq!(report.dropped.total(), 0, "{report:?}");
    let sentence = |row: Row<'_>| match row {
        Row::Sentence(s) => (s.text.to_string(), s.label.map(|l| l.to_string()).unwrap_or_default()),
        other => panic!("{other:?}"),
    };
    rows.into_iter().map(sentence).collect()
}

fn pair(text: &str, label: &str) -> (String, String) {
    (text.to_owned(), label.to_owned())
}

/// Regression: quotation marks used to be removed from a field that happened to end with one.
#[test]
fn unclosed_quotes_are_text_in_the_whole_table() {
    let text = "Quality\t#1 String\t#2 String\n1\t\"Sanitation is poor\tother \" words\n1\t\"whole\"\tz\n";
    assert_eq!(sentences(text), [pair("\"Sanitation is poor other \" words", "1"), pair("\"whole\" z", "1")]);
    assert_eq!(sentences("text\tlabel\n\"whole\"\t1\nplain\t0\n"), [pair("whole", "1"), pair("plain", "0")]);
}

/// Regression: only comma-separated tables used to support line ends in cells.
#[test]
fn quoted_cells_between_tabs_may_contain_line_ends() {
    assert_eq!(sentences("text\tlabel\n\"a\nb\"\t1\nc d\t0\n"), [pair("a b", "1"), pair("c d", "0")]);
}

/// Regression: pandas' index used to be a label, and integers beyond 64 bits used to be rounded.
#[test]
fn indices_are_not_labels_and_long_integers_stay_exact() {
    for head in ["Unnamed: 0", "__index_level_0__", ""] {
        let (_, rows, _) = read(format!("{head},text,label\n0,a b,1\n"), "t.csv").unwrap();
        let Row::Sentence(s) = &rows[0] else { panic!("{rows:?}") };
        let labels: Vec<&str> = s.labels.iter().flat_map(|l| &l.0).map(|(name, _)| name.as_str()).collect();
        assert_eq!(labels, ["label"], "{head}");
    }
    let long = "{\"text\":\"a b\",\"label\":123456789012345678901234567890}\n";
    assert_eq!(sentences(long), [pair("a b", "123456789012345678901234567890")]);
    assert_eq!(sentences("sep=;\r\ntext;label\r\na b;1\r\n"), [pair("a b", "1")]);
    assert_eq!(sentences("sentence1,label\na b,1\n"), [pair("a b", "1")]);
}

#[test]
fn json_document_error_suggests_a_conversion() {
    for (text, fix) in [
        (r#"{"data": [{"text": "a b", "label": 1}]}"#, "jq -c '.data[]'"),
        (r#"{"features": [], "rows": [{"row_idx": 0, "row": {"text": "a b"}}]}"#, "jq -c '.rows[].row'"),
        (r#"{"text": {"0": "a b", "1": "c"}, "label": {"0": 1, "1": 0}}"#, "orient='columns'"),
        (r#"{"columns": ["text"], "index": [0], "data": [["a b"]]}"#, "orient='split'"),
    ] {
        let error = read(text, "t.json").unwrap_err();
        assert!(error.contains(fix), "{error}");
    }
    let nested = read(r#"{"data": {"x": 1}, "y": 0}"#, "t.json").unwrap_err();
    assert!(!nested.contains("jq"), "{nested}");
}

#[test]
fn other_encodings_error_suggests_a_command() {
    let utf16: Vec<u8> = [0xff, 0xfe].into_iter().chain("text\tlabel\n".bytes().flat_map(|b| [b, 0])).collect();
    for (bytes, fix) in [
        (utf16, "iconv -f UTF-16 -t UTF-8"),
        (b"PK\x03\x04[Content_Types].xml xl/workbook.xml".to_vec(), "CSV"),
        (vec![0x28, 0xb5, 0x2f, 0xfd, 0], "zstd -d"),
        (b"BZh91AY".to_vec(), "bunzip2"),
        (vec![0xfd, b'7', b'z', b'X', b'Z', 0, 0], "unxz"),
        (b"PAR1".to_vec(), "read_parquet"),
    ] {
        let error = read(bytes, "t.csv").unwrap_err();
        assert!(error.contains(fix), "{error}");
    }
    let (_, rows, report) = read(b"text,label\na b,1\ncaf\xe9,1\n", "t.csv").unwrap();
    let (_, drops) = report.dropped.iter().next().unwrap();
    assert!(rows.len() == 1 && drops.example.contains("iconv -f WINDOWS-1252"), "{drops:?}");
}

/// Regression: `[0, 1]` for six tokens used to be the positions 0 and 1 in a file of masks.
#[test]
fn short_lists_among_masks_are_wrong_length_masks() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("masks.jsonl");
    let row = |list: &str| format!("{{\"tokens\": [\"a\", \"b\", \"c\", \"d\"], \"rationales\": {list}}}\n");
    for (other, kept) in [("[0, 0, 1, 1]", 1), ("[2, 3]", 2)] {
        std::fs::write(&path, row("[0, 1]") + &row(other)).unwrap();
        let report = Reading::open(&path).unwrap().rows(&mut |_, _| ControlFlow::Continue(())).unwrap();
        assert_eq!((report.rows, report.dropped.total()), (kept, 2 - kept), "{other}");
    }
}

/// Regression: if two documents had the same name, the last one used to be taken; spans that do not match `text` used to be accepted.
#[test]
fn eraser_documents_are_unique_and_spans_match_their_text() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("test.jsonl");
    let row = |id: &str, span: [u8; 2], text: &str| {
        let [from, to] = span;
        format!(
            "{{\"annotation_id\": \"x\", \"evidences\": [[{{\"docid\": {id}, \"start_token\": {from}, \"end_token\": {to}, \"text\": \"{text}\"}}]]}}\n"
        )
    };
    let documents = |text: &str| std::fs::write(dir.path().join("docs.jsonl"), text).unwrap();
    let read = |rows: String| {
        std::fs::write(&path, rows).unwrap();
        Reading::open(&path).unwrap().rows(&mut |_, _| ControlFlow::Continue(()))
    };
    documents("{\"docid\": 1, \"document\": [\"a\", \"very\", \"bad\", \"film\"]}\n");
    let report = read(row("1", [1, 3], "Very bad") + &row("1", [0, 2], "very bad")).unwrap();
    assert_eq!((report.rows, report.dropped.total()), (1, 1));
    let (_, drops) = report.dropped.iter().next().unwrap();
    assert!(drops.example.contains("are `a very`, but `text` is `very bad`"), "{}", drops.example);
    documents("{\"docid\": 1, \"document\": \"a very\u{a0}x bad film\"}\n");
    assert_eq!(read(row("1", [2, 3], "bad")).unwrap().rows, 1, "other whitespace belongs to a token");
    documents("{\"docid\": \"d\", \"document\": \"a b c\"}\n{\"docid\": \"d\", \"document\": \"other words now\"}\n");
    let error = read(row("\"d\"", [0, 1], "a")).unwrap_err().to_string();
    assert!(error.contains("line 2") && error.contains("a second document `d`"), "{error}");
}

#[test]
fn facts_and_relations_have_aliases() {
    let fact = |text: &str, name: &str| match &read(text, name).unwrap().1[0] {
        Row::Fact(f) => (f.relation.as_ref().map(|r| r.to_string()), f.subject.as_ref().map(|s| s.to_string())),
        other => panic!("{other:?}"),
    };
    let subject = || Some("France".to_owned());
    let lama = "{\"sub_label\": \"France\", \"obj_label\": \"Paris\", \"evidences\": []}\n";
    assert_eq!(fact(lama, "capital-of.jsonl"), (Some("capital-of".into()), subject()));
    assert_eq!(fact(lama, "P36_capital.jsonl"), (Some("P36".into()), subject()));
    assert_eq!(fact(lama, "train.jsonl"), (None, subject()));
    assert_eq!(fact("head,tail,relation\nFrance,Paris,P36\n", "t.csv"), (Some("P36".into()), subject()));
    let squad = "{\"sub_label\": \"Squad\", \"obj_label\": \"Paris\", \"masked_sentences\": [\"x [MASK].\"]}\n";
    assert_eq!(fact(squad, "test.jsonl"), (None, None));
    let relation = "{\"predicate_id\": \"P36\", \"template\": \"[X] has [Y] .\"}\n";
    assert!(matches!(&read(relation, "r.jsonl").unwrap().1[0], Row::Relation(r) if r.relation.as_str() == "P36"));
    let bear =
        r#"{"P36": {"templates": ["[X] has [Y]."], "answer_space_labels": ["Paris"], "answer_space_ids": ["Q1"]}}"#;
    let (_, rows, _) = read(bear, "metadata_relations.json").unwrap();
    assert!(matches!(&rows[0], Row::Relation(r) if r.answers.as_ref().is_some_and(|a| a.len() == 1)), "{rows:?}");
    let (id, rows, _) = read("good_sentence,bad_sentence\nA b.,A c.\n", "t.csv").unwrap();
    assert_eq!((id, rows.len()), ("blimp-table", 1));
}

#[test]
fn hatexplain_label_is_the_majority() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/rows/hatexplain.json");
    let mut found = Vec::new();
    let reading = Reading::open(&path).unwrap();
    let report = reading.rows(&mut |row, _| {
        if let Row::Rationale(r) = row {
            found.push((r.rationales, r.label.map(|l| l.to_string())));
        }
        ControlFlow::Continue(())
    });
    let label = |l: &str| Some(l.to_owned());
    assert_eq!(found, [(vec![vec![2], vec![1, 2]], label("offensive")), (vec![vec![]], label("normal"))], "{report:?}");
}
