//! Operations in two forms: plain, with a backward, and fused, without, for passes that differentiate nothing.

use candle_core::{D, Tensor};
use candle_nn::ops as fused;

use crate::arch::{Activation, NormKind};
use crate::error::Result;

/// Layer or RMS norm over the last axis of `[N, W]`.
pub(super) fn norm(
    kind: NormKind,
    eps: f64,
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    differentiable: bool,
) -> Result<Tensor> {
    if !differentiable {
        return Ok(match bias {
            Some(b) => fused::layer_norm(&x.contiguous()?, weight, b, eps as f32)?,
            None => fused::rms_norm(&x.contiguous()?, weight, eps as f32)?,
        });
    }
    let centred = match kind {
        NormKind::Layer => x.broadcast_sub(&x.mean_keepdim(D::Minus1)?)?,
        NormKind::Rms => x.clone(),
    };
    let scale = (centred.sqr()?.mean_keepdim(D::Minus1)? + eps)?.sqrt()?;
    let y = centred.broadcast_div(&scale)?.broadcast_mul(weight)?;
    Ok(match bias {
        Some(b) => y.broadcast_add(b)?,
        None => y,
    })
}

/// Softmax over the last axis.
pub(super) fn softmax(x: &Tensor, differentiable: bool) -> Result<Tensor> {
    if !differentiable {
        return Ok(fused::softmax_last_dim(&x.contiguous()?)?);
    }
    // The maximum only guards against overflow and cancels out: no gradient needs to flow through it.
    let e = x.broadcast_sub(&x.max_keepdim(D::Minus1)?.detach())?.exp()?;
    Ok(e.broadcast_div(&e.sum_keepdim(D::Minus1)?)?)
}

/// Logarithm of the softmax over the last axis; differentiable.
pub(super) fn log_softmax(x: &Tensor) -> Result<Tensor> {
    let x = x.broadcast_sub(&x.max_keepdim(D::Minus1)?.detach())?;
    Ok(x.broadcast_sub(&x.exp()?.sum_keepdim(D::Minus1)?.log()?)?)
}

/// A nonlinearity; differentiable.
pub(super) fn activate(kind: Activation, x: &Tensor) -> Result<Tensor> {
    Ok(match kind {
        Activation::GeluErf => x.gelu_erf()?,
        Activation::GeluTanh => x.gelu()?,
        Activation::Relu => x.relu()?,
        Activation::Silu => x.silu()?,
    })
}

/// Rotates the first `2 * half` of each head of `[B,H,T,hd]` by `cos` and `sin` of `[T, half]`; differentiable.
pub(super) fn rotate(x: &Tensor, cos: &Tensor, sin: &Tensor) -> Result<Tensor> {
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
