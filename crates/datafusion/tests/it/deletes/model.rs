//! Which rows a table has, by the rules of the specification (§ Scan Planning) and nothing else: each row is held
//! against each delete.

use std::collections::BTreeSet;
use std::sync::Arc;

use drumlin_format::manifest::DataFile;
use drumlin_format::partition::PartitionTuple;
use drumlin_format::schema::Schema;
use drumlin_format::value::Value;
use drumlin_testing::Row;
use drumlin_testing::rows::{read_as, value_at};

/// A data file and its rows.
#[derive(Debug, Clone)]
pub struct Data {
    pub file: DataFile,
    /// The data sequence number.
    pub sequence_number: i64,
    /// The schema that it was written with.
    pub schema: Arc<Schema>,
    pub rows: Arc<Vec<Row>>,
    /// The row id and the sequence number of the last update, where the file stores them for each row.
    pub lineage: Option<Arc<Vec<Lineage>>>,
}

/// What row lineage says of a row: its id, and the sequence number of its last update.
pub type Lineage = (Option<i64>, Option<i64>);

/// A delete file or a deletion vector.
#[derive(Debug, Clone)]
pub struct Delete {
    pub file: DataFile,
    pub sequence_number: i64,
    pub of: Deleted,
}

/// What a delete takes away.
#[derive(Debug, Clone)]
pub enum Deleted {
    /// Positions of data files.
    Positions(Vec<(Arc<str>, i64)>),
    /// Positions of the one data file that it references.
    Vector(BTreeSet<i64>),
    /// Rows that have one of these keys in the columns of the equality ids.
    Keys {
        /// Whether its spec is without partitions, so that it is for all of them.
        global: bool,
        keys: Vec<Vec<Option<Value>>>,
    },
}

/// Kinds of deletes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    PositionDelete,
    DeletionVector,
    EqualityDelete,
}

/// The table at one snapshot.
#[derive(Debug, Clone, Default)]
pub struct State {
    pub snapshot_id: i64,
    /// The schema that it is read with.
    pub schema: Arc<Schema>,
    /// All schemas so far, the latest last.
    pub schemas: Vec<Arc<Schema>>,
    pub data: Vec<Data>,
    pub deletes: Vec<Delete>,
}

/// A row that is not deleted.
#[derive(Debug)]
pub struct LiveRow {
    /// By the schema of the state.
    pub row: Row,
    pub file: Arc<str>,
    pub spec_id: i32,
    pub position: i64,
    pub lineage: Lineage,
}

impl State {
    /// All rows that are not deleted.
    pub fn live_rows(&self) -> Vec<LiveRow> {
        let of_file = |data| self.live_rows_of(data);
        self.data.iter().flat_map(of_file).collect()
    }

    /// The rows of a data file that are not deleted.
    pub fn live_rows_of(&self, data: &Data) -> Vec<LiveRow> {
        let live = (0..data.rows.len()).filter(|place| self.deleting(data, *place).is_empty());
        live.map(|place| LiveRow {
            row: read_as(&data.rows[place], &data.schema, &self.schema),
            file: Arc::clone(&data.file.file_path),
            spec_id: data.file.spec_id,
            position: i64::try_from(place).unwrap(),
            lineage: data.lineage(place),
        })
        .collect()
    }

    /// The kinds of the deletes that delete a row of a file.
    pub fn deleting(&self, data: &Data, place: usize) -> BTreeSet<Kind> {
        let deletes = self.deletes.iter();
        let deleting =
            deletes.filter(|delete| self.applies(delete, data) && self.deletes_row(delete, data, place));
        deleting.map(|delete| delete.of.kind()).collect()
    }

    /// Whether a delete is for a file at all.
    pub fn applies(&self, delete: &Delete, data: &Data) -> bool {
        let is_same_partition = delete.file.spec_id == data.file.spec_id
            && same_values(&delete.file.partition, &data.file.partition);
        let references = |path: Option<&str>| path.is_none_or(|path| path == &*data.file.file_path);
        match &delete.of {
            Deleted::Keys { global, .. } => {
                (*global || is_same_partition) && data.sequence_number < delete.sequence_number
            }
            Deleted::Vector(_) => {
                is_same_partition
                    && data.sequence_number <= delete.sequence_number
                    && references(delete.file.referenced_data_file.as_deref())
            }
            Deleted::Positions(_) => {
                is_same_partition
                    && data.sequence_number <= delete.sequence_number
                    && references(delete.file.referenced_data_file.as_deref())
                    && self.vector_of(data).is_none()
            }
        }
    }

    /// The deletion vector of a file.
    pub fn vector_of(&self, data: &Data) -> Option<&Delete> {
        let vectors = self.deletes.iter().filter(|d| matches!(d.of, Deleted::Vector(_)));
        vectors.clone().find(|vector| self.applies(vector, data))
    }

    fn deletes_row(&self, delete: &Delete, data: &Data, place: usize) -> bool {
        let position = i64::try_from(place).unwrap();
        match &delete.of {
            Deleted::Positions(positions) => {
                let is_row = |(path, at): &(Arc<str>, i64)| *path == data.file.file_path && *at == position;
                positions.iter().any(is_row)
            }
            Deleted::Vector(positions) => positions.contains(&position),
            Deleted::Keys { keys, .. } => {
                let ids = delete.file.equality_ids.as_deref().unwrap();
                keys.contains(&self.key(data, place, ids))
            }
        }
    }

    /// The values of fields in a row of a file, comparable with those of other files. Fields may have been dropped.
    pub fn key(&self, data: &Data, place: usize, ids: &[i32]) -> Vec<Option<Value>> {
        let value = |id: &i32| {
            if data.schema.field_by_id(*id).is_some() {
                return value_at(&data.rows[place], &data.schema.path_to(*id));
            }
            let mut schemas = self.schemas.iter().rev();
            let field = schemas.find_map(|schema| schema.field_by_id(*id)).unwrap();
            field.initial_default.clone()
        };
        ids.iter().map(|id| comparable(value(id))).collect()
    }
}

impl Data {
    /// What the file stores of a row, else what follows from the file.
    fn lineage(&self, place: usize) -> Lineage {
        let Some(first) = self.file.first_row_id else {
            return (None, None);
        };
        let (id, updated) = self.lineage.as_ref().map_or((None, None), |stored| stored[place]);
        let inherited = first + i64::try_from(place).unwrap();
        (
            Some(id.unwrap_or(inherited)),
            Some(updated.unwrap_or(self.sequence_number)),
        )
    }
}

impl Deleted {
    pub fn kind(&self) -> Kind {
        match self {
            Self::Positions(_) => Kind::PositionDelete,
            Self::Vector(_) => Kind::DeletionVector,
            Self::Keys { .. } => Kind::EqualityDelete,
        }
    }
}

/// The value in the widest type that its column can be promoted to.
pub fn comparable(value: Option<Value>) -> Option<Value> {
    match value {
        Some(Value::Int(value)) => Some(Value::Long(i64::from(value))),
        other => other,
    }
}

/// Whether these are values of one partition, whatever was promoted in between.
pub fn same_values(a: &PartitionTuple, b: &PartitionTuple) -> bool {
    let all = |tuple: &PartitionTuple| -> Vec<_> { tuple.iter().cloned().map(comparable).collect() };
    all(a) == all(b)
}
