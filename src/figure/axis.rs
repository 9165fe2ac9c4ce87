//! Axes: mapping of data values to positions and placement of ticks, shared by the terminal and the paper renderer.

use super::{Figure, Layer};
use base::text::printable_label;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Axis {
    /// Axis label, with its unit.
    pub label: String,
    pub scale: Scale,
    /// Range in data units; `None` fits the data.
    pub range: Option<(f64, f64)>,
    /// Names of the categories of [`Scale::Categories`]; the k-th is at the value k, from 0.
    pub categories: Vec<String>,
    /// True if values decrease along the axis, so that the largest comes first.
    pub reversed: bool,
    /// True if ticks are only at whole numbers, for example for ranks.
    pub whole: bool,
    /// True if each distinct value (for example each setting) has a tick, provided that there are few distinct values.
    pub settings: bool,
    /// Second lines of tick labels on paper, by value.
    pub below: Vec<(f64, String)>,
    /// Names of the panels into which the figure is divided on paper, stacked or side by side. A series belongs to the panel of its accent,
    /// or to all if it has none. The part of a name after a colon is the panel's title rather than its axis label. Empty for a single
    /// frame; the terminal always draws a single frame. On a horizontal axis: the axis label of each panel, if every panel has its own
    /// categories.
    pub panels: Vec<String>,
}

impl Axis {
    pub fn linear(label: impl Into<String>) -> Self {
        Self { label: label.into(), ..Self::default() }
    }

    pub fn log(label: impl Into<String>) -> Self {
        Self { label: label.into(), scale: Scale::Log, ..Self::default() }
    }

    /// Builds a logarithmic axis with a tick at each doubling of the smallest value.
    pub fn doubling(label: impl Into<String>) -> Self {
        Self { label: label.into(), scale: Scale::Doubling, ..Self::default() }
    }

    /// Builds an axis of categories; on a vertical axis, the first is at the top.
    pub fn of(label: impl Into<String>, categories: impl IntoIterator<Item = String>) -> Self {
        let categories = categories.into_iter().collect();
        Self { label: label.into(), scale: Scale::Categories, categories, ..Self::default() }
    }

    /// Builds the vertical axis of rank lines, with the best rank, 1, at the top.
    pub fn ranks(label: impl Into<String>, worst: usize) -> Self {
        let range = Some((1.0, worst.max(2) as f64));
        Self { label: label.into(), range, reversed: true, whole: true, ..Self::default() }
    }

    pub fn in_whole_numbers(self) -> Self {
        Self { whole: true, ..self }
    }

    /// Puts a tick at each distinct value if there are few such values and their labels fit.
    pub fn of_settings(self) -> Self {
        Self { settings: true, ..self }
    }

    pub fn in_panels(self, names: &[&str]) -> Self {
        Self { panels: names.iter().map(|name| (*name).to_owned()).collect(), ..self }
    }

    pub fn from_to(self, lo: f64, hi: f64) -> Self {
        Self { range: Some((lo, hi)), ..self }
    }

    /// Sets a range around these values that ends at round numbers; does nothing if the values are not finite.
    pub fn around(self, lo: f64, hi: f64) -> Self {
        let round = || (-9..=9).flat_map(|k| [1.0, 2.0, 5.0].map(|m| m * 10f64.powi(k)));
        let step = round().find(|step| step * 5.0 >= hi - lo).unwrap_or(f64::NAN);
        let (from, to) = match self.scale.is_log() {
            true => (round().rfind(|v| *v <= lo), round().find(|v| *v >= hi)),
            false => (Some((lo / step).floor() * step), Some((hi / step).ceil() * step)),
        };
        match from.zip(to).filter(|(from, to)| from < to) {
            Some((from, to)) => self.from_to(from, to),
            None => self,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scale {
    #[default]
    Linear,
    /// Logarithmic; zeros are placed at the left edge, separated by a gap.
    Log,
    /// Logarithmic, with a tick at each doubling.
    Doubling,
    Categories,
}

impl Scale {
    pub(crate) fn is_log(self) -> bool {
        matches!(self, Scale::Log | Scale::Doubling)
    }
}

/// Share of a logarithmic axis reserved for zeros at its start.
const ZERO_STUB: f64 = 0.07;
/// Target maximum for the number of steps between labels.
const STEPS: f64 = 6.0;
/// Maximum number of ticks on an axis without categories.
const MOST: usize = 100;
/// Maximum number of settings that have one tick each.
const SETTINGS: usize = 8;

/// An axis fitted to its data: maps values to 0..1.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted {
    scale: Scale,
    lo: f64,
    hi: f64,
    /// True if space for zero is reserved at the start of a logarithmic axis.
    zero: bool,
    flipped: bool,
    whole: bool,
    /// Values that have one tick each: settings, or the only value on a horizontal axis without a range.
    settings: Vec<f64>,
    categories: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Tick {
    pub value: f64,
    /// Position from 0 to 1.
    pub at: f64,
    /// Tick label; empty at minor ticks.
    pub label: String,
}

/// Space available to labels along an axis, in the unit of the medium (pixels, columns, rows).
#[derive(Clone, Copy)]
pub struct Room<'a> {
    pub length: f64,
    pub gap: f64,
    /// True if labels should be short: `.2` for `0.2`, `20k` for `20,000`.
    pub terse: bool,
    /// Measures the extent of a label along the axis.
    pub measure: &'a dyn Fn(&str) -> f64,
}

impl Fitted {
    pub fn horizontal(figure: &Figure) -> Self {
        Self::new(&figure.x, figure.layers.iter().flat_map(|l| extent(l).0), false)
    }

    pub fn vertical(figure: &Figure) -> Self {
        Self::new(&figure.y, figure.layers.iter().flat_map(|l| extent(l).1), true)
    }

    /// Fits an axis to the values that will be drawn on it; the range of `axis`, if any, takes precedence. Without usable values it runs
    /// from 0 to 1 (.01 to 1 if logarithmic).
    pub fn new(axis: &Axis, values: impl IntoIterator<Item = f64>, upright: bool) -> Self {
        let (scale, log) = (axis.scale, axis.scale.is_log());
        let categories: Vec<String> = axis.categories.iter().map(|c| printable_label(c)).collect();
        let flipped = axis.reversed != (upright && scale == Scale::Categories);
        if scale == Scale::Categories {
            let hi = categories.len().max(1) as f64 - 0.5;
            return Self { scale, lo: -0.5, hi, zero: false, flipped, whole: true, settings: Vec::new(), categories };
        }
        let usable = |v: f64| v.is_finite() && (!log || v > 0.0);
        let mut settings: Vec<f64> = Vec::new();
        let (mut lo, mut hi, mut zero) = (f64::INFINITY, f64::NEG_INFINITY, false);
        for v in values {
            zero |= log && v == 0.0;
            if settings.len() <= SETTINGS && !settings.contains(&v) {
                settings.push(v);
            }
            if usable(v) {
                lo = lo.min(v);
                hi = hi.max(v);
            }
        }
        let fixed = axis.range.filter(|(a, b)| usable(*a) && usable(*b) && a < b);
        let has_one = !upright && fixed.is_none() && lo == hi && !zero;
        if !has_one && (!axis.settings || settings.len() > SETTINGS) {
            settings.clear();
        }
        settings.retain(|v| usable(*v) || *v == 0.0);
        settings.sort_by(f64::total_cmp);
        let (lo, hi) = match fixed {
            Some(range) => range,
            None if lo > hi => (if log { 0.01 } else { 0.0 }, 1.0),
            None => widened(log, lo, hi),
        };
        Self { scale, lo, hi, zero, flipped, whole: axis.whole, settings, categories: Vec::new() }
    }

    /// Position of a value, clamped to the axis; `None` for values that the axis cannot show.
    pub fn place(&self, value: f64) -> Option<f64> {
        let log = self.scale.is_log();
        if !value.is_finite() || (log && value < 0.0) {
            return None;
        }
        if log && value == 0.0 {
            return self.zero.then(|| self.turned(ZERO_STUB / 3.0));
        }
        let share = if log {
            (value.ln() - self.lo.ln()) / (self.hi.ln() - self.lo.ln())
        } else {
            // Both terms are halved, so that the widest possible range does not overflow.
            (value / 2.0 - self.lo / 2.0) / (self.hi / 2.0 - self.lo / 2.0)
        };
        // If the range is too small for floating point, the value is placed in the middle.
        let share = if share.is_nan() { 0.5 } else { share };
        Some(self.turned(self.stub() + share.clamp(0.0, 1.0) * (1.0 - self.stub())))
    }

    fn turned(&self, share: f64) -> f64 {
        if self.flipped { 1.0 - share } else { share }
    }

    fn stub(&self) -> f64 {
        if self.zero { ZERO_STUB } else { 0.0 }
    }

    /// True if a value lies within the axis range.
    pub fn shows(&self, value: f64) -> bool {
        let (lo, hi) = (self.lo - self.lo.abs() * 1e-9, self.hi + self.hi.abs() * 1e-9);
        (lo..=hi).contains(&value) || (self.zero && value == 0.0)
    }

    /// Value at a position, clamped to the axis.
    pub fn value(&self, position: f64) -> f64 {
        let share = (self.turned(position) - self.stub()) / (1.0 - self.stub());
        if self.zero && share < -0.4 * ZERO_STUB {
            return 0.0;
        }
        let share = share.clamp(0.0, 1.0);
        if self.scale.is_log() {
            self.lo * (self.hi / self.lo).powf(share)
        } else {
            self.lo * (1.0 - share) + self.hi * share
        }
    }

    /// True if a line may connect two values; no line crosses the gap after zero.
    pub fn connects(&self, a: f64, b: f64) -> bool {
        !self.scale.is_log() || (a > 0.0) == (b > 0.0)
    }

    /// Position of the gap after zero on a logarithmic axis.
    pub fn gap(&self) -> Option<f64> {
        self.zero.then(|| self.turned(ZERO_STUB * 2.0 / 3.0))
    }

    pub fn categories(&self) -> Option<&[String]> {
        (self.scale == Scale::Categories).then_some(self.categories.as_slice())
    }

    /// Ticks by increasing value, as many as fit without labels touching.
    pub fn ticks(&self, room: &Room<'_>) -> Vec<Tick> {
        let mut last = Vec::new();
        for candidate in self.candidates(room.terse) {
            let mut ticks: Vec<Tick> = candidate
                .into_iter()
                .filter(|(v, _)| self.shows(*v))
                .filter_map(|(v, label)| Some(Tick { value: v, at: self.place(v)?, label }))
                .collect();
            self.clear_beside_zero(&mut ticks, room);
            if fits(&ticks, room) {
                return ticks;
            }
            last = ticks;
        }
        // Even the sparsest set does not fit: keep its first label, and the other ticks without labels.
        last.truncate(MOST);
        for tick in last.iter_mut().skip_while(|t| t.label.is_empty()).skip(1) {
            tick.label.clear();
        }
        last
    }

    /// On a logarithmic axis, removes the label of the first tick if it would touch the label of zero.
    fn clear_beside_zero(&self, ticks: &mut [Tick], room: &Room<'_>) {
        let Some((zero, rest)) = ticks.split_first_mut().filter(|_| self.zero) else { return };
        if let Some(first) = rest.iter_mut().find(|t| !t.label.is_empty())
            && !fits(&[zero.clone(), first.clone()], room)
        {
            first.label.clear();
        }
    }

    /// Sets of ticks from dense to sparse.
    fn candidates(&self, terse: bool) -> Vec<Vec<(f64, String)>> {
        let labelled = |v: &f64| {
            let decimals = v.to_string().split_once('.').map_or(0, |(_, rest)| rest.len().min(6));
            (*v, text(*v, decimals, terse))
        };
        let settings: Vec<(f64, String)> = self.settings.iter().map(labelled).collect();
        match settings.len() {
            1 => vec![settings],
            // The terminal uses round values, because its axis label takes the place of the largest setting's label.
            n if n == 0 || terse => self.round(terse),
            _ => std::iter::once(settings).chain(self.round(terse)).collect(),
        }
    }

    /// Sets of ticks at round values or at categories, from dense to sparse.
    fn round(&self, terse: bool) -> Vec<Vec<(f64, String)>> {
        let (lo, hi) = (self.lo, self.hi);
        match self.scale {
            Scale::Linear => linear(lo, hi, terse, if self.whole { 1.0 } else { 0.0 }),
            Scale::Log => {
                let mut sets = logarithmic(lo, hi, terse);
                if self.zero {
                    sets.iter_mut().for_each(|set| set.insert(0, (0.0, "0".to_owned())));
                }
                sets
            }
            Scale::Doubling => {
                let doublings = ((hi / lo).log2() + 1e-9).floor().clamp(0.0, 64.0) as usize;
                let stride = |s: usize| {
                    let values = (0..=doublings).step_by(s).map(|k| lo * 2f64.powi(k as i32));
                    let zero = self.zero.then_some(0.0);
                    zero.into_iter().chain(values).map(|v| (v, text(v, fine(v), terse))).collect()
                };
                (1..=doublings.max(1)).map(stride).collect()
            }
            Scale::Categories => {
                let count = self.categories.len();
                let named = |s: usize| {
                    let all = self.categories.iter().enumerate();
                    all.step_by(s).map(|(k, c)| (k as f64, c.clone())).collect()
                };
                (1..=count.max(1)).map(named).collect()
            }
        }
    }
}

fn fits(ticks: &[Tick], room: &Room<'_>) -> bool {
    let mut labelled: Vec<(f64, f64)> =
        ticks.iter().filter(|t| !t.label.is_empty()).map(|t| (t.at * room.length, (room.measure)(&t.label))).collect();
    labelled.sort_by(|a, b| a.0.total_cmp(&b.0));
    labelled.windows(2).all(|w| w[1].0 - w[0].0 >= (w[0].1 + w[1].1) / 2.0 + room.gap)
}

fn extent(layer: &Layer) -> (Vec<f64>, Vec<f64>) {
    let ends = |band: Option<(f64, f64)>| band.into_iter().flat_map(|(lo, hi)| [lo, hi]);
    let (mut xs, mut ys) = (Vec::new(), Vec::new());
    match layer {
        Layer::Line(line) => {
            for p in &line.points {
                xs.push(p.x);
                ys.extend([p.y].into_iter().chain(ends(p.band)).chain(ends(p.inner)));
            }
        }
        Layer::Points(points) => {
            for p in &points.points {
                xs.extend([p.x].into_iter().chain(ends(p.x_band)));
                ys.extend([p.y].into_iter().chain(ends(p.y_band)));
            }
        }
        Layer::Bars(bars) => {
            for b in &bars.bars {
                xs.extend([b.from, b.to]);
                ys.extend([0.0, b.y].into_iter().chain(ends(b.band)));
            }
        }
        Layer::Ranges(ranges) => {
            for r in &ranges.ranges {
                xs.push(r.category as f64);
                ys.extend(ends(Some(r.ends)).chain(r.mean).chain(r.dots.iter().copied()));
            }
        }
        Layer::Ranks(ranks) => {
            for line in &ranks.lines {
                xs.extend((0..line.ranks.len()).map(|k| k as f64));
                ys.extend(line.ranks.iter().flatten());
            }
        }
        Layer::Cells(_)
        | Layer::Tokens(_)
        | Layer::Graph(_)
        | Layer::Rule(_)
        | Layer::Guide(_)
        | Layer::Intervals(_) => {}
    }
    (xs, ys)
}

/// Widens the range around a single value, within the limits of f64.
fn widened(log: bool, lo: f64, hi: f64) -> (f64, f64) {
    let (from, to) = match lo == hi {
        true if log => (lo / 2.0, hi * 2.0),
        true => (lo - 0.5 * lo.abs().max(1.0), hi + 0.5 * hi.abs().max(1.0)),
        false => (lo, hi),
    };
    // Half of the smallest positive number underflows to 0, which would give infinitely many decades.
    let from = if log && from == 0.0 { lo } else { from };
    (from.max(f64::MIN), to.min(f64::MAX))
}

/// Sets of ticks at multiples of 1, 2 or 5 times a power of ten, from the finest step (at least `least`) to a step over the whole range.
fn linear(lo: f64, hi: f64, terse: bool, least: f64) -> Vec<Vec<(f64, String)>> {
    let raw = hi / STEPS - lo / STEPS;
    let power = 10f64.powf(raw.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0].into_iter().map(|m| m * power);
    let steps = steps.filter(|s| s.is_normal() && *s >= raw * 0.999 && *s >= least);
    steps
        .map(|step| {
            let first = (lo / step - 1e-9).ceil();
            let count = ((hi / step + 1e-9).floor() - first).clamp(-1.0, 4.0 * STEPS) as i32;
            let decimals = (-step.log10().floor()).clamp(0.0, 12.0) as usize;
            // Adding zero turns negative zero into zero.
            let value = |k: i32| (first + f64::from(k)) * step + 0.0;
            (0..=count).map(|k| (value(k), text(value(k), decimals, terse))).collect()
        })
        .collect()
}

/// Labelled ticks at powers of ten, and at 2 and 5 times them if there is room; other multiples have minor ticks. A range of less than a
/// decade has linear ticks.
fn logarithmic(lo: f64, hi: f64, terse: bool) -> Vec<Vec<(f64, String)>> {
    let decades = hi.log10() - lo.log10();
    if decades < 0.8 {
        return linear(lo, hi, terse, 0.0);
    }
    let (first, last) = (lo.log10().floor() as i32, hi.log10().ceil() as i32);
    let sets: [(&[i32], i32); 6] = [(&[1, 2, 5], 1), (&[1, 5], 1), (&[1], 1), (&[1], 2), (&[1], 4), (&[1], 8)];
    let further = (1..6).map(|k| (&[1][..], 8 << k));
    sets.into_iter()
        .chain(further)
        .map(|(named, stride)| {
            let mut set = Vec::new();
            for exponent in first..=last {
                for m in 1..=9 {
                    let value = f64::from(m) * 10f64.powi(exponent);
                    let major = named.contains(&m) && exponent.rem_euclid(stride) == 0;
                    if value.is_normal() && (major || decades <= 5.0) {
                        let decimals = (-exponent).clamp(0, 12) as usize;
                        set.push((value, if major { text(value, decimals, terse) } else { String::new() }));
                    }
                }
            }
            set
        })
        .collect()
}

/// Number of decimals for a value on a doubling axis.
fn fine(value: f64) -> usize {
    if value >= 10.0 || value.fract() == 0.0 { 0 } else { 3 }
}

fn text(value: f64, decimals: usize, terse: bool) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-4..1e7).contains(&size) {
        return format!("{value:.1e}").replace(".0e", "e");
    }
    if size >= if terse { 1e4 } else { 1e3 } && value.fract() == 0.0 {
        let (unit, letter) = if size >= 1e6 { (1e6, "M") } else { (1e3, "k") };
        let sign = if value < 0.0 { "-" } else { "" };
        return match terse {
            true => format!("{sign}{}{letter}", (size / unit * 100.0).round() / 100.0),
            false => format!("{sign}{}", super::layers::grouped(size.round() as usize)),
        };
    }
    let text = format!("{value:.decimals$}");
    if !terse {
        return text;
    }
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    match text.split_once("0.") {
        Some(("", rest)) => format!(".{rest}"),
        Some(("-", rest)) => format!("-.{rest}"),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
