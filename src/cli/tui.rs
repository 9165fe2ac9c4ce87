//! `probity [tui]`: the terminal program, live or on a recording.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use clap::Args;

use super::error::CliError;
use super::names;
use crate::base::Problem;
use crate::base::{signals, size};
use crate::engine::local::{Cache, LocalEngine, LocalOptions, MOST_MODELS};
use crate::engine::message::{Notice, NoticeLevel};
use crate::figure::{self, Figure};
use crate::lab::Spec;
use crate::lab::interventions;
use crate::session::format::{Header, Session};
use crate::session::name;
use crate::session::record::Recorder;
use crate::session::replay::Recorded;
use crate::tui;
use crate::tui::catalog::Catalog;
use crate::tui::keymap::Keymap;
use crate::tui::run::{ExitReason, Options, Source};
use crate::tui::state::{Glyphs, ReplayState, Start};
use crate::tui::terminal;
use crate::tui::theme::{Surroundings, Theme};

/// What the terminal looks like.
#[derive(Debug, Clone, Default, Args)]
pub struct LookArgs {
    /// Theme: the name of a shipped one [default: by NO_COLOR and the terminal's background].
    #[arg(long, value_name = "NAME")]
    pub theme: Option<String>,
    /// Leave the mouse to the terminal.
    #[arg(long)]
    pub no_mouse: bool,
    /// Draw charts with ASCII characters alone.
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
  probity --model ./my-model --spec assets/specs/agreement.toml --session first-look")]
pub struct TuiArgs {
    /// Model to open with: a built-in name, a folder, or a hub id; several may be given.
    #[arg(long = "model", value_name = "MODEL")]
    pub models: Vec<String>,
    /// Experiment to open with [default: the agreement experiment].
    #[arg(long, value_name = "SPEC.toml")]
    pub spec: Option<PathBuf>,
    /// Name of the recorded session [default: task and time].
    #[arg(long, value_name = "NAME", conflicts_with = "no_session")]
    pub session: Option<String>,
    /// Do not record a session.
    #[arg(long)]
    pub no_session: bool,
    /// Where to compute: auto, cpu, cuda, cuda:N or metal.
    #[arg(long, default_value = "auto")]
    pub device: String,
    /// What numbers models are kept in: f32, or f16 and bf16 (half the memory, no gradients).
    #[arg(long, default_value = "f32")]
    pub dtype: String,
    /// Keep the memory of the process below this size, for example 2G: batches shrink, and a run that cannot fit is refused.
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub memory_limit: Option<u64>,
    /// How it looks.
    #[command(flatten)]
    pub look: LookArgs,
}

impl Default for TuiArgs {
    fn default() -> Self {
        Self {
            models: Vec::new(),
            spec: None,
            session: None,
            no_session: false,
            device: "auto".into(),
            dtype: "f32".into(),
            memory_limit: None,
            look: LookArgs::default(),
        }
    }
}

/// Runs the terminal program on the local engine.
///
/// # Errors
/// [`CliError::Usage`] for names and specs that cannot be used, [`CliError::Failed`] where the terminal fails.
pub fn live(args: &TuiArgs) -> Result<(), CliError> {
    let mut spec = match &args.spec {
        Some(path) => Spec::read(path)?,
        None => interventions::Spec::agreement().into(),
    };
    if !args.models.is_empty() {
        spec.common_mut().set_models(args.models.clone());
    }
    let origin = args.spec.as_ref().map_or("--model".into(), |p| p.display().to_string());
    names::check(&spec, &origin)?;
    let (device, dtype) = (names::device(&args.device)?, names::dtype(&args.dtype)?);
    let mut notices = Vec::new();
    let recorder = if args.no_session { None } else { record(args, &spec, &mut notices) };
    let options = LocalOptions {
        device,
        dtype,
        cache: Cache::user(),
        models: spec.models().to_vec(),
        memory_limit: args.memory_limit,
        most_models: MOST_MODELS,
    };
    let engine = LocalEngine::start(options)
        .map_err(|e| CliError::Failed(format!("the engine's thread cannot be started: {e}")))?;
    let mut start = look(&args.look, &mut notices)?;
    let Spec::Interventions(spec) = spec;
    start.spec = *spec;
    start.recording = recorder.as_ref().map(Recorder::name);
    let recorder = recorder.map(|r| Box::new(r) as Box<dyn tui::recording::Recorder>);
    open(Source::Live(Box::new(engine), recorder), start, notices, !args.look.no_mouse)
}

/// Runs the terminal program on a recording.
///
/// # Errors
/// [`CliError::Failed`] where the terminal fails.
pub fn replay(session: Session, title: &str, speed: f64, args: &LookArgs) -> Result<(), CliError> {
    let mut notices: Vec<Notice> = session
        .losses
        .sentences()
        .into_iter()
        .map(|what| notice(what, title, "the rest of the recording is shown"))
        .collect();
    let mut start = look(args, &mut notices)?;
    if let Some(Spec::Interventions(spec)) = &session.header.spec {
        start.spec = (**spec).clone();
    }
    start.replay = Some(ReplayState::new(title.to_owned(), session.duration(), speed));
    let recorded = Recorded::new(Arc::new(session), speed);
    open(Source::Replay(recorded), start, notices, !args.no_mouse)
}

fn open(source: Source, start: Start, notices: Vec<Notice>, mouse: bool) -> Result<(), CliError> {
    let options = Options {
        start,
        export: Arc::new(|figure| export(figure, Path::new("."))),
        copy: Box::new(terminal::copy),
        frame: Box::new(terminal::synchronize),
        notices,
        stop: Box::pin(terminal::stop_signal()),
    };
    match terminal::launch(source, options, mouse) {
        Ok(report) if report.reason == ExitReason::User => Ok(()),
        Ok(_) => Err(CliError::Cancelled),
        // A terminal that has gone cannot be drawn on: the one is the reason, the other what it led to.
        Err(_) if signals::first().is_some() => Err(CliError::Cancelled),
        Err(e) => Err(CliError::Failed(e.to_string())),
    }
}

fn look(args: &LookArgs, notices: &mut Vec<Notice>) -> Result<Start, CliError> {
    let surroundings = Surroundings::read(|name| std::env::var(name).ok());
    let mut start = Start::new(Catalog::registered());
    start.themes = Theme::choose(args.theme.as_deref(), &surroundings)
        .map_err(|e| CliError::Usage(format!("--theme: {e}")))?;
    start.glyphs = match (args.ascii, args.blocks) {
        (true, _) => Glyphs::Ascii,
        (_, true) => Glyphs::Blocks,
        _ => Glyphs::Braille,
    };
    if let Some(path) = dirs::config_dir().map(|d| d.join("probity/keymap.toml")).filter(|p| p.exists()) {
        let (keymap, problems) = Keymap::read(&path);
        start.keymap = keymap;
        notices.extend(problems.into_iter().map(|problem| Notice { level: NoticeLevel::Warning, problem }));
    }
    Ok(start)
}

fn notice(what: String, place: &str, hint: &str) -> Notice {
    let problem = Problem { what, r#where: place.into(), hint: hint.into() };
    Notice { level: NoticeLevel::Warning, problem }
}

/// Begins the session. One that cannot be recorded is worth a notice, not an end.
fn record(args: &TuiArgs, spec: &Spec, notices: &mut Vec<Notice>) -> Option<Recorder> {
    let now = SystemTime::now();
    let begin = || {
        let name = args.session.clone().unwrap_or_else(|| name::default_name(spec.common().subject(), now));
        Recorder::create(
            &name::folder()?,
            &name,
            &Header::new(&names::place(&args.device, &args.dtype), name::utc(now), Some(spec.clone())),
        )
    };
    match begin() {
        Ok(recorder) => Some(recorder),
        Err(error) => {
            notices.push(notice(error.to_string(), "session", "the session is not recorded"));
            None
        }
    }
}

/// Writes a figure as PNG, SVG and CSV into `folder`, under a name that is still free.
fn export(figure: &Figure, folder: &Path) -> Result<Vec<PathBuf>, Problem> {
    let stem = name::sanitise(&figure.name);
    let free =
        |stem: &str| ["png", "svg", "csv"].iter().all(|e| !folder.join(format!("{stem}.{e}")).exists());
    let stem = std::iter::once(stem.clone())
        .chain((2..10_000).map(|k| format!("{stem}-{k}")))
        .find(|s| free(s))
        .unwrap_or(stem);
    ["png", "svg", "csv"]
        .iter()
        .map(|extension| {
            let path = folder.join(format!("{stem}.{extension}"));
            figure::export(figure, &path, false).map_err(|e| Problem {
                what: e.to_string(),
                r#where: path.display().to_string(),
                hint: "start the program in a folder that can be written".into(),
            })
        })
        .collect()
}
