//! Types, values and basic blocks.
use super::shim;
use llvm_sys::core::*;
use llvm_sys::debuginfo::{LLVMInstructionGetDebugLoc, LLVMInstructionSetDebugLoc};
use llvm_sys::prelude::*;
use llvm_sys::*;
use std::ffi::CStr;

/// A type.
#[derive(Copy, Clone, PartialEq, Eq, Hash)]
pub struct Type(pub LLVMTypeRef);

/// A value: constant, global, function, argument or instruction.
#[derive(Copy, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(pub LLVMValueRef);

/// A basic block.
#[derive(Copy, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Block(pub LLVMBasicBlockRef);

// SAFETY (all unsafe blocks of this file): the handles are valid by the contract stated in the
// parent module; each call passes values of the kind that the C function documents, which the
// method's own check or documentation ensures.

fn message(p: *mut std::ffi::c_char) -> String {
    // SAFETY: LLVM returned an owned, NUL-terminated message.
    unsafe {
        let s = CStr::from_ptr(p).to_string_lossy().into_owned();
        LLVMDisposeMessage(p);
        s
    }
}

impl std::fmt::Debug for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.print())
    }
}

impl std::fmt::Debug for Type {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.print())
    }
}

impl Type {
    /// What kind of type it is.
    pub fn kind(self) -> LLVMTypeKind {
        unsafe { LLVMGetTypeKind(self.0) }
    }
    /// As text.
    pub fn print(self) -> String {
        message(unsafe { LLVMPrintTypeToString(self.0) })
    }
    /// Bits of an integer type.
    pub fn int_bits(self) -> u32 {
        unsafe { LLVMGetIntTypeWidth(self.0) }
    }
    /// Is it an integer type?
    pub fn is_int(self) -> bool {
        self.kind() == LLVMTypeKind::LLVMIntegerTypeKind
    }
    /// Is it a pointer?
    pub fn is_ptr(self) -> bool {
        self.kind() == LLVMTypeKind::LLVMPointerTypeKind
    }
    /// Is it `void`?
    pub fn is_void(self) -> bool {
        self.kind() == LLVMTypeKind::LLVMVoidTypeKind
    }
    /// Is it a fixed vector?
    pub fn is_vector(self) -> bool {
        self.kind() == LLVMTypeKind::LLVMVectorTypeKind
    }
    /// Is it a scalar floating-point type that Kerf knows?
    pub fn is_float(self) -> bool {
        self.format().is_some()
    }
    /// Format of a scalar floating-point type.
    pub fn format(self) -> Option<kerf_num::Format> {
        use kerf_num::Format::*;
        match self.kind() {
            LLVMTypeKind::LLVMDoubleTypeKind => Some(F64),
            LLVMTypeKind::LLVMFloatTypeKind => Some(F32),
            LLVMTypeKind::LLVMHalfTypeKind => Some(F16),
            LLVMTypeKind::LLVMBFloatTypeKind => Some(Bf16),
            _ => None,
        }
    }
    /// Element type of a vector or array; the type itself otherwise.
    pub fn element(self) -> Type {
        match self.kind() {
            LLVMTypeKind::LLVMVectorTypeKind | LLVMTypeKind::LLVMArrayTypeKind => {
                Type(unsafe { LLVMGetElementType(self.0) })
            }
            _ => self,
        }
    }
    /// Number of lanes of a vector, 1 for a scalar.
    pub fn lanes(self) -> u32 {
        if self.is_vector() {
            unsafe { LLVMGetVectorSize(self.0) }
        } else {
            1
        }
    }
    /// Number of elements of an array type.
    pub fn array_len(self) -> u64 {
        unsafe { LLVMGetArrayLength2(self.0) }
    }
    /// Fields of a struct type.
    pub fn fields(self) -> Vec<Type> {
        let n = unsafe { LLVMCountStructElementTypes(self.0) };
        (0..n)
            .map(|i| Type(unsafe { LLVMStructGetTypeAtIndex(self.0, i) }))
            .collect()
    }
    /// Address space of a pointer.
    pub fn space(self) -> u32 {
        unsafe { LLVMGetPointerAddressSpace(self.0) }
    }
    /// A constant zero (or null) of this type.
    pub fn zero(self) -> Value {
        Value(unsafe { LLVMConstNull(self.0) })
    }
    /// `poison` of this type.
    pub fn poison(self) -> Value {
        Value(unsafe { LLVMGetPoison(self.0) })
    }
    /// An integer constant of this integer type.
    pub fn int(self, v: u64) -> Value {
        Value(unsafe { LLVMConstInt(self.0, v, 0) })
    }
    /// A floating-point constant of this type (rounded to it).
    pub fn real(self, v: f64) -> Value {
        Value(unsafe { LLVMConstReal(self.0, v) })
    }
    /// The array type of `n` of these.
    pub fn array(self, n: u64) -> Type {
        Type(unsafe { LLVMArrayType2(self.0, n) })
    }
    /// The vector type of `n` of these.
    pub fn vector(self, n: u32) -> Type {
        Type(unsafe { LLVMVectorType(self.0, n) })
    }
    /// The function type with this return type.
    pub fn function(self, params: &[Type]) -> Type {
        let mut p: Vec<_> = params.iter().map(|t| t.0).collect();
        Type(unsafe { LLVMFunctionType(self.0, p.as_mut_ptr(), p.len() as u32, 0) })
    }
    /// Parameter types of a function type.
    pub fn params(self) -> Vec<Type> {
        let n = unsafe { LLVMCountParamTypes(self.0) } as usize;
        let mut v = vec![std::ptr::null_mut(); n];
        unsafe { LLVMGetParamTypes(self.0, v.as_mut_ptr()) };
        v.into_iter().map(Type).collect()
    }
    /// Return type of a function type.
    pub fn ret(self) -> Type {
        Type(unsafe { LLVMGetReturnType(self.0) })
    }
    /// Name of a named struct.
    pub fn struct_name(self) -> Option<String> {
        let p = unsafe { LLVMGetStructName(self.0) };
        (!p.is_null()).then(|| unsafe { CStr::from_ptr(p) }.to_string_lossy().into_owned())
    }
}

impl Value {
    /// As text.
    pub fn print(self) -> String {
        message(unsafe { LLVMPrintValueToString(self.0) })
    }
    /// Its type.
    pub fn ty(self) -> Type {
        Type(unsafe { LLVMTypeOf(self.0) })
    }
    /// Its name; empty if it has none.
    pub fn name(self) -> String {
        let mut n = 0;
        unsafe {
            let p = LLVMGetValueName2(self.0, &mut n);
            String::from_utf8_lossy(std::slice::from_raw_parts(p.cast::<u8>(), n)).into_owned()
        }
    }
    /// Renames it.
    pub fn set_name(self, name: &str) {
        unsafe { LLVMSetValueName2(self.0, name.as_ptr().cast(), name.len()) }
    }
    /// Opcode, if it is an instruction.
    pub fn opcode(self) -> Option<LLVMOpcode> {
        self.is_instruction()
            .then(|| unsafe { LLVMGetInstructionOpcode(self.0) })
    }
    /// Opcode of a constant expression.
    pub fn const_opcode(self) -> Option<LLVMOpcode> {
        (!unsafe { LLVMIsAConstantExpr(self.0) }.is_null())
            .then(|| unsafe { LLVMGetConstOpcode(self.0) })
    }
    /// Is it an instruction?
    pub fn is_instruction(self) -> bool {
        !unsafe { LLVMIsAInstruction(self.0) }.is_null()
    }
    /// Is it a constant?
    pub fn is_constant(self) -> bool {
        unsafe { LLVMIsConstant(self.0) != 0 }
    }
    /// Is it a function?
    pub fn is_function(self) -> bool {
        !unsafe { LLVMIsAFunction(self.0) }.is_null()
    }
    /// Is it a global variable?
    pub fn is_global_var(self) -> bool {
        !unsafe { LLVMIsAGlobalVariable(self.0) }.is_null()
    }
    /// Is it an argument?
    pub fn is_argument(self) -> bool {
        !unsafe { LLVMIsAArgument(self.0) }.is_null()
    }
    /// Is it `undef` or `poison`?
    pub fn is_undef(self) -> bool {
        unsafe { LLVMIsUndef(self.0) != 0 }
    }
    /// The function that an argument belongs to.
    pub fn argument_function(self) -> Value {
        Value(unsafe { LLVMGetParamParent(self.0) })
    }
    /// Is it inline assembly?
    pub fn is_inline_asm(self) -> bool {
        !unsafe { LLVMIsAInlineAsm(self.0) }.is_null()
    }
    /// Value of an integer constant of at most 64 bits.
    pub fn const_int(self) -> Option<u64> {
        (!unsafe { LLVMIsAConstantInt(self.0) }.is_null() && self.ty().int_bits() <= 64)
            .then(|| unsafe { LLVMConstIntGetZExtValue(self.0) })
    }
    /// Value of a floating-point constant, rounded to f64.
    pub fn const_real(self) -> Option<f64> {
        if unsafe { LLVMIsAConstantFP(self.0) }.is_null() {
            return None;
        }
        let mut loses = 0;
        Some(unsafe { LLVMConstRealGetDouble(self.0, &mut loses) })
    }
    /// Operands.
    pub fn operands(self) -> Vec<Value> {
        let n = unsafe { LLVMGetNumOperands(self.0) };
        (0..n.max(0) as u32).map(|i| self.operand(i)).collect()
    }
    /// Operand `i`.
    pub fn operand(self, i: u32) -> Value {
        Value(unsafe { LLVMGetOperand(self.0, i) })
    }
    /// Replaces operand `i`.
    pub fn set_operand(self, i: u32, v: Value) {
        unsafe { LLVMSetOperand(self.0, i, v.0) }
    }
    /// Everything that uses it.
    pub fn users(self) -> Vec<Value> {
        let mut out = Vec::new();
        unsafe {
            let mut u = LLVMGetFirstUse(self.0);
            while !u.is_null() {
                out.push(Value(LLVMGetUser(u)));
                u = LLVMGetNextUse(u);
            }
        }
        out
    }
    /// Replaces all uses of it.
    pub fn replace_with(self, v: Value) {
        unsafe { LLVMReplaceAllUsesWith(self.0, v.0) }
    }
    /// Erases an instruction from its block.
    pub fn erase(self) {
        unsafe { LLVMInstructionEraseFromParent(self.0) }
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
    /// Is a load or store volatile?
    pub fn is_volatile(self) -> bool {
        unsafe { LLVMGetVolatile(self.0) != 0 }
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
    /// Copies the debug location of another instruction.
    pub fn copy_debug_loc(self, from: Value) {
        unsafe { LLVMInstructionSetDebugLoc(self.0, LLVMInstructionGetDebugLoc(from.0)) }
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

    // Functions.

    /// All functions of the module that a function belongs to.
    pub fn module_functions(self) -> Vec<Value> {
        let mut out = Vec::new();
        unsafe {
            let mut f = LLVMGetFirstFunction(LLVMGetGlobalParent(self.0));
            while !f.is_null() {
                out.push(Value(f));
                f = LLVMGetNextFunction(f);
            }
        }
        out
    }
    /// Is a function or global only declared?
    pub fn is_declaration(self) -> bool {
        unsafe { LLVMIsDeclaration(self.0) != 0 }
    }
    /// Type of a function or of a global variable's content.
    pub fn global_type(self) -> Type {
        Type(unsafe { LLVMGlobalGetValueType(self.0) })
    }
    /// Calling convention of a function.
    pub fn call_conv(self) -> u32 {
        unsafe { LLVMGetFunctionCallConv(self.0) }
    }
    /// Sets the calling convention of a function.
    pub fn set_call_conv(self, cc: u32) {
        unsafe { LLVMSetFunctionCallConv(self.0, cc) }
    }
    /// Sets the calling convention of a call.
    pub fn set_instr_call_conv(self, cc: u32) {
        unsafe { LLVMSetInstructionCallConv(self.0, cc) }
    }
    /// Parameters of a function.
    pub fn params(self) -> Vec<Value> {
        let n = unsafe { LLVMCountParams(self.0) };
        (0..n)
            .map(|i| Value(unsafe { LLVMGetParam(self.0, i) }))
            .collect()
    }
    /// Basic blocks of a function.
    pub fn blocks(self) -> Vec<Block> {
        let mut out = Vec::new();
        unsafe {
            let mut b = LLVMGetFirstBasicBlock(self.0);
            while !b.is_null() {
                out.push(Block(b));
                b = LLVMGetNextBasicBlock(b);
            }
        }
        out
    }
    /// All instructions of a function, in block order.
    pub fn instructions(self) -> Vec<Value> {
        self.blocks()
            .into_iter()
            .flat_map(Block::instructions)
            .collect()
    }
    /// Sets the linkage.
    pub fn set_linkage(self, l: LLVMLinkage) {
        unsafe { LLVMSetLinkage(self.0, l) }
    }
    /// Linkage of a global.
    pub fn linkage(self) -> LLVMLinkage {
        unsafe { LLVMGetLinkage(self.0) }
    }
    /// Adds a string attribute to a function.
    pub fn add_fn_attr(self, key: &str, value: &str) {
        unsafe {
            let c = LLVMGetTypeContext(self.ty().0);
            let a = LLVMCreateStringAttribute(
                c,
                key.as_ptr().cast(),
                key.len() as u32,
                value.as_ptr().cast(),
                value.len() as u32,
            );
            LLVMAddAttributeAtIndex(self.0, LLVMAttributeFunctionIndex, a);
        }
    }
    /// Value of a string attribute of a function.
    pub fn fn_attr(self, key: &str) -> Option<String> {
        unsafe {
            let a = LLVMGetStringAttributeAtIndex(
                self.0,
                LLVMAttributeFunctionIndex,
                key.as_ptr().cast(),
                key.len() as u32,
            );
            if a.is_null() {
                return None;
            }
            let mut n = 0;
            let p = LLVMGetStringAttributeValue(a, &mut n);
            Some(
                String::from_utf8_lossy(std::slice::from_raw_parts(p.cast::<u8>(), n as usize))
                    .into_owned(),
            )
        }
    }
    fn attr_kind(name: &str) -> u32 {
        unsafe { LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len()) }
    }
    /// Adds an enum attribute to a function (`alwaysinline`, `noinline`, ...).
    pub fn add_enum_attr(self, name: &str) {
        unsafe {
            let c = LLVMGetTypeContext(self.ty().0);
            let a = LLVMCreateEnumAttribute(c, Self::attr_kind(name), 0);
            LLVMAddAttributeAtIndex(self.0, LLVMAttributeFunctionIndex, a);
        }
    }
    /// Removes an enum attribute from a function.
    pub fn remove_enum_attr(self, name: &str) {
        unsafe {
            LLVMRemoveEnumAttributeAtIndex(
                self.0,
                LLVMAttributeFunctionIndex,
                Self::attr_kind(name),
            )
        }
    }
    /// Has a function this enum attribute?
    pub fn has_enum_attr(self, name: &str) -> bool {
        unsafe {
            !LLVMGetEnumAttributeAtIndex(self.0, LLVMAttributeFunctionIndex, Self::attr_kind(name))
                .is_null()
        }
    }
    /// Removes a string attribute from a function.
    pub fn remove_fn_attr(self, key: &str) {
        unsafe {
            LLVMRemoveStringAttributeAtIndex(
                self.0,
                LLVMAttributeFunctionIndex,
                key.as_ptr().cast(),
                key.len() as u32,
            )
        }
    }
    /// Type of a `byval` parameter `i` (from 0) of a function.
    pub fn byval(self, i: u32) -> Option<Type> {
        unsafe {
            let a = LLVMGetEnumAttributeAtIndex(self.0, i + 1, Self::attr_kind("byval"));
            (!a.is_null()).then(|| Type(LLVMGetTypeAttributeValue(a)))
        }
    }
    /// Removes parameter attribute `name` from parameter `i`.
    pub fn remove_param_attr(self, i: u32, name: &str) {
        unsafe { LLVMRemoveEnumAttributeAtIndex(self.0, i + 1, Self::attr_kind(name)) }
    }
    /// Deletes a function that has no uses.
    pub fn delete_function(self) {
        unsafe { LLVMDeleteFunction(self.0) }
    }
    /// Deletes a global variable that has no uses.
    pub fn delete_global(self) {
        unsafe { LLVMDeleteGlobal(self.0) }
    }
    /// Initializer of a global variable.
    pub fn initializer(self) -> Option<Value> {
        let v = unsafe { LLVMGetInitializer(self.0) };
        (!v.is_null()).then_some(Value(v))
    }
    /// Sets the initializer.
    pub fn set_initializer(self, v: Value) {
        unsafe { LLVMSetInitializer(self.0, v.0) }
    }
    /// Is the global marked constant?
    pub fn is_constant_global(self) -> bool {
        unsafe { LLVMIsGlobalConstant(self.0) != 0 }
    }
    /// Marks a global variable as changeable or constant.
    pub fn set_constant_global(self, c: bool) {
        unsafe { LLVMSetGlobalConstant(self.0, i32::from(c)) }
    }
    /// Text of a constant string (an array of i8).
    pub fn const_string(self) -> Option<Vec<u8>> {
        unsafe {
            if LLVMIsAConstantDataSequential(self.0).is_null() || LLVMIsConstantString(self.0) == 0
            {
                return None;
            }
            let mut n = 0;
            let p = LLVMGetAsString(self.0, &mut n);
            Some(std::slice::from_raw_parts(p.cast::<u8>(), n).to_vec())
        }
    }

    // What the C API lacks.

    /// Loop depth of each block, in block order.
    pub fn loop_depths(self) -> Vec<u32> {
        let mut d = vec![0; self.blocks().len()];
        unsafe { shim::kerf_loop_depths(self.0, d.as_mut_ptr()) };
        d
    }
    /// Source variable that holds this value.
    pub fn variable_name(self) -> Option<String> {
        shim::take(unsafe { shim::kerf_variable_name(self.0) })
    }
    /// Parameters by debug info; see the shim for the layout.
    pub fn debug_params(self) -> Option<String> {
        shim::take(unsafe { shim::kerf_debug_params(self.0) })
    }
    /// Name, type and scalars of a global by debug info.
    pub fn debug_global(self) -> Option<String> {
        shim::take(unsafe { shim::kerf_debug_global(self.0) })
    }
    /// Source position; see the shim for the layout.
    pub fn location(self) -> Option<String> {
        shim::take(unsafe { shim::kerf_location(self.0) })
    }
    /// Innermost position on the inlining chain that lies in `file`.
    pub fn location_in(self, file: &str) -> Option<(u32, u32)> {
        let c = shim::cstring(file);
        let s = shim::take(unsafe { shim::kerf_location_in(self.0, c.as_ptr()) })?;
        let (l, c) = s.split_once('\t')?;
        Some((l.parse().ok()?, c.parse().ok()?))
    }
    /// A function with extra leading parameters that takes over this one's body and name.
    pub fn prepend_params(self, types: &[Type]) -> Value {
        let mut t: Vec<_> = types.iter().map(|t| t.0).collect();
        Value(unsafe { shim::kerf_prepend_params(self.0, t.as_mut_ptr(), t.len() as u32) })
    }
    /// This kernel with pointer parameter `i` taken as a 64-bit integer.
    pub fn param_to_int(self, i: u32) -> Value {
        Value(unsafe { shim::kerf_param_to_int(self.0, i) })
    }
    /// A call with extra leading arguments in place of this call.
    pub fn prepend_args(self, callee: Value, ty: Type, args: &[Value]) -> Value {
        let mut a: Vec<_> = args.iter().map(|v| v.0).collect();
        Value(unsafe {
            shim::kerf_prepend_args(self.0, callee.0, ty.0, a.as_mut_ptr(), a.len() as u32)
        })
    }
    /// Marks the loop of this latch branch as parallel in the accesses of `body`.
    pub fn mark_parallel(self, body: Value) {
        unsafe { shim::kerf_mark_parallel(self.0, body.0) }
    }
    /// Takes the parallel mark from loops of this function where the vectoriser could not trust it.
    pub fn check_parallel(self) {
        unsafe { shim::kerf_check_parallel(self.0) }
    }
    /// Splits the block so that this instruction begins a new one, which is returned.
    pub fn split_before(self) -> Block {
        Block(unsafe { shim::kerf_split_before(self.0) })
    }
    /// A new first block of this function that jumps to the old one.
    pub fn add_prologue(self) -> Block {
        Block(unsafe { shim::kerf_add_prologue(self.0) })
    }
    /// Keeps this instruction's value in an alloca of block `at`; gives the alloca, or none where
    /// the value had no use.
    pub fn demote(self, at: Block) -> Option<Value> {
        let a = unsafe { shim::kerf_demote(self.0, at.0) };
        (!a.is_null()).then_some(Value(a))
    }
    /// Moves this instruction to the end of a block, before its terminator.
    pub fn move_to(self, at: Block) {
        unsafe { shim::kerf_move_to(self.0, at.0) }
    }
    /// Deletes the blocks of this function that cannot be reached.
    pub fn remove_unreachable(self) {
        unsafe { shim::kerf_remove_unreachable(self.0) }
    }
    /// Makes a terminator's successor `i` another block.
    pub fn set_successor(self, i: u32, b: Block) {
        unsafe { LLVMSetSuccessor(self.0, i, b.0) }
    }
    /// Does the instruction carry metadata of the named kind?
    pub fn is_marked(self, kind: &str) -> bool {
        unsafe {
            let c = LLVMGetTypeContext(self.ty().0);
            let k = LLVMGetMDKindIDInContext(c, kind.as_ptr().cast(), kind.len() as u32);
            !LLVMGetMetadata(self.0, k).is_null()
        }
    }
    /// A copy of this function under another name.
    pub fn clone_function(self, name: &str) -> Value {
        let c = shim::cstring(name);
        Value(unsafe { shim::kerf_clone_function(self.0, c.as_ptr()) })
    }
    /// Turns constant expressions that use this global into instructions.
    pub fn expand_constant_users(self) {
        unsafe { shim::kerf_expand_constant_users(self.0) }
    }
    /// Marks a function and its calls as pure.
    pub fn mark_pure(self) {
        unsafe { shim::kerf_mark_pure(self.0) }
    }
    /// The object a pointer is derived from.
    pub fn underlying(self) -> Value {
        Value(unsafe { shim::kerf_underlying(self.0) })
    }
    /// Declares that an add or mul does not wrap, signed or unsigned.
    pub fn set_no_wrap(self) {
        unsafe { shim::kerf_set_no_wrap(self.0) }
    }
}

impl Block {
    /// Instructions, in order.
    pub fn instructions(self) -> Vec<Value> {
        let mut out = Vec::new();
        unsafe {
            let mut i = LLVMGetFirstInstruction(self.0);
            while !i.is_null() {
                out.push(Value(i));
                i = LLVMGetNextInstruction(i);
            }
        }
        out
    }
    /// First instruction.
    pub fn first(self) -> Option<Value> {
        let v = unsafe { LLVMGetFirstInstruction(self.0) };
        (!v.is_null()).then_some(Value(v))
    }
    /// First instruction that is not a phi.
    pub fn first_non_phi(self) -> Option<Value> {
        self.instructions()
            .into_iter()
            .find(|i| i.opcode() != Some(LLVMOpcode::LLVMPHI))
    }
    /// Terminator.
    pub fn terminator(self) -> Option<Value> {
        let v = unsafe { LLVMGetBasicBlockTerminator(self.0) };
        (!v.is_null()).then_some(Value(v))
    }
    /// The function it belongs to.
    pub fn function(self) -> Value {
        Value(unsafe { LLVMGetBasicBlockParent(self.0) })
    }
}
