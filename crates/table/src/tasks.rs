//! Work on other threads of the runtime.

use tokio::task::JoinHandle;

use crate::error::{Error, Result};

/// A task that ends when nobody waits for it any more.
pub(crate) struct AbortOnDrop<T>(pub JoinHandle<Result<T>>);

impl<T> AbortOnDrop<T> {
    /// Waits for the task.
    pub async fn joined(mut self) -> Result<T> {
        match (&mut self.0).await {
            Ok(result) => result,
            Err(e) => Err(Error::Stopped(e.to_string())),
        }
    }
}

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
