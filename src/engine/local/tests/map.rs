//! Compares the map of layers with runs at single layers.

use super::*;
use labs::Tagged;
use labs::interventions::{
    finding::ReliabilityFinding,
    map::{Chosen, MapFinding},
    spec::MapSpec,
};

/// Four methods: one at a given strength, one at the best strength of each layer, one with a single possible strength, and a control.
fn mapped(model: &str) -> Spec {
    let mut spec = small(model);
    spec.methods.truncate(3);
    spec.methods.push(MethodSpec::named("identity"));
    spec.map = Some(MapSpec { value: [("inlp".to_owned(), 2.0)].into(), ..MapSpec::default() });
    spec
}

fn cells<'a>(results: &'a Results, method: &str, oracle: OracleKind) -> Vec<&'a Tagged<MapFinding>> {
    let mine = |c: &&Tagged<MapFinding>| c.value.point.method == method && c.value.point.oracle == oracle;
    results.map.iter().filter(mine).collect()
}

/// The result of a run without a map, with the same method, oracle and strength.
fn alone(results: &Results, cell: &ReliabilityFinding) -> ReliabilityFinding {
    let key = MethodKey::named(&cell.method);
    let curve = results.curves.iter().find(|c| c.key.method == key && c.key.oracle == cell.oracle).unwrap();
    curve.points.iter().map(|p| &p.value).find(|p| p.value == cell.value).unwrap().clone()
}

#[test]
fn map_cells_equal_single_runs_exactly() {
    let dir = tempfile::tempdir().unwrap();
    let model = deep_fixture(dir.path(), 3);
    let mut rig = Rig::new(Cache::none());
    rig.send(run(1, mapped(&model)));
    assert_eq!(rig.finish(), Outcome::Done, "{:?}", rig.board.notices);
    let map = rig.results().clone();
    // An untrained model does not encode the other property, so no strength is best for it; the report must list those layers.
    let rows: Vec<(&str, &[usize])> =
        map.unmapped.iter().map(|r| (&*r.value.method, &*r.value.oracle_layers)).collect();
    assert_eq!(rows, [("fgsm", &[1, 2, 3][..]), ("fgsm", &[2, 3]), ("fgsm", &[3])]);
    assert_eq!(map.map.len(), 3 * 6 * 2);
    assert!(map.map.iter().all(|c| c.is_final && c.n == 120 && c.level == Some(0.95)));
    assert!(map.map.iter().all(|c| c.value.point.beside.replicates == 2 && c.value.point.n_c == 120));
    let how = |method| cells(&map, method, OracleKind::Mlp).iter().map(|c| c.value.strength).collect::<Vec<_>>();
    assert!(how("inlp").iter().all(|h| *h == Chosen::Spec) && how("inlp").len() == 6);
    assert!(how("alterrep").iter().all(|h| *h == Chosen::Only));
    let mut compared = 0;
    for (job, (layer, oracle_layer)) in (2..).zip([(1, 1), (2, 2), (3, 3), (1, 3)]) {
        let mut spec = mapped(&model);
        spec.map = None;
        spec.site.layer = LayerRef::At(layer);
        spec.site.oracle_layer = Some(LayerRef::At(oracle_layer));
        rig.send(run(job, spec));
        assert_eq!(rig.finish(), Outcome::Done, "{:?}", rig.board.notices);
        let single = rig.results();
        for cell in map.map.iter().map(|c| &c.value) {
            if (cell.point.layer, cell.point.oracle_layer) == (layer, oracle_layer) {
                assert_eq!(cell.point, alone(single, &cell.point));
                compared += 1;
            }
        }
    }
    assert_eq!(compared, 4 * 3 * 2);
}

#[test]
fn unset_strength_uses_the_best_of_each_layer() {
    let model = "bert-tiny".to_owned();
    let mut spec = plain(&model);
    // Every example here has the other property, so a few examples suffice to distinguish that property's accuracy from chance.
    spec.task.name = "attractors".into();
    spec.task.examples = 2_000;
    spec.methods = vec![MethodSpec { values: vec![0.0, 0.5, 1.0, 4.0], ..MethodSpec::named("alterrep") }];
    spec.map = Some(MapSpec::default());
    let mut rig = Rig::new(Cache::none());
    rig.send(run(1, spec.clone()));
    assert_eq!(rig.finish(), Outcome::Done, "{:?}", rig.board.notices);
    let map = rig.results().clone();
    let cells = cells(&map, "alterrep", OracleKind::Linear);
    println!("{} cells; without: {:?}", cells.len(), map.unmapped);
    assert!(!cells.is_empty(), "{:?}", map.unmapped);
    spec.map = None;
    for (job, layer) in [(2, 1), (3, 2)] {
        spec.site.layer = LayerRef::At(layer);
        rig.send(run(job, spec.clone()));
        assert_eq!(rig.finish(), Outcome::Done, "{:?}", rig.board.notices);
        let single = rig.results();
        let row: Vec<&MapFinding> = cells.iter().map(|c| &c.value).filter(|c| c.point.layer == layer).collect();
        let Some(best) = single.optimum(&model, &MethodKey::named("alterrep"), OracleKind::Linear) else {
            let reason = &map.unmapped.iter().find(|r| r.value.layer == layer).unwrap().value.reason;
            assert!(row.is_empty() && *reason == single.without[0].value.reason);
            continue;
        };
        assert_eq!(row.len(), 3 - layer, "one cell for this layer and each later one of two");
        for cell in row {
            assert_eq!((cell.strength, cell.point.value), (Chosen::Optimum, best.value.value));
        }
        let own = cells.iter().find(|c| c.value.point.layer == layer && c.value.point.oracle_layer == layer);
        let own = &own.unwrap().value.point;
        assert_eq!(*own, alone(single, own));
    }
}

#[test]
fn null_intervention_changes_no_oracle() {
    let dir = tempfile::tempdir().unwrap();
    let model = deep_fixture(dir.path(), 3);
    let mut spec = mapped(&model);
    spec.probe.oracles = vec![OracleKind::Linear];
    spec.methods.retain(|m| ["identity", "fgsm"].contains(&m.name.as_str()));
    spec.map = Some(MapSpec { value: [("fgsm".to_owned(), 0.0)].into(), ..MapSpec::default() });
    let mut rig = Rig::new(Cache::none());
    rig.send(run(1, spec));
    assert_eq!(rig.finish(), Outcome::Done, "{:?}", rig.board.notices);
    for method in ["identity", "fgsm"] {
        let cells = cells(rig.results(), method, OracleKind::Linear);
        let places: Vec<(usize, usize)> =
            cells.iter().map(|c| (c.value.point.layer, c.value.point.oracle_layer)).collect();
        assert_eq!(places, [(1, 1), (1, 2), (1, 3), (2, 2), (2, 3), (3, 3)]);
        for cell in &cells {
            let p = &cell.value.point;
            assert_eq!(p.selectivity.mean, 1.0, "{method}: {p:?}");
            if method == "fgsm" {
                assert!((p.completeness.mean - p.beside.c_before.unwrap()).abs() < 1e-6, "{p:?}");
            }
            // Unchanged states that have passed through the blocks equal the states at the oracle's layer, up to rounding.
            let there = cells.iter().find(|c| c.value.point.layer == p.oracle_layer).unwrap();
            let apart = (p.completeness.mean - there.value.point.completeness.mean).abs();
            assert!(apart < 1e-5, "{method} from {} to {}: {apart}", p.layer, p.oracle_layer);
        }
    }
}

#[test]
fn stopped_map_resumes_with_identical_numbers() {
    let dir = tempfile::tempdir().unwrap();
    let model = deep_fixture(dir.path(), 3);
    let folder = tempfile::tempdir().unwrap();
    let mut spec = plain(&model);
    spec.map = Some(MapSpec::default());
    let is_cell = |e: &Event| match e {
        Event::Finding { finding, .. } => {
            matches!(finding.body, Body::Lab(Kinds::Interventions(Kind::Map(_))))
        }
        _ => false,
    };
    let mut rig = Rig::new(Cache::at(folder.path()));
    rig.send(run(1, spec.clone()));
    rig.until(is_cell);
    rig.send(Command::Cancel { job: 1 });
    assert_eq!(rig.finish(), Outcome::Cancelled);
    let cells = rig.results().map.len();
    assert!((1..12).contains(&cells), "{cells} cells before the end");
    let files = || std::fs::read_dir(folder.path()).unwrap().count();
    let trained = files();
    rig.send(run(2, spec.clone()));
    assert_eq!(rig.finish(), Outcome::Done);
    let again: Vec<MapFinding> = rig.results().map.iter().map(|c| c.value.clone()).collect();
    let added = files() - trained;
    assert!(added < trained / 2, "only fits for later rows are new: {added} after {trained}");
    let mut fresh = Rig::new(Cache::none());
    fresh.send(run(1, spec));
    assert_eq!(fresh.finish(), Outcome::Done);
    let unbroken: Vec<MapFinding> = fresh.results().map.iter().map(|c| c.value.clone()).collect();
    assert_eq!(again, unbroken);
}

#[test]
fn map_with_missing_layers_is_rejected_first() {
    let dir = tempfile::tempdir().unwrap();
    let model = fixture(dir.path());
    let mut rig = Rig::new(Cache::none());
    for (job, layers, reason) in [
        (1, vec![LayerRef::At(1), LayerRef::At(3)], "layer 3 does not exist: the model has layers 1 to 2"),
        (2, vec![LayerRef::At(2), LayerRef::Last], "only layer 2"),
    ] {
        let mut spec = plain(&model);
        spec.map = Some(MapSpec { layers, ..MapSpec::default() });
        rig.send(run(job, spec));
        match rig.finish() {
            Outcome::Failed(p) => assert!(p.what.contains(reason) && p.r#where == "map.layers", "{p:?}"),
            other => panic!("{other:?}"),
        }
        assert!(rig.results().data.is_empty());
    }
}
