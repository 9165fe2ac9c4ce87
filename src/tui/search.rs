//! Fuzzy search over the table of commands, for help and palette.

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use super::commands::{COMMANDS, Context, Entry};
use super::keymap::Keymap;
use super::state::State;

#[derive(Clone, Copy)]
pub enum HelpLine {
    /// The heading of a context.
    Heading(Context),
    Command(&'static Entry),
}

/// The commands of the palette that match, best first; all of them for an empty query.
pub fn palette(state: &State, query: &str) -> Vec<&'static Entry> {
    let here = [Context::Global, Context::Everywhere, Context::Replay, Context::Screen(state.view.screen)];
    let offered =
        |e: &&&'static Entry| here.contains(&e.context) && e.name != "palette" && (e.enabled)(state);
    let mut ranked: Vec<(u32, &'static Entry)> = Vec::new();
    let mut score = scorer(query);
    for entry in COMMANDS.iter().filter(offered) {
        if let Some(score) = score(&format!("{} {}", entry.name, entry.title)) {
            ranked.push((score, entry));
        }
    }
    // A stable sort keeps the table's order among equals.
    ranked.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    ranked.into_iter().map(|(_, entry)| entry).collect()
}

/// The lines of the help that match, under the headings of their contexts.
pub fn help(keymap: &Keymap, query: &str) -> Vec<HelpLine> {
    let mut lines = Vec::new();
    let mut score = scorer(query);
    for context in Context::all() {
        let heading = context.title();
        let matching: Vec<HelpLine> = COMMANDS
            .iter()
            .filter(|e| e.context == context)
            .filter(|e| {
                let text = format!("{} {} {} {} {heading}", keymap.label(e.name), e.name, e.title, e.doc);
                score(&text).is_some()
            })
            .map(|e| HelpLine::Command(e))
            .collect();
        if !matching.is_empty() {
            lines.push(HelpLine::Heading(context));
            lines.extend(matching);
        }
    }
    lines
}

/// A function that scores texts against a query; none if a text does not match.
fn scorer(query: &str) -> impl FnMut(&str) -> Option<u32> {
    let mut matcher = Matcher::new(Config::DEFAULT);
    let pattern = Pattern::parse(query, CaseMatching::Smart, Normalization::Smart);
    let mut buffer = Vec::new();
    move |text| pattern.score(Utf32Str::new(text, &mut buffer), &mut matcher)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Start;

    fn names(found: &[&'static Entry]) -> Vec<&'static str> {
        found.iter().map(|e| e.name).collect()
    }

    fn commands(lines: &[HelpLine]) -> Vec<&'static str> {
        let name = |line: &HelpLine| if let HelpLine::Command(e) = line { Some(e.name) } else { None };
        lines.iter().filter_map(name).collect()
    }

    #[test]
    fn the_palette_finds_by_fragments_and_offers_only_what_can_be_done() {
        let state = State::new(Start::new());
        assert_eq!(palette(&state, "exfig")[0].name, "export");
        let all = names(&palette(&state, ""));
        assert!(!all.contains(&"replay-pause") && !all.contains(&"palette"));
        assert!(palette(&state, "zzzz").is_empty());
    }

    #[test]
    fn the_palette_opens_every_screen_and_offers_no_commands_of_another() {
        let state = State::new(Start::new());
        let all = names(&palette(&state, ""));
        for screen in crate::screens::SCREENS {
            // There is a grid to show only where one is followed.
            let there = screen.id() != crate::screens::shards::ID;
            assert_eq!(all.contains(&screen.tab().name), there, "{}", screen.title());
        }
        assert!(!all.contains(&"inspect-model") && !all.contains(&"popup-up"));
    }

    #[test]
    fn the_help_is_searched_by_key_by_word_and_by_screen() {
        let keymap = Keymap::default();
        assert_eq!(help(&keymap, "").len(), COMMANDS.len() + Context::all().len());
        assert!(commands(&help(&keymap, "clipboard")).contains(&"copy"));
        assert!(commands(&help(&keymap, "ctrl-c")).contains(&"cancel"));
        assert!(commands(&help(&keymap, "popup")).contains(&"popup-close"));
        assert!(help(&keymap, "zzzz").is_empty());
    }

    #[test]
    fn the_best_match_of_the_palette_comes_first_and_equals_keep_the_order_of_the_table() {
        let state = State::new(Start::new());
        assert_eq!(palette(&state, "zoom")[0].name, "zoom");
        let all = names(&palette(&state, ""));
        let table: Vec<&str> = COMMANDS.iter().map(|e| e.name).filter(|n| all.contains(n)).collect();
        assert_eq!(all, table);
    }

    #[test]
    fn in_a_replay_the_palette_offers_its_commands_and_none_that_run_anything() {
        let replay = Some(crate::state::ReplayState::new("s".into(), 1.0, 1.0));
        let state = State::new(Start { replay, ..Start::new() });
        let all = names(&palette(&state, ""));
        assert!(all.contains(&"replay-pause") && !all.contains(&"run") && !all.contains(&"name-session"));
    }

    #[test]
    fn headings_stand_only_over_commands_that_match() {
        let lines = help(&Keymap::default(), "'halves");
        assert!(
            matches!(lines[..], [HelpLine::Heading(Context::Replay), HelpLine::Command(_)]),
            "{}",
            lines.len()
        );
    }
}
