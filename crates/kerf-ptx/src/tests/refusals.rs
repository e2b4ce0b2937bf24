//! What is left in place, and that nothing odd brings the lifter down.
use super::*;

#[test]
fn names_the_opcode() {
    for text in [
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {$0}, {$0}, {$0}, {$0};",
        "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {$0}, {$0}, {$0}, {$0}, $0, 0;",
        "cp.async.bulk.commit_group;",
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {$0}, [$0];",
        "mbarrier.init.shared.b64 [$0], $0;",
        "cvt.rn.satfinite.e2m1x2.f32 $0, $0, $0;",
        "exit;",
        "elect.sync $0, -1;",
        "add.rz.bf16 $0, $0, $0;",
        "fma.rn.oob.f16 $0, $0, $0, $0;",
    ] {
        let why = reason("i32 %a", "void", text, "r", "i32 %a");
        let opcode = text.split(['.', ';', ' ']).next().unwrap();
        assert!(why.contains(opcode), "{text}: {why}");
    }
}

#[test]
fn refuses_what_crosses_statements() {
    let ir = "define i32 @f(i32 %a) {
          %x = call i32 asm sideeffect \"add.cc.u32 $0,$1,$1;\", \"=r,r\"(i32 %a)
          %y = call i32 asm sideeffect \"addc.u32 $0,$1,$1;\", \"=r,r\"(i32 %x)
          ret i32 %y
        }";
    let m = Module::parse(ir.as_bytes(), "test").unwrap();
    let left = lift(&m);
    assert_eq!(left.len(), 2, "{left:?}");
    assert!(left.iter().all(|u| u.reason.contains("carry")));
    let alone = "{add.cc.u32 $0,$1,$1;}";
    text_of("i32 %a", "i32", alone, "=r,r", "i32 %a");
}

#[test]
fn refuses_collectives_under_a_predicate() {
    let text = "{.reg .pred p; setp.ne.s32 p,$0,0; @p bar.sync 0;}";
    assert!(reason("i32 %a", "void", text, "r", "i32 %a").contains("bar.sync under a predicate"));
}

#[test]
fn refuses_misfits() {
    let run = |text: &str, constraints: &str| reason("i32 %a", "i32", text, constraints, "i32 %a");
    assert!(run("mov.u32 $0, $7;", "=r,r").contains("$7"));
    assert!(run("mov.u32 $0, %no_such;", "=r,r").contains("%no_such"));
    assert!(run("add.f64 $0, $1, $1;", "=r,r").contains("32 bits"));
    assert!(run("mov.b64 $0, 1;", "=r,r").contains("fit"));
    assert!(run("mov.u32 r, $1;", "=r,r").contains('r'));
    assert!(run("mov.u32 $0, $1;", "=r,m").contains("constraint"));
}

#[test]
fn half_a_translation_leaves_nothing() {
    // The first instruction is fine and needs a declaration, the second is not known.
    let text = "{sqrt.approx.f32 $0, $1; wibble.f32 $0, $0;}";
    let why = reason("float %a", "float", text, "=f,f", "float %a");
    assert!(why.contains("wibble"), "{why}");
}

#[test]
fn says_where_it_is() {
    let ir = "define void @f() !dbg !4 {
          call void asm sideeffect \"exit;\", \"\"(), !dbg !7
          ret void, !dbg !7
        }
        !llvm.dbg.cu = !{!0}
        !llvm.module.flags = !{!2}
        !0 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus, file: !1, emissionKind: FullDebug)
        !1 = !DIFile(filename: \"k.cu\", directory: \"/\")
        !2 = !{i32 2, !\"Debug Info Version\", i32 3}
        !4 = distinct !DISubprogram(name: \"f\", file: !1, line: 3, unit: !0, type: !5)
        !5 = !DISubroutineType(types: !6)
        !6 = !{}
        !7 = !DILocation(line: 4, column: 5, scope: !4)";
    let m = Module::parse(ir.as_bytes(), "test").unwrap();
    assert_eq!(lift(&m)[0].location.as_deref(), Some("k.cu:4:5"));
}

#[test]
fn odd_text_neither_panics_nor_breaks_the_module() {
    let seeds = [
        ("add.rn.f16x2 $0,$1,$2;", "=r,r,r"),
        (
            "{.reg .pred p; setp.lt.and.s32 p,$1,$2,!p; @p ld.global.b32 $0,[$1];}",
            "=r,r,r",
        ),
        (
            "{.reg .b16 a,b; mov.b32 {a,b},$1; cvt.rzi.s8.f16 a,b; mov.b32 $0,{a,a};}",
            "=r,r,r",
        ),
        ("atom.shared.cas.b32 $0,[$1+4],$2,0x10U;", "=r,r,r"),
        ("mad.wide.u16 $0,$1,$2,0f3F800000;", "=r,r,r"),
        ("shfl.sync.idx.b32 $0|p,$1,$2,31,-1;", "=r,r,r"),
        ("vset4.s32.s32.lt.add $0,$1,$2,$1;", "=r,r,r"),
        (
            "{prmt.b32.rc8 $0,$1,$2,%laneid; bfe.s64 $0,$1,$2,3; lop3.b32 $0,$1,$2,$1,150;}",
            "=r,r,r",
        ),
    ];
    let words = [
        ".f64", ".f16", ".b64", ".u8", ".pred", ".bf16x2", ".s16x2", ".rz", ".sat", ".ftz", ".v2",
        ".b128", ".s64", "$0", "$1", "$2", "{$0,$1}", "[$1]", "_", "!p", "0", "add", "cvt", "set",
        "min", "abs", "rcp", "tanh", "ex2", "selp", "shl", "popc", "ld", "st", "red", "bar",
    ];
    let mut state = 7u64;
    let mut next = |n: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % n
    };
    for _ in 0..1500 {
        let (seed, constraints) = seeds[next(seeds.len())];
        let mut text: Vec<char> = seed.chars().collect();
        for _ in 0..1 + next(3) {
            // Replace a piece between separators by a word, or delete a character.
            let at = next(text.len());
            if next(3) == 0 {
                text.remove(at);
                continue;
            }
            let edge = |c: &char| matches!(c, '.' | ',' | ' ' | ';' | '{' | '}');
            let from = text[..at].iter().rposition(edge).unwrap_or(0);
            let to = text[at..]
                .iter()
                .position(edge)
                .map_or(text.len(), |k| at + k);
            text.splice(from..to, words[next(words.len())].chars());
            if text.is_empty() {
                break;
            }
        }
        let text: String = text.into_iter().collect();
        let m = module(
            "i32 %a, i32 %b",
            "i32",
            &text,
            constraints,
            "i32 %a, i32 %b",
        );
        lift(&m);
        m.verify()
            .unwrap_or_else(|e| panic!("{text}: {e}\n{}", m.print()));
    }
}
