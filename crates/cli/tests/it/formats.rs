//! Each output format, and what goes where.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use datafusion::arrow::array::{AsArray, Int64Array, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Decimal128Type};
use datafusion::arrow::ipc::reader::StreamReader;

use crate::drumlin::{command, data, run};

const ROWS: &str = "SELECT * FROM (VALUES (1, 'a,b'), (2, NULL), (3, '')) AS t(n, s) ORDER BY n";

#[test]
fn table_has_a_footer_below_it_unless_quiet() {
    let table = "\
+---+------+
| n | s    |
+---+------+
| 1 | a,b  |
| 2 | NULL |
| 3 |      |
+---+------+
";
    assert_eq!(data("table", ROWS), table);
    let run = run(&["-c", ROWS]);
    let footer = run.out.strip_prefix(table).unwrap();
    assert!(footer.starts_with("3 rows (0."), "{footer}");
    assert_eq!(run.err, "");
}

#[test]
fn delimited() {
    assert_eq!(data("csv", ROWS), "n,s\n1,\"a,b\"\n2,\n3,\"\"\n");
    assert_eq!(data("tsv", ROWS), "n\ts\n1\ta,b\n2\t\n3\t\"\"\n");
    assert_eq!(
        data(
            "csv",
            "SELECT [1, 2] AS l, named_struct('a', 1, 'b', NULL) AS s, x'00ff' AS h, NULL AS z"
        ),
        "l,s,h,z\n\"[1,2]\",\"{\"\"a\"\":1,\"\"b\"\":null}\",00ff,\n"
    );
}

#[test]
fn json() {
    assert_eq!(
        data("json", ROWS),
        "[{\"n\":1,\"s\":\"a,b\"},{\"n\":2,\"s\":null},{\"n\":3,\"s\":\"\"}]\n"
    );
    assert_eq!(data("json", "SELECT 1 AS n WHERE false"), "[]\n");
    assert_eq!(
        data("ndjson", ROWS),
        "{\"n\":1,\"s\":\"a,b\"}\n{\"n\":2,\"s\":null}\n{\"n\":3,\"s\":\"\"}\n"
    );
}

#[test]
fn arrow_is_exact_and_one_stream_a_result() {
    let sql = "SELECT CAST('1.10' AS DECIMAL(10, 2)) AS d, NULL AS n; SET datafusion.execution.batch_size = 100; \
               SELECT value FROM generate_series(1, 1000)";
    let output = command(&["-q", "--format", "arrow", "-c", sql]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let mut bytes = output.stdout.as_slice();

    let first: Vec<_> = StreamReader::try_new(&mut bytes, None)
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    let [batch] = first.as_slice() else {
        panic!("{first:?}")
    };
    assert_eq!(batch.schema().field(0).data_type(), &DataType::Decimal128(10, 2));
    assert_eq!(batch.column(0).as_primitive::<Decimal128Type>().value(0), 110);
    assert_eq!(batch.schema().field(1).data_type(), &DataType::Null);

    let second: Vec<RecordBatch> = StreamReader::try_new(&mut bytes, None)
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    assert!(second.len() > 1);
    let values: Vec<i64> = second
        .iter()
        .flat_map(|b| {
            let column: &Int64Array = b.column(0).as_primitive();
            column.values().to_vec()
        })
        .collect();
    assert_eq!(values, (1..=1000).collect::<Vec<_>>());
    assert!(bytes.is_empty());
}

#[test]
fn beside_data_the_footer_goes_to_standard_error() {
    let run = run(&["--format", "csv", "-c", "SELECT 1 AS n"]);
    assert_eq!(run.out, "n\n1\n");
    assert!(run.err.starts_with("1 row ("), "{run:?}");
}

#[test]
fn one_name_twice_is_no_json() {
    let run = run(&[
        "--format",
        "json",
        "-c",
        "SELECT * FROM (VALUES (1)) AS a(n), (VALUES (2)) AS b(n)",
    ]);
    assert_eq!((run.code, run.out.as_str()), (Some(1), ""));
    assert!(
        run.err
            .contains("cannot write this result as json: two columns are named \"n\""),
        "{run:?}"
    );
}

#[test]
fn table_shows_the_first_rows_of_many_and_says_so_even_if_quiet() {
    let run = run(&["-q", "-c", "SELECT * FROM generate_series(1, 1000000000000)"]);
    assert_eq!(run.code, Some(0));
    assert_eq!(run.out.lines().count(), 10_000 + 4);
    assert!(run.err.contains("--format csv"), "{}", run.err);
}

#[test]
fn plans_are_lines_in_a_table_and_rows_elsewhere() {
    let out = data(
        "table",
        "EXPLAIN SELECT value + 1 FROM generate_series(1, 3) WHERE value > 1",
    );
    assert!(out.starts_with("logical_plan\n  Projection: "), "{out}");
    assert!(out.contains("\nphysical_plan\n  ProjectionExec"), "{out}");
    assert!(!out.contains('|'), "{out}");
    assert!(data("csv", "EXPLAIN SELECT 1").starts_with("plan_type,plan\nlogical_plan,\""));
}

#[test]
fn rows_are_streamed_and_a_gone_reader_ends_the_run_quietly() {
    for format in ["csv", "tsv", "ndjson", "json", "arrow"] {
        let sql = "SELECT * FROM generate_series(1, 1000000000000)";
        let mut child = command(&["--format", format, "-c", sql])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut reader = BufReader::new(child.stdout.take().unwrap());
        assert!(!reader.fill_buf().unwrap().is_empty());
        drop(reader);
        let mut err = String::new();
        child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        assert_eq!(
            (child.wait().unwrap().code(), err.as_str()),
            (Some(0), ""),
            "{format}"
        );
    }
}
