//! Files of a writer that are complete, until they are given out.

use std::future::Future;

use drumlin_format::manifest::DataFile;
use tokio::task::JoinHandle;

use crate::error::{Error, Result};
use crate::storage::Storage;

/// Complete files. Those that are left when this is dropped are removed.
#[derive(Debug)]
pub struct CompleteFiles {
    storage: Storage,
    files: Vec<DataFile>,
    /// Files on their last steps.
    closing: Option<JoinHandle<Result<Vec<DataFile>>>>,
}

impl CompleteFiles {
    /// None yet.
    pub fn new(storage: &Storage) -> Self {
        Self {
            storage: storage.clone(),
            files: Vec::new(),
            closing: None,
        }
    }

    /// Waits for the last steps of files, which remove them if they fail.
    pub async fn add(
        &mut self,
        steps: impl Future<Output = Result<Vec<DataFile>>> + Send + 'static,
    ) -> Result<()> {
        // A task of its own: if nobody waits for this one any more the files may be complete all the same, and must be
        // known to be removed.
        let closed = self.closing.insert(tokio::spawn(steps)).await;
        self.closing = None;
        let closed = closed.map_err(|e| Error::Stopped(e.to_string()))??;
        self.files.extend(closed);
        Ok(())
    }

    /// Gives the files out.
    pub fn take(&mut self) -> Vec<DataFile> {
        std::mem::take(&mut self.files)
    }

    /// Removes the files, as far as the store lets us.
    pub async fn remove(&mut self) {
        let (files, closing) = (self.take(), self.closing.take());
        remove(&self.storage, files, closing).await;
    }
}

impl Drop for CompleteFiles {
    fn drop(&mut self) {
        if self.files.is_empty() && self.closing.is_none() {
            return;
        }
        let (storage, files, closing) = (self.storage.clone(), self.take(), self.closing.take());
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { remove(&storage, files, closing).await });
        }
    }
}

async fn remove(
    storage: &Storage,
    mut files: Vec<DataFile>,
    closing: Option<JoinHandle<Result<Vec<DataFile>>>>,
) {
    if let Some(closing) = closing
        && let Ok(Ok(closed)) = closing.await
    {
        files.extend(closed);
    }
    // Deletion vectors share their file.
    files.dedup_by(|a, b| a.file_path == b.file_path);
    for file in files {
        let _ = storage.delete(&file.file_path).await;
    }
}
