//! Progress of a run: stages with weights, a smoothed rate, the time left.

use std::time::Instant;

use crate::message::Progress;

/// Progress is reported at most this often.
const EVERY: f64 = 0.1;
/// Seconds after which a run has a pace.
const LONG: f64 = 10.0;

/// Measures a run that consists of weighted stages.
pub(crate) struct Meter {
    begun: Instant,
    /// Sum of the weights of all stages.
    plan: f64,
    /// Sum of the weights of finished stages.
    spent: f64,
    stage: Stage,
    reported: Option<f64>,
    /// Start of the first stage with a weight; the pace is measured from there.
    paced: Option<f64>,
}

struct Stage {
    name: String,
    unit: &'static str,
    weight: f64,
    begun: f64,
    /// The total whose end has been reported: a stage of many jobs of one size comes to the end of each.
    ended: Option<u64>,
}

impl Meter {
    /// A run whose stages have a total weight of `plan` (in any unit of expected time).
    pub(crate) fn new(plan: f64) -> Self {
        let stage = Stage { name: String::new(), unit: "", weight: 0.0, begun: 0.0, ended: None };
        Self {
            begun: Instant::now(),
            plan: plan.max(f64::MIN_POSITIVE),
            spent: 0.0,
            stage,
            reported: None,
            paced: None,
        }
    }

    /// Sets the total weight of all stages.
    pub(crate) fn plan(&mut self, weight: f64) {
        self.plan = weight.max(f64::MIN_POSITIVE);
        self.stage.ended = None;
    }

    /// Seconds since the run began.
    pub(crate) fn elapsed(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }

    /// True if this is the current stage.
    pub(crate) fn is_at(&self, name: &str) -> bool {
        self.stage.name == name
    }

    /// Begins the next stage; its weight is the share of the plan that it takes.
    pub(crate) fn stage(&mut self, name: impl Into<String>, unit: &'static str, weight: f64) {
        self.spent += self.stage.weight;
        if weight > 0.0 && self.paced.is_none() {
            self.paced = Some(self.elapsed());
        }
        self.stage = Stage { name: name.into(), unit, weight, begun: self.elapsed(), ended: None };
        self.reported = None;
    }

    /// A report of `done` of `total` units of the stage, if one is due: every tenth of a second, and once at the stage's end.
    pub(crate) fn report(&mut self, done: u64, total: u64) -> Option<Progress> {
        let now = self.elapsed();
        let ends = done >= total && self.stage.ended != Some(total);
        if self.reported.is_some_and(|then| now - then < EVERY) && !ends {
            return None;
        }
        if ends {
            self.stage.ended = Some(total);
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
            left: is_told(overall, now)
                .then(|| (now - self.paced.unwrap_or(0.0)) * (1.0 - overall) / overall),
        })
    }
}

/// True if the time left is reliable: until a fiftieth is done, the estimate would jump about. For a run of hours less
/// is enough once the pace is steady, for a fiftieth of it is minutes.
fn is_told(overall: f64, seconds: f64) -> bool {
    overall > 0.02 || overall > 0.002 && seconds > LONG
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

    #[test]
    fn what_takes_longer_than_planned_never_passes_the_whole() {
        let mut meter = Meter::new(1.0);
        meter.stage("a", "ex", 3.0);
        assert_eq!(meter.report(1, 1).map(|p| p.overall), Some(1.0));
        meter.plan(6.0);
        assert_eq!(meter.report(1, 1).map(|p| p.overall), Some(0.5), "the plan was corrected");
        meter.plan(0.0);
        assert!(meter.report(1, 1).is_some_and(|p| p.overall == 1.0 && p.left == Some(0.0)));
    }

    /// Otherwise a sweep of thousands of jobs wakes the screen for each of them.
    #[test]
    fn the_ends_of_many_equal_jobs_are_one_report() {
        let mut meter = Meter::new(1.0);
        meter.stage("sweep", "ex", 1.0);
        let reports = (0..50).filter(|_| meter.report(8, 8).is_some()).count();
        assert_eq!(reports, 1);
    }

    #[test]
    fn the_time_that_is_left_is_not_told_before_it_is_known() {
        let mut meter = Meter::new(100.0);
        meter.stage("a", "ex", 1.0);
        assert_eq!(meter.report(1, 1).map(|p| p.left), Some(None), "a hundredth says too little");
        meter.stage("b", "ex", 99.0);
        assert!(meter.report(50, 50).is_some_and(|p| p.left == Some(0.0)));
    }

    /// The first minute of half an hour had no time left.
    #[test]
    fn a_long_run_says_what_is_left_before_a_fiftieth_is_done() {
        assert!(!is_told(0.01, 9.0) && is_told(0.01, 11.0) && is_told(0.03, 0.1));
        assert!(!is_told(0.001, 60.0), "what has hardly begun has no pace");
    }

    #[test]
    fn a_stage_without_units_is_done_and_each_stage_reports_at_once() {
        let mut meter = Meter::new(2.0);
        for name in ["a", "b"] {
            meter.stage(name, "ex", 1.0);
            assert!(meter.is_at(name) && !meter.is_at("c"));
            assert!(meter.report(0, 5).is_some(), "the first report of a stage is due");
        }
        assert_eq!(meter.report(0, 0).map(|p| p.overall), Some(1.0));
        let told = meter.report(5, 5).unwrap();
        assert_eq!((told.stage.as_str(), told.unit.as_str(), told.done, told.total), ("b", "ex", 5, 5));
        assert!(told.rate > 0.0 && told.elapsed >= 0.0 && meter.elapsed() >= told.elapsed);
    }
}
