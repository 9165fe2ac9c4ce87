//! The fields of a spec of this lab as settings: one row a parameter, and one for each option of a method.

use super::options::{Setting as MethodOption, SettingKind};
use super::oracle::OracleKind;
use super::registry::find;
use super::spec::{GRIDS, MOST_REPLICATES, Spec};
use crate::corpus::task::TASKS;
use crate::lab::examples::{FEWEST_EXAMPLES, MAX_EXAMPLES};
use crate::lab::layer::LayerRef;
use crate::lab::setting::{Kind, Known, Range, Setting, SettingError, Value, stops};

/// Largest seed that can be typed: beyond it a float no longer holds every integer.
const MAX_SEED: f64 = 9_007_199_254_740_992.0;
/// What can be trained as oracles, in the order of the row.
const ORACLES: [&[OracleKind]; 3] =
    [&[OracleKind::Mlp, OracleKind::Linear], &[OracleKind::Mlp], &[OracleKind::Linear]];

/// The fields that every run has, in the order of the setup pane.
#[must_use]
pub fn settings() -> Vec<Setting<Spec>> {
    vec![
        models(),
        task(),
        data(),
        target(),
        examples(),
        phi(),
        layer(),
        oracle_layer(),
        oracles(),
        grid(),
        replicates(),
        training_seed(),
        level(),
        seed(),
    ]
}

/// The options of a method, as its registry entry lists them; none where the spec does not run it. A spec may run a method
/// several times with other options: `nth` says which of these is meant.
#[must_use]
pub fn options(spec: &Spec, method: &str, nth: usize) -> Vec<Setting<Spec>> {
    let known = find(method).filter(|_| nth_of(spec, method, nth).is_some());
    known.map_or(Vec::new(), |m| m.settings().iter().map(|o| option(m.id(), nth, o)).collect())
}

/// The place in the spec of a method that it may run several times.
#[must_use]
pub fn nth_of(spec: &Spec, method: &str, nth: usize) -> Option<usize> {
    let mut places = spec.methods.iter().enumerate().filter(|(_, m)| m.name == method);
    places.nth(nth).map(|(i, _)| i)
}

/// The key of a method's option.
#[must_use]
pub fn option_key(method: &str, option: &str) -> String {
    format!("method.{method}.{option}")
}

fn number(value: &Value) -> Option<f64> {
    if let Value::Number(x) = value { Some(*x) } else { None }
}

fn choice(value: &Value) -> Option<usize> {
    if let Value::Choice(i) = value { *i } else { None }
}

/// Names of the models that can be picked: those known, then others that the spec names.
#[must_use]
pub fn model_names(spec: &Spec, known: &Known) -> Vec<String> {
    let mut names: Vec<String> = known.models.iter().map(|m| m.name.clone()).collect();
    let more: Vec<String> = spec.models.iter().filter(|m| !names.contains(m)).cloned().collect();
    names.extend(more);
    names
}

fn models() -> Setting<Spec> {
    Setting::new(
        "models",
        "Models",
        "The models that are probed, one after the other.",
        |spec, known| Kind::Marks(model_names(spec, known)),
        |spec: &Spec, known| {
            Value::Marks(model_names(spec, known).iter().map(|n| spec.models.contains(n)).collect())
        },
        |spec, known, value| {
            let Value::Marks(on) = value else { return Ok(()) };
            let names = model_names(spec, known);
            let wanted: Vec<String> =
                names.into_iter().zip(on).filter(|(_, on)| *on).map(|(n, _)| n).collect();
            // They run in the order in which they were picked.
            spec.models.retain(|m| wanted.contains(m));
            let new: Vec<String> = wanted.into_iter().filter(|m| !spec.models.contains(m)).collect();
            spec.models.extend(new);
            Ok(())
        },
    )
}

fn task() -> Setting<Spec> {
    Setting::new(
        "task.name",
        "Task",
        "The probing task: which sentences, and which of their properties.",
        |_, _| Kind::Choice(TASKS.iter().map(|t| t.title.to_owned()).collect()),
        |spec: &Spec, _| Value::Choice(TASKS.iter().position(|t| t.id == spec.task.name)),
        |spec, _, value| {
            if let Some(task) = choice(&value).and_then(|i| TASKS.get(i)) {
                spec.task.name = task.id.into();
                if !task.properties.iter().any(|p| p.id == spec.task.target) {
                    spec.task.target = task.properties[0].id.into();
                }
            }
            Ok(())
        },
    )
    .shown(|spec, _| {
        let title = TASKS.iter().find(|t| t.id == spec.task.name).map(|t| t.title.to_owned());
        title.unwrap_or_else(|| spec.task.name.clone())
    })
}

fn data() -> Setting<Spec> {
    Setting::new(
        "task.data",
        "Data",
        "A file whose sentences are the examples in place of generated ones.",
        |_, _| Kind::File("built in"),
        |spec: &Spec, _| spec.task.data.clone().map_or(Value::Unset, Value::Text),
        |spec, _, value| {
            spec.task.data = if let Value::Text(path) = value { Some(path) } else { None };
            // What is typed is relative to where the program runs, and its own rows decide the correlation.
            spec.task.base = std::path::PathBuf::new();
            if spec.task.data.is_some() {
                spec.task.phi = None;
            }
            Ok(())
        },
    )
    .shown(|spec, _| {
        // Of a path the name of the file says most, and there is little room.
        let path = spec.task.data.as_deref().unwrap_or("built in");
        path.rsplit(['/', '\\']).next().unwrap_or(path).to_owned()
    })
}

fn target() -> Setting<Spec> {
    let ids = |spec: &Spec| {
        let task = TASKS.iter().find(|t| t.id == spec.task.name);
        task.map_or(Vec::new(), |t| t.properties.iter().map(|p| p.id).collect())
    };
    Setting::new(
        "task.target",
        "Target",
        "The property that the intervention changes (Zc in Canby et al.); the other one is to stay (Ze).",
        move |spec, _| Kind::Choice(ids(spec).iter().map(|p| p.replace('_', " ")).collect()),
        move |spec: &Spec, _| Value::Choice(ids(spec).iter().position(|p| *p == spec.task.target)),
        move |spec, _, value| {
            if let Some(id) = choice(&value).and_then(|i| ids(spec).get(i).copied()) {
                spec.task.target = id.into();
            }
            Ok(())
        },
    )
    .shown(|spec, _| spec.task.target.replace('_', " "))
}

fn examples() -> Setting<Spec> {
    let stops = [500, 1000, 2000, 3000, 4000, 6000, 8000, 12_000, 16_000, 24_000, 48_000, 100_000];
    Setting::new(
        "task.examples",
        "n",
        "Number of examples before the split into oracle (40 %), intervention (40 %) and test (20 %).",
        move |_, _| Kind::Slider {
            stops: stops.map(f64::from).to_vec(),
            range: Range::whole(FEWEST_EXAMPLES as f64, MAX_EXAMPLES as f64),
            unset: None,
        },
        |spec: &Spec, _| Value::Number(spec.task.examples as f64),
        |spec, _, value| {
            spec.task.examples = number(&value).unwrap_or_default() as usize;
            Ok(())
        },
    )
}

fn phi() -> Setting<Spec> {
    Setting::new(
        "task.phi",
        "φ",
        "Correlation of the two properties among the examples that have both; natural keeps what the language has.",
        |_, _| Kind::Slider {
            stops: (-9..=9).map(|i| f64::from(i) / 10.0).collect(),
            range: Range::real(-0.95, 0.95),
            unset: Some("natural"),
        },
        |spec: &Spec, _| spec.task.phi.map_or(Value::Unset, Value::Number),
        |spec, _, value| {
            let phi = number(&value);
            if phi.is_some() && spec.task.data.is_some() {
                return Err(SettingError::Refused("the file's own rows decide".into()));
            }
            spec.task.phi = phi;
            Ok(())
        },
    )
    .shown(|spec, _| match (&spec.task.data, spec.task.phi) {
        (Some(_), _) => "as in the file".into(),
        (None, phi) => phi.map_or("natural".into(), crate::base::numbers::short),
    })
}

fn layer() -> Setting<Spec> {
    Setting::new(
        "site.layer",
        "Layer",
        "The layer whose hidden state is changed, from 1.",
        |spec: &Spec, known| {
            let layers = known.layers(&spec.models).unwrap_or(1);
            let stops = (1..=layers).map(|l| l as f64).collect();
            Kind::Slider { stops, range: Range::whole(1.0, layers as f64), unset: None }
        },
        |spec, known| {
            let layers = known.layers(&spec.models).unwrap_or(1);
            Value::Number(spec.site.layer.resolve(layers).unwrap_or(layers) as f64)
        },
        |spec, known, value| {
            let layer = number(&value).unwrap_or(1.0) as usize;
            let layers = known.layers(&spec.models).unwrap_or(layer);
            spec.site.layer = if layer == layers { LayerRef::Last } else { LayerRef::At(layer) };
            // An oracle cannot read before the intervention writes.
            let oracle = spec.site.oracle_layer.and_then(|l| l.resolve(layers).ok());
            if oracle.is_none_or(|l| l <= layer) {
                spec.site.oracle_layer = None;
            }
            Ok(())
        },
    )
    .shown(|spec, known| match (known.layers(&spec.models), spec.site.layer) {
        (Some(layers), LayerRef::Last) => format!("{layers}/{layers}"),
        (Some(layers), LayerRef::At(l)) => format!("{l}/{layers}"),
        (None, layer) => layer_word(layer),
    })
}

/// The first layer at which the oracle can read, and the last one.
fn oracle_layers(spec: &Spec, known: &Known) -> (usize, usize) {
    let layers = known.layers(&spec.models).unwrap_or(1);
    (spec.site.layer.resolve(layers).unwrap_or(layers), layers)
}

fn oracle_layer() -> Setting<Spec> {
    Setting::new(
        "site.oracle_layer",
        "read at",
        "The layer at which the oracles read: that of the intervention, or a later one.",
        |spec, known| {
            let (first, layers) = oracle_layers(spec, known);
            let stops = (first + 1..=layers).map(|l| l as f64).collect();
            let range = Range::whole(first as f64, layers as f64);
            Kind::Slider { stops, range, unset: Some("same") }
        },
        |spec: &Spec, known| {
            let (first, layers) = oracle_layers(spec, known);
            let at = |l: LayerRef| Value::Number(l.resolve(layers).unwrap_or(layers).max(first) as f64);
            spec.site.oracle_layer.map_or(Value::Unset, at)
        },
        |spec, known, value| {
            let (first, layers) = oracle_layers(spec, known);
            spec.site.oracle_layer = match number(&value).map(|l| l as usize) {
                None => None,
                Some(l) if l == first => None,
                Some(l) if l == layers => Some(LayerRef::Last),
                Some(l) => Some(LayerRef::At(l)),
            };
            Ok(())
        },
    )
    .shown(|spec, _| spec.site.oracle_layer.map_or("same".into(), layer_word))
}

fn layer_word(layer: LayerRef) -> String {
    match layer {
        LayerRef::Last => "last".into(),
        LayerRef::At(l) => l.to_string(),
    }
}

fn oracle_names(oracles: &[OracleKind]) -> String {
    oracles.iter().map(ToString::to_string).collect::<Vec<_>>().join(" + ")
}

fn oracles() -> Setting<Spec> {
    Setting::new(
        "probe.oracles",
        "trained",
        "The oracles that are trained; the first one is drawn at first.",
        |_, _| Kind::Choice(ORACLES.iter().map(|o| oracle_names(o)).collect()),
        |spec: &Spec, _| Value::Choice(ORACLES.iter().position(|o| **o == *spec.probe.oracles)),
        |spec, _, value| {
            if let Some(oracles) = choice(&value).and_then(|i| ORACLES.get(i)) {
                spec.probe.oracles = oracles.to_vec();
            }
            Ok(())
        },
    )
    .shown(|spec, _| oracle_names(&spec.probe.oracles))
}

fn grid() -> Setting<Spec> {
    Setting::new(
        "probe.grid",
        "Grid",
        "The grid of hyperparameters from which each probe is chosen; `paper` has the 36 points of Canby et al.",
        |_, _| Kind::Choice(GRIDS.map(String::from).to_vec()),
        |spec: &Spec, _| Value::Choice(GRIDS.iter().position(|g| *g == spec.probe.grid)),
        |spec, _, value| {
            if let Some(grid) = choice(&value).and_then(|i| GRIDS.get(i)) {
                spec.probe.grid = (*grid).into();
            }
            Ok(())
        },
    )
    .shown(|spec, _| spec.probe.grid.clone())
}

fn replicates() -> Setting<Spec> {
    Setting::new(
        "probe.replicates",
        "Trainings",
        "How often all probes and fits are trained anew on the same data: bands then cover sampling and training.",
        |_, _| Kind::Slider {
            stops: vec![1.0, 2.0, 3.0, 5.0, 8.0, 10.0, 20.0],
            range: Range::whole(1.0, MOST_REPLICATES as f64),
            unset: None,
        },
        |spec: &Spec, _| Value::Number(spec.probe.count() as f64),
        |spec, _, value| {
            spec.probe.replicates = number(&value).map(|k| k as usize).or(spec.probe.replicates);
            Ok(())
        },
    )
}

fn training_seed() -> Setting<Spec> {
    Setting::new(
        "probe.seed",
        "their seed",
        "The seed of training: weights, batches, and what methods draw. Data and split stay as they are.",
        |_, _| Kind::Integer(Range::whole(0.0, MAX_SEED)),
        |spec: &Spec, _| Value::Number(spec.probe.training_seed() as f64),
        |spec, _, value| {
            spec.probe.seed = Some(number(&value).unwrap_or_default() as u64);
            Ok(())
        },
    )
}

fn level() -> Setting<Spec> {
    Setting::new(
        "interval.level",
        "Level",
        "Level of the intervals.",
        |_, _| Kind::Slider {
            stops: vec![0.8, 0.9, 0.95, 0.99],
            range: Range::real(0.5, 0.9999),
            unset: None,
        },
        |spec: &Spec, _| Value::Number(spec.interval.level),
        |spec, _, value| {
            spec.interval.level = number(&value).unwrap_or(spec.interval.level);
            Ok(())
        },
    )
    .shown(|spec, _| crate::base::numbers::score(spec.interval.level))
}

fn seed() -> Setting<Spec> {
    Setting::new(
        "seed",
        "Seed",
        "The seed of the data: examples, split, resamples.",
        |_, _| Kind::Integer(Range::whole(0.0, MAX_SEED)),
        |spec: &Spec, _| Value::Number(spec.seed as f64),
        |spec, _, value| {
            spec.seed = number(&value).unwrap_or_default() as u64;
            Ok(())
        },
    )
}

/// An option of a method. A value equal to the default leaves the spec, so that it says nothing needless.
fn option(method: &'static str, nth: usize, of: &'static MethodOption) -> Setting<Spec> {
    let range = Range { min: of.min, max: of.max, whole: of.kind != SettingKind::Real };
    let value = move |spec: &Spec| {
        let set = nth_of(spec, method, nth).and_then(|i| spec.methods[i].options.get(of.name));
        set.copied().unwrap_or(of.default)
    };
    let flag = of.kind == SettingKind::Flag;
    Setting::new(
        option_key(method, of.name),
        of.label,
        of.doc,
        move |_, _| match flag {
            true => Kind::Choice(["no", "yes"].map(String::from).to_vec()),
            false => Kind::Slider { stops: stops(range, of.default), range, unset: None },
        },
        move |spec: &Spec, _| match flag {
            true => Value::Choice(Some(usize::from(value(spec) != 0.0))),
            false => Value::Number(value(spec)),
        },
        move |spec, _, new| {
            let new = number(&new).or(choice(&new).map(|i| i as f64)).unwrap_or(of.default);
            if let Some(i) = nth_of(spec, method, nth) {
                let options = &mut spec.methods[i].options;
                if new == of.default {
                    options.remove(of.name);
                } else {
                    options.insert(of.name.into(), new);
                }
            }
            Ok(())
        },
    )
}

#[cfg(test)]
mod tests;
