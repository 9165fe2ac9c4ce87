//! How fast models run, side by side with PyTorch and transformers on the same machine in the same minutes.
//!
//! `cargo bench --bench models [-- --only a,d --quick --runs N --device cuda --mkl-avx512]`. Both sides get the same folders and inputs and two
//! threads; their runs alternate, so that a busy minute meets both. Printed: the median of each side with the number of
//! runs, the ratio ours/theirs (below 1 is faster) with the quartiles of the ratios of neighbouring runs, and the
//! largest deviation between the numbers of the two, absolute and relative to the largest of them. Nothing is asserted. The other side lives in `torch_models.py`,
//! whose header says what is installed and where; without Python or network, only ours is timed.
//!
//! PyTorch's f32 products are MKL's, and MKL uses AVX-512 on Intel's processors only. On others `--mkl-avx512` has it
//! believe that it runs on Intel's: a stricter comparison than with PyTorch as it is installed (Linux, wants `cc`).

#[path = "models/inputs.rs"]
mod inputs;
#[path = "models/jobs.rs"]
mod jobs;
#[path = "models/pairs.rs"]
mod pairs;
#[path = "models/torch.rs"]
mod torch;

fn main() -> pairs::Outcome<()> {
    let folder = tempfile::tempdir()?;
    for shape in [inputs::BASE, inputs::SMALL] {
        shape.write(&folder.path().join(shape.name))?;
    }
    pairs::run(jobs::JOBS, folder.path(), "torch_models.py", &["numpy", "torch", "transformers", "safetensors"])
}
