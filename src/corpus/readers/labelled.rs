//! Labelled texts as a table with a header or as JSON lines (`text,label` and similar, GLUE's sentence pairs), and CoLA's original file,
//! which has no header.
//!
//! One column is the text; two text columns form a pair, joined by a space. `split` and `id` have their usual meaning.
//! `form` and `other_form` are the correct and the wrong word for the mask, `twin` is the counterfactual text, and
//! `start` and `end` (exclusive) are the characters of the marked word. Every other column is a label of that name;
//! empty and NaN cells are missing labels.

use std::collections::BTreeMap;

use serde_json::Value;

use super::error::{DropKind, Unread};
use super::format::{Context, Emit, Format, Framing, has_name, json, stateless};
use super::plain::label as label_of;
use super::row::{Row, Sentence, Split};
use super::table::{Fields, is_index, rows};
use super::text::{Labels, Text};

pub(crate) const FORMAT: Format = Format {
    id: "labelled",
    title: "labelled texts (table with a header)",
    columns: &["text|sentence", "label", "any further label", "form", "other_form", "twin", "split", "id"],
    framing: Framing::Lines,
    recognise: |head| text_columns(&head.columns).is_some_and(|text| head.columns.len() > text.len()),
    parser: |head, _| {
        let text = text_columns(&head.columns).unwrap_or_default();
        let marks = SPAN.iter().all(|name| has_name(&head.columns, name));
        let columns = Columns { text, marks };
        rows(head, move |fields, emit| columns.read(fields, emit))
    },
};

/// Labelled texts as JSON lines, as written by Hugging Face. Rows with the key `text` are plain rows.
pub(crate) const JSON: Format = Format {
    id: "labelled-json",
    title: "labelled texts (JSON lines)",
    columns: &["sentence", "label", "any further label", "split", "id"],
    framing: Framing::Json,
    recognise: |head| {
        let keys: Vec<&str> = head.keys.top.iter().map(String::as_str).collect();
        text_columns(&keys).is_some() && NAMED.iter().any(|name| has_name(&keys, name))
    },
    parser: |_, context| stateless(context, row),
};

/// Keys by which JSON rows are recognised as labelled texts.
const NAMED: [&str; 8] = ["label", "gold_label", "is_duplicate", "Quality", "sentiment", "class", "category", "rating"];

fn row(line: &str, _: &Context, emit: &mut Emit<'_>) -> Result<(), Unread> {
    let mut cells: BTreeMap<String, Value> = json(line)?;
    let keys: Vec<&str> = cells.keys().map(String::as_str).collect();
    let names = text_columns(&keys).ok_or_else(|| Unread::missing("sentence"))?;
    let mut parts = Vec::new();
    for name in names {
        let found = cells.keys().find(|key| key.eq_ignore_ascii_case(name)).cloned();
        match found.and_then(|key| cells.remove(&key)) {
            Some(Value::String(part)) if !part.trim().is_empty() => parts.push(part),
            _ => return Err(Unread::new(DropKind::Value, format!("`{name}` is not a text"))),
        }
    }
    let mut take = |name: &str| cells.remove(name).and_then(label_of);
    let id = ["id", "idx", "guid", "pairID", "index"].into_iter().find_map(&mut take);
    let split = take("split").map(|name| split(&name)).transpose()?;
    let cells = cells.into_iter().filter(|(name, _)| !has_name(&OTHERS, name) && !is_index(name));
    let cells: Vec<(Text<'_>, Text<'_>)> =
        cells.filter_map(|(name, value)| Some((name.into(), label_of(value)?.into()))).collect();
    let main = LABELS.iter().find_map(|l| cells.iter().find(|c| c.0.eq_ignore_ascii_case(l)));
    let label = main.or_else(|| cells.first().filter(|_| cells.len() == 1)).map(|c| c.1.clone());
    let labels = Some(Labels(cells)).filter(|l| !l.0.is_empty());
    emit(Row::Sentence(Sentence {
        id: id.map(Text::from),
        text: parts.join(" ").into(),
        split,
        label,
        labels,
        ..Sentence::default()
    }));
    Ok(())
}

/// CoLA as published: source, label, the author's star, and sentence.
pub(crate) const COLA: Format = Format {
    id: "cola",
    title: "CoLA (source, label, star, sentence)",
    columns: &["source", "label (0 or 1)", "star", "sentence"],
    framing: Framing::Lines,
    recognise: |head| {
        let fits = |l: &&&str| cola(l).is_some();
        head.lines.len() > 1 && 3 * head.lines.iter().filter(fits).count() > 2 * head.lines.len()
    },
    parser: |_, _| {
        Ok(Box::new(|line: &str, emit: &mut Emit<'_>| {
            let (label, text) = cola(line).ok_or_else(|| {
                Unread::new(DropKind::Fields, "expected tab-separated source, label (0 or 1), star and sentence")
            })?;
            emit(Row::Sentence(Sentence { text: text.into(), label: Some(label.into()), ..Sentence::default() }));
            Ok(())
        }))
    },
};

fn cola(line: &str) -> Option<(&str, &str)> {
    let fields: Vec<&str> = line.split('\t').collect();
    match fields[..] {
        [_, label @ ("0" | "1"), "" | "*" | "?" | "??" | "?*", text] => Some((label, text)),
        _ => None,
    }
}

/// Names of the one or two text columns.
const TEXTS: [&[&str]; 21] = [
    &["sentence1", "sentence2"],
    &["premise", "hypothesis"],
    &["question1", "question2"],
    &["question", "sentence"],
    &["text1", "text2"],
    &["#1 String", "#2 String"],
    &["text"],
    &["sentence"],
    &["masked"],
    &["sentence1"],
    &["text1"],
    &["document"],
    &["content"],
    &["review"],
    &["tweet"],
    &["comment"],
    &["utterance"],
    &["passage"],
    &["smiles"],
    &["sequence"],
    &["input"],
];

fn text_columns(columns: &[&str]) -> Option<&'static [&'static str]> {
    TEXTS.into_iter().find(|names| names.iter().all(|n| has_name(columns, n)))
}

/// Columns that are not labels.
const OTHERS: [&str; 12] =
    ["split", "id", "idx", "index", "guid", "pairID", "#1 ID", "#2 ID", "form", "other_form", "twin", "promptID"];

/// Columns with the character range of the marked word (end exclusive).
const SPAN: [&str; 2] = ["start", "end"];

/// Columns that contain the unnamed label if a row also has named labels.
const LABELS: [&str; 5] = ["label", "gold_label", "is_duplicate", "Quality", "score"];

/// Roles of a table's columns.
struct Columns {
    text: &'static [&'static str],
    /// True if the columns [`SPAN`] mark a word in each row.
    marks: bool,
}

impl Columns {
    fn is_label(&self, name: &str) -> bool {
        let marks = self.marks && has_name(&SPAN, name);
        !(name.is_empty() || marks || has_name(self.text, name) || has_name(&OTHERS, name))
    }

    /// Returns the character range of the marked word, if any.
    fn span(&self, fields: &Fields<'_, '_>, text: &str) -> Result<Option<[u32; 2]>, Unread> {
        if !self.marks || SPAN.iter().all(|column| present(fields, column).is_none()) {
            return Ok(None);
        }
        let [from, to] = [fields.index(SPAN[0])?, fields.index(SPAN[1])?];
        let length = text.chars().count();
        if from >= to || to > length {
            let what =
                format!("the marked word spans characters {from} to {to}, but the text has only {length} characters");
            return Err(Unread::new(DropKind::Index, what));
        }
        Ok(Some([from as u32, to as u32]))
    }

    fn read(&self, fields: &Fields<'_, '_>, emit: &mut Emit<'_>) -> Result<(), Unread> {
        let text = match self.text {
            [first, second] => Text::from(format!("{} {}", fields.text(first)?, fields.text(second)?)),
            names => fields.text(names.first().copied().unwrap_or("text"))?,
        };
        let columns = || fields.iter().map(|(name, _)| name).filter(|name| self.is_label(name));
        let cells: Vec<(&str, Text<'_>)> =
            columns().filter_map(|name| Some((name, trimmed(present(fields, name)?)))).collect();
        let main = LABELS.iter().find(|l| cells.iter().any(|c| c.0.eq_ignore_ascii_case(l)));
        let label = match (main, &cells[..]) {
            (Some(main), _) => cells.iter().find(|c| c.0.eq_ignore_ascii_case(main)).map(|c| c.1.clone()),
            (None, [only]) if columns().count() == 1 => Some(only.1.clone()),
            _ => None,
        };
        let labels: Vec<(Text<'_>, Text<'_>)> =
            cells.into_iter().map(|(name, value)| (name.to_owned().into(), value)).collect();
        let forms = present(fields, "form").zip(present(fields, "other_form"));
        emit(Row::Sentence(Sentence {
            id: ["id", "idx", "guid", "pairID", "index"].iter().find_map(|c| present(fields, c)),
            target: self.span(fields, &text)?,
            text,
            split: present(fields, "split").map(|s| split(&s)).transpose()?,
            label,
            labels: Some(Labels(labels)).filter(|l| !l.0.is_empty()),
            choice: forms.map(|(right, other)| [right, other]),
            twin: present(fields, "twin"),
            ..Sentence::default()
        }));
        Ok(())
    }
}

/// Trims a label. Removes the `.0` that pandas adds to whole numbers in columns with missing values.
fn trimmed(label: Text<'_>) -> Text<'_> {
    if let Some(whole) = label.trim().strip_suffix(".0").filter(|whole| whole.parse::<i64>().is_ok()) {
        return whole.to_owned().into();
    }
    if label.trim() == label.as_str() { label } else { label.trim().to_owned().into() }
}

/// Returns a cell unless it is empty or missing.
fn present<'l>(fields: &Fields<'_, 'l>, column: &str) -> Option<Text<'l>> {
    fields.text(column).ok().filter(|t| !EMPTY.contains(&t.trim()))
}

/// Values that pandas writes or reads as missing. Other spellings, such as `none`, are labels.
const EMPTY: [&str; 13] =
    ["", "NaN", "nan", "-NaN", "-nan", "NA", "N/A", "n/a", "#N/A", "<NA>", "NULL", "null", "None"];

fn split(name: &str) -> Result<Split, Unread> {
    match name.trim().to_ascii_lowercase().as_str() {
        "train" | "tr" => Ok(Split::Train),
        "validation" | "valid" | "val" | "va" | "dev" => Ok(Split::Validation),
        "test" | "te" => Ok(Split::Test),
        _ => Err(Unread::new(DropKind::Label, format!("`split` is `{name}`; expected train, validation or test"))),
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;
    use std::path::Path;

    use super::super::read::Reading;
    use super::*;

    /// Text, label and named labels of a row.
    type Cells = (String, Option<String>, Vec<String>);

    /// Returns the format and its rows.
    fn read(text: &str) -> (&'static str, Vec<Cells>) {
        let source = Box::new(std::io::Cursor::new(text.to_owned().into_bytes()));
        let reading = Reading::stream(source, Path::new("t.csv")).unwrap();
        let (id, mut rows) = (reading.format().id, Vec::new());
        reading
            .rows(&mut |row, _| {
                if let Row::Sentence(s) = row {
                    let labels = s.labels.iter().flat_map(|l| &l.0).map(|(k, v)| format!("{k}={v}")).collect();
                    rows.push((s.text.to_string(), s.label.map(|l| l.to_string()), labels));
                }
                ControlFlow::Continue(())
            })
            .unwrap();
        (id, rows)
    }

    #[test]
    fn tables_may_use_commas_semicolons_or_tabs() {
        for mark in [",", ";", "|", "\t"] {
            let quoted = if mark == "\t" { "He said \"no\"." } else { "\"He said \"\"no\"\", then left.\"" };
            let text = format!("text{mark}label\n{quoted}{mark}1\nPlain words{mark}0\n");
            let (id, rows) = read(&text);
            assert_eq!((id, rows.len()), ("labelled", 2), "{mark:?}");
            let said = if mark == "\t" { "He said \"no\"." } else { "He said \"no\", then left." };
            assert_eq!((rows[0].0.as_str(), rows[0].1.as_deref()), (said, Some("1")), "{mark:?}");
        }
    }

    /// Regression: text columns used to be recognised only as `text`, `sentence`, `masked` or `document`.
    #[test]
    fn text_column_has_aliases() {
        for name in ["Review", "smiles", "content", "sequence"] {
            let (id, rows) = read(&format!("label,{name}\n1,C C O\n0,C N\n"));
            assert_eq!((id, rows[1].0.as_str(), rows[1].1.as_deref()), ("labelled", "C N", Some("0")), "{name}");
        }
    }

    #[test]
    fn other_columns_are_labels_and_empty_cells_are_missing() {
        let (id, rows) = read("id,text,atom,acyl,split\n1,C[MASK]C,nitrogen,ring,train\n2,CC,,NaN,test\n");
        assert_eq!(id, "labelled");
        assert_eq!(rows[0], ("C[MASK]C".into(), None, vec!["atom=nitrogen".into(), "acyl=ring".into()]));
        assert_eq!(rows[1].2, Vec::<String>::new());
    }

    /// Regression: the label `none` used to be treated as an empty cell.
    #[test]
    fn lower_case_none_is_a_label() {
        let (_, rows) = read("text,stance\nA b .,none\nC d .,None\nE f .,favor\n");
        assert_eq!(rows.iter().map(|r| r.1.as_deref()).collect::<Vec<_>>(), [Some("none"), None, Some("favor")]);
    }

    /// Regression: if a row had only one of several properties, its label used to become unnamed, so that labels of different properties
    /// were mixed.
    #[test]
    fn row_with_several_properties_has_no_main_label() {
        let (_, rows) = read("text,tense,voice\nHe ran .,past,\nShe sang .,,active\n");
        assert_eq!(rows[0], ("He ran .".into(), None, vec!["tense=past".into()]));
        assert_eq!(rows[1], ("She sang .".into(), None, vec!["voice=active".into()]));
        let (_, rows) = read("text,tense\nHe ran .,past\n");
        assert_eq!(rows[0].1.as_deref(), Some("past"), "a single column is the label");
    }

    /// Regression: tables written by pandas used to be rejected because the index column has no name.
    #[test]
    fn unnamed_first_column_is_an_index() {
        let (_, rows) = read(",text,label\n0,He ran .,past\n1,He runs .,present\n");
        assert_eq!(rows[1], ("He runs .".into(), Some("present".into()), vec!["label=present".into()]));
    }

    /// Regression: `1` and ` 1` used to be different labels.
    #[test]
    fn labels_are_trimmed() {
        let (_, rows) = read("text, label\na b , 1\nc d,1\n");
        assert_eq!(rows[0], ("a b ".into(), Some("1".into()), vec!["label=1".into()]));
        assert_eq!(rows[1].1.as_deref(), Some("1"));
    }

    /// Regression: tab-separated tables with a quoted header used to be unrecognised.
    #[test]
    fn tables_with_tabs_may_quote_their_cells() {
        let (id, rows) = read("\"text\"\t\"label\"\n\"He said \"\"no\"\",\tthen left.\"\t\"1\"\n");
        assert_eq!(
            (id, rows[0].0.as_str(), rows[0].1.as_deref()),
            ("labelled", "He said \"no\", then left.", Some("1"))
        );
    }

    /// Regression: only JSON lines used to support marked words.
    #[test]
    fn two_columns_can_mark_a_word() {
        let text = "text|start|end|tense\nHe ran .|3|6|past\nHe runs .|||present\nHe sang .|3|70|past\n";
        let source = Box::new(std::io::Cursor::new(text.as_bytes().to_vec()));
        let mut found = Vec::new();
        let report = Reading::stream(source, Path::new("t.csv")).unwrap().rows(&mut |row, _| {
            if let Row::Sentence(s) = row {
                found.push((s.target, s.labels.map(|l| l.0.len())));
            }
            ControlFlow::Continue(())
        });
        assert_eq!(found, [(Some([3, 6]), Some(1)), (None, Some(1))]);
        assert_eq!(report.unwrap().dropped.total(), 1, "the span of one row lies beyond its text");
    }

    /// Regression: `Test` and `TRAIN` used to be dropped as unknown splits.
    #[test]
    fn split_names_ignore_case() {
        let (_, rows) = read("text,label,split\na b,1,TRAIN\nc d,0,Test\ne f,1,Dev\n");
        assert_eq!(rows.len(), 3);
    }

    /// Regression: the first line of a quoted cell used to become the text, and its other lines were dropped.
    #[test]
    fn quoted_cell_may_span_lines() {
        let (_, rows) = read("label,text\r\n1,\"He ran.\r\nShe \"\"sang\"\", too.\"\r\n0,Plain words\r\n");
        let texts: Vec<(&str, Option<&str>)> = rows.iter().map(|r| (r.0.as_str(), r.1.as_deref())).collect();
        assert_eq!(texts, [("He ran. She \"sang\", too.", Some("1")), ("Plain words", Some("0"))]);
        // Lines are not joined by an unclosed quotation mark or by one inside a cell.
        for text in ["\"5 disks", "5\" disks"] {
            let (_, rows) = read(&format!("label,text\n1,{text}\n0,Plain \"words\"\n1,\"More\" words\n"));
            assert_eq!(rows.len(), 3, "{text}: {rows:?}");
        }
    }

    /// Regression: rows written by Hugging Face used to be rejected with a list of keys that these rows do not need.
    #[test]
    fn json_lines_match_tables() {
        let (id, rows) = read(
            "{\"sentence\": \"A b .\", \"label\": 1, \"idx\": 0}\n{\"sentence\": \"C .\", \"label\": 0, \"idx\": 1}\n",
        );
        assert_eq!((id, rows.len()), ("labelled-json", 2));
        assert_eq!(rows[0], ("A b .".into(), Some("1".into()), vec!["label=1".into()]));
        let (_, rows) =
            read("{\"premise\": \"A .\", \"hypothesis\": \"B .\", \"label\": \"neutral\", \"genre\": \"talk\"}\n");
        let labels = vec!["genre=talk".to_owned(), "label=neutral".into()];
        assert_eq!(rows, [("A . B .".into(), Some("neutral".into()), labels)]);
        // The question is part of the text, not a label.
        let (_, rows) = read("{\"question\": \"Who ?\", \"sentence\": \"She .\", \"label\": true, \"idx\": 3}\n");
        assert_eq!(rows, [("Who ? She .".into(), Some("true".into()), vec!["label=true".into()])]);
        let (_, rows) = read("{\"review\": \"Fine .\", \"sentiment\": \"pos\", \"score\": 0.5}\n");
        assert_eq!(rows, [("Fine .".into(), Some("pos".into()), vec!["sentiment=pos".into()])]);
    }

    /// Regression: two classes used to become four, because pandas writes whole numbers as `1.0` in columns with missing values. Excel adds
    /// separators at the ends of lines.
    #[test]
    fn whole_numbers_are_normalised_and_unnamed_columns_ignored() {
        let (_, rows) = read("text;label;\nA .;1.0;\nB .;0;\nC .;1;\nD .;1.5;\n");
        let labels: Vec<&str> = rows.iter().filter_map(|r| r.1.as_deref()).collect();
        assert_eq!(labels, ["1", "0", "1", "1.5"]);
        assert!(rows.iter().all(|r| r.2.len() == 1), "{rows:?}");
    }

    #[test]
    fn glue_pairs_are_joined_and_cola_needs_no_header() {
        let (_, rows) = read("index\tsentence1\tsentence2\tlabel\n0\tA b .\tC d .\tentailment\n");
        assert_eq!(rows, [("A b . C d .".into(), Some("entailment".into()), vec!["label=entailment".into()])]);
        let (id, rows) = read("gj04\t1\t\tThey ran.\ngj04\t0\t*\tThey runned.\n");
        assert_eq!((id, rows[1].0.as_str(), rows[1].1.as_deref()), ("cola", "They runned.", Some("0")));
    }
}
