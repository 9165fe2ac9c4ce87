//! Accuracy of a built-in model on the masked words of the rationale benchmark. Saliency for a model that predicts none of them would
//! explain noise.

use super::score::score;
use corpus::micro::hash;
use corpus::rationales::{Dimension, Instance, SampleType, shipped};
use pretraining::Result;
use pretraining::ask::{Asked, Question};
use pretraining::recall::Tally;
use pretraining::score::Score;
use pretraining::splits::Judgement;

/// One score per dimension: the proportion of English originals for which the model's first answer is a gold answer. Only one half of the
/// originals is used: the half for choosing training settings, or the half for the card. A causal model is tested only where the whole
/// rationale precedes the mask.
///
/// # Errors
/// Returns errors of the model and of the benchmark.
pub fn scores(asked: &Asked<'_>, judgement: Judgement) -> Result<Vec<Score>> {
    let half: Vec<&Instance> = originals()?.filter(|i| half_of(i) == judgement).collect();
    let mut scores = Vec::new();
    for dimension in Dimension::ALL {
        let of: Vec<&Instance> = half.iter().copied().filter(|i| i.dimension == dimension).collect();
        let (fit, gold) = askable(asked, &of);
        let questions: Vec<Question> = fit.iter().map(|i| Question::of_instance(i)).collect();
        let mut right = Tally::default();
        for (answer, gold) in asked.answers(&questions)?.iter().zip(&gold) {
            right.count(gold.contains(answer));
        }
        if !fit.is_empty() {
            scores.push(score(id(dimension), &what(asked, dimension, of.len()), right));
        }
    }
    Ok(scores)
}

/// True if the score belongs to the benchmark.
pub(crate) fn is_of_it(score: &Score) -> bool {
    Dimension::ALL.into_iter().any(|d| id(d) == score.id)
}

fn originals() -> Result<impl Iterator<Item = &'static Instance>> {
    Ok(shipped()?.iter().filter(|i| i.sample_type == SampleType::Original))
}

/// The half to which an instance belongs, determined by a hash of its text.
fn half_of(i: &Instance) -> Judgement {
    match hash(0, "judged instance|".bytes().chain(i.sent_text.bytes())) >> 63 {
        0 => Judgement::Development,
        _ => Judgement::Final,
    }
}

/// The instances on which this model can be tested, with the correct tokens for each. A model cannot give a multi-token answer at a single
/// mask, so such answers are omitted.
fn askable<'i>(asked: &Asked<'_>, of: &[&'i Instance]) -> (Vec<&'i Instance>, Vec<Vec<u32>>) {
    let settled = of.iter().filter(|i| i.is_settled_before() || !asked.is_causal());
    let with_gold = settled.map(|&i| (i, i.answers().filter_map(|word| asked.word(word, false)).collect::<Vec<u32>>()));
    with_gold.filter(|(_, gold)| !gold.is_empty()).unzip()
}

fn id(dimension: Dimension) -> &'static str {
    match dimension {
        Dimension::Grammar => "rationale_grammar",
        Dimension::Semantics => "rationale_semantics",
        Dimension::Knowledge => "rationale_knowledge",
        Dimension::Reasoning => "rationale_reasoning",
        Dimension::Computation => "rationale_computation",
    }
}

/// The description of a score. It is the same for all seeds. The number of usable words depends on the vocabulary and thus on the seed, so
/// only the score's `n` contains it.
fn what(asked: &Asked<'_>, dimension: Dimension, all: usize) -> String {
    let dimension = id(dimension).trim_start_matches("rationale_");
    let settled = if asked.is_causal() { "the rationale precedes the mask and " } else { "" };
    format!(
        "first answer to {dimension} items of the rationale benchmark (those of {all} where {settled}an answer is one \
         token)"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Card;
    use model::Device;

    /// Both halves have enough instances of every dimension for a score, even for a causal model.
    #[test]
    fn halves_are_disjoint_and_large_enough() {
        let all: Vec<_> = originals().unwrap().collect();
        for dimension in Dimension::ALL {
            let of = || all.iter().filter(|i| i.dimension == dimension);
            let development = of().filter(|i| half_of(i) == Judgement::Development).count();
            let settled = [Judgement::Development, Judgement::Final]
                .map(|half| of().filter(|i| i.is_settled_before() && half_of(i) == half).count());
            println!("{dimension:?}: {development} of {}, settled {settled:?}", of().count());
            let smaller = development.min(of().count() - development);
            assert!(3 * smaller >= of().count(), "{dimension:?}: {smaller} of {}", of().count());
            assert!(settled.iter().all(|&n| n >= 20), "{dimension:?}: {settled:?}");
        }
    }

    /// When benchmark sentences are rewritten after models were trained, only scores on the benchmark are measured again.
    #[test]
    fn rescoring_changes_only_benchmark_scores() {
        let tmp = tempfile::tempdir().unwrap();
        let shipped = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets/models/bert-tiny");
        for file in std::fs::read_dir(shipped).unwrap() {
            let file = file.unwrap();
            std::fs::copy(file.path(), tmp.path().join(file.file_name())).unwrap();
        }
        let name = tmp.path().display().to_string();
        let before = crate::card(&name).unwrap();
        let mut spoilt = before.clone();
        let old = |s: &mut Score| (s.n, s.share.mean) = (1, 0.0);
        spoilt.scores.iter_mut().filter(|s| is_of_it(s)).for_each(old);
        crate::write(&tmp.path().join("card.json"), &spoilt).unwrap();
        let after = crate::ask_benchmark_again(tmp.path(), Device::Cpu).unwrap();
        let written = crate::card(&name).unwrap();
        let numbers = |card: &Card| card.scores.iter().map(|s| (s.id.clone(), s.n)).collect::<Vec<_>>();
        assert_eq!(numbers(&after), numbers(&written), "written");
        assert!(after.seeds.is_empty() && after.scores.len() == before.scores.len());
        for (a, b) in after.scores.iter().zip(&before.scores) {
            assert_eq!(a.id, b.id);
            assert!(if is_of_it(a) { a.n > 10 } else { a == b }, "{}", a.id);
        }
    }
}
