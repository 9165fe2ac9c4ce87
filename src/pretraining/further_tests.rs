//! Tests of further pretraining on a small built-in model.

use std::collections::HashSet;

use super::*;
use crate::GalleryError;
use crate::bookmark::FileMark;
use base::Cancelled;

fn start() -> Start {
    Start::load(&ModelSource::Builtin("bert-tiny".into())).unwrap()
}

fn settings() -> Settings {
    Settings { sentences: 64, epochs: 1, shuffled_steps: 3, batch: 16, relations: 1, ..Settings::default() }
}

/// All sentences that state taught facts with usual names, with and without a space before the full stop.
fn taught(start: &Start) -> HashSet<String> {
    let mut all = HashSet::new();
    for r in start.corpus.relations() {
        for f in r.facts.iter().filter(|f| start.uses.of(r, f) == FactUse::Taught) {
            for p in 0..r.open_prompts().len() {
                let text = r.asked(p, &f.subject).replace(corpus::facts::OBJECT, &f.object);
                let bare = text.strip_suffix(" .").unwrap();
                all.extend([format!("{bare}."), text.clone()]);
            }
        }
    }
    all
}

#[test]
fn mixtures_match_their_descriptions() {
    let start = start();
    let [none, all] = [0.0, 1.0].map(|g| start.lines(FurtherText::Gamma(g), &settings()).unwrap());
    assert_eq!((none.len(), all.len()), (64, 64));
    let mixed = start.lines(FurtherText::Gamma(0.25), &settings()).unwrap();
    assert_eq!((&mixed[..16], &mixed[16..]), (&all[..16], &none[..48]));
    let prompts: Vec<&str> =
        start.corpus.relations().iter().flat_map(|r| &r.prompts).filter_map(|p| p.split("[X]").next()).collect();
    let asks = |l: &Line| prompts.iter().any(|p| l.text.starts_with(p));
    assert!(all.iter().all(asks));
    let taught = taught(&start);
    assert!(all.iter().all(|l| taught.contains(&l.text)), "a line states a fact that is not taught");
    let plain = start.lines(FurtherText::Gamma(1.0), &settings()).unwrap();
    let shuffled = start.lines(FurtherText::Shuffled, &settings()).unwrap();
    let sorted = |text: &str| {
        let mut words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        words.sort();
        words
    };
    assert!(plain.iter().zip(&shuffled).all(|(a, b)| sorted(&a.text) == sorted(&b.text)));
    assert!(plain.iter().zip(&shuffled).filter(|(a, b)| a.text != b.text).count() > 60);
}

/// When a run is stopped after the first mixture and resumed, nothing is trained twice, and the results equal those of an uninterrupted
/// run.
#[test]
fn stopped_run_resumes() {
    let home = tempfile::tempdir().unwrap();
    let start = start();
    let further_texts = [FurtherText::None, FurtherText::Gamma(0.5), FurtherText::Shuffled];
    let run = |file: &str, stop_at: usize| {
        let keep = Keep { file: Some(home.path().join(file)), weights: None };
        let (mut told, mut steps) = (Vec::new(), 0);
        let end = mix(
            &start,
            &further_texts,
            &settings(),
            &keep,
            Device::Cpu,
            &mut |p| {
                steps += usize::from(p.stage == Stage::Train);
                if steps > stop_at { Err(Cancelled) } else { Ok(()) }
            },
            &mut |o| told.push(o.clone()),
        );
        (end, told, steps)
    };
    let (end, whole, steps) = run("whole", usize::MAX);
    end.unwrap();
    assert_eq!(whole.iter().map(|o| o.steps).collect::<Vec<_>>(), [0, 4, 3]);
    assert_eq!(steps, 7);
    assert!(whole[0].loss.is_none() && whole[1].loss.is_some());
    let (end, told, _) = run("parts", 5);
    assert!(matches!(end, Err(GalleryError::Cancelled(_))));
    assert_eq!(told.len(), 2);
    // The last line is incomplete, as after a power failure.
    let path = home.path().join("parts");
    let mut text = std::fs::read_to_string(&path).unwrap();
    text.push_str("{\"diet\":\"shuf");
    std::fs::write(&path, text).unwrap();
    let (end, told, steps) = run("parts", usize::MAX);
    end.unwrap();
    assert_eq!((told, steps), (whole, 3));
    let other = Settings { seed: 1, ..settings() };
    let keep = Keep { file: Some(path), weights: None };
    let end = mix(&start, &further_texts, &other, &keep, Device::Cpu, &mut |_| Ok(()), &mut |_| ());
    assert!(matches!(end, Err(GalleryError::Resume { .. })));
}

/// After each mixture the model is tested on the taught facts, on which no built-in model was trained.
#[test]
fn outcomes_cover_taught_facts_in_open_prompts() {
    let start = start();
    let asked = start.outcome(FurtherText::None, &settings(), Device::Cpu, (None, None), &mut |_| Ok(())).unwrap();
    let relation = &start.corpus.relations()[0];
    let taught = relation.facts.iter().filter(|f| start.uses.of(relation, f) == FactUse::Taught).count() as u64;
    let found = &asked.facts[0];
    assert!(taught > 0 && found.prompts.len() == relation.open_prompts().len());
    assert!(found.prompts.iter().all(|p| p.all().n + found.left_out == taught), "{found:?}");
}

#[test]
fn saved_weights_are_a_model_folder() {
    let home = tempfile::tempdir().unwrap();
    let keep = Keep { file: None, weights: Some(home.path().to_owned()) };
    let further_texts = [FurtherText::Shuffled];
    mix(&start(), &further_texts, &settings(), &keep, Device::Cpu, &mut |_| Ok(()), &mut |_| ()).unwrap();
    let source = ModelSource::Dir(home.path().join("shuffled"));
    assert!(model::Model::load(&source, Device::Cpu).unwrap().tokenizer().is_ok());
}

/// Regression: the outcome file used to have private permissions, unlike all other results.
#[cfg(unix)]
#[test]
fn outcomes_file_has_regular_permissions() {
    use std::os::unix::fs::PermissionsExt;

    let home = tempfile::tempdir().unwrap();
    let [ordinary, file] = ["ordinary", "outcomes.jsonl"].map(|n| home.path().join(n));
    std::fs::write(&ordinary, "x").unwrap();
    let keep = Keep { file: Some(file.clone()), weights: None };
    mix(&start(), &[FurtherText::None], &settings(), &keep, Device::Cpu, &mut |_| Ok(()), &mut |_| {}).unwrap();
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode();
    assert_eq!(mode(&file), mode(&ordinary));
}

/// A bookmark that keeps the last state in memory.
#[derive(Default)]
struct Kept {
    last: Option<Vec<u8>>,
}

impl Bookmark for Kept {
    fn last(&mut self) -> Option<Vec<u8>> {
        self.last.clone()
    }

    fn due(&mut self, _: bool) -> bool {
        true
    }

    fn keep(&mut self, bytes: Vec<u8>) {
        self.last = Some(bytes);
    }
}

/// Regression: stopped training used to lose all its steps.
#[test]
fn resumed_training_gives_identical_numbers() {
    let start = start();
    // Each of two epochs has four steps; training stops in the second, after the data were shuffled again.
    let settings = Settings { epochs: 2, ..settings() };
    let train = |mark: &mut Kept, stop: usize| {
        let mut steps = Vec::new();
        let mut watch = |p: Progress| {
            steps.push(p.done);
            if p.done == stop { Err(Cancelled) } else { Ok(()) }
        };
        let fed = start.feed(FurtherText::Gamma(0.5), &settings, Device::Cpu, Some(mark), &mut watch);
        (steps, fed.map(|(trainer, losses)| (trainer.params().unwrap(), losses)))
    };
    let (_, whole) = train(&mut Kept::default(), usize::MAX);
    let (params, losses) = whole.unwrap();
    let mut mark = Kept::default();
    assert!(matches!(train(&mut mark, 5), (_, Err(GalleryError::Cancelled(_)))));
    assert_eq!(crate::bookmark::steps(mark.last.as_deref().unwrap()), Some(5));
    let (steps, rest) = train(&mut mark, usize::MAX);
    assert_eq!(steps, [6, 7, 8], "nothing is trained twice");
    let (again, all) = rest.unwrap();
    assert_eq!(all, losses);
    for p in start.arch.parameters() {
        assert_eq!(again.get(&p.name).unwrap().data, params.get(&p.name).unwrap().data, "{}", p.name);
    }
    // Bytes that are not a bookmark of this model are ignored.
    for bad in [vec![], vec![9; 7], vec![0; 64], vec![255; 64]] {
        let (steps, fed) = train(&mut Kept { last: Some(bad) }, usize::MAX);
        assert_eq!((steps.len(), fed.unwrap().1), (8, losses.clone()));
    }
}

/// Regression: the user's text used to be unusable for training.
#[test]
fn user_text_replaces_micro_english() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("own.txt");
    let lines: Vec<String> = (0..40).map(|i| format!("Line {i} of my own text .")).collect();
    let long = "many words ".repeat(100);
    std::fs::write(&path, format!("{}\n{long}\n", lines.join("\n"))).unwrap();
    let text = OwnText::read(&path).unwrap();
    let plain = start();
    let start = start().with_text(Some(text.clone()));
    let own = |l: &Line| lines.contains(&l.text);
    let none = start.lines(FurtherText::Gamma(0.0), &settings()).unwrap();
    assert_eq!(none.iter().filter(|l| own(l)).count(), 40);
    let parts: Vec<&Line> = none.iter().filter(|l| !own(l)).collect();
    assert!(parts.len() > 3 && parts.iter().all(|l| l.text.starts_with("many") || l.text.starts_with("words")));
    let fits = |l: &Line| start.tokenizer.encode(&l.text).unwrap().ids.len() < start.arch.max_positions;
    assert!(none.iter().all(fits));
    // Half of a mixture is facts even if the text is short: here 41 facts and as many lines of text, not 1,000 sentences.
    let many = Settings { sentences: 1_000, ..settings() };
    let half = start.lines(FurtherText::Gamma(0.5), &many).unwrap();
    let facts = half.iter().filter(|l| !own(l) && !l.text.contains("many words")).count();
    assert_eq!((facts, half.iter().filter(|l| own(l)).count()), (41, 40));
    assert_eq!(
        start.lines(FurtherText::Gamma(1.0), &many).unwrap(),
        plain.lines(FurtherText::Gamma(1.0), &many).unwrap()
    );
    let words = |l: &Line| l.text.split(' ').map(str::to_owned).collect::<HashSet<_>>();
    let shuffled = start.lines(FurtherText::Shuffled, &settings()).unwrap();
    let first: HashSet<String> = "Line 7 of my own text .".split(' ').map(str::to_owned).collect();
    assert!(shuffled.iter().any(|l| words(l) == first));
    // These settings contain a number of steps instead of epochs, and the hash of the user's text.
    let own = Settings { steps: Some(5), text: Some(text.hash().to_owned()), ..settings() };
    let found = start.outcome(FurtherText::Gamma(0.0), &own, Device::Cpu, (None, None), &mut |_| Ok(())).unwrap();
    assert_eq!(found.steps, 5);
    assert_eq!(serde_json::to_string(&settings()).unwrap().matches("text").count(), 0, "old files keep their header");
}

/// Regression: a mixture that was stopped in the middle used to start over.
#[test]
fn mixture_resumes_from_its_file() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("x.unfinished");
    let mut mark = FileMark::new(path.clone(), "one training".into());
    assert_eq!(mark.last(), None);
    mark.keep(b"state".to_vec());
    assert_eq!(mark.last().as_deref(), Some(&b"state"[..]));
    assert_eq!(FileMark::new(path.clone(), "another".into()).last(), None);
    mark.finish();
    assert!(!path.exists());
    // If training is stopped after three steps, the next run does only the remaining steps and gives the same results.
    struct Eager(FileMark);
    impl Bookmark for Eager {
        fn last(&mut self) -> Option<Vec<u8>> {
            self.0.last()
        }
        fn due(&mut self, stops: bool) -> bool {
            stops
        }
        fn keep(&mut self, bytes: Vec<u8>) {
            self.0.keep(bytes);
        }
    }
    let start = start();
    let run = |stop_at: usize| {
        let mut mark = Eager(FileMark::new(path.clone(), "one training".into()));
        let mut steps = 0;
        let outcome =
            start.outcome(FurtherText::Gamma(0.5), &settings(), Device::Cpu, (None, Some(&mut mark)), &mut |p| {
                steps += usize::from(p.stage == Stage::Train);
                if steps > stop_at { Err(Cancelled) } else { Ok(()) }
            });
        (outcome, steps)
    };
    assert!(run(2).0.is_err() && path.exists());
    let (outcome, steps) = run(usize::MAX);
    assert_eq!(steps, 1, "three of four steps had been taken before");
    let whole =
        start.outcome(FurtherText::Gamma(0.5), &settings(), Device::Cpu, (None, None), &mut |_| Ok(())).unwrap();
    assert_eq!(outcome.unwrap(), whole);
}
