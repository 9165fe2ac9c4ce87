//! Findings of a comparison in the power lab, computed from made-up items by the lab's own code.

use probity::engine::message::{Answer, Event, Outcome};
use probity::lab::FindingKind as _;
use probity::lab::power::Spec;
use probity::lab::power::compare::{Names, adjust, compare};
use probity::lab::power::finding::{
    BaselineFinding, CollapseFinding, ComparisonFinding, ConfigurationFinding, Kind, MarginFinding, RequiredFinding,
    SequentialFinding, TallyFinding,
};
use probity::lab::power::pairs::Pairs;
use probity::lab::power::tally::{places, told};
use probity::lab::{self, Finding, LabId};
use probity::stats::intervals::wilson;
use probity::stats::sequential::Sequential;

use super::Harness;

pub(crate) fn finding(n: usize, is_final: bool, kind: Kind) -> Finding {
    let level = kind.has_interval().then_some(0.95);
    Finding {
        lab: LabId::Power,
        spec: lab::Spec::from(Spec::shipped()).hash(),
        model: Spec::shipped().models.join(","),
        seed: 0,
        n,
        r#final: is_final,
        t: 1.0,
        level,
        body: lab::Body::Lab(kind.into()),
    }
}

/// Items on which the first side is right in about 85 % of cases and the second in about 78 %, with one seed.
fn pairs(n: usize) -> Pairs {
    let a = (0..n).map(|i| f64::from(u8::from(i * 37 % 100 < 85))).collect();
    let b = (0..n).map(|i| f64::from(u8::from((i * 37 + 9) % 100 < 78))).collect();
    Pairs { a: vec![a], b: vec![b], clusters: None, apart: false }
}

fn sequential(pairs: &Pairs, names: &Names) -> Vec<Kind> {
    let mut test = Sequential::default();
    let mut kinds = Vec::new();
    for (i, (a, b)) in pairs.votes().unwrap().into_iter().enumerate() {
        test.add(a, b);
        if (i + 1) % (pairs.n() / 32).max(1) == 0 {
            let (lo, hi) = test.interval(0.95);
            kinds.push(Kind::Sequential(SequentialFinding {
                a: names.a.clone(),
                b: names.b.clone(),
                at_n: i as u64 + 1,
                e_value: Some(test.log_e().exp()),
                log_e: test.log_e(),
                lo,
                hi,
                share: test.share(),
                may_stop: test.may_stop(0.05),
                largest: Some(test.largest),
                planned: false,
            }));
        }
    }
    kinds
}

fn side(spec: &Spec, first: bool, pairs: &Pairs, n_train: usize) -> [Finding; 2] {
    let accuracy = pairs.accuracy(first, 0.95);
    let name = spec.name(first);
    let configuration = ConfigurationFinding {
        name: name.clone(),
        side: if first { "a" } else { "b" }.into(),
        task: spec.task.name.clone(),
        encoder: spec.encoder(first).into(),
        layer: Some(4),
        classifier: "logistic".into(),
        n_train,
        accuracy,
        sd: Some(0.012),
        majority: Some(0.5),
        seeds: 1,
        long: 0,
    };
    let margin = MarginFinding { name, at_n: n_train as u64, accuracy: accuracy.mean, sd: Some(0.012), epsilon: 0.2 };
    [finding(pairs.n(), true, Kind::Configuration(configuration)), finding(pairs.n(), true, Kind::Margin(margin))]
}

/// All findings of a run over two sizes.
pub(crate) fn compared() -> Vec<Finding> {
    let spec = Spec::shipped();
    let names = |n: usize| Names {
        a: spec.name(true),
        b: spec.name(false),
        metric: format!("accuracy after {n} training examples"),
    };
    let mut out = Vec::new();
    let mut made: Vec<ComparisonFinding> = Vec::new();
    for n in [128, 512] {
        let pairs = pairs(n);
        out.extend(side(&spec, true, &pairs, 4 * n).into_iter().chain(side(&spec, false, &pairs, 4 * n)));
        out.extend(surface(n, 4 * n));
        made.push(compare(&pairs, &names(4 * n), spec.terms()));
        adjust(&mut made.iter_mut().collect::<Vec<_>>(), 0.05);
        out.extend(made.iter().zip([128, 512]).map(|(c, n)| finding(n, true, Kind::Comparison(c.clone()))));
        out.extend(asked(&spec, &pairs).into_iter().map(|k| finding(n, true, after(4 * n as u64, k))));
        out.extend(sequential(&pairs, &names(4 * n)).into_iter().map(|k| finding(n, true, k)));
        out.extend(tallies(&pairs, &names(4 * n)).into_iter().map(|k| finding(n, true, k)));
    }
    let collapse = CollapseFinding { a: spec.name(true), b: spec.name(false), collapsed: false, reasons: Vec::new() };
    out.push(finding(512, true, Kind::Collapse(collapse)));
    out
}

/// Baselines; the bag of words is the best.
fn surface(n: usize, n_train: usize) -> Vec<Finding> {
    let of = |(name, share): (&str, f64)| {
        let accuracy = wilson((share * n as f64) as u64, n as u64, 0.95);
        let baseline = BaselineFinding { name: name.into(), side: None, at_n: n_train as u64, accuracy };
        finding(n, true, Kind::Baseline(baseline))
    };
    [("majority", 0.5), ("bag of words", 0.79), ("length", 0.52), ("first word", 0.5)].map(of).into()
}

/// The power curve and the required n for the settings of a spec.
fn asked(spec: &Spec, pairs: &Pairs) -> Vec<Kind> {
    let names = Names { a: spec.name(true), b: spec.name(false), metric: "accuracy".into() };
    let (_, curve, required) = told(&pairs.tally(), &names, spec, Some(769));
    curve.into_iter().map(Kind::Power).chain(required.map(Kind::Required)).collect()
}

/// The required n for probes trained on this number of examples.
fn after(n_train: u64, kind: Kind) -> Kind {
    match kind {
        Kind::Required(r) => Kind::Required(RequiredFinding { trained: Some(n_train), ..r }),
        other => other,
    }
}

/// The recorded counts of right and wrong items.
fn tallies(pairs: &Pairs, names: &Names) -> Vec<Kind> {
    let of = |at: usize| {
        let tally = pairs.select(&(0..at).collect::<Vec<_>>()).tally();
        let Names { a, b, metric } = names.clone();
        Kind::Tally(TallyFinding { a, b, metric, tally })
    };
    places(pairs.n()).into_iter().map(of).collect()
}

/// The answer to a question with different test settings.
pub(crate) fn adjusted(spec: &Spec, generation: u64, ticket: u64) -> Event {
    let findings = asked(spec, &pairs(512)).into_iter().map(|k| finding(512, true, k)).collect();
    Event::Answer { ticket, answer: Answer::Experiment { generation, findings } }
}

/// The answer to a question about the first `n` items under the settings of a spec.
pub(crate) fn answered(spec: &Spec, generation: u64, ticket: u64, n: usize) -> Event {
    let names = Names { a: spec.name(true), b: spec.name(false), metric: "accuracy".into() };
    let of = |kind: Kind| Finding { spec: lab::Spec::from(spec.clone()).hash(), ..finding(n, true, kind) };
    let comparison = Kind::Comparison(compare(&pairs(n), &names, spec.terms()));
    let findings = std::iter::once(comparison).chain(asked(spec, &pairs(n))).map(of).collect();
    Event::Answer { ticket, answer: Answer::Experiment { generation, findings } }
}

/// A harness that shows the lab after its experiment was requested.
pub(crate) fn comparing(columns: u16, rows: u16) -> Harness {
    let mut h = Harness::started(columns, rows);
    h.event(Event::Finished { job: 1, generation: 1, outcome: Outcome::Cancelled, seconds: 0.1 });
    h.keys("3 r");
    let spec_hash = lab::Spec::from(Spec::shipped()).hash();
    h.event(Event::Started { job: 2, generation: 2, spec_hash });
    h
}

/// [`comparing`] with a complete run.
pub(crate) fn has_compared(columns: u16, rows: u16) -> Harness {
    let mut h = comparing(columns, rows);
    for finding in compared() {
        h.event(Event::Finding { generation: 2, finding: Box::new(finding) });
    }
    h.event(Event::Finished { job: 2, generation: 2, outcome: Outcome::Done, seconds: 9.5 });
    h
}
