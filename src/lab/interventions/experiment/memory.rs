//! Memory of a run, computed from counts.

use super::prepare::FIRST_CHUNK;
use crate::distance::REAL_STATES;
use base::Problem;
use base::size::show;
use lab::demand::{MARGIN, MemoryPart};
use model::chunk::TOKENS_PER_BATCH;

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Counts {
    /// Width D of hidden states.
    pub width: usize,
    pub stimuli: usize,
    /// Number of rows in the oracles' part; the interventions' part has as many.
    pub part: usize,
    pub test: usize,
    /// Number of tokens in the longest text.
    pub longest: usize,
    /// Number of tokens, including padding, of test sentences that stay in memory because their pass is continued from below the last
    /// layer.
    pub(crate) continued: usize,
    /// Number of parameters of the largest probe of the grid.
    pub probe: usize,
    pub threads: usize,
    pub resamples: usize,
    pub replicates: usize,
    pub oracles: usize,
    /// Number of properties to keep.
    pub stays: usize,
    pub strengths: Vec<usize>,
    /// True if fresh probes are trained on the states after a method.
    pub leaks: bool,
    /// Number of layers of the map; 0 without one.
    pub map: usize,
    /// `continued` for the map's current layer.
    pub(crate) map_continued: usize,
}

/// Number of copies of a network's parameters during training: weights, gradients, two moments, the best epoch.
const TRAINING_COPIES: usize = 5;
/// Measured bytes of allocator, stacks, notices and findings.
const REST: usize = 6 << 20;
/// Ratio of a run's resident memory to its largest phase: the allocator keeps some memory freed by other phases. Measured with the system's
/// allocator on Linux.
const HELD: f64 = 1.7;
/// Number of values per example and strength: completeness always, selectivity and related scores where they are defined.
const TALLY: usize = 6;
/// Number of values per example and strength for each additional property to keep; most examples have such a property.
const FURTHER: usize = 8;
/// Bytes of an oracle's output on an example: two or three probabilities.
const OUTPUT: usize = 16;
/// Number of statistics computed on the resamples.
const STATISTICS: usize = 7;
/// Largest table of resampling counts, in bytes.
const RESAMPLE_TABLE: usize = 64 << 20;
/// Bytes of vectors written to the cache at a time.
const CACHE_FILE: usize = 32 << 20;

impl Counts {
    /// Memory by parts, in addition to the memory resident before the first hidden state is read. `pass` is the working memory of a forward
    /// pass.
    ///
    /// The phases of a run do not overlap, so the largest counts. Embedding a part needs vectors, their copy in a matrix with a row per
    /// stimulus, and data for the cache. Training on the part needs that matrix and the labelled copy. Judging needs test vectors at both
    /// layers, edited vectors, and resampling counts.
    pub(crate) fn parts(&self, pass: usize) -> Vec<MemoryPart> {
        let row = 4 * self.width;
        let (all, some) = (self.stimuli * row, self.part * row);
        let reading = 2 * some + (some + 24 * self.part).min(CACHE_FILE);
        let placing = all + some;
        let nets = (self.threads * TRAINING_COPIES + 2) * 4 * self.probe;
        let training = all + some + nets;
        let table = self.test * self.resamples;
        let table = if table <= RESAMPLE_TABLE { table } else { self.threads * self.test };
        let test = 2 * self.test * row + self.continued * row;
        let judging = 2 * some
            + test
            + table
            + 3 * self.test.min(4096) * row
            + 96 * self.test
            + self.scores()
            + self.distance_meter();
        // Edited and unedited states of a part, each in chunks, in one matrix, and as training data.
        let leaking = if self.leaks { 8 * some + 2 * test + self.draws() } else { 0 };
        let phase = (reading.max(placing).max(training).max(judging).max(leaking) as f64 * HELD) as usize;
        let mut parts: Vec<MemoryPart> = [
            ("forward pass", pass),
            ("hidden states and probes", phase),
            ("map of layers", self.map()),
            ("rest", REST),
        ]
        .into_iter()
        .filter(|(_, bytes)| *bytes > 0)
        .map(|(name, bytes)| MemoryPart { name: name.into(), bytes: bytes as u64 })
        .collect();
        parts.sort_by_key(|p| std::cmp::Reverse(p.bytes));
        parts
    }

    /// Memory for scores: the first replicate of every method and all replicates of one method. Assessing that method also needs its
    /// columns and every statistic in every resample.
    fn scores(&self) -> usize {
        let (most, all) = (self.strengths.iter().copied().max().unwrap_or(0), self.strengths.iter().sum::<usize>());
        let curves = most * self.replicates;
        let tallies = self.oracles * (all + curves) * self.tally() * self.test;
        // The first property to keep has two values, each additional one at most three.
        let values = 2 + 3 * (self.stays - 1);
        let columns = 4 * self.test * (1 + values + (2 + values) * curves + values * most);
        let single = if self.stays > 1 { self.stays } else { 0 };
        let drawn = 8 * self.resamples * (STATISTICS + single) * curves;
        tallies + columns + drawn + self.draws()
    }

    /// Memory of the map in addition to the states of the spec's own layer: the states of the current layer with their continuation, and
    /// the probes of all layers with their outputs.
    fn map(&self) -> usize {
        if self.map == 0 {
            return 0;
        }
        let row = 4 * self.width;
        let states = 2 * self.test * row + self.map_continued * row + self.map * self.test.min(512) * row;
        let probes = self.map * self.replicates * ((1 + self.stays) * self.oracles + 1) * 4 * self.probe;
        let seen = (1 + self.stays) * OUTPUT + self.tally();
        let seen = self.map * self.replicates * self.oracles * self.test * seen;
        states + probes + seen
    }

    /// Bytes of an example's scores at a strength.
    fn tally(&self) -> usize {
        TALLY + FURTHER * (self.stays - 1)
    }

    /// Real states for comparison, their whitening matrix, and their products with a first chunk of edited states.
    fn distance_meter(&self) -> usize {
        let states = self.part.min(REAL_STATES);
        4 * states * (self.width + FIRST_CHUNK) + 4 * self.width * self.width
    }

    /// Memory of all methods' optima in every resample, kept until they are compared.
    fn draws(&self) -> usize {
        self.strengths.len() * self.oracles * self.resamples * (8 * self.replicates + 32)
    }

    /// Chooses the number of tokens in a batch: the usual number, or fewer to stay within a limit. `resident` is the memory that the
    /// process already uses; `pass` gives the working memory of a batch from its number of tokens. Returns the number of tokens, the parts
    /// of the memory, and the peak.
    ///
    /// # Errors
    /// A problem that names settings that would fit, if not even one text fits.
    pub(crate) fn plan(
        &self,
        resident: u64,
        limit: Option<u64>,
        pass: impl Fn(usize) -> usize,
    ) -> Result<(usize, Vec<MemoryPart>, u64), Problem> {
        let peak = |tokens: usize| {
            let parts = self.parts(pass(tokens));
            let sum = resident + parts.iter().map(|p| p.bytes).sum::<u64>();
            (parts, sum)
        };
        let fits = |sum: u64| limit.is_none_or(|l| sum as f64 * (1.0 + MARGIN) <= l as f64);
        let least = self.longest.max(1);
        let mut tokens = TOKENS_PER_BATCH.max(least);
        loop {
            let (parts, sum) = peak(tokens);
            if fits(sum) {
                return Ok((tokens, parts, sum));
            }
            if tokens == least {
                let needed = (sum as f64 * (1.0 + MARGIN)) as u64;
                let pass = pass(least);
                let sum_of = |c: &Counts| resident + c.parts(pass).iter().map(|p| p.bytes).sum::<u64>();
                let what = format!(
                    "the run needs {} even with one text at a time; the limit is {}",
                    show(needed),
                    show(limit.unwrap_or(0))
                );
                // Resident memory differs by a few pages between starts.
                let megabytes = ((needed + needed / 20) >> 20) + 1;
                let hint = match self.examples_within(|c| fits(sum_of(c))) {
                    Some(n) => format!("set `task.examples = {n}`, or use --memory-limit {megabytes}M"),
                    None => format!(
                        "the model and the program alone take {}; use --memory-limit {megabytes}M",
                        show(sum_of(&self.scaled(0)))
                    ),
                };
                return Err(Problem::new(what, "memory limit", hint));
            }
            tokens = (tokens / 2).max(least);
        }
    }

    /// The same experiment with `n` stimuli.
    fn scaled(&self, n: usize) -> Counts {
        let scale = |count: usize| count * n / self.stimuli.max(1);
        Counts {
            stimuli: n,
            part: scale(self.part),
            test: scale(self.test),
            continued: scale(self.continued),
            map_continued: scale(self.map_continued),
            ..self.clone()
        }
    }

    /// Largest multiple of 100 stimuli that would fit; `None` if fewer than 200 would.
    fn examples_within(&self, fits: impl Fn(&Counts) -> bool) -> Option<usize> {
        let (mut low, mut high) = (1, self.stimuli / 100 + 1);
        while high - low > 1 {
            let middle = usize::midpoint(low, high);
            if fits(&self.scaled(100 * middle)) { low = middle } else { high = middle }
        }
        (low >= 2).then_some(100 * low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn counts(stimuli: usize) -> Counts {
        Counts {
            width: 160,
            stimuli,
            part: stimuli * 2 / 5,
            test: stimuli / 5,
            longest: 20,
            continued: 0,
            probe: 100_000,
            threads: 2,
            resamples: 1000,
            replicates: 5,
            oracles: 2,
            stays: 1,
            strengths: vec![15, 37, 37, 41],
            map: 0,
            map_continued: 0,
            leaks: true,
        }
    }

    #[test]
    fn memory_limit_shrinks_batches() {
        let pass = |tokens: usize| tokens * 10_000;
        let (tokens, _, sum) = counts(12_000).plan(50 << 20, None, pass).unwrap();
        assert_eq!(tokens, TOKENS_PER_BATCH);
        let limit = sum - (10 << 20);
        let (fewer, _, less) = counts(12_000).plan(50 << 20, Some(limit), pass).unwrap();
        assert!(fewer < tokens && less <= limit, "{fewer} {less}");
    }

    #[test]
    fn impossible_limit_suggests_settings_that_fit() {
        let pass = |_: usize| 1 << 20;
        let problem = counts(100_000).plan(50 << 20, Some(100 << 20), pass).unwrap_err();
        assert!(problem.what.contains("limit is 100.0 MB"), "{problem}");
        let n: usize = problem.hint.split("examples = ").nth(1).unwrap().split('`').next().unwrap().parse().unwrap();
        assert!(counts(n).plan(50 << 20, Some(100 << 20), pass).is_ok(), "{problem}");
        let megabytes: u64 = problem.hint.split("limit ").nth(1).unwrap().trim_end_matches('M').parse().unwrap();
        assert!(counts(100_000).plan(50 << 20, Some(megabytes << 20), pass).is_ok(), "{problem}");
        let hopeless = counts(1000).plan(50 << 20, Some(1 << 20), pass).unwrap_err();
        assert!(hopeless.hint.contains("alone take"), "{hopeless}");
    }

    proptest! {
        #[test]
        fn accepted_limit_is_not_exceeded(
            stimuli in 200usize..100_000, resident in 0u64..1 << 30, limit in 1u64..1 << 31, token in 1usize..100_000,
        ) {
            if let Ok((tokens, _, sum)) = counts(stimuli).plan(resident, Some(limit), |t| t * token) {
                prop_assert!(sum <= limit && tokens >= 20);
            }
        }
    }
}
