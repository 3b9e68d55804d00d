//! `ALTER TABLE … CREATE | REPLACE | DROP BRANCH | TAG`.

use datafusion::common::plan_err;
use datafusion::error::Result;
use drumlin_format::metadata::TableUpdate;
use drumlin_format::snapshot::{MAIN_BRANCH, RefKind, SnapshotRef};
use drumlin_table::Table;
use drumlin_table::transaction::Transaction;
use futures::future::BoxFuture;

use super::target::TableTarget;
use super::tokens::{Tokens, syntax};
use crate::error::external;

/// A change of one branch or tag.
#[derive(Debug)]
pub(in crate::sql) struct AlterRef {
    pub(super) table: TableTarget,
    kind: Kind,
    name: String,
    action: Action,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Branch,
    Tag,
}

#[derive(Debug)]
enum Action {
    Set {
        may_create: bool,
        may_replace: bool,
        if_not_exists: bool,
        /// `None`: the current one.
        snapshot_id: Option<i64>,
        kept: Kept,
    },
    Drop {
        if_exists: bool,
    },
}

/// For how long the ref, and the snapshots of a branch, are kept.
#[derive(Debug, Default)]
struct Kept {
    max_ref_age_ms: Option<i64>,
    min_snapshots_to_keep: Option<i32>,
    max_snapshot_age_ms: Option<i64>,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::Branch => "branch",
            Self::Tag => "tag",
        }
    }

    fn take(tokens: &mut Tokens) -> Result<Self> {
        if tokens.word("BRANCH") {
            return Ok(Self::Branch);
        }
        match tokens.word("TAG") {
            true => Ok(Self::Tag),
            false => Err(tokens.expected("BRANCH or TAG")),
        }
    }
}

/// Whether what follows the name of the table is about a branch or tag.
pub(super) fn is_next(tokens: &Tokens) -> bool {
    let of = |ahead: usize| tokens.is_word_at(ahead, "BRANCH") || tokens.is_word_at(ahead, "TAG");
    let verb = |word: &str| tokens.is_word_at(0, word);
    ((verb("CREATE") || verb("REPLACE") || verb("DROP")) && of(1))
        || (verb("CREATE") && tokens.is_word_at(1, "OR") && tokens.is_word_at(2, "REPLACE") && of(3))
}

/// The rest of the statement, behind the name of the table.
pub(super) fn parse(tokens: &mut Tokens, table: TableTarget) -> Result<AlterRef> {
    if tokens.word("DROP") {
        let kind = Kind::take(tokens)?;
        let if_exists = tokens.words(&["IF", "EXISTS"]);
        let name = tokens.identifier("the name")?.value;
        let action = Action::Drop { if_exists };
        return Ok(AlterRef {
            table,
            kind,
            name,
            action,
        });
    }
    let replace_only = tokens.word("REPLACE");
    let or_replace = !replace_only && tokens.words(&["CREATE", "OR", "REPLACE"]);
    if !replace_only && !or_replace {
        tokens.expect_words(&["CREATE"])?;
    }
    let kind = Kind::take(tokens)?;
    let at = tokens.at();
    let if_not_exists = tokens.words(&["IF", "NOT", "EXISTS"]);
    if if_not_exists && (or_replace || replace_only) {
        return Err(syntax("REPLACE and IF NOT EXISTS exclude each other".into(), at));
    }
    let name = tokens.identifier("the name")?.value;
    let snapshot_id = match tokens.words(&["AS", "OF", "VERSION"]) {
        true => Some(tokens.integer("the id of a snapshot")?),
        false => None,
    };
    let mut kept = Kept::default();
    if tokens.word("RETAIN") {
        kept.max_ref_age_ms = Some(age(tokens)?);
    }
    if kind == Kind::Branch && tokens.words(&["WITH", "SNAPSHOT", "RETENTION"]) {
        if matches!(tokens.peek_at(1), t if t.to_string().eq_ignore_ascii_case("SNAPSHOTS")) {
            kept.min_snapshots_to_keep = Some(tokens.integer("a number of snapshots")?);
            tokens.expect_words(&["SNAPSHOTS"])?;
            if !tokens.is_done() {
                kept.max_snapshot_age_ms = Some(age(tokens)?);
            }
        } else {
            kept.max_snapshot_age_ms = Some(age(tokens)?);
        }
    }
    Ok(AlterRef {
        table,
        kind,
        name,
        action: Action::Set {
            may_create: !replace_only,
            may_replace: replace_only || or_replace,
            if_not_exists,
            snapshot_id,
            kept,
        },
    })
}

/// `7 DAYS`, in ms.
fn age(tokens: &mut Tokens) -> Result<i64> {
    let at = tokens.at();
    let number: i64 = tokens.integer("a number of days, hours or minutes")?;
    let units = [("DAYS", 86_400_000), ("HOURS", 3_600_000), ("MINUTES", 60_000)];
    let unit = units.iter().find(|(unit, _)| tokens.word(unit));
    let Some((_, ms)) = unit else {
        return Err(tokens.expected("DAYS, HOURS or MINUTES"));
    };
    let age = number.checked_mul(*ms).filter(|ms| *ms > 0);
    age.ok_or_else(|| syntax(format!("{number} is no age"), at))
}

/// Does it, in one commit.
pub(super) async fn execute(alter: AlterRef) -> Result<()> {
    let target = &alter.table;
    let table = target.catalog.load_table(&target.ident).await.map_err(external)?;
    let Some(update) = alter.update(&table)? else {
        return Ok(());
    };
    let transaction = Transaction::new(&table, target.ident.clone()).add_updates(vec![update]);
    let commit: BoxFuture<'_, _> = Box::pin(transaction.commit(target.catalog.as_ref()));
    commit.await.map_err(external)?;
    Ok(())
}

impl AlterRef {
    /// What the statement changes of the table; `None` if nothing.
    fn update(&self, table: &Table) -> Result<Option<TableUpdate>> {
        let (name, word) = (&self.name, self.kind.word());
        let of = table.name();
        let found = table.metadata().refs().get(name);
        if let Some(found) = found
            && found.is_branch() != (self.kind == Kind::Branch)
        {
            let is = if found.is_branch() { "branch" } else { "tag" };
            return plan_err!("table `{of}`: `{name}` is a {is}, not a {word}");
        }
        let Action::Set {
            may_create,
            may_replace,
            if_not_exists,
            snapshot_id,
            kept,
        } = &self.action
        else {
            if name == MAIN_BRANCH {
                return plan_err!("table `{of}`: the branch `main` cannot be dropped");
            }
            return match (found, &self.action) {
                (Some(_), _) => Ok(Some(TableUpdate::RemoveSnapshotRef(name.clone()))),
                (None, Action::Drop { if_exists: true }) => Ok(None),
                (None, _) => plan_err!("table `{of}` has no {word} `{name}`"),
            };
        };
        match found {
            Some(_) if *if_not_exists => return Ok(None),
            Some(_) if !may_replace => return plan_err!("table `{of}` has a {word} `{name}` already"),
            None if !may_create => return plan_err!("table `{of}` has no {word} `{name}`"),
            _ => {}
        }
        let metadata = table.metadata();
        let snapshot_id = match snapshot_id {
            Some(id) => {
                metadata
                    .snapshot(*id)
                    .map_err(|e| external(e.into()))?
                    .snapshot_id
            }
            None => match metadata.current_snapshot_id() {
                Some(id) => id,
                None => {
                    return plan_err!("table `{of}` has no snapshot that a {word} could name: insert first");
                }
            },
        };
        // What is not said stays as it was.
        let (old_keep, old_age) = match found.map(|f| f.kind) {
            Some(RefKind::Branch {
                min_snapshots_to_keep,
                max_snapshot_age_ms,
            }) => (min_snapshots_to_keep, max_snapshot_age_ms),
            _ => (None, None),
        };
        let kind = match self.kind {
            Kind::Tag => RefKind::Tag,
            Kind::Branch => RefKind::Branch {
                min_snapshots_to_keep: kept.min_snapshots_to_keep.or(old_keep),
                max_snapshot_age_ms: kept.max_snapshot_age_ms.or(old_age),
            },
        };
        Ok(Some(TableUpdate::SetSnapshotRef {
            name: name.clone(),
            snapshot_ref: SnapshotRef {
                snapshot_id,
                kind,
                max_ref_age_ms: kept.max_ref_age_ms.or(found.and_then(|f| f.max_ref_age_ms)),
            },
        }))
    }
}
