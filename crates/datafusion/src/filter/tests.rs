#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::ScalarValue as S;
use datafusion::logical_expr::{cast, col, lit};
use drumlin_format::types::{NestedField, PrimitiveType as P, StructType};

use super::*;

fn schema() -> Schema {
    let inner = StructType::new(vec![NestedField::optional(11, "x", P::Int)]);
    Schema::new(
        0,
        vec![
            NestedField::optional(1, "i", P::Int),
            NestedField::optional(2, "s", P::String),
            NestedField::optional(3, "ts", P::Timestamp),
            NestedField::optional(4, "d", P::Date),
            NestedField::optional(5, "b", P::Boolean),
            NestedField::optional(6, "f", P::Float),
            NestedField::optional(10, "st", inner),
        ],
        vec![],
    )
    .unwrap()
}

fn text(filter: Expr) -> String {
    to_predicate(&[filter], &schema()).to_string()
}

#[test]
fn what_does_not_convert_is_left_out_only_where_that_is_safe() {
    let opaque = || (col("i") % lit(2)).eq(lit(0));
    let known = || col("i").gt(lit(5));
    assert_eq!(text(known()), "i > 5");
    assert_eq!(text(opaque().and(known())), "i > 5");
    assert_eq!(text(opaque().or(known())), "true");
    assert_eq!(text(!(opaque().and(known()))), "true");
    assert_eq!(
        text(!(known().and(col("s").eq(lit("a"))))),
        text(col("i").lt_eq(lit(5)).or(col("s").not_eq(lit("a"))))
    );
    assert_eq!(text(!known()), "i <= 5");
}

#[test]
fn literals_that_do_not_fit_are_left_out() {
    assert_eq!(text(col("i").eq(lit(3_000_000_000i64))), "true");
    assert_eq!(text(col("i").eq(lit(S::Int32(None)))), "true");
    assert_eq!(
        text(col("i").in_list(vec![lit(1), lit(S::Int32(None))], false)),
        text(
            col("i")
                .eq(lit(1))
                .or(Expr::Literal(S::Boolean(Some(false)), None))
        )
        .replace("i = 1", "i IN (1)")
    );
    assert_eq!(
        text(col("i").in_list(vec![lit(1), lit(S::Int32(None))], true)),
        "true"
    );
}

#[test]
fn casts_of_times_are_turned_on_the_literal() {
    let nanos = |v| lit(S::TimestampNanosecond(Some(v), None));
    let ts = || cast(col("ts"), DataType::Timestamp(TimeUnit::Nanosecond, None));
    assert_eq!(
        text(ts().gt_eq(nanos(1500))),
        text(col("ts").gt(lit(S::TimestampMicrosecond(Some(1), None))))
    );
    assert_eq!(
        text(ts().lt(nanos(-1500))),
        text(col("ts").lt_eq(lit(S::TimestampMicrosecond(Some(-2), None))))
    );
    assert_eq!(text(ts().eq(nanos(1500))), "true");
    let day = cast(col("ts"), DataType::Date32).eq(lit(S::Date32(Some(-1))));
    let from = lit(S::TimestampMicrosecond(Some(-86_400_000_000), None));
    let to = lit(S::TimestampMicrosecond(Some(0), None));
    assert_eq!(text(day), text(col("ts").gt_eq(from).and(col("ts").lt(to))));
    // A cast to a coarser timestamp rounds towards 1970 and is none of these.
    let seconds = cast(col("ts"), DataType::Timestamp(TimeUnit::Second, None));
    assert_eq!(text(seconds.eq(lit(S::TimestampSecond(Some(0), None)))), "true");
}

#[test]
fn floats_under_a_cast_take_literals_that_are_floats() {
    let f = || cast(col("f"), DataType::Float64);
    assert_eq!(text(f().gt(lit(1.5))), "f > 1.5");
    assert_eq!(text(f().gt(lit(0.1))), "true");
}

#[test]
fn likes_are_prefixes() {
    assert_eq!(
        text(col("s").like(lit("ab%"))),
        text(datafusion::functions::expr_fn::starts_with(col("s"), lit("ab")))
    );
    assert_eq!(text(col("s").like(lit("ab"))), text(col("s").eq(lit("ab"))));
    assert_eq!(text(col("s").like(lit("a_%"))), text(col("s").like(lit("a%"))));
    assert_eq!(text(col("s").not_like(lit("a_%"))), "true");
    assert_eq!(text(col("s").like(lit("%a"))), "true");
    assert_eq!(text(col("s").ilike(lit("ab%"))), "true");
    assert_ne!(text(col("s").not_like(lit("ab%"))), "true");
}

#[test]
fn booleans_and_fields_of_structs_are_columns_too() {
    assert_ne!(text(col("b")), "true");
    assert_eq!(
        text(!col("b")),
        text(col("b").eq(lit(false))).replace("= false", "<> true")
    );
    assert_eq!(text(col("b").is_true()), text(col("b")));
    let x = datafusion::functions::expr_fn::get_field(col("st"), "x");
    assert_eq!(text(x.gt(lit(5))), "st.x > 5");
}
