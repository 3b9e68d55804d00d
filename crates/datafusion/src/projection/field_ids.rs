//! Which id each field of a data file has: its own, or one by the table's name mapping.

use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use drumlin_format::name_mapping::MappedField;
use drumlin_table::arrow::field_id;

/// A field of a data file with its id and those of the fields inside.
#[derive(Debug, Clone)]
pub struct FileField {
    /// The field as the file's reader gives it.
    pub field: FieldRef,
    /// Its id; `None` if neither file nor mapping gives one.
    pub id: Option<i32>,
    /// The fields inside: of a struct, the element of a list, key and value of a map.
    pub children: Vec<FileField>,
    /// Whether all ids in it stand in the file.
    own_ids: bool,
}

impl FileField {
    /// A field of a file that holds ids.
    pub fn with_own_ids(field: &FieldRef) -> Self {
        let children = children(field).iter().map(Self::with_own_ids).collect::<Vec<_>>();
        Self {
            id: field_id(field),
            own_ids: true,
            children,
            field: field.clone(),
        }
    }

    /// A field of a file without ids, which takes them from the mapped fields of the struct it is in.
    pub fn mapped(field: &FieldRef, mapping: &[MappedField]) -> Self {
        Self::mapped_as(field, field.name(), mapping)
    }

    fn mapped_as(field: &FieldRef, name: &str, mapping: &[MappedField]) -> Self {
        let found = mapping.iter().find(|m| m.names.iter().any(|n| n == name));
        let inner = found.map_or(&[][..], |m| &m.fields);
        let inside = children(field);
        // Files name list elements and map entries as they like; mappings always alike.
        let names: Vec<&str> = match field.data_type() {
            DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(_, _) => vec!["element"],
            DataType::Map(_, _) => vec!["key", "value"],
            _ => inside.iter().map(|f| f.name().as_str()).collect(),
        };
        Self {
            id: found.and_then(|m| m.field_id),
            own_ids: false,
            children: inside
                .iter()
                .zip(names)
                .map(|(f, name)| Self::mapped_as(f, name, inner))
                .collect(),
            field: field.clone(),
        }
    }

    /// The child with this id and its place.
    pub fn child_with_id(&self, id: i32) -> Option<(usize, &FileField)> {
        self.children.iter().enumerate().find(|(_, c)| c.id == Some(id))
    }

    /// Whether the ids stand in the file, so that equal Arrow types are equal in all.
    pub fn has_own_ids(&self) -> bool {
        self.own_ids
    }
}

/// Whether any field at any depth carries an id.
pub fn any_ids<'a>(mut fields: impl Iterator<Item = &'a FieldRef>) -> bool {
    fields.any(|f| field_id(f).is_some() || any_ids(children(f).iter()))
}

fn children(field: &Field) -> Vec<FieldRef> {
    match field.data_type() {
        DataType::Struct(fields) => fields.iter().cloned().collect(),
        DataType::List(e) | DataType::LargeList(e) | DataType::FixedSizeList(e, _) => vec![e.clone()],
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(fields) => fields.iter().cloned().collect(),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}
