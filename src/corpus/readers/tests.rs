//! Tests of the readers on small synthetic files of every format and on invalid input.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::*;

fn rows_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/rows")
}

fn read(bytes: impl Into<Vec<u8>>, name: &str) -> Result<(Vec<Row<'static>>, Report), ReadError> {
    let bytes = bytes.into();
    let mut rows = Vec::new();
    let reading = Reading::stream(Box::new(std::io::Cursor::new(bytes)), Path::new(name))?;
    let report = reading.rows(&mut |row, _| {
        rows.push(row.into_owned());
        ControlFlow::Continue(())
    })?;
    Ok((rows, report))
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

const SENTEVAL: &str = "tr\tPAST\tShe saw it .\nva\tPRES\tShe sees it .\nte\tPAST\tIt was late .\n";

/// Returns the error for some bytes, after checking that it names the file, the text found and the expected form.
fn refused(bytes: impl Into<Vec<u8>>, words: &[&str]) -> ReadError {
    let error = read(bytes, "folder/bad.txt").unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("folder/bad.txt") && text.contains("; expected "), "{text}");
    for word in words {
        assert!(text.contains(word), "no `{word}` in {text}");
    }
    error
}

/// Checks that a bad second line in SentEval rows is dropped for this reason.
fn dropped(bad: &[u8], kind: DropKind, words: &[&str]) {
    let mut bytes = SENTEVAL.as_bytes().to_vec();
    let at = SENTEVAL.find('\n').unwrap() + 1;
    bytes.splice(at..at, bad.iter().copied().chain([b'\n']));
    let (rows, report) = read(bytes, "x.txt").unwrap();
    assert_eq!((rows.len(), report.dropped.total(), report.dropped.of(kind)), (3, 1, 1), "{report:?}");
    let (_, count) = report.dropped.iter().next().unwrap();
    assert_eq!(count.first_line, 2);
    for word in words {
        assert!(count.example.contains(word), "no `{word}` in {}", count.example);
    }
}

#[test]
fn every_format_is_recognised_and_read_without_loss() {
    let mut seen = BTreeSet::new();
    for entry in std::fs::read_dir(rows_folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            continue;
        }
        // The default form of inseq's files is tested in addition to the plain one.
        let stem = path.file_stem().unwrap().to_str().unwrap().replace("inseq-saved", "inseq");
        let reading = Reading::open(&path).unwrap();
        assert_eq!(reading.format().id, stem, "{}", path.display());
        seen.insert(stem.clone());
        let mut rows = 0;
        match reading.rows(&mut |_, _| {
            rows += 1;
            ControlFlow::Continue(())
        }) {
            Ok(report) => assert!(report.dropped.total() == 0 && rows > 0, "{stem}: {report:?}"),
            Err(e) => assert!(stem == "ding-koehn-parts" && e.to_string().contains("prefix file"), "{e}"),
        }
    }
    seen.insert(sniff(&rows_folder().join("ding_koehn/all.prefx.txt")).unwrap().id.to_owned());
    let known: BTreeSet<String> = FORMATS.iter().map(|f| f.id.to_owned()).collect();
    assert_eq!(seen, known);
}

#[test]
fn file_names_do_not_decide_the_format() {
    for (from, to) in [("blimp.jsonl", "P19.txt"), ("senteval.txt", "x.jsonl"), ("lgd.tsv", "README.md")] {
        let bytes = std::fs::read(rows_folder().join(from)).unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(to), &bytes).unwrap();
        std::fs::write(folder.path().join("packed"), gzip(&bytes)).unwrap();
        let id = from.split('.').next().unwrap();
        assert_eq!(sniff(&folder.path().join(to)).unwrap().id, id);
        assert_eq!(sniff(&folder.path().join("packed")).unwrap().id, id);
    }
}

#[test]
fn plain_rows_round_trip() {
    let set = Set::open(&rows_folder()).unwrap();
    let mut kinds = BTreeSet::new();
    set.rows(&mut |_, row, _| {
        let line = plain::line(&row);
        let (again, _) = read(line.clone(), "again.jsonl").unwrap();
        assert_eq!(again, [row.clone().into_owned()], "{line}");
        kinds.insert(row.kind());
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!(kinds.len(), 9, "{kinds:?}");
}

#[test]
fn folders_are_recognised_by_their_contents() {
    for (folder, title, files) in [
        ("bear", "BEAR folder", 2),
        ("eraser", "ERASER folder", 1),
        ("pararel", "ParaRel folder", 2),
        ("ding_koehn", "Ding & Koehn folder", 1),
    ] {
        let set = Set::open(&rows_folder().join(folder)).unwrap();
        assert_eq!((set.title.as_str(), set.files.len()), (title, files), "{:?}", set.left_out);
    }
    let folder = tempfile::tempdir().unwrap();
    assert!(Set::open(folder.path()).unwrap_err().to_string().contains("no files"));
    std::fs::write(folder.path().join("notes"), "nothing known\n").unwrap();
    assert!(Set::open(folder.path()).unwrap_err().to_string().contains("none of its 1 files"));
    assert!(Set::open(Path::new("/no/such/file")).unwrap_err().to_string().contains("/no/such/file"));
}

#[test]
fn missing_relation_comes_from_the_file_name() {
    let bytes = std::fs::read(rows_folder().join("pararel-facts.jsonl")).unwrap();
    let (rows, _) = read(bytes, "trex_lms_vocab/P19.jsonl").unwrap();
    let Row::Fact(fact) = &rows[0] else { panic!("{rows:?}") };
    assert_eq!((fact.relation.as_deref(), fact.subject.as_deref()), (Some("P19"), Some("Anna Moor")));
}

#[test]
fn eraser_rationales_are_tokens_of_the_document() {
    let path = rows_folder().join("eraser/train.jsonl");
    let mut found = Vec::new();
    Reading::open(&path)
        .unwrap()
        .rows(&mut |row, _| {
            found.push(row.into_owned());
            ControlFlow::Continue(())
        })
        .unwrap();
    let [Row::Rationale(r)] = &found[..] else { panic!("{found:?}") };
    let words: Vec<&str> = r.rationales[0].iter().map(|k| r.tokens[*k as usize].as_str()).collect();
    assert_eq!(
        (words.as_slice(), r.rationales[1].as_slice(), r.split),
        (&["a", "fine", "film"][..], &[7][..], Some(Split::Train))
    );
}

/// Regression: facts in two languages used to be combined with the prompts of both languages without a message.
#[test]
fn languages_of_mlama_are_not_mixed() {
    let folder = tempfile::tempdir().unwrap();
    for (language, prompt, country) in [("de", "[X] liegt in [Y].", "Frankreich"), ("en", "[X] is in [Y].", "France")] {
        let inside = folder.path().join(language);
        std::fs::create_dir(&inside).unwrap();
        let template = format!("{{\"relation\": \"P17\", \"template\": \"{prompt}\"}}\n");
        std::fs::write(inside.join("templates.jsonl"), template).unwrap();
        let fact = format!("{{\"sub_label\": \"Paris\", \"obj_label\": \"{country}\", \"lineid\": 0}}\n");
        std::fs::write(inside.join("P17.jsonl"), fact).unwrap();
    }
    let refused = Set::open(folder.path()).unwrap_err().to_string();
    assert!(refused.contains("2 languages") && refused.contains("de, en"), "{refused}");
    assert_eq!(Set::open(&folder.path().join("en")).unwrap().files.len(), 2);
}

#[test]
fn document_names_cannot_leave_the_folder() {
    for name in ["../secret", "/etc/passwd", "a/b", "..", "", "c\\d"] {
        let row = serde_json::json!({"annotation_id": "x", "evidences": [[{"docid": name, "start_token": 0, "end_token": 1}]]});
        let error = read(row.to_string(), rows_folder().join("train.jsonl").to_str().unwrap()).unwrap_err();
        assert!(error.what.contains("name of a file in `docs`") || error.what.contains("cannot open"), "{error}");
    }
}

#[test]
fn prefix_files_stay_aligned_with_their_companions() {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    put("all.prefx.txt", "the authors\n\nthe man\n");
    put("all.tag.txt", "1\n0\n0\n");
    put("all.subjs.txt", "[(1, 1)] ||| []\n[] ||| []\n[(0, 1)] ||| []\n");
    let prefixes = folder.path().join("all.prefx.txt");
    let mut sets = Vec::new();
    let report = Reading::open(&prefixes).unwrap().rows(&mut |row, _| {
        let Row::Rationale(r) = row else { panic!("{row:?}") };
        sets.push((r.rationales[0].clone(), r.label.as_deref().map(str::to_owned)));
        ControlFlow::Continue(())
    });
    assert_eq!(report.unwrap().blank, 1);
    assert_eq!(sets, [(vec![1], Some("1".into())), (vec![0, 1], Some("0".into()))]);
    for tags in ["1\n", "1\n0\n0\n1\n"] {
        put("all.tag.txt", tags);
        let error = Reading::open(&prefixes).unwrap().rows(&mut |_, _| ControlFlow::Continue(())).unwrap_err();
        assert!(error.file.ends_with("all.tag.txt") && error.line.is_some(), "{error}");
    }
}

#[test]
fn lgd_verbs_become_masks_with_both_forms() {
    let bytes = std::fs::read(rows_folder().join("lgd.tsv")).unwrap();
    let (rows, _) = read(bytes, "lgd.tsv").unwrap();
    let summary: Vec<String> = rows
        .iter()
        .map(|row| {
            let Row::Sentence(s) = row else { panic!("{row:?}") };
            let labels = s.labels.as_ref().unwrap();
            let [sg, pl] = s.forms.as_ref().unwrap();
            let ze = labels.get("attractor_number").unwrap_or("-");
            format!("{} | {sg}/{pl} {} {ze}", s.text, labels.get("subject_number").unwrap())
        })
        .collect();
    assert_eq!(
        summary,
        [
            "the keys to the cabinet [MASK] here . | is/are Pl Sg",
            "the dog [MASK] . | barks/bark Sg -",
            // A noun in a relative clause is not a prepositional object.
            "the dogs that the boy saw [MASK] . | barks/bark Pl -",
        ]
    );
}

#[test]
fn published_tables_yield_a_row_per_number() {
    let bytes = std::fs::read(rows_folder().join("results-table.tsv")).unwrap();
    let (rows, _) = read(bytes, "t.tsv").unwrap();
    let values: Vec<Option<f64>> = rows
        .iter()
        .map(|r| {
            let Row::Measure(m) = r else { panic!("{r:?}") };
            m.value
        })
        .collect();
    assert_eq!(values, [Some(25.5), Some(12.0), None, Some(0.75)]);
}

/// Regression: tables with capitalized column names, as spreadsheets write them, used to be unrecognised.
#[test]
fn header_case_and_separator_do_not_matter() {
    for mark in ["\t", ",", ";"] {
        for text in [
            "Text\tLabel\tSplit\na b\tx\ttrain\nc d\ty\ttest\n",
            "RELATION\tLabel\tModel\tVerbalization_Stability\nP1\tx\tm\t.5\nP2\tx\tm\t.25\n",
        ] {
            let plain = |t: &str| t.replace('\t', mark);
            let (upper, lower) =
                (read(plain(text), "t.csv").unwrap(), read(plain(&text.to_lowercase()), "t.csv").unwrap());
            assert_eq!((upper.0.len(), lower.0.len()), (2, 2), "{text}");
            if let (Row::Sentence(a), Row::Sentence(b)) = (&upper.0[0], &lower.0[0]) {
                assert_eq!((&a.text, &a.label, &a.split), (&b.text, &b.label, &b.split));
            }
        }
    }
}

#[test]
fn reading_stops_when_the_caller_has_enough() {
    let reading = Reading::stream(Box::new(Endless::new(u64::MAX)), Path::new("endless")).unwrap();
    let mut seen = 0;
    let report = reading.rows(&mut |_, line| {
        seen += 1;
        if line == 5 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let report = report.unwrap();
    assert_eq!((seen, report.rows, report.stopped), (5, 5, true));
}

/// A reader that generates SentEval lines on demand.
struct Endless {
    line: u64,
    lines: u64,
    buffer: Vec<u8>,
    at: usize,
}

impl Endless {
    fn new(lines: u64) -> Self {
        Self { line: 0, lines, buffer: Vec::new(), at: 0 }
    }
}

impl Read for Endless {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        if self.at == self.buffer.len() && self.line < self.lines {
            self.buffer.clear();
            self.at = 0;
            writeln!(self.buffer, "tr\t{}\tThis is sentence number {} .", self.line % 6, self.line)?;
            self.line += 1;
        }
        (&self.buffer[self.at..]).read(out).inspect(|n| self.at += n)
    }
}

/// The window must not grow with the file; how much other memory is used depends on the callback.
#[test]
fn large_files_are_read_in_constant_memory() {
    let reading = Reading::stream(Box::new(Endless::new(2_000_000)), Path::new("long")).unwrap();
    let mut addresses = BTreeSet::new();
    let mut last = 0;
    let report = reading.rows(&mut |row, line| {
        let Row::Sentence(s) = row else { panic!("{row:?}") };
        // Texts are borrowed from the window, so their addresses reveal its size.
        let at = s.text.as_str().as_ptr() as usize;
        addresses.insert(at / super::source::HEAD);
        last = line;
        ControlFlow::Continue(())
    });
    let report = report.unwrap();
    assert_eq!((report.rows, last), (2_000_000, 2_000_000));
    assert!(addresses.len() <= 2, "{addresses:?}");
}

mod bad_input {
    use super::*;

    #[test]
    fn byte_order_marks_and_carriage_returns_are_skipped() {
        let text = format!("\u{feff}{}", SENTEVAL.replace('\n', "\r\n"));
        let (rows, report) = read(text, "x.txt").unwrap();
        assert_eq!(rows, read(SENTEVAL, "x.txt").unwrap().0);
        assert_eq!(report.dropped.total(), 0);
    }

    #[test]
    fn cr_only_line_ends_are_rejected() {
        refused(SENTEVAL.replace('\n', "\r"), &["line 1", "only in carriage returns"]);
    }

    #[test]
    fn a_tab_in_a_text_drops_the_row() {
        dropped(b"tr\tPAST\tShe saw\tit .", DropKind::Fields, &["4 fields", "tab in the text"]);
    }

    #[test]
    fn latin_1_is_identified_and_the_row_dropped() {
        dropped(b"tr\tPAST\tCaf\xe9 closed .", DropKind::Encoding, &["0xe9", "Latin-1", "column 12"]);
    }

    #[test]
    fn utf_16_is_identified_with_and_without_mark() {
        let little: Vec<u8> = SENTEVAL.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = SENTEVAL.encode_utf16().flat_map(u16::to_be_bytes).collect();
        refused([&[0xff, 0xfe][..], &little].concat(), &["line 1", "UTF-16", "little endian", "iconv"]);
        refused([&[0xfe, 0xff][..], &big].concat(), &["UTF-16", "big endian"]);
        refused(little, &["UTF-16", "no byte order mark"]);
        refused(big, &["UTF-16", "no byte order mark"]);
    }

    #[test]
    fn other_containers_are_identified() {
        for (bytes, name) in [
            (&b"PK\x03\x04rest"[..], "zip"),
            (b"PAR1....", "Parquet"),
            (b"\x93NUMPY\x01", "NumPy"),
            (b"BZh91AY", "bzip2"),
        ] {
            refused(bytes, &[name]);
        }
    }

    #[test]
    fn nul_bytes_drop_the_row() {
        dropped(b"tr\tPAST\tShe \0saw it .", DropKind::Nul, &["column 13"]);
    }

    #[test]
    fn escape_sequences_are_kept_but_displayed_safely() {
        let text = format!("{SENTEVAL}tr\tPAST\tred \u{1b}[31m \u{9b}2J \u{202e} .\n");
        let (rows, _) = read(text, "x.txt").unwrap();
        let Row::Sentence(s) = &rows[3] else { panic!("{rows:?}") };
        assert!(s.text.contains("\u{1b}[31m \u{9b}2J \u{202e}"));
        let line = plain::line(&rows[3]);
        assert!(line.is_ascii() && !line.chars().any(char::is_control), "{line}");
        assert_eq!(read(line, "again").unwrap().0[0], rows[3]);
    }

    #[test]
    fn truncated_gzip_error_names_the_last_line() {
        // The lines compress badly, so that half of the compressed file still contains many of them.
        let lines: String =
            (0..20_000u64).map(|k| format!("tr\tPAST\tRow {} .\n", k.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
        let whole = gzip(lines.as_bytes());
        let error = refused(&whole[..whole.len() / 2], &["is truncated", "fetch it again"]);
        assert!(error.line.unwrap() > 1_000, "{error}");
        let mut damaged = whole.clone();
        let at = damaged.len() / 2;
        damaged[at..at + 64].fill(0xff);
        assert!(refused(damaged, &[]).to_string().contains("compressed data"));
        // Concatenated gzip members form one file.
        let twice = [whole.clone(), whole].concat();
        assert_eq!(read(twice, "x").unwrap().1.rows, 40_000);
    }

    #[test]
    fn gigabyte_line_is_rejected_before_allocation() {
        let head = std::io::Cursor::new(SENTEVAL.as_bytes().to_vec());
        let long = head.chain(std::io::repeat(b'x').take(1 << 30));
        let reading = Reading::stream(Box::new(long), Path::new("long.txt")).unwrap();
        let error = reading.rows(&mut |_, _| ControlFlow::Continue(())).unwrap_err();
        assert_eq!((error.line, error.what.contains("16 MiB")), (Some(4), true), "{error}");
        let object = std::io::Cursor::new(b"[{\"text\": \"".to_vec()).chain(std::io::repeat(b'x').take(1 << 30));
        let reading = Reading::stream(Box::new(object), Path::new("long.json")).unwrap();
        let error = reading.rows(&mut |_, _| ControlFlow::Continue(())).unwrap_err();
        assert!(error.what.contains("16 MiB"), "{error}");
    }

    /// Regression: because buffers double in size, lines between one and two times the limit used to be accepted or rejected arbitrarily.
    #[test]
    fn lines_above_the_limit_are_rejected() {
        for size in [17 << 20, 24 << 20, 31 << 20] {
            let filler = "x".repeat(size);
            for text in [
                format!("{SENTEVAL}tr\tPAST\t{filler}\ntr\tPAST\tShe saw .\n"),
                format!("{SENTEVAL}tr\tPAST\t{filler}"),
                format!("[{{\"text\": \"a\"}},\n{{\"text\": \"{filler}\"}}]"),
            ] {
                let reading = Reading::stream(Box::new(std::io::Cursor::new(text)), Path::new("l")).unwrap();
                let error = reading.rows(&mut |_, _| ControlFlow::Continue(())).unwrap_err();
                assert!(error.what.contains("16 MiB"), "{} MiB: {error}", size >> 20);
            }
        }
    }

    #[test]
    fn rows_of_another_format_are_dropped_and_counted() {
        dropped(b"{\"sentence_good\": \"a\", \"sentence_bad\": \"b\"}", DropKind::Fields, &["1 fields"]);
        let blimp = std::fs::read_to_string(rows_folder().join("blimp.jsonl")).unwrap();
        let (rows, report) = read(format!("{blimp}{SENTEVAL}{{\"text\": 1}}\n{{\"cut\": "), "x").unwrap();
        assert_eq!((rows.len(), report.dropped.of(DropKind::Syntax), report.dropped.of(DropKind::Missing)), (2, 4, 1));
    }

    #[test]
    fn unknown_labels_and_splits_drop_the_row() {
        dropped(b"tr\tFUTURE\tShe will see .", DropKind::Label, &["FUTURE", "PAST or PRES"]);
        dropped(b"xx\tPAST\tShe saw .", DropKind::Label, &["`xx`", "tr, va or te"]);
        let gold = r#"{"sent_id": 1, "sent_token": ["a"], "rationale_ids": [0], "sample_type": "ori"}"#;
        let (_, report) = read(format!("{gold}\n{}", gold.replace("ori", "odd")), "x").unwrap();
        assert_eq!(report.dropped.of(DropKind::Label), 1);
        let (_, report) = read(format!("{gold}\n{}", gold.replace("[0]", "[2]")), "x").unwrap();
        assert_eq!(report.dropped.of(DropKind::Index), 1);
    }

    #[test]
    fn empty_file_error_states_the_reason() {
        refused("", &["it is empty"]);
        refused("\n \r\n\n", &["it is empty"]);
        refused("hello\nworld\n", &["text that begins with `hello`", "plain JSON lines", "labelled"]);
        refused("a\tb\n1\t2\n", &["columns a, b"]);
        refused("{\"colour\": 1}\n", &["keys colour"]);
        let header = std::fs::read_to_string(rows_folder().join("agreement.tsv")).unwrap();
        refused(header.lines().next().unwrap(), &["it has no rows", "z_c"]);
        refused("{\"text\": \"\"}\n", &["none of its 1 rows", "`text` is empty", "line 1"]);
    }

    #[test]
    fn truncated_json_error_names_the_line() {
        let error = refused("[\n{\"text\": \"a\"},\n{\"text\": \"b\"\n", &["inside a JSON object", "closing brace"]);
        assert_eq!(error.line, Some(3));
        refused("[{\"text\": \"a\"},", &["inside a JSON array"]);
        refused("[{\"text\": \"a\"} x]", &["`x` between rows"]);
        let (rows, _) = read("[{\"text\": \"a\"}, {\"text\": \"}]\\\"\"}]", "x").unwrap();
        assert_eq!(rows.len(), 2);
    }

    #[cfg(unix)]
    #[test]
    fn pipes_and_devices_are_refused() {
        for path in ["/dev/null", "/dev/zero", "/"] {
            assert!(sniff(Path::new(path)).is_err(), "{path}");
        }
    }
}
