//! Waiting for the store in synchronous code.

use std::sync::LazyLock;

use datafusion::common::{DataFusionError, Result, exec_err};
use tokio::runtime::Runtime;

/// Drives the connections of stores that are used here. It lives as long as the process, because stores keep their
/// connections for later requests, and a connection ends with its runtime.
static RUNTIME: LazyLock<std::io::Result<Runtime>> = LazyLock::new(|| {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("iceberg-catalog")
        .enable_all()
        .build()
});

/// Runs a future to its end on a thread of its own. DataFusion asks catalogs and table functions for answers in
/// functions that are not async but run on a runtime's threads, where blocking on the same runtime would be a
/// deadlock or a panic.
pub fn wait_for<T: Send>(future: impl Future<Output = Result<T>> + Send) -> Result<T> {
    let run = || match RUNTIME.as_ref() {
        Ok(runtime) => runtime.handle().block_on(future),
        Err(e) => exec_err!("no runtime to wait for the store: {e}"),
    };
    std::thread::scope(|scope| match scope.spawn(run).join() {
        Ok(result) => result,
        Err(_) => Err(DataFusionError::Execution("waiting for the store failed".into())),
    })
}
