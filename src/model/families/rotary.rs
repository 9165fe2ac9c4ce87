//! Reading rotary-position settings in their old and new spellings.

use serde::Deserialize;
use serde_json::Value;

use super::ConfigFile;
use crate::arch::Positions;
use crate::error::Result;

/// `rope_parameters` (new), or `rope_theta` and `rotary_emb_base`, `rotary_pct`, `rope_scaling` (old).
#[derive(Deserialize)]
struct Fields {
    rope_parameters: Option<Value>,
    rope_scaling: Option<Value>,
    rope_theta: Option<f64>,
    rotary_emb_base: Option<f64>,
    rotary_pct: Option<f64>,
    partial_rotary_factor: Option<f64>,
}

/// Positions of a file; `fraction` is the family's default share of a head.
pub(super) fn positions(file: &ConfigFile, fraction: f64) -> Result<Positions> {
    let f: Fields = file.fields()?;
    let new = f.rope_parameters.as_ref();
    for settings in [new, f.rope_scaling.as_ref()].into_iter().flatten() {
        let kind = settings.get("rope_type").or_else(|| settings.get("type")).and_then(Value::as_str);
        if let Some(kind) = kind.filter(|k| *k != "default") {
            return Err(file.wrong(format!(
                "rotary scaling '{}' is not supported; only the default is",
                kind.chars().take(40).collect::<String>().escape_debug()
            )));
        }
    }
    let number = |key: &str| new.and_then(|p| p.get(key)).and_then(Value::as_f64);
    Ok(Positions::Rotary {
        theta: number("rope_theta").or(f.rope_theta).or(f.rotary_emb_base).unwrap_or(10_000.0),
        fraction: number("partial_rotary_factor")
            .or(f.rotary_pct)
            .or(f.partial_rotary_factor)
            .unwrap_or(fraction),
    })
}
