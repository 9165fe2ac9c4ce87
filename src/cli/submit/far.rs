//! `probity submit --remote`: sends specs and files through ssh to the login node, which then submits them.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use super::{SubmitArgs, quoted};
use crate::error::CliError;
use crate::output;
use crate::remote::RemoteArgs;
use base::files::{folder_in, hex, write_whole};
use base::text::printable_label;
use labs::grid;
use remote::transfer::inner;
use remote::{Address, failed};

/// Name of the folder for received files, within the grid's folder.
const SPECS: &str = "specs";
/// Maximum total size in bytes of the files sent; larger data should be copied to the machine in advance.
const MOST: u64 = 256 << 20;

#[derive(Debug, Serialize, Deserialize)]
struct Sent {
    /// Name as in the spec, relative to the spec's folder.
    name: String,
    /// Contents in base64.
    bytes: String,
    /// SHA-256 of the bytes.
    sha256: String,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct SentFiles {
    specs: Vec<Sent>,
    files: Vec<Sent>,
}

/// Submits on the remote machine.
///
/// # Errors
/// [`CliError::Usage`] for files that cannot be sent, [`CliError::Failed`] with the host, the reason and a remedy.
pub(crate) fn submit(args: &SubmitArgs, address: &Address, out: &mut dyn Write) -> Result<(), CliError> {
    let dir = args.out.display().to_string();
    let (arguments, files_sent) = if args.again {
        (vec!["submit".into(), "--again".into(), "--out".into(), dir], Vec::new())
    } else {
        let files_sent = serde_json::to_vec(&pack(args)?).map_err(|e| CliError::Failed(e.to_string()))?;
        (arguments(args, dir), files_sent)
    };
    let said = command(address, true, &arguments, &files_sent)?;
    // The last line is a command to run on the remote machine. The user runs it here, so the address is added.
    said.lines().try_for_each(|line| match line.strip_prefix("probity follow ") {
        Some(rest) => output::line(out, &format!("probity follow --remote {} {rest}", quoted(&address.to_string())?)),
        None => output::line(out, line),
    })
}

fn arguments(args: &SubmitArgs, dir: String) -> Vec<String> {
    let mut all: Vec<String> = ["submit", "--slurm", "--received", "--device"].map(str::to_owned).into();
    all.extend([args.device.clone(), "--dtype".into(), args.dtype.clone(), "--out".into(), dir]);
    let numbers = [("--array", args.array), ("--memory-limit", args.memory_limit)];
    all.extend(numbers.into_iter().filter_map(|(name, n)| n.map(|n| format!("{name}={n}"))));
    all.extend(args.dry_run.then(|| "--dry-run".to_owned()));
    if !args.options.is_empty() {
        all.push("--".into());
        all.extend(args.options.iter().cloned());
    }
    all
}

pub(crate) fn command(
    address: &Address,
    can_ask: bool,
    arguments: &[String],
    input: &[u8],
) -> Result<String, CliError> {
    let mut command = address.program(can_ask, arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let cannot =
        |e: std::io::Error| CliError::Failed(format!("{}: {} cannot be started: {e}", address.host(), address.ssh()));
    let mut child = command.spawn().map_err(cannot)?;
    // A program that fails early does not read its input; its own error is more important than the broken pipe.
    let _ = child.stdin.take().map(|mut pipe| pipe.write_all(input));
    let done = child.wait_with_output().map_err(cannot)?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if !done.status.success() {
        return Err(failed(address, done.status.code(), &text(&done.stderr)).into());
    }
    // Warnings from the remote machine are passed on to the user.
    text(&done.stderr).lines().for_each(|line| output::say(&printable_label(line)));
    Ok(text(&done.stdout).lines().map(printable_label).collect::<Vec<_>>().join("\n"))
}

fn pack(args: &SubmitArgs) -> Result<SentFiles, CliError> {
    let mut files_sent = SentFiles::default();
    let mut room = MOST;
    for path in &args.specs {
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        if files_sent.specs.iter().any(|s| s.name == name) {
            return Err(CliError::Usage(format!(
                "two specs are called {name} and would share one folder on the remote machine; rename one of them"
            )));
        }
        let sent = wrap(name, path, &mut room)?;
        // Errors in the spec are reported here, under its local name.
        grid::read(path)?;
        files_sent.specs.push(sent);
    }
    let send = RemoteArgs { send: args.send.clone(), ..RemoteArgs::default() };
    for (name, path) in send.files(&args.specs)? {
        files_sent.files.push(wrap(name, &path, &mut room)?);
    }
    Ok(files_sent)
}

fn wrap(name: String, path: &Path, room: &mut u64) -> Result<Sent, CliError> {
    let bytes = base::read::bytes(path, MOST).map_err(|e| CliError::Usage(format!("{}: {e}", path.display())))?;
    let left = room.checked_sub(bytes.len() as u64).ok_or_else(|| {
        CliError::Usage(format!(
            "{}: the files of a grid exceed {} MiB, the most that can be sent; copy this file to the remote machine \
             and give its path there in the spec",
            path.display(),
            MOST >> 20
        ))
    })?;
    *room = left;
    Ok(Sent { name, sha256: hex(&Sha256::digest(&bytes)), bytes: BASE64_STANDARD.encode(&bytes) })
}

pub(super) struct Arrived {
    beside: TempDir,
    dir: PathBuf,
    specs: Vec<PathBuf>,
    files: Vec<PathBuf>,
}

/// Unpacks received files into a temporary folder.
///
/// # Errors
/// [`CliError::Usage`] for invalid or damaged data, or paths outside the folder; [`CliError::Failed`] if nothing can be written.
pub(super) fn receive(dir: &Path) -> Result<Arrived, CliError> {
    let mut text = Vec::new();
    let read = std::io::stdin().lock().take(2 * MOST).read_to_end(&mut text);
    read.map_err(|e| CliError::Failed(format!("standard input: {e}")))?;
    unpack(dir, &text)
}

fn unpack(dir: &Path, text: &[u8]) -> Result<Arrived, CliError> {
    let files_sent: SentFiles = serde_json::from_slice(text).map_err(|e| {
        CliError::Usage(format!(
            "the data received are not a set of specs ({e}); use the same version of the program on both machines"
        ))
    })?;
    let cannot = |e: std::io::Error| CliError::Failed(format!("cannot write {}: {e}", dir.display()));
    std::fs::create_dir_all(dir).map_err(cannot)?;
    let beside = folder_in(dir).map_err(cannot)?;
    let put = |sent: &Sent| {
        let bad = |what: &str| CliError::Usage(format!("{}: {what}", printable_label(&sent.name)));
        let name = inner(&sent.name).ok_or_else(|| bad("its path leads out of the grid's folder"))?;
        let bytes = BASE64_STANDARD.decode(&sent.bytes).unwrap_or_default();
        if hex(&Sha256::digest(&bytes)) != sent.sha256 {
            return Err(bad("it arrived corrupted; submit it again"));
        }
        let path = beside.path().join(&name);
        path.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(cannot)?;
        std::fs::write(&path, bytes).map_err(cannot)?;
        Ok(name)
    };
    let specs: Vec<PathBuf> = files_sent.specs.iter().map(put).collect::<Result<_, CliError>>()?;
    let files = files_sent.files.iter().map(put).collect::<Result<_, CliError>>()?;
    // New specs may refer to files that were sent earlier.
    link(&dir.join(SPECS), beside.path()).map_err(cannot)?;
    Ok(Arrived { dir: dir.to_owned(), specs, files, beside })
}

/// Hard-links every file in a folder and its subfolders into a second folder, unless a file with its name already exists in the second one.
fn link(from: &Path, to: &Path) -> std::io::Result<()> {
    if !from.is_dir() {
        return Ok(());
    }
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let (old, new) = (entry.path(), to.join(entry.file_name()));
        if old.is_dir() {
            std::fs::create_dir_all(&new)?;
            link(&old, &new)?;
        } else if !new.exists() && std::fs::hard_link(&old, &new).is_err() {
            std::fs::copy(&old, &new)?;
        }
    }
    Ok(())
}

impl Arrived {
    /// The current paths of the specs.
    pub(super) fn specs(&self) -> Vec<PathBuf> {
        self.specs.iter().map(|name| self.beside.path().join(name)).collect()
    }

    /// Rewrites an error so that it contains the final paths, because the temporary ones no longer exist when it is read.
    pub(super) fn told(&self, error: CliError) -> CliError {
        let (now, then) = (self.beside.path().display().to_string(), self.dir.join(SPECS).display().to_string());
        match error {
            CliError::Usage(what) => CliError::Usage(what.replace(&now, &then)),
            other => other,
        }
    }

    /// Moves all files to their final locations and returns the paths of the specs. The caller has checked that the folder belongs to their
    /// grid.
    ///
    /// # Errors
    /// [`CliError::Usage`] for an existing file with different contents; [`CliError::Failed`] if nothing can be written.
    pub(super) fn place(self) -> Result<Vec<PathBuf>, CliError> {
        let home = self.dir.join(SPECS);
        let cannot = |path: &Path| {
            let path = path.display().to_string();
            move |e: std::io::Error| CliError::Failed(format!("cannot write {path}: {e}"))
        };
        for (name, data) in self.files.iter().map(|n| (n, true)).chain(self.specs.iter().map(|n| (n, false))) {
            let path = home.join(name);
            let bytes = base::read::bytes(&self.beside.path().join(name), MOST).map_err(cannot(&path))?;
            // Existing cells were computed from this file.
            if data && base::read::bytes(&path, MOST).is_ok_and(|there| there != bytes) {
                return Err(CliError::Usage(format!(
                    "{}: it exists with different contents, and cells have been computed from it; choose another \
                     folder with --out",
                    path.display()
                )));
            }
            path.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(cannot(&path))?;
            write_whole(&path, &bytes).map_err(cannot(&path))?;
        }
        Ok(self.specs.iter().map(|name| home.join(name)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(name: &str, bytes: &[u8]) -> Sent {
        Sent { name: name.into(), bytes: BASE64_STANDARD.encode(bytes), sha256: hex(&Sha256::digest(bytes)) }
    }

    fn arrived(dir: &Path, specs: Vec<Sent>, files: Vec<Sent>) -> Result<Arrived, CliError> {
        unpack(dir, &serde_json::to_vec(&SentFiles { specs, files }).unwrap())
    }

    #[test]
    fn received_files_stay_in_the_grids_folder() {
        let tmp = tempfile::tempdir().unwrap();
        let dir = tmp.path().join("grid");
        let files_sent = arrived(&dir, vec![sent("g.toml", b"x")], vec![sent("data/rows.tsv", b"a\0b")]).unwrap();
        assert_eq!(std::fs::read(&files_sent.specs()[0]).unwrap(), b"x");
        let placed = files_sent.place().unwrap();
        assert_eq!(placed, [dir.join("specs/g.toml")]);
        assert_eq!(std::fs::read(dir.join("specs/data/rows.tsv")).unwrap(), b"a\0b");
        let names: Vec<_> = std::fs::read_dir(&dir).unwrap().flatten().map(|e| e.file_name()).collect();
        assert_eq!(names, ["specs"], "no temporary folder is left");
        // A spec sent without files can use those sent earlier, and messages contain the final paths.
        let second = arrived(&dir, vec![sent("g.toml", b"x")], vec![]).unwrap();
        assert!(second.beside.path().join("data/rows.tsv").is_file());
        let wrong = CliError::Usage(format!("{}, line 3: no", second.specs()[0].display()));
        assert_eq!(second.told(wrong).to_string(), format!("{}, line 3: no", dir.join("specs/g.toml").display()));
        drop(second);
        // The wording of a spec may change, but data that cells were computed from may not.
        arrived(&dir, vec![sent("g.toml", b"y")], vec![sent("data/rows.tsv", b"a\0b")]).unwrap().place().unwrap();
        let other = arrived(&dir, vec![], vec![sent("data/rows.tsv", b"c")]).unwrap().place();
        let message = other.unwrap_err().to_string();
        assert!(message.contains("rows.tsv") && message.contains("different contents"), "{message}");
        for name in ["../x", "/etc/x", ""] {
            assert!(arrived(&dir, vec![sent(name, b"x")], vec![]).is_err(), "{name}");
        }
        let garbled = Sent { sha256: hex(&Sha256::digest(b"z")), ..sent("g.toml", b"x") };
        assert!(arrived(&dir, vec![garbled], vec![]).err().unwrap().to_string().contains("corrupted"));
        assert!(unpack(&dir, b"hello").err().unwrap().to_string().contains("same version"));
    }
}
