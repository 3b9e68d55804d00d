//! One statement, one snapshot a table, whenever another writer commits.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path as FilePath, PathBuf};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use datafusion::prelude::{SessionConfig, SessionContext};
use drumlin_catalog::ObjectStoreCatalog;
use drumlin_datafusion::{IcebergCatalogProvider, IcebergContextExt};
use drumlin_table::storage::Storage;
use futures::stream::BoxStream;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use tokio::sync::Barrier;

use crate::conformance;
use crate::session::{cells, extended, integers};

/// Rows of the table before and after the commit.
const BEFORE: i64 = 2;
const AFTER: i64 = 3;

/// Statements that name the table three times or more and answer each time how many rows they see.
const THREE_TIMES: [&str; 6] = [
    "SELECT (SELECT count(*) FROM t) AS a, (SELECT count(*) FROM s.t) AS b, (SELECT count(*) FROM c.s.t) AS c",
    "SELECT count(DISTINCT one.id), count(DISTINCT two.id), count(DISTINCT three.id) \
     FROM t AS one JOIN s.t AS two ON one.id <> two.id OR one.id = two.id CROSS JOIN c.s.t AS three",
    "WITH x AS (SELECT id FROM c.s.t), y AS (SELECT count(*) AS n FROM s.t) \
     SELECT count(*), (SELECT n FROM y) AS b, (SELECT count(v) FROM t AS z WHERE id IN (SELECT id FROM x)) AS c FROM x",
    "SELECT count(*) FROM t UNION ALL SELECT count(id) FROM s.t UNION ALL SELECT count(v) FROM c.s.t WHERE id > 0",
    "SELECT count(*), count(b.id), (SELECT count(*) FROM \"s\".\"t\" AS w) AS c \
     FROM (SELECT * FROM t ORDER BY id LIMIT 10) AS a LEFT JOIN c.s.t AS b ON a.id = b.id",
    "SELECT (SELECT count(*) FROM t) AS a, (SELECT count(*) FROM s.t VERSION AS OF 'main') AS b, \
     (SELECT count(*) FROM t.branch_main) AS c, (SELECT count(*) FROM c.s.t TIMESTAMP AS OF '2100-01-01 00:00:00') AS d",
];

/// A warehouse with the table `s.t`, whose next version another writer is about to commit.
struct Warehouse {
    folder: tempfile::TempDir,
    files: Arc<Interrupted>,
    storage: Storage,
}

impl Warehouse {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let metadata = folder.path().join("s/t/metadata");
        std::fs::create_dir_all(&metadata).unwrap();
        std::fs::copy(
            conformance::metadata_file("refs", 1),
            metadata.join("v1.metadata.json"),
        )
        .unwrap();
        std::fs::write(metadata.join("version-hint.text"), "1").unwrap();
        let files = Arc::new(Interrupted {
            files: LocalFileSystem::new(),
            metadata,
            state: Mutex::default(),
            barrier: None,
        });
        Self::over(folder, files)
    }

    fn over(folder: tempfile::TempDir, files: Arc<Interrupted>) -> Self {
        let storage = conformance::storage();
        let store: Arc<dyn ObjectStore> = Arc::clone(&files) as _;
        storage.register("file:///", store).unwrap();
        Self {
            folder,
            files,
            storage,
        }
    }

    /// The same with a writer that meets the reader at the barrier when the metadata has been read.
    fn with_barrier(self, barrier: Arc<Barrier>) -> Self {
        let files = Interrupted {
            files: LocalFileSystem::new(),
            metadata: self.files.metadata.clone(),
            state: Mutex::default(),
            barrier: Some(barrier),
        };
        Self::over(self.folder, Arc::new(files))
    }

    /// A session whose default is the schema `s` of the warehouse, which is the catalog `c`.
    fn session(&self) -> SessionContext {
        let config = SessionConfig::new()
            .with_target_partitions(2)
            .with_create_default_catalog_and_schema(false)
            .with_default_catalog_and_schema("c", "s");
        let ctx = extended(&self.storage, config);
        let warehouse = self.folder.path().to_str().unwrap();
        let catalog = ObjectStoreCatalog::new(self.storage.clone(), warehouse);
        ctx.register_catalog("c", Arc::new(IcebergCatalogProvider::new(Arc::new(catalog))));
        ctx
    }
}

/// Local files; before a request of the test's choice, another writer commits.
#[derive(Debug)]
struct Interrupted {
    files: LocalFileSystem,
    metadata: PathBuf,
    state: Mutex<State>,
    barrier: Option<Arc<Barrier>>,
}

#[derive(Debug, Default)]
struct State {
    requests: usize,
    /// The commit lands before the request of this number.
    commit_before: Option<usize>,
    /// How often each file was read.
    reads: BTreeMap<String, usize>,
}

impl Interrupted {
    /// The writer: first the metadata, then the hint.
    fn write_metadata(&self) {
        let file = self.metadata.join("v2.metadata.json");
        std::fs::copy(conformance::metadata_file("refs", 3), file).unwrap();
    }

    fn write_hint(&self) {
        std::fs::write(self.metadata.join("version-hint.text"), "2").unwrap();
    }

    fn commit(&self) {
        self.write_metadata();
        self.write_hint();
    }

    fn request(&self, location: Option<&Path>, read: bool) {
        let mut state = self.state.lock().unwrap();
        // The hint is written later than the metadata, as all writers do.
        if state.commit_before == Some(state.requests) {
            self.write_metadata();
        }
        if state.commit_before.is_some_and(|c| c + 1 == state.requests) {
            self.write_hint();
        }
        state.requests += 1;
        if let Some(file) = location.filter(|_| read) {
            *state.reads.entry(file.to_string()).or_default() += 1;
        }
    }

    /// Reads of metadata files and of hints since the last time, and all requests.
    fn counts(&self) -> (usize, usize, usize) {
        let state = std::mem::take(&mut *self.state.lock().unwrap());
        let ending = |end: &str| {
            let files = state.reads.iter().filter(|(f, _)| f.ends_with(end));
            files.map(|(_, reads)| reads).sum()
        };
        (
            ending(".metadata.json"),
            ending("/s/t/metadata/version-hint.text"),
            state.requests,
        )
    }
}

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Interrupted")
    }
}

#[async_trait]
impl ObjectStore for Interrupted {
    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.request(Some(location), !options.head);
        let answer = self.files.get_opts(location, options.clone()).await;
        let first = !options.head && location.as_ref().ends_with("v1.metadata.json");
        if let Some(barrier) = self.barrier.as_ref().filter(|_| first) {
            barrier.wait().await;
            // The writer commits.
            barrier.wait().await;
        }
        answer
    }

    async fn put_opts(&self, location: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        self.files.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.files.put_multipart_opts(location, options).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.files.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.request(prefix, false);
        self.files.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.request(prefix, false);
        self.files.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.files.copy_opts(from, to, options).await
    }
}

/// The one number that all cells of an answer are.
fn agreed(sql: &str, answer: &[Vec<i64>]) -> i64 {
    let mut numbers: Vec<i64> = answer.iter().flatten().copied().collect();
    assert!(numbers.len() >= 3, "{sql}: {answer:?}");
    numbers.dedup();
    assert_eq!(numbers.len(), 1, "{sql} saw two snapshots: {answer:?}");
    numbers[0]
}

#[tokio::test]
async fn a_commit_before_any_request_of_a_statement_is_seen_by_all_of_it_or_by_none() {
    for sql in THREE_TIMES {
        let mut seen = [0, 0];
        let mut requests = 1;
        let mut at = 0;
        while at < requests {
            let warehouse = Warehouse::new();
            let ctx = warehouse.session();
            warehouse.files.state.lock().unwrap().commit_before = Some(at);
            let count = agreed(sql, &integers(&ctx, sql).await);
            let (metadata, hints, all) = warehouse.files.counts();
            assert_eq!((metadata, hints), (1, 1), "{sql}, commit before request {at}");
            requests = all;
            match count {
                BEFORE => seen[0] += 1,
                AFTER => seen[1] += 1,
                other => panic!("{sql}: {other}"),
            }
            // A commit before the last requests may have left the hint behind, which is followed forward.
            warehouse.files.write_metadata();
            let next = agreed(sql, &integers(&ctx, sql).await);
            assert_eq!(
                next, AFTER,
                "{sql}: the next statement, commit before request {at}"
            );
            at += 1;
        }
        assert!(seen[0] > 0 && seen[1] > 0, "{sql}: {seen:?}");
    }
}

#[tokio::test]
async fn the_metadata_is_read_once_a_statement() {
    let warehouse = Warehouse::new();
    let ctx = warehouse.session();
    for sql in THREE_TIMES {
        integers(&ctx, sql).await;
        let (metadata, hints, _) = warehouse.files.counts();
        assert_eq!((metadata, hints), (1, 1), "{sql}");
        ctx.iceberg_sql(&format!("EXPLAIN {sql}"))
            .await
            .unwrap()
            .collect()
            .await
            .unwrap();
        assert_eq!(warehouse.files.counts().0, 1, "EXPLAIN {sql}");
    }
}

#[tokio::test]
async fn what_was_planned_before_a_commit_is_answered_from_before_it() {
    for sql in THREE_TIMES {
        let warehouse = Warehouse::new();
        let ctx = warehouse.session();
        let logical = ctx.iceberg_sql(sql).await.unwrap();
        let physical = ctx.iceberg_sql(sql).await.unwrap();
        let physical = physical.create_physical_plan().await.unwrap();
        warehouse.files.commit();
        let numbers = |batches: Vec<_>| -> Vec<Vec<i64>> {
            let rows = cells(&batches);
            rows.iter()
                .map(|r| r.iter().map(|c| c.parse().unwrap()).collect())
                .collect()
        };
        let answer = logical.collect().await.unwrap();
        assert_eq!(agreed(sql, &numbers(answer)), BEFORE, "{sql}: planned logically");
        let answer = datafusion::physical_plan::collect(physical, ctx.task_ctx())
            .await
            .unwrap();
        assert_eq!(agreed(sql, &numbers(answer)), BEFORE, "{sql}: planned physically");
        assert_eq!(agreed(sql, &integers(&ctx, sql).await), AFTER, "{sql}: anew");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_writer_that_commits_while_the_reader_waits_is_not_seen() {
    for sql in THREE_TIMES {
        let barrier = Arc::new(Barrier::new(2));
        let warehouse = Warehouse::new().with_barrier(Arc::clone(&barrier));
        let ctx = warehouse.session();
        let files = Arc::clone(&warehouse.files);
        let writer = tokio::spawn(async move {
            barrier.wait().await;
            files.commit();
            barrier.wait().await;
        });
        assert_eq!(agreed(sql, &integers(&ctx, sql).await), BEFORE, "{sql}");
        writer.await.unwrap();
        assert_eq!(
            agreed(sql, &integers(&ctx, sql).await),
            AFTER,
            "{sql}: the next one"
        );
    }
}

#[tokio::test]
async fn two_tables_are_two_snapshots_and_each_is_read_once() {
    let warehouse = Warehouse::new();
    let other = warehouse.folder.path().join("s/u/metadata");
    std::fs::create_dir_all(&other).unwrap();
    copy_as(&other, 1);
    let ctx = warehouse.session();
    let sql = "SELECT (SELECT count(*) FROM t) AS a, (SELECT count(*) FROM u) AS b, (SELECT count(*) FROM s.u) AS c";
    assert_eq!(integers(&ctx, sql).await, [[2, 2, 2]]);
    assert_eq!(warehouse.files.counts().0, 2);
    copy_as(&other, 2);
    assert_eq!(integers(&ctx, sql).await, [[2, 3, 3]]);
}

fn copy_as(metadata: &FilePath, version: u32) {
    let number = if version == 1 { 1 } else { 3 };
    let file = metadata.join(format!("v{version}.metadata.json"));
    std::fs::copy(conformance::metadata_file("refs", number), file).unwrap();
}
