//! Parsing of rotary-position settings in their old and new forms.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::ConfigFile;
use crate::arch::{Positions, Scaling};
use crate::error::Result;

#[derive(Deserialize)]
struct Fields {
    rope_parameters: Option<Map<String, Value>>,
    rope_scaling: Option<Map<String, Value>>,
    rope_theta: Option<f64>,
    rotary_emb_base: Option<f64>,
    rotary_pct: Option<f64>,
    partial_rotary_factor: Option<f64>,
    max_position_embeddings: Option<f64>,
    original_max_position_embeddings: Option<f64>,
}

#[derive(Default)]
pub(super) struct Rotary {
    pub(super) theta: f64,
    /// Rotated share of a head, if given.
    pub(super) fraction: Option<f64>,
    /// `rope_scaling` (old), or else `rope_parameters` (new): transformers ignores the second if both are given.
    pub(super) settings: Map<String, Value>,
}

impl Rotary {
    pub(super) fn read(file: &ConfigFile) -> Result<Rotary> {
        let f: Fields = file.fields()?;
        let given = |settings: Option<Map<String, Value>>| settings.filter(|s| !s.is_empty());
        let settings = given(f.rope_scaling).or_else(|| given(f.rope_parameters)).unwrap_or_default();
        Ok(Rotary {
            theta: number(file, &settings, "rope_theta")?.or(f.rope_theta).or(f.rotary_emb_base).unwrap_or(10_000.0),
            fraction: number(file, &settings, "partial_rotary_factor")?.or(f.rotary_pct).or(f.partial_rotary_factor),
            settings,
        })
    }

    /// Kind of scaling, such as `linear`; `None` if not given.
    pub(super) fn kind(&self) -> Option<&str> {
        self.settings.get("rope_type").or_else(|| self.settings.get("type")).and_then(Value::as_str)
    }
}

/// Returns a number in the settings; `None` if it is missing or null.
fn number(file: &ConfigFile, settings: &Map<String, Value>, key: &str) -> Result<Option<f64>> {
    match settings.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            value.as_f64().map(Some).ok_or_else(|| file.wrong(format!("{key} in the rotary settings must be a number")))
        }
    }
}

/// Parses the positions; `fraction` is the family's default for the rotated share of a head.
pub(super) fn positions(file: &ConfigFile, fraction: f64) -> Result<Positions> {
    let rotary = Rotary::read(file)?;
    let scaling = scaling(file, &rotary)?;
    Ok(Positions::Rotary { theta: rotary.theta, fraction: rotary.fraction.unwrap_or(fraction), scaling })
}

fn scaling(file: &ConfigFile, rotary: &Rotary) -> Result<Scaling> {
    let (f, kind): (Fields, _) = (file.fields()?, rotary.kind());
    let longest = f.max_position_embeddings;
    let given = |key: &str| number(file, &rotary.settings, key);
    let needed = |key: &str| {
        given(key)?
            .ok_or_else(|| file.wrong(format!("rotary scaling '{}' needs a number for {key}", kind.unwrap_or(""))))
    };
    let original = || {
        let length = f.original_max_position_embeddings.or(given("original_max_position_embeddings")?).or(longest);
        length.ok_or_else(|| file.wrong("rotary scaling needs original_max_position_embeddings".into()))
    };
    match kind {
        // Dynamic scaling has no effect up to max_position_embeddings, and longer texts are rejected.
        None | Some("default" | "dynamic") => Ok(Scaling::None),
        Some("linear") => Ok(Scaling::Linear { factor: needed("factor")? }),
        Some("llama3") => Ok(Scaling::Llama3 {
            factor: needed("factor")?,
            low: needed("low_freq_factor")?,
            high: needed("high_freq_factor")?,
            original: original()?,
        }),
        Some("yarn") => {
            let factor = match given("factor")? {
                Some(factor) => factor,
                None => longest.unwrap_or(0.0) / original()?,
            };
            let scale = |weight: f64| if factor <= 1.0 { 1.0 } else { 0.1 * weight * factor.ln() + 1.0 };
            let positive = |key: &str| -> Result<Option<f64>> { Ok(given(key)?.filter(|v| *v != 0.0)) };
            let attention = match (given("attention_factor")?, positive("mscale")?, positive("mscale_all_dim")?) {
                (Some(factor), ..) => factor,
                (None, Some(own), Some(all)) => scale(own) / scale(all),
                _ => scale(1.0),
            };
            Ok(Scaling::Yarn {
                factor,
                slow: positive("beta_slow")?.unwrap_or(1.0),
                fast: positive("beta_fast")?.unwrap_or(32.0),
                original: original()?,
                attention,
                truncate: rotary.settings.get("truncate").and_then(Value::as_bool).unwrap_or(true),
            })
        }
        Some(kind) => Err(file.wrong(format!(
            "rotary scaling '{}' is not supported; supported: default, dynamic, linear, llama3, yarn",
            kind.chars().take(40).collect::<String>().escape_debug()
        ))),
    }
}
