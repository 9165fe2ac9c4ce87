//! A canvas of dots in terminal cells: Braille, half blocks or ASCII.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use crate::state::Glyphs;
use figure::Dash;

#[derive(Clone, Copy, Default)]
struct Cell {
    dots: u8,
    /// Dots of bands, drawn only where no line runs.
    shade: u8,
    /// True inside the narrower of two bands.
    dense: bool,
    style: Style,
    ascii: Option<char>,
}

/// A canvas whose dots are numbered from the upper left corner.
pub(crate) struct Canvas {
    area: Rect,
    glyphs: Glyphs,
    cells: Vec<Cell>,
}

/// Bits of Braille dots, by column and row.
const BRAILLE: [[u8; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];

impl Canvas {
    pub(crate) fn new(area: Rect, glyphs: Glyphs) -> Self {
        let cells = vec![Cell::default(); usize::from(area.width) * usize::from(area.height)];
        Self { area, glyphs, cells }
    }

    /// Columns and rows of dots per cell.
    fn resolution(&self) -> (i64, i64) {
        match self.glyphs {
            Glyphs::Braille => (2, 4),
            Glyphs::Blocks => (1, 2),
            Glyphs::Ascii => (1, 1),
        }
    }

    /// Columns and rows of dots on the canvas.
    pub(crate) fn dots(&self) -> (i64, i64) {
        let (dx, dy) = self.resolution();
        (i64::from(self.area.width) * dx, i64::from(self.area.height) * dy)
    }

    fn cell(&mut self, x: i64, y: i64) -> Option<(&mut Cell, u8)> {
        let (columns, rows) = self.dots();
        if !(0..columns).contains(&x) || !(0..rows).contains(&y) {
            return None;
        }
        let (dx, dy) = self.resolution();
        let bit = match self.glyphs {
            Glyphs::Braille => BRAILLE[(x % 2) as usize][(y % 4) as usize],
            _ => 1 << (y % dy),
        };
        let at = (y / dy) * i64::from(self.area.width) + x / dx;
        self.cells.get_mut(at as usize).map(|cell| (cell, bit))
    }

    fn dot(&mut self, x: i64, y: i64, style: Style, dash: Dash) {
        if let Some((cell, bit)) = self.cell(x, y) {
            cell.dots |= bit;
            cell.style = style;
            cell.ascii = Some(match dash {
                Dash::Solid => '*',
                Dash::Dashed => '-',
                Dash::Dotted => '.',
            });
        }
    }

    /// Draws a line between two dots. `count` is the number of dots drawn so far in a line of several pieces, so that dashes stay even.
    pub(crate) fn line(&mut self, from: (i64, i64), to: (i64, i64), style: Style, dash: Dash, count: &mut usize) {
        let (on, off) = match (dash, self.glyphs) {
            (Dash::Solid, _) => (1, 0),
            (Dash::Dashed, Glyphs::Braille) => (6, 4),
            (Dash::Dashed, _) => (3, 2),
            (Dash::Dotted, Glyphs::Braille) => (2, 2),
            (Dash::Dotted, _) => (1, 2),
        };
        let steps = (to.0 - from.0).abs().max((to.1 - from.1).abs());
        for i in 0..=steps {
            let at = |a: i64, b: i64| {
                if steps == 0 { a } else { a + ((b - a) as f64 * i as f64 / steps as f64).round() as i64 }
            };
            if *count % (on + off) < on {
                self.dot(at(from.0, to.0), at(from.1, to.1), style, dash);
            }
            // The end of a piece is also the start of the next.
            if i < steps {
                *count += 1;
            }
        }
    }

    /// Shades a column between two rows; `dense` for the narrower of two bands.
    pub(crate) fn shade(&mut self, x: i64, upper: i64, lower: i64, style: Style, dense: bool) {
        for y in upper.max(0)..=lower.min(self.dots().1 - 1) {
            if let Some((cell, bit)) = self.cell(x, y) {
                cell.shade |= bit;
                cell.dense |= dense;
                if cell.dots == 0 {
                    cell.style = style;
                }
            }
        }
    }

    /// True if nothing is drawn in a screen cell.
    pub(crate) fn is_free(&self, (x, y): (u16, u16)) -> bool {
        let at =
            usize::from(y.saturating_sub(self.area.y)) * usize::from(self.area.width) + usize::from(x - self.area.x);
        self.cells.get(at).is_none_or(|cell| cell.dots | cell.shade == 0)
    }

    /// Draws the canvas, leaving cells without dots unchanged.
    pub(crate) fn render(&self, buffer: &mut Buffer) {
        let cells = self.cells.iter().zip(self.area.positions());
        for (cell, position) in cells.filter(|(c, _)| c.dots | c.shade != 0) {
            let shaded = cell.dots == 0;
            let bits = if shaded { cell.shade } else { cell.dots };
            let glyph = match self.glyphs {
                // Few dots would look like a dotted line.
                Glyphs::Braille if shaded && bits.count_ones() < 4 => continue,
                Glyphs::Braille | Glyphs::Blocks if shaded => {
                    if cell.dense {
                        '▒'
                    } else {
                        '░'
                    }
                }
                Glyphs::Braille => char::from_u32(0x2800 + u32::from(bits)).unwrap_or(' '),
                Glyphs::Blocks => [' ', '▀', '▄', '█'][usize::from(bits & 3)],
                Glyphs::Ascii if shaded => {
                    if cell.dense {
                        '%'
                    } else {
                        ':'
                    }
                }
                Glyphs::Ascii => cell.ascii.unwrap_or('*'),
            };
            if let Some(target) = buffer.cell_mut(position) {
                target.set_char(glyph).set_style(cell.style);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(glyphs: Glyphs, dash: Dash) -> String {
        let area = Rect::new(0, 0, 12, 1);
        let mut canvas = Canvas::new(area, glyphs);
        let (columns, rows) = canvas.dots();
        canvas.line((0, rows / 2), (columns - 1, rows / 2), Style::new(), dash, &mut 0);
        let mut buffer = Buffer::empty(area);
        canvas.render(&mut buffer);
        buffer.content().iter().map(|c| c.symbol().to_owned()).collect()
    }

    #[test]
    fn dashes_differ_in_every_glyph_set() {
        for glyphs in [Glyphs::Braille, Glyphs::Blocks, Glyphs::Ascii] {
            let lines = [Dash::Solid, Dash::Dashed, Dash::Dotted].map(|d| drawn(glyphs, d));
            assert!(lines[0] != lines[1] && lines[1] != lines[2] && lines[0] != lines[2], "{lines:?}");
        }
        assert_eq!(drawn(Glyphs::Ascii, Dash::Dashed), "---  ---  --");
        assert!(drawn(Glyphs::Ascii, Dash::Solid).is_ascii());
    }

    /// Regression: the sparse dots of a wide band used to look like the dotted line of S.
    #[test]
    fn band_is_shaded_not_dotted() {
        let area = Rect::new(0, 0, 4, 3);
        for (dense, sign) in [(false, "░"), (true, "▒")] {
            let mut canvas = Canvas::new(area, Glyphs::Braille);
            (0..8).for_each(|x| canvas.shade(x, 0, 9, Style::new(), dense));
            let mut buffer = Buffer::empty(area);
            canvas.render(&mut buffer);
            let cells: Vec<&str> = buffer.content().iter().map(|c| c.symbol()).collect();
            assert_eq!(cells.concat(), sign.repeat(12));
        }
    }

    #[test]
    fn dots_outside_the_canvas_are_dropped() {
        let mut canvas = Canvas::new(Rect::new(0, 0, 2, 2), Glyphs::Braille);
        canvas.line((-50, -50), (50, 50), Style::new(), Dash::Solid, &mut 0);
        canvas.shade(99, -5, 99, Style::new(), false);
        assert_eq!(canvas.cells.iter().filter(|c| c.dots != 0).count(), 2);
    }
}
