//! `probity [tui]`: the terminal program, live or on a recording.

mod files;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use clap::Args;

use self::files::{export, load, save};
use super::error::CliError;
use super::{names, output};
use base::Problem;
use base::text::printable_label;
use base::{signals, size};
use engine::local::{Cache, LocalEngine, LocalOptions, MOST_MODELS};
use engine::message::{Notice, NoticeLevel};
use labs::{LABS, LabId, Spec};
use session::format::{Header, Session};
use session::record::Recorder;
use session::replay::Recorded;
use session::{SessionError, name, shelf};
use tui::keymap::Keymap;
use tui::memory::Memory;
use tui::run::{ExitReason, Options, Outside, Source};
use tui::state::{Glyphs, Opening, ReplayState, Start};
use tui::terminal;
use tui::theme::{Surroundings, Theme};

/// Options for the terminal's appearance.
#[derive(Debug, Clone, Default, Args)]
pub struct LookArgs {
    /// Name of a shipped theme [default: depends on NO_COLOR and the terminal's background].
    #[arg(long, value_name = "NAME")]
    pub theme: Option<String>,
    /// Leave the mouse to the terminal, for example to select text.
    #[arg(long)]
    pub(crate) no_mouse: bool,
    /// Draw charts with ASCII characters only.
    #[arg(long, conflicts_with = "blocks")]
    pub ascii: bool,
    /// Draw charts with half blocks, for fonts without Braille.
    #[arg(long)]
    pub blocks: bool,
}

/// Open the terminal program (the default).
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:
  probity
  probity --model gpt2-mini
  probity --model ./my-model --spec my-spec.toml --session first-look
  probity --follow grid")]
pub struct TuiArgs {
    /// Model to use at the start: a built-in name, a folder, or a hub id; several may be given.
    #[arg(long = "model", value_name = "MODEL")]
    pub models: Vec<String>,
    /// Experiment to open [default: the agreement experiment].
    #[arg(long, value_name = "SPEC.toml")]
    pub spec: Option<PathBuf>,
    /// Lab to open: interventions, prompts, power or saliency.
    #[arg(long, value_name = "LAB", conflicts_with = "spec")]
    pub lab: Option<String>,
    /// Name of the recorded session [default: lab and models of its first run].
    #[arg(long, value_name = "NAME", conflicts_with = "no_session")]
    pub session: Option<String>,
    /// Do not record a session.
    #[arg(long)]
    pub(crate) no_session: bool,
    /// Device: auto, cpu, cuda, cuda:N or metal.
    #[arg(long, default_value = "auto")]
    pub device: String,
    /// Precision in which models are kept: f32, or f16 and bf16 (half the memory, no gradients).
    #[arg(long, default_value = "f32")]
    pub dtype: String,
    /// Keep the memory of the process below this size, for example 2G: batches are made smaller, and a run that cannot fit is refused.
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub memory_limit: Option<u64>,
    /// Follow a grid that other processes compute, in the folder written by `probity run --out DIR`; with --remote, a folder on that
    /// machine.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["models", "spec", "session", "no_session", "device", "dtype", "memory_limit"])]
    pub follow: Option<PathBuf>,
    /// Options for a remote engine.
    #[command(flatten)]
    pub far: super::remote::RemoteArgs,
    /// Reconnect to the remote engine with this name; if a different client controls it, only watch.
    #[cfg(unix)]
    #[arg(long, value_name = "NAME", requires = "remote", conflicts_with_all = ["models", "spec", "device", "dtype", "memory_limit", "wait", "send", "follow"])]
    pub attach: Option<String>,
    /// Appearance of the screen.
    #[command(flatten)]
    pub look: LookArgs,
}

impl Default for TuiArgs {
    fn default() -> Self {
        Self {
            models: Vec::new(),
            spec: None,
            lab: None,
            session: None,
            no_session: false,
            device: "auto".into(),
            dtype: "f32".into(),
            memory_limit: None,
            follow: None,
            far: super::remote::RemoteArgs::default(),
            #[cfg(unix)]
            attach: None,
            look: LookArgs::default(),
        }
    }
}

/// Runs the terminal program on the local engine.
///
/// # Errors
/// [`CliError::Usage`] for invalid names and specs, [`CliError::Failed`] if the terminal fails.
pub fn live(args: &TuiArgs) -> Result<(), CliError> {
    if let Some(dir) = &args.follow {
        return super::follow::screen::live(args, dir);
    }
    #[cfg(unix)]
    if let Some(address) = &args.far.remote {
        return super::seat::live(args, address);
    }
    base::read::set_limit(args.memory_limit);
    let named = args.spec.is_some() || !args.models.is_empty() || args.lab.is_some();
    let spec = spec(args, true)?;
    let (device, dtype) = (names::device(&args.device)?, names::dtype(&args.dtype)?);
    let mut notices = Vec::new();
    let recorder = record(args, None, &spec, &mut notices)?;
    let options = LocalOptions {
        device,
        dtype,
        cache: Cache::user(),
        models: spec.models().to_vec(),
        memory_limit: args.memory_limit,
        most_models: MOST_MODELS,
        asked: true,
    };
    let foretold = options.clone();
    let engine = LocalEngine::start(options)
        .map_err(|e| CliError::Failed(format!("the engine's thread cannot be started: {e}")))?;
    let mut start = look(&args.look, &mut notices)?;
    start.spec = spec;
    match memory_file().map(|path| Memory::read(&path)) {
        Some(Ok(memory)) => start.memory = memory.map(|memory| unless_said(memory, &args.look)),
        Some(Err(problem)) => notices.push(Notice { level: NoticeLevel::Warning, problem }),
        None => {}
    }
    start.opening = match (named, &start.memory) {
        (true, _) => Opening::Work,
        (false, Some(_)) => Opening::Home,
        (false, None) => Opening::First,
    };
    start.recording = recorder.as_ref().map(Recorder::name);
    start.named = args.session.is_some();
    let recorder = recorder.map(|r| Box::new(r) as Box<dyn tui::recording::Recorder>);
    let forecast = Arc::new(move |spec: &Spec| {
        let all = engine::local::forecast(spec, foretold.clone()).ok()?;
        Some(all.iter().map(|forecast| forecast.seconds).sum::<f64>())
    });
    let outside = Outside { forecast, ..outside() };
    open_with(Source::Live(Box::new(engine), recorder), start, notices, !args.look.no_mouse, outside)
}

/// Returns the saved settings, except for those that the command line or the environment overrides.
fn unless_said(mut memory: Memory, args: &LookArgs) -> Memory {
    if args.ascii || args.blocks || plain_locale() {
        memory.glyphs.clear();
    }
    if args.theme.is_some() || std::env::var_os("NO_COLOR").is_some() {
        memory.theme.clear();
    }
    memory
}

/// True if the locale implies an ASCII-only terminal.
fn plain_locale() -> bool {
    let said = ["LC_ALL", "LC_CTYPE", "LANG"].iter().filter_map(|name| std::env::var(name).ok());
    said.into_iter().find(|value| !value.is_empty()).is_some_and(|value| value == "C" || value == "POSIX")
}

/// Returns the experiment to open; if it runs on this machine (`here`), its models and files must exist.
pub(super) fn spec(args: &TuiArgs, here: bool) -> Result<Spec, CliError> {
    let mut spec = match &args.spec {
        Some(path) => Spec::read(path)?,
        None => {
            let named = args.lab.as_deref().map(|name| LabId::named(name).ok_or(name)).transpose();
            let unknown = |name: &str| {
                let all: Vec<&str> = LABS.iter().map(|lab| lab.id().name()).collect();
                CliError::Usage(format!("--lab: `{}` is not one of {}", printable_label(name), all.join(", ")))
            };
            Spec::shipped(named.map_err(unknown)?.unwrap_or(LABS[0].id()))
        }
    };
    if !args.models.is_empty() {
        spec.common_mut().set_models(args.models.clone());
    }
    let origin = args.spec.as_ref().map_or("--model".into(), |p| p.display().to_string());
    if here {
        names::check(&spec, &origin)?
    } else {
        spec.check(&origin)?
    }
    Ok(spec)
}

/// Runs the terminal program on a recording, at its end, or from the beginning if a speed is given.
pub fn replay(session: Session, title: &str, speed: Option<f64>, args: &LookArgs) -> Result<(), CliError> {
    let mut notices: Vec<Notice> = session
        .losses
        .sentences()
        .into_iter()
        .map(|what| notice(what, title, "the rest of the recording is shown"))
        .collect();
    let mut start = look(args, &mut notices)?;
    if let Some(spec) = &session.header.spec {
        start.spec = spec.clone();
    }
    let (end, pace) = (session.duration(), speed.unwrap_or(1.0));
    start.replay = Some(ReplayState::new(title.to_owned(), end, pace));
    let kept = memory_file().and_then(|path| Memory::read(&path).ok().flatten());
    start.memory = kept.map(|memory| unless_said(memory, args));
    let recorded = Recorded::new(Arc::new(session), pace);
    if speed.is_none() {
        recorded.control().seek(end);
    }
    open(Source::Replay(recorded), start, notices, !args.no_mouse)
}

/// Work for the screen that is done on other threads.
pub(super) fn outside() -> Outside {
    Outside {
        forecast: Arc::new(|_| None),
        export: Arc::new(|wanted, existing, tell| export(wanted, Path::new("."), existing, tell)),
        sessions: Arc::new(sessions),
        save: Arc::new(|document, existing| save(document, Path::new("."), existing)),
        load: Arc::new(load),
        read: Arc::new(|path| Session::read(path).map_err(|e| problem(&e, "replay another session"))),
        submit: Arc::new(|| {
            let (what, hint) = ("no grid is being followed", "probity --follow DIR follows one");
            Err(Problem::new(what, "submit", hint))
        }),
    }
}

fn memory_file() -> Option<PathBuf> {
    Some(name::folder().ok()?.parent()?.join("state.toml"))
}

pub(super) fn open(source: Source, start: Start, notices: Vec<Notice>, mouse: bool) -> Result<(), CliError> {
    open_with(source, start, notices, mouse, outside())
}

pub(super) fn open_with(
    source: Source,
    start: Start,
    notices: Vec<Notice>,
    mouse: bool,
    outside: Outside,
) -> Result<(), CliError> {
    let options = Options {
        start,
        outside,
        copy: Box::new(terminal::copy),
        mouse: Box::new(terminal::mouse),
        frame: Box::new(terminal::synchronize),
        notices,
        stop: Box::pin(terminal::stop_signal()),
    };
    let live = matches!(source, Source::Live(..));
    let report = terminal::launch(source, options, mouse);
    if let (Ok(report), Some(path)) = (&report, memory_file()) {
        let kept = Memory::read(&path).ok().flatten();
        let glyphs = kept.as_ref().map_or(String::new(), |kept| kept.glyphs.clone());
        // A replay changes only the appearance in the saved settings, and saves nothing if there are none.
        let own = || kept.map(|kept| kept.with_look_of(&report.memory));
        let memory = if live { Some(report.memory.clone()) } else { own() };
        // ASCII characters that the locale requires are not the user's choice, so they are not saved.
        let memory = memory.map(|memory| if plain_locale() { Memory { glyphs, ..memory } } else { memory });
        // A failure to save affects only the next start, so it is ignored.
        let _ = memory.map(|memory| memory.write(&path));
    }
    if let Ok(report) = &report
        && let Some(line) = report.saved.as_deref().and_then(|name| saved(name, &name::folder().ok()?))
    {
        output::say(&line);
    }
    match report {
        Ok(tui::run::ExitReport { reason: ExitReason::User, unrecorded: Some(what), .. }) => {
            Err(CliError::Failed(format!("recording stopped before the end of the session: {what}")))
        }
        Ok(report) if report.reason == ExitReason::User => Ok(()),
        Ok(_) => Err(CliError::Cancelled),
        // If a signal was received, the terminal was closed, and drawing failed for that reason.
        Err(_) if signals::first().is_some() => Err(CliError::Cancelled),
        Err(e) => Err(CliError::Failed(e.to_string())),
    }
}

/// Message printed on quitting: the path of the session, and how to return to it. `None` if the session was not kept.
fn saved(name: &str, folder: &Path) -> Option<String> {
    let path = name::file(folder, name);
    let path = path.exists().then(|| output::full(&path))?;
    let name = printable_label(name);
    Some(format!("session saved: {path}\n`probity replay {name}` shows it; `probity` offers to continue it"))
}

pub(super) fn look(args: &LookArgs, notices: &mut Vec<Notice>) -> Result<Start, CliError> {
    let surroundings = Surroundings::read(|name| std::env::var(name).ok());
    let mut start = Start::new();
    start.folder = std::env::current_dir().unwrap_or_default();
    start.themes =
        Theme::choose(args.theme.as_deref(), &surroundings).map_err(|e| CliError::Usage(format!("--theme: {e}")))?;
    start.glyphs = match (args.ascii, args.blocks) {
        (true, _) => Glyphs::Ascii,
        (_, true) => Glyphs::Blocks,
        _ if plain_locale() => Glyphs::Ascii,
        _ => Glyphs::Braille,
    };
    if let Some(path) = base::folders::config().map(|d| d.join("probity/keymap.toml")).filter(|p| p.exists()) {
        let (keymap, problems) = Keymap::read(&path);
        start.keymap = keymap;
        notices.extend(problems.into_iter().map(|problem| Notice { level: NoticeLevel::Warning, problem }));
    }
    Ok(start)
}

pub(super) fn notice(what: String, place: &str, hint: &str) -> Notice {
    let problem = Problem::new(what, place, hint);
    Notice { level: NoticeLevel::Warning, problem }
}

/// Starts recording the session, with the name `called` if the user gave none. A failure is only a notice, unless the user asked for the
/// session by name.
pub(super) fn record(
    args: &TuiArgs,
    called: Option<&str>,
    spec: &Spec,
    notices: &mut Vec<Notice>,
) -> Result<Option<Recorder>, CliError> {
    if args.no_session {
        return Ok(None);
    }
    let now = SystemTime::now();
    let begin = || {
        let wanted = args.session.as_deref().or(called).map(str::to_owned);
        let name = wanted.unwrap_or_else(|| name::default_name(spec.common().subject(), now));
        Recorder::create(
            &name::folder()?,
            &name,
            &Header::new(&names::place(&args.device, &args.dtype), name::utc(now), Some(spec.clone())),
        )
    };
    match begin() {
        Ok(recorder) => Ok(Some(recorder)),
        Err(error) if args.session.is_some() => {
            Err(CliError::Failed(format!("the session cannot be recorded: {error}")))
        }
        Err(error) => {
            notices.push(notice(error.to_string(), "session", "the session is not recorded"));
            Ok(None)
        }
    }
}

/// Maximum number of sessions listed on the opening screen.
const MOST_SESSIONS: usize = 100;

/// Applies a change to a session, then lists the recorded sessions, newest first.
fn sessions(change: Option<&(PathBuf, shelf::Change)>) -> Result<Vec<shelf::Recorded>, Problem> {
    let changed = change.map_or(Ok(()), |(path, change)| change.apply(path));
    let folder = changed.and_then(|()| name::folder());
    let listed = folder.and_then(|folder| shelf::recent(&folder, MOST_SESSIONS));
    listed.map_err(|e| problem(&e, "the other screens work without it"))
}

fn problem(error: &SessionError, hint: &str) -> Problem {
    Problem::new(error.to_string(), "session", hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: after quitting, nothing used to say where the session was.
    #[test]
    fn quitting_prints_session_and_replay_command() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(saved("mine", folder.path()), None, "no session was kept");
        std::fs::write(name::file(folder.path(), "mine"), "").unwrap();
        let line = saved("mine", folder.path()).unwrap();
        assert!(line.contains("mine.probity.jsonl") && line.contains("`probity replay mine`"), "{line}");
        assert_eq!(line.lines().count(), 2, "wrapping does not split the command");
    }
}
