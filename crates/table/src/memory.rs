//! Where memory is accounted: the engine's pool, seen from below.

use crate::error::Result;

/// Where the memory of loaded deletes and of open data files is accounted.
pub trait MemoryAccount: Send + Sync {
    /// Takes so many more bytes.
    ///
    /// # Errors
    /// There is no more memory to be had ([`crate::Error::NoMemory`]).
    fn grow(&self, bytes: usize) -> Result<()>;

    /// Gives back so many of the bytes that were taken.
    fn shrink(&self, bytes: usize);
}

/// Memory without a limit, which nobody counts.
#[derive(Debug, Clone, Copy, Default)]
pub struct UnlimitedMemory;

impl MemoryAccount for UnlimitedMemory {
    fn grow(&self, _: usize) -> Result<()> {
        Ok(())
    }

    fn shrink(&self, _: usize) {}
}
