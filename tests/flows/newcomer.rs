//! A new user's first quarter of an hour, key by key; it must not take more than 25 keys.

use super::*;
use probity::tui::memory::Memory;
use probity::tui::state::Opening;

/// Presses keys and counts them.
struct Hands {
    h: Harness,
    pressed: usize,
}

impl Hands {
    fn press(&mut self, keys: &str) -> Vec<Effect> {
        self.pressed += keys.split_whitespace().count();
        self.h.keys(keys)
    }

    fn sees(&self, text: &str) {
        let screen = self.h.screen();
        assert!(screen.contains(text), "`{text}` after {} keys:\n{screen}", self.pressed);
    }

    /// Finishes the run with this generation.
    fn computed(&mut self, generation: u64) {
        self.h.events_of(generation, measured(2400, true));
        let outcome = Outcome::Done;
        self.h.event(Event::Finished { job: generation, generation, outcome, seconds: 30.0 });
    }
}

#[test]
fn new_user_needs_at_most_25_keys() {
    let mut h = Harness::of(Start { opening: Opening::First, ..start() });
    h.act(Action::Start);
    h.event(common::ready());
    h.event(common::models());
    let mut hands = Hands { h, pressed: 0 };
    // The answer of a recorded example is readable without pressing a key. One key starts the user's own run.
    hands.sees("Probity shows how far a probe");
    hands.sees("Can the subject number be changed in bert-mini");
    hands.sees("Required (");
    hands.sees("r starts your own run");
    let effects = hands.press("r");
    assert!(matches!(sent(&effects)[0], Command::Run { generation: 1, .. }));
    hands.computed(1);
    hands.sees("Required (");
    // Selects another model next to the first.
    hands.press("shift-tab j space");
    hands.sees("changed since the last run");
    hands.sees("r runs it");
    let effects = hands.press("r");
    assert!(matches!(sent(&effects)[0], Command::Run { generation: 2, .. }));
    hands.computed(2);
    // One key reaches the previous run, and both are shown side by side.
    hands.press("D enter");
    hands.sees("models ");
    hands.sees("R of ");
    hands.press("esc K");
    hands.sees("completeness (C)");
    let effects = hands.press("esc x enter");
    assert!(effects.iter().any(|e| matches!(e, Effect::Export(..))), "{effects:?}");
    assert!(quits(&hands.press("q")));
    // The next start opens where this one ended and runs nothing.
    let memory = Some(Memory::of(&hands.h.state));
    let mut again = Harness::of(Start { opening: Opening::Home, memory, ..start() });
    let effects = again.act(Action::Start);
    assert!(
        !sent(&effects).iter().any(|c| matches!(c, Command::Run { .. })) && effects.contains(&Effect::ListSessions)
    );
    let recorded = probity::session::shelf::Recorded {
        name: "agreement-1".into(),
        path: "/sessions/agreement-1.probity.jsonl".into(),
        created: "2026-03-02T11:04:05Z".into(),
        lab: "interventions".into(),
        about: "agreement on bert-mini".into(),
        runs: 1,
        end: probity::session::shelf::End::Done,
    };
    again.act(Action::Sessions(Ok(vec![recorded])));
    let mut hands = Hands { h: again, pressed: hands.pressed };
    hands.sees("agreement-1");
    let effects = hands.press("r");
    assert!(effects.iter().any(|e| matches!(e, Effect::ResumeSession(..))), "{effects:?}");
    assert!(hands.pressed <= 25, "{} keys", hands.pressed);
}
