//! Tests of rows of single tokens: splits, caps, and states read together.

use super::*;
use crate::bench::{Chunk, Site};
use base::NoPulse;
use base::matrix::Matrix;
use corpus::agreement::{Position, Positions};
use corpus::{Frequencies, Task};
use lab::spot::Spot;
use model::{Device, Model, ModelSource};
use std::collections::{BTreeMap, BTreeSet};

/// Sentences of the agreement task at these positions, as stimuli of a small model, and their labels.
fn texts(n: usize, changed: Position, read: Option<Position>) -> (Model, Stimuli, PropertyLabels) {
    let model = Model::load(&ModelSource::Builtin("bert-tiny".into()), Device::Cpu).unwrap();
    let task = Task::named("agreement").unwrap();
    let set = task.examples(n, 5, &Frequencies::natural()).unwrap().examples;
    let set: Vec<_> = set.into_iter().map(|e| Positions { changed, read }.put(e, None).unwrap()).collect();
    let stimuli = Stimuli::new(&model, &set, &mut NoPulse).unwrap();
    let labels = PropertyLabels::new(task, 0, &set, stimuli.list.iter().map(|s| s.example));
    (model, stimuli, labels)
}

fn task(changed: Position, read: Option<Position>, per_text: usize) -> TaskSpec {
    TaskSpec { position: changed, oracle_position: read, tokens_per_text: per_text, ..TaskSpec::default() }
}

fn rows_of(n: usize, (changed, read): (Position, Option<Position>), task: &TaskSpec) -> (Model, Rows) {
    let (model, stimuli, labels) = texts(n, changed, read);
    let split = Split::new(stimuli.list.len(), 3).unwrap();
    (model, Rows::new(stimuli, labels, split, task))
}

/// Regression: an oracle's training and validation rows are drawn from an uncorrelated subset. Drawn from tokens, they would share texts.
#[test]
fn no_text_is_split_between_parts() {
    let task = task(Position::Every, None, 4);
    let (_, rows) = rows_of(900, (Position::Every, None), &task);
    let texts = rows.texts.as_ref().unwrap();
    let oracle = oracle_part(Some(texts), (&rows.split, &rows.labels), Roles::Other, 3).unwrap();
    let (own, test) = (rows.split.intervention(), rows.split.test());
    let sides = [oracle.train(), oracle.validation(), own.train(), own.validation(), test.rows()];
    let examples = |side: &[usize]| side.iter().map(|r| rows.stimuli.list[*r].example).collect::<BTreeSet<_>>();
    for (i, a) in sides.iter().enumerate() {
        assert!(!a.is_empty());
        for b in &sides[..i] {
            assert!(examples(a).is_disjoint(&examples(b)), "side {i}");
        }
    }
    // Each row is a different token of its text, with the labels of the text.
    let mut tokens: BTreeMap<usize, Vec<&Spot>> = BTreeMap::new();
    rows.stimuli.list.iter().for_each(|s| tokens.entry(s.example).or_default().push(&s.changed));
    assert!(tokens.values().all(|t| t.len() == 4 && t.windows(2).all(|w| w[0] != w[1])));
    let numbers = texts.number(&rows.stimuli, test.rows());
    assert_eq!((numbers[0], numbers.last().map(|last| last + 1)), (0, Some(texts.parts()[2])));
    assert_eq!(numbers.len(), 4 * texts.parts()[2]);
    for (text, range) in texts.rows.iter().enumerate() {
        assert!(range.clone().all(|row| rows.labels.target[row] == texts.labels.target[text]));
    }
}

/// Each part has the tokens that it needs. Oracles and tests have those that are read; interventions have those that are changed.
#[test]
fn parts_contain_the_read_or_changed_tokens() {
    let rows = |changed, read| {
        let task = task(changed, read, 3);
        let (_, rows) = rows_of(500, (changed, read), &task);
        let oracle = oracle_part(rows.texts.as_ref(), (&rows.split, &rows.labels), Roles::Target, 3).unwrap();
        let own = rows.texts.as_ref().map_or_else(|| rows.split.intervention().clone(), Texts::intervention);
        let each = |part: &[usize]| {
            let texts = rows.stimuli.texts(part);
            assert!(texts.windows(2).all(|w| w[0].len() == w[1].len()));
            texts[0].len()
        };
        assert_eq!((each(oracle.validation()), each(own.validation())), (1, 1), "validated on one token of each text");
        [each(oracle.train()), each(own.train()), each(rows.split.test().rows())]
    };
    assert_eq!(rows(Position::Every, None), [3, 3, 3]);
    assert_eq!(rows(Position::Every, Some(Position::Mask)), [1, 3, 1]);
    assert_eq!(rows(Position::Mask, Some(Position::Every)), [3, 1, 3]);
    assert_eq!(rows(Position::Mask, None), [1, 1, 1], "other positions keep one row per example");
}

/// The cap per part lowers the number of tokens per text; what is left out is counted.
#[test]
fn caps_are_respected_and_counted() {
    let mut task = task(Position::Every, None, 1_000);
    let (_, all) = rows_of(500, (Position::Every, None), &task);
    let all = (all.stimuli.list.len(), all.texts.unwrap());
    assert!(all.1.left_out == 0 && all.0 > 8 * 500, "{}", all.0);
    task.tokens_per_part = 450;
    let (_, few) = rows_of(500, (Position::Every, None), &task);
    let texts = few.texts.unwrap();
    assert_eq!((texts.per_text, few.stimuli.list.len(), texts.left_out), (2, 1_000, all.0 - 1_000));
    task.tokens_per_part = 1;
    assert_eq!(rows_of(500, (Position::Every, None), &task).1.stimuli.list.len(), 500, "at least one of each text");
}

/// Editing and reading several tokens of a text in one batch gives the same states as editing each token by itself.
#[test]
fn batched_rows_equal_single_rows() {
    use Position::{Every, Mask, Mean};
    for (changed, read, per_text) in
        [(Every, None, 3), (Every, None, 100), (Every, Some(Mask), 3), (Mask, Some(Every), 3), (Mean, Some(Every), 3)]
    {
        let task = task(changed, read, per_text);
        let (model, rows) = rows_of(12, (changed, read), &task);
        let site = Site { layer: 1, oracle_layer: 2 };
        let judged = rows.split.test().rows();
        let edited = |which: &[usize]| -> Matrix {
            let chunk = Chunk::new(&model, &rows.stimuli, &rows.labels, which, site, &mut NoPulse).unwrap();
            let own = rows.stimuli.hidden(&model, (2, lab::stimuli::Where::Read), which, &mut NoPulse).unwrap();
            assert!(near(&chunk.oracle_h, &own), "{changed:?} {read:?}");
            let mut h = chunk.unedited().clone();
            let step = Matrix::from_fn(h.rows(), h.cols(), |_, j| 0.5 * ((j + 1) as f32).sin());
            h.add_scaled(1.0, &step);
            chunk.later(&model, &h, site, &mut NoPulse).unwrap()
        };
        let together = edited(judged);
        assert_eq!(together.rows(), judged.len());
        for (i, row) in judged.iter().enumerate() {
            assert!(near(&edited(&[*row]), &together.select_rows(&[i])), "{changed:?} {read:?} {per_text}, row {i}");
        }
    }
}

fn near(a: &Matrix, b: &Matrix) -> bool {
    (a.rows(), a.cols()) == (b.rows(), b.cols()) && a.data().iter().zip(b.data()).all(|(a, b)| (a - b).abs() < 1e-4)
}
