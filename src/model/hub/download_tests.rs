//! Downloads from a local hub: success, failures, and error messages.

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::server::{Reply, Repo, Request, Server};
use super::*;

/// Weights for tests: 200 kB of data.
pub(super) fn weights_bytes() -> Vec<u8> {
    (0..200_000u32).map(|i| (i.wrapping_mul(i) >> 3) as u8).collect()
}

/// A model with wanted and unwanted files.
pub(super) fn repo() -> Repo {
    Repo::new(&[
        ("config.json", b"{}"),
        ("1_Pooling/config.json", b"{ }"),
        ("model.safetensors", &weights_bytes()),
        ("pytorch_model.bin", b"pickle"),
        ("README.md", b"not wanted"),
    ])
}

/// Settings with a fresh cache in `dir` and the endpoint `base`.
pub(super) fn settings(dir: &Path, base: &str) -> Settings {
    let patience = Timeouts {
        connect: Duration::from_secs(20),
        idle: Duration::from_secs(60),
        silence: Duration::from_secs(60),
        tries: 3,
        pause: Duration::from_millis(1),
    };
    let endpoint = Some(base.to_owned());
    Settings { cache: dir.to_owned(), offline: false, endpoint, token: None, patience }
}

pub(super) fn get(s: &Settings) -> Result<PathBuf> {
    pull("org/m", "main", s, &mut |_| Ok(()))
}

/// Returns the error message when the model is pulled.
pub(super) fn why(s: &Settings) -> String {
    let said = get(s).unwrap_err().to_string();
    assert!(said.starts_with("hub org/m: ") && !said.chars().any(char::is_control), "{said:?}");
    said
}

/// Starts a server for `repo`. `odd` may replace a response; it receives the request and the number of earlier requests for the weights.
pub(super) fn serving(repo: Repo, odd: impl Fn(&Request, usize) -> Option<Reply> + Send + Sync + 'static) -> Server {
    let count = AtomicUsize::new(0);
    Server::start(move |request| {
        let weights = request.method == "GET" && request.path.ends_with("model.safetensors");
        let before = if weights { count.fetch_add(1, Ordering::SeqCst) } else { 0 };
        odd(request, before).unwrap_or_else(|| repo.answer(request))
    })
}

pub(super) fn to_weights(request: &Request) -> bool {
    request.method == "GET" && request.path.ends_with("model.safetensors")
}

/// Path of the partially downloaded weights.
pub(super) fn incomplete(dir: &Path) -> PathBuf {
    dir.join(format!("models--org--m/blobs/{}.incomplete", repo().etag("model.safetensors")))
}

#[test]
fn download_uses_the_standard_layout_and_reports_progress() {
    let server = serving(repo(), |_, _| None);
    let dir = tempfile::tempdir().unwrap();
    let s = settings(dir.path(), &format!("{}/", server.base));
    let mut seen = Vec::new();
    let snapshot = resolve("org/m", "main", &s, &mut |t| {
        seen.push((t.file.to_owned(), t.step, t.done, t.total));
        Ok(())
    })
    .unwrap();
    let root = dir.path().join("models--org--m");
    assert_eq!(snapshot, root.join("snapshots").join(repo().commit));
    assert_eq!(fs::read(snapshot.join("model.safetensors")).unwrap(), weights_bytes());
    assert_eq!(fs::read(snapshot.join("1_Pooling/config.json")).unwrap(), b"{ }");
    assert!(!snapshot.join("README.md").exists() && !snapshot.join("pytorch_model.bin").exists());
    assert_eq!(fs::read_to_string(root.join("refs/main")).unwrap(), repo().commit);
    #[cfg(unix)]
    {
        let blob = format!("blobs/{}", repo().etag("model.safetensors"));
        let link = |file: &str| fs::read_link(snapshot.join(file)).unwrap();
        assert_eq!(link("model.safetensors"), Path::new(&format!("../../{blob}")));
        assert!(link("1_Pooling/config.json").starts_with("../../../blobs"));
    }
    let size = weights_bytes().len() as u64;
    let of_weights: Vec<_> = seen.iter().filter(|t| t.0 == "model.safetensors").collect();
    for step in [Step::Fetching, Step::Verifying] {
        assert!(of_weights.iter().any(|t| t.1 == step && t.2 == size && t.3 == Some(size)), "{step:?}");
    }
    assert!(of_weights.iter().filter(|t| t.1 == Step::Fetching).count() > 2, "in pieces");
    // From here on, files come from the cache, even offline. A second pull contacts the hub but does not download anything.
    let before = server.log().len();
    let offline = Settings { offline: true, ..s.clone() };
    assert_eq!(resolve("org/m", "main", &offline, &mut |_| Ok(())).unwrap(), snapshot);
    assert_eq!(server.log().len(), before);
    assert_eq!(get(&s).unwrap(), snapshot);
    assert_eq!(server.gets(".safetensors").len(), 1);
    let listed = cached(&s);
    assert_eq!(listed.len(), 1);
    assert_eq!((listed[0].id.as_str(), listed[0].revision.as_str()), ("org/m", "main"));
    assert!(pull("org/m", "main", &offline, &mut |_| Ok(())).unwrap_err().to_string().contains("HF_HUB_OFFLINE"));
}

#[test]
fn broken_connection_is_resumed() {
    let server = serving(repo(), |request, before| {
        let mut reply = repo().answer(request);
        (to_weights(request) && before == 0).then(|| {
            reply.length = Some(reply.body.len() as u64);
            reply.body.truncate(70_000);
            reply
        })
    });
    let dir = tempfile::tempdir().unwrap();
    let snapshot = get(&settings(dir.path(), &server.base)).unwrap();
    assert_eq!(fs::read(snapshot.join("model.safetensors")).unwrap(), weights_bytes());
    let froms: Vec<Option<usize>> = server.gets("model.safetensors").iter().map(Request::from).collect();
    assert_eq!(froms, [None, Some(70_000)]);
}

#[test]
fn partial_download_is_kept() {
    let server = serving(repo(), |request, before| {
        let mut reply = repo().answer(request);
        (to_weights(request) && before < 4).then(|| {
            reply.length = Some(reply.body.len() as u64);
            reply.body.truncate(if before == 0 { 50_000 } else { 0 });
            reply
        })
    });
    let dir = tempfile::tempdir().unwrap();
    let s = settings(dir.path(), &server.base);
    let said = why(&s);
    assert!(said.contains("model.safetensors") && said.contains("received data is kept"), "{said}");
    assert_eq!(fs::metadata(incomplete(dir.path())).unwrap().len(), 50_000);
    assert!(!dir.path().join("models--org--m/refs/main").exists(), "no reference points to an incomplete model");
    let snapshot = get(&s).unwrap();
    assert_eq!(fs::read(snapshot.join("model.safetensors")).unwrap(), weights_bytes());
    assert!(server.gets("model.safetensors").iter().all(|r| r.from().is_none_or(|f| f == 50_000)));
    assert!(!incomplete(dir.path()).exists());
}

#[test]
fn download_restarts_if_ranges_are_unsupported() {
    let server = serving(repo(), |request, _| {
        to_weights(request).then(|| Reply { status: 200, body: weights_bytes(), ..Reply::default() })
    });
    let dir = tempfile::tempdir().unwrap();
    let at = incomplete(dir.path());
    fs::create_dir_all(at.parent().unwrap()).unwrap();
    fs::write(&at, &weights_bytes()[..1000]).unwrap();
    let snapshot = get(&settings(dir.path(), &server.base)).unwrap();
    assert_eq!(server.gets("model.safetensors")[0].from(), Some(1000));
    assert_eq!(fs::read(snapshot.join("model.safetensors")).unwrap(), weights_bytes());
}

#[test]
fn file_with_wrong_hash_is_removed() {
    let server = serving(repo(), |request, _| {
        let mut reply = repo().answer(request);
        to_weights(request).then(|| {
            reply.body[17] ^= 1;
            reply
        })
    });
    let dir = tempfile::tempdir().unwrap();
    let said = why(&settings(dir.path(), &server.base));
    assert!(said.contains("model.safetensors has the wrong contents (SHA-256"), "{said}");
    assert!(said.contains("fetch it again"), "{said}");
    assert!(!incomplete(dir.path()).exists());
    assert!(!dir.path().join("models--org--m/blobs").join(repo().etag("model.safetensors")).exists());
}

#[test]
fn damaged_partial_download_is_refetched_once() {
    let server = serving(repo(), |_, _| None);
    let dir = tempfile::tempdir().unwrap();
    let at = incomplete(dir.path());
    fs::create_dir_all(at.parent().unwrap()).unwrap();
    fs::write(&at, [0xAA; 5000]).unwrap();
    let snapshot = get(&settings(dir.path(), &server.base)).unwrap();
    assert_eq!(fs::read(snapshot.join("model.safetensors")).unwrap(), weights_bytes());
    let froms: Vec<Option<usize>> = server.gets("model.safetensors").iter().map(Request::from).collect();
    assert_eq!(froms, [Some(5000), None]);
    // A partial download that is longer than the file is deleted before any request.
    let dir = tempfile::tempdir().unwrap();
    let at = incomplete(dir.path());
    fs::create_dir_all(at.parent().unwrap()).unwrap();
    fs::write(&at, vec![1; 300_000]).unwrap();
    assert!(get(&settings(dir.path(), &server.base)).is_ok());
}

#[test]
fn network_failure_error_has_a_remedy() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let said = why(&settings(dir.path(), &format!("http://{closed}")));
    assert!(said.contains("connection refused") && said.contains("HF_HUB_OFFLINE=1"), "{said}");
    for bad in ["ftp://x", "nonsense", "http://", "\u{1b}[2J"] {
        let said = why(&settings(dir.path(), bad));
        assert!(said.contains("HF_ENDPOINT is not an http address"), "{said}");
    }
    let token = Some("a\r\nX: y".to_owned());
    let said = why(&Settings { token, ..settings(dir.path(), "http://127.0.0.1:1") });
    assert!(said.contains("HF_TOKEN"), "{said}");
}

#[test]
fn http_errors_name_the_file_and_the_token() {
    for (status, words) in [
        (401, ["HF_TOKEN", "config.json"]),
        (403, ["gated", "HF_TOKEN"]),
        (404, ["no such model, revision or file", "config.json"]),
        (418, ["418", "config.json"]),
        (503, ["503", "HF_ENDPOINT"]),
    ] {
        let server = serving(repo(), move |r, _| r.path.ends_with("config.json").then(|| Reply::status(status)));
        let dir = tempfile::tempdir().unwrap();
        let said = why(&settings(dir.path(), &server.base));
        assert!(words.iter().all(|w| said.contains(w)), "{said}");
    }
    let server = Server::start(|_| Reply::status(404));
    let said = why(&settings(tempfile::tempdir().unwrap().path(), &server.base));
    assert!(said.contains("no such model"), "{said}");
}

#[test]
fn busy_server_is_retried() {
    let server = serving(repo(), |request, before| (to_weights(request) && before < 2).then(|| Reply::status(429)));
    let dir = tempfile::tempdir().unwrap();
    assert!(get(&settings(dir.path(), &server.base)).is_ok());
    assert_eq!(server.gets("model.safetensors").len(), 3);
}

#[test]
fn hanging_server_times_out() {
    let server = Server::start(|_| Reply { hang: true, ..Reply::default() });
    let dir = tempfile::tempdir().unwrap();
    let mut s = settings(dir.path(), &server.base);
    (s.patience.idle, s.patience.tries) = (Duration::from_millis(150), 2);
    let mut asked = 0;
    let given_up = pull("org/m", "main", &s, &mut |t| {
        asked += usize::from(t.step == Step::Asking);
        Ok(())
    });
    let said = given_up.unwrap_err().to_string();
    assert!(said.contains("no response in time"), "{said}");
    assert_eq!(asked, 2);
    // The hub stops sending in the middle of a file.
    let server = serving(repo(), |request, _| {
        let mut reply = repo().answer(request);
        to_weights(request).then(|| {
            reply.length = Some(reply.body.len() as u64);
            reply.body.truncate(1000);
            reply.stall = true;
            reply
        })
    });
    s.endpoint = Some(server.base.clone());
    (s.patience.idle, s.patience.tries) = (Duration::from_secs(3), 1);
    let said = why(&s);
    assert!(said.contains("model.safetensors") && said.contains("interrupted after 1000 bytes"), "{said}");
}

#[test]
fn token_is_sent_only_to_the_endpoint() {
    let store = Server::start(|request| repo().answer(request));
    let elsewhere = store.base.clone();
    let server = serving(repo(), move |request, _| {
        let whole = request.path.ends_with("model.safetensors");
        whole.then(|| {
            let mut reply = repo().answer(request).with("Location", format!("{elsewhere}{}", request.path));
            (reply.status, reply.body) = (302, b"Found".to_vec());
            reply
        })
    });
    let dir = tempfile::tempdir().unwrap();
    let s = Settings { token: Some("hf_secret".into()), ..settings(dir.path(), &server.base) };
    let snapshot = get(&s).unwrap();
    assert_eq!(fs::read(snapshot.join("model.safetensors")).unwrap(), weights_bytes());
    assert!(server.log().iter().all(|r| r.header("authorization") == Some("Bearer hf_secret")));
    assert_eq!(store.log().len(), 1, "only the file is requested; the hub describes it");
    assert!(store.log().iter().all(|r| r.header("authorization").is_none()));
}

#[test]
fn redirects_on_one_host_are_limited() {
    let server = serving(repo(), |request, _| {
        let moved = request.path.strip_prefix("/org/m/").map(|rest| format!("/moved/m/{rest}"));
        let back = request.path.strip_prefix("/moved/m/").map(|rest| format!("/org/m/{rest}"));
        if let Some(path) = moved {
            return Some(Reply::status(307).with("Location", path));
        }
        back.map(|path| repo().answer(&Request { path, ..request.clone() }))
    });
    let dir = tempfile::tempdir().unwrap();
    assert!(get(&settings(dir.path(), &server.base)).is_ok());
    for (to, said) in [("/x", "redirects"), ("ftp://x/", "neither http nor https"), ("::", "neither http nor https")] {
        let server = Server::start(move |_| Reply::status(302).with("Location", to));
        let text = why(&settings(tempfile::tempdir().unwrap().path(), &server.base));
        assert!(text.contains(said), "{text}");
    }
}

#[test]
fn file_larger_than_free_space_is_rejected_first() {
    for announced in ["10000000000000000000", "99999999999999999999999999"] {
        let server = serving(repo(), move |request, _| {
            (request.path.ends_with("model.safetensors")).then(|| {
                let mut reply = repo().answer(request);
                reply.headers.retain(|h| h.0 != "X-Linked-Size");
                reply.with("X-Linked-Size", announced)
            })
        });
        let dir = tempfile::tempdir().unwrap();
        let said = why(&settings(dir.path(), &server.base));
        assert!(said.contains("HF_HUB_CACHE") || said.contains("does not state the length"), "{said}");
        assert!(server.gets("model.safetensors").is_empty());
    }
    let server = serving(repo(), |request, _| {
        let mut reply = repo().answer(request);
        to_weights(request).then(|| {
            reply.body.extend([0; 1000]);
            reply
        })
    });
    let said = why(&settings(tempfile::tempdir().unwrap().path(), &server.base));
    assert!(said.contains("sent more than the 200000 bytes"), "{said}");
}

#[test]
fn branches_and_tags_can_be_requested() {
    for revision in ["v1.0", "refs/pr/1"] {
        let server = serving(Repo { revision, ..repo() }, |_, _| None);
        let dir = tempfile::tempdir().unwrap();
        let s = settings(dir.path(), &server.base);
        let snapshot = pull("org/m", revision, &s, &mut |_| Ok(())).unwrap();
        let offline = Settings { offline: true, ..s };
        assert_eq!(resolve("org/m", revision, &offline, &mut |_| Ok(())).unwrap(), snapshot);
        assert!(resolve("org/m", "main", &offline, &mut |_| Ok(())).is_err());
    }
}

#[test]
fn names_from_the_server_cannot_leave_the_cache() {
    for bad in ["\"../../../x\"", "\"a/b\"", "\"\"", "\"\\..\\x\""] {
        let server = serving(repo(), move |request, _| {
            request.path.ends_with("/config.json").then(|| Reply::status(200).with("ETag", bad))
        });
        let dir = tempfile::tempdir().unwrap();
        let said = why(&settings(dir.path(), &server.base));
        assert!(said.contains("cannot be a file name"), "{said}");
    }
    for commit in ["../../x", "", "a/b"] {
        let server = serving(Repo { commit, ..repo() }, |_, _| None);
        let said = why(&settings(tempfile::tempdir().unwrap().path(), &server.base));
        assert!(said.contains("invalid commit id"), "{said}");
    }
    let server = Server::start(|_| Reply { status: 200, body: b"<html>sign in</html>".to_vec(), ..Reply::default() });
    let said = why(&settings(tempfile::tempdir().unwrap().path(), &server.base));
    assert!(said.contains("does not have the hub's format"), "{said}");
}

#[test]
fn only_indexed_shards_are_fetched() {
    let index = br#"{"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}"#;
    let files: [(&str, &[u8]); 4] =
        [("config.json", b"{}"), (INDEX, index), ("model-1.safetensors", b"1"), ("model-2.safetensors", b"22")];
    let server = serving(Repo::new(&files), |_, _| None);
    let dir = tempfile::tempdir().unwrap();
    let snapshot = get(&settings(dir.path(), &server.base)).unwrap();
    assert_eq!(fs::read(snapshot.join("model-2.safetensors")).unwrap(), b"22");
    let server = serving(Repo::new(&files[..3]), |_, _| None);
    let said = why(&settings(tempfile::tempdir().unwrap().path(), &server.base));
    assert!(said.contains("lists model-2.safetensors, which the hub does not have"), "{said}");
    let server = serving(Repo::new(&[("config.json", b"{}"), ("pytorch_model.bin", b"x")]), |_, _| None);
    let said = why(&settings(tempfile::tempdir().unwrap().path(), &server.base));
    assert!(said.contains("probity models convert"), "{said}");
    assert!(server.gets(".bin").is_empty(), "pickled weights are not fetched");
}

#[test]
fn concurrent_downloads_fetch_a_file_once() {
    let server = serving(repo(), |_, _| None);
    let dir = tempfile::tempdir().unwrap();
    let s = settings(dir.path(), &server.base);
    // File locks belong to open files, so two threads behave like two processes.
    std::thread::scope(|scope| {
        let both = [scope.spawn(|| get(&s)), scope.spawn(|| get(&s))];
        both.into_iter().for_each(|t| assert!(t.join().unwrap().is_ok()));
    });
    assert_eq!(server.gets("model.safetensors").len(), 1);
}

#[test]
fn download_can_be_cancelled_and_resumed() {
    let server = serving(repo(), |_, _| None);
    let dir = tempfile::tempdir().unwrap();
    let s = settings(dir.path(), &server.base);
    let stopped = pull("org/m", "main", &s, &mut |t| {
        if t.file == "model.safetensors" && t.done > 0 { Err(Cancelled) } else { Ok(()) }
    });
    assert!(matches!(stopped, Err(ModelError::Cancelled(_))), "{stopped:?}");
    let have = fs::metadata(incomplete(dir.path())).unwrap().len();
    assert!(have > 0);
    assert!(get(&s).is_ok());
    assert_eq!(server.gets("model.safetensors")[1].from(), Some(have as usize));
}
