//! The figure pane, with a line of the figure's numbers.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::{ledger, ran, relation, results, rule, run, view};
use crate::layout::inside;
use crate::panes::{message, pane_block, why_empty};
use crate::screen::Pane;
use crate::state::State;
use crate::theme::Role;
use crate::widgets::chart::Chart;
use base::numbers::about;
use base::text::{fit, last_part, printable, width, wrapped};
use engine::message::Outcome;
use figure::Figure;
use labs::Tagged;
use labs::prompts::causal::Bias;
use labs::prompts::consistency::Regime;
use labs::prompts::finding::RelationFinding;
use labs::prompts::{figures, paper};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drawn {
    /// P@1 by prompt of the relation.
    Prompts,
    /// Ranks of the models by prompt.
    Ranks,
    /// Range from the worst to the best prompt, over all relations.
    Preference,
    /// Relations in which the choice of prompt matters.
    Turned,
    Stability,
    Consistency,
    Places,
    /// Consistency by number of prompts.
    Curve,
    Ledger,
    Disparity,
    Causal(Bias),
}

/// Panes of the figures, in tab order.
pub(crate) const PANES: [(Pane, Drawn); 11] = [
    (Pane("by prompt"), Drawn::Prompts),
    (Pane("places"), Drawn::Places),
    (Pane("consistency"), Drawn::Consistency),
    (Pane("how many prompts"), Drawn::Curve),
    (Pane("names"), Drawn::Stability),
    (Pane("ledger"), Drawn::Ledger),
    (Pane("causes"), Drawn::Causal(Bias::Prompt)),
    (Pane("training"), Drawn::Disparity),
    (Pane("worst to best"), Drawn::Preference),
    (Pane("order"), Drawn::Turned),
    (Pane("ranks"), Drawn::Ranks),
];

impl Drawn {
    pub(crate) fn of(pane: Pane) -> Option<Self> {
        PANES.iter().find(|(p, _)| *p == pane).map(|(_, drawn)| *drawn)
    }

    pub fn pane(self) -> Pane {
        let same = |drawn: &Drawn| std::mem::discriminant(drawn) == std::mem::discriminant(&self);
        PANES.iter().find(|(_, drawn)| same(drawn)).map_or(PANES[0].0, |(pane, _)| *pane)
    }

    pub(crate) fn about(self) -> &'static str {
        match self {
            Self::Prompts => "Share of right answers (P@1) by model, for every prompt of the relation.",
            Self::Ranks => "Ranking of the models under every prompt of the relation.",
            Self::Preference => "P@1 of the worst and the best prompt, over all relations.",
            Self::Turned => {
                "Share of relations where prompts differ by more than 10 points, and where the order of the models flips."
            }
            Self::Stability => "Share of subjects with the same answer under every name.",
            Self::Consistency => {
                "Share of draws in which the models keep their ranks: with the original prompt, a random prompt, the average."
            }
            Self::Places => "Ranks of one model when relations are redrawn; v shows the next model.",
            Self::Curve => "Stability of the model ranking as more prompts are averaged.",
            Self::Ledger => "Variation in the gap between two models from using a single prompt, name and sample.",
            Self::Disparity => "P@1 of the models after further training on the facts.",
            Self::Causal(_) => {
                "Causal paths of prompt, name and sample; averaging blocks the highlighted path; t c highlights the next."
            }
        }
    }

    /// Name of the figure, if published numbers can be drawn behind it.
    pub fn published(self) -> Option<&'static str> {
        match self {
            Self::Preference => Some("preference"),
            Self::Turned => Some("turned"),
            Self::Stability => Some("stability"),
            Self::Consistency => Some("consistency"),
            Self::Disparity => Some("disparity"),
            _ => None,
        }
    }
}

pub(crate) fn figure(state: &State) -> Option<Figure> {
    let view = view(state);
    match view.drawn.published().filter(|_| view.published) {
        Some(name) => paper::beneath(name, own(state), results(state)),
        None => own(state),
    }
}

/// The figure of this session's results.
fn own(state: &State) -> Option<Figure> {
    let (results, engine, view) = (results(state), state.board.engine.as_ref(), view(state));
    let id = relation(state).unwrap_or_default();
    match view.drawn {
        Drawn::Prompts => figures::prompts(results, engine, id),
        Drawn::Ranks => figures::ranks(results, engine, id),
        Drawn::Preference => figures::preference(results, engine),
        Drawn::Turned => figures::turned(results, engine),
        Drawn::Stability => figures::stability(results, engine, None),
        Drawn::Consistency => figures::consistency(results, engine),
        Drawn::Places => {
            let models = results.models();
            let model = models.get(view.model).or(models.first())?;
            figures::places_of(results, engine, model, averaged(state))
        }
        Drawn::Curve => figures::curve(results, engine),
        Drawn::Ledger => {
            let l = &results.ledgers.get(view.pair).or(results.ledgers.first())?.value;
            figures::ledger(results, engine, &l.a, &l.b)
        }
        Drawn::Disparity => figures::disparity(results, engine),
        Drawn::Causal(bias) => Some(figures::causal(Some(bias))),
    }
}

/// Number of prompts in the average drawn next to the regimes: the user's choice or, during a run, the number reached so far.
fn averaged(state: &State) -> Option<usize> {
    let comes = run(state).is_some_and(|job| job.outcome.is_none());
    view(state).averaged.or_else(|| results(state).curve.last().filter(|_| comes).map(|c| c.value.prompts))
}

/// Message below a figure that needs all relations: the number done or, if no run is in progress, the key that starts one.
fn waits_for_all(state: &State) -> String {
    let all = results(state).data.as_ref().map_or(0, |d| d.value.relations.len());
    let done = results(state).relations.len();
    let job = run(state);
    let key = state.keymap.short_label("run");
    match job.map(|job| &job.outcome) {
        Some(Some(Outcome::Cancelled)) => {
            format!("Cancelled at {done} of {all} relations; {key} runs it again.")
        }
        Some(None) if all == 0 => why_empty(state, "scores"),
        Some(None) => {
            let left = job.and_then(|job| job.progress.as_ref()?.left);
            let left = left.map_or(String::new(), |t| format!(", {}", about(t)));
            format!("Needs all {all} relations: {done} done{left}.")
        }
        _ => format!("Not run yet: {key} runs this experiment."),
    }
}

/// Reason why results over all relations are missing. Ranks need at least the relations of one draw.
pub(crate) fn missing(state: &State, ranks: bool) -> String {
    let (Some(spec), true) = (ran(state), run(state).is_some_and(|job| job.outcome == Some(Outcome::Done))) else {
        return waits_for_all(state);
    };
    let can = |r: &&Tagged<RelationFinding>| r.value.kept > 0 && !r.value.prompts.is_empty();
    let (asked, wanted) = (results(state).relations.iter().filter(can).count(), spec.ranks.subset);
    match asked {
        0 => "n/a: no relation can be tested on all models; the list shows why".to_owned(),
        n if ranks && n < wanted => format!(
            "n/a: a draw needs {wanted} relations, but only {n} can be tested\nlower \"Ranking sample\" in the settings, or test more relations"
        ),
        _ => "n/a".to_owned(),
    }
}

/// A title without its explanation.
fn shorter(state: &State, title: &str) -> String {
    match ledger::shown(state).filter(|_| view(state).drawn == Drawn::Ledger) {
        Some(l) => format!("Gap between {} and {}", last_part(&l.value.a), last_part(&l.value.b)),
        None => title.split(", ").next().unwrap_or(title).to_owned(),
    }
}

pub(crate) fn draw(frame: &mut Frame, area: Rect, state: &State, pane: Pane) {
    let room = usize::from(area.width.saturating_sub(6));
    let drawn = view(state).drawn;
    let Some(figure) = &view(state).figure else {
        frame.render_widget(pane_block(state, pane, pane.0), area);
        let what = match drawn {
            Drawn::Disparity if results(state).disparity.is_empty() => {
                format!(
                    "Further training was not requested; enter shares under Mixture.\n{} shows the published values.",
                    state.keymap.short_label("published")
                )
            }
            Drawn::Stability if !results(state).stability.is_empty() => {
                "n/a: no tested subject has a second name; Names in the settings limits how many are tested".to_owned()
            }
            Drawn::Curve | Drawn::Consistency | Drawn::Places => missing(state, true),
            Drawn::Ledger | Drawn::Preference | Drawn::Turned => missing(state, false),
            _ if run(state).is_some_and(|job| job.outcome == Some(Outcome::Done)) => missing(state, false),
            _ => waits_for_all(state),
        };
        return message(frame, inside(area), &what, state.theme().style(Role::Dim));
    };
    let by = match drawn {
        Drawn::Causal(_) => String::new(),
        // This figure always uses the best token, not the run's rule.
        Drawn::Disparity => ", best token".into(),
        _ => rule(state),
    };
    let title = format!("{}{by}", figure.title);
    let title = if width(&printable(&title)) > room { shorter(state, &figure.title) } else { title };
    frame.render_widget(pane_block(state, pane, &fit(&printable(&title), room)), area);
    let inner = inside(area);
    let told = readout(state).filter(|_| inner.height >= 7).map(|text| {
        let mut lines = wrapped(&printable(&text), usize::from(inner.width).saturating_sub(2));
        lines.truncate(2);
        lines
    });
    let told = told.unwrap_or_default();
    let chart = Rect { height: inner.height - told.len() as u16, ..inner };
    let widget = Chart::new(figure, state);
    frame.render_widget(widget, chart);
    for (k, text) in told.into_iter().enumerate() {
        let row = Rect { y: chart.bottom() + k as u16, height: 1, ..inner };
        frame.render_widget(Line::styled(format!(" {text}"), state.theme().style(Role::Dim)), row);
    }
}

fn readout(state: &State) -> Option<String> {
    let found = results(state);
    match view(state).drawn {
        Drawn::Prompts | Drawn::Ranks => {
            let id = relation(state)?;
            let r = &found.relation(id)?.value;
            let lost = r.facts - r.kept;
            let why = r.left_out.first().map_or(String::new(), |l| format!(": {} ({})", l.reason, l.count));
            Some(format!("{} instances, {lost} left out{why}", r.kept))
        }
        Drawn::Turned if view(state).published => Some(format!("published: {}", paper::TURNED_NOTE)),
        Drawn::Preference | Drawn::Turned => {
            let all = found.summaries.iter().find(|s| s.value.unstable.is_some())?;
            let v = &all.value;
            Some(format!(
                "gaps above 10 points: {} of {} pairs of model and relation; the model ranking changes with the prompt on {} of {} relations",
                v.relations_over_10,
                v.relations * found.models().len(),
                v.unstable_relations?,
                v.relations
            ))
        }
        Drawn::Consistency | Drawn::Places | Drawn::Curve => {
            let of = |regime| found.rank(regime, None);
            let [a, b, c] = Regime::ALL.map(|r| of(r).map(|r| 100.0 * r.value.consistency.mean));
            let r = &of(Regime::Random)?;
            let refining = if r.is_final { "" } else { ", refining" };
            let some = found.curve.iter().find(|c| Some(c.value.prompts) == averaged(state));
            let some = some.filter(|_| view(state).drawn == Drawn::Places).map_or(String::new(), |c| {
                format!(
                    "{} averaged {:.1} %, ",
                    figures::some_prompts(c.value.prompts),
                    100.0 * c.value.consistency.mean
                )
            });
            Some(format!(
                "whole order: original {:.1} %, random {:.1} %, {some}adjusted {:.1} %; {} draws of {} of {} relations{refining}",
                a?, b?, c?, r.value.draws, r.value.subset, r.value.relations
            ))
        }
        Drawn::Causal(bias) => {
            let spec = ran(state).unwrap_or(&view(state).spec);
            Some(bias.blocked(spec))
        }
        Drawn::Stability => {
            let kept: usize = found.stability.iter().map(|s| s.value.kept).sum();
            let models = found.models().len().max(1);
            let counted = found.stability.iter().filter(|s| s.value.stability.is_some()).count() / models;
            Some(format!("first prompt; {} instances of {counted} relations have two or more names", kept / models))
        }
        Drawn::Ledger => {
            let l = found.ledgers.get(view(state).pair).or(found.ledgers.first())?;
            Some(format!(
                "{} instances of {} relations; the squares of the first four bars add up to the square of the fifth",
                l.n, l.value.relations
            ))
        }
        Drawn::Disparity => {
            let d = found.disparity.last()?;
            Some(format!("{} facts, first prompt, usual name; {} training steps", d.n, d.value.steps))
        }
    }
}
