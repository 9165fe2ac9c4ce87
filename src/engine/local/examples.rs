//! The examples of a run: generated, or read from the file that the spec names; and what of them a model can be asked.

use super::fault::Fault;
use super::host::Host;
use crate::base::Problem;
use crate::corpus::micro::frequencies::Frequencies;
use crate::corpus::own::{self, Provenance};
use crate::corpus::task::{ExampleSet, Task};
use crate::engine::spec::Spec;
use crate::lab::interventions::stimuli::Stimuli;
use crate::model::Model;

/// Examples from the spec's file with where they are from, or else generated ones.
///
/// # Errors
/// [`Fault`].
pub fn of(
    task: &'static Task,
    spec: &Spec,
    host: &mut Host<'_>,
) -> Result<(ExampleSet, Option<Provenance>), Fault> {
    if let (Some(file), Some(named)) = (spec.task.data_path(), &spec.task.data) {
        if spec.task.phi.is_some() {
            let what = "the correlation cannot be set where a file has the examples".to_owned();
            let hint = "set it to natural".to_owned();
            return Err(Problem { what, r#where: "task.phi".into(), hint }.into());
        }
        let (set, source) = own::examples(task, &file, named, (spec.task.examples, spec.seed), host)?;
        return Ok((set, Some(source)));
    }
    let frequencies = match spec.task.phi {
        Some(phi) => Frequencies::with_phi(phi)?,
        None => Frequencies::natural(),
    };
    Ok((task.examples(spec.task.examples, spec.seed, &frequencies)?, None))
}

/// The examples as the model sees them; of the user's own, enough must be left.
///
/// # Errors
/// [`Fault`].
pub fn stimuli(task: &Task, model: &Model, set: &ExampleSet, own: bool) -> Result<Stimuli, Fault> {
    if !own {
        return Ok(Stimuli::new(model, &set.examples)?);
    }
    let stimuli = Stimuli::at_least(model, &set.examples, own::FEWEST)?;
    own::enough(task, stimuli.list.iter().map(|s| &set.examples[s.example])).map_err(|e| Problem {
        what: format!(
            "{e}; {} of {} examples have verb forms that are no single tokens of `{}`",
            stimuli.dropped_forms,
            set.examples.len(),
            model.name()
        ),
        r#where: "task.data".into(),
        hint: "choose another model, or a file with more sentences".into(),
    })?;
    Ok(stimuli)
}
