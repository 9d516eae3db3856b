//! The command that is traced.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};

use rustix::process::{Pid, Signal, kill_process};

/// A child that runs the traced command. Its standard streams are ours.
#[derive(Debug)]
pub struct Workload {
    child: Child,
}

/// The command cannot be started.
#[derive(Debug, thiserror::Error)]
#[error("cannot run {}: {source}", program.to_string_lossy().escape_debug())]
pub struct CannotStart {
    program: OsString,
    source: io::Error,
}

impl CannotStart {
    /// The status that shells give: 127 where there is no such command, 126 where it cannot run.
    pub fn exit_status(&self) -> u8 {
        if self.source.kind() == io::ErrorKind::NotFound { 127 } else { 126 }
    }
}

impl Workload {
    /// Starts a command.
    pub fn start(program: &OsString, arguments: &[OsString]) -> Result<Workload, CannotStart> {
        match Command::new(program).args(arguments).spawn() {
            Ok(child) => Ok(Workload { child }),
            Err(source) => Err(CannotStart { program: program.clone(), source }),
        }
    }

    /// The status it ended with, once it has.
    pub fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// Sends it a signal. It may have ended just now.
    pub fn signal(&self, signal: i32) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        if let (Some(pid), Some(signal)) = (pid, Signal::from_named_raw(signal)) {
            let _ = kill_process(pid, signal).is_ok();
        }
    }
}

/// A command's own exit status, or 128 and the number of the signal that ended it.
pub fn status_code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code & 0xff).ok()).unwrap_or(1)
}
