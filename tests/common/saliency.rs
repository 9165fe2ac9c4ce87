//! Findings and answers of the saliency lab in a fake run.

use probity::engine::message::{Answer, Command, Event, Outcome, Question};
use probity::lab::FindingKind as _;
use probity::lab::saliency::finding::{
    ALL, AccuracyFinding, Answers, AttentionFinding, CorrectnessFinding, DataFinding, DifferenceFinding, DimensionNote,
    Guess, InterpretabilityFinding, Kind, ModelNote, OWN, PredictionFinding, RatioFinding, SaliencyFinding, Sample,
    SentenceFinding, Subword,
};
use probity::lab::saliency::question::Question as Asked;
use probity::lab::saliency::spec::{Direction, Spec};
use probity::lab::{self, Finding, LabId};
use probity::stats::estimate::Estimate;
use probity::tui::action::{Action, Effect};
use probity::tui::state::Start;

use super::{Harness, models, ready, start};

const MODELS: [&str; 2] = ["bert-mini", "roberta-mini"];
const METHODS: [&str; 2] = ["attention", "integrated_gradients"];

pub(crate) fn asks_two() -> Spec {
    Spec { models: MODELS.map(str::to_owned).to_vec(), ..Spec::shipped() }
}

fn finding(model: &str, n: usize, kind: Kind) -> Finding {
    Finding {
        lab: LabId::Saliency,
        spec: lab::Spec::from(asks_two()).hash(),
        model: model.into(),
        seed: 0,
        n,
        r#final: true,
        t: 1.5,
        level: kind.has_interval().then_some(0.95),
        body: lab::Body::Lab(kind.into()),
    }
}

/// A sentence as in the benchmark.
struct Given {
    id: &'static str,
    dimension: &'static str,
    kind: Option<&'static str>,
    original: Option<&'static str>,
    partners: &'static [&'static str],
    text: &'static str,
    gold: &'static [usize],
    answer: &'static str,
}

const GIVEN: [Given; 6] = [
    Given {
        id: "1",
        dimension: "grammar",
        kind: None,
        original: None,
        partners: &["2", "3"],
        text: "The keys to the cabinet [MASK] on the table .",
        gold: &[1],
        answer: "are",
    },
    Given {
        id: "2",
        dimension: "grammar",
        kind: Some("dispens"),
        original: Some("1"),
        partners: &[],
        text: "The rusty keys to the old cabinet [MASK] on the table .",
        gold: &[2],
        answer: "are",
    },
    Given {
        id: "3",
        dimension: "grammar",
        kind: Some("trans"),
        original: Some("1"),
        partners: &[],
        text: "On the table [MASK] the keys to the cabinet .",
        gold: &[5],
        answer: "are",
    },
    Given {
        id: "4",
        dimension: "knowledge",
        kind: None,
        original: None,
        partners: &["5"],
        text: "法国 的 首都 是 [MASK] 。",
        gold: &[0, 2],
        answer: "巴黎",
    },
    Given {
        id: "5",
        dimension: "knowledge",
        kind: Some("import"),
        original: Some("4"),
        partners: &[],
        text: "意大利 的 首都 是 [MASK] 。",
        gold: &[0, 2],
        answer: "罗马",
    },
    Given {
        id: "6",
        dimension: "computation",
        kind: None,
        original: None,
        partners: &[],
        text: "\u{202e}שתיים \u{1b}[2J plus two is [MASK] .",
        gold: &[0, 3],
        answer: "four",
    },
];

fn sentence(given: &Given) -> SentenceFinding {
    let words: Vec<String> = given.text.split(' ').map(str::to_owned).collect();
    let masks = words.iter().position(|w| w == "[MASK]").into_iter().collect();
    SentenceFinding {
        sentence: given.id.into(),
        dimension: given.dimension.into(),
        sample: if given.original.is_some() { Sample::Perturbed } else { Sample::Original },
        perturbation: given.kind.map(str::to_owned),
        original: given.original.map(str::to_owned),
        partners: given.partners.iter().map(|p| (*p).to_owned()).collect(),
        text: given.text.into(),
        spans: Vec::new(),
        masks,
        gold: vec![given.gold.to_vec()],
        answer: Some(given.answer.into()),
        other_answers: Vec::new(),
        alignment: None,
        words,
    }
}

/// A score from -1 to 1 that varies from word to word.
fn truth(word: usize, model: usize, method: usize) -> f32 {
    let x = (word * 7 + model * 3 + method * 5 + 2) % 11;
    let score = x as f32 / 10.0;
    if method == 0 { score * 0.3 } else { score - 0.35 }
}

fn row(s: &SentenceFinding, model: usize, method: usize, complete: bool) -> SaliencyFinding {
    let scores: Vec<f32> =
        (0..s.words.len()).map(|w| if s.masks.contains(&w) { 0.0 } else { truth(w, model, method) }).collect();
    let mut ranking: Vec<usize> = (0..s.words.len()).filter(|w| !s.masks.contains(w)).collect();
    ranking.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]).then(a.cmp(b)));
    let of_ig = method == 1;
    let halves = |(w, text): (usize, &String)| {
        let (a, b) = text.split_at(text.char_indices().nth(3).map_or(text.len(), |(i, _)| i));
        let piece = |text: String| Subword { text, words: vec![w], score: scores[w] / 2.0 };
        if b.is_empty() {
            vec![Subword { text: a.into(), words: vec![w], score: scores[w] }]
        } else {
            vec![piece(a.into()), piece(format!("##{b}"))]
        }
    };
    SaliencyFinding {
        sentence: s.sentence.clone(),
        dimension: s.dimension.clone(),
        sample: s.sample,
        perturbation: s.perturbation.clone(),
        method: METHODS[method].into(),
        tokens: s.words.clone(),
        excluded: s.masks.clone(),
        k: if s.sample == Sample::Own { 0 } else { 2 },
        subwords: s.words.iter().enumerate().flat_map(halves).collect(),
        target: "are".into(),
        token_f1: (s.sample != Sample::Own).then_some(0.5),
        gap: of_ig.then_some(if complete { 0.013 } else { 0.21 }),
        steps: of_ig.then_some(if complete { 100 } else { 800 }),
        complete: of_ig.then_some(complete),
        sufficiency: None,
        comprehensiveness: None,
        sensitivity: None,
        scores,
        ranking,
    }
}

fn prediction(s: &SentenceFinding, model: usize) -> PredictionFinding {
    let right = !(s.sentence.len() + model).is_multiple_of(2) || s.sentence == "1";
    let known = s.sample != Sample::Own;
    let guess = |answer: &str, probability| Guess { answer: answer.into(), probability };
    let own = s.answer.clone().unwrap_or_else(|| "are".into());
    let top = if right {
        vec![guess(&own, 0.62), guess("is", 0.21), guess("were", 0.0412)]
    } else {
        vec![guess("is", 0.55), guess(&own, 0.31), guess("was", 0.02)]
    };
    PredictionFinding {
        sentence: s.sentence.clone(),
        dimension: s.dimension.clone(),
        sample: s.sample,
        perturbation: s.perturbation.clone(),
        masks: 1,
        top,
        answer_probability: known.then_some(0.31),
        top1: known.then_some(right),
        top3: known.then_some(true),
    }
}

fn estimate(mean: f64) -> Estimate {
    Estimate { mean, lo: mean - 0.05, hi: mean + 0.04 }
}

fn data() -> DataFinding {
    let dimension =
        |name: &str, originals, perturbed, ratio| DimensionNote { dimension: name.into(), originals, perturbed, ratio };
    let model = |name: &&str| ModelNote {
        name: (*name).into(),
        hash: "a41b77c0de93".into(),
        methods: METHODS.map(str::to_owned).to_vec(),
        refused: Vec::new(),
        inputs: 6,
        layers: 4,
        heads: 4,
        cut: 0,
    };
    DataFinding {
        source: "built-in rationales (en)".into(),
        sha256: "5f1c2a9be0d4".into(),
        originals: 3,
        perturbed: 3,
        dimensions: vec![
            dimension("grammar", 1, 2, 0.3),
            dimension("knowledge", 1, 1, 0.46),
            dimension("computation", 1, 0, 0.6),
        ],
        left_out: Vec::new(),
        models: MODELS.iter().map(model).collect(),
        k: "ratio of the dimension".into(),
    }
}

fn judged(dimension: &str, perturbation: &str, model: usize, method: usize) -> InterpretabilityFinding {
    let at = 0.4 + 0.1 * model as f64 - 0.05 * method as f64;
    InterpretabilityFinding {
        dimension: dimension.into(),
        perturbation: perturbation.into(),
        method: METHODS[method].into(),
        token_f1: Some(estimate(at)),
        random_f1: Some(estimate(0.29)),
        f1_above: Some(estimate(at - 0.29)),
        map: Some(estimate(at + 0.4)),
        random_map: Some(estimate(0.31)),
        pcc: Some(estimate(0.93)),
        pcc_all: Some(estimate(0.71)),
        pcc_kept: 41,
        pcc_total: 60,
        pcc_undefined: 2,
        map_star: Some(estimate(at + 0.42)),
        f1_delta: Some(estimate(0.06)),
        f1_delta_signed: Some(estimate(-0.06)),
        f1_delta_pairs: Some(estimate(0.11)),
        ratio: Some(0.31),
        sufficiency: None,
        comprehensiveness: None,
        sensitivity: None,
        stability: None,
        pairs: 62,
        missing: 0,
        originals: 50,
        incomplete: 1,
    }
}

fn tables(model: usize) -> Vec<Finding> {
    let name = MODELS[model];
    let mut list = Vec::new();
    for sample in ["original", "perturbed", ALL] {
        let (top1, top3) = (estimate(0.55), estimate(0.75));
        let accuracy = AccuracyFinding {
            change: None,
            dimension: "grammar".into(),
            sample: sample.into(),
            perturbation: ALL.into(),
            top1,
            top3,
        };
        list.push(finding(name, 112, Kind::Accuracy(accuracy)));
    }
    for (method, key) in METHODS.iter().enumerate() {
        for (at, answers) in [Answers::Right, Answers::Wrong, Answers::Changed].into_iter().enumerate() {
            let is = |other| answers == other;
            let numbers = InterpretabilityFinding {
                token_f1: Some(estimate(0.5 - 0.04 * at as f64)).filter(|_| !is(Answers::Changed)),
                f1_above: Some(estimate(0.21 - 0.04 * at as f64)).filter(|_| !is(Answers::Changed)),
                ..judged(ALL, ALL, model, method)
            };
            let [f1_gap, map_gap] = [0.04, -0.01].map(|gap| Some(estimate(gap)).filter(|_| is(Answers::Right)));
            let found = CorrectnessFinding { answers, f1_gap, f1_gap_p: f1_gap.map(|_| 0.01), map_gap, numbers };
            list.push(finding(name, [61, 51, 23][at], Kind::Correctness(Box::new(found))));
        }
        for (dimension, kind) in [("grammar", ALL), ("knowledge", ALL), ("grammar", "dispens")] {
            list.push(finding(name, 112, Kind::Interpretability(Box::new(judged(dimension, kind, model, method)))));
        }
        for bin in 0..5 {
            let from = f64::from(bin) / 5.0;
            let ratio = RatioFinding {
                dimension: ALL.into(),
                method: (*key).into(),
                from,
                to: from + 0.2,
                ratio: from + 0.11,
                token_f1: Some(estimate(0.2 + 0.6 * from + 0.1 * method as f64)),
                random_f1: Some(estimate(from + 0.08)),
                map: Some(estimate(0.5 + 0.3 * from - 0.1 * method as f64)),
                random_map: Some(estimate(0.3)),
                originals: None,
            };
            list.push(finding(name, 22, Kind::Ratio(ratio)));
        }
    }
    list
}

/// All findings of a run; an unfinished run has reached the second sentence for its first model.
pub(crate) fn scored(finished: bool) -> Vec<Finding> {
    let sentences: Vec<SentenceFinding> = GIVEN.iter().map(sentence).collect();
    let mut list = vec![finding(ALL, 6, Kind::Data(data()))];
    list.extend(sentences.iter().map(|s| finding(ALL, s.words.len(), Kind::Sentence(s.clone()))));
    let reached = if finished { sentences.len() } else { 2 };
    for (m, model) in MODELS.iter().enumerate().take(if finished { 2 } else { 1 }) {
        for s in &sentences[..reached] {
            list.push(finding(model, 1, Kind::Prediction(prediction(s, m))));
            for method in 0..METHODS.len() {
                let complete = s.sentence != "4";
                list.push(finding(model, s.words.len(), Kind::Saliency(row(s, m, method, complete))));
            }
        }
        if finished {
            list.extend(tables(m));
        }
    }
    if finished {
        let test = DifferenceFinding {
            a: "bert-mini attention".into(),
            b: "bert-mini integrated_gradients".into(),
            metric: "token_f1".into(),
            difference: estimate(0.05),
            p: 0.0213,
            test: "paired permutation".into(),
        };
        list.push(finding(ALL, 50, Kind::Difference(test)));
    }
    list
}

pub(crate) fn seen(ticket: u64, generation: u64, question: &lab::Question) -> Event {
    let lab::Question::Saliency(asked) = question else { panic!("a question to a different lab: {question:?}") };
    let findings = match asked {
        Asked::Sentence(q) => typed(&q.text, &q.models, &q.methods),
        Asked::Attention(q) => vec![heads(q.sentence.as_deref(), &q.text)],
    };
    Event::Answer { ticket, answer: Answer::Experiment { generation, findings } }
}

fn typed(text: &str, models: &[String], methods: &[String]) -> Vec<Finding> {
    let given =
        Given { id: OWN, dimension: "", kind: None, original: None, partners: &[], text: "", gold: &[], answer: "" };
    let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    let masks = words.iter().position(|w| w == "[MASK]").into_iter().collect();
    let s = SentenceFinding {
        sample: Sample::Own,
        text: text.into(),
        masks,
        gold: Vec::new(),
        answer: None,
        words,
        ..sentence(&given)
    };
    let mut list = vec![finding(ALL, s.words.len(), Kind::Sentence(s.clone()))];
    for model in models {
        let m = MODELS.iter().position(|x| x == model).expect("a model of the run");
        list.push(finding(model, 1, Kind::Prediction(prediction(&s, m))));
        for method in methods {
            let at = METHODS.iter().position(|x| x == method).expect("a method of the run");
            list.push(finding(model, s.words.len(), Kind::Saliency(row(&s, m, at, true))));
        }
    }
    list
}

fn heads(id: Option<&str>, text: &str) -> Finding {
    let given = GIVEN.iter().find(|g| Some(g.id) == id);
    let text = given.map_or(text, |g| g.text);
    let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    let excluded: Vec<usize> = words.iter().position(|w| w == "[MASK]").into_iter().collect();
    let weight = |layer: usize, head: usize, word: usize| {
        if excluded.contains(&word) { 0.0 } else { ((layer * 5 + head * 3 + word * 7) % 13) as f32 / 40.0 }
    };
    let scores =
        (0..4).map(|l| (0..4).map(|h| (0..words.len()).map(|w| weight(l, h, w)).collect()).collect()).collect();
    let attention = AttentionFinding {
        sentence: id.unwrap_or(OWN).into(),
        direction: Direction::FromMask,
        scores,
        words,
        excluded,
    };
    finding(MODELS[0], 9, Kind::Attention(attention))
}

/// A harness showing the lab before its run.
pub(crate) fn unasked(columns: u16, rows: u16) -> Harness {
    Harness::of(Start { size: (columns, rows), spec: asks_two().into(), ..start() })
}

/// [`unasked`] after a run was requested.
pub(crate) fn scoring(columns: u16, rows: u16) -> Harness {
    let mut h = unasked(columns, rows);
    h.act(Action::Start);
    h.event(ready());
    h.event(models());
    h
}

/// [`scoring`] with a complete run.
pub(crate) fn has_scored(columns: u16, rows: u16) -> Harness {
    let mut h = scoring(columns, rows);
    h.events(scored(true));
    h.event(Event::Finished { job: 1, generation: 1, outcome: Outcome::Done, seconds: 12.3 });
    answer_latest(&mut h);
    h
}

/// The latest question sent to the lab, with its generation and ticket.
pub(crate) fn latest(effects: &[Effect]) -> Option<(u64, u64, lab::Question)> {
    effects.iter().rev().find_map(|e| match e {
        Effect::Send(Command::Ask { ticket, question: Question::Experiment { generation, question } }) => {
            Some((*ticket, *generation, question.clone()))
        }
        _ => None,
    })
}

pub(crate) fn answer_latest(h: &mut Harness) {
    let (ticket, generation, question) = latest(&h.effects).expect("a question");
    h.event(seen(ticket, generation, &question));
}
