//! A workload file for a kernel that has none yet: what its code tells, and a note where it does not.
mod blocks;
mod buffers;
mod draft;
mod kernels;
mod launch;
mod macros;
mod repair;
mod trial;

pub use draft::Skeleton;
pub use kernels::{KernelsError, kernel_knowledge, used_globals};
pub use trial::{RunJob, TrialOutcome, settle};

use blocks::BlockChoices;
use draft::{Body, FirstSize, SizeSource, guess_note};
use kerf_ir::address::extent::{Extents, IndexMeaning, PointerSource, Polynomial, Symbol};
use kerf_ir::kernels::{BlockBounds, GlobalInfo, KernelInfo, ParamKind, ScalarAt, ScalarKind};
use kerf_workload::Number;
use kerf_workload::expr::Expr;
use std::collections::BTreeMap;
use std::fmt::Write;

const AXES: [&str; 3] = ["bx", "by", "bz"];

/// The size that stands for a number of blocks that nothing tells.
const BLOCKS: &str = "blocks";

/// First guess of items in a row.
const ROW: FirstSize = FirstSize::new(16384, SizeSource::GuessedRow);

/// First guesses of items in two and in three dimensions.
const SIDES: [FirstSize; 2] = [
    FirstSize::new(128, SizeSource::GuessedSide),
    FirstSize::new(32, SizeSource::GuessedSide),
];

/// Sizes of launches that have too many threads with any first guess.
const SMALL: [FirstSize; 3] = [
    FirstSize::new(16, SizeSource::Bounded),
    FirstSize::new(8, SizeSource::Bounded),
    FirstSize::new(4, SizeSource::Bounded),
];

/// A size on which lengths depend, and no number of threads.
const LENGTH_SIZE: FirstSize = FirstSize::new(64, SizeSource::Bounded);

/// Elements of the largest buffer that a first file has: beyond it, an index was misread.
const MOST_ELEMENTS: i128 = 1 << 26;

/// Threads of a first launch, at most.
const MOST_THREADS: i128 = 1 << 18;

/// How many times as long every side is at a GPU's sizes as at the CPU's, before anything was counted.
const FIRST_FULL_TIMES: u64 = 4;

/// Does a launch have a sensible number of threads, if all sizes are this?
fn threads(k: &KernelKnowledge, size: u64) -> bool {
    // Threads that share an item.
    let shared = k.extents.axes.contains(&IndexMeaning::Shared);
    let mut all: i128 = if shared { 128 } else { 1 };
    for p in k.extents.threads.iter().flatten() {
        let text = expression(&k.kernel, p);
        let value =
            Expr::parse(&text).and_then(|e| e.eval(|_| Some(Number::Int(i128::from(size)))));
        match value {
            Ok(Number::Int(v)) if v > 0 => all = all.saturating_mul(v),
            _ => return false,
        }
    }
    all <= MOST_THREADS
}

/// A kernel and what its code tells.
pub struct KernelKnowledge {
    /// Its parameters.
    pub kernel: KernelInfo,
    /// How far it reaches.
    pub extents: Extents,
    /// What it says of its blocks.
    pub bounds: BlockBounds,
}

/// What an element is, as a workload file says it.
fn element(scalars: &[ScalarAt]) -> Option<String> {
    let name = |s: &ScalarAt| match s.kind {
        ScalarKind::Ptr => None,
        k => Some(k.to_string()),
    };
    let first = scalars.first()?;
    let all: Option<Vec<String>> = scalars.iter().map(name).collect();
    let all = all?;
    let step = first.kind.bytes();
    let mut offsets = scalars.iter().zip(0u64..);
    let dense = offsets.all(|(s, i)| s.kind == first.kind && s.offset == i * step);
    Some(match (all.len(), dense) {
        (1, _) => format!("\"{}\"", all[0]),
        (n @ (2 | 3 | 4 | 8 | 16), true) => format!("\"{}x{n}\"", all[0]),
        _ => format!(
            "[{}]",
            all.iter()
                .map(|t| format!("\"{t}\""))
                .collect::<Vec<_>>()
                .join(", ")
        ),
    })
}

/// A name that a workload file takes.
fn named(name: &str) -> String {
    let ok: String = name
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '_' {
                c
            } else {
                '_'
            }
        })
        .collect();
    match ok.as_str() {
        "i" | "rand" | "" | "bx" | "by" | "bz" => format!("size_{ok}"),
        _ if ok.starts_with(|c: char| c.is_ascii_digit()) => format!("_{ok}"),
        _ => ok,
    }
}

/// The member of a struct parameter at a byte of it, by a name that a workload file takes.
fn member_name(k: &KernelInfo, parameter: usize, byte: u64) -> String {
    let p = &k.params[parameter];
    match p.members.iter().find(|m| m.offset == byte) {
        Some(m) => named(&format!("{}_{}", p.name, m.name)),
        None => named(&format!("{}_{byte}", p.name)),
    }
}

fn symbol(k: &KernelInfo, s: Symbol) -> String {
    match s {
        Symbol::Parameter(p) => named(&k.params[p].name),
        Symbol::Member(p, byte) => member_name(k, p, byte),
        Symbol::Block(a) | Symbol::Thread(a) => AXES[a].into(),
        Symbol::Grid(a) | Symbol::BlockIndex(a) => format!("grid_{a}"),
        Symbol::Turn(_) => "1".into(),
    }
}

fn expression(k: &KernelInfo, p: &Polynomial) -> String {
    p.text(|s| symbol(k, s))
}

/// A pointer of a kernel, behind which a buffer lies.
struct Pointer<'k> {
    source: PointerSource,
    name: String,
    type_name: &'k str,
    element_bytes: u64,
    element: &'k [ScalarAt],
}

/// The pointers of a kernel to global memory: parameters, and members of structs that are passed by value.
fn pointers(k: &KernelInfo) -> Vec<Pointer<'_>> {
    let mut out = Vec::new();
    for (at, p) in k.params.iter().enumerate() {
        match &p.kind {
            ParamKind::Pointer { space: 3, .. } | ParamKind::Scalar { .. } => {}
            ParamKind::Pointer {
                element_bytes,
                element,
                ..
            } => out.push(Pointer {
                source: PointerSource::Parameter(at),
                name: named(&p.name),
                type_name: &p.type_name,
                element_bytes: *element_bytes,
                element,
            }),
            ParamKind::Struct { fields, .. } => {
                for f in fields.iter().filter(|f| f.kind == ScalarKind::Ptr) {
                    let told = p.members.iter().find(|m| m.offset == f.offset);
                    out.push(Pointer {
                        source: PointerSource::Member(at, f.offset),
                        name: member_name(k, at, f.offset),
                        type_name: told.map_or("pointer", |m| &m.type_name),
                        element_bytes: told.map_or(0, |m| m.element_bytes),
                        element: told.map_or(&[], |m| &m.element),
                    });
                }
            }
        }
    }
    out
}

struct Writer<'k> {
    known: &'k [KernelKnowledge],
    sizes: BTreeMap<String, FirstSize>,
    /// Lengths of buffers: an expression, and whether the code tells it.
    lengths: BTreeMap<String, (String, bool)>,
    blocks: BlockChoices,
    guesses: usize,
}

impl Writer<'_> {
    fn guess(&mut self, what: &str) -> String {
        self.guesses += 1;
        guess_note(what)
    }

    /// Sizes are the integer parameters that something is as long as.
    fn find_sizes(&mut self) {
        for k in self.known {
            let used = k.extents.threads.iter().flatten().count();
            // Also of a kernel with one dimension and `n * n` threads.
            let mut sizes = [ROW].into_iter().chain(SIDES).chain(SMALL);
            let fits = sizes.find(|s| threads(k, s.value));
            let wide = fits.unwrap_or(match used {
                0 | 1 => ROW,
                2 => SIDES[0],
                _ => SIDES[1],
            });
            for p in k.extents.threads.iter().flatten() {
                for at in p.arguments() {
                    self.sizes.insert(symbol(&k.kernel, at), wide);
                }
            }
            for p in k.extents.reach.values().filter_map(|r| r.bytes.as_ref()) {
                for at in p.arguments() {
                    let name = symbol(&k.kernel, at);
                    self.sizes.entry(name).or_insert(LENGTH_SIZE);
                }
            }
        }
        for k in self.known {
            for axis in (0..3).filter(|a| k.extents.threads[*a].is_none()) {
                if k.extents.axes[axis].by_block() {
                    let name = self.unsaid(k, axis);
                    self.sizes.entry(name).or_insert(SIDES[1]);
                }
            }
        }
        if self.sizes.is_empty() {
            self.sizes.insert("n".into(), ROW);
        }
    }

    fn first_size(&self) -> String {
        let named = self.sizes.keys().find(|n| *n != BLOCKS);
        named
            .or_else(|| self.sizes.keys().next())
            .cloned()
            .unwrap_or("n".into())
    }

    /// The size that an axis of a kernel goes to, where no comparison says it. Blocks of an item each are as many as a
    /// parameter says that nothing else uses.
    fn unsaid(&self, k: &KernelKnowledge, axis: usize) -> String {
        if !k.extents.axes[axis].by_block() {
            return self.first_size();
        }
        match k.extents.unused.first() {
            Some(at) => named(&k.kernel.params[*at].name),
            None => BLOCKS.to_owned(),
        }
    }

    /// The value of an expression, with the sizes as they are.
    fn value(&self, text: &str) -> Option<i128> {
        let e = Expr::parse(text).ok()?;
        let value = e.eval(|n| self.sizes.get(n).map(|v| Number::Int(i128::from(v.value))));
        match value {
            Ok(Number::Int(v)) => Some(v),
            _ => None,
        }
    }
}

/// Writes a workload for kernels of one source, in the order given. `flags` are the compiler's, `macros` what the source
/// defines as numbers.
pub fn skeleton(
    source: &str,
    flags: &[String],
    known: &[KernelKnowledge],
    globals: &[GlobalInfo],
    macros: &[(String, i64)],
) -> Skeleton {
    let mut w = Writer {
        known,
        sizes: BTreeMap::new(),
        lengths: BTreeMap::new(),
        blocks: BlockChoices::new(known),
        guesses: 0,
    };
    w.find_sizes();
    w.find_lengths();
    let quoted = |s: &str| format!("\"{}\"", s.replace('\\', "\\\\").replace('"', "\\\""));
    let mut head = format!("source = {}\n", quoted(source));
    if !flags.is_empty() {
        let all: Vec<String> = flags.iter().map(|f| quoted(f)).collect();
        let _ = writeln!(head, "flags  = [{}]", all.join(", "));
    }
    head.push_str("seed   = 1\n\n");
    let mut body = Body::default();
    w.buffers(&mut body);
    w.globals(&mut body, globals);
    for k in known {
        w.launch(&mut body, k);
    }
    let g = w.guess("what your results have to be good for");
    Skeleton {
        head,
        sizes: w.sizes,
        full_times: FIRST_FULL_TIMES,
        sizes_note: "for a GPU; --size n=... replaces one".into(),
        body,
        space: w.blocks.launch_space(macros),
        acceptance: format!("\n[accept]\nmetric = \"max_rel\"\ntolerance = 1e-6{g}\n"),
        guesses: w.guesses,
        free_axes: w.blocks.free_axes(),
        most_threads: w.blocks.most_threads,
        multiple: w.blocks.multiple,
    }
}
