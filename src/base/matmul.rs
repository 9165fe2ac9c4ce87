//! Matrix products on plain slices: a checked interface to the `gemm` crate.
//!
//! Each product runs on one thread. Callers divide rows among threads, so results do not depend on the number of cores.
#![allow(unsafe_code)]

use gemm::Parallelism;

/// Element types that the kernel multiplies.
pub trait Element: Copy + Send + Sync + PartialEq + std::ops::Mul<Output = Self> + sealed::Sealed + 'static {
    const ZERO: Self;
    const ONE: Self;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

impl Element for f32 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
}

impl Element for f64 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
}

/// A read-only `rows x cols` matrix inside a slice, row-major or (after [`View::t`]) column-major.
#[derive(Debug, Clone, Copy)]
pub struct View<'a, T> {
    data: &'a [T],
    rows: usize,
    cols: usize,
    row_stride: usize,
    col_stride: usize,
}

impl<'a, T> View<'a, T> {
    /// A row-major matrix that fills `data`.
    ///
    /// # Panics
    /// If `data` does not hold exactly `rows * cols` elements.
    pub fn new(data: &'a [T], rows: usize, cols: usize) -> Self {
        assert_eq!(Some(data.len()), rows.checked_mul(cols), "slice does not fit {rows} x {cols}");
        Self { data, rows, cols, row_stride: cols, col_stride: 1 }
    }

    /// Returns the transposed view without copying.
    pub fn t(self) -> Self {
        Self { rows: self.cols, cols: self.rows, row_stride: self.col_stride, col_stride: self.row_stride, ..self }
    }
}

/// Computes `dst = keep * dst + scale * (a b)`, with `dst` row-major `a.rows x b.cols`. With `keep` 0 the old content is not read.
///
/// # Panics
/// If the shapes do not match.
pub fn matmul<T: Element>(dst: &mut [T], keep: T, a: View<'_, T>, b: View<'_, T>, scale: T) {
    let (m, n, k) = (a.rows, b.cols, a.cols);
    assert_eq!(k, b.rows, "inner sizes differ: {m} x {k} times {} x {n}", b.rows);
    assert_eq!(Some(dst.len()), m.checked_mul(n), "result does not fit {m} x {n}");
    if k == 0 {
        // The kernel does not define products with an empty inner axis.
        for d in dst.iter_mut() {
            *d = if keep == T::ZERO { T::ZERO } else { keep * *d };
        }
        return;
    }
    if m == 0 || n == 0 {
        return;
    }
    // SAFETY: `View` guarantees `data.len() == rows * cols` with strides (cols, 1) or their transpose, so every offset `i * row_stride + j
    // * col_stride` for i < rows, j < cols is inside the slice. `dst` has exactly m * n elements with strides (n, 1); it cannot alias `a`
    // or `b` because it is borrowed mutably. Slices are at most isize::MAX bytes, so the strides fit isize. T is f32 or f64 (sealed), both
    // of which `gemm` supports.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            dst.as_mut_ptr(),
            1,
            n as isize,
            keep != T::ZERO,
            a.data.as_ptr(),
            a.col_stride as isize,
            a.row_stride as isize,
            b.data.as_ptr(),
            b.col_stride as isize,
            b.row_stride as isize,
            keep,
            scale,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn naive(a: &[f64], b: &[f64], (m, k, n): (usize, usize, usize)) -> Vec<f64> {
        let mut c = vec![0.0; m * n];
        for i in 0..m {
            for j in 0..n {
                c[i * n + j] = (0..k).map(|l| a[i * k + l] * b[l * n + j]).sum();
            }
        }
        c
    }

    fn transposed(x: &[f64], rows: usize, cols: usize) -> Vec<f64> {
        (0..rows * cols).map(|i| x[(i % rows) * cols + i / rows]).collect()
    }

    proptest! {
        #[test]
        fn equals_the_definition(m in 0usize..20, k in 0usize..20, n in 0usize..20, seed in 1u32..1000) {
            let number = |i: usize| f64::from((i as u32).wrapping_mul(2_654_435_761).wrapping_mul(seed) >> 20) / 4096.0 - 0.5;
            let a: Vec<f64> = (0..m * k).map(number).collect();
            let b: Vec<f64> = (0..k * n).map(|i| number(i + 1000)).collect();
            let want = naive(&a, &b, (m, k, n));
            let (at, bt) = (transposed(&a, m, k), transposed(&b, k, n));
            let (va, vb) = (View::new(&a, m, k), View::new(&b, k, n));
            let (vat, vbt) = (View::new(&at, k, m).t(), View::new(&bt, n, k).t());
            for (x, y) in [(va, vb), (vat, vb), (va, vbt), (vat, vbt)] {
                let mut c = vec![f64::NAN; m * n];
                matmul(&mut c, 0.0, x, y, 1.0);
                for (got, want) in c.iter().zip(&want) {
                    prop_assert!((got - want).abs() < 1e-12);
                }
                matmul(&mut c, 2.0, x, y, -0.5);
                for (got, want) in c.iter().zip(&want) {
                    prop_assert!((got - 1.5 * want).abs() < 1e-12);
                }
            }
        }
    }

    #[test]
    fn single_precision_runs_too() {
        let mut c = [0.0f32; 1];
        matmul(&mut c, 0.0, View::new(&[1.0, 2.0], 1, 2), View::new(&[3.0, 4.0], 2, 1), 1.0);
        assert_eq!(c, [11.0]);
    }

    #[test]
    #[should_panic(expected = "inner sizes differ")]
    fn wrong_shapes_are_refused() {
        matmul(&mut [0.0; 1], 0.0, View::new(&[1.0, 2.0], 1, 2), View::new(&[3.0], 1, 1), 1.0);
    }

    #[test]
    #[should_panic(expected = "does not fit")]
    fn view_cannot_exceed_its_slice() {
        let _ = View::new(&[1.0], 2, 3);
    }
}
