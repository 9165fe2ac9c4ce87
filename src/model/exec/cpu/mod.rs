//! The CPU executor: plain slices, weights laid out once, fused passes, a backward written by hand.
//!
//! Sentences are computed without their padding, in groups that fit the caches; the last block that runs computes only
//! the rows that are read. Every number is one chain of operations in a fixed order, so a sentence gets the same bits
//! alone or in any batch, on one thread or many.

mod backward;
mod forward;
mod grads;
mod head;
pub mod kernels;
mod rows;
mod state;
mod tap;
mod weights;

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;

use self::forward::Pass;
use self::head::Vocabulary;
use self::kernels::rotary::Angles;
use self::kernels::team::Team;
use self::rows::{Need, groups, reads_padding};
use self::state::{Keep, State};
use self::tap::Tap;
use self::weights::Weights;
use super::Executor;
use crate::model::arch::{Arch, Positions};
use crate::model::batch::Batch;
use crate::model::error::{ModelError, Result};
use crate::model::params::Params;
use crate::model::plan::Plan;
use crate::model::trace::Trace;

/// A model on the CPU, in f32.
pub struct CpuExecutor {
    arch: Arch,
    weights: Weights,
    angles: Mutex<Option<Arc<Angles>>>,
    /// Memory of groups that are not running.
    states: Mutex<Vec<State>>,
}

impl CpuExecutor {
    /// Lays out parameters for products, taking them out one by one.
    ///
    /// # Errors
    /// [`ModelError::MissingTensor`].
    pub fn new(arch: &Arch, mut params: Params) -> Result<CpuExecutor> {
        let mut source = |_, name: &str| match params.take(name) {
            Some(a) => Ok(Cow::Owned(a.data)),
            None => Err(ModelError::MissingTensor {
                file: "parameters".into(),
                tensor: name.to_owned(),
                family: arch.family.clone(),
            }),
        };
        let weights = Weights::new(arch, &mut source)?;
        Ok(CpuExecutor { arch: arch.clone(), weights, angles: Mutex::default(), states: Mutex::default() })
    }

    /// Bytes of weights and of working memory that are held.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.weights.bytes()
    }

    /// Rotary angles for at least `positions` positions.
    fn angles(&self, positions: usize) -> Option<Arc<Angles>> {
        let Positions::Rotary { theta, .. } = self.arch.positions else { return None };
        let mut held = self.angles.lock().unwrap_or_else(PoisonError::into_inner);
        let enough = held.as_ref().filter(|a| a.positions() >= positions);
        let angles = match enough {
            Some(a) => Arc::clone(a),
            None => Arc::new(Angles::new(theta, self.arch.rotated() / 2, positions.next_power_of_two())),
        };
        *held = Some(Arc::clone(&angles));
        Some(angles)
    }
}

/// Tokens of a group: enough rows to keep products busy, few enough to stay in the caches.
const GROUP: usize = 256;
/// Fewer tokens than this for each thread, and all threads work on the same rows instead.
const SHARE: usize = 48;

impl Executor for CpuExecutor {
    fn run(&self, batch: &Batch, plan: &Plan) -> Result<Trace> {
        let arch = &self.arch;
        let tap = Tap::new(plan, batch, arch)?;
        let extent = plan.extent(arch);
        let first = plan.first_block();
        let blocks = extent.blocks.max(first);
        let padded = batch.is_padded() && reads_padding(plan);
        let need = if blocks > first { Need::of(plan, blocks - 1, arch) } else { Need::All };
        let sizes: Vec<usize> =
            batch.lengths().iter().map(|n| if padded { batch.len() } else { *n }).collect();
        let threads = rayon::current_num_threads();
        let (tokens, mut least) = (sizes.iter().sum::<usize>(), threads);
        if tokens < SHARE * threads || sizes.len() < threads {
            least = 1;
        }
        let groups = groups(&sizes, GROUP, least);
        let team = if groups.len() < threads { Team::Pool } else { Team::Solo };
        let angles = self.angles(batch.len());
        let chosen = plan.logits.as_ref().and_then(|l| l.vocab.as_deref());
        let vocabulary = chosen.and_then(|ids| Vocabulary::new(&self.weights, ids));
        let pass = Pass {
            arch,
            weights: &self.weights,
            batch,
            plan,
            tap: &tap,
            angles: angles.as_deref(),
            keep: if plan.gradient.is_some() { Keep::Hidden } else { Keep::Nothing },
            team,
            first,
            blocks,
            need: &need,
        };
        let run = |which: std::ops::Range<usize>| {
            let held = self.states.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let mut state = held.unwrap_or_default();
            pass.run(&mut state, which, padded, extent.output, vocabulary.as_ref());
            self.states.lock().unwrap_or_else(PoisonError::into_inner).push(state);
        };
        match team {
            Team::Pool => groups.into_iter().for_each(run),
            Team::Solo => groups.into_par_iter().with_max_len(1).for_each(run),
        }
        Ok(tap.finish())
    }

    fn device(&self) -> String {
        "cpu".into()
    }
}

impl Pass<'_> {
    /// One group of sentences, up and down.
    fn run(
        &self,
        s: &mut State,
        which: std::ops::Range<usize>,
        padded: bool,
        top: bool,
        vocabulary: Option<&Vocabulary>,
    ) {
        s.rows.set(self.batch, which, padded, self.arch.heads);
        if let Need::Some(sites) = self.need {
            s.rows.select(sites, self.arch.heads);
        }
        self.up(s);
        if top {
            self.top(s, vocabulary);
        }
        if let Some(g) = &self.plan.gradient {
            self.down(s, &g.of, None, None);
        }
    }
}
