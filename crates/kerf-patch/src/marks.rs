//! What a plan wants at each place of the source.
use crate::ast::Ast;
use crate::source::SourceFile;
use kerf_ir::sites::{self, Site};
use kerf_llvm::Module;
use kerf_num::Format;
use kerf_num::made::{MadeFunction, WorkingFormat};
use kerf_pass::{KernelPlan, MathVariant, SiteFormat};
use kerf_tune::setting::intern;
use std::collections::BTreeMap;
use std::path::Path;

/// An operation of a kernel at a place of the source.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceMark {
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
    /// The made function that computes it.
    pub made: Option<MadeHelper>,
}

/// A made function as a function that is put into the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct MadeHelper {
    /// Its name there.
    pub name: &'static str,
    /// Format of argument and result.
    pub format: Format,
}

impl MadeHelper {
    /// The helper that stands for a made function.
    pub fn new(f: &MadeFunction) -> MadeHelper {
        MadeHelper {
            name: intern(&format!("kerf_{}_made_{}", f.library_name(), f.id())),
            format: match f.format() {
                WorkingFormat::F64 => Format::F64,
                WorkingFormat::F32 => Format::F32,
            },
        }
    }
}

/// Operations by file, line and column.
#[derive(Debug, Default, Clone)]
pub struct Marks {
    by_place: BTreeMap<Place, Vec<SourceMark>>,
}

/// The format of the source's types that is nearest to a plan's.
fn nearest(from: Format, to: SiteFormat) -> Format {
    match (from, to) {
        // f16 and bf16 are for storing: their operators have no functions, no literals and no contraction.
        (Format::F64, SiteFormat::F32 | SiteFormat::F16 | SiteFormat::Bf16) => Format::F32,
        _ => from,
    }
}

impl SourceMark {
    fn new(site: &Site, plan: &KernelPlan) -> SourceMark {
        let format = plan.sites.get(&site.id).copied();
        let variant = plan.math.get(&site.id).copied();
        SourceMark {
            op: site.op.clone(),
            from: site.format,
            to: format.map_or(site.format, |to| nearest(site.format, to)),
            half: matches!(format, Some(SiteFormat::F16 | SiteFormat::Bf16)),
            variant: variant.filter(|v| *v != MathVariant::Accurate),
            made: plan.made_function(site.id).map(MadeHelper::new),
        }
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

/// A place that debug info names: file, line, column.
pub(crate) type Place = (usize, u32, u32);

/// Places of an instruction in files of the tree, the innermost first: its own, those of the calls that it was inlined by.
pub(crate) fn places(chain: &str, files: &BTreeMap<&Path, usize>) -> Vec<Place> {
    let place = |line: &str| {
        let mut parts = line.split('\t');
        let file = *files.get(Path::new(parts.next()?))?;
        let (line, column) = (parts.next()?, parts.next()?);
        Some((file, line.parse().ok()?, column.parse().ok()?))
    };
    chain.lines().filter_map(place).collect()
}

impl Marks {
    /// What the plans of some kernels want, by place in the files that may change.
    pub fn from_plans(
        ast: &Ast,
        sources: &BTreeMap<usize, SourceFile>,
        module: &Module,
        kernels: &[(&str, &KernelPlan)],
    ) -> Marks {
        let (mut marks, files) = (Marks::default(), ast.file_numbers());
        for (symbol, plan) in kernels {
            let Some(function) = module.function(symbol) else {
                continue;
            };
            let map = sites::sites(module, function);
            for (site, instruction) in map.sites.iter().zip(&map.instructions) {
                let chain = instruction.location_chain().unwrap_or_default();
                let mut places = places(&chain, &files).into_iter();
                let place = places.find(|p| sources.contains_key(&p.0) && p.1 > 0);
                if let Some(place) = place.filter(|_| !is_memory(&site.op)) {
                    marks.add(place, SourceMark::new(site, plan));
                }
            }
        }
        marks
    }

    pub(crate) fn add(&mut self, place: Place, mark: SourceMark) {
        self.by_place.entry(place).or_default().push(mark);
    }

    /// Operations at a place.
    pub fn at(&self, file: usize, (line, column): (u32, u32)) -> &[SourceMark] {
        self.by_place
            .get(&(file, line, column))
            .map_or(&[], Vec::as_slice)
    }
}
