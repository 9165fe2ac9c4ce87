//! Runs the guide's page on Python and the notebook with an interpreter that has the packages.

use std::path::Path;
use std::process::Command;

crate::harness::tests! {
    Needs::Python("pandas, polars") => [the_page_on_python_opens_what_the_program_writes];
    Needs::Python("pandas, matplotlib, nbclient, ipykernel") => [the_notebook_runs];
}

/// Runs a program in an empty folder, with `probity` on the path.
fn run(folder: &Path, program: &str, arguments: &[&str]) {
    let built = Path::new(env!("CARGO_BIN_EXE_probity")).parent().unwrap();
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(folder)
        .env("PATH", format!("{}:{}", built.display(), std::env::var("PATH").unwrap()))
        .env("PROBITY_STATE_DIR", folder.join("state"))
        .env("PROBITY_CACHE_DIR", folder.join("cache"));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The code in a page's blocks of one language.
fn blocks(page: &str, language: &str) -> String {
    let fence = format!("```{language}\n");
    page.split(&fence).skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

fn the_page_on_python_opens_what_the_program_writes(_: &Path) {
    let page = probity::guide::page("python").unwrap().text;
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), "sh", &["-e", "-c", &blocks(page, "sh")]);
    run(folder.path(), "python3", &["-c", &blocks(page, "python")]);
}

fn the_notebook_runs(_: &Path) {
    let notebook = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/dist/findings.ipynb");
    let code = "import sys, nbclient, nbformat\n\
                nbclient.NotebookClient(nbformat.read(sys.argv[1], 4), timeout=300).execute()";
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), "python3", &["-c", code, notebook.to_str().unwrap()]);
}
