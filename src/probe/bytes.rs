//! Trained things as bytes, for a cache on disk.
//!
//! Layout: `probity\0`, format version (u16), kind (length byte and UTF-8), fields in little endian, and the SHA-256 of all
//! before it. A file cut short, changed or made by another version is an error that says so: a cache that lies would change
//! results silently. Lengths are checked against what is there before anything is allocated.

use crate::base::matrix::{Dense, Real};
use sha2::{Digest, Sha256};

const MAGIC: &[u8; 8] = b"probity\0";
/// Raised whenever the layout of any kind changes.
const VERSION: u16 = 2;
const DIGEST: usize = 32;

/// Bytes that are not what they should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BytesError {
    /// Not such a file at all.
    #[error("not a trained object of this program")]
    Magic,
    /// Another format version.
    #[error("format version {found}, this program reads {VERSION}")]
    Version {
        /// The version found.
        found: u16,
    },
    /// Another kind of object.
    #[error("holds a '{found}' where a '{wanted}' is needed")]
    Kind {
        /// The kind found.
        found: String,
        /// The kind asked for.
        wanted: String,
    },
    /// Cut or changed.
    #[error("damaged: the checksum does not match")]
    Checksum,
    /// The checksum is right, the content is not.
    #[error("malformed: {what}")]
    Malformed {
        /// What is wrong.
        what: String,
    },
}

/// Malformed content, for decoders elsewhere.
#[must_use]
pub fn malformed(what: impl std::fmt::Display) -> BytesError {
    BytesError::Malformed { what: what.to_string() }
}

/// Writes fields one after another.
#[derive(Debug)]
pub struct Writer {
    buffer: Vec<u8>,
}

impl Writer {
    /// Begins an object of `kind` (at most 255 bytes; longer names are cut).
    #[must_use]
    pub fn new(kind: &str) -> Self {
        let kind = &kind.as_bytes()[..kind.len().min(255)];
        let mut buffer = MAGIC.to_vec();
        buffer.extend_from_slice(&VERSION.to_le_bytes());
        buffer.push(kind.len() as u8);
        buffer.extend_from_slice(kind);
        Self { buffer }
    }

    /// A whole number.
    pub fn number(&mut self, x: usize) {
        self.buffer.extend_from_slice(&(x as u64).to_le_bytes());
    }

    /// A real number.
    pub fn real(&mut self, x: f64) {
        self.buffer.extend_from_slice(&x.to_le_bytes());
    }

    /// A list of whole numbers.
    pub fn numbers(&mut self, list: &[usize]) {
        self.number(list.len());
        list.iter().for_each(|x| self.number(*x));
    }

    /// A matrix with its shape, elements as f64 so that both precisions survive.
    pub fn matrix<T: Real>(&mut self, m: &Dense<T>) {
        self.number(m.rows());
        self.number(m.cols());
        m.data().iter().for_each(|x| self.real(x.to_f64()));
    }

    /// Adds the checksum.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        let digest = Sha256::digest(&self.buffer);
        self.buffer.extend_from_slice(&digest);
        self.buffer
    }
}

/// Reads fields in the order they were written.
#[derive(Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Checks header and checksum.
    ///
    /// # Errors
    /// [`BytesError`] that says which of them is wrong.
    pub fn open(bytes: &'a [u8], kind: &str) -> Result<Self, BytesError> {
        let (body, digest) =
            bytes.split_at_checked(bytes.len().saturating_sub(DIGEST)).ok_or(BytesError::Magic)?;
        let mut reader = Self { rest: body };
        if reader.take(MAGIC.len()).ok() != Some(MAGIC) {
            return Err(BytesError::Magic);
        }
        let version = reader.take(2).map_err(|_| BytesError::Magic)?;
        let found = u16::from_le_bytes([version[0], version[1]]);
        if found != VERSION {
            return Err(BytesError::Version { found });
        }
        if Sha256::digest(body).as_slice() != digest {
            return Err(BytesError::Checksum);
        }
        let length = reader.take(1)?[0];
        let found = String::from_utf8_lossy(reader.take(usize::from(length))?).into_owned();
        if found != kind {
            return Err(BytesError::Kind { found, wanted: kind.to_owned() });
        }
        Ok(reader)
    }

    fn take(&mut self, n: usize) -> Result<&'a [u8], BytesError> {
        let (head, rest) = self.rest.split_at_checked(n).ok_or_else(|| malformed("ends too early"))?;
        self.rest = rest;
        Ok(head)
    }

    fn word(&mut self) -> Result<[u8; 8], BytesError> {
        let mut word = [0; 8];
        word.copy_from_slice(self.take(8)?);
        Ok(word)
    }

    /// A whole number.
    ///
    /// # Errors
    /// [`BytesError::Malformed`] at the end or beyond this machine's range.
    pub fn number(&mut self) -> Result<usize, BytesError> {
        usize::try_from(u64::from_le_bytes(self.word()?)).map_err(malformed)
    }

    /// A finite real number.
    ///
    /// # Errors
    /// [`BytesError::Malformed`] at the end or for NaN and infinities.
    pub fn real(&mut self) -> Result<f64, BytesError> {
        let x = f64::from_le_bytes(self.word()?);
        if x.is_finite() { Ok(x) } else { Err(malformed("a number is not finite")) }
    }

    /// Checks that `n` more fields of 8 bytes can follow, before room is made for them.
    fn room(&self, n: usize) -> Result<usize, BytesError> {
        if n <= self.rest.len() / 8 { Ok(n) } else { Err(malformed("a length goes beyond the end")) }
    }

    /// A list of whole numbers.
    ///
    /// # Errors
    /// [`BytesError::Malformed`] at the end.
    pub fn numbers(&mut self) -> Result<Vec<usize>, BytesError> {
        let n = self.number()?;
        (0..self.room(n)?).map(|_| self.number()).collect()
    }

    /// A matrix of finite numbers.
    ///
    /// # Errors
    /// [`BytesError::Malformed`] at the end, for impossible shapes, or for numbers that do not fit the precision.
    pub fn matrix<T: Real>(&mut self) -> Result<Dense<T>, BytesError> {
        let (rows, cols) = (self.number()?, self.number()?);
        let n = rows.checked_mul(cols).ok_or_else(|| malformed("impossible shape"))?;
        let data: Result<Vec<T>, _> = (0..self.room(n)?).map(|_| self.real().map(T::from_f64)).collect();
        let matrix = Dense::from_vec(rows, cols, data?).map_err(malformed)?;
        if matrix.is_finite() { Ok(matrix) } else { Err(malformed("a number is too large")) }
    }

    /// Everything must have been read.
    ///
    /// # Errors
    /// [`BytesError::Malformed`] if something is left.
    pub fn finish(self) -> Result<(), BytesError> {
        if self.rest.is_empty() { Ok(()) } else { Err(malformed("something follows the end")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::Matrix;
    use proptest::prelude::*;

    fn sample() -> Vec<u8> {
        let mut w = Writer::new("sample");
        w.numbers(&[3, 1, 4]);
        w.matrix(&Matrix::from_fn(2, 3, |i, j| (i + j) as f32 * 0.1));
        w.real(0.5);
        w.finish()
    }

    fn read(bytes: &[u8]) -> Result<(Vec<usize>, Matrix, f64), BytesError> {
        let mut r = Reader::open(bytes, "sample")?;
        let all = (r.numbers()?, r.matrix()?, r.real()?);
        r.finish()?;
        Ok(all)
    }

    #[test]
    fn round_trip() {
        let (list, matrix, real) = read(&sample()).unwrap();
        assert_eq!((list, real), (vec![3, 1, 4], 0.5));
        assert_eq!(matrix, Matrix::from_fn(2, 3, |i, j| (i + j) as f32 * 0.1));
    }

    #[test]
    fn refusals_say_why() {
        assert_eq!(read(b""), Err(BytesError::Magic));
        assert_eq!(read(b"GIF89a"), Err(BytesError::Magic));
        let mut other = sample();
        other[8] = 9;
        assert_eq!(read(&other), Err(BytesError::Version { found: 9 }));
        assert!(matches!(Reader::open(&sample(), "probe"), Err(BytesError::Kind { .. })));
    }

    #[test]
    fn a_right_checksum_does_not_excuse_wrong_lengths() {
        let mut w = Writer::new("sample");
        w.number(usize::MAX);
        assert!(matches!(read(&w.finish()), Err(BytesError::Malformed { .. })));
        let mut w = Writer::new("sample");
        w.numbers(&[]);
        w.number(1 << 40);
        w.number(1 << 40);
        assert!(matches!(read(&w.finish()), Err(BytesError::Malformed { .. })));
        let mut w = Writer::new("sample");
        w.numbers(&[]);
        w.number(1);
        w.number(1);
        w.real(1e300);
        w.real(0.0);
        assert!(matches!(read(&w.finish()), Err(BytesError::Malformed { .. })));
    }

    proptest! {
        #[test]
        fn any_change_or_cut_is_noticed(at in 0usize..1_000, change in 1u8..=255, cut: bool) {
            let mut bytes = sample();
            let at = at % bytes.len();
            if cut { bytes.truncate(at) } else { bytes[at] ^= change }
            prop_assert!(read(&bytes).is_err());
        }

        #[test]
        fn anything_at_all_is_survived(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            prop_assert!(read(&bytes).is_err());
            let mut behind_a_header = Writer::new("sample");
            behind_a_header.buffer.extend_from_slice(&bytes);
            let _ = read(&behind_a_header.finish());
        }
    }
}
