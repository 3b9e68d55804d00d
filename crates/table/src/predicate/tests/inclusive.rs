use proptest::prelude::*;

use super::expression::{Expression, READINGS};
use super::files::{Column, Metrics, metrics, random_rows};
use super::random::Random;
use super::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn no_file_with_a_row_to_keep_is_pruned(seed in any::<u64>()) {
        let random = &mut Random(seed);
        let fields = [random_field(random), random_field(random)];
        let rows = random_rows(random, &fields);
        let expression = Expression::random(random, &fields, &rows, 3);
        let metrics = metrics(random, &fields, &rows);
        let predicate = expression.to_predicate();
        for reading in READINGS {
            let any = rows.iter().any(|r| expression.holds(r, reading) == Some(true));
            prop_assert!(
                !any || predicate.might_match(&metrics),
                "pruned under {reading:?}: {predicate}\n{rows:?}\n{metrics:?}"
            );
        }
    }
}

pub fn random_field(random: &mut Random) -> FieldRef {
    field(i32::try_from(1 + random.below(random::TYPES.len() as u64)).unwrap())
}

/// 100 values of one column: so many nulls and NaNs, these bounds.
fn file(id: i32, nulls: Option<i64>, nans: Option<i64>, bounds: Option<(Value, Value)>) -> Metrics {
    let bytes = |v: Value| drumlin_format::value::bytes::to_bytes(&v).unwrap();
    let (lower, upper) = bounds.map(|(l, u)| (bytes(l), bytes(u))).unzip();
    let column = Column {
        values: Some(100),
        nulls,
        nans,
        lower,
        upper,
    };
    Metrics {
        rows: 100,
        columns: [(id, column)].into(),
    }
}

#[test]
fn bounds_prune_comparisons() {
    let int = |n| Value::Int(n);
    let m = file(1, Some(0), None, Some((int(30), int(79))));
    let a = || field(1);
    for (predicate, expected) in [
        (Predicate::lt(a(), int(30)), false),
        (Predicate::lt(a(), int(31)), true),
        (Predicate::le(a(), int(29)), false),
        (Predicate::le(a(), int(30)), true),
        (Predicate::gt(a(), int(79)), false),
        (Predicate::gt(a(), int(78)), true),
        (Predicate::ge(a(), int(80)), false),
        (Predicate::ge(a(), int(79)), true),
        (Predicate::eq(a(), int(29)), false),
        (Predicate::eq(a(), int(30)), true),
        (Predicate::eq(a(), int(80)), false),
        (Predicate::not_eq(a(), int(30)), true),
        (Predicate::is_in(a(), [int(1), int(29), int(80)]), false),
        (Predicate::is_in(a(), [int(1), int(35), int(80)]), true),
        (Predicate::is_in(a(), (1000..2000).map(int)), false),
        (Predicate::not_in(a(), [int(30)]), true),
        (Predicate::is_null(a()), false),
        (Predicate::not_null(a()), true),
        // A literal of another type decides nothing.
        (Predicate::eq(a(), text("x")), true),
        (Predicate::is_in(a(), [text("x")]), true),
        // A column without metrics decides nothing.
        (Predicate::eq(field(2), Value::Long(1)), true),
        (Predicate::is_null(field(2)), true),
        (Predicate::lt(a(), int(30)).or(Predicate::gt(a(), int(79))), false),
        (
            Predicate::ge(a(), int(30)).and(Predicate::gt(a(), int(79))),
            false,
        ),
    ] {
        assert_eq!(predicate.might_match(&m), expected, "{predicate}");
    }
    let one = file(1, Some(5), None, Some((int(7), int(7))));
    assert!(!Predicate::not_eq(field(1), int(7)).might_match(&one));
    assert!(!Predicate::not_in(field(1), [int(1), int(7)]).might_match(&one));
    assert!(Predicate::not_eq(field(1), int(8)).might_match(&one));
}

#[test]
fn counts_prune_nulls_and_nans() {
    let double = || of_type(&PrimitiveType::Double);
    let id = double().field_id();
    let one = || Value::Double(1.0);
    let nan = || Value::Double(f64::NAN);
    let all_null = file(id, Some(100), Some(0), None);
    let all_nan = file(id, Some(0), Some(100), None);
    let mixed = file(id, Some(40), Some(60), None);
    let no_nan = file(id, Some(0), Some(0), Some((one(), one())));
    let unknown = file(id, Some(0), None, Some((one(), one())));
    let nan_bounds = file(id, Some(0), Some(0), Some((nan(), nan())));
    for (predicate, on_all_null, on_all_nan, on_mixed, on_no_nan, on_unknown, on_nan_bounds) in [
        (
            Predicate::is_null(double()),
            true,
            false,
            true,
            false,
            false,
            false,
        ),
        (Predicate::not_null(double()), false, true, true, true, true, true),
        (Predicate::is_nan(double()), false, true, true, false, true, false),
        (
            Predicate::not_nan(double()),
            false,
            false,
            false,
            true,
            true,
            true,
        ),
        (
            Predicate::eq(double(), one()),
            false,
            false,
            false,
            true,
            true,
            true,
        ),
        (
            Predicate::eq(double(), nan()),
            false,
            true,
            true,
            false,
            true,
            false,
        ),
        (
            Predicate::lt(double(), one()),
            false,
            true,
            true,
            false,
            true,
            true,
        ),
        (
            Predicate::gt(double(), one()),
            false,
            true,
            true,
            false,
            true,
            true,
        ),
        (
            Predicate::not_eq(double(), one()),
            false,
            true,
            true,
            false,
            true,
            true,
        ),
        (
            Predicate::is_in(double(), [nan(), one()]),
            false,
            true,
            true,
            true,
            true,
            true,
        ),
        (
            Predicate::is_in(double(), [nan()]),
            false,
            true,
            true,
            false,
            true,
            false,
        ),
        (
            Predicate::not_in(double(), [one()]),
            false,
            true,
            true,
            false,
            true,
            true,
        ),
    ] {
        assert_eq!(
            predicate.might_match(&all_null),
            on_all_null,
            "all null: {predicate}"
        );
        assert_eq!(
            predicate.might_match(&all_nan),
            on_all_nan,
            "all NaN: {predicate}"
        );
        assert_eq!(
            predicate.might_match(&mixed),
            on_mixed,
            "null or NaN: {predicate}"
        );
        assert_eq!(predicate.might_match(&no_nan), on_no_nan, "no NaN: {predicate}");
        assert_eq!(
            predicate.might_match(&unknown),
            on_unknown,
            "unknown: {predicate}"
        );
        assert_eq!(
            predicate.might_match(&nan_bounds),
            on_nan_bounds,
            "NaN bounds: {predicate}"
        );
    }
}

#[test]
fn what_makes_no_sense_proves_nothing() {
    let a = || field(1);
    let mut m = file(1, Some(0), None, None);
    for (lower, upper) in [
        (vec![1, 2, 3], vec![]),
        (vec![9; 9], vec![9; 9]),
        // Lower above upper.
        (9i32.to_le_bytes().to_vec(), 1i32.to_le_bytes().to_vec()),
    ] {
        let column = m.columns.get_mut(&1).unwrap();
        column.lower = Some(lower);
        column.upper = Some(upper);
        assert!(Predicate::eq(a(), Value::Int(100)).might_match(&m));
        assert!(Predicate::lt(a(), Value::Int(-100)).might_match(&m));
    }
    assert!(Predicate::is_null(a()).might_match(&file(1, Some(-1), None, None)));
    assert!(Predicate::not_null(a()).might_match(&file(1, Some(101), None, None)));
    let mut empty = file(1, None, None, None);
    empty.rows = 0;
    assert!(!Predicate::AlwaysTrue.might_match(&empty));
    empty.rows = -1;
    assert!(Predicate::AlwaysTrue.might_match(&empty));
}

#[test]
fn prefixes_prune_by_bounds() {
    let name = || of_type(&PrimitiveType::String);
    let m = file(name().field_id(), Some(0), None, Some((text("abc"), text("abe"))));
    for (prefix, starts, starts_not) in [
        ("", true, false),
        ("a", true, false),
        ("ab", true, false),
        ("abd", true, true),
        ("abcd", true, true),
        ("abb", false, true),
        ("abf", false, true),
        ("b", false, true),
        ("abez", false, true),
    ] {
        let predicate = Predicate::starts_with(name(), prefix);
        assert_eq!(predicate.might_match(&m), starts, "{predicate}");
        let predicate = predicate.negate();
        assert_eq!(predicate.might_match(&m), starts_not, "{predicate}");
    }
    // Bounds cut inside a code point still are bounds.
    let mut m = m;
    let column = m.columns.get_mut(&name().field_id()).unwrap();
    column.lower = Some(vec![0xf0, 0x9f]);
    column.upper = Some(vec![0xf0, 0xa0]);
    assert!(Predicate::eq(name(), text("🌊")).might_match(&m));
    assert!(!Predicate::eq(name(), text("a")).might_match(&m));
}
