//! A memory pool that says that it has next to no memory: keys of equality deletes are joined then, however few.

use std::fmt;

use datafusion::error::Result;
use datafusion::execution::memory_pool::{MemoryLimit, MemoryPool, MemoryReservation, UnboundedMemoryPool};

/// Says that it has one byte, and gives all that it is asked for.
#[derive(Debug, Default)]
pub struct ClaimedPool(UnboundedMemoryPool);

impl fmt::Display for ClaimedPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl MemoryPool for ClaimedPool {
    fn name(&self) -> &str {
        "claimed"
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        self.0.grow(reservation, additional);
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        self.0.shrink(reservation, shrink);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        self.0.try_grow(reservation, additional)
    }

    fn reserved(&self) -> usize {
        self.0.reserved()
    }

    fn memory_limit(&self) -> MemoryLimit {
        MemoryLimit::Finite(1)
    }
}
