//! Tests of prediction files.

use super::super::consistency::{Draws, Regime};
use super::super::places::Ties;
use super::*;
use crate::consistency::Scoring;

fn parse(text: &str) -> Result<Predictions, PredictionError> {
    parse_with(text, false)
}

fn parse_with(text: &str, ignore_case: bool) -> Result<Predictions, PredictionError> {
    bytes(text.as_bytes(), ignore_case)
}

fn bytes(bytes: &[u8], ignore_case: bool) -> Result<Predictions, PredictionError> {
    let source = Box::new(std::io::Cursor::new(bytes.to_vec()));
    read(&mut TextSource::stream(source, std::path::Path::new("p.jsonl"))?, ignore_case)
}

/// Two models, two prompts, and two instances, one of them with two mentions. `y` is right only with the second prompt.
fn lines() -> String {
    let mut text = String::new();
    for model in ["x", "y"] {
        for prompt in ["[X] is in [Y] .", "[X] lies in [Y] ."] {
            for (subject, mention, object) in
                [("Paris", "the capital", "France"), ("Paris", "Paris", "France"), ("Rome", "Rome", "Italy")]
            {
                let right = model == "x" || prompt.contains("lies");
                let said = if right { object } else { "Spain" };
                text.push_str(&format!(
                    "{{\"relation\":\"P17\",\"model\":\"{model}\",\"prompt\":\"{prompt}\",\"subject\":\"{subject}\",\"mention\":\"{mention}\",\"object\":\"{object}\",\"prediction\":\" {said}\"}}\n"
                ));
            }
        }
    }
    text
}

#[test]
fn subject_is_the_first_mention() {
    let found = parse(&lines()).unwrap();
    assert_eq!((found.models.as_slice(), found.instances()), (&["x".to_owned(), "y".to_owned()][..], 2));
    let [asked] = &found.relations[..] else { panic!("{found:?}") };
    assert_eq!(asked.prompts, ["[X] is in [Y] .", "[X] lies in [Y] ."]);
    assert_eq!((asked.answers[0].p_at_1(), asked.answers[1].p_at_1()), (vec![1.0, 1.0], vec![0.0, 1.0]));
    assert_eq!(asked.answers[1].shape.mentions(0), 2);
    assert_eq!(found.adjusted(), [1.0, 0.5]);
    assert_eq!(found.stability(), [Some(1.0), Some(1.0)]);
    assert!(found.left_out.is_empty() && asked.said);
    let report = found.table().report(Ties::EarlierLower);
    assert_eq!(report.models[1].1.unwrap()[1], 1.0, "the gap of y");
    let draws =
        Draws { count: 40, subset: 1, shared: true, seed: 0, ties: Ties::EarlierLower, scoring: Scoring::Exact };
    let panel = found.panel();
    assert_eq!((panel.models(), panel.relations()), (2, 1));
    // Only relations can vary, and there is just one.
    assert_eq!(panel.enumerate(Regime::Adjusted, &draws, 100).unwrap().most(0), 1);
    assert_eq!(panel.draw(&draws, 0..40).iter().filter(|d| d[2] == [2, 0]).count(), 40);
}

#[test]
fn first_row_need_not_be_the_original_mention() {
    let text = lines();
    let found = parse(&text).unwrap();
    // The rows begin with "the capital". Making that mention's prediction wrong must not change the P@1 of the subject's own name.
    let changed = text.replacen("\" France\"", "\" Spain\"", 1);
    let again = parse(&changed).unwrap();
    assert_eq!(again.table(), found.table());
    assert_ne!(again.adjusted(), found.adjusted());
}

#[test]
fn marks_and_numbers_replace_words_and_names() {
    let text = "\u{feff}{\"relation\":\"r\",\"model\":1,\"prompt\":0,\"instance\":7,\"correct\":1}\n\n{\"predicate_id\":\"r\",\"model\":2,\"prompt\":0,\"instance\":7,\"correct\":false,\"more\":[1]}\n";
    let found = parse(text).unwrap();
    assert_eq!(found.models, ["1", "2"]);
    assert_eq!(found.adjusted(), [1.0, 0.0]);
    assert_eq!(found.stability(), [None, None], "without answers, stability is unknown");
}

/// Regression: arrays, words for right and wrong, and models without an answer used to be refused.
#[test]
fn arrays_words_and_empty_predictions_are_read() {
    let row = |instance: u8, end: &str| {
        format!("{{\"relation\":\"r\",\"model\":\"m\",\"prompt\":0,\"instance\":{instance},\"object\":\"o\",{end}}}")
    };
    for (first, second, unanswered) in [
        ("\"correct\":\"yes\"", "\"correct\":\"no\"", 0),
        ("\"prediction\":\"o\"", "\"prediction\":null", 1),
        ("\"prediction\":\"o\"", "\"prediction\":NaN", 1),
        ("\"prediction\":\"o\"", "\"prediction\":\" \"", 1),
    ] {
        let (first, second) = (row(1, first), row(2, second));
        for text in [format!("{first}\n{second}\n"), format!("[\n {first},\n {second}\n]")] {
            let found = parse(&text).unwrap_or_else(|e| panic!("{text}: {e}"));
            assert_eq!((found.adjusted(), found.unanswered), (vec![0.5], unanswered), "{text}");
        }
    }
    let error = parse(&row(1, "\"correct\":\"perhaps\"")).unwrap_err().to_string();
    assert!(error.contains("line 1") && error.contains("`correct` is perhaps"), "{error}");
    assert!(parse(&row(1, "\"x\":1")).is_err(), "a row without an answer");
}

#[test]
fn case_matters_unless_ignored() {
    let line = "{\"relation\":\"r\",\"model\":\"m\",\"prompt\":\"p\",\"subject\":\"s\",\"object\":\"Paris\",\"prediction\":\"paris\"}";
    assert_eq!(parse(line).unwrap().adjusted(), [0.0]);
    assert_eq!(parse_with(line, true).unwrap().adjusted(), [1.0]);
}

#[test]
fn incomplete_instances_are_omitted_and_counted() {
    let text = lines();
    let short: Vec<&str> = text.lines().take(11).collect();
    let found = parse(&short.join("\n")).unwrap();
    assert_eq!(found.instances(), 1);
    let [lost] = &found.left_out[..] else { panic!("{:?}", found.left_out) };
    assert_eq!((lost.relation.as_str(), lost.instances), ("P17", 1));
    assert!(lost.reason.contains("y has no answer to `[X] lies in [Y] .`"), "{}", lost.reason);
    let printed = parse(&text.lines().take(7).collect::<Vec<_>>().join("\n")).unwrap_err().to_string();
    assert!(printed.contains("no instance has answers from all models"), "{printed}");
}

#[test]
fn errors_name_file_line_and_expected_form() {
    let good = "{\"relation\":\"r\",\"model\":\"m\",\"prompt\":\"p\",\"instance\":1,\"correct\":true}";
    for (line, printed) in [
        ("{", "expected an object with relation"),
        ("[1]", "line 2"),
        ("{}", "give `correct`, or `prediction` and `object`"),
        ("{\"correct\":2}", "`correct` is 2; expected true or false"),
        ("{\"correct\":true}", "no `instance` and no `subject`"),
        ("{\"correct\":true,\"instance\":1}", "no `relation`"),
        ("{\"correct\":true,\"instance\":1,\"relation\":\"r\"}", "no `model`"),
        ("{\"correct\":true,\"instance\":1,\"relation\":\"r\",\"model\":\" \"}", "no `model`"),
        ("{\"correct\":true,\"instance\":1,\"relation\":\"r\",\"model\":\"m\"}", "no `prompt`"),
        (good, "a second answer from m to `p`"),
    ] {
        let error = parse(&format!("{good}\n{line}\n")).unwrap_err().to_string();
        assert!(error.contains(printed) && error.starts_with("p.jsonl, line 2: "), "{printed}: {error}");
    }
    assert!(parse("\n").unwrap_err().to_string().contains("contains no prediction"));
    let long = format!("{{\"x\":\"{}\"}}", "a".repeat(corpus::readers::MAX_LINE));
    assert!(parse(&long).unwrap_err().to_string().contains("line 1: a line or value longer than"));
    let printed = bytes(b"{\"x\": \"\xff\"}\n", false).unwrap_err().to_string();
    assert!(printed.contains("iconv -f WINDOWS-1252"), "{printed}");
}
