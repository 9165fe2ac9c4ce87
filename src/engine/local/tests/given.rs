//! User-supplied intervention files that do not match the experiment.

use super::*;
use safetensors::Dtype;
use safetensors::tensor::TensorView;

/// Writes a file with this tensor, filled with `value`.
fn file(folder: &Path, name: &str, shape: &[usize], value: f32) -> String {
    let bytes: Vec<u8> = (0..shape.iter().product::<usize>()).flat_map(|_| value.to_le_bytes()).collect();
    let view = TensorView::new(Dtype::F32, shape.to_vec(), &bytes).unwrap();
    let path = folder.join(format!("{name}-{}.safetensors", shape.len()));
    std::fs::write(&path, safetensors::serialize([(name, view)], None).unwrap()).unwrap();
    path.display().to_string()
}

/// Regression: the error message about a wrong width used to name neither the file nor the tensor.
#[test]
fn wrong_shape_error_names_file_and_tensor() {
    let folder = tempfile::tempdir().unwrap();
    let model = deep_fixture(folder.path(), 1);
    let mut rig = Rig::new(Cache::none());
    let cases: [(&str, &str, &[usize], f32, &str); 6] = [
        ("directions", "directions", &[2, 7], 1.0, "its `directions` have size 7, but the hidden states have size 32"),
        ("directions", "directions", &[2], 1.0, "`directions` has shape [2]"),
        ("directions", "directions", &[2, 32], f32::NAN, "`directions` contains NaN or infinity (element 0)"),
        ("directions", "states", &[600, 32], 1.0, "no `directions`"),
        ("states", "states", &[600, 7], 1.0, "its `states` have size 7, but the hidden states have size 32"),
        ("states", "states", &[9, 32], 1.0, "its `states` have 9 rows, but the experiment has 600 examples"),
    ];
    for (job, (method, tensor, shape, value, want)) in (1..).zip(cases) {
        let path = file(folder.path(), tensor, shape, value);
        let mut spec = plain(&model);
        spec.methods = vec![MethodSpec { file: Some(path.clone()), ..MethodSpec::named(method) }];
        rig.send(run(job, spec));
        let Outcome::Failed(problem) = rig.finish() else { panic!("{want}") };
        assert!(problem.what.contains(want) && problem.what.contains(&path), "{problem}");
        assert_eq!(problem.r#where, format!("method {method}"), "{problem}");
        assert!(!problem.hint.is_empty(), "{problem}");
    }
}
