//! Running the program on its bundled recording.

use std::process::{Command, Output};

use serde_json::Value;

/// `ftlock demo` where there is no tracefs, with further arguments.
pub(crate) fn demo(arguments: &[&str]) -> Output {
    let no_tracefs = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_ftlock"));
    command.args(["demo", "--quiet", "--tracefs"]).arg(no_tracefs.path()).args(arguments);
    let run = command.output().unwrap();
    assert_eq!(run.status.code(), Some(0), "{}", String::from_utf8_lossy(&run.stderr));
    run
}

/// What it prints.
pub(crate) fn printed(arguments: &[&str]) -> String {
    String::from_utf8(demo(arguments).stdout).unwrap()
}

/// The JSON report of the recording.
pub(crate) fn json_report() -> Value {
    serde_json::from_str(&printed(&["--format", "json"])).unwrap()
}
