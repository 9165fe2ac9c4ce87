//! Speed of models, alternating with PyTorch and transformers on the same machine in the same minutes.
//!
//! `cargo bench --bench models [-- --only a,d --quick --runs N --device cuda --mkl-avx512]`. Both sides get the same
//! folders, inputs and two threads; their runs alternate, so that a busy minute affects both. Prints the median of each
//! side with the number of runs, the ratio ours/theirs (below 1 is faster) with the quartiles of the ratios of
//! neighbouring runs, and the largest deviation between the numbers of the two, absolute and relative to the largest
//! number. Nothing is asserted. The other side is `torch_models.py`, whose header describes the installation; without
//! Python or network, only ours is timed.
//!
//! PyTorch uses MKL for f32 products, and MKL uses AVX-512 only on Intel processors. On others `--mkl-avx512` makes it
//! believe that it runs on Intel: a stricter comparison than with PyTorch as installed (Linux, needs `cc`).

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
