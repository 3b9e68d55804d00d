//! What comes out of the Parquet reader for a data file: errors that name it, and no deleted rows.
//!
//! Damaged pages make the Parquet reader panic in places, too many and too deep to be checked before. What it panics
//! with becomes an error of the file.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::common::{DataFusionError, Result};
use datafusion_datasource::morsel::{Morsel, MorselPlan, MorselPlanner};
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt};

use super::row_filter::RowFilter;
use crate::projection::adapter::FileColumns;

/// A part of reading a file, whose errors name the file.
#[derive(Debug)]
pub struct Named<T: ?Sized> {
    part: Box<T>,
    file: Arc<FileColumns>,
    rows: Option<Arc<RowFilter>>,
}

impl Named<dyn MorselPlanner> {
    /// The planner of a file, and all that comes of it, less what `rows` leaves out.
    pub fn planner(
        part: Box<dyn MorselPlanner>,
        file: Arc<FileColumns>,
        rows: Option<Arc<RowFilter>>,
    ) -> Box<dyn MorselPlanner> {
        Box::new(Self { part, file, rows })
    }
}

/// The error with the file it is about.
pub fn in_file(error: DataFusionError, file: &FileColumns) -> DataFusionError {
    error.context(format!("data file `{}`", file.path))
}

/// The error for a panic. Nothing of the reader is used after it.
fn panicked(panic: Box<dyn Any + Send>) -> DataFusionError {
    let message = panic.downcast_ref::<&str>().copied();
    let message = message.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    DataFusionError::Execution(format!(
        "the file is damaged, its reader failed with: {}",
        message.unwrap_or("no message")
    ))
}

impl MorselPlanner for Named<dyn MorselPlanner> {
    fn plan(self: Box<Self>) -> Result<Option<MorselPlan>> {
        let Self { part, file, rows } = *self;
        let plan = catch_unwind(AssertUnwindSafe(|| part.plan()));
        let plan = plan.unwrap_or_else(|panic| Err(panicked(panic)));
        let Some(mut plan) = plan.map_err(|e| in_file(e, &file))? else {
            return Ok(None);
        };
        let morsels = plan.take_morsels().into_iter();
        let morsel = |part| -> Box<dyn Morsel> {
            let (file, rows) = (Arc::clone(&file), rows.clone());
            Box::new(Named { part, file, rows })
        };
        let planner = |part| Self::planner(part, Arc::clone(&file), rows.clone());
        let planners = plan.take_ready_planners().into_iter();
        let mut named = MorselPlan::new()
            .with_morsels(morsels.map(morsel).collect())
            .with_planners(planners.map(planner).collect());
        if let Some(pending) = plan.take_pending_planner() {
            named.set_pending_planner(async move {
                let planned = AssertUnwindSafe(pending).catch_unwind().await;
                match planned.unwrap_or_else(|panic| Err(panicked(panic))) {
                    Ok(planner) => Ok(Self::planner(planner, file, rows)),
                    Err(error) => Err(in_file(error, &file)),
                }
            });
        }
        Ok(Some(named))
    }
}

impl Morsel for Named<dyn Morsel> {
    fn into_stream(self: Box<Self>) -> BoxStream<'static, Result<RecordBatch>> {
        let Self { part, file, rows } = *self;
        // Starting may decode already.
        match catch_unwind(AssertUnwindSafe(|| part.into_stream())) {
            Ok(batches) => AssertUnwindSafe(batches)
                .catch_unwind()
                .map(move |batch| {
                    let batch = batch.unwrap_or_else(|panic| Err(panicked(panic)));
                    let left = batch.and_then(|batch| match &rows {
                        Some(rows) => rows.apply(batch),
                        None => Ok(batch),
                    });
                    left.map_err(|e| in_file(e, &file))
                })
                .boxed(),
            Err(panic) => futures::stream::once(async move { Err(in_file(panicked(panic), &file)) }).boxed(),
        }
    }
}
