//! The next metadata file of a table: what is in it, its bytes, its name, and which older ones go once it is current.

mod codec;

#[cfg(test)]
mod tests;

use drumlin_format::metadata::{TableMetadata, TableMetadataBuilder, TableRequirement, TableUpdate};
use drumlin_table::clock::now_ms;
use drumlin_table::storage::Storage;
use drumlin_table::table::metadata_file::{is_metadata_file, version_of};
use drumlin_table::{Error, Result, Table};
use uuid::Uuid;

pub use codec::{Codec, METADATA_CODEC};

/// The property that says how many older metadata files the log names at most; 100 where it is not set.
pub const PREVIOUS_VERSIONS_MAX: &str = "write.metadata.previous-versions-max";

/// The property that says whether files are deleted when they fall off the log.
pub const DELETE_AFTER_COMMIT: &str = "write.metadata.delete-after-commit.enabled";

/// The property that says whether files may be deleted with the table or its snapshots; true where it is not set.
pub const GC_ENABLED: &str = "gc.enabled";

/// Checks the requirements on the base, `None` for a table that is not there, and applies the updates to it.
///
/// # Errors
/// [`Error::Format`]: `RequirementFailed` if the base is not as required, others for updates that do not fit;
/// [`Error::Property`] for properties that say how metadata files are written and have no such value.
pub fn next_metadata(
    base: Option<&Table>,
    requirements: &[TableRequirement],
    updates: &[TableUpdate],
) -> Result<TableMetadata> {
    let metadata = base.map(|table| table.metadata().as_ref());
    for requirement in requirements {
        requirement.check(metadata)?;
    }
    let mut builder = match base {
        Some(table) => TableMetadataBuilder::from(
            table.metadata().as_ref().clone(),
            Some(table.metadata_location().to_string()),
        ),
        None => TableMetadataBuilder::empty(),
    };
    builder.apply_all(updates.iter().cloned())?;
    // The builder would take any other value for the default.
    if let Some(value) = builder.metadata().property(PREVIOUS_VERSIONS_MAX)
        && value.parse::<u32>().is_err()
    {
        return Err(Error::Property {
            key: PREVIOUS_VERSIONS_MAX.to_string(),
            value: value.to_string(),
            expected: "a number of files".to_string(),
        });
    }
    Codec::of(builder.metadata())?;
    Ok(builder.build(now_ms())?)
}

/// Whether a table property is set to true; any other value is false, as everywhere in Iceberg.
pub(crate) fn is_true(metadata: &TableMetadata, key: &str, default: bool) -> bool {
    metadata
        .property(key)
        .map_or(default, |value| value.eq_ignore_ascii_case("true"))
}

/// The name of the metadata file that follows `base` in a catalog that knows the current one: `NNNNN-<uuid>` and the
/// ending of the codec. Numbers start at 0.
pub fn numbered_name(base: Option<&str>, codec: Codec) -> String {
    let number = match base {
        None => 0,
        Some(file) => number_of(file).map_or(0, |number| number.saturating_add(1)),
    };
    format!("{number:05}-{}.{}", Uuid::new_v4(), codec.ending())
}

/// The N of `NNNNN-<uuid>.metadata.json`, or of `vN.metadata.json` for a table that came from a folder.
fn number_of(file: &str) -> Option<u64> {
    if let Some(version) = version_of(file) {
        return Some(version);
    }
    let name = file.rsplit('/').next().unwrap_or(file);
    let (number, _) = name.split_once('-')?;
    number.parse().ok()
}

/// The name of a version in the layout of Hadoop tables: `vN` and the ending of the codec.
pub fn version_name(version: u64, codec: Codec) -> String {
    format!("v{version}.{}", codec.ending())
}

/// Deletes the metadata files that fell off the log in a commit that succeeded, if the table asks for it: exactly those that
/// the base names, itself included, and the new metadata does not. What cannot be deleted stays, with what comes after it:
/// files go in the order of their age, so that one that is there proves that all younger ones of the log are.
pub(crate) async fn delete_fallen(storage: &Storage, base: &Table, next: &TableMetadata, current: &str) {
    if !is_true(next, DELETE_AFTER_COMMIT, false) {
        return;
    }
    let logged = base.metadata().metadata_log().iter();
    let logged = logged.map(|entry| entry.metadata_file.as_str());
    for file in logged.chain([base.metadata_location()]) {
        let kept = file == current || next.metadata_log().iter().any(|e| e.metadata_file == file);
        // A log may hold anything; only metadata files are deleted on its word.
        if kept || !is_metadata_file(file) {
            continue;
        }
        if storage.delete(file).await.is_err() {
            return;
        }
    }
}
