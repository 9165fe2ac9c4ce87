//! Bounds on the text that a `tokenizer.json` may produce. The library follows any rules, even if they double the text forty times or add a
//! hundred thousand tokens to each sentence.

use base64::prelude::{BASE64_STANDARD, Engine};
use serde::Deserialize;
use serde_json::Value;
use tokenizers::{DecoderWrapper, NormalizerWrapper, PostProcessorWrapper, PreTokenizerWrapper};

/// Maximum factor by which steps may lengthen a text. Replacing a space with `\u{2581}` is a factor of 3.
const GROWTH: f64 = 64.0;

/// Maximum number of steps in a component; it is needed because some steps always lengthen a text.
const STEPS: usize = 256;

/// Maximum number of bytes by which a character table may replace one byte.
const ENTRY: usize = 256;

/// Maximum number of tokens and sequences in all templates of a file.
const FRAME: usize = 1024;

/// Maximum number of successive templates, each for one text or a pair.
const FRAMES: usize = 8;

/// Components that can lengthen a text; all others are skipped. They are parsed with the library's own types, because the library also
/// accepts steps without a type, with a wrong type, or as lists of fields, and the check must apply to the library's interpretation.
#[derive(Deserialize)]
struct Shape {
    #[serde(default)]
    normalizer: Option<NormalizerWrapper>,
    #[serde(default)]
    pre_tokenizer: Option<PreTokenizerWrapper>,
    #[serde(default)]
    post_processor: Option<PostProcessorWrapper>,
    #[serde(default)]
    decoder: Option<DecoderWrapper>,
}

/// Rejects rules without bounds. Text that is not a tokenizer passes, because the library has a better error message for it.
pub(super) fn check(text: &[u8]) -> Result<(), String> {
    let shape = match super::guarded(|| Ok(serde_json::from_slice::<Shape>(text))) {
        Ok(Ok(shape)) => shape,
        // The library uses the last of two equal fields.
        Ok(Err(e)) if e.to_string().starts_with("duplicate field") => {
            return Err("one of its fields occurs twice".into());
        }
        _ => return Ok(()),
    };
    let parts = [
        ("normalizer", serde_json::to_value(shape.normalizer)),
        ("pre_tokenizer", serde_json::to_value(shape.pre_tokenizer)),
        ("decoder", serde_json::to_value(shape.decoder)),
    ];
    for (name, part) in parts {
        let mut sum = Sum { growth: 1.0, steps: 0, tables: 0 };
        sum.add(&part.map_err(|e| e.to_string())?);
        sum.judge(name)?;
    }
    let mut frames = (0, 0);
    frame(&serde_json::to_value(shape.post_processor).map_err(|e| e.to_string())?, &mut frames)?;
    let (count, pieces) = frames;
    if count > FRAMES || pieces > FRAME {
        return Err(format!(
            "its post_processor puts {pieces} tokens around a text, in {count} templates; at most {FRAME} tokens in \
             {FRAMES} templates are accepted"
        ));
    }
    Ok(())
}

/// Combined effect of a component's steps.
struct Sum {
    /// Maximum factor by which the steps can lengthen a text.
    growth: f64,
    steps: usize,
    tables: usize,
}

impl Sum {
    fn add(&mut self, step: &Value) {
        let inner = ["normalizers", "pretokenizers", "decoders"].iter().find_map(|k| step.get(*k)?.as_array());
        if let Some(steps) = inner {
            return steps.iter().for_each(|s| self.add(s));
        }
        self.steps += 1;
        self.tables += usize::from(kind(step) == "Precompiled");
        self.growth *= growth(step);
    }

    fn judge(&self, name: &str) -> Result<(), String> {
        let Self { growth, steps, tables } = *self;
        if growth > GROWTH {
            return Err(format!(
                "its {name} can make a text {growth:.1e} times longer; at most {GROWTH} times is accepted"
            ));
        }
        if steps > STEPS {
            return Err(format!("its {name} has {steps} steps, but at most {STEPS} are accepted"));
        }
        if tables > 1 {
            return Err(format!("its {name} has {tables} character maps; at most one is supported"));
        }
        Ok(())
    }
}

fn kind(step: &Value) -> &str {
    field(step, "type")
}

fn field<'a>(step: &'a Value, key: &str) -> &'a str {
    step.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Maximum factor by which a step can lengthen a text; a one-byte text reaches it.
fn growth(step: &Value) -> f64 {
    // An empty pattern matches around every byte.
    let replaced = |found: usize, by: usize| if found > 0 { by as f64 / found as f64 } else { (2 * by + 1) as f64 };
    let worst: f64 = match kind(step) {
        "Replace" => {
            let content = field(step, "content").len();
            match step.get("pattern").map_or("", |p| field(p, "String")).len() {
                // A regular expression may match one byte, or the position between two.
                0 => (content + 1) as f64,
                found => replaced(found, content),
            }
        }
        // A byte that is not printable becomes a two-byte character; a space is added before each piece.
        "ByteLevel" if step.get("add_prefix_space") == Some(&Value::Bool(true)) => 4.0,
        "ByteLevel" => 2.0,
        "Prepend" => (field(step, "prepend").len() + 1) as f64,
        // The mark is added before each piece that does not begin with it.
        "Metaspace" => (field(step, "replacement").len() + 1) as f64,
        "BPEDecoder" => replaced(field(step, "suffix").len(), 1),
        "CTC" => replaced(field(step, "word_delimiter_token").len(), 1),
        "Precompiled" if longest(step) > ENTRY => longest(step) as f64,
        _ => 1.0,
    };
    worst.max(1.0)
}

/// Returns the length of the longest replacement in a character table. The table consists of the length of an index, the index, and all
/// replacements, each terminated by a zero byte.
fn longest(step: &Value) -> usize {
    let table = BASE64_STANDARD.decode(field(step, "precompiled_charsmap")).unwrap_or_default();
    let Some((length, rest)) = table.split_first_chunk::<4>() else { return 0 };
    let texts = rest.get(u32::from_le_bytes(*length) as usize..).unwrap_or_default();
    texts.split(|b| *b == 0).map(<[u8]>::len).max().unwrap_or(0)
}

/// Counts templates and their pieces.
fn frame(step: &Value, sum: &mut (usize, usize)) -> Result<(), String> {
    for inner in step.get("processors").and_then(Value::as_array).into_iter().flatten() {
        frame(inner, sum)?;
    }
    match kind(step) {
        "TemplateProcessing" => {}
        "BertProcessing" | "RobertaProcessing" => {
            sum.0 += 1;
            sum.1 += 4;
            return Ok(());
        }
        _ => return Ok(()),
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
