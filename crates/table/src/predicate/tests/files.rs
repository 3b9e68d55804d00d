//! Metrics of random rows as writers of all kinds would record them.

use std::collections::BTreeMap;

use drumlin_format::types::PrimitiveType as P;
use drumlin_format::value::bytes::{MICROS_PER_DAY, to_bytes};

use super::expression::Row;
use super::random::Random;
use super::*;

#[derive(Debug, Default, Clone)]
pub struct Metrics {
    pub rows: i64,
    pub columns: BTreeMap<i32, Column>,
}

#[derive(Debug, Default, Clone)]
pub struct Column {
    pub values: Option<i64>,
    pub nulls: Option<i64>,
    pub nans: Option<i64>,
    pub lower: Option<Vec<u8>>,
    pub upper: Option<Vec<u8>>,
}

impl FileMetrics for Metrics {
    fn record_count(&self) -> i64 {
        self.rows
    }

    fn value_count(&self, id: i32) -> Option<i64> {
        self.columns.get(&id)?.values
    }

    fn null_value_count(&self, id: i32) -> Option<i64> {
        self.columns.get(&id)?.nulls
    }

    fn nan_value_count(&self, id: i32) -> Option<i64> {
        self.columns.get(&id)?.nans
    }

    fn lower_bound(&self, id: i32) -> Option<&[u8]> {
        self.columns.get(&id)?.lower.as_deref()
    }

    fn upper_bound(&self, id: i32) -> Option<&[u8]> {
        self.columns.get(&id)?.upper.as_deref()
    }
}

pub fn random_rows(random: &mut Random, fields: &[FieldRef]) -> Vec<Row> {
    // Few distinct values a file, so that files of one value, of nulls or of NaN only are common.
    let pools: Vec<Vec<Option<Value>>> = fields
        .iter()
        .map(|f| {
            let n = 1 + random.below(4);
            (0..n)
                .map(|_| (!random.one_in(5)).then(|| random.value(f.primitive())))
                .collect()
        })
        .collect();
    let rows = 1 + random.below(5);
    (0..rows)
        .map(|_| {
            fields
                .iter()
                .zip(&pools)
                .map(|(f, pool)| (f.field_id(), random.pick(pool).clone()))
                .collect()
        })
        .collect()
}

pub fn metrics(random: &mut Random, fields: &[FieldRef], rows: &[Row]) -> Metrics {
    let rows_count = if random.one_in(10) { -1 } else { rows.len() as i64 };
    let mut metrics = Metrics {
        rows: rows_count,
        columns: BTreeMap::new(),
    };
    for field in fields {
        if random.one_in(12) {
            continue;
        }
        let values: Vec<Option<&Value>> = rows.iter().map(|r| r[&field.field_id()].as_ref()).collect();
        metrics
            .columns
            .insert(field.field_id(), column(random, field.primitive(), &values));
    }
    metrics
}

/// Counts and bounds, each of which may be missing.
pub fn column(random: &mut Random, primitive: &P, values: &[Option<&Value>]) -> Column {
    let count = |test: &dyn Fn(&Option<&Value>) -> bool| values.iter().filter(|v| test(v)).count() as i64;
    let ordered: Vec<&Value> = values.iter().flatten().copied().filter(|v| !v.is_nan()).collect();
    let compare = |a: &&&Value, b: &&&Value| {
        if *primitive == P::Uuid {
            return uuid_order(a, b);
        }
        a.compare(b).unwrap()
    };
    let least = ordered.iter().min_by(compare).copied();
    let greatest = ordered.iter().max_by(compare).copied();
    let cut = (1 + random.below(3)) as usize;
    let cut = random.one_in(2).then_some(cut);
    let narrow = random.one_in(2);
    let mut keep = |bound: Option<Vec<u8>>| bound.filter(|_| !random.one_in(8));
    let lower = keep(least.and_then(|v| lower_bound(v, primitive, cut, narrow)));
    let upper = keep(greatest.and_then(|v| upper_bound(v, primitive, cut, narrow)));
    Column {
        values: (!random.one_in(8)).then_some(values.len() as i64),
        nulls: (!random.one_in(8)).then_some(count(&|v| v.is_none())),
        nans: (primitive.is_floating() && !random.one_in(3))
            .then_some(count(&|v| v.is_some_and(Value::is_nan))),
        lower,
        upper,
    }
}

/// Two signed numbers, as Java has it.
fn uuid_order(a: &Value, b: &Value) -> std::cmp::Ordering {
    let halves = |v: &Value| match v {
        Value::Bytes(b) => (
            i64::from_be_bytes(b[..8].try_into().unwrap()),
            i64::from_be_bytes(b[8..].try_into().unwrap()),
        ),
        _ => panic!("{v:?}"),
    };
    halves(a).cmp(&halves(b))
}

fn lower_bound(value: &Value, primitive: &P, cut: Option<usize>, narrow: bool) -> Option<Vec<u8>> {
    Some(match (value, cut) {
        (Value::String(s), Some(n)) => s.chars().take(n).collect::<String>().into_bytes(),
        (Value::Bytes(b), Some(n)) if *primitive == P::Binary => b.iter().take(n).copied().collect(),
        _ => exact_bound(value, primitive, narrow),
    })
}

fn upper_bound(value: &Value, primitive: &P, cut: Option<usize>, narrow: bool) -> Option<Vec<u8>> {
    match (value, cut) {
        (Value::String(s), Some(n)) if s.chars().count() > n => {
            let mut kept: Vec<char> = s.chars().take(n).collect();
            while let Some(last) = kept.pop() {
                if last < char::MAX {
                    let next = if last == '\u{d7ff}' {
                        '\u{e000}'
                    } else {
                        char::from_u32(u32::from(last) + 1).unwrap()
                    };
                    kept.push(next);
                    return Some(kept.into_iter().collect::<String>().into_bytes());
                }
            }
            None
        }
        (Value::Bytes(b), Some(n)) if *primitive == P::Binary && b.len() > n => {
            let mut kept = b[..n].to_vec();
            while let Some(last) = kept.pop() {
                if last < 0xff {
                    kept.push(last + 1);
                    return Some(kept);
                }
            }
            None
        }
        _ => Some(exact_bound(value, primitive, narrow)),
    }
}

/// In the width that the column had before a promotion, if the value fits. Zeros may have either sign.
fn exact_bound(value: &Value, primitive: &P, narrow: bool) -> Vec<u8> {
    match (value, primitive) {
        (Value::Long(v), P::Long) if narrow && i32::try_from(*v).is_ok() => {
            (*v as i32).to_le_bytes().to_vec()
        }
        (Value::Long(v), P::Timestamp) if narrow && v % MICROS_PER_DAY == 0 => {
            ((v / MICROS_PER_DAY) as i32).to_le_bytes().to_vec()
        }
        (Value::Long(v), P::TimestampNs) if narrow && v % (MICROS_PER_DAY * 1000) == 0 => {
            ((v / MICROS_PER_DAY / 1000) as i32).to_le_bytes().to_vec()
        }
        (Value::Double(v), _) if *v == 0.0 => (if narrow { -0.0 } else { 0.0f64 }).to_le_bytes().to_vec(),
        (Value::Float(v), _) if *v == 0.0 => (if narrow { -0.0 } else { 0.0f32 }).to_le_bytes().to_vec(),
        (Value::Double(v), _) if narrow && f64::from(*v as f32) == *v => (*v as f32).to_le_bytes().to_vec(),
        _ => to_bytes(value).unwrap(),
    }
}
