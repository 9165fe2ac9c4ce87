//! A field of a spec as data: name, value, access.
//!
//! A lab lists its fields as [`Setting`]s over its own spec. The generic setup pane draws them, steps through their values and accepts
//! typed ones, so a new parameter needs one row in that list and no code in a screen.

pub mod rows;

use base::numbers::{number, short};

/// Facts about this machine that a setting needs besides the spec.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Known {
    pub models: Vec<KnownModel>,
    /// Relations of the facts that the spec names.
    pub relations: Vec<KnownRelation>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownRelation {
    pub id: String,
    pub label: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownModel {
    pub name: String,
    pub layers: usize,
}

impl Known {
    /// Number of layers that all of these models have; `None` if none is known.
    pub fn layers(&self, models: &[String]) -> Option<usize> {
        let known = self.models.iter().filter(|m| models.contains(&m.name));
        known.map(|m| m.layers).min().filter(|l| *l > 0)
    }

    /// True if some of these models have more layers than others.
    pub fn differ_in_layers(&self, models: &[String]) -> bool {
        let known = || self.models.iter().filter(|m| models.contains(&m.name)).map(|m| m.layers);
        known().min() != known().max()
    }

    /// Names of selectable models: first the known ones, then other names in the spec.
    pub fn names(&self, of_spec: &[String]) -> Vec<String> {
        let mut names: Vec<String> = self.models.iter().map(|m| m.name.clone()).collect();
        let more: Vec<String> = of_spec.iter().filter(|m| !names.contains(m)).cloned().collect();
        names.extend(more);
        names
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Number(f64),
    /// No value: shown as the kind's `unset` word.
    Unset,
    /// The index of the chosen name; `None` if the spec has a name that is not offered.
    Choice(Option<usize>),
    /// For each name, true if it is selected.
    Marks(Vec<bool>),
    Text(String),
}

impl Value {
    pub fn number(&self) -> Option<f64> {
        if let Value::Number(x) = self { Some(*x) } else { None }
    }

    /// The value as an integer, if it is a number.
    pub fn whole(&self) -> Option<usize> {
        self.number().map(|x| x as usize)
    }

    pub fn choice(&self) -> Option<usize> {
        if let Value::Choice(i) = self { *i } else { None }
    }

    pub fn text(self) -> Option<String> {
        if let Value::Text(text) = self { Some(text) } else { None }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    pub min: f64,
    pub max: f64,
    /// True for integers only.
    pub whole: bool,
}

impl Range {
    pub fn whole(min: f64, max: f64) -> Self {
        Self { min, max, whole: true }
    }

    pub fn real(min: f64, max: f64) -> Self {
        Self { min, max, whole: false }
    }

    pub fn check(self, value: f64) -> Result<(), SettingError> {
        if !(self.min..=self.max).contains(&value) {
            return Err(SettingError::Range { min: self.min, max: self.max });
        }
        if self.whole && value.fract() != 0.0 { Err(SettingError::Whole) } else { Ok(()) }
    }
}

impl std::fmt::Display for Range {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let whole = if self.whole { ", whole" } else { "" };
        write!(f, "{} to {}{whole}", bound(self.min), bound(self.max))
    }
}

/// Formats an end of the range: integers in full, so that they can be typed as shown.
fn bound(x: f64) -> String {
    if x.fract() == 0.0 && x.abs() < 1e9 { format!("{x:.0}") } else { short(x) }
}

#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// A number with a slider.
    Slider {
        /// Stops of the slider, ascending and evenly spaced on the track.
        stops: Vec<f64>,
        /// Range of typed values.
        range: Range,
        /// The word for "no value", if allowed; it precedes the first stop.
        unset: Option<&'static str>,
    },
    /// A number without a slider, typed or stepped.
    Integer(Range),
    /// One of these names.
    Choice(Vec<String>),
    /// Any subset of these names.
    Marks(Vec<String>),
    /// A text, shown as this word if empty.
    Text(&'static str),
    /// A path of a file, shown as this word if empty.
    File(&'static str),
}

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SettingError {
    #[error("must be from {} to {}", bound(*.min), bound(*.max))]
    Range {
        /// Inclusive minimum.
        min: f64,
        /// Inclusive maximum.
        max: f64,
    },
    #[error("must be a whole number")]
    Whole,
    #[error("type a number, for example .112, 1/8, 5 % or 1e-3")]
    NoNumber,
    /// A value of the wrong kind, or a name that is not offered.
    #[error("is not one of the choices")]
    NotOffered,
    /// The spec does not currently allow the value.
    #[error("{0}")]
    Refused(String),
}

impl Kind {
    pub fn typable(&self) -> bool {
        !matches!(self, Kind::Choice(_) | Kind::Marks(_))
    }

    pub fn numeric(&self) -> bool {
        matches!(self, Kind::Slider { .. } | Kind::Integer(_))
    }

    /// Parses a typed value.
    ///
    /// # Errors
    /// [`SettingError::NoNumber`] if a number is expected, [`SettingError::NotOffered`] if nothing can be typed.
    pub fn parse(&self, text: &str) -> Result<Value, SettingError> {
        let text = text.trim();
        match self {
            Kind::Slider { unset: Some(word), .. } if !text.is_empty() && word.starts_with(text) => Ok(Value::Unset),
            Kind::Slider { .. } | Kind::Integer(_) => {
                number(text).map(Value::Number).map_err(|_| SettingError::NoNumber)
            }
            Kind::Text(_) | Kind::File(_) if text.is_empty() => Ok(Value::Unset),
            Kind::Text(_) | Kind::File(_) => Ok(Value::Text(text.to_owned())),
            Kind::Choice(_) | Kind::Marks(_) => Err(SettingError::NotOffered),
        }
    }

    /// Checks that a value has this kind and is in range.
    pub fn check(&self, value: &Value) -> Result<(), SettingError> {
        match (self, value) {
            (Kind::Slider { range, .. } | Kind::Integer(range), Value::Number(x)) => range.check(*x),
            (Kind::Slider { unset: Some(_), .. } | Kind::Text(_) | Kind::File(_), Value::Unset)
            | (Kind::Text(_) | Kind::File(_), Value::Text(_)) => Ok(()),
            (Kind::Choice(names), Value::Choice(Some(i))) if *i < names.len() => Ok(()),
            (Kind::Marks(names), Value::Marks(on)) if on.len() == names.len() => Ok(()),
            _ => Err(SettingError::NotOffered),
        }
    }

    fn allowed(&self) -> String {
        match self {
            Kind::Slider { range, unset: Some(word), .. } => format!("{range}, or {word}"),
            Kind::Slider { range, .. } | Kind::Integer(range) => range.to_string(),
            Kind::Choice(names) | Kind::Marks(names) if names.len() <= 12 => names.join(", "),
            Kind::Choice(names) | Kind::Marks(names) => format!("{} names", names.len()),
            Kind::Text(_) => "text".to_owned(),
            Kind::File(_) => "a path".to_owned(),
        }
    }

    pub fn show(&self, value: &Value) -> String {
        match (self, value) {
            (Kind::Slider { unset: Some(word), .. } | Kind::Text(word) | Kind::File(word), Value::Unset) => {
                (*word).to_owned()
            }
            (Kind::Slider { range, .. } | Kind::Integer(range), Value::Number(x)) if range.whole => {
                format!("{x:.0}")
            }
            (_, Value::Number(x)) => short(*x),
            (Kind::Choice(names), Value::Choice(Some(i))) => names.get(*i).cloned().unwrap_or_default(),
            (Kind::Marks(names), Value::Marks(on)) => {
                let chosen = names.iter().zip(on).filter(|(_, on)| **on).map(|(name, _)| name.as_str());
                chosen.collect::<Vec<_>>().join(", ")
            }
            (_, Value::Text(text)) => text.clone(),
            _ => String::new(),
        }
    }
}

type Ask<S, T> = Box<dyn Fn(&S, &Known) -> T>;
type Put<S> = Box<dyn Fn(&mut S, &Known, Value) -> Result<(), SettingError>>;

pub struct Setting<S> {
    /// The key in TOML notation, such as `task.examples`.
    pub key: String,
    /// A short label for screens.
    pub label: String,
    /// One sentence: the meaning, with the source of the default if there is one.
    pub help: String,
    kind: Ask<S, Kind>,
    get: Ask<S, Value>,
    put: Put<S>,
    show: Option<Ask<S, String>>,
}

impl<S> Setting<S> {
    /// A field with its getter and setter. `put` receives only values of the field's kind.
    pub fn new(
        key: impl Into<String>,
        label: impl Into<String>,
        help: impl Into<String>,
        kind: impl Fn(&S, &Known) -> Kind + 'static,
        get: impl Fn(&S, &Known) -> Value + 'static,
        put: impl Fn(&mut S, &Known, Value) -> Result<(), SettingError> + 'static,
    ) -> Self {
        Self {
            key: key.into(),
            label: label.into(),
            help: help.into(),
            kind: Box::new(kind),
            get: Box::new(get),
            put: Box::new(put),
            show: None,
        }
    }

    /// Displays the value with a custom text.
    pub fn shown(mut self, show: impl Fn(&S, &Known) -> String + 'static) -> Self {
        self.show = Some(Box::new(show));
        self
    }

    /// The kind of the setting, which may depend on the rest of the spec.
    pub fn kind(&self, spec: &S, known: &Known) -> Kind {
        (self.kind)(spec, known)
    }

    pub fn get(&self, spec: &S, known: &Known) -> Value {
        (self.get)(spec, known)
    }

    pub fn set(&self, spec: &mut S, known: &Known, value: Value) -> Result<(), SettingError> {
        self.kind(spec, known).check(&value)?;
        (self.put)(spec, known, value)
    }

    pub fn text(&self, spec: &S, known: &Known) -> String {
        match &self.show {
            Some(show) => show(spec, known),
            None => self.kind(spec, known).show(&self.get(spec, known)),
        }
    }
}

impl<S> std::fmt::Debug for Setting<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Setting").field("key", &self.key).finish_non_exhaustive()
    }
}

/// A setting as a row of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Described {
    pub key: String,
    pub label: String,
    /// The value in the spec.
    pub value: String,
    pub allowed: String,
    /// Explanation in one sentence.
    pub help: String,
}

pub fn describe<S>(settings: &[Setting<S>], spec: &S, known: &Known) -> Vec<Described> {
    let described = |s: &Setting<S>| Described {
        key: s.key.clone(),
        label: s.label.clone(),
        value: s.text(spec, known),
        allowed: s.kind(spec, known).allowed(),
        help: s.help.clone(),
    };
    settings.iter().map(described).collect()
}

/// Stops for a range: every integer if it is short, otherwise both ends and the default among 1, 2, 5, 10, ….
pub fn stops(range: Range, default: f64) -> Vec<f64> {
    let Range { min, max, whole } = range;
    if whole && max - min <= 64.0 {
        let count = (max - min).max(0.0) as u64;
        return (0..=count).map(|i| min + i as f64).collect();
    }
    let mut stops = vec![min, default, max];
    let smallest = if whole { 1.0 } else { max.abs().max(1e-12) * 1e-4 };
    let mut decade = 10f64.powf(smallest.max(min).log10().floor());
    while decade.is_finite() && decade <= max {
        stops.extend([1.0, 2.0, 5.0].map(|m| m * decade).into_iter().filter(|v| (min..=max).contains(v)));
        decade *= 10.0;
    }
    stops.sort_by(f64::total_cmp);
    stops.dedup();
    stops
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn width() -> Setting<f64> {
        Setting::new(
            "width",
            "width",
            "How wide it is.",
            |_, _| Kind::Slider { stops: vec![1.0, 2.0, 4.0], range: Range::whole(1.0, 8.0), unset: Some("any") },
            |spec: &f64, _| if spec.is_nan() { Value::Unset } else { Value::Number(*spec) },
            |spec, _, value| {
                *spec = if let Value::Number(x) = value { x } else { f64::NAN };
                Ok(())
            },
        )
    }

    #[test]
    fn refused_value_leaves_the_spec_unchanged() {
        let (setting, mut spec, known) = (width(), 2.0, Known::default());
        for (value, message) in [
            (Value::Number(9.0), "must be from 1 to 8"),
            (Value::Number(f64::NAN), "must be from 1 to 8"),
            (Value::Number(1.5), "must be a whole number"),
            (Value::Choice(Some(0)), "is not one of the choices"),
        ] {
            assert_eq!(setting.set(&mut spec, &known, value).unwrap_err().to_string(), message);
            assert_eq!(spec, 2.0);
        }
        setting.set(&mut spec, &known, Value::Unset).unwrap();
        assert_eq!(setting.text(&spec, &known), "any");
    }

    #[test]
    fn typed_texts_are_parsed_by_kind() {
        let slider = width().kind(&1.0, &Known::default());
        assert_eq!(slider.parse(" 1/8 "), Ok(Value::Number(0.125)));
        assert_eq!(slider.parse("an"), Ok(Value::Unset));
        assert_eq!(slider.parse(""), Err(SettingError::NoNumber));
        assert_eq!(Kind::File("built in").parse("a/b.tsv"), Ok(Value::Text("a/b.tsv".into())));
        assert_eq!(Kind::File("built in").parse("  "), Ok(Value::Unset));
        assert!(Kind::Choice(vec!["a".into()]).parse("a").is_err());
        assert_eq!(Range::whole(1.0, 8.0).to_string(), "1 to 8, whole");
    }

    #[test]
    fn marks_and_choices_accept_only_offered_names() {
        let names = || vec!["a".to_owned(), "b".to_owned()];
        assert!(Kind::Marks(names()).check(&Value::Marks(vec![true])).is_err());
        assert!(Kind::Choice(names()).check(&Value::Choice(Some(2))).is_err());
        assert!(Kind::Choice(names()).check(&Value::Choice(None)).is_err());
        assert_eq!(Kind::Marks(names()).show(&Value::Marks(vec![true, true])), "a, b");
        assert_eq!(Kind::Choice(names()).show(&Value::Choice(Some(1))), "b");
    }

    #[test]
    fn layers_exist_in_every_selected_model() {
        let model = |name: &str, layers| KnownModel { name: name.into(), layers };
        let models = vec![model("a", 4), model("b", 2), model("vectors", 0)];
        let known = Known { models, ..Known::default() };
        let of = |names: &[&str]| known.layers(&names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>());
        assert_eq!((of(&["a"]), of(&["a", "b"]), of(&["c"]), of(&["vectors"])), (Some(4), Some(2), None, None));
        assert!(known.differ_in_layers(&["a".into(), "b".into()]) && !known.differ_in_layers(&["a".into()]));
    }

    proptest! {
        #[test]
        fn stops_ascend_and_include_the_default(
            min in -10.0f64..10.0, span in 0.5f64..1e6, share in 0.0f64..1.0, whole: bool,
        ) {
            let round = |x: f64| if whole { x.round() } else { x };
            let range = Range { min: round(min), max: round(min + span).max(round(min)), whole };
            let default = round(range.min + share * (range.max - range.min)).clamp(range.min, range.max);
            let stops = stops(range, default);
            prop_assert!(!stops.is_empty() && stops.len() < 200);
            prop_assert!(stops.windows(2).all(|w| w[0] < w[1]));
            prop_assert!(stops.contains(&default));
            prop_assert!(stops.iter().all(|s| range.check(*s).is_ok()), "{:?}", stops);
        }
    }
}
