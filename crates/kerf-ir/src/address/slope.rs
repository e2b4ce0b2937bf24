//! How a value changes from one thread of a block to the next.
//!
//! Enough to tell addresses that a warp shares, that lie side by side, and that are scattered: sums,
//! products with constants and address arithmetic of thread indices are followed, everything else that
//! depends on the thread is unknown.
use super::{MOST_STEPS, SpecialRegister, signed_constant, special_register, steps};
use kerf_llvm::{Module, Opcode, Value};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Change of a value with the thread's index in x and in y (z counts as y); none where unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slope {
    /// With the index in x.
    pub x: Option<i64>,
    /// With the index in y.
    pub y: Option<i64>,
}

impl Slope {
    /// The same for all threads.
    pub const UNIFORM: Slope = Slope {
        x: Some(0),
        y: Some(0),
    };
    /// Anything.
    pub const UNKNOWN: Slope = Slope { x: None, y: None };

    fn zip(self, o: Slope, f: impl Fn(i64, i64) -> i64) -> Slope {
        let one = |a: Option<i64>, b: Option<i64>| Some(f(a?, b?));
        Slope {
            x: one(self.x, o.x),
            y: one(self.y, o.y),
        }
    }
    fn plus(self, o: Slope) -> Slope {
        self.zip(o, i64::wrapping_add)
    }
    fn times(self, k: i64) -> Slope {
        self.zip(Slope::UNIFORM, |a, _| a.wrapping_mul(k))
    }
    /// Times a factor that all threads share, but whose value is unknown.
    fn times_something(self) -> Slope {
        let one = |a: Option<i64>| a.filter(|a| *a == 0);
        Slope {
            x: one(self.x),
            y: one(self.y),
        }
    }
    /// Is it the same for all threads?
    pub fn is_uniform(self) -> bool {
        self == Slope::UNIFORM
    }
}

/// Slopes of the values of a module.
pub struct Strides<'m> {
    m: &'m Module,
    known: BTreeMap<Value, Slope>,
    /// Calls of [`Strides::slope`] that are under way.
    depth: u32,
}

impl<'m> Strides<'m> {
    /// Nothing is known yet.
    pub fn new(m: &'m Module) -> Strides<'m> {
        Strides {
            m,
            known: BTreeMap::new(),
            depth: 0,
        }
    }

    /// Slope of a value.
    pub fn slope(&mut self, v: Value) -> Slope {
        if let Some(s) = self.known.get(&v) {
            return *s;
        }
        if v.is_argument() {
            // A kernel's parameters are the same everywhere; a function's may be anything.
            let f = v.argument_function();
            return match self.m.kernel_functions().contains(&f) {
                true => Slope::UNIFORM,
                false => Slope::UNKNOWN,
            };
        }
        let Some(op) = v.opcode() else {
            return Slope::UNIFORM;
        };
        if self.depth >= MOST_STEPS {
            return Slope::UNKNOWN;
        }
        // A loop comes back here; what it began with is the guess.
        self.known.insert(v, Slope::UNKNOWN);
        self.depth += 1;
        let s = self.instruction(v, op);
        self.depth -= 1;
        self.known.insert(v, s);
        s
    }

    fn all_uniform(&mut self, of: &[Value]) -> Slope {
        match of.iter().all(|o| self.slope(*o).is_uniform()) {
            true => Slope::UNIFORM,
            false => Slope::UNKNOWN,
        }
    }

    fn instruction(&mut self, v: Value, op: Opcode) -> Slope {
        use Opcode::*;
        match op {
            LLVMAdd => self.slope(v.operand(0)).plus(self.slope(v.operand(1))),
            LLVMSub => self
                .slope(v.operand(0))
                .plus(self.slope(v.operand(1)).times(-1)),
            LLVMOr if signed_constant(v.operand(1)).is_some() => self.slope(v.operand(0)),
            LLVMMul => {
                let (a, b) = (v.operand(0), v.operand(1));
                match (signed_constant(a), signed_constant(b)) {
                    (_, Some(k)) => self.slope(a).times(k),
                    (Some(k), _) => self.slope(b).times(k),
                    _ => match (self.slope(a), self.slope(b)) {
                        (s, o) if o.is_uniform() => s.times_something(),
                        (o, s) if o.is_uniform() => s.times_something(),
                        _ => Slope::UNKNOWN,
                    },
                }
            }
            LLVMShl => {
                let s = self.slope(v.operand(0));
                match signed_constant(v.operand(1)) {
                    Some(k @ 0..=62) => s.times(1 << k),
                    _ if self.slope(v.operand(1)).is_uniform() => s.times_something(),
                    _ => Slope::UNKNOWN,
                }
            }
            // Within a warp, low bits of the index count on and high bits stand still.
            LLVMAnd => {
                let s = self.slope(v.operand(0));
                match signed_constant(v.operand(1)) {
                    Some(mask) if mask >= 31 && mask & mask.wrapping_add(1) == 0 => s,
                    _ => self.all_uniform(&v.operands()),
                }
            }
            LLVMLShr | LLVMAShr => {
                let s = self.slope(v.operand(0));
                match signed_constant(v.operand(1)) {
                    Some(5..) if s.x == Some(1) => Slope {
                        x: Some(0),
                        y: s.y.filter(|y| *y == 0),
                    },
                    _ => self.all_uniform(&v.operands()),
                }
            }
            LLVMSExt | LLVMZExt | LLVMTrunc | LLVMPtrToInt | LLVMIntToPtr | LLVMBitCast
            | LLVMAddrSpaceCast | LLVMFreeze => self.slope(v.operand(0)),
            LLVMSelect => {
                let (a, b) = (self.slope(v.operand(1)), self.slope(v.operand(2)));
                match a == b {
                    true => a,
                    false => Slope::UNKNOWN,
                }
            }
            LLVMPHI => self.phi(v),
            LLVMGetElementPtr => self.address(v),
            LLVMLoad => self.all_uniform(&[v.operand(0)]),
            LLVMCall => self.call(v),
            LLVMAlloca => Slope::UNIFORM,
            LLVMAtomicRMW | LLVMAtomicCmpXchg => Slope::UNKNOWN,
            _ => self.all_uniform(&v.operands()),
        }
    }

    fn phi(&mut self, v: Value) -> Slope {
        let incoming = v.incoming();
        let Some((first, _)) = incoming.first() else {
            return Slope::UNKNOWN;
        };
        let guess = self.slope(*first);
        self.known.insert(v, guess);
        let others: Vec<Slope> = incoming[1..].iter().map(|(x, _)| self.slope(*x)).collect();
        match others.iter().all(|s| *s == guess) {
            true => guess,
            false => Slope::UNKNOWN,
        }
    }

    fn address(&mut self, v: Value) -> Slope {
        let Some(steps) = steps(self.m, v) else {
            return Slope::UNKNOWN;
        };
        let mut sum = self.slope(v.operand(0));
        for (index, size) in steps.indices {
            sum = sum.plus(self.slope(index).times(size));
        }
        sum
    }

    fn call(&mut self, v: Value) -> Slope {
        if let Some(register) = special_register(v) {
            use SpecialRegister::*;
            return match register {
                ThreadIndex(0) | Lane => Slope {
                    x: Some(1),
                    y: Some(0),
                },
                ThreadIndex(_) => Slope {
                    x: Some(0),
                    y: Some(1),
                },
                LaneMask => Slope::UNKNOWN,
                _ => Slope::UNIFORM,
            };
        }
        let name = v.callee_name().unwrap_or_default();
        let Some(n) = name.strip_prefix("llvm.") else {
            return Slope::UNKNOWN;
        };
        let args = v.args();
        let clamp = ["smin.", "smax.", "umin.", "umax."];
        // Clamping changes the edges only.
        if clamp.iter().any(|c| n.starts_with(c)) && args[1].is_constant() {
            return self.slope(args[0]);
        }
        self.all_uniform(&args)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_chains_of_operations_end() {
        // Each was a call on the stack.
        let mut text = String::from("define ptx_kernel void @k(i32 %n) {\n  %a0 = add i32 %n, 1\n");
        for k in 1..20_000 {
            text += &format!("  %a{k} = xor i32 %a{}, %n\n", k - 1);
        }
        text += "  ret void\n}\n";
        let m = Module::parse(text.as_bytes(), "k").expect("IR");
        let all = m.function("k").expect("a kernel").instructions();
        let value = |name: &str| *all.iter().find(|i| i.name() == name).expect("a value");
        let mut strides = Strides::new(&m);
        assert_eq!(strides.slope(value("a19999")), Slope::UNKNOWN);
        assert_eq!(strides.slope(value("a100")), Slope::UNIFORM);
    }
}
