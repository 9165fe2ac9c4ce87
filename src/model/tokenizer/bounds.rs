//! What a `tokenizer.json` may make of a text: the library follows any recipe, also one that doubles the text forty times
//! or frames each sentence by a hundred thousand tokens.

use serde::Deserialize;
use serde_json::Value;

/// How many times longer replacements may make a text. A blank that becomes `\u{2581}` is 3.
const GROWTH: f64 = 64.0;

/// Tokens and sequences of a frame, over all frames of a file.
const FRAME: usize = 1024;

/// Frames that follow each other, each with one text, or a pair.
const FRAMES: usize = 8;

/// The parts that can make a text longer; everything else is skipped while reading.
#[derive(Deserialize)]
struct Shape {
    #[serde(default)]
    normalizer: Value,
    #[serde(default)]
    post_processor: Value,
    #[serde(default)]
    decoder: Value,
}

/// Refuses recipes without bounds; says nothing of a text that is not a tokenizer, which the library does better.
///
/// # Errors
/// One sentence.
pub(super) fn check(text: &[u8]) -> Result<(), String> {
    let Ok(shape) = serde_json::from_slice::<Shape>(text) else { return Ok(()) };
    for (name, steps) in [("normalizer", &shape.normalizer), ("decoder", &shape.decoder)] {
        let growth = growth(steps);
        if growth > GROWTH {
            return Err(format!(
                "its {name} can make a text {growth:.1e} times longer; at most {GROWTH} times is accepted"
            ));
        }
    }
    let mut frames = (0, 0);
    frame(&shape.post_processor, &mut frames)?;
    let (count, pieces) = frames;
    if count > FRAMES || pieces > FRAME {
        return Err(format!(
            "its post_processor puts {pieces} tokens around a text, in {count} frames; at most {FRAME} in {FRAMES} are \
             accepted"
        ));
    }
    Ok(())
}

/// How many times longer steps can make a text, at worst.
fn growth(step: &Value) -> f64 {
    let inner = ["normalizers", "decoders"].iter().find_map(|k| step.get(*k)?.as_array());
    if let Some(steps) = inner {
        return steps.iter().map(growth).product();
    }
    if step.get("type").and_then(Value::as_str) != Some("Replace") {
        return 1.0;
    }
    let content = step.get("content").and_then(Value::as_str).map_or(0, str::len) as f64;
    let found = step.get("pattern").and_then(|p| p.get("String")).and_then(Value::as_str).map_or(0, str::len);
    // A regular expression may match one byte, or the place between two.
    let worst = if found > 0 { content / found as f64 } else { content + 1.0 };
    worst.max(1.0)
}

/// Counts frames and their pieces.
fn frame(step: &Value, sum: &mut (usize, usize)) -> Result<(), String> {
    for inner in step.get("processors").and_then(Value::as_array).into_iter().flatten() {
        frame(inner, sum)?;
    }
    if step.get("type").and_then(Value::as_str) != Some("TemplateProcessing") {
        return Ok(());
    }
    sum.0 += 1;
    let tokens = step.get("special_tokens");
    for (key, texts) in [("single", 1), ("pair", 2)] {
        let pieces = step.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let ids = |piece: &Value| {
            let id = piece.get("SpecialToken")?.get("id")?.as_str()?;
            tokens?.get(id)?.get("ids")?.as_array().map(Vec::len)
        };
        sum.1 += pieces.iter().map(|p| ids(p).unwrap_or(1)).sum::<usize>();
        let sequences = pieces.iter().filter(|p| p.get("Sequence").is_some()).count();
        if sequences > texts {
            return Err(format!("its post_processor repeats a text ({sequences} sequences for {texts})"));
        }
    }
    Ok(())
}
