//! Batches of sentences as token ids, padded on the right.

use super::arch::{Arch, Network};
use super::error::{ModelError, Result};
use super::offers::Limit;

/// B rows of token ids, padded on the right to the longest, T.
///
/// The attention mask follows from the lengths: tokens attend to their own row and never to padding. Position t of a row is its t-th
/// token, whatever its id. The architecture determines the positions of padding ([`Positions`](super::arch::Positions)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    len: usize,
    ids: Vec<u32>,
    types: Vec<u32>,
    lengths: Vec<usize>,
    decoder: Option<Box<Batch>>,
}

impl Batch {
    /// Creates a batch padded with `pad`; token types are 0.
    ///
    /// # Errors
    /// [`ModelError::Empty`] without rows or for a row without tokens.
    pub fn new<R: AsRef<[u32]>>(rows: &[R], pad: u32) -> Result<Batch> {
        let len = rows.iter().map(|r| r.as_ref().len()).max().unwrap_or(0);
        let mut batch = Batch {
            len,
            ids: vec![pad; rows.len() * len],
            types: vec![0; rows.len() * len],
            lengths: rows.iter().map(|r| r.as_ref().len()).collect(),
            decoder: None,
        };
        if rows.is_empty() {
            return Err(ModelError::Empty { row: 0 });
        }
        for (b, row) in rows.iter().enumerate() {
            let row = row.as_ref();
            if row.is_empty() {
                return Err(ModelError::Empty { row: b });
            }
            batch.ids[b * len..b * len + row.len()].copy_from_slice(row);
        }
        Ok(batch)
    }

    /// Creates a batch with token types (sentence pairs), one list per row and of the same length.
    ///
    /// # Errors
    /// Same as [`Batch::new`]; [`ModelError::Plan`] if the lengths differ.
    pub fn with_types<R: AsRef<[u32]>, S: AsRef<[u32]>>(rows: &[R], types: &[S], pad: u32) -> Result<Batch> {
        let mut batch = Batch::new(rows, pad)?;
        if types.len() != rows.len() {
            return Err(ModelError::Plan(format!("{} lists of token types for {} sentences", types.len(), rows.len())));
        }
        for (b, row) in types.iter().enumerate() {
            let row = row.as_ref();
            if row.len() != batch.lengths[b] {
                return Err(ModelError::Plan(format!(
                    "sentence {b} has {} tokens and {} token types",
                    batch.lengths[b],
                    row.len()
                )));
            }
            batch.types[b * batch.len..b * batch.len + row.len()].copy_from_slice(row);
        }
        Ok(batch)
    }

    /// Sets the input of an encoder-decoder's decoder, one list per row. By default the decoder reads the encoder's input shifted right,
    /// so that its position t predicts token t of the input.
    ///
    /// # Errors
    /// Same as [`Batch::new`]; [`ModelError::Plan`] if the numbers of rows differ.
    pub fn with_decoder<R: AsRef<[u32]>>(mut self, rows: &[R], pad: u32) -> Result<Batch> {
        if rows.len() != self.rows() {
            return Err(ModelError::Plan(format!("{} decoder rows for {} sentences", rows.len(), self.rows())));
        }
        self.decoder = Some(Box::new(Batch::new(rows, pad)?));
        Ok(self)
    }

    /// The batch to which logits refer: the decoder's input if given, otherwise this batch.
    pub fn output(&self) -> &Batch {
        self.decoder.as_deref().unwrap_or(self)
    }

    /// The decoder's input: as given, or this batch shifted right by one after `start`.
    pub fn decoder_input(&self, start: u32) -> Batch {
        if let Some(own) = &self.decoder {
            return (**own).clone();
        }
        let mut ids = self.ids.clone();
        for row in ids.chunks_mut(self.len) {
            row.rotate_right(1);
            row[0] = start;
        }
        Batch { ids, types: vec![0; self.ids.len()], ..self.clone() }
    }

    pub fn rows(&self) -> usize {
        self.lengths.len()
    }

    /// Padded length T.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Always false: a batch has at least one token.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Token ids `[B,T]`, padding included.
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// Token types `[B,T]`, 0 at padding.
    pub fn types(&self) -> &[u32] {
        &self.types
    }

    /// Number of tokens in each row.
    pub fn lengths(&self) -> &[usize] {
        &self.lengths
    }

    pub(crate) fn is_padded(&self) -> bool {
        self.lengths.iter().any(|&n| n < self.len)
    }

    /// True if `[b,t]` is a token, not padding.
    pub(crate) fn is_token(&self, b: usize, t: usize) -> bool {
        self.lengths.get(b).is_some_and(|&n| t < n)
    }

    /// Index of each row's last token, where a causal model predicts the next token.
    #[cfg(test)]
    pub(crate) fn last_positions(&self) -> Vec<usize> {
        self.lengths.iter().map(|n| n - 1).collect()
    }

    /// Index of the last occurrence of `id`, such as the mask token, in each row.
    pub fn find_last(&self, id: u32) -> Vec<Option<usize>> {
        (0..self.rows())
            .map(|b| self.ids[b * self.len..b * self.len + self.lengths[b]].iter().rposition(|&i| i == id))
            .collect()
    }

    /// Checks ids, types and lengths against an architecture.
    pub fn check(&self, arch: &Arch) -> Result<()> {
        match (&self.decoder, arch.decoder) {
            (Some(own), Some(_)) => own.check_rows(arch)?,
            (Some(_), None) => return Err(ModelError::Plan(format!("'{}' has no decoder", arch.family))),
            (None, _) => {}
        }
        self.check_rows(arch)
    }

    fn check_rows(&self, arch: &Arch) -> Result<()> {
        for (row, &len) in self.lengths.iter().enumerate() {
            let max = arch.max_positions;
            if len > max {
                return Err(match arch.network {
                    Network::LogitsOnly(about) if about.limit != Limit::Positions => {
                        ModelError::BeyondLimit { row, len, max, why: about.limit.reason() }
                    }
                    _ => ModelError::TooLong { row, len, max },
                });
            }
        }
        if let Some(i) = self.ids.iter().position(|&id| id as usize >= arch.vocab) {
            return Err(ModelError::TokenId { id: self.ids[i], row: i / self.len, vocab: arch.vocab });
        }
        let types = arch.embedding.types.max(1) as u32;
        if let Some(i) = self.types.iter().position(|&t| t >= types) {
            return Err(ModelError::Plan(format!(
                "sentence {} has token type {}, but the model has only {types} types",
                i / self.len,
                self.types[i]
            )));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_padded_on_the_right() {
        let b = Batch::new(&[vec![5, 6, 7], vec![8]], 0).unwrap();
        assert_eq!((b.rows(), b.len()), (2, 3));
        assert_eq!(b.ids(), [5, 6, 7, 8, 0, 0]);
        assert_eq!(b.last_positions(), [2, 0]);
        assert_eq!(b.find_last(0), [None, None], "padding is not a token");
        assert_eq!(b.find_last(7), [Some(2), None]);
        assert!(b.is_padded() && b.is_token(0, 2) && !b.is_token(1, 1) && !b.is_token(9, 0));
    }

    #[test]
    fn empty_rows_are_refused() {
        assert!(matches!(Batch::new::<Vec<u32>>(&[], 0), Err(ModelError::Empty { row: 0 })));
        assert!(matches!(Batch::new(&[vec![1], vec![]], 0), Err(ModelError::Empty { row: 1 })));
        assert!(Batch::with_types(&[vec![1, 2]], &[vec![0]], 0).is_err());
    }

    #[test]
    fn decoder_input_defaults_to_the_shifted_input() {
        let b = Batch::new(&[vec![5, 6, 7], vec![8]], 0).unwrap();
        assert_eq!(b.decoder_input(2).ids(), [2, 5, 6, 2, 8, 0]);
        assert_eq!(b.output(), &b);
        let own = b.with_decoder(&[vec![3], vec![4, 9]], 0).unwrap();
        assert_eq!((own.decoder_input(2).ids(), own.output().len()), (&[3, 0, 4, 9][..], 2));
        assert!(own.with_decoder(&[vec![3]], 0).is_err());
    }
}
