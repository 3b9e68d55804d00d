//! What must hold in a metadata file, beyond the fields being there: what the reference implementation refuses on
//! load, and no more, so that every table other engines open opens here.

use super::TableMetadata;
use crate::error::{Error, Result};
use crate::snapshot::MAIN_BRANCH;

/// How far clocks of writers may be apart before logs count as out of order.
const CLOCK_TOLERANCE_MS: i64 = 60_000;

/// Checks a metadata that was just read.
pub(super) fn check(metadata: &TableMetadata) -> Result<()> {
    check_sequence_numbers(metadata)?;
    check_refs(metadata)?;
    let snapshot_log = metadata.snapshot_log.iter().map(|e| e.timestamp_ms);
    check_log("snapshot-log", snapshot_log, metadata.last_updated_ms)?;
    let metadata_log = metadata.metadata_log.iter().map(|e| e.timestamp_ms);
    check_log("metadata-log", metadata_log, metadata.last_updated_ms)
}

fn invalid(field: &str, reason: String) -> Error {
    Error::invalid(format!("table metadata, field `{field}`"), reason)
}

fn check_sequence_numbers(metadata: &TableMetadata) -> Result<()> {
    let last = metadata.last_sequence_number;
    let beyond = metadata.snapshots.iter().find(|s| s.sequence_number > last);
    match beyond {
        Some(snapshot) if metadata.format_version > 1 => Err(invalid(
            "last-sequence-number",
            format!(
                "it is {last}, but the snapshot {} has the sequence number {}",
                snapshot.snapshot_id, snapshot.sequence_number
            ),
        )),
        _ => Ok(()),
    }
}

fn check_refs(metadata: &TableMetadata) -> Result<()> {
    let exists = |id| metadata.snapshot_by_id(id).is_some();
    if let Some(id) = metadata.current_snapshot_id
        && !exists(id)
    {
        let reason = format!("the snapshot {id} is not in `snapshots`");
        return Err(invalid("current-snapshot-id", reason));
    }
    for (name, of) in &metadata.refs {
        if !exists(of.snapshot_id) {
            let reason = format!("its snapshot {} is not in `snapshots`", of.snapshot_id);
            return Err(invalid(&format!("refs.{name}"), reason));
        }
    }
    let Some(main) = metadata.refs.get(MAIN_BRANCH) else {
        return Ok(());
    };
    if !main.is_branch() {
        return Err(invalid("refs.main", "main must be a branch".into()));
    }
    if metadata.current_snapshot_id == Some(main.snapshot_id) {
        return Ok(());
    }
    let current = match metadata.current_snapshot_id {
        Some(id) => id.to_string(),
        None => "not set".into(),
    };
    let reason = format!(
        "main is at {}, `current-snapshot-id` is {current}",
        main.snapshot_id
    );
    Err(invalid("refs.main", reason))
}

fn check_log(name: &str, times: impl Iterator<Item = i64>, last_updated_ms: i64) -> Result<()> {
    let mut previous: Option<i64> = None;
    for (i, time) in times.enumerate() {
        if let Some(previous) = previous
            && is_before(time, previous)
        {
            let reason = format!("its time {time} is before that of the entry ahead of it, {previous}");
            return Err(invalid(&format!("{name}[{i}]"), reason));
        }
        previous = Some(time);
    }
    match previous {
        Some(last) if is_before(last_updated_ms, last) => {
            let reason = format!("it is {last_updated_ms}, before the last entry of `{name}`, {last}");
            Err(invalid("last-updated-ms", reason))
        }
        _ => Ok(()),
    }
}

fn is_before(time: i64, other: i64) -> bool {
    time.saturating_sub(other) < -CLOCK_TOLERANCE_MS
}
