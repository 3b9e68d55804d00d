//! A file's own Avro schema, compiled for reading.

use std::collections::HashMap;

use serde_json::Value as Json;

use super::Decoder;
use crate::error::{Error, Result};

/// How deep types may nest, in schemas and in data.
const MAX_DEPTH: usize = 64;

/// How many fields one record may have once all records in it are laid out. Records named by reference can otherwise
/// double at each level.
const MAX_FIELDS: usize = 100_000;

/// A type of a [`Schema`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NodeId(usize);

/// A compiled schema.
#[derive(Debug, Clone)]
pub struct Schema {
    nodes: Vec<Node>,
    root: NodeId,
}

#[derive(Debug, Clone)]
struct Node {
    kind: Kind,
    attributes: Attributes,
    /// The fewest bytes a value takes. Values of types where this is 0 never take any.
    min_size: usize,
    /// Steps to walk over one value, not counting what its bytes choose (array items, union branches).
    steps: usize,
}

/// What a type says of its values besides how they are encoded.
#[derive(Debug, Clone, Default)]
struct Attributes {
    logical_type: Option<Box<str>>,
    adjust_to_utc: bool,
    precision: Option<u8>,
    scale: u8,
    element_id: Option<i32>,
    key_id: Option<i32>,
    value_id: Option<i32>,
    symbols: Vec<String>,
}

impl Attributes {
    /// What stands beside `type`. Some writers put odd values there, which say nothing.
    fn of(json: &Json) -> Self {
        let id = |key: &str| {
            json.get(key)
                .and_then(Json::as_i64)
                .and_then(|v| i32::try_from(v).ok())
        };
        let small = |key: &str| {
            json.get(key)
                .and_then(Json::as_u64)
                .and_then(|v| u8::try_from(v).ok())
        };
        let symbols = json.get("symbols").and_then(Json::as_array);
        Self {
            logical_type: json.get("logicalType").and_then(Json::as_str).map(Into::into),
            adjust_to_utc: json.get("adjust-to-utc").and_then(Json::as_bool) == Some(true),
            precision: small("precision"),
            scale: small("scale").unwrap_or(0),
            element_id: id("element-id"),
            key_id: id("key-id"),
            value_id: id("value-id"),
            symbols: symbols
                .into_iter()
                .flatten()
                .map(|s| s.as_str().unwrap_or_default().to_owned())
                .collect(),
        }
    }
}

/// How values of a type are encoded.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// Nothing.
    Null,
    /// One byte.
    Boolean,
    /// A varint of 32 bits.
    Int,
    /// A varint of 64 bits.
    Long,
    /// Four bytes.
    Float,
    /// Eight bytes.
    Double,
    /// Length and bytes.
    Bytes,
    /// Length and UTF-8.
    String,
    /// So many bytes.
    Fixed(usize),
    /// The index of one of so many symbols.
    Enum(usize),
    /// Blocks of items.
    Array(NodeId),
    /// Blocks of string keys and values.
    Map(NodeId),
    /// Fields one after another.
    Record(Vec<Field>),
    /// The index of a branch and its value.
    Union(Vec<NodeId>),
}

/// A field of a record.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// The Iceberg field id.
    pub id: Option<i32>,
    /// The name in this file.
    pub name: String,
    /// The type of its values.
    pub node: NodeId,
}

fn invalid(reason: impl Into<String>) -> Error {
    Error::invalid("Avro schema", reason)
}

impl Schema {
    /// Compiles the JSON text of a schema.
    pub fn parse(text: &str) -> Result<Self> {
        let json: Json = serde_json::from_str(text).map_err(|e| invalid(format!("no JSON: {e}")))?;
        let mut parser = Parser::default();
        let root = parser.node(&json, "", 0)?;
        let mut schema = Self {
            nodes: parser.nodes,
            root,
        };
        let mut state = vec![Measure::Not; schema.nodes.len()];
        for id in 0..schema.nodes.len() {
            schema.measure(NodeId(id), &mut state, 0)?;
        }
        Ok(schema)
    }

    /// The type of the file's records.
    pub fn root(&self) -> NodeId {
        self.root
    }

    /// How values of a type are encoded.
    #[inline]
    pub fn kind(&self, id: NodeId) -> &Kind {
        self.nodes.get(id.0).map_or(&Kind::Null, |n| &n.kind)
    }

    /// The logical type, such as `date` or `decimal`.
    pub fn logical_type(&self, id: NodeId) -> Option<&str> {
        self.attributes(id)?.logical_type.as_deref()
    }

    fn attributes(&self, id: NodeId) -> Option<&Attributes> {
        Some(&self.nodes.get(id.0)?.attributes)
    }

    /// Whether timestamps of this type are instants (`adjust-to-utc`). One that does not say so is not.
    pub fn adjusts_to_utc(&self, id: NodeId) -> bool {
        self.attributes(id).is_some_and(|a| a.adjust_to_utc)
    }

    /// Precision and scale of a decimal.
    pub fn decimal(&self, id: NodeId) -> Option<(u8, u8)> {
        let attributes = self.attributes(id)?;
        let decimal = attributes.logical_type.as_deref() == Some("decimal");
        Some((attributes.precision.filter(|_| decimal)?, attributes.scale))
    }

    /// The Iceberg field id of an array's elements.
    pub fn element_id(&self, id: NodeId) -> Option<i32> {
        self.attributes(id)?.element_id
    }

    /// The Iceberg field id of a map's keys.
    pub fn key_id(&self, id: NodeId) -> Option<i32> {
        self.attributes(id)?.key_id
    }

    /// The Iceberg field id of a map's values.
    pub fn value_id(&self, id: NodeId) -> Option<i32> {
        self.attributes(id)?.value_id
    }

    /// The symbols of an enum in their order.
    pub fn symbols(&self, id: NodeId) -> &[String] {
        self.attributes(id).map_or(&[], |a| &a.symbols)
    }

    /// The fewest bytes that a value takes.
    pub fn min_size(&self, id: NodeId) -> usize {
        self.nodes.get(id.0).map_or(0, |n| n.min_size)
    }

    /// The one type besides null that values may have; `None` if there are several or none.
    pub fn value_type(&self, id: NodeId) -> Option<NodeId> {
        match self.kind(id) {
            Kind::Null => None,
            Kind::Union(branches) => {
                let mut values = branches.iter().filter(|b| *self.kind(**b) != Kind::Null);
                values.next().filter(|_| values.next().is_none()).copied()
            }
            _ => Some(id),
        }
    }

    /// The fields of a record, also of one that may be null.
    pub fn record_fields(&self, id: NodeId) -> Option<&[Field]> {
        match self.kind(self.value_type(id)?) {
            Kind::Record(fields) => Some(fields),
            _ => None,
        }
    }

    /// Reads which branch of a union follows. `None` is null; without a union it is the type itself.
    #[inline]
    pub fn enter(&self, decoder: &mut Decoder<'_>, id: NodeId) -> Result<Option<NodeId>> {
        let entered = match self.kind(id) {
            Kind::Union(branches) => {
                let index = decoder.long()?;
                let branch = usize::try_from(index).ok().and_then(|i| branches.get(i));
                *branch.ok_or_else(|| Error::invalid("Avro union", format!("it has no branch {index}")))?
            }
            _ => id,
        };
        Ok((*self.kind(entered) != Kind::Null).then_some(entered))
    }

    /// Steps over a value.
    pub fn skip(&self, decoder: &mut Decoder<'_>, id: NodeId) -> Result<()> {
        self.skip_at(decoder, id, 0)
    }

    fn skip_at(&self, decoder: &mut Decoder<'_>, id: NodeId, depth: usize) -> Result<()> {
        if depth > MAX_DEPTH {
            return Err(Error::invalid("Avro data", "it nests too deep"));
        }
        match self.kind(id) {
            Kind::Null => {}
            Kind::Boolean => {
                decoder.byte()?;
            }
            Kind::Int | Kind::Long | Kind::Enum(_) => {
                decoder.long()?;
            }
            Kind::Float => {
                decoder.take(4)?;
            }
            Kind::Double => {
                decoder.take(8)?;
            }
            Kind::Bytes | Kind::String => {
                decoder.bytes()?;
            }
            Kind::Fixed(size) => {
                decoder.take(*size)?;
            }
            Kind::Union(_) => {
                if let Some(branch) = self.enter(decoder, id)? {
                    self.skip_at(decoder, branch, depth + 1)?;
                }
            }
            Kind::Record(fields) => {
                for field in fields {
                    self.skip_at(decoder, field.node, depth + 1)?;
                }
            }
            Kind::Array(item) => loop {
                let size = self.min_size(*item);
                let count = decoder.long()?;
                if count == 0 {
                    break;
                }
                if count < 0 {
                    let size = decoder.long()?;
                    let size = usize::try_from(size)
                        .map_err(|_| Error::invalid("Avro array", format!("{size} is no size")))?;
                    decoder.take(size)?;
                } else if size > 0 {
                    for _ in 0..count {
                        self.skip_at(decoder, *item, depth + 1)?;
                    }
                }
            },
            Kind::Map(value) => loop {
                let count = decoder.block_count(1)?;
                if count == 0 {
                    break;
                }
                for _ in 0..count {
                    decoder.bytes()?;
                    self.skip_at(decoder, *value, depth + 1)?;
                }
            },
        }
        Ok(())
    }

    /// Fills `min_size` and `steps` of a node and of all below it.
    fn measure(&mut self, id: NodeId, state: &mut [Measure], depth: usize) -> Result<(usize, usize)> {
        let Some(node) = self.nodes.get(id.0) else {
            return Ok((0, 0));
        };
        match state.get(id.0) {
            Some(Measure::Done) => return Ok((node.min_size, node.steps)),
            Some(Measure::Running) => return Err(invalid("a record contains itself")),
            _ if depth > MAX_DEPTH => return Err(invalid("it nests too deep")),
            _ => {}
        }
        let set = |state: &mut [Measure], to| {
            if let Some(s) = state.get_mut(id.0) {
                *s = to;
            }
        };
        set(state, Measure::Running);
        let (min_size, steps) = match &node.kind {
            Kind::Null => (0, 1),
            Kind::Float => (4, 1),
            Kind::Double => (8, 1),
            Kind::Fixed(size) => (*size, 1),
            Kind::Record(fields) => {
                let mut total = (0usize, 1usize);
                for field in fields.clone() {
                    let (size, steps) = self.measure(field.node, state, depth + 1)?;
                    total = (total.0.saturating_add(size), total.1.saturating_add(steps));
                }
                total
            }
            // Arrays, maps and unions end a chain: their bytes say whether anything follows.
            _ => (1, 1),
        };
        if steps > MAX_FIELDS {
            return Err(invalid("a record has too many fields"));
        }
        if let Some(node) = self.nodes.get_mut(id.0) {
            (node.min_size, node.steps) = (min_size, steps);
        }
        set(state, Measure::Done);
        Ok((min_size, steps))
    }
}

#[derive(Clone, Copy)]
enum Measure {
    Not,
    Running,
    Done,
}

#[derive(Default)]
struct Parser {
    nodes: Vec<Node>,
    named: HashMap<String, NodeId>,
}

impl Parser {
    fn add(&mut self, kind: Kind, attributes: Attributes) -> NodeId {
        self.nodes.push(Node {
            kind,
            attributes,
            min_size: 0,
            steps: 0,
        });
        NodeId(self.nodes.len() - 1)
    }

    fn node(&mut self, json: &Json, namespace: &str, depth: usize) -> Result<NodeId> {
        if depth > MAX_DEPTH {
            return Err(invalid("it nests too deep"));
        }
        match json {
            Json::String(name) => match primitive(name) {
                Some(kind) => Ok(self.add(kind, Attributes::default())),
                None => self.reference(name, namespace),
            },
            Json::Array(branches) => {
                let mut nodes = Vec::with_capacity(branches.len());
                for branch in branches {
                    let node = self.node(branch, namespace, depth + 1)?;
                    if matches!(self.nodes.get(node.0).map(|n| &n.kind), Some(Kind::Union(_))) {
                        return Err(invalid("a union is directly inside a union"));
                    }
                    nodes.push(node);
                }
                Ok(self.add(Kind::Union(nodes), Attributes::default()))
            }
            Json::Object(_) => self.object(json, namespace, depth),
            other => Err(invalid(format!("expected a type, found {other}"))),
        }
    }

    fn reference(&self, name: &str, namespace: &str) -> Result<NodeId> {
        self.named
            .get(&full_name(name, namespace))
            .or_else(|| self.named.get(name))
            .copied()
            .ok_or_else(|| invalid(format!("no type is named `{name}`")))
    }

    fn object(&mut self, json: &Json, namespace: &str, depth: usize) -> Result<NodeId> {
        let of = json.get("type").ok_or_else(|| invalid("a type has no `type`"))?;
        let Json::String(of) = of else {
            return self.node(of, namespace, depth + 1);
        };
        let attributes = Attributes::of(json);
        let part = |key: &str| {
            json.get(key)
                .ok_or_else(|| invalid(format!("a type `{of}` has no `{key}`")))
        };
        match of.as_str() {
            "array" => {
                let items = self.node(part("items")?, namespace, depth + 1)?;
                Ok(self.add(Kind::Array(items), attributes))
            }
            "map" => {
                let values = self.node(part("values")?, namespace, depth + 1)?;
                Ok(self.add(Kind::Map(values), attributes))
            }
            "fixed" => {
                let size = part("size")?.as_u64().and_then(|v| usize::try_from(v).ok());
                let size = size.ok_or_else(|| invalid("the size of a fixed is no number"))?;
                let node = self.add(Kind::Fixed(size), attributes);
                self.name(json, namespace, node)?;
                Ok(node)
            }
            "enum" => {
                part("symbols")?;
                let node = self.add(Kind::Enum(attributes.symbols.len()), attributes);
                self.name(json, namespace, node)?;
                Ok(node)
            }
            "record" | "error" => {
                let node = self.add(Kind::Record(Vec::new()), attributes);
                let namespace = self.name(json, namespace, node)?;
                let fields = part("fields")?
                    .as_array()
                    .ok_or_else(|| invalid("the fields of a record are no array"))?;
                let mut parsed = Vec::with_capacity(fields.len());
                for field in fields {
                    parsed.push(self.field(field, &namespace, depth)?);
                }
                if let Some(record) = self.nodes.get_mut(node.0) {
                    record.kind = Kind::Record(parsed);
                }
                Ok(node)
            }
            name => match primitive(name) {
                Some(kind) => Ok(self.add(kind, attributes)),
                None => self.reference(name, namespace),
            },
        }
    }

    fn field(&mut self, json: &Json, namespace: &str, depth: usize) -> Result<Field> {
        let name = json
            .get("name")
            .and_then(Json::as_str)
            .ok_or_else(|| invalid("a field of a record has no name"))?;
        let of = json
            .get("type")
            .ok_or_else(|| invalid(format!("the field `{name}` has no type")))?;
        let id = match json.get("field-id") {
            None => None,
            Some(id) => {
                let id = id.as_i64().and_then(|id| i32::try_from(id).ok());
                Some(id.ok_or_else(|| invalid(format!("the id of the field `{name}` is no 32-bit integer")))?)
            }
        };
        Ok(Field {
            id,
            name: name.to_owned(),
            node: self.node(of, namespace, depth + 1)?,
        })
    }

    /// Registers a named type and returns the namespace that holds inside it.
    fn name(&mut self, json: &Json, namespace: &str, node: NodeId) -> Result<String> {
        let name = json
            .get("name")
            .and_then(Json::as_str)
            .ok_or_else(|| invalid("a named type has no name"))?;
        let namespace = json.get("namespace").and_then(Json::as_str).unwrap_or(namespace);
        let full = full_name(name, namespace);
        let inner = full.rsplit_once('.').map_or("", |(space, _)| space).to_owned();
        if self.named.insert(full, node).is_some() {
            return Err(invalid(format!("two types are named `{name}`")));
        }
        Ok(inner)
    }
}

fn full_name(name: &str, namespace: &str) -> String {
    if namespace.is_empty() || name.contains('.') {
        name.to_owned()
    } else {
        format!("{namespace}.{name}")
    }
}

fn primitive(name: &str) -> Option<Kind> {
    Some(match name {
        "null" => Kind::Null,
        "boolean" => Kind::Boolean,
        "int" => Kind::Int,
        "long" => Kind::Long,
        "float" => Kind::Float,
        "double" => Kind::Double,
        "bytes" => Kind::Bytes,
        "string" => Kind::String,
        _ => return None,
    })
}
