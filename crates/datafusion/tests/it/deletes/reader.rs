//! Answers of the Iceberg table, and those of the rows in memory.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{Field, Schema as ArrowSchema};
use datafusion::catalog::MemoryCatalogProviderList;
use datafusion::common::ScalarValue;
use datafusion::datasource::MemTable;
use datafusion::error::DataFusionError;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::optimizer::decorrelate_predicate_subquery::DecorrelatePredicateSubquery;
use datafusion::physical_plan::execution_plan::reset_plan_states;
use datafusion::physical_plan::{ExecutionPlan, collect, displayable};
use datafusion::prelude::{SessionConfig, SessionContext};
use drumlin_datafusion::IcebergTableProvider;
use drumlin_table::Table;
use drumlin_testing::array::batch;
use futures::StreamExt;

use super::claimed_pool::ClaimedPool;
use super::model::{LiveRow, State};
use super::query::{Compared, Query};
use crate::random::Random;

/// Sessions are made of this, so that functions and rules are made once.
static STATE: LazyLock<SessionState> =
    LazyLock::new(|| SessionStateBuilder::new().with_default_features().build());

/// The same for the rows in memory, without all optimizations that DataFusion can do without: it is faster, and
/// another way to the answer.
static PLAIN_STATE: LazyLock<SessionState> = LazyLock::new(|| {
    let subqueries = Arc::new(DecorrelatePredicateSubquery::new());
    SessionStateBuilder::new()
        .with_default_features()
        .with_optimizer_rules(vec![subqueries])
        .with_physical_optimizer_rules(vec![])
        .build()
});

/// Where keys of equality deletes are joined, because memory seems to be short.
static JOINED: LazyLock<Arc<RuntimeEnv>> = LazyLock::new(|| {
    let pool = Arc::new(ClaimedPool::default());
    let runtime = RuntimeEnvBuilder::new().with_memory_pool(pool).build();
    Arc::new(runtime.unwrap())
});

fn session(state: SessionStateBuilder, config: SessionConfig) -> SessionContext {
    // Its own catalog, too, so that sessions do not see each other's tables.
    let catalogs = Arc::new(MemoryCatalogProviderList::new());
    SessionContext::new_with_state(state.with_config(config).with_catalog_list(catalogs).build())
}

/// The rows of a state in memory.
pub struct Expected {
    context: SessionContext,
}

impl Expected {
    pub fn new(state: &State) -> Self {
        let live = state.live_rows();
        let table = table_of(&live, state);
        let context = session(
            PLAIN_STATE.clone().into(),
            SessionConfig::new().with_target_partitions(1),
        );
        let memory = MemTable::try_new(table.schema(), vec![vec![table]]).unwrap();
        context.register_table("t", Arc::new(memory)).unwrap();
        Self { context }
    }

    /// What the query must answer.
    ///
    /// # Panics
    /// The query makes no sense.
    pub async fn answer(&self, query: &Query) -> Vec<String> {
        let sql = &query.sql_in_memory;
        let frame = self.context.sql(sql).await;
        let batches = frame.unwrap_or_else(|e| panic!("{sql}: {e}")).collect().await;
        texts(&batches.unwrap_or_else(|e| panic!("{sql}: {e}")))
    }
}

/// The columns of the schema, and the metadata columns behind them.
fn table_of(live: &[LiveRow], state: &State) -> RecordBatch {
    let rows: Vec<_> = live.iter().map(|live| live.row.clone()).collect();
    let own = batch(&rows, &state.schema);
    let metadata: [(&str, ArrayRef); 5] = [
        (
            "_pos",
            Arc::new(Int64Array::from_iter_values(live.iter().map(|l| l.position))),
        ),
        (
            "_file",
            Arc::new(StringArray::from_iter_values(
                live.iter().map(|l| l.file.as_ref()),
            )),
        ),
        (
            "_spec_id",
            Arc::new(Int32Array::from_iter_values(live.iter().map(|l| l.spec_id))),
        ),
        (
            "_row_id",
            Arc::new(Int64Array::from_iter(live.iter().map(|l| l.lineage.0))),
        ),
        (
            "_last_updated_sequence_number",
            Arc::new(Int64Array::from_iter(live.iter().map(|l| l.lineage.1))),
        ),
    ];
    let mut fields: Vec<_> = own.schema().fields().iter().cloned().collect();
    let mut columns = own.columns().to_vec();
    for (name, column) in metadata {
        fields.push(Arc::new(Field::new(name, column.data_type().clone(), true)));
        columns.push(column);
    }
    RecordBatch::try_new(Arc::new(ArrowSchema::new(fields)), columns).unwrap()
}

/// A session over the Iceberg table.
pub struct Reader {
    pub settings: String,
    context: SessionContext,
    random: Random,
}

impl Reader {
    /// Of a table with or without its metadata columns, with random settings.
    pub fn random(table: &Table, metadata: bool, random: &mut Random) -> Self {
        let settings = [
            (
                "execution.target_partitions",
                *random.pick(&["1", "2", "7", "16"]),
            ),
            ("execution.batch_size", *random.pick(&["1", "3", "200", "8192"])),
            (
                "execution.parquet.pushdown_filters",
                *random.pick(&["true", "false"]),
            ),
            (
                "optimizer.repartition_file_min_size",
                *random.pick(&["0", "1", "10485760"]),
            ),
            ("optimizer.max_passes", *random.pick(&["1", "1", "1", "3"])),
            (
                "optimizer.prefer_hash_join",
                *random.pick(&["true", "true", "false"]),
            ),
        ];
        let mut config = SessionConfig::new();
        for (key, value) in settings {
            config = config.set_str(&format!("datafusion.{key}"), value);
        }
        let joined = random.percent(20);
        let mut state = SessionStateBuilder::from(STATE.clone());
        if joined {
            state = state.with_runtime_env(Arc::clone(&JOINED));
        }
        let context = session(state, config);
        let mut provider = IcebergTableProvider::try_new(table.clone()).unwrap();
        if metadata {
            provider = provider.with_metadata_columns();
        }
        context.register_table("t", Arc::new(provider)).unwrap();
        let settings: Vec<_> = settings
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        Self {
            settings: format!("{}, joined={joined}", settings.join(" ")),
            context,
            random: Random::new(random.next()),
        }
    }

    /// Runs the query, its plan twice now and then; how the answer differs from what it must be.
    pub async fn check(&mut self, query: &Query, wanted: &[String]) -> Result<(), String> {
        let failed = |e: DataFusionError| format!("error: {e}");
        let frame = self.context.sql(&query.sql).await.map_err(failed)?;
        let mut plan = frame.create_physical_plan().await.map_err(failed)?;
        // DataFusion runs plans whose filters learn only once.
        let learns = displayable(plan.as_ref())
            .indent(false)
            .to_string()
            .contains("DynamicFilter");
        if !learns && self.random.percent(25) {
            self.begin(&plan).await.map_err(failed)?;
            plan = reset_plan_states(plan).map_err(failed)?;
        }
        let batches = collect(Arc::clone(&plan), self.context.task_ctx())
            .await
            .map_err(failed)?;
        compare(query, wanted, texts(&batches))?;
        if !learns && self.random.percent(40) {
            let plan = reset_plan_states(plan).map_err(failed)?;
            let batches = collect(plan, self.context.task_ctx()).await.map_err(failed)?;
            compare(query, wanted, texts(&batches)).map_err(|e| format!("when the plan runs again: {e}"))?;
        }
        Ok(())
    }

    /// Takes the first batch of a partition and drops the rest.
    async fn begin(&mut self, plan: &Arc<dyn ExecutionPlan>) -> Result<(), DataFusionError> {
        let partitions = plan.properties().output_partitioning().partition_count();
        let partition = self.random.below(partitions);
        let mut stream = plan.execute(partition, self.context.task_ctx())?;
        stream.next().await.transpose()?;
        Ok(())
    }

    /// The plan of a query.
    pub async fn plan(&self, query: &Query) -> String {
        let frame = match self.context.sql(&query.sql).await {
            Ok(frame) => frame.create_physical_plan().await,
            Err(e) => Err(e),
        };
        match frame {
            Ok(plan) => displayable(plan.as_ref()).indent(false).to_string(),
            Err(e) => e.to_string(),
        }
    }
}

fn compare(query: &Query, wanted: &[String], mut found: Vec<String>) -> Result<(), String> {
    let mut wanted = wanted.to_vec();
    let is_right = match &query.compared {
        Compared::Ordered => found == wanted,
        Compared::Rows => {
            wanted.sort();
            found.sort();
            found == wanted
        }
        Compared::SomeOf(limit) => {
            let mut rest = counts(&wanted);
            let is_some = found.iter().all(|row| {
                let left = rest.entry(row).or_default();
                *left -= 1;
                *left >= 0
            });
            is_some && found.len() == wanted.len().min(*limit)
        }
    };
    if is_right {
        return Ok(());
    }
    let (a, b) = (counts(&wanted), counts(&found));
    let more = |a: &BTreeMap<&String, i64>, b: &BTreeMap<&String, i64>| -> Vec<String> {
        let rows = a
            .iter()
            .filter(|(row, count)| **count > b.get(*row).copied().unwrap_or(0));
        rows.map(|(row, _)| (*row).clone()).take(8).collect()
    };
    Err(format!(
        "expected {} rows, found {}; missing {:?}, too much {:?}",
        wanted.len(),
        found.len(),
        more(&a, &b),
        more(&b, &a)
    ))
}

fn counts(rows: &[String]) -> BTreeMap<&String, i64> {
    let mut counts = BTreeMap::new();
    for row in rows {
        *counts.entry(row).or_default() += 1;
    }
    counts
}

/// Each row as text.
fn texts(batches: &[RecordBatch]) -> Vec<String> {
    let mut rows = Vec::new();
    for batch in batches {
        for row in 0..batch.num_rows() {
            let value =
                |column: &ArrayRef| format!("{:?}", ScalarValue::try_from_array(column, row).unwrap());
            let values: Vec<_> = batch.columns().iter().map(value).collect();
            rows.push(values.join(" | "));
        }
    }
    rows
}
