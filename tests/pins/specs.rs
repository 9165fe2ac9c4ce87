//! Hashes of the shipped specs and of grid cells, which identify findings, caches and parts.

use std::path::Path;

use probity::lab::{Spec, grid};

use super::file;
use super::list::{List, sha256};

/// A grid for each lab, with axes over every kind of value.
const GRIDS: [(&str, &str); 4] = [
    (
        "interventions",
        "lab = \"interventions\"\n[task]\nexamples = 800\n[[method]]\nname = \"inlp\"\nvalues = [0, 4]\n\
         [grid]\nmodels = [\"bert-tiny\", \"gpt2-tiny\"]\nlayer = [1, \"last\"]\nseed = [0, 1]\ntask.phi = [0.0, 0.5]\n",
    ),
    ("power", "lab = \"power\"\nmodels = [\"bert-tiny\"]\n[grid]\nseed = [0, 1, 2]\n"),
    ("prompts", "lab = \"prompts\"\nmodels = [\"bert-tiny\", \"gpt2-tiny\"]\n[grid]\nseed = [3, 4]\n"),
    ("saliency", "lab = \"saliency\"\nmodels = [\"bert-tiny\"]\n[grid]\nseed = [0, 9]\n"),
];

fn add(list: &mut List, name: &str, spec: &Spec) {
    list.add(format!("{name} hash"), spec.hash());
    list.add(format!("{name} TOML"), sha256(spec.to_toml()));
    let json = serde_json::to_string(spec).unwrap();
    list.add(format!("{name} JSON"), sha256(&json));
    // A spec that is written and parsed again is unchanged.
    assert_eq!(&Spec::parse(&spec.to_toml(), name).unwrap(), spec, "{name} by TOML");
    assert_eq!(serde_json::from_str::<Spec>(&json).unwrap().hash(), spec.hash(), "{name} by JSON");
}

/// The TOML files of a folder, by name.
fn files(folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(file(folder)).unwrap();
    let names = entries.map(|e| e.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|n| n.ends_with(".toml")).map(|n| format!("{folder}/{n}")).collect();
    names.sort_unstable();
    names
}

#[test]
fn shipped_specs_keep_hash_and_text() {
    let mut list = List::default();
    for name in [files("assets/specs"), files("assets/specs/studies")].concat() {
        let mut spec = Spec::read(Path::new(&file(&name))).unwrap();
        // The base folder for paths is not part of the spec.
        spec.common_mut().lies_in(Default::default());
        add(&mut list, &name, &spec);
    }
    for lab in probity::lab::LABS {
        list.add(format!("default of {} hash", lab.id()), Spec::shipped(lab.id()).hash());
        for preset in lab.presets() {
            let spec = Spec::of_preset(probity::lab::preset(preset.name).unwrap()).unwrap();
            list.add(format!("preset {} of {} hash", preset.name, lab.id()), spec.hash());
        }
    }
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in GRIDS {
        let path = folder.path().join("grid.toml");
        std::fs::write(&path, text).unwrap();
        let cells = grid::read(&path).unwrap();
        list.add(format!("grid of {name}"), format!("{} cells {}", cells.len(), grid::hash(&cells)));
        for (k, cell) in cells.iter().enumerate() {
            list.add(format!("grid of {name}, cell {}", k + 1), format!("{} {}", cell.hash, cell.label()));
        }
    }
    list.check("specs.txt");
}
