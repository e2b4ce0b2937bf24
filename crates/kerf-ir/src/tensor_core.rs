//! Tensor-core operations by the names of their intrinsics: which matrices they take, and which element of a matrix is in
//! which lane.
//!
//! The fragments of `mma.sync` and `ldmatrix` are those of the PTX manual. It leaves open what `wmma` puts where; of that, an
//! H200's places are taken (`bench/probes/tensor_core.cu`, `layouts.txt`), so that programs which look into fragments get the
//! same on a CPU.
use kerf_llvm::{Module, Value};

mod moves;

pub use moves::MatrixMove;

/// Format of a matrix's elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatrixElement {
    /// IEEE half precision.
    F16,
    /// bfloat16.
    Bf16,
    /// tf32, one in a word.
    Tf32,
    /// IEEE double precision.
    F64,
    /// Signed bytes.
    S8,
    /// Unsigned bytes.
    U8,
    /// IEEE single precision: accumulators.
    F32,
    /// Integer accumulators.
    S32,
}

impl MatrixElement {
    const ALL: [(MatrixElement, &'static str); 8] = [
        (MatrixElement::F16, "f16"),
        (MatrixElement::Bf16, "bf16"),
        (MatrixElement::Tf32, "tf32"),
        (MatrixElement::F64, "f64"),
        (MatrixElement::S8, "s8"),
        (MatrixElement::U8, "u8"),
        (MatrixElement::F32, "f32"),
        (MatrixElement::S32, "s32"),
    ];

    /// By the name that PTX has for it.
    pub fn parse(name: &str) -> Option<MatrixElement> {
        Self::ALL.iter().find(|(_, n)| *n == name).map(|(e, _)| *e)
    }

    /// The name that PTX has for it.
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// Bits that it takes in memory and registers.
    pub fn bits(self) -> u32 {
        match self {
            MatrixElement::S8 | MatrixElement::U8 => 8,
            MatrixElement::F16 | MatrixElement::Bf16 => 16,
            MatrixElement::Tf32 | MatrixElement::F32 | MatrixElement::S32 => 32,
            MatrixElement::F64 => 64,
        }
    }

    /// Bytes of a register that holds some: 4, or 8 for f64.
    pub fn register_bytes(self) -> u32 {
        self.bits().max(32) / 8
    }

    /// Elements in a register.
    pub fn per_register(self) -> u32 {
        self.register_bytes() * 8 / self.bits()
    }
}

/// Which of the matrices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatrixOperand {
    /// Left factor, m by k.
    A,
    /// Right factor, k by n.
    B,
    /// Accumulator and result, m by n.
    C,
}

/// Matrices of a family of instructions: `m` by `n` results, sums of `k` products.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Rows of the result.
    pub m: u32,
    /// Columns of the result.
    pub n: u32,
    /// Products of a sum.
    pub k: u32,
}

impl Shape {
    /// `m16n8k16`.
    pub fn parse(text: &str) -> Option<Shape> {
        let (m, rest) = text.strip_prefix('m')?.split_once('n')?;
        let (n, k) = rest.split_once('k')?;
        let number = |s: &str| s.parse::<u32>().ok();
        Some(Shape {
            m: number(m)?,
            n: number(n)?,
            k: number(k)?,
        })
    }

    /// Rows and columns of a matrix.
    pub fn size(self, matrix: MatrixOperand) -> (u32, u32) {
        match matrix {
            MatrixOperand::A => (self.m, self.k),
            MatrixOperand::B => (self.k, self.n),
            MatrixOperand::C => (self.m, self.n),
        }
    }
}

/// A matrix in the registers of a warp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fragment {
    /// The shape of the operation.
    pub shape: Shape,
    /// Which operand.
    pub matrix: MatrixOperand,
    /// What it is made of.
    pub element: MatrixElement,
    /// Is it one of `wmma`?
    pub wmma: bool,
}

impl Fragment {
    /// Registers of a lane.
    pub fn registers(self) -> u32 {
        let (rows, columns) = self.shape.size(self.matrix);
        let elements = rows * columns / 32;
        let copies = match self.element {
            // Each element is in two lanes, or twice in one (as it was on Volta).
            MatrixElement::F16 if self.wmma && self.matrix != MatrixOperand::C => 16 / elements,
            _ => 1,
        };
        elements * copies / self.element.per_register()
    }

    /// Elements that a lane holds, repeated ones included.
    pub fn elements(self) -> u32 {
        self.registers() * self.element.per_register()
    }

    /// Row and column of an element that a lane holds.
    pub fn place(self, lane: u32, index: u32) -> (u32, u32) {
        let (group, place) = (lane / 4, lane % 4);
        match self.wmma {
            true => self.wmma_place(lane, index),
            false if self.matrix == MatrixOperand::C => {
                (group + 8 * (index / 2), 2 * place + index % 2)
            }
            false => {
                let pack = self.element.per_register();
                let (register, part) = (index / pack, index % pack);
                let halves = match (self.matrix, self.shape.m) {
                    (MatrixOperand::A, 16) => 2,
                    _ => 1,
                };
                let k = place * pack + part + 4 * pack * (register / halves);
                match self.matrix {
                    MatrixOperand::A => (group + 8 * (register % halves), k),
                    _ => (k, group),
                }
            }
        }
    }

    /// As those of `mma.sync` with 16 rows and 8 columns, one after the other, first along columns. The shape of 8 rows and 32
    /// columns is that of 32 rows and 8 columns with all matrices transposed.
    fn wmma_place(self, lane: u32, index: u32) -> (u32, u32) {
        let Shape { m, n, k } = self.shape;
        if (m, n) == (8, 32) {
            let turned = Fragment {
                shape: Shape { m: n, n: m, k },
                matrix: match self.matrix {
                    MatrixOperand::A => MatrixOperand::B,
                    MatrixOperand::B => MatrixOperand::A,
                    MatrixOperand::C => MatrixOperand::C,
                },
                ..self
            };
            let (row, column) = turned.wmma_place(lane, index);
            return (column, row);
        }
        let (rows, columns) = self.shape.size(self.matrix);
        let index = index % (rows * columns / 32);
        let (tall, wide) = match self.matrix {
            MatrixOperand::A => (rows.min(16), columns),
            _ => (rows.min(16), columns.min(8)),
        };
        let part = Fragment {
            shape: Shape {
                m: m.min(16),
                n: 8,
                k,
            },
            wmma: false,
            ..self
        };
        let each = tall * wide / 32;
        let (row, column) = part.place(lane, index % each);
        let (step, across) = (index / each, columns / wide);
        (
            row + tall * (step / across),
            column + wide * (step % across),
        )
    }
}

/// A product of matrices, with a sum: `d = a * b + c`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Multiply {
    /// The shape.
    pub shape: Shape,
    /// Elements of the left factor.
    pub a: MatrixElement,
    /// Elements of the right factor.
    pub b: MatrixElement,
    /// Elements of accumulator and result.
    pub c: MatrixElement,
    /// Do integer sums stop at the ends of their range?
    pub saturate: bool,
    /// Is it one of `wmma`?
    pub wmma: bool,
}

/// The forms of `mma.sync` that are executed: shapes by the elements of the factors.
const MMA_SHAPES: [(&[MatrixElement], &[&str]); 4] = [
    (
        &[MatrixElement::F16, MatrixElement::Bf16],
        &["m16n8k8", "m16n8k16"],
    ),
    (&[MatrixElement::Tf32], &["m16n8k4", "m16n8k8"]),
    (
        &[MatrixElement::F64],
        &["m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16"],
    ),
    (
        &[MatrixElement::S8, MatrixElement::U8],
        &["m8n8k16", "m16n8k16", "m16n8k32"],
    ),
];

/// Those of `wmma`.
const WMMA_SHAPES: [(&[MatrixElement], &[&str]); 3] = [
    (
        &[
            MatrixElement::F16,
            MatrixElement::Bf16,
            MatrixElement::S8,
            MatrixElement::U8,
        ],
        &["m16n16k16", "m32n8k16", "m8n32k16"],
    ),
    (&[MatrixElement::Tf32], &["m16n16k8"]),
    (&[MatrixElement::F64], &["m8n8k4"]),
];

fn has_shape(table: &[(&[MatrixElement], &[&str])], element: MatrixElement, shape: &str) -> bool {
    let mut fitting = table.iter().filter(|(all, _)| all.contains(&element));
    fitting.any(|(_, shapes)| shapes.contains(&shape))
}

fn accumulator(element: MatrixElement) -> MatrixElement {
    match element {
        MatrixElement::F64 => MatrixElement::F64,
        MatrixElement::S8 | MatrixElement::U8 => MatrixElement::S32,
        _ => MatrixElement::F32,
    }
}

impl Multiply {
    /// By the name of its intrinsic; nothing for what is no product of matrices, and for forms that are not executed.
    pub fn parse(intrinsic: &str) -> Option<Multiply> {
        let name = intrinsic.strip_prefix("llvm.nvvm.")?;
        let (wmma, name) = match name.strip_prefix("wmma.") {
            Some(rest) => (true, rest),
            None => (false, name.strip_prefix("mma.")?),
        };
        let mut parts: Vec<&str> = name.split('.').collect();
        let shape = parts.remove(0);
        if wmma {
            (parts.first() == Some(&"mma")).then(|| parts.remove(0))?;
        }
        let layouts: Vec<&str> = parts.drain(..2.min(parts.len())).collect();
        let known = |l: &&str| matches!(*l, "row" | "col");
        if layouts.len() != 2 || !layouts.iter().all(known) || !(wmma || layouts == ["row", "col"])
        {
            return None;
        }
        let saturate = parts.iter().position(|p| *p == "satfinite");
        saturate.map(|at| parts.remove(at));
        if parts.first() == Some(&"rn") {
            parts.remove(0);
        }
        let elements: Option<Vec<MatrixElement>> =
            parts.iter().map(|p| MatrixElement::parse(p)).collect();
        let (a, b, c) = match elements?.as_slice() {
            // Products of halves are named by result and accumulator.
            [d @ (MatrixElement::F16 | MatrixElement::F32), c] if d == c => {
                (MatrixElement::F16, MatrixElement::F16, *d)
            }
            [
                a @ (MatrixElement::S8 | MatrixElement::U8),
                b @ (MatrixElement::S8 | MatrixElement::U8),
            ] => (*a, *b, MatrixElement::S32),
            [
                a @ (MatrixElement::Bf16
                | MatrixElement::Tf32
                | MatrixElement::F64
                | MatrixElement::S8
                | MatrixElement::U8),
            ] => (*a, *a, accumulator(*a)),
            _ => return None,
        };
        let table: &[(&[MatrixElement], &[&str])] = match wmma {
            true => &WMMA_SHAPES,
            false => &MMA_SHAPES,
        };
        let saturate = saturate.is_some();
        (has_shape(table, a, shape) && (!saturate || c == MatrixElement::S32)).then_some(Multiply {
            shape: Shape::parse(shape)?,
            a,
            b,
            c,
            saturate,
            wmma,
        })
    }

    /// One of its matrices.
    pub fn fragment(self, matrix: MatrixOperand) -> Fragment {
        Fragment {
            shape: self.shape,
            matrix,
            element: match matrix {
                MatrixOperand::A => self.a,
                MatrixOperand::B => self.b,
                MatrixOperand::C => self.c,
            },
            wmma: self.wmma,
        }
    }

    /// In one number, for compiled code.
    pub fn encode(self) -> u64 {
        let Shape { m, n, k } = self.shape;
        let parts = [
            (m, 8),
            (n, 8),
            (k, 8),
            (self.a as u32, 4),
            (self.b as u32, 4),
            (self.c as u32, 4),
            (u32::from(self.saturate), 1),
            (u32::from(self.wmma), 1),
        ];
        let backwards = parts.iter().rev();
        backwards.fold(0, |all, (v, bits)| all << bits | u64::from(*v))
    }

    /// What [`Self::encode`] made a number of.
    pub fn decode(number: u64) -> Option<Multiply> {
        let mut number = number;
        let mut take = |bits: u32| {
            let v = number & ((1 << bits) - 1);
            number >>= bits;
            v as u32
        };
        let shape = Shape {
            m: take(8),
            n: take(8),
            k: take(8),
        };
        let mut element = || Some(MatrixElement::ALL.get(take(4) as usize)?.0);
        let (a, b, c) = (element()?, element()?, element()?);
        Some(Multiply {
            shape,
            a,
            b,
            c,
            saturate: take(1) == 1,
            wmma: take(1) == 1,
        })
    }

    /// What PTX calls its arithmetic: `m16n8k16 f16 to f32`.
    pub fn describe(self) -> String {
        let Shape { m, n, k } = self.shape;
        let factors = match self.a == self.b {
            true => self.a.name().to_owned(),
            false => format!("{} by {}", self.a.name(), self.b.name()),
        };
        format!("m{m}n{n}k{k} {factors} to {}", self.c.name())
    }
}

/// The product of matrices that an instruction is.
pub fn multiply(i: Value) -> Option<Multiply> {
    Multiply::parse(&i.callee_name()?)
}

/// The move of a matrix that an instruction is.
pub fn matrix_move(i: Value) -> Option<MatrixMove> {
    MatrixMove::parse(&i.callee_name()?)
}

/// Marks operations on matrices as `convergent`: LLVM 22 lets most of them be moved to where a part of a warp goes.
pub(crate) fn keep_warps_whole(m: &Module) {
    let all = m.functions().into_iter().filter(|f| !f.is_declaration());
    for i in all.flat_map(Value::instructions) {
        let joint = |k| !matches!(k, MatrixMove::CopyAsync { .. } | MatrixMove::CopyGroup);
        if multiply(i).is_some() || matrix_move(i).is_some_and(joint) {
            i.add_call_attr("convergent");
        }
    }
}

#[cfg(test)]
mod tests;
