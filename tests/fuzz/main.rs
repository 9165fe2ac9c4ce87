//! Tests readers with hostile input: arbitrary and mutated bytes must give a value or an error within a short time, and never a panic.

mod rows;

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::common::{Harness, Record, start};
use probity::base::NoPulse;
use probity::cli::table::table;
use probity::corpus::doctor::Doctor;
use probity::corpus::readers::{ReadError, Reading, Set, TextSource, plain};
use probity::figure::{self, Format, render};
use probity::lab::Spec;
use probity::lab::interventions::spec::AGREEMENT_TOML;
use probity::lab::interventions::{self, Options, registry};
use probity::lab::prompts::consistency::{Draws, Scoring};
use probity::lab::prompts::places::Ties;
use probity::lab::prompts::predictions;
use probity::model::check::check;
use probity::model::exec::train::{AdamW, Trainer};
use probity::model::families::{ConfigFile, Size};
use probity::model::tokenizer::{Extras, Tokenizer};
use probity::model::weights::{Checkpoint, shards};
use probity::model::{Arch, Device, Model, ModelSource};
use probity::session::format::{Entry, Header, Item, Session};
use probity::session::replay::Step;
use probity::tui::action::Action;
use probity::tui::keymap::Keymap;
use probity::tui::state::{ReplayState, Start};
use probity::tui::theme::Theme;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

const PREDICTIONS: &str = r#"{"relation":"P36","model":"a","prompt":"The capital of [X] is [Y] .","subject":"France","mention":"the French Republic","object":"Paris","prediction":"Rome"}
{"relation":"P36","model":"b","prompt":"The capital of [X] is [Y] .","subject":"France","mention":"the French Republic","object":"Paris","prediction":"Paris"}
{"relation":"P36","model":"a","prompt":"The capital of [X] is [Y] .","subject":"France","object":"Paris","correct":true}
{"relation":"P36","model":"b","prompt":"The capital of [X] is [Y] .","subject":"France","object":"Paris","correct":0}
{"relation":"P1","model":"a","prompt":3,"instance":7,"correct":1}
{"relation":"P1","model":"b","prompt":3,"instance":7,"correct":false}
"#;

/// Maximum time for one input; generous, because the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(20);

/// A change to a text or file.
#[derive(Debug, Clone)]
enum Edit {
    Put(Index, u8),
    Insert(Index, Vec<u8>),
    Remove(Index, usize),
    Repeat(Index, usize),
    Cut(Index),
    /// Replaces the number, word or string that begins at or after this position.
    Token(Index, &'static str),
}

/// Replacements for numbers and words: values at the limits of types, values of other types, escape codes.
const TOKENS: [&str; 18] = [
    "-1",
    "0",
    "1e308",
    "-1e308",
    "1e999",
    "5e-324",
    "18446744073709551615",
    "9223372036854775808",
    "99999999999999999999999",
    "nan",
    "null",
    "true",
    "[]",
    "{}",
    "\"\"",
    "\"\\u001b[2J\\u202e\"",
    "\"../../../etc/passwd\"",
    "[[[[[[[[[[[[[[[[",
];

fn edits() -> BoxedStrategy<Vec<Edit>> {
    let at = any::<Index>();
    let edit = prop_oneof![
        (at.clone(), any::<u8>()).prop_map(|(i, b)| Edit::Put(i, b)),
        (at.clone(), vec(any::<u8>(), 1..6)).prop_map(|(i, b)| Edit::Insert(i, b)),
        (at.clone(), 1..60usize).prop_map(|(i, n)| Edit::Remove(i, n)),
        (at.clone(), 1..200usize).prop_map(|(i, n)| Edit::Repeat(i, n)),
        (at.clone()).prop_map(Edit::Cut),
        (at.clone(), 0..TOKENS.len()).prop_map(|(i, k)| Edit::Token(i, TOKENS[k])),
        (at, 0..TOKENS.len()).prop_map(|(i, k)| Edit::Token(i, TOKENS[k])),
    ];
    vec(edit, 1..5).boxed()
}

fn mutate(base: &[u8], edits: &[Edit]) -> Vec<u8> {
    let mut bytes = base.to_vec();
    for edit in edits {
        let n = bytes.len();
        if n == 0 {
            break;
        }
        match edit {
            Edit::Put(i, b) => bytes[i.index(n)] = *b,
            Edit::Insert(i, new) => {
                let at = i.index(n);
                bytes.splice(at..at, new.iter().copied());
            }
            Edit::Remove(i, count) => {
                let at = i.index(n);
                bytes.drain(at..(at + count).min(n));
            }
            Edit::Repeat(i, count) => {
                let at = i.index(n);
                let piece = bytes[at..(at + count).min(n)].to_vec();
                bytes.splice(at..at, piece);
            }
            Edit::Cut(i) => bytes.truncate(i.index(n)),
            Edit::Token(i, token) => {
                let from = i.index(n);
                let word = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'+' | b'_');
                let Some(begin) = bytes[from..].iter().position(word).map(|k| from + k) else { continue };
                let length = bytes[begin..].iter().take_while(|b| word(b)).count();
                bytes.splice(begin..begin + length, token.bytes());
            }
        }
    }
    bytes
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs a reader and asserts that it finishes in time.
fn timed<T>(read: impl FnOnce() -> T) -> T {
    let begun = Instant::now();
    let value = read();
    assert!(begun.elapsed() < PATIENCE, "{:?}", begun.elapsed());
    value
}

/// A short session with one line of nearly every kind.
fn session() -> &'static [u8] {
    static BYTES: OnceLock<Vec<u8>> = OnceLock::new();
    BYTES.get_or_init(|| {
        let harness = Harness::finished(80, 24);
        let header = Header::new("cpu", "2025-01-01T00:00:00Z".into(), Some(interventions::Spec::shipped().into()));
        let mut out = serde_json::to_string(&header).unwrap() + "\n";
        let mut seen: HashMap<String, usize> = HashMap::new();
        for (k, record) in harness.record.iter().enumerate() {
            let item = match record {
                Record::Command(command) => Item::Command(command.clone()),
                Record::Event(event) => Item::Event(event.clone()),
            };
            let line = Entry { t: k as f64 * 0.01, item }.to_line().unwrap();
            // Only three of the many findings of each kind are kept.
            let kind = line.split("\"kind\":\"").nth(1).and_then(|rest| rest.split('"').next());
            let count = kind.map(|kind| seen.entry(kind.to_owned()).or_default());
            if count.is_none_or(|count| {
                *count += 1;
                *count <= 3
            }) {
                out += &line;
            }
        }
        out.into_bytes()
    })
}

/// Reads a session and, if that succeeds, uses it in every way that the program does.
fn open(bytes: &[u8]) {
    let Ok(session) = timed(|| Session::parse(bytes, Path::new("fuzz"))) else { return };
    let printed = |text: &str| assert!(!text.chars().any(char::is_control), "{text:?}");
    session.losses.sentences().iter().for_each(|s| printed(s));
    let board = session.board();
    table(&board).iter().for_each(|line| printed(line));
    for run in &board.runs {
        let figures = probity::lab::by_id(run.job.spec.lab()).figures(&run.results, board.engine.as_ref());
        for figure in figures.iter().take(2) {
            timed(|| render(figure, Format::Svg, &figure::Options::default()).unwrap());
            render(figure, Format::Csv, &figure::Options::default()).unwrap();
        }
    }
    let replay = Some(ReplayState::new("fuzz".to_owned(), session.duration(), 1.0));
    let spec = match session.header.spec.clone() {
        Some(spec) => spec,
        None => interventions::Spec::shipped().into(),
    };
    let mut harness = Harness::of(Start { size: (80, 24), replay, spec, ..start() });
    for entry in session.entries() {
        harness.act(Action::Played(Step::Entry(Box::new(entry))));
    }
    timed(|| harness.screen()).lines().for_each(printed);
    harness.keys("i");
    harness.screen().lines().for_each(printed);
}

fn spec(text: &str) {
    if let Ok(spec) = timed(|| Spec::parse(text, "fuzz")) {
        let again = Spec::parse(&spec.to_toml(), "again").unwrap();
        assert_eq!(again.hash(), spec.hash());
    }
}

/// Two small tensors in safetensors format.
fn weights() -> Vec<u8> {
    let header = r#"{"__metadata__":{"format":"pt"},"a.weight":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},"b":{"dtype":"F16","shape":[2],"data_offsets":[24,28]}}"#;
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.bytes());
    bytes.extend([0x3c; 28]);
    bytes
}

fn checkpoint(bytes: Vec<u8>) {
    let Ok(checkpoint) = timed(|| Checkpoint::from_bytes("fuzz", bytes)) else { return };
    let names: Vec<String> = checkpoint.names().map(str::to_owned).collect();
    for name in names {
        if let Some(Ok(array)) = timed(|| checkpoint.read(&name)) {
            assert_eq!(array.shape.iter().product::<usize>(), array.data.len());
        }
    }
}

fn tokenizer(bytes: &[u8]) {
    let read = timed(|| Tokenizer::from_json("fuzz", bytes, Extras::default()));
    if let Ok(tokenizer) = read {
        timed(|| tokenizer.encode("The keys to the cabinet [MASK] on the table.").ok());
    }
}

const INDEX: &str = r#"{"metadata": {"total_size": 28}, "weight_map": {"a.weight": "model-00001-of-00002.safetensors",
    "b": "model-00002-of-00002.safetensors"}}"#;
const VOCABULARY: &str = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\nkey\n##s\n我\n.\n";
const TOKENIZER_CONFIG: &str = r#"{"do_lower_case": true, "strip_accents": null, "tokenize_chinese_chars": true,
    "mask_token": {"content": "[MASK]", "lstrip": false}, "pad_token": "[PAD]", "model_max_length": 512}"#;
const BPE: &str = r#"{"<s>": 0, "</s>": 1, "<mask>": 2, "a": 3, "b": 4, "ab": 5, "Ġ": 6, "Ġab": 7, "<pad>": 8}"#;
const MERGES: &str = "#version: 0.2\na b\nĠ ab\n";

/// Reads the old tokenizer files; any of them may be broken.
fn old_tokenizers(vocabulary: &str, config: &str, bpe: &str, merges: &str) {
    let extras = Extras {
        special_tokens_map: Some(config),
        tokenizer_config: Some(config),
        added_tokens: Some(config),
        config: Some(config),
        sentence: Some(config),
    };
    let read = [
        timed(|| Tokenizer::from_vocab_txt("fuzz", vocabulary, extras)),
        timed(|| Tokenizer::from_bpe("fuzz", bpe, merges, extras)),
    ];
    for tokenizer in read.into_iter().flatten() {
        timed(|| tokenizer.encode("The keys <mask> ab [MASK] 我.").ok());
    }
}

fn model() -> &'static Model {
    static MODEL: OnceLock<Model> = OnceLock::new();
    MODEL.get_or_init(|| {
        let arch = Arch::bert(Size { vocab: 23, hidden: 8, layers: 1, heads: 2, max_positions: 10 });
        let dir = tempfile::tempdir().unwrap();
        Trainer::new(&arch, 1, AdamW::default(), Device::Cpu).unwrap().export(dir.path()).unwrap();
        std::fs::write(dir.path().join("vocab.txt"), VOCABULARY).unwrap();
        Model::load(&ModelSource::Dir(dir.path().to_owned()), Device::Cpu).unwrap()
    })
}

/// Expected values of all kinds for the small model; the numbers need not be correct.
fn expected() -> &'static (Vec<u8>, String, String) {
    static FILES: OnceLock<(Vec<u8>, String, String)> = OnceLock::new();
    FILES.get_or_init(|| {
        let (b, t, d, v) = (1usize, 3usize, 8usize, 23usize);
        let (bt, btd, btv) = (vec![b, t], vec![b, t, d], vec![b, t, v]);
        let tensors: Vec<(&str, Vec<usize>, Vec<f32>)> = vec![
            ("input_ids", bt.clone(), vec![2.0, 4.0, 3.0]),
            ("attention_mask", bt.clone(), vec![1.0; 3]),
            ("position", vec![b], vec![1.0]),
            ("hidden_states.0", btd.clone(), vec![0.5; 24]),
            ("hidden_states.1", btd.clone(), vec![0.5; 24]),
            ("attentions.0", vec![b, 2, t, t], vec![0.3; 18]),
            ("logits", btv, vec![0.1; 69]),
            ("logits_at_position", vec![b, v], vec![0.1; 23]),
            ("top5_ids", vec![b, 2], vec![5.0, 6.0]),
            ("top5_probabilities", vec![b, 2], vec![0.2, 0.1]),
            ("target", vec![b], vec![5.0]),
            ("scalar", vec![b], vec![0.1]),
            ("input_embeddings", btd.clone(), vec![0.1; 24]),
            ("grad_embeddings", btd, vec![0.1; 24]),
            ("baseline_ids", bt.clone(), vec![2.0, 0.0, 3.0]),
            ("ig.trapezoid.sum", bt, vec![0.1; 3]),
            ("intervention.vector", vec![d], vec![0.1; 8]),
        ];
        let (mut header, mut data) = (serde_json::Map::new(), Vec::new());
        for (name, shape, values) in tensors {
            let from = data.len();
            values.iter().for_each(|x| data.extend(x.to_le_bytes()));
            let entry = serde_json::json!({"dtype": "F32", "shape": shape, "data_offsets": [from, data.len()]});
            header.insert(name.into(), entry);
        }
        let header = serde_json::Value::Object(header).to_string();
        let bytes = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &data].concat();
        let full = serde_json::json!({"versions": {"transformers": "5"}, "pad_id": 0, "mask_id": 4,
            "texts": ["the [MASK]"], "ids": [[2, 5, 4, 3]], "tokens": [["[CLS]", "the", "[MASK]", "[SEP]"]],
            "offsets": [[[0, 0], [0, 3], [4, 10], [0, 0]]], "special_tokens_mask": [[1, 0, 1, 1]],
            "tokenizer_cases": [{"text": "the", "ids": [2, 5, 3], "tokens": ["[CLS]", "the", "[SEP]"],
                "offsets": [[0, 0], [0, 3], [0, 0]], "decoded": "the"}],
            "tokenizer_pair": {"texts": ["a", "b"], "ids": [1], "type_ids": [0], "tokens": ["x"]},
            "ig": {"steps": 3}, "intervention": {"middle_layer": 1, "last_layer": 1}});
        let rounded = serde_json::json!({"cases": [{"text": "the", "input_ids": [2, 5, 3],
            "tokens": ["[CLS]", "the", "[SEP]"], "hidden_state_norms": [[1.0, 2.0, 3.0]], "mean_nll": 1.0,
            "mean_attention_entropy": [[0.5, 0.5]], "next_top5": [{"id": 5, "logit": 1.0, "prob": 0.5}],
            "greedy_continuation_ids": [5, 6], "sentence_embedding_first8": [0.1], "pooler_output_first4": [0.1]}],
            "cosine_similarity": [[1.0]]});
        (bytes, full.to_string(), rounded.to_string())
    })
}

/// Writes expected values, each possibly corrupted in its own way, and compares a model with them.
fn compare(tensors: Option<&[u8]>, json: &[u8]) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("expected.json"), json).unwrap();
    if let Some(bytes) = tensors {
        std::fs::write(dir.path().join("expected.safetensors"), bytes).unwrap();
    }
    match timed(|| check(model(), dir.path(), &mut NoPulse)) {
        Ok(report) => assert!(!report.rows.is_empty()),
        Err(e) => assert!(!e.to_string().chars().any(char::is_control), "{e:?}"),
    }
}

/// Reads external predictions.
fn external(bytes: Vec<u8>, ignore_case: bool) -> Option<predictions::Predictions> {
    let mut file = TextSource::stream(Box::new(std::io::Cursor::new(bytes)), Path::new("fuzz")).ok()?;
    predictions::read(&mut file, ignore_case).ok()
}

const CONFIG: &str = include_str!("../../assets/models/bert-mini/config.json");
const TOKENIZER: &[u8] = include_bytes!("../../assets/models/bert-mini/tokenizer.json");
const KEYMAP: &str = include_str!("../../assets/keymap.toml");
const THEME: &str = include_str!("../../assets/themes/dark.toml");

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// External predictions: JSON lines with arbitrary content.
    #[test]
    fn changed_predictions_are_read_or_refused(edits in edits()) {
        let bytes = mutate(PREDICTIONS.as_bytes(), &edits);
        if let Some(found) = timed(|| external(bytes, false)) {
            assert!(found.instances() > 0 && !found.models.is_empty());
            assert!(found.adjusted().iter().all(|a| (0.0..=1.0).contains(a)));
            let draws = Draws { count: 5, subset: 1, shared: false, seed: 0, ties: Ties::MeanPlace, scoring: Scoring::Exact };
            timed(|| found.panel().ranked(&draws, 0.95));
        }
    }

    #[test]
    fn arbitrary_predictions_are_refused(bytes in vec(any::<u8>(), 0..400)) {
        let _ = timed(|| external(bytes, true));
    }

    #[test]
    fn specs(changes in edits()) {
        spec(&text(&mutate(AGREEMENT_TOML.as_bytes(), &changes)));
    }

    #[test]
    fn arbitrary_bytes(bytes in vec(any::<u8>(), 0..400)) {
        spec(&text(&bytes));
        open(&bytes);
        tokenizer(&bytes);
        let _ = ConfigFile::parse("fuzz", &text(&bytes)).map(|c| c.describe().is_ok());
        let _ = shards("fuzz", &text(&bytes), ".safetensors");
        Keymap::parse(&text(&bytes), "fuzz");
        let _ = Theme::parse("fuzz", &text(&bytes));
        rows::rows("plain.jsonl", bytes.clone());
        rows::rows("plain.jsonl", [&[0x1f, 0x8b, 8, 0], &bytes[..]].concat());
        for method in registry() {
            let _ = method.load(&bytes, &Options::defaults(method));
        }
        checkpoint(bytes);
    }

    #[test]
    fn weight_files(changes in edits()) {
        checkpoint(mutate(&weights(), &changes));
    }

    #[test]
    fn weight_headers_with_wrong_lengths(length in prop_oneof![any::<u64>(), 0..400u64], rest in vec(any::<u8>(), 0..300)) {
        let mut bytes = length.to_le_bytes().to_vec();
        bytes.extend(rest);
        checkpoint(bytes);
    }

    #[test]
    fn model_configurations(changes in edits()) {
        let text = text(&mutate(CONFIG.as_bytes(), &changes));
        let _ = timed(|| ConfigFile::parse("fuzz", &text).map(|c| c.describe().is_ok()));
    }

    #[test]
    fn shard_indices(changes in edits()) {
        let text = text(&mutate(INDEX.as_bytes(), &changes));
        for name in timed(|| shards("fuzz", &text, ".safetensors")).into_iter().flatten() {
            assert!(!name.contains(['/', '\\']) && !name.starts_with('.'), "{name:?}");
        }
    }

    #[test]
    fn old_tokenizer_files(a in edits(), which in 0..4usize) {
        let mut parts = [VOCABULARY, TOKENIZER_CONFIG, BPE, MERGES].map(str::to_owned);
        parts[which] = text(&mutate(parts[which].as_bytes(), &a));
        old_tokenizers(&parts[0], &parts[1], &parts[2], &parts[3]);
    }

    #[test]
    fn expected_values(changes in edits(), which in 0..3usize) {
        let (tensors, full, rounded) = expected();
        match which {
            0 => compare(Some(&mutate(tensors, &changes)), full.as_bytes()),
            1 => compare(Some(tensors), &mutate(full.as_bytes(), &changes)),
            _ => compare(None, &mutate(rounded.as_bytes(), &changes)),
        }
    }

    #[test]
    fn screen_settings(changes in edits()) {
        timed(|| Keymap::parse(&text(&mutate(KEYMAP.as_bytes(), &changes)), "fuzz"));
        let _ = timed(|| Theme::parse("fuzz", &text(&mutate(THEME.as_bytes(), &changes))));
    }
}

proptest! {
    // Fewer cases, because a session or a tokenizer is slow to read in a test build.
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn sessions(changes in edits()) {
        open(&mutate(session(), &changes));
    }

    #[test]
    fn session_lines(changes in edits(), which in any::<Index>()) {
        // All edits are applied to one line, so that its inner parts are reached too.
        let mut lines: Vec<Vec<u8>> = session().split(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
        let at = which.index(lines.len());
        lines[at] = mutate(&lines[at], &changes);
        open(&lines.join(&b'\n'));
    }

    #[test]
    fn tokenizers(changes in edits()) {
        tokenizer(&mutate(TOKENIZER, &changes));
    }
}

#[test]
fn intact_expected_values_are_read() {
    let (tensors, full, rounded) = expected();
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("expected.json"), rounded).unwrap();
    // The small model has no pooling, so its sentence vector is reported as deviating; every entry is still reached.
    assert!(check(model(), dir.path(), &mut NoPulse).unwrap().rows.len() > 6);
    std::fs::write(dir.path().join("expected.json"), full).unwrap();
    std::fs::write(dir.path().join("expected.safetensors"), tensors).unwrap();
    let stopped = check(model(), dir.path(), &mut NoPulse).unwrap_err().to_string();
    assert!(stopped.contains("overwrite_mid.last_hidden_state"), "the last entry that is checked: {stopped}");
}

#[test]
fn deep_nesting_is_refused() {
    let deep = "[".repeat(1 << 20);
    let header = text(session()).lines().next().unwrap().to_owned();
    open(format!("{header}\n{{\"t\":0,\"view\":{deep}\n{{\"t\":1,\"note\":\"x\"}}\n").as_bytes());
    open(deep.as_bytes());
    spec(&format!("a = {deep}"));
    let _ = ConfigFile::parse("fuzz", &deep);
    tokenizer(deep.as_bytes());
    let _ = Theme::parse("fuzz", &format!("a = {deep}"));
}

#[test]
fn session_of_many_tiny_lines_is_read_in_time() {
    let header = text(session()).lines().next().unwrap().to_owned();
    let lines = "{\"t\":0,\"note\":\"\"}\n{}\n".repeat(100_000);
    let session = timed(|| Session::parse(format!("{header}\n{lines}").as_bytes(), Path::new("fuzz")).unwrap());
    assert_eq!((session.entries().count(), session.losses.damaged), (100_000, 100_000));
}
