//! `probity models tokens`: shows how a model tokenizes a text.

use std::io::Write;

use super::{address, failure, load, warn};
use crate::error::CliError;
use crate::output;
use base::text::printable_label;
use model::Tokenizer;

pub(crate) fn tokens(name: &str, text: &str, out: &mut dyn Write) -> Result<(), CliError> {
    let model = load(&address(name)?, "cpu", "f32")?;
    warn(&model);
    let tokenizer = model.tokenizer().map_err(failure)?;
    lines(tokenizer, text)?.iter().try_for_each(|line| output::line(out, line))
}

/// Lists position, id, spelling and byte range of each token, in columns aligned by display width.
fn lines(tokenizer: &Tokenizer, text: &str) -> Result<Vec<String>, CliError> {
    // In the labs, [MASK] stands for the mask token of any model.
    let text = match tokenizer.mask_token() {
        Some(mask) => text.replace("[MASK]", &mask),
        None => text.to_owned(),
    };
    let e = tokenizer.encode(&text).map_err(failure)?;
    let characters: Vec<char> = text.chars().collect();
    let row = |i: usize| {
        let (from, to) = e.offsets[i];
        let piece: String = characters.get(from..to).unwrap_or_default().iter().collect();
        let special = if e.is_special[i] { "special" } else { "" };
        vec![i.to_string(), e.tokens[i].clone(), e.ids[i].to_string(), piece, special.to_owned()]
    };
    let mut out = Vec::new();
    let head = printable_label(&format!("{} tokens", e.ids.len()));
    base::text::section(&mut out, &head, &["position", "token", "id", "text", ""], (0..e.ids.len()).map(row).collect());
    Ok(out.split_off(1))
}

#[cfg(test)]
mod tests {
    use unicode_width::UnicodeWidthStr;

    use super::*;
    use model::tokenizer::Extras;

    #[test]
    fn chinese_tokens_are_aligned_by_display_width() {
        let words = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n我\n喜\n欢\n学\n习\n##s\nkey\n。\n";
        let t = Tokenizer::from_vocab_txt("vocab.txt", words, Extras::default()).unwrap();
        let lines = lines(&t, "我喜欢[MASK]习 keys。").unwrap();
        let column = |line: &str, cell: &str| line.find(cell).map(|at| line[..at].width()).unwrap();
        let id_column = column(&lines[1], "id");
        for (line, token, id) in
            [(3, "我", "5"), (4, "喜", "6"), (6, "[MASK]", "4"), (9, "##s", "10"), (10, "。", "12")]
        {
            let line = &lines[line];
            assert!(line.contains(token), "{line}");
            let after = line.find(token).unwrap() + token.len();
            let at = after + line[after..].find(id).unwrap();
            assert_eq!(line[..at].width(), id_column, "{line}");
        }
        assert_eq!(lines[3].width() - lines[3].chars().count(), 2, "the token and its text are double-width");
    }
}
