//! `[accept]`.

use std::collections::BTreeMap;

use super::reader::Reader;
use super::section::Section;
use super::tree::{Kind, Node};
use crate::accept::{Accept, Criterion, Metric};
use crate::suggest::did_you_mean;
use crate::workload::BufferSpec;
use kerf_num::metrics::WINDOW;

const KEYS: &[&str] = &[
    "metric",
    "tolerance",
    "floor",
    "quantile",
    "peak",
    "allow_nan",
];
const TOP_KEYS: &[&str] = &[
    "metric",
    "tolerance",
    "floor",
    "quantile",
    "peak",
    "allow_nan",
    "outputs",
];

/// A criterion some of whose parts may be left to another.
#[derive(Clone, Copy, Default)]
struct Partial {
    metric: Option<Metric>,
    tolerance: Option<f64>,
    floor: Option<f64>,
    quantile: Option<f64>,
    peak: Option<f64>,
    allow_nan: Option<bool>,
    /// Whether something present is wrong, so that nothing should be said to be missing.
    wrong: bool,
}

/// Reads the acceptance criteria.
pub(super) fn accept(reader: &mut Reader<'_>, top: &Section<'_>, buffers: &[BufferSpec]) -> Accept {
    let Some(node) = top.get("accept") else {
        return Accept::default();
    };
    let section = Section::new(reader, "`[accept]`", node, TOP_KEYS);
    let shared = partial(reader, &section);
    let mut outputs = BTreeMap::new();
    if let Some(node) = section.get("outputs") {
        let Kind::Table(entries) = &node.kind else {
            reader.wrong_kind(node, "`outputs`", "tables `[accept.outputs.name]`");
            return Accept::default();
        };
        for entry in entries {
            known_output(reader, &entry.key, &entry.key_span, buffers);
            let own = Section::new(reader, "criterion of an output", &entry.node, KEYS);
            let own = partial(reader, &own);
            let merged = Partial {
                metric: own.metric.or(shared.metric),
                tolerance: own.tolerance.or(shared.tolerance),
                floor: own.floor.or(shared.floor),
                quantile: own.quantile.or(shared.quantile),
                peak: own.peak.or(shared.peak),
                allow_nan: own.allow_nan.or(shared.allow_nan),
                wrong: own.wrong || shared.wrong,
            };
            let criterion = complete(reader, merged, &entry.node);
            outputs.extend(criterion.map(|c| (entry.key.clone(), c)));
        }
    }
    let mut names = buffers.iter().filter(|b| b.output);
    // With a criterion for every output the shared one may be left incomplete.
    let covered = !outputs.is_empty() && names.all(|b| outputs.contains_key(&b.name));
    let all = match shared.tolerance {
        None if covered => None,
        _ => complete(reader, shared, node),
    };
    let found = Accept { all, outputs };
    for b in buffers.iter().filter(|b| b.output) {
        let asked = found.criterion(&b.name).map(|c| c.metric) == Some(Metric::Ssim);
        if asked && b.image().is_none() {
            let what = format!("metric `ssim` for `{}`, which is no image", b.name);
            let expected = format!("`shape = [rows, columns]` of at least {WINDOW} by {WINDOW}");
            reader.mistake(node.span.clone(), what, expected, None);
        }
    }
    found
}

fn known_output(
    reader: &mut Reader<'_>,
    name: &str,
    span: &std::ops::Range<usize>,
    buffers: &[BufferSpec],
) {
    let is_output = |b: &&BufferSpec| b.output;
    let found = buffers.iter().find(|b| b.name == name);
    // A buffer whose definition is wrong may well be an output.
    let excused = found.is_none() && reader.names.buffers.contains_key(name);
    if excused || found.is_some_and(|b| b.output) {
        return;
    }
    let (what, help) = match found {
        Some(_) => (
            format!("criterion for `{name}`, which is no output"),
            Some(format!("write `output = true` for buffer `{name}`")),
        ),
        None => (
            format!("criterion for unknown output `{name}`"),
            did_you_mean(
                name,
                buffers.iter().filter(is_output).map(|b| b.name.as_str()),
            ),
        ),
    };
    reader.mistake(span.clone(), what, "the name of an output", help);
}

fn partial(reader: &mut Reader<'_>, section: &Section<'_>) -> Partial {
    let metric = section.get("metric").and_then(|n| metric(reader, n));
    let allow_nan = reader.boolean(section.get("allow_nan"), "`allow_nan`");
    let mut get = |key: &str, good: fn(f64) -> bool, expected: &str| {
        let node = section.get(key)?;
        number(reader, node, key, good, expected)
    };
    let tolerance = get("tolerance", |v| v >= 0.0, "a number of 0 or more");
    let floor = get("floor", |v| v > 0.0, "a number above 0");
    let within = |v: f64| v > 0.0 && v <= 1.0;
    let quantile = get("quantile", within, "a number above 0 and at most 1");
    let peak = get("peak", |v| v > 0.0, "a number above 0, e.g. 255");
    let present = KEYS.iter().filter(|k| section.get(k).is_some()).count();
    let numbers = [tolerance, floor, quantile, peak].iter().flatten().count();
    let read = numbers + usize::from(metric.is_some()) + usize::from(allow_nan.is_some());
    Partial {
        metric,
        tolerance,
        floor,
        quantile,
        peak,
        allow_nan,
        wrong: present > read || section.misspells("tolerance"),
    }
}

fn metric(reader: &mut Reader<'_>, node: &Node) -> Option<Metric> {
    let name = reader.string(node, "`metric`")?;
    let metric = name.parse::<Metric>().ok();
    if metric.is_none() {
        let known = Metric::ALL.map(Metric::name);
        reader.mistake(
            node.span.clone(),
            format!("unknown metric `{name}`"),
            format!("one of {}", known.join(", ")),
            did_you_mean(name, known),
        );
    }
    metric
}

fn number(
    reader: &mut Reader<'_>,
    node: &Node,
    key: &str,
    good: fn(f64) -> bool,
    expected: &str,
) -> Option<f64> {
    let value = reader.number(node, &format!("`{key}`"))?;
    let float = value.as_f64();
    if float.is_finite() && good(float) {
        return Some(float);
    }
    let what = format!("`{key}` is {value}");
    reader.mistake(node.span.clone(), what, expected, None);
    None
}

fn complete(reader: &mut Reader<'_>, parts: Partial, node: &Node) -> Option<Criterion> {
    if parts.wrong {
        return None;
    }
    let metric = parts.metric.unwrap_or(Metric::MaxRel);
    if parts.tolerance.is_none() {
        let what = "no `tolerance`";
        reader.mistake(node.span.clone(), what, "`tolerance = 1e-6`", None);
    }
    if metric == Metric::Quantile && parts.quantile.is_none() {
        let what = "metric `quantile` without `quantile`";
        reader.mistake(node.span.clone(), what, "`quantile = 0.999`", None);
    }
    Some(Criterion {
        metric,
        tolerance: parts.tolerance?,
        floor: parts.floor,
        quantile: parts.quantile,
        peak: parts.peak,
        allow_nan: parts.allow_nan.unwrap_or(false),
    })
}
