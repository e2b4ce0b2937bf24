//! A parsed TOML document as a plain tree: `[table]`s and inline tables look the same, and so do
//! `[[lists of tables]]` and arrays.

use std::ops::Range;

use toml_edit::{Item, TableLike, Value};

/// A value with its place in the file.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) kind: Kind,
    pub(super) span: Range<usize>,
}

#[derive(Debug, Clone)]
pub(super) enum Kind {
    Text(String),
    Int(i64),
    Float(f64),
    Bool(bool),
    Date,
    List(Vec<Node>),
    Table(Vec<Entry>),
}

/// A key with its value.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) key_span: Range<usize>,
    pub(super) node: Node,
}

impl Node {
    /// The tree of a document's root.
    pub(super) fn root(table: &toml_edit::Table) -> Node {
        Node {
            kind: Kind::Table(entries(table)),
            // A mistake of the whole file, such as a missing key, is shown at its start.
            span: 0..0,
        }
    }

    /// What this is, for "but it is a ...".
    pub(super) fn describe(&self) -> &'static str {
        match self.kind {
            Kind::Text(_) => "a string",
            Kind::Int(_) => "an integer",
            Kind::Float(_) => "a float",
            Kind::Bool(_) => "a boolean",
            Kind::Date => "a date",
            Kind::List(_) => "a list",
            Kind::Table(_) => "a table",
        }
    }

    fn of_item(item: &Item, fallback: &Range<usize>) -> Option<Node> {
        let span = item.span().unwrap_or_else(|| fallback.clone());
        Some(match item {
            Item::None => return None,
            Item::Value(value) => Node::of_value(value, fallback),
            Item::Table(table) => Node {
                kind: Kind::Table(entries(table)),
                span,
            },
            Item::ArrayOfTables(tables) => Node {
                kind: Kind::List(
                    tables
                        .iter()
                        .map(|table| Node {
                            kind: Kind::Table(entries(table)),
                            span: table.span().unwrap_or_else(|| fallback.clone()),
                        })
                        .collect(),
                ),
                span,
            },
        })
    }

    fn of_value(value: &Value, fallback: &Range<usize>) -> Node {
        let span = value.span().unwrap_or_else(|| fallback.clone());
        let kind = match value {
            Value::String(v) => Kind::Text(v.value().clone()),
            Value::Integer(v) => Kind::Int(*v.value()),
            Value::Float(v) => Kind::Float(*v.value()),
            Value::Boolean(v) => Kind::Bool(*v.value()),
            Value::Datetime(_) => Kind::Date,
            Value::Array(list) => {
                Kind::List(list.iter().map(|v| Node::of_value(v, &span)).collect())
            }
            Value::InlineTable(table) => Kind::Table(entries(table)),
        };
        Node { kind, span }
    }
}

fn entries(table: &dyn TableLike) -> Vec<Entry> {
    table
        .iter()
        .filter_map(|(name, item)| {
            let key_span = table.key(name).and_then(|k| k.span()).unwrap_or_default();
            Some(Entry {
                key: name.to_owned(),
                node: Node::of_item(item, &key_span)?,
                key_span,
            })
        })
        .collect()
}
