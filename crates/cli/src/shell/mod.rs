//! The interactive shell.

mod command;
mod completion;
mod editor;
mod history;
mod keywords;

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use rustyline::error::ReadlineError;

use crate::args::Args;
use crate::error::Failure;
use crate::report::Origin;
use crate::run::{Runner, Settings, read_script};
use crate::session::TableName;

use command::{Command, HELP};

const PROMPT: &str = "drumlin> ";
/// How long completion waits for the names of a slow warehouse.
const NAMES_WAIT: Duration = Duration::from_secs(2);

/// What to do after a line.
#[derive(PartialEq, Eq)]
enum Next {
    Go,
    Quit,
}

/// Reads and runs statements and commands until the user leaves.
///
/// # Errors
/// The terminal cannot be read or written; a failing statement is reported and the shell goes on.
pub fn run(runner: &Runner<'_>, mut settings: Settings, args: &Args) -> Result<(), Failure> {
    let handle = runner.runtime.handle().clone();
    let session = Arc::clone(&runner.session);
    let mut editor = editor::Editor::open(Box::new(move || {
        let (names, received) = mpsc::channel();
        let session = Arc::clone(&session);
        handle.spawn(async move { names.send(session.table_names().await) });
        received.recv_timeout(NAMES_WAIT).ok()
    }))?;
    if !args.quiet {
        writeln!(
            io::stdout(),
            "drumlin {}, warehouse {}\nStatements end with `;`. \\? lists the commands, \\q leaves.",
            env!("CARGO_PKG_VERSION"),
            args.warehouse
        )?;
    }
    loop {
        let text = match editor.read(PROMPT) {
            Ok(text) => text,
            // Ctrl-C drops what was typed.
            Err(ReadlineError::Interrupted) => continue,
            Err(ReadlineError::Eof) => return Ok(()),
            Err(ReadlineError::Io(error)) => return Err(error.into()),
            Err(error) => return Err(Failure::Output(io::Error::other(error.to_string()))),
        };
        let outcome = match Command::parse(&text) {
            Some(Ok(command)) => execute(command, runner, &mut settings),
            Some(Err(message)) => Err(Failure::Usage(message)),
            None => runner.script(&text, &Origin::Shell, &settings).map(|()| Next::Go),
        };
        editor.forget_names();
        match outcome {
            Ok(Next::Go) => {}
            Ok(Next::Quit) => return Ok(()),
            Err(Failure::ReaderGone) => return Err(Failure::ReaderGone),
            Err(failure) => writeln!(io::stderr(), "{failure}").map_err(Failure::from)?,
        }
    }
}

fn execute(command: Command<'_>, runner: &Runner<'_>, settings: &mut Settings) -> Result<Next, Failure> {
    let mut out = io::stdout();
    match command {
        Command::Quit => return Ok(Next::Quit),
        Command::Help => write!(out, "{HELP}")?,
        Command::Tables => {
            let session = Arc::clone(&runner.session);
            write_tables(&runner.runtime.block_on(session.table_names()), &mut out)?;
        }
        Command::Describe(table) => {
            runner.script(&format!("DESCRIBE {table}"), &Origin::Shell, settings)?;
        }
        Command::Format(Some(format)) => settings.format = format,
        Command::Format(None) => writeln!(out, "format is {}", settings.format.name())?,
        Command::Timing(on) => {
            settings.timing = on.unwrap_or(!settings.timing);
            let state = if settings.timing { "on" } else { "off" };
            writeln!(out, "timing is {state}")?;
        }
        Command::Run(path) => {
            let path = Path::new(path);
            runner.script(&read_script(path)?, &Origin::File(path.to_owned()), settings)?;
        }
    }
    Ok(Next::Go)
}

fn write_tables(names: &[TableName], out: &mut dyn Write) -> io::Result<()> {
    if names.is_empty() {
        return writeln!(out, "no tables");
    }
    for name in names {
        writeln!(out, "{}", completion::spelling(name))?;
    }
    Ok(())
}
