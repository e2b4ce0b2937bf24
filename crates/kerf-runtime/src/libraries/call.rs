//! The way from an application's call to the function that does it.
use super::arguments::{self, CallArguments};
use super::{cublas, curand, current, nvidia, refusal, transfer};
use crate::error::{self, CallFailure};
use crate::process::say;
use crate::replay::hooks;
use crate::state::{State, with_state};
use kerf_clang::cuda_library::CudaLibrary;
use kerf_exec::DeviceKind;
use std::cell::Cell;
use std::ffi::{CStr, c_char, c_void};

/// What a jump of `kerf cc` refers to.
#[repr(C)]
pub struct CallSlot {
    /// NVIDIA's function, once it was found.
    target: Cell<*const c_void>,
    /// The function's name.
    name: *const c_char,
}

/// Entry of every call: r11 has its slot. Registers and stack are as the caller left them when the function that
/// [`find`] chooses begins.
#[unsafe(naked)]
#[unsafe(no_mangle)]
extern "C" fn kerf_library_call() {
    std::arch::naked_asm!(
        "endbr64",
        "push rbp",
        "mov rbp, rsp",
        "sub rsp, 192",
        "mov [rsp], rdi",
        "mov [rsp + 8], rsi",
        "mov [rsp + 16], rdx",
        "mov [rsp + 24], rcx",
        "mov [rsp + 32], r8",
        "mov [rsp + 40], r9",
        "mov [rsp + 48], rax",
        "movups [rsp + 64], xmm0",
        "movups [rsp + 80], xmm1",
        "movups [rsp + 96], xmm2",
        "movups [rsp + 112], xmm3",
        "movups [rsp + 128], xmm4",
        "movups [rsp + 144], xmm5",
        "movups [rsp + 160], xmm6",
        "movups [rsp + 176], xmm7",
        "mov rdi, r11",
        "mov rsi, rsp",
        "lea rdx, [rbp + 16]",
        "call {find}",
        "mov r11, rax",
        "mov rdi, [rsp]",
        "mov rsi, [rsp + 8]",
        "mov rdx, [rsp + 16]",
        "mov rcx, [rsp + 24]",
        "mov r8, [rsp + 32]",
        "mov r9, [rsp + 40]",
        "mov rax, [rsp + 48]",
        "movups xmm0, [rsp + 64]",
        "movups xmm1, [rsp + 80]",
        "movups xmm2, [rsp + 96]",
        "movups xmm3, [rsp + 112]",
        "movups xmm4, [rsp + 128]",
        "movups xmm5, [rsp + 144]",
        "movups xmm6, [rsp + 160]",
        "movups xmm7, [rsp + 176]",
        "leave",
        "jmp r11",
        find = sym find,
    )
}

/// The function that does a call.
///
/// # Safety
/// A slot that `kerf cc` made, the six registers of integer arguments, and where those on the stack begin.
unsafe extern "C" fn find(
    slot: *const CallSlot,
    registers: *const [u64; 6],
    stack: *const u64,
) -> *const c_void {
    // SAFETY: as the caller promises; names are constants of the program.
    let (slot, name) = unsafe { (&*slot, CStr::from_ptr((*slot).name)) };
    let name = name.to_str().unwrap_or_default();
    current::set(name);
    // SAFETY: as the caller promises. What lies behind the arguments on the stack is the caller's own frame.
    let arguments = unsafe { CallArguments::new(&*registers, stack) };
    let Some(library) = CudaLibrary::of_function(name) else {
        return refusal::with(0);
    };
    let statuses = refusal::statuses(library);
    if error::sticky() != 0 {
        return refusal::with(statuses.execution);
    }
    with_state(|s| match choose(s, slot, library, name, &arguments) {
        Ok(target) => target,
        Err(e) => {
            if let Some(m) = &e.message {
                say(&format!("{name}: {m}"));
            }
            refusal::with(statuses.internal)
        }
    })
}

fn choose(
    s: &mut State,
    slot: &CallSlot,
    library: CudaLibrary,
    name: &'static str,
    arguments: &CallArguments,
) -> Result<*const c_void, CallFailure> {
    // The device may be one of several on a GPU machine: it is made this thread's.
    let kind = s.device()?.kind();
    if let Some(own) = transfer::function(name) {
        return Ok(own);
    }
    if let Some(t) = &mut s.trace {
        t.library_call(library.title(), name);
    }
    if hooks::is_recording(s) {
        hooks::refuse(
            s,
            &format!("{name}: what {} does is not recorded", library.title()),
        );
    }
    arguments::note(s, name, arguments)?;
    if kind == DeviceKind::Cpu {
        let own = match library {
            CudaLibrary::Cublas => cublas::function(name),
            CudaLibrary::Curand => curand::function(name),
            _ => None,
        };
        return Ok(own.unwrap_or_else(|| refusal::on_cpu(s, library, name)));
    }
    if let Some(turn) = &s.turn {
        // Its kernels are not waited for: the turn goes on a little after the call.
        turn.take();
        turn.kernel_ended();
    }
    if slot.target.get().is_null() {
        match nvidia::find(&mut s.libraries, library, name) {
            Ok(target) => slot.target.set(target),
            Err(why) => {
                let why = why.to_string();
                if s.libraries.is_new(&why) {
                    say(&format!("{name}: {why}"));
                }
                return Ok(refusal::with(refusal::statuses(library).missing));
            }
        }
    }
    Ok(slot.target.get())
}
