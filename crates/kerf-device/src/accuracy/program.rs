//! Device code of one operation: its kernel alone, finished for a device.
use kerf_ir::finish::{Reflect, finish};
use kerf_llvm::{LlvmError, Module};

/// Bitcode of the kernels, by file of `device/`.
const FILES: [&[u8]; 6] = [
    include_bytes!(concat!(env!("OUT_DIR"), "/accuracy.bc")),
    include_bytes!(concat!(env!("OUT_DIR"), "/accuracy_small.bc")),
    include_bytes!(concat!(env!("OUT_DIR"), "/accuracy_tuples.bc")),
    include_bytes!(concat!(env!("OUT_DIR"), "/accuracy_convert.bc")),
    include_bytes!(concat!(env!("OUT_DIR"), "/values.bc")),
    include_bytes!(concat!(env!("OUT_DIR"), "/values_doubleword.bc")),
];

/// Name of an operation's kernel.
pub fn kernel(prefix: &str, key: &str) -> String {
    format!("{prefix}_{}", key.replace('.', "_"))
}

/// Names of all kernels.
pub fn kernels() -> Result<Vec<String>, LlvmError> {
    let mut all = Vec::new();
    for file in FILES {
        let m = Module::parse(file, "accuracy")?;
        all.extend(m.kernel_functions().iter().map(|k| k.name()));
    }
    Ok(all)
}

/// The module that holds one kernel, with libdevice linked in; none if no file has that kernel.
pub fn build(name: &str, libdevice: &[u8], arch: &str) -> Result<Option<Module>, LlvmError> {
    for file in FILES {
        let m = Module::parse(file, "accuracy")?;
        let kernels = m.kernel_functions();
        if !kernels.iter().any(|k| k.name() == name) {
            continue;
        }
        // Assembling a kernel takes longer than running it: one is enough.
        m.drop_used();
        for k in kernels {
            if k.name() != name {
                k.delete_function();
            }
        }
        kerf_ir::prepare::prepare(&m, arch)?;
        finish(&m, libdevice, arch, Reflect::default())?;
        return Ok(Some(m));
    }
    Ok(None)
}
