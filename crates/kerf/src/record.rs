//! `kerf record`: launches of an application become workloads, each with its inputs.
use crate::fail::Failure;
use crate::output::{note, say};
use kerf_ir::kernels::{file_stem, shortened};
use kerf_tune::app::values::format_named;
use kerf_workload::elem::ElemType;
use kerf_workload::npy;
use serde_json::Value;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Arguments of `kerf record`.
#[derive(clap::Args)]
pub struct Args {
    /// Launches of each kernel to keep, from the first on.
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true, value_parser = crate::parse_count)]
    launches: usize,
    /// Folder to make.
    #[arg(long, value_name = "DIR", default_value = "recorded")]
    out: PathBuf,
    /// Where the application runs.
    #[arg(long, value_enum, default_value = "cpu")]
    device: crate::DeviceArg,
    /// The application and its arguments.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<String>,
}

fn words(v: &Value) -> &str {
    v.as_str().unwrap_or_default()
}

/// The type of a buffer, and bytes of an element: scalars as the kernel has them, or bytes.
fn element(b: &Value) -> (String, usize) {
    let raw = ("u8".to_owned(), 1);
    let (Some(scalars), Some(size)) = (b["element"][0].as_array(), b["element"][1].as_u64()) else {
        return raw;
    };
    let kinds: Vec<&str> = scalars.iter().map(|s| words(&s[1])).collect();
    let text = match kinds.as_slice() {
        [one] => (*one).to_owned(),
        [] => return raw,
        many if many.contains(&"ptr") => return raw,
        many => {
            let quoted: Vec<String> = many.iter().map(|k| format!("\"{k}\"")).collect();
            format!("[{}]", quoted.join(", "))
        }
    };
    let fits = match ElemType::parse(kinds[0]) {
        Some(e) if kinds.len() == 1 => e.size() as u64 == size,
        Some(_) => {
            kinds
                .iter()
                .filter_map(|k| ElemType::parse(k))
                .map(|e| e.size() as u64)
                .sum::<u64>()
                == size
        }
        None => false,
    };
    match same(&kinds).filter(|_| fits) {
        Some(s) => s,
        None if fits => (text, size as usize),
        None => raw,
    }
}

/// Structs of numbers of one type are short vectors, or so many numbers.
fn same(kinds: &[&str]) -> Option<(String, usize)> {
    let (first, rest) = kinds.split_first()?;
    if rest.is_empty() || rest.iter().any(|k| k != first) {
        return None;
    }
    let vector = format!("{first}x{}", kinds.len());
    let kind = match ElemType::parse(&vector) {
        Some(_) => vector,
        None => (*first).to_owned(),
    };
    let size = ElemType::parse(&kind)?.size();
    Some((kind, size))
}

/// A scalar argument as TOML has it, exactly.
fn number(v: &Value) -> String {
    let mut b = [0u8; 8];
    let bytes = v["bytes"].as_array().map_or(&[][..], Vec::as_slice);
    for (to, from) in b.iter_mut().zip(bytes) {
        *to = from.as_u64().unwrap_or(0) as u8;
    }
    let bits = u64::from_le_bytes(b);
    let kind = words(&v["kind"]);
    if let Some(f) = format_named(kind) {
        let x = f.decode(bits);
        return match x {
            x if x.is_nan() => "nan".into(),
            x if x.is_infinite() => if x > 0.0 { "inf" } else { "-inf" }.into(),
            x => format!("{x:?}"),
        };
    }
    let width = 8 * bytes.len() as u32;
    let shift = 64u32.saturating_sub(width.max(1)).min(63);
    if kind.starts_with('i') {
        return (((bits << shift) as i64) >> shift).to_string();
    }
    match i64::try_from(bits) {
        Ok(n) => n.to_string(),
        Err(_) => format!("\"{bits}\""),
    }
}

/// Why a launch, or a whole run, gives no workload.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// A file.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// A file of the run.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The trace is damaged.
    #[error(transparent)]
    Trace(#[from] serde_json::Error),
    /// A buffer cannot be written.
    #[error(transparent)]
    Npy(#[from] npy::NpyError),
    /// The runtime could not record it.
    #[error("{0}")]
    Unusable(String),
    /// A type that workloads do not have.
    #[error("there is no type {0}")]
    Type(String),
    /// Structs of several types.
    #[error("a buffer of structs with fields of several types cannot be recorded yet")]
    Struct,
    /// A pointer between two elements.
    #[error("an argument points {offset} bytes into a buffer of {element}-byte elements")]
    Unaligned {
        /// Where it points.
        offset: u64,
        /// Bytes of an element.
        element: u64,
    },
    /// Nothing to compare.
    #[error("its launches changed nothing")]
    NothingChanged,
}

fn argument(v: &Value, size: impl Fn(u64) -> usize + Copy) -> Result<String, RecordError> {
    if let Some(fields) = v["struct"].as_array() {
        let all: Result<Vec<String>, _> = fields.iter().map(|f| argument(f, size)).collect();
        return Ok(format!("{{ struct = [{}] }}", all?.join(", ")));
    }
    let Some(n) = v["buffer"].as_u64() else {
        return Ok(number(v));
    };
    let (offset, size) = (v["offset"].as_u64().unwrap_or(0), size(n) as u64);
    match offset {
        0 => Ok(format!("\"b{n}\"")),
        o if o.is_multiple_of(size) => {
            Ok(format!("{{ buffer = \"b{n}\", offset = {} }}", o / size))
        }
        offset => Err(RecordError::Unaligned {
            offset,
            element: size,
        }),
    }
}

/// Writes one launch as a workload, `name`.toml.
fn write(r: &Value, unit: &str, from: &Path, to: &Path, name: &str) -> Result<(), RecordError> {
    let list = |v: &Value| {
        let all: Vec<String> = v
            .as_array()
            .into_iter()
            .flatten()
            .map(Value::to_string)
            .collect();
        format!("[{}]", all.join(", "))
    };
    let buffers = r["buffers"].as_array().map_or(&[][..], Vec::as_slice);
    let mut t = String::new();
    let _ = writeln!(
        t,
        "# A launch of {} that kerf record kept.",
        words(&r["kernel"])
    );
    let _ = writeln!(t, "source = \"{unit}\"");
    let mut any = false;
    for (i, b) in buffers.iter().enumerate() {
        let (kind, size) = element(b);
        let bytes = b["bytes"].as_u64().unwrap_or(0) as usize;
        let (kind, size) = if bytes.is_multiple_of(size) {
            (kind, size)
        } else {
            ("u8".into(), 1)
        };
        let data = std::fs::read(from.join(words(&b["file"])))?;
        let npy_name = format!("{name}-{i}.npy");
        let is_struct = kind.starts_with('[');
        let elem = match is_struct {
            true => ElemType::parse("u8"),
            false => ElemType::parse(&kind),
        }
        .ok_or_else(|| RecordError::Type(kind.clone()))?;
        if is_struct {
            return Err(RecordError::Struct);
        }
        npy::write(&to.join(&npy_name), &elem, &[bytes / size], &data)?;
        let label = match b["allocation"].as_u64() {
            Some(n) => format!("b{n}"),
            None => format!("v{i}"),
        };
        let _ = writeln!(
            t,
            "\n[[buffer]]\nname = \"{label}\"\ntype = \"{kind}\"\nlen = {}",
            bytes / size
        );
        let _ = writeln!(t, "init = {{ file = \"{npy_name}\" }}");
        if let Some(s) = b["symbol"].as_str() {
            let _ = writeln!(t, "symbol = \"{s}\"");
        }
        if b["changed"] == true {
            any = true;
            let _ = writeln!(t, "output = true");
        }
    }
    if !any {
        return Err(RecordError::NothingChanged);
    }
    let size = |n: u64| {
        let hit = buffers.iter().find(|b| b["allocation"].as_u64() == Some(n));
        hit.map_or(1, |b| element(b).1)
    };
    let args = r["args"].as_array().into_iter().flatten();
    let args: Result<Vec<String>, _> = args.map(|a| argument(a, size)).collect();
    let _ = writeln!(t, "\n[[launch]]\nkernel = \"{}\"", words(&r["symbol"]));
    let _ = writeln!(
        t,
        "grid = {}\nblock = {}",
        list(&r["grid"]),
        list(&r["block"])
    );
    if r["shared"] != 0 {
        let _ = writeln!(t, "shared = {}", r["shared"]);
    }
    let _ = writeln!(t, "args = [{}]", args?.join(", "));
    Ok(kerf_files::write_whole(to.join(format!("{name}.toml")), t)?)
}

/// A launch that was recorded.
pub struct Launch {
    /// The kernel's name.
    pub kernel: String,
    /// Its symbol.
    pub symbol: String,
    /// The workload's name, or why there is none.
    pub workload: Result<String, RecordError>,
}

/// Writes the recorded launches of a traced run as workloads, beside the code.
pub fn workloads(from: &Path, to: &Path) -> Result<Vec<Launch>, RecordError> {
    let path = from.join("trace.json");
    let text = std::fs::read_to_string(&path);
    let text = text.map_err(|source| RecordError::File { path, source })?;
    let trace: Value = serde_json::from_str(&text)?;
    for u in trace["units"].as_array().into_iter().flatten() {
        let name = words(&u["bitcode"]);
        let path = to.join(name);
        std::fs::copy(from.join(name), &path)
            .map_err(|source| RecordError::File { path, source })?;
    }
    let mut count = std::collections::BTreeMap::new();
    let all = trace["recorded"].as_array().map_or(&[][..], Vec::as_slice);
    let one = |r: &Value| {
        let kernel = words(&r["kernel"]).to_owned();
        let n = count.entry(kernel.clone()).or_insert(0);
        let name = format!("{}-{n}", file_stem(&kernel));
        *n += 1;
        let unit = format!("unit-{}.bc", r["unit"]);
        let workload = match r["unusable"].as_str() {
            Some(why) => Err(RecordError::Unusable(why.to_owned())),
            None => write(r, &unit, from, to, &name).map(|()| name),
        };
        Launch {
            kernel,
            symbol: words(&r["symbol"]).to_owned(),
            workload,
        }
    };
    Ok(all.iter().map(one).collect())
}

/// Runs the application and writes what it launched.
pub fn run(a: &Args) -> Result<i32, Failure> {
    let fail = |what: &Path, e: &dyn std::fmt::Display| {
        Failure::new(format!("{}: {e}", what.display())).help("choose another folder with --out")
    };
    if a.out.symlink_metadata().is_ok() {
        return Err(fail(&a.out, &"exists already"));
    }
    let scratch = tempfile::tempdir().map_err(|e| fail(Path::new("a temporary folder"), &e))?;
    let status = std::process::Command::new(&a.command[0])
        .args(&a.command[1..])
        .env("KERF_TRACE", scratch.path())
        .env("KERF_RECORD", a.launches.to_string())
        .env(
            "KERF_DEVICE",
            if a.device == crate::DeviceArg::Cuda {
                "cuda"
            } else {
                "cpu"
            },
        )
        .status()
        .map_err(|e| Failure::new(format!("{}: {e}", a.command[0])).help("check the command"))?;
    if !status.success() {
        note(&format!("warning: the application ended with {status}"));
    }
    if !scratch.path().join("trace.json").exists() {
        return Err(match status.success() {
            true => Failure::new(format!("{} made no call of Kerf's runtime", a.command[0]))
                .help("build it with kerf cc"),
            // What was recorded is written at the end.
            false => Failure::new(format!("{} did not get to its end", a.command[0]))
                .help("run it by hand; KERF_MEMCHECK=1 names a kernel that leaves its buffers"),
        });
    }
    std::fs::create_dir_all(&a.out).map_err(|e| fail(&a.out, &e))?;
    let mut told = String::new();
    for l in workloads(scratch.path(), &a.out).map_err(|e| Failure::new(e.to_string()))? {
        match l.workload {
            Ok(name) => {
                let _ = writeln!(told, "{}", a.out.join(format!("{name}.toml")).display());
            }
            Err(why) => note(&format!(
                "warning: {} was not recorded: {why}",
                shortened(&l.kernel)
            )),
        }
    }
    say(&told)?;
    Ok(i32::from(told.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn elements_are_numbers_vectors_or_bytes() {
        let of = |kinds: &[&str], size: u64| {
            let scalars: Vec<Value> = kinds.iter().map(|k| json!([0, k])).collect();
            element(&json!({ "element": [scalars, size] }))
        };
        assert_eq!(of(&["f64"], 8), ("f64".into(), 8));
        assert_eq!(of(&["f64"; 3], 24), ("f64x3".into(), 24));
        assert_eq!(of(&["f32"; 5], 20), ("f32".into(), 4));
        assert_eq!(of(&["f64", "i32"], 12).0, "[\"f64\", \"i32\"]");
        // Padding, pointers: bytes.
        assert_eq!(of(&["f64", "i32"], 16), ("u8".into(), 1));
        assert_eq!(of(&["ptr", "f64"], 16), ("u8".into(), 1));
    }
}
