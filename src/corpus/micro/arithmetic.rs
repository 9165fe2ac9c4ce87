//! Sums and differences of numbers from zero to twenty, in words.
//!
//! `seven plus five is twelve .`, `seven and five make twelve .`, `twelve minus five is seven .`, `five from twelve leaves seven .` A fifth
//! of the sums (each in both orders) and of the differences is held out from training.

use rand_chacha::rand_core::Rng;

use super::phrases::{Annotated, Draft};
use super::{Side, held_out};

#[rustfmt::skip]
pub const NUMBERS: [&str; 21] = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
];

/// True if a sum (in both orders) or a difference is held out from training.
pub(crate) fn is_held_out(plus: bool, a: usize, b: usize) -> bool {
    let (a, b) = if plus { (a.min(b), a.max(b)) } else { (a, b) };
    held_out(if plus { "sum" } else { "difference" }, &[NUMBERS[a], NUMBERS[b]])
}

/// Draws the next sentence.
pub fn sentence(side: Side, rng: &mut impl Rng) -> Annotated {
    let mut text = Draft::new(rng);
    let (plus, a, b) = loop {
        let (plus, a, b) = (text.flip(0.5), text.index(NUMBERS.len()), text.index(NUMBERS.len()));
        let exists = if plus { a + b < NUMBERS.len() } else { b <= a };
        if exists && is_held_out(plus, a, b) == (side == Side::Held) {
            break (plus, a, b);
        }
    };
    let (first, second) = (NUMBERS[a], NUMBERS[b]);
    let result = NUMBERS[if plus { a + b } else { a - b }];
    let words = match (plus, text.flip(0.5)) {
        (true, true) => [first, "plus", second, "is"],
        (true, false) => [first, "and", second, "make"],
        (false, true) => [first, "minus", second, "is"],
        (false, false) => [second, "from", first, "leaves"],
    };
    text.tokens.extend(words);
    let focus = text.at(result);
    text.end(focus, None, true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::rng::stream;
    use std::collections::HashSet;

    #[test]
    fn sums_are_correct_and_halves_are_disjoint() {
        let sums = |side| -> HashSet<(bool, usize, usize)> {
            let mut rng = stream(1, "arithmetic test");
            (0..20_000)
                .map(|_| {
                    let s = sentence(side, &mut rng);
                    let value = |i: usize| NUMBERS.iter().position(|n| *n == s.tokens[i]).unwrap();
                    let (x, y, z) = (value(0), value(2), value(4));
                    assert_eq!(s.focus, [4]);
                    match s.tokens[1].as_str() {
                        "plus" | "and" => {
                            assert_eq!(x + y, z);
                            (true, x.min(y), x.max(y))
                        }
                        "minus" => {
                            assert_eq!(x - y, z);
                            (false, x, y)
                        }
                        _ => {
                            assert_eq!(y - x, z);
                            (false, y, x)
                        }
                    }
                })
                .collect()
        };
        let (train, held) = (sums(Side::Train), sums(Side::Held));
        println!("{} trained, {} held out", train.len(), held.len());
        assert!(train.is_disjoint(&held));
        // 121 unordered sums and 231 differences.
        assert_eq!(train.len() + held.len(), 352);
        assert!((50..90).contains(&held.len()));
    }
}
