//! Numbers as people write them: fractions, percentages, scientific notation.

use super::error::CliError;

/// Reads a number: `.05`, `1e-8`, `42/320`, `13.1%`. The result is finite.
///
/// # Errors
/// [`CliError::Usage`] with what is wrong.
pub fn number(text: &str) -> Result<f64, CliError> {
    let bad =
        || CliError::Usage(format!("`{text}` is no number; write for example .05, 1e-8, 42/320 or 13.1%"));
    let trimmed = text.trim();
    let (body, factor) = match trimmed.strip_suffix('%') {
        Some(rest) => (rest.trim_end(), 0.01),
        None => (trimmed, 1.0),
    };
    let value = match body.split_once('/') {
        Some((a, b)) => plain(a).ok_or_else(bad)? / plain(b).ok_or_else(bad)?,
        None => plain(body).ok_or_else(bad)?,
    };
    // The factor is a hundredth; dividing keeps 5 % exactly .05.
    let value = if factor < 1.0 { value / 100.0 } else { value };
    if value.is_finite() { Ok(value) } else { Err(bad()) }
}

/// A decimal number; Rust's own reader also takes `inf`, `nan` and `infinity`, which are no numbers here.
fn plain(text: &str) -> Option<f64> {
    let text = text.trim();
    let ok = text.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-'));
    if ok { text.parse().ok() } else { None }
}

/// Reads a probability: a number from 0 to 1.
///
/// # Errors
/// [`CliError::Usage`] with what is wrong.
pub fn probability(text: &str) -> Result<f64, CliError> {
    let value = number(text)?;
    if (0.0..=1.0).contains(&value) {
        Ok(value)
    } else {
        Err(CliError::Usage(format!("`{text}` is {value}; a probability is from 0 to 1")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_people_write_them() {
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
            assert!(matches!(number(text), Err(CliError::Usage(_))), "{text}");
        }
        assert_eq!(probability("100%").unwrap(), 1.0);
        for text in ["1.1", "-0.1", "150%"] {
            assert!(probability(text).is_err(), "{text}");
        }
    }
}
