//! Bad addresses and overflowed stacks in kernels, as values.
//!
//! A GPU answers a bad address with an error of that launch, and the process goes on. On the CPU the
//! processor raises SIGSEGV or SIGBUS, which would end the process. While a coroutine of a kernel runs, its
//! bounds are noted for this thread; a signal that is raised on that stack, or on its guard page, makes the
//! coroutine return instead. Every other signal goes to the handler that was there before.
//!
//! Compiled kernels own nothing, so that nothing is lost when their frames are dropped. Runtime functions
//! that they call (memory copies, the shadow's arithmetic) hold no lock while they touch a kernel's memory. They may
//! hold one, malloc's for example, where the stack ends: an overflow is taken for the kernel's only while its own
//! code runs, and functions that allocate look first whether there is room ([`has_headroom`]).
use super::mapping;
use super::memory::ArenaStack;
use corosensei::trap::CoroutineTrapHandler;
use corosensei::{Coroutine, CoroutineResult};
use std::cell::Cell;
use std::ffi::c_void;
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A thread of a block.
pub(super) type Thread = Coroutine<(), (), (), ArenaStack>;

/// What the processor said of a kernel's access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trapped {
    /// The address; none where the processor does not tell it, as of addresses beyond 2^47.
    pub address: Option<usize>,
    /// Was it a write?
    pub is_write: bool,
    /// Was it the guard page of the thread's own stack?
    pub is_overflow: bool,
}

impl Trapped {
    /// In words; `checked` if every access was looked at beforehand, so that doing so cannot be the advice.
    pub fn describe(&self, stack_bytes: usize, checked: bool) -> String {
        if self.is_overflow {
            return overflow(stack_bytes);
        }
        let access = match (self.address, self.is_write) {
            (None, _) => "access to",
            (_, true) => "store to",
            (_, false) => "load from",
        };
        let place = match self.address {
            Some(a) if a < 4096 => format!("address {a:#x}, a null pointer"),
            Some(a) => format!("address {a:#x}, where there is no memory"),
            None => "an address that this machine does not have".into(),
        };
        let advice = match checked {
            true => "",
            false => "; --memcheck (in an application, KERF_MEMCHECK=1) names the line",
        };
        format!("illegal memory access: {access} {place}{advice}")
    }
}

/// A stack that is full, in words.
pub fn overflow(stack_bytes: usize) -> String {
    format!("the thread's stack of {stack_bytes} bytes overflowed: the recursion may have no end")
}

/// Stack that runtime functions can count on, in bytes, the guard page included.
const HEADROOM: usize = 16 << 10;

/// Is there stack enough for a runtime function that allocates?
pub fn has_headroom() -> bool {
    let here = 0u8;
    let stack_pointer = std::ptr::from_ref(&here) as usize;
    WATCHED.with(|w| {
        let coroutine = w.coroutine.get();
        coroutine.is_none_or(|c| c.stack_ptr_in_bounds(stack_pointer - HEADROOM))
    })
}

/// The coroutine that runs on this thread, and what happened to it.
struct Watched {
    coroutine: Cell<Option<CoroutineTrapHandler<()>>>,
    trapped: Cell<Option<Trapped>>,
}

thread_local! {
    static WATCHED: Watched = const {
        Watched { coroutine: Cell::new(None), trapped: Cell::new(None) }
    };
    static SIGNAL_STACK: Option<SignalStack> = SignalStack::for_this_thread();
}

/// Lets a kernel's coroutine run on. With `Err` it has ended at a bad access.
pub fn resume(thread: &mut Thread) -> Result<CoroutineResult<(), ()>, Trapped> {
    WATCHED.with(|w| w.coroutine.set(Some(thread.trap_handler())));
    let result = thread.resume(());
    WATCHED.with(|w| {
        w.coroutine.set(None);
        match w.trapped.take() {
            Some(t) => Err(t),
            None => Ok(result),
        }
    })
}

/// Handlers that were there before, by signal.
static BEFORE: [AtomicPtr<libc::sigaction>; 2] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; 2];
const SIGNALS: [i32; 2] = [libc::SIGSEGV, libc::SIGBUS];

/// Gives this thread a stack for the handlers, if it has none. Called before it runs kernels.
pub fn prepare_thread() {
    SIGNAL_STACK.with(|_| ());
}

/// Where the code of the program and its libraries lies; compiled kernels are elsewhere.
static OBJECTS: OnceLock<Vec<Range<usize>>> = OnceLock::new();

fn objects() -> Vec<Range<usize>> {
    extern "C" fn note(
        info: *mut libc::dl_phdr_info,
        _bytes: usize,
        all: *mut c_void,
    ) -> std::ffi::c_int {
        // SAFETY: the loader's own struct, and the vector below.
        unsafe {
            let (info, all) = (&*info, &mut *all.cast::<Vec<Range<usize>>>());
            let headers = std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum as usize);
            for h in headers.iter().filter(|h| h.p_flags & libc::PF_X != 0) {
                let start = info.dlpi_addr as usize + h.p_vaddr as usize;
                all.push(start..start + h.p_memsz as usize);
            }
        }
        0
    }
    let mut all: Vec<Range<usize>> = Vec::new();
    // SAFETY: the callback gets the vector, while this call lasts.
    unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut all).cast()) };
    all
}

/// Is an instruction one of a compiled kernel?
fn is_kernel_code(address: usize) -> bool {
    let objects = OBJECTS.get();
    objects.is_some_and(|all| !all.iter().any(|r| r.contains(&address)))
}

/// Installs the handlers, if they are not there. Called before each launch: an application's handler that came later
/// than ours is put behind it again.
pub fn install_handlers() {
    OBJECTS.get_or_init(objects);
    for (signal, before) in SIGNALS.iter().zip(&BEFORE) {
        // SAFETY: plain structs that the system reads and fills; the handler is async-signal-safe.
        unsafe {
            let mut now: libc::sigaction = std::mem::zeroed();
            libc::sigaction(*signal, std::ptr::null(), &mut now);
            if now.sa_sigaction == on_fault as *const () as usize {
                continue;
            }
            // Never freed: a handler on another thread may be reading it.
            before.store(Box::into_raw(Box::new(now)), Ordering::Release);
            let mut ours: libc::sigaction = std::mem::zeroed();
            ours.sa_sigaction = on_fault as *const () as usize;
            ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
            libc::sigemptyset(&mut ours.sa_mask);
            libc::sigaction(*signal, &ours, std::ptr::null_mut());
        }
    }
}

/// A kernel's stack may be full when the handler has to run, so it has its own.
struct SignalStack {
    memory: *mut c_void,
}

impl SignalStack {
    const BYTES: usize = 64 << 10;

    /// None where the thread has one already.
    fn for_this_thread() -> Option<SignalStack> {
        // SAFETY: plain structs; the mapping is this thread's until it is dropped.
        unsafe {
            let mut now: libc::stack_t = std::mem::zeroed();
            libc::sigaltstack(std::ptr::null(), &mut now);
            if now.ss_flags & libc::SS_DISABLE == 0 {
                return None;
            }
            let memory = mapping::map(Self::BYTES).ok()? as *mut c_void;
            let ours = libc::stack_t {
                ss_sp: memory,
                ss_flags: 0,
                ss_size: Self::BYTES,
            };
            libc::sigaltstack(&ours, std::ptr::null_mut());
            Some(SignalStack { memory })
        }
    }
}

impl Drop for SignalStack {
    fn drop(&mut self) {
        // SAFETY: the thread ends; where it has this stack, it has none from now on.
        unsafe {
            let mut now: libc::stack_t = std::mem::zeroed();
            libc::sigaltstack(std::ptr::null(), &mut now);
            if now.ss_sp == self.memory {
                now.ss_flags = libc::SS_DISABLE;
                libc::sigaltstack(&now, std::ptr::null_mut());
            }
            libc::munmap(self.memory, Self::BYTES);
        }
    }
}

extern "C" fn on_fault(signal: i32, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the system's own structs, for as long as the handler runs.
    if !unsafe { leave_kernel(&*info, &mut *context.cast()) } {
        pass_on(signal, info, context);
    }
}

/// Makes the interrupted coroutine return, if the fault is one of a kernel's.
///
/// # Safety
/// `info` and `context` are those of the signal that is being handled on this thread.
unsafe fn leave_kernel(info: &libc::siginfo_t, context: &mut libc::ucontext_t) -> bool {
    // Of the page fault's error code: the access was a write.
    const WRITE: i64 = 2;
    let regs = &mut context.uc_mcontext.gregs;
    let mut leave = |w: &Watched| {
        let Some(coroutine) = w.coroutine.get() else {
            return false;
        };
        // Sent by a process, not raised by an instruction.
        if info.si_code <= 0 {
            return false;
        }
        // SAFETY: a signal of a bad access carries its address.
        let address = unsafe { info.si_addr() } as usize;
        let is_overflow = coroutine.stack_ptr_in_bounds(address);
        let stack_pointer = regs[libc::REG_RSP as usize] as usize;
        let instruction = regs[libc::REG_RIP as usize] as usize;
        let is_kernels = match is_overflow {
            true => is_kernel_code(instruction),
            false => coroutine.stack_ptr_in_bounds(stack_pointer),
        };
        if !is_kernels {
            return false;
        }
        w.coroutine.set(None);
        w.trapped.set(Some(Trapped {
            address: (info.si_code != libc::SI_KERNEL).then_some(address),
            is_write: regs[libc::REG_ERR as usize] & WRITE != 0,
            is_overflow,
        }));
        // SAFETY: the coroutine is suspended in this signal, its frames own nothing (see above), and all
        // registers that the trampoline wants are set.
        let set = unsafe { coroutine.setup_trap_handler(|| ()) };
        for (register, value) in [
            (libc::REG_RIP, set.rip),
            (libc::REG_RSP, set.rsp),
            (libc::REG_RBP, set.rbp),
            (libc::REG_RDI, set.rdi),
            (libc::REG_RSI, set.rsi),
        ] {
            regs[register as usize] = value as i64;
        }
        true
    };
    // A thread that is ending has no kernels.
    WATCHED.try_with(&mut leave).unwrap_or(false)
}

/// Hands a signal to the handler that was there before; without one, it ends the process as it would have.
fn pass_on(signal: i32, info: *mut libc::siginfo_t, context: *mut c_void) {
    thread_local! {
        static PASSING: Cell<bool> = const { Cell::new(false) };
    }
    let at = SIGNALS.iter().position(|s| *s == signal);
    let before = at.map_or(std::ptr::null_mut(), |i| BEFORE[i].load(Ordering::Acquire));
    // SAFETY: stored once by `install_handlers`, never freed.
    let action = unsafe { before.as_ref() };
    // A handler that passes on to ours in turn would go round for ever.
    let again = PASSING.try_with(|p| p.replace(true)).unwrap_or(true);
    match action {
        Some(a) if !again && a.sa_sigaction != libc::SIG_DFL && a.sa_sigaction != libc::SIG_IGN => {
            // SAFETY: what the application registered, called as its flags say.
            unsafe {
                if a.sa_flags & libc::SA_SIGINFO != 0 {
                    let f: extern "C" fn(i32, *mut libc::siginfo_t, *mut c_void) =
                        std::mem::transmute(a.sa_sigaction);
                    f(signal, info, context);
                } else {
                    let f: extern "C" fn(i32) = std::mem::transmute(a.sa_sigaction);
                    f(signal);
                }
            }
        }
        // SAFETY: async-signal-safe. The instruction faults again, or the signal is sent again.
        _ => unsafe {
            libc::signal(signal, libc::SIG_DFL);
            if (*info).si_code <= 0 {
                libc::raise(signal);
            }
        },
    }
    let _ = PASSING.try_with(|p| p.set(false));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::memory::Arena;

    fn run(work: impl FnOnce() + 'static) -> Result<bool, Trapped> {
        let arena = Arena::new().expect("an arena");
        let stack = ArenaStack::new(&arena, 64 << 10).expect("a stack");
        install_handlers();
        prepare_thread();
        let mut co: Thread = Coroutine::with_stack(stack, move |_, ()| work());
        resume(&mut co).map(|r| matches!(r, CoroutineResult::Return(())))
    }

    #[test]
    fn bad_addresses_are_values_and_the_thread_goes_on() {
        for (address, is_write) in [(0usize, false), (8, true), (0x10_0000, false)] {
            let t = run(move || {
                // SAFETY: it is not, which is the test.
                unsafe {
                    match is_write {
                        true => (address as *mut u8).write_volatile(1),
                        false => drop(std::hint::black_box((address as *const u8).read_volatile())),
                    }
                }
            });
            let told = Trapped {
                address: Some(address),
                is_write,
                is_overflow: false,
            };
            assert_eq!(t, Err(told));
        }
        // Beyond the addresses of the processor, which does not say which one it was.
        let t = run(|| {
            // SAFETY: as above.
            unsafe { ((1usize << 60) as *mut u8).write_volatile(1) }
        });
        assert_eq!(t.map_err(|t| t.address), Err(None));
        assert_eq!(run(|| ()), Ok(true));
    }

    /// `f: sub rsp, 256; call f`, in memory of its own, as compiled kernels are.
    fn recursive_code() -> extern "C" fn() {
        let code: [u8; 12] = [0x48, 0x81, 0xec, 0, 1, 0, 0, 0xe8, 0xf4, 0xff, 0xff, 0xff];
        let at = mapping::map(4096).expect("a page");
        // SAFETY: a page of ours, with a function in it.
        unsafe {
            std::ptr::copy_nonoverlapping(code.as_ptr(), at as *mut u8, code.len());
            libc::mprotect(at as *mut _, 4096, libc::PROT_READ | libc::PROT_EXEC);
            std::mem::transmute::<usize, extern "C" fn()>(at)
        }
    }

    #[test]
    fn recursion_without_end_is_told_from_a_bad_address() {
        let f = recursive_code();
        let t = run(move || f()).expect_err("it cannot end");
        assert!(t.is_overflow, "{t:?}");
        for checked in [false, true] {
            let text = t.describe(65536, checked);
            assert!(
                text.contains("65536 bytes") && !text.contains("memcheck"),
                "{text}"
            );
        }
    }

    #[test]
    fn runtime_functions_see_the_end_of_the_stack_coming() {
        fn deeper(levels: usize) -> usize {
            let here = std::hint::black_box([levels; 32]);
            match has_headroom() {
                true => deeper(levels + 1) + here[5] % 2,
                false => levels,
            }
        }
        assert!(has_headroom(), "no kernel runs");
        // 64 KiB of stack: there is room for some levels, and an end before the guard page.
        assert_eq!(run(|| assert!(deeper(0) > 10)), Ok(true));
    }

    #[test]
    fn checking_is_advised_only_where_it_was_not_done() {
        let t = Trapped {
            address: Some(0),
            is_write: false,
            is_overflow: false,
        };
        assert!(t.describe(0, false).contains("--memcheck"));
        assert!(!t.describe(0, true).contains("emcheck"));
        assert!(t.describe(0, true).contains("null pointer"));
    }
}
