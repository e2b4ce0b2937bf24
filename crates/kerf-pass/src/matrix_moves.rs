//! Moves of matrices between memory and the registers of a warp as plain loads and stores, with the lane exchange that
//! `ldmatrix` and `stmatrix` need, and `cp.async` as a copy that is done at once.
//!
//! Afterwards nothing that looks at memory (checks, shadows, the CPU executor) needs to know these operations. The results
//! are the same: each lane's fragment is what [`kerf_ir::tensor_core::Fragment::place`] says.
use kerf_ir::tensor_core::{Fragment, MatrixMove, MatrixOperand, matrix_move};
use kerf_llvm::{Builder, IntPred, Module, Opcode, Type, Value};
use kerf_num::Format;

/// Replaces all such operations of a module.
pub fn expand(m: &Module) {
    for f in m.functions().into_iter().filter(|f| !f.is_declaration()) {
        let moves = f.instructions().into_iter();
        let moves: Vec<_> = moves.filter_map(|i| Some((i, matrix_move(i)?))).collect();
        for (i, kind) in moves {
            Expansion::new(i).replace(kind);
        }
    }
}

/// One operation that is being replaced.
struct Expansion {
    b: Builder,
    i: Value,
    args: Vec<Value>,
    lane: Value,
}

/// Types of the results of a call: the fields of a struct, or the one.
fn results(t: Type) -> Vec<Type> {
    match t.kind() {
        kerf_llvm::TypeKind::LLVMStructTypeKind => t.fields(),
        _ => vec![t],
    }
}

/// The type of a matrix's elements in memory.
fn memory_type(b: &Builder, f: Fragment) -> Type {
    use kerf_ir::tensor_core::MatrixElement::*;
    match f.element {
        F16 => b.float_ty(Format::F16),
        Bf16 => b.float_ty(Format::Bf16),
        Tf32 | F32 => b.float_ty(Format::F32),
        F64 => b.float_ty(Format::F64),
        S8 | U8 => b.int_ty(8),
        S32 => b.int_ty(32),
    }
}

/// Values that are looked at for what the halves of a matrix are.
const MOST_USERS: usize = 256;

/// The format that the halves of a loaded matrix are multiplied as, if one is found.
fn read_as(load: Value) -> Option<Format> {
    let mut queue = vec![load];
    let mut at = 0;
    while let Some(v) = queue.get(at).copied().filter(|_| at < MOST_USERS) {
        at += 1;
        for u in v.users() {
            match u.opcode() {
                Some(Opcode::LLVMBitCast) if u.ty().element().is_float() => {
                    return u.ty().element().format().filter(|f| f.bytes() == 2);
                }
                Some(Opcode::LLVMCall) => match kerf_ir::tensor_core::multiply(u)?.a {
                    kerf_ir::tensor_core::MatrixElement::Bf16 => return Some(Format::Bf16),
                    _ => return None,
                },
                Some(Opcode::LLVMExtractValue | Opcode::LLVMPHI | Opcode::LLVMFreeze)
                    if !queue.contains(&u) =>
                {
                    queue.push(u)
                }
                _ => {}
            }
        }
    }
    None
}

impl Expansion {
    fn new(i: Value) -> Expansion {
        let b = Builder::before(i);
        let lane = b.intrinsic("llvm.nvvm.read.ptx.sreg.laneid", &[], &[]);
        Expansion {
            args: i.args(),
            i,
            lane,
            b,
        }
    }

    fn replace(&self, kind: MatrixMove) {
        match kind {
            MatrixMove::LoadRows { count, transposed } => {
                let loaded = (0..count).map(|j| self.load_row(j, count, transposed));
                self.done(&loaded.collect::<Vec<Value>>());
            }
            MatrixMove::StoreRows { count, transposed } => {
                for j in 0..count {
                    self.store_row(j, count, transposed);
                }
                self.i.erase();
            }
            MatrixMove::Load {
                fragment,
                row_major,
                strided,
            } => {
                let stride = strided.then(|| self.args[1]);
                self.load_fragment(fragment, row_major, stride);
            }
            MatrixMove::Store {
                fragment,
                row_major,
                strided,
            } => {
                let stride = strided.then(|| self.args.last().copied()).flatten();
                self.store_fragment(fragment, row_major, stride);
                self.i.erase();
            }
            MatrixMove::CopyAsync { bytes, partial } => {
                self.copy(bytes, partial.then(|| self.args[2]));
                self.i.erase();
            }
            MatrixMove::CopyGroup => self.i.erase(),
        }
    }

    /// The results take the place of the operation's, and of what is taken out of them.
    fn done(&self, values: &[Value]) {
        let t = self.i.ty();
        let is_field = |u: &Value| u.opcode() == Some(Opcode::LLVMExtractValue);
        for u in self.i.users().into_iter().filter(is_field) {
            if let [k] = u.indices().as_slice() {
                u.become_value(values[*k as usize]);
            }
        }
        if self.i.users().is_empty() {
            return self.i.erase();
        }
        let v = match values {
            [v] if v.ty() == t => *v,
            all => (all.iter().zip(0..)).fold(t.poison(), |s, (v, k)| self.b.insert(s, *v, k)),
        };
        self.i.become_value(v);
    }

    /// A word of another lane.
    fn word_of_lane(&self, word: Value, lane: Value) -> Value {
        let b = &self.b;
        let args = [b.i32(u32::MAX), word, lane, b.i32(31)];
        b.intrinsic("llvm.nvvm.shfl.sync.idx.i32", &[], &args)
    }

    /// The pointer of another lane. Where all lanes have one, they lie in the same shared memory, so that the distance fits a
    /// word, and what the own pointer points to is still known.
    fn pointer_of(&self, lane: Value, all_have_one: bool) -> Value {
        let b = &self.b;
        let (p, wide, word) = (self.args[0], b.int_ty(64), b.int_ty(32));
        let whole = b.cast(Opcode::LLVMPtrToInt, p, wide);
        let low = b.zext_or_trunc(whole, word);
        let other = self.word_of_lane(low, lane);
        if all_have_one {
            return b.offset(p, b.sext_or_trunc(b.sub(other, low), wide));
        }
        let high = b.zext_or_trunc(b.lshr(whole, b.i64(32)), word);
        let high = self.word_of_lane(high, lane);
        let (low, high) = (b.zext_or_trunc(other, wide), b.zext_or_trunc(high, wide));
        let address = b.or(low, b.shl(high, b.i64(32)));
        b.cast(Opcode::LLVMIntToPtr, address, p.ty())
    }

    /// Addresses of the element or pair of a matrix of 8 by 8 halves that is in this lane: a word, or two halves of
    /// neighbouring rows.
    fn row_addresses(&self, matrix: u32, count: u32, transposed: bool) -> Vec<Value> {
        let b = &self.b;
        let (group, place) = (b.lshr(self.lane, b.i32(2)), b.and(self.lane, b.i32(3)));
        let first = b.i32(8 * matrix);
        let wide = |v: Value| b.zext_or_trunc(v, b.int_ty(64));
        if !transposed {
            let row = self.pointer_of(b.add(first, group), count == 4);
            return vec![b.offset(row, wide(b.shl(place, b.i32(2))))];
        }
        let pair = b.add(first, b.shl(place, b.i32(1)));
        let half = |k: u32| {
            let row = self.pointer_of(b.add(pair, b.i32(k)), count == 4);
            b.offset(row, wide(b.shl(group, b.i32(1))))
        };
        vec![half(0), half(1)]
    }

    fn load_row(&self, matrix: u32, count: u32, transposed: bool) -> Value {
        let b = &self.b;
        let (half, word) = (b.int_ty(16), b.int_ty(32));
        match self.row_addresses(matrix, count, transposed).as_slice() {
            [p] => {
                let v = b.load(word, *p);
                v.set_align(4);
                v
            }
            all => {
                let half = read_as(self.i).map_or(half, |f| b.float_ty(f));
                let pair = half.vector(2);
                let load = |p: &Value| {
                    let v = b.load(half, *p);
                    v.set_align(2);
                    v
                };
                let lanes = all.iter().map(load).zip(0..);
                let v = lanes.fold(pair.poison(), |v, (x, k)| b.set_lane(v, x, k));
                b.bitcast(v, word)
            }
        }
    }

    fn store_row(&self, matrix: u32, count: u32, transposed: bool) {
        let b = &self.b;
        let v = self.args[1 + matrix as usize];
        match self.row_addresses(matrix, count, transposed).as_slice() {
            [p] => b.store(v, *p).set_align(4),
            all => {
                let halves = b.bitcast(v, b.int_ty(16).vector(2));
                for (k, p) in all.iter().enumerate() {
                    b.store(b.lane(halves, k as u32), *p).set_align(2);
                }
            }
        }
    }

    /// A linear function of the lane's group of four and its place in that: every place of a fragment is one.
    fn linear(&self, at: impl Fn(u32) -> u32) -> Value {
        let b = &self.b;
        let (first, by_group, by_place) = (at(0), at(4) - at(0), at(1) - at(0));
        debug_assert!(
            (0..32).all(|l| at(l) == first + by_group * (l / 4) + by_place * (l % 4)),
            "fragments are linear in the lane"
        );
        let (group, place) = (b.lshr(self.lane, b.i32(2)), b.and(self.lane, b.i32(3)));
        let steps = b.add(b.mul(group, b.i32(by_group)), b.mul(place, b.i32(by_place)));
        b.add(steps, b.i32(first))
    }

    /// Address of an element of a fragment.
    fn element_address(
        &self,
        f: Fragment,
        e: u32,
        row_major: bool,
        stride: Option<Value>,
    ) -> Value {
        let b = &self.b;
        let (rows, columns) = f.shape.size(f.matrix);
        let row = self.linear(|l| f.place(l, e).0);
        let column = self.linear(|l| f.place(l, e).1);
        let (outer, inner, dense) = match row_major {
            true => (row, column, columns),
            false => (column, row, rows),
        };
        let wide = |v: Value| b.zext_or_trunc(v, b.int_ty(64));
        let stride = stride.unwrap_or_else(|| b.i32(dense));
        let elements = b.add(b.mul(wide(outer), wide(stride)), wide(inner));
        let bytes = b.mul(elements, b.i64(u64::from(f.element.bits() / 8)));
        b.offset(self.args[0], bytes)
    }

    fn load_fragment(&self, f: Fragment, row_major: bool, stride: Option<Value>) {
        let b = &self.b;
        let t = memory_type(b, f);
        let distinct = {
            let (rows, columns) = f.shape.size(f.matrix);
            rows * columns / 32
        };
        let load = |e: u32| {
            let v = b.load(t, self.element_address(f, e, row_major, stride));
            v.set_align(f.element.bits() / 8);
            v
        };
        let elements: Vec<Value> = (0..distinct).map(load).collect();
        let pack = f.element.per_register();
        let register = |(k, register_type): (usize, &Type)| {
            let part = |p: u32| elements[(k as u32 * pack + p) as usize % elements.len()];
            let v = match pack {
                1 => part(0),
                _ => (0..pack).fold(t.vector(pack).poison(), |v, p| b.set_lane(v, part(p), p)),
            };
            b.bitcast(v, *register_type)
        };
        let types = results(self.i.ty());
        let registers: Vec<Value> = types.iter().enumerate().map(register).collect();
        self.done(&registers);
    }

    fn store_fragment(&self, f: Fragment, row_major: bool, stride: Option<Value>) {
        debug_assert_eq!(f.matrix, MatrixOperand::C);
        let b = &self.b;
        let pack = f.element.per_register();
        for e in 0..f.elements() {
            let register = self.args[1 + (e / pack) as usize];
            let v = match pack {
                1 => register,
                _ => b.lane(register, e % pack),
            };
            let at = self.element_address(f, e, row_major, stride);
            b.store(v, at).set_align(f.element.bits() / 8);
        }
    }

    /// `cp.async`; of the part that is not read, bytes are zero.
    fn copy(&self, bytes: u32, size: Option<Value>) {
        let b = &self.b;
        let (to, from, word) = (self.args[0], self.args[1], b.int_ty(32));
        let Some(size) = size else {
            let t = match bytes {
                4 => word,
                n => word.vector(n / 4),
            };
            let v = b.load(t, from);
            v.set_align(bytes);
            b.store(v, to).set_align(bytes);
            return;
        };
        let flat = |p: Value, at: u32| {
            let p = b.offset(p, b.i64(u64::from(at)));
            b.cast(Opcode::LLVMAddrSpaceCast, p, b.ptr_ty(0))
        };
        for at in 0..bytes {
            let read = b.icmp(IntPred::LLVMIntUGT, size, b.i32(at));
            // Where nothing is to be read, the destination is: it is there in any case.
            let place = b.select(read, flat(from, at), flat(to, at));
            let v = b.load(b.int_ty(8), place);
            v.set_align(1);
            let v = b.select(read, v, b.int_ty(8).zero());
            b.store(v, b.offset(to, b.i64(u64::from(at)))).set_align(1);
        }
    }
}
