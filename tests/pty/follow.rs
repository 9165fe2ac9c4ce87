//! A grid that other processes compute, followed on the screen.

use std::process::Command;

use super::{SMALL, Screen};

/// Two cells with the small experiment.
fn grid() -> String {
    SMALL.replace("2000", "800") + "[grid]\nseed = [1, 2]\n"
}

#[test]
fn grid_is_followed_while_shards_compute() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("grid.toml"), grid()).unwrap();
    let run = |folder: &std::path::Path, shard: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_probity"));
        command.args(["run", "grid.toml", "--out", "out", "--quiet", "--shard", shard]).current_dir(folder);
        let done = command.env("PROBITY_STATE_DIR", folder).env("PROBITY_CACHE_DIR", folder).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    };
    run(folder.path(), "1/2");
    let mut screen = Screen::launch(folder, &["--follow", "out"]);
    screen.sees("2 cells: 1 done, 0 running, 0 failed, 1 waiting");
    screen.sees("viewing out");
    // The cells' findings are on the screen of their lab.
    screen.press("2");
    screen.sees("INLP");
    screen.press("7");
    screen.press("r");
    screen.sees("Resubmit abandoned cells?");
    screen.press("k\r");
    screen.sees("was not submitted from this folder");
    run(screen.folder.path(), "2/2");
    screen.sees("2 cells: 2 done");
    screen.sees("all cells are done");
    screen.press("q");
    assert_eq!(screen.ended(), 0);
}
