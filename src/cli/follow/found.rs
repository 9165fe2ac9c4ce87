//! Results of finished cells in a followed grid: read from a local folder, or received as lines from the remote machine.

use std::collections::BTreeSet;
use std::io::Write;

use serde::{Deserialize, Serialize};

use crate::error::CliError;
use crate::output;
use session::format::{Entry, Item};
use session::parts::folder::Folder;
use session::parts::part::Reader;
use session::parts::watch::{View, sign};

/// Maximum number of finished cells read before the folder is checked again.
const AT_ONCE: usize = 64;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Told {
    #[cfg_attr(not(unix), expect(dead_code, reason = "only a remote grid sends its state"))]
    View(Box<View>),
    /// A line of a cell's results.
    Entry(Box<Entry>),
    /// Marks the end of the results of the cell with this number, from 1.
    Whole(usize),
}

/// The line that follows a cell's last result.
#[derive(Debug, Serialize, Deserialize)]
struct WholeLine {
    whole: usize,
}

impl Told {
    /// Parses a line from `probity follow --json`; `None` for any other line.
    #[cfg(any(unix, test))]
    pub(super) fn read(line: &str) -> Option<Self> {
        // serde would accept a list instead of an object.
        let line = Some(line.trim_end()).filter(|line| line.starts_with('{'))?;
        let view = serde_json::from_str(line).map(|view| Told::View(Box::new(view)));
        let whole = |_| serde_json::from_str(line).map(|WholeLine { whole }| Told::Whole(whole));
        view.or_else(whole).ok().or_else(|| Some(Told::Entry(Box::new(Entry::read(line)?))))
    }

    pub(super) fn print(&self, out: &mut dyn Write) -> Result<(), CliError> {
        match self {
            Told::View(view) => output::json(out, view),
            Told::Whole(whole) => output::json(out, &WholeLine { whole: *whole }),
            Told::Entry(entry) => {
                let text = entry.to_line().map_err(|e| CliError::Failed(e.to_string()))?;
                output::line(out, text.trim_end())
            }
        }
    }
}

pub(super) struct Found<'a> {
    folder: &'a Folder,
    told: Vec<bool>,
}

impl<'a> Found<'a> {
    /// Creates a reader that skips the cells in `without` (numbers from 1).
    pub(super) fn new(folder: &'a Folder, without: &BTreeSet<usize>) -> Self {
        let told = (1..=folder.cells.len()).map(|number| without.contains(&number)).collect();
        Self { folder, told }
    }

    /// Reports cells finished since the last call; returns true if there are more. Stops if `each` fails.
    pub(super) fn tell<E>(&mut self, view: &View, mut each: impl FnMut(Told) -> Result<(), E>) -> Result<bool, E> {
        let done = view.map.chars().enumerate().filter(|(_, s)| *s == sign::DONE).map(|(i, _)| i);
        let fresh: Vec<usize> = done.filter(|i| self.told.get(*i) == Some(&false)).collect();
        for index in fresh.iter().copied().take(AT_ONCE) {
            self.told[index] = true;
            let name = self.folder.cells[index].name_of(self.folder.cells.len());
            each(Told::Entry(Box::new(Entry { t: 0.0, item: Item::Note(name) })))?;
            // A part that cannot be read counts as failed the next time that the folder is checked.
            let Ok(mut part) = Reader::open(&self.folder.part(index)) else { continue };
            while let Ok(Some(entry)) = part.entry() {
                each(Told::Entry(Box::new(entry)))?;
            }
            each(Told::Whole(index + 1))?;
        }
        Ok(fresh.len() > AT_ONCE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::message::Event;

    #[test]
    fn only_printed_results_are_parsed() {
        let view = View { grid: "a".into(), cells: 2, map: "#.".into(), ..View::default() };
        let entry = Entry { t: 1.5, item: Item::Event(Event::Models { models: Vec::new() }) };
        for told in [
            Told::View(Box::new(view)),
            Told::Whole(7),
            Told::Entry(Box::new(entry)),
            Told::Entry(Box::new(Entry { t: 0.0, item: Item::Note("cell 1 of 2".into()) })),
        ] {
            let mut out = Vec::new();
            told.print(&mut out).unwrap();
            let text = String::from_utf8(out).unwrap();
            assert_eq!(text.lines().count(), 1, "{text}");
            assert_eq!(Told::read(&text), Some(told));
        }
        for noise in ["", "hello", "{}", "[1]", "{\"whole\":-1}", "{\"t\":1}", "{\"grid\":\"a\""] {
            assert_eq!(Told::read(noise), None, "{noise}");
        }
    }
}
