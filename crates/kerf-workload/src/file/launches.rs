//! `[[launch]]` tables: launches, copies, swaps and loops around them.

use super::arguments::arguments;
use super::loops::{Bounds, bounds};
use super::names::{BufferFacts, Visible};
use super::reader::Reader;
use super::section::Section;
use super::tree::{Kind, Node};
use crate::expr::Expr;
use crate::limits::{self, Unlaunchable};
use crate::number::Number;
use crate::workload::{LaunchSpec, WorkloadStep};

const KEYS: &[&str] = &[
    "kernel", "grid", "block", "shared", "args", "for", "do", "copy", "swap",
];

/// Keys that say what a step is; a step has exactly one.
const KINDS: [&str; 4] = ["kernel", "do", "copy", "swap"];

/// Keys that only a kernel launch has.
const OF_LAUNCH: [&str; 4] = ["grid", "block", "shared", "args"];

/// Reads all steps.
pub(super) fn launches(reader: &mut Reader<'_>, top: &Section<'_>) -> Vec<WorkloadStep> {
    let Some(node) = top.require(reader, "launch", "[[launch]]") else {
        return Vec::new();
    };
    if let Kind::Table(_) = &node.kind {
        reader.mistake(
            top.key_span("launch"),
            "`launch` is a table",
            "a list of tables",
            Some("write `[[launch]]`, with two brackets".into()),
        );
        return steps(reader, std::slice::from_ref(node), &mut Vec::new());
    }
    list_of_steps(reader, node, "`launch`", &mut Vec::new())
}

fn list_of_steps(
    reader: &mut Reader<'_>,
    node: &Node,
    what: &str,
    loops: &mut Vec<String>,
) -> Vec<WorkloadStep> {
    let Some(nodes) = reader.list(node, what, "a list of steps") else {
        return Vec::new();
    };
    if nodes.is_empty() {
        let what = format!("{what} is empty");
        reader.mistake(node.span.clone(), what, "at least one step", None);
    }
    steps(reader, nodes, loops)
}

fn steps(reader: &mut Reader<'_>, nodes: &[Node], loops: &mut Vec<String>) -> Vec<WorkloadStep> {
    let step = |node: &Node| step(reader, node, loops);
    nodes.iter().filter_map(step).collect()
}

fn step(reader: &mut Reader<'_>, node: &Node, loops: &mut Vec<String>) -> Option<WorkloadStep> {
    let section = Section::new(reader, "a step", node, KEYS);
    let bounds = section.get("for").map(|n| bounds(reader, n, loops));
    let var = bounds.as_ref().and_then(|b| b.var.clone());
    let pushed = var.is_some();
    loops.extend(var);
    let body = body(reader, &section, loops);
    if pushed {
        loops.pop();
    }
    let line = reader.line(&node.span);
    match bounds {
        Some(bounds) => loop_step(bounds, body?, line),
        None if section.get("do").is_some() => {
            let span = section.key_span("do");
            reader.mistake(span, "`do` without `for`", "`for = { t = \"0..n\" }`", None);
            None
        }
        None => body?.pop(),
    }
}

fn loop_step(bounds: Bounds, body: Vec<WorkloadStep>, line: usize) -> Option<WorkloadStep> {
    let range = bounds.range?;
    Some(WorkloadStep::Loop {
        var: bounds.var?,
        from: range.from,
        to: range.to,
        inclusive: range.inclusive,
        step: range.step,
        body,
        line,
    })
}

/// What a step does, apart from repeating it.
fn body(
    reader: &mut Reader<'_>,
    section: &Section<'_>,
    loops: &mut Vec<String>,
) -> Option<Vec<WorkloadStep>> {
    let present: Vec<&str> = KINDS
        .into_iter()
        .filter(|k| section.get(k).is_some())
        .collect();
    // Something that looks like a launch is read as one, to report the rest of it.
    let launched = OF_LAUNCH.iter().any(|k| section.get(k).is_some());
    if present.is_empty() && launched {
        section.require(reader, "kernel", "kernel = \"name\"");
        launch(reader, section, loops);
        return None;
    }
    let [kind] = present[..] else {
        if KINDS.iter().any(|k| section.misspells(k)) {
            return None;
        }
        let what = match present[..] {
            [] => "step without `kernel`, `do`, `copy` or `swap`".to_owned(),
            _ => format!("step with `{}`", present.join("` and `")),
        };
        let span = match present.get(1) {
            Some(second) => section.key_span(second),
            None => section.span.clone(),
        };
        reader.mistake(span, what, "exactly one of them", None);
        return None;
    };
    if kind != "kernel" {
        for key in OF_LAUNCH {
            if section.get(key).is_some() {
                let what = format!("`{key}` in a step with `{kind}`");
                let span = section.key_span(key);
                reader.mistake(span, what, "it only with `kernel`", None);
            }
        }
    }
    let node = section.get(kind)?;
    let line = reader.line(&section.span);
    match kind {
        "kernel" => Some(vec![WorkloadStep::Launch(launch(reader, section, loops)?)]),
        "do" => Some(list_of_steps(reader, node, "`do`", loops)),
        "copy" => Some(vec![copy(reader, node, line)?]),
        _ => Some(vec![swap(reader, node, line)?]),
    }
}

fn launch(reader: &mut Reader<'_>, section: &Section<'_>, loops: &[String]) -> Option<LaunchSpec> {
    let visible = Visible {
        params: true,
        loops,
        element: false,
    };
    let kernel = section.get("kernel");
    let kernel = kernel.and_then(|n| reader.string(n, "`kernel`"));
    let grid = extents(reader, section, "grid", &visible, limits::grid_extent);
    let block = extents(reader, section, "block", &visible, limits::block_extent);
    if let Some((_, [Some(x), Some(y), Some(z)])) = block
        && let Err(problem) = limits::block_threads([x, y, z])
    {
        let span = section.get("block").map_or(0..0, |n| n.span.clone());
        reader.mistake(span, problem.what, problem.expected, None);
    }
    let shared = section.get("shared").map(|node| {
        let expr = reader.expr(node, "`shared`", &visible)?;
        static_check(reader, &expr, |v| limits::byte_count("`shared`", v));
        Some(expr)
    });
    let args = arguments(reader, section.get("args"), &visible);
    Some(LaunchSpec {
        kernel: kernel?.to_owned(),
        grid: grid?.0,
        block: block?.0,
        shared: match shared {
            Some(expr) => Some(expr?),
            None => None,
        },
        args: args?,
        line: reader.line(&section.span),
    })
}

/// Checks a number now if it depends on sizes alone; others wait for the launch.
fn static_check<T>(
    reader: &mut Reader<'_>,
    expr: &Expr,
    check: impl FnOnce(Number) -> Result<T, Unlaunchable>,
) -> Option<T> {
    let sizes = &reader.names.sizes;
    if !expr.names().iter().all(|n| sizes.contains_key(&n.name)) {
        return None;
    }
    let value = reader.value(expr)?;
    match check(value) {
        Ok(value) => Some(value),
        Err(problem) => {
            let span = expr.origin().span.clone();
            reader.mistake(span, problem.what, problem.expected, None);
            None
        }
    }
}

/// Reads `grid` or `block`: the expressions, and the extents already known.
fn extents(
    reader: &mut Reader<'_>,
    section: &Section<'_>,
    key: &'static str,
    visible: &Visible<'_>,
    check: fn(usize, Number) -> Result<u32, Unlaunchable>,
) -> Option<(Vec<Expr>, [Option<u32>; 3])> {
    let example = format!("{key} = [\"n\"]");
    let node = section.require(reader, key, &example)?;
    let what = format!("`{key}`");
    let items = reader.list(node, &what, "a list of 1 to 3 expressions")?;
    if !(1..=3).contains(&items.len()) {
        let what = format!("{what} with {} expressions", items.len());
        reader.mistake(node.span.clone(), what, "1 to 3", None);
        return None;
    }
    let mut exprs = Vec::new();
    let mut known = [Some(1); 3];
    for ((axis, item), slot) in items.iter().enumerate().zip(&mut known) {
        *slot = None;
        if let Some(expr) = reader.expr(item, &what, visible) {
            *slot = static_check(reader, &expr, |v| check(axis, v));
            exprs.push(expr);
        }
    }
    (exprs.len() == items.len()).then_some((exprs, known))
}

fn copy(reader: &mut Reader<'_>, node: &Node, line: usize) -> Option<WorkloadStep> {
    let section = Section::new(reader, "`copy`", node, &["from", "to"]);
    let mut side = |key: &str| {
        let example = "copy = { from = \"x\", to = \"y\" }";
        let node = section.require(reader, key, example)?;
        let name = reader.string(node, &format!("`{key}`"))?;
        Some((name, reader.known_buffer(node, name)?))
    };
    let (from, to) = (side("from"), side("to"));
    let ((from, from_facts), (to, to_facts)) = from.zip(to)?;
    if from == to {
        let what = format!("copy of `{from}` to itself");
        reader.mistake(node.span.clone(), what, "two buffers", None);
    }
    let bytes = |f: &BufferFacts| f.elem.as_ref()?.size().checked_mul(f.len?);
    if let Some((a, b)) = bytes(&from_facts).zip(bytes(&to_facts))
        && a != b
    {
        let what = format!("`{from}` has {a} bytes, `{to}` has {b}");
        reader.mistake(node.span.clone(), what, "equal byte lengths", None);
    }
    let (from, to) = (from.to_owned(), to.to_owned());
    Some(WorkloadStep::Copy { from, to, line })
}

fn swap(reader: &mut Reader<'_>, node: &Node, line: usize) -> Option<WorkloadStep> {
    let items = reader.list(node, "`swap`", "a list of two buffers")?;
    let [a, b] = items else {
        let what = format!("`swap` lists {}", items.len());
        reader.mistake(node.span.clone(), what, "two buffers", None);
        return None;
    };
    let mut side = |node| {
        let name = reader.string(node, "a name in `swap`")?;
        let facts = reader.known_buffer(node, name)?;
        if facts.symbol {
            let what = format!("swap of `{name}`, which is a variable of the source");
            let expected = "buffers without `symbol`";
            let help = Some("a variable's storage is fixed; use `copy`".into());
            reader.mistake(node.span.clone(), what, expected, help);
        }
        Some((name, facts))
    };
    let (a, b) = (side(a), side(b));
    let ((a, a_facts), (b, b_facts)) = a.zip(b)?;
    let differ = matches!((&a_facts.elem, &b_facts.elem), (Some(x), Some(y)) if x != y)
        || matches!((a_facts.len, b_facts.len), (Some(x), Some(y)) if x != y);
    if differ || a == b {
        let what = match a == b {
            true => format!("swap of `{a}` with itself"),
            false => format!("swap of `{a}` and `{b}`, which differ in type or length"),
        };
        let expected = "two buffers of equal type and length";
        reader.mistake(node.span.clone(), what, expected, None);
    }
    let (a, b) = (a.to_owned(), b.to_owned());
    Some(WorkloadStep::Swap { a, b, line })
}
