//! HTTP requests to a hub, with timeouts and readable errors. Redirects are followed explicitly, so that the token is never sent to a
//! different host.
//!
//! hf-hub's own requests are not used: they have no timeouts, cannot be cancelled, panic on an unusual redirect (`expect`, `unwrap`), use
//! the server's ETag as a path without checking it, write any number of bytes, and verify no hash.

use std::time::Duration;

use ureq::http::{HeaderMap, Method, Request, Response, StatusCode, Uri, header};
use ureq::{Agent, Body};

use super::Settings;

/// Default endpoint of Hugging Face clients.
const ENDPOINT: &str = "https://huggingface.co";
/// Maximum number of redirects per request.
const HOPS: usize = 8;

/// Timeouts and retries of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Timeout for establishing a connection.
    pub connect: Duration,
    /// Timeout for a single read during which no data arrive.
    pub idle: Duration,
    /// Timeout without data over several attempts; a file list must be complete within twice this time.
    pub silence: Duration,
    /// Maximum number of consecutive attempts without data.
    pub tries: u32,
    /// Pause before the second attempt, doubled before each additional one.
    pub pause: Duration,
}

impl Default for Timeouts {
    fn default() -> Timeouts {
        let seconds = Duration::from_secs;
        let silence = seconds(30);
        Timeouts { connect: seconds(15), idle: silence, silence, tries: 4, pause: seconds(1) }
    }
}

/// Reason for a failed request.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Transient: a retry may help.
    Passing(String),
    /// Unreachable server: retrying immediately will not help.
    Away(String),
    /// Permanent: a retry will not help.
    Final(String),
    /// HTTP error status.
    Status(StatusCode),
}

#[derive(Clone)]
pub(crate) struct Client {
    agent: Agent,
    endpoint: Uri,
    base: String,
    /// `base` for messages, without credentials.
    shown: String,
    token: Option<String>,
    /// Reason why the token is not sent; see [`Settings::token_withheld`].
    pub withheld: Option<&'static str>,
    pub(crate) patience: Timeouts,
}

impl Client {
    pub(crate) fn new(settings: &Settings) -> Result<Client, String> {
        let base = settings.endpoint.as_deref().unwrap_or(ENDPOINT).trim_end_matches('/').to_owned();
        let shown = without_password(&base);
        let wrong = || format!("HF_ENDPOINT is not an http address: {}", shown.escape_debug());
        let endpoint: Uri = base.parse().map_err(|_| wrong())?;
        let host = endpoint.host().map(str::to_owned).ok_or_else(wrong)?;
        if !matches!(endpoint.scheme_str(), Some("http" | "https")) {
            return Err(wrong());
        }
        if let Some(token) = &settings.token
            && !token.bytes().all(|b| b.is_ascii_graphic())
        {
            return Err("HF_TOKEN contains invalid characters".into());
        }
        let patience = settings.patience;
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(concat!("probity/", env!("CARGO_PKG_VERSION")))
            .timeout_connect(Some(patience.connect))
            .timeout_resolve(Some(patience.connect))
            .timeout_recv_response(Some(patience.idle))
            .timeout_per_read(Some(patience.idle))
            .timeout_per_write(Some(patience.idle));
        // Proxies from the environment are not used for requests to the local machine.
        if is_here(&host) {
            config = config.proxy(None);
        }
        let withheld = settings.token_withheld();
        let token = settings.token.clone().filter(|_| withheld.is_none());
        Ok(Client { agent: config.build().into(), endpoint, base, shown, token, withheld, patience })
    }

    /// Endpoint for messages, without user and password.
    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }

    /// Requests the content of a path from byte `from` on; returns any successful response or 416.
    pub(crate) fn get(&self, path: &str, from: u64) -> Result<Response<Body>, Failure> {
        let mut url = self.url(path)?;
        for _ in 0..HOPS {
            let response = self.send(Method::GET, &url, from)?;
            match redirect(&response, &url)? {
                Some(next) => url = next,
                None if response.status() == StatusCode::RANGE_NOT_SATISFIABLE => return Ok(response),
                None => return accepted(response),
            }
        }
        Err(Failure::Final(format!("more than {HOPS} redirects")))
    }

    /// Requests the headers that describe a file. The hub's own headers take precedence over those of the storage server to which it
    /// redirects.
    pub(crate) fn describe(&self, path: &str) -> Result<HeaderMap, Failure> {
        let mut url = self.url(path)?;
        let mut known = HeaderMap::new();
        for _ in 0..HOPS {
            let response = self.send(Method::HEAD, &url, 0)?;
            let next = redirect(&response, &url)?;
            // The content length in a redirect is that of the redirect page, not of the file.
            for (name, value) in response.headers() {
                if !known.contains_key(name) && (next.is_none() || name.as_str().starts_with("x-")) {
                    known.insert(name.clone(), value.clone());
                }
            }
            match next {
                Some(next) if known.contains_key("x-linked-etag") && !same_host(&next, &url) => {
                    return Ok(known);
                }
                Some(next) => url = next,
                None => return accepted(response).map(|_| known),
            }
        }
        Err(Failure::Final(format!("more than {HOPS} redirects")))
    }

    fn url(&self, path: &str) -> Result<Uri, Failure> {
        format!("{}{path}", self.base).parse().map_err(|_| Failure::Final("the address is not a valid URL".into()))
    }

    fn send(&self, method: Method, url: &Uri, from: u64) -> Result<Response<Body>, Failure> {
        // The hash covers the stored bytes, so they must not be compressed in transit.
        let mut request = Request::builder().method(method).uri(url).header(header::ACCEPT_ENCODING, "identity");
        if from > 0 {
            request = request.header(header::RANGE, format!("bytes={from}-"));
        }
        if let Some(token) = self.token.as_ref().filter(|_| same_host(url, &self.endpoint)) {
            request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        let request = request.body(()).map_err(|e| Failure::Final(e.to_string()))?;
        self.agent.run(request).map_err(|e| self.unreachable(&e))
    }

    fn unreachable(&self, e: &ureq::Error) -> Failure {
        let why = match e {
            ureq::Error::HostNotFound => "unknown host".to_owned(),
            ureq::Error::Timeout(t) => format!("no response in time ({t})"),
            ureq::Error::Io(e) if e.kind() == std::io::ErrorKind::ConnectionRefused => "connection refused".into(),
            e => e.to_string().replace(&self.base, &self.shown),
        };
        let what = format!("{} cannot be reached: {}", self.shown, why.escape_debug());
        match e {
            ureq::Error::HostNotFound => Failure::Away(what),
            ureq::Error::Io(e) if e.kind() == std::io::ErrorKind::ConnectionRefused => Failure::Away(what),
            ureq::Error::BadUri(_) | ureq::Error::Http(_) | ureq::Error::LargeResponseHeader(..) => {
                Failure::Final(what)
            }
            _ => Failure::Passing(what),
        }
    }
}

/// Removes user and password from an address, even an invalid one.
fn without_password(address: &str) -> String {
    let (scheme, rest) = address.split_once("://").map_or(("", address), |(s, r)| (s, r));
    let host_ends = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    // A password may contain a slash, so that the host seems to end too early; the last `@` is therefore decisive.
    let at = rest[..host_ends].rfind('@').or_else(|| rest.rfind('@'));
    let kept = at.map_or(rest, |at| &rest[at + 1..]);
    if address.contains("://") { format!("{scheme}://{kept}") } else { kept.to_owned() }
}

/// True if the host is the local machine.
fn is_here(host: &str) -> bool {
    let name = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

impl Settings {
    /// Reason for withholding the token, if any: an unencrypted connection to another machine would expose it.
    pub fn token_withheld(&self) -> Option<&'static str> {
        self.token.as_ref()?;
        let endpoint: Uri = self.endpoint.as_deref()?.trim_end_matches('/').parse().ok()?;
        let open = endpoint.scheme_str() == Some("http") && !endpoint.host().is_some_and(is_here);
        open.then_some(
            "the token is not sent, because HF_ENDPOINT is plain http to another machine and others could read the \
             token; use https",
        )
    }
}

/// Returns a successful response, or the status as a transient or permanent failure.
fn accepted(response: Response<Body>) -> Result<Response<Body>, Failure> {
    let status = response.status();
    if status.is_success() {
        Ok(response)
    } else if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
        Err(Failure::Passing(format!("the server responded with {status}")))
    } else {
        Err(Failure::Status(status))
    }
}

/// Returns the target of a redirect, if the response is one.
fn redirect(response: &Response<Body>, from: &Uri) -> Result<Option<Uri>, Failure> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let wrong = || Failure::Final("a redirect to an address that is neither http nor https".into());
    let target = response.headers().get(header::LOCATION).and_then(|v| v.to_str().ok()).ok_or_else(wrong)?;
    let (scheme, authority) = (from.scheme_str().unwrap_or("https"), from.authority().map_or("", |a| a.as_str()));
    let absolute = match target {
        t if t.starts_with("//") => format!("{scheme}:{t}"),
        t if t.starts_with('/') => format!("{scheme}://{authority}{t}"),
        t => t.to_owned(),
    };
    let next: Uri = absolute.parse().map_err(|_| wrong())?;
    match (scheme, next.scheme_str()) {
        (_, Some("https")) | ("http", Some("http")) if next.host().is_some() => Ok(Some(next)),
        ("https", Some("http")) => Err(Failure::Final("a redirect from https to http is not followed".into())),
        _ => Err(wrong()),
    }
}

/// True if scheme, host and port are equal.
fn same_host(a: &Uri, b: &Uri) -> bool {
    let port = |u: &Uri| u.port_u16().or(if u.scheme_str() == Some("https") { Some(443) } else { Some(80) });
    let host = |u: &Uri| u.host().map(str::to_ascii_lowercase);
    a.scheme_str() == b.scheme_str() && host(a) == host(b) && port(a) == port(b)
}
