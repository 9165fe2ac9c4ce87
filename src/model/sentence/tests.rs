//! Tests of pooling against its definition.

use serde_json::json;

use super::*;
use crate::Device;
use crate::testing::{archs, batch, distance, model};

#[test]
fn pooling_ignores_padding() {
    for arch in archs() {
        let m = model(arch, 5);
        let b = batch(&[3, 7, 1], 2);
        for layer in 0..=m.layers() {
            let at = m.layer_point(layer).unwrap();
            let all = m.forward(&b, &Plan::default().capture(at)).unwrap().take(at).unwrap();
            let read = |over| m.read(&b, at, &Readout::Sentence(Pooling::plain(over))).unwrap();
            let want = |f: &dyn Fn(usize, usize) -> f32| {
                let d = all.width();
                Array::new([3, d], (0..3 * d).map(|i| f(i / d, i % d)).collect::<Vec<_>>())
            };
            let n = b.lengths();
            let mean = want(&|r, j| (0..n[r]).map(|t| all.at(r, t)[j]).sum::<f32>() / n[r] as f32);
            let max = want(&|r, j| (0..n[r]).map(|t| all.at(r, t)[j]).fold(f32::MIN, f32::max));
            assert!(distance(&read(PoolOver::Mean), &mean) < 1e-5, "{}", m.arch().family);
            assert!(distance(&read(PoolOver::Max), &max) < 1e-5);
            assert!(distance(&read(PoolOver::First), &want(&|r, j| all.at(r, 0)[j])) < 1e-5);
            assert!(distance(&read(PoolOver::Last), &want(&|r, j| all.at(r, n[r] - 1)[j])) < 1e-5);
            let some = m.read(&b, at, &Readout::Positions(vec![2, 4, 0])).unwrap();
            assert!(distance(&some, &want(&|r, j| all.at(r, [2, 4, 0][r])[j])) < 1e-5);
        }
    }
}

#[test]
fn normalised_vectors_have_unit_length_unless_zero() {
    let mut row = [3.0, 4.0];
    normalise(&mut row);
    assert_eq!(row, [0.6, 0.8]);
    let mut zero = [0.0, 0.0];
    normalise(&mut zero);
    assert_eq!(zero, [0.0, 0.0]);
}

#[test]
fn impossible_readout_is_rejected() {
    let m = model(archs().remove(0), 5);
    let b = batch(&[3, 2], 2);
    let short = m.read(&b, m.top(), &Readout::Positions(vec![0])).unwrap_err().to_string();
    assert!(short.contains("1 positions for 2"), "{short}");
    let pooler = Readout::Sentence(Pooling::plain(PoolOver::Pooler));
    assert!(m.read(&b, m.top(), &pooler).unwrap_err().to_string().contains("no pooler"));
    assert!(m.layer_point(99).unwrap_err().to_string().contains("0 to 3"));
}

#[test]
fn pooler_is_tanh_of_a_linear_map() {
    let pooler =
        Pooler { weight: Array::new([2, 2], vec![1.0, 2.0, 0.0, -1.0]), bias: Array::new([2], vec![0.5, 0.0]) };
    let want = [(0.5f64 + 1.0 + 2.0 * 3.0).tanh() as f32, (-3.0f64).tanh() as f32];
    assert_eq!(pooler.apply(&[1.0, 3.0]), want);
}

fn folder(pooling: &str, modules: Option<&str>) -> std::result::Result<Pooling, String> {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("1_Pooling")).unwrap();
    std::fs::write(dir.path().join("1_Pooling/config.json"), pooling).unwrap();
    if let Some(modules) = modules {
        std::fs::write(dir.path().join("modules.json"), modules).unwrap();
    }
    let read = SentenceFiles::read(&crate::source::Files::Dir(dir.path().to_owned())).unwrap();
    read.pooling.ok_or_else(|| read.unsupported.map_or_else(String::new, |(file, what)| format!("{file}: {what}")))
}

fn listed(kinds: &[(&str, &str)]) -> String {
    let module =
        |(kind, path): &(&str, &str)| json!({"type": format!("sentence_transformers.models.{kind}"), "path": path});
    json!(kinds.iter().map(module).collect::<Vec<_>>()).to_string()
}

#[test]
fn pooling_is_read_from_the_folder() {
    let on = |mode: &str| {
        let mut config = json!({"pooling_mode_mean_tokens": false});
        config[format!("pooling_mode_{mode}")] = json!(true);
        config.to_string()
    };
    for (mode, over) in [
        ("mean_tokens", PoolOver::Mean),
        ("cls_token", PoolOver::First),
        ("max_tokens", PoolOver::Max),
        ("lasttoken", PoolOver::Last),
    ] {
        assert_eq!(folder(&on(mode), None), Ok(Pooling::plain(over)));
    }
    assert_eq!(
        folder("{\"embedding_dimension\": 8, \"pooling_mode\": \"cls\"}", None),
        Ok(Pooling::plain(PoolOver::First))
    );
    assert_eq!(folder("{}", None), Ok(Pooling::plain(PoolOver::Mean)), "the mean is the default");
    let normalised = folder(&on("mean_tokens"), Some(&listed(&[("Pooling", "1_Pooling"), ("Normalize", "")])));
    assert_eq!(normalised, Ok(Pooling { over: PoolOver::Mean, normalise: true }));
    let dense = folder(&on("mean_tokens"), Some(&listed(&[("Pooling", "1_Pooling"), ("Dense", "2_Dense")])));
    assert!(dense.unwrap_err().contains("Dense"));
    for (bad, why) in [
        ("{\"pooling_mode\": \"weightedmean\"}", "pooling 'weightedmean' is not supported"),
        ("[", "not valid JSON"),
        ("{\"pooling_mode_cls_token\": true}", "a concatenation of several poolings (mean, cls)"),
        (&on("none"), "no supported pooling"),
    ] {
        let said = folder(bad, None).unwrap_err();
        assert!(said.contains("1_Pooling/config.json") && said.contains(why), "{said}");
    }
    for outside in ["../pool", "/pool", ""] {
        assert!(folder("{}", Some(&listed(&[("Pooling", outside)]))).unwrap_err().contains("not a subfolder"));
    }
}

/// Regression: only `1_Pooling` used to be read, even if `modules.json` named a different folder, and a model in a subfolder was not
/// found.
#[test]
fn modules_file_locates_pooling_and_model() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("pool/config.json", "{\"pooling_mode\": \"max\"}");
    write("0_Transformer/config.json", "{}");
    write("0_Transformer/sentence_bert_config.json", "{\"max_seq_length\": 8}");
    write("modules.json", &listed(&[("Transformer", "0_Transformer"), ("Pooling", "pool")]));
    let inner = transformer_folder(dir.path()).unwrap();
    assert!(inner.ends_with("0_Transformer"));
    let read = SentenceFiles::read(&crate::source::Files::Dir(inner)).unwrap();
    assert_eq!((read.pooling, read.longest), (Some(Pooling::plain(PoolOver::Max)), Some(8)));
}

/// Regression: long texts used to be an error in every lab. Their windows are now pooled like one text.
#[test]
fn long_texts_are_truncated_or_pooled_over_windows() {
    let m = Model::load(&"bert-tiny".parse().unwrap(), Device::Cpu).unwrap();
    let text = "the dog sees the cats near the old house and ".repeat(20);
    let texts = ["The dog sleeps .", text.as_str()];
    let most = m.arch().max_positions;
    let vectors = |over, long| m.long_sentence_vectors(&texts, m.top(), Pooling::plain(over), long);
    assert!(matches!(vectors(PoolOver::Mean, Long::Drop), Err(ModelError::TooLong { row: 1, max: 64, .. })));
    let encoding = m.tokenizer().unwrap().encode(&text).unwrap();
    let alone = |over, ids: &[u32]| {
        let batch = Batch::new(&[ids], m.tokenizer().unwrap().pad_id()).unwrap();
        m.read(&batch, m.top(), &Readout::Sentence(Pooling::plain(over))).unwrap().data
    };
    let cut = vectors(PoolOver::Mean, Long::Truncate).unwrap();
    let first = encoding.parts(most, Long::Truncate).remove(0);
    assert_eq!((first.ids.len(), first.ids.last()), (most, encoding.ids.last()));
    assert!(first.ids[..most - 1] == encoding.ids[..most - 1]);
    let near = |a: &[f32], b: &[f32]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-5);
    assert!(near(cut.row(1), &alone(PoolOver::Mean, &first.ids)));
    let windows = encoding.parts(most, Long::Window);
    assert!(windows.len() > 3);
    let all: f32 = windows.iter().map(|w| w.ids.len() as f32).sum();
    for (over, weight) in [(PoolOver::Mean, None), (PoolOver::First, Some(1.0 / windows.len() as f32))] {
        let mut want = vec![0.0; m.arch().hidden];
        for w in &windows {
            let share = weight.unwrap_or(w.ids.len() as f32 / all);
            want.iter_mut().zip(alone(over, &w.ids)).for_each(|(sum, v)| *sum += share * v);
        }
        let found = vectors(over, Long::Window).unwrap();
        assert!(near(found.row(1), &want), "{over}");
        assert!(near(found.row(0), m.sentence_vectors_at(&texts[..1], m.top(), Pooling::plain(over)).unwrap().row(0)));
    }
    let largest = vectors(PoolOver::Max, Long::Window).unwrap();
    let each: Vec<Vec<f32>> = windows.iter().map(|w| alone(PoolOver::Max, &w.ids)).collect();
    let max = |j: usize| each.iter().map(|v| v[j]).fold(f32::MIN, f32::max);
    assert!(near(largest.row(1), &(0..each[0].len()).map(max).collect::<Vec<_>>()));
}
