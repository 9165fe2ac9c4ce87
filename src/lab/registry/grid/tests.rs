//! Tests of grid expansion and of grids that must be rejected.

use super::*;

const GRID: &str = r#"lab = "interventions"

[task]
examples = 2000

[probe]
oracles = ["linear"]

[[method]]
name = "inlp"

[grid]
seed = [0, 1]
models = ["bert-tiny", "bert-mini"]
layer = "all"
"#;

fn refused(text: &str) -> String {
    parse(text, "g.toml").map(|cells| cells.len()).unwrap_err().to_string()
}

#[test]
fn cell_equals_the_handwritten_spec() {
    let cells = parse(GRID, "g.toml").unwrap();
    let labels: Vec<String> = cells.iter().map(Cell::label).collect();
    let tiny = layers_of("bert-tiny");
    assert_eq!(cells.len(), 2 * (tiny + layers_of("bert-mini")));
    // The order of axes is the lab's, not the file's; the last axis varies fastest.
    assert_eq!(labels[..2], ["models bert-tiny, layer 1, seed 0", "models bert-tiny, layer 1, seed 1"]);
    let by_hand = GRID
        .split("[grid]")
        .next()
        .unwrap()
        .replace("lab = \"interventions\"\n", "lab = \"interventions\"\nmodels = [\"bert-tiny\"]\nseed = 1\n")
        + "[site]\nlayer = 1\n";
    let plain = Spec::parse(&by_hand, "x").unwrap();
    assert_eq!((cells[1].spec.clone(), cells[1].hash.clone()), (plain.clone(), plain.hash()));
}

fn layers_of(name: &str) -> usize {
    crate::Size::of(name).unwrap().blocks
}

#[test]
fn grid_hash_ignores_order_and_layout_of_the_file() {
    let turned =
        GRID.replace("seed = [0, 1]\nmodels", "models").replace("\"all\"\n", "\"all\"\nseed = [\n  0,\n  1]\n");
    assert_ne!(turned, GRID);
    assert_eq!(hash(&parse(&turned, "a").unwrap()), hash(&parse(GRID, "b").unwrap()));
    let other = GRID.replace("[0, 1]", "[1, 0]");
    assert_ne!(hash(&parse(&other, "a").unwrap()), hash(&parse(GRID, "b").unwrap()));
}

#[test]
fn labs_have_separate_axes() {
    let prompts = "lab = \"prompts\"\n[grid]\nmodels = [[\"bert-tiny\", \"gpt2-tiny\"], [\"bert-mini\"]]";
    let cells = parse(prompts, "p").unwrap();
    assert_eq!(cells.iter().map(Cell::label).collect::<Vec<_>>(), ["models bert-tiny+gpt2-tiny", "models bert-mini"]);
    let power = "lab = \"power\"\nmodels = [\"bert-tiny\"]\n[a]\nclassifier = \"logistic\"\n[grid]\npair = [{ a = { layer = 1 }, b = { layer = 2 } }, { b = { noise = 0.5 } }]";
    let cells = parse(power, "p").unwrap();
    assert_eq!(cells.len(), 2);
    assert!(cells[0].spec.to_toml().contains("layer = 1") && cells[1].spec.to_toml().contains("noise = 0.5"));
    let saliency = "lab = \"saliency\"\nmodels = [\"bert-tiny\"]\n[grid]\nmethod = [\"attention\", \"rollout\"]\nattention.head = [1, \"mean\"]";
    assert_eq!(parse(saliency, "s").unwrap().len(), 4);
    let methods = GRID
        .replace("[[method]]\nname = \"inlp\"\n", "")
        .replace("layer = \"all\"", "method = [\"inlp\", { name = \"pgd\", values = [0.1] }]");
    assert_eq!(parse(&methods, "m").unwrap()[2].label(), "models bert-tiny, method pgd+values=0.1, seed 0");
}

#[test]
fn every_lab_counts_the_work_of_its_shipped_spec() {
    for lab in crate::LABS {
        let spec = Spec::shipped(lab.id());
        let sizes: Vec<_> = spec.models().iter().map(|m| crate::Size::of(m).unwrap()).collect();
        let larger: Vec<_> = sizes.iter().map(|s| crate::Size { parameters: 10 * s.parameters, ..*s }).collect();
        let (one, ten) = (lab.counted(&spec, &sizes), lab.counted(&spec, &larger));
        assert!(one > 0 && ten > one, "{}: {one} and {ten}", lab.id());
    }
}

#[test]
fn invalid_grid_is_refused_with_its_line() {
    for (from, to, words) in [
        ("seed = [0, 1]", "seed = [0, 0]", &["g.toml, line 13", "names `0` twice"][..]),
        ("seed = [0, 1]", "seed = []", &["line 13", "empty list"]),
        ("seed = [0, 1]", "seed = 3", &["line 13", "outside [grid]"]),
        ("seed = [0, 1]", "seeds = [0]", &["line 13", "did you mean `seed`?"]),
        ("seed = [0, 1]", "seed = [\"x\"]", &["line 13", "cell", "invalid type"]),
        ("\"all\"", "[1, 9]", &["line 15", "layer 9"]),
        ("\"all\"", "\"each\"", &["line 15", "\"all\""]),
        ("layer = \"all\"", "task.examples = [500, 1000]", &["line 15", "`task.examples`", "elsewhere"]),
        ("layer = \"all\"", "task.phi = [0.1, 7]", &["line 15", "task.phi", "seed 0"]),
        ("examples = 2000", "exampels = 2000", &["line 4", "exampels"]),
        ("examples = 2000", "examples = 3", &["line 4", "task.examples"]),
        ("\"inlp\"", "\"inpl\"", &["method.name", "did you mean `inlp`?"]),
        ("\"interventions\"", "\"intervention\"", &["`lab`", "interventions"]),
        (
            "[grid]\nseed = [0, 1]\nmodels = [\"bert-tiny\", \"bert-mini\"]\nlayer = \"all\"",
            "[grid]",
            &["names no axis"],
        ),
        ("\"bert-tiny\", \"bert-mini\"", "[\"a\"]", &["line 14", "a single name"]),
        ("\"bert-tiny\", \"bert-mini\"", "\"./no/such\"", &["layers of `./no/such` are not known"]),
    ] {
        assert!(GRID.contains(from), "{from}");
        let message = refused(&GRID.replacen(from, to, 1));
        assert!(words.iter().all(|w| message.contains(w)), "{to}: {message}");
    }
    let many = format!(
        "seed = {:?}\ntask.phi = {:?}",
        (0..400).collect::<Vec<_>>(),
        (0..400).map(|i| f64::from(i) / 1e4).collect::<Vec<_>>()
    );
    let message = refused(&GRID.replace("seed = [0, 1]", &many).replace("layer = \"all\"", ""));
    assert!(message.contains("more than 100000 cells"), "{message}");
}

#[test]
fn grid_is_not_a_plain_spec_and_plain_spec_is_one_cell() {
    let message = Spec::parse(GRID, "g.toml").unwrap_err().to_string();
    assert!(message.contains("`grid`") && message.contains("probity run"), "{message}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("plain.toml");
    let shipped = Spec::shipped(LabId::named("interventions").unwrap());
    std::fs::write(&file, shipped.to_toml()).unwrap();
    let cells = read(&file).unwrap();
    assert_eq!((cells.len(), cells[0].at.len(), cells[0].hash.as_str()), (1, 0, shipped.hash().as_str()));
}
