//! `probity models convert`: converts pickled weights to safetensors.

use std::io::Write;
use std::path::Path;

use super::failure;
use crate::error::CliError;
use crate::output;
use base::size;
use base::text::printable_label;

/// Converts a model and prints how many tensors and bytes were written.
pub(crate) fn convert(from: &Path, to: &Path, out: &mut dyn Write) -> Result<(), CliError> {
    let done = model::convert::convert(from, to).map_err(failure)?;
    let mut line = |text: String| output::line(out, &printable_label(&text));
    line(format!("{}: {} tensors, {}", to.display(), done.tensors, size::show(done.bytes)))?;
    for (dropped, kept) in &done.shared {
        line(format!("  {dropped} equals {kept} and is written only once"))?;
    }
    if done.fairseq {
        line(
            "  names from fairseq were replaced; the tokenizer must number tokens as fairseq's dictionary does".into(),
        )?;
    }
    match &done.copied[..] {
        [] => {}
        copied => line(format!("  copied: {}", copied.join(", ")))?,
    }
    match done.copied.iter().any(|name| name == "config.json") {
        true => Ok(()),
        false => line("  config.json was not found; put it and the tokenizer files next to the weights".into()),
    }
}
