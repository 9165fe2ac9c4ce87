//! PNG: drawn at four times the size, averaged down to twice the size, with the provenance in text chunks.

use plotters::backend::BitMapBackend;
use plotters::drawing::IntoDrawingArea;

use super::{Figure, FigureError, canvas, draw};
use crate::base::text::printable_label;

/// Pixels of the file per logical pixel.
const RESOLUTION: u32 = 2;
/// Drawn pixels per pixel of the file: plotters does not smooth thick lines, averaging does.
const OVERSAMPLE: u32 = 2;
/// Pixels per metre: a figure of 800 logical pixels prints 5.3 inches wide.
const DENSITY: u32 = 11_811;

/// The figure as a PNG file. The same figure gives the same bytes.
///
/// # Errors
/// [`FigureError::Draw`] where the renderer fails.
pub fn to_png(figure: &Figure) -> Result<Vec<u8>, FigureError> {
    canvas::register_fonts()?;
    let (width, height) = draw::size(figure);
    let (width, height) = (width * RESOLUTION, height * RESOLUTION);
    let (wide, high) = (width * OVERSAMPLE, height * OVERSAMPLE);
    let mut large = vec![0; wide as usize * high as usize * 3];
    {
        let area = BitMapBackend::with_buffer(&mut large, (wide, high)).into_drawing_area();
        draw::draw(&area, (f64::from(RESOLUTION * OVERSAMPLE), canvas::Medium::Bitmap), figure)?;
        area.present().map_err(|e| FigureError::Draw(e.to_string()))?;
    }
    encode(figure, &shrink(&large, wide as usize), (width, height))
        .map_err(|e| FigureError::Draw(e.to_string()))
}

/// Averages squares of [`OVERSAMPLE`]² pixels.
fn shrink(large: &[u8], wide: usize) -> Vec<u8> {
    let k = OVERSAMPLE as usize;
    let rows = large.chunks_exact(wide * 3 * k);
    let mut out = Vec::with_capacity(large.len() / (k * k));
    for block in rows {
        for x in 0..wide / k {
            for channel in 0..3 {
                let sum: u32 = (0..k * k)
                    .map(|i| u32::from(block[(i / k) * wide * 3 + (x * k + i % k) * 3 + channel]))
                    .sum();
                out.push(((sum + OVERSAMPLE) / (OVERSAMPLE * OVERSAMPLE)) as u8);
            }
        }
    }
    out
}

fn encode(
    figure: &Figure,
    pixels: &[u8],
    (width, height): (u32, u32),
) -> Result<Vec<u8>, png::EncodingError> {
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::Balanced);
    let unit = png::Unit::Meter;
    encoder.set_pixel_dims(Some(png::PixelDimensions { xppu: DENSITY, yppu: DENSITY, unit }));
    encoder.add_text_chunk("Software".into(), format!("Probity {}", env!("CARGO_PKG_VERSION")))?;
    encoder.add_itxt_chunk("Title".into(), printable_label(&figure.title))?;
    for (key, value) in &figure.provenance.entries {
        encoder.add_itxt_chunk(keyword(key), printable_label(value))?;
    }
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    writer.finish()?;
    Ok(out)
}

/// The keyword of a text chunk: 1 to 79 Latin-1 characters.
fn keyword(key: &str) -> String {
    let key: String = format!("probity:{key}").chars().filter(char::is_ascii_graphic).collect();
    key.chars().take(79).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::samples;

    #[test]
    fn the_same_figure_gives_the_same_bytes_and_says_where_it_comes_from() {
        let figure = samples::curves();
        let bytes = to_png(&figure).unwrap();
        assert_eq!(bytes, to_png(&figure).unwrap());
        let mut reader = png::Decoder::new(std::io::Cursor::new(&bytes)).read_info().unwrap();
        let info = reader.info().clone();
        assert_eq!((info.width, info.height), (1600, 1040));
        for (key, value) in &figure.provenance.entries {
            let chunk = info.utf8_text.iter().find(|c| c.keyword == keyword(key)).unwrap();
            assert_eq!(&chunk.get_text().unwrap(), value);
        }
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut pixels).unwrap();
        let has = |rgb: [u8; 3]| pixels.chunks_exact(3).any(|p| p == rgb);
        assert!(has([255; 3]) && has([0xd5, 0x5e, 0x00]), "paper and the method's colour");
    }

    #[test]
    fn hostile_text_and_numbers_are_drawn_without_harm() {
        let bytes = to_png(&samples::hostile()).unwrap();
        let reader = png::Decoder::new(std::io::Cursor::new(&bytes)).read_info().unwrap();
        let texts: Vec<String> = reader.info().utf8_text.iter().map(|c| c.get_text().unwrap()).collect();
        assert!(texts.len() == 3 && texts.iter().all(|t| !t.contains('\u{1b}')), "{texts:?}");
    }
}
