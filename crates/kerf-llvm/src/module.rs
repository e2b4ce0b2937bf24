//! Modules and the context they live in.
use crate::shim::{self, cstring};
use crate::types::Type;
use crate::value::Value;
use crate::{CC_PTX_KERNEL, CC_SPIR_KERNEL, LlvmError};
use llvm_sys::analysis::*;
use llvm_sys::bit_writer::LLVMWriteBitcodeToMemoryBuffer;
use llvm_sys::core::*;
use llvm_sys::ir_reader::LLVMParseIRInContext2;
use llvm_sys::linker::LLVMLinkModules2;
use llvm_sys::prelude::*;
use std::cell::RefCell;
use std::ffi::{CStr, c_void};
use std::rc::Rc;

/// An LLVM context, shared by the modules made in it.
struct Context {
    raw: LLVMContextRef,
    /// What the diagnostic handler collected.
    messages: Box<RefCell<Vec<String>>>,
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: the last module of the context is gone: each holds an Rc.
        unsafe { LLVMContextDispose(self.raw) }
    }
}

extern "C" fn collect(info: LLVMDiagnosticInfoRef, to: *mut c_void) {
    // SAFETY: `to` is the RefCell registered in `Context::new`, alive as long as the context.
    unsafe {
        if LLVMGetDiagInfoSeverity(info) != llvm_sys::LLVMDiagnosticSeverity::LLVMDSError {
            return;
        }
        let text = LLVMGetDiagInfoDescription(info);
        let s = CStr::from_ptr(text).to_string_lossy().into_owned();
        LLVMDisposeMessage(text);
        (*to.cast::<RefCell<Vec<String>>>()).borrow_mut().push(s);
    }
}

impl Context {
    fn new() -> Rc<Context> {
        let messages = Box::new(RefCell::new(Vec::new()));
        // SAFETY: the handler's argument is boxed, so it does not move.
        unsafe {
            let raw = LLVMContextCreate();
            LLVMContextSetDiagnosticHandler(
                raw,
                Some(collect),
                std::ptr::from_ref(&*messages).cast_mut().cast(),
            );
            Rc::new(Context { raw, messages })
        }
    }
}

/// A module.
pub struct Module {
    ctx: Rc<Context>,
    raw: LLVMModuleRef,
}

impl Drop for Module {
    fn drop(&mut self) {
        if !self.raw.is_null() {
            // SAFETY: owned and not yet given away.
            unsafe { LLVMDisposeModule(self.raw) }
        }
    }
}

// SAFETY (unsafe blocks of this impl): `self.raw` is a live module of `self.ctx`.
impl Module {
    fn parse_in(ctx: Rc<Context>, bytes: &[u8], name: &str) -> Result<Module, LlvmError> {
        let n = cstring(name);
        let mut raw = std::ptr::null_mut();
        let mut err = std::ptr::null_mut();
        unsafe {
            let buf = LLVMCreateMemoryBufferWithMemoryRangeCopy(
                bytes.as_ptr().cast(),
                bytes.len(),
                n.as_ptr(),
            );
            let bad = LLVMParseIRInContext2(ctx.raw, buf, &mut raw, &mut err) != 0;
            LLVMDisposeMemoryBuffer(buf);
            if bad {
                let text = CStr::from_ptr(err).to_string_lossy().into_owned();
                LLVMDisposeMessage(err);
                return Err(LlvmError(text.trim().to_owned()));
            }
        }
        Ok(Module { ctx, raw })
    }
    /// Parses bitcode or textual IR, and verifies it.
    pub fn parse(bytes: &[u8], name: &str) -> Result<Module, LlvmError> {
        let m = Self::parse_in(Context::new(), bytes, name)?;
        m.verify()?;
        Ok(m)
    }
    fn parse_part_in(
        ctx: Rc<Context>,
        bytes: &[u8],
        name: &str,
        functions: &[String],
    ) -> Result<Module, LlvmError> {
        let n = cstring(name);
        let names: Vec<_> = functions.iter().map(|f| cstring(f)).collect();
        let roots: Vec<_> = names.iter().map(|f| f.as_ptr()).collect();
        let mut err = std::ptr::null_mut();
        let raw = unsafe {
            shim::kerf_parse_part(
                ctx.raw,
                bytes.as_ptr().cast(),
                bytes.len(),
                n.as_ptr(),
                roots.as_ptr(),
                roots.len(),
                &mut err,
            )
        };
        if raw.is_null() {
            return Err(LlvmError(shim::take(err).unwrap_or_default()));
        }
        Ok(Module { ctx, raw })
    }
    /// Parses and verifies functions of bitcode with what they refer to: the bodies of the others are not read. Names that
    /// it does not have are passed over.
    pub fn parse_part(bytes: &[u8], name: &str, functions: &[String]) -> Result<Module, LlvmError> {
        let m = Self::parse_part_in(Context::new(), bytes, name, functions)?;
        m.verify()?;
        Ok(m)
    }
    /// The raw module.
    pub fn raw(&self) -> LLVMModuleRef {
        self.raw
    }
    /// Gives the raw module away (to a JIT that owns it); the context lives on in the returned guard.
    pub(super) fn into_raw(mut self) -> (LLVMModuleRef, Box<dyn std::any::Any>) {
        let raw = std::mem::replace(&mut self.raw, std::ptr::null_mut());
        (raw, Box::new(self.ctx.clone()))
    }
    /// A copy, in the same context.
    pub fn duplicate(&self) -> Module {
        Module {
            ctx: self.ctx.clone(),
            raw: unsafe { LLVMCloneModule(self.raw) },
        }
    }
    /// Bitcode.
    pub fn bitcode(&self) -> Vec<u8> {
        unsafe {
            let b = LLVMWriteBitcodeToMemoryBuffer(self.raw);
            let v = std::slice::from_raw_parts(
                LLVMGetBufferStart(b).cast::<u8>(),
                LLVMGetBufferSize(b),
            )
            .to_vec();
            LLVMDisposeMemoryBuffer(b);
            v
        }
    }
    /// Textual IR.
    pub fn print(&self) -> String {
        unsafe {
            let p = LLVMPrintModuleToString(self.raw);
            let s = CStr::from_ptr(p).to_string_lossy().into_owned();
            LLVMDisposeMessage(p);
            s
        }
    }
    /// Checks that the module is well formed.
    pub fn verify(&self) -> Result<(), LlvmError> {
        let mut msg = std::ptr::null_mut();
        unsafe {
            let bad = LLVMVerifyModule(
                self.raw,
                LLVMVerifierFailureAction::LLVMReturnStatusAction,
                &mut msg,
            );
            let text = CStr::from_ptr(msg).to_string_lossy().into_owned();
            LLVMDisposeMessage(msg);
            if bad != 0 {
                Err(LlvmError(text.trim().to_owned()))
            } else {
                Ok(())
            }
        }
    }
    /// Links other bitcode into this module.
    pub fn link(&self, bytes: &[u8], name: &str) -> Result<(), LlvmError> {
        self.link_module(Self::parse_in(self.ctx.clone(), bytes, name)?)
    }
    /// Links functions of other bitcode into this module, with what they refer to.
    pub fn link_part(
        &self,
        bytes: &[u8],
        name: &str,
        functions: &[String],
    ) -> Result<(), LlvmError> {
        let part = Self::parse_part_in(self.ctx.clone(), bytes, name, functions)?;
        self.link_module(part)
    }
    fn link_module(&self, other: Module) -> Result<(), LlvmError> {
        self.ctx.messages.borrow_mut().clear();
        unsafe {
            LLVMSetTarget(other.raw, LLVMGetTarget(self.raw));
            LLVMSetDataLayout(other.raw, LLVMGetDataLayoutStr(self.raw));
            let (raw, _ctx) = other.into_raw();
            if LLVMLinkModules2(self.raw, raw) != 0 {
                return Err(LlvmError(self.ctx.messages.borrow().join("; ")));
            }
        }
        Ok(())
    }
    /// Target triple.
    pub fn triple(&self) -> String {
        unsafe { CStr::from_ptr(LLVMGetTarget(self.raw)) }
            .to_string_lossy()
            .into_owned()
    }
    /// Sets triple and data layout.
    pub fn set_target(&self, triple: &str, layout: &str) {
        let (t, l) = (cstring(triple), cstring(layout));
        unsafe {
            LLVMSetTarget(self.raw, t.as_ptr());
            LLVMSetDataLayout(self.raw, l.as_ptr());
        }
    }
    /// All functions, in order.
    pub fn functions(&self) -> Vec<Value> {
        let mut out = Vec::new();
        unsafe {
            let mut f = LLVMGetFirstFunction(self.raw);
            while !f.is_null() {
                out.push(Value(f));
                f = LLVMGetNextFunction(f);
            }
        }
        out
    }
    /// Functions that are kernels.
    pub fn kernel_functions(&self) -> Vec<Value> {
        self.functions()
            .into_iter()
            .filter(|f| {
                !f.is_declaration() && matches!(f.call_conv(), CC_PTX_KERNEL | CC_SPIR_KERNEL)
            })
            .collect()
    }
    /// Function by name.
    pub fn function(&self, name: &str) -> Option<Value> {
        let c = cstring(name);
        let f = unsafe { LLVMGetNamedFunction(self.raw, c.as_ptr()) };
        (!f.is_null()).then_some(Value(f))
    }
    /// Function by name, declared if missing.
    pub fn declare(&self, name: &str, ty: Type) -> Value {
        self.function(name).unwrap_or_else(|| {
            let c = cstring(name);
            Value(unsafe { LLVMAddFunction(self.raw, c.as_ptr(), ty.0) })
        })
    }
    /// A new function, even where the name is taken (LLVM then appends a number).
    pub fn add_function(&self, name: &str, ty: Type) -> Value {
        let c = cstring(name);
        Value(unsafe { LLVMAddFunction(self.raw, c.as_ptr(), ty.0) })
    }
    /// Appends a block to a function.
    pub fn append_block(&self, f: Value, name: &str) -> crate::Block {
        let c = cstring(name);
        crate::Block(unsafe { LLVMAppendBasicBlockInContext(self.ctx.raw, f.0, c.as_ptr()) })
    }
    /// All global variables, in order.
    pub fn globals(&self) -> Vec<Value> {
        let mut out = Vec::new();
        unsafe {
            let mut g = LLVMGetFirstGlobal(self.raw);
            while !g.is_null() {
                out.push(Value(g));
                g = LLVMGetNextGlobal(g);
            }
        }
        out
    }
    /// Global variable by name.
    pub fn global(&self, name: &str) -> Option<Value> {
        let c = cstring(name);
        let g = unsafe { LLVMGetNamedGlobal(self.raw, c.as_ptr()) };
        (!g.is_null()).then_some(Value(g))
    }
    /// A new global variable in an address space.
    pub fn add_global(&self, ty: Type, name: &str, space: u32) -> Value {
        let c = cstring(name);
        Value(unsafe { LLVMAddGlobalInAddressSpace(self.raw, ty.0, c.as_ptr(), space) })
    }
    /// Integer type.
    pub fn int_ty(&self, bits: u32) -> Type {
        Type(unsafe { LLVMIntTypeInContext(self.ctx.raw, bits) })
    }
    /// `void`.
    pub fn void_ty(&self) -> Type {
        Type(unsafe { LLVMVoidTypeInContext(self.ctx.raw) })
    }
    /// `double`.
    pub fn f64_ty(&self) -> Type {
        Type(unsafe { LLVMDoubleTypeInContext(self.ctx.raw) })
    }
    /// `float`.
    pub fn f32_ty(&self) -> Type {
        Type(unsafe { LLVMFloatTypeInContext(self.ctx.raw) })
    }
    /// Type of a format.
    pub fn float_ty(&self, f: kerf_num::Format) -> Type {
        crate::Builder::of_constants(self).float_ty(f)
    }
    /// Pointer type.
    pub fn ptr_ty(&self, space: u32) -> Type {
        Type(unsafe { LLVMPointerTypeInContext(self.ctx.raw, space) })
    }
    /// Literal struct type.
    pub fn struct_ty(&self, fields: &[Type]) -> Type {
        let mut f: Vec<_> = fields.iter().map(|t| t.0).collect();
        Type(unsafe { LLVMStructTypeInContext(self.ctx.raw, f.as_mut_ptr(), f.len() as u32, 0) })
    }
    /// Size in bytes of a type's memory, by the module's data layout.
    pub fn size_of(&self, t: Type) -> u64 {
        use llvm_sys::target::*;
        unsafe { LLVMABISizeOfType(LLVMGetModuleDataLayout(self.raw), t.0) }
    }
    /// Alignment in bytes of a type, by the module's data layout.
    pub fn align_of(&self, t: Type) -> u32 {
        use llvm_sys::target::*;
        unsafe { LLVMABIAlignmentOfType(LLVMGetModuleDataLayout(self.raw), t.0) }
    }
    /// Byte offset of a struct's field.
    pub fn field_offset(&self, t: Type, i: u32) -> u64 {
        use llvm_sys::target::*;
        unsafe { LLVMOffsetOfElement(LLVMGetModuleDataLayout(self.raw), t.0, i) }
    }
    /// Drops llvm.used and llvm.compiler.used.
    pub fn drop_used(&self) {
        unsafe { shim::kerf_drop_used(self.raw) }
    }
    /// Removes every fast-math flag: nothing is left for a backend to decide.
    pub fn strict_math(&self) {
        unsafe { shim::kerf_strict_math(self.raw) }
    }
    /// Chooses between structs by value and marks loops to be unrolled, as nvcc has them. The optimiser comes next.
    pub fn shape(&self) {
        unsafe { shim::kerf_shape(self.raw) }
    }
    /// Marks what unrolled loops left over, as nvcc has it. Unrolling comes next, again.
    pub fn shape_rest(&self) {
        unsafe { shim::kerf_shape_rest(self.raw) }
    }
    /// Makes copies of structs wide, aligns arrays, and says which loads nothing is written to. PTX comes next.
    pub fn shape_memory(&self) {
        unsafe { shim::kerf_shape_memory(self.raw) }
    }
    /// Removes from debug info what a compile unit lists and no instruction refers to (enumerations, types, using-declarations):
    /// whether headers were parsed or precompiled decides what is listed there.
    pub fn drop_unit_lists(&self) {
        unsafe { shim::kerf_drop_unit_lists(self.raw) }
    }
    /// Removes debug info but for the names and types of kernels' parameters and arrays: what is left is
    /// cheap to copy.
    pub fn lighten_debug(&self) {
        unsafe { shim::kerf_lighten_debug(self.raw) }
    }
    /// Gives every instruction a line of its own, from 1 on, in the module's order, in place of the source's. Lines go
    /// through the optimiser and the assembler, so that machine code tells which instruction it came from.
    pub fn number_lines(&self) {
        unsafe { shim::kerf_number_lines(self.raw) }
    }
    /// Removes debug info.
    pub fn strip_debug(&self) {
        unsafe { llvm_sys::debuginfo::LLVMStripModuleDebugInfo(self.raw) };
    }
    /// A text that travels with the module, under a name.
    pub fn set_text(&self, name: &str, text: &str) {
        let c = crate::shim::cstring(name);
        // SAFETY: the module is live; the string is copied into its context.
        unsafe {
            let ctx = LLVMGetModuleContext(self.raw());
            let mut s = LLVMMDStringInContext2(ctx, text.as_ptr().cast(), text.len());
            let node = LLVMMDNodeInContext2(ctx, &mut s, 1);
            LLVMAddNamedMetadataOperand(self.raw(), c.as_ptr(), LLVMMetadataAsValue(ctx, node));
        }
    }
    /// The texts that [`Module::set_text`] put under a name, in order.
    pub fn texts(&self, name: &str) -> Vec<String> {
        let c = crate::shim::cstring(name);
        // SAFETY: the module is live; nodes were made by `set_text`, or are passed over.
        unsafe {
            let n = LLVMGetNamedMetadataNumOperands(self.raw(), c.as_ptr()) as usize;
            let mut nodes = vec![std::ptr::null_mut(); n];
            LLVMGetNamedMetadataOperands(self.raw(), c.as_ptr(), nodes.as_mut_ptr());
            let text = |node: LLVMValueRef| {
                (LLVMGetMDNodeNumOperands(node) == 1).then_some(())?;
                let mut part = [std::ptr::null_mut()];
                LLVMGetMDNodeOperands(node, part.as_mut_ptr());
                let mut bytes = 0;
                let p = LLVMGetMDString(part[0], &mut bytes);
                (!p.is_null()).then_some(())?;
                let all = std::slice::from_raw_parts(p.cast::<u8>(), bytes as usize);
                Some(String::from_utf8_lossy(all).into_owned())
            };
            nodes.into_iter().filter_map(text).collect()
        }
    }
    /// Source file name.
    pub fn source_name(&self) -> String {
        let mut n = 0;
        unsafe {
            let p = LLVMGetSourceFileName(self.raw, &mut n);
            String::from_utf8_lossy(std::slice::from_raw_parts(p.cast::<u8>(), n)).into_owned()
        }
    }
}
