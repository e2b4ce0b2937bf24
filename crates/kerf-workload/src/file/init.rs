//! `init` of a buffer or of a struct's field.

use super::names::Visible;
use super::reader::Reader;
use super::tree::{Entry, Kind, Node};
use crate::elem::ElemType;
use crate::generate::check::{check, misfit};
use crate::npy;
use crate::number::Number;
use crate::suggest::did_you_mean;
use crate::workload::Init;

const KINDS: [&str; 10] = [
    "zero",
    "constant",
    "uniform",
    "normal",
    "log_uniform",
    "linear",
    "values",
    "permutation",
    "expr",
    "file",
];

/// Reads an init for `len` elements of type `elem`; `len` is `None` if it is itself wrong.
pub(super) fn init(
    reader: &mut Reader<'_>,
    node: &Node,
    elem: &ElemType,
    len: Option<usize>,
) -> Option<Init> {
    let init = match &node.kind {
        Kind::Text(text) if text == "zero" || text == "undefined" => Init::Zero,
        Kind::Text(text) => {
            let help = did_you_mean(text, ["zero", "undefined"]);
            unknown(reader, node, text, help);
            return None;
        }
        Kind::Int(v) => {
            bare_number(reader, node, Number::from(*v));
            return None;
        }
        Kind::Float(v) => {
            bare_number(reader, node, Number::from(*v));
            return None;
        }
        Kind::List(fields) => return self::fields(reader, node, fields, elem, len),
        Kind::Table(entries) => match entries.as_slice() {
            [entry] => kind(reader, entry, elem, len)?,
            _ => {
                reader.mistake(
                    node.span.clone(),
                    format!("`init` with {} keys", entries.len()),
                    "exactly one, such as `{ uniform = [0, 1] }`",
                    None,
                );
                return None;
            }
        },
        _ => {
            let expected = "`\"zero\"` or a table such as `{ uniform = [0, 1] }`";
            reader.wrong_kind(node, "`init`", expected);
            return None;
        }
    };
    let counted = matches!(init, Init::Values(_) | Init::Permutation);
    let judged = match len {
        None if counted => return None,
        // Without a length the rest can be judged as well for one element.
        len => check(&init, elem, len.unwrap_or(1)),
    };
    match judged {
        Ok(()) => Some(init),
        Err(problem) => {
            let span = node.span.clone();
            reader.mistake(span, problem.what, problem.expected, problem.help);
            None
        }
    }
}

fn fields(
    reader: &mut Reader<'_>,
    node: &Node,
    inits: &[Node],
    elem: &ElemType,
    len: Option<usize>,
) -> Option<Init> {
    let span = node.span.clone();
    let ElemType::Struct(types) = elem else {
        let what = format!("a list of inits for type {elem}");
        let help = Some("numbers are listed as `{ values = [..] }`".into());
        reader.mistake(span, what, "one init", help);
        return None;
    };
    if types.len() != inits.len() {
        let what = format!("{} inits for {} fields", inits.len(), types.len());
        reader.mistake(span, what, "one init for each field", None);
    }
    let read: Vec<_> = inits
        .iter()
        .zip(types)
        .map(|(n, t)| init(reader, n, t, len))
        .collect();
    let read: Vec<Init> = read.into_iter().collect::<Option<_>>()?;
    (read.len() == types.len()).then_some(Init::Fields(read))
}

/// Reads the one entry of an init's table.
fn kind(
    reader: &mut Reader<'_>,
    entry: &Entry,
    elem: &ElemType,
    len: Option<usize>,
) -> Option<Init> {
    let node = &entry.node;
    match entry.key.as_str() {
        "zero" => flag(reader, entry, Init::Zero),
        "permutation" => flag(reader, entry, Init::Permutation),
        "constant" => reader.number(node, "`constant`").map(Init::Constant),
        "uniform" => pair(reader, entry).map(|(low, high)| Init::Uniform { low, high }),
        "linear" => pair(reader, entry).map(|(from, to)| Init::Linear { from, to }),
        "normal" => pair(reader, entry).map(|(mean, sd)| Init::Normal {
            mean: mean.as_f64(),
            sd: sd.as_f64(),
        }),
        "log_uniform" => pair(reader, entry).map(|(low, high)| Init::LogUniform {
            low: low.as_f64(),
            high: high.as_f64(),
        }),
        "values" => values(reader, node, elem),
        "expr" => {
            let visible = Visible {
                element: true,
                ..Visible::SIZES
            };
            reader.expr(node, "`expr`", &visible).map(Init::Expr)
        }
        "file" => file(reader, node, elem, len),
        other => {
            let help = did_you_mean(other, KINDS);
            let key = Node {
                kind: node.kind.clone(),
                span: entry.key_span.clone(),
            };
            unknown(reader, &key, other, help);
            None
        }
    }
}

fn unknown(reader: &mut Reader<'_>, node: &Node, name: &str, help: Option<String>) {
    reader.mistake(
        node.span.clone(),
        format!("unknown init `{name}`"),
        format!("one of {}", KINDS.join(", ")),
        help,
    );
}

fn bare_number(reader: &mut Reader<'_>, node: &Node, value: Number) {
    reader.mistake(
        node.span.clone(),
        format!("`init` is the number {value}"),
        "`\"zero\"` or a table",
        Some(format!("write `{{ constant = {value} }}`")),
    );
}

fn flag(reader: &mut Reader<'_>, entry: &Entry, init: Init) -> Option<Init> {
    if matches!(entry.node.kind, Kind::Bool(true)) {
        return Some(init);
    }
    let expected = format!("`{{ {} = true }}`", entry.key);
    let what = format!("`{}` is not `true`", entry.key);
    reader.mistake(entry.node.span.clone(), what, expected, None);
    None
}

fn pair(reader: &mut Reader<'_>, entry: &Entry) -> Option<(Number, Number)> {
    let what = format!("`{}`", entry.key);
    let items = reader.list(&entry.node, &what, "a list of two numbers")?;
    let [a, b] = items else {
        reader.mistake(
            entry.node.span.clone(),
            format!("{what} lists {}", items.len()),
            "two numbers",
            None,
        );
        return None;
    };
    let a = reader.number(a, &what);
    let b = reader.number(b, &what);
    a.zip(b)
}

fn values(reader: &mut Reader<'_>, node: &Node, elem: &ElemType) -> Option<Init> {
    let items = reader.list(node, "`values`", "a list of numbers")?;
    let mut list = Vec::new();
    let mut good = true;
    for item in items {
        let value = reader.number(item, "one of `values`");
        let problem = value
            .zip(elem.scalar())
            .and_then(|(v, scalar)| misfit(v, scalar));
        if let Some(problem) = &problem {
            let (what, expected) = (problem.what.clone(), problem.expected.clone());
            reader.mistake(item.span.clone(), what, expected, None);
        }
        good &= value.is_some() && problem.is_none();
        list.extend(value);
    }
    good.then_some(Init::Values(list))
}

fn file(reader: &mut Reader<'_>, node: &Node, elem: &ElemType, len: Option<usize>) -> Option<Init> {
    let text = reader.string(node, "`file`")?;
    let path = reader.resolve(text);
    let span = node.span.clone();
    if !path.is_file() {
        reader.no_file(span, "file", text, &path);
        return None;
    }
    let fits = match (npy::inspect(&path), len) {
        (Ok(header), Some(len)) => header.check(elem, len),
        (Ok(_), None) => Ok(()),
        (Err(error), _) => Err(error.problem),
    };
    match fits {
        Ok(()) => Some(Init::File(path)),
        Err(problem) => {
            let (what, expected) = problem.parts();
            let what = format!("file `{text}`: {what}");
            reader.mistake(span, what, expected, problem.help());
            None
        }
    }
}
