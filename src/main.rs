//! The `probity` binary: passes the command line to the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    probity::cli::main()
}
