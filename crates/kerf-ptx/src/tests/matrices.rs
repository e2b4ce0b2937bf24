//! Operations of tensor cores become the intrinsics from which the same instructions are made.
use super::*;

/// The module's text has each of these.
fn has(ir: &str, parts: &[&str]) {
    for p in parts {
        assert!(ir.contains(p), "{p} in\n{ir}");
    }
}

#[test]
fn products_take_the_registers_of_their_formats() {
    let four = "{ i32, i32, i32, i32 }";
    let ir = text_of(
        "i32 %a, i32 %b, float %c",
        "{ float, float, float, float }",
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {$0,$1,$2,$3}, {$4,$4,$5,$5}, {$5,$4}, {$6,$6,$6,$6};",
        "=f,=f,=f,=f,r,r,f",
        "i32 %a, i32 %b, float %c",
    );
    has(
        &ir,
        &[
            "@llvm.nvvm.mma.m16n8k16.row.col.f32.f32(<2 x half>",
            "bitcast i32 %a to <2 x half>",
        ],
    );
    let ir = text_of(
        "i32 %a",
        four,
        "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.u8.s8.s32 {$0,$1,$2,$3}, {$4,$4,$4,$4}, {$4,$4}, {$4,$4,$4,$4};",
        "=r,=r,=r,=r,r",
        "i32 %a",
    );
    has(
        &ir,
        &["@llvm.nvvm.mma.m16n8k32.row.col.satfinite.u8.s8(i32"],
    );
    for (text, intrinsic) in [
        (
            "m16n8k8.row.col.f32.bf16.bf16.f32 {$0,$1,$2,$3}, {$4,$4}, {$4}",
            "m16n8k8.row.col.bf16(i32",
        ),
        (
            "m16n8k4.row.col.f32.tf32.tf32.f32 {$0,$1,$2,$3}, {$4,$4}, $4",
            "m16n8k4.row.col.tf32(i32",
        ),
    ] {
        let text = format!("mma.sync.aligned.{text}, {{$5,$5,$5,$5}};");
        let result = "{ float, float, float, float }";
        let ir = text_of(
            "i32 %a, float %c",
            result,
            &text,
            "=f,=f,=f,=f,r,f",
            "i32 %a, float %c",
        );
        has(&ir, &[&format!("@llvm.nvvm.mma.{intrinsic}")]);
    }
    let ir = text_of(
        "double %a",
        "{ double, double }",
        "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {$0,$1}, {$2}, {$2}, {$2,$2};",
        "=d,=d,d",
        "double %a",
    );
    has(&ir, &["@llvm.nvvm.mma.m8n8k4.row.col.f64(double"]);
}

#[test]
fn matrices_are_loaded_and_stored() {
    let ir = text_of(
        "ptr addrspace(3) %p",
        "{ i32, i32 }",
        "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {$0,$1}, [$2 + 32];",
        "=r,=r,l",
        "ptr addrspace(3) %p",
    );
    has(
        &ir,
        &["@llvm.nvvm.ldmatrix.sync.aligned.m8n8.x2.trans.b16.p3(ptr addrspace(3)"],
    );
    let ir = text_of(
        "ptr addrspace(3) %p, i32 %a",
        "void",
        "stmatrix.sync.aligned.m8n8.x1.shared::cta.b16 [$0], {$1};",
        "l,r",
        "ptr addrspace(3) %p, i32 %a",
    );
    has(
        &ir,
        &["@llvm.nvvm.stmatrix.sync.aligned.m8n8.x1.b16.p3(ptr addrspace(3) %p, i32 %a)"],
    );
    let ir = text_of(
        "ptr addrspace(1) %p, i32 %n",
        "{ i32, i32, i32, i32, i32, i32, i32, i32 }",
        "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {$0,$1,$2,$3,$4,$5,$6,$7}, [$8], $9;",
        "=r,=r,=r,=r,=r,=r,=r,=r,l,r",
        "ptr addrspace(1) %p, i32 %n",
    );
    has(
        &ir,
        &["@llvm.nvvm.wmma.m16n16k16.load.a.row.stride.f16.p1(ptr addrspace(1) %p, i32 %n)"],
    );
    let ir = text_of(
        "ptr addrspace(1) %p, float %a",
        "void",
        "wmma.store.d.sync.aligned.col.m16n16k8.global.f32 [$0], {$1,$1,$1,$1,$1,$1,$1,$1}, 16;",
        "l,f",
        "ptr addrspace(1) %p, float %a",
    );
    has(&ir, &["@llvm.nvvm.wmma.m16n16k8.store.d.col.stride.f32.p1"]);
    let ir = text_of(
        "i32 %a",
        "{ i32, i32, i32, i32, i32, i32, i32, i32 }",
        "wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.s32.satfinite {$0,$1,$2,$3,$4,$5,$6,$7}, {$8,$8}, {$8,$8}, {$8,$8,$8,$8,$8,$8,$8,$8};",
        "=r,=r,=r,=r,=r,=r,=r,=r,r",
        "i32 %a",
    );
    has(
        &ir,
        &["@llvm.nvvm.wmma.m16n16k16.mma.row.col.s8.satfinite(i32"],
    );
}

#[test]
fn asynchronous_copies_of_inline_ptx_stay_asynchronous() {
    let args = "ptr addrspace(3) %to, ptr addrspace(1) %from, i32 %n";
    let text = "cp.async.cg.shared.global.L2::128B [$0], [$1], 16, $2; cp.async.commit_group; cp.async.wait_group 1; cp.async.wait_all;";
    let ir = text_of(args, "void", text, "l,l,r", args);
    has(
        &ir,
        &[
            "@llvm.nvvm.cp.async.cg.shared.global.16.s(ptr addrspace(3) %to, ptr addrspace(1) %from, i32 %n)",
            "@llvm.nvvm.cp.async.commit.group()",
            "@llvm.nvvm.cp.async.wait.group(i32 1)",
            "@llvm.nvvm.cp.async.wait.all()",
        ],
    );
}

#[test]
fn forms_without_an_intrinsic_are_refused() {
    for (text, part) in [
        (
            "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32 {$0}, {$0}, {$0}, {$0};",
            "s4",
        ),
        (
            "mma.sync.aligned.m16n8k16.col.row.f32.f16.f16.f32 {$0}, {$0}, {$0}, {$0};",
            "col.row",
        ),
        (
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {$0}, {$0}, {$0}, {$0};",
            "operands",
        ),
        (
            "ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b4x16_p64 {$0}, [$0];",
            "ldmatrix",
        ),
        ("cp.async.mbarrier.arrive.shared.b64 [$0];", "cp.async"),
    ] {
        let why = reason("i32 %a", "void", text, "r", "i32 %a");
        assert!(why.contains(part), "{text}: {why}");
    }
}
