//! Effects of changes on the screen, independent of wording. The flow tests cover the user's own prompts and sentences, queued and replaced
//! runs, and clicks.

use probity::tui::action::Action;
use probity::tui::setup;

use crate::common::saliency::{answer_latest, has_scored};
use crate::common::{Harness, models, ready};

/// Keys and displayed labels of the rows that differ from the last run.
fn changed(h: &Harness) -> Vec<(String, String)> {
    let rows = h.state.setup().unwrap().rows(&h.state);
    rows.into_iter().filter(|row| row.changed).map(|row| (row.key, row.label)).collect()
}

#[test]
fn star_marks_changed_rows_until_undone() {
    let mut h = Harness::finished(120, 40);
    assert_eq!(changed(&h), []);
    for (key, typed) in [("task.examples", "h"), ("site.layer", "h")] {
        h.row(key);
        h.keys(typed);
    }
    let rows = changed(&h);
    let keys: Vec<&str> = rows.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys, ["task.examples", "site.layer"]);
    let drawn = |h: &Harness, label: &str| h.screen().lines().any(|line| line.contains(&format!("{label}* ")));
    for (_, label) in &rows {
        assert!(drawn(&h, label), "{label}:\n{}", h.screen());
    }
    h.row("task.examples");
    h.slide().keys("l");
    assert_eq!(changed(&h).len(), 1, "the restored value no longer counts as changed");
    assert!(!drawn(&h, &rows[0].1) && drawn(&h, &rows[1].1), "{}", h.screen());
    h.keys("u u u");
    assert!(changed(&h).is_empty() && !setup::changed(&h.state));
    assert!(!drawn(&h, &rows[1].1), "{}", h.screen());
}

/// The answer arrives before the next key and is for exactly the text typed so far.
#[test]
fn typed_sentence_shows_scores_after_each_key() {
    let mut h = has_scored(120, 40);
    h.keys("o");
    h.typed("A dog [MASK]");
    let mut typed = "A dog [MASK]".to_owned();
    for key in [" ", "s", "a", "t", "backspace", "w"] {
        if key == "backspace" {
            h.keys(key);
            typed.pop();
        } else {
            h.typed(key);
            typed.push_str(key);
        }
        answer_latest(&mut h);
        let screen = h.screen();
        let last = typed.split_whitespace().next_back().unwrap();
        let scored = screen.lines().filter(|line| line.contains("dog") && line.contains(last));
        assert!(scored.count() >= 2, "the field and the scores after {key} ({typed}):\n{screen}");
    }
}

#[test]
fn tiny_terminal_shows_required_size_and_keeps_the_run() {
    for (columns, rows) in [(30, 8), (39, 24), (120, 9)] {
        let mut h = Harness::running(120, 40);
        let wide = h.screen();
        h.act(Action::Resize(columns, rows));
        let small = h.screen();
        for part in ["40×10", &format!("{columns}×{rows}")] {
            assert!(small.contains(part), "{part}:\n{small}");
        }
        assert!(small.lines().count() <= usize::from(rows));
        // Events still arrive, and keys work; their effect is shown once there is space.
        h.event(ready());
        h.event(models());
        h.act(Action::Resize(120, 40));
        assert_eq!(h.screen(), wide);
    }
}
