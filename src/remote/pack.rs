//! Compresses frames. The journal is repetitive text, and not every sshd compresses, so the far end compresses everything it sends on a
//! connection as one stream.

use std::collections::VecDeque;
use std::io::{Error, Read, Result};

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use super::frame::{FrameError, MAX_BODY};
use super::message::{Message, Unreadable};

/// Maximum size in bytes of frames packed together, unless a single frame is larger.
pub const MOST: usize = 256 << 10;

pub(crate) struct Packer(Compress);

impl Default for Packer {
    fn default() -> Self {
        Self(Compress::new(Compression::default(), false))
    }
}

impl Packer {
    /// Compresses complete frames into the body of one packed message; once it has arrived, all of them can be read.
    pub(crate) fn pack(&mut self, frames: &[u8]) -> Result<Vec<u8>> {
        let begun = self.0.total_in();
        let mut out = Vec::with_capacity(frames.len() / 4 + 64);
        loop {
            let taken = (self.0.total_in() - begun) as usize;
            self.0.compress_vec(&frames[taken..], &mut out, FlushCompress::Sync)?;
            // Free space in the buffer means that no output is pending.
            if self.0.total_in() - begun == frames.len() as u64 && out.len() < out.capacity() {
                return Ok(out);
            }
            out.reserve(frames.len() / 4 + 64);
        }
    }
}

/// Reads the messages of a connection, packed or not.
pub struct Unpacker {
    stream: Decompress,
    open: VecDeque<Message>,
}

impl Default for Unpacker {
    fn default() -> Self {
        Self { stream: Decompress::new(false), open: VecDeque::new() }
    }
}

impl Unpacker {
    /// Reads the next message, waiting until it has arrived.
    pub fn read(&mut self, source: &mut dyn Read) -> std::result::Result<Message, Unreadable> {
        loop {
            if let Some(message) = self.open.pop_front() {
                return Ok(message);
            }
            match Message::read(source)? {
                Message::Packed(body) => self.unpack(&body)?,
                message => return Ok(message),
            }
        }
    }

    /// Unpacks the messages that a packed message contains.
    fn unpack(&mut self, body: &[u8]) -> std::result::Result<(), Unreadable> {
        let bytes = self.inflate(body).map_err(FrameError::Io)?;
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            match Message::read(&mut rest)? {
                Message::Packed(_) => {
                    return Err(FrameError::Io(Error::other("a packed message contains a packed message")).into());
                }
                message => self.open.push_back(message),
            }
        }
        Ok(())
    }

    fn inflate(&mut self, body: &[u8]) -> Result<Vec<u8>> {
        let begun = self.stream.total_in();
        let mut out = Vec::with_capacity(4 * body.len() + 64);
        loop {
            let before = (self.stream.total_in(), out.len());
            let taken = (before.0 - begun) as usize;
            let status = self.stream.decompress_vec(&body[taken..], &mut out, FlushDecompress::Sync)?;
            let all = self.stream.total_in() - begun == body.len() as u64;
            if all && out.len() < out.capacity() {
                return Ok(out);
            }
            if out.len() > MAX_BODY + 2 * MOST {
                return Err(Error::other("a packed message exceeds the limit"));
            }
            if status == Status::StreamEnd || before == (self.stream.total_in(), out.len()) {
                return Err(Error::other("a packed message cannot be read"));
            }
            // Grows with the number of bytes received, not with the claimed length.
            out.reserve(out.len().max(64));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn line(number: u64, text: &str) -> Message {
        Message::Line { number, own: false, line: text.into() }
    }

    fn frames(messages: &[Message]) -> Vec<u8> {
        let mut bytes = Vec::new();
        messages.iter().for_each(|m| m.write(&mut bytes).unwrap());
        bytes
    }

    /// A stream of packed messages, each with `together` messages.
    fn packed(messages: &[Message], together: usize) -> Vec<u8> {
        let mut packer = Packer::default();
        let mut out = Vec::new();
        for some in messages.chunks(together) {
            Message::Packed(packer.pack(&frames(some)).unwrap()).write(&mut out).unwrap();
        }
        out
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn packed_data_round_trip_without_delay(
            texts in proptest::collection::vec("[a-c0-9]{0,200}", 1..12), together in 1_usize..5
        ) {
            let all: Vec<Message> = texts.iter().enumerate().map(|(k, t)| line(k as u64, t)).collect();
            let bytes = packed(&all, together);
            let (mut unpacker, mut source) = (Unpacker::default(), bytes.as_slice());
            for message in &all {
                prop_assert_eq!(&unpacker.read(&mut source).unwrap(), message);
            }
            prop_assert!(source.is_empty() && unpacker.read(&mut source).is_err());
        }

        #[test]
        fn corrupted_packed_data_are_an_error(noise in proptest::collection::vec(any::<u8>(), 1..100)) {
            let bytes = frames(&[Message::Packed(noise)]);
            let mut source = bytes.as_slice();
            prop_assert!(Unpacker::default().read(&mut source).is_err());
        }
    }

    #[test]
    fn repeated_lines_compress_well() {
        let findings = |k: u64| {
            let head = r#""event":"finding","generation":1,"finding":{"lab":"interventions","kind":"reliability""#;
            let body = r#""method":"alterrep","oracle":"mlp","parameter":"strength","completeness":"#;
            format!(r#"{{"t":{k}.25,{head},{body}{{"mean":0.{},"lo":0.1}}}}}}"#, k * 7919)
        };
        let all: Vec<Message> = (0..200).map(|k| line(k, &findings(k))).collect();
        let (plain, packed) = (frames(&all).len(), packed(&all, 1).len());
        assert!(packed * 2 < plain, "{packed} of {plain} bytes");
    }

    /// Regression: unpacking a message of a few bytes used to exhaust the memory.
    #[test]
    fn oversized_unpacked_message_is_rejected() {
        let bomb = Packer::default().pack(&vec![0; 64 << 20]).unwrap();
        let bytes = frames(&[Message::Packed(bomb)]);
        let text = Unpacker::default().read(&mut bytes.as_slice()).unwrap_err().to_string();
        assert!(text.contains("exceeds the limit"), "{text}");
    }

    #[test]
    fn plain_and_packed_messages_can_be_mixed() {
        let mut packer = Packer::default();
        let mut bytes = frames(&[Message::Ping]);
        Message::Packed(packer.pack(&frames(&[Message::Pong])).unwrap()).write(&mut bytes).unwrap();
        let twice = frames(&[Message::Packed(vec![0])]);
        Message::Packed(packer.pack(&twice).unwrap()).write(&mut bytes).unwrap();
        let (mut unpacker, mut source) = (Unpacker::default(), bytes.as_slice());
        assert_eq!(unpacker.read(&mut source).unwrap(), Message::Ping);
        assert_eq!(unpacker.read(&mut source).unwrap(), Message::Pong);
        assert!(unpacker.read(&mut source).unwrap_err().to_string().contains("contains a packed message"));
    }
}
