//! The line editor: multi-line statements, history, Tab.
//!
//! rustyline is built with `signal-hook`, because without it, it takes SIGINT for itself as long as an editor exists, and
//! Ctrl-C would not reach the statement that runs.

use std::cell::OnceCell;
use std::path::PathBuf;

use rustyline::completion::{Completer, FilenameCompleter, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::DefaultHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{CompletionType, Config, Context, Helper};

use super::{completion, history};
use crate::error::Failure;
use crate::session::TableName;
use crate::statement;

/// Entries the history keeps.
const HISTORY: usize = 10_000;

/// Asks the session for its tables; `None` if it does not answer in time.
pub type TableNames = Box<dyn Fn() -> Option<Vec<TableName>>>;

/// Reads statements from the terminal.
pub struct Editor {
    inner: rustyline::Editor<Statements, DefaultHistory>,
    history: Option<PathBuf>,
}

impl Editor {
    /// An editor that completes the names `tables` gives.
    ///
    /// # Errors
    /// The terminal cannot be used. A history that cannot is done without.
    pub fn open(tables: TableNames) -> Result<Self, Failure> {
        let config = Config::builder()
            .completion_type(CompletionType::List)
            .history_ignore_space(true)
            .max_history_size(HISTORY)
            .map(|builder| builder.build())
            .map_err(terminal)?;
        let mut inner = rustyline::Editor::with_config(config).map_err(terminal)?;
        inner.set_helper(Some(Statements {
            tables,
            names: OnceCell::new(),
        }));
        let history = history::file();
        if let Some(path) = &history {
            // Missing the first time.
            let _ = inner.load_history(path);
        }
        Ok(Self { inner, history })
    }

    /// Reads until a statement or a command is complete, and remembers it.
    ///
    /// # Errors
    /// Ctrl-C, Ctrl-D on an empty line, or the terminal failing.
    pub fn read(&mut self, prompt: &str) -> Result<String, ReadlineError> {
        let text = self.inner.readline(prompt)?;
        let added = self.inner.add_history_entry(text.trim_end()).unwrap_or(false);
        if let Some(path) = self.history.as_ref().filter(|_| added) {
            // A full or read-only disk must not end the shell.
            let _ = self.inner.append_history(path);
        }
        Ok(text)
    }

    /// Asks for the tables again at the next Tab: a statement may have changed them.
    pub fn forget_names(&mut self) {
        if let Some(helper) = self.inner.helper_mut() {
            helper.names = OnceCell::new();
        }
    }
}

fn terminal(error: ReadlineError) -> Failure {
    Failure::Output(std::io::Error::other(format!("the terminal: {error}")))
}

/// What the editor knows about SQL.
struct Statements {
    tables: TableNames,
    /// The names since the last statement.
    names: OnceCell<Vec<TableName>>,
}

impl Completer for Statements {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        position: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        let text = line.get(..position).unwrap_or(line);
        if text.trim_start().starts_with("\\i ") {
            return FilenameCompleter::new().complete_path(line, position);
        }
        Ok(completion::complete(text, || {
            self.names.get_or_init(|| (self.tables)().unwrap_or_default())
        }))
    }
}

impl Validator for Statements {
    fn validate(&self, input: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        Ok(if ends(input.input()) {
            ValidationResult::Valid(None)
        } else {
            ValidationResult::Incomplete
        })
    }
}

/// Whether Enter after `text` runs it rather than beginning a new line.
fn ends(text: &str) -> bool {
    let text = text.trim();
    text.starts_with('\\') || matches!(text, "quit" | "exit") || statement::is_complete(text)
}

impl Highlighter for Statements {}

impl Hinter for Statements {
    type Hint = String;
}

impl Helper for Statements {}

#[cfg(test)]
mod tests {
    use super::ends;

    #[test]
    fn enter_runs_commands_and_ended_statements() {
        for text in ["", "\\d", "\\d orders", "exit", "SELECT 1;", "SELECT 1;  "] {
            assert!(ends(text), "{text:?}");
        }
        for text in ["SELECT 1", "SELECT '\n;", "exit now", "SELECT 1; SELECT"] {
            assert!(!ends(text), "{text:?}");
        }
    }
}
