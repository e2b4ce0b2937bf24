//! Variables of a module: their memory and content.
use super::file_syntax::{Initial, StateSpace, Variable, Visibility};
use super::refusal::{Lifted, refuse};
use super::syntax::Operand;
use super::types::Ty;
use kerf_llvm::{Builder, Linkage, Module, Opcode, Type, Value, space};

/// Longest content of a variable that is kept, in elements.
const MOST_CONTENT: u64 = 1 << 26;

fn address_space(v: &Variable) -> Lifted<u32> {
    Ok(match v.space {
        StateSpace::Global => space::GLOBAL,
        StateSpace::Const => space::CONSTANT,
        StateSpace::Shared => space::SHARED,
        StateSpace::Local | StateSpace::Param => {
            return refuse(format!("{} is no variable of a module", v.name));
        }
    })
}

fn element_type(b: &Builder, ty: Ty) -> Type {
    match ty {
        Ty::Float(_) | Ty::Float2(_) => ty.llvm(b),
        _ => b.int_ty(ty.width().max(8)),
    }
}

/// Makes a variable under a name; its content comes with [`fill`].
pub(super) fn define(m: &Module, v: &Variable, name: &str) -> Lifted<Value> {
    let b = Builder::of_constants(m);
    let element = element_type(&b, v.ty);
    let dynamic = v.elements().is_none();
    if dynamic && v.visibility != Visibility::Extern {
        return refuse(format!("{} has no length", v.name));
    }
    let ty = match v.is_array() {
        true => element.array(v.elements().unwrap_or(0)),
        false => element,
    };
    let g = m.add_global(ty, name, address_space(v)?);
    g.set_align(v.alignment());
    match (v.visibility, v.space) {
        (Visibility::Extern, _) => return Ok(g),
        (_, StateSpace::Shared) => {
            g.set_initializer(ty.undef());
            g.set_linkage(Linkage::LLVMInternalLinkage);
            return Ok(g);
        }
        // A table of the program: nobody outside knows its name.
        (Visibility::Internal, _) if v.initial.is_some() => {
            g.set_linkage(Linkage::LLVMInternalLinkage);
        }
        _ => g.set_externally_initialized(),
    }
    g.set_initializer(ty.zero());
    // Compilers name string literals so, which nothing writes to.
    let literal = v.visibility == Visibility::Internal && v.name.starts_with('$');
    g.set_constant_global(v.space == StateSpace::Const || literal);
    Ok(g)
}

/// Gives a variable its content; `find` has the addresses of the others.
pub(super) fn fill(
    m: &Module,
    v: &Variable,
    g: Value,
    find: impl Fn(&str) -> Option<Value>,
) -> Lifted<()> {
    let Some(initial) = &v.initial else {
        return Ok(());
    };
    let Some(elements) = v.elements().filter(|n| *n <= MOST_CONTENT) else {
        return refuse(format!("the content of {} is too long", v.name));
    };
    let b = Builder::of_constants(m);
    let element = element_type(&b, v.ty);
    let mut all = Vec::new();
    let mut shape: Vec<u64> = v.dims.iter().flatten().copied().collect();
    if v.lanes > 1 {
        shape.push(u64::from(v.lanes));
    }
    flatten(initial, &shape, &mut all)?;
    let mut values = Vec::new();
    for i in &all {
        values.push(match i {
            None => element.zero(),
            Some(i) => constant(&b, i, v, element, &find)?,
        });
    }
    if values.len() as u64 > elements {
        return refuse(format!("{} has more content than elements", v.name));
    }
    values.resize(elements as usize, element.zero());
    g.set_initializer(match v.is_array() {
        true => element.array_of(&values),
        false => values[0],
    });
    Ok(())
}

/// The scalars of an initialiser in order; where a list is shorter than its dimension, nothing.
fn flatten<'i>(i: &'i Initial, shape: &[u64], out: &mut Vec<Option<&'i Initial>>) -> Lifted<()> {
    let (Initial::List(items), [_, inner @ ..]) = (i, shape) else {
        out.push(Some(i));
        return Ok(());
    };
    let stride: u64 = inner.iter().product();
    for item in items {
        let start = out.len() as u64;
        flatten(item, inner, out)?;
        // A scalar of a flat list stands for itself; a list fills up its part.
        if matches!(item, Initial::List(_)) {
            let end = usize::try_from(start + stride).unwrap_or(usize::MAX);
            if out.len() > end {
                return refuse("a list of an initialiser is too long");
            }
            out.resize(end, None);
        }
    }
    Ok(())
}

fn constant(
    b: &Builder,
    i: &Initial,
    v: &Variable,
    element: Type,
    find: impl Fn(&str) -> Option<Value>,
) -> Lifted<Value> {
    let number = match i {
        Initial::Number(n) => n,
        Initial::Address(name, bytes) => {
            let Some(p) = find(name) else {
                return refuse(format!("{name} is not declared"));
            };
            if element != b.int_ty(64) {
                return refuse(format!("{} is too narrow for an address", v.name));
            }
            let p = b.cast(Opcode::LLVMPtrToInt, p, element);
            return Ok(b.add(p, element.int(*bytes)));
        }
        Initial::List(_) => return refuse("an initialiser has a list where a number belongs"),
    };
    let width = v.ty.width();
    let real = |x: f64| match v.ty {
        Ty::Float(_) => Ok(element.real(x)),
        _ => refuse(format!("the content of {} is no integer", v.name)),
    };
    let bits = match *number {
        Operand::Int(n) => match v.ty {
            Ty::Float(_) => return real(n as i64 as f64),
            _ => n,
        },
        Operand::F16(n) if width == 16 => u64::from(n),
        Operand::F32(n) if width == 32 => u64::from(n),
        Operand::F64(n) if width == 64 => n,
        Operand::F32(n) => return real(f64::from(f32::from_bits(n))),
        Operand::F64(n) => return real(f64::from_bits(n)),
        _ => return refuse("an initialiser is no number"),
    };
    let bits = match width {
        64.. => bits,
        w => bits & ((1 << w) - 1),
    };
    Ok(b.bitcast(b.int_ty(width.max(8)).int(bits), element))
}
