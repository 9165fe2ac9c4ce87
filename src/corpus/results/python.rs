//! Python's JSON dialect with `NaN`, `Infinity` and `-Infinity`, and integers of any length.

use std::borrow::Cow;

/// Replaces `NaN`, `Infinity` and `-Infinity` with `null`, except in strings.
pub(crate) fn plain(bytes: &[u8]) -> Cow<'_, [u8]> {
    let words: [&[u8]; 3] = [b"-Infinity", b"Infinity", b"NaN"];
    if !words.iter().any(|word| memchr::memmem::find(bytes, word).is_some()) {
        return Cow::Borrowed(bytes);
    }
    let mut out = Vec::with_capacity(bytes.len() + 16);
    let (mut at, mut string) = (0, false);
    while at < bytes.len() {
        let byte = bytes[at];
        if string {
            let wide = if byte == b'\\' && at + 1 < bytes.len() { 2 } else { 1 };
            string = byte != b'"';
            out.extend_from_slice(&bytes[at..at + wide]);
            at += wide;
            continue;
        }
        match words.iter().find(|word| bytes[at..].starts_with(word)) {
            Some(word) => {
                out.extend_from_slice(b"null");
                at += word.len();
            }
            None => {
                string = byte == b'"';
                out.push(byte);
                at += 1;
            }
        }
    }
    Cow::Owned(out)
}

/// Writes integers of 20 digits or more as strings, because numbers beyond 64 bits would be rounded.
pub(crate) fn exact_integers(bytes: &[u8]) -> Cow<'_, [u8]> {
    const LONG: usize = 20;
    // Such an integer contains a byte at a multiple of `LONG`.
    let suspect = |at: usize| {
        let before = bytes[..at].iter().rev().take_while(|b| b.is_ascii_digit()).take(LONG).count();
        before + bytes[at..].iter().take_while(|b| b.is_ascii_digit()).take(LONG).count() >= LONG
    };
    if !(0..bytes.len()).step_by(LONG).any(|at| bytes[at].is_ascii_digit() && suspect(at)) {
        return Cow::Borrowed(bytes);
    }
    let mut out = Vec::with_capacity(bytes.len() + 16);
    let (mut at, mut string) = (0, false);
    while at < bytes.len() {
        let byte = bytes[at];
        let number = |b: &u8| matches!(b, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
        let length = match byte {
            b'\\' if string => 2.min(bytes.len() - at),
            b'-' | b'0'..=b'9' if !string => bytes[at..].iter().take_while(|b| number(b)).count(),
            _ => 1,
        };
        string ^= byte == b'"';
        let piece = &bytes[at..at + length];
        let digits = piece.strip_prefix(b"-").unwrap_or(piece);
        let long = digits.len() >= LONG && digits.iter().all(u8::is_ascii_digit);
        let mark: &[u8] = if long { b"\"" } else { b"" };
        out.extend([mark, piece, mark].concat());
        at += length;
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::{exact_integers, plain};

    #[test]
    fn only_long_integers_become_strings() {
        let text = br#"{"id": 100000000000000000001, "b": [-99999999999999999999, 1.00000000000000000000001, 12], "c\"9": "100000000000000000001"}"#;
        let want = br#"{"id": "100000000000000000001", "b": ["-99999999999999999999", 1.00000000000000000000001, 12], "c\"9": "100000000000000000001"}"#;
        assert_eq!(std::str::from_utf8(&exact_integers(text)).unwrap(), std::str::from_utf8(want).unwrap());
        for start in 0..25 {
            let text = format!("{}100000000000000000001", " ".repeat(start));
            assert!(exact_integers(text.as_bytes()).ends_with(b"1\""), "{start}");
        }
    }

    #[test]
    fn python_literals_are_replaced_outside_strings() {
        let text = br#"{"a": NaN, "b": [-Infinity, Infinity], "NaN": "say \"NaN\\", "c": NaN}"#;
        let want = br#"{"a": null, "b": [null, null], "NaN": "say \"NaN\\", "c": null}"#;
        assert_eq!(&*plain(text), want);
        assert!(matches!(plain(b"{\"a\": 1}"), std::borrow::Cow::Borrowed(_)));
    }
}
