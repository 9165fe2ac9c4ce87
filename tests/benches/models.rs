//! Speed of models compared with PyTorch and transformers, in alternating runs on the same machine.
//!
//! Run `cargo bench --bench models [-- --only a,d --quick --runs N --device cuda --mkl-avx512]`. Both sides get the same folders and
//! inputs, and two threads each. Their runs alternate, so that a busy minute affects both. Prints the median of each side with the number
//! of runs, and the ratio ours/theirs (below 1 is faster) with the quartiles of the ratios of neighbouring runs. Also prints the largest
//! deviation between their numbers, absolute and relative to the largest number. Nothing is asserted. The other side is `torch_models.py`,
//! whose header describes the installation; without Python or network, only our side is timed.
//!
//! PyTorch uses MKL for f32 products, and MKL uses AVX-512 only on Intel processors. `--mkl-avx512` makes MKL use it on other processors
//! too, for a stricter comparison than with PyTorch as installed (Linux, needs `cc`).

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
