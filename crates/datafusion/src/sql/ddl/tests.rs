#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::tokenizer::Tokenizer;
use drumlin_format::schema::Schema;
use drumlin_format::types::{NestedField, PrimitiveType};

use super::tokens::Tokens;
use super::types::TypeReader;
use super::{columns, terms};

fn tokens(text: &str) -> Tokens {
    let tokens = Tokenizer::new(&GenericDialect {}, text)
        .tokenize_with_location()
        .unwrap();
    Tokens::new(&tokens, true)
}

fn read(text: &str) -> String {
    let mut tokens = tokens(text);
    match TypeReader::default().read(&mut tokens) {
        Ok(of) if tokens.is_done() => of.to_string(),
        Ok(of) => panic!("{text}: {of}, and something is left"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn types_have_the_names_of_iceberg_spark_and_datafusion() {
    for (written, of) in [
        ("boolean", "boolean"),
        ("BOOL", "boolean"),
        ("int", "int"),
        ("INTEGER", "int"),
        ("smallint", "int"),
        ("tinyint", "int"),
        ("bigint", "long"),
        ("long", "long"),
        ("float", "float"),
        ("real", "float"),
        ("double precision", "double"),
        ("double", "double"),
        ("decimal(9,2)", "decimal(9, 2)"),
        ("numeric(5)", "decimal(5, 0)"),
        ("date", "date"),
        ("time", "time"),
        ("time(6) without time zone", "time"),
        ("timestamp", "timestamp"),
        ("timestamp(6)", "timestamp"),
        ("timestamp without time zone", "timestamp"),
        ("timestamp with time zone", "timestamptz"),
        ("timestamp with local time zone", "timestamptz"),
        ("timestamptz", "timestamptz"),
        ("timestamp_ltz", "timestamptz"),
        ("timestamp_ntz", "timestamp"),
        ("timestamp(9)", "timestamp_ns"),
        ("timestamp(9) with time zone", "timestamptz_ns"),
        ("timestamptz(9)", "timestamptz_ns"),
        ("timestamp_ns", "timestamp_ns"),
        ("timestamptz_ns", "timestamptz_ns"),
        ("string", "string"),
        ("text", "string"),
        ("varchar(20)", "string"),
        ("character varying(3)", "string"),
        ("char(1)", "string"),
        ("uuid", "uuid"),
        ("binary", "binary"),
        ("bytea", "binary"),
        ("varbinary", "binary"),
        ("fixed(16)", "fixed[16]"),
        ("fixed[3]", "fixed[3]"),
        ("variant", "variant"),
        ("unknown", "unknown"),
        ("geometry", "geometry"),
        ("geometry(srid:4326)", "geometry(srid:4326)"),
        ("geography('OGC:CRS84', karney)", "geography(OGC:CRS84, karney)"),
    ] {
        assert_eq!(read(written), of, "{written}");
    }
}

#[test]
fn types_are_nested() {
    for (written, of) in [
        ("int[]", "list<int>"),
        ("int[][]", "list<list<int>>"),
        ("array<array<int>>", "list<list<int>>"),
        ("array<array<array<int>>>", "list<list<list<int>>>"),
        ("list<string not null>", "list<string>"),
        ("map<string, array<int>>", "map<string, list<int>>"),
        (
            "struct<a: int, b string not null comment 'b'>",
            "struct<a: int, b: string>",
        ),
        ("struct(a int, b struct<c: int>)[]", ""),
    ] {
        let read = read(written);
        let squeezed = |text: &str| text.replace(['?', ' '], "").to_lowercase();
        assert!(!read.contains("expected"), "{written}: {read}");
        if !of.is_empty() && !squeezed(&read).contains("optional") && !squeezed(&read).contains("1:") {
            assert_eq!(squeezed(&read), squeezed(of), "{written}");
        }
    }
}

#[test]
fn wrong_types_are_named_with_their_place() {
    for (written, parts) in [
        ("quaternion", ["unknown type `quaternion`", "Column: 1"]),
        ("decimal(39, 2)", ["1 to 38 digits", "Line: 1"]),
        ("decimal(3, 4)", ["as many behind", "Line: 1"]),
        ("timestamp(3)", ["6 (microseconds) or 9", "Line: 1"]),
        ("time(9)", ["times have microseconds", "Line: 1"]),
        ("time with time zone", ["with a zone", "Column: 1"]),
        ("fixed(0)", ["out of range", "Column: 7"]),
        ("fixed", ["the number of bytes", "end of the statement"]),
        ("array<int", ["that ends the array", "end of the statement"]),
        ("map<int>", ["between the types", "found `>`"]),
        ("struct<a: int, a: int>", ["two fields `a`", "Column: 16"]),
        ("geography('x', flat)", ["unknown edges `flat`", "karney"]),
    ] {
        let error = read(written);
        for part in parts {
            assert!(error.contains(part), "{written}: `{part}` is not in {error}");
        }
    }
    let deep = format!("{}int{}", "array<".repeat(100), ">".repeat(100));
    assert!(read(&deep).contains("nested 64 deep"));
}

#[test]
fn columns_have_their_own_clauses() {
    let mut text = tokens(
        "(a int NOT NULL COMMENT 'the a', \"B c\" string DEFAULT coalesce(NULL, 'x') NOT NULL, PRIMARY KEY (a) NOT ENFORCED)",
    );
    let (columns, key) = columns::columns(&mut text).unwrap();
    assert!(text.is_done());
    let [a, b] = columns.as_slice() else {
        panic!("{columns:?}")
    };
    assert!(a.field.required && a.field.doc.as_deref() == Some("the a"));
    assert!(b.field.required && b.field.name == "B c");
    assert_eq!(b.default.as_ref().map(|(tokens, _)| tokens.len()), Some(6));
    assert_eq!(key.len(), 1);
    for (written, part) in [
        ("(a int, a string)", "two columns `a`"),
        ("(a int AUTO_INCREMENT)", "found `AUTO_INCREMENT`"),
        ("(a int PRIMARY KEY)", "NOT ENFORCED"),
        ("(a int, PRIMARY KEY (a))", "NOT ENFORCED"),
        ("(a int, UNIQUE (a))", "UNIQUE"),
        ("(a int, CONSTRAINT x CHECK (a > 0))", "CONSTRAINT"),
        ("(a int, CHECK (a > 0))", "CHECK"),
        ("(a int DEFAULT)", "one default"),
        ("()", "the name of a column"),
        ("(a)", "a type"),
    ] {
        let error = columns::columns(&mut tokens(written)).unwrap_err().to_string();
        assert!(
            error.contains(part) && error.contains("Line: 1"),
            "{written}: {error}"
        );
    }
    // Words of constraints are names of columns as well.
    columns::columns(&mut tokens("(check int, unique int, foreign int)")).unwrap();
}

#[test]
fn partition_and_sort_terms() {
    let schema = Schema::new(
        0,
        vec![
            NestedField::optional(1, "id", PrimitiveType::Long),
            NestedField::optional(2, "ts", PrimitiveType::Timestamp),
            NestedField::optional(3, "ts_day", PrimitiveType::Double),
        ],
        vec![],
    )
    .unwrap();
    let spec = |text: &str| {
        let mut tokens = tokens(text);
        let term = terms::Term::parse(&mut tokens)?;
        terms::partition_spec(&[term], &schema)
    };
    for (written, name, transform) in [
        ("id", "id", "identity"),
        ("bucket(16, id)", "id_bucket", "bucket[16]"),
        ("BUCKET(id, 16)", "id_bucket", "bucket[16]"),
        ("truncate(4, id)", "id_trunc", "truncate[4]"),
        ("years(ts)", "ts_year", "year"),
        ("month(ts)", "ts_month", "month"),
        ("hours(ts)", "ts_hour", "hour"),
        ("date_hour(ts)", "ts_hour", "hour"),
    ] {
        let spec = spec(written).unwrap();
        let [field] = spec.fields.as_slice() else {
            panic!("{spec:?}")
        };
        assert_eq!(
            (field.name.as_str(), field.transform.to_string().as_str()),
            (name, transform)
        );
    }
    for (written, part) in [
        ("day(ts)", "would have the name of a column"),
        ("zorder(id)", "unknown transform `zorder`"),
        ("day(id)", "day cannot be made of `id`, which is of type long"),
        ("bucket(4, ts_day)", "bucket[4] cannot be made of `ts_day`"),
        ("bucket(0, id)", "at least 1"),
        ("bucket(id)", "a number as arguments"),
        ("day(nope)", "there is no column `nope`; there are id, ts, ts_day"),
    ] {
        let error = spec(written).unwrap_err().to_string();
        assert!(
            error.contains(part) && error.contains("Line: 1"),
            "{written}: {error}"
        );
    }
    let order = terms::OrderTerm::parse(&mut tokens("bucket(4, id) DESC NULLS FIRST")).unwrap();
    let order = terms::sort_order(&[order], &schema).unwrap();
    let field = order.fields.first().unwrap();
    assert_eq!(
        (field.direction.to_string(), field.null_order.to_string()),
        ("desc".to_string(), "nulls-first".to_string())
    );
}
