//! The rows of the setup pane: how each is worked, steps, and what can be typed into it.

use super::State;
use super::stops::{example_stops, option_stops, phi_stops, step_along};
use crate::base::numbers::short;
use crate::lab::examples::MAX_EXAMPLES;
use crate::lab::interventions::oracle::OracleKind;
use crate::lab::interventions::spec::MethodSpec;
use crate::lab::layer::LayerRef;
use crate::tui::catalog::OptionEntry;

/// Largest seed that can be typed: beyond it a number no longer holds every integer.
const MAX_SEED: f64 = 9_007_199_254_740_992.0;
/// Steps of a far move.
pub const FAR: i64 = 5;

/// A row of the setup pane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Row {
    /// A model: index into [`State::model_names`].
    Model(usize),
    /// The probing task.
    Task,
    /// The property that is changed.
    Target,
    /// Number of examples.
    Examples,
    /// Correlation of the two properties in the data.
    Phi,
    /// Layer of the intervention.
    Layer,
    /// Layer of the oracle.
    OracleLayer,
    /// The method that is drawn.
    Method,
    /// Its swept hyperparameter.
    Parameter,
    /// One of its further hyperparameters, by index.
    Option(usize),
    /// The oracle whose judgement is drawn.
    Oracle,
    /// The oracles that are trained.
    Oracles,
    /// The grid of the probes' hyperparameters.
    Grid,
    /// Level of the intervals.
    Level,
    /// The seed.
    Seed,
}

/// How a row is worked.
#[derive(Debug, Clone, PartialEq)]
pub enum Control {
    /// Selected or not.
    Check(bool),
    /// One of a few: which one, and how many there are.
    Choice(usize, usize),
    /// A number between stops.
    Slider {
        /// Where steps lead, rising; at least one.
        stops: Vec<f64>,
        /// Where it stands.
        value: f64,
    },
    /// A whole number without a track.
    Number(f64),
}

/// A row as it is shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// What it is.
    pub label: String,
    /// Its value as text.
    pub text: String,
    /// How it is worked.
    pub control: Control,
    /// Whether it differs from what was run.
    pub changed: bool,
}

/// What a change touched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Touched {
    /// The strength, the method or its options: a new point is wanted.
    pub point: bool,
}

const POINT: Touched = Touched { point: true };
const SPEC: Touched = Touched { point: false };
/// What can be trained as oracles, in the order of the row.
const ORACLES: [&[OracleKind]; 3] =
    [&[OracleKind::Mlp, OracleKind::Linear], &[OracleKind::Mlp], &[OracleKind::Linear]];
const GRIDS: [&str; 2] = ["small", "paper"];

impl State {
    /// Names of the models that can be picked: those of the engine, then others that the spec names.
    pub fn model_names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.board.models.iter().map(|m| m.name.clone()).collect();
        names.extend(
            self.spec.models.iter().filter(|m| !self.board.models.iter().any(|x| x.name == **m)).cloned(),
        );
        names
    }

    /// The models of the models lab: those that can be picked, then those that were asked about and are not there (yet).
    pub fn listed_models(&self) -> Vec<String> {
        let mut names = self.model_names();
        let asked = self.board.dossiers.iter().map(|d| &d.model);
        let more: Vec<String> = asked.filter(|m| !names.contains(m)).cloned().collect();
        names.extend(more);
        names
    }

    /// The model under the cursor of the models lab.
    pub fn model_here(&self) -> Option<String> {
        let mut names = self.listed_models();
        let at = self.view.model_row.min(names.len().checked_sub(1)?);
        Some(names.swap_remove(at))
    }

    /// Layers that every selected model has; none while no model is known.
    pub fn layers(&self) -> Option<usize> {
        let known = self.board.models.iter().filter(|m| self.spec.models.contains(&m.name));
        known.map(|m| m.layers).min().filter(|l| *l > 0)
    }

    /// The rows of the setup pane.
    pub fn rows(&self) -> Vec<Row> {
        let mut rows: Vec<Row> = (0..self.model_names().len()).map(Row::Model).collect();
        rows.extend([Row::Task, Row::Target, Row::Examples, Row::Phi, Row::Layer, Row::OracleLayer]);
        rows.extend([Row::Method, Row::Parameter]);
        if self.method_spec().is_some() {
            rows.extend((0..self.method().map_or(0, |m| m.options.len())).map(Row::Option));
        }
        rows.extend([Row::Oracle, Row::Oracles, Row::Grid, Row::Level, Row::Seed]);
        rows
    }

    /// The row under the cursor.
    pub fn row(&self) -> Option<Row> {
        let rows = self.rows();
        rows.get(self.view.row.min(rows.len().saturating_sub(1))).copied()
    }

    /// The drawn method as the spec has it; none where it does not run.
    pub fn method_spec(&self) -> Option<&MethodSpec> {
        self.spec.methods.iter().find(|m| m.name == self.view.method)
    }

    /// A further hyperparameter of the drawn method: its entry and its value.
    pub fn option(&self, index: usize) -> Option<(&OptionEntry, f64)> {
        let entry = self.method()?.options.get(index)?;
        let set = self.method_spec().and_then(|m| m.options.get(&entry.name));
        Some((entry, set.copied().unwrap_or(entry.default)))
    }

    /// Whether a number can be typed into a row.
    pub fn typable(row: Row) -> bool {
        !matches!(
            row,
            Row::Model(_) | Row::Task | Row::Target | Row::Method | Row::Oracle | Row::Oracles | Row::Grid
        )
    }

    /// How a row is worked.
    pub fn control(&self, row: Row) -> Control {
        let slider = |stops: Vec<f64>, value| Control::Slider { stops, value };
        match row {
            Row::Model(i) => {
                let names = self.model_names();
                Control::Check(names.get(i).is_some_and(|n| self.spec.models.contains(n)))
            }
            Row::Task => {
                let at = self.catalog.tasks.iter().position(|t| t.id == self.spec.task.name);
                Control::Choice(at.unwrap_or(0), self.catalog.tasks.len())
            }
            Row::Target => {
                let properties = self.properties();
                let at = properties.iter().position(|p| *p == self.spec.task.target);
                Control::Choice(at.unwrap_or(0), properties.len())
            }
            Row::Examples => slider(example_stops(), self.spec.task.examples as f64),
            Row::Phi => slider(phi_stops(), self.spec.task.phi.unwrap_or(f64::NAN)),
            Row::Layer => {
                let layers = self.layers().unwrap_or(1);
                let at = self.spec.site.layer.resolve(layers).unwrap_or(layers);
                slider((1..=layers).map(|l| l as f64).collect(), at as f64)
            }
            Row::OracleLayer => {
                let (first, layers) = self.oracle_layers();
                let at = self.spec.site.oracle_layer.map_or(first, |l| l.resolve(layers).unwrap_or(layers));
                slider((first..=layers).map(|l| l as f64).collect(), at.max(first) as f64)
            }
            Row::Method => {
                let at = self.catalog.methods.iter().position(|m| m.id == self.view.method);
                Control::Choice(at.unwrap_or(0), self.catalog.methods.len())
            }
            Row::Parameter => slider(self.marker_stops(), self.marker()),
            Row::Option(i) => self
                .option(i)
                .map_or(Control::Number(0.0), |(entry, value)| slider(option_stops(entry), value)),
            Row::Oracle => {
                let at = self.run_oracles().iter().position(|o| *o == self.view.oracle);
                Control::Choice(at.unwrap_or(0), self.run_oracles().len())
            }
            Row::Oracles => {
                let at = ORACLES.iter().position(|o| **o == *self.spec.probe.oracles);
                Control::Choice(at.unwrap_or(0), ORACLES.len())
            }
            Row::Grid => {
                let at = GRIDS.iter().position(|g| *g == self.spec.probe.grid);
                Control::Choice(at.unwrap_or(0), GRIDS.len())
            }
            Row::Level => slider(vec![0.8, 0.9, 0.95, 0.99], self.spec.interval.level),
            Row::Seed => Control::Number(self.spec.seed as f64),
        }
    }

    fn properties(&self) -> Vec<String> {
        self.catalog.task(&self.spec.task.name).map_or(Vec::new(), |t| t.properties.clone())
    }

    /// The first layer at which the oracle can read, and the last one.
    fn oracle_layers(&self) -> (usize, usize) {
        let layers = self.layers().unwrap_or(1);
        (self.spec.site.layer.resolve(layers).unwrap_or(layers), layers)
    }

    /// Where the marker can stop: the values that were measured, or the grid of the method.
    pub fn marker_stops(&self) -> Vec<f64> {
        let values = self.method_spec().map_or(&[][..], |m| &m.values);
        let mut stops = match self.method() {
            _ if !values.is_empty() => values.to_vec(),
            Some(m) if !m.parameter.grid.is_empty() => m.parameter.grid.clone(),
            Some(m) => vec![m.parameter.min, m.parameter.max],
            None => vec![0.0],
        };
        stops.sort_by(f64::total_cmp);
        stops
    }

    /// Selects or drops a model.
    pub(in crate::tui) fn toggle_model(&mut self, name: &str) {
        match self.spec.models.iter().position(|m| m == name) {
            Some(at) => {
                self.spec.models.remove(at);
            }
            None => self.spec.models.push(name.to_owned()),
        }
    }

    /// Lets a method run, or not. Methods keep the order of the catalog.
    pub(in crate::tui) fn toggle_method(&mut self, id: &str) {
        if let Some(at) = self.spec.methods.iter().position(|m| m.name == id) {
            self.spec.methods.remove(at);
            return;
        }
        // A method that was run comes back as it ran, at its place among the others.
        let ran = self.ran().map_or(&[][..], |spec| &spec.methods);
        let method = ran.iter().find(|m| m.name == id).cloned().unwrap_or_else(|| MethodSpec::named(id));
        let rank = |name: &str| {
            let place = ran.iter().position(|m| m.name == name);
            let known = self.catalog.methods.iter().position(|m| m.id == name);
            (place.unwrap_or(usize::MAX), known.unwrap_or(usize::MAX))
        };
        let at = self.spec.methods.iter().position(|m| rank(&m.name) > rank(id));
        self.spec.methods.insert(at.unwrap_or(self.spec.methods.len()), method);
    }

    /// Moves a row by steps: along the stops of a slider, or through its choices.
    pub(in crate::tui) fn step(&mut self, row: Row, by: i64) -> Touched {
        match self.control(row) {
            Control::Check(_) => SPEC,
            Control::Choice(_, 0) => SPEC,
            Control::Choice(at, of) => {
                let next = (at as i64 + by.signum()).rem_euclid(of as i64) as usize;
                self.choose(row, next)
            }
            Control::Number(value) => self.set(row, (value + by as f64).max(0.0)).unwrap_or_default(),
            // The natural correlation lies below the smallest one that can be set.
            Control::Slider { value, .. } if row == Row::Phi && value.is_nan() => {
                if by > 0 {
                    self.set(row, -0.9).unwrap_or_default()
                } else {
                    SPEC
                }
            }
            Control::Slider { stops, value } => {
                if row == Row::Phi && by < 0 && value <= stops[0] {
                    self.spec.task.phi = None;
                    return SPEC;
                }
                self.set(row, step_along(&stops, value, by)).unwrap_or_default()
            }
        }
    }

    fn choose(&mut self, row: Row, at: usize) -> Touched {
        match row {
            Row::Task => {
                if let Some(task) = self.catalog.tasks.get(at) {
                    self.spec.task.name = task.id.clone();
                    if !task.properties.contains(&self.spec.task.target) {
                        self.spec.task.target = task.properties.first().cloned().unwrap_or_default();
                    }
                }
            }
            Row::Target => {
                if let Some(property) = self.properties().into_iter().nth(at) {
                    self.spec.task.target = property;
                }
            }
            Row::Method => {
                if let Some(method) = self.catalog.methods.get(at) {
                    self.view.method = method.id.clone();
                    return POINT;
                }
            }
            Row::Oracle => {
                if let Some(oracle) = self.run_oracles().get(at).copied() {
                    self.view.oracle = oracle;
                }
            }
            Row::Oracles => self.spec.probe.oracles = ORACLES[at % ORACLES.len()].to_vec(),
            Row::Grid => self.spec.probe.grid = GRIDS[at % GRIDS.len()].into(),
            _ => {}
        }
        SPEC
    }

    /// Sets a row to a number.
    ///
    /// # Errors
    /// Why the number cannot be taken: out of range, or not whole where it must be.
    pub(in crate::tui) fn set(&mut self, row: Row, value: f64) -> Result<Touched, String> {
        let (min, max, whole) = self.range(row);
        if !(min..=max).contains(&value) {
            return Err(format!("allowed are {} to {}", short(min), short(max)));
        }
        if whole && value.fract() != 0.0 {
            return Err("must be a whole number".into());
        }
        if row == Row::Phi && self.spec.task.data.is_some() {
            return Err("the file's own rows decide".into());
        }
        match row {
            Row::Examples => self.spec.task.examples = value as usize,
            Row::Phi => self.spec.task.phi = Some(value),
            Row::Layer => {
                let layers = self.layers().unwrap_or(value as usize);
                let layer = value as usize;
                self.spec.site.layer = if layer == layers { LayerRef::Last } else { LayerRef::At(layer) };
                let oracle = self.spec.site.oracle_layer.and_then(|l| l.resolve(layers).ok());
                if oracle.is_none_or(|l| l <= layer) {
                    self.spec.site.oracle_layer = None;
                }
            }
            Row::OracleLayer => {
                let (first, layers) = self.oracle_layers();
                let layer = value as usize;
                self.spec.site.oracle_layer = match layer {
                    l if l == first => None,
                    l if l == layers => Some(LayerRef::Last),
                    l => Some(LayerRef::At(l)),
                };
            }
            Row::Parameter => {
                self.view.markers.insert(self.view.method.clone(), value);
                return Ok(POINT);
            }
            Row::Option(i) => {
                let Some((entry, _)) = self.option(i) else { return Ok(SPEC) };
                let (name, default) = (entry.name.clone(), entry.default);
                let ran_with = self.ran_option(&name);
                let Some(method) = self.spec.methods.iter_mut().find(|m| m.name == self.view.method) else {
                    return Ok(SPEC);
                };
                // Back at the default the spec says nothing again, unless what was run said it.
                if value == default && ran_with != Some(value) {
                    method.options.remove(&name);
                } else {
                    method.options.insert(name, value);
                }
                return Ok(POINT);
            }
            Row::Level => self.spec.interval.level = value,
            Row::Seed => self.spec.seed = value as u64,
            _ => {}
        }
        Ok(SPEC)
    }

    fn ran_option(&self, name: &str) -> Option<f64> {
        self.ran()?.methods.iter().find(|m| m.name == self.view.method)?.options.get(name).copied()
    }

    /// Smallest and largest value of a row, and whether it must be whole.
    pub fn range(&self, row: Row) -> (f64, f64, bool) {
        match row {
            Row::Examples => (200.0, MAX_EXAMPLES as f64, true),
            Row::Phi => (-0.95, 0.95, false),
            Row::Layer => (1.0, self.layers().unwrap_or(1) as f64, true),
            Row::OracleLayer => {
                let (first, layers) = self.oracle_layers();
                (first as f64, layers as f64, true)
            }
            Row::Parameter => self
                .method()
                .map_or((0.0, 0.0, false), |m| (m.parameter.min, m.parameter.max, m.parameter.integer)),
            Row::Option(i) => self.option(i).map_or((0.0, 0.0, false), |(e, _)| (e.min, e.max, e.integer)),
            Row::Level => (0.5, 0.9999, false),
            Row::Seed => (0.0, MAX_SEED, true),
            _ => (0.0, 0.0, false),
        }
    }

    /// Sets a slider to a share of its track, 0 to 1, on the nearest stop.
    pub(in crate::tui) fn slide(&mut self, row: Row, share: f64) -> Touched {
        let Control::Slider { stops, .. } = self.control(row) else { return SPEC };
        let last = stops.len().saturating_sub(1);
        let at = (share.clamp(0.0, 1.0) * last as f64).round() as usize;
        stops.get(at).map_or(SPEC, |v| self.set(row, *v).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::catalog::Catalog;
    use crate::tui::state::Start;

    fn state() -> State {
        State::new(Start::new(Catalog::sample()))
    }

    #[test]
    fn steps_go_along_the_grid_and_stop_at_its_ends() {
        let mut s = state();
        assert_eq!(s.step(Row::Parameter, 1), POINT);
        assert_eq!(s.marker(), 0.136);
        s.step(Row::Parameter, -2);
        assert_eq!(s.marker(), 0.092);
        s.step(Row::Parameter, 1000);
        assert_eq!(s.marker(), 5.0);
        s.set(Row::Parameter, 7.5).unwrap();
        s.step(Row::Parameter, 1);
        assert_eq!(s.marker(), 7.5, "a step up never leads down");
        s.step(Row::Parameter, -1);
        assert_eq!(s.marker(), 5.0);
    }

    #[test]
    fn values_out_of_range_are_refused_with_the_range() {
        let mut s = state();
        assert_eq!(s.set(Row::Parameter, -1.0).unwrap_err(), "allowed are 0 to 10");
        assert!(s.set(Row::Parameter, f64::NAN).is_err());
        assert!(s.set(Row::Examples, 300.5).unwrap_err().contains("whole"));
        assert!(s.set(Row::Examples, 1e12).is_err());
    }

    #[test]
    fn an_option_back_at_its_default_leaves_the_spec_as_it_was() {
        let mut s = state();
        let before = s.spec.clone();
        s.step(Row::Option(0), 1);
        assert_ne!(s.spec, before);
        s.set(Row::Option(0), 40.0).unwrap();
        assert_eq!(s.spec, before);
    }

    #[test]
    fn a_method_dropped_and_taken_back_keeps_its_place() {
        let mut s = state();
        let before = s.spec.clone();
        s.toggle_method("fgsm");
        assert_eq!(s.spec.methods.len(), 3);
        s.toggle_method("fgsm");
        assert_eq!(s.spec, before);
    }

    #[test]
    fn the_natural_correlation_lies_below_the_smallest() {
        let mut s = state();
        s.step(Row::Phi, -1);
        assert_eq!(s.spec.task.phi, None);
        s.step(Row::Phi, 1);
        assert_eq!(s.spec.task.phi, Some(-0.9));
        s.step(Row::Phi, -1);
        assert_eq!(s.spec.task.phi, None);
    }
}
