//! What is taken from a session that was read: its name, and the spec to go on with.

use std::path::Path;

use crate::base::Problem;
use crate::engine::message::Command;
use crate::lab::Spec;
use crate::session::format::{Item as Line, Session};

/// The name of a session by its file.
pub(super) fn called(path: &Path) -> String {
    let file = path.file_name().map_or_else(String::new, |f| f.to_string_lossy().into_owned());
    file.strip_suffix(crate::session::name::EXTENSION).unwrap_or(&file).to_owned()
}

/// The spec that a session ran last, or else the one that it set out with.
pub(super) fn last_spec(path: &Path, session: &Session) -> Result<Box<Spec>, Problem> {
    let ran = session.entries.iter().rev().find_map(|entry| match &entry.item {
        Line::Command(Command::Run { spec, .. }) => Some((**spec).clone()),
        _ => None,
    });
    ran.or_else(|| session.header.spec.clone()).map(Box::new).ok_or_else(|| Problem {
        what: "the session ran nothing that this version can set up".into(),
        r#where: path.display().to_string(),
        hint: "replay it, or pick another one".into(),
    })
}
