//! Percentile bootstrap of means, paired over examples.
//!
//! A resample of n examples is a vector of n counts (how often each example was drawn), distributed as Multinomial(n, 1/n). The counts
//! depend only on n, the number of resamples and the seed. They are drawn once as a `u8` matrix and shared by every point of every curve:
//! an interval is a product of that matrix with columns of values. Sharing also pairs the points: resample b contains the same examples at
//! every strength, for every method and for all three scores.
//!
//! The q-quantile is the smallest resampled value with at least a share q of the resamples at or below it. Both ends of an interval are
//! thus resampled values, without interpolation.

use super::estimate::Estimate;
use super::rng::{below, stream};
use base::matmul::{View, matmul};
use base::matrix::Matrix;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

/// Size in bytes above which the counts are redrawn at each use, which is slower but gives the same numbers.
const TABLE_LIMIT: usize = 64 << 20;

/// Number of resamples processed together by one thread in [`Resamples::block_sums`]. Fixed, so that sums do not depend on the number of
/// threads.
const TOGETHER: usize = 40;

/// Shared resampling counts for samples of `n` examples.
#[derive(Debug, Clone)]
pub struct Resamples {
    n: usize,
    count: usize,
    streams: ChaCha8Rng,
    table: Option<Vec<u8>>,
}

/// The harmonic mean of two non-negative numbers; 0 if both are 0.
pub fn harmonic_mean(a: f64, b: f64) -> f64 {
    if a + b > 0.0 { 2.0 * a * b / (a + b) } else { 0.0 }
}

impl Resamples {
    /// Draws `count` resamples of `n` examples (at most 2³² - 1).
    pub fn new(n: usize, count: usize, seed: u64) -> Self {
        let mut resamples = Self { n, count, streams: stream(seed, "bootstrap"), table: None };
        if n > 0 && n.saturating_mul(count) <= TABLE_LIMIT {
            let mut table = vec![0; n * count];
            table.par_chunks_mut(n).enumerate().for_each(|(b, row)| resamples.draw(b, row));
            resamples.table = Some(table);
        }
        resamples
    }

    /// The required length of a column.
    pub fn examples(&self) -> usize {
        self.n
    }

    pub fn count(&self) -> usize {
        self.count
    }

    /// Draws resample `b` into `row` from a separate stream, so that resamples can be drawn in any order.
    fn draw(&self, b: usize, row: &mut [u8]) {
        let mut rng = self.streams.clone();
        rng.set_stream(b as u64);
        row.fill(0);
        for _ in 0..self.n {
            let i = below(&mut rng, self.n as u32) as usize;
            // The probability of drawing an example more than 255 times is below 1e-500.
            row[i] = row[i].saturating_add(1);
        }
    }

    /// Applies `statistic` to the counts of every resample in parallel; returns the results in order. The counts are converted to f32 in a
    /// separate pass, because that loop vectorises and its data stay in the L1 cache.
    fn each<T: Send>(&self, statistic: impl Fn(&[f32]) -> T + Sync) -> Vec<T> {
        (0..self.count)
            .into_par_iter()
            .with_min_len(32)
            .map_init(
                || (vec![0u8; self.n], vec![0.0f32; self.n]),
                |(drawn, counts), b| {
                    let row = match &self.table {
                        Some(table) => &table[b * self.n..(b + 1) * self.n],
                        None => {
                            self.draw(b, drawn);
                            drawn.as_slice()
                        }
                    };
                    counts.iter_mut().zip(row).for_each(|(count, drawn)| *count = f32::from(*drawn));
                    statistic(counts)
                },
            )
            .collect()
    }

    /// Sums columns over the rows of each block in every resample. `visit` receives the index of the resample and a blocks x columns
    /// matrix; its results are returned in order. `columns` is n x columns; every row is in exactly one block. Sums are in single
    /// precision: pass centred columns.
    ///
    /// # Panics
    /// If the columns or blocks do not fit the sample.
    pub fn block_sums<T: Send>(
        &self,
        columns: &Matrix,
        blocks: &[Vec<usize>],
        visit: impl Fn(usize, &[f32]) -> T + Sync,
    ) -> Vec<T> {
        let order: Vec<usize> = blocks.iter().flatten().copied().collect();
        assert_eq!((columns.rows(), order.len()), (self.n, self.n), "columns or blocks do not fit the sample");
        let (dealt, width) = (columns.select_rows(&order), columns.cols());
        let chunks: Vec<usize> = (0..self.count).step_by(TOGETHER).collect();
        let parts: Vec<Vec<T>> = chunks
            .into_par_iter()
            .with_max_len(1)
            .map(|from| {
                let together = TOGETHER.min(self.count - from);
                let counts = self.gather(from, together, &order);
                let mut sums = vec![0.0f32; together * blocks.len() * width];
                let mut product = vec![0.0f32; together * width];
                let mut begin = 0;
                for (g, block) in blocks.iter().enumerate() {
                    let end = begin + block.len();
                    let rows = &counts[begin * together..end * together];
                    let rows = View::new(rows, block.len(), together).t();
                    let values = View::new(&dealt.data()[begin * width..end * width], block.len(), width);
                    matmul(&mut product, 0.0, rows, values, 1.0);
                    for (b, row) in product.chunks_exact(width).enumerate() {
                        let at = (b * blocks.len() + g) * width;
                        sums[at..at + width].copy_from_slice(row);
                    }
                    begin = end;
                }
                let each = sums.chunks_exact(blocks.len() * width).enumerate();
                each.map(|(b, sums)| visit(from + b, sums)).collect()
            })
            .collect();
        parts.into_iter().flatten().collect()
    }

    /// Counts of `together` resamples starting at `from`, as a rows x resamples matrix with the rows in the given order.
    fn gather(&self, from: usize, together: usize, order: &[usize]) -> Vec<f32> {
        let mut counts = vec![0.0f32; order.len() * together];
        let mut drawn = vec![0u8; self.n];
        for b in 0..together {
            let row = match &self.table {
                Some(table) => &table[(from + b) * self.n..(from + b + 1) * self.n],
                None => {
                    self.draw(from + b, &mut drawn);
                    drawn.as_slice()
                }
            };
            order.iter().enumerate().for_each(|(i, r)| counts[i * together + b] = f32::from(row[*r]));
        }
        counts
    }

    /// The mean of `values` with its interval; NaN without examples or resamples.
    ///
    /// # Panics
    /// If the length of `values` is not [`Self::examples`].
    pub fn mean(&self, values: &[f64], level: f64) -> Estimate {
        assert_eq!(values.len(), self.n, "the column has a different number of examples");
        let Column { mean, range, centred } = Column::new(values);
        interval(mean, self.each(|w| held(mean + sum(w, &centred) / self.n as f64, range)), level)
    }
}

/// Mean-centred values, so that single-precision sums stay accurate. Means are clamped to the range of the values: if all values are 1,
/// rounding must not lift a mean above 1 or make means differ.
struct Column {
    mean: f64,
    range: (f64, f64),
    centred: Vec<f32>,
}

impl Column {
    fn new(values: &[f64]) -> Self {
        let range = values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), v| (lo.min(*v), hi.max(*v)));
        let mean = held(values.iter().sum::<f64>() / values.len() as f64, range);
        Self { mean, range, centred: values.iter().map(|v| (v - mean) as f32).collect() }
    }
}

/// `value` clamped to `range`; NaN stays NaN.
fn held(value: f64, (lo, hi): (f64, f64)) -> f64 {
    if value < lo {
        lo
    } else if value > hi {
        hi
    } else {
        value
    }
}

/// Number of interleaved partial sums, so that products with counts vectorise.
const LANES: usize = 16;

/// Sum of counts times values. Partial sums move to double precision every 4,096 examples.
fn sum(counts: &[f32], values: &[f32]) -> f64 {
    let (w, w_tail) = counts.as_chunks::<LANES>();
    let (x, x_tail) = values.as_chunks::<LANES>();
    let mut total: f64 = w_tail.iter().zip(x_tail).map(|(w, x)| f64::from(*w) * f64::from(*x)).sum();
    for (w, x) in w.chunks(256).zip(x.chunks(256)) {
        let mut lanes = [0.0f32; LANES];
        for (w, x) in w.iter().zip(x) {
            for ((sum, w), x) in lanes.iter_mut().zip(w).zip(x) {
                *sum += w * x;
            }
        }
        total += lanes.iter().map(|x| f64::from(*x)).sum::<f64>();
    }
    total
}

/// The percentile interval of resampled values around a statistic. Both ends are NaN if there are no values.
pub fn interval(mean: f64, mut values: Vec<f64>, level: f64) -> Estimate {
    values.sort_unstable_by(f64::total_cmp);
    let tail = 0.5 * (1.0 - level);
    Estimate { mean, lo: quantile(&values, tail), hi: quantile(&values, 1.0 - tail) }
}

/// The smallest value with at least a share `q` of the sorted values at or below it.
fn quantile(sorted: &[f64], q: f64) -> f64 {
    let rank = (q * sorted.len() as f64 - 1e-9).ceil().max(1.0) as usize;
    sorted.get(rank - 1).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::unit;
    use proptest::prelude::*;

    #[test]
    fn counts_form_resamples() {
        let r = Resamples::new(50, 200, 3);
        let sums = r.each(|w| w.iter().sum::<f32>());
        assert!(sums.len() == 200 && sums.iter().all(|s| *s == 50.0));
        // An example's count has mean 1 and variance 1 - 1/n.
        let squares: f32 = r.each(|w| w.iter().map(|c| c * c).sum::<f32>()).iter().sum();
        let variance = squares / (50.0 * 200.0) - 1.0;
        assert!((variance - 0.98).abs() < 0.06, "{variance}");
    }

    #[test]
    fn block_sums_equal_sums_over_the_resample() {
        let (n, cols) = (90, 3);
        let mut rng = stream(4, "values");
        let columns = Matrix::from_vec(n, cols, (0..n * cols).map(|_| unit(&mut rng) as f32).collect());
        let columns = columns.unwrap();
        let r = Resamples::new(n, 130, 3);
        let blocks: Vec<Vec<usize>> = (0..4).map(|g| (0..n).filter(|i| i * i % 7 % 4 == g).collect()).collect();
        let got = r.block_sums(&columns, &blocks, |_, sums| sums.to_vec());
        let want = r.each(|w| {
            let sum = |g: usize, c: usize| blocks[g].iter().map(|i| w[*i] * columns.row(*i)[c]).sum::<f32>();
            (0..4 * cols).map(|at| sum(at / cols, at % cols)).collect::<Vec<f32>>()
        });
        for (a, b) in got.iter().flatten().zip(want.iter().flatten()) {
            assert!((a - b).abs() < 1e-4, "{a} {b}");
        }
        let drawn = Resamples { table: None, ..r.clone() };
        assert_eq!(drawn.block_sums(&columns, &blocks, |_, sums| sums.to_vec()), got);
    }

    #[test]
    fn unstored_draws_are_repeated_identically() {
        let kept = Resamples::new(300, 100, 9);
        let drawn = Resamples { table: None, ..kept.clone() };
        let mut rng = stream(1, "values");
        let x: Vec<f64> = (0..300).map(|_| unit(&mut rng)).collect();
        assert_eq!(kept.mean(&x, 0.95), drawn.mean(&x, 0.95));
    }

    #[test]
    fn a_constant_has_no_spread() {
        let r = Resamples::new(97, 300, 1);
        let e = r.mean(&[0.1; 97], 0.95);
        assert!(e.mean == 0.1 && e.lo == 0.1 && e.hi == 0.1);
    }

    #[test]
    fn empty_input_gives_nan() {
        assert!(Resamples::new(0, 10, 0).mean(&[], 0.95).mean.is_nan());
        assert!(Resamples::new(3, 0, 0).mean(&[1.0, 2.0, 3.0], 0.95).lo.is_nan());
    }

    proptest! {
        #[test]
        fn intervals_lie_within_the_data(values in proptest::collection::vec(0.0f64..1.0, 1..60), seed: u64) {
            let e = Resamples::new(values.len(), 200, seed).mean(&values, 0.9);
            let least = values.iter().copied().fold(f64::INFINITY, f64::min);
            let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            prop_assert!(e.lo <= e.hi && e.lo >= least - 1e-12 && e.hi <= most + 1e-12);
        }
    }
}
