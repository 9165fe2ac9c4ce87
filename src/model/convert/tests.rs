//! `torch.save` files created with Python's own pickle module (`fixtures/make.py`), and malicious ones.

use super::*;
use crate::{Array, Batch, Device, Model, ModelSource, Plan, Sites};

const ZIP: &[u8] = include_bytes!("fixtures/zip.pt");
const LEGACY: &[u8] = include_bytes!("fixtures/legacy.pt");
/// The older format's magic number and version, and an empty description of the system.
const FRONT: &[u8] = b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\x02M\xe9\x03.\x80\x02}.";

fn converted(bytes: &[u8]) -> Result<(Converted, Checkpoint)> {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("w.pt"), bytes).unwrap();
    let to = dir.path().join("new");
    let done = convert(&dir.path().join("w.pt"), &to);
    let left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left.len(), if done.is_ok() { 2 } else { 1 }, "no unfinished files remain: {left:?}");
    Ok((done?, Checkpoint::open(&[to.join("model.safetensors")])?))
}

fn refusal(bytes: &[u8]) -> String {
    converted(bytes).err().expect("was accepted").to_string()
}

#[test]
fn tensors_are_converted_unchanged() {
    for file in [ZIP, LEGACY] {
        let (done, weights) = converted(file).unwrap();
        let is = |name: &str, shape: &[usize], values: &[f64]| {
            let (found, numbers) = weights.numbers(name).unwrap().unwrap();
            assert_eq!((&found[..], &numbers[..]), (shape, values), "{name}");
        };
        is("embed.weight", &[2, 3], &[0.5, 1.5, 2.5, 3.5, 4.5, 5.5]);
        is("transposed", &[3, 2], &[0.5, 3.5, 1.5, 4.5, 2.5, 5.5]);
        is("row", &[3], &[3.5, 4.5, 5.5]);
        is("f16", &[2], &[0.25, -2.0]);
        is("bf16", &[2], &[1.5, -3.0]);
        is("f64", &[1], &[0.1]);
        is("i64", &[2], &[-5.0, (1u64 << 40) as f64]);
        is("bool", &[3], &[1.0, 0.0, 1.0]);
        is("empty", &[0], &[]);
        assert_eq!(done.shared, BTreeMap::from([("decoder.weight".into(), "embed.weight".into())]));
        assert_eq!((done.tensors, done.bytes, done.fairseq), (9, 24 + 24 + 12 + 4 + 4 + 8 + 16 + 3, false));
        assert!(weights.names().all(|n| n != "decoder.weight") && weights.contains("decoder.weight"), "an alias");
    }
}

#[test]
fn small_files_are_copied_and_nothing_is_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let from = dir.path().join("from");
    std::fs::create_dir(&from).unwrap();
    let pickled = [("pytorch_model.bin", ZIP), ("config.json", b"{}"), ("vocab.txt", b"a"), ("x.index.json", b"{}")];
    for (name, bytes) in pickled.into_iter().chain([("training_args.bin", LEGACY)]) {
        std::fs::write(from.join(name), bytes).unwrap();
    }
    let to = dir.path().join("to");
    assert_eq!(convert(&from, &to).unwrap().copied, ["config.json", "vocab.txt"]);
    let before = std::fs::read(to.join("model.safetensors")).unwrap();
    assert!(convert(&from, &to).unwrap_err().to_string().contains("already exists"));
    assert_eq!(std::fs::read(to.join("model.safetensors")).unwrap(), before);
    std::fs::rename(from.join("pytorch_model.bin"), from.join("other.pt")).unwrap();
    let said = convert(&from, &dir.path().join("again")).unwrap_err().to_string();
    assert!(said.contains("2 files may be the weights"), "{said}");
    let index = r#"{"weight_map": {"a": "other.pt"}}"#.replace("other.pt", "part-1.bin");
    std::fs::write(from.join("pytorch_model.bin.index.json"), index).unwrap();
    std::fs::rename(from.join("other.pt"), from.join("part-1.bin")).unwrap();
    assert_eq!(convert(&from, &dir.path().join("shards")).unwrap().tensors, 9);
}

/// Python 2 writes strings with a short length, and a dict as a list of pairs.
#[test]
fn python_2_files_are_parsed() {
    let matrix = tensor("0", 6, &[2, 3], &[3, 1]);
    let object = [b"ccollections\nOrderedDict\n(](](U\x01w", &matrix[..], b"eetR"].concat();
    let (done, weights) = converted(&legacy(&object, &[("0", &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])])).unwrap();
    assert_eq!((done.tensors, weights.read("w").unwrap().unwrap().shape.as_slice()), (1, &[2, 3][..]));
}

fn text(text: &str) -> Vec<u8> {
    [b"X", &(text.len() as u32).to_le_bytes()[..], text.as_bytes()].concat()
}

fn ints(values: &[usize]) -> Vec<u8> {
    values.iter().flat_map(|&v| [b"J", &(v as i32).to_le_bytes()[..]].concat()).collect()
}

/// Opcodes of an f32 tensor over a storage of `len` elements.
fn tensor(key: &str, len: usize, shape: &[usize], stride: &[usize]) -> Vec<u8> {
    [
        b"ctorch._utils\n_rebuild_tensor_v2\n((",
        &text("storage")[..],
        b"ctorch\nFloatStorage\n",
        &text(key),
        &text("cpu"),
        &ints(&[len]),
        b"tQK\0(",
        &ints(shape),
        b"t(",
        &ints(stride),
        b"t\x89ccollections\nOrderedDict\n)RtR",
    ]
    .concat()
}

/// A file in the older format with this object and these storages.
fn legacy(object: &[u8], storages: &[(&str, &[f32])]) -> Vec<u8> {
    let keys: Vec<u8> = storages.iter().flat_map(|(key, _)| text(key)).collect();
    let mut file = [FRONT, b"\x80\x02", object, b".\x80\x02](", &keys, b"e."].concat();
    for (_, values) in storages {
        file.extend((values.len() as u64).to_le_bytes());
        file.extend(values.iter().flat_map(|v| v.to_le_bytes()));
    }
    file
}

/// Weights of a RoBERTa folder as fairseq saves them: different names, joint projections, no token types.
fn fairseq_roberta_weights(dir: &Path) -> Vec<u8> {
    let weights = Checkpoint::open(&[dir.join("model.safetensors")]).unwrap();
    let read = |name: &str| weights.read(name).unwrap().unwrap();
    let mut tensors: Vec<(String, Array)> = Vec::new();
    for name in weights.names().filter(|n| !n.contains("token_type")) {
        let theirs = name
            .replace("roberta.embeddings.word_embeddings", "decoder.sentence_encoder.embed_tokens")
            .replace("roberta.embeddings.position_embeddings", "decoder.sentence_encoder.embed_positions")
            .replace("roberta.embeddings.LayerNorm", "decoder.sentence_encoder.emb_layer_norm")
            .replace("roberta.encoder.layer.", "decoder.sentence_encoder.layers.")
            .replace("attention.output.dense", "self_attn.out_proj")
            .replace("attention.output.LayerNorm", "self_attn_layer_norm")
            .replace("intermediate.dense", "fc1")
            .replace("output.dense", "fc2")
            .replace("output.LayerNorm", "final_layer_norm")
            .replace("lm_head.", "decoder.lm_head.");
        match theirs.split_once("attention.self.query.") {
            Some((block, kind)) => {
                let parts = ["query", "key", "value"].map(|p| read(&name.replace("query", p)));
                let mut shape = parts[0].shape.clone();
                shape[0] *= 3;
                let data = parts.iter().flat_map(|p| p.data.clone()).collect();
                tensors.push((format!("{block}self_attn.in_proj_{kind}"), Array::new(shape, data)));
            }
            None if theirs.contains("attention.self.") => {}
            None => tensors.push((theirs, read(name))),
        }
    }
    let mut object = [b"}", &text("model")[..], b"}("].concat();
    for (name, array) in &tensors {
        let stride: Vec<usize> = (0..array.shape.len()).map(|d| array.shape[d + 1..].iter().product()).collect();
        object.extend([text(name), tensor(name, array.data.len(), &array.shape, &stride)].concat());
    }
    // The head's matrix is the embedding table, as in the published files.
    let tokens = &tensors.iter().find(|(n, _)| n.ends_with("embed_tokens.weight")).unwrap();
    let (key, array) = (&tokens.0, &tokens.1);
    let tied = tensor(key, array.data.len(), &array.shape, &[array.shape[1], 1]);
    object.extend([text("decoder.lm_head.weight"), tied].concat());
    object.extend([b"us", &text("args")[..], b"cargparse\nNamespace\n)\x81}", &text("seed"), b"K\x01sbs"].concat());
    let storages: Vec<(&str, &[f32])> = tensors.iter().map(|(n, a)| (n.as_str(), &a.data[..])).collect();
    legacy(&object, &storages)
}

#[test]
fn converted_fairseq_roberta_has_equal_logits() {
    let size = crate::families::Size { vocab: 23, hidden: 8, layers: 2, heads: 2, max_positions: 10 };
    let original = crate::tests::folder(&crate::Arch::roberta(size));
    // fairseq has no token types; transformers sets them to zero.
    let path = original.path().join("model.safetensors");
    let weights = Checkpoint::open(&[&path]).unwrap();
    let mut tensors: Vec<_> = weights.names().map(|n| (n.to_owned(), weights.read(n).unwrap().unwrap())).collect();
    for (k, (name, array)) in tensors.iter_mut().enumerate() {
        // Freshly initialised norms and biases are all equal, so they are varied.
        let varied = |(i, v): (usize, &mut f32)| *v += 0.02 * ((7 * k + 5 * i) % 11) as f32;
        match name.contains("token_type") {
            true => array.data.fill(0.0),
            false => array.data.iter_mut().enumerate().for_each(varied),
        }
    }
    weights::write_f16(&path, &tensors).unwrap();
    let from = tempfile::tempdir().unwrap();
    std::fs::copy(original.path().join("config.json"), from.path().join("config.json")).unwrap();
    std::fs::write(from.path().join("model.pt"), fairseq_roberta_weights(original.path())).unwrap();
    let to = from.path().join("new");
    let done = convert(from.path(), &to).unwrap();
    assert!(done.fairseq && done.copied == ["config.json"]);
    let kept = "roberta.embeddings.word_embeddings.weight";
    assert_eq!(done.shared, BTreeMap::from([("lm_head.decoder.weight".into(), kept.into())]));
    let logits = |dir: &Path| {
        let model = Model::load(&ModelSource::Dir(dir.to_owned()), Device::Cpu).unwrap();
        let batch = Batch::new(&[[2u32, 5, 3, 7]], 1).unwrap();
        model.forward(&batch, &Plan::default().logits_at(Sites::All)).unwrap().logits.unwrap()
    };
    assert_eq!(logits(&to), logits(original.path()));
}

#[test]
fn unsupported_global_is_named_in_the_error() {
    for (module, name) in [
        ("os", "system"),
        ("builtins", "eval"),
        ("torch._utils", "_rebuild_device_tensor_from_numpy"),
        ("torch.storage", "_load_from_bytes"),
        ("pickle", "loads"),
        ("transformers.models.bert.modeling_bert", "BertModel"),
        ("collections", "OrderedDict.x"),
    ] {
        let call = [format!("c{module}\n{name}\n(").into_bytes(), text("touch /tmp/x"), b"tR".to_vec()].concat();
        let e = converted(&legacy(&call, &[])).err().unwrap();
        let ModelError::PickledCode { global, .. } = &e else { panic!("{e}") };
        assert_eq!(*global, format!("{module}.{name}"));
    }
    let said = refusal(&legacy(b"cos\x1b[2J\nsystem\n)R", &[]));
    assert!(said.contains("[2J.system") && !said.contains('\u{1b}'), "{said}");
}

#[test]
fn malicious_and_damaged_files_are_rejected_with_a_reason() {
    let one = |object: Vec<u8>| legacy(&[b"}", &text("a")[..], &object, b"s"].concat(), &[("0", &[1.0, 2.0])]);
    let deep = [&b")"[..], &b"\x85".repeat(1 << 20)].concat();
    let doubling = [&b")q\0"[..], &b"h\0h\0\x86q\0".repeat(100)].concat();
    let mut many = b"}(".to_vec();
    for i in 0..1000 {
        // Views that overlap but differ.
        many.extend([text(&i.to_string()), tensor("0", 2000, &[1000 + i], &[1])].concat());
    }
    many.push(b'u');
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (vec![], "neither of the formats"),
        (b"PK\x03\x04rubbish".to_vec(), "a damaged zip archive"),
        (b"version https://git-lfs.github.com/spec/v1\nsize 9\n".to_vec(), "Git LFS pointer"),
        (legacy(&deep, &[]), "no dictionary of tensors"),
        (legacy(&doubling, &[]), "no dictionary of tensors"),
        (legacy(&b"(".repeat(1000), &[]), "from an empty stack"),
        (legacy(b"(X\xff\xff\xff\xff", &[]), "truncated"),
        (legacy(b"h\x07", &[]), "missing object"),
        (legacy(b"\x80\x04\x95", &[]), "protocol 4"),
        (legacy(b"(ios\nsystem\n", &[]), "opcode 0x69"),
        (legacy(&vec![b'N'; pickle::LARGEST + 1], &[]), "longer than"),
        (legacy(&[b"}", &text("a")[..], b"K\x03s"].concat(), &[]), "'a' in it is not a tensor"),
        (one(tensor("0", 2, &[3], &[1])), "exceeds its storage of 2 elements"),
        (one(tensor("0", 2, &[1 << 20, 1 << 20, 1 << 30], &[0, 0, 0])), "exceeds its storage of 2 elements"),
        (one(tensor("0", 2, &[usize::MAX], &[1])), "has size -1"),
        (one(tensor("0", 2, &[1, 2], &[1])), "exceeds its storage"),
        (one(tensor("0", 1 << 30, &[1 << 30], &[1])), "should have 1073741824 elements"),
        (one(tensor("0", 1, &[1], &[1])), "stated length"),
        (one(tensor("1", 2, &[2], &[1])), "storage '0' is unknown"),
        (legacy(&many, &[("0", &[0.0; 2000])]), "its tensors need"),
    ];
    for (file, said) in cases {
        let why = refusal(&file);
        assert!(why.contains(said), "{why:?} should say {said:?}");
    }
}

/// `torch.save` never compresses, so archives with compressed entries are rejected without unpacking.
#[test]
fn compressed_archives_are_rejected() {
    let mut file = ZIP.to_vec();
    for (magic, at) in [(b"PK\x03\x04", 8), (b"PK\x01\x02", 10)] {
        let starts: Vec<usize> = (0..file.len() - 4).filter(|&i| file[i..].starts_with(magic)).collect();
        starts.into_iter().for_each(|i| file[i + at] = 8);
    }
    assert!(refusal(&file).contains("compressed"), "{}", refusal(&file));
}

#[test]
fn truncated_and_altered_files_never_panic() {
    let read = |bytes: &[u8]| {
        TorchFile::parse("w.pt".into(), weights::Bytes::Held(bytes.to_vec().into())).and_then(|file| {
            let mut sink = |_: &[u8]| Ok(());
            let copied = file.tensors()?.iter().try_for_each(|(_, view)| file.copy(view, &mut sink));
            copied.map_err(ModelError::io(Path::new("w.pt")))
        })
    };
    for file in [ZIP, LEGACY] {
        for cut in 0..file.len() {
            assert!(read(&file[..cut]).is_err(), "cut at {cut}");
        }
        for at in 0..file.len() {
            let mut changed = file.to_vec();
            changed[at] ^= [0x01, 0x80, 0xff][at % 3];
            let _ = read(&changed);
        }
    }
}
