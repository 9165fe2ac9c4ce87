//! The heatmap pane: the current sentence and its partner as strips of scored words, the model's predictions, and details of the word under
//! the cursor.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::annotate::{self, marks};
use super::sentences::kind_in_full;
use super::{HEATMAP, Shown, results, run, shown, typed, view};
use crate::layout::inside;
use crate::panes::{message, pane_block, problem};
use crate::reduce::job;
use crate::state::{State, moved};
use crate::theme::Role;
use crate::widgets::chart::{Chart, Strips};
use base::numbers::{decimals, probability, short};
use base::text::{fit, last_part, pad, printable, width, wrapped};
use corpus::rationales::align;
use engine::message::Outcome;
use figure::layers::Tokens;
use figure::{Figure, Layer};
use labs::saliency::annotation::Annotation;
use labs::saliency::finding::{PredictionFinding, SaliencyFinding, SentenceFinding};
use labs::saliency::heatmap::{self, Choice, Side};
use labs::saliency::methods::{RANDOM, named};
use labs::saliency::results::Own;
use labs::{LabId, Tagged};

/// A second method or model, shown beside the current one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Beside {
    #[default]
    Nothing,
    /// Another method of the model.
    Method,
    /// The same method of another model.
    Model,
}

impl Beside {
    pub fn next(self) -> Self {
        match self {
            Self::Nothing => Self::Method,
            Self::Method => Self::Model,
            Self::Model => Self::Nothing,
        }
    }
}

/// Models and methods to draw: the current choice, and the choice shown beside it.
pub(crate) fn choices(state: &State) -> Vec<Choice> {
    let (found, view) = (results(state), view(state));
    let first = Choice { model: view.model.clone(), method: view.method.clone() };
    let after = |all: Vec<&str>, one: &str| {
        let at = all.iter().position(|x| *x == one).map_or(0, |k| k + 1);
        all.get(at % all.len().max(1)).filter(|x| **x != one).map(|x| (*x).to_owned())
    };
    let second = match view.beside {
        Beside::Nothing => None,
        Beside::Method => {
            let all = found.methods().into_iter().filter(|m| *m != RANDOM || view.method == RANDOM);
            after(all.collect(), &view.method).map(|method| Choice { method, ..first.clone() })
        }
        Beside::Model => after(found.models(), &view.model).map(|model| Choice { model, ..first.clone() }),
    };
    std::iter::once(first).chain(second).collect()
}

fn own_side<'a>(own: &'a Own, name: &str, choices: &[Choice]) -> Option<Side<'a>> {
    let sentence = &own.sentence.as_ref()?.value;
    let row = |c: &Choice| own.rows.iter().find(|r| r.model == c.model && r.value.method == c.method);
    let side = Side::new(sentence, choices.iter().map(row).collect());
    Some(Side { name: name.to_owned(), ..side })
}

fn side<'a>(state: &'a State, sentence: &'a SentenceFinding, choices: &[Choice]) -> Side<'a> {
    let (found, view) = (results(state), view(state));
    let row = |c: &Choice| view.index.row(found, &c.model, &sentence.sentence, &c.method);
    let side = Side::new(sentence, choices.iter().map(row).collect());
    let side = Side { name: kind_in_full(&side.name).to_owned(), ..side };
    // While annotating, the user's marks are underlined, and scores still refer to the mask in the data.
    match marks(state, &sentence.sentence) {
        None => side,
        Some(own) if own.words() == side.words => Side { gold: own.rationale.clone(), ..side },
        Some(own) => {
            let asked = asked_of(state, own);
            let row = |c: &Choice| asked?.rows.iter().find(|r| r.model == c.model && r.value.method == c.method);
            Side { gold: own.rationale.clone(), words: own.words(), rows: choices.iter().map(row).collect(), ..side }
        }
    }
}

/// The answer to the question about a sentence with the mask that was chosen for it.
fn asked_of<'a>(state: &'a State, own: &Annotation) -> Option<&'a Own> {
    let asked = results(state).own.as_ref()?;
    asked.sentence.as_ref().is_some_and(|s| s.value.words == own.words()).then_some(asked)
}

/// The visible sentences, from top to bottom.
pub(crate) fn sides<'a>(state: &'a State, choices: &[Choice]) -> Vec<Side<'a>> {
    match shown(state) {
        Some(Shown::Own(own)) => {
            let before = view(state).base.as_ref().filter(|base| text(base) != text(own));
            let before = before.and_then(|base| own_side(base, "before", choices));
            before.into_iter().chain(own_side(own, "typed", choices)).collect()
        }
        Some(Shown::Data(original, partner)) => {
            std::iter::once(original).chain(partner).map(|s| side(state, s, choices)).collect()
        }
        None => Vec::new(),
    }
}

fn text(own: &Own) -> Option<&str> {
    own.sentence.as_ref().map(|s| s.value.text.as_str())
}

fn pairs(state: &State, sides: &[Side<'_>]) -> Vec<(usize, usize)> {
    let [a, b] = sides else { return Vec::new() };
    let own = marks(state, &b.sentence.sentence).and_then(|m| m.alignment.as_ref());
    match (own, shown(state)) {
        (Some(own), Some(Shown::Data(..))) => {
            own.iter().copied().filter(|(i, j)| *i < a.words.len() && *j < b.words.len()).collect()
        }
        (None, Some(Shown::Data(..))) if [a, b].iter().all(|s| s.words == s.sentence.words) => {
            heatmap::pairs(a.sentence, b.sentence)
        }
        _ => align(a.words, b.words),
    }
}

/// Heatmap; `None` if there is no sentence.
pub(crate) fn figure(state: &State) -> Option<Figure> {
    let choices = choices(state);
    let sides = sides(state, &choices);
    let pairs = pairs(state, &sides);
    heatmap::figure((results(state), state.board.engine.as_ref()), &choices, &sides, &pairs)
}

fn tokens(state: &State) -> Option<&Tokens> {
    view(state).heat.as_ref()?.layers.iter().find_map(|l| if let Layer::Tokens(t) = l { Some(t) } else { None })
}

/// Strip and word under the cursor, among the drawn words.
pub(crate) fn cursor(state: &State) -> Option<(usize, usize)> {
    let tokens = tokens(state)?;
    let (strip, word) = view(state).cursor;
    let strip = strip.min(tokens.strips.len().checked_sub(1)?);
    Some((strip, word.min(tokens.strips[strip].tokens.len().checked_sub(1)?)))
}

pub(crate) fn sideways(state: &State, by: i64) -> Option<(usize, usize)> {
    let (strip, word) = cursor(state)?;
    Some((strip, moved(word, by, tokens(state)?.strips[strip].tokens.len())))
}

/// Moves the cursor down by a number of strips, to the nearest word.
pub(crate) fn across(state: &State, by: i64) -> Option<(usize, usize)> {
    let (tokens, (strip, word)) = (tokens(state)?, cursor(state)?);
    let next = moved(strip, by, tokens.strips.len());
    let columns = tokens.columns();
    let here = columns.iter().position(|c| c[strip] == Some(word))?;
    let there = columns.iter().enumerate().filter_map(|(at, c)| Some((at.abs_diff(here), c[next]?)));
    Some((next, there.min()?.1))
}

pub(crate) struct Pointed<'a> {
    pub sentence: &'a SentenceFinding,
    pub words: &'a [String],
    pub row: Option<&'a Tagged<SaliencyFinding>>,
    /// Index of the side, from the top.
    pub side: usize,
    pub word: usize,
}

pub(crate) fn pointed(state: &State) -> Option<Pointed<'_>> {
    let (strip, word) = cursor(state)?;
    let choices = choices(state);
    let sides = sides(state, &choices);
    let side = strip % sides.len().max(1);
    let row = sides.get(side)?.rows.get(strip / sides.len()).copied().flatten();
    Some(Pointed { sentence: sides[side].sentence, words: sides[side].words, row, side, word })
}

pub(crate) fn draw(frame: &mut Frame, area: Rect, state: &State) {
    let view = view(state);
    let room = usize::from(area.width.saturating_sub(6));
    frame.render_widget(pane_block(state, HEATMAP, &fit(&printable(&title(state)), room)), area);
    let inner = inside(area);
    let Some(figure) = &view.heat else { return nothing(frame, inner, state) };
    let chart = strips_area(state, area);
    let lines = told(state, usize::from(inner.width));
    frame.render_widget(strips(state, figure), chart);
    let below = Rect { y: chart.bottom(), height: inner.bottom() - chart.bottom(), ..inner };
    for (row, (role, text)) in below.rows().zip(lines) {
        let text = fit(&printable(&text), usize::from(row.width)).into_owned();
        frame.render_widget(Line::styled(text, state.theme().style(role)), row);
    }
}

/// Strips with the cursor, for drawing and mouse handling.
pub(crate) fn strips<'a>(state: &'a State, figure: &'a Figure) -> Strips<'a> {
    let chart = Chart::new(figure, state);
    Strips { chart, cursor: cursor(state) }
}

pub(crate) fn strips_area(state: &State, pane: Rect) -> Rect {
    let inner = inside(pane);
    let lines = told(state, usize::from(inner.width)).len();
    let lines = lines.min(usize::from(inner.height).saturating_sub(4)) as u16;
    Rect { height: inner.height - lines, ..inner }
}

fn title(state: &State) -> String {
    let view = view(state);
    let all = choices(state);
    let method = |c: &Choice| match named(&c.method) {
        Some(method) if all.len() > 1 => format!(" {}", method.short()),
        method => format!(", {}", method.map_or(c.method.as_str(), |m| m.title())),
    };
    let who: Vec<String> = all.iter().map(|c| format!("{}{}", last_part(&c.model), method(c))).collect();
    let who = who.join(" | ");
    let what = match shown(state) {
        Some(Shown::Own(own)) => {
            let waits = run_asked(state) > own.ticket;
            format!("own sentence{}", if waits { " …" } else { "" })
        }
        Some(Shown::Data(original, partner)) => {
            let of = super::sentences::partners(state, original).len();
            let which =
                partner.map_or(String::new(), |_| format!(", partner {} of {of}", view.partner.min(of - 1) + 1));
            format!("{} {}{which}", original.dimension, original.sentence)
        }
        None => return "Heatmap".into(),
    };
    let marking = if view.annotation.on { "marking: " } else { "" };
    format!("{marking}{what}: {who}")
}

/// Number of the latest question to the lab.
fn run_asked(state: &State) -> u64 {
    state.board.run_of(LabId::Saliency).map_or(0, |run| run.asked)
}

fn prediction<'a>(state: &'a State, model: &str, id: &str) -> Option<&'a Tagged<PredictionFinding>> {
    match shown(state)? {
        Shown::Own(own) => own.predictions.iter().find(|p| p.model == model),
        Shown::Data(..) => view(state).index.prediction(results(state), model, id),
    }
}

/// Reason why a sentence has no prediction or score.
fn missing(state: &State, what: &str) -> String {
    match run(state).map(|job| &job.outcome) {
        Some(Some(Outcome::Done)) if matches!(shown(state), Some(Shown::Data(..))) => {
            format!("no {what}: the model could not process the sentence")
        }
        _ => format!("no {what} yet"),
    }
}

/// The model's answers to a sentence, in one line: the most probable ones that fit `room`.
fn answers(state: &State, name: &str, (found, gold): Predicted<'_>, room: usize) -> String {
    let found = match found {
        Ok(found) => found,
        Err(why) => return format!(" {name} {why}"),
    };
    let v = &found.value;
    let right = match v.top1 {
        Some(true) => "right: ".to_owned(),
        Some(false) => format!("wrong, right is {gold}: "),
        None => String::new(),
    };
    let mark = if v.top1.is_some() { super::sentences::sign(state, v.top1) } else { " " };
    let mut text = format!("{mark}{name} {right}");
    for (i, g) in v.top.iter().take(4).enumerate() {
        let gap = if i == 0 { "" } else { " · " };
        let next = format!("{gap}{} {}", g.answer, probability(g.probability));
        if i > 0 && width(&text) + width(&next) > room {
            break;
        }
        text.push_str(&next);
    }
    text
}

/// A prediction, or why there is none, and the gold answers.
type Predicted<'a> = (Result<&'a Tagged<PredictionFinding>, String>, String);

/// The first few gold answers of a sentence.
fn gold(sentence: &SentenceFinding) -> String {
    const SHOWN: usize = 3;
    let all: Vec<&str> = sentence.answer.iter().chain(&sentence.other_answers).map(String::as_str).collect();
    let more = if all.len() > SHOWN { ", …" } else { "" };
    format!("{}{more}", all[..all.len().min(SHOWN)].join(", "))
}

/// Predictions for each sentence by each model, with a name.
fn predicted<'a>(state: &'a State, choices: &[Choice]) -> Vec<(String, Predicted<'a>)> {
    let sides = sides(state, choices);
    let mut models: Vec<&str> = choices.iter().map(|c| c.model.as_str()).collect();
    models.dedup();
    let mut all = Vec::new();
    for model in &models {
        for (k, side) in sides.iter().enumerate() {
            let id = &side.sentence.sentence;
            let moved = marks(state, id).filter(|own| own.words() != side.sentence.words);
            let moved = moved.filter(|_| matches!(shown(state), Some(Shown::Data(..))));
            let found = match (&view(state).base, shown(state)) {
                (Some(base), Some(Shown::Own(_))) if sides.len() == 2 && k == 0 => {
                    base.predictions.iter().find(|p| p.model == *model)
                }
                _ if moved.is_some() => {
                    let asked = moved.and_then(|own| asked_of(state, own));
                    asked.and_then(|asked| asked.predictions.iter().find(|p| p.model == *model))
                }
                _ => prediction(state, model, id),
            };
            let why = || moved.map_or_else(|| missing(state, "prediction"), |own| unasked(state, own));
            let gold = match moved {
                Some(own) => own.answer().unwrap_or_default().to_owned(),
                None => gold(side.sentence),
            };
            let name = match models.len() {
                1 => side.name.clone(),
                _ => format!("{} {}", fit(last_part(model), 12), side.name),
            };
            all.push((printable(&name).into_owned(), (found.ok_or_else(why), gold)));
        }
    }
    all
}

/// The reason why the model has no answer for the mask chosen in a sentence, and how to obtain one.
fn unasked(state: &State, own: &Annotation) -> String {
    let key = |name| state.keymap.short_label(name);
    match () {
        () if own.mask().is_none() => "nothing is masked, so nothing is predicted".into(),
        () if state.replay.is_some() => "no prediction for this mask: a replay runs no model".into(),
        () if !typed::can_ask(state) => "no prediction for this mask: the run failed".into(),
        () if job::is_unloaded(state, LabId::Saliency) => {
            format!("no prediction for this mask: the models are unloaded; {} runs it again", key("run"))
        }
        () if run_asked(state) > results(state).own.as_ref().map_or(0, |asked| asked.ticket) => {
            "is predicting this mask now".into()
        }
        () => {
            format!("no prediction for this mask yet: press {} {} twice on it", key("menu"), key("choose-mask"))
        }
    }
}

/// The lines below the strips, in `room` columns.
fn told(state: &State, room: usize) -> Vec<(Role, String)> {
    let all = predicted(state, &choices(state));
    let wide = all.iter().map(|(name, _)| width(name)).max().unwrap_or(0);
    let mut lines: Vec<(Role, String)> =
        all.into_iter().map(|(name, found)| (Role::Text, answers(state, &pad(&name, wide), found, room))).collect();
    if let Some(pointed) = pointed(state) {
        let mut text = wrapped(&printable(&under_cursor(state, &pointed)), room.saturating_sub(1));
        text.truncate(2);
        lines.extend(text.into_iter().map(|line| (Role::Value, format!(" {line}"))));
    }
    lines.extend(annotate::line(state).map(|text| (Role::Changed, text)));
    lines
}

fn under_cursor(state: &State, pointed: &Pointed<'_>) -> String {
    let Pointed { sentence, words, row, word, .. } = pointed;
    let text = words.get(*word).map_or("", String::as_str);
    let Some(row) = row.map(|r| &r.value) else {
        let moved = *words != sentence.words;
        let why = if moved { "no score for this mask".into() } else { missing(state, "score") };
        return format!("{text}: {why}");
    };
    let mut parts = Vec::new();
    if row.excluded.contains(word) {
        let own = marks(state, &sentence.sentence);
        let masked = own.map_or(sentence.masks.contains(word), |own| own.mask() == Some(*word));
        parts.push(if masked { format!("predicted word: {}", row.target) } else { "not scored".to_owned() });
    } else {
        parts.push(row.scores.get(*word).map_or("no score".into(), |s| short(rounded(*s))));
        if let Some(rank) = row.ranking.iter().position(|w| w == word) {
            let top = if rank < row.k { format!(", among the top {}", row.k) } else { String::new() };
            parts.push(format!("rank {} of {}{top}", rank + 1, row.ranking.len()));
        }
    }
    let pieces: Vec<String> = row
        .subwords
        .iter()
        .filter(|s| s.words.contains(word))
        .map(|s| format!("{} {}", s.text, short(rounded(s.score))))
        .collect();
    if pieces.len() > 1 || pieces.first().is_some_and(|p| !p.starts_with(text)) {
        parts.push(format!("sub-words {}", pieces.join(" ")));
    }
    if let (Some(gap), Some(steps)) = (row.gap, row.steps) {
        let kept = if row.complete == Some(false) { ": MISSES the tolerance" } else { "" };
        parts.push(format!("completeness error {:.1} %, {steps} steps{kept}", 100.0 * gap));
    }
    if let Some(f1) = row.token_f1 {
        parts.push(format!("token-F1 of this sentence {}", decimals(f1, 2)));
    }
    if let Some(change) = row.sensitivity {
        let words = if row.k == 1 { "top word".into() } else { format!("top {} words", row.k) };
        parts
            .push(format!("changing the {words} by {:.2} % of the sentence's norm changes the answer", 100.0 * change));
    }
    format!("{text}: {}", parts.join(" · "))
}

fn rounded(score: f32) -> f64 {
    (f64::from(score) * 1e5).round() / 1e5
}

fn nothing(frame: &mut Frame, area: Rect, state: &State) {
    let text = match run(state).map(|job| &job.outcome) {
        Some(Some(Outcome::Failed(p))) => return problem(frame, area, p, state),
        Some(None) if results(state).sentences.is_empty() => "Words appear with the first sentence.".to_owned(),
        None => "no sentence has been processed yet".to_owned(),
        Some(_) => format!("no sentence in view\n{} types one", state.keymap.label("own-sentence")),
    };
    message(frame, area, &text, state.theme().style(Role::Dim));
}
