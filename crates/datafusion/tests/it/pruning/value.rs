//! Random values of columns, and literals of SQL to compare them with.

use drumlin_format::types::PrimitiveType as P;
use drumlin_format::types::{StructType, Type};
use drumlin_format::value::Value;
use drumlin_format::value::text::to_text;

use crate::random::Random;

const DAY: i64 = 86_400_000_000;

/// How many letters strings start with: few, so that patterns meet them.
pub const LETTERS: i64 = 8;

/// How the values of one column of one file lie.
#[derive(Debug, Clone, Copy)]
pub struct Habit {
    /// Values lie around this one, from -20 to 20.
    pub near: i64,
    /// How many of a hundred are null.
    pub nulls: u64,
    /// How many of a hundred are special: NaN, zeros, infinities, the ends of the type.
    pub special: u64,
}

impl Habit {
    pub fn random(random: &mut Random) -> Self {
        Self {
            near: random.between(-20, 20),
            nulls: *random.pick(&[0, 0, 0, 10, 10, 60, 100]),
            special: *random.pick(&[0, 0, 0, 5, 30, 100]),
        }
    }
}

pub fn value(of: &Type, required: bool, habit: Habit, random: &mut Random) -> Option<Value> {
    if !required && random.percent(habit.nulls) {
        return None;
    }
    Some(match of {
        Type::Primitive(of) => primitive(of, habit, random),
        Type::Struct(of) => structs(of, habit, random),
        other => panic!("no values of {other} are made"),
    })
}

fn structs(of: &StructType, habit: Habit, random: &mut Random) -> Value {
    let fields = of.fields().iter();
    Value::Struct(
        fields
            .map(|f| (f.id, value(&f.field_type, f.required, habit, random)))
            .collect(),
    )
}

pub fn primitive(of: &P, habit: Habit, random: &mut Random) -> Value {
    let special = random.percent(habit.special);
    let number = habit.near + random.between(-3, 3);
    let only_zeros = special && habit.near % 3 == 0;
    match of {
        P::Boolean => Value::Boolean(if special {
            random.percent(50)
        } else {
            habit.near > 0
        }),
        P::Int if special => Value::Int(*random.pick(&[i32::MIN, i32::MAX, 0, -1, 16_777_217, 100])),
        P::Int => Value::Int(i32::try_from(number).unwrap()),
        P::Long if special => Value::Long(*random.pick(&[
            i64::MIN,
            i64::MAX,
            0,
            (1 << 53) + 1,
            i64::from(i32::MAX) + 1,
            3_000_000_000,
        ])),
        P::Long => Value::Long(number),
        P::Float if only_zeros => Value::Float(*random.pick(&[0.0, -0.0])),
        P::Float if special => Value::Float(*random.pick(&[
            f32::NAN,
            -f32::NAN,
            0.0,
            -0.0,
            f32::INFINITY,
            f32::NEG_INFINITY,
            f32::MIN_POSITIVE,
            0.1,
            f32::MAX,
            16_777_216.0,
        ])),
        #[expect(clippy::cast_precision_loss, reason = "a small number")]
        P::Float => Value::Float(number as f32 / 4.0),
        P::Double if only_zeros => Value::Double(*random.pick(&[0.0, -0.0])),
        P::Double if special => Value::Double(*random.pick(&[
            f64::NAN,
            -f64::NAN,
            0.0,
            -0.0,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::MIN_POSITIVE,
            0.1,
            f64::from(0.1f32),
            1e300,
            9_007_199_254_740_992.0,
        ])),
        #[expect(clippy::cast_precision_loss, reason = "a small number")]
        P::Double => Value::Double(number as f64 / 4.0),
        P::Decimal { precision, .. } if special => {
            let most = 10i128.pow(u32::from(*precision)) - 1;
            Value::Decimal(*random.pick(&[0, 1, -1, most, -most]))
        }
        P::Decimal { scale, .. } => {
            let one = 10i128.pow(u32::from(*scale));
            Value::Decimal(i128::from(number) * one + i128::from(random.between(-2, 2)) * (one / 2).max(1))
        }
        P::Date if special => Value::Int(*random.pick(&[0, -1, 1, 19_000, -30_000, 30, 31])),
        P::Date => Value::Int(i32::try_from(number * 10).unwrap()),
        P::Time if special => Value::Long(*random.pick(&[0, DAY - 1, DAY / 2])),
        P::Time => Value::Long((number + 30) * 1_000_000_000 + random.between(0, 1)),
        P::Timestamp | P::Timestamptz => Value::Long(micros(number, special, random)),
        P::TimestampNs | P::TimestamptzNs => {
            Value::Long(micros(number, special, random) * 1000 + *random.pick(&[0, 0, 1, 999, -1]))
        }
        P::String => Value::String(text(habit.near, special, random)),
        P::Binary => Value::Bytes(bytes(habit.near, special, random)),
        P::Uuid => Value::Bytes(sized(habit.near, 16, random)),
        P::Fixed(length) => Value::Bytes(sized(habit.near, usize::try_from(*length).unwrap(), random)),
        other => panic!("no values of {other} are made"),
    }
}

fn micros(number: i64, special: bool, random: &mut Random) -> i64 {
    if special {
        return *random.pick(&[0, -1, 1, DAY - 1, -DAY, 19_000 * DAY + 1, -999_999, 1_000_000]);
    }
    number * 10 * DAY + *random.pick(&[0, 1, -1, DAY / 2, 1_500_000, 3_600_000_000, DAY - 1])
}

fn text(near: i64, special: bool, random: &mut Random) -> String {
    if special {
        let odd = [
            "",
            "é",
            "\u{10ffff}\u{10ffff}\u{10ffff}x",
            "a%b",
            "a_b",
            "a\\b",
            "it's",
            "\u{ffff}\u{ffff}\u{ffff}",
            "Zebra",
            " ",
            "12",
            "-7",
            "abcdefghijklmnopqrstuvwxyz",
            "\u{d7ff}\u{e000}",
        ];
        return (*random.pick(&odd)).to_string();
    }
    let letter = |n: i64| char::from(b'a' + u8::try_from(n.rem_euclid(LETTERS)).unwrap());
    let mut text = String::from(letter(near));
    for _ in 0..random.below(4) {
        text.push(*random.pick(&['a', 'b', 'z', 'A', 'é', '_', '%']));
    }
    text
}

fn bytes(near: i64, special: bool, random: &mut Random) -> Vec<u8> {
    if special {
        let odd: [&[u8]; 4] = [&[], &[0xff, 0xff, 0xff, 0xff], &[0], &[0x7f, 0x80]];
        return random.pick(&odd).to_vec();
    }
    let length = 1 + random.below(4);
    sized(near, length, random)
}

fn sized(near: i64, length: usize, random: &mut Random) -> Vec<u8> {
    let first = u8::try_from((near * 5).rem_euclid(256)).unwrap();
    let mut bytes = vec![first; length];
    if let Some(last) = bytes.last_mut() {
        *last = *random.pick(&[0, 1, 0x7f, 0x80, 0xff]);
    }
    bytes
}

/// A literal that a column of the type may be compared with, near the values that files have.
pub fn literal(of: &P, random: &mut Random) -> String {
    let habit = Habit {
        near: random.between(-22, 22),
        nulls: 0,
        special: 15,
    };
    let value = primitive(of, habit, random);
    let text = to_text(&value, of);
    if random.percent(2) {
        return "NULL".to_string();
    }
    match of {
        P::Boolean => text,
        P::Int | P::Long => match random.below(8) {
            0 => format!("CAST('{text}' AS BIGINT)"),
            1 => format!("{text}.5"),
            2 => format!("CAST('{text}' AS DECIMAL(22, 1))"),
            3 => format!("'{text}'"),
            4 => format!("CAST({} AS SMALLINT)", habit.near),
            5 => format!("CAST('{text}' AS DOUBLE)"),
            _ => match &value {
                Value::Long(i64::MIN) => "CAST('-9223372036854775808' AS BIGINT)".to_string(),
                _ => text,
            },
        },
        P::Float | P::Double => float(&value, random),
        P::Decimal { precision, scale } => match random.below(5) {
            0 => format!("CAST('{text}' AS DECIMAL(38, {}))", scale + 2),
            1 => format!("CAST('{text}' AS DOUBLE)"),
            2 => format!("{}", habit.near),
            _ => format!("CAST('{text}' AS DECIMAL({precision}, {scale}))"),
        },
        P::Date => moment(&text, random),
        P::Time => format!("CAST('{text}' AS TIME)"),
        P::Timestamp | P::TimestampNs => moment(&text, random),
        P::Timestamptz | P::TimestamptzNs => match random.below(5) {
            0 => moment(text.trim_end_matches("+00:00"), random),
            1 => format!("arrow_cast('{text}', 'Timestamp(Millisecond, Some(\"UTC\"))')"),
            2 => format!("arrow_cast('{text}', 'Timestamp(Nanosecond, Some(\"+02:00\"))')"),
            3 => format!("'{text}'"),
            _ => format!("arrow_cast('{text}', 'Timestamp(Microsecond, Some(\"UTC\"))')"),
        },
        P::String => quoted(&text),
        P::Uuid | P::Fixed(_) => {
            let Value::Bytes(bytes) = &value else {
                panic!("bytes")
            };
            format!("arrow_cast({}, 'FixedSizeBinary({})')", hex(bytes), bytes.len())
        }
        P::Binary => {
            let Value::Bytes(bytes) = &value else {
                panic!("bytes")
            };
            hex(bytes)
        }
        other => panic!("no literals of {other} are made"),
    }
}

fn moment(text: &str, random: &mut Random) -> String {
    match random.below(8) {
        0 => format!("DATE '{}'", &text[..10]),
        1 => format!("TIMESTAMP '{text}'"),
        2 => format!("arrow_cast('{text}', 'Timestamp(Second, None)')"),
        3 => format!("arrow_cast('{text}', 'Timestamp(Millisecond, None)')"),
        4 => format!("arrow_cast('{text}', 'Timestamp(Nanosecond, None)')"),
        5 => format!("'{text}'"),
        _ if text.len() == 10 => format!("DATE '{text}'"),
        _ => format!("arrow_cast('{text}', 'Timestamp(Microsecond, None)')"),
    }
}

fn float(value: &Value, random: &mut Random) -> String {
    let of = *random.pick(&["DOUBLE", "DOUBLE", "REAL"]);
    let (negative, text) = match value {
        Value::Float(v) => (v.is_sign_negative(), format!("{:?}", v.abs())),
        Value::Double(v) => (v.is_sign_negative(), format!("{:?}", v.abs())),
        other => panic!("{other:?} is no float"),
    };
    let sign = if negative { "-" } else { "" };
    match random.below(4) {
        0 => format!("{sign}{}", random.between(0, 5)),
        1 if !text.starts_with(['N', 'i']) => format!("{sign}{text}"),
        _ => format!("({sign}CAST('{text}' AS {of}))"),
    }
}

pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn hex(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
    format!("X'{digits}'")
}
