//! Steps through an object: address computations in elements of another size.
use super::refusal::StorageRefusal;
use kerf_llvm::{Module, Opcode, Type, Value};
use kerf_num::{Format, StorageFormat};

/// How an address computation looks when elements are narrower.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    /// The same indices over another type.
    Over(Type),
    /// A constant number of bytes.
    Bytes(i64),
    /// A number of elements: the index, which is in units of bytes, shifted right.
    Shifted { by: u32 },
}

/// The type of an element in memory.
pub(super) fn element_type(m: &Module, f: StorageFormat) -> Type {
    match f {
        StorageFormat::Float(f) => m.float_ty(f),
        StorageFormat::Scaled(s) => m.int_ty(8 * s.bytes() as u32),
    }
}

/// The type with numbers of one format replaced; none if it has anything else, or would not shrink in
/// proportion.
pub(super) fn narrow_type(m: &Module, t: Type, from: Format, to: StorageFormat) -> Option<Type> {
    use kerf_llvm::TypeKind::*;
    let new = match t.kind() {
        LLVMArrayTypeKind => narrow_type(m, t.element(), from, to)?.array(t.array_len()),
        LLVMVectorTypeKind => narrow_type(m, t.element(), from, to)?.vector(t.lanes()),
        LLVMStructTypeKind => {
            let fields = t
                .fields()
                .into_iter()
                .map(|f| narrow_type(m, f, from, to))
                .collect::<Option<Vec<_>>>()?;
            m.struct_ty(&fields)
        }
        _ if t.format() == Some(from) => element_type(m, to),
        _ => return None,
    };
    let (old, now) = (m.size_of(t), m.size_of(new));
    (old * to.bytes() as u64 == now * from.bytes() as u64).then_some(new)
}

/// Values that are looked at for a divisor. Sums of sums share their operands, so that a walk without end would take time
/// that doubles with each of them.
const MOST_FACTORS: u32 = 1000;

/// A power of two that divides an integer, whatever its value.
fn multiple(v: Value) -> u64 {
    let mut left = MOST_FACTORS;
    multiple_of(v, &mut Vec::new(), &mut left)
}

/// The same. A variable of a loop that is being looked at divides by all that the rest of its loop does; what is not looked at,
/// because `left` is used up, divides by 1.
fn multiple_of(v: Value, open: &mut Vec<Value>, left: &mut u32) -> u64 {
    const MOST: u64 = 1 << 16;
    if let Some(c) = v.const_int() {
        return 1 << c.trailing_zeros().min(16);
    }
    let deepest = open.len() >= 200;
    if *left == 0 || deepest {
        return 1;
    }
    *left -= 1;
    if open.contains(&v) {
        let phi = v.opcode() == Some(Opcode::LLVMPHI);
        return if phi { MOST } else { 1 };
    }
    open.push(v);
    let mut of = |i: u32| multiple_of(v.operand(i), open, left);
    let found = match v.opcode() {
        Some(Opcode::LLVMShl) => {
            let by = v.operand(1).const_int().unwrap_or(0).min(16);
            (of(0) << by).min(MOST)
        }
        Some(Opcode::LLVMMul) => (of(0) * of(1)).min(MOST),
        Some(Opcode::LLVMAdd | Opcode::LLVMSub | Opcode::LLVMOr) => of(0).min(of(1)),
        Some(Opcode::LLVMAnd) => of(0).max(of(1)),
        Some(Opcode::LLVMZExt | Opcode::LLVMSExt | Opcode::LLVMTrunc | Opcode::LLVMFreeze) => of(0),
        Some(Opcode::LLVMSelect) => of(1).min(of(2)),
        Some(Opcode::LLVMPHI) => {
            let all = v.incoming().into_iter();
            all.map(|(x, _)| multiple_of(x, open, left))
                .min()
                .unwrap_or(1)
        }
        _ => 1,
    };
    open.pop();
    found
}

/// How an address computation is to be written; the reason if it cannot be.
pub(super) fn step(
    m: &Module,
    gep: Value,
    from: Format,
    to: StorageFormat,
) -> Result<Step, StorageRefusal> {
    let t = gep.gep_type();
    if let Some(new) = narrow_type(m, t, from, to) {
        return Ok(Step::Over(new));
    }
    let (size, element) = (m.size_of(t), from.bytes() as u64);
    let indices = gep.operands().len() - 1;
    if indices != 1 {
        return Err(StorageRefusal::Elements { element: t.print() });
    }
    if size.is_multiple_of(element) {
        return Ok(Step::Over(match size / element {
            1 => element_type(m, to),
            n => element_type(m, to).array(n),
        }));
    }
    let index = gep.operand(1);
    if let Some(c) = index.const_int() {
        let bits = index.ty().int_bits();
        let c = ((c << (64 - bits)) as i64) >> (64 - bits);
        let bytes = c * size as i64;
        return match bytes % element as i64 {
            0 => Ok(Step::Bytes(bytes / element as i64 * to.bytes() as i64)),
            _ => Err(StorageRefusal::StepIntoElement { bytes }),
        };
    }
    match size == 1 && multiple(index).is_multiple_of(element) {
        true => Ok(Step::Shifted {
            by: element.trailing_zeros(),
        }),
        false => Err(StorageRefusal::StepInUnits { unit: size }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The divisor of the value `%last` of a kernel.
    fn divisor(body: &str) -> u64 {
        let text = format!("define void @k(ptr %p, i64 %n) {{\n{body}\n  ret void\n}}\n");
        let m = Module::parse(text.as_bytes(), "k").expect("IR");
        let all = m.function("k").expect("a function").instructions();
        let last = all.into_iter().find(|i| i.name() == "last");
        multiple(last.expect("a value"))
    }

    #[test]
    fn sums_that_share_their_operands_end() {
        // Without a limit, twice as many steps for each line.
        let mut body = String::from("  %a0 = shl i64 %n, 2\n  %b0 = shl i64 %n, 3\n");
        for k in 1..100 {
            let before = k - 1;
            body += &format!("  %a{k} = add i64 %a{before}, %b{before}\n");
            body += &format!("  %b{k} = sub i64 %b{before}, %a{before}\n");
        }
        assert_eq!(divisor(&format!("{body}  %last = add i64 %a99, %b99")), 1);
        let few = "  %a = shl i64 %n, 2\n  %b = shl i64 %n, 3\n  %c = add i64 %a, %b\n";
        assert_eq!(divisor(&format!("{few}  %last = sub i64 %c, %a")), 4);
    }

    #[test]
    fn a_square_divides_by_no_more_than_its_root() {
        let body = "  br label %loop
loop:
  %i = phi i64 [ 0, %0 ], [ %next, %loop ]
  %last = mul i64 %i, %i
  %next = add i64 %i, 1
  %go = icmp slt i64 %next, %n
  br i1 %go, label %loop, label %end
end:";
        assert_eq!(divisor(body), 1);
        assert_eq!(divisor(&body.replace("%i, 1", "%i, 4")), 16);
    }
}
