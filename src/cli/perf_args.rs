//! Options of `perf lock` that have no meaning here: taken all the same, so that command lines
//! keep working, or refused with the reason. `docs/perf-lock.md` lists all of perf's options.

use std::path::PathBuf;

use clap::Args;

use super::exit::Usage;

/// Options that are accepted with a note, and options that are refused.
#[derive(Debug, Args)]
pub struct PerfArgs {
    /// Accepted: there is no BPF here
    #[arg(short = 'b', long, hide = true)]
    pub use_bpf: bool,
    /// Accepted: the caller is found by section and name
    #[arg(long, value_name = "N", hide = true)]
    pub stack_skip: Option<u32>,
    /// Accepted: no file is read whose owner could be wrong
    #[arg(short = 'f', long, hide = true)]
    pub force: bool,
    /// Accepted: functions have the names of kallsyms
    #[arg(long, value_name = "FILE", hide = true)]
    pub vmlinux: Option<PathBuf>,
    /// Refused
    #[arg(short = 'J', long, value_name = "TIME@LOCK", hide = true)]
    pub inject_delay: Vec<String>,
    /// Refused
    #[arg(short, long, value_name = "FILE", hide = true)]
    pub input: Option<PathBuf>,
}

impl PerfArgs {
    /// Refuses what cannot be done: the results would be others than those asked for.
    pub(super) fn check(&self) -> Result<(), Usage> {
        let refused = [
            (!self.inject_delay.is_empty(), "-J: nothing can be delayed without BPF"),
            (
                self.input.is_some(),
                "-i: `ftlock record` traces; `ftlock report FILE` reads what it saved",
            ),
        ];
        match refused.into_iter().find(|(given, _)| *given) {
            Some((_, why)) => Err(Usage(why.to_owned())),
            None => Ok(()),
        }
    }

    /// What to say about options that change nothing.
    pub(super) fn notes(&self) -> impl Iterator<Item = &'static str> {
        let ignored = [
            (self.use_bpf, "-b changes nothing: there is no BPF here"),
            (
                self.stack_skip.is_some(),
                "--stack-skip changes nothing: callers are found by section and name, not by a count of frames",
            ),
            (self.force, "-f changes nothing: no file is read"),
            (
                self.vmlinux.is_some(),
                "--vmlinux changes nothing: functions have the names of /proc/kallsyms, or of --kallsyms",
            ),
        ];
        ignored.into_iter().filter_map(|(given, note)| given.then_some(note))
    }
}
