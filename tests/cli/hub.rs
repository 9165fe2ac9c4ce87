//! Runs with a model from a local hub: messages about the token, and secrets that must not be written to a session.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;

use super::common::{Probity, TINY, root, text};

/// Serves a built-in model as `org/m` until the process ends; returns the port.
fn hub() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || answer(stream));
        }
    });
    port
}

fn answer(mut stream: TcpStream) {
    let lines: Vec<String> = BufReader::new(stream.try_clone().unwrap())
        .lines()
        .map_while(Result::ok)
        .take_while(|l| !l.is_empty())
        .collect();
    let Some((method, path)) = lines.first().and_then(|l| l.split_once(' ')) else { return };
    let path = path.split(' ').next().unwrap_or_default();
    let commit = "c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00";
    let files = ["config.json", "model.safetensors", "tokenizer.json"];
    let (status, body) = if path.starts_with("/api/models/org/m/") {
        let siblings: Vec<_> = files.iter().map(|n| serde_json::json!({"rfilename": n})).collect();
        let list = serde_json::json!({"id": "org/m", "sha": commit, "siblings": siblings});
        (200, list.to_string().into_bytes())
    } else {
        let name = path.rsplit('/').next().filter(|n| files.contains(n));
        let read = name.map(|n| std::fs::read(root().join("assets/models/bert-tiny").join(n)).unwrap());
        (if read.is_some() { 200 } else { 404 }, read.unwrap_or_default())
    };
    let head = format!(
        "HTTP/1.1 {status} Said\r\nConnection: close\r\nContent-Length: {length}\r\nETag: \"version-{length}\"\r\n\
         X-Repo-Commit: {commit}\r\nX-Linked-Size: {length}\r\n\r\n",
        length = body.len()
    );
    // A client may disconnect: ignore the error.
    let _ = stream.write_all(head.as_bytes());
    if method != "HEAD" {
        let _ = stream.write_all(&body);
    }
}

/// Downloads or runs the model from a hub at this address, and returns stderr.
fn fetched(probity: &Probity, args: &[&str], endpoint: &str) -> String {
    let mut command = probity.command(args);
    command.env("HF_TOKEN", "hf_secret").env("HF_ENDPOINT", endpoint).env("HF_HUB_OFFLINE", "0");
    let output = command.env("HF_HUB_CACHE", probity.state.path().join("hub")).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stderr)
}

/// Regression: only a failed download used to report that the token was not sent. The wildcard address reaches this machine, but is not
/// recognised as local.
#[cfg(target_os = "linux")]
#[test]
fn successful_fetch_without_token_reports_it() {
    let port = hub();
    let (open, here) = (format!("http://0.0.0.0:{port}"), format!("http://127.0.0.1:{port}"));
    for (endpoint, told) in [(&open, 1), (&here, 0)] {
        let probity = Probity::new();
        let said = fetched(&probity, &["models", "pull", "org/m"], endpoint);
        assert_eq!(said.matches("the token is not sent").count(), told, "{said}");
        let probity = Probity::new();
        let spec = probity.file("spec.toml", &TINY.replace("bert-tiny", "org/m"));
        let said = fetched(&probity, &["run", &spec, "--json"], endpoint);
        assert_eq!(said.matches("the token is not sent").count(), told, "{said}");
        let again = fetched(&probity, &["run", &spec, "--json"], endpoint);
        assert!(!again.contains("the token is not sent"), "nothing was fetched: {again}");
    }
}

#[test]
fn session_omits_credentials_of_the_hub_address() {
    let probity = Probity::new();
    let spec = probity.file("spec.toml", &TINY.replace("bert-tiny", "org/m"));
    let endpoint = format!("http://someuser:somepassword@127.0.0.1:{}", hub());
    let said = fetched(&probity, &["run", &spec], &endpoint);
    assert!(!said.contains("someuser") && !said.contains("somepassword"), "{said}");
    let mut sessions = 0;
    let mut folders = vec![probity.state.path().to_owned()];
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let bytes = std::fs::read(&path).unwrap();
            sessions += usize::from(is_session(&path));
            for secret in [&b"someuser"[..], b"somepassword", b"hf_secret"] {
                assert!(memchr::memmem::find(&bytes, secret).is_none(), "{}", path.display());
            }
        }
    }
    assert_eq!(sessions, 1);
}

fn is_session(path: &Path) -> bool {
    path.display().to_string().ends_with(".probity.jsonl")
}
