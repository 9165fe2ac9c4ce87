//! Random streams and values drawn from them. Everything here is exact on every machine: integers, and floats from single operations.
//! Values that also depend on sums of floats are pinned with the runs.

use probity::corpus::make::{layouts, lines};
use probity::corpus::sets::built_in;
use probity::model::{Device, Model};
use probity::probe::{Matrix, Mlp, Split};
use probity::stats::bootstrap::Resamples;
use probity::stats::choice::{Answers, gap_by_chance};
use probity::stats::halves::Halves;
use probity::stats::purpose::Purpose;
use probity::stats::rng::{below, sample_indices, shuffle, stream, unit};
use rand_chacha::rand_core::Rng;
use rand_distr::{Distribution, Normal, StandardNormal, Uniform};

use super::file;
use super::list::{List, sha256};
use crate::sources::sources;

/// The functions whose first string argument names a stream.
const STREAMS: [&str; 2] = ["stream(", ".seed("];

/// The call that names a purpose's role and settings, `Purpose::of`. Two string arguments distinguish it from other functions with that
/// name.
const PURPOSE: &str = ".of(";

/// The names of streams as spelled in the source, excluding tests. Parts filled in at run time stay `{}`. The spelling is pinned because a
/// change would alter every number drawn from the stream.
fn names() -> Vec<String> {
    let mut found = Vec::new();
    for (path, text) in sources("src") {
        let shown = path.strip_prefix(file("src")).unwrap().display().to_string();
        let tests = ["tests.rs", "testing.rs", "adversity.rs"];
        if tests.iter().any(|name| shown.ends_with(name)) || shown.contains("/tests/") {
            continue;
        }
        let end = text.find("#[cfg(test)]\nmod tests").unwrap_or(text.len());
        let code: String = text[..end].lines().filter(|l| !l.trim_start().starts_with("//")).collect();
        let texts = |call: &str| {
            let calls = code.match_indices(call).map(|(at, call)| arguments(&code[at + call.len()..]));
            calls.map(|arguments| literals(arguments).collect::<Vec<_>>()).collect::<Vec<_>>()
        };
        found.extend(STREAMS.into_iter().flat_map(texts).flatten());
        found.extend(texts(PURPOSE).into_iter().filter(|both| both.len() == 2).map(|both| both.join(" / ")));
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// The text up to the parenthesis that closes the call.
fn arguments(code: &str) -> &str {
    let mut open = 1;
    let end = code.find(|c| {
        open += i32::from(c == '(') - i32::from(c == ')');
        open == 0
    });
    &code[..end.unwrap_or(0)]
}

/// The string literals in the code, with variable names removed: `{task}` becomes `{}`, and `{row:016x}` becomes `{:016x}`.
fn literals(code: &str) -> impl Iterator<Item = String> {
    code.split('"').skip(1).step_by(2).map(|text| {
        let mut pieces = text.split('{');
        let first = pieces.next().unwrap_or_default().to_owned();
        pieces.fold(first, |name, piece| {
            let named = piece.find(['}', ':']).unwrap_or(0);
            name + "{" + &piece[named..]
        })
    })
}

fn words(mut rng: impl Rng) -> String {
    (0..4).map(|_| format!("{:016x}", rng.next_u64())).collect::<Vec<_>>().join(" ")
}

/// Formats floats to the last bit.
fn exact<T: std::fmt::Debug>(values: impl IntoIterator<Item = T>) -> String {
    values.into_iter().map(|v| format!("{v:?}")).collect::<Vec<_>>().join(" ")
}

fn primitives(list: &mut List) {
    for name in names() {
        list.add(format!("words of 7 {name:?}"), words(stream(7, &name)));
    }
    let purpose = Purpose::new(3, "zc", "mlp").replicate(2).of("oracle", "1x64 lr 1e-3");
    for what in ["weights", "batches", "noise"] {
        list.add(format!("words of a purpose, {what}"), words(purpose.stream(what)));
        list.add(format!("seed of a purpose, {what}"), format!("{:016x}", purpose.seed(what)));
    }
    let rng = || stream(7, "pins");
    let mut bytes = [0u8; 37];
    rng().fill_bytes(&mut bytes);
    list.add("bytes", bytes.map(|b| format!("{b:02x}")).concat());
    let mut mixed = rng();
    list.add("u32, u64, u32", exact([mixed.next_u32().into(), mixed.next_u64(), mixed.next_u32().into()]));
    let mut other = rng();
    other.set_stream(3);
    list.add("words of stream 3", words(other));
    for bound in [1, 2, 3, 7, 1000, 0x8000_0001, u32::MAX] {
        let mut rng = rng();
        list.add(format!("below {bound}"), exact((0..12).map(|_| below(&mut rng, bound))));
    }
    let mut r = rng();
    list.add("uniform", exact((0..8).map(|_| unit(&mut r))));
    for n in [2usize, 8, 40] {
        let mut order: Vec<usize> = (0..n).collect();
        shuffle(&mut rng(), &mut order);
        list.add(format!("shuffle of {n}"), exact(order));
    }
    for (n, count) in [(10, 3), (50, 20), (5, 9)] {
        list.add(format!("{count} of {n}"), exact(sample_indices(&mut rng(), n, count)));
    }
    deviates(list);
}

/// Pins deviates drawn from our streams by the distributions library. A few thousand draws reach even the rare branches of its algorithm.
fn deviates(list: &mut List) {
    let rng = || stream(7, "pins");
    let (mut single, mut double) = (rng(), rng());
    let f32s: Vec<f32> = (0..20_000).map(|_| StandardNormal.sample(&mut single)).collect();
    let f64s: Vec<f64> = (0..20_000).map(|_| StandardNormal.sample(&mut double)).collect();
    list.add("normal f32", exact(&f32s[..8]));
    list.add("normal f64", exact(&f64s[..8]));
    list.add("normal f32, the last", exact(&f32s[f32s.len() - 4..]));
    list.add("normal f64, the last", exact(&f64s[f64s.len() - 4..]));
    let (normal, uniform) = (Normal::new(0f32, 0.02).unwrap(), Uniform::new(-0.125f32, 0.125).unwrap());
    list.add("normal of deviation 0.02", exact(normal.sample_iter(rng()).take(8)));
    list.add("uniform f32 within 0.125", exact(uniform.sample_iter(rng()).take(8)));
    list.add("normal f64 of deviation 0.3", exact(Normal::new(0.0, 0.3).unwrap().sample_iter(rng()).take(4)));
}

fn draws(list: &mut List) {
    for set in built_in() {
        for layout in layouts(&set) {
            let rows = lines(&set, *layout, Some(120), 3).unwrap();
            let text: String = rows.iter().map(|line| format!("{}\n", line.text)).collect();
            list.add(format!("data {} as {}, seed 3", set.id, layout.id()), sha256(text));
        }
    }
    let split = Split::new(2_000, 3).unwrap();
    let parts = |train: &[usize], validation: &[usize]| sha256(format!("{train:?} {validation:?}"));
    list.add("split, oracle", parts(split.oracle().train(), split.oracle().validation()));
    list.add("split, intervention", parts(split.intervention().train(), split.intervention().validation()));
    list.add("split, test", sha256(format!("{:?}", split.test().rows())));
    let target: Vec<Option<usize>> = (0..2_000).map(|i| (i % 5 != 4).then_some(usize::from(i % 3 == 0))).collect();
    let other: Vec<Option<usize>> = (0..2_000).map(|i| (i % 4 != 3).then_some(usize::from(i % 7 < 2))).collect();
    let u = split.oracle().uncorrelated(&target, &other, 3, "target").unwrap();
    list.add("split, uncorrelated", parts(u.train(), u.validation()));
    let d = split.intervention().defined(&target, 3).unwrap();
    list.add("split, defined", parts(d.train(), d.validation()));
    let halves = Halves::new(&[0, 1, 1, 0, 2, 1, 0, 0, 1, 2, 1, 0], 3, 5);
    list.add("halves, blocks", exact(halves.blocks()));
    list.add("halves, firsts", exact(halves.firsts()));
    // With an identity matrix, the sums show how often each row was drawn.
    let blocks: Vec<Vec<usize>> = vec![(0..12).collect()];
    let counts = Resamples::new(12, 3, 5).block_sums(&Matrix::identity(12), &blocks, |_, sums| sums.to_vec());
    list.add("bootstrap of 12", exact(counts));
    let mut answers = Answers::new(4);
    (0..40usize).for_each(|i| answers.add((0..4).map(|k| i * 7 % 11 > 2 + k).collect(), i % 2 == 0));
    list.add("gap by chance", exact([gap_by_chance(&[answers], 50, 0.9, 5)]));
    let mlp = Mlp::fresh(4, &[3], 2, &mut stream(7, "pins"));
    list.add("fresh perceptron", sha256(format!("{mlp:?}")));
}

fn models(list: &mut List) {
    for name in ["untrained:bert-tiny", "untrained:gpt2-tiny#5"] {
        let model = Model::load(&name.parse().unwrap(), Device::Cpu).unwrap();
        list.add(format!("hash of {name}"), model.hash());
    }
}

#[test]
fn streams_and_draws_are_unchanged() {
    let mut list = List::default();
    primitives(&mut list);
    draws(&mut list);
    models(&mut list);
    list.check("streams.txt");
}
