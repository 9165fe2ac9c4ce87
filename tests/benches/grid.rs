//! Cost of a grid: overhead per cell for 1 to 48 cells, with one process and with two; and files, memory and time for joining, following
//! and replaying 10,000 cells.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use probity::engine::message::{Command as Order, Event};
use probity::lab::grid;
use probity::session::format::{Entry, Item};
use probity::session::parts::folder::Folder;
use probity::session::parts::part::{Head, Reader, Writer, glance};
use probity::session::record::Record;

/// A cell that takes a fraction of a second.
const CELL: &str = concat!(
    "lab = \"interventions\"\nmodels = [\"bert-tiny\"]\n[task]\nexamples = 800\n",
    include_str!("../common/cell.toml")
);
/// Default numbers of cells to join.
const MANY: [usize; 3] = [100, 1_000, 10_000];

fn grid_of(cells: usize) -> String {
    format!("{CELL}[grid]\nseed = {:?}\n", (0..cells).collect::<Vec<_>>())
}

/// Runs the program; returns wall time in seconds and peak memory in MiB.
fn run(folder: &Path, args: &[&str]) -> (f64, f64) {
    let begun = Instant::now();
    let mut child = Command::new(env!("CARGO_BIN_EXE_probity"))
        .args(args)
        .env("PROBITY_STATE_DIR", folder)
        .env("PROBITY_CACHE_DIR", folder.join("cache"))
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("the program");
    let status = format!("/proc/{}/status", child.id());
    let mut peak: f64 = 0.0;
    while child.try_wait().expect("a child").is_none() {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|l| l.strip_prefix("VmHWM:")).unwrap_or_default();
        peak = peak.max(line.trim().trim_end_matches(" kB").parse::<f64>().unwrap_or(0.0) / 1024.0);
        std::thread::sleep(Duration::from_millis(5));
    }
    (begun.elapsed().as_secs_f64(), peak)
}

/// Total computing time in seconds of a folder's cells, as their files report it.
fn computed(dir: &Path) -> f64 {
    let folder = Folder::open(dir).expect("a folder");
    folder.files().expect("parts").iter().map(|f| glance(f).expect("a part").1.seconds).sum()
}

fn overhead() {
    println!("cells  jobs  wall s  of which computing s  overhead per cell ms");
    for cells in [1, 2, 4, 8, 16, 48] {
        for jobs in ["1", "2"] {
            let tmp = tempfile::tempdir().expect("a folder");
            let (spec, dir) = (tmp.path().join("g.toml"), tmp.path().join("out"));
            std::fs::write(&spec, grid_of(cells)).expect("a spec");
            let (spec, out) = (spec.display().to_string(), dir.display().to_string());
            let (wall, _) = run(tmp.path(), &["run", &spec, "--out", &out, "--quiet", "--jobs", jobs]);
            let spent = computed(&dir);
            // Two jobs compute in parallel, so wall time minus computing time is not their overhead.
            let own = match jobs {
                "1" => format!("{:.1}", 1e3 * (wall - spent) / cells as f64),
                _ => "-".into(),
            };
            println!("{cells:>5}  {jobs:>4}  {wall:>6.2}  {spent:>19.2}  {own:>18}");
        }
    }
}

/// Gives every cell a copy of one cell's findings, under the cell's own name.
fn fill(folder: &Folder, cells: &[grid::Cell], model: &Path) {
    let mut reader = Reader::open(model).expect("a part");
    let mut entries: Vec<Entry> = Vec::new();
    while let Some(entry) = reader.entry().expect("a line") {
        entries.push(entry);
    }
    for (index, cell) in cells.iter().enumerate() {
        let listed = &folder.cells[index];
        let number = listed.cell as u64;
        let head = Head {
            grid: folder.head.hash.clone(),
            cell: listed.cell,
            spec: listed.spec.clone(),
            at: listed.at.clone(),
            ..reader.head.clone()
        };
        let mut writer = Writer::new(folder.part(index), &head, None, None).expect("a part");
        for entry in &entries {
            match &entry.item {
                Item::Command(Order::Run { .. }) => {
                    let spec = Box::new(cell.spec.clone());
                    writer.command(entry.t, &Order::Run { job: number, generation: number, spec })
                }
                Item::Event(event) => {
                    let mut event = event.clone();
                    match &mut event {
                        Event::Started { job, generation, spec_hash } => {
                            (*job, *generation) = (number, number);
                            spec_hash.clone_from(&cell.hash);
                        }
                        Event::Finding { generation, finding } => {
                            *generation = number;
                            finding.spec.clone_from(&cell.hash);
                            finding.seed = cell.spec.seed();
                        }
                        Event::Finished { job, generation, .. } => (*job, *generation) = (number, number),
                        _ => {}
                    }
                    writer.event(entry.t, &event)
                }
                _ => Ok(()),
            }
            .expect("a line");
        }
        writer.finish().expect("a file");
    }
}

/// Number and total bytes of the files in a folder and its subfolders.
fn weigh(dir: &Path) -> (usize, u64) {
    let entries = std::fs::read_dir(dir).expect("a folder").flatten();
    entries.fold((0, 0), |(files, bytes), entry| match entry.metadata() {
        Ok(about) if about.is_dir() => {
            let (more, further) = weigh(&entry.path());
            (files + more, bytes + further)
        }
        Ok(about) => (files + 1, bytes + about.len()),
        Err(_) => (files, bytes),
    })
}

fn joining(sets: &[usize]) {
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let tmp = tempfile::tempdir().expect("a folder");
    let small = tmp.path().join("small");
    let spec = tmp.path().join("one.toml");
    std::fs::write(&spec, grid_of(1)).expect("a spec");
    run(tmp.path(), &["run", &spec.display().to_string(), "--out", &small.display().to_string(), "--quiet"]);
    let model = Folder::open(&small).expect("a folder").part(0);
    println!("cells  files  parts MiB  merge s  MiB  follow s  MiB  sessions  in all MiB  replay of the first s  MiB");
    for cells in sets.iter().copied() {
        let file = tmp.path().join(format!("{cells}.toml"));
        std::fs::write(&file, grid_of(cells)).expect("a spec");
        let list = grid::read(&file).expect("a grid");
        let (dir, joined) = (tmp.path().join(format!("out-{cells}")), tmp.path().join(format!("joined-{cells}")));
        std::fs::create_dir(&joined).expect("a folder");
        let folder = Folder::join(&dir, &list, &vec![1; cells]).expect("a folder");
        fill(&folder, &list, &model);
        let (files, bytes) = weigh(&dir);
        let session = joined.join("all.probity.jsonl").display().to_string();
        let dir = dir.display().to_string();
        let (merge, held) = run(tmp.path(), &["merge", &dir, "-o", &session]);
        let (follow, looked) = run(tmp.path(), &["follow", &dir, "--once"]);
        let (replay, played) = run(tmp.path(), &["replay", &session, "--headless"]);
        let (sessions, size) = weigh(&joined);
        println!(
            "{cells:>5}  {files:>5}  {:>9.1}  {merge:>7.2}  {held:>5.1}  {follow:>6.2}  {looked:>5.1}  {sessions:>8}  {:>10.1}  {replay:>19.2}  {played:>5.1}",
            mib(bytes),
            mib(size)
        );
    }
}

fn main() {
    // `cargo bench --bench grid -- cells` or `-- merge`, or `-- merge 20000`; both parts without an argument.
    let asked: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let wanted = |part: &str| asked.is_empty() || asked.iter().any(|a| a == part);
    let sets: Vec<usize> = asked.iter().filter_map(|a| a.parse().ok()).collect();
    if wanted("cells") {
        overhead();
    }
    if wanted("merge") {
        joining(if sets.is_empty() { &MANY } else { &sets });
    }
}
