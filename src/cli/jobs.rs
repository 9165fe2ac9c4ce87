//! `--jobs`: computes a shard in several parallel processes. Unlike threads, each process has its own model, memory limit and number of
//! threads, and if one is killed, the others continue.

use std::io::Read;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};

use super::error::{CliError, FAILED, USAGE};
use super::output;
use super::run::RunArgs;
use super::shard::Shard;
use base::signals;

pub fn run(args: &RunArgs, shard: Shard, jobs: usize, memory_limit: Option<u64>) -> Result<(), CliError> {
    let failed = |e: std::io::Error| CliError::Failed(format!("cannot start the jobs: {e}"));
    let program = std::env::current_exe().map_err(failed)?;
    let mut running: Vec<Child> = Vec::new();
    // The system closes these pipes when this process ends for any reason; see [`end_with_parent`].
    let mut pipes: Vec<Option<ChildStdin>> = Vec::new();
    for index in 1..=jobs {
        let mut command = Command::new(&program);
        command.args(arguments(args, shard, Shard { index, count: jobs }, memory_limit.map(|l| l / jobs as u64)));
        if std::env::var_os("RAYON_NUM_THREADS").is_none() {
            command.env("RAYON_NUM_THREADS", (rayon::current_num_threads() / jobs).max(1).to_string());
        }
        // Ctrl-C reaches the jobs only through this process.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        match command.stdin(Stdio::piped()).spawn() {
            Ok(mut child) => {
                pipes.push(child.stdin.take());
                running.push(child);
            }
            Err(e) => {
                running.iter_mut().for_each(|child| drop(child.kill()));
                return Err(failed(e));
            }
        }
    }
    #[cfg(unix)]
    pass_on(running.iter().map(Child::id).collect());
    let ends: Vec<ExitStatus> = running.iter_mut().map(Child::wait).collect::<Result<_, _>>().map_err(failed)?;
    drop(pipes);
    judge(&ends)
}

/// Waits for the end of the pipe, and ends this job when its parent has ended, even if the parent was killed. Parts are written atomically,
/// so none is left incomplete.
pub(crate) fn end_with_parent() -> std::io::Result<()> {
    let watch = || {
        let mut byte = [0];
        while !matches!(std::io::stdin().read(&mut byte), Ok(0) | Err(_)) {}
        std::process::exit(i32::from(FAILED));
    };
    std::thread::Builder::new().name("parent".into()).spawn(watch).map(drop)
}

fn arguments(args: &RunArgs, shard: Shard, lane: Shard, memory_limit: Option<u64>) -> Vec<std::ffi::OsString> {
    let mut out: Vec<std::ffi::OsString> = vec!["run".into()];
    let mut add = |flag: &str, value: String| out.extend([flag.into(), value.into()]);
    args.preset.iter().for_each(|preset| add("--preset", preset.clone()));
    args.seed.iter().for_each(|seed| add("--seed", seed.to_string()));
    add("--device", args.device.clone());
    add("--dtype", args.dtype.clone());
    memory_limit.iter().for_each(|limit| add("--memory-limit", limit.to_string()));
    add("--shard", shard.to_string());
    add("--lane", lane.to_string());
    out.extend(args.quiet.then(|| "--quiet".into()));
    out.push("--out".into());
    out.extend(args.out.iter().map(|dir| dir.clone().into_os_string()));
    // File names may start with a dash.
    out.push("--".into());
    out.extend(args.specs.iter().map(|spec| spec.clone().into_os_string()));
    out
}

/// Forwards termination signals to the jobs, which end by themselves.
#[cfg(unix)]
fn pass_on(jobs: Vec<u32>) {
    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let heard = move |number: i32| {
        signals::note(u8::try_from(number).unwrap_or(signals::INTERRUPT));
        let signal = match number {
            SIGHUP => Signal::SIGHUP,
            SIGTERM => Signal::SIGTERM,
            _ => Signal::SIGINT,
        };
        for pid in jobs.iter().filter_map(|id| i32::try_from(*id).ok()) {
            // If the job has already ended, this fails without consequences.
            let _ = kill(Pid::from_raw(pid), signal);
        }
    };
    // Signals that cannot be caught keep their default effect.
    let _ = signals::listen(&[SIGHUP, SIGINT, SIGTERM], heard);
}

fn judge(ends: &[ExitStatus]) -> Result<(), CliError> {
    if signals::first().is_some() {
        return Err(CliError::Cancelled);
    }
    let mut bad = false;
    for (k, end) in ends.iter().enumerate().filter(|(_, end)| !end.success()) {
        bad = true;
        // A job that ended by itself has printed the reason.
        if !end.code().is_some_and(|code| code == i32::from(FAILED) || code == i32::from(USAGE)) {
            output::say(&format!(
                "job {} of {} ended with {end}; its cells will be computed when the spec is run again. A smaller \
                 --jobs uses less memory",
                k + 1,
                ends.len()
            ));
        }
    }
    if bad { Err(CliError::Reported) } else { Ok(()) }
}
