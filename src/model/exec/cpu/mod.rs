//! The CPU executor: plain slices, weights laid out once, fused passes, and a hand-written backward pass.
//!
//! Sentences are computed without padding, in groups that fit the caches, and the last block computes only rows that are read. Every number
//! results from a fixed sequence of operations, so a sentence's results are bit-identical alone and in any batch, with any number of
//! threads.

mod backward;
mod forward;
mod grads;
mod head;
mod held;
mod rows;
mod stack;
mod state;
mod tap;
pub(super) mod train;
mod weights;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;

use self::backward::Wanted;
use self::forward::{Climb, Pass};
use self::head::Vocabulary;
use self::rows::{Need, groups, reads_padding};
use self::stack::Stack;
use self::state::{Keep, StackState, State};
use self::tap::Tap;
use self::weights::Weights;
use super::Executor;
use crate::arch::Arch;
use crate::batch::Batch;
use crate::dtype::{self, Dtype};
use crate::error::{ModelError, Result};
use crate::hook::HookPoint;
use crate::params::Params;
use crate::plan::{Plan, Scalar};
use crate::trace::Trace;
use kernels::rotary::Angles;
use kernels::team::Team;

/// A model on the CPU that computes in f32, with matrices and tables stored in the requested dtype.
pub(crate) struct CpuExecutor {
    arch: Arch,
    weights: Weights,
    angles: Mutex<Option<Arc<Angles>>>,
    /// Reusable memory of groups that are not running.
    states: Mutex<Vec<State>>,
}

impl CpuExecutor {
    /// Lays out parameters for products, taking them out one by one.
    pub(crate) fn new(arch: &Arch, mut params: Params, dtype: Dtype) -> Result<CpuExecutor> {
        let mut source = |_, name: &str| match params.take(name) {
            Some(a) => dtype::check_range(dtype, name, &a.data).map(|()| Cow::Owned(a.data)),
            None => Err(ModelError::MissingTensor {
                file: "parameters".into(),
                tensor: name.to_owned(),
                family: arch.family.clone(),
            }),
        };
        let weights = Weights::new(arch, dtype, &mut source)?;
        Ok(CpuExecutor { arch: arch.clone(), weights, angles: Mutex::default(), states: Mutex::default() })
    }

    /// Returns rotary angles for at least `positions` positions.
    fn angles(&self, positions: usize) -> Option<Arc<Angles>> {
        let (frequencies, scale) = self.arch.rotation()?;
        let mut held = self.angles.lock().unwrap_or_else(PoisonError::into_inner);
        let enough = held.as_ref().filter(|a| a.positions() >= positions);
        let angles = match enough {
            Some(a) => Arc::clone(a),
            None => Arc::new(Angles::new(&frequencies, scale, positions.next_power_of_two())),
        };
        *held = Some(Arc::clone(&angles));
        Some(angles)
    }
}

/// Number of tokens per group: enough to keep products efficient, and few enough to fit the caches.
const GROUP: usize = 256;
/// Minimum number of tokens per thread; with fewer, all threads work on the same rows instead.
const SHARE: usize = 48;

impl Executor for CpuExecutor {
    fn run(&self, batch: &Batch, plan: &Plan) -> Result<Trace> {
        dtype::check(self.weights.dtype, plan)?;
        let tap = Tap::new(plan, batch, &self.arch)?;
        let angles = self.angles(batch.len());
        let input = self.arch.decoder.map(|d| batch.decoder_input(d.start_token));
        let chosen = plan.logits.as_ref().and_then(|l| l.vocab.as_deref());
        let vocabulary = chosen.and_then(|ids| Vocabulary::new(&self.weights, ids));
        let keep = if plan.gradient.is_some() { Keep::Hidden } else { Keep::Nothing };
        let mut pass = Pass::new((&self.arch, &self.weights), (batch, input.as_ref()), &tap, angles.as_deref(), keep);
        let threads = rayon::current_num_threads();
        let groups = pass.split(threads);
        pass.team = if groups.len() < threads { Team::Pool } else { Team::Solo };
        let run = |which: Range<usize>| {
            let held = self.states.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let mut state = held.unwrap_or_default();
            pass.up(&mut state, which, vocabulary.as_ref());
            if let Some(g) = &plan.gradient {
                pass.down(&mut state, &g.of, None, None);
            }
            self.states.lock().unwrap_or_else(PoisonError::into_inner).push(state);
        };
        match pass.team {
            Team::Pool => groups.into_iter().for_each(run),
            Team::Solo => groups.into_par_iter().with_max_len(1).for_each(run),
        }
        Ok(tap.finish())
    }

    fn device(&self) -> String {
        "cpu".into()
    }

    fn dtype(&self) -> Dtype {
        self.weights.dtype
    }

    fn pass_bytes(&self, tokens: usize, longest: usize) -> usize {
        self.expected(tokens, longest)
    }

    fn bytes(&self) -> usize {
        let (weights, working) = self.held();
        weights + working
    }
}

impl<'a> Pass<'a> {
    /// Prepares everything in a pass that does not depend on the sentence group.
    fn new(
        (arch, weights): (&'a Arch, &'a Weights),
        (batch, input): (&'a Batch, Option<&'a Batch>),
        tap: &'a Tap<'a>,
        angles: Option<&'a Angles>,
        keep: Keep,
    ) -> Pass<'a> {
        let plan = tap.plan;
        let extent = plan.extent(arch);
        let start = plan.first_block();
        let blocks = extent.blocks.max(start);
        let padded = |batch: &Batch, second| batch.is_padded() && reads_padding(plan, second, arch);
        let need = |last: Option<HookPoint>| last.map_or(Need::All, |p| Need::of(plan, p, arch));
        let decoder = arch.decoder.filter(|_| extent.decoder_blocks > 0);
        let second = decoder.zip(weights.decoder.as_ref()).zip(input).map(|((d, weights), batch)| Stack {
            weights,
            batch,
            second: true,
            heads: d.heads,
            kv_heads: d.heads,
            dim: arch.hidden / d.heads,
            intermediate: d.intermediate,
            causal: true,
            angles: None,
            layers: d.layers,
            first: 0,
            blocks: extent.decoder_blocks,
            need: need(extent.decoder_blocks.checked_sub(1).map(HookPoint::DecoderPre)),
            padded: padded(batch, true),
        });
        // A decoder reads all of the encoder's states.
        let last = if second.is_none() && blocks > start { Some(HookPoint::ResidPre(blocks - 1)) } else { None };
        let first = Stack {
            weights: &weights.encoder,
            batch,
            second: false,
            heads: arch.heads,
            kv_heads: arch.kv_heads,
            dim: arch.head_dim,
            intermediate: arch.intermediate,
            causal: arch.attention.causal,
            angles,
            layers: arch.layers,
            first: start,
            blocks,
            need: need(last),
            padded: padded(batch, false),
        };
        Pass { arch, weights, plan, tap, keep, team: Team::Solo, first, second, output: extent.output }
    }

    /// Divides the sentences into groups, which run one after another or in parallel.
    fn split(&self, threads: usize) -> Vec<Range<usize>> {
        let rows = |s: &Stack<'_>, b: usize| if s.padded { s.batch.len() } else { s.batch.lengths()[b] };
        let size = |b: usize| rows(&self.first, b) + self.second.as_ref().map_or(0, |s| rows(s, b));
        let sizes: Vec<usize> = (0..self.first.batch.rows()).map(size).collect();
        let few = sizes.iter().sum::<usize>() < SHARE * threads || sizes.len() < threads;
        groups(&sizes, GROUP, if few { 1 } else { threads })
    }

    /// Runs the forward pass for one group of sentences.
    fn up(&self, s: &mut State, which: Range<usize>, vocabulary: Option<&Vocabulary>) {
        let State { first, second, .. } = s;
        self.first.lay_out(first, which.clone());
        Climb { pass: self, stack: &self.first }.up(first, None);
        if let Some(stack) = &self.second {
            stack.lay_out(second, which);
            second.cross.set(&second.rows.spans, &first.rows.spans, stack.heads);
            if let Some(selection) = second.rows.selection() {
                second.cross_selected.set(&selection.spans, &first.rows.spans, stack.heads);
            }
            Climb { pass: self, stack }.up(second, Some(first.h.as_ref()));
        }
        if self.output {
            self.top(s, vocabulary);
        }
    }

    /// Runs the backward pass from a scalar to all requested gradients. `weight` scales log-probabilities.
    fn down(&self, s: &mut State, of: &Scalar, weight: Option<f32>, mut grads: Wanted<'_>) {
        let last = self.last();
        let below = if last.second { &mut s.second } else { &mut s.first };
        let selected = last.top_selected(&below.rows);
        let mut d = std::mem::take(&mut below.d);
        d.zeroed(below.h.as_ref().len());
        // The final norm takes part in the backward pass if the scalar is computed after it.
        let behind = matches!(of, Scalar::Cotangent { at: HookPoint::FinalNorm, .. });
        if of.targets().is_some() || behind {
            self.targets(s, of, weight, &mut grads, d.as_mut());
            if let Some(w) = &self.weights.final_norm {
                let below = if last.second { &s.second } else { &s.first };
                self.tap.back(HookPoint::FinalNorm, &below.rows, selected, d.as_mut());
                self.through_norm(w, &s.final_norm, d.as_mut(), None, &mut grads);
            }
        }
        let State { first, second, back, .. } = s;
        let below = if last.second { &mut *second } else { &mut *first };
        below.d = d;
        if self.tap.ends_at(HookPoint::FinalNorm) {
            return;
        }
        let climb = Climb { pass: self, stack: &self.first };
        if let Some(stack) = &self.second {
            let above = Climb { pass: self, stack };
            let StackState { h, d, .. } = first;
            d.zeroed(h.as_ref().len());
            if above.down(second, back, Some((h.as_ref(), d.as_mut())), &mut grads) {
                return;
            }
            if grads.is_some() {
                above.embed_back(second, back, &mut grads);
            }
        }
        if !climb.down(first, back, None, &mut grads) {
            climb.embed_back(first, back, &mut grads);
        }
    }
}

impl Stack<'_> {
    fn lay_out(&self, s: &mut StackState, which: Range<usize>) {
        // A decoder's padding comes after all tokens that its tokens attend to.
        s.rows.set(self.batch, which, self.padded, !self.second, self.heads);
        if let Need::Some(sites) = &self.need {
            s.rows.select(sites, self.heads);
        }
    }
}
