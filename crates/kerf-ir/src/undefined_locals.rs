//! Local variables without a value, made visible before SSA form hides them.
//!
//! Promotion to registers turns a read of an unassigned local variable into `undef`, which optimisation then
//! replaces by whatever is convenient: afterwards nothing shows that the program read it. So before promotion, every
//! local variable is assigned the result of an opaque function ([`VALUE`]) at the start of its lifetime. Where the program assigns the variable
//! before it reads it, that store is dead and disappears; elsewhere the call stays, and the sanitizer pass knows its
//! result to be undefined. Arrays too large for that are marked as a range of memory ([`RANGE`]). Clang's
//! `-ftrivial-auto-var-init` is the same idea with a value in place of the call.
use kerf_llvm::{Builder, Module, Opcode, Type, TypeKind, Value};

/// Prefix of functions whose result is undefined; the argument numbers the variable in [`NAMES`].
pub const VALUE: &str = "kerf.undefined.value.";
/// Function that makes bytes from an address on undefined: address, bytes, number of the variable.
pub const RANGE: &str = "kerf.undefined.range";
/// Module texts: name, tab, and `file:line` of the declaration, of the variables by number.
pub const NAMES: &str = "kerf.undefined.names";

/// Scalars of a variable that are assigned one by one.
const MOST_SCALARS: usize = 64;

/// Byte offset and type of every scalar in a type; none if there are too many.
fn scalars(m: &Module, t: Type, at: u64, out: &mut Vec<(u64, Type)>) -> Option<()> {
    match t.kind() {
        TypeKind::LLVMArrayTypeKind => {
            let each = m.size_of(t.element());
            for k in 0..t.array_len() {
                scalars(m, t.element(), at + k * each, out)?;
            }
        }
        TypeKind::LLVMStructTypeKind => {
            for (k, f) in (0u32..).zip(t.fields()) {
                scalars(m, f, at + m.field_offset(t, k), out)?;
            }
        }
        _ => out.push((at, t)),
    }
    (out.len() <= MOST_SCALARS).then_some(())
}

fn mark(m: &Module, b: &Builder, variable: Value, number: u32) {
    let t = variable.allocated_type();
    let single = variable.operand(0).const_int() == Some(1);
    let mut parts = Vec::new();
    let i32t = m.int_ty(32);
    if single && scalars(m, t, 0, &mut parts).is_some() {
        for (at, t) in parts {
            let name = format!("{VALUE}{}", t.print().replace(' ', "_"));
            let f = m.declare(&name, t.function(&[i32t]));
            f.mark_pure();
            let v = b.call(f, &[b.i32(number)]);
            b.store(v, b.offset(variable, b.i64(at)));
        }
        return;
    }
    let f = m.declare(
        RANGE,
        m.void_ty().function(&[variable.ty(), m.int_ty(64), i32t]),
    );
    let count = b.zext_or_trunc(variable.operand(0), m.int_ty(64));
    let bytes = b.mul(count, b.i64(m.size_of(t)));
    b.call(f, &[variable, bytes, b.i32(number)]);
}

/// Marks the local variables of every function.
pub fn mark_undefined_locals(m: &Module) {
    let mut names: u32 = 0;
    for f in m.functions().into_iter().filter(|f| !f.is_declaration()) {
        let all = f.instructions();
        for v in all
            .iter()
            .filter(|i| i.opcode() == Some(Opcode::LLVMAlloca))
        {
            let name = v.variable_name().unwrap_or_else(|| v.name());
            let place = v.variable_place().unwrap_or_default();
            m.set_text(NAMES, &format!("{name}\t{place}"));
            let starts: Vec<Value> = v
                .users()
                .into_iter()
                .filter(|u| {
                    u.callee_name()
                        .is_some_and(|n| n.starts_with("llvm.lifetime.start"))
                })
                .collect();
            // Without a start of its own, a variable lives as long as the call of its function.
            let places = if starts.is_empty() { vec![*v] } else { starts };
            for p in places {
                if let Some(next) = p.next() {
                    mark(m, &Builder::before(next), *v, names);
                }
            }
            names += 1;
        }
    }
}
