//! Annotation of rationales: key commands, the saved file, and the agreement of annotators' files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ratatui::text::Line;

use super::{ID, Shown, heat, shown, typed, view, view_mut};
use crate::action::{Document, Effect, Existing};
use crate::popups::{self, Page, hanging};
use crate::reduce::look;
use crate::state::{Prompt, State};
use crate::theme::Role;
use base::Problem;
use base::numbers::score;
use base::text::printable;
use labs::answer::few;
use labs::saliency::annotation::rounds::{Alphas, COMPACT, Person, RoundOutcome, SUFFICIENT, alphas, round, scored};
use labs::saliency::annotation::{
    self, Agreement, Annotation, MOST_COMPACT, MOST_CONFIDENT, MOST_SUFFICIENT, agreement, masks,
};
use labs::saliency::finding::SentenceFinding;
use stats::estimate::Estimate;

#[derive(Debug, Clone, Default)]
pub struct Annotations {
    /// True in annotation mode.
    pub on: bool,
    /// Annotations by sentence.
    pub made: BTreeMap<String, Annotation>,
    /// Picked-up word of the original, to be aligned with its partner's word.
    pub held: Option<usize>,
    /// File to which the annotations were saved, or from which they were read.
    pub file: Option<PathBuf>,
    pub changed: bool,
    /// True while all annotations are being saved.
    saving: bool,
    reading: Reading,
    pub compared: Option<Compared>,
}

#[derive(Debug, Clone)]
pub struct Compared {
    pub files: Vec<PathBuf>,
    /// Agreement of the first two annotators.
    pub found: Agreement,
    alphas: Alphas,
    /// Number of rationales that pass both thresholds, and number of scored ones.
    passed: (usize, usize),
    /// Result for the masks, if they are rated.
    masks: Option<String>,
    pub level: f64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Reading {
    #[default]
    Continue,
    Compare,
}

static SAVE: Prompt = Prompt { label: "save marks to", hint: "a .jsonl file", take: take_save, follow: None };
static OPEN: Prompt =
    Prompt { label: "continue with the marks in", hint: "a .jsonl file", take: take_open, follow: None };
static FIRST: Prompt =
    Prompt { label: "marks of the first annotator", hint: "a .jsonl file", take: take_first, follow: None };
static SECOND: Prompt = Prompt {
    label: "marks of the second annotator",
    hint: "a .jsonl file; separate further files by commas",
    take: take_second,
    follow: None,
};

/// The annotation of a sentence, in annotation mode.
pub(crate) fn marks<'a>(state: &'a State, sentence: &str) -> Option<&'a Annotation> {
    let all = &view(state).annotation;
    all.made.get(sentence).filter(|_| all.on)
}

/// True if annotation keys apply now.
pub(crate) fn marking(state: &State) -> bool {
    view(state).annotation.on && matches!(shown(state), Some(Shown::Data(..)))
}

/// Starts or ends annotation mode; the annotations stay.
pub(crate) fn toggle(state: &mut State) -> Vec<Effect> {
    let annotation = &mut view_mut(state).annotation;
    annotation.on = !annotation.on;
    annotation.held = None;
    if annotation.on {
        view_mut(state).typed_shown = false;
        state.focus_on(super::HEATMAP);
    }
    Vec::new()
}

/// Changes the annotation of a sentence, which initially has the gold rationale.
fn edit(state: &mut State, sentence: SentenceFinding, change: impl FnOnce(&mut Annotation) -> bool) {
    let annotation = &mut view_mut(state).annotation;
    let made = annotation.made.entry(sentence.sentence.clone()).or_insert_with(|| Annotation::of(&sentence));
    annotation.changed |= change(made);
}

/// The sentence under the cursor, its side, and the word.
fn here(state: &State) -> Option<(SentenceFinding, usize, usize)> {
    let pointed = heat::pointed(state).filter(|_| marking(state))?;
    Some((pointed.sentence.clone(), pointed.side, pointed.word))
}

/// Like [`here`], for commands that need a mask. If the sentence has none, explains how to choose one.
fn masked(state: &mut State) -> Option<(SentenceFinding, usize, usize)> {
    let here = here(state)?;
    let made = view(state).annotation.made.get(&here.0.sentence);
    if made.is_some_and(|made| made.mask().is_none()) {
        let key = state.keymap.short_label("choose-mask");
        state.view.toast = Some(format!("nothing is masked in this sentence; {key} masks the word under the cursor"));
        return None;
    }
    Some(here)
}

/// Masks the word under the cursor; on the masked word, restores its answer.
pub(crate) fn choose_mask(state: &mut State) -> Vec<Effect> {
    let Some((sentence, _, word)) = here(state) else { return Vec::new() };
    if sentence.masks.len() > 1 {
        state.view.toast = Some("the sentence has several masks, which cannot be moved".into());
        return Vec::new();
    }
    let (id, words) = (sentence.sentence.clone(), sentence.words.clone());
    let mut moved = Ok(());
    edit(state, sentence, |made| {
        moved = made.move_mask(word);
        moved.is_ok()
    });
    if let Err(why) = moved {
        state.view.toast = Some(printable(&why).into_owned());
        return Vec::new();
    }
    let made = view(state).annotation.made.get(&id).filter(|made| made.mask().is_some());
    let moved = made
        .filter(|made| made.words() != words)
        .map(|made| (made.words().join(" "), made.answer().map(str::to_owned)));
    // The data's prediction and scores apply only to the original mask.
    moved.filter(|_| typed::can_ask(state)).map_or(Vec::new(), |(text, answer)| typed::ask_about(state, text, answer))
}

/// Adds the word under the cursor to the rationale, or removes it.
pub(crate) fn mark(state: &mut State) -> Vec<Effect> {
    let Some((sentence, _, word)) = masked(state) else { return Vec::new() };
    let made = view(state).annotation.made.get(&sentence.sentence);
    if made.map_or(sentence.masks.contains(&word), |made| made.mask() == Some(word)) {
        state.view.toast = Some("the rationale explains the mask, so the mask cannot be part of it".into());
        return Vec::new();
    }
    edit(state, sentence, |made| made.toggle(word));
    Vec::new()
}

pub(crate) fn clear(state: &mut State) -> Vec<Effect> {
    if let Some((sentence, ..)) = here(state) {
        edit(state, sentence, |made| {
            let had = !made.rationale.is_empty();
            made.rationale.clear();
            had
        });
    }
    Vec::new()
}

/// Picks up the original's word under the cursor, or aligns the picked-up word with its partner's word under the cursor.
pub(crate) fn align(state: &mut State) -> Vec<Effect> {
    let Some((sentence, side, word)) = here(state) else { return Vec::new() };
    match (side, view(state).annotation.held) {
        (0, _) => {
            view_mut(state).annotation.held = Some(word);
            let key = state.keymap.short_label("align-word");
            let text = heat::pointed(state).and_then(|p| p.words.get(word)).map_or("", String::as_str);
            state.view.toast = Some(format!("{}: move to its partner and press {key}", printable(text)));
        }
        (_, Some(original)) => {
            edit(state, sentence, |made| {
                made.align(original, word);
                true
            });
            view_mut(state).annotation.held = None;
        }
        (_, None) => state.view.toast = Some("start with a word of the original".into()),
    }
    Vec::new()
}

fn next(score: Option<u8>, most: u8) -> Option<u8> {
    match score {
        None => Some(1),
        Some(s) if s < most => Some(s + 1),
        Some(_) => None,
    }
}

pub(crate) fn sufficiency(state: &mut State) -> Vec<Effect> {
    if let Some((sentence, ..)) = masked(state) {
        edit(state, sentence, |made| {
            made.sufficiency = next(made.sufficiency, MOST_SUFFICIENT);
            true
        });
    }
    Vec::new()
}

pub(crate) fn compactness(state: &mut State) -> Vec<Effect> {
    if let Some((sentence, ..)) = masked(state) {
        edit(state, sentence, |made| {
            made.compactness = next(made.compactness, MOST_COMPACT);
            true
        });
    }
    Vec::new()
}

pub(crate) fn confidence(state: &mut State) -> Vec<Effect> {
    if let Some((sentence, ..)) = masked(state) {
        edit(state, sentence, |made| {
            made.confidence = next(made.confidence, MOST_CONFIDENT);
            true
        });
    }
    Vec::new()
}

/// The annotation of the sentence under the cursor, in one line.
pub(crate) fn line(state: &State) -> Option<String> {
    let (sentence, ..) = here(state)?;
    let all = &view(state).annotation;
    let made = all.made.get(&sentence.sentence);
    let score = |score: Option<u8>, most: u8| score.map_or(format!("-/{most}"), |s| format!("{s}/{most}"));
    let key = |name: &str| state.keymap.short_label(name);
    let told = match made {
        Some(m) if m.mask().is_none() => {
            let refused = match m.refused() {
                [] => String::new(),
                all => format!(", rejected before: {}", all.join(", ")),
            };
            format!("no mask{refused} · {} masks a word", key("choose-mask"))
        }
        Some(m) => {
            let moved = m.words() != sentence.words;
            let mask = m.answer().filter(|_| moved).map_or(String::new(), |answer| format!("masks {answer}, "));
            format!(
                "{mask}{} marked, sufficiency {}, compactness {}{}",
                m.rationale.len(),
                score(m.sufficiency, MOST_SUFFICIENT),
                score(m.compactness, MOST_COMPACT),
                m.confidence.map_or(String::new(), |c| format!(", confidence {c}/{MOST_CONFIDENT}"))
            )
        }
        None => "as in the data".to_owned(),
    };
    let saved = if all.changed { format!(" · {} saves", key("save-marks")) } else { String::new() };
    Some(format!(" {}: {told}{saved}", sentence.sentence))
}

pub(crate) fn save(state: &mut State) -> Vec<Effect> {
    if view(state).annotation.made.is_empty() {
        let key = state.keymap.short_label("mark-word");
        state.view.toast = Some(format!("nothing is marked yet; {key} marks the word under the cursor"));
        return Vec::new();
    }
    let file = view(state).annotation.file.clone().unwrap_or_else(|| "rationales.jsonl".into());
    look::ask_from(state, &SAVE, &file.display().to_string())
}

fn take_save(state: &mut State, text: &str) -> Result<Vec<Effect>, String> {
    if text.is_empty() {
        return Err("type the name of a file".into());
    }
    let annotation = &mut view_mut(state).annotation;
    let document = Document { path: text.into(), text: annotation::write(annotation.made.values()) };
    annotation.saving = true;
    Ok(vec![Effect::Save(Box::new(document), Existing::Ask)])
}

pub(crate) fn saved(state: &mut State, path: &Path) {
    let annotation = &mut view_mut(state).annotation;
    if std::mem::take(&mut annotation.saving) {
        annotation.file = Some(path.to_owned());
        annotation.changed = false;
    }
}

pub(crate) fn unsaved(state: &State) -> Option<String> {
    let annotation = &view(state).annotation;
    let n = annotation.made.len();
    let sentences = if n == 1 { "sentence" } else { "sentences" };
    annotation.changed.then(|| format!("the marks of {n} {sentences}"))
}

pub(crate) fn open(state: &mut State) -> Vec<Effect> {
    look::ask(state, &OPEN)
}

fn take_open(state: &mut State, text: &str) -> Result<Vec<Effect>, String> {
    load(state, Reading::Continue, vec![text.into()])
}

fn load(state: &mut State, reading: Reading, files: Vec<PathBuf>) -> Result<Vec<Effect>, String> {
    if files.iter().any(|f| f.as_os_str().is_empty()) {
        return Err("type the name of a file".into());
    }
    view_mut(state).annotation.reading = reading;
    Ok(vec![Effect::Load(ID, files)])
}

pub(crate) fn compare(state: &mut State) -> Vec<Effect> {
    let own = view(state).annotation.file.as_ref().map_or(String::new(), |f| f.display().to_string());
    look::ask_from(state, &FIRST, &own)
}

fn take_first(state: &mut State, text: &str) -> Result<Vec<Effect>, String> {
    if text.is_empty() {
        return Err("type the name of a file".into());
    }
    view_mut(state).first_annotator = text.into();
    Ok(look::ask(state, &SECOND))
}

fn take_second(state: &mut State, text: &str) -> Result<Vec<Effect>, String> {
    let first = view(state).first_annotator.clone();
    let others = text.split(',').map(|file| file.trim().into());
    load(state, Reading::Compare, std::iter::once(first).chain(others).collect())
}

pub(crate) fn loaded(state: &mut State, documents: &[Document]) -> Vec<Effect> {
    let mut all = Vec::new();
    for document in documents {
        match annotation::read(&document.text) {
            Ok(found) => all.push(found),
            Err(why) => {
                fail(state, &document.path, why, "each line must hold one sentence with the benchmark's keys");
                return Vec::new();
            }
        }
    }
    match (view(state).annotation.reading, &all[..], documents) {
        (Reading::Compare, [a, b, ..], [_, second, ..]) => {
            let level = view(state).spec.interval.level;
            match agreement(a, b, level) {
                Ok(found) => {
                    let files = documents.iter().map(|d| d.path.clone()).collect();
                    let people: Vec<Person> = all
                        .iter()
                        .enumerate()
                        .map(|(k, made)| Person { name: k.to_string(), made: made.clone() })
                        .collect();
                    let outcomes = scored(&people, 1);
                    let count = |of: &dyn Fn(RoundOutcome) -> bool| outcomes.iter().filter(|s| of(s.outcome)).count();
                    let passed = (count(&|f| f == RoundOutcome::Passes), count(&|f| f != RoundOutcome::Unscored));
                    let round = round(&people);
                    let rated = people.iter().any(Person::is_rater).then(|| masks::rated(&people, round));
                    let masks = rated.map(|all| masks::outcome(&all, round));
                    let alphas = alphas(&people, level);
                    view_mut(state).annotation.compared = Some(Compared { files, found, alphas, passed, masks, level });
                    return popups::show(state, &Annotators);
                }
                Err(why) => fail(state, &second.path, why, "both files must contain the same sentences"),
            }
        }
        (Reading::Continue, [found], [document]) => {
            let n = found.len();
            let annotation = &mut view_mut(state).annotation;
            let differs = |a: &&Annotation| annotation.made.get(&a.sentence()).is_some_and(|b| b != *a);
            let replaced = found.iter().filter(differs).count();
            annotation.made.extend(found.iter().map(|a| (a.sentence(), a.clone())));
            annotation.file = Some(document.path.clone());
            annotation.on = true;
            let told = if replaced > 0 { format!(", replacing {replaced} of yours") } else { String::new() };
            let read = if n == 1 { "1 sentence was read".into() } else { format!("{n} sentences were read") };
            state.view.toast = Some(format!("{read}{told}; marking continues"));
        }
        _ => {}
    }
    Vec::new()
}

fn fail(state: &mut State, path: &Path, what: String, hint: &str) {
    state.fail(Problem { what, r#where: path.display().to_string(), hint: hint.into() });
}

struct Annotators;

impl Page for Annotators {
    fn name(&self) -> &'static str {
        "annotators"
    }

    fn title(&self, _: &State) -> String {
        "Two annotators".into()
    }

    fn lines(&self, state: &State, room: usize) -> Vec<Line<'static>> {
        let Some(compared) = &view(state).annotation.compared else { return Vec::new() };
        let theme = state.theme();
        let text = words(compared).into_iter().flat_map(|(role, text)| {
            hanging(&text, room).into_iter().map(move |line| Line::styled(line, theme.style(role)))
        });
        text.collect()
    }

    fn copy(&self, state: &State) -> Option<String> {
        let compared = view(state).annotation.compared.as_ref()?;
        Some(words(compared).into_iter().map(|(_, line)| line + "\n").collect())
    }
}

fn words(compared: &Compared) -> Vec<(Role, String)> {
    let f = &compared.found;
    let span = |e: &Estimate| match f.sentences {
        // One sentence alone gives no interval.
        0 | 1 => format!("{} (no interval from one sentence)", score(e.mean)),
        _ => format!("{} [{}, {}]", score(e.mean), score(e.lo), score(e.hi)),
    };
    let kappa = f.kappa.as_ref().map_or("undefined: both annotators mark all words, or both mark none".into(), span);
    let scored = |what: &str, (kappa, n): (Option<f64>, usize)| {
        let kappa = match (kappa, n) {
            (_, 0) => "no sentence has been scored by both".to_owned(),
            (Some(kappa), n) => format!("kappa {}, n {n}", score(kappa)),
            (None, n) => format!("kappa undefined: all scores are the same, n {n}"),
        };
        (Role::Text, format!("{what}: {kappa}"))
    };
    let names = ["first", "second"].into_iter().chain(std::iter::repeat("further"));
    let file =
        |(name, file): (&str, &PathBuf)| (Role::Dim, format!("{name:7} {}", printable(&file.display().to_string())));
    let mut lines: Vec<(Role, String)> = names.zip(&compared.files).map(file).collect();
    lines.extend([
        (Role::Value, format!("Cohen's kappa of marked words: {kappa}, n {} words", f.words)),
        (Role::Text, format!("same mark: {:.1} % of the words", 100.0 * f.alike)),
        (Role::Value, format!("token-F1 of the rationales: {}, n {}", span(&f.token_f1), f.sentences)),
        scored("sufficiency", f.sufficiency),
        scored("compactness", f.compactness),
    ]);
    if let Some(alpha) = &compared.alphas.marks {
        lines.push((Role::Text, format!("Krippendorff's alpha for marked words: {}", span(alpha))));
    }
    if let Some(alpha) = &compared.alphas.confidence {
        lines.push((Role::Text, format!("Krippendorff's alpha for confidence in the masks: {}", span(alpha))));
    }
    lines.extend(compared.masks.iter().map(|masks| (Role::Text, masks.clone())));
    if let (passed, scored @ 1..) = compared.passed {
        lines.push((
            Role::Text,
            format!("{passed} of {scored} scored rationales pass: mean sufficiency at least {SUFFICIENT}, compactness {COMPACT}"),
        ));
    }
    let level = (compared.level * 1e6).round() / 1e4;
    lines.push((Role::Dim, format!("intervals: {level} %, Student's t over sentences")));
    let doubt = few(f.sentences, 30, "sentences", &[(10, "92 %"), (20, "93 %")]).filter(|_| f.sentences > 1);
    lines.extend(doubt.map(|text| (Role::Warning, text)));
    if f.alone != (0, 0) || f.differing > 0 {
        let (first, second) = f.alone;
        let differing = f.differing;
        lines.push((
            Role::Warning,
            format!("left out: {first} only in the first file, {second} only in the second, {differing} with different words"),
        ));
    }
    lines
}
