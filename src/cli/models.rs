//! `probity models`: lists, describes, checks, converts and fetches models, and manages the cache.

mod check;
mod convert;
mod pull;
mod tokens;

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Subcommand;

use super::error::CliError;
use super::{names, output};
use base::size;
use base::text::{printable_label, printable_message};
use engine::inspection::Inspection;
use engine::local::Cache;
use model::builtin::BUILTINS;
use model::families::ConfigFile;
use model::hub::{self, Settings};
use model::source::Files;
use model::{Model, ModelError, ModelSource};

#[derive(Debug, Subcommand)]
pub enum ModelsCommand {
    /// List the built-in models and those in the hub cache.
    List,
    /// Load a model and describe it.
    Show {
        /// Built-in name, folder in Hugging Face layout, or hub id.
        model: String,
        /// Device: auto, cpu, cuda, cuda:N or metal.
        #[arg(long, default_value = "cpu")]
        device: String,
        /// Precision of the model's numbers: f32, f16 or bf16.
        #[arg(long, default_value = "f32")]
        dtype: String,
        /// For word vectors: keep only the words of this text file.
        #[arg(long, value_name = "FILE")]
        vocabulary: Option<PathBuf>,
    },
    /// Manage the hidden states and trained probes cached on disk.
    Cache {
        /// Subcommand [default: show].
        #[command(subcommand)]
        what: Option<CacheCommand>,
    },
    /// Compare a model with the reference numbers of a different implementation in its folder.
    #[command(after_help = "DIR contains expected.json, and expected.safetensors for unrounded values.\n\
        Exit codes: 0 nothing deviates, 1 something deviates, 2 bad input.\n\n\
        Example:\n  probity models check ~/reference/models/bert")]
    Check {
        /// Folder in Hugging Face layout with expected values.
        dir: String,
        /// Device: auto, cpu, cuda, cuda:N or metal.
        #[arg(long, default_value = "cpu")]
        device: String,
        /// Print one JSON object instead of the table.
        #[arg(long)]
        json: bool,
    },
    /// Convert pickled PyTorch weights to safetensors, without running any pickled code.
    #[command(
        after_help = "FROM is a folder with pytorch_model.bin (or its shards), or one .bin or .pt file. DIR must not exist.\n\
        Pickles that refer to anything but tensors are rejected. Tensors of fairseq's RoBERTa are renamed as in transformers.\n\n\
        Example:\n  probity models convert old/bert -o bert"
    )]
    Convert {
        /// Folder or file with pickled weights.
        from: PathBuf,
        /// Folder to create.
        #[arg(short, long, value_name = "DIR")]
        out: PathBuf,
    },
    /// Fetch a model into the hub cache, or update it.
    #[command(after_help = "Example:\n  probity models pull google/bert_uncased_L-2_H-128_A-2\n\n\
        HF_TOKEN, HF_ENDPOINT, HF_HOME, HF_HUB_CACHE and HF_HUB_OFFLINE are honoured.")]
    Pull {
        /// Hub id, with @REVISION for a branch, tag or commit.
        id: String,
    },
    /// Show how a model splits a text into tokens.
    Tokens {
        /// Built-in name, folder in Hugging Face layout, or hub id.
        model: String,
        text: String,
    },
}

#[derive(Debug, Subcommand)]
pub enum CacheCommand {
    /// Show sizes, number of entries, limit and location.
    Show,
    /// Remove everything.
    Clear,
    /// Limit cached hidden states to this size from now on, for example 500M.
    Limit {
        #[arg(value_parser = size::parse)]
        size: u64,
    },
}

/// Fails with [`CliError::Usage`] for a model that cannot be loaded, [`CliError::Failed`] for one that cannot be fetched,
/// [`CliError::Reported`] for one that deviates.
pub fn models(command: &ModelsCommand, out: &mut dyn Write) -> Result<(), CliError> {
    match command {
        ModelsCommand::List => list(out),
        ModelsCommand::Show { model, device, dtype, vocabulary } => {
            show(model, device, dtype, vocabulary.as_deref(), out)
        }
        ModelsCommand::Cache { what } => cache(what.as_ref().unwrap_or(&CacheCommand::Show), out),
        ModelsCommand::Check { dir, device, json } => check::check(dir, device, *json, out),
        ModelsCommand::Convert { from, out: to } => convert::convert(from, to, out),
        ModelsCommand::Pull { id } => pull::pull(id, out),
        ModelsCommand::Tokens { model, text } => tokens::tokens(model, text, out),
    }
}

/// Converts a model error: problems with the network or the machine are failures, all others are wrong input.
fn failure(e: ModelError) -> CliError {
    match e {
        ModelError::Cancelled(_) => CliError::Cancelled,
        e @ (ModelError::Hub { .. } | ModelError::Device { .. } | ModelError::Compute(_)) => {
            CliError::Failed(e.to_string())
        }
        e => CliError::Usage(e.to_string()),
    }
}

fn list(out: &mut dyn Write) -> Result<(), CliError> {
    for builtin in BUILTINS {
        let size = builtin.weights.len() as f64 / 1e6;
        // The description of a built-in model is embedded, so this fails only in a build without it.
        let serves = builtin.name.parse().and_then(|s| Model::describe(&s)).map_or("", |a| a.serves());
        output::line(out, &format!("{:<16} {size:>6.1} MB  built in; {serves}", builtin.name))?;
    }
    let settings = Settings::of_process();
    for found in hub::cached(&settings) {
        let id = if found.revision == "main" { found.id } else { format!("{}@{}", found.id, found.revision) };
        let files = Files::Dir(found.dir);
        // A broken model must not prevent the others from being listed.
        let arch = match files.text("config.json") {
            Ok(Some(text)) => ConfigFile::parse("config.json", &text).and_then(|c| Ok(c.describe()?.1)),
            Ok(None) => Err(files.missing("config.json", "fetch the model again")),
            Err(e) => Err(e),
        };
        let about = match arch {
            Ok(arch) => format!("{}, in the hub cache; {}", arch.family, arch.serves()),
            Err(e) => format!("in the hub cache, but cannot be loaded: {e}"),
        };
        output::line(out, &format!("{:<28} {}", printable_label(&id), printable_label(&about)))?;
    }
    output::line(out, "also accepted: any folder in Hugging Face layout, or a hub id (organisation/name)")?;
    output::line(
        out,
        "      glove:FILE.txt (word vectors; ?lower, ?spaces, ?words=TEXTS), untrained:MODEL#SEED (the same architecture with random weights)",
    )?;
    settings.token_withheld().map_or(Ok(()), |why| output::line(out, &format!("note: {why}")))
}

fn cache(what: &CacheCommand, out: &mut dyn Write) -> Result<(), CliError> {
    let cache = Cache::user();
    let failed = |e: std::io::Error| CliError::Failed(format!("the cache cannot be changed: {e}"));
    match what {
        CacheCommand::Show => {}
        CacheCommand::Clear => {
            cache.embeddings().clear().map_err(failed)?;
            cache.clear().map_err(failed)?;
        }
        CacheCommand::Limit { size } => cache.embeddings().set_limit(*size).map_err(failed)?,
    }
    let held = cache.embeddings().contents();
    let (probes, bytes) = cache.probes();
    let place = |dir: Option<&Path>| dir.map_or("none".to_owned(), |d| d.display().to_string());
    for (key, value) in [
        ("hidden states", format!("{} vectors in {} files, {}", held.vectors, held.files, size::show(held.bytes))),
        ("  limit", size::show(held.limit)),
        ("  folder", place(held.dir.as_deref())),
        ("trained probes", format!("{probes}, {}", size::show(bytes))),
        ("  folder", place(cache.dir())),
    ] {
        output::line(out, &format!("{key:<16} {}", printable_label(&value)))?;
    }
    Ok(())
}

fn show(name: &str, device: &str, dtype: &str, vocabulary: Option<&Path>, out: &mut dyn Write) -> Result<(), CliError> {
    let mut source = address(name)?;
    match (&mut source, vocabulary) {
        (_, None) => {}
        (ModelSource::Vectors(address), Some(file)) => address.vocabulary = Some(file.to_owned()),
        (_, Some(_)) => return Err(CliError::Usage("--vocabulary works only with files of word vectors".into())),
    }
    let model = load(&source, device, dtype)?;
    for (key, value) in Inspection::of(name, &model, 0.0).lines() {
        output::line(out, &format!("{key:<20} {}", printable_label(&value)))?;
    }
    let Some(card) = model.card() else { return Ok(()) };
    // JSON escapes control characters, so these lines are safe to print.
    let card = serde_json::to_string_pretty(card).map_err(|e| CliError::Failed(e.to_string()))?;
    output::line(out, "card")?;
    card.lines().try_for_each(|line| output::line(out, &format!("  {}", printable_label(line))))
}

/// Parses a model's address; an invalid one is a usage error.
fn address(name: &str) -> Result<ModelSource, CliError> {
    name.parse().map_err(|e: ModelError| CliError::Usage(e.to_string()))
}

fn load(source: &ModelSource, device: &str, dtype: &str) -> Result<Model, CliError> {
    let kept = (names::device(device)?, names::dtype(dtype)?);
    if let Some(near) = names::near(source) {
        output::say(&format!("did you mean `{near}`, which is built in? Searching the hub for the given name"));
    }
    let mut meter = pull::Meter::default();
    Model::load_with(source, kept, &mut |t| meter.show(t)).map_err(failure)
}

/// Prints a model's notices on stderr, each with its remedy.
fn warn(model: &Model) {
    for notice in model.notices() {
        output::say(&format!("warning: {}", printable_message(&notice.to_string())));
    }
}
