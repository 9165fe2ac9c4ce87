//! The `probity` binary: hands the command line to the library.

fn main() {}
