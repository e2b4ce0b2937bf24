//! What blocks are to a kernel: pieces of one row of threads, which can be cut otherwise, or pieces of work.
use crate::registers::{read_elsewhere, reads};
use kerf_llvm::{Opcode, Value};

/// What another block along an axis would mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Threads are counted through all blocks: other blocks with as many threads do the same.
    Threads,
    /// Each block has its own piece of work, which its threads share: any number of threads does.
    Blocks,
    /// Another block would be another program.
    Fixed(&'static str),
}

const AXES: [&str; 3] = ["x", "y", "z"];

fn is_cast(v: Value) -> bool {
    use Opcode::*;
    matches!(
        v.opcode(),
        Some(LLVMZExt | LLVMSExt | LLVMTrunc | LLVMFreeze)
    )
}

/// Uses of a value that are not casts, with what is used there.
pub(crate) fn uses(v: Value) -> Vec<(Value, Value)> {
    let mut out = Vec::new();
    let mut seen = vec![v];
    let mut next = 0;
    while let Some(v) = seen.get(next).copied() {
        next += 1;
        for u in v.users() {
            match is_cast(u) {
                true if seen.contains(&u) => {}
                true => seen.push(u),
                false => out.push((u, v)),
            }
        }
    }
    out
}

/// Casts one behind the other that are looked through.
const MOST_CASTS: usize = 16;

/// What a value is but for casts.
pub(crate) fn plain(mut v: Value) -> Value {
    for _ in 0..MOST_CASTS {
        if !is_cast(v) {
            break;
        }
        v = v.operand(0);
    }
    v
}

/// The role of blocks along each axis.
pub fn roles(kernel: Value) -> [Role; 3] {
    let index = |r: &str| r.starts_with("ctaid") || r.starts_with("ntid") || r.starts_with("tid");
    if read_elsewhere(kernel, index).is_some() {
        return [Role::Fixed("a function that was not inlined reads indices"); 3];
    }
    let all = reads(kernel);
    AXES.map(|axis| {
        let of = |what: &str| -> Vec<Value> {
            let name = format!("{what}.{axis}");
            let mine = all.iter().filter(|(_, r)| *r == name);
            mine.map(|(v, _)| *v).collect()
        };
        let (blocks, sizes) = (of("ctaid"), of("ntid"));
        if sizes.is_empty() {
            return Role::Fixed(
                "the kernel never reads blockDim there, so its block is part of its code",
            );
        }
        // Index times size, on either side.
        let counted = |(u, used): &(Value, Value)| {
            u.opcode() == Some(Opcode::LLVMMul)
                && u.operands()
                    .into_iter()
                    .filter(|o| *o != *used)
                    .any(|o| sizes.contains(&plain(o)))
        };
        let all: Vec<(Value, Value)> = blocks.iter().flat_map(|b| uses(*b)).collect();
        let through = all.iter().filter(|u| counted(u)).count();
        match (through, all.len()) {
            (0, _) => Role::Blocks,
            (a, b) if a == b => Role::Threads,
            _ => Role::Fixed("blockIdx is used both to count threads and by itself"),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use kerf_llvm::Module;

    fn roles_of_body(body: &str) -> [Role; 3] {
        let text = format!(
            r#"
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
define ptx_kernel void @k(ptr addrspace(1) %p) {{
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  {body}
  %q = getelementptr i32, ptr addrspace(1) %p, i32 %i
  store i32 1, ptr addrspace(1) %q
  ret void
}}
"#
        );
        let m = Module::parse(text.as_bytes(), "roles").expect("a module");
        roles(m.function("k").expect("a kernel"))
    }

    const N: &str = "%n = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()\n";
    const B: &str = "%b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()\n";

    #[test]
    fn what_blocks_are() {
        let counted = format!("{N}{B}%m = mul i32 %n, %b\n%i = add i32 %m, %t");
        assert_eq!(roles_of_body(&counted)[0], Role::Threads);
        assert!(matches!(roles_of_body(&counted)[1], Role::Fixed(_)));
        let pieces =
            format!("{N}{B}%m = mul i32 %b, 100\n%s = add i32 %m, %t\n%i = add i32 %s, %n");
        assert_eq!(roles_of_body(&pieces)[0], Role::Blocks);
        let baked = format!("{B}%m = mul i32 %b, 128\n%i = add i32 %m, %t");
        assert!(matches!(roles_of_body(&baked)[0], Role::Fixed(why) if why.contains("blockDim")));
        let both = format!("{N}{B}%m = mul i32 %n, %b\n%s = add i32 %m, %t\n%i = add i32 %s, %b");
        assert!(matches!(roles_of_body(&both)[0], Role::Fixed(why) if why.contains("both")));
    }
}
