//! Arguments of launches.

use super::names::Visible;
use super::reader::Reader;
use super::section::Section;
use super::tree::{Entry, Kind, Node};
use crate::expr::Expr;
use crate::number::Number;
use crate::scalar::Scalar;
use crate::suggest::did_you_mean;
use crate::workload::ArgSpec;

const EXPECTED: &str = "a buffer, a number, an expression, or one of `{ buffer = .. }`, \
                        `{ struct = [..] }`, `{ local = .. }`, `{ f32 = .. }`";

/// Reads `args`; without the key there are none.
pub(super) fn arguments(
    reader: &mut Reader<'_>,
    node: Option<&Node>,
    visible: &Visible<'_>,
) -> Option<Vec<ArgSpec>> {
    let Some(node) = node else {
        return Some(Vec::new());
    };
    let items = reader.list(node, "`args`", "a list of arguments")?;
    several(reader, items, visible, false)
}

/// Reads all arguments before giving up on one, to report every mistake.
fn several(
    reader: &mut Reader<'_>,
    items: &[Node],
    visible: &Visible<'_>,
    in_struct: bool,
) -> Option<Vec<ArgSpec>> {
    let read: Vec<_> = items
        .iter()
        .map(|n| argument(reader, n, visible, in_struct))
        .collect();
    read.into_iter().collect()
}

fn argument(
    reader: &mut Reader<'_>,
    node: &Node,
    visible: &Visible<'_>,
    in_struct: bool,
) -> Option<ArgSpec> {
    match &node.kind {
        Kind::Text(text) => text_argument(reader, node, text, visible),
        Kind::Bool(value) => {
            let value = Expr::literal(Number::from(*value));
            Some(ArgSpec::Number(value.at(reader.origin(node, 0))))
        }
        Kind::Table(entries) if entries.iter().any(|e| e.key == "buffer") => {
            let section = Section::new(reader, "an argument", node, &["buffer", "offset"]);
            let named = section.get("buffer")?;
            let name = reader.string(named, "`buffer`")?;
            let offset = match section.get("offset") {
                Some(n) => Some(reader.expr(n, "`offset`", visible)?),
                None => None,
            };
            buffer(reader, named, name, offset)
        }
        Kind::Table(entries) => match entries.as_slice() {
            [entry] => single(reader, entry, visible, in_struct),
            _ => {
                let what = format!("argument with {} keys", entries.len());
                reader.mistake(node.span.clone(), what, EXPECTED, None);
                None
            }
        },
        Kind::Int(_) | Kind::Float(_) => reader
            .expr(node, "an argument", visible)
            .map(ArgSpec::Number),
        Kind::Date | Kind::List(_) => {
            reader.wrong_kind(node, "an argument", EXPECTED);
            None
        }
    }
}

fn text_argument(
    reader: &mut Reader<'_>,
    node: &Node,
    text: &str,
    visible: &Visible<'_>,
) -> Option<ArgSpec> {
    let name = text.trim();
    if reader.names.buffers.contains_key(name) {
        return buffer(reader, node, name, None);
    }
    // A lone unknown name may be a mistyped buffer as well as a mistyped number.
    let parsed = Expr::parse(text).ok();
    let lone = parsed.is_some_and(|e| matches!(e.names(), [n] if n.name == name));
    let known = reader.names.sizes.contains_key(name)
        || reader.names.params.contains(name)
        || visible.loops.iter().any(|l| l == name);
    if lone && !known {
        let names = &reader.names;
        let words = names.buffers.keys().chain(names.sizes.keys());
        let words = words.chain(&names.params).chain(visible.loops);
        let help = did_you_mean(name, words.map(String::as_str));
        let what = format!("unknown name `{name}`");
        reader.mistake(node.span.clone(), what, "a buffer or an expression", help);
        return None;
    }
    reader
        .expr(node, "an argument", visible)
        .map(ArgSpec::Number)
}

fn buffer(
    reader: &mut Reader<'_>,
    node: &Node,
    name: &str,
    offset: Option<Expr>,
) -> Option<ArgSpec> {
    let facts = reader.known_buffer(node, name)?;
    if facts.symbol {
        reader.mistake(
            node.span.clone(),
            format!("buffer `{name}` as an argument, but it is a variable of the source"),
            "a buffer without `symbol`",
            Some("kernels use the variable by its name".into()),
        );
    }
    Some(ArgSpec::Buffer {
        name: name.to_owned(),
        offset,
    })
}

fn single(
    reader: &mut Reader<'_>,
    entry: &Entry,
    visible: &Visible<'_>,
    in_struct: bool,
) -> Option<ArgSpec> {
    let node = &entry.node;
    match entry.key.as_str() {
        "struct" => {
            let items = reader.list(node, "`struct`", "a list of fields")?;
            several(reader, items, visible, true).map(ArgSpec::Struct)
        }
        "local" if in_struct => {
            let what = "`local` inside a struct";
            reader.mistake(entry.key_span.clone(), what, "it as an argument", None);
            None
        }
        "local" => reader.expr(node, "`local`", visible).map(ArgSpec::Local),
        key => match key.parse::<Scalar>() {
            Ok(scalar) => reader
                .expr(node, &format!("`{key}`"), visible)
                .map(|e| ArgSpec::Typed(scalar, e)),
            Err(_) => {
                let scalars = Scalar::ALL.map(Scalar::name);
                let words = ["buffer", "struct", "local"].into_iter().chain(scalars);
                let help = did_you_mean(key, words);
                let what = format!("unknown kind of argument `{key}`");
                reader.mistake(entry.key_span.clone(), what, EXPECTED, help);
                None
            }
        },
    }
}
