//! Live questions to an experiment. A pending question is answered between batches, first on a subset of the examples and then on all of
//! them. If both answers would be the same, only one is computed.

use super::fault::Fault;
use super::finding::Finding;
use super::host::{Channel, NoticeLevel, Share};

/// Answers the pending question, if any. `is_final` is true if no better answer will follow. A question that cannot be answered becomes a
/// notice and does not end the run.
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

/// Caches the latest question and answer, for experiments whose first answer already uses all examples.
#[derive(Debug)]
pub struct Latest<K, Q>(Option<(Q, Vec<Finding<K>>)>);

impl<K, Q> Default for Latest<K, Q> {
    fn default() -> Self {
        Self(None)
    }
}

impl<K: Clone, Q: Clone + PartialEq> Latest<K, Q> {
    /// Clears the cache because a better answer has become possible.
    pub fn forget(&mut self) {
        self.0 = None;
    }

    /// Returns the cached answer, or computes it with `answer`.
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
