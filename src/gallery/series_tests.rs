//! Tests of parallel training, with models of two steps.

use super::super::score::Sizes;
use super::super::{seeds, spread};
use super::*;
use model::Device;
use pretraining::recipe::Base;

const SMALL: Recipe = Recipe {
    name: "small",
    base: Base::Bert,
    layers: 1,
    hidden: 32,
    heads: 2,
    max_positions: 64,
    steps: 2,
    rate: 5e-3,
    facts: 0.3,
    rationales: 0.4,
};

fn like() -> Options {
    let sizes = Sizes { agreement: 20, learn: 200, judge: 100, other: 60, relations: 1 };
    Options { seed: 0, steps: None, out: PathBuf::new(), sizes, judgement: Judgement::Final, device: Device::Cpu }
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn first_seeds_run_first_and_tinies_have_three() {
    let dir = tempfile::tempdir().unwrap();
    let plan = Plan::new(dir.path(), pretraining::RECIPES, 5, None, Judgement::Final).unwrap();
    let models = pretraining::RECIPES.len();
    assert_eq!(plan.jobs.len(), 4 * 5 + 4 * 3);
    assert!(plan.jobs[..models].iter().all(|j| j.seed == seeds::SHIPPED));
    assert!(plan.jobs.is_sorted_by_key(|j| j.seed));
    assert!(plan.jobs.iter().all(|j| j.seed <= 3 || j.recipe.name.ends_with("-mini")));
    let last = plan.jobs.last().unwrap();
    assert!(last.out.ends_with(format!("{}/seed-5", last.recipe.name)), "{last:?}");
    drop(plan);
    assert_eq!(Plan::new(dir.path(), pretraining::RECIPES, 2, None, Judgement::Final).unwrap().jobs.len(), 8 * 2);
    let error = Plan::new(dir.path(), pretraining::RECIPES, 1, Some(0), Judgement::Final).unwrap_err();
    assert!(matches!(error, GalleryError::Steps(0)), "{error}");
}

#[test]
fn threads_are_divided_between_runs() {
    let of = |threads, abreast| shares(threads, abreast).collect::<Vec<_>>();
    assert_eq!(of(2, 1), [2]);
    assert_eq!(of(2, 2), [1, 1]);
    assert_eq!(of(16, 3), [6, 5, 5]);
    assert_eq!(of(2, 3), [1, 1, 1], "every run gets at least one thread");
}

/// Stopped and killed runs leave no partial models; the next run trains only missing models. If one model cannot be written, the others
/// still are.
#[test]
fn series_resumes_and_survives_a_failed_run() {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path();
    let recipes = [Recipe { name: "blocked", ..SMALL }, SMALL];
    std::fs::write(dir.join("blocked"), "a file where a folder is needed").unwrap();
    let (stop, mut failed, mut written) = (AtomicBool::new(false), Vec::new(), Vec::new());
    let plan = Plan::new(dir, &recipes, 2, None, Judgement::Final).unwrap();
    assert_eq!((plan.jobs.len(), plan.there), (4, 0));
    let busy = Plan::new(dir, &recipes, 2, None, Judgement::Final);
    if cfg!(unix) {
        assert!(matches!(busy, Err(GalleryError::Busy(_))), "{busy:?}");
    }
    run(&plan, &like(), 1, &stop, &mut |job, event| {
        let Event::Done(made) = event else { return };
        match *made {
            Ok(card) => {
                written.push(job.seed);
                assert_eq!(card.training.threads, rayon::current_num_threads());
                stop.store(true, Ordering::Relaxed);
            }
            Err(GalleryError::Cancelled(_)) => assert!(!job.out.exists()),
            Err(error) => failed.push((job.out.clone(), error.to_string())),
        }
    })
    .unwrap();
    assert_eq!(written, [1]);
    assert!(failed[0].0.ends_with("blocked/seed-1") && failed[0].1.contains("blocked"), "{failed:?}");
    drop(plan);
    assert_eq!(names(&dir.join("small")), ["seed-1"]);
    let before = std::fs::read(dir.join("small/seed-1/model.safetensors")).unwrap();

    // After kill -9, the working folder still exists but its lock is free.
    let killed = dir.join("small").join(format!("{}abc", work::PREFIX));
    std::fs::create_dir_all(killed.join("model")).unwrap();
    std::fs::write(killed.join("lock"), "").unwrap();
    std::fs::write(killed.join("model/card.json"), "{").unwrap();
    let plan = Plan::new(dir, &[SMALL], 3, None, Judgement::Final).unwrap();
    assert!(!killed.exists());
    assert_eq!((plan.there, plan.jobs.iter().map(|j| j.seed).collect::<Vec<_>>()), (1, vec![2, 3]));
    let mut steps = 0;
    run(&plan, &like(), 2, &AtomicBool::new(false), &mut |_, event| match event {
        Event::Step(_) => steps += 1,
        Event::Done(made) => {
            let threads = made.unwrap().training.threads;
            assert!(shares(rayon::current_num_threads(), 2).any(|n| n == threads), "{threads}");
        }
    })
    .unwrap();
    assert!(steps >= 4, "{steps}");
    drop(plan);
    assert_eq!(names(&dir.join("small")), ["seed-1", "seed-2", "seed-3"]);
    assert_eq!(
        std::fs::read(dir.join("small/seed-1/model.safetensors")).unwrap(),
        before,
        "the finished model was not trained again"
    );

    let cards = seeds::cards(dir, "small").unwrap();
    let card = seeds::together(&cards).unwrap();
    assert_eq!((card.seed, spread::title(&card).as_str()), (1, "3 seeds (1 2 3)"));
    let error = Plan::new(dir, &[SMALL], 3, Some(4), Judgement::Final).unwrap_err().to_string();
    assert!(error.contains("seed-1/card.json: training.steps is 2, but 4 for the model"), "{error}");
    std::fs::remove_file(dir.join("small/seed-2/tokenizer.json")).unwrap();
    let error = Plan::new(dir, &[SMALL], 3, None, Judgement::Final).unwrap_err().to_string();
    assert!(error.contains("seed-2/tokenizer.json: is missing; remove the folder"), "{error}");
}
