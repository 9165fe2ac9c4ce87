//! Tests of relations from user files.

use super::*;

#[test]
fn user_files_are_queried_and_omissions_reported() {
    let dir = tempfile::tempdir().unwrap();
    let facts = "{\"relation\":\"P36\",\"subject\":\"France\",\"object\":\"Paris\"}\n{\"relation\":\"P36\",\"subject\":\"Norway\",\"object\":\"Oslo\"}\n{\"relation\":\"P36\",\"subject\":\"Nowhere\",\"object\":\"Xyzzyville Town\"}\n";
    std::fs::write(dir.path().join("facts.jsonl"), facts).unwrap();
    std::fs::write(
        dir.path().join("prompts.jsonl"),
        "{\"relation\":\"P36\",\"prompt\":\"The capital of [X] is [Y] .\"}\n",
    )
    .unwrap();
    let mut spec = spec();
    spec.data.relations = Relations::Functional;
    spec.data.files = vec![dir.path().display().to_string()];
    let mut desk = Desk::new();
    run(&spec, &mut desk).1.unwrap();
    let results = desk.results();
    let relation = &results.relation("P36").unwrap().value;
    assert_eq!((relation.facts, relation.kept), (3, 2));
    assert!(relation.left_out[0].what.contains(&"Xyzzyville Town".to_owned()), "{relation:?}");
    assert_eq!(results.data.unwrap().value.sources[0].rows, 4);
    spec.data.relations = ["P99"].into();
    let Err(Fault::Failed(printed)) = run(&spec, &mut Desk::new()).1 else { panic!() };
    assert!(printed.what.contains("P99"), "{printed}");
}

/// An unusable relation is reported, not dropped silently. If requested by name, it is refused with the reason.
#[test]
fn relation_without_prompts_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    let fact = |r: &str, s: &str, o: &str| format!("{{\"relation\":\"{r}\",\"subject\":\"{s}\",\"object\":\"{o}\"}}\n");
    let facts =
        [fact("P36", "France", "Paris"), fact("P36", "Norway", "Oslo"), fact("P30", "Norway", "Europe")].concat();
    std::fs::write(dir.path().join("facts.jsonl"), facts).unwrap();
    let prompt = "{\"relation\":\"P36\",\"prompt\":\"The capital of [X] is [Y] .\"}\n";
    std::fs::write(dir.path().join("prompts.jsonl"), prompt).unwrap();
    let mut spec = spec();
    spec.data.relations = Relations::Functional;
    spec.data.files = vec![dir.path().display().to_string()];
    let mut desk = Desk::new();
    run(&spec, &mut desk).1.unwrap();
    let printed: Vec<&Problem> = desk.notices.iter().filter(|p| p.r#where == "data.files").collect();
    assert_eq!(printed.len(), 1, "{:?}", desk.notices);
    assert!(printed[0].what.contains("P30 has facts without prompts"), "{}", printed[0]);
    spec.data.relations = ["P30"].into();
    let Err(Fault::Failed(printed)) = run(&spec, &mut Desk::new()).1 else { panic!() };
    assert!(printed.what.contains("relation P30 has facts without prompts"), "{printed}");
}

/// Regression: N-M relations, which Cao et al. leave out, used to be included.
#[test]
fn n_m_relations_are_omitted_by_default_and_counted() {
    let dir = tempfile::tempdir().unwrap();
    let relations = [("P36", "1-1"), ("P190", "N-M"), ("P30", "")];
    let row = |(id, kind): &(&str, &str)| {
        let kind = if kind.is_empty() { String::new() } else { format!(",\"type\":\"{kind}\"") };
        format!("{{\"relation\":\"{id}\",\"template\":\"[X] has [Y] .\"{kind}}}\n")
    };
    std::fs::write(dir.path().join("relations.jsonl"), relations.iter().map(row).collect::<String>()).unwrap();
    // P30 also has several objects, but no file gives its type.
    let fact = |id: &str, o: &str| format!("{{\"relation\":\"{id}\",\"subject\":\"Norway\",\"object\":\"{o}\"}}\n");
    let facts = [("P36", "Oslo"), ("P190", "Paris"), ("P190", "London"), ("P30", "Europe"), ("P30", "Asia")];
    let text: String = facts.iter().map(|(id, o)| fact(id, o)).collect();
    std::fs::write(dir.path().join("facts.jsonl"), text).unwrap();
    let asked = |relations: Relations| {
        let mut spec = spec();
        (spec.data.relations, spec.data.files) = (relations, vec![dir.path().display().to_string()]);
        let mut desk = Desk::new();
        run(&spec, &mut desk).1.map_err(|e| format!("{e:?}")).unwrap();
        let data = desk.results().data.unwrap().value;
        let printed = desk.notices.iter().find(|p| p.what.contains("(N-M)")).map(|p| p.what.clone());
        let mut relations = data.relations;
        relations.sort();
        (relations.join(" "), data.left_out.len(), printed)
    };
    let (ids, left_out, printed) = asked(Relations::Functional);
    assert_eq!((ids.as_str(), left_out), ("P30 P36", 1));
    assert!(printed.unwrap().starts_with("1 of 3 relations are left out"));
    assert_eq!(asked(Relations::All), ("P190 P30 P36".into(), 0, None));
    assert_eq!(asked(["P190", "P36"].into()), ("P190 P36".into(), 0, None));
    // Without P190, no relation would remain.
    std::fs::write(dir.path().join("relations.jsonl"), row(&("P190", "N-M"))).unwrap();
    std::fs::write(dir.path().join("facts.jsonl"), fact("P190", "Paris")).unwrap();
    let mut spec = spec();
    (spec.data.relations, spec.data.files) = (Relations::Functional, vec![dir.path().display().to_string()]);
    let Err(Fault::Failed(printed)) = run(&spec, &mut Desk::new()).1 else { panic!() };
    assert!(printed.what.starts_with("1 of 1") && printed.hint.contains("\"all\""), "{printed}");
}

/// Regression: the ledger used to decompose the gap over all prompts and names, although the adjusted scores next to it averaged only the
/// drawn ones.
#[test]
fn k_by_k_ledger_covers_the_sample() {
    let mut drawn = spec();
    (drawn.adjust.prompts, drawn.adjust.mentions) = (Some(2), Some(1));
    let mut desk = Desk::new();
    run(&drawn, &mut desk).1.unwrap();
    let results = desk.results();
    let mean = |model: &str| {
        let mine = results.adjusted.iter().filter(|a| a.model == model);
        mine.map(|a| a.value.p_at_1.mean).sum::<f64>() / results.relations.len() as f64
    };
    for l in &results.ledgers {
        let (v, gap) = (&l.value, mean(&l.value.a) - mean(&l.value.b));
        assert!((v.parts.model_itself.mean - gap).abs() < 1e-9, "{}: {} and {gap}", v.b, v.parts.model_itself.mean);
        assert_eq!(v.parts.mention.mean, 0.0, "one name per subject is drawn");
    }
}

/// Regression: adding a file used to replace five selected relations with all forty.
#[test]
fn selected_relations_stay_selected_with_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let rows = "{\"relation\":\"P36\",\"subject\":\"France\",\"object\":\"Paris\"}\n{\"relation\":\"P36\",\"prompt\":\"The capital of [X] is [Y] .\"}\n";
    std::fs::write(dir.path().join("own.jsonl"), rows).unwrap();
    let mut spec = spec();
    spec.data.relations = ["capital"].into();
    spec.data.add(dir.path().join("own.jsonl").display().to_string());
    let mut desk = Desk::new();
    run(&spec, &mut desk).1.unwrap();
    let results = desk.results();
    let asked: Vec<&str> = results.relations.iter().map(|r| r.value.relation.as_str()).collect();
    assert_eq!(asked, ["capital", "P36"]);
}

/// Regression: the instances behind a stability score used to be visible only one at a time.
#[test]
fn instances_show_which_change_with_the_name() {
    let mut spec = spec();
    spec.data.relations = ["capital"].into();
    let mut desk = Desk::new();
    let (mut experiment, done) = run(&spec, &mut desk);
    done.unwrap();
    let results = desk.results();
    let first = results.relations[0].value.clone();
    let (relation, prompt) = (first.relation.clone(), first.prompts[0].clone());
    let asked = LookQuestion { relation, prompt, instance: 0, mention: 0 };
    let found = experiment.answer(&Asked::Look(asked), Share::All, &mut desk).unwrap();
    let Body::Lab(Kind::Instances(all)) = &found[0].body else { panic!("{found:?}") };
    for (k, model) in all.models.iter().enumerate() {
        let printed = &results.stability_of(&first.relation, model).unwrap().value;
        let several = all.rows.iter().filter(|r| r.mentions.len() > 1);
        assert_eq!(several.clone().count(), printed.kept);
        let stable = several.filter(|r| r.stable[k]).count() as f64;
        assert!((stable / printed.kept as f64 - printed.stability.unwrap().mean).abs() < 1e-12, "{model}");
    }
    assert!(all.rows.iter().all(|r| r.mentions.len() > 1 || r.stable.is_empty()));
}
