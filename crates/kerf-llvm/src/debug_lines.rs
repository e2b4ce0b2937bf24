//! Source lines for modules that no compiler made: functions and instructions with the places that they came from.
use crate::module::Module;
use crate::value::Value;
use llvm_sys::core::*;
use llvm_sys::debuginfo::*;
use llvm_sys::prelude::*;
use std::collections::HashMap;

/// Writes debug lines into a module.
pub struct DebugLines {
    raw: LLVMDIBuilderRef,
    context: LLVMContextRef,
    unit: LLVMMetadataRef,
    files: HashMap<String, LLVMMetadataRef>,
}

/// A function that lines are in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DebugScope(LLVMMetadataRef);

/// A line and column of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DebugPlace {
    /// The function.
    pub scope: DebugScope,
    /// Line, from 1; 0 if unknown.
    pub line: u32,
    /// Column, from 1; 0 if unknown.
    pub column: u32,
}

// SAFETY (all unsafe blocks of this file): the builder belongs to a live module, metadata handles come from it and
// live as long as the module's context; strings are passed with their lengths.
impl DebugLines {
    /// Lines of a module whose own file is `main`.
    pub fn new(m: &Module, main: &str) -> DebugLines {
        unsafe {
            let context = LLVMGetModuleContext(m.raw());
            let raw = LLVMCreateDIBuilder(m.raw());
            let key = "Debug Info Version";
            let version = LLVMConstInt(
                LLVMInt32TypeInContext(context),
                u64::from(LLVMDebugMetadataVersion()),
                0,
            );
            LLVMAddModuleFlag(
                m.raw(),
                llvm_sys::LLVMModuleFlagBehavior::LLVMModuleFlagBehaviorWarning,
                key.as_ptr().cast(),
                key.len(),
                LLVMValueAsMetadata(version),
            );
            let mut lines = DebugLines {
                raw,
                context,
                unit: std::ptr::null_mut(),
                files: HashMap::new(),
            };
            let file = lines.file(main);
            let (none, producer) = (c"".as_ptr(), "kerf");
            lines.unit = LLVMDIBuilderCreateCompileUnit(
                raw,
                LLVMDWARFSourceLanguage::LLVMDWARFSourceLanguageC_plus_plus,
                file,
                producer.as_ptr().cast(),
                producer.len(),
                1,
                none,
                0,
                0,
                none,
                0,
                LLVMDWARFEmissionKind::LLVMDWARFEmissionKindFull,
                0,
                0,
                0,
                none,
                0,
                none,
                0,
            );
            lines
        }
    }

    fn file(&mut self, path: &str) -> LLVMMetadataRef {
        let raw = self.raw;
        *self.files.entry(path.to_owned()).or_insert_with(|| unsafe {
            LLVMDIBuilderCreateFile(
                raw,
                path.as_ptr().cast(),
                path.len(),
                c"".as_ptr().cast(),
                0,
            )
        })
    }

    /// A function of the source, defined in `file`.
    pub fn scope(&mut self, name: &str, file: &str, line: u32) -> DebugScope {
        let file = self.file(file);
        unsafe {
            let ty = LLVMDIBuilderCreateSubroutineType(self.raw, file, std::ptr::null_mut(), 0, 0);
            DebugScope(LLVMDIBuilderCreateFunction(
                self.raw,
                file,
                name.as_ptr().cast(),
                name.len(),
                name.as_ptr().cast(),
                name.len(),
                file,
                line,
                ty,
                0,
                1,
                line,
                0,
                1,
            ))
        }
    }

    /// The part of a function that another file, such as a header, has.
    pub fn part(&mut self, whole: DebugScope, file: &str) -> DebugScope {
        let file = self.file(file);
        DebugScope(unsafe { LLVMDIBuilderCreateLexicalBlockFile(self.raw, whole.0, file, 0) })
    }

    /// Says that the body of `f` is this function of the source.
    pub fn attach(&self, f: Value, scope: DebugScope) {
        unsafe { LLVMSetSubprogram(f.0, scope.0) }
    }

    /// Says where an instruction came from: its own place, and where that was inlined.
    pub fn locate(&self, instruction: Value, at: DebugPlace, inlined_at: Option<DebugPlace>) {
        let location = |p: DebugPlace, outer: LLVMMetadataRef| unsafe {
            LLVMDIBuilderCreateDebugLocation(self.context, p.line, p.column, p.scope.0, outer)
        };
        let outer = inlined_at.map_or(std::ptr::null_mut(), |p| location(p, std::ptr::null_mut()));
        unsafe { LLVMInstructionSetDebugLoc(instruction.0, location(at, outer)) }
    }
}

impl Drop for DebugLines {
    fn drop(&mut self) {
        unsafe {
            LLVMDIBuilderFinalize(self.raw);
            LLVMDisposeDIBuilder(self.raw);
        }
    }
}
