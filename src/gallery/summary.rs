//! Scores over all relations, from the recall of each. Best and worst prompts are selected on one half of a relation's facts and evaluated
//! on the other half, and vice versa, because prompts evaluated on the facts that selected them differ even by chance.

use super::score::score;
use pretraining::recall::{Recalled, RelationRecall, Tally};
use pretraining::score::LEVEL;
use pretraining::score::Score;
use stats::Estimate;
use stats::bootstrap::Resamples;
use stats::choice::{Answers, Extremes, gap_by_chance};
use stats::correlation::spearman;
use stats::intervals::wilson;

/// Number of permutations for the gap by chance, and of resamples for the mean over relations.
const DRAWS: usize = 1_000;
/// Seed for permutations and resamples, fixed so that equal answers have equal intervals.
const SEED: u64 = 0;

/// Scores over all relations; scores without questions are omitted.
pub(crate) fn summary(recalled: &[Recalled]) -> Vec<Score> {
    let facts: Vec<&RelationRecall> = recalled.iter().map(|r| &r.relation).collect();
    let pool = |get: &dyn Fn(&RelationRecall) -> Tally| facts.iter().map(|r| get(r)).fold(Tally::default(), Tally::and);
    let [mut best, mut worst, mut trained, mut held, mut best_same, mut worst_same] = [Tally::default(); 6];
    for r in recalled {
        let same = r.answers.by_all();
        for (item, chosen) in r.answers.by_others().into_iter().enumerate() {
            let right = |k| r.answers.is_right(item, k);
            if let Some(Extremes { best: b, worst: w }) = chosen {
                best.count(right(b));
                worst.count(right(w));
                if r.held[item][b] { &mut held } else { &mut trained }.count(right(b));
            }
            if let Some(Extremes { best: b, worst: w }) = same {
                best_same.count(right(b));
                worst_same.count(right(w));
            }
        }
    }
    let kept = |r: &RelationRecall| r.kept().map(|p| p.all()).fold(Tally::default(), Tally::and);
    let mut found = vec![
        score("p1_best", "P@1 with each relation's best prompt (selected on other facts) and the usual name", best),
        score("p1_trained", "the same, but only for trained phrasings", trained),
        score("p1_held", "the same, but for untrained phrasings of trained facts", held),
        score("p1_worst", "P@1 with each relation's worst prompt (selected on other facts)", worst),
        gap("p1_gap", "P@1 of the best minus P@1 of the worst prompt (both selected on other facts)", best, worst),
        gap("p1_gap_same", "the same, but selected and evaluated on the same facts", best_same, worst_same),
    ];
    found.extend(chance(recalled, best_same.n));
    let lowest = facts.iter().filter_map(|r| Some(r.worst()?.all()));
    if let Some(lowest) = lowest.filter(|t| t.n > 0).min_by(|a, b| a.share().total_cmp(&b.share())) {
        found.push(score("p1_lowest", "P@1 with the worst prompt of all relations", lowest));
    }
    found.extend(preference(&facts));
    found.extend([
        score("p1_kept", "P@1 on trained facts with prompts that occur in no training text", pool(&kept)),
        score("p1_new_names", "P@1 with untrained names and the most frequent prompt", pool(&|r| r.new_names)),
        score("p1_never", "P@1 on untrained facts with the most frequent prompt", pool(&|r| r.never)),
        score(
            "p1_commonest",
            "P@1 on the same facts if the answer is always the relation's most frequent object",
            pool(&|r| r.commonest),
        ),
        score("stability", "same answer under all trained names of a subject", pool(&|r| r.stable)),
        score(
            "stability_unseen",
            "same answer under the usual name and the untrained names",
            pool(&|r| r.stable_unseen),
        ),
    ]);
    found.retain(|s| s.n > 0);
    found
}

/// Computes [`gap_by_chance`] from the answers.
fn chance(recalled: &[Recalled], n: u64) -> Option<Score> {
    let groups: Vec<Answers> = recalled.iter().map(|r| r.answers.clone()).collect();
    let what = format!(
        "p1_gap_same by chance alone: {DRAWS} permutations of each fact's prompts (seed {SEED}) and their central \
         {:.0} %",
        100.0 * LEVEL
    );
    let share = gap_by_chance(&groups, DRAWS, LEVEL, SEED);
    (n > 0).then(|| Score { id: "p1_gap_chance".into(), what, share, n })
}

/// Mean over relations of the rank correlation between a prompt's weight in training and its P@1. A relation with equally good prompts
/// shows no preference and counts as 0.
fn preference(facts: &[&RelationRecall]) -> Option<Score> {
    let of = |r: &&RelationRecall| {
        let pairs = r.open().filter_map(|p| Some((p.weight.filter(|w| *w > 0.0)?.ln(), p.all().share())));
        let (weights, shares): (Vec<f64>, Vec<f64>) = pairs.filter(|p| !p.1.is_nan()).unzip();
        // With fewer than three prompts, or with equal weights, no preference can be detected.
        (weights.len() > 2 && weights.iter().any(|w| *w != weights[0]))
            .then(|| spearman(&weights, &shares).map_or(0.0, |c| c.r))
    };
    let each: Vec<f64> = facts.iter().filter_map(of).collect();
    let what = format!(
        "Spearman correlation between a prompt's weight and its P@1: mean over relations, with {DRAWS} bootstrap \
         samples (seed {SEED})"
    );
    let share = Resamples::new(each.len(), DRAWS, SEED).mean(&each, LEVEL);
    (!each.is_empty()).then(|| Score { id: "preference".into(), what, share, n: each.len() as u64 })
}

/// A difference of two proportions with Newcombe's interval (1998, method 10), which combines their Wilson intervals.
fn gap(id: &str, what: &str, high: Tally, low: Tally) -> Score {
    let [a, b] = [high, low].map(|t| wilson(t.hits, t.n, LEVEL));
    let mean = a.mean - b.mean;
    let lo = mean - (a.mean - a.lo).hypot(b.hi - b.mean);
    let hi = mean + (a.hi - a.mean).hypot(b.mean - b.lo);
    Score { id: id.into(), what: what.into(), share: Estimate { mean, lo, hi }, n: high.n }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretraining::recall::PromptRecall;
    use stats::rng::{stream, unit};

    /// The example is from Newcombe (1998), table II: 56 of 70 against 48 of 80.
    #[test]
    fn differences_have_the_newcombe_interval() {
        let s = gap("g", "", Tally { hits: 56, n: 70 }, Tally { hits: 48, n: 80 });
        let near = |a: f64, b: f64| (a - b).abs() < 5e-5;
        assert!(near(s.share.mean, 0.2) && near(s.share.lo, 0.0524) && near(s.share.hi, 0.3339), "{s:?}");
    }

    #[test]
    fn score_without_questions_is_undefined() {
        assert_eq!(summary(&[]), []);
    }

    /// A relation of 40 facts whose prompt k is answered correctly with probability `p[k]`; every third phrasing does not occur in
    /// training.
    fn relation(p: &[f64], seed: u64) -> Recalled {
        let mut rng = stream(seed, "summary test");
        let mut answers = Answers::new(p.len());
        let mut prompts: Vec<PromptRecall> = (0..p.len())
            .map(|k| PromptRecall {
                text: k.to_string(),
                weight: Some(0.5_f64.powi(k as i32 + 1)),
                kept: false,
                trained: Tally::default(),
                held: Tally::default(),
            })
            .collect();
        let mut held = Vec::new();
        for i in 0..40 {
            let right: Vec<bool> = p.iter().map(|p| unit(&mut rng) < *p).collect();
            held.push((0..p.len()).map(|k| (i + k) % 3 == 0).collect::<Vec<bool>>());
            for (k, prompt) in prompts.iter_mut().enumerate() {
                if held[i][k] { &mut prompt.held } else { &mut prompt.trained }.count(right[k]);
            }
            answers.add(right, i % 2 == 0);
        }
        Recalled { relation: RelationRecall { prompts, ..RelationRecall::default() }, answers, held }
    }

    fn of(found: &[Score], id: &str) -> Estimate {
        found.iter().find(|s| s.id == id).unwrap_or_else(|| panic!("no {id}")).share
    }

    /// For prompts of equal quality, the gap on the same facts equals the gap by chance, and the gap on other facts is zero.
    #[test]
    fn chance_gap_is_distinguished_from_a_real_one() {
        let equal: Vec<Recalled> = (0..30).map(|s| relation(&[0.8; 6], s)).collect();
        let found = summary(&equal);
        let chance = of(&found, "p1_gap_chance");
        assert!((of(&found, "p1_gap_same").mean - chance.mean).abs() < 0.02 && chance.mean > 0.1);
        assert!(of(&found, "p1_gap").mean.abs() < 0.03 && of(&found, "preference").lo < 0.0);
        let graded: Vec<Recalled> = (0..30).map(|s| relation(&[0.9, 0.8, 0.7, 0.5, 0.3, 0.1], s)).collect();
        let found = summary(&graded);
        let (gap, chance) = (of(&found, "p1_gap"), of(&found, "p1_gap_chance"));
        assert!(gap.lo > chance.hi && gap.mean <= of(&found, "p1_gap_same").mean, "{gap:?} {chance:?}");
        assert!(of(&found, "preference").lo > 0.9);
        let n = |id: &str| found.iter().find(|s| s.id == id).unwrap().n;
        assert_eq!((n("p1_best"), n("p1_trained") + n("p1_held"), n("preference")), (1200, 1200, 30));
        assert!(found.iter().all(|s| s.id != "p1_kept"), "a score without questions is omitted");
    }

    /// Prompts that are always right show no preference: the correlation is 0, not missing.
    #[test]
    fn relations_without_preference_count_as_zero() {
        let r: Vec<Recalled> =
            vec![relation(&[1.0; 4], 1), relation(&[1.0, 0.7, 0.4, 0.0], 2), relation(&[1.0, 1.0], 3)];
        let s = summary(&r).into_iter().find(|s| s.id == "preference").unwrap();
        assert_eq!(s.n, 2, "two prompts show no preference");
        assert!((s.share.mean - 0.5).abs() < 1e-9, "{s:?}");
    }
}
