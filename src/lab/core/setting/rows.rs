//! Common kinds of setting rows, and the rows of every lab: models, level, seed.

use std::ops::RangeInclusive;
use std::path::Path;

use super::{Kind, Known, Range, Setting, Value};
use crate::spec::SpecFields;
use base::numbers::score;
use base::text::last_part;
use model::Long;

/// Largest seed that can be typed; larger integers are not exact as `f64`.
const MAX_SEED: f64 = 9_007_199_254_740_992.0;

/// Builds a setting from key, label and help. Each method completes it as one kind of field.
#[derive(Debug, Clone)]
pub struct Row {
    key: String,
    label: String,
    help: &'static str,
}

/// The row for the treatment of texts longer than the model's maximum length.
pub fn long<S: 'static>(
    key: &'static str,
    get: impl Fn(&S) -> Long + 'static,
    put: impl Fn(&mut S, Long) + 'static,
) -> Setting<S> {
    let help = "Texts too long for the model are dropped, cut, or read in a window; the window is around the target position, and for sentence vectors, windows cover the whole text.";
    row(key, "Long texts", help).one_of(
        &Long::ALL,
        |l| l.name().into(),
        move |s: &S, l| get(s) == *l,
        move |s, l| put(s, *l),
    )
}

/// Resolves a typed path for a spec whose relative paths start in `folder`. Typed paths are relative to the current folder.
pub fn typed(folder: &Path, path: String) -> String {
    match folder.as_os_str().is_empty() {
        true => path,
        false => std::path::absolute(&path).map_or(path, |p| p.display().to_string()),
    }
}

/// Starts the row of `key` (in TOML notation), with a short label and one sentence of help.
pub fn row(key: impl Into<String>, label: impl Into<String>, help: &'static str) -> Row {
    Row { key: key.into(), label: label.into(), help }
}

impl Row {
    /// A field of any kind; `put` receives only values of that kind.
    fn field<S: 'static>(
        self,
        kind: impl Fn() -> Kind + 'static,
        get: impl Fn(&S) -> Value + 'static,
        put: impl Fn(&mut S, Value) + 'static,
    ) -> Setting<S> {
        let put = move |spec: &mut S, _: &Known, value| {
            put(spec, value);
            Ok(())
        };
        Setting::new(self.key, self.label, self.help, move |_, _| kind(), move |spec, _| get(spec), put)
    }

    pub fn number<S: 'static>(
        self,
        stops: &'static [f64],
        range: Range,
        get: impl Fn(&S) -> f64 + 'static,
        put: impl Fn(&mut S, f64) + 'static,
    ) -> Setting<S> {
        self.field(
            move || Kind::Slider { stops: stops.to_vec(), range, unset: None },
            move |spec| Value::Number(get(spec)),
            move |spec, value| {
                if let Some(x) = value.number() {
                    put(spec, x);
                }
            },
        )
    }

    /// An integer with a slider.
    pub fn count<S: 'static>(
        self,
        stops: &'static [usize],
        range: RangeInclusive<usize>,
        get: impl Fn(&S) -> usize + 'static,
        put: impl Fn(&mut S, usize) + 'static,
    ) -> Setting<S> {
        self.field(
            move || slider(stops, &range, None),
            move |spec| Value::Number(get(spec) as f64),
            move |spec, value| {
                if let Some(n) = value.whole() {
                    put(spec, n);
                }
            },
        )
    }

    /// An integer with a slider that begins with `unset`, the word for "no value".
    pub fn count_or<S: 'static>(
        self,
        unset: &'static str,
        stops: &'static [usize],
        range: RangeInclusive<usize>,
        get: impl Fn(&S) -> Option<usize> + 'static,
        put: impl Fn(&mut S, Option<usize>) + 'static,
    ) -> Setting<S> {
        self.field(
            move || slider(stops, &range, Some(unset)),
            move |spec| get(spec).map_or(Value::Unset, |n| Value::Number(n as f64)),
            move |spec, value| put(spec, value.whole()),
        )
    }

    /// A number with a slider that begins with `unset`, the word for "no value".
    pub fn real_or<S: 'static>(
        self,
        unset: &'static str,
        stops: &'static [f64],
        range: Range,
        get: impl Fn(&S) -> Option<f64> + 'static,
        put: impl Fn(&mut S, Option<f64>) + 'static,
    ) -> Setting<S> {
        self.field(
            move || Kind::Slider { stops: stops.to_vec(), range, unset: Some(unset) },
            move |spec| get(spec).map_or(Value::Unset, Value::Number),
            move |spec, value| put(spec, value.number()),
        )
    }

    /// One entry of a list. `name` is its label; `is` tests whether the spec has it.
    pub fn one_of<S: 'static, T: 'static>(
        self,
        all: &'static [T],
        name: impl Fn(&T) -> String + 'static,
        is: impl Fn(&S, &T) -> bool + 'static,
        put: impl Fn(&mut S, &'static T) + 'static,
    ) -> Setting<S> {
        self.field(
            move || Kind::Choice(all.iter().map(&name).collect()),
            move |spec| Value::Choice(all.iter().position(|t| is(spec, t))),
            move |spec, value| {
                if let Some(t) = value.choice().and_then(|i| all.get(i)) {
                    put(spec, t);
                }
            },
        )
    }

    /// A text, shown as `unset` if empty.
    pub fn text<S: 'static>(
        self,
        unset: &'static str,
        get: impl Fn(&S) -> Option<String> + 'static,
        put: impl Fn(&mut S, Option<String>) + 'static,
    ) -> Setting<S> {
        self.field(
            move || Kind::Text(unset),
            move |spec| get(spec).map_or(Value::Unset, Value::Text),
            move |spec, value| put(spec, value.text()),
        )
    }

    /// A file, shown by its name alone, or as `unset` if empty.
    pub fn file<S: 'static>(
        self,
        unset: &'static str,
        get: impl Fn(&S) -> Option<String> + Clone + 'static,
        put: impl Fn(&mut S, Option<String>) + 'static,
    ) -> Setting<S> {
        let shown = get.clone();
        self.field(
            move || Kind::File(unset),
            move |spec| get(spec).map_or(Value::Unset, Value::Text),
            move |spec, value| put(spec, value.text()),
        )
        .shown(move |spec, _| shown(spec).map_or(unset.to_owned(), |path| last_part(&path).to_owned()))
    }

    pub fn seed<S: 'static>(
        self,
        get: impl Fn(&S) -> u64 + 'static,
        put: impl Fn(&mut S, u64) + 'static,
    ) -> Setting<S> {
        self.field(
            || Kind::Integer(Range::whole(0.0, MAX_SEED)),
            move |spec| Value::Number(get(spec) as f64),
            move |spec, value| put(spec, value.number().unwrap_or_default() as u64),
        )
    }
}

fn slider(stops: &[usize], range: &RangeInclusive<usize>, unset: Option<&'static str>) -> Kind {
    let stops = stops.iter().map(|n| *n as f64).collect();
    Kind::Slider { stops, range: Range::whole(*range.start() as f64, *range.end() as f64), unset }
}

/// The models of a run, in the order of selection.
pub fn models<S: SpecFields + 'static>(help: &'static str) -> Setting<S> {
    Setting::new(
        "models",
        "Models",
        help,
        |spec: &S, known| Kind::Marks(known.names(spec.models())),
        |spec: &S, known: &Known| {
            Value::Marks(known.names(spec.models()).iter().map(|n| spec.models().contains(n)).collect())
        },
        |spec: &mut S, known, value| {
            let Value::Marks(on) = value else { return Ok(()) };
            let names = known.names(spec.models());
            let wanted: Vec<String> = names.into_iter().zip(on).filter(|(_, on)| *on).map(|(n, _)| n).collect();
            let mut models = spec.models().to_vec();
            models.retain(|m| wanted.contains(m));
            let new: Vec<String> = wanted.into_iter().filter(|m| !models.contains(m)).collect();
            models.extend(new);
            spec.set_models(models);
            Ok(())
        },
    )
}

pub fn level<S: SpecFields + 'static>() -> Setting<S> {
    row("interval.level", "Level", "Level of the intervals.")
        .number(&[0.8, 0.9, 0.95, 0.99], Range::real(0.5, 0.9999), S::level, S::set_level)
        .shown(|spec, _| score(spec.level()))
}

pub fn seed<S: SpecFields + 'static>(help: &'static str) -> Setting<S> {
    row("seed", "Seed", help).seed(S::seed, S::set_seed)
}
