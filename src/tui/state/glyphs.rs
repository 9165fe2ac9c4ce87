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
    fn signs_of_one_kind_take_the_same_room_on_and_off() {
        use base::text::width;
        for glyphs in [Glyphs::Braille, Glyphs::Blocks, Glyphs::Ascii] {
            assert_eq!(width(glyphs.check(true)), width(glyphs.check(false)));
            assert_eq!(width(glyphs.cursor(true)), width(glyphs.cursor(false)));
        }
        let ascii = [Glyphs::Ascii.check(true), Glyphs::Ascii.cursor(true), Glyphs::Ascii.cross()];
        assert!(ascii.iter().all(|s| s.is_ascii()));
    }
}
