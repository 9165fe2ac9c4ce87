//! Clause order: two events in their natural order, joined by `after` or `before`.
//!
//! `subject FIRST before pronoun SECOND .`, `subject SECOND after pronoun FIRST .`, `after subject FIRST , pronoun SECOND .`, `before
//! subject SECOND , pronoun FIRST .` The order of the events determines the connective.

use rand_chacha::rand_core::Rng;

use super::phrases::{Annotated, Draft};
use super::{Side, held_out};

/// Pairs of events; the first naturally precedes the second.
#[rustfmt::skip]
pub const EVENTS: &[[&str; 2]] = &[
    ["opened the door", "entered the house"], ["bought the ticket", "watched the film"],
    ["cooked the soup", "ate the soup"], ["took off the shoes", "went to bed"],
    ["washed the plates", "dried the plates"], ["learned the song", "sang the song"],
    ["found the key", "opened the box"], ["wrote the letter", "sent the letter"],
    ["put on the coat", "left the house"], ["filled the cup", "drank the tea"],
    ["caught the fish", "cooked the fish"], ["planted the tree", "picked the apples"],
    ["packed the bag", "started the journey"], ["climbed the hill", "saw the valley"],
    ["lit the candle", "read the book"], ["asked the question", "heard the answer"],
    ["built the house", "painted the walls"], ["woke up", "got dressed"],
    ["bought the flour", "baked the cake"], ["read the map", "found the road"],
    ["loaded the truck", "drove the truck"], ["sharpened the knife", "cut the bread"],
    ["fell from the horse", "saw a doctor"], ["won the race", "received the prize"],
];

#[rustfmt::skip]
pub const ACTORS: &[[&str; 2]] = &[
    ["man", "he"], ["woman", "she"], ["boy", "he"], ["girl", "she"], ["king", "he"], ["queen", "she"],
    ["father", "he"], ["mother", "she"], ["brother", "he"], ["sister", "she"], ["uncle", "he"], ["aunt", "she"],
    ["son", "he"], ["daughter", "she"], ["grandfather", "he"], ["grandmother", "she"],
];

pub const CONNECTIVES: [&str; 2] = ["after", "before"];

/// Draws the next sentence. A fifth of the combinations of actor and events are held out from training.
pub fn sentence(side: Side, rng: &mut impl Rng) -> Annotated {
    let mut text = Draft::new(rng);
    let ([actor, pronoun], [first, second]) = loop {
        let (actor, events) = (text.pick(ACTORS), text.pick(EVENTS));
        if held_out("clause order 3", &[actor[0], events[0], events[1]]) == (side == Side::Held) {
            break (actor, events);
        }
    };
    let (fronted, after) = (text.flip(0.5), text.flip(0.5));
    let [word, other] = if after { CONNECTIVES } else { [CONNECTIVES[1], CONNECTIVES[0]] };
    // Clause after the connective, and the other clause.
    let (inside, outside) = if after { (first, second) } else { (second, first) };
    let focus = if fronted {
        let focus = text.at(word);
        text.words("the");
        text.words(actor);
        text.words(inside);
        text.words(",");
        text.words(pronoun);
        text.words(outside);
        focus
    } else {
        text.words("the");
        text.words(actor);
        text.words(outside);
        let focus = text.at(word);
        text.words(pronoun);
        text.words(inside);
        focus
    };
    text.end(focus, Some(other), false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use stats::rng::stream;

    proptest! {
        #[test]
        fn connective_follows_from_the_events(seed: u64, held: bool) {
            let side = if held { Side::Held } else { Side::Train };
            let mut rng = stream(seed, "order test");
            for _ in 0..30 {
                let s = sentence(side, &mut rng);
                let text = s.tokens.join(" ");
                let [first, second] = EVENTS.iter().find(|e| e.iter().all(|x| text.contains(x))).unwrap();
                let (word, fronted) = (s.tokens[s.focus[0]].as_str(), s.focus[0] == 0);
                let in_order = text.find(first) < text.find(second);
                // "after A, B" and "A before B" state the first event first.
                prop_assert_eq!(in_order, (word == "after") == fronted, "{}", text);
            }
        }
    }

    #[test]
    fn both_halves_contain_every_event_pair() {
        for [first, second] in EVENTS {
            let held = ACTORS.iter().filter(|a| held_out("clause order 3", &[a[0], first, second])).count();
            assert!((1..ACTORS.len() - 4).contains(&held), "{first}: {held} of {} held out", ACTORS.len());
        }
    }
}
