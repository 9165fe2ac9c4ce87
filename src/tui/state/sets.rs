//! The data lab: which sets there are, which one is under the cursor, and what is being asked.

use super::State;
use crate::engine::board::DataDossier;
use crate::engine::data::DataWaiting;

impl State {
    /// The sets of the data lab: the built-in ones, then those that were asked about.
    pub fn listed_sets(&self) -> Vec<String> {
        let mut names: Vec<String> = self.catalog.sets.iter().map(|s| s.id.clone()).collect();
        let asked = self.board.sets.iter().map(|d| &d.set);
        let more: Vec<String> = asked.filter(|s| !names.contains(s)).cloned().collect();
        names.extend(more);
        names
    }

    /// The set under the cursor of the data lab.
    pub fn set_here(&self) -> Option<String> {
        let mut names = self.listed_sets();
        let at = self.view.data_row.min(names.len().checked_sub(1)?);
        Some(names.swap_remove(at))
    }

    /// What is known of the set under the cursor.
    pub fn data_here(&self) -> Option<&DataDossier> {
        self.board.set_of(&self.set_here()?)
    }

    /// The question about data that is being answered: the one that has reported last, or else the oldest.
    pub fn data_waiting(&self) -> Option<&DataWaiting> {
        if self.replay.is_some() {
            return None;
        }
        let all = || self.board.sets.iter().flat_map(|d| &d.waiting);
        all()
            .filter(|w| w.progress.is_some())
            .min_by_key(|w| w.ticket)
            .or_else(|| all().min_by_key(|w| w.ticket))
    }

    /// Whether everything that is asked about data is being cancelled.
    pub fn stopping_data(&self) -> bool {
        self.cancelling_data == Some(self.board.ticket) && self.data_waiting().is_some()
    }
}
