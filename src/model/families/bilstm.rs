//! BiLSTM sentence encoder with max pooling, as in InferSent (Conneau et al., 2017): word vectors, one or more bidirectional LSTMs under
//! PyTorch's names, and the coordinate-wise maximum over the words of a sentence.
//!
//! InferSent pads the sentences of a batch with zeros. Its second version includes padding in the maximum, so a sentence's vector depends
//! on the other sentences in its batch. Here, as in its first version, padding is never included.

use serde::Deserialize;

use super::{ConfigFile, Entry, Family, plain};
use crate::Array;
use crate::arch::{Arch, Embedding, Network};
use crate::error::{ModelError, Result};
use crate::params::Params;
use crate::source::Files;
use crate::static_vectors::{Address, StaticVectors};
use crate::tokenizer::{Split, Tokenizer, WordRules};
use crate::weights::Checkpoint;

pub(super) const FAMILY: Family = Family {
    model_types: &["bilstm-max"],
    prefixes: &["enc_lstm.", "lstm.", "encoder."],
    names: &[LSTM],
    describe,
    config: None,
};

const LSTM: &[Entry] = &[
    plain("blocks.{l}.forward.ih.weight", &["weight_ih_l{l}"]),
    plain("blocks.{l}.forward.ih.bias", &["bias_ih_l{l}"]),
    plain("blocks.{l}.forward.hh.weight", &["weight_hh_l{l}"]),
    plain("blocks.{l}.forward.hh.bias", &["bias_hh_l{l}"]),
    plain("blocks.{l}.backward.ih.weight", &["weight_ih_l{l}_reverse"]),
    plain("blocks.{l}.backward.ih.bias", &["bias_ih_l{l}_reverse"]),
    plain("blocks.{l}.backward.hh.weight", &["weight_hh_l{l}_reverse"]),
    plain("blocks.{l}.backward.hh.bias", &["bias_hh_l{l}_reverse"]),
];

#[derive(Deserialize)]
struct Fields {
    /// Width H of one direction.
    hidden_size: usize,
    /// Width E of a word vector.
    embedding_dim: usize,
    #[serde(default = "one")]
    num_layers: usize,
    /// GloVe or word2vec text file in the same folder; by default `embeddings.weight` and `vocab.txt`.
    word_vectors: Option<String>,
    /// Word added before every sentence.
    bos_token: Option<String>,
    eos_token: Option<String>,
    /// True if words are looked up in lower case. By default, true if an external file has no upper-case letters.
    do_lower_case: Option<bool>,
    /// `words` or `spaces`.
    split: Option<String>,
    /// `drop` (InferSent) or `zero`.
    unknown: Option<String>,
}

fn one() -> usize {
    1
}

fn describe(file: &ConfigFile) -> Result<Arch> {
    let f: Fields = file.fields()?;
    // Doubling a malicious size must not overflow. `validate` checks the sizes later.
    let (Some(hidden), true) = (f.hidden_size.checked_mul(2), f.embedding_dim > 0) else {
        return Err(
            file.wrong(format!("hidden_size {} or embedding_dim {} is out of range", f.hidden_size, f.embedding_dim))
        );
    };
    Ok(Arch {
        family: "bilstm-max".into(),
        network: Network::BiLstm,
        hidden,
        layers: f.num_layers,
        head_dim: hidden,
        embedding: Embedding::plain(f.embedding_dim),
        // The vocabulary size of 1 is a placeholder; `words` replaces it once the word vectors are loaded.
        ..Arch::table(1, f.embedding_dim)
    })
}

/// Loads the word vectors and a tokenizer for their words, and sets the vocabulary of `arch`.
pub(crate) fn words(
    file: &ConfigFile,
    arch: &mut Arch,
    files: &Files,
    weights: &Checkpoint,
) -> Result<(Tokenizer, Params)> {
    let f: Fields = file.fields()?;
    let split = match f.split.as_deref() {
        None | Some("words") => Split::Words,
        Some("spaces") => Split::Spaces,
        Some(_) => return Err(file.wrong("split must be 'words' or 'spaces'".into())),
    };
    let drop_unknown = match f.unknown.as_deref() {
        None | Some("drop") => true,
        Some("zero") => false,
        Some(_) => return Err(file.wrong("unknown must be 'drop' or 'zero'".into())),
    };
    let vectors = match &f.word_vectors {
        Some(name) => beside(file, files, name, f.do_lower_case, split)?,
        None => inside(arch, files, weights, f.do_lower_case)?,
    };
    if vectors.width() != arch.embedding.width {
        return Err(file.wrong(format!(
            "embedding_dim is {}, but the word vectors have {} numbers",
            arch.embedding.width,
            vectors.width()
        )));
    }
    arch.vocab = vectors.len() + 1;
    let frame = f.bos_token.zip(f.eos_token);
    let rules = WordRules { fold: vectors.fold, split, frame, drop_unknown };
    let tokenizer = Tokenizer::from_words(&format!("{} (words)", files.label()), &vectors.words, &rules)?;
    let mut params = Params::default();
    params.insert("embed.tokens.weight", vectors.vectors);
    Ok((tokenizer, params))
}

fn beside(file: &ConfigFile, files: &Files, name: &str, fold: Option<bool>, split: Split) -> Result<StaticVectors> {
    let plain = !name.starts_with('.') && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
    let (Some(dir), true) = (files.folder(), plain) else {
        return Err(
            file.wrong("word_vectors is not a plain file name; the file must be in the folder of config.json".into())
        );
    };
    let path = dir.join(name);
    if !path.is_file() {
        return Err(files.missing(name, "config.json names it under word_vectors; put the file there"));
    }
    StaticVectors::read(&Address { path, fold, split, vocabulary: None })
}

fn inside(arch: &Arch, files: &Files, weights: &Checkpoint, fold: Option<bool>) -> Result<StaticVectors> {
    let text = files
        .text("vocab.txt")?
        .ok_or_else(|| files.missing("vocab.txt", "one word per line, in the order of embeddings.weight"))?;
    let words: Vec<String> = text.lines().map(|l| l.trim_end().to_owned()).collect();
    let missing = || ModelError::MissingTensor {
        file: weights.label(),
        tensor: "embeddings.weight".into(),
        family: arch.family.clone(),
    };
    let table = weights.read("embeddings.weight").ok_or_else(missing)??;
    if table.shape != [words.len(), arch.embedding.width] {
        return Err(ModelError::Weights {
            file: weights.label(),
            what: format!(
                "tensor 'embeddings.weight' has shape {:?}; vocab.txt and config.json require [{}, {}]",
                table.shape,
                words.len(),
                arch.embedding.width
            ),
        });
    }
    let mut data = vec![0.0; arch.embedding.width];
    data.extend(table.data);
    let vectors = Array::new([words.len() + 1, arch.embedding.width], data);
    let fold = fold.unwrap_or(false);
    Ok(StaticVectors { words, vectors, fold, duplicates: 0, skipped: 0 })
}
