//! The fields of a spec of this lab as settings: one row a parameter.

use super::candidates::Candidates;
use super::consistency::Scoring;
use super::places::Ties;
use super::spec::{NO_WORDS, OWN_WORDS, Sharing, Spec, Weighting};
use crate::lab::setting::{Kind, Known, Range, Setting, Value};

/// Largest seed that can be typed: beyond it a float no longer holds every integer.
const MAX_SEED: f64 = 9_007_199_254_740_992.0;

/// The fields of a run, in the order of the setup pane.
#[must_use]
pub fn settings() -> Vec<Setting<Spec>> {
    vec![
        models(),
        files(),
        candidates(),
        most_prompts(),
        instances(),
        mentions(),
        weights(),
        sampled_prompts(),
        draws(),
        subset(),
        random(),
        ties(),
        scoring(),
        ledger(),
        k(),
        case(),
        function_words(),
        level(),
        seed(),
    ]
}

fn number(value: &Value) -> Option<f64> {
    if let Value::Number(x) = value { Some(*x) } else { None }
}

fn whole(value: &Value) -> Option<usize> {
    number(value).map(|x| x as usize)
}

fn optional(n: Option<usize>) -> Value {
    n.map_or(Value::Unset, |n| Value::Number(n as f64))
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
        "The models that are asked and compared. An instance is kept only where every one of them has its object as one token.",
        |spec, known| Kind::Marks(model_names(spec, known)),
        |spec: &Spec, known| {
            Value::Marks(model_names(spec, known).iter().map(|n| spec.models.contains(n)).collect())
        },
        |spec, known, value| {
            let Value::Marks(on) = value else { return Ok(()) };
            let names = model_names(spec, known);
            let wanted: Vec<String> =
                names.into_iter().zip(on).filter(|(_, on)| *on).map(|(n, _)| n).collect();
            // They stand in the order in which they were picked.
            spec.models.retain(|m| wanted.contains(m));
            let new: Vec<String> = wanted.into_iter().filter(|m| !spec.models.contains(m)).collect();
            spec.models.extend(new);
            Ok(())
        },
    )
}

fn files() -> Setting<Spec> {
    Setting::new(
        "data.files",
        "Data",
        "A file or folder with facts and prompts (LAMA, ParaRel, LPAQA, BEAR, causalEval, plain rows) in place of the built-in relations.",
        |_, _| Kind::File("built in"),
        |spec: &Spec, _| spec.data.files.first().cloned().map_or(Value::Unset, Value::Text),
        |spec, _, value| {
            spec.data.files = if let Value::Text(path) = value { vec![path] } else { Vec::new() };
            // What is typed is relative to where the program runs; relations of other data have other names.
            spec.data.base = std::path::PathBuf::new();
            spec.data.relations.clear();
            spec.data.own.clear();
            Ok(())
        },
    )
    .shown(|spec, _| {
        let path = spec.data.files.first().map_or("built in", String::as_str);
        let last = path.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next().unwrap_or(path);
        match spec.data.files.len() {
            0 | 1 => last.to_owned(),
            n => format!("{last} and {} more", n - 1),
        }
    })
}

/// A setting that takes one of a list.
fn one_of<T: Copy + PartialEq + 'static>(
    (key, label, help): (&str, &str, &str),
    all: &'static [T],
    name: fn(T) -> &'static str,
    get: fn(&Spec) -> T,
    put: fn(&mut Spec, T),
) -> Setting<Spec> {
    let words = move |t: T| name(t).replace('_', " ");
    Setting::new(
        key,
        label,
        help,
        move |_, _| Kind::Choice(all.iter().map(|t| words(*t)).collect()),
        move |spec: &Spec, _| Value::Choice(all.iter().position(|t| *t == get(spec))),
        move |spec, _, value| {
            if let Value::Choice(Some(i)) = value
                && let Some(t) = all.get(i)
            {
                put(spec, *t);
            }
            Ok(())
        },
    )
}

fn candidates() -> Setting<Spec> {
    let help = "Which words can be answers: the model's vocabulary without function words (Cao et al. 2022), the words that all \
                models share, or the answers of the relation; the last by pseudo-log-likelihood too, so that answers of several \
                tokens take part.";
    one_of(
        ("query.candidates", "Answers", help),
        &Candidates::ALL,
        Candidates::name,
        |s| s.query.candidates,
        |s, c| s.query.candidates = c,
    )
}

fn weights() -> Setting<Spec> {
    let help = "How prompts are weighted in the adjusted score, the same for every model: uniform (Cao et al. 2022), by the \
                spec's own numbers, or by how likely the models find them.";
    one_of(
        ("adjust.weights", "Weights", help),
        &Weighting::ALL,
        Weighting::name,
        |s| s.adjust.weights,
        |s, w| s.adjust.weights = w,
    )
}

const SHARING: [Sharing; 2] = [Sharing::PerModel, Sharing::Shared];

fn sharing(s: Sharing) -> &'static str {
    match s {
        Sharing::PerModel => "per_model",
        Sharing::Shared => "shared",
    }
}

fn random() -> Setting<Spec> {
    let help = "Whether each model draws its own prompts and mentions in the random regime, as the published code does, or all \
                share them.";
    one_of(("ranks.random", "random", help), &SHARING, sharing, |s| s.ranks.random, |s, r| s.ranks.random = r)
}

fn ledger() -> Setting<Spec> {
    let help = "Whether both models of a ledger get the same prompt and mentions, or each its own.";
    one_of(("ledger.draws", "Ledger", help), &SHARING, sharing, |s| s.ledger.draws, |s, r| s.ledger.draws = r)
}

fn ties() -> Setting<Spec> {
    let help = "What equal scores do to places: the earlier model stands lower, as in the published code, or all get the mean place.";
    one_of(("ranks.ties", "Ties", help), &Ties::ALL, Ties::name, |s| s.ranks.ties, |s, t| s.ranks.ties = t)
}

fn scoring() -> Setting<Spec> {
    let help =
        "How scores are compared: as exact fractions, or rounded to two decimals of a per cent as published.";
    one_of(
        ("ranks.scoring", "Scores", help),
        &Scoring::ALL,
        Scoring::name,
        |s| s.ranks.scoring,
        |s, t| s.ranks.scoring = t,
    )
}

fn case() -> Setting<Spec> {
    let help = "Whether upper and lower case are different words.";
    let name = |ignore: bool| if ignore { "ignored" } else { "counts" };
    one_of(
        ("query.ignore_case", "Case", help),
        &[false, true],
        name,
        |s| s.query.ignore_case,
        |s, c| s.query.ignore_case = c,
    )
}

/// A slider over whole numbers that may be left open.
fn at_most(
    (key, label, help): (&str, &str, &str),
    stops: Vec<f64>,
    get: fn(&Spec) -> Option<usize>,
    put: fn(&mut Spec, Option<usize>),
) -> Setting<Spec> {
    Setting::new(
        key,
        label,
        help,
        move |_, _| Kind::Slider {
            stops: stops.clone(),
            range: Range::whole(1.0, 1_000_000.0),
            unset: Some("all"),
        },
        move |spec: &Spec, _| optional(get(spec)),
        move |spec, _, value| {
            put(spec, whole(&value));
            Ok(())
        },
    )
}

fn most_prompts() -> Setting<Spec> {
    at_most(
        ("data.prompts", "Prompts", "Prompts of a relation at most, the first ones."),
        (1..=17).map(f64::from).collect(),
        |s| s.data.prompts,
        |s, n| s.data.prompts = n,
    )
}

fn instances() -> Setting<Spec> {
    at_most(
        ("data.instances", "Facts", "Facts of a relation at most, the first ones."),
        vec![10.0, 20.0, 40.0, 100.0, 200.0, 500.0, 1000.0],
        |s| s.data.instances,
        |s, n| s.data.instances = n,
    )
}

fn sampled_prompts() -> Setting<Spec> {
    at_most(
        ("adjust.prompts", "K", "Prompts and mentions that are drawn for the adjusted score, K × K."),
        (1..=10).map(f64::from).collect(),
        |s| s.adjust.prompts,
        |s, n| (s.adjust.prompts, s.adjust.mentions) = (n, n),
    )
}

/// A slider over whole numbers.
fn count(
    (key, label, help): (&str, &str, &str),
    stops: Vec<f64>,
    (min, max): (f64, f64),
    get: fn(&Spec) -> usize,
    put: fn(&mut Spec, usize),
) -> Setting<Spec> {
    Setting::new(
        key,
        label,
        help,
        move |_, _| Kind::Slider { stops: stops.clone(), range: Range::whole(min, max), unset: None },
        move |spec: &Spec, _| Value::Number(get(spec) as f64),
        move |spec, _, value| {
            put(spec, whole(&value).unwrap_or_default());
            Ok(())
        },
    )
}

fn mentions() -> Setting<Spec> {
    count(
        (
            "data.mentions",
            "Names",
            "Names of a subject at most, the usual one among them (Cao et al. 2022: five).",
        ),
        (1..=10).map(f64::from).collect(),
        (1.0, 10.0),
        |s| s.data.mentions,
        |s, n| s.data.mentions = n,
    )
}

fn draws() -> Setting<Spec> {
    count(
        ("ranks.draws", "Draws", "Draws of relations behind the rank consistency (Cao et al. 2022: 1,000)."),
        vec![100.0, 200.0, 500.0, 1000.0, 2000.0, 5000.0, 10_000.0],
        (1.0, 100_000.0),
        |s| s.ranks.draws,
        |s, n| s.ranks.draws = n,
    )
}

fn subset() -> Setting<Spec> {
    count(
        ("ranks.subset", "of them", "Relations of a draw (Cao et al. 2022: 20 of 32)."),
        vec![2.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0],
        (1.0, 10_000.0),
        |s| s.ranks.subset,
        |s, n| s.ranks.subset = n,
    )
}

fn k() -> Setting<Spec> {
    count(
        ("query.k", "k", "The k of P@k."),
        vec![1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0],
        (1.0, 1000.0),
        |s| s.query.k,
        |s, n| s.query.k = n,
    )
}

fn function_words() -> Setting<Spec> {
    Setting::new(
        "query.function_words",
        "Skipped",
        "Function words that are passed over: `own` for the program's list, `none`, or a file of words.",
        |_, _| Kind::File(OWN_WORDS),
        |spec: &Spec, _| match spec.query.function_words.as_str() {
            OWN_WORDS => Value::Unset,
            other => Value::Text(other.to_owned()),
        },
        |spec, _, value| {
            spec.query.function_words = if let Value::Text(text) = value { text } else { OWN_WORDS.into() };
            Ok(())
        },
    )
    .shown(|spec, _| match spec.query.function_words.as_str() {
        OWN_WORDS => "own list".into(),
        NO_WORDS => "none".into(),
        path => path.rsplit(['/', '\\']).next().unwrap_or(path).to_owned(),
    })
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
    use crate::lab::{self};

    fn known() -> Known {
        Known {
            models: vec![
                KnownModel { name: "bert-mini".into(), layers: 4 },
                KnownModel { name: "x".into(), layers: 2 },
            ],
        }
    }

    #[test]
    fn every_setting_reads_back_what_it_was_set_to_and_leaves_a_spec_that_passes() {
        let known = known();
        for setting in settings() {
            let mut spec = Spec::shipped();
            let value = match setting.kind(&spec, &known) {
                Kind::Slider { stops, .. } => Value::Number(stops[1]),
                Kind::Integer(_) => Value::Number(7.0),
                Kind::Choice(names) => Value::Choice(Some(names.len() - 1)),
                Kind::Marks(names) => Value::Marks(names.iter().map(|n| n == "bert-mini").collect()),
                Kind::Text(_) | Kind::File(_) => Value::Text("some/file".into()),
            };
            setting.set(&mut spec, &known, value.clone()).unwrap();
            if !matches!(value, Value::Marks(_)) {
                assert_eq!(setting.get(&spec, &known), value, "{}", setting.key);
            }
            assert!(!setting.text(&spec, &known).is_empty(), "{}", setting.key);
            let told = lab::Spec::from(spec).check("x");
            assert!(told.is_ok(), "{}: {told:?}", setting.key);
        }
    }

    #[test]
    fn keys_are_distinct_and_labels_fit_their_column() {
        let all = settings();
        for (i, s) in all.iter().enumerate() {
            assert!(all[..i].iter().all(|o| o.key != s.key));
            assert!(s.label.chars().count() <= 8, "{}", s.label);
        }
    }

    #[test]
    fn other_data_has_other_relations() {
        let mut spec = Spec::shipped();
        spec.data.relations = vec!["capital".into()];
        let files = settings().into_iter().find(|s| s.key == "data.files").unwrap();
        files.set(&mut spec, &known(), Value::Text("/data/lama/".into())).unwrap();
        assert!(spec.data.relations.is_empty());
        assert_eq!(files.text(&spec, &known()), "lama");
    }
}
