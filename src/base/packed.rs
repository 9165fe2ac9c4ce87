//! Files of the program that are embedded in packed form (`src/build.rs` packs them).

use std::io::{self, Read};

use flate2::read::ZlibDecoder;

/// An embedded file.
#[derive(Clone, Copy)]
pub struct Packed(&'static [u8]);

impl Packed {
    /// What `packed!` embeds.
    pub const fn new(packed: &'static [u8]) -> Self {
        Self(packed)
    }

    /// The file's bytes.
    ///
    /// # Errors
    /// If the program itself is damaged.
    pub fn bytes(&self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        ZlibDecoder::new(self.0).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// The file's text.
    ///
    /// # Errors
    /// If the program itself is damaged.
    pub fn text(&self) -> io::Result<String> {
        String::from_utf8(self.bytes()?).map_err(io::Error::other)
    }
}

/// The file of this path under `assets`, or a font, which `src/build.rs` packs.
macro_rules! packed {
    ($($path:expr),+) => {{
        static FILE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/", $($path),+, ".zz"));
        $crate::base::packed::Packed::new(FILE)
    }};
}

pub(crate) use packed;
