//! Parsing of rotary-position settings in their old and new forms.

use serde::Deserialize;
use serde_json::Value;

use super::ConfigFile;
use crate::arch::{Positions, Scaling};
use crate::error::Result;

/// `rope_parameters` (new), or `rope_theta`, `rotary_emb_base`, `rotary_pct` and `rope_scaling` (old).
#[derive(Deserialize)]
struct Fields {
    rope_parameters: Option<Value>,
    rope_scaling: Option<Value>,
    rope_theta: Option<f64>,
    rotary_emb_base: Option<f64>,
    rotary_pct: Option<f64>,
    partial_rotary_factor: Option<f64>,
    max_position_embeddings: Option<f64>,
}

/// Parses the positions; `fraction` is the family's default for the rotated share of a head.
pub(super) fn positions(file: &ConfigFile, fraction: f64) -> Result<Positions> {
    let f: Fields = file.fields()?;
    let new = f.rope_parameters.as_ref();
    let number = |key: &str| new.and_then(|p| p.get(key)).and_then(Value::as_f64);
    let settings = new.or(f.rope_scaling.as_ref());
    Ok(Positions::Rotary {
        theta: number("rope_theta").or(f.rope_theta).or(f.rotary_emb_base).unwrap_or(10_000.0),
        fraction: number("partial_rotary_factor").or(f.rotary_pct).or(f.partial_rotary_factor).unwrap_or(fraction),
        scaling: settings.map_or(Ok(Scaling::None), |s| scaling(file, s, f.max_position_embeddings))?,
    })
}

/// Parses the scaling; `longest` is the number of positions in the file.
fn scaling(file: &ConfigFile, settings: &Value, longest: Option<f64>) -> Result<Scaling> {
    let kind = settings.get("rope_type").or_else(|| settings.get("type")).and_then(Value::as_str);
    let given = |key: &str| settings.get(key).and_then(Value::as_f64);
    let number = |key: &str| {
        given(key)
            .ok_or_else(|| file.wrong(format!("rotary scaling '{}' needs a number for {key}", kind.unwrap_or(""))))
    };
    let original = || {
        let length = given("original_max_position_embeddings").or(longest);
        length.ok_or_else(|| file.wrong("rotary scaling needs original_max_position_embeddings".into()))
    };
    match kind {
        // Dynamic scaling has no effect up to max_position_embeddings, and longer texts are rejected.
        None | Some("default" | "dynamic") => Ok(Scaling::None),
        Some("linear") => Ok(Scaling::Linear { factor: number("factor")? }),
        Some("llama3") => Ok(Scaling::Llama3 {
            factor: number("factor")?,
            low: number("low_freq_factor")?,
            high: number("high_freq_factor")?,
            original: original()?,
        }),
        Some("yarn") => {
            let factor = match given("factor") {
                Some(factor) => factor,
                None => longest.unwrap_or(0.0) / original()?,
            };
            let scale = |weight: f64| if factor <= 1.0 { 1.0 } else { 0.1 * weight * factor.ln() + 1.0 };
            let attention = given("attention_factor").unwrap_or_else(|| {
                match (given("mscale").filter(|m| *m != 0.0), given("mscale_all_dim").filter(|m| *m != 0.0)) {
                    (Some(own), Some(all)) => scale(own) / scale(all),
                    _ => scale(1.0),
                }
            });
            Ok(Scaling::Yarn {
                factor,
                slow: given("beta_slow").filter(|b| *b != 0.0).unwrap_or(1.0),
                fast: given("beta_fast").filter(|b| *b != 0.0).unwrap_or(32.0),
                original: original()?,
                attention,
                truncate: settings.get("truncate").and_then(Value::as_bool).unwrap_or(true),
            })
        }
        Some(kind) => Err(file.wrong(format!(
            "rotary scaling '{}' is not supported; supported: default, dynamic, linear, llama3, yarn",
            kind.chars().take(40).collect::<String>().escape_debug()
        ))),
    }
}
