//! Tests of the training input for denoising models, with the tokenizer of a built-in BART.

use super::super::mixture::{Corpus, Mixture};
use super::super::recipe::{BATCH, Objective, Recipe};
use super::super::text::{Encoder, Masking, Step};
use super::*;
use model::{Device, Model, ModelSource};
use stats::rng::stream;

/// Batches as in training: sorted by length, so that most lines in a batch are equally long.
struct Made {
    rows: Vec<Vec<Row>>,
    steps: Vec<Step>,
    mask: u32,
    end: u32,
}

fn make(noise: Noise, masking: Masking) -> Made {
    let model = Model::load(&ModelSource::Builtin("bart-tiny".into()), Device::Cpu).unwrap();
    let t = model.tokenizer().unwrap();
    let corpus = Corpus::new(Mixture::of(Recipe::named("bart-tiny").unwrap())).unwrap();
    let encoder = Encoder::new(t, Objective::Denoising, masking).with_noise(noise);
    let (mut lines, mut rng) = (stream(4, "denoising lines"), stream(4, "denoising noise"));
    let mut rows: Vec<Row> = (0..30 * BATCH).map(|_| encoder.row(&corpus.line(&mut lines)).unwrap()).collect();
    rows.sort_by_key(|r| r.ids.len());
    let rows: Vec<Vec<Row>> = rows.chunks(BATCH).map(<[Row]>::to_vec).collect();
    let steps = rows.iter().map(|r| encoder.step(r.clone(), &mut rng).unwrap()).collect();
    Made { rows, steps, mask: t.special().mask.unwrap(), end: t.special().eos.unwrap() }
}

/// Calls `check` for every line, with the inputs of encoder and decoder without padding.
fn each(made: &Made, mut check: impl FnMut(&[Row], &Row, &[u32], &[u32])) {
    for (rows, step) in made.rows.iter().zip(&made.steps) {
        let (batch, read) = (&step.batch, step.batch.output());
        for (r, row) in rows.iter().enumerate() {
            let ids = |b: &model::Batch| b.ids()[r * b.len()..][..b.lengths()[r]].to_vec();
            check(rows, row, &ids(batch), &ids(read));
        }
    }
}

/// Decoder input without noise: the line, shifted right after the token `end`.
fn shifted(ids: &[u32], end: u32) -> Vec<u32> {
    std::iter::once(end).chain(ids[..ids.len() - 1].iter().copied()).collect()
}

const ONLY_HIDDEN: Noise = Noise { hidden: 1.0, ..Noise::NONE };
const ONLY_SWAPPED: Noise = Noise { swapped: 1.0, ..Noise::NONE };
const ONLY_INFILLED: Noise = Noise { infilled: 1.0, ..Noise::NONE };

#[test]
fn target_is_the_original_line() {
    for noise in [Noise::default(), ONLY_HIDDEN, ONLY_SWAPPED, ONLY_INFILLED, Noise::NONE] {
        let made = make(noise, Masking::default());
        for (rows, step) in made.rows.iter().zip(&made.steps) {
            let mut said = step.targets.iter();
            for (r, row) in rows.iter().enumerate() {
                for (position, &token) in row.ids.iter().enumerate() {
                    let target = said.next().unwrap();
                    assert_eq!((target.row, target.position, target.token), (r, position, token));
                }
                assert_eq!(step.batch.output().lengths()[r], row.ids.len(), "every target has a position");
            }
            assert!(said.next().is_none());
        }
    }
}

#[test]
fn corruptions_have_the_stated_shares() {
    let mut rng = stream(1, "denoising test");
    let n = 20_000;
    let drawn: Vec<Way> = (0..n).map(|_| Noise::default().draw(&mut rng)).collect();
    let plain = 1.0 - INFILLED - DECODER_MASKED - DECODER_SWAPPED;
    for (way, expected) in
        [(Way::Infilled, INFILLED), (Way::Hidden, DECODER_MASKED), (Way::Swapped, DECODER_SWAPPED), (Way::Plain, plain)]
    {
        let share = drawn.iter().filter(|w| **w == way).count() as f64 / f64::from(n);
        // The tolerance is four standard errors.
        assert!((share - expected).abs() < 4.0 * (0.25 / f64::from(n)).sqrt(), "{way:?}: {share}");
    }
    assert!((0..100).all(|_| Noise::NONE.draw(&mut rng) == Way::Plain));
    // The shares can be seen in the decoder's input, because only hidden lines contain masks.
    let made = make(Noise { swapped: 0.0, ..Noise::default() }, Masking::default());
    let (mut masked, mut all) = (0.0, 0.0);
    each(&made, |_, _, _, read| {
        masked += f64::from(u8::from(read.contains(&made.mask)));
        all += 1.0;
    });
    assert!((masked / all - DECODER_MASKED).abs() < 0.04, "{}", masked / all);
}

#[test]
fn corrupted_lines_do_not_contain_the_answer() {
    let made = make(ONLY_HIDDEN, Masking { focus: 1.0, beside: 0.0, random: 0.0 });
    let (mut hidden, mut words) = (0.0, 0.0);
    each(&made, |_, row, encoded, read| {
        assert_eq!(read[0], made.end);
        for p in 0..row.ids.len() - 1 {
            let seen = read[p + 1];
            if row.focus[p] {
                assert_eq!((seen, encoded[p]), (made.mask, made.mask), "the answer is masked for encoder and decoder");
            } else {
                assert!(seen == row.ids[p] || (seen == made.mask && row.words[p]));
                assert_eq!(encoded[p], row.ids[p], "the encoder reads all other words");
                words += f64::from(u8::from(row.words[p]));
                hidden += f64::from(u8::from(row.words[p] && seen == made.mask));
            }
        }
    });
    assert!((hidden / words - DECODER_HIDDEN).abs() < 0.01, "{}", hidden / words);
}

/// The other line has the same length and differs before the answer. The encoder does not read the answer either.
#[test]
fn swapped_lines_come_from_a_neighbor() {
    let made = make(ONLY_SWAPPED, Masking { focus: 1.0, beside: 0.0, random: 0.0 });
    let (mut swapped, mut alike, mut told, mut all) = (0.0, 0.0, 0.0, 0.0);
    each(&made, |rows, row, encoded, read| {
        let Some(first) = row.focus.iter().position(|f| *f) else { return };
        all += 1.0;
        assert!(row.focus.iter().zip(encoded).all(|(f, id)| !f || *id == made.mask));
        if read.contains(&made.mask) {
            assert!(neighbor(rows, rows.iter().position(|r| r == row).unwrap()).is_none());
            return;
        }
        let others = rows.iter().filter(|r| r.ids.len() == row.ids.len());
        assert!(others.into_iter().any(|r| shifted(&r.ids, made.end) == read));
        assert_ne!(read[..=first], shifted(&row.ids, made.end)[..=first]);
        swapped += 1.0;
        let same = (1..=first).filter(|&p| read[p] == row.ids[p - 1]).count();
        alike += same as f64 / first as f64;
        told += f64::from(u8::from(read[..=first].contains(&row.ids[first])));
    });
    println!(
        "{:.3} swapped; {:.3} of the words before the answer are equal, {:.4} including the answer",
        swapped / all,
        alike / swapped,
        told / swapped
    );
    assert!(swapped / all > 0.95, "{}", swapped / all);
    assert!(alike / swapped > 0.4, "neighbors have the same structure: {}", alike / swapped);
    assert!(told / swapped < 0.02, "{}", told / swapped);
}

#[test]
fn span_becomes_one_mask_in_its_context() {
    let made = make(ONLY_INFILLED, Masking::default());
    let mut lengths = Vec::new();
    let mut inner = 0;
    each(&made, |_, row, encoded, read| {
        assert_eq!(read, shifted(&row.ids, made.end), "the decoder reads the true line");
        let at = encoded.iter().position(|id| *id == made.mask).unwrap();
        let behind = &encoded[at + 1..];
        assert!(!behind.contains(&made.mask));
        assert_eq!(row.ids[..at], encoded[..at]);
        assert_eq!(row.ids[row.ids.len() - behind.len()..], *behind);
        let length = row.ids.len() + 1 - encoded.len();
        let words = row.words.iter().filter(|w| **w).count();
        assert!(length <= words / 2 && row.words[at..at + length].iter().all(|w| *w));
        lengths.push(length as f64);
        inner += usize::from(behind.len() > 2);
    });
    let n = lengths.len();
    let mean = lengths.iter().sum::<f64>() / n as f64;
    // The mean is below the Poisson mean of 3, because spans are cut off at the ends of lines.
    assert!((1.9..2.9).contains(&mean), "{mean}");
    assert!((0.03..0.07).contains(&(lengths.iter().filter(|l| **l == 0.0).count() as f64 / n as f64)));
    assert!(inner > n / 2, "most spans have words to their right");
}

#[test]
fn poisson_deviates_have_mean_and_variance_three() {
    let mut rng = stream(2, "denoising test");
    let drawn: Vec<f64> = (0..40_000).map(|_| poisson(SPAN, &mut rng) as f64).collect();
    let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
    let variance = drawn.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / drawn.len() as f64;
    assert!((mean - 3.0).abs() < 0.04 && (variance - 3.0).abs() < 0.12, "{mean} {variance}");
}
