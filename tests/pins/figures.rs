//! Texts and captions of the figures in every shipped session and in made-up ones.

use std::sync::LazyLock;

use probity::engine::board::Board;
use probity::figure::{Figure, Layer, Options, Style, caption, notes, text_overlaps};
use probity::lab::{self as labs, Details};
use probity::session::format::Session;

use super::boards::figures;
use super::{BOARDS, file};

/// The shipped sessions by name.
static SHIPPED: LazyLock<Vec<(String, Board)>> = LazyLock::new(|| {
    let files = std::fs::read_dir(file("sessions")).unwrap().map(|entry| entry.unwrap().path());
    let mut all: Vec<(String, Board)> = files
        .filter_map(|path| {
            let name = path.file_name()?.to_str()?.strip_suffix(".probity.jsonl")?.to_owned();
            Some((name, Session::read(&path).unwrap().board()))
        })
        .collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
});

/// The boards of the shipped sessions and of further recorded or made-up sessions.
fn all() -> impl Iterator<Item = (&'static str, &'static Board)> {
    let shipped = SHIPPED.iter().map(|(name, board)| (name.as_str(), board));
    shipped.chain(BOARDS.iter().filter(|(name, _)| !name.starts_with("sessions/")).map(|(name, board)| (*name, board)))
}

/// Checks every figure of every session, in each style at its own width and at both column widths of a journal. All formats share one
/// layout.
#[test]
fn figure_texts_do_not_overlap() {
    let widths = [None, Some(84.0), Some(174.0)];
    let looks = Style::ALL.into_iter().flat_map(|style| widths.map(|width| Options { style, width, dpi: None }));
    let looks: Vec<Options> = looks.collect();
    let (mut wrong, mut drawn) = (Vec::new(), 0);
    for (name, board) in all() {
        for run in board.runs.iter().filter(|run| !run.gone) {
            for (key, figure) in figures(labs::by_id(run.job.spec.lab()), run, board) {
                for options in &looks {
                    drawn += 1;
                    for (a, b) in text_overlaps(&figure, options).unwrap() {
                        let look = (options.style.name(), options.width);
                        wrong.push(format!("{name} {key} {look:?}: `{a}` on `{b}`"));
                    }
                }
            }
        }
    }
    assert!(drawn > 500, "{drawn} drawings");
    assert!(wrong.is_empty(), "{} overlaps\n{}", wrong.len(), wrong.join("\n"));
}

/// Regression: captions with their notes used to have up to 490 words, although a paper prints about 120 below a figure.
#[test]
fn captions_are_short_enough_to_print() {
    let mut long = Vec::new();
    for (name, board) in all() {
        for run in board.runs.iter().filter(|run| !run.gone) {
            for (key, figure) in figures(labs::by_id(run.job.spec.lab()), run, board) {
                let words = |text: &str| text.split_whitespace().count();
                let (said, noted) = (words(&caption(&figure)), words(&notes(&figure).join(" ")));
                // The caption of the trade-off plane defines ten terms and marks, and names six methods.
                let most = if figure.name.starts_with("pareto") { 270 } else { 190 };
                if said > 130 || said + noted > most {
                    long.push(format!("{name} {key}: {said} and {noted} words"));
                }
            }
        }
    }
    assert!(long.is_empty(), "{}", long.join("\n"));
}

fn named(session: &str, name: &str) -> Figure {
    let (_, board) = SHIPPED.iter().find(|(key, _)| key == session).unwrap();
    let found = board.runs.iter().filter(|run| !run.gone).find_map(|run| {
        labs::by_id(run.job.spec.lab()).figure(name, &Details::default(), &run.results, board.engine.as_ref()).ok()
    });
    found.unwrap_or_else(|| panic!("{session} has no {name}"))
}

/// Regression: captions used to say "n = 8 to 512 test items" although each point has its own n, and "42 subjects" although intervals are
/// over 4 relations. They also omitted the meaning of arrows in a graph, and the experiment from which published numbers come.
#[test]
fn captions_are_complete() {
    let sizes = named("power", "sizes");
    let below: Vec<&str> = sizes.x.below.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(below, ["n 8", "n 32", "n 128", "n 512"]);
    // Regression: three overlapping margins could not be distinguished, and an axis began at 0.5.
    assert_eq!(named("power", "margins").y.panels, ["accuracy: bert-mini", "accuracy: untrained copy of bert-mini"]);
    assert_eq!(named("prompts", "preference").y.range, Some((0.0, 1.0)));
    // Regression: points used to lie on the frame.
    assert_eq!(named("saliency", "f1-ratio").x.range, Some((0.0, 0.5)));
    // Regression: half of an axis used to be empty, and no line marked .5, the least possible rank consistency of two models.
    assert!(named("saliency", "right-wrong").y.range.is_some_and(|(lo, hi)| hi - lo < 1.0));
    for name in ["consistency", "consistency-published", "curve"] {
        let least = |l: &Layer| matches!(l, Layer::Rule(rule) if rule.at == 0.5 && !rule.upright);
        assert!(named("prompts", name).layers.iter().any(least), "{name}");
    }
    let cases = [
        ("power", "sizes", "power is for a comparison on that many items"),
        ("power", "recommended", "for which no interval is computed"),
        ("power", "margins", "trained once"),
        ("saliency", "f1-ratio", "in bins of width 0.1"),
        ("saliency", "accuracy", "Fewer than 10 originals: too few for an interval"),
        ("saliency", "heatmap", "9 words (original), 12 words (partner)"),
        (
            "prompts",
            "stability",
            "42 subjects of 4 relations. Intervals: 95 %, Student's t over 4 relations (3 degrees of freedom), cut at 0 and 1",
        ),
        ("prompts", "ledger", "48 facts of 4 relations"),
        ("prompts", "places", "accurate to ± 0.07 (95 %)"),
        ("prompts", "consistency", "Line at 0.5: least possible share: 1 divided by the 2 orders of this run's models"),
        // Only the method that is used: no share is far enough from 0 and 1 for Wilson's interval.
        ("prompts", "turned", "Intervals: 95 %, Clopper and Pearson's for proportions, over relations"),
        ("prompts", "preference", "Intervals: 95 %, for the adjusted score only: Student's t"),
        ("prompts", "curve", "2 of 4 relations at random"),
        ("prompts", "causal-sample", "a common cause, here D_a, lets M and E vary together"),
        ("prompts", "disparity-published", "a share γ of the sentences states queried facts"),
        ("agreement", "pareto", "Grey curves: equal reliability R, the harmonic mean"),
        // Regression: a ring used to be at the mean of two training runs, and the caption did not state which intervals are drawn.
        ("agreement", "pareto", "for the rings, the knee and the ends of the front"),
        ("interventions", "pareto", "Marks and rings are means of two training runs"),
        (
            "prompts",
            "turned-published",
            "31 of 32 relations according to the text (drawn), and on 30 according to the result files",
        ),
        ("prompts", "consistency-published", "shares of 1,000 draws of 20 of 32 relations, without intervals"),
        ("power", "power", "Test items needed: 14 [12, 17] (95 % interval)"),
        ("power", "margins", "not the sampling of test items"),
        ("saliency", "right-wrong", "Methods: ATT, attention; IG, integrated gradients"),
    ];
    for (session, name, wanted) in cases {
        let said = caption(&named(session, name));
        assert!(said.contains(wanted), "{session} {name}: {said}");
    }
    let noted = |session: &str, name: &str, wanted: &str| {
        let said = notes(&named(session, name)).join(" ");
        assert!(said.contains(wanted), "{session} {name}: {said}");
    };
    noted("interventions", "pareto", "(half-widths: C ");
    noted("prompts", "turned", "P@1: share of facts");
}
