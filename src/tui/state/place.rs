//! Focus and cursor on a screen.

use std::collections::BTreeMap;

use crate::panes::table::Listed;
use crate::screen::Pane;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub focus: Pane,
    /// True if the focused pane fills the screen.
    pub zoom: bool,
    /// Cursor line of the settings.
    pub row: usize,
    /// True if all settings are shown as a form.
    pub form: bool,
    /// Pane that regains the focus when the form closes.
    pub(crate) before_form: Option<Pane>,
    /// Pane last visible in each slot, by the slot's first pane.
    pub tabs: BTreeMap<Pane, Pane>,
    pub listed: BTreeMap<Pane, Listed>,
    /// Cursor of a list, or number of lines scrolled off, by pane.
    pub scroll: BTreeMap<Pane, usize>,
    /// Setting that rejected the last value, and the reason; cleared by the next key.
    pub refused: Option<(String, String)>,
}

impl Place {
    pub(super) fn at(focus: Pane) -> Self {
        let (scroll, tabs) = (BTreeMap::new(), BTreeMap::new());
        let (listed, before_form) = (BTreeMap::new(), None);
        Self { focus, zoom: false, row: 0, form: false, before_form, tabs, listed, scroll, refused: None }
    }

    /// The visible pane of a slot.
    pub fn shown(&self, slot: &[Pane]) -> Pane {
        if slot.contains(&self.focus) {
            return self.focus;
        }
        let last = self.tabs.get(&slot[0]).copied().filter(|pane| slot.contains(pane));
        last.unwrap_or(slot[0])
    }

    /// The cursor of a list, or the number of lines scrolled off.
    pub fn scrolled(&self, pane: Pane) -> usize {
        self.scroll.get(&pane).copied().unwrap_or(0)
    }

    pub fn travel(&mut self, pane: Pane, by: i64, len: usize) {
        let at = self.scroll.entry(pane).or_default();
        *at = moved(*at, by, len);
    }
}

/// A cursor moved within `len` entries.
pub fn moved(at: usize, by: i64, len: usize) -> usize {
    let last = len.saturating_sub(1) as i64;
    (at as i64).saturating_add(by).clamp(0, last) as usize
}
