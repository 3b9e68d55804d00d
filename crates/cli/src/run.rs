//! Running statements: from arguments, files and the shell, each to its end, its first error or Ctrl-C.

use std::io::{self, BufWriter, IsTerminal, Read, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::error::{DataFusionError, Result as SqlResult};
use futures::StreamExt;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::args::Args;
use crate::error::{Failure, StatementError};
use crate::interrupt::{Interrupts, Second};
use crate::output::{Format, Written, seconds};
use crate::progress::{INTERVAL, Progress};
use crate::report::{Origin, report};
use crate::session::Session;
use crate::shell;
use crate::statement::Statement;

/// Does what the arguments ask and says how it ended.
pub fn main(args: Args) -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return tell(&Failure::Output(error)),
    };
    let result = start(&args, &runtime);
    // A statement that was interrupted may still compute: nobody waits for it.
    runtime.shutdown_background();
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => tell(&failure),
    }
}

/// Writes `failure` to standard error, unless there is nothing to say.
fn tell(failure: &Failure) -> ExitCode {
    if !matches!(failure, Failure::ReaderGone | Failure::Interrupted) {
        let _ = writeln!(io::stderr(), "{failure}");
    }
    failure.exit_code()
}

fn start(args: &Args, runtime: &Runtime) -> Result<(), Failure> {
    let interactive = args.commands.is_empty() && args.files.is_empty() && io::stdin().is_terminal();
    let session = runtime.block_on(Session::open(args)).map_err(|error| {
        Failure::Sql(format!(
            "error: cannot open the warehouse {}: {}",
            args.warehouse,
            error.strip_backtrace()
        ))
    })?;
    let second = if interactive { Second::Ignore } else { Second::Exit };
    let runner = Runner {
        interrupts: Interrupts::listen(second)?,
        session: Arc::new(session),
        runtime,
    };
    let settings = Settings {
        format: args.format,
        counts: !args.quiet,
        timing: !args.quiet,
    };
    if interactive {
        return shell::run(&runner, settings, args);
    }
    for text in &args.commands {
        runner.script(text, &Origin::Command, &settings)?;
    }
    for path in &args.files {
        if path == Path::new("-") {
            runner.stdin(&settings)?;
        } else {
            let text = read_script(path)?;
            runner.script(&text, &Origin::File(path.clone()), &settings)?;
        }
    }
    if args.commands.is_empty() && args.files.is_empty() {
        runner.stdin(&settings)?;
    }
    Ok(())
}

/// The text of a script file.
///
/// # Errors
/// [`Failure::Usage`] if it cannot be read or is not UTF-8.
pub fn read_script(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path)
        .map_err(|error| Failure::Usage(format!("cannot read {}: {error}", path.display())))
}

/// What the user may change from statement to statement.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// How results are written.
    pub format: Format,
    /// Whether the number of rows is told.
    pub counts: bool,
    /// Whether the time is told.
    pub timing: bool,
}

/// Runs statements in one session.
pub struct Runner<'a> {
    /// The session.
    pub session: Arc<Session>,
    /// Where statements run.
    pub runtime: &'a Runtime,
    interrupts: Interrupts,
}

impl Runner<'_> {
    fn stdin(&self, settings: &Settings) -> Result<(), Failure> {
        let mut text = String::new();
        io::stdin()
            .read_to_string(&mut text)
            .map_err(|error| Failure::Usage(format!("cannot read standard input: {error}")))?;
        self.script(&text, &Origin::Stdin, settings)
    }

    /// Runs the statements of `text` in order, up to the first that fails.
    ///
    /// # Errors
    /// How that one failed.
    pub fn script(&self, text: &str, origin: &Origin, settings: &Settings) -> Result<(), Failure> {
        // In a shell, only what is pressed from now on counts.
        let seen = match origin {
            Origin::Shell => self.interrupts.count(),
            _ => 0,
        };
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for (index, statement) in Session::split(text).iter().enumerate() {
            self.runtime
                .block_on(self.statement(statement, settings, seen))
                .map_err(|error| fail(error, statement, index + 1, origin))?;
        }
        Ok(())
    }

    async fn statement(
        &self,
        statement: &Statement,
        settings: &Settings,
        seen: u64,
    ) -> Result<(), StatementError> {
        let started = Instant::now();
        let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
        let progress = Progress::start(self.session.write_progress(), settings.counts);
        let written = self
            .rows(statement, settings.format, seen, &mut out, progress)
            .await?;
        let elapsed = settings.timing.then(|| started.elapsed());
        let footer = match (written, settings.counts) {
            (Some(written), true) => written.footer(elapsed),
            (Some(_), false) => Written::Plan.footer(elapsed),
            (None, true) => Some(match elapsed {
                Some(elapsed) => format!("OK ({})", seconds(elapsed)),
                None => "OK".to_owned(),
            }),
            (None, false) => elapsed.map(|elapsed| format!("({})", seconds(elapsed))),
        };
        if let Some(footer) = footer {
            // Beside data the footer would be data.
            if settings.format == Format::Table {
                writeln!(out, "{footer}")?;
            } else {
                out.flush()?;
                let _ = writeln!(io::stderr(), "{footer}");
            }
        }
        out.flush()?;
        if let Some(Written::First(_)) = written {
            let _ = writeln!(
                io::stderr(),
                "note: there are more rows; add LIMIT, or get all of them with --format csv (in the shell: \\format csv)"
            );
        }
        Ok(())
    }

    /// Runs `statement` and writes its rows as they come; `None` if it has no columns.
    async fn rows(
        &self,
        statement: &Statement,
        format: Format,
        seen: u64,
        out: &mut dyn Write,
        mut progress: Progress,
    ) -> Result<Option<Written>, StatementError> {
        // Planning and running happen in a task of their own, so that Ctrl-C is heard whatever they do.
        let (parts, mut received) = mpsc::channel(2);
        let session = Arc::clone(&self.session);
        let mut task = Task(tokio::spawn(produce(session, statement.text.clone(), parts)));
        let mut interrupted = std::pin::pin!(self.interrupts.after(seen));
        let mut ticks = tokio::time::interval(INTERVAL);
        let mut schema = None;
        let mut out = Some(out);
        let mut sink = None;
        // Nothing is written before the first rows are there, so that a statement that fails at once leaves no header.
        let mut open = |schema: &SchemaRef| match out.take() {
            Some(out) => format.sink(schema, statement.is_explain(), out).map(Some),
            None => Ok(None),
        };
        loop {
            let part = tokio::select! {
                biased;
                () = &mut interrupted => return Err(StatementError::Interrupted),
                part = received.recv() => part,
                _ = ticks.tick() => {
                    progress.show();
                    continue;
                }
            };
            match part {
                Some(Part::Schema(columns)) => {
                    schema = Some(columns).filter(|s| !s.fields().is_empty());
                }
                Some(Part::Batch(batch)) => {
                    if let (None, Some(schema)) = (&sink, &schema) {
                        sink = open(schema)?;
                    }
                    if let Some(sink) = &mut sink
                        && sink.write(&batch)?.is_break()
                    {
                        return Ok(Some(sink.finish()?));
                    }
                }
                None => break,
            }
        }
        (&mut task.0)
            .await
            .map_err(|error| DataFusionError::ExecutionJoin(Box::new(error)))??;
        if let (None, Some(schema)) = (&sink, &schema) {
            sink = open(schema)?;
        }
        sink.map(|mut sink| sink.finish()).transpose()
    }
}

/// A piece of a result on its way from the task that computes it.
enum Part {
    Schema(SchemaRef),
    Batch(RecordBatch),
}

async fn produce(session: Arc<Session>, text: String, parts: mpsc::Sender<Part>) -> SqlResult<()> {
    let mut stream = session.sql(&text).await?.execute_stream().await?;
    // The receiver goes away when it has enough; then there is nothing left to do.
    if parts.send(Part::Schema(stream.schema())).await.is_err() {
        return Ok(());
    }
    while let Some(batch) = stream.next().await {
        if parts.send(Part::Batch(batch?)).await.is_err() {
            break;
        }
    }
    Ok(())
}

/// A task that ends with the statement it works for.
struct Task(JoinHandle<SqlResult<()>>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn fail(error: StatementError, statement: &Statement, number: usize, origin: &Origin) -> Failure {
    match error {
        StatementError::Sql(error) => Failure::Sql(report(&error, statement, number, origin)),
        StatementError::Output(error) => error.into(),
        StatementError::Interrupted => Failure::Interrupted,
        error @ StatementError::Format { .. } => {
            let error = DataFusionError::External(Box::new(error));
            Failure::Sql(report(&error, statement, number, origin))
        }
    }
}
