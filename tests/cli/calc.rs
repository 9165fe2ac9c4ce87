//! The calculators: JSON keys, numbers that can be worked out by hand, and invalid input.

use serde_json::Value;

use super::common::{Probity, refused, text};

fn asked(args: &[&str]) -> Value {
    let output = Probity::new().run(args);
    assert_eq!(output.status.code(), Some(0), "{args:?}: {}", text(&output.stderr));
    let stdout = text(&output.stdout);
    assert_eq!(stdout.lines().count(), 1, "{stdout}");
    serde_json::from_str(&stdout).unwrap()
}

fn keys(v: &Value) -> Vec<&str> {
    v.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn recommended_n() {
    let v = asked(&["n", "--gap", "42/320", "--dim", "768", "--json"]);
    assert_eq!(keys(&v), ["bound", "epsilon", "n_total", "n_train", "parameters"]);
    assert_eq!((v["n_train"].as_u64(), v["n_total"].as_u64()), (Some(22_263), Some(33_395)));
    assert_eq!((v["epsilon"].as_f64(), v["bound"].as_str()), (Some(42.0 / 640.0), Some("published")));
    let v = asked(&["n", "--gap=-13.125%", "--dim", "768", "--bound", "textbook", "--delta", ".05", "--json"]);
    assert_eq!((v["n_train"].as_u64(), v["parameters"].as_u64()), (Some(7_922_952), Some(769)));
    let v = asked(&["n", "--gap", ".05", "--dim", "768", "--classifier", "mlp:20", "--ratio", "8:1:1", "--json"]);
    assert_eq!((v["n_train"].as_u64(), v["parameters"].as_u64()), (Some(162_997), Some(15_401)));
    let probity = Probity::new();
    let plain = text(&probity.run(&["n", "--gap", "42/320", "--dim", "768"]).stdout);
    assert!(plain.contains("22,263 training examples, 33,395 in all at 4:1:1"), "{plain}");
    for (args, word) in [
        (["n", "--gap", "0", "--dim", "768"], "no number of examples"),
        (["n", "--gap", "1.1", "--dim", "768"], "cannot exceed 1"),
        (["n", "--gap", "nan", "--dim", "768"], "nan"),
        (["n", "--gap", ".1", "--dim", "0"], "dim"),
    ] {
        refused(&probity.run(&args), 2, &[word]);
    }
    for (option, value, word) in [
        ("--bound", "publshed", "did you mean `published`"),
        ("--classifier", "mlp:0", "mlp:20"),
        ("--ratio", "4:1", "4:1:1"),
        ("--delta", "2", "between 0 and 1"),
    ] {
        refused(&probity.run(&["n", "--gap", ".1", "--dim", "768", option, value]), 2, &[word]);
    }
}

/// The expected numbers were computed independently, as in the tests of the bound.
#[test]
fn selectivity_and_code_lengths_have_separate_numbers() {
    let more = ["--dim", "768", "--control", ".52,.5", "--code-gap", ".08"];
    let v = asked(&[&["n", "--gap", "42/320", "--json"], &more[..]].concat());
    assert_eq!(keys(&v), ["bound", "epsilon", "n_total", "n_train", "parameters", "prequential", "selectivity"]);
    let n = |of: &str| v[of]["n_train"].as_u64();
    assert_eq!((n("selectivity"), n("prequential")), (Some(125_741), Some(34_290_885)));
    let probity = Probity::new();
    let plain = text(&probity.run(&[&["n", "--gap", "42/320"], &more[..], &["--clip", "4"]].concat()).stdout);
    for line in
        ["accuracy: 22,263 training", "Theorem 1 with delta/2 for each term: 125,741", "clipped at 4 bits: 5,486,541"]
    {
        assert!(plain.contains(line), "{plain}");
    }
    for (option, value, word) in [
        ("--control", ".52", "both probes"),
        ("--control", ".52,1.5", "between 0 and 1"),
        ("--control", ".63125,.5", "no number of examples"),
        ("--code-gap", "11", "cannot exceed 10"),
        ("--clip", "2", "--code-gap"),
    ] {
        refused(&probity.run(&["n", "--gap", "42/320", "--dim", "768", option, value]), 2, &[word]);
    }
}

/// Regression: the vector size used to be required even with a user-supplied bound, which already includes the classifier.
#[test]
fn user_bound_needs_no_vector_size() {
    let v = asked(&["n", "--gap", ".5", "--bound", "own:40", "--json"]);
    assert_eq!((v["n_train"].as_u64(), v["bound"].as_str(), v.get("parameters")), (Some(640), Some("own"), None));
    let probity = Probity::new();
    refused(&probity.run(&["n", "--gap", ".1"]), 2, &["published bound depends on the number of parameters", "--dim"]);
}

#[test]
fn mcnemar() {
    let v = asked(&["mcnemar", "10", "2", "--json"]);
    assert_eq!(keys(&v), ["chi2", "chi2_p", "corrected_chi2", "corrected_p", "exact_p", "mid_p"]);
    assert!((v["exact_p"].as_f64().unwrap() - 0.038_574_218_75).abs() < 1e-12, "{v}");
    // The exact p minus the probability of the observed table: 66 of 4,096.
    assert!((v["mid_p"].as_f64().unwrap() - 0.022_460_937_5).abs() < 1e-12, "{v}");
    let none = asked(&["mcnemar", "0", "0", "--json"]);
    assert_eq!((none["exact_p"].as_f64(), none["corrected_p"].as_f64()), (Some(1.0), Some(1.0)));
    let probity = Probity::new();
    assert!(text(&probity.run(&["mcnemar", "0", "0"]).stdout).contains("no discordant items"));
    // Regression: a negative count used to be parsed as an option.
    refused(&probity.run(&["mcnemar", "-1", "2"]), 2, &["`-1` is not a whole number from 0"]);
    refused(&probity.run(&["mcnemar", "10", "-2"]), 2, &["`-2` is not a whole number from 0"]);
    refused(&probity.run(&["mcnemar", "1.5", "2"]), 2, &["1.5"]);
}

#[test]
fn power() {
    let v = asked(&["power", "--p01", "9/400", "--p10", ".25%", "--n", "500", "--json"]);
    assert_eq!(keys(&v), ["n", "power", "test", "type_m", "type_s"]);
    assert!((v["power"].as_f64().unwrap() - 0.7976).abs() < 5e-5 && v["test"] == "exact", "{v}");
    let v = asked(&["power", "--p01", ".0225", "--p10", ".0025", "--n", "500", "--test", "chi2", "--json"]);
    assert!((v["power"].as_f64().unwrap() - 0.8646).abs() < 5e-5 && v["test"] == "chi2", "{v}");
    // Regression: counts used to be accepted only as plain digits.
    let v = asked(&["power", "--p01", ".0499", "--p10", ".05", "--n", "1e7", "--json"]);
    assert_eq!(v["n"].as_u64(), Some(10_000_000));
    let v = asked(&["power", "--p01", ".0225", "--p10", ".0025", "--target", ".8", "--json"]);
    assert_eq!((keys(&v), v["n"].as_u64()), (vec!["n", "power"], Some(503)));
    let none = asked(&["power", "--p01", ".1", "--p10", ".1", "--n", "500", "--json"]);
    assert_eq!((none["power"].as_f64(), &none["type_m"]), (Some(0.0), &Value::Null));
    let probity = Probity::new();
    let saw = text(&probity.run(&["power", "--p01", ".7", "--p10", ".3", "--target", ".8"]).stdout);
    assert!(saw.contains("49 items") && saw.contains("from 54 on"), "{saw}");
    // Regression: a zero probability of a wrong sign used to be shown as `0.00e0`.
    let sure = text(&probity.run(&["power", "--p01", ".15", "--p10", ".1", "--n", "1e7"]).stdout);
    assert!(sure.trim_end().ends_with("type S 0"), "{sure}");
    let same = ["power", "--p01", ".1", "--p10", ".1"];
    assert!(text(&probity.run(&[&same[..], &["--n", "9"]].concat()).stdout).contains("no difference to detect"));
    refused(&probity.run(&[&same[..], &["--target", ".8"]].concat()), 2, &["no difference to detect"]);
    refused(&probity.run(&same), 2, &["--n"]);
    refused(&probity.run(&["power", "--p01", ".6", "--p10", ".5", "--n", "9"]), 2, &["at most 1"]);
    refused(&probity.run(&["power", "--p01", "-1", "--p10", ".5", "--n", "9"]), 2, &["probability"]);
    refused(&probity.run(&["power", "--p01", ".1", "--p10", ".5", "--n", "0"]), 2, &["--n"]);
    refused(&probity.run(&["power", "--p01", ".1", "--p10", ".5", "--target", "1"]), 2, &["between 0 and 1"]);
}

#[test]
fn decorrelate() {
    let v = asked(&["decorrelate", "--table", "273,65,115,39", "--json"]);
    assert_eq!(keys(&v), ["counts", "phi", "total"]);
    assert_eq!((v["counts"].to_string().as_str(), v["total"].as_u64()), ("[[252,65],[115,29]]", Some(461)));
    assert!(v["phi"].as_f64().unwrap().abs() < 0.01, "{v}");
    let probity = Probity::new();
    for (table, word) in [
        ("1,2,3", "give four counts"),
        ("1,-2,3,4", "not a count"),
        ("1,2;3", "rectangular"),
        ("0,0,1,2", "at least 2"),
    ] {
        refused(&probity.run(&["decorrelate", "--table", table]), 2, &[word]);
    }
}

/// Values from SciPy: squares of `jensenshannon(p, q, base=2)`.
#[test]
fn jensen_shannon_is_accepted_and_other_distances_refused() {
    let to = ["score", "--before", ".7,.2,.1", "--after", ".1,.3,.6", "--target", "uniform", "--json", "--distance"];
    let found = asked(&[&to[..], &["js"]].concat());
    assert_eq!(keys(&found), ["completeness", "js", "m", "reliability", "selectivity"]);
    for (key, value) in [
        ("js", 0.332_751_101_602_679_7),
        ("selectivity", 0.561_174_541_710_951),
        ("completeness", 0.833_807_061_985_072),
    ] {
        assert!((found[key].as_f64().unwrap() - value).abs() < 1e-9, "{key}: {found}");
    }
    refused(&Probity::new().run(&[&to[..], &["kl"]].concat()), 2, &["`kl`: must be `tv` or `js`"]);
}
