//! What a plan wants at each place of the source.
use crate::ast::Ast;
use kerf_ir::sites;
use kerf_llvm::Module;
use kerf_num::Format;
use kerf_pass::{KernelPlan, MathVariant, SiteFormat};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// An operation of a kernel at a place of the source.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceMark {
    /// Kernel, by position.
    pub kernel: usize,
    /// Site.
    pub site: usize,
    /// Operation.
    pub op: String,
    /// Format in the program.
    pub from: Format,
    /// Format in the plan that source can say: f64 or f32.
    pub to: Format,
    /// Does the plan have 16 bits, which source only stores numbers in?
    pub half: bool,
    /// Variant of a math call.
    pub variant: Option<MathVariant>,
}

/// Operations by file, line and column.
#[derive(Debug, Default, Clone)]
pub struct Marks {
    by: BTreeMap<(usize, u32, u32), Vec<SourceMark>>,
}

/// The format of the source's types that is nearest to a plan's.
fn nearest(from: Format, to: SiteFormat) -> Format {
    match (from, to) {
        // f16 and bf16 are for storing: their operators have no functions, no literals and no contraction.
        (Format::F64, SiteFormat::F32 | SiteFormat::F16 | SiteFormat::Bf16) => Format::F32,
        _ => from,
    }
}

/// Does an operation only move a number?
pub(crate) fn is_memory(op: &str) -> bool {
    matches!(
        op,
        "load"
            | "store"
            | "phi"
            | "select"
            | "fpext"
            | "fptrunc"
            | "sitofp"
            | "uitofp"
            | "atomicrmw"
            | "call"
    )
}

impl Marks {
    /// Of a kernel under its plan. `own` tells the number of a file of the user's.
    pub fn add(
        &mut self,
        ast: &Ast,
        m: &Module,
        kernel: (usize, &str),
        plan: &KernelPlan,
        own: &dyn Fn(usize) -> bool,
    ) {
        let Some(f) = m.function(kernel.1) else {
            return;
        };
        let files: BTreeMap<&PathBuf, usize> =
            ast.files.iter().enumerate().map(|(k, f)| (f, k)).collect();
        let map = sites::sites(m, f);
        for (s, i) in map.sites.iter().zip(&map.instructions) {
            if is_memory(&s.op) {
                continue;
            }
            let chain = i.location_chain().unwrap_or_default();
            let place = chain.lines().find_map(|l| {
                let mut parts = l.split('\t');
                let file = *files.get(&PathBuf::from(parts.next()?))?;
                let line: u32 = parts.next()?.parse().ok()?;
                let column: u32 = parts.next()?.parse().ok()?;
                (own(file) && line > 0).then_some((file, line, column))
            });
            let Some(place) = place else { continue };
            let to = plan
                .sites
                .get(&s.id)
                .map_or(s.format, |to| nearest(s.format, *to));
            let mark = SourceMark {
                kernel: kernel.0,
                site: s.id,
                op: s.op.clone(),
                from: s.format,
                to,
                half: matches!(
                    plan.sites.get(&s.id),
                    Some(SiteFormat::F16 | SiteFormat::Bf16)
                ),
                variant: plan
                    .math
                    .get(&s.id)
                    .copied()
                    .filter(|v| *v != MathVariant::Accurate),
            };
            self.by.entry(place).or_default().push(mark);
        }
    }

    /// Operations at a place.
    pub fn at(&self, file: usize, (line, column): (u32, u32)) -> &[SourceMark] {
        self.by
            .get(&(file, line, column))
            .map_or(&[], Vec::as_slice)
    }

    /// All of them, with their places.
    pub fn all(&self) -> impl Iterator<Item = ((usize, u32, u32), &SourceMark)> {
        self.by
            .iter()
            .flat_map(|(at, all)| all.iter().map(|m| (*at, m)))
    }
}
