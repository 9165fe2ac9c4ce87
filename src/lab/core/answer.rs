//! A run's answer to its question: sentences for readers from another field, and doubts.

use base::text::last_part;
use stats::special::student_quantile;

/// Maximum number of sentences of a short answer, its doubt included.
const SENTENCES: usize = 4;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// The short answer without its doubt: first the finding with its n and interval, then the others by how much a reader needs them.
    pub says: Vec<String>,
    /// All details: the numbers behind the short answer, and further results.
    pub evidence: Vec<String>,
    /// All doubts, most serious first.
    pub doubts: Vec<String>,
}

impl Answer {
    /// Makes external text printable. Sentences beyond the short answer become evidence.
    pub fn new(mut says: Vec<String>, details: Vec<String>, doubts: Vec<String>) -> Self {
        let most = SENTENCES - doubts.len().min(1);
        let evidence = [says.split_off(says.len().min(most)), details].concat();
        let clean = |all: Vec<String>| all.iter().map(|text| base::text::printable_message(text)).collect();
        Self { says: clean(says), evidence: clean(evidence), doubts: clean(doubts) }
    }

    /// The short answer in the order in which a reader needs it, each sentence with true if it is the doubt: the finding, the most serious
    /// doubt, and the rest.
    pub fn brief(&self) -> Vec<(bool, String)> {
        let doubt = self.doubts.first().map(|text| (true, format!("Doubt: {text}.")));
        let mut says = self.says.iter().map(|text| (false, text.clone()));
        says.next().into_iter().chain(doubt).chain(says).collect()
    }

    /// The whole answer: the short one, the details and the other doubts.
    pub fn lines(&self) -> Vec<String> {
        let others = self.doubts.iter().skip(1).map(|text| format!("Doubt: {text}."));
        let brief = self.brief().into_iter().map(|(_, text)| text);
        brief.chain(self.evidence.iter().cloned()).chain(others).collect()
    }
}

/// Units are very few if intervals are at least this many times as wide as with enough units.
const VERY_FEW: f64 = 2.0;

/// A doubt about intervals over fewer than `enough` units: their coverage is below their level. It states their width relative to intervals
/// over `enough` units. `simulated` has the share of simulated intervals that contained the true value, by number of units (guide, page on
/// intervals); the doubt quotes the share at the nearest number.
pub fn few(n: usize, enough: usize, units: &str, simulated: &[(usize, &str)]) -> Option<String> {
    if n >= enough {
        return None;
    }
    if n < 2 {
        let one = units.strip_suffix('s').filter(|one| !one.contains(' ')).unwrap_or(units);
        return Some(format!("1 {one} gives no interval: {enough} or more would"));
    }
    // Half-width of Student's t interval, in standard deviations of a unit.
    let half = |n: usize| student_quantile(0.975, n as f64 - 1.0) / (n as f64).sqrt();
    let times = half(n) / half(enough);
    let few = if times >= VERY_FEW { "very few" } else { "few" };
    let wide = format!("{n} {units} are {few}: intervals are {times:.1} times as wide as with {enough}");
    let covered = simulated.iter().min_by_key(|(m, _)| m.abs_diff(n)).map_or(String::new(), |(m, share)| {
        let nearest = if *m == n { "" } else { " (nearest)" };
        format!("; in simulations with {m} {units}{nearest}, 95 % intervals held in {share}")
    });
    Some(wide + &covered)
}

/// Formats names for prose: `a`, `a and b`, `a, b and c`, or `8 models` beyond three. Paths are shortened to their last part.
pub fn listed(names: &[String], what: &str) -> String {
    let short: Vec<&str> = names.iter().map(|name| last_part(name)).collect();
    match short.as_slice() {
        [] => format!("no {what}"),
        [one] => (*one).to_owned(),
        [first @ .., last] if first.len() < 3 => format!("{} and {last}", first.join(", ")),
        all => format!("{} {what}", all.len()),
    }
}

/// Formats the models of a question, or a placeholder if none is selected.
pub fn asked_of(models: &[String]) -> String {
    if models.is_empty() { "a model (none is ticked)".into() } else { listed(models, "models") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: answers used to take up to eleven rows of a small screen, and the doubt came after all results.
    #[test]
    fn a_short_answer_has_four_sentences_and_the_doubt_follows_the_finding() {
        let many = |n: usize| (0..n).map(|i| format!("{i}\u{1b}")).collect::<Vec<_>>();
        let answer = Answer::new(many(8), vec!["detail".into()], many(3));
        assert_eq!((answer.says.len(), answer.evidence.len(), answer.doubts.len()), (3, 6, 3));
        let brief = answer.brief();
        assert_eq!(brief.iter().map(|(doubt, _)| *doubt).collect::<Vec<_>>(), [false, true, false, false]);
        assert_eq!(answer.lines().len(), 12, "all sentences are kept");
        assert!(answer.lines().iter().all(|line| !line.contains('\u{1b}')));
        assert_eq!(Answer::new(many(8), Vec::new(), Vec::new()).brief().len(), 4);
        assert!(Answer::default().brief().is_empty());
    }

    /// Regression: the doubt used to begin "1 relations are few", and to be the same with 8 and with 15 units.
    #[test]
    fn few_units_are_named_with_the_width_that_they_cost() {
        let told = |n: usize| few(n, 20, "originals", &[(10, "91.6 %"), (20, "93.6 %")]).unwrap();
        assert!(told(1).starts_with("1 original gives no interval"), "{}", told(1));
        for (n, begins) in [
            (5, "5 originals are very few: intervals are 2.7 times as wide as with 20"),
            (8, "8 originals are few: intervals are 1.8 times"),
            (15, "15 originals are few: intervals are 1.2 times"),
        ] {
            assert!(told(n).starts_with(begins), "{}", told(n));
        }
        // Regression: 12 originals used to be told the coverage at 10 as if it were theirs.
        assert!(told(12).ends_with("in simulations with 10 originals (nearest), 95 % intervals held in 91.6 %"));
        assert!(
            told(10).contains("; in simulations with 10 originals, 95 % intervals held")
                && told(17).contains("; in simulations with 20 originals (nearest)")
        );
        assert_eq!(few(20, 20, "originals", &[]), None);
    }

    #[test]
    fn names_read_as_prose() {
        let of = |names: &[&str]| listed(&names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>(), "models");
        assert_eq!(of(&["/far/away/bert"]), "bert");
        assert_eq!(of(&["a", "b", "c"]), "a, b and c");
        assert_eq!(of(&["a", "b", "c", "d"]), "4 models");
        assert_eq!(of(&[]), "no models");
        assert_eq!(asked_of(&[]), "a model (none is ticked)", "the placeholder is not `no models`");
    }
}
