//! Tests of the screen's index and malformed data, without an engine.

use super::*;
use crate::action::Action;
use crate::reduce::reduce;
use labs::saliency::finding::{ALL, DataFinding, Kind, ModelNote, SaliencyFinding, Sample};
use labs::{Finding, Kinds};

fn finding(model: &str, kind: Kind) -> Finding {
    Finding {
        lab: LabId::Saliency,
        spec: "s".into(),
        model: model.into(),
        seed: 0,
        n: 1,
        r#final: true,
        t: 0.0,
        level: None,
        body: labs::Body::Lab(Kinds::Saliency(kind)),
    }
}

fn sentence(id: usize) -> SentenceFinding {
    SentenceFinding {
        sentence: id.to_string(),
        dimension: "grammar".into(),
        sample: Sample::Original,
        perturbation: None,
        original: None,
        partners: Vec::new(),
        text: "a [MASK] b".into(),
        words: ["a", "[MASK]", "b"].map(str::to_owned).to_vec(),
        spans: Vec::new(),
        masks: vec![1],
        gold: vec![vec![0], vec![2]],
        answer: None,
        other_answers: Vec::new(),
        alignment: None,
    }
}

fn data(models: &[&str], methods: &[&str]) -> DataFinding {
    let note = |name: &&str| ModelNote {
        name: (*name).to_owned(),
        hash: "h".into(),
        methods: methods.iter().map(|m| (*m).to_owned()).collect(),
        refused: Vec::new(),
        inputs: 1,
        layers: 1,
        heads: 1,
        cut: 0,
    };
    DataFinding {
        source: String::new(),
        sha256: String::new(),
        originals: 1,
        perturbed: 0,
        dimensions: Vec::new(),
        left_out: Vec::new(),
        models: models.iter().map(note).collect(),
        k: "gold".into(),
    }
}

fn take(state: &mut State, generation: u64, finding: Finding) {
    reduce(state, Action::Event(Box::new(Event::Finding { generation, finding: Box::new(finding) })));
}

fn started() -> State {
    let spec: labs::Spec = Spec::shipped().into();
    let mut state = State::new(Start { spec, ..Start::new() });
    assert_eq!(state.view.screen, ID, "the lab of the spec is shown");
    job::run(&mut state);
    state
}

#[test]
fn new_run_starts_with_an_empty_list() {
    let mut state = started();
    take(&mut state, 1, finding(ALL, Kind::Data(data(&["m"], &["attention"]))));
    for id in 0..3 {
        take(&mut state, 1, finding(ALL, Kind::Sentence(sentence(id))));
    }
    assert_eq!((view(&state).listed.len(), view(&state).model.as_str()), (3, "m"));
    assert!(view(&state).heat.is_some());
    reduce(
        &mut state,
        Action::Event(Box::new(Event::Finished { job: 1, generation: 1, outcome: Outcome::Cancelled, seconds: 0.0 })),
    );
    job::run(&mut state);
    SCREEN.refresh(&mut state);
    assert!(view(&state).listed.is_empty() && view(&state).heat.is_none());
    take(&mut state, 2, finding(ALL, Kind::Sentence(sentence(7))));
    assert_eq!(view(&state).listed, [0]);
}

#[test]
fn missing_methods_are_not_shown_side_by_side() {
    let mut state = started();
    take(&mut state, 1, finding(ALL, Kind::Data(data(&["m"], &["attention"]))));
    take(&mut state, 1, finding(ALL, Kind::Sentence(sentence(0))));
    commands::next_beside(&mut state);
    assert_eq!(view(&state).beside, Beside::Nothing);
    assert!(state.view.toast.as_ref().is_some_and(|t| t.contains("nothing to compare")));
    take(&mut state, 1, finding(ALL, Kind::Data(data(&["m", "n"], &["attention"]))));
    commands::next_beside(&mut state);
    assert_eq!(view(&state).beside, Beside::Model);
    commands::next_beside(&mut state);
    assert_eq!(view(&state).beside, Beside::Nothing);
}

#[test]
fn invalid_scores_are_drawn_as_missing() {
    let mut state = started();
    take(&mut state, 1, finding(ALL, Kind::Data(data(&["m"], &["attention"]))));
    take(&mut state, 1, finding(ALL, Kind::Sentence(sentence(0))));
    let row = SaliencyFinding {
        sentence: "0".into(),
        dimension: "grammar".into(),
        sample: Sample::Original,
        perturbation: None,
        method: "attention".into(),
        tokens: vec!["a".into()],
        // Malformed: one score for three words, and a rank for a word that does not exist.
        scores: vec![f32::NAN],
        excluded: vec![1, 9],
        ranking: vec![7],
        k: 5,
        subwords: Vec::new(),
        target: String::new(),
        token_f1: Some(f64::NAN),
        gap: Some(f64::INFINITY),
        steps: Some(1),
        complete: Some(false),
        sufficiency: None,
        comprehensiveness: None,
        sensitivity: None,
    };
    take(&mut state, 1, finding("m", Kind::Saliency(row)));
    let figure = view(&state).heat.as_ref().unwrap();
    assert!(figure::render(figure, figure::Format::Svg, &figure::Options::default()).is_ok());
    state.place_mut(ID).focus = HEATMAP;
    for _ in 0..3 {
        assert!(heat::pointed(&state).is_some() && SCREEN.origin(&state).is_some());
        SCREEN.sideways(&mut state, HEATMAP, 1);
    }
}

#[test]
fn every_pane_with_numbers_can_be_copied() {
    let mut state = started();
    assert!(SCREEN.origin(&state).is_none());
    take(&mut state, 1, finding(ALL, Kind::Data(data(&["m"], &["attention"]))));
    take(&mut state, 1, finding(ALL, Kind::Sentence(sentence(0))));
    for pane in [frame_setup::PANE, SENTENCES, HEATMAP] {
        state.place_mut(ID).focus = pane;
        assert!(SCREEN.copy(&state).is_some_and(|t| !t.is_empty()), "{pane:?}");
    }
}

#[test]
fn sentences_are_filtered_and_sorted_like_other_lists() {
    use crate::panes::table::{filter, lists, next_column};
    let mut state = started();
    take(&mut state, 1, finding(ALL, Kind::Data(data(&["m"], &["attention"]))));
    for (id, words) in [(0, "a cat [MASK]"), (1, "the dogs they [MASK]"), (2, "a dog [MASK]")] {
        let words = words.split(' ').map(str::to_owned).collect();
        take(&mut state, 1, finding(ALL, Kind::Sentence(SentenceFinding { words, ..sentence(id) })));
    }
    assert!(lists(&state));
    assert_eq!(view(&state).listed, [0, 1, 2], "in the order of the data");
    filter(&mut state);
    reduce(&mut state, Action::Paste("dog".into()));
    assert_eq!(view(&state).listed, [1, 2]);
    reduce(&mut state, Action::Command("typing-accept"));
    // Steps from the number to the dimension, the sentence, the answer and the words.
    for _ in 0..4 {
        next_column(&mut state);
    }
    SCREEN.refresh(&mut state);
    assert_eq!(state.place(ID).listed[&SENTENCES].sort, Some((2, true)));
    assert_eq!(view(&state).listed, [1, 2], "longest sentences first");
}

/// Regression: a sentence with a new mask used to be shown with the prediction for the old mask.
#[test]
fn moved_mask_is_asked_and_old_answer_is_hidden() {
    use labs::saliency::finding::{Guess, PredictionFinding};
    let mut state = started();
    take(&mut state, 1, finding(ALL, Kind::Data(data(&["m"], &["attention"]))));
    take(&mut state, 1, finding(ALL, Kind::Sentence(SentenceFinding { answer: Some("old".into()), ..sentence(0) })));
    let guess = |word: &str| {
        let value = serde_json::json!({"answer": word, "probability": 0.5});
        serde_json::from_value::<Guess>(value).unwrap()
    };
    let prediction = |id: &str, word: &str| PredictionFinding {
        sentence: id.into(),
        dimension: "grammar".into(),
        sample: Sample::Original,
        perturbation: None,
        masks: 1,
        top: vec![guess(word)],
        answer_probability: Some(0.5),
        top1: Some(true),
        top3: Some(true),
    };
    take(&mut state, 1, finding("m", Kind::Prediction(prediction("0", "formerly"))));
    let drawn = |state: &State| {
        let mut terminal = ratatui::Terminal::new(ratatui::backend::TestBackend::new(120, 40)).unwrap();
        terminal.draw(|frame| crate::panes::draw(frame, state)).unwrap();
        terminal.backend().to_string()
    };
    annotate::toggle(&mut state);
    SCREEN.refresh(&mut state);
    assert!(drawn(&state).contains("formerly .50"), "{}", drawn(&state));
    view_mut(&mut state).cursor = (0, 0);
    let effects = annotate::choose_mask(&mut state);
    SCREEN.refresh(&mut state);
    let asked = effects.iter().find_map(|effect| match effect {
        Effect::Send(Command::Ask {
            ticket,
            question: Question::Experiment { question: labs::Question::Saliency(Asked::Sentence(asked)), .. },
        }) => Some((*ticket, asked.text.clone(), asked.answer.clone())),
        _ => None,
    });
    let (ticket, text, answer) = asked.unwrap();
    assert_eq!((text.as_str(), answer.as_deref()), ("[MASK] old b", Some("a")));
    assert!(
        !drawn(&state).contains("formerly") && drawn(&state).contains("is predicting this mask now"),
        "{}",
        drawn(&state)
    );
    let words = ["[MASK]", "old", "b"].map(str::to_owned).to_vec();
    let own = SentenceFinding { text, words, masks: vec![0], sample: Sample::Own, ..sentence(0) };
    let findings = vec![
        finding(ALL, Kind::Sentence(own)),
        finding("m", Kind::Prediction(PredictionFinding { sample: Sample::Own, ..prediction("0", "lately") })),
    ];
    let answer = engine::message::Answer::Experiment { generation: 1, findings };
    reduce(&mut state, Action::Event(Box::new(Event::Answer { ticket, answer })));
    assert!(drawn(&state).contains("right: lately .50"), "{}", drawn(&state));
}
