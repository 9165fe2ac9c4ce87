//! Clipboard text of the focused pane.

use std::fmt::Write;

use super::measured::{curve, example, results};
use super::{CURVES, EXAMPLE, ID, MAPS, METHODS, PARETO, PROBES, map, view};
use crate::setup;
use crate::state::State;
use stats::estimate::Estimate;

/// Numbers of the focused pane as tab-separated text; `None` if it has none.
pub(crate) fn copy_text(state: &State) -> Option<String> {
    match state.place(ID).focus {
        setup::PANE => Some(labs::Spec::from(view(state).spec.clone()).to_toml()),
        METHODS => optima_text(state),
        pane if MAPS.contains(&pane) => map::text(state),
        CURVES => curve_text(state),
        PARETO => optima_text(state),
        EXAMPLE => example_text(state),
        PROBES => probes_text(state),
        _ => None,
    }
}

fn curve_text(state: &State) -> Option<String> {
    let curve = curve(state)?;
    let mut text = format!("{}\tC\tC_lo\tC_hi\tS\tS_lo\tS_hi\tR\tR_lo\tR_hi\tn\n", curve.parameter);
    for p in &curve.points {
        let v = &p.value;
        let columns = [v.completeness, v.selectivity, v.reliability];
        let columns = columns.map(|b| cells(b.reported(v.beside.replicates))).join("\t");
        let _ = writeln!(text, "{}\t{columns}\t{}", v.value, p.n);
    }
    Some(text)
}

fn optima_text(state: &State) -> Option<String> {
    let mut text = String::from("method\tparameter\tvalue\tC\tC_lo\tC_hi\tS\tS_lo\tS_hi\tR\tR_lo\tR_hi\n");
    let mine = results(state).optima.iter();
    let mut any = false;
    for o in mine.filter(|o| o.model == view(state).model && o.value.oracle == view(state).oracle) {
        let v = &o.value;
        let columns = [v.completeness, v.selectivity, v.reliability];
        let columns = columns.map(|b| cells(b.reported(v.how.replicates))).join("\t");
        let _ = writeln!(text, "{}\t{}\t{}\t{columns}", v.method, v.parameter, v.value);
        any = true;
    }
    any.then_some(text)
}

fn example_text(state: &State) -> Option<String> {
    let example = &example(state)?.value;
    let mut text = format!("{}\n", example.text);
    let shifts = example.oracle.iter().flat_map(|(property, shifts)| shifts.iter().map(move |s| (property, s)));
    for (property, s) in shifts {
        let _ = writeln!(text, "{property}\t{}\t{}\t{}", s.label, s.before, s.after);
    }
    for s in &example.words {
        let _ = writeln!(text, "model\t{}\t{}\t{}", s.label, s.before, s.after);
    }
    Some(text)
}

fn probes_text(state: &State) -> Option<String> {
    let mut text =
        String::from("model\tproperty\tclassifier\taccuracy\tlo\thi\tmajority\tbalanced\tcalibration_error\tn\tgrid\n");
    for p in &results(state).probes {
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
    (!results(state).probes.is_empty()).then_some(text)
}

/// A mean and the limits of its interval as table cells; without an interval, the limits are empty.
pub(crate) fn cells(e: Estimate) -> String {
    let end = |x: f64| if x.is_nan() { String::new() } else { x.to_string() };
    format!("{}\t{}\t{}", e.mean, end(e.lo), end(e.hi))
}
