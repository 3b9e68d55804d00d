//! Ctrl-C outside the shell.

#![cfg(unix)]

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::drumlin::command;

#[test]
fn ctrl_c_ends_a_run_with_130() {
    let sql = "SELECT 1 AS n; SELECT count(*) FROM generate_series(1, 100000000000); SELECT 3";
    let mut child = command(&["--format", "csv", "-c", sql])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // The first result is out: the second statement runs, and so does the listener.
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let signal = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(signal.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    line.clear();
    std::io::Read::read_to_string(&mut reader, &mut line).unwrap();
    assert_eq!(line, "1\n");
}
