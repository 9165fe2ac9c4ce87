//! Comparisons of two implementations in alternating runs, and the table of results.

use std::path::Path;
use std::time::{Duration, Instant};

use probity::model::Device;
use serde_json::Value;

use crate::torch::Torch;

/// A result whose error is a message for the user.
pub(crate) type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

const THREADS: usize = 2;
/// Pause between two runs, so that the worker threads of the previous side go to sleep.
const PAUSE: Duration = Duration::from_millis(30);

/// Our side, ready to run; returns the numbers that the other side must reproduce.
pub(crate) type Ours = Box<dyn FnMut() -> Outcome<Vec<f32>>>;

pub(crate) struct Job {
    pub id: &'static str,
    pub what: &'static str,
    /// Largest acceptable ratio of our time to theirs.
    pub goal: Option<f64>,
    pub runs: usize,
    /// True if each run changes the state for the next one; results are then compared again at the end.
    pub trains: bool,
    pub prepare: fn(&Path, Setting) -> Outcome<(Ours, Value)>,
}

#[derive(Clone, Copy)]
pub(crate) struct Setting {
    pub device: Device,
    pub quick: bool,
}

struct Args {
    mkl: bool,
    only: Vec<String>,
    setting: Setting,
    runs: Option<usize>,
}

/// Runs the comparisons given on the command line. `script` belongs to the other side and imports `packages`; our models are in `folder`.
pub(crate) fn run(jobs: &[Job], folder: &Path, script: &str, packages: &[&str]) -> Outcome<()> {
    let args = parse(jobs)?;
    rayon::ThreadPoolBuilder::new().num_threads(THREADS).build_global()?;
    let mut torch = match Torch::start(script, packages, THREADS, args.mkl) {
        Ok(torch) => {
            println!("{} against probity {}", torch.versions, env!("CARGO_PKG_VERSION"));
            Some(torch)
        }
        Err(why) => {
            println!("PyTorch skipped: {why}");
            None
        }
    };
    println!(
        "| comparison | goal | ratio | quartiles | ours, s | theirs, s | n | largest deviation (of the largest number) |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    for job in jobs {
        if args.only.is_empty() || args.only.iter().any(|o| o == job.id) {
            measure(job, folder, &mut torch, &args)?;
        }
    }
    Ok(())
}

fn parse(jobs: &[Job]) -> Outcome<Args> {
    let mut args =
        Args { mkl: false, only: Vec::new(), setting: Setting { device: Device::Cpu, quick: false }, runs: None };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--only" => {
                let list = words.next().ok_or("--only needs letters, as in --only a,d")?;
                args.only = list.split(',').map(str::to_owned).collect();
                if let Some(unknown) = args.only.iter().find(|o| jobs.iter().all(|j| j.id != **o)) {
                    let known: Vec<&str> = jobs.iter().map(|j| j.id).collect();
                    return Err(format!("no comparison '{unknown}'; known: {}", known.join(", ")).into());
                }
            }
            "--mkl-avx512" => args.mkl = true,
            "--quick" => args.setting.quick = true,
            "--device" => args.setting.device = words.next().ok_or("--device must be cpu or cuda")?.parse()?,
            "--runs" => args.runs = Some(words.next().ok_or("--runs needs a number")?.parse()?),
            // Cargo passes this argument to every bench.
            "--bench" => {}
            other => {
                return Err(format!(
                    "unknown argument '{other}'; use --only LETTERS, --quick, --runs N, --device D, --mkl-avx512"
                )
                .into());
            }
        }
    }
    Ok(args)
}

/// Runs one comparison and prints its line.
fn measure(job: &Job, folder: &Path, torch: &mut Option<Torch>, args: &Args) -> Outcome<()> {
    let runs = args.runs.unwrap_or(if args.setting.quick { job.runs.div_ceil(3) } else { job.runs }).max(1);
    let (mut ours, mut request) = (job.prepare)(folder, args.setting)?;
    request["device"] = if args.setting.device == Device::Cpu { "cpu" } else { "cuda" }.into();
    let mut deviation: Option<Deviation> = None;
    let mut theirs = None;
    let first = ours()?;
    if let Some(torch) = torch.as_mut() {
        match torch.prepare(job.id, request).and_then(|()| torch.values(job.id)) {
            Ok(values) => {
                if values.len() != first.len() {
                    return Err(format!("{}: {} numbers against {}", job.id, first.len(), values.len()).into());
                }
                deviation = Some(Deviation::between(&first, &values));
                theirs = Some(torch);
            }
            Err(why) => println!("{}: PyTorch failed: {why}", job.id),
        }
    }
    let (mut our_times, mut their_times) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        std::thread::sleep(PAUSE);
        let begun = Instant::now();
        ours()?;
        our_times.push(begun.elapsed().as_secs_f64());
        if let Some(torch) = &mut theirs {
            std::thread::sleep(PAUSE);
            their_times.push(torch.run(job.id)?);
        }
    }
    if let Some(torch) = theirs {
        // Compared again at the end, because a job's changes (a model in training) must agree too.
        if job.trains {
            let (last, values) = (ours()?, torch.values(job.id)?);
            deviation = deviation.map(|d| d.worse(Deviation::between(&last, &values)));
        }
        torch.drop_job(job.id)?;
    }
    print_line(job, &our_times, &their_times, deviation);
    Ok(())
}

#[derive(Clone, Copy)]
struct Deviation {
    /// Largest absolute difference.
    absolute: f32,
    /// Largest difference relative to the other side's largest absolute number.
    relative: f32,
}

impl Deviation {
    fn between(ours: &[f32], theirs: &[f32]) -> Self {
        let absolute = ours.iter().zip(theirs).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        let largest = theirs.iter().fold(f32::MIN_POSITIVE, |m, b| m.max(b.abs()));
        Self { absolute, relative: absolute / largest }
    }

    fn worse(self, other: Self) -> Self {
        if other.relative > self.relative { other } else { self }
    }
}

fn print_line(job: &Job, ours: &[f64], theirs: &[f64], deviation: Option<Deviation>) {
    let goal = job.goal.map_or_else(|| "-".into(), |g| format!("{g}"));
    let mut ratio = ["-".to_owned(), "-".to_owned(), "-".to_owned()];
    if !theirs.is_empty() {
        let pairs: Vec<f64> = ours.iter().zip(theirs).map(|(a, b)| a / b).collect();
        let spread = format!("{:.2} to {:.2}", quantile(&pairs, 0.25), quantile(&pairs, 0.75));
        let whole = quantile(ours, 0.5) / quantile(theirs, 0.5);
        ratio = [format!("{whole:.3}"), spread, format!("{:.4}", quantile(theirs, 0.5))];
    }
    let deviation = deviation.map_or_else(|| "-".into(), |d| format!("{:.1e} ({:.1e})", d.absolute, d.relative));
    let [ratio, spread, theirs] = ratio;
    let (id, what, n, ours) = (job.id, job.what, ours.len(), quantile(ours, 0.5));
    println!("| {id}: {what} | {goal} | {ratio} | {spread} | {ours:.4} | {theirs} | {n} | {deviation} |");
}

fn quantile(values: &[f64], q: f64) -> f64 {
    let mut v = values.to_vec();
    v.sort_by(f64::total_cmp);
    let at = q * (v.len() - 1) as f64;
    let (low, high) = (v[at.floor() as usize], v[at.ceil() as usize]);
    low + (high - low) * at.fract()
}
