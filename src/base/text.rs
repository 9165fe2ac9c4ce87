//! Makes external text safe to print, and measures text in terminal columns.

use std::borrow::Cow;

use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Replaces characters that could control a terminal. Control characters become their Unicode pictures; characters that reorder or hide
/// text become the replacement character. All text from files, models and engines passes through this function before it is drawn.
pub fn printable(text: &str) -> Cow<'_, str> {
    if text.chars().all(|c| picture(c).is_none()) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(|c| picture(c).unwrap_or(c)).collect())
}

fn picture(c: char) -> Option<char> {
    match c {
        '\u{0}'..='\u{1f}' => char::from_u32(0x2400 + c as u32),
        '\u{7f}' => Some('\u{2421}'),
        '\u{80}'..='\u{9f}'
        | '\u{ad}'
        | '\u{61c}'
        | '\u{180e}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{fffe}'
        | '\u{ffff}'
        | '\u{e0000}'..='\u{e0fff}' => Some('\u{fffd}'),
        _ => None,
    }
}

/// Maximum length of a drawn label, in characters.
const MAX_LABEL: usize = 300;
/// Maximum length of a message in characters: space for the failure and its location, each as long as a label, and the advice.
const MAX_MESSAGE: usize = 1_200;

/// Makes a name from a model, a spec or a session printable, and cuts it after 300 characters.
pub fn printable_label(text: &str) -> String {
    shortened(text, MAX_LABEL)
}

/// Makes a message printable, with enough space for advice after a long quotation.
pub fn printable_message(text: &str) -> String {
    shortened(text, MAX_MESSAGE)
}

/// Makes text printable and cuts it with an ellipsis after `chars` characters.
pub fn shortened(text: &str, chars: usize) -> String {
    let mut rest = text.chars();
    let mut out = printable(&rest.by_ref().take(chars).collect::<String>()).into_owned();
    if rest.next().is_some() {
        out.push('…');
    }
    out
}

/// Returns the last part of a path or of a name with slashes; this part is the most informative.
pub fn last_part(path: &str) -> &str {
    path.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next().unwrap_or(path)
}

/// Returns a model's name without its folders (`untrained:/models/a` becomes `untrained:a`), or the whole name if a different name in `all`
/// has the same ending.
pub fn brief_name(name: &str, all: &[&str]) -> String {
    let brief = |name: &str| match name.split_once(":/") {
        Some((kind, path)) => format!("{kind}:{}", last_part(path)),
        None => last_part(name).to_owned(),
    };
    let short = brief(name);
    if all.iter().filter(|other| brief(other) == short).count() > 1 { name.to_owned() } else { short }
}

/// Replaces the paths of model folders in a title with their last parts.
pub fn without_folders(title: &str) -> String {
    let brief = |word: &str| match word.starts_with('/') || word.contains(":/") {
        true => brief_name(word, &[]),
        false => word.to_owned(),
    };
    title.split(' ').map(brief).collect::<Vec<_>>().join(" ")
}

pub fn width(text: &str) -> usize {
    text.width()
}

/// Cuts text to at most `columns` columns, with an ellipsis.
pub fn fit(text: &str, columns: usize) -> Cow<'_, str> {
    if width(text) <= columns {
        return Cow::Borrowed(text);
    }
    let mut out = String::new();
    let mut used = 0;
    for c in text.chars() {
        let w = c.width().unwrap_or(0);
        if used + w + 1 > columns {
            break;
        }
        used += w;
        out.push(c);
    }
    if columns > 0 {
        out.push('…');
    }
    Cow::Owned(out)
}

/// Wraps text into at most `rows` lines. Text that is too long loses its last clauses or brackets if at least half of the room is still used;
/// otherwise the last line is cut.
pub fn wrapped_clauses(text: &str, room: usize, rows: usize) -> Vec<String> {
    let mut lines = wrapped(text, room);
    if lines.len() <= rows || rows == 0 {
        lines.truncate(rows);
        return lines;
    }
    let fits = |part: &str| 2 * width(part) >= rows * room && wrapped(part, room).len() <= rows;
    let is_closed = |part: &str| {
        let count = |c: char| part.matches(c).count();
        count('(') == count(')') && count('[') == count(']')
    };
    let end = if text.ends_with('.') { "." } else { "" };
    let ends = [". ", "; ", ": ", " (", " · "].into_iter().flat_map(|mark| text.match_indices(mark)).map(|(at, _)| at);
    let parts = ends.filter(|at| is_closed(&text[..*at])).map(|at| format!("{}{end}", &text[..at]));
    match parts.filter(|part| fits(part)).max_by_key(|part| part.len()) {
        Some(part) => wrapped(&part, room),
        None => {
            let rest = lines.split_off(rows - 1).join(" ");
            lines.push(fit(&rest, room).into_owned());
            lines
        }
    }
}

/// Returns the end of a text in at most `columns` columns; the end of a path identifies it best.
pub fn fit_end(text: &str, columns: usize) -> Cow<'_, str> {
    if width(text) <= columns {
        return Cow::Borrowed(text);
    }
    let mut used = 1;
    let within = |c: &char| {
        used += c.width().unwrap_or(0);
        used <= columns
    };
    let end: Vec<char> = text.chars().rev().take_while(within).collect();
    let mark = if columns > 0 { "…" } else { "" };
    Cow::Owned(mark.chars().chain(end.into_iter().rev()).collect())
}

/// Fits text into exactly `columns` columns, padded on the right.
pub fn pad(text: &str, columns: usize) -> String {
    let fitted = fit(text, columns);
    let missing = columns - width(&fitted).min(columns);
    format!("{fitted}{:missing$}", "")
}

/// Wraps text into lines of at most `room` columns, broken at spaces, or within words that are too long.
pub fn wrapped(text: &str, room: usize) -> Vec<String> {
    // Greedy filling, so that appended text does not change earlier lines.
    let options = Options::new(room.max(1))
        .wrap_algorithm(WrapAlgorithm::FirstFit)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation);
    let whole = with_whole_numbers(&printable(text));
    textwrap::wrap(&whole, options).into_iter().map(|line| line.replace(KEPT, " ")).collect()
}

/// A no-break space.
const KEPT: char = '\u{a0}';

/// Replaces the spaces inside `[.34, .64]`, `(.48, .64)` and `95 %` with no-break spaces, so that no line breaks there.
fn with_whole_numbers(text: &str) -> String {
    let in_number = |c: char| c.is_ascii_digit() || "+-.−".contains(c);
    let is_inside = |before: &str, after: &str| {
        let opens = before.strip_suffix(',').is_some_and(|b| b.trim_end_matches(in_number).ends_with(['[', '(']));
        opens && after.trim_start_matches(in_number).starts_with([']', ')'])
    };
    let is_percent =
        |before: &str, after: &str| after.starts_with('%') && before.ends_with(|c: char| c.is_ascii_digit());
    let kept = |i: usize| is_inside(&text[..i], &text[i + 1..]) || is_percent(&text[..i], &text[i + 1..]);
    text.char_indices().map(|(i, c)| if c == ' ' && kept(i) { KEPT } else { c }).collect()
}

/// Appends a table with a header, and columns as wide as their widest cell. Appends nothing if there are no rows.
pub fn section(out: &mut Vec<String>, head: &str, columns: &[&str], rows: Vec<Vec<String>>) {
    if rows.is_empty() {
        return;
    }
    let mut all = vec![columns.iter().map(|c| (*c).to_owned()).collect::<Vec<_>>()];
    all.extend(rows.into_iter().map(|row| row.iter().map(|cell| printable_label(cell)).collect()));
    let width = |c: usize| all.iter().map(|row| row[c].as_str().width()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns.len()).map(width).collect();
    out.push(String::new());
    out.push(head.to_owned());
    for row in &all {
        let mut line = String::new();
        for (cell, wide) in row.iter().zip(&widths) {
            line.push_str("  ");
            line.push_str(cell);
            line.extend(std::iter::repeat_n(' ', wide - cell.width()));
        }
        out.push(line.trim_end().to_owned());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn control_characters_become_visible() {
        assert_eq!(printable("a\u{1b}[31mb\u{7f}\n"), "a␛[31mb␡␊");
        assert_eq!(printable("\u{202e}evil\u{9b}2J"), "\u{fffd}evil\u{fffd}2J");
        assert!(matches!(printable("plain äöü 漢字"), Cow::Borrowed(_)));
    }

    /// Regression: one of three functions used to pass these characters through to the terminal.
    #[test]
    fn invisible_marks_are_made_visible() {
        for c in ['\u{61c}', '\u{200b}', '\u{200d}', '\u{2060}', '\u{feff}', '\u{ad}', '\u{180e}', '\u{ffff}'] {
            assert_eq!(printable_label(&format!("a{c}b")), "a\u{fffd}b");
        }
    }

    #[test]
    fn text_cut_at_the_start_keeps_its_end() {
        assert_eq!(fit_end("/data/models/a", 14), "/data/models/a");
        assert_eq!(fit_end("/data/models/a", 8), "…odels/a");
        assert_eq!(fit_end("日本語", 5), "…本語");
        assert_eq!(fit_end("日本語", 4), "…語");
        assert_eq!([fit_end("abc", 1), fit_end("abc", 0)], ["…", ""]);
    }

    #[test]
    fn labels_are_cut() {
        assert_eq!(printable_label("ε = .112 日本 é"), "ε = .112 日本 é");
        assert_eq!(printable_label(&"x".repeat(5000)).chars().count(), MAX_LABEL + 1);
        assert_eq!(shortened("abc", 2), "ab…");
    }

    #[test]
    fn advice_at_the_end_is_kept() {
        let message = format!("{}: {} (do this)", "x".repeat(MAX_LABEL), "y".repeat(MAX_LABEL));
        assert!(printable_message(&message).ends_with("(do this)"));
        assert_eq!(printable_message(&"x\u{1b}".repeat(5000)).chars().count(), MAX_MESSAGE + 1);
    }

    #[test]
    fn wide_characters_are_cut_at_their_columns() {
        assert_eq!(fit("漢字漢字", 5), "漢字…");
        assert_eq!(fit("漢字漢字", 4), "漢…");
        assert_eq!(fit("abc", 0), "");
        assert_eq!(pad("漢", 4), "漢  ");
    }

    #[test]
    fn text_wraps_at_spaces_and_long_words_break() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("0123456789", 4), ["0123", "4567", "89"]);
        assert_eq!(wrapped("中文中文 a", 4), ["中文", "中文", "a"]);
        assert_eq!(wrapped("中", 1), ["中"], "a character wider than the line gets a line");
        assert_eq!(wrapped("", 5), [""]);
    }

    /// Regression: answers used to break within an interval.
    #[test]
    fn intervals_and_percentages_are_not_broken() {
        assert_eq!(wrapped("S .49 [.34, .64]", 11), ["S .49", "[.34, .64]"]);
        assert_eq!(wrapped("R (.48, .64); 95 % of", 12), ["R", "(.48, .64);", "95 % of"]);
        assert_eq!(wrapped("see (this, that)", 11), ["see (this,", "that)"]);
    }

    /// Regression: tables and the progress line used to show the full path of a model folder.
    #[test]
    fn folder_models_show_the_last_path_part() {
        let all = ["/models/a", "untrained:/models/a", "/models/b", "/other/b", "org/c"];
        let names = all.map(|name| brief_name(name, &all));
        assert_eq!(names, ["a", "untrained:a", "/models/b", "/other/b", "c"]);
        assert_eq!(without_folders("bridge: 1/2 of untrained:/models/a, /models/a"), "bridge: 1/2 of untrained:a, a");
    }

    proptest! {
        #[test]
        fn displayed_text_cannot_control_the_terminal(text in any::<String>()) {
            prop_assert!(!printable(&text).chars().any(char::is_control));
        }

        #[test]
        fn fitted_text_has_the_requested_width(text in any::<String>(), columns in 0usize..40) {
            let shown = printable(&text);
            prop_assert!(width(&fit(&shown, columns)) <= columns);
            prop_assert_eq!(width(&pad(&shown, columns)), columns);
        }
    }

    /// Regression: a citation used to end as "(Ravfogel e…" at 80 columns, and a doubt in the middle of a number.
    #[test]
    fn long_text_loses_whole_clauses() {
        let cut = |text: &str, room: usize, rows: usize| wrapped_clauses(text, room, rows).join("\n");
        assert_eq!(cut("mirrors it to the other side (Ravfogel et al. 2021)", 40, 1), "mirrors it to the other side");
        assert_eq!(
            cut("R of INLP is .35 to .84: some miss it; and more.", 42, 1),
            "R of INLP is .35 to .84: some miss it."
        );
        assert_eq!(cut("a (b: c d e f g h i) j", 12, 1), "a (b: c d e…", "a bracket stays closed");
        assert_eq!(
            cut("A: one long text without any other mark in it", 20, 2),
            "A: one long text\nwithout any other m…"
        );
        assert_eq!(cut("short", 20, 1), "short");
    }
}
