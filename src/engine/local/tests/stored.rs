//! Reuse between runs: hidden states, probes, rates, and forecasts made from rates.

use super::*;

#[test]
fn cached_states_are_exact_and_damaged_ones_recomputed() {
    let dir = tempfile::tempdir().unwrap();
    let model = fixture(dir.path());
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::at(folder.path());
    let spec = plain(&model);
    let values = |rig: &Rig| -> Vec<_> {
        rig.results().curves.iter().flat_map(|c| c.points.iter().map(|p| p.value.clone())).collect()
    };
    let mut live = Rig::new(Cache::none());
    live.send(run(1, spec.clone()));
    assert_eq!(live.finish(), Outcome::Done);
    let mut rig = Rig::new(cache.clone());
    rig.send(run(1, spec.clone()));
    assert_eq!(rig.finish(), Outcome::Done);
    assert_eq!(values(&live), values(&rig));
    // Without stored probes, everything is trained again on cached vectors, and no vectors are added.
    let filled = cache.embeddings().contents();
    assert!(filled.vectors > 300, "{filled:?}");
    cache.clear().unwrap();
    rig.send(run(2, spec.clone()));
    assert_eq!(rig.finish(), Outcome::Done);
    assert!(rig.results().probes.iter().all(|p| !p.value.cached));
    assert_eq!(values(&live), values(&rig), "cached vectors are the model's own, to the bit");
    assert_eq!(cache.embeddings().contents(), filled);
    // A damaged vector is detected, reported and recomputed.
    let path = std::fs::read_dir(folder.path().join("embeddings")).unwrap().flatten().next().unwrap().path();
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    cache.clear().unwrap();
    rig.send(run(3, spec));
    assert_eq!(rig.finish(), Outcome::Done);
    assert_eq!(values(&live), values(&rig));
    assert!(rig.board.notices.iter().any(|n| n.problem.what.contains("damaged")), "{:?}", rig.board.notices);
}

#[test]
fn unwritable_cache_causes_only_a_notice() {
    let dir = tempfile::tempdir().unwrap();
    let model = fixture(dir.path());
    let blocked = dir.path().join("blocked");
    std::fs::write(&blocked, "x").unwrap();
    let mut rig = Rig::new(Cache::at(&blocked));
    rig.send(run(1, plain(&model)));
    assert_eq!(rig.finish(), Outcome::Done, "{:?}", rig.board.notices);
    let told = rig.board.notices.iter().filter(|n| n.problem.what.contains("hidden states could not be cached"));
    assert_eq!(told.count(), 1, "{:?}", rig.board.notices);
}

#[test]
fn forecast_excludes_cached_work() {
    let dir = tempfile::tempdir().unwrap();
    let model = fixture(dir.path());
    let mut spec = small(&model);
    spec.methods.retain(|m| m.name == "fgsm");
    let cache = Cache::at(&dir.path().join("cache"));
    let first = |spec: Spec| {
        let mut rig = Rig::new(cache.clone());
        rig.send(run(1, spec));
        assert_eq!(rig.finish(), Outcome::Done, "{:?}", rig.board.notices);
        let found = rig.log.iter().find_map(|e| match e {
            Event::Forecast { forecast, .. } if !forecast.refined => Some(forecast.range),
            _ => None,
        });
        found.expect("a forecast")
    };
    assert_eq!(spec.methods.len(), 1);
    let unknown = first(spec.clone()).expect("a forecast, although the grid has not chosen a probe yet");
    assert!(0.0 < unknown[0] && unknown[0] < unknown[1], "{unknown:?}");
    assert_eq!(first(spec), None, "the probe is in the cache now");
}

#[test]
fn run_is_refused_if_its_forecast_exceeds_the_limit() {
    let dir = tempfile::tempdir().unwrap();
    let model = fixture(dir.path());
    let mut rig = Rig::new(Cache::none());
    let mut spec = small(&model);
    spec.methods.truncate(1);
    rig.send(run(1, spec.clone()));
    assert_eq!(rig.finish(), Outcome::Done);
    let kinds: Vec<bool> = rig
        .log
        .iter()
        .filter_map(|e| match e {
            Event::Forecast { forecast, .. } => Some(forecast.refined),
            _ => None,
        })
        .collect();
    assert!(
        matches!(kinds[..], [false, true] | [false, false, true]),
        "{kinds:?}: forecasts before and after the first estimates"
    );
    let before = |e: &Event| matches!(e, Event::Forecast { .. } | Event::Finding { .. });
    assert!(matches!(rig.log.iter().find(|e| before(e)), Some(Event::Forecast { .. })));
    let forecasts = &rig.board.job().unwrap().forecasts;
    assert!(forecasts.len() == 1 && forecasts[0].bytes > 1 << 20 && forecasts[0].seconds > 0.0, "{forecasts:?}");
    let mut tight = Rig::with_limit(Cache::none(), Some(1 << 20));
    tight.send(run(1, spec));
    let Outcome::Failed(problem) = tight.finish() else { panic!("one megabyte cannot be enough") };
    assert!(problem.what.contains("limit is 1.0 MB") && problem.hint.contains("--memory-limit"), "{problem}");
}
