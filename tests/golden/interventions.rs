//! `reference/interventions`: probes against scikit-learn and PyTorch, interventions and their scores against plain
//! definitions in NumPy and, for INLP, the authors' code.

use crate::common::{Report, Tensors, json, reference};
use probity::lab::interventions::methods::attack::{Aim, Schedule, fgsm, losses, pgd, signs};
use probity::lab::interventions::methods::inlp::{Directions, Inlp};
use probity::lab::interventions::score::{
    ExampleScores, counterfactual_completeness, mean_over, nullifying_completeness, selectivity,
};
use probity::lab::interventions::{FitData, Goal, Options, find};
use probity::probe::logistic::Settings;
use probity::probe::matrix::{Real, argmax, softmax_rows};
use probity::probe::mlp::Layer;
use probity::probe::{
    Dense, Intervention, Labelled, Logistic, Matrix, Mlp, Oracle, Probe, Split, TrainingData,
};
use probity::stats::NoPulse;
use probity::stats::bootstrap::Resamples;
use serde_json::Value;
use std::path::PathBuf;

/// The data, probes and expectations of one reference folder.
struct Set {
    dir: PathBuf,
    data: Tensors,
    probes: Tensors,
    info: Value,
}

fn matrix<T: Real>(t: &Tensors, name: &str) -> Dense<T> {
    let a = t.get(name);
    assert_eq!(a.shape.len(), 2, "{name}");
    Dense::from_vec(a.shape[0], a.shape[1], a.data.iter().map(|x| T::from_f64(*x)).collect()).unwrap()
}

fn number(v: &Value) -> f64 {
    v.as_f64().unwrap_or_else(|| panic!("no number: {v}"))
}

fn numbers(v: &Value) -> Vec<f64> {
    v.as_array().unwrap_or_else(|| panic!("no list: {v}")).iter().map(number).collect()
}

impl Set {
    fn open() -> Option<Self> {
        let dir = reference("interventions")?;
        let data = Tensors::load(&dir.join("data.safetensors"));
        let probes = Tensors::load(&dir.join("probes.safetensors"));
        let info = json(&dir.join("probes.json"));
        Some(Self { dir, data, probes, info })
    }

    fn tensors(&self, name: &str) -> Tensors {
        Tensors::load(&self.dir.join(name))
    }

    /// Properties with their numbers of values.
    fn properties(&self) -> Vec<(String, usize)> {
        let all = self.info.as_object().unwrap().iter();
        all.filter_map(|(name, v)| Some((name.clone(), v.get("classes")?.as_u64()? as usize))).collect()
    }

    fn classes(&self, property: &str) -> usize {
        self.properties().into_iter().find(|(name, _)| name == property).unwrap().1
    }

    fn x(&self, part: &str) -> Matrix {
        matrix(&self.data, &format!("x_{part}"))
    }

    fn labels(&self, property: &str, part: &str) -> Vec<usize> {
        self.data.get(&format!("{property}_{part}")).indices()
    }

    fn labelled(&self, property: &str, part: &str) -> Labelled {
        Labelled::new(self.x(part), self.labels(property, part), self.classes(property)).unwrap()
    }

    /// `mlp.<p>` or `oracle.<p>`; PyTorch keeps weights as outputs x inputs.
    fn mlp(&self, name: &str) -> Mlp {
        let layer = |i: usize| Layer {
            weight: matrix::<f32>(&self.probes, &format!("{name}.w{i}")).transposed(),
            bias: self.probes.get(&format!("{name}.b{i}")).f32(),
        };
        Mlp::from_layers(vec![layer(1), layer(2)]).unwrap()
    }

    /// The intervention part as training data; the single validation example is not used by what is tested here.
    fn intervention(&self, property: &str) -> TrainingData<Intervention> {
        let (a, b) = (self.x("int"), self.x("oracle"));
        let x = Matrix::from_vec(a.rows() + b.rows(), a.cols(), [a.data(), b.data()].concat()).unwrap();
        let labels = [self.labels(property, "int"), self.labels(property, "oracle")].concat();
        let (n, all) = (a.rows(), x.rows());
        let split = Split::from_rows(
            all,
            ((n + 3..all).collect(), vec![n]),
            ((0..n).collect(), vec![n + 1]),
            vec![n + 2],
        )
        .unwrap();
        let labels: Vec<_> = labels.into_iter().map(Some).collect();
        TrainingData::new(split.intervention(), &x, &labels, self.classes(property)).unwrap()
    }

    /// Properties of which INLP classifiers are stored.
    fn inlp_properties(&self) -> Vec<String> {
        let weights = self.tensors("inlp.safetensors");
        let all = self.properties().into_iter().map(|p| p.0);
        all.filter(|p| weights.find(&format!("{p}.w")).is_some()).collect()
    }

    /// The stored INLP classifiers (iterations x rows x D).
    fn directions(&self, file: &str, property: &str) -> Directions {
        let t = self.tensors(file);
        let w = t.get(&format!("{property}.w"));
        let [iterations, rows, d] = w.shape[..] else { panic!("{:?}", w.shape) };
        let mut directions = Directions::none(d, self.classes(property));
        for i in 0..iterations {
            let start = i * rows * d;
            let weight = Dense::from_vec(rows, d, w.data[start..start + rows * d].to_vec()).unwrap();
            directions.push(weight).unwrap();
        }
        directions
    }
}

#[test]
fn logistic_regression() {
    let Some(set) = Set::open() else { return };
    let mut report = Report::new("interventions/logistic");
    for (p, _) in set.properties() {
        let (train, test) = (set.labelled(&p, "int"), set.labelled(&p, "test"));
        let fit = Logistic::fit_plain(&train, &Settings::default(), &mut || Ok(())).unwrap();
        let info = &set.info[&p];
        let objective = number(&info["lr_objective"]);
        report.close64(&format!("{p} objective"), &[fit.objective / objective], &[1.0], 1e-4);
        let want = set.probes.get(&format!("lr.{p}.weight"));
        report.close64(&format!("{p} weights"), fit.model.weight.data(), &want.data, 1e-3);
        report.close64(
            &format!("{p} bias"),
            &fit.model.bias,
            &set.probes.get(&format!("lr.{p}.bias")).data,
            1e-3,
        );
        let probabilities = fit.model.probabilities(test.x());
        let want = set.probes.get(&format!("lr.{p}.test_probabilities"));
        report.close64(&format!("{p} test probabilities"), probabilities.data(), &want.data, 1e-3);
        let got = [fit.model.accuracy(&train), fit.model.accuracy(&test)];
        let want = ["lr_train_accuracy", "lr_test_accuracy"].map(|key| number(&info[key]));
        report.close64(&format!("{p} accuracies"), &got, &want, 1.01 / test.len() as f64);
    }
    report.finish();
}

#[test]
fn perceptrons() {
    let Some(set) = Set::open() else { return };
    let mut report = Report::new("interventions/mlp");
    for (p, _) in set.properties() {
        for kind in ["mlp", "oracle"] {
            let name = format!("{kind}.{p}");
            let (mlp, test) = (set.mlp(&name), set.labelled(&p, "test"));
            let want = set.probes.get(&format!("{name}.test_logits"));
            let logits = mlp.logits(test.x());
            report.close(&format!("{name} logits"), logits.data(), &want.data, 2e-5);
            let correct = logits.iter_rows().zip(test.y()).filter(|(r, y)| argmax(r) == **y).count();
            let accuracy = number(&set.info[&p][format!("{kind}_test_accuracy")]);
            report.close64(
                &format!("{name} accuracy"),
                &[correct as f64 / test.len() as f64],
                &[accuracy],
                1e-9,
            );
        }
    }
    report.finish();
}

#[test]
fn inlp_with_given_classifiers() {
    let Some(set) = Set::open() else { return };
    let mut report = Report::new("interventions/inlp, given w");
    let info = json(&set.dir.join("inlp.json"));
    for p in set.inlp_properties() {
        let directions = set.directions("inlp.safetensors", &p);
        let stored = set.tensors("inlp.safetensors");
        let ranks: Vec<usize> =
            (1..=directions.rounds().len()).map(|k| directions.subspace(k).unwrap().rank()).collect();
        let want: Vec<usize> = numbers(&info[&p]["rank_removed"]).iter().map(|r| *r as usize).collect();
        report.equal(&format!("{p} rank removed"), &ranks, &want);
        let x = set.x("test");
        for k in numbers(&info["kept_P"]).iter().map(|k| *k as usize) {
            let Some(want) = stored.find(&format!("{p}.P.{k}")) else { continue };
            let removed = directions.subspace(k).unwrap();
            report.close64(&format!("{p} P_{k}"), removed.nullspace_projection().data(), &want.data, 1e-9);
            let exact = x.cast::<f64>().dot(&matrix(&stored, &format!("{p}.P.{k}")));
            report.close(&format!("{p} x P_{k} in f32"), removed.remove_from(&x).data(), exact.data(), 1e-5);
        }
        // The authors' own code and its classifiers.
        let official = set.directions("official/inlp.safetensors", &p);
        let want = set.tensors("official/inlp.safetensors");
        let got = official.subspace(official.rounds().len()).unwrap().nullspace_projection();
        report.close64(&format!("{p} P, official"), got.data(), &want.get(&format!("{p}.P")).data, 1e-6);
    }
    report.finish();
}

#[test]
fn inlp_trained_anew() {
    let Some(set) = Set::open() else { return };
    let mut report = Report::new("interventions/inlp, trained");
    let info = json(&set.dir.join("inlp.json"));
    let stored = set.tensors("inlp.safetensors");
    for p in set.inlp_properties() {
        let data = set.intervention(&p);
        let rounds = set.directions("inlp.safetensors", &p).rounds().len();
        let options = Options::new(&Inlp, [("intercept", 1.0)]).unwrap();
        let fit_data = FitData { data: &data, mlp: None, seed: 0 };
        let directions = Directions::fit(&fit_data, rounds, &options, &mut NoPulse).unwrap();
        for k in 1..=4 {
            let Some(want) = stored.find(&format!("{p}.P.{k}")) else { continue };
            let got = directions.subspace(k).unwrap().nullspace_projection();
            report.close64(&format!("{p} P_{k}"), got.data(), &want.data, 1e-3);
        }
        // Accuracy of each round's classifier; it needs the intercept, so it is fitted again on what the round saw.
        let (train, test) = (data.train(), set.labelled(&p, "test"));
        let (mut got_train, mut got_test) = (Vec::new(), Vec::new());
        for k in 0..rounds {
            let removed = directions.subspace(k).unwrap();
            let seen = |d: &Labelled| {
                Labelled::new(removed.remove_from(d.x()), d.y().to_vec(), d.classes()).unwrap()
            };
            let fit = Logistic::fit_plain(&seen(train), &Settings::default(), &mut || Ok(())).unwrap();
            got_train.push(fit.model.accuracy(&seen(train)));
            got_test.push(fit.model.accuracy(&seen(&test)));
        }
        let want = |key: &str| numbers(&info[&p][key]);
        report.close64(&format!("{p} accuracy on training data"), &got_train, &want("accuracy_train"), 0.01);
        report.close64(&format!("{p} accuracy on test data"), &got_test, &want("accuracy_test"), 0.01);
    }
    report.finish();
}

/// Runs a registered method with a stored fit.
fn run(
    id: &str,
    fit: &[u8],
    options: &[(&str, f64)],
    h: &Matrix,
    targets: &[usize],
    values: &[f64],
) -> Vec<Matrix> {
    let method = find(id).unwrap();
    let options = Options::new(method, options.iter().copied()).unwrap();
    let fitted = method.load(fit, &options).unwrap();
    let mut rows = fitted.on(h, targets, &mut NoPulse).unwrap();
    values.iter().map(|v| rows.at(*v, &mut NoPulse).unwrap()).collect()
}

fn head(m: &Matrix, rows: usize) -> &[f32] {
    &m.data()[..rows * m.cols()]
}

/// The values behind a prefix in the keys of an object, with how they are spelled.
fn values_of(object: &Value, prefix: &str) -> Vec<(String, f64)> {
    let keys = object.as_object().unwrap().keys();
    keys.filter_map(|k| k.strip_prefix(prefix))
        .filter_map(|s| Some((s.to_owned(), s.parse().ok()?)))
        .collect()
}

#[test]
fn alterrep() {
    let Some(set) = Set::open() else { return };
    let mut report = Report::new("interventions/alterrep");
    let scores = json(&set.dir.join("scores.json"));
    let directions = set.directions("inlp.safetensors", "zc");
    let classifiers = directions.rounds().len().min(8) as f64;
    let stored = set.tensors("alterrep.safetensors");
    let x = set.x("test");
    for (side, target) in [("plus", 1), ("minus", 0)] {
        let targets = vec![target; x.rows()];
        for (spelled, alpha) in values_of(&scores, "alterrep.") {
            let got = run(
                "alterrep",
                &directions.to_bytes(),
                &[("classifiers", classifiers)],
                &x,
                &targets,
                &[alpha],
            );
            let want = stored.get(&format!("{side}.{spelled}"));
            report.close(&format!("{side}, alpha {spelled}"), head(&got[0], want.shape[0]), &want.data, 1e-5);
        }
    }
    report.finish();
}

/// One goal of the attack tests: `zc.untargeted`, `z3.target_plus2`, ...
struct Goals {
    name: String,
    property: String,
    labels: Vec<usize>,
    aim: Aim,
}

fn goals(set: &Set, meta: &Value) -> Vec<Goals> {
    let mut all = Vec::new();
    for name in meta.as_object().unwrap().keys() {
        let (property, goal) = name.split_once('.').unwrap();
        let truth = set.labels(property, "test");
        let (labels, aim) = match goal.strip_prefix("target_plus") {
            Some(j) => {
                let (j, k): (usize, usize) = (j.parse().unwrap(), set.classes(property));
                (truth.iter().map(|y| (y + j) % k).collect(), Aim::Towards)
            }
            None => (truth, Aim::AwayFrom),
        };
        all.push(Goals { name: name.clone(), property: property.to_owned(), labels, aim });
    }
    all
}

/// Step sizes of the stored PGD runs, by their names.
fn step(name: &str, epsilon: f64, steps: usize) -> f64 {
    match name {
        "2.5eps_over_T" => 2.5 * epsilon / steps as f64,
        "eps_over_4" => epsilon / 4.0,
        other => panic!("unknown step {other}"),
    }
}

#[test]
fn attacks_in_double_precision() {
    let Some(set) = Set::open() else { return };
    let mut report = Report::new("interventions/attacks, f64");
    let stored = set.tensors("gradient_attacks.safetensors");
    let meta = json(&set.dir.join("gradient_attacks.json"));
    let x: Dense<f64> = set.x("test").cast();
    for goal in goals(&set, &meta) {
        let mlp: Mlp<f64> = set.mlp(&format!("mlp.{}", goal.property)).cast();
        for (spelled, epsilon) in values_of(&meta[&goal.name], "eps_") {
            let want = stored.get(&format!("{}.fgsm.{spelled}.f64", goal.name));
            let rows: Vec<usize> = (0..want.shape[0]).collect();
            let (h, labels) = (x.select_rows(&rows), &goal.labels[..rows.len()]);
            let first = signs(&mlp, &h, labels, goal.aim);
            let got = fgsm(&h, &first, epsilon);
            report.close64(&format!("{} FGSM {spelled}", goal.name), got.data(), &want.data, 1e-9);
            for name in ["2.5eps_over_T", "eps_over_4"] {
                let key = format!("{}.pgd.{spelled}.{name}", goal.name);
                let trace = stored.get(&format!("{key}.losses.f64"));
                let steps = trace.shape[0] - 1;
                let at = |steps, h: &Dense<f64>, labels: &[usize], first: &Dense<f64>| {
                    let schedule = Schedule { epsilon, step: step(name, epsilon, trace.shape[0] - 1), steps };
                    pgd(&mlp, h, (labels, goal.aim), first, schedule, &mut NoPulse).unwrap()
                };
                let got = at(steps, &h, labels, &first);
                report.close64(&key, got.data(), &stored.get(&format!("{key}.f64")).data, 1e-9);
                let few: Vec<usize> = (0..trace.shape[1]).collect();
                let (h, labels, first) = (h.select_rows(&few), &labels[..few.len()], first.select_rows(&few));
                let got: Vec<f64> =
                    (0..=steps).flat_map(|t| losses(&mlp, &at(t, &h, labels, &first), labels)).collect();
                report.close64(&format!("{key} losses"), &got, &trace.data, 1e-9);
            }
        }
    }
    report.finish();
}

/// Share of rows that are no longer classified as they should be, and of those that reach the goal.
fn flips(mlp: &Mlp, h: &Matrix, truth: &[usize], goal: &[usize]) -> [f64; 2] {
    let logits = mlp.logits(h);
    let answers: Vec<usize> = logits.iter_rows().map(argmax).collect();
    let n = truth.len() as f64;
    let count = |f: &dyn Fn(usize) -> bool| (0..truth.len()).filter(|i| f(*i)).count() as f64 / n;
    [count(&|i| answers[i] != truth[i]), count(&|i| answers[i] == goal[i])]
}

#[test]
fn attacks_in_single_precision() {
    let Some(set) = Set::open() else { return };
    let mut report = Report::new("interventions/attacks, f32");
    let stored = set.tensors("gradient_attacks.safetensors");
    let meta = json(&set.dir.join("gradient_attacks.json"));
    let precision = json(&set.dir.join("precision.json"));
    let x = set.x("test");
    for goal in goals(&set, &meta) {
        let mlp = set.mlp(&format!("mlp.{}", goal.property));
        let truth = set.labels(&goal.property, "test");
        let want = stored.get(&format!("{}.gradient", goal.name));
        let (gradient, _) = mlp.input_gradient(&x, &goal.labels);
        report.close(&format!("{} gradient", goal.name), head(&gradient, want.shape[0]), &want.data, 1e-5);
        let first = signs(&mlp, &x, &goal.labels, goal.aim);
        for (spelled, epsilon) in values_of(&meta[&goal.name], "eps_") {
            let expected = &meta[&goal.name][format!("eps_{spelled}")];
            let steps = stored.get(&format!("{}.pgd.{spelled}.eps_over_4.losses", goal.name)).shape[0] - 1;
            let mut runs =
                vec![("fgsm".to_owned(), format!("fgsm.{spelled}"), fgsm(&x, &first, epsilon as f32))];
            for name in ["2.5eps_over_T", "eps_over_4"] {
                let size = step(name, epsilon, steps) as f32;
                let schedule = Schedule { epsilon: epsilon as f32, step: size, steps };
                let got = pgd(&mlp, &x, (&goal.labels, goal.aim), &first, schedule, &mut NoPulse).unwrap();
                runs.push((format!("pgd_{name}"), format!("pgd.{spelled}.{name}"), got));
            }
            for (short, key, got) in runs {
                let key = format!("{}.{key}", goal.name);
                let want = stored.get(&key);
                let parting = number(&precision[&key]["fraction_of_entries_off_by_1e-4"]);
                let rows = want.shape[0];
                if parting == 0.0 {
                    report.close(&key, head(&got, rows), &want.data, 1e-5);
                } else {
                    // Their single precision parts from their double precision here; ours must not do so more often.
                    let exact = &stored.get(&format!("{key}.f64")).data;
                    let off = head(&got, rows)
                        .iter()
                        .zip(exact)
                        .filter(|(g, w)| (f64::from(**g) - **w).abs() > 1e-4);
                    let off = off.count() as f64 / exact.len() as f64;
                    let said = format!("{off:.5} of the entries off the exact run, {parting:.5} in theirs");
                    report.holds(&key, off <= parting, said);
                }
                if let Some(trace) = stored.find(&format!("{key}.losses")) {
                    let few = trace.shape[1];
                    let last = &trace.data[trace.data.len() - few..];
                    let loss = losses(&mlp, &got, &goal.labels);
                    report.close(&format!("{key} final losses"), &loss[..few], last, 1e-5);
                }
                let [flipped, hits] = flips(&mlp, &got, &truth, &goal.labels);
                report.close64(&format!("{key} flips"), &[flipped], &[number(&expected[&short])], 1e-6);
                if goal.aim == Aim::Towards {
                    let want = number(&expected[format!("{short}_hits_target")]);
                    report.close64(&format!("{key} hits"), &[hits], &[want], 1e-6);
                }
            }
        }
    }
    report.finish();
}

/// Oracles of all properties, and the scores of changed embeddings.
struct Judge {
    oracles: Vec<(String, Probe<Oracle>)>,
    before: Matrix,
}

impl Judge {
    fn new(set: &Set) -> Self {
        let oracle = |(p, _)| {
            let probe = Probe::from_mlp(set.mlp(&format!("oracle.{p}")));
            (p, probe)
        };
        Self { oracles: set.properties().into_iter().map(oracle).collect(), before: set.x("test") }
    }

    fn score(
        &self,
        property: &str,
        after: &Matrix,
        targets: Option<&[usize]>,
    ) -> (ExampleScores, Vec<(String, Vec<f64>)>) {
        let mut completeness = Vec::new();
        let mut each = Vec::new();
        for (p, oracle) in &self.oracles {
            let reads = oracle.probabilities(after);
            if p == property {
                completeness = match targets {
                    Some(targets) => counterfactual_completeness(&reads, targets),
                    None => nullifying_completeness(&reads),
                };
            } else {
                each.push((p.clone(), selectivity(&oracle.probabilities(&self.before), &reads)));
            }
        }
        let lists: Vec<Vec<Option<f64>>> =
            each.iter().map(|(_, s)| s.iter().copied().map(Some).collect()).collect();
        (ExampleScores { completeness, selectivity: mean_over(&lists) }, each)
    }
}

fn mean(v: &[f64]) -> f64 {
    v.iter().sum::<f64>() / v.len() as f64
}

/// Compares everything that `scores.json` says about one intervention; every number to 1e-5.
fn compare(
    report: &mut Report,
    name: &str,
    want: &Value,
    (scores, each): &(ExampleScores, Vec<(String, Vec<f64>)>),
) {
    let s: Vec<f64> = scores.selectivity.iter().map(|s| s.unwrap()).collect();
    let r: Vec<f64> = scores
        .completeness
        .iter()
        .zip(&s)
        .map(|(c, s)| probity::lab::interventions::score::reliability(*c, *s))
        .collect();
    let summary = scores.summary(&Resamples::new(s.len(), 50, 0), 0.95);
    let (mut got, mut expected) = (Vec::new(), Vec::new());
    for (key, list) in [("C", &scores.completeness), ("S", &s), ("R", &r)] {
        let Some(head) = want.get(key) else { continue };
        let head = numbers(head);
        got.extend_from_slice(&list[..head.len()]);
        expected.extend(head);
    }
    got.extend([
        summary.completeness.mean,
        summary.selectivity.unwrap().mean,
        summary.reliability.unwrap().mean,
    ]);
    expected.extend(["mean_C", "mean_S", "R_of_means"].map(|key| number(&want[key])));
    if let Some(mean_r) = want.get("mean_R") {
        got.push(summary.mean_of_harmonics.unwrap());
        expected.push(number(mean_r));
        for (p, list) in each {
            got.push(mean(list));
            expected.push(number(&want[format!("mean_S_{p}")]));
        }
    }
    report.close64(name, &got, &expected, 1e-5);
}

/// The attacks of `scores.json` with their options.
const METHODS: [(&str, &[(&str, f64)]); 2] =
    [("fgsm", &[]), ("pgd", &[("steps", 40.0), ("step", 2.5 / 40.0)])];

/// How often the reference's single-precision run of a scored attack parts from its double-precision run.
fn parting(precision: &Value, name: &str) -> f64 {
    let (method, rest) = name.split_once('.').unwrap();
    let (property, rest) = rest.split_once('.').unwrap();
    let (goal, epsilon) = rest.split_once('.').unwrap();
    let key = match method {
        "fgsm" => format!("{property}.{goal}.fgsm.{epsilon}"),
        _ => format!("{property}.{goal}.pgd.{epsilon}.2.5eps_over_T"),
    };
    number(&precision[&key]["fraction_of_entries_off_by_1e-4"])
}

/// The scored PGD in double precision.
fn exact_pgd(set: &Set, goal: &Goals, epsilon: f64) -> Matrix {
    let mlp: Mlp<f64> = set.mlp(&format!("mlp.{}", goal.property)).cast();
    let x: Dense<f64> = set.x("test").cast();
    let first = signs(&mlp, &x, &goal.labels, goal.aim);
    let schedule = Schedule { epsilon, step: 2.5 * epsilon / 40.0, steps: 40 };
    pgd(&mlp, &x, (&goal.labels, goal.aim), &first, schedule, &mut NoPulse).unwrap().cast()
}

/// Where the reference's single-precision run parts from the exact one (the target is reached with certainty, `p - 1` rounds
/// to 0 and its gradient vanishes), its scores are those of an attack that stopped early. Mean completeness still has to
/// agree with it to 1e-5; every example has to agree with our own exact run, which is checked above against theirs.
fn compare_parted(
    report: &mut Report,
    name: &str,
    want: &Value,
    scored: &ExampleScores,
    exact: &ExampleScores,
) {
    report.close64(
        &format!("{name} mean C"),
        &[mean(&scored.completeness)],
        &[number(&want["mean_C"])],
        1e-5,
    );
    let s = |of: &ExampleScores| of.selectivity.iter().map(|s| s.unwrap()).collect::<Vec<f64>>();
    for (letter, ours, precise) in
        [("C", scored.completeness.clone(), exact.completeness.clone()), ("S", s(scored), s(exact))]
    {
        let off = ours.iter().zip(&precise).filter(|(a, b)| (*a - *b).abs() > 1e-5).count();
        let off = off as f64 / ours.len() as f64;
        let (mine, right) = (mean(&ours), mean(&precise));
        let theirs = number(&want[format!("mean_{letter}")]);
        let said = format!(
            "{off:.4} of the examples off the exact run; mean {mine:.6}, exact {right:.6}, theirs {theirs:.6}"
        );
        report.holds(&format!("{name} {letter}"), off <= 0.01, said);
    }
}

#[test]
fn scores() {
    let Some(set) = Set::open() else { return };
    let mut report = Report::new("interventions/scores");
    let want = json(&set.dir.join("scores.json"));
    let judge = Judge::new(&set);
    let x = set.x("test");
    let other: Vec<usize> = set.labels("zc", "test").iter().map(|y| 1 - y).collect();
    for p in set.inlp_properties() {
        let fit = set.directions("inlp.safetensors", &p).to_bytes();
        let ranks = values_of(&want, &format!("inlp.{p}."));
        let values: Vec<f64> = ranks.iter().map(|r| r.1).collect();
        let nothing = vec![0; x.rows()];
        for ((k, _), h) in ranks.iter().zip(run("inlp", &fit, &[], &x, &nothing, &values)) {
            let name = format!("inlp.{p}.{k}");
            compare(&mut report, &name, &want[&name], &judge.score(&p, &h, None));
        }
    }
    let directions = set.directions("inlp.safetensors", "zc");
    let classifiers = directions.rounds().len().min(8) as f64;
    for (spelled, alpha) in values_of(&want, "alterrep.") {
        let h =
            &run("alterrep", &directions.to_bytes(), &[("classifiers", classifiers)], &x, &other, &[alpha])
                [0];
        let name = format!("alterrep.{spelled}");
        compare(&mut report, &name, &want[&name], &judge.score("zc", h, Some(&other)));
    }
    let meta = json(&set.dir.join("gradient_attacks.json"));
    let precision = json(&set.dir.join("precision.json"));
    for goal in goals(&set, &meta).into_iter().filter(|g| g.aim == Aim::Towards) {
        let probe: Probe<Intervention> = Probe::from_mlp(set.mlp(&format!("mlp.{}", goal.property)));
        for (method, options) in METHODS {
            for (spelled, epsilon) in values_of(&want, &format!("{method}.{}.", goal.name)) {
                let h = &run(method, &probe.to_bytes(), options, &x, &goal.labels, &[epsilon])[0];
                let name = format!("{method}.{}.{spelled}", goal.name);
                let scored = judge.score(&goal.property, h, Some(&goal.labels));
                if parting(&precision, &name) == 0.0 {
                    compare(&mut report, &name, &want[&name], &scored);
                } else {
                    let exact = exact_pgd(&set, &goal, epsilon);
                    let exact = judge.score(&goal.property, &exact, Some(&goal.labels));
                    compare_parted(&mut report, &name, &want[&name], &scored.0, &exact.0);
                }
            }
        }
    }
    let same = find("identity").unwrap();
    assert_eq!(same.goal(), Goal::Counterfactual);
    compare(
        &mut report,
        "identity",
        &want["identity_as_counterfactual"],
        &judge.score("zc", &x, Some(&other)),
    );
    compare(
        &mut report,
        "identity, nullifying",
        &want["identity_as_nullifying"],
        &judge.score("zc", &x, None),
    );
    report.finish();
}

/// A property with three values: completeness is averaged over the two counterfactual ones.
#[test]
fn scores_of_three_values() {
    let Some(set) = Set::open() else { return };
    let mut report = Report::new("interventions/scores, averaged");
    let want = json(&set.dir.join("scores.json"));
    let judge = Judge::new(&set);
    let x = set.x("test");
    let goals = goals(&set, &json(&set.dir.join("gradient_attacks.json")));
    let probe: Probe<Intervention> = Probe::from_mlp(set.mlp("mlp.z3"));
    let precision = json(&set.dir.join("precision.json"));
    for (method, options) in METHODS {
        for (spelled, epsilon) in values_of(&want, &format!("{method}.z3.averaged.")) {
            let (mut runs, mut exact, mut parted) = (Vec::new(), Vec::new(), false);
            for goal in goals.iter().filter(|g| g.property == "z3" && g.aim == Aim::Towards) {
                let h = &run(method, &probe.to_bytes(), options, &x, &goal.labels, &[epsilon])[0];
                runs.push(judge.score("z3", h, Some(&goal.labels)).0);
                if parting(&precision, &format!("{method}.{}.{spelled}", goal.name)) > 0.0 {
                    parted = true;
                }
                if method == "pgd" {
                    exact.push(judge.score("z3", &exact_pgd(&set, goal, epsilon), Some(&goal.labels)).0);
                }
            }
            let name = format!("{method}.z3.averaged.{spelled}");
            if parted {
                compare_parted(&mut report, &name, &want[&name], &averaged(runs), &averaged(exact));
            } else {
                compare(&mut report, &name, &want[&name], &(averaged(runs), Vec::new()));
            }
        }
    }
    report.finish();
}

/// Scores of the same examples averaged over counterfactual targets.
fn averaged(runs: Vec<ExampleScores>) -> ExampleScores {
    let (c, s): (Vec<_>, Vec<_>) =
        runs.into_iter().map(|r| (r.completeness.into_iter().map(Some).collect(), r.selectivity)).unzip();
    let completeness = mean_over(&c).into_iter().map(|v| v.unwrap()).collect();
    ExampleScores { completeness, selectivity: mean_over(&s) }
}

/// Probabilities of stored logits, so that a slip in the oracle cannot hide one in the scores.
#[test]
fn softmax_of_stored_logits() {
    let Some(set) = Set::open() else { return };
    let mut report = Report::new("interventions/softmax");
    for (p, classes) in set.properties() {
        let logits: Matrix = matrix(&set.probes, &format!("oracle.{p}.test_logits"));
        let rows = softmax_rows(&logits);
        let sums: Vec<f64> = rows.iter_rows().map(|r| r.iter().sum()).collect();
        report.close64(&format!("{p}, {classes} classes"), &sums, &vec![1.0; sums.len()], 1e-12);
    }
    report.finish();
}
