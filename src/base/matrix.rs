//! Dense row-major matrices: rows are examples, columns are features.

use crate::matmul::{Element, View, matmul};
use rayon::prelude::*;
use std::ops::{Add, AddAssign, Div, Neg, Sub};

/// The element types of matrices and probes: f32 for normal use, f64 for checks.
pub trait Real:
    Element
    + Default
    + std::fmt::Debug
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
{
    fn from_f64(x: f64) -> Self;
    fn to_f64(self) -> f64;
    fn exp(self) -> Self;
    fn ln(self) -> Self;
    /// ln(1 + x), accurate even for small x.
    fn ln_1p(self) -> Self;
}

macro_rules! real {
    ($t:ty) => {
        impl Real for $t {
            fn from_f64(x: f64) -> Self {
                x as $t
            }
            fn to_f64(self) -> f64 {
                f64::from(self)
            }
            fn exp(self) -> Self {
                <$t>::exp(self)
            }
            fn ln(self) -> Self {
                <$t>::ln(self)
            }
            fn ln_1p(self) -> Self {
                <$t>::ln_1p(self)
            }
        }
    };
}

real!(f32);
real!(f64);

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Dense<T> {
    rows: usize,
    cols: usize,
    data: Vec<T>,
}

/// Single-precision matrix, for example of embeddings, weights or gradients.
pub type Matrix = Dense<f32>;

/// A slice whose length is not rows × columns.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{len} numbers do not fill a matrix of {rows} rows and {cols} columns")]
pub struct ShapeError {
    pub len: usize,
    pub rows: usize,
    pub cols: usize,
}

/// Number of rows multiplied by one task. It is fixed, so that results do not depend on the number of threads.
const ROWS_PER_TASK: usize = 256;

impl<T: Real> Dense<T> {
    pub fn zeros(rows: usize, cols: usize) -> Self {
        Self { rows, cols, data: vec![T::ZERO; rows * cols] }
    }

    pub fn identity(n: usize) -> Self {
        let mut m = Self::zeros(n, n);
        m.data.iter_mut().step_by(n + 1).for_each(|d| *d = T::ONE);
        m
    }

    /// Builds a matrix from its elements in row order.
    ///
    /// # Errors
    /// [`ShapeError`] if the number of elements is not `rows * cols`.
    pub fn from_vec(rows: usize, cols: usize, data: Vec<T>) -> Result<Self, ShapeError> {
        if rows.checked_mul(cols) == Some(data.len()) {
            Ok(Self { rows, cols, data })
        } else {
            Err(ShapeError { len: data.len(), rows, cols })
        }
    }

    /// Builds a matrix from a function that maps row and column to a value.
    pub fn from_fn(rows: usize, cols: usize, f: impl Fn(usize, usize) -> T) -> Self {
        let data = (0..rows * cols).map(|i| f(i / cols, i % cols)).collect();
        Self { rows, cols, data }
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    pub fn cols(&self) -> usize {
        self.cols
    }

    pub fn data(&self) -> &[T] {
        &self.data
    }

    pub fn data_mut(&mut self) -> &mut [T] {
        &mut self.data
    }

    pub fn into_vec(self) -> Vec<T> {
        self.data
    }

    /// Returns row `i`.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row(&self, i: usize) -> &[T] {
        assert!(i < self.rows, "row {i} of {}", self.rows);
        &self.data[i * self.cols..(i + 1) * self.cols]
    }

    /// Returns row `i`, mutably.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row_mut(&mut self, i: usize) -> &mut [T] {
        assert!(i < self.rows, "row {i} of {}", self.rows);
        &mut self.data[i * self.cols..(i + 1) * self.cols]
    }

    pub fn iter_rows(&self) -> impl ExactSizeIterator<Item = &[T]> {
        (0..self.rows).map(|i| self.row(i))
    }

    /// Copies the given rows, in the given order.
    ///
    /// # Panics
    /// If a row does not exist.
    pub fn select_rows(&self, rows: &[usize]) -> Self {
        let mut data = Vec::with_capacity(rows.len() * self.cols);
        rows.iter().for_each(|r| data.extend_from_slice(self.row(*r)));
        Self { rows: rows.len(), cols: self.cols, data }
    }

    pub fn transposed(&self) -> Self {
        Self::from_fn(self.cols, self.rows, |i, j| self.data[j * self.cols + i])
    }

    pub fn view(&self) -> View<'_, T> {
        View::new(&self.data, self.rows, self.cols)
    }

    /// `self * other`.
    ///
    /// # Panics
    /// If the shapes do not match.
    pub fn dot(&self, other: &Self) -> Self {
        self.dot_view(other.view(), other.cols)
    }

    /// `self * otherᵀ`.
    ///
    /// # Panics
    /// If the shapes do not match.
    pub fn dot_t(&self, other: &Self) -> Self {
        self.dot_view(other.view().t(), other.rows)
    }

    fn dot_view(&self, other: View<'_, T>, cols: usize) -> Self {
        let mut product = Self::zeros(self.rows, cols);
        product.add_product(self, other, T::ONE);
        product
    }

    /// Computes `self += scale * a * b`, with rows divided among threads in fixed groups.
    ///
    /// # Panics
    /// If the shapes do not match.
    pub fn add_product(&mut self, a: &Self, b: View<'_, T>, scale: T) {
        assert_eq!(self.rows, a.rows, "numbers of rows differ");
        if self.cols == 0 || a.cols == 0 {
            return;
        }
        let (cols, inner) = (self.cols, a.cols);
        self.data
            .par_chunks_mut(ROWS_PER_TASK * cols)
            .zip(a.data.par_chunks(ROWS_PER_TASK * inner))
            .for_each(|(c, a)| matmul(c, T::ONE, View::new(a, a.len() / inner, inner), b, scale));
    }

    /// Computes `selfᵀ * other` on one thread.
    ///
    /// # Panics
    /// If the shapes do not match.
    pub fn t_dot(&self, other: &Self) -> Self {
        let mut product = Self::zeros(self.cols, other.cols);
        matmul(&mut product.data, T::ZERO, self.view().t(), other.view(), T::ONE);
        product
    }

    /// # Panics
    /// If the shapes differ.
    pub fn add_scaled(&mut self, scale: T, other: &Self) {
        assert_eq!((self.rows, self.cols), (other.rows, other.cols), "the matrices have different shapes");
        for (a, b) in self.data.iter_mut().zip(&other.data) {
            *a += scale * *b;
        }
    }

    /// Converts the elements to a different precision.
    pub fn cast<U: Real>(&self) -> Dense<U> {
        let data = self.data.iter().map(|x| U::from_f64(x.to_f64())).collect();
        Dense { rows: self.rows, cols: self.cols, data }
    }

    pub fn is_finite(&self) -> bool {
        self.data.iter().all(|x| x.to_f64().is_finite())
    }
}

/// Softmax of each row of logits, in double precision.
pub fn softmax_rows<T: Real>(logits: &Dense<T>) -> Dense<f64> {
    let mut p: Dense<f64> = logits.cast();
    if p.cols == 0 {
        return p;
    }
    for row in p.data.chunks_exact_mut(p.cols) {
        let top = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        row.iter_mut().for_each(|z| *z = (*z - top).exp());
        let sum: f64 = row.iter().sum();
        row.iter_mut().for_each(|z| *z /= sum);
    }
    p
}

/// Index of the largest element: the first one on ties, 0 if empty. NaN never wins.
pub fn argmax<T: Real>(row: &[T]) -> usize {
    let mut best = 0;
    for (i, x) in row.iter().enumerate() {
        if row[best].partial_cmp(&row[best]).is_none() || *x > row[best] {
            best = i;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_agree_with_their_transposes() {
        let a = Dense::<f64>::from_fn(300, 7, |i, j| (i * 7 + j) as f64 % 5.0 - 2.0);
        let b = Dense::<f64>::from_fn(7, 4, |i, j| (i * 4 + j) as f64 % 3.0 - 1.0);
        let c = a.dot(&b);
        assert_eq!(c, a.dot_t(&b.transposed()));
        assert_eq!(c, a.transposed().t_dot(&b));
        assert_eq!(c.row(299)[3], (0..7).map(|k| a.row(299)[k] * b.row(k)[3]).sum::<f64>());
        assert_eq!(a.dot(&Dense::identity(7)), a);
    }

    #[test]
    fn shapes_are_checked() {
        assert!(Matrix::from_vec(2, 2, vec![0.0; 3]).is_err());
        assert!(Matrix::from_vec(usize::MAX, 2, vec![]).is_err());
        assert_eq!(Matrix::zeros(3, 0).dot(&Matrix::zeros(0, 2)), Matrix::zeros(3, 2));
    }

    #[test]
    fn softmax_is_a_distribution_for_large_logits() {
        let p = softmax_rows(&Matrix::from_fn(1, 3, |_, j| [1000.0, 1000.0, -1000.0][j]));
        assert_eq!(p.row(0), [0.5, 0.5, 0.0]);
    }

    #[test]
    fn argmax_takes_the_first_and_skips_nan() {
        assert_eq!(argmax(&[1.0f32, 3.0, 3.0]), 1);
        assert_eq!(argmax(&[f32::NAN, -1.0]), 1);
        assert_eq!(argmax::<f32>(&[]), 0);
    }
}
