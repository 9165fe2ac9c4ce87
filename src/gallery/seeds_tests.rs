//! Tests of reading, joining, rejecting and merging a model's cards.

use super::*;

/// A folder with seeds of bert-mini, whose cards are derived from the shipped one.
struct Home {
    dir: tempfile::TempDir,
    shipped: Card,
}

fn scores(card: &mut Card, seed: u64) {
    card.seed = seed;
    for score in &mut card.scores {
        let mean = 0.9 - 0.01 * seed as f64;
        score.share = Estimate { mean, lo: mean - 0.05, hi: mean + 0.05 };
    }
}

impl Home {
    fn new(seeds: &[u64]) -> Self {
        let cards = super::super::cards().unwrap();
        // Shipped cards may list other seeds.
        let shipped = cards.into_iter().find(|c| c.name == "bert-mini").unwrap();
        let shipped = Card { seeds: Vec::new(), ..shipped };
        let home = Self { dir: tempfile::tempdir().unwrap(), shipped };
        seeds.iter().for_each(|seed| home.add(*seed, |_| ()));
        home
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn add(&self, seed: u64, change: impl Fn(&mut Card)) {
        let mut card = self.shipped.clone();
        scores(&mut card, seed);
        // Besides the scores, these fields depend on the seed.
        card.corpus.hash = format!("{seed:064}");
        card.shape.parameters += usize::try_from(seed).unwrap();
        card.training.seconds *= 2.0;
        change(&mut card);
        let folder = folder(self.path(), "bert-mini", seed);
        std::fs::create_dir_all(&folder).unwrap();
        FILES.iter().for_each(|f| std::fs::write(folder.join(f), "").unwrap());
        super::super::write(&folder.join("card.json"), &card).unwrap();
    }

    fn read(&self) -> Result<Vec<Card>> {
        cards(self.path(), "bert-mini")
    }

    /// The error that this folder's cards cause.
    fn refusal(&self) -> String {
        self.read().unwrap_err().to_string()
    }
}

#[test]
fn seeds_are_read_in_order_and_other_files_ignored() {
    let home = Home::new(&[10, 2, 1]);
    std::fs::create_dir(home.path().join("bert-mini/.probity-gallery-abc")).unwrap();
    std::fs::write(home.path().join("bert-mini/notes.txt"), "").unwrap();
    let cards = home.read().unwrap();
    assert_eq!(cards.iter().map(|c| c.seed).collect::<Vec<_>>(), [1, 2, 10]);
    let card = together(&cards).unwrap();
    assert_eq!((card.seed, card.seeds.len()), (1, 3));
    assert_eq!(super::cards(home.path(), "gpt2-mini").unwrap(), []);
    assert_eq!(together(&[]), None);
}

#[test]
fn inconsistent_seeds_error_names_file_and_remedy() {
    type Change = fn(&mut Card);
    let cases: [(Change, &[&str]); 9] = [
        (|c| c.seed = 3, &["is the card of seed 3, not of seed 2", "rename its folder"]),
        (|c| c.name = "gpt2-mini\u{1b}[2J".into(), &["is the card of gpt2-mini␛[2J, not of bert-mini"]),
        (|c| c.training.steps = 9, &["training.steps is 9, but 8000 for seed 1", "train one of them again"]),
        (|c| c.training.rate = 0.5, &["training.rate is 0.5, but 0.0015 for seed 1"]),
        (|c| c.corpus.mixture.held = 0.5, &["corpus.mixture.held is 0.5"]),
        (|c| c.scores[0].what = "another thing".into(), &["scores.agreement_none is \"another thing\""]),
        (|c| drop(c.scores.remove(1)), &["scores.agreement_same is missing"]),
        (|c| c.scores[1].id = "agreement_none".into(), &["has the score agreement_none twice"]),
        (|c| c.scores[2].share.mean = f64::NAN, &["agreement_opposing is not a number within its interval"]),
    ];
    for (change, words) in cases {
        let home = Home::new(&[1]);
        home.add(2, change);
        let error = home.refusal();
        assert!(error.contains("seed-2") && error.contains("card.json: "), "{error}");
        for word in words {
            assert!(error.contains(word), "no `{word}` in {error}");
        }
        assert!(!error.contains('\u{1b}'), "{error}");
    }
}

#[test]
fn malicious_files_are_rejected() {
    let file = |bytes: &[u8]| {
        let home = Home::new(&[1, 2]);
        std::fs::write(folder(home.path(), "bert-mini", 2).join("card.json"), bytes).unwrap();
        home.refusal()
    };
    assert!(file(b"{").contains("cannot be read"));
    assert!(file(&vec![b' '; 2 << 20]).contains("larger than the limit of 1.0 MB"));
    let home = Home::new(&[1, 2]);
    std::fs::remove_file(folder(home.path(), "bert-mini", 2).join("card.json")).unwrap();
    assert!(home.refusal().contains("card.json: is missing; remove the folder"), "{}", home.refusal());
    let home = Home::new(&[1]);
    std::fs::rename(folder(home.path(), "bert-mini", 1), home.path().join("x")).unwrap();
    for name in ["seed-1", "seed-01"] {
        let to = home.path().join("bert-mini").join(name);
        std::fs::create_dir(&to).unwrap();
        for file in FILES {
            std::fs::copy(home.path().join("x").join(file), to.join(file)).unwrap();
        }
    }
    let error = home.refusal();
    assert!(
        error.contains("is a second copy of seed 1, which is also in seed-0") && error.contains("remove one"),
        "{error}"
    );
    let home = Home::new(&[1]);
    std::fs::create_dir(home.path().join("bert-mini/seed-x")).unwrap();
    assert!(home.refusal().contains("seed-x: does not name a seed"), "{}", home.refusal());
}

/// Fields that are added to cards in the future are compared without being named here.
#[test]
fn identity_covers_all_seed_independent_fields() {
    let home = Home::new(&[1]);
    let card = &home.read().unwrap()[0];
    let identity = identity(card);
    let mut all: Vec<&str> = identity.as_object().unwrap().keys().map(String::as_str).collect();
    let whole = json!(card);
    let known = |key: &&String| !["seed", "version", "notes", "facts"].contains(&key.as_str());
    let mut expected: Vec<&str> = whole.as_object().unwrap().keys().filter(known).map(String::as_str).collect();
    expected.push("prompts");
    expected.sort_unstable();
    all.sort_unstable();
    assert_eq!(all, expected);
}

#[test]
fn scores_added_to_a_card_are_kept() {
    let home = Home::new(&[1, 2, 3]);
    let path = home.path().join("card.json");
    let own = {
        let mut card = home.shipped.clone();
        scores(&mut card, 1);
        card
    };
    super::super::write(&path, &own).unwrap();
    let found = home.read().unwrap();
    let seeds = |card: &Card| card.seeds.iter().map(|s| s.seed).collect::<Vec<_>>();
    let add = |found: &[Card], replace| merged(&path, "bert-mini", found, replace);
    // The card's own seed counts even if it was not among those found.
    let card = add(&found[1..2], false).unwrap();
    assert_eq!(seeds(&card), [1, 2]);
    super::super::write(&path, &card).unwrap();
    let card = add(&found[2..], false).unwrap();
    assert_eq!(seeds(&card), [1, 2, 3]);
    super::super::write(&path, &card).unwrap();
    assert_eq!(add(&found, false).unwrap().seeds, card.seeds, "adding the same seeds again changes nothing");
    assert_eq!((&card.scores, &card.facts, &card.notes), (&own.scores, &own.facts, &own.notes));

    let mut other = found[1].clone();
    other.scores[0].share.mean -= 0.01;
    let error = add(&[other.clone()], false).unwrap_err().to_string();
    assert!(error.contains("lists seed 2 with different numbers; --replace"), "{error}");
    let card = add(&[other.clone()], true).unwrap();
    assert_eq!((seeds(&card), &card.seeds[1]), (vec![1, 2, 3], &SeedScores::of(&other)));
    // The card's own numbers are never replaced, because they belong to the weights next to it.
    let mut first = found[0].clone();
    first.scores[0].share.mean -= 0.01;
    for replace in [false, true] {
        let error = add(&[first.clone()], replace).unwrap_err().to_string();
        assert!(error.contains("has the same seed (1)") && error.contains("copy the whole folder"), "{error}");
    }
    let mut longer = found[1].clone();
    longer.training.steps += 1;
    let error = add(&[longer], true).unwrap_err().to_string();
    assert!(error.contains("training.steps is 8000, but 8001 for seed 2, which is to be added"), "{error}");
    let error = merged(&home.path().join("no/card.json"), "bert-mini", &found, false).unwrap_err().to_string();
    assert!(error.contains("no card.json") && error.contains("cannot be read"), "{error}");
}

#[test]
fn list_contradicting_its_card_is_rejected() {
    let home = Home::new(&[2]);
    let path = home.path().join("card.json");
    let mut card = home.shipped.clone();
    let mut entry = SeedScores::of(&card);
    entry.scores[0].n += 1;
    card.seeds = vec![entry.clone()];
    super::super::write(&path, &card).unwrap();
    let found = home.read().unwrap();
    let error = merged(&path, "bert-mini", &found, false).unwrap_err().to_string();
    assert!(error.contains("numbers that differ from the card's own scores"), "{error}");
    let anew = merged(&path, "bert-mini", &found, true).unwrap();
    assert_eq!(anew.seeds, [SeedScores::of(&card), SeedScores::of(&found[0])]);
    card.seeds = vec![entry.clone(), entry];
    super::super::write(&path, &card).unwrap();
    let error = merged(&path, "bert-mini", &found, true).unwrap_err().to_string();
    assert!(error.contains("lists seed 1 twice"), "{error}");
}

#[test]
fn absent_field_round_trips() {
    let home = Home::new(&[]);
    let text = serde_json::to_string(&home.shipped).unwrap();
    assert!(!text.contains("\"seeds\""));
    assert_eq!(serde_json::from_str::<Card>(&text).unwrap().seeds, []);
}

#[test]
fn numbers_are_the_same_up_to_rounding() {
    let (a, b) = (json!({"x": [0.1, [3, 0.3]]}), json!({"x": [0.1, [3, 0.1 + 0.2]]}));
    assert!(a != b && difference("", &a, &b).is_none());
    for other in [json!({"x": [0.1, [3, 0.3001]]}), json!({"x": [0.1, [4, 0.3]]}), json!({"x": [0.1]})] {
        assert_eq!(difference("", &a, &other).unwrap().at, "x", "{other}");
    }
}
