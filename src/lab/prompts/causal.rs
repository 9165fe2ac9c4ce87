//! The structural causal model of a prompt probe (Cao et al. 2022, Figure 2) and its three backdoor paths, along which model and score are
//! associated without causation.

use serde::{Deserialize, Serialize};

use super::spec::Spec;
use figure::layers::{Edge, Graph, Node};

/// A bias: a backdoor path from model to performance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bias {
    /// A model's training text and the wording of the prompts come from the same language.
    Prompt,
    /// A model's training text and the names in facts come from the same language.
    Verbalization,
    /// A model's training text and the queried facts come from the same distribution.
    Sample,
}

/// Names and grid positions of the variables, from left to right and top to bottom.
const NODES: [(&str, (f64, f64)); 11] = [
    ("D_a training data", (0.0, 0.0)),
    ("C corpus", (1.5, 0.0)),
    ("M model", (3.0, 0.0)),
    ("L language", (1.5, 1.0)),
    ("R relation", (0.0, 1.5)),
    ("P prompt", (3.0, 1.2)),
    ("I predictor", (4.2, 0.6)),
    ("D_b probing data", (0.0, 3.0)),
    ("T facts", (1.5, 3.0)),
    ("X mentions", (3.0, 2.4)),
    ("E performance", (4.4, 1.8)),
];
const DA: usize = 0;
const C: usize = 1;
const M: usize = 2;
const L: usize = 3;
const R: usize = 4;
const P: usize = 5;
const I: usize = 6;
const DB: usize = 7;
const T: usize = 8;
const X: usize = 9;
const E: usize = 10;

/// The arrows of the causal model. The last one represents queries sampled from the training text.
const EDGES: [(usize, usize); 14] = [
    (DA, C),
    (L, C),
    (C, M),
    (L, P),
    (R, P),
    (M, I),
    (P, I),
    (I, E),
    (X, E),
    (L, X),
    (T, X),
    (DB, T),
    (R, T),
    (DA, DB),
];

impl Bias {
    /// All biases, in the order of the paper.
    pub const ALL: [Self; 3] = [Self::Prompt, Self::Verbalization, Self::Sample];

    /// The name in figures.
    pub fn name(self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::Verbalization => "verbalization",
            Self::Sample => "sample",
        }
    }

    pub fn title(self) -> &'static str {
        match self {
            Self::Prompt => "prompt preference",
            Self::Verbalization => "instance verbalisation",
            Self::Sample => "sample disparity",
        }
    }

    /// The arrows of the backdoor path.
    fn path(self) -> &'static [(usize, usize)] {
        match self {
            Self::Prompt => &[(C, M), (L, C), (L, P), (P, I), (I, E)],
            Self::Verbalization => &[(C, M), (L, C), (L, X), (X, E)],
            Self::Sample => &[(C, M), (DA, C), (DA, DB), (DB, T), (T, X), (X, E)],
        }
    }

    /// The common cause on the path: arrows lead from it to both ends.
    pub fn common_cause(self) -> &'static str {
        match self {
            Self::Prompt | Self::Verbalization => "L",
            Self::Sample => "D_a",
        }
    }

    /// The path, written with the letters of its variables.
    pub fn letters(self) -> &'static str {
        match self {
            Self::Prompt => "M ← C ← L → P → I → E",
            Self::Verbalization => "M ← C ← L → X → E",
            Self::Sample => "M ← C ← D_a → D_b → T → X → E",
        }
    }

    /// Sentences on how the path is blocked, and how far the spec does this.
    pub fn blocked(self, spec: &Spec) -> String {
        let Spec { adjust, data, disparity, .. } = spec;
        let prompts = match adjust.prompts.into_iter().chain(data.prompts).min() {
            Some(1) => "one prompt per relation: nothing is averaged".to_owned(),
            Some(n) => format!("up to {n} prompts per relation"),
            None => "all prompts of a relation".to_owned(),
        };
        let most = adjust.mentions.map_or(data.mentions, |n| n.min(data.mentions));
        let names = match most {
            1 => "one name per subject: nothing is averaged".to_owned(),
            n => format!("up to {n} names per subject"),
        };
        match self {
            Self::Prompt => {
                format!(
                    "Averaging over prompts (P) removes this bias. Here: {prompts}, weights {}.",
                    adjust.weights.name()
                )
            }
            Self::Verbalization => format!("Averaging over names (X) removes this bias. Here: {names}."),
            Self::Sample => {
                let facts = match (&data.files[..], data.instances) {
                    ([], None) => "the built-in facts".to_owned(),
                    ([], Some(n)) => format!("up to {n} built-in facts per relation"),
                    (_, None) => "the facts in the files".to_owned(),
                    (_, Some(n)) => format!("up to {n} facts per relation from the files"),
                };
                let mixtures = match disparity.gammas.len() {
                    0 => "further pretraining on mixtures, which would measure the bias, is off".to_owned(),
                    n => {
                        format!("further pretraining on {n} mixture{} measures the bias", if n == 1 { "" } else { "s" })
                    }
                };
                format!(
                    "Averaging over facts (X) removes this bias only if the facts of the run are typical of all facts. Here: {facts}, chosen regardless of a model's pretraining data, with {names}; {mixtures}."
                )
            }
        }
    }
}

/// The graph with the path of a bias highlighted.
pub fn graph(bias: Option<Bias>) -> Graph {
    let path = bias.map_or(&[][..], Bias::path);
    let on = |k: usize| path.iter().any(|(a, b)| *a == k || *b == k);
    let nodes = NODES.iter().enumerate();
    Graph {
        nodes: nodes.map(|(k, (label, at))| Node { label: (*label).into(), at: *at, lit: on(k) }).collect(),
        edges: EDGES.iter().map(|e| Edge { from: e.0, to: e.1, label: String::new(), lit: path.contains(e) }).collect(),
        path: "backdoor path".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_through_causes_of_the_model_to_performance() {
        for bias in Bias::ALL {
            let path = bias.path();
            assert!(path.iter().all(|e| EDGES.contains(e)), "{bias:?}");
            assert_eq!(path[0], (C, M), "a backdoor path begins with an arrow into the model");
            assert_eq!(path.last().unwrap().1, E);
            // Each arrow shares a variable with the next, and no arrow leaves the model.
            assert!(path.windows(2).all(|w| [w[0].0, w[0].1].iter().any(|k| *k == w[1].0 || *k == w[1].1)));
            assert!(path.iter().all(|e| e.0 != M));
            let lit = graph(Some(bias));
            assert_eq!(lit.edges.iter().filter(|e| e.lit).count(), path.len());
            assert_eq!(bias.letters().split([' ', '←', '→']).filter(|s| !s.is_empty()).count(), path.len() + 1);
        }
        assert!(graph(None).nodes.iter().all(|n| !n.lit));
    }

    #[test]
    fn blocking_text_reflects_the_settings() {
        let mut spec = Spec::shipped();
        assert!(Bias::Prompt.blocked(&spec).contains("all prompts"));
        let printed = Bias::Sample.blocked(&spec);
        assert!(printed.contains("the built-in facts") && printed.contains("is off"), "{printed}");
        (spec.adjust.prompts, spec.data.mentions) = (Some(3), 1);
        assert!(Bias::Prompt.blocked(&spec).contains("up to 3 prompts"));
        assert!(Bias::Verbalization.blocked(&spec).contains("nothing is averaged"));
        (spec.adjust.prompts, spec.data.instances) = (Some(1), Some(20));
        (spec.data.files, spec.disparity.gammas) = (vec!["lama".into()], vec![0.0, 1.0]);
        assert!(Bias::Prompt.blocked(&spec).contains("nothing is averaged"));
        let printed = Bias::Sample.blocked(&spec);
        assert!(
            printed.contains("20 facts per relation from the files") && printed.contains("2 mixtures"),
            "{printed}"
        );
    }
}
