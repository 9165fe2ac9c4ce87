//! Identities of findings: of findings with the same identity in a run, only the latest counts.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::sync::LazyLock;

use labs::{LABS, LabId};
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// Returns the identity of a finding given as JSON; `None` if no later finding replaces it.
pub(super) fn identity(lab: LabId, model: &str, body: &Value) -> Option<String> {
    let kind = labs::kind_of(lab, body)?;
    (kind.columns)().iter().any(|column| column.id).then(|| labs::identity(kind, model, body))
}

/// Returns the identity of a recorded finding and whether it is final, without parsing its estimates. Returns `None` if the line is not a
/// finding, or if findings of its kind have effects beyond replacing earlier ones.
pub(super) fn identity_in(line: &[u8]) -> Option<(String, bool)> {
    let Line { finding: Keys(body) } = serde_json::from_slice(line).ok()?;
    let lab = LabId::named(body.get("lab")?.as_str()?)?;
    if !labs::by_id(lab).replaces(body.get("kind")?.as_str()?) {
        return None;
    }
    let (model, is_final) = (body.get("model")?.as_str()?.to_owned(), body.get("final")?.as_bool()?);
    Some((identity(lab, &model, &Value::Object(body))?, is_final))
}

#[derive(Deserialize)]
struct Line {
    finding: Keys,
}

/// The keys of a finding on which an identity depends, for every kind.
static KEYS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    let kinds = LABS.iter().flat_map(|lab| labs::kinds(lab.id()));
    let columns = kinds.flat_map(|kind| (kind.columns)()).filter(|column| column.id);
    columns.map(|column| column.key).chain(["lab", "model", "final", "kind"]).collect()
});

/// The values of [`KEYS`].
struct Keys(Map<String, Value>);

impl<'de> Deserialize<'de> for Keys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Wanted;
        impl<'de> Visitor<'de> for Wanted {
            type Value = Keys;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a finding")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Keys, A::Error> {
                let mut keys = Map::new();
                while let Some(key) = map.next_key::<Cow<'_, str>>()? {
                    if KEYS.contains(&*key) {
                        keys.insert(key.into_owned(), map.next_value()?);
                    } else {
                        map.next_value::<IgnoredAny>()?;
                    }
                }
                Ok(Keys(keys))
            }
        }
        deserializer.deserialize_map(Wanted)
    }
}
