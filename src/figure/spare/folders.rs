//! System font folders, and their files in an order that does not depend on the file system.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const MOST_FILES: usize = 4_000;
/// Maximum number of folder entries listed.
const MOST_ENTRIES: usize = 40_000;
/// Maximum depth below a font folder.
const DEPTH: usize = 6;
const EXTENSIONS: [&str; 4] = ["ttf", "otf", "ttc", "otc"];

/// The system's font folders, with the user's first.
pub(crate) fn usual() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = base::folders::fonts().into_iter().collect();
    if cfg!(target_os = "macos") {
        folders.extend(["/Library/Fonts", "/System/Library/Fonts"].map(PathBuf::from));
    } else if cfg!(windows) {
        let root = std::env::var_os("WINDIR").map_or_else(|| PathBuf::from(r"C:\Windows"), PathBuf::from);
        folders.push(root.join("Fonts"));
    } else {
        folders.extend(base::folders::home().map(|d| d.join(".fonts")));
        let shared = std::env::var_os("XDG_DATA_DIRS").unwrap_or_default();
        folders.extend(std::env::split_paths(&shared).filter(|d| d.is_absolute()).map(|d| d.join("fonts")));
        folders.extend(["/usr/local/share/fonts", "/usr/share/fonts"].map(PathBuf::from));
        folders.push("/run/current-system/sw/share/X11/fonts".into());
    }
    folders
}

/// Finds font files in the folders and their subfolders, ordered by folder and then by name. A folder that can be reached in several ways,
/// for example through links, is read once.
pub(crate) fn files(folders: &[PathBuf]) -> Vec<PathBuf> {
    let mut walk = Walk { read: BTreeSet::new(), entries: 0, files: Vec::new() };
    folders.iter().for_each(|folder| walk.folder(folder, DEPTH));
    walk.files
}

struct Walk {
    /// Folders already read, by canonical path.
    read: BTreeSet<PathBuf>,
    entries: usize,
    files: Vec<PathBuf>,
}

impl Walk {
    fn folder(&mut self, folder: &Path, depth: usize) {
        let Ok(real) = folder.canonicalize() else { return };
        if !self.read.insert(real) {
            return;
        }
        let Ok(entries) = std::fs::read_dir(folder) else { return };
        let room = MOST_ENTRIES - self.entries;
        let mut paths: Vec<PathBuf> = entries.flatten().take(room).map(|e| e.path()).collect();
        self.entries += paths.len();
        paths.sort();
        for path in paths {
            // The type of a link's target counts; pipes and devices are skipped.
            let Ok(kind) = std::fs::metadata(&path) else { continue };
            if kind.is_dir() && depth > 0 {
                self.folder(&path, depth - 1);
            } else if kind.is_file() && is_font(&path) && self.files.len() < MOST_FILES {
                self.files.push(path);
            }
        }
    }
}

fn is_font(path: &Path) -> bool {
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
    EXTENSIONS.iter().any(|e| extension.eq_ignore_ascii_case(e))
}
