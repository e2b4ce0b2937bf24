//! Tensor cores: products of matrices in the registers of a warp, and how matrices get there. Each becomes the intrinsic from
//! which the same instruction is made again.
use super::address::take_space;
use super::lifter::Lifter;
use super::refusal::{Lifted, refuse};
use super::syntax::{Instruction, Operand};
use super::types::Ty;
use kerf_llvm::{Type, Value, space};
use kerf_num::Format;

const WORD: Ty = Ty::Bits(32);

/// Registers of an operand: `{a, b}`, or a single one.
fn registers(o: Operand) -> Vec<Operand> {
    match o {
        Operand::Vector(parts) => parts,
        o => vec![o],
    }
}

/// What a register of a fragment is read as, by the name of its elements.
fn register_type(element: &str) -> Option<Ty> {
    Some(match element {
        "f16" => Ty::Float2(Format::F16),
        "f32" => Ty::Float(Format::F32),
        "f64" => Ty::Float(Format::F64),
        "bf16" | "tf32" | "s8" | "u8" | "s32" => WORD,
        _ => return None,
    })
}

/// `m16n8k16`
fn is_shape(modifier: &str) -> bool {
    let mut digits = modifier.split(['m', 'n', 'k']).skip(1);
    modifier.starts_with('m') && digits.all(|d| d.parse::<u32>().is_ok())
}

impl Lifter {
    /// The registers of an operand, of the types that an intrinsic takes.
    fn fragment(&self, o: Operand, element: &str) -> Lifted<Vec<Value>> {
        let Some(ty) = register_type(element) else {
            return refuse(format!("matrices of {element} are not supported"));
        };
        let registers = registers(o);
        registers.iter().map(|r| self.read(r, ty)).collect()
    }

    /// Writes the fields of an intrinsic's result, or the only one.
    fn write_fields(&mut self, i: &Instruction, to: usize, v: Value) -> Lifted<()> {
        let to = registers(i.operand(to)?);
        let fields = match v.ty().kind() {
            kerf_llvm::TypeKind::LLVMStructTypeKind => v.ty().fields().len(),
            _ => 0,
        };
        if to.len() != fields.max(1) {
            return refuse(format!("{} with {} registers", i.name, to.len()));
        }
        for (k, o) in to.iter().enumerate() {
            let x = match fields {
                0 => v,
                _ => self.b.extract(v, k as u32),
            };
            self.write(o, x, false)?;
        }
        Ok(())
    }

    /// An intrinsic whose arguments must be as many as it takes.
    fn matrix_intrinsic(&self, name: &str, types: &[Type], args: &[Value]) -> Lifted<Value> {
        let Some(expected) = self.intrinsic_arity(name, types) else {
            return refuse(format!("LLVM has no {name}"));
        };
        if expected != args.len() {
            return refuse(format!("{name} with {} operands", args.len()));
        }
        self.intrinsic(name, types, args)
    }

    /// `mma.sync`
    pub fn multiply_matrices(&mut self, i: &mut Instruction) -> Lifted<()> {
        i.arity(4)?;
        let known = i.flag("sync") & i.flag("aligned");
        let saturate = if i.flag("satfinite") {
            ".satfinite"
        } else {
            ""
        };
        let [shape, a_layout, b_layout, d, a, b, c] = i.modifiers.as_slice() else {
            return i.unsupported();
        };
        if !known || !is_shape(shape) {
            return i.unsupported();
        }
        let elements = match (a.as_str(), a == b) {
            ("f16", true) => format!("{d}.{c}"),
            (_, true) => a.clone(),
            (_, false) => format!("{a}.{b}"),
        };
        let name = format!("llvm.nvvm.mma.{shape}.{a_layout}.{b_layout}{saturate}.{elements}");
        let mut args = self.fragment(i.operand(1)?, a)?;
        args.extend(self.fragment(i.operand(2)?, b)?);
        args.extend(self.fragment(i.operand(3)?, c)?);
        let v = self.matrix_intrinsic(&name, &[], &args)?;
        i.modifiers.clear();
        self.write_fields(i, 0, v)
    }

    /// `ldmatrix` and `stmatrix`
    pub fn move_matrix(&mut self, i: &mut Instruction, op: &str) -> Lifted<()> {
        i.arity(2)?;
        let known = i.flag("sync") & i.flag("aligned") & i.flag("m8n8") & i.flag("b16");
        let count = i.pick(&["x1", "x2", "x4"]);
        let transposed = if i.flag("trans") { ".trans" } else { "" };
        let space = take_space(i);
        let (Some(count), true, true) = (
            count,
            known,
            matches!(space, space::SHARED | space::GENERIC),
        ) else {
            return i.unsupported();
        };
        let name = format!("llvm.nvvm.{op}.sync.aligned.m8n8.{count}{transposed}.b16");
        let (at, held) = match op {
            "ldmatrix" => (1, 0),
            _ => (0, 1),
        };
        let p = self.address(&i.operand(at)?, space)?;
        if op == "ldmatrix" {
            let v = self.matrix_intrinsic(&name, &[p.ty()], &[p])?;
            return self.write_fields(i, held, v);
        }
        let mut args = vec![p];
        for r in registers(i.operand(held)?) {
            args.push(self.read(&r, WORD)?);
        }
        self.matrix_intrinsic(&name, &[p.ty()], &args).map(|_| ())
    }

    /// `wmma.load`, `wmma.store` and `wmma.mma`
    pub fn wmma(&mut self, i: &mut Instruction) -> Lifted<()> {
        if !(i.flag("sync") & i.flag("aligned")) {
            return i.unsupported();
        }
        match i.pick(&["load", "store", "mma"]) {
            Some("load") => self.wmma_load(i),
            Some("store") => self.wmma_store(i),
            Some(_) => self.wmma_multiply(i),
            None => i.unsupported(),
        }
    }

    /// The distance of rows or columns, if it is given.
    fn stride(&self, i: &Instruction) -> Lifted<Option<Value>> {
        let stride = i.operands.get(2);
        stride.map(|o| self.read(o, Ty::Uint(32))).transpose()
    }

    fn wmma_load(&mut self, i: &mut Instruction) -> Lifted<()> {
        let matrix = i.pick(&["a", "b", "c"]);
        let layout = i.pick(&["row", "col"]);
        let space = take_space(i);
        let (Some(matrix), Some(layout), [shape, element]) =
            (matrix, layout, i.modifiers.as_slice())
        else {
            return i.unsupported();
        };
        let stride = self.stride(i)?;
        let strided = if stride.is_some() { ".stride" } else { "" };
        let name = format!("llvm.nvvm.wmma.{shape}.load.{matrix}.{layout}{strided}.{element}");
        let p = self.address(&i.operand(1)?, space)?;
        let mut args = vec![p];
        args.extend(stride);
        let v = self.matrix_intrinsic(&name, &[p.ty()], &args)?;
        i.modifiers.clear();
        self.write_fields(i, 0, v)
    }

    fn wmma_store(&mut self, i: &mut Instruction) -> Lifted<()> {
        let matrix = i.flag("d");
        let layout = i.pick(&["row", "col"]);
        let space = take_space(i);
        let (true, Some(layout), [shape, element]) = (matrix, layout, i.modifiers.as_slice())
        else {
            return i.unsupported();
        };
        let stride = self.stride(i)?;
        let strided = if stride.is_some() { ".stride" } else { "" };
        let name = format!("llvm.nvvm.wmma.{shape}.store.d.{layout}{strided}.{element}");
        let p = self.address(&i.operand(0)?, space)?;
        let mut args = vec![p];
        args.extend(self.fragment(i.operand(1)?, element)?);
        args.extend(stride);
        self.matrix_intrinsic(&name, &[p.ty()], &args)?;
        i.modifiers.clear();
        Ok(())
    }

    fn wmma_multiply(&mut self, i: &mut Instruction) -> Lifted<()> {
        i.arity(4)?;
        let saturate = if i.flag("satfinite") {
            ".satfinite"
        } else {
            ""
        };
        let rounding = if i.flag("rn") { ".rn" } else { "" };
        // Halves are named by result and accumulator alone, other factors by all four.
        let (layouts, shape, elements) = match i.modifiers.as_slice() {
            [la, lb, shape, d, c] => ([la, lb], shape, [d.as_str(), "f16", "f16", c]),
            [la, lb, shape, d, a, b, c] => ([la, lb], shape, [d.as_str(), a, b, c]),
            _ => return i.unsupported(),
        };
        let [d, a, b, c] = elements;
        let named = match a {
            "f16" => format!("{d}.{c}"),
            _ if a == b => a.to_owned(),
            _ => return i.unsupported(),
        };
        let [la, lb] = layouts;
        let name = format!("llvm.nvvm.wmma.{shape}.mma.{la}.{lb}{rounding}.{named}{saturate}");
        let mut args = self.fragment(i.operand(1)?, a)?;
        args.extend(self.fragment(i.operand(2)?, b)?);
        args.extend(self.fragment(i.operand(3)?, c)?);
        let v = self.matrix_intrinsic(&name, &[], &args)?;
        i.modifiers.clear();
        self.write_fields(i, 0, v)
    }
}
