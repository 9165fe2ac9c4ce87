//! Hubs that do not respond, send very slowly, or must not receive a token.

use std::fs;
use std::time::Duration;

use super::download_tests::*;
use super::server::{Reply, Server};
use super::*;

#[test]
fn silent_server_times_out_within_the_limit() {
    let defaults = Timeouts::default();
    assert_eq!((defaults.idle, defaults.silence), (Duration::from_secs(30), Duration::from_secs(30)));
    let server = Server::start(|_| Reply { hang: true, ..Reply::default() });
    let dir = tempfile::tempdir().unwrap();
    let mut s = settings(dir.path(), &server.base);
    (s.patience.idle, s.patience.silence, s.patience.tries) =
        (Duration::from_millis(200), Duration::from_millis(200), 9);
    let said = why(&s);
    assert!(said.contains("no response in time"), "{said}");
    assert_eq!(server.log().len(), 1, "the first attempt used the whole time limit");
}

#[test]
fn request_to_silent_server_can_be_cancelled() {
    let server = Server::start(|_| Reply { hang: true, ..Reply::default() });
    let dir = tempfile::tempdir().unwrap();
    let s = settings(dir.path(), &server.base);
    let mut told = 0;
    let stopped = pull("org/m", "main", &s, &mut |_| {
        told += 1;
        if told > 1 { Err(Cancelled) } else { Ok(()) }
    });
    // The configured timeouts are a minute, so the request must have been abandoned before they expired.
    assert!(matches!(stopped, Err(ModelError::Cancelled(_))), "{stopped:?}");
    assert_eq!(server.log().len(), 1);
}

#[test]
fn slow_file_list_times_out_and_can_be_cancelled() {
    let server = Server::start(|_| Reply { status: 200, drip: true, length: Some(1 << 20), ..Reply::default() });
    let dir = tempfile::tempdir().unwrap();
    let mut s = settings(dir.path(), &server.base);
    s.patience.silence = Duration::from_millis(100);
    let said = why(&s);
    assert!(said.contains("its list of files") && said.contains("received only"), "{said}");
    s.patience.silence = Duration::from_secs(600);
    let mut told = 0;
    let stopped = pull("org/m", "main", &s, &mut |_| {
        told += 1;
        if told > 1 { Err(Cancelled) } else { Ok(()) }
    });
    assert!(matches!(stopped, Err(ModelError::Cancelled(_))), "{stopped:?}");
}

#[test]
fn token_is_not_sent_unencrypted() {
    let withheld = |endpoint: &str| {
        let token = Some("hf_secret".to_owned());
        Settings { token, ..settings(Path::new("/nowhere"), endpoint) }.token_withheld()
    };
    for open in
        ["http://mirror.example", "http://10.0.0.7:8080/hub/", "http://127.0.0.1.example", "http://u:p@[2001:db8::1]"]
    {
        assert!(withheld(open).is_some_and(|why| why.contains("plain http")), "{open}");
    }
    for closed in ["https://mirror.example", "http://127.0.0.1:1", "http://localhost:80", "http://[::1]:9/"] {
        assert_eq!(withheld(closed), None, "{closed}");
    }
    let anonymous = settings(Path::new("/nowhere"), "http://mirror.example");
    assert_eq!(anonymous.token_withheld(), None);
}

/// The address 0.0.0.0 reaches the local machine but is not a loopback address, so it can stand for a remote machine.
#[cfg(target_os = "linux")]
#[test]
fn withheld_token_is_reported() {
    let server = Server::start(|_| Reply::status(401));
    let endpoint = server.base.replace("127.0.0.1", "0.0.0.0");
    let dir = tempfile::tempdir().unwrap();
    let s = Settings { token: Some("hf_secret".into()), ..settings(dir.path(), &endpoint) };
    let said = why(&s);
    assert!(said.contains("401") && said.contains("token is not sent"), "{said}");
    assert!(!server.log().is_empty() && server.log().iter().all(|r| r.header("authorization").is_none()));
}

#[test]
fn credentials_in_addresses_are_never_shown() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for endpoint in [
        format!("http://quentin:pa55word@{closed}"),
        "ftp://quentin:pa55word@mirror.example/x".to_owned(),
        "http://quentin:pa55/word@".to_owned(),
        "quentin:pa55word@".to_owned(),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let s = Settings { token: Some("hf_secret".into()), ..settings(dir.path(), &endpoint) };
        let said = format!("{} {s:?}", why(&s));
        assert!(!["quentin", "pa55", "hf_secret"].iter().any(|w| said.contains(w)), "{said}");
    }
    let server = Server::start(|_| Reply::status(404));
    let base = server.base.replace("http://", "http://quentin:pa55word@");
    let said = why(&settings(tempfile::tempdir().unwrap().path(), &base));
    assert!(said.contains("404") && !said.contains("pa55word") && !said.contains("quentin"), "{said}");
}

#[test]
fn shared_etag_is_rejected() {
    let server = serving(repo(), |request, _| {
        let file = request.path.ends_with(".json") && request.path.contains("/resolve/");
        (file || request.path.ends_with(".safetensors")).then(|| {
            let mut reply = repo().answer(request);
            reply.headers.retain(|h| !h.0.to_ascii_lowercase().contains("etag"));
            reply.with("ETag", "\"one-for-all\"")
        })
    });
    let dir = tempfile::tempdir().unwrap();
    let said = why(&settings(dir.path(), &server.base));
    assert!(said.contains("same version (ETag)") && said.contains("config.json"), "{said}");
    assert!(!dir.path().join("models--org--m/refs/main").exists());
}

/// The connection stays open after half of the file. Regression: cancellation used to wait for the read timeout of 30 s.
#[test]
fn stalled_download_can_be_cancelled() {
    let whole = weights_bytes();
    let server = serving(repo(), move |request, _| {
        to_weights(request).then(|| {
            let half = Reply { stall: true, length: Some(whole.len() as u64), ..repo().answer(request) };
            Reply { body: whole[..whole.len() / 2].to_vec(), ..half }
        })
    });
    let dir = tempfile::tempdir().unwrap();
    let s = settings(dir.path(), &server.base);
    let mut arrived = None;
    let stopped = pull("org/m", "main", &s, &mut |t| {
        if t.file == "model.safetensors" && t.done == 100_000 {
            // The first call reports bytes; the user cancels when no further bytes arrive.
            let since = *arrived.get_or_insert_with(std::time::Instant::now);
            if since.elapsed() > Duration::from_millis(100) {
                return Err(Cancelled);
            }
        }
        Ok(())
    });
    assert!(matches!(stopped, Err(ModelError::Cancelled(_))), "{stopped:?}");
    let waited = arrived.unwrap().elapsed();
    assert!(waited < Duration::from_secs(10), "cancellation took {waited:?}");
    assert_eq!(fs::metadata(incomplete(dir.path())).unwrap().len(), 100_000, "received data is kept");
}
