//! Values that are instructions: what each kind has beside its operands.
use crate::block::Block;
use crate::types::Type;
use crate::value::Value;
use llvm_sys::core::*;
use llvm_sys::debuginfo::{
    LLVMDIBuilderCreateDebugLocation, LLVMDILocationGetLine, LLVMDILocationGetScope,
    LLVMInstructionGetDebugLoc, LLVMInstructionSetDebugLoc,
};
use llvm_sys::prelude::LLVMValueRef;
use llvm_sys::*;

// SAFETY (all unsafe blocks of this file): the handles are valid by the contract stated in the
// parent module; each call passes values of the kind that the C function documents, which the
// method's own check or documentation ensures.

impl Value {
    /// Opcode, if it is an instruction.
    pub fn opcode(self) -> Option<LLVMOpcode> {
        self.is_instruction()
            .then(|| unsafe { LLVMGetInstructionOpcode(self.0) })
    }
    /// Erases an instruction from its block.
    pub fn erase(self) {
        unsafe { LLVMInstructionEraseFromParent(self.0) }
    }
    /// Moves an instruction to before another one.
    pub fn move_before(self, at: Value) {
        unsafe {
            let b = LLVMCreateBuilderInContext(LLVMGetTypeContext(self.ty().0));
            LLVMInstructionRemoveFromParent(self.0);
            LLVMPositionBuilderBefore(b, at.0);
            LLVMInsertIntoBuilder(b, self.0);
            LLVMDisposeBuilder(b);
        }
    }
    /// Replaces an instruction by a value and erases it.
    pub fn become_value(self, v: Value) {
        self.replace_with(v);
        self.erase();
    }
    /// Block of an instruction.
    pub fn block(self) -> Block {
        Block(unsafe { LLVMGetInstructionParent(self.0) })
    }
    /// The instruction after it.
    pub fn next(self) -> Option<Value> {
        let v = unsafe { LLVMGetNextInstruction(self.0) };
        (!v.is_null()).then_some(Value(v))
    }
    /// Callee of a call instruction (a function, inline assembly or a pointer).
    pub fn callee(self) -> Value {
        Value(unsafe { LLVMGetCalledValue(self.0) })
    }
    /// Name of the directly called function, if any.
    pub fn callee_name(self) -> Option<String> {
        if self.opcode() != Some(LLVMOpcode::LLVMCall) {
            return None;
        }
        let c = self.callee();
        c.is_function().then(|| c.name())
    }
    /// Type of the called function.
    pub fn called_type(self) -> Type {
        Type(unsafe { LLVMGetCalledFunctionType(self.0) })
    }
    /// Arguments of a call.
    pub fn args(self) -> Vec<Value> {
        let n = unsafe { LLVMGetNumArgOperands(self.0) };
        (0..n).map(|i| self.operand(i)).collect()
    }
    /// Sets the calling convention of a call.
    pub fn set_instr_call_conv(self, cc: u32) {
        unsafe { LLVMSetInstructionCallConv(self.0, cc) }
    }
    /// Inline assembly: template and constraints.
    pub fn asm_text(self) -> (String, String) {
        let (mut n, mut m) = (0, 0);
        unsafe {
            let p = LLVMGetInlineAsmAsmString(self.0, &mut n);
            let q = LLVMGetInlineAsmConstraintString(self.0, &mut m);
            (
                String::from_utf8_lossy(std::slice::from_raw_parts(p.cast::<u8>(), n)).into_owned(),
                String::from_utf8_lossy(std::slice::from_raw_parts(q.cast::<u8>(), m)).into_owned(),
            )
        }
    }
    /// Allocated type of an `alloca`.
    pub fn allocated_type(self) -> Type {
        Type(unsafe { LLVMGetAllocatedType(self.0) })
    }
    /// Predicate of an `fcmp`.
    pub fn real_pred(self) -> LLVMRealPredicate {
        unsafe { LLVMGetFCmpPredicate(self.0) }
    }
    /// Predicate of an `icmp`.
    pub fn int_pred(self) -> LLVMIntPredicate {
        unsafe { LLVMGetICmpPredicate(self.0) }
    }
    /// Operation of an `atomicrmw`.
    pub fn rmw_op(self) -> LLVMAtomicRMWBinOp {
        unsafe { LLVMGetAtomicRMWBinOp(self.0) }
    }
    /// May the operation fuse with its neighbours (`contract`)?
    pub fn may_contract(self) -> bool {
        const CONTRACT: u32 = 1 << 5;
        unsafe {
            LLVMCanValueUseFastMathFlags(self.0) != 0
                && LLVMGetFastMathFlags(self.0) & CONTRACT != 0
        }
    }
    /// Lets an operation fuse with its neighbours (`contract`).
    pub fn let_contract(self) {
        const CONTRACT: u32 = 1 << 5;
        unsafe {
            if LLVMCanValueUseFastMathFlags(self.0) != 0 {
                LLVMSetFastMathFlags(self.0, CONTRACT);
            }
        }
    }
    /// Is a load or store volatile?
    pub fn is_volatile(self) -> bool {
        unsafe { LLVMGetVolatile(self.0) != 0 }
    }
    /// Makes a load or store volatile, or not.
    pub fn set_volatile(self, yes: bool) {
        unsafe { LLVMSetVolatile(self.0, i32::from(yes)) }
    }
    /// Does an integer operation say that it does not overflow as a signed one (`nsw`)?
    pub fn no_signed_wrap(self) -> bool {
        unsafe { LLVMGetNSW(self.0) != 0 }
    }
    /// Does an integer operation say that it does not overflow as an unsigned one (`nuw`)?
    pub fn no_unsigned_wrap(self) -> bool {
        unsafe { LLVMGetNUW(self.0) != 0 }
    }
    /// Says of an integer operation that it does not overflow, as a signed and as an unsigned one.
    pub fn set_wraps(self, no_signed: bool, no_unsigned: bool) {
        // A constant that the builder folded has no flags.
        if self.is_instruction() {
            unsafe {
                LLVMSetNSW(self.0, i32::from(no_signed));
                LLVMSetNUW(self.0, i32::from(no_unsigned));
            }
        }
    }
    /// Does an `or` say that its operands have no bit in common?
    pub fn is_disjoint(self) -> bool {
        self.opcode() == Some(LLVMOpcode::LLVMOr) && unsafe { LLVMGetIsDisjoint(self.0) != 0 }
    }
    /// Does a `zext` say that its operand is not negative?
    pub fn is_non_negative(self) -> bool {
        self.opcode() == Some(LLVMOpcode::LLVMZExt) && unsafe { LLVMGetNNeg(self.0) != 0 }
    }
    /// Is an atomic access, or a fence, one among the threads of a block only?
    pub fn is_block_scoped(self) -> bool {
        const BLOCK: &str = "block";
        unsafe {
            let context = LLVMGetTypeContext(LLVMTypeOf(self.0));
            let id = LLVMGetSyncScopeID(context, BLOCK.as_ptr().cast(), BLOCK.len());
            LLVMGetAtomicSyncScopeID(self.0) == id
        }
    }
    /// Ordering of an atomic load or store; NotAtomic otherwise.
    pub fn ordering(self) -> LLVMAtomicOrdering {
        unsafe { LLVMGetOrdering(self.0) }
    }
    /// Alignment of a load, store, alloca or global.
    pub fn align(self) -> u32 {
        unsafe { LLVMGetAlignment(self.0) }
    }
    /// Sets it.
    pub fn set_align(self, a: u32) {
        unsafe { LLVMSetAlignment(self.0, a) }
    }
    /// Incoming (value, block) pairs of a phi.
    pub fn incoming(self) -> Vec<(Value, Block)> {
        let n = unsafe { LLVMCountIncoming(self.0) };
        (0..n)
            .map(|i| unsafe {
                (
                    Value(LLVMGetIncomingValue(self.0, i)),
                    Block(LLVMGetIncomingBlock(self.0, i)),
                )
            })
            .collect()
    }
    /// Adds incoming pairs to a phi.
    pub fn add_incoming(self, pairs: &[(Value, Block)]) {
        let mut v: Vec<_> = pairs.iter().map(|p| p.0.0).collect();
        let mut b: Vec<_> = pairs.iter().map(|p| p.1.0).collect();
        unsafe { LLVMAddIncoming(self.0, v.as_mut_ptr(), b.as_mut_ptr(), v.len() as u32) }
    }
    /// Successor blocks of a terminator.
    pub fn successors(self) -> Vec<Block> {
        let n = unsafe { LLVMGetNumSuccessors(self.0) };
        (0..n)
            .map(|i| Block(unsafe { LLVMGetSuccessor(self.0, i) }))
            .collect()
    }
    /// Makes a terminator's successor `i` another block.
    pub fn set_successor(self, i: u32, b: Block) {
        unsafe { LLVMSetSuccessor(self.0, i, b.0) }
    }
    /// Indices of an extractvalue or insertvalue.
    pub fn indices(self) -> Vec<u32> {
        let n = unsafe { LLVMGetNumIndices(self.0) } as usize;
        if n == 0 {
            return Vec::new();
        }
        unsafe { std::slice::from_raw_parts(LLVMGetIndices(self.0), n) }.to_vec()
    }
    /// Lanes that a shufflevector takes, of both operands one after the other; none for poison.
    pub fn shuffle_mask(self) -> Vec<Option<u32>> {
        let n = unsafe { LLVMGetNumMaskElements(self.0) };
        (0..n)
            .map(|i| u32::try_from(unsafe { LLVMGetMaskValue(self.0, i) }).ok())
            .collect()
    }
    /// Source element type of a GEP.
    pub fn gep_type(self) -> Type {
        Type(unsafe { LLVMGetGEPSourceElementType(self.0) })
    }
    /// Does a GEP stay inside its object?
    pub fn is_inbounds(self) -> bool {
        unsafe { LLVMIsInBounds(self.0) != 0 }
    }
    /// Copies the debug location of another instruction.
    pub fn copy_debug_loc(self, from: Value) {
        unsafe { LLVMInstructionSetDebugLoc(self.0, LLVMInstructionGetDebugLoc(from.0)) }
    }
    /// Line of an instruction's debug location, where it has one.
    pub fn debug_line(self) -> Option<u32> {
        unsafe {
            let at = LLVMInstructionGetDebugLoc(self.0);
            (!at.is_null()).then(|| LLVMDILocationGetLine(at))
        }
    }
    /// Adds to the line of an instruction's debug location, where it has one.
    pub fn add_to_debug_line(self, by: u32) {
        unsafe {
            let old = LLVMInstructionGetDebugLoc(self.0);
            if old.is_null() {
                return;
            }
            let (line, scope) = (LLVMDILocationGetLine(old), LLVMDILocationGetScope(old));
            let context = LLVMGetTypeContext(self.ty().0);
            let none = std::ptr::null_mut();
            let new = LLVMDIBuilderCreateDebugLocation(context, line + by, 0, scope, none);
            LLVMInstructionSetDebugLoc(self.0, new);
        }
    }
    /// Attaches an empty metadata node of the named kind (e.g. `invariant.load`).
    pub fn mark(self, kind: &str) {
        unsafe {
            let c = LLVMGetTypeContext(self.ty().0);
            let k = LLVMGetMDKindIDInContext(c, kind.as_ptr().cast(), kind.len() as u32);
            let md = LLVMMDNodeInContext2(c, std::ptr::null_mut(), 0);
            LLVMSetMetadata(self.0, k, LLVMMetadataAsValue(c, md));
        }
    }
    /// Texts in the nodes of the loop metadata of a branch: `llvm.loop.unroll.disable`, ...
    pub fn loop_marks(self) -> Vec<String> {
        unsafe {
            let c = LLVMGetTypeContext(self.ty().0);
            let kind = "llvm.loop";
            let k = LLVMGetMDKindIDInContext(c, kind.as_ptr().cast(), kind.len() as u32);
            let node = LLVMGetMetadata(self.0, k);
            if node.is_null() {
                return Vec::new();
            }
            let parts = |v: LLVMValueRef| -> Vec<LLVMValueRef> {
                let mut all = vec![std::ptr::null_mut(); LLVMGetMDNodeNumOperands(v) as usize];
                LLVMGetMDNodeOperands(v, all.as_mut_ptr());
                all
            };
            // The first part is the node itself, which makes it distinct.
            parts(node)
                .into_iter()
                .skip(1)
                .filter(|v| !v.is_null() && !LLVMIsAMDNode(*v).is_null())
                .filter_map(|v| parts(v).first().copied())
                .filter(|v| !v.is_null() && !LLVMIsAMDString(*v).is_null())
                .map(|v| {
                    let mut n = 0;
                    let p = LLVMGetMDString(v, &mut n);
                    let text = std::slice::from_raw_parts(p.cast::<u8>(), n as usize);
                    String::from_utf8_lossy(text).into_owned()
                })
                .collect()
        }
    }
    /// Does the instruction carry metadata of the named kind?
    pub fn is_marked(self, kind: &str) -> bool {
        unsafe {
            let c = LLVMGetTypeContext(self.ty().0);
            let k = LLVMGetMDKindIDInContext(c, kind.as_ptr().cast(), kind.len() as u32);
            !LLVMGetMetadata(self.0, k).is_null()
        }
    }
}
