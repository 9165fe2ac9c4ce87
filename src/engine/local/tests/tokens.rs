//! Runs at every token.

use super::*;
use corpus::agreement::Position;
use labs::interventions::lens::LensSpec;
use labs::interventions::spec::MapSpec;

fn of(changed: Position, read: Option<Position>, per_text: usize) -> Spec {
    let mut spec = plain("bert-tiny");
    (spec.task.position, spec.task.oracle_position) = (changed, read);
    spec.task.tokens_per_text = per_text;
    (spec.site.layer, spec.site.oracle_layer) = (LayerRef::At(1), Some(LayerRef::At(2)));
    spec.methods.push(MethodSpec { values: vec![0.0, 0.1], ..MethodSpec::named("fgsm") });
    spec.lens = Some(LensSpec::default());
    spec
}

/// Tokens are counted, judged and audited as rows. The model's answer and all intervals are computed per text.
#[test]
fn tokens_are_rows_clustered_by_text() {
    let mut rig = Rig::new(Cache::none());
    let mut spec = of(Position::Every, None, 3);
    spec.map = Some(MapSpec { methods: vec!["fgsm".into()], ..MapSpec::default() });
    rig.send(run(1, spec));
    assert_eq!(rig.finish(), Outcome::Done, "{:?}", rig.board.notices);
    let results = rig.results();
    let data = &results.data[0].value;
    let tokens = data.tokens.as_ref().unwrap();
    assert_eq!((tokens.per_text, tokens.texts, data.n_test), (3, [240, 240, 120], 360));
    assert!(tokens.left_out > 600 && data.n_oracle.0 == 3 * 160 + 80);
    assert!(rig.board.notices.iter().any(|n| n.problem.what.contains("1,800 tokens of 600 texts are used")));
    let mut points =
        results.curves.iter().flat_map(|c| &c.points).chain(results.map.iter().map(|_| &results.curves[0].points[0]));
    assert!(points.all(|p| (p.n, p.value.n_c, p.value.beside.texts.map(|t| t[0])) == (360, 360, Some(120))));
    assert!(results.map.iter().all(|c| c.value.point.n_c == 360 && c.value.point.beside.texts.is_some()));
    let unchanged = results.curves.iter().flat_map(|c| &c.points).filter(|p| p.value.value == 0.0);
    assert!(unchanged.clone().count() >= 2);
    for p in unchanged {
        assert!((p.value.selectivity.mean - 1.0).abs() < 1e-5, "zero strength changes nothing: {p:?}");
    }
    assert!(results.lens.iter().all(|l| l.n == 120) && !results.lens.is_empty());
    let behaviour = results.behaviour.iter().filter(|b| b.is_final);
    assert!(behaviour.clone().count() > 0 && behaviour.clone().all(|b| b.n == 120));
    for p in results.probes.iter().filter(|p| p.value.property == "subject_number") {
        let accuracy = p.value.accuracy;
        let by_token = 2.0 * 1.96 * (accuracy.mean * (1.0 - accuracy.mean) / 360.0).sqrt();
        assert!(p.n == 360 && accuracy.hi - accuracy.lo > 1.05 * by_token, "{accuracy:?} {by_token}");
    }
}

/// With one position at every token and the other at the mask, a part has the rows that it needs.
#[test]
fn one_position_may_be_every_token() {
    for (changed, read, n_test, n_oracle, n_intervention, token_rows) in [
        (Position::Every, Some(Position::Mask), 120, 240, 3, false),
        (Position::Mask, Some(Position::Every), 360, 560, 1, true),
    ] {
        let mut rig = Rig::new(Cache::none());
        rig.send(run(1, of(changed, read, 3)));
        assert_eq!(rig.finish(), Outcome::Done, "{:?}", rig.board.notices);
        let results = rig.results();
        let data = &results.data[0].value;
        assert_eq!((data.n_test, data.n_oracle.0, data.n_intervention % n_intervention), (n_test, n_oracle, 0));
        let point = &results.curves[0].points[0].value;
        assert_eq!((point.n_c, point.beside.texts.map(|t| t[0])), (n_test, Some(120)));
        assert_eq!(point.n_c > 120, token_rows);
        assert!(results.behaviour.iter().filter(|b| b.is_final).all(|b| b.n == 120));
        assert!(results.leaks.iter().all(|l| l.n == n_test) && !results.leaks.is_empty());
    }
}
