//! Hidden states, labels and parts of an experiment as a table, for interventions made with other programs.
//!
//! The rows are all examples that the model can process, in order, or tokens of them. Edited `directions` or `states` (see [`probe::given`]) are judged on the
//! same rows.

use std::collections::HashMap;

use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensorError};

use super::spec::Spec;
use super::tokens::Rows;
use base::matrix::Matrix;
use base::{Problem, Pulse};
use corpus::task::Example;
use lab::examples;
use lab::fault::Fault;
use lab::plan::PropertyLabels;
use lab::stimuli::Where;
use model::Model;
use probe::Split;

#[derive(Debug, Clone, PartialEq)]
pub struct States {
    /// Hidden states at the layer of the intervention, n x D.
    pub h: Matrix,
    /// Labels of both properties.
    pub labels: PropertyLabels,
    /// The part of each row: 0 oracle training, 1 oracle validation, 2 intervention training, 3 intervention validation, 4 test.
    pub part: Vec<u8>,
    /// The example of each row, if rows are tokens.
    pub texts: Option<Vec<usize>>,
    /// States of the examples' true counterfactuals, n x D, if all have one and it differs in the target.
    pub twins: Option<Matrix>,
    /// Metadata of the table, by name.
    pub about: HashMap<String, String>,
}

/// Reads the states of a spec's examples from a model.
pub fn read(spec: &Spec, model: &Model, pulse: &mut dyn Pulse) -> Result<States, Fault> {
    let task = spec.task.task(pulse)?;
    let target = task.property(&spec.task.target).unwrap_or(0);
    let (set, source) = examples::of(task, &spec.task, spec.seed, pulse)?;
    let stimuli = examples::stimuli(task, model, &set, (source.is_some(), spec.task.long), pulse)?;
    let which = stimuli.list.iter().map(|s| s.example);
    let labels = PropertyLabels::new(task, target, &set.examples, which.clone()).with(
        task,
        spec.task.further(),
        &set.examples,
        which,
    );
    let split = Split::new(stimuli.list.len(), spec.seed)?;
    let Rows { stimuli, labels, split, texts } = Rows::new(stimuli, labels, split, &spec.task);
    let layer = spec.site.layer.resolve(model.depth()).map_err(|what| Problem::new(what, "site", "set site.layer"))?;
    let all: Vec<usize> = (0..stimuli.list.len()).collect();
    let h = stimuli.hidden(model, (layer, Where::Changed), &all, pulse)?;
    let mut part = vec![4; all.len()];
    let (oracle, own) = (split.oracle(), split.intervention());
    for (k, rows) in [oracle.train(), oracle.validation(), own.train(), own.validation()].into_iter().enumerate() {
        rows.iter().for_each(|r| part[*r] = k as u8);
    }
    let has_twins = task.properties[target].is_subject_number() && texts.is_none();
    let swapped: Option<Vec<Example>> =
        has_twins.then(|| stimuli.list.iter().map(|s| set.examples[s.example].counterfactual()).collect()).flatten();
    let twins = match swapped {
        Some(swapped) => {
            let twins = lab::stimuli::Stimuli::read(model, &swapped, spec.task.long, 0, pulse)?;
            (twins.list.len() == all.len())
                .then(|| twins.hidden(model, (layer, Where::Changed), &all, pulse))
                .transpose()?
        }
        None => None,
    };
    let values = |p: usize| task.properties[p].values.join(",");
    let about = [
        ("model", model.name().to_owned()),
        ("model_hash", model.hash().to_owned()),
        ("layer", layer.to_string()),
        ("task", task.id.to_owned()),
        ("data_hash", set.hash.clone()),
        ("seed", spec.seed.to_string()),
        ("target", task.properties[target].id.to_owned()),
        ("target_values", values(target)),
        ("other", task.properties[1 - target].id.to_owned()),
        ("other_values", values(1 - target)),
        ("parts", "oracle train, oracle validation, intervention train, intervention validation, test".to_owned()),
        ("version", env!("CARGO_PKG_VERSION").to_owned()),
    ];
    let about = about.into_iter().map(|(k, v)| (k.to_owned(), v)).collect();
    let texts = texts.map(|_| stimuli.list.iter().map(|s| s.example).collect());
    Ok(States { h, labels, part, texts, twins, about })
}

impl States {
    /// The table as a safetensors file; the guide lists its tensors.
    ///
    /// # Errors
    /// [`SafeTensorError`], which does not happen for consistent shapes.
    pub fn to_bytes(&self) -> Result<Vec<u8>, SafeTensorError> {
        let floats = |m: &Matrix| -> Vec<u8> { m.data().iter().flat_map(|x| x.to_le_bytes()).collect() };
        let labels = |list: &[Option<usize>]| -> Vec<u8> {
            list.iter().flat_map(|l| l.map_or(-1, |l| l as i64).to_le_bytes()).collect()
        };
        let (n, d) = (self.h.rows(), self.h.cols());
        let mut fields: Vec<(&str, Dtype, Vec<usize>, Vec<u8>)> = vec![
            ("h", Dtype::F32, vec![n, d], floats(&self.h)),
            ("target", Dtype::I64, vec![n], labels(&self.labels.target)),
            ("other", Dtype::I64, vec![n], labels(&self.labels.other)),
            ("part", Dtype::U8, vec![n], self.part.clone()),
        ];
        for further in &self.labels.further {
            fields.push((further.id, Dtype::I64, vec![n], labels(&further.values)));
        }
        if let Some(texts) = &self.texts {
            let bytes = texts.iter().flat_map(|text| (*text as i64).to_le_bytes()).collect();
            fields.push(("text", Dtype::I64, vec![n], bytes));
        }
        if let Some(twins) = &self.twins {
            fields.push(("counterfactual", Dtype::F32, vec![n, d], floats(twins)));
        }
        let views = fields
            .iter()
            .map(|(name, dtype, shape, bytes)| TensorView::new(*dtype, shape.clone(), bytes).map(|view| (*name, view)));
        safetensors::serialize(views.collect::<Result<Vec<_>, _>>()?, Some(self.about.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::NoPulse;
    use model::{Device, ModelSource};
    use safetensors::SafeTensors;

    #[test]
    fn states_table_matches_the_experiment() {
        let source: ModelSource = "bert-tiny".parse().unwrap();
        let model = Model::load(&source, Device::Cpu).unwrap();
        let mut spec = Spec::shipped();
        spec.task.examples = 400;
        let states = read(&spec, &model, &mut NoPulse).unwrap();
        let bytes = states.to_bytes().unwrap();
        let file = SafeTensors::deserialize(&bytes).unwrap();
        let n = states.h.rows();
        assert!(n >= 390);
        assert_eq!(file.tensor("h").unwrap().shape(), [n, model.arch().hidden]);
        assert_eq!(file.tensor("counterfactual").unwrap().shape(), [n, model.arch().hidden]);
        let split = Split::new(n, spec.seed).unwrap();
        let test: Vec<usize> = (0..n).filter(|i| file.tensor("part").unwrap().data()[*i] == 4).collect();
        let mut want = split.test().rows().to_vec();
        want.sort_unstable();
        assert_eq!(test, want);
        assert!(file.tensor("subject_animacy").is_err(), "the spec does not request it");
        let other = file.tensor("other").unwrap();
        let none = other.data().chunks(8).filter(|b| *b == (-1i64).to_le_bytes()).count();
        assert_eq!(none, states.labels.other.iter().filter(|o| o.is_none()).count());
        // Counterfactuals have different states, and exist only if the target is the number of the subject.
        assert!(states.twins.unwrap() != states.h);
        spec.task.also = vec!["subject_animacy".into()];
        let bytes = read(&spec, &model, &mut NoPulse).unwrap().to_bytes().unwrap();
        let file = SafeTensors::deserialize(&bytes).unwrap();
        let animacy = file.tensor("subject_animacy").unwrap();
        assert_eq!(animacy.shape(), [n]);
        assert!(animacy.data().chunks(8).all(|b| (0..3).contains(&i64::from_le_bytes(b.try_into().unwrap()))));
        spec.task.target = "attractor_number".into();
        assert!(read(&spec, &model, &mut NoPulse).unwrap().twins.is_none());
    }
}
