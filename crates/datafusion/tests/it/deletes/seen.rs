//! What happened in histories, so that none of it can be missed.

use std::collections::{BTreeMap, BTreeSet};

use super::model::{Deleted, Kind, State};

/// Counts of what the histories had.
#[derive(Debug, Default, Clone)]
pub struct Seen {
    pub upgrades: usize,
    pub rewrites: usize,
    pub files_of_several_paths: usize,
    pub files_of_several_vectors: usize,
    pub vectors_replaced: usize,
    pub dangling_vectors: usize,
    pub positions_folded: usize,
    pub positions_that_a_vector_hides: usize,
    pub global_keys: usize,
    pub several_key_columns: usize,
    pub nested_keys: usize,
    pub id_sets: BTreeSet<Vec<i32>>,
    /// Rows of all states that are compared.
    pub live_rows: usize,
    /// Rows that a kind of delete takes away, alone.
    pub deleted_by: BTreeMap<Kind, usize>,
    /// Rows that several kinds of deletes take away.
    pub deleted_by_several: usize,
    /// Rows whose key has a null and that an equality delete takes away.
    pub null_keys: usize,
    /// Rows that an equality delete takes away by a column that the state's schema has not any more.
    pub dropped_keys: usize,
    /// Rows that an equality delete takes away by a column of another name or type than in their file.
    pub changed_keys: usize,
    /// Rows that have the key of an equality delete of the same commit, and stay.
    pub keys_of_the_same_commit: usize,
    /// Rows that have the key of an equality delete of another partition, and stay.
    pub keys_of_other_partitions: usize,
}

impl Seen {
    /// Counts the rows of a state.
    pub fn add_state(&mut self, state: &State) {
        for data in &state.data {
            for place in 0..data.rows.len() {
                let kinds = state.deleting(data, place);
                match kinds.iter().collect::<Vec<_>>().as_slice() {
                    [] => self.live_rows += 1,
                    [kind] => *self.deleted_by.entry(**kind).or_default() += 1,
                    _ => self.deleted_by_several += 1,
                }
                for delete in &state.deletes {
                    let Deleted::Keys { keys, global } = &delete.of else {
                        continue;
                    };
                    let ids = delete.file.equality_ids.as_deref().unwrap();
                    let key = state.key(data, place, ids);
                    if !keys.contains(&key) {
                        continue;
                    }
                    if !state.applies(delete, data) {
                        let same = data.sequence_number == delete.sequence_number;
                        self.keys_of_the_same_commit += usize::from(same);
                        let older = data.sequence_number < delete.sequence_number;
                        self.keys_of_other_partitions += usize::from(older && !global);
                        continue;
                    }
                    self.null_keys += usize::from(key.contains(&None));
                    let dropped = |id: &i32| state.schema.field_by_id(*id).is_none();
                    self.dropped_keys += usize::from(ids.iter().any(dropped));
                    let changed = |id: &i32| {
                        let (then, now) = (data.schema.field_by_id(*id), state.schema.field_by_id(*id));
                        then.zip(now).is_some_and(|(then, now)| then != now)
                    };
                    self.changed_keys += usize::from(ids.iter().any(changed));
                }
            }
        }
    }

    /// The sums of both.
    pub fn merge(&mut self, other: Self) {
        self.upgrades += other.upgrades;
        self.rewrites += other.rewrites;
        self.files_of_several_paths += other.files_of_several_paths;
        self.files_of_several_vectors += other.files_of_several_vectors;
        self.vectors_replaced += other.vectors_replaced;
        self.dangling_vectors += other.dangling_vectors;
        self.positions_folded += other.positions_folded;
        self.positions_that_a_vector_hides += other.positions_that_a_vector_hides;
        self.global_keys += other.global_keys;
        self.several_key_columns += other.several_key_columns;
        self.nested_keys += other.nested_keys;
        self.id_sets.extend(other.id_sets);
        self.live_rows += other.live_rows;
        for (kind, rows) in other.deleted_by {
            *self.deleted_by.entry(kind).or_default() += rows;
        }
        self.deleted_by_several += other.deleted_by_several;
        self.null_keys += other.null_keys;
        self.dropped_keys += other.dropped_keys;
        self.changed_keys += other.changed_keys;
        self.keys_of_the_same_commit += other.keys_of_the_same_commit;
        self.keys_of_other_partitions += other.keys_of_other_partitions;
    }

    /// Fails if something that must be tested did not happen.
    ///
    /// # Panics
    /// So.
    pub fn assert_complete(&self) {
        let of = |kind| self.deleted_by.get(&kind).copied().unwrap_or_default();
        let all = [
            self.upgrades,
            self.rewrites,
            self.files_of_several_paths,
            self.files_of_several_vectors,
            self.vectors_replaced,
            self.dangling_vectors,
            self.positions_folded,
            self.positions_that_a_vector_hides,
            self.global_keys,
            self.several_key_columns,
            self.nested_keys,
            self.deleted_by_several,
            self.null_keys,
            self.dropped_keys,
            self.changed_keys,
            self.keys_of_the_same_commit,
            self.keys_of_other_partitions,
        ];
        assert!(all.iter().all(|count| *count > 0), "{self:#?}");
        assert!(self.id_sets.len() > 10, "{self:#?}");
        // Each kind takes away a good part of the rows.
        for kind in [Kind::PositionDelete, Kind::DeletionVector, Kind::EqualityDelete] {
            assert!(of(kind) * 20 > self.live_rows, "{kind:?}: {self:#?}");
        }
    }
}
