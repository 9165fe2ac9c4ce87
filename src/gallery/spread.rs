//! Variation of a model's scores over seeds: minimum, median and maximum, and the number of seeds that meet each target.

use std::fmt;

use serde::Serialize;

use super::bars::{self, Standing};
use super::card::Card;
use super::seeds::{SeedScore, SeedScores};
use base::text::shortened;
use pretraining::score::Score;
use stats::Estimate;

/// Range of a score over seeds. Each value has the interval of the model with that seed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Range {
    pub minimum: Estimate,
    /// The median. For an even number of values, it is the mean of the middle two, with an interval that covers both of their intervals.
    pub median: Estimate,
    pub maximum: Estimate,
}

impl Range {
    /// The range of these values; `None` if there are none.
    pub fn of(values: &[Estimate]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_by(|a, b| a.mean.total_cmp(&b.mean).then(a.lo.total_cmp(&b.lo)));
        let (minimum, maximum) = (*sorted.first()?, *sorted.last()?);
        let (low, high) = (sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
        let median =
            Estimate { mean: f64::midpoint(low.mean, high.mean), lo: low.lo.min(high.lo), hi: low.hi.max(high.hi) };
        Some(Self { minimum, median, maximum })
    }

    pub fn ends(&self) -> [Estimate; 3] {
        [self.minimum, self.median, self.maximum]
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [minimum, median, maximum] = self.ends().map(cell);
        write!(f, "{minimum:<COLUMN$} {median:<COLUMN$} {maximum:<COLUMN$}")
    }
}

/// Width of the longest number with its interval.
const COLUMN: usize = 20;

/// Formats a number with its interval, in %.
fn cell(e: Estimate) -> String {
    let [mean, lo, hi] = [e.mean, e.lo, e.hi].map(|x| 100.0 * x);
    format!("{mean:.1} [{lo:.1}, {hi:.1}]")
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Spread {
    pub id: String,
    /// Name of the score, as text.
    pub what: String,
    pub seeds: Vec<SeedValue>,
    #[serde(flatten)]
    pub range: Range,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SeedValue {
    pub seed: u64,
    /// The score with its interval.
    pub share: Estimate,
    /// Number of answers.
    pub n: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BarSpread {
    pub id: &'static str,
    pub title: &'static str,
    /// Number of seeds whose whole interval meets the target.
    pub met: usize,
    /// Number of seeds for which the target is undecided for lack of examples.
    pub open: usize,
    /// Number of seeds that miss the target.
    pub missed: usize,
    /// Range of the score; `None` if it was not measured for any seed.
    #[serde(flatten)]
    pub range: Option<Range>,
}

/// The seeds listed on a card or, if it lists none, only the card's own.
pub fn known(card: &Card) -> Vec<SeedScores> {
    if card.seeds.is_empty() { vec![SeedScores::of(card)] } else { card.seeds.clone() }
}

/// Every score on a card, over seeds, in the order of the card.
pub fn spreads(card: &Card) -> Vec<Spread> {
    let known = known(card);
    let spread = |score: &Score| {
        let of = |s: &SeedScores| {
            let found = s.scores.iter().find(|x| x.id == score.id)?;
            Some(SeedValue { seed: s.seed, share: found.share, n: found.n })
        };
        let seeds: Vec<SeedValue> = known.iter().filter_map(of).collect();
        let range = Range::of(&seeds.iter().map(|v| v.share).collect::<Vec<_>>())?;
        Some(Spread { id: score.id.clone(), what: score.what.clone(), seeds, range })
    };
    card.scores.iter().filter_map(spread).collect()
}

/// Every target on a card, over seeds; empty for models without targets.
pub fn bar_spreads(card: &Card) -> Vec<BarSpread> {
    if !bars::apply_to(card) {
        return Vec::new();
    }
    let mut all: Vec<(BarSpread, Vec<Estimate>)> = Vec::new();
    for seed in known(card) {
        for (k, verdict) in bars::verdicts(&as_card(card, &seed)).into_iter().enumerate() {
            if k == all.len() {
                let (id, title) = (verdict.id, verdict.title);
                all.push((BarSpread { id, title, met: 0, open: 0, missed: 0, range: None }, Vec::new()));
            }
            let (bar, values) = &mut all[k];
            match verdict.standing {
                Standing::Met => bar.met += 1,
                Standing::Open => bar.open += 1,
                Standing::Missed => bar.missed += 1,
            }
            values.extend(verdict.share);
        }
    }
    all.into_iter().map(|(bar, values)| BarSpread { range: Range::of(&values), ..bar }).collect()
}

/// The card with the scores of a different seed, reduced to what the targets need.
fn as_card(card: &Card, seed: &SeedScores) -> Card {
    let score = |s: &SeedScore| Score { id: s.id.clone(), what: String::new(), share: s.share, n: s.n };
    let scores = seed.scores.iter().map(score).collect();
    Card { seed: seed.seed, scores, seeds: Vec::new(), ..card.clone() }
}

/// Formats the seeds: `5 seeds (1 2 3 4 5)`.
pub fn title(card: &Card) -> String {
    let seeds: Vec<String> = known(card).iter().map(|s| s.seed.to_string()).collect();
    match seeds.len() {
        1 => format!("one seed ({})", seeds[0]),
        n => format!("{n} seeds ({})", shortened(&seeds.join(" "), 60)),
    }
}

pub fn write(card: &Card, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if card.seeds.len() < 2 {
        return writeln!(f, "\n{}: the spread over other seeds is unknown", title(card));
    }
    writeln!(f, "\n{}, in %, with {:.0} % intervals:", title(card), 100.0 * card.level)?;
    lines(card).iter().try_for_each(|line| writeln!(f, "{line}"))
}

/// A table of all scores and targets over seeds.
pub fn lines(card: &Card) -> Vec<String> {
    let mut out =
        vec![format!("  {:<20} {:>5}  {:<COLUMN$} {:<COLUMN$} maximum", "score", "seeds", "minimum", "median")];
    out.extend(
        spreads(card)
            .iter()
            .map(|s| format!("  {:<20} {:>5}  {}", shortened(&s.id, 20), s.seeds.len(), s.range).trim_end().to_owned()),
    );
    let bars = bar_spreads(card);
    if !bars.is_empty() {
        out.push("  targets, each with the number of seeds that meet it / leave it undecided / miss it:".to_owned());
        out.extend(bars.iter().map(|b| format!("  {:>4} / {} / {}  {}", b.met, b.open, b.missed, b.title)));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(mean: f64) -> Estimate {
        Estimate { mean, lo: mean - 0.02, hi: mean + 0.01 }
    }

    #[test]
    fn median_averages_the_middle_two() {
        let range = |values: &[f64]| Range::of(&values.iter().map(|x| at(*x)).collect::<Vec<_>>());
        assert_eq!(range(&[]), None);
        let one = range(&[0.5]).unwrap();
        assert_eq!(one.ends(), [at(0.5); 3]);
        let odd = range(&[0.9, 0.5, 0.7, 0.6, 0.8]).unwrap();
        assert_eq!(odd.ends(), [at(0.5), at(0.7), at(0.9)], "each end has the interval of its seed");
        let even = range(&[0.75, 0.25, 0.5, 1.0]).unwrap();
        assert_eq!((even.minimum, even.maximum), (at(0.25), at(1.0)));
        assert_eq!(even.median, Estimate { mean: 0.625, lo: at(0.5).lo, hi: at(0.75).hi });
        assert_eq!(odd.to_string(), "50.0 [48.0, 51.0]    70.0 [68.0, 71.0]    90.0 [88.0, 91.0]   ");
    }

    #[test]
    fn acceptance_is_counted_per_seed() {
        let mut card = super::super::cards().unwrap().remove(0);
        card.seeds.clear();
        assert_eq!(title(&card), format!("one seed ({})", card.seed));
        assert!(card.to_string().contains("one seed"), "{card}");
        let seed = |seed: u64, mean: f64, half: f64| {
            let mut scores = SeedScores::of(&card);
            let score = scores.scores.iter_mut().find(|s| s.id == "attractor_linear").unwrap();
            score.share = Estimate { mean, lo: mean - half, hi: mean + half };
            SeedScores { seed, ..scores }
        };
        // The target of this score is .95.
        let seeds = vec![seed(1, 0.965, 0.01), seed(2, 0.955, 0.01), seed(3, 0.7, 0.01), seed(7, 0.98, 0.01)];
        card.seeds = seeds;
        let bars = bar_spreads(&card);
        let bar = bars.iter().find(|b| b.id == "attractor_linear").unwrap();
        assert_eq!((bar.met, bar.open, bar.missed), (2, 1, 1));
        assert_eq!(bar.range.unwrap().minimum.mean, 0.7);
        assert_eq!(bars.len(), bars::verdicts(&card).len());
        let spread = spreads(&card).into_iter().find(|s| s.id == "attractor_linear").unwrap();
        assert_eq!(spread.seeds.iter().map(|v| v.seed).collect::<Vec<_>>(), [1, 2, 3, 7]);
        assert!((spread.range.median.mean - 0.96).abs() < 1e-12);
        let text = card.to_string();
        for line in [
            "4 seeds (1 2 3 7), in %, with 95 % intervals:",
            "  attractor_linear         4  70.0 [69.0, 71.0]    96.0 [94.5, 97.5]    98.0 [97.0, 99.0]",
            "     2 / 1 / 1  attractor number, linear",
        ] {
            assert!(text.lines().any(|l| l == line), "no `{line}` in {text}");
        }
        card.name = "bert-tiny".into();
        assert!(bar_spreads(&card).is_empty(), "targets are for the mini models");
    }

    #[test]
    fn missing_seed_scores_are_excluded() {
        let mut card = super::super::cards().unwrap().remove(0);
        let own = SeedScores::of(&card);
        let mut other = SeedScores { seed: 2, ..own.clone() };
        other.scores.retain(|s| s.id != "stability");
        card.seeds = vec![own, other];
        let seeds = |id: &str| spreads(&card).into_iter().find(|s| s.id == id).unwrap().seeds.len();
        assert_eq!((seeds("stability"), seeds("tense")), (1, 2));
        let bar = bar_spreads(&card).into_iter().find(|b| b.id == "stability").unwrap();
        assert_eq!(bar.met + bar.open + bar.missed, 2, "targets without a measurement count as missed, as on a card");
    }
}
