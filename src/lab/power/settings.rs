//! The fields of a spec of this lab as settings: one row a parameter, those of the two sides by one function.

use super::bound::Bound;
use super::spec::{GRIDS, SideSpec, Spec};
use crate::corpus::probing::PROBING;
use crate::lab::layer::LayerRef;
use crate::lab::setting::{Kind, Known, Range, Setting, SettingError, Value};
use crate::model::PoolOver;

/// Largest seed that can be typed: beyond it a float no longer holds every integer.
const MAX_SEED: f64 = 9_007_199_254_740_992.0;
/// Classifiers that can be picked; others can be written into a spec.
const CLASSIFIERS: [&str; 4] = ["logistic", "mlp:20", "mlp:64", "mlp:256"];
/// Poolings that can be picked; none is the model's own.
const POOLINGS: [Option<PoolOver>; 6] = [
    None,
    Some(PoolOver::Mean),
    Some(PoolOver::First),
    Some(PoolOver::Max),
    Some(PoolOver::Last),
    Some(PoolOver::Pooler),
];

/// All fields, in the order of the setup pane.
#[must_use]
pub fn settings() -> Vec<Setting<Spec>> {
    let mut all = vec![task(), data(), sizes()];
    for first in [true, false] {
        all.extend([
            encoder(first),
            layer(first),
            pooling(first),
            classifier(first),
            noise(first),
            results(first),
        ]);
    }
    all.extend([filter(), metric(), grid(), seeds(), alpha(), target(), margin(), bound(), level(), seed()]);
    all
}

fn number(value: &Value) -> Option<f64> {
    if let Value::Number(x) = value { Some(*x) } else { None }
}

fn choice(value: &Value) -> Option<usize> {
    if let Value::Choice(i) = value { *i } else { None }
}

fn text(value: Value) -> Option<String> {
    if let Value::Text(t) = value { Some(t) } else { None }
}

fn side_mut(spec: &mut Spec, first: bool) -> &mut SideSpec {
    if first { &mut spec.a } else { &mut spec.b }
}

fn key(first: bool, field: &str) -> String {
    format!("{}.{field}", if first { "a" } else { "b" })
}

fn label(first: bool, word: &str) -> String {
    format!("{} {word}", if first { "A" } else { "B" })
}

fn task() -> Setting<Spec> {
    Setting::new(
        "task.name",
        "Task",
        "The property of sentences that probes are asked for.",
        |_, _| Kind::Choice(PROBING.iter().map(|t| t.id.replace('_', " ")).collect()),
        |spec: &Spec, _| Value::Choice(PROBING.iter().position(|t| t.id == spec.task.name)),
        |spec, _, value| {
            if let Some(task) = choice(&value).and_then(|i| PROBING.get(i)) {
                spec.task.name = task.id.into();
            }
            Ok(())
        },
    )
}

fn data() -> Setting<Spec> {
    Setting::new(
        "task.data",
        "Data",
        "A file of labelled sentences in place of generated ones.",
        |_, _| Kind::File("built in"),
        |spec: &Spec, _| spec.task.data.clone().map_or(Value::Unset, Value::Text),
        |spec, _, value| {
            spec.task.data = text(value);
            // What is typed is relative to where the program runs.
            spec.task.base = std::path::PathBuf::new();
            Ok(())
        },
    )
    .shown(|spec, _| file_name(spec.task.data.as_deref().unwrap_or("built in")))
}

/// Of a path the name of the file says most, and there is little room.
fn file_name(path: &str) -> String {
    path.rsplit(['/', '\\']).next().unwrap_or(path).to_owned()
}

/// The largest size; the others are its quarters.
fn sizes() -> Setting<Spec> {
    let stops = [64, 256, 1_024, 4_096, 16_384];
    Setting::new(
        "task.sizes",
        "Pilot",
        "Training sentences of each class in the largest step; earlier steps have a quarter of the next.",
        move |_, _| Kind::Slider {
            stops: stops.map(f64::from).to_vec(),
            range: Range::whole(super::spec::SIZES.0 as f64, super::spec::SIZES.1 as f64),
            unset: None,
        },
        |spec: &Spec, _| Value::Number(spec.task.sizes.last().copied().unwrap_or(64) as f64),
        |spec, _, value| {
            let mut size = number(&value).unwrap_or(64.0) as usize;
            let mut sizes = vec![size];
            while size / 4 >= 64 {
                size /= 4;
                sizes.insert(0, size);
            }
            spec.task.sizes = sizes;
            Ok(())
        },
    )
}

fn encoders(spec: &Spec, known: &Known) -> Vec<String> {
    let mut names: Vec<String> = known.models.iter().map(|m| m.name.clone()).collect();
    names.extend(known.models.iter().filter(|m| m.layers > 0).map(|m| format!("untrained:{}", m.name)));
    let more: Vec<String> = spec.models.iter().filter(|m| !names.contains(m)).cloned().collect();
    names.extend(more);
    names
}

fn encoder(first: bool) -> Setting<Spec> {
    Setting::new(
        key(first, "encoder"),
        label(first, "encoder"),
        "The model whose vectors this side reads; an untrained twin has its shape and fresh parameters.",
        |spec, known| Kind::Choice(encoders(spec, known)),
        move |spec: &Spec, known| {
            Value::Choice(encoders(spec, known).iter().position(|n| n == spec.encoder(first)))
        },
        move |spec, known, value| {
            let names = encoders(spec, known);
            let Some(name) = choice(&value).and_then(|i| names.get(i)) else { return Ok(()) };
            let mut both = [spec.encoder(true).to_owned(), spec.encoder(false).to_owned()];
            both[usize::from(!first)] = name.clone();
            spec.models = both.to_vec();
            (spec.a.results, spec.b.results) = (Vec::new(), Vec::new());
            Ok(())
        },
    )
    .shown(move |spec, _| match spec.encoder(first) {
        "" => "results".into(),
        name => crate::base::text::shortened(name, 40),
    })
}

fn layer(first: bool) -> Setting<Spec> {
    let layers = move |spec: &Spec, known: &Known| {
        let name = spec.encoder(first).trim_start_matches("untrained:").to_owned();
        known.layers(&[name]).unwrap_or(12)
    };
    Setting::new(
        key(first, "layer"),
        label(first, "layer"),
        "The layer whose vectors are read; 0 for the embeddings.",
        move |spec, known| {
            let most = layers(spec, known);
            let stops = (0..=most).map(|l| l as f64).collect();
            Kind::Slider { stops, range: Range::whole(0.0, most as f64), unset: None }
        },
        move |spec: &Spec, known| match spec.side(first).layer {
            LayerRef::Last => Value::Number(layers(spec, known) as f64),
            LayerRef::At(l) => Value::Number(l as f64),
        },
        move |spec, known, value| {
            let most = layers(spec, known);
            let layer = number(&value).unwrap_or_default() as usize;
            side_mut(spec, first).layer = if layer == most { LayerRef::Last } else { LayerRef::At(layer) };
            Ok(())
        },
    )
    .shown(move |spec, _| match spec.side(first).layer {
        LayerRef::Last => "last".into(),
        LayerRef::At(l) => l.to_string(),
    })
}

fn pooling(first: bool) -> Setting<Spec> {
    let word = |p: &Option<PoolOver>| p.map_or("own".to_owned(), |p| p.to_string());
    Setting::new(
        key(first, "pooling"),
        label(first, "pooling"),
        "How token vectors become one; the model's own way is the mean for most.",
        move |_, _| Kind::Choice(POOLINGS.iter().map(word).collect()),
        move |spec: &Spec, _| Value::Choice(POOLINGS.iter().position(|p| *p == spec.side(first).pooling)),
        move |spec, _, value| {
            if let Some(pooling) = choice(&value).and_then(|i| POOLINGS.get(i)) {
                side_mut(spec, first).pooling = *pooling;
            }
            Ok(())
        },
    )
}

fn classifier(first: bool) -> Setting<Spec> {
    Setting::new(
        key(first, "classifier"),
        label(first, "probe"),
        "What is trained on the vectors: logistic regression, or a perceptron with one hidden layer.",
        |_, _| Kind::Choice(CLASSIFIERS.map(String::from).to_vec()),
        move |spec: &Spec, _| {
            Value::Choice(CLASSIFIERS.iter().position(|c| *c == spec.side(first).classifier))
        },
        move |spec, _, value| {
            if let Some(name) = choice(&value).and_then(|i| CLASSIFIERS.get(i)) {
                side_mut(spec, first).classifier = (*name).into();
            }
            Ok(())
        },
    )
    .shown(move |spec, _| spec.side(first).classifier.clone())
}

fn noise(first: bool) -> Setting<Spec> {
    Setting::new(
        key(first, "noise"),
        label(first, "noise σ"),
        "Standard deviation of Gaussian noise on every vector (Zhu et al., Figure 3).",
        |_, _| Kind::Slider {
            stops: vec![0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0],
            range: Range::real(0.0, 1e6),
            unset: None,
        },
        move |spec: &Spec, _| Value::Number(spec.side(first).noise),
        move |spec, _, value| {
            side_mut(spec, first).noise = number(&value).unwrap_or_default();
            Ok(())
        },
    )
}

fn results(first: bool) -> Setting<Spec> {
    Setting::new(
        key(first, "results"),
        label(first, "results"),
        "A file of results in place of a probe: lm-evaluation-harness samples, BEAR, JSON lines or CSV. Both sides need one.",
        |_, _| Kind::File("none"),
        move |spec: &Spec, _| spec.side(first).results.first().cloned().map_or(Value::Unset, Value::Text),
        move |spec, _, value| {
            side_mut(spec, first).results = text(value).into_iter().collect();
            spec.task.base = std::path::PathBuf::new();
            if spec.a.results.is_empty() && spec.b.results.is_empty() {
                if spec.models.is_empty() {
                    spec.models = Spec::shipped().models;
                }
            } else {
                spec.models = Vec::new();
            }
            Ok(())
        },
    )
    .shown(move |spec, _| file_name(spec.side(first).results.first().map_or("none", String::as_str)))
}

fn filter() -> Setting<Spec> {
    Setting::new(
        "test.filter",
        "Filter",
        "Of results from files: the filter of lm-evaluation-harness, where a file has several.",
        |_, _| Kind::Text("any"),
        |spec: &Spec, _| spec.test.filter.clone().map_or(Value::Unset, Value::Text),
        |spec, _, value| {
            spec.test.filter = text(value);
            Ok(())
        },
    )
}

fn metric() -> Setting<Spec> {
    Setting::new(
        "test.metric",
        "Metric",
        "Of results from files: the metric; the first one unless it is named.",
        |_, _| Kind::Text("first"),
        |spec: &Spec, _| spec.test.metric.clone().map_or(Value::Unset, Value::Text),
        |spec, _, value| {
            spec.test.metric = text(value);
            Ok(())
        },
    )
}

fn grid() -> Setting<Spec> {
    Setting::new(
        "training.grid",
        "Grid",
        "Settings of training: the paper's 20 (five learning rates, four batches), or 4 of them.",
        |_, _| Kind::Choice(GRIDS.map(String::from).to_vec()),
        |spec: &Spec, _| Value::Choice(GRIDS.iter().position(|g| *g == spec.training.grid)),
        |spec, _, value| {
            if let Some(grid) = choice(&value).and_then(|i| GRIDS.get(i)) {
                spec.training.grid = (*grid).into();
            }
            Ok(())
        },
    )
}

fn seeds() -> Setting<Spec> {
    Setting::new(
        "training.seeds",
        "Seeds",
        "Trainings of each side with seeds of their own; the paper has five.",
        |_, _| Kind::Slider {
            stops: vec![1.0, 3.0, 5.0, 7.0, 9.0],
            range: Range::whole(1.0, 50.0),
            unset: None,
        },
        |spec: &Spec, _| Value::Number(spec.training.seeds as f64),
        |spec, _, value| {
            spec.training.seeds = number(&value).unwrap_or(1.0) as usize;
            Ok(())
        },
    )
}

/// A number of the test that questions can change while results stay.
fn share(
    (key, label, help): (&'static str, &'static str, &'static str),
    stops: &'static [f64],
    (lo, hi): (f64, f64),
    field: fn(&mut Spec) -> &mut f64,
) -> Setting<Spec> {
    Setting::new(
        key,
        label,
        help,
        move |_, _| Kind::Slider { stops: stops.to_vec(), range: Range::real(lo, hi), unset: None },
        move |spec: &Spec, _| Value::Number(*field(&mut spec.clone())),
        move |spec, _, value| match number(&value) {
            Some(x) => {
                *field(spec) = x;
                Ok(())
            }
            None => Err(SettingError::NoNumber),
        },
    )
}

fn alpha() -> Setting<Spec> {
    let words = ("test.alpha", "α", "Level of the test, two-sided.");
    share(words, &[0.001, 0.005, 0.01, 0.05, 0.1], (1e-6, 0.5), |s| &mut s.test.alpha)
}

fn target() -> Setting<Spec> {
    let words = ("test.target", "power", "The power that is wanted; .8 in Card et al. and Zhu et al.");
    share(words, &[0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99], (0.05, 0.999), |s| &mut s.test.target)
}

fn margin() -> Setting<Spec> {
    let words = ("test.margin", "margin", "Differences within this are as good as none (equivalence).");
    share(words, &[0.005, 0.01, 0.02, 0.03, 0.05, 0.1], (1e-6, 1.0), |s| &mut s.test.margin)
}

fn level() -> Setting<Spec> {
    let words = ("interval.level", "Level", "Level of the intervals.");
    share(words, &[0.8, 0.9, 0.95, 0.99], (0.5, 0.9999), |s| &mut s.interval.level)
}

fn bound() -> Setting<Spec> {
    const BOUNDS: [Bound; 2] = [Bound::Published, Bound::Textbook];
    Setting::new(
        "test.bound",
        "Bound",
        "The bound that recommends training examples: as the paper's tables are made, or as textbooks have it.",
        |_, _| Kind::Choice(BOUNDS.map(|b| b.name().to_owned()).to_vec()),
        |spec: &Spec, _| Value::Choice(BOUNDS.iter().position(|b| *b == spec.test.bound)),
        |spec, _, value| {
            if let Some(bound) = choice(&value).and_then(|i| BOUNDS.get(i)) {
                spec.test.bound = *bound;
            }
            Ok(())
        },
    )
}

fn seed() -> Setting<Spec> {
    Setting::new(
        "seed",
        "Seed",
        "The seed from which every random stream of the run is derived.",
        |_, _| Kind::Integer(Range::whole(0.0, MAX_SEED)),
        |spec: &Spec, _| Value::Number(spec.seed as f64),
        |spec, _, value| {
            spec.seed = number(&value).unwrap_or_default() as u64;
            Ok(())
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::setting::KnownModel;
    use crate::lab::spec::LabSpec;

    #[test]
    fn every_step_of_every_row_leaves_a_spec_that_can_run() {
        let known = Known { models: vec![KnownModel { name: "bert-mini".into(), layers: 4 }] };
        for setting in settings() {
            let mut spec = Spec::shipped();
            let values: Vec<Value> = match setting.kind(&spec, &known) {
                Kind::Slider { stops, .. } => stops.into_iter().map(Value::Number).collect(),
                Kind::Choice(names) => (0..names.len()).map(|i| Value::Choice(Some(i))).collect(),
                Kind::Integer(_) => vec![Value::Number(7.0)],
                _ => continue,
            };
            for value in values {
                setting.set(&mut spec, &known, value.clone()).unwrap();
                assert_eq!(setting.get(&spec, &known), value, "{}", setting.key);
                spec.check("x").unwrap_or_else(|e| panic!("{}: {e}", setting.key));
            }
        }
    }

    #[test]
    fn files_of_results_take_the_place_of_encoders_and_give_it_back() {
        let known = Known::default();
        let rows = settings();
        let row = |key: &str| rows.iter().find(|r| r.key == key).unwrap();
        let mut spec = Spec::shipped();
        row("a.results").set(&mut spec, &known, Value::Text("x.jsonl".into())).unwrap();
        assert!(spec.models.is_empty() && spec.check("x").is_err());
        row("b.results").set(&mut spec, &known, Value::Text("y.jsonl".into())).unwrap();
        spec.check("x").unwrap();
        row("a.results").set(&mut spec, &known, Value::Unset).unwrap();
        row("b.results").set(&mut spec, &known, Value::Unset).unwrap();
        spec.check("x").unwrap();
        assert_eq!(spec.models, Spec::shipped().models);
    }
}
