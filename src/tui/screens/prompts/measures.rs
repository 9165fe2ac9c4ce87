//! Which number the lists show: of a prompt P@1, P@k or MRR; of a relation the gap between best and worst prompt, the honest one,
//! the one by chance, or the standard deviation over prompts.

use super::{RELATIONS, results};
use crate::lab::prompts::finding::{PromptPreferenceFinding, PromptScoreFinding};
use crate::stats::estimate::Estimate;
use crate::tui::action::Effect;
use crate::tui::state::State;

/// The number of a prompt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Measure {
    /// Share of instances whose first answer is the object.
    #[default]
    First,
    /// Share of instances with the object among the first k.
    Among,
    /// Mean reciprocal rank.
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

    /// The number of a score.
    pub fn of(self, score: &PromptScoreFinding) -> Estimate {
        match self {
            Self::First => score.p_at_1,
            Self::Among => score.p_at_k,
            Self::Reciprocal => score.mrr,
        }
    }

    /// What titles call it, where the k is known.
    pub fn name(self, k: Option<usize>) -> String {
        match self {
            Self::First => "P@1 in per cent".into(),
            Self::Among => format!("P@{} in per cent", k.map_or("k".into(), |k| k.to_string())),
            Self::Reciprocal => "MRR times 100".into(),
        }
    }
}

/// The number of a relation, over its prompts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Spread {
    /// Best less worst prompt.
    #[default]
    Gap,
    /// The same with both chosen on other instances.
    HeldOut,
    /// The gap that equally good prompts would show.
    ByChance,
    /// Population standard deviation.
    Std,
}

impl Spread {
    fn next(self) -> Self {
        match self {
            Self::Gap => Self::HeldOut,
            Self::HeldOut => Self::ByChance,
            Self::ByChance => Self::Std,
            Self::Std => Self::Gap,
        }
    }

    /// Heading of the column.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Gap => "gap",
            Self::HeldOut => "held",
            Self::ByChance => "chance",
            Self::Std => "std",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Gap => "best less worst prompt, mean over the models",
            Self::HeldOut => "best less worst prompt, both chosen on other instances, mean over the models",
            Self::ByChance => "the gap that equally good prompts would show, mean over the models",
            Self::Std => "standard deviation over prompts, mean over the models",
        }
    }

    /// The number of a preference; none where it is not defined.
    pub fn of(self, preference: &PromptPreferenceFinding) -> Option<f64> {
        match self {
            Self::Gap => Some(preference.gap.mean),
            Self::HeldOut => preference.gap_held_out,
            Self::ByChance => preference.gap_by_chance,
            Self::Std => Some(preference.std.mean),
        }
    }
}

/// Turns the number of the list that has the focus; away from the relations, that of the prompts.
pub fn turn(state: &mut State) -> Vec<Effect> {
    let k = results(state).scores.first().map(|s| s.value.k);
    let on_relations = state.place(super::ID).focus == RELATIONS;
    let view = super::view_mut(state);
    let told = if on_relations {
        view.spread = view.spread.next();
        format!("relations: {}", view.spread.words())
    } else {
        view.measure = view.measure.next();
        format!("prompts: {}", view.measure.name(k))
    };
    state.view.toast = Some(told);
    Vec::new()
}
