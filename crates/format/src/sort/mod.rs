//! Sort orders (§ Sorting).

mod json;

#[cfg(test)]
mod tests;

use std::fmt;

use crate::transform::Transform;

/// The id of the order without fields (§ Sorting: "Order id 0 is reserved for the unsorted order").
pub const UNSORTED_ORDER_ID: i32 = 0;

/// How the rows of a data file are, or should be, sorted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SortOrder {
    /// The id of the order in its table; 0 is the unsorted order.
    pub order_id: i32,
    /// What to sort by, first the field that decides first; empty for the unsorted order.
    pub fields: Vec<SortField>,
}

/// One field of a sort order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SortField {
    /// Ids of the source columns; one, but for the multi-argument transforms of version 3.
    pub source_ids: Vec<i32>,
    /// How the sorted value is made from the source.
    pub transform: Transform,
    /// Which values come first.
    pub direction: SortDirection,
    /// Where nulls stand.
    pub null_order: NullOrder,
}

/// Which values come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SortDirection {
    /// The lowest.
    Ascending,
    /// The highest.
    Descending,
}

/// Where nulls stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NullOrder {
    /// Before all values.
    First,
    /// After all values.
    Last,
}

impl SortOrder {
    /// The order 0, without fields.
    pub fn unsorted() -> Self {
        Self {
            order_id: UNSORTED_ORDER_ID,
            fields: Vec::new(),
        }
    }

    /// Whether the order asks for nothing.
    pub fn is_unsorted(&self) -> bool {
        self.fields.is_empty()
    }

    /// The first source column that the schema does not have.
    pub fn missing_source(&self, has_column: impl Fn(i32) -> bool) -> Option<i32> {
        let ids = self.fields.iter().flat_map(|f| &f.source_ids);
        ids.copied().find(|id| !has_column(*id))
    }
}

impl fmt::Display for SortDirection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ascending => "asc",
            Self::Descending => "desc",
        })
    }
}

impl fmt::Display for NullOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::First => "nulls-first",
            Self::Last => "nulls-last",
        })
    }
}
