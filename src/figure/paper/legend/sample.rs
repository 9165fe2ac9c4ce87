//! Samples of the entries of a legend.

use crate::canvas::{At, Canvas, Drawn, Pen, Side};
use crate::palette::{self, Rgb};
use crate::paper::lines::{self, BAND, INNER, SMALL_MARK, THICK, interval, strokes};
use crate::paper::{SMALL, bars, graph, pen, tokens, type_of};
use crate::role::{Emphasis, Marker};

use super::{Sample, Shape};

/// Draws the sample of an entry, from its left end at half its height.
pub(super) fn draw_sample(canvas: &Canvas<'_>, sample: &Sample, (x, y): At) -> Drawn {
    let look = canvas.look;
    let width = sample.width();
    let (upper, lower) = ((x, y - 5.5), (x + width, y + 5.5));
    let middle = x + width / 2.0;
    match sample {
        Sample::Line(role) => {
            if role.dash.is_some() {
                canvas.line(&[(x, y), (x + width, y)], pen(&look, *role))?;
            }
            let (at, colour) = ((middle, y), look.series(role.hue));
            match role.marker {
                Some(marker) if role.emphasis == Emphasis::Faint || marker == Marker::Diamond => {
                    canvas.outline(at, marker, 3.4, colour)
                }
                Some(marker) => canvas.marker(at, marker, 3.4, colour),
                None => Ok(()),
            }
        }
        Sample::Full(role) => {
            draw_sample(canvas, &Sample::Line(*role), (x, y))?;
            let circle = role.marker.filter(|m| *m == Marker::Circle);
            circle.map_or(Ok(()), |m| lines::full(canvas, (middle, y), (m, lines::FULL), look.series(role.hue)))
        }
        Sample::Ring => lines::ringed(canvas, (middle, y), Marker::Circle, look.grey),
        Sample::Faint | Sample::Unrated => {
            [(Marker::Square, -4.0), (Marker::Circle, 4.0)].into_iter().try_for_each(|(marker, aside)| {
                let at = (middle + aside, y);
                match sample {
                    Sample::Faint => canvas.outline(at, marker, lines::HOLLOW, look.ink),
                    _ => lines::full(canvas, at, (marker, SMALL_MARK), look.ink),
                }
            })
        }
        Sample::Range(roles) => {
            let step = width / roles.len().max(1) as f64;
            for (k, role) in roles.iter().enumerate() {
                let from = x + k as f64 * step;
                strokes(canvas, (from, upper.1), (from + step, lower.1), look.series(role.hue))?;
            }
            Ok(())
        }
        Sample::Narrow(Shape::Bar) => canvas.line(&[(middle, lower.1), (middle, upper.1)], Pen::new(look.ink, THICK)),
        Sample::Narrow(Shape::Edges) => {
            let edge = lines::edge(look.ink);
            [upper.1, lower.1].iter().try_for_each(|y| canvas.line(&[(upper.0, *y), (lower.0, *y)], edge))
        }
        Sample::Narrow(_) => canvas.rectangle(upper, lower, look.ink, BAND + INNER),
        Sample::Wide(Shape::Bar) => interval(canvas, (middle, lower.1, upper.1), Pen::new(look.ink, 1.3)),
        Sample::Wide(_) => canvas.rectangle(upper, lower, look.ink, BAND),
        Sample::Pair => interval(canvas, (middle, lower.1, upper.1), Pen::new(look.ink, 1.1)),
        Sample::Few(text) => canvas.text(text, (middle, y), type_of(SMALL, look.ink, Side::Middle, Side::Middle)),
        Sample::Span(role, has_mean) => {
            bars::span(canvas, upper, lower, *role)?;
            if *has_mean {
                canvas.line(&[(x, y), (x + width, y)], Pen::new(look.series(role.hue), 2.4))?;
            }
            Ok(())
        }
        Sample::Dot => canvas.disc((middle, y), bars::VALUE, look.ink),
        Sample::Bar(role) => bars::patch(canvas, upper, lower, *role),
        Sample::Hatch(share) => {
            if *share > 0.0 {
                canvas.rectangle(upper, lower, palette::rising(*share), 1.0)?;
            }
            canvas.hatch(upper, lower, Pen::new(look.grey, 0.9))?;
            canvas.frame(upper, lower, Pen::new(look.grey, 0.7))
        }
        Sample::Gold => canvas.line(&[(x, y + 4.0), (x + width, y + 4.0)], Pen::new(look.ink, 2.4)),
        Sample::Negative => {
            canvas.rectangle(upper, lower, palette::diverging(-0.4), 1.0)?;
            tokens::below_zero(canvas, upper, lower)
        }
        Sample::Top => tokens::mark(canvas, (x + width / 2.0, y - 4.0)),
        Sample::Lit => canvas.line(&[(x, y), (x + width, y)], Pen::new(graph::LIT, 3.6)),
        Sample::Rule => canvas.line(&[(x, y), (x + width, y)], Pen::new(look.grey, 1.1)),
        Sample::Signs(largest) => scale(canvas, (x, y, width), *largest),
    }
}

/// Draws the colour scale of signed scores starting at `x`, with numbers at both ends and in the middle.
fn scale(canvas: &Canvas<'_>, (x, y, width): (f64, f64, f64), largest: f64) -> Drawn {
    const STEPS: u32 = 60;
    let look = canvas.look;
    let bound = crate::caption::with_zeros(&base::numbers::short((largest * 100.0).round() / 100.0));
    let ends = [format!("−{bound}"), bound];
    let [below, above] = [&ends[0], &ends[1]].map(|text| canvas.fonts.width(text, SMALL) + 4.0);
    let (upper, lower) = ((x + below, y - 5.5), (x + width - above, y + 5.5));
    let step = (lower.0 - upper.0) / f64::from(STEPS);
    for k in 0..STEPS {
        let from = upper.0 + f64::from(k) * step;
        let colour: Rgb = palette::diverging(2.0 * f64::from(k) / f64::from(STEPS - 1) - 1.0);
        canvas.rectangle((from, upper.1), (from + step + 0.3, lower.1), colour, 1.0)?;
    }
    let middle = f64::midpoint(upper.0, lower.0);
    tokens::below_zero(canvas, upper, (middle - 6.0, lower.1))?;
    canvas.frame(upper, lower, Pen::new(look.grey, 0.7))?;
    for end in [upper.0, lower.0] {
        canvas.line(&[(end, upper.1 - 2.0), (end, lower.1 + 2.0)], Pen::new(look.ink, 0.9))?;
    }
    let kind = type_of(SMALL, look.ink, Side::Start, Side::Middle);
    canvas.text(&ends[0], (x, y), kind)?;
    canvas.text("0", (middle, y), type_of(SMALL, look.ink, Side::Middle, Side::Middle))?;
    canvas.text(&ends[1], (lower.0 + 4.0, y), kind)
}
