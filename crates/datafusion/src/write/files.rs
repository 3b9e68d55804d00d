//! The files that a statement has written, and who removes them.

use std::sync::{Arc, Mutex, PoisonError};

use drumlin_format::manifest::DataFile;
use drumlin_table::storage::Storage;
use futures::StreamExt;
use tokio::runtime::Handle;

/// Files that are removed at once.
const CONCURRENT_REMOVALS: usize = 16;

/// The finished files of a statement, until its commit begins. Writers report them; if the statement fails or is cancelled
/// they are removed, and so is what a writer reports after that.
#[derive(Debug)]
pub(super) struct WrittenFiles {
    storage: Storage,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    paths: Vec<Arc<str>>,
    /// The statement has failed: nothing will be committed.
    given_up: bool,
}

impl WrittenFiles {
    pub(super) fn new(storage: Storage) -> Self {
        Self {
            storage,
            state: Mutex::default(),
        }
    }

    /// Reports finished files; false if the statement has failed, and they are to be removed by the caller.
    pub(super) fn report(&self, files: &[DataFile]) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !state.given_up {
            state
                .paths
                .extend(files.iter().map(|file| Arc::clone(&file.file_path)));
        }
        !state.given_up
    }

    fn give_up(&self) -> Vec<Arc<str>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.given_up = true;
        std::mem::take(&mut state.paths)
    }

    /// The commit begins: from here on the files are its own.
    fn hand_over(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.paths.clear();
    }

    /// Removes files as far as the store lets us.
    pub(super) async fn remove(&self, paths: Vec<Arc<str>>) {
        futures::stream::iter(paths)
            .for_each_concurrent(CONCURRENT_REMOVALS, |path| async move {
                // One that stays is an orphan, which maintenance finds; the statement has its own error to tell.
                let _ = self.storage.delete(&path).await;
            })
            .await;
    }
}

/// Removes the files if it is dropped before the commit begins.
#[derive(Debug)]
pub(super) struct UnlessCommitted {
    files: Option<Arc<WrittenFiles>>,
}

impl UnlessCommitted {
    pub(super) fn new(files: Arc<WrittenFiles>) -> Self {
        Self { files: Some(files) }
    }

    /// The commit begins.
    pub(super) fn commit_begins(mut self) {
        if let Some(files) = self.files.take() {
            files.hand_over();
        }
    }

    /// The statement has failed. The files are removed even if nobody waits for it.
    pub(super) async fn remove(mut self) {
        if let Some(files) = self.files.take() {
            let paths = files.give_up();
            let _ = tokio::spawn(async move { files.remove(paths).await }).await;
        }
    }
}

impl Drop for UnlessCommitted {
    fn drop(&mut self) {
        let Some(files) = self.files.take() else {
            return;
        };
        let paths = files.give_up();
        if !paths.is_empty()
            && let Ok(runtime) = Handle::try_current()
        {
            runtime.spawn(async move { files.remove(paths).await });
        }
    }
}
