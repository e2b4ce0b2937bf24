//! Where source cannot say a plan: the tuned PTX as it is, a header and the code that loads and launches it.
use kerf_ir::kernels::{self, KernelInfo, ParamKind};
use kerf_llvm::Module;
use kerf_tune::result::TuneResult;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Names of the files, in the result folder beside `tuned.ptx`.
pub const HEADER: &str = "tuned_kernels.h";
/// The code.
pub const CODE: &str = "tuned_kernels.cpp";

fn parameter(k: &KernelInfo, n: usize) -> String {
    let p = &k.params[n];
    let name = match p.name.is_empty() {
        true => format!("argument{n}"),
        false => p.name.clone(),
    };
    match &p.kind {
        ParamKind::Pointer { .. } => format!("CUdeviceptr {name}"),
        ParamKind::Scalar { scalar } => format!("{} {name}", scalar_type(&scalar.to_string())),
        ParamKind::Struct { bytes, .. } => format!("const unsigned char (&{name})[{bytes}]"),
    }
}

fn scalar_type(name: &str) -> &str {
    match name {
        "f64" => "double",
        "f32" => "float",
        "i8" => "signed char",
        "u8" => "unsigned char",
        "i16" => "short",
        "u16" => "unsigned short",
        "i32" => "int",
        "u32" => "unsigned int",
        "i64" => "long long",
        "u64" => "unsigned long long",
        _ => "unsigned short",
    }
}

/// A name that C++ takes.
fn plain(name: &str) -> String {
    let short = name.split(['<', '(']).next().unwrap_or(name);
    short
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect()
}

fn signature(k: &KernelInfo) -> String {
    let mut all = vec![
        "CUstream stream".to_owned(),
        "dim3 grid".into(),
        "dim3 block".into(),
        "unsigned shared".into(),
    ];
    all.extend((0..k.params.len()).map(|n| parameter(k, n)));
    format!("CUresult launch_{}({})", plain(&k.name), all.join(", "))
}

/// The header and the code for some kernels of a PTX file.
fn texts(all: &[KernelInfo], ptx: &Path, notes: &[String]) -> (String, String) {
    let mut h = String::from(
        "// Tuned kernels, loaded from PTX through the CUDA driver API. Link with -lcuda.\n",
    );
    for n in notes {
        let _ = writeln!(h, "// {n}");
    }
    h += "#pragma once\n\n#include <cuda.h>\n#include <vector_types.h>\n\nnamespace kerf_tuned {\n\n";
    h += "// Loads the kernels into the current context; call it once before any launch.\nCUresult load(const char *ptx_file);\n\n";
    let mut c = format!(
        "// Loads {} and launches its kernels; see {HEADER}.\n#include \"{HEADER}\"\n\nnamespace kerf_tuned {{\n\n",
        ptx.file_name()
            .map_or_else(|| "tuned.ptx".into(), |n| n.to_string_lossy())
    );
    c += "static CUmodule tuned;\n";
    for k in all {
        let _ = writeln!(c, "static CUfunction {}_function;", plain(&k.name));
    }
    c += "\nCUresult load(const char *ptx_file)\n{\n    CUresult r = cuModuleLoad(&tuned, ptx_file);\n";
    for k in all {
        let _ = writeln!(
            c,
            "    if (r == CUDA_SUCCESS)\n        r = cuModuleGetFunction(&{}_function, tuned, \"{}\");",
            plain(&k.name),
            k.symbol
        );
    }
    c += "    return r;\n}\n";
    for k in all {
        let _ = writeln!(h, "{};", signature(k));
        let names = (0..k.params.len()).map(|n| match k.params[n].name.is_empty() {
            true => format!("(void *)&argument{n}"),
            false => format!("(void *)&{}", k.params[n].name),
        });
        let list: Vec<String> = names.collect();
        let _ = write!(
            c,
            "\n{}\n{{\n    void *arguments[] = {{{}}};\n    return cuLaunchKernel({}_function, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared, stream,\n                          arguments, nullptr);\n}}\n",
            signature(k),
            list.join(", "),
            plain(&k.name)
        );
    }
    h += "\n} // namespace kerf_tuned\n";
    c += "\n} // namespace kerf_tuned\n";
    (h, c)
}

/// Why there is no loader.
#[derive(Debug, thiserror::Error)]
pub enum LoaderError {
    /// A file of the result folder cannot be read or written.
    #[error("{path}: {why}")]
    File {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        why: std::io::Error,
    },
    /// The tuned module is no bitcode.
    #[error(transparent)]
    Module(#[from] kerf_llvm::LlvmError),
}

/// Writes header and code beside the result's PTX; gives the files.
pub fn write(dir: &Path, result: &TuneResult) -> Result<Vec<PathBuf>, LoaderError> {
    let ptx = dir.join("tuned.ptx");
    let path = dir.join("tuned.bc");
    let bitcode = std::fs::read(&path).map_err(|why| LoaderError::File { path, why })?;
    let m = Module::parse(&bitcode, "tuned.bc")?;
    let used: Vec<&str> = result.sites.iter().map(|s| s.kernel.as_str()).collect();
    let infos: Vec<KernelInfo> = kernels::kernels(&m)
        .into_iter()
        .filter(|k| used.contains(&k.name.as_str()) || used.contains(&k.symbol.as_str()))
        .collect();
    let mut notes = Vec::new();
    for g in result.groups.iter().filter(|g| !g.group.holds.is_empty()) {
        if g.format != g.group.formats[0] {
            notes.push(format!(
                "{} is held as {}: convert it on its way to and from the device.",
                g.group.name, g.format
            ));
        }
    }
    let (h, c) = texts(&infos, &ptx, &notes);
    let mut out = vec![ptx];
    for (name, text) in [(HEADER, h), (CODE, c)] {
        let path = dir.join(name);
        match kerf_files::write_whole(&path, text) {
            Ok(()) => out.push(path),
            Err(why) => return Err(LoaderError::File { path, why }),
        }
    }
    Ok(out)
}
