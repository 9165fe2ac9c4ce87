//! Plans of forward passes: the values to read, edit and differentiate.

use super::arch::{Arch, Head, Network};
use super::array::Array;
use super::batch::Batch;
use super::error::{ModelError, Result};
use super::hook::HookPoint;
use super::offers::{self, Offer};

/// Requests for one forward pass. Only requested values are computed and kept, and no block above the last one needed runs. The empty plan
/// reads nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    pub start: Start,
    pub captures: Vec<Capture>,
    pub logits: Option<LogitsAt>,
    /// Edits, applied in this order at the same point. Captures at that point read the edited value.
    pub edits: Vec<Edit>,
    pub gradient: Option<Gradient>,
}

/// Starting point of a pass.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Start {
    /// Token ids of the batch.
    #[default]
    Tokens,
    /// Word embeddings `[B,T,E]` that replace those of the ids (integrated gradients).
    Embeddings(Array),
    /// Input of block `layer`, `[B,T,D]`, which is the output of block `layer - 1`; nothing below runs. `layer = L` runs only the head.
    Resume {
        /// Block from 0 to L.
        layer: usize,
        /// Input of the block.
        hidden: Array,
    },
}

/// Positions in a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sites {
    /// Every position, padding included.
    All,
    /// N `(row, position)` pairs.
    At(Vec<(usize, usize)>),
}

impl Sites {
    pub fn per_row(positions: &[usize]) -> Sites {
        Sites::At(positions.iter().copied().enumerate().collect())
    }
}

/// A value to read: `[B,T,D]` at all sites (`[B,H,T,T]` for attention), or `[N,D]` (`[N,H,T]`) at selected sites.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    pub at: HookPoint,
    pub sites: Sites,
}

/// Logits to compute: `[B,T,K]` at all sites, or `[N,K]` at selected sites. K is V, or the number of selected tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogitsAt {
    pub sites: Sites,
    /// Only these tokens, in this order.
    pub vocab: Option<Vec<u32>>,
}

/// An edit of vectors in the residual stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Edit {
    /// Hook point other than attention probabilities.
    pub at: HookPoint,
    /// N `(row, position)` pairs.
    pub sites: Vec<(usize, usize)>,
    pub how: EditKind,
    /// `[D]`, one vector for all sites, or `[N,D]`, one per site.
    pub value: Array,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EditKind {
    /// Replaces the vector.
    Overwrite,
    /// Adds to the vector.
    Add,
}

/// A scalar to differentiate, and the points at which to take its gradient.
///
/// Rows do not influence each other, so the gradient of a sum over rows contains each row's own gradient.
#[derive(Clone, Debug, PartialEq)]
pub struct Gradient {
    pub of: Scalar,
    /// Hook points of the gradients, which refer to values after edits.
    pub wrt: Vec<HookPoint>,
}

/// A token at a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Row in the batch.
    pub row: usize,
    /// Position of the logits; a causal model predicts the *next* token there.
    pub position: usize,
    /// Token id.
    pub token: u32,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Scalar {
    /// Sum of the targets' logits.
    Logit(Vec<Target>),
    /// Sum of the targets' softmax probabilities.
    Probability(Vec<Target>),
    /// Sum of the targets' log-probabilities.
    LogProbability(Vec<Target>),
    /// Inner product of `value` with the vectors at `sites` of hook point `at`; `value` has the shape of a capture at these sites.
    Cotangent {
        at: HookPoint,
        sites: Sites,
        /// Weights of the vectors.
        value: Array,
    },
}

impl Scalar {
    pub fn targets(&self) -> Option<&[Target]> {
        match self {
            Scalar::Logit(t) | Scalar::Probability(t) | Scalar::LogProbability(t) => Some(t),
            Scalar::Cotangent { .. } => None,
        }
    }
}

impl Plan {
    /// Captures a point at all sites.
    pub fn capture(self, at: HookPoint) -> Plan {
        self.capture_at(at, Sites::All)
    }

    /// Captures a point at selected sites.
    pub fn capture_at(mut self, at: HookPoint, sites: Sites) -> Plan {
        self.captures.push(Capture { at, sites });
        self
    }

    /// Requests logits over the whole vocabulary.
    pub fn logits_at(mut self, sites: Sites) -> Plan {
        self.logits = Some(LogitsAt { sites, vocab: None });
        self
    }

    /// Requests logits of selected tokens.
    pub fn logits_of(mut self, sites: Sites, vocab: Vec<u32>) -> Plan {
        self.logits = Some(LogitsAt { sites, vocab: Some(vocab) });
        self
    }

    /// Starts from word embeddings `[B,T,E]`.
    pub fn from_embeddings(mut self, rows: Array) -> Plan {
        self.start = Start::Embeddings(rows);
        self
    }

    /// Starts from the input of block `layer`, `[B,T,D]`.
    pub fn resume(mut self, layer: usize, hidden: Array) -> Plan {
        self.start = Start::Resume { layer, hidden };
        self
    }

    pub fn edit(mut self, edit: Edit) -> Plan {
        self.edits.push(edit);
        self
    }

    pub fn gradient(mut self, of: Scalar, wrt: &[HookPoint]) -> Plan {
        self.gradient = Some(Gradient { of, wrt: wrt.to_vec() });
        self
    }

    /// Block at which the pass begins.
    pub(crate) fn first_block(&self) -> usize {
        match self.start {
            Start::Resume { layer, .. } => layer,
            _ => 0,
        }
    }

    /// Returns the part of the model that must run, starting at `first_block()`.
    pub fn extent(&self, arch: &Arch) -> Extent {
        let mut extent = Extent { blocks: 0, decoder_blocks: 0, output: false };
        let second = arch.decoder.map_or(0, |d| d.layers);
        let mut need = |p: HookPoint| match p {
            HookPoint::Embed => {}
            // The input of block l is available once block l-1 has run, or the embedding for block 0.
            HookPoint::ResidPre(l) => extent.blocks = extent.blocks.max(l),
            HookPoint::FinalNorm => {
                extent.output = true;
                (extent.blocks, extent.decoder_blocks) = (arch.layers, second);
            }
            p if p.in_decoder() => {
                extent.blocks = arch.layers;
                extent.decoder_blocks = extent.decoder_blocks.max(p.layer().unwrap_or(0) + 1);
            }
            p => extent.blocks = extent.blocks.max(p.layer().unwrap_or(0) + 1),
        };
        self.captures.iter().for_each(|c| need(c.at));
        match &self.gradient {
            Some(Gradient { of: Scalar::Cotangent { at, .. }, .. }) => need(*at),
            Some(_) => need(HookPoint::FinalNorm),
            None => {}
        }
        if self.logits.is_some() {
            need(HookPoint::FinalNorm);
        }
        extent
    }

    /// Checks every shape, range and dependency, so that executors need not do so. `name` is the model's name.
    ///
    /// # Errors
    /// [`ModelError::Plan`] with the invalid part; [`ModelError::NoHead`] if logits are requested from a model without a head.
    pub fn check(&self, name: &str, arch: &Arch, batch: &Batch) -> Result<()> {
        if matches!(arch.network, Network::LogitsOnly(_)) {
            self.asks_for_logits_alone(name, arch)?;
        }
        let check = Check { name, arch, batch, first: self.first_block(), embeds: self.embeds() };
        check.start(&self.start)?;
        for c in &self.captures {
            check.reached(c.at)?;
            check.sites(&c.sites, check.side(c.at))?;
        }
        if let Some(l) = &self.logits {
            check.head()?;
            check.sites(&l.sites, batch.output())?;
            for &id in l.vocab.iter().flatten() {
                check.token(id)?;
            }
        }
        self.edits.iter().try_for_each(|e| check.edit(e))?;
        self.gradient.iter().try_for_each(|g| check.gradient(g))
    }

    /// Rejects requests that need access to blocks.
    fn asks_for_logits_alone(&self, name: &str, arch: &Arch) -> Result<()> {
        if self.gradient.is_some() {
            offers::require(name, arch, Offer::Gradients)?;
        }
        if self.captures.iter().any(|c| c.at.is_pattern()) {
            offers::require(name, arch, Offer::Attention)?;
        }
        if self.start != Start::Tokens || !self.captures.is_empty() || !self.edits.is_empty() {
            offers::require(name, arch, Offer::Hidden)?;
        }
        Ok(())
    }

    /// True if the embedding layer runs.
    fn embeds(&self) -> bool {
        !matches!(self.start, Start::Resume { .. })
    }
}

/// Part of the model that a plan needs; see [`Plan::extent`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    pub blocks: usize,
    /// Number of decoder blocks that run, if there is a decoder.
    pub(crate) decoder_blocks: usize,
    /// True if the final norm and the head run.
    pub output: bool,
}

struct Check<'a> {
    name: &'a str,
    arch: &'a Arch,
    batch: &'a Batch,
    first: usize,
    embeds: bool,
}

fn refuse<T>(why: String) -> Result<T> {
    Err(ModelError::Plan(why))
}

impl Check<'_> {
    fn start(&self, start: &Start) -> Result<()> {
        let (b, t) = (self.batch.rows(), self.batch.len());
        let (shape, wanted, finite) = match start {
            Start::Tokens => return Ok(()),
            Start::Embeddings(x) => (&x.shape, [b, t, self.arch.embedding.width], x),
            Start::Resume { layer, hidden } => {
                if *layer > self.arch.layers {
                    return refuse(format!(
                        "cannot resume at block {layer}: the model has {} blocks; use 0 (the embeddings) to {}",
                        self.arch.layers, self.arch.layers
                    ));
                }
                if *layer == 0 && self.arch.network != Network::Transformer {
                    return refuse("cannot resume at block 0; start from word vectors instead".into());
                }
                (&hidden.shape, [b, t, self.arch.hidden], hidden)
            }
        };
        if shape[..] != wanted {
            return refuse(format!("starting array of shape {shape:?}; expected {wanted:?}"));
        }
        self.finite(finite, "the starting array")
    }

    fn finite(&self, array: &Array, what: &str) -> Result<()> {
        match array.data.iter().position(|v| !v.is_finite()) {
            Some(i) => refuse(format!("{what} contains {} at index {i}", array.data[i])),
            None => Ok(()),
        }
    }

    fn reached(&self, p: HookPoint) -> Result<()> {
        if !p.exists_in(self.arch) {
            return refuse(format!(
                "{p} does not exist in '{}' ({}, {} blocks)",
                self.name, self.arch.family, self.arch.layers
            ));
        }
        // A resumed pass starts at the input of its first block. The output of the previous block is the same value, but the pass does not
        // go through that point.
        let below = match p {
            HookPoint::Embed => !self.embeds,
            HookPoint::FinalNorm => false,
            p if p.in_decoder() => false,
            p => p.layer().is_some_and(|l| l < self.first),
        };
        if below {
            return refuse(format!("{p} is before block {}, where the pass resumes", self.first));
        }
        Ok(())
    }

    /// The batch that contains the tokens at a point; a decoder has a separate batch.
    fn side(&self, p: HookPoint) -> &Batch {
        let after = p.in_decoder() || (p == HookPoint::FinalNorm && self.arch.decoder.is_some());
        if after { self.batch.output() } else { self.batch }
    }

    fn site(&self, (row, position): (usize, usize), side: &Batch) -> Result<()> {
        if !side.is_token(row, position) {
            return refuse(format!(
                "no token at sentence {row}, position {position} (the batch has {} sentences of up to {} tokens)",
                side.rows(),
                side.len()
            ));
        }
        Ok(())
    }

    fn sites(&self, sites: &Sites, side: &Batch) -> Result<()> {
        match sites {
            Sites::All => Ok(()),
            Sites::At(list) if list.is_empty() => refuse("an empty list of positions".into()),
            Sites::At(list) => list.iter().try_for_each(|&s| self.site(s, side)),
        }
    }

    fn token(&self, id: u32) -> Result<()> {
        if id as usize >= self.arch.vocab {
            return refuse(format!("token id {id} is outside the vocabulary of {} tokens", self.arch.vocab));
        }
        Ok(())
    }

    fn head(&self) -> Result<()> {
        if self.arch.head == Head::None {
            return Err(ModelError::NoHead { model: self.name.to_owned(), kind: self.arch.head_kind() });
        }
        Ok(())
    }

    fn edit(&self, e: &Edit) -> Result<()> {
        self.reached(e.at)?;
        let Some(width) = e.at.width(self.arch) else {
            return refuse(format!("{} can be read, not changed", e.at));
        };
        if e.sites.is_empty() {
            return refuse(format!("an edit at {} has no positions", e.at));
        }
        e.sites.iter().try_for_each(|&s| self.site(s, self.side(e.at)))?;
        if e.value.shape != [width] && e.value.shape != [e.sites.len(), width] {
            return refuse(format!(
                "an edit at {} has a value of shape {:?}; expected [{width}] or [{}, {width}]",
                e.at,
                e.value.shape,
                e.sites.len()
            ));
        }
        self.finite(&e.value, "an edit")
    }

    fn gradient(&self, g: &Gradient) -> Result<()> {
        if self.arch.network == Network::Table {
            return refuse(format!("'{}' is a table of word vectors, which has no gradients", self.name));
        }
        if g.wrt.is_empty() {
            return refuse("a gradient without hook points".into());
        }
        for &p in &g.wrt {
            self.reached(p)?;
            if p.width(self.arch).is_none() {
                return refuse(format!("gradients with respect to {p} are not available"));
            }
        }
        match &g.of {
            Scalar::Cotangent { at, sites, value } => {
                self.reached(*at)?;
                self.sites(sites, self.side(*at))?;
                let wanted = at.capture_shape(self.arch, self.batch, sites);
                if value.shape != wanted {
                    return refuse(format!("the cotangent at {at} has shape {:?}; expected {wanted:?}", value.shape));
                }
                self.finite(value, "the cotangent")
            }
            Scalar::Logit(t) | Scalar::Probability(t) | Scalar::LogProbability(t) => {
                self.head()?;
                if t.is_empty() {
                    return refuse("a gradient without targets".into());
                }
                t.iter().try_for_each(|t| {
                    self.site((t.row, t.position), self.batch.output())?;
                    self.token(t.token)
                })
            }
        }
    }
}
