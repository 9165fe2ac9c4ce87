//! Tests with whole model folders: some load, others are rejected with a message.

mod bad_input;
mod layouts;

use std::path::Path;

use serde_json::{Value, json};

use super::exec::train::{AdamW, Trainer};
use super::*;

const WORDS: &str = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\nkey\n##s\nare\n.\n";

/// Writes a model folder with the trainer, and adds a vocabulary list.
pub(super) fn folder(arch: &Arch) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    Trainer::new(arch, 1, AdamW::default(), Device::Cpu).unwrap().export(dir.path()).unwrap();
    std::fs::write(dir.path().join("vocab.txt"), WORDS).unwrap();
    dir
}

pub(super) fn bert() -> Arch {
    let size = families::Size { vocab: 23, hidden: 8, layers: 2, heads: 2, max_positions: 10 };
    Arch::bert(size)
}

fn load(dir: &Path) -> Result<Model> {
    Model::load(&ModelSource::Dir(dir.to_owned()), Device::Cpu)
}

fn refusal(dir: &Path) -> String {
    load(dir).err().expect("was accepted").to_string()
}

fn edit_config(dir: &Path, edit: impl FnOnce(&mut Value)) {
    let path = dir.join("config.json");
    let mut config: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    edit(&mut config);
    std::fs::write(path, config.to_string()).unwrap();
}

fn edit_tensors(dir: &Path, edit: impl FnOnce(&mut Vec<(String, Array)>)) {
    let path = dir.join("model.safetensors");
    let c = weights::Checkpoint::open(&[&path]).unwrap();
    let mut tensors: Vec<(String, Array)> = c.names().map(|n| (n.to_owned(), c.read(n).unwrap().unwrap())).collect();
    drop(c);
    edit(&mut tensors);
    weights::write_f16(&path, &tensors).unwrap();
}

#[test]
fn exported_folder_loads_and_runs() {
    for arch in [bert(), Arch::gpt2(families::Size { vocab: 23, hidden: 8, layers: 2, heads: 2, max_positions: 10 })] {
        let dir = folder(&arch);
        let m = load(dir.path()).unwrap();
        assert_eq!(m.arch(), &arch, "the exported configuration is read back");
        let b = m.batch(&["the keys are", "the key"]).unwrap();
        let logits = m.forward(&b, &Plan::default().logits_at(Sites::All)).unwrap().logits.unwrap();
        assert_eq!(logits.shape, [2, b.len(), 23]);
        assert_eq!(m.hash().len(), 64);
        let again = load(dir.path()).unwrap();
        assert_eq!(m.hash(), again.hash());
        edit_tensors(dir.path(), |t| t[0].1.data[0] += 0.5);
        assert_ne!(m.hash(), load(dir.path()).unwrap().hash(), "different weights have a different hash");
    }
}

#[test]
fn old_names_and_missing_prefixes_are_accepted() {
    let dir = folder(&bert());
    let ask = |m: &Model| {
        let b = m.batch(&["the keys are"]).unwrap();
        m.forward(&b, &Plan::default().logits_at(Sites::All)).unwrap().logits.unwrap()
    };
    let want = ask(&load(dir.path()).unwrap());
    edit_tensors(dir.path(), |tensors| {
        for (name, _) in tensors.iter_mut() {
            *name = name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta");
            if let Some(short) = name.strip_prefix("bert.") {
                *name = short.to_owned();
            }
        }
        tensors.push(("embeddings.position_ids".into(), Array::zeros([1, 10])));
    });
    assert_eq!(ask(&load(dir.path()).unwrap()), want);
}

/// Regression: CamemBERT, which has RoBERTa's architecture, used to be rejected.
#[test]
fn camembert_loads_as_roberta() {
    let dir = folder(&Arch::roberta(families::Size { vocab: 23, hidden: 8, layers: 2, heads: 2, max_positions: 10 }));
    let ids = Batch::new(&[[2u32, 5, 3]], 1).unwrap();
    let plan = Plan::default().logits_at(Sites::All);
    let want = load(dir.path()).unwrap().forward(&ids, &plan).unwrap();
    edit_config(dir.path(), |c| c["model_type"] = json!("camembert"));
    assert_eq!(load(dir.path()).unwrap().forward(&ids, &plan).unwrap(), want);
}

#[test]
fn sharded_folder_loads_as_the_same_model() {
    let dir = folder(&bert());
    let ids = Batch::new(&[[2u32, 5, 3]], 0).unwrap();
    let plan = Plan::default().logits_at(Sites::All);
    let want = load(dir.path()).unwrap().forward(&ids, &plan).unwrap();
    let path = dir.path().join("model.safetensors");
    let c = weights::Checkpoint::open(&[&path]).unwrap();
    let all: Vec<(String, Array)> = c.names().map(|n| (n.to_owned(), c.read(n).unwrap().unwrap())).collect();
    drop(c);
    let mut map = serde_json::Map::new();
    for (i, part) in all.chunks(all.len() / 2 + 1).enumerate() {
        let name = format!("model-{i}.safetensors");
        weights::write_f16(&dir.path().join(&name), part).unwrap();
        part.iter().for_each(|(n, _)| drop(map.insert(n.clone(), json!(name))));
    }
    std::fs::remove_file(&path).unwrap();
    std::fs::write(dir.path().join(source::INDEX), json!({"weight_map": map}).to_string()).unwrap();
    assert_eq!(load(dir.path()).unwrap().forward(&ids, &plan).unwrap(), want);
    std::fs::remove_file(dir.path().join("model-1.safetensors")).unwrap();
    assert!(refusal(dir.path()).contains("no model-1.safetensors"));
    std::fs::write(dir.path().join(source::INDEX), json!({"weight_map": {"a": "../../x.safetensors"}}).to_string())
        .unwrap();
    assert!(refusal(dir.path()).contains("not a plain .safetensors file name"));
    // Without an index, the numbers in the file names show which shards exist.
    std::fs::remove_file(dir.path().join(source::INDEX)).unwrap();
    let shard = |i: usize| dir.path().join(format!("model-0000{i}-of-00002.safetensors"));
    let (first, second) = all.split_at(all.len() / 2);
    weights::write_f16(&shard(1), first).unwrap();
    assert!(refusal(dir.path()).contains("no model-00002-of-00002.safetensors"), "{}", refusal(dir.path()));
    weights::write_f16(&shard(2), second).unwrap();
    assert_eq!(load(dir.path()).unwrap().forward(&ids, &plan).unwrap(), want);
}

#[test]
fn missing_file_errors_have_a_remedy() {
    let dir = folder(&bert());
    std::fs::remove_file(dir.path().join("model.safetensors")).unwrap();
    assert!(refusal(dir.path()).contains("no model.safetensors"));
    std::fs::write(dir.path().join("pytorch_model.bin"), b"pickle").unwrap();
    let said = refusal(dir.path());
    assert!(said.contains("probity models convert") && !said.contains('\n'), "{said}");
    std::fs::remove_file(dir.path().join("config.json")).unwrap();
    assert!(refusal(dir.path()).contains("no config.json"));
    assert!(refusal(&dir.path().join("nowhere")).contains("no such folder"));
    let unknown = Model::load(&ModelSource::Builtin("no-such".into()), Device::Cpu).err().unwrap().to_string();
    assert!(unknown.contains("no model 'no-such'"), "{unknown}");
}

#[test]
fn invalid_configurations_are_rejected() {
    type Change = fn(&mut Value);
    let cases: [(Change, &str); 10] = [
        (|c| c["model_type"] = json!("rwkv"), "'rwkv' is not supported; supported: bert,"),
        (|c| c["model_type"] = json!(null), "is not supported"),
        (|c| c["num_attention_heads"] = json!(0), "is not divisible by 0 heads"),
        (|c| c["num_attention_heads"] = json!(3), "is not divisible by 3 heads"),
        (|c| c["vocab_size"] = json!(-5), "config.json"),
        (|c| c["hidden_size"] = json!(1u64 << 40), "does not"),
        (|c| c["num_hidden_layers"] = json!(1_000_000), "layers"),
        (|c| c["hidden_act"] = json!("\u{1b}[31mswoosh"), "swoosh' is not supported"),
        (|c| c["layer_norm_eps"] = json!(-1.0), "epsilon"),
        // Regression: only half of each Llama head used to be rotated, whereas transformers rotates whole heads regardless of the
        // configuration.
        (
            |c| {
                c["model_type"] = json!("llama");
                c["rope_parameters"] = json!({"rope_type": "default", "partial_rotary_factor": 0.5});
            },
            "rotates whole heads",
        ),
    ];
    for (change, said) in cases {
        let dir = folder(&bert());
        edit_config(dir.path(), change);
        let why = refusal(dir.path());
        assert!(!why.contains('\u{1b}'));
        let other = ["hidden size", "weights"].iter().any(|w| why.contains(w));
        assert!(why.contains(said) || (said == "does not" && other), "{why:?} should say {said:?}");
    }
    let dir = folder(&bert());
    for text in ["", "{", "[1]", "\"x\""] {
        std::fs::write(dir.path().join("config.json"), text).unwrap();
        assert!(refusal(dir.path()).contains("config.json"));
    }
}

#[test]
fn weights_inconsistent_with_configuration_are_rejected() {
    let dir = folder(&bert());
    edit_config(dir.path(), |c| c["intermediate_size"] = json!(16));
    let why = refusal(dir.path());
    assert!(why.contains("intermediate.dense.weight") && why.contains("[16, 8]"), "{why}");
    let dir = folder(&bert());
    edit_config(dir.path(), |c| c["num_hidden_layers"] = json!(3));
    let why = refusal(dir.path());
    assert!(why.contains("no tensor 'bert.encoder.layer.2.attention.output.LayerNorm.weight'"), "{why}");
    let dir = folder(&bert());
    let path = dir.path().join("model.safetensors");
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() - 100]).unwrap();
    assert!(refusal(dir.path()).contains("truncated"));
}

#[test]
fn headless_folder_supports_probes_but_not_prompts() {
    let dir = folder(&bert());
    edit_tensors(dir.path(), |t| t.retain(|(n, _)| !n.starts_with("cls.")));
    let m = load(dir.path()).unwrap();
    assert!(!m.has_head());
    let b = m.batch(&["the key"]).unwrap();
    let why = m.forward(&b, &Plan::default().logits_at(Sites::All)).unwrap_err().to_string();
    assert!(why.ends_with("no masked-LM head, which prompts need; probes of hidden states work without one"), "{why}");
    assert!(m.forward(&b, &Plan::default().capture(HookPoint::ResidPost(1))).is_ok());
    let dir = folder(&bert());
    edit_tensors(dir.path(), |t| t.retain(|(n, _)| n != "cls.predictions.transform.dense.weight"));
    assert!(
        refusal(dir.path()).contains("no tensor 'cls.predictions.transform.dense.weight'"),
        "an incomplete head is an error"
    );
}

#[test]
fn texts_with_ids_beyond_the_embeddings_are_rejected() {
    let small = Arch::bert(families::Size { vocab: 9, hidden: 8, layers: 1, heads: 2, max_positions: 10 });
    let dir = folder(&small);
    let m = load(dir.path()).unwrap();
    let tokenizer = m.tokenizer().unwrap();
    assert!(tokenizer.len() > 9 && !tokenizer.knows(&[9]));
    let ask = |id: u32| m.forward(&Batch::new(&[[2, id, 3]], 0).unwrap(), &Plan::default());
    assert!(ask(8).is_ok());
    let why = ask(9).unwrap_err().to_string();
    assert!(why.contains("token id 9") && why.contains("no embedding"), "{why}");
}

#[test]
fn empty_and_long_texts_are_rejected() {
    let dir = folder(&bert());
    let m = load(dir.path()).unwrap();
    let b = m.batch(&[""]).unwrap();
    assert_eq!(b.ids(), [2, 3], "special tokens remain");
    let b = m.batch(&["the ".repeat(40)]).unwrap();
    let refused = m.forward(&b, &Plan::default().logits_at(Sites::All));
    assert!(matches!(refused, Err(ModelError::TooLong { row: 0, len: 42, max: 10 })));
    std::fs::remove_file(dir.path().join("vocab.txt")).unwrap();
    let m = load(dir.path()).unwrap();
    assert!(matches!(m.batch(&["x"]), Err(ModelError::NoTokenizer { .. })), "ids can be used without a tokenizer");
    let none: [&str; 0] = [];
    assert!(load(folder(&bert()).path()).unwrap().batch(&none).is_err());
}

#[test]
fn oversized_text_file_is_rejected_unread() {
    let dir = folder(&bert());
    let sparse = std::fs::File::create(dir.path().join("config.json")).unwrap();
    sparse.set_len(1 << 40).unwrap();
    assert!(refusal(dir.path()).contains("larger than the"));
}

#[test]
fn addresses_are_classified() {
    let parse = |s: &str| s.parse::<ModelSource>();
    assert_eq!(parse("./x").unwrap(), ModelSource::Dir("./x".into()));
    assert_eq!(parse("/tmp").unwrap(), ModelSource::Dir("/tmp".into()));
    assert_eq!(parse("hub").unwrap(), ModelSource::Dir("hub".into()), "an existing folder takes precedence");
    let hub = |id: &str, revision: &str| ModelSource::Hub { id: id.into(), revision: revision.into() };
    assert_eq!(parse("google/bert_uncased_L-2").unwrap(), hub("google/bert_uncased_L-2", "main"));
    assert_eq!(parse("gpt2@v1.0").unwrap(), hub("gpt2", "v1.0"));
    assert_eq!(parse("hub:src").unwrap(), hub("src", "main"));
    assert_eq!(parse("builtin:x").unwrap(), ModelSource::Builtin("x".into()));
    assert_eq!(parse("gpt2@v1.0").unwrap().to_string(), "gpt2@v1.0");
    for bad in ["", "a/b/c", "a b", "x/..", "..x/y@../../z", "a@../b", "\u{1b}[2J", "-rf"] {
        let e = parse(bad);
        let safe = match &e {
            Ok(ModelSource::Dir(_)) => true,
            Ok(_) => false,
            Err(e) => !e.to_string().contains('\u{1b}'),
        };
        assert!(safe, "{bad:?} gave {e:?}");
    }
}
