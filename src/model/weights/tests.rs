//! Tests that malicious and damaged weight files are rejected with the reason, and that valid ones are read back exactly.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use half::bf16;

/// Builds a file with this header and this number of data bytes.
fn file(header: Value, data: usize) -> Vec<u8> {
    let text = header.to_string();
    let mut bytes = (text.len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(text.as_bytes());
    bytes.resize(bytes.len() + data, 0);
    bytes
}

fn tensor(dtype: &str, shape: &[u64], from: u64, to: u64) -> Value {
    json!({"dtype": dtype, "shape": shape, "data_offsets": [from, to]})
}

fn refusal(bytes: Vec<u8>) -> String {
    match Checkpoint::from_bytes("w.safetensors", bytes) {
        Ok(_) => panic!("was accepted"),
        Err(e) => e.to_string(),
    }
}

#[test]
fn false_header_claims_are_rejected_with_a_reason() {
    let sound = file(json!({"a": tensor("F32", &[2, 2], 0, 16)}), 16);
    assert!(Checkpoint::from_bytes("w", sound.clone()).is_ok());
    let huge = |n: u64| [&n.to_le_bytes()[..], &[b'{'; 64]].concat();
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (vec![], "too short"),
        (vec![1, 2, 3], "too short"),
        (sound[..sound.len() - 1].to_vec(), "truncated"),
        (sound[..20].to_vec(), "truncated"),
        (huge(10_000_000_000_000_000_000), "states a header length of 10000000000000000000 bytes"),
        (huge(u64::MAX), "states a header length"),
        (huge(99_000_000), "truncated"),
        ([sound.clone(), vec![0]].concat(), "follow the last tensor"),
        (file(json!([1]), 0), "not a JSON object"),
        (file(json!({"a": 3}), 0), "header entry 'a'"),
        (file(json!({"a": tensor("F32", &[2], 0, 8), "b": tensor("F32", &[2], 4, 12)}), 12), "overlaps"),
        (file(json!({"a": tensor("F32", &[2], 0, 8), "b": tensor("F32", &[2], 0, 8)}), 8), "overlaps"),
        (file(json!({"a": tensor("F32", &[2], 4, 12)}), 12), "gap"),
        (file(json!({"a": tensor("F32", &[2], 8, 0)}), 8), "is at bytes 8 to 0"),
        (file(json!({"a": tensor("F32", &[3], 0, 8)}), 8), "cannot have 8 bytes"),
        (file(json!({"a": tensor("F32", &[u64::MAX, 4], 0, 8)}), 8), "has the impossible shape"),
        (file(json!({"a": tensor("F32", &[1 << 62], 0, u64::MAX)}), 8), "is at bytes"),
        (file(json!({"a": tensor("Q4", &[2], 0, 8)}), 8), "header entry 'a'"),
        (file(json!({"a\u{1b}[2J": tensor("F32", &[3], 0, 8)}), 8), "cannot have"),
    ];
    for (bytes, said) in cases {
        let why = refusal(bytes);
        assert!(why.contains(said) && why.starts_with("w.safetensors: "), "{why:?} should say {said:?}");
        assert!(!why.contains('\u{1b}'), "escape codes must not reach the terminal");
    }
    let mut latin = sound;
    latin[10] = 0xff;
    assert!(refusal(latin).contains("UTF-8"));
}

#[test]
fn nan_values_are_rejected() {
    for bits in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let mut bytes = file(json!({"a": tensor("F32", &[2], 0, 8)}), 8);
        let n = bytes.len();
        bytes[n - 4..].copy_from_slice(&bits.to_le_bytes());
        let checkpoint = Checkpoint::from_bytes("w", bytes).unwrap();
        let why = checkpoint.read("a").unwrap().unwrap_err().to_string();
        assert!(why.contains("'a'") && why.contains("element 1"), "{why}");
    }
    let ints = Checkpoint::from_bytes("w", file(json!({"a": tensor("I64", &[1], 0, 8)}), 8)).unwrap();
    assert!(ints.read("a").unwrap().unwrap_err().to_string().contains("I64"));
    assert!(ints.read("b").is_none());
}

#[test]
fn f16_and_bf16_are_converted_to_f32() {
    let mut bytes = file(json!({"h": tensor("F16", &[2], 0, 4), "b": tensor("BF16", &[1, 2], 4, 8)}), 0);
    for h in [1.5f32, -0.0625] {
        bytes.extend_from_slice(&f16::from_f32(h).to_le_bytes());
    }
    for b in [3.0f32, -1e30] {
        bytes.extend_from_slice(&bf16::from_f32(b).to_le_bytes());
    }
    let c = Checkpoint::from_bytes("w", bytes).unwrap();
    assert_eq!(c.read("h").unwrap().unwrap(), Array::new([2], vec![1.5, -0.0625]));
    let b = c.read("b").unwrap().unwrap();
    assert_eq!((b.shape, b.data[0]), (vec![1, 2], 3.0));
    assert!((b.data[1] / -1e30 - 1.0).abs() < 0.01);
}

#[test]
fn written_files_round_trip_within_f16_range() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m.safetensors");
    let tensors = vec![("b".to_string(), Array::new([2, 1], vec![0.5, -2.0])), ("a".to_string(), Array::zeros([3]))];
    write_f16(&path, &tensors).unwrap();
    let c = Checkpoint::open(&[&path]).unwrap();
    for (name, array) in &tensors {
        assert_eq!(&c.read(name).unwrap().unwrap(), array);
    }
    let before = std::fs::read(&path).unwrap();
    let big = write_f16(&path, &[("x".to_string(), Array::new([1], vec![1e6]))]).unwrap_err();
    assert!(big.to_string().contains("f16"), "{big}");
    assert_eq!(std::fs::read(&path).unwrap(), before, "a failed write does not change the old file");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "and leaves no other file");
}

#[test]
fn shards_must_be_in_the_folder_of_their_index() {
    let index = |file: &str| json!({"weight_map": {"a": file, "b": "m-2.safetensors"}}).to_string();
    assert_eq!(shards("i", &index("m-1.safetensors"), ".safetensors").unwrap(), ["m-1.safetensors", "m-2.safetensors"]);
    for bad in ["../x.safetensors", "/etc/x.safetensors", "a/b.safetensors", "..", "x.bin", ".safetensors", ""] {
        assert!(shards("i", &index(bad), ".safetensors").is_err(), "{bad}");
    }
    assert!(shards("i", "{}", ".safetensors").is_err());
    assert!(shards("i", "{\"weight_map\": {}}", ".safetensors").unwrap_err().to_string().contains("no shard"));
}

#[test]
fn a_tensor_in_two_shards_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let paths = ["a.safetensors", "b.safetensors"].map(|n| dir.path().join(n));
    for p in &paths {
        write_f16(p, &[("same".to_string(), Array::zeros([1]))]).unwrap();
    }
    assert!(Checkpoint::open(&paths).err().unwrap().to_string().contains("'same' is also in"));
    std::fs::write(&paths[0], []).unwrap();
    assert!(Checkpoint::open(&paths[..1]).err().unwrap().to_string().contains("too short"));
}

proptest! {
    #[test]
    fn arbitrary_bytes_do_not_crash_the_reader(edits in prop::collection::vec((0usize..140, any::<u8>()), 1..6), cut in 0usize..200) {
        let mut bytes = file(json!({"a": tensor("F32", &[2, 2], 0, 16), "b": tensor("F16", &[3], 16, 22)}), 22);
        for (at, value) in edits {
            let n = bytes.len();
            bytes[at % n] = value;
        }
        bytes.truncate(bytes.len() - cut.min(bytes.len()) / 8);
        if let Ok(c) = Checkpoint::from_bytes("w", bytes) {
            for name in c.names() {
                let _ = c.read(name);
            }
        }
    }
}

/// Regression: written files used to keep the private access mode of temporary files.
#[cfg(unix)]
#[test]
fn weights_file_has_regular_permissions() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().unwrap();
    let [ordinary, whole] = ["ordinary", "whole"].map(|n| folder.path().join(n));
    std::fs::write(&ordinary, "x").unwrap();
    write_whole(&whole, b"x").unwrap();
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode();
    assert_eq!(mode(&whole), mode(&ordinary));
}

/// Regression: the program used to contain three copies of the built-in models, plus a fourth in memory.
#[test]
fn built_in_weights_are_not_copied() {
    use crate::source::Files;
    for model in crate::builtin::BUILTINS {
        let weights = Files::Builtin(model).weights().unwrap();
        let read = weights.shards[0].bytes.as_slice();
        assert_eq!(read.as_ptr_range(), model.weights.as_ptr_range(), "{}", model.name);
    }
}
