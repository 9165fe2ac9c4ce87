//! Messages of `probity compare` when there is little evidence for its test and interval.

use super::common::{Probity, text};

/// Regression: a difference of one point with p .91 used to be reported as "beats".
#[test]
fn beats_is_said_only_if_the_test_rejects() {
    let probity = Probity::new();
    let rows = |first: bool, differ: (usize, usize)| {
        let right = |i: usize| if first { i >= differ.1 } else { i < differ.1 || i >= differ.0 + differ.1 };
        (0..80).map(|i| format!("{{\"id\": {i}, \"correct\": {}}}\n", right(i))).collect::<String>()
    };
    for (differ, said) in [
        ((10, 9), "a.jsonl is ahead of b.jsonl by 1.2 points"),
        ((9, 10), "b.jsonl is ahead of a.jsonl by 1.2 points"),
        ((20, 4), "a.jsonl beats b.jsonl by 20.0 points"),
    ] {
        let (a, b) = (rows(true, differ), rows(false, differ));
        let (a, b) = (probity.file("a.jsonl", &a), probity.file("b.jsonl", &b));
        let printed = text(&probity.run(&["compare", &a, &b]).stdout);
        assert!(printed.contains(said), "{said}: {printed}");
        assert_eq!(printed.contains(" in these items"), said.contains("ahead"), "{printed}");
    }
    // 18 to 8: the mid-p value is .0525, although Tango's interval excludes 0. The p-value decides, and a sentence explains the
    // disagreement.
    let (a, b) = (rows(true, (18, 8)), rows(false, (18, 8)));
    let (a, b) = (probity.file("a.jsonl", &a), probity.file("b.jsonl", &b));
    let printed = text(&probity.run(&["compare", &a, &b]).stdout);
    assert!(
        printed.contains("is ahead of") && printed.contains("the interval and the p-value use different methods"),
        "{printed}"
    );
    let printed = text(&probity.run(&["compare", &a, &b, "--test", "chi2"]).stdout);
    assert!(printed.contains("beats") && !printed.contains("use different methods"), "{printed}");
}

/// Regression: the message used to omit why a few items in favour of one side give an interval above 0 but a p-value above .05.
#[test]
fn too_few_discordant_items_are_reported() {
    let probity = Probity::new();
    let few = |differing: usize| {
        let row = |i: usize| format!("{{\"id\": {i}, \"correct\": {}}}\n", i >= differing);
        (0..80).map(row).collect::<String>()
    };
    let all = probity.file("all.jsonl", &few(0));
    for (differing, mid_p, exact) in [(4, true, true), (5, false, true), (6, false, false), (0, false, false)] {
        let b = probity.file("b.jsonl", &few(differing));
        for (test, name, said) in [("mid_p", "mid-p", mid_p), ("exact", "exact", exact)] {
            let printed = text(&probity.run(&["compare", &all, &b, "--test", test]).stdout);
            let sentence = format!("only {differing} items separate the sides: too few for the {name} test");
            assert_eq!(printed.contains(&sentence), said, "{printed}");
        }
    }
}

/// Regression: one discordant item out of eighty used to give an upper limit of tens of thousands of items.
#[test]
fn missing_upper_limits_are_explained() {
    let probity = Probity::new();
    let rows =
        |wrong: usize| (0..80).map(|i| format!("{{\"id\": {i}, \"correct\": {}}}\n", i >= wrong)).collect::<String>();
    let (a, b) = (probity.file("a.jsonl", &rows(0)), probity.file("b.jsonl", &rows(1)));
    let printed = text(&probity.run(&["compare", &a, &b]).stdout);
    assert!(printed.contains(", unbounded] items would give 80.0 % power"), "{printed}");
    let said = "only 1 item separates the sides, so the number of items needed has no upper limit";
    assert!(printed.contains(said), "{printed}");
    let c = probity.file("c.jsonl", &rows(30));
    let printed = text(&probity.run(&["compare", &a, &c]).stdout);
    assert!(!printed.contains("unbounded") && !printed.contains("no upper limit"), "{printed}");
}

/// Regression: files with other items under the same identifiers used to give a verdict.
#[test]
fn different_items_are_refused_and_different_prompts_counted() {
    let probity = Probity::new();
    let file = |name: &str, key: &str, begin: &str| {
        let row = |i: usize| format!("{{\"id\": {i}, \"correct\": {}, \"{key}\": \"{begin} {i}\"}}\n", i % 2);
        probity.file(&format!("{name}-{key}.jsonl"), &(0..20).map(row).collect::<String>())
    };
    for key in ["text", "query", "answer"] {
        let error = text(&probity.run(&["compare", &file("a", key, "x"), &file("b", key, "y")]).stderr);
        assert!(error.contains(&format!("`{key}` differs")), "{key}: {error}");
    }
    let output = probity.run(&["compare", &file("a", "prompt", "x"), &file("b", "prompt", "y")]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("prompts differ for 20 of 20 items"), "{}", text(&output.stderr));
    let same = probity.run(&["compare", &file("a", "answer", "x"), &file("b", "answer", "x")]);
    assert_eq!(same.status.code(), Some(0), "{}", text(&same.stderr));
}

/// Regression: the model with the higher error used to be ahead.
#[test]
fn lower_error_is_better_and_direction_is_stated() {
    let probity = Probity::new();
    for metric in ["error", "wer"] {
        let file = |name: &str, most: usize| {
            let row = |i: usize| format!("{i},{}\n", u8::from(i < most));
            probity.file(
                &format!("{name}-{metric}.csv"),
                &(format!("id,{metric}\n") + &(0..60).map(row).collect::<String>()),
            )
        };
        let (a, b) = (file("a", 10), file("b", 40));
        let output = probity.run(&["compare", &a, &b]);
        let (printed, notes) = (text(&output.stdout), text(&output.stderr));
        assert!(printed.contains(&format!("a-{metric}.csv beats b-{metric}.csv")), "{printed} {notes}");
        assert!(notes.contains("wrong answer") || notes.contains("are better"), "{notes}");
    }
}
