//! What is known of an application from one run: its kernels, and the allocations that they share.
use super::error::AppError;
use super::run::{AppTrace, TracedElement, bare};
use crate::formats::stored_formats;
use crate::storage::StoragePlace;
use crate::subject::Subject;
use crate::tunable::Tunable;
use kerf_ir::program::Program;
use kerf_pass::SiteFormat;
use kerf_run::storage::Touches;
use kerf_workload::elem::ElemType;
use kerf_workload::workload::{BufferSpec, Init};
use std::collections::BTreeMap;
use std::path::Path;

/// An allocation as results name it.
fn name(number: usize) -> String {
    format!("#{number}")
}

/// An allocation of doubles, or of something that keeps its format.
fn buffer(number: usize, bytes: usize, element: Option<&TracedElement>) -> BufferSpec {
    let doubles = element.is_some_and(|(scalars, size)| {
        scalars.iter().all(|s| s.1 == "f64") && scalars.len() as u64 * 8 == *size
    });
    let (kind, size) = if doubles { ("f64", 8) } else { ("u8", 1) };
    BufferSpec {
        name: name(number),
        elem: ElemType::parse(kind).unwrap_or(ElemType::Scalar(kerf_workload::scalar::Scalar::U8)),
        len: bytes / size,
        init: Init::Zero,
        defined: kerf_workload::workload::Defined::Given,
        output: false,
        symbol: None,
        seed: None,
        shape: None,
        span: 0..0,
        line: 0,
    }
}

/// What kernels call a buffer, since its number says nothing to people.
fn by_parameters(places: &[StoragePlace]) -> String {
    const SHOWN: usize = 3;
    let mut names: Vec<(&str, Vec<&str>)> = Vec::new();
    for p in places {
        let kernel = bare(&p.kernel);
        match names.iter_mut().find(|n| n.0 == p.name) {
            Some((_, kernels)) if kernels.contains(&kernel) => {}
            Some((_, kernels)) => kernels.push(kernel),
            None => names.push((&p.name, vec![kernel])),
        }
    }
    let shown = names.iter().take(SHOWN).map(|(name, kernels)| {
        let more = if kernels.len() > SHOWN { ", ..." } else { "" };
        let some = kernels.len().min(SHOWN);
        format!("{name} of {}{more}", kernels[..some].join(", "))
    });
    let text: Vec<String> = shown.collect();
    match text.is_empty() {
        true => String::new(),
        false => format!(" ({})", text.join("; ")),
    }
}

/// Everything that a trace tells. Kernels are in the order of their symbols.
pub(super) fn subject(trace: &AppTrace, folder: &Path) -> Result<Subject, AppError> {
    let mut units = Vec::new();
    for u in &trace.units {
        let path = folder.join(&u.bitcode);
        let bad = |e: String| AppError::Module(format!("{}: {e}", path.display()));
        let program = Program {
            source: u.source.clone().into(),
            bitcode: std::fs::read(&path).map_err(|e| bad(e.to_string()))?,
            unlifted: Vec::new(),
            cached: false,
        };
        let mine = trace.kernels.iter().filter(|k| k.unit == u.number);
        let mut wanted: Vec<String> = mine.map(|k| k.symbol.clone()).collect();
        wanted.sort();
        units.push((program, wanted));
    }
    let numbers: Vec<usize> = trace.allocations.keys().copied().collect();
    let at = |n: &usize| numbers.iter().position(|x| x == n);
    let buffers = trace
        .allocations
        .iter()
        .map(|(n, (bytes, e))| buffer(*n, *bytes, e.as_ref()));
    let touches = Touches {
        parameters: trace
            .touches
            .iter()
            .filter_map(|(s, p, n)| Some((s.clone(), *p, at(n)?)))
            .collect(),
        in_structs: trace.in_structs.iter().filter_map(at).collect(),
        copies: trace
            .device_copies
            .iter()
            .filter_map(|(a, b)| Some((at(a)?, at(b)?)))
            .collect(),
        variables: Vec::new(),
        application: true,
    };
    let kernels = trace.kernels.iter();
    let launched = kernels.flat_map(|k| k.blocks.iter().map(|b| (k.symbol.clone(), *b)));
    let s = Subject::from_application(units, buffers.collect(), &touches, launched.collect());
    let mut s = s.map_err(|e| AppError::Module(e.to_string()))?;
    for stored in &mut s.stored {
        if !stored.buffers.is_empty() {
            stored.name += &by_parameters(&stored.places);
        }
        let why = trace
            .fixed
            .iter()
            .find(|(n, _)| stored.buffers.contains(&name(**n)));
        if let Some((n, why)) = why {
            let text = format!("allocation {}: {why}", name(*n));
            let all = stored_formats().into_iter();
            stored.refused.extend(all.map(|f| (f, text.clone())));
        }
    }
    Ok(s)
}

/// The allocations that an assignment holds in other formats, by number.
pub(super) fn held(s: &Subject, t: &Tunable, a: &[u8]) -> BTreeMap<usize, SiteFormat> {
    let mut all = BTreeMap::new();
    for (g, level) in t
        .groups
        .iter()
        .zip(a)
        .filter(|(g, l)| **l > 0 && !g.holds.is_empty())
    {
        let Some(format) = g.formats[*level as usize].format() else {
            continue;
        };
        let mine = s.stored.iter().filter(|x| x.places == g.holds);
        for b in mine.flat_map(|x| &x.buffers) {
            all.extend(
                b.trim_start_matches('#')
                    .parse()
                    .map(|n: usize| (n, format)),
            );
        }
    }
    all
}
