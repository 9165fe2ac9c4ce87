//! Measures in the lists.
//!
//! - For a prompt: P@1, P@k or MRR.
//! - For a relation: the gap between best and worst prompt (also held out and by chance), the standard deviation over prompts, the
//!   stability, the adjusted score, or the gap between the ledger's models.

use super::{RELATIONS, ledger, results, view};
use crate::action::Effect;
use crate::state::State;
use base::text::printable;
use labs::prompts::finding::{PromptPreferenceFinding, PromptScoreFinding};
use stats::estimate::Estimate;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Measure {
    /// P@1: share of instances whose first answer is the object.
    #[default]
    First,
    /// P@k: share of instances with the object among the first k.
    Among,
    Reciprocal,
}

impl Measure {
    fn next(self) -> Self {
        match self {
            Self::First => Self::Among,
            Self::Among => Self::Reciprocal,
            Self::Reciprocal => Self::First,
        }
    }

    pub fn of(self, score: &PromptScoreFinding) -> Estimate {
        match self {
            Self::First => score.p_at_1,
            Self::Among => score.p_at_k,
            Self::Reciprocal => score.mrr,
        }
    }

    /// Name in titles, with k if known.
    pub fn name(self, k: Option<usize>) -> String {
        match self {
            Self::First => "P@1 in per cent".into(),
            Self::Among => format!("P@{} in per cent", k.map_or("k".into(), |k| k.to_string())),
            Self::Reciprocal => "MRR times 100".into(),
        }
    }
}

/// Measure of a relation over its prompts or the names of its subjects.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Spread {
    /// Best minus worst prompt.
    #[default]
    Gap,
    /// Best minus worst prompt, both chosen on other instances.
    HeldOut,
    /// Expected gap between equally good prompts.
    ByChance,
    Std,
    /// Share of subjects with the same answer under every name.
    Stability,
    /// Adjusted score of the model whose ranks are drawn.
    Adjusted,
    /// Adjusted gap between the two models of the ledger.
    Pair,
}

impl Spread {
    fn next(self) -> Self {
        match self {
            Self::Gap => Self::HeldOut,
            Self::HeldOut => Self::ByChance,
            Self::ByChance => Self::Std,
            Self::Std => Self::Stability,
            Self::Stability => Self::Adjusted,
            Self::Adjusted => Self::Pair,
            Self::Pair => Self::Gap,
        }
    }

    /// Heading of the column. For several models, it says that the values are means over them.
    pub fn heading(self, models: usize) -> &'static str {
        match (self, models > 1) {
            (Self::Gap, false) => "gap",
            (Self::Gap, true) => "mean gap",
            (Self::HeldOut, false) => "held out",
            (Self::HeldOut, true) => "mean held out",
            (Self::ByChance, false) => "chance",
            (Self::ByChance, true) => "mean chance",
            (Self::Std, false) => "std",
            (Self::Std, true) => "mean std",
            (Self::Stability, false) => "stable",
            (Self::Stability, true) => "mean stable",
            (Self::Adjusted, _) => "adjusted",
            (Self::Pair, _) => "a − b",
        }
    }

    /// Full name, with the models that it covers.
    pub fn words(self, state: &State) -> String {
        match self {
            Self::Gap => "best minus worst prompt, mean over the models".into(),
            Self::HeldOut => "best minus worst prompt, both chosen on other instances, mean over the models".into(),
            Self::ByChance => "the gap that equally good prompts would show, mean over the models".into(),
            Self::Std => "standard deviation over prompts, mean over the models".into(),
            Self::Stability => "same answer under every name, first prompt, mean over the models".into(),
            Self::Adjusted => {
                format!("adjusted score of {}", printable(drawn_model(state).unwrap_or("no model")))
            }
            Self::Pair => match ledger::shown(state) {
                Some(l) => {
                    format!("adjusted score of {} minus that of {}", printable(&l.value.a), printable(&l.value.b))
                }
                None => "the gap between two models".into(),
            },
        }
    }

    /// This measure of a relation, from 0 to 1; `None` if undefined.
    pub fn of(self, state: &State, relation: &str) -> Option<f64> {
        let found = results(state);
        let mean = |list: Vec<f64>| match list.len() {
            0 => None,
            n => Some(list.iter().sum::<f64>() / n as f64),
        };
        let over = |of: fn(&PromptPreferenceFinding) -> Option<f64>| {
            let mine = found.preferences.iter().filter(|p| p.value.relation == relation);
            mean(mine.filter_map(|p| of(&p.value)).collect())
        };
        let adjusted = |model: &str| Some(found.adjusted_of(relation, model)?.value.p_at_1.mean);
        match self {
            Self::Gap => over(|p| Some(p.gap.mean)),
            Self::HeldOut => over(|p| p.gap_held_out),
            Self::ByChance => over(|p| p.gap_by_chance),
            Self::Std => over(|p| Some(p.std.mean)),
            Self::Stability => {
                let mine = found.stability.iter().filter(|s| s.value.relation == relation);
                mean(mine.filter_map(|s| Some(s.value.stability?.mean)).collect())
            }
            Self::Adjusted => adjusted(drawn_model(state)?),
            Self::Pair => {
                let l = &ledger::shown(state)?.value;
                Some(adjusted(&l.a)? - adjusted(&l.b)?)
            }
        }
    }
}

fn drawn_model(state: &State) -> Option<&str> {
    let models = results(state).models();
    models.get(view(state).model).or(models.first()).copied()
}

/// Selects the next measure for the relations if their list has the focus, otherwise for the prompts.
pub(crate) fn turn(state: &mut State) -> Vec<Effect> {
    let k = results(state).scores.first().map(|s| s.value.k);
    let on_relations = state.place(super::ID).focus == RELATIONS;
    let view = super::view_mut(state);
    let told = if on_relations {
        view.spread = view.spread.next();
        let spread = view.spread;
        format!("relations: {}", spread.words(state))
    } else {
        view.measure = view.measure.next();
        format!("prompts: {}", view.measure.name(k))
    };
    state.view.toast = Some(told);
    Vec::new()
}
