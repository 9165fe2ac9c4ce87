//! The studies of Zhu et al. (2022) as named specs, with the built-in models instead of the paper's.

use lab::Preset;

/// Generates the list of studies from names and titles; each study has a spec file.
macro_rules! studies {
    ($( $name:literal, $title:literal; )+) => {
        [$( Preset {
            name: $name,
            title: $title,
            toml: include_str!(concat!("../../../assets/specs/studies/", $name, ".toml")),
        }, )+]
    };
}

pub static STUDIES: [Preset; 5] = studies! {
    "margins", "Margins: accuracy against the bound (Figure 2)";
    "noise", "Power against the noise on an encoder (Figure 3)";
    "corrupted", "An encoder against itself, corrupted (Table 2, Figure 4)";
    "encoders", "Encoder against encoder (Table 3, Figure 5)";
    "classifiers", "Classifier against classifier (Table 4, Figure 6)";
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_study_can_be_run() {
        for study in &STUDIES {
            let spec: crate::Spec =
                lab::spec::parse(study.toml, study.name).unwrap_or_else(|e| panic!("{}: {e}", study.name));
            assert_ne!(spec.name(true), spec.name(false), "{}", study.name);
        }
    }
}
