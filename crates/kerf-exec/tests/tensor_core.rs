//! Products of matrices against tiles that an H200 computed: a part of what `bench/probes/tensor_core.cu` dumps, all kinds of
//! values and all forms.
use kerf_exec::cpu::tensor_core::product;
use kerf_ir::tensor_core::{MatrixElement, MatrixOperand, Multiply};

/// For each form the length of its name (1 byte), the number of its tiles (2 bytes), the intrinsic's name, and of each tile A,
/// B, C and the result, row by row.
const TILES: &[u8] = include_bytes!("data/tensor_core_h200.bin");

/// Takes the elements of a matrix off the front.
fn take(rest: &mut &[u8], form: Multiply, matrix: MatrixOperand) -> Vec<u64> {
    let (rows, columns) = form.shape.size(matrix);
    let bytes = form.fragment(matrix).element.bits() as usize / 8;
    let (own, others) = rest.split_at((rows * columns) as usize * bytes);
    *rest = others;
    let number = |b: &[u8]| b.iter().rev().fold(0, |all, x| all << 8 | u64::from(*x));
    own.chunks(bytes).map(number).collect()
}

/// The bits of a result, all NaNs as one.
fn canonical(element: MatrixElement, bits: u64) -> u64 {
    let is_nan = match element {
        MatrixElement::F64 => f64::from_bits(bits).is_nan(),
        MatrixElement::F32 => f32::from_bits(bits as u32).is_nan(),
        MatrixElement::F16 => bits & 0x7fff > 0x7c00,
        _ => false,
    };
    if is_nan { u64::MAX } else { bits }
}

#[test]
fn tiles_have_the_bits_of_an_h200() {
    let mut rest = TILES;
    let (mut forms, mut results) = (0, 0);
    while let [length, low, high, others @ ..] = rest {
        let (name, others) = others.split_at(usize::from(*length));
        let name = std::str::from_utf8(name).unwrap();
        let form = Multiply::parse(&format!("llvm.nvvm.{name}")).unwrap();
        rest = others;
        for tile in 0..u16::from_le_bytes([*low, *high]) {
            let a = take(&mut rest, form, MatrixOperand::A);
            let b = take(&mut rest, form, MatrixOperand::B);
            let c = take(&mut rest, form, MatrixOperand::C);
            let expected = take(&mut rest, form, MatrixOperand::C);
            for (i, (d, e)) in product(form, &a, &b, &c).iter().zip(expected).enumerate() {
                let same = canonical(form.c, *d) == canonical(form.c, e);
                assert!(
                    same,
                    "{name}, tile {tile}, element {i}: {d:x}, expected {e:x}"
                );
                results += 1;
            }
        }
        forms += 1;
    }
    assert_eq!((forms, rest.len()), (22, 0));
    assert!(results > 10_000, "{results}");
}
