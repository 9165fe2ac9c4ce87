//! `probity submit --again`: resubmits those jobs of a grid whose cells failed or were left unfinished.

use std::collections::BTreeSet;
use std::path::Path;

use super::{SCRIPT, sbatch};
use crate::error::CliError;
use crate::output;
use crate::ranges::listed;
use session::parts::folder::{Folder, State};
use session::parts::status::Status;
use session::parts::watch::{Pace, View, Watch};

/// Text before the number of shards in a script.
pub(super) const TASK: &str = "$SLURM_ARRAY_TASK_ID/";

/// Resubmits the jobs of this grid that have unfinished cells, and returns a line that reports them.
///
/// # Errors
/// [`CliError::Usage`] for a folder that was never submitted or has nothing left to do; [`CliError::Failed`] if sbatch is missing or fails.
pub(crate) fn submit(dir: &Path) -> Result<String, CliError> {
    let folder = Folder::open(dir)?;
    let script = std::path::absolute(dir.join(SCRIPT)).unwrap_or_else(|_| dir.join(SCRIPT));
    let shown = output::full(&script);
    let jobs = match base::read::text(&script, 1 << 20) {
        Ok(text) => jobs_of(&text).ok_or_else(|| {
            CliError::Usage(format!(
                "{shown}: it no longer contains `--shard \"{TASK}N\"`, so failed cells cannot be matched to jobs; resubmit everything with \
                 `sbatch {shown}`: finished cells are skipped"
            ))
        })?,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            return Err(CliError::Usage(format!(
                "{shown}: it does not exist, because the grid was not submitted from this folder; `probity run SPEC --out DIR` computes the failed cells here, and `probity submit --slurm SPEC --out DIR` submits the grid"
            )));
        }
        Err(e) => return Err(CliError::Failed(format!("{shown}: {e}"))),
    };
    let Wanted { jobs: wanted, cells, busy } = wanted(&folder, &Watch::default().look(&folder), jobs);
    let still = if busy.is_empty() {
        String::new()
    } else {
        format!("; {} of job {} must wait, because it is still running", cells_in_words(busy.len()), listed(&busy))
    };
    if wanted.is_empty() {
        let why = if busy.is_empty() {
            "no cell has failed or been left unfinished".to_owned()
        } else {
            format!("nothing to submit yet{still}")
        };
        return Err(CliError::Usage(format!("{}: {why}", output::full(dir))));
    }
    let array = listed(&wanted);
    let number = sbatch(&script, &[format!("--array={array}")])?;
    Ok(format!(
        "job {number} recomputes {}, in {} {array}{still}",
        cells_in_words(cells),
        if wanted.len() == 1 { "task" } else { "tasks" }
    ))
}

fn cells_in_words(n: usize) -> String {
    if n == 1 { "1 cell".into() } else { format!("{n} cells") }
}

fn jobs_of(script: &str) -> Option<usize> {
    let after = script.split(TASK).nth(1)?;
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok().filter(|n| *n > 0)
}

#[derive(Debug, Default, PartialEq)]
struct Wanted {
    /// Numbers of the jobs, from 1.
    jobs: BTreeSet<usize>,
    /// Number of cells that the jobs will compute.
    cells: usize,
    /// Tasks that have unfinished cells but are still running.
    busy: BTreeSet<usize>,
}

/// Selects tasks with cells that failed, were stopped or left unfinished, or are unreadable. Tasks that are running or waiting in the
/// scheduler's queue are not selected.
fn wanted(folder: &Folder, view: &View, jobs: usize) -> Wanted {
    let given = folder.shares(jobs);
    let named = |shard: &str| {
        // A job with several lanes has a name such as `2/8.1/2`.
        let (task, of) = shard.split('.').next()?.split_once('/')?;
        (of.parse() == Ok(jobs)).then(|| task.parse::<usize>().ok()).flatten()
    };
    let with = |pace: Pace| view.shards.iter().filter(move |s| s.pace == pace).filter_map(|s| named(&s.shard));
    let running: BTreeSet<usize> = with(Pace::Running).collect();
    let begun = with(Pace::Ended).chain(with(Pace::Silent)).chain(view.lost.iter().copied());
    let begun: BTreeSet<usize> = begun.collect();
    let computed: BTreeSet<usize> = Status::all(folder)
        .into_iter()
        .filter(|s| view.shards.iter().any(|v| v.shard == s.shard && v.pace == Pace::Running))
        .filter_map(|s| s.cell)
        .collect();
    let mut out = Wanted::default();
    for (index, share) in given.into_iter().enumerate() {
        let task = share + 1;
        let tried = match folder.state(index) {
            State::Done => continue,
            State::Failed(_) | State::Stopped | State::Broken(_) => true,
            State::Absent => begun.contains(&task),
        };
        if !tried || computed.contains(&(index + 1)) {
            continue;
        }
        if running.contains(&task) {
            out.busy.insert(task);
        } else {
            out.jobs.insert(task);
            out.cells += 1;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use labs::grid;
    use session::parts::VERSION;
    use session::parts::part::{Head, Writer};
    use session::parts::status::Reporter;
    use session::record::Record;

    #[test]
    fn script_states_its_number_of_shards() {
        assert_eq!(jobs_of("exec x --shard \"$SLURM_ARRAY_TASK_ID/12\" y"), Some(12));
        assert_eq!((jobs_of("exec x"), jobs_of("$SLURM_ARRAY_TASK_ID/0")), (None, None));
    }

    #[test]
    fn only_ended_tasks_with_unfinished_cells_are_resubmitted() {
        let tmp = tempfile::tempdir().unwrap();
        let text = "lab = \"power\"\nmodels = [\"bert-tiny\"]\n[grid]\nseed = [0, 1, 2, 3, 4]\n";
        let folder = Folder::join(&tmp.path().join("out"), &grid::parse(text, "g").unwrap(), &[1; 5]).unwrap();
        // Five tasks with one cell each.
        let look = || wanted(&folder, &Watch::default().look(&folder), 5);
        assert_eq!(look(), Wanted::default(), "all tasks are waiting in the queue");
        let stopped = |index: usize| {
            let listed = &folder.cells[index];
            let head = Head {
                probity_part: 1,
                version: VERSION.into(),
                grid: folder.head.hash.clone(),
                cell: listed.cell,
                spec: listed.spec.clone(),
                at: listed.at.clone(),
            };
            Writer::new(folder.part(index), &head, None, None).unwrap().finish().unwrap();
        };
        stopped(0);
        Reporter::new(&folder, "2/5", 1).close();
        Reporter::new(&folder, "3/5", 1).begin(3, 1, 0);
        stopped(3);
        Reporter::new(&folder, "4/5.1/2", 1).begin(5, 1, 0);
        let all = look();
        // The job ended before its first cell; a second job is waiting in the queue.
        let lost = View { lost: vec![5], ..Watch::default().look(&folder) };
        assert_eq!(listed(&wanted(&folder, &lost, 5).jobs), "1-2");
        std::fs::remove_file(folder.dir().join("shards/4-of-5.1-of-2.json")).unwrap();
        let lost = View { lost: vec![5], ..Watch::default().look(&folder) };
        assert_eq!(
            listed(&wanted(&folder, &lost, 5).jobs),
            "1-2,4-5",
            "also the task whose job ended before its first cell"
        );
        assert_eq!(listed(&all.jobs), "1-2", "one task stopped, and the job of the other has ended");
        assert_eq!(
            (all.cells, listed(&all.busy)),
            (2, "4".into()),
            "a running task is not selected, nor is a waiting one"
        );
        let message = submit(folder.dir()).unwrap_err().to_string();
        assert!(message.contains("submit.sh") && message.contains("was not submitted"), "{message}");
    }
}
