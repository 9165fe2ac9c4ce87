//! Actions, which change the screen's state, and effects, which the state requests.

use std::path::PathBuf;

use super::key::Key;
use super::screen::ScreenId;
use base::Problem;
use engine::Down;
use engine::board::Board;
use engine::message::{Command, Event, Notice};
use figure::{Figure, Format};
use labs::setting::KnownRelation;
use labs::{LabId, Spec};
use session::format::Entry;
use session::parts::watch::View;
use session::replay::Step;
use session::shelf::{Change, Recorded};

/// An input to the program, folded into the state by [`super::reduce::reduce`].
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// The program started: requests the models and runs the requested experiment.
    Start,
    Key(Key),
    /// A command was chosen by name rather than by key.
    Command(&'static str),
    Paste(String),
    Mouse(Mouse),
    /// The terminal's new size in columns and rows.
    Resize(u16, u16),
    Tick,
    Event(Box<Event>),
    /// The link to the engine went down (`Some`) or came back (`None`).
    Down(Option<Down>),
    EngineGone,
    Played(Step),
    /// Estimated duration of an experiment in seconds, if known.
    Forecast(Box<Spec>, Option<f64>),
    /// Relations in the user's files of facts and prompts; none if the files cannot be read.
    Relations(ScreenId, Vec<PathBuf>, Vec<KnownRelation>),
    Exported(Result<Exported, Problem>),
    /// Numbers of files that the export in progress has written and will write.
    Writing(usize, usize),
    Saved(Result<Saved, Problem>),
    /// Files that a screen requested were read or could not be read.
    Loaded(ScreenId, Result<Vec<Document>, Problem>),
    /// Recorded sessions, newest first.
    Sessions(Result<Vec<Recorded>, Problem>),
    /// A recorded session to continue was read or could not be read.
    Resumed(Result<Box<Resumed>, Problem>),
    /// The session's new name, or the reason why it could not be renamed.
    Named(Result<String, Problem>),
    /// Progress of the followed grid, or the reason why it cannot be read.
    Followed(Result<Box<View>, Problem>),
    /// Failed cells of the followed grid were resubmitted.
    Submitted(Result<String, Problem>),
    /// Text was copied to this destination.
    Copied(&'static str),
    RecordingFailed(Problem),
    /// A notice from this program rather than the engine.
    Notice(Notice),
}

/// A recorded session to continue.
#[derive(Debug, Clone, PartialEq)]
pub struct Resumed {
    pub name: String,
    pub spec: Spec,
    /// Recorded commands and events for rebuilding the session's board, without the results of the runs in `gone`.
    pub past: Vec<Entry>,
    /// Indices of the runs whose results the board has dropped.
    pub gone: Vec<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mouse {
    pub kind: MouseKind,
    /// Column from 0.
    pub x: u16,
    /// Row from 0.
    pub y: u16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MouseKind {
    Press,
    /// The mouse moved with the left button down.
    Drag,
    Release,
    ScrollUp,
    ScrollDown,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ReplayControl {
    /// True to pause.
    Pause(bool),
    /// Go to this time, in seconds from the start.
    Seek(f64),
    /// Play at this multiple of the original speed.
    Speed(f64),
}

/// A side effect that the loop carries out for the state.
#[allow(clippy::large_enum_variant, reason = "effects are few")]
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Send a command to the engine; the board has already processed it.
    Send(Command),
    Forecast(Box<Spec>),
    /// Read the relations in the user's files of facts and prompts.
    ReadRelations(ScreenId, Vec<PathBuf>),
    Export(Box<Export>, Existing),
    Save(Box<Document>, Existing),
    Load(ScreenId, Vec<PathBuf>),
    ListSessions,
    /// Rename or delete the recorded session in a file, then list all sessions again.
    ChangeSession(PathBuf, Change),
    /// Replay a recorded session on top of the current screen.
    OpenSession(PathBuf),
    /// Replay the shipped session of a lab on top of the current screen.
    OpenExample(LabId),
    /// Read a recorded session to continue it, with these settings or else with the settings of its last run.
    ResumeSession(PathBuf, Option<Box<Spec>>),
    /// Copy the measurements of the named session into the recording of this one.
    Adopt(String, Vec<Entry>),
    Note(String),
    NameSession(String),
    /// Reconnect to the engine now.
    TryLink,
    /// Capture the mouse, or leave it to the terminal.
    Mouse(bool),
    Copy(String),
    Replay(ReplayControl),
    Submit,
    Quit,
    /// Disconnect and end the program; a remote engine continues.
    Leave,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// Keep the existing files, and ask the user.
    Ask,
    Replace,
    /// Keep the existing files, and write under a free name.
    Keep,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    pub path: PathBuf,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Saved {
    Wrote(PathBuf),
    /// The file already exists; nothing was written.
    Exists(Box<Document>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct ExportOptions {
    pub look: figure::Options,
    /// File formats; never empty.
    pub formats: Vec<Format>,
    /// Folder relative to the working directory.
    pub folder: PathBuf,
}

impl Default for ExportOptions {
    fn default() -> Self {
        let look = figure::Options::default();
        Self { look, formats: vec![Format::Png, Format::Svg, Format::Csv], folder: PathBuf::new() }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Export {
    pub subject: Subject,
    pub options: ExportOptions,
}

/// The content of an export.
#[derive(Debug, Clone, PartialEq)]
pub enum Subject {
    Figure(Figure),
    /// The one-page report on a session: its name and its runs.
    Report(String, Board),
}

#[derive(Debug, Clone, PartialEq)]
pub enum Exported {
    Wrote(Vec<PathBuf>),
    /// These files already exist; nothing was written.
    Exists(Box<Export>, Vec<PathBuf>),
}
