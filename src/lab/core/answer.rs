//! A run's answer to its question: sentences for readers from another field, and doubts.

use base::text::last_part;

const SENTENCES: usize = 4;
/// Maximum number of doubts in the sentence after the results.
const DOUBTS: usize = 2;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// Results, most important first: one claim per sentence, with n and interval.
    pub says: Vec<String>,
    /// All doubts, most serious first.
    pub doubts: Vec<String>,
}

impl Answer {
    /// Keeps the first four results and makes external text printable.
    pub fn new(mut says: Vec<String>, doubts: Vec<String>) -> Self {
        says.truncate(SENTENCES);
        let clean = |all: Vec<String>| all.iter().map(|text| base::text::printable_message(text)).collect();
        Self { says: clean(says), doubts: clean(doubts) }
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

    /// The results, then the sentence of doubts.
    pub fn lines(&self) -> Vec<String> {
        self.says.iter().cloned().chain(self.doubt()).collect()
    }
}

/// The doubt about intervals over fewer than `enough` units, whose coverage is below their level. `covered` is the share of
/// simulated cases in which one contained the true value, with the number of units (guide, page on intervals).
pub fn few(n: usize, enough: usize, units: &str, covered: &str) -> Option<String> {
    let one = units.strip_suffix('s').filter(|one| n == 1 && !one.contains(' '));
    let few = one.map_or_else(|| format!("{n} {units} are"), |one| format!("1 {one} is"));
    (n < enough)
        .then(|| format!("{few} few: in simulations a 95 % interval contained the true value in only {covered}"))
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
    fn an_answer_keeps_four_sentences_and_says_two_doubts_first() {
        let many = |n: usize| (0..n).map(|i| format!("{i}\u{1b}")).collect::<Vec<_>>();
        let answer = Answer::new(many(6), many(3));
        assert_eq!((answer.says.len(), answer.further_doubts().count(), answer.lines().len()), (4, 1, 5));
        assert_eq!(answer.doubt().map(|text| text.matches(';').count()), Some(1), "two of three doubts");
        assert!(answer.lines().iter().all(|line| !line.contains('\u{1b}')));
        assert_eq!(Answer::default().doubt(), None);
    }

    /// Regression: the doubt used to begin "1 relations are few".
    #[test]
    fn one_unit_is_few_and_two_are() {
        let told = |n: usize| few(n, 3, "relations", "x").unwrap();
        assert!(told(1).starts_with("1 relation is few") && told(2).starts_with("2 relations are few"));
        assert_eq!(few(3, 3, "relations", "x"), None);
    }

    #[test]
    fn names_read_as_prose() {
        let of = |names: &[&str]| listed(&names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>(), "models");
        assert_eq!(of(&["/far/away/bert"]), "bert");
        assert_eq!(of(&["a", "b", "c"]), "a, b and c");
        assert_eq!(of(&["a", "b", "c", "d"]), "4 models");
        assert_eq!(of(&[]), "no models");
        assert_eq!(asked_of(&[]), "a model (none is ticked)", "a question was put to no models");
    }
}
