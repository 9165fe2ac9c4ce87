//! Downloads of models, file by file, with resumption after broken connections and verification by hash.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel, sync_channel};
use std::time::{Duration, Instant};

use hf_hub::api::RepoInfo;
use hf_hub::{Repo, RepoType};
use sha2::{Digest, Sha256};
use ureq::http::{HeaderMap, Response, StatusCode, header};

use super::super::error::{ModelError, Result};
use super::super::source::{INDEX, LARGEST_TEXT, PICKLED};
use super::super::weights;
use super::http::{Client, Failure};
use super::store::{Store, is_plain};
use super::{OnTransfer, Settings, Step, Transfer, WANTED};
use base::files::hex;

/// Maximum size of a model's file list.
const LARGEST_LIST: u64 = 16 << 20;

/// Interval at which pending requests check for cancellation.
const LOOK: Duration = Duration::from_millis(500);

/// Disk space that downloads leave free.
const SPARE: u64 = 64 << 20;

struct About {
    etag: String,
    size: Option<u64>,
}

struct Fetch<'a, 'b> {
    id: &'a str,
    client: Client,
    store: Store,
    commit: String,
    /// File and size by ETag, to detect clashes.
    seen: BTreeMap<String, (String, Option<u64>)>,
    on: &'a mut OnTransfer<'b>,
}

/// Downloads a model and returns its snapshot folder.
pub(super) fn fetch(id: &str, revision: &str, settings: &Settings, on: &mut OnTransfer<'_>) -> Result<PathBuf> {
    let failed = |what: String| ModelError::Hub { id: id.to_owned(), what };
    let client = Client::new(settings).map_err(failed)?;
    let store = Store::new(&settings.cache, id);
    fs::create_dir_all(&store.root).map_err(ModelError::io(&store.root))?;
    let mut fetch = Fetch { id, client, store, commit: String::new(), seen: BTreeMap::new(), on };
    let info = fetch.info(revision)?;
    if !is_plain(&info.sha) {
        return Err(failed("the server returned an invalid commit id".into()));
    }
    fetch.commit = info.sha;
    let has = |name: &str| info.siblings.iter().any(|s| s.rfilename == name);
    if !has("config.json") {
        return Err(failed("it has no config.json, so it cannot be loaded as a model".into()));
    }
    for name in WANTED.iter().filter(|n| has(n)) {
        fetch.file(name)?;
    }
    let folder = fetch.store.snapshot(&fetch.commit);
    if has("model.safetensors") {
        fetch.file("model.safetensors")?;
    } else if has(INDEX) {
        let path = folder.join(INDEX);
        let index = base::read::text(&path, LARGEST_TEXT).map_err(ModelError::io(&path))?;
        for shard in weights::shards(&path.display().to_string(), &index, ".safetensors")? {
            if !has(&shard) {
                return Err(failed(format!("{INDEX} lists {shard}, which the hub does not have")));
            }
            fetch.file(&shard)?;
        }
    } else {
        return Err(failed(format!("it has no safetensors weights; {PICKLED}")));
    }
    // Set last, so that the reference never points to an incomplete model.
    if fetch.commit != revision {
        fetch.store.set_ref(revision, &fetch.commit)?;
    }
    Ok(folder)
}

impl Fetch<'_, '_> {
    fn failed(&self, what: String) -> ModelError {
        ModelError::Hub { id: self.id.to_owned(), what }
    }

    /// Reports progress to the caller, who can cancel the download.
    fn tell(&mut self, file: &str, step: Step, done: u64, total: Option<u64>) -> Result<()> {
        Ok((self.on)(&Transfer { model: self.id, file, step, done, total })?)
    }

    fn info(&mut self, revision: &str) -> Result<RepoInfo> {
        let repo = Repo::with_revision(self.id.to_owned(), RepoType::Model, revision.to_owned());
        let path = format!("/api/{}", repo.api_url());
        let body = self.with_retries("its list of files", move |client| {
            let (begun, whole) = (Instant::now(), client.patience.silence * 2);
            let mut reader = client.get(&path, 0)?.into_body().into_reader().take(LARGEST_LIST + 1);
            let (mut text, mut buffer) = (Vec::new(), [0; 1 << 14]);
            // The limit also covers a server that occasionally sends a byte, which would satisfy the timeout of each read.
            loop {
                match reader.read(&mut buffer) {
                    Ok(0) => return Ok(text),
                    Ok(n) => text.extend_from_slice(&buffer[..n]),
                    Err(e) => return Err(Failure::Passing(said(&e))),
                }
                if begun.elapsed() > whole {
                    let come = text.len();
                    return Err(Failure::Away(format!("received only {come} bytes in {} s", whole.as_secs())));
                }
            }
        })?;
        if body.len() as u64 > LARGEST_LIST {
            return Err(self.failed(format!("its list of files is longer than {LARGEST_LIST} bytes")));
        }
        serde_json::from_slice(&body).map_err(|e| {
            self.failed(format!("the list of files does not have the hub's format ({e}); check HF_ENDPOINT"))
        })
    }

    /// Sends a request on a separate thread, so that a silent server cannot prevent cancellation. An abandoned thread ends with its own
    /// timeout.
    fn aside<T: Send + 'static>(
        &mut self,
        (file, step, done, total): (&str, Step, u64, Option<u64>),
        ask: impl FnOnce(&Client) -> std::result::Result<T, Failure> + Send + 'static,
    ) -> Result<std::result::Result<T, Failure>> {
        let (client, (send, answer)) = (self.client.clone(), channel());
        std::thread::spawn(move || send.send(ask(&client)));
        loop {
            match answer.recv_timeout(LOOK) {
                Ok(answer) => return Ok(answer),
                Err(RecvTimeoutError::Timeout) => self.tell(file, step, done, total)?,
                Err(RecvTimeoutError::Disconnected) => {
                    return Ok(Err(Failure::Final("the request ended without a response".into())));
                }
            }
        }
    }

    /// Sends a request, retrying as long as this may help.
    fn with_retries<T: Send + 'static>(
        &mut self,
        file: &str,
        ask: impl Fn(&Client) -> std::result::Result<T, Failure> + Clone + Send + 'static,
    ) -> Result<T> {
        let patience = self.client.patience;
        let begun = Instant::now();
        let mut attempt = 0;
        loop {
            self.tell(file, Step::Asking, 0, None)?;
            match self.aside((file, Step::Asking, 0, None), ask.clone())? {
                Ok(value) => return Ok(value),
                Err(Failure::Passing(_)) if attempt + 1 < patience.tries && begun.elapsed() < patience.silence => {
                    attempt += 1;
                }
                Err(failure) => return Err(self.explain(file, failure)),
            }
            std::thread::sleep(patience.pause * (1 << (attempt - 1).min(6)));
        }
    }

    /// Describes a failure and its remedy.
    fn explain(&self, file: &str, failure: Failure) -> ModelError {
        let what = match failure {
            Failure::Passing(what) | Failure::Away(what) => format!(
                "cannot fetch {file}: {what}; check the network and HF_ENDPOINT, then try again; received data is \
                 kept (HF_HUB_OFFLINE=1 uses only the cache)"
            ),
            Failure::Final(what) => format!("cannot fetch {file}: {}", what.escape_debug()),
            Failure::Status(StatusCode::UNAUTHORIZED) => format!(
                "{} refuses {file} (401): the name is wrong, or the model is private or gated; in that case accept its \
                 terms there and set HF_TOKEN",
                self.client.shown()
            ),
            Failure::Status(StatusCode::FORBIDDEN) => format!(
                "{} refuses {file} (403): the model is gated; accept its terms there and set HF_TOKEN to a token from \
                 that account",
                self.client.shown()
            ),
            Failure::Status(StatusCode::NOT_FOUND) => format!(
                "{} has no such model, revision or file ({file}, 404); check name and revision, and HF_TOKEN if it is \
                 private",
                self.client.shown()
            ),
            Failure::Status(status) => format!("cannot fetch {file}: the server responded with {status}"),
        };
        self.failed(match self.client.withheld {
            Some(why) => format!("{what} ({why})"),
            None => what,
        })
    }

    /// Downloads one file into the snapshot.
    fn file(&mut self, file: &str) -> Result<()> {
        let path = format!("/{}/resolve/{}/{file}", self.id, self.commit);
        let asked = path.clone();
        let headers = self.with_retries(file, move |client| client.describe(&asked))?;
        let about = describe(&headers).map_err(|what| self.failed(format!("{file}: {what}")))?;
        // Files with equal contents have equal ETags and sizes. Different contents with the same ETag could not be distinguished.
        let twin = self.seen.insert(about.etag.clone(), (file.to_owned(), about.size));
        if let Some((other, size)) =
            twin.filter(|(other, size)| other != file && (size.is_none() || *size != about.size))
        {
            let lengths = [size, about.size].map(|n| n.map_or("unknown".into(), |n| format!("{n} bytes")));
            return Err(self.failed(format!(
                "the server gives {file} and {other} the same version (ETag) but different lengths ({}, {}), so their \
                 contents cannot be distinguished; check HF_ENDPOINT",
                lengths[1], lengths[0]
            )));
        }
        let blob = self.store.blob(&about.etag);
        let whole = |blob: &Path| fs::metadata(blob).is_ok_and(|m| about.size.is_none_or(|s| m.len() == s));
        if !whole(&blob) {
            let lock = {
                let (store, on, id) = (&self.store, &mut *self.on, self.id);
                store.lock(&about.etag, &mut || {
                    let waiting = Transfer { model: id, file, step: Step::Waiting, done: 0, total: about.size };
                    Ok(on(&waiting)?)
                })?
            };
            if !whole(&blob) {
                self.download(file, &path, &about)?;
            }
            drop(lock);
        }
        self.store.link(&self.commit, file, &about.etag)
    }

    /// Downloads the rest of a blob and verifies it, holding its lock.
    fn download(&mut self, file: &str, path: &str, about: &About) -> Result<()> {
        let weights = file.ends_with(".safetensors");
        if weights && about.size.is_none() {
            return Err(self.failed(format!("the server does not state the length of {file}")));
        }
        if !weights && about.size.is_some_and(|s| s > LARGEST_TEXT) {
            return Err(self
                .failed(format!("{file} has more than {LARGEST_TEXT} bytes, the limit for files other than weights")));
        }
        let incomplete = self.store.incomplete(&about.etag);
        let io = |e| ModelError::Io { path: incomplete.clone(), source: e };
        let out = File::options().create(true).truncate(false).read(true).write(true).open(&incomplete);
        let out = &mut out.map_err(io)?;
        let mut resumed = out.metadata().map_err(io)?.len() > 0;
        loop {
            let have = out.metadata().map_err(io)?.len();
            let need = about.size.unwrap_or(0).saturating_sub(have);
            if let Some(free) = self.store.free_space().filter(|f| f.saturating_sub(SPARE) < need) {
                return Err(self.failed(format!(
                    "{file} needs {need} more bytes, but {} has only {free} free; free some space, or set HF_HUB_CACHE \
                     to a folder on a different disk",
                    self.store.root.display()
                )));
            }
            self.receive(file, path, about, out, &incomplete)?;
            out.sync_all().map_err(io)?;
            match self.verify(file, about, out, &incomplete)? {
                None => break,
                // The earlier part may be damaged: retries once, from the beginning.
                Some(_) if resumed => {
                    out.set_len(0).map_err(io)?;
                    resumed = false;
                }
                Some(what) => {
                    fs::remove_file(&incomplete).map_err(io)?;
                    return Err(self.failed(format!(
                        "{file} has the wrong contents ({what}) and was removed; a proxy or mirror changed it: fetch it \
                         again, or set HF_ENDPOINT to a different server"
                    )));
                }
            }
        }
        fs::rename(&incomplete, self.store.blob(&about.etag)).map_err(io)
    }

    /// Receives data, starting at the file's current length, until the file is complete.
    fn receive(&mut self, file: &str, path: &str, about: &About, out: &mut File, at: &Path) -> Result<()> {
        let io = |e| ModelError::Io { path: at.to_owned(), source: e };
        let patience = self.client.patience;
        let (mut idle, mut last) = (0, Instant::now());
        loop {
            let mut have = out.seek(SeekFrom::End(0)).map_err(io)?;
            if about.size.is_some_and(|s| have > s) {
                out.set_len(0).map_err(io)?;
                have = 0;
            }
            self.tell(file, Step::Fetching, have, about.size)?;
            if about.size == Some(have) {
                return Ok(());
            }
            let asked = path.to_owned();
            let now = (file, Step::Fetching, have, about.size);
            let failure = match self.aside(now, move |client| client.get(&asked, have))? {
                Ok(response) => match begin(&response, have) {
                    Ok(from) => {
                        out.set_len(from).map_err(io)?;
                        out.seek(SeekFrom::End(0)).map_err(io)?;
                        match self.copy(file, about, response, out, at, from)? {
                            None => return Ok(()),
                            Some((failure, arrived)) => {
                                if arrived {
                                    (idle, last) = (0, Instant::now());
                                }
                                failure
                            }
                        }
                    }
                    Err(failure) => {
                        out.set_len(0).map_err(io)?;
                        failure
                    }
                },
                Err(failure) => failure,
            };
            idle += 1;
            let silent = last.elapsed() >= patience.silence;
            if !matches!(failure, Failure::Passing(_)) || idle >= patience.tries || silent {
                return Err(self.explain(file, failure));
            }
            std::thread::sleep(patience.pause * (1 << (idle - 1).min(6)));
        }
    }

    /// Copies a response body to the file. `Some` contains the reason for a failure, and whether any bytes have arrived.
    fn copy(
        &mut self,
        file: &str,
        about: &About,
        response: Response<ureq::Body>,
        out: &mut File,
        at: &Path,
        from: u64,
    ) -> Result<Option<(Failure, bool)>> {
        let most = about.size.unwrap_or(LARGEST_TEXT);
        let arriving = arriving(response);
        let mut done = from;
        loop {
            let come = match arriving.recv_timeout(LOOK) {
                Ok(Ok(piece)) if !piece.is_empty() => Ok(piece),
                Ok(Ok(_)) if about.size.is_none_or(|s| done >= s) => return Ok(None),
                Ok(Ok(_)) => Err(format!("the connection was closed after {done} of {most} bytes")),
                Ok(Err(e)) => Err(format!("interrupted after {done} bytes: {}", said(&e))),
                Err(RecvTimeoutError::Disconnected) => Err(format!("interrupted after {done} bytes")),
                Err(RecvTimeoutError::Timeout) => {
                    self.tell(file, Step::Fetching, done, about.size)?;
                    continue;
                }
            };
            let piece = match come {
                Ok(piece) => piece,
                Err(what) => return Ok(Some((Failure::Passing(what), done > from))),
            };
            done += piece.len() as u64;
            if done > most {
                return Err(
                    self.failed(format!("the server sent more than the {most} bytes that it announced for {file}"))
                );
            }
            out.write_all(&piece).map_err(|e| ModelError::Io { path: at.to_owned(), source: e })?;
            self.tell(file, Step::Fetching, done, about.size)?;
        }
    }

    /// Checks the length and, if the hub provides it (for large files), the SHA-256. `Some` describes the difference.
    fn verify(&mut self, file: &str, about: &About, out: &mut File, at: &Path) -> Result<Option<String>> {
        let io = |e| ModelError::Io { path: at.to_owned(), source: e };
        let size = out.seek(SeekFrom::End(0)).map_err(io)?;
        if let Some(wanted) = about.size.filter(|w| *w != size) {
            return Ok(Some(format!("{size} bytes instead of {wanted}")));
        }
        if about.etag.len() != 64 || !about.etag.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Ok(None);
        }
        out.seek(SeekFrom::Start(0)).map_err(io)?;
        let (mut hash, mut buffer, mut done) = (Sha256::new(), vec![0; 1 << 20], 0);
        loop {
            let n = out.read(&mut buffer).map_err(io)?;
            if n == 0 {
                break;
            }
            hash.update(&buffer[..n]);
            done += n as u64;
            self.tell(file, Step::Verifying, done, about.size)?;
        }
        let found = hex(&hash.finalize());
        Ok((!found.eq_ignore_ascii_case(&about.etag)).then(|| format!("SHA-256 {found} instead of {}", about.etag)))
    }
}

/// Returns the pieces of a body as they arrive, followed by an empty piece. A separate thread reads them, so that a stalled connection
/// cannot prevent cancellation. An abandoned thread ends with its own timeout.
fn arriving(response: Response<ureq::Body>) -> Receiver<std::io::Result<Vec<u8>>> {
    let mut reader = response.into_body().into_reader();
    let (send, pieces) = sync_channel(8);
    std::thread::spawn(move || {
        let mut buffer = vec![0; 1 << 16];
        loop {
            let piece = reader.read(&mut buffer).map(|n| buffer[..n].to_vec());
            let last = piece.as_ref().map_or(true, Vec::is_empty);
            if send.send(piece).is_err() || last {
                break;
            }
        }
    });
    pieces
}

/// Extracts ETag and size from a file's headers.
fn describe(headers: &HeaderMap) -> std::result::Result<About, String> {
    let text = |name: &str| headers.get(name).and_then(|v| v.to_str().ok());
    let etag = text("x-linked-etag").or_else(|| text("etag")).ok_or("the server states no version (ETag)")?;
    let etag = etag.trim().trim_start_matches("W/").trim_matches('"').to_owned();
    if !is_plain(&etag) {
        return Err("the server states a version (ETag) that cannot be a file name".into());
    }
    let length = text("x-linked-size").or_else(|| text("content-length"));
    Ok(About { etag, size: length.and_then(|s| s.trim().parse().ok()) })
}

/// Returns the offset at which a response body starts, after a request for the bytes from `have` on.
fn begin(response: &Response<ureq::Body>, have: u64) -> std::result::Result<u64, Failure> {
    match response.status() {
        StatusCode::PARTIAL_CONTENT => {
            let range = response.headers().get(header::CONTENT_RANGE).and_then(|v| v.to_str().ok());
            let from = range.and_then(|r| r.strip_prefix("bytes ")?.split_once('-')?.0.trim().parse().ok());
            if from == Some(have) {
                Ok(have)
            } else {
                Err(Failure::Passing("the server sends the wrong part of the file".into()))
            }
        }
        StatusCode::RANGE_NOT_SATISFIABLE => {
            Err(Failure::Passing("the server does not have the requested part".into()))
        }
        _ => Ok(0),
    }
}

fn said(e: &std::io::Error) -> String {
    e.to_string().escape_debug().to_string()
}
