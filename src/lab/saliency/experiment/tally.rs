//! Progress in passes of a model: planned passes, and those added by doubled steps. The estimated remaining time assumes that the remaining
//! inputs need additional passes at the same rate as so far.

/// Numbers of passes for a model, whose steps have several calls each.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tally {
    /// Planned passes of all steps.
    planned: usize,
    /// Planned and actual passes of the finished steps.
    steps: [usize; 2],
    /// Planned passes of the current step.
    step: usize,
    /// Planned and actual passes of the finished calls in this step.
    calls: [usize; 2],
}

impl Tally {
    pub(crate) fn new(planned: usize) -> Self {
        Self { planned, steps: [0; 2], step: 0, calls: [0; 2] }
    }

    /// Begins the next step, with `planned` passes.
    pub(crate) fn begin(&mut self, planned: usize) {
        (0..2).for_each(|k| self.steps[k] += self.calls[k]);
        (self.step, self.calls) = (planned, [0; 2]);
    }

    /// Ends a call, with its `planned` and `actual` passes.
    pub(crate) fn ended(&mut self, planned: usize, actual: usize) {
        self.calls[0] += planned;
        self.calls[1] += actual;
    }

    /// Actual passes so far.
    pub(crate) fn done(&self) -> usize {
        self.steps[1] + self.calls[1]
    }

    /// Passes done, and passes expected in total. The current call planned `planned` passes; it has done `done` of the `total` that it now
    /// needs.
    pub(crate) fn at(&self, planned: usize, (done, total): (usize, usize)) -> (usize, usize) {
        let [before, taken] = self.steps;
        // Actual passes per planned pass in the finished steps.
        let each = if before > 0 { taken as f64 / before as f64 } else { 1.0 };
        let expected = |planned: usize| (planned as f64 * each).round() as usize;
        let known = self.calls[1] + total + self.step.saturating_sub(self.calls[0] + planned);
        let step = known.max(expected(self.step));
        let later = expected(self.planned.saturating_sub(before + self.step));
        let all = taken + step + later;
        ((self.done() + done).min(all), all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extra_passes_are_extrapolated() {
        let mut tally = Tally::new(1000);
        tally.begin(100);
        assert_eq!(tally.at(100, (50, 100)), (50, 1000), "no additional passes are expected yet");
        assert_eq!(tally.at(100, (100, 300)), (100, 1200), "this step takes three times the planned passes");
        tally.ended(100, 300);
        tally.begin(100);
        assert_eq!(tally.at(100, (0, 100)), (300, 3000));
        assert_eq!(tally.at(10, (10, 10)), (310, 3000), "one call of the step, and the remaining ones");
        tally.ended(10, 10);
        assert_eq!(tally.at(90, (90, 490)), (400, 300 + 500 + 2400), "the call takes more passes than expected");
        tally.ended(90, 490);
        assert_eq!((tally.done(), tally.at(0, (0, 0)).0), (800, 800));
    }

    #[test]
    fn without_extra_steps_the_plan_holds() {
        let mut tally = Tally::new(30);
        for step in 0..3 {
            tally.begin(10);
            assert_eq!(tally.at(4, (2, 4)), (10 * step + 2, 30));
            tally.ended(4, 4);
            tally.ended(6, 6);
        }
        assert_eq!(tally.done(), 30);
    }
}
