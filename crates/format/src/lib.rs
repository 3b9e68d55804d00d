//! The bytes of the Apache Iceberg table format, versions 1 to 3.
//!
//! This crate knows how a table is written down and nothing else: no I/O, no async, no query engine. Section
//! marks (`§`) in the documentation point into the Iceberg table specification.
//!
//! | module | holds |
//! |---|---|
//! | [`types`] | primitive and nested types, their text form |
//! | [`schema`] | schemas: fields by id and by name, identifier fields |
//! | [`transform`] | partition and sort transforms |
//! | [`partition`] | partition specs and tuples |
//! | [`sort`] | sort orders |
//! | [`snapshot`] | snapshots, refs and the logs of them |
//! | [`metadata`] | table metadata: reading, writing, time travel, statistics entries |
//! | [`view`] | view metadata |
//! | [`name_mapping`] | field ids for data files that carry none |
//! | [`value`] | values of types, in memory, as single-value bytes and as JSON |
//! | [`avro`] | decoding Avro files |
//! | [`manifest`] | manifests: files with their partition, sequence numbers and metrics |
//! | [`manifest_list`] | manifest lists |
//! | [`metrics`] | which metrics of a column are kept, and how bounds are cut |
//! | [`puffin`] | Puffin files |
//! | [`deletion_vector`] | deletion vectors |

pub mod avro;
pub mod deletion_vector;
pub mod error;
pub mod manifest;
pub mod manifest_list;
pub mod metadata;
pub mod metrics;
pub mod name_mapping;
pub mod partition;
pub mod puffin;
pub mod schema;
pub mod snapshot;
pub mod sort;
pub mod transform;
pub mod types;
pub mod value;
pub mod view;

pub use error::{Error, Result};
