//! Sizes of a difference in the forms that users write: `.02`, `2%`, `2 points`.

use crate::error::CliError;
use base::numbers::number;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Bare,
    /// The number was followed by `%` or `points`: hundredths of a proportion.
    Points,
    /// The number was followed by `units`, for a metric that is not a proportion.
    Units,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Amount {
    /// The number as typed: 2 for `2 points`.
    value: f64,
    form: Form,
}

impl Amount {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let units = [("points", Form::Points), ("point", Form::Points), ("%", Form::Points)];
        let units = units.into_iter().chain([("units", Form::Units), ("unit", Form::Units)]);
        let (body, form) = units
            .into_iter()
            .find_map(|(unit, form)| Some((text.strip_suffix(unit)?, form)))
            .unwrap_or((text, Form::Bare));
        let value = number(body).ok().filter(|_| !body.trim_end().ends_with('%'))?;
        Some(Self { value, form })
    }

    /// Margin in the unit of the values; for proportions, a bare number is from 0 to 1.
    pub(super) fn margin(self) -> f64 {
        if self.form == Form::Points { self.value / 100.0 } else { self.value }
    }

    /// Rejects a margin that could mean different sizes, because some of the compared metrics are proportions and others are not.
    pub(super) fn check_margin(self, mut shares: impl Iterator<Item = bool> + Clone) -> Result<(), CliError> {
        let value = self.value;
        let any = shares.clone().any(|share| share);
        let all = shares.all(|share| share);
        let why = match self.form {
            Form::Bare if any && value >= 1.0 => {
                let elsewhere =
                    if all { "" } else { "; for a metric in a different unit, choose the metric with --metric" };
                format!(
                    "--margin {value} could mean points or a proportion: use --margin {value}% for points{elsewhere}"
                )
            }
            Form::Units if any => {
                format!("--margin {value} units: the metric is a proportion; for points, use --margin {value}%")
            }
            Form::Points if !any => {
                format!(
                    "--margin {value}%: the metric is not a proportion; give the margin in the metric's unit, as a bare \
                     number"
                )
            }
            _ => return Ok(()),
        };
        Err(CliError::Usage(why))
    }

    /// Size in the unit of the values; for proportions, a bare number of 1 or more is in points.
    pub(super) fn condition(self, share: bool) -> Result<f64, CliError> {
        let value = self.value;
        match (self.form, share) {
            (Form::Bare, true) if value > 0.0 && value < 1.0 => Err(CliError::Usage(format!(
                "`by {value}` could mean {value} or {} points: use `by {value} points` or `by {} points`",
                short(100.0 * value),
                short(100.0 * value)
            ))),
            (Form::Units, true) => {
                Err(CliError::Usage(format!("`by {value} units`: the metric is a proportion; use `by {value} points`")))
            }
            (Form::Points, false) => Err(CliError::Usage(format!(
                "`by {value} points`: the metric is not a proportion; use `by {value}`, in the metric's unit"
            ))),
            (_, true) => Ok(value / 100.0),
            (_, false) => Ok(value),
        }
    }

    pub(super) fn is_negative(self) -> bool {
        self.value < 0.0
    }
}

/// Formats a number without floating-point noise.
fn short(x: f64) -> String {
    ((x * 1e6).round() / 1e6).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: `--margin 1` used to mean the whole scale, while `worse by 1` meant one point.
    #[test]
    fn ambiguous_size_is_refused() {
        for (text, margin) in [(".02", 0.02), ("2%", 0.02), ("2 %", 0.02), ("2 points", 0.02), ("1 point", 0.01)] {
            let amount = Amount::parse(text).unwrap();
            assert!((amount.margin() - margin).abs() < 1e-12, "{text}");
            assert!(amount.check_margin([true].into_iter()).is_ok(), "{text}");
        }
        let whole = Amount::parse("1").unwrap();
        assert!(whole.check_margin([true].into_iter()).unwrap_err().to_string().contains("--margin 1%"));
        assert!(whole.check_margin([false].into_iter()).is_ok() && whole.margin() == 1.0);
        assert!(Amount::parse("2%").unwrap().check_margin([false].into_iter()).is_err());
        for (text, share, by) in [("1", true, 0.01), ("1%", true, 0.01), (".5 points", true, 0.005), ("2", false, 2.0)]
        {
            assert!((Amount::parse(text).unwrap().condition(share).unwrap() - by).abs() < 1e-12, "{text}");
        }
        let small = Amount::parse(".02").unwrap();
        assert!(small.condition(true).unwrap_err().to_string().contains("by 2 points"));
        assert_eq!(small.condition(false).unwrap(), 0.02);
        for text in ["", "x", "1 kg", "1%%", "points"] {
            assert!(Amount::parse(text).is_none(), "{text}");
        }
    }
}
