//! Sixel encoding of pictures for terminals: bands of six rows in a palette of 216 colours (a 6×6×6 cube).

use std::collections::BTreeSet;
use std::fmt::Write;

const LEVELS: usize = 6;
/// Rows per band.
const BAND: usize = 6;

/// Converts a PNG from [`crate::render`] to sixels at most `most` pixels wide; `None` if the bytes are not such a PNG.
pub fn of_png(png: &[u8], most: usize) -> Option<String> {
    let mut reader = png::Decoder::new(std::io::Cursor::new(png)).read_info().ok()?;
    let (width, height) = (reader.info().width as usize, reader.info().height as usize);
    let mut pixels = vec![0; reader.output_buffer_size()?];
    reader.next_frame(&mut pixels).ok()?;
    if reader.output_color_type() != (png::ColorType::Rgb, png::BitDepth::Eight) || most == 0 {
        return None;
    }
    let wide = width.min(most);
    let high = (height * wide / width).max(1);
    let span =
        |k: usize, small: usize, large: usize| k * large / small..((k + 1) * large / small).max(k * large / small + 1);
    let colour = |x: usize, y: usize| {
        // Averages the source pixels of one output pixel, and returns the palette index of the colour.
        let (columns, rows) = (span(x, wide, width), span(y, high, height));
        let count = columns.len() * rows.len();
        let mut sums = [0; 3];
        for at in rows.flat_map(|y| columns.clone().map(move |x| 3 * (y * width + x))) {
            sums.iter_mut().zip(&pixels[at..at + 3]).for_each(|(sum, value)| *sum += usize::from(*value));
        }
        sums.iter().fold(0, |number, sum| number * LEVELS + (sum * (LEVELS - 1) + count * 255 / 2) / (count * 255))
    };
    let table: Vec<usize> = (0..high).flat_map(|y| (0..wide).map(move |x| (x, y))).map(|(x, y)| colour(x, y)).collect();
    Some(encoded(&table, wide))
}

fn encoded(table: &[usize], wide: usize) -> String {
    let mut out = format!("\x1bPq\"1;1;{wide};{}", table.len() / wide);
    for number in table.iter().collect::<BTreeSet<_>>() {
        let percent = |k: usize| number / k % LEVELS * 100 / (LEVELS - 1);
        // Writing to a String cannot fail.
        let _ = write!(out, "#{number};2;{};{};{}", percent(LEVELS * LEVELS), percent(LEVELS), percent(1));
    }
    for band in table.chunks(BAND * wide) {
        for number in band.iter().collect::<BTreeSet<_>>() {
            let bits = |x: usize| {
                let rows = band.chunks(wide).enumerate().filter(|(_, row)| row[x] == *number);
                rows.fold(0u8, |bits, (k, _)| bits | 1 << k)
            };
            let columns: Vec<u8> = (0..wide).map(bits).collect();
            let _ = write!(out, "#{number}");
            for run in columns.chunk_by(|a, b| a == b) {
                let _ = write!(out, "!{}{}", run.len(), char::from(b'?' + run[0]));
            }
            out.push('$');
        }
        out.push('-');
    }
    out + "\x1b\\"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Format, Options, Style, render, samples};

    /// Decodes sixels: the colour of each pixel in percent, and the picture's width.
    fn decoded(text: &str) -> (Vec<Option<[usize; 3]>>, usize) {
        let body = text.strip_prefix("\x1bPq\"1;1;").unwrap().strip_suffix("\x1b\\").unwrap();
        let start = body.find('#').unwrap();
        let (wide, high) = body[..start].split_once(';').unwrap();
        let (wide, high): (usize, usize) = (wide.parse().unwrap(), high.parse().unwrap());
        let mut pixels = vec![None; wide * high];
        let mut colours = std::collections::BTreeMap::new();
        let (mut colour, mut x, mut y) = ([0; 3], 0, 0);
        let mut rest = &body[start..];
        let take = |rest: &mut &str| {
            let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            let number: usize = rest[..end].parse().unwrap();
            *rest = &rest[end..];
            number
        };
        while let Some(c) = rest.chars().next() {
            rest = &rest[1..];
            match c {
                '#' => {
                    let number = take(&mut rest);
                    if let Some(after) = rest.strip_prefix(";2;") {
                        rest = after;
                        let r = take(&mut rest);
                        rest = &rest[1..];
                        let g = take(&mut rest);
                        rest = &rest[1..];
                        colours.insert(number, [r, g, take(&mut rest)]);
                    } else {
                        colour = colours[&number];
                    }
                }
                '!' => {
                    let count = take(&mut rest);
                    let bits = rest.as_bytes()[0] - b'?';
                    rest = &rest[1..];
                    for (dx, k) in
                        (0..count).flat_map(|dx| (0..6).map(move |k| (dx, k))).filter(|(_, k)| bits >> k & 1 == 1)
                    {
                        let old = pixels[(y + k) * wide + x + dx].replace(colour);
                        assert_eq!(old, None, "each pixel is painted once");
                    }
                    x += count;
                }
                '$' => x = 0,
                '-' => (x, y) = (0, y + 6),
                other => panic!("{other:?}"),
            }
        }
        (pixels, wide)
    }

    #[test]
    fn a_picture_is_the_same_after_sixels_but_for_its_size_and_colours() {
        let options = Options { style: Style::Paper, width: Some(84.0), dpi: Some(150) };
        let png = render(&samples::all()[0], Format::Png, &options).unwrap();
        let (pixels, wide) = decoded(&of_png(&png, 333).unwrap());
        assert_eq!(wide, 333);
        let all: Vec<[usize; 3]> = pixels.into_iter().map(|p| p.expect("every pixel is painted")).collect();
        assert_eq!((all[0], all[all.len() - 1]), ([100; 3], [100; 3]));
        let orange = |p: &&[usize; 3]| p[0] >= p[2] + 40;
        assert!(all.iter().filter(orange).count() > 100);
        // The result is never wider than the picture.
        assert_eq!(decoded(&of_png(&png, 10_000).unwrap()).1, 496);
        assert_eq!(of_png(b"no picture", 100), None);
    }
}
