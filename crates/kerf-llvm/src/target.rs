//! Targets: optimisation pipelines, PTX emission, and the JIT for this machine.
use crate::shim::{self, cstring};
use crate::{LlvmError, Module};
use llvm_sys::core::*;
use llvm_sys::error::*;
use llvm_sys::orc2::lljit::*;
use llvm_sys::orc2::*;
use llvm_sys::target::*;
use llvm_sys::target_machine::*;
use llvm_sys::transforms::pass_builder::*;
use std::ffi::CStr;
use std::sync::Once;

static INIT: Once = Once::new();

fn init() {
    INIT.call_once(|| {
        // SAFETY: registration functions, called once.
        unsafe {
            LLVMInitializeX86TargetInfo();
            LLVMInitializeX86Target();
            LLVMInitializeX86TargetMC();
            LLVMInitializeX86AsmPrinter();
            LLVMInitializeX86AsmParser();
            LLVMInitializeNVPTXTargetInfo();
            LLVMInitializeNVPTXTarget();
            LLVMInitializeNVPTXTargetMC();
            LLVMInitializeNVPTXAsmPrinter();
            shim::kerf_shape_backend();
        }
    });
}

/// What an optimisation pipeline may do beyond the scalar basics.
#[derive(Copy, Clone, Debug, Default)]
pub struct PassOptions {
    /// Unroll loops without being told to.
    pub unroll: bool,
    /// Vectorise loops and straight-line code, in passes named one by one; `default<O2>` and `default<O3>` of LLVM 22 always do
    /// ([`Machine::optimise_scalar`] does not), and only interleave loops if this is set.
    pub vectorize: bool,
    /// Overrides the inliner's threshold.
    pub inline_threshold: Option<i32>,
    /// Overrides how many times a loop may access memory if places that it reads and writes are to be registers in it.
    pub promote: Option<u32>,
}

/// A target machine.
pub struct TargetMachine {
    raw: LLVMTargetMachineRef,
    triple: String,
    layout: String,
}

impl Drop for TargetMachine {
    fn drop(&mut self) {
        // SAFETY: owned.
        unsafe { LLVMDisposeTargetMachine(self.raw) }
    }
}

fn owned(p: *mut std::ffi::c_char) -> String {
    // SAFETY: an owned message of LLVM's.
    unsafe {
        let s = CStr::from_ptr(p).to_string_lossy().into_owned();
        LLVMDisposeMessage(p);
        s
    }
}

/// What [`Machine::host`] compiles for: triple, processor and features. Code for it runs where this is the same.
pub fn host_target() -> [String; 3] {
    init();
    // SAFETY: owned messages of LLVM's.
    let (triple, cpu, features) = unsafe {
        (
            owned(LLVMGetDefaultTargetTriple()),
            owned(LLVMGetHostCPUName()),
            owned(LLVMGetHostCPUFeatures()),
        )
    };
    // LLVM prefers 256-bit vectors on AVX-512 parts; the thread loop gains from the full width.
    // Native half and bfloat instructions are left out: vcvtneps2bf16 flushes subnormals, and
    // results should not depend on which processor runs them.
    let features = format!("{features},-prefer-256-bit,-avx512fp16,-avx512bf16,-avxneconvert");
    [triple, cpu, features]
}

// SAFETY (unsafe blocks of this impl): `self.raw` is a live target machine; modules are live.
impl TargetMachine {
    fn new(triple: &str, cpu: &str, features: &str) -> Result<TargetMachine, LlvmError> {
        init();
        let (t, c, f) = (cstring(triple), cstring(cpu), cstring(features));
        unsafe {
            let mut target = std::ptr::null_mut();
            let mut err = std::ptr::null_mut();
            if LLVMGetTargetFromTriple(t.as_ptr(), &mut target, &mut err) != 0 {
                return Err(LlvmError(owned(err)));
            }
            let raw = LLVMCreateTargetMachine(
                target,
                t.as_ptr(),
                c.as_ptr(),
                f.as_ptr(),
                LLVMCodeGenOptLevel::LLVMCodeGenLevelAggressive,
                LLVMRelocMode::LLVMRelocPIC,
                LLVMCodeModel::LLVMCodeModelDefault,
            );
            let td = LLVMCreateTargetDataLayout(raw);
            let layout = owned(LLVMCopyStringRepOfTargetData(td));
            LLVMDisposeTargetData(td);
            Ok(TargetMachine {
                raw,
                triple: triple.to_owned(),
                layout,
            })
        }
    }
    /// PTX for a compute capability such as `sm_90`.
    pub fn nvptx(arch: &str) -> Result<TargetMachine, LlvmError> {
        // The oldest PTX that knows the architecture, so that older drivers take it.
        let version = match crate::compute_capability(arch)? {
            0..100 => "+ptx83",
            100 | 101 => "+ptx86",
            120 => "+ptx87",
            _ => "+ptx88",
        };
        Self::new("nvptx64-nvidia-cuda", arch, version)
    }
    /// This machine's processor.
    pub fn host() -> Result<TargetMachine, LlvmError> {
        let [triple, cpu, features] = host_target();
        Self::new(&triple, &cpu, &features)
    }
    /// Sets a module's triple and data layout to this machine's.
    pub fn adopt(&self, m: &Module) {
        m.set_target(&self.triple, &self.layout);
    }
    /// Runs a pass pipeline such as `default<O2>`.
    pub fn run_passes(&self, m: &Module, passes: &str, o: PassOptions) -> Result<(), LlvmError> {
        let p = cstring(passes);
        unsafe {
            let opt = LLVMCreatePassBuilderOptions();
            LLVMPassBuilderOptionsSetLoopUnrolling(opt, i32::from(o.unroll));
            LLVMPassBuilderOptionsSetLoopVectorization(opt, i32::from(o.vectorize));
            LLVMPassBuilderOptionsSetSLPVectorization(opt, i32::from(o.vectorize));
            LLVMPassBuilderOptionsSetLoopInterleaving(opt, i32::from(o.vectorize));
            if let Some(n) = o.promote {
                LLVMPassBuilderOptionsSetLicmMssaNoAccForPromotionCap(opt, n);
            }
            if let Some(t) = o.inline_threshold {
                LLVMPassBuilderOptionsSetInlinerThreshold(opt, t);
            }
            let e = LLVMRunPasses(m.raw(), p.as_ptr(), self.raw, opt);
            LLVMDisposePassBuilderOptions(opt);
            if !e.is_null() {
                let msg = LLVMGetErrorMessage(e);
                let s = CStr::from_ptr(msg).to_string_lossy().into_owned();
                LLVMDisposeErrorMessage(msg);
                return Err(LlvmError(s));
            }
        }
        Ok(())
    }
    /// Optimises at level 2, without vectorising.
    pub fn optimise_scalar(&self, m: &Module) {
        // SAFETY: a live module and machine.
        unsafe { shim::kerf_optimise_scalar(m.raw(), self.raw) }
    }
    /// Assembly text (PTX for an NVPTX machine).
    pub fn assembly(&self, m: &Module) -> Result<String, LlvmError> {
        let bytes = self.emit(m, LLVMCodeGenFileType::LLVMAssemblyFile)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
    /// Object file.
    pub fn object(&self, m: &Module) -> Result<Vec<u8>, LlvmError> {
        self.emit(m, LLVMCodeGenFileType::LLVMObjectFile)
    }
    fn emit(&self, m: &Module, kind: LLVMCodeGenFileType) -> Result<Vec<u8>, LlvmError> {
        unsafe {
            let mut err = std::ptr::null_mut();
            let mut buf = std::ptr::null_mut();
            let bad =
                LLVMTargetMachineEmitToMemoryBuffer(self.raw, m.raw(), kind, &mut err, &mut buf);
            if bad != 0 {
                return Err(LlvmError(owned(err)));
            }
            let v = std::slice::from_raw_parts(
                LLVMGetBufferStart(buf).cast::<u8>(),
                LLVMGetBufferSize(buf),
            )
            .to_vec();
            LLVMDisposeMemoryBuffer(buf);
            Ok(v)
        }
    }
}

/// Compiled code for this machine, in memory.
pub struct HostJit {
    raw: LLVMOrcLLJITRef,
}

impl Drop for HostJit {
    fn drop(&mut self) {
        // SAFETY: owned; an error on disposal has nobody left to act on it.
        unsafe {
            let e = LLVMOrcDisposeLLJIT(self.raw);
            if !e.is_null() {
                LLVMConsumeError(e);
            }
        }
    }
}

fn check(e: LLVMErrorRef) -> Result<(), LlvmError> {
    if e.is_null() {
        return Ok(());
    }
    // SAFETY: a live error, consumed here.
    unsafe {
        let msg = LLVMGetErrorMessage(e);
        let s = CStr::from_ptr(msg).to_string_lossy().into_owned();
        LLVMDisposeErrorMessage(msg);
        Err(LlvmError(s))
    }
}

impl HostJit {
    /// Loads an object file (see [`Machine::object`]) whose undefined symbols are `symbols`.
    pub fn load(object: &[u8], symbols: &[(&str, usize)]) -> Result<HostJit, LlvmError> {
        init();
        // SAFETY: ORC's own objects, used as its documentation says; the buffer is copied.
        unsafe {
            let mut raw = std::ptr::null_mut();
            check(LLVMOrcCreateLLJIT(&mut raw, LLVMOrcCreateLLJITBuilder()))?;
            let jit = HostJit { raw };
            let lib = LLVMOrcLLJITGetMainJITDylib(raw);
            let mut pairs: Vec<LLVMOrcCSymbolMapPair> = symbols
                .iter()
                .map(|(name, address)| LLVMOrcCSymbolMapPair {
                    Name: LLVMOrcLLJITMangleAndIntern(raw, cstring(name).as_ptr()),
                    Sym: LLVMJITEvaluatedSymbol {
                        Address: *address as u64,
                        Flags: LLVMJITSymbolFlags {
                            GenericFlags:
                                LLVMJITSymbolGenericFlags::LLVMJITSymbolGenericFlagsExported as u8,
                            TargetFlags: 0,
                        },
                    },
                })
                .collect();
            let unit = LLVMOrcAbsoluteSymbols(pairs.as_mut_ptr(), pairs.len());
            check(LLVMOrcJITDylibDefine(lib, unit))?;
            let buf = LLVMCreateMemoryBufferWithMemoryRangeCopy(
                object.as_ptr().cast(),
                object.len(),
                c"kernel".as_ptr(),
            );
            check(LLVMOrcLLJITAddObjectFile(raw, lib, buf))?;
            Ok(jit)
        }
    }
    /// Address of a function or variable.
    pub fn address(&self, name: &str) -> Result<usize, LlvmError> {
        let mut a = 0;
        // SAFETY: the JIT is live.
        unsafe { check(LLVMOrcLLJITLookup(self.raw, &mut a, cstring(name).as_ptr()))? };
        Ok(a as usize)
    }
}
