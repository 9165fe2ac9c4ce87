//! Networks described as data, which families create and executors run.
//!
//! All transformer families are the same stack of blocks with different settings. The same record also describes word vectors and the LSTM
//! encoder ([`Network`]). A family file turns a `config.json` into an [`Arch`]; an executor needs only the [`Arch`] and the parameters that
//! [`Arch::parameters`] lists.

mod list;
mod scaling;

pub use kernels::kind::{Activation, NormKind};
use serde::{Deserialize, Serialize};

use self::list::List;
pub use self::list::{Parameter, Role};
pub use self::scaling::Scaling;
use super::batch::Batch;
use super::hook::HookPoint;
use super::offers::LogitsOnly;

/// Complete description of an architecture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Arch {
    /// `model_type` of the family: the registry key for tensor names and export.
    pub family: String,
    /// Kind of blocks.
    #[serde(default)]
    pub network: Network,
    /// Vocabulary size V: rows of the word-embedding table.
    pub vocab: usize,
    /// Width D of the residual stream.
    pub hidden: usize,
    /// Number of blocks L.
    pub layers: usize,
    /// Number of query heads H.
    pub heads: usize,
    /// Number of key/value heads; equal to H unless query heads are grouped.
    pub kv_heads: usize,
    pub head_dim: usize,
    /// Inner width F of the feed-forward part.
    pub intermediate: usize,
    /// Maximum input length in tokens.
    pub max_positions: usize,
    pub embedding: Embedding,
    pub positions: Positions,
    /// Normalization of blocks, embeddings and final states.
    pub norm: Norm,
    /// Position of norms within a block.
    pub place: Place,
    pub attention: Attention,
    /// Feed-forward part.
    pub mlp: Mlp,
    /// True if all layers share the parameters of one block (ALBERT).
    pub(crate) shared_block: bool,
    /// True if a norm follows the last block (`ln_final`).
    pub final_norm: bool,
    /// Head that maps hidden states to logits. A pooler is separate: see [`Pooler`](super::sentence::Pooler).
    pub head: Head,
    /// Second stack that attends to the first (BART); `None` for other models.
    pub decoder: Option<Decoder>,
}

/// Kinds of blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Network {
    /// Attention and feed-forward blocks: all networks except the following.
    #[default]
    Transformer,
    /// No blocks, only the word-embedding table (GloVe, word2vec).
    Table,
    /// Bidirectional LSTMs (InferSent). Both directions are concatenated, so D = 2 H; E may differ from D.
    BiLstm,
    /// A network of candle-transformers, which provides only logits. See [`families::served`](super::families::served).
    LogitsOnly(LogitsOnly),
}

/// Embedding before the first block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Embedding {
    /// Width E of the word-embedding table; differs from D if the table is factorised.
    pub width: usize,
    /// Number of token types; 0 for no table.
    pub types: usize,
    /// Rows of the task-type table, whose first row is added to every token (ERNIE); 0 for no table.
    pub tasks: usize,
    /// True if the summed embeddings are normalised.
    pub norm: bool,
    /// True if a linear map from E to D follows the norm (ALBERT, ELECTRA).
    pub projection: bool,
    /// Factor of the word embeddings (BART's `scale_embedding`); 1 for none.
    pub scale: f64,
}

impl Embedding {
    /// A single table of width D.
    pub(crate) fn plain(hidden: usize) -> Embedding {
        Embedding { width: hidden, types: 0, tasks: 0, norm: false, projection: false, scale: 1.0 }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Positions {
    None,
    /// A table: token t of a row uses table row `offset + t`. With `padding`, padding and tokens with that id use the row `padding` and are
    /// not counted.
    Learned {
        /// First row used by tokens.
        offset: usize,
        /// Id of the pad token, and its row (RoBERTa); `None` if padding is treated like tokens.
        padding: Option<usize>,
    },
    /// Rotation of the first `fraction` of each head in half-split pairs (GPT-NeoX and Llama as stored by Hugging Face).
    Rotary {
        /// Base of the frequencies.
        theta: f64,
        /// Share of each head that is rotated.
        fraction: f64,
        /// Scaling of the frequencies theta^(-2 i / share).
        #[serde(default, skip_serializing_if = "Scaling::is_none")]
        scaling: Scaling,
    },
}

impl Positions {
    /// Row of the position table for token `t` of sentence `b`.
    pub(crate) fn row(self, batch: &Batch, b: usize, t: usize) -> usize {
        let Positions::Learned { offset, padding } = self else { return t };
        let Some(pad) = padding else { return offset + t };
        let ids = &batch.ids()[b * batch.len()..][..=t];
        if !batch.is_token(b, t) || ids[t] as usize == pad {
            return pad;
        }
        offset + ids[..t].iter().filter(|id| **id as usize != pad).count()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Norm {
    pub kind: NormKind,
    /// Constant added to the second moment, which is mean-centred in layer norm.
    pub eps: f64,
}

/// Position of norms within a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Place {
    /// Norms after each residual sum (BERT).
    Post,
    /// Norms before each sublayer (GPT-2, Llama).
    Pre,
    /// Norms before attention and feed-forward, which have the same input (GPT-NeoX).
    Parallel,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attention {
    /// True if tokens attend only to themselves and earlier tokens.
    pub causal: bool,
    /// True if query, key and value have biases.
    pub(crate) qkv_bias: bool,
    /// True if the output matrix has a bias.
    pub(crate) out_bias: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mlp {
    pub activation: Activation,
    /// True for down(act(gate x) * up x) instead of down(act(up x)).
    pub gated: bool,
    /// True if the matrices have biases.
    pub bias: bool,
}

/// Output of the network.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Head {
    /// Hidden states only.
    None,
    /// Masked LM: dense layer from D to E, activation, layer norm, decoder V x E, bias.
    Masked {
        activation: Activation,
        /// Epsilon of the head's layer norm.
        eps: f64,
        /// True if the decoder is the word-embedding table.
        tied: bool,
    },
    /// Decoder matrix V x D, for causal LMs and encoder-decoders.
    Causal {
        /// True if the decoder is the word-embedding table.
        tied: bool,
        /// True if there is a bias over the vocabulary (BART's `final_logits_bias`).
        bias: bool,
    },
}

/// Second stack of an encoder-decoder: causal self-attention, attention to the encoder's output, and feed-forward, with norms placed as in
/// the encoder. It shares the word-embedding table but has separate positions and a separate embedding norm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decoder {
    pub layers: usize,
    pub heads: usize,
    /// Feed-forward width.
    pub intermediate: usize,
    /// First input token of the decoder. By default, the decoder reads this token, followed by the encoder's input without its last token.
    pub start_token: u32,
}

/// Maximum of any size field; keeps every product below `usize::MAX` and malicious files harmless.
const LARGEST: usize = 1 << 24;

impl Arch {
    /// Lists every parameter in a fixed order, with its shape for loading and its role for training. The list is empty for families that
    /// provide only logits, whose library loads its own parameters.
    pub fn parameters(&self) -> Vec<Parameter> {
        let mut list = List(Vec::new());
        if matches!(self.network, Network::LogitsOnly(_)) {
            return list.0;
        }
        let (d, e) = (self.hidden, self.embedding.width);
        list.push("embed.tokens.weight".into(), vec![self.vocab, e], Role::Weight);
        if let Positions::Learned { offset, .. } = self.positions {
            list.push("embed.positions.weight".into(), vec![self.max_positions + offset, e], Role::Weight);
        }
        if self.embedding.types > 0 {
            list.push("embed.types.weight".into(), vec![self.embedding.types, e], Role::Weight);
        }
        if self.embedding.tasks > 0 {
            list.push("embed.tasks.weight".into(), vec![self.embedding.tasks, e], Role::Weight);
        }
        if self.embedding.norm {
            list.norm("embed.norm", self.norm.kind, e);
        }
        if self.embedding.projection {
            list.linear("embed.project", d, e, true);
        }
        let blocks = if self.shared_block { self.layers.min(1) } else { self.layers };
        for l in 0..if self.network == Network::BiLstm { blocks } else { 0 } {
            self.lstm_parameters(l, &mut list);
        }
        for l in 0..if self.network == Network::Transformer { blocks } else { 0 } {
            self.block_parameters(&format!("blocks.{l}"), self.intermediate, &mut list);
        }
        if let Some(second) = self.decoder {
            self.decoder_parameters(second, &mut list);
        }
        if self.final_norm {
            list.norm("final_norm", self.norm.kind, d);
        }
        list.0.extend(self.head_parameters());
        list.0
    }

    /// Lists both directions of an LSTM; gate rows are in PyTorch's order: input, forget, cell, output.
    fn lstm_parameters(&self, l: usize, list: &mut List) {
        let (h, input) = (self.hidden / 2, if l == 0 { self.embedding.width } else { self.hidden });
        for direction in ["forward", "backward"] {
            list.linear(&format!("blocks.{l}.{direction}.ih"), 4 * h, input, true);
            list.linear(&format!("blocks.{l}.{direction}.hh"), 4 * h, h, true);
        }
    }

    fn decoder_parameters(&self, second: Decoder, list: &mut List) {
        let d = self.hidden;
        if let Positions::Learned { offset, .. } = self.positions {
            list.push("decoder.embed.positions.weight".into(), vec![self.max_positions + offset, d], Role::Weight);
        }
        if self.embedding.norm {
            list.norm("decoder.embed.norm", self.norm.kind, d);
        }
        for l in 0..second.layers {
            let at = format!("decoder.blocks.{l}");
            self.block_parameters(&at, second.intermediate, list);
            for part in ["q", "k", "v"] {
                list.linear(&format!("{at}.cross.{part}"), d, d, self.attention.qkv_bias);
            }
            list.linear(&format!("{at}.cross.out"), d, d, self.attention.out_bias);
            list.norm(&format!("{at}.norm_cross"), self.norm.kind, d);
        }
    }

    fn block_parameters(&self, at: &str, f: usize, list: &mut List) {
        let (d, hd) = (self.hidden, self.head_dim);
        list.norm(&format!("{at}.norm1"), self.norm.kind, d);
        list.linear(&format!("{at}.attn.q"), self.heads * hd, d, self.attention.qkv_bias);
        list.linear(&format!("{at}.attn.k"), self.kv_heads * hd, d, self.attention.qkv_bias);
        list.linear(&format!("{at}.attn.v"), self.kv_heads * hd, d, self.attention.qkv_bias);
        list.linear(&format!("{at}.attn.out"), d, self.heads * hd, self.attention.out_bias);
        list.norm(&format!("{at}.norm2"), self.norm.kind, d);
        list.linear(&format!("{at}.mlp.up"), f, d, self.mlp.bias);
        if self.mlp.gated {
            list.linear(&format!("{at}.mlp.gate"), f, d, self.mlp.bias);
        }
        list.linear(&format!("{at}.mlp.down"), d, f, self.mlp.bias);
    }

    /// Lists the parameters that only the head uses; a file without any of them has no head.
    pub fn head_parameters(&self) -> Vec<Parameter> {
        let mut list = List(Vec::new());
        let (d, e, v) = (self.hidden, self.embedding.width, self.vocab);
        match self.head {
            Head::None => {}
            Head::Masked { tied, .. } => {
                list.linear("head.transform", e, d, true);
                list.norm("head.norm", NormKind::Layer, e);
                if !tied {
                    list.push("head.decoder.weight".into(), vec![v, e], Role::Weight);
                }
                list.push("head.decoder.bias".into(), vec![v], Role::Bias);
            }
            Head::Causal { tied, bias } => {
                if !tied {
                    list.push("head.decoder.weight".into(), vec![v, d], Role::Weight);
                }
                if bias {
                    list.push("head.decoder.bias".into(), vec![v], Role::Bias);
                }
            }
        }
        list.0
    }

    pub fn parameter_count(&self) -> usize {
        if let Network::LogitsOnly(about) = self.network {
            return usize::try_from(about.parameters).unwrap_or(usize::MAX);
        }
        self.parameters().iter().map(|p| p.shape.iter().product::<usize>()).sum()
    }

    /// Name of a missing head for error messages, such as `masked-LM`.
    pub fn head_kind(&self) -> &'static str {
        match (self.network, self.attention.causal) {
            (Network::Transformer | Network::LogitsOnly(_), true) => "causal-LM",
            (Network::Transformer | Network::LogitsOnly(_), false) => "masked-LM",
            (Network::Table | Network::BiLstm, _) => "language-model",
        }
    }

    /// Number of blocks between the input and the head, including the decoder's.
    pub fn depth(&self) -> usize {
        self.layers + self.decoder.map_or(0, |d| d.layers)
    }

    /// Hook point at the output of block `layer`, from 1 to [`Self::depth`]; the decoder's first block follows the encoder's last.
    pub fn after_block(&self, layer: usize) -> HookPoint {
        match layer.checked_sub(self.layers + 1) {
            Some(l) if self.decoder.is_some() => HookPoint::DecoderPost(l),
            _ => HookPoint::ResidPost(layer.saturating_sub(1)),
        }
    }

    /// True if logits predict the *next* token instead of the token itself.
    pub fn is_causal(&self) -> bool {
        self.attention.causal
    }

    /// True if the output matrix is the word-embedding table.
    pub fn is_tied(&self) -> bool {
        matches!(self.head, Head::Masked { tied: true, .. } | Head::Causal { tied: true, .. })
    }

    /// Checks that the sizes are consistent.
    ///
    /// # Errors
    /// One sentence that states the inconsistent sizes.
    pub fn validate(&self) -> std::result::Result<(), String> {
        let sizes = [
            ("vocabulary", self.vocab),
            ("hidden size", self.hidden),
            ("layers", self.layers),
            ("heads", self.heads),
            ("key/value heads", self.kv_heads),
            ("head width", self.head_dim),
            ("intermediate size", self.intermediate),
            ("positions", self.max_positions),
            ("embedding width", self.embedding.width),
        ];
        for (what, size) in sizes {
            if what == "layers" && self.network == Network::Table && size == 0 {
                continue;
            }
            if size == 0 || size > LARGEST {
                return Err(format!("{what} is {size}; it must be between 1 and {LARGEST}"));
            }
        }
        if self.layers > 4096 {
            return Err(format!("{} layers; at most 4096 are accepted", self.layers));
        }
        if self.embedding.types > LARGEST || self.embedding.tasks > LARGEST {
            return Err(format!(
                "{} token types and {} task types; at most {LARGEST} of each are accepted",
                self.embedding.types, self.embedding.tasks
            ));
        }
        match self.network {
            Network::Transformer => {}
            Network::Table if self.layers > 0 => return Err("word vectors have no layers".into()),
            Network::BiLstm if !self.hidden.is_multiple_of(2) => {
                return Err(format!("a hidden size of {} is odd; two directions need an even size", self.hidden));
            }
            Network::Table | Network::BiLstm | Network::LogitsOnly(_) => {}
        }
        if !self.heads.is_multiple_of(self.kv_heads) {
            return Err(format!(
                "{} heads cannot be divided equally among {} key/value heads",
                self.heads, self.kv_heads
            ));
        }
        let fits = self.embedding.width == self.hidden || self.network == Network::BiLstm;
        if !self.embedding.projection && !fits {
            return Err(format!("embedding width {} does not match hidden size {}", self.embedding.width, self.hidden));
        }
        if let Some(second) = self.decoder {
            let plain = self.place == Place::Post && !self.embedding.projection && self.kv_heads == self.heads;
            let ours = self.network == Network::Transformer;
            if second.layers > 4096 || (ours && (!plain || self.heads * self.head_dim != self.hidden)) {
                return Err("this kind of decoder is not supported".into());
            }
            if second.layers == 0 || second.intermediate == 0 || second.intermediate > LARGEST {
                return Err(format!(
                    "a decoder of {} layers and width {} is not supported",
                    second.layers, second.intermediate
                ));
            }
            if second.heads == 0 || !self.hidden.is_multiple_of(second.heads) {
                return Err(format!("a hidden size of {} is not divisible by {} heads", self.hidden, second.heads));
            }
            if second.start_token as usize >= self.vocab {
                return Err(format!("start token {} is outside the vocabulary", second.start_token));
            }
        }
        self.validate_rotary()?;
        if !(self.norm.eps > 0.0 && self.norm.eps < 1.0) {
            return Err(format!("norm epsilon {}; it must be between 0 and 1", self.norm.eps));
        }
        Ok(())
    }

    fn validate_rotary(&self) -> std::result::Result<(), String> {
        let Positions::Rotary { fraction, theta, scaling } = self.positions else { return Ok(()) };
        if !scaling.is_sound() {
            return Err(format!(
                "rotary scaling {scaling:?}: factors and lengths must be positive, and low must be below high"
            ));
        }
        let sound = fraction > 0.0 && fraction <= 1.0 && theta > 0.0 && theta.is_finite();
        if !sound || self.rotated() == 0 || self.rotated() > self.head_dim {
            return Err(format!("invalid rotary positions: share {fraction}, base {theta}"));
        }
        Ok(())
    }

    /// Number of rotated dimensions of a head, or 0 without rotary positions. An odd number is rounded up as in transformers, which
    /// computes one frequency for every second dimension and doubles the list.
    pub(crate) fn rotated(&self) -> usize {
        self.rotary_share().next_multiple_of(2)
    }

    /// Returns the angle per position for each pair of rotated dimensions, and the scale of cosines and sines; `None` without rotary
    /// positions.
    pub(crate) fn rotation(&self) -> Option<(Vec<f64>, f64)> {
        let Positions::Rotary { theta, scaling, .. } = self.positions else { return None };
        let share = self.rotary_share() as f64;
        let frequency = |i: usize| scaling.apply(theta.powf(-2.0 * i as f64 / share), i, theta, share);
        let scale = if let Scaling::Yarn { attention, .. } = scaling { attention } else { 1.0 };
        Some(((0..self.rotated() / 2).map(frequency).collect(), scale))
    }

    /// Number of rotated dimensions, `share`, in the frequencies base^(-2 i / share); one less than [`Arch::rotated`] if that was rounded
    /// up.
    pub(crate) fn rotary_share(&self) -> usize {
        match self.positions {
            Positions::Rotary { fraction, .. } => (self.head_dim as f64 * fraction) as usize,
            _ => 0,
        }
    }
}
