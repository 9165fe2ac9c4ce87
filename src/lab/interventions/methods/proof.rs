//! Proofs that no point of the ball is across a probe's boundary: rows on which every attack must fail need not be attacked.
//!
//! The smallest margin over the ball is bounded from below. Each ReLU is replaced by lines above and below it, layer by layer from the
//! output back to the input (CROWN, Zhang et al. 2018), where the input's range gives the bound in closed form. The range of a hidden unit
//! comes from interval arithmetic (Gowal et al. 2018), which is exact for the first layer, or, in the thorough form, from separate bounds.
//!
//! A row whose margin stays above 0 is safe from any attack, and every attack of [`super::across`] returns it unchanged. So a proof saves a
//! futile search and changes results only by rounding, because the batches of attacked rows then lack the proved rows. The bounds apply to
//! exact arithmetic; an allowance for rounding is subtracted from each.

use super::across::{Field, Wish};
use super::attack::Aim;
use base::matmul::{View, matmul};
use probe::mlp::CHUNK;
use probe::{Matrix, Mlp};
use rayon::prelude::*;

/// Method for the ranges of hidden units after the first layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RangeMethod {
    /// By interval arithmetic, which costs about one step of an attack.
    Quick,
    /// Computes separate bounds for each unit, which takes about one pass per hidden unit of the network.
    Thorough,
}

/// Rounding error of a sum as a share of the size of its terms.
const ROUNDING: f32 = 1e-5;

/// Proofs about one perceptron. A proof at one radius depends only on that radius, not on earlier ones.
#[derive(Debug)]
pub(crate) struct Proofs {
    /// Absolute values of the weights.
    sizes: Vec<Matrix>,
}

impl Proofs {
    pub(crate) fn new(mlp: &Mlp) -> Self {
        let size = |w: &Matrix| Matrix::from_fn(w.rows(), w.cols(), |i, j| w.row(i)[j].abs());
        Self { sizes: mlp.layers().iter().map(|l| size(&l.weight)).collect() }
    }

    /// The `rows` that are not proved safe within `epsilon`.
    pub(crate) fn unproved(&self, field: &Field<'_>, rows: &[usize], epsilon: f32, effort: RangeMethod) -> Vec<usize> {
        let sizes = &self.sizes;
        let stands: Vec<bool> = rows
            .par_chunks(if effort == RangeMethod::Quick { CHUNK } else { 1 })
            .flat_map_iter(|rows| Bounds { field, sizes, rows, epsilon }.stand(effort))
            .collect();
        rows.iter().zip(stands).filter(|(_, stands)| !stands).map(|(row, _)| *row).collect()
    }

    /// True if a thorough proof is worth its cost: it proves more than a quick one, and costs less than the `passes` through the perceptron
    /// that it may save for one row.
    pub(crate) fn is_worth(mlp: &Mlp, passes: usize) -> bool {
        let cost = |l: usize| mlp.layers()[l].weight.data().len();
        let hidden = mlp.layers().len() - 1;
        let units = |l: usize| 2 * mlp.layers()[l].bias.len();
        let passes_per_failure: usize = (1..hidden).map(|l| units(l) * (0..l).map(cost).sum::<usize>()).sum();
        hidden > 1 && passes_per_failure < passes.saturating_mul((0..=hidden).map(cost).sum())
    }
}

/// Rows to be proved at one radius.
struct Bounds<'a> {
    field: &'a Field<'a>,
    sizes: &'a [Matrix],
    rows: &'a [usize],
    epsilon: f32,
}

/// Smallest and largest output of each unit of a hidden layer before its ReLU, row by row.
struct Range {
    low: Vec<f32>,
    high: Vec<f32>,
}

/// Linear functions of a layer's outputs, `per` for each row: coefficients, constants, and the total size of the terms added up.
struct Linear {
    per: usize,
    weights: Vec<f32>,
    constants: Vec<f32>,
    sizes: Vec<f32>,
}

impl Bounds<'_> {
    /// For each row, true if it is proved safe.
    fn stand(&self, effort: RangeMethod) -> Vec<bool> {
        let mlp = self.field.mlp;
        let hidden = mlp.layers().len() - 1;
        let mut ranges: Vec<Range> = Vec::new();
        for layer in 0..hidden {
            let mut range = self.interval(layer, ranges.last());
            if layer > 0 && effort == RangeMethod::Thorough {
                self.tighten(layer, &mut range, &ranges);
            }
            ranges.push(range);
        }
        let mut stands = vec![true; self.rows.len()];
        for slot in 0..mlp.classes() - 1 {
            let (linear, asked) = self.margin(slot);
            if !asked.contains(&true) {
                break;
            }
            let low = self.least(hidden, linear, &ranges);
            stands.iter_mut().zip(low).zip(asked).for_each(|((s, low), asked)| *s &= !asked || low > 0.0);
        }
        stands
    }

    /// The margin that an attack must reduce to 0, as a function of the last hidden layer: the `slot`-th margin of each row, and whether
    /// the row has that many margins. An attack away from a class succeeds if any one of several margins reaches 0. An attack toward a
    /// class has one margin, that of the row's current class.
    fn margin(&self, slot: usize) -> (Linear, Vec<bool>) {
        let Some(last) = self.field.mlp.layers().last() else { return (Linear::empty(), Vec::new()) };
        let (mut linear, mut asked) = (Linear::empty(), Vec::new());
        linear.per = 1;
        for row in self.rows {
            let Wish { aim, class } = self.field.wishes[*row];
            let (keep, to) = match aim {
                Aim::Towards => (self.field.from[*row], class),
                Aim::AwayFrom => (class, if slot < class { slot } else { slot + 1 }),
            };
            asked.push(aim == Aim::AwayFrom || slot == 0);
            linear.weights.extend(last.weight.iter_rows().map(|w| w[keep] - w[to]));
            linear.constants.push(last.bias[keep] - last.bias[to]);
            linear.sizes.push(last.bias[keep].abs() + last.bias[to].abs());
        }
        (linear, asked)
    }

    /// The ranges of a hidden layer's units by interval arithmetic, from the previous layer's ranges or from the ball.
    fn interval(&self, layer: usize, before: Option<&Range>) -> Range {
        let (weight, sizes) = (&self.field.mlp.layers()[layer], &self.sizes[layer]);
        let inputs = weight.weight.rows();
        let (mut middle, mut reach) = (Vec::new(), Vec::new());
        match before {
            None => {
                self.rows.iter().for_each(|r| middle.extend_from_slice(self.field.h.row(*r)));
                reach.resize(middle.len(), self.epsilon);
            }
            Some(range) => {
                for (low, high) in range.low.iter().zip(&range.high) {
                    let (low, high) = (low.max(0.0), high.max(0.0));
                    middle.push(0.5 * (low + high));
                    reach.push(0.5 * (high - low));
                }
            }
        }
        let (n, outputs) = (self.rows.len(), weight.bias.len());
        let product = |x: &[f32], w: &Matrix| {
            let mut out = vec![0.0; n * outputs];
            matmul(&mut out, 0.0, View::new(x, n, inputs), w.view(), 1.0);
            out
        };
        let (centre, radius) = (product(&middle, &weight.weight), product(&reach, sizes));
        middle.iter_mut().for_each(|m| *m = m.abs());
        let size = product(&middle, sizes);
        let (mut low, mut high) = (Vec::with_capacity(n * outputs), Vec::with_capacity(n * outputs));
        for (i, ((centre, radius), size)) in centre.iter().zip(&radius).zip(&size).enumerate() {
            let bias = weight.bias[i % outputs];
            let reach = radius + ROUNDING * (radius + size + bias.abs());
            low.push(centre + bias - reach);
            high.push(centre + bias + reach);
        }
        Range { low, high }
    }

    /// Narrows the ranges of a hidden layer by separate bounds for each unit.
    fn tighten(&self, layer: usize, range: &mut Range, before: &[Range]) {
        let weight = &self.field.mlp.layers()[layer];
        let (n, units) = (self.rows.len(), weight.bias.len());
        for sign in [1.0, -1.0] {
            let mut linear = Linear::empty();
            linear.per = units;
            let transposed = weight.weight.transposed();
            for _ in 0..n {
                linear.weights.extend(transposed.data().iter().map(|w| sign * w));
                linear.constants.extend(weight.bias.iter().map(|b| sign * b));
                linear.sizes.extend(weight.bias.iter().map(|b| b.abs()));
            }
            let least = self.least(layer, linear, before);
            if sign > 0.0 {
                range.low.iter_mut().zip(least).for_each(|(low, l)| *low = low.max(l));
            } else {
                range.high.iter_mut().zip(least).for_each(|(high, l)| *high = high.min(-l));
            }
        }
    }

    /// Lower bounds over the ball on linear functions of the outputs that layer `layer` reads.
    fn least(&self, layer: usize, mut linear: Linear, ranges: &[Range]) -> Vec<f32> {
        for below in (0..layer).rev() {
            linear.relax(&ranges[below]);
            linear = linear.through(&self.field.mlp.layers()[below].weight, &self.field.mlp.layers()[below].bias);
        }
        let d = self.field.h.cols();
        let each = linear.weights.chunks_exact(d).zip(linear.constants.iter().zip(&linear.sizes)).enumerate();
        each.map(|(i, (weights, (constant, size)))| {
            let h = self.field.h.row(self.rows[i / linear.per]);
            let (mut dot, mut reach, mut added) = (0.0, 0.0, *size);
            for (w, h) in weights.iter().zip(h) {
                dot += w * h;
                reach += w.abs();
                added += (w * h).abs();
            }
            dot + constant - self.epsilon * reach - ROUNDING * (added + self.epsilon * reach)
        })
        .collect()
    }
}

impl Linear {
    fn empty() -> Self {
        Self { per: 1, weights: Vec::new(), constants: Vec::new(), sizes: Vec::new() }
    }

    /// Turns functions of a layer's outputs into lower bounds as functions of its inputs to the ReLU.
    fn relax(&mut self, range: &Range) {
        let units = self.weights.len() / self.constants.len().max(1);
        for (i, weights) in self.weights.chunks_exact_mut(units.max(1)).enumerate() {
            let at = i / self.per * units;
            let ranges = range.low[at..at + units].iter().zip(&range.high[at..at + units]);
            for (w, (low, high)) in weights.iter_mut().zip(ranges) {
                if *high <= 0.0 {
                    *w = 0.0;
                } else if *low < 0.0 {
                    if *w < 0.0 {
                        // The chord between the ends is above a ReLU.
                        let slope = high / (high - low);
                        let lift = -*w * slope * low;
                        self.constants[i] += *w * slope * -low;
                        self.sizes[i] += lift.abs();
                        *w *= slope;
                    } else if *high <= -low {
                        // Both 0 and the diagonal are lower bounds; the one with the smaller gap is used.
                        *w = 0.0;
                    }
                }
            }
        }
    }

    /// Turns functions of a layer's outputs into functions of its inputs.
    fn through(self, weight: &Matrix, bias: &[f32]) -> Self {
        let (n, outputs, inputs) = (self.constants.len(), weight.cols(), weight.rows());
        let mut weights = vec![0.0; n * inputs];
        let view = View::new(&self.weights, n, outputs);
        matmul(&mut weights, 0.0, view, weight.view().t(), 1.0);
        let (mut constants, mut sizes) = (self.constants, self.sizes);
        for (i, row) in self.weights.chunks_exact(outputs).enumerate() {
            for (w, b) in row.iter().zip(bias) {
                constants[i] += w * b;
                sizes[i] += (w * b).abs();
            }
        }
        Self { per: self.per, weights, constants, sizes }
    }
}

#[cfg(test)]
mod tests {
    use super::super::across::Attack;
    use super::super::apgd::{Loss, Walk};
    use super::super::square::Draws;
    use super::*;
    use base::NoPulse;
    use base::matrix::argmax;
    use probe::Dense;
    use probe::mlp::Layer;
    use stats::rng::{below, stream, unit};

    /// A perceptron with sizeable margins, and embeddings with its predictions on them.
    fn ground(hidden: &[usize], classes: usize, seed: u64) -> (Mlp, Matrix, Vec<usize>) {
        let d = 9;
        let mut rng = stream(seed, "proof");
        let mut mlp = Mlp::fresh(d, hidden, classes, &mut rng);
        mlp.layers_mut().iter_mut().for_each(|l| l.weight.data_mut().iter_mut().for_each(|w| *w *= 2.0));
        let values: Vec<f32> = (0..60 * d).map(|_| (4.0 * unit(&mut rng) - 2.0) as f32).collect();
        let h = Matrix::from_vec(60, d, values).unwrap();
        let from = mlp.logits(&h).iter_rows().map(argmax).collect();
        (mlp, h, from)
    }

    /// Targets for attacks away from every class and toward every other class.
    fn wishes(from: &[usize], classes: usize) -> [Vec<Wish>; 2] {
        let away = from.iter().map(|c| Wish { aim: Aim::AwayFrom, class: *c }).collect();
        let towards = from.iter().map(|c| Wish { aim: Aim::Towards, class: (c + 1) % classes }).collect();
        [away, towards]
    }

    /// Neither the attacks nor hundreds of random corners and points of the ball move a row that is proved safe across the boundary.
    #[test]
    fn proved_rows_cannot_be_moved() {
        let shapes: [(&[usize], usize); 4] = [(&[], 3), (&[12], 2), (&[10, 8], 2), (&[8, 7, 6], 3)];
        for (seed, (hidden, classes)) in (1..).zip(shapes) {
            let (mlp, h, from) = ground(hidden, classes, seed);
            let all: Vec<usize> = (0..h.rows()).collect();
            for wishes in wishes(&from, classes) {
                let field = Field { mlp: &mlp, h: &h, from: &from, wishes: &wishes, seed: 5 };
                let mut proved = [0, 0];
                for epsilon in [0.01, 0.05, 0.1, 0.2, 0.4] {
                    let open = |effort| Proofs::new(&mlp).unproved(&field, &all, epsilon, effort);
                    let (quick, thorough) = (open(RangeMethod::Quick), open(RangeMethod::Thorough));
                    assert!(thorough.iter().all(|r| quick.contains(r)), "a thorough proof leaves no additional rows");
                    proved[0] += all.len() - quick.len();
                    proved[1] += all.len() - thorough.len();
                    let safe: Vec<usize> = all.iter().copied().filter(|r| !thorough.contains(r)).collect();
                    let mut rng = stream(seed, "points");
                    for row in &safe {
                        let point = |corner: bool, rng: &mut rand_chacha::ChaCha8Rng| {
                            let u = if corner { 2.0 * f64::from(below(rng, 2)) - 1.0 } else { 2.0 * unit(rng) - 1.0 };
                            epsilon * u as f32
                        };
                        let some = Dense::from_vec(
                            200,
                            h.cols(),
                            (0..200 * h.cols())
                                .map(|i| h.row(*row)[i % h.cols()] + point(i % 2 == 0, &mut rng))
                                .collect(),
                        )
                        .unwrap();
                        assert!(mlp.logits(&some).iter_rows().all(|l| !wishes[*row].is_met(l)), "{epsilon}");
                    }
                    let attacks: [&mut dyn Attack; 2] =
                        [&mut Walk { loss: Loss::CrossEntropy, iterations: 40 }, &mut Draws { queries: 200 }];
                    for attack in attacks {
                        let found = attack.run(&field, &safe, epsilon, &mut NoPulse).unwrap();
                        assert!(found.iter().all(Option::is_none), "{hidden:?} at {epsilon}");
                    }
                }
                // Proofs that never succeed would also pass the checks above.
                assert!(proved[0] > 40 && proved[1] >= proved[0], "{hidden:?}: {proved:?} of 300");
            }
        }
    }

    /// A linear probe's margin over a ball is known: a proof succeeds just below the distance to the boundary and fails just above.
    #[test]
    fn it_is_exact_on_a_linear_probe() {
        let (mlp, h, from) = ground(&[], 2, 9);
        let [wishes, _] = wishes(&from, 2);
        let field = Field { mlp: &mlp, h: &h, from: &from, wishes: &wishes, seed: 0 };
        let size: f32 = mlp.layers()[0].weight.iter_rows().map(|w| (w[1] - w[0]).abs()).sum();
        for (row, logits) in mlp.logits(&h).iter_rows().enumerate() {
            let distance = (logits[1] - logits[0]).abs() / size;
            let proofs = Proofs::new(&mlp);
            assert!(proofs.unproved(&field, &[row], 0.999 * distance, RangeMethod::Quick).is_empty());
            assert_eq!(proofs.unproved(&field, &[row], 1.001 * distance, RangeMethod::Quick), [row]);
        }
    }

    /// Two hidden units whose sum is the margin: the minimum over the ball can be computed by hand.
    #[test]
    fn bounds_match_hand_computation() {
        let layer = |weight: Vec<f32>, rows, bias: &[f32]| Layer {
            weight: Matrix::from_vec(rows, bias.len(), weight).unwrap(),
            bias: bias.to_vec(),
        };
        // The margin is relu(x) + relu(-x) + 0.5, which is at least .5 everywhere. Where x changes sign, the lower line of a ReLU is 0.
        let mlp = Mlp::from_layers(vec![
            layer(vec![1.0, -1.0], 1, &[0.0, 0.0]),
            layer(vec![1.0, 0.0, 1.0, 0.0], 2, &[0.5, 0.0]),
        ])
        .unwrap();
        let h = Matrix::from_vec(1, 1, vec![0.25]).unwrap();
        let wishes = [Wish { aim: Aim::AwayFrom, class: 0 }];
        let field = Field { mlp: &mlp, h: &h, from: &[0], wishes: &wishes, seed: 0 };
        assert!(Proofs::new(&mlp).unproved(&field, &[0], 0.3, RangeMethod::Quick).is_empty());
        // With the signs reversed, margin = 0.5 - relu(x) - relu(-x) = 0.5 - |x|, which is 0 at x = .5; the chords are looser.
        let turned = Mlp::from_layers(vec![
            layer(vec![1.0, -1.0], 1, &[0.0, 0.0]),
            layer(vec![-1.0, 0.0, -1.0, 0.0], 2, &[0.5, 0.0]),
        ])
        .unwrap();
        let field = Field { mlp: &turned, ..field };
        let open = |epsilon| Proofs::new(&turned).unproved(&field, &[0], epsilon, RangeMethod::Quick);
        assert!(open(0.2499).is_empty() && open(0.26) == [0]);
    }
}
