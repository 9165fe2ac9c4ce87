//! Reads reference folders and makes comparisons, printing each tolerance.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use probity::base::NoPulse;
use probity::model::check::{Verdict, check};
use probity::model::{Model, ModelSource};
use safetensors::{Dtype, SafeTensors};
use serde_json::Value;

use crate::harness::{device, say};

/// Runs `probity models check` on a folder and prints its table; fails if anything deviates or was not checked.
pub(crate) fn check_passes(dir: &Path) {
    let name = dir.display();
    let source = ModelSource::Dir(dir.to_owned());
    let model = Model::load(&source, device()).unwrap_or_else(|e| panic!("{name}: {e}"));
    let report = check(&model, dir, &mut NoPulse).unwrap_or_else(|e| panic!("{name}: {e}"));
    for row in &report.rows {
        say!(
            "{name}: {}: {} values, largest deviation {:.2e} of {:.1e}, {:?} {}",
            row.quantity,
            row.values,
            row.deviation,
            row.tolerance,
            row.verdict,
            row.note
        );
        assert!(row.verdict == Verdict::Pass && row.values > 0, "{name}: {row:?}");
    }
    assert!(report.passed());
}

/// The subfolders of a folder, sorted by name.
pub(crate) fn subfolders(dir: &Path) -> Vec<PathBuf> {
    let mut list: Vec<PathBuf> =
        std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).filter(|p| p.is_dir()).collect();
    list.sort();
    list
}

pub(crate) fn json(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// An array in a reference file, widened to f64.
#[derive(Clone, Debug)]
pub(crate) struct Golden {
    pub shape: Vec<usize>,
    pub data: Vec<f64>,
}

impl Golden {
    pub(crate) fn f32(&self) -> Vec<f32> {
        self.data.iter().map(|&v| v as f32).collect()
    }

    pub(crate) fn indices(&self) -> Vec<usize> {
        self.data.iter().map(|&v| v as usize).collect()
    }
}

/// All arrays in a safetensors file.
pub(crate) struct Tensors {
    path: PathBuf,
    arrays: BTreeMap<String, Golden>,
}

impl Tensors {
    /// Reads a file of f32, f64, i64 and u8 arrays.
    pub(crate) fn load(path: &Path) -> Tensors {
        let bytes = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let file = SafeTensors::deserialize(&bytes).unwrap();
        let arrays = file.iter().map(|(name, view)| {
            let b = view.data();
            let data = match view.dtype() {
                Dtype::F32 => b.chunks(4).map(|c| f64::from(f32::from_le_bytes(c.try_into().unwrap()))).collect(),
                Dtype::F64 => b.chunks(8).map(|c| f64::from_le_bytes(c.try_into().unwrap())).collect(),
                Dtype::I64 => b.chunks(8).map(|c| i64::from_le_bytes(c.try_into().unwrap()) as f64).collect(),
                Dtype::U8 => b.iter().map(|&v| f64::from(v)).collect(),
                other => panic!("{name}: {other:?}"),
            };
            (name.to_owned(), Golden { shape: view.shape().to_vec(), data })
        });
        Tensors { path: path.to_owned(), arrays: arrays.collect() }
    }

    /// Returns an array, which must exist.
    pub(crate) fn get(&self, name: &str) -> &Golden {
        self.find(name).unwrap_or_else(|| panic!("{}: no {name}", self.path.display()))
    }

    /// Returns an array if it exists.
    pub(crate) fn find(&self, name: &str) -> Option<&Golden> {
        self.arrays.get(name)
    }

    /// Returns the arrays `prefix0`, `prefix1`, ... as far as they exist.
    pub(crate) fn series(&self, prefix: &str) -> Vec<&Golden> {
        (0..).map_while(|i| self.find(&format!("{prefix}{i}"))).collect()
    }
}

/// Collects comparisons under one heading and prints each; fails at the end if any of them failed.
pub(crate) struct Report {
    heading: String,
    checks: usize,
    failures: Vec<String>,
}

impl Report {
    pub(crate) fn new(heading: &str) -> Report {
        Report { heading: heading.to_owned(), checks: 0, failures: Vec::new() }
    }

    /// Requires the largest absolute deviation to be at most `tolerance`.
    pub(crate) fn close(&mut self, what: &str, got: &[f32], want: &[f64], tolerance: f64) {
        let got: Vec<f64> = got.iter().map(|&v| f64::from(v)).collect();
        self.close64(what, &got, want, tolerance);
    }

    /// Like [`Self::close`], for f64.
    pub(crate) fn close64(&mut self, what: &str, got: &[f64], want: &[f64], tolerance: f64) {
        assert!(!want.is_empty(), "{}: nothing to compare for {what}", self.heading);
        if got.len() != want.len() {
            return self.record(what, false, format!("{} values, {} expected", got.len(), want.len()));
        }
        let deviation = got
            .iter()
            .zip(want)
            .map(|(g, w)| (g - w).abs())
            .fold(0.0, |m: f64, d| if d.is_nan() { f64::INFINITY } else { m.max(d) });
        self.record(
            what,
            deviation <= tolerance,
            format!("largest deviation {deviation:.2e} (allowed {tolerance:.1e})"),
        );
    }

    pub(crate) fn equal<T: PartialEq + std::fmt::Debug>(&mut self, what: &str, got: &T, want: &T) {
        let ok = got == want;
        self.record(what, ok, if ok { "equal".into() } else { format!("got {got:?}, expected {want:?}") });
    }

    /// Requires a condition to hold.
    pub(crate) fn holds(&mut self, what: &str, ok: bool, said: String) {
        self.record(what, ok, said);
    }

    fn record(&mut self, what: &str, ok: bool, said: String) {
        self.checks += 1;
        say!("{} {}: {what}: {said}", if ok { "ok  " } else { "FAIL" }, self.heading);
        if !ok {
            self.failures.push(format!("{what}: {said}"));
        }
    }

    /// Fails and lists every comparison that failed.
    pub(crate) fn finish(self) {
        assert!(self.checks > 0, "{}: no check ran", self.heading);
        assert!(self.failures.is_empty(), "{}:\n{}", self.heading, self.failures.join("\n"));
    }
}
