//! Tests of the procedure on small built-in models, with a host that records its calls.

mod desk;

use self::desk::Desk;
use super::super::finding::{ALL, Answers, OWN, Sample};
use super::super::question::{AttentionQuestion, Question as Asked, SentenceQuestion};
use super::super::results::Results as Found;
use super::*;
use crate::Waiting;
use crate::data::draw;
use crate::spec::Erasure;
use corpus::make::{Layout, lines};
use corpus::sets::BuiltIn;
use lab::spec::LabSpec;
use lab::{Body, Details};
use model::Dtype;

fn spec(models: &[&str], methods: &[&str], inputs: usize) -> Spec {
    let mut spec = Spec::shipped();
    spec.models = models.iter().map(|m| (*m).to_owned()).collect();
    spec.saliency.methods = methods.iter().map(|m| (*m).to_owned()).collect();
    spec.data.inputs = inputs;
    (spec.integrated_gradients.steps, spec.integrated_gradients.most_steps) = (4, 8);
    spec
}

fn opened(spec: &Spec) -> Box<dyn Experiment<Kind, Question>> {
    crate::Saliency::begin(spec.clone())
}

fn ran(spec: &Spec) -> (Desk, Box<dyn Experiment<Kind, Question>>) {
    let (mut desk, mut run) = (Desk::new(), opened(spec));
    run.run(&mut desk).unwrap();
    (desk, run)
}

/// The built-in benchmark has the same text, answers, partners and sample when opened as a file.
#[test]
fn benchmark_file_equals_the_built_in_benchmark() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gold.jsonl");
    let mut spec = Spec::shipped();
    let built_in = draw(&spec, &mut Desk::new()).unwrap();
    spec.data.file = Some(path.display().to_string());
    let set = BuiltIn::named("rationales-en").unwrap();
    for layout in [Layout::Rationale, Layout::Plain] {
        let rows = lines(&set, layout, None, 0).unwrap();
        let text: Vec<&str> = rows.iter().map(|l| l.text.as_str()).collect();
        std::fs::write(&path, text.join("\n")).unwrap();
        let read = draw(&spec, &mut Desk::new()).unwrap();
        assert_eq!(read.left_out, []);
        let both = read.families.iter().zip(&built_in.families);
        both.for_each(|(file, known)| assert_eq!(file, known));
        assert_eq!(read.families.len(), built_in.families.len());
        assert!(read.families.iter().flatten().any(|s| !s.other_answers.is_empty()));
    }
}

/// Tables 6 and 11 need the originals that have a partner of each kind, these partners, and the change between the two.
fn changes_between_originals_and_partners(found: &Found) {
    let kind_of = |sample: &str, kind: &str| {
        let of = found.accuracy.iter().filter(|a| a.model == "bert-tiny").filter(|a| a.value.dimension == ALL);
        of.map(|a| (a.n, &a.value)).find(|(_, v)| v.sample == sample && v.perturbation == kind).unwrap()
    };
    for kind in ["dispens", "import", "trans"] {
        let partners: Vec<&str> = found
            .sentences
            .iter()
            .filter(|s| s.value.perturbation.as_deref() == Some(kind))
            .filter_map(|s| s.value.original.as_deref())
            .collect();
        let originals: std::collections::BTreeSet<&str> = partners.iter().copied().collect();
        let (before, after) = (kind_of("original", kind), kind_of("perturbed", kind));
        assert_eq!((before.0, after.0), (originals.len(), partners.len()), "{kind}");
        let change = after.1.change.unwrap();
        assert!((change.mean - (after.1.top1.mean - before.1.top1.mean)).abs() < 1e-12, "{kind}: {change:?}");
        assert!(change.lo <= change.mean && change.mean <= change.hi && before.1.change.is_none());
    }
}

/// Regression: a list of methods used to be rejected as a single unknown method.
fn several_methods_are_laid_side_by_side(found: &Found) {
    let original = &found.sentences[0].value;
    let pick = |more: &[(&str, &str)]| {
        let details = Details { model: Some("bert-tiny"), more: more.to_vec(), marker: None };
        figures::pick("heatmap", &details, found, None)
    };
    let partner = original.partners.last().unwrap();
    let figure = pick(&[("method", "attention,ig"), ("sentence", &original.sentence), ("partner", partner)]);
    let figure = figure.unwrap();
    let figure::Layer::Tokens(tokens) = &figure.layers[0] else { panic!() };
    assert_eq!(tokens.strips.len(), 4);
    let error = format!("IG on bert-tiny, sentence {partner}");
    assert!(figure.provenance.entries.iter().any(|(_, said)| said.contains(&error)));
    assert!(pick(&[("method", "attention,foo")]).unwrap_err().contains("foo"));
    assert!(pick(&[("sentence", "nowhere")]).unwrap_err().contains("nowhere"));
}

fn every_row_is_whole(found: &Found) {
    for row in &found.rows {
        let v = &row.value;
        let sentence = &found.sentence(&v.sentence).unwrap().value;
        assert_eq!((&v.tokens, v.scores.len()), (&sentence.words, sentence.words.len()));
        assert_eq!(v.ranking.len() + v.excluded.len(), v.tokens.len());
        assert!(v.k >= 1 && v.k <= v.ranking.len() && v.token_f1.is_some() && v.sufficiency.is_some());
        assert_eq!(v.gap.is_some(), v.method == "integrated_gradients");
    }
}

#[test]
fn run_reports_each_row_once_and_then_means() {
    let mut spec = spec(&["bert-tiny", "gpt2-tiny"], &["attention", "integrated_gradients"], 40);
    spec.saliency.erasure = Erasure::Baseline(true);
    let (desk, run) = ran(&spec);
    let found = desk.results();
    let data = &found.data.as_ref().unwrap().value;
    assert_eq!(data.originals + data.perturbed, found.sentences.len());
    assert!((30..=40).contains(&found.sentences.len()));
    let asked: usize = data.models.iter().map(|m| m.inputs).sum();
    assert_eq!((found.predictions.len(), run.examined()), (asked, asked));
    // There are three methods, because the random ranking is always included.
    assert_eq!(found.rows.len(), 3 * asked);
    let left: usize = data.left_out.iter().map(|l| l.count).sum();
    assert_eq!(asked + left, 2 * found.sentences.len());
    assert!(data.left_out.iter().all(|l| l.model == "gpt2-tiny"), "{:?}", data.left_out);
    every_row_is_whole(&found);
    for (model, method) in [("bert-tiny", "attention"), ("gpt2-tiny", "random")] {
        let all = found.interpretability.iter().find(|i| {
            let v = &i.value;
            i.model == model && v.method == method && v.dimension == ALL && v.perturbation == ALL
        });
        let all = all.unwrap();
        assert!(all.is_final && all.value.token_f1.is_some() && all.value.random_f1.is_some());
        assert!(all.value.sufficiency.is_some() && all.value.comprehensiveness.is_some());
    }
    let all = |a: &&lab::Tagged<super::super::finding::AccuracyFinding>| a.value.dimension == ALL;
    assert!(found.accuracy.iter().filter(all).count() >= 6);
    changes_between_originals_and_partners(&found);
    parts_by_answers_make_the_whole(&found);
    // The run compares methods within each model, each method between the models, and the models' accuracies.
    let pairs: Vec<(&str, &str)> = found.differences.iter().map(|d| (d.value.a.as_str(), d.value.b.as_str())).collect();
    assert!(pairs.contains(&("bert-tiny attention", "bert-tiny integrated_gradients")), "{pairs:?}");
    assert!(pairs.contains(&("bert-tiny attention", "gpt2-tiny attention")));
    assert!(pairs.contains(&("bert-tiny", "gpt2-tiny")));
    assert!(!pairs.contains(&("bert-tiny attention", "gpt2-tiny integrated_gradients")));
    let compared = desk.found.iter().filter_map(|f| Saliency::COMPARED(f.head(), f.kind()?));
    let compared: std::collections::BTreeSet<String> = compared.map(|c| c.what).collect();
    let by_answers = summary::right_minus_wrong(&found).len();
    assert!(by_answers >= 2);
    assert_eq!(compared.len(), found.differences.len() + by_answers);
    assert!(desk.progress.iter().all(|(done, total)| done <= total));
    let figures = figures::all(&found, None);
    assert_eq!(
        figures.iter().map(|f| f.name.as_str()).collect::<Vec<_>>(),
        ["heatmap", "f1-ratio", "map-ratio", "accuracy", "right-wrong"]
    );
    few_originals_have_their_number(&found, &figures);
    assert!(summary::lines(&found).len() > 20);
    several_methods_are_laid_side_by_side(&found);
}

/// Right and wrong inputs together are all inputs; right, wrong and changed pairs together are all pairs.
fn parts_by_answers_make_the_whole(found: &Found) {
    for whole in &found.interpretability {
        let v = &whole.value;
        let of = |c: &&lab::Tagged<super::super::finding::CorrectnessFinding>| {
            let n = &c.value.numbers;
            let place = (&n.dimension, &n.perturbation, &n.method);
            c.model == whole.model && place == (&v.dimension, &v.perturbation, &v.method)
        };
        let parts: Vec<_> = found.correctness.iter().filter(of).collect();
        let inputs: usize = parts.iter().filter(|c| c.value.answers != Answers::Changed).map(|c| c.n).sum();
        let pairs: usize = parts.iter().map(|c| c.value.numbers.pairs).sum();
        assert_eq!((inputs, pairs), (whole.n, v.pairs), "{v:?}");
    }
    let names = |c: &lab::Tagged<super::super::finding::CorrectnessFinding>| c.value.answers;
    assert!(Answers::ALL.iter().all(|a| found.correctness.iter().any(|c| names(c) == *a)));
}

/// Intervals over few originals are not drawn. The numbers shown instead count originals, not inputs.
fn few_originals_have_their_number(found: &Found, figures: &[figure::Figure]) {
    let originals = found.sentences.iter().filter(|s| s.value.original.is_none()).count();
    for figure in figures.iter().filter(|f| f.name != "heatmap") {
        for layer in &figure.layers {
            match layer {
                figure::Layer::Bars(bars) if bars.label.ends_with(", originals") => {
                    assert!(bars.bars.iter().all(|b| b.n.few() == (b.n.first < 10).then_some(b.n.first)), "{bars:?}");
                }
                figure::Layer::Line(line) => {
                    let few: usize = line.points.iter().map(|p| p.n.few().unwrap_or(10)).sum();
                    assert!((1..=originals).contains(&few), "{few} of {originals}: {line:?}");
                }
                _ => {}
            }
        }
    }
}

#[test]
fn cell_sensitivity_is_the_mean_of_its_rows() {
    let mut spec = spec(&["bert-tiny"], &["attention"], 12);
    spec.saliency.robustness = true;
    let (desk, _) = ran(&spec);
    let found = desk.results();
    for whole in found.interpretability.iter().filter(|i| i.value.dimension == ALL && i.value.perturbation == ALL) {
        let rows = found.rows.iter().filter(|r| r.value.method == whole.value.method);
        let rows: Vec<f64> = rows.map(|r| r.value.sensitivity.unwrap()).collect();
        assert!(rows.len() == whole.n && rows.iter().all(|s| *s > 0.0 && *s <= 4.0), "{rows:?}");
        let (mean, sensitivity) = (rows.iter().sum::<f64>() / rows.len() as f64, whole.value.sensitivity.unwrap());
        assert!((sensitivity.mean - mean).abs() < 1e-9, "{sensitivity:?} {mean}");
        let (stability, want) = (whole.value.stability.unwrap(), lowest_map(&found, &whole.value.method));
        assert!((stability.mean - want).abs() < 1e-9, "{stability:?} {want}");
    }
    assert!(desk.progress.iter().all(|(done, total)| done <= total));
    let says = crate::answer::answer(&found, &spec).lines().join(" ");
    assert!(says.contains("of the sentence's norm; for random words it takes"), "{says}");
    assert!(
        says.contains("gives a changed sentence the same answer, the lowest MAP of the ranking by attention is"),
        "{says}"
    );
}

/// Lowest MAP (equation 2 of the paper) among partners whose first answer is the original's, averaged over originals.
fn lowest_map(found: &Found, method: &str) -> f64 {
    let said =
        |id: &str| found.predictions.iter().find(|p| p.value.sentence == id).map(|p| p.value.top[0].answer.clone());
    let ranked = |id: &str| -> Vec<&str> {
        let row = &found.rows.iter().find(|r| r.value.sentence == id && r.value.method == method).unwrap().value;
        row.ranking.iter().map(|word| row.tokens[*word].as_str()).collect()
    };
    let mut lowest = std::collections::BTreeMap::new();
    for partner in &found.sentences {
        let (id, Some(original)) = (&partner.value.sentence, &partner.value.original) else { continue };
        if said(original) != said(id) {
            continue;
        }
        let (of, changed) = (ranked(original), ranked(id));
        let hits = |i: usize| changed[..i].iter().filter(|w| of[..i.min(of.len())].contains(w)).count() as f64;
        let map = (1..=changed.len()).map(|i| hits(i) / i as f64).sum::<f64>() / changed.len() as f64;
        let least: &mut f64 = lowest.entry(original).or_insert(f64::INFINITY);
        *least = least.min(map);
    }
    assert!(lowest.len() > 1, "partners with the same answer: {lowest:?}");
    lowest.values().sum::<f64>() / lowest.len() as f64
}

#[test]
fn seeds_determine_findings() {
    let first = spec(&["bert-tiny"], &["attention"], 16);
    let (a, b) = (ran(&first).0.found, ran(&first).0.found);
    assert_eq!(a, b);
    let mut other = first;
    other.seed = 1;
    assert_ne!(ran(&other).0.results().sentences, ran(&spec(&["bert-tiny"], &["attention"], 16)).0.results().sentences);
}

#[test]
fn run_without_questions_holds_one_model_at_a_time() {
    let spec = spec(&["bert-tiny", "gpt2-tiny", "bart-tiny"], &["attention"], 12);
    let (desk, _) = ran(&spec);
    assert_eq!(desk.most_models, 3);
    let mut alone = Desk { asked: false, ..Desk::new() };
    opened(&spec).run(&mut alone).unwrap();
    assert_eq!((alone.most_models, alone.found), (1, desk.found));
}

#[test]
fn half_precision_model_skips_gradient_methods() {
    let spec = spec(&["bert-tiny"], &["integrated_gradients", "attention"], 8);
    let (mut desk, mut run) = (Desk { dtype: Dtype::Bf16, ..Desk::new() }, opened(&spec));
    run.run(&mut desk).unwrap();
    assert!(desk.notices.iter().any(|n| n.what.contains("integrated_gradients") && n.what.contains("bf16")));
    assert_eq!(desk.results().methods(), ["attention", "random"]);
}

#[test]
fn cancelled_run_answers_questions() {
    let spec = spec(&["bert-tiny"], &["attention"], 60);
    let (mut desk, mut run) = (Desk { cancel_after: 12, ..Desk::new() }, opened(&spec));
    assert!(matches!(run.run(&mut desk), Err(Fault::Cancelled)));
    desk.cancel_after = usize::MAX;
    let asked = Asked::Sentence(SentenceQuestion {
        text: "The dogs near the gate [MASK] barking .".into(),
        answer: Some("are".into()),
        models: Vec::new(),
        methods: vec!["ig".into(), "random".into()],
    });
    let answer = run.answer(&asked, Share::Quick, &mut desk).unwrap();
    let mut found = desk.results();
    assert!(found.answer(1, lab::finding::kinds(&answer)) && !found.answer(0, lab::finding::kinds(&answer)));
    let own = found.own.as_ref().unwrap();
    assert_eq!(own.sentence.as_ref().unwrap().value.sentence, OWN);
    assert_eq!((own.predictions.len(), own.rows.len()), (1, 2));
    assert_eq!((own.rows[0].value.sample, own.rows[0].value.k), (Sample::Own, 0));
    assert_eq!(figures::own(&found, None).unwrap().name, "own");
}

/// Regression: the answer to a typed sentence used to be delayed by most of a second when even eight times the steps left a large error.
#[test]
fn typed_sentence_gets_planned_steps_then_doubled_steps() {
    let mut spec = spec(&["bert-tiny"], &["integrated_gradients"], 4);
    let path = &mut spec.integrated_gradients;
    (path.steps, path.most_steps, path.tolerance) = (2, 8, 1e-6);
    let (mut desk, mut run) = (Desk::new(), opened(&spec));
    let asked = Asked::Sentence(SentenceQuestion {
        text: "A cat [MASK] .".into(),
        answer: None,
        models: Vec::new(),
        methods: Vec::new(),
    });
    let mut steps = |share: Share| {
        let answer = run.answer(&asked, share, &mut desk).unwrap();
        let labels: Vec<String> = answer.iter().map(|f| f.spec.clone()).collect();
        let Body::Lab(Kind::Saliency(row)) = &answer[2].body else { panic!("{answer:?}") };
        (row.steps, row.complete, labels)
    };
    let (quick, all) = (steps(Share::Quick), steps(Share::All));
    assert_eq!((quick.0, quick.1), (Some(2), Some(false)));
    assert!(all.0 > Some(2), "{all:?}");
    assert_eq!(quick.2, all.2, "both answer the same spec");
}

/// Regression: a sentence with only its mask used to end the whole run, unreadable rows were not reported, and a folder was refused.
#[test]
fn bad_rows_are_omitted_and_the_rest_runs() {
    let folder = tempfile::tempdir().unwrap();
    let rows = [
        r#"{"id":"a","tokens":["The","dogs","[MASK]","barking"],"rationales":[[]],"answer":"are"}"#,
        r#"{"id":"b","tokens":["The","dogs","[MASK]","barking"],"rationales":[[9]],"answer":"are"}"#,
        r#"{"id":"c","tokens":["no","mask","here"],"rationales":[[0]]}"#,
        r#"{"id":"d","tokens":["[MASK]"],"rationales":[[]],"answer":"are"}"#,
        r#"{"id":"e","tokens":["\u001b[2J","\u202edogs","[MASK]","."],"rationales":[[1]],"answer":"are"}"#,
        r#"{"id":"f","tokens":["The","cats","[MASK]"],"rationales":[[1]],"perturbs":"z","perturbation":"dispens"}"#,
        r#"{"id":"g","tokens":["A","[MASK]"],"rationales":[[0]],"answer":"dog"}"#,
        r#"{"id":"h","tokens":["broken"],"rationales":"#,
    ];
    let path = folder.path().join("rows.jsonl");
    std::fs::write(&path, rows.join("\n")).unwrap();
    let mut spec = spec(&["bert-tiny"], &["attention", "integrated_gradients"], 100);
    let mut hashes = Vec::new();
    for data in [path.as_path(), folder.path()] {
        spec.data.file = Some(data.display().to_string());
        let (desk, _) = ran(&spec);
        let data = desk.results().data.unwrap().value;
        assert_eq!((data.originals, data.perturbed, data.models[0].inputs), (4, 0, 3));
        let told: Vec<String> =
            data.left_out.iter().map(|l| format!("{} x {} ({})", l.count, l.reason, l.first)).collect();
        for part in [
            "no mask (line 3)",
            "token index 9, but there are 4 tokens (line 2)",
            "not a row of this format",
            "its original is missing (f)",
            "there is no word other than the mask (d)",
        ] {
            assert!(told.iter().any(|t| t.starts_with("1 x ") && t.contains(part)), "{part}: {told:?}");
        }
        hashes.push(data.sha256);
        let notices: Vec<&str> = desk.notices.iter().map(|n| n.what.as_str()).collect();
        assert!(notices.iter().any(|n| n.starts_with("4 rows are left out: 1 ×")), "{notices:?}");
        assert!(notices.iter().any(|n| n.starts_with("`bert-tiny` skips 1 of 4 sentences")), "{notices:?}");
    }
    assert_eq!(hashes[0], hashes[1], "the folder's only file has the same hash");
    spec.data.file = Some(folder.path().join("none").display().to_string());
    assert!(spec.reach("x").unwrap_err().to_string().contains("no such file or folder"));
}

/// Regression: doubled steps used to be missing from the remaining time and from the progress, which stopped at the end of a step while
/// they ran.
#[test]
fn progress_includes_doubled_steps() {
    let mut spec = spec(&["bert-tiny"], &["integrated_gradients"], 24);
    let path = &mut spec.integrated_gradients;
    (path.steps, path.most_steps, path.tolerance) = (2, 16, 1e-6);
    let (desk, _) = ran(&spec);
    let found = desk.results();
    let rows = found.rows.iter().filter_map(|r| r.value.steps);
    // A pass with gradients counts as three. The prediction and the random ranking count too.
    let least: usize = rows.map(|steps| 3 * (steps + 1)).sum();
    let told: Vec<(usize, usize)> = desk.progress.iter().copied().filter(|p| p.1 > 0).collect();
    let last = told.last().copied().unwrap();
    assert!(last.0 == last.1 && last.0 >= least, "{last:?}, at least {least}");
    assert!(told.windows(2).all(|w| w[0].0 <= w[1].0), "progress never decreases");
    let half = told[told.len() / 2];
    assert!(half.1 as f64 > 0.8 * last.1 as f64, "the total is revised by halfway: {half:?} of {last:?}");
}

/// Regression: the forecast time used to cover only the planned steps, even when every row needed more.
#[test]
fn forecast_includes_doubled_steps_and_its_basis() {
    let of = |tolerance: f64, most_steps: usize| {
        let mut spec = spec(&["bert-tiny"], &["integrated_gradients"], 24);
        let path = &mut spec.integrated_gradients;
        (path.steps, path.most_steps, path.tolerance) = (2, most_steps, tolerance);
        opened(&spec).forecast(&mut Desk::new()).unwrap().remove(0)
    };
    let rough = of(1e-6, 32);
    let [least, most] = rough.range.unwrap();
    assert!(least < rough.seconds && rough.seconds == most, "{rough:?}");
    // Two or three rows are an eighth of the inputs.
    assert!(
        ["2 of 2 sampled rows", "3 of 3 sampled rows"].iter().any(|t| rough.because.as_ref().unwrap().starts_with(t)),
        "{rough:?}"
    );
    let smooth = of(1e6, 32);
    let [least, most] = smooth.range.unwrap();
    assert!(least == smooth.seconds && smooth.seconds < most, "{smooth:?}");
    assert!(smooth.because.as_ref().unwrap().starts_with("0 of "), "{smooth:?}");
    let fixed = of(1e-6, 2);
    assert!(fixed.range.is_none() && fixed.because.is_none(), "{fixed:?}");
}

#[test]
fn questions_are_answered_and_invalid_ones_become_notices() {
    let spec = spec(&["bert-tiny"], &["attention"], 8);
    let text = |text: &str| {
        let asked = SentenceQuestion { text: text.into(), answer: None, models: Vec::new(), methods: Vec::new() };
        Asked::Sentence(asked)
    };
    let (mut desk, mut run) = (Desk::new(), opened(&spec));
    desk.waiting = Some(Waiting { ticket: 1, question: text("A cat [MASK] .") });
    run.run(&mut desk).unwrap();
    assert_eq!(desk.replies.len(), 1);
    assert_eq!(desk.replies[0].len(), 3, "the sentence, the prediction, one row");
    desk.waiting = Some(Waiting { ticket: 2, question: text("no mask") });
    run.run(&mut desk).unwrap();
    assert!(desk.notices.iter().any(|n| n.what.contains("[MASK]")), "{:?}", desk.notices);
    let heads = |sentence: Option<&str>| {
        let sentence = sentence.map(str::to_owned);
        Asked::Attention(AttentionQuestion { model: String::new(), sentence, text: "A cat [MASK] .".into() })
    };
    let known = desk.results().sentences[0].value.clone();
    for (asked, words) in [(heads(None), 4), (heads(Some(&known.sentence)), known.words.len())] {
        let answer = run.answer(&asked, Share::All, &mut desk).unwrap();
        let Body::Lab(Kind::Attention(found)) = &answer[0].body else { panic!("{answer:?}") };
        assert_eq!(found.scores.len(), desk.results().data.unwrap().value.models[0].layers);
        assert!(found.scores.iter().flatten().all(|head| head.len() == words));
    }
    assert!(run.answer(&heads(Some("nowhere")), Share::All, &mut desk).is_err());
}
