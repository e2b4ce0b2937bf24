//! Whole files: what kernels become, and what mistakes say.
use super::*;

const HEAD: &str = ".version 8.3\n.target sm_90\n.address_size 64\n";

/// The module of a file that is lifted completely.
fn file(text: &str) -> String {
    let (m, left) = translate(&format!("{HEAD}{text}"), "k.ptx").unwrap_or_else(|e| panic!("{e}"));
    assert!(left.is_empty(), "{left:?}");
    m.print()
}

/// A kernel of these parameters with this body; registers are declared.
fn kernel(params: &str, body: &str) -> String {
    let registers =
        ".reg .pred %p<9>; .reg .b16 %rs<9>; .reg .b32 %r<19>; .reg .f32 %f<9>; .reg .b64 %rd<19>;";
    file(&format!(
        ".visible .entry k({params})\n{{ {registers}\n{body}\nret;\n}}"
    ))
}

fn mistake(text: &str) -> String {
    match translate(text, "k.ptx") {
        Ok(_) => panic!("{text} is accepted"),
        Err(e) => e.to_string(),
    }
}

fn has(ir: &str, line: &str) {
    assert!(ir.contains(line), "{line} is not in\n{ir}");
}

#[test]
fn parameters_are_what_they_are_used_as() {
    let ir = kernel(
        ".param .u64 k_param_0, .param .b32 k_param_1, .param .b32 n, .param .u64 size, .param .b64 k_param_4",
        "ld.param.u64 %rd1, [k_param_0]; ld.param.b32 %r1, [k_param_1]; ld.param.b32 %r2, [n];
         ld.param.u64 %rd5, [size]; ld.param.b64 %rd6, [k_param_4];
         cvta.to.global.u64 %rd2, %rd1; mul.wide.s32 %rd3, %r2, 4; add.s64 %rd4, %rd2, %rd3;
         add.s64 %rd7, %rd4, %rd5; ld.global.b32 %r3, [%rd7+8]; add.rn.f32 %r4, %r3, %r1;
         st.global.b32 [%rd7+8], %r4; add.rn.f64 %rd8, %rd6, %rd6; st.global.b64 [%rd2], %rd8;",
    );
    has(
        &ir,
        "define ptx_kernel void @k(ptr %0, float %1, i32 %n, i64 %size, double %2)",
    );
    has(&ir, "load float, ptr");
    has(&ir, "store double");
    assert_eq!(ir.matches("inttoptr").count(), 1, "only of the size: {ir}");
}

#[test]
fn loops_over_addresses_are_loops_over_pointers() {
    let ir = kernel(
        ".param .u64 k_param_0, .param .u32 k_param_1",
        "ld.param.u64 %rd1, [k_param_0]; ld.param.u32 %r1, [k_param_1];
         cvta.to.global.u64 %rd2, %rd1; mov.f32 %f1, 0f00000000; mov.u32 %r2, 0;
         $L1: ld.global.f32 %f2, [%rd2]; add.f32 %f1, %f1, %f2; add.s64 %rd2, %rd2, 4;
         add.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r2, %r1; @%p1 bra $L1;
         cvta.to.global.u64 %rd3, %rd1; st.global.f32 [%rd3], %f1;",
    );
    has(&ir, "phi ptr");
    has(&ir, "phi float");
    has(&ir, "fadd contract float");
    assert!(!ir.contains("inttoptr") && !ir.contains("alloca"), "{ir}");
}

#[test]
fn explicit_rounding_is_never_fused() {
    let ir = kernel(
        ".param .u64 k_param_0",
        "ld.param.u64 %rd1, [k_param_0]; ld.global.f32 %f1, [%rd1];
         mul.rn.f32 %f2, %f1, %f1; add.rn.f32 %f3, %f2, %f1; st.global.f32 [%rd1], %f3;",
    );
    has(&ir, "fmul float");
    has(&ir, "fadd float");
}

#[test]
fn shared_memory_has_the_type_of_its_elements() {
    let ir = file(
        ".shared .align 4 .b8 tile[64];\n.extern .shared .align 16 .b8 more[];\n
         .visible .entry k(.param .u64 k_param_0) { .reg .b32 %r<9>; .reg .f32 %f<3>; .reg .b64 %rd<5>;
         mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 2; mov.u32 %r3, tile; add.s32 %r4, %r3, %r2;
         ld.param.u64 %rd1, [k_param_0]; ld.global.f32 %f1, [%rd1]; st.shared.f32 [%r4], %f1; bar.sync 0;
         ld.shared.f32 %f2, [%r4+4]; mov.u32 %r5, more; add.s32 %r6, %r5, %r2; xor.b32 %r7, %r6, 16;
         st.shared.f32 [%r7], %f2; st.shared.f32 [tile+8], %f2; ret; }",
    );
    has(
        &ir,
        "@tile = internal addrspace(3) global [16 x float] undef, align 4",
    );
    has(
        &ir,
        "@more = external addrspace(3) global [0 x i8], align 16",
    );
    has(&ir, "getelementptr (i8, ptr addrspace(3) @tile, i64 8)");
    assert!(!ir.contains("inttoptr"), "{ir}");
}

#[test]
fn functions_are_called_and_structs_passed() {
    let ir = file(
        ".func (.param .b32 r) twice(.param .b32 x) { .reg .f32 %f<3>; ld.param.f32 %f1, [x+0];
           add.rn.f32 %f2, %f1, %f1; st.param.f32 [r+0], %f2; ret; }
         .visible .entry k(.param .align 8 .b8 s[24]) { .reg .f32 %f<4>; .reg .b64 %rd<3>; .reg .pred %p<2>;
           ld.param.u64 %rd1, [s]; ld.param.f32 %f1, [s+8]; cvta.to.global.u64 %rd2, %rd1;
           setp.gt.f32 %p1, %f1, 0f00000000; @!%p1 bra $L2;
           { .param .b32 a; st.param.f32 [a+0], %f1; .param .b32 b;
             call.uni (b), twice, (a); ld.param.f32 %f2, [b+0]; }
           { .param .b32 a; st.param.f32 [a+0], %f2; .param .b32 b;
             call.uni (b), twice, (a); ld.param.f32 %f2, [b+0]; }
           st.global.f32 [%rd2], %f2; $L2: ret; }",
    );
    has(&ir, "byval({ ptr, float, float, float, float }) align 8 %s");
    assert_eq!(ir.matches("fadd float").count(), 2, "{ir}");
    assert!(!ir.contains(" call "), "{ir}");
}

#[test]
fn tables_and_variables_keep_their_content() {
    let ir = file(
        ".const .align 4 .b8 table[8] = {0, 0, 128, 63, 0, 0, 0, 64};\n.visible .global .align 4 .f32 g[3] = {0f3F800000, 2.5};\n
         .visible .const .align 8 .f64 c;\n.global .align 8 .u64 where = generic(g)+4;\n
         .visible .entry k(.param .u64 k_param_0) { .reg .f32 %f<3>; .reg .b64 %rd<5>; .reg .b32 %r<2>;
         mov.u32 %r1, %tid.x; mul.wide.u32 %rd1, %r1, 4; mov.u64 %rd2, table; add.s64 %rd3, %rd2, %rd1;
         ld.const.f32 %f1, [%rd3]; st.global.f32 [g+4], %f1; ld.param.u64 %rd4, [k_param_0]; st.global.f32 [%rd4], %f1; ret; }",
    );
    has(
        &ir,
        "@table = internal addrspace(4) constant [2 x float] [float 1.000000e+00, float 2.000000e+00]",
    );
    has(
        &ir,
        "[3 x float] [float 1.000000e+00, float 2.500000e+00, float 0.000000e+00]",
    );
    has(
        &ir,
        "@c = addrspace(4) externally_initialized constant double 0.000000e+00",
    );
}

#[test]
fn predicates_guard_memory_and_barriers_and_jumps_go_by_tables() {
    let ir = kernel(
        ".param .u64 k_param_0",
        "ld.param.u64 %rd1, [k_param_0]; mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 7; mov.b32 %r3, 0;
         @%p1 ld.global.v4.b32 {%r2, %r3, _, %r4}, [%rd1]; @!%p1 bar.sync 1, 32;
         $T: .branchtargets $A, $B, $C; brx.idx %r1, $T;
         $A: add.s32 %r3, %r3, 1; $B: add.s32 %r3, %r3, %r2; @%p1 ret; $C: st.global.u32 [%rd1], %r3;",
    );
    has(&ir, "load <4 x i32>");
    has(&ir, "call void @llvm.nvvm.barrier.cta.sync.aligned.count");
    has(&ir, "icmp eq i32");
}

#[test]
fn lines_are_those_of_the_source_or_of_the_text() {
    let body = ".reg .f32 %f<3>; .reg .b64 %rd<3>; ld.param.u64 %rd1, [k_param_0]; ld.global.f32 %f1, [%rd1];\nadd.rn.f32 %f2, %f1, %f1;\nst.global.f32 [%rd1], %f2; ret; }";
    let head = ".visible .entry k(.param .u64 k_param_0) {";
    let plain = file(&format!("{head}\n{body}"));
    has(&plain, "!DILocation(line: 6, column: 1");
    let located = file(&format!(
        ".file 1 \"/src/k.cu\"\n.file 2 \"/src/h.cuh\"\n{head}\n.loc 1 40 3\n.loc 2 7 9, function_name $L__str, inlined_at 1 41 5\n{body}\n.section .debug_str {{ $L__str: .b8 102,0 }}"
    ));
    has(&located, "!DIFile(filename: \"/src/k.cu\"");
    has(&located, "!DILocation(line: 7, column: 9");
    has(&located, "!DILocation(line: 41, column: 5");
}

#[test]
fn launch_bounds_are_kept() {
    let ir = file(
        ".entry k() .maxntid 256, 1, 1 .minnctapersm 2 { ret; }\n.entry l() .reqntid 64 { ret; }",
    );
    has(&ir, "\"nvvm.maxntid\"=\"256,1,1\"");
    has(&ir, "\"nvvm.minctasm\"=\"2\"");
    has(&ir, "\"nvvm.reqntid\"=\"64\"");
}

#[test]
fn refused_statements_leave_other_kernels_alone() {
    let text = format!(
        "{HEAD}.entry bad() {{ .reg .b32 %r<9>;\n  mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {{%r1}}, {{%r2}}, {{%r3}}, {{%r4}};\n\
         tex.2d.v4.f32.s32 {{%r1,%r2,%r3,%r4}}, [t, {{%r5,%r6}}];\n  mov.u32 %r1, %nosuch;\n bra $GONE; mov.u32 %r1 %r2;\n ret; }}\n.entry good() {{ ret; }}"
    );
    let (m, left) = translate(&text, "k.ptx").unwrap();
    m.verify().unwrap();
    let told: Vec<(&str, &str)> = left
        .iter()
        .map(|u| (u.text.as_str(), u.location.as_deref().unwrap()))
        .collect();
    assert_eq!(
        told,
        [
            (
                "// refused: mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
                "k.ptx:5:3"
            ),
            ("// refused: tex.2d.v4.f32.s32", "k.ptx:6:1"),
            ("// refused: mov.u32", "k.ptx:7:3"),
            ("// refused: bra", "k.ptx:8:2"),
            ("// refused: mov.u32", "k.ptx:8:13"),
        ]
    );
    assert!(left.iter().all(|u| u.whole_function && u.function == "bad"));
    assert!(left[3].reason.contains("$GONE"), "{}", left[3].reason);
    let good = m.function("good").unwrap();
    assert!(!good.print().contains("asm"), "{}", good.print());
}

#[test]
fn mistakes_say_where_and_what() {
    for (text, line, what) in [
        ("", 1, ".version"),
        ("hello", 1, "`hello`"),
        (".version 6.5\n", 1, "6.5"),
        (".version 8.3\n.target sm_90\n.address_size 32\n", 3, "64"),
        (
            ".version 8.3\n.target sm_90\n.visible .entry k(\n.param .u64 a)\n{ ret;\n",
            5,
            "brace",
        ),
        (
            ".version 8.3\n.entry k() { ret; }\n.entry k() { ret; }",
            3,
            "twice",
        ),
        (
            ".version 8.3\n.global .align 3 .b8 x[4];",
            2,
            "power of two",
        ),
        (
            ".version 8.3\n.global .u32 x[99999999999999];",
            2,
            "too long",
        ),
        (".version 8.3\n.entry k() { @ ; }", 2, "`;`"),
        (".version 8.3\n.entry k() { 0q1; }", 2, "0q1"),
        (".version 8.3\n.global .u64 x = y;", 2, "y is not declared"),
    ] {
        let said = mistake(text);
        assert!(said.contains(what), "{text}: {said}");
        assert!(said.starts_with(&format!("line {line},")), "{text}: {said}");
    }
}

#[test]
fn nothing_odd_brings_the_reader_down() {
    let text = format!(
        "{HEAD}.shared .align 4 .b8 s[16];\n.func (.param .b32 r) g(.param .b32 x) {{ ret; }}\n.visible .entry k(.param .u64 a) .maxntid 32 {{\n\
         .reg .b32 %r<9>; .reg .pred %p<2>; .reg .b64 %rd<3>;\n.loc 1 2 3\nld.param.u64 %rd1, [a];\n@%p1 bra $L;\n\
         {{ .param .b32 q; st.param.b32 [q], %r1; call (q), g, (q); }}\nst.shared.v2.b32 [s+4], {{%r1, 7}};\n$L: ret;\n}}"
    );
    assert!(translate(&text, "k.ptx").is_ok());
    let words: Vec<&str> = text.split_inclusive([' ', '\n', ';', ',']).collect();
    let mut state = 1u64;
    let mut random = |n: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as usize % n
    };
    for _ in 0..400 {
        let mut changed = words.clone();
        for _ in 0..2 {
            let (from, to) = (random(changed.len()), random(changed.len()));
            match random(3) {
                0 => _ = changed.remove(from),
                1 => changed[from] = words[random(words.len())],
                _ => changed.swap(from, to),
            }
        }
        if let Ok((m, _)) = translate(&changed.concat(), "k.ptx") {
            m.verify()
                .unwrap_or_else(|e| panic!("{e}\n{}", changed.concat()));
        }
    }
    for cut in 0..text.len() {
        let _ = translate(&text[..cut], "k.ptx");
    }
}
