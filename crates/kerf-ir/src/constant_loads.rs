//! Loads of constant memory kept out of uniform registers, in what becomes PTX and in nothing else.
//!
//! Where an address is the same in all threads of a warp and changes from iteration to iteration,
//! NVIDIA's assembler (ptxas 12.9 and 13.0, driver 580's) holds it in a uniform register and loads by
//! `ULDC c[3][UR]`. On an H200 such a load takes 20 to 27 clocks that nothing overlaps with, so that a loop
//! over a table in constant memory took up to four times as long as with `LDC c[3][R]` of the same address.
//! Whether a loop gets one or the other hangs on what else is in it, and so on the plan.
//! Measured with mri_q: f32 1.36 to 0.32 ms, f64 with everything in the loop lowered 0.89 to 0.22 ms, f64 as it is (a loop
//! with a call, the slow path of libdevice's sine) 0.71 to 0.40 ms.
//!
//! The base of such addresses gets a zero added that the assembler cannot know to be one, nor to be the
//! same in all threads: whether a thread's index is beyond its block. It costs one comparison for each
//! thread and one register. Loads at constant addresses stay as they are: they are operands of other
//! instructions and cost nothing. Before sm_75 there are no uniform registers.
use kerf_llvm::{Builder, IntPred, Module, Opcode, Value};

/// The number of constant memory's address space.
const CONSTANT: u32 = 4;

/// Rewrites the addresses of constant memory that change in loops. The module is to be emitted as PTX
/// right after.
pub fn spread(m: &Module, capability: u64) {
    if capability < 75 {
        return;
    }
    for f in m.functions().into_iter().filter(|f| !f.is_declaration()) {
        if loads_in_loops(f) {
            spread_in(f);
        }
    }
}

fn is_constant_pointer(v: Value) -> bool {
    v.ty().is_ptr() && v.ty().space() == CONSTANT
}

/// Does a function load constant memory in a loop, at addresses that are not constants?
fn loads_in_loops(f: Value) -> bool {
    let blocks = f.blocks().into_iter().zip(f.loop_depths());
    let inner = blocks.filter(|(_, depth)| *depth > 0);
    inner.flat_map(|(b, _)| b.instructions()).any(|i| {
        i.opcode() == Some(Opcode::LLVMLoad)
            && is_constant_pointer(i.operand(0))
            && !i.operand(0).is_constant()
    })
}

/// Operands of an instruction that are constant addresses from which it makes others.
fn bases(i: Value) -> Vec<u32> {
    if !is_constant_pointer(i) {
        return Vec::new();
    }
    let all: Vec<u32> = match i.opcode() {
        Some(Opcode::LLVMGetElementPtr) => {
            let fixed = i.operands()[1..].iter().all(|x| x.is_constant());
            if fixed { Vec::new() } else { vec![0] }
        }
        Some(Opcode::LLVMSelect) => vec![1, 2],
        Some(Opcode::LLVMPHI) => (0..i.operands().len() as u32).collect(),
        _ => Vec::new(),
    };
    let known = |v: Value| v.is_constant() && !v.is_undef() && !v.is_poison();
    all.into_iter().filter(|n| known(i.operand(*n))).collect()
}

fn spread_in(f: Value) {
    let uses: Vec<(Value, u32)> = f
        .instructions()
        .into_iter()
        .flat_map(|i| bases(i).into_iter().map(move |n| (i, n)))
        .collect();
    let first = f.blocks()[0]
        .instructions()
        .into_iter()
        .find(|i| i.opcode() != Some(Opcode::LLVMAlloca));
    let Some(first) = first.filter(|_| !uses.is_empty()) else {
        return;
    };
    let b = Builder::before(first);
    let register = |name: &str| {
        let name = format!("llvm.nvvm.read.ptx.sreg.{name}");
        b.intrinsic(&name, &[], &[])
    };
    let beyond = b.icmp(IntPred::LLVMIntUGE, register("tid.x"), register("ntid.x"));
    let zero = b.zext_or_trunc(beyond, b.int_ty(64));
    let mut made: Vec<(Value, Value)> = Vec::new();
    for (i, n) in uses {
        let base = i.operand(n);
        let known = made.iter().find(|(from, _)| *from == base).map(|m| m.1);
        let spread = known.unwrap_or_else(|| {
            let new = b.offset(base, zero);
            made.push((base, new));
            new
        });
        i.set_operand(n, spread);
    }
}

#[cfg(test)]
mod tests {
    use crate::finish::ptx;
    use kerf_llvm::Module;

    const HEAD: &str = r#"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@table = addrspace(4) externally_initialized global [256 x float] zeroinitializer, align 4
"#;

    fn emitted(body: &str, arch: &str) -> String {
        let text = format!("{HEAD}{body}");
        let m = Module::parse(text.as_bytes(), "constant").expect("parses");
        ptx(&m, arch).expect("emits")
    }

    const LOOP: &str = r#"
define ptx_kernel void @sum(ptr addrspace(1) %out, i32 %n) {
entry:
  br label %loop
loop:
  %k = phi i32 [ 0, %entry ], [ %next, %loop ]
  %s = phi float [ 0.0, %entry ], [ %t, %loop ]
  %at = zext i32 %k to i64
  %p = getelementptr inbounds [256 x float], ptr addrspace(4) @table, i64 0, i64 %at
  %x = load float, ptr addrspace(4) %p, align 4
  %t = fadd float %s, %x
  %next = add i32 %k, 1
  %more = icmp slt i32 %next, %n
  br i1 %more, label %loop, label %done
done:
  store float %t, ptr addrspace(1) %out, align 4
  ret void
}
"#;

    #[test]
    fn addresses_that_change_in_a_loop_are_spread() {
        let text = emitted(LOOP, "sm_90");
        assert!(
            text.contains("%tid.x") && text.contains("%ntid.x"),
            "{text}"
        );
        assert!(text.contains("ld.const"), "{text}");
    }

    #[test]
    fn generic_pointers_are_followed() {
        let generic = LOOP
            .replace(
                "ptr addrspace(4) @table",
                "ptr addrspacecast (ptr addrspace(4) @table to ptr)",
            )
            .replace("load float, ptr addrspace(4) %p", "load float, ptr %p");
        let text = emitted(&generic, "sm_90");
        assert!(
            text.contains("%ntid.x") && text.contains("ld.const"),
            "{text}"
        );
    }

    #[test]
    fn a_pointer_that_walks_is_spread() {
        let from =
            "%p = getelementptr inbounds [256 x float], ptr addrspace(4) @table, i64 0, i64 %at";
        let walking = LOOP
            .replace(
                from,
                "%q = getelementptr inbounds i8, ptr addrspace(4) %p, i64 4",
            )
            .replace("  %at = zext i32 %k to i64\n", "")
            .replace(
                "  %k = phi",
                "  %p = phi ptr addrspace(4) [ @table, %entry ], [ %q, %loop ]\n  %k = phi",
            );
        let text = emitted(&walking, "sm_90");
        assert!(text.contains("%ntid.x"), "{text}");
    }

    #[test]
    fn loops_with_calls_are_spread_too() {
        let calls = LOOP
            .replace(
                "%t = fadd float %s, %x",
                "%t = call float @other(float %s, float %x)",
            )
            .replace(
                "define ptx_kernel",
                "declare float @other(float, float)\ndefine ptx_kernel",
            );
        assert!(emitted(&calls, "sm_90").contains("%ntid.x"));
    }

    #[test]
    fn constant_addresses_and_old_devices_are_left_alone() {
        let straight = r#"
define ptx_kernel void @one(ptr addrspace(1) %out) {
  %x = load float, ptr addrspace(4) getelementptr inbounds (i8, ptr addrspace(4) @table, i64 12), align 4
  store float %x, ptr addrspace(1) %out, align 4
  ret void
}
"#;
        let text = emitted(straight, "sm_90");
        assert!(
            text.contains("table+12") && !text.contains("%ntid.x"),
            "{text}"
        );
        assert!(!emitted(LOOP, "sm_70").contains("%ntid.x"));
    }
}
