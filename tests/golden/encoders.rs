//! Sentence encoders: pooling and pooler compared with transformers and sentence-transformers, the BiLSTM with PyTorch, and the untrained
//! twin of every reference model.

use std::path::Path;

use probity::model::{Array, HookPoint, Model, ModelSource, Plan, PoolOver, Pooling, Readout, Scalar, Sites};

use super::common::{Report, Tensors, json, subfolders};
use super::harness::{fixtures, say};
use crate::harness::device;

crate::harness::tests! {
    Needs::Reference("models") => [
        sentence_vectors_are_those_of_the_reference,
        every_reference_model_has_an_untrained_twin,
    ];
    Needs::Models("all-minilm-l6-v2") => [the_published_minilm_gives_its_published_vectors];
    Needs::Fixtures => [the_bilstm_encoder_does_what_pytorch_does, word_vectors_beside_the_encoder_give_the_same];
}

/// Tolerance for sentence vectors, the same as for hidden states in the reference's README.
const HIDDEN: f64 = 2e-5;
/// Tolerance for the BiLSTM compared with PyTorch.
const LSTM: f64 = 1e-5;

fn load(dir: &Path) -> Model {
    Model::load(&ModelSource::Dir(dir.to_owned()), device()).unwrap()
}

fn texts(dir: &Path) -> Vec<String> {
    let list = json(&dir.join("expected.json"))["texts"].clone();
    list.as_array().unwrap().iter().map(|t| t.as_str().unwrap().to_owned()).collect()
}

fn sentence_vectors_are_those_of_the_reference(root: &Path) {
    let mut compared = 0;
    for dir in subfolders(root) {
        let want = Tensors::load(&dir.join("expected.safetensors"));
        let Some(mean) = want.find("mean_pooled") else { continue };
        let model = load(&dir);
        let mut report = Report::new(&format!("sentence vectors of {}", dir.file_name().unwrap().to_string_lossy()));
        let texts = texts(&dir);
        let pooled = |over| model.sentence_vectors_at(&texts, model.top(), Pooling::plain(over)).unwrap().data;
        report.close("mean over tokens", &pooled(PoolOver::Mean), &mean.data, HIDDEN);
        let own = model.sentence_vectors(&texts).unwrap().data;
        report.close("as the folder specifies", &own, &want.get("sentence_embedding").data, HIDDEN);
        report.close("pooler", &pooled(PoolOver::Pooler), &want.get("pooler_output").data, HIDDEN);
        // Pooling by the first token gives that token's hidden state at every layer.
        let hidden = want.series("hidden_states.");
        for (l, want) in hidden.iter().enumerate() {
            let at = model.layer_point(l).unwrap();
            let first = model.sentence_vectors_at(&texts, at, Pooling::plain(PoolOver::First)).unwrap();
            let (t, d) = (want.shape[1], want.shape[2]);
            let firsts: Vec<f64> =
                (0..texts.len()).flat_map(|b| want.data[b * t * d..b * t * d + d].to_vec()).collect();
            report.close(&format!("first token of layer {l}"), &first.data, &firsts, HIDDEN);
        }
        report.finish();
        compared += 1;
    }
    assert!(compared > 0, "the reference has no sentence encoder");
}

fn the_published_minilm_gives_its_published_vectors(dir: &Path) {
    let model = load(dir);
    let info = json(&dir.join("expected.json"));
    let mut report = Report::new("all-minilm-l6-v2");
    let cases = info["cases"].as_array().unwrap();
    let texts: Vec<&str> = cases.iter().map(|c| c["text"].as_str().unwrap()).collect();
    let own = model.sentence_vectors(&texts).unwrap();
    let pooler = model.sentence_vectors_at(&texts, model.top(), Pooling::plain(PoolOver::Pooler)).unwrap();
    for (i, case) in cases.iter().enumerate() {
        let floats =
            |key: &str| -> Vec<f64> { case[key].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect() };
        let (first, pooled) = (floats("sentence_embedding_first8"), floats("pooler_output_first4"));
        report.close(&format!("{}: embedding", texts[i]), &own.row(i)[..first.len()], &first, LSTM);
        report.close(&format!("{}: pooler", texts[i]), &pooler.row(i)[..pooled.len()], &pooled, HIDDEN);
    }
    report.finish();
}

/// Folder of the BiLSTM, which is not among the models because it is not a transformer.
const BILSTM: &str = "bilstm-max";

fn the_bilstm_encoder_does_what_pytorch_does(fixtures: &Path) {
    let dir = fixtures.join(BILSTM);
    let (model, want, texts) = (load(&dir), Tensors::load(&dir.join("expected.safetensors")), texts(&dir));
    let mut report = Report::new("bilstm-max");
    let batch = model.batch(&texts).unwrap();
    // Id 0 is the unknown word, so ids are one higher than the rows in the file.
    let ids: Vec<Vec<u64>> = json(&dir.join("expected.json"))["ids"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row.as_array().unwrap().iter().map(|i| i.as_u64().unwrap() + 1).collect())
        .collect();
    for (b, row) in ids.iter().enumerate() {
        let ours: Vec<u64> =
            batch.ids()[b * batch.len()..][..batch.lengths()[b]].iter().map(|i| u64::from(*i)).collect();
        report.equal(&format!("ids of sentence {b}"), &ours, row);
    }
    let top = model.top();
    let states = model.forward(&batch, &Plan::default().capture(top)).unwrap().take(top).unwrap();
    report.close("hidden states", &states.data, &want.get("states").data, LSTM);
    let pooled = model.sentence_vectors(&texts).unwrap();
    report.close("sentence vectors", &pooled.data, &want.get("pooled").data, LSTM);
    // The gradient of a maximum is the gradient of the states at which it is attained.
    let (t, d, c) = (batch.len(), model.embed_dim(), want.get("cotangent"));
    let mut value = Array::zeros([texts.len(), t, d]);
    for b in 0..texts.len() {
        for j in 0..d {
            let best = (0..batch.lengths()[b]).max_by(|x, y| states.at(b, *x)[j].total_cmp(&states.at(b, *y)[j]));
            value.row_mut(b * t + best.unwrap())[j] = c.data[j] as f32;
        }
    }
    let of = Scalar::Cotangent { at: top, sites: Sites::All, value };
    let trace = model.forward(&batch, &Plan::default().gradient(of, &[HookPoint::Embed])).unwrap();
    let gradient = trace.gradient(HookPoint::Embed).unwrap();
    report.close("gradient to words", &gradient.data, &want.get("grad_embeddings").data, LSTM);
    report.finish();
}

fn word_vectors_beside_the_encoder_give_the_same(fixtures: &Path) {
    let (dir, beside) = (fixtures.join(BILSTM), tempfile::tempdir().unwrap());
    let inside = load(&dir);
    let weights = Tensors::load(&dir.join("model.safetensors"));
    let table = weights.get("embeddings.weight");
    let words = std::fs::read_to_string(dir.join("vocab.txt")).unwrap();
    let width = table.shape[1];
    let glove: String = words
        .lines()
        .zip(table.data.chunks(width))
        .map(|(word, row)| row.iter().fold(word.to_owned(), |line, v| format!("{line} {}", *v as f32)) + "\n")
        .collect();
    let config = std::fs::read_to_string(dir.join("config.json")).unwrap();
    let config = config.replacen('{', "{\"word_vectors\": \"glove.txt\",", 1);
    std::fs::write(beside.path().join("glove.txt"), glove).unwrap();
    std::fs::write(beside.path().join("config.json"), config).unwrap();
    std::fs::copy(dir.join("model.safetensors"), beside.path().join("model.safetensors")).unwrap();
    let outside = load(beside.path());
    let texts = texts(&dir);
    assert_eq!(inside.sentence_vectors(&texts).unwrap(), outside.sentence_vectors(&texts).unwrap());
    assert_ne!(inside.hash(), outside.hash(), "different word vectors have a different hash");
    std::fs::remove_file(beside.path().join("glove.txt")).unwrap();
    let said = Model::load(&ModelSource::Dir(beside.path().to_owned()), device()).err().unwrap().to_string();
    assert!(said.contains("no glove.txt") && said.contains("word_vectors"), "{said}");
}

fn every_reference_model_has_an_untrained_twin(root: &Path) {
    let mut folders = vec![fixtures().join(BILSTM)];
    folders.extend(subfolders(root));
    for dir in folders {
        let of = load(&dir);
        let address = format!("untrained:{}", dir.display());
        let twin = Model::load(&address.parse().unwrap(), device()).unwrap();
        assert_eq!((twin.arch(), twin.pooling(), twin.name()), (of.arch(), of.pooling(), address.as_str()));
        assert_eq!(twin.pooler().is_some(), of.pooler().is_some());
        assert_ne!(twin.hash(), of.hash());
        let batch = of.batch(&texts(&dir)).unwrap();
        let mut plan = (0..=of.layers()).fold(Plan::default(), |p, l| p.capture(of.layer_point(l).unwrap()));
        if of.has_head() {
            plan = plan.logits_at(Sites::All);
        }
        let (trained, untrained) = (of.forward(&batch, &plan).unwrap(), twin.forward(&batch, &plan).unwrap());
        for ((p, a), (_, b)) in trained.captures.iter().zip(&untrained.captures) {
            assert!(a.shape == b.shape && b.data.iter().all(|v| v.is_finite()), "{address}: {p}");
            assert_ne!(a.data, b.data, "{address}: {p}");
        }
        let finite = untrained.logits.as_ref().is_none_or(|l| l.data.iter().all(|v| v.is_finite()));
        assert!(finite, "{address}: logits");
        let sentence = Readout::Sentence(twin.sentence_pooling().unwrap());
        assert!(twin.read(&batch, twin.top(), &sentence).unwrap().data.iter().all(|v| v.is_finite()));
        say!("ok   {address}: {} parameters", twin.arch().parameter_count());
    }
}
