//! Operations with their derivatives.

use candle_core::{D, DType, Device, Shape, Tensor};
use candle_nn::ops as fused;

use super::gpu;
use super::value::{Pull, Value};
use crate::arch::{Activation, NormKind};
use crate::error::Result;

fn pull(f: impl Fn(&Tensor) -> Result<Tensor> + Send + Sync + 'static) -> Pull {
    Box::new(f)
}

/// Sums the rows of `[N, W]` to `[W]`.
fn sum_rows(x: &Tensor) -> Result<Tensor> {
    // Computed as a product, because candle reduces slowly over the first axis.
    let (n, width) = x.dims2()?;
    Ok(Tensor::ones((1, n), x.dtype(), x.device())?.matmul(x)?.reshape(width)?)
}

/// Multiplies `x` (`[N, in]`) by a matrix and adds a bias: `[N, out]`. The matrix is `[in, out]` if `transposed`, otherwise `[out, in]`.
pub(super) fn linear(x: &Value, weight: &Value, transposed: bool, bias: Option<&Value>) -> Result<Value> {
    let (t, w) = (x.tensor.clone(), weight.tensor.clone());
    let y = if transposed { t.matmul(&w)? } else { t.matmul(&w.t()?)? };
    let to_input = pull(move |g| Ok(if transposed { g.matmul(&w.t()?)? } else { g.matmul(&w)? }));
    let to_weight = pull(move |g| Ok(if transposed { t.t()?.matmul(g)? } else { g.t()?.matmul(&t)? }));
    let Some(bias) = bias else {
        return Ok(Value::computed(y, [(x, to_input), (weight, to_weight)]));
    };
    let y = match gpu::add_row(&y, &bias.tensor)? {
        Some(y) => y,
        None => y.broadcast_add(&bias.tensor)?,
    };
    Ok(Value::computed(y, [(x, to_input), (weight, to_weight), (bias, pull(sum_rows))]))
}

pub(super) fn matmul(a: &Value, b: &Value) -> Result<Value> {
    let (s, t) = (a.tensor.clone(), b.tensor.clone());
    let y = s.matmul(&t)?;
    let to_a = pull(move |g| Ok(g.matmul(&t.t()?)?));
    let to_b = pull(move |g| Ok(s.t()?.matmul(g)?));
    Ok(Value::computed(y, [(a, to_a), (b, to_b)]))
}

/// Batched matrix product with the transpose of `b`.
pub(super) fn matmul_transposed(a: &Value, b: &Value) -> Result<Value> {
    let (s, t) = (a.tensor.clone(), b.tensor.clone());
    let y = s.matmul(&t.t()?)?;
    let to_a = pull(move |g| Ok(g.matmul(&t)?));
    let to_b = pull(move |g| Ok(g.t()?.matmul(&s)?));
    Ok(Value::computed(y, [(a, to_a), (b, to_b)]))
}

/// Sum of two tensors of the same shape.
pub(super) fn add(a: &Value, b: &Value) -> Result<Value> {
    let same = || pull(|g| Ok(g.clone()));
    Ok(Value::computed((&a.tensor + &b.tensor)?, [(a, same()), (b, same())]))
}

/// Adds a constant, with broadcasting.
pub(super) fn shift(x: &Value, by: &Tensor) -> Result<Value> {
    Ok(Value::computed(x.tensor.broadcast_add(by)?, [(x, pull(|g| Ok(g.clone())))]))
}

pub(super) fn mul(a: &Value, b: &Value) -> Result<Value> {
    let (s, t) = (a.tensor.clone(), b.tensor.clone());
    let y = (&s * &t)?;
    Ok(Value::computed(y, [(a, pull(move |g| Ok((g * &t)?))), (b, pull(move |g| Ok((g * &s)?)))]))
}

pub(super) fn scale(x: &Value, by: f64) -> Result<Value> {
    Ok(Value::computed((&x.tensor * by)?, [(x, pull(move |g| Ok((g * by)?)))]))
}

pub(super) fn exp(x: &Value) -> Result<Value> {
    let y = x.tensor.exp()?;
    let e = y.clone();
    Ok(Value::computed(y, [(x, pull(move |g| Ok((g * &e)?)))]))
}

/// Sums the last axis of `[N, W]` to `[N]`.
pub(super) fn sum_last(x: &Value) -> Result<Value> {
    let shape = x.tensor.shape().clone();
    let back = pull(move |g| Ok(g.unsqueeze(1)?.broadcast_as(&shape)?.contiguous()?));
    Ok(Value::computed(x.tensor.sum(1)?, [(x, back)]))
}

/// Transposes `[N, A, B, C]` to `[N, B, A, C]`.
pub(super) fn swap_middle(x: &Value) -> Result<Value> {
    Ok(Value::computed(swapped(&x.tensor)?, [(x, pull(swapped))]))
}

fn swapped(x: &Tensor) -> Result<Tensor> {
    match gpu::swap_middle(x)? {
        Some(y) => Ok(y),
        None => Ok(x.transpose(1, 2)?.contiguous()?),
    }
}

pub(super) fn reshape<S: Into<Shape>>(x: &Value, shape: S) -> Result<Value> {
    let before = x.tensor.shape().clone();
    Ok(Value::computed(x.tensor.reshape(shape.into())?, [(x, pull(move |g| Ok(g.reshape(&before)?)))]))
}

/// Repeats each key head of `[B, K, T, W]` for a group of query heads: `[B, K group, T, W]`.
pub(super) fn repeat_heads(x: &Value, group: usize) -> Result<Value> {
    let (b, heads, t, width) = x.tensor.dims4()?;
    let y = x.tensor.unsqueeze(2)?.broadcast_as((b, heads, group, t, width))?.contiguous()?;
    let back = pull(move |g| Ok(g.reshape((b, heads, group, t, width))?.sum(2)?));
    Ok(Value::computed(y.reshape((b, heads * group, t, width))?, [(x, back)]))
}

/// Layer or RMS norm over the last axis of `[N, W]`.
pub(super) fn norm(kind: NormKind, eps: f64, x: &Value, weight: &Value, bias: Option<&Value>) -> Result<Value> {
    let (t, w) = (x.tensor.contiguous()?, &weight.tensor);
    let y = match (gpu::norm(kind, eps, &t, w, bias.map(|b| &b.tensor))?, bias) {
        (Some(y), _) => y,
        // candle's fused norm computes the variance as E[x²] - E[x]², which is too coarse for gradients of frozen models.
        (None, _) if x.is_recorded() && !weight.is_recorded() => {
            let y = normalised(kind, eps, &t)?.0.broadcast_mul(w)?;
            bias.map_or(Ok(y.clone()), |b| y.broadcast_add(&b.tensor))?
        }
        (None, Some(b)) => fused::layer_norm(&t, w, &b.tensor, eps as f32)?,
        (None, None) => fused::rms_norm(&t, w, eps as f32)?,
    };
    let to_weight = {
        let t = t.clone();
        pull(move |g| sum_rows(&(g * normalised(kind, eps, &t)?.0)?))
    };
    let w = w.clone();
    let to_input = pull(move |g| match gpu::norm_back(kind, eps, &t, &w, g)? {
        Some(g) => Ok(g),
        None => norm_back(kind, eps, &t, &w, g),
    });
    Ok(match bias {
        Some(b) => Value::computed(y, [(x, to_input), (weight, to_weight), (b, pull(sum_rows))]),
        None => Value::computed(y, [(x, to_input), (weight, to_weight)]),
    })
}

/// Returns the normalized values before weight and bias, and the roots by which the rows were divided.
fn normalised(kind: NormKind, eps: f64, x: &Tensor) -> Result<(Tensor, Tensor)> {
    let centred = match kind {
        NormKind::Layer => x.broadcast_sub(&x.mean_keepdim(D::Minus1)?)?,
        NormKind::Rms => x.clone(),
    };
    let root = (centred.sqr()?.mean_keepdim(D::Minus1)? + eps)?.sqrt()?;
    Ok((centred.broadcast_div(&root)?, root))
}

/// Input gradient of a norm.
fn norm_back(kind: NormKind, eps: f64, x: &Tensor, w: &Tensor, g: &Tensor) -> Result<Tensor> {
    let (unit, root) = normalised(kind, eps, x)?;
    let g = g.broadcast_mul(w)?;
    let along = (&g * &unit)?.mean_keepdim(D::Minus1)?;
    let rest = (&g - unit.broadcast_mul(&along)?)?;
    let rest = match kind {
        NormKind::Layer => rest.broadcast_sub(&g.mean_keepdim(D::Minus1)?)?,
        NormKind::Rms => rest,
    };
    Ok(rest.broadcast_div(&root)?)
}

pub(super) fn softmax(x: &Value) -> Result<Value> {
    let y = fused::softmax_last_dim(&x.tensor.contiguous()?)?;
    let p = y.clone();
    let back = pull(move |g| {
        if let Some(g) = gpu::softmax_back(&p, g)? {
            return Ok(g);
        }
        let weighted = (g * &p)?;
        let total = weighted.sum_keepdim(D::Minus1)?;
        Ok((weighted - p.broadcast_mul(&total)?)?)
    });
    Ok(Value::computed(y, [(x, back)]))
}

/// Log-softmax of row i at `tokens[i]`, `[N]`.
pub(super) fn log_probabilities(x: &Value, tokens: &[u32]) -> Result<Value> {
    let n = tokens.len();
    let ids = Tensor::from_slice(tokens, (n, 1), x.tensor.device())?;
    let shifted = x.tensor.broadcast_sub(&x.tensor.max_keepdim(D::Minus1)?)?;
    let total = shifted.exp()?.sum_keepdim(D::Minus1)?.log()?;
    let y = (shifted.gather(&ids, 1)? - &total)?.reshape(n)?;
    let back = pull(move |g| {
        let g = g.reshape((n, 1))?;
        let p = shifted.broadcast_sub(&total)?.exp()?;
        Ok(p.broadcast_mul(&g.neg()?)?.scatter_add(&ids, &g, 1)?)
    });
    Ok(Value::computed(y, [(x, back)]))
}

pub(super) fn activate(kind: Activation, x: &Value) -> Result<Value> {
    let t = x.tensor.clone();
    let y = match kind {
        Activation::GeluErf => t.gelu_erf()?,
        Activation::GeluTanh => t.gelu()?,
        Activation::Relu => t.relu()?,
        Activation::Silu => t.silu()?,
    };
    let back = pull(move |g| {
        let found = match kind {
            Activation::GeluErf => gpu::gelu_back(&t, g, false)?,
            Activation::GeluTanh => gpu::gelu_back(&t, g, true)?,
            Activation::Relu | Activation::Silu => None,
        };
        match found {
            Some(g) => Ok(g),
            None => Ok((g * slope(kind, &t)?)?),
        }
    });
    Ok(Value::computed(y, [(x, back)]))
}

/// Derivative of an activation function.
fn slope(kind: Activation, x: &Tensor) -> candle_core::Result<Tensor> {
    use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI};
    match kind {
        Activation::GeluErf => {
            let below = ((x * FRAC_1_SQRT_2)?.erf()?.affine(0.5, 0.5))?;
            let density = (x.sqr()? * -0.5)?.exp()?.affine(0.5 * FRAC_2_SQRT_PI * FRAC_1_SQRT_2, 0.0)?;
            below + (x * density)?
        }
        Activation::GeluTanh => {
            let (a, b) = (FRAC_2_SQRT_PI * FRAC_1_SQRT_2, 0.044715);
            let square = x.sqr()?;
            let tanh = (x * square.affine(a * b, a)?)?.tanh()?;
            let inner = (x * square.affine(3.0 * a * b, a)?)?;
            tanh.affine(0.5, 0.5)? + (inner * tanh.sqr()?.affine(-0.5, 0.5)?)?
        }
        Activation::Relu => x.gt(&x.zeros_like()?)?.to_dtype(x.dtype()),
        Activation::Silu => {
            let s = (x.neg()?.exp()? + 1.0)?.recip()?;
            &s * (x * s.affine(-1.0, 1.0)?)?.affine(1.0, 1.0)?
        }
    }
}

/// Rotates the first `2 * half` dimensions of each head of `[B,H,T,hd]` by `cos` and `sin` of `[T, half]`.
pub(super) fn rotate(x: &Value, cos: &Tensor, sin: &Tensor) -> Result<Value> {
    let y = turn(&x.tensor, cos, sin)?;
    let (cos, back) = (cos.clone(), sin.neg()?);
    Ok(Value::computed(y, [(x, pull(move |g| turn(g, &cos, &back)))]))
}

fn turn(x: &Tensor, cos: &Tensor, sin: &Tensor) -> Result<Tensor> {
    let half = cos.dim(1)?;
    let width = x.dim(D::Minus1)?;
    let a = x.narrow(D::Minus1, 0, half)?;
    let b = x.narrow(D::Minus1, half, half)?;
    let first = (a.broadcast_mul(cos)? - b.broadcast_mul(sin)?)?;
    let second = (b.broadcast_mul(cos)? + a.broadcast_mul(sin)?)?;
    if width == 2 * half {
        return Ok(Tensor::cat(&[first, second], D::Minus1)?);
    }
    let rest = x.narrow(D::Minus1, 2 * half, width - 2 * half)?;
    Ok(Tensor::cat(&[first, second, rest.contiguous()?], D::Minus1)?)
}

/// Selects rows of a table by id.
pub(super) fn rows(table: &Value, ids: Vec<u32>) -> Result<Value> {
    let index = Tensor::from_slice(&ids, ids.len(), table.tensor.device())?;
    let (y, height) = (table.tensor.index_select(&index, 0)?, table.tensor.dim(0)?);
    Ok(Value::computed(y, [(table, pull(move |g| gather_back(g, &ids, height)))]))
}

/// Sums row i of `[N, W]` into row `ids[i]` of a zero matrix `[height, W]`. candle's `index_add` processes the ids serially. This version
/// instead sums rows with equal ids by a product with a one-hot matrix, and then selects rows.
fn gather_back(g: &Tensor, ids: &[u32], height: usize) -> Result<Tensor> {
    let (n, device) = (ids.len(), g.device());
    let mut place = vec![u32::MAX; height];
    let mut different = Vec::new();
    let mut groups = Vec::with_capacity(n);
    for &id in ids {
        let group = &mut place[id as usize];
        if *group == u32::MAX {
            *group = different.len() as u32;
            different.push(id);
        }
        groups.push(*group);
    }
    let sums = if different.len() == n {
        g.clone()
    } else {
        one_hot(&groups, different.len(), g.dtype(), device)?.matmul(g)?
    };
    let none = different.len() as u32;
    place.iter_mut().filter(|p| **p == u32::MAX).for_each(|p| *p = none);
    let zeros = Tensor::zeros((1, g.dim(1)?), g.dtype(), device)?;
    Ok(Tensor::cat(&[sums, zeros], 0)?.index_select(&Tensor::from_vec(place, height, device)?, 0)?)
}

/// Returns `[height, N]` with a one in row `groups[i]` of column i.
fn one_hot(groups: &[u32], height: usize, dtype: DType, device: &Device) -> Result<Tensor> {
    let groups = Tensor::from_slice(groups, (1, groups.len()), device)?;
    let rows = Tensor::arange(0u32, height as u32, device)?.reshape((height, 1))?;
    Ok(rows.broadcast_eq(&groups)?.to_dtype(dtype)?)
}

/// Returns `x` where `keep` (`[N, 1]`, ones and zeros) is one, otherwise `other`.
pub(super) fn overwrite(x: &Value, keep: Tensor, other: &Tensor) -> Result<Value> {
    let mask = keep.broadcast_as(x.tensor.shape())?;
    let y = mask.where_cond(&x.tensor, other)?;
    Ok(Value::computed(y, [(x, pull(move |g| Ok(keep.broadcast_as(g.shape())?.where_cond(g, &g.zeros_like()?)?)))]))
}

#[cfg(test)]
mod tests {
    use super::super::open_device;
    use super::*;
    use crate::device;

    const WIDTH: usize = 40;

    /// In f32, computing the variances in this test as E[x²] - E[x]² would leave only two correct digits.
    #[test]
    fn norm_is_exact_if_the_mean_exceeds_the_spread() {
        let named = std::env::var("PROBITY_TEST_DEVICE");
        let device = open_device(named.map_or(device::Device::CandleCpu, |name| name.parse().unwrap())).unwrap();
        let x: Vec<f32> = (0..2 * WIDTH).map(|i| 100.0 + (i * i % 11) as f32 / 11.0).collect();
        let (w, b): (Vec<f32>, Vec<f32>) = (0..WIDTH).map(|i| (1.0 + i as f32 / 7.0, i as f32 - 3.0)).unzip();
        let value = |v: &[f32]| Value::constant(Tensor::from_slice(v, v.len(), &device).unwrap());
        let rows = reshape(&value(&x), (2, WIDTH)).unwrap().watched();
        for (kind, shift) in [(NormKind::Layer, Some(&b)), (NormKind::Rms, None)] {
            let y = norm(kind, 1e-5, &rows, &value(&w), shift.map(|b| value(b)).as_ref()).unwrap();
            let y: Vec<f32> = y.tensor.flatten_all().unwrap().to_vec1().unwrap();
            for (row, y) in x.chunks(WIDTH).zip(y.chunks(WIDTH)) {
                let mean = row.iter().map(|v| f64::from(*v)).sum::<f64>() / WIDTH as f64;
                let mean = if kind == NormKind::Layer { mean } else { 0.0 };
                let variance = row.iter().map(|v| (f64::from(*v) - mean).powi(2)).sum::<f64>() / WIDTH as f64;
                for (i, (x, y)) in row.iter().zip(y).enumerate() {
                    let unit = (f64::from(*x) - mean) / (variance + 1e-5).sqrt();
                    let want = unit * f64::from(w[i]) + shift.map_or(0.0, |b| f64::from(b[i]));
                    assert!((f64::from(*y) - want).abs() < 1e-3, "{kind:?}: {y} for {want}");
                }
            }
        }
    }
}
