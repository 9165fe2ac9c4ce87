//! Compressed files embedded in the program (`src/packing.rs` compresses them).

use std::io::{self, Read};

use flate2::read::ZlibDecoder;

#[derive(Clone, Copy)]
pub struct Packed(&'static [u8]);

impl Packed {
    /// Wraps the compressed bytes; for use by `packed!`.
    pub const fn new(packed: &'static [u8]) -> Self {
        Self(packed)
    }

    pub fn bytes(&self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        ZlibDecoder::new(self.0).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    pub fn text(&self) -> io::Result<String> {
        String::from_utf8(self.bytes()?).map_err(io::Error::other)
    }
}

/// Returns the embedded file with this path, which the build script of the calling crate compresses.
#[macro_export]
macro_rules! packed {
    ($($path:expr),+) => {{
        static FILE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/", $($path),+, ".zz"));
        $crate::packed::Packed::new(FILE)
    }};
}
