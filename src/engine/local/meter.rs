//! Progress of a run: stages with weights, a smoothed rate, the time that is left.

use std::time::Instant;

use crate::engine::message::Progress;

/// Progress is reported at most this often.
const EVERY: f64 = 0.1;

/// Measures a run that consists of weighted stages.
pub struct Meter {
    begun: Instant,
    /// Sum of the weights of all stages.
    plan: f64,
    /// Sum of the weights of finished stages.
    spent: f64,
    stage: Stage,
    reported: Option<f64>,
}

struct Stage {
    name: String,
    unit: &'static str,
    weight: f64,
    begun: f64,
}

impl Meter {
    /// A run whose stages weigh `plan` in all (in any unit of expected time).
    pub fn new(plan: f64) -> Self {
        let stage = Stage { name: String::new(), unit: "", weight: 0.0, begun: 0.0 };
        Self { begun: Instant::now(), plan: plan.max(f64::MIN_POSITIVE), spent: 0.0, stage, reported: None }
    }

    /// Says what all stages weigh together.
    pub fn plan(&mut self, weight: f64) {
        self.plan = weight.max(f64::MIN_POSITIVE);
    }

    /// Seconds since the run began.
    pub fn elapsed(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }

    /// Whether this is the stage that runs.
    pub fn is_at(&self, name: &str) -> bool {
        self.stage.name == name
    }

    /// Begins the next stage; its weight is the share of the plan that it takes.
    pub fn stage(&mut self, name: impl Into<String>, unit: &'static str, weight: f64) {
        self.spent += self.stage.weight;
        self.stage = Stage { name: name.into(), unit, weight, begun: self.elapsed() };
        self.reported = None;
    }

    /// A report of `done` of `total` units of the stage, if one is due.
    pub fn report(&mut self, done: u64, total: u64) -> Option<Progress> {
        let now = self.elapsed();
        if self.reported.is_some_and(|then| now - then < EVERY) && done < total {
            return None;
        }
        self.reported = Some(now);
        let share = if total == 0 { 1.0 } else { done as f64 / total as f64 };
        let overall = ((self.spent + self.stage.weight * share) / self.plan).min(1.0);
        let spent = now - self.stage.begun;
        Some(Progress {
            stage: self.stage.name.clone(),
            done,
            total,
            unit: self.stage.unit.into(),
            rate: if spent > 0.0 { done as f64 / spent } else { 0.0 },
            overall,
            elapsed: now,
            // Before a fiftieth is done the estimate would jump about.
            left: (overall > 0.02).then(|| now * (1.0 - overall) / overall),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_add_up_to_the_whole() {
        let mut meter = Meter::new(4.0);
        meter.stage("a", "ex", 1.0);
        assert_eq!(meter.report(0, 10).map(|p| p.overall), Some(0.0));
        assert_eq!(meter.report(1, 10), None, "not due yet");
        assert_eq!(meter.report(10, 10).map(|p| p.overall), Some(0.25));
        meter.stage("b", "ex", 3.0);
        let p = meter.report(5, 10).unwrap();
        assert!((p.overall - 0.625).abs() < 1e-12);
        assert_eq!(meter.report(10, 10).map(|p| (p.overall, p.left)), Some((1.0, Some(0.0))));
    }
}
