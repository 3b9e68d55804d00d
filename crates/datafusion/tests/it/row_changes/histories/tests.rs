//! The model knows SQL.

use super::expression::{At, Cond, Expr, Rows, Scope, Subquery};
use super::statement::{Action, Assigned, Clause, Failure, Source, Sql, State, Statement};
use super::value::{Column, Of, Row, Value};

fn number(value: i64) -> Option<Value> {
    Some(Value::Int(value))
}

fn literal(value: Option<i64>) -> Expr {
    Expr::Literal(value.map(Value::Int), Of::Long)
}

fn column(scope: Scope, place: usize, sql: &str) -> Expr {
    Expr::Column {
        scope,
        place,
        sql: sql.to_string(),
    }
}

fn at<'a>(source: &'a [Row]) -> At<'a> {
    At {
        target: &[],
        source: &[],
        inner: &[],
        relations: Rows { source, target: &[] },
    }
}

#[test]
fn conditions_have_three_values() {
    let (one, null) = (literal(Some(1)), literal(None));
    let known = |truth| Box::new(Cond::Known(truth));
    let inner = || column(Scope::Inner, 0, "q.a");
    let query = |filter| {
        Box::new(Subquery {
            of_target: false,
            column: inner(),
            filter,
        })
    };
    let below = |value| Some(Cond::Compare("<", inner(), literal(Some(value))));
    let source = [vec![number(2)], vec![None], vec![number(3)]];
    for (condition, truth) in [
        (Cond::Compare("=", one.clone(), null.clone()), None),
        (
            Cond::Compare("IS DISTINCT FROM", one.clone(), null.clone()),
            Some(true),
        ),
        (
            Cond::Compare("IS NOT DISTINCT FROM", null.clone(), null.clone()),
            Some(true),
        ),
        (
            Cond::In(one.clone(), vec![null.clone(), one.clone()], false),
            Some(true),
        ),
        (
            Cond::In(one.clone(), vec![null.clone(), literal(Some(2))], false),
            None,
        ),
        (
            Cond::In(one.clone(), vec![null.clone(), literal(Some(2))], true),
            None,
        ),
        (Cond::In(null.clone(), vec![one.clone()], true), None),
        (
            Cond::Between(one.clone(), literal(Some(2)), null.clone(), false),
            Some(false),
        ),
        (
            Cond::Between(one.clone(), literal(Some(0)), null.clone(), true),
            None,
        ),
        (Cond::And(known(None), known(Some(false))), Some(false)),
        (Cond::And(known(None), known(Some(true))), None),
        (Cond::Or(known(None), known(Some(true))), Some(true)),
        (Cond::Or(known(None), known(Some(false))), None),
        (Cond::Not(known(None)), None),
        (Cond::Is(known(None), "IS NOT TRUE"), Some(true)),
        (Cond::Is(known(None), "IS FALSE"), Some(false)),
        (Cond::InQuery(literal(Some(2)), query(None), false), Some(true)),
        (Cond::InQuery(one.clone(), query(None), true), None),
        (Cond::InQuery(one.clone(), query(below(3)), true), Some(true)),
        (Cond::InQuery(null.clone(), query(below(0)), true), Some(true)),
        (Cond::InQuery(null, query(below(3)), true), None),
        (Cond::Exists(query(below(2)), false), Some(false)),
        (Cond::Exists(query(below(3)), false), Some(true)),
    ] {
        assert_eq!(condition.truth(at(&source)), truth, "{condition}");
    }
}

#[test]
fn patterns_match_characters() {
    let like = |text: &str, pattern| {
        let text = Expr::Literal(Some(Value::Text(text.to_string())), Of::Text);
        Cond::Like(text, pattern, false).holds(at(&[]))
    };
    for (text, pattern, is_like) in [
        ("abc", "a%", true),
        ("abc", "%b%", true),
        ("é", "_", true),
        ("", "_", false),
        ("", "%", true),
        ("", "", true),
        ("ab", "a", false),
        ("aé", "%é", true),
    ] {
        assert_eq!(like(text, pattern), is_like, "{text} LIKE {pattern}");
    }
}

fn state(rows: &[(i64, Option<i64>)]) -> State {
    State {
        columns: vec![Column::new("tag", Of::Long), Column::new("k", Of::Int)],
        rows: rows
            .iter()
            .map(|(tag, k)| vec![number(*tag), k.map(Value::Int)])
            .collect(),
    }
}

/// A MERGE on `k` of the source rows with these values of `k`, and the tags 0, 1 and so on.
fn merge(keys: &[Option<i64>], clauses: Vec<Clause>) -> Statement {
    let rows = keys
        .iter()
        .zip(0..)
        .map(|(k, tag)| vec![number(tag), k.map(Value::Int)]);
    Statement::Merge {
        source: Source {
            rows: rows.collect(),
            columns: state(&[]).columns,
            sql: "src AS s".to_string(),
        },
        on: Cond::Compare(
            "=",
            column(Scope::Target, 1, "a.k"),
            column(Scope::Source, 1, "s.k"),
        ),
        clauses,
    }
}

fn clause(condition: Option<Cond>, action: Action) -> Clause {
    Clause { condition, action }
}

#[test]
fn the_first_clause_that_holds_is_taken() {
    let table = state(&[(10, Some(1)), (11, Some(2)), (12, None), (13, Some(4))]);
    let new_k = |value| vec![(1, Assigned::To(literal(Some(value))))];
    let is_one = Cond::Compare("=", column(Scope::Source, 1, "s.k"), literal(Some(1)));
    let is_null = Cond::Null(column(Scope::Target, 1, "a.k"), false);
    let tag = Expr::Integer(Box::new(column(Scope::Source, 0, "s.tag")), '+', 100);
    let statement = merge(
        &[Some(1), Some(2), None, Some(9)],
        vec![
            clause(Some(is_one), Action::Update(new_k(7))),
            clause(None, Action::Delete),
            clause(
                None,
                Action::Insert {
                    values: vec![
                        (0, Assigned::To(tag)),
                        (1, Assigned::To(column(Scope::Source, 1, "s.k"))),
                    ],
                    by_target: false,
                },
            ),
            clause(Some(is_null), Action::UpdateLeft(new_k(8))),
            clause(None, Action::DeleteLeft),
        ],
    );
    let after = table.after(&statement, &[]).unwrap();
    let expected = state(&[(10, Some(7)), (12, Some(8)), (102, None), (103, Some(9))]);
    assert_eq!(after.rows, expected.rows);
    assert_eq!(after.count(), 6);
    assert_eq!(
        Sql(&statement, &table.columns).to_string(),
        "MERGE INTO t AS a USING src AS s ON a.k = s.k WHEN MATCHED AND s.k = 1 THEN UPDATE SET k = 7 \
         WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (tag, k) VALUES ((s.tag + 100), s.k) \
         WHEN NOT MATCHED BY SOURCE AND a.k IS NULL THEN UPDATE SET k = 8 WHEN NOT MATCHED BY SOURCE THEN DELETE"
    );
}

#[test]
fn several_changes_of_a_row_are_an_error() {
    let table = state(&[(10, Some(1)), (11, Some(2))]);
    let keys = [Some(1), Some(1), Some(2)];
    let delete = |condition| vec![clause(condition, Action::Delete)];
    let of_tag = |operator, tag| {
        Some(Cond::Compare(
            operator,
            column(Scope::Source, 0, "s.tag"),
            literal(Some(tag)),
        ))
    };
    let failure = table
        .after(&merge(&keys, delete(of_tag("<", 2))), &[])
        .unwrap_err();
    assert_eq!(failure, Failure::Cardinality);
    let after = table.after(&merge(&keys, delete(of_tag("=", 1))), &[]).unwrap();
    assert_eq!(after.rows, state(&[(11, Some(2))]).rows);
    // Unless all that match are deleted, whatever they match.
    let after = table.after(&merge(&keys, delete(None)), &[]).unwrap();
    assert_eq!((after.rows.len(), after.count()), (0, 2));
}

#[test]
fn values_must_fit() {
    let table = state(&[(10, Some(1)), (11, None)]);
    let sum = Expr::Integer(Box::new(column(Scope::Target, 1, "k")), '+', 3_000_000_000);
    let update = |filter| Statement::Update {
        alias: None,
        assignments: vec![(1, Assigned::To(sum.clone()))],
        from: None,
        filter,
    };
    assert_eq!(table.after(&update(None), &[]).unwrap_err(), Failure::Store);
    let only_null = Cond::Null(column(Scope::Target, 1, "k"), false);
    assert_eq!(
        table.after(&update(Some(only_null)), &[]).unwrap().rows,
        table.rows
    );
}
