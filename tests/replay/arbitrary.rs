//! Arbitrary commands, events and findings.

use std::collections::BTreeMap;

use probity::base::Problem;
use probity::engine::data::{DataAnswer, DataDiagnosis, DataInspection, DataQuestion, DataRequest, PartCounts, Parts};
use probity::engine::inspection::{CheckRow, Inspection};
use probity::engine::message::{
    Answer, Command, EngineInfo, Event, ModelAnswer, ModelInfo, ModelQuestion, Notice, NoticeLevel, Outcome, Progress,
    Question, Topic,
};
use probity::lab::interventions::banded::Banded;
use probity::lab::interventions::finding::{
    BehaviourFinding, Beside, ExampleFinding, How, Kind, OnFinding, OptimumFinding, PaperFinding, ReliabilityFinding,
    Shift, Told,
};
use probity::lab::interventions::optimum::End;
use probity::lab::interventions::oracle::OracleKind;
use probity::lab::interventions::question::PointQuestion;
use probity::lab::interventions::spec::{MethodSpec, Spec};
use probity::lab::layer::LayerRef;
use probity::lab::{self, Body, Common, Finding, Forecast, LabId, SummaryFinding};
use probity::stats::estimate::Estimate;
use probity::stats::replicates::Form;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

/// An operation, with the time in seconds since the previous one.
#[derive(Debug, Clone)]
pub(crate) enum Op {
    Command(Command),
    Event(Event),
    Note(String),
}

pub(super) fn text() -> BoxedStrategy<String> {
    prop_oneof!["[a-z]{0,8}", "\\PC{0,4}", Just("\u{1b}[2J\n\"\\\u{202e}".to_owned())].boxed()
}

/// Few names, so that findings coincide on the board.
pub(super) fn name() -> BoxedStrategy<String> {
    prop_oneof![Just("pgd".to_owned()), Just("inlp".to_owned()), text()].boxed()
}

pub(super) fn real() -> BoxedStrategy<f64> {
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

pub(super) fn estimate() -> BoxedStrategy<Estimate> {
    (real(), real(), real()).prop_map(|(mean, lo, hi)| Estimate { mean, lo, hi }).boxed()
}

fn banded() -> BoxedStrategy<Banded> {
    let form = prop_oneof![Just(Form::Normal), real().prop_map(|df| Form::Student { df })];
    (estimate(), option::of([real(), real()]), option::of(form))
        .prop_map(|(e, pair, form)| Banded { sampling: pair, range: pair, sd: pair.map(|p| p[0]), form, ..e.into() })
        .boxed()
}

/// No options or one of two sets, so that two settings of a method coincide on the board.
pub(super) fn options() -> BoxedStrategy<BTreeMap<String, f64>> {
    let one = prop_oneof![Just(3.0), real()].prop_map(|steps| [("steps".to_owned(), steps)].into());
    prop_oneof![2 => Just(BTreeMap::new()), 1 => one].boxed()
}

pub(super) fn oracle() -> BoxedStrategy<OracleKind> {
    prop_oneof![Just(OracleKind::Mlp), Just(OracleKind::Linear)].boxed()
}

fn problem() -> BoxedStrategy<Problem> {
    (text(), text(), text()).prop_map(|(what, place, hint)| Problem { what, r#where: place, hint }).boxed()
}

fn reliability() -> BoxedStrategy<Kind> {
    let scores = (banded(), banded(), banded());
    (name(), options(), oracle(), real(), scores, any::<usize>(), option::of(real()))
        .prop_map(|(method, options, oracle, value, scores, n, completeness_prior)| {
            let (completeness, selectivity, reliability) = scores;
            Kind::Reliability(ReliabilityFinding {
                method,
                options,
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
                beside: Beside {
                    replicates: n % 7,
                    texts: (n % 3 == 1).then_some([n / 4, n / 8]),
                    provisional: n % 2 == 1,
                    s_floor: completeness_prior,
                    s_by_class: completeness_prior.map(|_| selectivity),
                    c_on_s: completeness_prior.map(|_| completeness),
                    c_predicted: completeness_prior,
                    c_before: completeness_prior,
                    ze_balanced_accuracy: completeness_prior.map(Estimate::exact),
                    ze_confusion: vec![vec![value, 0.0], vec![1.0, 2.0]],
                    eligible: completeness_prior.map(|p| p > 0.5),
                    selectivities: completeness_prior.map(|p| on(selectivity, p)).into_iter().collect(),
                },
            })
        })
        .boxed()
}

fn on(selectivity: Banded, value: f64) -> OnFinding {
    OnFinding {
        property: "subject_animacy".into(),
        selectivity,
        n: 3,
        s_floor: Some(value),
        balanced_accuracy: Some(Estimate::exact(value)),
        eligible: value > 0.5,
    }
}

fn optimum() -> BoxedStrategy<Kind> {
    (name(), options(), oracle(), option::of(0..5usize), real(), banded(), banded())
        .prop_map(|(method, options, oracle, oracle_layer, value, a, b)| {
            Kind::Optimum(OptimumFinding {
                method,
                options,
                layer: 3,
                oracle,
                oracle_layer,
                parameter: "epsilon".into(),
                value,
                completeness: a,
                selectivity: b,
                reliability: a,
                how: How {
                    replicates: oracle_layer.unwrap_or(0),
                    chosen: oracle_layer.map(|_| "held_out".into()),
                    eligible: oracle_layer.map(|_| value),
                    choices: vec![(value, 1.0)],
                    at_end: oracle_layer.map(|_| End::Last),
                    paper: oracle_layer.map(|_| PaperFinding {
                        value,
                        completeness: a,
                        selectivity: b,
                        reliability: b,
                        at_end: None,
                    }),
                    selectivities: oracle_layer.map(|_| on(b, value)).into_iter().collect(),
                },
            })
        })
        .boxed()
}

fn behaviour() -> BoxedStrategy<Kind> {
    (name(), options(), real(), banded(), banded())
        .prop_map(|(method, options, value, a, b)| {
            Kind::Behaviour(BehaviourFinding {
                method,
                options,
                layer: 3,
                parameter: "epsilon".into(),
                value,
                flip_rate: a,
                correct_before: b,
                correct_after: a,
                replicates: 3,
                told: Some(Told { rank_before: b, rank_after: a, forms: 80, lost: 7, won: 2, p: 0.18, sweep_p: None }),
            })
        })
        .boxed()
}

fn example() -> BoxedStrategy<Kind> {
    (name(), options(), real(), vec((text(), real(), real()), 0..3), 0..9usize)
        .prop_map(|(method, options, value, shifts, index)| {
            let shifts: Vec<Shift> =
                shifts.into_iter().map(|(label, before, after)| Shift { label, before, after }).collect();
            Kind::Example(ExampleFinding {
                index,
                of: 9,
                text: method.clone(),
                method,
                options,
                parameter: "epsilon".into(),
                value,
                oracle: vec![("number".into(), shifts.clone())],
                absent: Vec::new(),
                words: shifts,
                correct: 0,
            })
        })
        .boxed()
}

fn lab_body(kind: Kind) -> Body {
    Body::Lab(kind.into())
}

fn body() -> BoxedStrategy<Body> {
    let summary = (real(), text(), any::<bool>()).prop_map(|(seconds, device, cancelled)| {
        Common::Summary(SummaryFinding { seconds, device, version: "1".into(), cancelled })
    });
    prop_oneof![
        1 => super::trained::data().prop_map(lab_body),
        1 => super::trained::probe().prop_map(lab_body),
        4 => reliability().prop_map(lab_body),
        1 => optimum().prop_map(lab_body),
        1 => behaviour().prop_map(lab_body),
        1 => example().prop_map(lab_body),
        2 => super::verdicts::verdict().prop_map(lab_body),
        1 => summary.prop_map(Body::from),
        1 => problem().prop_map(|problem| Common::Error(problem).into()),
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
    (any::<u64>(), vec(name(), 0..3), vec((name(), vec(real(), 0..4), real()), 0..3), option::of(real()), 0..4usize)
        .prop_map(|(seed, models, methods, phi, layer)| {
            let mut spec = Spec { seed, models, ..Spec::shipped() };
            spec.task.phi = phi;
            spec.site.layer = if layer == 0 { LayerRef::Last } else { LayerRef::At(layer) };
            let method = |(name, values, option): (String, _, _)| MethodSpec {
                values,
                options: [("steps".to_owned(), option)].into(),
                ..MethodSpec::named(&name)
            };
            spec.methods = methods.into_iter().map(method).collect();
            spec
        })
        .boxed()
}

/// Few generations, so that both current and stale events occur.
fn generation() -> BoxedStrategy<u64> {
    (0..3u64).boxed()
}

fn command() -> BoxedStrategy<Command> {
    let ask = |ticket, question| Command::Ask { ticket, question };
    let point = (generation(), 0..5u64, name(), options(), real()).prop_map(
        move |(generation, ticket, method, options, value)| {
            let model = method.clone();
            let point = PointQuestion { model, method, options, value, example: 3 };
            let question = lab::interventions::Question::Point(point).into();
            ask(ticket, Question::Experiment { generation, question })
        },
    );
    let what = prop_oneof![Just(ModelQuestion::Inspect), Just(ModelQuestion::Check)];
    let model =
        (0..5u64, name(), what).prop_map(move |(ticket, model, what)| ask(ticket, Question::Model { model, what }));
    let topic = prop_oneof![Just(Topic::Experiment), Just(Topic::Model), Just(Topic::Data)];
    prop_oneof![
        (generation(), spec()).prop_map(|(generation, spec)| Command::Run {
            job: generation,
            generation,
            spec: Box::new(spec.into())
        }),
        point,
        Just(Command::ListModels),
        Just(Command::Cancel { job: 1 }),
        any::<bool>().prop_map(|hold| Command::Pause { hold }),
        model,
        (spec(), 0..5u64, name(), any::<bool>()).prop_map(move |(spec, ticket, set, doctor)| {
            let question = if doctor { DataQuestion::Doctor } else { DataQuestion::Inspect };
            let request = DataRequest::of(&spec.task, spec.seed, &spec.models, &set, question);
            ask(ticket, Question::Data(request))
        }),
        topic.prop_map(|topic| Command::Withdraw { topic }),
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
            let part = PartCounts { name: title.clone(), n: 3, validation: Some(1), counts: vec![1, 2], phi: seconds };
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
    prop_oneof![inspection, diagnosis, problem().prop_map(DataAnswer::Failed), Just(DataAnswer::Stopped),].boxed()
}

fn about_model() -> BoxedStrategy<ModelAnswer> {
    let inspected =
        (name(), any::<u64>(), real(), vec((text(), text()), 0..3)).prop_map(|(model, parameters, seconds, facts)| {
            ModelAnswer::Inspected(Box::new(Inspection {
                family: model.clone(),
                hash: model.clone(),
                device: "cpu".into(),
                sample: vec![model.clone()],
                model,
                layers: 2,
                hidden: 8,
                parameters,
                seconds,
                facts,
            }))
        });
    let row = (text(), any::<u64>(), option::of(real()), option::of(real()), text()).prop_map(
        |(quantity, n, deviation, tolerance, verdict)| CheckRow { quantity, n, deviation, tolerance, verdict },
    );
    prop_oneof![inspected, vec(row, 0..3).prop_map(ModelAnswer::Checked), problem().prop_map(ModelAnswer::Failed)]
        .boxed()
}

fn forecast() -> BoxedStrategy<Forecast> {
    (name(), any::<u64>(), real(), option::of((real(), real())), any::<bool>())
        .prop_map(|(model, bytes, seconds, range, refined)| Forecast {
            model,
            bytes,
            parts: Vec::new(),
            seconds,
            range: range.map(|(least, most)| [least, most]),
            because: refined.then(|| "a sample".to_owned()),
            refined,
            tokens_per_batch: 7,
            limit: refined.then_some(bytes),
        })
        .boxed()
}

fn event() -> BoxedStrategy<Event> {
    let reply = |ticket, answer| Event::Answer { ticket, answer };
    let outcome = prop_oneof![Just(Outcome::Done), Just(Outcome::Cancelled), problem().prop_map(Outcome::Failed),];
    let level = prop_oneof![Just(NoticeLevel::Info), Just(NoticeLevel::Warning), Just(NoticeLevel::Error)];
    let model = (name(), any::<u64>()).prop_map(|(name, parameters)| ModelInfo {
        family: name.clone(),
        serves: name.clone(),
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
            .prop_map(move |(generation, ticket, findings)| {
                reply(ticket, Answer::Experiment { generation, findings })
            }),
        1 => (generation(), forecast())
            .prop_map(|(generation, forecast)| Event::Forecast { generation, forecast: Box::new(forecast) }),
        1 => (generation(), outcome, real()).prop_map(|(generation, outcome, seconds)| Event::Finished {
            job: generation, generation, outcome, seconds,
        }),
        1 => (level, problem()).prop_map(|(level, problem)| Event::Notice(Notice { level, problem })),
        1 => (0..5u64, progress()).prop_map(|(ticket, progress)| Event::AnswerProgress { ticket, progress }),
        2 => (0..5u64, answer()).prop_map(move |(ticket, answer)| reply(ticket, Answer::Data(answer))),
        2 => (0..5u64, name(), about_model())
            .prop_map(move |(ticket, model, answer)| reply(ticket, Answer::Model { model, answer })),
    ]
    .boxed()
}

/// Operations in a session, with pauses both shorter and longer than the interval at which progress is recorded.
pub(crate) fn ops() -> BoxedStrategy<Vec<(f64, Op)>> {
    let op = prop_oneof![
        2 => command().prop_map(Op::Command),
        8 => event().prop_map(Op::Event),
        1 => text().prop_map(Op::Note),
    ];
    vec((prop_oneof![0.0..0.1f64, 0.0..2.0f64], op), 0..40).boxed()
}
