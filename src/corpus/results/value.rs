//! Values in a row: scalars, digests of nested values, and the nested values of Inspect and HELM.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::line::Key;

/// Maximum length in characters of a text in a list of changed items.
const EXCERPT: usize = 200;

/// Shortens a text for a list of changed items.
pub(crate) fn own(text: &str) -> String {
    base::text::shortened(text.trim(), EXCERPT)
}

/// Digests a text with folded FNV-1a; the digest is never 0. Equal texts have equal digests in any file and run.
pub(crate) fn digest_of_text(text: &str) -> u32 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for byte in text.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    ((hash >> 32) as u32 ^ hash as u32).max(1)
}

/// Interprets a word that means correct or wrong.
pub fn truth(text: &str) -> Option<bool> {
    let word = text.trim();
    let any = |words: &[&str]| words.iter().any(|w| word.eq_ignore_ascii_case(w));
    if any(&RIGHT) {
        Some(true)
    } else if any(&WRONG) {
        Some(false)
    } else {
        None
    }
}

const RIGHT: [&str; 24] = [
    "true",
    "t",
    "1",
    "1.0",
    "yes",
    "y",
    "right",
    "correct",
    "pass",
    "passed",
    "success",
    "successful",
    "succeeded",
    "resolved",
    "solved",
    "accepted",
    "accept",
    "hit",
    "ja",
    "oui",
    "wahr",
    "vrai",
    "✓",
    "✔",
];
const WRONG: [&str; 24] = [
    "false",
    "f",
    "0",
    "0.0",
    "no",
    "n",
    "wrong",
    "incorrect",
    "fail",
    "failed",
    "failure",
    "unsuccessful",
    "unresolved",
    "unsolved",
    "rejected",
    "reject",
    "miss",
    "nein",
    "non",
    "falsch",
    "faux",
    "not correct",
    "✗",
    "✘",
];

/// The words, for error messages.
pub(crate) const TRUTHS: &str = "0 or 1, true or false, yes or no, right or wrong, correct or incorrect, pass or fail, \
     success or failure, accepted or rejected, resolved or unresolved, solved or unsolved, hit or miss";

/// Sign, whole part and decimals of a number without superfluous zeros, so that `1`, `1.0`, `01` and `True` are equal; `None` for other
/// texts.
pub(crate) fn decimal(text: &str) -> Option<(&str, &str, &str)> {
    let text = match text.trim() {
        word if word.eq_ignore_ascii_case("true") => "1",
        word if word.eq_ignore_ascii_case("false") => "0",
        text => text,
    };
    let (sign, digits) = text.strip_prefix('-').map_or(("", text), |rest| ("-", rest));
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let plain = |t: &str| t.bytes().all(|b| b.is_ascii_digit());
    if whole.len() + part.len() == 0 || !plain(whole) || !plain(part) {
        return None;
    }
    let (whole, part) = (whole.trim_start_matches('0'), part.trim_end_matches('0'));
    Some((if whole.len() + part.len() == 0 { "" } else { sign }, whole, part))
}

/// Digests a text without surrounding spaces. Equal numbers have equal digests; `lenient` ignores case.
pub(crate) fn digest_of_answer(text: &str, lenient: bool) -> u32 {
    match decimal(text) {
        Some((sign, whole, part)) => digest_of_text(&format!("{sign}{whole}.{part}")),
        None if lenient => digest_of_text(&text.trim().to_lowercase()),
        None => digest_of_text(text.trim()),
    }
}

/// Returns the texts of a list of several answers; empty for any other value.
pub(crate) fn several(value: &serde_json::Value) -> Vec<String> {
    let text = |value: &serde_json::Value| match value {
        serde_json::Value::String(text) => Some(text.clone()),
        serde_json::Value::Number(_) | serde_json::Value::Bool(_) => Some(value.to_string()),
        _ => None,
    };
    let list = value.as_array().filter(|list| list.len() > 1);
    list.and_then(|list| list.iter().map(text).collect()).unwrap_or_default()
}

#[derive(Debug)]
pub(crate) enum Scalar<'a> {
    Text(Cow<'a, str>),
    /// A whole number, which may be an identifier.
    Whole(i64),
    /// Any other number.
    Real(f64),
    Truth(bool),
    Null,
    /// The number under `score` or a similar key in a map (lmms-eval).
    Scored(f64),
    /// Digest of a list or an object.
    Other(u32),
}

impl<'a> Scalar<'a> {
    pub(crate) fn text(self) -> Option<Cow<'a, str>> {
        match self {
            Scalar::Text(text) => Some(text),
            Scalar::Whole(i) => Some(i.to_string().into()),
            Scalar::Real(x) => Some(x.to_string().into()),
            Scalar::Truth(t) => Some(if t { "true" } else { "false" }.into()),
            Scalar::Null | Scalar::Scored(_) | Scalar::Other(_) => None,
        }
    }

    /// Returns the value as a number, with 1 and 0 for words that mean correct and wrong.
    pub(crate) fn number(&self) -> Option<f64> {
        match self {
            Scalar::Whole(i) => Some(*i as f64),
            Scalar::Real(x) | Scalar::Scored(x) => Some(*x),
            Scalar::Truth(t) => Some(f64::from(u8::from(*t))),
            Scalar::Text(text) if text.len() < 40 => {
                let number = text.trim().parse::<f64>().ok();
                number.or_else(|| truth(text).map(|t| f64::from(u8::from(t))))
            }
            Scalar::Text(_) | Scalar::Null | Scalar::Other(_) => None,
        }
    }

    /// Interprets the letters that Inspect writes for correct and incorrect.
    pub(crate) fn verdict(&self) -> Option<f64> {
        match self {
            Scalar::Text(text) if text.trim() == "C" => Some(1.0),
            Scalar::Text(text) if text.trim() == "I" => Some(0.0),
            _ => None,
        }
    }

    pub(crate) fn is_blank(&self) -> bool {
        match self {
            Scalar::Null => true,
            Scalar::Text(text) => text.trim().is_empty(),
            _ => false,
        }
    }

    /// True for values that are short enough for items to be grouped by them.
    pub(crate) fn is_short(&self) -> bool {
        match self {
            Scalar::Text(text) => !text.is_empty() && text.len() <= 40,
            Scalar::Whole(_) | Scalar::Truth(_) => true,
            Scalar::Real(_) | Scalar::Null | Scalar::Scored(_) | Scalar::Other(_) => false,
        }
    }

    /// Digests the value as text without surrounding spaces; `lenient` ignores case. Null gives 0.
    pub(crate) fn digest(&self, lenient: bool) -> u32 {
        match self {
            Scalar::Null => 0,
            Scalar::Other(digest) => *digest,
            value => digest_of_answer(&value.shown(), lenient),
        }
    }

    pub(crate) fn shown(&self) -> String {
        match self {
            Scalar::Text(text) => text.clone().into_owned(),
            Scalar::Whole(i) => i.to_string(),
            Scalar::Real(x) | Scalar::Scored(x) => x.to_string(),
            Scalar::Truth(t) => t.to_string(),
            Scalar::Null => String::new(),
            Scalar::Other(digest) => format!("{digest:08x}"),
        }
    }
}

struct ScalarVisitor;

impl<'de> Visitor<'de> for ScalarVisitor {
    type Value = Scalar<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, v: bool) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Truth(v))
    }

    fn visit_i64<E>(self, v: i64) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Whole(v))
    }

    fn visit_u64<E>(self, v: u64) -> Result<Scalar<'de>, E> {
        Ok(i64::try_from(v).map_or(Scalar::Text(v.to_string().into()), Scalar::Whole))
    }

    fn visit_f64<E>(self, v: f64) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Real(v))
    }

    fn visit_borrowed_str<E>(self, v: &'de str) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Text(Cow::Borrowed(v)))
    }

    fn visit_str<E>(self, v: &str) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Text(Cow::Owned(v.to_owned())))
    }

    fn visit_unit<E>(self) -> Result<Scalar<'de>, E> {
        Ok(Scalar::Null)
    }

    /// A list with a single value counts as that value.
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Scalar<'de>, A::Error> {
        let Some(first) = seq.next_element::<Scalar<'de>>()? else { return Ok(Scalar::Other(1)) };
        let mut sum = digest_of_text(&first.shown());
        let mut alone = true;
        while let Some(Digest(one)) = seq.next_element()? {
            (sum, alone) = (sum.rotate_left(5) ^ one, false);
        }
        Ok(if alone { first } else { Scalar::Other(sum.max(1)) })
    }

    /// Extracts a score from a map, or an answer given next to the expected one (lmms-eval).
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Scalar<'de>, A::Error> {
        let (mut score, mut sum) = (None, 0u32);
        let (mut said, mut expected) = (None, None);
        while let Some(Key(key)) = map.next_key()? {
            let slot = match key.as_ref() {
                "score" | "correct" | "acc" | "accuracy" | "resolved" | "exact_match" => {
                    let value: Scalar<'de> = map.next_value()?;
                    score = score.or(value.number());
                    sum = sum.wrapping_add(digest_of_text(&value.shown()));
                    continue;
                }
                "parsed_pred" | "pred_answer" | "prediction" | "pred" => &mut said,
                "answer" | "gt_answer" | "target" | "gt" => &mut expected,
                _ => {
                    let Digest(one) = map.next_value()?;
                    sum = sum.wrapping_add(digest_of_text(&key) ^ one.rotate_left(9));
                    continue;
                }
            };
            let text = map.next_value::<Scalar<'de>>()?.shown();
            sum = sum.wrapping_add(digest_of_text(&key) ^ digest_of_text(&text).rotate_left(9));
            *slot = Some(text.trim().to_owned());
        }
        let same = || Some(f64::from(u8::from(said? == expected?)));
        Ok(score.or_else(same).map_or(Scalar::Other(sum.max(1)), Scalar::Scored))
    }
}

impl<'de> Deserialize<'de> for Scalar<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ScalarVisitor)
    }
}

/// Digest of any value, independent of white space and key order.
pub(crate) struct Digest(pub u32);

/// Digests a number; whole and real forms of the same number are equal.
fn digest_of_number(v: f64) -> Digest {
    let bits = v.to_bits();
    Digest((bits as u32 ^ (bits >> 32) as u32).wrapping_mul(0x9e37_79b1))
}

struct DigestVisitor;

impl<'de> Visitor<'de> for DigestVisitor {
    type Value = Digest;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, v: bool) -> Result<Digest, E> {
        Ok(Digest(2 + u32::from(v)))
    }

    fn visit_i64<E>(self, v: i64) -> Result<Digest, E> {
        Ok(digest_of_number(v as f64))
    }

    fn visit_u64<E>(self, v: u64) -> Result<Digest, E> {
        Ok(digest_of_number(v as f64))
    }

    fn visit_f64<E>(self, v: f64) -> Result<Digest, E> {
        Ok(digest_of_number(v))
    }

    fn visit_str<E>(self, v: &str) -> Result<Digest, E> {
        Ok(Digest(digest_of_text(v)))
    }

    fn visit_unit<E>(self) -> Result<Digest, E> {
        Ok(Digest(1))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Digest, A::Error> {
        let mut sum = 5u32;
        while let Some(Digest(one)) = seq.next_element()? {
            sum = sum.rotate_left(5).wrapping_mul(31) ^ one;
        }
        Ok(Digest(sum))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Digest, A::Error> {
        let mut sum = 7u32;
        while let Some((Key(key), Digest(one))) = map.next_entry()? {
            sum = sum.wrapping_add(digest_of_text(&key) ^ one.rotate_left(9));
        }
        Ok(Digest(sum))
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(DigestVisitor)
    }
}

/// Beginning of any value as text: strings as they are, single-element lists without brackets.
pub(crate) struct Excerpt(pub String);

struct ExcerptVisitor;

impl<'de> Visitor<'de> for ExcerptVisitor {
    type Value = Excerpt;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, v: bool) -> Result<Excerpt, E> {
        Ok(Excerpt(v.to_string()))
    }

    fn visit_i64<E>(self, v: i64) -> Result<Excerpt, E> {
        Ok(Excerpt(v.to_string()))
    }

    fn visit_u64<E>(self, v: u64) -> Result<Excerpt, E> {
        Ok(Excerpt(v.to_string()))
    }

    fn visit_f64<E>(self, v: f64) -> Result<Excerpt, E> {
        Ok(Excerpt(v.to_string()))
    }

    fn visit_str<E>(self, v: &str) -> Result<Excerpt, E> {
        Ok(Excerpt(own(v)))
    }

    fn visit_unit<E>(self) -> Result<Excerpt, E> {
        Ok(Excerpt(String::new()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Excerpt, A::Error> {
        let mut text = String::new();
        while text.len() < EXCERPT {
            let Some(Excerpt(one)) = seq.next_element()? else { return Ok(Excerpt(own(&text))) };
            if !text.is_empty() {
                text.push_str(", ");
            }
            text.push_str(&one);
        }
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Excerpt(own(&text)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Excerpt, A::Error> {
        let mut text = String::new();
        while let Some(Key(key)) = map.next_key()? {
            if text.len() < EXCERPT {
                let Excerpt(one) = map.next_value()?;
                text.push_str(&format!("{key}: {one} "));
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(Excerpt(own(&text)))
    }
}

impl<'de> Deserialize<'de> for Excerpt {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ExcerptVisitor)
    }
}
