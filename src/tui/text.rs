//! Text on its way to the screen: made printable, measured in columns, numbers in few characters.

use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Text from outside, with everything visible that could steer a terminal: control characters become their Unicode
/// pictures, and marks that reorder or hide text become the replacement character. Everything from a file, a model
/// or an engine passes through here before it is drawn.
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
        | '\u{e0000}'..='\u{e0fff}' => Some('\u{fffd}'),
        _ => None,
    }
}

/// Columns that a text takes.
pub fn width(text: &str) -> usize {
    text.width()
}

/// The text in at most `columns` columns, cut with an ellipsis where it is longer.
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

/// The text in exactly `columns` columns, padded on the right.
pub fn pad(text: &str, columns: usize) -> String {
    let fitted = fit(text, columns);
    let missing = columns - width(&fitted).min(columns);
    format!("{fitted}{:missing$}", "")
}

/// Text in lines of at most `room` columns, broken at blanks, and within a word that is too long.
pub fn wrapped(text: &str, room: usize) -> Vec<String> {
    let text = printable(text);
    let room = room.max(1);
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in text.split(' ') {
        let mut word = word;
        if used > 0 && used + 1 + width(word) > room {
            lines.push(String::new());
            used = 0;
        }
        loop {
            let gap = usize::from(used > 0);
            let Some(line) = lines.last_mut() else { return lines };
            if used + gap + width(word) <= room {
                line.push_str(&" ".repeat(gap));
                line.push_str(word);
                used += gap + width(word);
                break;
            }
            let mut columns = 0;
            let fits = |(_, c): &(usize, char)| {
                columns += width(c.encode_utf8(&mut [0; 4]));
                columns <= room
            };
            let at = word.char_indices().take_while(fits).last().map_or(0, |(i, c)| i + c.len_utf8());
            // A wide character in a single column goes there all the same: it must go somewhere.
            let at = if at == 0 { word.chars().next().map_or(0, char::len_utf8) } else { at };
            line.push_str(&word[..at]);
            word = &word[at..];
            lines.push(String::new());
            used = 0;
        }
    }
    lines
}

/// A number in few characters, as the papers print it: `.112`, `1.196`, `40`, `-0.005` as `-.005`.
pub fn short(x: f64) -> String {
    if !x.is_finite() {
        return if x.is_nan() { "–".into() } else { format!("{x}") };
    }
    let size = x.abs();
    if size != 0.0 && !(1e-4..1e6).contains(&size) {
        return format!("{x:.2e}");
    }
    let decimals = if size >= 100.0 {
        1
    } else if size >= 0.01 {
        3
    } else {
        5
    };
    let text = format!("{x:.decimals$}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    let (sign, text) = text.strip_prefix('-').map_or(("", text), |t| ("-", t));
    match text.strip_prefix("0.") {
        Some(rest) => format!("{sign}.{rest}"),
        None if text == "0" => "0".into(),
        None => format!("{sign}{text}"),
    }
}

/// A probability or a score in two decimals: `.87`, `1.00`.
pub fn score(x: f64) -> String {
    decimals(x, 2)
}

/// A probability: as [`score`], but small ones keep what tells them apart: `.012`, `<.001`.
pub fn probability(x: f64) -> String {
    match x {
        x if x > 0.0 && x < 0.000_5 => "<.001".into(),
        x if x > 0.0 && x < 0.099_5 => decimals(x, 3),
        x => decimals(x, 2),
    }
}

/// Half the width of an interval of scores in three decimals: `±.006`.
pub fn plus_minus(half: f64) -> String {
    format!("±{}", decimals(half, 3))
}

/// A number near 1 with so many decimals and no leading zero: `.012`.
pub fn decimals(x: f64, places: usize) -> String {
    if x.is_nan() {
        return "–".into();
    }
    let text = format!("{x:.places$}");
    match text.strip_prefix("0.") {
        Some(rest) => format!(".{rest}"),
        None => match text.strip_prefix("-0.") {
            // Rounding can leave a minus on a zero.
            Some(rest) if rest.bytes().all(|b| b == b'0') => format!(".{rest}"),
            Some(rest) => format!("-.{rest}"),
            None => text,
        },
    }
}

/// A share as a percentage with one decimal: `99.1 %`.
pub fn percent(share: f64) -> String {
    if share.is_nan() { "–".into() } else { format!("{:.1} %", share * 100.0) }
}

/// A large count: `950`, `41k`, `11.2M`.
pub fn count(x: f64) -> String {
    match x {
        x if x.is_nan() || x < 0.0 => "–".into(),
        x if x < 9.95 && x.fract() != 0.0 => format!("{x:.1}"),
        x if x < 999.5 => format!("{x:.0}"),
        x if x < 9_950.0 => format!("{:.1}k", x / 1e3),
        x if x < 999_500.0 => format!("{:.0}k", x / 1e3),
        x if x < 99_950_000.0 => format!("{:.1}M", x / 1e6),
        x if x < 1e9 => format!("{:.0}M", x / 1e6),
        x => format!("{:.1}G", x / 1e9),
    }
}

/// A span of time: `0.4 s`, `12 s`, `3 min 05 s`, `2 h 10 min`.
pub fn seconds(t: f64) -> String {
    if !t.is_finite() || t < 0.0 {
        return "–".into();
    }
    if t < 9.95 {
        return format!("{t:.1} s");
    }
    // A span beyond any run is still a number, not a wrap-around.
    let whole = t.round().min(1e12) as u64;
    match whole {
        0..60 => format!("{whole} s"),
        60..3600 => format!("{} min {:02} s", whole / 60, whole % 60),
        _ => format!("{} h {:02} min", whole / 3600, whole % 3600 / 60),
    }
}

/// A time on a recording: `0:05`, `12:40`.
pub fn clock(t: f64) -> String {
    let whole = if t.is_finite() { t.clamp(0.0, 1e12) as u64 } else { 0 };
    format!("{}:{:02}", whole / 60, whole % 60)
}

/// A typed number: decimal, scientific, a fraction or a percentage.
pub fn parse_number(text: &str) -> Option<f64> {
    let text = text.trim();
    let plain = |t: &str| t.trim().parse::<f64>().ok().filter(|x| x.is_finite());
    if let Some(share) = text.strip_suffix('%') {
        return plain(share).map(|x| x / 100.0);
    }
    if let Some((over, under)) = text.split_once('/') {
        return plain(over).zip(plain(under)).map(|(a, b)| a / b).filter(|x| x.is_finite());
    }
    plain(text)
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

    #[test]
    fn wide_characters_are_cut_at_their_columns() {
        assert_eq!(fit("漢字漢字", 5), "漢字…");
        assert_eq!(fit("漢字漢字", 4), "漢…");
        assert_eq!(fit("abc", 0), "");
        assert_eq!(pad("漢", 4), "漢  ");
    }

    #[test]
    fn text_is_wrapped_at_blanks_and_long_words_are_cut() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("0123456789", 4), ["0123", "4567", "89"]);
        assert_eq!(wrapped("中文中文 a", 4), ["中文", "中文", "a"]);
        assert_eq!(wrapped("中", 1), ["中", ""]);
        assert_eq!(wrapped("", 5), [""]);
    }

    #[test]
    fn numbers_are_as_short_as_in_the_papers() {
        for (x, text) in [
            (0.112, ".112"),
            (1.196, "1.196"),
            (40.0, "40"),
            (0.0, "0"),
            (-0.005, "-.005"),
            (0.005, ".005"),
            (12000.0, "12000"),
            (2e-7, "2.00e-7"),
            (f64::NAN, "–"),
            (0.1, ".1"),
            (100.0, "100"),
        ] {
            assert_eq!(short(x), text);
        }
        assert_eq!((score(0.871), score(1.0), score(-0.0004)), (".87".into(), "1.00".into(), ".00".into()));
        assert_eq!(plus_minus(0.0061), "±.006");
        assert_eq!([0.0, 0.0001, 0.0123, 0.5].map(probability), [".00", "<.001", ".012", ".50"]);
        assert_eq!(
            (count(41_234.0), count(11.2e6), count(0.42)),
            ("41k".into(), "11.2M".into(), "0.4".into())
        );
        assert_eq!((seconds(0.42), seconds(185.0)), ("0.4 s".into(), "3 min 05 s".into()));
        assert_eq!((seconds(7800.0), seconds(f64::INFINITY)), ("2 h 10 min".into(), "–".into()));
    }

    #[test]
    fn numbers_can_be_typed_in_many_forms() {
        for (text, x) in [(".112", 0.112), ("1e-3", 1e-3), ("1/8", 0.125), ("5 %", 0.05), (" 40 ", 40.0)] {
            assert_eq!(parse_number(text), Some(x));
        }
        for text in ["", "abc", "1/0", "nan", "inf", "1/2/3", "%"] {
            assert_eq!(parse_number(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn nothing_printable_steers_a_terminal(text in any::<String>()) {
            prop_assert!(!printable(&text).chars().any(char::is_control));
        }

        #[test]
        fn fitted_text_fits(text in any::<String>(), columns in 0usize..40) {
            let shown = printable(&text);
            prop_assert!(width(&fit(&shown, columns)) <= columns);
            prop_assert_eq!(width(&pad(&shown, columns)), columns);
        }

        #[test]
        fn every_number_is_short(x in any::<f64>()) {
            prop_assert!(short(x).chars().count() <= 10);
        }
    }
}
