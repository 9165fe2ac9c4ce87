//! Explanations on the screen: which run an answer belongs to, and why a key has no effect.

use super::*;

/// Regression: a question about an earlier run used to stay unanswered without a message, because the engine keeps only the models of the
/// latest run.
#[test]
fn questions_about_earlier_runs_give_a_reason() {
    let mut h = Harness::finished(120, 40);
    h.keys("4 r 2");
    let effects = h.slide().keys("l");
    assert!(sent(&effects).is_empty(), "{effects:?}");
    assert!(h.state.view.toast.as_deref().unwrap().contains("replaced this run's models"), "{:?}", h.state.view.toast);
}

#[test]
fn answer_of_other_settings_or_partial_run_is_marked() {
    for (columns, rows) in [(120, 40), (80, 24)] {
        let mut h = Harness::running(columns, rows);
        h.events_of(1, measured(2400, true));
        assert!(h.screen().to_lowercase().contains("so far"), "{}", h.screen());
        let mut h = Harness::finished(columns, rows);
        assert!(!h.screen().contains("so far") && !h.screen().contains("revious run"), "{}", h.screen());
        h.focus(setup::PANE);
        h.keys("j space");
        assert!(h.screen().contains("revious run"), "{}", h.screen());
    }
}

/// Regression: the answer of a run replaced after two of six methods used to be "Best: AlterRep", as if the run had finished.
#[test]
fn answer_of_stopped_run_is_marked_as_partial() {
    for (columns, rows, said) in [(120, 40, "Partial answer, cancelled"), (80, 24, ": Undecided: ")] {
        let mut h = Harness::finished(columns, rows);
        assert!(!h.screen().contains(said), "{}", h.screen());
        h.keys("r r");
        h.events_of(2, measured(2400, true));
        h.event(Event::Finished { job: 2, generation: 2, outcome: Outcome::Cancelled, seconds: 3.0 });
        // The partial answer stays after the cancel; the earlier run is one key away, which the screen says.
        assert!(h.screen().contains("{ shows the run before it"), "{}", h.screen());
        assert!(h.screen().contains(said), "{}", h.screen());
        assert!(h.screen().contains("run 2 of 2") && !h.screen().contains("changed since"), "{}", h.screen());
        h.keys("{");
        assert!(!h.screen().contains(said) && h.screen().contains("run 1 of 2"), "{}", h.screen());
        // With other settings, the answer is still named as partial.
        h.keys("}");
        h.focus(setup::PANE);
        h.keys("j space");
        let screen = h.screen();
        assert!(screen.contains("ancelled") && screen.contains("changed since run 2"), "{screen}");
    }
}

/// Regression: the key for a later run used to be "not available here", and the comparison offered only the example, without a reason.
#[test]
fn single_run_explains_missing_runs() {
    let mut h = Harness::finished(120, 40);
    for (key, said) in [("}", "this is the latest run of this lab"), ("{", "this is the first run of this lab")] {
        h.keys(key);
        assert!(h.screen().contains(said), "{}", h.screen());
    }
    h.keys("D");
    assert!(h.screen().contains("No other finished run in this lab"), "{}", h.screen());
}

/// Regression: the whole answer used to be headed by the lab's general question instead of the run's question.
#[test]
fn whole_answer_has_the_question_of_its_run() {
    let mut h = Harness::finished(120, 40);
    let run = h.state.board.run_of(lab::LabId::Interventions).unwrap().job.spec.clone();
    h.keys("A");
    let asked = lab::by_id(lab::LabId::Interventions).asks(&run);
    let begins: String = asked.chars().take(40).collect();
    assert!(h.screen().contains(&begins), "{begins}: {}", h.screen());
}

/// Regression: after a switch to the other oracle, the answer of the first oracle used to stay, and the strength changed without notice.
#[test]
fn answer_list_and_strength_use_the_shown_oracle() {
    for size in [(120, 40), (80, 24)] {
        let mut h = Harness::finished(size.0, size.1);
        // A small screen has no room for the sentence that names the oracle.
        let names = |screen: &str, oracle: &str| screen.contains(oracle) || size.0 < 120;
        let first = h.screen();
        assert!(names(&first, "MLP oracle"), "{first}");
        let (before, best) = (marker(&h.state), optimum(&h.state).unwrap());
        assert_eq!(before, best);
        h.keys("t o");
        let screen = h.screen();
        assert!(names(&screen, "linear oracle") && !screen.contains("MLP oracle") && screen != first, "{screen}");
        assert_eq!(screen.contains("Strength moves"), marker(&h.state) != before, "{screen}");
    }
}

/// Regression: the cursor used to start on the shown run, which was then compared with itself.
#[test]
fn comparison_starts_on_another_run() {
    let mut h = Harness::finished(120, 40);
    h.keys("r r");
    h.events_of(2, measured(2400, true));
    h.event(Event::Finished { job: 2, generation: 2, outcome: Outcome::Done, seconds: 3.0 });
    h.keys("{ D enter");
    assert!(h.screen().contains("Run 1 and run 2"), "{}", h.screen());
}

#[test]
fn letters_in_numbers_are_refused_while_typing() {
    let mut h = Harness::finished(120, 40);
    h.focus(setup::PANE);
    h.row("seed");
    h.keys("enter 1 2 e 3");
    assert_eq!(h.state.view.entry.as_ref().unwrap().error, None);
    h.keys("x");
    assert!(h.state.view.entry.as_ref().unwrap().error.is_some());
}

#[test]
fn the_report_is_written_from_the_export_dialog_and_from_the_palette() {
    for size in [(120, 40), (80, 24)] {
        let mut h = Harness::finished(size.0, size.1);
        h.state.recording = Recording::On("mine".into());
        let is_report = |effects: &[Effect]| match effects {
            [Effect::Export(export, _)] => match &export.subject {
                Subject::Report(session, board) => session == "mine" && board.runs.len() == 1,
                Subject::Figure(_) => false,
            },
            _ => false,
        };
        h.keys("x k");
        assert!(h.screen().contains("report   question, answer, tables, figures (Markdown)"), "{}", h.screen());
        assert!(h.screen().contains("enter write the report"), "{}", h.screen());
        assert!(is_report(&h.keys("enter")));
        h.keys(":");
        h.typed("report");
        assert!(is_report(&h.keys("enter")));
        let paths = vec!["/f/mine.md".into(), "/f/mine-figures/1-a.png".into(), "/f/mine-figures/1-b.png".into()];
        h.act(Action::Exported(Ok(Exported::Wrote(paths))));
        assert_eq!(h.state.view.toast.as_deref(), Some("wrote /f/mine.md; figures (2): /f/mine-figures"));
    }
}

#[test]
fn export_writes_the_focused_figure_and_says_where() {
    let mut h = Harness::finished(120, 40);
    let name = |effects: &[Effect]| match effects {
        [Effect::Export(export, _)] => figure_of(export).name.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(name(&h.keys("x enter")), "reliability-bert-mini-pgd-mlp");
    h.focus(PARETO);
    assert_eq!(name(&h.keys("t o x enter")[1..]), "pareto-bert-mini-linear");
    let style = |effects: &[Effect]| match effects {
        [Effect::Export(export, _)] => export.options.look.style.name(),
        other => panic!("{other:?}"),
    };
    assert_eq!(style(&h.keys("x g j enter enter")), "paper");
    assert_eq!(style(&h.keys("x enter")), "paper", "the last choice is kept");
    let paths = vec!["/f/a.png".into(), "/f/a.csv".into(), "/b/c.svg".into()];
    h.act(Action::Exported(Ok(Exported::Wrote(paths))));
    assert_eq!(h.state.view.toast.as_deref(), Some("wrote /f/a.png, .csv, /b/c.svg"));
    assert!(Harness::started(120, 40).keys("x").is_empty(), "nothing to export yet");
}
