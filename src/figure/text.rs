//! Text from outside made fit to print: names in models, specs and sessions may hold anything.

/// Longest text that is drawn, in characters.
const MAX_CHARS: usize = 300;

/// The text with every character that could steer a terminal or break a file format replaced: control characters (the
/// C1 set too), line ends, and marks that turn the writing direction. Cut after 300 characters.
pub fn printable(text: &str) -> String {
    let mut chars = text.chars();
    let mut out: String =
        chars.by_ref().take(MAX_CHARS).map(|c| if unsafe_to_print(c) { '\u{fffd}' } else { c }).collect();
    if chars.next().is_some() {
        out.push('…');
    }
    out
}

fn unsafe_to_print(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
        || matches!(c, '\u{fff9}'..='\u{fffb}' | '\u{fffe}' | '\u{ffff}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_steers_a_terminal_is_left() {
        assert_eq!(
            printable("a\u{1b}[31mb\r\n\u{9b}c\u{202e}d"),
            "a\u{fffd}[31mb\u{fffd}\u{fffd}\u{fffd}c\u{fffd}d"
        );
        assert_eq!(printable("ε = .112 日本 é"), "ε = .112 日本 é");
        assert_eq!(printable(&"x".repeat(5000)).chars().count(), MAX_CHARS + 1);
    }
}
