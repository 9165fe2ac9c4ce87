//! Experiments of Canby et al. (2024) that can be picked by name, with a built-in model instead of the paper's.

use lab::Preset;

pub static PRESETS: [Preset; 1] = [Preset {
    name: "reliability",
    title: "All interventions, both oracles (Figures 1 to 6, Table 3)",
    toml: include_str!("../../../assets/specs/paper.toml"),
}];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Spec;
    use crate::oracle::OracleKind;
    use crate::parameter::{EPSILONS, RANKS};
    use crate::registry::find;

    #[test]
    fn paper_preset_is_valid_and_complete() {
        let spec: Spec = lab::spec::parse(PRESETS[0].toml, PRESETS[0].name).unwrap();
        let names: Vec<&str> = spec.methods.iter().map(|m| m.name.as_str()).collect();
        assert_eq!(names, ["alterrep", "fgsm", "pgd", "autoattack", "inlp", "rlace", "identity"]);
        for m in &spec.methods {
            let method = find(&m.name).unwrap();
            match method.parameter.name {
                "epsilon" => assert_eq!(m.values, EPSILONS, "{}: the 29 radii of the paper", m.name),
                "rank" => assert_eq!(method.parameter.grid, RANKS, "{}: up to rank 40", m.name),
                _ => assert!(m.values.is_empty(), "{}: the paper gives no grid", m.name),
            }
            assert!(m.options.is_empty(), "{}: the defaults are the paper's", m.name);
        }
        assert_eq!(spec.probe.oracles, [OracleKind::Mlp, OracleKind::Linear]);
        assert_eq!(spec.probe.grid, "paper");
    }
}
