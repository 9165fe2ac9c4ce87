//! A local hub for tests, with the hub's real paths and headers, and with failures on demand.

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use sha2::{Digest, Sha256};

use base::files::hex;

#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// `GET` or `HEAD`.
    pub method: String,
    /// Path from the first slash on.
    pub path: String,
    /// Headers with lower-case names.
    pub(crate) headers: HashMap<String, String>,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// First byte of the requested range.
    pub(crate) fn from(&self) -> Option<usize> {
        self.header("range")?.strip_prefix("bytes=")?.trim_end_matches('-').parse().ok()
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Reply {
    pub status: u16,
    /// Headers to send in addition to the usual ones.
    pub(crate) headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
    /// Announced length, if different from the length of the body.
    pub length: Option<u64>,
    /// True if nothing is sent and the connection stays open.
    pub hang: bool,
    /// True if occasional spaces are sent without ever ending the body.
    pub(crate) drip: bool,
    /// True if the connection stays open after the response.
    pub(crate) stall: bool,
}

impl Reply {
    /// Creates an empty response.
    pub(crate) fn status(status: u16) -> Reply {
        Reply { status, ..Reply::default() }
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Reply {
        self.headers.push((name, value.into()));
        self
    }
}

/// A server that answers every request by calling a function.
pub(crate) struct Server {
    /// Address without a trailing slash.
    pub base: String,
    log: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    /// Starts a server on a free port.
    pub(crate) fn start(answer: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let log = Arc::new(Mutex::new(Vec::new()));
        let (seen, answer) = (log.clone(), Arc::new(answer));
        // Runs until the process ends. Each connection has its own thread, so a hanging connection does not block others.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (seen, answer) = (seen.clone(), answer.clone());
                std::thread::spawn(move || serve(stream, &seen, &*answer));
            }
        });
        Server { base, log }
    }

    pub(crate) fn log(&self) -> Vec<Request> {
        self.log.lock().unwrap().clone()
    }

    /// Requests for the bodies of files with this suffix.
    pub(crate) fn gets(&self, end: &str) -> Vec<Request> {
        self.log().into_iter().filter(|r| r.method == "GET" && r.path.ends_with(end)).collect()
    }
}

fn serve(mut stream: TcpStream, log: &Mutex<Vec<Request>>, answer: &dyn Fn(&Request) -> Reply) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
    let Some(first) = lines.next() else { return };
    let mut words = first.split(' ').map(str::to_owned);
    let (method, path) = (words.next().unwrap(), words.next().unwrap());
    let pairs = lines.take_while(|l| !l.is_empty());
    let headers =
        pairs.filter_map(|l| l.split_once(": ").map(|(k, v)| (k.to_ascii_lowercase(), v.to_owned()))).collect();
    let request = Request { method, path, headers };
    log.lock().unwrap().push(request.clone());
    let reply = answer(&request);
    if reply.hang {
        std::thread::sleep(std::time::Duration::from_secs(600));
        return;
    }
    let length = reply.length.unwrap_or(reply.body.len() as u64);
    let mut head = format!("HTTP/1.1 {} Said\r\nConnection: close\r\nContent-Length: {length}\r\n", reply.status);
    for (name, value) in &reply.headers {
        head += &format!("{name}: {value}\r\n");
    }
    // The client may have disconnected; tests check that themselves.
    let _ = stream.write_all((head + "\r\n").as_bytes());
    if request.method != "HEAD" {
        let _ = stream.write_all(&reply.body);
    }
    let _ = stream.flush();
    while reply.drip && stream.write_all(b" ").and_then(|()| stream.flush()).is_ok() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    if reply.stall && request.method != "HEAD" {
        std::thread::sleep(std::time::Duration::from_secs(600));
    }
}

/// A model hosted by a hub.
#[derive(Clone)]
pub(crate) struct Repo {
    /// `organisation/name`.
    pub id: &'static str,
    pub revision: &'static str,
    pub commit: &'static str,
    /// File contents by path.
    pub files: BTreeMap<String, Vec<u8>>,
}

impl Repo {
    pub(crate) fn new(files: &[(&str, &[u8])]) -> Repo {
        let files = files.iter().map(|(n, b)| ((*n).to_owned(), b.to_vec())).collect();
        Repo { id: "org/m", revision: "main", commit: "c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00", files }
    }

    /// ETag of a file: SHA-256 for weights, as in Git LFS, and a shorter hash for others.
    pub(crate) fn etag(&self, name: &str) -> String {
        let hash = hex(&Sha256::digest(&self.files[name]));
        if name.ends_with(".safetensors") { hash } else { hash[..40].to_owned() }
    }

    /// The hub's regular response.
    pub(crate) fn answer(&self, request: &Request) -> Reply {
        if request.path == format!("/api/models/{}/revision/{}", self.id, self.revision.replace('/', "%2F")) {
            let siblings: Vec<_> = self.files.keys().map(|n| serde_json::json!({"rfilename": n})).collect();
            let body = serde_json::json!({"id": self.id, "sha": self.commit, "siblings": siblings});
            return Reply { status: 200, body: body.to_string().into_bytes(), ..Reply::default() };
        }
        let prefix = format!("/{}/resolve/{}/", self.id, self.commit);
        let Some(name) = request.path.strip_prefix(&prefix).filter(|n| self.files.contains_key(*n)) else {
            return Reply::status(404);
        };
        let all = &self.files[name];
        let from = request.from().unwrap_or(0).min(all.len());
        let mut reply = Reply::status(if request.from().is_some() { 206 } else { 200 })
            .with("X-Repo-Commit", self.commit)
            .with("ETag", format!("W/\"{}\"", self.etag(name)));
        if name.ends_with(".safetensors") {
            reply = reply.with("X-Linked-Etag", format!("\"{}\"", self.etag(name)));
            reply = reply.with("X-Linked-Size", all.len().to_string());
        }
        if request.from().is_some() {
            reply = reply.with("Content-Range", format!("bytes {from}-{}/{}", all.len() - 1, all.len()));
        }
        reply.body = all[from..].to_vec();
        reply
    }
}
