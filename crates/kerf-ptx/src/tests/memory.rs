//! Memory, atomics, barriers and the exchanges of a warp.
use super::*;

fn with_pointer(ret: &str, text: &str, constraints: &str, more: &str) -> String {
    text_of(
        "ptr %p, i32 %a, float %x",
        ret,
        text,
        constraints,
        &format!("ptr %p{more}"),
    )
}

#[test]
fn loads_keep_space_width_and_hints() {
    let ir = with_pointer("float", "ld.global.nc.f32 $0, [$1];", "=f,l", "");
    assert!(
        ir.contains("addrspacecast ptr %p to ptr addrspace(1)"),
        "{ir}"
    );
    assert!(ir.contains("load float, ptr addrspace(1)"), "{ir}");
    assert!(ir.contains("!invariant.load"), "{ir}");
    let ir = with_pointer("i32", "ld.global.ca.s8 $0, [$1+3];", "=r,l", "");
    assert!(
        ir.contains("load i8") && ir.contains("sext i8") && ir.contains("i64 3"),
        "{ir}"
    );
    let four = "{ float, float, float, float }";
    let text = "ld.global.L1::no_allocate.L2::128B.v4.f32 {$0,$1,$2,$3}, [$4];";
    let ir = with_pointer(four, text, "=f,=f,=f,=f,l", "");
    assert!(
        ir.contains("load <4 x float>, ptr addrspace(1) %1, align 16"),
        "{ir}"
    );
}

#[test]
fn strong_accesses_are_volatile_or_atomic() {
    let ir = with_pointer("i32", "ld.volatile.global.u32 $0, [$1];", "=r,l", "");
    assert!(ir.contains("load volatile i32"), "{ir}");
    let ir = with_pointer("i32", "ld.global.cg.b32 $0, [$1];", "=r,l", "");
    assert!(ir.contains("load volatile i32"), "{ir}");
    let ir = with_pointer("i32", "ld.acquire.gpu.global.b32 $0, [$1];", "=r,l", "");
    assert!(
        ir.contains("load atomic i32") && ir.contains("syncscope(\"device\") acquire"),
        "{ir}"
    );
    let ir = with_pointer(
        "void",
        "st.release.sys.b32 [$0], $1;",
        "l,r,~{memory}",
        ", i32 %a",
    );
    assert!(ir.contains("store atomic i32 %a, ptr %p release"), "{ir}");
}

#[test]
fn stores_truncate_and_pack() {
    let ir = with_pointer(
        "void",
        "st.global.u8 [$0], $1;",
        "l,r,~{memory}",
        ", i32 %a",
    );
    assert!(
        ir.contains("trunc i32 %a to i8") && ir.contains("store i8"),
        "{ir}"
    );
    let text = "st.global.v2.f32 [$0], {$1,$1};";
    let ir = with_pointer("void", text, "l,f,~{memory}", ", float %x");
    assert!(
        ir.contains("store <2 x float>") && ir.contains("align 8"),
        "{ir}"
    );
}

#[test]
fn guarded_accesses_get_a_block() {
    let text = "{.reg .pred p; setp.ne.b32 p, $2, 0; mov.b32 $0, 7; @p ld.global.b32 $0, [$1];}";
    let ir = with_pointer("i32", text, "=r,l,r", ", i32 %a");
    assert!(ir.contains("br i1") && ir.contains("phi i32 [ 7,"), "{ir}");
    let text = "{.reg .pred p; setp.lt.s32 p,$1,0; @p st.b32 [$0],$1; @!p st.b32 [$0+8],$1;}";
    let ir = with_pointer("void", text, "l,r,~{memory}", ", i32 %a");
    assert_eq!(ir.matches("br i1").count(), 2, "{ir}");
}

#[test]
fn shared_addresses_find_their_pointer() {
    let ir = "@s = internal addrspace(3) global [64 x float] zeroinitializer
        define float @f(i32 %i) {
          %a = ptrtoint ptr addrspace(3) @s to i64
          %b = trunc i64 %a to i32
          %c = add i32 %b, %i
          %r = call float asm sideeffect \"ld.shared.f32 $0, [$1+4];\", \"=f,r\"(i32 %c)
          ret float %r
        }";
    let m = lifted(Module::parse(ir.as_bytes(), "test").unwrap());
    assert!(!m.print().contains("inttoptr"), "{}", m.print());
    assert!(
        m.print().contains("load float, ptr addrspace(3)"),
        "{}",
        m.print()
    );
    let text = "{.reg .u64 a; cvta.to.shared.u64 a, $1; cvt.u32.u64 $0, a;}";
    let ir = with_pointer("i32", text, "=r,l", "");
    assert!(
        ir.contains("addrspacecast ptr %p to ptr addrspace(3)"),
        "{ir}"
    );
}

#[test]
fn atomics_have_scope_and_order() {
    let rmw = |text: &str, constraints: &str, ret: &str, arg: &str| {
        with_pointer(ret, text, constraints, arg)
    };
    let ir = rmw(
        "atom.global.add.f32 $0,[$1],$2;",
        "=f,l,f",
        "float",
        ", float %x",
    );
    assert!(ir.contains("atomicrmw fadd ptr addrspace(1)"), "{ir}");
    assert!(ir.contains("syncscope(\"device\") monotonic"), "{ir}");
    let ir = rmw("red.shared.max.u32 [$0],$1;", "l,r", "void", ", i32 %a");
    assert!(ir.contains("atomicrmw umax ptr addrspace(3)"), "{ir}");
    let ir = rmw(
        "atom.acq_rel.cta.inc.u32 $0,[$1],$2;",
        "=r,l,r",
        "i32",
        ", i32 %a",
    );
    assert!(
        ir.contains("uinc_wrap ptr %p, i32 %a syncscope(\"block\") monotonic"),
        "{ir}"
    );
    assert_eq!(
        ir.matches("fence syncscope(\"block\") acq_rel").count(),
        2,
        "{ir}"
    );
    let ir = rmw("atom.cas.b32 $0,[$1],$2,$2;", "=r,l,r", "i32", ", i32 %a");
    assert!(
        ir.contains("cmpxchg ptr %p, i32 %a, i32 %a syncscope(\"device\") monotonic"),
        "{ir}"
    );
    let ir = rmw(
        "{ atom.add.noftz.f16x2 $0,[$1],$2; }",
        "=r,l,r",
        "i32",
        ", i32 %a",
    );
    assert_eq!(ir.matches("atomicrmw fadd").count(), 2, "{ir}");
}

#[test]
fn fences_barriers_and_hints() {
    for (text, want) in [
        ("membar.gl;", "fence syncscope(\"device\") seq_cst"),
        ("fence.acq_rel.cta;", "fence syncscope(\"block\") acq_rel"),
        ("fence.sc.sys;", "fence seq_cst"),
        (
            "bar.sync 0;",
            "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)",
        ),
        (
            "bar.sync 1, 128;",
            "@llvm.nvvm.barrier.cta.sync.aligned.count(i32 1, i32 128)",
        ),
        ("barrier.sync 2;", "@llvm.nvvm.barrier.cta.sync.all(i32 2)"),
        (
            "bar.arrive 1, 64;",
            "@llvm.nvvm.barrier.cta.arrive.aligned.count(i32 1, i32 64)",
        ),
        (
            "bar.warp.sync 0xffffffff;",
            "@llvm.nvvm.bar.warp.sync(i32 -1)",
        ),
        ("trap;", "call void @llvm.trap()"),
    ] {
        let ir = text_of("", "void", text, "~{memory}", "");
        assert!(ir.contains(want), "{text}: {ir}");
    }
    for nothing in [
        "",
        "  // barrier for the compiler\n",
        "nanosleep.u32 100;",
        ".pragma \"x\";",
    ] {
        let ir = text_of("", "void", nothing, "~{memory}", "");
        assert!(ir.contains("void @f() {\n  ret void"), "{nothing}: {ir}");
    }
    let ir = with_pointer("void", "prefetch.global.L2 [$0];", "l", "");
    assert!(ir.contains("{\n  ret void"), "{ir}");
}

#[test]
fn warps_exchange() {
    let run = |ret: &str, text: &str, constraints: &str, args: &str| {
        text_of("i32 %a, float %x", ret, text, constraints, args)
    };
    let text = "{shfl.sync.bfly.b32 $0,$1,$2,$3,$4;\n}";
    let ir = run("i32", text, "=r,r,r,r,r", "i32 %a, i32 16, i32 31, i32 -1");
    assert!(
        ir.contains("@llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %a, i32 16, i32 31)"),
        "{ir}"
    );
    let ir = run(
        "float",
        text,
        "=f,f,r,r,r",
        "float %x, i32 16, i32 31, i32 -1",
    );
    assert!(ir.contains("@llvm.nvvm.shfl.sync.bfly.f32("), "{ir}");
    let text = "{.reg .pred p; shfl.sync.up.b32 $0|p, $2, 1, 0, -1; selp.u32 $1,1,0,p;}";
    let ir = run("{ i32, i32 }", text, "=r,=r,r", "i32 %a");
    assert!(ir.contains("@llvm.nvvm.shfl.sync.up.i32p("), "{ir}");
    let text = "{.reg .pred p; setp.ne.s32 p,$1,0; vote.sync.ballot.b32 $0, p, -1;}";
    assert!(run("i32", text, "=r,r", "i32 %a").contains("@llvm.nvvm.vote.ballot.sync(i32 -1"));
    for (text, name) in [
        (
            "match.any.sync.b32 $0,$1,-1;",
            "match.any.sync.i32(i32 -1, i32 %a)",
        ),
        (
            "redux.sync.min.u32 $0,$1,-1;",
            "redux.sync.umin(i32 %a, i32 -1)",
        ),
        (
            "redux.sync.xor.b32 $0,$1,-1;",
            "redux.sync.xor(i32 %a, i32 -1)",
        ),
    ] {
        let ir = run("i32", text, "=r,r", "i32 %a");
        assert!(ir.contains(&format!("@llvm.nvvm.{name}")), "{text}: {ir}");
    }
    assert!(run("i32", "activemask.b32 $0;", "=r", "").contains("@llvm.nvvm.activemask()"));
}
