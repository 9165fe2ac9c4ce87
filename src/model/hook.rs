//! Names of the points in a model that can be read and edited, as in TransformerLens.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::arch::{Arch, Network, Place};
use super::batch::Batch;
use super::plan::Sites;

/// A point in the forward pass. Layers are counted from 0.
///
/// Points are displayed and parsed under their TransformerLens names. There is one exception: in models with norms after the residual sum
/// (BERT), `hook_resid_mid` and `hook_resid_post` are the input of the next part, after the norm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum HookPoint {
    /// `hook_embed`: rows of the word-embedding table `[B,T,E]`, before positions, types and norm.
    Embed,
    /// `blocks.{l}.hook_resid_pre`: input of block l, `[B,T,D]`. `ResidPre(0)` is Hugging Face's `hidden_states[0]`.
    ResidPre(usize),
    /// `blocks.{l}.attn.hook_pattern`: softmax probabilities `[B,H,T,T]`, rows are attending tokens. Read-only.
    Pattern(usize),
    /// `blocks.{l}.hook_attn_out`: output of the attention part before the residual sum, `[B,T,D]`.
    AttnOut(usize),
    /// `blocks.{l}.hook_resid_mid`: between attention and feed-forward, `[B,T,D]`; absent in parallel blocks.
    ResidMid(usize),
    /// `blocks.{l}.hook_mlp_out`: output of the feed-forward part before the residual sum, `[B,T,D]`.
    MlpOut(usize),
    /// `blocks.{l}.hook_resid_post`: output of block l, `[B,T,D]`; always before a final norm.
    ResidPost(usize),
    /// `decoder.{l}.hook_resid_pre`: input of block l of an encoder-decoder's decoder, `[B,T',D]`.
    DecoderPre(usize),
    /// `decoder.{l}.attn.hook_pattern`: self-attention of that block, `[B,H',T',T']`. Read-only.
    DecoderPattern(usize),
    /// `decoder.{l}.cross_attn.hook_pattern`: attention of that block to the encoder, `[B,H',T',T]`. Read-only.
    CrossPattern(usize),
    /// `decoder.{l}.hook_resid_post`: output of that block, `[B,T',D]`.
    DecoderPost(usize),
    /// `ln_final.hook_normalized`: after the final norm, if there is one, `[B,T,D]`. Hugging Face's last hidden state for GPT-2, GPT-NeoX,
    /// Llama and Qwen2.
    FinalNorm,
}

impl HookPoint {
    /// Block that contains the point.
    pub fn layer(self) -> Option<usize> {
        use HookPoint::*;
        match self {
            Embed | FinalNorm => None,
            DecoderPre(l) | DecoderPattern(l) | CrossPattern(l) | DecoderPost(l) => Some(l),
            ResidPre(l) | Pattern(l) | AttnOut(l) | ResidMid(l) | MlpOut(l) | ResidPost(l) => Some(l),
        }
    }

    /// True if this architecture has the point.
    pub fn exists_in(self, arch: &Arch) -> bool {
        match self {
            _ if matches!(arch.network, Network::LogitsOnly(_)) => false,
            HookPoint::Embed => true,
            HookPoint::ResidPost(l) if arch.network == Network::BiLstm => l < arch.layers,
            _ if arch.network != Network::Transformer => false,
            HookPoint::FinalNorm => arch.final_norm,
            HookPoint::ResidMid(l) => l < arch.layers && arch.place != Place::Parallel,
            p if p.in_decoder() => p.layer() < arch.decoder.map(|d| d.layers),
            p => p.layer().is_some_and(|l| l < arch.layers),
        }
    }

    /// True if the point is in the second stack of an encoder-decoder.
    pub fn in_decoder(self) -> bool {
        use HookPoint::*;
        matches!(self, DecoderPre(_) | DecoderPattern(_) | CrossPattern(_) | DecoderPost(_))
    }

    /// True if the values at the point are attention probabilities.
    pub(crate) fn is_pattern(self) -> bool {
        matches!(self, HookPoint::Pattern(_) | HookPoint::DecoderPattern(_) | HookPoint::CrossPattern(_))
    }

    /// Width of a vector at this point; `None` for attention probabilities.
    pub fn width(self, arch: &Arch) -> Option<usize> {
        match self {
            HookPoint::Embed => Some(arch.embedding.width),
            p if p.is_pattern() => None,
            _ => Some(arch.hidden),
        }
    }
}

impl HookPoint {
    /// Shape of a capture at this point: `[B,T,W]`, `[N,W]`, and for attention `[B,H,T,K]`, `[N,H,K]`.
    pub(crate) fn capture_shape(self, arch: &Arch, batch: &Batch, sites: &Sites) -> Vec<usize> {
        let second = self.in_decoder() || (self == HookPoint::FinalNorm && arch.decoder.is_some());
        let t = if second { batch.output().len() } else { batch.len() };
        let heads = if second { arch.decoder.map_or(arch.heads, |d| d.heads) } else { arch.heads };
        let keys = if matches!(self, HookPoint::CrossPattern(_)) { batch.len() } else { t };
        match (sites, self.width(arch)) {
            (Sites::All, Some(w)) => vec![batch.rows(), t, w],
            (Sites::All, None) => vec![batch.rows(), heads, t, keys],
            (Sites::At(list), Some(w)) => vec![list.len(), w],
            (Sites::At(list), None) => vec![list.len(), heads, keys],
        }
    }
}

impl fmt::Display for HookPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HookPoint::Embed => write!(f, "hook_embed"),
            HookPoint::ResidPre(l) => write!(f, "blocks.{l}.hook_resid_pre"),
            HookPoint::Pattern(l) => write!(f, "blocks.{l}.attn.hook_pattern"),
            HookPoint::AttnOut(l) => write!(f, "blocks.{l}.hook_attn_out"),
            HookPoint::ResidMid(l) => write!(f, "blocks.{l}.hook_resid_mid"),
            HookPoint::MlpOut(l) => write!(f, "blocks.{l}.hook_mlp_out"),
            HookPoint::ResidPost(l) => write!(f, "blocks.{l}.hook_resid_post"),
            HookPoint::DecoderPre(l) => write!(f, "decoder.{l}.hook_resid_pre"),
            HookPoint::DecoderPattern(l) => write!(f, "decoder.{l}.attn.hook_pattern"),
            HookPoint::CrossPattern(l) => write!(f, "decoder.{l}.cross_attn.hook_pattern"),
            HookPoint::DecoderPost(l) => write!(f, "decoder.{l}.hook_resid_post"),
            HookPoint::FinalNorm => write!(f, "ln_final.hook_normalized"),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is not a hook point; known: hook_embed, blocks.N.{{hook_resid_pre, attn.hook_pattern, hook_attn_out, \
     hook_resid_mid, hook_mlp_out, hook_resid_post}}, decoder.N.{{hook_resid_pre, attn.hook_pattern, \
     cross_attn.hook_pattern, hook_resid_post}}, ln_final.hook_normalized"
)]
pub struct UnknownHook(String);

impl FromStr for HookPoint {
    type Err = UnknownHook;

    fn from_str(name: &str) -> Result<HookPoint, UnknownHook> {
        let unknown = || UnknownHook(name.chars().take(80).collect::<String>().escape_debug().to_string());
        match name {
            "hook_embed" => return Ok(HookPoint::Embed),
            "ln_final.hook_normalized" => return Ok(HookPoint::FinalNorm),
            _ => {}
        }
        let (stack, rest) = name.split_once('.').ok_or_else(unknown)?;
        let (layer, rest) = rest.split_once('.').ok_or_else(unknown)?;
        if layer.is_empty() || !layer.bytes().all(|b| b.is_ascii_digit()) {
            return Err(unknown());
        }
        let l = layer.parse().map_err(|_| unknown())?;
        Ok(match (stack, rest) {
            ("blocks", "hook_resid_pre") => HookPoint::ResidPre(l),
            ("blocks", "attn.hook_pattern") => HookPoint::Pattern(l),
            ("blocks", "hook_attn_out") => HookPoint::AttnOut(l),
            ("blocks", "hook_resid_mid") => HookPoint::ResidMid(l),
            ("blocks", "hook_mlp_out") => HookPoint::MlpOut(l),
            ("blocks", "hook_resid_post") => HookPoint::ResidPost(l),
            ("decoder", "hook_resid_pre") => HookPoint::DecoderPre(l),
            ("decoder", "attn.hook_pattern") => HookPoint::DecoderPattern(l),
            ("decoder", "cross_attn.hook_pattern") => HookPoint::CrossPattern(l),
            ("decoder", "hook_resid_post") => HookPoint::DecoderPost(l),
            _ => return Err(unknown()),
        })
    }
}

impl Serialize for HookPoint {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for HookPoint {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<HookPoint, D::Error> {
        String::deserialize(d)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transformerlens_names_round_trip() {
        use HookPoint::*;
        let all = [Embed, ResidPre(0), Pattern(11), AttnOut(2), ResidMid(3), MlpOut(4), ResidPost(5), FinalNorm];
        let second = [DecoderPre(0), DecoderPattern(1), CrossPattern(2), DecoderPost(3)];
        for p in all.into_iter().chain(second) {
            assert_eq!(p.to_string().parse::<HookPoint>().unwrap(), p);
        }
        assert_eq!(ResidPost(5).to_string(), "blocks.5.hook_resid_post");
        assert_eq!(Pattern(1).to_string(), "blocks.1.attn.hook_pattern");
    }

    #[test]
    fn nonsense_is_refused() {
        for bad in ["", "blocks", "blocks.", "blocks.1", "blocks.-1.hook_resid_pre", "blocks.+1.hook_resid_pre"] {
            assert!(bad.parse::<HookPoint>().is_err(), "{bad}");
        }
        assert!("blocks.99999999999999999999999.hook_resid_pre".parse::<HookPoint>().is_err());
        assert!("blocks.1.hook_resid_pre ".parse::<HookPoint>().is_err());
        let hostile = "\u{1b}[2J".parse::<HookPoint>().unwrap_err().to_string();
        assert!(!hostile.contains('\u{1b}'), "escape codes must not reach the terminal");
    }
}
