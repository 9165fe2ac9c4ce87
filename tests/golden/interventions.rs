//! `reference/interventions`: compares probes with scikit-learn and PyTorch, and interventions and scores with plain NumPy
//! implementations. INLP is also compared with the authors' code.

pub(crate) mod attacks;
pub(crate) mod erasure;
pub(crate) mod official;
pub(crate) mod robust;
pub(crate) mod saturated;
pub(crate) mod scores;
pub(crate) mod selection;

use crate::common::{Report, Tensors, json};
use probity::base::NoPulse;
use probity::base::matrix::{Real, argmax};
use probity::lab::interventions::methods::inlp::{Directions, INLP};
use probity::lab::interventions::{FitData, Options, find};
use probity::probe::logistic::Settings;
use probity::probe::mlp::Layer;
use probity::probe::{Dense, Intervention, Labelled, Logistic, Matrix, Mlp, Split, TrainingData};
use serde_json::Value;
use std::path::{Path, PathBuf};

crate::harness::tests! {
    Needs::Reference("interventions") => [
        logistic_regression,
        perceptrons,
        inlp_with_given_classifiers,
        inlp_trained_anew,
        alterrep,
    ];
    Needs::Larger("interventions/official") => [inlp_with_the_authors_classifiers];
}

/// The data, probes and expected values of one reference folder.
pub(crate) struct Set {
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
    fn open(dir: &Path) -> Self {
        let data = Tensors::load(&dir.join("data.safetensors"));
        let probes = Tensors::load(&dir.join("probes.safetensors"));
        let info = json(&dir.join("probes.json"));
        Self { dir: dir.to_owned(), data, probes, info }
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

    /// The probe `mlp.<p>` or `oracle.<p>`; PyTorch stores weights as outputs × inputs.
    fn mlp(&self, name: &str) -> Mlp {
        let layer = |i: usize| Layer {
            weight: matrix::<f32>(&self.probes, &format!("{name}.w{i}")).transposed(),
            bias: self.probes.get(&format!("{name}.b{i}")).f32(),
        };
        Mlp::from_layers(vec![layer(1), layer(2)]).unwrap()
    }

    /// The intervention part as training data. The tests here do not use its only validation example.
    fn intervention(&self, property: &str) -> TrainingData<Intervention> {
        let (a, b) = (self.x("int"), self.x("oracle"));
        let x = Matrix::from_vec(a.rows() + b.rows(), a.cols(), [a.data(), b.data()].concat()).unwrap();
        let labels = [self.labels(property, "int"), self.labels(property, "oracle")].concat();
        let (n, all) = (a.rows(), x.rows());
        let split =
            Split::from_rows(all, ((n + 3..all).collect(), vec![n]), ((0..n).collect(), vec![n + 1]), vec![n + 2])
                .unwrap();
        let labels: Vec<_> = labels.into_iter().map(Some).collect();
        TrainingData::new(split.intervention(), &x, &labels, self.classes(property)).unwrap()
    }

    /// Properties with stored INLP classifiers.
    fn inlp_properties(&self) -> Vec<String> {
        let weights = self.tensors("inlp.safetensors");
        let all = self.properties().into_iter().map(|p| p.0);
        all.filter(|p| weights.find(&format!("{p}.w")).is_some()).collect()
    }

    /// The stored INLP classifiers (iterations × rows × D).
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

fn logistic_regression(dir: &Path) {
    let set = Set::open(dir);
    let mut report = Report::new("interventions/logistic");
    for (p, _) in set.properties() {
        let (train, test) = (set.labelled(&p, "int"), set.labelled(&p, "test"));
        let fit = Logistic::fit_plain(&train, &Settings::default(), &mut || Ok(())).unwrap();
        let info = &set.info[&p];
        let objective = number(&info["lr_objective"]);
        report.close64(&format!("{p} objective"), &[fit.objective / objective], &[1.0], 1e-4);
        let want = set.probes.get(&format!("lr.{p}.weight"));
        report.close64(&format!("{p} weights"), fit.model.weight.data(), &want.data, 1e-3);
        report.close64(&format!("{p} bias"), &fit.model.bias, &set.probes.get(&format!("lr.{p}.bias")).data, 1e-3);
        let probabilities = fit.model.probabilities(test.x());
        let want = set.probes.get(&format!("lr.{p}.test_probabilities"));
        report.close64(&format!("{p} test probabilities"), probabilities.data(), &want.data, 1e-3);
        let got = [fit.model.accuracy(&train), fit.model.accuracy(&test)];
        let want = ["lr_train_accuracy", "lr_test_accuracy"].map(|key| number(&info[key]));
        report.close64(&format!("{p} accuracies"), &got, &want, 1.01 / test.len() as f64);
    }
    report.finish();
}

fn perceptrons(dir: &Path) {
    let set = Set::open(dir);
    let mut report = Report::new("interventions/mlp");
    for (p, _) in set.properties() {
        for kind in ["mlp", "oracle"] {
            let name = format!("{kind}.{p}");
            let (mlp, test) = (set.mlp(&name), set.labelled(&p, "test"));
            let want = set.probes.get(&format!("{name}.test_logits"));
            let logits = mlp.logits(test.x());
            let scale = want.data.iter().fold(1.0, |m: f64, z| m.max(z.abs()));
            report.close(&format!("{name} logits"), logits.data(), &want.data, 2e-6 * scale);
            let correct = logits.iter_rows().zip(test.y()).filter(|(r, y)| argmax(r) == **y).count();
            let accuracy = number(&set.info[&p][format!("{kind}_test_accuracy")]);
            report.close64(&format!("{name} accuracy"), &[correct as f64 / test.len() as f64], &[accuracy], 1e-9);
        }
    }
    report.finish();
}

fn inlp_with_given_classifiers(dir: &Path) {
    let set = Set::open(dir);
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
    }
    report.finish();
}

/// Compares INLP with the authors' own code, using its classifiers.
fn inlp_with_the_authors_classifiers(official: &Path) {
    let set = Set::open(official.parent().unwrap());
    let mut report = Report::new("interventions/official/inlp");
    let want = Tensors::load(&official.join("inlp.safetensors"));
    for p in set.inlp_properties() {
        let directions = set.directions("official/inlp.safetensors", &p);
        let got = directions.subspace(directions.rounds().len()).unwrap().nullspace_projection();
        report.close64(&format!("{p} P"), got.data(), &want.get(&format!("{p}.P")).data, 1e-6);
    }
    report.finish();
}

fn inlp_trained_anew(dir: &Path) {
    let set = Set::open(dir);
    let mut report = Report::new("interventions/inlp, trained");
    let info = json(&set.dir.join("inlp.json"));
    let stored = set.tensors("inlp.safetensors");
    for p in set.inlp_properties() {
        let data = set.intervention(&p);
        let rounds = set.directions("inlp.safetensors", &p).rounds().len();
        let options = Options::new(&INLP, [("intercept", 1.0)]).unwrap();
        let fit_data = FitData::new(&data);
        let directions = Directions::fit(&fit_data, rounds, &options, &mut NoPulse).unwrap();
        for k in 1..=4 {
            let Some(want) = stored.find(&format!("{p}.P.{k}")) else { continue };
            let got = directions.subspace(k).unwrap().nullspace_projection();
            report.close64(&format!("{p} P_{k}"), got.data(), &want.data, 1e-3);
        }
        // Compares the accuracy of each round's classifier, which is refitted on that round's data because the intercept is needed.
        let (train, test) = (data.train(), set.labelled(&p, "test"));
        let (mut got_train, mut got_test) = (Vec::new(), Vec::new());
        for k in 0..rounds {
            let removed = directions.subspace(k).unwrap();
            let seen = |d: &Labelled| Labelled::new(removed.remove_from(d.x()), d.y().to_vec(), d.classes()).unwrap();
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
fn run(id: &str, fit: &[u8], options: &[(&str, f64)], h: &Matrix, targets: &[usize], values: &[f64]) -> Vec<Matrix> {
    let method = find(id).unwrap();
    let options = Options::new(method, options.iter().copied()).unwrap();
    let fitted = method.load(fit, &options).unwrap();
    let mut rows = fitted.on(h, targets, &mut NoPulse).unwrap();
    values.iter().map(|v| rows.at(*v, &mut NoPulse).unwrap()).collect()
}

fn head(m: &Matrix, rows: usize) -> &[f32] {
    &m.data()[..rows * m.cols()]
}

/// The numbers that follow a prefix in the keys of an object, as written and parsed.
fn values_of(object: &Value, prefix: &str) -> Vec<(String, f64)> {
    let keys = object.as_object().unwrap().keys();
    keys.filter_map(|k| k.strip_prefix(prefix)).filter_map(|s| Some((s.to_owned(), s.parse().ok()?))).collect()
}

fn alterrep(dir: &Path) {
    let set = Set::open(dir);
    let mut report = Report::new("interventions/alterrep");
    let scores = json(&set.dir.join("scores.json"));
    let directions = set.directions("inlp.safetensors", "zc");
    let classifiers = directions.rounds().len().min(8) as f64;
    let stored = set.tensors("alterrep.safetensors");
    let x = set.x("test");
    for (side, target) in [("plus", 1), ("minus", 0)] {
        let targets = vec![target; x.rows()];
        for (spelled, alpha) in values_of(&scores, "alterrep.") {
            let got = run("alterrep", &directions.to_bytes(), &[("classifiers", classifiers)], &x, &targets, &[alpha]);
            let want = stored.get(&format!("{side}.{spelled}"));
            report.close(&format!("{side}, alpha {spelled}"), head(&got[0], want.shape[0]), &want.data, 1e-5);
        }
    }
    report.finish();
}
