//! The rows of the setup pane as they are shown.

use super::State;
use super::setup::{Field, Row};
use crate::base::numbers::{score, short};
use crate::base::text::printable;
use crate::lab::interventions::spec::MethodSpec;
use crate::lab::layer::LayerRef;

impl State {
    /// A row as it is shown.
    pub fn field(&self, row: Row) -> Field {
        let control = self.control(row);
        let text = match row {
            Row::Model(i) => self.model_names().get(i).cloned().unwrap_or_default(),
            // The name of the file says more than that of the task, and there is room for one.
            Row::Task if self.spec.task.data.is_some() => {
                let path = self.spec.task.data.as_deref().unwrap_or_default();
                path.rsplit(['/', '\\']).next().unwrap_or(path).to_owned()
            }
            Row::Task => {
                let title = self.catalog.task(&self.spec.task.name).map(|t| t.title.clone());
                title.unwrap_or_else(|| self.spec.task.name.clone())
            }
            Row::Target => self.spec.task.target.replace('_', " "),
            Row::Examples => self.spec.task.examples.to_string(),
            Row::Phi if self.spec.task.data.is_some() => "as in the file".into(),
            Row::Phi => self.spec.task.phi.map_or("natural".into(), short),
            Row::Layer => self.layer_text(),
            Row::OracleLayer => match self.spec.site.oracle_layer {
                None => "same".into(),
                Some(LayerRef::Last) => "last".into(),
                Some(LayerRef::At(l)) => l.to_string(),
            },
            Row::Method => self.method().map_or(self.view.method.clone(), |m| m.title.clone()),
            Row::Parameter => short(self.marker()),
            Row::Option(i) => self.option(i).map_or(String::new(), |(_, value)| short(value)),
            Row::Oracle => self.view.oracle.to_string(),
            Row::Oracles => {
                let names: Vec<String> = self.spec.probe.oracles.iter().map(ToString::to_string).collect();
                names.join(" + ")
            }
            Row::Grid => self.spec.probe.grid.clone(),
            Row::Level => score(self.spec.interval.level),
            Row::Seed => self.spec.seed.to_string(),
        };
        let text = printable(&text).into_owned();
        Field { label: self.label(row), text, control, changed: self.row_changed(row) }
    }

    fn label(&self, row: Row) -> String {
        match row {
            Row::Model(0) => "Models".into(),
            Row::Model(_) => String::new(),
            Row::Task => "Task".into(),
            Row::Target => "Target".into(),
            Row::Examples => "n".into(),
            Row::Phi => "φ".into(),
            Row::Layer => "Layer".into(),
            Row::OracleLayer => "read at".into(),
            Row::Method => "Method".into(),
            Row::Parameter => {
                self.method().map_or("value".into(), |m| printable(&m.parameter.symbol).into_owned())
            }
            Row::Option(i) => {
                self.option(i).map_or(String::new(), |(entry, _)| printable(&entry.title).into_owned())
            }
            Row::Oracle => "Oracle".into(),
            Row::Oracles => "trained".into(),
            Row::Grid => "Grid".into(),
            Row::Level => "Level".into(),
            Row::Seed => "Seed".into(),
        }
    }

    fn row_changed(&self, row: Row) -> bool {
        let Some(run) = self.ran() else { return false };
        let spec = &self.spec;
        match row {
            Row::Model(i) => self
                .model_names()
                .get(i)
                .is_some_and(|name| spec.models.contains(name) != run.models.contains(name)),
            Row::Task => spec.task.name != run.task.name || spec.task.data != run.task.data,
            Row::Target => spec.task.target != run.task.target,
            Row::Examples => spec.task.examples != run.task.examples,
            Row::Phi => spec.task.phi != run.task.phi,
            Row::Layer => spec.site.layer != run.site.layer,
            Row::OracleLayer => spec.site.oracle_layer != run.site.oracle_layer,
            Row::Method => {
                let names = |s: &[MethodSpec]| s.iter().map(|m| m.name.clone()).collect::<Vec<_>>();
                names(&spec.methods) != names(&run.methods)
            }
            Row::Option(i) => self.option(i).is_some_and(|(entry, value)| {
                let ran = run.methods.iter().find(|m| m.name == self.view.method);
                ran.is_some_and(|m| m.options.get(&entry.name).copied().unwrap_or(entry.default) != value)
            }),
            Row::Oracles => spec.probe.oracles != run.probe.oracles,
            Row::Grid => spec.probe.grid != run.probe.grid,
            Row::Level => spec.interval.level != run.interval.level,
            Row::Seed => spec.seed != run.seed,
            Row::Parameter | Row::Oracle => false,
        }
    }

    fn layer_text(&self) -> String {
        match (self.layers(), self.spec.site.layer) {
            (Some(layers), layer) => match layer.resolve(layers) {
                Ok(l) => format!("{l}/{layers}"),
                Err(_) => format!("{}/{layers}", short_layer(layer)),
            },
            (None, layer) => short_layer(layer),
        }
    }
}

fn short_layer(layer: LayerRef) -> String {
    match layer {
        LayerRef::Last => "last".into(),
        LayerRef::At(l) => l.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::catalog::Catalog;
    use crate::tui::state::Start;

    #[test]
    fn own_data_shows_its_file_and_leaves_no_correlation_to_set() {
        let mut state = State::new(Start::new(Catalog::registered()));
        assert_eq!(state.field(Row::Phi).text, "natural");
        state.spec.task.data = Some("folder/own\u{1b}.tsv".into());
        let shown = state.field(Row::Task).text;
        assert!(shown.starts_with("own") && shown.ends_with(".tsv") && !shown.contains('\u{1b}'), "{shown}");
        assert_eq!(state.field(Row::Phi).text, "as in the file");
        assert!(state.set(Row::Phi, 0.2).is_err());
        state.step(Row::Phi, 1);
        assert_eq!(state.spec.task.phi, None);
    }
}
