//! The command line: arguments to configuration, one file per sub-command.

pub mod arg_values;
pub mod args;

mod bundled;
mod byte_text;
mod check;
pub mod common_args;
mod config;
mod demo;
mod demo_workload;
mod diff;
pub mod diff_args;
mod diff_input;
mod exit;
mod exports;
mod facts;
mod formats;
mod meter;
mod notes;
mod outcome;
mod perf_args;
mod print;
mod record;
mod recording;
mod replay;
mod report;
mod run;
mod save;
pub mod save_args;
mod saved_report;
mod saved_run;
mod stages;
mod terminal;
mod trigger;
mod wanted;

use clap::Parser;

use args::{Cli, Command};

/// Runs what the command line asks for; returns the exit status.
pub fn run() -> u8 {
    let done = match Cli::parse().command {
        Command::Record(args) => record::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Diff(args) => diff::run(*args),
        Command::Check(args) => check::run(&args),
        Command::Demo(args) => demo::run(&args),
        Command::DemoWorkload(args) => demo_workload::run(&args).map(|()| exit::DONE),
    };
    done.unwrap_or_else(|error| exit::tell(&error))
}
