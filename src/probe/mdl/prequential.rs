//! Online coding (Voita and Titov 2020): the receiver trains a probe on the labels received so far, and the next labels are sent with the
//! code that this probe implies.
//!
//! The code length is `L = t1 log2 K - sum over blocks of log2 p_i(y|x)`, where p_i is trained on everything before block i. This follows
//! the definition; the published program trains on the block alone and adds mean training losses. Random labels cost more than uniform
//! coding.

use super::{MdlError, Method};
use crate::data::Labelled;
use crate::logistic::{Logistic, Settings};
use base::matrix::{Matrix, argmax};
use base::{Cancelled, Pulse};
use stats::Purpose;
use stats::rng::shuffle;

pub const METHOD: Method = Method { name: "prequential", bits };

/// Code length in bits, with a random order of the examples for each purpose.
fn bits(data: &Labelled, purposes: &[Purpose], pulse: &mut dyn Pulse) -> Result<Vec<f64>, MdlError> {
    let one = |(done, purpose): (usize, &Purpose)| {
        let mut order: Vec<usize> = (0..data.len()).collect();
        shuffle(&mut purpose.stream("order of code"), &mut order);
        let y = order.iter().map(|i| data.y()[*i]).collect();
        let shuffled = Labelled::new(data.x().select_rows(&order), y, data.classes())?;
        let beat = &mut || pulse.beat(done, purposes.len());
        Ok(online(&shuffled, &Settings::default(), beat)?.bits())
    };
    purposes.iter().enumerate().map(one).collect()
}

/// Ends of the blocks, in percent of the examples.
pub const PORTIONS: [f64; 11] = [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.25, 12.5, 25.0, 50.0, 100.0];

#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// Number of training examples.
    pub train: usize,
    /// Number of coded examples.
    pub coded: usize,
    /// Code length of the coded examples in bits.
    pub bits: f64,
    /// Accuracy on the coded examples; `None` if the training data lacked a class and the block was coded uniformly.
    pub accuracy: Option<f64>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Codelength {
    /// Code length of the first block in bits, coded uniformly.
    pub first: f64,
    pub blocks: Vec<Block>,
    /// Length of a uniform code for all examples, in bits.
    pub uniform: f64,
}

impl Codelength {
    pub fn bits(&self) -> f64 {
        self.first + self.blocks.iter().map(|b| b.bits).sum::<f64>()
    }

    /// Length of the uniform code divided by the length of this one.
    pub fn compression(&self) -> f64 {
        self.uniform / self.bits()
    }
}

/// Ends of the blocks for n examples.
pub fn ends(n: usize) -> Vec<usize> {
    PORTIONS.iter().map(|p| (n as f64 * p / 100.0 + 1e-9).floor() as usize).collect()
}

/// Code length of the labels of `data`, in the order of its examples, by logistic regression.
pub fn online(
    data: &Labelled,
    settings: &Settings,
    beat: &mut dyn FnMut() -> Result<(), Cancelled>,
) -> Result<Codelength, MdlError> {
    let (n, classes) = (data.len(), data.classes());
    let ends = ends(n);
    if ends[0] == 0 {
        return Err(MdlError::TooFew(n));
    }
    let bits = (classes as f64).log2();
    let mut blocks = Vec::with_capacity(ends.len() - 1);
    for pair in ends.windows(2) {
        blocks.push(block(data, (pair[0], pair[1]), settings, beat)?);
    }
    Ok(Codelength { first: ends[0] as f64 * bits, blocks, uniform: n as f64 * bits })
}

fn rows(data: &Labelled, range: std::ops::Range<usize>) -> Matrix {
    data.x().select_rows(&range.collect::<Vec<_>>())
}

fn block(
    data: &Labelled,
    (from, to): (usize, usize),
    settings: &Settings,
    beat: &mut dyn FnMut() -> Result<(), Cancelled>,
) -> Result<Block, MdlError> {
    let (coded, classes) = (to - from, data.classes());
    let known = &data.y()[..from];
    if !(0..classes).all(|c| known.contains(&c)) {
        let bits = coded as f64 * (classes as f64).log2();
        return Ok(Block { train: from, coded, bits, accuracy: None });
    }
    let train = Labelled::new(rows(data, 0..from), known.to_vec(), classes)?;
    let probe = Logistic::fit_plain(&train, settings, beat)?.model;
    let logits = probe.logits(&rows(data, from..to));
    let (mut bits, mut right) = (0.0, 0usize);
    for (row, label) in logits.iter_rows().zip(&data.y()[from..to]) {
        let top = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = row.iter().map(|z| (z - top).exp()).sum();
        bits += (sum.ln() + top - row[*label]) / std::f64::consts::LN_2;
        right += usize::from(argmax(row) == *label);
    }
    Ok(Block { train: from, coded, bits, accuracy: Some(right as f64 / coded.max(1) as f64) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoded_labels_have_short_codelength() {
        let n = 1_200;
        let y: Vec<usize> = (0..n).map(|i| (i * 7 + i / 5) % 2).collect();
        let tell = |i: usize| [if y[i] == 1 { 3.0 } else { -3.0 }, ((i * 37) % 11) as f32 - 5.0];
        let x = Matrix::from_vec(n, 2, (0..n).flat_map(tell).collect()).unwrap();
        let settings = Settings::default();
        let told = Labelled::new(x.clone(), y, 2).unwrap();
        let code = online(&told, &settings, &mut || Ok(())).unwrap();
        assert!(code.compression() > 8.0, "{}", code.compression());
        let coded: usize = code.blocks.iter().map(|b| b.coded).sum();
        assert_eq!(coded + ends(n)[0], n);
        let few = Labelled::new(x.select_rows(&[0, 1, 2]), vec![0, 1, 0], 2).unwrap();
        assert_eq!(online(&few, &settings, &mut || Ok(())), Err(MdlError::TooFew(3)));
        assert_eq!(online(&told, &settings, &mut || Err(Cancelled)), Err(MdlError::Cancelled(Cancelled)));
    }
}
