use proptest::prelude::*;

use drumlin_format::transform::Transform;
use drumlin_format::types::PrimitiveType as P;

use super::expression::{Expression, READINGS, Row};
use super::files::{self, random_rows};
use super::inclusive::random_field;
use super::random::Random;
use super::*;
use crate::predicate::projection::{project_inclusive, project_strict};

/// A spec over the fields, with transforms that fit them.
pub fn random_spec(random: &mut Random, fields: &[FieldRef]) -> PartitionSpec {
    let transforms = [
        "identity",
        "bucket[3]",
        "truncate[1]",
        "truncate[2]",
        "truncate[10]",
        "year",
        "month",
        "day",
        "hour",
        "void",
        "zorder",
    ];
    let mut chosen = Vec::new();
    for _ in 0..=random.below(3) {
        let field = random.pick(fields);
        let fitting: Vec<&str> = transforms
            .into_iter()
            .filter(|t| {
                let t: Transform = t.parse().unwrap();
                t.result_type(field.primitive()).is_some() || matches!(t, Transform::Unknown(_))
            })
            .collect();
        chosen.push((field.field_id(), *random.pick(&fitting)));
    }
    spec(&chosen)
}

/// The tuple that a writer would put the row under; `None` where none could (a truncation out of range). Old writers
/// were off by one before 1970, and zeros and NaNs are stored as any of their kind.
pub fn tuple(
    random: &mut Random,
    spec: &PartitionSpec,
    fields: &[FieldRef],
    row: &Row,
    old_writer: bool,
) -> Option<Vec<Option<Value>>> {
    let mut tuple = Vec::new();
    for partition in spec.fields() {
        let id = partition.source_id().unwrap();
        let source = fields.iter().find(|f| f.field_id() == id).unwrap().primitive();
        if matches!(partition.transform, Transform::Unknown(_)) {
            tuple.push(None);
            continue;
        }
        let value = partition.transform.apply(row[&id].as_ref(), source).ok()?;
        let parts = matches!(
            partition.transform,
            Transform::Year | Transform::Month | Transform::Hour
        ) || (partition.transform == Transform::Day && *source != P::Date);
        tuple.push(match value {
            Some(Value::Int(v)) if old_writer && parts && v < 0 => Some(Value::Int(v + 1)),
            Some(Value::Double(0.0)) => Some(Value::Double(*random.pick(&[0.0, -0.0]))),
            Some(Value::Double(v)) if v.is_nan() => Some(Value::Double(*random.pick(&[f64::NAN, -f64::NAN]))),
            Some(Value::Long(v)) if partition.transform == Transform::Identity && *source == P::Long => {
                // From before a promotion, perhaps.
                match i32::try_from(v) {
                    Ok(v) if random.one_in(2) => Some(Value::Int(v)),
                    _ => Some(Value::Long(v)),
                }
            }
            other => other,
        });
    }
    Some(tuple)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn projections_are_sound(seed in any::<u64>()) {
        let random = &mut Random(seed);
        let fields = [random_field(random), random_field(random)];
        let rows = random_rows(random, &fields);
        let expression = Expression::random(random, &fields, &rows, 3);
        let predicate = expression.to_predicate();
        let spec = random_spec(random, &fields);
        let old_writer = random.one_in(3);
        let inclusive = project_inclusive(&predicate, &spec);
        let strict = project_strict(&predicate, &spec);
        let mut tuples = Vec::new();
        let mut some_row_kept = false;
        for row in &rows {
            let Some(tuple) = tuple(random, &spec, &fields, row, old_writer) else {
                continue;
            };
            for reading in READINGS {
                let kept = expression.holds(row, reading) == Some(true);
                some_row_kept |= kept;
                prop_assert!(
                    !kept || inclusive.might_match_tuple(&tuple),
                    "pruned: {predicate} as {inclusive} of {spec:?}\n{row:?} in {tuple:?}"
                );
                prop_assert!(
                    kept || !strict.must_match_tuple(&tuple),
                    "claimed: {predicate} as {strict} of {spec:?}\n{row:?} in {tuple:?}"
                );
            }
            tuples.push(tuple);
        }
        let columns = summaries(random, &spec, &fields, &tuples);
        let summaries: Vec<PartitionSummary<'_>> = columns
            .iter()
            .map(|(nulls, nans, c)| PartitionSummary {
                contains_null: *nulls,
                contains_nan: *nans,
                lower_bound: c.lower.as_deref(),
                upper_bound: c.upper.as_deref(),
            })
            .collect();
        prop_assert!(
            !some_row_kept || inclusive.might_match_summaries(&spec, &summaries),
            "pruned manifest: {predicate} as {inclusive} of {spec:?}\n{tuples:?}\n{summaries:?}"
        );
        prop_assert!(!some_row_kept || inclusive.might_match_summaries(&spec, &[]));
    }
}

type Summary = (bool, Option<bool>, files::Column);

fn summaries(
    random: &mut Random,
    spec: &PartitionSpec,
    fields: &[FieldRef],
    tuples: &[Vec<Option<Value>>],
) -> Vec<Summary> {
    let summary = |(position, partition): (usize, &PartitionField)| {
        let id = partition.source_id().unwrap();
        let source = fields.iter().find(|f| f.field_id() == id).unwrap().primitive();
        let primitive = partition.transform.result_type(source).unwrap_or(P::Unknown);
        // A list writer knows one type for all values.
        let values: Vec<Option<Value>> = tuples
            .iter()
            .map(|t| match &t[position] {
                Some(Value::Int(v)) if primitive == P::Long => Some(Value::Long((*v).into())),
                other => other.clone(),
            })
            .collect();
        let values: Vec<Option<&Value>> = values.iter().map(Option::as_ref).collect();
        let mut column = files::column(random, &primitive, &values);
        if random.one_in(8) {
            (column.lower, column.upper) = (None, None);
        }
        let nulls = values.iter().any(Option::is_none) || random.one_in(10);
        let nans = column.nans.map(|n| n > 0);
        (nulls, nans, column)
    };
    spec.fields().iter().enumerate().map(summary).collect()
}

fn projected(predicate: Predicate, transform: &str) -> (String, String) {
    let Predicate::Leaf(field, _) = &predicate else {
        panic!("{predicate}")
    };
    let spec = spec(&[(field.field_id(), transform)]);
    (
        project_inclusive(&predicate, &spec).to_string(),
        project_strict(&predicate, &spec).to_string(),
    )
}

#[test]
fn projections_by_transform() {
    let int = || field(1);
    let n = Value::Int;
    let date = || of_type(&P::Date);
    let timestamp = || of_type(&P::Timestamp);
    let name = || of_type(&P::String);
    for (predicate, transform, inclusive, strict) in [
        (
            Predicate::lt(int(), n(100)),
            "truncate[10]",
            "p1000 <= 90",
            "p1000 < 100",
        ),
        (
            Predicate::lt(int(), n(101)),
            "truncate[10]",
            "p1000 <= 100",
            "p1000 < 100",
        ),
        (
            Predicate::le(int(), n(99)),
            "truncate[10]",
            "p1000 <= 90",
            "p1000 < 100",
        ),
        (
            Predicate::gt(int(), n(99)),
            "truncate[10]",
            "p1000 >= 100",
            "p1000 > 90",
        ),
        (
            Predicate::ge(int(), n(100)),
            "truncate[10]",
            "p1000 >= 100",
            "p1000 > 90",
        ),
        (
            Predicate::eq(int(), n(-1)),
            "truncate[10]",
            "p1000 = -10",
            "false",
        ),
        (
            Predicate::not_eq(int(), n(-1)),
            "truncate[10]",
            "true",
            "p1000 <> -10",
        ),
        (
            Predicate::is_in(int(), [n(1), n(2), n(11)]),
            "truncate[10]",
            "p1000 IN (0, 10)",
            "false",
        ),
        (
            Predicate::not_in(int(), [n(1), n(11)]),
            "truncate[10]",
            "true",
            "p1000 NOT IN (0, 10)",
        ),
        (Predicate::lt(int(), n(i32::MIN)), "truncate[10]", "true", "false"),
        (Predicate::lt(int(), n(5)), "bucket[4]", "true", "false"),
        (Predicate::eq(int(), n(34)), "bucket[16]", "p1000 = 3", "false"),
        (
            Predicate::not_eq(int(), n(34)),
            "bucket[16]",
            "true",
            "p1000 <> 3",
        ),
        (
            Predicate::is_null(int()),
            "bucket[16]",
            "p1000 IS NULL",
            "p1000 IS NULL",
        ),
        (Predicate::is_null(int()), "void", "true", "false"),
        (Predicate::is_null(int()), "zorder[2]", "true", "false"),
        (
            Predicate::not_eq(int(), n(1)),
            "identity",
            "p1000 <> 1",
            "p1000 <> 1",
        ),
        (Predicate::lt(date(), n(0)), "month", "p1000 <= 0", "p1000 < 0"),
        (Predicate::lt(date(), n(31)), "month", "p1000 <= 0", "p1000 < 1"),
        (
            Predicate::lt(date(), n(0)),
            "day",
            "p1000 <= '1969-12-31'",
            "p1000 < '1970-01-01'",
        ),
        (Predicate::eq(date(), n(-1)), "year", "p1000 IN (-1, 0)", "false"),
        (
            Predicate::eq(date(), n(-1)),
            "day",
            "p1000 = '1969-12-31'",
            "false",
        ),
        (Predicate::ge(date(), n(0)), "year", "p1000 >= 0", "p1000 > 0"),
        (
            Predicate::not_eq(date(), n(-1)),
            "year",
            "true",
            "p1000 NOT IN (-1, 0)",
        ),
        (
            Predicate::eq(timestamp(), Value::Long(-1)),
            "day",
            "p1000 IN ('1969-12-31', '1970-01-01')",
            "false",
        ),
        (
            Predicate::ge(timestamp(), Value::Long(3_600_000_000)),
            "hour",
            "p1000 >= 1",
            "p1000 > 0",
        ),
        (
            Predicate::eq(timestamp(), Value::Long(i64::MAX)),
            "hour",
            "true",
            "false",
        ),
        (
            Predicate::starts_with(name(), "日"),
            "truncate[2]",
            "starts_with(p1000, '日')",
            "starts_with(p1000, '日')",
        ),
        (
            Predicate::starts_with(name(), "日本"),
            "truncate[2]",
            "p1000 = '日本'",
            "p1000 = '日本'",
        ),
        (
            Predicate::starts_with(name(), "🌊ab"),
            "truncate[2]",
            "p1000 = '🌊a'",
            "false",
        ),
        (
            Predicate::not_starts_with(name(), "a"),
            "truncate[2]",
            "NOT starts_with(p1000, 'a')",
            "NOT starts_with(p1000, 'a')",
        ),
        (
            Predicate::not_starts_with(name(), "ab"),
            "truncate[2]",
            "p1000 <> 'ab'",
            "p1000 <> 'ab'",
        ),
        (
            Predicate::not_starts_with(name(), "abc"),
            "truncate[2]",
            "true",
            "p1000 <> 'ab'",
        ),
        (
            Predicate::lt(name(), text("abc")),
            "truncate[2]",
            "p1000 <= 'ab'",
            "p1000 < 'ab'",
        ),
        (
            Predicate::gt(name(), text("abc")),
            "truncate[2]",
            "p1000 >= 'ab'",
            "p1000 > 'ab'",
        ),
    ] {
        let shown = format!("{predicate} under {transform}");
        assert_eq!(
            projected(predicate, transform),
            (inclusive.to_owned(), strict.to_owned()),
            "{shown}"
        );
    }
}

#[test]
fn several_fields_of_one_source_all_speak() {
    let spec = spec(&[
        (1, "bucket[16]"),
        (2, "identity"),
        (1, "truncate[10]"),
        (99, "day"),
    ]);
    let predicate = Predicate::eq(field(1), Value::Int(34));
    assert_eq!(
        project_inclusive(&predicate, &spec).to_string(),
        "(p1000 = 3 AND p1002 = 30)"
    );
    let predicate = predicate.negate();
    assert_eq!(
        project_strict(&predicate, &spec).to_string(),
        "(p1000 <> 3 OR p1002 <> 30)"
    );
    let other = Predicate::eq(field(3), Value::Float(1.0));
    assert_eq!(project_inclusive(&other, &spec), Predicate::AlwaysTrue);
    assert_eq!(project_strict(&other, &spec), Predicate::AlwaysFalse);
}

#[test]
fn tuples_of_another_shape_prove_nothing() {
    let spec = spec(&[(1, "identity")]);
    let predicate = project_inclusive(&Predicate::eq(field(1), Value::Int(1)), &spec);
    assert!(predicate.might_match_tuple(&[]));
    assert!(!predicate.must_match_tuple(&[]));
    assert!(predicate.might_match_tuple(&[Some(text("1"))]));
    assert!(!predicate.must_match_tuple(&[Some(text("1"))]));
    assert!(!predicate.might_match_tuple(&[None]));
    assert!(!predicate.might_match_tuple(&[Some(Value::Int(2))]));
    assert!(predicate.must_match_tuple(&[Some(Value::Int(1))]));
}
