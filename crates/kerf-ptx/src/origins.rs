//! Which integers of a kernel are addresses, and of what.
//!
//! PTX computes addresses as integers. A forward analysis over the values of a function, to a fixed point, tells those that
//! come from a pointer: a parameter, a variable, a pointer in memory, and sums of these with something else.
use kerf_llvm::{Opcode, Value, space};
use std::collections::HashMap;

/// How sure it is that a value is an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Certainty {
    /// It is none.
    Integer,
    /// It may be one: a 64-bit parameter, an integer from memory.
    Possible,
    /// It is one.
    Address,
}

/// The state space that an address is known to be in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AddressSpace {
    /// Any: the access decides.
    Any,
    /// This one of LLVM's.
    One(u32),
    /// Several.
    Mixed,
}

/// What is known of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Origin {
    /// Is it an address?
    pub certainty: Certainty,
    /// Where to?
    pub space: AddressSpace,
}

const INTEGER: Origin = Origin {
    certainty: Certainty::Integer,
    space: AddressSpace::Any,
};

/// Rounds of the analysis; loops over pointers settle in a few.
const MOST_ROUNDS: usize = 50;

/// Constant expressions are looked into this deep.
const DEEPEST: u32 = 32;

fn join_space(a: AddressSpace, b: AddressSpace) -> AddressSpace {
    match (a, b) {
        (AddressSpace::Any, x) | (x, AddressSpace::Any) => x,
        (a, b) if a == b => a,
        _ => AddressSpace::Mixed,
    }
}

fn join(all: impl Iterator<Item = Origin>) -> Origin {
    all.fold(INTEGER, |a, b| match b.certainty {
        Certainty::Integer => a,
        c => Origin {
            certainty: a.certainty.max(c),
            space: join_space(a.space, b.space),
        },
    })
}

/// Opcode of an instruction or constant expression.
pub(super) fn operation(v: Value) -> Option<Opcode> {
    v.opcode().or_else(|| v.const_opcode())
}

/// Origins of the values of a function.
pub(super) struct Origins {
    known: HashMap<Value, Origin>,
    parameters: HashMap<Value, Certainty>,
}

impl Origins {
    /// Of a function whose pointer parameters are addresses as `parameters` says.
    pub fn new(f: Value, parameters: HashMap<Value, Certainty>) -> Origins {
        let mut o = Origins {
            known: HashMap::new(),
            parameters,
        };
        let all = f.instructions();
        for _ in 0..MOST_ROUNDS {
            let mut changed = false;
            for i in &all {
                let new = o.transfer(*i, 0);
                changed |= o.known.insert(*i, new) != Some(new);
            }
            if !changed {
                break;
            }
        }
        o
    }

    /// What is known of a value.
    pub fn origin(&self, v: Value) -> Origin {
        self.look(v, 0)
    }

    /// Is it an address, or may it be one?
    pub fn is_address(&self, v: Value) -> bool {
        self.origin(v).certainty > Certainty::Integer
    }

    fn look(&self, v: Value, depth: u32) -> Origin {
        let address = |s| Origin {
            certainty: Certainty::Address,
            space: AddressSpace::One(s),
        };
        if v.is_instruction() {
            return self.known.get(&v).copied().unwrap_or(INTEGER);
        }
        if v.is_argument() && v.ty().is_ptr() {
            let certainty = self.parameters.get(&v).copied();
            return Origin {
                certainty: certainty.unwrap_or(Certainty::Address),
                ..address(v.ty().space())
            };
        }
        if v.is_global_var() || v.is_function() {
            return address(v.ty().space());
        }
        match v.const_opcode() {
            Some(_) if depth < DEEPEST => self.transfer(v, depth + 1),
            _ => INTEGER,
        }
    }

    /// The operand of a sum that is the address.
    pub fn base_operand(&self, sum: Value) -> u32 {
        let certainty = |i| self.origin(sum.operand(i)).certainty;
        u32::from(certainty(1) > certainty(0))
    }

    fn transfer(&self, v: Value, depth: u32) -> Origin {
        use Opcode::*;
        let of = |i: u32| self.look(v.operand(i), depth);
        let doubtful = |o: Origin| Origin {
            certainty: o.certainty.min(Certainty::Possible),
            ..o
        };
        match operation(v) {
            Some(LLVMAlloca) => Origin {
                certainty: Certainty::Address,
                space: AddressSpace::One(v.ty().space()),
            },
            Some(LLVMAddrSpaceCast | LLVMPtrToInt | LLVMBitCast | LLVMFreeze) => of(0),
            Some(LLVMGetElementPtr) => of(0),
            Some(LLVMIntToPtr) => match of(0).certainty {
                Certainty::Integer => Origin {
                    certainty: Certainty::Possible,
                    space: AddressSpace::One(v.ty().space()),
                },
                _ => of(0),
            },
            // 32 bits are a whole address in shared memory alone.
            Some(LLVMTrunc | LLVMZExt | LLVMSExt) => match of(0).space {
                AddressSpace::One(space::SHARED) => of(0),
                _ => INTEGER,
            },
            Some(LLVMAdd) => match (of(0), of(1)) {
                (a, b) if a.certainty >= b.certainty => a,
                (_, b) => b,
            },
            Some(LLVMSub) => match of(1).certainty {
                Certainty::Integer => of(0),
                _ => INTEGER,
            },
            Some(LLVMOr | LLVMXor | LLVMAnd) => match (of(0), of(1)) {
                (a, b) if b.certainty == Certainty::Integer => doubtful(a),
                (a, b) if a.certainty == Certainty::Integer => doubtful(b),
                _ => INTEGER,
            },
            Some(LLVMPHI) => join(v.incoming().into_iter().map(|(x, _)| self.look(x, depth))),
            Some(LLVMSelect) => join([of(1), of(2)].into_iter()),
            Some(LLVMLoad | LLVMCall) if v.ty().is_ptr() => Origin {
                certainty: Certainty::Address,
                space: AddressSpace::Any,
            },
            Some(LLVMLoad | LLVMCall) if v.ty().is_int() && v.ty().int_bits() == 64 => Origin {
                certainty: Certainty::Possible,
                space: AddressSpace::Any,
            },
            _ => INTEGER,
        }
    }
}
