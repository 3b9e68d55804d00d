//! The schema of files, and rows of every type there and back.

use drumlin_format::schema::Schema;
use drumlin_format::types::{EdgeAlgorithm, ListType, MapType, NestedField, PrimitiveType as P, StructType};
use parquet::schema::printer::print_schema;
use proptest::prelude::*;

use super::rows::{Random, batch, rows_of, text};
use super::{Arrangement, footer, read, table, write};

/// Columns of every type, at the top, in structs, lists and maps.
pub fn schema() -> Schema {
    let decimal = |precision, scale| P::Decimal { precision, scale };
    let inner = StructType::new(vec![
        NestedField::optional(31, "f", P::Float),
        NestedField::required(32, "n", P::Long),
        NestedField::optional(33, "s", P::String),
        NestedField::optional(34, "nothing", P::Unknown),
    ]);
    let element = StructType::new(vec![
        NestedField::required(42, "d", P::Double),
        NestedField::optional(43, "u", P::Uuid),
    ]);
    let fields = vec![
        NestedField::optional(1, "boolean", P::Boolean),
        NestedField::optional(2, "int", P::Int),
        NestedField::required(3, "long", P::Long),
        NestedField::optional(4, "float", P::Float),
        NestedField::optional(5, "double", P::Double),
        NestedField::optional(6, "dec1", decimal(1, 0)),
        NestedField::optional(7, "dec9", decimal(9, 2)),
        NestedField::optional(8, "dec10", decimal(10, 2)),
        NestedField::optional(9, "dec18", decimal(18, 18)),
        NestedField::optional(10, "dec19", decimal(19, 2)),
        NestedField::optional(11, "dec38", decimal(38, 10)),
        NestedField::optional(12, "date", P::Date),
        NestedField::optional(13, "time", P::Time),
        NestedField::optional(14, "ts", P::Timestamp),
        NestedField::optional(15, "tstz", P::Timestamptz),
        NestedField::optional(16, "ns", P::TimestampNs),
        NestedField::optional(17, "nstz", P::TimestamptzNs),
        NestedField::required(18, "string", P::String),
        NestedField::optional(19, "uuid", P::Uuid),
        NestedField::optional(20, "fixed", P::Fixed(5)),
        NestedField::optional(21, "binary", P::Binary),
        NestedField::optional(22, "unknown", P::Unknown),
        NestedField::optional(23, "variant", P::Variant),
        NestedField::optional(24, "geometry", P::Geometry { crs: None }),
        NestedField::optional(
            25,
            "geography",
            P::Geography {
                crs: Some("srid:4326".into()),
                algorithm: Some(EdgeAlgorithm::Karney),
            },
        ),
        NestedField::optional(30, "struct", inner),
        NestedField::optional(40, "list", ListType::new(41, element, false)),
        NestedField::required(
            50,
            "lists",
            ListType::new(51, ListType::new(52, P::Float, true), true),
        ),
        NestedField::optional(60, "map", MapType::new(61, P::String, 62, decimal(20, 1), false)),
    ];
    Schema::new(0, fields, vec![]).unwrap()
}

#[tokio::test]
async fn files_have_the_types_and_ids_of_the_specification() {
    // A new table gives ids of its own, level by level: 1 to 29 for the columns, then what is inside.
    let table = table(schema().fields().to_vec()).build();
    let schema = table.metadata().current_schema();
    let rows = Random(1).rows(schema, 3, 10);
    let files = write(&table, Arrangement::Clustered, &[batch(schema, &rows)])
        .await
        .unwrap();
    let footer = footer(&table, &files[0]).await;
    let mut printed = Vec::new();
    print_schema(&mut printed, footer.file_metadata().schema());
    let expected = "message table {
  OPTIONAL BOOLEAN boolean [1];
  OPTIONAL INT32 int [2];
  REQUIRED INT64 long [3];
  OPTIONAL FLOAT float [4];
  OPTIONAL DOUBLE double [5];
  OPTIONAL INT32 dec1 [6] (DECIMAL(1,0));
  OPTIONAL INT32 dec9 [7] (DECIMAL(9,2));
  OPTIONAL INT64 dec10 [8] (DECIMAL(10,2));
  OPTIONAL INT64 dec18 [9] (DECIMAL(18,18));
  OPTIONAL FIXED_LEN_BYTE_ARRAY (9) dec19 [10] (DECIMAL(19,2));
  OPTIONAL FIXED_LEN_BYTE_ARRAY (16) dec38 [11] (DECIMAL(38,10));
  OPTIONAL INT32 date [12] (DATE);
  OPTIONAL INT64 time [13] (TIME(MICROS,false));
  OPTIONAL INT64 ts [14] (TIMESTAMP(MICROS,false));
  OPTIONAL INT64 tstz [15] (TIMESTAMP(MICROS,true));
  OPTIONAL INT64 ns [16] (TIMESTAMP(NANOS,false));
  OPTIONAL INT64 nstz [17] (TIMESTAMP(NANOS,true));
  REQUIRED BYTE_ARRAY string [18] (STRING);
  OPTIONAL FIXED_LEN_BYTE_ARRAY (16) uuid [19] (UUID);
  OPTIONAL FIXED_LEN_BYTE_ARRAY (5) fixed [20];
  OPTIONAL BYTE_ARRAY binary [21];
  OPTIONAL group variant [23] (VARIANT(Some(1))) {
    REQUIRED BYTE_ARRAY metadata;
    REQUIRED BYTE_ARRAY value;
  }
  OPTIONAL BYTE_ARRAY geometry [24] (GEOMETRY);
  OPTIONAL BYTE_ARRAY geography [25] (GEOGRAPHY(KARNEY, srid:4326));
  OPTIONAL group struct [26] {
    OPTIONAL FLOAT f [30];
    REQUIRED INT64 n [31];
    OPTIONAL BYTE_ARRAY s [32] (STRING);
  }
  OPTIONAL group list [27] (LIST) {
    REPEATED group list {
      OPTIONAL group element [34] {
        REQUIRED DOUBLE d [35];
        OPTIONAL FIXED_LEN_BYTE_ARRAY (16) u [36] (UUID);
      }
    }
  }
  REQUIRED group lists [28] (LIST) {
    REPEATED group list {
      REQUIRED group element [37] (LIST) {
        REPEATED group list {
          REQUIRED FLOAT element [38];
        }
      }
    }
  }
  OPTIONAL group map [29] (MAP) {
    REPEATED group key_value {
      REQUIRED BYTE_ARRAY key [39] (STRING);
      OPTIONAL FIXED_LEN_BYTE_ARRAY (9) value [40] (DECIMAL(20,1));
    }
  }
}
";
    assert_eq!(String::from_utf8(printed).unwrap(), expected);
    // No other schema stands beside it.
    assert!(footer.file_metadata().key_value_metadata().is_none());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn rows_of_every_type_come_back(seed in any::<u64>(), rows in 1_usize..300, nulls in prop_oneof![Just(0), Just(15), Just(100)]) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let table = table(schema().fields().to_vec()).build();
            let schema = table.metadata().current_schema();
            let rows = Random(seed).rows(schema, rows, nulls);
            let batches: Vec<_> = rows.chunks(77).map(|rows| batch(schema, rows)).collect();
            let files = write(&table, Arrangement::FanOut, &batches).await.unwrap();
            assert_eq!(files.len(), 1);
            let back = rows_of(schema, &read(&table, &files[0]).await);
            assert_eq!(text(&back), text(&rows));
            assert_eq!(files[0].record_count, i64::try_from(rows.len()).unwrap());
        });
    }
}
