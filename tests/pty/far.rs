//! The screen with a remote engine, and with a grid that is computed remotely, through a script that replaces ssh.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use super::{SMALL, Screen, wait};

/// A far end on this machine, in its own folders.
struct There(tempfile::TempDir);

impl There {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        let text = format!(
            "#!/bin/sh\nexport PROBITY_STATE_DIR='{0}' PROBITY_CACHE_DIR='{0}' PATH='{1}':\"$PATH\"\nfor there; do :; done\nexec sh -c \"$there\"\n",
            place.path().display(),
            Path::new(env!("CARGO_BIN_EXE_probity")).parent().unwrap().display()
        );
        std::fs::write(place.ssh(), text).unwrap();
        std::fs::set_permissions(place.ssh(), std::fs::Permissions::from_mode(0o755)).unwrap();
        place
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn ssh(&self) -> String {
        self.path().join("ssh").display().to_string()
    }

    fn screen(&self, args: &[&str]) -> Screen {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("spec.toml"), SMALL).unwrap();
        let args = [args, &["--remote", "ssh://gpu1"]].concat();
        Screen::with(env!("CARGO_BIN_EXE_probity"), folder, &args, &[("PROBITY_SSH", &self.ssh())])
    }

    fn engines(&self) -> usize {
        std::fs::read_dir(self.path().join("remote")).map_or(0, Iterator::count)
    }
}

#[test]
fn engine_survives_its_screen_and_second_screen_watches() {
    let there = There::new();
    let mut first = there.screen(&["--spec", "spec.toml", "--session", "one"]);
    first.sees("gpu1 ");
    first.sees("saved as one");
    first.until("the end of the run", |s| s.contents().contains("done in"));
    let mut second = there.screen(&["--attach", "one"]);
    second.sees("viewing one");
    second.sees("INLP");
    second.press("q");
    assert_eq!(second.ended(), 0);
    assert_eq!(there.engines(), 1, "a client that only watches cannot end the engine");

    let pid = first.child.process_id().unwrap().to_string();
    assert!(Command::new("kill").args(["-9", &pid]).status().unwrap().success());
    first.child.wait().unwrap();
    // The client gets control only if the far end has already noticed that the dead client's link has ended.
    let mut again = there.screen(&["--attach", "one"]);
    again.sees("INLP");
    again.until("the screen in control, or a watching one", |s| {
        let text = s.contents();
        text.contains("saved as one") || text.contains("viewing one")
    });
    let steers = again.text().contains("saved as one");
    again.press("q");
    assert_eq!(wait(&mut *again.child), 0);
    if !steers {
        let mut last = there.screen(&["--attach", "one"]);
        last.sees("saved as one");
        last.press("q");
        assert_eq!(last.ended(), 0);
    }
    let begun = std::time::Instant::now();
    while there.engines() > 0 {
        assert!(begun.elapsed() < super::PATIENCE, "the engine did not end after its screen was closed");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

/// Regression: the findings of cells used to be shown only for a grid on this machine.
#[test]
fn remote_grid_shows_findings_of_its_cells() {
    let there = There::new();
    let spec = SMALL.replace("2000", "800") + "[grid]\nseed = [1, 2]\n";
    std::fs::write(there.path().join("grid.toml"), spec).unwrap();
    let dir = there.path().join("out").display().to_string();
    let run = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_probity"));
        command.args(args).current_dir(there.path());
        let done =
            command.env("PROBITY_STATE_DIR", there.path()).env("PROBITY_CACHE_DIR", there.path()).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    };
    run(&["run", "grid.toml", "--out", &dir, "--quiet", "--shard", "1/2"]);
    let printed = run(&["follow", &dir, "--once", "--json", "--found="]);
    let count = |text: &str, what: &str| text.lines().filter(|line| line.contains(what)).count();
    assert_eq!((count(&printed, "\"whole\":"), count(&printed, "\"command\":\"run\"")), (1, 1), "{printed}");
    assert!(count(&printed, "\"event\":\"finding\"") > 5, "{printed}");
    let rest = run(&["follow", &dir, "--once", "--json", "--found=1-2"]);
    assert_eq!(rest.lines().count(), 1, "a known cell is not printed again: {rest}");

    let mut screen = there.screen(&["--follow", &dir]);
    screen.sees("2 cells: 1 done, 0 running, 0 failed, 1 waiting");
    screen.press("2");
    screen.sees("INLP");
    run(&["run", "grid.toml", "--out", &dir, "--quiet", "--shard", "2/2"]);
    screen.press("7");
    screen.sees("2 cells: 2 done");
    screen.press("q");
    assert_eq!(screen.ended(), 0);
}
