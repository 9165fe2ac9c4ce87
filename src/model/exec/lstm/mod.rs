//! Executor for bidirectional LSTMs: the CPU executor's packed products, a hand-written recurrence, and a backward pass to words and hidden
//! states. A sentence's results are bit-identical alone and in any batch; padding is never computed and has zero states.

mod cell;
#[cfg(test)]
mod tests;

use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use self::cell::{Direction, Kept, Layout};
use super::Executor;
use crate::arch::Arch;
use crate::array::Array;
use crate::batch::Batch;
use crate::dtype::Dtype;
use crate::error::{ModelError, Result};
use crate::hook::HookPoint;
use crate::params::Params;
use crate::plan::{Edit, EditKind, Plan, Scalar, Sites, Start};
use crate::trace::Trace;
use kernels::team::Team;

/// Maximum number of words that run together.
const GROUP_TOKENS: usize = 1024;
/// Maximum number of sentences that run together.
const GROUP_ROWS: usize = 64;

/// A stack of bidirectional LSTMs over a table of word vectors.
pub(crate) struct LstmExecutor {
    arch: Arch,
    table: Vec<f32>,
    layers: Vec<[Direction; 2]>,
}

impl LstmExecutor {
    pub(crate) fn new(arch: &Arch, mut params: Params, dtype: Dtype) -> Result<LstmExecutor> {
        if dtype != Dtype::F32 {
            let what = "LSTMs run in f32 only; omit `--dtype`".into();
            return Err(ModelError::Device { device: format!("cpu {dtype}"), what });
        }
        let mut take = |name: String| -> Result<Vec<f32>> {
            match params.take(&name) {
                Some(a) => Ok(a.data),
                None => Err(ModelError::MissingTensor {
                    file: "parameters".into(),
                    tensor: name,
                    family: arch.family.clone(),
                }),
            }
        };
        let table = take("embed.tokens.weight".into())?;
        let mut direction = |l: usize, name: &str, reverse| -> Result<Direction> {
            let mut take = |part: &str| take(format!("blocks.{l}.{name}.{part}"));
            let (ih, hh) = (take("ih.weight")?, take("hh.weight")?);
            let (a, b) = (take("ih.bias")?, take("hh.bias")?);
            Ok(Direction::new(&ih, &hh, [&a, &b], reverse))
        };
        let layers = (0..arch.layers)
            .map(|l| Ok([direction(l, "forward", false)?, direction(l, "backward", true)?]))
            .collect::<Result<_>>()?;
        Ok(LstmExecutor { arch: arch.clone(), table, layers })
    }
}

/// A plan being run, with result arrays that groups of sentences fill in parallel.
struct Pass<'a> {
    plan: &'a Plan,
    batch: &'a Batch,
    arch: &'a Arch,
    captures: Vec<Mutex<Array>>,
    gradients: Vec<Mutex<Array>>,
    /// Inner product with the cotangent for each sentence.
    products: Mutex<Vec<f64>>,
}

impl Executor for LstmExecutor {
    fn run(&self, batch: &Batch, plan: &Plan) -> Result<Trace> {
        let arch = &self.arch;
        let zeros = |p: HookPoint, s: &Sites| Mutex::new(Array::zeros(p.capture_shape(arch, batch, s)));
        let wrt = plan.gradient.as_ref().map_or(&[][..], |g| &g.wrt);
        if let Some(Scalar::Cotangent { at, .. }) = plan.gradient.as_ref().map(|g| &g.of)
            && let Some(above) = wrt.iter().find(|p| height(**p) > height(*at))
        {
            return Err(ModelError::MissingGradient(*above));
        }
        let pass = Pass {
            plan,
            batch,
            arch,
            captures: plan.captures.iter().map(|c| zeros(c.at, &c.sites)).collect(),
            gradients: wrt.iter().map(|p| zeros(*p, &Sites::All)).collect(),
            products: Mutex::new(vec![0.0; batch.rows()]),
        };
        let groups = groups(batch);
        if groups.len() < rayon::current_num_threads() {
            groups.iter().for_each(|g| self.group(&pass, g, Team::Pool));
        } else {
            groups.par_iter().for_each(|g| self.group(&pass, g, Team::Solo));
        }
        Ok(pass.finish())
    }

    fn device(&self) -> String {
        "cpu".into()
    }

    fn dtype(&self) -> Dtype {
        Dtype::F32
    }

    fn pass_bytes(&self, tokens: usize, longest: usize) -> usize {
        // Counts the words, states, gates and cells of all groups that run in parallel.
        let (e, d) = (self.arch.embedding.width, self.arch.hidden);
        let group = tokens.min(GROUP_TOKENS.max(longest));
        let groups = rayon::current_num_threads().min(tokens.div_ceil(group.max(1)).max(1));
        4 * groups * group * (e.max(d) + d + 4 * d + d) + 2 * size_of::<u32>() * tokens
    }

    fn bytes(&self) -> usize {
        4 * self.table.len() + self.layers.iter().flatten().map(Direction::bytes).sum::<usize>()
    }
}

/// Groups sentences to run together, the longest first.
fn groups(batch: &Batch) -> Vec<Layout> {
    let mut order: Vec<(usize, usize)> = batch.lengths().iter().copied().enumerate().collect();
    order.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    let (mut groups, mut from) = (Vec::new(), 0);
    while from < order.len() {
        let most = (GROUP_TOKENS / order[from].1.max(1)).clamp(1, GROUP_ROWS);
        let to = (from + most).min(order.len());
        groups.push(Layout::new(&order[from..to]));
        from = to;
    }
    groups
}

/// Position of a hook point in the order of the forward pass.
fn height(p: HookPoint) -> usize {
    p.layer().map_or(0, |l| l + 1)
}

impl LstmExecutor {
    fn group(&self, pass: &Pass<'_>, layout: &Layout, team: Team) {
        let (first, extent) = (pass.plan.first_block(), pass.plan.extent(&self.arch).blocks);
        let mut x = self.start(pass, layout);
        let mut kept: Vec<[Kept; 2]> = Vec::new();
        for l in first..extent.max(first) {
            let width = self.arch.hidden;
            let mut out = vec![0.0; layout.tokens * width];
            let run = |(i, d): (usize, &Direction), out: &mut Vec<f32>| {
                d.forward(team, &x, layout, (out, width, i * width / 2))
            };
            let pair = [0, 1].map(|i| run((i, &self.layers[l][i]), &mut out));
            if pass.plan.gradient.is_some() {
                kept.push(pair);
            }
            x = out;
            pass.visit(HookPoint::ResidPost(l), layout, &mut x);
        }
        let Some(g) = &pass.plan.gradient else { return };
        let Scalar::Cotangent { at, .. } = &g.of else { return };
        let top = height(*at);
        let mut d = vec![0.0; layout.tokens * at.width(&self.arch).unwrap_or(0)];
        pass.cotangent(layout, &mut d);
        pass.back(*at, layout, &mut d);
        for l in (first..top).rev() {
            let below = if l == 0 { HookPoint::Embed } else { HookPoint::ResidPost(l - 1) };
            let (ld, width) = (self.arch.hidden, below.width(&self.arch).unwrap_or(0));
            let mut dx = vec![0.0; layout.tokens * width];
            for (i, direction) in self.layers[l].iter().enumerate() {
                let from = (d.as_slice(), ld, i * ld / 2);
                direction.backward(team, &kept[l - first][i], layout, from, &mut dx);
            }
            d = dx;
            if l > first || first == 0 {
                pass.back(below, layout, &mut d);
            }
        }
    }

    /// Word vectors, or the hidden states from which the pass resumes.
    fn start(&self, pass: &Pass<'_>, layout: &Layout) -> Vec<f32> {
        let e = self.arch.embedding.width;
        let copy = |rows: &Array, width: usize| {
            let mut x = vec![0.0; layout.tokens * width];
            pass.each(layout, |b, t, row| {
                x[row * width..(row + 1) * width].copy_from_slice(rows.row(b * pass.batch.len() + t));
            });
            x
        };
        let mut x = match &pass.plan.start {
            Start::Resume { hidden, .. } => return copy(hidden, self.arch.hidden),
            Start::Embeddings(rows) => copy(rows, e),
            Start::Tokens => {
                let mut x = vec![0.0; layout.tokens * e];
                pass.each(layout, |b, t, row| {
                    let id = pass.batch.ids()[b * pass.batch.len() + t] as usize;
                    x[row * e..(row + 1) * e].copy_from_slice(&self.table[id * e..(id + 1) * e]);
                });
                x
            }
        };
        pass.visit(HookPoint::Embed, layout, &mut x);
        x
    }
}

impl Pass<'_> {
    /// Calls `f(sentence, position, row)` for all words of a group.
    fn each(&self, layout: &Layout, mut f: impl FnMut(usize, usize, usize)) {
        for (k, b) in layout.sentences.iter().enumerate() {
            (0..layout.lengths[k]).for_each(|t| f(*b, t, layout.starts[k] + t));
        }
    }

    /// Calls `f(row, row of the array for all sites, sentence)` for every site in a group.
    fn sites(&self, sites: &Sites, layout: &Layout, mut f: impl FnMut(usize, usize, usize)) {
        match sites {
            Sites::All => self.each(layout, |b, t, row| f(row, b * self.batch.len() + t, b)),
            Sites::At(list) => {
                for (i, (b, t)) in list.iter().enumerate() {
                    if let Some(k) = layout.sentences.iter().position(|s| s == b) {
                        f(layout.starts[k] + t, i, *b);
                    }
                }
            }
        }
    }

    /// Applies edits and captures to the vectors at a hook point.
    fn visit(&self, p: HookPoint, layout: &Layout, x: &mut [f32]) {
        let width = p.width(self.arch).unwrap_or(1);
        for e in self.edits(p) {
            self.sites(&Sites::At(e.sites.clone()), layout, |row, i, _| {
                let value = if e.value.shape.len() == 1 { &e.value.data[..] } else { e.value.row(i) };
                let to = &mut x[row * width..(row + 1) * width];
                match e.how {
                    EditKind::Overwrite => to.copy_from_slice(value),
                    EditKind::Add => to.iter_mut().zip(value).for_each(|(t, v)| *t += v),
                }
            });
        }
        for (c, out) in self.plan.captures.iter().zip(&self.captures).filter(|(c, _)| c.at == p) {
            let mut out = out.lock().unwrap_or_else(PoisonError::into_inner);
            self.sites(&c.sites, layout, |row, i, _| {
                out.row_mut(i).copy_from_slice(&x[row * width..(row + 1) * width]);
            });
        }
        let Some(Scalar::Cotangent { at, sites, value }) = self.plan.gradient.as_ref().map(|g| &g.of) else {
            return;
        };
        if *at == p {
            let mut products = self.products.lock().unwrap_or_else(PoisonError::into_inner);
            self.sites(sites, layout, |row, i, b| {
                let x = &x[row * width..(row + 1) * width];
                products[b] += x.iter().zip(value.row(i)).map(|(a, v)| f64::from(*a) * f64::from(*v)).sum::<f64>();
            });
        }
    }

    fn edits(&self, p: HookPoint) -> impl Iterator<Item = &Edit> {
        self.plan.edits.iter().filter(move |e| e.at == p)
    }

    /// Adds the cotangent at its hook point to `d`.
    fn cotangent(&self, layout: &Layout, d: &mut [f32]) {
        let Some(Scalar::Cotangent { sites, value, .. }) = self.plan.gradient.as_ref().map(|g| &g.of) else {
            return;
        };
        let width = value.width();
        self.sites(sites, layout, |row, i, _| {
            let to = &mut d[row * width..(row + 1) * width];
            to.iter_mut().zip(value.row(i)).for_each(|(t, v)| *t += v);
        });
    }

    /// Records the gradient at a hook point and zeroes it where vectors were overwritten.
    fn back(&self, p: HookPoint, layout: &Layout, d: &mut [f32]) {
        let width = p.width(self.arch).unwrap_or(1);
        let wrt = self.plan.gradient.as_ref().map_or(&[][..], |g| &g.wrt);
        for (_, out) in wrt.iter().zip(&self.gradients).filter(|(q, _)| **q == p) {
            let mut out = out.lock().unwrap_or_else(PoisonError::into_inner);
            self.sites(&Sites::All, layout, |row, i, _| {
                out.row_mut(i).copy_from_slice(&d[row * width..(row + 1) * width]);
            });
        }
        for e in self.edits(p).filter(|e| e.how == EditKind::Overwrite) {
            self.sites(&Sites::At(e.sites.clone()), layout, |row, _, _| d[row * width..(row + 1) * width].fill(0.0));
        }
    }

    fn finish(self) -> Trace {
        let take = |m: Mutex<Array>| m.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut trace = Trace {
            captures: self.plan.captures.iter().map(|c| c.at).zip(self.captures.into_iter().map(take)).collect(),
            ..Trace::default()
        };
        if let Some(g) = &self.plan.gradient {
            let products = self.products.into_inner().unwrap_or_else(PoisonError::into_inner);
            trace.scalars = vec![products.iter().sum::<f64>() as f32];
            trace.gradients = g.wrt.iter().copied().zip(self.gradients.into_iter().map(take)).collect();
        }
        trace
    }
}
