//! The other side: a Python process that runs PyTorch and transformers on request.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

pub(crate) struct Torch {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    /// Versions that the process reports.
    pub versions: String,
    /// A library preloaded into the process.
    _preload: Option<tempfile::TempDir>,
}

impl Torch {
    /// Finds or creates a Python with the packages, and starts the server in `tests/benches` with this number of threads. With `mkl`, MKL
    /// treats the processor as if it were from Intel.
    pub(crate) fn start(script: &str, packages: &[&str], threads: usize, mkl: bool) -> Result<Torch, String> {
        let python = python(packages)?;
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/benches").join(script);
        let mut command = Command::new(&python);
        let mut preload = None;
        if mkl {
            let folder = shim()?;
            command.env("LD_PRELOAD", folder.path().join("shim.so"));
            preload = Some(folder);
        }
        let mut child = command
            .arg(script)
            .arg(threads.to_string())
            .env("OMP_NUM_THREADS", threads.to_string())
            // Without this limit the tokenizers would use every core.
            .env("RAYON_NUM_THREADS", threads.to_string())
            .env("HF_HUB_OFFLINE", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| format!("{}: {e}", python.display()))?;
        let (Some(to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("no pipes to Python".into());
        };
        let mut torch = Torch { child, to, from: BufReader::new(from), versions: String::new(), _preload: preload };
        let hello = torch.read()?;
        torch.versions = format!(
            "torch {}{}, transformers {}, {} threads",
            hello["torch"].as_str().unwrap_or("?"),
            if mkl { " (MKL set to use AVX-512)" } else { "" },
            hello["transformers"].as_str().unwrap_or("?"),
            hello["threads"]
        );
        Ok(torch)
    }

    fn read(&mut self) -> Result<Value, String> {
        let mut line = String::new();
        match self.from.read_line(&mut line) {
            Ok(0) => return Err("Python ended; its error is above".into()),
            Ok(_) => {}
            Err(e) => return Err(e.to_string()),
        }
        let value: Value = serde_json::from_str(&line).map_err(|e| format!("Python said {line:?}: {e}"))?;
        match value["error"].as_str() {
            Some(e) => Err(e.to_owned()),
            None => Ok(value),
        }
    }

    fn ask(&mut self, request: &Value) -> Result<Value, String> {
        writeln!(self.to, "{request}").and_then(|()| self.to.flush()).map_err(|e| e.to_string())?;
        self.read()
    }

    /// Loads a job; `request` contains its kind and inputs.
    pub(crate) fn prepare(&mut self, job: &str, mut request: Value) -> Result<(), String> {
        request["op"] = "prepare".into();
        request["job"] = job.into();
        self.ask(&request).map(|_| ())
    }

    /// Runs a job once; returns the time in seconds measured inside the process.
    pub(crate) fn run(&mut self, job: &str) -> Result<f64, String> {
        let answer = self.ask(&json!({"op": "run", "job": job}))?;
        answer["seconds"].as_f64().ok_or_else(|| "no time".into())
    }

    /// Runs a job once and returns its numbers.
    pub(crate) fn values(&mut self, job: &str) -> Result<Vec<f32>, String> {
        let file = tempfile::NamedTempFile::new().map_err(|e| e.to_string())?;
        self.ask(&json!({"op": "run", "job": job, "out": file.path()}))?;
        let bytes = std::fs::read(file.path()).map_err(|e| e.to_string())?;
        Ok(bytes.chunks_exact(4).map(|c| f32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect())
    }

    pub(crate) fn drop_job(&mut self, job: &str) -> Result<(), String> {
        self.ask(&json!({"op": "drop", "job": job})).map(|_| ())
    }
}

impl Drop for Torch {
    fn drop(&mut self) {
        // The process is idle between requests, so killing it loses nothing.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Builds a library that overrides MKL's check of the processor's vendor.
fn shim() -> Result<tempfile::TempDir, String> {
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let source = folder.path().join("shim.c");
    std::fs::write(&source, "int mkl_serv_intel_cpu_true(void) { return 1; }\n").map_err(|e| e.to_string())?;
    run(Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(folder.path().join("shim.so")).arg(source))?;
    Ok(folder)
}

/// Returns an interpreter with the packages: `PROBITY_BENCH_PYTHON`, or a virtual environment at `PROBITY_BENCH_VENV` (default: in the
/// target folder), created if needed.
fn python(packages: &[&str]) -> Result<PathBuf, String> {
    if let Some(python) = std::env::var_os("PROBITY_BENCH_PYTHON") {
        return Ok(python.into());
    }
    let venv = std::env::var_os("PROBITY_BENCH_VENV")
        .map_or_else(|| Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-venv"), PathBuf::from);
    let python = venv.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    if !imports(&python, packages) {
        eprintln!("creating {} with {} (about 3 GB; once)", venv.display(), packages.join(", "));
        run(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
        run(Command::new(&python).args(["-m", "pip", "install", "--quiet"]).args(packages))?;
        if !imports(&python, packages) {
            return Err(format!("{} cannot import {}", python.display(), packages.join(", ")));
        }
    }
    Ok(python)
}

fn imports(python: &Path, packages: &[&str]) -> bool {
    let code = format!("import {}", packages.join(", "));
    let run = Command::new(python).args(["-c", &code]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    run.is_ok_and(|s| s.success())
}

fn run(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    match command.stdout(Stdio::null()).status() {
        Ok(s) if s.success() => Ok(()),
        Ok(s) => Err(format!("{name}: {s}")),
        Err(e) => Err(format!("{name}: {e}")),
    }
}
