//! What `copy` puts on the clipboard: the numbers of the focused pane as tab-separated text.

use std::fmt::Write;

use super::{Pane, Popup, State};
use crate::stats::estimate::Estimate;

impl State {
    /// The numbers of the popup, or else of the focused pane; none where there are none.
    pub fn copy_text(&self) -> Option<String> {
        match (&self.view.popup, self.view.focus) {
            (Some(Popup::Provenance { .. }), _) => Some(self.focused_origin()?.command),
            (Some(Popup::Notices { .. }), _) => {
                let lines: Vec<String> = self.notices().iter().map(|n| n.problem.to_string()).collect();
                Some(lines.join("\n")).filter(|text| !text.is_empty())
            }
            (_, Pane::Setup) => Some(crate::lab::Spec::from(self.spec.clone()).to_toml()),
            (_, Pane::Curves) => self.curve_text(),
            (_, Pane::Pareto) => self.optima_text(),
            (_, Pane::Example) => self.example_text(),
            (_, Pane::Probes) => self.probes_text(),
        }
    }

    fn curve_text(&self) -> Option<String> {
        let curve = self.curve()?;
        let mut text = format!("{}\tC\tC_lo\tC_hi\tS\tS_lo\tS_hi\tR\tR_lo\tR_hi\tn\n", curve.parameter);
        for p in &curve.points {
            let v = &p.value;
            let columns = [v.completeness, v.selectivity, v.reliability].map(cells).join("\t");
            let _ = writeln!(text, "{}\t{columns}\t{}", v.value, p.n);
        }
        Some(text)
    }

    fn optima_text(&self) -> Option<String> {
        let mut text =
            String::from("method\tparameter\tvalue\tC\tC_lo\tC_hi\tS\tS_lo\tS_hi\tR\tR_lo\tR_hi\n");
        let mine = self.results().optima.iter();
        let mut any = false;
        for o in mine.filter(|o| o.model == self.view.model && o.value.oracle == self.view.oracle) {
            let v = &o.value;
            let columns = [v.completeness, v.selectivity, v.reliability].map(cells).join("\t");
            let _ = writeln!(text, "{}\t{}\t{}\t{columns}", v.method, v.parameter, v.value);
            any = true;
        }
        any.then_some(text)
    }

    fn example_text(&self) -> Option<String> {
        let example = &self.example()?.value;
        let mut text = format!("{}\n", example.text);
        let shifts =
            example.oracle.iter().flat_map(|(property, shifts)| shifts.iter().map(move |s| (property, s)));
        for (property, s) in shifts {
            let _ = writeln!(text, "{property}\t{}\t{}\t{}", s.label, s.before, s.after);
        }
        for s in &example.words {
            let _ = writeln!(text, "model\t{}\t{}\t{}", s.label, s.before, s.after);
        }
        Some(text)
    }

    fn probes_text(&self) -> Option<String> {
        let mut text = String::from(
            "model\tproperty\tclassifier\taccuracy\tlo\thi\tmajority\tbalanced\tcalibration_error\tn\tgrid\n",
        );
        for p in &self.results().probes {
            let v = &p.value;
            let _ = writeln!(
                text,
                "{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}",
                p.model,
                v.property,
                v.classifier,
                cells(v.accuracy),
                v.majority,
                v.balanced_accuracy,
                v.calibration_error,
                p.n,
                v.grid
            );
        }
        (!self.results().probes.is_empty()).then_some(text)
    }
}

fn cells(e: Estimate) -> String {
    format!("{}\t{}\t{}", e.mean, e.lo, e.hi)
}
