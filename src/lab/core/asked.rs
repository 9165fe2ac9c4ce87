//! Questions to an experiment: one that waits is answered between batches of a run; one that is asked twice, on a share of the
//! examples and then on all, costs once where both answers are the same.

use super::fault::Fault;
use super::finding::Finding;
use super::host::{Channel, NoticeLevel, Share};

/// Answers the question that waits, if any; `is_final` where no better answer follows. One that cannot be answered becomes a
/// notice: it must not end the run beneath it.
///
/// # Errors
/// [`Fault::Cancelled`] where the run is to stop.
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

/// The latest question with its answer, for experiments that answer on all examples at once: the second answer would only
/// repeat the first.
#[derive(Debug)]
pub struct Latest<K, Q>(Option<(Q, Vec<Finding<K>>)>);

impl<K, Q> Default for Latest<K, Q> {
    fn default() -> Self {
        Self(None)
    }
}

impl<K: Clone, Q: Clone + PartialEq> Latest<K, Q> {
    /// Forgets the answer: the next one to the same question will be better.
    pub fn forget(&mut self) {
        self.0 = None;
    }

    /// The answer to a question: the one already computed on a share of the examples, or that of `answer`.
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
