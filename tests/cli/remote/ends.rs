//! Engines whose client is killed, and two ends with different versions.

use std::io::Write;
use std::process::Stdio;

use probity::engine::Engine;
use probity::engine::board::Board;
use probity::engine::message::Command;
use probity::lab::Spec;
use probity::remote::frame::PROTOCOL;
use probity::remote::message::{Hello, Message, Want, Welcome};

use super::super::common::{Probity, TINY, refused, text};
use super::far::{self, Place, findings_of, hello, run_of, times_out, until};

#[test]
fn killed_client_can_return_to_its_run() {
    let (place, near) = (Place::new(), Probity::new());
    let spec = near.file("tiny.toml", TINY);
    let args = ["run", &spec, "--remote", "ssh://far", "--session", "left", "--quiet"];
    let mut command = near.command(&args);
    command.env("PROBITY_SSH", place.ssh()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut program = command.spawn().unwrap();
    let session = place.path().join("sessions/left.probity.jsonl");
    until(|| std::fs::read_to_string(&session).ok()?.contains("\"event\":\"started\"").then_some(()));
    program.kill().unwrap();
    program.wait().unwrap();

    // The engine gives control to a new client only after the far end has noticed the end of the dead client's link.
    let (mut again, past) = until(|| {
        let (far, past) = place.connect(Hello { want: Want::Attach, ..hello("left") });
        far.steers().then_some((far, past))
    });
    let mut board = Board::default();
    past.iter().for_each(|entry| entry.fold(&mut board));
    let mut events = again.take_events().unwrap();
    while board.running() {
        board.on_event(&events.blocking_recv().expect("events until the run has ended"));
    }
    assert_eq!(&findings_of(&board), far::here(), "nothing is computed twice, and nothing is lost");
    again.send(Command::Shutdown).unwrap();
    drop(again);
    until(|| place.engines().is_empty().then_some(()));
}

#[test]
fn client_with_other_protocol_gets_a_readable_frame() {
    let place = Place::new();
    for theirs in [PROTOCOL + 1, PROTOCOL.wrapping_sub(1)] {
        let mut greeting = Vec::new();
        Message::Hello(Box::default()).write(&mut greeting).unwrap();
        greeting[2] = theirs;
        let mut command = place.probity(&["engine", "--stdio"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(&greeting).unwrap();
        let output = times_out(child);
        // Every version can read a frame's magic bytes and version.
        assert_eq!(output.stdout[..3], [b'P', b'B', PROTOCOL]);
        match Message::read(&mut output.stdout.as_slice()).unwrap() {
            Message::Refused(why) => {
                assert!(why.contains(&format!("uses protocol {theirs}, but this program uses {PROTOCOL}")), "{why}");
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(place.engines().is_empty());
}

/// A far end that sends these messages and ignores what it receives.
fn saying(messages: &[Message]) -> Place {
    let place = Place::with("cat \"${0%/*}/said\"");
    let mut bytes = Vec::new();
    messages.iter().for_each(|message| message.write(&mut bytes).unwrap());
    std::fs::write(place.path().join("said"), bytes).unwrap();
    place
}

#[test]
fn other_remote_version_is_named_and_other_protocol_refused() {
    let near = Probity::new();
    let spec = near.file("tiny.toml", TINY);
    let run = |place: &Place| {
        let args = ["run", &spec, "--remote", "ssh://far", "--no-session"];
        near.command(&args).env("PROBITY_SSH", place.ssh()).output().unwrap()
    };
    let welcome = Welcome { version: "9.9.9".into(), steers: true, ..Welcome::default() };
    let said = run(&saying(&[Message::Welcome(welcome), Message::Bye]));
    let stderr = text(&said.stderr);
    let warned = format!("far runs Probity 9.9.9, but this is {}", env!("CARGO_PKG_VERSION"));
    assert!(stderr.contains(&warned) && !said.status.success(), "{stderr}");

    for (theirs, way) in [(PROTOCOL + 1, "update this program"), (PROTOCOL - 1, "update the remote program")] {
        let place = saying(&[Message::Welcome(Welcome::default())]);
        let file = place.path().join("said");
        let mut bytes = std::fs::read(&file).unwrap();
        bytes[2] = theirs;
        std::fs::write(&file, bytes).unwrap();
        refused(&run(&place), 1, &["far: ", &format!("protocol {theirs}"), way]);
    }
}

/// Regression: a corrupted first message during reconnection used to end the client's run.
#[test]
fn garbled_greeting_is_retried() {
    let garbled = "if [ -e \"$0.garbled\" ]; then cat \"$0.garbled\"; rm \"$0.garbled\"; sleep 1; exit; fi";
    let place = Place::with(&format!("{garbled}\nfor there; do :; done\nexec sh -c \"$there\""));
    let spec = Spec::parse(TINY, "tiny").unwrap();
    let (mut far, _) = place.connect(hello("garbled"));
    let mut events = far.take_events().unwrap();
    far.send(run_of(&spec)).unwrap();
    let mut bytes = Vec::new();
    Message::Pong.write(&mut bytes).unwrap();
    std::fs::write(place.ssh().with_extension("garbled"), bytes).unwrap();
    place.cut();
    assert_eq!(&findings_of(&far::board_of(&spec, &mut events)), far::here());
    far.send(Command::Shutdown).unwrap();
}
