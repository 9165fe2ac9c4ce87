//! Compares runs that preserve several properties with a run that preserves one.

use super::*;
use labs::interventions::spec::MapSpec;

/// A run in which every example has both properties to preserve, on a trained model.
fn of(also: &[&str]) -> Spec {
    let mut spec = plain("bert-tiny");
    spec.task.name = "attractors".into();
    spec.task.also = also.iter().map(|p| (*p).to_owned()).collect();
    spec.methods.push(MethodSpec { values: vec![0.0, 1.0], ..MethodSpec::named("fgsm") });
    spec
}

/// A second property to preserve adds numbers and leaves those for the first bit-identical; S is the mean over both.
#[test]
fn further_property_changes_only_the_mean() {
    let mut rig = Rig::new(Cache::none());
    rig.send(run(1, of(&[])));
    assert_eq!(rig.finish(), Outcome::Done, "{:?}", rig.board.notices);
    let one = rig.results().clone();
    let mut spec = of(&["subject_animacy"]);
    spec.map = Some(MapSpec { methods: vec!["alterrep".into()], ..MapSpec::default() });
    rig.send(run(2, spec));
    assert_eq!(rig.finish(), Outcome::Done, "{:?}", rig.board.notices);
    let two = rig.results();
    let probes = |r: &Results| r.probes.iter().map(|p| p.value.property.clone()).collect::<Vec<_>>();
    assert_eq!(probes(&one), ["subject_number", "attractor_number", "subject_number"]);
    assert_eq!(probes(two), ["subject_number", "attractor_number", "subject_animacy", "subject_number"]);
    assert_eq!(two.data[0].value.further[0].property, "subject_animacy");
    assert!(two.data[0].value.further[0].phi.1.abs() < 0.02 && one.data[0].value.further.is_empty());
    let animacy = &two.probes[2];
    let (accuracy, majority) = (animacy.value.accuracy.mean, animacy.value.majority);
    println!("animacy: {accuracy} of {} against {majority}", animacy.n);
    assert_eq!(animacy.value.choice.as_ref().unwrap().material.kept[0].len(), 4, "three values and \"none\"");
    let mut compared = 0;
    for (a, b) in one.curves.iter().zip(&two.curves) {
        assert_eq!(a.key, b.key);
        for (a, b) in a.points.iter().zip(&b.points) {
            let (a, b) = (&a.value, &b.value);
            assert_eq!((a.value, a.completeness, a.n_c), (b.value, b.completeness, b.n_c));
            assert!(a.beside.selectivities.is_empty());
            let [first, second] = &b.beside.selectivities[..] else { panic!("{b:?}") };
            assert_eq!((first.property.as_str(), first.selectivity), ("attractor_number", a.selectivity));
            assert_eq!((first.n, first.s_floor), (a.n_s, a.beside.s_floor));
            assert_eq!((first.balanced_accuracy, Some(first.eligible)), {
                (a.beside.ze_balanced_accuracy, a.beside.eligible)
            });
            assert_eq!((second.property.as_str(), second.n), ("subject_animacy", 120));
            assert_eq!(b.beside.eligible, Some(first.eligible && second.eligible));
            let mean = 0.5 * (first.selectivity.mean + second.selectivity.mean);
            assert!((b.selectivity.mean - mean).abs() < 1e-9, "{b:?}");
            if a.value == 0.0 {
                assert_eq!(second.selectivity.mean, 1.0, "nothing was changed");
            }
            compared += 1;
        }
    }
    assert_eq!(compared, 3 + 1 + 2);
    // At the run's own layers, the map gives the same numbers as the run for both properties.
    let own = two.map.iter().find(|c| (c.value.point.layer, c.value.point.oracle_layer) == (2, 2)).unwrap();
    let curve = two.curves.iter().find(|c| c.key.method.name == "alterrep").unwrap();
    assert_eq!(own.value.point, curve.points[0].value);
    assert_eq!(own.value.point.beside.selectivities.len(), 2);
}

/// A file whose rows lack the second property is refused before training, and the error names the field to change.
#[test]
fn constant_further_property_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let task = corpus::task::Task::named("attractors").unwrap();
    let frequencies = corpus::micro::frequencies::Frequencies::natural();
    let set = task.examples(600, 3, &frequencies).unwrap();
    let mut told = of(&["subject_animacy"]);
    told.task.data = Some("own.jsonl".into());
    told.task.base = folder.path().to_owned();
    let number = |n: u8| ["Sg", "Pl"][usize::from(n)];
    for (said, want) in [(None, "only 0 of the 3 values"), (Some("human"), "only 1 of the 3 values")] {
        let rows = set.examples.iter().map(|e| {
            let mut labels =
                serde_json::json!({ "subject_number": number(e.zc), "attractor_number": number(e.ze.unwrap_or(0)) });
            if let Some(said) = said {
                labels["subject_animacy"] = said.into();
            }
            serde_json::json!({ "text": e.text, "forms": e.forms, "labels": labels }).to_string()
        });
        let file = folder.path().join("own.jsonl");
        std::fs::write(&file, rows.collect::<Vec<_>>().join("\n") + "\n").unwrap();
        let mut rig = Rig::new(Cache::none());
        rig.send(run(1, told.clone()));
        let Outcome::Failed(problem) = rig.finish() else { panic!("{:?}", rig.board.notices) };
        assert_eq!(problem.r#where, "task.also", "{problem}");
        assert!(problem.what.contains(want) && problem.what.contains("subject_animacy"), "{problem}");
        assert!(rig.results().probes.is_empty());
    }
}
