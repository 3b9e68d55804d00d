//! `INSERT … ON CONFLICT`: a MERGE by the identifier fields of the table, or by the columns that the statement names.
//!
//! ```text
//! INSERT INTO t (k, a) <rows> ON CONFLICT (k) DO UPDATE SET a = excluded.a
//!
//! MERGE INTO t USING (SELECT *, row_number() OVER (PARTITION BY k) AS nth FROM (<rows>) AS rows (k, a)) AS excluded
//! ON t.k = excluded.k
//! WHEN MATCHED THEN UPDATE SET a = excluded.a
//! WHEN NOT MATCHED AND nth = 1 THEN INSERT (k, a) VALUES (excluded.k, excluded.a)
//! ```
//!
//! Several new rows with one key would make it several rows of the table. `DO NOTHING` takes one of them, `DO UPDATE` is an
//! error, as in PostgreSQL.

use std::sync::Arc;

use datafusion::arrow::array::AsArray;
use datafusion::arrow::datatypes::{DataType, Int64Type, UInt64Type};
use datafusion::common::{Result, ScalarValue, exec_err, plan_err};
use datafusion::execution::SessionState;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr as PlanExpr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility, lit,
};
use datafusion::sql::sqlparser::ast::helpers::attached_token::AttachedToken;
use datafusion::sql::sqlparser::ast::{
    self, BinaryOperator, ConflictTarget, Expr, Ident, Insert, Merge, MergeAction, MergeClause,
    MergeClauseKind, MergeInsertExpr, MergeInsertKind, MergeUpdateExpr, ObjectName, OnConflictAction,
    OnInsert, SetExpr, TableFactor, Values,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::Parser;

use super::assignment::column;
use crate::sql::insert::is_plain;
use crate::sql::target::Target;

/// The name of the new rows in `DO UPDATE`.
const EXCLUDED: &str = "excluded";

/// The number of a row among the new ones with its key.
const NTH: &str = "drumlin$nth";

/// What becomes of several new rows with one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SameKey {
    /// One is taken.
    First,
    /// They are an error.
    Refused,
}

impl SameKey {
    /// The condition of inserting a row, from its number among those of its key.
    pub(super) fn condition(self, nth: PlanExpr) -> PlanExpr {
        match self {
            Self::First => nth.eq(lit(1u64)),
            Self::Refused => PlanExpr::ScalarFunction(ScalarFunction::new_udf(
                Arc::new(ScalarUDF::new_from_impl(OnlyOne::default())),
                vec![nth],
            )),
        }
    }
}

/// The MERGE that an INSERT with ON CONFLICT is, into the table `scanned`.
///
/// # Errors
/// No columns by which rows are the same, or some that may be NULL; clauses that are not supported.
pub(super) fn merge_of(
    insert: Insert,
    target: &Target,
    scanned: TableFactor,
    state: &SessionState,
) -> Result<(Merge, SameKey)> {
    let name = &target.name;
    let without = Insert {
        on: None,
        table_alias: None,
        ..insert.clone()
    };
    if !is_plain(&without) || insert.overwrite || insert.partitioned.is_some() {
        return plan_err!(
            "INSERT INTO {name} … ON CONFLICT: OR, IGNORE, REPLACE, OVERWRITE, PARTITION, RETURNING and the like cannot be combined \
             with it"
        );
    }
    let Some(OnInsert::OnConflict(conflict)) = insert.on else {
        return plan_err!("INSERT INTO {name}: ON DUPLICATE KEY is not supported; use ON CONFLICT");
    };
    let Some(source) = insert.source else {
        return plan_err!("INSERT INTO {name} … ON CONFLICT: there are no rows");
    };
    let fields = target.provider.table().schema().fields();
    let place = |name: &ObjectName| column("INSERT INTO", name, target, None, state);
    let columns: Vec<Ident> = match insert.columns.is_empty() {
        true => fields.iter().map(|field| quoted(&field.name)).collect(),
        false => {
            let listed = insert.columns.iter().map(|column| Ok(fields.get(place(column)?)));
            let listed = listed.collect::<Result<Vec<_>>>()?;
            listed
                .into_iter()
                .flatten()
                .map(|field| quoted(&field.name))
                .collect()
        }
    };
    let key = key_of(conflict.conflict_target, target, place)?;
    if let Some(missing) = key.iter().find(|key| !columns.contains(key)) {
        return plan_err!(
            "INSERT INTO {name} … ON CONFLICT: the rows have no value for {missing}, which says which row they are"
        );
    }
    let of_excluded = |column: &Ident| Expr::CompoundIdentifier(vec![Ident::new(EXCLUDED), column.clone()]);
    let qualifier: Vec<Ident> = match &scanned {
        TableFactor::Table {
            alias: Some(alias), ..
        } => vec![alias.name.clone()],
        _ => name
            .0
            .iter()
            .filter_map(|part| part.as_ident().cloned())
            .collect(),
    };
    let of_table =
        |column: &Ident| Expr::CompoundIdentifier(qualifier.iter().chain([column]).cloned().collect());
    let same = key.iter().map(|column| Expr::BinaryOp {
        left: Box::new(of_table(column)),
        op: BinaryOperator::Eq,
        right: Box::new(of_excluded(column)),
    });
    let same = same.reduce(|all, one| Expr::BinaryOp {
        left: Box::new(all),
        op: BinaryOperator::And,
        right: Box::new(one),
    });
    let Some(on) = same else {
        return plan_err!("INSERT INTO {name} … ON CONFLICT: there is no key");
    };
    let inserted = MergeClause {
        when_token: AttachedToken::empty(),
        clause_kind: MergeClauseKind::NotMatched,
        predicate: Some(of_excluded(&quoted(NTH))),
        action: MergeAction::Insert(MergeInsertExpr {
            insert_token: AttachedToken::empty(),
            columns: columns
                .iter()
                .map(|column| ObjectName::from(vec![column.clone()]))
                .collect(),
            kind_token: AttachedToken::empty(),
            kind: MergeInsertKind::Values(Values {
                value_keyword: false,
                explicit_row: false,
                rows: vec![ast::Parens::with_empty_span(
                    columns.iter().map(of_excluded).collect(),
                )],
            }),
            insert_predicate: None,
        }),
    };
    let (clauses, same_key) = match conflict.action {
        OnConflictAction::DoNothing => (vec![inserted], SameKey::First),
        OnConflictAction::DoUpdate(update) => {
            let updated = MergeClause {
                when_token: AttachedToken::empty(),
                clause_kind: MergeClauseKind::Matched,
                predicate: update.selection,
                action: MergeAction::Update(MergeUpdateExpr {
                    update_token: AttachedToken::empty(),
                    assignments: update.assignments,
                    update_predicate: None,
                    delete_predicate: None,
                }),
            };
            (vec![updated, inserted], SameKey::Refused)
        }
    };
    let merge = Merge {
        merge_token: AttachedToken::empty(),
        optimizer_hints: vec![],
        into: true,
        table: scanned,
        source: numbered(*source, &columns, &key)?,
        on: Box::new(on),
        clauses,
        output: None,
    };
    Ok((merge, same_key))
}

/// The columns by which rows are the same.
fn key_of(
    named: Option<ConflictTarget>,
    target: &Target,
    place: impl Fn(&ObjectName) -> Result<usize>,
) -> Result<Vec<Ident>> {
    let schema = target.provider.table().schema();
    let fields = match named {
        Some(ConflictTarget::OnConstraint(constraint)) => {
            return plan_err!(
                "INSERT INTO {} … ON CONFLICT: there is no constraint `{constraint}`",
                target.name
            );
        }
        Some(ConflictTarget::Columns(columns)) => {
            let places = columns
                .into_iter()
                .map(|column| place(&ObjectName::from(vec![column])));
            let places = places.collect::<Result<Vec<_>>>()?;
            places
                .into_iter()
                .filter_map(|place| schema.fields().get(place))
                .collect()
        }
        None => {
            let ids = schema.identifier_field_ids();
            let fields: Vec<_> = schema
                .fields()
                .iter()
                .filter(|field| ids.contains(&field.id))
                .collect();
            if fields.is_empty() || fields.len() != ids.len() {
                return plan_err!(
                    "INSERT INTO {} … ON CONFLICT: the table has no identifier fields (PRIMARY KEY) among its columns; name the \
                     columns that say which row it is: ON CONFLICT (…)",
                    target.name
                );
            }
            fields
        }
    };
    if let Some(optional) = fields.iter().find(|field| !field.required) {
        return plan_err!(
            "INSERT INTO {} … ON CONFLICT: the column `{}` may be NULL, and does not say which row it is",
            target.name,
            optional.name
        );
    }
    Ok(fields.into_iter().map(|field| quoted(&field.name)).collect())
}

/// The new rows, each with its number among those of its key.
fn numbered(source: ast::Query, columns: &[Ident], key: &[Ident]) -> Result<TableFactor> {
    let list = |idents: &[Ident]| {
        idents
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(", ")
    };
    let (columns, key) = (list(columns), list(key));
    let text = format!(
        "SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY {key}) AS \"{NTH}\" FROM (SELECT 1) AS \"drumlin$rows\" \
         ({columns})) AS {EXCLUDED}"
    );
    let mut parsed = Parser::parse_sql(&GenericDialect {}, &text)?;
    if let Some(ast::Statement::Query(outer)) = parsed.first_mut()
        && let SetExpr::Select(outer) = outer.body.as_mut()
        && let Some(table) = outer.from.first_mut()
        && let TableFactor::Derived { subquery, .. } = &mut table.relation
        && let SetExpr::Select(inner) = subquery.body.as_mut()
        && let Some(rows) = inner.from.first_mut()
        && let TableFactor::Derived { subquery: rows, .. } = &mut rows.relation
    {
        **rows = source;
        return Ok(table.relation.clone());
    }
    plan_err!("the rows of INSERT … ON CONFLICT cannot be planned")
}

fn quoted(name: &str) -> Ident {
    Ident::with_quote('"', name)
}

/// TRUE for the first row of a key; an error for the others.
#[derive(Debug, PartialEq, Eq, Hash)]
struct OnlyOne {
    signature: Signature,
}

impl Default for OnlyOne {
    fn default() -> Self {
        Self {
            signature: Signature::any(1, Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for OnlyOne {
    fn name(&self) -> &str {
        "only_one"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        for arg in ColumnarValue::values_to_arrays(&args.args)? {
            let second = match arg.data_type() {
                DataType::UInt64 => arg
                    .as_primitive::<UInt64Type>()
                    .iter()
                    .flatten()
                    .any(|nth| nth > 1),
                DataType::Int64 => arg
                    .as_primitive::<Int64Type>()
                    .iter()
                    .flatten()
                    .any(|nth| nth > 1),
                other => return exec_err!("{} of a value of type {other}", self.name()),
            };
            if second {
                return exec_err!(
                    "INSERT … ON CONFLICT DO UPDATE: several of the new rows have the same key, so that it is not said which one \
                     the table is to hold: make them unique"
                );
            }
        }
        Ok(ColumnarValue::Scalar(ScalarValue::Boolean(Some(true))))
    }
}
