//! Probe kernels as LLVM text.
//!
//! A kernel has `streams` independent values (one for latency), takes each through `unroll` steps in
//! the body of a loop, and writes per warp the clock before and after the loop and the number of its
//! multiprocessor. Parameters: first values, operands, clocks, iterations, the mask that is zero, and
//! the pattern that the sink never sees.
use super::recipe::{Carrier, ProbeNumbers, ProbeRecipe};
use std::fmt::Write;

/// One kernel of a probe module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProbeKernel {
    /// Independent values.
    pub streams: usize,
    /// Steps of each in the loop's body.
    pub unroll: usize,
    /// Feed through the mask even where the operation could feed itself.
    pub masked: bool,
}

impl ProbeKernel {
    /// The kernel's name.
    pub fn name(self) -> String {
        format!(
            "probe_s{}_u{}{}",
            self.streams,
            self.unroll,
            if self.masked { "_m" } else { "" }
        )
    }
}

/// Bytes between two first values in their buffer; also between operands.
pub const SLOT: usize = 16;
/// Streams for which first values are laid out, per thread.
pub const STREAMS: usize = 8;

fn load(out: &mut String, name: &str, c: Carrier, pointer: &str) {
    let _ = writeln!(
        out,
        "  {name} = load {}, ptr addrspace(1) {pointer}, align 16",
        c.ty()
    );
}

/// Puts names into a recipe's step.
fn step(text: &str, out: &str, x: &str, p: &str, tag: &str, kind: usize) -> String {
    text.replace("%OUT", out)
        .replace("%X", x)
        .replace("%P", p)
        .replace("%B", &format!("%b{kind}"))
        .replace("%C", &format!("%c{kind}"))
        .replace("%T", &format!("%t{tag}_"))
}

/// Value of `from` as the integer of `to`'s size.
fn as_bits(out: &mut String, value: &str, from: Carrier, to: Carrier, tag: &str) -> String {
    let mut v = value.to_owned();
    if from.ty() != from.bits() {
        let _ = writeln!(
            out,
            "  %i{tag} = bitcast {} {v} to {}",
            from.ty(),
            from.bits()
        );
        v = format!("%i{tag}");
    }
    let (have, want) = (from.width(), to.width());
    if have < want {
        let _ = writeln!(out, "  %z{tag} = zext {} {v} to {}", from.bits(), to.bits());
        v = format!("%z{tag}");
    } else if have > want {
        // The upper half: the lower one of a widened float is known to be zero.
        let _ = writeln!(
            out,
            "  %h{tag} = lshr {} {v}, {}\n  %z{tag} = trunc {} %h{tag} to {}",
            from.bits(),
            have - want,
            from.bits(),
            to.bits()
        );
        v = format!("%z{tag}");
    }
    v
}

/// Does the value point into shared memory?
fn points_to_shared(r: &ProbeRecipe) -> bool {
    r.carrier == Carrier::I32 && r.numbers == ProbeNumbers::Address
}

/// First values, operands and the mask in every width that is needed.
fn prologue(o: &mut String, recipes: &[&ProbeRecipe], s: ProbeKernel) {
    o.push_str(
        "entry:\n  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n  %threads = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()\n  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()\n",
    );
    if recipes.iter().any(|r| points_to_shared(r)) {
        // Each thread's word of shared memory holds its own address; neighbours do not share a bank.
        let wide = recipes.iter().any(|r| r.result.width() == 64);
        let word = if wide { "i64" } else { "i32" };
        let _ = write!(
            o,
            "  %word = getelementptr {word}, ptr addrspace(3) @words, i32 %tid\n  %here = ptrtoint ptr addrspace(3) %word to i32\n  store volatile i32 %here, ptr addrspace(3) %word\n",
        );
    }
    let _ = writeln!(
        o,
        "  %own = mul i32 %tid, {STREAMS}\n  %own64 = zext i32 %own to i64"
    );
    for (k, r) in recipes.iter().enumerate() {
        for (i, name) in ["b", "c"].into_iter().enumerate() {
            let at = (2 * k + i) * SLOT;
            let _ = writeln!(
                o,
                "  %p{name}{k} = getelementptr i8, ptr addrspace(1) %operands, i64 {at}"
            );
            load(
                o,
                &format!("%{name}{k}"),
                r.carrier,
                &format!("%p{name}{k}"),
            );
        }
    }
    for j in 0..s.streams {
        let r = recipes[j % recipes.len()];
        if points_to_shared(r) {
            // Streams differ by a zero that is not known to be one.
            let _ = writeln!(
                o,
                "  %mk{j} = trunc i64 %mask to i32\n  %ms{j} = mul i32 %mk{j}, {}\n  %x{j} = add i32 %here, %ms{j}",
                j + 1
            );
            continue;
        }
        let _ = writeln!(
            o,
            "  %n{j} = add i64 %own64, {j}\n  %m{j} = mul i64 %n{j}, {SLOT}\n  %p{j} = getelementptr i8, ptr addrspace(1) %seeds, i64 %m{j}"
        );
        load(o, &format!("%x{j}"), r.carrier, &format!("%p{j}"));
    }
    o.push_str(
        "  %mm16 = trunc i64 %mask to i16\n  %mm32 = trunc i64 %mask to i32\n  %mm64 = add i64 %mask, 0\n  %mz = zext i64 %mask to i128\n  %mzh = shl i128 %mz, 64\n  %mm128 = or i128 %mz, %mzh\n",
    );
}

/// The loop's body.
fn body(o: &mut String, recipes: &[&ProbeRecipe], s: ProbeKernel) {
    for u in 0..s.unroll {
        for j in 0..s.streams {
            let kind = j % recipes.len();
            let r = recipes[kind];
            let (t, bits) = (r.carrier.ty(), r.carrier.bits());
            let direct = r.direct && !s.masked;
            let tag = format!("{j}_{u}");
            let (x, p) = (format!("%v{j}_{u}"), format!("%q{j}_{u}"));
            let next = format!("%v{j}_{}", u + 1);
            let y = if direct {
                next.clone()
            } else {
                format!("%y{tag}")
            };
            let _ = writeln!(o, "  {}", step(&r.steps[u % 2], &y, &x, &p, &tag, kind));
            if !direct {
                let v = as_bits(o, &y, r.result, r.carrier, &tag);
                let (first, second) = if r.multiplied {
                    ("mul", "add")
                } else {
                    ("and", "xor")
                };
                let _ = writeln!(
                    o,
                    "  %a{tag} = {first} {bits} {v}, %mm{}",
                    r.carrier.width()
                );
                if t == bits {
                    let _ = writeln!(o, "  {next} = {second} {bits} %a{tag}, %x{j}");
                } else {
                    let _ = writeln!(
                        o,
                        "  %bb{tag} = bitcast {t} %x{j} to {bits}\n  %e{tag} = {second} {bits} %a{tag}, %bb{tag}\n  {next} = bitcast {bits} %e{tag} to {t}"
                    );
                }
            }
            // A name for the value before.
            let _ = writeln!(o, "  %q{j}_{} = freeze {t} {x}", u + 1);
        }
    }
}

/// All results in one word, stored if it is the pattern that it never is.
fn sink(o: &mut String, recipes: &[&ProbeRecipe], s: ProbeKernel) {
    let mut sum = String::from("0");
    for j in 0..s.streams {
        let r = recipes[j % recipes.len()];
        let (t, bits) = (r.carrier.ty(), r.carrier.bits());
        let last = format!("%v{j}_{}", s.unroll);
        let v = if t == bits {
            last
        } else {
            let _ = writeln!(o, "  %l{j} = bitcast {t} {last} to {bits}");
            format!("%l{j}")
        };
        let wide = match bits {
            "i64" => v,
            "i128" => {
                let _ = writeln!(
                    o,
                    "  %ln{j} = trunc i128 {v} to i64\n  %lh{j} = lshr i128 {v}, 64\n  %lt{j} = trunc i128 %lh{j} to i64\n  %lw{j} = xor i64 %ln{j}, %lt{j}"
                );
                format!("%lw{j}")
            }
            _ => {
                let _ = writeln!(o, "  %lw{j} = zext {bits} {v} to i64");
                format!("%lw{j}")
            }
        };
        let _ = writeln!(o, "  %sum{j} = xor i64 {sum}, {wide}");
        sum = format!("%sum{j}");
    }
    let _ = writeln!(
        o,
        "  %hit = icmp eq i64 {sum}, %never\n  br i1 %hit, label %sink, label %record\nsink:\n  store i64 {sum}, ptr addrspace(1) %clocks\n  br label %record"
    );
}

const CLOCK: &str = "call i64 asm sideeffect \"mov.u64 $0, %clock64;\", \"=l,~{memory}\"()";

/// What each warp's first lane writes.
const RECORD: &str = "record:
  %lane = and i32 %tid, 31
  %first = icmp eq i32 %lane, 0
  br i1 %first, label %write, label %out
write:
  %sm = call i32 asm sideeffect \"mov.u32 $0, %smid;\", \"=r\"()
  %sm64 = zext i32 %sm to i64
  %warps = lshr i32 %threads, 5
  %warp = lshr i32 %tid, 5
  %bw = mul i32 %block, %warps
  %index = add i32 %bw, %warp
  %index64 = zext i32 %index to i64
  %cell = getelementptr [3 x i64], ptr addrspace(1) %clocks, i64 %index64
  store i64 %start, ptr addrspace(1) %cell
  %cell1 = getelementptr i64, ptr addrspace(1) %cell, i64 1
  store i64 %stop, ptr addrspace(1) %cell1
  %cell2 = getelementptr i64, ptr addrspace(1) %cell, i64 2
  store i64 %sm64, ptr addrspace(1) %cell2
  br label %out
out:
  ret void
}
";

fn kernel(recipes: &[&ProbeRecipe], s: ProbeKernel) -> String {
    let mut o = format!(
        "define ptx_kernel void @{}(ptr addrspace(1) %seeds, ptr addrspace(1) %operands, ptr addrspace(1) %clocks, i32 %iterations, i64 %mask, i64 %never) {{\n",
        s.name()
    );
    prologue(&mut o, recipes, s);
    let _ = writeln!(
        o,
        "  call void asm sideeffect \"bar.sync 0;\", \"~{{memory}}\"()\n  %start = {CLOCK}\n  br label %loop\nloop:\n  %i = phi i32 [ 0, %entry ], [ %next, %loop ]"
    );
    for j in 0..s.streams {
        let t = recipes[j % recipes.len()].carrier.ty();
        let _ = writeln!(
            o,
            "  %v{j}_0 = phi {t} [ %x{j}, %entry ], [ %v{j}_{}, %loop ]\n  %q{j}_0 = phi {t} [ %x{j}, %entry ], [ %q{j}_{}, %loop ]",
            s.unroll, s.unroll
        );
    }
    body(&mut o, recipes, s);
    let _ = writeln!(
        o,
        "  %next = add nuw i32 %i, 1\n  %more = icmp ult i32 %next, %iterations\n  br i1 %more, label %loop, label %done, !llvm.loop !0\ndone:\n  %stop = {CLOCK}"
    );
    sink(&mut o, recipes, s);
    o.push_str(RECORD);
    o
}

/// The module with all kernels of a probe. With two recipes, streams alternate between them.
pub fn module(recipes: &[&ProbeRecipe], shapes: &[ProbeKernel]) -> String {
    let mut o = String::from(
        "target triple = \"nvptx64-nvidia-cuda\"\n\
         @words = internal addrspace(3) global [1024 x i64] undef, align 16\n\
         declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n\
         declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()\n\
         declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()\n",
    );
    let declares: std::collections::BTreeSet<&String> =
        recipes.iter().flat_map(|r| &r.declares).collect();
    for d in declares {
        o.push_str(d);
        o.push('\n');
    }
    for s in shapes {
        o.push_str(&kernel(recipes, *s));
    }
    o.push_str("!0 = distinct !{!0, !1}\n!1 = !{!\"llvm.loop.unroll.disable\"}\n");
    o
}
