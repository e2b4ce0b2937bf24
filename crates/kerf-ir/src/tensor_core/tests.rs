//! Forms by their names, and where elements are.
use super::*;

fn forms() -> Vec<Multiply> {
    [
        "mma.m16n8k16.row.col.f32.f32",
        "mma.m16n8k8.row.col.f16.f16",
        "mma.m16n8k16.row.col.bf16",
        "mma.m16n8k4.row.col.tf32",
        "mma.m16n8k8.row.col.tf32",
        "mma.m8n8k4.row.col.f64",
        "mma.m16n8k16.row.col.f64",
        "mma.m16n8k32.row.col.satfinite.s8.u8",
        "mma.m8n8k16.row.col.u8",
        "wmma.m16n16k16.mma.col.row.f32.f32",
        "wmma.m32n8k16.mma.row.col.f16.f16",
        "wmma.m8n32k16.mma.row.row.bf16",
        "wmma.m16n16k8.mma.row.col.tf32",
        "wmma.m8n8k4.mma.row.col.rn.f64",
        "wmma.m32n8k16.mma.row.col.s8.satfinite",
    ]
    .iter()
    .map(|n| Multiply::parse(&format!("llvm.nvvm.{n}")).unwrap_or_else(|| panic!("{n}")))
    .collect()
}

#[test]
fn every_element_of_a_matrix_is_in_a_lane() {
    for f in forms() {
        assert_eq!(Multiply::decode(f.encode()), Some(f));
        for matrix in [MatrixOperand::A, MatrixOperand::B, MatrixOperand::C] {
            let fragment = f.fragment(matrix);
            let (rows, columns) = f.shape.size(matrix);
            let mut seen = vec![0; (rows * columns) as usize];
            for lane in 0..32 {
                for e in 0..fragment.elements() {
                    let (r, c) = fragment.place(lane, e);
                    seen[(r * columns + c) as usize] += 1;
                }
            }
            let copies = fragment.elements() * 32 / (rows * columns);
            assert!(seen.iter().all(|n| *n == copies), "{f:?} {matrix:?}");
        }
    }
}

#[test]
fn other_forms_are_not_taken_for_executed_ones() {
    for n in [
        "mma.m8n8k4.row.col.f32.f32",
        "mma.m16n8k64.row.col.s4",
        "mma.sp.m16n8k32.row.col.f32.f32",
        "mma.m16n8k32.row.col.f32.e4m3.e4m3.f32",
        "mma.and.popc.m16n8k256.row.col.b1",
        "wmma.m16n16k16.mma.row.col.f16.f32",
        "wmma.m16n16k16.mma.row.col.f32.f32.satfinite",
        "wmma.m8n8k4.mma.row.col.rz.f64",
        "ldmatrix.sync.aligned.m8n8.x4.b16",
    ] {
        assert_eq!(Multiply::parse(&format!("llvm.nvvm.{n}")), None, "{n}");
    }
    let m = |n: &str| MatrixMove::parse(&format!("llvm.nvvm.{n}"));
    assert_eq!(m("ldmatrix.sync.aligned.m16n16.x1.trans.b8.p3"), None);
    assert_eq!(m("cp.async.bulk.commit.group"), None);
    assert_eq!(m("cp.async.mbarrier.arrive"), None);
    assert_eq!(m("wmma.m8n8k32.load.a.row.stride.s4.p0"), None);
}

/// Of the row-major loads and the accumulators of `wmma`, what an H200 has in lanes 0, 1, 4 and 31: numbers of the elements in the
/// matrix, row by row (`layouts.txt` of `bench/probes/tensor_core.sh`; other lanes follow, since places are linear).
const LAYOUTS: &str = include_str!("h200_layouts.txt");

#[test]
fn fragments_of_wmma_are_those_of_an_h200() {
    let mut fragment = None;
    let mut compared = 0;
    for line in LAYOUTS.lines() {
        let Some((lane, elements)) = line.split_once(": ") else {
            let mut parts = line.split(' ');
            let mut next = || parts.next().unwrap();
            fragment = Some(Fragment {
                shape: Shape::parse(next()).unwrap(),
                element: MatrixElement::parse(next()).unwrap(),
                matrix: match next() {
                    "a" => MatrixOperand::A,
                    "b" => MatrixOperand::B,
                    _ => MatrixOperand::C,
                },
                wmma: true,
            });
            continue;
        };
        let f = fragment.unwrap();
        let (_, columns) = f.shape.size(f.matrix);
        let number = |e: u32| {
            let (row, column) = f.place(lane.parse().unwrap(), e);
            (row * columns + column).to_string()
        };
        let ours: Vec<String> = (0..f.elements()).map(number).collect();
        assert_eq!(ours.join(" "), elements, "{f:?}, lane {lane}");
        compared += 1;
    }
    assert_eq!(compared, 4 * 33);
}
