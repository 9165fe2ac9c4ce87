//! Results of a run as sentences.

use super::finding::{ALL, CorrectnessFinding, DifferenceFinding, InterpretabilityFinding};
use super::methods::{RANDOM, named};
use super::results::Results;
use base::numbers::{percent, probability, score};
use base::text::{brief_name, printable_label, section};
use figure::layers::grouped;
use lab::Tagged;
use lab::family::ALPHA;
use stats::Estimate;
use stats::corrections::holm;

/// Formats a number with its interval: `.47 [.44, .50]`; a dash for `None`.
fn shown(e: Option<Estimate>) -> String {
    e.map_or("–".into(), |e| format!("{} [{}, {}]", score(e.mean), score(e.lo), score(e.hi)))
}

fn mean(e: Option<Estimate>) -> String {
    e.map_or("–".into(), |e| score(e.mean))
}

fn short(method: &str) -> &str {
    named(method).map_or(method, |m| m.short())
}

/// A model's name, without folders if that is unambiguous.
fn brief(results: &Results, model: &str) -> String {
    printable_label(&brief_name(model, &results.models()))
}

pub fn lines(results: &Results) -> Vec<String> {
    let mut out = Vec::new();
    if let Some(d) = &results.data {
        let v = &d.value;
        let source = printable_label(&v.source);
        out.push(format!(
            "{} originals and {} perturbed partners ({source}); {}",
            grouped(v.originals),
            grouped(v.perturbed),
            printable_label(&v.k)
        ));
        for l in &v.left_out {
            let (model, reason) = (brief(results, &l.model), printable_label(&l.reason));
            out.push(format!(
                "  left out for {model}: {} × {reason}, first {}",
                grouped(l.count),
                printable_label(&l.first)
            ));
        }
    }
    accuracy(results, &mut out);
    interpretability(results, &mut out);
    correctness(results, &mut out);
    robustness(results, &mut out);
    out.extend(verdicts(results));
    differences(results, &mut out);
    out
}

fn accuracy(results: &Results, out: &mut Vec<String>) {
    let of = |a: &&Tagged<super::finding::AccuracyFinding>| a.value.perturbation == ALL;
    let row = |a: &Tagged<super::finding::AccuracyFinding>| {
        let v = &a.value;
        vec![
            brief(results, &a.model),
            printable_label(&v.dimension),
            v.sample.clone(),
            shown(Some(v.top1)),
            shown(Some(v.top3)),
            grouped(a.n),
        ]
    };
    let columns = ["model", "dimension", "inputs", "Top-1", "Top-3", "n"];
    let mut all: Vec<_> = results.accuracy.iter().filter(of).collect();
    all.sort_by_key(|a| results.place(&a.model, "", &a.value.dimension));
    section(out, "right predictions", &columns, all.into_iter().map(row).collect());
}

fn interpretability(results: &Results, out: &mut Vec<String>) {
    let row = |i: &Tagged<InterpretabilityFinding>| {
        let v = &i.value;
        vec![
            brief(results, &i.model),
            short(&v.method).to_owned(),
            printable_label(&v.dimension),
            shown(v.token_f1),
            mean(v.random_f1),
            shown(v.map),
            mean(v.random_map),
            mean(v.map_star),
            mean(v.pcc),
            mean(v.pcc_all),
            format!("{}/{}", v.pcc_kept, v.pcc_total),
            mean(v.f1_delta),
            grouped(i.n),
        ]
    };
    let columns = [
        "model",
        "method",
        "dimension",
        "F1",
        "chance",
        "MAP",
        "chance",
        "MAP*",
        "PCC p<.05",
        "PCC all",
        "kept",
        "F1Δ",
        "n",
    ];
    let mut all: Vec<_> = results.interpretability.iter().filter(|i| i.value.perturbation == ALL).collect();
    all.sort_by_key(|i| results.place(&i.model, &i.value.method, &i.value.dimension));
    let title = "agreement with annotators and with perturbed forms";
    section(out, title, &columns, all.into_iter().map(row).collect());
}

/// Formats the size of a change to the embeddings, relative to the norm of the sentence's embeddings.
pub(crate) fn relative(e: Estimate) -> String {
    let [mean, lo, hi] = [e.mean, e.lo, e.hi].map(|x| 100.0 * x);
    format!("{mean:.2} % [{lo:.2}, {hi:.2}]")
}

fn robustness(results: &Results, out: &mut Vec<String>) {
    let row = |i: &Tagged<InterpretabilityFinding>| {
        let (v, model) = (&i.value, brief(results, &i.model));
        let (least, lowest) = (v.sensitivity.map_or("–".into(), relative), shown(v.stability));
        vec![model, short(&v.method).to_owned(), printable_label(&v.dimension), least, lowest, grouped(i.n)]
    };
    let columns = ["model", "method", "dimension", "sensitivity (low if rationale matters)", "stability", "n"];
    let asked = |i: &&Tagged<InterpretabilityFinding>| i.value.perturbation == ALL && i.value.sensitivity.is_some();
    let mut all: Vec<_> = results.interpretability.iter().filter(asked).collect();
    all.sort_by_key(|i| results.place(&i.model, &i.value.method, &i.value.dimension));
    let title = "sensitivity: smallest relative change to the rationale's embeddings that changes the answer; stability: lowest MAP among partners with the same answer";
    section(out, title, &columns, all.into_iter().map(row).collect());
}

fn correctness(results: &Results, out: &mut Vec<String>) {
    let row = |c: &Tagged<CorrectnessFinding>| {
        let v = &c.value.numbers;
        vec![
            brief(results, &c.model),
            short(&v.method).to_owned(),
            printable_label(&v.dimension),
            c.value.answers.name().to_owned(),
            shown(v.token_f1),
            mean(v.random_f1),
            shown(v.map),
            mean(v.random_map),
            mean(v.pcc_all),
            grouped(c.n),
        ]
    };
    let columns = ["model", "method", "dimension", "answers", "F1", "chance", "MAP", "chance", "PCC all", "n"];
    let rows = results.by_answers().into_iter().map(row).collect();
    section(out, "agreement by correctness of the answers", &columns, rows);
    let all = right_minus_wrong(results);
    out.extend(all.iter().map(|(c, gap, p)| {
        let name = format!("{} by {}", brief(results, &c.model), short(&c.value.numbers.method));
        let interval = format!("{:+.3} [{:+.3}, {:+.3}]", gap.mean, gap.lo, gap.hi);
        let verdict = match gap.mean {
            _ if *p > ALPHA => "shows no difference in agreement with annotators between right and wrong answers",
            m if m > 0.0 => "agrees better with annotators if the answer is right",
            _ => "agrees less well with annotators if the answer is right",
        };
        let p = probability(*p);
        format!(
            "{name} {verdict} (F1 above chance, right minus wrong answers: {interval}; Holm p {p} over {} tests)",
            all.len()
        )
    }));
}

/// Difference in token-F1 above chance between right and wrong answers, for each model and method over all dimensions, with Holm-adjusted
/// p-values.
pub(crate) fn right_minus_wrong(results: &Results) -> Vec<(&Tagged<CorrectnessFinding>, Estimate, f64)> {
    let all: Vec<_> = results.by_answers().into_iter().filter(|c| c.value.is_tested()).collect();
    let gaps: Vec<_> = all.iter().filter_map(|c| Some((*c, c.value.f1_gap?, c.value.f1_gap_p?))).collect();
    let adjusted = holm(&gaps.iter().map(|(.., p)| *p).collect::<Vec<_>>());
    gaps.into_iter().zip(adjusted).map(|((c, gap, _), p)| (c, gap, p)).collect()
}

/// Sentences about each method over all dimensions.
pub fn verdicts(results: &Results) -> Vec<String> {
    let mut out = Vec::new();
    let overall = |i: &&Tagged<InterpretabilityFinding>| {
        let v = &i.value;
        v.dimension == ALL && v.perturbation == ALL && v.method != RANDOM
    };
    for i in results.interpretability.iter().filter(overall) {
        let (v, name) = (&i.value, format!("{} by {}", brief(results, &i.model), short(&i.value.method)));
        if let Some(((f1, chance), above)) = v.token_f1.zip(v.random_f1).zip(v.f1_above) {
            let verdict = match above {
                e if e.lo > 0.0 => "finds the words that annotators marked better than chance",
                e if e.hi < 0.0 => "finds the words that annotators marked worse than chance",
                _ => "cannot be distinguished from chance in finding the words that annotators marked",
            };
            out.push(format!(
                "{name} {verdict}: F1 {} against {}, paired difference {:+.3} [{:+.3}, {:+.3}]",
                shown(Some(f1)),
                score(chance.mean),
                above.mean,
                above.lo,
                above.hi
            ));
        }
        if v.pcc_total > 0 {
            out.push(format!(
                "{name}: {} of {} correlations have p < .05; their mean {} is biased upward; the mean over all pairs is {}",
                v.pcc_kept,
                v.pcc_total,
                mean(v.pcc),
                mean(v.pcc_all)
            ));
        }
        if v.pcc_undefined > 0 {
            out.push(format!(
                "{name}: {} pairs have no correlation (constant scores, or fewer than three words)",
                v.pcc_undefined
            ));
        }
        if v.incomplete > 0 {
            let share = percent(v.incomplete as f64 / i.n.max(1) as f64);
            out.push(format!(
                "{name}: in {} rows ({share}) the scores do not add up to the model's output within the tolerance",
                grouped(v.incomplete)
            ));
        }
    }
    out
}

/// The two sides of a comparison in a few words, naming a common part only once.
pub fn against(a: &str, b: &str) -> String {
    let parts = |side: &str| match side.rsplit_once(' ') {
        Some((model, method)) if named(method).is_some() => (model.to_owned(), short(method).to_owned()),
        _ => (side.to_owned(), String::new()),
    };
    let ((model, method), (other_model, other_method)) = (parts(a), parts(b));
    match (model == other_model, method.is_empty()) {
        (true, _) => format!("{model}, {method} against {other_method}"),
        (false, true) => format!("{model} against {other_model}"),
        (false, false) => format!("{model} against {other_model}, {method}"),
    }
}

fn differences(results: &Results, out: &mut Vec<String>) {
    let name = |side: &str| {
        let (model, method) = side.rsplit_once(' ').unwrap_or((side, ""));
        printable_label(&format!("{model} {}", short(method))).trim_end().to_owned()
    };
    let row = |d: &Tagged<DifferenceFinding>| {
        let v = &d.value;
        let e = v.difference;
        let text = format!("{:+.3} [{:+.3}, {:+.3}]", e.mean, e.lo, e.hi);
        vec![name(&v.a), name(&v.b), v.metric.clone(), text, probability(v.p), grouped(d.n)]
    };
    let columns = ["first", "second", "measure", "difference", "raw p", "originals"];
    section(out, "differences (paired by original, t test)", &columns, results.differences.iter().map(row).collect());
}

#[cfg(test)]
mod tests {
    use super::against;

    #[test]
    fn common_part_of_both_sides_is_named_once() {
        let told = [("m one attention", "m one integrated_gradients"), ("m attention", "n attention"), ("m", "n")];
        assert_eq!(told.map(|(a, b)| against(a, b)), ["m one, ATT against IG", "m against n, ATT", "m against n"]);
    }
}
