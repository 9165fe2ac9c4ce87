//! Names and layouts, there and back.

use super::*;
use crate::model::families::FAMILIES;
use crate::model::testing;
use crate::model::weights::write_f16;

/// Values that f16 holds exactly, all different.
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
fn every_layout_comes_back_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    for arch in testing::archs() {
        let family = FAMILIES.iter().find(|f| f.model_types.contains(&arch.family.as_str())).unwrap();
        // The tiny ALBERT has a task table, which its family does not: only ERNIE stores one.
        let mut arch =
            Arch { embedding: crate::model::arch::Embedding { tasks: 0, ..arch.embedding.clone() }, ..arch };
        let params = numbered(&arch);
        let stored = params.to_checkpoint(&arch, family).unwrap();
        let path = dir.path().join("w.safetensors");
        write_f16(&path, &stored).unwrap();
        let weights = Checkpoint::open(&[&path]).unwrap();
        assert_eq!(Params::read(&mut arch, family, &weights).unwrap(), params, "{}", arch.family);
    }
}

#[test]
fn gpt2_puts_query_key_and_value_side_by_side() {
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
fn every_parameter_of_every_family_has_a_place() {
    for arch in testing::archs() {
        for family in FAMILIES.iter().filter(|f| f.model_types.contains(&arch.family.as_str())) {
            for p in arch.parameters().iter().filter(|p| !p.name.starts_with("embed.tasks")) {
                assert!(!family.locate(&p.name).names.is_empty(), "{} of {}", p.name, arch.family);
            }
        }
    }
}
