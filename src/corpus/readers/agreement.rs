//! Number agreement tables: LGD (Linzen, Goldberg and Dupoux 2016), Gulordava's tables, and natural sentences with Z_c and Z_e.
//!
//! Every row becomes a [`Sentence`] with `[MASK]` for the verb, its forms (singular, plural), the label `subject_number` (Z_c) and, if
//! known, `attractor_number` (Z_e).
//!
//! LGD counts tokens from 1 and tags verbs as VBZ or VBP. It does not contain the other form of the verb, which [`verbs`] derives, and does
//! not mark prepositional objects. Z_e is therefore the number of the last intervening noun if three conditions hold: a preposition comes
//! between subject and verb, a relative clause does not, and the verb directly follows the noun (without a comma or an adverb in *-ly*).

use super::error::{DropKind, ReadError, Unread};
use super::format::{Emit, Format, Framing, Head, Parse, Parser};
use super::row::{Row, Sentence};
use super::table::{Fields, Header, rows, token, unquoted};
use super::text::{Labels, Text};
use super::verbs;
use crate::task::MASK;

/// LGD with its original columns.
pub(crate) const LGD: Format = Format {
    id: "lgd",
    title: "LGD agreement sentences",
    columns: &[
        "orig_sentence",
        "verb",
        "verb_pos",
        "subj_pos",
        "subj_index",
        "verb_index",
        "n_intervening",
        "last_intervening",
        "has_rel",
    ],
    framing: Framing::Lines,
    recognise: |head| head.header(&["orig_sentence", "verb_pos", "subj_index", "verb_index", "last_intervening"]),
    parser: |head, _| lines(head, lgd),
};

/// Natural sentences with subject and attractor number.
pub(crate) const NATURAL: Format = Format {
    id: "agreement",
    title: "agreement sentences with subject and attractor number",
    columns: &["masked", "verb", "verb_alt", "verb_pos", "z_c", "z_e", "sent_id"],
    framing: Framing::Lines,
    recognise: |head| head.header(&["masked", "verb", "verb_alt", "z_c", "z_e"]),
    parser: |head, _| lines(head, natural),
};

/// Gulordava's version of the LGD test set.
pub(crate) const TEST_SET: Format = Format {
    id: "lgd-testset",
    title: "LGD test sentences (Gulordava)",
    columns: &["sentence", "target_index", "correct", "wrong", "n_attractors"],
    framing: Framing::Lines,
    recognise: |head| head.header(&["sentence", "target_index", "correct", "wrong"]),
    parser: |head, _| lines(head, test_set),
};

/// Gulordava's nonce sentences, each on two lines: one with the correct and one with the wrong verb form.
pub(crate) const NONCE: Format = Format {
    id: "nonce",
    title: "nonce agreement sentences (Gulordava)",
    columns: &["constr_id", "sent_id", "correct_number", "form", "class", "type", "prefix", "len_prefix", "sent"],
    framing: Framing::Lines,
    recognise: |head| head.header(&["constr_id", "correct_number", "form", "class", "len_prefix", "sent"]),
    parser: |head, _| Ok(Box::new(Nonce { header: Header::of(head)?, first: None })),
};

type Line = for<'l> fn(&Fields<'_, 'l>) -> Result<Sentence<'l>, Unread>;

fn lines(head: &Head<'_>, parse: Line) -> Result<Parser, ReadError> {
    rows(head, move |fields, emit| {
        emit(Row::Sentence(parse(fields)?));
        Ok(())
    })
}

/// Builds the labels from the numbers of subject and attractor (`Sg` or `Pl`).
fn labels<'a>(subject: &'static str, attractor: Option<&'static str>) -> Option<Labels<'a>> {
    let mut labels = vec![("subject_number".into(), subject.into())];
    labels.extend(attractor.map(|a| ("attractor_number".into(), a.into())));
    Some(Labels(labels))
}

/// Returns the number that a tag marks: NN(P) and VBZ are singular, NN(P)S and VBP plural.
fn number(tag: &str) -> Option<&'static str> {
    match tag {
        "NN" | "NNP" | "VBZ" => Some("Sg"),
        "NNS" | "NNPS" | "VBP" => Some("Pl"),
        _ => None,
    }
}

fn sg_or_pl(column: &str, value: &str) -> Result<&'static str, Unread> {
    match value {
        "Sg" => Ok("Sg"),
        "Pl" => Ok("Pl"),
        _ => Err(Unread::new(DropKind::Label, format!("`{column}` is `{value}`; expected Sg or Pl"))),
    }
}

/// Returns the two forms in the order singular, plural.
fn ordered<'a>(number: &str, form: Text<'a>, other: Text<'a>) -> [Text<'a>; 2] {
    if number == "Sg" { [form, other] } else { [other, form] }
}

/// Replaces the token at `index` (from 0), which must be `form`, with `[MASK]`.
fn masked(sentence: &str, index: usize, form: &str) -> Result<String, Unread> {
    match token(sentence, index) {
        Some((at, word)) if word.eq_ignore_ascii_case(form) => {
            let text = format!("{}{MASK}{}", &sentence[..at], &sentence[at + word.len()..]);
            one_mask(&text)?;
            Ok(text)
        }
        Some((_, word)) => {
            let what = format!("token {index} is `{word}`; expected the form `{form}`");
            Err(Unread::new(DropKind::Value, what))
        }
        None => Err(Unread::new(DropKind::Index, format!("no token {index} in `{sentence}`"))),
    }
}

fn one_mask(text: &str) -> Result<(), Unread> {
    let count = text.matches(MASK).count();
    if count == 1 {
        return Ok(());
    }
    Err(Unread::new(DropKind::Value, format!("`{text}` contains {MASK} {count} times; expected once")))
}

fn natural<'l>(fields: &Fields<'_, 'l>) -> Result<Sentence<'l>, Unread> {
    let subject = sg_or_pl("z_c", fields.raw("z_c")?)?;
    let attractor = match fields.raw("z_e")? {
        "none" | "" => None,
        value => Some(sg_or_pl("z_e", value)?),
    };
    let text = fields.text("masked")?;
    one_mask(&text)?;
    Ok(Sentence {
        id: fields.optional("sent_id").map(Text::from),
        text,
        labels: labels(subject, attractor),
        forms: Some(ordered(subject, fields.text("verb")?, fields.text("verb_alt")?)),
        ..Sentence::default()
    })
}

fn test_set<'l>(fields: &Fields<'_, 'l>) -> Result<Sentence<'l>, Unread> {
    let (sentence, correct, wrong) = (fields.text("sentence")?, fields.text("correct")?, fields.text("wrong")?);
    let text = masked(&sentence, fields.index("target_index")?, &correct)?;
    let singular = verbs::singular(&correct, &wrong).ok_or_else(|| {
        Unread::new(DropKind::Value, format!("cannot decide which of `{correct}` and `{wrong}` is singular"))
    })?;
    let subject = if singular { "Sg" } else { "Pl" };
    Ok(Sentence {
        text: text.into(),
        labels: labels(subject, None),
        forms: Some(ordered(subject, correct, wrong)),
        ..Sentence::default()
    })
}

fn lgd<'l>(fields: &Fields<'_, 'l>) -> Result<Sentence<'l>, Unread> {
    let tag = fields.raw("verb_pos")?;
    let subject = number(tag)
        .filter(|_| tag.starts_with('V'))
        .ok_or_else(|| Unread::new(DropKind::Label, format!("`verb_pos` is `{tag}`; expected VBZ or VBP")))?;
    if let Some(other) = fields.optional("subj_pos").and_then(number).filter(|n| *n != subject) {
        let what = format!("the verb is tagged {subject}, but its subject is tagged {other}");
        return Err(Unread::new(DropKind::Label, what));
    }
    let (sentence, verb) = (fields.text("orig_sentence")?, fields.text("verb")?);
    let from_one = |column: &str| -> Result<usize, Unread> {
        let zero = || Unread::new(DropKind::Index, format!("`{column}` is 0; indices count from 1"));
        fields.index(column)?.checked_sub(1).ok_or_else(zero)
    };
    let (at, subject_at) = (from_one("verb_index")?, from_one("subj_index")?);
    let text = masked(&sentence, at, &verb)?;
    let other = verbs::other(&verb, subject == "Sg")
        .ok_or_else(|| Unread::new(DropKind::Value, format!("the other form of `{}` is unknown", verb.as_str())))?;
    let attractor = attractor(fields, &sentence, subject_at, at);
    Ok(Sentence {
        text: text.into(),
        labels: labels(subject, attractor),
        forms: Some(ordered(subject, verb, other.into())),
        ..Sentence::default()
    })
}

/// Returns the number of the noun directly before the verb if it is a prepositional object; see the module documentation.
fn attractor(fields: &Fields<'_, '_>, sentence: &str, subject: usize, verb: usize) -> Option<&'static str> {
    const PREPOSITIONS: &[&str] = &[
        "of", "in", "on", "at", "to", "for", "from", "with", "by", "about", "against", "between", "into", "through",
        "under", "over", "near", "behind", "beside", "without", "within", "across", "around", "along", "among", "upon",
    ];
    if fields.index("n_intervening").ok()? == 0 || fields.optional("has_rel").is_some_and(|r| r.starts_with(['T', 't']))
    {
        return None;
    }
    let between: Vec<&str> = sentence.split(' ').take(verb).skip(subject + 1).collect();
    let last = between.last()?;
    let direct = last.chars().all(|c| c.is_alphanumeric() || c == '-') && !last.ends_with("ly");
    let governed = between.iter().any(|w| PREPOSITIONS.contains(&w.to_lowercase().as_str()));
    if direct && governed { number(fields.optional("last_intervening")?) } else { None }
}

/// Parser that combines the two lines of each sentence into one row.
struct Nonce {
    header: Header,
    first: Option<String>,
}

impl Parse for Nonce {
    fn piece(&mut self, line: &str, emit: &mut Emit<'_>) -> Result<(), Unread> {
        if self.header.is(line) {
            return Ok(());
        }
        let second = self.header.split(line)?;
        let Some(kept) = self.first.take() else {
            self.first = Some(line.to_owned());
            return Ok(());
        };
        let first = self.header.split(&kept)?;
        for column in ["constr_id", "sent_id", "type", "correct_number", "sent"] {
            if first.raw(column)? != second.raw(column)? {
                self.first = Some(line.to_owned());
                return Err(alone());
            }
        }
        let (right, wrong) = match (first.raw("class")?, second.raw("class")?) {
            ("correct", "wrong") => (&first, &second),
            ("wrong", "correct") => (&second, &first),
            (a, b) => {
                let what = format!("classes `{a}` and `{b}`; expected correct and wrong");
                return Err(Unread::new(DropKind::Label, what));
            }
        };
        let subject = match right.raw("correct_number")? {
            "sing" => "Sg",
            "plur" => "Pl",
            other => {
                let what = format!("`correct_number` is `{other}`; expected sing or plur");
                return Err(Unread::new(DropKind::Label, what));
            }
        };
        let sentence = unquoted(right.raw("sent")?);
        let sentence = sentence.strip_suffix(" <eos>").unwrap_or(&sentence);
        let index = right.index("len_prefix")?;
        let Some((at, word)) = token(sentence, index) else {
            return Err(Unread::new(DropKind::Index, format!("no token {index} in `{sentence}`")));
        };
        let text = format!("{}{MASK}{}", &sentence[..at], &sentence[at + word.len()..]);
        one_mask(&text)?;
        emit(Row::Sentence(Sentence {
            id: Some(format!("{}-{}-{}", right.raw("constr_id")?, right.raw("sent_id")?, right.raw("type")?).into()),
            text: text.into(),
            labels: labels(subject, None),
            forms: Some(ordered(subject, right.text("form")?, wrong.text("form")?)),
            ..Sentence::default()
        }));
        Ok(())
    }

    fn end(&mut self, _: &mut Emit<'_>) -> Result<(), Unread> {
        self.first.take().map_or(Ok(()), |_| Err(alone()))
    }
}

fn alone() -> Unread {
    Unread::new(DropKind::Reference, "this sentence occurs with only one of its two forms")
}
