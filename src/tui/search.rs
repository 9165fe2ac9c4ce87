//! Search in commands for help and palette: every typed word must be the start of a word; matches in names come first.

use super::commands::{COMMANDS, Context, Entry};
use super::key::Key;
use super::panes::heads::HEADS;
use super::state::State;
use labs::terms::Term;

#[derive(Clone, Copy)]
pub enum HelpLine {
    Heading(Context),
    Command(&'static Entry),
}

/// The names of Greek letters that the screen uses.
const GREEK: [(char, &str); 8] = [
    ('α', "alpha"),
    ('β', "beta"),
    ('δ', "delta"),
    ('ε', "epsilon"),
    ('κ', "kappa"),
    ('λ', "lambda"),
    ('ρ', "rho"),
    ('φ', "phi"),
];

/// A text for searches: in lower case, with Greek letters by name, so that `α` and `alpha` find each other.
pub(crate) fn folded(text: &str) -> String {
    let text = text.to_lowercase();
    if text.is_ascii() {
        return text;
    }
    GREEK.iter().fold(text, |text, (letter, name)| text.replace(*letter, name))
}

/// True if each word of `query` is the start of a word in `text`; both must be in lower case.
fn begins_words(text: &str, query: &str) -> bool {
    let words = || text.split(|c: char| !c.is_alphanumeric());
    query.split_whitespace().all(|wanted| words().any(|word| word.starts_with(wanted)))
}

/// Rank of a match:
/// - 0: the query is a key, or the start of the name or title;
/// - 1: its words start words of the name or title;
/// - 2: its words start words of the description;
/// - 3: it occurs inside a word of the name or title.
fn rank(entry: &Entry, keys: &[Key], query: &str) -> Option<usize> {
    // Keys are case-sensitive: `K` is not `k`.
    let is_key = keys.iter().any(|key| key.to_string() == query.trim());
    let query = folded(query.trim());
    let (name, doc) = (folded(&format!("{} {}", entry.name, entry.title)), folded(entry.doc));
    match () {
        () if is_key || entry.name.starts_with(&query) || entry.title.starts_with(&query) => Some(0),
        () if begins_words(&name, &query) => Some(1),
        () if begins_words(&format!("{name} {doc}"), &query) => Some(2),
        () if query.split_whitespace().all(|word| name.contains(word)) => Some(3),
        () => None,
    }
}

/// Number of ranks of [`rank_of_name`].
pub(crate) const NAMES: usize = 4;

/// Rank of a name that matches a filter: equal, at the start, at the starts of words, inside.
pub(crate) fn rank_of_name(name: &str, filter: &str) -> Option<usize> {
    let (name, filter) = (folded(name), folded(filter.trim()));
    let matches = [name == filter, name.starts_with(&filter), begins_words(&name, &filter), name.contains(&filter)];
    matches.into_iter().position(|matches| matches)
}

/// The query without the filter key, which may be typed before it.
fn wanted(query: &str) -> &str {
    query.strip_prefix('/').filter(|rest| !rest.is_empty()).unwrap_or(query)
}

/// Commands that match the palette's query, best match first. An empty query matches all commands, those used last first.
pub fn palette(state: &State, query: &str) -> Vec<&'static Entry> {
    let query = wanted(query);
    let shown = state.view.screen;
    let here = [Context::Global, Context::Everywhere, Context::Replay, Context::Screen(shown), Context::Menu(shown)];
    let offered = |e: &&&'static Entry| here.contains(&e.context) && e.name != "palette" && (e.enabled)(state);
    let recent = |e: &Entry| state.view.recent.iter().position(|name| *name == e.name).unwrap_or(usize::MAX);
    let ranked = COMMANDS.iter().filter(offered).filter_map(|e| Some((rank(e, state.keymap.keys(e.name), query)?, *e)));
    let mut ranked: Vec<(usize, &'static Entry)> = ranked.collect();
    // A stable sort keeps equal entries in the table's order.
    ranked.sort_by_key(|(rank, entry)| (*rank, recent(entry)));
    ranked.into_iter().map(|(_, entry)| entry).collect()
}

/// Matching lines of the help under the headings of their contexts. The context of the best match comes first, or else the current
/// screen's.
pub fn help(state: &State, query: &str) -> Vec<HelpLine> {
    let query = wanted(query);
    let mut groups: Vec<(usize, Vec<HelpLine>)> = Vec::new();
    for context in Context::all(state.view.screen) {
        let mine = COMMANDS.iter().filter(|e| e.context == context);
        let mut matching: Vec<(usize, &'static Entry)> =
            mine.filter_map(|e| Some((rank(e, state.keymap.keys(e.name), query)?, *e))).collect();
        if !query.is_empty() {
            matching.sort_by_key(|(rank, _)| *rank);
        }
        if let Some((best, _)) = matching.first() {
            let rank = if query.is_empty() { 0 } else { *best };
            let lines = matching.iter().map(|(_, entry)| HelpLine::Command(entry));
            groups.push((rank, std::iter::once(HelpLine::Heading(context)).chain(lines).collect()));
        }
    }
    groups.sort_by_key(|(rank, _)| *rank);
    groups.into_iter().flat_map(|(_, lines)| lines).collect()
}

/// True if the query equals a term or one of its symbols.
pub fn is_named(term: &Term, query: &str) -> bool {
    let mut names = std::iter::once(term.name).chain(term.symbol.split(", "));
    names.any(|name| !name.is_empty() && folded(name) == folded(query.trim()))
}

/// Terms and column headings that match: exact names first, then names that contain the query; none for an empty query.
pub fn glossary(query: &str) -> Vec<&'static Term> {
    let query = folded(wanted(query.trim()));
    let matches = |text: &str| begins_words(&folded(text), &query);
    let says = |t: &&Term| is_named(t, &query) || matches(&format!("{} {} {}", t.name, t.symbol, t.meaning));
    let matching = labs::glossary().iter().chain(HEADS);
    let mut found: Vec<&Term> = matching.filter(|t| !query.is_empty() && says(t)).collect();
    found.sort_by_key(|term| (!is_named(term, &query), !matches(term.name)));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Start;

    fn names(state: &State, query: &str) -> Vec<&'static str> {
        palette(state, query).into_iter().map(|e| e.name).collect()
    }

    /// Regression: a fuzzy search used to find "command palette" for "plane" and list it before the pane.
    #[test]
    fn matches_contain_the_query_and_names_come_first() {
        let state = State::new(Start::new());
        assert_eq!(names(&state, "theme")[0], "theme");
        assert!(names(&state, "zqx").is_empty());
        let found = names(&state, "figure");
        let first = found.iter().position(|n| *n == "next-figure").unwrap();
        assert!(found.iter().skip(first).any(|n| *n == "open"), "{found:?}");
    }

    /// Regression: "art" used to find "start", and a description with "parts" came before a name.
    #[test]
    fn word_starts_match_and_names_come_first() {
        assert!(begins_words("go to the start", "sta") && !begins_words("go to the start", "art"));
        let state = State::new(Start::new());
        let found = help(&state, "theme");
        let first = found.iter().find_map(|line| match line {
            HelpLine::Command(entry) => Some(entry.name),
            HelpLine::Heading(_) => None,
        });
        assert_eq!(first, Some("theme"));
        assert!(glossary("elective").is_empty() && !glossary("attract").is_empty());
    }

    /// Regression: the help used to find nothing for "flips" and the interval of R.
    #[test]
    fn column_headings_are_found() {
        let mut state = State::new(Start::new());
        let mut seen = Vec::new();
        for screen in crate::screens::SCREENS {
            state.show(screen.id());
            for table in screen.panes().into_iter().filter_map(|pane| screen.table(&state, pane)) {
                seen.extend(&table.columns);
            }
        }
        assert!(glossary("pair").first().is_some_and(|term| term.name == "pair"), "the column heading comes first");
        seen.extend(["dispens", "import", "trans"]);
        assert!(["flips %", "interval", "facts", "dimension"].iter().all(|head| seen.contains(head)), "{seen:?}");
        for head in seen {
            assert!(!glossary(head).is_empty(), "{head}");
        }
    }

    #[test]
    fn palette_lists_each_command_once_recent_first() {
        let mut state = State::new(Start::new());
        let all = names(&state, "");
        let mut once = all.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), all.len());
        state.view.recent = vec!["glossary", "theme"];
        assert_eq!(names(&state, "")[..2], ["glossary", "theme"]);
    }

    /// Regression: `K` explains terms, but the search used to find only commands that start with k.
    #[test]
    fn keys_are_case_sensitive() {
        let state = State::new(Start::new());
        let found = help(&state, "K");
        assert!(found.iter().any(|line| matches!(line, HelpLine::Command(e) if e.name == "glossary")));
        assert!(names(&state, "K").first().is_some_and(|name| *name == "glossary"), "{:?}", names(&state, "K"));
        assert!(!names(&state, "k").contains(&"glossary") || names(&state, "k")[0] != "glossary");
    }

    #[test]
    fn help_starts_with_the_shown_screen() {
        let state = State::new(Start::new());
        let first = help(&state, "").into_iter().next();
        assert!(matches!(first, Some(HelpLine::Heading(Context::Screen(id))) if id == state.view.screen));
        assert!(help(&state, "zqx").is_empty());
    }

    /// Regression: `?` used to find neither the significance level nor the annotators' agreement for "alpha".
    #[test]
    fn greek_letters_are_found_by_name_and_names_by_letter() {
        for query in ["alpha", "α", "ALPHA"] {
            let found: Vec<&str> = glossary(query).iter().map(|term| term.name).collect();
            assert!(
                found.contains(&"significance level") && found.contains(&"Krippendorff's alpha"),
                "{query}: {found:?}"
            );
        }
        assert!(glossary("epsilon").iter().any(|term| term.name == "strength"));
        assert_eq!(rank_of_name("Level α", "alpha"), rank_of_name("Level alpha", "alpha"));
    }

    /// Regression: the help used to lack words that are on the saliency screen.
    #[test]
    fn help_explains_words_of_the_saliency_screen() {
        for word in ["changed partner", "perturbed form", "PCC", "random", "gold", "top K", "dispens"] {
            assert!(!glossary(word).is_empty(), "{word}");
        }
    }
}
