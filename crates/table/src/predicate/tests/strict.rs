use proptest::prelude::*;

use super::expression::{Expression, READINGS};
use super::files::{Column, Metrics, metrics, random_rows};
use super::inclusive::random_field;
use super::random::Random;
use super::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn a_file_said_to_match_whole_does(seed in any::<u64>()) {
        let random = &mut Random(seed);
        let fields = [random_field(random), random_field(random)];
        let rows = random_rows(random, &fields);
        let expression = Expression::random(random, &fields, &rows, 2);
        let metrics = metrics(random, &fields, &rows);
        let predicate = expression.to_predicate();
        for reading in READINGS {
            let all = rows.iter().all(|r| expression.holds(r, reading) == Some(true));
            prop_assert!(
                all || !predicate.must_match(&metrics),
                "claimed under {reading:?}: {predicate}\n{rows:?}\n{metrics:?}"
            );
        }
    }
}

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
fn bounds_prove_comparisons_where_nothing_is_null() {
    let int = Value::Int;
    let a = || field(1);
    let full = file(1, Some(0), None, Some((int(30), int(79))));
    let with_nulls = file(1, Some(1), None, Some((int(30), int(79))));
    let unknown = file(1, None, None, Some((int(30), int(79))));
    for (predicate, expected) in [
        (Predicate::lt(a(), int(79)), false),
        (Predicate::lt(a(), int(80)), true),
        (Predicate::le(a(), int(79)), true),
        (Predicate::gt(a(), int(30)), false),
        (Predicate::gt(a(), int(29)), true),
        (Predicate::ge(a(), int(30)), true),
        (Predicate::eq(a(), int(30)), false),
        (Predicate::not_eq(a(), int(29)), true),
        (Predicate::not_eq(a(), int(30)), false),
        (Predicate::not_in(a(), [int(1), int(80)]), true),
        (Predicate::not_in(a(), [int(1), int(40)]), false),
        (Predicate::not_null(a()), true),
        (Predicate::is_null(a()).or(Predicate::gt(a(), int(0))), true),
    ] {
        assert_eq!(predicate.must_match(&full), expected, "{predicate}");
        assert!(!predicate.must_match(&with_nulls), "{predicate}");
        assert!(!predicate.must_match(&unknown), "{predicate}");
    }
    let one = file(1, Some(0), None, Some((int(7), int(7))));
    assert!(Predicate::eq(a(), int(7)).must_match(&one));
    assert!(Predicate::is_in(a(), [int(1), int(7)]).must_match(&one));
    let all_null = file(1, Some(100), None, None);
    assert!(Predicate::is_null(a()).must_match(&all_null));
    // Java says yes here, because its null differs from 7; in SQL the rows are not kept.
    assert!(!Predicate::not_eq(a(), int(7)).must_match(&all_null));
}

#[test]
fn floats_and_fields_of_structs_are_decided_with_care() {
    let double = of_type(&PrimitiveType::Double);
    let id = double.field_id();
    let bounds = || Some((Value::Double(0.0), Value::Double(1.0)));
    let gt = |v| Predicate::gt(double.clone(), Value::Double(v));
    assert!(gt(-1.0).must_match(&file(id, Some(0), Some(0), bounds())));
    assert!(!gt(-1.0).must_match(&file(id, Some(0), None, bounds())));
    // The bound may stand for -0.0, which arrow takes for less than 0.0.
    let ge_zero = Predicate::ge(double.clone(), Value::Double(0.0));
    assert!(!ge_zero.must_match(&file(id, Some(0), Some(0), bounds())));
    let not_eq = Predicate::not_eq(double.clone(), Value::Double(2.0));
    assert!(not_eq.must_match(&file(id, Some(0), None, bounds())));
    let inner = Predicate::gt(field(21), Value::Int(0));
    let m = file(21, Some(0), None, Some((Value::Int(1), Value::Int(2))));
    assert!(!inner.must_match(&m));
    assert!(inner.might_match(&m));
    assert!(!inner.negate().might_match(&m));
}
