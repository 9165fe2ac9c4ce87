//! Parses numbers in the forms that people use, and formats them compactly.

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NumberError {
    /// The text is not a finite number in any of the accepted forms.
    #[error("`{0}` is not a number; enter, for example, .05, 1e-8, 42/320 or 13.1%")]
    Form(String),
    /// The number is not from 0 to 1, but a probability is required.
    #[error("`{0}` is {value}; a probability must be from 0 to 1", value = brief(.1))]
    Probability(String, f64),
    /// The number is not whole, or is out of range.
    #[error("`{0}` is not a whole number from {1} to {2}; enter, for example, 500, 1e6 or 3/1")]
    Whole(String, u64, u64),
}

/// Parses a finite number: `.05`, `1e-8`, `42/320`, `13.1%`, `50/2%` (a quarter).
pub fn number(text: &str) -> Result<f64, NumberError> {
    let bad = || NumberError::Form(super::text::shortened(text, 40));
    let trimmed = text.trim();
    let (body, hundredths) = match trimmed.strip_suffix('%') {
        Some(rest) => (rest.trim_end(), true),
        None => (trimmed, false),
    };
    let value = match body.split_once('/') {
        Some((a, b)) => plain(a).ok_or_else(bad)? / plain(b).ok_or_else(bad)?,
        None => plain(body).ok_or_else(bad)?,
    };
    // Dividing by 100, rather than multiplying by .01, keeps 5 % exactly .05.
    let value = if hundredths { value / 100.0 } else { value };
    if value.is_finite() { Ok(value) } else { Err(bad()) }
}

/// Parses a decimal number. `inf`, `nan` and `infinity`, which Rust's parser accepts, are rejected.
fn plain(text: &str) -> Option<f64> {
    let text = text.trim();
    let ok = text.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-'));
    if ok { text.parse().ok() } else { None }
}

/// Parses a number from 0 to 1.
pub fn probability_of(text: &str) -> Result<f64, NumberError> {
    let value = number(text)?;
    if (0.0..=1.0).contains(&value) {
        Ok(value)
    } else {
        Err(NumberError::Probability(super::text::shortened(text, 40), value))
    }
}

/// Parses a whole number in the range, in any accepted form (including `1e6`).
pub fn whole(text: &str, range: std::ops::RangeInclusive<u64>) -> Result<u64, NumberError> {
    let bad = || NumberError::Whole(super::text::shortened(text, 40), *range.start(), *range.end());
    // Plain digits are parsed as an integer: f64 cannot represent every large count.
    let count = match text.trim().parse() {
        Ok(count) => count,
        Err(_) => {
            let value = number(text)?;
            // Above 2^53, f64 cannot represent every whole number.
            let exact = value >= 0.0 && value.fract() == 0.0 && value <= (1u64 << 53) as f64;
            if exact { value as u64 } else { return Err(bad()) }
        }
    };
    if range.contains(&count) { Ok(count) } else { Err(bad()) }
}

/// Formats a number for messages, in scientific notation if plain digits would fill a line.
pub fn brief<T: std::fmt::Display + std::fmt::LowerExp>(x: &T) -> String {
    let text = x.to_string();
    if text.len() > 24 { format!("{x:e}") } else { text }
}

/// Formats a number compactly, as the papers print it: `.112`, `1.196`, `40`, `-0.005` as `-.005`.
pub fn short(x: f64) -> String {
    if !x.is_finite() {
        return if x.is_nan() { "–".into() } else { format!("{x}") };
    }
    let size = x.abs();
    if size != 0.0 && !(1e-4..1e6).contains(&size) {
        let text = format!("{x:.2e}");
        let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
        return format!("{}e{power}", digits.trim_end_matches('0').trim_end_matches('.'));
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

/// Formats a probability or a score with two decimals: `.87`, `1.00`.
pub fn score(x: f64) -> String {
    decimals(x, 2)
}

/// Formats a probability like [`score`], but keeps small values distinct: `.012`, `<.001`.
pub fn probability(x: f64) -> String {
    match x {
        // A probability that underflows to 0 is small, not impossible.
        x if (0.0..0.000_5).contains(&x) => "<.001".into(),
        x if x > 0.0 && x < 0.099_5 => decimals(x, 3),
        x => decimals(x, 2),
    }
}

/// Formats a number of magnitude around 1 or below, with a given number of decimals and no leading zero: `.012`.
pub fn decimals(x: f64, places: usize) -> String {
    if x.is_nan() {
        return "–".into();
    }
    let text = format!("{x:.places$}");
    match text.strip_prefix("0.") {
        Some(rest) => format!(".{rest}"),
        None => match text.strip_prefix("-0.") {
            // Rounding can leave a negative zero.
            Some(rest) if rest.bytes().all(|b| b == b'0') => format!(".{rest}"),
            Some(rest) => format!("-.{rest}"),
            None => text,
        },
    }
}

/// Number of decimals for the difference `d` of two numbers that are shown with `places`: one more if it would seem to contradict them.
pub fn difference_places(d: f64, [a, b]: [f64; 2], places: usize) -> usize {
    let unit = 10f64.powi(i32::try_from(places).unwrap_or(0));
    let shown = |x: f64| (unit * x).round();
    places + usize::from(shown(a) - shown(b) != shown(d))
}

/// Formats a proportion as a percentage with one decimal: `99.1 %`.
pub fn percent(share: f64) -> String {
    if share.is_nan() { "–".into() } else { format!("{:.1} %", share * 100.0) }
}

/// Formats a large count: `950`, `41k`, `11.2M`.
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

/// Formats an estimated duration, rounded to its likely precision: `a moment`, `about 10 s`, `about 3 min`, `about 25 min`, `about 2 h 30
/// min`.
pub fn about(t: f64) -> String {
    let to = |step: f64| (t / step).round() * step;
    match t {
        t if t < 2.0 => "a moment".into(),
        t if t < 7.5 => "about 5 s".into(),
        t if t < 55.0 => format!("about {:.0} s", to(10.0)),
        t if t < 600.0 => format!("about {:.0} min", (to(60.0) / 60.0).max(1.0)),
        t if t < 3450.0 => format!("about {:.0} min", to(300.0) / 60.0),
        t if !t.is_finite() => "unknown".into(),
        _ => {
            let minutes = (to(1800.0) / 60.0).max(60.0);
            let (hours, rest) = ((minutes / 60.0).floor(), minutes % 60.0);
            if rest == 0.0 { format!("about {hours:.0} h") } else { format!("about {hours:.0} h {rest:.0} min") }
        }
    }
}

/// Formats a duration: `0.4 s`, `12 s`, `3 min 05 s`, `2 h 10 min`.
pub fn seconds(t: f64) -> String {
    if !t.is_finite() || t < 0.0 {
        return "–".into();
    }
    if t < 9.95 {
        return format!("{t:.1} s");
    }
    // Caps absurdly long durations, so that the cast cannot overflow.
    let whole = t.round().min(1e12) as u64;
    match whole {
        0..60 => format!("{whole} s"),
        60..3600 => format!("{} min {:02} s", whole / 60, whole % 60),
        _ => format!("{} h {:02} min", whole / 3600, whole % 3600 / 60),
    }
}

/// Formats a time within a recording: `0:05`, `12:40`.
pub fn clock(t: f64) -> String {
    let whole = if t.is_finite() { t.clamp(0.0, 1e12) as u64 } else { 0 };
    format!("{}:{:02}", whole / 60, whole % 60)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Regression: large numbers used to be printed with 300 digits.
    #[test]
    fn numbers_in_messages_are_short() {
        assert_eq!(
            [brief(&1e300), brief(&0.25), brief(&-1e-300), brief(&u64::MAX)],
            ["1e300", "0.25", "-1e-300", "18446744073709551615"]
        );
        assert!(probability_of("1e300").unwrap_err().to_string().len() < 80);
    }

    #[test]
    fn typed_numbers_are_parsed() {
        for (text, value) in [
            (".5", 0.5),
            ("42/320", 0.131_25),
            ("13.1%", 0.131),
            ("1e-8", 1e-8),
            (" 5 % ", 0.05),
            ("1/3", 1.0 / 3.0),
            ("-2", -2.0),
            ("1 / 4", 0.25),
            ("50/2%", 0.25),
        ] {
            assert_eq!(number(text).unwrap(), value, "{text}");
        }
        for text in ["", "x", "1/0", "0/0", "inf", "nan", "1e999", "1//2", "%", "1,5", "/", "--1", "0x10"] {
            assert!(number(text).is_err(), "{text}");
        }
        assert_eq!(probability_of("100%").unwrap(), 1.0);
        for (text, count) in
            [("500", 500), ("1e6", 1_000_000), (" 3/1 ", 3), ("2.0", 2), ("9007199254740993", 9_007_199_254_740_993)]
        {
            assert_eq!(whole(text, 1..=u64::MAX), Ok(count), "{text}");
        }
        for text in ["1.5", "-1", "1e30", "0", "x", "1e-3"] {
            assert!(whole(text, 1..=u64::MAX).is_err(), "{text}");
        }
        for text in ["1.1", "-0.1", "150%"] {
            assert!(probability_of(text).is_err(), "{text}");
        }
    }

    #[test]
    fn numbers_omit_the_leading_zero() {
        for (x, text) in [
            (0.112, ".112"),
            (1.196, "1.196"),
            (40.0, "40"),
            (0.0, "0"),
            (-0.005, "-.005"),
            (0.005, ".005"),
            (12000.0, "12000"),
            (2e-7, "2e-7"),
            (f64::NAN, "–"),
            (0.1, ".1"),
            (100.0, "100"),
        ] {
            assert_eq!(short(x), text);
        }
        assert_eq!((score(0.871), score(1.0), score(-0.0004)), (".87".into(), "1.00".into(), ".00".into()));
        assert_eq!([0.0, 0.0001, 0.0123, 0.5].map(probability), ["<.001", "<.001", ".012", ".50"]);
        assert_eq!((count(41_234.0), count(11.2e6), count(0.42)), ("41k".into(), "11.2M".into(), "0.4".into()));
        assert_eq!((seconds(0.42), seconds(185.0)), ("0.4 s".into(), "3 min 05 s".into()));
        assert_eq!((seconds(7800.0), seconds(f64::INFINITY)), ("2 h 10 min".into(), "–".into()));
    }

    proptest! {
        #[test]
        fn displayed_numbers_are_short(x in any::<f64>()) {
            prop_assert!(short(x).chars().count() <= 10);
        }
    }

    /// Regression: the remaining time used to be shown to the second, so it changed with every progress report.
    #[test]
    fn expected_time_is_rounded() {
        let said =
            [0.0, 3.0, 12.0, 38.0, 54.9, 62.0, 100.0, 570.0, 599.0, 1_330.0, 3_449.0, 3_451.0, 8_000.0, f64::NAN];
        let want = [
            "a moment",
            "about 5 s",
            "about 10 s",
            "about 40 s",
            "about 50 s",
            "about 1 min",
            "about 2 min",
            "about 10 min",
            "about 10 min",
            "about 20 min",
            "about 55 min",
            "about 1 h",
            "about 2 h",
            "unknown",
        ];
        assert_eq!(said.map(about), want);
    }

    /// Regression: a difference of .03 used to stand beside .68 and .64.
    #[test]
    fn a_difference_agrees_with_the_numbers_that_are_shown() {
        assert_eq!(difference_places(0.034, [0.678, 0.644], 2), 3);
        assert_eq!(difference_places(0.03, [0.68, 0.65], 2), 2);
        assert_eq!(difference_places(46.58, [97.94, 51.36], 1), 2);
    }
}
