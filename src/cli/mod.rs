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
mod saved_names;
mod saved_report;
mod saved_run;
mod saved_tasks;
mod stages;
mod terminal;
mod trigger;
mod wanted;

use std::ffi::OsString;

use clap::Parser;

use args::{Cli, Command};

/// Runs what the command line asks for; returns the exit status.
pub fn run() -> u8 {
    run_words(std::env::args_os())
}

/// Runs what these words ask for, the first of which is the program's name; returns the exit status.
pub fn run_words(words: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> u8 {
    let cli = match Cli::try_parse_from(words) {
        Ok(cli) => cli,
        Err(error) => {
            // If stdout or stderr is gone there is nobody to tell.
            let _ = error.print().is_ok();
            return u8::try_from(error.exit_code()).unwrap_or(exit::USAGE);
        }
    };
    let done = match cli.command {
        Command::Record(args) => record::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Diff(args) => diff::run(*args),
        Command::Check(args) => check::run(&args),
        Command::Demo(args) => demo::run(&args),
        Command::DemoWorkload(args) => demo_workload::run(&args).map(|()| exit::DONE),
    };
    done.unwrap_or_else(|error| exit::tell(&error))
}
