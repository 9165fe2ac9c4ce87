//! The remote engine, through a script that replaces ssh and starts the far end on this machine, and through a real sshd on the loopback
//! if there is one. It must behave like the local engine, even if the link breaks.

mod ends;
mod far;
mod sshd;

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use probity::engine::Engine;
use probity::engine::message::{Command, Event, Outcome};
use probity::lab::Spec;
use probity::remote::message::{Hello, Want};
use probity::session::format::Item;
use probity::session::replay::Step;
use serde_json::Value;

use super::common::{Probity, TINY, json_lines, refused, text};
use far::{Place, findings_of, hello, run_of, times_out, until};

/// The findings without their times.
fn found(stdout: &[u8]) -> Vec<Value> {
    let mut all = json_lines(stdout);
    for finding in &mut all {
        let object = finding.as_object_mut().unwrap();
        object.remove("t");
        object.remove("seconds");
    }
    all
}

#[test]
fn remote_run_equals_local_run_and_leaves_two_sessions() {
    let (place, near) = (Place::new(), Probity::new());
    // The spec names local data, which is sent to the far end under the same name.
    near.file("rows.jsonl", &text(&near.run(&["data", "make", "agreement", "-n", "1500", "--seed", "8"]).stdout));
    let spec = near.file("tiny.toml", &TINY.replace("examples = 1000", "examples = 1500\ndata = \"rows.jsonl\""));
    let here = near.run(&["run", &spec, "--json", "--no-session"]);
    let args = ["run", &spec, "--json", "--session", "tiny", "--remote", "ssh://far", "--send", "rows.jsonl"];
    let there = near.command(&args).env("PROBITY_SSH", place.ssh()).output().unwrap();
    assert_eq!(there.status.code(), Some(0), "{}", text(&there.stderr));
    assert_eq!(found(&there.stdout), found(&here.stdout), "equal except for times");
    assert_eq!(findings_of(&place.session("tiny").board()), findings_of(&far::read(near.state.path(), "tiny").board()));
    // After the run, the engine ends and the received files are removed. The client does not wait for this.
    until(|| place.engines().is_empty().then_some(()));
    let far = place.session("tiny");
    let recorded = std::fs::read_to_string(place.path().join("sessions/tiny.probity.jsonl")).unwrap();
    assert!(!recorded.contains(&near.state.path().display().to_string()), "no local path was recorded there");

    // Commands that need no engine (list, fetch), and requests for engines or sessions that do not exist.
    let errand = |args: &[&str]| near.command(args).env("PROBITY_SSH", place.ssh()).output().unwrap();
    let listed = text(&errand(&["remote", "list", "ssh://far"]).stdout);
    assert!(listed.contains("tiny") && listed.contains("session") && listed.contains("done"), "{listed}");
    let fetched = errand(&["remote", "fetch", "ssh://far", "tiny"]);
    assert_eq!(fetched.status.code(), Some(0), "{}", text(&fetched.stderr));
    assert!(
        text(&fetched.stdout).contains("tiny-2.probity.jsonl"),
        "the name was already taken: {}",
        text(&fetched.stdout)
    );
    assert!(far::read(near.state.path(), "tiny-2").entries().eq(far.entries()));
    refused(
        &errand(&["remote", "fetch", "ssh://far", "no/such"]),
        1,
        &["far: no session no-such on the remote machine", "probity remote list"],
    );
    refused(&errand(&["remote", "stop", "ssh://far", "nobody"]), 1, &["no engine nobody", "none is running"]);
    refused(&errand(&["run", &spec, "--remote", "ssh://far", "--send", "../x"]), 2, &["--send ../x", "relative"]);
    refused(&errand(&["run", &spec, "--remote", "ssh://far", "--send", "y"]), 2, &["--send y", "no such file"]);
    refused(&errand(&["run", &spec, "--forecast", "--remote", "ssh://far"]), 2, &["--forecast", "ssh far"]);
}

#[test]
fn repeated_link_cuts_change_no_number() {
    let place = Place::new();
    let spec = Spec::parse(TINY, "tiny").unwrap();
    let whole = far::here();
    let (mut far, past) = place.connect(hello("cut"));
    assert!(past.is_empty() && far.steers());
    let mut events = far.take_events().unwrap();
    far.send(run_of(&spec)).unwrap();
    let cutter = place.cut_often(3, Duration::from_millis(150));
    let board = far::board_of(&spec, &mut events);
    cutter.join();
    assert_eq!(&findings_of(&board), whole);
    far.send(Command::Shutdown).unwrap();
    drop(far);
    let session = until(|| Some(place.session("cut")).filter(|_| place.engines().is_empty()));
    assert_eq!(&findings_of(&session.board()), whole, "the remote session is complete too");
    let runs = session.entries().filter(|e| matches!(e.item, Item::Command(Command::Run { .. })));
    assert_eq!(runs.count(), 1, "no command was executed twice");
}

/// The pause between attempts grows while the link is down, but the user can ask for an attempt at once.
#[test]
fn user_can_reconnect_at_once() {
    let place = Place::with("[ ! -e \"${0%/*}/down\" ] || exit 255\nfor there; do :; done\nexec sh -c \"$there\"");
    let (mut far, _) = place.connect(hello("down"));
    let _events = far.take_events().unwrap();
    assert_eq!(far.down(), None);
    std::fs::write(place.path().join("down"), "").unwrap();
    place.cut();
    // The third attempt follows two seconds after the second.
    until(|| far.down().filter(|down| down.next == Some(2)));
    std::fs::remove_file(place.path().join("down")).unwrap();
    let begun = std::time::Instant::now();
    far.try_now();
    until(|| far.down().is_none().then_some(()));
    // The limit is generous, for a machine under load.
    assert!(begun.elapsed().as_millis() < 1_000, "{:?}", begun.elapsed());
    far.send(Command::Shutdown).unwrap();
    drop(far);
    until(|| place.engines().is_empty().then_some(()));
}

#[test]
fn client_returns_to_everything_and_second_client_only_watches() {
    let place = Place::new();
    let spec = Spec::parse(TINY, "tiny").unwrap();
    let (mut first, _) = place.connect(hello("two"));
    let _events = first.take_events().unwrap();
    first.send(run_of(&spec)).unwrap();
    let (mut second, _) = place.connect(Hello { want: Want::Attach, ..hello("two") });
    assert!(first.steers() && !second.steers());
    let mut steps = second.take_steps().unwrap();
    second.send(Command::Cancel { job: 1 }).unwrap();
    let done = Step::Entry(Box::new(far::ended(&mut steps)));
    let Step::Entry(entry) = done else { unreachable!() };
    assert!(matches!(entry.item, Item::Event(Event::Finished { outcome: Outcome::Done, .. })), "{entry:?}");
    // The client in control disconnects without a message, and its engine waits.
    first.lose();
    drop(first);
    drop(second);
    let (again, past) = until(|| {
        let (far, past) = place.connect(Hello { want: Want::Attach, ..hello("two") });
        far.steers().then_some((far, past))
    });
    let mut board = probity::engine::board::Board::default();
    past.iter().for_each(|entry| entry.fold(&mut board));
    assert_eq!(&findings_of(&board), far::here(), "all entries from the beginning");
    drop(again);
    assert_eq!(place.engines(), ["two"], "the engine still waits");
    let near = Probity::new();
    let stop = near.command(&["remote", "stop", "ssh://far", "two"]).env("PROBITY_SSH", place.ssh()).output();
    assert!(text(&stop.unwrap().stdout).contains("two has ended"));
    until(|| place.engines().is_empty().then_some(()));
}

#[test]
fn killed_engine_is_reported_and_idle_engine_ends() {
    let place = Place::new();
    let (mut far, _) = place.connect(hello("killed"));
    let mut events = far.take_events().unwrap();
    place.kill_keeper("killed");
    let mut told = Vec::new();
    while let Some(event) = events.blocking_recv() {
        if let Event::Notice(notice) = event {
            told.push(notice.problem.to_string());
        }
    }
    assert!(told.iter().any(|t| t.contains("no engine killed is running on the remote machine")), "{told:?}");
    assert!(far.send(Command::ListModels).is_err(), "like a local engine that has ended");
    let near = Probity::new();
    let list = near.command(&["remote", "list", "ssh://far"]).env("PROBITY_SSH", place.ssh()).output().unwrap();
    assert!(text(&list.stdout).contains("killed; its session"), "{}", text(&list.stdout));

    let (far, _) = place.connect(Hello { wait: 0, ..hello("unwanted") });
    assert_eq!(far.wait(), Duration::ZERO);
    drop(far);
    until(|| (place.engines() == ["killed"]).then_some(()));
}

#[test]
fn failed_connection_names_host_reason_and_remedy() {
    let near = Probity::new();
    let said = |script: &str| {
        let place = Place::with(script);
        near.command(&["remote", "list", "ssh://gpu1"]).env("PROBITY_SSH", place.ssh()).output().unwrap()
    };
    let none = "echo 'sh: 1: exec: probity: not found' >&2; exit 127";
    refused(&said(none), 1, &["gpu1: sh: 1: exec: probity: not found", "scp", "ssh://gpu1/path/to/probity"]);
    let key = "echo 'ada@gpu1: Permission denied (publickey).' >&2; exit 255";
    refused(&said(key), 1, &["gpu1: ", "Permission denied", "ssh-copy-id"]);
    refused(&said("printf 'Welcome\\033[2J to gpu1\\n'; sleep 1"), 1, &["gpu1: ", "Welcome", "start-up file"]);
    refused(
        &said("printf 'PB\\011\\012\\0\\0\\0\\0\\0\\0\\0\\0'"),
        1,
        &["gpu1: ", "protocol 9", "update this program"],
    );
    refused(&said("printf 'PB\\002\\012\\377\\377\\377\\377\\0\\0\\0\\0'"), 1, &["gpu1: ", "exceeds the limit"]);
    refused(&said("printf 'PB\\002\\012\\0\\0\\0\\001\\0\\0\\0\\0x'"), 1, &["gpu1: ", "corrupted"]);
    let absent = near.command(&["remote", "list", "ssh://gpu1"]).env("PROBITY_SSH", "/no/such/ssh").output().unwrap();
    refused(&absent, 1, &["gpu1: /no/such/ssh cannot be started", "OpenSSH"]);
    refused(&near.run(&["remote", "list", "gpu1"]), 2, &["ssh://"]);
    refused(&near.run(&["--remote", "ssh://-oProxyCommand=id"]), 2, &["host"]);
    refused(&near.run(&["--attach", "x"]), 2, &["--remote"]);
}

#[test]
fn remote_end_refuses_invalid_requests_and_noise() {
    let place = Place::new();
    let refused = |hello: Hello| match probity::remote::Far::connect(&place.address(), hello, &[]) {
        Ok(_) => panic!("the message was accepted"),
        Err(error) => error.to_string(),
    };
    let device = refused(Hello { device: "gpu9".into(), ..hello("a") });
    assert!(device.starts_with("far: ") && device.contains("gpu9"), "{device}");
    let attach = refused(Hello { want: Want::Attach, ..hello("../../etc") });
    assert!(attach.contains("no engine") && !attach.contains('/'), "{attach}");
    assert!(place.engines().is_empty(), "no folder is left");
    for noise in
        ["", "GET / HTTP/1.0\r\n\r\n", "PB\u{9}x", "\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}"]
    {
        let mut command = place.probity(&["engine", "--stdio"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), noise.as_bytes()).unwrap();
        let output = times_out(child);
        assert!(output.status.success() && output.stdout.len() > 12, "{noise:?}: the problem is reported");
    }
}

/// Three experiments that take a fraction of a second each, on local data.
fn grid() -> String {
    let base = TINY.replace("seed = 5\n", "").replace("examples = 1000", "examples = 1500\ndata = \"rows.jsonl\"");
    let base = base.split("[[method]]\nname = \"inlp\"").next().unwrap().to_owned();
    base + "[grid]\nseed = [1, 2, 3]\n"
}

fn submitted_there_and_followed_here(place: &Place) {
    let near = Probity::new();
    place.sbatch();
    let rows = near.run(&["data", "make", "agreement", "-n", "1500", "--seed", "8"]).stdout;
    near.file("rows.jsonl", &text(&rows));
    let spec = near.file("grid.toml", &grid());
    let dir = place.path().join("a grid").display().to_string();
    let errand = |args: &[&str]| {
        let args = [args, &["--remote", "ssh://far"]].concat();
        near.command(&args).env("PROBITY_SSH", place.ssh()).output().unwrap()
    };
    // Arguments after `--` are passed to sbatch, so the address must precede it.
    let submit = |more: &[&str]| {
        let args = ["submit", "--remote", "ssh://far", "--slurm", &spec, "--out", &dir, "--array", "2"];
        near.command(&[&args[..], more].concat()).env("PROBITY_SSH", place.ssh()).output().unwrap()
    };
    let done = submit(&["--send", "rows.jsonl", "--", "--partition", "gpu"]);
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    let said = text(&done.stdout);
    for words in ["3 cells in 2 jobs", "job 4711", &format!("probity follow --remote ssh://far '{dir}'")] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert!(place.asked().starts_with("--parsable --partition gpu "), "{}", place.asked());
    let script = std::fs::read_to_string(Path::new(&dir).join("submit.sh")).unwrap();
    assert!(script.contains("#SBATCH --partition gpu\n") && script.contains("specs/grid.toml"), "{script}");
    assert!(!script.contains(&near.state.path().display().to_string()), "no local path is in the script");
    let follow = || errand(&["follow", &dir, "--once"]);
    assert!(text(&follow().stdout).contains("3 of 3 cells done"), "{}", text(&follow().stdout));

    // A cell whose part is truncated counts as failed; only its job is resubmitted.
    let parts = std::fs::read_dir(Path::new(&dir).join("parts")).unwrap();
    let part = parts.map(|e| e.unwrap().path()).find(|p| p.extension().is_some_and(|e| e == "jsonl")).unwrap();
    let whole = std::fs::read_to_string(&part).unwrap();
    std::fs::write(&part, &whole[..whole.len() / 2]).unwrap();
    let seen = text(&follow().stdout);
    assert!(seen.contains("2 of 3 cells done, 1 failed") && seen.contains("truncated in the middle"), "{seen}");
    let again = errand(&["submit", "--again", "--out", &dir]);
    assert!(text(&again.stdout).starts_with("job 4711 recomputes 1 cell, in task "), "{}", text(&again.stderr));
    assert!(["--array=1 ", "--array=2 "].iter().any(|a| place.asked().contains(a)), "{}", place.asked());
    assert!(text(&follow().stdout).contains("3 of 3 cells done"));
    refused(&errand(&["submit", "--again", "--out", &dir]), 1, &["far: ", "no cell has failed or been left"]);

    // Files of a different experiment are refused. Data sent earlier can be used by specs that are sent without data.
    let others = near.run(&["data", "make", "agreement", "-n", "1500", "--seed", "9"]).stdout;
    near.file("rows.jsonl", &text(&others));
    refused(&submit(&["--send", "rows.jsonl"]), 1, &["far: ", "rows.jsonl", "different contents", "--out"]);
    near.file("grid.toml", &grid().replace("[1, 2, 3]", "[4]"));
    refused(&submit(&[]), 1, &["far: ", "a different experiment", "grid.jsonl"]);
    near.file("grid.toml", &grid().replace("seed = [1", "seeds = [1"));
    refused(&submit(&[]), 2, &["grid.toml, line", "did you mean `seed`?"]);
}

#[test]
fn login_node_submits_and_client_follows() {
    submitted_there_and_followed_here(&Place::new());
}

/// Every command that uses the link reports an unknown host or a refused key in the same way.
#[test]
fn unknown_host_or_refused_key_is_named_with_a_remedy() {
    let near = Probity::new();
    let spec = near.file("tiny.toml", TINY);
    let unknown = "echo 'ssh: Could not resolve hostname gpu1: Name or service not known' >&2; exit 255";
    let key = "echo 'ada@gpu1: Permission denied (publickey).' >&2; exit 255";
    let none = "echo 'sh: 1: exec: probity: not found' >&2; exit 127";
    for (script, words) in [
        (unknown, ["Could not resolve", "no such host"]),
        (key, ["Permission denied", "ssh-copy-id"]),
        (none, ["not found", "scp"]),
    ] {
        let place = Place::with(script);
        for args in [
            &["remote", "list", "ssh://gpu1"][..],
            &["run", &spec, "--remote", "ssh://gpu1"],
            &["follow", "/grid", "--once", "--remote", "ssh://gpu1"],
            &["--follow", "/grid", "--remote", "ssh://gpu1"],
            &["submit", "--slurm", &spec, "--out", "/grid", "--remote", "ssh://gpu1"],
            &["submit", "--again", "--out", "/grid", "--remote", "ssh://gpu1"],
        ] {
            let output = near.command(args).env("PROBITY_SSH", place.ssh()).output().unwrap();
            refused(&output, 1, &["gpu1: ", words[0], words[1]]);
        }
    }
}

/// A file size limit of a few kilobytes at the far end simulates a full disk.
#[test]
fn full_remote_disk_loses_no_number_and_is_reported() {
    let (near, spec) = (Probity::new(), Spec::parse(TINY, "tiny").unwrap());
    let there = "for there; do :; done\nexec sh -c \"$there\"";
    let full = Place::with(&format!("trap '' XFSZ; ulimit -f 4\n{there}"));
    let (mut far, _) = full.connect(hello("full"));
    let mut events = far.take_events().unwrap();
    far.send(run_of(&spec)).unwrap();
    let board = far::board_of(&spec, &mut events);
    assert_eq!(&findings_of(&board), far::here());
    let notices: Vec<String> = board.notices.iter().map(|n| n.problem.to_string()).collect();
    let told = notices.iter().any(|n| n.contains("full.probity.jsonl") && n.contains("without recording"));
    assert!(told, "{notices:?}");
    far.send(Command::Shutdown).unwrap();
    drop(far);
    until(|| full.engines().is_empty().then_some(()));

    let file = near.file("tiny.toml", TINY);
    let none = Place::with(&format!("trap '' XFSZ; ulimit -f 0\n{there}"));
    let dir = none.path().join("grid").display().to_string();
    let args = ["submit", "--slurm", &file, "--out", &dir, "--remote", "ssh://far"];
    let output = near.command(&args).env("PROBITY_SSH", none.ssh()).output().unwrap();
    refused(&output, 1, &["far: ", "cannot write", &dir]);
}

/// Regression: the error used to give no reason, because the full disk had no space for the reason either.
#[test]
fn engine_without_disk_space_reports_it() {
    let near = Probity::new();
    let file = near.file("tiny.toml", TINY);
    let none = Place::with("trap '' XFSZ; ulimit -f 0\nfor there; do :; done\nexec sh -c \"$there\"");
    let args = ["run", &file, "--remote", "ssh://far", "--no-session", "--quiet"];
    let output = near.command(&args).env("PROBITY_SSH", none.ssh()).output().unwrap();
    refused(&output, 1, &["far: ", "did not start", "File too large"]);
    assert!(!text(&output.stderr).contains(&none.path().display().to_string()), "{}", text(&output.stderr));
    assert!(none.engines().is_empty());
}

#[test]
fn remote_grid_is_followed_like_a_local_one() {
    let (place, near) = (Place::new(), Probity::new());
    let spec = near.file("grid.toml", &format!("{}\n[grid]\nseed = [1, 2, 3]\n", TINY.replace("seed = 5\n", "")));
    let dir = place.path().join("a grid").display().to_string();
    let prepared = place.probity(&["submit", "--slurm", &spec, "--out", &dir, "--dry-run"]).output().unwrap();
    assert!(prepared.status.success(), "{}", text(&prepared.stderr));
    let follow = |args: &[&str]| near.command(args).env("PROBITY_SSH", place.ssh()).output().unwrap();
    for kind in ["--once", "--json"] {
        let here = near.run(&["follow", &dir, "--once", kind][..if kind == "--once" { 3 } else { 4 }]);
        let args = ["follow", "--remote", "ssh://far", &dir, "--once", kind];
        let there = follow(&args[..if kind == "--once" { 5 } else { 6 }]);
        assert!(text(&here.stdout).contains('3'), "{}", text(&here.stdout));
        assert_eq!(text(&there.stdout), text(&here.stdout), "{}", text(&there.stderr));
    }
    refused(&follow(&["follow", "--remote", "ssh://far", "/no/such", "--once"]), 1, &["far: ", "/no/such"]);
}
