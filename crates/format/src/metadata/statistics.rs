//! Entries of statistics files and of encryption keys (§ Table Statistics, § Partition Statistics, § Encryption Keys).
//!
//! Statistics are advisory: a reader may ignore them, and they never decide which rows a query returns.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A Puffin file with statistics of a snapshot (§ Table Statistics); a snapshot has one at most.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct StatisticsFile {
    /// The snapshot that the statistics were made of.
    pub snapshot_id: i64,
    /// The location of the Puffin file.
    pub statistics_path: String,
    /// Its size in bytes.
    pub file_size_in_bytes: i64,
    /// The size of its footer in bytes.
    pub file_footer_size_in_bytes: i64,
    /// The encryption key metadata of the file, in base 64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_metadata: Option<String>,
    /// What is in the file.
    pub blob_metadata: Vec<StatisticsBlob>,
}

/// One blob of a statistics file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct StatisticsBlob {
    /// The blob's type, for example `apache-datasketches-theta-v1`.
    #[serde(rename = "type")]
    pub blob_type: String,
    /// The snapshot it was made of; it may be older than that of the file.
    pub snapshot_id: i64,
    /// The sequence number of that snapshot.
    pub sequence_number: i64,
    /// Ids of the columns it is about.
    pub fields: Vec<i32>,
    /// Notes of the writer, for example `ndv`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub properties: BTreeMap<String, String>,
}

/// A file with statistics of every partition of a snapshot (§ Partition Statistics); a snapshot has one at most.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct PartitionStatisticsFile {
    /// The snapshot that the statistics were made of.
    pub snapshot_id: i64,
    /// The location of the file.
    pub statistics_path: String,
    /// Its size in bytes.
    pub file_size_in_bytes: i64,
}

/// A key of an encrypted table, itself encrypted (v3, § Encryption Keys).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct EncryptedKey {
    /// The id that snapshots and other keys name it by.
    pub key_id: String,
    /// The encrypted key and its metadata, in base 64.
    pub encrypted_key_metadata: String,
    /// The key that encrypts this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encrypted_by_id: Option<String>,
    /// Notes of the key service.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub properties: BTreeMap<String, String>,
}
