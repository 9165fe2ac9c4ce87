//! Findings and answers of the prompts lab in a fake run.

use probity::engine::message::{Answer, Event};
use probity::lab::FindingKind as _;
use probity::lab::prompts::candidates::Candidates;
use probity::lab::prompts::consistency::Regime;
use probity::lab::prompts::finding::{
    ALL, AdjustedFinding, DataFinding, InstanceFinding, InstanceRow, InstancesFinding, Kind, LedgerFinding, LeftOut,
    ModelNote, PreferenceSummaryFinding, PromptPreferenceFinding, PromptScoreFinding, RankConsistencyFinding,
    RankCurveFinding, RelationFinding, TopToken, VerbalizationFinding,
};
use probity::lab::prompts::ledger::Ledger;
use probity::lab::prompts::places::Ties;
use probity::lab::prompts::preference::Preference;
use probity::lab::prompts::question::Question as Asked;
use probity::lab::prompts::spec::{Sharing, Spec, Weighting};
use probity::lab::{self, Finding, LabId};
use probity::stats::estimate::Estimate;

/// The rule for candidate answers behind every number.
const RULE: Option<Candidates> = Some(Candidates::Vocabulary);
const MODELS: [&str; 4] = ["bert-mini", "roberta-mini", "gpt2-mini", "bart-mini"];
const RELATIONS: [(&str, &str, &str, [&str; 3]); 3] = [
    (
        "capital",
        "capital of a country",
        "1-1",
        [
            "The capital of [X] is [Y] .",
            "As its capital city , [X] has [Y] .",
            "Quiz question : what is the capital of [X] ? Answer : [Y] .",
        ],
    ),
    (
        "currency",
        "currency of a country",
        "N-1",
        ["The currency of [X] is the [Y] .", "In [X] people pay with the [Y] .", "Shops in [X] take the [Y] ."],
    ),
    (
        "field",
        "field of a scientist",
        "N-1",
        ["The field of [X] is [Y] .", "[X] is known for work in [Y] .", "Students of [X] learned [Y] ."],
    ),
];

fn estimate(mean: f64) -> Estimate {
    Estimate { mean, lo: (mean - 0.06).max(0.0), hi: (mean + 0.06).min(1.0) }
}

/// Made-up P@1 of a model for a relation and prompt.
fn truth(relation: usize, prompt: usize, model: usize) -> f64 {
    ((relation * 7 + prompt * 5 + model * 11) % 17) as f64 / 20.0
}

fn finding(model: &str, n: usize, kind: Kind) -> Finding {
    Finding {
        lab: LabId::Prompts,
        spec: lab::Spec::from(Spec::shipped()).hash(),
        model: model.into(),
        seed: 0,
        n,
        r#final: true,
        t: 2.5,
        level: kind.has_interval().then_some(0.95),
        body: lab::Body::Lab(kind.into()),
    }
}

/// All findings of a run; an unfinished run has not reached the last relation.
pub(crate) fn recalled(finished: bool) -> Vec<Finding> {
    let note = |name: &&str| ModelNote {
        name: (*name).into(),
        hash: "a41b77c0de93".into(),
        asked: "masked".into(),
        words_taken: 2,
        taken: vec!["ferry".into(), "oslo".into()],
    };
    let mut list = vec![finding(
        ALL,
        126,
        Kind::Data(DataFinding {
            sources: Vec::new(),
            data_hash: "5f1c2a9be0d4".into(),
            relations: RELATIONS.iter().map(|r| r.0.into()).collect(),
            left_out: Vec::new(),
            models: MODELS.iter().map(note).collect(),
            candidates: Candidates::Vocabulary,
            common_words: 1200,
            function_words: 240,
        }),
    )];
    let reached = if finished { RELATIONS.len() } else { RELATIONS.len() - 1 };
    for r in 0..reached {
        list.extend(relation(r));
    }
    if finished {
        list.extend(overall());
    }
    list
}

fn relation(r: usize) -> Vec<Finding> {
    let (id, label, kind, prompts) = RELATIONS[r];
    let reason = "its object is not one token in gpt2-mini".to_owned();
    let mut list = vec![finding(
        ALL,
        40,
        Kind::Relation(RelationFinding {
            relation: id.into(),
            label: label.into(),
            relation_kind: kind.into(),
            prompts: prompts.map(str::to_owned).to_vec(),
            facts: 42,
            kept: 40,
            left_out: vec![LeftOut { reason, count: 2, what: vec!["Ouagadougou".into()] }],
            prompts_left_out: Vec::new(),
            mentions: 3,
            weights: vec![1.0 / 3.0; 3],
            candidates: RULE,
        }),
    )];
    for (m, model) in MODELS.iter().enumerate() {
        let scores: Vec<f64> = (0..3).map(|p| truth(r, p, m)).collect();
        for (p, prompt) in prompts.iter().enumerate() {
            list.push(finding(model, 40, Kind::PromptScore(score(id, prompt, Some(p), scores[p]))));
        }
        let spread = Preference::of(&scores).expect("three prompts");
        list.push(finding(
            model,
            40,
            Kind::PromptPreference(PromptPreferenceFinding {
                relation: id.into(),
                prompts: 3,
                worst: estimate(spread.worst),
                best: estimate(spread.best),
                gap: estimate(spread.gap),
                std: estimate(spread.std),
                mean: estimate(spread.mean),
                gap_held_out: Some(spread.gap - 0.04),
                gap_held_out_interval: None,
                gap_by_chance: Some(0.07),
                gap_by_chance_interval: None,
                candidates: RULE,
            }),
        ));
        list.push(finding(
            model,
            31,
            Kind::Verbalization(VerbalizationFinding {
                relation: id.into(),
                stability: Some(estimate(0.3 + 0.1 * m as f64)),
                kept: 31,
                mentions: 5,
                candidates: RULE,
            }),
        ));
        list.push(finding(
            model,
            40,
            Kind::Adjusted(AdjustedFinding {
                relation: id.into(),
                p_at_1: estimate(spread.mean),
                prompts: 3,
                mentions: 3,
                weights: Weighting::Uniform,
                candidates: RULE,
            }),
        ));
    }
    list
}

fn score(relation: &str, prompt: &str, index: Option<usize>, mean: f64) -> PromptScoreFinding {
    PromptScoreFinding {
        relation: relation.into(),
        prompt: prompt.into(),
        prompt_index: index,
        candidates: Candidates::Vocabulary,
        p_at_1: estimate(mean),
        p_at_k: estimate((mean + 0.1).min(1.0)),
        k: 5,
        mrr: estimate(mean),
    }
}

fn overall() -> Vec<Finding> {
    let mut list = Vec::new();
    for (m, model) in MODELS.iter().enumerate() {
        list.push(finding(
            model,
            3,
            Kind::PreferenceSummary(PreferenceSummaryFinding {
                relations: 3,
                over_10: estimate(0.67),
                relations_over_10: 2,
                mean_worst: Some(estimate(0.1 + 0.05 * m as f64)),
                mean_best: Some(estimate(0.5 + 0.05 * m as f64)),
                mean_gap: Some(estimate(0.4)),
                mean_std: Some(estimate(0.15)),
                mean_adjusted: Some(estimate(0.3 + 0.05 * m as f64)),
                mean_gap_held_out: None,
                mean_gap_by_chance: None,
                mean_stability: None,
                unstable: None,
                unstable_relations: None,
                candidates: RULE,
            }),
        ));
    }
    list.push(finding(
        ALL,
        3,
        Kind::PreferenceSummary(PreferenceSummaryFinding {
            relations: 3,
            over_10: estimate(0.67),
            relations_over_10: 8,
            mean_worst: None,
            mean_best: None,
            mean_gap: None,
            mean_std: None,
            mean_adjusted: None,
            mean_gap_held_out: None,
            mean_gap_by_chance: None,
            mean_stability: None,
            // Two models change places in every relation, which also changes the order with ties.
            unstable: Some(Estimate { mean: 1.0, lo: 0.292, hi: 1.0 }),
            unstable_relations: Some(3),
            candidates: RULE,
        }),
    ));
    list.extend(ranks());
    for (i, a) in MODELS.iter().enumerate() {
        for b in &MODELS[i + 1..] {
            list.push(finding(a, 120, Kind::Ledger(ledger(a, b))));
        }
    }
    list
}

fn ranks() -> Vec<Finding> {
    let mut list = Vec::new();
    for (regime, share) in Regime::ALL.into_iter().zip([0.5, 0.3, 0.8]) {
        for model in MODELS.iter().copied().chain([ALL]) {
            let order = (model == ALL).then(|| MODELS.map(str::to_owned).to_vec());
            list.push(finding(
                model,
                120,
                Kind::RankConsistency(RankConsistencyFinding {
                    regime,
                    consistency: estimate(share),
                    draws: 1000,
                    subset: 2,
                    relations: 3,
                    histogram: vec![100, 200, 600, 100],
                    step: 1.0,
                    ties: Ties::EarlierLower,
                    exact: false,
                    orders: order.as_ref().map(|_| 9),
                    order,
                    candidates: RULE,
                }),
            ));
        }
    }
    for prompts in 1..=3 {
        let consistency = estimate(0.25 * prompts as f64);
        let found = RankCurveFinding {
            prompts,
            consistency,
            mean_place: 0.6,
            histograms: vec![vec![30, 60, 180, 30]; 4],
            draws: 300,
            candidates: RULE,
        };
        list.push(finding(ALL, 120, Kind::RankCurve(found)));
    }
    list
}

fn ledger(a: &str, b: &str) -> LedgerFinding {
    let e = |mean: f64| Estimate { mean, lo: 0.5 * mean, hi: 1.6 * mean };
    let parts = Ledger {
        model_itself: Estimate { mean: 0.083, lo: 0.021, hi: 0.149 },
        total: e(4e-3),
        prompt: e(2.6e-3),
        mention: e(3e-4),
        sample: e(6e-4),
        residual: e(5e-4),
        prompt_unbiased: e(2.4e-3),
        prompt_share: Some(estimate(0.65)),
        prompt_unbiased_share: Some(estimate(0.61)),
    };
    LedgerFinding { a: a.into(), b: b.into(), draws: Sharing::Shared, relations: 3, candidates: RULE, parts }
}

/// The answer to a question of the prompts lab.
pub(crate) fn answered(ticket: u64, generation: u64, question: &lab::Question) -> Event {
    let lab::Question::Prompts(asked) = question else { panic!("a question to a different lab") };
    let findings = match asked {
        Asked::Prompt(own) => MODELS
            .iter()
            .map(|m| finding(m, 40, Kind::PromptScore(score(&own.relation, &own.prompt, None, 0.35))))
            .collect(),
        Asked::Look(look) => looked(&look.relation, &look.prompt),
    };
    Event::Answer { ticket, answer: Answer::Experiment { generation, findings } }
}

fn looked(relation: &str, prompt: &str) -> Vec<Finding> {
    let row = |mentions: &[&str], object: &str, said: [&str; 4]| InstanceRow {
        mentions: mentions.iter().map(|m| (*m).to_owned()).collect(),
        object: object.into(),
        said: said.map(|s| (s.to_owned(), s == object)).to_vec(),
        // The answers of the second model change with the name.
        stable: if mentions.len() > 1 { vec![true, false, true, true] } else { Vec::new() },
    };
    let rows = vec![
        row(&["France", "the French Republic"], "Paris", ["Paris", "Paris", "London", "Paris"]),
        row(&["Norway"], "Oslo", ["Oslo", "Paris", "Oslo", "Bergen"]),
        row(&["Japan", "Nippon"], "Tokyo", ["Tokyo"; 4]),
    ];
    let instances = InstancesFinding {
        relation: relation.into(),
        prompt: prompt.into(),
        models: MODELS.map(str::to_owned).to_vec(),
        rows,
        left_out: vec![("Burkina Faso (Ouagadougou)".into(), "its object is not one token in gpt2-mini".into())],
        candidates: RULE,
    };
    let token = |text: &str, probability, passed| TopToken { text: text.into(), probability, passed };
    let one = |said: &str| InstanceFinding {
        relation: relation.into(),
        prompt: prompt.into(),
        mention: "France".into(),
        object: "Paris".into(),
        text: "The capital of France is [MASK] .".into(),
        top: vec![token("the", 0.4, true), token(said, 0.3, false), token("Rome", 0.1, false)],
        said: said.into(),
        right: said == "Paris",
        rank: Some(if said == "Paris" { 1 } else { 4 }),
        candidates: RULE,
    };
    let each = MODELS.iter().zip(["Paris", "Paris", "London", "Paris"]);
    std::iter::once(finding(ALL, 40, Kind::Instances(instances)))
        .chain(each.map(|(m, said)| finding(m, 1, Kind::Instance(one(said)))))
        .collect()
}
