//! The launches of a first workload file: grids, blocks and arguments.
use super::draft::{Body, FirstArgument, Part};
use super::{KernelKnowledge, Writer, expression, member_name, named};
use kerf_ir::address::extent::{IndexMeaning, PointerSource};
use kerf_ir::kernels::{KernelInfo, Param, ParamKind, ScalarAt, ScalarKind};
use std::fmt::Write;

/// First guess of how often something is repeated.
const ROUNDS: u32 = 10;

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

    fn arguments(&self, k: &KernelKnowledge) -> Vec<FirstArgument> {
        let all = k.kernel.params.iter().enumerate();
        all.map(|(at, p)| self.argument(k, at, p)).collect()
    }

    fn argument(&self, k: &KernelKnowledge, at: usize, p: &Param) -> FirstArgument {
        let info = &k.kernel;
        let name = named(&p.name);
        match &p.kind {
            ParamKind::Pointer {
                space: 3,
                element_bytes,
                ..
            } => {
                let bytes = match element_bytes {
                    0 => 8,
                    n => *n,
                };
                FirstArgument::Guess {
                    text: format!("{{ local = \"bx * {bytes}\" }}"),
                    note: format!("an element of {} for each thread", p.name),
                }
            }
            ParamKind::Pointer { .. } => {
                let source = PointerSource::Parameter(at);
                FirstArgument::Known(format!("\"{}\"", self.buffer_of(info, source)))
            }
            ParamKind::Scalar { .. } if self.sizes.contains_key(&name) => {
                FirstArgument::Known(format!("\"{name}\""))
            }
            ParamKind::Scalar { scalar } => {
                let position = k.extents.positions.contains(&at);
                let value = match scalar {
                    ScalarKind::Float(_) => "1.0",
                    _ if position => "0",
                    _ if counts(&p.name) => {
                        return FirstArgument::Rounds {
                            parameter: p.name.clone(),
                            count: ROUNDS,
                        };
                    }
                    _ => "1",
                };
                FirstArgument::Guess {
                    text: value.to_owned(),
                    note: format!("{} = {value}", p.name),
                }
            }
            ParamKind::Struct { fields, .. } => {
                let all: Vec<(String, bool)> =
                    fields.iter().map(|f| self.field(info, at, f)).collect();
                let told = all.iter().all(|f| f.1);
                let all: Vec<String> = all.into_iter().map(|f| f.0).collect();
                let text = format!("{{ struct = [{}] }}", all.join(", "));
                match told {
                    true => FirstArgument::Known(text),
                    false => FirstArgument::Guess {
                        text,
                        note: format!("the numbers in {}", p.name),
                    },
                }
            }
        }
    }

    pub(super) fn launch(&mut self, out: &mut Body, k: &KernelKnowledge) {
        let info = &k.kernel;
        let (grid, unknown) = self.grid(k);
        let block = self.block(k);
        let block_note = self.blocks.literal_note(k);
        let args = self.arguments(k);
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
        self.guesses += usize::from(args.iter().any(|a| a.note().is_some()));
        out.0.push(Part::Arguments(args));
    }
}
