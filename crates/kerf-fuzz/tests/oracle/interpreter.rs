//! An interpreter of prepared IR, thread by thread, with a format for each site.
use super::arithmetic::{compare, from_integer, mask, signed};
use kerf_fuzz::random_kernel::{Inputs, RandomKernel};
use kerf_ir::sites::float_shape;
use kerf_llvm::{Block, IntPred, Module, Opcode, Type, Value};
use kerf_num::Format;
use std::collections::BTreeMap;

#[derive(Debug, Clone)]
pub(super) enum V {
    Int(u64),
    Float(f64),
    Ptr(usize, i64),
    Vector(Vec<V>),
}

/// What the interpreter does not know, or what no definition says.
pub(super) type Unknown = String;

pub struct Interpreter<'m> {
    m: &'m Module,
    formats: BTreeMap<Value, Format>,
    pub(super) memory: Vec<Vec<u8>>,
    /// tid, ntid, ctaid, nctaid.
    pub(super) registers: BTreeMap<String, u32>,
    steps: usize,
}

impl Interpreter<'_> {
    pub fn new(m: &Module, formats: BTreeMap<Value, Format>) -> Interpreter<'_> {
        Interpreter {
            m,
            formats,
            memory: Vec::new(),
            registers: BTreeMap::new(),
            steps: 0,
        }
    }

    /// Outputs of a launch: f64, f32, f16 and i32 buffers.
    pub fn run(&mut self, k: &RandomKernel, inputs: &Inputs) -> Result<[Vec<u8>; 4], Unknown> {
        let n = k.threads();
        self.memory = vec![
            inputs.f64.iter().flat_map(|v| v.to_le_bytes()).collect(),
            inputs.f32.iter().flat_map(|v| v.to_le_bytes()).collect(),
            inputs.f16.iter().flat_map(|v| v.to_le_bytes()).collect(),
            inputs.i32.iter().flat_map(|v| v.to_le_bytes()).collect(),
        ];
        for size in [8, 4, 2, 4] {
            self.memory.push(vec![0xa5; n * size]);
        }
        let f = self.m.function(&k.name).expect("the kernel is there");
        let ([gx, gy, gz], [bx, by, bz]) = (k.grid, k.block);
        for c in 0..gx * gy * gz {
            for t in 0..bx * by * bz {
                let all = [
                    ("tid", [t % bx, t / bx % by, t / bx / by]),
                    ("ntid", k.block),
                    ("ctaid", [c % gx, c / gx % gy, c / gx / gy]),
                    ("nctaid", k.grid),
                ];
                for (name, value) in all {
                    for (axis, v) in ["x", "y", "z"].into_iter().zip(value) {
                        self.registers.insert(format!("{name}.{axis}"), v);
                    }
                }
                self.memory.truncate(8);
                self.call(f, (0..8).map(|b| V::Ptr(b, 0)).collect())?;
            }
        }
        self.memory.truncate(8);
        let out = self.memory.split_off(4);
        Ok(out.try_into().expect("four buffers"))
    }

    pub(super) fn call(&mut self, f: Value, args: Vec<V>) -> Result<Option<V>, Unknown> {
        let mut frame: BTreeMap<Value, V> = f.params().into_iter().zip(args).collect();
        let mut block = f.blocks()[0];
        let mut from: Option<Block> = None;
        loop {
            let mut phis = Vec::new();
            for i in block.instructions() {
                if i.opcode() != Some(Opcode::LLVMPHI) {
                    break;
                }
                let incoming = i.incoming();
                let (v, _) = incoming
                    .iter()
                    .find(|p| Some(p.1) == from)
                    .expect("an edge");
                let v = self.value(*v, &frame)?;
                phis.push((i, self.rounded(i, v)));
            }
            frame.extend(phis);
            let mut next = None;
            for i in block.instructions() {
                self.steps += 1;
                if self.steps > 20_000_000 {
                    return Err("too long".into());
                }
                match i.opcode() {
                    Some(Opcode::LLVMPHI) => {}
                    Some(Opcode::LLVMRet) => {
                        return i
                            .operands()
                            .first()
                            .map(|v| self.value(*v, &frame))
                            .transpose();
                    }
                    Some(Opcode::LLVMBr) => {
                        let to = i.successors();
                        next = Some(match to.len() {
                            1 => to[0],
                            _ => to[usize::from(self.int(i.operand(0), &frame)? & 1 == 0)],
                        });
                    }
                    Some(Opcode::LLVMSwitch) => {
                        let c = self.int(i.operand(0), &frame)?;
                        let width = i.operand(0).ty().int_bits();
                        // The values of the cases are in the text only, in the order of the blocks.
                        let hit = i
                            .print()
                            .split(", label ")
                            .skip(1)
                            .map(|p| p.rsplit(' ').next().and_then(|n| n.parse::<i64>().ok()))
                            .position(|n| n.is_some_and(|n| mask(n as u64, width) == c));
                        next = Some(i.successors()[hit.map_or(0, |k| k + 1)]);
                    }
                    _ => {
                        if let Some(v) = self.instruction(i, &frame)? {
                            frame.insert(i, v);
                        }
                    }
                }
            }
            from = Some(block);
            block = next.ok_or("a block without an end that is known")?;
        }
    }

    /// The format that a site has in the plan, or its own.
    pub(super) fn format(&self, i: Value, t: Type) -> Format {
        let own = float_shape(t).map_or(Format::F64, |s| s.0);
        self.formats.get(&i).copied().unwrap_or(own)
    }

    /// A value as a site takes it.
    fn rounded(&self, i: Value, v: V) -> V {
        match v {
            V::Float(x) => V::Float(self.formats.get(&i).map_or(x, |f| f.round(x))),
            V::Vector(l) => V::Vector(l.into_iter().map(|v| self.rounded(i, v)).collect()),
            other => other,
        }
    }

    fn constant(&self, v: Value) -> Result<V, Unknown> {
        if let Some(n) = v.const_int() {
            return Ok(V::Int(n));
        }
        if let Some(x) = v.const_real() {
            return Ok(V::Float(x));
        }
        if v.ty().is_vector() {
            let lanes = (0..v.ty().lanes()).map(|k| {
                let lane = v.lane_constant(k).ok_or("a strange vector")?;
                if lane.is_undef() {
                    return Ok(V::Float(0.0));
                }
                self.constant(lane)
            });
            return Ok(V::Vector(lanes.collect::<Result<_, Unknown>>()?));
        }
        Err(format!("the constant {}", v.print()))
    }

    pub(super) fn value(&self, v: Value, frame: &BTreeMap<Value, V>) -> Result<V, Unknown> {
        match frame.get(&v) {
            Some(v) => Ok(v.clone()),
            None => self.constant(v),
        }
    }

    fn int(&self, v: Value, frame: &BTreeMap<Value, V>) -> Result<u64, Unknown> {
        match self.value(v, frame)? {
            V::Int(n) => Ok(n),
            other => Err(format!("{other:?} is no integer")),
        }
    }

    fn float(&self, v: Value, frame: &BTreeMap<Value, V>) -> Result<f64, Unknown> {
        match self.value(v, frame)? {
            V::Float(x) => Ok(x),
            other => Err(format!("{other:?} is no number")),
        }
    }

    fn read(&self, t: Type, at: &V) -> Result<V, Unknown> {
        let V::Ptr(b, o) = at else {
            return Err("a load from nowhere".into());
        };
        if t.is_vector() {
            let size = self.m.size_of(t.element()) as i64;
            let lanes = (0..i64::from(t.lanes()))
                .map(|k| self.read(t.element(), &V::Ptr(*b, o + k * size)));
            return Ok(V::Vector(lanes.collect::<Result<_, _>>()?));
        }
        let size = self.m.size_of(t) as usize;
        let mut raw = [0u8; 8];
        raw[..size].copy_from_slice(&self.memory[*b][*o as usize..*o as usize + size]);
        let bits = u64::from_le_bytes(raw);
        Ok(match t.format() {
            Some(f) => V::Float(f.decode(bits)),
            None => V::Int(bits),
        })
    }

    fn write(&mut self, t: Type, v: &V, at: &V) -> Result<(), Unknown> {
        let (V::Ptr(b, o), Some(bits)) = (at, bits_of(t, v)) else {
            return Err("a store of something strange".into());
        };
        let size = self.m.size_of(t) as usize;
        self.memory[*b][*o as usize..*o as usize + size]
            .copy_from_slice(&bits.to_le_bytes()[..size]);
        Ok(())
    }

    fn address(&self, i: Value, frame: &BTreeMap<Value, V>) -> Result<V, Unknown> {
        let V::Ptr(b, mut at) = self.value(i.operand(0), frame)? else {
            return Err("an address of nothing".into());
        };
        let mut t = i.gep_type();
        for (k, index) in i.operands().into_iter().enumerate().skip(1) {
            let n = signed(self.int(index, frame)?, index.ty().int_bits());
            if k > 1 {
                t = t.element();
            }
            at += n * self.m.size_of(t) as i64;
        }
        Ok(V::Ptr(b, at))
    }

    fn instruction(&mut self, i: Value, frame: &BTreeMap<Value, V>) -> Result<Option<V>, Unknown> {
        use Opcode::*;
        let op = i.opcode().ok_or("no instruction")?;
        let arg = |k: u32| self.value(i.operand(k), frame);
        let int = |k: u32| self.int(i.operand(k), frame);
        let bits = |k: u32| i.operand(k).ty().int_bits();
        Ok(Some(match op {
            LLVMFAdd | LLVMFSub | LLVMFMul | LLVMFDiv => {
                let f = self.format(i, i.ty());
                let (a, b) = (
                    f.round(self.float(i.operand(0), frame)?),
                    f.round(self.float(i.operand(1), frame)?),
                );
                // f64 has more than twice the digits of the others, so the second rounding is harmless.
                V::Float(f.round(match op {
                    LLVMFAdd => a + b,
                    LLVMFSub => a - b,
                    LLVMFMul => a * b,
                    _ => a / b,
                }))
            }
            LLVMFNeg => match self.rounded(i, arg(0)?) {
                V::Float(x) => V::Float(-x),
                _ => return Err("a vector is negated".into()),
            },
            LLVMFPExt | LLVMFPTrunc => {
                let f = self.format(i, i.ty());
                V::Float(f.round(self.float(i.operand(0), frame)?))
            }
            LLVMFCmp => {
                let f = self.format(i, i.operand(0).ty());
                let a = f.round(self.float(i.operand(0), frame)?);
                let b = f.round(self.float(i.operand(1), frame)?);
                V::Int(u64::from(compare(i.real_pred(), a, b)))
            }
            LLVMSelect => {
                let chosen = arg(if int(0)? & 1 == 1 { 1 } else { 2 })?;
                self.rounded(i, chosen)
            }
            LLVMSIToFP => {
                let n = signed(int(0)?, bits(0));
                V::Float(from_integer(i128::from(n), self.format(i, i.ty())))
            }
            LLVMUIToFP => V::Float(from_integer(i128::from(int(0)?), self.format(i, i.ty()))),
            LLVMFPToSI | LLVMFPToUI => {
                let f = self.format(i, i.operand(0).ty());
                let x = f.round(self.float(i.operand(0), frame)?).trunc();
                let n = i.ty().int_bits();
                let (least, most) = match op {
                    LLVMFPToSI => (-(2f64.powi(n as i32 - 1)), 2f64.powi(n as i32 - 1)),
                    _ => (0.0, 2f64.powi(n as i32)),
                };
                if !(x >= least && x < most) {
                    return Err("a conversion out of range".into());
                }
                V::Int(mask(x as i128 as u64, n))
            }
            LLVMLoad => {
                let v = self.read(i.ty(), &arg(0)?)?;
                self.rounded(i, v)
            }
            LLVMStore => {
                let v = self.rounded(i, arg(0)?);
                let at = arg(1)?;
                self.write(i.operand(0).ty(), &v, &at)?;
                return Ok(None);
            }
            LLVMAlloca => {
                let size = self.m.size_of(i.allocated_type()) as usize;
                self.memory.push(vec![0; size]);
                V::Ptr(self.memory.len() - 1, 0)
            }
            LLVMGetElementPtr => self.address(i, frame)?,
            LLVMExtractElement => match (arg(0)?, int(1)?) {
                (V::Vector(l), k) => l[k as usize].clone(),
                _ => return Err("a lane of no vector".into()),
            },
            LLVMInsertElement => match (arg(0)?, int(2)?) {
                (V::Vector(mut l), k) => {
                    l[k as usize] = arg(1)?;
                    V::Vector(l)
                }
                _ => return Err("a lane of no vector".into()),
            },
            LLVMFreeze => arg(0)?,
            LLVMBitCast => match (arg(0)?, i.ty().format()) {
                (V::Int(n), Some(f)) => V::Float(f.decode(n)),
                (V::Float(x), None) if !x.is_nan() && i.ty().is_int() => {
                    V::Int(i.operand(0).ty().format().map_or(0, |f| f.encode(x)))
                }
                _ => return Err("a strange cast".into()),
            },
            LLVMZExt => V::Int(int(0)?),
            LLVMTrunc => V::Int(mask(int(0)?, i.ty().int_bits())),
            LLVMSExt => V::Int(mask(signed(int(0)?, bits(0)) as u64, i.ty().int_bits())),
            LLVMICmp => {
                let n = i.operand(0).ty();
                if !n.is_int() {
                    return Err("pointers are compared".into());
                }
                let (a, b) = (int(0)?, int(1)?);
                let (s, t) = (signed(a, bits(0)), signed(b, bits(0)));
                V::Int(u64::from(match i.int_pred() {
                    IntPred::LLVMIntEQ => a == b,
                    IntPred::LLVMIntNE => a != b,
                    IntPred::LLVMIntUGT => a > b,
                    IntPred::LLVMIntUGE => a >= b,
                    IntPred::LLVMIntULT => a < b,
                    IntPred::LLVMIntULE => a <= b,
                    IntPred::LLVMIntSGT => s > t,
                    IntPred::LLVMIntSGE => s >= t,
                    IntPred::LLVMIntSLT => s < t,
                    _ => s <= t,
                }))
            }
            LLVMAdd | LLVMSub | LLVMMul | LLVMAnd | LLVMOr | LLVMXor | LLVMShl | LLVMLShr
            | LLVMAShr | LLVMUDiv | LLVMURem => {
                if !i.ty().is_int() {
                    return Err("vectors of integers".into());
                }
                let (a, b) = (int(0)?, int(1)?);
                let n = i.ty().int_bits();
                let shift = (b as u32) % n;
                V::Int(mask(
                    match op {
                        LLVMAdd => a.wrapping_add(b),
                        LLVMSub => a.wrapping_sub(b),
                        LLVMMul => a.wrapping_mul(b),
                        LLVMAnd => a & b,
                        LLVMOr => a | b,
                        LLVMXor => a ^ b,
                        LLVMShl => a << shift,
                        LLVMLShr => a >> shift,
                        LLVMAShr => (signed(a, n) >> shift) as u64,
                        LLVMUDiv if b != 0 => a / b,
                        LLVMURem if b != 0 => a % b,
                        _ => return Err("a division by zero".into()),
                    },
                    n,
                ))
            }
            LLVMCall => return self.call_instruction(i, frame),
            other => return Err(format!("{other:?}")),
        }))
    }
}

fn bits_of(t: Type, v: &V) -> Option<u64> {
    match (v, t.format()) {
        (V::Float(x), Some(f)) => Some(f.encode(*x)),
        (V::Int(n), None) => Some(*n),
        _ => None,
    }
}
