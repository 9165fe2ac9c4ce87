//! Folders of results with one file per task.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::systems::{System, SystemsError};
use corpus::readers::ReadError;
use corpus::results::{NO_FILTER, Results, Wanted, read_all};

/// Maximum depth below the given folder, and maximum number of files.
const DEEPEST: usize = 8;
const MOST_FILES: usize = 20_000;

/// A system, with notes on omissions and on results parsed in an unusual way.
pub struct Read {
    pub system: System,
    pub notes: Vec<String>,
}

/// Reads all results in a folder, or the results of a single file.
///
/// # Errors
/// [`SystemsError::Folder`] for a folder without results, and for an unreadable file that can only be results.
pub fn read_system(path: &Path, name: String, wanted: &Wanted) -> Result<Read, SystemsError> {
    let fail = |e: ReadError| SystemsError::Folder(e.to_string());
    let mut notes = Vec::new();
    if !path.is_dir() {
        let tasks = groups(path, "", wanted, &mut notes).map_err(fail)?;
        return Ok(Read { system: System { name, tasks }, notes });
    }
    let mut files = Vec::new();
    list(path, DEEPEST, &mut files)?;
    let mut by_task: BTreeMap<String, PathBuf> = BTreeMap::new();
    for file in files {
        // If a folder has several runs of a task, the latest one by the time in the file name is used.
        let task = task_of(&file);
        let Some(older) = by_task.insert(task.clone(), file.clone()) else { continue };
        if older.parent() != file.parent() {
            let (one, other) = (older.display(), file.display());
            return Err(SystemsError::Folder(format!(
                "{task} occurs twice, as {one} and {other}: give a folder with one run of each task"
            )));
        }
        notes.push(format!("{}: not used, because there is a later run of the same task", older.display()));
    }
    let all: Vec<_> = by_task
        .par_iter()
        .map(|(task, file)| {
            let mut notes = Vec::new();
            (file, groups(file, task, wanted, &mut notes), notes)
        })
        .collect();
    let mut system = System { name, tasks: BTreeMap::new() };
    let mut skipped = Vec::new();
    for (file, found, more) in all {
        notes.extend(more);
        match found {
            Ok(tasks) => system.tasks.extend(tasks),
            Err(e) if is_certain(file) => return Err(fail(e)),
            Err(e) => skipped.push(e.to_string()),
        }
    }
    if system.tasks.is_empty() {
        let why = skipped.first().map_or(String::new(), |first| format!("; for example {first}"));
        return Err(SystemsError::Folder(format!("{}: this folder contains no results{why}", path.display())));
    }
    notes.extend(skipped.iter().take(3).map(|what| format!("not results: {what}")));
    Ok(Read { system, notes })
}

/// Makes task names the same in all systems if no name is in common because file names contain the model's name. Removes the common
/// beginning of each system's names. If every system has one task, these are treated as the same task. Returns a note on the names.
pub fn align(systems: &mut [System]) -> Option<String> {
    let names = |s: &System| s.tasks.keys().cloned().collect::<Vec<String>>();
    let all: Vec<Vec<String>> = systems.iter().map(names).collect();
    let (first, others) = all.split_first()?;
    if others.iter().any(|other| other.iter().any(|name| first.contains(name))) || others.is_empty() {
        return None;
    }
    let short: Vec<Vec<String>> = match all.iter().all(|names| names.len() == 1) {
        true => vec![vec![first[0].clone()]; all.len()],
        false => all.iter().map(|names| without_prefix(names)).collect(),
    };
    if short.iter().any(|names| *names != short[0]) {
        return None;
    }
    for (system, names) in systems.iter_mut().zip(&short) {
        system.tasks = names.iter().cloned().zip(std::mem::take(&mut system.tasks).into_values()).collect();
    }
    let example = all.iter().map(|names| names[0].as_str()).collect::<Vec<_>>().join(", ");
    let how = if short[0].len() == 1 { "" } else { " after removing the common beginning of the names in each folder" };
    let example = base::text::shortened(&example, 300);
    Some(format!("no file has the same name in all folders; files were matched as the same task{how}: {example}"))
}

/// Removes the common beginning of several names, up to a separator.
fn without_prefix(names: &[String]) -> Vec<String> {
    let [first, others @ ..] = names else { return Vec::new() };
    let common = |name: &String| first.bytes().zip(name.bytes()).take_while(|(a, b)| a == b).count();
    let length = others.iter().map(common).min().unwrap_or(0);
    let cut = first.as_bytes()[..length].iter().rposition(|b| b"_-. /".contains(b)).map_or(0, |at| at + 1);
    names.iter().map(|name| name[cut..].to_owned()).collect()
}

/// Reads a file's runs by task. If the file has several filters, the filter becomes part of the task's name.
fn groups(
    file: &Path,
    task: &str,
    wanted: &Wanted,
    notes: &mut Vec<String>,
) -> Result<BTreeMap<String, Vec<Results>>, ReadError> {
    let groups = read_all(file, wanted)?;
    // All notes on the file are added to each group.
    let of_file = groups.first().map_or(&[][..], |group| &group.notes);
    notes.extend(of_file.iter().map(|note| format!("{}: {note}", file.display())));
    let named = |filter: &str| match filter {
        NO_FILTER => task.to_owned(),
        filter => format!("{task} ({filter})").trim().to_owned(),
    };
    Ok(groups.into_iter().map(|group| (named(&group.filter), group.runs)).collect())
}

/// True for file names that only evaluation harnesses use, and only for per-item results.
fn is_certain(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with("samples_") || name.starts_with("per_instance_stats") || name.ends_with(".eval")
}

/// Collects files of results in name order. Skips hidden files, links to folders, and files with totals.
fn list(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), SystemsError> {
    let fail = |e: std::io::Error| SystemsError::Folder(format!("{}: {e}", folder.display()));
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder)
        .map_err(fail)?
        .map(|e| e.map(|e| e.path()))
        .collect::<Result<_, _>>()
        .map_err(fail)?;
    entries.sort();
    // OpenCompass stores predictions next to the results computed from those predictions.
    if entries.iter().any(|e| name_of(e) == "results") {
        entries.retain(|e| name_of(e) != "predictions");
    }
    let helm = entries.iter().any(|e| name_of(e).starts_with("per_instance_stats"));
    for entry in entries {
        let name = name_of(&entry);
        let folder = entry.symlink_metadata().is_ok_and(|m| m.is_dir());
        if name.starts_with('.') || (helm && !name.starts_with("per_instance_stats")) {
            continue;
        }
        if folder && depth > 0 {
            list(&entry, depth - 1, files)?;
        } else if is_results(&name) && entry.is_file() {
            files.push(entry);
        }
        if files.len() > MOST_FILES {
            return Err(SystemsError::Folder(format!("{}: more than {MOST_FILES} files", entry_folder(files))));
        }
    }
    Ok(())
}

fn entry_folder(files: &[PathBuf]) -> String {
    files.first().and_then(|f| f.parent()).map_or(String::new(), |p| p.display().to_string())
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn is_results(name: &str) -> bool {
    let name = name.to_lowercase();
    let plain = name.strip_suffix(".gz").unwrap_or(&name);
    let known = [".json", ".jsonl", ".csv", ".tsv", ".eval", ".parquet"].iter().any(|end| plain.ends_with(end));
    known && !name.starts_with("results_20")
}

/// The task of a file: its name without the harness's prefix, the time, and the extension.
fn task_of(file: &Path) -> String {
    let name = name_of(file);
    let mut stem = name.as_str();
    for end in [".gz", ".jsonl", ".json", ".csv", ".tsv", ".eval"] {
        let at = stem.len().saturating_sub(end.len());
        stem = stem.get(at..).filter(|tail| tail.eq_ignore_ascii_case(end)).map_or(stem, |_| &stem[..at]);
    }
    // lmms-eval puts the time first: 20240501_120000_samples_task.
    let stem = stem.split_once("samples_").map_or(stem, |(_, task)| task);
    if ["per_instance_stats", "report", "results", "predictions", "samples", "eval_results"].contains(&stem)
        || stem.ends_with("_eval_results")
    {
        // HELM names folders `scenario:subject=x,model=y`.
        let parent = file.parent().map(name_of).unwrap_or_default();
        let parts: Vec<&str> = parent.split(',').filter(|part| !part.contains("model=")).collect();
        return parts.join(",");
    }
    // lm-evaluation-harness: task_2024-05-01T12-00-00.123456; Inspect: 2024-05-01T12-00-00-00-00_task_id.
    if let Some(at) = stem.rfind("_20").filter(|at| is_time(&stem[at + 1..])) {
        return stem[..at].to_owned();
    }
    if is_time(stem)
        && let Some((_, rest)) = stem.split_once('_')
    {
        return rest.rsplit_once('_').map_or(rest, |(task, _)| task).to_owned();
    }
    stem.to_owned()
}

/// True for text that begins with a time such as `2024-05-01T12`.
fn is_time(text: &str) -> bool {
    let shape = "dddd-dd-ddTdd";
    text.len() >= shape.len()
        && text.bytes().zip(shape.bytes()).all(|(b, s)| if s == b'd' { b.is_ascii_digit() } else { b == s })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: folders whose file names contain the model used to have no task in common.
    #[test]
    fn tasks_match_although_files_contain_model_names() {
        let system = |name: &str, files: &[&str]| System {
            name: name.to_owned(),
            tasks: files.iter().map(|file| (task_of(Path::new(file)), Vec::new())).collect(),
        };
        let tasks = |systems: &[System]| {
            systems.iter().map(|s| s.tasks.keys().cloned().collect::<Vec<_>>()).collect::<Vec<_>>()
        };
        let mut one = [system("a", &["modelA.run.CSV"]), system("b", &["modelB.run.csv"])];
        assert!(align(&mut one).is_some_and(|note| note.contains("modelB.run")));
        assert_eq!(tasks(&one)[0], tasks(&one)[1]);
        let mut two = [system("c", &["modelA_x.csv", "modelA_y.csv"]), system("d", &["modelB_x.csv", "modelB_y.csv"])];
        assert!(align(&mut two).is_some());
        assert_eq!(tasks(&two), [["x", "y"], ["x", "y"]]);
        let mut other = [system("e", &["x.csv", "y.csv"]), system("f", &["v.csv", "w.csv"])];
        assert!(align(&mut other).is_none() && tasks(&other)[1] == ["v", "w"]);
    }

    #[test]
    fn task_names_ignore_time_and_harness() {
        for (file, task) in [
            ("m/samples_arc_easy_2024-05-01T12-00-00.123456.jsonl", "arc_easy"),
            ("m/2024-11-05T13-32-37-05-00_gsm8k_hxs4q9azL3ySGkjJirypKZ.eval", "gsm8k"),
            ("runs/v1/mmlu:subject=anatomy,model=openai_gpt2/per_instance_stats.json", "mmlu:subject=anatomy"),
            ("predictions/llama/ceval.json", "ceval"),
            ("boolq.csv.gz", "boolq"),
            ("logs/20240501_120000_samples_mme.jsonl", "mme"),
            ("humaneval/model--x_vllm_temp_0.0_eval_results.json", "humaneval"),
        ] {
            assert_eq!(task_of(Path::new(file)), task);
        }
    }
}
