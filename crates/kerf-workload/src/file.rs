//! Reading workload files.
//!
//! Reading goes on after a mistake wherever what follows can still be judged, so that all mistakes
//! of a file are reported together. A name whose definition is wrong counts as known from then on:
//! its uses are no further mistakes.

mod accept;
mod arguments;
mod buffers;
mod element;
mod flags;
mod init;
mod launches;
mod loops;
mod names;
mod naming;
mod reader;
mod section;
mod space;
mod syntax;
mod tree;

#[cfg(test)]
mod tests;

use std::path::Path;

use crate::mistakes::{Mistake, Mistakes};
use crate::workload::{SizesFor, Workload};
use reader::Reader;
use section::Section;

const KEYS: &[&str] = &[
    "source",
    "flags",
    "seed",
    "sizes",
    "cpu_sizes",
    "buffer",
    "launch",
    "launch_space",
    "accept",
];

impl Workload {
    /// Reads the text of a workload file, with the CPU's sizes. `path` says where the text is from: paths in it are
    /// relative to its directory, and mistakes name it. `overrides` replace sizes and fix
    /// launch-space parameters.
    pub fn parse(
        text: &str,
        path: &Path,
        overrides: &[(String, i64)],
    ) -> Result<Workload, Mistakes> {
        Workload::parse_for(text, path, overrides, SizesFor::Cpu)
    }

    /// Reads the text of a workload file, with the sizes of a kind of device.
    pub fn parse_for(
        text: &str,
        path: &Path,
        overrides: &[(String, i64)],
        sizes_for: SizesFor,
    ) -> Result<Workload, Mistakes> {
        let mut reader = Reader::new(text, path, overrides, sizes_for);
        let Some(document) = syntax::parse(&mut reader) else {
            return Err(reader.into_mistakes());
        };
        let top = Section::new(&mut reader, "a workload file", &document, KEYS);
        let source = flags::source(&mut reader, &top);
        let flags = flags::flags(&mut reader, &top);
        let seed = reader.seed(top.get("seed")).unwrap_or(0);
        let (sizes, sizes_by_device) = naming::sizes(&mut reader, &top);
        let launch_space = space::launch_space(&mut reader, &top, source.as_deref(), &flags);
        reader.check_overrides();
        let buffers = buffers::buffers(&mut reader, &top);
        let steps = launches::launches(&mut reader, &top);
        let accept = accept::accept(&mut reader, &top, &buffers);
        if !buffers.iter().any(|b| b.output) {
            reader.warn(
                document.span.clone(),
                "no buffer is an output",
                "at least one with `output = true`",
                Some("nothing will be compared with the reference".into()),
            );
        }
        let warnings = reader.take_warnings();
        match (source, reader.has_mistakes()) {
            (Some(source), false) => Ok(Workload {
                path: path.to_owned(),
                source,
                flags,
                seed,
                sizes,
                sizes_by_device,
                buffers,
                steps,
                launch_space,
                accept,
                warnings,
            }),
            _ => Err(reader.into_mistakes()),
        }
    }

    /// Reads a workload file, with the CPU's sizes.
    pub fn read(path: &Path, overrides: &[(String, i64)]) -> Result<Workload, Mistakes> {
        Workload::read_for(path, overrides, SizesFor::Cpu)
    }

    /// The overrides with which [`Workload::read`] gives the GPU's sizes: `overrides`, and the values of `[sizes]` of what
    /// `[cpu_sizes]` names as well. Whoever starts work for a GPU asks once; all that read the file with the answer agree,
    /// on whatever device they run.
    pub fn gpu_overrides(
        path: &Path,
        overrides: &[(String, i64)],
    ) -> Result<Vec<(String, i64)>, Mistakes> {
        let workload = Workload::read_for(path, overrides, SizesFor::Gpu)?;
        let mut all = overrides.to_vec();
        for name in &workload.sizes_by_device {
            if let (false, Some(value)) = (
                overrides.iter().any(|(n, _)| n == name),
                workload.size(name),
            ) {
                all.push((name.clone(), value));
            }
        }
        Ok(all)
    }

    /// Reads a workload file, with the sizes of a kind of device.
    pub fn read_for(
        path: &Path,
        overrides: &[(String, i64)],
        sizes_for: SizesFor,
    ) -> Result<Workload, Mistakes> {
        let text = read_text(path)?;
        Workload::parse_for(&text, path, overrides, sizes_for)
    }
}

/// The text of a workload file.
fn read_text(path: &Path) -> Result<String, Mistakes> {
    let problem = |what: String, expected: &str, help: &str| {
        let mut mistakes = Mistakes::none();
        mistakes.push(Mistake {
            file: path.to_owned(),
            line: 0,
            column: 0,
            span: 0..0,
            what,
            expected: expected.into(),
            help: Some(help.into()),
        });
        mistakes
    };
    let bytes = std::fs::read(path).map_err(|e| {
        problem(
            format!("cannot be read: {e}"),
            "a workload file",
            "check the path and its permissions",
        )
    })?;
    if path
        .extension()
        .is_some_and(|e| flags::KINDS.iter().any(|k| e == *k))
    {
        let what = "a source, not a workload file".into();
        return Err(problem(
            what,
            "a .toml file that names it as `source`",
            "kerf inspect shows the kernels of a source",
        ));
    }
    String::from_utf8(bytes).map_err(|e| {
        let good = e.utf8_error().valid_up_to();
        let line = 1 + e
            .as_bytes()
            .iter()
            .take(good)
            .filter(|b| **b == b'\n')
            .count();
        problem(
            format!("not UTF-8 in line {line}"),
            "a TOML file in UTF-8",
            "save it as UTF-8",
        )
    })
}
