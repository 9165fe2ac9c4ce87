//! SentEval probing tasks: `split<TAB>label<TAB>sentence`; the split is `tr`, `va` or `te`.
//!
//! A line with more than three fields has a tab in its text and is dropped, because its last field is only part of the sentence. Labels
//! from a closed set are checked; the set is identified by the first labels in the file.

use super::error::{DropKind, Unread};
use super::format::{Emit, Format, Framing, Head, Parse};
use super::row::{Row, Sentence, Split};

pub(crate) const FORMAT: Format = Format {
    id: "senteval",
    title: "SentEval probing task",
    columns: &["split (tr, va, te)", "label", "sentence"],
    framing: Framing::Lines,
    recognise: |head| {
        let fits = |l: &&&str| fields(l).is_some_and(|(split, ..)| part(split).is_some());
        2 * head.lines.iter().filter(fits).count() > head.lines.len()
    },
    parser: |head, _| Ok(Box::new(SentEval { labels: closed(head) })),
};

/// Label sets of SentEval tasks: tense, number, clause order, odd man out.
const CLOSED: &[&[&str]] = &[&["PAST", "PRES"], &["NN", "NNS"], &["I", "O"], &["C", "O"]];

/// Labels allowed in a task.
enum Labels {
    Any,
    Closed(&'static [&'static str]),
    Numbers,
}

struct SentEval {
    labels: Labels,
}

fn part(name: &str) -> Option<Split> {
    match name {
        "tr" => Some(Split::Train),
        "va" => Some(Split::Validation),
        "te" => Some(Split::Test),
        _ => None,
    }
}

fn fields(line: &str) -> Option<(&str, &str, &str)> {
    let mut fields = line.split('\t');
    Some((fields.next()?, fields.next()?, fields.next()?)).filter(|_| fields.next().is_none())
}

/// Returns the allowed labels: a closed set to which at least two thirds of the first labels belong.
fn closed(head: &Head<'_>) -> Labels {
    let seen: Vec<&str> = head.lines.iter().filter_map(|l| fields(l)).map(|f| f.1).collect();
    let most = |is: &dyn Fn(&str) -> bool| 3 * seen.iter().filter(|l| is(l)).count() >= 2 * seen.len();
    if let Some(set) = CLOSED.iter().find(|set| most(&|l| set.contains(&l))) {
        return Labels::Closed(set);
    }
    if most(&|l| l.parse::<u32>().is_ok()) { Labels::Numbers } else { Labels::Any }
}

impl Parse for SentEval {
    fn piece(&mut self, line: &str, emit: &mut Emit<'_>) -> Result<(), Unread> {
        let Some((split, label, text)) = fields(line) else {
            let found = line.split('\t').count();
            let hint = if found > 3 { " (a tab in the text?)" } else { "" };
            let what = format!("{found} fields{hint}; expected 3: split, label, sentence");
            return Err(Unread::new(DropKind::Fields, what));
        };
        let Some(part) = part(split) else {
            return Err(Unread::new(DropKind::Label, format!("split `{split}`; expected tr, va or te")));
        };
        let expected = match &self.labels {
            Labels::Closed(set) if !set.contains(&label) => set.join(" or "),
            Labels::Numbers if label.parse::<u32>().is_err() => "a number".to_owned(),
            _ if label.trim().is_empty() => "a label".to_owned(),
            _ => String::new(),
        };
        if !expected.is_empty() {
            return Err(Unread::new(DropKind::Label, format!("label `{label}`; expected {expected}")));
        }
        if text.trim().is_empty() {
            return Err(Unread::new(DropKind::Value, "the sentence is empty"));
        }
        emit(Row::Sentence(Sentence {
            text: text.into(),
            split: Some(part),
            label: Some(label.into()),
            ..Sentence::default()
        }));
        Ok(())
    }
}
