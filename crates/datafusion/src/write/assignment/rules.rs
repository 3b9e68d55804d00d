//! Which types may be stored in which.

use datafusion::arrow::datatypes::{DataType, Field};
use drumlin_table::arrow::{EXTENSION_NAME_KEY, UUID_EXTENSION};

/// Whether a column is one of UUIDs, of which text is a form.
pub(super) fn is_uuid(column: &Field) -> bool {
    column
        .metadata()
        .get(EXTENSION_NAME_KEY)
        .is_some_and(|name| name == UUID_EXTENSION)
}

/// Whether values of a type may be stored in a column, as far as the type tells.
pub(super) fn may_be_stored(from: &DataType, column: &Field) -> bool {
    use DataType as T;
    match (from, column.data_type()) {
        (T::Null, _) => true,
        (from, to) if from == to => true,
        (T::Dictionary(_, values), _) => may_be_stored(values, column),
        (T::RunEndEncoded(_, values), _) => may_be_stored(values.data_type(), column),
        (T::Struct(from), T::Struct(to)) => {
            let by_name = to.iter().all(|field| from.find(field.name()).is_some());
            from.len() == to.len()
                && to.iter().enumerate().all(|(i, field)| {
                    let source = match by_name {
                        true => from.find(field.name()).map(|(_, source)| source),
                        false => from.get(i),
                    };
                    source.is_some_and(|source| may_be_stored(source.data_type(), field))
                })
        }
        (
            T::List(from)
            | T::LargeList(from)
            | T::ListView(from)
            | T::LargeListView(from)
            | T::FixedSizeList(from, _),
            T::List(to),
        ) => may_be_stored(from.data_type(), to),
        (T::Map(from, _), T::Map(to, _)) => match (from.data_type(), to.data_type()) {
            (T::Struct(from), T::Struct(to)) if from.len() == to.len() => from
                .iter()
                .zip(to)
                .all(|(from, to)| may_be_stored(from.data_type(), to)),
            _ => false,
        },
        (from, T::Boolean) => *from == T::Boolean,
        (from, to) if to.is_numeric() => from.is_numeric() && *from != T::Float16,
        (T::Utf8 | T::LargeUtf8 | T::Utf8View, T::Utf8 | T::Utf8View) => true,
        (from, T::Utf8 | T::Utf8View) => {
            from.is_numeric() || from.is_temporal() && !is_duration(from) || *from == T::Boolean
        }
        (T::Utf8 | T::LargeUtf8 | T::Utf8View, T::FixedSizeBinary(16)) => is_uuid(column),
        (T::Binary | T::LargeBinary | T::BinaryView, T::FixedSizeBinary(_)) => true,
        (T::Binary | T::LargeBinary | T::BinaryView | T::FixedSizeBinary(_), T::Binary | T::BinaryView) => {
            true
        }
        (T::Date32 | T::Date64 | T::Timestamp(..), T::Date32 | T::Timestamp(..)) => true,
        (T::Time32(_) | T::Time64(_), T::Time64(_)) => true,
        _ => false,
    }
}

fn is_duration(of: &DataType) -> bool {
    matches!(of, DataType::Duration(_) | DataType::Interval(_))
}
