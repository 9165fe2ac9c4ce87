//! Model folders written by different programs and releases: each is read as in transformers, or rejected with a reason.

use super::*;
use crate::arch::{Positions, Scaling};

fn described(config: Value) -> Result<Arch> {
    Ok(ConfigFile::parse("config.json", &config.to_string())?.describe()?.1)
}

/// Returns the logits for fixed ids.
fn logits(dir: &Path) -> Vec<f32> {
    let m = load(dir).unwrap();
    let ids = Batch::new(&[[2u32, 5, 3]], 1).unwrap();
    m.forward(&ids, &Plan::default().logits_at(Sites::All)).unwrap().logits.unwrap().data
}

fn remarks(dir: &Path) -> String {
    load(dir).unwrap().notices().iter().map(|n| format!("{}; {}\n", n.what, n.hint)).collect()
}

/// Regression: the epsilon of Phi-3 without `rms_norm_eps` used to be 1e-6, and omitted sizes used to be an error.
#[test]
fn omitted_settings_default_as_in_transformers() {
    for family in families::all() {
        // The default of DeBERTa is a form that is not supported.
        for kind in family.model_types.iter().filter(|kind| !kind.starts_with("bilstm") && **kind != "deberta-v2") {
            assert!(described(json!({"model_type": kind})).is_ok(), "{kind}");
        }
    }
    let of = |kind: &str| described(json!({"model_type": kind})).unwrap();
    assert_eq!((of("phi3").norm.eps, of("llama").norm.eps, of("xlm-roberta").norm.eps), (1e-5, 1e-6, 1e-12));
    assert_eq!((of("electra").heads, of("distilbert").max_positions, of("gpt2").max_positions), (4, 512, 1024));
    assert_eq!((of("mistral").kv_heads, of("gemma2").kv_heads, of("modernbert").max_positions), (8, 4, 8192));
    let own = described(json!({"model_type": "gpt2", "n_embd": 64, "num_attention_heads": 4, "n_head": 2})).unwrap();
    assert_eq!((own.hidden, own.heads), (64, 4), "the general name takes precedence");
    assert!(described(json!({"model_type": "gpt2", "n_embd": null})).is_err(), "null does not count as omitted");
}

/// Regression: `rope_parameters` used to take precedence over `rope_scaling`, and a base given as a string used to be ignored.
#[test]
fn rotary_settings_take_precedence_as_in_transformers() {
    let of = |settings: Value| {
        let mut config = json!({"model_type": "llama", "rope_theta": 77.0});
        config.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
        described(config)
    };
    let both = json!({"rope_scaling": {"type": "linear", "factor": 2.0}, "rope_parameters": {"rope_theta": 5.0}});
    let scaling = Scaling::Linear { factor: 2.0 };
    assert_eq!(of(both).unwrap().positions, Positions::Rotary { theta: 77.0, fraction: 1.0, scaling });
    let new = json!({"rope_scaling": {}, "rope_parameters": {"rope_theta": 5.0}});
    assert_eq!(of(new).unwrap().positions, Positions::Rotary { theta: 5.0, fraction: 1.0, scaling: Scaling::None });
    let quoted = of(json!({"rope_parameters": {"rope_theta": "5"}})).unwrap_err().to_string();
    assert!(quoted.contains("rope_theta in the rotary settings must be a number"), "{quoted}");
    let phi3 = |kind: &str| {
        let factors = json!({"rope_type": kind, "short_factor": vec![1.0; 48], "long_factor": vec![2.0; 48]});
        described(json!({"model_type": "phi3", "rope_parameters": factors, "original_max_position_embeddings": 16}))
    };
    assert_eq!(phi3("longrope").unwrap().max_positions, 16);
    assert!(phi3("su").unwrap_err().to_string().contains("rotary scaling 'su'"));
}

/// Regression: a start token with the id of the pad token used to be counted as the first position.
#[test]
fn tokens_with_the_pad_id_are_not_counted() {
    let batch = Batch::new(&[vec![0, 5, 0, 6], vec![5, 6]], 0).unwrap();
    let rows = |padding: Option<usize>| {
        let positions = Positions::Learned { offset: 1, padding };
        (0..8).map(|i| positions.row(&batch, i / 4, i % 4)).collect::<Vec<_>>()
    };
    assert_eq!(rows(Some(0)), [0, 1, 0, 2, 1, 2, 0, 0]);
    assert_eq!(rows(None), [1, 2, 3, 4, 1, 2, 3, 4]);
}

/// Writes a T5 folder with one block in each stack, without word embeddings.
fn t5(tables: &[(&str, f32)], settings: Value) -> tempfile::TempDir {
    let (v, d) = (11, 4);
    let matrix = |rows: usize, width: usize, shift: f32| {
        Array::new([rows, width], (0..rows * width).map(|i| ((i as f32) * 0.7 + shift).sin()).collect::<Vec<_>>())
    };
    let mut tensors: Vec<(String, Array)> = Vec::new();
    for (stack, parts) in [("encoder", &["SelfAttention"][..]), ("decoder", &["SelfAttention", "EncDecAttention"])] {
        for (i, part) in parts.iter().enumerate() {
            let at = format!("{stack}.block.0.layer.{i}");
            for (k, name) in ["q", "k", "v", "o"].iter().enumerate() {
                tensors.push((format!("{at}.{part}.{name}.weight"), matrix(d, d, (i + k) as f32)));
            }
            tensors.push((format!("{at}.layer_norm.weight"), Array::new([d], vec![1.0; d])));
        }
        let bias = format!("{stack}.block.0.layer.0.SelfAttention.relative_attention_bias.weight");
        tensors.push((bias, matrix(8, 2, 0.1)));
        let at = format!("{stack}.block.0.layer.{}", parts.len());
        tensors.push((format!("{at}.DenseReluDense.wi.weight"), matrix(6, d, 2.0)));
        tensors.push((format!("{at}.DenseReluDense.wo.weight"), matrix(d, 6, 3.0)));
        tensors.push((format!("{at}.layer_norm.weight"), Array::new([d], vec![1.0; d])));
        tensors.push((format!("{stack}.final_layer_norm.weight"), Array::new([d], vec![1.0; d])));
    }
    tensors.extend(tables.iter().map(|(name, shift)| (format!("{name}.weight"), matrix(v, d, *shift))));
    let dir = tempfile::tempdir().unwrap();
    weights::write_f16(&dir.path().join("model.safetensors"), &tensors).unwrap();
    let mut config = json!({"model_type": "t5", "vocab_size": v, "d_model": d, "d_kv": 2, "d_ff": 6, "num_layers": 1,
        "num_heads": 2, "relative_attention_num_buckets": 8, "relative_attention_max_distance": 20});
    config.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
    std::fs::write(dir.path().join("config.json"), config.to_string()).unwrap();
    dir
}

/// Regression: `scale_decoder_outputs` and tables stored for one stack used to be ignored, and a tied file with a separate output matrix
/// used to be rejected.
#[test]
fn t5_uses_the_tables_and_the_scale_of_its_files() {
    let near = |a: &[f32], b: &[f32], by: f32| a.iter().zip(b).all(|(a, b)| (a - b * by).abs() < 1e-5);
    let plain = logits(t5(&[("shared", 0.0)], json!({})).path());
    let unscaled = json!({"scale_decoder_outputs": false});
    assert!(
        near(&logits(t5(&[("shared", 0.0)], unscaled.clone()).path()), &plain, 2.0),
        "the factor is the square root of the width"
    );
    let older = json!({"tie_word_embeddings": false});
    assert!(near(&logits(t5(&[("shared", 0.0), ("lm_head", 0.0)], older).path()), &plain, 2.0), "transformers 4");
    let encoder = [("shared", 0.0), ("encoder.embed_tokens", 1.0)];
    let swapped = [("shared", 1.0), ("decoder.embed_tokens", 0.0), ("lm_head", 0.0)];
    let (own, other) = (logits(t5(&encoder, json!({})).path()), logits(t5(&swapped, json!({})).path()));
    assert!(near(&own, &other, 1.0) && !near(&own, &plain, 1.0));
    let separate = t5(&[("shared", 0.0), ("lm_head", 1.0)], json!({}));
    assert!(!near(&logits(separate.path()), &plain, 1.0));
    assert!(remarks(separate.path()).contains("the weights contain a different matrix, which is used"));
}

/// Regression: if the tables of a Mamba or BART model differed, one of them used to be chosen silently.
#[test]
fn differing_tied_tables_are_rejected() {
    let table = |first: f32| Array::new([23, 8], std::iter::once(first).chain(vec![0.5; 183]).collect::<Vec<_>>());
    let dir = tempfile::tempdir().unwrap();
    let tensors = [("backbone.embeddings.weight".to_owned(), table(1.0)), ("lm_head.weight".to_owned(), table(2.0))];
    weights::write_f16(&dir.path().join("model.safetensors"), &tensors).unwrap();
    let config = json!({"model_type": "mamba", "hidden_size": 8, "vocab_size": 23, "num_hidden_layers": 1});
    std::fs::write(dir.path().join("config.json"), config.to_string()).unwrap();
    assert!(refusal(dir.path()).contains("'lm_head.weight' differs from the embeddings"));
    let bart = Arch::bart(families::Size { vocab: 23, hidden: 8, layers: 1, heads: 2, max_positions: 10 });
    for side in ["encoder", "decoder"] {
        let dir = folder(&bart);
        let want = logits(dir.path());
        let name = format!("model.{side}.embed_tokens.weight");
        edit_tensors(dir.path(), |tensors| {
            let shared = tensors.iter().find(|t| t.0 == "model.shared.weight").unwrap().1.clone();
            tensors.push((name.clone(), shared));
        });
        assert_eq!(logits(dir.path()), want, "equal tables count as one");
        edit_tensors(dir.path(), |tensors| tensors.iter_mut().find(|t| t.0 == name).unwrap().1.data[3] += 1.0);
        let why = refusal(dir.path());
        assert!(why.contains(&name) && why.contains("share one table of word embeddings"), "{why}");
    }
}

/// Regression: GPT-NeoX models saved by transformers 5 used to be rejected with "no tensor 'embed_out.weight'".
#[test]
fn gpt_neox_output_is_found_under_both_names() {
    let names = families::FAMILIES.iter().find(|f| f.model_types.contains(&"gpt_neox")).unwrap();
    let names = names.locate("head.decoder.weight").names;
    assert!(
        names.contains(&"embed_out.weight".to_owned()) && names.contains(&"lm_head.weight".to_owned()),
        "{names:?}"
    );
}

/// Regression: models whose tensor names have a wrapper's prefix used to be rejected with "no tensor".
#[test]
fn wrapper_prefixes_are_removed_with_a_notice() {
    let gpt2 = Arch::gpt2(families::Size { vocab: 23, hidden: 8, layers: 1, heads: 2, max_positions: 10 });
    let bart = Arch::bart(families::Size { vocab: 23, hidden: 8, layers: 1, heads: 2, max_positions: 10 });
    for (arch, prefix) in [(bert(), "module."), (gpt2, "_orig_mod.module."), (bert(), "model."), (bart, "module.")] {
        let dir = folder(&arch);
        let want = logits(dir.path());
        assert!(!remarks(dir.path()).contains("tensor names"), "{}: the model's own prefix is kept", arch.family);
        edit_tensors(dir.path(), |t| t.iter_mut().for_each(|(name, _)| *name = format!("{prefix}{name}")));
        assert_eq!(logits(dir.path()), want, "{prefix}");
        assert!(remarks(dir.path()).contains(&format!("all tensor names begin with '{prefix}'")));
    }
    let dir = folder(&bert());
    edit_tensors(dir.path(), |t| t[0].0 = format!("module.{}", t[0].0));
    assert!(refusal(dir.path()).contains("no tensor"), "a prefix of a single name is not removed");
}

/// Regression: weights in double precision used to be rejected, although this program itself writes them when it converts such a file.
#[test]
fn double_precision_is_rounded_with_a_notice() {
    let numbers = [0.1f64, -2.5, 1e-3];
    let data: Vec<u8> = numbers.iter().flat_map(|v| v.to_le_bytes()).collect();
    let header = json!({"a": {"dtype": "F64", "shape": [3], "data_offsets": [0, 24]}}).to_string();
    let bytes = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &data].concat();
    let c = weights::Checkpoint::from_bytes("w", bytes).unwrap();
    assert_eq!(c.read("a").unwrap().unwrap().data, [0.1f32, -2.5, 1e-3]);
    assert!(c.remarks(None)[0].0.contains("F64"));
}

/// Regression: a web page in place of the weights used to be reported as "claimed a header of 5789751444030890300 bytes".
#[test]
fn foreign_file_instead_of_weights_is_identified() {
    for (bytes, said) in [
        (&b"<!DOCTYPE html><html>"[..], "a web page"),
        (b"\n <HTML>", "a web page"),
        (b"# xet version 0\nfilesize = 3", "Git Xet"),
        (b"/annex/objects/SHA256E-s3--abc", "git annex get"),
        (b"PK\x03\x04\0\0\0\0\0\0", "a ZIP archive"),
        (b"\x80\x02}q\0X\0\0", "probity models convert"),
        (b"GGUF\x03\0\0\0\0\0", "GGUF"),
    ] {
        let dir = folder(&bert());
        std::fs::write(dir.path().join("model.safetensors"), bytes).unwrap();
        let why = refusal(dir.path());
        assert!(why.contains("model.safetensors: ") && why.contains(said), "{why}");
    }
}

/// Regression: the error for every such folder used to be just "no model.safetensors" or "no config.json".
#[test]
fn folder_without_weights_error_lists_its_contents() {
    for (file, said) in [
        ("tf_model.h5", "from_tf"),
        ("flax_model.msgpack", "from_flax"),
        ("model.gguf", "GGUF"),
        ("onnx/model.onnx", "ONNX"),
        ("model.fp16.safetensors", "give the path of that file"),
        ("adapter_model.safetensors", "give the path of that file"),
        ("model.pt", "probity models convert"),
    ] {
        let dir = folder(&bert());
        std::fs::remove_file(dir.path().join("model.safetensors")).unwrap();
        let path = dir.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "x").unwrap();
        let why = refusal(dir.path());
        assert!(why.contains("no model.safetensors") && why.contains(said), "{why}");
    }
    let dir = tempfile::tempdir().unwrap();
    for (below, said) in [
        ("models--x--y/snapshots/abc", "models--x--y/snapshots/abc"),
        ("checkpoint-90", "checkpoint-90"),
        ("checkpoint-500", "checkpoint-500"),
    ] {
        std::fs::create_dir_all(dir.path().join(below)).unwrap();
        std::fs::write(dir.path().join(below).join("config.json"), "{}").unwrap();
        let why = refusal(dir.path());
        assert!(why.contains("no config.json") && why.contains(said), "{why}");
    }
}

/// Regression: parts of a folder that this program does not apply used to be ignored silently.
#[test]
fn ignored_parts_of_a_folder_are_reported() {
    let dir = folder(&bert());
    assert_eq!(remarks(dir.path()), "");
    edit_config(dir.path(), |c| c["quantization_config"] = json!({"quant_method": "bitsandbytes"}));
    std::fs::write(dir.path().join("adapter_config.json"), "{}").unwrap();
    let said = remarks(dir.path());
    assert!(said.contains("quantization_config") && said.contains("PEFT adapter"), "{said}");
    std::fs::remove_file(dir.path().join("vocab.txt")).unwrap();
    std::fs::write(dir.path().join("spiece.model"), "x").unwrap();
    let why = load(dir.path()).unwrap().tokenizer().err().unwrap().to_string();
    assert!(why.contains("spiece.model is a SentencePiece model"), "{why}");
}

/// Regression: a mask token without an embedding used to be accepted for prompts.
#[test]
fn mask_token_without_embedding_is_not_used() {
    let dir = folder(&bert());
    std::fs::write(dir.path().join("added_tokens.json"), json!({"[M]": 10}).to_string()).unwrap();
    std::fs::write(dir.path().join("special_tokens_map.json"), json!({"mask_token": "[M]"}).to_string()).unwrap();
    assert_eq!(load(dir.path()).unwrap().tokenizer().unwrap().special().mask, Some(10));
    let small = Arch::bert(families::Size { vocab: 10, hidden: 8, layers: 2, heads: 2, max_positions: 10 });
    let other = folder(&small);
    for file in ["added_tokens.json", "special_tokens_map.json"] {
        std::fs::copy(dir.path().join(file), other.path().join(file)).unwrap();
    }
    assert_eq!(load(other.path()).unwrap().tokenizer().unwrap().special().mask, None);
    assert!(remarks(other.path()).contains("the mask token has the id 10, but the model has only 10 embeddings"));
}
