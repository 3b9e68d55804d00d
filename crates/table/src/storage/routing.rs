//! One object store over all stores of a [`Storage`].
//!
//! A table may have files in several buckets, but a scan reads from one store. Here the bucket is a part of the
//! path: the object `k` of `s3://bucket` is `s3/bucket/k`. So paths are unique over all stores, as keys of caches and
//! in plans too.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::StreamExt;
use futures::stream::BoxStream;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetRange, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};

use super::{Location, Scheme, Storage};

/// Stands in for the empty authority of files and memory, which a path cannot hold.
const NO_AUTHORITY: &str = "-";

/// The path of a location in a [`RoutingStore`].
pub fn routed_path(location: &str) -> crate::Result<Path> {
    let location = Location::parse(location)?;
    let authority = if location.authority.is_empty() {
        NO_AUTHORITY
    } else {
        &location.authority
    };
    let routed = format!("{}/{authority}/{}", location.scheme.as_str(), location.path);
    Path::parse(&routed).map_err(|e| crate::Error::Location {
        location: routed.clone(),
        reason: e.to_string(),
    })
}

/// A read-only store whose paths name the store to read from; see [`routed_path`].
#[derive(Debug, Clone)]
pub struct RoutingStore {
    storage: Storage,
    needed_for: Option<Arc<str>>,
}

impl RoutingStore {
    /// A store over all stores of `storage`.
    pub fn new(storage: Storage) -> Self {
        Self {
            storage,
            needed_for: None,
        }
    }

    /// The same, whose errors about files that are gone say what they were needed for.
    #[must_use]
    pub fn needed_for(mut self, what: impl Into<Arc<str>>) -> Self {
        self.needed_for = Some(what.into());
        self
    }

    fn gone(&self, error: object_store::Error) -> object_store::Error {
        match (error, &self.needed_for) {
            (object_store::Error::NotFound { path, source }, Some(what)) => object_store::Error::NotFound {
                path,
                source: format!("the file is gone: {what} ({source})").into(),
            },
            (other, _) => other,
        }
    }

    fn route(&self, path: &Path) -> Result<(Arc<dyn ObjectStore>, Path)> {
        let unknown = || object_store::Error::NotFound {
            path: path.to_string(),
            source: "the path does not start with a scheme and a bucket".into(),
        };
        let mut parts = path.as_ref().splitn(3, '/');
        let (Some(scheme), Some(authority), Some(key)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(unknown());
        };
        let scheme = [
            Scheme::File,
            Scheme::Memory,
            Scheme::S3,
            Scheme::Gcs,
            Scheme::Azure,
        ]
        .into_iter()
        .find(|s| s.as_str() == scheme)
        .ok_or_else(unknown)?;
        let location = Location {
            scheme,
            authority: if authority == NO_AUTHORITY { "" } else { authority }.to_string(),
            path: Path::parse(key)?,
        };
        let store = self
            .storage
            .store(&location)
            .map_err(|e| object_store::Error::Generic {
                store: "Iceberg",
                source: Box::new(e),
            })?;
        Ok((store, location.path))
    }
}

impl fmt::Display for RoutingStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IcebergStore")
    }
}

/// Stores answer with what there is where a file ends before the range does; readers count on all of it.
fn too_short(location: &Path, asked: &Range<u64>, size: u64) -> object_store::Error {
    object_store::Error::Generic {
        store: "Iceberg",
        source: format!(
            "{location} ends at byte {size}, but its bytes {} to {} are needed: it is shorter than the table says",
            asked.start, asked.end
        )
        .into(),
    }
}

fn read_only(operation: &str) -> object_store::Error {
    object_store::Error::NotSupported {
        source: format!("{operation} through the store of a scan, which only reads").into(),
    }
}

#[async_trait]
impl ObjectStore for RoutingStore {
    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let (store, path) = self.route(location)?;
        let asked = match &options.range {
            Some(GetRange::Bounded(range)) if !options.head => Some(range.clone()),
            _ => None,
        };
        let answer = store.get_opts(&path, options).await.map_err(|e| self.gone(e))?;
        match asked {
            Some(asked) if answer.range != asked => Err(too_short(location, &asked, answer.meta.size)),
            _ => Ok(answer),
        }
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let (store, path) = self.route(location)?;
        let answer = store.get_ranges(&path, ranges).await.map_err(|e| self.gone(e))?;
        for (asked, bytes) in ranges.iter().zip(&answer) {
            let found = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
            if asked.end.checked_sub(asked.start) != Some(found) {
                return Err(too_short(location, asked, asked.start.saturating_add(found)));
            }
        }
        Ok(answer)
    }

    async fn put_opts(&self, _: &Path, _: PutPayload, _: PutOptions) -> Result<PutResult> {
        Err(read_only("put"))
    }

    async fn put_multipart_opts(&self, _: &Path, _: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        Err(read_only("put"))
    }

    fn delete_stream(&self, _: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        futures::stream::once(async { Err(read_only("delete")) }).boxed()
    }

    fn list(&self, _: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        futures::stream::once(async { Err(read_only("list")) }).boxed()
    }

    async fn list_with_delimiter(&self, _: Option<&Path>) -> Result<ListResult> {
        Err(read_only("list"))
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> Result<()> {
        Err(read_only("copy"))
    }
}
