//! The bars that the gallery's models are held to, and whether a card meets them. They were fixed before any lab was run on
//! the models, and nothing but them decided on corpora and recipes.

use std::fmt;

use super::card::Card;
use crate::stats::Estimate;

/// What a score must be.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Limit {
    AtLeast(f64),
    Within(f64, f64),
    /// Its interval lies below that of another score.
    Below(&'static str),
}

/// A bar for the minis.
struct Bar {
    id: &'static str,
    title: &'static str,
    limit: Limit,
    /// Whether only models with this score are held to the bar.
    where_measured: bool,
}

const fn bar(id: &'static str, title: &'static str, limit: Limit) -> Bar {
    Bar { id, title, limit, where_measured: false }
}

const BARS: &[Bar] = &[
    bar("agreement_none", "agreement", Limit::AtLeast(0.97)),
    bar("agreement_opposing", "agreement, opposing attractor", Limit::AtLeast(0.85)),
    bar("subject_linear", "subject number, linear", Limit::AtLeast(0.97)),
    bar("attractor_linear", "attractor number, linear", Limit::AtLeast(0.80)),
    bar("p1_best", "P@1, best prompts", Limit::AtLeast(0.70)),
    bar("p1_trained", "P@1, best prompts, trained phrasings", Limit::AtLeast(0.70)),
    bar("p1_held", "P@1, best prompts, held-out phrasings", Limit::AtLeast(0.70)),
    bar("p1_gap", "P@1, best less worst prompt", Limit::AtLeast(0.20)),
    bar("p1_lowest", "P@1, lowest of all prompts", Limit::AtLeast(0.025)),
    bar("stability", "one answer under all names", Limit::Within(0.40, 0.80)),
    bar("arithmetic_held", "arithmetic, held-out sums", Limit::Below("agreement_none")),
    // Encoder-decoders alone have two sides to be told apart; cards from before the score was measured have none either.
    Bar {
        where_measured: true,
        ..bar("encoder_drop", "P@1 lost when the encoder reads of another subject", Limit::AtLeast(0.50))
    },
];

/// A bar, and how a card measures up to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// Identifier of the score.
    pub id: &'static str,
    /// What is measured.
    pub title: &'static str,
    limit: Limit,
    /// The score; none where it was not measured.
    pub share: Option<Estimate>,
    /// How its interval stands to the bar.
    pub standing: Standing,
}

/// How the interval of a score stands to a bar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// All of it meets the bar.
    Met,
    /// Part of it does: more examples would be needed to tell.
    Open,
    /// None of it does; so with a score that was not measured.
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

/// How many bars are met, open and missed, in words.
#[must_use]
pub fn count(verdicts: &[Verdict]) -> String {
    let of = |standing| verdicts.iter().filter(|v| v.standing == standing).count();
    let rest: Vec<String> = [(Standing::Open, "open"), (Standing::Missed, "missed")]
        .into_iter()
        .filter(|(s, _)| of(*s) > 0)
        .map(|(s, name)| format!(", {} {name}", of(s)))
        .collect();
    format!("{} of {} bars met{}", of(Standing::Met), verdicts.len(), rest.concat())
}

/// Whether this model is held to the bars, which are for the minis.
#[must_use]
pub fn apply_to(card: &Card) -> bool {
    card.name.ends_with("-mini")
}

/// The bars that a card is held to, against its scores.
#[must_use]
pub fn verdicts(card: &Card) -> Vec<Verdict> {
    let verdict = |b: &Bar| {
        let share = card.score(b.id).map(|s| s.share);
        let standing = share.map_or(Standing::Missed, |s| match b.limit {
            Limit::AtLeast(x) => Standing::of(s.lo >= x, s.hi >= x),
            Limit::Within(lo, hi) => Standing::of(s.lo >= lo && s.hi <= hi, s.hi >= lo && s.lo <= hi),
            Limit::Below(id) => {
                let other = card.score(id).map(|other| other.share);
                let is = |below: fn(Estimate, Estimate) -> bool| other.is_some_and(|o| below(s, o));
                Standing::of(is(|s, o| s.hi < o.lo), is(|s, o| s.lo < o.hi))
            }
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
            Some(s) => write!(f, "{:.2} % [{:.2}, {:.2}]", 100.0 * s.mean, 100.0 * s.lo, 100.0 * s.hi)?,
            None => write!(f, "not measured")?,
        }
        match self.limit {
            Limit::AtLeast(x) => write!(f, " (bar: at least {:.1})", 100.0 * x),
            Limit::Within(lo, hi) => write!(f, " (bar: {:.0} to {:.0})", 100.0 * lo, 100.0 * hi),
            Limit::Below(_) => write!(f, " (bar: clearly below agreement)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::card::Score;
    use super::*;

    #[test]
    fn verdicts_are_honest() {
        let mut card = super::super::cards().unwrap().remove(0);
        let set = |card: &mut Card, id: &str, mean: f64, half: f64| {
            card.scores.retain(|s| s.id != id);
            let share = Estimate { mean, lo: mean - half, hi: mean + half };
            card.scores.push(Score { id: id.into(), what: String::new(), share, n: 100 });
        };
        let stands =
            |card: &Card, id: &str| verdicts(card).into_iter().find(|v| v.id == id).unwrap().standing;
        use Standing::{Met, Missed, Open};
        for (value, expected) in
            [(0.38, Missed), (0.4, Open), (0.42, Met), (0.78, Met), (0.8, Open), (0.82, Missed)]
        {
            set(&mut card, "stability", value, 0.01);
            assert_eq!(stands(&card, "stability"), expected, "{value}");
        }
        // A point above the bar with an interval that reaches below it is no verdict.
        for (value, expected) in [(0.805, Open), (0.795, Open), (0.78, Missed), (0.82, Met)] {
            set(&mut card, "attractor_linear", value, 0.01);
            assert_eq!(stands(&card, "attractor_linear"), expected, "{value}");
        }
        set(&mut card, "agreement_none", 0.98, 0.01);
        set(&mut card, "arithmetic_held", 0.96, 0.02);
        assert_eq!(stands(&card, "arithmetic_held"), Open, "intervals that overlap are not clearly apart");
        set(&mut card, "arithmetic_held", 0.5, 0.02);
        assert_eq!(stands(&card, "arithmetic_held"), Met);
        card.scores.retain(|s| s.id != "p1_best");
        assert_eq!(stands(&card, "p1_best"), Missed);
        let text: Vec<String> = verdicts(&card).iter().map(Verdict::to_string).collect();
        assert!(
            text.iter().any(|t| t == "NOT met  P@1, best prompts: not measured (bar: at least 70.0)"),
            "{text:?}"
        );
    }

    /// A model with one side is not said to miss what only two sides can have.
    #[test]
    fn a_bar_for_some_models_is_not_one_for_the_others() {
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
