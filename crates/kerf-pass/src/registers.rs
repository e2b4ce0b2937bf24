//! Reads of special registers, for passes that answer them: indices and extents of threads and blocks.
use kerf_ir::address::REGISTER_PREFIX;
use kerf_ir::kernels;
use kerf_llvm::{Opcode, Value};

/// The register that an instruction reads: `tid.x`.
pub(crate) fn read(i: Value) -> Option<String> {
    if i.opcode() != Some(Opcode::LLVMCall) {
        return None;
    }
    let name = i.callee_name()?;
    name.strip_prefix(REGISTER_PREFIX).map(str::to_owned)
}

/// Reads of a function, with what is read.
pub(crate) fn reads(f: Value) -> Vec<(Value, String)> {
    let all = f.instructions().into_iter();
    all.filter_map(|i| Some((i, read(i)?))).collect()
}

/// A function that the kernel calls and that reads one of these registers; a pass over the kernel alone
/// would leave it as it is.
pub(crate) fn read_elsewhere(kernel: Value, matches: impl Fn(&str) -> bool) -> Option<String> {
    let others = kernels::reachable(kernel).into_iter().skip(1);
    let mut found = others.filter(|f| reads(*f).iter().any(|(_, r)| matches(r)));
    found.next().map(|f| kerf_llvm::demangle(&f.name()))
}
