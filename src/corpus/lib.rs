//! Data sets: Micro-English, facts, the probing tasks made from them, and readers of users' files.
//!
//! `micro` generates annotated English sentences, `facts` contains facts about the world, and `task` turns sentences into probing tasks.
//! `readers` parses data sets on disk, `doctor` checks which rows are fit for probing, `sample` draws stratified subsamples, and
//! `agreement` turns agreement sentences into examples. `sets` finds built-in sets by name and others by path, and `make` writes built-in
//! sets to files. `shortcuts` measures how well surface features predict labels, `own` builds a task's examples from a file, and
//! `overview` counts the contents of a set. To add a construction, add a file under `micro/` and a line in the registry of `task`.

pub mod agreement;
pub mod doctor;
pub mod facts;
pub mod make;
pub mod micro;
pub mod overview;
pub mod own;
pub mod probing;
mod rationale_counts;
pub mod rationales;
pub mod readers;
pub mod results;
pub mod sample;
pub mod sets;
mod shipped;
pub mod shortcuts;
pub mod task;

pub use micro::frequencies::{Frequencies, FrequencyError};
pub use task::{Example, ExampleSet, MASK, Property, TASKS, Task, TaskError};
