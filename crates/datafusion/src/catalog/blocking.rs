//! Waiting for the store in synchronous code.

use datafusion::common::{DataFusionError, Result};

/// Runs a future to its end on a thread of its own. DataFusion asks catalogs and table functions for answers in
/// functions that are not async but run on a runtime's threads, where blocking on the same runtime would be a
/// deadlock or a panic.
pub fn wait_for<T: Send>(future: impl Future<Output = Result<T>> + Send) -> Result<T> {
    let run = || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        runtime.block_on(future)
    };
    std::thread::scope(|scope| match scope.spawn(run).join() {
        Ok(result) => result,
        Err(_) => Err(DataFusionError::Execution("waiting for the store failed".into())),
    })
}
