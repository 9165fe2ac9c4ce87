//! The fields of this lab's spec as settings, one row per parameter. One function creates the rows of both sides.

mod sides;

use super::bound::{Bound, MOST_CONSTANT, Ratio};
use super::spec::{CorruptionSpec, GRIDS, MOST_NOISES, MOST_SIZES, SIZES, Spec};
use base::numbers::{number, short, whole};
use corpus::probing::PROBING;
use lab::setting::rows::{level, long, row, seed, typed};
use lab::setting::{Kind, Range, Setting, SettingError, Value};
use stats::mcnemar::Test;

/// Standard deviations used in the paper's noise study.
pub(crate) const NOISES: [f64; 6] = [0.01, 0.03, 0.1, 0.3, 1.0, 3.0];

/// All fields, in the order of the setup pane.
pub fn settings() -> Vec<Setting<Spec>> {
    let mut all = vec![task(), data(), sizes(), steps(), ratio()];
    all.push(long("task.long", |s: &Spec| s.task.long, |s, l| s.task.long = l));
    for first in [true, false] {
        all.extend(sides::of(first));
    }
    all.extend([
        corruption_batch(),
        corruption_rate(),
        corruption_masking(),
        filter(),
        metric(),
        grid(),
        seeds(),
        also(),
        sigmas(),
        alpha(),
        by(),
        target(),
        margin(),
        bound(),
        own_bound(),
        delta(),
        level(),
        planned_items(),
    ]);
    all.push(seed("Seed for all random numbers in the run."));
    all
}

/// Shown for a setting that has the paper's value.
const USUAL: &str = "usual";

/// The spec's corruption settings. They have an effect only with corruption steps; if there are none, sets the paper's number of steps.
fn corrupting(spec: &mut Spec) -> &mut CorruptionSpec {
    if spec.a.corrupted + spec.b.corrupted == 0 {
        spec.b.corrupted = 200;
    }
    &mut spec.corruption
}

fn corruption_batch() -> Setting<Spec> {
    row("corruption.batch", "Corruption batch", "Sentences per corruption step; usually 16.").count_or(
        USUAL,
        &[8, 16, 32, 64, 128],
        1..=4_096,
        |s: &Spec| s.corruption.batch,
        |s, n| corrupting(s).batch = n,
    )
}

fn corruption_rate() -> Setting<Spec> {
    row("corruption.rate", "Corruption rate", "Peak learning rate of the corruption; usually 5e-5.").real_or(
        USUAL,
        &[1e-5, 2e-5, 5e-5, 1e-4, 2e-4],
        Range::real(1e-9, 1.0),
        |s: &Spec| s.corruption.rate,
        |s, r| corrupting(s).rate = r,
    )
}

fn corruption_masking() -> Setting<Spec> {
    let help = "Share of words masked when corrupting a masked language model; usually .15.";
    row("corruption.masking", "Corruption masks", help).real_or(
        USUAL,
        &[0.1, 0.15, 0.2, 0.3, 0.4],
        Range::real(0.01, 0.95),
        |s: &Spec| s.corruption.masking,
        |s, m| corrupting(s).masking = m,
    )
}

fn task() -> Setting<Spec> {
    row("task.name", "Task", "The property of sentences that the probes predict.").one_of(
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
            s.task.data = path.map(|p| typed(&s.task.base, p));
        },
    )
}

/// The largest size. Each smaller size is a quarter of the next.
fn sizes() -> Setting<Spec> {
    let help = "Training sentences per class at the largest size; each smaller size is a quarter of the next.";
    row("task.sizes", "Train per class", help).count(
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

/// A list as a text setting. `take` parses each typed entry.
fn list<T: 'static>(
    (key, label, help): (&str, &str, &'static str),
    unset: &'static str,
    get: impl Fn(&Spec) -> Vec<String> + 'static,
    take: impl Fn(&str) -> Result<T, String> + 'static,
    put: impl Fn(&mut Spec, Vec<T>) -> Result<(), String> + 'static,
) -> Setting<Spec> {
    Setting::new(
        key,
        label,
        help,
        move |_, _| Kind::Text(unset),
        move |spec, _| match get(spec) {
            all if all.is_empty() => Value::Unset,
            all => Value::Text(all.join(", ")),
        },
        move |spec, _, value| {
            let text = value.text().unwrap_or_default();
            let parts = text.split([',', ' ']).filter(|part| !part.is_empty());
            let all = parts.map(&take).collect::<Result<Vec<T>, String>>();
            all.and_then(|all| put(spec, all)).map_err(SettingError::Refused)
        },
    )
}

/// The list of all sizes, for sizes that are not each a quarter of the next.
fn steps() -> Setting<Spec> {
    let help = "Training sentences per class at each size; ascending, separated by commas.";
    list(
        ("task.steps", "Size steps", help),
        "none",
        |s| s.task.sizes.iter().map(usize::to_string).collect(),
        |part| {
            let n = whole(part, SIZES.0 as u64..=SIZES.1 as u64).map_err(|e| e.to_string())?;
            usize::try_from(n).map_err(|e| e.to_string())
        },
        |s, sizes: Vec<usize>| {
            let rises = sizes.windows(2).all(|w| w[0] < w[1]);
            if sizes.is_empty() || sizes.len() > MOST_SIZES || !rises {
                return Err(format!("enter between 1 and {MOST_SIZES} sizes, in increasing order"));
            }
            s.task.sizes = sizes;
            Ok(())
        },
    )
}

fn ratio() -> Setting<Spec> {
    let help = "Ratio of training, validation and test sentences; 4:1:1 in the paper, and required for six folds.";
    Setting::new(
        "task.ratio",
        "Split",
        help,
        |_, _| Kind::Text("4:1:1"),
        |spec: &Spec, _| match spec.task.ratio {
            usual if usual.is_usual() => Value::Unset,
            ratio => Value::Text(ratio.to_string()),
        },
        |spec, _, value| {
            let ratio = value.text().map_or(Ok(Ratio::PAPER), |text| text.parse());
            spec.task.ratio = ratio.map_err(SettingError::Refused)?;
            Ok(())
        },
    )
}

fn also() -> Setting<Spec> {
    let names =
        || ["code length (mdl)", "control task", "six folds", "noise on B", "shortfall"].map(String::from).to_vec();
    Setting::new(
        "also",
        "Extra checks",
        "Additional measurements. Code lengths are prequential and variational; the shortfall is the accuracy that probes lose through optimisation \
         and too little data.",
        move |_, _| Kind::Marks(names()),
        |s: &Spec, _| {
            let a = &s.also;
            Value::Marks(vec![a.mdl, a.control, a.folds, !a.noise.is_empty(), a.shortfall])
        },
        |s, _, value| {
            let Value::Marks(on) = value else { return Ok(()) };
            let is = |i: usize| on.get(i).copied().unwrap_or(false);
            (s.also.mdl, s.also.control, s.also.folds, s.also.shortfall) = (is(0), is(1), is(2), is(4));
            match (is(3), s.also.noise.is_empty()) {
                (true, true) => s.also.noise = NOISES.to_vec(),
                (false, false) => s.also.noise.clear(),
                _ => {}
            }
            Ok(())
        },
    )
}

fn sigmas() -> Setting<Spec> {
    let help = "Standard deviations of the noise on B, for repeated comparisons; separated by commas.";
    list(
        ("also.noise", "Noise levels", help),
        "none",
        |s| s.also.noise.iter().map(|sigma| sigma.to_string()).collect(),
        |part| number(part).map_err(|e| e.to_string()),
        |s, sigmas: Vec<f64>| {
            let sound = sigmas.iter().all(|sigma| (0.0..=1e6).contains(sigma));
            let once = sigmas.iter().enumerate().all(|(i, sigma)| !sigmas[..i].contains(sigma));
            if sigmas.len() > MOST_NOISES || !sound || !once {
                return Err(format!("enter up to {MOST_NOISES} different numbers from 0 to 1e6"));
            }
            s.also.noise = sigmas;
            Ok(())
        },
    )
}

fn filter() -> Setting<Spec> {
    let help = "Filter of lm-evaluation-harness for results from files; needed if a file has several filters.";
    row("test.filter", "Filter", help).text("any", |s: &Spec| s.test.filter.clone(), |s, filter| s.test.filter = filter)
}

fn metric() -> Setting<Spec> {
    let help = "Metric of results from files; by default the first one.";
    row("test.metric", "Metric", help).text(
        "first",
        |s: &Spec| s.test.metric.clone(),
        |s, metric| s.test.metric = metric,
    )
}

fn grid() -> Setting<Spec> {
    let help =
        "Training settings: the paper's 20 or 4 of them; the 20 combine five learning rates and four batch sizes.";
    row("training.grid", "Probe grid", help).one_of(
        &GRIDS,
        |g| (*g).to_owned(),
        |s: &Spec, g| s.training.grid == *g,
        |s, g| s.training.grid = (*g).to_owned(),
    )
}

fn seeds() -> Setting<Spec> {
    let help = "Number of training runs per side, each with its own seed; five in the paper.";
    row("training.seeds", "Seeds", help).count(
        &[1, 3, 5, 7, 9],
        1..=50,
        |s: &Spec| s.training.seeds,
        |s, n| s.training.seeds = n,
    )
}

fn alpha() -> Setting<Spec> {
    row("test.alpha", "Level α", "Probability that the two-sided test detects a nonexistent difference.").number(
        &[0.001, 0.005, 0.01, 0.05, 0.1],
        Range::real(1e-6, 0.5),
        |s: &Spec| s.test.alpha,
        |s, x| s.test.alpha = x,
    )
}

fn by() -> Setting<Spec> {
    let help = "Form of McNemar's test for single runs, also used for power; with several seeds or clusters, the paired t test is used.";
    row("test.by", "Test", help).one_of(
        &Test::ALL,
        |t| t.key().to_owned(),
        |s: &Spec, t| s.test.by == *t,
        |s, t| s.test.by = *t,
    )
}

fn planned_items() -> Setting<Spec> {
    let help = "Number of test items after which the result of a plan counts; with early stopping, the maximum number.";
    row("plan.n", "Planned items", help).count_or(
        "all items",
        &[32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384],
        1..=1_000_000_000,
        |s: &Spec| s.plan.as_ref().and_then(|plan| plan.n),
        |s, n| s.plan.iter_mut().for_each(|plan| plan.n = n),
    )
}

fn target() -> Setting<Spec> {
    row(
        "test.target",
        "Target power",
        "Probability that the comparison detects the difference; .8 in Card et al. and Zhu et al.",
    )
    .number(
        &[0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99],
        Range::real(0.05, 0.999),
        |s: &Spec| s.test.target,
        |s, x| s.test.target = x,
    )
}

fn margin() -> Setting<Spec> {
    row("test.margin", "Equal within", "Differences within this margin count as no difference (equivalence).").number(
        &[0.005, 0.01, 0.02, 0.03, 0.05, 0.1],
        Range::real(1e-6, 1.0),
        |s: &Spec| s.test.margin,
        |s, x| s.test.margin = x,
    )
}

fn bound() -> Setting<Spec> {
    let help = "Bound for the recommended number of training examples; choose the one of the paper's tables, the one of textbooks, or your own.";
    row("test.bound", "Bound", help)
        .one_of(
            &[Bound::Published, Bound::Textbook, Bound::Own(OWN)],
            |b| b.name().to_owned(),
            |s: &Spec, b| s.test.bound.name() == b.name(),
            |s, b| s.test.bound = *b,
        )
        .shown(|s, _| match s.test.bound {
            Bound::Own(constant) => format!("own: n = {} / ε²", short(constant)),
            bound => bound.name().to_owned(),
        })
}

/// Initial constant of a user's bound. The published constant is 95.9 for 768 dimensions.
const OWN: f64 = 100.0;

fn own_bound() -> Setting<Spec> {
    let help =
        "The constant C of your own bound; it recommends n = C / ε² training examples, where ε is half the difference.";
    row("test.own", "Bound's C", help).number(
        &[10.0, 30.0, 100.0, 300.0, 1_000.0],
        Range::real(1e-6, MOST_CONSTANT),
        |s: &Spec| if let Bound::Own(constant) = s.test.bound { constant } else { OWN },
        |s, constant| s.test.bound = Bound::Own(constant),
    )
}

fn delta() -> Setting<Spec> {
    row("test.delta", "Bound's δ", "Probability that the bound fails; 1e-8 in the paper.").number(
        &[1e-8, 1e-4, 0.01, 0.05],
        Range::real(1e-300, 0.5),
        |s: &Spec| s.test.delta,
        |s, x| s.test.delta = x,
    )
}

#[cfg(test)]
mod tests;
