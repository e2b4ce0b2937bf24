//! Products of matrices by a warp (`mma.sync`, `wmma`): what the 32 lanes hold becomes three matrices, every element of the
//! result is computed, and each lane gets its part.
//!
//! The arithmetic is that of an H200, measured: `bench/probes/tensor_core.cu` dumped tiles of every form, all of which this
//! reproduces. Integers are exact; f64 is a chain of fused multiply-adds along k; the narrow formats are
//! [`SumModel`]'s sums, with 25 bits kept below the largest exponent, over all k products at once. The tf32 form of `wmma` is
//! two such sums of 4 products.
use kerf_ir::tensor_core::{Fragment, MatrixElement, MatrixOperand, Multiply};
use kerf_num::tensor_core::{OperandFormat, SumFormat, SumModel, Term};

/// Lanes of a warp.
const LANES: usize = 32;

/// Bytes of a lane's frame: the registers of A, B and C, then those of the result. The largest form is m16n8k16 in f64.
pub const FRAME_BYTES: u64 = 8 * (8 + 4 + 4 + 4);

/// Bits kept below the largest exponent when products are aligned.
const ALIGNED_BITS: u32 = 25;

/// Where the registers of each matrix begin in a frame, and those of the result.
fn offsets(form: Multiply) -> [usize; 4] {
    let bytes = |m: MatrixOperand| {
        let f = form.fragment(m);
        (f.registers() * f.element.register_bytes()) as usize
    };
    let (a, b, c) = (
        bytes(MatrixOperand::A),
        bytes(MatrixOperand::B),
        bytes(MatrixOperand::C),
    );
    [0, a, a + b, a + b + c]
}

/// The registers of all lanes: a frame each.
pub struct WarpRegisters<'a> {
    frames: [&'a mut [u8]; LANES],
}

impl<'a> WarpRegisters<'a> {
    /// Of 32 frames of [`FRAME_BYTES`] bytes.
    pub fn new(frames: [&'a mut [u8]; LANES]) -> Self {
        WarpRegisters { frames }
    }

    /// The bits of a matrix's elements, row by row.
    fn gather(&self, f: Fragment, at: usize) -> Vec<u64> {
        let (rows, columns) = f.shape.size(f.matrix);
        let bytes = f.element.bits() as usize / 8;
        let mut out = vec![0; (rows * columns) as usize];
        for (lane, frame) in self.frames.iter().enumerate() {
            for e in 0..f.elements() {
                let (r, c) = f.place(lane as u32, e);
                let from = at + e as usize * bytes;
                let mut word = [0; 8];
                word[..bytes].copy_from_slice(&frame[from..from + bytes]);
                out[(r * columns + c) as usize] = u64::from_le_bytes(word);
            }
        }
        out
    }

    fn scatter(&mut self, f: Fragment, at: usize, values: &[u64]) {
        let (_, columns) = f.shape.size(f.matrix);
        let bytes = f.element.bits() as usize / 8;
        for (lane, frame) in self.frames.iter_mut().enumerate() {
            for e in 0..f.elements() {
                let (r, c) = f.place(lane as u32, e);
                let to = at + e as usize * bytes;
                let word = values[(r * columns + c) as usize].to_le_bytes();
                frame[to..to + bytes].copy_from_slice(&word[..bytes]);
            }
        }
    }

    /// Computes the product and leaves each lane its part of the result.
    pub fn multiply(&mut self, form: Multiply) {
        let at = offsets(form);
        let a = self.gather(form.fragment(MatrixOperand::A), at[0]);
        let b = self.gather(form.fragment(MatrixOperand::B), at[1]);
        let c = self.gather(form.fragment(MatrixOperand::C), at[2]);
        let d = product(form, &a, &b, &c);
        self.scatter(form.fragment(MatrixOperand::C), at[3], &d);
    }
}

/// `a * b + c` as the hardware computes it; elements as bits, row by row.
pub fn product(form: Multiply, a: &[u64], b: &[u64], c: &[u64]) -> Vec<u64> {
    let (n, k) = (form.shape.n as usize, form.shape.k as usize);
    let columns: Vec<u64> = (0..n * k).map(|i| b[i % k * n + i / k]).collect();
    match form.a {
        MatrixElement::F64 => each(n, k, (a, &columns), c, fma_chain),
        MatrixElement::S8 | MatrixElement::U8 => {
            each(n, k, (a, &columns), c, |a, b, c| integer_sum(form, a, b, c))
        }
        _ => {
            let format = match form.a {
                MatrixElement::Bf16 => OperandFormat::BF16,
                MatrixElement::Tf32 => OperandFormat::TF32,
                _ => OperandFormat::F16,
            };
            let sum = match form.c {
                MatrixElement::F16 => SumFormat::F16,
                _ => SumFormat::F32,
            };
            let model = sum_model(form);
            let decode =
                |v: &[u64]| -> Vec<Term> { v.iter().map(|x| format.decode(*x as u32)).collect() };
            let (a, b) = (decode(a), decode(&columns));
            each(n, k, (&a, &b), c, |a, b, c| {
                u64::from(model.dot(a, b, c as u32, sum))
            })
        }
    }
}

/// How sums of a form are made.
fn sum_model(form: Multiply) -> SumModel {
    let group = match form.a {
        MatrixElement::Tf32 if form.wmma => 4,
        _ => form.shape.k,
    };
    SumModel {
        group: group as usize,
        aligned_bits: ALIGNED_BITS,
    }
}

/// Every element of a product, of a row of the left and a column of the right factor.
fn each<T>(
    n: usize,
    k: usize,
    (rows, columns): (&[T], &[T]),
    c: &[u64],
    element: impl Fn(&[T], &[T], u64) -> u64,
) -> Vec<u64> {
    let part = |i: usize| i * k..(i + 1) * k;
    let all = c.iter().enumerate();
    all.map(|(i, c)| {
        let (row, column) = (i / n, i % n);
        let row = &rows[part(row)];
        let column = &columns[part(column)];
        element(row, column, *c)
    })
    .collect()
}

fn fma_chain(a: &[u64], b: &[u64], c: u64) -> u64 {
    let pairs = a.iter().zip(b);
    let sum = pairs.fold(f64::from_bits(c), |sum, (a, b)| {
        f64::from_bits(*a).mul_add(f64::from_bits(*b), sum)
    });
    sum.to_bits()
}

fn integer_sum(form: Multiply, a: &[u64], b: &[u64], c: u64) -> u64 {
    let byte = |e: MatrixElement, x: u64| match e {
        MatrixElement::U8 => i64::from(x as u8),
        _ => i64::from(x as u8 as i8),
    };
    let pairs = a.iter().zip(b);
    let products = pairs.map(|(x, y)| byte(form.a, *x) * byte(form.b, *y));
    let sum = i64::from(c as u32 as i32) + products.sum::<i64>();
    let sum = match form.saturate {
        true => sum.clamp(i64::from(i32::MIN), i64::from(i32::MAX)),
        false => sum,
    };
    u64::from(sum as u32)
}
