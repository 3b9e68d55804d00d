//! How metadata files are named.

use uuid::Uuid;

/// How the names of metadata files may end, after a dot. `metadata.json.gz` is how old writers named those in gzip.
pub const ENDINGS: [&str; 3] = ["gz.metadata.json", "metadata.json.gz", "metadata.json"];

/// Whether a file is named as metadata files are.
pub fn is_metadata_file(location: &str) -> bool {
    stem(location).is_some()
}

/// The N of `vN.metadata.json` in any compression, whatever the folder: the name of a version in the layout of Hadoop
/// tables.
pub fn version_of(location: &str) -> Option<u64> {
    name_of(stem(location)?).strip_prefix('v')?.parse().ok()
}

/// Whether no other metadata can ever be in a file of this name: `NNNNN-<uuid>.metadata.json`. A `vN.metadata.json` can be
/// that of a table that was dropped and made anew.
pub(super) fn is_named_for_good(location: &str) -> bool {
    let parts = stem(location).and_then(|stem| name_of(stem).split_once('-'));
    parts.is_some_and(|(number, uuid)| {
        let digits = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
        digits && Uuid::try_parse(uuid).is_ok()
    })
}

/// The location without its ending.
fn stem(location: &str) -> Option<&str> {
    let stem = ENDINGS.iter().find_map(|ending| location.strip_suffix(ending));
    stem?.strip_suffix('.')
}

fn name_of(location: &str) -> &str {
    location.rsplit('/').next().unwrap_or(location)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_versions_and_whether_they_are_used_once() {
        let uuid = "00003-54a88d0c-a85b-45bb-ad1e-5df83168e9f8";
        for (file, version, for_good) in [
            ("s3://b/t/metadata/v3.metadata.json", Some(3), false),
            ("v12.gz.metadata.json", Some(12), false),
            ("v12.metadata.json.gz", Some(12), false),
            (&format!("/t/{uuid}.metadata.json"), None, true),
            (&format!("{uuid}.gz.metadata.json"), None, true),
            ("00003-not-a-uuid.metadata.json", None, false),
            ("54a88d0c-a85b-45bb-ad1e-5df83168e9f8.metadata.json", None, false),
        ] {
            assert!(is_metadata_file(file), "{file}");
            assert_eq!(version_of(file), version, "{file}");
            assert_eq!(is_named_for_good(file), for_good, "{file}");
        }
        for file in [
            "version-hint.text",
            "v3.metadata.json.crc",
            "metadata.json",
            "vmetadata.json",
        ] {
            assert!(!is_metadata_file(file), "{file}");
            assert_eq!(version_of(file), None, "{file}");
        }
    }
}
