//! A workload file without a launch space, rewritten to have one: blocks become parameters, grids follow them.
use std::path::{Path, PathBuf};
use toml_edit::{Array, DocumentMut, Item, TableLike, Value};

/// What a grid does along an axis when the block changes there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Follow {
    /// It keeps the number of threads, rounded up to whole blocks.
    Threads,
    /// It keeps the number of blocks: each has a piece of work of its own.
    Blocks,
    /// The block does not change.
    Fixed,
}

/// A kernel whose block becomes parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Free {
    /// The kernel, as the file names it.
    pub kernel: String,
    /// Its block.
    pub block: [u32; 3],
    /// What its grid does, by axis.
    pub axes: [Follow; 3],
    /// Threads of a block, at most.
    pub most: u32,
}

const AXES: [&str; 3] = ["x", "y", "z"];

/// Directories of flags that are relative to the file.
const DIRECTORY_FLAGS: [&str; 3] = ["-isystem", "-iquote", "-I"];

impl Free {
    fn axes(&self) -> Vec<usize> {
        (0..3).filter(|a| self.axes[*a] != Follow::Fixed).collect()
    }

    /// Values of an axis: powers of two and the file's own.
    fn values(&self, axis: usize) -> Vec<i64> {
        let free = self.axes();
        let rest: u32 = (0..3)
            .filter(|a| !free.contains(a))
            .map(|a| self.block[a])
            .product();
        let most = (self.most / rest.max(1)).max(1);
        let (from, to) = match (free.len(), axis) {
            (1, _) => (5u32.min(most.ilog2()), most.ilog2()),
            (2, _) => (0, most.ilog2().min(8)),
            (_, 0) => (0, most.ilog2().min(6)),
            _ => (0, most.ilog2().min(4)),
        };
        let mut all: Vec<i64> = (from..=to).map(|e| 1i64 << e).collect();
        all.push(i64::from(self.block[axis]));
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// Names of a kernel's parameters: what the file does not use yet.
fn names(text: &str, k: &Free, taken: &[String]) -> [String; 3] {
    let plain: String = k
        .kernel
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .take(28)
        .collect();
    let plain = plain.trim_matches('_').to_owned();
    let stem = if plain.starts_with(|c: char| c.is_ascii_digit()) || plain.is_empty() {
        format!("k{plain}")
    } else {
        plain
    };
    let free = |s: &str| {
        let all = AXES.map(|a| format!("{s}_{a}"));
        all.iter()
            .all(|n| !text.contains(n.as_str()) && !taken.contains(n))
    };
    let mut tries = (0..1000).map(|i| match i {
        0 => stem.clone(),
        i => format!("{stem}{i}"),
    });
    let stem = tries.find(|s| free(s)).unwrap_or(stem.clone());
    AXES.map(|a| format!("{stem}_{a}"))
}

/// An extent as it stands in the file.
fn text_of(v: Option<&Value>) -> String {
    match v {
        Some(Value::String(s)) => s.value().clone(),
        Some(Value::Integer(i)) => i.value().to_string(),
        _ => "1".into(),
    }
}

fn extents(t: &dyn TableLike, key: &str) -> Vec<String> {
    match t.get(key).and_then(Item::as_value) {
        Some(Value::Array(a)) => a.iter().map(|v| text_of(Some(v))).collect(),
        other => vec![text_of(other)],
    }
}

fn rewrite(t: &mut dyn TableLike, all: &[(Free, [String; 3])]) {
    let named = t.get("kernel").and_then(Item::as_str).map(str::to_owned);
    if let Some((k, names)) = all.iter().find(|(k, _)| Some(&k.kernel) == named.as_ref()) {
        let (mut grid, mut block) = (extents(t, "grid"), extents(t, "block"));
        let n = 1 + k.axes().into_iter().max().unwrap_or(0);
        grid.resize(grid.len().max(n), "1".into());
        block.resize(block.len().max(n), "1".into());
        for a in k.axes() {
            if k.axes[a] == Follow::Threads {
                grid[a] = format!("ceil_div(({}) * ({}), {})", grid[a], block[a], names[a]);
            }
            block[a].clone_from(&names[a]);
        }
        if let Some(s) = t.get("shared").and_then(Item::as_value).cloned() {
            // Memory of so many bytes a thread grows with the block; any other stays enough.
            let threads: u32 = k.block.iter().product();
            let s = text_of(Some(&s));
            let now = block.join(" * ");
            let grown = format!("max({s}, ceil_div(({s}) * {now}, {threads}))");
            t.insert("shared", toml_edit::value(grown));
        }
        let list = |of: Vec<String>| {
            let mut a = Array::new();
            a.extend(of);
            toml_edit::value(a)
        };
        t.insert("grid", list(grid));
        t.insert("block", list(block));
    }
    match t.get_mut("do") {
        Some(Item::Value(Value::Array(a))) => {
            for v in a.iter_mut() {
                if let Value::InlineTable(t) = v {
                    rewrite(t, all);
                }
            }
        }
        Some(Item::ArrayOfTables(a)) => a.iter_mut().for_each(|t| rewrite(t, all)),
        _ => {}
    }
}

/// Paths of the document as they are from anywhere.
fn absolute(doc: &mut DocumentMut, folder: &Path) {
    let at = |p: &str| folder.join(p).display().to_string();
    if let Some(s) = doc.get("source").and_then(Item::as_str).map(at) {
        doc["source"] = toml_edit::value(s);
    }
    if let Some(flags) = doc.get_mut("flags").and_then(Item::as_array_mut) {
        let mut next = false;
        for f in flags.iter_mut() {
            let Some(text) = f.as_str().map(str::to_owned) else {
                continue;
            };
            let attached = DIRECTORY_FLAGS
                .iter()
                .find_map(|d| Some((d, text.strip_prefix(d)?)));
            let new = match attached {
                _ if std::mem::take(&mut next) => at(&text),
                Some((_, "")) => {
                    next = true;
                    continue;
                }
                Some((d, p)) => format!("{d}{}", at(p)),
                None => continue,
            };
            *f = Value::from(new);
        }
    }
    let buffers = doc.get_mut("buffer").and_then(Item::as_array_of_tables_mut);
    for b in buffers.into_iter().flat_map(|b| b.iter_mut()) {
        let init = b.get_mut("init").and_then(Item::as_table_like_mut);
        if let Some(init) = init
            && let Some(p) = init.get("file").and_then(Item::as_str).map(at)
        {
            init.insert("file", toml_edit::value(p));
        }
    }
}

/// Why a workload file gets no launch space.
#[derive(Debug, thiserror::Error)]
pub enum WidenError {
    /// The text is no TOML.
    #[error("{}: {why}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// In the parser's words.
        why: toml_edit::TomlError,
    },
    /// The file's folder has no absolute path.
    #[error("{}: {why}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// In the system's words.
        why: std::io::Error,
    },
}

/// The text of a workload file with a launch space for these kernels. `path` is the file that the text is
/// from: paths in the new text are absolute, so that it can lie anywhere.
pub fn widen(text: &str, path: &Path, kernels: &[Free]) -> Result<String, WidenError> {
    let mut doc: DocumentMut = text.parse().map_err(|why| WidenError::Malformed {
        path: path.to_owned(),
        why,
    })?;
    let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
    let folder: PathBuf =
        std::path::absolute(&folder).map_err(|why| WidenError::Folder { path: folder, why })?;
    let mut all: Vec<(Free, [String; 3])> = Vec::new();
    for k in kernels.iter().filter(|k| !k.axes().is_empty()) {
        let taken: Vec<String> = all.iter().flat_map(|(_, n)| n.clone()).collect();
        let names = names(text, k, &taken);
        all.push((k.clone(), names));
    }
    absolute(&mut doc, &folder);
    if let Some(launches) = doc.get_mut("launch").and_then(Item::as_array_of_tables_mut) {
        launches.iter_mut().for_each(|t| rewrite(t, &all));
    }
    let mut space = toml_edit::Table::new();
    let (mut constraints, mut default) = (Array::new(), toml_edit::InlineTable::new());
    for (k, names) in &all {
        let axes = k.axes();
        for a in &axes {
            let mut values = Array::new();
            values.extend(k.values(*a));
            space.insert(&names[*a], toml_edit::value(values));
            default.insert(&names[*a], Value::from(i64::from(k.block[*a])));
        }
        if axes.len() > 1 {
            let own: u32 = k.block.iter().product();
            let factor = |a: usize| match axes.contains(&a) {
                true => names[a].clone(),
                false => k.block[a].to_string(),
            };
            let threads: Vec<String> = (0..3).map(factor).collect();
            let threads = threads.join(" * ");
            constraints.push(format!("{threads} <= {}", k.most.max(own)));
            constraints.push(format!("{threads} >= {}", own.min(32)));
        }
    }
    space.insert("constraints", toml_edit::value(constraints));
    space.insert("default", toml_edit::value(default));
    doc.insert("launch_space", Item::Table(space));
    Ok(doc.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"
source = "k.cu"
flags = ["-Iinc", "-DX=1"]
[sizes]
n = 1000
[[buffer]]
name = "a"
type = "f64"
len = "n"
output = true
[[launch]]
kernel = "scale<double>"
grid = ["ceil_div(n, 256)"]
block = [256]
shared = 2048
args = ["a", "n"]
[[launch]]
for = { t = "0..3" }
do = [ { kernel = "rows", grid = [4], block = [8, 8], args = ["a", "n"] } ]
"#;

    fn free(kernel: &str, block: [u32; 3], axes: [Follow; 3]) -> Free {
        Free {
            kernel: kernel.into(),
            block,
            axes,
            most: 1024,
        }
    }

    #[test]
    fn blocks_become_parameters_and_grids_follow() {
        use Follow::{Blocks, Fixed, Threads};
        let all = [
            free("scale<double>", [256, 1, 1], [Threads, Fixed, Fixed]),
            free("rows", [8, 8, 1], [Blocks, Threads, Fixed]),
        ];
        let text = widen(FILE, Path::new("/w/dir/f.toml"), &all).expect("a file");
        for part in [
            "source = \"/w/dir/k.cu\"",
            "-I/w/dir/inc",
            "-DX=1",
            "\"ceil_div((ceil_div(n, 256)) * (256), scale_double_x)\"",
            "max(2048, ceil_div((2048) * scale_double_x, 256))",
            "\"ceil_div((1) * (8), rows_y)\"",
            "scale_double_x = [32, 64, 128, 256, 512, 1024]",
            "rows_x * rows_y * 1 <= 1024",
            "rows_x = 8",
        ] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
        // The number of blocks along x stays.
        assert!(text.contains("grid = [\"4\", \"ceil_div"), "{text}");
    }

    #[test]
    fn odd_blocks_keep_their_own_value() {
        let k = free(
            "k",
            [96, 3, 1],
            [Follow::Threads, Follow::Fixed, Follow::Fixed],
        );
        assert_eq!(k.values(0), [32, 64, 96, 128, 256]);
        let small = Free {
            most: 16,
            ..free("k", [8, 1, 1], [Follow::Threads; 3])
        };
        assert!(small.values(0).contains(&8));
    }
}
