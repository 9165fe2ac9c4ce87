//! A remote engine, which computes on another machine while its results are shown on this one.
//!
//! ```text
//!  here                                      there
//!  screen ─ Far ─ ssh ═══ encrypted ═══ sshd ─ bridge ─ socket ─ keeper ─ local worker
//!         (client)        channel             (engine --stdio)   (engine --keep)  └─ session, journal
//! ```
//!
//! Two processes run on the remote machine. The **keeper** ([`keeper`]) belongs to no terminal and no connection. It owns a
//! [`engine::local::LocalEngine`], records a session in the remote session folder, and numbers every command and event in a **journal**:
//! the lines of that session. It listens on a Unix socket in `remote/NAME` of the state folder, which only its user may enter. ssh starts
//! the **bridge** ([`bridge`]), which finds or starts the keeper and copies bytes. When the connection breaks, only the bridge ends.
//!
//! Both ends exchange [`frame`]s (length, version, checksum) that contain [`message`]s; journal messages are packed ([`pack`]). After the
//! first messages, which state the versions, commands flow one way and journal lines the other, in the format of sessions. After a break,
//! the client ([`client`]) requests the journal from the last number it has seen. Commands are numbered too, and executed once. Nothing is
//! lost or computed twice, and the local board is the fold of exactly the same events.
//!
//! **Progress** has no number. Only the latest of each kind is sent, a few times a second, and only to a client that has the whole journal.
//! Findings are never omitted. On a slow link, the journal arrives late, but the engine does not wait for it. A client has at most one
//! question to the experiment in transit, and keeps only the latest waiting one.
//!
//! **Control**: the first client that attaches is in control; others watch and send no commands. A client that reconnects is recognised by
//! a number that it has chosen, and its new link replaces the old one.
//!
//! **End**: an engine ends on [`engine::message::Command::Shutdown`], on SIGTERM, or after a given time without a run and without a client.
//! The folder `remote/NAME` is then removed. The session is kept, and [`errand::fetch`] copies it to this machine.
//!
//! **Trust**: neither end trusts the other. Lengths are bounded, an invalid message breaks the link, and text is made printable before it
//! is shown. This module never sends its machine's paths, variables or tokens: models and data are names that the far end resolves. A local
//! file is sent only on request ([`transfer`]), under the name used in the spec, and is removed with the engine.

#![cfg(unix)]

pub mod address;
pub mod bridge;
pub mod client;
pub mod errand;
pub mod frame;
mod journal;
pub mod keeper;
mod line;
pub mod message;
mod near;
pub mod pack;
mod place;
pub mod transfer;

pub use address::Address;
pub use client::{Far, Past};
pub use near::failed;

use thiserror::Error;

#[derive(Debug, Error)]
pub enum RemoteError {
    /// The connection to the far end failed.
    #[error("{host}: {what} ({hint})")]
    Link {
        host: String,
        /// Description of the failure by ssh or the remote shell.
        what: String,
        hint: String,
    },
    #[error("{host}: {what}")]
    Refused {
        host: String,
        /// The far end's reason and remedy.
        what: String,
    },
    /// A local file or folder cannot be used.
    #[error("{place}: {source}")]
    Io {
        /// The file or folder.
        place: String,
        source: std::io::Error,
    },
}
