//! Data colours: series on paper, and colour scales on paper and in the terminal.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rgb(pub u8, pub u8, pub u8);

impl Rgb {
    /// Blends two colours; `share` is the weight of `other`.
    pub(crate) fn mixed(self, other: Self, share: f64) -> Self {
        let mix = |x: u8, y: u8| (f64::from(x) + (f64::from(y) - f64::from(x)) * share).round() as u8;
        Self(mix(self.0, other.0), mix(self.1, other.1), mix(self.2, other.2))
    }
}

/// The colours of Okabe and Ito, which are distinct with any colour vision deficiency; their pale yellow comes last. The first is darker
/// and the second lighter than the originals, so that the first three also differ in grey. Four more colours, for figures with every method
/// and its controls, must be distinguished by marker as well.
pub(crate) const SERIES: [Rgb; 12] = [
    Rgb(0x00, 0x4f, 0x8f),
    Rgb(0xe8, 0x78, 0x1a),
    Rgb(0x00, 0x9e, 0x73),
    Rgb(0xcc, 0x79, 0xa7),
    Rgb(0xe6, 0x9f, 0x00),
    Rgb(0x56, 0xb4, 0xe9),
    Rgb(0x00, 0x00, 0x00),
    Rgb(0xb8, 0xa9, 0x0a),
    Rgb(0x88, 0x88, 0x88),
    Rgb(0x8c, 0x51, 0x0a),
    Rgb(0x6a, 0x3d, 0x9a),
    Rgb(0x01, 0x5e, 0x55),
];

/// Colours from pale to dark; lightness alone shows the order.
const RISING: [Rgb; 5] =
    [Rgb(0xf3, 0xf8, 0xfd), Rgb(0xc6, 0xdb, 0xef), Rgb(0x6b, 0xae, 0xd6), Rgb(0x21, 0x71, 0xb5), Rgb(0x08, 0x30, 0x6b)];

/// Blue for negative and orange for positive values, distinct with any colour vision deficiency.
const DIVERGING: [Rgb; 7] = [
    Rgb(0x05, 0x54, 0x9b),
    Rgb(0x5a, 0x9b, 0xd0),
    Rgb(0xb8, 0xd6, 0xec),
    Rgb(0xf7, 0xf7, 0xf7),
    Rgb(0xfb, 0xd3, 0xa3),
    Rgb(0xe8, 0x8b, 0x2f),
    Rgb(0xa8, 0x4b, 0x00),
];

impl Rgb {
    /// Relative luminance from 0 (black) to 1 (white), as defined by WCAG 2.
    pub(crate) fn luminance(self) -> f64 {
        let linear = |c: u8| {
            let c = f64::from(c) / 255.0;
            if c <= 0.040_45 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * linear(self.0) + 0.7152 * linear(self.1) + 0.0722 * linear(self.2)
    }

    /// True if dark text is more legible on this colour than white text.
    pub fn is_light(self) -> bool {
        self.luminance() > 0.18
    }

    /// The nearest of the 216 colours and 24 greys in the 256-colour terminal palette, as its index.
    pub fn indexed(self) -> u8 {
        const LEVELS: [u8; 6] = [0, 95, 135, 175, 215, 255];
        let nearest = |c: u8| (0..6u8).min_by_key(|k| LEVELS[usize::from(*k)].abs_diff(c)).unwrap_or(0);
        let far = |a: Rgb| {
            let d = |x: u8, y: u8| u32::from(x.abs_diff(y)).pow(2);
            d(a.0, self.0) + d(a.1, self.1) + d(a.2, self.2)
        };
        let (r, g, b) = (nearest(self.0), nearest(self.1), nearest(self.2));
        let cube = Rgb(LEVELS[usize::from(r)], LEVELS[usize::from(g)], LEVELS[usize::from(b)]);
        let mean = (u32::from(self.0) + u32::from(self.1) + u32::from(self.2)) / 3;
        let step = (mean.saturating_sub(3) / 10).min(23) as u8;
        let level = 8 + 10 * step;
        if far(Rgb(level, level, level)) < far(cube) { 232 + step } else { 16 + 36 * r + 6 * g + b }
    }
}

pub fn series(hue: usize) -> Rgb {
    SERIES[hue % SERIES.len()]
}

/// Maps a value from 0 to 1 to its colour; other values are clamped.
pub fn rising(share: f64) -> Rgb {
    between(&RISING, share)
}

/// Maps a value from -1 to 1 to its colour; other values are clamped.
pub fn diverging(share: f64) -> Rgb {
    between(&DIVERGING, share / 2.0 + 0.5)
}

fn between(stops: &[Rgb], share: f64) -> Rgb {
    let share = if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) };
    let at = share * (stops.len() - 1) as f64;
    let k = (at as usize).min(stops.len() - 2);
    stops[k].mixed(stops[k + 1], at - k as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Simulates deuteranopia (Viénot, Brettel and Mollon 1999): red and green collapse into one channel.
    fn deuteranope(c: Rgb) -> [f64; 2] {
        let [r, g, b] = [c.0, c.1, c.2].map(f64::from);
        [0.29 * r + 0.71 * g, b]
    }

    #[test]
    fn signs_differ_for_colour_blind_eyes_and_lightness_grows_with_size() {
        for k in 3..=10 {
            let share = f64::from(k) / 10.0;
            let (below, above) = (deuteranope(diverging(-share)), deuteranope(diverging(share)));
            let apart = (below[0] - above[0]).hypot(below[1] - above[1]);
            assert!(apart > 60.0, "{share}: {apart}");
        }
        for (scale, ends) in [(rising as fn(f64) -> Rgb, (0.0, 1.0)), (diverging, (0.0, -1.0)), (diverging, (0.0, 1.0))]
        {
            let light: Vec<f64> = (0..=20).map(|k| scale(ends.1 * f64::from(k) / 20.0).luminance()).collect();
            assert!(light.is_sorted_by(|a, b| a > b), "{light:?}");
        }
    }

    #[test]
    fn colours_have_near_numbers_on_a_terminal() {
        assert_eq!(Rgb(255, 0, 0).indexed(), 196);
        assert_eq!(Rgb(120, 120, 120).indexed(), 243);
        assert_eq!(Rgb(0, 0, 0).indexed(), 16);
    }

    #[test]
    fn text_on_every_colour_can_be_read() {
        for k in -20..=20 {
            for c in [diverging(f64::from(k) / 20.0), rising(f64::from(k) / 20.0)] {
                let l = c.luminance();
                let contrast = if c.is_light() { (l + 0.05) / 0.06 } else { 1.05 / (l + 0.05) };
                assert!(contrast >= 3.5, "{c:?} {contrast}");
            }
        }
    }
}
