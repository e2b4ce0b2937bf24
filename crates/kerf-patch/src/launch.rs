//! Blocks: `__launch_bounds__` at kernels, and launches of the host code whose block is written as a number.
use crate::ast::{AstNode, TextRange, Via, strip};
use crate::edits::{Clash, Edits};
use crate::model::DeclarationModel;
use crate::source::SourceFile;
use std::collections::BTreeMap;

/// Why a kernel's bound or a launch stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BlockError {
    /// The kernel's name is not in the text.
    #[error("its name is in the body of a macro")]
    NameInMacro,
    /// The kernel is in a file of others.
    #[error("its file is not to be changed")]
    ForeignFile,
    /// OpenCL C has the attribute already.
    #[error("it says its work-group size already")]
    HasWorkGroupSize,
    /// `__launch_bounds__` without a parenthesis.
    #[error("its bound has another form")]
    BoundForm,
    /// `__launch_bounds__(N)`.
    #[error("its bound is no number")]
    BoundNoNumber,
    /// The block of a launch is computed.
    #[error("its block is not written in numbers")]
    BlockNoNumber,
    /// The launch has a block of more dimensions than its grid.
    #[error("its grid has fewer dimensions than its block")]
    FewerDimensions,
    /// The grid would not cover the same threads.
    #[error("its grid does not follow from {0}")]
    GridApart(String),
    /// An edit of the same text.
    #[error("something else changes there")]
    Clash,
}

impl From<Clash> for BlockError {
    fn from(_: Clash) -> BlockError {
        BlockError::Clash
    }
}

/// Registers of a multiprocessor, and threads that reside on one at most: of every NVIDIA GPU since compute capability 3.7, but for
/// fewer threads on some.
const REGISTERS: u32 = 65_536;
const RESIDENT_THREADS: u32 = 2048;

/// What is said at a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelBound {
    /// Threads of a block, by dimension.
    pub block: [u32; 3],
    /// Blocks that reside on a multiprocessor at least.
    pub resident_blocks: Option<u32>,
}

impl KernelBound {
    /// For blocks of a shape, and for threads of so many registers at most: a compiler that has to let enough blocks reside keeps
    /// within them.
    pub fn new(block: [u32; 3], registers: Option<u32>) -> KernelBound {
        let threads = block.iter().product::<u32>().next_multiple_of(32);
        let resident = |r: u32| {
            let by_registers = REGISTERS / (threads * r.next_multiple_of(8));
            by_registers.min(RESIDENT_THREADS / threads)
        };
        KernelBound {
            block,
            resident_blocks: registers.map(resident).filter(|n| *n > 0),
        }
    }
}

/// Puts the bound of a kernel's blocks at its name. Gives why not, where it does not.
pub fn bound(
    model: &DeclarationModel,
    kernel: &AstNode,
    bound: &KernelBound,
    cl: bool,
    edits: &mut Edits,
) -> Result<(), BlockError> {
    let block = bound.block;
    let name = kernel.loc.filter(|l| l.via == Via::Text);
    let name = name.ok_or(BlockError::NameInMacro)?;
    let source = model
        .sources
        .get(&name.file)
        .ok_or(BlockError::ForeignFile)?;
    let begin = kernel.begin.map_or(name.offset, |b| b.offset);
    let head = source.slice(begin, name.offset);
    let threads = block.iter().product::<u32>();
    let text = match cl {
        true if head.contains("reqd_work_group_size") => return Err(BlockError::HasWorkGroupSize),
        true => {
            let [x, y, z] = block;
            format!("__attribute__((reqd_work_group_size({x}, {y}, {z}))) ")
        }
        false => match bound.resident_blocks {
            Some(n) => format!("__launch_bounds__({threads}, {n}) "),
            None => format!("__launch_bounds__({threads}) "),
        },
    };
    let Some(at) = head.find("__launch_bounds__").filter(|_| !cl) else {
        return Ok(edits.before(name.file, name.offset, 0, &text)?);
    };
    let open = head[at..].find('(').ok_or(BlockError::BoundForm)?;
    let number = source
        .token(begin + at + open + 1, name.offset)
        .ok_or(BlockError::BoundForm)?;
    let old: u32 = source
        .word(number)
        .parse()
        .map_err(|_| BlockError::BoundNoNumber)?;
    // Blocks that reside are counted for the bound that stays.
    let kept = old.max(threads);
    let own_residents = head[at + open..]
        .split(')')
        .next()
        .is_some_and(|b| b.contains(','));
    let residents = bound.resident_blocks.map(|n| n * threads / kept);
    let text = match residents.filter(|n| *n > 0 && !own_residents) {
        Some(n) => format!("{kept}, {n}"),
        None => kept.to_string(),
    };
    if text != old.to_string() {
        edits.replace(number.in_file(name.file), &text)?;
    }
    Ok(())
}

/// A number that is written somewhere.
struct Written {
    range: TextRange,
    /// The name that stands for it.
    name: Option<String>,
}

/// Where the number of an expression is written: there, at a variable, at a macro.
fn number(model: &DeclarationModel, n: &AstNode) -> Option<Written> {
    let mut n = strip(n);
    while matches!(
        n.kind.as_str(),
        "CXXConstructExpr" | "CXXFunctionalCastExpr" | "CXXTemporaryObjectExpr"
    ) {
        n = strip(n.inner.first()?);
    }
    let b = n.begin?;
    let s = model.sources.get(&b.file)?;
    match n.kind.as_str() {
        "IntegerLiteral" if b.via == Via::Macro => {
            let name = s.at(b).to_owned();
            let (from, to) = macro_number(s, &name)?;
            let range = TextRange {
                file: b.file,
                from,
                to,
            };
            Some(Written {
                range,
                name: Some(name),
            })
        }
        "IntegerLiteral" => Some(Written {
            range: b.range(),
            name: None,
        }),
        "DeclRefExpr" => {
            let d = model.decls.get(&n.refers?)?;
            let init = strip(d.inner.iter().find(|c| !c.kind.ends_with("Attr"))?);
            let mut w = (init.kind == "IntegerLiteral")
                .then(|| number(model, init))
                .flatten()?;
            w.name = Some(d.name.clone());
            Some(w)
        }
        _ => None,
    }
}

/// The number of `#define NAME 128`.
fn macro_number(s: &SourceFile, name: &str) -> Option<(usize, usize)> {
    let mut found = None;
    let mut at = 0;
    for l in s.text.split_inclusive('\n') {
        let words: Vec<&str> = l.split_whitespace().collect();
        if let ["#define", n, v, ..] = words.as_slice()
            && *n == name
        {
            let value = v.trim_matches(['(', ')']);
            if found.is_some() || value.parse::<u32>().is_err() {
                return None;
            }
            let from = at + l.find(value)?;
            found = Some((from, from + value.len()));
        }
        at += l.len();
    }
    found
}

/// Whether an expression, or what its variables begin with, has a name in it.
fn mentions(model: &DeclarationModel, n: &AstNode, name: &str, depth: usize) -> bool {
    let mut found = false;
    n.walk(&mut |c| {
        if let Some(d) = c.refers.and_then(|r| model.decls.get(&r)) {
            found |= d.name == name;
            if depth > 0 && d.kind == "VarDecl" {
                found |= d.inner.iter().any(|i| mentions(model, i, name, depth - 1));
            }
        }
        if let (Some(b), "IntegerLiteral") = (c.begin, c.kind.as_str())
            && b.via == Via::Macro
        {
            found |= model.sources.get(&b.file).is_some_and(|s| s.at(b) == name);
        }
        !found
    });
    found
}

/// Changes launches of kernels to other blocks where the host code says them as numbers from which it also computes its
/// grids; tells of those that it leaves alone.
pub fn launches<'n>(
    model: &DeclarationModel<'n>,
    blocks: &BTreeMap<String, [u32; 3]>,
    edits: &mut Edits,
) -> Vec<String> {
    let mut notes = Vec::new();
    for top in &model.ast.top {
        top.walk(&mut |n| {
            if n.kind == "CUDAKernelCallExpr"
                && let Some((name, block)) = kernel_of(model, n, blocks)
                && let Some(place) = n.begin
                && let Some(s) = model.sources.get(&place.file)
            {
                let line = s.position(place.shown).0;
                if let Err(why) = launch(model, n, block, edits) {
                    let [x, y, z] = block;
                    notes.push(format!(
                        "line {line} launches {name}: {why}; it wants blocks of {x} x {y} x {z} threads"
                    ));
                }
            }
            true
        });
    }
    notes
}

/// Whether the source launches one of the kernels itself.
pub fn any_launch(model: &DeclarationModel, blocks: &BTreeMap<String, [u32; 3]>) -> bool {
    let mut found = false;
    for top in &model.ast.top {
        top.walk(&mut |n| {
            found |= n.kind == "CUDAKernelCallExpr" && kernel_of(model, n, blocks).is_some();
            !found
        });
    }
    found
}

fn kernel_of(
    model: &DeclarationModel,
    call: &AstNode,
    blocks: &BTreeMap<String, [u32; 3]>,
) -> Option<(String, [u32; 3])> {
    let c = strip(call.inner.first()?);
    let d = model.decls.get(&c.refers?)?;
    let found = blocks.get(&d.mangled).or_else(|| blocks.get(&d.name))?;
    Some((d.name.clone(), *found))
}

/// A shape of threads or blocks as it is written.
#[derive(Default)]
struct Shape<'n> {
    /// The variable that has it.
    name: Option<&'n str>,
    /// By dimension; those that are left out are 1.
    parts: Vec<&'n AstNode>,
}

/// `128`, `n`, `dim3(32, 8)`, or a variable with one of these.
fn shape<'n>(model: &DeclarationModel<'n>, n: &'n AstNode) -> Shape<'n> {
    let mut name = None;
    let mut n = strip(n);
    for _ in 0..8 {
        let made = matches!(
            n.kind.as_str(),
            "CXXConstructExpr"
                | "CXXFunctionalCastExpr"
                | "CXXTemporaryObjectExpr"
                | "InitListExpr"
        );
        let init = match n.kind.as_str() {
            "DeclRefExpr" if is_dim3(n) => n.refers.and_then(|r| model.decls.get(&r)),
            _ => None,
        };
        match (made, init) {
            (true, _) if n.inner.len() != 1 || !is_dim3(&n.inner[0]) => {
                let parts = n.inner.iter().filter(|a| a.kind != "CXXDefaultArgExpr");
                return Shape {
                    name,
                    parts: parts.collect(),
                };
            }
            (true, _) => n = strip(&n.inner[0]),
            (_, Some(d)) => {
                name = Some(d.name.as_str());
                match d.inner.iter().find(|c| !c.kind.ends_with("Attr")) {
                    Some(i) => n = strip(i),
                    None => return Shape::default(),
                }
            }
            _ => break,
        }
    }
    Shape {
        name,
        parts: vec![n],
    }
}

fn is_dim3(n: &AstNode) -> bool {
    n.plain.ends_with("dim3")
}

/// The expression that an integer variable begins with, or the expression itself.
fn begun<'n>(model: &DeclarationModel<'n>, n: &'n AstNode) -> &'n AstNode {
    let s = strip(n);
    let d = s
        .refers
        .and_then(|r| model.decls.get(&r))
        .filter(|d| d.kind == "VarDecl");
    let init = d.and_then(|d| d.inner.iter().find(|c| !c.kind.ends_with("Attr")));
    init.map_or(s, strip)
}

fn launch<'n>(
    model: &DeclarationModel<'n>,
    call: &'n AstNode,
    block: [u32; 3],
    edits: &mut Edits,
) -> Result<(), BlockError> {
    let mut arguments = call.inner.iter().skip(1);
    let config = arguments.find(|c| c.kind == "CallExpr");
    let Some([_, grid, threads, ..]) = config.map(|c| c.inner.as_slice()) else {
        return Err(BlockError::BlockNoNumber);
    };
    let (grid, threads) = (shape(model, grid), shape(model, threads));
    let mut tried = edits.clone();
    for (dimension, new) in block.into_iter().enumerate() {
        let Some(written) = threads.parts.get(dimension) else {
            match new {
                1 => continue,
                _ => return Err(BlockError::BlockNoNumber),
            }
        };
        let written = number(model, written).ok_or(BlockError::BlockNoNumber)?;
        let TextRange { file, from, to } = written.range;
        let source = model.sources.get(&file).ok_or(BlockError::BlockNoNumber)?;
        let old = source.slice(from, to).parse::<u32>();
        let old = old.map_err(|_| BlockError::BlockNoNumber)?;
        if old == new {
            continue;
        }
        tried.replace(written.range, &new.to_string())?;
        let blocks = grid.parts.get(dimension);
        let blocks = blocks.ok_or(BlockError::FewerDimensions)?;
        // The grid may be computed from the block, or from the name of its number.
        let names = [threads.name, written.name.as_deref()];
        if names
            .iter()
            .flatten()
            .any(|n| mentions(model, blocks, n, 2))
        {
            continue;
        }
        if let Some(name) = written.name {
            return Err(BlockError::GridApart(name));
        }
        resize_grid(begun(model, blocks), old, new, &mut tried)?;
    }
    *edits = tried;
    Ok(())
}

/// Replaces the block's threads in `<<<(n + 127) / 128, 128>>>`.
fn resize_grid(blocks: &AstNode, old: u32, new: u32, edits: &mut Edits) -> Result<(), BlockError> {
    let mut numbers = Vec::new();
    blocks.walk(&mut |n| {
        if let (Some(begin), "IntegerLiteral", Ok(value)) =
            (n.begin, n.kind.as_str(), n.value.parse::<u32>())
            && begin.via == Via::Text
        {
            numbers.push((begin.range(), value));
        }
        true
    });
    if !numbers.iter().any(|n| n.1 == old) {
        return Err(BlockError::GridApart("its block".into()));
    }
    for (range, value) in numbers {
        if value == old {
            edits.replace(range, &new.to_string())?;
        } else if value + 1 == old {
            edits.replace(range, &(new - 1).to_string())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::KernelBound;

    fn resident(block: [u32; 3], registers: u32) -> Option<u32> {
        KernelBound::new(block, Some(registers)).resident_blocks
    }

    #[test]
    fn blocks_that_reside_bound_the_registers_of_a_thread() {
        assert_eq!(resident([256, 1, 1], 64), Some(4));
        assert_eq!(resident([1024, 1, 1], 32), Some(2));
        // Registers are given out by eights, to whole warps.
        assert_eq!(resident([90, 1, 1], 100), Some(6));
        // No more threads reside, however few registers they have.
        assert_eq!(resident([16, 8, 1], 16), Some(16));
        // One block leaves each of its threads 64.
        assert_eq!(resident([1024, 1, 1], 128), None);
        assert_eq!(KernelBound::new([32, 1, 1], None).resident_blocks, None);
    }
}
