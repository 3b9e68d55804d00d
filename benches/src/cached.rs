//! Files that are written once and kept from run to run.

use std::fs;
use std::path::Path;

use crate::Result;
use crate::iceberg_table::text;

/// The file that a folder has once it is complete.
const COMPLETE: &str = "complete";

/// Writes `folder`, which is emptied before, unless it is complete; returns what was said about it when it was written.
/// Tables name their files by whole paths, so a folder that was moved is written anew.
pub fn once(folder: &Path, write: impl FnOnce() -> Result<String>) -> Result<String> {
    let place = format!("{}\n", text(folder)?);
    let mark = folder.join(COMPLETE);
    let there = fs::read_to_string(&mark).unwrap_or_default();
    if let Some(about) = there.strip_prefix(&place) {
        return Ok(about.to_string());
    }
    eprintln!("writing {}", folder.display());
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)?;
    let about = write()?;
    fs::write(mark, format!("{place}{about}"))?;
    Ok(about)
}
