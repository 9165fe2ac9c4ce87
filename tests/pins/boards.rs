//! Contents of recorded sessions: their folded boards, and every table and figure in exported form.

use std::collections::BTreeMap;

use probity::engine::board::{Board, Run};
use probity::figure::{Figure, Format, Options, render};
use probity::lab::table::Form;
use probity::lab::{Details, LABS, Lab};
use serde::Serialize;

use super::BOARDS;
use super::list::{List, sha256};
use super::names::figures_of;

fn add(list: &mut List, name: String, value: &impl Serialize) {
    list.add(name, sha256(serde_json::to_vec(value).unwrap()));
}

#[test]
fn recorded_sessions_give_their_boards() {
    let mut list = List::default();
    for (name, board) in BOARDS.iter() {
        add(&mut list, format!("{name} engine"), &board.engine);
        add(&mut list, format!("{name} models"), &board.models);
        add(&mut list, format!("{name} family"), &board.family);
        add(&mut list, format!("{name} notices"), &board.notices);
        list.add(format!("{name} counts"), format!("{} {} {}", board.ticket, board.generation, board.stale));
        for run in LABS.iter().filter_map(|lab| board.run_of(lab.id())) {
            let name = format!("{name} {}", run.job.spec.lab());
            list.add(format!("{name} spec"), &run.job.spec_hash);
            add(&mut list, format!("{name} job"), &run.job);
            add(&mut list, format!("{name} results"), &run.results);
            add(&mut list, format!("{name} summary"), &run.summary);
        }
        add(&mut list, format!("{name} board"), board);
    }
    list.check("boards.txt");
}

/// The figures of a run, each once: those drawn by default, and those available by name.
pub(super) fn figures(lab: &dyn Lab, run: &Run, board: &Board) -> BTreeMap<String, Figure> {
    let engine = board.engine.as_ref();
    let mut figures = BTreeMap::new();
    for figure in lab.figures(&run.results, engine) {
        let key = figure.name.clone();
        assert!(figures.insert(key, figure).is_none(), "two figures with the same name");
    }
    for asked in figures_of(lab) {
        let Ok(figure) = lab.figure(&asked, &Details::default(), &run.results, engine) else { continue };
        let same = figures.get(&figure.name) == Some(&figure);
        if !same {
            figures.insert(format!("{asked} (asked for)"), figure);
        }
    }
    figures
}

/// The files of a run: tables in all forms, figures as CSV and SVG.
fn files(lab: &dyn Lab, board: &Board, name: &str, list: &mut List) {
    let run = board.run_of(lab.id()).unwrap();
    for table in lab.tables(&run.results) {
        for (form, extension) in [(Form::Markdown, "md"), (Form::Latex, "tex"), (Form::Csv, "csv")] {
            list.add(format!("{name} table {}.{extension}", table.name), sha256(table.write(form)));
        }
    }
    for (key, figure) in figures(lab, run, board) {
        for format in [Format::Csv, Format::Svg] {
            let bytes = render(&figure, format, &Options::default()).unwrap();
            list.add(format!("{name} figure {key}.{}", format.extension()), sha256(bytes));
        }
    }
    list.add(format!("{name} summary of {}", lab.id()), sha256(lab.summary(&run.results, &run.job.spec).join("\n")));
}

#[test]
fn exported_tables_and_figures_are_unchanged() {
    let mut list = List::default();
    for (name, board) in BOARDS.iter() {
        for run in LABS.iter().filter_map(|lab| board.run_of(lab.id())) {
            files(probity::lab::by_id(run.job.spec.lab()), board, name, &mut list);
        }
    }
    list.check("digests.txt");
}
