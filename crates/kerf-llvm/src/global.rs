//! Values that are functions or global variables: bodies, attributes, linkage, content.
use crate::block::Block;
use crate::types::Type;
use crate::value::Value;
use llvm_sys::core::*;
use llvm_sys::*;

// SAFETY (all unsafe blocks of this file): the handles are valid by the contract stated in the
// parent module; each call passes values of the kind that the C function documents, which the
// method's own check or documentation ensures.

impl Value {
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
    /// All global variables of the module that a function belongs to.
    pub fn module_globals(self) -> Vec<Value> {
        let mut out = Vec::new();
        unsafe {
            let mut g = LLVMGetFirstGlobal(LLVMGetGlobalParent(self.0));
            while !g.is_null() {
                out.push(Value(g));
                g = LLVMGetNextGlobal(g);
            }
        }
        out
    }
    /// The section that a function or global asks for; empty: none.
    pub fn section(self) -> String {
        unsafe {
            let p = LLVMGetSection(self.0);
            match p.is_null() {
                true => String::new(),
                false => std::ffi::CStr::from_ptr(p).to_string_lossy().into_owned(),
            }
        }
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
    /// Adds an enum attribute to a call (`convergent`).
    pub fn add_call_attr(self, name: &str) {
        unsafe {
            let c = LLVMGetTypeContext(self.ty().0);
            let a = LLVMCreateEnumAttribute(c, Self::attr_kind(name), 0);
            LLVMAddCallSiteAttribute(self.0, LLVMAttributeFunctionIndex, a);
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
    /// Does a function neither read nor write memory (`memory(none)`)?
    pub fn accesses_no_memory(self) -> bool {
        unsafe {
            let kind = Self::attr_kind("memory");
            let a = LLVMGetEnumAttributeAtIndex(self.0, LLVMAttributeFunctionIndex, kind);
            !a.is_null() && LLVMGetEnumAttributeValue(a) == 0
        }
    }
    /// Takes from a function, and from its calls, what was known of its effects: it is about to have
    /// others.
    pub fn forget_effects(self) {
        let kinds = ["memory", "nosync", "speculatable"].map(Self::attr_kind);
        for k in kinds {
            unsafe { LLVMRemoveEnumAttributeAtIndex(self.0, LLVMAttributeFunctionIndex, k) };
        }
        for u in self.users() {
            if u.opcode() == Some(LLVMOpcode::LLVMCall) {
                for k in kinds {
                    unsafe { LLVMRemoveCallSiteEnumAttribute(u.0, LLVMAttributeFunctionIndex, k) };
                }
            }
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
    /// Says that parameter `i` (from 0) of a function is a struct of type `t`, passed by value.
    pub fn set_byval(self, i: u32, t: Type, align: u32) {
        unsafe {
            let c = LLVMGetTypeContext(t.0);
            for name in ["byval", "align"] {
                LLVMRemoveEnumAttributeAtIndex(self.0, i + 1, Self::attr_kind(name));
            }
            let by_value = LLVMCreateTypeAttribute(c, Self::attr_kind("byval"), t.0);
            LLVMAddAttributeAtIndex(self.0, i + 1, by_value);
            let a = LLVMCreateEnumAttribute(c, Self::attr_kind("align"), u64::from(align));
            LLVMAddAttributeAtIndex(self.0, i + 1, a);
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
    /// Is a global variable filled by somebody else before code runs? (`__constant__` and `__device__` variables: LLVM marks those
    /// that no code stores into as constant all the same.)
    pub fn is_externally_initialized(self) -> bool {
        unsafe { LLVMIsExternallyInitialized(self.0) != 0 }
    }
    /// Says that somebody else fills a global variable before code runs.
    pub fn set_externally_initialized(self) {
        unsafe { LLVMSetExternallyInitialized(self.0, 1) }
    }
    /// Asks for a section.
    pub fn set_section(self, name: &str) {
        let c = crate::shim::cstring(name);
        unsafe { LLVMSetSection(self.0, c.as_ptr()) }
    }
    /// Marks a global variable as changeable or constant.
    pub fn set_constant_global(self, c: bool) {
        unsafe { LLVMSetGlobalConstant(self.0, i32::from(c)) }
    }
}
