//! Strings in rows, which are borrowed from the line if they contain no escapes.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde::{Deserialize, Serialize};

/// A string in a row. Deserializing allocates only if the JSON string contains escapes. Numbers and booleans, which many files use as
/// identifiers and labels, are accepted too.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Text<'a>(pub Cow<'a, str>);

impl Text<'_> {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Deref for Text<'_> {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'a> From<&'a str> for Text<'a> {
    fn from(text: &'a str) -> Self {
        Text(Cow::Borrowed(text))
    }
}

impl From<String> for Text<'_> {
    fn from(text: String) -> Self {
        Text(Cow::Owned(text))
    }
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Text<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }
    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Text<'de>, E> {
        Ok(Text(Cow::Borrowed(text)))
    }
    fn visit_str<E: Error>(self, text: &str) -> Result<Text<'de>, E> {
        Ok(Text(Cow::Owned(text.to_owned())))
    }
    fn visit_u64<E: Error>(self, n: u64) -> Result<Text<'de>, E> {
        Ok(Text(Cow::Owned(n.to_string())))
    }
    fn visit_i64<E: Error>(self, n: i64) -> Result<Text<'de>, E> {
        Ok(Text(Cow::Owned(n.to_string())))
    }
    fn visit_f64<E: Error>(self, n: f64) -> Result<Text<'de>, E> {
        Ok(Text(Cow::Owned(n.to_string())))
    }
    fn visit_bool<E: Error>(self, b: bool) -> Result<Text<'de>, E> {
        Ok(Text(Cow::Borrowed(if b { "true" } else { "false" })))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextVisitor)
    }
}

/// Named labels in file order; a JSON object of strings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Labels<'a>(pub Vec<(Text<'a>, Text<'a>)>);

impl Labels<'_> {
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(k, _)| k.as_str() == name).map(|(_, v)| v.as_str())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Labels<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(k, v)| (k, v)))
    }
}

struct LabelsVisitor;

impl<'de> Visitor<'de> for LabelsVisitor {
    type Value = Labels<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of labels")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Labels<'de>, A::Error> {
        let mut labels: Vec<(Text<'de>, Text<'de>)> = Vec::new();
        while let Some((key, value)) = map.next_entry::<Text<'de>, Text<'de>>()? {
            if labels.iter().any(|(k, _)| *k == key) {
                return Err(A::Error::custom(format!("label `{key}` occurs twice")));
            }
            labels.push((key, value));
        }
        Ok(Labels(labels))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Labels<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(LabelsVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_escaped_strings_are_copied() {
        let plain: Text = serde_json::from_str("\"Köln\"").unwrap();
        assert!(matches!(plain.0, Cow::Borrowed("Köln")));
        let escaped: Text = serde_json::from_str(r#""a\"b""#).unwrap();
        assert_eq!((escaped.as_str(), matches!(escaped.0, Cow::Owned(_))), ("a\"b", true));
        for (json, text) in [("17", "17"), ("-2", "-2"), ("0.5", "0.5"), ("true", "true")] {
            assert_eq!(serde_json::from_str::<Text>(json).unwrap().as_str(), text);
        }
        assert!(serde_json::from_str::<Text>("[]").is_err());
        assert!(serde_json::from_str::<Text>("null").is_err());
    }

    #[test]
    fn labels_keep_order_and_reject_duplicates() {
        let labels: Labels = serde_json::from_str(r#"{"b":"x","a":1}"#).unwrap();
        assert_eq!((labels.get("b"), labels.get("a"), labels.get("c")), (Some("x"), Some("1"), None));
        assert_eq!(serde_json::to_string(&labels).unwrap(), r#"{"b":"x","a":"1"}"#);
        assert!(serde_json::from_str::<Labels>(r#"{"a":1,"a":2}"#).is_err());
    }
}
