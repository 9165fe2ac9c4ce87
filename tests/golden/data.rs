//! Real data sets (`PROBITY_DATA`, default `../shared/data`), with the counts stated in their descriptions.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;

use probity::corpus::agreement::Collector;
use probity::corpus::doctor::{Diagnosis, Doctor, Survey};
use probity::corpus::readers::{Reading, Set, plain};

use crate::common::subfolders;
use crate::harness::say;

crate::harness::tests! {
    Needs::Data("") => [
        every_folder_is_read_and_only_its_description_is_left_out,
        counts_are_those_that_the_descriptions_state,
        converted_rows_are_the_same_rows,
    ];
    Needs::Data("lama") => [lama_is_asked_and_the_doctor_explains_every_fact_that_is_not];
    Needs::Data("agreement_natural") => [natural_agreement_becomes_examples_with_the_stated_numbers];
}

fn diagnose(path: &Path) -> Diagnosis {
    let set = Set::open(path).unwrap_or_else(|e| panic!("{e}"));
    let mut survey = Survey::default();
    set.rows(&mut |file, row, line| {
        survey.add(file, &row, line);
        ControlFlow::Continue(())
    })
    .unwrap_or_else(|e| panic!("{e}"));
    let mut doctor = Doctor::new(&set, Vec::new(), 3).knowing(survey);
    let reports = set.rows(&mut |file, row, line| {
        doctor.examine(file, &row, line);
        ControlFlow::Continue(())
    });
    doctor.finish(&set, &reports.unwrap_or_else(|e| panic!("{e}")))
}

fn every_folder_is_read_and_only_its_description_is_left_out(root: &Path) {
    for path in subfolders(root) {
        let d = diagnose(&path);
        say!("{}: {} rows, {} dropped, {} unreadable", path.display(), d.rows, d.dropped, d.unread.total());
        assert!(d.rows > 0 && d.left_out.iter().all(|(file, _)| file == "README.md"), "{:?}", d.left_out);
        // At most one row in a thousand may be unreadable.
        assert!(1_000 * d.unread.total() <= d.rows, "{:?}", d.unread);
    }
}

fn counts_are_those_that_the_descriptions_state(root: &Path) {
    for (file, kind, rows, unread) in [
        ("lama/relations.jsonl", "relation", 43, 0),
        ("lgd_testset/linzen_testset.tsv.gz", "sentence", 7_485, 4),
        ("lgd_testset/gulordava_nonce_english.tsv.gz", "sentence", 410, 0),
        ("agreement_natural/agreement.tsv.gz", "sentence", 4_813, 0),
        ("ding_koehn/syneval.jsonl.gz", "rationale", 6_280, 0),
        ("plm_rationale_mini/instances.jsonl", "rationale", 45, 0),
        ("senteval_style/bigram_shift.txt.gz", "sentence", 8_000, 0),
        ("senteval_style/past_present.txt.gz", "sentence", 6_532, 0),
        ("senteval_style/sentence_length.txt.gz", "sentence", 5_868, 0),
        ("rxn_atoms/reactions.csv", "sentence", 900, 0),
    ] {
        let d = diagnose(&root.join(file));
        assert_eq!((d.kinds.get(kind).copied(), d.unread.total()), (Some(rows), unread), "{file}");
    }
}

fn lines(arguments: &[&str]) -> Vec<serde_json::Value> {
    let output = Command::new(env!("CARGO_BIN_EXE_probity")).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|l| serde_json::from_str(l).unwrap()).collect()
}

/// Compares the facts that the lab skips, by relation and reason, with the doctor's report for the same models. The doctor also drops facts
/// with several objects, which the lab uses.
fn lama_is_asked_and_the_doctor_explains_every_fact_that_is_not(root: &Path) {
    let (dir, path) = (tempfile::tempdir().unwrap(), std::path::absolute(root).unwrap().display().to_string());
    let spec = dir.path().join("lama.toml");
    let text = format!(
        "lab = \"prompts\"\nmodels = [\"bert-tiny\", \"gpt2-tiny\"]\n[data]\nfiles = [{path:?}]\nrelations = \"all\"\nprompts = 1\nmentions = 1\n"
    );
    std::fs::write(&spec, text).unwrap();
    let session = dir.path().join("lama.probity.jsonl").display().to_string();
    let found = lines(&["run", &spec.display().to_string(), "--json", "--session", &session]);
    let models = ["--model", "bert-tiny", "--model", "gpt2-tiny"];
    let doctor = &lines(&[&["data", "doctor", &path, "--json"][..], &models].concat())[0];
    let number = |v: &serde_json::Value| v.as_u64().unwrap_or_else(|| panic!("{v}"));
    let (mut relations, mut out, mut long) = (0, 0, 0);
    for r in found.iter().filter(|f| f["kind"] == "relation" && f["final"] == true) {
        let (printed, id) = (&doctor["relations"][r["relation"].as_str().unwrap()], &r["relation"]);
        let (facts, kept) = (number(&r["facts"]), number(&r["kept"]));
        let mut here = 0;
        for left in r["left_out"].as_array().unwrap() {
            let (reason, count) = (left["reason"].as_str().unwrap(), number(&left["count"]));
            here += count;
            // Whether a prompt is too long depends on more than the data, so the doctor does not report it.
            match reason.contains("too long") {
                true => long += count,
                false => assert!(reason.contains("is not one token in"), "{id}: {reason}"),
            }
        }
        assert_eq!(facts - here, kept, "{id}: every fact is kept or has a reason");
        // The doctor drops subjects with several objects, and all duplicates; the lab uses one of each duplicate.
        let (least, several) = (number(&printed["kept"]), number(&printed["several_objects"]));
        assert!(
            facts <= number(&printed["facts"]) && least <= kept + long && kept <= least + several,
            "{id}: {r} {printed}"
        );
        (relations, out) = (relations + 1, out + here);
    }
    let split = number(&doctor["findings"]["multi_token"]["count"]);
    say!("{relations} relations, {out} facts left out, {long} of them too long, {split} multi-token words");
    assert!(relations > 30 && out - long <= split);
}

fn natural_agreement_becomes_examples_with_the_stated_numbers(root: &Path) {
    let mut collector = Collector::default();
    let mut cells: BTreeMap<(u8, Option<u8>), u64> = BTreeMap::new();
    let reading = Reading::open(&root.join("agreement.tsv.gz")).unwrap();
    reading
        .rows(&mut |row, _| {
            collector.add(&row);
            ControlFlow::Continue(())
        })
        .unwrap();
    let (set, conversion) = collector.finish().unwrap();
    set.examples.iter().for_each(|e| *cells.entry((e.zc, e.ze)).or_default() += 1);
    say!("{conversion:?} {cells:?}");
    assert_eq!((conversion.unsuited, conversion.taken + conversion.repeated), (0, 4_813));
    // Including repetitions: (Pl, Sg) 115, (Sg, Pl) 65, (Pl, Pl) 39, (Sg, Sg) 273.
    for ((zc, ze), stated) in [((0, Some(0)), 273), ((1, Some(0)), 115), ((0, Some(1)), 65), ((1, Some(1)), 39)] {
        let found = cells[&(zc, ze)];
        assert!(found <= stated && found + conversion.repeated >= stated, "{zc} {ze:?}: {found} of {stated}");
    }
}

fn converted_rows_are_the_same_rows(root: &Path) {
    let mut rows = 0;
    for path in subfolders(root) {
        let set = Set::open(&path).unwrap();
        set.rows(&mut |_, row, line| {
            // Only a sample of rows, because every row of every file has already been parsed once.
            if line % 37 == 0 {
                rows += 1;
                let text = plain::line(&row);
                let source = Box::new(std::io::Cursor::new(text.clone().into_bytes()));
                let reading = Reading::stream(source, Path::new("converted.jsonl")).unwrap();
                assert_eq!(reading.format().id, "plain", "{text}");
                reading
                    .rows(&mut |again, _| {
                        assert_eq!(again, row, "{text}");
                        ControlFlow::Continue(())
                    })
                    .unwrap();
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    }
    say!("{rows} rows");
    assert!(rows > 1_000);
}
