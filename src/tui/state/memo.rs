//! Values that several parts of a frame need, each computed once per frame.

use std::any::Any;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

#[derive(Debug, Default)]
pub(crate) struct Memo(RefCell<Option<HashMap<&'static str, Rc<dyn Any>>>>);

/// A copy of the state starts without cached values.
impl Clone for Memo {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Memo {
    /// Keeps values while `draw` runs.
    pub(crate) fn during<T>(&self, draw: impl FnOnce() -> T) -> T {
        self.0.replace(Some(HashMap::new()));
        let drawn = draw();
        self.0.replace(None);
        drawn
    }

    /// Returns the value cached under a name, which `make` computes once per frame; the same name must always have the same function.
    pub(crate) fn once<T: 'static>(&self, name: &'static str, make: impl FnOnce() -> T) -> Rc<T> {
        let known = self.0.borrow().as_ref().and_then(|kept| kept.get(name).cloned());
        if let Some(value) = known.and_then(|value| value.downcast().ok()) {
            return value;
        }
        let value = Rc::new(make());
        if let Some(kept) = self.0.borrow_mut().as_mut() {
            kept.insert(name, value.clone());
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_cached_for_one_frame() {
        let (memo, mut made) = (Memo::default(), 0);
        let mut value = |memo: &Memo| {
            *memo.once("value", || {
                made += 1;
                made
            })
        };
        assert_eq!([value(&memo), value(&memo)], [1, 2]);
        assert_eq!(memo.during(|| [value(&memo), value(&memo)]), [3, 3]);
        assert_eq!(memo.during(|| value(&memo)), 4);
        assert_eq!(value(&memo.clone()), 5);
    }
}
