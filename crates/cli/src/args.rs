//! What the command line accepts.

use std::path::PathBuf;

use clap::Parser;
use drumlin_catalog::sql::DEFAULT_CATALOG_NAME;

use crate::output::Format;

/// SQL over Apache Iceberg tables.
///
/// Without -c or -f, statements come from a shell, or from standard input if that is not a terminal.
///
/// Exit codes: 0 all statements ran, 1 a statement failed, 2 wrong usage, 130 interrupted.
#[derive(Debug, Parser)]
#[command(name = "drumlin", version, max_term_width = 100)]
pub struct Args {
    /// Run these statements, separated by `;`, and exit (may be repeated)
    #[arg(short = 'c', long = "command", value_name = "SQL", conflicts_with = "files")]
    pub commands: Vec<String>,

    /// Run the statements of this file and exit; `-` is standard input (may be repeated)
    #[arg(short = 'f', long = "file", value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// How results are written
    ///
    /// table stops after 10,000 rows; all other formats stream every row. arrow writes an Arrow IPC stream for each
    /// statement that has columns, one after the other.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,

    /// Where the tables live: a path or a URI
    #[arg(long, value_name = "URI", default_value = "./warehouse")]
    pub warehouse: String,

    /// Where the pointers to the tables are
    ///
    /// sqlite:PATH or postgres://USER:PASSWORD@HOST/DATABASE is a database, as Java's JdbcCatalog and PyIceberg's SqlCatalog
    /// use it; folder is the warehouse itself, in the layout of Spark's type=hadoop. If not given: the database catalog.db in a
    /// warehouse on a local disk, folder for all others and for one that is mounted
    #[arg(
        long,
        value_name = "URI|folder",
        env = "DRUMLIN_CATALOG",
        hide_env_values = true
    )]
    pub catalog: Option<String>,

    /// The name of the catalog in its database; other engines that share it have to give the same
    #[arg(long, value_name = "NAME", default_value = DEFAULT_CATALOG_NAME)]
    pub catalog_name: String,

    /// Read what is below URI from a local folder instead: `s3://bucket=./copy-of-bucket` (may be repeated)
    #[arg(long = "mount", value_name = "URI=FOLDER", value_parser = pair)]
    pub mounts: Vec<(String, String)>,

    /// An option of the stores, such as s3.endpoint=http://localhost:9000; the rest comes from the environment (may be
    /// repeated)
    #[arg(short = 'o', long = "option", value_name = "NAME=VALUE", value_parser = pair)]
    pub options: Vec<(String, String)>,

    /// Write results and errors only: no row counts, no times, no greeting
    #[arg(short, long)]
    pub quiet: bool,
}

/// `name=value`, cut at the first `=`.
fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() && !value.is_empty() => {
            Ok((name.to_owned(), value.to_owned()))
        }
        _ => Err("expected two parts joined by `=`".to_owned()),
    }
}
