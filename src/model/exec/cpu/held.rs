//! Memory used by the executor. Its working memory never shrinks, so the current value is also the peak.

use std::sync::PoisonError;

use super::state::{Back, HeadState, Inputs, Kept, KeptNorm, StackState, State, spaced};
use super::{CpuExecutor, GROUP};
use crate::arch::Place;
use kernels::buffer::Buffer;

fn sum(list: &[&Buffer]) -> usize {
    list.iter().map(|b| b.bytes()).sum()
}

impl KeptNorm {
    fn bytes(&self) -> usize {
        sum(&[&self.normed, &self.factor])
    }
}

impl Kept {
    fn bytes(&self) -> usize {
        let c = &self.cross;
        let buffers = [&self.qkv, &self.q, &self.pattern, &self.up, &self.gate, &c.q, &c.kv, &c.pattern];
        sum(&buffers) + self.norm1.bytes() + self.norm2.bytes() + c.norm.bytes()
    }
}

impl Inputs {
    fn bytes(&self) -> usize {
        sum(&[&self.qkv, &self.out, &self.cross, &self.cross_out, &self.up, &self.down])
    }
}

impl HeadState {
    fn bytes(&self) -> usize {
        let buffers = [&self.rows, &self.pre, &self.ready, &self.logits, &self.d, &self.values];
        sum(&buffers) + self.norm.bytes()
    }
}

impl Back {
    fn bytes(&self) -> usize {
        let Back { part, normed, other, down, gate, out, qkv, q, pattern, all, cross_q, cross_kv } = self;
        sum(&[part, normed, other, down, gate, out, qkv, q, pattern, all, cross_q, cross_kv])
    }
}

impl StackState {
    fn bytes(&self) -> usize {
        let kept: usize = self.kept.iter().map(Kept::bytes).sum();
        let inputs: usize = self.inputs.iter().map(Inputs::bytes).sum();
        let buffers = [&self.h, &self.part, &self.gather, &self.narrow, &self.d];
        kept + inputs + sum(&buffers) + self.embed_norm.bytes()
    }
}

impl State {
    fn bytes(&self) -> usize {
        let stacks = self.first.bytes() + self.second.bytes();
        stacks + self.top.bytes() + self.final_norm.bytes() + self.head.bytes() + self.back.bytes()
    }
}

impl CpuExecutor {
    /// Estimates the working memory of a pass that reads hidden states: the memory of each thread for its group of sentences, plus that of
    /// the batch. Groups consist of whole sentences.
    pub(super) fn expected(&self, tokens: usize, longest: usize) -> usize {
        let (a, threads) = (&self.arch, rayon::current_num_threads());
        let (q, kv) = (a.heads * a.head_dim, a.kv_heads * a.head_dim);
        let wide = if a.embedding.projection { a.embedding.width } else { 0 };
        // Blocks that do not overwrite their input keep a normalized copy.
        let inputs = if a.place == Place::Post { 0 } else { 2 * a.hidden };
        let encoder = a.hidden + q + 2 * kv + q + spaced(a.intermediate) + inputs + wide;
        let decoder = a.decoder.map_or(0, |d| 8 * a.hidden + spaced(d.intermediate));
        let rows = tokens.min(GROUP + longest / 2).max(longest);
        let groups = threads.min(tokens.div_ceil(longest.max(1))).max(1);
        let group = rows.min(tokens.div_ceil(groups) + longest / 2).max(longest.min(tokens));
        let batch = 2 * size_of::<u32>() * tokens;
        4 * groups * group * (encoder + decoder) + batch
    }

    /// Bytes of the weights, and of the working memory that all groups so far have allocated.
    pub(super) fn held(&self) -> (usize, usize) {
        let states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        (self.weights.bytes(), states.iter().map(State::bytes).sum())
    }
}

#[cfg(test)]
mod tests {
    use crate::chunk::chunks;
    use crate::{Batch, Device, HookPoint, Model, Plan, Sites};

    /// Compares the forecast of working memory with the memory that the executor reports afterwards.
    #[test]
    fn memory_forecast_is_within_20_percent() {
        // With more threads, some would get no part of a small batch.
        rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap().install(memory_against_forecast);
    }

    fn memory_against_forecast() {
        for name in ["bert-mini", "gpt2-mini"] {
            for tokens in [512, 1024, 4096] {
                let model = Model::load(&name.parse().unwrap(), Device::Cpu).unwrap();
                let before = model.bytes();
                let lengths: Vec<usize> = (0..tokens / 2).map(|i| 8 + i % 9).collect();
                let forecast = model.pass_bytes(tokens, 16) as f64;
                let mut held = 0.0;
                // On a busy machine one thread may do the work of two and thus use half of the memory, so the pass is repeated.
                for group in chunks(&lengths, tokens).into_iter().take(2).cycle().take(200) {
                    let ids: Vec<Vec<u32>> = group.iter().map(|i| vec![7; lengths[*i]]).collect();
                    let batch = Batch::new(&ids, 0).unwrap();
                    let sites = Sites::At((0..ids.len()).map(|b| (b, 3)).collect());
                    let top = HookPoint::ResidPost(model.layers() - 1);
                    model.forward(&batch, &Plan::default().capture_at(top, sites)).unwrap();
                    held = (model.bytes() - before + 8 * tokens) as f64;
                    if held > forecast / 1.2 {
                        break;
                    }
                }
                println!("{name}, {tokens} tokens: forecast {forecast}, held {held}, {:.3}", forecast / held);
                assert!((forecast / held - 1.0).abs() < 0.2, "{name}, {tokens}: {forecast} against {held}");
            }
        }
    }
}
