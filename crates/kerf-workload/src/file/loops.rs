//! `for = { t = "0..n" }`.

use super::names::{Visible, is_identifier};
use super::reader::Reader;
use super::tree::{Entry, Kind, Node};
use crate::expr::{Expr, parse_range};
use crate::number::Number;

/// What a `for` says; a part is `None` if it is wrong.
pub(super) struct Bounds {
    /// The variable, known even if its range is wrong.
    pub(super) var: Option<String>,
    pub(super) range: Option<LoopRange>,
}

pub(super) struct LoopRange {
    pub(super) from: Expr,
    pub(super) to: Expr,
    pub(super) inclusive: bool,
    pub(super) step: Option<Expr>,
}

const EXAMPLE: &str = "`for = { t = \"0..n\" }`";

/// Reads a `for` inside the loops over `outer`.
pub(super) fn bounds(reader: &mut Reader<'_>, node: &Node, outer: &[String]) -> Bounds {
    let entry = match &node.kind {
        Kind::Table(entries) => match entries.as_slice() {
            [entry] => entry,
            _ => {
                reader.mistake(
                    node.span.clone(),
                    format!("`for` with {} variables", entries.len()),
                    EXAMPLE,
                    Some("nest loops with `do` for more than one".into()),
                );
                return Bounds {
                    var: None,
                    range: None,
                };
            }
        },
        _ => {
            reader.wrong_kind(node, "`for`", EXAMPLE);
            return Bounds {
                var: None,
                range: None,
            };
        }
    };
    let range = range(reader, &entry.node, outer);
    Bounds {
        var: variable(reader, entry, outer),
        range,
    }
}

fn variable(reader: &mut Reader<'_>, entry: &Entry, outer: &[String]) -> Option<String> {
    let name = entry.key.as_str();
    let by = match reader.taken(name) {
        None if outer.iter().any(|o| o == name) => Some("loop variable around it"),
        by => by,
    };
    let (what, expected) = match by {
        Some(by) => (
            format!("loop variable `{name}` has the name of a {by}"),
            "a name of its own",
        ),
        None if !is_identifier(name) => (
            format!("loop variable `{name}` has no usable name"),
            "letters, digits and `_`, not starting with a digit",
        ),
        None => return Some(name.to_owned()),
    };
    reader.mistake(entry.key_span.clone(), what, expected, None);
    None
}

fn range(reader: &mut Reader<'_>, node: &Node, outer: &[String]) -> Option<LoopRange> {
    let text = match &node.kind {
        Kind::Text(text) => text,
        Kind::Int(n) => {
            let help = Some(format!("write `\"0..{n}\"`"));
            let what = "range of a loop is an integer";
            reader.mistake(node.span.clone(), what, "a string `\"a..b\"`", help);
            return None;
        }
        _ => {
            reader.wrong_kind(node, "range of a loop", "a string `\"a..b\"`");
            return None;
        }
    };
    let parts = match parse_range(text) {
        Ok(parts) => parts,
        Err(error) => {
            let origin = reader.origin(node, 0);
            reader.expr_mistake(&origin, text, error);
            return None;
        }
    };
    let visible = Visible {
        params: true,
        loops: outer,
        element: false,
    };
    let mut place = |(lead, expr): (usize, Expr)| {
        let expr = expr.at(reader.origin(node, lead));
        reader.check_names(&expr, &visible).then_some(expr)
    };
    let from = place(parts.from);
    let to = place(parts.to);
    let step = match parts.step {
        Some(step) => Some(place(step)?),
        None => None,
    };
    if let Some(Number::Int(0)) = step.as_ref().and_then(Expr::as_literal) {
        let what = "step of a loop is 0";
        reader.mistake(node.span.clone(), what, "any other integer", None);
    }
    Some(LoopRange {
        from: from?,
        to: to?,
        inclusive: parts.inclusive,
        step,
    })
}
