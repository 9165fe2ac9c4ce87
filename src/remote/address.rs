//! Addresses of engines, `ssh://[user@]host[:port][/path/to/probity]`, and the commands that connect to them.

use std::ffi::OsString;
use std::process::Command;
use std::str::FromStr;

/// Environment variable with a program to call instead of `ssh`, with the same arguments, as GIT_SSH does for git.
const SSH: &str = "PROBITY_SSH";
/// Shell command that also finds the program in folders that a non-login shell does not search; works in any login shell.
const FOUND: &str = r#"PATH="$PATH:$HOME/.local/bin:$HOME/.cargo/bin"; exec probity"#;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    user: Option<String>,
    host: String,
    port: Option<u16>,
    program: Option<String>,
    ssh: OsString,
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |what: &str| format!("{what}; use ssh://[user@]host[:port], for example ssh://ada@gpu1:2222");
        let rest = text.strip_prefix("ssh://").ok_or_else(|| wrong("it does not begin with ssh://"))?;
        let (place, path) = rest.split_once('/').map_or((rest, ""), |(place, path)| (place, path));
        let (user, place) = place.rsplit_once('@').map_or((None, place), |(user, place)| (Some(user), place));
        if user.is_some_and(|u| u.contains(':')) {
            return Err(wrong("an address cannot contain a password: ssh asks for it, or uses a key"));
        }
        let (host, port) = match place.strip_prefix('[').and_then(|p| p.split_once(']')) {
            Some((host, after)) => (host, after.strip_prefix(':')),
            None => place.split_once(':').map_or((place, None), |(host, port)| (host, Some(port))),
        };
        let port = match port.filter(|p| !p.is_empty()).map(str::parse::<u16>) {
            None => None,
            Some(Ok(port)) if port > 0 => Some(port),
            Some(_) => return Err(wrong("the port is not a number from 1 to 65535")),
        };
        // Rejects anything that ssh could parse as an option, or that a shell could parse as more than a name.
        let name = |text: &str, more: &[char]| {
            !text.is_empty()
                && !text.starts_with('-')
                && text.chars().all(|c| c.is_alphanumeric() || "._-".contains(c) || more.contains(&c))
        };
        if !name(host, &[':', '%']) {
            return Err(wrong("the host is missing or invalid"));
        }
        if user.is_some_and(|u| !name(u, &['+', '\\', '@'])) {
            return Err(wrong("the user name is missing or invalid"));
        }
        if path.chars().any(char::is_control) {
            return Err(wrong("the program's path contains control characters"));
        }
        let ssh = std::env::var_os(SSH).filter(|s| !s.is_empty()).unwrap_or("ssh".into());
        let program = Some(path).filter(|p| !p.is_empty()).map(|p| format!("/{p}"));
        Ok(Self { user: user.map(str::to_owned), host: host.to_owned(), port, program, ssh })
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ssh://")?;
        if let Some(user) = &self.user {
            write!(f, "{user}@")?;
        }
        if self.host.contains(':') {
            write!(f, "[{}]", self.host)?
        } else {
            f.write_str(&self.host)?
        }
        if let Some(port) = self.port {
            write!(f, ":{port}")?;
        }
        f.write_str(self.program.as_deref().unwrap_or_default())
    }
}

impl Address {
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The host in ssh's command-line form, for commands that are shown to the user.
    pub fn target(&self) -> String {
        self.user.as_ref().map_or(self.host.clone(), |user| format!("{user}@{}", self.host))
    }

    /// Returns the address with a different program instead of ssh, called with the same arguments.
    pub fn through(mut self, ssh: impl Into<OsString>) -> Self {
        self.ssh = ssh.into();
        self
    }

    pub fn ssh(&self) -> String {
        self.ssh.to_string_lossy().into_owned()
    }

    fn has_ssh(&self) -> bool {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let named = std::path::Path::new(&self.ssh);
        named.components().count() > 1 && named.is_file()
            || std::env::split_paths(&path).any(|dir| dir.join(named).is_file())
    }

    /// Returns the command that opens a channel to the remote program. If `can_ask`, ssh can ask for a password on this process's terminal;
    /// otherwise it fails if it needs one.
    pub fn command(&self, can_ask: bool) -> Command {
        self.program(can_ask, &["engine".into(), "--stdio".into()])
    }

    /// Returns the command that runs the remote program with these arguments.
    pub fn program(&self, can_ask: bool, arguments: &[String]) -> Command {
        let mut command = Command::new(&self.ssh);
        if can_ask && self.has_ssh() {
            // Ctrl-C must reach only this program, because the channel must stay open to send the shutdown to the far end. A separate
            // process group would prevent this too, but ssh could not ask for a password.
            command = Command::new("sh");
            command.args(["-c", r#"trap '' INT; exec "$0" "$@""#]).arg(&self.ssh);
        }
        // Findings are text, which compresses well, and the link may be slow.
        command.args(["-T", "-C"]);
        if !can_ask {
            command.args(["-o", "BatchMode=yes"]);
        }
        if let Some(port) = self.port {
            command.args(["-p", &port.to_string()]);
        }
        if let Some(user) = &self.user {
            command.args(["-l", user]);
        }
        let arguments: Vec<String> = arguments.iter().map(|a| quoted(a)).collect();
        let arguments = arguments.join(" ");
        let there = match &self.program {
            Some(path) => format!("exec {} {arguments}", quoted(path)),
            None => format!("exec sh -c {}", quoted(&format!("{FOUND} {arguments}"))),
        };
        command.args(["--", &self.host, &there]);
        command
    }
}

/// Quotes a word so that any shell reads it literally.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(text: &str) -> Vec<String> {
        let address: Address = text.parse().unwrap();
        assert_eq!(address.to_string(), text);
        address.command(false).get_args().map(|a| a.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn address_round_trips_and_becomes_ssh_arguments() {
        let all = arguments("ssh://ada@gpu1:2222/opt/it's/probity");
        assert_eq!(
            all,
            [
                "-T",
                "-C",
                "-o",
                "BatchMode=yes",
                "-p",
                "2222",
                "-l",
                "ada",
                "--",
                "gpu1",
                r"exec '/opt/it'\''s/probity' engine --stdio"
            ]
        );
        assert_eq!(
            arguments("ssh://gpu1").last().unwrap(),
            r#"exec sh -c 'PATH="$PATH:$HOME/.local/bin:$HOME/.cargo/bin"; exec probity engine --stdio'"#
        );
        let address: Address = "ssh://gpu1".parse().unwrap();
        let odd = address.program(false, &["follow".into(), "a b'; id".into()]);
        let line = odd.get_args().last().unwrap().to_string_lossy().into_owned();
        let echoed = line.replace("exec probity", "printf \"[%s]\"");
        let said = Command::new("sh").args(["-c", &echoed]).output().unwrap().stdout;
        assert_eq!(String::from_utf8(said).unwrap(), "[follow][a b'; id]", "no shell splits the argument: {line}");
        assert!(arguments("ssh://[::1]:22").contains(&"::1".to_owned()));
    }

    #[test]
    fn invalid_address_is_rejected_with_a_reason() {
        for (text, reason) in [
            ("gpu1", "ssh://"),
            ("ssh://", "host"),
            ("ssh://-oProxyCommand=id", "host"),
            ("ssh://a b", "host"),
            ("ssh://ada:secret@gpu1", "password"),
            ("ssh://-l@gpu1", "user"),
            ("ssh://gpu1:0", "port"),
            ("ssh://gpu1:99999", "port"),
            ("ssh://gpu1/a\u{1b}[2J", "control"),
            ("ssh://gpu1;id", "host"),
        ] {
            let error = text.parse::<Address>().unwrap_err();
            assert!(error.contains(reason) && error.contains("ssh://ada@gpu1"), "{text}: {error}");
        }
    }
}
