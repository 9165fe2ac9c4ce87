//! Made-up results for tests: three models, one relation, two prompts.

use super::candidates::Candidates;
use super::consistency::Regime;
use super::finding::{
    ALL, AdjustedFinding, DataFinding, DisparityFinding, Kind, LedgerFinding, ModelNote, PreferenceSummaryFinding,
    PromptPreferenceFinding, PromptScoreFinding, RankConsistencyFinding, RankCurveFinding, RelationFinding, TOP_TOKEN,
    TunedFinding, VerbalizationFinding,
};
use super::ledger::Ledger;
use super::places::Ties;
use super::results::Results;
use super::spec::{Sharing, Weighting};
use crate::Finding;
use lab::FindingKind as _;
use lab::LabId;
use stats::estimate::Estimate;

/// An estimate with an interval of width .1.
pub fn estimate(mean: f64) -> Estimate {
    Estimate { mean, lo: mean - 0.05, hi: mean + 0.05 }
}

pub fn finding(model: &str, kind: Kind) -> Finding {
    Finding {
        lab: LabId::Prompts,
        spec: "0123456789ab".into(),
        model: model.into(),
        seed: 0,
        n: 40,
        r#final: true,
        t: 1.5,
        level: kind.has_interval().then_some(0.95),
        body: lab::Body::Lab(kind),
    }
}

const RULE: Option<Candidates> = Some(Candidates::Vocabulary);
const MODELS: [&str; 3] = ["a", "b", "c"];
const PROMPTS: [&str; 2] = ["The capital of [X] is [Y] .", "As its capital , [X] has [Y] ."];
const SCORES: [[f64; 2]; 3] = [[0.4, 0.1], [0.2, 0.3], [0.2, 0.2]];

/// Findings of every kind that a run reports.
pub fn findings() -> Vec<Finding> {
    let note = |name: &&str| ModelNote {
        name: (*name).into(),
        hash: "cafe".into(),
        asked: "masked".into(),
        words_taken: 1,
        taken: vec!["word".into()],
    };
    let mut list = vec![
        finding(
            ALL,
            Kind::Data(DataFinding {
                sources: Vec::new(),
                data_hash: "feedbeef0123".into(),
                relations: vec!["capital".into()],
                left_out: Vec::new(),
                models: MODELS.iter().map(note).collect(),
                candidates: Candidates::Vocabulary,
                common_words: 500,
                function_words: 200,
            }),
        ),
        finding(
            ALL,
            Kind::Relation(RelationFinding {
                relation: "capital".into(),
                label: "capital of a country".into(),
                relation_kind: "1-1".into(),
                prompts: PROMPTS.map(str::to_owned).to_vec(),
                facts: 42,
                kept: 40,
                left_out: Vec::new(),
                prompts_left_out: Vec::new(),
                mentions: 3,
                weights: vec![0.5, 0.5],
                candidates: RULE,
            }),
        ),
    ];
    for (model, scores) in MODELS.iter().zip(SCORES) {
        list.extend(about(model, scores));
    }
    for (a, b) in [("a", "b"), ("a", "c"), ("b", "c")] {
        list.push(finding(a, Kind::Ledger(ledger(a, b))));
    }
    for prompts in 1..=2 {
        let consistency = estimate(0.3 * prompts as f64);
        let found = RankCurveFinding {
            prompts,
            consistency,
            mean_place: 0.7,
            histograms: vec![vec![20, 80, 200]; 3],
            draws: 300,
            candidates: RULE,
        };
        list.push(finding(ALL, Kind::RankCurve(found)));
    }
    for gamma in [None, Some(0.0), Some(1.0)] {
        let p_at_1 = estimate(0.3 + gamma.unwrap_or(0.1));
        list.push(finding(
            "a",
            Kind::Disparity(DisparityFinding { gamma, p_at_1, steps: 90, candidates: Some(TOP_TOKEN.into()) }),
        ));
    }
    list.push(finding("a", Kind::Tuned(tuned())));
    list
}

fn tuned() -> TunedFinding {
    TunedFinding {
        relation: "capital".into(),
        name: "tuned 1".into(),
        prompt: "[X] city main [Y] .".into(),
        control: "[X] seven main [Y] .".into(),
        found_for: "a".into(),
        p_at_1: estimate(0.45),
        control_p_at_1: estimate(0.1),
        first_p_at_1: estimate(0.4),
        gap_written: Some(0.3),
        gap_all: Some(0.35),
        stability: Some(estimate(0.5)),
        first_stability: Some(estimate(0.4)),
        subjects: vec!["Norway".into(), "Peru".into()],
        objects_seen: 0.25,
        losses: vec![5.0, 4.5, 4.25],
        rounds: 6,
        candidates: Candidates::Vocabulary,
    }
}

fn ledger(a: &str, b: &str) -> LedgerFinding {
    let e = |mean: f64| Estimate { mean, lo: 0.5 * mean, hi: 2.0 * mean };
    let parts = Ledger {
        model_itself: estimate(0.12),
        total: e(1e-3),
        prompt: e(6e-4),
        mention: e(1e-4),
        sample: e(2e-4),
        residual: e(1e-4),
        prompt_unbiased: e(5e-4),
        prompt_share: Some(estimate(0.6)),
        prompt_unbiased_share: Some(estimate(0.5)),
    };
    LedgerFinding { a: a.into(), b: b.into(), draws: Sharing::Shared, relations: 1, candidates: RULE, parts }
}

fn about(model: &str, scores: [f64; 2]) -> Vec<Finding> {
    let mut list = Vec::new();
    for (k, (prompt, score)) in PROMPTS.iter().zip(scores).enumerate() {
        list.push(finding(
            model,
            Kind::PromptScore(PromptScoreFinding {
                relation: "capital".into(),
                prompt: (*prompt).into(),
                prompt_index: Some(k),
                candidates: Candidates::Vocabulary,
                p_at_1: Estimate { mean: score, lo: score - 0.05, hi: score + 0.05 },
                p_at_k: estimate(score + 0.2),
                k: 5,
                mrr: estimate(score + 0.1),
            }),
        ));
    }
    let (worst, best) = (scores[0].min(scores[1]), scores[0].max(scores[1]));
    list.push(finding(
        model,
        Kind::PromptPreference(PromptPreferenceFinding {
            relation: "capital".into(),
            prompts: 2,
            worst: estimate(worst),
            best: estimate(best),
            gap: estimate(best - worst),
            std: estimate((best - worst) / 2.0),
            mean: estimate((best + worst) / 2.0),
            gap_held_out: Some(best - worst - 0.05),
            gap_held_out_interval: None,
            gap_by_chance: Some(0.05),
            gap_by_chance_interval: None,
            candidates: RULE,
        }),
    ));
    list.push(finding(
        model,
        Kind::PreferenceSummary(PreferenceSummaryFinding {
            relations: 1,
            over_10: estimate(0.5),
            relations_over_10: 1,
            mean_worst: Some(estimate(worst)),
            mean_best: Some(estimate(best)),
            mean_gap: Some(estimate(best - worst)),
            mean_std: Some(estimate(0.1)),
            mean_adjusted: Some(estimate(0.25)),
            mean_gap_held_out: None,
            mean_gap_by_chance: None,
            mean_stability: None,
            unstable: None,
            unstable_relations: None,
            candidates: RULE,
        }),
    ));
    list.push(finding(
        model,
        Kind::Verbalization(VerbalizationFinding {
            relation: "capital".into(),
            stability: Some(estimate(0.4)),
            kept: 30,
            mentions: 5,
            candidates: RULE,
        }),
    ));
    list.push(finding(
        model,
        Kind::Adjusted(AdjustedFinding {
            relation: "capital".into(),
            p_at_1: estimate(0.25),
            prompts: 2,
            mentions: 3,
            weights: Weighting::Uniform,
            candidates: RULE,
        }),
    ));
    list.extend(places(model));
    list
}

fn places(model: &str) -> Vec<Finding> {
    let mut list = Vec::new();
    for regime in Regime::ALL {
        for name in [model, ALL] {
            let order = (name == ALL).then(|| MODELS.map(str::to_owned).to_vec());
            list.push(finding(
                name,
                Kind::RankConsistency(RankConsistencyFinding {
                    regime,
                    consistency: estimate(0.6),
                    draws: 1000,
                    subset: 20,
                    relations: 32,
                    histogram: vec![600, 300, 100],
                    step: 1.0,
                    ties: Ties::EarlierLower,
                    exact: false,
                    orders: order.as_ref().map(|_| 6),
                    order,
                    candidates: RULE,
                }),
            ));
        }
    }
    list
}

pub fn results() -> Results {
    let mut results = Results::default();
    for finding in findings() {
        if let lab::Body::Lab(kind) = &finding.body {
            results.take(finding.head(), kind);
        }
    }
    results
}

#[cfg(test)]
mod tests {
    use lab::finding::KindSet;

    use super::*;
    use crate::KINDS;

    impl KindSet for Kind {
        fn read<'de, D: serde::Deserializer<'de>>(_: LabId, kind: &str, rest: D) -> Result<Self, D::Error> {
            Kind::read(kind, rest)
        }

        fn knows(_: LabId, kind: &str) -> bool {
            KINDS.iter().any(|k| k.name == kind)
        }
    }

    #[test]
    fn findings_are_flat_and_round_trip() {
        for finding in findings() {
            let json = serde_json::to_value(&finding).unwrap();
            assert_eq!(serde_json::from_value::<Finding>(json.clone()).unwrap(), finding, "{json}");
            let keys: &[&str] = match json["kind"].as_str().unwrap() {
                "prompt_score" => &["relation", "prompt", "prompt_index", "candidates", "p_at_1", "p_at_k", "k", "mrr"],
                "prompt_preference" => &["relation", "prompts", "worst", "best", "gap", "std", "mean"],
                "verbalization" => &["relation", "stability", "kept", "mentions"],
                "adjusted" => &["relation", "p_at_1", "prompts", "mentions", "weights"],
                "rank_consistency" => &["regime", "consistency", "draws", "subset", "relations", "histogram"],
                "disparity" => &["gamma", "p_at_1", "steps"],
                "ledger" => {
                    &["a", "b", "total", "prompt", "mention", "sample", "model_itself", "residual", "prompt_unbiased"]
                }
                _ => &[],
            };
            for key in keys.iter().chain(&["candidates"]) {
                assert!(json.get(key).is_some(), "{key} in {json}");
            }
        }
    }

    /// Sessions recorded before findings stated their rule can still be read.
    #[test]
    fn old_findings_without_rule_are_read() {
        for finding in findings() {
            let mut json = serde_json::to_value(&finding).unwrap();
            let old = ["data", "prompt_score", "tuned"].iter().all(|kind| json["kind"] != *kind);
            let object = json.as_object_mut().unwrap();
            if old {
                object.remove("candidates");
            }
            if let Some(models) = object.get_mut("models").and_then(|m| m.as_array_mut()) {
                for model in models.iter_mut().filter_map(|m| m.as_object_mut()) {
                    model.retain(|key, _| !["words_taken", "taken"].contains(&key.as_str()));
                }
            }
            let again = serde_json::from_value::<Finding>(json.clone()).unwrap();
            assert!(!old || serde_json::to_value(&again).unwrap() == json, "{json}");
        }
    }

    #[test]
    fn older_answer_does_not_replace_newer_one() {
        let mut results = results();
        assert!(results.answer(7, []) && !results.answer(6, []) && results.answer(7, []));
    }
}
