//! Answers of the data lab: the contents of a set, the doctor's report on a second set, and progress on a question.

use probity::engine::data::{DataAnswer, DataDiagnosis, DataInspection, PartCounts, Parts};
use probity::engine::message::{Answer, Event, Progress};

/// The ticket of the first question after the harness's finished run.
pub(crate) const TICKET: u64 = 3;

pub(crate) fn answer(ticket: u64, answer: DataAnswer) -> Event {
    Event::Answer { ticket, answer: Answer::Data(answer) }
}

/// The contents of a set of Chinese rationales with some dropped rows.
pub(crate) fn held(ticket: u64) -> Event {
    let part = |name: &str, n, validation, counts: [usize; 6], phi| PartCounts {
        name: name.into(),
        n,
        validation,
        counts: counts.to_vec(),
        phi,
    };
    let inspection = DataInspection {
        title: "plain JSON lines".into(),
        rows: 12_000,
        dropped: 3,
        blank: 1,
        left_out: 1,
        seconds: 0.3,
        hash: Some(format!("5f1c2a9be0d4{}", "7e".repeat(26))),
        lines: [
            "plain JSON lines: 12000 rows",
            "  rows       12000 sentence",
            "  dropped    3 unreadable; 1 blank lines",
            "  rows.jsonl: plain, gzip, 12000 rows, 3 dropped, 1 blank lines",
            "    3 × not a row of this format; line 17: no JSON (expected value) \u{1b}[31m",
            "    reads text, label|labels, target, forms, subject, object, aliases, relation, prompt, templates",
            "  not read   notes.txt: text that begins with `nothing known`",
            "  splits     test 2000, train 8000, validation 2000",
            "  label      NN 5000, NNS 7000; 10000 rows if balanced",
        ]
        .map(String::from)
        .to_vec(),
        parts: Some(Parts {
            target: "subject_number".into(),
            other: "attractor_number".into(),
            seed: 0,
            combinations: ["Sg+Sg", "Sg+Pl", "Sg+none", "Pl+Sg", "Pl+Pl", "Pl+none"].map(String::from).to_vec(),
            parts: vec![
                part("oracle", 4800, Some(240), [488, 80, 2782, 158, 62, 1230], 0.069),
                part("oracle, largest uncorrelated subset", 4631, Some(231), [420, 75, 2782, 110, 14, 1230], -0.0001),
                part("intervention", 4800, Some(240), [488, 80, 2782, 158, 62, 1230], 0.071),
                part("test", 2400, None, [244, 40, 1391, 79, 31, 615], 0.065),
            ],
        }),
        examples: vec![
            "line 1: {\"text\":\"the keys to the cabinet are old\",\"label\":\"NNS\",\"split\":\"train\"}".into(),
            "line 2: {\"text\":\"这些钥匙在柜子里，它们很旧，没有人记得它们能打开哪一扇门\",\"label\":\"NN\",\"split\":\"train\"}".into(),
        ],
    };
    answer(ticket, DataAnswer::Inspected(Box::new(inspection)))
}

pub(crate) fn diagnosed(ticket: u64) -> Event {
    let diagnosis = DataDiagnosis {
        models: vec!["bert-mini".into(), "gpt2-mini".into()],
        rows: 1872,
        kept: 1790,
        unfit: 82,
        unreadable: 2,
        seconds: 1.2,
        lines: [
            "LAMA T-REx rows: 1872 rows",
            "  rows       1840 fact, 32 relation",
            "  kept       1790",
            "  dropped    82 unfit, 2 unreadable; 0 blank lines",
            "           2  not UTF-8; line 40: byte 0xe9 at column 12, which Latin-1 reads as `é`; expected UTF-8",
            "          60  word of several tokens; line 9: `Uppsala`: tokens 3 in bert-mini, 2 in gpt2-mini",
            "          22  duplicate; line 31: capital: `France`, `Paris`: the same as line 1",
            "          14  (note) no alias; line 2: capital: `Peru`",
            "  relations  2 with facts; 0 have subjects with several objects (N-M)",
            "    capital       900 facts,    880 kept,   870 objects, most frequent 1 %, 1-1",
            "  bert-mini  1780 words of one token, 60 of several, 0 outside the vocabulary",
            "  gpt2-mini  1801 words of one token, 39 of several, 0 outside the vocabulary",
            "  shared     310 of 420 words are one token in all models: Africa, Asia, Berlin, …",
        ]
        .map(String::from)
        .to_vec(),
        examples: vec![
            "line 9: word of several tokens (`Uppsala`: tokens 3 in bert-mini, 2 in gpt2-mini)".into(),
            "line 31: duplicate (capital: `France`, `Paris`: the same as line 1)".into(),
        ],
    };
    answer(ticket, DataAnswer::Examined(Box::new(diagnosis)))
}

pub(crate) fn data_progress(ticket: u64) -> Event {
    let progress = Progress {
        stage: "examining /data/facts.jsonl.gz".into(),
        done: 3_000_000,
        total: 8_000_000,
        unit: "rows".into(),
        rate: 812_000.0,
        overall: 0.375,
        elapsed: 2.0,
        left: Some(3.3),
    };
    Event::AnswerProgress { ticket, progress }
}
