//! Events that later events replace. A recorder omits most of them, and the journal of a remote engine drops them.

use super::identity::identity;
use engine::message::{Answer, Event, Generation};
use labs::Body;

/// Subject of an event, which a later event on the same subject replaces.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Slot {
    Progress,
    /// The answer to the latest question about a run.
    Answer,
    /// A finding, by its identity.
    Finding(String),
}

impl Slot {
    /// Returns the subject of an event in the run of this generation, with the number of the question that it answers; `None` if no later
    /// event replaces the event. Events of other runs are kept because a board counts them. Comparisons are kept because every one counts
    /// as a look at the data.
    pub fn new(event: &Event, current: Generation) -> Option<(Self, u64)> {
        match event {
            Event::Progress { generation, .. } if *generation == current => Some((Self::Progress, 0)),
            // An answer before the first run belongs to no run, but boards count it.
            Event::Answer { ticket, answer: Answer::Experiment { generation, .. } }
                if *generation == current && current > 0 =>
            {
                Some((Self::Answer, *ticket))
            }
            Event::Finding { generation, finding }
                if *generation == current && matches!(finding.body, Body::Lab(_)) =>
            {
                let stays = labs::by_id(finding.lab).compared(finding).is_some();
                Self::replaced(event, current).filter(|_| !stays).map(|slot| (slot, 0))
            }
            _ => None,
        }
    }

    /// Subject of a finding in the run of this generation. The finding replaces earlier events on this subject even if it is kept itself.
    pub fn replaced(event: &Event, current: Generation) -> Option<Self> {
        let Event::Finding { generation, finding } = event else { return None };
        if *generation != current || !matches!(finding.body, Body::Lab(_)) {
            return None;
        }
        let body = serde_json::to_value(finding).ok()?;
        identity(finding.lab, &finding.model, &body).map(Self::Finding)
    }
}
