//! `probity rationale annotate`: three annotators go from plain sentences to gold rationales in rounds, and interrupted work is kept.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Output, Stdio};

use serde_json::{Value, json};

use super::common::{Probity, refused, text};

/// Runs the command with these lines on its standard input.
fn typed(probity: &Probity, args: &[&str], input: &str) -> Output {
    let mut command = probity.command(&[&["rationale", "annotate"], args].concat());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A command that stops at an invalid answer does not read the remaining input.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

/// The last lines of the output.
fn end(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let printed = text(&output.stdout);
    printed.rsplit_once("\n\n").map_or(printed.clone(), |(_, end)| end.to_owned())
}

fn rows(path: &str) -> Vec<Value> {
    std::fs::read_to_string(path).unwrap().lines().map(|l| serde_json::from_str(l).unwrap()).collect()
}

fn sentences(probity: &Probity) -> String {
    let all = ["two dogs are barking", "its total area is large", "then he went blind"];
    let line = |(id, text): (usize, &&str)| {
        format!("{}\n", json!({"sent_id": id, "sent_token": text.split(' ').collect::<Vec<_>>()}))
    };
    probity.file("sentences.jsonl", &all.iter().enumerate().map(line).collect::<String>())
}

fn beside(path: &str, name: &str) -> String {
    Path::new(path).with_file_name(name).display().to_string()
}

/// Three raters rate one mask with a confidence of at most 2, so it is returned. A different word is then masked, which passes the second
/// round. Finally, tokens are marked and the marks are rated.
#[test]
fn three_annotators_produce_gold_rationales() {
    let probity = Probity::new();
    let set = sentences(&probity);
    let [masks, again, x, y, z, out, back, anna, gold, late] = [
        "masks.jsonl",
        "again.jsonl",
        "x.jsonl",
        "y.jsonl",
        "z.jsonl",
        "out.jsonl",
        "back",
        "anna.jsonl",
        "gold.jsonl",
        "late",
    ]
    .map(|n| beside(&set, n));
    let printed = end(&typed(&probity, &[&set, "--to", &masks, "--task", "mask"], "2\n2\n3\n"));
    assert!(printed.contains("all 3 sentences"), "{printed}");
    for (file, third) in [(&x, 4), (&y, 3), (&z, 2)] {
        let printed =
            end(&typed(&probity, &[&masks, "--to", file, "--task", "confidence"], &format!("4\n3\n{third}\n")));
        assert!(printed.contains("all 3 sentences"), "{printed}");
    }
    let merged = probity.run(&["rationale", "merge", &masks, &x, &y, &z, "--out", &out, "--back", &back]);
    let printed = text(&merged.stdout);
    assert!(
        printed.contains("round 1 of 3: 2 of 3 masks pass") && printed.contains("1 answers are unique"),
        "{printed}"
    );
    assert_eq!(rows(&out)[0]["sent_token"], json!(["two", "dogs", "[MASK]", "barking"]));
    let back = format!("{back}/masks.jsonl");
    assert_eq!(rows(&back)[0]["sent_token"], json!(["then", "he", "went", "blind"]));
    let same = typed(&probity, &[&back, "--to", &again, "--task", "mask"], "3\n");
    assert!(text(&same.stderr).contains("`blind` did not pass an earlier round"), "{}", text(&same.stderr));
    end(&typed(&probity, &[&back, "--to", &again, "--task", "mask"], "1\n"));
    assert_eq!(rows(&again)[0]["answer"], "he");
    let third = probity.run(&["rationale", "merge", &masks, &x, &y, &z, "--round", "3", "--json", "--back", &late]);
    let third: Value = serde_json::from_str(&text(&third.stdout)).unwrap();
    assert_eq!((&third["masks"][2]["fate"], third.get("rationales")), (&json!("dropped"), None));
    assert!(!Path::new(&late).join("masks.jsonl").exists());

    let printed = end(&typed(&probity, &[&out, "--to", &anna], "1 0\n1\n"));
    assert!(printed.contains("all 2 sentences"), "{printed}");
    // Mean compactness is 11/3 in the first case and 10/3 in the second.
    for (file, first, second) in [(&x, 4, 3), (&y, 4, 4), (&z, 3, 3)] {
        std::fs::remove_file(file).unwrap();
        let printed = typed(&probity, &[&anna, "--to", file, "--task", "score"], &format!("3 {first}\n3 {second}\n"));
        assert!(text(&printed.stdout).contains("two dogs [MASK] …\n"), "the other words are hidden");
    }
    // Ratings of marks made before a correction do not count for the corrected marks.
    let changed = std::fs::read_to_string(&anna).unwrap().replace("\"rationale_ids\":[1]", "\"rationale_ids\":[0]");
    let changed = probity.file("changed.jsonl", &changed);
    let again = typed(&probity, &[&changed, "--to", &x, "--task", "score"], "");
    refused(&again, 2, &["x.jsonl", "sentence 1 has different marked words in", "choose a different file"]);
    let merged = probity.run(&["rationale", "merge", &anna, &x, &y, &z, "--out", &gold]);
    assert!(text(&merged.stdout).contains("1 of 2 rationales pass"), "{}", text(&merged.stdout));
    assert_eq!(rows(&gold)[0]["rationale_ids"], json!([0, 1]));
    let mixed = probity.run(&[
        "rationale",
        "merge",
        &anna,
        &x,
        &probity.file("r.jsonl", &{
            let mut row = rows(&out).remove(0);
            row["confidence"] = 4.into();
            format!("{row}\n")
        }),
    ]);
    refused(&mixed, 2, &["merge the masks first"]);
}

#[test]
fn valid_answers_are_kept_and_command_resumes() {
    let probity = Probity::new();
    let set = sentences(&probity);
    let masks = beside(&set, "masks.jsonl");
    end(&typed(&probity, &[&set, "--to", &masks, "--task", "mask"], "2\n2\n3\n"));
    let own = beside(&set, "own.jsonl");
    let wrong = typed(&probity, &[&masks, "--to", &own], "0 1\n0 9\n0\n");
    let printed = text(&wrong.stderr);
    assert_eq!(wrong.status.code(), Some(2), "{printed}");
    assert!(printed.contains("standard input, line 2: sentence 1: there is no word 9: the last is 4"), "{printed}");
    assert_eq!(rows(&own).len(), 1);
    for (answer, why) in [
        ("2\n", "is the mask"),
        ("x\u{1b}[2J\n", "is not a number"),
        ("3-1\n", "`3-1` ends before it begins"),
        ("3-x\n", "is not a number"),
        ("1-99999\n", "there is no word 99999: the last is 4"),
        ("99999999999999999999999\n", "there is no word 99999999999999999999999"),
        ("\n", "give the numbers of words"),
    ] {
        let wrong = typed(&probity, &[&masks, "--to", &own], answer);
        let printed = text(&wrong.stderr);
        assert!(printed.contains(why) && !printed.contains('\u{1b}'), "{printed}");
    }
    // Goes back from the third to the second sentence, where an empty line keeps the marks.
    let printed = end(&typed(&probity, &[&masks, "--to", &own], "0-1,3\nb\n\n"));
    assert!(printed.contains("2 of 3 sentences are answered"), "{printed}");
    let printed = end(&typed(&probity, &[&masks, "--to", &own], "s\n"));
    assert!(printed.contains("2 of 3"), "{printed}");
    end(&typed(&probity, &[&masks, "--to", &own], "0 1\n"));
    let ids: Vec<Value> = rows(&own).into_iter().map(|r| r["rationale_ids"].clone()).collect();
    assert_eq!(ids, [json!([0, 1]), json!([0, 1, 3]), json!([0, 1])]);
    refused(&typed(&probity, &[&masks, "--to", &masks], ""), 2, &["this file contains the sentences"]);
    let other = probity.file("other.jsonl", &json!({"sent_id": 0, "sent_token": ["a"]}).to_string());
    refused(&typed(&probity, &[&masks, "--to", &other], ""), 2, &["other.jsonl", "sentence 0 has different words"]);
    refused(&typed(&probity, &["/no/such/file", "--to", &own], ""), 2, &["/no/such/file", "no such file"]);
    let empty = probity.file("empty.jsonl", "");
    refused(&typed(&probity, &[&empty, "--to", &own], ""), 2, &["empty.jsonl", "it contains no sentences"]);
    let hidden = text(&typed(&probity, &[&own, "--to", &beside(&set, "c.jsonl"), "--blank"], "").stdout);
    assert!(hidden.contains("0 two") && !hidden.contains('*'), "{hidden}");
}

/// Ctrl-C at the second sentence: the file is complete and contains the first answer.
#[cfg(unix)]
#[test]
fn an_interrupt_loses_no_answer() {
    let probity = Probity::new();
    let set = sentences(&probity);
    let masks = beside(&set, "masks.jsonl");
    let mut command = probity.command(&["rationale", "annotate", &set, "--to", &masks, "--task", "mask"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    input.write_all(b"2\n").unwrap();
    assert!(lines.any(|l| l.unwrap().contains("sentence 1 (2 of 3)")));
    assert!(std::process::Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    assert!(!child.wait().unwrap().success());
    assert_eq!(rows(&masks)[0]["answer"], "are");
    let printed = typed(&probity, &[&set, "--to", &masks, "--task", "mask"], "2\n3\n");
    assert!(end(&printed).contains("all 3 sentences"));
    assert!(!text(&printed.stdout).contains("sentence 0"), "sentence 0 is already answered");
}

/// Three annotators rate their confidence in three masks: (4, 4, 3), (4, 3, 2) and (4, 4, 4). By the definition, from all pairs of values,
/// α is 4/27. Three ratings by one annotator do not count as three annotators, and a rating of another answer does not count for this mask.
#[test]
fn mask_needs_three_raters_of_its_answer() {
    let probity = Probity::new();
    let set = sentences(&probity);
    let masks = beside(&set, "masks.jsonl");
    end(&typed(&probity, &[&set, "--to", &masks, "--task", "mask"], "2\n2\n3\n"));
    let [x, y, z] = [("x", [4, 4, 4]), ("y", [4, 3, 4]), ("z", [3, 2, 4])].map(|(name, rated)| {
        let file = beside(&set, &format!("{name}.jsonl"));
        let input: String = rated.iter().map(|r| format!("{r}\n")).collect();
        end(&typed(&probity, &[&masks, "--to", &file, "--task", "confidence"], &input));
        file
    });
    let merge = |files: &[&str]| {
        let found = probity.run(&[&["rationale", "merge", "--json", masks.as_str()], files].concat());
        assert_eq!(found.status.code(), Some(0), "{}", text(&found.stderr));
        serde_json::from_str::<Value>(&text(&found.stdout)).unwrap()
    };
    let fates = |found: &Value| -> Vec<String> {
        found["masks"].as_array().unwrap().iter().map(|m| m["fate"].as_str().unwrap().to_owned()).collect()
    };
    let found = merge(&[&x, &y, &z]);
    let alpha = found["agreement"]["confidence"]["mean"].as_f64().unwrap();
    assert!((alpha - 4.0 / 27.0).abs() < 1e-12, "{alpha}");
    assert_eq!(fates(&found), ["passes", "goes_back", "passes"]);

    let three_times = probity.file("three.jsonl", &std::fs::read_to_string(&x).unwrap().repeat(3));
    let output = probity.run(&["rationale", "merge", &masks, &three_times]);
    refused(&output, 2, &["three.jsonl", "line 4: sentence 0 is already in line 1"]);
    let other = std::fs::read_to_string(&y).unwrap().replace("\"answer\":\"are\"", "\"answer\":\"were\"");
    let found = merge(&[&x, &probity.file("other.jsonl", &other), &z]);
    assert_eq!((fates(&found)[0].as_str(), &found["agreement"]["differing"]), ("unscored", &json!(1)));
}

/// Checks the means and α of each round. Sentence 0 passes in the second round; sentence 1 is dropped after the third. Corrected files
/// record their round.
#[test]
fn rationale_is_corrected_twice_then_dropped() {
    let probity = Probity::new();
    let line = |id: usize, marks: &[usize]| json!({"sent_id": id, "sent_token": ["a", "b", "[MASK]", "d"], "mask_index": 2, "rationale_ids": marks});
    let mut anna = probity.file("anna.jsonl", &format!("{}\n{}\n", line(0, &[0, 1]), line(1, &[1])));
    // Scores of three checkers by round and sentence. Compactness of 11/3 passes and 10/3 fails; sufficiency of 8/3 fails.
    let rounds: [&[[&str; 3]]; 3] = [
        &[["3 3", "3 4", "3 3"], ["2 4", "3 4", "3 4"]],
        &[["3 4", "3 4", "3 3"], ["3 3", "3 3", "3 4"]],
        &[["3 1", "3 4", "3 4"]],
    ];
    // α of sufficiency and compactness, from all pairs of values with ordinal distances; undefined if all values are equal.
    let alphas = [(Some(0.0), Some(3.0 / 8.0)), (None, Some(-1.0 / 9.0)), (None, Some(0.0))];
    for (k, (scores, (sufficiency, compactness))) in rounds.iter().zip(alphas).enumerate() {
        let mut files = vec![anna.clone()];
        for (checker, name) in ["x", "y", "z"].iter().enumerate() {
            let file = beside(&anna, &format!("{name}{k}.jsonl"));
            let input: String = scores.iter().map(|s| format!("{}\n", s[checker])).collect();
            end(&typed(&probity, &[&anna, "--to", &file, "--task", "score"], &input));
            files.push(file);
        }
        let back = beside(&files[1], &format!("back-{k}"));
        let mut args = vec!["rationale", "merge", "--json", "--back", &back];
        args.extend(files.iter().map(String::as_str));
        let output = probity.run(&args);
        let found: Value = serde_json::from_str(&text(&output.stdout)).unwrap();
        assert_eq!(found["round"], k + 1);
        let fates: Vec<&Value> = found["rationales"].as_array().unwrap().iter().map(|r| &r["fate"]).collect();
        let want = [vec!["goes_back", "goes_back"], vec!["passes", "goes_back"], vec!["dropped"]];
        assert_eq!(fates, want[k], "{found}");
        for (key, want) in [("sufficiency", sufficiency), ("compactness", compactness)] {
            let mean = found["agreement"][key]["mean"].as_f64();
            assert!(
                mean.zip(want).map_or(mean == want, |(a, b)| (a - b).abs() < 1e-12),
                "{k} {key}: {mean:?} {want:?}"
            );
        }
        let corrected = Path::new(&back).join("anna.jsonl");
        if k == 2 {
            assert!(!corrected.exists(), "nothing is returned after the third round");
            let early = probity.run(&[&args[..], &["--round", "1", "--force"]].concat());
            refused(&early, 2, &["--round is 1, but the files are from round 3"]);
            break;
        }
        anna = corrected.display().to_string();
        assert_eq!(rows(&anna)[0]["round"], k + 2);
    }
}
