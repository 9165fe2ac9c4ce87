//! Times drawing each figure of recorded sessions, by format: `cargo bench --bench figures [SESSION]...`. The default is the shipped
//! sessions.

use std::path::{Path, PathBuf};
use std::time::Instant;

use probity::figure::{Figure, Format, Options, Style, render};
use probity::lab;
use probity::session::format::Session;

/// Number of timings; the median is printed.
const REPEATS: usize = 3;
/// Maximum acceptable drawing time in milliseconds.
const AIM: f64 = 150.0;

fn main() {
    // `cargo bench` passes `--bench` too.
    let mut files: Vec<PathBuf> = std::env::args().skip(1).filter(|a| a != "--bench").map(PathBuf::from).collect();
    if files.is_empty() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("sessions");
        files = std::fs::read_dir(folder).expect("sessions").filter_map(|e| Some(e.ok()?.path())).collect();
        files.sort();
    }
    println!(
        "| session | figure | style | png ms | svg ms | pdf ms | csv ms |\n| --- | --- | --- | --- | --- | --- | --- |"
    );
    let mut slow = 0;
    for file in &files {
        let board = match Session::read(file) {
            Ok(session) => session.board(),
            Err(error) => return println!("figures | {error}"),
        };
        let name = file.file_name().unwrap_or_default().to_string_lossy().replace(".probity.jsonl", "");
        for run in &board.runs {
            for figure in lab::by_id(run.job.spec.lab()).figures(&run.results, board.engine.as_ref()) {
                for style in [Style::LabBook, Style::Paper] {
                    let times = Format::ALL.map(|format| middle(&figure, style, format));
                    slow += usize::from(times.iter().any(|t| *t > AIM));
                    let times = times.map(|t| format!("{t:.1}"));
                    println!("| {name} | {} | {} | {} |", figure.name, style.name(), times.join(" | "));
                }
            }
        }
    }
    println!("{slow} drawings take longer than {AIM} ms");
}

/// The median of several timings, in milliseconds.
fn middle(figure: &Figure, style: Style, format: Format) -> f64 {
    let options = Options { style, ..Options::default() };
    let once = || {
        let start = Instant::now();
        std::hint::black_box(render(figure, format, &options).map_or(0, |bytes| bytes.len()));
        start.elapsed().as_secs_f64() * 1e3
    };
    let mut times: Vec<f64> = (0..REPEATS).map(|_| once()).collect();
    times.sort_by(f64::total_cmp);
    times[REPEATS / 2]
}
