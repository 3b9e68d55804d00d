//! Random files of a table with one partition field of each type.

use std::collections::BTreeMap;

use proptest::collection::{btree_map, vec};
use proptest::option::of;
use proptest::prelude::*;

use crate::avro::Codec;
use crate::manifest::*;
use crate::partition::{PartitionField, PartitionSpec, PartitionTuple};
use crate::schema::Schema;
use crate::transform::Transform;
use crate::types::NestedField;
use crate::value::Value;

const TYPES: [&str; 18] = [
    "boolean",
    "int",
    "long",
    "float",
    "double",
    "decimal(9, 2)",
    "decimal(38, 10)",
    "date",
    "time",
    "timestamp",
    "timestamptz",
    "timestamp_ns",
    "timestamptz_ns",
    "string",
    "uuid",
    "fixed[5]",
    "binary",
    "decimal(9, 2)",
];

pub(super) fn schema() -> Schema {
    let field = |(i, of): (usize, &&str)| {
        let of: crate::types::PrimitiveType = of.parse().unwrap();
        NestedField::optional(i as i32 + 1, format!("c{i}"), of)
    };
    Schema::new(0, TYPES.iter().enumerate().map(field).collect(), vec![]).unwrap()
}

/// Identity on each column, with names that Avro does not allow.
pub(super) fn spec() -> PartitionSpec {
    let field = |i: i32| PartitionField {
        source_ids: vec![i + 1],
        field_id: 1000 + i,
        name: format!("{i} é-{i}"),
        transform: Transform::Identity,
    };
    PartitionSpec::new(3, (0..TYPES.len() as i32).map(field).collect())
}

fn value(of: &str) -> BoxedStrategy<Value> {
    match of {
        "boolean" => any::<bool>().prop_map(Value::Boolean).boxed(),
        "int" | "date" => any::<i32>().prop_map(Value::Int).boxed(),
        "float" => any::<f32>().prop_map(Value::Float).boxed(),
        "double" => any::<f64>().prop_map(Value::Double).boxed(),
        "decimal(9, 2)" => (-999_999_999i128..=999_999_999).prop_map(Value::Decimal).boxed(),
        "decimal(38, 10)" => (1 - 10i128.pow(38)..10i128.pow(38))
            .prop_map(Value::Decimal)
            .boxed(),
        "string" => any::<String>().prop_map(Value::String).boxed(),
        "uuid" => vec(any::<u8>(), 16).prop_map(Value::Bytes).boxed(),
        "fixed[5]" => vec(any::<u8>(), 5).prop_map(Value::Bytes).boxed(),
        "binary" => vec(any::<u8>(), 0..20).prop_map(Value::Bytes).boxed(),
        _ => any::<i64>().prop_map(Value::Long).boxed(),
    }
}

fn tuple() -> impl Strategy<Value = PartitionTuple> {
    TYPES.iter().map(|t| of(value(t))).collect::<Vec<_>>()
}

fn metrics() -> impl Strategy<Value = ColumnMetricsBuilder> {
    let counts = || of(btree_map(any::<i32>(), any::<i64>(), 0..6));
    let bounds = || of(btree_map(any::<i32>(), vec(any::<u8>(), 0..20), 0..6));
    (counts(), counts(), counts(), counts(), bounds(), bounds()).prop_map(|(a, b, c, d, e, f)| {
        ColumnMetricsBuilder {
            column_sizes: a,
            value_counts: b,
            null_value_counts: c,
            nan_value_counts: d,
            lower_bounds: e,
            upper_bounds: f,
        }
    })
}

prop_compose! {
    /// A file that the format version allows in manifests of this content.
    pub(super) fn file(version: u8, content: ManifestContent)(
        path in ".{0,30}",
        format in 0usize..3,
        partition in tuple(),
        record_count in 0i64..1_000_000,
        metrics in metrics(),
        splits in of(btree_map(0i64..1000, Just(()), 0..4)),
        sort_order_id in of(0i32..10),
        first_row_id in of(0i64..1_000_000),
        referenced in of("[a-z]{1,9}"),
        equality: bool,
    ) -> DataFile {
        let deletes = content == ManifestContent::Deletes;
        let vector = version == 3 && deletes && !equality;
        DataFile {
            content: match (deletes, equality) {
                (false, _) => DataContent::Data,
                (true, false) => DataContent::PositionDeletes,
                (true, true) => DataContent::EqualityDeletes,
            },
            file_path: path.into(),
            file_format: match (vector, format) {
                (true, _) => FileFormat::Puffin,
                (_, 0) => FileFormat::Parquet,
                (_, 1) => FileFormat::Orc,
                _ => FileFormat::Avro,
            },
            spec_id: 3,
            partition,
            record_count,
            file_size_in_bytes: 1000,
            column_metrics: metrics.build(),
            key_metadata: None,
            split_offsets: splits.map(|s| s.into_keys().collect()),
            equality_ids: (deletes && equality).then(|| vec![1, 70000]),
            sort_order_id,
            first_row_id: first_row_id.filter(|_| version == 3 && !deletes),
            referenced_data_file: referenced
                .filter(|_| version > 1)
                .or_else(|| vector.then(|| "d".into()))
                .map(Into::into),
            content_offset: vector.then_some(4),
            content_size_in_bytes: vector.then_some(40),
        }
    }
}

/// How an entry gets into its manifest.
#[derive(Debug, Clone)]
pub(super) enum How {
    Add,
    AddOld(i64),
    Existing(i64, i64, i64),
    Delete(i64, i64),
}

fn how(version: u8) -> impl Strategy<Value = How> {
    let numbers = move || {
        let number = if version == 1 { 0..1 } else { 0i64..100 };
        (any::<i64>(), number.clone(), number)
    };
    prop_oneof![
        Just(How::Add),
        if version == 1 { 0i64..1 } else { 0..100 }.prop_map(How::AddOld),
        numbers().prop_map(|(a, b, c)| How::Existing(a, b, c)),
        numbers().prop_map(|(_, b, c)| How::Delete(b, c)),
    ]
}

#[derive(Debug, Clone)]
pub(super) struct Written {
    pub version: u8,
    pub content: ManifestContent,
    pub codec: Codec,
    pub files: Vec<(How, DataFile)>,
}

pub(super) fn written() -> impl Strategy<Value = Written> {
    let codec = prop_oneof![
        Just(Codec::Null),
        Just(Codec::Deflate),
        Just(Codec::Snappy),
        Just(Codec::Zstandard)
    ];
    (1u8..=3, any::<bool>(), codec).prop_flat_map(|(version, deletes, codec)| {
        let content = match deletes && version > 1 {
            true => ManifestContent::Deletes,
            false => ManifestContent::Data,
        };
        vec((how(version), file(version, content)), 0..5).prop_map(move |files| Written {
            version,
            content,
            codec,
            files,
        })
    })
}

pub(super) fn plain_file(path: &str, record_count: i64) -> DataFile {
    let bound = |id: i32| BTreeMap::from([(id, 7i64.to_le_bytes().to_vec())]);
    DataFile {
        content: DataContent::Data,
        file_path: path.into(),
        file_format: FileFormat::Parquet,
        spec_id: 0,
        partition: vec![],
        record_count,
        file_size_in_bytes: 100,
        column_metrics: ColumnMetricsBuilder {
            value_counts: Some([(1, record_count)].into()),
            lower_bounds: Some(bound(1)),
            upper_bounds: Some(bound(1)),
            ..Default::default()
        }
        .build(),
        key_metadata: None,
        split_offsets: Some(vec![4]),
        equality_ids: None,
        sort_order_id: None,
        first_row_id: None,
        referenced_data_file: None,
        content_offset: None,
        content_size_in_bytes: None,
    }
}
