//! The user's standard folders: XDG base directories, or those of macOS or Windows.

use std::ffi::OsString;
use std::path::PathBuf;

pub fn home() -> Option<PathBuf> {
    std::env::home_dir().filter(|home| !home.as_os_str().is_empty())
}

/// Folder for files that can be recomputed.
pub fn cache() -> Option<PathBuf> {
    user(("XDG_CACHE_HOME", ".cache"), "Library/Caches", ("LOCALAPPDATA", "AppData/Local"))
}

/// Folder for settings.
pub fn config() -> Option<PathBuf> {
    user(("XDG_CONFIG_HOME", ".config"), "Library/Application Support", ("APPDATA", "AppData/Roaming"))
}

/// Folder for records of past activity.
pub fn state() -> Option<PathBuf> {
    user(("XDG_STATE_HOME", ".local/state"), "Library/Application Support", ("LOCALAPPDATA", "AppData/Local"))
}

/// Folder for user-installed fonts.
pub fn fonts() -> Option<PathBuf> {
    let data = user(("XDG_DATA_HOME", ".local/share"), "Library", ("LOCALAPPDATA", "AppData/Local"))?;
    Some(data.join(match std::env::consts::OS {
        "windows" => "Microsoft/Windows/Fonts",
        "macos" => "Fonts",
        _ => "fonts",
    }))
}

/// Returns the folder for the operating system: from the environment variable that names it, or its default within the home folder.
fn user(xdg: (&str, &str), mac: &str, windows: (&str, &str)) -> Option<PathBuf> {
    if cfg!(target_os = "macos") {
        return chosen(None, home(), mac);
    }
    let (variable, below) = if cfg!(windows) { windows } else { xdg };
    chosen(std::env::var_os(variable), home(), below)
}

/// Returns the folder named by a variable, or `below` in the home folder if the variable is unset or relative; the XDG specification
/// requires that relative paths are ignored.
fn chosen(named: Option<OsString>, home: Option<PathBuf>, below: &str) -> Option<PathBuf> {
    let named = named.map(PathBuf::from).filter(|path| path.is_absolute());
    named.or_else(|| home.map(|home| home.join(below)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_path_in_variable_is_ignored() {
        let home = std::env::temp_dir();
        let absolute = home.join("own");
        let of = |named: Option<OsString>| chosen(named, Some(home.clone()), ".cache");
        assert_eq!(of(Some(absolute.clone().into())), Some(absolute));
        for other in [None, Some(OsString::new()), Some("own".into())] {
            assert_eq!(of(other), Some(home.join(".cache")));
        }
        assert_eq!(chosen(Some("own".into()), None, ".cache"), None);
    }
}
