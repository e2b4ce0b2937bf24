//! `[launch_space]`.

use std::collections::BTreeMap;
use std::path::Path;

use super::names::Visible;
use super::reader::Reader;
use super::section::Section;
use super::tree::{Entry, Kind, Node};
use crate::expr::Expr;
use crate::macros;
use crate::space::LaunchSpace;
use crate::suggest::did_you_mean;

/// Reads the launch space; without the table it has no parameters.
pub(super) fn launch_space(
    reader: &mut Reader<'_>,
    top: &Section<'_>,
    source: Option<&Path>,
    flags: &[String],
) -> LaunchSpace {
    let Some(node) = top.get("launch_space") else {
        return LaunchSpace::default();
    };
    let Kind::Table(entries) = &node.kind else {
        reader.wrong_kind(node, "`launch_space`", "a table `[launch_space]`");
        return LaunchSpace::default();
    };
    let mut space = LaunchSpace::default();
    let mut complete = true;
    for entry in entries {
        if matches!(entry.key.as_str(), "constraints" | "default" | "macros") {
            continue;
        }
        let usable = reader.new_name(entry, "launch-space parameter");
        let values = values(reader, entry);
        complete &= usable && values.is_some();
        if usable {
            reader.names.params.insert(entry.key.clone());
        }
        let fixed = reader.override_of(&entry.key).map(|v| vec![v]);
        let values = fixed.or(values).unwrap_or_default();
        space.params.push((entry.key.clone(), values));
    }
    let get = |key: &str| entries.iter().find(|e| e.key == key).map(|e| &e.node);
    let sizes = reader.names.sizes.iter();
    complete &= reader.names.sizes.values().all(Option::is_some);
    space.sizes = sizes
        .filter_map(|(name, value)| Some((name.clone(), (*value)?)))
        .collect();
    if let Some(list) = get("constraints") {
        complete &= constraints(reader, list, &mut space.constraints);
    }
    if let Some(list) = get("macros") {
        complete &= named(reader, list, &mut space);
    }
    own(reader, entries, &mut space, &macros::text(source), flags);
    if let Some(table) = get("default") {
        space.default = default(reader, table, &space);
        complete &= space.default.is_some();
    }
    if complete {
        judge(reader, &space, get("constraints"), get("default"));
    }
    space
}

fn values(reader: &mut Reader<'_>, entry: &Entry) -> Option<Vec<i64>> {
    let what = format!("launch-space parameter `{}`", entry.key);
    let node = &entry.node;
    if let Kind::Int(v) = node.kind {
        let help = Some(format!("write `{} = [{v}]`", entry.key));
        let span = node.span.clone();
        reader.mistake(
            span,
            format!("{what} is an integer"),
            "a list of integers",
            help,
        );
        return None;
    }
    let items = reader.list(node, &what, "a list of integers")?;
    if items.is_empty() {
        let what = format!("{what} has no values");
        reader.mistake(node.span.clone(), what, "at least one integer", None);
        return None;
    }
    let mut list = Vec::new();
    let mut seen = BTreeMap::new();
    for item in items {
        let Some(value) = reader.integer(item, &format!("a value of `{}`", entry.key)) else {
            continue;
        };
        if seen.insert(value, ()).is_some() {
            let what = format!("{what} lists {value} twice");
            reader.mistake(item.span.clone(), what, "each value once", None);
        }
        list.push(value);
    }
    (list.len() == items.len()).then_some(list)
}

/// Reads the constraints; whether all are good.
fn constraints(reader: &mut Reader<'_>, node: &Node, into: &mut Vec<Expr>) -> bool {
    let Some(items) = reader.list(node, "`constraints`", "a list of expressions") else {
        return false;
    };
    let visible = Visible {
        params: true,
        ..Visible::SIZES
    };
    for item in items {
        into.extend(reader.expr(item, "a constraint", &visible));
    }
    into.len() == items.len()
}

/// Reads the names of macros; whether all are parameters.
fn named(reader: &mut Reader<'_>, node: &Node, space: &mut LaunchSpace) -> bool {
    let expected = "a list of parameters of the launch space, as strings";
    let Some(items) = reader.list(node, "`macros`", expected) else {
        return false;
    };
    for item in items {
        let Some(name) = reader.string(item, "a macro") else {
            continue;
        };
        if !space.params.iter().any(|(n, _)| n == name) {
            let known = space.params.iter().map(|(n, _)| n.as_str());
            let help = did_you_mean(name, known);
            reader.mistake(
                item.span.clone(),
                format!("`{name}` is no parameter of the launch space"),
                "one that is listed with its values",
                help,
            );
            continue;
        }
        space.macros.push(name.to_owned());
    }
    space.macros.len() == items.len()
}

/// Notes what the source, or a flag, defines parameters as.
fn own(
    reader: &mut Reader<'_>,
    entries: &[Entry],
    space: &mut LaunchSpace,
    text: &str,
    flags: &[String],
) {
    let default = entries.iter().find(|e| e.key == "default").map(|e| &e.node);
    let chosen = |name: &str| match default.map(|d| &d.kind) {
        Some(Kind::Table(all)) => all.iter().any(|e| e.key == name),
        _ => false,
    };
    for (name, values) in &space.params {
        let Some(value) = macros::own(text, flags, name) else {
            continue;
        };
        if values.contains(&value) {
            space.own.insert(name.clone(), value);
            continue;
        }
        let entry = entries.iter().find(|e| e.key == *name);
        if let Some(e) = entry.filter(|_| reader.override_of(name).is_none() && !chosen(name)) {
            reader.warn(
                e.node.span.clone(),
                format!("`{name}` is defined as {value}, which is not in the list"),
                "the program's own value among the others",
                Some(format!("add {value}, so that others are compared with it")),
            );
        }
    }
}

fn default(
    reader: &mut Reader<'_>,
    node: &Node,
    space: &LaunchSpace,
) -> Option<BTreeMap<String, i64>> {
    let Kind::Table(entries) = &node.kind else {
        reader.wrong_kind(node, "`default`", "a table such as `{ bx = 64 }`");
        return None;
    };
    let mut chosen = BTreeMap::new();
    for entry in entries {
        let Some((name, values)) = space.params.iter().find(|(n, _)| *n == entry.key) else {
            let known = space.params.iter().map(|(n, _)| n.as_str());
            reader.mistake(
                entry.key_span.clone(),
                format!("default of unknown parameter `{}`", entry.key),
                "a parameter of the launch space",
                did_you_mean(&entry.key, known),
            );
            continue;
        };
        if let Some(fixed) = reader.override_of(name) {
            chosen.insert(name.clone(), fixed);
            continue;
        }
        let Some(value) = reader.integer(&entry.node, &format!("default of `{name}`")) else {
            continue;
        };
        if !values.is_empty() && !values.contains(&value) {
            let listed: Vec<String> = values.iter().take(20).map(i64::to_string).collect();
            reader.mistake(
                entry.node.span.clone(),
                format!("default of `{name}` is {value}"),
                format!("one of its values: {}", listed.join(", ")),
                None,
            );
            continue;
        }
        chosen.insert(name.clone(), value);
    }
    (chosen.len() == entries.len()).then_some(chosen)
}

/// Checks that some combination is allowed, and the default one.
fn judge(
    reader: &mut Reader<'_>,
    space: &LaunchSpace,
    constraints: Option<&Node>,
    default: Option<&Node>,
) {
    let Some(constraints) = constraints else {
        return;
    };
    if space.is_satisfiable() == Some(false) {
        reader.mistake(
            constraints.span.clone(),
            "no combination of values satisfies the constraints",
            "at least one that does",
            None,
        );
        return;
    }
    let Some(default) = default else { return };
    let params = space.default_params();
    if let Some(broken) = space.broken_constraint(&params) {
        let listed: Vec<String> = params.iter().map(|(n, v)| format!("{n} = {v}")).collect();
        reader.mistake(
            default.span.clone(),
            format!("default {} breaks `{broken}`", listed.join(", ")),
            "a default that satisfies the constraints",
            None,
        );
    }
}
