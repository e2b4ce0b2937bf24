//! Arguments of a launch against the kernel's signature.
use kerf_exec::{Arg, BufferId};
use kerf_ir::kernels::{KernelInfo, Param, ParamKind, ScalarAt, ScalarKind};
use kerf_num::Format;
use kerf_workload::elem::ElemType;
use kerf_workload::expand::{ArgValue, ConcreteLaunch};
use kerf_workload::number::Number;
use kerf_workload::scalar::Scalar;
use kerf_workload::workload::BufferSpec;
use std::collections::BTreeMap;

/// What is wrong with an argument, and what would be right.
#[derive(Debug, Clone, PartialEq)]
pub struct Misfit {
    /// What is wrong.
    pub what: String,
    /// What would be right.
    pub expected: String,
}

fn misfit<T>(what: String, expected: impl Into<String>) -> Result<T, Misfit> {
    Err(Misfit {
        what,
        expected: expected.into(),
    })
}

/// The memory kind of a workload scalar.
pub fn kind_of(s: Scalar) -> ScalarKind {
    let int = |bits, signed| ScalarKind::Int { bits, signed };
    match s {
        Scalar::F64 => ScalarKind::Float(Format::F64),
        Scalar::F32 => ScalarKind::Float(Format::F32),
        Scalar::F16 => ScalarKind::Float(Format::F16),
        Scalar::Bf16 => ScalarKind::Float(Format::Bf16),
        Scalar::I8 => int(8, true),
        Scalar::U8 => int(8, false),
        Scalar::I16 => int(16, true),
        Scalar::U16 => int(16, false),
        Scalar::I32 => int(32, true),
        Scalar::U32 => int(32, false),
        Scalar::I64 => int(64, true),
        Scalar::U64 => int(64, false),
    }
}

/// Same width and both integers, or the same float format.
fn compatible(a: ScalarKind, b: ScalarKind) -> bool {
    match (a, b) {
        (ScalarKind::Int { bits: x, .. }, ScalarKind::Int { bits: y, .. }) => x == y,
        // A pointer in memory is a 64-bit integer to a workload.
        (ScalarKind::Ptr, ScalarKind::Int { bits: 64, .. })
        | (ScalarKind::Int { bits: 64, .. }, ScalarKind::Ptr) => true,
        (a, b) => a == b,
    }
}

fn element_fits(elem: &ElemType, wanted: &[ScalarAt], wanted_bytes: u64) -> bool {
    // void*, char* and what debug info does not describe take anything.
    if wanted.is_empty() || wanted.iter().all(|s| s.kind.bytes() == 1) {
        return true;
    }
    let have = elem.scalars();
    let size = elem.size() as u64;
    if size == 0 || wanted_bytes == 0 {
        return true;
    }
    // Both patterns, repeated, must lay the same scalars over the same bytes.
    let wanted: BTreeMap<u64, ScalarKind> = wanted.iter().map(|s| (s.offset, s.kind)).collect();
    let turns = wanted_bytes / gcd(size, wanted_bytes);
    (0..turns.min(MOST_TURNS)).all(|k| {
        have.iter().all(|(o, s)| {
            let at = (*o as u64 + k * size) % wanted_bytes;
            wanted.get(&at).is_some_and(|l| compatible(kind_of(*s), *l))
        })
    })
}

/// Elements of a buffer that are compared with a parameter's type: more than any real one needs.
const MOST_TURNS: u64 = 1 << 20;

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// How a workload writes the type of a parameter's elements.
fn as_written(wanted: &[ScalarAt]) -> String {
    const SHOWN: usize = 24;
    let kind = |s: &ScalarAt| match s.kind {
        ScalarKind::Ptr => "u64".to_owned(), // an address
        k => k.to_string(),
    };
    let kinds: Vec<String> = wanted.iter().map(kind).collect();
    match &kinds[..] {
        [first, rest @ ..] if rest.iter().all(|k| k == first) && rest.len() > 15 => {
            format!("{first}, {} to an element", kinds.len())
        }
        all if all.len() > SHOWN => {
            format!("[{}, ...], {} in all", all[..SHOWN].join(", "), all.len())
        }
        all => format!("[{}]", all.join(", ")),
    }
}

fn number_bytes(v: Number, kind: ScalarKind) -> Result<Vec<u8>, Misfit> {
    match kind {
        ScalarKind::Float(f) => {
            let x = match v {
                Number::Int(i) => i as f64,
                Number::Float(x) => x,
            };
            let bits = f.encode(x);
            if x.is_finite() && !f.decode(bits).is_finite() {
                return misfit(
                    format!("{x} overflows {f}"),
                    format!("a number of at most {:e}", f.max_finite()),
                );
            }
            Ok(bits.to_le_bytes()[..f.bytes()].to_vec())
        }
        ScalarKind::Int { bits, signed } => {
            let i = match v {
                Number::Int(i) => i,
                Number::Float(x) if x.fract() == 0.0 && x.abs() < 9e15 => x as i128,
                Number::Float(x) => {
                    return misfit(
                        format!("{x} is not an integer"),
                        format!("a number of type {kind}"),
                    );
                }
            };
            // `unsigned` arguments take -1 as all ones only where the source says signed.
            let (low, high) = if signed {
                (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)
            } else {
                (0, (1i128 << bits) - 1)
            };
            if i < low || i > high {
                return misfit(
                    format!("{i} does not fit {kind}"),
                    format!("an integer from {low} to {high}"),
                );
            }
            Ok(i.to_le_bytes()[..(bits as usize).div_ceil(8)].to_vec())
        }
        ScalarKind::Ptr => misfit(
            "a number where a pointer belongs".into(),
            "the name of a buffer",
        ),
    }
}

fn scalar_value(v: &ArgValue, kind: ScalarKind, name: &str) -> Result<Vec<u8>, Misfit> {
    let number = |n: Number| {
        number_bytes(n, kind).map_err(|m| Misfit {
            what: format!("`{name}`: {}", m.what),
            ..m
        })
    };
    match v {
        ArgValue::Int(i) => number(Number::Int(*i)),
        ArgValue::Float(x) => number(Number::Float(*x)),
        ArgValue::Typed(s, n) => {
            if !compatible(kind_of(*s), kind) {
                return misfit(
                    format!("`{name}` is given as {s}"),
                    format!("{kind}, the parameter's type"),
                );
            }
            number(*n)
        }
        ArgValue::Buffer { .. } => misfit(
            format!("a buffer is passed for `{name}`"),
            format!("a number of type {kind}"),
        ),
        ArgValue::Struct(_) => misfit(
            format!("a struct is passed for `{name}`"),
            format!("a number of type {kind}"),
        ),
        ArgValue::Local(_) => misfit(
            format!("local memory is passed for `{name}`"),
            format!("a number of type {kind}"),
        ),
    }
}

fn flatten<'a>(v: &'a ArgValue, out: &mut Vec<&'a ArgValue>) {
    match v {
        ArgValue::Struct(f) => f.iter().for_each(|x| flatten(x, out)),
        other => out.push(other),
    }
}

fn struct_arg(
    v: &ArgValue,
    bytes: u64,
    fields: &[ScalarAt],
    p: &Param,
    buffers: &[BufferSpec],
    ids: &[BufferId],
) -> Result<Arg, Misfit> {
    let mut values = Vec::new();
    flatten(v, &mut values);
    if values.len() != fields.len() {
        return misfit(
            format!("`{}` is given {} values", p.name, values.len()),
            format!(
                "{{ struct = [...] }} with {} values, for {}",
                fields.len(),
                p.type_name
            ),
        );
    }
    let mut out = vec![0u8; bytes as usize];
    let mut pointers = Vec::new();
    for (v, f) in values.into_iter().zip(fields) {
        let at = f.offset as usize;
        if let (
            ArgValue::Buffer {
                index,
                offset_elems,
            },
            ScalarKind::Ptr,
        ) = (v, f.kind)
        {
            let offset = (*offset_elems * buffers[*index].elem.size()) as u64;
            pointers.push((at, ids[*index], offset));
            continue;
        }
        // A null pointer may be written as 0.
        if let (ArgValue::Int(0), ScalarKind::Ptr) = (v, f.kind) {
            continue;
        }
        let b = scalar_value(v, f.kind, &p.name)?;
        match out.get_mut(at..at + b.len()) {
            Some(slot) => slot.copy_from_slice(&b),
            None => {
                return misfit(
                    format!("`{}` has a field beyond its size", p.name),
                    "a struct whose layout is known",
                );
            }
        }
    }
    Ok(if pointers.is_empty() {
        Arg::Bytes(out)
    } else {
        Arg::Composite {
            bytes: out,
            pointers,
        }
    })
}

/// Arguments for an executor, and the dynamic shared memory of the launch with its local arguments.
pub fn bind(
    l: &ConcreteLaunch,
    k: &KernelInfo,
    buffers: &[BufferSpec],
    ids: &[BufferId],
) -> Result<(Vec<Arg>, u32), Vec<Misfit>> {
    if l.args.len() != k.params.len() {
        let list: Vec<String> = k
            .params
            .iter()
            .map(|p| format!("{} {}", p.type_name, p.name))
            .collect();
        return Err(vec![Misfit {
            what: format!("{} arguments are given to `{}`", l.args.len(), k.name),
            expected: format!("{}: ({})", k.params.len(), list.join(", ")),
        }]);
    }
    let mut shared = l.shared;
    let mut out = Vec::new();
    let mut wrong = Vec::new();
    for (v, p) in l.args.iter().zip(&k.params) {
        let r = match (&p.kind, v) {
            (ParamKind::Pointer { space: 3, .. }, ArgValue::Local(bytes)) => {
                let at = shared.next_multiple_of(16);
                shared = at.saturating_add(*bytes);
                Ok(Arg::Local(at))
            }
            (ParamKind::Pointer { space: 3, .. }, _) => misfit(
                format!("`{}` points to local memory", p.name),
                "{ local = \"bytes\" }",
            ),
            (
                ParamKind::Pointer {
                    element,
                    element_bytes,
                    ..
                },
                ArgValue::Buffer {
                    index,
                    offset_elems,
                },
            ) => {
                let b = &buffers[*index];
                // A guessed type refuses nothing.
                if p.inferred || element_fits(&b.elem, element, *element_bytes) {
                    Ok(Arg::Buffer {
                        id: ids[*index],
                        offset: (*offset_elems * b.elem.size()) as u64,
                    })
                } else {
                    misfit(
                        format!(
                            "buffer `{}` has type {}, parameter `{}` is {}",
                            b.name, b.elem, p.name, p.type_name
                        ),
                        format!("a buffer of {}", as_written(element)),
                    )
                }
            }
            // A null pointer may be written as 0.
            (ParamKind::Pointer { .. }, ArgValue::Int(0)) => Ok(Arg::Bytes(vec![0; 8])),
            (ParamKind::Pointer { .. }, _) => misfit(
                format!("`{}` is a pointer ({})", p.name, p.type_name),
                "the name of a buffer",
            ),
            (ParamKind::Scalar { scalar }, v) => scalar_value(v, *scalar, &p.name).map(Arg::Bytes),
            (ParamKind::Struct { bytes, fields, .. }, v) => {
                struct_arg(v, *bytes, fields, p, buffers, ids)
            }
        };
        match r {
            Ok(a) => out.push(a),
            Err(m) => wrong.push(m),
        }
    }
    if wrong.is_empty() {
        Ok((out, shared))
    } else {
        Err(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_or_refused() {
        let f32k = ScalarKind::Float(Format::F32);
        assert_eq!(
            number_bytes(Number::Float(0.1), f32k),
            Ok(0.1f32.to_le_bytes().to_vec())
        );
        assert!(number_bytes(Number::Float(1e300), f32k).is_err());
        let i32k = ScalarKind::Int {
            bits: 32,
            signed: true,
        };
        assert_eq!(number_bytes(Number::Int(-1), i32k), Ok(vec![255; 4]));
        assert!(number_bytes(Number::Int(1 << 40), i32k).is_err());
        assert!(number_bytes(Number::Float(0.5), i32k).is_err());
    }

    #[test]
    fn element_patterns() {
        let at = |offset, kind| ScalarAt { offset, kind };
        let f64k = ScalarKind::Float(Format::F64);
        let four: Vec<ScalarAt> = (0..4).map(|i| at(8 * i, f64k)).collect();
        assert!(element_fits(&ElemType::Vector(Scalar::F64, 4), &four, 32));
        assert!(element_fits(&ElemType::Scalar(Scalar::F64), &four, 32));
        assert!(element_fits(
            &ElemType::Vector(Scalar::F64, 4),
            &[at(0, f64k)],
            8
        ));
        // Four at a time over structs of three.
        assert!(element_fits(
            &ElemType::Vector(Scalar::F64, 4),
            &four[..3],
            24
        ));
        let i32k = ScalarKind::Int {
            bits: 32,
            signed: true,
        };
        let mixed = [at(0, f64k), at(8, i32k), at(12, i32k)];
        assert!(!element_fits(&ElemType::Scalar(Scalar::F64), &mixed, 16));
        assert_eq!(as_written(&mixed), "[f64, i32, i32]");
        let many: Vec<ScalarAt> = (0..600).map(|i| at(8 * i, f64k)).collect();
        assert!(element_fits(&ElemType::Scalar(Scalar::F64), &many, 4800));
        assert_eq!(as_written(&many), "f64, 600 to an element");
        assert!(!element_fits(&ElemType::Scalar(Scalar::F32), &four, 32));
        assert!(!element_fits(
            &ElemType::Scalar(Scalar::I64),
            &[at(0, f64k)],
            8
        ));
        assert!(element_fits(
            &ElemType::Scalar(Scalar::U32),
            &[at(
                0,
                ScalarKind::Int {
                    bits: 32,
                    signed: true
                }
            )],
            4
        ));
    }
}
