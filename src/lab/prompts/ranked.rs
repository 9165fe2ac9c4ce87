//! Rank consistency: shares of a [`Panel`]'s draws under each regime, with intervals.

use super::consistency::{Draws, Panel, Regime, Tally};
use stats::estimate::Estimate;
use stats::intervals::largest_share;

/// Maximum number of draws that are enumerated instead of sampled.
pub const COUNTED: usize = 20_000;

/// Results of the draws under one regime.
#[derive(Debug, Clone)]
pub struct Ranked {
    pub tally: Tally,
    /// True if every possible draw was counted.
    pub exact: bool,
    /// By model: the share of draws with its most frequent rank.
    pub models: Vec<Estimate>,
    /// The share of draws with the most frequent complete order of the models.
    pub whole: Estimate,
}

impl Panel {
    /// Rank consistency under each regime: over all draws if they are few, otherwise over a sample, with an interval for the largest of
    /// several shares.
    pub fn ranked(&self, draws: &Draws, level: f64) -> [Ranked; 3] {
        let mut drawn = [(); 3].map(|()| Tally::new(self.models()));
        for places in self.draw(draws, 0..draws.count) {
            drawn.iter_mut().zip(&places).for_each(|(tally, places)| tally.add(places));
        }
        let mut regimes = Regime::ALL.into_iter();
        drawn.map(|drawn| {
            let all = regimes.next().and_then(|regime| self.enumerate(regime, draws, COUNTED));
            let (exact, tally) = (all.is_some(), all.unwrap_or(drawn));
            let share = |most: u64| match exact {
                true => Estimate::exact(most as f64 / tally.draws as f64),
                false => largest_share(most, tally.draws, level),
            };
            let models = (0..self.models()).map(|k| share(tally.most(k))).collect();
            let whole = share(tally.order().0);
            Ranked { tally, exact, models, whole }
        })
    }
}
