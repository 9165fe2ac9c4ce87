//! Progress of a run: planned stages in seconds, the completed part, and the remaining time at the measured pace.

use std::time::Instant;

use crate::message::Progress;

/// Minimum time in seconds between progress reports.
const EVERY: f64 = 0.1;
/// Time in seconds after which the measured pace of a run is reliable.
const LONG: f64 = 10.0;
/// Proportion from which the progress bar slows down, so that a run that takes longer than planned does not appear finished.
const SLOW: f64 = 0.9;
/// Largest proportion shown before the run ends.
const MOST: f64 = 0.995;
/// If the first report covers less than this proportion of the plan, that work is assumed to have taken the planned time; any additional
/// time counts as preparation.
const FIRST: f64 = 0.02;
/// When the actual pace is estimated, this proportion of the plan is counted as done at the planned pace.
const PRIOR: f64 = 0.05;

/// Time constant in seconds with which the remaining time follows a change of pace. A single slow or overestimated stage should change it
/// little.
const SETTLE: f64 = 10.0;

pub(crate) struct Meter {
    begun: Instant,
    /// Elapsed time in seconds when the planned work began.
    before: f64,
    plan: f64,
    /// Planned time in seconds of the finished stages.
    spent: f64,
    /// True once part of the planned work is done.
    started: bool,
    stage: Stage,
    reported: Option<f64>,
    /// The largest proportion shown so far.
    shown: f64,
    /// The remaining time last shown, and the elapsed time at that moment.
    left: Option<(f64, f64)>,
}

struct Stage {
    name: String,
    unit: &'static str,
    seconds: f64,
    begun: f64,
    /// The number of units at the last reported end of a stage. A stage of many equal jobs reaches its end many times.
    ended: Option<u64>,
}

impl Meter {
    pub(crate) fn new() -> Self {
        let stage = Stage { name: String::new(), unit: "", seconds: 0.0, begun: 0.0, ended: None };
        Self {
            begun: Instant::now(),
            before: 0.0,
            plan: 0.0,
            spent: 0.0,
            started: false,
            stage,
            reported: None,
            shown: 0.0,
            left: None,
        }
    }

    /// Plans the rest of the run, whose remaining stages take `seconds` in total.
    pub(crate) fn plan(&mut self, seconds: f64) {
        (self.before, self.plan, self.spent, self.started) = (self.elapsed(), seconds.max(0.0), 0.0, false);
        (self.stage.seconds, self.stage.ended, self.left) = (0.0, None, None);
    }

    pub(crate) fn elapsed(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }

    pub(crate) fn is_at(&self, name: &str) -> bool {
        self.stage.name == name
    }

    /// Begins the next stage, whose planned time is `seconds`.
    pub(crate) fn stage(&mut self, name: impl Into<String>, unit: &'static str, seconds: f64) {
        self.spent += self.stage.seconds;
        if self.spent == 0.0 {
            // Loading models after planning is not part of the plan and does not affect the pace.
            self.before = self.elapsed();
        }
        self.stage = Stage { name: name.into(), unit, seconds, begun: self.elapsed(), ended: None };
        self.reported = None;
    }

    /// Returns a report (`done` of `total` units of the stage) if one is due: every tenth of a second, and once when the stage ends.
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
        let share = if total == 0 { 1.0 } else { (done as f64 / total as f64).min(1.0) };
        let finished = self.spent + self.stage.seconds * share;
        if finished > 0.0 && !std::mem::replace(&mut self.started, true) && finished < FIRST * self.plan {
            self.before = (now - finished).max(0.0);
        }
        let took = if finished > 0.0 { now - self.before } else { 0.0 };
        if self.plan > 0.0 {
            self.shown = self.shown.max(slowed((self.before + finished) / (self.before + self.plan)));
        }
        let expected = left(self.plan, finished, took).filter(|_| is_reliable(self.shown, now));
        self.left = expected.map(|new| (steadied(self.left, new, now), now));
        let spent = now - self.stage.begun;
        Some(Progress {
            stage: self.stage.name.clone(),
            done,
            total,
            unit: self.stage.unit.into(),
            rate: if spent > 0.0 { done as f64 / spent } else { 0.0 },
            overall: self.shown,
            elapsed: now,
            left: self.left.map(|(left, _)| left),
        })
    }
}

/// Maps the completed proportion of the plan to the proportion shown, which keeps rising but never reaches 1.
fn slowed(share: f64) -> f64 {
    let rest = 1.0 - SLOW;
    let slow = |over: f64| 1.0 - rest * (-over / rest).exp();
    if share <= SLOW { share } else { slow(share - SLOW).min(MOST) }
}

/// Estimates the remaining seconds of a plan. `plan` is the planned total, `finished` the planned time of the finished work, and `took` the
/// time that this work actually took. `None` once the plan is used up.
fn left(plan: f64, finished: f64, took: f64) -> Option<f64> {
    let prior = PRIOR * plan;
    let ahead = plan - finished;
    (ahead > 0.0 && took >= 0.0).then(|| ahead * (took + prior) / (finished + prior))
}

/// Smooths the remaining time: the previous value minus the elapsed time, moved towards the new estimate.
fn steadied(before: Option<(f64, f64)>, new: f64, now: f64) -> f64 {
    let Some((left, then)) = before else { return new };
    let passed = (now - then).max(0.0);
    let expected = (left - passed).max(0.0);
    expected + (new - expected) * (1.0 - (-passed / SETTLE).exp())
}

/// True if the remaining time is reliable enough to be shown. Before 2 % of the run is done, the estimate would jump. In a run of hours, 2
/// % takes minutes, so .2 % and [`LONG`] seconds are enough.
fn is_reliable(overall: f64, seconds: f64) -> bool {
    overall > 0.02 || overall > 0.002 && seconds > LONG
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_add_up_to_the_plan() {
        let mut meter = Meter::new();
        meter.plan(4.0);
        meter.stage("a", "ex", 1.0);
        let overall = |p: Option<Progress>| p.map(|p| (p.overall * 100.0).round());
        assert_eq!(overall(meter.report(0, 10)), Some(0.0));
        assert_eq!(meter.report(1, 10), None, "not due yet");
        assert_eq!(overall(meter.report(10, 10)), Some(25.0));
        meter.stage("b", "ex", 3.0);
        assert_eq!(overall(meter.report(5, 10)), Some(63.0));
    }

    /// Regression: a plan of a few seconds used to show "8 min left" if a model was loaded between the plan and its first stage.
    #[test]
    fn time_before_the_first_stage_is_not_counted() {
        let mut meter = Meter::new();
        meter.plan(2.0);
        meter.begun -= std::time::Duration::from_secs(10);
        meter.stage("corrupting", "steps", 1.5);
        let left = |meter: &mut Meter, done: u64| meter.report(done, 100).and_then(|p| p.left).unwrap_or(0.0);
        assert!(left(&mut meter, 0) < 2.5);
        // The preparation time of the first step does not count either.
        meter.begun -= std::time::Duration::from_secs(10);
        assert!(left(&mut meter, 1) < 2.5);
        meter.begun -= std::time::Duration::from_secs(20);
        assert!(left(&mut meter, 2) > 10.0);
    }

    /// Regression: the progress bar used to go from 99 % back to 81 %, and to show 100 % while the run continued.
    #[test]
    fn progress_is_monotone_and_below_one() {
        let mut meter = Meter::new();
        let mut last = 0.0;
        for (plan, stages) in [(1.0, 3), (6.0, 2), (0.0, 1), (100.0, 2), (0.001, 40)] {
            meter.plan(plan);
            for k in 0..stages {
                meter.stage(format!("{plan} {k}"), "ex", 1.0);
                for done in [0, 3, 5, 9] {
                    let Some(p) = meter.report(done, 5) else { continue };
                    assert!(last <= p.overall && p.overall < 1.0, "{last} {}", p.overall);
                    assert!(p.left.is_none_or(|t| t > 0.0), "{:?}", p.left);
                    last = p.overall;
                }
            }
        }
        assert!(last > 0.95, "{last}");
    }

    /// A sweep of thousands of jobs must not redraw the screen after each job.
    #[test]
    fn equal_job_ends_are_merged() {
        let mut meter = Meter::new();
        meter.stage("sweep", "ex", 1.0);
        let reports = (0..50).filter(|_| meter.report(8, 8).is_some()).count();
        assert_eq!(reports, 1);
    }

    #[test]
    fn time_left_follows_the_pace() {
        assert_eq!(left(100.0, 0.0, 0.0), Some(100.0), "at the start, the planned time remains");
        assert!(
            left(100.0, 50.0, 100.0).is_some_and(|t| (t - 95.4).abs() < 0.1),
            "the pace is half of the planned one"
        );
        assert_eq!((left(10.0, 10.0, 9.0), left(0.0, 0.0, 1.0)), (None, None));
    }

    /// Regression: the remaining time used to go from 38 s to 4 min and back within seconds.
    #[test]
    fn time_left_adapts_gradually() {
        let mut shown = steadied(None, 40.0, 20.0);
        assert_eq!(shown, 40.0);
        for (now, new) in [(20.1, 240.0), (20.5, 240.0), (21.0, 240.0)] {
            shown = steadied(Some((shown, if now < 20.3 { 20.0 } else { now - 0.5 })), new, now);
        }
        assert!((39.0..62.0).contains(&shown), "after one second at a different pace: {shown}");
        for k in 0..60 {
            shown = steadied(Some((shown, f64::from(k))), 240.0, f64::from(k + 1));
        }
        assert!((200.0..240.0).contains(&shown), "{shown}");
        assert!(
            (steadied(Some((40.0, 20.0)), 39.0, 21.0) - 39.0).abs() < 1e-9,
            "at a constant pace, the remaining time counts down"
        );
    }

    /// Regression: a half-hour run used to show no remaining time during its first minute.
    #[test]
    fn long_run_estimates_time_left_early() {
        assert!(!is_reliable(0.01, 9.0) && is_reliable(0.01, 11.0) && is_reliable(0.03, 0.1));
        assert!(!is_reliable(0.001, 60.0), "a run that has hardly begun has no reliable pace");
    }

    #[test]
    fn every_stage_reports_at_once() {
        let mut meter = Meter::new();
        meter.plan(2.0);
        for name in ["a", "b"] {
            meter.stage(name, "ex", 1.0);
            assert!(meter.is_at(name) && !meter.is_at("c"));
            assert!(meter.report(0, 5).is_some(), "the first report of a stage is due");
        }
        let told = meter.report(5, 5).unwrap();
        assert_eq!((told.stage.as_str(), told.unit.as_str(), told.done, told.total), ("b", "ex", 5, 5));
        assert!(told.rate > 0.0 && told.elapsed >= 0.0 && meter.elapsed() >= told.elapsed);
    }
}
