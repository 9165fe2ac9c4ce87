//! Baselines that predict labels from surface features of the text. A probe must beat them before its accuracy is evidence about a model
//! (Hewitt and Liang 2019; Conneau et al. 2018, section 3).

use std::collections::HashMap;

use serde::Serialize;

use stats::Estimate;
use stats::intervals::share;
use stats::rng::{shuffle, stream};

const LEVEL: f64 = 0.95;
/// Number of training epochs of the bag-of-words model.
const PASSES: usize = 12;
/// Initial step size of the bag-of-words model, which AdaGrad reduces (Duchi et al. 2011).
const STEP: f64 = 0.3;

/// Test accuracy of one baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Shortcut {
    /// Features used.
    pub name: &'static str,
    /// Number of test texts predicted correctly.
    pub right: u64,
    /// Number of test texts.
    pub n: u64,
}

impl Shortcut {
    /// Returns the accuracy with a 95 % interval.
    pub fn accuracy(&self) -> Estimate {
        share(self.right, self.n, LEVEL)
    }
}

/// Trains baselines on `train` and evaluates them on `test`: majority label, bag of words, number of words, first word. Rows are pairs of a
/// text and its label, which is below `classes`. The bag-of-words model is a logistic regression on word counts. For an unseen length, the
/// nearest one is used; for an unseen first word, the majority label. Returns nothing if either part is empty.
pub fn shortcuts(train: &[(&str, usize)], test: &[(&str, usize)], classes: usize) -> Vec<Shortcut> {
    if train.is_empty() || test.is_empty() {
        return Vec::new();
    }
    let majority = most(train.iter().map(|t| t.1), classes);
    let score = |name, guess: &dyn Fn(&str) -> usize| {
        let right = test.iter().filter(|(text, label)| guess(text) == *label).count();
        Shortcut { name, right: right as u64, n: test.len() as u64 }
    };
    let bag = Bag::train(train, classes);
    let lengths = by(train, classes, length);
    let firsts = by(train, classes, |text| text.split_whitespace().next().unwrap_or_default().to_owned());
    let near = |text: &str| {
        let n = length(text);
        let nearest = lengths.iter().min_by_key(|(l, _)| (l.abs_diff(n), **l));
        nearest.map_or(majority, |(_, label)| *label)
    };
    let first = |text: &str| {
        let word = text.split_whitespace().next().unwrap_or_default();
        firsts.get(word).copied().unwrap_or(majority)
    };
    vec![
        score("majority", &|_| majority),
        score("bag of words", &|text| bag.guess(text)),
        score("length", &near),
        score("first word", &first),
    ]
}

fn length(text: &str) -> usize {
    text.split_whitespace().count()
}

/// Returns the most frequent label; on ties, the smallest label.
fn most(labels: impl Iterator<Item = usize>, classes: usize) -> usize {
    let mut counts = vec![0usize; classes];
    labels.for_each(|l| counts[l] += 1);
    (0..classes).max_by_key(|l| (counts[*l], std::cmp::Reverse(*l))).unwrap_or(0)
}

/// Returns the most frequent label for each key.
fn by<K: std::hash::Hash + Eq>(train: &[(&str, usize)], classes: usize, key: impl Fn(&str) -> K) -> HashMap<K, usize> {
    let mut labels: HashMap<K, Vec<usize>> = HashMap::new();
    train.iter().for_each(|(text, label)| labels.entry(key(text)).or_default().push(*label));
    labels.into_iter().map(|(k, labels)| (k, most(labels.into_iter(), classes))).collect()
}

/// Multinomial logistic regression on word counts.
struct Bag {
    words: HashMap<String, usize>,
    classes: usize,
    /// Weights by word and class; the last row is the bias.
    weights: Vec<f64>,
}

impl Bag {
    fn train(train: &[(&str, usize)], classes: usize) -> Self {
        let mut words: HashMap<String, usize> = HashMap::new();
        for word in train.iter().flat_map(|(text, _)| text.split_whitespace()) {
            let next = words.len();
            words.entry(word.to_lowercase()).or_insert(next);
        }
        let size = (words.len() + 1) * classes;
        let mut bag = Self { words, classes, weights: vec![0.0; size] };
        let bags: Vec<Vec<usize>> = train.iter().map(|(text, _)| bag.of(text)).collect();
        let mut moved = vec![1e-8f64; size];
        let mut order: Vec<usize> = (0..train.len()).collect();
        let mut rng = stream(0, "bag of words");
        for _ in 0..PASSES {
            shuffle(&mut rng, &mut order);
            for &i in &order {
                let p = bag.probabilities(&bags[i]);
                for (class, p) in p.iter().enumerate() {
                    let slope = p - f64::from(u8::from(class == train[i].1));
                    for word in &bags[i] {
                        let at = word * classes + class;
                        moved[at] += slope * slope;
                        bag.weights[at] -= STEP * slope / moved[at].sqrt();
                    }
                }
            }
        }
        bag
    }

    /// Returns the indices of all known words in a text (with repetition), and of the bias.
    fn of(&self, text: &str) -> Vec<usize> {
        let known = |word: &str| self.words.get(&word.to_lowercase()).copied();
        let mut bag: Vec<usize> = text.split_whitespace().filter_map(known).collect();
        bag.push(self.words.len());
        bag
    }

    fn probabilities(&self, bag: &[usize]) -> Vec<f64> {
        let mut scores = vec![0.0; self.classes];
        for word in bag {
            let weights = &self.weights[word * self.classes..(word + 1) * self.classes];
            scores.iter_mut().zip(weights).for_each(|(s, w)| *s += w);
        }
        let top = scores.iter().copied().fold(f64::MIN, f64::max);
        scores.iter_mut().for_each(|s| *s = (*s - top).exp());
        let sum: f64 = scores.iter().sum();
        scores.iter_mut().for_each(|s| *s /= sum);
        scores
    }

    fn guess(&self, text: &str) -> usize {
        let p = self.probabilities(&self.of(text));
        (0..self.classes).max_by(|a, b| p[*a].total_cmp(&p[*b]).then(b.cmp(a))).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probing::{LabelledSet, PROBING, ProbingTask};
    use crate::readers::Split;

    /// Each baseline predicts labels only from its own feature.
    #[test]
    fn each_line_reveals_only_its_own_property() {
        let fill = |i: usize, n: usize| (0..n).map(|k| format!(" w{}", (i * 7 + k * 3) % 11)).collect::<String>();
        let set = |text: &dyn Fn(usize, usize) -> String| -> Vec<(String, usize)> {
            (0..600).map(|i| (text(i, i % 2), i % 2)).collect()
        };
        let sets = [
            ("bag of words", set(&|i, l| format!("a{}{}", fill(i, 4), [" y", " x"][l]))),
            ("length", set(&|i, l| format!("a{}", fill(i / 2, 4 + l)))),
            ("first word", set(&|i, l| format!("{} a{} b", ["a", "b"][l], fill(i / 2, 4)) + [" b", " a"][l])),
        ];
        for (name, rows) in &sets {
            let rows: Vec<(&str, usize)> = rows.iter().map(|(t, l)| (t.as_str(), *l)).collect();
            let found = shortcuts(&rows[..400], &rows[400..], 2);
            assert_eq!(
                found.iter().map(|s| s.name).collect::<Vec<_>>(),
                ["majority", "bag of words", "length", "first word"]
            );
            for s in &found {
                println!("{name}: {} {}", s.name, s.accuracy().mean);
                if s.name == *name {
                    assert_eq!((s.right, s.n), (200, 200), "{name}");
                } else if s.name == "majority" {
                    assert_eq!(s.right, 100);
                }
            }
        }
        assert!(shortcuts(&[], &[("a", 0)], 2).is_empty());
        // The test words do not occur in training.
        let strange = shortcuts(&[("a b", 1), ("a b", 1), ("a b c d", 0)], &[("x", 1), ("x y z u v w", 0)], 2);
        assert_eq!(strange.iter().map(|s| s.right).collect::<Vec<_>>(), [1, 1, 2, 1]);
    }

    fn of(task: &ProbingTask, seed: u64) -> Vec<Shortcut> {
        let set: LabelledSet = task.examples(6_000, seed).unwrap();
        let part = |wanted: Split| -> Vec<(&str, usize)> {
            let parts = set.splits();
            let rows = set.examples.iter().zip(parts).filter(|(_, p)| *p == wanted);
            rows.map(|(e, _)| (e.text.as_str(), e.label)).collect()
        };
        shortcuts(&part(Split::Train), &part(Split::Test), task.labels.len())
    }

    /// Checks upper bounds on the accuracy of surface baselines for each task. Depth and length are surface properties by definition.
    #[test]
    fn surface_baselines_stay_below_their_limits() {
        for task in PROBING.iter().filter(|t| !["tree_depth", "sentence_length"].contains(&t.id)) {
            let found = of(task, 2);
            let shown: Vec<String> = found.iter().map(|s| format!("{} {:.3}", s.name, s.accuracy().mean)).collect();
            println!("{}: {}", task.id, shown.join(", "));
            let most = match task.id {
                "past_present" | "subj_number" | "obj_number" => 0.75,
                _ => 0.60,
            };
            for s in &found {
                assert!(s.accuracy().mean <= most, "{}: {} {:?}", task.id, s.name, s.accuracy());
            }
        }
    }
}
