//! The rows of a side. Each row of the second side is shown next to the same row of the first.

use super::super::spec::{SideSpec, Spec};
use base::text::{last_part, shortened};
use corpus::probing::PROBING;
use lab::layer::LayerRef;
use lab::setting::rows::{row, typed};
use lab::setting::{Kind, Known, Range, Setting, Value};
use model::PoolOver;

/// All rows of a side, in the order of the setup pane.
pub(crate) fn of(first: bool) -> Vec<Setting<Spec>> {
    vec![
        own_task(first),
        encoder(first),
        layer(first),
        pooling(first),
        classifier(first),
        noise(first),
        corrupted(first),
        corrupted_text(first),
        results(first),
    ]
}

/// Classifiers that can be selected; a spec may contain others.
const CLASSIFIERS: [&str; 4] = ["logistic", "mlp:20", "mlp:64", "mlp:256"];

/// Poolings that can be selected; `None` is the model's own.
const POOLINGS: [Option<PoolOver>; 6] = [
    None,
    Some(PoolOver::Mean),
    Some(PoolOver::First),
    Some(PoolOver::Max),
    Some(PoolOver::Last),
    Some(PoolOver::Pooler),
];

/// Shown for a side that has the common task.
const SHARED: &str = "the shared task";

fn side_mut(spec: &mut Spec, first: bool) -> &mut SideSpec {
    if first { &mut spec.a } else { &mut spec.b }
}

fn key(first: bool, field: &str) -> String {
    format!("{}.{field}", if first { "a" } else { "b" })
}

fn label(first: bool, word: &str) -> String {
    format!("{} {word}", if first { "A" } else { "B" })
}

/// A separate task for a side; the first entry is the common task.
fn own_task(first: bool) -> Setting<Spec> {
    let names = || {
        let own = PROBING.iter().map(|t| t.id.replace('_', " "));
        std::iter::once(SHARED.to_owned()).chain(own).collect::<Vec<_>>()
    };
    Setting::new(
        key(first, "task"),
        label(first, "task"),
        "A separate task for this side; its sentences are different items, so the comparison is then unpaired.",
        move |_, _| Kind::Choice(names()),
        move |spec: &Spec, _| {
            let own = spec.side(first).task.as_ref();
            Value::Choice(own.map_or(Some(0), |own| PROBING.iter().position(|t| t.id == own).map(|i| i + 1)))
        },
        move |spec, _, value| {
            let at = value.choice().unwrap_or(0);
            let side = side_mut(spec, first);
            side.task = at.checked_sub(1).and_then(|i| PROBING.get(i)).map(|t| t.id.to_owned());
            side.data = None;
            Ok(())
        },
    )
    .shown(move |spec, _| match &spec.side(first).data {
        Some(data) => last_part(data).to_owned(),
        None => spec.side(first).task.as_ref().map_or(SHARED.into(), |task| task.replace('_', " ")),
    })
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
        "The model that supplies this side's vectors; an untrained one has the same architecture with random \
         parameters.",
        |spec, known| Kind::Choice(encoders(spec, known)),
        move |spec: &Spec, known| Value::Choice(encoders(spec, known).iter().position(|n| n == spec.encoder(first))),
        move |spec, known, value| {
            let names = encoders(spec, known);
            let Some(name) = value.choice().and_then(|i| names.get(i)) else { return Ok(()) };
            let mut both = [spec.encoder(true).to_owned(), spec.encoder(false).to_owned()];
            // Each model is followed by its untrained copy.
            let copy = format!("untrained:{name}");
            if first && both[1] == format!("untrained:{}", both[0]) && names.contains(&copy) {
                both[1] = copy;
            }
            both[usize::from(!first)] = name.clone();
            // When results come from files, neither side has an encoder.
            if both[usize::from(first)].is_empty() {
                both[usize::from(first)] = name.clone();
            }
            spec.models = both.to_vec();
            // A single name applies to both sides.
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
        "Layer of the vectors; 0 for the embeddings.",
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
    let help = "Pooling of token vectors into one; the default of most models is the mean.";
    row(key(first, "pooling"), label(first, "vector"), help).one_of(
        &POOLINGS,
        |p| p.map_or("model's own".to_owned(), |p| p.to_string()),
        move |s: &Spec, p| s.side(first).pooling == *p,
        move |s, p| side_mut(s, first).pooling = *p,
    )
}

fn classifier(first: bool) -> Setting<Spec> {
    let help = "Classifier trained on the vectors; it is logistic regression, or a perceptron with one hidden layer.";
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
    let help = "Standard deviation of Gaussian noise on every vector; see Figure 3 of Zhu et al.";
    row(key(first, "noise"), label(first, "noise"), help).number(
        &[0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0],
        Range::real(0.0, 1e6),
        move |s: &Spec| s.side(first).noise,
        move |s, noise| side_mut(s, first).noise = noise,
    )
}

fn corrupted(first: bool) -> Setting<Spec> {
    let help = "Training steps on shuffled words before the vectors are computed; 200 in Table 2 of Zhu et al.";
    row(key(first, "corrupted"), label(first, "corruption"), help).count(
        &[0, 50, 100, 200, 500],
        0..=20_000,
        move |s: &Spec| s.side(first).corrupted,
        move |s, steps| {
            let side = side_mut(s, first);
            side.corrupted = steps;
            side.corrupted_text = side.corrupted_text.take().filter(|_| steps > 0);
            if s.a.corrupted + s.b.corrupted == 0 {
                s.corruption = Default::default();
            }
        },
    )
}

fn corrupted_text(first: bool) -> Setting<Spec> {
    let help = "A text file with one sentence per line. Its words are shuffled.";
    row(key(first, "corrupted_text"), label(first, "shuffled text"), help).file(
        "built in",
        move |s: &Spec| s.side(first).corrupted_text.clone(),
        move |s, path| {
            let path = path.map(|p| typed(&s.task.base, p));
            let side = side_mut(s, first);
            // Corruption text has no effect without steps, so the paper's number of steps is set.
            if path.is_some() && side.corrupted == 0 {
                side.corrupted = 200;
            }
            side.corrupted_text = path;
        },
    )
}

fn results(first: bool) -> Setting<Spec> {
    let help = "Results that replace a probe; give a file from any harness that `probity compare` supports, several such files (one per seed) separated by commas, or a folder with results by task. Several folders are several systems. Set this for both sides.";
    let shown = move |s: &Spec| match s.side(first).results.as_slice() {
        [] => "none".to_owned(),
        [one] => last_part(one).to_owned(),
        [one, more @ ..] => format!("{} +{}", last_part(one), more.len()),
    };
    row(key(first, "results"), label(first, "results"), help)
        .file(
            "none",
            move |s: &Spec| Some(s.side(first).results.join(", ")).filter(|names| !names.is_empty()),
            move |s, path| {
                let names = path.as_deref().unwrap_or_default().split(',').map(str::trim);
                let names = names.filter(|n| !n.is_empty()).map(|n| typed(&s.task.base, n.to_owned())).collect();
                side_mut(s, first).results = names;
                if !s.a.results.is_empty() || !s.b.results.is_empty() {
                    s.models = Vec::new();
                } else if s.models.is_empty() {
                    s.models = Spec::shipped().models;
                }
            },
        )
        .shown(move |s, _| shown(s))
}
