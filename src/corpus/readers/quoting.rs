//! Quotation marks in tab-separated tables, which are syntax in some files and text in others.

use super::table::record_length;

/// Meaning of quotation marks at the beginning of fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quoting {
    /// They are text, because some are not closed at the end of their field.
    Text,
    /// They enclose fields.
    Fields,
    /// They enclose fields, some of which contain line breaks.
    Multiline,
}

impl Quoting {
    /// Determines the meaning from the beginning of a file, which is incomplete unless `whole`.
    pub(crate) fn of(text: &str, whole: bool) -> Self {
        let mut lines = text.lines().filter(|line| !line.trim().is_empty());
        let columns = lines.next().map_or(0, |line| line.split('\t').count());
        if columns < 2 {
            return Quoting::Fields;
        }
        let (mut rest, mut found) = (text, Quoting::Fields);
        while !rest.is_empty() {
            let length = record_length(rest.as_bytes(), b'\t').unwrap_or(rest.len());
            let (record, cut) = (&rest[..length], length == rest.len() && !whole);
            let fields = if record.contains('"') { fields(record) } else { Some(columns) };
            match fields {
                _ if cut => return found,
                None => return Quoting::Text,
                Some(fields) if record.contains('\n') => {
                    if fields != columns {
                        return Quoting::Text;
                    }
                    found = Quoting::Multiline;
                }
                Some(_) => {}
            }
            rest = rest[length..].strip_prefix('\n').unwrap_or_default();
        }
        found
    }
}

/// Returns the number of fields of a record; `None` if a field begins with a quotation mark that is not closed at its end.
fn fields(record: &str) -> Option<usize> {
    let (mut count, mut quoted, mut begins) = (1, false, true);
    let mut chars = record.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('"', _) if begins && !quoted => quoted = true,
            ('"', Some('"')) if quoted => {
                chars.next();
            }
            ('"', None | Some('\t' | '\r')) if quoted => quoted = false,
            ('"', Some(_)) if quoted => return None,
            ('\t', _) if !quoted => {
                (count, begins) = (count + 1, true);
                continue;
            }
            _ => {}
        }
        begins = false;
    }
    (!quoted).then_some(count)
}

#[cfg(test)]
mod tests {
    use super::Quoting;

    #[test]
    fn unclosed_quotes_are_text() {
        for (text, whole, wanted) in [
            ("a\tb\n\"x\"\ty\n", true, Quoting::Fields),
            ("a\tb\n\"x \"\"y\"\"\"\ty\n", true, Quoting::Fields),
            ("a\tb\n\"x\"\ty\n\"open\ty\n", true, Quoting::Text),
            ("a\tb\n\"x\ty\nz\tother \" word\n", true, Quoting::Text),
            ("a\tb\n\"x\ny\"\tz\n", true, Quoting::Multiline),
            ("a\tb\n\"x\"\ty\n\"cut", false, Quoting::Fields),
            ("a\tb\nsaid \"x\" and\ty\n", true, Quoting::Fields),
            ("text\n\"x\n", true, Quoting::Fields),
        ] {
            assert_eq!(Quoting::of(text, whole), wanted, "{text:?}");
        }
    }
}
