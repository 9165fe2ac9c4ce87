//! Tokens as printed by `probity models tokens`: they must equal the reference's, in columns aligned by display width (Chinese characters
//! are wide).

use std::path::Path;
use std::process::Command;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::common::{json, subfolders};
use super::harness::{fixtures, say};

crate::harness::tests! {
    Needs::Reference("models") => [printed_tokens_are_the_references_in_straight_columns];
}

/// The text starting at display column `column`.
fn from_column(line: &str, column: usize) -> &str {
    let mut width = 0;
    let at = line.char_indices().find(|(_, c)| {
        let here = width >= column;
        width += c.width().unwrap_or(0);
        here
    });
    at.map_or("", |(at, _)| &line[at..])
}

fn printed_tokens_are_the_references_in_straight_columns(root: &Path) {
    let (mut wide, mut compared) = (0, 0);
    for dir in subfolders(root) {
        let info = json(&dir.join("expected.json"));
        // Other sets may lack the texts.
        let texts = info["texts"].as_array().map_or(&[][..], Vec::as_slice);
        let spelled = |i: usize| Some((info["tokens"][i].as_array()?, info["ids"][i].as_array()?));
        if (0..texts.len()).all(|i| spelled(i).is_none()) {
            say!("{}: no texts with tokens and ids", dir.display());
        }
        for (i, text) in texts.iter().enumerate() {
            let Some((tokens, ids)) = spelled(i) else { continue };
            let output = Command::new(env!("CARGO_BIN_EXE_probity"))
                .args(["models", "tokens", &dir.display().to_string(), "--", text.as_str().unwrap()])
                .output()
                .unwrap();
            let printed = String::from_utf8(output.stdout).unwrap();
            let lines: Vec<&str> = printed.lines().collect();
            let column = |name: &str| lines[1][..lines[1].find(name).unwrap()].width();
            let (token, id) = (column("token"), column(" id ") + 1);
            assert_eq!(lines.len(), tokens.len() + 2, "{}: {printed}", dir.display());
            for ((line, want), want_id) in lines[2..].iter().zip(tokens).zip(ids) {
                let want = want.as_str().unwrap();
                // Control characters are displayed in a different form.
                let plain = !want.chars().any(char::is_control);
                assert!(!plain || from_column(line, token).starts_with(want), "{want} in {line:?}");
                let number = from_column(line, id).split_whitespace().next().unwrap();
                assert_eq!(number, want_id.to_string(), "{line:?}");
                wide += usize::from(want.width() > want.chars().count());
                compared += 1;
            }
        }
    }
    // Other sets may lack all texts.
    assert!(compared > 0 || !root.starts_with(fixtures()), "nothing was compared");
    say!("{compared} tokens, {wide} of them of wide characters");
}
