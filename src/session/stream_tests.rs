//! Tests on large sessions, and of the lines that are skipped in them.

use std::io::Write;
use std::path::PathBuf;

use super::*;
use engine::message::Event;

fn shipped() -> (PathBuf, Session) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sessions/agreement.probity.jsonl");
    let session = Session::read(&path).unwrap();
    (path, session)
}

/// Repeats the lines of the shipped session that are `wanted`, `runs` times, as if one program had recorded repeated runs. Each final
/// `rival` appears `times` times.
fn long(runs: usize, times: usize, wanted: impl Fn(usize, &str) -> bool) -> tempfile::NamedTempFile {
    let text = std::fs::read_to_string(shipped().0).unwrap();
    let (head, body) = text.split_once('\n').unwrap();
    let mut file = std::io::BufWriter::new(tempfile::NamedTempFile::new().unwrap());
    writeln!(file, "{head}").unwrap();
    for run in 0..runs {
        let number = |text: &str, key: &str| text.replace(&format!("\"{key}\":1,"), &format!("\"{key}\":{},", run + 1));
        for (_, line) in body.lines().enumerate().filter(|(k, line)| wanted(*k, line)) {
            let (t, rest) = line.strip_prefix("{\"t\":").unwrap().split_once(',').unwrap();
            let t: f64 = t.parse::<f64>().unwrap() + 60.0 * run as f64;
            let rest = number(&number(rest, "generation"), "job");
            let repeated = if line.contains("\"kind\":\"rival\"") { times } else { 1 };
            (0..repeated).for_each(|_| writeln!(file, "{{\"t\":{t:.3},{rest}").unwrap());
        }
    }
    file.into_inner().unwrap()
}

fn is_finding(line: &str) -> bool {
    line.contains("\"event\":\"finding\"")
}

fn folded(session: &Session, t: f64) -> Board {
    let mut board = Board::default();
    session.entries().take_while(|entry| entry.t <= t).for_each(|entry| entry.fold(&mut board));
    board.stale = 0;
    board
}

#[test]
fn skipped_lines_do_not_change_the_board() {
    let file = long(3, 1, |k, line| k % 7 == 0 || !is_finding(line));
    let session = Session::read(file.path()).unwrap();
    for t in [3.0, 61.0, 75.5, f64::INFINITY] {
        let Past { entries, gone, rest } = session.until(t);
        let past: Vec<Entry> = entries.collect();
        assert_eq!(gone, [0; 0]);
        let all = session.entries().filter(|entry| entry.t <= t).count();
        assert!(past.len() <= all && past.iter().all(|entry| entry.t <= t));
        assert_eq!(rest.count(), session.entries().count() - all, "at {t}");
        assert_eq!(Board { stale: 0, ..session.board_at(t) }, folded(&session, t), "at {t}");
    }
}

/// Regression: two thirds of the findings of a finished run used to be parsed although later ones replace them.
#[test]
fn replaced_provisional_findings_are_skipped() {
    for name in ["agreement", "prompts", "power", "saliency"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../sessions/{name}.probity.jsonl"));
        let session = Session::read(&path).unwrap();
        for t in [0.6, 1.0].map(|share| share * session.duration()) {
            // As JSON, because a board with NaN does not equal itself.
            let json = |board: Board| serde_json::to_value(Board { stale: 0, ..board }).unwrap();
            assert!(json(session.board_at(t)) == json(folded(&session, t)), "{name} at {t}");
        }
        let provisional = |entries: &mut dyn Iterator<Item = Entry>| {
            let is_provisional = |entry: &Entry| match &entry.item {
                Item::Event(Event::Finding { finding, .. }) => !finding.r#final,
                _ => false,
            };
            entries.filter(is_provisional).count()
        };
        let (kept, all) = (provisional(&mut session.until(f64::INFINITY).entries), provisional(&mut session.entries()));
        assert!(
            // Those before a comparison stay, so that the order of comparisons is that of a full replay.
            name == "power" || name == "prompts" || kept * 5 < all,
            "{name}: {kept} of {all} provisional findings are parsed"
        );
    }
}

#[test]
fn findings_parse_equally_from_text_and_tree() {
    for (name, every) in [("agreement", 5), ("prompts", 1), ("power", 1), ("saliency", 2)] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../sessions/{name}.probity.jsonl"));
        for line in std::fs::read_to_string(path).unwrap().lines().filter(|line| is_finding(line)).step_by(every) {
            let tree: serde_json::Value = serde_json::from_str(line).unwrap();
            let Event::Finding { finding, .. } = serde_json::from_value(tree).unwrap() else { panic!("{line}") };
            let (_, _, text) = super::super::glance::finding_of(line.as_bytes()).unwrap();
            let json = |finding: &labs::Finding| serde_json::to_string(finding).unwrap();
            assert_eq!(json(&labs::Finding::from_slice(text).unwrap()), json(&finding), "{line}");
        }
    }
}

#[test]
fn skipped_results_of_old_runs_can_be_loaded() {
    let one = |k, line: &str| {
        !is_finding(line) || line.contains("\"kind\":\"versus\"") || line.contains("\"kind\":\"rival\"") && k % 40 == 0
    };
    let file = long(4, 750, one);
    let session = Session::read(file.path()).unwrap();
    let board = session.board();
    let gone: Vec<bool> = board.runs.iter().map(|run| run.gone).collect();
    let held: Vec<usize> = board.runs.iter().map(|run| run.held).collect();
    assert_eq!(gone, [true, false, false, false], "{held:?}");
    assert_eq!(
        Board { stale: 0, ..board.clone() },
        folded(&session, f64::INFINITY),
        "the board equals the fold of all lines"
    );
    let (first, all) = (session.board_of(1), std::fs::read_to_string(file.path()).unwrap().lines().count());
    assert!(!first.runs[0].gone && first.runs[0].held == held[1]);
    assert_eq!(board.family.len(), first.family.len(), "a repeated comparison counts once");
    let (mut board, past) = (Board::default(), session.until(f64::INFINITY));
    assert!(session.until(f64::INFINITY).entries.count() * 5 < all * 4);
    past.gone.into_iter().for_each(|at| board.let_go(at));
    for entry in past.entries {
        entry.fold(&mut board);
        assert!(board.runs.first().is_none_or(|run| run.held == 0), "they are not kept until a later run begins");
    }
}

#[test]
fn damaged_line_does_not_supersede_earlier_lines() {
    let text = std::fs::read_to_string(shipped().0).unwrap();
    let (head, last) = text.split_at(text.rfind("{\"t\"").unwrap());
    let progress = text.lines().rfind(|line| line.contains("\"event\":\"progress\"")).unwrap();
    let session = |tail: &str| Session::parse(format!("{head}{tail}").as_bytes(), Path::new("s")).unwrap().board();
    assert_eq!(session(&progress[..progress.len() - 9]), session(""), "{last}");
}

/// Regression: 255 MB of blank lines used to take 42 s.
#[test]
fn blank_lines_are_skipped_and_counted() {
    let head = serde_json::to_string(&Header::new("cpu", String::new(), None)).unwrap();
    let text = format!("{head}{}nonsense\n", "\n".repeat(1 << 20));
    let session = Session::parse(text.as_bytes(), Path::new("s")).unwrap();
    assert_eq!(session.losses.damaged_lines, [(1 << 20) + 1]);
    let blank = format!("{head}\n{}nonsense\n", " \t\r\n".repeat(1 << 20));
    let begun = std::time::Instant::now();
    let session = Session::parse(blank.as_bytes(), Path::new("s")).unwrap();
    assert_eq!(session.losses.damaged_lines, [(1 << 20) + 2], "{:?}", begun.elapsed());
}

/// Regression: the header of a file without line ends used to be sought through the whole file.
#[test]
fn file_without_header_is_rejected_early() {
    for byte in [0, b'\n', b'x'] {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), vec![byte; 1 << 20]).unwrap();
        let mut lines = Lines::new(&Source::Bytes(vec![byte; 3 * MAX_LINE].into()), 0);
        assert_eq!(lines.read_first().unwrap(), Line::TooLong);
        assert!(lines.place() < 2 * MAX_LINE as u64, "{} bytes of {byte}", lines.place());
        assert!(Session::read(file.path()).is_err());
    }
}

/// Regression: a session larger than 256 MiB or longer than a million lines used to lose its end.
#[test]
fn gigabyte_session_opens_at_its_end() {
    let Ok(size) = std::env::var("PROBITY_LONG_SESSION") else {
        // A session too large to be checked line by line is enough for this test; 250 runs make a gigabyte.
        return opens_at_its_end(14);
    };
    opens_at_its_end(size.parse().unwrap());
}

fn opens_at_its_end(runs: usize) {
    let file = long(runs, 1, |_, _| true);
    let size = file.as_file().metadata().unwrap().len();
    let begun = std::time::Instant::now();
    let session = Session::read(file.path()).unwrap();
    let board = session.board();
    println!("{} MB: {:.2?}", size >> 20, begun.elapsed());
    assert_eq!(board.runs.len(), runs);
    assert_eq!(session.losses, Losses::default());
    assert!(size > CHECKED, "{size} bytes are checked line by line");
}

#[test]
fn parts_meet_at_every_position() {
    let (path, _) = shipped();
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines();
    let (header, entry) = (lines.next().unwrap(), lines.next().unwrap());
    // The first part ends within the first or the second blank line, an entry, or the damaged line.
    let far = SCANNED as usize - 2 * entry.len() - 100;
    for shift in 0..2 * entry.len() + 200 {
        let blank = format!("{}\n{}", " ".repeat(shift), " \n".repeat(shift / 9));
        let body = format!("{header}\n{}{blank}{entry}\ndamaged\n  {entry}\n{{\"t\":", "\n".repeat(far));
        let session = Session::parse(body.as_bytes(), Path::new("s")).unwrap();
        let number = |of: &str| 1 + body[..body.find(of).unwrap()].matches('\n').count();
        assert_eq!(session.losses.damaged_lines, [number("damaged")], "{shift}");
        assert_eq!(session.losses.cut, Some(body.matches('\n').count() + 1));
        assert_eq!((session.entries().count(), session.until(1e9).entries.count()), (2, 2));
    }
}
