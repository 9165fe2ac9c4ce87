//! Complete and damaged lines of a session.

use std::path::Path;

use super::*;
use crate::SessionError;
use engine::board::Board;
use engine::message::EngineInfo;
use labs::interventions;

fn parse(text: &str) -> Result<Session, SessionError> {
    Session::parse(text.as_bytes(), Path::new("s.probity.jsonl"))
}

fn header() -> String {
    serde_json::to_string(&Header::new(
        "cpu",
        "2025-01-01T00:00:00Z".into(),
        Some(interventions::Spec::shipped().into()),
    ))
    .unwrap()
}

fn ready() -> Entry {
    let info = EngineInfo { version: "0.1.0".into(), device: "cpu (2 threads)".into() };
    Entry { t: 0.12, item: Item::Event(Event::Ready(info)) }
}

#[test]
fn line_round_trips_with_tag_and_time() {
    let line = ready().to_line().unwrap();
    assert_eq!(line, "{\"t\":0.12,\"event\":\"ready\",\"version\":\"0.1.0\",\"device\":\"cpu (2 threads)\"}\n");
    assert_eq!(parse_entry(line.as_bytes(), false).unwrap(), ready());
}

#[test]
fn notes_and_view_lines_are_separate() {
    let note = Entry { t: 1.0, item: Item::Note("look here \u{1b}[31m".into()) };
    let view = Entry { t: 2.0, item: Item::View(serde_json::json!({"focus": "chart"})) };
    let text = format!("{}\n{}{}", header(), note.to_line().unwrap(), view.to_line().unwrap());
    assert!(!text.contains('\u{1b}'), "JSON escapes control characters");
    let session = parse(&text).unwrap();
    assert_eq!(session.entries().collect::<Vec<_>>(), [note, view]);
    assert_eq!(session.board(), Board::default());
}

#[test]
fn truncated_last_line_is_reported() {
    let line = ready().to_line().unwrap();
    for cut in 1..line.len() - 1 {
        let session = parse(&format!("{}\n{line}{}", header(), &line[..cut])).unwrap();
        assert_eq!(session.entries().collect::<Vec<_>>(), [ready()]);
        assert_eq!(session.losses, Losses { cut: Some(3), ..Losses::default() });
        assert_eq!(session.losses.sentences().len(), 1);
    }
    // Only the line end is missing; the content is complete.
    let session = parse(&format!("{}\n{}", header(), line.trim_end())).unwrap();
    assert_eq!((session.entries().count(), session.losses), (1, Losses::default()));
}

#[test]
fn unknown_kinds_are_distinguished_from_damage() {
    let text = [
        header().as_str(),
        r#"{"t":0.1,"event":"teleported","x":1}"#,
        r#"{"t":0.2,"smell":"rose"}"#,
        r#"{"t":0.3,"event":"finding","generation":1,"finding":{"lab":"interventions","spec":"a","model":"m","seed":0,"n":1,"final":true,"t":0,"kind":"astrology"}}"#,
        r#"{"t":0.4,"event":"ready","version":1}"#,
        r#"{"event":"ready"}"#,
        r#"{"t":-1,"note":"x"}"#,
        r#"{"t":1e300,"note":"x"}"#,
        "[1,2]",
        "",
        r#"{"t":0.5,"note":"end"}"#,
    ]
    .join("\n");
    let session = parse(&text).unwrap();
    assert_eq!(session.losses.unknown, 3);
    assert_eq!(session.losses.damaged_lines, [5, 6, 7, 8, 9]);
    assert_eq!(session.entries().count(), 1);
    assert_eq!(session.losses.sentences().len(), 2);
}

#[test]
fn parsed_times_never_decrease() {
    let session = parse(&format!("{}\n{{\"t\":5,\"note\":\"a\"}}\n{{\"t\":3,\"note\":\"b\"}}\n", header())).unwrap();
    assert_eq!(session.entries().map(|e| e.t).collect::<Vec<_>>(), [5.0, 5.0]);
    assert_eq!(session.duration(), 5.0);
}

#[test]
fn endless_line_is_skipped_in_constant_memory() {
    use std::io::{Seek, Write};
    let mut file = tempfile::NamedTempFile::new().unwrap();
    writeln!(file, "{}", header()).unwrap();
    // A sparse file: these bytes take no disk space.
    file.seek(std::io::SeekFrom::Current(64 << 20)).unwrap();
    write!(file, "\n{}", ready().to_line().unwrap()).unwrap();
    let session = Session::read(file.path()).unwrap();
    assert_eq!(session.entries().collect::<Vec<_>>(), [ready()]);
    assert_eq!((session.losses.damaged_lines.as_slice(), session.losses.long), (&[2][..], 1));
    let said = session.losses.sentences().join(" ");
    assert!(said.contains("line 2") && said.contains("longer than the limit of 4 MiB"), "{said}");
}

#[test]
fn non_session_file_error_names_file_and_line() {
    let newer = header().replace(&format!("\"probity_session\":{FORMAT}"), "\"probity_session\":99");
    for (text, word) in [
        ("", "empty"),
        ("hello\n", "not a session"),
        ("{\"a\":1}\n", "probity_session"),
        (newer.as_str(), "newer"),
        ("{\"probity_session\":1}\n", "format 1, but this program reads format 2; run its spec again"),
        ("{\"probity_session\":2}\n", "header"),
    ] {
        let message = parse(text).unwrap_err().to_string();
        assert!(message.contains("s.probity.jsonl, line 1") && message.contains(word), "{message}");
    }
    let message = Session::read(Path::new("/")).unwrap_err().to_string();
    assert!(message.contains("a folder"), "{message}");
}
