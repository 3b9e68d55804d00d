//! Statements, the tables they run on, and the rows that must be left.

use clap::ValueEnum;

use super::base::Base;
use super::sources::MONTH;

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// DELETE of 1 % of lineitem, at random, by a condition.
    Delete,
    /// DELETE of the lines of 1 % of the orders, by a subquery.
    DeleteIn,
    /// UPDATE of 1 % of lineitem, at random.
    Update,
    /// MERGE of 100,000 rows into lineitem, half of which are there.
    MergeLineitem,
    /// MERGE of 100,000 rows into orders, half of which are there.
    MergeOrders,
    /// MERGE of rows of one month into lineitem by month.
    MergeMonth,
}

/// How a table takes a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// `merge-on-read`.
    MergeOnRead,
    /// `copy-on-write`.
    CopyOnWrite,
}

/// What runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runs {
    /// The query that finds the rows.
    Find,
    /// The statement.
    Statement(Mode),
}

/// One way to do it.
#[derive(Debug, Clone, Copy)]
pub struct Side {
    /// Its name.
    pub name: &'static str,
    /// The table that it runs on.
    pub base: Base,
    /// What runs.
    pub runs: Runs,
}

/// A statement on several tables.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// What it is.
    pub kind: Kind,
    /// What it is, in words.
    pub title: &'static str,
    /// The sides; the first one finds the rows.
    pub sides: Vec<Side>,
    /// The query that finds the rows that change, and reads what a statement must know of them.
    pub find: String,
    /// The statement, for tables of this name in `lake.s`.
    pub statement: String,
    /// Over DataFusion's own tables: the rows that are there after it.
    pub after: String,
    /// Over DataFusion's own tables: how many rows change.
    pub changed: String,
    /// The partition whose files alone may be read: a folder of data files.
    pub only: Option<&'static str>,
}

const LINEITEM: &str = "lineitem";

/// Columns of lineitem.
const LINES: [&str; 16] = [
    "l_orderkey",
    "l_partkey",
    "l_suppkey",
    "l_linenumber",
    "l_quantity",
    "l_extendedprice",
    "l_discount",
    "l_tax",
    "l_returnflag",
    "l_linestatus",
    "l_shipdate",
    "l_commitdate",
    "l_receiptdate",
    "l_shipinstruct",
    "l_shipmode",
    "l_comment",
];

/// One row in 100.
const SOME: &str = "(l_orderkey * 31 + l_linenumber * 17) % 100 = 7";

/// The statements that are measured.
pub fn scenarios(kinds: &[Kind]) -> Vec<Scenario> {
    let all = Kind::value_variants().iter();
    all.filter(|kind| kinds.is_empty() || kinds.contains(kind))
        .map(|kind| scenario(*kind))
        .collect()
}

fn scenario(kind: Kind) -> Scenario {
    match kind {
        Kind::Delete => delete(
            kind,
            "DELETE of 1 % of the rows of lineitem",
            SOME.to_string(),
            SOME.to_string(),
        ),
        Kind::DeleteIn => {
            let lines = "l_orderkey IN (SELECT o_orderkey FROM keys)".to_string();
            delete(
                kind,
                "DELETE of the lines of 1 % of the orders",
                lines.clone(),
                lines,
            )
        }
        Kind::Update => update(kind),
        Kind::MergeLineitem => merge(
            kind,
            "MERGE of 100,000 rows into lineitem",
            LINEITEM,
            "source_lineitem",
            &["l_orderkey", "l_linenumber"],
        ),
        Kind::MergeOrders => merge(
            kind,
            "MERGE of 100,000 rows into orders",
            "orders",
            "source_orders",
            &["o_orderkey"],
        ),
        Kind::MergeMonth => merge_month(kind),
    }
}

/// The query that finds the rows, and the statement in all modes and versions.
fn sides(table: &'static str) -> Vec<Side> {
    let side = |name, version, runs| Side {
        name,
        base: Base {
            table,
            version,
            partitioned_by: None,
        },
        runs,
    };
    vec![
        side("SELECT", 3, Runs::Find),
        side("MoR v3", 3, Runs::Statement(Mode::MergeOnRead)),
        side("MoR v2", 2, Runs::Statement(Mode::MergeOnRead)),
        side("CoW v3", 3, Runs::Statement(Mode::CopyOnWrite)),
        side("CoW v2", 2, Runs::Statement(Mode::CopyOnWrite)),
    ]
}

fn delete(kind: Kind, title: &'static str, rows: String, plain: String) -> Scenario {
    Scenario {
        kind,
        title,
        sides: sides(LINEITEM),
        find: format!("SELECT _file, _pos FROM lake.s.lineitem WHERE {rows}"),
        statement: format!("DELETE FROM lake.s.lineitem WHERE {rows}"),
        after: format!("SELECT * FROM lineitem WHERE NOT ({plain})"),
        changed: format!("SELECT count(*) FROM lineitem WHERE {plain}"),
        only: None,
    }
}

fn update(kind: Kind) -> Scenario {
    let column = |name: &&str| match *name {
        "l_quantity" => format!(
            "CAST(CASE WHEN {SOME} THEN l_quantity + 1 ELSE l_quantity END AS DECIMAL(15, 2)) AS l_quantity"
        ),
        "l_comment" => format!(
            "arrow_cast(CASE WHEN {SOME} THEN concat(l_comment, ' (changed)') ELSE l_comment END, 'Utf8View') AS \
             l_comment"
        ),
        other => other.to_string(),
    };
    let columns: Vec<String> = LINES.iter().map(column).collect();
    Scenario {
        kind,
        title: "UPDATE of 1 % of the rows of lineitem",
        sides: sides(LINEITEM),
        find: format!("SELECT *, _file, _pos FROM lake.s.lineitem WHERE {SOME}"),
        statement: format!(
            "UPDATE lake.s.lineitem SET l_quantity = l_quantity + 1, l_comment = concat(l_comment, ' (changed)') WHERE \
             {SOME}"
        ),
        after: format!("SELECT {} FROM lineitem", columns.join(", ")),
        changed: format!("SELECT count(*) FROM lineitem WHERE {SOME}"),
        only: None,
    }
}

fn merge(
    kind: Kind,
    title: &'static str,
    table: &'static str,
    source: &'static str,
    keys: &[&str],
) -> Scenario {
    let same = |key: &&str| format!("t.{key} = s.{key}");
    let same: Vec<String> = keys.iter().map(same).collect();
    let same = same.join(" AND ");
    Scenario {
        kind,
        title,
        sides: sides(table),
        find: format!(
            "SELECT s.*, t._file, t._pos FROM {source} AS s LEFT JOIN lake.s.{table} AS t ON {same}"
        ),
        statement: format!(
            "MERGE INTO lake.s.{table} AS t USING {source} AS s ON {same} WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED \
             THEN INSERT *"
        ),
        after: format!(
            "SELECT * FROM {table} AS t LEFT ANTI JOIN {source} AS s ON {same} UNION ALL SELECT * FROM {source}"
        ),
        changed: format!("SELECT count(*) FROM {source}"),
        only: None,
    }
}

fn merge_month(kind: Kind) -> Scenario {
    let keys = ["l_shipdate", "l_orderkey", "l_linenumber"];
    let title = "MERGE of rows of one month into lineitem, partitioned by the month of l_shipdate";
    let merge = merge(kind, title, LINEITEM, "source_month", &keys);
    let (first, next) = MONTH;
    let by_month = |side: Side| Side {
        base: Base {
            partitioned_by: Some("month(l_shipdate)"),
            ..side.base
        },
        ..side
    };
    let sides = merge.sides.iter().filter(|side| side.base.version == 3);
    Scenario {
        sides: sides.copied().map(by_month).collect(),
        find: format!(
            "SELECT s.*, t._file, t._pos FROM source_month AS s LEFT JOIN (SELECT *, _file, _pos FROM lake.s.lineitem \
             WHERE l_shipdate >= DATE '{first}' AND l_shipdate < DATE '{next}') AS t ON t.l_shipdate = s.l_shipdate AND \
             t.l_orderkey = s.l_orderkey AND t.l_linenumber = s.l_linenumber"
        ),
        only: Some("l_shipdate_month=1995-03"),
        ..merge
    }
}
