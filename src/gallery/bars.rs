//! The targets of the built-in models, and their comparison with a card. The targets were fixed before any lab was run on the models. They
//! were the only criterion for choosing training texts and training settings.

use std::fmt;

use super::card::Card;
use pretraining::score::{is_share, shown};
use stats::Estimate;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Limit {
    AtLeast(f64),
    /// The interval must lie below the interval of the other score, given by its id and title.
    Below(&'static str, &'static str),
    /// The interval must lie above the interval of the other score, given by its id and title.
    Above(&'static str, &'static str),
}

struct Bar {
    id: &'static str,
    title: &'static str,
    limit: Limit,
    /// True if the target applies only to models that have this score.
    where_measured: bool,
}

const fn bar(id: &'static str, title: &'static str, limit: Limit) -> Bar {
    Bar { id, title, limit, where_measured: false }
}

const BARS: &[Bar] = &[
    bar("agreement_none", "agreement", Limit::AtLeast(0.97)),
    bar("agreement_opposing", "agreement, opposing attractor", Limit::AtLeast(0.85)),
    bar("subject_linear", "subject number, linear", Limit::AtLeast(0.97)),
    bar("attractor_linear", "attractor number, linear", Limit::AtLeast(0.95)),
    bar("p1_best", "P@1, best prompts", Limit::AtLeast(0.70)),
    bar("p1_trained", "P@1, best prompts, trained phrasings", Limit::AtLeast(0.70)),
    bar("p1_held", "P@1, best prompts, held-out phrasings", Limit::AtLeast(0.70)),
    bar("p1_gap", "P@1, best minus worst prompt, on other facts", Limit::AtLeast(0.20)),
    bar("p1_gap", "P@1, best minus worst prompt, compared with chance", Limit::Above("p1_gap_chance", "chance")),
    bar("preference", "rank correlation between a prompt's weight and its P@1", Limit::AtLeast(0.0)),
    bar("p1_lowest", "P@1, lowest of all prompts", Limit::AtLeast(0.025)),
    bar("p1_never", "P@1, untrained facts", Limit::Below("p1_held", "held-out phrasings")),
    bar("stability", "same answer under all trained names", Limit::AtLeast(0.40)),
    bar("stability_unseen", "same answer under untrained names", Limit::Below("stability", "trained names")),
    bar("arithmetic_held", "arithmetic, held-out sums", Limit::Below("agreement_none", "agreement")),
    bar("rationale_grammar", "rationale benchmark, grammar", Limit::AtLeast(0.80)),
    bar("rationale_semantics", "rationale benchmark, semantics", Limit::AtLeast(0.60)),
    bar("rationale_knowledge", "rationale benchmark, knowledge", Limit::AtLeast(0.50)),
    bar("rationale_reasoning", "rationale benchmark, reasoning", Limit::AtLeast(0.50)),
    bar("rationale_computation", "rationale benchmark, computation", Limit::Below("rationale_grammar", "its grammar")),
    // Only encoder-decoders have two inputs to compare; older cards lack the score.
    Bar {
        where_measured: true,
        ..bar("encoder_drop", "P@1 lost when the encoder reads about another subject", Limit::AtLeast(0.50))
    },
];

#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    pub id: &'static str,
    pub title: &'static str,
    limit: Limit,
    /// The score; `None` if it was not measured.
    pub share: Option<Estimate>,
    pub standing: Standing,
}

/// Position of a score's interval relative to its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// The whole interval meets the target.
    Met,
    /// The interval contains the target: more examples would be needed to decide.
    Open,
    /// No part of the interval meets the target, or the score was not measured.
    Missed,
}

impl Standing {
    fn of(all: bool, some: bool) -> Self {
        match (all, some) {
            (true, _) => Standing::Met,
            (false, true) => Standing::Open,
            (false, false) => Standing::Missed,
        }
    }
}

/// Formats the numbers of targets that are met, open and missed.
pub fn count(verdicts: &[Verdict]) -> String {
    let of = |standing| verdicts.iter().filter(|v| v.standing == standing).count();
    let rest: Vec<String> = [(Standing::Open, "open"), (Standing::Missed, "missed")]
        .into_iter()
        .filter(|(s, _)| of(*s) > 0)
        .map(|(s, name)| format!(", {} {name}", of(s)))
        .collect();
    format!("{} of {} targets met{}", of(Standing::Met), verdicts.len(), rest.concat())
}

/// True if the targets apply to this model; they are for the minis only.
pub fn apply_to(card: &Card) -> bool {
    card.name.ends_with("-mini")
}

/// Compares two intervals, of which `low` should be below `high`.
fn below(low: Estimate, high: Estimate) -> Standing {
    Standing::of(low.hi < high.lo, low.lo < high.hi)
}

/// Compares a card's scores with the targets that apply.
pub fn verdicts(card: &Card) -> Vec<Verdict> {
    let verdict = |b: &Bar| {
        let share = card.score(b.id).map(|s| s.share);
        let standing = share.map_or(Standing::Missed, |s| match b.limit {
            Limit::AtLeast(x) => Standing::of(s.lo >= x, s.hi >= x),
            Limit::Below(id, _) => card.score(id).map_or(Standing::Missed, |other| below(s, other.share)),
            Limit::Above(id, _) => card.score(id).map_or(Standing::Missed, |other| below(other.share, s)),
        });
        Verdict { id: b.id, title: b.title, limit: b.limit, share, standing }
    };
    BARS.iter().filter(|b| !b.where_measured || card.score(b.id).is_some()).map(verdict).collect()
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.standing {
            Standing::Met => "met    ",
            Standing::Open => "open   ",
            Standing::Missed => "NOT met",
        };
        write!(f, "{word}  {}: ", self.title)?;
        match self.share {
            Some(s) => write!(f, "{}", shown(self.id, s))?,
            None => write!(f, "not measured")?,
        }
        match self.limit {
            Limit::AtLeast(x) if is_share(self.id) => write!(f, " (target: at least {:.1})", 100.0 * x),
            Limit::AtLeast(x) => write!(f, " (target: at least {x:.1})"),
            Limit::Below(_, other) => write!(f, " (target: clearly below {other})"),
            Limit::Above(_, other) => write!(f, " (target: clearly above {other})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretraining::score::Score;

    #[test]
    fn verdicts_account_for_intervals() {
        let mut card = super::super::cards().unwrap().remove(0);
        let set = |card: &mut Card, id: &str, mean: f64, half: f64| {
            card.scores.retain(|s| s.id != id);
            let share = Estimate { mean, lo: mean - half, hi: mean + half };
            card.scores.push(Score { id: id.into(), what: String::new(), share, n: 100 });
        };
        let stands = |card: &Card, id: &str| verdicts(card).into_iter().find(|v| v.id == id).unwrap().standing;
        use Standing::{Met, Missed, Open};
        for (value, expected) in [(0.38, Missed), (0.4, Open), (0.42, Met)] {
            set(&mut card, "stability", value, 0.01);
            assert_eq!(stands(&card, "stability"), expected, "{value}");
        }
        // A point above the target whose interval extends below it is undecided.
        for (value, expected) in [(0.955, Open), (0.945, Open), (0.93, Missed), (0.97, Met)] {
            set(&mut card, "attractor_linear", value, 0.01);
            assert_eq!(stands(&card, "attractor_linear"), expected, "{value}");
        }
        set(&mut card, "agreement_none", 0.98, 0.01);
        set(&mut card, "arithmetic_held", 0.96, 0.02);
        assert_eq!(stands(&card, "arithmetic_held"), Open, "intervals that overlap are not clearly apart");
        set(&mut card, "arithmetic_held", 0.5, 0.02);
        assert_eq!(stands(&card, "arithmetic_held"), Met);
        // The gap has two targets: for its size, and for exceeding chance.
        let gaps = |card: &Card| -> Vec<Standing> {
            verdicts(card).into_iter().filter(|v| v.id == "p1_gap").map(|v| v.standing).collect()
        };
        for (gap, chance, expected) in
            [(0.25, 0.1, [Met, Met]), (0.25, 0.23, [Met, Open]), (0.15, 0.1, [Missed, Met]), (0.15, 0.3, [Missed; 2])]
        {
            set(&mut card, "p1_gap", gap, 0.03);
            set(&mut card, "p1_gap_chance", chance, 0.01);
            assert_eq!(gaps(&card), expected, "{gap} against {chance}");
        }
        card.scores.retain(|s| s.id != "p1_gap_chance");
        assert_eq!(gaps(&card)[1], Missed, "a target with unmeasured chance is not met");
        card.scores.retain(|s| s.id != "p1_best");
        assert_eq!(stands(&card, "p1_best"), Missed);
        let text: Vec<String> = verdicts(&card).iter().map(Verdict::to_string).collect();
        assert!(
            text.iter().any(|t| t == "NOT met  P@1, best prompts: not measured (target: at least 70.0)"),
            "{text:?}"
        );
    }

    /// An encoder-only or decoder-only model does not miss a target that needs an encoder-decoder.
    #[test]
    fn acceptance_limits_apply_only_to_their_models() {
        let mut card = super::super::cards().unwrap().remove(0);
        card.scores.retain(|s| s.id != "encoder_drop");
        let of = |card: &Card| verdicts(card).into_iter().find(|v| v.id == "encoder_drop");
        assert_eq!(of(&card), None);
        for (mean, standing) in [(0.4, Standing::Missed), (0.5, Standing::Open), (0.9, Standing::Met)] {
            card.scores.retain(|s| s.id != "encoder_drop");
            let share = Estimate { mean, lo: mean - 0.02, hi: mean + 0.02 };
            card.scores.push(Score { id: "encoder_drop".into(), what: String::new(), share, n: 100 });
            assert_eq!(of(&card).unwrap().standing, standing);
        }
    }
}
