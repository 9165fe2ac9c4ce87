//! Data sets: the built-in micro-world and the probing tasks made from it.
//!
//! `micro` writes annotated English sentences, `facts` holds what is true of the world, and `task` turns sentences into probing
//! tasks. A new construction is one file under `micro/` and one line in the registry of `task`. `readers` reads the data sets
//! that analysts have on disk, `doctor` says which of their rows are fit for probing, `sample` draws stratified subsamples, and
//! `agreement` turns agreement sentences into examples. `sets` finds the built-in sets by name and others by path, `make`
//! writes the built-in ones to files, `shortcuts` says what the surface of texts gives away of their labels, `own` makes a task's examples from a file, and `overview` counts what sets hold.

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
