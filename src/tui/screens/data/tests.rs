//! The list of data sets: who is in it, what is asked, what is cancelled.

use super::*;
use crate::engine::data::DataAnswer;
use crate::engine::message::Answer;

fn state() -> State {
    let mut state = State::new(Start::new());
    state.show(ID);
    state
}

#[test]
fn built_in_sets_come_first_and_asked_ones_behind() {
    let mut state = state();
    let own = listed(&state).len();
    assert!(own > 2);
    add(&mut state, "/data/x").unwrap();
    assert_eq!((listed(&state).len(), under_cursor(&state).as_deref()), (own + 1, Some("/data/x")));
    assert!(add(&mut state, "").is_err());
    assert_eq!(listed(&state).len(), own + 1);
}

#[test]
fn cancelling_counts_once_for_all_questions_so_far() {
    let mut state = state();
    assert!(SCREEN.interrupt(&mut state).is_none(), "nothing is asked");
    ask(&mut state, DataQuestion::Inspect);
    assert!(SCREEN.waiting(&state).is_some_and(|w| !w.stopping && w.progress.is_none()));
    assert_eq!(SCREEN.interrupt(&mut state).unwrap().len(), 1);
    assert!(stopping(&state) && SCREEN.interrupt(&mut state).is_none());
    ask(&mut state, DataQuestion::Doctor);
    assert!(!stopping(&state), "the newer question is not cancelled");
    assert!(SCREEN.interrupt(&mut state).is_some());
}

#[test]
fn the_message_of_a_cancellation_goes_when_all_have_stopped() {
    let mut state = state();
    ask(&mut state, DataQuestion::Inspect);
    SCREEN.interrupt(&mut state);
    assert!(state.view.toast.is_some());
    let event = Event::Answer { ticket: 1, answer: Answer::Data(DataAnswer::Stopped) };
    state.board.on_event(&event);
    SCREEN.on_event(&mut state, &event);
    assert_eq!((state.view.toast.clone(), state.screens.data.cancelling), (None, None));
}

#[test]
fn a_question_carries_what_the_lab_is_set_up_with() {
    let mut state = state();
    crate::tui::setup::typed(&mut state, "task.examples", "500").unwrap();
    let effects = ask(&mut state, DataQuestion::Doctor);
    let [Effect::Send(Command::Ask { question: Question::Data(request), .. })] = &effects[..] else {
        panic!("{effects:?}")
    };
    assert_eq!((request.task.examples, request.models.len()), (500, 1));
}
