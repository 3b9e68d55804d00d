use proptest::prelude::*;

use super::expression::{Expression, READINGS, keeps};
use super::files::random_rows;
use super::inclusive::random_field;
use super::projection::{random_spec, tuple};
use super::random::Random;
use super::*;
use crate::predicate::residual::Residuals;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn residuals_keep_the_same_rows(seed in any::<u64>()) {
        let random = &mut Random(seed);
        let fields = [random_field(random), random_field(random)];
        let rows = random_rows(random, &fields);
        let expression = Expression::random(random, &fields, &rows, 3);
        let predicate = expression.to_predicate();
        let spec = random_spec(random, &fields);
        let residuals = Residuals::new(&predicate, &spec);
        let old_writer = random.one_in(3);
        for row in &rows {
            let Some(tuple) = tuple(random, &spec, &fields, row, old_writer) else {
                continue;
            };
            let residual = residuals.for_tuple(&tuple);
            for reading in READINGS {
                prop_assert_eq!(
                    keeps(&residual, row, reading),
                    expression.holds(row, reading) == Some(true),
                    "{} left of {} for {:?} under {:?}\n{:?}", residual, predicate, tuple, spec, row
                );
            }
        }
    }
}

#[test]
fn partitions_answer_what_they_can() {
    let date = of_type(&PrimitiveType::Date);
    let id = field(1);
    let spec = spec(&[(date.field_id(), "month"), (2, "identity")]);
    // 2024-02-10 on: January, February and March of 2024.
    let predicate = Predicate::ge(date.clone(), Value::Int(19_763))
        .and(Predicate::eq(id, Value::Int(7)))
        .and(Predicate::not_eq(field(2), Value::Long(5)));
    let residuals = Residuals::new(&predicate, &spec);
    let left = |month, long: Option<i64>| {
        residuals
            .for_tuple(&[Some(Value::Int(month)), long.map(Value::Long)])
            .to_string()
    };
    assert_eq!(left(648, Some(1)), "false");
    assert_eq!(left(649, Some(1)), format!("({date} >= '2024-02-10' AND c1 = 7)"));
    assert_eq!(left(650, Some(1)), "c1 = 7");
    assert_eq!(left(650, Some(5)), "false");
    assert_eq!(left(650, None), "false");
    // A tuple of an unexpected shape answers nothing.
    assert_eq!(residuals.for_tuple(&[]), predicate);
    let unrelated = Residuals::new(&predicate, &PartitionSpec::unpartitioned(0));
    assert_eq!(unrelated.for_tuple(&[]), predicate);
}
