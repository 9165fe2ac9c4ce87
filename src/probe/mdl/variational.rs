//! Variational coding: sends a probe whose weights are distributions, and the labels with the code that it implies.
//!
//! The code length is `L = KL(q || p) - E_q sum log2 p(y|x, w)` for any distribution q over the weights and a prior p. This is the
//! bits-back argument of Hinton and van Camp (1993), as in Voita and Titov (2020, section 3.1). They use the prior and posterior of
//! Bayesian compression (Louizos et al. 2017). Every input has a scale z with the improper prior 1/|z| (group normal-Jeffreys), and `w = z
//! u` with u ~ N(0, 1) a priori, so that uninformative inputs cost nothing. A posteriori, all scales and weights are independent normals.
//!
//! The divergence of z is approximated as in Molchanov et al. (2017, equation 14); it is 0 for a dropped input. An improper prior defines
//! it only up to a constant; the constant is the published one.
//!
//! Any q gives a valid code; a longer search finds shorter ones. The objective is not convex, and the results of different seeds differ by
//! a few percent. With 8 inputs, the lengths agree with those of another program (golden test). With 128 and 256 inputs and 2,000 and 4,000
//! examples, four times as many steps gave codes 1 to 4 % shorter (2026-11-26).

use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use super::{MdlError, Method};
use crate::data::Labelled;
use crate::jobs::in_order;
use crate::train::Adam;
use base::matmul::{View, matmul};
use base::matrix::Matrix;
use base::{Cancelled, Pulse, SharedPulse};
use stats::Purpose;
use stats::rng::shuffle;

pub const METHOD: Method = Method { name: "variational", bits };

const STEPS: usize = 2_000;
const BATCH: usize = 256;
/// Adam's learning rate at the first step; it falls to 0 along a cosine.
const RATE: f64 = 0.1;
/// Number of passes over the examples that are averaged to estimate the expectation over the weights.
const PASSES: usize = 16;
/// Initial log variances (Louizos et al.), so small that the probe is nearly an ordinary one.
const CERTAIN: f32 = -9.0;
/// Avoids the logarithm of 0.
const TINY: f32 = 1e-8;

/// Independent normal distributions.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Normals {
    pub mean: Vec<f32>,
    pub log_variance: Vec<f32>,
}

impl Normals {
    fn new(mean: Vec<f32>, rng: &mut ChaCha8Rng) -> Self {
        let log_variance = mean.iter().map(|_| CERTAIN + 0.01 * normal(rng)).collect();
        Self { mean, log_variance }
    }

    fn zeros(n: usize) -> Self {
        Self { mean: vec![0.0; n], log_variance: vec![0.0; n] }
    }

    /// Divergence from N(0, 1), in nats (Louizos et al. 2017, equation 8).
    pub fn divergence(&self) -> f64 {
        let of = |(m, l): (&f32, &f32)| {
            let (m, l) = (f64::from(*m), f64::from(*l));
            0.5 * (l.exp() + m * m - l - 1.0)
        };
        self.mean.iter().zip(&self.log_variance).map(of).sum()
    }

    /// Adds the gradient of that divergence, times `weight`.
    fn divergence_slope(&self, weight: f32, slope: &mut Self) {
        slope.mean.iter_mut().zip(&self.mean).for_each(|(s, m)| *s += weight * m);
        let each = slope.log_variance.iter_mut().zip(&self.log_variance);
        each.for_each(|(s, l)| *s += weight * 0.5 * (l.exp() - 1.0));
    }

    fn is_finite(&self) -> bool {
        self.mean.iter().chain(&self.log_variance).all(|v| v.is_finite())
    }
}

/// Divergence of a scale from its prior, in nats (Molchanov et al. 2017, equation 14). `log_alpha` is the logarithm of its variance over
/// its squared mean.
pub fn scale_divergence(log_alpha: f64) -> f64 {
    K1 - K1 * sigmoid(K2 + K3 * log_alpha) + 0.5 * softplus(-log_alpha)
}

const K1: f64 = 0.63576;
const K2: f64 = 1.87320;
const K3: f64 = 1.48695;

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

fn normal(rng: &mut ChaCha8Rng) -> f32 {
    StandardNormal.sample(rng)
}

/// A linear probe whose weights are distributions; its gradient has the same type.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Posterior {
    /// The scale of each input: D.
    pub scale: Normals,
    /// Weights: D x K, by rows.
    pub weight: Normals,
    pub bias: Normals,
}

impl Posterior {
    fn fresh(inputs: usize, classes: usize, rng: &mut ChaCha8Rng) -> Self {
        let spread = 1.0 / (inputs as f32).sqrt();
        let scale = (0..inputs).map(|_| 1.0 + 0.01 * normal(rng)).collect();
        let weight = (0..inputs * classes).map(|_| spread * normal(rng)).collect();
        Self {
            scale: Normals::new(scale, rng),
            weight: Normals::new(weight, rng),
            bias: Normals::new(vec![0.0; classes], rng),
        }
    }

    /// A posterior of the same shape, filled with zeros.
    pub fn zeros(&self) -> Self {
        let of = |n: &Normals| Normals::zeros(n.mean.len());
        Self { scale: of(&self.scale), weight: of(&self.weight), bias: of(&self.bias) }
    }

    fn groups(&self) -> [&Vec<f32>; 6] {
        let Self { scale, weight, bias } = self;
        [&scale.mean, &scale.log_variance, &weight.mean, &weight.log_variance, &bias.mean, &bias.log_variance]
    }

    fn groups_mut(&mut self) -> [&mut Vec<f32>; 6] {
        let Self { scale, weight, bias } = self;
        [
            &mut scale.mean,
            &mut scale.log_variance,
            &mut weight.mean,
            &mut weight.log_variance,
            &mut bias.mean,
            &mut bias.log_variance,
        ]
    }

    /// Code length of the probe itself, in nats.
    pub fn divergence(&self) -> f64 {
        let of = |(m, l): (&f32, &f32)| scale_divergence(f64::from(l - (m * m + TINY).ln()));
        let scales: f64 = self.scale.mean.iter().zip(&self.scale.log_variance).map(of).sum();
        scales + self.weight.divergence() + self.bias.divergence()
    }

    /// Adds the gradient of [`Self::divergence`], times `weight`.
    pub fn divergence_slope(&self, weight: f32, slope: &mut Self) {
        let z = &self.scale;
        for (i, (m, l)) in z.mean.iter().zip(&z.log_variance).enumerate() {
            let square = m * m + TINY;
            let log_alpha = f64::from(l - square.ln());
            let s = sigmoid(K2 + K3 * log_alpha);
            let by = weight * (-K1 * K3 * s * (1.0 - s) - 0.5 * sigmoid(-log_alpha)) as f32;
            slope.scale.log_variance[i] += by;
            slope.scale.mean[i] -= by * 2.0 * m / square;
        }
        self.weight.divergence_slope(weight, &mut slope.weight);
        self.bias.divergence_slope(weight, &mut slope.bias);
    }

    fn is_finite(&self) -> bool {
        self.scale.is_finite() && self.weight.is_finite() && self.bias.is_finite()
    }
}

/// Standard normal numbers for one draw of a batch.
#[derive(Debug, Clone, Default)]
pub struct Draw {
    /// Numbers for the scales, rows x D.
    pub scale: Vec<f32>,
    /// Numbers for the logits, rows x K. Sampling logits replaces sampling weights (local reparametrisation, Kingma et al. 2015).
    pub logit: Vec<f32>,
}

impl Draw {
    fn again(&mut self, rows: usize, (inputs, classes): (usize, usize), rng: &mut ChaCha8Rng) {
        self.scale.clear();
        self.scale.extend((0..rows * inputs).map(|_| normal(rng)));
        self.logit.clear();
        self.logit.extend((0..rows * classes).map(|_| normal(rng)));
    }
}

/// Buffers of a step.
#[derive(Debug, Default)]
pub struct Workspace {
    scaled: Vec<f32>,
    squared: Vec<f32>,
    variance: Vec<f32>,
    of_weight: Vec<f32>,
    of_bias: Vec<f32>,
    logit: Vec<f32>,
    spread: Vec<f32>,
    back: Vec<f32>,
    back_squared: Vec<f32>,
    product: Vec<f32>,
}

/// `dst = a b`, resized to fit.
fn product(dst: &mut Vec<f32>, a: View<'_, f32>, b: View<'_, f32>, len: usize) {
    dst.resize(len, 0.0);
    matmul(dst, 0.0, a, b, 1.0);
}

fn fill(dst: &mut Vec<f32>, values: impl Iterator<Item = f32>) {
    dst.clear();
    dst.extend(values);
}

impl Workspace {
    /// Cross entropy of labels under one draw, summed over the rows of `x` (rows x D), in nats. Leaves its gradient with respect to the
    /// logits in `logit`, for [`Self::slope`].
    pub fn cross_entropy(&mut self, q: &Posterior, x: &[f32], y: &[usize], draw: &Draw) -> f64 {
        let (d, k, n) = (q.scale.mean.len(), q.bias.mean.len(), y.len());
        fill(&mut self.of_weight, q.weight.log_variance.iter().map(|l| l.exp()));
        fill(&mut self.of_bias, q.bias.log_variance.iter().map(|l| l.exp()));
        let deviation: Vec<f32> = q.scale.log_variance.iter().map(|l| (0.5 * l).exp()).collect();
        self.scaled.resize(n * d, 0.0);
        let rows = self.scaled.chunks_exact_mut(d).zip(x.chunks_exact(d)).zip(draw.scale.chunks_exact(d));
        for ((scaled, x), e) in rows {
            let z = q.scale.mean.iter().zip(&deviation).zip(e).map(|((m, s), e)| m + s * e);
            scaled.iter_mut().zip(x).zip(z).for_each(|((v, x), z)| *v = x * z);
        }
        fill(&mut self.squared, self.scaled.iter().map(|v| v * v));
        let view = |data| View::new(data, n, d);
        product(&mut self.logit, view(&self.scaled), View::new(&q.weight.mean, d, k), n * k);
        product(&mut self.variance, view(&self.squared), View::new(&self.of_weight, d, k), n * k);
        self.spread.resize(n * k, 0.0);
        let mut loss = 0.0;
        for (i, label) in y.iter().enumerate() {
            let row = i * k..(i + 1) * k;
            for (j, at) in row.clone().enumerate() {
                self.spread[at] = (self.variance[at] + self.of_bias[j]).sqrt();
                self.logit[at] += q.bias.mean[j] + self.spread[at] * draw.logit[at];
            }
            let logits = &mut self.logit[row];
            let top = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let sum: f64 = logits.iter().map(|z| f64::from(z - top).exp()).sum();
            loss += sum.ln() - f64::from(logits[*label] - top);
            for (j, z) in logits.iter_mut().enumerate() {
                let target = f64::from(u8::from(j == *label));
                *z = (f64::from(*z - top).exp() / sum - target) as f32;
            }
        }
        loss
    }

    /// Adds the gradient of the last cross entropy, times `weight`.
    pub fn slope(&mut self, q: &Posterior, x: &[f32], draw: &Draw, weight: f32, slope: &mut Posterior) {
        let (d, k) = (q.scale.mean.len(), q.bias.mean.len());
        let n = x.len() / d.max(1);
        // From here on `logit` is the gradient of the logits' means and `spread` that of their variances.
        self.logit.iter_mut().for_each(|g| *g *= weight);
        for ((s, g), e) in self.spread.iter_mut().zip(&self.logit).zip(&draw.logit) {
            *s = 0.5 * g * e / s.max(f32::MIN_POSITIVE);
        }
        for (g, s) in self.logit.chunks_exact(k).zip(self.spread.chunks_exact(k)) {
            for j in 0..k {
                slope.bias.mean[j] += g[j];
                slope.bias.log_variance[j] += s[j] * self.of_bias[j];
            }
        }
        let inputs = |data| View::new(data, n, d);
        let outputs = |data| View::new(data, n, k);
        product(&mut self.product, inputs(&self.scaled).t(), outputs(&self.logit), d * k);
        slope.weight.mean.iter_mut().zip(&self.product).for_each(|(s, p)| *s += p);
        product(&mut self.product, inputs(&self.squared).t(), outputs(&self.spread), d * k);
        let each = slope.weight.log_variance.iter_mut().zip(&self.product).zip(&self.of_weight);
        each.for_each(|((s, p), v)| *s += p * v);
        product(&mut self.back, outputs(&self.logit), View::new(&q.weight.mean, d, k).t(), n * d);
        product(&mut self.back_squared, outputs(&self.spread), View::new(&self.of_weight, d, k).t(), n * d);
        let deviation: Vec<f32> = q.scale.log_variance.iter().map(|l| 0.5 * (0.5 * l).exp()).collect();
        for (i, x) in x.chunks_exact(d).enumerate() {
            for j in 0..d {
                let at = i * d + j;
                let by = x[j] * (self.back[at] + 2.0 * self.scaled[at] * self.back_squared[at]);
                slope.scale.mean[j] += by;
                slope.scale.log_variance[j] += by * draw.scale[at] * deviation[j];
            }
        }
    }
}

/// Number of examples per step of a search on `n` examples.
pub fn step(n: usize) -> usize {
    BATCH.min(n)
}

/// Number of examples processed by a search on `n` examples, counting repetitions.
pub fn looks(n: usize) -> usize {
    STEPS * step(n) + PASSES * n
}

/// A code length and its parts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Codelength {
    /// Code length of the probe in bits.
    pub model: f64,
    /// Code length of the labels given the probe, in bits.
    pub data: f64,
}

/// Standardises columns to mean 0 and standard deviation 1; constant columns become 0. The receiver can do the same, so this costs no bits,
/// and the search does not depend on their scale.
fn standardised(x: &Matrix) -> Matrix {
    let (n, d) = (x.rows(), x.cols());
    let mut mean = vec![0.0f64; d];
    x.iter_rows().for_each(|row| mean.iter_mut().zip(row).for_each(|(m, v)| *m += f64::from(*v) / n as f64));
    let mut square = vec![0.0f64; d];
    for row in x.iter_rows() {
        let gaps = row.iter().zip(&mean).map(|(v, m)| f64::from(*v) - m);
        square.iter_mut().zip(gaps).for_each(|(s, g)| *s += g * g / n as f64);
    }
    let by = |j: usize| if square[j] > 1e-12 * mean[j] * mean[j] { 1.0 / square[j].sqrt() } else { 0.0 };
    let by: Vec<f64> = (0..d).map(by).collect();
    Matrix::from_fn(n, d, |i, j| ((f64::from(x.row(i)[j]) - mean[j]) * by[j]) as f32)
}

struct Batch<'a> {
    data: &'a Labelled,
    x: Vec<f32>,
    y: Vec<usize>,
}

impl Batch<'_> {
    fn take(&mut self, rows: impl Iterator<Item = usize>) {
        self.x.clear();
        self.y.clear();
        for i in rows {
            self.x.extend_from_slice(self.data.x().row(i));
            self.y.push(self.data.y()[i]);
        }
    }
}

/// Finds a posterior for the labels of `data` and its code length, without rescaling the columns. `beat` is called before every step.
fn search(
    data: &Labelled,
    purpose: &Purpose,
    beat: &mut dyn FnMut() -> Result<(), Cancelled>,
) -> Result<Codelength, MdlError> {
    let (n, d, k) = (data.len(), data.x().cols(), data.classes());
    let (mut batches, mut noise) = (purpose.stream("batches"), purpose.stream("noise"));
    let mut q = Posterior::fresh(d, k, &mut purpose.stream("weights"));
    let mut slope = q.zeros();
    let mut moments: Vec<(Vec<f32>, Vec<f32>)> =
        q.groups().iter().map(|g| (vec![0.0; g.len()], vec![0.0; g.len()])).collect();
    let (mut work, mut draw) = (Workspace::default(), Draw::default());
    let mut batch = Batch { data, x: Vec::new(), y: Vec::new() };
    let (mut order, mut at): (Vec<usize>, usize) = ((0..n).collect(), n);
    let size = step(n);
    for done in 0..STEPS {
        beat()?;
        if at + size > n {
            shuffle(&mut batches, &mut order);
            at = 0;
        }
        batch.take(order[at..at + size].iter().copied());
        at += size;
        draw.again(size, (d, k), &mut noise);
        slope.groups_mut().into_iter().for_each(|g| g.fill(0.0));
        work.cross_entropy(&q, &batch.x, &batch.y, &draw);
        work.slope(&q, &batch.x, &draw, 1.0 / size as f32, &mut slope);
        q.divergence_slope(1.0 / n as f32, &mut slope);
        let rate = RATE * 0.5 * (1.0 + (std::f64::consts::PI * done as f64 / STEPS as f64).cos());
        let adam = Adam::at(rate, done as i32 + 1);
        let all = q.groups_mut().into_iter().zip(slope.groups()).zip(&mut moments);
        all.for_each(|((parameters, slope), moments)| adam.update(parameters, slope, moments));
    }
    let mut nats = 0.0;
    let rows: Vec<usize> = (0..n).collect();
    for _ in 0..PASSES {
        beat()?;
        for chunk in rows.chunks(BATCH) {
            batch.take(chunk.iter().copied());
            draw.again(chunk.len(), (d, k), &mut noise);
            nats += work.cross_entropy(&q, &batch.x, &batch.y, &draw);
        }
    }
    let bits = |nats: f64| nats / std::f64::consts::LN_2;
    let code = Codelength { model: bits(q.divergence()), data: bits(nats / PASSES as f64) };
    if q.is_finite() && (code.model + code.data).is_finite() { Ok(code) } else { Err(MdlError::Diverged) }
}

/// Codes the labels of `data` with a linear probe, once per purpose; searches run side by side.
pub fn codes(data: &Labelled, purposes: &[Purpose], pulse: &mut dyn Pulse) -> Result<Vec<Codelength>, MdlError> {
    let data = Labelled::new(standardised(data.x()), data.y().to_vec(), data.classes())?;
    let shared = SharedPulse::new(pulse, purposes.len() * (STEPS + PASSES));
    let all = in_order(purposes.len(), |i| {
        match search(&data, &purposes[i].of("code", "variational"), &mut || shared.beat()) {
            Err(MdlError::Cancelled(e)) => Err(e),
            other => Ok(other),
        }
    })?;
    all.into_iter().collect()
}

fn bits(data: &Labelled, purposes: &[Purpose], pulse: &mut dyn Pulse) -> Result<Vec<f64>, MdlError> {
    Ok(codes(data, purposes, pulse)?.iter().map(|c| c.model + c.data).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mdl::{METHODS, uniform};
    use base::NoPulse;
    use stats::rng::stream;

    /// Points whose first coordinate determines the label if `told`; otherwise the label is random.
    fn points(n: usize, told: bool) -> Labelled {
        let mut rng = stream(5, "points");
        let y: Vec<usize> = (0..n).map(|i| (i * 7 + i / 5) % 2).collect();
        let shift = |i: usize| if told { 4.0 * y[i] as f32 - 2.0 } else { 0.0 };
        let x: Vec<f32> = (0..n).flat_map(|i| [shift(i) + normal(&mut rng), normal(&mut rng), 3.0]).collect();
        Labelled::new(Matrix::from_vec(n, 3, x).unwrap(), y, 2).unwrap()
    }

    fn purposes(n: usize) -> Vec<Purpose> {
        (0..n).map(|k| Purpose::new(3, "points", "linear").replicate(k)).collect()
    }

    #[test]
    fn encoded_labels_have_short_variational_codelength() {
        let told = points(300, true);
        let codes = codes(&told, &purposes(2), &mut NoPulse).unwrap();
        for code in &codes {
            assert!(code.model > 1.0 && code.model + code.data < 0.5 * uniform(&told), "{code:?}");
        }
        assert_ne!(codes[0], codes[1]);
        assert!((codes[0].model + codes[0].data - codes[1].model - codes[1].data).abs() < 6.0);
        // A probe without information costs almost nothing: its code is at most a few bits longer than the uniform code.
        let free = points(300, false);
        let bits = METHODS[1].bits;
        let all = bits(&free, &purposes(1), &mut NoPulse).unwrap();
        assert!((all[0] - uniform(&free)).abs() < 12.0, "{all:?}");
    }

    #[test]
    fn results_do_not_depend_on_threads_and_can_be_cancelled() {
        let data = points(40, true);
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| codes(&data, &purposes(3), &mut NoPulse).unwrap())
        };
        assert_eq!(run(1), run(3));
        let mut stop = |_: usize, _: usize| Err(Cancelled);
        assert_eq!(codes(&data, &purposes(2), &mut stop), Err(MdlError::Cancelled(Cancelled)));
    }

    #[test]
    fn scale_and_constant_columns_do_not_matter() {
        let data = points(60, true);
        let wide = Matrix::from_fn(60, 3, |i, j| 1e6 * data.x().row(i)[j]);
        let wide = Labelled::new(wide, data.y().to_vec(), 2).unwrap();
        let of = |d: &Labelled| codes(d, &purposes(1), &mut NoPulse).unwrap()[0];
        let (a, b) = (of(&data), of(&wide));
        assert!((a.model + a.data - b.model - b.data).abs() < 1.0, "{a:?} {b:?}");
    }
}
