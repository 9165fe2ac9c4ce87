//! Framing of messages on a byte stream, which detects truncated, corrupted and foreign streams.

use std::io::{ErrorKind, Read, Write};

use thiserror::Error;

use base::text::shortened;

/// Version of the protocol. The layout of frame headers is the same in all versions, so that each end can state the other's version.
pub const PROTOCOL: u8 = 2;
/// Maximum length in bytes of a frame's body, which must be able to contain a session line.
pub(crate) const MAX_BODY: usize = 8 << 20;
/// The first two bytes of each frame.
const MAGIC: [u8; 2] = *b"PB";
/// Bytes of a header, big-endian: magic, version, kind, length of the body, CRC-32 of the preceding eight bytes and the body.
const HEADER: usize = 12;
/// Maximum number of characters quoted from a foreign stream.
const QUOTED: usize = 120;

#[derive(Debug, Error)]
pub enum FrameError {
    /// The stream ended between frames.
    #[error("the connection was closed")]
    End,
    /// The stream ended within a frame.
    #[error("the connection was cut in the middle of a message")]
    Cut,
    /// The bytes received are not a frame, for example because a shell prints something when it starts.
    #[error("received `{0}`, which is not a Probity message")]
    Foreign(String),
    /// The other end uses a different version of the protocol.
    #[error("the other end uses protocol {0}, but this program uses {PROTOCOL}")]
    Version(u8),
    /// The frame exceeds the maximum length.
    #[error("a message of {0} bytes exceeds the limit")]
    TooLong(usize),
    /// The bytes differ from those sent.
    #[error("a message arrived corrupted: its checksum is wrong")]
    Checksum,
    /// The stream could not be read or written.
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    pub kind: u8,
    pub body: Vec<u8>,
}

fn checksum(head: &[u8], body: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(head);
    crc.update(body);
    crc.sum()
}

impl Frame {
    pub fn write(&self, out: &mut dyn Write) -> Result<(), FrameError> {
        if self.body.len() > MAX_BODY {
            return Err(FrameError::TooLong(self.body.len()));
        }
        let mut bytes = Vec::with_capacity(HEADER + self.body.len());
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&[PROTOCOL, self.kind]);
        bytes.extend_from_slice(&(self.body.len() as u32).to_be_bytes());
        let sum = checksum(&bytes, &self.body);
        bytes.extend_from_slice(&sum.to_be_bytes());
        bytes.extend_from_slice(&self.body);
        out.write_all(&bytes)?;
        out.flush()?;
        Ok(())
    }

    /// Reads a complete frame, waiting until it has arrived.
    pub fn read(source: &mut dyn Read) -> Result<Self, FrameError> {
        let mut head = [0_u8; HEADER];
        match fill(source, &mut head)? {
            0 => return Err(FrameError::End),
            n if head[..n.min(2)] != MAGIC[..n.min(2)] => return Err(foreign(source, &head[..n])),
            HEADER => {}
            _ => return Err(FrameError::Cut),
        }
        if head[2] != PROTOCOL {
            return Err(FrameError::Version(head[2]));
        }
        let number = |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let (length, sum) = (number(4) as usize, number(8));
        if length > MAX_BODY {
            return Err(FrameError::TooLong(length));
        }
        // Grows with the number of bytes received, not with the claimed length.
        let mut body = Vec::new();
        source.take(length as u64).read_to_end(&mut body)?;
        if body.len() < length {
            return Err(FrameError::Cut);
        }
        if checksum(&head[..8], &body) != sum {
            return Err(FrameError::Checksum);
        }
        Ok(Self { kind: head[3], body })
    }
}

/// Reads until the buffer is full or the stream ends; returns the number of bytes read.
fn fill(source: &mut dyn Read, buffer: &mut [u8]) -> std::io::Result<usize> {
    let mut at = 0;
    while at < buffer.len() {
        match source.read(&mut buffer[at..]) {
            Ok(0) => break,
            Ok(n) => at += n,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(at)
}

/// Builds the error that quotes the received bytes and any that follow immediately.
fn foreign(source: &mut dyn Read, head: &[u8]) -> FrameError {
    let mut text = head.to_vec();
    let mut more = [0; QUOTED];
    if let Ok(n) = source.read(&mut more) {
        text.extend_from_slice(&more[..n]);
    }
    let text = String::from_utf8_lossy(&text);
    FrameError::Foreign(shortened(text.trim_end(), QUOTED))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bytes(kind: u8, body: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        Frame { kind, body: body.to_vec() }.write(&mut out).unwrap();
        out
    }

    fn read(mut bytes: &[u8]) -> Result<Frame, FrameError> {
        Frame::read(&mut bytes)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn frames_round_trip(kind: u8, body in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert_eq!(read(&bytes(kind, &body)).unwrap(), Frame { kind, body });
        }

        #[test]
        fn flipped_bits_and_truncation_are_detected(
            body in proptest::collection::vec(any::<u8>(), 0..40), at: prop::sample::Index, bit in 0..8_u32
        ) {
            let good = bytes(3, &body);
            let at = at.index(good.len());
            prop_assert!(read(&good[..at]).is_err());
            let mut garbled = good.clone();
            garbled[at] ^= 1 << bit;
            prop_assert!(read(&garbled).is_err(), "bit {bit} of byte {at}");
        }

        #[test]
        fn random_bytes_are_not_a_frame(noise in proptest::collection::vec(any::<u8>(), 0..100)) {
            prop_assert!(read(&noise).is_err());
        }
    }

    #[test]
    fn false_length_allocates_nothing_and_foreign_data_is_quoted_safely() {
        let mut long = bytes(1, b"x");
        long[4..8].copy_from_slice(&u32::MAX.to_be_bytes());
        assert!(matches!(read(&long), Err(FrameError::TooLong(_))));
        let shell = read(b"\x1b[31mLast login: today\r\n").unwrap_err().to_string();
        assert!(shell.contains("Last login: today") && !shell.contains('\u{1b}'), "{shell}");
        assert!(matches!(read(b""), Err(FrameError::End)));
        assert!(Frame { kind: 1, body: vec![0; MAX_BODY + 1] }.write(&mut Vec::new()).is_err());
    }

    #[test]
    fn other_version_is_recognised_by_its_number() {
        let mut other = bytes(1, b"{}");
        other[2] = PROTOCOL + 1;
        other.truncate(HEADER);
        assert!(matches!(read(&other), Err(FrameError::Version(v)) if v == PROTOCOL + 1));
    }
}
