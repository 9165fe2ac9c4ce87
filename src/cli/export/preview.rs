//! Shows a written PNG in the terminal with kitty's or iTerm2's protocol or as sixels, depending on the environment.
//!
//! The sixel encoder is in this workspace ([`figure::sixel`]), because `icy_sixel` 0.7, the maintained crate, has 36 dependencies.

use std::io::{IsTerminal, Write};
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Maximum size of a picture sent to a terminal.
const MOST_BYTES: u64 = 8 << 20;
/// Prefixes of `TERM` in terminals that show sixels.
const SIXEL: [&str; 4] = ["foot", "mlterm", "contour", "yaft"];
/// Base64 bytes per message of kitty's protocol.
const CHUNK: usize = 4096;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protocol {
    Kitty,
    Iterm,
    Sixel,
}

/// Detects the protocol from the environment; `None` inside a multiplexer, which would corrupt the picture.
fn protocol(variable: &dyn Fn(&str) -> Option<String>) -> Option<Protocol> {
    let is = |name: &str, values: &[&str]| variable(name).is_some_and(|v| values.contains(&v.as_str()));
    if variable("TMUX").is_some() || variable("STY").is_some() {
        return None;
    }
    if is("TERM", &["xterm-kitty", "xterm-ghostty"]) || variable("KITTY_WINDOW_ID").is_some() {
        return Some(Protocol::Kitty);
    }
    if is("TERM_PROGRAM", &["iTerm.app", "WezTerm"]) {
        return Some(Protocol::Iterm);
    }
    let begins = |name: &&str| variable("TERM").is_some_and(|term| term.starts_with(*name));
    let sixel = is("TERM_PROGRAM", &["mintty"]) || SIXEL.iter().any(begins);
    sixel.then_some(Protocol::Sixel)
}

/// Width of the terminal in pixels; if unknown, eight pixels per column are assumed.
fn pixels() -> usize {
    let exact = crossterm::terminal::window_size().ok().map(|size| usize::from(size.width)).filter(|w| *w > 0);
    exact.unwrap_or_else(|| crossterm::terminal::size().map_or(640, |(columns, _)| 8 * usize::from(columns)))
}

/// Shows a PNG on standard error if that is a terminal with picture support.
pub(super) fn show(path: &Path) {
    let is_png = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("png"));
    if !is_png || !std::io::stderr().is_terminal() {
        return;
    }
    let Some(protocol) = protocol(&|name| std::env::var(name).ok()) else { return };
    if let Ok(bytes) = base::read::bytes(path, MOST_BYTES) {
        // A picture that cannot be shown is still available in its file.
        let _ = std::io::stderr().write_all(message(protocol, &bytes).as_bytes());
    }
}

fn message(protocol: Protocol, png: &[u8]) -> String {
    let data = STANDARD.encode(png);
    match protocol {
        Protocol::Sixel => figure::sixel::of_png(png, pixels()).unwrap_or_default() + "\n",
        Protocol::Iterm => format!("\x1b]1337;File=inline=1;size={}:{data}\x07\n", png.len()),
        Protocol::Kitty => {
            let count = data.len().div_ceil(CHUNK);
            let chunk = |(k, part): (usize, &[u8])| {
                let head = if k == 0 { "a=T,f=100," } else { "" };
                let more = u8::from(k + 1 < count);
                format!("\x1b_G{head}m={more};{}\x1b\\", String::from_utf8_lossy(part))
            };
            data.as_bytes().chunks(CHUNK).enumerate().map(chunk).collect::<String>() + "\n"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn picture_protocol_is_detected_except_in_multiplexers() {
        let with = |pairs: &'static [(&str, &str)]| {
            protocol(&move |name| pairs.iter().find(|(k, _)| *k == name).map(|(_, v)| (*v).to_owned()))
        };
        assert_eq!(with(&[("TERM", "xterm-kitty")]), Some(Protocol::Kitty));
        assert_eq!(with(&[("TERM_PROGRAM", "iTerm.app"), ("TERM", "xterm-256color")]), Some(Protocol::Iterm));
        assert_eq!(with(&[("TERM", "foot-extra")]), Some(Protocol::Sixel));
        assert_eq!(with(&[("TERM", "xterm"), ("TERM_PROGRAM", "mintty")]), Some(Protocol::Sixel));
        assert_eq!(with(&[("TERM", "xterm-256color")]), None);
        assert_eq!(with(&[("TERM", "xterm-kitty"), ("TMUX", "/tmp/x,1,0")]), None);
    }

    #[test]
    fn picture_is_sent_in_chunks() {
        let png = vec![7u8; 5000];
        let said = message(Protocol::Kitty, &png);
        assert_eq!(said.matches("\x1b_G").count(), 2);
        let parts = said.split("\x1b_G").skip(1).map(|p| p.split(['\x1b', ';']).nth(1).unwrap());
        assert_eq!(STANDARD.decode(parts.collect::<String>()).unwrap(), png);
        assert!(message(Protocol::Iterm, &png).starts_with("\x1b]1337;File=inline=1;size=5000:"));
    }
}
