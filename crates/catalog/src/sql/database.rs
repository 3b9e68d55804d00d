//! The two databases, behind the few things that the catalog asks of them: all it stores is text.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use drumlin_table::{Error, Result};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};
use sqlx::{AssertSqlSafe, PgPool, Row, SqlitePool};

use drumlin_table::storage::disk::blocking;

/// How long a statement waits for a lock of another process, and for a connection.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long PostgreSQL may take for a statement. After that its outcome is unknown.
const ANSWER: Duration = Duration::from_secs(60);

/// Connections at most.
const CONNECTIONS: u32 = 4;

/// Why a statement gave no result, by what it means for the statement.
#[derive(Debug)]
pub(super) enum Failure {
    /// It was refused because of the primary key; nothing was changed.
    Taken,
    /// Nothing was changed, since others held locks; it may be repeated.
    Busy(String),
    /// Nothing was changed.
    Refused(String),
    /// No answer came, or one that does not say whether the statement took effect.
    Lost(String),
}

impl Failure {
    pub(super) fn reason(self) -> String {
        match self {
            Self::Taken => "there is such a row".to_string(),
            Self::Busy(reason) | Self::Refused(reason) | Self::Lost(reason) => reason,
        }
    }
}

/// Columns of text.
pub(super) type Cells = Vec<Option<String>>;

/// A statement and its arguments, `$1` the first.
pub(super) type Statement<'a> = (String, Vec<&'a str>);

/// A pool of connections.
#[derive(Debug, Clone)]
pub(super) enum Database {
    Sqlite(SqlitePool),
    Postgres(PgPool),
}

/// Runs a block for the pool of either database.
macro_rules! on {
    ($database:expr, $pool:ident => $block:expr) => {
        match $database {
            Database::Sqlite($pool) => $block,
            Database::Postgres($pool) => $block,
        }
    };
}

impl Database {
    /// Opens the database of a URI, and says how to name it without its secrets.
    pub(super) async fn open(uri: &str) -> Result<(Self, String)> {
        if let Some(rest) = uri.strip_prefix("sqlite:") {
            return open_sqlite(rest).await;
        }
        let Some((scheme, rest)) = uri.split_once("://") else {
            return Err(unknown_uri());
        };
        // SQLAlchemy names its driver in the scheme.
        match scheme.split('+').next() {
            Some("postgres" | "postgresql") => open_postgres(&format!("postgres://{rest}")).await,
            _ => Err(unknown_uri()),
        }
    }

    /// Runs one statement, which takes effect as a whole or not at all. The answer is how many rows it changed.
    pub(super) async fn execute(&self, sql: &str, arguments: &[&str]) -> Result<u64, Failure> {
        on!(self, pool => {
            let mut connection = pool.acquire().await.map_err(not_sent)?;
            let mut query = sqlx::query(AssertSqlSafe(sql.to_string()));
            for argument in arguments {
                query = query.bind(argument.to_string());
            }
            in_time(async move { Ok(query.execute(&mut *connection).await?.rows_affected()) }).await
        })
    }

    /// Runs statements that take effect together or not at all.
    pub(super) async fn execute_all(&self, statements: &[Statement<'_>]) -> Result<(), Failure> {
        on!(self, pool => {
            let mut transaction = pool.begin().await.map_err(not_sent)?;
            for (sql, arguments) in statements {
                let mut query = sqlx::query(AssertSqlSafe(sql.to_string()));
                for argument in arguments {
                    query = query.bind(argument.to_string());
                }
                let connection = &mut *transaction;
                in_time(async move { query.execute(connection).await }).await?;
            }
            in_time(transaction.commit()).await
        })
    }

    /// The rows of a query, whose columns are text.
    pub(super) async fn rows(&self, sql: &str, arguments: &[&str]) -> Result<Vec<Cells>, Failure> {
        on!(self, pool => {
            let mut query = sqlx::query(AssertSqlSafe(sql.to_string()));
            for argument in arguments {
                query = query.bind(argument.to_string());
            }
            let rows = in_time(query.fetch_all(pool)).await?;
            let cells = |row: &_| (0..Row::len(row)).map(|i| Row::try_get(row, i)).collect();
            let rows: Result<Vec<Cells>, sqlx::Error> = rows.iter().map(cells).collect();
            rows.map_err(judge)
        })
    }
}

/// An answer that does not come in time is as good as lost. SQLite has its own bound, for locks.
async fn in_time<T>(answer: impl Future<Output = Result<T, sqlx::Error>>) -> Result<T, Failure> {
    match tokio::time::timeout(ANSWER, answer).await {
        Ok(answer) => answer.map_err(judge),
        Err(_) => Err(Failure::Lost(format!("no answer within {} s", ANSWER.as_secs()))),
    }
}

/// A connection that could not be had: nothing was asked for.
fn not_sent(error: sqlx::Error) -> Failure {
    Failure::Refused(error.to_string())
}

/// What an error says about the statement.
fn judge(error: sqlx::Error) -> Failure {
    let reason = error.to_string();
    let database = match &error {
        sqlx::Error::Database(database) => database,
        sqlx::Error::ColumnDecode { .. } | sqlx::Error::Encode(_) | sqlx::Error::PoolTimedOut => {
            return Failure::Refused(reason);
        }
        _ => return Failure::Lost(reason),
    };
    if database.is_unique_violation() {
        return Failure::Taken;
    }
    let code = database.code().unwrap_or_default();
    // SQLite gives numbers, of which the lower byte is the kind; PostgreSQL has classes of five letters and digits.
    if database.try_downcast_ref::<sqlx::sqlite::SqliteError>().is_some() {
        return match code.parse::<u32>().map(|code| code & 0xff) {
            // SQLITE_BUSY, SQLITE_LOCKED.
            Ok(5 | 6) => Failure::Busy(reason),
            // SQLITE_IOERR: the disk failed at some step of the commit.
            Ok(10) => Failure::Lost(reason),
            _ => Failure::Refused(reason),
        };
    }
    match &*code {
        // Serialization failure, deadlock, lock not available.
        "40001" | "40P01" | "55P03" => Failure::Busy(reason),
        // The server went down, or says itself that it does not know.
        "40003" => Failure::Lost(reason),
        code if ["08", "57P", "58", "XX"]
            .iter()
            .any(|class| code.starts_with(class)) =>
        {
            Failure::Lost(reason)
        }
        _ => Failure::Refused(reason),
    }
}

async fn open_sqlite(rest: &str) -> Result<(Database, String)> {
    let path = rest.strip_prefix("//").unwrap_or(rest);
    let name = format!("sqlite:{path}");
    let failed = |reason: String| Error::Catalog {
        catalog: name.clone(),
        reason,
    };
    if path.contains('?') {
        return Err(failed("options after `?` are not taken".to_string()));
    }
    if path.is_empty() {
        return Err(failed(
            "the path of a file is expected after `sqlite:`".to_string(),
        ));
    }
    let options = SqliteConnectOptions::new().busy_timeout(PATIENCE);
    let pool = SqlitePoolOptions::new().acquire_timeout(PATIENCE);
    let (options, pool) = if path == ":memory:" {
        // Each connection to memory is a database of its own: one that stays.
        let pool = pool.max_connections(1).idle_timeout(None).max_lifetime(None);
        (options.in_memory(true), pool)
    } else {
        let file = PathBuf::from(path);
        if let Some(folder) = file.parent().filter(|folder| *folder != Path::new("")) {
            let folder = folder.to_path_buf();
            let made = blocking(move || std::fs::create_dir_all(folder)).await;
            made.map_err(|e| failed(format!("cannot make the folder of the file: {e}")))?;
        }
        let options = options.filename(file).create_if_missing(true);
        (options, pool.max_connections(CONNECTIONS))
    };
    let opened = pool.connect_with(options).await;
    let opened = opened.map_err(|e| failed(format!("cannot open the file: {e}")))?;
    Ok((Database::Sqlite(opened), name))
}

async fn open_postgres(uri: &str) -> Result<(Database, String)> {
    // Messages of the parser may repeat what it was given, and with it the password.
    let options = PgConnectOptions::from_str(uri).map_err(|_| Error::Catalog {
        catalog: "postgres".to_string(),
        reason: "its URI is not of the form postgres://user:password@host:port/database".to_string(),
    })?;
    let name = format!(
        "postgres://{}:{}/{}",
        options.get_host(),
        options.get_port(),
        options.get_database().unwrap_or_default()
    );
    let pool = PgPoolOptions::new()
        .acquire_timeout(PATIENCE)
        .max_connections(CONNECTIONS)
        .connect_with(options.application_name("drumlin"));
    let opened = pool.await.map_err(|e| Error::Catalog {
        catalog: name.clone(),
        reason: format!("cannot connect: {e}"),
    })?;
    Ok((Database::Postgres(opened), name))
}

fn unknown_uri() -> Error {
    Error::Catalog {
        catalog: "sql".to_string(),
        reason: "its URI has to start with sqlite: or postgres://".to_string(),
    }
}
