//! The keys of findings and their explanations, derived from the declarations for tables, exports and the guide.

pub use lab_derive::{Columns, Kinds};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// The key in JSON.
    pub key: &'static str,
    /// Description in one sentence; empty if the key is self-explanatory.
    pub doc: &'static str,
    /// True if the key is part of the identity: a later finding of the same model with equal identity replaces the earlier one.
    pub id: bool,
}

/// A struct with described keys.
pub trait Columns {
    /// The keys in output order.
    fn columns() -> Vec<Column>;
    /// True if both have the same identity and the later one therefore replaces the earlier.
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

#[derive(Debug, Clone, Copy)]
pub struct KindInfo {
    /// Name of the kind: the value of `kind` in JSON.
    pub name: &'static str,
    /// Description in one sentence.
    pub doc: &'static str,
    pub columns: fn() -> Vec<Column>,
}
