//! The keys of findings with their explanations. Derived from the declarations; tables, exports and the guide read
//! them.

pub use lab_derive::{Columns, Kinds};

/// A key of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// As in JSON.
    pub key: &'static str,
    /// One sentence; empty if the key is self-explanatory.
    pub doc: &'static str,
    /// True for a part of the identity: of one model, a later finding with the same values replaces an earlier one.
    pub id: bool,
}

/// A struct whose keys are described.
pub trait Columns {
    /// The keys in the order in which they are written.
    fn columns() -> Vec<Column>;
    /// True if both have the same identity, so that the later one counts.
    fn same(&self, other: &Self) -> bool;
}

impl<T: Columns> Columns for Box<T> {
    fn columns() -> Vec<Column> {
        T::columns()
    }

    fn same(&self, other: &Self) -> bool {
        T::same(self, other)
    }
}

impl<T: Columns> Columns for Option<T> {
    fn columns() -> Vec<Column> {
        T::columns()
    }

    fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Some(a), Some(b)) => a.same(b),
            _ => true,
        }
    }
}

/// A kind of finding.
#[derive(Debug, Clone, Copy)]
pub struct KindInfo {
    /// As `kind` in JSON.
    pub name: &'static str,
    /// One sentence.
    pub doc: &'static str,
    pub columns: fn() -> Vec<Column>,
}
