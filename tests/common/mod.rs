//! A harness that drives the screen without a terminal.

pub(crate) mod comparison;
pub(crate) mod daemon;
mod facts;
mod fake;
pub(crate) mod saliency;
mod sets;
mod verdicts;

use probity::engine::board::Board;
use probity::engine::message::{Command, Event, Outcome, Question};
use probity::lab::SpecFields as _;
use probity::lab::interventions::Spec;
use probity::lab::interventions::question::Question as Asked;
use probity::lab::{self, Finding};
use probity::tui::action::{Action, Effect};
use probity::tui::panes;
use probity::tui::reduce::reduce;
use probity::tui::screen::Pane;
use probity::tui::screens::interventions::catalog::Catalog;
use probity::tui::screens::interventions::{View, ran};
use probity::tui::setup;
use probity::tui::state::{Start, State};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use unicode_width::UnicodeWidthStr;

pub(crate) use facts::*;
pub(crate) use fake::*;
pub(crate) use sets::*;

/// The state under test, with everything that it sent and received.
pub(crate) struct Harness {
    pub state: State,
    pub effects: Vec<Effect>,
    /// Commands and events in the order in which the board folded them.
    pub record: Vec<Record>,
}

#[derive(Debug, Clone)]
pub(crate) enum Record {
    Command(Command),
    Event(Event),
}

impl Harness {
    pub(crate) fn new(columns: u16, rows: u16) -> Self {
        Self::of(Start { size: (columns, rows), ..start() })
    }

    pub(crate) fn of(start: Start) -> Self {
        let mut state = State::new(start);
        state.screens.interventions.catalog = Catalog::sample();
        Self { state, effects: Vec::new(), record: Vec::new() }
    }

    pub(crate) fn lab(&mut self) -> &mut View {
        &mut self.state.screens.interventions
    }

    pub(crate) fn focus(&mut self, pane: Pane) {
        self.state.here_mut().focus = pane;
    }

    /// Moves the focus from the lab's list to the figure, where arrow keys move the main slider.
    pub(crate) fn slide(&mut self) -> &mut Self {
        let slots = self.state.screen().slots();
        if slots[1].contains(&self.state.here().focus) {
            self.focus(self.state.here().shown(slots[2]));
        }
        self
    }

    /// Opens the form with all settings, with the cursor on a given row.
    pub(crate) fn row(&mut self, key: &str) {
        self.focus(setup::PANE);
        self.state.here_mut().form = true;
        let setup = self.state.setup().expect("a lab");
        let rows = setup.rows(&self.state);
        let at = setup::shown(&self.state, setup, &rows).iter().position(|l| rows[l.row].key == key);
        self.state.here_mut().row = at.expect(key);
    }

    /// A harness with a running engine and a requested first experiment.
    pub(crate) fn started(columns: u16, rows: u16) -> Self {
        let mut harness = Self::new(columns, rows);
        harness.act(Action::Start);
        harness.event(ready());
        harness.event(models());
        harness.event(Event::Started { job: 1, generation: 1, spec_hash: Spec::shipped().hash() });
        // Shows PGD, which the answers below are about, instead of the run's best method.
        harness.state.screens.interventions.picked = true;
        harness
    }

    /// A harness in the middle of its first run.
    pub(crate) fn running(columns: u16, rows: u16) -> Self {
        let mut harness = Self::started(columns, rows);
        harness.events(measured(480, false));
        harness.event(progress(1));
        harness.answer(2400);
        harness
    }

    /// A harness whose first run is done.
    pub(crate) fn finished(columns: u16, rows: u16) -> Self {
        let mut harness = Self::started(columns, rows);
        harness.events(measured(2400, true));
        harness.event(summary(1));
        harness.event(Event::Finished { job: 1, generation: 1, outcome: Outcome::Done, seconds: 41.7 });
        harness.answer(2400);
        harness
    }

    /// A harness in the middle or at the end of a run of the prompts lab.
    pub(crate) fn recalling(columns: u16, rows: u16, finished: bool) -> Self {
        let mut harness = Self::recall(columns, rows);
        harness.act(Action::Start);
        harness.event(ready());
        harness.event(models());
        harness.events(recalled(finished));
        if finished {
            harness.event(Event::Finished { job: 1, generation: 1, outcome: Outcome::Done, seconds: 21.4 });
            harness.answer_facts();
        }
        harness
    }

    /// A harness showing the prompts lab before its run.
    pub(crate) fn recall(columns: u16, rows: u16) -> Self {
        let spec = probity::lab::prompts::Spec::shipped().into();
        Self::of(Start { size: (columns, rows), spec, ..start() })
    }

    pub(crate) fn answer_facts(&mut self) {
        let asked = self.effects.iter().rev().find_map(|e| match e {
            Effect::Send(Command::Ask { ticket, question: Question::Experiment { generation, question } }) => {
                Some((*ticket, *generation, question.clone()))
            }
            _ => None,
        });
        let (ticket, generation, question) = asked.expect("a question");
        self.event(answered(ticket, generation, &question));
    }

    pub(crate) fn act(&mut self, action: Action) -> Vec<Effect> {
        if let Action::Event(event) = &action {
            self.record.push(Record::Event((**event).clone()));
        }
        let effects = reduce(&mut self.state, action);
        for effect in &effects {
            if let Effect::Send(command) = effect {
                self.record.push(Record::Command(command.clone()));
            }
        }
        self.effects.extend(effects.iter().cloned());
        effects
    }

    pub(crate) fn event(&mut self, event: Event) -> Vec<Effect> {
        self.act(Action::Event(Box::new(event)))
    }

    pub(crate) fn events(&mut self, findings: Vec<Finding>) {
        self.events_of(1, findings);
    }

    /// Sends the findings of the run with this generation.
    pub(crate) fn events_of(&mut self, generation: u64, findings: Vec<Finding>) {
        for finding in findings {
            self.event(Event::Finding { generation, finding: Box::new(finding) });
        }
    }

    pub(crate) fn answer(&mut self, n: usize) {
        let asked = self.effects.iter().rev().find_map(|e| match e {
            Effect::Send(Command::Ask {
                ticket,
                question:
                    Question::Experiment { generation, question: lab::Question::Interventions(Asked::Point(point)) },
            }) => Some((*ticket, *generation, point.clone())),
            _ => None,
        });
        let (ticket, generation, request) = asked.expect("a question about a point");
        let spec = ran(&self.state).expect("a run").clone();
        self.event(point(&spec, generation, ticket, &request, n));
    }

    /// Presses keys, separated by spaces.
    pub(crate) fn keys(&mut self, keys: &str) -> Vec<Effect> {
        let keys = keys.split_whitespace().map(|k| k.parse().expect(k));
        keys.flat_map(|key| self.act(Action::Key(key))).collect()
    }

    pub(crate) fn typed(&mut self, text: &str) {
        for c in text.chars() {
            let name = if c == ' ' { "space".to_owned() } else { c.to_string() };
            self.keys(&name);
        }
    }

    pub(crate) fn buffer(&self) -> Buffer {
        let (columns, rows) = self.state.view.size;
        let mut terminal = Terminal::new(TestBackend::new(columns, rows)).expect("a test backend");
        terminal.draw(|frame| panes::draw(frame, &self.state)).expect("a frame");
        terminal.backend().buffer().clone()
    }

    pub(crate) fn screen(&self) -> String {
        let buffer = self.buffer();
        let mut text = String::new();
        for y in 0..buffer.area.height {
            let mut line = String::new();
            let mut skip = 0;
            for x in 0..buffer.area.width {
                let symbol = buffer[(x, y)].symbol();
                if skip == 0 {
                    line.push_str(symbol);
                }
                skip = symbol.width().max(skip).saturating_sub(1);
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

/// The initial state of all tests: the default experiment, recorded under a fixed name.
pub(crate) fn start() -> Start {
    Start { recording: Some("agreement-2".into()), ..Start::new() }
}

/// The board folded from commands and events alone.
pub(crate) fn fold(record: &[Record]) -> Board {
    let mut board = Board::default();
    for line in record {
        match line {
            Record::Command(command) => board.on_command(command),
            Record::Event(event) => board.on_event(event),
        }
    }
    board
}
