//! Speed of reading data sets, in bytes of text per second, for each kind of file that can be gigabytes in size.
//!
//! Run `cargo bench --bench readers`. Rates are for uncompressed text, by wall time and by the reading thread's processor time (Linux),
//! which is the better measure on a busy machine.

use std::fmt::Write;
use std::io::{Cursor, Write as _};
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

use probity::corpus::readers::Reading;

/// Size of each set in bytes.
const SIZE: usize = 64 << 20;
const REPEATS: usize = 7;

fn main() {
    println!("set | median MB/s, clock | best, clock | median MB/s, processor | best, processor | rows | n");
    let senteval = repeat(|k, out| {
        let label = if k % 2 == 0 { "PAST" } else { "PRES" };
        let _ =
            writeln!(out, "tr\t{label}\tThe {k} keys to the old cabinet were on the table near the window , he said .");
    });
    measure("SentEval text", &senteval);
    let plain = repeat(|k, out| {
        let _ = writeln!(
            out,
            "{{\"id\": \"{k}\", \"text\": \"The keys to the old cabinet [MASK] on the table near the window .\", \"label\": \"Pl\"}}"
        );
    });
    measure("plain JSONL", &plain);
    let blimp = repeat(|k, out| {
        let _ = writeln!(
            out,
            "{{\"sentence_good\": \"The keys to the cabinet are {k}.\", \"sentence_bad\": \"The keys to the cabinet is {k}.\", \"one_prefix_prefix\": \"The keys to the cabinet\", \"one_prefix_word_good\": \"are\", \"one_prefix_word_bad\": \"is\", \"field\": \"morphology\", \"linguistics_term\": \"subject_verb_agreement\", \"UID\": \"regular\", \"simple_LM_method\": true, \"one_prefix_method\": true, \"two_prefix_method\": false, \"lexically_identical\": false, \"pairID\": \"{k}\"}}"
        );
    });
    measure("BLiMP JSONL", &blimp);
    let lama = repeat(|k, out| {
        let _ = writeln!(
            out,
            "{{\"relation\": \"P17\", \"uuid\": \"75e6e7c3-9697-4ad1-b805-{k:012}\", \"sub_label\": \"Eibenstock {k}\", \"obj_label\": \"Germany\", \"sub_uri\": \"Q{k}\", \"sub_aliases\": [\"Eiben\", \"Stock\"]}}"
        );
    });
    measure("LAMA JSONL", &lama);
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gz.write_all(&senteval).expect("memory");
    rate("SentEval text, .gz", &gz.finish().expect("memory"), senteval.len());
}

/// Repeats lines up to the given size.
fn repeat(line: impl Fn(usize, &mut String)) -> Vec<u8> {
    let mut out = String::with_capacity(SIZE + 1024);
    let mut k = 0;
    while out.len() < SIZE {
        line(k, &mut out);
        k += 1;
    }
    out.into_bytes()
}

fn measure(name: &str, bytes: &[u8]) {
    rate(name, bytes, bytes.len());
}

fn rate(name: &str, bytes: &[u8], size: usize) {
    let (mut clock, mut processor) = (Vec::new(), Vec::new());
    let mut rows = 0;
    for _ in 0..REPEATS {
        let source = Box::new(Cursor::new(bytes.to_vec()));
        let (begun, used) = (Instant::now(), on_processor());
        let reading = Reading::stream(source, Path::new(name)).expect("a known format");
        let report = reading.rows(&mut |_, _| ControlFlow::Continue(())).expect("rows");
        clock.push(size as f64 / 1e6 / begun.elapsed().as_secs_f64());
        processor.push(size as f64 / 1e6 / (on_processor() - used));
        assert_eq!(report.dropped.total(), 0);
        rows = report.rows;
    }
    let [(m, b), (pm, pb)] = [clock, processor].map(|mut v| {
        v.sort_by(f64::total_cmp);
        (v[REPEATS / 2], v[REPEATS - 1])
    });
    println!("{name} | {m:.0} | {b:.0} | {pm:.0} | {pb:.0} | {rows} | {REPEATS}");
}

/// Processor time of this thread in seconds; NaN if the system does not report it.
fn on_processor() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|n| n.parse::<f64>().ok()).map_or(f64::NAN, |n| n / 1e9)
}
