//! Time to draw each figure of a recorded session, by format: `cargo bench --bench figures [SESSION]`.

use std::path::PathBuf;
use std::time::Instant;

use probity::figure::{Format, Options, Style, render};
use probity::lab;
use probity::session::format::Session;

/// Times of which the middle one is printed.
const REPEATS: usize = 5;

fn main() {
    // `cargo bench` passes `--bench`, too.
    let given = std::env::args().skip(1).find(|a| a != "--bench").map(PathBuf::from);
    let shipped = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("sessions/agreement.probity.jsonl");
    let board = match Session::read(&given.unwrap_or_else(shipped)) {
        Ok(session) => session.board(),
        Err(error) => return println!("figures | {error}"),
    };
    let styles = [Style::LabBook, Style::Paper].map(|style| Options { style, ..Options::default() });
    println!("| figure | style | png ms | svg ms | pdf ms | csv ms |\n| --- | --- | --- | --- | --- | --- |");
    for run in &board.runs {
        for figure in lab::by_id(run.job.spec.lab()).figures(&run.results, board.engine.as_ref()) {
            for options in &styles {
                let times = Format::ALL.map(|format| {
                    let mut times: Vec<f64> = (0..REPEATS)
                        .map(|_| {
                            let start = Instant::now();
                            std::hint::black_box(
                                render(&figure, format, options).map(|b| b.len()).unwrap_or(0),
                            );
                            start.elapsed().as_secs_f64() * 1e3
                        })
                        .collect();
                    times.sort_by(f64::total_cmp);
                    format!("{:.1}", times[REPEATS / 2])
                });
                println!("| {} | {} | {} |", figure.name, options.style.name(), times.join(" | "));
            }
        }
    }
}
