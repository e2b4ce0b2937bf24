//! Building instructions.
use crate::block::Block;
use crate::shim::cstring;
use crate::types::Type;
use crate::value::Value;
use llvm_sys::core::*;
use llvm_sys::debuginfo::LLVMInstructionGetDebugLoc;
use llvm_sys::prelude::*;
use llvm_sys::*;

/// Inserts instructions at a position.
pub struct Builder(LLVMBuilderRef);

impl Drop for Builder {
    fn drop(&mut self) {
        // SAFETY: created by `new`, disposed once.
        unsafe { LLVMDisposeBuilder(self.0) }
    }
}

const NONE: *const std::ffi::c_char = c"".as_ptr();

// SAFETY (all unsafe blocks of this file): handles are valid by the contract of the parent module;
// operand types are the caller's duty and the module is verified after every pass.
impl Builder {
    fn new(ctx: LLVMContextRef) -> Builder {
        Builder(unsafe { LLVMCreateBuilderInContext(ctx) })
    }
    /// A builder that inserts before `inst` and takes over its debug location.
    pub fn before(inst: Value) -> Builder {
        let b = Self::new(unsafe { LLVMGetTypeContext(LLVMTypeOf(inst.0)) });
        unsafe {
            LLVMPositionBuilderBefore(b.0, inst.0);
            let loc = LLVMInstructionGetDebugLoc(inst.0);
            if !loc.is_null() {
                LLVMSetCurrentDebugLocation2(b.0, loc);
            }
        }
        b
    }
    /// A builder without a place, which can only make constants.
    pub fn of_constants(m: &crate::Module) -> Builder {
        Self::new(unsafe { LLVMGetModuleContext(m.raw()) })
    }
    /// A builder that appends to `block`.
    pub fn at_end(block: Block) -> Builder {
        let f = block.function();
        let b = Self::new(unsafe { LLVMGetTypeContext(LLVMTypeOf(f.0)) });
        unsafe { LLVMPositionBuilderAtEnd(b.0, block.0) };
        b
    }
    /// Moves to the end of `block`.
    pub fn move_to_end(&self, block: Block) {
        unsafe { LLVMPositionBuilderAtEnd(self.0, block.0) }
    }
    /// Current block.
    pub fn block(&self) -> Block {
        Block(unsafe { LLVMGetInsertBlock(self.0) })
    }
    fn ctx(&self) -> LLVMContextRef {
        unsafe { LLVMGetBuilderContext(self.0) }
    }
    /// A new block at the end of `f`.
    pub fn new_block(&self, f: Value, name: &str) -> Block {
        let c = cstring(name);
        Block(unsafe { LLVMAppendBasicBlockInContext(self.ctx(), f.0, c.as_ptr()) })
    }
    /// Integer type of `bits`.
    pub fn int_ty(&self, bits: u32) -> Type {
        Type(unsafe { LLVMIntTypeInContext(self.ctx(), bits) })
    }
    /// `i32` constant.
    pub fn i32(&self, v: u32) -> Value {
        self.int_ty(32).int(u64::from(v))
    }
    /// `i64` constant.
    pub fn i64(&self, v: u64) -> Value {
        self.int_ty(64).int(v)
    }
    /// Type of a format.
    pub fn float_ty(&self, f: kerf_num::Format) -> Type {
        use kerf_num::Format::*;
        let c = self.ctx();
        Type(unsafe {
            match f {
                F64 => LLVMDoubleTypeInContext(c),
                F32 => LLVMFloatTypeInContext(c),
                F16 => LLVMHalfTypeInContext(c),
                Bf16 => LLVMBFloatTypeInContext(c),
            }
        })
    }
    /// Pointer type in an address space.
    pub fn ptr_ty(&self, space: u32) -> Type {
        Type(unsafe { LLVMPointerTypeInContext(self.ctx(), space) })
    }
    /// Literal struct type.
    pub fn struct_ty(&self, fields: &[Type]) -> Type {
        let mut f: Vec<_> = fields.iter().map(|t| t.0).collect();
        Type(unsafe { LLVMStructTypeInContext(self.ctx(), f.as_mut_ptr(), f.len() as u32, 0) })
    }
    /// Binary operation.
    pub fn bin(&self, op: LLVMOpcode, a: Value, b: Value) -> Value {
        Value(unsafe { LLVMBuildBinOp(self.0, op, a.0, b.0, NONE) })
    }
    /// Conversion.
    pub fn cast(&self, op: LLVMOpcode, v: Value, to: Type) -> Value {
        Value(unsafe { LLVMBuildCast(self.0, op, v.0, to.0, NONE) })
    }
    /// Bit cast, or nothing where the types agree.
    pub fn bitcast(&self, v: Value, to: Type) -> Value {
        if v.ty() == to {
            v
        } else {
            self.cast(LLVMOpcode::LLVMBitCast, v, to)
        }
    }
    /// Zero extension, truncation or nothing.
    pub fn zext_or_trunc(&self, v: Value, to: Type) -> Value {
        match v.ty().int_bits().cmp(&to.int_bits()) {
            std::cmp::Ordering::Less => self.cast(LLVMOpcode::LLVMZExt, v, to),
            std::cmp::Ordering::Equal => v,
            std::cmp::Ordering::Greater => self.cast(LLVMOpcode::LLVMTrunc, v, to),
        }
    }
    /// Sign extension, truncation or nothing.
    pub fn sext_or_trunc(&self, v: Value, to: Type) -> Value {
        match v.ty().int_bits().cmp(&to.int_bits()) {
            std::cmp::Ordering::Less => self.cast(LLVMOpcode::LLVMSExt, v, to),
            std::cmp::Ordering::Equal => v,
            std::cmp::Ordering::Greater => self.cast(LLVMOpcode::LLVMTrunc, v, to),
        }
    }
    /// Integer addition.
    pub fn add(&self, a: Value, b: Value) -> Value {
        self.bin(LLVMOpcode::LLVMAdd, a, b)
    }
    /// Integer subtraction.
    pub fn sub(&self, a: Value, b: Value) -> Value {
        self.bin(LLVMOpcode::LLVMSub, a, b)
    }
    /// Integer multiplication.
    pub fn mul(&self, a: Value, b: Value) -> Value {
        self.bin(LLVMOpcode::LLVMMul, a, b)
    }
    /// Bitwise and.
    pub fn and(&self, a: Value, b: Value) -> Value {
        self.bin(LLVMOpcode::LLVMAnd, a, b)
    }
    /// Bitwise or.
    pub fn or(&self, a: Value, b: Value) -> Value {
        self.bin(LLVMOpcode::LLVMOr, a, b)
    }
    /// Exclusive or.
    pub fn xor(&self, a: Value, b: Value) -> Value {
        self.bin(LLVMOpcode::LLVMXor, a, b)
    }
    /// Shift left.
    pub fn shl(&self, a: Value, b: Value) -> Value {
        self.bin(LLVMOpcode::LLVMShl, a, b)
    }
    /// Logical shift right.
    pub fn lshr(&self, a: Value, b: Value) -> Value {
        self.bin(LLVMOpcode::LLVMLShr, a, b)
    }
    /// Floating-point negation.
    pub fn fneg(&self, a: Value) -> Value {
        Value(unsafe { LLVMBuildFNeg(self.0, a.0, NONE) })
    }
    /// Integer comparison.
    pub fn icmp(&self, p: LLVMIntPredicate, a: Value, b: Value) -> Value {
        Value(unsafe { LLVMBuildICmp(self.0, p, a.0, b.0, NONE) })
    }
    /// Floating-point comparison.
    pub fn fcmp(&self, p: LLVMRealPredicate, a: Value, b: Value) -> Value {
        Value(unsafe { LLVMBuildFCmp(self.0, p, a.0, b.0, NONE) })
    }
    /// Selection.
    pub fn select(&self, c: Value, a: Value, b: Value) -> Value {
        Value(unsafe { LLVMBuildSelect(self.0, c.0, a.0, b.0, NONE) })
    }
    /// Load.
    pub fn load(&self, ty: Type, p: Value) -> Value {
        Value(unsafe { LLVMBuildLoad2(self.0, ty.0, p.0, NONE) })
    }
    /// Store.
    pub fn store(&self, v: Value, p: Value) -> Value {
        Value(unsafe { LLVMBuildStore(self.0, v.0, p.0) })
    }
    /// Stack slot.
    pub fn alloca(&self, ty: Type) -> Value {
        Value(unsafe { LLVMBuildAlloca(self.0, ty.0, NONE) })
    }
    /// Address `p + bytes`.
    pub fn offset(&self, p: Value, bytes: Value) -> Value {
        let mut i = [bytes.0];
        Value(unsafe { LLVMBuildGEP2(self.0, self.int_ty(8).0, p.0, i.as_mut_ptr(), 1, NONE) })
    }
    /// Address of element `i` of an array of `ty` at `p`.
    pub fn index(&self, ty: Type, p: Value, i: Value) -> Value {
        let mut i = [i.0];
        Value(unsafe { LLVMBuildInBoundsGEP2(self.0, ty.0, p.0, i.as_mut_ptr(), 1, NONE) })
    }
    /// Address by indices over a type, as LLVM's `getelementptr` has it.
    pub fn gep(&self, ty: Type, p: Value, indices: &[Value], inbounds: bool) -> Value {
        let mut i: Vec<_> = indices.iter().map(|v| v.0).collect();
        let n = i.len() as u32;
        Value(unsafe {
            match inbounds {
                true => LLVMBuildInBoundsGEP2(self.0, ty.0, p.0, i.as_mut_ptr(), n, NONE),
                false => LLVMBuildGEP2(self.0, ty.0, p.0, i.as_mut_ptr(), n, NONE),
            }
        })
    }
    /// Copies `bytes` from `src` to `dst`.
    pub fn memcpy(&self, dst: Value, src: Value, bytes: u64, align: u32) {
        unsafe { LLVMBuildMemCpy(self.0, dst.0, align, src.0, align, self.i64(bytes).0) };
    }
    /// A copy of an instruction, with its operands, flags and metadata.
    pub fn insert_copy(&self, i: Value) -> Value {
        unsafe {
            let copy = LLVMInstructionClone(i.0);
            LLVMInsertIntoBuilder(self.0, copy);
            Value(copy)
        }
    }
    /// Address as an integer of 64 bits.
    pub fn address(&self, p: Value) -> Value {
        self.cast(LLVMOpcode::LLVMPtrToInt, p, self.int_ty(64))
    }
    /// Call of a function value with a given type.
    pub fn call_ty(&self, ty: Type, f: Value, args: &[Value]) -> Value {
        let mut a: Vec<_> = args.iter().map(|v| v.0).collect();
        Value(unsafe { LLVMBuildCall2(self.0, ty.0, f.0, a.as_mut_ptr(), a.len() as u32, NONE) })
    }
    /// Call of a function of the module.
    pub fn call(&self, f: Value, args: &[Value]) -> Value {
        self.call_ty(f.global_type(), f, args)
    }
    /// Inline assembly without side effects.
    pub fn asm(&self, text: &str, constraints: &str, result: Type, args: &[Value]) -> Value {
        let types: Vec<Type> = args.iter().map(|a| a.ty()).collect();
        let ty = result.function(&types);
        // SAFETY: both strings are given with their lengths, which LLVM copies.
        let f = Value(unsafe {
            LLVMGetInlineAsm(
                ty.0,
                text.as_ptr().cast(),
                text.len(),
                constraints.as_ptr().cast(),
                constraints.len(),
                0,
                0,
                llvm_sys::LLVMInlineAsmDialect::LLVMInlineAsmDialectATT,
                0,
            )
        });
        self.call_ty(ty, f, args)
    }
    /// Inline assembly of which nothing is known but that it has effects.
    pub fn asm_effect(&self, text: &str) -> Value {
        let void = Type(unsafe { LLVMVoidTypeInContext(self.ctx()) });
        let ty = void.function(&[]);
        let f = Value(unsafe {
            LLVMGetInlineAsm(
                ty.0,
                text.as_ptr().cast(),
                text.len(),
                NONE,
                0,
                1,
                0,
                llvm_sys::LLVMInlineAsmDialect::LLVMInlineAsmDialectATT,
                0,
            )
        });
        self.call_ty(ty, f, &[])
    }
    /// Call of an LLVM intrinsic, overloaded on `types`.
    pub fn intrinsic(&self, name: &str, types: &[Type], args: &[Value]) -> Value {
        unsafe {
            let id = LLVMLookupIntrinsicID(name.as_ptr().cast(), name.len());
            assert!(id != 0, "{name} should be an intrinsic of LLVM 22");
            let m = LLVMGetGlobalParent(self.block().function().0);
            let mut t: Vec<_> = types.iter().map(|t| t.0).collect();
            let f = LLVMGetIntrinsicDeclaration(m, id, t.as_mut_ptr(), t.len());
            self.call(Value(f), args)
        }
    }
    /// Inline assembly without side effects, with its constraints as LLVM writes them.
    pub fn inline_asm(&self, text: &str, constraints: &str, ret: Type, args: &[Value]) -> Value {
        let params: Vec<Type> = args.iter().map(|a| a.ty()).collect();
        let ty = ret.function(&params);
        let asm = Value(unsafe {
            LLVMGetInlineAsm(
                ty.0,
                text.as_ptr().cast(),
                text.len(),
                constraints.as_ptr().cast(),
                constraints.len(),
                0,
                0,
                LLVMInlineAsmDialect::LLVMInlineAsmDialectATT,
                0,
            )
        });
        self.call_ty(ty, asm, args)
    }
    /// Field `i` of an aggregate value.
    pub fn extract(&self, v: Value, i: u32) -> Value {
        Value(unsafe { LLVMBuildExtractValue(self.0, v.0, i, NONE) })
    }
    /// Aggregate with field `i` replaced.
    pub fn insert(&self, agg: Value, v: Value, i: u32) -> Value {
        Value(unsafe { LLVMBuildInsertValue(self.0, agg.0, v.0, i, NONE) })
    }
    /// Lane `i` of a vector.
    pub fn lane(&self, v: Value, i: u32) -> Value {
        Value(unsafe { LLVMBuildExtractElement(self.0, v.0, self.i32(i).0, NONE) })
    }
    /// Vector with lane `i` replaced.
    pub fn set_lane(&self, v: Value, x: Value, i: u32) -> Value {
        Value(unsafe { LLVMBuildInsertElement(self.0, v.0, x.0, self.i32(i).0, NONE) })
    }
    /// Lane of a vector, by a value.
    pub fn lane_at(&self, v: Value, i: Value) -> Value {
        Value(unsafe { LLVMBuildExtractElement(self.0, v.0, i.0, NONE) })
    }
    /// Vector with the lane that a value names replaced.
    pub fn set_lane_at(&self, v: Value, x: Value, i: Value) -> Value {
        Value(unsafe { LLVMBuildInsertElement(self.0, v.0, x.0, i.0, NONE) })
    }
    /// Lanes of two vectors, as [`Value::shuffle_mask`] gives them.
    pub fn shuffle(&self, v: Value, w: Value, mask: &[Option<u32>]) -> Value {
        let i32t = self.int_ty(32);
        let mut lanes: Vec<_> = mask
            .iter()
            .map(|l| l.map_or_else(|| i32t.poison().0, |l| self.i32(l).0))
            .collect();
        Value(unsafe {
            let mask = LLVMConstVector(lanes.as_mut_ptr(), lanes.len() as u32);
            LLVMBuildShuffleVector(self.0, v.0, w.0, mask, NONE)
        })
    }
    /// The value, or an arbitrary one where it is poison.
    pub fn freeze(&self, v: Value) -> Value {
        Value(unsafe { LLVMBuildFreeze(self.0, v.0, NONE) })
    }
    /// Phi node.
    pub fn phi(&self, ty: Type) -> Value {
        Value(unsafe { LLVMBuildPhi(self.0, ty.0, NONE) })
    }
    /// Jump.
    pub fn br(&self, b: Block) -> Value {
        Value(unsafe { LLVMBuildBr(self.0, b.0) })
    }
    /// Conditional jump.
    pub fn cond_br(&self, c: Value, yes: Block, no: Block) -> Value {
        Value(unsafe { LLVMBuildCondBr(self.0, c.0, yes.0, no.0) })
    }
    /// Return.
    pub fn ret(&self, v: Option<Value>) -> Value {
        Value(unsafe {
            match v {
                Some(v) => LLVMBuildRet(self.0, v.0),
                None => LLVMBuildRetVoid(self.0),
            }
        })
    }
    /// `unreachable`.
    pub fn unreachable(&self) -> Value {
        Value(unsafe { LLVMBuildUnreachable(self.0) })
    }
    /// Atomic read-modify-write, sequentially consistent, system scope.
    pub fn atomic_rmw(&self, op: LLVMAtomicRMWBinOp, p: Value, v: Value) -> Value {
        let o = LLVMAtomicOrdering::LLVMAtomicOrderingSequentiallyConsistent;
        Value(unsafe { LLVMBuildAtomicRMW(self.0, op, p.0, v.0, o, 0) })
    }
    /// As [`Builder::atomic_rmw`], but unordered with accesses of other addresses: on a GPU every stronger order is a
    /// fence for each operation.
    pub fn atomic_rmw_relaxed(&self, op: LLVMAtomicRMWBinOp, p: Value, v: Value) -> Value {
        let o = LLVMAtomicOrdering::LLVMAtomicOrderingMonotonic;
        Value(unsafe { LLVMBuildAtomicRMW(self.0, op, p.0, v.0, o, 0) })
    }
    /// Compare and exchange; gives `{ old, success }`.
    pub fn cmpxchg(&self, p: Value, expected: Value, new: Value) -> Value {
        let o = LLVMAtomicOrdering::LLVMAtomicOrderingSequentiallyConsistent;
        Value(unsafe { LLVMBuildAtomicCmpXchg(self.0, p.0, expected.0, new.0, o, o, 0) })
    }
    /// Sequentially consistent fence.
    pub fn fence(&self) -> Value {
        let o = LLVMAtomicOrdering::LLVMAtomicOrderingSequentiallyConsistent;
        Value(unsafe { LLVMBuildFence(self.0, o, 0, NONE) })
    }
    /// The address of a constant that is defined elsewhere, by its name.
    pub fn external(&self, name: &str) -> Value {
        let c = cstring(name);
        Value(unsafe {
            let m = LLVMGetGlobalParent(self.block().function().0);
            let old = LLVMGetNamedGlobal(m, c.as_ptr());
            if !old.is_null() {
                return Value(old);
            }
            let g = LLVMAddGlobal(m, self.int_ty(8).0, c.as_ptr());
            LLVMSetGlobalConstant(g, 1);
            g
        })
    }
    /// A private constant string; gives its address.
    pub fn string(&self, s: &str) -> Value {
        let c = cstring(s);
        Value(unsafe { LLVMBuildGlobalString(self.0, c.as_ptr(), NONE) })
    }
}
