//! Simple commonsense: the wish that an event causes.
//!
//! `because CAUSE , subject wanted the EFFECT .`, `CAUSE , so subject needed the EFFECT .`, `subject looked for the EFFECT because CAUSE .`
//! Causes and effects come in groups (cold, hunger, darkness, ...); each cause combines with every effect of its group. A fifth of the
//! cause-effect pairs is held out from training, so a model must infer these from other pairs with the same cause or effect.

use rand_chacha::rand_core::Rng;

use super::phrases::{Annotated, Draft};
use super::{Side, held_out};

/// Causes and effects; every cause can be combined with every effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Group {
    pub name: &'static str,
    /// Clauses in the past tense.
    pub causes: [&'static str; 5],
    /// Nouns.
    pub effects: [&'static str; 5],
}

const fn group(name: &'static str, causes: [&'static str; 5], effects: [&'static str; 5]) -> Group {
    Group { name, causes, effects }
}

#[rustfmt::skip]
pub const GROUPS: &[Group] = &[
    group("cold", ["the snow fell", "the wind was icy", "winter came early", "the lake froze", "the stove failed"],
        ["coat", "blanket", "scarf", "fireplace", "gloves"]),
    group("heat", ["the sun burned", "summer came early", "the day was hot", "the air was dusty", "the sand was warm"],
        ["fan", "shade", "pool", "sunscreen", "breeze"]),
    group("hunger", ["the breakfast was late", "the plate was empty", "the lunch was small", "the guests had no food", "the bakery was closed"],
        ["bread", "soup", "cheese", "sandwich", "rice"]),
    group("thirst", ["the well was dry", "the bottle was empty", "the fish was salty", "the desert was wide", "the throat was dry"],
        ["water", "juice", "tea", "milk", "lemonade"]),
    group("darkness", ["the lights went out", "the night came", "the cave was deep", "the cellar had no window", "the moon was hidden"],
        ["lamp", "candle", "torch", "lantern", "matches"]),
    group("rain", ["the rain began", "the roof leaked", "the storm came", "the clouds were black", "the river rose"],
        ["umbrella", "boots", "raincoat", "bucket", "towel"]),
    group("illness", ["the fever rose", "the head hurt", "the cough was bad", "the tooth hurt", "the wound bled"],
        ["doctor", "medicine", "bandage", "nurse", "pill"]),
    group("tiredness", ["the day was long", "the work was hard", "the night was short", "the walk lasted hours", "the hour was late"],
        ["bed", "pillow", "sofa", "hammock", "couch"]),
    group("repair", ["the chair broke", "the fence fell down", "the shelf came off", "the door hung loose", "the table lost a leg"],
        ["hammer", "nails", "glue", "saw", "screwdriver"]),
    group("debt", ["the rent was due", "the price rose", "the bill came", "the shop wanted payment", "the taxes went up"],
        ["money", "wallet", "cash", "purse", "loan"]),
    group("fire", ["the house burned", "the smoke filled the hall", "the curtain caught fire", "the alarm rang", "the flames spread"],
        ["hose", "exit", "firefighter", "sprinkler", "extinguisher"]),
    group("boredom", ["the afternoon was dull", "the game was over", "the friends were away", "the lesson was slow", "the holiday was quiet"],
        ["novel", "film", "puzzle", "guitar", "radio"]),
];

/// Subjects of the wish.
#[rustfmt::skip]
pub(crate) const PEOPLE: &[&str] = &[
    "the man", "the woman", "the boy", "the girl", "the farmer", "the teacher", "the king", "the queen", "her brother",
    "his sister", "my uncle", "your aunt", "our neighbor", "the driver", "the student", "the painter",
];

/// Verbs of the wish.
pub(crate) const WANTING: &[&str] = &["wanted", "needed", "looked for", "asked for"];

/// True if a cause-effect pair is held out from training.
pub(crate) fn is_held_out(cause: &str, effect: &str) -> bool {
    held_out("cause and effect 2", &[cause, effect])
}

/// Draws the next sentence; its wrong word is an effect from a different group.
pub fn sentence(side: Side, rng: &mut impl Rng) -> Annotated {
    let mut text = Draft::new(rng);
    let (group, cause, effect) = loop {
        let group = text.pick(GROUPS);
        let (cause, effect) = (text.pick(&group.causes), text.pick(&group.effects));
        if is_held_out(cause, effect) == (side == Side::Held) {
            break (group, cause, effect);
        }
    };
    let other = loop {
        let other = text.pick(GROUPS);
        if other != group {
            break text.pick(&other.effects);
        }
    };
    let shape = text.index(3);
    match shape {
        0 => {
            text.words("because");
            text.words(cause);
            text.words(",");
        }
        1 => {
            text.words(cause);
            text.words(", so");
        }
        _ => {}
    }
    let (who, wanting) = (text.pick(PEOPLE), text.pick(WANTING));
    text.words(who);
    text.words(wanting);
    text.words("the");
    let focus = text.at(effect);
    if shape == 2 {
        text.words("because");
        text.words(cause);
    }
    text.end(focus, Some(other), shape != 2)
}

/// Returns every word that can occur at the focus.
pub fn answers() -> impl Iterator<Item = &'static str> {
    GROUPS.iter().flat_map(|g| g.effects)
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::rng::stream;
    use std::collections::HashSet;

    #[test]
    fn causes_and_effects_belong_to_one_group() {
        let causes: HashSet<_> = GROUPS.iter().flat_map(|g| g.causes).collect();
        let effects: HashSet<_> = answers().collect();
        assert_eq!((causes.len(), effects.len()), (5 * GROUPS.len(), 5 * GROUPS.len()));
        for g in GROUPS {
            assert!(g.effects.iter().all(|e| g.causes.iter().all(|c| !c.split(' ').any(|w| w == *e))), "{}", g.name);
        }
    }

    /// In a held-out pair, the cause and the effect each occur in training with other members of the group.
    #[test]
    fn held_out_pairs_can_be_inferred() {
        let mut held = 0;
        for g in GROUPS {
            for c in g.causes {
                let trained = g.effects.iter().filter(|e| !is_held_out(c, e)).count();
                assert!(trained >= 2, "{c}: {trained}");
                held += 5 - trained;
            }
            for e in g.effects {
                assert!(g.causes.iter().filter(|c| !is_held_out(c, e)).count() >= 2, "{e}");
            }
        }
        println!("{held} of {} pairs held out", 25 * GROUPS.len());
        assert!((40..=80).contains(&held));
    }

    #[test]
    fn halves_share_no_pair() {
        let pairs = |side| -> HashSet<(&str, &str)> {
            let mut rng = stream(1, "causes test");
            (0..6_000)
                .map(|_| {
                    let s = sentence(side, &mut rng);
                    let text = s.tokens.join(" ");
                    let effect = answers().find(|e| *e == s.tokens[s.focus[0]]).unwrap();
                    let group = GROUPS.iter().find(|g| g.effects.contains(&effect)).unwrap();
                    let other = s.other.unwrap();
                    assert!(!group.effects.contains(&other.as_str()) && answers().any(|e| e == other));
                    assert_eq!(
                        s.settled_before,
                        !text.ends_with(&format!("{} .", group.causes.iter().find(|c| text.contains(**c)).unwrap()))
                    );
                    (*group.causes.iter().find(|c| text.contains(**c)).unwrap(), effect)
                })
                .collect()
        };
        let (train, held) = (pairs(Side::Train), pairs(Side::Held));
        assert!(train.is_disjoint(&held) && train.len() + held.len() == 25 * GROUPS.len());
    }
}
