//! Executor for families that candle-transformers runs. It provides only logits at positions.
//!
//! Texts of equal length run together without padding, because some networks of the library do not support a mask. [`Plan::check`] has
//! already rejected every other request.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::Executor;
use super::candle::open_device;
use crate::arch::{Arch, Head};
use crate::array::Array;
use crate::batch::Batch;
use crate::device::Device;
use crate::dtype::Dtype;
use crate::error::{ModelError, Result};
use crate::families::ConfigFile;
use crate::families::served::{self, LogitsNet, Stored, Texts};
use crate::plan::{Plan, Sites};
use crate::trace::Trace;
use crate::weights::Checkpoint;

/// Maximum number of tokens that run together, padding excluded.
const GROUP_TOKENS: usize = 2048;

/// Output matrices of these families, with the embeddings to which each may be tied.
const OUTPUTS: [(&str, &str); 6] = [
    ("lm_head.weight", "model.embed_tokens.weight"),
    ("lm_head.weight", "shared.weight"),
    ("lm_head.weight", "backbone.embeddings.weight"),
    ("lm_head.weight", "backbone.embedding.weight"),
    ("decoder.weight", "model.embeddings.tok_embeddings.weight"),
    ("cls.predictions.decoder.weight", "deberta.embeddings.word_embeddings.weight"),
];

/// A network of candle-transformers.
pub(crate) struct LogitsExecutor {
    /// Decoders cache the tokens read so far, so passes run one at a time.
    net: Mutex<Box<dyn LogitsNet>>,
    arch: Arch,
    device: candle_core::Device,
}

/// Indices of rows that run together because they have the same text length, decoder input length and requested positions.
type Groups = BTreeMap<(usize, Option<usize>, Vec<usize>), Vec<usize>>;

impl LogitsExecutor {
    /// Builds the network for a configuration; also returns the names of unused block tensors. If the stored output matrix differs from the
    /// embeddings to which the configuration ties it, `arch` becomes untied.
    pub(crate) fn open(
        file: &ConfigFile,
        arch: &mut Arch,
        weights: &Checkpoint,
        (device, dtype): (Device, Dtype),
    ) -> Result<(LogitsExecutor, Vec<String>)> {
        if dtype != Dtype::F32 {
            let what = "this family runs in f32 only; omit `--dtype`".into();
            return Err(ModelError::Device { device: format!("{device} {dtype}"), what });
        }
        let device = open_device(device)?;
        let family = served::find(file.model_type()).ok_or_else(|| ModelError::Config {
            file: weights.label(),
            what: format!("'{}' is not one of the families that provide only logits", arch.family),
        })?;
        if arch.is_tied() {
            for (output, table) in OUTPUTS {
                if weights.same(output, table)? {
                    continue;
                }
                if family.untied {
                    arch.head = Head::Causal { tied: false, bias: false };
                } else {
                    let what = format!(
                        "'{output}' differs from the embeddings to which config.json ties it; '{}' runs only if they \
                         are the same",
                        arch.family
                    );
                    return Err(ModelError::Weights { file: weights.label(), what });
                }
            }
        }
        let stored = Stored::new(weights, arch, &device);
        let net = (family.open)(file, &stored)?;
        let ignored = stored.ignored();
        Ok((LogitsExecutor { net: Mutex::new(net), arch: arch.clone(), device }, ignored))
    }

    /// Runs all groups and calls a function with each result as `(row, position, logits)`.
    fn each(
        &self,
        batch: &Batch,
        wanted: &BTreeMap<usize, Vec<usize>>,
        mut answer: impl FnMut(usize, usize, &[f32]),
    ) -> Result<()> {
        let own = self.arch.decoder.filter(|_| std::ptr::from_ref(batch.output()) != std::ptr::from_ref(batch));
        let second = batch.output();
        let mut groups: Groups = BTreeMap::new();
        for (&row, at) in wanted {
            let decoder = own.map(|_| second.lengths()[row]);
            groups.entry((batch.lengths()[row], decoder, at.clone())).or_default().push(row);
        }
        let mut net = self.net.lock().unwrap_or_else(PoisonError::into_inner);
        for ((len, decoder, at), rows) in groups {
            for rows in rows.chunks((GROUP_TOKENS / len.max(1)).max(1)) {
                let of = |b: &'_ Batch, n: usize| -> Vec<Vec<u32>> {
                    rows.iter().map(|&r| b.ids()[r * b.len()..r * b.len() + n].to_vec()).collect()
                };
                let (first, second) = (of(batch, len), decoder.map(|n| of(second, n)));
                let texts = Texts {
                    ids: first.iter().map(Vec::as_slice).collect(),
                    decoder: second.as_ref().map(|rows| rows.iter().map(Vec::as_slice).collect()),
                };
                let logits: Vec<f32> = net.logits(&texts, &at)?.flatten_all()?.to_vec1()?;
                if let Some(v) = logits.iter().find(|v| !v.is_finite()) {
                    return Err(ModelError::Compute(format!("'{}' computed a logit of {v}", self.arch.family)));
                }
                for (i, values) in logits.chunks(self.arch.vocab).enumerate() {
                    answer(rows[i / at.len()], at[i % at.len()], values);
                }
            }
        }
        Ok(())
    }
}

impl Executor for LogitsExecutor {
    fn run(&self, batch: &Batch, plan: &Plan) -> Result<Trace> {
        let Some(asked) = &plan.logits else { return Ok(Trace::default()) };
        let side = batch.output();
        let sites: Vec<(usize, usize)> = match &asked.sites {
            Sites::At(list) => list.clone(),
            Sites::All => (0..side.rows()).flat_map(|r| (0..side.lengths()[r]).map(move |t| (r, t))).collect(),
        };
        let mut wanted: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for &(row, t) in &sites {
            wanted.entry(row).or_default().push(t);
        }
        for at in wanted.values_mut() {
            at.sort_unstable();
            at.dedup();
        }
        let width = asked.vocab.as_ref().map_or(self.arch.vocab, Vec::len);
        let (shape, place): (_, BTreeMap<(usize, usize), Vec<usize>>) = match &asked.sites {
            // Logits at padding are not computed and stay zero.
            Sites::All => {
                let t = side.len();
                (vec![side.rows(), t, width], sites.iter().map(|&(b, i)| ((b, i), vec![b * t + i])).collect())
            }
            Sites::At(list) => {
                let mut place: BTreeMap<_, Vec<usize>> = BTreeMap::new();
                list.iter().enumerate().for_each(|(i, site)| place.entry(*site).or_default().push(i));
                (vec![list.len(), width], place)
            }
        };
        let mut out = Array::zeros(shape);
        self.each(batch, &wanted, |row, t, values| {
            for &i in place.get(&(row, t)).into_iter().flatten() {
                match &asked.vocab {
                    Some(ids) => {
                        let chosen = ids.iter().map(|&id| values[id as usize]);
                        out.row_mut(i).iter_mut().zip(chosen).for_each(|(to, v)| *to = v);
                    }
                    None => out.row_mut(i).copy_from_slice(values),
                }
            }
        })?;
        Ok(Trace { logits: Some(out), ..Trace::default() })
    }

    fn device(&self) -> String {
        match &self.device {
            candle_core::Device::Cpu => "candle-transformers cpu".into(),
            candle_core::Device::Metal(_) => "candle-transformers metal".into(),
            candle_core::Device::Cuda(_) => "candle-transformers cuda".into(),
        }
    }

    fn dtype(&self) -> Dtype {
        Dtype::F32
    }

    fn pass_bytes(&self, tokens: usize, longest: usize) -> usize {
        // Counts the memory of one group: residual streams and feed-forward part of a block, all keys and values, attention scores of a
        // block, and logits.
        let a = &self.arch;
        let group = tokens.min(GROUP_TOKENS.max(longest));
        let streams = 6 * a.hidden + 3 * a.intermediate + 2 * a.depth() * a.kv_heads * a.head_dim;
        4 * group.saturating_mul(streams + 2 * a.heads * longest + a.vocab)
    }

    fn bytes(&self) -> usize {
        4 * self.arch.parameter_count()
    }
}
