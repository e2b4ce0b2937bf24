//! `[[buffer]]` tables.

use super::element::element;
use super::init::init;
use super::names::{BufferFacts, is_identifier};
use super::reader::Reader;
use super::section::Section;
use super::tree::{Kind, Node};
use crate::elem::ElemType;
use crate::suggest::did_you_mean;
use crate::workload::{BufferSpec, Defined, Init, MAX_BYTES};

const KEYS: &[&str] = &[
    "name", "type", "len", "init", "output", "symbol", "seed", "shape",
];

/// Reads all buffers.
pub(super) fn buffers(reader: &mut Reader<'_>, top: &Section<'_>) -> Vec<BufferSpec> {
    let Some(node) = top.get("buffer") else {
        return Vec::new();
    };
    let nodes = match &node.kind {
        Kind::List(nodes) => nodes.as_slice(),
        Kind::Table(_) => {
            reader.mistake(
                top.key_span("buffer"),
                "`buffer` is a table",
                "a list of tables",
                Some("write `[[buffer]]`, with two brackets".into()),
            );
            std::slice::from_ref(node)
        }
        _ => {
            reader.wrong_kind(node, "`buffer`", "tables `[[buffer]]`");
            return Vec::new();
        }
    };
    let list: Vec<BufferSpec> = nodes.iter().filter_map(|n| buffer(reader, n)).collect();
    let total: u128 = list
        .iter()
        .map(|b| b.len as u128 * b.elem.size() as u128)
        .sum();
    if let Some(last) = list.last().filter(|_| total > u128::from(MAX_BYTES)) {
        reader.mistake(
            last.span.clone(),
            format!("the buffers up to here take {total} bytes"),
            format!("at most {MAX_BYTES} (1 TiB)"),
            None,
        );
    }
    list
}

fn buffer(reader: &mut Reader<'_>, node: &Node) -> Option<BufferSpec> {
    let section = Section::new(reader, "a buffer", node, KEYS);
    let name = name(reader, &section);
    let elem = section
        .require(reader, "type", "type = \"f64\"")
        .and_then(|n| element(reader, n));
    let len = section
        .require(reader, "len", "len = \"n\"")
        .and_then(|n| length(reader, n, elem.as_ref()));
    let output = reader.boolean(section.get("output"), "`output`");
    let symbol = section
        .get("symbol")
        .and_then(|n| reader.string(n, "`symbol`"));
    let seed = reader.seed(section.get("seed"));
    let shape = section.get("shape").and_then(|n| shape(reader, n, len));
    let first = match (section.get("init"), &elem) {
        (None, _) => Some(Init::Zero),
        (Some(n), Some(elem)) => init(reader, n, elem, len),
        (Some(_), None) => None,
    };
    if let Some(name) = &name {
        let facts = BufferFacts {
            elem: elem.clone(),
            len,
            symbol: section.get("symbol").is_some(),
        };
        reader.names.buffers.insert(name.clone(), facts);
    }
    Some(BufferSpec {
        name: name?,
        elem: elem?,
        len: len?,
        init: first?,
        defined: match section.get("init").map(|n| &n.kind) {
            None => Defined::AssumedZero,
            Some(Kind::Text(t)) if t == "undefined" => Defined::Undefined,
            Some(_) => Defined::Given,
        },
        output: output.unwrap_or(false),
        symbol: symbol.map(Into::into),
        seed,
        shape,
        span: node.span.clone(),
        line: reader.line(&node.span),
    })
}

fn name(reader: &mut Reader<'_>, section: &Section<'_>) -> Option<String> {
    let node = section.require(reader, "name", "name = \"x\"")?;
    let name = reader.string(node, "`name`")?;
    if !is_identifier(name) {
        reader.mistake(
            node.span.clone(),
            format!("buffer `{name}` has no usable name"),
            "letters, digits and `_`, not starting with a digit",
            None,
        );
        return None;
    }
    if let Some(by) = reader.taken(name) {
        reader.mistake(
            node.span.clone(),
            format!("buffer `{name}` has the name of a {by}"),
            "a name of its own",
            None,
        );
        return None;
    }
    Some(name.to_owned())
}

fn length(reader: &mut Reader<'_>, node: &Node, elem: Option<&ElemType>) -> Option<usize> {
    let len = reader.integer(node, "`len`")?;
    let size = elem.map_or(1, ElemType::size) as i128;
    let bytes = i128::from(len) * size;
    if len >= 1 && bytes <= i128::from(MAX_BYTES) {
        return usize::try_from(len).ok();
    }
    let (what, expected) = if len < 1 {
        (format!("`len` is {len}"), "at least 1 element".to_owned())
    } else {
        (
            format!("`len` of {len} makes {bytes} bytes"),
            format!("at most {MAX_BYTES} (1 TiB)"),
        )
    };
    reader.mistake(node.span.clone(), what, expected, None);
    None
}

fn shape(reader: &mut Reader<'_>, node: &Node, len: Option<usize>) -> Option<Vec<usize>> {
    let items = reader.list(node, "`shape`", "a list of extents")?;
    let mut shape = Some(Vec::new());
    for item in items {
        let extent = reader.integer(item, "an extent of `shape`");
        if let Some(bad) = extent.filter(|e| *e < 1) {
            let what = format!("an extent of `shape` is {bad}");
            reader.mistake(item.span.clone(), what, "at least 1", None);
        }
        let extent = extent
            .filter(|e| *e >= 1)
            .and_then(|e| usize::try_from(e).ok());
        shape = shape.zip(extent).map(|(mut list, e)| {
            list.push(e);
            list
        });
    }
    let shape = shape?;
    let product = shape
        .iter()
        .try_fold(1usize, |product, e| product.checked_mul(*e));
    let len = len?;
    if product == Some(len) {
        return Some(shape);
    }
    let product = product.map_or("too many".to_owned(), |p| p.to_string());
    reader.mistake(
        node.span.clone(),
        format!("`shape` has {product} elements"),
        format!("{len}, as many as `len`"),
        None,
    );
    None
}

impl Reader<'_> {
    /// Checks that a name is a buffer's, and returns what is known of it.
    pub(super) fn known_buffer(&mut self, node: &Node, name: &str) -> Option<BufferFacts> {
        let found = self.names.buffers.get(name).cloned();
        if found.is_none() {
            let help = did_you_mean(name, self.names.buffers.keys().map(String::as_str));
            let what = format!("unknown buffer `{name}`");
            self.mistake(node.span.clone(), what, "the name of a `[[buffer]]`", help);
        }
        found
    }
}
