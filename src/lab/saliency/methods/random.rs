//! The random ranking: every word is given a uniform number from its sentence's stream. It is the baseline that a method must beat.

use super::{Case, Method, Scores};
use base::Pulse;
use lab::fault::Fault;
use crate::spec::Spec;
use model::Model;
use stats::rng::{stream, unit};

pub(crate) static METHOD: Random = Random;

pub(crate) struct Random;

impl Method for Random {
    fn id(&self) -> &'static str {
        "random"
    }

    fn title(&self) -> &'static str {
        "random ranking"
    }

    fn short(&self) -> &'static str {
        "RND"
    }

    fn about(&self) -> &'static str {
        "A random number, as a baseline."
    }

    fn refuses(&self, _model: &Model, _spec: &Spec) -> Option<String> {
        None
    }

    fn passes(&self, _spec: &Spec, _words: usize) -> usize {
        0
    }

    fn explain(
        &self,
        _model: &Model,
        cases: &[Case<'_>],
        spec: &Spec,
        _pulse: &mut dyn Pulse,
    ) -> Result<Vec<Scores>, Fault> {
        let of = |case: &Case<'_>| {
            let mut rng = stream(spec.seed, &format!("random ranking {}", case.name));
            let words: Vec<f64> = (0..case.input.count).map(|_| unit(&mut rng)).collect();
            // The number is divided among a word's tokens, because a sum of random numbers would favour words with many tokens.
            let pieces = |word: usize| case.input.words.iter().filter(|of| of.contains(&word)).count() as f64;
            let token = |of: &Vec<usize>| of.iter().map(|w| words[*w] / pieces(*w)).sum();
            Scores::plain(case.input.words.iter().map(token).collect(), case.input)
        };
        Ok(cases.iter().map(of).collect())
    }
}
