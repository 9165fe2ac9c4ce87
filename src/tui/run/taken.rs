//! Handles waiting items of the engine or a recording together, so that the screens are updated only once.

use super::App;
use super::link::{Feed, Item};
use crate::action::Action;
use crate::reduce::{apply, derive, is_shown};
use session::replay::Step;

/// Maximum number of engine events handled before input is checked again.
const BATCH: usize = 256;

impl App {
    /// Handles this item of the replay on top, and all others already waiting.
    pub(super) fn take_over(&mut self, first: Item, feed: &mut Feed) {
        let mut next = Some(first);
        while let (Some(Item::Step(step)), true) = (next.take(), self.over.is_some()) {
            let Some(over) = &mut self.over else { break };
            let effects = apply(&mut over.state, Action::Played(step));
            self.carry_out(effects, true);
            next = feed.try_next();
        }
        if let Some(over) = &mut self.over {
            derive(&mut over.state);
        }
        self.leave_example();
        if self.over.is_none() || matches!(next, Some(Item::End)) {
            *feed = Feed::Closed;
        }
    }

    /// Handles this item of the source, and others already waiting.
    pub(super) fn take(&mut self, first: Item, feed: &mut Feed) {
        let mut next = Some(first);
        let (mut taken, mut shown) = (0, false);
        while let Some(item) = next {
            match item {
                Item::Event(event) => {
                    if let Some(action) = self.link.record(&event, self.started) {
                        self.dispatch(action);
                    }
                    shown |= self.apply(Action::Event(Box::new(event)));
                }
                Item::Step(step) => shown |= self.apply(Action::Played(step)),
                Item::Action(action) => self.dispatch(action),
                Item::End => {
                    *feed = Feed::Closed;
                    match &self.state.replay {
                        None => self.dispatch(Action::EngineGone),
                        Some(replay) if replay.live => self.dispatch(Action::Played(Step::Ended)),
                        Some(_) => {}
                    }
                }
            }
            taken += 1;
            next = if taken < BATCH && !self.quit { feed.try_next() } else { None };
        }
        if shown {
            derive(&mut self.state);
        }
    }

    /// Handles one of several items. True if [`derive`] must follow.
    fn apply(&mut self, action: Action) -> bool {
        let shown = is_shown(&action);
        let effects = apply(&mut self.state, action);
        self.carry_out(effects, false);
        shown
    }
}
