//! Integers, bits, carries and guards.
use super::*;

fn word(text: &str, args: &[u32]) -> u64 {
    let constraints = format!("=r{}", ",r".repeat(args.len()));
    let list: Vec<String> = args.iter().map(|a| format!("i32 {}", *a as i32)).collect();
    number("i32", text, &constraints, &list.join(", "))
}

#[test]
fn products_have_halves() {
    assert_eq!(
        word("mul.hi.u32 $0,$1,$2;", &[0xFFFF_FFFF, 0xFFFF_FFFF]),
        0xFFFF_FFFE
    );
    assert_eq!(word("mul.hi.s32 $0,$1,$2;", &[0xFFFF_FFFF, 0xFFFF_FFFF]), 0);
    assert_eq!(word("mad.lo.s32 $0,$1,$2,$3;", &[7, 6, 1]), 43);
    let wide = "mad.wide.s32 $0,$1,$2,$3;";
    assert_eq!(number("i64", wide, "=l,r,r,l", "i32 -2, i32 3, i64 10"), 4);
    let high = "mul.hi.u64 $0,$1,$2;";
    assert_eq!(
        number("i64", high, "=l,l,l", "i64 -1, i64 -1"),
        u64::MAX - 1
    );
}

#[test]
fn carries_run_through_a_statement() {
    let add = "{add.cc.u32 $0,$3,$6; addc.cc.u32 $1,$4,$7; addc.u32 $2,$5,$8;}";
    let args = "i32 -1, i32 -1, i32 1, i32 1, i32 0, i32 2";
    let sum = fold("{ i32, i32, i32 }", add, "=r,=r,=r,r,r,r,r,r,r", args);
    assert_eq!(sum, "{ i32, i32, i32 } { i32 0, i32 0, i32 4 }");
    let sub = "{sub.cc.u32 $0,$2,$4; subc.u32 $1,$3,$5;}";
    let difference = fold(
        "{ i32, i32 }",
        sub,
        "=r,=r,r,r,r,r",
        "i32 0, i32 5, i32 1, i32 2",
    );
    assert_eq!(difference, "{ i32, i32 } { i32 -1, i32 2 }");
    let mad = "{\n\tmad.lo.cc.u32   $0, $2, $3, $4;\n\tmadc.hi.u32     $1, $2, $3,  0;\n\t}";
    let product = fold("{ i32, i32 }", mad, "=r,=r,r,r,r", "i32 -1, i32 -1, i32 -1");
    assert_eq!(product, "{ i32, i32 } { i32 0, i32 -1 }");
}

#[test]
fn shifts_clamp() {
    assert_eq!(word("shl.b32 $0,$1,$2;", &[1, 31]), 1 << 31);
    assert_eq!(word("shl.b32 $0,$1,$2;", &[1, 32]), 0);
    assert_eq!(word("shr.u32 $0,$1,$2;", &[0x8000_0000, 300]), 0);
    assert_eq!(word("shr.s32 $0,$1,$2;", &[0x8000_0000, 300]), 0xFFFF_FFFF);
    assert_eq!(
        word("shf.l.wrap.b32 $0,$1,$2,$3;", &[0x8000_0000, 1, 33]),
        3
    );
    assert_eq!(word("shf.l.clamp.b32 $0,$1,$2,$3;", &[5, 1, 33]), 5);
    assert_eq!(word("shf.r.wrap.b32 $0,$1,$2,$3;", &[2, 1, 1]), 0x8000_0001);
    assert_eq!(word("shf.r.clamp.b32 $0,$1,$2,$3;", &[2, 9, 40]), 9);
    let ir = text_of("i32 %a", "i32", "shl.b32 $0,$1,$1;", "=r,r", "i32 %a");
    assert!(
        ir.contains("icmp ult"),
        "an unknown amount is checked: {ir}"
    );
}

#[test]
fn bytes_permute() {
    let (a, b) = (0x3322_1100, 0x7766_5584);
    assert_eq!(word("prmt.b32 $0,$1,$2,$3;", &[a, b, 0x5410]), 0x5584_1100);
    assert_eq!(word("prmt.b32 $0,$1,$2,0x3C70;", &[a, b]), 0x33FF_7700);
    assert_eq!(word("prmt.b32.b4e $0,$1,$2,$3;", &[a, b, 3]), 0x0011_2233);
    assert_eq!(word("prmt.b32.rc16 $0,$1,$2,$3;", &[a, b, 1]), 0x3322_3322);
    // An unknown selector takes the general way; folding it must agree.
    let text = "{.reg .b32 s; prmt.b32 s,$3,$3,0x3210; prmt.b32 $0,$1,$2,s;}";
    assert_eq!(word(text, &[a, b, 0x3C70]), 0x33FF_7700);
}

#[test]
fn lop3_is_its_table() {
    let (a, b, c) = (0xF0F0_F0F0u32, 0xCCCC_CCCCu32, 0xAAAA_AAAAu32);
    for (table, want) in [
        (0xC0u32, a & b),
        (0x96, a ^ b ^ c),
        (0xEA, (a & b) | c),
        (0xCA, (a & b) | (!a & c)),
        (0xFE, a | b | c),
        (0x0F, !a),
        (0xE8, (a & b) | (a & c) | (b & c)),
    ] {
        let text = format!("lop3.b32 $0,$1,$2,$3,{table};");
        assert_eq!(word(&text, &[a, b, c]), u64::from(want), "{table:#x}");
    }
}

#[test]
fn fields_and_counts() {
    assert_eq!(word("bfe.u32 $0,$1,$2,$3;", &[0xABCD_1234, 8, 8]), 0x12);
    assert_eq!(
        word("bfe.s32 $0,$1,$2,$3;", &[0xABCD_1234, 16, 8]),
        0xFFFF_FFCD
    );
    assert_eq!(
        word("bfe.s32 $0,$1,$2,$3;", &[0xABCD_1234, 28, 30]),
        0xFFFF_FFFA
    );
    assert_eq!(word("bfe.s32 $0,$1,$2,$3;", &[0xABCD_1234, 4, 0]), 0);
    assert_eq!(word("bfi.b32 $0,$1,$2,$3,$4;", &[0xFF, 0, 4, 8]), 0xFF0);
    assert_eq!(
        word("bfi.b32 $0,$1,$2,$3,$4;", &[0xFF, 0, 28, 8]),
        0xF000_0000
    );
    assert_eq!(word("popc.b32 $0,$1;", &[0xF0F0]), 8);
    assert_eq!(word("clz.b32 $0,$1;", &[0]), 32);
    assert_eq!(word("brev.b32 $0,$1;", &[1]), 1 << 31);
    assert_eq!(word("bfind.u32 $0,$1;", &[0x100]), 8);
    assert_eq!(word("bfind.shiftamt.u32 $0,$1;", &[0x100]), 23);
    assert_eq!(word("bfind.s32 $0,$1;", &[0xFFFF_FF00]), 7);
    assert_eq!(word("bfind.u32 $0,$1;", &[0]), 0xFFFF_FFFF);
    assert_eq!(number("i32", "popc.b64 $0,$1;", "=r,l", "i64 -1"), 64);
}

#[test]
fn division_never_traps() {
    assert_eq!(word("div.u32 $0,$1,$2;", &[7, 2]), 3);
    assert_eq!(word("div.s32 $0,$1,$2;", &[7, 0]), 0xFFFF_FFFF);
    assert_eq!(word("rem.u32 $0,$1,$2;", &[7, 0]), 0xFFFF_FFFF);
    assert_eq!(
        word("div.s32 $0,$1,$2;", &[0x8000_0000, 0xFFFF_FFFF]),
        0x8000_0000
    );
    assert_eq!(word("rem.s32 $0,$1,$2;", &[0x8000_0000, 0xFFFF_FFFF]), 0);
}

#[test]
fn sums_of_differences_and_products() {
    assert_eq!(word("sad.s32 $0,$1,$2,$3;", &[3, 10, 100]), 107);
    assert_eq!(
        word("dp4a.s32.s32 $0,$1,$2,$3;", &[0x01FF_0203, 0x0102_0304, 1]),
        18
    );
    assert_eq!(
        word(
            "dp2a.hi.u32.u32 $0,$1,$2,$3;",
            &[0x0002_0003, 0x0405_0000, 7]
        ),
        7 + 15 + 8
    );
    assert_eq!(
        word("add.sat.s32 $0,$1,$2;", &[i32::MAX as u32, 1]),
        i32::MAX as u64
    );
}

#[test]
fn packed_integers() {
    assert_eq!(
        word(
            "vadd4.u32.u32.u32.sat $0,$1,$2,$3;",
            &[0xFF01_0203, 0x0101_0101, 0]
        ),
        0xFF02_0304
    );
    assert_eq!(
        word("vset2.s32.s32.lt $0,$1,$2,$3;", &[0xFFFF_0001, 0, 0]),
        0x0001_0000
    );
    assert_eq!(
        word(
            "vabsdiff4.u32.u32.u32.add $0,$1,$2,$3;",
            &[0x0104_0000, 0x0401_0000, 10]
        ),
        16
    );
    assert_eq!(
        word("{max.s16x2.relu $0, $1, $2;}", &[0xFFFF_0005, 0xFFFE_0003]),
        5
    );
}

#[test]
fn integers_convert() {
    assert_eq!(word("cvt.sat.s8.s32 $0,$1;", &[1000]), 127);
    assert_eq!(word("cvt.sat.u8.s32 $0,$1;", &[-5i32 as u32]), 0);
    assert_eq!(word("cvt.s8.s32 $0,$1;", &[0x1FF]), 0xFFFF_FFFF);
    assert_eq!(word("cvt.u32.u8 $0,$1;", &[0x1FF]), 0xFF);
}

#[test]
fn guards_select() {
    let text = "{.reg .pred p; setp.lt.s32 p,$2,0; mov.b32 $0,$1;
        @p add.s32 $0,$0,1; @!p mul.lo.s32 $0,$0,10;}";
    assert_eq!(word(text, &[5, -1i32 as u32]), 6);
    assert_eq!(word(text, &[5, 1]), 50);
}

#[test]
fn scopes_hide_names() {
    let text = "{.reg .u32 a; mov.u32 a, 1; {.reg .u32 a; mov.u32 a, 2;} mov.u32 $0, a;}";
    assert_eq!(word(text, &[]), 1);
}

#[test]
fn constants_come_in_many_ways() {
    assert_eq!(word("{mov.u32 $0, WARP_SZ;}", &[]), 32);
    assert_eq!(
        number("i32", "add.s32 $0, $1, $2;", "=r,r,n", "i32 5, i32 -3"),
        2
    );
    assert_eq!(
        number("i32", "add.s32 $0, $1, -7;", "=r,r", "i32 5"),
        0xFFFF_FFFE
    );
    let ir = text_of("", "i32", "mov.u32 $0, %lanemask_lt;", "=r", "");
    assert!(ir.contains("@llvm.nvvm.read.ptx.sreg.lanemask.lt"), "{ir}");
    let ir = text_of("", "i64", "mov.u64 $0, %clock64;", "=l", "");
    assert!(ir.contains("@llvm.nvvm.read.ptx.sreg.clock64"), "{ir}");
}

#[test]
fn several_results_are_a_struct() {
    let text = "{mov.u32 $0, 3; mov.b64 {_,$1}, $2;}";
    let ir = text_of("double %x", "{ i32, i32 }", text, "=r,=r,d", "double %x");
    assert!(
        ir.contains("insertvalue { i32, i32 } { i32 3, i32 poison }"),
        "{ir}"
    );
    assert_eq!(
        number("i32", "mov.b64 {_,$0}, $1;", "=r,d", "double 1.0"),
        0x3FF0_0000
    );
}

#[test]
fn products_of_24_bits() {
    let of = |op: &str, x: i64, y: i64| {
        let text = format!("{op} $0,$1,$2;");
        number("i32", &text, "=r,r,r", &format!("i32 {x}, i32 {y}"))
    };
    assert_eq!(of("mul24.lo.s32", 0xFF_FFFF, 2), 0xFFFF_FFFE);
    assert_eq!(of("mul24.lo.u32", 0xFF_FFFF, 2), 0x1FF_FFFE);
    assert_eq!(of("mul24.hi.u32", 0xFF_FFFF, 0xFF_FFFF), 0xFFFF_FE00);
    assert_eq!(of("mul24.lo.u32", 0x7F00_0003, 5), 15);
    let sum = |op: &str, args: &str| number("i32", op, "=r,r,r,r", args);
    let largest = i32::MAX;
    assert_eq!(sum("mad24.lo.u32 $0,$1,$2,$3;", "i32 7, i32 6, i32 -1"), 41);
    assert_eq!(
        sum(
            "mad.hi.sat.s32 $0,$1,$2,$3;",
            &format!("i32 {largest}, i32 {largest}, i32 {largest}")
        ),
        0x7FFF_FFFF
    );
}

#[test]
fn packing_clamps() {
    let of = |op: &str, args: &str| {
        let n = args.split(',').count();
        let inputs = ",r".repeat(n);
        let operands: Vec<String> = (0..=n).map(|k| format!("${k}")).collect();
        let text = format!("{op} {};", operands.join(","));
        number("i32", &text, &format!("=r{inputs}"), args)
    };
    let eight = "cvt.pack.sat.u8.s32.b32";
    assert_eq!(of(eight, "i32 300, i32 -5, i32 4660"), 0x1234_FF00);
    assert_eq!(
        of("cvt.pack.sat.s8.s32.b32", "i32 -300, i32 5, i32 0"),
        0x8005
    );
    assert_eq!(
        of("cvt.pack.sat.s16.s32", "i32 40000, i32 -40000"),
        0x7FFF_8000
    );
    assert_eq!(of("cvt.pack.sat.u4.s32.b32", "i32 99, i32 7, i32 1"), 0x1F7);
    assert_eq!(of("vadd.u32.u32.u32.sat", "i32 -1, i32 1"), 0xFFFF_FFFF);
    assert_eq!(of("vsub.s32.u32.u32", "i32 3, i32 5"), 0xFFFF_FFFE);
    assert_eq!(of("vshr.s32.s32.u32.clamp", "i32 -8, i32 40"), 0xFFFF_FFFF);
    assert_eq!(of("vshr.u32.u32.u32.wrap", "i32 8, i32 33"), 4);
    assert_eq!(of("vabsdiff.u32.s32.s32.add", "i32 -3, i32 4, i32 10"), 17);
    assert_eq!(
        of("vmin.s32.s32.s32.max", "i32 -3, i32 4, i32 -1"),
        0xFFFF_FFFF
    );
}
