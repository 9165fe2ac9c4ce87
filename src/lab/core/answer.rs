//! A run's answer to its question: sentences for readers from another field, and doubts.

use base::text::last_part;
use stats::special::student_quantile;

const SENTENCES: usize = 4;
/// Maximum number of doubts in the sentence after the results.
const DOUBTS: usize = 2;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// Results, most important first: at most four sentences, each with one claim, its n and its interval.
    pub says: Vec<String>,
    /// Further results, which come after the doubts.
    pub evidence: Vec<String>,
    /// All doubts, most serious first.
    pub doubts: Vec<String>,
}

impl Answer {
    /// Makes external text printable. Results after the fourth become evidence.
    pub fn new(mut says: Vec<String>, doubts: Vec<String>) -> Self {
        let evidence = says.split_off(says.len().min(SENTENCES));
        let clean = |all: Vec<String>| all.iter().map(|text| base::text::printable_message(text)).collect();
        Self { says: clean(says), evidence: clean(evidence), doubts: clean(doubts) }
    }

    /// The most serious doubts as one sentence; `None` if there are none.
    pub fn doubt(&self) -> Option<String> {
        let first = &self.doubts[..self.doubts.len().min(DOUBTS)];
        (!first.is_empty()).then(|| format!("Doubt: {}.", first.join("; ")))
    }

    /// The doubts that [`Self::doubt`] omits, one sentence each.
    pub fn further_doubts(&self) -> impl Iterator<Item = String> {
        self.doubts.iter().skip(DOUBTS).map(|text| format!("Doubt: {text}."))
    }

    /// The results, the sentence of doubts, and further results.
    pub fn lines(&self) -> Vec<String> {
        self.says.iter().cloned().chain(self.doubt()).chain(self.evidence.iter().cloned()).collect()
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

    #[test]
    fn an_answer_has_four_sentences_and_two_doubts_before_the_rest() {
        let many = |n: usize| (0..n).map(|i| format!("{i}\u{1b}")).collect::<Vec<_>>();
        let answer = Answer::new(many(8), many(3));
        assert_eq!((answer.says.len(), answer.evidence.len(), answer.further_doubts().count()), (4, 4, 1));
        assert!(answer.lines().len() == 9 && answer.lines()[4].starts_with("Doubt: "), "all sentences are kept");
        assert_eq!(answer.doubt().map(|text| text.matches(';').count()), Some(1), "only two of three doubts are named");
        assert!(answer.lines().iter().all(|line| !line.contains('\u{1b}')));
        assert_eq!(Answer::default().doubt(), None);
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
