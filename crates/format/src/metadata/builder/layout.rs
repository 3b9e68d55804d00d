//! How data is laid out: partition specs and sort orders.

use std::collections::HashSet;
use std::sync::Arc;

use super::{TableMetadataBuilder, resolve};
use crate::error::{Error, Result};
use crate::metadata::{UnboundPartitionField, UnboundPartitionSpec};
use crate::partition::{FIRST_PARTITION_FIELD_ID, PartitionField, PartitionSpec};
use crate::sort::{SortOrder, UNSORTED_ORDER_ID};
use crate::transform::Transform;

impl TableMetadataBuilder {
    /// Adds a spec for the current schema under the next id, or reuses that of an equal one.
    pub(super) fn add_spec(&mut self, spec: &UnboundPartitionSpec) -> Result<()> {
        let mut last = self.metadata.last_partition_id;
        let mut fields: Vec<PartitionField> = Vec::with_capacity(spec.fields.len());
        for (field, position) in spec.fields.iter().zip(FIRST_PARTITION_FIELD_ID..) {
            self.check_partition_field(field)?;
            let v1 = self.metadata.format_version == 1;
            let field_id = match field.field_id {
                Some(id) => id,
                // The ids of version 1 are positions.
                None if v1 => position,
                None => match self.equivalent_field(field) {
                    Some(id) if fields.iter().all(|f| f.field_id != id) => id,
                    _ => next_id(last, &field.name)?,
                },
            };
            if v1 && field_id != position {
                let reason =
                    format!("in format version 1 its id must be {position}, by its position, not {field_id}");
                return Err(invalid_field(&field.name, reason));
            }
            last = last.max(field_id);
            fields.push(PartitionField {
                source_ids: field.source_ids.clone(),
                field_id,
                name: field.name.clone(),
                transform: field.transform.clone(),
            });
        }
        self.check_uniqueness(&fields)?;
        let equal = self
            .metadata
            .partition_specs
            .iter()
            .find(|s| s.fields() == fields);
        let id = match equal {
            Some(equal) => equal.spec_id(),
            None => {
                let ids = self.metadata.partition_specs.iter().map(|s| s.spec_id());
                let id = next_of(ids, 0, "update `add-spec`")?;
                self.metadata
                    .partition_specs
                    .push(Arc::new(PartitionSpec::new(id, fields)));
                id
            }
        };
        self.metadata.last_partition_id = last;
        self.last_added_spec = Some(id);
        Ok(())
    }

    /// The id of a field of any spec with the same sources and transform.
    fn equivalent_field(&self, field: &UnboundPartitionField) -> Option<i32> {
        let mut fields = self.metadata.partition_specs.iter().flat_map(|s| s.fields());
        let equivalent =
            |f: &&PartitionField| f.source_ids == field.source_ids && f.transform == field.transform;
        fields.find(equivalent).map(|f| f.field_id)
    }

    fn check_partition_field(&self, field: &UnboundPartitionField) -> Result<()> {
        let schema = &self.metadata.current_schema;
        let invalid = |reason: String| Err(invalid_field(&field.name, reason));
        if let Transform::Unknown(text) = &field.transform {
            return Err(Error::unsupported(format!(
                "partition field `{}`: the transform `{text}`, which cannot be written",
                field.name
            )));
        }
        let [source_id] = field.source_ids.as_slice() else {
            return invalid("its transform takes one source column".into());
        };
        if field.name.is_empty() {
            return invalid("its name is empty".into());
        }
        match schema.field_by_name(&field.name) {
            Some(column)
                if column.id != *source_id
                    || !matches!(field.transform, Transform::Identity | Transform::Void) =>
            {
                return invalid("a column has this name; only its identity partition may have it too".into());
            }
            _ => {}
        }
        let Some(source) = schema.field_by_id(*source_id) else {
            // A void field stands for a column that was dropped.
            return match field.transform {
                Transform::Void => Ok(()),
                _ => invalid(format!(
                    "the current schema has no column with the id {source_id}"
                )),
            };
        };
        if field.transform == Transform::Void {
            return Ok(());
        }
        if schema.is_repeated(*source_id) {
            return invalid("its source column is inside a list or map".into());
        }
        if field.transform.result_type_of(&source.field_type).is_none() {
            return invalid(format!(
                "the transform {} does not take a source of type {}",
                field.transform, source.field_type
            ));
        }
        Ok(())
    }

    fn check_uniqueness(&self, fields: &[PartitionField]) -> Result<()> {
        let mut names = HashSet::new();
        let mut ids = HashSet::new();
        for field in fields {
            if !names.insert(&field.name) {
                return Err(invalid_field(
                    &field.name,
                    "another field has the same name".into(),
                ));
            }
            if !ids.insert(field.field_id) {
                let reason = format!("another field has the same id {}", field.field_id);
                return Err(invalid_field(&field.name, reason));
            }
            // In version 1 an id is a position and means nothing over specs.
            let others = self.metadata.partition_specs.iter().flat_map(|s| s.fields());
            let mut others = others.filter(|f| f.field_id == field.field_id);
            let differs =
                |f: &PartitionField| f.source_ids != field.source_ids || f.transform != field.transform;
            if self.metadata.format_version > 1
                && others.any(|f| differs(f) && f.transform != Transform::Void)
                && field.transform != Transform::Void
            {
                let reason = format!(
                    "its id {} is that of another field of an older spec",
                    field.field_id
                );
                return Err(invalid_field(&field.name, reason));
            }
        }
        Ok(())
    }

    pub(super) fn set_default_spec(&mut self, id: i32) -> Result<()> {
        let what = "update `set-default-spec`";
        let id = resolve(id, self.last_added_spec, what)?;
        let spec = self.metadata.spec_by_id(id);
        let spec =
            spec.ok_or_else(|| Error::invalid(what, format!("the table has no partition spec {id}")))?;
        self.metadata.default_spec = Arc::clone(spec);
        Ok(())
    }

    pub(super) fn remove_partition_specs(&mut self, ids: &[i32]) -> Result<()> {
        let default = self.metadata.default_spec.spec_id();
        if ids.contains(&default) {
            let reason = format!("the spec {default} is the default");
            return Err(Error::invalid("update `remove-partition-specs`", reason));
        }
        self.metadata
            .partition_specs
            .retain(|s| !ids.contains(&s.spec_id()));
        self.last_added_spec = self.last_added_spec.filter(|id| !ids.contains(id));
        Ok(())
    }

    /// Adds an order under the next id, or reuses that of an equal one; the order without fields is 0.
    pub(super) fn add_sort_order(&mut self, order: &SortOrder) -> Result<()> {
        let what = "update `add-sort-order`";
        let schema = &self.metadata.current_schema;
        for field in &order.fields {
            if let Transform::Unknown(text) = &field.transform {
                let text = format!("{what}: the transform `{text}`, which cannot be written");
                return Err(Error::unsupported(text));
            }
            for id in &field.source_ids {
                let source = schema.field_by_id(*id).ok_or_else(|| {
                    Error::invalid(what, format!("the current schema has no column with the id {id}"))
                })?;
                if field.transform.result_type_of(&source.field_type).is_none() || schema.is_repeated(*id) {
                    let reason = format!(
                        "the transform {} does not take the column `{}` of type {}",
                        field.transform, source.name, source.field_type
                    );
                    return Err(Error::invalid(what, reason));
                }
            }
        }
        let equal = self
            .metadata
            .sort_orders
            .iter()
            .find(|o| o.fields == order.fields);
        let id = match equal {
            Some(equal) => equal.order_id,
            None => {
                let id = if order.is_unsorted() {
                    UNSORTED_ORDER_ID
                } else {
                    next_of(self.metadata.sort_orders.iter().map(|o| o.order_id), 1, what)?
                };
                let fields = order.fields.clone();
                self.metadata
                    .sort_orders
                    .push(Arc::new(SortOrder { order_id: id, fields }));
                id
            }
        };
        self.last_added_order = Some(id);
        Ok(())
    }

    pub(super) fn set_default_sort_order(&mut self, id: i32) -> Result<()> {
        let what = "update `set-default-sort-order`";
        let id = resolve(id, self.last_added_order, what)?;
        let order = self.metadata.sort_order_by_id(id);
        let order = order.ok_or_else(|| Error::invalid(what, format!("the table has no sort order {id}")))?;
        self.metadata.default_sort_order = Arc::clone(order);
        Ok(())
    }

    /// What new data is written with must fit together, if any of it was changed; see
    /// [`build`](TableMetadataBuilder::build).
    pub(super) fn check_layout(&self) -> Result<()> {
        use crate::metadata::TableUpdate as Update;
        let any = |is: fn(&Update) -> bool| self.updates.iter().any(is);
        let schema_changed = any(|u| matches!(u, Update::SetCurrentSchema(_)));
        let spec = UnboundPartitionSpec::from(self.metadata.default_spec.as_ref());
        if any(|u| matches!(u, Update::SetDefaultSpec(_))) {
            spec.fields
                .iter()
                .try_for_each(|field| self.check_partition_field(field))?;
        } else if schema_changed {
            let exists = |id: &i32| self.metadata.current_schema.field_by_id(*id).is_some();
            let lost = |f: &&UnboundPartitionField| {
                f.transform != Transform::Void && !f.source_ids.iter().all(exists)
            };
            if let Some(field) = spec.fields.iter().find(lost) {
                let reason = format!(
                    "the current schema lacks its source column {:?}",
                    field.source_ids
                );
                return Err(invalid_field(&field.name, reason));
            }
        }
        if !schema_changed && !any(|u| matches!(u, Update::SetDefaultSortOrder(_))) {
            return Ok(());
        }
        let schema = &self.metadata.current_schema;
        let order = &self.metadata.default_sort_order;
        match order.missing_source(|id| schema.field_by_id(id).is_some()) {
            None => Ok(()),
            Some(id) => {
                let reason = format!("it sorts by the column {id}, which the current schema does not have");
                Err(Error::invalid(format!("sort order {}", order.order_id), reason))
            }
        }
    }
}

/// Refuses two fields of one new spec that say the same: equal ones, or two of year, month, day and hour of one
/// column, of which one holds the other.
pub(super) fn check_redundancy(spec: &UnboundPartitionSpec) -> Result<()> {
    let mut seen = HashSet::new();
    for field in &spec.fields {
        let kind = match &field.transform {
            Transform::Year | Transform::Month | Transform::Day | Transform::Hour => "time".to_string(),
            other => other.to_string(),
        };
        if !seen.insert((field.source_ids.clone(), kind)) {
            let reason = "another field of the spec partitions the same column in the same way".into();
            return Err(invalid_field(&field.name, reason));
        }
    }
    Ok(())
}

fn invalid_field(name: &str, reason: String) -> Error {
    Error::invalid(format!("partition field `{name}`"), reason)
}

fn next_id(last: i32, name: &str) -> Result<i32> {
    let next = last.checked_add(1);
    next.ok_or_else(|| invalid_field(name, "no partition field id is left".into()))
}

fn next_of(ids: impl Iterator<Item = i32>, first: i32, what: &str) -> Result<i32> {
    match ids.max() {
        None => Ok(first),
        Some(last) => {
            let next = last.checked_add(1).map(|next| next.max(first));
            next.ok_or_else(|| Error::invalid(what, "no id is left"))
        }
    }
}
