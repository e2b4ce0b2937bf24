//! What to do about a source that does not become a module.

use kerf_clang::compile::CompileError;

/// Advice for the user, by what went wrong.
pub fn advice(error: &CompileError) -> &'static str {
    match error {
        CompileError::NoClang { .. } => {
            "install clang 22 (apt-get install clang-22), or set KERF_CLANG to it; or give Kerf the .bc file of a bundle"
        }
        CompileError::NoCuda { .. } => {
            "install NVIDIA's wheels beside Kerf's (pip install kerf-gpu brings them), run scripts/setup.sh in a clone, or set KERF_CUDA to a CUDA toolkit"
        }
        CompileError::UnknownKind { .. } => {
            "give a CUDA (.cu), OpenCL (.cl), PTX (.ptx) or LLVM (.ll, .bc) file"
        }
        CompileError::Unreadable { .. } => "check the path and its permissions",
        CompileError::Rejected { messages, .. } if of_the_architecture(messages) => {
            "--arch names the GPU to compile for, e.g. --arch sm_90"
        }
        CompileError::Rejected { .. } => {
            "include folders and macros are passed with -I and -D, as to a compiler; in a workload file, in `flags`"
        }
        CompileError::Unsupported { uses, .. } => uses
            .first()
            .map_or("leave it out with #ifndef __KERF__", |u| u.help),
        CompileError::BadIr { .. } => "the file may be truncated, or from a newer LLVM than 22",
        CompileError::BadPtx { .. } => {
            "the text must be PTX of version 7.0 to 9.0 with 64-bit addresses; ptxas checks it"
        }
        CompileError::Tool { .. } => {
            "install clang 22 (apt-get install clang-22), or set KERF_CLANG to it; kerf doctor lists what is installed"
        }
    }
}

fn of_the_architecture(messages: &str) -> bool {
    ["CUDA gpu architecture", "GPU arch", "unknown target CPU"]
        .iter()
        .any(|m| messages.contains(m))
}
