//! Latency of the interventions lab: first frame, first point, the whole default experiment, sliders, idle cost.
//!
//! Run `cargo bench --bench lab`. Times are wall-clock times in seconds.

use std::io::{Read, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use probity::engine::Engine;
use probity::engine::local::{Cache, LocalEngine, LocalOptions};
use probity::engine::message::{Command, Event, Question};
use probity::lab::interventions::question::PointQuestion;
use probity::lab::interventions::{self, Kind, Spec};
use probity::lab::{Body, Kinds};
use probity::model::{Device, Dtype};

fn main() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    println!("figure | median | least | most | n");
    experiment("from nothing", folder.path(), false);
    experiment("cached probes", folder.path(), true);
    screen(folder.path());
}

fn line(name: &str, values: &[f64]) {
    let mut v = values.to_vec();
    v.sort_by(f64::total_cmp);
    let (Some(least), Some(most)) = (v.first(), v.last()) else { return println!("{name} | none") };
    println!("{name} | {:.4} s | {least:.4} | {most:.4} | {}", v[v.len() / 2], v.len());
}

/// Runs the default experiment on the engine; with `sliders`, moves them during and after the run.
fn experiment(name: &str, folder: &Path, sliders: bool) {
    let options = LocalOptions {
        device: Device::Cpu,
        dtype: Dtype::F32,
        cache: Cache::at(&folder.join("probes")),
        models: Vec::new(),
        memory_limit: None,
        most_models: 1,
        asked: true,
    };
    let begun = Instant::now();
    let mut engine = LocalEngine::start(options).expect("a thread");
    let mut events = engine.take_events().expect("events");
    let spec = Spec::shipped();
    engine.send(Command::Run { job: 1, generation: 1, spec: Box::new(spec.into()) }).expect("an engine");
    let (mut first, mut asked, mut busy) = (None, None, Vec::new());
    let mut ticket = 0;
    while let Some(event) = events.blocking_recv() {
        match event {
            Event::Finding { finding, .. }
                if matches!(finding.body, Body::Lab(Kinds::Interventions(Kind::Reliability(_)))) =>
            {
                first.get_or_insert(begun.elapsed());
                if sliders && asked.is_none() && busy.len() < 100 {
                    ticket += 1;
                    engine.send(slider(ticket)).expect("an engine");
                    asked = Some(Instant::now());
                }
            }
            Event::Answer { .. } => busy.extend(asked.take().map(|t: Instant| t.elapsed().as_secs_f64())),
            Event::Finished { .. } => break,
            _ => {}
        }
    }
    line(&format!("{name}: first point"), &[first.unwrap_or_default().as_secs_f64()]);
    line(&format!("{name}: whole default experiment"), &[begun.elapsed().as_secs_f64()]);
    if sliders {
        line("slider to point, PGD, while the engine runs", &busy);
        let mut idle = Vec::new();
        for _ in 0..50 {
            ticket += 1;
            let then = Instant::now();
            engine.send(slider(ticket)).expect("an engine");
            while let Some(event) = events.blocking_recv() {
                if matches!(event, Event::Answer { ticket: t, .. } if t == ticket) {
                    break;
                }
            }
            idle.push(then.elapsed().as_secs_f64());
        }
        line("slider to point, PGD, otherwise idle", &idle);
    }
}

fn slider(ticket: u64) -> Command {
    let question = interventions::Question::Point(PointQuestion {
        model: "bert-mini".into(),
        method: "pgd".into(),
        options: Default::default(),
        value: 0.1 + 0.01 * (ticket % 40) as f64,
        example: ticket as usize % 100,
    });
    Command::Ask { ticket, question: Question::Experiment { generation: 1, question: question.into() } }
}

struct Screen {
    child: Box<dyn portable_pty::Child + Send + Sync>,
    writer: Box<dyn Write + Send>,
    parser: Arc<Mutex<vt100::Parser>>,
    /// Empty folder, so that the program starts as on first use: it opens the lab and runs the default experiment.
    _state: tempfile::TempDir,
    _master: Box<dyn portable_pty::MasterPty + Send>,
}

impl Screen {
    fn open(folder: &Path) -> Self {
        let size = PtySize { rows: 40, cols: 120, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).expect("a pseudo-terminal");
        let state = tempfile::tempdir().expect("a temporary folder");
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_probity"));
        command.env("PROBITY_CACHE_DIR", folder);
        command.env("PROBITY_STATE_DIR", state.path());
        command.env("TERM", "xterm-256color");
        command.cwd(folder);
        let child = pair.slave.spawn_command(command).expect("the program");
        let mut reader = pair.master.try_clone_reader().expect("a reader");
        let writer = pair.master.take_writer().expect("a writer");
        let size = |n: u16| std::num::NonZeroU16::new(n).expect("not 0");
        let parser = Arc::new(Mutex::new(vt100::Parser::new(size(40), size(120), 0)));
        let sink = parser.clone();
        std::thread::spawn(move || {
            let mut buffer = [0; 65536];
            while let Ok(n) = reader.read(&mut buffer) {
                if n == 0 {
                    return;
                }
                sink.lock().expect("no panic").process(&buffer[..n]);
            }
        });
        Self { child, writer, parser, _state: state, _master: pair.master }
    }

    fn text(&self) -> String {
        self.parser.lock().expect("no panic").screen().contents()
    }

    /// Seconds until the screen satisfies `done`; `None` after the limit.
    fn until(&self, limit: Duration, done: impl Fn(&str) -> bool) -> Option<f64> {
        let begun = Instant::now();
        while begun.elapsed() < limit {
            if done(&self.text()) {
                return Some(begun.elapsed().as_secs_f64());
            }
            std::thread::sleep(Duration::from_micros(200));
        }
        None
    }

    fn press(&mut self, keys: &str) {
        self.writer.write_all(keys.as_bytes()).and_then(|()| self.writer.flush()).expect("a terminal");
    }

    /// Processor time in seconds that the program has used.
    fn processor(&self) -> Option<f64> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.process_id()?)).ok()?;
        let fields: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
        let ticks: f64 = fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?;
        Some(ticks / 100.0)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Measures what the user notices: first frame, keys while the engine works, idle cost.
fn screen(folder: &Path) {
    let frames: Vec<f64> = (0..15)
        .filter_map(|_| {
            let begun = Instant::now();
            let screen = Screen::open(folder);
            screen.until(Duration::from_secs(10), |s| s.contains("Settings"))?;
            Some(begun.elapsed().as_secs_f64())
        })
        .collect();
    line("start to first frame", &frames);
    let mut screen = Screen::open(folder);
    screen.until(Duration::from_secs(60), |s| s.contains("all "));
    let keys = |screen: &mut Screen, n: usize| {
        let mut waits = Vec::new();
        for k in 0..n {
            let before = screen.text();
            screen.press(if k % 2 == 0 { "\t" } else { "\x1b[Z" });
            waits.extend(screen.until(Duration::from_secs(5), |s| focus(s) != focus(&before)));
            std::thread::sleep(Duration::from_millis(20));
        }
        waits
    };
    let busy = keys(&mut screen, 60);
    line("key to frame, while the engine works", &busy);
    if screen.until(Duration::from_secs(180), |s| s.contains("done in")).is_none() {
        return println!("the experiment did not end");
    }
    let idle = keys(&mut screen, 30);
    line("key to frame, idle", &idle);
    std::thread::sleep(Duration::from_secs(1));
    if let (Some(a), Some(b)) = (screen.processor(), {
        std::thread::sleep(Duration::from_secs(10));
        screen.processor()
    }) {
        println!("processor time in 10 idle seconds | {:.2} s | | | 1", b - a);
    }
}

fn focus(screen: &str) -> Option<usize> {
    screen.find('»')
}
