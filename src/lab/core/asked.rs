//! Questions to an experiment: a waiting one is answered between batches of a run; one that is asked twice, first on a
//! share of the examples and then on all, is computed once if both answers are the same.

use super::fault::Fault;
use super::finding::Finding;
use super::host::{Channel, NoticeLevel, Share};

/// Answers the waiting question, if any; `is_final` if no better answer follows. A question that cannot be answered
/// becomes a notice: it must not end the run.
///
/// # Errors
/// [`Fault::Cancelled`] if the run must stop.
pub fn serve<K, Q>(
    host: &mut dyn Channel<K, Q>,
    is_final: bool,
    answer: impl FnOnce(&Q, &mut dyn Channel<K, Q>) -> Result<Vec<Finding<K>>, Fault>,
) -> Result<(), Fault> {
    host.poll()?;
    let Some(waiting) = host.waiting() else { return Ok(()) };
    match answer(&waiting.question, host) {
        Ok(findings) => Ok(host.reply(waiting.ticket, findings, is_final)?),
        Err(Fault::Cancelled) => Err(Fault::Cancelled),
        Err(Fault::Failed(problem)) => Ok(host.notice(NoticeLevel::Error, problem)?),
    }
}

/// The latest question with its answer, for experiments that immediately answer on all examples: a second answer would
/// only repeat the first.
#[derive(Debug)]
pub struct Latest<K, Q>(Option<(Q, Vec<Finding<K>>)>);

impl<K, Q> Default for Latest<K, Q> {
    fn default() -> Self {
        Self(None)
    }
}

impl<K: Clone, Q: Clone + PartialEq> Latest<K, Q> {
    /// Forgets the answer, because the next one to the same question will be better.
    pub fn forget(&mut self) {
        self.0 = None;
    }

    /// The answer to a question: the cached one, or the result of `answer`.
    pub fn answer(
        &mut self,
        question: &Q,
        share: Share,
        answer: impl FnOnce() -> Result<Vec<Finding<K>>, Fault>,
    ) -> Result<Vec<Finding<K>>, Fault> {
        if let Some((asked, findings)) = self.0.take()
            && share == Share::All
            && asked == *question
        {
            return Ok(findings);
        }
        let findings = answer()?;
        if share == Share::Quick {
            self.0 = Some((question.clone(), findings.clone()));
        }
        Ok(findings)
    }
}
