//! The `drumlin` command: SQL over Iceberg tables from a shell, a file or an argument.

mod args;
mod error;
mod interrupt;
mod output;
mod progress;
mod report;
mod run;
mod session;
mod shell;
mod statement;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    // Wrong usage ends inside `parse`, with exit code 2.
    run::main(args::Args::parse())
}
