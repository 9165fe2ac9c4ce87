//! The glossary: the terms of the labs, and their methods.

use std::sync::OnceLock;

use lab::LabId;
use lab::terms::{TERMS, Term};

pub fn glossary() -> &'static [Term] {
    static ALL: OnceLock<Vec<Term>> = OnceLock::new();
    ALL.get_or_init(|| {
        let method = |name, symbol, labs, meaning| Term { name, symbol, labs, meaning };
        let edits = interventions::registry().iter().map(|m| method(m.title, "", &[LabId::Interventions], m.doc));
        let scores = saliency::methods::METHODS.iter();
        let scores = scores.map(|m| method(m.title(), m.short(), &[LabId::Saliency], m.about()));
        TERMS.iter().copied().chain(edits).chain(scores).collect()
    })
}
