//! Tests that names and layouts survive a round trip.

use super::*;
use crate::families::FAMILIES;
use crate::testing;
use crate::weights::write_f16;

/// Distinct values that f16 represents exactly.
fn numbered(arch: &Arch) -> Params {
    let mut params = Params::default();
    let mut next = 0u32;
    for p in arch.parameters() {
        let n: usize = p.shape.iter().product();
        let data = (next..next + n as u32).map(|i| (i % 2048) as f32 / 16.0).collect();
        next += n as u32;
        params.insert(p.name, Array::new(p.shape, data));
    }
    params
}

#[test]
fn every_layout_round_trips() {
    let dir = tempfile::tempdir().unwrap();
    for arch in testing::archs() {
        let family = FAMILIES.iter().find(|f| f.model_types.contains(&arch.family.as_str())).unwrap();
        // The tiny ALBERT has a task table, which is stored only for ERNIE.
        let mut arch = Arch { embedding: crate::arch::Embedding { tasks: 0, ..arch.embedding.clone() }, ..arch };
        let params = numbered(&arch);
        let stored = params.to_checkpoint(&arch, family).unwrap();
        let path = dir.path().join("w.safetensors");
        write_f16(&path, &stored).unwrap();
        let weights = Checkpoint::open(&[&path]).unwrap();
        assert_eq!(Params::read(&mut arch, family, &weights).unwrap(), params, "{}", arch.family);
    }
}

/// transformers rejects BART's bias as a vector, and warns about a GPT-2 whose begin and end ids are outside its vocabulary.
#[test]
fn exported_folders_suit_transformers() {
    let arch = testing::archs().into_iter().find(|a| a.family == "bart").unwrap();
    let family = FAMILIES.iter().find(|f| f.model_types.contains(&"bart")).unwrap();
    let params = numbered(&arch);
    let mut stored = params.to_checkpoint(&arch, family).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("w.safetensors");
    let bias = stored.iter().position(|(name, _)| name == "final_logits_bias").unwrap();
    assert_eq!(stored[bias].1.shape, [1, arch.vocab]);
    // Both shapes are accepted.
    for shape in [vec![1, arch.vocab], vec![arch.vocab]] {
        stored[bias].1.shape = shape;
        write_f16(&path, &stored).unwrap();
        let weights = Checkpoint::open(&[&path]).unwrap();
        assert_eq!(Params::read(&mut arch.clone(), family, &weights).unwrap(), params);
    }
    let arch = &testing::archs()[1];
    let family = FAMILIES.iter().find(|f| f.model_types.contains(&"gpt2")).unwrap();
    let config = family.config.unwrap()(arch);
    assert_eq!((&config["bos_token_id"], &config["eos_token_id"]), (&0.into(), &0.into()));
}

/// The shipped model folders are identical to the output of an export.
#[test]
fn shipped_configurations_equal_an_export() {
    for builtin in crate::builtin::BUILTINS {
        let source = crate::ModelSource::Builtin(builtin.name.into());
        let model = crate::Model::load(&source, crate::Device::Cpu).unwrap();
        let family = Family::of(model.arch()).unwrap();
        let written = family.config.unwrap()(model.arch());
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets/models").join(builtin.name);
        let shipped = std::fs::read_to_string(folder.join("config.json")).unwrap();
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shipped).unwrap(), written, "{}", builtin.name);
        let weights = std::fs::read(folder.join("model.safetensors")).unwrap();
        let header = u64::from_le_bytes(weights[..8].try_into().unwrap()) as usize;
        let header: serde_json::Value = serde_json::from_slice(&weights[8..8 + header]).unwrap();
        if let Some(bias) = header.get("final_logits_bias") {
            assert_eq!(bias["shape"], serde_json::json!([1, model.arch().vocab]), "{}", builtin.name);
        }
    }
}

#[test]
fn gpt2_concatenates_query_key_and_value() {
    let arch = &testing::archs()[1];
    let family = FAMILIES.iter().find(|f| f.model_types.contains(&"gpt2")).unwrap();
    let params = numbered(arch);
    let stored: BTreeMap<String, Array> = params.to_checkpoint(arch, family).unwrap().into_iter().collect();
    let fused = &stored["transformer.h.0.attn.c_attn.weight"];
    assert_eq!(fused.shape, [8, 24]);
    let k = params.get("blocks.0.attn.k.weight").unwrap();
    assert_eq!(fused.data[3 * 24 + 8 + 5], k.data[5 * 8 + 3], "input 3, key output 5");
    assert_eq!(stored["transformer.h.0.attn.c_attn.bias"].shape, [24]);
    assert!(!stored.contains_key("lm_head.weight"), "a tied decoder is not stored");
}

#[test]
fn every_parameter_has_a_stored_name() {
    for arch in testing::archs() {
        for family in FAMILIES.iter().filter(|f| f.model_types.contains(&arch.family.as_str())) {
            for p in arch.parameters().iter().filter(|p| !p.name.starts_with("embed.tasks")) {
                assert!(!family.locate(&p.name).names.is_empty(), "{} of {}", p.name, arch.family);
            }
        }
    }
}
