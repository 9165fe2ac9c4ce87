//! Compact storage for a million names in file order, and a lookup of their positions.

use std::hash::{BuildHasher, RandomState};

/// Names in file order, stored as one text with the end position of each name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Names {
    text: String,
    ends: Vec<usize>,
}

impl Names {
    /// Adds a name, optionally followed by a space and a second part.
    pub fn push(&mut self, name: &str, more: Option<&str>) {
        self.text.push_str(name);
        if let Some(more) = more {
            self.text.push(' ');
            self.text.push_str(more);
        }
        self.ends.push(self.text.len());
    }

    /// Returns the name at an index, if in range.
    pub fn get(&self, at: usize) -> Option<&str> {
        let end = *self.ends.get(at)?;
        let begin = if at == 0 { 0 } else { self.ends[at - 1] };
        Some(&self.text[begin..end])
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).filter_map(|at| self.get(at))
    }

    /// Returns the common suffix (empty, or the filter) if every name is a whole number followed by that suffix and the numbers increase.
    fn rising(&self) -> Option<String> {
        let first = self.get(0)?;
        let behind = first.trim_start_matches(|c: char| c.is_ascii_digit());
        let mut last = None;
        let rise = self.iter().all(|name| {
            let number = name.strip_suffix(behind).and_then(whole);
            let rises = number.is_some() && number > last;
            last = number;
            rises
        });
        rise.then(|| behind.to_owned())
    }
}

/// Parses a whole number without leading zeros, so that equal numbers have equal names.
fn whole(name: &str) -> Option<u64> {
    let plain = name.bytes().all(|b| b.is_ascii_digit()) && (name.len() == 1 || !name.starts_with('0'));
    name.parse().ok().filter(|_| plain)
}

/// Positions of distinct names.
#[derive(Debug, Clone)]
pub enum Places {
    /// Increasing numbers with a common suffix.
    Rising(String),
    /// Hash table with open addressing that is at most half full. Each slot contains part of the hash and an index.
    Table {
        /// Randomly keyed hasher, so that nobody can choose names that collide.
        hasher: RandomState,
        /// Index and hash tag of each slot; index `u32::MAX` marks an empty slot.
        slots: Vec<(u32, u32)>,
    },
}

impl Places {
    /// Indexes distinct names; if a name repeats, fails with the index of the first repetition.
    pub fn of(names: &Names) -> Result<Self, usize> {
        if let Some(behind) = names.rising() {
            return Ok(Places::Rising(behind));
        }
        let hasher = RandomState::new();
        let mut slots = vec![(u32::MAX, 0); (2 * names.len()).next_power_of_two().max(2)];
        for (place, name) in names.iter().enumerate() {
            let hash = hasher.hash_one(name);
            match slot(&slots, hash, |at| names.get(at) == Some(name)) {
                (_, Some(_)) => return Err(place),
                (free, None) => slots[free] = (place as u32, (hash >> 32) as u32),
            }
        }
        Ok(Places::Table { hasher, slots })
    }

    /// Returns the index of a name in the list given to [`Places::of`].
    pub fn find(&self, names: &Names, name: &str) -> Option<u32> {
        match self {
            Places::Rising(behind) => {
                let number = |name: &str| name.strip_suffix(behind.as_str()).and_then(whole);
                let wanted = number(name)?;
                let (mut low, mut high) = (0, names.len());
                while low < high {
                    let middle = (low + high) / 2;
                    if names.get(middle).and_then(number)? < wanted { low = middle + 1 } else { high = middle }
                }
                (names.get(low) == Some(name)).then_some(low as u32)
            }
            Places::Table { hasher, slots } => slot(slots, hasher.hash_one(name), |at| names.get(at) == Some(name)).1,
        }
    }
}

/// Returns the slot and index of an entry with this hash, or a free slot.
fn slot(slots: &[(u32, u32)], hash: u64, same: impl Fn(usize) -> bool) -> (usize, Option<u32>) {
    let (mask, tag) = (slots.len() - 1, (hash >> 32) as u32);
    let mut at = hash as usize & mask;
    loop {
        match slots[at] {
            (u32::MAX, _) => return (at, None),
            (place, known) if known == tag && same(place as usize) => return (at, Some(place)),
            _ => at = (at + 1) & mask,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    fn names(all: &[String]) -> Names {
        let mut names = Names::default();
        all.iter().for_each(|name| names.push(name, None));
        names
    }

    proptest! {
        #[test]
        fn places_match_a_map(
            all in proptest::collection::vec("[0-9]{1,3}( [f-g])?|[a-c]{0,3}", 0..60), sorted in any::<bool>(), asked in "[0-9]{1,3}( f)?|[a-c]{0,3}",
        ) {
            let mut all = all;
            if sorted {
                let number = |name: &String| name.strip_suffix(" f").unwrap_or(name).parse::<u64>().ok();
                all.retain(|name| number(name).is_some());
                all.sort_by_key(number);
            }
            let names = names(&all);
            prop_assert_eq!(names.iter().map(str::to_owned).collect::<Vec<_>>(), all.clone());
            let mut map = HashMap::new();
            let twice = all.iter().enumerate().find_map(|(at, name)| map.insert(name.clone(), at).map(|_| at));
            match Places::of(&names) {
                Ok(places) => {
                    prop_assert_eq!(twice, None);
                    for name in all.iter().chain([&asked]) {
                        prop_assert_eq!(places.find(&names, name).map(|at| at as usize), map.get(name).copied());
                    }
                }
                Err(at) => prop_assert_eq!(twice, Some(at)),
            }
        }
    }

    #[test]
    fn only_unordered_ids_need_a_table() {
        let of = |list: &[&str]| Places::of(&names(&list.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>()));
        assert!(matches!(of(&["0", "7", "100"]), Ok(Places::Rising(_))));
        assert!(matches!(of(&["0 f1", "7 f1", "100 f1"]), Ok(Places::Rising(behind)) if behind == " f1"));
        assert!(matches!(of(&["0 f1", "7 f2"]), Ok(Places::Table { .. })));
        for other in [["1", "01"], ["2", "1"], ["1", "x"], ["1", "+2"]] {
            assert!(matches!(of(&other), Ok(Places::Table { .. })), "{other:?}");
        }
        assert_eq!(of(&["a", "b", "a"]).err(), Some(2));
        assert_eq!(of(&["3", "3"]).err(), Some(1));
    }
}
