//! Serialises trained probes and maps for a cache on disk.
//!
//! The format is a safetensors file followed by its SHA-256. Tensors are the fields in order, named `000000`, `000001`, ...; the metadata
//! contains the format version and the kind. A file that was truncated, changed or written by another version gives a specific error,
//! because a corrupt cache would silently change results.

use std::borrow::Cow;
use std::collections::HashMap;

use base::matrix::{Dense, Real};
use safetensors::{Dtype, SafeTensors, View};
use sha2::{Digest, Sha256};

/// Metadata key of version and kind.
const MARK: &str = "probity";
/// Increased whenever the layout of any kind changes.
const VERSION: u16 = 3;
const DIGEST: usize = 32;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BytesError {
    /// The file does not have this format.
    #[error("not a probe or map written by this program")]
    Magic,
    #[error("format version {found}, but this program reads version {VERSION}")]
    Version { found: u16 },
    #[error("contains a '{found}' instead of a '{wanted}'")]
    Kind { found: String, wanted: String },
    /// The file was truncated or changed.
    #[error("damaged: the checksum does not match")]
    Checksum,
    /// The checksum is right, but the content is not valid.
    #[error("malformed: {what}")]
    Malformed { what: String },
}

/// A [`BytesError::Malformed`], for decoders in other modules.
pub fn malformed(what: impl std::fmt::Display) -> BytesError {
    BytesError::Malformed { what: what.to_string() }
}

/// A serialised field, eight bytes per number.
#[derive(Debug)]
struct Field {
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

impl View for &Field {
    fn dtype(&self) -> Dtype {
        self.dtype
    }
    fn shape(&self) -> &[usize] {
        &self.shape
    }
    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(&self.bytes)
    }
    fn data_len(&self) -> usize {
        self.bytes.len()
    }
}

fn name(index: usize) -> String {
    format!("{index:06}")
}

/// Writes fields in sequence.
#[derive(Debug)]
pub struct Writer {
    mark: String,
    fields: Vec<Field>,
}

impl Writer {
    /// Begins an object of `kind`.
    pub fn new(kind: &str) -> Self {
        Self { mark: format!("{VERSION} {kind}"), fields: Vec::new() }
    }

    fn field(&mut self, dtype: Dtype, shape: Vec<usize>, numbers: impl Iterator<Item = [u8; 8]>) {
        self.fields.push(Field { dtype, shape, bytes: numbers.flatten().collect() });
    }

    pub fn number(&mut self, x: usize) {
        self.field(Dtype::U64, vec![], std::iter::once((x as u64).to_le_bytes()));
    }

    pub fn real(&mut self, x: f64) {
        self.field(Dtype::F64, vec![], std::iter::once(x.to_le_bytes()));
    }

    pub fn numbers(&mut self, list: &[usize]) {
        self.field(Dtype::U64, vec![list.len()], list.iter().map(|x| (*x as u64).to_le_bytes()));
    }

    pub fn reals(&mut self, list: &[f64]) {
        self.field(Dtype::F64, vec![list.len()], list.iter().map(|x| x.to_le_bytes()));
    }

    /// Writes a matrix with its shape, as f64, which represents f32 and f64 exactly.
    pub fn matrix<T: Real>(&mut self, m: &Dense<T>) {
        let shape = vec![m.rows(), m.cols()];
        self.field(Dtype::F64, shape, m.data().iter().map(|x| x.to_f64().to_le_bytes()));
    }

    /// Returns the bytes with the checksum appended.
    pub fn finish(self) -> Vec<u8> {
        let named = self.fields.iter().enumerate().map(|(i, field)| (name(i), field));
        let mark = HashMap::from([(MARK.to_owned(), self.mark)]);
        // Fails only if a shape does not fit its bytes, which `field` rules out; reading empty bytes reports damage.
        let mut bytes = safetensors::serialize(named, Some(mark)).unwrap_or_default();
        let digest = Sha256::digest(&bytes);
        bytes.extend_from_slice(&digest);
        bytes
    }
}

/// Reads fields in the order they were written.
#[derive(Debug)]
pub struct Reader<'a> {
    file: SafeTensors<'a>,
    next: usize,
}

impl<'a> Reader<'a> {
    /// Checks header and checksum.
    ///
    /// # Errors
    /// [`BytesError`] for a wrong format, version, kind or checksum.
    pub fn open(bytes: &'a [u8], kind: &str) -> Result<Self, BytesError> {
        let (body, digest) = bytes.split_at_checked(bytes.len().saturating_sub(DIGEST)).ok_or(BytesError::Magic)?;
        let (_, header) = SafeTensors::read_metadata(body).map_err(|_| BytesError::Magic)?;
        let mark = header.metadata().as_ref().and_then(|m| m.get(MARK)).ok_or(BytesError::Magic)?;
        let (version, found) = mark.split_once(' ').ok_or(BytesError::Magic)?;
        match version.parse() {
            Ok(VERSION) => {}
            Ok(found) => return Err(BytesError::Version { found }),
            Err(_) => return Err(BytesError::Magic),
        }
        if Sha256::digest(body).as_slice() != digest {
            return Err(BytesError::Checksum);
        }
        if found != kind {
            return Err(BytesError::Kind { found: found.to_owned(), wanted: kind.to_owned() });
        }
        Ok(Self { file: SafeTensors::deserialize(body).map_err(malformed)?, next: 0 })
    }

    /// Returns shape and numbers of the next field, which must have this type and number of dimensions.
    fn take(&mut self, dtype: Dtype, dimensions: usize) -> Result<(Vec<usize>, Vec<[u8; 8]>), BytesError> {
        let field = self.file.tensor(&name(self.next)).map_err(|_| malformed("a field is missing"))?;
        self.next += 1;
        if field.dtype() != dtype || field.shape().len() != dimensions {
            return Err(malformed("a field has the wrong type"));
        }
        let (words, _) = field.data().as_chunks::<8>();
        Ok((field.shape().to_vec(), words.to_vec()))
    }

    /// Reads an integer.
    ///
    /// # Errors
    /// [`BytesError::Malformed`] at the end of the file or for numbers beyond the range of `usize`.
    pub fn number(&mut self) -> Result<usize, BytesError> {
        let (_, words) = self.take(Dtype::U64, 0)?;
        whole(&words)?.first().copied().ok_or_else(|| malformed("a number is missing"))
    }

    /// Reads a finite number.
    ///
    /// # Errors
    /// [`BytesError::Malformed`] at the end of the file or for NaN and infinities.
    pub fn real(&mut self) -> Result<f64, BytesError> {
        let (_, words) = self.take(Dtype::F64, 0)?;
        finite(&words)?.first().copied().ok_or_else(|| malformed("a number is missing"))
    }

    pub fn numbers(&mut self) -> Result<Vec<usize>, BytesError> {
        whole(&self.take(Dtype::U64, 1)?.1)
    }

    /// Reads a list of finite numbers.
    ///
    /// # Errors
    /// [`BytesError::Malformed`] at the end of the file or for NaN and infinities.
    pub fn reals(&mut self) -> Result<Vec<f64>, BytesError> {
        finite(&self.take(Dtype::F64, 1)?.1)
    }

    /// Reads a matrix of finite numbers.
    ///
    /// # Errors
    /// [`BytesError::Malformed`] at the end of the file or for numbers that are out of range for `T`.
    pub fn matrix<T: Real>(&mut self) -> Result<Dense<T>, BytesError> {
        let (shape, words) = self.take(Dtype::F64, 2)?;
        let data = finite(&words)?.into_iter().map(T::from_f64).collect();
        let matrix = Dense::from_vec(shape[0], shape[1], data).map_err(malformed)?;
        if matrix.is_finite() { Ok(matrix) } else { Err(malformed("a number is too large")) }
    }

    /// Checks that everything was read.
    pub fn finish(self) -> Result<(), BytesError> {
        if self.next == self.file.len() { Ok(()) } else { Err(malformed("there are extra fields")) }
    }
}

fn whole(words: &[[u8; 8]]) -> Result<Vec<usize>, BytesError> {
    words.iter().map(|w| usize::try_from(u64::from_le_bytes(*w)).map_err(malformed)).collect()
}

fn finite(words: &[[u8; 8]]) -> Result<Vec<f64>, BytesError> {
    let numbers: Vec<f64> = words.iter().map(|w| f64::from_le_bytes(*w)).collect();
    if numbers.iter().all(|x| x.is_finite()) { Ok(numbers) } else { Err(malformed("a number is not finite")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Matrix;
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
    fn rejections_state_a_reason() {
        assert_eq!(read(b""), Err(BytesError::Magic));
        assert_eq!(read(b"GIF89a"), Err(BytesError::Magic));
        let mut other = Writer::new("sample");
        other.mark = "9 sample".into();
        assert_eq!(read(&other.finish()), Err(BytesError::Version { found: 9 }));
        assert!(matches!(Reader::open(&sample(), "probe"), Err(BytesError::Kind { .. })));
        // A valid safetensors file from another program, with a checksum.
        let mut theirs = safetensors::serialize(Vec::<(String, &Field)>::new(), None).unwrap();
        theirs.extend_from_slice(&Sha256::digest(theirs.clone()));
        assert_eq!(read(&theirs), Err(BytesError::Magic));
    }

    #[test]
    fn valid_checksum_does_not_excuse_invalid_fields() {
        let mut w = Writer::new("sample");
        w.number(usize::MAX);
        assert!(matches!(read(&w.finish()), Err(BytesError::Malformed { .. })), "a number cannot be read as a list");
        let mut w = Writer::new("sample");
        w.numbers(&[]);
        assert!(matches!(read(&w.finish()), Err(BytesError::Malformed { .. })), "too few fields");
        let mut w = Writer::new("sample");
        w.numbers(&[]);
        w.matrix(&Dense::<f64>::from_fn(1, 1, |_, _| 1e300));
        w.real(0.0);
        assert!(matches!(read(&w.finish()), Err(BytesError::Malformed { .. })), "too large for f32");
        let mut w = Writer::new("sample");
        w.numbers(&[]);
        w.matrix(&Matrix::from_fn(1, 1, |_, _| 0.0));
        w.real(f64::NAN);
        assert!(matches!(read(&w.finish()), Err(BytesError::Malformed { .. })), "not finite");
        let mut w = Writer::new("sample");
        w.numbers(&[]);
        w.matrix(&Matrix::from_fn(1, 1, |_, _| 0.0));
        w.real(0.0);
        w.real(0.0);
        assert!(matches!(read(&w.finish()), Err(BytesError::Malformed { .. })), "one field too many");
    }

    proptest! {
        #[test]
        fn any_change_or_truncation_is_detected(at in 0usize..1_000, change in 1u8..=255, cut: bool) {
            let mut bytes = sample();
            let at = at % bytes.len();
            if cut { bytes.truncate(at) } else { bytes[at] ^= change }
            prop_assert!(read(&bytes).is_err());
        }

        #[test]
        fn arbitrary_bytes_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            prop_assert!(read(&bytes).is_err());
            // An extra byte after the header, with a correct checksum.
            let mut changed = sample();
            let body = changed.len() - DIGEST;
            let from = body.min(90);
            changed.truncate(body);
            changed.splice(from..(from + bytes.len()).min(body), bytes);
            let digest = Sha256::digest(&changed);
            changed.extend_from_slice(&digest);
            let _ = read(&changed);
        }
    }
}
