//! The fields of a spec of this lab as settings: one row per parameter, those of the two sides by one function.

use super::bound::Bound;
use super::spec::{GRIDS, SIZES, SideSpec, Spec};
use crate::base::numbers::short;
use crate::base::text::{last_part, shortened};
use crate::corpus::probing::PROBING;
use crate::lab::layer::LayerRef;
use crate::lab::setting::rows::{level, row, seed};
use crate::lab::setting::{Kind, Known, Range, Setting, Value};
use crate::model::PoolOver;
use crate::stats::mcnemar::Test;

/// Classifiers that can be picked; others can be written into a spec.
const CLASSIFIERS: [&str; 4] = ["logistic", "mlp:20", "mlp:64", "mlp:256"];
/// Standard deviations of the paper's study of noise.
pub const NOISES: [f64; 6] = [0.01, 0.03, 0.1, 0.3, 1.0, 3.0];
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
            corrupted(first),
            results(first),
        ]);
    }
    all.extend([
        filter(),
        metric(),
        grid(),
        seeds(),
        also(),
        alpha(),
        by(),
        target(),
        margin(),
        bound(),
        level(),
        planned_items(),
    ]);
    all.push(seed("The seed from which every random stream of the run is derived."));
    all
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
    row("task.name", "Task", "The property of sentences that probes are asked for.").one_of(
        PROBING,
        |task| task.id.replace('_', " "),
        |s: &Spec, task| s.task.name == task.id,
        |s, task| s.task.name = task.id.into(),
    )
}

fn data() -> Setting<Spec> {
    row("task.data", "Data", "A file of labelled sentences in place of generated ones.").file(
        "built in",
        |s: &Spec| s.task.data.clone(),
        |s, path| {
            s.task.data = path;
            // What is typed is relative to where the program runs.
            s.task.base = std::path::PathBuf::new();
        },
    )
}

/// The largest size; the others are its quarters.
fn sizes() -> Setting<Spec> {
    let help =
        "Training sentences of each class in the largest step; earlier steps have a quarter of the next.";
    row("task.sizes", "Train", help).count(
        &[64, 256, 1_024, 4_096, 16_384],
        SIZES.0..=SIZES.1,
        |s: &Spec| s.task.sizes.last().copied().unwrap_or(64),
        |s, largest| {
            let quarter = |size: &usize| Some(size / 4).filter(|size| *size >= 64);
            s.task.sizes = std::iter::successors(Some(largest), quarter).collect();
            s.task.sizes.reverse();
        },
    )
}

fn encoders(spec: &Spec, known: &Known) -> Vec<String> {
    let twins = known.models.iter().filter(|m| m.layers > 0).map(|m| format!("untrained:{}", m.name));
    let twins: Vec<String> = twins.collect();
    let mut names: Vec<String> = known.models.iter().map(|m| m.name.clone()).collect();
    names.extend(twins);
    let more: Vec<String> = spec.models.iter().filter(|m| !names.contains(m)).cloned().collect();
    names.extend(more);
    names
}

fn encoder(first: bool) -> Setting<Spec> {
    Setting::new(
        key(first, "encoder"),
        label(first, "model"),
        "The model whose vectors this side reads; an untrained twin has its shape and fresh parameters.",
        |spec, known| Kind::Choice(encoders(spec, known)),
        move |spec: &Spec, known| {
            Value::Choice(encoders(spec, known).iter().position(|n| n == spec.encoder(first)))
        },
        move |spec, known, value| {
            let names = encoders(spec, known);
            let Some(name) = value.choice().and_then(|i| names.get(i)) else { return Ok(()) };
            let mut both = [spec.encoder(true).to_owned(), spec.encoder(false).to_owned()];
            both[usize::from(!first)] = name.clone();
            // After files of results neither side has an encoder.
            if both[usize::from(first)].is_empty() {
                both[usize::from(first)] = name.clone();
            }
            spec.models = both.to_vec();
            // One name stands for both sides.
            spec.models.dedup();
            (spec.a.results, spec.b.results) = (Vec::new(), Vec::new());
            Ok(())
        },
    )
    .shown(move |spec, _| match spec.encoder(first) {
        "" => "none: results from a file".into(),
        name => shortened(name, 40),
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
            let layer = value.number().unwrap_or_default() as usize;
            side_mut(spec, first).layer = if layer == most { LayerRef::Last } else { LayerRef::At(layer) };
            Ok(())
        },
    )
    .shown(move |spec, _| spec.side(first).layer.to_string())
}

fn pooling(first: bool) -> Setting<Spec> {
    let help = "How token vectors become one; the model's own way is the mean for most.";
    row(key(first, "pooling"), label(first, "pool"), help).one_of(
        &POOLINGS,
        |p| p.map_or("own".to_owned(), |p| p.to_string()),
        move |s: &Spec, p| s.side(first).pooling == *p,
        move |s, p| side_mut(s, first).pooling = *p,
    )
}

fn classifier(first: bool) -> Setting<Spec> {
    let help = "What is trained on the vectors: logistic regression, or a perceptron with one hidden layer.";
    row(key(first, "classifier"), label(first, "probe"), help)
        .one_of(
            &CLASSIFIERS,
            |c| (*c).to_owned(),
            move |s: &Spec, c| s.side(first).classifier == *c,
            move |s, c| side_mut(s, first).classifier = (*c).to_owned(),
        )
        .shown(move |s, _| s.side(first).classifier.clone())
}

fn noise(first: bool) -> Setting<Spec> {
    let help = "Standard deviation of Gaussian noise on every vector (Zhu et al., Figure 3).";
    row(key(first, "noise"), label(first, "noise"), help).number(
        &[0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0],
        Range::real(0.0, 1e6),
        move |s: &Spec| s.side(first).noise,
        move |s, noise| side_mut(s, first).noise = noise,
    )
}

fn corrupted(first: bool) -> Setting<Spec> {
    let help = "Steps of training on shuffled words before the encoder is read (Zhu et al., Table 2: 200).";
    row(key(first, "corrupted"), label(first, "spoil"), help).count(
        &[0, 50, 100, 200, 500],
        0..=20_000,
        move |s: &Spec| s.side(first).corrupted,
        move |s, steps| side_mut(s, first).corrupted = steps,
    )
}

fn also() -> Setting<Spec> {
    let names =
        || ["code length (mdl)", "control task", "six folds", "noise on B"].map(String::from).to_vec();
    Setting::new(
        "also",
        "Also",
        "What is measured beside the comparison. Code lengths are prequential and variational.",
        move |_, _| Kind::Marks(names()),
        |s: &Spec, _| {
            let a = &s.also;
            Value::Marks(vec![a.mdl, a.control, a.folds, !a.noise.is_empty()])
        },
        |s, _, value| {
            let Value::Marks(on) = value else { return Ok(()) };
            let is = |i: usize| on.get(i).copied().unwrap_or(false);
            (s.also.mdl, s.also.control, s.also.folds) = (is(0), is(1), is(2));
            match (is(3), s.also.noise.is_empty()) {
                (true, true) => s.also.noise = NOISES.to_vec(),
                (false, false) => s.also.noise.clear(),
                _ => {}
            }
            Ok(())
        },
    )
}

fn results(first: bool) -> Setting<Spec> {
    let help = "A file of results in place of a probe: lm-evaluation-harness samples, BEAR, JSON lines or CSV; several seeds with commas between. Both sides need one.";
    let shown = move |s: &Spec| match s.side(first).results.as_slice() {
        [] => "none".to_owned(),
        [one] => last_part(one).to_owned(),
        [one, more @ ..] => format!("{} +{}", last_part(one), more.len()),
    };
    row(key(first, "results"), label(first, "file"), help)
        .file(
            "none",
            move |s: &Spec| Some(s.side(first).results.join(", ")).filter(|names| !names.is_empty()),
            move |s, path| {
                let names = path.as_deref().unwrap_or_default().split(',').map(str::trim);
                side_mut(s, first).results = names.filter(|n| !n.is_empty()).map(str::to_owned).collect();
                s.task.base = std::path::PathBuf::new();
                if !s.a.results.is_empty() || !s.b.results.is_empty() {
                    s.models = Vec::new();
                } else if s.models.is_empty() {
                    s.models = Spec::shipped().models;
                }
            },
        )
        .shown(move |s, _| shown(s))
}

fn filter() -> Setting<Spec> {
    let help = "Of results from files: the filter of lm-evaluation-harness, where a file has several.";
    row("test.filter", "Filter", help).text(
        "any",
        |s: &Spec| s.test.filter.clone(),
        |s, filter| s.test.filter = filter,
    )
}

fn metric() -> Setting<Spec> {
    let help = "Of results from files: the metric; the first one unless it is named.";
    row("test.metric", "Metric", help).text(
        "first",
        |s: &Spec| s.test.metric.clone(),
        |s, metric| s.test.metric = metric,
    )
}

fn grid() -> Setting<Spec> {
    let help = "Settings of training: the paper's 20 (five learning rates, four batches), or 4 of them.";
    row("training.grid", "Grid", help).one_of(
        &GRIDS,
        |g| (*g).to_owned(),
        |s: &Spec, g| s.training.grid == *g,
        |s, g| s.training.grid = (*g).to_owned(),
    )
}

fn seeds() -> Setting<Spec> {
    let help = "Trainings of each side with seeds of their own; the paper has five.";
    row("training.seeds", "Seeds", help).count(
        &[1, 3, 5, 7, 9],
        1..=50,
        |s: &Spec| s.training.seeds,
        |s, n| s.training.seeds = n,
    )
}

fn alpha() -> Setting<Spec> {
    row("test.alpha", "α", "Level of the test, two-sided.").number(
        &[0.001, 0.005, 0.01, 0.05, 0.1],
        Range::real(1e-6, 0.5),
        |s: &Spec| s.test.alpha,
        |s, x| s.test.alpha = x,
    )
}

fn by() -> Setting<Spec> {
    let help = "McNemar's test that counts for one run of each side, and whose power is computed; seeds and clusters take the paired t.";
    row("test.by", "Test", help).one_of(
        &Test::ALL,
        |t| t.key().to_owned(),
        |s: &Spec, t| s.test.by == *t,
        |s, t| s.test.by = *t,
    )
}

fn planned_items() -> Setting<Spec> {
    let help = "Of a plan: test items after which it counts or, where it may stop early, beyond which it does not look.";
    row("plan.n", "Plan n", help).count_or(
        "all items",
        &[32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384],
        1..=1_000_000_000,
        |s: &Spec| s.plan.as_ref().and_then(|plan| plan.n),
        |s, n| s.plan.iter_mut().for_each(|plan| plan.n = n),
    )
}

fn target() -> Setting<Spec> {
    row("test.target", "power", "The power that is wanted; .8 in Card et al. and Zhu et al.").number(
        &[0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99],
        Range::real(0.05, 0.999),
        |s: &Spec| s.test.target,
        |s, x| s.test.target = x,
    )
}

fn margin() -> Setting<Spec> {
    row("test.margin", "margin", "Differences within this are as good as none (equivalence).").number(
        &[0.005, 0.01, 0.02, 0.03, 0.05, 0.1],
        Range::real(1e-6, 1.0),
        |s: &Spec| s.test.margin,
        |s, x| s.test.margin = x,
    )
}

fn bound() -> Setting<Spec> {
    let help = "The bound that recommends training examples: as the paper's tables are made, or as textbooks have it.";
    row("test.bound", "Bound", help)
        .one_of(
            &[Bound::Published, Bound::Textbook],
            |b| b.name().to_owned(),
            |s: &Spec, b| s.test.bound == *b,
            |s, b| s.test.bound = *b,
        )
        .shown(|s, _| match s.test.bound {
            Bound::Own(constant) => format!("own: n = {} / ε²", short(constant)),
            bound => bound.name().to_owned(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::power::plan::{Hypothesis, Plan, Stop};
    use crate::lab::setting::KnownModel;
    use crate::lab::spec::LabSpec;

    #[test]
    fn every_step_of_every_row_leaves_a_spec_that_can_run() {
        let known = Known { models: vec![KnownModel { name: "bert-mini".into(), layers: 4 }] };
        for setting in settings() {
            let plan = Plan { hypothesis: Hypothesis::Differ, n: None, stop: Stop::AtN };
            let mut spec = Spec { plan: Some(plan), ..Spec::shipped() };
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

    /// The bug: a model chosen for one side after files of results left the other side with an encoder of no name.
    #[test]
    fn a_model_chosen_after_files_stands_on_both_sides() {
        let known = Known { models: vec![KnownModel { name: "bert-mini".into(), layers: 4 }] };
        let rows = settings();
        let row = |key: &str| rows.iter().find(|r| r.key == key).unwrap();
        for side in ["a.encoder", "b.encoder"] {
            let mut spec = Spec::shipped();
            row("a.results").set(&mut spec, &known, Value::Text("x.jsonl".into())).unwrap();
            row("b.results").set(&mut spec, &known, Value::Text("y.jsonl".into())).unwrap();
            row(side).set(&mut spec, &known, Value::Choice(Some(0))).unwrap();
            assert_eq!(spec.models, ["bert-mini"], "{side}");
            spec.check("x").unwrap();
        }
    }

    /// The bug: a spec with several files a side lost all but the first when its row was edited.
    #[test]
    fn several_seeds_are_several_files_of_a_row() {
        let (known, rows) = (Known::default(), settings());
        let row = |key: &str| rows.iter().find(|r| r.key == key).unwrap();
        let mut spec = Spec::shipped();
        row("a.results")
            .set(&mut spec, &known, Value::Text("x/1.jsonl, x/2.jsonl,x/3.jsonl".into()))
            .unwrap();
        assert_eq!(spec.a.results, ["x/1.jsonl", "x/2.jsonl", "x/3.jsonl"]);
        let now = row("a.results").get(&spec, &known);
        assert_eq!(now, Value::Text("x/1.jsonl, x/2.jsonl, x/3.jsonl".into()));
        row("a.results").set(&mut spec, &known, now).unwrap();
        assert_eq!((spec.a.results.len(), row("a.results").text(&spec, &known).as_str()), (3, "1.jsonl +2"));
    }
}
