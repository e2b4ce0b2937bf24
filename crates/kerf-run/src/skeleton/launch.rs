//! The launches of a first workload file: grids, blocks and arguments.
use super::{KernelKnowledge, Writer, expression, member_name, named};
use kerf_ir::extent::{IndexMeaning, PointerSource};
use kerf_ir::kernels::{KernelInfo, Param, ParamKind, ScalarAt, ScalarKind};
use std::fmt::Write;

/// Does a parameter say by its name how often something is repeated?
fn counts(name: &str) -> bool {
    let name = name.to_lowercase();
    let words = [
        "iter", "maxit", "step", "degree", "order", "terms", "sweeps", "rounds",
    ];
    words.iter().any(|w| name.contains(w))
}

impl Writer<'_> {
    /// A member of a struct argument, and whether something tells it.
    fn field(&self, k: &KernelInfo, at: usize, f: &ScalarAt) -> (String, bool) {
        let name = member_name(k, at, f.offset);
        match f.kind {
            ScalarKind::Ptr => {
                let source = PointerSource::Member(at, f.offset);
                (format!("\"{}\"", self.buffer_of(k, source)), true)
            }
            _ if self.sizes.contains_key(&name) => (format!("\"{name}\""), true),
            ScalarKind::Float(_) => ("1.0".into(), false),
            ScalarKind::Int { .. } => ("1".into(), false),
        }
    }

    /// A name that no other kernel has: overloads share all but their parameters.
    fn own_name<'i>(&self, info: &'i KernelInfo) -> &'i str {
        let shared = |same: &dyn Fn(&KernelInfo) -> bool| {
            self.known.iter().filter(|k| same(&k.kernel)).count() > 1
        };
        match (
            shared(&|k| k.name == info.name),
            shared(&|k| k.signature == info.signature),
        ) {
            (false, _) => &info.name,
            (true, false) => &info.signature,
            (true, true) => &info.symbol,
        }
    }

    /// Blocks along each axis, and whether one of them is a guess.
    fn grid(&self, k: &KernelKnowledge) -> (Vec<String>, bool) {
        let info = &k.kernel;
        let axes = &k.extents.axes;
        let last = |of: fn(IndexMeaning) -> bool| (0..3).rev().find(|a| of(axes[*a])).unwrap_or(0);
        let mut grid = Vec::new();
        let mut unknown = false;
        let used = 1 + last(|a| matches!(a, IndexMeaning::Threads) || a.by_block());
        for (axis, along) in axes.iter().copied().enumerate().take(used) {
            let end = || k.extents.threads[axis].as_ref();
            let end = end().map(|e| expression(info, e));
            unknown |=
                end.is_none() && !matches!(along, IndexMeaning::Nothing | IndexMeaning::Within);
            let end = || end.unwrap_or_else(|| self.unsaid(k, axis));
            grid.push(match along {
                IndexMeaning::Nothing | IndexMeaning::Within => "1".to_owned(),
                IndexMeaning::Threads => {
                    format!("\"ceil_div({}, {})\"", end(), self.blocks.extent(k, axis))
                }
                IndexMeaning::Shared | IndexMeaning::Blocks => format!("\"{}\"", end()),
            });
        }
        (grid, unknown)
    }

    /// Threads of a block along each axis, without the last axes that have one.
    fn block(&self, k: &KernelKnowledge) -> Vec<String> {
        let size = |a: usize| match self.blocks.extent(k, a) {
            number if number.parse::<i128>().is_ok() => number,
            name => format!("\"{name}\""),
        };
        let mut block: Vec<String> = (0..3).map(size).collect();
        while block.len() > 1 && block.last().is_some_and(|b| b == "1") {
            block.pop();
        }
        block
    }

    /// Arguments, and what was guessed of them.
    fn arguments(&self, k: &KernelKnowledge) -> (Vec<String>, Vec<String>) {
        let info = &k.kernel;
        let mut args = Vec::new();
        let mut notes = Vec::new();
        for (at, p) in info.params.iter().enumerate() {
            let name = named(&p.name);
            args.push(match &p.kind {
                ParamKind::Pointer {
                    space: 3,
                    element_bytes,
                    ..
                } => {
                    notes.push(format!("an element of {} for each thread", p.name));
                    let bytes = match element_bytes {
                        0 => 8,
                        n => *n,
                    };
                    format!("{{ local = \"bx * {bytes}\" }}")
                }
                ParamKind::Pointer { .. } => {
                    let source = PointerSource::Parameter(at);
                    format!("\"{}\"", self.buffer_of(info, source))
                }
                ParamKind::Scalar { .. } if self.sizes.contains_key(&name) => {
                    format!("\"{name}\"")
                }
                ParamKind::Scalar {
                    scalar: ScalarKind::Float(_),
                } => {
                    notes.push(format!("{} = 1.0", p.name));
                    "1.0".into()
                }
                ParamKind::Scalar { .. } => {
                    let value = match k.extents.positions.contains(&at) {
                        true => 0,
                        false if counts(&p.name) => 10,
                        false => 1,
                    };
                    notes.push(format!("{} = {value}", p.name));
                    value.to_string()
                }
                ParamKind::Struct { fields, .. } => {
                    let all: Vec<(String, bool)> =
                        fields.iter().map(|f| self.field(info, at, f)).collect();
                    if all.iter().any(|(_, told)| !told) {
                        notes.push(format!("the numbers in {}", p.name));
                    }
                    let all: Vec<String> = all.into_iter().map(|f| f.0).collect();
                    format!("{{ struct = [{}] }}", all.join(", "))
                }
            });
        }
        (args, notes)
    }

    pub(super) fn launch(&mut self, out: &mut String, k: &KernelKnowledge) {
        let info = &k.kernel;
        let (grid, unknown) = self.grid(k);
        let block = self.block(k);
        let block_note = self.blocks.literal_note(k);
        let (args, notes) = self.arguments(k);
        let _ = writeln!(out, "\n[[launch]]");
        let name = self.own_name(info).replace('"', "\\\"");
        let _ = writeln!(out, "kernel = \"{name}\"");
        let g = match unknown {
            true => self.guess("no comparison bounds the index of a thread or block"),
            false => String::new(),
        };
        let _ = writeln!(out, "grid  = [{}]{g}", grid.join(", "));
        let _ = writeln!(out, "block = [{}]{block_note}", block.join(", "));
        // Arguments in local memory are given in bytes of their own.
        let local = |p: &Param| matches!(p.kind, ParamKind::Pointer { space: 3, .. });
        if info.dynamic_shared && !info.params.iter().any(local) {
            let g = self.guess("bytes of dynamic shared memory");
            let _ = writeln!(out, "shared = 32768{g}");
        }
        let g = match notes.is_empty() {
            true => String::new(),
            false => self.guess(&notes.join(", ")),
        };
        let _ = writeln!(out, "args  = [{}]{g}", args.join(", "));
    }
}
