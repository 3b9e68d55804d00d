//! Work on several threads.

use std::sync::{Mutex, PoisonError};

use crate::Result;

/// Does all jobs on so many threads and returns what they gave, in their order; the first failure ends it.
pub fn on_threads<J: Send, T: Send>(
    threads: usize,
    jobs: Vec<J>,
    job: impl Fn(J) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let jobs = Mutex::new(jobs.into_iter().enumerate());
    let done = Mutex::new(Vec::new());
    let work = || -> Result<()> {
        loop {
            let next = jobs.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((place, next)) = next else { return Ok(()) };
            let result = job(next)?;
            let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
            done.push((place, result));
        }
    };
    std::thread::scope(|scope| {
        let handles: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(work)).collect();
        handles.into_iter().try_for_each(|h| {
            h.join()
                .map_err(|_| "a thread that wrote files stopped".to_string())?
        })
    })?;
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(place, _)| *place);
    Ok(done.into_iter().map(|(_, result)| result).collect())
}
