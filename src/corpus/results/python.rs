//! Python's JSON dialect with `NaN`, `Infinity` and `-Infinity`.

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

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn words_of_python_become_null_only_outside_strings() {
        let text = br#"{"a": NaN, "b": [-Infinity, Infinity], "NaN": "say \"NaN\\", "c": NaN}"#;
        let want = br#"{"a": null, "b": [null, null], "NaN": "say \"NaN\\", "c": null}"#;
        assert_eq!(&*plain(text), want);
        assert!(matches!(plain(b"{\"a\": 1}"), std::borrow::Cow::Borrowed(_)));
    }
}
