//! Hyperparameters of methods other than the swept one, by name, with defaults and bounds. Specs and screens need no extra code for them.

use super::method::Method;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingKind {
    /// Any number within the bounds.
    Real,
    /// Whole numbers within the bounds.
    Integer,
    /// 0 or 1.
    Flag,
}

/// A hyperparameter that is not swept.
#[derive(Debug, PartialEq)]
pub struct Setting {
    /// The key in specs.
    pub name: &'static str,
    /// The label on screens.
    pub label: &'static str,
    /// One line of explanation, with the source of the default.
    pub doc: &'static str,
    pub kind: SettingKind,
    pub default: f64,
    pub min: f64,
    pub max: f64,
}

impl Setting {
    /// A setting whose value is a number from `min` to `max`.
    pub(crate) const fn real(
        name: &'static str,
        label: &'static str,
        doc: &'static str,
        default: f64,
        [min, max]: [f64; 2],
    ) -> Self {
        Self { name, label, doc, kind: SettingKind::Real, default, min, max }
    }

    /// A setting whose value is a whole number from 1 to `max`.
    pub(crate) const fn whole(
        name: &'static str,
        label: &'static str,
        doc: &'static str,
        default: f64,
        max: f64,
    ) -> Self {
        Self { name, label, doc, kind: SettingKind::Integer, default, min: 1.0, max }
    }

    /// A setting whose value is 0 or 1.
    pub(crate) const fn flag(name: &'static str, label: &'static str, doc: &'static str, default: f64) -> Self {
        Self { name, label, doc, kind: SettingKind::Flag, default, min: 0.0, max: 1.0 }
    }

    pub fn allows(&self, value: f64) -> bool {
        (self.min..=self.max).contains(&value) && (self.kind == SettingKind::Real || value.fract() == 0.0)
    }
}

/// An unknown hyperparameter, or an invalid value of a hyperparameter.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum OptionError {
    /// No setting has this name.
    #[error("{method} has no option '{name}'; it has: {known}")]
    Unknown {
        method: &'static str,
        name: String,
        /// The existing names.
        known: String,
    },
    /// The value is out of bounds or not an integer.
    #[error("option '{name}' of {method} is {shown}: must be {kind} from {min} to {max}", shown = base::numbers::brief(.value))]
    Range {
        method: &'static str,
        name: &'static str,
        value: f64,
        /// "a number" or "a whole number".
        kind: &'static str,
        min: f64,
        max: f64,
    },
}

/// Values for all settings of one method.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    values: Vec<(&'static str, f64)>,
}

impl Options {
    pub fn defaults(method: &Method) -> Self {
        Self { values: method.settings.iter().map(|s| (s.name, s.default)).collect() }
    }

    /// The defaults of `method`, overridden by the given values.
    ///
    /// # Errors
    /// [`OptionError`] for a name that `method` does not have or a value out of bounds.
    pub fn new<'a>(method: &Method, given: impl IntoIterator<Item = (&'a str, f64)>) -> Result<Self, OptionError> {
        let mut options = Self::defaults(method);
        for (name, value) in given {
            let settings = method.settings;
            let Some(i) = settings.iter().position(|s| s.name == name) else {
                let names: Vec<&str> = settings.iter().map(|s| s.name).collect();
                let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
                return Err(OptionError::Unknown { method: method.id, name: name.to_owned(), known });
            };
            let s = &settings[i];
            if !s.allows(value) {
                let kind = if s.kind == SettingKind::Real { "a number" } else { "a whole number" };
                return Err(OptionError::Range {
                    method: method.id,
                    name: s.name,
                    value,
                    kind,
                    min: s.min,
                    max: s.max,
                });
            }
            options.values[i].1 = value;
        }
        Ok(options)
    }

    /// A copy with different values for the given names.
    pub(crate) fn with(&self, others: &[(&str, f64)]) -> Self {
        let value = |name: &str, own: f64| others.iter().find(|(n, _)| *n == name).map_or(own, |(_, v)| *v);
        Self { values: self.values.iter().map(|(name, own)| (*name, value(name, *own))).collect() }
    }

    /// Names and values in the method's order, for hashes and findings.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, f64)> + '_ {
        self.values.iter().copied()
    }

    /// The value of `name`.
    ///
    /// # Panics
    /// If the options belong to a method without this setting.
    pub fn real(&self, name: &str) -> f64 {
        let found = self.values.iter().find(|(n, _)| *n == name);
        found.unwrap_or_else(|| panic!("option '{name}' of another method")).1
    }

    /// The value of `name` as a whole number.
    ///
    /// # Panics
    /// As [`Self::real`].
    pub fn integer(&self, name: &str) -> usize {
        self.real(name) as usize
    }

    /// True if the flag `name` is set.
    ///
    /// # Panics
    /// As [`Self::real`].
    pub fn flag(&self, name: &str) -> bool {
        self.real(name) != 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{find, registry};

    #[test]
    fn defaults_are_valid_and_names_unique() {
        for method in registry() {
            let settings = method.settings;
            assert!(settings.iter().all(|s| s.allows(s.default)), "{}", method.id);
            let mut names: Vec<_> = settings.iter().map(|s| s.name).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), settings.len());
        }
    }

    #[test]
    fn given_values_are_checked() {
        let pgd = find("pgd").unwrap();
        let options = Options::new(pgd, [("steps", 10.0)]).unwrap();
        assert_eq!((options.integer("steps"), options.real("step")), (10, 0.1));
        assert!(matches!(Options::new(pgd, [("stops", 10.0)]), Err(OptionError::Unknown { .. })));
        for bad in [0.5, -1.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(Options::new(pgd, [("steps", bad)]), Err(OptionError::Range { .. })));
        }
    }
    /// Regression: an option used to be called `C`.
    #[test]
    fn option_names_are_not_single_letters() {
        for setting in registry().iter().flat_map(|method| method.settings) {
            assert!(setting.label.chars().count() > 1, "{}", setting.name);
        }
    }
}
