//! Avro object container files, as manifests, manifest lists and some data files are (§ Appendix A).
//!
//! Manifests are the bulk of what planning reads, so there is no generic value here. A file's own schema is compiled
//! once into [`Schema`] nodes; readers walk the records with a [`Decoder`], take the fields they want by Iceberg field
//! id and step over the others ([`Schema::skip`]). Blocks are independent: see [`Container::blocks`].

mod codec;
mod container;
mod decoder;
mod schema;
mod write;

#[cfg(test)]
mod tests;

pub use codec::Codec;
pub use container::{Block, BlockHead, Container};
pub use decoder::Decoder;
pub use schema::{Field, Kind, NodeId, Schema};
pub use write::{ContainerWriter, Encoder};
