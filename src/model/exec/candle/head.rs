//! Final norm, head and logits.

use super::net::{HeadWeights, Network};
use super::ops;
use super::tap::Tap;
use super::value::Value;
use crate::arch::{Head, NormKind};
use crate::error::{ModelError, Result};
use crate::hook::HookPoint;

impl Network {
    /// Applies the final norm, if any, to `[N, D]`.
    pub(crate) fn final_norm(&self, h: &Value, tap: &mut Tap<'_>) -> Result<Value> {
        match &self.final_norm {
            Some(w) => {
                let x = self.norm(h, w)?;
                tap.visit(HookPoint::FinalNorm, x)
            }
            None => Ok(h.clone()),
        }
    }

    fn head_or_refuse(&self) -> Result<&HeadWeights> {
        let refuse = || ModelError::NoHead { model: self.arch.family.clone(), kind: self.arch.head_kind() };
        self.head.as_ref().ok_or_else(refuse)
    }

    /// Maps `[N, D]` to the input of the decoder matrix, `[N, E]`.
    fn before_decoder(&self, h: &Value, head: &HeadWeights) -> Result<Value> {
        match (&head.transform, self.arch.head) {
            (Some((dense, norm)), Head::Masked { activation, eps, .. }) => {
                let x = ops::activate(activation, &dense.forward(h)?)?;
                ops::norm(NormKind::Layer, eps, &x, &norm.weight, norm.bias.as_ref())
            }
            _ => Ok(h.clone()),
        }
    }

    /// Logits of all or selected tokens, `[N, K]`.
    pub(crate) fn logits(&self, h: &Value, vocab: Option<&[u32]>) -> Result<Value> {
        let head = self.head_or_refuse()?;
        let x = self.before_decoder(h, head)?;
        let Some(ids) = vocab else {
            return ops::linear(&x, &head.decoder, false, head.bias.as_ref());
        };
        let (decoder, bias) = head.rows(ids)?;
        ops::linear(&x, &decoder, false, bias.as_ref())
    }

    /// Logit of token i for row i, `[N]`.
    pub(crate) fn logits_of(&self, h: &Value, tokens: &[u32]) -> Result<Value> {
        let head = self.head_or_refuse()?;
        let (decoder, bias) = head.rows(tokens)?;
        let y = ops::sum_last(&ops::mul(&self.before_decoder(h, head)?, &decoder)?)?;
        match &bias {
            Some(b) => ops::add(&y, b),
            None => Ok(y),
        }
    }

    /// Log-probability of token i for row i, `[N]`.
    pub(crate) fn log_probabilities_of(&self, h: &Value, tokens: &[u32]) -> Result<Value> {
        ops::log_probabilities(&self.logits(h, None)?, tokens)
    }
}

impl HeadWeights {
    /// Selects rows of the output matrix and of the bias.
    fn rows(&self, tokens: &[u32]) -> Result<(Value, Option<Value>)> {
        let rows = |v: &Value| ops::rows(v, tokens.to_vec());
        Ok((rows(&self.decoder)?, self.bias.as_ref().map(rows).transpose()?))
    }
}
