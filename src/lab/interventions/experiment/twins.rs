//! States of the test examples' true counterfactuals ("twins"), read when a method requests them.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use super::prepare::Bench;
use crate::Host;
use crate::find;
use base::matrix::Matrix;
use base::{Cancelled, Problem};
use corpus::agreement::Position;
use corpus::task::Example;
use lab::fault::Fault;
use lab::hidden;
use lab::host::NoticeLevel;
use lab::stimuli::{Stimuli, StimuliError, Where};

impl Bench {
    /// Adds the states of the counterfactuals to all chunks read so far.
    ///
    /// # Errors
    /// [`Fault::Failed`] with the reason if there are no counterfactuals.
    pub(crate) fn attach_counterfactuals(&mut self, host: &mut Host<'_>) -> Result<(), Fault> {
        let mut begin = 0;
        for i in 0..self.chunks.len() {
            let end = begin + self.chunks[i].len();
            if self.chunks[i].twins.is_none() {
                let states = self.twin_states(begin..end, host)?;
                Arc::make_mut(&mut self.chunks[i]).twins = Some(states);
            }
            begin = end;
        }
        Ok(())
    }

    /// States of the counterfactuals of a range of test examples at the layer of the intervention, n x D.
    ///
    /// # Errors
    /// [`Fault::Failed`] with the reason if there are no counterfactuals.
    pub(crate) fn twin_states(&mut self, which: Range<usize>, host: &mut Host<'_>) -> Result<Matrix, Fault> {
        let twins = match &self.twins {
            Some(twins) => twins.clone(),
            None => {
                let twins = Arc::new(self.write_twins(host)?);
                self.twins = Some(twins.clone());
                twins
            }
        };
        hidden::hidden(&self.model, &twins, (self.site.layer, Where::Changed), &which.collect::<Vec<_>>(), host)
    }

    /// True if every test example has a counterfactual, and the model can read all of them.
    pub(crate) fn has_twins(&self, host: &mut Host<'_>) -> Result<bool, Cancelled> {
        let example = |row: &usize| &self.examples.examples[self.stimuli.list[*row].example];
        let all = self.test.len();
        // Tokens of two texts do not correspond.
        if self.spec.task.position == Position::Every {
            return Ok(false);
        }
        let written: Vec<Example> = self.test.iter().filter_map(|r| example(r).counterfactual()).collect();
        if !self.task.properties[self.labels.target_property].is_subject_number() || written.len() < all {
            return Ok(false);
        }
        match Stimuli::read(&self.model, &written, self.spec.task.long, 0, &mut |_, _| host.poll()) {
            Err(StimuliError::Cancelled(cancelled)) => Err(cancelled),
            twins => Ok(twins.is_ok_and(|twins| twins.list.len() == all)),
        }
    }

    /// The counterfactuals of all test examples, in order.
    fn write_twins(&self, host: &mut Host<'_>) -> Result<Stimuli, Fault> {
        let refuse = |what: String, hint: &str| -> Fault { Problem::new(what, "method counterfactual", hint).into() };
        if !self.task.properties[self.labels.target_property].is_subject_number() {
            let what = format!(
                "the counterfactual method can only change the subject's number, but the target is {}",
                self.spec.task.target
            );
            return Err(refuse(what, "set `task.target` to `subject_number`, or remove the method"));
        }
        let example = |row: &usize| &self.examples.examples[self.stimuli.list[*row].example];
        let written: Vec<Example> = self.test.iter().filter_map(|r| example(r).counterfactual()).collect();
        let (lacking, all) = (self.test.len() - written.len(), self.test.len());
        if lacking > 0 {
            let what = format!("{lacking} of {all} test examples have no twin");
            return Err(refuse(
                what,
                "give every row a `twin` (`probity data show` lists the keys), or remove the method",
            ));
        }
        let mut twins = Stimuli::read(&self.model, &written, self.spec.task.long, 0, &mut |_, _| host.poll())?;
        if twins.list.len() < all {
            let what = format!("{} cannot read {} of {all} twins", self.model.name(), all - twins.list.len());
            return Err(refuse(what, "they are too long, or lack a mask; remove the method"));
        }
        twins.tokens_per_batch = self.stimuli.tokens_per_batch;
        let part = self.split.oracle();
        let trained = part.train().iter().chain(part.validation());
        let seen: HashSet<&str> = trained.map(|r| example(r).prefix.as_str()).collect();
        let known = written.iter().filter(|t| seen.contains(t.prefix.as_str())).count();
        let judged = self.spec.methods.iter().any(|m| find(&m.name).is_some_and(|m| m.needs.twins));
        if known > 0 && judged {
            let what = format!("{known} of {all} twins are also in the oracles' training data");
            let hint = "on these twins, the scores of the true counterfactual are slightly too high";
            host.notice(NoticeLevel::Info, Problem::new(what, "method counterfactual", hint))?;
        }
        Ok(twins)
    }
}
