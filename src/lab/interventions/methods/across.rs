//! Attacks that search for a point across the probe's boundary, and their combination.
//!
//! The protocol is that of AutoAttack (Croce and Hein 2020). Rows to which the probe already assigns the intended value stay unchanged.
//! Attacks run in turn on the rows where none has succeeded, and the first point found is kept. A row on which all fail is returned
//! unchanged. Such points are just across the boundary or wherever the attack ended, so completeness stays below that of PGD, which
//! continues beyond the boundary. Embeddings are not images: they are clamped to the ball, not to a range of values.

use super::attack::Aim;
use super::proof::{Proofs, RangeMethod};
use crate::method::{Change, FitData, InterventionError, Known, Learning, Learnt};
use crate::options::Options;
use base::matrix::argmax;
use base::{Cancelled, Pulse};
use probe::bytes::malformed;
use probe::{Intervention, Matrix, Mlp, Probe};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wish {
    /// Direction of the attack: toward the class, or away from it to any other.
    pub aim: Aim,
    pub class: usize,
}

impl Wish {
    /// True if a row of logits satisfies the target.
    pub(crate) fn is_met(self, logits: &[f32]) -> bool {
        (argmax(logits) == self.class) == (self.aim == Aim::Towards)
    }
}

/// Input of the attacks.
#[derive(Debug, Clone, Copy)]
pub struct Field<'a> {
    pub mlp: &'a Mlp,
    /// All embeddings, n x D.
    pub h: &'a Matrix,
    /// The class that the probe assigns to each row.
    pub from: &'a [usize],
    pub wishes: &'a [Wish],
    /// Seed for the attack's random draws, which depend on the row but not on the other attacked rows.
    pub seed: u64,
}

impl Field<'_> {
    /// True if a row has not reached its target.
    pub fn stands(&self, row: usize) -> bool {
        (self.from[row] == self.wishes[row].class) != (self.wishes[row].aim == Aim::Towards)
    }
}

pub trait Attack: Send {
    /// Attacks the rows listed in `rows`. Returns for each the point found within `epsilon` that reaches its target, if any.
    fn run(
        &mut self,
        field: &Field<'_>,
        rows: &[usize],
        epsilon: f32,
        pulse: &mut dyn Pulse,
    ) -> Result<Vec<Option<Vec<f32>>>, Cancelled>;
    /// Number of passes through the probe that a failing attack costs per row; `None` if this is too few for a thorough proof to pay off.
    fn passes_per_failure(&self) -> Option<usize> {
        None
    }
}

/// Creates a method's attacks for a number of classes. They may reuse points found at one radius for the next.
pub(crate) type Chain = fn(&Options, usize) -> Vec<Box<dyn Attack>>;

/// A probe attacked by a chain.
pub(crate) struct Target {
    probe: Probe<Intervention>,
    seed: u64,
    options: Options,
    chain: Chain,
}

impl Target {
    /// Attacks the interventional perceptron of `data`.
    pub(crate) fn learn(method: &'static str, data: &FitData<'_>, options: &Options, chain: Chain) -> Learning {
        let probe = data.perceptron_for(method)?.clone();
        Ok(Box::new(Self { probe, seed: data.seed, options: options.clone(), chain }))
    }

    pub(crate) fn read(bytes: &[u8], options: &Options, chain: Chain) -> Learning {
        let (probe, seed) = bytes.split_last_chunk().ok_or_else(|| malformed("its seed is missing"))?;
        let (probe, seed) = (Probe::from_bytes(probe)?, u64::from_le_bytes(*seed));
        Ok(Box::new(Self { probe, seed, options: options.clone(), chain }))
    }
}

impl Learnt for Target {
    fn shape(&self) -> (usize, usize) {
        (self.probe.mlp().inputs(), self.probe.mlp().classes())
    }
    fn prepare<'a>(&'a self, h: &'a Matrix, targets: &[usize], _: &Known<'a>) -> Result<Change<'a>, InterventionError> {
        let mlp = self.probe.mlp();
        let from: Vec<usize> = mlp.logits(h).iter_rows().map(argmax).collect();
        // With two classes, moving away from one means moving toward the other, as in the authors' code.
        let wish = |target: &usize| match mlp.classes() {
            2 => Wish { aim: Aim::AwayFrom, class: 1 - target },
            _ => Wish { aim: Aim::Towards, class: *target },
        };
        let wishes = targets.iter().map(wish).collect();
        let attacks = (self.chain)(&self.options, mlp.classes());
        let proofs = Proofs::new(mlp);
        let mut rows = Rows { target: self, h, from, wishes, attacks, proofs };
        Ok(Box::new(move |epsilon, pulse| rows.at(epsilon as f32, pulse)))
    }
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.probe.to_bytes();
        bytes.extend_from_slice(&self.seed.to_le_bytes());
        bytes
    }
}

struct Rows<'a> {
    target: &'a Target,
    h: &'a Matrix,
    from: Vec<usize>,
    wishes: Vec<Wish>,
    attacks: Vec<Box<dyn Attack>>,
    proofs: Proofs,
}

impl Rows<'_> {
    fn at(&mut self, epsilon: f32, pulse: &mut dyn Pulse) -> Result<Matrix, InterventionError> {
        let mut moved = self.h.clone();
        if epsilon == 0.0 {
            return Ok(moved);
        }
        let (h, from, wishes) = (self.h, self.from.as_slice(), self.wishes.as_slice());
        let field = Field { mlp: self.target.probe.mlp(), h, from, wishes, seed: self.target.seed };
        let standing: Vec<usize> = (0..h.rows()).filter(|i| field.stands(*i)).collect();
        let mut standing = self.proofs.unproved(&field, &standing, epsilon, RangeMethod::Quick);
        for attack in &mut self.attacks {
            if attack.passes_per_failure().is_some_and(|passes| Proofs::is_worth(field.mlp, passes)) {
                pulse.beat(0, 1)?;
                standing = self.proofs.unproved(&field, &standing, epsilon, RangeMethod::Thorough);
            }
            if standing.is_empty() {
                break;
            }
            let found = attack.run(&field, &standing, epsilon, pulse)?;
            let mut left = Vec::new();
            for (row, point) in standing.into_iter().zip(found) {
                match point {
                    Some(point) => moved.row_mut(row).copy_from_slice(&point),
                    None => left.push(row),
                }
            }
            standing = left;
        }
        Ok(moved)
    }
}
