//! The engine far away: it computes on another machine and is shown here.
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
//! which only its user may enter. The **bridge** ([`bridge`]) is what ssh starts: it finds or starts the keeper and
//! copies bytes. When the link breaks, only the bridge dies.
//!
//! Both ends speak [`frame`]s (length, version, checksum) that hold [`message`]s, those of the journal packed ([`pack`]): a greeting with the versions, then commands one way
//! and lines of the journal the other, in the forms that sessions have. What the near end ([`client`]) asks after a break is the
//! journal from the last number that it has seen; each of its commands has a number too, and is carried out once. So nothing is
//! computed twice and nothing lost, and the board here is the fold of the same events, bit for bit.
//!
//! **Progress** has no number: of each kind only the latest is sent, a few times a second, and only to a near end that has the whole
//! journal. Findings are never thinned; a slow link reads the journal late, and the engine does not wait for it. Of questions to the
//! experiment, the near end has at most one under way, and of those behind it keeps the latest.
//!
//! **Who steers**: the first near end attached. Others see the same and send nothing. One that attaches again is recognised by a
//! number that it chose, and takes its own old link's place.
//!
//! **How it ends**: on [`engine::message::Command::Shutdown`], on SIGTERM, or when nothing has run and nobody has been attached
//! for a stated time. The folder `remote/NAME` goes then; the session stays, and [`errand::fetch`] brings it home.
//!
//! Neither end trusts the other: lengths are bounded, an invalid message breaks the link, text is made printable where
//! it is shown. No path, variable or token of one side is sent by this module; models and data are names that the far
//! side resolves. A file of the near side goes there only if it is asked for ([`parcel`]), under the name that the spec
//! has for it, and is gone with the engine.

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
        /// The failure, in the words of ssh or of the far shell.
        what: String,
        /// Advice to the user.
        hint: String,
    },
    /// The far end refused.
    #[error("{host}: {what}")]
    Refused {
        host: String,
        /// Its reason, and what to do.
        what: String,
    },
    /// A file or folder of this side cannot be used.
    #[error("{place}: {source}")]
    Io {
        /// The file or folder.
        place: String,
        /// The system's reason.
        source: std::io::Error,
    },
}
