//! Statements in one text each, and what they do to a model of the table.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    CopyOnWrite,
    MergeOnRead,
}

use Mode::{CopyOnWrite, MergeOnRead};

/// What a statement does. Those of row changes say `cat = '..' AND n IN (..)`, in MERGE too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// `INSERT INTO`
    Append,
    /// `INSERT OVERWRITE`, dynamic: of a partition.
    OverwritePartition,
    /// `INSERT OVERWRITE`, static: of all rows.
    OverwriteAll,
    Delete(Mode),
    Update(Mode),
    Merge(Mode),
    Truncate,
    /// Compaction: a file is replaced by one with the same rows.
    Rewrite,
}

use Op::{Append, Delete, Merge, OverwriteAll, OverwritePartition, Rewrite, Truncate, Update};

pub const OPS: [Op; 11] = [
    Append,
    OverwritePartition,
    OverwriteAll,
    Delete(CopyOnWrite),
    Delete(MergeOnRead),
    Update(CopyOnWrite),
    Update(MergeOnRead),
    Merge(CopyOnWrite),
    Merge(MergeOnRead),
    Truncate,
    Rewrite,
];

/// Where the first statement works, as seen from the second, which is about the row with `cat = 'a' AND n = 5`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// On that row, or on its like: new rows that are to be found by the same filter, its partition, its file.
    Row,
    /// On other rows of its file.
    File,
    /// On a file of its partition that could hold such rows, as far as its bounds say.
    Partition,
    /// On a file of its partition whose bounds say that it holds none.
    Bounds,
    /// On another partition.
    Elsewhere,
}

use Place::{Bounds, Elsewhere, File, Partition, Row};

/// The files before both statements: category and the numbers `n`. The first one is that of the second statement.
pub const FILES: [(&str, &[i64]); 4] = [
    ("a", &[1, 5, 9, 13]),
    ("a", &[0, 2, 6, 10]),
    ("a", &[101, 102, 103, 104]),
    ("b", &[5, 6, 7]),
];

impl Op {
    pub fn merges_on_read(self) -> bool {
        matches!(
            self,
            Delete(MergeOnRead) | Update(MergeOnRead) | Merge(MergeOnRead)
        )
    }

    /// The places of it that differ.
    pub fn places(self) -> &'static [Place] {
        match self {
            Append | Rewrite => &[Row, Partition, Bounds, Elsewhere],
            OverwritePartition => &[Row, Elsewhere],
            OverwriteAll | Truncate => &[Row],
            Delete(_) | Update(_) | Merge(_) => &[Row, File, Partition, Bounds, Elsewhere],
        }
    }

    /// The category and the numbers that it is about.
    pub fn about(self, place: Place) -> (&'static str, &'static [i64]) {
        match (self, place) {
            // Between them they have the 5 in their bounds.
            (Append, Partition) => ("a", &[4, 8]),
            (Append, Bounds) => ("a", &[200]),
            (_, Row) => ("a", &[5]),
            (_, File) => ("a", &[1, 9]),
            (_, Partition) => ("a", &[2, 6]),
            (_, Bounds) => ("a", &[101, 103]),
            (_, Elsewhere) => ("b", &[5]),
        }
    }

    /// The statement; `by` tells the rows of two statements apart. Compaction has none.
    pub fn sql(self, table: &str, place: Place, by: i64) -> String {
        let (cat, numbers) = self.about(place);
        let list = |cell: &dyn Fn(usize, i64) -> String| {
            let cells: Vec<_> = numbers.iter().enumerate().map(|(i, n)| cell(i, *n)).collect();
            cells.join(", ")
        };
        let new = list(&|i, n| format!("({}, '{cat}', {n}, {by})", by + i as i64));
        let filter = |of: &str| format!("{of}cat = '{cat}' AND {of}n IN ({})", list(&|_, n| n.to_string()));
        match self {
            Append => format!("INSERT INTO {table} VALUES {new}"),
            OverwritePartition | OverwriteAll => format!("INSERT OVERWRITE {table} VALUES {new}"),
            Delete(_) => format!("DELETE FROM {table} WHERE {}", filter("")),
            Update(_) => format!("UPDATE {table} SET v = v + {by} WHERE {}", filter("")),
            Merge(_) => {
                let source = list(&|i, n| format!("({}, {n})", by + i as i64));
                let unknown = by + 50;
                format!(
                    "MERGE INTO {table} AS t USING (VALUES {source}, ({unknown}, {unknown})) AS s (id, n) \
                     ON {} AND t.n = s.n WHEN MATCHED THEN UPDATE SET v = t.v + {by} \
                     WHEN NOT MATCHED THEN INSERT (id, cat, n, v) VALUES (s.id, '{cat}', s.n, {by})",
                    filter("t.")
                )
            }
            Truncate => format!("TRUNCATE TABLE {table}"),
            Rewrite => panic!("no statement"),
        }
    }

    /// Does it to the rows of the model. `blind`: to those only that the first statement has not written.
    pub fn apply(self, place: Place, by: i64, rows: &mut Vec<Known>, blind: bool) {
        let (cat, numbers) = self.about(place);
        let is_hit = |row: &Known| row.cat == cat && numbers.contains(&row.n) && !(blind && row.new);
        let new = |(i, n): (usize, &i64)| Known {
            id: by + i as i64,
            cat,
            n: *n,
            v: by,
            new: true,
        };
        let hit: Vec<i64> = rows.iter().filter(|r| is_hit(r)).map(|r| r.n).collect();
        match self {
            Append => {}
            OverwritePartition => rows.retain(|r| r.cat != cat),
            OverwriteAll | Truncate => rows.clear(),
            Delete(_) => rows.retain(|r| !is_hit(r)),
            Update(_) | Merge(_) => {
                for row in rows.iter_mut().filter(|r| is_hit(r)) {
                    row.v += by;
                    row.new = true;
                }
            }
            Rewrite => {}
        }
        match self {
            Append | OverwritePartition | OverwriteAll => rows.extend(numbers.iter().enumerate().map(new)),
            Merge(_) => {
                let of_source = numbers.iter().enumerate().filter(|(_, n)| !hit.contains(n));
                rows.extend(of_source.map(new));
                rows.extend([(50, &(by + 50))].map(new));
            }
            _ => {}
        }
    }
}

/// A row as the model knows it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Known {
    pub id: i64,
    pub cat: &'static str,
    pub n: i64,
    pub v: i64,
    /// Whether one of the statements has written it.
    pub new: bool,
}

/// The rows before both statements.
pub fn base() -> Vec<Known> {
    let files = FILES.iter().enumerate();
    let rows = files.flat_map(|(file, (cat, numbers))| {
        let row = move |(i, n): (usize, &i64)| Known {
            id: (10 * file + i) as i64,
            cat,
            n: *n,
            v: 0,
            new: false,
        };
        numbers.iter().enumerate().map(row)
    });
    rows.collect()
}

/// What the statements add to values, and where the ids of their new rows begin.
pub const FIRST: i64 = 300;
pub const SECOND: i64 = 7000;

impl Op {
    pub fn command(self) -> Option<&'static str> {
        match self {
            Delete(_) => Some("delete"),
            Update(_) => Some("update"),
            Merge(_) => Some("merge"),
            _ => None,
        }
    }

    pub fn mode_property(self) -> Option<(String, &'static str)> {
        let mode = if self.merges_on_read() {
            "merge-on-read"
        } else {
            "copy-on-write"
        };
        self.command().map(|of| (format!("write.{of}.mode"), mode))
    }
}

pub fn plain(rows: &[Known]) -> Vec<(i64, String, i64, i64)> {
    let mut rows: Vec<_> = rows.iter().map(|r| (r.id, r.cat.to_string(), r.n, r.v)).collect();
    rows.sort();
    rows
}
