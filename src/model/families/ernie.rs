//! ERNIE (Sun et al., 2019, 2020): BERT with an optional task-type table.

use serde::Deserialize;

use super::{ConfigFile, Entry, Family, bert, plain};
use crate::arch::Arch;
use crate::error::Result;

pub(super) const FAMILY: Family = Family {
    model_types: &["ernie"],
    prefixes: &["ernie.", "bert."],
    names: &[bert::ENCODER, TASKS, bert::HEAD],
    describe,
    config: None,
};

const TASKS: &[Entry] = &[plain("embed.tasks", &["embeddings.task_type_embeddings"])];

#[derive(Deserialize)]
struct Fields {
    #[serde(default)]
    use_task_id: bool,
    task_type_vocab_size: usize,
}

fn describe(file: &ConfigFile) -> Result<Arch> {
    let mut arch = bert::encoder(file, &file.fields()?)?;
    let f: Fields = file.fields()?;
    if f.use_task_id {
        arch.embedding.tasks = f.task_type_vocab_size;
    }
    Ok(arch)
}
