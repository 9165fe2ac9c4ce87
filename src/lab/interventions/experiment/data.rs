//! Reports the data of a bench: the data finding, and notices of examples that are dropped, cut or taken token by token.

use super::prepare::Bench;
use super::scale::scale;
use crate::Host;
use crate::finding::{DataFinding, FurtherData, Kind, TokensFinding};
use base::Problem;
use figure::layers::grouped;
use lab::fault::Fault;
use lab::host::NoticeLevel;
use lab::plan::Roles;
use lab::stimuli::Stimuli;

impl Bench {
    /// Reports how many examples the model reads only in part.
    fn tell_of_long_texts(&self, host: &mut Host<'_>) -> Result<(), Fault> {
        let (cut, all, most) = (self.stimuli.long, self.examples.examples.len(), self.model.arch().max_positions);
        if cut == 0 {
            return Ok(());
        }
        let what = format!(
            "{cut} of {all} examples are longer than the {most} tokens that the model can read: they {}",
            self.spec.task.long.done()
        );
        let hint = "to change this, set task.long to drop, truncate or window";
        Ok(host.notice(NoticeLevel::Info, Problem::new(what, self.model.name(), hint))?)
    }

    /// Reports the rows of a run at every token.
    fn tell_of_tokens(&self, host: &mut Host<'_>) -> Result<(), Fault> {
        let Some(texts) = &self.texts else { return Ok(()) };
        let what = format!(
            "{} tokens of {} texts are used, at most {} per text ({} tokens left out); each token has the labels of its text and equal weight; probes are validated on one token of each text, and intervals are computed over texts",
            grouped(self.stimuli.list.len()),
            grouped(texts.parts().iter().sum()),
            texts.per_text,
            grouped(texts.left_out)
        );
        let hint = "to change the numbers, set task.tokens_per_text or task.tokens_per_part";
        Ok(host.notice(NoticeLevel::Info, Problem::new(what, "task.position", hint))?)
    }

    pub(crate) fn report_data(&self, host: &mut Host<'_>) -> Result<(), Fault> {
        let part = self.texts.as_ref().map_or_else(|| self.split.oracle().clone(), |texts| texts.oracle());
        let before: Vec<usize> = part.train().iter().chain(part.validation()).copied().collect();
        let kept = self.oracle_part(Roles::Target)?;
        let after: Vec<usize> = kept.train().iter().chain(kept.validation()).copied().collect();
        let names = |values: &[&str]| values.iter().map(|v| (*v).to_owned()).collect();
        let target = self.labels.target_property;
        if let Some(source) = self.source.as_ref().filter(|s| s.lost() > 0) {
            let what = format!("{} of {} rows in {} were dropped", source.lost(), source.rows, source.path);
            let hint = "run `probity data doctor` on the file for details";
            host.notice(NoticeLevel::Info, Problem::new(what, "task.data", hint))?;
        }
        let Stimuli { dropped_forms, dropped_texts, dropped_repeats, .. } = *self.stimuli;
        let dropped = dropped_forms + dropped_texts + dropped_repeats;
        if dropped > 0 {
            host.notice(
                NoticeLevel::Info,
                Problem::new(format!(
                        "{dropped} of {} examples were dropped ({dropped_forms} pairs of forms are not single tokens, {dropped_texts} \
                         texts cannot be read, {dropped_repeats} give the model the same input as another example)",
                        self.examples.examples.len()
                    ), self.model.name(), ""),
            )?;
        }
        self.tell_of_long_texts(host)?;
        self.tell_of_tokens(host)?;
        let body = Kind::Data(DataFinding {
            distance: self.spec.distance,
            long: self.stimuli.long,
            task: self.task.id.to_owned(),
            data_hash: self.examples.hash.chars().take(12).collect(),
            source: self.source.clone(),
            model_hash: self.model.hash().chars().take(12).collect(),
            layer: self.site.layer,
            layers: self.model.depth(),
            dim: self.model.embed_dim(),
            counts: self.labels.table(&self.test),
            target_values: names(self.task.properties[target].values),
            other_values: names(self.task.properties[1 - target].values),
            n_oracle: (before.len(), after.len()),
            n_intervention: self.split.intervention().train().len(),
            n_test: self.test.len(),
            phi: (self.labels.phi(&before), self.labels.phi(&after)),
            scale: scale(&self.chunks[0].h),
            further: self.further_data(&before)?,
            tokens: self.texts.as_ref().map(|texts| TokensFinding {
                per_text: texts.per_text,
                texts: texts.parts(),
                left_out: texts.left_out,
            }),
        });
        let finding = self.label.finding(self.stimuli.list.len(), true, host.elapsed(), body);
        Ok(host.find(finding)?)
    }

    /// Data of each further property; `oracle` are the rows of the oracles' part.
    fn further_data(&self, oracle: &[usize]) -> Result<Vec<FurtherData>, Fault> {
        let one = |j: usize| -> Result<FurtherData, Fault> {
            let (role, labels) = (Roles::Further(j), &self.labels);
            let kept = self.oracle_part(role)?;
            let kept: Vec<usize> = kept.train().iter().chain(kept.validation()).copied().collect();
            let values = self.task.further[labels.further[j].property].values;
            Ok(FurtherData {
                property: self.property(role).to_owned(),
                values: values.iter().map(|v| (*v).to_owned()).collect(),
                counts: labels.table_with(role, &self.test),
                n_oracle: kept.len(),
                phi: (labels.phi_with(role, oracle), labels.phi_with(role, &kept)),
            })
        };
        (0..self.labels.further.len()).map(one).collect()
    }
}
