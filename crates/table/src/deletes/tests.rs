#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod files;

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, Int64Array, StringViewArray};
use arrow::datatypes::DataType;
use drumlin_format::types::{NestedField, PrimitiveType, Type};
use proptest::prelude::*;

use super::key_columns::KeyColumn;
use super::key_set::KeySet;

fn columns() -> Arc<[KeyColumn]> {
    let column = |id, name: &str, of, data_type| {
        KeyColumn::test(NestedField::optional(id, name, Type::Primitive(of)), data_type)
    };
    Arc::from([
        column(1, "a", PrimitiveType::Long, DataType::Int64),
        column(2, "b", PrimitiveType::String, DataType::Utf8View),
    ])
}

type Key = (Option<i64>, Option<String>);

fn arrays(keys: &[Key]) -> Vec<ArrayRef> {
    let longs = Int64Array::from_iter(keys.iter().map(|k| k.0));
    let texts = StringViewArray::from_iter(keys.iter().map(|k| k.1.as_deref()));
    vec![Arc::new(longs), Arc::new(texts)]
}

fn key() -> impl Strategy<Value = Key> {
    let text = prop_oneof![
        Just(String::new()),
        "[ab]{1,2}",
        Just("longer than twelve bytes".into())
    ];
    (proptest::option::of(-3i64..3), proptest::option::of(text))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn rows_are_kept_that_no_later_delete_equals(
        deletes in prop::collection::vec((prop::collection::vec(key(), 0..20), 1i64..6), 0..6),
        rows in prop::collection::vec(key(), 0..60),
        sequence_number in 0i64..7,
    ) {
        let mut set = KeySet::new(columns()).unwrap();
        let mut model: HashMap<Key, i64> = HashMap::new();
        for (keys, number) in &deletes {
            set.insert(&arrays(keys), *number).unwrap();
            for key in keys {
                let highest = model.entry(key.clone()).or_insert(*number);
                *highest = (*highest).max(*number);
            }
        }
        let set = set.finish();
        prop_assert_eq!(set.len(), model.len());
        let expected: Vec<bool> = rows
            .iter()
            .map(|row| model.get(row).is_none_or(|highest| sequence_number >= *highest))
            .collect();
        match set.kept(&arrays(&rows), sequence_number).unwrap() {
            Some(kept) => prop_assert_eq!(kept.iter().collect::<Vec<_>>(), expected),
            None => prop_assert!(expected.iter().all(|kept| *kept)),
        }
    }
}

/// The one column of keys that are integers.
fn one_column() -> Arc<[KeyColumn]> {
    let column = NestedField::optional(1, "a", Type::Primitive(PrimitiveType::Int));
    Arc::from([KeyColumn::test(column, DataType::Int32)])
}

#[test]
fn integers_and_null_are_keys() {
    let array =
        |values: &[Option<i32>]| -> Vec<ArrayRef> { vec![Arc::new(Int32Array::from(values.to_vec()))] };
    let mut set = KeySet::new(one_column()).unwrap();
    set.insert(&array(&[Some(1), None, Some(-1), Some(i32::MIN)]), 3)
        .unwrap();
    set.insert(&array(&[Some(1), Some(0)]), 2).unwrap();
    set.insert(&array(&[Some(-1)]), 4).unwrap();
    let set = set.finish();
    assert_eq!(set.len(), 5);
    let rows = array(&[
        Some(1),
        Some(2),
        None,
        Some(0),
        Some(-1),
        Some(i32::MIN),
        Some(i32::MAX),
    ]);
    let kept = |number| {
        set.kept(&rows, number)
            .unwrap()
            .map(|kept| kept.iter().collect::<Vec<_>>())
    };
    assert_eq!(kept(1), Some(vec![false, true, false, false, false, false, true]));
    assert_eq!(kept(2), Some(vec![false, true, false, true, false, false, true]));
    assert_eq!(kept(3), Some(vec![true, true, true, true, false, true, true]));
    assert_eq!(kept(4), None);
    let mut none_null = KeySet::new(one_column()).unwrap();
    none_null.insert(&array(&[Some(0)]), 2).unwrap();
    assert_eq!(
        none_null.finish().kept(&array(&[None, Some(7)]), 1).unwrap(),
        None
    );
}

#[test]
fn many_integers_are_found_and_no_others() {
    let mut set = KeySet::new(one_column()).unwrap();
    let array = |from: i32| -> Vec<ArrayRef> {
        vec![Arc::new(Int32Array::from_iter_values((from..400_000).step_by(4)))]
    };
    set.insert(&array(1), 3).unwrap();
    let set = set.finish();
    assert_eq!(set.len(), 100_000);
    assert_eq!(set.kept(&array(1), 2).unwrap().unwrap().count_set_bits(), 0);
    assert_eq!(set.kept(&array(1), 3).unwrap(), None);
    assert_eq!(set.kept(&array(2), 0).unwrap(), None);
}

#[test]
fn many_keys_are_found_and_no_others() {
    let mut set = KeySet::new(columns()).unwrap();
    let even: Vec<Key> = (0..100_000)
        .map(|i| (Some(i * 2), Some(format!("key {i}"))))
        .collect();
    for batch in even.chunks(8192) {
        set.insert(&arrays(batch), 3).unwrap();
    }
    let set = set.finish();
    for batch in even.chunks(8192) {
        assert_eq!(set.kept(&arrays(batch), 2).unwrap().unwrap().count_set_bits(), 0);
        assert!(set.kept(&arrays(batch), 3).unwrap().is_none());
    }
    let odd: Vec<Key> = (0..8192)
        .map(|i| (Some(i * 2 + 1), Some(format!("key {i}"))))
        .collect();
    assert!(set.kept(&arrays(&odd), 0).unwrap().is_none());
}
