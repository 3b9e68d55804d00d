//! Random queries.

use drumlin_format::schema::Schema;
use drumlin_format::types::PrimitiveType as P;
use drumlin_format::types::{StructType, Type};
use drumlin_format::value::text::to_text;

use super::evolution::value;
use crate::random::Random;

/// A query and how its answer is compared.
#[derive(Debug, Clone)]
pub struct Query {
    pub sql: String,
    /// What the rows in memory are asked.
    pub sql_in_memory: String,
    pub compared: Compared,
    /// Whether the table must show its metadata columns. One that shows them has them in `*`.
    pub names_metadata: bool,
}

/// How an answer is compared with that of the rows in memory.
#[derive(Debug, Clone)]
pub enum Compared {
    /// The same rows in any order.
    Rows,
    /// The same rows in this order.
    Ordered,
    /// So many of the rows, or all of them if there are less.
    SomeOf(usize),
}

/// A primitive column or field of a struct.
#[derive(Debug, Clone)]
struct Column {
    sql: String,
    of: Type,
}

/// What queries can be made of.
pub struct Columns {
    names: Vec<String>,
    own: Vec<Column>,
    metadata: Vec<&'static str>,
}

impl Columns {
    /// Of a table with this schema, with or without row lineage.
    pub fn of(schema: &Schema, lineage: bool) -> Self {
        let mut own = Vec::new();
        collect(schema.as_struct(), "", &mut own);
        let mut metadata = vec!["_pos", "_file", "_spec_id"];
        if lineage {
            metadata.extend(["_row_id", "_last_updated_sequence_number", "_row_id"]);
        }
        let names = schema.fields().iter().map(|field| field.name.clone()).collect();
        Self { names, own, metadata }
    }

    /// A query of any form.
    pub fn query(&self, random: &mut Random) -> Query {
        let condition = self.filter(random);
        let column = random.pick(&self.own).sql.clone();
        let query = |sql: String, compared| Query {
            names_metadata: names_metadata(&sql),
            sql_in_memory: sql.clone(),
            sql,
            compared,
        };
        let rows = |sql| query(sql, Compared::Rows);
        match random.below(18) {
            16 | 17 => self.everything(),
            0..=3 => rows(format!("SELECT {} FROM t{condition}", self.projection(random))),
            4 => {
                let all = format!("SELECT {} FROM t{condition}", self.projection(random));
                let limit = random.below(8);
                Query {
                    sql: format!("{all} LIMIT {limit}"),
                    ..query(all, Compared::SomeOf(limit))
                }
            }
            5 | 6 => {
                let direction = random.pick(&["ASC", "DESC"]);
                let nulls = random.pick(&["FIRST", "LAST"]);
                let limit = 1 + random.below(6);
                let projection = self.projection(random);
                let by = if random.percent(30) {
                    "id".to_string()
                } else {
                    column
                };
                let sql = format!(
                    "SELECT {projection} FROM t{condition} ORDER BY {by} {direction} NULLS {nulls}, id LIMIT {limit}"
                );
                query(sql, Compared::Ordered)
            }
            7 => rows("SELECT count(*) FROM t".to_string()),
            8 => rows(format!("SELECT count(*) FROM t{condition}")),
            9 => {
                // Not min and max alone: where a partition has only nulls, DataFusion loses the bound of one of them in
                // the filter that both make.
                let all = ["min({})", "max({})", "min({}), max({}), count(*)"];
                let of = random.pick(&all).replace("{}", &column);
                rows(format!("SELECT {of} FROM t"))
            }
            10 => rows(format!(
                "SELECT min({column}), max({column}), count({column}), count(*), sum(amount), count(DISTINCT {column}) FROM t{condition}"
            )),
            11 => rows(format!(
                "SELECT {column}, count(*), sum(id) FROM t{condition} GROUP BY {column}"
            )),
            12 => {
                let on = random.pick(&self.own).sql.clone();
                let sql = format!(
                    "SELECT id, other FROM t JOIN (SELECT {on} AS key, id AS other FROM t WHERE id % 3 = 0) ON {on} = key\
                     {condition}"
                );
                query(sql, Compared::Rows)
            }
            13 => {
                let on = random.pick(&self.own);
                let keys: Vec<_> = (0..2).map(|_| format!("({})", literal(&on.of, random))).collect();
                let sql = format!(
                    "SELECT id, amount FROM t JOIN (VALUES {}) AS v(k) ON t.{} = v.k",
                    keys.join(", "),
                    on.sql
                );
                query(sql, Compared::Rows)
            }
            14 => query(
                format!("SELECT id FROM t WHERE {column} IN (SELECT {column} FROM t{condition})"),
                Compared::Rows,
            ),
            _ => rows(format!(
                "SELECT id FROM t{condition} UNION ALL SELECT count(*) FROM t WHERE id > {}",
                random.between(0, 30)
            )),
        }
    }

    /// All columns of all rows.
    fn everything(&self) -> Query {
        Query {
            sql: "SELECT * FROM t".to_string(),
            sql_in_memory: format!("SELECT {} FROM t", self.names.join(", ")),
            compared: Compared::Rows,
            names_metadata: false,
        }
    }

    fn projection(&self, random: &mut Random) -> String {
        let mut picked = Vec::new();
        for _ in 0..1 + random.below(3) {
            let column = random.pick(&self.own).sql.clone();
            picked.push(if random.percent(30) {
                (*random.pick(&self.metadata)).to_string()
            } else {
                column
            });
        }
        picked.sort();
        picked.dedup();
        picked.join(", ")
    }

    /// ` WHERE …`, or nothing.
    fn filter(&self, random: &mut Random) -> String {
        match random.below(4) {
            0 => String::new(),
            depth => format!(" WHERE {}", self.condition(depth - 1, random)),
        }
    }

    fn condition(&self, depth: usize, random: &mut Random) -> String {
        if depth > 0 {
            let (a, b) = (
                self.condition(depth - 1, random),
                self.condition(depth - 1, random),
            );
            return match random.below(5) {
                0 | 1 => format!("({a} AND {b})"),
                2 | 3 => format!("({a} OR {b})"),
                _ => format!("NOT ({a})"),
            };
        }
        if random.percent(12) {
            return self.of_metadata(random);
        }
        if random.percent(25) {
            let from = random.between(0, 40);
            let to = from + random.between(0, 15);
            return format!("id BETWEEN {from} AND {to}");
        }
        let Column { sql, of } = random.pick(&self.own);
        match random.below(6) {
            0 => format!("{sql} IS NULL"),
            1 => format!("{sql} IS NOT NULL"),
            2 => format!("{sql} IN ({}, {})", literal(of, random), literal(of, random)),
            _ => {
                let operator = random.pick(&["=", "=", "<", ">=", "<>"]);
                format!("{sql} {operator} {}", literal(of, random))
            }
        }
    }

    fn of_metadata(&self, random: &mut Random) -> String {
        let number = random.between(0, 12);
        match *random.pick(&self.metadata) {
            "_file" => format!("_file LIKE '%{}.parquet'", number % 10),
            "_spec_id" => format!("_spec_id = {}", number % 3),
            column if random.percent(30) => format!("{column} % 2 = {}", number % 2),
            column if random.percent(10) => format!("{column} IS NULL"),
            column => format!("{column} {} {number}", random.pick(&["<", ">=", "="])),
        }
    }
}

fn names_metadata(sql: &str) -> bool {
    ["_pos", "_file", "_spec_id", "_row_id", "_last_updated"]
        .iter()
        .any(|name| sql.contains(name))
}

fn collect(of: &StructType, within: &str, found: &mut Vec<Column>) {
    for field in of.fields() {
        let sql = match within {
            "" => field.name.clone(),
            within => format!("{within}['{}']", field.name),
        };
        match &field.field_type {
            Type::Struct(of) => collect(of, &sql, found),
            of => found.push(Column { sql, of: of.clone() }),
        }
    }
}

fn literal(of: &Type, random: &mut Random) -> String {
    let primitive = of.as_primitive().unwrap();
    let text = to_text(&value(of, 0, random).unwrap(), primitive);
    match primitive {
        P::Int | P::Long => text,
        P::Date => format!("DATE '{text}'"),
        P::Decimal { precision, scale } => format!("CAST('{text}' AS DECIMAL({precision}, {scale}))"),
        _ => format!("'{}'", text.replace('\'', "''")),
    }
}
