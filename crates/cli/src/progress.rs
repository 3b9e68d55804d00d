//! How far a long write is, on standard error, for people.

use std::io::{IsTerminal, Write, stderr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use drumlin_table::write::WriteProgress;

/// How often the line is written anew.
pub const INTERVAL: Duration = Duration::from_millis(500);

/// What a statement has written so far, in one line that is written over and taken away at the end.
pub struct Progress {
    written: Arc<WriteProgress>,
    /// Rows, bytes and files of the statements before.
    before: [u64; 3],
    started: Instant,
    terminal: bool,
    shown: bool,
}

impl Progress {
    /// Of the statement that starts now. `told`: whether anything is to be told at all.
    pub fn start(written: &Arc<WriteProgress>, told: bool) -> Self {
        Self {
            before: [written.rows(), written.bytes(), written.files()],
            written: Arc::clone(written),
            started: Instant::now(),
            terminal: told && stderr().is_terminal(),
            shown: false,
        }
    }

    /// Writes the line, if the statement writes and somebody looks.
    pub fn show(&mut self) {
        let now = [self.written.rows(), self.written.bytes(), self.written.files()];
        if !self.terminal || now == self.before {
            return;
        }
        let mut since = now;
        for (now, before) in since.iter_mut().zip(self.before) {
            *now = now.saturating_sub(before);
        }
        let line = line(since, self.started.elapsed());
        // Standard error that cannot be written to is no reason to stop.
        let _ = write!(stderr(), "\r\x1b[2K{line}");
        let _ = stderr().flush();
        self.shown = true;
    }
}

/// Takes the line away.
impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown {
            let _ = write!(stderr(), "\r\x1b[2K");
            let _ = stderr().flush();
        }
    }
}

fn line([rows, bytes, files]: [u64; 3], elapsed: Duration) -> String {
    let megabytes = bytes as f64 / 1e6;
    let rate = megabytes / elapsed.as_secs_f64().max(0.001);
    format!("writing: {rows} rows, {megabytes:.1} MB, {files} files complete, {rate:.1} MB/s")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_tells_rows_bytes_files_and_rate() {
        assert_eq!(
            line([1_000_000, 25_000_000, 2], Duration::from_secs(2)),
            "writing: 1000000 rows, 25.0 MB, 2 files complete, 12.5 MB/s"
        );
    }
}
