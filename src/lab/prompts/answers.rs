//! A model's answers to every prompt of a relation with every mention of every subject.

use std::sync::Arc;

/// Shape of a relation's queries: every prompt with every mention of every instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    prompts: usize,
    /// Index of each instance's first mention, followed by the total number of mentions.
    first: Vec<usize>,
}

impl Shape {
    /// Builds a shape from the number of prompts and the number of mentions per instance, the original mention first.
    ///
    /// # Panics
    /// If an instance has no mention. The subject's usual name always counts as one.
    pub fn new(prompts: usize, mentions: &[usize]) -> Self {
        assert!(mentions.iter().all(|n| *n > 0), "an instance without a mention");
        let mut first = vec![0];
        for n in mentions {
            first.push(first[first.len() - 1] + n);
        }
        Self { prompts, first }
    }

    pub fn prompts(&self) -> usize {
        self.prompts
    }

    pub fn instances(&self) -> usize {
        self.first.len() - 1
    }

    pub fn mentions(&self, instance: usize) -> usize {
        self.first[instance + 1] - self.first[instance]
    }

    /// Maximum number of mentions per instance; 0 without instances.
    pub(crate) fn most_mentions(&self) -> usize {
        (0..self.instances()).map(|i| self.mentions(i)).max().unwrap_or(0)
    }

    /// Number of queries per prompt.
    pub fn width(&self) -> usize {
        self.first[self.instances()]
    }

    pub fn queries(&self) -> usize {
        self.prompts * self.width()
    }

    /// The index of a query. Queries are ordered by prompt, instance, mention.
    pub fn at(&self, prompt: usize, instance: usize, mention: usize) -> usize {
        prompt * self.width() + self.first[instance] + mention
    }
}

/// One model's answers to the queries of one relation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answers {
    pub shape: Arc<Shape>,
    /// Answers as word numbers; equal words share a number.
    pub said: Vec<u32>,
    /// True if the answer is the object, by query.
    pub right: Vec<bool>,
}

impl Answers {
    /// Builds the answers from lists in the order of [`Shape::at`].
    ///
    /// # Panics
    /// If a list and the queries differ in length.
    pub fn new(shape: Arc<Shape>, said: Vec<u32>, right: Vec<bool>) -> Self {
        assert_eq!((said.len(), right.len()), (shape.queries(), shape.queries()), "answers of a different shape");
        Self { shape, said, right }
    }

    /// True if the answer to the query is the object.
    pub fn is_right(&self, prompt: usize, instance: usize, mention: usize) -> bool {
        self.right[self.shape.at(prompt, instance, mention)]
    }

    /// Number of correct answers to a prompt with the original mentions.
    pub fn correct(&self, prompt: usize) -> usize {
        (0..self.shape.instances()).filter(|i| self.is_right(prompt, *i, 0)).count()
    }

    /// Number of correct answers to a prompt, using the mention that `mention` gives for each instance.
    pub(crate) fn correct_under(&self, prompt: usize, mut mention: impl FnMut(usize) -> usize) -> usize {
        (0..self.shape.instances()).filter(|i| self.is_right(prompt, *i, mention(*i))).count()
    }

    /// P@1 of each prompt with the original mentions, from 0 to 1; NaN without instances.
    pub fn p_at_1(&self) -> Vec<f64> {
        let n = self.shape.instances() as f64;
        (0..self.shape.prompts()).map(|p| self.correct(p) as f64 / n).collect()
    }

    /// Number of an instance's mentions with a correct answer.
    pub(crate) fn correct_mentions(&self, prompt: usize, instance: usize) -> usize {
        (0..self.shape.mentions(instance)).filter(|x| self.is_right(prompt, instance, *x)).count()
    }

    /// The answers restricted to these prompts and, for each instance, these mentions.
    ///
    /// # Panics
    /// If an instance keeps no mention.
    pub fn part(&self, prompts: &[usize], mentions: &[Vec<usize>]) -> Self {
        let counts: Vec<usize> = mentions.iter().map(Vec::len).collect();
        let shape = Arc::new(Shape::new(prompts.len(), &counts));
        let kept: Vec<usize> = prompts
            .iter()
            .flat_map(|p| {
                let each = mentions.iter().enumerate();
                each.flat_map(move |(i, list)| list.iter().map(move |x| self.shape.at(*p, i, *x)))
            })
            .collect();
        let (said, right) =
            (kept.iter().map(|k| self.said[*k]).collect(), kept.iter().map(|k| self.right[*k]).collect());
        Self { shape, said, right }
    }
}

#[cfg(test)]
pub(super) mod testing {
    use super::*;

    /// Builds answers that are correct where `right(prompt, instance, mention)` is true, and a wrong word elsewhere.
    pub(crate) fn answers(prompts: usize, mentions: &[usize], right: impl Fn(usize, usize, usize) -> bool) -> Answers {
        let shape = Shape::new(prompts, mentions);
        let mut list = Vec::new();
        for p in 0..prompts {
            for (i, n) in mentions.iter().enumerate() {
                list.extend((0..*n).map(|x| right(p, i, x)));
            }
        }
        let said = list.iter().map(|r| u32::from(*r)).collect();
        Answers::new(Arc::new(shape), said, list)
    }
}

#[cfg(test)]
mod tests {
    use super::testing::answers;
    use super::*;

    #[test]
    fn queries_stand_in_the_order_of_prompts_instances_and_mentions() {
        let shape = Shape::new(2, &[2, 1, 3]);
        let mut seen = Vec::new();
        for p in 0..2 {
            for i in 0..3 {
                seen.extend((0..shape.mentions(i)).map(|x| shape.at(p, i, x)));
            }
        }
        assert_eq!(seen, (0..shape.queries()).collect::<Vec<_>>());
        assert_eq!((shape.width(), shape.most_mentions(), shape.instances()), (6, 3, 3));
    }

    #[test]
    fn a_part_holds_the_answers_of_its_prompts_and_mentions() {
        let all = answers(3, &[2, 3], |p, i, x| (p + i + x) % 2 == 0);
        let part = all.part(&[2, 0], &[vec![1], vec![0, 2]]);
        assert_eq!(part.shape.prompts(), 2);
        for (k, p) in [2, 0].into_iter().enumerate() {
            assert_eq!(part.is_right(k, 0, 0), all.is_right(p, 0, 1));
            assert_eq!(part.is_right(k, 1, 1), all.is_right(p, 1, 2));
        }
        assert_eq!(all.part(&[0, 1, 2], &[vec![0, 1], vec![0, 1, 2]]), all);
    }

    #[test]
    fn p_at_1_is_that_of_the_original_mentions() {
        let all = answers(2, &[2, 2, 1], |p, i, x| x > 0 || p == 1 && i == 0);
        assert_eq!(all.p_at_1(), [0.0, 1.0 / 3.0]);
        assert_eq!((all.correct_mentions(0, 0), all.correct_mentions(1, 0)), (1, 2));
        assert_eq!(all.correct_under(0, |i| if i < 2 { 1 } else { 0 }), 2);
    }
}
