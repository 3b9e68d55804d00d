//! Random values that meet often: few per type, around zero, around unit borders and at the ends of the range.

use drumlin_format::types::PrimitiveType as P;
use drumlin_format::value::Value;

/// The types of the columns 1, 2, 3…
pub const TYPES: [P; 16] = [
    P::Int,
    P::Long,
    P::Float,
    P::Double,
    P::Decimal {
        precision: 9,
        scale: 2,
    },
    P::Date,
    P::Time,
    P::Timestamp,
    P::Timestamptz,
    P::TimestampNs,
    P::TimestamptzNs,
    P::String,
    P::Binary,
    P::Uuid,
    P::Fixed(2),
    P::Boolean,
];

/// SplitMix64: the property tests draw a seed and build the rest from it.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        low + self.below(u64::try_from(high - low + 1).unwrap()).cast_signed()
    }

    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[usize::try_from(self.below(of.len() as u64)).unwrap()]
    }

    pub fn value(&mut self, primitive: &P) -> Value {
        match primitive {
            P::Boolean => Value::Boolean(self.one_in(2)),
            P::Int => match self.below(20) {
                0 => Value::Int(*self.pick(&[i32::MIN, i32::MIN + 1, i32::MAX - 1, i32::MAX])),
                _ => Value::Int(self.between(-25, 25) as i32),
            },
            P::Date => match self.below(4) {
                0 => Value::Int(*self.pick(&[-366, -365, -32, -31, -1, 0, 30, 31, 364, 365, 719_000])),
                _ => Value::Int(self.between(-400, 400) as i32),
            },
            P::Long => match self.below(20) {
                0 => Value::Long(*self.pick(&[i64::MIN, i64::MIN + 1, i64::MAX - 1, i64::MAX, 1 << 40])),
                _ => Value::Long(self.between(-25, 25)),
            },
            P::Time => Value::Long(self.between(0, 5)),
            P::Timestamp | P::Timestamptz => Value::Long(self.instant()),
            P::TimestampNs | P::TimestamptzNs => Value::Long(self.instant() * 1000 + self.between(-2, 2)),
            P::Float => Value::Float(*self.pick(&[
                f32::NEG_INFINITY,
                -1.5,
                -f32::MIN_POSITIVE,
                -0.0,
                0.0,
                1.0,
                1.5,
                f32::INFINITY,
                f32::NAN,
                -f32::NAN,
            ])),
            P::Double => Value::Double(*self.pick(&[
                f64::NEG_INFINITY,
                -1.5,
                -1e-300,
                -0.0,
                0.0,
                1.0,
                1.1,
                f64::INFINITY,
                f64::NAN,
                -f64::NAN,
            ])),
            P::Decimal { .. } => Value::Decimal(self.between(-300, 300).into()),
            P::String => Value::String(self.text()),
            P::Binary => {
                let length = self.below(4);
                Value::Bytes(
                    (0..length)
                        .map(|_| *self.pick(&[0, 1, 0x7f, 0x80, 0xff]))
                        .collect(),
                )
            }
            P::Fixed(n) => Value::Bytes((0..*n).map(|_| *self.pick(&[0, 0x80, 0xff])).collect()),
            P::Uuid => {
                let mut bytes = vec![0; 16];
                for place in [0, 7, 8, 15] {
                    bytes[place] = *self.pick(&[0, 1, 0x7f, 0x80, 0xff]);
                }
                Value::Bytes(bytes)
            }
            other => panic!("no values of type {other}"),
        }
    }

    /// Microseconds near a border of hours, days, months or years.
    fn instant(&mut self) -> i64 {
        const HOUR: i64 = 3_600_000_000;
        let border = match self.below(3) {
            0 => self.between(-3, 3) * HOUR,
            1 => self.between(-3, 3) * 24 * HOUR,
            _ => *self.pick(&[-366, -365, -31, 0, 31, 59, 365]) * 24 * HOUR,
        };
        border + *self.pick(&[-HOUR / 2, -1, 0, 1, 1000])
    }

    pub fn text(&mut self) -> String {
        let parts = ["a", "b", "a", "é", "日", "🌊", "\u{d7ff}", "\u{10ffff}"];
        let length = self.below(5);
        (0..length).map(|_| *self.pick(&parts)).collect()
    }
}
