//! Files that the terminal program reads and writes: exported figures and documents.

use std::path::{Path, PathBuf};

use crate::export::report;
use base::Problem;
use base::files::Whole;
use engine::board::Board;
use session::name;
use tui::action::{Document, Existing, Export, ExportOptions, Exported, Saved, Subject};

/// Writes a figure in each of its formats, or a report, to `folder`; `existing` decides what happens to existing files. Calls `tell` with
/// the numbers of files written and to be written.
pub(super) fn export(
    wanted: &Export,
    folder: &Path,
    existing: Existing,
    tell: &dyn Fn(usize, usize),
) -> Result<Exported, Problem> {
    let Export { subject, options: ExportOptions { look, formats, folder: chosen } } = wanted;
    // An absolute path is independent of the current folder.
    let folder = folder.join(chosen);
    let folder = std::path::absolute(&folder).unwrap_or(folder);
    std::fs::create_dir_all(&folder).map_err(|e| {
        Problem::new(
            format!("cannot make the folder: {e}"),
            folder.display().to_string(),
            "choose another folder in the export dialog",
        )
    })?;
    let figure = match subject {
        Subject::Figure(figure) => figure,
        Subject::Report(session, board) => return write_report(wanted, (board, session), &folder, existing, tell),
    };
    let stem = name::sanitise(&figure.name);
    let file = |stem: &str, extension: &str| folder.join(format!("{stem}.{extension}"));
    let there = |stem: &str| {
        let caption = formats.iter().any(|format| look.captions(*format)).then_some("txt");
        let written = formats.iter().map(|format| format.extension()).chain(caption);
        written.map(|extension| file(stem, extension)).filter(|f| f.exists()).collect::<Vec<PathBuf>>()
    };
    let in_the_way = there(&stem);
    let stem = match existing {
        Existing::Ask if !in_the_way.is_empty() => {
            return Ok(Exported::Exists(Box::new(wanted.clone()), in_the_way));
        }
        Existing::Ask | Existing::Replace => stem,
        Existing::Keep => std::iter::once(stem.clone())
            .chain((2..10_000).map(|k| format!("{stem}-{k}")))
            .find(|s| there(s).is_empty())
            .unwrap_or(stem),
    };
    let write = |path: PathBuf| {
        figure::export(figure, &path, look, true).map_err(|e| {
            Problem::new(e.to_string(), path.display().to_string(), "choose a writable folder in the export dialog")
        })
    };
    let mut written = Vec::new();
    for (k, format) in formats.iter().enumerate() {
        tell(k, formats.len());
        written.extend(write(file(&stem, format.extension()))?);
    }
    Ok(Exported::Wrote(written))
}

fn write_report(
    wanted: &Export,
    (board, session): (&Board, &str),
    folder: &Path,
    existing: Existing,
    tell: &dyn Fn(usize, usize),
) -> Result<Exported, Problem> {
    let path = folder.join(format!("{}.md", name::sanitise(&report::name_of(session))));
    let in_the_way: Vec<PathBuf> =
        [path.clone(), report::figures_of(&path)].into_iter().filter(|p| p.symlink_metadata().is_ok()).collect();
    let path = match existing {
        Existing::Ask if !in_the_way.is_empty() => return Ok(Exported::Exists(Box::new(wanted.clone()), in_the_way)),
        Existing::Keep => free(&path),
        Existing::Ask | Existing::Replace => path,
    };
    let written = report::write(board, session, &path, (&wanted.options.look, existing == Existing::Replace), tell);
    written.map(Exported::Wrote).map_err(|e| {
        Problem::new(e.to_string(), path.display().to_string(), "choose a writable folder in the export dialog")
    })
}

/// Maximum size of a text file, in bytes.
const MAX_TEXT: u64 = 64 << 20;

/// Writes a document; a relative path is resolved in `folder`. `existing` decides what happens to an existing file.
pub(super) fn save(document: &Document, folder: &Path, existing: Existing) -> Result<Saved, Problem> {
    let path = folder.join(&document.path);
    let path = std::path::absolute(&path).unwrap_or(path);
    let fail = |e: &dyn std::fmt::Display| {
        Problem::new(e.to_string(), path.display().to_string(), "choose a file in a writable folder")
    };
    let target = match existing {
        Existing::Ask if path.symlink_metadata().is_ok() => {
            return Ok(Saved::Exists(Box::new(Document { path, text: document.text.clone() })));
        }
        Existing::Keep => free(&path),
        Existing::Ask | Existing::Replace => path.clone(),
    };
    let whole = Whole::new(&target, existing == Existing::Replace);
    whole.and_then(|whole| whole.fill(document.text.as_bytes())).map_err(|e| fail(&e))?;
    Ok(Saved::Wrote(target))
}

/// Appends the first free number, from 2, to the path's stem.
fn free(path: &Path) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let extension = path.extension().map_or(String::new(), |e| format!(".{}", e.to_string_lossy()));
    let beside = |k: usize| path.with_file_name(format!("{stem}-{k}{extension}"));
    (2..10_000).map(beside).find(|p| p.symlink_metadata().is_err()).unwrap_or_else(|| path.to_owned())
}

pub(super) fn load(path: &Path) -> Result<Document, Problem> {
    let fail = |what: String| Problem::new(what, path.display().to_string(), "choose a readable text file");
    let text = base::read::text(path, MAX_TEXT).map_err(|e| fail(format!("cannot be read: {e}")))?;
    Ok(Document { path: path.to_owned(), text })
}

#[cfg(test)]
mod tests {
    use super::*;
    use figure::Style;

    fn wanted() -> Export {
        use figure::layers::{Datum, Line};
        use figure::{Axis, Dash, Figure, Layer, Provenance, Role};
        let point = |x| Datum { x, y: x, n: 1.into(), ..Datum::default() };
        let points = vec![point(0.0), point(1.0)];
        let line = Line { label: "s".into(), role: Role::line(0).dash(Dash::Solid), points };
        let (x, y) = (Axis::linear("x"), Axis::linear("x"));
        let (name, title) = ("a/b".into(), "t".into());
        let provenance = Provenance::default();
        let figure = Figure { name, title, x, y, layers: vec![Layer::Line(line)], provenance };
        Export { subject: Subject::Figure(figure), options: ExportOptions::default() }
    }

    fn wrote(done: Exported) -> Vec<PathBuf> {
        match done {
            Exported::Wrote(files) => files,
            Exported::Exists(_, files) => panic!("{files:?} already exist"),
        }
    }

    #[test]
    fn export_reports_full_path_and_asks_before_overwriting() {
        let folder = tempfile::tempdir().unwrap();
        let first = wrote(export(&wanted(), folder.path(), Existing::Ask, &|_, _| ()).unwrap());
        assert_eq!(first.len(), 3);
        assert!(first.iter().all(|f| f.is_absolute() && f.is_file()));
        std::fs::write(&first[0], "mine").unwrap();
        let Exported::Exists(held, files) = export(&wanted(), folder.path(), Existing::Ask, &|_, _| ()).unwrap() else {
            panic!("the export did not ask before overwriting")
        };
        assert_eq!((*held, files), (wanted(), first.clone()));
        assert_eq!(std::fs::read(&first[0]).unwrap(), b"mine", "the existing file is unchanged");
        let beside = wrote(export(&wanted(), folder.path(), Existing::Keep, &|_, _| ()).unwrap());
        assert!(beside.iter().all(|f| !first.contains(f)));
        assert_eq!(std::fs::read(&first[0]).unwrap(), b"mine");
        assert_eq!(wrote(export(&wanted(), folder.path(), Existing::Replace, &|_, _| ()).unwrap()), first);
        assert_ne!(std::fs::read(&first[0]).unwrap(), b"mine");
    }

    #[test]
    fn report_lists_its_files_and_asks_before_replacing() {
        let folder = tempfile::tempdir().unwrap();
        let session = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sessions/agreement.probity.jsonl");
        let board = session::format::Session::read(&session).unwrap().board();
        let subject = Subject::Report("agreement".into(), board);
        let wanted = Export { subject, options: ExportOptions::default() };
        let files = wrote(export(&wanted, folder.path(), Existing::Ask, &|_, _| ()).unwrap());
        assert_eq!(files[0], folder.path().join("agreement.md"));
        let page = std::fs::read_to_string(&files[0]).unwrap();
        assert!(page.starts_with("# agreement\n") && page.contains("**Answer.**"), "{page}");
        let figures = folder.path().join("agreement-figures");
        assert!(files.len() > 1 && files[1..].iter().all(|f| f.starts_with(&figures) && f.is_file()), "{files:?}");
        let Exported::Exists(_, there) = export(&wanted, folder.path(), Existing::Ask, &|_, _| ()).unwrap() else {
            panic!()
        };
        assert_eq!(there, [files[0].clone(), figures]);
        assert_eq!(wrote(export(&wanted, folder.path(), Existing::Replace, &|_, _| ()).unwrap()), files);
        let beside = wrote(export(&wanted, folder.path(), Existing::Keep, &|_, _| ()).unwrap());
        assert_eq!(beside[0], folder.path().join("agreement-2.md"));
    }

    #[test]
    fn figures_go_to_the_chosen_folder() {
        let folder = tempfile::tempdir().unwrap();
        let mut wanted = wanted();
        wanted.options.folder = "figures/paper".into();
        let files = wrote(export(&wanted, folder.path(), Existing::Ask, &|_, _| ()).unwrap());
        assert!(files.iter().all(|f| f.parent() == Some(&folder.path().join("figures/paper"))), "{files:?}");
        wanted.options.folder = files[0].clone();
        let problem = export(&wanted, folder.path(), Existing::Ask, &|_, _| ()).unwrap_err();
        assert!(problem.what.contains("folder") && problem.hint.contains("another"), "{problem}");
    }

    #[test]
    fn paper_caption_never_overwrites_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let caption = folder.path().join("a-b.txt");
        std::fs::write(&caption, "mine").unwrap();
        let mut wanted = wanted();
        wanted.options.formats = vec![figure::Format::Pdf];
        assert_eq!(wrote(export(&wanted, folder.path(), Existing::Ask, &|_, _| ()).unwrap()).len(), 1);
        wanted.options.look.style = Style::Paper;
        let Exported::Exists(_, files) = export(&wanted, folder.path(), Existing::Ask, &|_, _| ()).unwrap() else {
            panic!()
        };
        assert_eq!(files, [folder.path().join("a-b.pdf"), caption.clone()]);
        assert_eq!(wrote(export(&wanted, folder.path(), Existing::Keep, &|_, _| ()).unwrap()).len(), 2);
        assert_eq!(std::fs::read(&caption).unwrap(), b"mine");
    }

    #[test]
    fn document_overwrites_only_on_request() {
        let folder = tempfile::tempdir().unwrap();
        let document = Document { path: "a.jsonl".into(), text: "{}\n".into() };
        let path = folder.path().join("a.jsonl");
        assert_eq!(save(&document, folder.path(), Existing::Ask).unwrap(), Saved::Wrote(path.clone()));
        std::fs::write(&path, "mine").unwrap();
        let held = Document { path: path.clone(), ..document.clone() };
        assert_eq!(save(&document, folder.path(), Existing::Ask).unwrap(), Saved::Exists(Box::new(held.clone())));
        let beside = folder.path().join("a-2.jsonl");
        assert_eq!(save(&held, folder.path(), Existing::Keep).unwrap(), Saved::Wrote(beside));
        assert_eq!(load(&path).unwrap().text, "mine");
        assert_eq!(save(&held, folder.path(), Existing::Replace).unwrap(), Saved::Wrote(path.clone()));
        assert_eq!(load(&path).unwrap(), held);
        assert!(load(folder.path()).unwrap_err().what.contains("a folder"));
        assert!(load(&folder.path().join("b")).is_err());
        std::fs::write(&path, [0xff, 0xfe]).unwrap();
        assert!(load(&path).unwrap_err().what.contains("cannot be read"));
    }
}
