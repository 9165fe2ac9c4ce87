//! The output side: final norm, head, logits.

use candle_core::Tensor;

use super::net::{HeadWeights, Network};
use super::ops;
use super::tap::Tap;
use crate::arch::{Head, NormKind};
use crate::error::{ModelError, Result};
use crate::hook::HookPoint;

impl Network {
    /// The final norm, if there is one, on `[N, D]`.
    pub(crate) fn final_norm(&self, h: &Tensor, tap: &mut Tap<'_>) -> Result<Tensor> {
        match &self.final_norm {
            Some(w) => {
                let x = self.norm(h, w, tap)?;
                tap.visit(HookPoint::FinalNorm, x)
            }
            None => Ok(h.clone()),
        }
    }

    fn head_or_refuse(&self) -> Result<&HeadWeights> {
        let refuse = || ModelError::NoHead { model: self.arch.family.clone(), kind: self.arch.head_kind() };
        self.head.as_ref().ok_or_else(refuse)
    }

    /// Input of the decoder matrix: `[N, D]` to `[N, E]`. Differentiable.
    fn before_decoder(&self, h: &Tensor, head: &HeadWeights) -> Result<Tensor> {
        match (&head.transform, self.arch.head) {
            (Some((dense, norm)), Head::Masked { activation, eps, .. }) => {
                let x = ops::activate(activation, &dense.forward(h)?)?;
                ops::norm(NormKind::Layer, eps, &x, &norm.weight, norm.bias.as_ref(), true)
            }
            _ => Ok(h.clone()),
        }
    }

    /// Logits of all tokens or of chosen ones: `[N, K]`. Differentiable.
    pub(crate) fn logits(&self, h: &Tensor, vocab: Option<&[u32]>) -> Result<Tensor> {
        let head = self.head_or_refuse()?;
        let x = self.before_decoder(h, head)?;
        let Some(ids) = vocab else {
            let y = x.matmul(&head.decoder.t()?)?;
            return Ok(match &head.bias {
                Some(b) => y.broadcast_add(b)?,
                None => y,
            });
        };
        let ids = self.index(ids.to_vec())?;
        let y = x.matmul(&head.decoder.index_select(&ids, 0)?.t()?)?;
        Ok(match &head.bias {
            Some(b) => y.broadcast_add(&b.index_select(&ids, 0)?)?,
            None => y,
        })
    }

    /// Row i's logit of token i: `[N]`. Differentiable.
    pub(crate) fn logits_of(&self, h: &Tensor, tokens: &[u32]) -> Result<Tensor> {
        let head = self.head_or_refuse()?;
        let ids = self.index(tokens.to_vec())?;
        let y = (self.before_decoder(h, head)? * head.decoder.index_select(&ids, 0)?)?.sum(1)?;
        Ok(match &head.bias {
            Some(b) => (y + b.index_select(&ids, 0)?)?,
            None => y,
        })
    }

    /// Row i's log-probability of token i: `[N]`. Differentiable.
    pub(crate) fn log_probabilities_of(&self, h: &Tensor, tokens: &[u32]) -> Result<Tensor> {
        let ids = self.index(tokens.to_vec())?.unsqueeze(1)?;
        Ok(ops::log_softmax(&self.logits(h, None)?)?.gather(&ids, 1)?.squeeze(1)?)
    }
}
