//! Character sets for charts, sliders and symbols.

/// Character set for charts, sliders and symbols.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Glyphs {
    /// Braille dots: eight per cell.
    Braille,
    /// Half blocks: two per cell, for fonts without Braille.
    Blocks,
    /// ASCII, for terminals without Unicode.
    Ascii,
}

impl Glyphs {
    fn pick(self, unicode: &'static str, ascii: &'static str) -> &'static str {
        if self == Glyphs::Ascii { ascii } else { unicode }
    }

    /// The ASCII replacement of a character for terminals without Unicode; `?` for letters of other scripts.
    pub(crate) fn in_ascii(c: char) -> char {
        match c {
            _ if c.is_ascii() => c,
            '–' | '—' | '−' | '─' | '━' | '┈' | '╌' | '‐' => '-',
            '│' | '┃' | '┊' | '┤' | '├' => '|',
            '…' | '·' | '•' | '⋅' => '.',
            '±' | '≈' => '~',
            '≡' => '=',
            '┌' | '┐' | '└' | '┘' | '┬' | '┴' | '┼' | '┏' | '┓' | '┗' | '┛' | '┣' | '┫' | '┳' | '┻' | '╋' => {
                '+'
            }
            '▔' => '-',
            '▐' | '▌' | '❚' => '|',
            '╱' => '/',
            '▁' | '▂' | '▃' | '▄' => '.',
            '▅' | '▆' | '▇' | '▀' => '#',
            '×' | '✗' | '✘' => 'x',
            '→' | '▶' | '▸' | '»' | '›' | '≥' => '>',
            '←' | '◀' | '◂' | '«' | '‹' | '≤' => '<',
            '▲' | '△' | '↑' | '▴' => '^',
            '▼' | '▽' | '↓' | '▾' => 'v',
            '█' | '▓' | '■' | '▰' | '▣' => '#',
            '░' | '▒' | '▱' | '□' | '▢' => ':',
            '●' | '○' | '◉' | '◇' | '◆' | '★' | '☆' | '◐' | '◓' | '◑' | '◒' => '*',
            '‘' | '’' | '′' => '\'',
            '“' | '”' | '″' => '"',
            'α' => 'a',
            'β' => 'b',
            'γ' => 'g',
            'δ' | 'Δ' => 'd',
            'ε' => 'e',
            'κ' => 'k',
            'λ' => 'l',
            'μ' | 'µ' => 'u',
            'ρ' => 'r',
            'σ' => 's',
            'τ' | 'θ' => 't',
            'φ' | 'ϕ' => 'f',
            'χ' => 'x',
            'ℓ' => 'l',
            '₁' | '¹' => '1',
            '∞' => '8',
            'ß' => 's',
            'Ł' => 'L',
            // Byte-level BPE's mark for a space before a token.
            'Ġ' => '_',
            '✓' | '✔' => '+',
            '²' | '₂' => '2',
            '³' | '₃' => '3',
            '₀' | '⁰' | '°' => '0',
            'à' | 'á' | 'â' | 'ä' | 'å' | 'ã' => 'a',
            'ç' => 'c',
            'è' | 'é' | 'ê' | 'ë' => 'e',
            'ì' | 'í' | 'î' | 'ï' => 'i',
            'ñ' => 'n',
            'ò' | 'ó' | 'ô' | 'ö' | 'õ' | 'ø' => 'o',
            'ù' | 'ú' | 'û' | 'ü' => 'u',
            '\u{a0}' | '\u{2009}' | '\u{202f}' => ' ',
            _ => '?',
        }
    }

    pub fn check(self, on: bool) -> &'static str {
        if on { self.pick("▣", "[x]") } else { self.pick("▢", "[ ]") }
    }

    /// Mark of the row under the cursor, or a space.
    pub fn cursor(self, here: bool) -> &'static str {
        if here { self.pick("▸", ">") } else { " " }
    }

    pub fn cross(self) -> &'static str {
        self.pick("✗", "x")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_have_equal_width_on_and_off() {
        use base::text::width;
        for glyphs in [Glyphs::Braille, Glyphs::Blocks, Glyphs::Ascii] {
            assert_eq!(width(glyphs.check(true)), width(glyphs.check(false)));
            assert_eq!(width(glyphs.cursor(true)), width(glyphs.cursor(false)));
        }
        let ascii = [Glyphs::Ascii.check(true), Glyphs::Ascii.cursor(true), Glyphs::Ascii.cross()];
        assert!(ascii.iter().all(|s| s.is_ascii()));
    }
}
