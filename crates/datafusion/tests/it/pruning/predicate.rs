//! Random conditions on a table.

use std::fmt;

use drumlin_format::schema::Schema;
use drumlin_format::types::PrimitiveType as P;
use drumlin_format::types::{StructType, Type};

use super::value::{LETTERS, literal, quoted};
use crate::random::Random;

/// A column or a field of a struct, in SQL.
#[derive(Debug, Clone)]
pub struct Column {
    pub id: i32,
    pub sql: String,
    pub of: P,
}

/// The primitive columns of a schema and those in its structs.
pub fn columns(schema: &Schema) -> Vec<Column> {
    let mut found = Vec::new();
    collect(schema.as_struct(), "", &mut found);
    found
}

fn collect(of: &StructType, within: &str, found: &mut Vec<Column>) {
    for field in of.fields() {
        let sql = match within {
            "" => format!("\"{}\"", field.name),
            within => format!("{within}['{}']", field.name),
        };
        match &field.field_type {
            Type::Primitive(of) => found.push(Column {
                id: field.id,
                sql,
                of: of.clone(),
            }),
            Type::Struct(of) => collect(of, &sql, found),
            _ => {}
        }
    }
}

/// A condition, in parts so that a wrong answer can be traced to one of them.
#[derive(Debug, Clone)]
pub enum Condition {
    Leaf(String),
    Not(Box<Condition>),
    And(Box<Condition>, Box<Condition>),
    Or(Box<Condition>, Box<Condition>),
    /// With what follows it: `IS TRUE` and the like.
    Is(Box<Condition>, &'static str),
}

impl Condition {
    pub fn random(columns: &[Column], depth: usize, random: &mut Random) -> Self {
        let inner = |random: &mut Random| Box::new(Self::random(columns, depth - 1, random));
        match random.below(if depth == 0 { 3 } else { 9 }) {
            0..=2 => Self::Leaf(leaf(columns, random)),
            3 | 4 => Self::And(inner(random), inner(random)),
            5 | 6 => Self::Or(inner(random), inner(random)),
            7 => Self::Not(inner(random)),
            _ => {
                let tests = [
                    "IS TRUE",
                    "IS NOT TRUE",
                    "IS FALSE",
                    "IS NOT FALSE",
                    "IS UNKNOWN",
                    "IS NOT UNKNOWN",
                    "= true",
                    "<> true",
                ];
                Self::Is(inner(random), random.pick::<&str>(&tests))
            }
        }
    }

    /// The conditions right inside.
    pub fn parts(&self) -> Vec<&Self> {
        match self {
            Self::Leaf(_) => vec![],
            Self::Not(a) | Self::Is(a, _) => vec![a],
            Self::And(a, b) | Self::Or(a, b) => vec![a, b],
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Leaf(sql) => f.write_str(sql),
            Self::Not(a) => write!(f, "NOT ({a})"),
            Self::And(a, b) => write!(f, "({a}) AND ({b})"),
            Self::Or(a, b) => write!(f, "({a}) OR ({b})"),
            Self::Is(a, test) => write!(f, "({a}) {test}"),
        }
    }
}

const COMPARISONS: [&str; 8] = [
    "=",
    "<>",
    "<",
    "<=",
    ">",
    ">=",
    "IS DISTINCT FROM",
    "IS NOT DISTINCT FROM",
];

fn leaf(columns: &[Column], random: &mut Random) -> String {
    let column = random.pick(columns);
    let (c, of) = (&column.sql, &column.of);
    match random.below(20) {
        0..=5 => comparison(c, of, random),
        6 => format!("{c} IS NULL"),
        7 => format!("{c} IS NOT NULL"),
        8 | 9 => {
            let values: Vec<_> = (0..1 + random.below(6)).map(|_| literal(of, random)).collect();
            format!("{c} {}IN ({})", negation(random), values.join(", "))
        }
        10 | 11 => {
            let (low, high) = (literal(of, random), literal(of, random));
            format!("{c} {}BETWEEN {low} AND {high}", negation(random))
        }
        12 | 13 => special(c, of, random),
        14..=16 => cast(c, of, random),
        17 => {
            let same: Vec<_> = columns.iter().filter(|o| o.of == *of).collect();
            let other = &random.pick(&same).sql;
            format!("{c} {} {other}", random.pick(&COMPARISONS))
        }
        18 => match random.below(3) {
            0 => format!(
                "COALESCE({c}, {}) {} {}",
                literal(of, random),
                random.pick(&COMPARISONS),
                literal(of, random)
            ),
            1 => format!(
                "CASE WHEN {} THEN {c} IS NULL ELSE {} END",
                comparison(c, of, random),
                comparison(c, of, random)
            ),
            _ => format!("NULLIF({c}, {}) IS NULL", literal(of, random)),
        },
        _ => special(c, of, random),
    }
}

fn negation(random: &mut Random) -> &'static str {
    if random.percent(35) { "NOT " } else { "" }
}

fn comparison(c: &str, of: &P, random: &mut Random) -> String {
    let op = random.pick(&COMPARISONS);
    let literal = literal(of, random);
    if random.percent(20) {
        format!("{literal} {op} {c}")
    } else {
        format!("{c} {op} {literal}")
    }
}

/// What only columns of this type are asked.
fn special(c: &str, of: &P, random: &mut Random) -> String {
    let op = *random.pick(&COMPARISONS);
    let options: Vec<String> = match of {
        P::Boolean => vec![
            c.to_string(),
            format!("NOT {c}"),
            format!("{c} IS TRUE"),
            format!("{c} IS NOT TRUE"),
            format!("{c} IS UNKNOWN"),
            format!("{c} = true"),
        ],
        P::Int | P::Long => vec![
            format!("{c} % 3 = 1"),
            format!("abs(CAST({c} AS DOUBLE)) {op} 5"),
            format!("{c} / 2 {op} 3"),
            format!("CAST({c} AS DOUBLE) + 1 {op} {}", literal(of, random)),
        ],
        P::Float | P::Double => vec![
            format!("isnan({c})"),
            format!("NOT isnan({c})"),
            format!("{c} {op} CAST('NaN' AS DOUBLE)"),
            format!("{c} {op} (-CAST('NaN' AS DOUBLE))"),
            format!("{c} {op} 0.0"),
            format!("{c} {op} -0.0"),
            format!("-{c} {op} {}", literal(of, random)),
            format!("abs({c}) {op} {}", literal(of, random)),
            format!("{c} + 1 {op} {}", literal(of, random)),
            format!("iszero({c})"),
        ],
        P::Decimal { .. } => vec![
            format!("{c} {op} {}", random.between(-20, 20)),
            format!("{c} {op} {}.25", random.between(-20, 20)),
            format!("-{c} {op} {}", random.between(-20, 20)),
        ],
        P::Date | P::Timestamp | P::TimestampNs | P::Timestamptz | P::TimestamptzNs => vec![
            format!("date_trunc('month', {c}) {op} {}", literal(of, random)),
            format!("date_part('year', {c}) {op} {}", random.between(1968, 1972)),
            format!("{c} + INTERVAL '1 day' {op} {}", literal(of, random)),
            format!("{c} - INTERVAL '1 month' {op} {}", literal(of, random)),
        ],
        P::String => {
            let pattern = pattern(random);
            let pattern = quoted(&pattern);
            let not = negation(random);
            vec![
                format!("{c} {not}LIKE {pattern}"),
                format!("{c} {not}LIKE {pattern}"),
                format!("{c} {not}LIKE {pattern}"),
                format!("{c} {not}ILIKE {pattern}"),
                format!("starts_with({c}, {})", literal(of, random)),
                format!("substr({c}, 1, 1) {op} {}", literal(of, random)),
                format!("length({c}) {op} 2"),
                format!("{c} || 'x' {op} {}", literal(of, random)),
                format!("upper({c}) {op} {}", literal(of, random)),
                format!("{c} ~ '^[a-d]'"),
            ]
        }
        _ => vec![format!("{c} IS NOT NULL AND {c} {op} {}", literal(of, random))],
    };
    random.pick(&options).clone()
}

fn pattern(random: &mut Random) -> String {
    let mut pattern = String::new();
    if random.percent(85) {
        pattern.push(char::from(
            b'a' + u8::try_from(random.between(0, LETTERS - 1)).unwrap(),
        ));
    }
    for _ in 0..random.below(3) {
        let next = *random.pick(&["a", "b", "z", "é", "_", "%", "\\_", "\\%", "A"]);
        pattern.push_str(next);
    }
    if random.percent(60) {
        pattern.push('%');
    }
    pattern
}

/// A comparison under a cast, of those that keep order and of those that do not.
fn cast(c: &str, of: &P, random: &mut Random) -> String {
    let (int, double, string, timestamp) = (P::Int, P::Double, P::String, P::Timestamp);
    let options: Vec<(&str, P)> = match of {
        P::Boolean => vec![("INT", int), ("VARCHAR", string)],
        P::Int => vec![
            ("BIGINT", P::Long),
            ("DOUBLE", double),
            ("REAL", P::Float),
            ("VARCHAR", string),
            ("DECIMAL(12, 1)", decimal(12, 1)),
        ],
        P::Long => vec![
            ("DOUBLE", double),
            ("REAL", P::Float),
            ("VARCHAR", string),
            ("INT", int),
            ("DECIMAL(22, 1)", decimal(22, 1)),
        ],
        P::Float => vec![("DOUBLE", double), ("VARCHAR", string), ("BIGINT", P::Long)],
        P::Double => vec![("REAL", P::Float), ("VARCHAR", string), ("BIGINT", P::Long)],
        P::Decimal { .. } => vec![
            ("DOUBLE", double),
            ("DECIMAL(38, 5)", decimal(38, 5)),
            ("DECIMAL(20, 0)", decimal(20, 0)),
            ("BIGINT", P::Long),
            ("VARCHAR", string),
        ],
        P::Date => vec![
            ("TIMESTAMP", timestamp),
            ("VARCHAR", string),
            ("TIMESTAMP(3)", P::Timestamp),
        ],
        P::Timestamp | P::TimestampNs => vec![
            ("DATE", P::Date),
            ("DATE", P::Date),
            ("TIMESTAMP(0)", P::Timestamp),
            ("TIMESTAMP(3)", P::Timestamp),
            ("TIMESTAMP(9)", P::TimestampNs),
            ("BIGINT", P::Long),
            ("VARCHAR", string),
        ],
        P::Timestamptz | P::TimestamptzNs => {
            vec![("DATE", P::Date), ("TIMESTAMP", timestamp), ("VARCHAR", string)]
        }
        P::String => vec![("INT", int), ("BIGINT", P::Long), ("DATE", P::Date)],
        _ => vec![("VARCHAR", string)],
    };
    let (name, to) = random.pick(&options).clone();
    // Conditions change their order when they are pushed down, and one that fails then fails the query.
    let function = if may_fail(of, &to) || random.percent(20) {
        "TRY_CAST"
    } else {
        "CAST"
    };
    let expression = format!("{function}({c} AS {name})");
    match random.below(4) {
        0 => {
            let (low, high) = (literal(&to, random), literal(&to, random));
            format!("{expression} {}BETWEEN {low} AND {high}", negation(random))
        }
        1 => {
            let values: Vec<_> = (0..1 + random.below(4)).map(|_| literal(&to, random)).collect();
            format!("{expression} {}IN ({})", negation(random), values.join(", "))
        }
        _ => comparison(&expression, &to, random),
    }
}

/// Whether the type has values that the other has no place for.
fn may_fail(from: &P, to: &P) -> bool {
    match (from, to) {
        (P::String, _) => true,
        (P::Long | P::Float | P::Double | P::Decimal { .. }, P::Int | P::Long) => true,
        (
            P::Decimal {
                precision: p,
                scale: s,
            },
            P::Decimal {
                precision: q,
                scale: t,
            },
        ) => p - s > q - t,
        _ => false,
    }
}

fn decimal(precision: u8, scale: u8) -> P {
    P::Decimal { precision, scale }
}
