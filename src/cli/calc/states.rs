//! `probity states`: exports the hidden states of an interventions experiment, with labels and parts, for other programs.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use crate::error::CliError;
use crate::names;
use base::NoPulse;
use base::files::Whole;
use base::text::printable_label;
use labs::Spec;
use labs::fault::Fault;
use labs::interventions::states::read;
use model::{Model, ModelError};

/// Write the hidden states of an interventions experiment, with labels and parts, as a safetensors file.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  probity states agreement.toml -o states.safetensors
  probity states agreement.toml --model gpt2-mini -o states.safetensors --force

Tensors, with one row per example: `h` (n x D, f32) at the layer of the spec, `target` and `other` (n, i64, -1
for none), `part` (n, u8: 0 and 1 train and validate oracles, 2 and 3 interventions, 4 tests),
`counterfactual` (n x D, f32: the state of the same sentence with its subject in the other number) if there is
one. Fit your intervention on part 2. To judge it, run a spec with

  [[method]]
  name = \"directions\"            or \"states\", \"erased_states\"
  file = \"own.safetensors\"

The `directions` (m x D) are removed one after another. The `states` (n x D, or k x n x D with one for each target value) replace `h`.")]
pub struct StatesArgs {
    /// The spec of the experiment.
    #[arg(value_name = "SPEC.toml")]
    spec: PathBuf,
    /// The file to write.
    #[arg(short, long, value_name = "FILE.safetensors")]
    output: PathBuf,
    /// One of the spec's models [default: the first].
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// Device: auto, cpu, cuda:N or metal.
    #[arg(long, default_value = "auto", value_name = "DEVICE")]
    device: String,
    /// Replace the file if it exists.
    #[arg(long)]
    force: bool,
}

/// Fails with [`CliError::Usage`] for an unusable spec or model, [`CliError::Failed`] if the file cannot be written.
pub fn answer(args: &StatesArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let Spec::Interventions(spec) = Spec::read(&args.spec)? else {
        let what = format!("{}: this is not a spec of the interventions lab", args.spec.display());
        return Err(CliError::Usage(printable_label(&what)));
    };
    let name = match &args.model {
        Some(name) if spec.models.contains(name) => name,
        Some(name) => {
            let known: Vec<&str> = spec.models.iter().map(String::as_str).collect();
            return Err(CliError::Usage(base::suggest::unknown("model", name, &known)));
        }
        None => spec.models.first().ok_or_else(|| CliError::Usage("the spec has no model".into()))?,
    };
    let file = Whole::new(&args.output, args.force).map_err(|e| CliError::Usage(e.to_string()))?;
    let usage = |e: ModelError| CliError::Usage(e.to_string());
    let model = Model::load(&name.parse().map_err(usage)?, names::device(&args.device)?).map_err(usage)?;
    let states = read(&spec, &model, &mut NoPulse).map_err(|e| match e {
        Fault::Failed(problem) => CliError::Usage(problem.to_string()),
        Fault::Cancelled => CliError::Failed("cancelled".into()),
    })?;
    let bytes = states.to_bytes().map_err(|e| CliError::Failed(e.to_string()))?;
    let failed =
        |e: std::io::Error| CliError::Failed(format!("{}: {e}", printable_label(&args.output.display().to_string())));
    file.fill(&bytes).map_err(|e| CliError::Failed(e.to_string()))?;
    let parts: Vec<usize> = (0..5).map(|p| states.part.iter().filter(|part| **part == p).count()).collect();
    writeln!(
        out,
        "{}: {} states of size {} at layer {} of {}; for oracles {} train + {} validation, for interventions {} + {}, test {}{}",
        printable_label(&args.output.display().to_string()),
        states.h.rows(),
        states.h.cols(),
        states.about.get("layer").map_or("?", String::as_str),
        printable_label(name),
        parts[0],
        parts[1],
        parts[2],
        parts[3],
        parts[4],
        if states.twins.is_some() { "; with their true counterfactuals" } else { "" }
    )
    .map_err(failed)?;
    Ok(())
}
