//! A table of a history, and whether it is what the model says.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::common::ScalarValue;
use datafusion::error::DataFusionError;
use datafusion::prelude::{SessionConfig, SessionContext};
use drumlin_datafusion::{IcebergCatalogProvider, IcebergContextExt};
use drumlin_format::metadata::TableUpdate;
use drumlin_table::Table;
use drumlin_table::catalog::{Catalog, Namespace, TableIdent};
use drumlin_table::storage::Storage;
use drumlin_table::transaction::Transaction;

use super::expression::TARGET;
use super::metadata;
use super::seen::Seen;
use super::statement::{After, State, tag};
use super::value::{Row, Value};
use crate::random::Random;
use crate::session::{extended, rows};

/// What a row says of its history: its id, and the sequence number of its last change.
type Lineage = (Option<i64>, Option<i64>);

/// The catalog of sessions.
const CATALOG: &str = "w";

/// A table and a session that changes it.
pub struct Subject {
    /// That of its schema.
    pub name: &'static str,
    /// What it was made with, for people.
    pub made: String,
    pub table: Table,
    /// The states of its snapshots.
    states: BTreeMap<i64, State>,
    ident: TableIdent,
    catalog: Arc<dyn Catalog>,
    ctx: SessionContext,
    /// By tag.
    lineage: BTreeMap<i64, Lineage>,
}

/// A session with random settings, which it tells.
pub fn session(
    storage: &Storage,
    catalog: &Arc<dyn Catalog>,
    schema: &str,
    random: &mut Random,
) -> (SessionContext, String) {
    let settings = [
        ("execution.target_partitions", *random.pick(&["1", "2", "4"])),
        ("execution.batch_size", *random.pick(&["3", "8192", "8192"])),
        (
            "execution.parquet.pushdown_filters",
            *random.pick(&["true", "false"]),
        ),
        (
            "optimizer.repartition_file_min_size",
            *random.pick(&["0", "10485760"]),
        ),
        (
            "optimizer.prefer_hash_join",
            *random.pick(&["true", "true", "false"]),
        ),
    ];
    let mut config = SessionConfig::new()
        .with_default_catalog_and_schema(CATALOG, schema)
        .with_create_default_catalog_and_schema(false);
    for (key, value) in settings {
        config = config.set_str(&format!("datafusion.{key}"), value);
    }
    let ctx = extended(storage, config);
    ctx.register_catalog(
        CATALOG,
        Arc::new(IcebergCatalogProvider::new(Arc::clone(catalog))),
    );
    let settings: Vec<_> = settings
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    (ctx, settings.join(" "))
}

/// The columns as `CREATE TABLE` names them.
pub fn definitions(state: &State) -> String {
    let definition = |(place, column): (usize, &super::value::Column)| {
        let required = if place == 0 { " NOT NULL" } else { "" };
        format!("{} {}{required}", column.name, column.of.sql())
    };
    let columns: Vec<_> = state.columns.iter().enumerate().map(definition).collect();
    columns.join(", ")
}

impl Subject {
    /// Makes an empty table with the columns of a state.
    pub async fn create(
        name: &'static str,
        version: u8,
        merge_on_read: bool,
        state: &State,
        (storage, catalog): (&Storage, &Arc<dyn Catalog>),
        random: &mut Random,
    ) -> Self {
        let (ctx, settings) = session(storage, catalog, name, random);
        let mut properties = super::evolution::modes(|_| merge_on_read, random);
        properties.insert("format-version".to_string(), version.to_string());
        let few = *random.pick(&["2", "3", "100"]);
        properties.insert("commit.manifest.min-count-to-merge".to_string(), few.to_string());
        let bytes = *random.pick(&["1", "3000", "100000000"]);
        properties.insert("write.target-file-size-bytes".to_string(), bytes.to_string());
        let distribution = *random.pick(&["hash", "none"]);
        properties.insert("write.distribution-mode".to_string(), distribution.to_string());
        let properties: Vec<_> = properties.iter().map(|(k, v)| format!("'{k}' = '{v}'")).collect();
        let properties = properties.join(", ");
        rows(&ctx, &format!("CREATE SCHEMA {name}")).await;
        let columns = definitions(state);
        rows(
            &ctx,
            &format!("CREATE TABLE {TARGET} ({columns}) TBLPROPERTIES ({properties})"),
        )
        .await;
        let ident = TableIdent::new(Namespace::new([name]).unwrap(), TARGET).unwrap();
        let table = catalog.load_table(&ident).await.unwrap();
        Self {
            name,
            made: format!("{name}: {properties}; {settings}"),
            table,
            states: BTreeMap::new(),
            ident,
            catalog: Arc::clone(catalog),
            ctx,
            lineage: BTreeMap::new(),
        }
    }

    pub fn version(&self) -> u8 {
        self.table.metadata().format_version()
    }

    fn snapshot_id(&self) -> Option<i64> {
        self.table.metadata().current_snapshot_id()
    }

    /// Changes the metadata.
    pub async fn update(&mut self, updates: Vec<TableUpdate>) {
        let upgraded = updates
            .iter()
            .any(|update| matches!(update, TableUpdate::UpgradeFormatVersion(_)));
        self.table = Transaction::new(&self.table, self.ident.clone())
            .add_updates(updates)
            .commit(self.catalog.as_ref())
            .await
            .unwrap();
        if upgraded {
            // Rows get their ids with the next snapshot.
            self.lineage.clear();
        }
    }

    /// Runs a statement that must succeed, and looks at all that it has done.
    pub async fn check(
        &mut self,
        sql: &str,
        after: &After,
        state: &State,
        seen: &mut Seen,
    ) -> Result<(), String> {
        let answer = self.run(sql).await.map_err(|e| format!("error: {e}"))?;
        let expected = i64::try_from(after.count()).unwrap();
        let now = self.load().await;
        let before = std::mem::replace(&mut self.table, now);
        let found = self.rows(state, None).await?;
        let found = same(found, state)?;
        if answer != expected {
            return Err(format!("it answers {answer}, expected {expected}"));
        }
        self.check_snapshots(&before, after, state)?;
        let lineage: BTreeMap<i64, Lineage> = found.into_iter().collect();
        if self.version() >= 3 {
            self.check_lineage(&before, &lineage, after, seen)?;
        }
        self.lineage = lineage;
        let changed = self.snapshot_id() != before.metadata().current_snapshot_id();
        metadata::check(&self.table, changed, state.rows.len(), seen).await
    }

    /// Whether a statement is refused, as it is planned, with these words.
    pub async fn refuses(&self, sql: &str, says: &str) -> bool {
        let planned = self.ctx.iceberg_sql(sql).await;
        planned.is_err_and(|error| error.to_string().contains(says))
    }

    /// Runs a statement that must fail and change nothing.
    pub async fn check_refusal(&mut self, sql: &str, says: &str, state: &State) -> Result<(), String> {
        let error = match self.run(sql).await {
            Ok(count) => return Err(format!("it answers {count}, but must fail: {says}")),
            Err(error) => error,
        };
        let text = error.to_string();
        if matches!(error.find_root(), DataFusionError::Internal(_)) || !text.contains(says) {
            return Err(format!("it must say `{says}`, and not: {text}"));
        }
        let now = self.load().await;
        if now.metadata_location() != self.table.metadata_location() {
            return Err(format!("it failed, but left {}", now.metadata_location()));
        }
        let found = self.rows(state, None).await?;
        same(found, state).map(drop)
    }

    /// Reads a snapshot of which the state is known.
    pub async fn check_older(&self, random: &mut Random, seen: &mut Seen) -> Result<(), String> {
        let snapshots: Vec<_> = self.states.keys().collect();
        if snapshots.is_empty() {
            return Ok(());
        }
        let snapshot = **random.pick(&snapshots);
        let state = &self.states[&snapshot];
        let found = self.rows(state, Some(snapshot)).await?;
        seen.add("older snapshot read");
        same(found, state)
            .map(drop)
            .map_err(|e| format!("snapshot {snapshot}: {e}"))
    }

    async fn load(&self) -> Table {
        self.catalog.load_table(&self.ident).await.unwrap()
    }

    /// What a statement answers: the number of rows.
    async fn run(&self, sql: &str) -> Result<i64, DataFusionError> {
        let batches = self.ctx.iceberg_sql(sql).await?.collect().await?;
        let cells = crate::session::cells(&batches);
        match cells.as_slice() {
            [row] if row.len() == 1 => Ok(row[0].parse().unwrap()),
            other => Err(DataFusionError::Execution(format!("it answers {other:?}"))),
        }
    }

    /// The rows, each with its lineage where the version has it.
    async fn rows(&self, state: &State, snapshot: Option<i64>) -> Result<Vec<(Row, Lineage)>, String> {
        let mut names: Vec<_> = state.columns.iter().map(|column| column.name.as_str()).collect();
        let columns = names.len();
        let has_lineage = self.version() >= 3 && snapshot.is_none();
        if has_lineage {
            names.extend(["_row_id", "_last_updated_sequence_number"]);
        }
        let version = snapshot.map_or_else(String::new, |id| format!(" VERSION AS OF {id}"));
        let sql = format!("SELECT {} FROM {TARGET}{version}", names.join(", "));
        let failed = |e: DataFusionError| format!("{sql}: {e}");
        let frame = self.ctx.iceberg_sql(&sql).await.map_err(failed)?;
        let batches = frame.collect().await.map_err(failed)?;
        let mut found = Vec::new();
        for batch in &batches {
            for place in 0..batch.num_rows() {
                let row = (0..columns).map(|column| cell(batch, column, place)).collect();
                let number = |column| cell(batch, column, place).map(|value| value.integer());
                let lineage = match has_lineage {
                    true => (number(columns), number(columns + 1)),
                    false => (None, None),
                };
                found.push((row, lineage));
            }
        }
        Ok(found)
    }

    fn check_snapshots(&mut self, before: &Table, after: &After, state: &State) -> Result<(), String> {
        let (old, new) = (before.metadata(), self.table.metadata());
        let added = new.snapshots().len() - old.snapshots().len();
        if added > 1 || (added == 0 && after.count() > 0) {
            return Err(format!("it makes {added} snapshots"));
        }
        let Some(snapshot) = new.current_snapshot() else {
            return Ok(());
        };
        if added == 1 {
            let sequence_number = snapshot.sequence_number;
            if snapshot.parent_snapshot_id != old.current_snapshot_id()
                || sequence_number != old.last_sequence_number() + 1
            {
                return Err(format!("its snapshot is not the next one: {snapshot:?}"));
            }
            self.states.insert(snapshot.snapshot_id, state.clone());
        }
        Ok(())
    }

    fn check_lineage(
        &self,
        before: &Table,
        found: &BTreeMap<i64, Lineage>,
        after: &After,
        seen: &mut Seen,
    ) -> Result<(), String> {
        let (old, new) = (before.metadata(), self.table.metadata());
        let changed = new.current_snapshot_id() != old.current_snapshot_id();
        let sequence_number = new.current_snapshot().map(|snapshot| snapshot.sequence_number);
        let is_new =
            |id: Option<i64>| id.is_some_and(|id| (old.next_row_id()..new.next_row_id()).contains(&id));
        for (tag, (id, updated)) in found {
            let (known_id, known_updated) = self.lineage.get(tag).copied().unwrap_or_default();
            let what = match () {
                () if after.inserted.contains(tag) => "inserted",
                () if after.updated.contains(tag) => "updated",
                () => "not changed",
            };
            let id_is_right = match (what, known_id) {
                ("inserted", _) => is_new(*id),
                (_, Some(known)) => *id == Some(known),
                // Of a table that was upgraded.
                (_, None) => is_new(*id) || (!changed && id.is_none()),
            };
            let number_is_right = match (what, known_id) {
                ("inserted" | "updated", _) => *updated == sequence_number,
                (_, Some(_)) => *updated == known_updated,
                (_, None) => updated.is_some() || !changed,
            };
            if !id_is_right || !number_is_right {
                return Err(format!(
                    "the row with tag {tag} was {what}; it had id {known_id:?} and number {known_updated:?}, and has {id:?} \
                     and {updated:?}; the snapshot has {sequence_number:?}, and ids from {} to {}",
                    old.next_row_id(),
                    new.next_row_id()
                ));
            }
            if what == "updated" && known_id.is_some() {
                seen.add("row id kept by a changed row");
            }
        }
        let ids: BTreeSet<_> = found.values().filter_map(|(id, _)| *id).collect();
        let with_id = found.values().filter(|(id, _)| id.is_some()).count();
        match ids.len() == with_id {
            true => Ok(()),
            false => Err(format!("row ids are not unique: {found:?}")),
        }
    }
}

/// The lineage by tag, if the rows are those of the state.
fn same(mut found: Vec<(Row, Lineage)>, state: &State) -> Result<Vec<(i64, Lineage)>, String> {
    found.sort_by_key(|(row, _)| tag(row));
    let mut expected: Vec<&Row> = state.rows.iter().collect();
    expected.sort_by_key(|row| tag(row));
    let is_same = expected.len() == found.len() && expected.iter().zip(&found).all(|(a, (b, _))| *a == b);
    if is_same {
        return Ok(found
            .into_iter()
            .map(|(row, lineage)| (tag(&row), lineage))
            .collect());
    }
    let found: Vec<&Row> = found.iter().map(|(row, _)| row).collect();
    let more = |a: &[&Row], b: &[&Row]| -> Vec<String> {
        let only = a.iter().filter(|row| !b.contains(row));
        only.take(4).map(|row| text(row)).collect()
    };
    Err(format!(
        "expected {} rows, found {}; missing: {}; too much: {}",
        expected.len(),
        found.len(),
        more(&expected, &found).join(", "),
        more(&found, &expected).join(", ")
    ))
}

fn text(row: &Row) -> String {
    let cell = |cell: &Option<Value>| match cell {
        None => "-".to_string(),
        Some(Value::Int(value)) => value.to_string(),
        Some(other) => format!("{other:?}"),
    };
    format!("[{}]", row.iter().map(cell).collect::<Vec<_>>().join(" "))
}

/// A value of a table.
fn cell(batch: &RecordBatch, column: usize, row: usize) -> Option<Value> {
    use ScalarValue as S;
    Some(match S::try_from_array(batch.column(column), row).unwrap() {
        S::Int32(value) => Value::Int(i64::from(value?)),
        S::Int64(value) => Value::Int(value?),
        S::Utf8(value) | S::Utf8View(value) | S::LargeUtf8(value) => Value::Text(value?),
        S::Float64(value) => Value::Double(value?),
        S::Date32(value) => Value::Date(value?),
        S::TimestampMicrosecond(value, None) => Value::Stamp(value?),
        other => panic!("{other:?} is of no column"),
    })
}
