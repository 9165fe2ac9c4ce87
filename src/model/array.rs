//! Host arrays, the input and output of executors.

/// A dense row-major f32 array.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Array {
    /// Lengths of the axes, outermost first.
    pub shape: Vec<usize>,
    /// `shape.product()` values, last axis fastest.
    pub data: Vec<f32>,
}

impl Array {
    /// Wraps `data`.
    ///
    /// # Panics
    /// If the shape does not match the number of values, which is a bug in the caller.
    pub fn new(shape: impl Into<Vec<usize>>, data: Vec<f32>) -> Array {
        let shape = shape.into();
        assert_eq!(shape.iter().product::<usize>(), data.len(), "array of shape {shape:?}");
        Array { shape, data }
    }

    pub fn zeros(shape: impl Into<Vec<usize>>) -> Array {
        let shape = shape.into();
        let len = shape.iter().product();
        Array { shape, data: vec![0.0; len] }
    }

    /// Length of the last axis; 1 for a scalar.
    pub fn width(&self) -> usize {
        self.shape.last().copied().unwrap_or(1)
    }

    /// Number of rows if all axes but the last are flattened.
    pub fn rows(&self) -> usize {
        if self.data.is_empty() { 0 } else { self.data.len() / self.width() }
    }

    /// Row `i` of the flattened array, with `width()` values.
    pub fn row(&self, i: usize) -> &[f32] {
        let w = self.width();
        &self.data[i * w..(i + 1) * w]
    }

    pub fn row_mut(&mut self, i: usize) -> &mut [f32] {
        let w = self.width();
        &mut self.data[i * w..(i + 1) * w]
    }

    /// Values at `[b, t]` of a 3-axis array: the hidden state of token `t` in sentence `b`.
    pub fn at(&self, b: usize, t: usize) -> &[f32] {
        assert_eq!(self.shape.len(), 3);
        self.row(b * self.shape[1] + t)
    }
}
