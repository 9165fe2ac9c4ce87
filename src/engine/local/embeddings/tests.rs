//! The cache returns exactly the stored bits, or nothing.

use std::time::Duration;

use super::*;
use labs::store::key;
use model::{Device, HookPoint, Model, PoolOver, Pooling, Readout};

fn space(width: usize) -> Space {
    Space::named([7; 32], width)
}

fn rows(n: usize, width: usize, seed: usize) -> Matrix {
    Matrix::from_fn(n, width, |i, j| ((i * width + j + seed) as f32).sin())
}

fn keys(range: std::ops::Range<u32>) -> Vec<Key> {
    range.map(|i| key(&[i, i + 1], 0)).collect()
}

#[test]
fn vectors_round_trip_exactly_in_any_order() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Embeddings::at(dir.path());
    let (s, k, x) = (space(5), keys(0..10), rows(10, 5, 1));
    cache.keep(&s, &k, &x).unwrap();
    let asked: Vec<Key> = [3usize, 9, 3].iter().map(|i| k[*i]).chain(keys(50..51)).collect();
    let mut got = Matrix::zeros(4, 5);
    assert_eq!(cache.fetch(&s, &asked, &mut got), Fetched { missing: vec![3], damaged: 0 });
    assert_eq!((got.row(0), got.row(1), got.row(2)), (x.row(3), x.row(9), x.row(3)));
    let other = Space::named([8; 32], 5);
    assert_eq!(cache.fetch(&other, &k, &mut Matrix::zeros(10, 5)).missing.len(), 10, "another model");
    let contents = cache.contents();
    assert_eq!((contents.vectors, contents.files, contents.limit), (10, 1, cache.limit()));
    cache.clear().unwrap();
    assert_eq!(cache.contents().vectors, 0);
}

#[test]
fn damaged_vectors_are_never_returned() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Embeddings::at(dir.path());
    let (s, k, x) = (space(3), keys(0..4), rows(4, 3, 2));
    cache.keep(&s, &k, &x).unwrap();
    let path = cache.files("").remove(0);
    let whole = std::fs::read(&path).unwrap();
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        std::fs::write(&path, &bytes).unwrap();
        let mut got = Matrix::zeros(4, 3);
        let found = cache.fetch(&s, &k, &mut got);
        for i in 0..4 {
            assert!(found.missing.contains(&i) || got.row(i) == x.row(i), "byte {at}, row {i}");
        }
        assert!(!found.missing.is_empty() || (12..16).contains(&at), "the checksum covers byte {at}");
    }
    for len in 0..whole.len() {
        std::fs::write(&path, &whole[..len]).unwrap();
        let mut got = Matrix::zeros(4, 3);
        let found = cache.fetch(&s, &k, &mut got);
        assert!((0..4).all(|i| found.missing.contains(&i) || got.row(i) == x.row(i)), "cut at {len}");
        assert!(!found.missing.is_empty(), "cut at {len}");
    }
}

#[test]
fn least_recently_used_vectors_are_evicted() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Embeddings::at(dir.path());
    let s = space(64);
    for i in 0..6u32 {
        cache.keep(&s, &keys(i * 10..i * 10 + 10), &rows(10, 64, i as usize)).unwrap();
    }
    let one = cache.contents().bytes / 6;
    let old = SystemTime::now() - Duration::from_secs(500);
    for (i, path) in cache.files("").iter().enumerate() {
        let file = std::fs::File::options().append(true).open(path).unwrap();
        file.set_modified(old + Duration::from_secs(i as u64)).unwrap();
    }
    // Using the first set makes it the most recently used one.
    assert!(cache.fetch(&s, &keys(0..10), &mut Matrix::zeros(10, 64)).missing.is_empty());
    cache.set_limit(2 * one).unwrap();
    assert_eq!((cache.contents().files, cache.limit()), (2, 2 * one));
    assert!(cache.fetch(&s, &keys(0..10), &mut Matrix::zeros(10, 64)).missing.is_empty(), "the newest is kept");
    cache.keep(&s, &keys(90..100), &rows(10, 64, 9)).unwrap();
    assert!(cache.contents().bytes <= 2 * one, "the limit applies to later writes");
}

#[test]
fn unwritable_folder_is_reported_once() {
    let dir = tempfile::tempdir().unwrap();
    let blocked = dir.path().join("file");
    std::fs::write(&blocked, "x").unwrap();
    let cache = Embeddings::at(&blocked.join("inside"));
    let (s, k, x) = (space(2), keys(0..2), rows(2, 2, 0));
    assert!(cache.keep(&s, &k, &x).is_err());
    assert!(cache.keep(&s, &k, &x).is_ok(), "after a failure, later writes are skipped");
    assert_eq!(cache.fetch(&s, &k, &mut Matrix::zeros(2, 2)).missing, [0, 1]);
    let none = Embeddings::none();
    none.keep(&s, &k, &x).unwrap();
    assert_eq!(none.fetch(&s, &k, &mut Matrix::zeros(2, 2)).missing, [0, 1]);
}

#[test]
fn concurrent_writers_leave_complete_files() {
    let dir = tempfile::tempdir().unwrap();
    let s = space(16);
    std::thread::scope(|scope| {
        for thread in 0..4u32 {
            let (s, dir) = (&s, dir.path());
            scope.spawn(move || {
                // Each thread stands for a process, with its own handle to the folder.
                let cache = Embeddings::at(dir);
                for round in 0..20u32 {
                    // Half of the sets are written by all threads.
                    let from = if round % 2 == 0 { round * 10 } else { 10_000 * (thread + 1) + round * 10 };
                    let (k, x) = (keys(from..from + 10), rows(10, 16, from as usize));
                    cache.keep(s, &k, &x).unwrap();
                    let mut got = Matrix::zeros(10, 16);
                    assert_eq!(cache.fetch(s, &k, &mut got), Fetched::default());
                    assert!((0..10).all(|i| got.row(i) == x.row(i)));
                }
            });
        }
    });
    let contents = Embeddings::at(dir.path()).contents();
    assert_eq!((contents.files, contents.vectors), (10 + 40, 500));
}

#[test]
fn cache_keys_depend_on_model_point_and_readout() {
    let model = Model::load(&"bert-mini".parse().unwrap(), Device::Cpu).unwrap();
    let twin = Model::load(&"untrained:bert-mini".parse().unwrap(), Device::Cpu).unwrap();
    let mean = Readout::Sentence(Pooling::plain(PoolOver::Mean));
    let unit = Readout::Sentence(Pooling { over: PoolOver::Mean, normalise: true });
    let position = Readout::Positions(vec![1]);
    let spaces = [
        Space::new(&model, HookPoint::ResidPost(0), &position),
        Space::new(&model, HookPoint::ResidPost(1), &position),
        Space::new(&model, HookPoint::ResidPost(0), &mean),
        Space::new(&model, HookPoint::ResidPost(0), &unit),
        Space::new(&twin, HookPoint::ResidPost(0), &position),
    ];
    for (i, a) in spaces.iter().enumerate() {
        assert!(spaces[..i].iter().all(|b| a.digest() != b.digest()), "{i}");
    }
    assert_eq!(spaces[0], Space::new(&model, HookPoint::ResidPost(0), &Readout::Positions(vec![3])));
    assert_ne!(key(&[1, 2], 0), key(&[1, 2], 1));
    assert_ne!(key(&[1, 2], 0), key(&[2, 1], 0));
}

#[test]
fn missing_vectors_are_listed_without_reading_values() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Embeddings::at(dir.path());
    let (s, k, x) = (space(4), keys(0..6), rows(6, 4, 3));
    assert_eq!(cache.absent(&s, &k), (0..6).collect::<Vec<_>>());
    cache.keep(&s, &k[..4], &Matrix::from_fn(4, 4, |i, j| x.row(i)[j])).unwrap();
    assert_eq!(cache.absent(&s, &k), [4, 5]);
    assert_eq!(cache.absent(&Space::named([9; 32], 4), &k).len(), 6, "another space");
    assert_eq!(cache.absent(&space(5), &k).len(), 6, "another width");
}

#[test]
fn invalid_limit_file_is_ignored() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Embeddings::at(dir.path());
    if std::env::var_os("PROBITY_CACHE_MAX").is_some() {
        return; // Skipped if the user has set a limit.
    }
    assert_eq!(cache.limit(), DEFAULT_LIMIT);
    cache.set_limit(1234).unwrap();
    assert_eq!(Embeddings::at(dir.path()).limit(), 1234, "the limit also applies to later runs");
    std::fs::write(dir.path().join(LIMIT), "as much as you like").unwrap();
    assert_eq!(cache.limit(), DEFAULT_LIMIT);
}

#[test]
fn foreign_files_are_ignored_and_kept() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Embeddings::at(dir.path());
    let (s, k, x) = (space(3), keys(0..2), rows(2, 3, 1));
    cache.keep(&s, &k, &x).unwrap();
    let foreign = dir.path().join(format!("{}-foreign.vec", prefix(&s)));
    std::fs::write(&foreign, b"something else that is longer than a head").unwrap();
    std::fs::write(dir.path().join("notes.txt"), "mine").unwrap();
    let mut got = Matrix::zeros(2, 3);
    assert_eq!(cache.fetch(&s, &k, &mut got), Fetched::default());
    assert_eq!((got.row(0), got.row(1)), (x.row(0), x.row(1)));
    cache.clear().unwrap();
    assert!(dir.path().join("notes.txt").exists());
    assert_eq!(cache.contents().vectors, 0);
}

#[test]
fn empty_input_writes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Embeddings::at(&dir.path().join("inside"));
    cache.keep(&space(3), &[], &Matrix::zeros(0, 3)).unwrap();
    assert!(!dir.path().join("inside").exists());
}
