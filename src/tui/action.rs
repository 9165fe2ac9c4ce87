//! Actions, which change the screen, and effects, which it requests.

use std::path::PathBuf;

use super::key::Key;
use super::screen::ScreenId;
use base::Problem;
use engine::Down;
use engine::message::{Command, Event, Notice};
use figure::{Figure, Format};
use labs::{LabId, Spec};
use session::format::Entry;
use session::parts::watch::View;
use session::replay::Step;
use session::shelf::{Change, Recorded};

/// Something that happened. [`super::reduce::reduce`] folds it into the state.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// The program has started: ask for the models and run the experiment that was asked for.
    Start,
    /// A key was pressed.
    Key(Key),
    /// A command was chosen by its name rather than its key.
    Command(&'static str),
    /// Text was pasted.
    Paste(String),
    /// The mouse did something at a cell.
    Mouse(Mouse),
    /// The terminal has a new size in columns and rows.
    Resize(u16, u16),
    /// A moment has passed while something is animated.
    Tick,
    /// The engine reported something.
    Event(Box<Event>),
    /// The link to the engine is down, or no longer.
    Down(Option<Down>),
    /// The engine takes no more commands.
    EngineGone,
    /// A recording advanced by a step.
    Played(Step),
    /// Seconds that the experiment of the first start would take, if they are known.
    Forecast(Option<f64>),
    /// A figure was written, or could not be.
    Exported(Result<Exported, Problem>),
    /// A document was written, or could not be.
    Saved(Result<Saved, Problem>),
    /// Files that a screen asked for were read, or could not be.
    Loaded(ScreenId, Result<Vec<Document>, Problem>),
    /// The sessions that were recorded, newest first.
    Sessions(Result<Vec<Recorded>, Problem>),
    /// A recorded session was read, to go on with, or could not be.
    Resumed(Result<Box<Resumed>, Problem>),
    /// The session was named, or could not be.
    Named(Result<String, Problem>),
    /// Progress of the followed grid, or the reason why it cannot be read.
    Followed(Result<Box<View>, Problem>),
    /// Cells of that grid were submitted again, or could not be.
    Submitted(Result<String, Problem>),
    /// Text was copied; with its destination.
    Copied(&'static str),
    /// The session is no longer being recorded.
    RecordingFailed(Problem),
    /// A notice that does not come from the engine.
    Notice(Notice),
}

/// A recorded session to continue.
#[derive(Debug, Clone, PartialEq)]
pub struct Resumed {
    /// Its name.
    pub name: String,
    /// The settings to go on from.
    pub spec: Spec,
    /// Entries whose fold is its board, except for `gone`.
    pub past: Vec<Entry>,
    /// Indices of the runs whose results the board has dropped.
    pub gone: Vec<usize>,
}

/// A mouse event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mouse {
    /// Its result.
    pub kind: MouseKind,
    /// Column from 0.
    pub x: u16,
    /// Row from 0.
    pub y: u16,
}

/// A mouse event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MouseKind {
    /// The left button went down.
    Press,
    /// It moved with the left button down.
    Drag,
    /// The left button went up.
    Release,
    /// The wheel turned away from the user.
    ScrollUp,
    /// The wheel turned toward the user.
    ScrollDown,
}

/// Controls of a replay.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ReplayControl {
    /// Hold, or continue.
    Pause(bool),
    /// Go to this many seconds from the beginning.
    Seek(f64),
    /// Play at this multiple of the original speed.
    Speed(f64),
}

/// Something that the loop does for the state.
#[allow(clippy::large_enum_variant, reason = "effects are few")]
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Send a command to the engine; the board already has it.
    Send(Command),
    /// Measure how long an experiment would take.
    Forecast(Box<Spec>),
    /// Write a figure to files.
    Export(Box<Export>, Existing),
    /// Write a text to a file.
    Save(Box<Document>, Existing),
    /// Read the texts of files for a screen.
    Load(ScreenId, Vec<PathBuf>),
    /// List the recorded sessions.
    ListSessions,
    /// Rename or delete the recorded session in a file, and list them all again.
    ChangeSession(PathBuf, Change),
    /// Replay a recorded session on top of what is shown.
    OpenSession(PathBuf),
    /// Replay the shipped session of a lab on top of what is shown.
    OpenExample(LabId),
    /// Read a recorded session to continue, with these settings or else those of its last run.
    ResumeSession(PathBuf, Option<Box<Spec>>),
    /// Record the measurements of the session with this name as the past of this one.
    Adopt(String, Vec<Entry>),
    /// Write a note into the recorded session.
    Note(String),
    /// Give the recorded session a name.
    NameSession(String),
    /// Try the link to the engine now.
    TryLink,
    /// Take the mouse, or leave it to the terminal.
    Mouse(bool),
    /// Put text on the clipboard.
    Copy(String),
    /// Control the recording.
    Replay(ReplayControl),
    /// Resubmit the failed cells of the followed grid.
    Submit,
    /// End the program.
    Quit,
    /// End the program; a remote engine continues.
    Leave,
}

/// Choice for files that would be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// Leave them and ask.
    Ask,
    /// Replace them.
    Replace,
    /// Leave them and write under a free name.
    Keep,
}

/// A text with its source or target file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// The file.
    pub path: PathBuf,
    pub text: String,
}

/// The result of writing a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Saved {
    /// This file was written.
    Wrote(PathBuf),
    /// Its file already exists; nothing was written.
    Exists(Box<Document>),
}

/// Options for writing figures.
#[derive(Debug, Clone, PartialEq)]
pub struct ExportOptions {
    pub look: figure::Options,
    /// At least one.
    pub formats: Vec<Format>,
    /// Their folder, relative to the folder of the start.
    pub folder: PathBuf,
}

impl Default for ExportOptions {
    fn default() -> Self {
        let look = figure::Options::default();
        Self { look, formats: vec![Format::Png, Format::Svg, Format::Csv], folder: PathBuf::new() }
    }
}

/// A figure to write.
#[derive(Debug, Clone, PartialEq)]
pub struct Export {
    pub figure: Figure,
    pub options: ExportOptions,
}

/// The result of writing a figure.
#[derive(Debug, Clone, PartialEq)]
pub enum Exported {
    /// These files were written.
    Wrote(Vec<PathBuf>),
    /// These files already exist; nothing was written.
    Exists(Box<Export>, Vec<PathBuf>),
}
