//! The binary under test.

use std::io::Write;
use std::process::{Command, Output, Stdio};

/// `drumlin` with `args`, without a terminal, in an environment of its own.
pub fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_drumlin"));
    command
        .args(args)
        .stdin(Stdio::null())
        .env_remove("RUST_BACKTRACE");
    command
}

/// What a finished run left.
#[derive(Debug)]
pub struct Run {
    /// Exit code.
    pub code: Option<i32>,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl From<Output> for Run {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// Runs with `args` to the end.
pub fn run(args: &[&str]) -> Run {
    command(args).output().unwrap().into()
}

/// Runs with `args` and `input` on standard input.
pub fn run_with_input(args: &[&str], input: &str) -> Run {
    let mut child = command(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap().into()
}

/// Standard output of a quiet run of `sql` that must succeed without a word on standard error.
pub fn data(format: &str, sql: &str) -> String {
    let run = run(&["-q", "--format", format, "-c", sql]);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{run:?}");
    run.out
}
