//! Files of the program that are embedded in packed form (`src/packing.rs` packs them).

use std::io::{self, Read};

use flate2::read::ZlibDecoder;

/// An embedded file.
#[derive(Clone, Copy)]
pub struct Packed(&'static [u8]);

impl Packed {
    /// Used by `packed!`.
    pub const fn new(packed: &'static [u8]) -> Self {
        Self(packed)
    }

    /// The file's bytes.
    pub fn bytes(&self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        ZlibDecoder::new(self.0).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// The file's text.
    pub fn text(&self) -> io::Result<String> {
        String::from_utf8(self.bytes()?).map_err(io::Error::other)
    }
}

/// The embedded file of this path, which the calling crate's build script packs.
#[macro_export]
macro_rules! packed {
    ($($path:expr),+) => {{
        static FILE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/", $($path),+, ".zz"));
        $crate::packed::Packed::new(FILE)
    }};
}
