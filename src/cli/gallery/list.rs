//! `probity gallery list`: shape and scores of every built-in model, and over several seeds if these are known.

use std::fmt::Write as _;

use gallery::spread::{self, Spread};
use gallery::{Card, bars};

const NAME: usize = 13;

/// Formats a few lines per model: shape, scores of the shipped model, and minimum, median and maximum over seeds. Mini models also list
/// their targets.
pub(crate) fn text(cards: &[Card]) -> String {
    let mut text = format!(
        "{:<NAME$} {:<8} {:<15} {:>10} {:>5}  {:<16} {:<16} P@1 %\n",
        "", "", "", "", "", "agreement %", "linear rule %"
    );
    let _ = writeln!(
        text,
        "{:<NAME$} {:<8} {:<15} {:>10} {:>5}  {:<16} {:<16} best / worst prompt",
        "name", "family", "shape", "parameters", "MB", "none / opposing", "subj. / attr."
    );
    for card in cards {
        let s = &card.shape;
        let _ = writeln!(
            text,
            "{:<NAME$} {:<8} {:<15} {:>10} {:>5.1}  {}",
            card.name,
            card.family,
            format!("{} x {}, {} heads", s.layers, s.hidden, s.heads),
            s.parameters,
            s.bytes as f64 / 1e6,
            columns(&|id| card.score(id).map(|s| s.share.mean)),
        );
        if card.seeds.len() > 1 {
            let spreads = spread::spreads(card);
            let of = |id: &str| spreads.iter().find(|s: &&Spread| s.id == id);
            for (k, word) in ["minimum", "median", "maximum"].into_iter().enumerate() {
                let label = format!("  {word} of {} seeds", card.seeds.len());
                let room = NAME + 1 + 8 + 1 + 15 + 1 + 10 + 1 + 5;
                let _ = writeln!(text, "{label:<room$}  {}", columns(&|id| of(id).map(|s| s.range.ends()[k].mean)));
            }
        }
    }
    let alone: Vec<&str> = cards.iter().filter(|c| c.seeds.len() < 2).map(|c| c.name.as_str()).collect();
    if !alone.is_empty() {
        text += "\nonly one seed, so the spread over seeds is unknown:\n";
        for names in alone.chunks(8) {
            let _ = writeln!(text, "  {}", names.join(", "));
        }
    }
    cards.iter().filter(|c| bars::apply_to(c)).for_each(|card| bars_of(card, &mut text));
    text
}

fn columns(score: &dyn Fn(&str) -> Option<f64>) -> String {
    let share = |id: &str| score(id).map_or("n/a".to_owned(), |x| format!("{:.1}", 100.0 * x));
    let pair = |a: &str, b: &str| format!("{} / {}", share(a), share(b));
    format!(
        "{:<16} {:<16} {}",
        pair("agreement_none", "agreement_opposing"),
        pair("subject_linear", "attractor_linear"),
        pair("p1_best", "p1_worst")
    )
}

/// Adds the targets of a mini model, each with its results over seeds below it.
fn bars_of(card: &Card, text: &mut String) {
    let verdicts = bars::verdicts(card);
    let _ = writeln!(text, "\n{}: {}, seed {}", card.name, bars::count(&verdicts), card.seed);
    let several = card.seeds.len() > 1;
    if several {
        let _ = writeln!(
            text,
            "  below each target: minimum, median and maximum over {} seeds (in %, with intervals),\n  \
             and the numbers of seeds that meet it / leave it undecided / miss it",
            card.seeds.len()
        );
    }
    let spreads = spread::bar_spreads(card);
    for (verdict, spread) in verdicts.iter().zip(&spreads) {
        let _ = writeln!(text, "  {verdict}");
        if several {
            let range = spread.range.map_or("not measured".to_owned(), |r| r.to_string());
            let _ = writeln!(text, "             {range}  {} / {} / {}", spread.met, spread.open, spread.missed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::text::width;
    use gallery::seeds::SeedScores;
    use stats::Estimate;

    #[test]
    fn ranges_are_below_the_model_within_120_columns() {
        let mut cards = gallery::cards().unwrap();
        for card in &mut cards {
            let seeds = if bars::apply_to(card) { 5 } else { 3 };
            let seed = |seed: u64| {
                let mut scores = SeedScores::of(card);
                for score in scores.scores.iter_mut().filter(|_| seed != card.seed) {
                    let mean = 1.0 - 0.1 * seed as f64;
                    score.share = Estimate { mean, lo: mean - 0.05, hi: 1.0 };
                }
                SeedScores { seed, ..scores }
            };
            card.seeds = (1..=seeds).map(seed).collect();
        }
        // The list states that a single seed has no spread.
        cards[7].seeds.truncate(1);
        let text = text(&cards);
        for line in text.lines() {
            assert!(width(line) <= 120, "{} columns: {line}", width(line));
        }
        assert_eq!(text.matches("minimum of 5 seeds").count(), 4);
        assert_eq!(text.matches("median of 3 seeds").count(), 3);
        assert!(text.contains(&format!("unknown:\n  {}\n", cards[7].name)), "{text}");
        let minimum = text.lines().find(|l| l.starts_with("  minimum of 5 seeds")).unwrap();
        assert!(minimum.ends_with("50.0 / 50.0      50.0 / 50.0      50.0 / 50.0"), "{minimum}");
        // Seeds 2 to 5 score .8, .7, .6 and .5 against a target of .97, and each interval ends at 1.
        let at = text.find("targets met").unwrap();
        assert!(text[at..].contains("50.0 [45.0, 100.0]   70.0 [65.0, 100.0]"), "{text}");
        assert!(text[at..].contains("1 / 4 / 0"), "{text}");
    }
}
