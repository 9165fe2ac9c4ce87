//! The lab's question and answer, above the panes.

use std::rc::Rc;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::example::Example;
use super::layout::is_small;
use super::panes::block;
use super::setup;
use super::state::State;
use super::theme::Role;
use base::numbers::about;
use base::text::{fit, pad, printable, shortened, width, wrapped, wrapped_clauses};
use engine::board::Job;
use engine::message::Outcome;
use figure::capital;
use labs::Answer;

/// Maximum number of answer rows on a large screen, on a small one, and on a low one or above a figure.
const ROWS: usize = 5;
const SMALL_ROWS: usize = 6;
const LOW_ROWS: usize = 4;

/// Maximum number of rows of the doubt.
const DOUBT: usize = 2;

/// Formats the short answer as styled lines; never empty. Shows only sentences that fit completely, and drops the last first.
pub(crate) fn lines(state: &State) -> Rc<Vec<(Role, String)>> {
    state.frame.once("answer lines", || shown(state).0)
}

pub(crate) fn answer(state: &State) -> Rc<Answer> {
    state.frame.once("answer", || state.screen().answer(state))
}

/// The answer's lines, and true if the answer is complete.
fn shown(state: &State) -> (Vec<(Role, String)>, bool) {
    let room = usize::from(state.view.size.0).saturating_sub(4);
    if let Some((job, example)) = beneath_example(state) {
        let until =
            format!("Until then, results below are those of the example recorded on {}.", printable(&example.day));
        let said = [(Role::Text, awaited(job)), (Role::Dim, until)];
        let lines = said.into_iter().flat_map(|(role, text)| wrapped(&text, room).into_iter().map(move |l| (role, l)));
        return (lines.collect(), true);
    }
    let answer = answer(state);
    let small = is_small(state);
    let low = state.view.size.1 < 24 || state.shows_figure();
    let most = match (small, low) {
        (false, _) => ROWS,
        (true, false) => SMALL_ROWS,
        (true, true) => LOW_ROWS,
    };
    let role = |doubt: bool| if doubt { Role::Warning } else { Role::Text };
    let mut all: Vec<(Role, String)> = answer.brief().into_iter().map(|(doubt, text)| (role(doubt), text)).collect();
    match all.first_mut() {
        None => all.push(nothing(state)),
        Some(_) if answer.says.is_empty() => all.insert(0, nothing(state)),
        // On a large screen, the title names the run.
        Some((_, first)) if small || so_far(state) => *first = marked(state, first),
        Some(_) => {}
    }
    let (out, is_every) = whole(&all, room, most);
    let is_whole = is_every && answer.lines().len() == answer.brief().len();
    // On a large screen, the border names the key.
    if !small || is_whole {
        return (out, is_whole);
    }
    let run = crate::reduce::runs::place(state).map_or(String::new(), |of| format!("{of}, "));
    let note = format!("{run}{}", more(state, answer.doubts.len()));
    let with_note = [most, most - 1].map(|rows| {
        let mut out = whole(&all, room, rows).0;
        tell_of_more(&mut out, &note, room);
        out
    });
    let [out, shorter] = with_note;
    (if out.len() <= most { out } else { shorter }, false)
}

/// Names the key that shows the whole answer, with the number of doubts if there are several.
fn more(state: &State, doubts: usize) -> String {
    let key = state.keymap.short_label("answer");
    if doubts > 1 { format!("{key}: all, {doubts} doubts") } else { format!("{key}: all of it") }
}

/// Adds, right-aligned, the key that shows the omitted sentences: in the last row if it fits, otherwise in an extra row.
fn tell_of_more(out: &mut Vec<(Role, String)>, note: &str, room: usize) {
    match out.last_mut().filter(|(_, last)| width(last) + width(note) + 2 <= room) {
        Some((_, last)) => *last = format!("{}{note}", pad(last, room.saturating_sub(width(note)))),
        None => out.push((Role::Dim, format!("{}{note}", " ".repeat(room.saturating_sub(width(note)))))),
    }
}

/// The sentences that fit completely into `most` rows, and true if these are all. Only the finding and its doubt may be cut, at a clause.
fn whole(all: &[(Role, String)], room: usize, most: usize) -> (Vec<(Role, String)>, bool) {
    let (shown, lines, is_every) = fitted(all, room, (most, DOUBT));
    let (more, shorter, _) = fitted(all, room, (most, 1));
    // The last clause of a doubt gives way to a further sentence.
    let is_cut = shorter.iter().any(|(_, line)| line.ends_with('…'));
    if more > shown && !is_cut { (shorter, false) } else { (lines, is_every) }
}

/// The number of sentences that fit if the doubt has at most `of_doubt` rows, their lines, and true if these are all.
fn fitted(all: &[(Role, String)], room: usize, (most, of_doubt): (usize, usize)) -> (usize, Vec<(Role, String)>, bool) {
    let (mut shown, mut out, mut is_every) = (0, Vec::new(), true);
    let has_doubt = all.iter().any(|(role, _)| *role == Role::Warning);
    for (i, (role, text)) in all.iter().enumerate() {
        let rows = match (i, role) {
            (0, _) => most - if has_doubt { DOUBT.min(most - 1) } else { 0 },
            (_, Role::Warning) => of_doubt,
            _ => usize::MAX,
        };
        let lines = wrapped_clauses(text, room, rows);
        let fits = out.len() + lines.len() <= most;
        is_every &= fits && lines == wrapped(text, room);
        if fits {
            shown += 1;
            out.extend(lines.into_iter().map(|line| (*role, line)));
        }
    }
    (shown, out, is_every)
}

/// True if settings have changed since the answered run.
fn left(state: &State) -> bool {
    state.replay.is_none() && setup::changed(state)
}

/// The run whose answer is shown, unless that is an example.
fn answered(state: &State) -> Option<&Job> {
    let run = state.screen().setup().and_then(|setup| state.board.run_of(setup.lab()));
    run.map(|run| &run.job).filter(|_| !state.shows_example())
}

/// Maximum width of the text that distinguishes the answered run from others.
const APART: usize = 60;

/// Describes how the answered run's settings differ from the current ones or, in a replay, from the other runs.
fn other_run(state: &State) -> Option<String> {
    Option::clone(&state.frame.once("other run", || differences(state)))
}

fn differences(state: &State) -> Option<String> {
    let setup = state.screen().setup()?;
    let mine = &state.shown_run(setup.lab())?.job.spec;
    let apart = match state.example_shown().is_some() || left(state) {
        true => labs::apart(mine, [&setup.spec(state)]),
        false => labs::apart(mine, state.board.runs_of(setup.lab()).map(|other| &other.job.spec)),
    };
    (!apart.is_empty()).then(|| shortened(&apart.join(", "), APART))
}

/// Says when the shown run was cancelled: `cancelled at 40 %`.
fn cancelled(state: &State) -> String {
    let run = state.screen().setup().and_then(|setup| state.shown_run(setup.lab()));
    let at = run.and_then(|run| run.job.progress.as_ref()).map(|progress| (100.0 * progress.overall).floor());
    at.map_or("cancelled".into(), |share| format!("cancelled at {share:.0} %"))
}

/// True if the shown answer is that of a run in progress with the current settings.
fn so_far(state: &State) -> bool {
    answered(state).is_some_and(|job| job.outcome.is_none()) && !left(state)
}

/// Labels a sentence with its run and how that run differs from the settings, unless it has a label already.
fn marked(state: &State, text: &str) -> String {
    if so_far(state) {
        return match text.split_once(": ") {
            _ if text.contains("so far") => text.to_owned(),
            Some((head, rest)) if !head.contains(' ') => format!("{head} so far: {rest}"),
            _ => format!("So far: {text}"),
        };
    }
    let (left, place) = (left(state), crate::reduce::runs::place(state));
    let run = || place.clone().unwrap_or_else(|| "previous run".into());
    let ended = match answered(state).map(|job| &job.outcome) {
        None if state.shows_example() => "example".to_owned(),
        Some(None) => "run in progress".into(),
        Some(Some(Outcome::Cancelled)) => cancelled(state),
        Some(Some(Outcome::Failed(_))) => "before it failed".into(),
        _ => String::new(),
    };
    let label = match (left, ended.is_empty()) {
        (true, true) => run(),
        (true, false) if answered(state).is_some_and(|job| job.outcome.is_some()) => format!("{}, {ended}", run()),
        _ => ended,
    };
    let apart = other_run(state).filter(|_| left || state.shows_example());
    let apart = apart.map_or(String::new(), |apart| format!(" ({apart})"));
    if label.is_empty() { text.to_owned() } else { format!("{}{apart}: {text}", capital(&label)) }
}

fn nothing(state: &State) -> (Role, String) {
    let key = |name| state.keymap.short_label(name);
    if state.replay.as_ref().is_some_and(|replay| replay.opening) {
        return (Role::Dim, "Reading the session to its end.".into());
    }
    if let Some(name) = &state.view.reading {
        return (Role::Dim, format!("Reading {}; its runs will be restored.", printable(name)));
    }
    let run = state.screen().setup().and_then(|setup| state.board.run_of(setup.lab()));
    let Some(run) = run else {
        return match state.replay.is_some() {
            true if state.replay.as_ref().is_some_and(|replay| replay.ended) => {
                (Role::Dim, "The recording contains no run of this lab.".into())
            }
            true => (Role::Dim, "Up to this point, the recording contains no run of this lab.".into()),
            false if setup::lacks_models(state) => {
                (Role::Dim, format!("No model is ticked: tick one in the settings ({}).", key("settings")))
            }
            false => {
                let (run, example) = (key("run"), key("example"));
                let (takes, settings) = (takes(state), setup::in_words(state));
                let text = format!(
                    "Not run yet. {run} runs it{takes}: {settings}. {example} shows a recorded example of this lab."
                );
                (Role::Dim, text)
            }
        };
    };
    match &run.job.outcome {
        Some(Outcome::Failed(problem)) => {
            // The panes already show where the problem occurred.
            let hint = if problem.hint.is_empty() { String::new() } else { format!(" ({})", problem.hint) };
            let text = labs::with_labels(run.job.spec.lab(), &format!("Failed: {}{hint}", problem.what));
            (Role::Error, printable(&text).into_owned())
        }
        Some(Outcome::Cancelled) => {
            let earlier = match crate::reduce::runs::shown(state) {
                Some(at) if at > 0 => format!(", {} shows the run before it", key("earlier-run")),
                _ => String::new(),
            };
            let text = format!("{} before the first result; {} runs it again{earlier}.", cancelled(state), key("run"));
            (Role::Dim, capital(&text))
        }
        Some(Outcome::Done) => (Role::Dim, "The run finished without an answer; the lists show why.".into()),
        None => (Role::Text, awaited(&run.job)),
    }
}

/// The line shown while a run has no answer yet.
fn awaited(job: &Job) -> String {
    let (common, left) = (job.spec.common(), job.progress.as_ref().and_then(|p| p.left));
    let left = left.map_or(String::new(), |t| format!("; {} left", about(t)));
    let of = labs::answer::asked_of(common.models());
    format!("No answer yet: the run is in progress ({} on {of}){left}.", printable(common.subject()))
}

/// The run in progress that has no answer yet, and the example that its lab shows until then.
fn beneath_example(state: &State) -> Option<(&Job, &Example)> {
    let example = state.example_shown()?;
    let job = state.board.job().filter(|job| state.board.running() && job.spec.lab() == example.run.job.spec.lab())?;
    Some((job, example))
}

/// Estimated duration of a run with the current settings, in brackets; empty if unknown.
fn takes(state: &State) -> String {
    let spec = state.setup().map(|setup| setup.spec(state));
    let known = state.view.forecasts.iter().find(|(of, _)| Some(of) == spec.as_ref());
    known.and_then(|(_, seconds)| *seconds).map_or(String::new(), |t| format!(" ({})", about(t)))
}

/// The question in one row (two on a narrow screen), and the text to its right: the effects of `r` and `e`, or a note that the settings
/// have not been run.
fn asked(state: &State, columns: u16) -> (Vec<String>, (Role, String)) {
    let Some(of) = state.screen().setup() else { return (Vec::new(), (Role::Dim, String::new())) };
    let key = |name| state.keymap.short_label(name);
    let (role, hint) = match (state.replay.is_some(), setup::changed(state)) {
        (true, _) => (Role::Dim, String::new()),
        (false, true) if setup::waits(state) => (Role::Changed, "these settings are queued".into()),
        (false, true) if setup::lacks_models(state) => (Role::Changed, "not run yet: tick a model first".into()),
        (false, true) => (Role::Changed, since(state)),
        (false, false) => (Role::Dim, format!("{} run  {} settings", key("run"), key("settings"))),
    };
    let text = printable(&labs::by_id(of.lab()).asks(&of.spec(state))).into_owned();
    // The question takes priority over key hints, which are also in the footer, but not over the note that the settings have not been run.
    let columns = usize::from(columns);
    let crowded = width(&text) + width(&hint) + 3 > columns;
    let hint = if crowded && role == Role::Dim { String::new() } else { hint };
    let beside = columns.saturating_sub(width(&hint) + 3);
    let room = if columns.saturating_sub(2) < width(&text) { columns.saturating_sub(2) } else { beside };
    let rows = if state.view.size.1 < 24 { 1 } else { 2 };
    let mut lines = wrapped_clauses(&text, room, rows);
    if let Some(last) = lines.last_mut().filter(|last| width(last) > beside) {
        *last = fit(last, beside).into_owned();
    }
    (lines, (role, hint))
}

/// Maximum width of the changed settings next to the question.
const CHANGED: usize = 30;

/// Says that the settings have changed since the run whose numbers are shown, and how if that fits.
fn since(state: &State) -> String {
    let key = state.keymap.short_label("run");
    let changes = state.setup().zip(setup::ran(state)).map(|(setup, job)| labs::changes(&job.spec, &setup.spec(state)));
    let changes = changes.unwrap_or_default().join(", ");
    let fits = !is_small(state) && !changes.is_empty() && width(&changes) <= CHANGED;
    let changes = if fits { format!(" ({changes})") } else { String::new() };
    let place = crate::reduce::runs::place(state);
    let run = match place.as_ref().and_then(|place| place.split(" of ").next()) {
        _ if so_far_before(state) => "this run began",
        Some(run) => run,
        None => "the last run",
    };
    format!("changed since {run}{changes}: {key} runs it")
}

/// True if the shown run is in progress, but the settings have changed since it began.
fn so_far_before(state: &State) -> bool {
    answered(state).is_some_and(|job| job.outcome.is_none()) && left(state)
}

pub(crate) fn question_rows(state: &State, columns: u16) -> u16 {
    asked(state, columns).0.len() as u16
}

pub(crate) fn question(frame: &mut Frame, area: Rect, state: &State) {
    let theme = state.theme();
    let (lines, (role, hint)) = asked(state, area.width);
    let last = lines.len().saturating_sub(1);
    for (i, (row, text)) in area.rows().zip(lines).enumerate() {
        let gap = " ".repeat(usize::from(area.width).saturating_sub(width(&text) + width(&hint) + 2));
        let mut line = Line::styled(format!(" {text}"), theme.style(Role::Title));
        if i == last {
            line.push_span(Span::raw(gap));
            line.push_span(Span::styled(hint.clone(), theme.style(role)));
        }
        frame.render_widget(line, row);
    }
}

/// A note that an example is shown, how it differs from the settings, and how to replace it; empty if no example is shown.
fn example_of(state: &State) -> String {
    let Some(example) = state.example_shown() else {
        let key = |name| state.keymap.short_label(name);
        let text = format!("Recorded example: {} or {} returns to your own runs", key("example"), key("back"));
        return if state.shows_example() { text } else { String::new() };
    };
    let of = other_run(state).map_or(String::new(), |apart| format!(" ({apart})"));
    let day = printable(&example.day);
    if state.board.running() {
        return format!("Example{of}, recorded on {day}: your own run replaces it");
    }
    let (run, takes) = (state.keymap.short_label("run"), takes(state));
    format!("Example{of}, recorded on {day}: {run} starts your own run{takes}")
}

/// Title of the answer, with its run: `Answer so far: run 2 of 2`, `Partial answer, cancelled at 40 %, from run 1 of 2: layer 3`.
pub(crate) fn heading(state: &State) -> String {
    let example = example_of(state);
    if !example.is_empty() {
        return example;
    }
    let (left, place) = (left(state), crate::reduce::runs::place(state));
    let outcome = answered(state).map(|job| &job.outcome);
    let what = match outcome {
        Some(None) => "Answer so far".to_owned(),
        Some(Some(Outcome::Cancelled)) => format!("Partial answer, {}", cancelled(state)),
        Some(Some(Outcome::Failed(_))) if answer(state).says.is_empty() => "The run failed".into(),
        Some(Some(Outcome::Failed(_))) => "Partial answer from a run that failed".into(),
        _ => "Answer".into(),
    };
    let comma = if what.contains(',') { "," } else { "" };
    let from = match (left, place) {
        (false, None) => None,
        (false, Some(place)) => Some(format!(": {place}")),
        (true, Some(place)) => Some(format!("{comma} from {place}")),
        (true, None) if so_far_before(state) => Some(" from the current run".into()),
        (true, None) => Some(format!("{comma} from the previous run")),
    };
    let title = what + &from.unwrap_or_default();
    let gap = if title.contains(": ") { "," } else { ":" };
    other_run(state).map_or(title.clone(), |apart| format!("{title}{gap} {apart}"))
}

pub(crate) fn draw(frame: &mut Frame, area: Rect, state: &State) {
    let lines = lines(state);
    let small = is_small(state);
    let inner = if small { area } else { super::layout::inside(area) };
    if !small {
        let title = if beneath_example(state).is_some() { "Answer".into() } else { heading(state) };
        let title = fit(&title, usize::from(area.width.saturating_sub(6))).into_owned();
        // A complete answer has nothing more to open.
        let more =
            if shown(state).1 { String::new() } else { format!(" {} ", more(state, answer(state).doubts.len())) };
        let more = Line::styled(more, state.theme().style(Role::Dim)).right_aligned();
        frame.render_widget(block(state, &title, false).title_bottom(more), area);
    }
    for (row, (role, text)) in inner.rows().zip(lines.iter()) {
        frame.render_widget(Line::styled(format!(" {text}"), state.theme().style(*role)), row);
    }
}

/// Draws the welcome strip of the first start: the purpose of the program, what is shown, and the next keys, as many as fit.
pub(crate) fn welcome(frame: &mut Frame, area: Rect, state: &State) {
    let key = |name| state.keymap.short_label(name);
    let (is_running, is_example) = (state.board.running(), state.example_shown().is_some());
    let shown = match (is_running, is_example) {
        (true, _) => "Your own run is in progress; its answer appears below.".to_owned(),
        (false, true) => {
            format!("Below is a recorded example. {} runs it on this computer{}.", key("run"), takes(state))
        }
        (false, false) => "The answer below comes from your own run.".into(),
    };
    let quick = format!("{} {} a quicker run", key("menu"), key("run"));
    let keys = [
        format!("{} help", key("help")),
        format!("{} all questions", key("home")),
        format!("{} settings", key("settings")),
        format!("{} closes this", key("back")),
        if is_example && !is_running { quick } else { String::new() },
    ];
    let room = usize::from(area.width).saturating_sub(2);
    let fits = |line: String, key: &String| {
        if width(&line) + width(key) + 3 > room { line } else { format!("{line}{key}   ") }
    };
    let lines = [
        "Probity shows how far a probe of a language model can be trusted.".to_owned(),
        shown,
        keys.iter().filter(|key| !key.is_empty()).fold(String::new(), fits),
    ];
    for (row, text) in area.rows().zip(lines) {
        let text = fit(&text, usize::from(row.width).saturating_sub(2)).into_owned();
        frame.render_widget(Line::styled(format!(" {text}"), state.theme().style(Role::Good)), row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: at 80 columns the second saliency method used to be cut off with its numbers.
    #[test]
    fn sentences_are_shown_in_full_or_omitted() {
        let long = "one two three four five six seven eight nine .53 [.46, .60]".to_owned();
        let says = |texts: &[&String]| texts.iter().map(|text| (Role::Text, (*text).clone())).collect::<Vec<_>>();
        let short = "ten eleven".to_owned();
        let lines = |all: Vec<(Role, String)>, most| {
            let (lines, is_every) = whole(&all, 30, most);
            (lines.into_iter().map(|(_, line)| line).collect::<Vec<_>>(), is_every)
        };
        let (all, is_every) = lines(says(&[&long, &long]), 6);
        assert!(all.concat().matches(".60]").count() == 2 && is_every);
        let (some, is_every) = lines(says(&[&long, &long, &short]), 4);
        assert_eq!((some.last().map(String::as_str), is_every), (Some("ten eleven"), false), "{some:?}");
        assert!(!some.concat().contains('…'));
    }

    /// Regression: the required scores used to be dropped for the last word of a doubt.
    #[test]
    fn last_clause_of_a_doubt_gives_way_to_a_further_sentence() {
        let all = [
            (Role::Text, "One finding.".to_owned()),
            (Role::Warning, "Doubt: one two three four (five six seven).".to_owned()),
            (Role::Text, "Required: C.".to_owned()),
        ];
        let lines = |most| whole(&all, 30, most).0.into_iter().map(|(_, line)| line).collect::<Vec<_>>();
        assert_eq!(lines(3), ["One finding.", "Doubt: one two three four.", "Required: C."]);
        assert_eq!(lines(4).len(), 4, "with enough rows the doubt is complete");
    }

    /// Regression: a doubt used to come after all results, and a long finding took its rows.
    #[test]
    fn a_long_finding_leaves_rows_for_the_doubt() {
        let text = |n: usize| "many words, ".repeat(n);
        let all = [(Role::Text, text(20)), (Role::Warning, text(20)), (Role::Text, text(2))];
        let (lines, is_every) = whole(&all, 30, 6);
        assert_eq!(lines.iter().filter(|(role, _)| *role == Role::Warning).count(), DOUBT, "{lines:?}");
        assert!(lines.len() <= 6 && !is_every, "{lines:?}");
    }

    #[test]
    fn small_screen_announces_omitted_sentences() {
        let mut out = vec![(Role::Warning, "Doubt: short.".to_owned())];
        tell_of_more(&mut out, "A: all of it", 30);
        assert_eq!(out, [(Role::Warning, "Doubt: short.     A: all of it".to_owned())]);
        let mut out = vec![(Role::Warning, "Doubt: as long as the screen.".to_owned())];
        tell_of_more(&mut out, "A: all of it", 30);
        assert_eq!((out.len(), out[1].1.trim()), (2, "A: all of it"));
    }
}
