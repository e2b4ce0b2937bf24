//! Values from one format in another, rounded once.
use crate::doubleword::library;
use crate::format_types::{type_of, typed};
use crate::site_format::SiteFormat;
use kerf_ir::sites::float_shape;
use kerf_llvm::{Builder, Module, Opcode, Value};
use kerf_num::Format;

/// The pair with a word as its high part.
fn widen(m: &Module, b: &Builder, hi: Value, lo: Value, to: SiteFormat) -> Value {
    let pair = b.set_lane(type_of(m, to).poison(), hi, 0);
    b.set_lane(pair, lo, 1)
}

/// A number, or a vector of them, in another machine format.
pub(crate) fn words(b: &Builder, v: Value, to: Format) -> Value {
    let Some((from, lanes)) = float_shape(v.ty()) else {
        return v;
    };
    let t = b.float_ty(to);
    let t = if v.ty().is_vector() {
        t.vector(lanes)
    } else {
        t
    };
    match (from.bytes().cmp(&to.bytes()), from == to) {
        (_, true) => v,
        (std::cmp::Ordering::Less, _) => b.cast(Opcode::LLVMFPExt, v, t),
        (std::cmp::Ordering::Greater, _) => b.cast(Opcode::LLVMFPTrunc, v, t),
        // Between f16 and bf16 lies f32, which holds both.
        _ => words(b, words(b, v, Format::F32), to),
    }
}

fn constant(m: &Module, b: &Builder, v: Value, to: SiteFormat) -> Option<Value> {
    let c = v.const_real()?;
    let word = b.float_ty(to.word());
    let (hi, lo) = match to.word() {
        Format::F64 => (c, 0.0),
        _ => {
            let hi = f64::from(c as f32);
            (hi, if hi.is_finite() { c - hi } else { 0.0 })
        }
    };
    Some(widen(m, b, word.real(hi), word.real(lo), to))
}

/// The value, which is in format `from`, in format `to`.
pub(crate) fn convert(
    m: &Module,
    b: &Builder,
    v: Value,
    from: SiteFormat,
    to: SiteFormat,
) -> Value {
    let word = |f: SiteFormat| b.float_ty(f.word());
    if v.is_poison() && !to.is_pair() {
        return typed(m, to, v.ty()).poison();
    }
    if v.is_undef() {
        // Any value will do, but it has to be one: poison would be less than undef.
        return typed(m, to, v.ty()).zero();
    }
    match (from.is_pair(), to.is_pair()) {
        (false, false) => words(b, v, to.word()),
        (false, true) => {
            if let Some(c) = constant(m, b, v, to) {
                return c;
            }
            match (from.word(), to.word()) {
                (Format::F64, Format::F32) => library(m, b, to, "from_f64", type_of(m, to), &[v]),
                (_, w) => widen(m, b, words(b, v, w), word(to).zero(), to),
            }
        }
        (true, false) => match (from.word(), to.word()) {
            (Format::F32, Format::F64) => library(m, b, from, "to_f64", word(to), &[v]),
            // A pair by the published formulas need not have its nearest word as the high part.
            (x, y) if x == y && from.is_cmp() => {
                b.bin(Opcode::LLVMFAdd, b.lane(v, 0), b.lane(v, 1))
            }
            (x, y) if x == y => b.lane(v, 0),
            (Format::F64, _) => {
                let v = normal(m, b, v, from);
                let single = library(m, b, from, "to_f32", b.float_ty(Format::F32), &[v]);
                words(b, single, to.word())
            }
            _ => words(b, b.lane(normal(m, b, v, from), 0), to.word()),
        },
        (true, true) => {
            let v = if to.is_cmp() && from.word() == to.word() {
                return v;
            } else {
                normal(m, b, v, from)
            };
            match (from.word(), to.word()) {
                (x, y) if x == y => v,
                (Format::F32, _) => library(m, b, to, "from_dw32", type_of(m, to), &[v]),
                _ => library(m, b, to, "from_dw64", type_of(m, to), &[v]),
            }
        }
    }
}

/// A pair in normal form.
fn normal(m: &Module, b: &Builder, v: Value, from: SiteFormat) -> Value {
    match from.is_cmp() {
        true => library(m, b, from, "normal_cmp", v.ty(), &[v]),
        false => v,
    }
}
