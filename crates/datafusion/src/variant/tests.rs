#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, BinaryArray, Int32Array, StringArray, StructArray};
use datafusion::arrow::datatypes::{DataType, Field, Fields, TimeUnit};
use parquet_variant::{Variant as Theirs, VariantBuilder, VariantDecimal4, VariantDecimal16};
use parquet_variant_compute::{VariantArray, VariantArrayBuilder, json_to_variant, shred_variant};
use proptest::prelude::*;

use super::encoding::{MAX_DEPTH, Metadata, Value};
use super::path::{Step, parse};
use super::shredding::unshredded;
use super::{Variants, variant_field};

fn fields() -> Fields {
    match variant_field("v").data_type() {
        DataType::Struct(fields) => fields.clone(),
        other => panic!("{other}"),
    }
}

fn variants(texts: &[Option<&str>]) -> VariantArray {
    let texts: ArrayRef = Arc::new(StringArray::from(texts.to_vec()));
    json_to_variant(&texts).unwrap()
}

fn json(array: &StructArray) -> Vec<Option<String>> {
    let variants = Variants::try_new(array).unwrap();
    (0..variants.len())
        .map(|row| variants.json(row).unwrap())
        .collect()
}

fn struct_of(columns: Vec<(&str, ArrayRef)>) -> StructArray {
    let field = |(name, column): &(&str, ArrayRef)| Field::new(*name, column.data_type().clone(), true);
    let fields: Fields = columns.iter().map(field).collect();
    StructArray::new(fields, columns.into_iter().map(|(_, c)| c).collect(), None)
}

/// An object of the one field `a` that is stored twice or not named, as the parts of a shredded column.
fn shredded_a(metadata: &[u8], value: Option<&[u8]>, a: Option<i32>) -> StructArray {
    let typed: ArrayRef = Arc::new(Int32Array::from(vec![a]));
    let group: ArrayRef = Arc::new(struct_of(vec![("typed_value", typed)]));
    struct_of(vec![
        ("metadata", Arc::new(BinaryArray::from_iter_values([metadata]))),
        ("value", Arc::new(BinaryArray::from_iter([value]))),
        ("typed_value", Arc::new(struct_of(vec![("a", group)]))),
    ])
}

const NAMES_A: &[u8] = &[1, 1, 0, 1, b'a'];

#[test]
fn what_is_shredded_is_put_together_as_it_was() {
    let rows = [
        Some(r#"{"a":1,"b":{"c":"x","d":[1,2,{"e":3}]},"z":null}"#),
        Some(r#"{"a":"not an int","b":{"c":5,"d":["x",null,{"e":"y","f":1}]}}"#),
        None,
        Some("null"),
        Some("17"),
        Some(r#"{"b":7}"#),
        Some("{}"),
        Some(r#"{"a":null,"b":{"d":[]}}"#),
        Some("[[],[{}]]"),
    ];
    let plain = variants(&rows);
    let wanted: Vec<_> = rows.iter().map(|r| r.map(str::to_string)).collect();
    let list = |of| DataType::List(Arc::new(Field::new("element", of, true)));
    let structs = |fields: Vec<(&str, DataType)>| {
        let field = |(name, of): (&str, DataType)| Field::new(name, of, true);
        DataType::Struct(fields.into_iter().map(field).collect())
    };
    let nested = structs(vec![
        ("a", DataType::Int8),
        (
            "b",
            structs(vec![("c", DataType::Utf8), ("d", list(DataType::Int8))]),
        ),
        ("absent", DataType::Boolean),
    ]);
    let deep = structs(vec![(
        "b",
        structs(vec![("d", list(structs(vec![("e", DataType::Int8)])))]),
    )]);
    let stored = unshredded(plain.inner(), &fields(), None).unwrap();
    assert_eq!(json(&stored), wanted);
    for shape in [
        nested,
        deep,
        DataType::Int8,
        list(DataType::Int64),
        list(list(DataType::Utf8)),
    ] {
        let shredded = shred_variant(&plain, &shape).unwrap();
        let together = unshredded(shredded.inner(), &fields(), None).unwrap();
        assert_eq!(json(&together), wanted, "{shape}");
        assert_eq!(together.fields(), &fields());
    }
}

#[test]
fn primitives_of_every_type_are_put_together() {
    let moment = an_instant();
    let values: Vec<(Theirs<'static, 'static>, DataType)> = vec![
        (Theirs::from(true), DataType::Boolean),
        (Theirs::from(false), DataType::Boolean),
        (Theirs::from(-3i8), DataType::Int8),
        (Theirs::from(-300i16), DataType::Int16),
        (Theirs::from(70_000i32), DataType::Int32),
        (Theirs::from(1i64 << 40), DataType::Int64),
        (Theirs::from(1.5f32), DataType::Float32),
        (Theirs::from(-2.5f64), DataType::Float64),
        (
            VariantDecimal4::try_new(-12345, 2).unwrap().into(),
            DataType::Decimal128(9, 2),
        ),
        (
            VariantDecimal16::try_new(-(10i128.pow(30)), 2).unwrap().into(),
            DataType::Decimal128(38, 2),
        ),
        (Theirs::from("short"), DataType::Utf8),
        (Theirs::from(LONG), DataType::Utf8),
        (Theirs::from(&b"\x00\xff"[..]), DataType::Binary),
        (
            moment.clone(),
            DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        ),
    ];
    for (value, shape) in values {
        let mut builder = VariantArrayBuilder::new(2);
        builder.append_variant(value.clone());
        builder.append_variant(Theirs::from("something else"));
        let plain = builder.build();
        let shredded = shred_variant(&plain, &shape).unwrap();
        // The reader of Parquet files gives all decimals 128 bits.
        let typed = shredded.typed_value_column().unwrap();
        let typed = datafusion::arrow::compute::cast(typed, &shape).unwrap();
        assert_eq!(
            typed.null_count(),
            usize::from(!matches!(shape, DataType::Utf8)),
            "{shape}"
        );
        let stored = struct_of(vec![
            ("metadata", Arc::clone(shredded.metadata_column())),
            ("value", Arc::clone(shredded.value_column())),
            ("typed_value", typed),
        ]);
        let together = unshredded(&stored, &fields(), None).unwrap();
        let read = VariantArray::try_new(&together).unwrap();
        assert_eq!(read.value(0), value, "{shape}");
        assert_eq!(read.value(1), Theirs::from("something else"), "{shape}");
    }
}

const LONG: &str = "a string that is longer than sixty-three bytes, so that it has no short form any more";

/// An instant without a library of times.
fn an_instant() -> Theirs<'static, 'static> {
    const BYTES: &[u8] = &[12 << 2, 1, 2, 3, 4, 5, 6, 0, 0];
    Theirs::try_new(super::encoding::EMPTY_METADATA, BYTES).unwrap()
}

#[test]
fn parts_that_contradict_each_other_are_errors() {
    let error = |array: &StructArray| unshredded(array, &fields(), None).unwrap_err().to_string();
    let object = &[2, 1, 0, 0, 2, 3 << 2, 7];
    assert!(error(&shredded_a(NAMES_A, Some(object), Some(1))).contains("`a` of a variant is stored twice"));
    assert!(error(&shredded_a(NAMES_A, Some(&[0]), Some(1))).contains("stored twice"));
    let unnamed = shredded_a(&[1, 0, 0], None, Some(1));
    assert!(error(&unnamed).contains("`a` of a shredded variant is not in its metadata"));
    let absent = shredded_a(&[1, 0, 0], None, None);
    assert_eq!(
        json(&unshredded(&absent, &fields(), None).unwrap()),
        [Some("{}".to_string())]
    );
    let typed: ArrayRef = Arc::new(datafusion::arrow::array::UInt8Array::from(vec![1]));
    let unsigned = struct_of(vec![
        ("metadata", Arc::new(BinaryArray::from_iter_values([NAMES_A]))),
        ("typed_value", typed),
    ]);
    assert!(error(&unsigned).contains("UInt8, which is no type of variants"));
}

#[test]
fn a_value_that_is_nowhere_is_null() {
    let stored = struct_of(vec![
        ("metadata", Arc::new(BinaryArray::from_iter_values([NAMES_A]))),
        ("value", Arc::new(BinaryArray::from_iter([None::<&[u8]>]))),
    ]);
    let read = unshredded(&stored, &fields(), None).unwrap();
    assert_eq!(json(&read), [Some("null".to_string())]);
}

#[test]
fn depth_and_overlap_are_bounded() {
    let metadata = Metadata::try_new(&[1, 0, 0]).unwrap();
    let nest = |depth: usize| {
        let mut value = vec![0u8];
        for _ in 0..depth {
            let mut outer = Vec::new();
            super::builder::write_array(&[value.len()], &value, &mut outer).unwrap();
            value = outer;
        }
        value
    };
    assert!(Value::checked(&nest(MAX_DEPTH - 1), &metadata, 0).is_ok());
    let error = Value::checked(&nest(100 * MAX_DEPTH), &metadata, 0).unwrap_err();
    assert!(error.to_string().contains("inside each other"));
    // Two elements in the place of one.
    let overlap = [3, 2, 0, 0, 1, 0];
    let error = Value::checked(&overlap, &metadata, 0).unwrap_err();
    assert!(error.to_string().contains("overlap"));
}

#[test]
fn names_may_be_empty_and_out_of_order() {
    // Not sorted: "b", "", "a".
    let metadata = Metadata::try_new(&[1, 3, 0, 1, 1, 2, b'b', b'a']).unwrap();
    assert_eq!(
        (metadata.name(1), metadata.id_of("a"), metadata.id_of("c")),
        (Some(""), Some(2), None)
    );
    // It says that it is sorted.
    let lies = Metadata::try_new(&[0x11, 3, 0, 1, 1, 2, b'b', b'a']).unwrap();
    assert_eq!(
        (lies.id_of("a"), lies.id_of("b"), lies.id_of("")),
        (Some(2), Some(0), Some(1))
    );
}

#[test]
fn paths() {
    let field = |name: &str| Step::Field(name.to_string());
    assert_eq!(parse("$").unwrap(), []);
    assert_eq!(
        parse(r#"$.a[0]['b.c']["d'"].e"#).unwrap(),
        [
            field("a"),
            Step::Element(0),
            field("b.c"),
            field("d'"),
            field("e")
        ]
    );
    for wrong in [
        "",
        "a",
        "$a",
        "$.",
        "$..a",
        "$[",
        "$[-1]",
        "$[+1]",
        "$['a'",
        "$['a'x]",
        "$[99999999999999999999]",
    ] {
        assert!(parse(wrong).is_err(), "{wrong}");
    }
}

proptest! {
    /// Whatever the bytes are: an error or a value, and what was checked can be written.
    #[test]
    fn damaged_bytes_do_not_panic(at in 0usize..200, byte in any::<u8>(), cut in 0usize..200) {
        let mut builder = VariantBuilder::new();
        let mut object = builder.new_object();
        object.insert("a", 1i32);
        object.insert("text", LONG);
        let mut list = object.new_list("list");
        list.append_value(1.5f64);
        list.append_value(Theirs::Null);
        list.finish();
        object.finish();
        let (mut metadata, mut value) = builder.finish();
        if let Some(changed) = value.get_mut(at) {
            *changed = byte;
        } else if let Some(changed) = metadata.get_mut(at % 20) {
            *changed = byte;
        }
        value.truncate(cut);
        let array = StructArray::try_new(
            fields(),
            vec![
                Arc::new(BinaryArray::from_iter_values([metadata])),
                Arc::new(BinaryArray::from_iter_values([value])),
            ],
            None,
        )
        .unwrap();
        let direct = Variants::try_new(&array).unwrap().json(0);
        let read = unshredded(&array, &fields(), None);
        prop_assert_eq!(direct.is_ok(), read.is_ok());
        if let (Ok(direct), Ok(read)) = (direct, read) {
            prop_assert_eq!(json(&read), [direct]);
            prop_assert!(read.column(1).as_binary::<i32>().is_valid(0));
        }
    }
}
