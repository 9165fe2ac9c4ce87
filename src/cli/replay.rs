//! `probity replay`: shows a recorded session without loading a model.

use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;

use super::error::CliError;
use super::{output, table};
use base::text::printable_label;
use engine::board::Board;
use engine::message::Event;
use session::format::{Item, Session};
use session::replay::Player;
use session::{SessionError, name};

/// Show a recorded session again; no model is needed.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  probity replay agreement-2
  probity replay sessions/agreement.probity.jsonl --speed 4
  probity replay agreement-2 --headless --json")]
pub struct ReplayArgs {
    /// Name or file of the session.
    pub session: String,
    /// Play from the beginning, at this many seconds of recording per second [default: open at the end; `p` plays it].
    #[arg(long, value_parser = speed)]
    pub speed: Option<f64>,
    /// Print the results instead of showing them in the terminal program.
    #[arg(long)]
    pub headless: bool,
    /// The run whose results are printed, counted from 1; by default the latest run of each lab (implies --headless).
    #[arg(long, value_name = "N")]
    pub run: Option<usize>,
    /// Print findings as JSON lines (implies --headless).
    #[arg(long)]
    pub json: bool,
    /// Appearance of the screen.
    #[command(flatten)]
    pub look: super::tui::LookArgs,
}

fn speed(text: &str) -> Result<f64, String> {
    let value = base::numbers::number(text).map_err(|e| e.to_string())?;
    if value > 0.0 {
        Ok(value)
    } else {
        Err(format!("{} is not a speed; enter a number above 0, for example 2 or 0.5", base::numbers::brief(&value)))
    }
}

/// Opens a session by name or file, and reports unreadable parts on stderr.
///
/// # Errors
/// [`CliError::Usage`] if the session does not exist or the file is not a session.
pub fn open(what: &str) -> Result<Session, CliError> {
    let path = match name::folder() {
        Ok(folder) => name::find(&folder, what)?,
        // Without a session folder, a path can still be given.
        Err(SessionError::NoFolder) => what.into(),
        Err(error) => return Err(error.into()),
    };
    let session = Session::read(&path)?;
    for sentence in session.losses.sentences() {
        output::say(&format!("warning: {}: {sentence}", printable_label(&path.display().to_string())));
    }
    Ok(session)
}

/// Reduces the board to run `n`, counted from 1.
pub(crate) fn pick(session: &Session, board: &mut Board, n: usize) -> Result<(), CliError> {
    if n.checked_sub(1).and_then(|at| board.runs.get(at)).is_some_and(|run| run.gone) {
        *board = session.board_of(n);
    }
    let generation = n.checked_sub(1).and_then(|at| board.runs.get(at)).map(|run| run.job.generation);
    let missing = || {
        CliError::Usage(match board.runs.len() {
            0 => "this session contains no runs".to_owned(),
            1 => format!("there is no run {n}: the session has only run 1"),
            runs => format!("there is no run {n}: the session has runs 1 to {runs}"),
        })
    };
    let generation = generation.ok_or_else(missing)?;
    board.pick(generation);
    // Keeps only this run rather than the latest of every lab.
    board.runs.retain(|run| run.job.generation == generation);
    Ok(())
}

/// Explains where to find the results of a run that were dropped from memory because the session is long.
pub(crate) fn gone(n: usize) -> String {
    format!(
        "run {n}: its results are no longer in memory at the end of this long session; `probity replay SESSION --run {n}` shows them"
    )
}

pub fn headless(args: &ReplayArgs, out: &mut dyn Write) -> Result<(), CliError> {
    let session = Arc::new(open(&args.session)?);
    let of_a_grid = session.header.grid.is_some();
    let mut player = Player::new(session.clone());
    player.set_speed(args.speed.unwrap_or(f64::INFINITY));
    let mut board = Board::default();
    let mut clock = Instant::now();
    loop {
        let wall = clock.elapsed().as_secs_f64();
        clock = Instant::now();
        for entry in player.advance(wall) {
            // Prints the results of each grid cell before the next cell replaces them.
            if let Item::Note(note) = &entry.item
                && of_a_grid
                && !args.json
            {
                cell(&mut board, out)?;
                output::line(out, &printable_label(note))?;
            }
            entry.fold(&mut board);
            if let Item::Event(Event::Finding { generation, finding }) = &entry.item
                && args.json
                && *generation == board.generation
            {
                output::json(out, finding)?;
            }
        }
        if player.ended() {
            break;
        }
        let wait = player.wait().unwrap_or(0.0).clamp(0.001, 0.25);
        std::thread::sleep(Duration::from_secs_f64(wait));
    }
    if of_a_grid && !args.json {
        cell(&mut board, out)?;
    }
    if let Some(n) = args.run {
        pick(&session, &mut board, n)?;
    }
    if !args.json {
        table::table(&board).iter().try_for_each(|line| output::line(out, line))?;
    }
    Ok(())
}

/// Prints the results of a grid cell, and clears the board for the next one.
fn cell(board: &mut Board, out: &mut dyn Write) -> Result<(), CliError> {
    for run in board.runs.drain(..) {
        table::results(&run).iter().try_for_each(|line| output::line(out, line))?;
        output::line(out, "")?;
    }
    Ok(())
}
