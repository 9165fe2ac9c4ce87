//! The lexicon of Micro-English. Every surface form belongs to a single category and number.

use serde::{Deserialize, Serialize};

/// Semantic kind of a noun, which restricts the words that it combines with. Sets of kinds are bit masks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[repr(u8)]
pub enum Kind {
    Person = 1,
    Animal = 2,
    /// Artefacts, plants and food.
    Thing = 4,
    /// Buildings, landscapes and rooms.
    Place = 8,
}

impl Kind {
    /// Index on the animacy scale (human, animal, inanimate; Silverstein 1976); places are inanimate.
    pub fn animacy(self) -> usize {
        match self {
            Kind::Person => 0,
            Kind::Animal => 1,
            Kind::Thing | Kind::Place => 2,
        }
    }
}

/// Bit mask of [`Kind`]s.
pub type Kinds = u8;

const P: Kinds = Kind::Person as u8;
const T: Kinds = Kind::Thing as u8;
const L: Kinds = Kind::Place as u8;
/// Animate: people and animals.
const A: Kinds = P | Kind::Animal as u8;
const ANY: Kinds = A | T | L;

/// A countable noun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Noun {
    /// Singular and plural, indexed by [`super::Number::index`].
    pub forms: [&'static str; 2],
    pub kind: Kind,
}

/// Complement of a verb.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame {
    /// Adjective, prepositional phrase or participle (`is`, `are`).
    Copula,
    /// Adjective (`seems`, `looks`).
    Linking,
    /// Object whose kind is in this set.
    Transitive(Kinds),
    /// No complement, an adverb or a prepositional phrase.
    Intransitive,
}

/// A present-tense verb in the third person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verb {
    /// Singular and plural, indexed by [`super::Number::index`].
    pub forms: [&'static str; 2],
    pub frame: Frame,
    pub subjects: Kinds,
    /// Relative frequency.
    pub weight: u32,
}

/// A word and the kinds of noun with which it combines.
pub type Word = (&'static str, Kinds);

#[rustfmt::skip]
const PERSONS: &[[&str; 2]] = &[
    ["teacher", "teachers"], ["student", "students"], ["doctor", "doctors"], ["nurse", "nurses"], ["farmer", "farmers"],
    ["lawyer", "lawyers"], ["singer", "singers"], ["writer", "writers"], ["painter", "painters"], ["driver", "drivers"],
    ["pilot", "pilots"], ["sailor", "sailors"], ["soldier", "soldiers"], ["baker", "bakers"], ["butcher", "butchers"],
    ["hunter", "hunters"], ["king", "kings"], ["queen", "queens"], ["prince", "princes"], ["guard", "guards"],
    ["judge", "judges"], ["artist", "artists"], ["actor", "actors"], ["author", "authors"], ["poet", "poets"],
    ["neighbor", "neighbors"], ["friend", "friends"], ["cousin", "cousins"], ["uncle", "uncles"], ["aunt", "aunts"],
    ["brother", "brothers"], ["sister", "sisters"], ["son", "sons"], ["daughter", "daughters"], ["boy", "boys"],
    ["girl", "girls"], ["man", "men"], ["woman", "women"], ["child", "children"], ["baby", "babies"],
    ["lady", "ladies"], ["thief", "thieves"], ["wife", "wives"], ["hero", "heroes"], ["person", "people"],
    ["policeman", "policemen"], ["fisherman", "fishermen"], ["secretary", "secretaries"], ["manager", "managers"],
    ["tourist", "tourists"], ["visitor", "visitors"], ["waiter", "waiters"], ["captain", "captains"],
];

#[rustfmt::skip]
const ANIMALS: &[[&str; 2]] = &[
    ["dog", "dogs"], ["cat", "cats"], ["horse", "horses"], ["cow", "cows"], ["pig", "pigs"], ["goat", "goats"],
    ["bird", "birds"], ["duck", "ducks"], ["rabbit", "rabbits"], ["lion", "lions"], ["tiger", "tigers"],
    ["bear", "bears"], ["wolf", "wolves"], ["fox", "foxes"], ["mouse", "mice"], ["goose", "geese"], ["ox", "oxen"],
    ["calf", "calves"], ["monkey", "monkeys"], ["elephant", "elephants"], ["snake", "snakes"], ["frog", "frogs"],
    ["spider", "spiders"], ["bee", "bees"], ["ant", "ants"], ["butterfly", "butterflies"], ["turtle", "turtles"],
    ["whale", "whales"], ["eagle", "eagles"], ["owl", "owls"], ["rat", "rats"], ["donkey", "donkeys"],
    ["puppy", "puppies"],
];

#[rustfmt::skip]
const THINGS: &[[&str; 2]] = &[
    ["key", "keys"], ["lock", "locks"], ["door", "doors"], ["window", "windows"], ["table", "tables"],
    ["chair", "chairs"], ["box", "boxes"], ["book", "books"], ["letter", "letters"], ["picture", "pictures"],
    ["lamp", "lamps"], ["clock", "clocks"], ["cup", "cups"], ["plate", "plates"], ["bottle", "bottles"],
    ["knife", "knives"], ["spoon", "spoons"], ["fork", "forks"], ["shelf", "shelves"], ["drawer", "drawers"],
    ["cabinet", "cabinets"], ["basket", "baskets"], ["bag", "bags"], ["hat", "hats"], ["coat", "coats"],
    ["shoe", "shoes"], ["shirt", "shirts"], ["scarf", "scarves"], ["ring", "rings"], ["coin", "coins"],
    ["card", "cards"], ["map", "maps"], ["newspaper", "newspapers"], ["magazine", "magazines"], ["story", "stories"],
    ["flower", "flowers"], ["tree", "trees"], ["leaf", "leaves"], ["branch", "branches"], ["root", "roots"],
    ["apple", "apples"], ["berry", "berries"], ["potato", "potatoes"], ["tomato", "tomatoes"], ["loaf", "loaves"],
    ["cake", "cakes"], ["egg", "eggs"], ["stone", "stones"], ["brick", "bricks"], ["car", "cars"], ["bus", "buses"],
    ["train", "trains"], ["truck", "trucks"], ["boat", "boats"], ["ship", "ships"], ["plane", "planes"],
    ["bicycle", "bicycles"], ["wheel", "wheels"], ["engine", "engines"], ["machine", "machines"],
    ["computer", "computers"], ["phone", "phones"], ["camera", "cameras"], ["radio", "radios"], ["toy", "toys"],
    ["doll", "dolls"], ["ball", "balls"], ["drum", "drums"], ["guitar", "guitars"], ["bell", "bells"],
    ["candle", "candles"], ["mirror", "mirrors"], ["carpet", "carpets"], ["curtain", "curtains"],
    ["pillow", "pillows"], ["blanket", "blankets"], ["bed", "beds"], ["ladder", "ladders"], ["hammer", "hammers"],
    ["rope", "ropes"], ["tooth", "teeth"], ["foot", "feet"], ["fence", "fences"], ["gate", "gates"], ["sign", "signs"],
    ["statue", "statues"], ["flag", "flags"], ["bench", "benches"],
];

#[rustfmt::skip]
const PLACES: &[[&str; 2]] = &[
    ["house", "houses"], ["garden", "gardens"], ["park", "parks"], ["school", "schools"], ["church", "churches"],
    ["hospital", "hospitals"], ["library", "libraries"], ["museum", "museums"], ["office", "offices"],
    ["store", "stores"], ["market", "markets"], ["bank", "banks"], ["hotel", "hotels"],
    ["restaurant", "restaurants"], ["kitchen", "kitchens"], ["room", "rooms"], ["hall", "halls"],
    ["street", "streets"], ["road", "roads"], ["bridge", "bridges"], ["village", "villages"], ["town", "towns"],
    ["city", "cities"], ["river", "rivers"], ["lake", "lakes"], ["hill", "hills"], ["mountain", "mountains"],
    ["forest", "forests"], ["field", "fields"], ["farm", "farms"], ["island", "islands"], ["beach", "beaches"],
    ["station", "stations"], ["tower", "towers"], ["castle", "castles"], ["factory", "factories"],
    ["valley", "valleys"], ["cave", "caves"],
];

pub static NOUNS: std::sync::LazyLock<Vec<Noun>> = std::sync::LazyLock::new(|| {
    let groups = [(PERSONS, Kind::Person), (ANIMALS, Kind::Animal), (THINGS, Kind::Thing), (PLACES, Kind::Place)];
    groups.iter().flat_map(|&(list, kind)| list.iter().map(move |&forms| Noun { forms, kind })).collect()
});

const fn verb(sg: &'static str, pl: &'static str, frame: Frame, subjects: Kinds, weight: u32) -> Verb {
    Verb { forms: [sg, pl], frame, subjects, weight }
}

use Frame::{Copula, Intransitive as I, Linking, Transitive as Tr};

/// All verbs. The weights approximate the frequencies of `is` and `has` in real text.
#[rustfmt::skip]
pub const VERBS: &[Verb] = &[
    verb("is", "are", Copula, ANY, 24), verb("has", "have", Tr(T), ANY, 12),
    verb("seems", "seem", Linking, ANY, 4), verb("looks", "look", Linking, ANY, 4),
    verb("remains", "remain", Linking, ANY, 3), verb("becomes", "become", Linking, ANY, 3),
    verb("stays", "stay", Linking, ANY, 3), verb("appears", "appear", Linking, ANY, 2),
    verb("feels", "feel", Linking, A, 2),
    verb("walks", "walk", I, A, 2), verb("runs", "run", I, A, 2), verb("sleeps", "sleep", I, A, 2),
    verb("waits", "wait", I, A, 2), verb("sits", "sit", I, A, 2), verb("swims", "swim", I, A, 1),
    verb("jumps", "jump", I, A, 1), verb("eats", "eat", I, A, 2), verb("hides", "hide", I, A, 1),
    verb("rests", "rest", I, A, 1), verb("returns", "return", I, A, 1), verb("comes", "come", I, A, 2),
    verb("goes", "go", I, A, 2), verb("lives", "live", I, A, 2), verb("plays", "play", I, A, 1),
    verb("works", "work", I, P, 2), verb("talks", "talk", I, P, 2), verb("speaks", "speak", I, P, 1),
    verb("laughs", "laugh", I, P, 1), verb("smiles", "smile", I, P, 1), verb("sings", "sing", I, P, 1),
    verb("dances", "dance", I, P, 1), verb("cries", "cry", I, P, 1), verb("listens", "listen", I, P, 1),
    verb("travels", "travel", I, P, 1), verb("falls", "fall", I, A | T, 2), verb("moves", "move", I, A | T, 2),
    verb("stops", "stop", I, A | T, 1), verb("disappears", "disappear", I, ANY, 1),
    verb("stands", "stand", I, ANY, 3), verb("lies", "lie", I, ANY, 2), verb("burns", "burn", I, T | L, 1),
    verb("breaks", "break", I, T, 2), verb("hangs", "hang", I, T, 1), verb("turns", "turn", I, A | T, 1),
    verb("opens", "open", I, T | L, 2), verb("closes", "close", I, T | L, 2), verb("changes", "change", I, ANY, 1),
    verb("grows", "grow", I, ANY, 1), verb("matters", "matter", I, ANY, 1),
    verb("sees", "see", Tr(ANY), A, 2), verb("likes", "like", Tr(ANY), A, 2), verb("loves", "love", Tr(ANY), A, 1),
    verb("knows", "know", Tr(A | L), A, 2), verb("finds", "find", Tr(A | T), A, 2),
    verb("follows", "follow", Tr(A), A, 1), verb("watches", "watch", Tr(A | T), A, 1),
    verb("hears", "hear", Tr(A), A, 1), verb("carries", "carry", Tr(T), A, 1), verb("remembers", "remember", Tr(ANY), A, 1),
    verb("fears", "fear", Tr(A), A, 1), verb("hates", "hate", Tr(ANY), A, 1), verb("visits", "visit", Tr(P | L), P, 1),
    verb("meets", "meet", Tr(P), P, 1), verb("buys", "buy", Tr(T), P, 1), verb("sells", "sell", Tr(T), P, 1),
    verb("paints", "paint", Tr(T | L), P, 1), verb("makes", "make", Tr(T), P, 1), verb("uses", "use", Tr(T), P, 1),
    verb("wants", "want", Tr(A | T), A, 2), verb("needs", "need", Tr(A | T), ANY, 2),
    verb("contains", "contain", Tr(T), T | L, 2), verb("holds", "hold", Tr(T), ANY, 2),
    verb("covers", "cover", Tr(T), T, 1), verb("touches", "touch", Tr(T), A | T, 1),
    verb("protects", "protect", Tr(A | L), ANY, 1), verb("belongs", "belong", I, ANY, 1),
];

/// Determiners for both numbers, which do not reveal the noun's number. `the` is drawn separately and more often.
pub(crate) const DETERMINERS: &[&str] = &["my", "your", "his", "her", "our", "their"];

/// Determiners of singular objects (`a` becomes `an` before a vowel). No verb agrees with objects.
pub(crate) const OBJECT_SG: &[&str] = &["a", "a", "the", "this", "every"];

/// Determiners of plural objects.
pub(crate) const OBJECT_PL: &[&str] = &["the", "two", "three", "many", "these", "some"];

/// Adjectives, used before nouns and after copula or linking verbs.
#[rustfmt::skip]
pub(crate) const ADJECTIVES: &[Word] = &[
    ("old", ANY), ("new", ANY), ("small", ANY), ("big", ANY), ("large", ANY), ("little", ANY), ("beautiful", ANY),
    ("ugly", ANY), ("strange", ANY), ("famous", ANY), ("good", ANY), ("bad", ANY), ("quiet", A | L), ("young", A),
    ("happy", A), ("sad", A), ("tired", A), ("hungry", A), ("angry", A), ("clever", A), ("brave", A), ("strong", A),
    ("weak", A), ("sick", A), ("polite", P), ("rich", P), ("poor", P), ("honest", P), ("wild", A), ("red", T),
    ("blue", T), ("green", T | L), ("white", T), ("black", T), ("yellow", T), ("brown", T), ("heavy", T),
    ("clean", T | L), ("dirty", T | L), ("expensive", T | L), ("cheap", T | L), ("broken", T), ("empty", T | L),
    ("full", T | L), ("round", T), ("long", T | L), ("short", T), ("wooden", T), ("warm", T | L), ("cold", ANY),
    ("wet", ANY), ("dry", T | L), ("dark", T | L), ("narrow", L), ("wide", L), ("safe", ANY), ("dangerous", ANY),
    ("important", ANY), ("common", ANY), ("rare", ANY),
];

/// Prepositions with the kinds of their objects. None requires a plural object, unlike `between` and `among`.
#[rustfmt::skip]
pub(crate) const PREPOSITIONS: &[Word] = &[
    ("near", ANY), ("behind", ANY), ("beside", ANY), ("by", ANY), ("with", A | T), ("of", ANY), ("from", ANY),
    ("for", ANY), ("to", ANY), ("under", T), ("on", T), ("in", T | L), ("inside", T | L), ("above", T | L),
    ("below", T | L), ("around", T | L), ("against", T), ("across", L),
];

/// Participles used after the copula and before a prepositional phrase.
pub(crate) const PARTICIPLES: &[Word] = &[
    ("seen", ANY),
    ("found", ANY),
    ("kept", A | T),
    ("hidden", ANY),
    ("painted", T | L),
    ("sold", T | L),
    ("loved", A),
    ("left", A | T),
];

/// Verb phrases of subject relative clauses: in the past tense, the same in singular and plural, and not ending in a noun.
pub(crate) const PAST_INTRANSITIVE: &[Word] = &[
    ("arrived", A | T),
    ("fell", A | T),
    ("slept", A),
    ("waited", A),
    ("moved", A | T),
    ("escaped", A),
    ("stood", ANY),
    ("burned", T | L),
    ("vanished", ANY),
    ("shone", T | L),
];

/// Verbs of object relative clauses (`that the man bought`), with the kinds of noun that the clause modifies.
pub(crate) const PAST_TRANSITIVE: &[Word] = &[
    ("saw", ANY),
    ("liked", ANY),
    ("bought", T | L),
    ("forgot", ANY),
    ("chose", ANY),
    ("described", ANY),
    ("built", T | L),
    ("brought", A | T),
    ("lost", A | T),
    ("noticed", ANY),
];

/// Adverbs that end a relative clause.
pub(crate) const CLAUSE_ADVERBS: &[&str] = &["yesterday", "recently", "before", "early", "late"];

/// Adverbs between subject and verb.
pub(crate) const PREVERBAL: &[&str] =
    &["often", "always", "never", "usually", "rarely", "still", "really", "also", "certainly", "probably"];

/// Phrases at the beginning of a sentence.
pub(crate) const FRONTED: &[&[&str]] = &[
    &["today"],
    &["now"],
    &["sometimes"],
    &["every", "day"],
    &["at", "night"],
    &["in", "the", "morning"],
    &["of", "course"],
    &["in", "winter"],
    &["in", "summer"],
];

/// Phrases at the end of a sentence.
pub(crate) const FINAL: &[&[&str]] = &[
    &["today"],
    &["now"],
    &["again"],
    &["here"],
    &["there"],
    &["every", "day"],
    &["at", "night"],
    &["in", "the", "morning"],
    &["for", "a", "long", "time"],
    &["very", "well"],
    &["slowly"],
    &["quickly"],
];

/// One in this many subject-verb pairs is held out from training.
pub(crate) const HELD_OUT_ONE_IN: u64 = 5;

const SALT: u64 = 13;

/// True if a subject-verb pair is held out from training, in both numbers. The pair is hashed (FNV-1a over the noun's singular, a bar and
/// the verb's plural, finished as in MurmurHash3) and held out if the hash is 0 modulo [`HELD_OUT_ONE_IN`]. [`SALT`] is the first salt that
/// gives each noun at least two verbs on each side of the split and keeps most of the verb weight in training.
pub(crate) fn is_held_out(subject: &Noun, verb: &Verb) -> bool {
    let bytes = subject.forms[0].bytes().chain(*b"|").chain(verb.forms[1].bytes());
    super::hash(SALT, bytes).is_multiple_of(HELD_OUT_ONE_IN)
}

/// Returns every word of the agreement grammar in lower case, each once, in a fixed order, with punctuation last.
pub fn words() -> Vec<&'static str> {
    let mut all: Vec<&'static str> = vec!["the", "an", "that", "who"];
    all.extend(NOUNS.iter().flat_map(|n| n.forms));
    all.extend(VERBS.iter().flat_map(|v| v.forms));
    all.extend([DETERMINERS, OBJECT_SG, OBJECT_PL, CLAUSE_ADVERBS, PREVERBAL].concat());
    for list in [ADJECTIVES, PREPOSITIONS, PARTICIPLES, PAST_INTRANSITIVE, PAST_TRANSITIVE] {
        all.extend(list.iter().map(|w| w.0));
    }
    all.extend([FRONTED, FINAL].concat().into_iter().flatten());
    all.extend([",", "."]);
    let mut seen = std::collections::HashSet::new();
    all.retain(|w| seen.insert(*w));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn sizes() {
        println!("{} nouns, {} verb pairs, {} words", NOUNS.len(), VERBS.len(), words().len());
        assert!(NOUNS.len() >= 170 && VERBS.len() >= 60);
        let irregular = NOUNS.iter().filter(|n| n.forms[1] != format!("{}s", n.forms[0])).count();
        assert!(irregular >= 30, "{irregular}");
    }

    /// A form that is both noun and verb, or both singular and plural, would make annotations ambiguous.
    #[test]
    fn every_form_has_one_category_and_number() {
        let mut owner: HashMap<&str, String> = HashMap::new();
        let mut claim = |form: &'static str, who: String| {
            assert!(form.bytes().all(|b| b.is_ascii_lowercase()), "{form}");
            if let Some(other) = owner.insert(form, who.clone()) {
                assert_eq!(other, who, "{form}");
            }
        };
        for n in NOUNS.iter() {
            (0..2).for_each(|i| claim(n.forms[i], format!("noun {} {i}", n.forms[0])));
        }
        for v in VERBS {
            (0..2).for_each(|i| claim(v.forms[i], format!("verb {} {i}", v.forms[0])));
        }
        let others = [DETERMINERS, OBJECT_SG, OBJECT_PL, CLAUSE_ADVERBS, PREVERBAL].concat();
        let more = [ADJECTIVES, PREPOSITIONS, PARTICIPLES, PAST_INTRANSITIVE, PAST_TRANSITIVE].concat();
        let phrases = [FRONTED, FINAL].concat().into_iter().flatten().copied();
        for w in others.into_iter().chain(more.iter().map(|w| w.0)).chain(phrases) {
            claim(w, "function word".into());
        }
        let mut nouns: Vec<_> = NOUNS.iter().map(|n| n.forms[0]).collect();
        nouns.sort_unstable();
        nouns.dedup();
        assert_eq!(nouns.len(), NOUNS.len(), "a noun is listed twice");
        let mut verbs: Vec<_> = VERBS.iter().map(|v| v.forms[0]).collect();
        verbs.sort_unstable();
        verbs.dedup();
        assert_eq!(verbs.len(), VERBS.len(), "a verb is listed twice");
    }

    #[test]
    fn every_noun_is_a_subject_in_both_halves() {
        for noun in NOUNS.iter() {
            let fits = || VERBS.iter().filter(|v| v.subjects & noun.kind as u8 != 0);
            let held = fits().filter(|v| is_held_out(noun, v)).count();
            assert!(held >= 2 && fits().count() > held + 5, "{}: {held} held out", noun.forms[0]);
        }
        for v in VERBS {
            let fits = || NOUNS.iter().filter(|n| v.subjects & n.kind as u8 != 0);
            let share = fits().filter(|n| is_held_out(n, v)).count() as f64 / fits().count() as f64;
            assert!((0.05..0.40).contains(&share), "{}: {share:.2} held out", v.forms[0]);
        }
    }
}
