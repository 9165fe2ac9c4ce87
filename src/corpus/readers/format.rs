//! Formats, their recognition, and parsers of rows.

use std::cell::{Cell, OnceCell};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use serde::Deserialize;

use super::error::{DropKind, ReadError, Unread};
use super::quoting::Quoting;
use super::row::Row;

/// Maximum number of lines examined at the beginning of a file.
const LINES: usize = 20;

/// How a file is split into records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// One row per line.
    Lines,
    /// One JSON object per line, objects over several lines, or a JSON array of objects.
    Json,
    /// The whole file is one JSON document.
    Document,
}

/// Receives the parsed rows.
pub(crate) type Emit<'e> = dyn FnMut(Row<'_>) + 'e;

/// Parses the pieces of one file.
pub trait Parse {
    /// Parses one piece, which may contain any number of rows.
    ///
    /// # Errors
    /// [`Unread`] if the piece is unreadable; it is then dropped and counted.
    fn piece(&mut self, text: &str, emit: &mut Emit<'_>) -> Result<(), Unread>;

    /// Called at the end of the file.
    fn end(&mut self, _emit: &mut Emit<'_>) -> Result<(), Unread> {
        Ok(())
    }

    /// Called for blank and unreadable pieces, so that parsers can skip the corresponding lines in accompanying files.
    fn skipped(&mut self) {}

    /// Returns an error that affects several rows, such as an accompanying file that ends early.
    fn failure(&mut self) -> Option<ReadError> {
        None
    }
}

impl<F> Parse for F
where
    F: FnMut(&str, &mut Emit<'_>) -> Result<(), Unread>,
{
    fn piece(&mut self, text: &str, emit: &mut Emit<'_>) -> Result<(), Unread> {
        self(text, emit)
    }
}

pub(crate) type Parser = Box<dyn Parse>;

/// Creates a parser that needs only the piece and its [`Context`].
pub(crate) fn stateless(
    context: &Context,
    parse: fn(&str, &Context, &mut Emit<'_>) -> Result<(), Unread>,
) -> Result<Parser, ReadError> {
    let context = context.clone();
    Ok(Box::new(move |text: &str, emit: &mut Emit<'_>| parse(text, &context, emit)))
}

/// Parses the JSON of a row, borrowing its strings.
pub(crate) fn json<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, Unread> {
    serde_json::from_str(text).map_err(|e| {
        let field = field_before(text, e.column()).map(str::to_owned);
        let mut unread = Unread::from(e);
        // Serde's error message does not name the field with the wrong type.
        if let Some(field) = field.filter(|_| unread.kind == DropKind::Value) {
            unread = Unread::new(unread.kind, format!("`{field}`: {}", unread.detail));
        }
        let foreign = ["NaN", "Infinity"].into_iter().find(|word| text.contains(word));
        match foreign.filter(|_| unread.kind == DropKind::Syntax) {
            Some(word) => Unread::new(DropKind::Value, format!("{word} is not a JSON number")),
            None => unread,
        }
    })
}

/// Returns the key of the value that ends at this column (from 1) of a line.
fn field_before(text: &str, column: usize) -> Option<&str> {
    let bytes = text.as_bytes();
    let bytes = &bytes[..column.min(bytes.len())];
    let (mut found, mut k) = (None, 0);
    while k < bytes.len() {
        if bytes[k] == b'"' {
            let end = string_end(bytes, k + 1);
            let colon = bytes.get(end + 1..).unwrap_or_default().iter().find(|b| !b.is_ascii_whitespace());
            if colon == Some(&b':') {
                found = text.get(k + 1..end);
            }
            k = end;
        }
        k += 1;
    }
    found
}

pub struct Format {
    /// Name on the command line and in reports.
    pub id: &'static str,
    pub title: &'static str,
    /// Columns or keys that are used; others are ignored.
    pub columns: &'static [&'static str],
    pub(crate) framing: Framing,
    /// True if a file with this beginning has the format.
    pub(crate) recognise: fn(&Head<'_>) -> bool,
    pub parser: fn(&Head<'_>, &Context) -> Result<Parser, ReadError>,
}

impl std::fmt::Debug for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Format({})", self.id)
    }
}

impl PartialEq for Format {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

/// Location of a file. In some formats, part of each row is in the file's name or in a neighbouring file.
#[derive(Debug, Clone)]
pub struct Context {
    pub file: PathBuf,
    /// Relation in the file name, such as `P19` in `P19.jsonl`: `P` or `Q` followed by digits, or one of LAMA's names for Google-RE
    /// relations.
    pub relation: Option<String>,
    /// Interpretation of rationale lists that could be masks or positions.
    pub(crate) lists: Lists,
}

/// Form of the rationale lists in a file, inferred from all its rows.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// True if the lists are masks.
    pub masks: OnceCell<bool>,
    /// True if a list could be a mask or positions.
    pub is_ambiguous: Cell<bool>,
}

/// Interpretation of a file's rationale lists.
#[derive(Debug, Clone)]
pub(crate) enum Lists {
    /// To be determined from all rows of the file when first needed.
    Asked(Rc<Found>),
    /// Lists are left unchanged, so that their interpretation can be determined.
    Raw,
}

impl Lists {
    /// Describes how lists of 0 and 1 were interpreted, for the report; `None` if no row is ambiguous.
    pub(crate) fn said(&self) -> Option<&'static str> {
        match self {
            Self::Asked(found) => match found.masks.get().filter(|_| found.is_ambiguous.get())? {
                true => Some("lists of 0 and 1 are masks, because all lists have an entry for every token"),
                false => Some("[0, 1] for two tokens means positions, because other lists in the file are not masks"),
            },
            Self::Raw => None,
        }
    }
}

impl Context {
    pub fn of(file: &Path) -> Self {
        let name = file.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let stem = name.split('.').next().unwrap_or_default();
        let stem = stem.strip_suffix("_results").unwrap_or(stem);
        // Names such as `P36_capital` begin with the relation.
        let number = stem.split(['_', '-', ' ']).next().unwrap_or_default();
        let digits = number.strip_prefix(['P', 'Q']).unwrap_or_default();
        let known = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        let google = ["place_of_birth", "date_of_birth", "place_of_death"];
        let google = google.into_iter().find(|g| stem.starts_with(g)).map(str::to_owned);
        let relation = if known { Some(number.to_owned()) } else { google };
        Self { file: file.to_owned(), relation, lists: Lists::Asked(Rc::default()) }
    }

    /// Returns the relation that the file's name gives to facts that do not name one. Names of splits and collections are not relations.
    pub(crate) fn relation_of_facts(&self) -> Option<String> {
        const OTHERS: [&str; 18] = [
            "fact",
            "facts",
            "data",
            "dataset",
            "train",
            "dev",
            "valid",
            "validation",
            "test",
            "all",
            "trex",
            "t-rex",
            "lama",
            "squad",
            "bear",
            "results",
            "conceptnet",
            "test_squad",
        ];
        let name = self.file.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let stem = name.split('.').next().unwrap_or_default().to_owned();
        let named = !stem.is_empty() && !OTHERS.contains(&stem.to_lowercase().as_str());
        self.relation.clone().or(Some(stem).filter(|_| named))
    }

    /// Returns the folder that contains the file.
    pub fn folder(&self) -> &Path {
        self.file.parent().unwrap_or(Path::new("."))
    }
}

/// Beginning of a file, used to recognise its format.
#[derive(Debug)]
pub struct Head<'a> {
    /// First lines without their line ends; blank lines and an incomplete last line are omitted.
    pub lines: Vec<&'a str>,
    /// Keys of the JSON object at the beginning.
    pub keys: Keys,
    /// First line, split at tabs.
    pub columns: Vec<&'a str>,
    /// Meaning of quotation marks, if fields are separated by tabs.
    pub quoting: Quoting,
    pub file: &'a Path,
}

/// Keys of a JSON object.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Keys {
    pub top: Vec<String>,
    /// Keys of the first inner object.
    pub inner: Vec<String>,
}

/// True if a column has this name, ignoring case.
pub(crate) fn has_name(columns: &[&str], name: &str) -> bool {
    columns.iter().any(|c| c.trim().eq_ignore_ascii_case(name))
}

impl<'a> Head<'a> {
    /// Creates the head of a file that begins with `text`; `whole` is true if `text` is the entire file.
    pub fn new(text: &'a str, whole: bool, file: &'a Path) -> Self {
        let mut lines: Vec<&str> = text.split('\n').map(|l| l.strip_suffix('\r').unwrap_or(l)).collect();
        if !whole && lines.len() > 1 {
            lines.pop();
        }
        lines.retain(|l| !l.trim().is_empty());
        lines.truncate(LINES);
        let columns = lines.first().map(|l| l.split('\t').collect()).unwrap_or_default();
        Self { lines, keys: Keys::default(), columns, quoting: Quoting::of(text, whole), file }
    }

    pub fn has(&self, keys: &[&str]) -> bool {
        keys.iter().all(|k| self.keys.top.iter().any(|t| t == k))
    }

    /// True if the header has all of these columns, ignoring case.
    pub fn header(&self, columns: &[&str]) -> bool {
        columns.iter().all(|c| has_name(&self.columns, c))
    }
}

impl Keys {
    /// Returns the keys of the JSON object at the beginning of `text`; the object may be incomplete.
    pub fn of(text: &str) -> Self {
        let mut keys = Self::default();
        let bytes = text.as_bytes();
        // One entry per open bracket: true for objects.
        let mut open: Vec<bool> = Vec::new();
        let mut inner_open = true;
        let mut k = 0;
        while k < bytes.len() {
            match bytes[k] {
                b'"' => {
                    let end = string_end(bytes, k + 1);
                    let colon = bytes[end.min(bytes.len())..].iter().skip(1).find(|b| !b.is_ascii_whitespace());
                    if colon == Some(&b':') {
                        let key = || text.get(k + 1..end).unwrap_or_default().to_owned();
                        match open[..] {
                            [true] => keys.top.push(key()),
                            [true, true] if inner_open => keys.inner.push(key()),
                            _ => {}
                        }
                    }
                    k = end;
                }
                b @ (b'{' | b'[') => open.push(b == b'{'),
                b'}' | b']' => {
                    inner_open &= open.len() != 2 || keys.inner.is_empty();
                    open.pop();
                    if open.is_empty() {
                        break;
                    }
                }
                _ => {}
            }
            k += 1;
        }
        keys
    }
}

/// Returns the index of the quotation mark that closes the string starting at `from`.
fn string_end(bytes: &[u8], from: usize) -> usize {
    let mut k = from;
    while k < bytes.len() {
        match bytes[k] {
            b'\\' => k += 2,
            b'"' => return k,
            _ => k += 1,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_in_truncated_objects() {
        let keys = Keys::of(r#"{"a": {"x": 1, "y": ["z:"]}, "b\"": [{"q": 2}], "c": {"w": 1}} {"d": 1}"#);
        assert_eq!(keys.top, ["a", "b\\\"", "c"]);
        assert_eq!(keys.inner, ["x", "y"]);
        assert_eq!(Keys::of(r#"{"a": "cut off and "#).top, ["a"]);
        assert_eq!(Keys::of("{\"a").top, Vec::<String>::new());
        assert_eq!(Keys::of("\"\\"), Keys::default());
    }

    #[test]
    fn wrong_type_error_names_the_field() {
        #[derive(Debug, Deserialize)]
        #[expect(dead_code, reason = "the test uses only its errors")]
        struct Keys {
            a: Option<u32>,
            b: Option<Vec<String>>,
        }
        let told = |text: &str| json::<Keys>(text).unwrap_err().to_string();
        assert!(told(r#"{"a": "x", "b": []}"#).contains("`a`: invalid type: string"), "{}", told(r#"{"a": "x"}"#));
        let list = r#"{"a": 1, "b": ["y:", {"c": 1}]}"#;
        assert!(told(list).contains("`b`: invalid type: map"), "{}", told(list));
        assert!(!told("{\"a\": 1").contains('`'), "{}", told("{\"a\": 1"));
        assert_eq!(field_before("{\"a\": \"cut", 100), Some("a"));
    }

    #[test]
    fn relation_is_inferred_only_from_relation_names() {
        let relation = |name: &str| Context::of(Path::new(name)).relation;
        assert_eq!(relation("x/P19.jsonl.gz").as_deref(), Some("P19"));
        assert_eq!(relation("P1001_results.jsonl").as_deref(), Some("P1001"));
        assert_eq!(relation("P36_capital.jsonl").as_deref(), Some("P36"));
        assert_eq!(relation("place_of_birth_test.jsonl").as_deref(), Some("place_of_birth"));
        for name in ["P.jsonl", "facts.jsonl", "Pride.txt", ""] {
            assert_eq!(relation(name), None, "{name}");
        }
    }
}
