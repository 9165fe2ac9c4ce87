//! The saliency lab's measures against `reference/saliency`, SciPy's correlations, the numbers from Ding and Koehn's
//! published saliency vectors, and sensitivity and stability in PyTorch.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

use probity::corpus::readers::{Rationale, Row, Set};
use probity::lab::saliency::elsewhere::{Gathered, SizeRule};
use probity::lab::saliency::metrics::align::{Slot, common_subsequence, given};
use probity::lab::saliency::metrics::input::{Scored, map_of, slots};
use probity::lab::saliency::metrics::judge::{Judged, Partner, Rules, judge};
use probity::lab::saliency::metrics::map::{Membership, mean_average_precision, occurrences};
use probity::lab::saliency::metrics::pcc::{ALPHA, facing, without_noise};
use probity::lab::saliency::metrics::rationale::token_f1;
use probity::lab::saliency::metrics::summary::cell;
use probity::lab::saliency::metrics::top_k::{Size, order, top_k};
use probity::stats::correlation::{Undefined, pearson};
use serde_json::Value;

use crate::common::{Report, json};

crate::harness::tests! {
    Needs::Reference("saliency") => [rationales, predicted_rationales];
    Needs::Reference("stats") => [correlations];
    Needs::Data("ding_koehn") => [
        published_vectors_within_their_groups,
        published_vectors_of_two_models,
        cues_and_published_vectors,
    ];
    Needs::Data("plm_rationale_mini") => [hand_made_rationales];
    Needs::Fixtures => [least_changes_and_lowest_maps_of_a_run];
}

fn numbers(v: &Value) -> Vec<f64> {
    v.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

fn strings(v: &Value) -> Vec<String> {
    v.as_array().unwrap().iter().map(|v| v.as_str().unwrap().to_owned()).collect()
}

fn indices(v: &Value) -> Vec<usize> {
    v.as_array().unwrap().iter().map(|v| v.as_u64().unwrap() as usize).collect()
}

/// Parses pairs, in which null means that a word has no partner.
fn slots_of(v: &Value) -> Vec<Slot> {
    let index = |v: &Value| v.as_u64().map(|i| i as usize);
    let slot = |p: &Value| Slot { original: index(&p[0]), perturbed: index(&p[1]) };
    v.as_array().unwrap().iter().map(slot).collect()
}

fn some(scores: &[f64]) -> Vec<Option<f64>> {
    scores.iter().copied().map(Some).collect()
}

fn rationales(dir: &Path) {
    let file = json(&dir.join("rationales.json"));
    let mut report = Report::new("saliency/rationales");
    let (mut f1s, mut maps, mut kept) = (Vec::new(), Vec::new(), Vec::new());
    for (i, case) in file["cases"].as_array().unwrap().iter().enumerate() {
        let (name, want) = (case["name"].as_str().unwrap(), &case["expected"]);
        let (to, tp) = (strings(&case["original_tokens"]), strings(&case["perturbed_tokens"]));
        let (so, sp) = (numbers(&case["original_scores"]), numbers(&case["perturbed_scores"]));
        let plain = case["identity"] == "string";
        let named = |words: &[String]| -> Vec<String> {
            let told = occurrences(words).into_iter();
            told.map(|(w, k)| if plain { w.to_owned() } else { format!("{w}#{k}") }).collect()
        };
        let ranked = |words: &[String], scores: &[f64]| -> Vec<String> {
            let words = named(words);
            order(scores).into_iter().map(|k| words[k].clone()).collect()
        };
        let (xo, xp) = (ranked(&to, &so), ranked(&tp, &sp));
        report.equal(&format!("{name}: original order"), &xo, &strings(&want["sorted_original"]));
        report.equal(&format!("{name}: perturbed order"), &xp, &strings(&want["sorted_perturbed"]));
        let map = mean_average_precision(&xo, &xp);
        report.close64(&format!("{name}: MAP"), &[map], &[want["map"].as_f64().unwrap()], 1e-12);
        let slots = match case.get("alignment").filter(|a| !a.is_null()) {
            Some(pairs) => {
                let pairs: Vec<(usize, usize)> =
                    slots_of(pairs).iter().filter_map(|s| s.original.zip(s.perturbed)).collect();
                given(&pairs, to.len(), tp.len()).unwrap()
            }
            None => common_subsequence(&to, &tp),
        };
        report.equal(&format!("{name}: alignment"), &slots, &slots_of(&want["alignment"]));
        let (vo, vp) = facing(&some(&so), &some(&sp), &slots);
        let facing_want = [numbers(&want["aligned_original"]), numbers(&want["aligned_perturbed"])].concat();
        report.close64(&format!("{name}: facing scores"), &[vo.clone(), vp.clone()].concat(), &facing_want, 0.0);
        match (pearson(&vo, &vp), want["pcc"]["r"].as_f64()) {
            (Ok(c), Some(r)) => {
                report.close64(&format!("{name}: r"), &[c.r], &[r], 1e-12);
                let p = want["pcc"]["p_value"].as_f64().unwrap();
                // Near r = ±1, p depends only on the last digits of r.
                if 1.0 - r.abs() > 1e-12 {
                    report.close64(&format!("{name}: p"), &[c.p], &[p], 1e-9);
                }
                if c.p < ALPHA {
                    kept.push((i, c.r, map));
                }
            }
            (Err(Undefined::Few), Some(_)) => report.equal(&format!("{name}: pairs"), &vo.len(), &2),
            (found, want) => report.holds(
                &format!("{name}: undefined"),
                found.is_err() && want.is_none(),
                format!("{found:?} {want:?}"),
            ),
        }
        let k = Size::Ratio(case["ratio"].as_f64().unwrap()).of(so.len(), 0);
        let predicted = top_k(&so, k);
        report.equal(&format!("{name}: rationale"), &predicted, &indices(&want["predicted_rationale"]));
        let f1 = token_f1(&predicted, &indices(&case["gold"]));
        let want = ["precision", "recall", "f1"].map(|k| want["token_f1"][k].as_f64().unwrap());
        report.close64(&format!("{name}: F1"), &[f1.precision, f1.recall, f1.f1], &want, 1e-12);
        f1s.push(f1.f1);
        maps.push(map);
    }
    let mean = |list: &[f64]| list.iter().sum::<f64>() / list.len() as f64;
    let corpus = &file["corpus"];
    let at = |key: &str| corpus[key].as_f64().unwrap();
    let survivors: Vec<usize> = kept.iter().map(|k| k.0).collect();
    report.equal("survivors", &survivors, &indices(&corpus["cases_with_pcc_p_below_0.05"]));
    let (r, map): (Vec<f64>, Vec<f64>) = kept.iter().map(|k| (k.1, k.2)).unzip();
    let found = [mean(&f1s), mean(&maps), mean(&r), mean(&map)];
    let want = [at("token_f1_eq1"), at("mean_map"), at("mean_pcc_over_those"), at("mean_map_over_those")];
    report.close64("means", &found, &want, 1e-12);
    report.finish();
}

fn predicted_rationales(dir: &Path) {
    let file = json(&dir.join("top_k.json"));
    let mut report = Report::new("saliency/top_k");
    for case in file["cases"].as_array().unwrap() {
        let (scores, ratio) = (numbers(&case["scores"]), case["ratio"].as_f64().unwrap());
        let found = top_k(&scores, Size::Ratio(ratio).of(scores.len(), 0));
        report.equal(&format!("{ratio} of {}", scores.len()), &found, &indices(&case["top"]));
    }
    report.finish();
}

fn correlations(dir: &Path) {
    let file = json(&dir.join("correlations.json"));
    let mut report = Report::new("stats/correlations");
    for (i, case) in file["cases"].as_array().unwrap().iter().enumerate() {
        let (x, y) = (numbers(&case["x"]), numbers(&case["y"]));
        let want = ["r", "p"].map(|k| case["pearson"][k].as_f64());
        match (pearson(&x, &y), want) {
            (Ok(c), [Some(r), Some(p)]) => report.close64(&format!("case {i}"), &[c.r, c.p], &[r, p], 1e-9),
            (Err(_), [None, _]) => {}
            (found, want) => report.holds(&format!("case {i}"), x.len() < 3, format!("{found:?} {want:?}")),
        }
    }
    report.finish();
}

/// A prefix, with its saliency vectors by system.
struct Line {
    rationale: Rationale<'static>,
    vectors: BTreeMap<String, Vec<f64>>,
}

impl Line {
    fn scored(&self, system: &str) -> Scored {
        let words: Vec<String> = self.rationale.tokens.iter().map(ToString::to_string).collect();
        let gold = self.rationale.rationales.iter().map(|g| g.iter().map(|i| *i as usize).collect()).collect();
        Scored::new(self.rationale.id.as_ref().unwrap().to_string(), words, some(&self.vectors[system]), gold).unwrap()
    }
}

fn lines(dir: &Path) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    let set = Set::open(&dir.join("syneval.jsonl.gz")).unwrap();
    set.rows(&mut |_, row, _| {
        match row.into_owned() {
            Row::Rationale(rationale) => lines.push(Line { rationale, vectors: BTreeMap::new() }),
            Row::Prediction(p) => {
                let line = lines.last_mut().unwrap();
                line.vectors.insert(p.system.unwrap().to_string(), p.scores.unwrap());
            }
            row => panic!("{row:?}"),
        }
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!(lines.len(), 6280);
    lines
}

/// Returns the group of a section: templates with animate and inanimate subjects together, by the numbers of subject and object. Sections
/// with prepositional phrases belong to no group.
fn group(section: &str) -> Option<(String, String)> {
    let (template, numbers) = section.split_once('.').unwrap();
    if template.starts_with("prep") {
        return None;
    }
    let template = template.trim_end_matches("_inanim").trim_end_matches("_anim");
    Some((template.to_owned(), numbers.replace("IS", "MS").replace("IV", "MV")))
}

const NOISE: f64 = 0.01;
/// Tolerance for reference numbers, which are written with six decimals.
const WRITTEN: f64 = 1e-6;

fn published_vectors_within_their_groups(dir: &Path) {
    let mut lines = lines(dir);
    // Animate subjects come first.
    lines.sort_by_key(|l| l.rationale.dimension.as_ref().unwrap().contains("inanim"));
    let mut report = Report::new("Ding & Koehn, within groups");
    for (system, want) in [
        ("sota_verum", 0.527943),
        ("sota_malum", 0.534232),
        ("distilled_verum", 0.569085),
        ("distilled_malum", 0.580804),
    ] {
        let mut first: BTreeMap<(String, String), Vec<f64>> = BTreeMap::new();
        let (mut correlations, mut skipped) = (Vec::new(), 0);
        for line in &lines {
            let Some(group) = group(line.rationale.dimension.as_ref().unwrap()) else { continue };
            let scores = without_noise(&line.vectors[system], NOISE);
            match first.get(&group) {
                None => {
                    first.insert(group, scores);
                }
                Some(reference) if reference.len() != scores.len() => skipped += 1,
                Some(reference) => correlations.push(pearson(reference, &scores).unwrap().r),
            }
        }
        report.equal(&format!("{system}: pairs"), &(correlations.len(), skipped, first.len()), &(4248, 460, 12));
        let mean = correlations.iter().sum::<f64>() / correlations.len() as f64;
        report.close64(system, &[mean], &[want], WRITTEN);
    }
    report.finish();
}

fn published_vectors_of_two_models(dir: &Path) {
    let lines = lines(dir);
    let mut report = Report::new("Ding & Koehn, between models");
    let n = lines.len() as f64;
    for (class, want) in [("verum", 0.597875), ("malum", 0.570346)] {
        let clamped = |l: &Line, m: &str| without_noise(&l.vectors[&format!("{m}_{class}")], NOISE);
        let r = |l: &Line| pearson(&clamped(l, "sota"), &clamped(l, "distilled")).unwrap().r;
        report.close64(class, &[lines.iter().map(r).sum::<f64>() / n], &[want], WRITTEN);
    }
    // The second model's ranking is treated like the ranking of a perturbed input.
    let rules = Rules { membership: Membership::Position, ..Rules::new(Size::Gold) };
    let judged: Vec<Judged> = lines
        .iter()
        .map(|l| {
            let same = (0..l.rationale.tokens.len()).map(|i| (i, i)).collect();
            let other =
                Partner { scored: l.scored("distilled_verum"), perturbation: "model".into(), alignment: Some(same) };
            judge(&l.scored("sota_verum"), &[other], &rules).unwrap()
        })
        .collect();
    let all: Vec<&Judged> = judged.iter().collect();
    let found = cell(&all, None, ALPHA, 0.95);
    report.close64("position MAP", &[found.map.unwrap().mean], &[0.750781], WRITTEN);
    report.equal("correlations", &(found.pcc_kept, found.pcc_total), &(2187, 6280));
    report.close64("PCC of those with p < .05", &[found.pcc.unwrap().mean], &[0.904427], WRITTEN);
    report.close64(
        "F1",
        &[found.f1_original.unwrap().mean, found.f1_perturbed.unwrap().mean],
        &[0.203185, 0.198567],
        5e-7,
    );
    report.finish();
}

/// The calculator must give the same F1 from the same rows.
fn cues_and_published_vectors(dir: &Path) {
    let mut report = Report::new("Ding & Koehn, cues");
    for (system, want) in [("sota_verum", 0.203185), ("distilled_verum", 0.198567)] {
        let mut gathered = Gathered::default();
        let set = Set::open(&dir.join("syneval.jsonl.gz")).unwrap();
        set.rows(&mut |_, row, _| {
            gathered.push(row).unwrap();
            ControlFlow::Continue(())
        })
        .unwrap();
        let rules = Rules::new(Size::Gold);
        let found = gathered.judge(Some(system), SizeRule::Fixed(Size::Gold), &rules).unwrap();
        report.equal("inputs", &(found.judged.len(), found.left_out.is_empty()), &(6280, true));
        let f1: f64 = found.judged.iter().map(|(_, j)| j.original.f1.unwrap()).sum();
        report.close64(system, &[f1 / 6280.0], &[want], WRITTEN);
    }
    report.finish();
}

/// Alignments made by hand equal our own longest common subsequences, and a ranking that follows the gold rationales is perfect.
fn hand_made_rationales(dir: &Path) {
    let mut report = Report::new("plm_rationale_mini");
    let (mut gathered, mut rows) = (Gathered::default(), Vec::new());
    let set = Set::open(&dir.join("instances.jsonl")).unwrap();
    set.rows(&mut |_, row, _| {
        let Row::Rationale(r) = row.into_owned() else { panic!("not a rationale row") };
        rows.push(r);
        ControlFlow::Continue(())
    })
    .unwrap();
    let plain = |r: &Rationale<'_>| {
        let words: Vec<String> = r.tokens.iter().map(ToString::to_string).collect();
        let scores = vec![Some(0.0); words.len()];
        Scored::new("", words, scores, vec![]).unwrap()
    };
    let mut aligned = 0;
    for row in rows.iter().filter(|r| r.alignment.is_some()) {
        let original = rows.iter().find(|o| o.id == row.perturbs).unwrap();
        let found = slots(&plain(original), &plain(row), None, false).unwrap();
        let pairs: Vec<[u32; 2]> =
            found.iter().filter_map(|s| Some([s.original? as u32, s.perturbed? as u32])).collect();
        report.equal(&format!("alignment of {}", row.id.as_ref().unwrap().as_str()), &Some(pairs), &row.alignment);
        // A ranking compared with itself has a MAP of 1, even if scores tie, because ties are broken by position.
        let (map, _) = map_of(&plain(original), &plain(original), &found, Membership::String);
        report.close64("MAP with itself", &[map], &[1.0], 1e-12);
        aligned += 1;
    }
    for row in rows {
        let gold: Vec<u32> = row.rationales.concat();
        let scores = (0..row.tokens.len() as u32).map(|i| f64::from(u8::from(gold.contains(&i)))).collect();
        let id = row.id.clone();
        gathered.push(Row::Rationale(row)).unwrap();
        let scored = probity::corpus::readers::Prediction { id, scores: Some(scores), ..Default::default() };
        gathered.push(Row::Prediction(scored)).unwrap();
    }
    let found = gathered.judge(None, SizeRule::Fixed(Size::Gold), &Rules::new(Size::Gold)).unwrap();
    let all: Vec<&Judged> = found.judged.iter().map(|(_, j)| j).collect();
    let whole = cell(&all, None, ALPHA, 0.95);
    report.equal(
        "originals, pairs, missing, left out",
        &(whole.originals, whole.pairs, whole.missing, found.left_out.is_empty()),
        &(20, 25, 0, true),
    );
    report.close64("F1 of the gold rationales themselves", &[whole.token_f1.unwrap().mean], &[1.0], 1e-12);
    report.equal("pairs used for PCC", &whole.pcc_total, &aligned);
    report.finish();
}

/// Maximum relative excess of a run's smallest change over the constrained solver's.
const LEAST: f64 = 0.005;

/// Compares the sensitivity and stability of attention in a complete run on sentences.
fn least_changes_and_lowest_maps_of_a_run(dir: &Path) {
    let want = json(&dir.join("saliency/robust.json"));
    let folder = tempfile::tempdir().unwrap();
    let spec = format!(
        "lab = \"saliency\"\nmodels = [\"bert-tiny\"]\n[data]\nfile = \"set.jsonl\"\n\
         [saliency]\nmethods = [\"attention\"]\nrobustness = true\n[metrics]\nk = {}\n",
        want["k"]
    );
    std::fs::write(folder.path().join("robust.toml"), spec).unwrap();
    for arguments in ["data make rationales-en -n 10 --seed 3 -o set.jsonl", "run robust.toml --out out"] {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_probity"))
            .args(arguments.split(' '))
            .current_dir(&folder)
            .env("PROBITY_STATE_DIR", folder.path().join("state"))
            .env("PROBITY_CACHE_DIR", folder.path().join("cache"))
            .output()
            .unwrap();
        assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
    }
    let text = std::fs::read_to_string(folder.path().join("out/findings.jsonl")).unwrap();
    let found: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |kind: &'static str| found.iter().filter(move |f| f["kind"] == kind && f["method"] == "attention");
    let mut report = Report::new("saliency_robust");
    let rows = want["rows"].as_array().unwrap();
    for row in rows {
        let sentence = row["sentence"].as_str().unwrap();
        let mine = of("saliency").find(|f| f["sentence"] == sentence).unwrap();
        report.equal(&format!("{sentence}: prediction"), &mine["target"], &row["said"]);
        let top = &mine["ranking"].as_array().unwrap()[..row["top"].as_array().unwrap().len()];
        report.equal(&format!("{sentence}: rationale"), &top, &row["top"].as_array().unwrap().as_slice());
        let [ours, least] = [mine, row].map(|r| r["sensitivity"].as_f64().unwrap());
        let more = ours / least - 1.0;
        report.holds(
            &format!("{sentence}: sensitivity"),
            more.abs() <= LEAST,
            format!("{ours} is {more:+.4} off {least}"),
        );
    }
    let mut whole = of("interpretability").filter(|f| f["dimension"] == "all" && f["perturbation"] == "all");
    let stability = whole.next_back().unwrap()["stability"]["mean"].as_f64().unwrap();
    report.close64("stability", &[stability], &[want["stability"].as_f64().unwrap()], 1e-12);
    report.equal("inputs", &of("saliency").count(), &rows.len());
    report.finish();
}
