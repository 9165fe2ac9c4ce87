//! Files of the user's own interventions, read once for a run.

use std::sync::Arc;

use super::prepare::Bench;
use crate::Host;
use crate::method::{InterventionError, Method};
use base::Problem;
use lab::fault::Fault;
use lab::host::NoticeLevel;
use probe::given::{Content, Given};

impl Bench {
    /// Reads the file of a method that needs one, and reports its hash.
    ///
    /// # Errors
    /// [`Fault::Failed`] if the spec names no file, or the file cannot be used.
    pub(crate) fn load_given(&mut self, method: &Method, host: &mut Host<'_>) -> Result<(), Fault> {
        if !method.needs.file || self.given.iter().any(|(id, _)| *id == method.id) {
            return Ok(());
        }
        let refuse =
            |what: String, hint: &str| -> Fault { Problem::new(what, format!("method {}", method.id), hint).into() };
        let spec = self.spec.methods.iter().find(|m| m.name == method.id);
        let path = spec.and_then(|m| Some((m.file_path()?, m.file.clone()?)));
        let Some((path, named)) = path else {
            let what = format!("{} needs a file, but the spec names none", method.title);
            return Err(refuse(
                what,
                "choose its file in the settings, or set `file` in its [[method]] table in the spec",
            ));
        };
        host.poll()?;
        let given =
            Given::read(&path).map_err(|e| refuse(e.to_string(), "`probity states --help` describes its format"))?;
        let held = match &given.content {
            Content::Directions(d) => format!("{} directions of size {}", d.rows(), d.cols()),
            Content::States(s) => format!("{} x {} states of size {}", s.len(), s[0].rows(), s[0].cols()),
        };
        let all = self.stimuli.list.len();
        if let Content::States(states) = &given.content
            && states[0].rows() != all
        {
            let what =
                format!("{named}: its `states` have {} rows, but the experiment has {all} examples", states[0].rows());
            return Err(refuse(what, "regenerate the table with `probity states` from this spec, then edit it"));
        }
        let what = format!("{named}: {held}, SHA-256 {}", given.sha256.get(..12).unwrap_or_default());
        let place = format!("method {}", method.id);
        host.notice(NoticeLevel::Info, Problem::new(what, place, ""))?;
        self.given.push((method.id, Arc::new(given)));
        Ok(())
    }

    /// The error of a failed fit, with the name of the method's file if that is the cause.
    pub(crate) fn not_fitted(&self, method: &Method, error: InterventionError) -> Fault {
        let file = self.spec.methods.iter().find(|m| m.name == method.id).and_then(|m| m.file.as_ref());
        match (error, file) {
            (InterventionError::Given(why), Some(file)) => Problem {
                what: format!("{file}: {why}"),
                r#where: format!("method {}", method.id),
                hint: "`probity states --help` describes its format".into(),
            }
            .into(),
            (error, _) => error.into(),
        }
    }

    /// Content of a method's file, once read.
    pub(crate) fn given_to(&self, method: &Method) -> Option<&Content> {
        self.given.iter().find(|(id, _)| *id == method.id).map(|(_, given)| &given.content)
    }
}
