//! The fields of this lab's spec as settings, one row per parameter.

use super::methods::NAMES;
use super::metrics::map::Membership;
use super::spec::{
    Baseline, Direction, Eraser, Erasure, HeadRef, MOST_INPUTS, ScoreKind, Spec, TargetKind, TopK, dimension_name,
};
use corpus::rationales::{Dimension, Language};
use lab::layer::LayerRef;
use lab::setting::rows::{level, long, models, row, seed, typed};
use lab::setting::{Kind, Known, Range, Setting, SettingError, Value};

/// All fields, in the order of the setup pane.
pub fn settings() -> Vec<Setting<Spec>> {
    let mut all = vec![
        models("The models to explain, in the order in which they are evaluated."),
        language(),
        file(),
        dimensions(),
        inputs(),
        long("data.long", |s: &Spec| s.data.long, |s, l| s.data.long = l),
        methods(),
        layer(),
        head(),
        direction(),
        scores(),
        baseline(),
        target(),
        steps(),
        tolerance(),
        top_k(),
        membership(),
        erasure(),
        robustness(),
    ];
    all.extend([level(), seed("Seed for all random numbers in the run.")]);
    all
}

fn language() -> Setting<Spec> {
    row("data.language", "Language", "Language of the built-in benchmark.").one_of(
        &Language::ALL,
        |l| l.code().to_owned(),
        |s: &Spec, l| s.data.language == l.code(),
        |s, l| s.data.language = l.code().into(),
    )
}

fn file() -> Setting<Spec> {
    row("data.file", "Data", "A file of gold rationales in place of the built-in ones.").file(
        "built in",
        |s: &Spec| s.data.file.clone(),
        |s, path| {
            s.data.file = path.map(|p| typed(&s.data.base, p));
        },
    )
}

fn dimensions() -> Setting<Spec> {
    let names = || Dimension::ALL.map(dimension_name);
    Setting::new(
        "data.dimensions",
        "Dimensions",
        "Knowledge or skill that the masked words test.",
        move |_: &Spec, _| Kind::Marks(names().map(str::to_owned).to_vec()),
        move |s, _| {
            let chosen = &s.data.dimensions;
            let on = |name: &str| chosen.is_empty() || chosen.iter().any(|d| d == name);
            Value::Marks(names().map(on).to_vec())
        },
        move |s, _, value| {
            let Value::Marks(on) = value else { return Ok(()) };
            if !on.contains(&true) {
                return Err(SettingError::Refused("keep at least one dimension".into()));
            }
            let chosen = names().into_iter().zip(&on).filter(|(_, on)| **on).map(|(name, _)| name.to_owned());
            s.data.dimensions = if on.contains(&false) { chosen.collect() } else { Vec::new() };
            Ok(())
        },
    )
}

fn inputs() -> Setting<Spec> {
    let help = "Number of originals and partners, drawn evenly over the dimensions; the benchmark has about 3,100.";
    row("data.inputs", "Sentences", help).count(
        &[60, 150, 300, 600, 1_200, 3_200],
        1..=MOST_INPUTS,
        |s: &Spec| s.data.inputs,
        |s, n| s.data.inputs = n,
    )
}

fn methods() -> Setting<Spec> {
    Setting::new(
        "saliency.methods",
        "Methods",
        "Methods that score the tokens; a random ranking is always measured too.",
        |_: &Spec, _| Kind::Marks(NAMES.iter().map(|m| m.replace('_', " ")).collect()),
        |s, _| Value::Marks(NAMES.iter().map(|m| s.saliency.methods.iter().any(|x| x == m)).collect()),
        |s, _, value| {
            let Value::Marks(on) = value else { return Ok(()) };
            if !on.contains(&true) {
                return Err(SettingError::Refused("keep at least one method".into()));
            }
            let is_on = |m: &str| NAMES.iter().zip(&on).any(|(name, on)| *on && *name == m);
            // Remaining choices keep their order, and new ones are appended.
            let chosen = &mut s.saliency.methods;
            chosen.retain(|m| is_on(m));
            let more: Vec<String> =
                NAMES.iter().filter(|m| is_on(m) && !chosen.iter().any(|c| c == *m)).map(|m| (*m).into()).collect();
            chosen.extend(more);
            Ok(())
        },
    )
}

fn layer() -> Setting<Spec> {
    let layers = |spec: &Spec, known: &Known| known.layers(&spec.models).unwrap_or(12);
    Setting::new(
        "attention.layer",
        "Attention layer",
        "The layer whose attention is used; the last one in the paper.",
        move |spec: &Spec, known| {
            let most = layers(spec, known);
            let stops = (1..=most).map(|l| l as f64).collect();
            Kind::Slider { stops, range: Range::whole(1.0, most as f64), unset: None }
        },
        move |spec, known| match spec.attention.layer {
            LayerRef::Last => Value::Number(layers(spec, known) as f64),
            LayerRef::At(l) => Value::Number(l as f64),
        },
        move |spec, known, value| {
            let layer = value.whole().unwrap_or(1);
            let last = layer == layers(spec, known);
            spec.attention.layer = if last { LayerRef::Last } else { LayerRef::At(layer) };
            Ok(())
        },
    )
    .shown(|spec, _| spec.attention.layer.to_string())
}

/// Heads that can be selected; a spec may contain others.
const HEADS: [HeadRef; 14] = [
    HeadRef::Mean,
    HeadRef::Sum,
    HeadRef::At(1),
    HeadRef::At(2),
    HeadRef::At(3),
    HeadRef::At(4),
    HeadRef::At(5),
    HeadRef::At(6),
    HeadRef::At(7),
    HeadRef::At(8),
    HeadRef::At(9),
    HeadRef::At(10),
    HeadRef::At(11),
    HeadRef::At(12),
];

fn head() -> Setting<Spec> {
    row("attention.head", "Attention head", "A single attention head, or the mean or sum of all heads.")
        .one_of(&HEADS, ToString::to_string, |s: &Spec, h| s.attention.head == *h, |s, h| s.attention.head = *h)
        .shown(|s, _| s.attention.head.to_string())
}

fn direction() -> Setting<Spec> {
    let help = "from mask: attention of the mask to the tokens, as in the authors' code; to mask: attention of the tokens to the mask, as in the paper's formula.";
    row("attention.direction", "Attention", help).one_of(
        &[Direction::FromMask, Direction::ToMask],
        |d| d.name().replace('_', " "),
        |s: &Spec, d| s.attention.direction == *d,
        |s, d| {
            s.attention.direction = *d;
            if *d == Direction::ToMask {
                s.attention.scores = ScoreKind::Softmax;
            }
        },
    )
}

fn scores() -> Setting<Spec> {
    let help = "Attention after the softmax, or the centred scores before it.";
    row("attention.scores", "Attention as", help).one_of(
        &[ScoreKind::Softmax, ScoreKind::Raw],
        |k| if *k == ScoreKind::Raw { "raw".into() } else { "softmax".to_owned() },
        |s: &Spec, k| s.attention.scores == *k,
        |s, k| {
            s.attention.scores = *k;
            if *k == ScoreKind::Raw {
                s.attention.direction = Direction::FromMask;
            }
        },
    )
}

fn baseline() -> Setting<Spec> {
    row(
        "integrated_gradients.baseline",
        "Baseline",
        "Start of the path; the paper uses padding tokens between the special tokens.",
    )
    .one_of(
        &[Baseline::Pad, Baseline::Mask, Baseline::Zero, Baseline::Mean],
        |b| b.name().to_owned(),
        |s: &Spec, b| s.integrated_gradients.baseline == *b,
        |s, b| s.integrated_gradients.baseline = *b,
    )
}

fn target() -> Setting<Spec> {
    row(
        "integrated_gradients.target",
        "Explained",
        "Quantity to explain: the predicted token's probability, or its logit.",
    )
    .one_of(
        &[TargetKind::Probability, TargetKind::Logit],
        |t| t.name().to_owned(),
        |s: &Spec, t| s.integrated_gradients.target == *t,
        |s, t| s.integrated_gradients.target = *t,
    )
}

fn steps() -> Setting<Spec> {
    row("integrated_gradients.steps", "Path steps", "Number of steps in the integral; 100 in the paper.").count(
        &[10, 20, 50, 100, 200, 400],
        1..=10_000,
        |s: &Spec| s.integrated_gradients.steps,
        |s, n| {
            let path = &mut s.integrated_gradients;
            path.steps = n;
            path.most_steps = path.most_steps.max(n);
        },
    )
}

fn tolerance() -> Setting<Spec> {
    let help = "Accepted completeness error; steps are doubled until it is reached, up to `most_steps`.";
    row("integrated_gradients.tolerance", "Max. path error", help).number(
        &[0.005, 0.01, 0.02, 0.05, 0.1, 0.2],
        Range::real(1e-6, 1e6),
        |s: &Spec| s.integrated_gradients.tolerance,
        |s, x| s.integrated_gradients.tolerance = x,
    )
}

fn top_k() -> Setting<Spec> {
    let help = "Number of words in a predicted rationale; it is the dimension's ratio times the sentence length (paper), the length of the gold rationale, or five (public code).";
    row("metrics.k", "Rationale size", help)
        .one_of(
            &[TopK::Ratio, TopK::Gold, TopK::Fixed(5)],
            ToString::to_string,
            |s: &Spec, k| s.metrics.k == *k,
            |s, k| s.metrics.k = *k,
        )
        .shown(|s, _| s.metrics.k.to_string())
}

fn membership() -> Setting<Spec> {
    let help = "Which words MAP treats as the same: words with the same text (as in the authors' code), words with the same text and occurrence number, or aligned words.";
    row("metrics.membership", "MAP by", help).one_of(
        &[Membership::String, Membership::Occurrence, Membership::Position],
        |m| match m {
            Membership::String => "string".to_owned(),
            Membership::Occurrence => "occurrence".to_owned(),
            Membership::Position => "position".to_owned(),
        },
        |s: &Spec, m| s.metrics.membership == *m,
        |s, m| s.metrics.membership = *m,
    )
}

fn robustness() -> Setting<Spec> {
    let help = "Sensitivity and stability; sensitivity is the smallest change to the rationale's word embeddings that changes the answer, and stability is the lowest MAP among partners with the same answer. They take about 100 passes per input and method.";
    row("saliency.robustness", "Robustness", help).one_of(
        &[false, true],
        |on| if *on { "measured" } else { "off" }.into(),
        |s: &Spec, on| s.saliency.robustness == *on,
        |s, on| s.saliency.robustness = *on,
    )
}

fn erasure() -> Setting<Spec> {
    let help = "Sufficiency and comprehensiveness; they are the probability lost with the predicted rationale alone, and without it. With `replaced`, words become the baseline token, and rationales have K words. With `deleted`, words are removed, and results are averaged over 1, 5, 10, 20 and 50 % of the words, as in ERASER.";
    row("saliency.erasure", "Erasure", help).one_of(
        &[Erasure::Baseline(false), Erasure::Baseline(true), Erasure::Deleted(Eraser::Eraser)],
        |erasure| match erasure {
            Erasure::Baseline(false) => "off".into(),
            Erasure::Baseline(true) => "replaced".into(),
            Erasure::Deleted(_) => "deleted".into(),
        },
        |s: &Spec, erasure| s.saliency.erasure == *erasure,
        |s, erasure| s.saliency.erasure = *erasure,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::setting::KnownModel;
    use lab::spec::LabSpec;

    #[test]
    fn steps_of_every_row_keep_the_spec_valid() {
        let known = Known { models: vec![KnownModel { name: "bert-mini".into(), layers: 4 }], ..Known::default() };
        for setting in settings() {
            let mut spec = Spec::shipped();
            let values: Vec<Value> = match setting.kind(&spec, &known) {
                Kind::Slider { stops, .. } => stops.into_iter().map(Value::Number).collect(),
                Kind::Choice(names) => (0..names.len()).map(|i| Value::Choice(Some(i))).collect(),
                Kind::Integer(_) => vec![Value::Number(7.0)],
                Kind::Marks(names) => {
                    (0..names.len()).map(|i| Value::Marks((0..names.len()).map(|k| k <= i).collect())).collect()
                }
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
    fn last_method_and_dimension_cannot_be_removed() {
        let (known, mut spec) = (Known::default(), Spec::shipped());
        let rows = settings();
        for key in ["saliency.methods", "data.dimensions"] {
            let row = rows.iter().find(|r| r.key == key).unwrap();
            let Kind::Marks(names) = row.kind(&spec, &known) else { panic!() };
            assert!(row.set(&mut spec, &known, Value::Marks(vec![false; names.len()])).is_err());
            assert_eq!(spec, Spec::shipped());
        }
    }
}
