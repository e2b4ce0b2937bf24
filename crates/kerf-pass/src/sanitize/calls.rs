//! The instructions of a function, one by one: accesses, calls, branches, and what only computes.
use super::accesses::library_result_bytes;
use super::{Pass, Shadow, SiteKind, origin_of, runtime};
use kerf_ir::undefined_locals;
use kerf_llvm::{Block, Builder, Opcode, Ordering, RmwOp, Value};
use std::collections::BTreeSet;

/// Can the result of a call be undefined because an argument is? Functions of the program that were not inlined, and
/// what lanes decide together, give defined results; undefined arguments of the latter are errors themselves.
pub(super) fn carries(i: Value) -> bool {
    let f = i.callee();
    let pure = f.is_function()
        && f.is_declaration()
        && (kerf_ir::prepare::is_pure_math(f)
            || f.name().starts_with("llvm.")
            || library_result_bytes(&f.name()).is_some());
    pure && !i.ty().is_void() && !decides(&f.name())
}

/// Operations of lanes, or threads, whose result depends on a value of each.
fn decides(name: &str) -> bool {
    name.strip_prefix("llvm.nvvm.").is_some_and(|n| {
        ["vote.", "match.", "redux.", "barrier"]
            .iter()
            .any(|p| n.starts_with(p))
    })
}

/// Does an atomic load or store order others, as if a fence stood behind or before it?
fn orders(i: Value) -> bool {
    use Ordering::*;
    !matches!(
        i.ordering(),
        LLVMAtomicOrderingNotAtomic | LLVMAtomicOrderingUnordered | LLVMAtomicOrderingMonotonic
    )
}

fn after(i: Value) -> Option<Builder> {
    i.next().map(Builder::before)
}

impl Pass<'_> {
    pub(super) fn instruction(&mut self, i: Value, skippable: &BTreeSet<Block>) {
        use Opcode::*;
        let b = Builder::before(i);
        match i.opcode() {
            Some(LLVMPHI | LLVMAlloca | LLVMFreeze) | None => {}
            Some(LLVMLoad) => {
                let site = self.announce(&b, i);
                if let (Some(site), true) = (site, self.doubtful.contains(&i)) {
                    let s = self.load_shadow(&b, i.operand(0), i.ty(), site);
                    self.shadows.insert(i, s);
                }
                if let (true, Some(after)) = (orders(i), after(i)) {
                    self.fence(&after, i.is_block_scoped());
                }
            }
            Some(LLVMStore) => {
                if orders(i) {
                    self.fence(&b, i.is_block_scoped());
                }
                self.announce(&b, i);
                let v = i.operand(0);
                self.store_shadow(&b, i.operand(1), v.ty(), self.get(v));
            }
            Some(LLVMAtomicRMW) => self.read_modify_write(&b, i),
            Some(LLVMAtomicCmpXchg) => self.compare_exchange(&b, i),
            Some(LLVMBr | LLVMSwitch) => {
                if let Some(c) = i.operands().first() {
                    self.must_be_defined(&b, i, *c, SiteKind::Branch);
                }
            }
            Some(LLVMFence) => self.fence(&b, i.is_block_scoped()),
            Some(LLVMCall) => self.called(&b, i, skippable),
            Some(_) if i.ty().is_void() => {}
            Some(_) => {
                let s = self.pure(&b, i);
                if let Some(s) = s {
                    self.shadows.insert(i, s);
                }
            }
        }
    }

    fn fence(&self, b: &Builder, of_block: bool) {
        let scope = b.i32(u32::from(!of_block));
        self.call(b, runtime::FENCE, self.m.void_ty(), &[scope]);
    }

    fn read_modify_write(&mut self, b: &Builder, i: Value) {
        let Some(site) = self.announce(b, i) else {
            return;
        };
        let (p, v) = (i.operand(0), i.operand(1));
        if i.rmw_op() == RmwOp::LLVMAtomicRMWBinOpXchg {
            let old = self.load_shadow(b, p, i.ty(), site);
            self.store_shadow(b, p, i.ty(), self.get(v));
            self.shadows.insert(i, old);
            return;
        }
        let operands: Vec<Shadow> = self.get(v).into_iter().collect();
        let old = self.atomic_shadow(b, p, i.ty(), &operands, site);
        self.shadows.insert(i, old);
    }

    fn compare_exchange(&mut self, b: &Builder, i: Value) {
        let Some(site) = self.announce(b, i) else {
            return;
        };
        let (p, t) = (i.operand(0), i.operand(1).ty());
        let operands: Vec<Shadow> = self.get(i.operand(2)).into_iter().collect();
        let old = self.atomic_shadow(b, p, t, &operands, site);
        let any = std::iter::once(old)
            .chain(self.get(i.operand(1)))
            .map(|s| self.any(b, s.bits))
            .reduce(|x, y| b.or(x, y))
            .unwrap_or_else(|| b.int_ty(1).zero());
        let pair = b.struct_ty(&[old.bits.ty(), b.int_ty(1)]);
        let bits = b.insert(b.insert(pair.zero(), old.bits, 0), any, 1);
        self.shadows.insert(
            i,
            Shadow {
                bits,
                origin: old.origin,
            },
        );
    }

    fn called(&mut self, b: &Builder, i: Value, skippable: &BTreeSet<Block>) {
        let Some(n) = i.callee_name() else { return };
        let a = i.args();
        if n.starts_with(undefined_locals::VALUE) {
            return self.undefined_local(b, i);
        }
        if n == undefined_locals::RANGE {
            let site = self.local_site(i);
            let at = self.flat(b, a[0]);
            let args = [at, a[1], b.i32(origin_of(site))];
            self.call(b, runtime::UNDEFINE, self.m.void_ty(), &args);
            i.erase();
            return;
        }
        if n.starts_with("llvm.memcpy.") || n.starts_with("llvm.memmove.") {
            self.announce(b, i);
            let bytes = b.zext_or_trunc(a[2], b.int_ty(64));
            let args = [self.flat(b, a[0]), self.flat(b, a[1]), bytes];
            self.call(b, runtime::COPY, self.m.void_ty(), &args);
        } else if n.starts_with("llvm.memset.") {
            self.announce(b, i);
            let bytes = b.zext_or_trunc(a[2], b.int_ty(64));
            let args = [self.flat(b, a[0]), bytes];
            self.call(b, runtime::DEFINE, self.m.void_ty(), &args);
        } else if n.starts_with("llvm.nvvm.atomic.") {
            let Some(site) = self.announce(b, i) else {
                return;
            };
            let operands: Vec<Shadow> = a[1..].iter().filter_map(|v| self.get(*v)).collect();
            let old = self.atomic_shadow(b, a[0], i.ty(), &operands, site);
            self.shadows.insert(i, old);
        } else if n.starts_with("llvm.nvvm.membar") || n.starts_with("llvm.nvvm.fence") {
            self.fence(b, n.ends_with("cta"));
        } else if let Some(kind) = n.strip_prefix("llvm.nvvm.shfl.sync.") {
            self.shuffle(b, i, kind);
        } else if decides(&n) {
            let kind = match n.starts_with("llvm.nvvm.barrier") {
                true => SiteKind::Barrier,
                false => SiteKind::Vote,
            };
            self.meets(b, i, kind, skippable);
        } else if n.starts_with("llvm.nvvm.bar.") {
            self.meets(b, i, SiteKind::Vote, skippable);
        } else if kerf_ir::tensor_core::multiply(i).is_some() {
            let site = self.site(i, SiteKind::Shuffle);
            let site = self.add(site);
            self.call(b, runtime::MEET, self.m.void_ty(), &[b.i32(site)]);
            let all: Vec<Shadow> = a.iter().filter_map(|v| self.get(*v)).collect();
            if let Some(s) = self.whole(b, i, &all) {
                self.shadows.insert(i, s);
            }
        } else if n == "malloc" {
            self.must_be_defined(b, i, a[0], SiteKind::Branch);
        } else if let Some(bytes) = library_result_bytes(&n) {
            self.library_results(b, i, bytes);
        } else if carries(i) {
            let all: Vec<Shadow> = a.iter().filter_map(|v| self.get(*v)).collect();
            let s = self.whole(b, i, &all);
            if let Some(s) = s {
                self.shadows.insert(i, s);
            }
        }
    }

    /// A function of the device library with results behind pointers (`sincos`, `frexp`): they are as defined as its
    /// arguments.
    fn library_results(&mut self, b: &Builder, i: Value, bytes: u64) {
        self.announce(b, i);
        let of_values: Vec<Shadow> = i
            .args()
            .into_iter()
            .filter(|v| !v.ty().is_ptr())
            .filter_map(|v| self.get(v))
            .collect();
        let t = b.int_ty(8 * bytes as u32);
        let any = of_values
            .iter()
            .map(|s| self.any(b, s.bits))
            .reduce(|x, y| b.or(x, y));
        let written = any.map(|any| Shadow {
            bits: self.fill(b, any, t),
            origin: self.origin(b, &of_values),
        });
        for p in i.args().into_iter().filter(|v| v.ty().is_ptr()) {
            self.store_shadow(b, p, t, written);
        }
        if !i.ty().is_void()
            && let Some(s) = self.whole(b, i, &of_values)
        {
            self.shadows.insert(i, s);
        }
    }

    /// A place where threads meet gets a number by which the runtime knows it.
    fn meets(&mut self, b: &Builder, i: Value, kind: SiteKind, skippable: &BTreeSet<Block>) {
        let mut site = self.site(i, kind);
        site.skippable = kind == SiteKind::Barrier && skippable.contains(&i.block());
        let site = self.add(site);
        for v in i.args() {
            self.used(b, v, site);
        }
        self.call(b, runtime::MEET, self.m.void_ty(), &[b.i32(site)]);
    }

    fn local_site(&mut self, i: Value) -> u32 {
        let number = i.args().last().and_then(|n| n.const_int()).unwrap_or(0);
        let mut site = self.site(i, SiteKind::Local);
        if let Some((name, place)) = self
            .locals
            .get(number as usize)
            .and_then(|l| l.split_once('\t'))
        {
            site.object = Some(name.to_owned());
            if !place.is_empty() {
                site.location = place.to_owned();
            }
        }
        self.add(site)
    }

    fn undefined_local(&mut self, b: &Builder, i: Value) {
        let site = self.local_site(i);
        let t = super::shadow_type(self.m, i.ty());
        let s = Shadow {
            bits: self.fill(b, b.int_ty(1).int(1), t),
            origin: b.i32(origin_of(site)),
        };
        self.shadows.insert(i, s);
    }

    /// The shadow goes the way of the value; a lane that takes no part has none that is defined.
    fn shuffle(&mut self, b: &Builder, i: Value, kind: &str) {
        let site = self.site(i, SiteKind::Shuffle);
        let site = self.add(site);
        let a = i.args();
        for v in [a[0], a[2], a[3]] {
            self.used(b, v, site);
        }
        self.call(b, runtime::MEET, self.m.void_ty(), &[b.i32(site)]);
        let Some(after) = after(i) else { return };
        let (i32t, i64t) = (b.int_ty(32), b.int_ty(64));
        let (bits, origin) = match self.get(a[1]) {
            Some(s) => (s.bits, s.origin),
            None => (i32t.zero(), i32t.zero()),
        };
        let wide = |v: Value| after.zext_or_trunc(v, i64t);
        let both = after.or(wide(bits), after.shl(wide(origin), after.i64(32)));
        let direction = kind.split('.').next().unwrap_or("idx");
        let name = format!("{}{direction}", runtime::SHUFFLE);
        let r = self.call(&after, &name, i64t, &[a[0], both, a[2], a[3]]);
        let moved = after.zext_or_trunc(r, i32t);
        let origin = after.zext_or_trunc(after.lshr(r, after.i64(32)), i32t);
        let t = super::shadow_type(self.m, i.ty());
        let bits = match super::is_aggregate(i.ty()) {
            true => after.insert(t.zero(), moved, 0),
            false => moved,
        };
        self.shadows.insert(i, Shadow { bits, origin });
    }
}
