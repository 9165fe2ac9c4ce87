//! A grid computed by other processes, with all shards as one live session. Results of finished cells are on their labs' screens.

mod draw;
#[cfg(test)]
mod tests;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout as Split, Rect};
use ratatui::text::Line;

use crate::action::{Effect, Mouse};
use crate::commands::{Context, Entry, rows};
use crate::panes::listing::Listing;
use crate::popups::{self, Picker, entries};
use crate::screen::{Pane, Screen, ScreenId};
use crate::state::{Followed, Start, State};
use session::parts::watch::{Pace, View as Grid};

pub const ID: ScreenId = ScreenId("shards");
pub const CELLS: Pane = Pane("Cells");
pub const SHARDS: Pane = Pane("Shards");
pub const FAILED: Pane = Pane("Failed");

/// Empty: the frame keeps the cursors.
#[derive(Debug, Clone, Default)]
pub struct View;

impl View {
    pub fn new(_: &Start) -> Self {
        Self
    }
}

pub struct Shards;

pub static SCREEN: Shards = Shards;

static TAB: &[Entry] = rows! { Context::Global;
    "shards", "shards of the grid",
        "Shows the progress of the grid that `probity --follow DIR` follows: its cells, its shards and its failures.",
        ["7", "alt-7"], None, follows => |s| { s.show(ID); Vec::new() };
};

static COMMANDS: &[Entry] = rows! { Context::Screen(ID);
    "submit-again", "run failed cells again",
        "Resubmits failed cells, and unfinished cells of ended jobs, to Slurm; asks first.",
        ["r"], Some(("submit again", 1)), can_submit => ask;
};

fn follows(state: &State) -> bool {
    state.followed.is_some()
}

fn grid(state: &State) -> Option<&Grid> {
    state.followed.as_ref().map(|followed| &followed.view)
}

/// True if cells failed, or an ended shard left cells unfinished.
fn can_submit(state: &State) -> bool {
    let Some(Followed { view, submitting: false, .. }) = &state.followed else { return false };
    let ended = || view.shards.iter().any(|s| s.pace != Pace::Running);
    !view.failed.is_empty() || !view.lost.is_empty() || view.waiting > 0 && ended()
}

fn ask(state: &mut State) -> Vec<Effect> {
    popups::pick(state, &Again, 1)
}

pub(crate) struct Again;

impl Picker for Again {
    fn name(&self) -> &'static str {
        "submit-again"
    }

    fn title(&self, state: &State) -> String {
        let failed = grid(state).map_or(0, |view| view.failed.len());
        match failed {
            0 => "Resubmit abandoned cells?".into(),
            1 => "Submit the failed cell again?".into(),
            n => format!("Submit {n} failed cells again?"),
        }
    }

    fn lines(&self, state: &State, selected: usize) -> Vec<Line<'static>> {
        let texts = ["Resubmit the jobs of these cells with sbatch; running jobs are left alone", "Back"];
        entries(state, selected, texts.iter().map(|t| (*t).to_owned()))
    }

    fn take(&self, state: &mut State, entry: usize) -> Vec<Effect> {
        let Some(followed) = state.followed.as_mut().filter(|_| entry == 0) else { return Vec::new() };
        followed.submitting = true;
        state.view.toast = Some("submitting".into());
        vec![Effect::Submit]
    }
}

fn listing(state: &State, pane: Pane) -> Listing {
    let len = grid(state).map_or(0, |view| if pane == FAILED { view.failed.len() } else { view.shards.len() });
    Listing { len, cursor: state.place(ID).scrolled(pane) }
}

impl Screen for Shards {
    fn id(&self) -> ScreenId {
        ID
    }

    fn title(&self) -> &'static str {
        "Shards"
    }

    fn tab(&self) -> &'static Entry {
        &TAB[0]
    }

    fn watches(&self) -> bool {
        true
    }

    fn question(&self) -> Option<&'static str> {
        None
    }

    fn slots(&self) -> &'static [&'static [Pane]] {
        &[&[CELLS], &[SHARDS], &[FAILED]]
    }

    fn layout(&self, state: &State, body: Rect) -> Vec<(Pane, Rect)> {
        let wanted = draw::rows(state, body.width).saturating_add(2).min(body.height / 2).max(3);
        // The rows contain cell names, so they need the whole width.
        let begun = u16::try_from(listing(state, SHARDS).len).unwrap_or(u16::MAX).saturating_add(3).max(5);
        let begun = begun.min(body.height.saturating_sub(wanted) / 2);
        let rows = [Constraint::Length(wanted), Constraint::Length(begun), Constraint::Fill(1)];
        let [cells, shards, failed] = Split::vertical(rows).areas(body);
        vec![(CELLS, cells), (SHARDS, shards), (FAILED, failed)]
    }

    fn draw(&self, pane: Pane, frame: &mut Frame, area: Rect, state: &State) {
        let Some(followed) = &state.followed else { return };
        match pane {
            CELLS => draw::cells(frame, area, state, followed),
            SHARDS => draw::shards(frame, area, state, followed),
            _ => draw::failed(frame, area, state, followed),
        }
    }

    fn commands(&self) -> &'static [Entry] {
        COMMANDS
    }

    fn travel(&self, state: &mut State, pane: Pane, by: i64) -> Vec<Effect> {
        let len = if pane == CELLS { 1 } else { listing(state, pane).len };
        state.place_mut(ID).travel(pane, by, len);
        Vec::new()
    }

    fn press(&self, state: &mut State, pane: Pane, area: Rect, mouse: Mouse) -> Vec<Effect> {
        if pane != CELLS
            && let Some(row) = listing(state, pane).at(area, mouse.x, mouse.y)
        {
            state.place_mut(ID).scroll.insert(pane, row);
        }
        Vec::new()
    }
}
