//! Floats inside integers.
//!
//! A shuffle moves a double as two words, NVIDIA's halves are short integers, and a compare-and-swap
//! loop works on the bits of its sum. Looking such a value up by its bits is right only as long as no
//! other value has the same ones, and values that differ beyond the format's precision have; so the
//! pass follows a float through the integer operations that such code consists of.
use super::runtime::Place;
use super::{Dd, Pass, ShadowRuntime, format_number, lanes};
use kerf_llvm::{Block, Builder, Opcode, Type, Value};
use kerf_num::Format;

/// A float, or a part of one, in the bits of an integer.
#[derive(Clone, Copy)]
pub(super) struct Field {
    shadow: Dd,
    format: Format,
    /// The integer's bit where the float's lowest is, or would be if it were not cut off.
    at: i32,
    /// The integer's bits that hold it, the end excluded.
    bits: (i32, i32),
}

/// A shadow's way through a shuffle: block, intrinsic, its other operands, high and low word.
pub(super) type Journey = (Block, String, [Value; 3], Value, Value);

fn width(f: Format) -> i32 {
    8 * f.bytes() as i32
}

impl Field {
    fn whole(shadow: Dd, format: Format, at: i32) -> Field {
        Field {
            shadow,
            format,
            at,
            bits: (at, at + width(format)),
        }
    }

    fn is_whole(&self) -> bool {
        self.bits == (self.at, self.at + width(self.format))
    }

    /// What is left of it in the bits of a range.
    fn within(mut self, range: (i32, i32)) -> Option<Field> {
        self.bits = (self.bits.0.max(range.0), self.bits.1.min(range.1));
        (self.bits.0 < self.bits.1).then_some(self)
    }

    fn shifted(mut self, by: i32) -> Field {
        self.at += by;
        self.bits = (self.bits.0 + by, self.bits.1 + by);
        self
    }

    /// Is it a part of the same float, in the same place?
    fn belongs_to(&self, o: &Field) -> bool {
        self.format == o.format
            && self.at == o.at
            && self.shadow.hi == o.shadow.hi
            && self.shadow.lo == o.shadow.lo
    }
}

/// Bits of an integer or a vector of them.
fn size(t: Type) -> Option<i32> {
    t.element()
        .is_int()
        .then(|| t.element().int_bits() * t.lanes())
        .filter(|_| t.is_int() || t.is_vector())
        .map(|b| b as i32)
}

/// Two halves of one float side by side are a whole again.
fn joined(fields: impl Iterator<Item = Field>) -> Vec<Field> {
    let mut all: Vec<Field> = Vec::new();
    for f in fields {
        match all
            .iter_mut()
            .find(|a| a.belongs_to(&f) && (a.bits.1 == f.bits.0 || f.bits.1 == a.bits.0))
        {
            Some(a) => a.bits = (a.bits.0.min(f.bits.0), a.bits.1.max(f.bits.1)),
            None => all.push(f),
        }
    }
    all
}

/// The bits of a mask that is one run of ones.
fn run_of_ones(mask: u64) -> Option<(i32, i32)> {
    let from = mask.trailing_zeros();
    let ones = mask.checked_shr(from)?.trailing_ones();
    (mask.count_ones() == ones).then_some((from as i32, (from + ones) as i32))
}

/// The float that a conversion from bits makes, if the callee is one of libdevice's.
fn made_by(callee: &str) -> Option<Format> {
    match callee {
        "__nv_longlong_as_double" | "__nv_hiloint2double" => Some(Format::F64),
        "__nv_int_as_float" | "__nv_uint_as_float" => Some(Format::F32),
        _ => None,
    }
}

/// Where the float is in the integer that a function of libdevice makes of its bits.
fn bits_made_by(callee: &str) -> Option<(i32, i32)> {
    match callee {
        "__nv_double_as_longlong" => Some((0, 64)),
        "__nv_float_as_int" | "__nv_float_as_uint" | "__nv_double2loint" => Some((0, 32)),
        "__nv_double2hiint" => Some((-32, 32)),
        _ => None,
    }
}

impl Pass<'_> {
    fn fields(&self, v: Value) -> Vec<Field> {
        self.words.get(&v).cloned().unwrap_or_default()
    }

    fn set_fields(&mut self, v: Value, fields: Vec<Field>) {
        if !fields.is_empty() {
            self.words.insert(v, fields);
        }
    }

    /// The shadows of an integer that is read as floats.
    pub(super) fn read_as(&self, v: Value, shape: (Format, u32)) -> Option<Vec<Dd>> {
        let fields = self.words.get(&v)?;
        let lane = |l: u32| {
            fields
                .iter()
                .find(|f| f.format == shape.0 && f.at == l as i32 * width(shape.0) && f.is_whole())
        };
        (0..shape.1).map(|l| lane(l).map(|f| f.shadow)).collect()
    }

    /// Notes that an integer is the bits of floats.
    pub(super) fn is_bits_of(&mut self, v: Value, shape: (Format, u32), shadows: &[Dd]) {
        let fields = shadows
            .iter()
            .enumerate()
            .map(|(l, s)| Field::whole(*s, shape.0, l as i32 * width(shape.0)))
            .collect();
        self.set_fields(v, fields);
    }

    /// As what floats an integer is read in the end.
    pub(super) fn read_later(&self, v: Value) -> Option<(Format, u32)> {
        let mut seen = vec![v];
        let mut at = 0;
        while let Some(x) = seen.get(at).copied() {
            at += 1;
            for u in x.users() {
                match u.opcode() {
                    Some(Opcode::LLVMBitCast) if lanes(u.ty()).is_some() => return lanes(u.ty()),
                    Some(Opcode::LLVMCall) => {
                        if let Some(shape) = super::matrices::argument_shape(u, x) {
                            return Some(shape);
                        }
                        if let Some(f) = u
                            .callee_name()
                            .and_then(|n| made_by(&n))
                            .filter(|f| width(*f) == v.ty().int_bits() as i32)
                        {
                            return Some((f, 1));
                        }
                    }
                    Some(Opcode::LLVMPHI | Opcode::LLVMSelect | Opcode::LLVMFreeze)
                        if u.ty() == v.ty() && !seen.contains(&u) =>
                    {
                        seen.push(u)
                    }
                    _ => {}
                }
            }
        }
        None
    }

    /// Fields of a value, shifted, as far as they are within a range.
    fn moved(&self, v: Value, by: i32, range: (i32, i32)) -> Vec<Field> {
        self.fields(v)
            .into_iter()
            .filter_map(|f| f.shifted(by).within(range))
            .collect()
    }

    /// The integer operations that floats are taken apart and put together with.
    pub(super) fn integer(&mut self, b: &Builder, i: Value) {
        use Opcode::*;
        let Some(all) = size(i.ty()).filter(|n| *n <= 128) else {
            return;
        };
        let bits = (0, all);
        let x = i.operand(0);
        let by = || {
            i.operand(1)
                .const_int()
                .filter(|k| *k < 64)
                .map(|k| k as i32)
        };
        let new: Option<Vec<Field>> = match i.opcode() {
            Some(LLVMTrunc | LLVMZExt) if i.ty().is_vector() => None,
            Some(LLVMTrunc | LLVMZExt | LLVMFreeze | LLVMBitCast) => Some(self.moved(x, 0, bits)),
            Some(LLVMExtractElement | LLVMInsertElement | LLVMShuffleVector) => {
                self.of_lanes(i, all)
            }
            Some(LLVMLShr) => by().map(|k| self.moved(x, -k, bits)),
            Some(LLVMShl) => by().map(|k| self.moved(x, k, bits)),
            Some(LLVMAnd) => {
                let mask = i.operand(1).const_int().filter(|_| all <= 64);
                mask.and_then(run_of_ones).map(|r| self.moved(x, 0, r))
            }
            Some(LLVMOr) => {
                let (a, b) = (self.fields(x), self.fields(i.operand(1)));
                Some(joined(a.into_iter().chain(b)))
            }
            // One condition for all, and not one for each lane.
            Some(LLVMSelect) if !x.ty().is_vector() => Some(self.selected(b, i)),
            _ => None,
        };
        self.set_fields(i, new.unwrap_or_default());
    }

    /// Fields of what takes lanes of integers from a vector of `all` bits, or puts them into one.
    fn of_lanes(&self, i: Value, all: i32) -> Option<Vec<Field>> {
        let x = i.operand(0);
        let lane_bits = i.ty().element().int_bits() as i32;
        let lane = |v: Value| {
            v.const_int()
                .filter(|l| *l < 64)
                .map(|l| l as i32 * lane_bits)
        };
        match i.opcode()? {
            Opcode::LLVMExtractElement => Some(self.moved(x, -lane(i.operand(1))?, (0, all))),
            Opcode::LLVMInsertElement => {
                let k = lane(i.operand(2))?;
                let others = self
                    .fields(x)
                    .into_iter()
                    .flat_map(|f| [f.within((0, k)), f.within((k + lane_bits, all))])
                    .flatten();
                let new = self.fields(i.operand(1)).into_iter().map(|f| f.shifted(k));
                Some(joined(others.chain(new)))
            }
            _ => {
                let count = x.ty().lanes();
                let take = |(to, from): (usize, Option<u32>)| {
                    let from = from?;
                    let source = self.fields(i.operand(from / count));
                    let at = (from % count) as i32 * lane_bits;
                    let by = to as i32 * lane_bits - at;
                    Some(
                        source
                            .into_iter()
                            .filter_map(move |f| f.within((at, at + lane_bits)))
                            .map(move |f| f.shifted(by)),
                    )
                };
                let mask = i.shuffle_mask().into_iter().enumerate();
                Some(joined(mask.filter_map(take).flatten()))
            }
        }
    }

    /// Fields that both values of a choice have in the same place.
    fn selected(&self, b: &Builder, i: Value) -> Vec<Field> {
        let condition = i.operand(0);
        let other = self.fields(i.operand(2));
        let both = |f: Field| {
            let o = other
                .iter()
                .find(|o| o.format == f.format && o.at == f.at && o.bits == f.bits)?;
            let pick = |p, q| b.select(condition, p, q);
            Some(Field {
                shadow: Dd {
                    hi: pick(f.shadow.hi, o.shadow.hi),
                    lo: pick(f.shadow.lo, o.shadow.lo),
                },
                ..f
            })
        };
        self.fields(i.operand(1))
            .into_iter()
            .filter_map(both)
            .collect()
    }

    /// libdevice's functions between floats and their bits. Gives whether the call is one.
    pub(super) fn reinterpret(&mut self, i: Value, name: &str, after: &Builder) -> bool {
        let args = i.args();
        if let Some(bits) = bits_made_by(name) {
            let format = if name.starts_with("__nv_float") {
                Format::F32
            } else {
                Format::F64
            };
            let shadow = self.get(after, args[0])[0];
            self.remember(&Builder::before(i), args[0]);
            let field = Field {
                shadow,
                format,
                at: bits.0,
                bits: (0, bits.1),
            };
            self.set_fields(i, vec![field]);
            return true;
        }
        let Some(format) = made_by(name) else {
            return false;
        };
        let word = if args.len() == 2 {
            // The high word comes first.
            let part = |v: Value, by: i32| {
                self.fields(v)
                    .into_iter()
                    .find(|f| f.format == format && f.at == -by)
                    .map(|f| f.shifted(by))
            };
            let (high, low) = (part(args[0], 32), part(args[1], 0));
            high.zip(low)
                .filter(|(h, l)| h.belongs_to(l))
                .map(|(_, l)| vec![l.shadow])
        } else {
            self.read_as(args[0], (format, 1))
        };
        let s = word.unwrap_or_else(|| self.recall(after, i));
        self.shadows.insert(i, s);
        true
    }

    /// A shuffle: the shadow makes the same journey as the word. Gives whether the call is one.
    pub(super) fn shuffle(&mut self, i: Value, name: &str, after: &Builder) -> bool {
        let Some(kind) = name
            .strip_prefix("llvm.nvvm.shfl.")
            .and_then(|k| k.rsplit_once('.'))
        else {
            return false;
        };
        let args = i.args();
        // (mask, value, lane, clamp); the forms without a mask are of old architectures.
        if args.len() != 4 || !matches!(kind.1, "i32" | "f32") {
            return false;
        }
        let word = format!("llvm.nvvm.shfl.{}.i32", kind.0);
        let control = [args[0], args[2], args[3]];
        if lanes(args[1].ty()) == Some((Format::F32, 1)) {
            let s = self.get(after, args[1])[0];
            let moved = self.journey(after, i, &word, control, s);
            self.shadows.insert(i, vec![moved]);
            return true;
        }
        let fields = self.fields(args[1]);
        let moved: Vec<Field> = fields
            .into_iter()
            .map(|f| Field {
                shadow: self.journey(after, i, &word, control, f.shadow),
                ..f
            })
            .collect();
        self.set_fields(i, moved);
        true
    }

    pub(super) fn journey(
        &mut self,
        b: &Builder,
        i: Value,
        word: &str,
        control: [Value; 3],
        s: Dd,
    ) -> Dd {
        // Both halves of a double go the same way; once is enough, and lets them be known as one.
        let key = (i.block(), word.to_owned(), control, s.hi, s.lo);
        if let Some((_, d)) = self.journeys.iter().find(|(k, _)| *k == key) {
            return *d;
        }
        let (i32t, i64t) = (b.int_ty(32), b.int_ty(64));
        let f = self.m.declare(word, i32t.function(&[i32t; 4]));
        let moved = |v: Value| {
            if v.is_constant() {
                return v;
            }
            let bits = b.bitcast(v, i64t);
            let part = |shift: u64| {
                let w = b.zext_or_trunc(b.lshr(bits, b.i64(shift)), i32t);
                let w = b.call(f, &[control[0], w, control[1], control[2]]);
                b.shl(b.zext_or_trunc(w, i64t), b.i64(shift))
            };
            let (low, high) = (part(0), part(32));
            b.bitcast(b.or(low, high), self.f64t)
        };
        let d = Dd {
            hi: moved(s.hi),
            lo: moved(s.lo),
        };
        self.journeys.push((key, d));
        d
    }

    /// A load of an integer that is read as floats.
    pub(super) fn load_word(&mut self, b: &Builder, i: Value) -> bool {
        let Some((format, n)) = self.read_later(i) else {
            return false;
        };
        let w = width(format) as u32;
        if w * n != i.ty().int_bits() {
            return false;
        }
        let place = Place::accessed_by(i, i.operand(0));
        let shadows: Vec<Dd> = (0..n)
            .map(|l| {
                let v = self.float_at(b, i, l * w, format);
                self.read_shadow(b, place.plus(u64::from(l * w / 8)), v)
            })
            .collect();
        self.is_bits_of(i, (format, n), &shadows);
        true
    }

    /// The float whose bits an integer has from bit `at` on.
    fn float_at(&self, b: &Builder, v: Value, at: u32, format: Format) -> Value {
        let bits = width(format) as u32;
        let t = v.ty();
        let low = if at == 0 {
            v
        } else {
            b.lshr(v, t.int(u64::from(at)))
        };
        b.bitcast(b.zext_or_trunc(low, b.int_ty(bits)), b.float_ty(format))
    }

    /// A store of something that is no float.
    pub(super) fn store_word(&mut self, i: Value) {
        let (v, p) = (i.operand(0), i.operand(1));
        let b = &Builder::before(i);
        let place = Place::accessed_by(i, p);
        let bytes = self.m.size_of(v.ty());
        if v.is_constant() {
            return self.forget_shadows(b, place, b.i64(bytes));
        }
        let fields = self.fields(v);
        let whole = |f: &Field| f.is_whole() && f.at % 8 == 0 && f.at >= 0;
        if self.runtime == ShadowRuntime::Device && !fields.iter().all(whole) {
            return self.overwrite(b, place, b.i64(bytes), true);
        }
        let flat = self.address(b, p, self.f64t, 0);
        for f in &fields {
            if whole(f) {
                let x = self.float_at(b, v, f.at as u32, f.format);
                self.write_shadow(b, place.plus(f.at as u64 / 8), x, f.shadow);
            } else {
                // Half of a double: when the other half has come too, its bits tell which it is.
                let a = match f.at {
                    0 => flat,
                    at => b.offset(flat, b.i64(i64::from(at / 8) as u64)),
                };
                self.call_void(b, "kerf_shadow_part", &[a]);
            }
        }
        if !fields.is_empty() {
            return;
        }
        if self.runtime == ShadowRuntime::Device {
            return self.store_integer(b, place, v);
        }
        if v.opcode() == Some(Opcode::LLVMLoad) {
            // A copy of a struct as words. What changed in between no longer has the copy's bits.
            let from = self.address(b, v.operand(0), self.f64t, 0);
            self.call_void(b, "kerf_shadow_copy", &[flat, from, b.i64(bytes)]);
        } else if v.ty().is_int() && matches!(v.ty().int_bits(), 16 | 32 | 64) {
            let w = b.zext_or_trunc(v, b.int_ty(64));
            self.call_void(b, "kerf_shadow_adopt", &[flat, w, b.i32(v.ty().int_bits())]);
        }
    }

    /// A store of an integer in which no float is known (device).
    fn store_integer(&self, b: &Builder, place: Place, v: Value) {
        if v.opcode() == Some(Opcode::LLVMLoad) && self.m.size_of(v.ty()) <= 16 {
            return self.carry_entries(b, place, v);
        }
        let from = self.provenance(v);
        let hides = from.hides_float || !from.loads.is_empty();
        self.overwrite(b, place, b.i64(self.m.size_of(v.ty())), hides);
    }

    /// An atomic operation on an integer.
    pub(super) fn integer_atomic(&self, b: &Builder, i: Value) {
        if self.runtime == ShadowRuntime::Host {
            return;
        }
        if self.provenance(i.operand(1)).hides_float {
            return self.needs_host("atomics on the bits of floats");
        }
        let bytes = b.i64(self.m.size_of(i.ty()));
        self.overwrite(b, Place::plain(i.operand(0)), bytes, false);
    }

    /// A compare-and-swap on the bits of a float.
    pub(super) fn compare_and_swap(&mut self, b: &Builder, i: Value) {
        let (p, new) = (i.operand(0), i.operand(2));
        if !new.ty().is_int() || new.ty().int_bits() > 64 {
            return;
        }
        if self.runtime == ShadowRuntime::Device {
            if !self.fields(new).is_empty() || self.provenance(new).hides_float {
                return self.needs_host("compare-and-swap loops on the bits of floats");
            }
            let bytes = b.i64(self.m.size_of(new.ty()));
            return self.overwrite(b, Place::plain(p), bytes, false);
        }
        let a = self.address(b, p, self.f64t, 0);
        let i64t = b.int_ty(64);
        let old = b.zext_or_trunc(b.extract(i, 0), i64t);
        let done = b.zext_or_trunc(b.extract(i, 1), b.int_ty(32));
        let bits = b.zext_or_trunc(new, i64t);
        match self.fields(new)[..] {
            [f] if f.is_whole() && f.at == 0 && width(f.format) == new.ty().int_bits() as i32 => {
                let args = [
                    a,
                    old,
                    bits,
                    done,
                    b.i32(format_number(f.format)),
                    f.shadow.hi,
                    f.shadow.lo,
                ];
                let before = self.call_dd(b, "kerf_shadow_cas", &args);
                self.is_bits_of(i, (f.format, 1), &[before]);
            }
            _ => self.call_void(
                b,
                "kerf_shadow_swap",
                &[a, old, bits, done, b.i32(new.ty().int_bits())],
            ),
        }
    }

    /// The word that a compare-and-swap found.
    pub(super) fn found(&mut self, i: Value) {
        if i.operand(0).opcode() == Some(Opcode::LLVMAtomicCmpXchg) && i.indices() == [0] {
            let fields = self.fields(i.operand(0));
            self.set_fields(i, fields);
        }
    }

    /// Shadows of a value that comes into a phi of integers read as floats.
    pub(super) fn incoming_word(&self, b: &Builder, v: Value, shape: (Format, u32)) -> Vec<Dd> {
        self.read_as(v, shape).unwrap_or_else(|| {
            let element = b.float_ty(shape.0);
            let t: Type = if shape.1 == 1 {
                element
            } else {
                element.vector(shape.1)
            };
            let f = b.bitcast(v, t);
            // A constant is what it is.
            if v.is_constant() {
                self.get(b, f)
            } else {
                self.recall(b, f)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::run_of_ones;

    #[test]
    fn masks_of_one_run() {
        assert_eq!(run_of_ones(0xffff_0000), Some((16, 32)));
        assert_eq!(run_of_ones(u64::MAX), Some((0, 64)));
        assert_eq!(run_of_ones(0xff00_ff00), None);
        assert_eq!(run_of_ones(0), None);
    }
}
