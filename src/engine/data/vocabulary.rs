//! The model vocabulary against which the data doctor checks words.

use corpus::doctor::Vocabulary;
use model::hub::OnTransfer;
use model::source::Files;
use model::tokenizer::Tokenizer;
use model::{Device, Dtype, Model, ModelError, ModelSource};

/// Loads a model's vocabulary; if the model's files are on disk, its weights are not loaded. Downloads of a hub model are reported to `on`.
///
/// # Errors
/// [`ModelError`] if the model does not exist or has no tokenizer.
pub fn vocabulary(name: &str, on: &mut OnTransfer<'_>) -> Result<Vocabulary<'static>, ModelError> {
    let source: ModelSource = name.parse()?;
    let name = name.to_owned();
    if let Ok(files) = Files::at_hand(&source) {
        let read = |file: &str| Ok(files.read(file)?.map(std::borrow::Cow::into_owned));
        if let Some(tokenizer) = Tokenizer::from_files(&files.label(), read)? {
            return Ok(Vocabulary { name, tokens: Box::new(move |word| count(&tokenizer, word)) });
        }
    }
    // Word encoders store their vocabulary differently.
    let model = Model::load_with(&source, (Device::Cpu, Dtype::F32), on)?;
    model.tokenizer()?;
    let tokens = move |word: &str| model.tokenizer().ok().and_then(|t| count(t, word));
    Ok(Vocabulary { name, tokens: Box::new(tokens) })
}

/// Counts the tokens of a word after a space, the form that the labs use. A vocabulary may contain a word only in the form used at the
/// beginning of a text.
fn count(tokenizer: &Tokenizer, word: &str) -> Option<usize> {
    let ids = tokenizer.encode_bare(&format!(" {word}")).ok()?.ids;
    (!ids.is_empty() && tokenizer.knows(&ids)).then_some(ids.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_counts_need_no_weights() {
        let known = vocabulary("bert-mini", &mut |_| Ok(())).unwrap();
        assert_eq!((known.tokens)("is"), Some(1));
        assert!((known.tokens)("antidisestablishmentarianism").is_none_or(|n| n > 1));
        assert!(vocabulary("./no/such/folder", &mut |_| Ok(())).is_err());
    }
}
