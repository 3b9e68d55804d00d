//! Tables as they are before a statement.
//!
//! Each lies in a warehouse of its own, is made once, and is brought back to that state after each statement: data files never
//! change, so that it is enough to delete the files that came and to write the hint again that names the newest
//! metadata file.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use drumlin_format::metadata::TableUpdate;
use drumlin_table::catalog::{Namespace, TableIdent};
use drumlin_table::transaction::Transaction;
use tokio::runtime::Runtime;

use super::Options;
use super::sources::plain_session;
use crate::Result;
use crate::cached;
use crate::iceberg_table::text;
use crate::warehouse::{Pointers, run, session};

/// Files of about this size, as many as the plain tables have.
const TARGET_BYTES: u64 = 16 << 20;

/// The file of a table that says which metadata file is its newest.
const HINT: &str = "version-hint.text";

/// A table of a format version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Base {
    /// The table of TPC-H; its name in SQL is `lake.s.` and this.
    pub table: &'static str,
    /// The format version.
    pub version: u8,
    /// The partition spec, as SQL has it.
    pub partitioned_by: Option<&'static str>,
}

/// The files of a base, by their paths below its warehouse; those of hints with what they say.
#[derive(Debug, Default)]
pub struct Files {
    /// All files.
    pub all: BTreeSet<String>,
    hints: BTreeMap<String, String>,
}

/// Files that a statement left.
#[derive(Debug, Clone, Copy, Default)]
pub struct Written {
    /// Data and delete files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The bytes of manifests, manifest lists and metadata files.
    pub metadata_bytes: u64,
}

impl Base {
    /// Its name in SQL.
    pub fn name(&self) -> String {
        format!("lake.s.{}", self.table)
    }

    fn folder(&self, options: &Options) -> PathBuf {
        let by = if self.partitioned_by.is_some() {
            "-partitioned"
        } else {
            ""
        };
        options
            .folder()
            .join(format!("{}-v{}{by}", self.table, self.version))
    }

    /// The warehouse that it is in.
    pub fn warehouse(&self, options: &Options) -> PathBuf {
        self.folder(options).join("warehouse")
    }

    /// The folder of its data files.
    pub fn data(&self, options: &Options) -> PathBuf {
        self.warehouse(options).join("s").join(self.table).join("data")
    }

    /// Makes the table if it is not there, and brings it to the state in which it was made.
    pub fn prepare(&self, options: &Options, runtime: &Runtime) -> Result<Files> {
        let create = self.create_statement();
        let write = || {
            runtime.block_on(self.write(options, &create))?;
            let files = Files::in_folder(&self.warehouse(options))?;
            Ok(format!("{create}\n{}", files.to_text()))
        };
        let folder = self.folder(options);
        let mut about = cached::once(&folder, write)?;
        if about.lines().next() != Some(create.as_str()) {
            fs::remove_dir_all(&folder)?;
            about = cached::once(&folder, write)?;
        }
        let files = Files::from_text(about.split_once('\n').map_or("", |(_, files)| files));
        self.restore(options, &files)?;
        Ok(files)
    }

    fn create_statement(&self) -> String {
        let by = self
            .partitioned_by
            .map_or(String::new(), |by| format!(" PARTITIONED BY ({by})"));
        format!(
            "CREATE TABLE {}{by} TBLPROPERTIES ('format-version' = '{}', 'write.target-file-size-bytes' = \
             '{TARGET_BYTES}', 'write.parquet.compression-codec' = 'zstd') AS SELECT * FROM {}",
            self.name(),
            self.version,
            self.table
        )
    }

    async fn write(&self, options: &Options, create: &str) -> Result<()> {
        let warehouse = self.warehouse(options);
        fs::create_dir_all(&warehouse)?;
        let ctx = session(&warehouse, Pointers::Folder, options.partitions).await?.0;
        let plain = plain_session(options).await?;
        ctx.register_table(self.table, plain.table_provider(self.table).await?)?;
        run(&ctx, "CREATE SCHEMA lake.s").await?;
        run(&ctx, create).await?;
        Ok(())
    }

    /// Deletes what is not among the files, and brings the others back to what they were.
    pub fn restore(&self, options: &Options, files: &Files) -> Result<()> {
        self.show(options)?;
        let warehouse = self.warehouse(options);
        let now = Files::in_folder(&warehouse)?;
        if let Some(gone) = files.all.difference(&now.all).next() {
            let folder = self.folder(options);
            return Err(format!("{gone} is gone: remove {}", folder.display()).into());
        }
        for file in now.all.difference(&files.all) {
            fs::remove_file(warehouse.join(file))?;
        }
        for (file, hint) in &files.hints {
            fs::write(warehouse.join(file), hint)?;
        }
        Ok(())
    }

    /// Takes all data files away but those of one partition, by the name of its folder: a statement that opens others
    /// fails.
    pub fn hide_all_but(&self, partition: &str, options: &Options) -> Result<()> {
        let (data, aside) = (self.data(options), self.aside(options));
        if !data.join(partition).is_dir() {
            return Err(format!("{} has no folder {partition}", data.display()).into());
        }
        fs::create_dir_all(&aside)?;
        for entry in fs::read_dir(&data)? {
            let entry = entry?;
            if entry.file_name() != partition {
                fs::rename(entry.path(), aside.join(entry.file_name()))?;
            }
        }
        Ok(())
    }

    /// Brings back what was taken away.
    pub fn show(&self, options: &Options) -> Result<()> {
        let (data, aside) = (self.data(options), self.aside(options));
        if aside.exists() {
            for entry in fs::read_dir(&aside)? {
                let entry = entry?;
                fs::rename(entry.path(), data.join(entry.file_name()))?;
            }
            fs::remove_dir(aside)?;
        }
        Ok(())
    }

    fn aside(&self, options: &Options) -> PathBuf {
        self.folder(options).join("aside")
    }

    /// Sets properties of the table.
    pub async fn set(&self, options: &Options, properties: &[(&str, &str)]) -> Result<()> {
        let warehouse = self.warehouse(options);
        let (_, catalog) = session(&warehouse, Pointers::Folder, options.partitions).await?;
        let ident = TableIdent::new(Namespace::new(["s"])?, self.table)?;
        let table = catalog.load_table(&ident).await?;
        let properties = properties.iter().map(|(k, v)| (k.to_string(), v.to_string()));
        let update = TableUpdate::SetProperties(properties.collect());
        let transaction = Transaction::new(&table, ident).add_updates(vec![update]);
        transaction.commit(catalog.as_ref()).await?;
        Ok(())
    }

    /// What is there besides these files.
    pub fn written(&self, options: &Options, before: &BTreeSet<String>) -> Result<Written> {
        let warehouse = self.warehouse(options);
        let mut written = Written::default();
        for file in Files::in_folder(&warehouse)?.all.difference(before) {
            let bytes = fs::metadata(warehouse.join(file))?.len();
            match file.contains("/metadata/") {
                true => written.metadata_bytes += bytes,
                false => {
                    written.files += 1;
                    written.bytes += bytes;
                }
            }
        }
        Ok(written)
    }
}

impl Files {
    /// The files that are in a folder now.
    pub fn in_folder(folder: &Path) -> Result<Self> {
        let mut files = Self::default();
        let mut left = vec![folder.to_path_buf()];
        while let Some(next) = left.pop() {
            for entry in fs::read_dir(next)? {
                let path = entry?.path();
                if path.is_dir() {
                    left.push(path);
                    continue;
                }
                let name = text(path.strip_prefix(folder)?)?;
                if path.file_name().is_some_and(|name| name == HINT) {
                    files.hints.insert(name.clone(), fs::read_to_string(&path)?);
                }
                files.all.insert(name);
            }
        }
        Ok(files)
    }

    /// A line for each file: its path, and what it says if it is a hint.
    fn to_text(&self) -> String {
        let line = |file: &String| {
            let hint = self.hints.get(file).map_or("", |hint| hint.trim());
            format!("{file}\t{hint}\n")
        };
        self.all.iter().map(line).collect()
    }

    fn from_text(text: &str) -> Self {
        let mut files = Self::default();
        for (file, hint) in text.lines().filter_map(|line| line.split_once('\t')) {
            if !hint.is_empty() {
                files.hints.insert(file.to_string(), hint.to_string());
            }
            files.all.insert(file.to_string());
        }
        files
    }
}
