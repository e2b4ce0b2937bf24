//! Products of matrices: every product and every sum of a tile in double-double.
//!
//! The shadows of a lane's factors go to the lanes that need them, by the same exchange that a shuffle's do; the sums are then
//! made in each lane, along k.
use super::{Dd, Pass};
use crate::reference_library;
use kerf_ir::tensor_core::{Fragment, MatrixElement, MatrixOperand, Multiply};
use kerf_llvm::{Builder, Linkage, Value};
use kerf_num::Format;
use std::collections::BTreeMap;

/// Where a result's factors are: the element of the fragment that has one, and the lane as a linear function of the asking
/// lane's group of four and its place in that.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Source {
    element: u32,
    lane: [u32; 3],
}

/// The source of the element at a place that depends on the lane; nothing where it is no linear function.
fn source(f: Fragment, place: impl Fn(u32) -> (u32, u32)) -> Option<Source> {
    let holder = |lane: u32| {
        let places = (0..f.elements()).flat_map(|e| (0..32).map(move |l| (l, e)));
        let mut holding = places.filter(|(l, e)| f.place(*l, *e) == place(lane));
        holding.next()
    };
    let all: Option<Vec<(u32, u32)>> = (0..32).map(holder).collect();
    let all = all?;
    let (first, element) = all[0];
    let step = |l: usize| all[l].0.checked_sub(first);
    let (by_group, by_place) = (step(4)?, step(1)?);
    let is_linear = |l: u32| {
        let expected = first + by_group * (l / 4) + by_place * (l % 4);
        all[l as usize] == (expected, element)
    };
    (0..32).all(is_linear).then_some(Source {
        element,
        lane: [first, by_group, by_place],
    })
}

/// What a register of a narrow format is read as, where the intrinsic takes it as a word.
pub(super) fn word_shape(e: MatrixElement) -> Option<(Format, u32)> {
    match e {
        MatrixElement::Bf16 => Some((Format::Bf16, 2)),
        MatrixElement::Tf32 => Some((Format::F32, 1)),
        _ => None,
    }
}

/// What an argument of a product of matrices is read as, where it is a word.
pub(super) fn argument_shape(call: Value, v: Value) -> Option<(Format, u32)> {
    let form = kerf_ir::tensor_core::multiply(call)?;
    let is_factor = call.args().contains(&v) && v.ty().is_int();
    word_shape(form.a).filter(|_| is_factor)
}

impl Pass<'_> {
    /// The shadow of an element that a lane holds.
    fn element(&self, b: &Builder, f: Fragment, registers: &[Value], e: u32) -> Dd {
        let pack = f.element.per_register();
        let register = registers[(e / pack) as usize];
        let all = match word_shape(f.element) {
            Some(shape) => self.incoming_word(b, register, shape),
            None => self.get(b, register),
        };
        all[(e % pack) as usize]
    }

    /// `mma.sync` and `wmma.mma`; sums of integers have no shadow.
    pub(super) fn multiply_matrices(&mut self, i: Value, form: Multiply, b: &Builder) {
        if form.c == MatrixElement::S32 {
            return;
        }
        let [fa, fb, fc] =
            [MatrixOperand::A, MatrixOperand::B, MatrixOperand::C].map(|m| form.fragment(m));
        let args = i.args();
        let (a, rest) = args.split_at(fa.registers() as usize);
        let (bs, c) = rest.split_at(fb.registers() as usize);
        let lane = b.intrinsic("llvm.nvvm.read.ptx.sreg.laneid", &[], &[]);
        let mut lanes: BTreeMap<[u32; 3], Value> = BTreeMap::new();
        let mut sums = BTreeMap::new();
        for e in 0..fc.elements() {
            let mut sum = self.element(b, fc, c, e);
            for k in 0..form.shape.k {
                let left = source(fa, |l| (fc.place(l, e).0, k));
                let right = source(fb, |l| (k, fc.place(l, e).1));
                let (Some(left), Some(right)) = (left, right) else {
                    return self.needs_host(form.describe());
                };
                let x = self.element(b, fa, a, left.element);
                let x = self.fetched(b, i, (lane, &mut lanes), left.lane, x);
                let y = self.element(b, fb, bs, right.element);
                let y = self.fetched(b, i, (lane, &mut lanes), right.lane, y);
                sum = self.multiply_add(b, x, y, sum);
            }
            let pack = fc.element.per_register();
            let path = match pack {
                1 => vec![e],
                _ => vec![e / pack, e % pack],
            };
            sums.insert(path, sum);
        }
        self.aggregates.insert(i, sums);
    }

    /// `x * y + sum`, both operations rounded to a double-double, by one function of the module that stays a call: a tile has
    /// thousands, and in place they take LLVM minutes.
    fn multiply_add(&self, b: &Builder, x: Dd, y: Dd, sum: Dd) -> Dd {
        let name = format!("{}multiply_add", reference_library::PREFIX);
        if self.m.function(&name).is_none() {
            let pair = self.f64t.vector(2);
            let f = self.m.add_function(&name, pair.function(&[pair; 3]));
            f.set_linkage(Linkage::LLVMInternalLinkage);
            f.add_enum_attr("noinline");
            let body = Builder::at_end(self.m.append_block(f, ""));
            let binary = |function: &str, x: Value, y: Value| {
                let name = format!("{}{function}", reference_library::PREFIX);
                body.call(self.m.declare(&name, pair.function(&[pair; 2])), &[x, y])
            };
            let p = f.params();
            let product = binary("mul", p[0], p[1]);
            body.ret(Some(binary("add", p[2], product)));
        }
        let all = [x, y, sum].map(|s| self.pair(b, s));
        self.call_pair(b, &name, &all)
    }

    /// A shadow of another lane, which a linear function names.
    fn fetched(
        &mut self,
        b: &Builder,
        i: Value,
        (lane, lanes): (Value, &mut BTreeMap<[u32; 3], Value>),
        from: [u32; 3],
        s: Dd,
    ) -> Dd {
        let from = *lanes.entry(from).or_insert_with(|| {
            let (group, place) = (b.lshr(lane, b.i32(2)), b.and(lane, b.i32(3)));
            let by_group = b.mul(group, b.i32(from[1]));
            let by_place = b.mul(place, b.i32(from[2]));
            b.add(b.add(by_group, by_place), b.i32(from[0]))
        });
        let control = [b.i32(u32::MAX), from, b.i32(31)];
        self.journey(b, i, "llvm.nvvm.shfl.sync.idx.i32", control, s)
    }
}
