//! Where new data and delete files go: below the data folder by partition, or spread by a hash of their names over the prefixes of an
//! object store.

use std::sync::atomic::{AtomicUsize, Ordering};

use drumlin_format::transform::hash::murmur3_x86_32;
use uuid::Uuid;

use crate::error::Result;
use crate::properties::Properties;

/// Names the places of new data and delete files, by the table's properties.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocationProvider {
    /// The folder of data files, without a slash at its end.
    base: String,
    hashed: Option<Hashed>,
}

/// The layout for object stores.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Hashed {
    /// Whether paths say the partition as well.
    partitioned_paths: bool,
    /// The schema and the name of the table, for a data folder that several tables may share.
    context: Option<String>,
}

/// How many digits of the hash are used: three folders of four, and the rest.
const HASH_BITS: u32 = 20;

impl LocationProvider {
    /// The provider of a table at this location.
    pub(super) fn of(properties: &mut Properties<'_>, table_location: &str) -> Result<Self> {
        let table_location = without_slash(table_location);
        let hashed = properties.boolean("write.object-storage.enabled", false)?;
        let partitioned_paths = properties.boolean("write.object-storage.partitioned-paths", true)?;
        // The last two are older names of the first.
        let base = properties
            .text("write.data.path")
            .or_else(|| properties.text("write.object-storage.path").filter(|_| hashed))
            .or_else(|| properties.text("write.folder-storage.path"))
            .map_or_else(
                || format!("{table_location}/data"),
                |path| without_slash(path).to_string(),
            );
        let context = (!base.starts_with(table_location)).then(|| context(table_location));
        let hashed = hashed.then_some(Hashed {
            partitioned_paths,
            context,
        });
        Ok(Self { base, hashed })
    }

    /// The location of a file of this name in a partition, whose path is empty for a spec without fields.
    pub fn location(&self, partition_path: &str, file_name: &str) -> String {
        let base = &self.base;
        let in_partition = match partition_path {
            "" => file_name.to_string(),
            path => format!("{path}/{file_name}"),
        };
        let Some(hashed) = &self.hashed else {
            return format!("{base}/{in_partition}");
        };
        let name = match hashed.partitioned_paths {
            true => in_partition,
            false => file_name.to_string(),
        };
        let hash = hash_folders(&name);
        match (&hashed.context, hashed.partitioned_paths) {
            (Some(context), _) => format!("{base}/{hash}/{context}/{name}"),
            (None, true) => format!("{base}/{hash}/{name}"),
            (None, false) => format!("{base}/{hash}-{name}"),
        }
    }
}

/// The locations of the files of one writer, none of which is used twice.
#[derive(Debug)]
pub struct FileNames {
    locations: LocationProvider,
    /// The start of their names, unique to the writer.
    start: String,
    ending: &'static str,
    /// How many were given out.
    given: AtomicUsize,
}

impl FileNames {
    /// Names of a new writer: `<partition id>-<attempt>-<random>-<number><ending>`.
    pub fn new(locations: LocationProvider, partition_id: usize, ending: &'static str) -> Self {
        Self {
            locations,
            // There is one attempt.
            start: format!("{partition_id:05}-{:05}-{}", 0, Uuid::new_v4()),
            ending,
            given: AtomicUsize::new(0),
        }
    }

    /// The location of the next file in a partition, whose path is empty for a spec without fields.
    pub fn next(&self, partition_path: &str) -> String {
        let number = self.given.fetch_add(1, Ordering::Relaxed) + 1;
        let name = format!("{}-{number:05}{}", self.start, self.ending);
        self.locations.location(partition_path, &name)
    }
}

fn without_slash(location: &str) -> &str {
    let stripped = location.trim_end_matches('/');
    match stripped.ends_with(':') {
        // `s3://` alone, whatever it is good for.
        true => location,
        false => stripped,
    }
}

/// The last two names of a location.
fn context(table_location: &str) -> String {
    let path = table_location
        .split_once(':')
        .map_or(table_location, |(_, path)| path);
    let mut names: Vec<&str> = path.split('/').filter(|name| !name.is_empty()).collect();
    let last = names.split_off(names.len().saturating_sub(2));
    last.join("/")
}

/// The lowest bits of the hash of a name as `0101/0110/1001/10110010`.
fn hash_folders(name: &str) -> String {
    let bits = murmur3_x86_32(name.as_bytes()) & ((1 << HASH_BITS) - 1);
    let (a, b, c, rest) = (bits >> 16, bits >> 12 & 15, bits >> 8 & 15, bits & 255);
    format!("{a:04b}/{b:04b}/{c:04b}/{rest:08b}")
}
