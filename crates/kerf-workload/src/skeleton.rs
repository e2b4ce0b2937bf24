//! A workload file for a kernel that has none yet: what its code tells, and a note where it does not.
mod macros;

use crate::Number;
use crate::expr::Expr;
use kerf_ir::extent::{Along, Extents, Polynomial, Reach, Symbol};
use kerf_ir::kernels::{GlobalInfo, KernelInfo, Param, ParamKind, ScalarAt, ScalarKind};
use macros::{by_macros, named_sizes};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Does a parameter say by its name how often something is repeated?
fn counts(name: &str) -> bool {
    let name = name.to_lowercase();
    let words = [
        "iter", "maxit", "step", "degree", "order", "terms", "sweeps", "rounds",
    ];
    words.iter().any(|w| name.contains(w))
}

const AXES: [&str; 3] = ["bx", "by", "bz"];

/// The size that stands for a number of blocks that nothing tells.
pub const BLOCKS: &str = "blocks";

/// Elements of the largest buffer that a first file has: beyond it, an index was misread.
const MOST_ELEMENTS: i128 = 1 << 26;

/// Threads of a first launch, at most.
const MOST_THREADS: i128 = 1 << 18;

/// Does a launch have a sensible number of threads, if all sizes are this?
fn threads(k: &Known, size: u32) -> bool {
    // Threads that share an item.
    let shared = k.extents.axes.contains(&Along::Shared);
    let mut all: i128 = if shared { 128 } else { 1 };
    for p in k.extents.threads.iter().flatten() {
        let text = Writer::expression(&k.kernel, p);
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
pub struct Known {
    /// Its parameters.
    pub kernel: KernelInfo,
    /// How far it reaches.
    pub extents: Extents,
}

/// The text of a workload file, and what a reader has to look at.
pub struct Skeleton {
    /// The file.
    pub text: String,
    /// Lines of the file that are guesses.
    pub guesses: usize,
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

struct Writer<'k> {
    known: &'k [Known],
    /// Sizes: name, default.
    sizes: BTreeMap<String, u32>,
    guesses: usize,
}

impl Writer<'_> {
    fn symbol(k: &KernelInfo, s: Symbol) -> String {
        match s {
            Symbol::Parameter(p) => named(&k.params[p].name),
            Symbol::Block(a) | Symbol::Thread(a) => AXES[a].into(),
            Symbol::Grid(a) | Symbol::BlockIndex(a) => format!("grid_{a}"),
            Symbol::Turn(_) => "1".into(),
        }
    }

    fn expression(k: &KernelInfo, p: &Polynomial) -> String {
        p.text(|s| Self::symbol(k, s))
    }

    fn guess(&mut self, what: &str) -> String {
        self.guesses += 1;
        format!("   # a guess: {what}")
    }

    /// Sizes are the integer parameters that something is as long as.
    fn find_sizes(&mut self) {
        for k in self.known {
            let used = k.extents.threads.iter().flatten().count();
            // Also of a kernel with one dimension and `n * n` threads.
            let fits = [16384, 128, 32, 16, 8, 4]
                .into_iter()
                .find(|w| threads(k, *w));
            let wide = fits.unwrap_or(match used {
                0 | 1 => 16384,
                2 => 128,
                _ => 32,
            });
            for p in k.extents.threads.iter().flatten() {
                for at in p.parameters() {
                    self.sizes.insert(named(&k.kernel.params[at].name), wide);
                }
            }
            for p in k.extents.reach.values().filter_map(|r| r.bytes.as_ref()) {
                for at in p.parameters() {
                    let name = named(&k.kernel.params[at].name);
                    self.sizes.entry(name).or_insert(64);
                }
            }
        }
        for k in self.known {
            for axis in (0..3).filter(|a| k.extents.threads[*a].is_none()) {
                if k.extents.axes[axis].by_block() {
                    let name = self.unsaid(k, axis);
                    self.sizes.entry(name).or_insert(32);
                }
            }
        }
        if self.sizes.is_empty() {
            self.sizes.insert("n".into(), 16384);
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
    fn unsaid(&self, k: &Known, axis: usize) -> String {
        if !k.extents.axes[axis].by_block() {
            return self.first_size();
        }
        match k.extents.unused.first() {
            Some(at) => named(&k.kernel.params[*at].name),
            None => BLOCKS.to_owned(),
        }
    }

    /// Kernels share buffers by the names of their parameters, where the types agree.
    fn buffer_name(&self, k: &KernelInfo, at: usize) -> String {
        let p = &k.params[at];
        let name = named(&p.name);
        let scalars = |p: &Param| match &p.kind {
            ParamKind::Pointer { element: e, .. } => Some(element(e)),
            _ => None,
        };
        let mut all = self.known.iter().flat_map(|k| &k.kernel.params);
        let first = all.find(|q| named(&q.name) == name && scalars(q).is_some());
        match first {
            Some(q) if scalars(q) != scalars(p) => format!("{name}_{}", named(&k.name)),
            _ => name,
        }
    }

    /// The elements of a buffer, with the sizes as they are, if it can have as many.
    fn length(&self, text: &str) -> Option<i128> {
        let e = Expr::parse(text).ok()?;
        let value = e.eval(|n| self.sizes.get(n).map(|v| Number::Int(i128::from(*v))));
        match value {
            Ok(Number::Int(v)) if (1..=MOST_ELEMENTS).contains(&v) => Some(v),
            _ => None,
        }
    }

    fn buffers(&mut self, out: &mut String) {
        let mut done: Vec<String> = Vec::new();
        let known = self.known;
        // What another kernel writes is no input of the user's.
        let written = |name: &str| {
            known.iter().any(|k| {
                let mut all = k.extents.reach.iter();
                all.any(|(at, r)| r.written && k.kernel.params[*at].name == name)
            })
        };
        for k in known {
            for (at, p) in k.kernel.params.iter().enumerate() {
                let ParamKind::Pointer {
                    space,
                    element_bytes,
                    element: scalars,
                } = &p.kind
                else {
                    continue;
                };
                let name = self.buffer_name(&k.kernel, at);
                if *space == 3 || done.contains(&name) {
                    continue;
                }
                done.push(name.clone());
                // All kernels that have it.
                let mut uses: Vec<(&Known, Reach)> = Vec::new();
                for o in known {
                    for at in 0..o.kernel.params.len() {
                        if let Some(r) = o.extents.reach.get(&at)
                            && self.buffer_name(&o.kernel, at) == name
                        {
                            uses.push((o, r.clone()));
                        }
                    }
                }
                let of = k.extents.reach.get(&at).cloned().unwrap_or_default();
                let r = Reach {
                    index: uses.iter().any(|u| u.1.index),
                    of_array: uses.iter().filter_map(|u| u.1.of_array).min(),
                    ..of
                };
                let _ = writeln!(out, "\n[[buffer]]                 # {}", p.type_name);
                let _ = writeln!(out, "name = \"{name}\"");
                match element(scalars) {
                    Some(t) => {
                        let _ = writeln!(out, "type = {t}");
                    }
                    None => {
                        // Addresses are known on the device only.
                        let (t, why) = match scalars.first() {
                            Some(s) if s.kind == ScalarKind::Ptr => {
                                ("u64", "addresses, which only a kernel can write there")
                            }
                            _ => ("f64", "its elements are not known"),
                        };
                        let g = self.guess(why);
                        let _ = writeln!(out, "type = \"{t}\"{g}");
                    }
                }
                // An extent that depends on the block's size is that of the largest block.
                let whole = uses.iter().filter_map(|(k, r)| {
                    let of = r.bytes.as_ref()?.divided(i128::from(*element_bytes));
                    Some(Self::expression(&k.kernel, &of.rounded()))
                });
                let seen = |w: &String| !AXES.iter().any(|a| w.contains(a)) && !w.contains("grid_");
                let whole: Vec<(i128, String)> = whole
                    .filter(seen)
                    .filter_map(|w| Some((self.length(&w)?, w)))
                    .collect();
                let all = !uses.is_empty() && whole.len() == uses.len();
                match whole.into_iter().max_by_key(|w| w.0) {
                    Some((_, w)) if all => {
                        let _ = writeln!(out, "len  = \"{w}\"");
                    }
                    most => {
                        let n = most.map_or_else(|| self.first_size(), |m| m.1);
                        let g = self.guess("how far the kernel reaches was not seen");
                        let _ = writeln!(out, "len  = \"{n}\"{g}");
                    }
                }
                if r.read || !r.written {
                    let n = self.first_size();
                    let integer = match (r.index, r.of_array) {
                        (true, Some(elements)) => format!("{{ uniform = [0, {elements}] }}"),
                        (true, None) => format!("{{ uniform = [0, \"{n}\"] }}"),
                        (false, _) => "{ uniform = [0, 10] }".to_owned(),
                    };
                    let one = |s: &ScalarAt| match s.kind {
                        ScalarKind::Float(_) => "{ uniform = [0.5, 1.5] }".to_owned(),
                        _ => integer.clone(),
                    };
                    // A structure has one for each of its members; zeros would tell nothing of errors.
                    let init = match element(scalars) {
                        Some(t) if t.starts_with('[') => {
                            let all: Vec<String> = scalars.iter().map(one).collect();
                            format!("[{}]", all.join(", "))
                        }
                        None if scalars.len() > 1 => "\"zero\"".to_owned(),
                        _ => scalars.first().map_or(integer.clone(), one),
                    };
                    let g = match r.written {
                        true => self.guess("zero, if the kernel only writes it"),
                        false => {
                            self.guess("put the range of your inputs here, or { file = \"x.npy\" }")
                        }
                    };
                    let _ = writeln!(out, "init = {init}{g}");
                }
                if written(&p.name) {
                    let _ = writeln!(out, "output = true");
                }
            }
        }
    }

    fn globals(&mut self, out: &mut String, globals: &[GlobalInfo]) {
        for g in globals {
            let Some(one) = g.scalars.first().filter(|s| s.kind != ScalarKind::Ptr) else {
                continue;
            };
            if g.filled {
                let name = &g.name;
                let _ = writeln!(
                    out,
                    "\n# {name} keeps the content that the source gives it; a [[buffer]] with symbol = \"{name}\" would replace it"
                );
                continue;
            }
            let _ = writeln!(
                out,
                "\n[[buffer]]                 # {} {}",
                g.type_name, g.name
            );
            let _ = writeln!(out, "name = \"{}\"", named(&g.name));
            let _ = writeln!(out, "symbol = \"{}\"", g.name);
            let _ = writeln!(out, "type = \"{}\"", one.kind);
            let _ = writeln!(out, "len  = {}", g.bytes / one.kind.bytes().max(1));
            let note = self.guess("what the host copies there");
            let init = match one.kind {
                ScalarKind::Float(_) => "{ uniform = [0.5, 1.5] }",
                _ => "{ uniform = [0, 10] }",
            };
            let _ = writeln!(out, "init = {init}{note}");
        }
    }

    fn launch(&mut self, out: &mut String, k: &Known) {
        let info = &k.kernel;
        let axes = &k.extents.axes;
        let last = |of: fn(Along) -> bool| (0..3).rev().find(|a| of(axes[*a])).unwrap_or(0);
        let mut grid = Vec::new();
        let mut unknown = false;
        for axis in 0..=last(|a| matches!(a, Along::Threads) || a.by_block()) {
            let end = || k.extents.threads[axis].as_ref();
            let end = end().map(|e| Self::expression(info, e));
            unknown |= end.is_none() && !matches!(axes[axis], Along::Nothing | Along::Within);
            let end = || end.unwrap_or_else(|| self.unsaid(k, axis));
            grid.push(match axes[axis] {
                Along::Nothing | Along::Within => "1".to_owned(),
                Along::Threads => format!("\"ceil_div({}, {})\"", end(), AXES[axis]),
                Along::Shared | Along::Blocks => format!("\"{}\"", end()),
            });
        }
        let size = |a: usize| match axes[a].threads() {
            true => format!("\"{}\"", AXES[a]),
            false => "1".to_owned(),
        };
        let block: Vec<String> = (0..=last(Along::threads)).map(size).collect();
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
                ParamKind::Pointer { .. } => format!("\"{}\"", self.buffer_name(info, at)),
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
                    notes.push(format!("the fields of {}", p.name));
                    let all: Vec<&str> = fields
                        .iter()
                        .map(|f| match f.kind {
                            ScalarKind::Float(_) => "1.0",
                            _ => "1",
                        })
                        .collect();
                    format!("{{ struct = [{}] }}", all.join(", "))
                }
            });
        }
        let _ = writeln!(out, "\n[[launch]]");
        let _ = writeln!(out, "kernel = \"{}\"", info.name.replace('"', "\\\""));
        let g = match unknown {
            true => self.guess("no comparison bounds the index of a thread or block"),
            false => String::new(),
        };
        let _ = writeln!(out, "grid  = [{}]{g}", grid.join(", "));
        let _ = writeln!(out, "block = [{}]", block.join(", "));
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

    /// Block sizes to choose from along some axes; one where the code is made for it, several where a macro of the source is
    /// that number.
    fn space(&mut self, out: &mut String, axes: &[usize], macros: &[(String, i64)]) {
        let warps = self.known.iter().any(|k| k.extents.warps);
        let (sizes, default): (&[&[i128]], &[i128]) = match (axes.len(), warps) {
            (1, _) => (&[&[32, 64, 128, 256, 512, 1024]], &[128]),
            (2, false) => (&[&[8, 16, 32, 64, 128], &[1, 2, 4, 8, 16]], &[16, 16]),
            // Warps lie along x.
            (2, true) => (&[&[32, 64, 128], &[1, 2, 4, 8]], &[32, 4]),
            (_, false) => (
                &[&[8, 16, 32, 64], &[1, 2, 4, 8], &[1, 2, 4, 8]],
                &[8, 4, 4],
            ),
            (_, true) => (&[&[32, 64], &[1, 2, 4, 8], &[1, 2, 4]], &[32, 2, 2]),
        };
        let made_for = |a: &usize| self.known.iter().find_map(|k| k.extents.made_for[*a]);
        let fixed: Vec<Option<i128>> = axes.iter().map(made_for).collect();
        let names: Vec<&str> = axes.iter().map(|a| AXES[*a]).collect();
        let free = fixed.iter().any(Option::is_none);
        if let Some(macros) = named_sizes(&fixed, macros) {
            return by_macros(out, &names, &macros);
        }
        for (a, axis) in names.iter().enumerate() {
            let _ = match fixed[a] {
                Some(size) => writeln!(out, "{axis} = [{size}]   # the number in the code"),
                None => {
                    let all: Vec<String> = sizes[a].iter().map(ToString::to_string).collect();
                    writeln!(out, "{axis} = [{}]", all.join(", "))
                }
            };
        }
        if !free {
            return;
        }
        let product = names.join(" * ");
        if names.len() > 1 {
            let _ = writeln!(
                out,
                "constraints = [\"{product} >= 32\", \"{product} <= 1024\"]"
            );
        }
        // Together no larger than a block may be.
        let mut room: i128 = 1024 / fixed.iter().flatten().product::<i128>().max(1);
        let mut start = Vec::new();
        for (a, axis) in names.iter().enumerate() {
            let size = fixed[a].unwrap_or_else(|| {
                let fits = sizes[a].iter().filter(|s| **s <= room.min(default[a]));
                let size = fits.max().copied().unwrap_or(1);
                room /= size.max(1);
                size
            });
            start.push(format!("{axis} = {size}"));
        }
        let _ = writeln!(out, "default = {{ {} }}", start.join(", "));
    }
}

/// The axes along which threads of a block are told apart.
pub fn block_axes(known: &[Known]) -> Vec<usize> {
    let told = |a: &usize| known.iter().any(|k| k.extents.axes[*a].threads());
    (0..3).filter(told).collect()
}

/// Writes a workload for kernels of one source, in the order given. `flags` are the compiler's, `macros` what the source
/// defines as numbers.
pub fn skeleton(
    source: &str,
    flags: &[String],
    known: &[Known],
    globals: &[GlobalInfo],
    macros: &[(String, i64)],
) -> Skeleton {
    let mut w = Writer {
        known,
        sizes: BTreeMap::new(),
        guesses: 0,
    };
    w.find_sizes();
    let quoted = |s: &str| format!("\"{}\"", s.replace('\\', "\\\\").replace('"', "\\\""));
    let mut out = format!("source = {}\n", quoted(source));
    if !flags.is_empty() {
        let all: Vec<String> = flags.iter().map(|f| quoted(f)).collect();
        let _ = writeln!(out, "flags  = [{}]", all.join(", "));
    }
    let _ = writeln!(
        out,
        "seed   = 1\n\n[sizes]                    # small enough for a reference on the CPU; --size n=... replaces one"
    );
    for (name, value) in &w.sizes {
        let _ = writeln!(out, "{name} = {value}");
    }
    w.buffers(&mut out);
    w.globals(&mut out, globals);
    for k in known {
        w.launch(&mut out, k);
    }
    let axes = block_axes(known);
    if !axes.is_empty() {
        let _ = writeln!(
            out,
            "\n[launch_space]             # threads of a block, for tuning"
        );
        w.space(&mut out, &axes, macros);
    }
    let g = w.guess("what your results have to be good for");
    let _ = writeln!(out, "\n[accept]\nmetric = \"max_rel\"\ntolerance = 1e-6{g}");
    Skeleton {
        text: out,
        guesses: w.guesses,
    }
}
