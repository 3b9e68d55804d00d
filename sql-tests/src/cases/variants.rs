//! Files that run more than once: the same statements and rows for tables of every mode, version and layout.
//!
//! Such a file says so in its first line. Its tables have the columns `id` and `p`, by which they are partitioned, and are
//! made with two variables:
//!
//! ```text
//! # run for: row-level variants
//!
//! control substitution on
//!
//! statement ok
//! CREATE TABLE lake.s.t (id bigint, p string, n int) ${layout} TBLPROPERTIES (${properties})
//!
//! statement ok
//! INSERT INTO lake.s.t VALUES (1, 'a', 10), (2, 'b', 20)
//!
//! statement ok
//! evolve s.t
//!
//! statement ok
//! INSERT INTO lake.s.t VALUES (3, 'a', 30)
//! ```
//!
//! `evolve` changes the partition spec where the layout is the evolved one, and does nothing elsewhere
//! ([`Request`](super::lake::Request)).

/// How rows are changed, and in which version.
const MODES: [(u8, &str); 4] = [
    (2, "copy-on-write"),
    (2, "merge-on-read"),
    (3, "copy-on-write"),
    (3, "merge-on-read"),
];

/// How tables are partitioned.
const LAYOUTS: [(&str, &str); 3] = [
    ("unpartitioned", ""),
    ("partitioned", "PARTITIONED BY (p, bucket(2, id))"),
    ("evolved", "PARTITIONED BY (bucket(2, id), truncate(1, p))"),
];

/// What one run of a file is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Variant {
    version: u8,
    mode: &'static str,
    layout: (&'static str, &'static str),
}

impl Variant {
    /// The variants that the first line of a file asks for; none for a file that runs once.
    pub fn of(file: &str) -> Result<Vec<Self>, String> {
        let Some(asked) = file
            .lines()
            .next()
            .and_then(|line| line.strip_prefix("# run for:"))
        else {
            return Ok(Vec::new());
        };
        let from = match asked.trim() {
            "row-level variants" => 2,
            "row-level variants of version 3" => 3,
            other => {
                return Err(format!(
                    "the first line asks to run for `{other}`, which is not known"
                ));
            }
        };
        let modes = MODES.into_iter().filter(|(version, _)| *version >= from);
        let all = modes.flat_map(|(version, mode)| {
            LAYOUTS.map(|layout| Self {
                version,
                mode,
                layout,
            })
        });
        Ok(all.collect())
    }

    /// How reports name it.
    pub fn name(&self) -> String {
        format!("v{} {}, {}", self.version, self.mode, self.layout.0)
    }

    /// Whether tables get another spec on the way.
    pub fn evolves(&self) -> bool {
        self.layout.0 == "evolved"
    }

    /// What the variables of a file stand for.
    pub fn variables(&self) -> [(String, String); 2] {
        let modes = ["delete", "update", "merge"]
            .map(|statement| format!(", 'write.{statement}.mode' = '{}'", self.mode));
        let properties = format!("'format-version' = '{}'{}", self.version, modes.concat());
        [
            ("properties".to_owned(), properties),
            ("layout".to_owned(), self.layout.1.to_owned()),
        ]
    }
}
