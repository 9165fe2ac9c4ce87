//! The opening screen: questions and the screens that answer them, recorded sessions, and available models.

mod draw;
#[cfg(test)]
mod tests;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout as Split, Rect};

use crate::action::{Effect, Mouse};
use crate::commands::{Context, Entry, always, live, rows};
use crate::panes::listing::Listing;
use crate::panes::table;
use crate::reduce::look;
use crate::screen::{Pane, Screen, ScreenId};
use crate::screens::{SCREENS, open_model};
use crate::setup;
use crate::state::{Prompt, Recording, Start, State};
use base::text::{printable, width};
use session::shelf::{Change, Recorded};

pub const ID: ScreenId = ScreenId("home");
pub const LABS: Pane = Pane("Labs");
pub const SESSIONS: Pane = Pane("Sessions");
pub const MODELS: Pane = Pane("Available models");

/// Width of the model list in addition to the names, in columns.
const MODEL_FACTS: u16 = 26;
/// Minimum width of the model list if there is space, so that its title fits.
const FEWEST_OF_MODELS: u16 = 42;

/// Empty: the frame keeps the cursors.
#[derive(Debug, Clone, Default)]
pub struct View;

impl View {
    pub fn new(_: &Start) -> Self {
        Self
    }
}

pub struct Home;

pub static SCREEN: Home = Home;

static TAB: &[Entry] = rows! { Context::Global;
    "home", "opening screen",
        "Shows the opening screen: the question of each lab, recorded sessions and models.",
        ["0", "alt-0"], None, always => show;
};

static COMMANDS: &[Entry] = rows! { Context::Screen(ID);
    "home-resume", "run from session", "Restores the runs and settings of the session under the cursor; the next run continues from there.",
        ["r"], Some(("go on", 2)), can_resume => resume;
};

static MENU: &[Entry] = rows! { Context::Menu(ID);
    "rename-session", "rename session", "Renames the session under the cursor; nothing is overwritten.",
        ["n"], None, can_change => |s| {
            let now = session_here(s).map_or(String::new(), |session| session.name.clone());
            look::ask_from(s, &RENAME, &now)
        };
    "delete-session", "delete session", "Deletes the session under the cursor, once its name has been typed.",
        ["d"], None, can_change => |s| look::ask(s, &DELETE);
};

static RENAME: Prompt = Prompt {
    label: "new name",
    hint: "of the session under the cursor",
    take: |s, text| change(s, Change::Rename(text.into())),
    follow: None,
};

static DELETE: Prompt = Prompt {
    label: "delete",
    hint: "type the session's name to delete it for good",
    take: |s, text| match session_here(s) {
        Some(session) if session.name == text.trim() => change(s, Change::Delete),
        Some(session) => Err(format!("the session is called {}", session.name)),
        None => Err("there is no session".into()),
    },
    follow: None,
};

/// True if the session under the cursor can be renamed or deleted; another command renames the current one.
fn can_change(state: &State) -> bool {
    let own = |name: &str| matches!(&state.recording, Recording::On(own) if own == name);
    state.focused(SESSIONS) && session_here(state).is_some_and(|session| !own(&session.name))
}

fn change(state: &mut State, change: Change) -> Result<Vec<Effect>, String> {
    let session = session_here(state).ok_or("there is no session")?;
    Ok(vec![Effect::ChangeSession(session.path.clone(), change)])
}

fn show(state: &mut State) -> Vec<Effect> {
    state.show(ID);
    vec![Effect::ListSessions]
}

fn answering() -> impl Iterator<Item = (&'static dyn Screen, &'static str)> {
    SCREENS.iter().filter_map(|s| s.question().map(|question| (*s, question)))
}

fn sessions(state: &State) -> Vec<&Recorded> {
    let text = |session: &Recorded| format!("{} {} {}", session.name, session.lab, session.about);
    let listed = |session: &&Recorded| table::occurs(state.place(ID), SESSIONS, &text(session));
    state.sessions.iter().flatten().filter(listed).collect()
}

/// Available models that match the filter, and whether the next run uses each.
fn models(state: &State) -> Vec<(String, bool)> {
    let mut all = setup::models(state);
    all.retain(|(name, _)| table::occurs(state.place(ID), MODELS, name));
    all
}

fn listing(state: &State, pane: Pane) -> Listing {
    let len = match pane {
        LABS => answering().count(),
        SESSIONS => sessions(state).len(),
        _ => models(state).len(),
    };
    Listing { len, cursor: state.place(ID).scrolled(pane) }
}

fn session_here(state: &State) -> Option<&Recorded> {
    let all = sessions(state);
    all.get(state.place(ID).scrolled(SESSIONS).min(all.len().checked_sub(1)?)).copied()
}

fn can_resume(state: &State) -> bool {
    live(state) && state.focused(SESSIONS) && session_here(state).is_some()
}

fn take(state: &mut State) -> Vec<Effect> {
    let pane = state.place(ID).focus;
    let at = state.place(ID).scrolled(pane);
    match pane {
        LABS => {
            let screen = answering().nth(at).map(|(screen, _)| screen);
            screen.map_or(Vec::new(), |screen| (screen.tab().run)(state))
        }
        SESSIONS if state.replay.is_some() => {
            state.view.toast = Some("a replay is open already; leave it first".into());
            Vec::new()
        }
        SESSIONS => {
            let here = session_here(state).map(|s| (s.path.clone(), s.name.clone()));
            here.map_or(Vec::new(), |(path, name)| {
                state.view.toast = Some(format!("reading {}", printable(&name)));
                vec![Effect::OpenSession(path)]
            })
        }
        _ => {
            if let Some((name, _)) = models(state).into_iter().nth(at) {
                open_model(state, &name);
            }
            Vec::new()
        }
    }
}

fn can_tick(state: &State) -> bool {
    live(state) && state.focused(MODELS) && !models(state).is_empty()
}

fn tick(state: &mut State) -> Vec<Effect> {
    let at = state.place(ID).scrolled(MODELS);
    models(state).into_iter().nth(at).map_or(Vec::new(), |(name, _)| setup::tick_model(state, &name))
}

fn resume(state: &mut State) -> Vec<Effect> {
    let Some((path, name)) = session_here(state).map(|s| (s.path.clone(), s.name.clone())) else { return Vec::new() };
    state.view.toast = Some(format!("reading {}: its runs will be restored", printable(&name)));
    state.view.reading = Some(name);
    vec![Effect::ResumeSession(path, None)]
}

impl Screen for Home {
    fn id(&self) -> ScreenId {
        ID
    }

    fn title(&self) -> &'static str {
        "Home"
    }

    fn tab(&self) -> &'static Entry {
        &TAB[0]
    }

    fn question(&self) -> Option<&'static str> {
        None
    }

    fn slots(&self) -> &'static [&'static [Pane]] {
        &[&[LABS], &[SESSIONS], &[MODELS]]
    }

    fn layout(&self, state: &State, body: Rect) -> Vec<(Pane, Rect)> {
        let rows = answering().count() as u16 + 3;
        let [labs, below] = Split::vertical([Constraint::Length(rows), Constraint::Fill(1)]).areas(body);
        // The model list is only as wide as its longest name requires, because session names are longer.
        let columns = self::models(state).iter().map(|(name, _)| width(name)).max().unwrap_or(0) as u16 + MODEL_FACTS;
        let columns = columns.max(FEWEST_OF_MODELS).min(below.width * 3 / 8);
        let [sessions, models] = Split::horizontal([Constraint::Fill(1), Constraint::Length(columns)]).areas(below);
        vec![(LABS, labs), (SESSIONS, sessions), (MODELS, models)]
    }

    fn draw(&self, pane: Pane, frame: &mut Frame, area: Rect, state: &State) {
        match pane {
            LABS => draw::labs(frame, area, state),
            SESSIONS => draw::sessions(frame, area, state),
            _ => draw::models(frame, area, state),
        }
    }

    fn commands(&self) -> &'static [Entry] {
        COMMANDS
    }

    fn menu(&self) -> &'static [Entry] {
        MENU
    }

    fn open(&self, state: &mut State, pane: Pane) -> Option<Vec<Effect>> {
        (listing(state, pane).len > 0).then(|| take(state))
    }

    fn about(&self, state: &State, pane: Pane) -> String {
        let key = |name| state.keymap.short_label(name);
        match pane {
            LABS if self.lab_here(state).is_some() => {
                format!("{} opens this lab; {} runs its experiment.", key("open"), key("run"))
            }
            LABS => format!("{} opens this screen.", key("open")),
            SESSIONS if session_here(state).is_some() => format!(
                "{} goes on from the last run of this session; {} shows the session again.",
                key("home-resume"),
                key("open")
            ),
            MODELS if setup::picks_models(state) => format!(
                "{} ticks the model for {}; {} opens its page.",
                key("select"),
                setup::next_run(state),
                key("open")
            ),
            _ => String::new(),
        }
    }

    fn lab_here(&self, state: &State) -> Option<ScreenId> {
        let (screen, _) = answering().nth(state.place(ID).scrolled(LABS)).filter(|_| state.focused(LABS))?;
        screen.setup().map(|_| screen.id())
    }

    fn ticks(&self, state: &State) -> Option<fn(&mut State) -> Vec<Effect>> {
        can_tick(state).then_some(tick)
    }

    fn filters(&self, pane: Pane) -> Option<Pane> {
        (pane != LABS).then_some(pane)
    }

    fn travel(&self, state: &mut State, pane: Pane, by: i64) -> Vec<Effect> {
        let len = listing(state, pane).len;
        state.place_mut(ID).travel(pane, by, len);
        Vec::new()
    }

    fn press(&self, state: &mut State, pane: Pane, area: Rect, mouse: Mouse) -> Vec<Effect> {
        let Some(row) = listing(state, pane).at(area, mouse.x, mouse.y) else { return Vec::new() };
        let again = state.place(ID).scrolled(pane) == row;
        state.place_mut(ID).scroll.insert(pane, row);
        match pane {
            MODELS => tick(state),
            _ if again => take(state),
            _ => Vec::new(),
        }
    }
}
