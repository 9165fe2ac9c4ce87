//! Table of deviations.

use serde::Serialize;

/// Outcome for one quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// All deviations are within the tolerance.
    Pass,
    /// Some deviation exceeds the tolerance.
    Deviates,
    /// Nothing was compared; the note gives the reason.
    NotChecked,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    pub quantity: String,
    pub values: usize,
    /// Largest absolute difference; for exact quantities, the number of values that differ.
    pub deviation: f64,
    pub tolerance: f64,
    pub verdict: Verdict,
    /// Location of the largest deviation, or the reason why nothing was compared.
    pub note: String,
}

/// Results of checking one model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    pub model: String,
    /// Identity of the model.
    pub hash: String,
    /// Device used for the computation.
    pub device: String,
    /// Origin of the expected values, as stated in the file.
    pub reference: String,
    pub rows: Vec<Row>,
}

impl Report {
    /// True if something was compared and nothing deviates.
    pub fn passed(&self) -> bool {
        self.count(Verdict::Pass) > 0 && self.count(Verdict::Deviates) == 0
    }

    pub fn count(&self, verdict: Verdict) -> usize {
        self.rows.iter().filter(|r| r.verdict == verdict).count()
    }
}

/// Collects rows; comparisons of the same quantity are merged into one row with the largest deviation.
#[derive(Debug, Default)]
pub(super) struct Table(Vec<Row>);

impl Table {
    /// Compares values with a tolerance. `place` names the part of the quantity, if it has several.
    pub(crate) fn close(&mut self, quantity: &str, place: &str, got: &[f32], want: &[f64], tolerance: f64) {
        let got: Vec<f64> = got.iter().map(|&v| f64::from(v)).collect();
        self.close64(quantity, place, &got, want, tolerance);
    }

    /// Compares f64 values with a tolerance. Callers compare shapes first, so different lengths count as an infinite deviation.
    pub(crate) fn close64(&mut self, quantity: &str, place: &str, got: &[f64], want: &[f64], tolerance: f64) {
        let differences = got.iter().zip(want).map(|(g, w)| (g - w).abs());
        let largest = differences.fold(0.0, |m: f64, d| if d.is_nan() { f64::INFINITY } else { m.max(d) });
        let deviation = if got.len() == want.len() { largest } else { f64::INFINITY };
        self.add(quantity, place, want.len(), deviation, tolerance);
    }

    /// Compares values exactly; missing and surplus values count as different.
    pub(crate) fn equal<T: PartialEq>(&mut self, quantity: &str, place: &str, got: &[T], want: &[T]) {
        let differing = got.iter().zip(want).filter(|(g, w)| g != w).count();
        let differing = differing + got.len().abs_diff(want.len());
        self.add(quantity, place, want.len(), differing as f64, 0.0);
    }

    /// Adds a deviation computed by the caller.
    pub(crate) fn add(&mut self, quantity: &str, place: &str, values: usize, deviation: f64, tolerance: f64) {
        let known = self.0.iter().position(|r| r.quantity == quantity && r.verdict != Verdict::NotChecked);
        let at = known.unwrap_or_else(|| {
            self.0.push(Row {
                quantity: quantity.to_owned(),
                values: 0,
                deviation: 0.0,
                tolerance,
                verdict: Verdict::Pass,
                note: String::new(),
            });
            self.0.len() - 1
        });
        let row = &mut self.0[at];
        row.values += values;
        // If tolerances differ between parts, the row shows the part with the largest deviation relative to its tolerance.
        let share = |d: f64, t: f64| if d == 0.0 { 0.0 } else { d / t };
        if share(deviation, tolerance) > share(row.deviation, row.tolerance) {
            (row.deviation, row.tolerance) = (deviation, tolerance);
            place.clone_into(&mut row.note);
        }
        if deviation > tolerance || deviation.is_nan() {
            row.verdict = Verdict::Deviates;
        }
    }

    /// Records that a quantity was not compared, with the reason.
    pub(crate) fn not_checked(&mut self, quantity: &str, why: &str) {
        self.0.push(Row {
            quantity: quantity.to_owned(),
            values: 0,
            deviation: 0.0,
            tolerance: 0.0,
            verdict: Verdict::NotChecked,
            note: why.to_owned(),
        });
    }

    pub(crate) fn into_rows(self) -> Vec<Row> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_keeps_the_largest_deviation_and_its_location() {
        let mut t = Table::default();
        t.close("states", "layer 0", &[1.0, 2.0], &[1.0, 2.125], 0.2);
        t.close("states", "layer 1", &[1.0], &[1.0], 0.2);
        t.equal("ids", "text 3", &[1, 2, 3], &[1, 9]);
        t.close("nan", "", &[f32::NAN], &[0.0], 1.0);
        t.close("short", "", &[], &[0.0], 1.0);
        t.not_checked("pooler", "none");
        let rows = t.into_rows();
        let first = &rows[0];
        assert_eq!((first.values, first.deviation, first.note.as_str()), (3, 0.125, "layer 0"));
        let verdicts: Vec<Verdict> = rows.iter().map(|r| r.verdict).collect();
        use Verdict::*;
        assert_eq!(verdicts, [Pass, Deviates, Deviates, Deviates, NotChecked]);
        assert_eq!((rows[1].deviation, rows[1].tolerance), (2.0, 0.0), "one value differs and one is surplus");
        assert!(rows[2].deviation.is_infinite() && rows[3].deviation.is_infinite());
    }

    #[test]
    fn report_without_comparisons_does_not_pass() {
        let mut t = Table::default();
        t.not_checked("all", "empty");
        let [model, hash, device, reference] = std::array::from_fn(|_| String::new());
        let report = Report { model, hash, device, reference, rows: t.into_rows() };
        assert!(!report.passed());
    }
}
