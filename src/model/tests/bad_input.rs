//! Damaged, malicious and unusual folders: each is rejected with the file and the remedy, or loads as the same model.

use super::*;

const IDS: [[u32; 3]; 1] = [[2, 5, 3]];

/// Returns the logits and last hidden states for fixed ids.
fn answer(m: &Model) -> Trace {
    let ids = Batch::new(&IDS, 0).unwrap();
    let plan = Plan::default().capture(HookPoint::ResidPost(1)).logits_at(Sites::All);
    m.forward(&ids, &plan).unwrap()
}

/// Changes the header and data of the weights.
fn edit_header(dir: &Path, edit: impl FnOnce(&mut Value, &mut Vec<u8>)) {
    let path = dir.join("model.safetensors");
    let bytes = std::fs::read(&path).unwrap();
    let n = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let mut header: Value = serde_json::from_slice(&bytes[8..8 + n]).unwrap();
    let mut data = bytes[8 + n..].to_vec();
    edit(&mut header, &mut data);
    let text = header.to_string();
    std::fs::write(&path, [&(text.len() as u64).to_le_bytes()[..], text.as_bytes(), &data].concat()).unwrap();
}

#[test]
fn oversized_header_is_rejected_unread() {
    let dir = folder(&bert());
    let path = dir.path().join("model.safetensors");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[..8].copy_from_slice(&10_000_000_000_000_000_000u64.to_le_bytes());
    std::fs::write(&path, bytes).unwrap();
    let why = refusal(dir.path());
    assert!(why.contains("model.safetensors: states a header length of 10000000000000000000 bytes"), "{why}");
}

#[test]
fn overlapping_tensors_are_rejected() {
    let dir = folder(&bert());
    edit_header(dir.path(), |header, _| {
        let first = header["bert.embeddings.LayerNorm.bias"]["data_offsets"].clone();
        header["bert.embeddings.LayerNorm.weight"]["data_offsets"] = first;
    });
    let why = refusal(dir.path());
    assert!(why.contains("model.safetensors") && why.contains("overlaps"), "{why}");
}

#[test]
fn integer_tensors_are_rejected() {
    let dir = folder(&bert());
    edit_header(dir.path(), |header, _| header["bert.embeddings.LayerNorm.weight"]["dtype"] = json!("I16"));
    let why = refusal(dir.path());
    let said = "tensor 'bert.embeddings.LayerNorm.weight' has element type I16; supported: F32, F16, BF16";
    assert!(why.contains("model.safetensors") && why.contains(said), "{why}");
}

#[test]
fn tensor_with_nan_is_named_in_the_error() {
    for bits in [0x7e00u16, 0x7c00] {
        let dir = folder(&bert());
        edit_header(dir.path(), |header, data| {
            let at = header["bert.encoder.layer.1.output.dense.bias"]["data_offsets"][0].as_u64().unwrap();
            data[at as usize..at as usize + 2].copy_from_slice(&bits.to_le_bytes());
        });
        let why = refusal(dir.path());
        assert!(why.contains("model.safetensors") && why.contains("layer.1.output.dense.bias' contains"), "{why}");
        assert!(why.contains("damaged or its training diverged"), "{why}");
    }
}

#[test]
fn unknown_architecture_error_lists_known_ones() {
    let dir = folder(&bert());
    edit_config(dir.path(), |c| c["model_type"] = json!("rwkv"));
    let why = refusal(dir.path());
    for family in families::FAMILIES.iter().flat_map(|f| f.model_types) {
        assert!(why.contains(family), "{family} in {why}");
    }
}

#[test]
fn index_naming_missing_shards_is_rejected() {
    let dir = folder(&bert());
    let path = dir.path().join("model.safetensors");
    let c = weights::Checkpoint::open(&[&path]).unwrap();
    let all: Vec<(String, Array)> = c.names().map(|n| (n.to_owned(), c.read(n).unwrap().unwrap())).collect();
    drop(c);
    let lost = "bert.embeddings.word_embeddings.weight";
    let kept: Vec<_> = all.iter().filter(|t| t.0 != lost).cloned().collect();
    weights::write_f16(&dir.path().join("part.safetensors"), &kept).unwrap();
    std::fs::remove_file(path).unwrap();
    let map: serde_json::Map<String, Value> = all.iter().map(|t| (t.0.clone(), json!("part.safetensors"))).collect();
    let index = dir.path().join(source::INDEX);
    std::fs::write(&index, json!({"weight_map": map}).to_string()).unwrap();
    let why = refusal(dir.path());
    assert!(why.contains(source::INDEX) && why.contains(&format!("no tensor '{lost}'")), "{why}");
    for bad in ["../part.safetensors", "/etc/part.safetensors", "a/../part.safetensors", "..\\part.safetensors"] {
        std::fs::write(&index, json!({"weight_map": {"a": bad}}).to_string()).unwrap();
        let why = refusal(dir.path());
        assert!(why.contains(source::INDEX) && why.contains("shards must be in the folder of their index"), "{why}");
    }
    std::fs::write(&index, json!({"weight_map": {"a": "gone.safetensors"}}).to_string()).unwrap();
    let why = refusal(dir.path());
    assert!(why.contains("no gone.safetensors; model.safetensors.index.json lists it; download it"), "{why}");
}

#[cfg(unix)]
#[test]
fn broken_links_are_distinguished_from_missing_files() {
    use std::os::unix::fs::symlink;
    for file in ["config.json", "vocab.txt", "model.safetensors"] {
        let dir = folder(&bert());
        let path = dir.path().join(file);
        std::fs::remove_file(&path).unwrap();
        symlink(&path, &path).unwrap();
        let why = refusal(dir.path());
        assert!(why.contains(file) && !why.contains(": no "), "{why}");
        std::fs::remove_file(&path).unwrap();
        symlink("../blobs/gone", &path).unwrap();
        let why = refusal(dir.path());
        assert!(why.contains(file) && why.contains("a link to a missing file; fetch the model again"), "{why}");
    }
    let dir = tempfile::tempdir().unwrap();
    let round = dir.path().join("round");
    symlink(&round, &round).unwrap();
    assert!(refusal(&round).contains("round"));
}

#[cfg(unix)]
#[test]
fn pipe_instead_of_file_does_not_hang() {
    for file in ["config.json", "model.safetensors", "vocab.txt", "tokenizer.json", "1_Pooling", source::INDEX] {
        let dir = folder(&bert());
        let path = dir.path().join(file);
        let _ = std::fs::remove_file(&path);
        if file == source::INDEX {
            std::fs::remove_file(dir.path().join("model.safetensors")).unwrap();
        }
        let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        match load(dir.path()) {
            Ok(_) => assert_eq!(file, "1_Pooling", "a pipe is not read"),
            Err(e) => {
                assert!(e.to_string().contains(file) && e.to_string().contains("regular file"), "{e}")
            }
        }
    }
}

#[test]
fn folder_instead_of_file_is_reported() {
    let dir = folder(&bert());
    std::fs::remove_file(dir.path().join("model.safetensors")).unwrap();
    std::fs::create_dir(dir.path().join("model.safetensors")).unwrap();
    assert!(refusal(dir.path()).contains("not a regular file"));
}

#[test]
fn non_utf8_texts_are_rejected() {
    for file in ["config.json", "vocab.txt", "tokenizer_config.json"] {
        let dir = folder(&bert());
        std::fs::write(dir.path().join(file), b"{\"a\": \"\xff\xfe\"}").unwrap();
        let why = refusal(dir.path());
        assert!(why.contains(file) && why.contains("UTF-8"), "{why}");
    }
}

#[test]
fn huge_or_deeply_nested_configuration_is_rejected() {
    let dir = folder(&bert());
    let path = dir.path().join("config.json");
    std::fs::File::create(&path).unwrap().set_len(17 << 20).unwrap();
    let why = refusal(dir.path());
    assert!(why.contains("larger than the limit of 16.0 MB"), "{why}");
    std::fs::write(&path, "[".repeat(1 << 20)).unwrap();
    assert!(refusal(dir.path()).contains("config.json: not valid JSON"));
}

#[test]
fn tokenizer_padding_and_truncation_are_ignored() {
    let dir = folder(&bert());
    let text = "the keys are the keys .";
    let ask = |m: &Model| {
        let b = m.batch(&[text]).unwrap();
        let trace = m.forward(&b, &Plan::default().capture(HookPoint::ResidPost(1))).unwrap();
        (b.ids().to_vec(), trace)
    };
    let want = ask(&load(dir.path()).unwrap());
    let vocabulary = std::fs::read_to_string(dir.path().join("vocab.txt")).unwrap();
    let t = Tokenizer::from_vocab_txt("vocab.txt", &vocabulary, tokenizer::Extras::default()).unwrap();
    let mut file: Value = serde_json::from_str(&t.to_json().unwrap()).unwrap();
    file["truncation"] = json!({"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0});
    file["padding"] = json!({"strategy": {"Fixed": 10}, "direction": "Right", "pad_to_multiple_of": null,
        "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]"});
    std::fs::write(dir.path().join("tokenizer.json"), file.to_string()).unwrap();
    assert_eq!(ask(&load(dir.path()).unwrap()), want);
}

#[test]
fn prefixes_and_stored_tied_heads_are_equivalent() {
    let gpt2 = Arch::gpt2(families::Size { vocab: 23, hidden: 8, layers: 2, heads: 2, max_positions: 10 });
    let heads = [
        ("cls.predictions.decoder.weight", "bert.embeddings.word_embeddings.weight"),
        ("lm_head.weight", "transformer.wte.weight"),
    ];
    for (arch, (head, table)) in [bert(), gpt2].into_iter().zip(heads) {
        let dir = folder(&arch);
        let want = answer(&load(dir.path()).unwrap());
        // Older files store the tied matrix twice.
        edit_tensors(dir.path(), |tensors| {
            let table = tensors.iter().find(|t| t.0 == table).unwrap().1.clone();
            tensors.push((head.to_owned(), table));
        });
        assert_eq!(answer(&load(dir.path()).unwrap()), want);
        edit_tensors(dir.path(), |tensors| {
            for (name, _) in tensors {
                for prefix in ["bert.", "transformer."] {
                    if let Some(short) = name.strip_prefix(prefix) {
                        *name = short.to_owned();
                    }
                }
            }
        });
        assert_eq!(answer(&load(dir.path()).unwrap()), want);
    }
}

#[test]
fn vocabulary_with_merges_loads() {
    let gpt2 = Arch::gpt2(families::Size { vocab: 23, hidden: 8, layers: 2, heads: 2, max_positions: 10 });
    let dir = folder(&gpt2);
    std::fs::remove_file(dir.path().join("vocab.txt")).unwrap();
    let vocab = r#"{"a": 0, "b": 1, "Ġ": 2, "ab": 3, "Ġab": 4, "<|endoftext|>": 5}"#;
    std::fs::write(dir.path().join("vocab.json"), vocab).unwrap();
    assert!(load(dir.path()).unwrap().tokenizer().is_err(), "an incomplete tokenizer is an error");
    std::fs::write(dir.path().join("merges.txt"), "#version: 0.2\na b\nĠ ab\n").unwrap();
    let m = load(dir.path()).unwrap();
    assert_eq!(m.batch(&["ab ab"]).unwrap().ids(), [3, 4]);
    let why = m.batch(&["ab", ""]).unwrap_err().to_string();
    assert_eq!(why, "sentence 1 has no tokens; give at least one");
    let why = m.batch(&["ab".repeat(11)]).map(|b| m.forward(&b, &Plan::default().logits_at(Sites::All)));
    let why = why.unwrap().unwrap_err().to_string();
    assert_eq!(why, "sentence 0 has 11 tokens; the model accepts at most 10; shorten it");
}

#[test]
fn unused_blocks_are_reported() {
    let dir = folder(&bert());
    let open = || Model::load(&ModelSource::Dir(dir.path().to_owned()), Device::Cpu).unwrap();
    assert_eq!(open().notices(), []);
    let path = dir.path().join("config.json");
    let mut config: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    config["num_hidden_layers"] = json!(1);
    std::fs::write(&path, config.to_string()).unwrap();
    let said = open().notices().remove(0).what;
    assert!(said.contains("16 stored tensors are not used") && said.contains("encoder.layer.1."), "{said}");
}
