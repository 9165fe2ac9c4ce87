//! A remote engine: it computes on another machine, and its results are shown here.
//!
//! ```text
//!  here                                      there
//!  screen ─ Far ─ ssh ═══ encrypted ═══ sshd ─ bridge ─ socket ─ keeper ─ local worker
//!         (client)        channel             (engine --stdio)   (engine --keep)  └─ session, journal
//! ```
//!
//! Two processes run there. The **keeper** ([`keeper`]) belongs to no terminal and no connection. It owns a
//! [`engine::local::LocalEngine`], records a session in the folder of sessions there, and numbers every command and
//! event in a **journal**: the lines of that session. It listens on a Unix socket in `remote/NAME` of the state folder,
//! which only its user may enter. ssh starts the **bridge** ([`bridge`]), which finds or starts the keeper and copies
//! bytes. When the link breaks, only the bridge dies.
//!
//! Both ends exchange [`frame`]s (length, version, checksum) with [`message`]s, those of the journal packed ([`pack`]):
//! a greeting with the versions, then commands one way and lines of the journal the other, in the format of sessions.
//! After a break, the client ([`client`]) requests the journal from the last number it has seen; its commands are
//! numbered too, and executed once. So nothing is lost or computed twice, and the board here is the fold of exactly the
//! same events.
//!
//! **Progress** has no number: of each kind only the latest is sent, a few times a second, and only to a client that
//! has the whole journal. Findings are never thinned out; a slow link reads the journal late, and the engine does not
//! wait for it. A client has at most one question to the experiment in transit, and keeps only the latest waiting one.
//!
//! **Control**: the first attached client is in control. Others see the same and send nothing. A client that attaches
//! again is recognised by a number that it chose, and replaces its own old link.
//!
//! **How it ends**: on [`engine::message::Command::Shutdown`], on SIGTERM, or when nothing has run and no client has
//! been attached for a given time. The folder `remote/NAME` is then removed; the session is kept, and [`errand::fetch`]
//! copies it here.
//!
//! Neither end trusts the other: lengths are bounded, an invalid message breaks the link, and text is made printable
//! before it is shown. This module never sends paths, variables or tokens of its machine; models and data are names
//! that the far end resolves. A local file is sent only on request ([`parcel`]), under the name that the spec uses, and
//! is removed with the engine.

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
pub mod parcel;
mod place;

pub use address::Address;
pub use client::{Far, Past};
pub use near::failed;

use thiserror::Error;

#[derive(Debug, Error)]
pub enum RemoteError {
    /// No link to the far end.
    #[error("{host}: {what} ({hint})")]
    Link {
        host: String,
        /// The failure, in the words of ssh or of the remote shell.
        what: String,
        /// Advice to the user.
        hint: String,
    },
    /// The far end refused.
    #[error("{host}: {what}")]
    Refused {
        host: String,
        /// Its reason and remedy.
        what: String,
    },
    /// A local file or folder cannot be used.
    #[error("{place}: {source}")]
    Io {
        /// The file or folder.
        place: String,
        /// The system's reason.
        source: std::io::Error,
    },
}
