//! Arbitrary commands, events and findings.

use probity::base::Problem;
use probity::corpus::own::{Dropped, Provenance};
use probity::engine::data::{
    DataAnswer, DataDiagnosis, DataInspection, DataQuestion, DataRequest, Part, Parts,
};
use probity::engine::finding::{
    BehaviourFinding, Body, DataFinding, ExampleFinding, Finding, OptimumFinding, ProbeFinding, ProbeRole,
    ReliabilityFinding, Shift, SummaryFinding,
};
use probity::engine::message::{
    Command, EngineInfo, Event, ModelInfo, Notice, NoticeLevel, Outcome, PointRequest, Progress,
};
use probity::engine::spec::{LabId, LayerRef, MethodSpec, OracleKind, Spec};
use probity::stats::estimate::Estimate;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

/// Something that happened, with the seconds since what happened before.
#[derive(Debug, Clone)]
pub enum Op {
    Command(Command),
    Event(Event),
    Note(String),
}

fn text() -> BoxedStrategy<String> {
    prop_oneof!["[a-z]{0,8}", "\\PC{0,4}", Just("\u{1b}[2J\n\"\\\u{202e}".to_owned())].boxed()
}

/// Few names, so that findings meet on the board.
fn name() -> BoxedStrategy<String> {
    prop_oneof![Just("pgd".to_owned()), Just("inlp".to_owned()), text()].boxed()
}

fn real() -> BoxedStrategy<f64> {
    prop_oneof![
        0.0..1.0f64,
        prop::num::f64::NORMAL,
        prop::num::f64::SUBNORMAL,
        Just(0.0),
        Just(-0.0),
        Just(0.112),
        Just(f64::MAX),
        Just(f64::MIN_POSITIVE),
    ]
    .boxed()
}

fn estimate() -> BoxedStrategy<Estimate> {
    (real(), real(), real()).prop_map(|(mean, lo, hi)| Estimate { mean, lo, hi }).boxed()
}

fn oracle() -> BoxedStrategy<OracleKind> {
    prop_oneof![Just(OracleKind::Mlp), Just(OracleKind::Linear)].boxed()
}

fn problem() -> BoxedStrategy<Problem> {
    (text(), text(), text()).prop_map(|(what, place, hint)| Problem { what, r#where: place, hint }).boxed()
}

fn data() -> BoxedStrategy<Body> {
    (name(), text(), vec(vec(0..500usize, 0..3), 0..3), vec(text(), 0..3), (real(), real()))
        .prop_map(|(task, hash, counts, values, phi)| {
            Body::Data(DataFinding {
                task,
                data_hash: hash.clone(),
                source: (counts.len() == 1).then(|| Provenance {
                    path: hash.clone(),
                    format: "plain".into(),
                    sha256: hash.clone(),
                    rows: 9,
                    dropped: vec![Dropped { reason: hash.clone(), count: 1, first_line: 2 }],
                    fit: 8,
                    taken: 7,
                }),
                model_hash: hash,
                layer: 1,
                layers: 4,
                dim: 8,
                counts,
                target_values: values.clone(),
                other_values: values,
                n_oracle: (10, 5),
                n_intervention: 3,
                n_test: 7,
                phi,
                scale: phi,
            })
        })
        .boxed()
}

fn probe() -> BoxedStrategy<Body> {
    (name(), text(), option::of(oracle()), estimate(), real(), any::<bool>())
        .prop_map(|(property, classifier, oracle, accuracy, share, cached)| {
            let role = if oracle.is_some() { ProbeRole::Oracle } else { ProbeRole::Interventional };
            Body::Probe(ProbeFinding {
                role,
                property,
                grid: classifier.clone(),
                classifier,
                oracle,
                layer: 2,
                accuracy,
                majority: share,
                balanced_accuracy: share,
                calibration_error: share,
                cached,
            })
        })
        .boxed()
}

fn reliability() -> BoxedStrategy<Body> {
    (name(), oracle(), real(), estimate(), estimate(), estimate(), any::<usize>(), option::of(real()))
        .prop_map(|(method, oracle, value, completeness, selectivity, reliability, n, completeness_prior)| {
            Body::Reliability(ReliabilityFinding {
                method,
                layer: 3,
                oracle,
                oracle_layer: 4,
                parameter: "epsilon".into(),
                value,
                completeness,
                selectivity,
                reliability,
                n_c: n,
                n_s: n / 2,
                mean_harmonic: value,
                completeness_prior,
            })
        })
        .boxed()
}

fn optimum() -> BoxedStrategy<Body> {
    (name(), oracle(), real(), estimate(), estimate())
        .prop_map(|(method, oracle, value, a, b)| {
            Body::Optimum(OptimumFinding {
                method,
                layer: 3,
                oracle,
                parameter: "epsilon".into(),
                value,
                completeness: a,
                selectivity: b,
                reliability: a,
            })
        })
        .boxed()
}

fn behaviour() -> BoxedStrategy<Body> {
    (name(), real(), estimate(), estimate())
        .prop_map(|(method, value, a, b)| {
            Body::Behaviour(BehaviourFinding {
                method,
                layer: 3,
                parameter: "epsilon".into(),
                value,
                flip_rate: a,
                correct_before: b,
                correct_after: a,
            })
        })
        .boxed()
}

fn example() -> BoxedStrategy<Body> {
    (name(), real(), vec((text(), real(), real()), 0..3), 0..9usize)
        .prop_map(|(method, value, shifts, index)| {
            let shifts: Vec<Shift> =
                shifts.into_iter().map(|(label, before, after)| Shift { label, before, after }).collect();
            Body::Example(ExampleFinding {
                index,
                of: 9,
                text: method.clone(),
                method,
                parameter: "epsilon".into(),
                value,
                oracle: vec![("number".into(), shifts.clone())],
                words: shifts,
                correct: 0,
            })
        })
        .boxed()
}

fn body() -> BoxedStrategy<Body> {
    let summary = (real(), text(), any::<bool>()).prop_map(|(seconds, device, cancelled)| {
        Body::Summary(SummaryFinding { seconds, device, version: "1".into(), cancelled })
    });
    prop_oneof![
        1 => data(),
        1 => probe(),
        4 => reliability(),
        1 => optimum(),
        1 => behaviour(),
        1 => example(),
        1 => summary,
        1 => problem().prop_map(Body::Error),
    ]
    .boxed()
}

fn finding() -> BoxedStrategy<Finding> {
    (body(), name(), any::<u64>(), any::<usize>(), any::<bool>(), real(), option::of(real()))
        .prop_map(|(body, model, seed, n, is_final, t, level)| Finding {
            lab: LabId::Interventions,
            spec: "0123456789ab".into(),
            model,
            seed,
            n,
            r#final: is_final,
            t,
            level,
            body,
        })
        .boxed()
}

fn spec() -> BoxedStrategy<Spec> {
    (
        any::<u64>(),
        vec(name(), 0..3),
        vec((name(), vec(real(), 0..4), real()), 0..3),
        option::of(real()),
        0..4usize,
    )
        .prop_map(|(seed, models, methods, phi, layer)| {
            let mut spec = Spec { seed, models, ..Spec::agreement() };
            spec.task.phi = phi;
            spec.site.layer = if layer == 0 { LayerRef::Last } else { LayerRef::At(layer) };
            let method = |(name, values, option)| MethodSpec {
                name,
                values,
                options: [("steps".to_owned(), option)].into(),
            };
            spec.methods = methods.into_iter().map(method).collect();
            spec
        })
        .boxed()
}

/// Few generations, so that current and stale events both occur.
fn generation() -> BoxedStrategy<u64> {
    (0..3u64).boxed()
}

fn command() -> BoxedStrategy<Command> {
    let request = (generation(), 0..5u64, name(), real()).prop_map(|(generation, ticket, method, value)| {
        Command::Point(PointRequest {
            generation,
            ticket,
            model: method.clone(),
            method,
            options: [("steps".to_owned(), value)].into(),
            value,
            example: 3,
        })
    });
    prop_oneof![
        (generation(), spec()).prop_map(|(generation, spec)| Command::Run {
            job: generation,
            generation,
            spec: Box::new(spec)
        }),
        request,
        Just(Command::ListModels),
        Just(Command::Cancel { job: 1 }),
        any::<bool>().prop_map(|hold| Command::Pause { hold }),
        name().prop_map(|model| Command::Inspect { model }),
        name().prop_map(|model| Command::Check { model }),
        (spec(), 0..5u64, name(), any::<bool>()).prop_map(|(spec, ticket, set, doctor)| {
            let question = if doctor { DataQuestion::Doctor } else { DataQuestion::Inspect };
            Command::Data(DataRequest::of(&spec, ticket, &set, question))
        }),
        Just(Command::CancelData),
        Just(Command::Shutdown),
    ]
    .boxed()
}

fn progress() -> BoxedStrategy<Progress> {
    (text(), any::<u64>(), real(), option::of(real()))
        .prop_map(|(stage, done, rate, left)| Progress {
            stage,
            done,
            total: done,
            unit: "ex".into(),
            rate,
            overall: rate,
            elapsed: rate,
            left,
        })
        .boxed()
}

fn answer() -> BoxedStrategy<DataAnswer> {
    let inspection = (text(), any::<u64>(), real(), option::of(text()), vec(text(), 0..3)).prop_map(
        |(title, rows, seconds, hash, lines)| {
            let part =
                Part { name: title.clone(), n: 3, validation: Some(1), counts: vec![1, 2], phi: seconds };
            let parts = Parts {
                target: title.clone(),
                other: title.clone(),
                seed: rows,
                combinations: lines.clone(),
                parts: vec![part],
            };
            DataAnswer::Inspected(Box::new(DataInspection {
                title,
                rows,
                dropped: rows / 2,
                blank: 1,
                left_out: 0,
                seconds,
                parts: hash.as_ref().map(|_| parts),
                hash,
                examples: lines.clone(),
                lines,
            }))
        },
    );
    let diagnosis = (any::<u64>(), real(), vec(text(), 0..3)).prop_map(|(rows, seconds, lines)| {
        DataAnswer::Examined(Box::new(DataDiagnosis {
            models: lines.clone(),
            rows,
            kept: rows,
            unfit: 0,
            unreadable: rows,
            seconds,
            examples: lines.clone(),
            lines,
        }))
    });
    prop_oneof![inspection, diagnosis, problem().prop_map(DataAnswer::Failed), Just(DataAnswer::Stopped),]
        .boxed()
}

fn event() -> BoxedStrategy<Event> {
    let outcome =
        prop_oneof![Just(Outcome::Done), Just(Outcome::Cancelled), problem().prop_map(Outcome::Failed),];
    let level = prop_oneof![Just(NoticeLevel::Info), Just(NoticeLevel::Warning), Just(NoticeLevel::Error)];
    let model = (name(), any::<u64>()).prop_map(|(name, parameters)| ModelInfo {
        family: name.clone(),
        name,
        layers: 2,
        hidden: 8,
        parameters,
    });
    prop_oneof![
        1 => (text(), text()).prop_map(|(version, device)| Event::Ready(EngineInfo { version, device })),
        1 => vec(model, 0..3).prop_map(|models| Event::Models { models }),
        1 => (generation(), text())
            .prop_map(|(generation, spec_hash)| Event::Started { job: generation, generation, spec_hash }),
        4 => (generation(), progress())
            .prop_map(|(generation, progress)| Event::Progress { generation, progress }),
        6 => (generation(), finding())
            .prop_map(|(generation, finding)| Event::Finding { generation, finding: Box::new(finding) }),
        2 => (generation(), 0..5u64, vec(finding(), 0..3))
            .prop_map(|(generation, ticket, findings)| Event::Point { generation, ticket, findings }),
        1 => (generation(), outcome, real()).prop_map(|(generation, outcome, seconds)| Event::Finished {
            job: generation, generation, outcome, seconds,
        }),
        1 => (level, problem()).prop_map(|(level, problem)| Event::Notice(Notice { level, problem })),
        1 => (0..5u64, progress()).prop_map(|(ticket, progress)| Event::DataProgress { ticket, progress }),
        2 => (0..5u64, answer()).prop_map(|(ticket, answer)| Event::Data { ticket, answer }),
    ]
    .boxed()
}

/// What happens in a session, with pauses long and short against the rate at which progress is recorded.
pub fn ops() -> BoxedStrategy<Vec<(f64, Op)>> {
    let op = prop_oneof![
        2 => command().prop_map(Op::Command),
        8 => event().prop_map(Op::Event),
        1 => text().prop_map(Op::Note),
    ];
    vec((prop_oneof![0.0..0.1f64, 0.0..2.0f64], op), 0..40).boxed()
}
