//! Conditions on a difference, for continuous integration: `worse by 1 at 95 %`, `not worse by 1`.

use super::amount::Amount;
use crate::error::CliError;
use base::numbers::{number, short};
use labs::power::summary::points;
use stats::Estimate;

/// A condition that the whole interval of the difference "first side minus second side" must satisfy.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Gate {
    text: String,
    not: bool,
    worse: bool,
    /// The size required; `None` if any difference counts.
    by: Option<Amount>,
    /// Level of the interval; `None` for the level of the command.
    pub level: Option<f64>,
}

impl Gate {
    pub(super) fn parse(text: &str) -> Result<Self, CliError> {
        let bad = || {
            let shown = base::text::shortened(text, 60);
            CliError::Usage(format!(
                "cannot read `{shown}`; use, for example, \"worse by 1 at 95 %\" or \"not worse by 1\""
            ))
        };
        let lower = text.trim().to_lowercase();
        let (not, rest) = lower.strip_prefix("not ").map_or((false, lower.as_str()), |rest| (true, rest.trim_start()));
        let (rest, level) = match rest.rsplit_once(" at ") {
            Some((rest, level)) => {
                let level = level.replace(' ', "");
                let value = number(&level).map_err(|_| bad())?;
                let value = if level.ends_with('%') || value < 1.0 { value } else { value / 100.0 };
                (rest.trim(), Some(value).filter(|v| *v > 0.0 && *v < 1.0).ok_or_else(bad)?.into())
            }
            None => (rest, None),
        };
        let (word, by) = match rest.split_once(" by") {
            Some((word, amount)) if amount.starts_with(' ') => (word, Some(Amount::parse(amount).ok_or_else(bad)?)),
            _ => (rest, None),
        };
        let worse = match word.trim() {
            "worse" => true,
            "better" => false,
            _ => return Err(bad()),
        };
        if by.is_some_and(Amount::is_negative) {
            return Err(bad());
        }
        Ok(Self { text: text.trim().to_owned(), not, worse, by, level })
    }

    pub(super) fn holds(&self, difference: Estimate, share: bool) -> Result<bool, CliError> {
        let by = self.by.map_or(Ok(0.0), |by| by.condition(share))?;
        Ok(match (self.worse, self.not) {
            (true, false) => difference.hi < -by,
            (true, true) => difference.lo > -by,
            (false, false) => difference.lo > by,
            (false, true) => difference.hi < by,
        })
    }
}

fn amount(d: Estimate, share: bool) -> String {
    let [mean, lo, hi] = [d.mean, d.lo, d.hi].map(|x| if share { points(x) } else { short(x) });
    format!("{mean} [{lo}, {hi}]{}", if share { " points" } else { "" })
}

#[derive(Debug, Clone, Default)]
pub(super) struct Gates {
    pub fail_if: Option<Gate>,
    pub fail_unless: Option<Gate>,
}

impl Gates {
    pub(super) fn parse(fail_if: Option<&str>, fail_unless: Option<&str>) -> Result<Self, CliError> {
        let gate = |text: Option<&str>| text.map(Gate::parse).transpose();
        Ok(Self { fail_if: gate(fail_if)?, fail_unless: gate(fail_unless)? })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.fail_if.is_none() && self.fail_unless.is_none()
    }

    /// Rejects sizes that do not fit the metric, before anything is printed.
    pub(super) fn check_sizes(&self, mut shares: impl Iterator<Item = bool>) -> Result<(), CliError> {
        let sizes: Vec<Amount> =
            [&self.fail_if, &self.fail_unless].into_iter().flatten().filter_map(|g| g.by).collect();
        shares.try_for_each(|share| sizes.iter().try_for_each(|by| by.condition(share).map(|_| ())))
    }

    /// Checks a difference and describes the result; `at` returns the interval at a given level.
    ///
    /// # Errors
    /// [`CliError::Gate`] (exit code 3) if a condition fails; [`CliError::Usage`] for a size that does not fit the metric.
    pub(super) fn check(
        &self,
        subject: &str,
        share: bool,
        at: impl Fn(Option<f64>) -> Estimate,
    ) -> Result<String, CliError> {
        let mut passed = Vec::new();
        if let Some(gate) = &self.fail_if {
            let difference = at(gate.level);
            if gate.holds(difference, share)? {
                let amount = amount(difference, share);
                return Err(CliError::Gate(format!("failed: {subject} is {}: {amount}", gate.text)));
            }
            passed.push(format!("it was not shown to be {} ({})", gate.text, amount(difference, share)));
        }
        if let Some(gate) = &self.fail_unless {
            let difference = at(gate.level);
            if !gate.holds(difference, share)? {
                let amount = amount(difference, share);
                return Err(CliError::Gate(format!(
                    "failed: it was not shown that {subject} is {}: {amount}",
                    gate.text
                )));
            }
            passed.push(format!("it is {} ({})", gate.text, amount(difference, share)));
        }
        Ok(format!("passed: {subject}: {}", passed.join("; ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(text: &str, lo: f64, hi: f64) -> bool {
        Gate::parse(text).unwrap().holds(Estimate { mean: 0.5 * (lo + hi), lo, hi }, true).unwrap()
    }

    #[test]
    fn condition_must_hold_for_the_whole_interval() {
        assert!(holds("worse by 1 at 95 %", -0.05, -0.011) && !holds("worse by 1 at 95 %", -0.05, -0.009));
        assert!(holds("not worse by 1", -0.009, 0.02) && !holds("not worse by 1", -0.011, 0.02));
        assert!(holds("Better by 2 points", 0.021, 0.05) && !holds("better", -0.01, 0.05));
        assert!(holds("not better by 1", -0.05, 0.009));
        let own = Gate::parse("worse by 1").unwrap();
        let few = Estimate { mean: -0.5, lo: -0.6, hi: -0.4 };
        assert!(!own.holds(few, false).unwrap(), "the metric's own unit");
        // Regression: `1%` used to be parsed as a hundredth of a point.
        assert!(holds("worse by 1%", -0.05, -0.011) && !holds("worse by 1 %", -0.05, -0.009));
        assert!(Gate::parse("worse by .02").unwrap().holds(few, true).is_err(), "2 points or .02");
    }

    #[test]
    fn levels_are_parsed_in_common_notations() {
        for text in ["worse by 1 at 90 %", "worse by 1 at 90%", "worse by 1 at .9", "worse by 1 at 90"] {
            assert_eq!(Gate::parse(text).unwrap().level, Some(0.9), "{text}");
        }
        for text in [
            "",
            "worst",
            "worse than 1",
            "worse by",
            "worse by x",
            "worse by -1",
            "worse by 1 at 100 %",
            "worse by 1 kg",
        ] {
            assert!(Gate::parse(text).is_err(), "{text}");
        }
    }
}
