//! Session names, and the folder of sessions.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::SessionError;

/// The extension of a session's file name.
pub const EXTENSION: &str = ".probity.jsonl";
/// Maximum length of a name in bytes; file systems allow 255 including the extension.
const MAX_NAME: usize = 120;

/// The folder of recorded sessions: `$PROBITY_STATE_DIR/sessions`, otherwise `probity/sessions` in the platform's state folder
/// (`XDG_STATE_HOME`, by default `~/.local/state`).
pub fn folder() -> Result<PathBuf, SessionError> {
    let own = std::env::var_os("PROBITY_STATE_DIR").filter(|v| !v.is_empty()).map(PathBuf::from);
    let state = || base::folders::state().map(|d| d.join("probity"));
    Ok(own.or_else(state).ok_or(SessionError::NoFolder)?.join("sessions"))
}

/// Path of a session's file in `folder`; `name` may include the extension.
pub fn file(folder: &Path, name: &str) -> PathBuf {
    let name = name.strip_suffix(EXTENSION).unwrap_or(name);
    folder.join(format!("{}{EXTENSION}", sanitise(name)))
}

/// Finds a session by path, or by name in `folder`.
pub fn find(folder: &Path, what: &str) -> Result<PathBuf, SessionError> {
    let path = PathBuf::from(what);
    // Anything other than a regular file is rejected with a reason when it is opened.
    if path.exists() && !path.is_dir() {
        return Ok(path);
    }
    let named = file(folder, what);
    if named.is_file() { Ok(named) } else { Err(SessionError::Missing { name: what.into(), path: named }) }
}

/// Makes a name safe as a file name on every platform: letters, digits, `-`, `_` and `.`, no leading dot, not empty.
pub fn sanitise(name: &str) -> String {
    let mut out = String::new();
    for c in name.trim().chars() {
        if out.len() + c.len_utf8() > MAX_NAME {
            break;
        }
        let keep = c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
        out.push(if keep && !(out.is_empty() && c == '.') { c } else { '-' });
    }
    if out.is_empty() { "session".into() } else { out }
}

/// The default name of a session: the task and the start time in UTC, to the second.
pub fn default_name(task: &str, now: SystemTime) -> String {
    let stamp = utc(now).replace(['-', ':'], "").replace('T', "-");
    sanitise(&format!("{task}-{}", stamp.trim_end_matches('Z')))
}

/// Formats a time in UTC as RFC 3339 to the second: `2025-03-01T12:00:00Z`.
pub fn utc(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs();
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", rest / 3600, rest / 60 % 60, rest % 60)
}

/// Converts days since 1970-01-01 to year, month and day (Hinnant, `civil_from_days`). Years are counted from March, so that the leap day
/// comes last; 146,097 days are 400 years.
fn civil(days: u64) -> (u64, u64, u64) {
    let z = days + 719_468;
    let era = z / 146_097;
    let day_of_era = z % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn dates_match_known_examples() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_000_000_000, "2001-09-09T01:46:40Z"),
            (4_102_444_800, "2100-01-01T00:00:00Z"),
        ] {
            assert_eq!(utc(at(seconds)), text);
        }
        assert_eq!(default_name("agreement", at(1_000_000_000)), "agreement-20010909-014640");
    }

    #[test]
    fn malicious_names_stay_in_the_folder() {
        for (name, safe) in [
            ("agreement-2", "agreement-2"),
            ("../../etc/passwd", "-.-..-etc-passwd"),
            (".hidden", "-hidden"),
            ("  ", "session"),
            ("a\u{1b}[31mb\n", "a--31mb"),
            ("日本", "日本"),
        ] {
            assert_eq!(sanitise(name), safe);
            let file = file(Path::new("/x"), name);
            assert_eq!(file.parent(), Some(Path::new("/x")));
        }
        assert!(sanitise(&"é".repeat(1000)).len() <= MAX_NAME);
    }

    #[test]
    fn extension_is_not_repeated() {
        assert_eq!(file(Path::new("/x"), "a.probity.jsonl"), Path::new("/x/a.probity.jsonl"));
        assert_eq!(file(Path::new("/x"), "a"), Path::new("/x/a.probity.jsonl"));
    }
}
