//! `ftlock demo`: `record` over a built-in workload.

use anyhow::Context;

use super::args::DemoArgs;
use super::bundled::show_bundled;
use super::config::RecordConfig;
use super::exit;
use super::notes::Notes;
use super::record::record;

/// Runs `ftlock demo`.
pub(super) fn run(args: &DemoArgs) -> anyhow::Result<u8> {
    let program = std::env::current_exe().context("cannot find the own program")?;
    let duration = humantime::format_duration(args.duration).to_string().replace(' ', "");
    let command = [program.into_os_string(), "demo-workload".into(), "--duration".into()];
    let command = command.into_iter().chain([duration.into()]).collect();
    let config = RecordConfig::of_demo(command, args)?;
    match record(&config) {
        Err(error) if exit::status(&error) == exit::CANNOT_TRACE => {
            exit::tell(&error);
            Notes::new(config.quiet, false).say("so here is a recording of the same workload");
            show_bundled(config)
        }
        done => done,
    }
}
