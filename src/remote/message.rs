//! Messages between the two ends, and their encoding as frames.

use serde::{Deserialize, Serialize};

use super::frame::{Frame, FrameError};
use engine::message::Command;
use session::format::{Entry, Item, line, parse_entry};

/// The client's request; the first message of a connection.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Hello {
    pub version: String,
    pub want: Want,
    /// Name of the engine, or the preferred name of a new one. For [`Want::Fetch`], the name of the session.
    pub name: String,
    /// Identifies a client that reconnects.
    pub client: u64,
    /// Number of the engine to which the client was attached; 0 for any engine with this name.
    pub engine: u64,
    /// Number of journal lines that the client already has.
    pub after: u64,
    /// True if the client only watches.
    pub sees: bool,
    /// Number of files that the client sends after the far end's answer.
    pub files: u64,
    /// Device, as in `--device`.
    pub device: String,
    /// Precision of the models, as in `--dtype`.
    pub dtype: String,
    /// Memory limit in bytes.
    pub memory_limit: Option<u64>,
    /// Models to list in addition to the built-in ones.
    pub models: Vec<String>,
    /// True if questions about results may follow.
    pub asked: bool,
    /// Time in seconds that an idle engine waits for a client.
    pub wait: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Want {
    /// Start a new engine.
    #[default]
    Open,
    /// Attach to an existing engine.
    Attach,
    /// List engines and sessions.
    List,
    /// End an engine.
    Stop,
    /// Copy a recorded session.
    Fetch,
}

/// The far end's answer to [`Want::Open`] and [`Want::Attach`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Welcome {
    pub version: String,
    pub name: String,
    /// Random number that distinguishes the engine from others with the same name.
    pub engine: u64,
    /// Number of lines in the engine's journal.
    pub head: u64,
    /// True if the client may send commands.
    pub steers: bool,
    /// Number of this client's commands that have been received.
    pub taken: u64,
    /// Time in seconds that an idle engine waits without a client.
    pub wait: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Status {
    /// Name of the engine and of its session.
    pub name: String,
    pub machine: String,
    pub version: String,
    /// Start time, RFC 3339 in UTC.
    pub created: String,
    /// True if the engine is running; false if only its session exists.
    pub alive: bool,
    /// True while the engine computes.
    pub running: bool,
    /// Progress or outcome, as text.
    pub state: String,
    pub attached: usize,
    /// Time in seconds until the engine ends if no client attaches; `None` while it computes or a client is attached.
    pub left: Option<u64>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    Hello(Box<Hello>),
    Welcome(Welcome),
    /// Reason why no engine can serve the client, with the remedy.
    Refused(String),
    Line {
        /// Number of the line, from 1.
        number: u64,
        /// True if this client sent the command; the line is then empty.
        own: bool,
        line: String,
    },
    /// A progress line, which has no number.
    Passing(String),
    Command {
        /// Number of the command, from 1.
        number: u64,
        command: Box<Command>,
    },
    /// Keep-alive request.
    Ping,
    /// Keep-alive answer.
    Pong,
    /// The sender closes the connection on purpose. If the far end sends it, the engine has ended.
    Bye,
    /// Answer to [`Want::List`].
    List(Vec<Status>),
    /// Name of the file that follows.
    File(String),
    Piece(Vec<u8>),
    /// SHA-256 of the complete file.
    Whole(String),
    /// Frames compressed together, as a continuation of those packed before on this connection; see [`super::pack`].
    Packed(Vec<u8>),
}

const HELLO: u8 = 1;
const WELCOME: u8 = 2;
const REFUSED: u8 = 3;
const LINE: u8 = 4;
const PASSING: u8 = 5;
const COMMAND: u8 = 6;
const PING: u8 = 7;
const PONG: u8 = 8;
const BYE: u8 = 9;
const LIST: u8 = 10;
const PIECE: u8 = 11;
const WHOLE: u8 = 12;
const FILE: u8 = 13;
const PACKED: u8 = 14;

#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// The content cannot be decoded.
    #[error("a message of kind {0} cannot be read: {1}")]
    Content(u8, String),
}

impl Message {
    pub fn frame(&self) -> Frame {
        fn json<T: Serialize>(kind: u8, value: &T) -> Frame {
            // Serialising fails only for maps with non-text keys, which these types do not have.
            Frame { kind, body: serde_json::to_vec(value).unwrap_or_default() }
        }
        let numbered = |kind, number: u64, own: Option<bool>, rest: &[u8]| {
            let mut body = number.to_be_bytes().to_vec();
            body.extend(own.map(u8::from));
            body.extend_from_slice(rest);
            Frame { kind, body }
        };
        let bare = |kind| Frame { kind, body: Vec::new() };
        match self {
            Message::Hello(hello) => json(HELLO, hello),
            Message::Welcome(welcome) => json(WELCOME, welcome),
            Message::Refused(why) => Frame { kind: REFUSED, body: why.clone().into_bytes() },
            Message::Line { number, own, line } => numbered(LINE, *number, Some(*own), line.as_bytes()),
            Message::Passing(line) => Frame { kind: PASSING, body: line.clone().into_bytes() },
            Message::Command { number, command } => {
                // Uses the format of sessions, in which a command can always be serialised.
                numbered(COMMAND, *number, None, line(0.0, command).unwrap_or_default().as_bytes())
            }
            Message::Ping => bare(PING),
            Message::Pong => bare(PONG),
            Message::Bye => bare(BYE),
            Message::List(all) => json(LIST, all),
            Message::File(name) => Frame { kind: FILE, body: name.clone().into_bytes() },
            Message::Piece(bytes) => Frame { kind: PIECE, body: bytes.clone() },
            Message::Whole(hash) => Frame { kind: WHOLE, body: hash.clone().into_bytes() },
            Message::Packed(bytes) => Frame { kind: PACKED, body: bytes.clone() },
        }
    }

    pub fn write(&self, out: &mut dyn std::io::Write) -> Result<(), FrameError> {
        self.frame().write(out)
    }

    /// Reads a message, waiting until it has arrived.
    pub fn read(source: &mut dyn std::io::Read) -> Result<Self, Unreadable> {
        Self::of(Frame::read(source)?)
    }

    pub fn of(Frame { kind, body }: Frame) -> Result<Self, Unreadable> {
        let bad = |what: &dyn std::fmt::Display| Unreadable::Content(kind, what.to_string());
        let text = |body: Vec<u8>| String::from_utf8(body).map_err(|e| bad(&e));
        let numbered = |mut body: Vec<u8>| match body.first_chunk::<8>().copied() {
            Some(number) => Ok((u64::from_be_bytes(number), body.split_off(8))),
            None => Err(bad(&"it has no number")),
        };
        Ok(match kind {
            HELLO => Message::Hello(serde_json::from_slice(&body).map_err(|e| bad(&e))?),
            WELCOME => Message::Welcome(serde_json::from_slice(&body).map_err(|e| bad(&e))?),
            REFUSED => Message::Refused(text(body)?),
            LINE => {
                let (number, mut rest) = numbered(body)?;
                let own = *rest.first().ok_or_else(|| bad(&"its sender is missing"))? != 0;
                Message::Line { number, own, line: text(rest.split_off(1))? }
            }
            PASSING => Message::Passing(text(body)?),
            COMMAND => {
                let (number, rest) = numbered(body)?;
                match parse_entry(&rest, false) {
                    Ok(Entry { item: Item::Command(command), .. }) => {
                        Message::Command { number, command: Box::new(command) }
                    }
                    _ => return Err(bad(&"it is not a command known to this version")),
                }
            }
            PING => Message::Ping,
            PONG => Message::Pong,
            BYE => Message::Bye,
            LIST => Message::List(serde_json::from_slice(&body).map_err(|e| bad(&e))?),
            FILE => Message::File(text(body)?),
            PIECE => Message::Piece(body),
            WHOLE => Message::Whole(text(body)?),
            PACKED => Message::Packed(body),
            _ => return Err(bad(&"it comes from a newer version")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use labs::{LABS, Spec};

    fn all() -> Vec<Message> {
        let spec = Box::new(Spec::shipped(LABS[0].id()));
        vec![
            Message::Hello(Box::new(Hello { name: "a".into(), client: u64::MAX, ..Hello::default() })),
            Message::Welcome(Welcome { head: 7, ..Welcome::default() }),
            Message::Refused("no such engine".into()),
            Message::Line { number: 3, own: false, line: r#"{"t":0.1}"#.into() },
            Message::Line { number: 4, own: true, line: String::new() },
            Message::Passing("{}".into()),
            Message::Command { number: 1, command: Box::new(Command::Run { job: 1, generation: 1, spec }) },
            Message::Ping,
            Message::Pong,
            Message::Bye,
            Message::List(vec![Status { name: "b".into(), left: Some(3), ..Status::default() }]),
            Message::File("rows.tsv".into()),
            Message::Piece(vec![0, 255]),
            Message::Whole("ab".into()),
            Message::Packed(vec![1, 0]),
        ]
    }

    #[test]
    fn every_message_round_trips() {
        let mut bytes = Vec::new();
        for message in all() {
            message.write(&mut bytes).unwrap();
        }
        let mut source = bytes.as_slice();
        for message in all() {
            assert_eq!(Message::read(&mut source).unwrap(), message);
        }
    }

    #[test]
    fn invalid_message_body_is_an_error() {
        for message in all() {
            let frame = message.frame();
            for kind in 0..=20 {
                for end in 0..frame.body.len().min(40) {
                    // Any result other than a panic is acceptable.
                    let _ = Message::of(Frame { kind, body: frame.body[..end].to_vec() });
                }
            }
        }
        let newer = Message::of(Frame { kind: 200, body: Vec::new() }).unwrap_err().to_string();
        assert!(newer.contains("newer"), "{newer}");
    }
}
