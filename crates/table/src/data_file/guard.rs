//! Panics of readers as errors of the file.
//!
//! Damaged pages and stripes make the readers of Parquet and ORC panic in places too many and too deep to be checked
//! before. Nothing of a reader is used after it panicked.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};

use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt};

use crate::error::{Error, Result};

fn panicked(location: &str, panic: &(dyn Any + Send)) -> Error {
    let message = panic.downcast_ref::<&str>().copied();
    let message = message.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    Error::Unreadable {
        location: location.to_string(),
        reason: format!(
            "the file is damaged, its reader failed with: {}",
            message.unwrap_or("no message")
        ),
    }
}

/// The outcome of reading something of a file.
pub async fn future<T>(location: &str, work: impl Future<Output = Result<T>>) -> Result<T> {
    match AssertUnwindSafe(work).catch_unwind().await {
        Ok(result) => result,
        Err(panic) => Err(panicked(location, panic.as_ref())),
    }
}

/// A stream over a file, which ends after its first error. Starting it may decode already.
pub fn stream<T: Send + 'static>(
    location: &str,
    start: impl FnOnce() -> BoxStream<'static, Result<T>>,
) -> BoxStream<'static, Result<T>> {
    let of = location.to_string();
    let items = match catch_unwind(AssertUnwindSafe(start)) {
        Ok(items) => items,
        Err(panic) => {
            let error = panicked(location, panic.as_ref());
            return futures::stream::once(async move { Err(error) }).boxed();
        }
    };
    let items = AssertUnwindSafe(items)
        .catch_unwind()
        .map(move |item| item.unwrap_or_else(|panic| Err(panicked(&of, panic.as_ref()))));
    let mut failed = false;
    items
        .take_while(move |item| {
            let go_on = !failed;
            failed |= item.is_err();
            futures::future::ready(go_on)
        })
        .boxed()
}
