//! Folders of the engines on this machine, each with the socket of a keeper.

use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use session::{SessionError, name};

/// Name of the file with a keeper's standard error.
pub(crate) const LOG: &str = "log";
/// Maximum length in bytes of a socket path, which all systems allow.
const MAX_SOCKET: usize = 100;
/// Largest number appended to a name that is taken.
const MAX_TRIES: usize = 1000;
/// Maximum length of an engine's name in bytes.
const MAX_NAME: usize = 48;

/// Rewords a local session error for the other machine, which must not see paths of this machine.
pub(crate) fn told(error: &SessionError) -> String {
    match error {
        SessionError::Write { path, source } => {
            let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
            format!(
                "{name}: cannot write the session on the remote machine: {source}; free some space there, or set PROBITY_STATE_DIR"
            )
        }
        other => other.to_string(),
    }
}

/// The folder of the engines: `remote` in the state folder, next to the sessions folder. Only its user can enter it.
pub(crate) fn folder() -> Result<PathBuf, SessionError> {
    let folder = name::folder()?.with_file_name("remote");
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder);
    made.map_err(|source| SessionError::Write { path: folder.clone(), source })?;
    Ok(folder)
}

/// The folder of an engine; `name` cannot lead out of the root.
pub(crate) fn of(root: &Path, name: &str) -> PathBuf {
    root.join(name::sanitise(name))
}

pub(crate) fn socket(folder: &Path) -> PathBuf {
    folder.join("socket")
}

/// Creates the folder for a new engine. If an engine or a session already has the name, a number is appended.
pub(crate) fn reserve(root: &Path, wanted: &str) -> io::Result<(String, PathBuf)> {
    let mut wanted = name::sanitise(wanted);
    while wanted.len() > MAX_NAME {
        wanted.pop();
    }
    let sessions = root.with_file_name("sessions");
    for k in 1..MAX_TRIES {
        let name = if k == 1 { wanted.clone() } else { format!("{wanted}-{k}") };
        let folder = root.join(&name);
        if socket(&folder).as_os_str().len() > MAX_SOCKET {
            let what = "the path of its socket is too long for the system; set PROBITY_STATE_DIR on the remote machine to a shorter path";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        if name::file(&sessions, &name).exists() {
            continue;
        }
        match std::fs::DirBuilder::new().mode(0o700).create(&folder) {
            Ok(()) => return Ok((name, folder)),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

pub(crate) fn connect(folder: &Path) -> io::Result<UnixStream> {
    UnixStream::connect(socket(folder))
}

/// The name of this machine; empty if the system does not report it.
pub(crate) fn machine() -> String {
    base::read::text(Path::new("/proc/sys/kernel/hostname"), 1 << 10).map(|h| h.trim().to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn existing_engine_or_session_name_gets_a_number() {
        let state = tempfile::tempdir().unwrap();
        let root = state.path().join("remote");
        std::fs::create_dir_all(&root).unwrap();
        std::fs::create_dir_all(state.path().join("sessions")).unwrap();
        assert_eq!(reserve(&root, "a").unwrap().0, "a");
        std::fs::write(state.path().join("sessions/a-2.probity.jsonl"), "").unwrap();
        let (name, folder) = reserve(&root, "a").unwrap();
        assert_eq!((name.as_str(), folder.parent()), ("a-3", Some(root.as_path())));
        let (name, folder) = reserve(&root, "../../x").unwrap();
        assert!(folder.starts_with(&root) && !name.contains('/'), "{name}");
        assert!(connect(&folder).is_err(), "nothing listens yet");
    }

    /// Regression: the other machine used to receive the path of the session folder.
    #[test]
    fn session_messages_omit_the_folder() {
        let source = io::Error::other("No space left on device");
        let told = told(&SessionError::Write { path: "/home/ada/a.probity.jsonl".into(), source });
        assert!(told.contains("a.probity.jsonl: ") && told.contains("No space left"), "{told}");
        assert!(!told.contains("/home/ada"), "{told}");
    }

    #[test]
    fn long_socket_path_error_names_what_to_shorten() {
        let root = PathBuf::from(format!("/{}", "x".repeat(MAX_SOCKET)));
        assert!(reserve(&root, "a").unwrap_err().to_string().contains("PROBITY_STATE_DIR"));
    }
}
