//! Captions: explanations, definitions and provenance.

use super::{Figure, paper};
use base::text::{printable, printable_label};

/// Keys of entries that define words or rules.
const NOTES: [&str; 3] = ["answers", "completeness", "rings"];
/// Key of an entry that is written to CSV files but not to captions; the guide's glossary contains the rule.
const RULE: &str = "rule";
/// Keys of provenance entries.
const SOURCES: [&str; 11] = [
    "model",
    "models",
    "data",
    "data file",
    "spec",
    "seed",
    "device",
    "probity",
    "session",
    "source",
    "completeness error",
];

/// Returns a figure's caption in one paragraph, ready to paste: title, n, meaning of marks.
pub fn caption(figure: &Figure) -> String {
    let mut sentences = vec![capital(printable_label(&figure.title).trim_end_matches('.'))];
    let mut named = Vec::<(&str, String)>::new();
    let said = |key: &str| key != RULE && !SOURCES.contains(&key) && !NOTES.contains(&key);
    for (key, value) in figure.entries().filter(|(key, _)| said(key)) {
        let value = printable_label(value);
        match named.iter_mut().find(|(name, _)| name == key && !key.is_empty()) {
            // Entries with the same key, such as intervals, form one sentence.
            Some((_, sentence)) => *sentence += &format!("; {value}"),
            None => named.push((key, value)),
        }
    }
    sentences.extend(named.into_iter().map(|(key, value)| match key {
        "n" => format!("n = {value}"),
        // An entry without a key is a separate sentence.
        "" => value,
        key => format!("{}: {value}", capital(&printable_label(key))),
    }));
    sentences.extend(paper::left_out(figure));
    let whole = |text: String| with_zeros(text.trim_end_matches('.')) + ".";
    sentences.into_iter().filter(|text| !text.is_empty()).map(whole).collect::<Vec<_>>().join(" ")
}

pub fn notes(figure: &Figure) -> Vec<String> {
    // Definitions are never cut, because they are the program's own text.
    let terms = figure.provenance.terms.iter().map(|(name, meaning)| (name.as_str(), printable(meaning)));
    let rules = figure.entries().filter(|(key, _)| NOTES.contains(&key.as_str()));
    let rules = rules.map(|(key, value)| (key.as_str(), printable_label(value).into()));
    let mut named = Vec::<(String, String)>::new();
    for (name, meaning) in terms.chain(rules) {
        let (name, meaning) = (capital(&printable_label(name)), meaning.trim_end_matches('.').to_owned());
        match named.iter_mut().find(|(there, _)| *there == name) {
            Some((_, said)) => *said += &format!(". {}", capital(&meaning)),
            None => named.push((name, meaning)),
        }
    }
    named.into_iter().map(|(name, meaning)| with_zeros(&format!("{name}: {meaning}."))).collect()
}

pub fn sources(figure: &Figure) -> Vec<String> {
    let sources = figure.entries().filter(|(key, _)| SOURCES.contains(&key.as_str()));
    sources.map(|(key, value)| format!("{}: {}", capital(&printable_label(key)), printable_label(value))).collect()
}

/// The caption, followed by notes and provenance.
pub(crate) fn page(figure: &Figure) -> String {
    let mut text = caption(figure) + "\n";
    for (heading, lines) in [("Notes", notes(figure)), ("Provenance", sources(figure))] {
        if !lines.is_empty() {
            text += &format!("\n{heading}\n{}\n", lines.join("\n"));
        }
    }
    text
}

/// Replaces `.8` by `0.8`, as in tick labels.
pub(crate) fn with_zeros(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 4);
    let mut before = ' ';
    let mut letters = text.chars().peekable();
    while let Some(c) = letters.next() {
        if c == '.' && !before.is_alphanumeric() && before != '.' && letters.peek().is_some_and(char::is_ascii_digit) {
            out.push('0');
        }
        out.push(c);
        before = c;
    }
    out
}

pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// Formats a definition to follow its term: it starts with a lower-case letter, unless it begins with an abbreviation.
pub(crate) fn definition(text: &str) -> String {
    let mut letters = text.chars();
    match (letters.next(), letters.clone().next()) {
        (Some(first), Some(' ' | 'a'..='z')) => first.to_lowercase().chain(letters).collect(),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    /// Regression: captions used to have up to 490 words, with definitions and hashes in the same paragraph.
    #[test]
    fn definitions_and_provenance_have_blocks_of_their_own() {
        let long = format!("{} at its end.", "How complete. ".repeat(40));
        let terms = [("completeness", "How complete. It is."), ("completeness C", &long), ("elect", "no word of it")];
        let mut figure = samples::curves();
        figure.provenance.terms = figure.named_terms(terms.into_iter());
        figure.provenance.glossary = vec![("front".into(), "in the guide".into())];
        figure.provenance.entries.push(("completeness".into(), "two definitions".into()));
        let page = page(&figure);
        let blocks: Vec<&str> = page.split("\n\n").collect();
        let [caption, notes, sources] = blocks[..] else { panic!("{page}") };
        assert!(caption.contains("Level: 95 %.") && !caption.contains("ompleteness:"), "{caption}");
        assert!(
            notes.starts_with(
                "Notes\nCompleteness: how complete. It is. Two definitions.\nCompleteness C: how complete."
            ),
            "{notes}"
        );
        // Regression: a definition used to be cut after 300 characters.
        assert!(notes.ends_with(" at its end.") && !notes.contains("Elect:") && !page.contains("Front"), "{notes}");
        assert_eq!(sources, "Provenance\nSeed: 0\nSpec: 0123456789ab\nModel: bert-mini\n");
    }

    /// Regression: a caption used to read "by strength of the edit; Scores are on all examples".
    #[test]
    fn entries_without_a_key_are_sentences_of_their_own() {
        let mut figure = Figure { title: "Title".into(), ..Figure::default() };
        figure.provenance.entries = ["One thing", "Another"].map(|text| (String::new(), text.into())).to_vec();
        assert_eq!(caption(&figure), "Title. One thing. Another.");
    }

    #[test]
    fn captions_begin_with_a_capital_and_write_numbers_as_axes_do() {
        let titled = |title: &str| caption(&Figure { title: title.into(), ..Figure::default() });
        assert_eq!(["it is [MASK].", "A"].map(titled), ["It is [MASK].", "A."]);
        assert_eq!(
            with_zeros("power .80 at -.5, 1.5 or v1.2.3 ..5 (.1)"),
            "power 0.80 at -0.5, 1.5 or v1.2.3 ..5 (0.1)"
        );
    }
}
