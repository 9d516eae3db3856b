//! The `ftlock` program: see `ftlock --help`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(ftlock::cli::run())
}
