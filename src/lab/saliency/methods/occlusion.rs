//! Occlusion (Zeiler and Fergus 2014; Li, Monroe and Jurafsky 2016): how much probability or logit the prediction loses when a word is
//! removed. The word's tokens are replaced by the baseline's vectors, so that all other tokens keep their positions.

use super::path::{At, Ends, Point};
use super::{Case, Method, Scores, no_embeddings};
use base::Pulse;
use lab::fault::Fault;
use crate::spec::Spec;
use model::Model;

pub(crate) static METHOD: Occlusion = Occlusion;

pub(crate) struct Occlusion;

impl Method for Occlusion {
    fn id(&self) -> &'static str {
        "occlusion"
    }

    fn title(&self) -> &'static str {
        "occlusion"
    }

    fn short(&self) -> &'static str {
        "OCC"
    }

    fn about(&self) -> &'static str {
        "Drop in the prediction without the word (Zeiler and Fergus 2014; Li et al. 2016)."
    }

    fn refuses(&self, model: &Model, _spec: &Spec) -> Option<String> {
        no_embeddings(model)
    }

    fn passes(&self, _spec: &Spec, words: usize) -> usize {
        words + 1
    }

    fn explain(
        &self,
        model: &Model,
        cases: &[Case<'_>],
        spec: &Spec,
        pulse: &mut dyn Pulse,
    ) -> Result<Vec<Scores>, Fault> {
        let path = &spec.integrated_gradients;
        let ends = Ends::new(model, cases, path.baseline, pulse)?;
        let at = At { model, cases, ends: &ends, target: path.target };
        let mut points = Vec::new();
        let mut words = Vec::new();
        for (case, c) in cases.iter().enumerate() {
            points.push(Point::Along(case, 1.0));
            words.push(None);
            for word in (0..c.input.count).filter(|w| !c.input.excluded.contains(w)) {
                let gone: Vec<bool> = c.input.words.iter().map(|of| of.contains(&word)).collect();
                points.push(Point::Without(case, gone));
                words.push(Some(word));
            }
        }
        let values = at.values(&points, pulse)?;
        let mut tokens: Vec<Vec<f64>> = cases.iter().map(|c| vec![0.0; c.input.ids.len()]).collect();
        let mut whole = 0.0;
        for ((point, word), value) in points.iter().zip(&words).zip(values) {
            match (point, word) {
                (Point::Without(case, gone), Some(_)) => {
                    // A word's loss is divided among its tokens, so that their scores sum to it.
                    let share = (whole - value) / gone.iter().filter(|g| **g).count().max(1) as f64;
                    let each = tokens[*case].iter_mut().zip(gone).filter(|(_, gone)| **gone);
                    each.for_each(|(score, _)| *score += share);
                }
                _ => whole = value,
            }
        }
        Ok(tokens.into_iter().zip(cases).map(|(t, c)| Scores::plain(t, c.input)).collect())
    }
}
